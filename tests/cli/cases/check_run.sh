for seed in 1 2; do "$INQ" synth "dp=2,pp=2,layers=4,steps=8,lean=1,cpu_ops=0,labels=1,seed=$seed" -o "run$seed" >/dev/null; done
"$INQ" synth dp=2,pp=2,layers=4,steps=8,lean=1,cpu_ops=0,labels=1,seed=3,fault=long_last_stage:factor=1.3 -o slow >/dev/null
"$INQ" check run1 --baseline perf.json; echo "exit $?"
"$INQ" check run1 --baseline perf.json --update --rule worst_wait=10% --tolerance 4%; echo "exit $?"
cat perf.json
"$INQ" check run2 --baseline perf.json; echo "exit $?"
"$INQ" check slow --baseline perf.json; echo "exit $?"
"$INQ" check slow --baseline perf.json -f markdown; echo "exit $?"
"$INQ" check slow --baseline perf.json -f github; echo "exit $?"
"$INQ" check slow --baseline perf.json -o check.xml; echo "exit $?"
cat check.xml
"$INQ" check slow --baseline perf.json -f json --rule new_findings=off; echo "exit $?"
