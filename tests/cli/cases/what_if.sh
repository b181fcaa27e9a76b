"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" analyze run --only whatif --what-if stage=1:factor=0.5 --what-if rank=9:fix
echo
"$INQ" analyze run --what-if colour=2
"$INQ" analyze ok_two_ranks --what-if rank=1:fix
