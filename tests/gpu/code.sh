#!/usr/bin/env bash
# What is embedded for GPUs, by its versions, and assembled for GPUs from sm_80 on.
#   code.sh CODE_CHECK NVCC
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" "$dir/kernels.ptx"
ptxas=$(dirname "$(readlink -f "$2")")/ptxas
[ -x "$ptxas" ] || exit 0
for sm in 80 86 89 90 100 120; do
    # ptxas holds each instruction against the version and the target that the text states
    "$ptxas" -arch=sm_$sm "$dir/kernels.ptx" -o "$dir/kernels.cubin" || {
        echo "the PTX does not assemble for sm_$sm"
        exit 1
    }
done
# and it would tell: an instruction of PTX 8.1 is refused in this text
call='multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1];'
sed "s/^\(\.visible \.entry inq_kernel_gate(\)/.visible .func newer() { .reg .b32 %r<2>; .reg .b64 %rd<2>; $call ret; }\n\1/" \
    "$dir/kernels.ptx" >"$dir/newer.ptx"
"$ptxas" -arch=sm_90 "$dir/newer.ptx" -o "$dir/kernels.cubin" 2>"$dir/said" || true
grep -q 'requires PTX ISA .version 8.1' "$dir/said" || {
    echo "ptxas does not hold instructions against the version"
    exit 1
}
