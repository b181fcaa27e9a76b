# every table of a run with two faults and a lost file, as CSV
"$INQ" synth dp=2,pp=2,tp=2,layers=4,steps=4,lean=1,cpu_ops=0,seed=5,fault=slow_gpu:rank=3:factor=1.3,fault=late_host:rank=6:mode=step,fault=missing_rank:rank=5 -q -o run
"$INQ" analyze run -q --table list | sed 1d | cut -d , -f 1 | uniq | while read -r table; do
    echo "==== $table"
    "$INQ" analyze run -q -f csv --table "$table" | awk 'NR <= 24'
done
