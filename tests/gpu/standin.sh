#!/usr/bin/env bash
# The on-GPU checks and the program on the driver that executes the kernels on the CPU.
#   standin.sh BUILD_DIR STANDIN_DIR [short]
#   short: one execution of each way through the engine, for builds with a sanitizer
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$1
short=${3-}
export LD_LIBRARY_PATH=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "$1"
    exit 1
}

"$here/pack" "$build" "$dir/bin"
inquest=$dir/bin/inquest

# replay OPTIONS TEXT ARGUMENTS: what stands in executes it and says TEXT.
replay() {
    local options=$1 text=$2
    shift 2
    INQ_STANDIN=$options "$inquest" replay --engine cuda --repeats 1 "$@" >"$dir/said" 2>&1 ||
        fail "[$options] replay $*: $(cat "$dir/said")"
    tr '\n' ' ' <"$dir/said" | grep -q "$text" || fail "[$options] does not say '$text': $(cat "$dir/said")"
}
make=(--make 1f1b -p 4 -m 8 --times '1,1,0.5,0.2')
if [ "$short" = short ]; then
    replay 'devices=2' '2 x CPU stand-in' --make 1f1b -p 2 -m 2 --times '1,1,0.5,0.2'
    replay 'refuse_graph' 'own products' --work recorded --make 1f1b -p 2 -m 2 --times '1,1,0.5,0.2'
    replay 'refuse_fatbin,depth=8' 'queued while it ran' "${make[@]}"
    exit 0
fi

# Each part fails by itself, and the results are written whatever became of them.
mkdir "$dir/broken"
printf '#!/bin/sh\nkill -SEGV $$\n' >"$dir/broken/gpu_check"
printf '#!/bin/sh\necho "out of \\"luck\\"" >&2\nexit 3\n' >"$dir/broken/inquest"
chmod +x "$dir/broken/"*
rc=0
"$here/run" --smoke --bin "$dir/broken" -o "$dir/out" >"$dir/said" 2>&1 || rc=$?
[ $rc = 1 ] || fail "tests/gpu/run exits with $rc where all fails: $(cat "$dir/said")"
for part in 'checks *FAILED *exit 139' 'fix --validate cuda *FAILED *exit 3: out of "luck"' \
    'memcheck *\(skipped\|FAILED\)'; do
    grep -q "^$part" "$dir/said" || fail "tests/gpu/run does not say '$part': $(cat "$dir/said")"
done
broken=$(sed -n 's/^written to //p' "$dir/said")
if command -v python3 >/dev/null; then
    python3 -m json.tool "$broken" >/dev/null || fail "not JSON where all fails"
fi

# The way that a machine with a GPU goes, whole.
"$here/run" --smoke --bin "$dir/bin" -o "$dir/out" || fail "tests/gpu/run failed"
[ -s "$dir/out/CPU-stand-in.txt" ] || fail "no table"
grep -q '"name": "replay --work recorded", "state": "ok", "detail": "times of ops: ' \
    "$dir/out/CPU-stand-in.json" || fail "recorded work is not in the results"
if command -v python3 >/dev/null; then
    python3 -m json.tool "$dir/out/CPU-stand-in.json" >/dev/null || fail "not JSON"
fi

replay 'least_queues=32' 'CPU stand-in' "${make[@]}"
replay 'queues=8' 'CPU stand-in' --make dualpipev -p 8 -m 32 --times '1,1,0.5,0.2'
replay 'queues=8,depth=32' 'queued while it ran' --make 1f1b -p 8 -m 32 --times '1,1,0.5,0.2'
replay 'queues=8,sms=64' 'CPU stand-in' --make zb-h1 -p 32 -m 32 --times '1,1,0.5,0.2'
replay 'refuse_fatbin' 'CPU stand-in' "${make[@]}"
replay 'late_refusal' 'CPU stand-in' "${make[@]}"
replay 'refuse_graph' 'streams, no graph: making a graph' "${make[@]}"
replay 'refuse_capture' 'streams, no graph: ending a graph' "${make[@]}"
replay 'nogreen' 'without partitions' "${make[@]}"
replay 'sms=8' '4 virtual devices of 2 SMs' "${make[@]}"
replay 'devices=2,drift=20000' 'timers moved by up to .* to within' "${make[@]}"
replay 'devices=3,nopeer' '2 of 3 GPUs not used' "${make[@]}"
replay 'devices=3,lonely=1' '1 of 3 GPUs not used' "${make[@]}"
replay 'devices=2,drift=50' '2 x CPU stand-in' --work recorded "$source_dir/sample-traces/slow_gpu_dp8" \
    --scale 0.1
replay '' 'own products' --work recorded --no-graph --make 1f1b -p 2 -m 2 --times '1,1,0.5,0.2' \
    -o "$dir/x.trace.json"
"$inquest" analyze "$dir/x.trace.json" >"$dir/said" || fail "no analysis of a replay"

# What was recorded, done again on GPUs of their own: products by the library (by the older one where
# the newer does not start), traffic, transfers; partitions do what takes as long.
"$inquest" synth 'dp=2,pp=1,shapes=1,steps=2,layers=2' -o "$dir/synth" -q
mkdir "$dir/shaped"
for file in "$dir"/synth/rank-*.gz; do # small: what stands in is slow
    gunzip -c "$file" | sed 's/\[4096, 2048\]/[256, 64]/g; s/\[2048, 2048\]/[64, 64]/g; s/nelems": 50331648/nelems": 786432/g' \
        >"$dir/shaped/$(basename "$file" .gz)"
done
replay 'devices=2' 'own products, no cuBLAS' --work recorded "$dir/shaped"
LD_LIBRARY_PATH=$2:$2/cublas_12:$2/cublas_13
for refuses in none 13; do
    export INQ_STANDIN_BLAS=$refuses
    replay 'devices=2' 'products by cuBLAS' --work recorded "$dir/shaped"
    grep -q '[1-9][0-9]* measured here' "$dir/said" || fail "nothing measured: $(cat "$dir/said")"
    grep -q 'peak memory' "$dir/said" || fail "no peak memory: $(cat "$dir/said")"
done
replay 'devices=1' ' 0 measured here' --work recorded "$dir/shaped"
replay 'devices=1' 'ranks share a GPU: ops take their times' "$dir/shaped"
replay 'devices=2' '[1-9][0-9]* measured here' "$dir/shaped"
INQ_STANDIN=devices=2 "$inquest" fix "$dir/shaped" --fix speed-rank:0:speed=2 --validate cuda \
    --repeats 1 -f json >"$dir/fix.json" 2>"$dir/said" || fail "fix: $(cat "$dir/said")"
grep -q '"scale": 1,' "$dir/fix.json" || fail "what was recorded is done again, but scaled"
# of f8, by cuBLASLt; where the GPU has none, as so much work of another type
mkdir "$dir/f8"
for file in "$dir"/shaped/*; do
    sed 's/aten::mm"/aten::_scaled_mm"/g; s/c10::BFloat16/c10::Float8_e4m3fn/g' "$file" \
        >"$dir/f8/${file##*/}"
done
grep -q 'aten::_scaled_mm' "$dir"/f8/* || fail "no f8 products to test with"
export INQ_STANDIN_BLAS=none
replay 'devices=2' 'products by cuBLAS' "$dir/f8"
! grep -q 'no f8 products' "$dir/said" || fail "f8 is refused: $(cat "$dir/said")"
export INQ_STANDIN_BLAS=f8
replay 'devices=2' 'no f8 products here: as much work of bf16' "$dir/f8"
unset INQ_STANDIN_BLAS
LD_LIBRARY_PATH=$2

# refused OPTIONS TEXT ARGUMENTS: it fails, says TEXT, and writes nothing.
refused() {
    local options=$1 text=$2 rc=0
    shift 2
    INQ_STANDIN=$options "$inquest" replay --engine cuda --repeats 1 "$@" -o "$dir/none.json" \
        >"$dir/said" 2>&1 || rc=$?
    [ $rc = 1 ] || fail "[$options] exits with $rc: $(cat "$dir/said")"
    grep -q "$text" "$dir/said" || fail "[$options] does not say '$text': $(cat "$dir/said")"
    [ ! -e "$dir/none.json" ] || fail "[$options] something was written"
}
refused none 'there is no GPU here' "${make[@]}"
refused old 'too old (CUDA 11.4)' "${make[@]}"
refused sm75 'compute capability 7.5' "${make[@]}"
refused memory=1000000 'out of memory' --work recorded "${make[@]}"
refused corrupt 'values that transfers brought are wrong' --work recorded \
    "$source_dir/sample-traces/slow_gpu_dp8" --scale 0.1

# No gain is ever confirmed without a GPU.
"$inquest" fix "$source_dir/sample-traces/slow_gpu_dp8" --validate cuda --top 1 --repeats 6 \
    --scale 0.2 -f json >"$dir/fix.json" 2>"$dir/said" || fail "fix failed: $(cat "$dir/said")"
grep -q '"device": "CPU stand-in' "$dir/fix.json" || fail "fix does not name what executed it"
! grep -q '"verdict": "confirmed"' "$dir/fix.json" || fail "a gain was confirmed without a GPU"

rc=0
INQ_STANDIN=none "$here/run" --bin "$dir/bin" -o "$dir/none" >/dev/null 2>&1 || rc=$?
[ $rc = 77 ] || fail "tests/gpu/run exits with $rc where there is no GPU"
[ ! -e "$dir/none" ] || fail "something was written where there is no GPU"
