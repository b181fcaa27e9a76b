# the what-if model of op tables: slow workers, stages and kinds of ops, with and without replicas
cat >make.py <<'P'
import random, sys
spec = dict(pair.split("=") for pair in sys.argv[1].split(","))
get = lambda key, usual: float(spec.get(key, usual))
noise = random.Random(int(get("seed", 1)))
digits = int(get("digits", 6))  # with few, ops are equally long, and some take no time
dp, pp, m, steps = (int(get(*k)) for k in (("dp", 2), ("pp", 2), ("m", 4), ("steps", 4)))
print("step,stage,dp_rank,op_type,microbatch,start_s,duration_s")


def took(kind, d, s, m, usual):
    x = usual * (1 + get("sigma", 0.02) * (noise.random() - 0.5))
    x *= get("slow", 1) if (d, s) == (get("slow_dp", 0), get("slow_stage", 0)) else 1
    x *= get("last", 1) if s == pp - 1 and kind.endswith("compute") else 1
    x *= get("link", 1) if "send" in kind or "recv" in kind else 1
    x *= get("sync", 1) if kind.endswith("sync") and d == 0 else 1
    return x * (get("uneven", 1) if m == 1 and kind.endswith("compute") else 1)


for step in range(steps):
    free, ends = {}, {}
    base = step * 100.0
    rows = []

    def op(kind, s, d, i, after, usual):
        begin = max([base, free.get((s, d, kind.split("-")[-1] == "compute"), base), *after])
        length = took(kind, d, s, i, usual)
        rows.append((step, s, d, kind, i, begin, length))
        free[s, d, kind.split("-")[-1] == "compute"] = begin + length
        ends[kind, s, d, i] = begin + length
        return begin + length

    for d in range(dp):
        for s in range(pp):
            op("params-sync", s, d, 0, [], 0.2)
        for i in range(m):
            for s in range(pp):
                after = [ends["params-sync", s, d, 0]]
                if s > 0:
                    sent = op("forward-send", s - 1, d, i, [ends["forward-compute", s - 1, d, i]], 0.05)
                    after.append(op("forward-recv", s, d, i, [sent - 0.05], 0.05))
                op("forward-compute", s, d, i, after, 1.0)
        for i in range(m):
            for s in reversed(range(pp)):
                after = [ends["forward-compute", s, d, i]]
                if s < pp - 1:
                    sent = op("backward-send", s + 1, d, i, [ends["backward-compute", s + 1, d, i]], 0.05)
                    after.append(op("backward-recv", s, d, i, [sent - 0.05], 0.05))
                op("backward-compute", s, d, i, after, 2.0)
    for s in range(pp):
        at = max(ends["backward-compute", s, d, m - 1] for d in range(dp))
        for d in range(dp):
            op("grads-sync", s, d, 0, [at], 0.3)
    for r in rows:
        print("%d,%d,%d,%s,%d,%.*f,%.*f" % (*r[:5], digits, r[5], digits, r[6]))
P
run() {
    echo "==== $1"
    python3 make.py "$1" >table.csv
    "$INQ" analyze table.csv -q -f json "${@:2}" |
        python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options title detail advice sure next \
            ranks steps kernels segments origin_ns start_ns
}
ask="--what-if stage=1:factor=0.5 --what-if dp=1:fix --what-if dp=1:speed=1.0 --what-if type=forward-compute:factor=0.9
    --what-if type=sync:fix --what-if type=p2p,compute:factor=1.1 --what-if stage=0:keep --what-if rank=3:speed=0.8"
run dp=2,pp=2,seed=1,slow=1.3,slow_dp=1,slow_stage=0 $ask
run dp=1,pp=3,seed=2,slow=1.5,slow_stage=1 $ask
run dp=3,pp=1,seed=3,slow=1.4,slow_dp=2 $ask
run dp=2,pp=3,seed=4,last=1.4,m=6 $ask
run dp=4,pp=2,seed=5,link=6,sync=2
run dp=2,pp=2,seed=6,uneven=1.8,sigma=0.2,steps=9
run dp=1,pp=1,seed=7,steps=1
run dp=12,pp=3,seed=8,m=2,slow=1.6,slow_dp=7,slow_stage=2,steps=2,sigma=0.5
run dp=5,pp=2,seed=10,m=2,slow=1.7,slow_dp=4,slow_stage=1,steps=2,sigma=0.6
run dp=3,pp=2,seed=11,slow=1.5,slow_dp=1,digits=1,steps=3
run dp=2,pp=3,seed=12,sigma=0,slow=2,slow_stage=1,digits=0,steps=2
python3 make.py dp=2,pp=2,seed=9,slow=1.2,steps=2 >table.csv
for table in pipelines waterfall pipeline_stages pipeline_ops; do
    "$INQ" analyze table.csv -q -f csv --table $table | awk 'NR <= 40'
done
"$INQ" analyze table.csv -q -v
