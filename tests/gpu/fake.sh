#!/usr/bin/env bash
# The on-GPU checks, and what the program says, on the driver that only pretends.
#   fake.sh BUILD_DIR FAKE_DRIVER_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
export LD_LIBRARY_PATH=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "$1"
    exit 1
}

"$here/pack" "$build" "$dir/bin"
"$here/run" --smoke --bin "$dir/bin" -o "$dir/out" || fail "tests/gpu/run failed"
[ -s "$dir/out/Fake-GPU.txt" ] || fail "no table"
if command -v python3 >/dev/null; then
    python3 -m json.tool "$dir/out/Fake-GPU.json" >/dev/null || fail "not JSON"
fi

# The program itself, and that what was executed is a trace like any other.
if "$dir/bin/inquest" replay --help >/dev/null 2>&1; then
    make=(--make 1f1b -p 4 -m 8 --times '18,18,9,1')
    "$dir/bin/inquest" replay --engine cuda "${make[@]}" >"$dir/said" || fail "replay failed"
    grep -q 'Fake GPU' "$dir/said" || fail "replay does not name the GPU: $(cat "$dir/said")"
    "$dir/bin/inquest" replay --engine cuda --work real --no-graph "${make[@]}" \
        -o "$dir/x.trace.json" >/dev/null || fail "replay of real work failed"
    "$dir/bin/inquest" analyze "$dir/x.trace.json" >"$dir/said" || fail "no analysis of a replay"
    rc=0
    INQ_FAKE_GPU=none "$dir/bin/inquest" replay --engine cuda "${make[@]}" -o "$dir/none.json" \
        >"$dir/said" 2>&1 || rc=$?
    [ $rc = 1 ] || fail "replay exits with $rc where there is no GPU"
    grep -q 'there is no GPU here' "$dir/said" || fail "replay says: $(cat "$dir/said")"
    [ ! -e "$dir/none.json" ] || fail "something was written where there is no GPU"
fi

expect() { # KIND EXIT TEXT
    local rc=0
    INQ_FAKE_GPU=$1 "$dir/bin/gpu_check" --smoke >"$dir/said" 2>&1 || rc=$?
    [ $rc = "$2" ] || fail "$1: exit $rc instead of $2: $(cat "$dir/said")"
    grep -q "$3" "$dir/said" || fail "$1: does not say '$3': $(cat "$dir/said")"
}
expect none 77 'there is no GPU here'
expect old 77 'too old (CUDA 11.4)'
expect sm75 77 'compute capability 7.5'
expect full 1 'out of memory'
expect nogreen 0 'share 132 SMs without partitions'

rc=0
INQ_FAKE_GPU=none "$here/run" --bin "$dir/bin" -o "$dir/none" >/dev/null 2>&1 || rc=$?
[ $rc = 77 ] || fail "tests/gpu/run exits with $rc where there is no GPU"
[ ! -e "$dir/none" ] || fail "something was written where there is no GPU"
