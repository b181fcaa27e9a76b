# reduced partials: every number of what is read from them, compared and checked, beside the whole run
figures() {
    python3 "$SAMPLES/../tests/cli/figures.py" schema tool options name detail headline path skipped clock \
        critical_path kernels collectives evidence advice why next measured expected
}
spec=layers=2,lean=1,cpu_ops=0,gz=0
make() {
    "$INQ" synth "$spec,$2" -q -o "$1" >/dev/null
    "$INQ" ingest "$1" -q -o "$1.some" --reduced --steps "$3"
}
make base dp=4,steps=12,seed=1 3
make slow dp=4,steps=14,seed=2,fault=slow_gpu:rank=2:factor=1.3:every=4 3
make pipe dp=2,pp=2,steps=9,seed=3,fault=late_host:rank=1:mode=step 1
make pause dp=2,steps=12,seed=4,fault=late_host:rank=1:mode=pause:from=6:to=6:delay=20ms 2
make few dp=2,steps=3,seed=5 3
for run in base slow pipe pause few; do
    echo "==== $run"
    "$INQ" analyze $run.some -q -f json | figures
    "$INQ" analyze $run.some -q --only account | sed -n "/^Where/,/^$/p"
done
for pair in "base base.some" "base.some slow.some" "slow.some base"; do
    echo "==== $pair"
    # shellcheck disable=SC2086
    "$INQ" compare $pair -q | head -n 30
    # shellcheck disable=SC2086
    "$INQ" compare $pair -q -f json | figures
done
"$INQ" check base.some --baseline perf.json --update --force >/dev/null
for run in base base.some slow.some; do
    echo "==== check $run"
    "$INQ" check $run --baseline perf.json -q
done
