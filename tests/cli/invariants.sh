#!/usr/bin/env bash
# What must not change the answer: threads, compression, the order of the files; of every kind of input.
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

# steady FOLDER: the same bytes for every number of threads and order of the files
steady() {
    mapfile -t files < <(find "$1" -type f ! -name truth.json | sort)
    "$inquest" analyze -q -f json -j 2 "${files[@]}" >"$work/sorted"
    if ! grep -q '"name": ' "$work/sorted"; then
        echo "$1: nothing is analyzed"
        bad=1
    fi
    for jobs in 1 3 8; do
        "$inquest" analyze -q -f json -j "$jobs" "${files[@]}" >"$work/other"
        equal "$1: -j $jobs" "$work/sorted" "$work/other"
    done
    mapfile -t reversed < <(printf '%s\n' "${files[@]}" | tac)
    local middle=$((${#files[@]} / 2))
    "$inquest" analyze -q -f json -j 2 "${reversed[@]}" >"$work/other"
    equal "$1: the reversed order of the files" "$work/sorted" "$work/other"
    "$inquest" analyze -q -f json -j 2 "${files[@]:middle}" "${files[@]:0:middle}" >"$work/other"
    equal "$1: the order of the files" "$work/sorted" "$work/other"
}

# every kind of input: one simulated run in each format, and real files of the kinds that it is not in
kinds=("$root"/../shared/data/{whatif/AR,flight/gpu_error_2nd,flight/lock_gil_1st,logs,primus/pp8})
if "$inquest" --version | grep -q '^sqlite: *yes'; then
    kinds+=("$root/../shared/data/nsys")
fi
if command -v python3 >/dev/null; then
    "$inquest" synth -q "dp=8,gpus_per_host=4,steps=3,layers=4,seed=11,fault=slow_gpu:rank=5:factor=1.3" -o "$work/kineto" >/dev/null
    kinds+=("$work/kineto")
    for kind in xspace-gpu xspace-tpu ascend rocprof musa mtia xpu chakra chakra-json inspector inspector-batches cpu; do
        python3 "$root/tests/formats/convert.py" "$kind" "$work/kineto" "$work/$kind"
        kinds+=("$work/$kind")
    done
    cp -r "$work/kineto" "$work/telemetry"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tests/formats" python3 - "$work/telemetry" <<'END'
import os, sys
import check
for host, slow in ("node-00", -1), ("node-01", 1):
    check.smi(os.path.join(sys.argv[1], "gpus-%s.csv" % host), 4, slow)
END
    kinds+=("$work/telemetry")
fi
for folder in "${kinds[@]}"; do
    [ ! -d "$folder" ] || steady "$folder"
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
echo "${#folders[@]} runs, ${#kinds[@]} kinds of input"
exit $bad
