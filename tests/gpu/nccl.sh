#!/usr/bin/env bash
# Transfers between GPUs by NCCL, on the driver and the NCCL that stand in: all kinds, with their
# data checked; and what is said where NCCL is too old, does not start, or is not there.
#   nccl.sh BUILD_DIR STANDIN_DIR [short]
#   short: only that they are right, for builds with a sanitizer
set -euo pipefail
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export INQ_STANDIN=devices=3

fail() {
    echo "$1: $(cat "$dir/said")"
    exit 1
}

# check LIBRARY HOW TEXT STATUS: the transfers of all kinds, of which is said TEXT.
check() {
    local rc=0
    LD_LIBRARY_PATH=$1 INQ_STANDIN_NCCL=$2 "$build/tests/gpu_check" --smoke --transfers \
        >"$dir/said" 2>&1 || rc=$?
    [ $rc = "$4" ] || fail "[$2] exits with $rc"
    grep -q "$3" "$dir/said" || fail "[$2] does not say '$3'"
}
check "$2:$2/nccl" '' 'transfers by NCCL 2\.[0-9]*\.[0-9]*' 0
[ "$(grep -c '^    transfers by NCCL' "$dir/said")" = 7 ] || fail "not all kinds by NCCL"
[ "${3-}" != short ] || exit 0
check "$2:$2/nccl" corrupt 'that transfers brought are wrong' 1
check "$2:$2/nccl" 2604 'own transfers: NCCL 2.6.4 is too old: 2.7 or later is needed' 0
check "$2:$2/nccl" refuses 'own transfers: connecting GPUs: NCCL: refused' 0
mkdir "$dir/none"
: >"$dir/none/libnccl.so.2" # nothing to load, before one that this machine may have
check "$2:$dir/none" '' 'own transfers: no NCCL (libnccl.so.2 cannot be loaded)' 0
