# a failure in the logs of ever more ranks: how many are named, quoted and counted; ends with each exit code
cat >make.py <<'P'
import sys
kind, n = sys.argv[1], int(sys.argv[2])
stamp = lambda s, ms=0: "2026-03-14 10:%02d:%02d,%03d" % (s // 60, s % 60, ms)
watchdog = ("[rank%d]:[E%s ProcessGroupNCCL.cpp:607] [Rank %d] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=4096, Timeout(ms)=600000) ran for "
            "%d milliseconds before timing out.")
say = lambda rank, seq=12, op="ALLREDUCE", numel=4096: print(
    watchdog % (rank, "314 10:20:09.%06d" % rank, rank, seq, op, numel, 600000 + rank))
ranks = n + 2 if kind in ("victims", "roots", "silent") else 6 if kind in ("ops", "sizes", "seqs") else 3
for step in range(1, 7):
    for rank in range(ranks):
        print(f"[rank{rank}]: {stamp(step, rank)} step: {step} loss: {4 - step / 10:.3f}")
if kind == "victims":  # one rank fails, n wait for it
    print(f"[rank1]: {stamp(8)} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    for rank in range(n):
        rank += rank > 0
        say(rank, 12 + rank % 2)
elif kind == "roots":  # n ranks fail in the same way
    for rank in range(n):
        print(f"[rank{rank}]: {stamp(8, rank)} RuntimeError: CUDA error: an illegal memory access was encountered")
elif kind == "silent":  # all but n wait, those printed nothing more
    for rank in range(n, ranks):
        say(rank)
elif kind in ("ops", "sizes", "seqs"):  # n ranks, the last of them, time out in something else than the others
    for rank in range(ranks):
        odd = rank >= ranks - n
        say(rank, op="ALLGATHER" if odd and kind == "ops" else "ALLREDUCE",
            numel=64 if odd and kind == "sizes" else 4096, seq=0 if odd and kind == "seqs" else 1)
elif kind == "code":
    print(f"{stamp(8)} [E] failed (exitcode: {n}) local_rank: 1 (pid: 4242) of binary: /usr/bin/python3")
    print(f"srun: error: n{1}: task 1: Exited with exit code {n}")
elif kind == "xid":
    print(f"Mar 14 10:00:08 n1 kernel: NVRM: Xid (PCI:0000:3b:00): {n}, pid=4242, name=python3, Ch 00000008")
P
run() {
    python3 make.py "$@" >"$1 $2.log"
    "$INQ" analyze "$1 $2.log" -j 1 -q -f json >>reports
}
for n in 1 2 3 8 9 33 50; do run victims $n; done
for n in 1 2 3 12 13; do run roots $n; done
for n in 1 2 9; do run silent $n; done
for kind in ops sizes seqs; do for n in 1 2 3 5; do run $kind $n; done; done
for code in 2 120 127 128 129 132 134 135 136 137 139 143 192 193 255 -4 -6 -7 -8 -9 -11 -15 -31; do run code $code; done
for xid in 13 48 74 79 94 119 999; do run xid $xid; done
python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings advice next sure text training \
    alternatives file <reports | cut -c 1-400
