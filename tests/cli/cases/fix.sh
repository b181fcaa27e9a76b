"$INQ" synth dp=4,layers=4,steps=4,micro_batches=1,seed=5,fault=slow_gpu:rank=2:factor=1.4 -q -o run
"$INQ" fix run
echo
"$INQ" fix run --fix replace-rank:2 --fix speed-rank:2:speed=1.0 --fix schedule:zb-h1
echo
"$INQ" fix run --fix replace-rnk:2
"$INQ" fix run --fix replace-rank:2:share=1
"$INQ" fix run --fix speed-rank:2:speed=fast
"$INQ" fix run --fix replace-rank:9
"$INQ" fix bad_none
