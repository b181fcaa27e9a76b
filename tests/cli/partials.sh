#!/usr/bin/env bash
# Partials: the report is the same from them, they are kept while their files are, and what is whole
# in a damaged one is read.   partials.sh INQUEST SOURCE_DIR
set -euo pipefail
inquest=$(realpath "$1")
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*"
    exit 1
}

# same PATH...: from files, from partials, and from both mixed
same() {
    rm -rf "$work/partials"
    "$inquest" ingest "$@" -o "$work/partials" -q
    for format in text json markdown perfetto; do
        "$inquest" analyze "$@" -f $format -o "$work/files.$format" -q
        "$inquest" analyze "$work/partials" -f $format -o "$work/partials.$format" -q
        cmp "$work/files.$format" "$work/partials.$format"
    done
    "$inquest" analyze -v "$@" -f json -o "$work/files.json" -q # with operators
    "$inquest" analyze -v "$work/partials" -f json -o "$work/partials.json" -q
    cmp "$work/files.json" "$work/partials.json"
}
for sample in slow_gpu_dp8 damaged_dp4 late_host_dp4 pipeline_pp4_long_last; do
    same sample-traces/$sample
done
same sample-traces/healthy_dp4 sample-traces/clock_offset_dp4 # two jobs
cp -r "$work/partials/sample-traces/healthy_dp4" "$work/healthy"
first=$work/healthy
"$inquest" analyze sample-traces/healthy_dp4 -f json -o "$work/files.json" -q
"$inquest" analyze "$first"/rank-[01]* sample-traces/healthy_dp4/rank-[23]* \
    sample-traces/healthy_dp4/truth.json -f json -o "$work/mixed.json" -q
cmp "$work/files.json" "$work/mixed.json"

# logs and archives
mkdir "$work/run"
printf '2026-01-15 08:00:01 [rank1]: RuntimeError: CUDA out of memory\n' >"$work/run/rank1.log"
tar -cf "$work/run/traces.tar" -C sample-traces healthy_dp4
same "$work/run"

# shares: every file in exactly one of them, members of archives with their archive
whole() { (cd "$1" && find . -name '*.inq' -type f | sort); }
for n in 1 2 3 7 16; do
    rm -rf "$work/shares"
    for ((i = 0; i < n; i++)); do
        "$inquest" ingest "$work/run" sample-traces/healthy_dp4 -o "$work/shares/$i" --share $i/$n -q
        [ -d "$work/shares/$i" ] || mkdir -p "$work/shares/$i"
    done
    "$inquest" ingest "$work/run" sample-traces/healthy_dp4 -o "$work/unshared" -q
    diff <(whole "$work/unshared") <(for i in "$work"/shares/*; do whole "$i"; done | sort) ||
        fail "not every file in one of $n shares"
done
for share in 2/2 -1/2 1 /2 1/ 0/0 a/b 1/2/3 0x1/2 18446744073709551616/2; do
    code=0
    "$inquest" ingest "$work/run" -o "$work/none" --share=$share 2>"$work/err" || code=$?
    [ $code -eq 2 ] || fail "--share=$share: exit $code"
    grep -q "no share like 0/16" "$work/err" || fail "--share=$share: $(cat "$work/err")"
done

# a second time nothing is written, unless a file has changed
"$inquest" ingest sample-traces/healthy_dp4 -o "$work/kept" >/dev/null
"$inquest" ingest sample-traces/healthy_dp4 -o "$work/kept" | grep -q ' 5 kept ' || fail "not kept"
mkdir "$work/changing"
cp sample-traces/healthy_dp4/rank-* "$work/changing"
"$inquest" ingest "$work/changing" -o "$work/again" -q
touch -d '2026-01-01' "$work/changing/rank-2.pt.trace.json.gz"
"$inquest" ingest "$work/changing" -o "$work/again" | grep -q '1 made of traces, 3 kept' || fail "not anew"
if [ -n "$(find "$work/again" -name '.*.tmp')" ]; then
    fail "a temporary file was left"
fi

# cut anywhere and with bytes changed, the rest is read, the damage is told, and nothing breaks
partial=$first/rank-1.pt.trace.json.gz.inq
size=$(stat -c %s "$partial")
for cut in 0 1 5 40 200 $((size / 4)) $((size / 2)) $((size * 3 / 4)) $((size - 1)); do
    head -c "$cut" "$partial" >"$work/cut.inq"
    status=0
    "$inquest" info "$work/cut.inq" -f json >"$work/said" 2>"$work/wrong" || status=$?
    [ $status -le 1 ] || fail "cut at $cut: status $status"
done
head -c $((size * 3 / 4)) "$partial" >"$work/cut.inq"
"$inquest" info "$work/cut.inq" | grep -q 'cut short' || fail "a cut was not told"
for place in $(seq 60 $((size / 20)) $((size - 1))); do
    cp "$partial" "$work/flip.inq"
    printf '\xa5' | dd of="$work/flip.inq" bs=1 seek="$place" conv=notrunc status=none
    status=0
    "$inquest" analyze "$work/flip.inq" -f json >"$work/said" 2>"$work/wrong" || status=$?
    [ $status -le 1 ] || fail "flip at $place: status $status"
done

# of another version: both are told, and what to do
printf 'INQPART\1\0\0\0' >"$work/old.inq"
"$inquest" info "$work/old.inq" >"$work/said" 2>&1 || true
tr -s ' \n' ' ' <"$work/said" | grep -q 'a partial of version 1, and this program reads version 5' ||
    fail "another version: $(cat "$work/said")"

# what cannot be written is said, with the file
status=0
"$inquest" ingest sample-traces/healthy_dp4 -o /dev/null/here 2>"$work/wrong" || status=$?
if [ $status -ne 1 ] || ! grep -q '/dev/null' "$work/wrong"; then
    fail "no word of a folder that cannot be made"
fi
echo "the same from files and from partials"
