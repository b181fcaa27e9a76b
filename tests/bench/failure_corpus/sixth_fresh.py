# SPDX-License-Identifier: Apache-2.0
"""A sixth part: clouds, services beside the run, other accelerators and languages; its truth was
written before any verdict was seen."""
import json

from case import dead, healthy, log
from forms import *

K8S = "2026-03-14T{t}Z  {kind:8s} {why:20s} {what}  {text}"


def event(t, kind, why, what, text):
    return K8S.format(t=t, kind=kind, why=why, what=what, text=text)


def absl(seconds, text, sev="I", source="train.py:88", tid=4012):
    return f"{sev}0314 10:{seconds // 60:02d}:{seconds % 60:02d}.118204 {tid:7d} {source}] {text}"


def maxtext(first, last, sec=8):
    return "\n".join(f"completed step: {n}, seconds: {sec + n % 3 * .01:.3f}, TFLOP/s/device: {181.4 + n % 5 * .1:.3f}, "
                     f"Tokens/s/device: {4021.7 + n % 7:.3f}, total_weights: 524288, loss: {9.1 - n * .02:.3f}" for n in range(first, last + 1))


# ---- JAX, TPU, XLA ---------------------------------------------------------------------------------
dead("f_tpu_core_halted", "cuda_error|gpu_hardware|driver_firmware|application_error|unknown", [], ["halted"], log(
    maxtext(1, 30) + "\nE0314 10:22:35.165575   26868 real_program_continuator.cc:1331] 0x0x2_TC0: *** Halt is unexpected, all pending programs will fail.\n" +
    tb("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Accelerator device halted prematurely, perhaps due to an on-device check-failure. Node 2 halted "
       "unexpectedly at tag:pc TensorCoreSequencer:887:0x6f1", "/srv/mx/train.py:301:<module>:main()")))
dead("f_jax_barrier_shutdown", "peer_died|cpu_stall|unknown|network|application_error|uneven_work", [], ["task(:| )?6|6"], log(
    maxtext(1, 30) + "\nE0314 10:12:35.165575 26868 coordination_service_agent.cc:322] Failed to disconnect from coordination service with status: DEADLINE_EXCEEDED: "
    "Barrier timed out. Id: Shutdown::3121. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs for "
    "more details. # of tasks that reached the barrier: 7/8. The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n"
    "/job:jax_worker/replica:0/task:6\nProceeding with agent shutdown anyway."), may=[6])
dead("f_xla_all_reduce_stuck", "communication_stall|cpu_stall|gpu_stall|unknown|peer_died", [], ["stuck|rendezvous|all-?reduce|collective|thread"], log(
    maxtext(1, 12) + "\nE0314 10:22:35.165575 26868 rendezvous.cc:95] This thread has been waiting for `first call to collective operation 31; run_id=4021` for 20 "
    "seconds and may be stuck. Expected 8 threads to join the rendezvous, but only 7 of them arrived on time.\nF0314 10:23:35.165575 26868 rendezvous.cc:125] "
    "Termination timeout for `first call to collective operation 31; run_id=4021` of 60 seconds exceeded. Exiting to ensure a consistent program state. "
    "Expected 8 threads to join the rendezvous, but only 7 of them arrived on time."))
dead("f_torch_xla_oom", "cuda_oom", [1], ["rank 1|task 1", "memory|hbm"], log({"r0": maxtext(1, 9)}, {
    "r1": tb("RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 31.20G of 15.75G hbm. "
             "Exceeded hbm capacity by 15.45G.", "/srv/x/run.py:71:_mp_fn:xm.mark_step()", rank=1)}))

# ---- Ray, Composer, NeMo, torchtitan, Accelerate ---------------------------------------------------
dead("f_ray_system_error", "peer_died|host|unknown|application_error", [], ["10.0.1.75", "207258|worker|actor"], log(
    "(RayTrainWorker pid=207258, ip=10.0.1.75) epoch 0 step 220 loss 1.772\n(raylet) A worker died or was killed while executing a task by an unexpected system error. To "
    "troubleshoot the problem, check the logs for the dead worker. Worker ID: 0f59 Node ID: 4fcc Worker IP address: 10.0.1.75 Worker port: 10230 Worker PID: 207258 Worker exit "
    "type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed "
    "by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.\n" +
    tb("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: RayTrainWorker\n\tpid: 207258\n\tip: 10.0.1.75",
       "/srv/r/main.py:88:<module>:trainer.fit()")))
dead("f_composer_sigbus", "host|application_error", [2], ["rank 2", "SIGBUS|signal 7|-7|bus error|shared memory"], log(
    "2026-03-14 10:00:02,640: rank0[1074804][MainThread]: INFO: composer.trainer.trainer: Using precision Precision.AMP_BF16\n[batch=1/4800]:\n\t Train loss/train/total: 11.8021\n"
    "ERROR:composer.cli.launcher:Rank 2 crashed with exit code -7.\nWaiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit immediately.\n"
    "Global rank 0 (PID 1074804) exited with code -15\nGlobal rank 2 (PID 1074806) exited with code -7"))
dead("f_nemo_hydra_override", "application_error", [], ["Could not override|trainer.devicess|ConfigAttributeError|Key"], log(
    "[NeMo I 2026-03-14 09:59:51 nemo_logging:381] Experiments will be logged at /results/x\nCould not override 'trainer.devicess'.\nTo append to your config use +trainer.devicess=8\n"
    "Key 'devicess' is not in struct\n    full_key: trainer.devicess\n    object_type=dict\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."))
dead("f_nvrx_rank_monitor", "cpu_stall|unknown|gpu_stall|communication_stall", [5], ["rank 5", "heartbeat|timeout|did not|no"], log(
    plain(1, 30) + "\n2026-03-14 10:32:11,402 [ERROR] [RankMonitorServer:rank 5@gb-07] Did not get subsequent heartbeat from rank 5 in 1800 seconds. Terminating the rank process."))
dead("f_titan_ckpt_async", "host|application_error", [3], ["rank 3", "Stale file handle|NFS|ESTALE|ckpt"], log({"r0": titan(1, 20, rank=0), "r3": titan(1, 20, rank=3)}, {
    "r3": tb("torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([3])\nOSError: [Errno 116] Stale file handle: '/nfs/ckpt/step-20/__3_0.distcp'",
             MAIN, "/opt/t/torchtitan/components/checkpoint.py:412:save:self._async_wait()", rank=3)}))
dead("f_accelerate_mixed_devices", "application_error", [1], ["rank 1", "same device|cuda:1"], log(plain(1, 2), {
    "r1": tb("RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cpu!", MAIN, "/srv/a/loss.py:12:ce:return lse - z[y]", rank=1)}))

# ---- clouds and schedulers -------------------------------------------------------------------------
dead("f_sagemaker_algorithm_error", "application_error|unknown", [], ["AlgorithmError|KeyError|label_ids"], log(
    "2026-03-14 09:58:20,118 sagemaker-training-toolkit INFO     Invoking user script\n" + hf(10, 90) +
    "\n[1,mpirank:3,algo-1]<stderr>:" + "\n[1,mpirank:3,algo-1]<stderr>:".join(tb("KeyError: 'label_ids'", "/opt/ml/code/train.py:118:<module>:main()").split("\n")) +
    "\n2026-03-14 10:02:20,118 sagemaker-training-toolkit ERROR    Reporting training FAILURE\n2026-03-14 10:02:20,118 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:\n"
    "ExitCode 1\nErrorMessage \"KeyError: 'label_ids'\""), may=[3])
dead("f_sagemaker_capacity", "scheduler|host", [], ["capacity|CapacityError|instance"], log(
    "2026-03-14 09:58:20 Starting - Starting the training job...\n2026-03-14 10:58:20 Failed - CapacityError: Unable to provision requested ML compute capacity. Please retry "
    "using a different ML instance type."))
dead("f_azureml_preempted", "scheduler|host", [], ["preempt|evict|low.?priority|node"], log(
    plain(1, 40) + "\n2026-03-14T10:02:50Z ERROR azureml: AzureMLCompute job failed. JobNodePreempted: node tvmps_81 of the low-priority pool was preempted"))
dead("f_vertex_replica_exit", "application_error|unknown|host", [], ["workerpool1-2|replica", "137|memory"], log(
    plain(1, 40) + "\n2026-03-14T10:02:50.118Z ERROR service: The replica workerpool1-2 exited with a non-zero status of 137. Termination reason: OOMKilled. To find out more about why "
    "your job exited please check the logs"))
dead("f_kueue_evicted", "scheduler", [], ["Kueue|evict|preempt|quota|priority"], {"events.log":
    event("09:58:10", "Normal", "Started", "pod/llm-a-0", "Started container main") + "\n" +
    event("10:44:02", "Normal", "Preempted", "workload/llm-a", "Preempted to accommodate a workload (UID: 81) due to prioritization in the ClusterQueue") + "\n" +
    event("10:44:03", "Normal", "Killing", "pod/llm-a-0", "Stopping container main")})
dead("f_k8s_ephemeral", "host", [], ["ephemeral|disk|storage", "llm-b-3|pod"], {"events.log":
    event("09:58:10", "Normal", "Started", "pod/llm-b-3", "Started container main") + "\n" +
    event("10:44:02", "Warning", "Evicted", "pod/llm-b-3", "Pod ephemeral local storage usage exceeds the total limit of containers 200Gi.")}, may=[3])
dead("f_gpu_operator_unhealthy", "gpu_hardware|host|scheduler|unknown|driver_firmware", [], ["unhealthy|GPU-8a1|Xid"], {"kubelet.log":
    "I0314 10:03:51.118204    1811 nvidia.go:211] 'nvidia-device-plugin': processing event\nE0314 10:04:11.118204    1811 health.go:160] XidCriticalError: Xid=79 on Device=GPU-8a1f, the device will go unhealthy.\n"
    "W0314 10:04:11.118204    1811 server.go:302] 'nvidia.com/gpu' device marked unhealthy: GPU-8a1f"})
dead("f_slurm_gres_config", "scheduler|host|application_error", [], ["gres|Requested node configuration|Batch job submission failed"], log(
    "sbatch: error: Batch job submission failed: Requested node configuration is not available"))
dead("f_slurm_job_pmix_send", "network|host|peer_died|unknown", [], ["n0091|Node failure|pmix"], log(plain(1, 4), {
    "srun": "slurmstepd: error:  mpi/pmix_v5: pmixp_p2p_send: n0094 [4]: pmixp_utils.c:469: send failed, rc=1001, exceeded the retry limit\nsrun: error: Node failure on n0091\n"
            "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."}))
dead("f_pbs_vmem", "host|scheduler", [], ["mem|memory|vmem"], log(
    plain(1, 40) + "\n=>> PBS: job killed: vmem 541237248kb exceeded limit 536870912kb\nTerminated"))

# ---- networks, files, services ---------------------------------------------------------------------
dead("f_dns_master", "network|application_error", [4], ["rank 4", "llm-0|Name or service|resolve"], log({
    "r4": tb("torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (llm-0.llm-svc, 29500). The IPv4 network addresses of "
             "(llm-0.llm-svc, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", "/srv/t/train.py:20:<module>:dist.init_process_group('nccl')", rank=4)}))
dead("f_tls_expired", "network|application_error|host", [0], ["rank 0", "certificate"], log(plain(1, 9), {
    "r0": tb("requests.exceptions.SSLError: HTTPSConnectionPool(host='artifacts.corp', port=443): Max retries exceeded with url: /v1/put (Caused by SSLError(SSLCertVerificationError(1, "
             "'[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1007)')))", MAIN, "/srv/t/up.py:9:put:requests.put(u, data=f)", rank=0)}))
dead("f_gcs_quota", "network|host|application_error|scheduler", [], ["429|rateLimitExceeded|TooManyRequests|quota"], log(
    maxtext(1, 10) + "\n" + tb("google.api_core.exceptions.TooManyRequests: 429 PUT https://storage.example/upload: rateLimitExceeded: The object ckpt/manifest exceeded the rate limit for "
                               "object mutation operations", "/srv/mx/ckpt.py:33:save:blob.upload_from_file(f)")))
dead("f_license_denied", "application_error|scheduler|unknown", [], ["licen[cs]e"], log(
    "2026-03-14 10:00:02 INFO loading solver plugin\nFlexNet Licensing error:-4,132. License checkout failed: all 16 licenses of feature hpc_train are in use\n"
    "2026-03-14 10:00:09 FATAL cannot continue without a license"))
dead("f_lustre_quota", "host", [6], ["rank 6", "quota"], log(plain(1, 40), {
    "r6": tb("OSError: [Errno 122] Disk quota exceeded: '/lustre/proj/ckpt/iter_40/mp_06.pt'", MAIN, rank=6)}))
dead("f_arrow_corrupt", "host|application_error", [2], ["rank 2", "Parquet|parquet|magic|corrupt"], log(plain(1, 9), {
    "r2": tb("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.", MAIN, "/srv/d/rows.py:41:read:pq.read_table(p)", rank=2)}))

# ---- machines, accelerators, native code -----------------------------------------------------------
dead("f_thermal_slowdown_off", "host|gpu_hardware", [], ["temperature|thermal", "gx-12"], {"kern.log":
    "Mar 14 10:03:01 gx-12 kernel: mce: CPU12: Core temperature above threshold, cpu clock throttled (total events = 81)\n"
    "Mar 14 10:03:11 gx-12 kernel: thermal thermal_zone0: acpitz: critical temperature reached, shutting down\nMar 14 10:03:11 gx-12 kernel: reboot: Power down",
    "train.log": log(plain(1, 40))})
dead("f_nvswitch_xid145_45", "gpu_hardware|network", [], ["145|NVLink", "0000:ed:00|k9"], {"kern.log":
    "Mar 14 10:03:11 k9 kernel: NVRM: Xid (PCI:0000:ed:00): 145, RLW_SRC_TRACK Fatal XC0 i0 Link 11 (0x000000a4 0x00000000)\n"
    "Mar 14 10:03:11 k9 kernel: NVRM: Xid (PCI:0000:ed:00): 45, pid=1818992, name=python3, Ch 0000000c caused by previous Xid 145\n"
    "Mar 14 10:03:11 k9 kernel: NVRM: Xid (PCI:0000:97:00): 45, pid=1818987, name=python3, Ch 00000003 caused by previous Xid 145"})
dead("f_ascend_hccp", "application_error|driver_firmware|host|unknown|network|communication_stall|cuda_error", [3], ["rank 3", "HCCP|EJ0001|HCCL"], log({
    "r3": tb("RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64\n[ERROR] 2026-03-14-10:00:54 (PID:927000, Device:3, RankID:3) ERR02200 DIST call hccl api failed.\n"
             "EJ0001: 2026-03-14-10:00:54.167.645 Failed to initialize the HCCP process. Reason: Maybe the last training process is running.", "/srv/n/train.py:14:<module>:main()")}))
dead("f_gaudi_acquire", "driver_firmware|gpu_hardware|unknown|application_error|host|cuda_error", [], ["synDeviceAcquire|synapse|device"], log(
    "HCCL demo error: In function initDevice(): synDeviceAcquire(&resources.deviceHandle, nullptr) failed with synapse error: 20\n"
    "mpirun noticed that process rank 3 with PID 0 on node hls-4 exited on signal 6 (Aborted)."), may=[3])
dead("f_rocm_no_kernel", "cuda_error|application_error|driver_firmware", [0], ["rank 0", "device function|HIP|invalid"], log({
    "r0": tb("RuntimeError: HIP error: invalid device function\nHIP kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.", MAIN, STEP, rank=0)}))
dead("f_core_dump_systemd", "application_error", [], ["SIGSEGV|signal 11|segmentation|dumped", "4410|python3|n5"], {"journal.log":
    "Mar 14 10:03:11 n5 systemd-coredump[9021]: Process 4410 (python3) of user 1000 dumped core.\n"
    "Mar 14 10:03:11 n5 systemd-coredump[9021]: Stack trace of thread 4410: #0 0x00007f11 n/a (libnccl.so.2 + 0x91a0) Signal: 11 (SEGV)", "train.log": log(plain(1, 40))})
dead("f_import_libcuda", "application_error|driver_firmware|host", [], ["libcudart|libcuda|shared object"], log(
    tb("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", "/srv/t/train.py:3:<module>:import flash_attn")))
dead("f_cgroup2_oom_group", "host", [], ["memory", "9120|python3|gx-3|trainer"], {"kern.log":
    "Mar 14 10:03:11 gx-3 kernel: python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985\nMar 14 10:03:11 gx-3 kernel: memory: usage 536870912kB, limit 536870912kB, failcnt 0\n"
    "Mar 14 10:03:11 gx-3 kernel: Tasks in /kubepods.slice/pod81/trainer are going to be killed due to memory.oom.group set\n"
    "Mar 14 10:03:11 gx-3 kernel: Memory cgroup out of memory: Killed process 9120 (python3) total-vm:91234512kB, anon-rss:512345678kB, file-rss:8124kB, shmem-rss:0kB, UID:1000",
    "train.log": log(plain(1, 40))})
dead("f_moe_nan_router", "numerical_divergence", [], ["nan|NaN|not finite|finite"], log(
    plain(1, 20) + "\n" + "\n".join(f"2026-03-14 10:02:{i:02d} INFO step {20 + i} loss nan lr 3.00e-04 grad_norm nan 4.0 s/it" for i in range(1, 9))))
dead("f_cpp_check_fail", "application_error|unknown", [1], ["rank 1", "TORCH_CHECK|INTERNAL ASSERT|bucket"], log(plain(1, 9), {
    "r1": tb("RuntimeError: bucket.pending > 0 INTERNAL ASSERT FAILED at \"../torch/csrc/distributed/c10d/reducer.cpp\":892, please report a bug to the framework.", MAIN, STEP, rank=1)}))
dead("f_ddp_unused", "application_error", [], ["reduction|unused|did not receive grad|parameters"], log(plain(1, 2), {
    f"r{r}": tb("RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not "
                f"used in producing loss. Parameter indices which did not receive grad for rank {r}: 4 5", MAIN, STEP, rank=r) for r in (0, 1)}), may=[0, 1])
dead("f_fsdp_load_mismatch", "application_error", [7], ["rank 7", "state_dict|size mismatch|embed"], log({
    "r7": tb("RuntimeError: Error(s) in loading state_dict for Transformer:\n\tsize mismatch for embed.weight: copying a param with shape torch.Size([32000, 4096]) from checkpoint, the shape in "
             "current model is torch.Size([32064, 4096]).", MAIN, "/srv/t/ckpt.py:30:load:model.load_state_dict(sd)", rank=7)}))
dead("f_rust_actix_data", "application_error", [], ["panicked|Utf8|loader"], log(
    plain(1, 9) + "\nthread 'loader-3' panicked at src/shard.rs:88:14:\ncalled `Result::unwrap()` on an `Err` value: Utf8Error { valid_up_to: 12, error_len: Some(1) }\n"
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\nAborted (core dumped)"))

# ---- healthy ---------------------------------------------------------------------------------------
healthy("fk_tpu_slow_compile", log(absl(1, "E external/xla: slow compile of 2m; continuing", "W") + "\n" + maxtext(1, 60) + "\n" + absl(900, "Training finished")))
healthy("fk_ray_worker_restart", log("\n".join(f"(RayTrainWorker pid=411, ip=10.0.0.3) epoch 0 step {i} loss {2 - i * .01:.3f}" for i in range(1, 40)) +
        "\n(raylet) WARNING: 1 worker died, restarting it (max_restarts=3)\n" + "\n".join(f"(RayTrainWorker pid=902, ip=10.0.0.3) epoch 0 step {i} loss {2 - i * .01:.3f}" for i in range(35, 120))),
        ordered=True)
healthy("fk_lustre_reconnect", {"kern.log": "Mar 14 10:01:11 n5 kernel: Lustre: scratch-OST0012-osc-ffff91: Connection to scratch-OST0012 (at 10.1.1.2@o2ib) was lost; in progress operations using this "
        "service will wait for recovery to complete\nMar 14 10:01:31 n5 kernel: Lustre: scratch-OST0012-osc-ffff91: Connection restored to 10.1.1.2@o2ib", "train.log": log(plain(1, 90) + "\nfinished")})
healthy("fk_wandb_network", log(plain(1, 30) + "\nwandb: Network error (ReadTimeout), entering retry loop.\nwandb: ERROR Error while calling W&B API: 502 Bad Gateway\n" + plain(31, 120, m=3)), ordered=True)
healthy("fk_pmix_warning", log("[gx-1:04012] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168\n" + plain(1, 90) + "\nTraining completed"), ordered=True)
healthy("fk_xid_145_nonfatal", {"kern.log": "Mar 14 10:01:11 k9 kernel: NVRM: Xid (PCI:0000:ed:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 11 (0x00000004 0x00000000)", "train.log": log(plain(1, 120) + "\nfinished")})
healthy("fk_cpu_throttle_lines", {"kern.log": "Mar 14 10:01:11 k9 kernel: mce: CPU12: Core temperature above threshold, cpu clock throttled (total events = 2)\n"
        "Mar 14 10:01:12 k9 kernel: mce: CPU12: Core temperature/speed normal", "train.log": log(plain(1, 120))})
healthy("fk_k8s_readiness_then_ok", {"events.log": event("09:58:02", "Warning", "FailedScheduling", "pod/llm-0", "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.") + "\n" +
        event("10:00:02", "Normal", "Scheduled", "pod/llm-0", "Successfully assigned train/llm-0 to gx-1") + "\n" + event("10:00:12", "Normal", "Started", "pod/llm-0", "Started container main"),
        "train.log": log(plain(1, 120))})
healthy("fk_code_in_samples", log(plain(1, 30) + "\n2026-03-14 10:02:11 INFO sample: def f():\\n    raise ValueError('x')  # Traceback (most recent call last)\n2026-03-14 10:02:12 INFO sample: "
        "\"RuntimeError: CUDA error: an illegal memory access\" is what the user pasted\n" + plain(31, 120, m=3)), ordered=True)
healthy("fk_caught_stop_iteration", log(plain(1, 30) + "\n2026-03-14 10:02:11 WARNING data: StopIteration at the end of epoch 1, rewinding\n" + plain(31, 120, m=3) + "\n2026-03-14 10:20:11 INFO job exit code: 0"), ordered=True)
