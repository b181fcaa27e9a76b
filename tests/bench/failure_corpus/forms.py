# SPDX-License-Identifier: Apache-2.0
"""The forms in which launchers and libraries write: progress, tracebacks, watchdogs, summaries."""


def at(h, m, s=0, date="2026-03-14", sep=" "):
    s, m = s % 60, m + s // 60
    return f"{date}{sep}{(h + m // 60) % 24:02d}:{m % 60:02d}:{s:02d}"


def megatron(first, last, total=50000, h=10, m=0, every=12, loss=3.2, fall=0.004, skip=0):
    out = []
    for i, n in enumerate(range(first, last + 1)):
        out.append(
            f" [{at(h, m, i * every)}] iteration {n:8d}/{total:8d} | consumed samples: {n * 512:12d} | "
            f"elapsed time per iteration (ms): {every * 1000 + n % 7 * 3.1:.1f} | learning rate: 1.500000E-04 | "
            f"global batch size:   512 | lm loss: {loss - i * fall:.6E} | loss scale: 1.0 | "
            f"grad norm: {0.61 + n % 5 * 0.01:.3f} | number of skipped iterations:   {skip} | "
            "number of nan iterations:   0 |")
    return "\n".join(out)


def plain(first, last, every=1, h=10, m=0, sec=4, loss=3.0, fall=0.01, rank=None, total=None):
    who = "" if rank is None else f"rank {rank} "
    of = "" if total is None else f"/{total}"
    return "\n".join(
        f"{at(h, m, i * sec)} INFO {who}step {n}{of} loss {loss - i * fall:.4f} lr 3.00e-04 "
        f"grad_norm {0.9 + n % 4 * 0.02:.3f} {sec}.0 s/it" for i, n in
        enumerate(range(first, last + 1, every)))


def hf(first, last, every=10, loss=1.9, fall=0.02):
    return "\n".join(
        f"{{'loss': {loss - i * fall:.4f}, 'grad_norm': {1.1 + i % 3 * 0.1:.4f}, 'learning_rate': "
        f"{2e-5 - i * 1e-8:.6e}, 'epoch': {n / 2000:.2f}}}" for i, n in
        enumerate(range(first, last + 1, every)))


def tqdm(first, last, total=1200, sec=2.1, loss=1.4):
    return "\n".join(
        f" {n * 100 // total:2d}%|{'#' * (n * 10 // total):10s}| {n}/{total} [{n * sec / 60:02.0f}:"
        f"{n * sec % 60:02.0f}<{(total - n) * sec / 60:.0f}:00,  {sec:.2f}s/it, loss={loss - n / 5000:.3f}]"
        for n in range(first, last + 1))


def titan(first, last, h=3, m=0, rank=None, loss=8.1, mem=61.2):
    who = "" if rank is None else f"[rank{rank}]:"
    return "\n".join(
        f"{who}[titan] {at(h, m, i * 5)},{n % 1000:03d} - root - INFO - step: {n:2d}  loss: "
        f"{loss - i * 0.03:7.4f}  grad_norm: {1.4 - i * 0.01:7.4f}  memory: {mem:5.2f}GiB(77.2%)  "
        f"tps: {5120 + n % 9}  tflops: 301.15  mfu: 30.45%" for i, n in enumerate(range(first, last + 1)))


def tb(exc, *frames, rank=None, head="Traceback (most recent call last):"):
    """frames: "file:line:function:code", outermost first."""
    out = [head]
    for frame in frames:
        file, line, func, code = frame.split(":", 3)
        out += [f'  File "{file}", line {line}, in {func}', f"    {code.strip()}"]
    out += exc.split("\n")
    label = "" if rank is None else f"[rank{rank}]: "
    return "\n".join(label + line for line in out)


MAIN = "/workspace/train.py:412:<module>:main()"
LOOP = "/workspace/train.py:338:main:trainer.fit(model, loader)"
STEP = "/workspace/trainer.py:201:fit:loss = self.training_step(batch)"
BACK = "/opt/conda/lib/python3.11/site-packages/torch/_tensor.py:581:backward:torch.autograd.backward("
ENGINE = ("/opt/conda/lib/python3.11/site-packages/torch/autograd/graph.py:825:_engine_run_backward:"
          "return Variable._execution_engine.run_backward(")

SIGNAL = {-4: "SIGILL", -6: "SIGABRT", -7: "SIGBUS", -9: "SIGKILL", -11: "SIGSEGV", -15: "SIGTERM", -8: "SIGFPE"}


def term(pids, stamp="W0314 10:05:31.504000", tid=4012):
    return "\n".join(f"{stamp} {tid} site-packages/torch/distributed/elastic/multiprocessing/api.py:900] "
                     f"Sending process {pid} closing signal SIGTERM" for pid in pids)


def elastic(fails, host="node-a", script="train.py", when="2026-03-14_10:05:31", stop=(), tid=4012,
            stamp="0314 10:05:31.704000", python="/opt/conda/bin/python3"):
    """The agent's end of a node: fails = [(rank, local rank, exit code, pid)], the first is its
    "first observed failure"."""
    rank, local, code, pid = fails[0]
    out = [term(stop, "W" + stamp, tid)] if stop else []
    out.append(f"E{stamp} {tid} site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed "
               f"(exitcode: {code}) local_rank: {local} (pid: {pid}) of binary: {python}")
    out.append("Traceback (most recent call last):\n"
               '  File "/opt/conda/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n'
               '  File "/opt/conda/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 264, '
               "in launch_agent\n    raise ChildFailedError(\n"
               "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    out += ["=" * 60, f"{script} FAILED", "-" * 60, "Failures:"]
    def item(i, fail):
        rank, local, code, pid = fail
        said = (f"Signal {-code} ({SIGNAL[code]}) received by PID {pid}" if code < 0 else
                "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")
        return [f"[{i}]:", f"  time      : {when}", f"  host      : {host}",
                f"  rank      : {rank} (local_rank: {local})", f"  exitcode  : {code} (pid: {pid})",
                "  error_file: <N/A>", f"  traceback : {said}"]
    if len(fails) == 1:
        out.append("  <NO_OTHER_FAILURES>")
    for i, fail in enumerate(fails[1:]):
        out += item(i + 1, fail)
    out += ["-" * 60, "Root Cause (first observed failure):"] + item(0, fails[0]) + ["=" * 60]
    return "\n".join(out)


def c10(rank, text, stamp="314 10:12:31.110236541", line=632, sev="E"):
    return f"[rank{rank}]:[{sev}{stamp} ProcessGroupNCCL.cpp:{line}] {text}"


def watchdog(rank, seq, op="ALLREDUCE", numel=25165824, out=None, ms=600000, ran=None, pg="0", uid="0",
             desc="default_pg", group_rank=None, enq=None, done=None, stamp="314 10:12:31.110236541",
             old=False, die=True):
    """One rank's collective that timed out, as PyTorch 2.5 and later write it (old: 2.3)."""
    group_rank = rank if group_rank is None else group_rank
    out = numel if out is None else out
    ran = ms + 14 + rank * 7 if ran is None else ran
    enq = seq if enq is None else enq
    done = seq - 1 if done is None else done
    head = f"[PG ID {pg} PG GUID {uid}({desc}) Rank {group_rank}]" if not old else f"[PG {pg} Rank {group_rank}]"
    said = (f"[Rank {group_rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, "
            f"OpType={op}, NumelIn={numel}, NumelOut={out}, Timeout(ms)={ms}) ran for {ran} milliseconds "
            "before timing out.")
    lines = [c10(rank, said, stamp)]
    if old:
        lines.append(c10(rank, f"{head} Timeout at NCCL work: {seq}, last enqueued NCCL work: {enq}, last "
                         f"completed NCCL work: {done}.", stamp, 1537))
    else:
        lines.append(c10(rank, f"{head}  failure detected by watchdog at work sequence id: {seq} PG status: "
                         f"last enqueued work: {enq}, last completed work: {done}", stamp, 2268))
    if die:
        lines += [c10(rank, "[Rank %d] Some NCCL operations have failed or timed out. Due to the asynchronous "
                      "nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete "
                      "data." % group_rank, stamp, 681),
                  c10(rank, "[Rank %d] To avoid data inconsistency, we are taking the entire process down." %
                      group_rank, stamp, 695),
                  c10(rank, f"{head} Process group watchdog thread terminated with exception: {said}", stamp,
                      1901)]
    return "\n".join(lines)


def heard(rank, enq, done, other=None, pg="0", uid="0", desc="default_pg", group_rank=None,
          stamp="314 10:12:31.610236541"):
    """The line in which a rank that did not time out states its counters."""
    group_rank = rank if group_rank is None else group_rank
    source = "this local rank" if other is None else f" rank {other}"
    return c10(rank, f"[PG ID {pg} PG GUID {uid}({desc}) Rank {group_rank}] Received a dump signal due to a "
               f"collective timeout from {source} and we will try our best to dump the debug info. Last "
               f"enqueued NCCL work: {enq}, last completed NCCL work: {done}.This is most likely caused by "
               "incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of "
               "collectives is not same for all ranks or the scheduled collective, for some reason, didn't "
               "run.", stamp, 1685)


def nccl(host, pid, dev, text, tid=None, sev="WARN", src=""):
    tid = pid + 600 if tid is None else tid
    src = src + " " if src else ""
    return f"{host}:{pid}:{tid} [{dev}] {src}NCCL {sev} {text}"


def nccl_init(host, base_pid, n, first=0, nranks=None, bus=0x1b):
    """busIds in PCI order, ranks in order of the devices."""
    nranks = n if nranks is None else nranks
    return "\n".join(
        nccl(host, base_pid + i, i, f"ncclCommInitRank comm 0x55d0{i:04x}a0 rank {first + i} nranks {nranks} "
             f"cudaDev {i} nvmlDev {i} busId {bus + i * 0x10:x}000 commId 0x5ae77eb5ea4ec1ee - Init COMPLETE",
             sev="INFO") for i in range(n))


def oom(gpu, want="2.00 GiB", total="79.15 GiB", free="1.31 GiB", used="77.83 GiB", name="torch.OutOfMemoryError"):
    return (f"{name}: CUDA out of memory. Tried to allocate {want}. GPU {gpu} has a total capacity of {total} "
            f"of which {free} is free. Including non-PyTorch memory, this process has {used} memory in use. "
            "Of the allocated memory 74.02 GiB is allocated by PyTorch, and 1.62 GiB is reserved by PyTorch "
            "but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
            "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)")


def cuda(text, name="RuntimeError"):
    return (f"{name}: CUDA error: {text}\nCUDA kernel errors might be asynchronously reported at some other "
            "API call, so the stacktrace below might be incorrect.\nFor debugging consider passing "
            "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n")


def xid(code, text, t, bus="0000:9b:00", host=None, pid=None, name="python"):
    who = f" pid={pid}, name={name}," if pid is not None else ""
    head = f"[{t}]" if host is None else f"{t} {host} kernel:"
    return f"{head} NVRM: Xid (PCI:{bus}): {code},{who} {text}"


def oom_kill(t, pid, name="python", cg=None, rss=61234567, host=None):
    head = f"[{t}]" if host is None else f"{t} {host} kernel:"
    if cg:
        return "\n".join([
            f"{head} {name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
            f"{head} oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
            f"oom_memcg={cg},task_memcg={cg},task={name},pid={pid},uid=1000",
            f"{head} Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:91234512kB, "
            f"anon-rss:{rss}kB, file-rss:8124kB, shmem-rss:0kB, UID:1000 pgtables:121344kB oom_score_adj:0"])
    return "\n".join([
        f"{head} {name} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
        "oom_score_adj=0",
        f"{head} oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        f"global_oom,task_memcg=/user.slice,task={name},pid={pid},uid=1000",
        f"{head} Out of memory: Killed process {pid} ({name}) total-vm:891234512kB, anon-rss:{rss}kB, "
        "file-rss:8124kB, shmem-rss:1024kB, UID:1000 pgtables:121344kB oom_score_adj:0"])
