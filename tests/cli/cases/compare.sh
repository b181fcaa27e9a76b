spec=layers=4,steps=6,lean=1,cpu_ops=0
"$INQ" synth "dp=4,$spec,dp_gbps=150" -o base >/dev/null
"$INQ" synth "dp=8,$spec,dp_gbps=40,seed=2" -o new >/dev/null
"$INQ" synth "dp=4,$spec,seed=3,dp_gbps=150,fault=slow_gpu:rank=2:factor=1.2" -o slow >/dev/null
"$INQ" compare base new; echo "exit $?"
"$INQ" compare base new --samples 64,96 | head -9
"$INQ" compare base slow -o slow.md; echo "exit $?"
cat slow.md
"$INQ" synth "dp=4,$spec,dp_gbps=4,seed=4" -o narrow >/dev/null
"$INQ" compare narrow base | sed -n '/^What changed/,/^all/p'
"$INQ" compare base base; echo "exit $?"
"$INQ" compare base new -f json | head -42
