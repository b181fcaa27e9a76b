# a baseline of three runs, and runs that are worse, better or other than those
spec=layers=4,steps=8,lean=1,cpu_ops=0
make() { "$INQ" synth "$spec,$2" -q -o "$1" >/dev/null; }
for seed in 1 2 3 4; do make "run$seed" "dp=2,pp=2,seed=$seed"; done
make slow dp=2,pp=2,seed=5,fault=slow_gpu:rank=2:factor=1.2
make late dp=2,pp=2,seed=6,fault=late_host:rank=1:mode=step
make long dp=2,pp=2,seed=7,fault=long_last_stage:factor=1.4
make fast dp=2,pp=2,seed=8,layer=700us
make less dp=2,pp=2,seed=9,micro_batches=2
"$INQ" check run1 --baseline perf.json --update; echo "exit $?"
"$INQ" check --baseline perf.json --update --add run2 run3; echo "exit $?"
for run in run4 slow late long fast less; do
    echo "==== $run"
    "$INQ" check "$run" --baseline perf.json; echo "exit $?"
done
"$INQ" check late --baseline perf.json -f json
