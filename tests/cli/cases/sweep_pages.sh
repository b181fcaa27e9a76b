# the html pages of runs on coarse grids of time: what is written, and what the timelines are drawn from
python3 "$SAMPLES/../tests/cli/sweep.py" "$INQ" pages <<'S'
100 dp=4,seed=1,fault=slow_gpu:rank=1:factor=1.5,fault=late_host:rank=2:mode=step
10 dp=2,pp=2,seed=2,labels=1,fault=long_last_stage:factor=1.5
10 dp=2,pp=2,chunks=2,seed=3,micro_batches=4,steps=3
1000 dp=4,steps=12,seed=4,fault=late_host:rank=3:mode=pause:from=4:to=4:delay=20ms
100 dp=8,tp=2,gpus_per_host=4,seed=5,steps=3,fault=slow_link:rank=6:peer=7:factor=4
100 dp=4,seed=6,experts=1,cpu_ops=1,flows=1,lean=0,steps=3
10 dp=4,steps=30,seed=7,fault=gc:delay=4ms:every=3
200 dp=4,seed=8,fault=missing_rank:rank=1,fault=cut_file:rank=2:at=0.6
0 dp=40,steps=2,layers=2,seed=9,gpus_per_host=8,fault=slow_gpu:rank=33:factor=1.5
100 dp=2,pp=4,p2p=batched,seed=10,sync=3,window=ragged,steps=3
0 dp=4,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0,fault=slow_gpu:rank=1:factor=1.5,steps=4
S
