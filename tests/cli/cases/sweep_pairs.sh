# comparisons and checks of runs on coarse grids of time, or without noise
python3 "$SAMPLES/../tests/cli/sweep.py" "$INQ" pairs <<'S'
100 dp=4,seed=1 dp=4,seed=2,fault=slow_gpu:rank=2:factor=1.3
100 dp=4,seed=1 dp=4,seed=1
500 dp=4,seed=3,fault=slow_gpu:rank=0:factor=1.5 dp=4,seed=4,fault=late_host:rank=1:mode=step:delay=3ms
100 dp=4,seed=5 dp=8,gpus_per_host=4,seed=6
200 dp=8,gpus_per_host=4,seed=7,layer=1ms dp=4,seed=8
10 dp=2,pp=2,seed=9 dp=2,pp=2,seed=10,fault=long_last_stage:factor=1.5
10 dp=2,pp=2,seed=11 dp=2,pp=2,seed=12,micro_batches=8
10 dp=2,pp=2,seed=13,chunks=2 dp=2,pp=2,seed=14,p2p=bare
100 dp=4,seed=15 dp=2,tp=2,seed=16
100 dp=2,tp=2,seed=17 dp=2,tp=2,seed=18,tp_gbps=30
50 dp=4,seed=19,gpus_per_host=2 dp=4,gpus_per_host=2,seed=20,fault=slow_link:host=1:factor=3
100 dp=4,steps=12,seed=21 dp=4,steps=12,seed=22,fault=gc:delay=4ms:every=3
100 dp=4,steps=12,seed=23 dp=4,steps=12,seed=24,fault=late_host:rank=1:mode=pause:from=4:to=4:delay=20ms
100 dp=4,steps=12,seed=25,fault=slow_gpu:rank=1:factor=1.4:every=3 dp=4,steps=12,seed=26
200 dp=4,experts=1,seed=27 dp=4,experts=1,seed=28,fault=uneven_experts:sigma=0.5
100 dp=4,seed=29,shapes=1 dp=4,shapes=1,seed=30,fault=more_work:rank=1:factor=1.5:mode=size
100 dp=4,seed=31 dp=4,sharded=1,seed=32
100 dp=4,seed=33 dp=4,seed=34,fault=missing_rank:rank=1,fault=cut_file:rank=2:at=0.6
100 dp=4,gpus_per_host=2,seed=35,launch=20us dp=4,gpus_per_host=2,seed=36,fault=late_host:host=1:mode=launch:factor=6
500 dp=2,steps=1,seed=37 dp=2,steps=2,seed=38,layers=2
10 pp=4,dp=1,seed=39,fault=uneven_seq dp=1,pp=4,seed=40,layer=900us
100 dp=4,seed=41,dp_gbps=20 dp=4,seed=42,bucket_layers=4
0 dp=4,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0 dp=4,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0,layer=824us
0 dp=4,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0 dp=4,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0,fault=slow_gpu:rank=1:factor=1.5
S
