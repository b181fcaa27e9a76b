# what the pages of a run with two faults, and of one with labeled ops, draw their timelines from
"$INQ" synth dp=2,pp=2,layers=2,steps=2,lean=1,cpu_ops=0,calls=0,seed=6,fault=slow_gpu:rank=3:factor=1.3,fault=late_host:rank=0:mode=step -q -o run
"$INQ" synth pp=2,layers=2,steps=1,micro_batches=2,dp=1,labels=1,lean=1,cpu_ops=0,calls=0 -q -o labels
for run in run labels; do
    "$INQ" analyze "$run" -q -o report.html
    sed -n 's/.*id="inq-timeline">//p' report.html | sed 's/\([]}]\),\([[{"]\)/\1,\n\2/g'
done
