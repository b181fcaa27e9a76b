# comparisons of generated runs: the first lines, and all numbers of one
spec=layers=4,steps=8,lean=1,cpu_ops=0
make() { "$INQ" synth "$spec,$2" -q -o "$1" >/dev/null; }
make base dp=4,seed=1
make slow dp=4,seed=2,fault=slow_gpu:rank=2:factor=1.2
make late dp=4,seed=3,fault=late_host:rank=1:mode=step
make link dp=4,seed=4,dp_gbps=30
make gc dp=4,seed=5,fault=gc:delay=3ms:every=4
make pipe dp=2,pp=2,seed=6
make long dp=2,pp=2,seed=7,fault=long_last_stage:factor=1.5
make more dp=4,seed=8,micro_batches=2
for pair in base:slow slow:late base:link base:gc pipe:long base:pipe base:more late:base; do
    echo "==== $pair"
    "$INQ" compare "${pair%:*}" "${pair#*:}"; echo "exit $?"
done
"$INQ" compare base slow -f json
