# SPDX-License-Identifier: Apache-2.0
"""Hosts, launchers, programs and numbers: the second half of the corpus."""
from case import dead, log
from forms import *

dead("h_oom_kill_old_kernel", "host", [0], ["rank 0", "memory|OOM"], {
    "console.log": log(hf(10, 30), elastic([(0, 0, -9, 456)], stop=(457,))),
    "messages": "Mar 14 10:05:30 n1 kernel: Out of memory: Kill process 456 (python) score 950 or sacrifice child\n"
                "Mar 14 10:05:30 n1 kernel: Killed process 456 (python) total-vm:88123456kB, anon-rss:61234567kB, "
                "file-rss:0kB"}, merge="class")

dead("h_oom_kill_other_process", "host|unknown|application_error|scheduler", [], ["memory|OOM|kill|SIGKILL"], log(
    plain(1, 9), {"kernel": oom_kill("77.1", 99, "mysqld")}, elastic([(1, 1, -9, 4401)], stop=(4400,))), may=[1])

dead("h_exit_137_container", "host|unknown|application_error|scheduler", [], ["137|SIGKILL|kill"], log(
    plain(1, 40) + "\ncommand terminated with exit code 137"), may=[0], never=["established"])

dead("h_memory_error_worker", "host|application_error", [1], ["rank 1", "memory|MemoryError"], log(
    plain(1, 4),
    {"r1": tb("MemoryError: Caught MemoryError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
              "  File \"/srv/a/data.py\", line 31, in __getitem__\n    buf = bytearray(n)\nMemoryError", MAIN, LOOP, rank=1)}))

dead("h_cannot_allocate_fork", "host", [2], ["rank 2", "allocate memory|Errno 12|memory"], log(
    plain(1, 4),
    {"r2": tb("OSError: [Errno 12] Cannot allocate memory", MAIN, "/srv/a/data.py:9:start:p.start()",
              "/opt/conda/lib/python3.11/multiprocessing/popen_fork.py:66:_launch:self.pid = os.fork()", rank=2)}))

dead("h_pin_memory_thread", "cuda_error|application_error|host|cuda_oom", [0], ["rank 0", "pin|memory|worker"], log(
    hf(10, 20),
    {"r0": tb("RuntimeError: Caught RuntimeError in pin memory thread for device 0.\nOriginal Traceback (most recent call "
              "last):\n  File \"/opt/conda/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py\", line 32, in "
              "do_one_step\n    data = pin_memory(data, device)\nRuntimeError: CUDA error: out of memory", MAIN, LOOP,
              rank=0)}))

dead("h_shm_docker_default", "host", [3], ["shared memory|/dev/shm|shm", "rank 3|torch_"], log(
    plain(1, 2),
    {"r3": tb("RuntimeError: unable to write to file </torch_2211_3391882_0>: No space left on device (28)", MAIN, LOOP,
              "/opt/conda/lib/python3.11/site-packages/torch/multiprocessing/reductions.py:370:reduce_storage:fd, size = "
              "storage._share_fd_cpu_()", rank=3) +
           "\n[rank3]: RuntimeError: unable to allocate shared memory(shm) for file </torch_2211_3391882_0>: Resource "
           "temporarily unavailable (11)"}))

dead("h_disk_io_error", "host", [4], ["rank 4", "Input/output|I/O|Errno 5"], {
    "run.log": log(plain(1, 4), {"r4": tb("OSError: [Errno 5] Input/output error", MAIN, LOOP,
                                          "/srv/a/data.py:31:read:return self.f.read(n)", rank=4)}),
    "kern.log": "Mar 14 10:00:18 n3 kernel: nvme nvme1: I/O 118 QID 7 timeout, aborting\n"
                "Mar 14 10:00:19 n3 kernel: blk_update_request: I/O error, dev nvme1n1, sector 88123904 op 0x0:(READ)"},
    merge="class")

dead("h_lustre_evicted", "host|network", [], ["lustre|Lustre|storage|file system", "evict|scratch|10.4.0.1|n3"], log(
    "Mar 14 10:00:18 n3 kernel: LustreError: 167-0: scratch-OST0003-osc-ffff: This client was evicted by scratch-OST0003; in "
    "progress operations using this service will fail.\n"
    "Mar 14 10:00:19 n3 kernel: LustreError: 11-0: scratch-OST0003-osc-ffff: operation ost_write to node 10.4.0.1@o2ib failed: "
    "rc = -107"))

dead("h_checkpoint_dir_permission", "application_error|host", [0], ["rank 0", "Permission|Errno 13", "/shared/ckpt"], log(
    plain(1, 10), {"r0": tb("PermissionError: [Errno 13] Permission denied: '/shared/ckpt/step10'", MAIN,
                            "/srv/a/ckpt.py:9:save:os.makedirs(path)", rank=0)}))

dead("h_slurm_oom_new_words", "host", [], ["memory|oom", "node-31|step|task"], log(
    plain(1, 30),
    "slurmstepd: error: Detected 3 oom_kill events in StepId=9182.batch. Some of the step tasks have been OOM Killed.\n"
    "[2026-03-14T10:05:11.100] error: node-31: task 5: Out Of Memory"), may=[5])

dead("h_slurm_requeue_node_fail", "host|scheduler", [], ["node", "fail"], log(
    plain(1, 30),
    "slurmstepd: error: *** JOB 77 ON hgx-9 CANCELLED AT 2026-03-14T10:05:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS "
    "***"), never=["time limit"])

dead("h_slurm_usr_signal_timeout", "scheduler", [], ["time ?limit|SIGUSR1|preempt|signal|time"], log(
    plain(1, 30) + "\nsubmitit WARNING (2026-03-14 10:02:30,100) - Caught signal SIGUSR2 on node-5: this job is timed-out.\n"
    "slurmstepd: error: *** STEP 81.0 ON node-5 CANCELLED AT 2026-03-14T10:04:31 DUE TO TIME LIMIT ***"))

dead("h_slurm_invalid_account", "scheduler|unknown|application_error", [], ["account|submit|sbatch"], log(
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"))

dead("h_slurm_bus_error_task", "application_error|host", [9], ["task 9|rank 9", "bus error|SIGBUS"], log(
    {"r0": plain(1, 20)}, {"slurm": "srun: error: b9: task 9: Bus error (core dumped)\nsrun: Terminating StepId=6.0"},
    prefix="srun"))

dead("h_pbs_walltime", "scheduler", [], ["walltime|time limit|time"], log(
    plain(1, 30) + "\n=>> PBS: job killed: walltime 14428 exceeded limit 14400"))

dead("h_lsf_memlimit", "host", [], ["memory|MEMLIMIT"], log(
    plain(1, 30) + "\nTERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137."))

dead("h_lsf_runlimit", "scheduler", [], ["run ?limit|time|RUNLIMIT"], log(
    plain(1, 30) + "\nTERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140."))

dead("h_mpi_exit_status_box", "application_error|unknown", [4], ["rank 4|\\],4\\]", "77|exit"], log(
    plain(2, 5),
    "--------------------------------------------------------------------------\n"
    "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first "
    "process to do so was:\n\n  Process name: [[20101,1],4]\n  Exit code:    77\n"
    "--------------------------------------------------------------------------"))

dead("h_mpi_error_on_rank", "application_error|collective_mismatch", [], ["MPI_ERR_TRUNCATE|truncated|truncat"], log(
    plain(2, 5),
    "[c-02:31001] *** An error occurred in MPI_Allreduce\n[c-02:31001] *** reported by process [2766143489,3]\n[c-02:31001] *** "
    "on communicator MPI_COMM_WORLD\n[c-02:31001] *** MPI_ERR_TRUNCATE: message truncated\n[c-02:31001] *** MPI_ERRORS_ARE_FATAL "
    "(processes in this communicator will now abort,\n[c-02:31001] ***    and potentially your MPI job)"), may=[3])

dead("h_mpich_abort", "application_error", [6], ["rank 6|process 6", "abort|MPI_Abort"], log(
    plain(2, 5), "Abort(5) on node 6 (rank 6 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 5) - process 6"))

dead("h_mpich_killed", "unknown|host|application_error|scheduler", [], ["signal 9|SIGKILL|kill"], log(
    plain(2, 5),
    "===================================================================================\n"
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 3312 RUNNING AT c-09\n=   EXIT CODE: 9\n"
    "=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n"
    "===================================================================================\n"
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)"))

dead("h_mpi_not_enough_slots", "application_error|scheduler|unknown", [], ["slots"], log(
    "--------------------------------------------------------------------------\n"
    "There are not enough slots available in the system to satisfy the 16\nslots that were requested by the application:\n\n"
    "  python\n\nEither request fewer procs for your application, or make more slots\navailable for use.\n"
    "--------------------------------------------------------------------------"))

dead("h_k8s_exit_error_status", "application_error|unknown", [], ["exit code 1|error|worker-4|master"], {
    "describe.log": "Name:         bert-worker-4\nStatus:       Failed\nContainers:\n  pytorch:\n    State:          Terminated\n"
                    "      Reason:       Error\n      Exit Code:    1\n      Started:      Sat, 14 Mar 2026 10:20:11 +0000\n"
                    "      Finished:     Sat, 14 Mar 2026 10:22:40 +0000"}, may=[4])

dead("h_k8s_deadline", "scheduler", [], ["deadline|time"], {
    "events.log": "2026-03-14T12:00:02Z  Warning  DeadlineExceeded  job/pretrain-7b  Job was active longer than specified "
                  "deadline\n2026-03-14T12:00:02Z  Normal   SuccessfulDelete  job/pretrain-7b  Deleted pod: pretrain-7b-x1"})

dead("h_k8s_image_pull", "host|application_error|scheduler|unknown|network", [], ["image|pull"], {
    "events.log": "2026-03-14T10:00:02Z  Warning  Failed   pod/sft-0  Failed to pull image \"registry.local/ml/train:v9\": rpc "
                  "error: code = NotFound desc = failed to resolve reference\n2026-03-14T10:00:12Z  Warning  Failed   pod/sft-0 "
                  " Error: ImagePullBackOff"})

dead("h_spot_reclaimed", "scheduler", [], ["spot|preempt|interrupt|reclaim"], log(
    plain(1, 60) + "\n2026-03-14T10:04:05Z Spot instance interruption notice received: action=terminate "
    "time=2026-03-14T10:06:05Z instance=i-0ab12\n2026-03-14 10:04:09 WARNING draining, no checkpoint hook is set"))

dead("h_gce_maintenance", "host|scheduler", [], ["maintenance|terminate|host"], {
    "serial.log": "Mar 14 10:04:05 gke-a3-2 google_guest_agent[812]: Maintenance event received: TERMINATE_ON_HOST_MAINTENANCE\n"
                  "Mar 14 10:05:05 gke-a3-2 systemd[1]: Stopping kubelet.service\nMar 14 10:05:09 gke-a3-2 kernel: reboot: Power "
                  "down"})

dead("h_host_kernel_panic", "host", [], ["panic|machine check|MCE|CPU", "n40|mce|fatal|hardware"], {
    "n40-console.log": "[88120.110001] mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400\n"
                       "[88120.110055] Kernel panic - not syncing: Fatal machine check\n[88120.110099] Kernel Offset: 0x2e000000"})

dead("h_host_soft_lockup", "host", [], ["lockup|stuck", "n41|CPU#?12"], {
    "n41.log": "Mar 14 10:05:09 n41 kernel: watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [python:8811]\n"
               "Mar 14 10:05:37 n41 kernel: watchdog: BUG: soft lockup - CPU#12 stuck for 52s! [python:8811]\n"
               "Mar 14 10:06:05 n41 kernel: rcu: INFO: rcu_sched self-detected stall on CPU"})

dead("h_ray_node_died", "host|peer_died|network|unknown", [], ["node|raylet|10.0.7.3|died|missed"], log(
    "(Trainer pid=99) step:40 loss:2.1\n"
    "[2026-03-14 10:57:19,206 W 11 11 (gcs_server)] gcs_health_check_manager.cc:108: Health check failed for node 77ab, remaining "
    "checks 0, status 4\n(raylet) The node with node id: 77ab and address: 10.0.7.3 and node name: 10.0.7.3 has been marked dead "
    "because the detector has missed too many heartbeats from it. This can happen when a \t(1) raylet crashes unexpectedly (OOM, "
    "etc.) \n\t(2) raylet has lagging heartbeats due to slow network or busy workload.\n" +
    tb("ray.exceptions.NodeDiedError: The node 10.0.7.3 died", "/srv/v/main.py:7:<module>:ray.get(x)")))

dead("h_ray_task_error", "application_error", [], ["ValueError|reward", "negative|reward"], log(
    tb("ray.exceptions.RayTaskError(ValueError): \x1b[36mray::WorkerDict.update_actor()\x1b[39m (pid=88, ip=10.0.7.3, "
       "actor_id=77, repr=<WorkerDict object>)\n  File \"/srv/v/actor.py\", line 91, in update_policy\n    raise ValueError(f'reward "
       "std is negative: {s}')\nValueError: reward std is negative: -0.25", "/srv/v/main.py:7:<module>:ray.get(x)")), may=[0])

dead("h_elastic_exit_code_only", "unknown|application_error", [5], ["rank 5", "42|exit"], log(
    plain(1, 9), elastic([(5, 1, 42, 901)], host="w2", stop=(900,))))

dead("h_elastic_two_nodes_sigabrt_victims", "application_error", [9], ["rank 9", "SIGSEGV|signal 11|segmentation"], {
    "node0.log": log(plain(1, 9), watchdog(0, 77), elastic([(0, 0, -6, 10), (1, 1, -6, 11)], host="w0",
                                                         when="2026-03-14_10:12:40")),
    "node1.log": log(elastic([(9, 1, -11, 91)], host="w1", stop=(90, 92), when="2026-03-14_10:05:31"))}, merge="class")

# ---- programs ----
dead("h_app_unlabeled_console_two_ranks", "application_error", [], ["TypeError", "NoneType|subscriptable"], log(
    hf(10, 20),
    {"a": tb("TypeError: 'NoneType' object is not subscriptable", MAIN, "/srv/a/c.py:5:collate:n = b['len'][0]"),
     "b": tb("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:4411",
             MAIN, "/srv/a/t.py:9:step:dist.all_reduce(g)")}), may=[0, 1])

dead("h_app_exception_group", "application_error", [0], ["rank 0", "ExceptionGroup|TimeoutError|fetch"], log(
    {"r0": "  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/a/p.py\", line 4, in <module>\n  |     "
           "asyncio.run(main())\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 "
           "----------------\n    | Traceback (most recent call last):\n    |   File \"/srv/a/p.py\", line 2, in fetch\n    |     "
           "raise TimeoutError('fetch of shard 9 took 30 s')\n    | TimeoutError: fetch of shard 9 took 30 s\n    "
           "+------------------------------------"}, prefix="rank"))

dead("h_app_pickle_tail", "application_error", [1], ["rank 1", "UnicodeDecodeError|utf-8|codec"], log(
    plain(1, 9),
    {"r1": tb("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x93 in position 11: invalid start byte", MAIN, LOOP,
              "/srv/a/text.py:4:read:return open(p).read()", rank=1)}))

dead("h_app_logger_critical", "application_error|unknown", [], ["tokenizer|vocab|50257"], log(
    plain(1, 3) + "\n2026-03-14 10:00:20,100 CRITICAL trainer.guard: vocab of tokenizer (50257) does not fit embedding (50304), "
    "stopping"), may=[0])

dead("h_app_glog_check", "application_error|unknown", [], ["Check failed|shards", "reader|12|size"], log(
    plain(1, 3) + "\nF0314 10:00:20.100000  881 reader.cc:88] Check failed: offset + n <= size (4096 vs. 4090) \n*** Check failure "
    "stack trace: ***\n    @     0x7f01c2  google::LogMessage::Fail()"))

dead("h_app_rust_panic", "application_error|unknown", [], ["panick|index out of bounds|unwrap", "tokenizers|rs|thread"], log(
    plain(1, 3) + "\nthread '<unnamed>' panicked at src/tokenizer/mod.rs:512:41:\nindex out of bounds: the len is 128 but the index is "
    "128\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"))

dead("h_app_julia_go_generic", "application_error|unknown", [], ["nil pointer|panic|SIGSEGV"], log(
    plain(1, 3) + "\npanic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation "
    "code=0x1 addr=0x18 pc=0x6f1a2b]\n\ngoroutine 41 [running]:\nmain.(*Feeder).next(0x0)\n\t/srv/feeder/main.go:88 +0x1b"))

dead("h_app_asan_like_glibc", "application_error|unknown", [3], ["rank 3", "free|corrupt|glibc|SIGABRT|abort"], log(
    plain(1, 3), {"r3": "double free or corruption (!prev)"}, elastic([(3, 3, -6, 33)], stop=(30, 31, 32)), prefix="default"))

dead("h_app_faulthandler", "application_error", [2], ["rank 2", "segmentation|SIGSEGV|fatal"], log(
    plain(1, 3), {"r2": "Fatal Python error: Segmentation fault\n\nThread 0x00007f12 (most recent call first):\n  File "
                        "\"/opt/conda/lib/python3.11/threading.py\", line 327 in wait\n\nCurrent thread 0x00007f13 (most recent call "
                        "first):\n  File \"/srv/a/ext.py\", line 12 in pack"}, elastic([(2, 2, -11, 33)]), prefix="rank"))

dead("h_ds_zero_inference_oom_cpu", "host", [0, 1], ["memory|allocat", "rank|ranks"], log(
    "[2026-03-14 10:00:01,100] [INFO] [utils.py:781:see_memory_usage] Before creating fp32 partitions\n"
    "[2026-03-14 10:00:01,102] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 940.1 GB, percent = 93.1%",
    {f"r{r}": tb("RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
                 "to allocate 28991029248 bytes. Error code 12 (Cannot allocate memory)", MAIN,
                 "/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py:711:_create_fp32_partitions:"
                 "weights.float()", rank=r) for r in (0, 1)}))

dead("h_ds_launcher_kill", "application_error|unknown", [], ["exit|return code|code 2|FileNotFound|ds_config"], log(
    tb("FileNotFoundError: [Errno 2] No such file or directory: 'ds_config_z3.json'", "/srv/a/t.py:9:<module>:main()") +
    "\n[2026-03-14 10:00:31,512] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 2210\n"
    "[2026-03-14 10:00:31,513] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 2211\n"
    "[2026-03-14 10:00:31,514] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 't.py', '--local_rank=1'] exits "
    "with return code = 1"), may=[0, 1])

dead("h_megatron_ckpt_missing_key", "application_error", [0], ["rank 0", "KeyError|RuntimeError|Missing|state_dict", "decoder|layers"], log(
    "loading distributed checkpoint from /ckpt at iteration 4000",
    {"r0": tb("RuntimeError: Error(s) in loading state_dict for GPTModel:\n\tMissing key(s) in state_dict: "
              "\"decoder.layers.0.self_attention.linear_qkv.layer_norm_weight\". ", MAIN,
              "/opt/megatron/megatron/training/checkpointing.py:1101:load_checkpoint:ddp_model[0].load_state_dict(sd)", rank=0)}))

dead("h_lightning_misconfiguration", "application_error", [], ["MisconfigurationException|devices|GPU", "8|4"], log(
    tb("lightning.fabric.utilities.exceptions.MisconfigurationException: You requested gpu: [0, 1, 2, 3, 4, 5, 6, 7]\n But your "
       "machine only has: [0, 1, 2, 3]", "/srv/a/t.py:9:<module>:main()",
       "/opt/conda/lib/python3.11/site-packages/lightning/fabric/utilities/device_parser.py:145:_sanitize_gpu_ids:raise "
       "MisconfigurationException(")), may=[0])

dead("h_jax_collective_stuck", "unknown|communication_stall|cpu_stall|peer_died", [], ["stuck|rendezvous|wait|join|terminat"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n"
    "E0314 10:04:38.568412 1234 rendezvous.cc:96] This thread has been waiting for `initialize clique for rank 3; "
    "clique=devices=[0,1,2,3]` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous, but not all of them "
    "arrived on time.\nF0314 10:04:58.568412 1234 rendezvous.cc:127] Termination timeout for `initialize clique for rank 3; "
    "clique=devices=[0,1,2,3]` of 40 seconds exceeded. Exiting to ensure a consistent program state. Expected 4 threads to join the "
    "rendezvous, but only 3 of them arrived on time."), may=[3])

dead("h_jax_leader_gone", "peer_died|network", [0], ["leader|task:?0|rank 0|coordinat|process 0"], log(
    {"r2": "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n"
           "E0314 10:04:38.594192 1044 coordination_service_agent.cc:332] Polled an error from coordination service (this can be an "
           "error from this or another task).\nF0314 10:04:38.594200 1044 client.h:77] Terminating process because the JAX distributed "
           "service detected fatal errors. absl::Status: UNAVAILABLE: Failed to send RPC to coordination service. Either the leader "
           "task was preempted/died/restarted unexpectedly or this task is experiencing network issues."}), may=[0])

dead("h_jax_megascale", "network|peer_died|unknown|communication_stall|cpu_stall", [], ["megascale|MegaScale|slice|DCN"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n"
    "E0314 10:04:38.100000 991 megascale_debugger.cc:217] MegaScale hang detected: host 12 of slice 1 made no progress for 300s in "
    "launch id 881; waiting for data from slice 0\nF0314 10:05:38.100000 991 megascale_error_reporter.cc:88] Megascale fatal: "
    "DEADLINE_EXCEEDED: transfer timed out over DCN, peer slice 0 host 4"))

dead("h_tpu_halted", "gpu_hardware|driver_firmware|unknown|application_error|cuda_error", [], ["TPU|core|halt|INTERNAL"], log(
    tb("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Core halted unexpectedly: INTERNAL: Accelerator device halted prematurely, "
       "perhaps due to an on-device check-failure. Node 0 halted unexpectedly at tag:pc TensorCoreSequencer:1:0x1fb4",
       "/srv/m/train.py:12:<module>:app.run(main)")), may=[0])

dead("h_nan_megatron_rows", "numerical_divergence", [], ["nan"], log(
    megatron(10, 40) + "\n" + "\n".join(
        f" [{at(10, 8, i * 12)}] iteration {41 + i:8d}/   50000 | consumed samples: {(41 + i) * 512:12d} | elapsed time per iteration "
        "(ms): 12001.1 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: NAN | loss scale: 1.0 | grad norm: nan | "
        "number of skipped iterations:   0 | number of nan iterations:   1 |" for i in range(5))))

dead("h_nan_hf_zero_loss", "numerical_divergence", [], ["nan|0\\.0|zero"], log(
    hf(10, 100) + "\n" + "\n".join(f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.0e-05, 'epoch': {.05 + i * .01:.2f}}}"
                                   for i in range(6))))

dead("h_inf_first_step_zero", "numerical_divergence", [], ["inf|nan", "step 0|\\b0\\b|first"], log(
    "2026-03-14 10:00:00 INFO step 0 loss inf grad_norm inf\n2026-03-14 10:00:04 INFO step 1 loss nan grad_norm nan"))

dead("h_nan_guard_raises", "numerical_divergence|application_error", [3], ["rank 3", "nan|non-finite|finite"], log(
    plain(1, 44),
    {"r3": tb("ValueError: non-finite gradient norm (nan) at step 45, stopping", MAIN, STEP, "/srv/a/guard.py:9:check:raise "
              "ValueError(m)", rank=3)}))

dead("h_diverged_slowly", "numerical_divergence", [], ["loss|diverg|rise|rose"], log(
    plain(1, 80, fall=.015) + "\n" + "\n".join(
        f"{at(10, 6, i * 4)} INFO step {81 + i} loss {1.8 + i * .35:.4f} lr 3.00e-04 grad_norm {1 + i * .8:.3f} 4.0 s/it" for i in
        range(30))))
