# what times in logs prove, seconds to both sides of each limit: runs that go on, faults before a hang, faults
# on several ranks, clocks that are apart
cat >make.py <<'P'
import sys
kind, d = sys.argv[1], int(sys.argv[2])
stamp = lambda s: "2026-03-14 %02d:%02d:%02d" % (10 + s // 3600, s // 60 % 60, s % 60)
step = lambda s, n, rank=0: f"[rank{rank}]: {stamp(s)} step: {n} loss: {4 - n / 100:.2f}\n"
watchdog = lambda s, rank: (f"[rank{rank}]: {stamp(s)} Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, "
                            "OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600000 milliseconds\n")
oom = lambda s, rank: f"[rank{rank}]: {stamp(s)} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
T = 600
files = {"rank0.log": "".join(step(T - 60 + 10 * n, n) for n in range(6))}
if kind == "goes_on":  # the rank's own steps, in another file, until d seconds after its fault
    files["errors.log"] = oom(T, 1)
    files["rank0.log"] += step(T + d, 7)
elif kind == "same_file":
    files["rank0.log"] += oom(T, 0) + step(T + d, 7)
elif kind == "before":  # a network event d seconds before a collective starts to hang
    files["kern.log"] = f"{stamp(T - d)} n1 kernel: mlx5_core 0000:0c:00.0: Link down\n"
    files["rank0.log"] += watchdog(T + 600, 0) + watchdog(T + 600, 1)
elif kind == "at_once":  # two ranks fail, d seconds apart
    files["rank1.log"] = oom(T, 1)
    files["rank2.log"] = oom(T + d, 2)
elif kind == "apart":  # the second file's clock is d seconds ahead; its rank waited
    files["rank1.log"] = oom(T, 1)
    files["rank2.log"] = "".join(step(T - 60 + d + 10 * n, n, 2) for n in range(6)) + watchdog(T + 605 + d, 2)
for name, text in files.items():
    open("run/" + name, "w").write(text)
P
n=0
run() {
    mkdir run && python3 make.py "$@"
    echo "==== $*" >>titles
    "$INQ" analyze run -j 1 -q -f json
    rm -r run
}
{
    for d in 0 59 60 61 299 300 301 899 900 901; do run goes_on $d; done
    for d in 0 1 300 301; do run same_file $d; done
    for d in -61 -1 0 60 119 120 121 300; do run before $d; done
    for d in 0 4 5 6 60 61; do run at_once $d; done
    for d in -900 -61 -2 0 2 60 61 300 899 900 3600; do run apart $d; done
} | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings training text advice next sure |
    cut -c 1-330 | awk '/^: name=/ { getline title <"titles"; print title; next } { print }'
