# SPDX-License-Identifier: Apache-2.0
"""What lies beside the traces and logs of a run and is no log: code, configuration, notes, notebooks,
data, other programs' reports. Each speaks of failures; none is evidence of one."""
import json

TRACE_TEXT = ('Traceback (most recent call last):\n  File "train.py", line 12, in <module>\n    main()\n'
              "ValueError: batch size must be positive\n")

FILES = {
    "train.py": '''#!/usr/bin/env python3
"""Trains the model.

Traceback (most recent call last):
  File "train.py", line 88, in main
ValueError: seen when --batch is 0; see issue 12
"""
import torch


class LossIsNaN(RuntimeError):
    """RuntimeError: CUDA error: an illegal memory access was encountered"""


def main():
    try:
        step()
    except torch.cuda.OutOfMemoryError as error:  # CUDA out of memory. Tried to allocate 2.00 GiB
        print("FATAL: out of memory on rank", rank, error)
        raise SystemExit(1)
    if loss != loss:
        raise ValueError("loss is nan")
''',
    "launch.sh": '''#!/bin/bash
#SBATCH --time=02:00:00
set -euo pipefail
# srun: error: n5: task 3: Out Of Memory  (that was with batch 64)
trap 'echo "ERROR: killed by signal" >&2; exit 137' TERM
torchrun --nproc_per_node 8 train.py || { echo "[rank0]: Traceback, exit code $?"; exit 1; }
''',
    "config.yaml": '''model: {layers: 32, hidden: 4096}
on_error: raise
fail_fast: true   # exit on the first RuntimeError
nccl:
  timeout_s: 600   # Watchdog caught collective operation timeout
  log: "NCCL WARN"
retry: {max: 3, on: [SIGKILL, SIGTERM, "CUDA out of memory"]}
''',
    "README.md": '''# Run 17

The last run died with

```
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB
[rank0]:[E314 10:12:31.110236541 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.
```

so the batch is smaller now. If you see `Segmentation fault (core dumped)`, update the driver.
''',
    "notes.txt": '''Things to look at when a run dies:
- Xid 79 in dmesg means the GPU has fallen off the bus; drain the node.
- "Killed" alone is mostly the OOM killer.
- NaN in the loss after a restart: check the loader's seed.
Ask Ana about the failure of last Friday.
''',
    "analysis.ipynb": json.dumps({"cells": [
        {"cell_type": "markdown", "source": ["# Why did rank 3 fail?\n"]},
        {"cell_type": "code", "execution_count": 4, "source": ["load('rank3.json')\n"], "outputs": [
            {"output_type": "error", "ename": "ValueError", "evalue": "no such rank",
             "traceback": ["\x1b[0;31m---------\x1b[0m", "\x1b[0;31mValueError\x1b[0m Traceback (most recent call last)",
                           "ValueError: no such rank"]}]}], "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4, "nbformat_minor": 5}, indent=1),
    "requirements.txt": "torch==2.6.0\ndeepspeed==0.16.4\nnumpy<2  # 2.0 aborts: RuntimeError: Numpy is not available\n",
    "ds_config.json": json.dumps({"zero_optimization": {"stage": 3}, "fp16": {"enabled": True, "initial_scale_power": 16},
                                  "error_policy": "abort", "comment": "RuntimeError: CUDA out of memory with stage 2"},
                                 indent=2),
    "prompts.jsonl": "".join(json.dumps({"id": i, "prompt": "Explain: " + t}) + "\n" for i, t in enumerate([
        "RuntimeError: NCCL communicator was aborted on rank 3", TRACE_TEXT, "why was my process Killed?"])),
    "metrics.csv": "step,loss,errors,failed\n" + "".join(f"{i},{3 - i * .01:.3f},0,0\n" for i in range(40)),
    "model.cpp": '''#include <stdexcept>
// terminate called after throwing an instance of 'std::runtime_error'
//   what():  CUDA error: device-side assert triggered
void check(int code)
{
    if (code != 0) {
        throw std::runtime_error("FATAL ERROR: kernel launch failed");
    }
}
''',
    "patch.diff": '''diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -88,3 +88,4 @@ def main():
-    raise ValueError("batch size must be positive")
+    logging.error("CUDA out of memory, trying half the batch")
+    return retry()
''',
    "nvidia-smi.txt": '''Sat Mar 14 09:58:02 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   31C    P0             72W /  700W |       0MiB /  81559MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+
| Volatile Uncorr. ECC: 0   Pending page retirement: No   Xid errors: none                |
+-----------------------------------------------------------------------------------------+
''',
    "pip-freeze.log": "accelerate==1.2.0\nbitsandbytes==0.45.0\nexceptiongroup==1.2.2\nsegfault-handler==0.1\ntorch==2.6.0\n",
    "src/errors.py": "class OutOfMemory(Exception):\n    pass\n\n\nraise_on = [OutOfMemory, MemoryError]\nERROR = 40\nFATAL = 50\n",
    "src/Dockerfile": "FROM nvcr.io/nvidia/pytorch:25.01-py3\nRUN pip install . || (echo 'ERROR: build failed' && exit 1)\n",
}
