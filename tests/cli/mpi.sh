#!/usr/bin/env bash
# inquest-mpi: with any number of processes the result is that of inquest, byte for byte, and so are
# what is said of files that cannot be read and the exit status.   mpi.sh INQUEST SOURCE_DIR
# INQUEST_MPI and MPIEXEC are in the environment; skipped (77) where inquest-mpi was not built.
set -euo pipefail
inquest=$(realpath "$1")
cd "$2"
if [ -z "${INQUEST_MPI:-}" ]; then
    echo "skipped: built without MPI"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*"
    exit 1
}

# in a container the tests may be root's, and there may be fewer cores than processes
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launcher=("$MPIEXEC")
if "$MPIEXEC" --version | grep -q 'Open MPI\|OpenRTE'; then
    launcher+=(--oversubscribe --quiet)
fi
together() { # together N ARGUMENT...
    local n=$1
    shift
    timeout 120 "${launcher[@]}" -n "$n" "$INQUEST_MPI" "$@" </dev/null
}
# same N FORMAT PATH...
same() {
    local n=$1 format=$2
    shift 2
    "$inquest" analyze -v "$@" -f "$format" -o "$work/alone" -q
    together "$n" analyze -v "$@" -f "$format" -o "$work/together" -q
    cmp "$work/alone" "$work/together" || fail "$format of $* by $n processes"
}

for n in 1 2 4 7; do
    same $n json sample-traces/slow_gpu_dp8
done
for n in 2 7; do
    same $n json sample-traces/damaged_dp4
done
for format in text markdown perfetto; do
    same 4 $format sample-traces/pipeline_pp4_long_last
done
if "$inquest" help analyze | grep -q html; then
    same 4 html sample-traces/pipeline_pp4_long_last
fi

# logs, an archive, partials, a second job, and what is nothing or cannot be opened
mkdir -p "$work/run/folder.json"
printf '2026-01-15 08:00:01 [rank1]: RuntimeError: CUDA out of memory\n' >"$work/run/rank1.log"
tar -cf "$work/run/traces.tar" -C sample-traces healthy_dp4
"$inquest" ingest sample-traces/clock_offset_dp4 -o "$work/run" -q
head -c 3000 sample-traces/late_host_dp4/rank-0.pt.trace.json.gz >"$work/run/cut.pt.trace.json.gz"
ln -s nowhere "$work/run/dangling.json"
: >"$work/run/empty.json"
"$inquest" info "$work/run" -f json -o "$work/alone"
together 4 info "$work/run" -f json -o "$work/together"
cmp "$work/alone" "$work/together" || fail "info of files of all kinds"

# a run of many ranks, and partials of more bytes than go in one message
"$inquest" synth dp=64,micro_batches=1,steps=4,layers=4,seed=5,fault=slow_gpu:rank=9:factor=1.3 \
    -o "$work/many" -q
same 7 json "$work/many"
"$inquest" synth dp=2,steps=150,layers=48,seed=2 -o "$work/long" -q
"$inquest" ingest "$work/long" -o "$work/partials" -q
[ "$(find "$work/partials" -name '*.inq' -size +1100k | wc -l)" -ge 2 ] || fail "partials below 1 MiB"
same 2 json "$work/long"

# what was recorded, with several ranks
for run in "${INQ_SHARED_DATA:-none}"/kineto/*/; do
    if [ "$(find "$run" -maxdepth 1 -type f | wc -l)" -gt 1 ]; then
        same 4 json "$run"
    fi
done

# the other commands
"$inquest" compare sample-traces/healthy_dp4 sample-traces/late_host_dp4 -f json >"$work/alone"
together 3 compare sample-traces/healthy_dp4 sample-traces/late_host_dp4 -f json >"$work/together"
cmp "$work/alone" "$work/together" || fail "compare"
"$inquest" check sample-traces/healthy_dp4 --baseline "$work/base.json" --update -q
status=0
"$inquest" check sample-traces/late_host_dp4 --baseline "$work/base.json" --force >"$work/alone" || status=$?
other=0
together 3 check sample-traces/late_host_dp4 --baseline "$work/base.json" --force >"$work/together" || other=$?
[ $status -eq $other ] || fail "check: exit $other, not $status"
cmp "$work/alone" "$work/together" || fail "check"
"$inquest" ingest sample-traces/slow_gpu_dp8 -o "$work/one" -q
together 4 ingest sample-traces/slow_gpu_dp8 -o "$work/several" | grep -q '^9 partials in .*: 8 made of traces' ||
    fail "ingest: not nine partials"
diff -r "$work/one" "$work/several" || fail "ingest: other partials"

# what is wrong is told once, with the exit status of inquest
wrong() { # wrong STATUS TEXT ARGUMENT...
    local status=0 expected=$1 text=$2
    shift 2
    together 3 "$@" >/dev/null 2>"$work/wrong" || status=$?
    [ $status -eq "$expected" ] || fail "$*: exit $status, not $expected"
    [ "$(grep -c "$text" "$work/wrong")" -eq 1 ] || fail "$*: $(cat "$work/wrong")"
}
wrong 1 'no such file or folder' analyze "$work/nowhere"
wrong 2 "there is no 'fix' here" fix sample-traces/healthy_dp4
wrong 2 'leave it out' ingest sample-traces/healthy_dp4 -o "$work/none" --share 0/2
wrong 3 "Rank 5's GPU is" analyze sample-traces/slow_gpu_dp8 --fail-on medium -o "$work/x.txt"
echo "the same from one process and from several"
