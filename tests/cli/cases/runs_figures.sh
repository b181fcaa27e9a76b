# every number of generated runs, a shape and a fault or two each
figures() { python3 "$SAMPLES/../tests/cli/figures.py" "$@"; }
n=0
run() {
    n=$((n + 1))
    echo "==== $1"
    "$INQ" synth "layers=4,steps=6,lean=1,seed=$n,$1" -q -o "run$n" >/dev/null
    "$INQ" analyze "run$n" -q -f json "${@:2}" |
        figures schema tool inputs options title detail advice sure next segments origin_ns start_ns \
            worst collectives_left_out by_kernel findings_problem
}
run cpu_ops=0,dp=4,fault=slow_gpu:rank=2:factor=1.2,fault=late_host:rank=1:mode=step
run cpu_ops=0,dp=8,gpus_per_host=4,fault=slow_gpu:rank=4:last=7:factor=1.15
run cpu_ops=0,dp=4,steps=12,fault=gc:delay=3ms:every=4
run cpu_ops=0,dp=4,steps=12,fault=slow_gpu:rank=3:factor=1.4:every=3,fault=late_host:rank=1:mode=pause:from=4:to=4:delay=20ms
run shapes=1,dp=4,fault=low_clock:rank=1:factor=1.3
run shapes=1,dp=4,fault=more_work:rank=2:factor=1.3:mode=size,fault=more_work:rank=3:factor=1.2:mode=count
run cpu_ops=0,dp=2,tp=4,gpus_per_host=4,fault=slow_link:rank=6:peer=7:factor=4,fault=slow_gpu:rank=1:factor=1.3
run cpu_ops=0,dp=2,pp=4,fault=slow_gpu:rank=3:factor=1.3
run cpu_ops=0,pp=4,labels=1,fault=long_last_stage:factor=1.5,fault=uneven_seq
run cpu_ops=0,dp=4,experts=1,fault=uneven_experts:sigma=0.4
run cpu_ops=0,dp=2,pp=2,p2p=fused,window=ragged,fault=late_host:rank=1:mode=launch:factor=3
run cpu_ops=0,dp=2,pp=2,chunks=2,fault=missing_rank:rank=3
run cpu_ops=0,dp=4,clock=200,gpus_per_host=2,drift=20,fault=cut_file:rank=2,fault=slow_gpu:rank=1:factor=1.2
run cpu_ops=0,dp=4,sharded=1,sync=0,fault=slow_link:host=0:factor=2,gpus_per_host=2
run cpu_ops=0,dp=8,gpus_per_host=2,fault=slow_gpu:rank=2:factor=1.15,fault=slow_gpu:rank=3:factor=1.4
run cpu_ops=0,dp=2,pp=4,early_recv=1,p2p_group=world,fault=slow_gpu:rank=4:last=5:factor=1.25
run cpu_ops=0,dp=2,tp=2,pp=2,args=old,fault=late_host:rank=5:mode=gc:delay=2ms,fault=clock_drift:rank=3:ppm=80
run shapes=1,dp=2,pp=2,experts=1,fault=more_work:rank=1:factor=1.4:mode=count,fault=uneven_experts:sigma=0.2
run cpu_ops=0,dp=8,steps=12,fault=slow_gpu:rank=5:factor=1.3:from=4:to=9,fault=slow_link:rank=1:factor=3:from=6
run cpu_ops=0,dp=2,steps=1,window=ragged,p2p=batched,pp=2,fault=late_host:rank=1:mode=step
