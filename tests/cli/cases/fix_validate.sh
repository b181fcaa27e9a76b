"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" fix run --fix rebalance-stages --fix microbatches:8 --validate sim --top 1
echo
"$INQ" fix run --validate sim --scale 0
"$INQ" fix run --validate gpu
