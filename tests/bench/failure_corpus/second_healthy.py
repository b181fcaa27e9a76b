# SPDX-License-Identifier: Apache-2.0
"""Runs that are well with lines that look otherwise: the second half of the corpus."""
from case import healthy, log
from forms import *

DONE = "\n2026-03-14 10:20:00 INFO training finished"
healthy("hk_first_line_scary", log("2026-03-14 09:59:00 INFO fault injection is off (SIGKILL, SIGSEGV, Xid 79 would be simulated)\n" + plain(1, 40) + DONE))
healthy("hk_last_line_scary", log(plain(1, 40) + "\n2026-03-14 10:20:00 INFO bye. Run `grep -i 'out of memory' run.log` if it dies"))
healthy("hk_error_word_in_metric", log("\n".join(
    f"step {i} loss {3 - i * .01:.4f} error {0.5 - i * .001:.4f} wer_error {0.3 - i * .001:.4f} fatal 0" for i in range(1, 60))))
healthy("hk_eval_of_bug_fixing_model", log(plain(1, 20) + "\n2026-03-14 10:02:00 INFO generated: Traceback (most recent call last): File \"a.py\", line 1 ValueError: x\n" + plain(21, 50, m=3) + DONE))
healthy("hk_restart_after_xid", {
    "kern.log": xid(13, "Graphics SM Warp Exception on (GPC 3, TPC 1, SM 1): Out Of Range Address", "Mar 13 22:20:01", "0000:1a:00", "w3", 9921),
    "train.log": plain(1, 100) + DONE})
healthy("hk_ecc_corrected", {
    "kern.log": "Mar 14 10:01:00 n1 kernel: EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0\n"
                "Mar 14 10:01:30 n1 kernel: mce: [Hardware Error]: Machine check events logged",
    "train.log": plain(1, 100) + DONE})
healthy("hk_amdgpu_boot_lines", {
    "dmesg.txt": "[    5.110001] amdgpu 0000:a3:00.0: amdgpu: SMU is initialized successfully!\n[    5.120001] amdgpu 0000:a3:00.0: "
                 "amdgpu: ring sdma0 uses VM inv eng 0 on hub 8\n[    5.130001] [drm] Initialized amdgpu 3.57.0 for 0000:a3:00.0 on "
                 "minor 1\n[    5.140001] amdgpu: Topology: Add dGPU node [0x740c:0x1002]",
    "train.log": plain(1, 100) + DONE})
healthy("hk_link_flap_recovers", {
    "n3.syslog": "Mar 14 10:01:32 n3 kernel: mlx5_core 0000:12:00.0 ibs1: Link down\nMar 14 10:01:36 n3 kernel: mlx5_core 0000:12:00.0 ibs1: "
                 "Link up", "train.log": plain(1, 200) + DONE})
healthy("hk_nfs_recovers", {
    "messages": "Mar 14 10:01:02 n2 kernel: nfs: server 10.2.0.5 not responding, still trying\nMar 14 10:01:22 n2 kernel: nfs: server "
                "10.2.0.5 OK", "train.log": plain(1, 200) + DONE})
healthy("hk_retry_connect_store", log(
    "[W314 10:00:01.110236541 TCPStore.cpp:139] [c10d] recvValue failed on SocketImpl(fd=3): Connection reset by peer, retrying\n"
    "[W314 10:00:02.110236541 socket.cpp:462] [c10d] waitForInput: poll for socket SocketImpl(fd=3) returned 0, likely a timeout, "
    "retrying\n" + plain(1, 60) + DONE))
healthy("hk_oom_caught_batch_halved", log(plain(1, 10) + "\n2026-03-14 10:00:45 WARNING CUDA out of memory with batch 64, going on with 32\n" + plain(11, 60, m=1) + DONE))
healthy("hk_skipped_nan_batch", log(megatron(1, 20) + "\n [2026-03-14 10:05:00] WARNING: batch 21 has a NaN loss and is skipped\n" + megatron(22, 60, m=6)))
healthy("hk_nan_in_unused_metric", log("\n".join(f"step {i} loss {3 - i * .01:.4f} lr 1e-4 val_loss nan aux_acc nan" for i in range(1, 60)) + "\nfinished"))
healthy("hk_preempted_resumed", log(
    plain(1, 30) + "\nslurmstepd: error: *** JOB 9 ON c3 CANCELLED AT 2026-03-14T10:02:10 DUE TO PREEMPTION ***\n"
    "2026-03-14 10:10:00 INFO resumed from checkpoint at step 28 (restart 1)\n" + plain(29, 90, m=10) + DONE), ordered=True)
healthy("hk_worker_lost_and_rejoined", log(
    plain(1, 30) + "\nW0314 10:02:31.504000 4012 site-packages/torch/distributed/elastic/agent/server/api.py:890] [default] Detected 1 new "
    "nodes from group_rank=0; will restart worker group\nW0314 10:02:32.504000 4012 site-packages/torch/distributed/elastic/"
    "multiprocessing/api.py:900] Sending process 71 closing signal SIGTERM\n" + plain(28, 90, m=4) + DONE), ordered=True)
healthy("hk_horovod_stall_passes", log(
    "Epoch 1: step 10 loss 3.1\n[2026-03-14 10:41:08.121313: W /tmp/horovod/common/stall_inspector.cc:107] One or more tensors were submitted "
    "to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. \nMissing "
    "ranks:\n1: [allreduce.w]\n" + "\n".join(f"Epoch 1: step {i * 10} loss {3 - i * .02:.3f}" for i in range(2, 50)) +
    "\nEpoch 1 done"), ordered=True)
healthy("hk_ray_retries", log(
    "(raylet) [2026-03-14 10:57:19,206 W 11 11] a worker died, the task will be retried (1 of 3)\n" +
    "\n".join(f"(Trainer pid=9) step:{i} loss:{3 - i * .01:.3f}" for i in range(1, 60)) + "\n(Trainer pid=9) fit done"))
healthy("hk_k8s_probe_warning", {
    "events.log": "2026-03-14T10:01:02Z  Warning  Unhealthy  pod/tb-0  Readiness probe failed: HTTP probe failed with statuscode: 503\n"
                  "2026-03-14T10:01:12Z  Normal  Pulled  pod/worker-0  Container image already present on machine",
    "train.log": plain(1, 100) + DONE})
healthy("hk_nccl_info_errors_zero", log(
    nccl_init("n1", 100, 2) + "\n" + nccl("n1", 100, 0, "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.", sev="INFO") +
    "\n" + nccl("n1", 100, 0, "NCCL_ASYNC_ERROR_HANDLING set by environment to 1.", sev="INFO") + "\n" + plain(1, 60) + DONE))
healthy("hk_nccl_teardown", log(
    plain(1, 60) + DONE + "\n" + nccl("n1", 100, 0, "[Service thread] Connection closed by localRank 1", sev="INFO") + "\n" +
    nccl("n1", 100, 0, "comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1b000 - Destroy COMPLETE", sev="INFO")))
healthy("hk_atexit_driver_shutting_down", log(
    plain(1, 60) + DONE + "\nException ignored in atexit callback: <function dump_profile at 0x7f12>"))
healthy("hk_deprecation_warnings", log(
    "/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:31: FutureWarning: this will raise an error in the next release\n"
    "/opt/conda/lib/python3.11/site-packages/x.py:9: UserWarning: failed to load image Python extension: ''\n" + hf(10, 400) +
    "\n{'train_runtime': 100.1, 'train_loss': 1.2}"))
healthy("hk_still_running", log(megatron(1, 60)))
healthy("hk_gpus_hot", log(plain(1, 30) + "\n2026-03-14 10:02:05 WARNING gpu 3: 84 C, clocks are throttled (SW thermal slowdown)\n" + plain(31, 90, m=3) + DONE))
healthy("hk_unit_tests_in_log", log("===== 14 passed, 0 failed, 2 errors ignored in 3.1s =====\n" + plain(1, 60) + DONE))
healthy("hk_slurm_sigusr_checkpoint", log(
    plain(1, 60) + "\n2026-03-14 10:05:00 INFO got SIGUSR1 from the scheduler, saving a checkpoint and going on\n" + plain(61, 120, m=6) + DONE))
healthy("hk_abort_in_name", log("2026-03-14 09:59:00 INFO abort_on_nan=True crash_dir=/tmp/crashes panic_threshold=9\n" + plain(1, 60) + DONE))
healthy("hk_loss_up_then_down_warmup", log("\n".join(
    f"step {i} loss {(2.2 + i * .02) if i < 15 else 2.5 - (i - 15) * .02:.4f} lr {i * 1e-6:.2e}" for i in range(1, 90)) + "\nfinished"))
