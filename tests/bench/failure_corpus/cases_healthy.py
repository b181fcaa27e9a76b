# SPDX-License-Identifier: Apache-2.0
"""Runs that did not die, whose logs hold lines that look so: first, in the middle, and last."""
from case import healthy, log
from forms import *

healthy("ok_killed_weights_percent", log(plain(1, 30) + "\n2026-03-14 10:02:10 INFO pruning: Killed 3% of weights in layer 7"))
healthy("ok_scary_last_sentence", log(plain(1, 30) + "\n2026-03-14 10:02:10 INFO done. If a worker is ever killed by SIGKILL or runs out of memory, see docs/errors.md"))
healthy("ok_error_in_config_print", log(
    "TORCH_NCCL_ASYNC_ERROR_HANDLING=1 NCCL_DEBUG=WARN on_error=raise error_rate=0.0 max_failures=3\n" + plain(1, 30) +
    "\n2026-03-14 10:02:10 INFO training finished, checkpoint saved"))
healthy("ok_nccl_warn_recovers", log(
    plain(1, 10),
    nccl("n1", 77, 0, "NET/IB : mlx5_2:1 Got non-fatal async event: port active(9)") + "\n" +
    nccl("n1", 77, 0, "NET/IB : mlx5_2:1 Got non-fatal async event: client reregistration(17)"),
    plain(11, 40, m=1) + "\n2026-03-14 10:04:00 INFO training finished"), ordered=True)
healthy("ok_restart_after_oom", log(
    plain(1, 10),
    {"r1": tb(oom(1), MAIN, LOOP, rank=1)},
    "W0314 10:05:31.504000 4012 site-packages/torch/distributed/elastic/agent/server/api.py:890] [default] Worker group "
    "FAILED. 3/3 attempts left; will restart worker group",
    "2026-03-14 10:06:00 INFO resumed from step 8, micro batch 2\n" + plain(9, 60, m=6) +
    "\n2026-03-14 10:12:00 INFO training finished"), ordered=True)
healthy("ok_nonfatal_xid_145", {
    "kern.log": "Mar 14 10:00:21 b200-1 kernel: NVRM: Xid (PCI:0000:0b:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 03 "
                "(0x00000004 0x80000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    "train.log": plain(1, 60) + "\n2026-03-14 10:04:30 INFO training finished"})
healthy("ok_xid63_remap_pending", {
    "kern.log": xid(63, "Row remapping event: remap pending", "Mar 14 10:00:21", "0000:3b:00", "n1"),
    "train.log": plain(1, 60) + "\n2026-03-14 10:04:30 INFO training finished"})
healthy("ok_docs_quote_an_error", log(
    "2026-03-14 09:59:00 INFO tip: \"RuntimeError: CUDA error: an illegal memory access was encountered\" is usually an "
    "index out of range\n" + plain(1, 30) + "\n2026-03-14 10:02:10 INFO Saved checkpoint to /ckpt/30"))
healthy("ok_samples_with_error_text", log(
    plain(1, 10) + "\n2026-03-14 10:00:50 INFO sample 0: <|user|> why do I get Segmentation fault (core dumped)? <|assistant|> "
    "A null pointer was\n2026-03-14 10:00:50 INFO sample 1: <|user|> explain 'No space left on device'\n" +
    plain(11, 40, m=1) + "\n2026-03-14 10:03:00 INFO training finished"))
healthy("ok_loss_scale_overflow_skips", log(
    megatron(1, 6) + "\n[2026-03-14 10:01:20,100] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 "
    "Skipping step. Attempted loss scale: 4294967296, reducing to 2147483648\n" + megatron(7, 40, m=2) +
    "\n[2026-03-14 10:09:00] done with training"))
healthy("ok_retry_s3", log(
    plain(1, 10) + "\n2026-03-14 10:00:50 WARNING s3: read of shard-17 failed (Connection reset by peer), retry 1/5\n"
    "2026-03-14 10:00:52 WARNING s3: read of shard-17 failed (Connection reset by peer), retry 2/5\n" + plain(11, 40, m=1) +
    "\n2026-03-14 10:03:00 INFO training finished"))
healthy("ok_destructor_noise_at_exit", log(
    plain(1, 40) + "\n2026-03-14 10:02:44 INFO training finished\n"
    "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f16e4a3b880>\n" +
    tb("AssertionError: can only test a child process", "/opt/conda/lib/python3.11/site-packages/torch/utils/data/"
       "dataloader.py:1479:__del__:self._shutdown_workers()")))
healthy("ok_pg_not_destroyed_warning", log(
    plain(1, 40) + "\n2026-03-14 10:02:44 INFO training finished\n"
    "[rank0]:[W314 10:02:45.110236541 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called "
    "before program exit, which can leak resources. For more info, please see "
    "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())"))
healthy("ok_omp_warning_first", log(
    "W0314 09:59:31.504000 4012 site-packages/torch/distributed/run.py:793] \n"
    "W0314 09:59:31.504000 4012 site-packages/torch/distributed/run.py:793] *****************************************\n"
    "W0314 09:59:31.504000 4012 site-packages/torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable "
    "for each process to be 1 in default, to avoid your system being overloaded\n"
    "W0314 09:59:31.504000 4012 site-packages/torch/distributed/run.py:793] *****************************************\n" +
    hf(10, 400) + "\n{'train_runtime': 1211.1, 'train_loss': 1.4, 'epoch': 1.0}"))
healthy("ok_handled_traceback_logged", log(
    plain(1, 10) + "\n2026-03-14 10:00:50 WARNING wandb upload failed, continuing without it\n" +
    tb("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Max retries exceeded",
       "/srv/app/track.py:10:push:wandb.log(row)") + "\n" + plain(11, 60, m=1) +
    "\n2026-03-14 10:05:00 INFO training finished"), ordered=True)
healthy("ok_epoch_best_val", log(
    "\n".join(f"Epoch {e}: train loss {2 - e * .1:.3f} val loss {2.1 - e * .09:.3f} best epoch {e}, early stop patience 0 "
              f"failures" for e in range(1, 15)) + "\nAll epochs complete. 0 errors, 0 failures."))
healthy("ok_slurm_completed", log(
    {"r0": plain(1, 40) + "\n2026-03-14 10:02:44 INFO training finished", "r1": plain(1, 40, rank=1)},
    {"slurm": "JobID 8812 State COMPLETED ExitCode 0:0"}, prefix="srun"))
healthy("ok_ib_counters", log(
    plain(1, 20) + "\n2026-03-14 10:01:30 INFO ib counters: port_rcv_errors 0 symbol_error 0 link_downed 0 fatal 0\n" +
    plain(21, 40, m=2) + "\n2026-03-14 10:04:00 INFO training finished"))
healthy("ok_watchdog_config_lines", log(
    "[rank0]:[I314 10:00:01.110236541 ProcessGroupNCCL.cpp:905] [PG ID 0 PG GUID 0 Rank 0] ProcessGroupNCCL initialization "
    "options: size: 8, global rank: 0, TIMEOUT(ms): 600000, USE_HIGH_PRIORITY_STREAM: 0\n"
    "[rank0]:[I314 10:00:01.110236541 ProcessGroupNCCL.cpp:914] [PG ID 0 PG GUID 0 Rank 0] ProcessGroupNCCL environments: "
    "TORCH_NCCL_ASYNC_ERROR_HANDLING: 1, TORCH_NCCL_DUMP_ON_TIMEOUT: 0, TORCH_NCCL_DESYNC_DEBUG: 0\n" + plain(1, 40) +
    "\n2026-03-14 10:03:00 INFO training finished"))
healthy("ok_xla_slow_op", log(
    "E0314 10:00:05.100000 77 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory for "
    "plugin cuDNN when one has already been registered\n"
    "W0314 10:00:05.100000 77 hlo_rematerialization.cc:2218] Can't reduce memory use below 56.15GiB (60294176768 bytes) by "
    "rematerialization; only reduced to 58.10GiB\n" +
    "\n".join(f"I0314 10:0{1 + i // 10}:{i % 10 * 5:02d}.100 1234 train.py:88] step {i * 10} loss {8 - i * .1:.2f}"
              for i in range(1, 40))))
healthy("ok_k8s_events", {
    "events.log": "2026-03-14T09:40:02Z  Warning  FailedScheduling  pod/ddp-worker-1  0/12 nodes are available: 12 "
                  "Insufficient nvidia.com/gpu.\n2026-03-14T09:50:02Z  Normal  Scheduled  pod/ddp-worker-1  Successfully "
                  "assigned train/ddp-worker-1 to a2-node-4\n2026-03-14T09:50:42Z  Normal  Started  pod/ddp-worker-1  "
                  "Started container pytorch",
    "train.log": plain(1, 60) + "\n2026-03-14 10:04:30 INFO training finished"})
healthy("ok_test_of_errors", log(
    plain(1, 30) + "\n2026-03-14 10:02:10 INFO eval humaneval: 164 problems, 61 failed with AssertionError, 9 with "
    "TimeoutError, 2 MemoryError\n2026-03-14 10:02:12 INFO training finished"))
healthy("ok_first_line_traceback_of_last_run", log(
    "2026-03-14 09:58:00 INFO previous attempt ended with: RuntimeError: NCCL communicator was aborted on rank 3.\n"
    "2026-03-14 09:58:01 INFO resuming from step 4000\n" + plain(4001, 4040) + "\n2026-03-14 10:03:00 INFO training "
    "finished"))
healthy("ok_gloo_init_warning", log(
    "[W314 10:00:01.110236541 socket.cpp:752] [c10d] The client socket cannot be initialized to connect to "
    "[localhost]:29500 (errno: 97 - Address family not supported by protocol).\n" + plain(1, 40) +
    "\n2026-03-14 10:03:00 INFO training finished"))
healthy("ok_grad_spike_recovers", log(
    plain(1, 30) + "\n2026-03-14 10:02:02 INFO step 31 loss 3.9000 lr 3.00e-04 grad_norm 11.200 4.0 s/it\n" +
    plain(32, 90, m=3, loss=2.7, fall=.005) + "\n2026-03-14 10:08:00 INFO training finished"))
