#!/usr/bin/env bash
# What must not change the answer: threads, compression, the order of the files.
#   invariants.sh INQUEST SOURCE_DIR
# Runs on the sample runs and, where they are, on small real ones.
set -euo pipefail
inquest=$(realpath "$1")
root=$(realpath "$2")
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# equal WHAT FILE FILE
equal() {
    if ! diff -q "$2" "$3" >/dev/null; then
        echo "$1 changes the answer:"
        diff "$2" "$3" | head -10 || true
        bad=1
    fi
}

# report JOBS PATH... >FILE: without paths and sizes on disk, which compression changes
report() {
    local jobs=$1
    shift
    "$inquest" analyze -q -f json -j "$jobs" "$@" |
        grep -vE '"(path|bytes|bytes_uncompressed|first_offset|name)":' |
        sed -E "s#$work/(plain|packed)/##g; s#\\.gz\\b##g"
}

# plain FOLDER, packed FOLDER: copies of its files under the same names
plain() {
    mkdir -p "$work/plain/run"
    for file in "$1"/*; do
        case $file in
        *.gz) gzip -dc "$file" >"$work/plain/run/$(basename "$file" .gz)" ;;
        *) cp "$file" "$work/plain/run/" ;;
        esac
    done
}
packed() {
    mkdir -p "$work/packed/run"
    for file in "$work/plain/run"/*; do
        gzip -1 -c "$file" >"$work/packed/run/$(basename "$file").gz"
    done
}

folders=("$root"/tests/data/ok_* "$root"/tests/data/bad_cut)
for folder in "$root"/sample-traces/*/ "$root"/../shared/data/kineto/{dlrm_8ranks,torchrec_sleep} \
    "$root"/../shared/data/kineto/{torchrec_two_jobs,megatron_tp2}; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done

for folder in "${folders[@]}"; do
    rm -rf "$work/plain" "$work/packed"
    report 1 "$folder" >"$work/one"
    report 8 "$folder" >"$work/eight"
    equal "$folder: -j 8" "$work/one" "$work/eight"
    mapfile -t files < <(find "$folder" -type f ! -name truth.json | sort)
    report 2 "${files[@]}" >"$work/sorted"
    mapfile -t files < <(find "$folder" -type f ! -name truth.json | sort -r)
    report 2 "${files[@]}" >"$work/reversed"
    equal "$folder: the order of the files" "$work/sorted" "$work/reversed"
    # a file cut inside its compressed stream is cut elsewhere when plain
    if ! grep -q 'gzip"' "$work/one"; then
        plain "$folder"
        packed
        report 2 "$work/plain/run" >"$work/unpacked"
        report 2 "$work/packed/run" >"$work/repacked"
        equal "$folder: compression" "$work/unpacked" "$work/repacked"
    fi
done
echo "${#folders[@]} runs"
exit $bad
