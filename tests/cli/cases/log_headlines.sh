# headlines of single lines: what is quoted of long ones, on whom, on which host
cat >make.py <<'P'
import sys
steps = "".join(f"step: {i} loss: {4 - i / 10}\n" for i in range(1, 7))
cases = []
for n in (98, 99, 100, 101, 140):  # bytes from "Tried" on
    what = "Tried to allocate 304.00 MiB of "
    cases.append("[rank2]: torch.OutOfMemoryError: CUDA out of memory. " + what + "x" * (n - len(what)))
    cases.append("[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has " + "y" * (n - 34))
cases += [
    "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 304.00 MiB (GPU 0; 79.15 GiB total)",
    "[rank2]: RuntimeError: CUDA out of memory. Tried to allocate 304.00 MiB; free it",
    "[rank2]: torch.OutOfMemoryError: CUDA out of memory.",
    "ried to allocate 3 GiB", "[rank2]: RuntimeError: HIP out of memory. Tried to allocate 12.00 GiB",
]
for n in (100, 150, 165, 170, 171, 250):
    cases.append("[rank1]: KeyError: '" + "k" * (n - 12) + "'")
    cases.append("[rank1]: requests.exceptions.ConnectionError: " + "w" * (n - 30) +
                 " (Caused by NewConnectionError: no route to host)")
cases += [
    "[rank3]: AssertionError", "[rank3]: ValueError: expected 4 values. Got 3. Stop.",
    "[rank0]: RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.",
    "[rank0]: RuntimeError: DataLoader worker (pid(s) 4711, 4712) exited unexpectedly",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
    "srun: error: n3: task 5: Killed", "srun: error: n3: tasks 4-7: Exited with exit code 1",
    "slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-03-14T10:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-03-14T10:00:00 DUE TO PREEMPTION ***",
    "slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-03-14T10:00:00 ***",
    "Mar 14 10:00:08 n3 kernel: Out of memory: Killed process 4242 (python3) total-vm:1kB",
    "Mar 14 10:00:08 n3 kernel: mce: [Hardware Error]: Machine check events logged",
    "Mar 14 10:00:08 n3 kernel: nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32",
    "Mar 14 10:00:08 n3 kernel: NVRM: GPU at PCI:0000:3b:00: GPU-1 has fallen off the bus.",
    "Mar 14 10:00:08 n3 kernel: NVRM: Xid (PCI:00ab:cd:1e): 79, pid=4242, GPU has fallen off the bus.",
    "Mar 14 10:00:08 n3 kernel: mlx5_core 0000:0c:00.0: mlx5_cmd_check: Link down",
    "n3:4242:4300 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB: Got completion from peer 10.0.0.7<4791> "
    "with status=12 opcode=0 len=0 vendor err 129",
    "n3:4242:4300 [1] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n7<38012>",
    "[rank4]: OSError: [Errno 28] No space left on device", "[rank4]: OSError: [Errno 5] Input/output error",
    "[rank4]: torch.distributed.DistNetworkError: The client socket has failed to connect to [n1]:29500",
    "[rank4]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled cuda error",
    "[rank4]: torch.AcceleratorError: CUDA error: unspecified launch failure",
    "[rank4]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "[rank4]: RuntimeError: CUDA error: device-side assert triggered",
    "Fatal Python error: Segmentation fault", "free(): invalid pointer", "Killed", "Bus error (core dumped)",
    "terminate called after throwing an instance of 'std::bad_alloc'",
]
for i, line in enumerate(cases):
    open(f"{i:02}.log", "w").write(steps + line + "\n")
P
mkdir lines && cd lines && python3 ../make.py
for log in *.log; do
    echo "==== $(tail -n 1 "$log" | cut -c 1-120)"
    "$INQ" analyze "$log" -j 1 -q -f json
done >both
grep '^====' both >titles
grep -v '^====' both | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings training text |
    cut -c 1-500 | awk '/^: name=/ { getline title <"titles"; print title; next } { print }'
