# SPDX-License-Identifier: Apache-2.0
"""A third part, written after the detector had been tuned on the first: all kinds, other words."""
from case import dead, healthy, log
from forms import *

dead("l_oom_expandable_hint_only", "cuda_oom", [6], ["rank 6", "memory"], log(
    titan(5, 9), {"r6": tb("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 6 has a total capacity of 139.81 "
                           "GiB of which 14.06 MiB is free. Process 88121 has 139.79 GiB memory in use.", MAIN, LOOP, STEP, BACK, ENGINE,
                           rank=6)}, {"agent": elastic([(6, 6, 1, 5116)], stop=(5110, 5111))}))
dead("l_oom_from_cudnn_workspace", "cuda_oom|cuda_error", [0], ["rank 0", "cudnn|CUDNN", "ALLOC|memory|status"], log(
    plain(1, 2), {"r0": tb("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", MAIN, LOOP, STEP, rank=0)}))
dead("l_cublas_execution_failed", "cuda_error", [5], ["rank 5", "CUBLAS_STATUS_EXECUTION_FAILED|cublas"], log(
    plain(1, 20), {"r5": tb("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k)`",
                            MAIN, LOOP, STEP, rank=5)}, {"r1": watchdog(1, 90), "r2": watchdog(2, 90)}))
dead("l_xid_62_and_crash", "gpu_hardware|driver_firmware", [], ["Xid 62|halt", "0000:5e:00|k7"], log("\n".join([
    xid(62, "5e8d(3b2c) 00000000 00000000", "Mar 14 10:02:01", "0000:5e:00", "k7"),
    xid(45, "Ch 00000010", "Mar 14 10:02:02", "0000:5e:00", "k7", 912)])))
dead("l_sxid_nvswitch", "gpu_hardware", [], ["NVSwitch|nvswitch|SXid|NVLink", "20034|0000:c1:00|s4|Link 12"], log(
    "Mar 14 10:02:01 s4 kernel: nvidia-nvswitch2: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 12 LTSSM Fault Up\n"
    "Mar 14 10:02:01 s4 kernel: nvidia-nvswitch2: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 12 Sub-engine instance 00"))
dead("l_rocm_oom_hip", "cuda_oom", [1], ["rank 1", "memory"], log(
    hf(10, 30), {"r1": tb("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 768.00 MiB. GPU 1 has a total capacity of 191.98 GiB of "
                          "which 102.00 MiB is free.", MAIN, rank=1)}))
dead("l_intel_xpu_error", "cuda_error|gpu_hardware|application_error|driver_firmware", [2], ["rank 2", "UR_RESULT_ERROR_DEVICE_LOST|device lost|DEVICE_LOST"], log(
    hf(10, 30), {"r2": tb("RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)", MAIN, LOOP, rank=2)}))
dead("l_neuron_runtime", "gpu_hardware|driver_firmware|cuda_error|application_error|unknown", [], ["NRT|nrt|Neuron|NEURON|nd0", "timeout|exec|status|5"], log(
    plain(1, 9) + "\n2026-Mar-14 10:01:00.110001  9182:9301  ERROR  NRT:nrt_infodump  NRT execution timed out on nd0 nc1: "
    "NRT_TIMEOUT(5)\n2026-Mar-14 10:01:00.110009  9182:9301  ERROR  TDRV:exec_consume_infer_status_notifications  (FATAL-RT-UNDEFINED-STATE) "
    "inference timeout (600000 ms) on Neuron Device 0 NC 1, waiting for execution completion notification"))
dead("l_hang_last_rank_of_pp", "cpu_stall", [3], ["rank 3"], log(
    megatron(1, 6), {**{f"r{r}": watchdog(r, 61, "COALESCED", 1 << 20, desc="PIPELINE_MODEL_PARALLEL_GROUP", pg="4", uid="19") for r in (0, 1, 2)},
                     "r3": heard(3, 60, 60, other=2, desc="PIPELINE_MODEL_PARALLEL_GROUP", pg="4", uid="19")}))
dead("l_hang_broadcast_dtype_words", "collective_mismatch", [1], ["rank 1", "_REDUCE_SCATTER_BASE|reduce.?scatter", "ALLGATHER|all.?gather"], log(
    plain(1, 6), {**{f"r{r}": watchdog(r, 14, "_ALLGATHER_BASE", 4096, 32768) for r in (0, 2, 3)},
                  "r1": watchdog(1, 14, "_REDUCE_SCATTER_BASE", 32768, 4096)}))
dead("l_gloo_barrier_of_one_node", "cpu_stall|unknown|communication_stall", [0], ["rank 0"], log(
    {"r0": "2026-03-14 10:00:10 INFO rank 0 uploading checkpoint to s3://b/ckpt"},
    {f"r{r}": tb("RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 300000ms for recv operation to "
                 "complete", MAIN, "/srv/a/ck.py:7:save:dist.barrier(group=cpu)", rank=r) for r in (1, 2, 3)}))
dead("l_ib_access_error", "network|application_error|driver_firmware|cuda_error", [], ["access|10", "mlx5_3|gpu-d4|10.8.0.3|rank"], log(
    plain(7, 9), nccl("gpu-d4", 33, 3, "NET/IB: Got completion from peer 10.8.0.3<40922> with status=IBV_WC_REM_ACCESS_ERR(10) "
                      "opcode=IBV_WC_RDMA_WRITE(1) vendor_err=136 (Send) localGid ::ffff:10.8.0.2 remoteGids::ffff:10.8.0.3 hca mlx5_3")), may=[3])
dead("l_nccl_proxy_abort_peer", "peer_died|network|unknown", [], ["10.0.8.7|peer|closed|proxy"], log(
    plain(7, 9), nccl("v1", 61, 0, "[Proxy Progress] Accept failed Resource temporarily unavailable", src="proxy.cc:1497") + "\n" +
    nccl("v1", 61, 0, "socketProgress: Connection closed by remote peer v2.cluster<44121>", src="misc/socket.cc:58") + "\n" +
    nccl("v1", 61, 0, "proxy.cc:1519 -> 6", sev="INFO")), may=[0])
dead("l_tcpstore_broken_pipe_only", "peer_died|network|unknown", [], ["store|rank 0|10.2.2.2|broken"], log(
    {f"r{r}": f"[rank{r}]:[W314 10:05:01.110236541 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=69, addr=[n{r}]:3911, "
              "remote=[10.2.2.2]:29500): Broken pipe\n"
              f"[rank{r}]:[E314 10:05:02.110236541 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0 Rank {r}] Failed to check the \"should dump\" flag "
              "on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe" for r in (8, 9)}), may=[0])
dead("l_host_psi_oomd", "host", [], ["memory|oomd", "user.slice|train|n6|pressure"], {
    "n6.journal": "Mar 14 10:04:01 n6 systemd-oomd[771]: Killed /system.slice/train.service due to memory used (251.1G) / total (251.6G) and swap "
                  "used (8.0G) / total (8.0G) being more than 90.00%\nMar 14 10:04:01 n6 systemd[1]: train.service: A process of this unit has been "
                  "killed by the OOM killer.\nMar 14 10:04:02 n6 systemd[1]: train.service: Failed with result 'oom-kill'."})
dead("l_systemd_exit_status", "application_error|unknown", [], ["status|code|exit|FAILURE", "3|train.service"], {
    "journal.log": "Mar 14 10:04:01 n6 train.sh[991]: step 10 loss 2.11\nMar 14 10:04:05 n6 train.sh[991]: step 20 loss 2.01\nMar 14 10:04:09 n6 "
                   "systemd[1]: train.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED\nMar 14 10:04:09 n6 systemd[1]: "
                   "train.service: Failed with result 'exit-code'."})
dead("l_shell_segfault_line", "application_error", [], ["segmentation|core dumped|SIGSEGV"], log(
    plain(1, 9) + "\nrun.sh: line 12:  8812 Segmentation fault      (core dumped) python train.py --cfg c.yaml"), may=[0])
dead("l_shell_killed_line", "host|unknown|scheduler|application_error", [], ["kill"], log(
    plain(1, 9) + "\nrun.sh: line 12:  8812 Killed                  python train.py --cfg c.yaml"), may=[0], never=["established"])
dead("l_kernel_segfault", "application_error", [], ["segfault|segmentation", "8812|libtok|n6|python"], {
    "kern.log": "Mar 14 10:04:01 n6 kernel: python[8812]: segfault at 18 ip 00007f2c1 sp 00007ffd0 error 4 in libtok.so[7f2c1000+4000]\nMar 14 10:04:01 "
                "n6 kernel: Code: 00 00 48 8b"})
dead("l_xfs_shutdown", "host", [], ["XFS|I/O|file ?system|nvme|storage", "nvme2n1|n6"], {
    "kern.log": "Mar 14 10:04:01 n6 kernel: XFS (nvme2n1): log I/O error -5\nMar 14 10:04:01 n6 kernel: XFS (nvme2n1): Filesystem has been shut down due "
                "to log error (0x2).\nMar 14 10:04:01 n6 kernel: XFS (nvme2n1): Please unmount the filesystem and rectify the problem(s)."})
dead("l_read_only_fs", "host", [0], ["rank 0", "read-only|Errno 30"], log(
    plain(1, 9), {"r0": tb("OSError: [Errno 30] Read-only file system: '/data/out/ckpt-9'", MAIN, rank=0)}))
dead("l_slurm_step_creation", "scheduler|unknown|application_error|host", [], ["step|srun|job"], log(
    "srun: error: Unable to create step for job 8817: Requested node configuration is not available"))
dead("l_slurm_launch_failed", "host|scheduler|application_error|unknown", [], ["launch|slurmd|c-88|task|communication"], log(
    "srun: error: Task launch for StepId=881.0 failed on node c-88: Communication connection failure\n"
    "srun: error: Application launch failed: Communication connection failure\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish."))
dead("l_sge_killed", "scheduler|host|unknown", [], ["h_vmem|h_rt|limit|kill|exceed"], log(
    plain(1, 9) + "\n03/14/2026 10:04:01|  main|n6|W|job 8812.1 exceeds job hard limit \"h_rt\" of queue \"gpu.q@n6\" (14401.1 > limit:14400.0) - "
    "sending SIGKILL"))
dead("l_k8s_liveness", "host|application_error|scheduler|unknown", [], ["liveness|probe|unhealthy|kill"], {
    "events.log": "2026-03-14T10:04:02Z  Warning  Unhealthy  pod/train-0  Liveness probe failed: command timed out\n2026-03-14T10:04:32Z  Normal  Killing  "
                  "pod/train-0  Container main failed liveness probe, will be restarted\n2026-03-14T10:04:42Z  Warning  BackOff  pod/train-0  Back-off "
                  "restarting failed container"})
dead("l_k8s_crash_describe", "application_error|unknown", [], ["139|SIGSEGV|segmentation", "mnist-worker-1|139|segmentation"], {
    "describe.log": "Name:         mnist-worker-1\n    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    139\n"
                    "    Restart Count:  5"}, may=[1])
dead("l_ray_worker_oom_in_trace", "host", [], ["memory|OOM", "10.4.4.4|worker|node"], log(
    "(raylet, ip=10.4.4.4) [2026-03-14 10:57:19,206 E 91 91] (raylet) node_manager.cc:3064: 3 Workers (tasks / actors) killed due to memory pressure "
    "(OOM), 0 Workers crashed due to other reasons at node (ID: 82, IP: 10.4.4.4) over the last time period."))
dead("l_attr_error_two_of_four", "application_error", [1, 2], ["AttributeError", "rope_theta|config"], log(
    hf(10, 20), {f"r{r}": tb("AttributeError: 'LlamaConfig' object has no attribute 'rope_theta'", MAIN, "/srv/m/rope.py:11:__init__:t = "
                             "config.rope_theta", rank=r) for r in (1, 2)},
    {f"r{r}": watchdog(r, 12) for r in (0, 3)}))
dead("l_hf_dataset_generation", "application_error", [0], ["rank 0", "DatasetGenerationError|ArrowInvalid|dataset|Parse"], log(
    {"r0": tb("pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' after an object member. in row 12", MAIN,
              "/opt/conda/lib/python3.11/site-packages/datasets/packaged_modules/json/json.py:153:_generate_tables:raise e", rank=0) + "\n[rank0]: \n" +
     "[rank0]: The above exception was the direct cause of the following exception:\n[rank0]: \n" +
     tb("datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset", MAIN,
        "/opt/conda/lib/python3.11/site-packages/datasets/builder.py:1896:_prepare_split_single:raise DatasetGenerationError(", rank=0)}))
dead("l_warning_then_exit_code", "unknown|application_error", [2], ["rank 2", "7|exit"], log(
    plain(1, 9) + "\n/opt/x.py:9: UserWarning: falling back to eager", elastic([(2, 2, 7, 102)], stop=(100, 101, 103))))
dead("l_error_line_of_own_logger", "unknown|application_error", [], ["checksum|shard_00017|mismatch"], log(
    plain(1, 9) + "\n[10:00:41][loader][error] shard_00017: checksum mismatch (crc 0x11 != 0x9f), no replica left"))
dead("l_json_logger_error", "unknown|application_error", [3], ["rank 3", "optimizer state|ValueError|shape"], log("\n".join(
    f'{{"ts": "2026-03-14T10:00:{i:02d}Z", "level": "INFO", "rank": 3, "msg": "step {i} loss {3 - i * .01:.3f}"}}' for i in range(1, 20)) +
    '\n{"ts": "2026-03-14T10:00:21Z", "level": "ERROR", "rank": 3, "msg": "ValueError: optimizer state has shape (4096,), parameter (4097,)"}'))
dead("l_cpp_logic_abort_rank", "application_error|unknown", [1], ["rank 1", "logic_error|null|basic_string|abort"], log(
    {"r0": plain(1, 9)}, {"r1": "terminate called after throwing an instance of 'std::logic_error'\n  what():  basic_string: construction from null is "
                                "not valid"}, elastic([(1, 1, -6, 71)], stop=(70,)), prefix="default"))
dead("l_tf_op_error", "application_error", [], ["InvalidArgument|Incompatible shapes|shapes"], log(
    "Epoch 1/3\n 12/100 [==>...] - ETA: 1:01 - loss: 2.11\n" + tb("tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution "
    "error:\n\nIncompatible shapes: [32,10] vs. [31,10]", "/srv/tf/fit.py:9:<module>:model.fit(ds)")), may=[0])
dead("l_nan_percent_style", "numerical_divergence", [], ["nan"], log(
    "\n".join(f"Epoch: [0][{i}/500]  Loss {2.3 - i * .01:.4f} ({2.3 - i * .005:.4f})  Acc@1 {i * .5:.2f}" for i in range(0, 60, 2)) + "\n" +
    "\n".join(f"Epoch: [0][{i}/500]  Loss nan (nan)  Acc@1 0.10" for i in range(60, 80, 2))))
dead("l_loss_jumps_and_stays", "numerical_divergence", [], ["loss|diverg|jump"], log(
    megatron(1, 60, loss=2.4, fall=.003) + "\n" + megatron(61, 90, m=12, loss=7.6, fall=-.01)))

healthy("lk_all_scary_words_in_args", log("Namespace(kill_after=0, oom_policy='raise', abort=False, segfault_test=None, xid_watch=True, on_error='SIGTERM')\n" + plain(1, 60) + "\nfinished"))
healthy("lk_traceback_in_middle_handled", log(plain(1, 20) + "\n2026-03-14 10:01:30 WARNING tensorboard is off:\n" + tb(
    "ModuleNotFoundError: No module named 'tensorboard'", "/srv/a/log.py:3:<module>:import tensorboard") + "\n" + plain(21, 80, m=2) + "\nfinished"), ordered=True)
healthy("lk_watchdog_words", log("2026-03-14 09:59:59 INFO NCCL watchdog timeout is 600000 ms; a collective that times out kills the job\n" + plain(1, 60) + "\nfinished"))
healthy("lk_exit_code_zero", log(plain(1, 60) + "\nTraining completed successfully. Exiting with exit code 0. No errors, 0 killed, 0 failed workers."))
healthy("lk_many_ranks_finish", log({f"r{r}": plain(1, 12, rank=r) + f"\n2026-03-14 10:01:00 INFO rank {r}: training finished" for r in range(4)}, prefix="srun"))
healthy("lk_elastic_scale_up", log(plain(1, 20) + "\nI0314 10:01:31.504000 4012 site-packages/torch/distributed/elastic/agent/server/api.py:881] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish."))
healthy("lk_model_answers_about_failures", log(plain(1, 20) + "\n2026-03-14 10:01:30 INFO sample> FATAL: the database system is starting up. This message means that\n2026-03-14 10:01:31 INFO sample> kernel panic - not syncing: is printed when\n" + plain(21, 60, m=2) + "\nfinished"))
healthy("lk_xid_of_other_day", {"kern.log": xid(31, "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted", "Mar 10 06:01:20", "0000:19:00", "dgx-2", 91), "train.log": plain(1, 90) + "\nfinished"})
healthy("lk_loss_zero_by_design", log("\n".join(f"step {i} loss {max(0, .4 - i * .01):.4f} grad_norm {max(0, .2 - i * .004):.4f}" for i in range(1, 80)) + "\nfinished"))
healthy("lk_evaluations_fail", log(plain(1, 40) + "\n2026-03-14 10:02:45 INFO eval: 12 of 164 programs raise, 3 time out, 1 is killed for memory\n" + plain(41, 80, m=4) + "\nfinished"))
healthy("lk_sigterm_ignored_checkpoint_resume", log(plain(1, 40) + "\n2026-03-14 10:02:45 WARNING received SIGTERM, saving step 40\n2026-03-14 10:10:00 INFO restarted, loading step 40\n" + plain(41, 120, m=10) + "\nfinished"), ordered=True)
healthy("lk_disk_warning", log(plain(1, 40) + "\n2026-03-14 10:02:45 WARNING 91% of /data is used; no space left on device would stop the run, old checkpoints are deleted\n" + plain(41, 80, m=4) + "\nfinished"))
