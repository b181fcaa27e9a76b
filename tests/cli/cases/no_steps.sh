# A capture in which no step is known: what is measured and lost is told of the capture, not per step.
"$INQ" synth "dp=4,steps=1,layers=4,lean=1,cpu_ops=0,gz=0,fault=slow_gpu:rank=2:factor=1.5" -o run >/dev/null
sed -i 's/ProfilerStep#/phase /' run/rank-*.json
"$INQ" analyze run | sed -n '1,/^Where/p'
