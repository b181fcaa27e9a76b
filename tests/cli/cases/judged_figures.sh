# every number of comparisons and checks of generated runs
figures() { python3 "$SAMPLES/../tests/cli/figures.py" schema tool options name detail headline; }
spec=layers=4,steps=6,lean=1,cpu_ops=0
make() { "$INQ" synth "$spec,$2" -q -o "$1" >/dev/null; }
for seed in 1 2 3; do make "run$seed" "dp=2,pp=2,seed=$seed"; done
make slow dp=2,pp=2,seed=5,fault=slow_gpu:rank=2:factor=1.2
make late dp=2,pp=2,seed=6,fault=late_host:rank=1:mode=launch:factor=3
make long dp=2,pp=2,seed=7,fault=long_last_stage:factor=1.4
make wide dp=4,pp=2,seed=8
make link dp=2,pp=2,seed=9,pp_gbps=5,fault=gc:delay=3ms:every=2
make fast dp=2,pp=2,seed=10,layer=700us
make wider dp=4,pp=2,seed=11,layer=900us,fault=slow_gpu:rank=1:factor=1.3
make sized dp=2,pp=2,seed=12,fault=more_work:rank=1:factor=1.5:mode=size
make host dp=2,pp=2,seed=13,gpus_per_host=2,fault=late_host:host=1:mode=step
for pair in run1:slow slow:late run1:long run1:wide run1:link late:run2 run1:fast run1:wider wider:run1 run1:sized \
    sized:slow run1:host host:link; do
    echo "==== $pair"
    "$INQ" compare "${pair%:*}" "${pair#*:}" -q -f json | figures
done
"$INQ" check run1 --baseline perf.json --update >/dev/null
"$INQ" check --baseline perf.json --update --add run2 run3 >/dev/null
for run in slow late long link fast sized host; do
    echo "==== $run"
    "$INQ" check "$run" --baseline perf.json -q -f json | figures
done
cut -c 1-4000 perf.json
make one dp=2,pp=2,steps=1,seed=14
"$INQ" check one --baseline one.json --update >/dev/null; echo "exit $?"
sed -n '/"measures"/,$p' one.json
