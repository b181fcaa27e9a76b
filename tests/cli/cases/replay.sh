"$INQ" replay --make 1f1b -p 4 -m 8 --times 2,1,1,0.1 --engine sim
echo
"$INQ" replay --make 1f1b -p 4 -m 8 --times 2,1,1,0.1 --engine sim --scale 0.5 --steps 2
echo
"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" replay run --engine sim
echo
"$INQ" replay run --engine sim --fix rebalance-stages -o fixed.trace.json
"$INQ" info fixed.trace.json
# what blocks is executed, and stops
printf '%s\n' '0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1' \
    '1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1' >blocks.csv
"$INQ" replay blocks.csv --grouping none
"$INQ" replay blocks.csv --grouping none -f json
"$INQ" replay blocks.csv --engine sim
"$INQ" replay
"$INQ" replay run --make 1f1b
"$INQ" replay run --repeats none
"$INQ" replay run --scale -1
"$INQ" replay run --fix replace-rnk:2
"$INQ" replay run --engine sim --work recorded
"$INQ" replay bad_none
