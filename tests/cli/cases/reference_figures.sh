# what HTA and TraceLens would print of generated runs
figures() { python3 "$SAMPLES/../tests/cli/figures.py" "$@"; }
n=0
run() {
    n=$((n + 1))
    "$INQ" synth "layers=2,steps=3,lean=1,seed=$n,$1" -q -o "run$n" >/dev/null
    for method in hta tracelens; do
        echo "==== $method: $1"
        "$INQ" analyze "run$n" -q -f json --method $method |
            figures schema tool inputs options verdict findings account steps ranks collectives critical_path kernels \
                whatif pipeline name
    done
}
run dp=4,fault=slow_gpu:rank=2:factor=1.2,fault=late_host:rank=1:mode=step
run dp=2,pp=2,fault=cut_file:rank=3
run cpu_ops=0,dp=2,tp=2,sharded=1,window=ragged
run dp=2,experts=1,calls=0
