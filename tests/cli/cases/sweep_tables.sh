# the tables, the figures of HTA and TraceLens, what-if questions and parts of runs on coarse grids of time
python3 "$SAMPLES/../tests/cli/sweep.py" "$INQ" tables <<'S'
100 dp=4,seed=1,shapes=1,cpu_ops=1,fault=slow_gpu:rank=1:factor=1.5,fault=late_host:rank=2:mode=step
10 dp=2,pp=2,seed=2,labels=1,steps=4,fault=long_last_stage:factor=1.5
10 dp=2,pp=4,chunks=2,seed=3,micro_batches=4,steps=4,layers=8,fault=slow_gpu:rank=3:factor=1.4
10 dp=4,seed=4,experts=1,cpu_ops=1,flows=1,lean=0,steps=3,fault=uneven_experts
200 dp=2,tp=2,seed=5,gpus_per_host=2,fault=missing_rank:rank=1,fault=slow_link:rank=3:factor=3
100 dp=4,sharded=1,seed=6,cpu_ops=1,lean=0,steps=4,fault=gc:delay=4ms:every=2
100 dp=3,seed=7,clock=300,gpus_per_host=1,fault=cut_file:rank=2:at=0.7
0 dp=2,pp=2,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,link_sigma=0,steps=4,fault=slow_gpu:rank=1:factor=1.5
S
