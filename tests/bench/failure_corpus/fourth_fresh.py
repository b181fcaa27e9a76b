# SPDX-License-Identifier: Apache-2.0
"""A fourth part, from issue threads and manuals, with its truth written before any verdict was seen."""
from case import dead, healthy, log
from forms import *

# ---- Ray, JAX, TensorFlow --------------------------------------------------------------------------
dead("d_ray_actor_system_error", "peer_died|unknown|application_error|host", [], ["actor|worker", "10.7.34.138|5226|SYSTEM_ERROR|died|exit"], log(
    "(ActorModel pid=5226) step 12 loss 1.21\n(ActorModel pid=5226) step 13 loss 1.20\n" + tb(
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: ActorModelRayActor\n"
        "\tactor_id: f20da4dc\n\tpid: 5226\n\tip: 10.7.34.138\nThe actor is dead because its worker process has died. Worker exit type: "
        "SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.",
        "/srv/rl/train_ppo.py:175:train:ray.get(refs)")), may=[0])
dead("d_ray_task_value_error", "application_error", [], ["ValueError", "advantage|shape|broadcast"], log(
    tb("ray.exceptions.RayTaskError(ValueError): ray::Critic.fit() (pid=812, ip=10.0.0.7)\n  File \"/srv/rl/critic.py\", line 77, in fit\n"
       "    adv = ret - val\nValueError: operands could not be broadcast together with shapes (64,512) (64,511)",
       "/srv/rl/main.py:20:main:ray.get(f)")))
dead("d_jax_hbm_oom", "cuda_oom", [], ["memory|HBM|RESOURCE_EXHAUSTED"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n" + tb(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 14.21G at the bottom of "
        "memory. That was not possible. There are 11.80G free, 0B reserved, and 11.80G reservable.", "/srv/jx/train.py:90:main:state = step(state)")), may=[0])
dead("d_jax_barrier_missing", "cpu_stall|peer_died|unknown", [3, 0], ["task|rank", "3", "barrier|register"], log(
    tb("jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: multihost_broadcast_sync0. Timed out task names:\n"
       "/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:0", "/srv/lev/logging.py:232:init:sync()")), may=[0, 3])
dead("d_megascale_slice", "peer_died|network|unknown|host", [], ["slice|megascale|heartbeat|task"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\nE0314 10:09:38.594192 1044 megascale_error_reporter.cc:71] Megascale detects a hang "
    "that is likely caused by the following hosts: slice 3 host 2 (tpu-w-14). Reason: unresponsive to heartbeats."), may=[3])
dead("d_tf_collective_peer", "peer_died|network|unknown", [], ["worker|task|peer|connection|UNAVAILABLE"], log(
    "Epoch 2/10\n 100/500 [===>....] - ETA: 3:01 - loss: 1.92\n2026-03-14 10:04:11.201230: E tensorflow/core/common_runtime/ring_alg.cc:291] "
    "Aborting RingReduce with UNAVAILABLE: Connection reset by peer from worker 10.2.0.14:2222"))

# ---- NCCL, fabrics ---------------------------------------------------------------------------------
dead("d_ibv_create_cq", "network|host|application_error|unknown", [], ["ibv_create_cq|Cannot allocate memory|memory", "n70|rank|mlx5"], log(
    nccl("n70", 51, 2, "Call to ibv_create_cq failed with error Cannot allocate memory", src="misc/ibvwrap.cc:190") + "\n" +
    nccl("n70", 51, 2, "transport/net_ib.cc:701 -> 2", sev="INFO")))
dead("d_efa_cq_setup", "network", [], ["CQ|efa|OFI", "algo-1|NCCL|fabric"], log(
    nccl("algo-1", 17778, 5, "NET/OFI Couldn't open CQ. RC: -22, ERROR: Invalid argument", src="nccl_ofi_ofiutils_init_connection:274") + "\n" +
    nccl("algo-1", 17778, 5, "NET/OFI aws-ofi-nccl initialization failed", src="nccl_net_ofi_create_plugin:259")))
dead("d_peer_mapping_p2p", "cuda_error|gpu_hardware|driver_firmware|application_error|unknown", [], ["peer access|IPC|cudaIpc|mapping|P2P|p2p"], log(
    nccl("w1", 900, 1, "Cuda failure 217 'peer access is not supported between these two devices'", src="transport/p2p.cc:228")))
dead("d_connect_refused_names_host", "network|peer_died", [], ["10.31.4.9|gpu-31|connect", "refused|connect"], log(
    nccl("gpu-30", 77, 0, "socketStartConnect: Connect to 10.31.4.9<40011> failed : Connection refused", src="misc/socket.cc:484")))
dead("d_ucx_wireup", "network|peer_died", [], ["ucx|UCX|timeout|unreachable|endpoint"], log(
    "[1773478844.182931] [cn17:812:0]      wireup.c:1059 UCX  ERROR   no active messages transport to cn18: self/memory - Destination is unreachable"))
dead("d_nvls_no_memory", "cuda_oom|cuda_error|unknown|application_error|network|driver_firmware", [4], ["rank 4|dev|h7", "memory|NVLS|cuda"], log(
    nccl("h7", 55, 4, "Cuda failure 2 'out of memory'", src="transport/nvls.cc:244") + "\n" + tb(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled cuda error, NCCL version 2.21.5\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'", MAIN, rank=4)), may=[4])
dead("d_hang_counts_three", "cpu_stall", [5], ["rank 5"], log(
    plain(1, 6), {**{f"r{r}": watchdog(r, 212) for r in (0, 1, 2, 3, 4, 6, 7)}, "r5": heard(5, 211, 211, other=0)}))
dead("d_mismatch_send_recv", "collective_mismatch", [2], ["rank 2", "ALLGATHER|all.?gather", "ALLREDUCE|all.?reduce"], log(
    titan(1, 9), {**{f"r{r}": watchdog(r, 77, "ALLREDUCE", 1024) for r in (0, 1, 3)}, "r2": watchdog(2, 77, "_ALLGATHER_BASE", 1024, 4096)}))

# ---- machines --------------------------------------------------------------------------------------
dead("d_kernel_bug_null", "host", [], ["kernel|BUG|NULL", "n12"], {"kern.log":
    "Mar 14 10:03:11 n12 kernel: BUG: kernel NULL pointer dereference, address: 0000000000000028\nMar 14 10:03:11 n12 kernel: #PF: supervisor read "
    "access in kernel mode\nMar 14 10:03:11 n12 kernel: Oops: 0000 [#1] SMP NOPTI"})
dead("d_ext4_error", "host", [], ["EXT4|file ?system|sdb1", "n3|sdb1"], {"kern.log":
    "Mar 14 10:03:11 n3 kernel: EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm python: reading directory lblock 0\n"
    "Mar 14 10:03:11 n3 kernel: EXT4-fs (sdb1): Remounting filesystem read-only"})
dead("d_gpfs_stale", "host", [0], ["rank 0", "Stale|116"], log(
    plain(1, 9), {"r0": tb("OSError: [Errno 116] Stale file handle: '/gpfs/w/ckpt/step_9'", MAIN, rank=0)}))
dead("d_beegfs_comm", "host", [1], ["rank 1", "Communication error|Errno 70"], log(
    plain(1, 9), {"r1": tb("OSError: [Errno 70] Communication error on send: '/beegfs/data/shard-3.tar'", MAIN, LOOP, rank=1)}))
dead("d_nvidia_smi_lost", "gpu_hardware|driver_firmware", [], ["GPU", "lost|0000:65:00|Unable"], {"health.log":
    "2026-03-14 10:03:00 node n9 health check: Unable to determine the device handle for GPU 0000:65:00.0: GPU is lost.  Reboot the system to "
    "recover this GPU"})
dead("d_dcgm_xid_json", "gpu_hardware", [], ["Xid 79|fallen|bus"], {"kern.log":
    "[88121.311] NVRM: GPU at PCI:0000:a1:00: GPU-1f2a\n[88121.311] NVRM: Xid (PCI:0000:a1:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
    "off the bus."})
dead("d_thermal_shutdown", "host|gpu_hardware", [], ["thermal|temperature|shut", "n4"], {"kern.log":
    "Mar 14 10:03:11 n4 kernel: thermal thermal_zone0: critical temperature reached (105 C), shutting down\nMar 14 10:03:12 n4 systemd[1]: Shutting down."})
dead("d_mce_fatal", "host", [], ["machine check|hardware|memory|MCE|Error", "n5"], {"kern.log":
    "Mar 14 10:03:11 n5 kernel: mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400\nMar 14 10:03:11 n5 kernel: Kernel "
    "panic - not syncing: Fatal local machine check"})
dead("d_mlx5_health", "network|host", [], ["mlx5|health|port|link|network", "n8"], {"kern.log":
    "Mar 14 10:03:11 n8 kernel: mlx5_core 0000:9a:00.0: poll_health:801:(pid 0): device's health compromised - reached miss count\n"
    "Mar 14 10:03:11 n8 kernel: mlx5_core 0000:9a:00.0: print_health_info:423:(pid 0): fw_ver 28.39.1002"})

# ---- schedulers and containers ---------------------------------------------------------------------
dead("d_slurm_node_fail_requeue", "host|scheduler", [], ["node", "gpu-c-17|fail"], log(
    plain(1, 30) + "\nslurmstepd: error: *** JOB 88121 ON gpu-c-17 CANCELLED AT 2026-03-14T10:04:11 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"))
dead("d_seff_timeout", "scheduler", [], ["time"], log(
    plain(1, 30) + "\nJob ID: 88121\nCluster: alps\nState: TIMEOUT (exit code 0)\nNodes: 4"))
dead("d_sacct_oom", "host", [], ["memory|OUT_OF_ME"], log(
    plain(1, 30) + "\nJobID           JobName      State ExitCode\n------------ ---------- ---------- --------\n88121             train OUT_OF_ME+    0:125\n"
    "88121.0           train OUT_OF_ME+    0:125"))
dead("d_pbs_memory", "host", [], ["mem"], log(plain(1, 30) + "\n=>> PBS: job killed: mem 131202048kb exceeded limit 130023424kb"))
dead("d_lsf_owner", "scheduler|unknown|application_error", [], ["TERM_OWNER|killed|owner|cancel|stop"], log(plain(1, 30) + "\nTERM_OWNER: job killed by owner.\nExited with exit code 130."))
dead("d_k8s_preempt", "scheduler", [], ["preempt", "train-1|pod|kube"], {"events.log":
    "2026-03-14T10:03:11Z  Warning  Preempted  pod/train-1  Preempted by pod 1f2a on node gke-7"})
dead("d_k8s_mount", "scheduler|host|unknown|application_error", [], ["mount|volume", "train-0|pvc|container"], {"events.log":
    "2026-03-14T10:03:11Z  Warning  FailedMount  pod/train-0  Unable to attach or mount volumes: unmounted volumes=[ckpt], timed out waiting for the condition"})
dead("d_docker_exit_137", "unknown|host|scheduler|application_error", [], ["137|SIGKILL|kill"], log(plain(1, 30) + "\ntrainer-1 exited with code 137"))
dead("d_sagemaker_runtime", "scheduler", [], ["time|runtime"], log(
    plain(1, 30) + "\n2026-03-14 10:30:00 Stopping - Stopping the training job\n2026-03-14 10:30:40 MaxRuntimeExceeded - Training job runtime exceeded "
    "MaxRuntimeInSeconds provided"))
dead("d_systemd_signal", "application_error", [], ["SEGV|segment|SIGSEGV"], {"journal.log":
    "Mar 14 10:04:01 n6 run.sh[991]: step 10 loss 2.11\nMar 14 10:04:09 n6 systemd[1]: train.service: Main process exited, code=killed, status=11/SEGV\n"
    "Mar 14 10:04:09 n6 systemd[1]: train.service: Failed with result 'signal'."})
dead("d_intel_mpi_rank", "application_error|unknown", [3], ["rank 3", "signal 11|SIGSEGV|segment"], log(
    plain(1, 4) + "\n===================================================================================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION "
    "PROCESSES\n=   RANK 3 PID 9912 RUNNING AT c-11\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n"
    "==================================================================================="))

# ---- programs --------------------------------------------------------------------------------------
dead("d_go_panic", "application_error|unknown", [], ["panic|nil pointer|invalid memory"], log(
    plain(1, 4) + "\npanic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0]\n\n"
    "goroutine 1 [running]:\nmain.feed()"))
dead("d_java_spark", "host|application_error", [], ["OutOfMemoryError|heap|memory"], log(
    'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat org.apache.spark.Feeder.run(Feeder.java:12)'))
dead("d_deepspeed_batch", "application_error", [2], ["rank 2|AssertionError", "batch"], log(
    {"r2": tb("AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size "
              "64 != 4 * 8 * 1", MAIN, "/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/config.py:891:_batch_assertion:assert train_batch", rank=2)}))
dead("d_size_mismatch_ckpt", "application_error", [1], ["rank 1", "state_dict|size mismatch"], log(
    {"r1": tb("RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:\n\tsize mismatch for model.layers.6.self_attn.o_proj.weight: copying a "
              "param with shape torch.Size([1024, 1024]) from checkpoint, the shape in current model is torch.Size([4096, 4096]).", MAIN, rank=1)}))
dead("d_safetensors_header", "application_error|host", [0], ["rank 0", "Safetensor|header|deserializ"], log(
    {"r0": tb("safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", MAIN, rank=0)}))
dead("d_queue_timeout_own", "application_error", [6], ["rank 6", "TimeoutError|prefetch"], log(
    plain(1, 20), {"r6": tb("TimeoutError: prefetcher gave no sample for 120 s (shard 44)", MAIN, LOOP, "/workspace/feed.py:31:next:raise TimeoutError(", rank=6)},
    {f"r{r}": watchdog(r, 99) for r in (0, 1)}))
dead("d_custom_fatal", "unknown|application_error", [], ["lease|expired|coordinator"], log(
    plain(1, 20) + "\n2026-03-14 10:01:41 FATAL trainer.lease: lease on shard group 4 expired, coordinator gave it to another job"))
dead("d_unlabeled_last_words", "unknown|application_error|scheduler|host", [], ["license|revoked|terminated"], log(
    plain(1, 20) + "\nsim_bridge: session terminated by server: license revoked"))
dead("d_nan_assert", "numerical_divergence|application_error", [3], ["rank 3", "nan|NaN|Rank 3"], log(
    megatron(1, 9), {"r3": tb("AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: n2", MAIN, STEP, rank=3)}))
dead("d_grad_nan_tail", "numerical_divergence", [], ["nan", "grad|norm"], log(
    "\n".join(f"it {i} | grad_norm={1 + i * .01:.2f} | tok/s 91000" for i in range(1, 40)) + "\n" +
    "\n".join(f"it {i} | grad_norm=nan | tok/s 91000" for i in range(40, 46))))
dead("d_traceback_before_other_progress", "application_error", [2], ["rank 2", "IndexError"], log(
    {"r2": tb("IndexError: list index out of range", MAIN, "/workspace/data.py:40:pick:return self.files[i]", rank=2)},
    plain(1, 30)))
dead("d_two_nodes_one_port", "application_error|network", [], ["29500|port|in use|Address"], log(
    "[W314 10:00:01.110236541 socket.cpp:464] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 98 - Address already in use).\n" + tb(
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, "
        "name: EADDRINUSE, message: address already in use", MAIN)), may=[0])

# ---- healthy ---------------------------------------------------------------------------------------
healthy("dk_exit_code_of_probe", log(plain(1, 20) + "\n2026-03-14 10:01:21 INFO probe nvidia-smi ended with exit code 0\n" + plain(21, 60, m=2)))
healthy("dk_retry_storage", log(plain(1, 20) + "\n2026-03-14 10:01:21 WARNING upload of step 20 failed (503), retrying in 4 s\n" + plain(21, 60, m=2) + "\nfinished"))
healthy("dk_amp_overflow_start", log("\n".join(f"step {i} loss {11 - i * .1:.3f} grad_norm {'inf' if i < 4 else 2.1} scale {65536 >> min(i, 3)}" for i in range(1, 60))))
healthy("dk_grad_inf_once_no_loss", log("\n".join(f"it {i} | grad_norm={'inf' if i in (3, 17) else 1.2} | tok/s 91000" for i in range(1, 60))))
healthy("dk_spot_handler_installed", log("2026-03-14 09:59:59 INFO spot interruption handler is installed\n" + plain(1, 60)))
healthy("dk_failed_shards_counted", log(plain(1, 60) + "\nread 1204 shards, 0 failed, 3 retried"))
healthy("dk_eval_prints_sql_error", log(plain(1, 30) + "\n2026-03-14 10:02:10 INFO sample 12: ERROR 1064 (42000): You have an error in your SQL syntax\n" + plain(31, 70, m=3)))
healthy("dk_preempted_then_resumed", log(plain(1, 20) + "\n2026-03-14 10:01:21 INFO preemption notice received, saving\n2026-03-14 10:05:00 INFO resumed at step 20\n" + plain(21, 90, m=6)), ordered=True)
healthy("dk_readonly_warning_kernel", {"kern.log": "Mar 14 09:40:00 n1 kernel: EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.\n"
    "Mar 14 09:41:00 n1 kernel: ACPI Error: AE_NOT_FOUND, while evaluating GPE method [_L6F]", "train.log": plain(1, 90) + "\nfinished"})
healthy("dk_pod_events_normal", {"events.log": "2026-03-14T09:50:00Z  Normal  Pulled  pod/train-0  Container image already present\n2026-03-14T09:50:02Z  Normal  "
    "Started  pod/train-0  Started container main", "train.log": plain(1, 90) + "\nfinished"})
healthy("dk_failed_scheduling_then_ran", {"events.log": "2026-03-14T09:40:00Z  Warning  FailedScheduling  pod/train-0  0/8 nodes are available: 8 Insufficient "
    "nvidia.com/gpu.\n2026-03-14T09:50:02Z  Normal  Scheduled  pod/train-0  Successfully assigned train/train-0 to gke-7", "train.log": plain(1, 90) + "\nfinished"})
healthy("dk_rust_words", log("2026-03-14 09:59:59 INFO tests of the tokenizer panicked at nothing; all 12 passed\n" + plain(1, 60) + "\nfinished"))
healthy("dk_worker_restart_elastic", log(plain(1, 20) + "\nW0314 10:01:31.504000 4012 api.py:851] [default] Scaling event, will restart worker group\n" + plain(15, 80, m=4) + "\nfinished"), ordered=True)
healthy("dk_time_limit_words", log("2026-03-14 09:59:59 INFO job time limit is 4:00:00; exceeded limits end the job\n" + plain(1, 60)))
healthy("dk_nccl_warn_at_start", log(nccl("n1", 12, 0, "NET/Plugin: could not find libnccl-net.so, using internal network", src="net.cc:88") + "\n" + plain(1, 90)))
