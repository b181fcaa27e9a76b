"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" fix run --fix rebalance-stages --fix microbatches:8 --validate sim --top 1
echo
"$INQ" fix run --validate sim --scale 0
"$INQ" fix run --validate gpu
echo
"$INQ" fix --make 1f1b -p 4 -m 8 --times 1,1,1,0 --fix schedule:zb-h1 --fix microbatches:16:fixed=0 -f json | grep -E '"(spec|predicted_t_ns|t_ns|schedule)"'
"$INQ" fix --make 1f1b -p 4 -m 8
