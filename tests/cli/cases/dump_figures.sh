# Flight Recorder dumps of ever more ranks that are late, stuck, absent or do something else than the others
cat >make.py <<'P'
import json, os, sys

T0 = 1773482400000000000


class Job:
    def __init__(self, world, pairs=False):
        self.world, self.ops = world, {r: [] for r in range(world)}
        self.groups = {"0": list(range(world))}
        if pairs:  # of neighbors, and of those that are two apart
            for a in range(0, world, 2):
                self.groups[str(len(self.groups))] = [a, a + 1]
        self.absent, self.cut, self.p2p, self.bare = set(), set(), set(), 0

    def op(self, ranks, group="0", name="all_reduce", seq=1, size=(4, 4), dtype="Float", state="completed", p2p=False,
           tensors=1):
        for rank in ranks:
            at = T0 + len(self.ops[rank]) * 1000000 + rank
            self.ops[rank].append({
                "record_id": len(self.ops[rank]), "pg_id": int(group), "process_group": [group, "g" + group],
                "collective_seq_id": 0 if p2p else seq, "p2p_seq_id": seq if p2p else 0, "op_id": seq,
                "profiling_name": "nccl:" + name, "input_sizes": [list(size)] * tensors,
                "output_sizes": [list(size)] * tensors,
                "input_dtypes": [dtype] * tensors, "output_dtypes": [dtype] * tensors, "state": state, "is_p2p": p2p,
                "retired": state == "completed", "time_created_ns": at, "timeout_ms": 600000,
                "time_discovered_started_ns": None if state == "scheduled" else at + 1000,
                "time_discovered_completed_ns": at + 2000 if state == "completed" else None,
                "frames": [{"name": "backward", "filename": "/app/train.py", "line": 30 + seq}]})

    def done(self, upto):
        for seq in range(1, upto + 1):
            self.op(range(self.world), seq=seq)

    def write(self, folder):
        os.makedirs(folder)
        for rank, ops in self.ops.items():
            if rank in self.absent:
                continue
            text = json.dumps({"version": "2.10", "pg_config": {
                g: {"name": g, "desc": "g" + g, "ranks": json.dumps(r if rank >= self.bare else [])}
                for g, r in self.groups.items()},
                "entries": ops})
            with open(f"{folder}/trace_rank_{rank}.json", "w") as f:
                f.write(text[:len(text) * 2 // 3] if rank in self.cut else text)


kind, world, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
job = Job(world, kind in ("swapped", "pair", "busy", "bare"))
odd, even = range(k), range(k, world)
job.done(6)
if kind == "late":  # k ranks never come to the seventh
    job.op(even, seq=7, state="started")
elif kind == "behind":  # and are k collectives behind
    job.op([0], seq=7, state="completed")
    for seq in range(7, 7 + k):
        job.op(range(1, world), seq=seq)
    job.op(range(1, world), seq=7 + k, state="started")
elif kind == "stuck":  # k ranks began the seventh, the others are done with it
    job.op(odd, seq=7, state="started")
    job.op(even, seq=7)
    job.op(range(world), seq=8, state="scheduled")
elif kind == "absent":  # k ranks left no dump
    job.op(even, seq=7, state="started")
    job.absent = set(odd)
elif kind == "cut":  # of k ranks the dump is cut
    job.op(even, seq=7, state="started")
    job.cut = set(odd)
elif kind == "size":
    job.op(odd, seq=7, size=(4, 5), state="started")
    job.op(even, seq=7, state="started")
elif kind == "runs":  # the last k ranks joined the seventh, which the others have not come to: as in a run
    job.op(range(world - k, world), seq=7, state="started")
elif kind == "tensors":  # some pass k more than the others
    job.op([0], seq=7, tensors=1 + k, state="started")
    job.op(range(1, world), seq=7, state="started")
elif kind == "type":
    job.op(odd, seq=7, dtype="Half", state="started")
    job.op(even, seq=7, state="started")
elif kind == "other":
    job.op(odd, seq=7, name="all_gather", state="started")
    job.op(even, seq=7, state="started")
elif kind == "swapped":  # two groups in another order
    job.op([0], seq=7, state="started")
    job.op([1], group="1", seq=1, state="started")
    job.op([0], group="1", seq=1, state="scheduled")
    job.op([1], seq=7, state="scheduled")
    job.op(range(2, world), seq=7, state="started")
elif kind == "pair":  # one rank waits in its pair for a neighbor that waits for all
    job.op([k], group=str(1 + k // 2), seq=1, state="started")
    job.op([r for r in range(world) if r != k], seq=7, state="started")
elif kind == "busy":  # in k pairs one waits for the other, in all others both are in it, as in a job that runs
    for rank in range(world):
        if rank % 2 or rank >= 2 * k:
            job.op([rank], group=str(1 + rank // 2), seq=1, state="started")
elif kind == "bare":  # rank 0 waits in its pair for rank 1; the dumps of k ranks only name the groups
    job.op([0], group="1", seq=1, state="started")
    job.op(range(2, world), seq=7, state="started")
    job.bare = k
elif kind == "send":  # a rank sends, nobody receives
    job.op([0], name=f"send 0->{k}", seq=1, p2p=True, state="started")
    job.op([r for r in range(world) if r > 0], seq=7, state="started")
elif kind == "idle":
    job.done(k)
job.write("dumps")
P
run() {
    python3 make.py "$@"
    echo "==== $*"
    "$INQ" analyze dumps -j 1 -q -f json |
        python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings sure text confidence_why |
        cut -c 1-600
    "$INQ" analyze dumps -j 1 -q | awk '/^$/ { exit } 1'
    rm -r dumps
}
for kind in late stuck absent size; do
    for k in 1 2 4; do run $kind 8 $k; done
    run $kind 2 1
done
for kind in cut type other; do run $kind 4 1; done
for k in 1 2 5; do run tensors 4 $k; done
for k in 1 2 3; do run runs 4 $k; done
run late 40 13
run absent 40 30
run stuck 3 3
for k in 1 2 5; do run behind 4 $k; done
for world in 2 4 8; do run swapped $world 1; done
for k in 0 1 5; do run pair 6 $k; done
run busy 4 1
for k in 1 2 3; do run busy 10 $k; done
for k in 1 3; do run send 4 $k; done
for k in 0 1 2; do run bare 4 $k; done
run idle 4 1
