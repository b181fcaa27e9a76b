"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" fix run -o fixes.md
cat fixes.md
