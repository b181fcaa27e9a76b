# the same times, told, by name and in a file
"$INQ" schedule compare 1f1b interleaved -p 2 -m 4 --times 2,2,1,0.1,0,0,0,4/3,3,1.5
"$INQ" schedule compare 1f1b interleaved -p 2 -m 4 --times f=2,b=2,W=1,FB=4,P2P=0.1/3,3,1.5
printf '# first stage\n2, 2, 1, 0.1, FB=4\n\n3,3,1.5 # last\n' >times
"$INQ" schedule compare 1f1b interleaved -p 2 -m 4 --times times
# those of a run
"$INQ" synth dp=2,pp=2,steps=6,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" synth dp=2,pp=2,steps=6,micro_batches=4,seed=4,fault=long_last_stage:factor=1.5 -q -o again
"$INQ" schedule search -p 2 -m 8 --times run -s 12..15
"$INQ" schedule show --make dualpipev -p 2 -m 4 --times run -f json | head -n 8
"$INQ" replay --make dp -p 2 -m 4 --chunks 2 --times 1,1,1,0,5,2,1 --no-overlap --engine sim
"$INQ" check --make 1f1b -p 2 -m 8 --times run --baseline base.json --update
"$INQ" check --make 1f1b -p 2 -m 8 --times again --baseline base.json
"$INQ" check --make gpipe -p 2 -m 8 --times again --baseline base.json
"$INQ" check --make 1f1b -p 2 -m 8 --times 1,2,3/2 --baseline base.json
"$INQ" check --make 1f1b -p 2 -m 8 --times 1,2,3/2 --baseline told.json --update -q >/dev/null
"$INQ" check --make 1f1b -p 2 -m 8 --times 1,2,3/3 --baseline told.json
# several jobs
mkdir both && cp -r run both/one && cp -r again both/two
"$INQ" fix both
"$INQ" fix both --job 3
"$INQ" fix both --job 2 --fix plan-gc --fix schedule:zb-h1 | head -n 4
"$INQ" replay both --job 1 -s 13..14 --engine sim | head -n 3
"$INQ" schedule show --make 1f1b -p 2 -m 4 --times both
"$INQ" schedule show --make 1f1b -p 2 -m 4 --times times -q | head -n 2
printf '1,2,3\nx\n' >times
"$INQ" schedule show --make 1f1b -p 2 -m 4 --times times
"$INQ" schedule compare 1f1b -p 2 -m 4 --times 1/2/3
# what runs beside the compute
printf '%s\n' '0UNSHARD,2UNSHARD,0F0,2F0,2B0,2RESHARD,2REDUCE_GRAD,0B0,0RESHARD,0REDUCE_GRAD' \
    '1UNSHARD,1F0,1B0,1RESHARD,1REDUCE_GRAD' >sharded.csv
"$INQ" schedule lint sharded.csv
"$INQ" schedule show sharded.csv --times 1,1,1,REDUCE=3,UNSHARD=2.5
"$INQ" replay sharded.csv --times 1,1,1,REDUCE=3,UNSHARD=2.5 --engine sim | head -n 3
"$INQ" schedule show sharded.csv --times 1,1,1,REDUCE=3,UNSHARD=2.5 -f perfetto | grep -c all-gather
printf '0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n' | "$INQ" schedule lint -
