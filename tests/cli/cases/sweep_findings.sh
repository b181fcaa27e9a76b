# what is found, at what cost and how surely, while a fault grows from below what is reported
sweep() {
    local template=$1
    for value in "${@:2}"; do
        local run=${template//@/$value}
        "$INQ" synth "layers=4,steps=6,lean=1,cpu_ops=0,gz=0,$run" -q -o "${run//:/_}" >/dev/null
        "$INQ" analyze "${run//:/_}" -j 1 -q -f json >>reports
        rm -r "${run//:/_}"
    done
}
sweep dp=4,seed=31,fault=slow_gpu:rank=2:factor=@ 1.01 1.02 1.03 1.05 1.08 1.12 1.2 1.5 3
sweep dp=3,seed=32,fault=slow_gpu:rank=0:factor=@:every=3 1.1 1.2 1.4 2
sweep dp=2,pp=2,seed=33,fault=long_last_stage:factor=@ 1.05 1.1 1.2 1.4 2
sweep dp=4,seed=34,fault=late_host:rank=1:mode=step:delay=@ 100us 300us 1ms 3ms 10ms
sweep dp=4,seed=35,fault=late_host:rank=1:mode=launch:factor=@ 2 4 8 16
sweep dp=4,steps=12,seed=36,fault=late_host:rank=3:mode=pause:from=4:to=4:delay=@ 500us 2ms 5ms 20ms 200ms
sweep dp=4,steps=12,seed=37,fault=gc:delay=@:every=4 500us 1ms 2ms 5ms
sweep dp=4,steps=12,seed=38,fault=gc:delay=4ms:every=@ 2 3 6 12
sweep dp=4,gpus_per_host=2,seed=39,fault=slow_link:rank=1:factor=@ 1.1 1.3 2 5
sweep dp=2,tp=2,seed=40,fault=slow_link:rank=3:peer=2:factor=@ 1.2 2 6
sweep pp=4,micro_batches=8,seed=41,fault=uneven_seq:sigma=@ 0.05 0.15 0.4 0.8
sweep dp=4,experts=1,seed=42,fault=uneven_experts:sigma=@ 0.05 0.2 0.5 1
sweep dp=4,shapes=1,seed=43,fault=more_work:rank=2:mode=size:factor=@ 1.03 1.1 1.3 2
sweep dp=4,seed=44,fault=more_work:rank=2:mode=count:factor=@ 1.1 1.5 3
sweep dp=4,seed=45,fault=jitter:sigma=@ 0.05 0.2 0.5
sweep dp=4,gpus_per_host=2,seed=46,fault=slow_gpu:host=1:factor=@ 1.03 1.1 1.4
sweep dp=8,gpus_per_host=4,seed=47,fault=slow_gpu:rank=1:stride=3:last=7:factor=@ 1.05 1.2 1.6
sweep dp=4,seed=48,layer=@ 20us 60us 200us
sweep dp=4,seed=49,dp_gbps=@ 5 20 60 600
sweep dp=2,pp=2,seed=50,pp_gbps=@ 1 5 20
sweep dp=2,tp=2,seed=51,tp_gbps=@ 20 80
sweep dp=4,seed=52,launch=@ 10us 40us 120us
sweep dp=4,seed=53,data=@ 1ms 3ms 9ms
sweep dp=2,pp=2,seed=54,sync=@,fault=slow_gpu:rank=2:factor=1.3 0 2 3
sweep dp=2,pp=2,seed=55,early_recv=@,fault=late_host:rank=1:mode=step 1 2
sweep dp=2,pp=2,seed=56,p2p=@,fault=slow_gpu:rank=1:factor=1.3 bare fused batched
sweep dp=2,pp=2,seed=57,sync=3,window=@,fault=late_host:rank=2:mode=pause full ragged
sweep dp=4,seed=58,sync=0,args=@,fault=slow_link:rank=3:factor=3 old seq
sweep tp=2,dp=2,seed=59,sharded=1,fault=low_clock:rank=@:factor=1.2 0 3
sweep pp=2,chunks=2,seed=60,gpus_per_host=@,clock=300,fault=slow_gpu:rank=1:factor=1.15 1 2
sweep tp=2,dp=2,gpus_per_host=2,seed=61,fault=late_host:host=1:mode=step:delay=@ 1ms 3ms
sweep dp=6,gpus_per_host=3,seed=62,fault=late_host:host=1:mode=launch:factor=6,fault=slow_gpu:rank=@:factor=1.1 1 4
cat >show.py <<'P'
import json, sys
finding = "id severity confidence cost_ns_per_step gain_interval_ns share measured expected".split()
cause = "id ns gain_alone_ns gain_in_order_ns gain_interval_ns overlaps confidence fix".split()
row = lambda of, keys: print(" ", *(json.dumps(of.get(key), separators=(",", ":")) for key in keys))
for run in map(json.loads, open("reports").read().replace("\n}\n{", "\n}\0{").split("\0")):
    print("====", run["name"])
    for f in run["findings"]:
        row(f, finding)
    print("  classes:", *(c["ns"] for c in run["account"]["classes"]))
    print("  causes:")
    for c in run["account"]["causes"]:
        row(c, cause)
P
python3 show.py
