# tables at the number of rows that they show, and beyond it
run() {
    echo "==== $1 ${*:2}"
    "$INQ" synth "layers=2,lean=1,cpu_ops=0,gz=0,first_step=0,$1" -q -o run >/dev/null
    "$INQ" analyze run -q "${@:2}" | cut -c 1-100
    rm -r run
}
tables=(--only account,time_breakdown,collectives,critical_path,kernels)
run dp=2,steps=12,seed=1 "${tables[@]}"
run dp=2,steps=13,seed=1,step_sigma=0.2 "${tables[@]}"
run dp=17,steps=2,seed=2,fault=slow_gpu:rank=16:factor=1.3
run dp=33,steps=2,seed=3 "${tables[@]}"
run dp=3,pp=3,layers=3,steps=9,seed=4 -v
run dp=8,steps=2,seed=7,fault=slow_gpu:rank=1:factor=1.2 -f markdown
run dp=9,steps=2,seed=8,fault=slow_gpu:rank=1:factor=1.2 -f markdown
"$INQ" synth dp=65,layers=1,steps=1,lean=1,cpu_ops=0,gz=0,seed=6 -q -o run >/dev/null
"$INQ" info run | tail -n 12
"$INQ" info run -v | tail -n 4
for shape in "-p 2 -m 8" "-p 2 -m 9" "-p 1 -m 1" "-p 64 -m 1" "-p 65 -m 1"; do
    # shellcheck disable=SC2086
    "$INQ" schedule show --make 1f1b $shape | cut -c 1-100 | awk 'NR <= 8 || /more|Order|micro-batch [78]/' | head -n 24
done
