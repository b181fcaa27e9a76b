# SPDX-License-Identifier: Apache-2.0
"""Hosts and who runs the job: memory, disks, Slurm, Open MPI, Kubernetes, Ray, torchrun."""
from case import dead, log
from forms import *

dead("host_oom_kernel_and_elastic", "host", [2], ["rank 2", "memory|OOM"], {
    "train.log": log(plain(100, 106),
                     elastic([(2, 2, -9, 41882)], host="n4", stop=(41880, 41881, 41883))),
    "n4-dmesg.txt": oom_kill("551234.118822", 41882)}, merge="class")

dead("host_oom_cgroup_slurm", "host", [3], ["memory|oom", "task 3|rank 3|n5"], log(
    {"r0": plain(40, 44)},
    {"slurm": "slurmstepd: error: Detected 1 oom_kill event in StepId=7712.0. Some of the step tasks have been OOM "
              "Killed.\nsrun: error: n5: task 3: Out Of Memory\nsrun: Terminating StepId=7712.0\n"
              "slurmstepd: error: *** STEP 7712.0 ON n5 CANCELLED AT 2026-03-14T10:04:11 ***\n"
              "srun: error: n5: tasks 0-2: Terminated"}, prefix="srun"))

dead("host_sigkill_unexplained", "host|unknown|scheduler|application_error", [1], ["rank 1", "SIGKILL|killed|-9"], log(
    hf(10, 60), elastic([(1, 1, -9, 3312)], stop=(3311,))), never=["ran out of memory", "established"], may=[1])

dead("host_python_memory_error", "host", [0], ["rank 0", "memory|MemoryError", "31\\.2 GiB|allocate|array"], log(
    tb("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 31.2 GiB for an array with shape (4194304, 2000) and "
       "data type float32", MAIN, "/srv/app/data.py:33:load:x = np.zeros((n, d), dtype=np.float32)", rank=0)))

dead("host_cpu_allocator", "host", [1], ["rank 1", "allocat|memory"], log(
    plain(1, 2),
    tb("RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: can't allocate memory: you tried to "
       "allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)", MAIN,
       "/srv/app/optim.py:91:step:state['exp_avg'] = torch.zeros_like(p, device='cpu')", rank=1)))

dead("dataloader_shm_bus_error", "host", [0], ["shared memory|/dev/shm|shm", "worker|data.?loader|rank 0"], log(
    plain(1, 7),
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n" +
    tb("RuntimeError: DataLoader worker (pid 4131) is killed by signal: Bus error. It is possible that dataloader's "
       "workers are out of shared memory. Please try to raise your shared memory limit.", MAIN, LOOP,
       "/opt/conda/lib/python3.11/site-packages/torch/utils/data/_utils/signal_handling.py:73:handler:"
       "_error_if_any_worker_fails()", rank=0)), never=["failing disk"])

dead("dataloader_worker_killed", "host|application_error", [3], ["rank 3", "worker|data.?loader", "kill"], log(
    hf(10, 60),
    {"r3": tb("RuntimeError: DataLoader worker (pid(s) 9120, 9121) exited unexpectedly", MAIN, LOOP,
              "/opt/conda/lib/python3.11/site-packages/torch/utils/data/dataloader.py:1288:_try_get_data:raise "
              "RuntimeError(f'DataLoader worker (pid(s) {pids_str}) exited unexpectedly') from e", rank=3)
     .replace("exited unexpectedly\n", "exited unexpectedly\n")},
    {"kernel": oom_kill("9921.101010", 9120, "pt_data_worker")}))

dead("disk_full_checkpoint", "host", [0], ["rank 0", "No space|space|full", "/ckpt|step_4000|Errno 28"], log(
    plain(3990, 4000),
    {"r0": tb("OSError: [Errno 28] No space left on device: '/ckpt/run7/step_4000/model.pt'", MAIN,
              "/srv/app/ckpt.py:44:save:torch.save(state, path)", rank=0)}))

dead("disk_quota", "host", [0], ["rank 0", "quota"], log(
    hf(10, 60),
    {"r0": tb("OSError: [Errno 122] Disk quota exceeded: 'outputs/checkpoint-500/optimizer.pt'", MAIN,
              "/srv/lf/trainer.py:2701:_save_checkpoint:self._save_optimizer_and_scheduler(output_dir)", rank=0)}))

dead("disk_torch_inline_container", "host|application_error", [0], ["rank 0", "write|inline_container|PytorchStreamWriter"],
     log(plain(490, 500),
         {"r0": tb("RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 4194304 vs 4194196", MAIN,
                   "/srv/app/ckpt.py:44:save:torch.save(state, path)",
                   "/opt/conda/lib/python3.11/site-packages/torch/serialization.py:966:__exit__:"
                   "self.file_like.write_end_of_file()", rank=0)}))

dead("nfs_stale", "host", [7], ["rank 7", "stale|NFS|file handle"], log(
    plain(49, 55),
    {"r7": tb("OSError: [Errno 116] Stale file handle: '/nfs/data/shard_00918.tar'", MAIN, LOOP,
              "/srv/app/data.py:18:__iter__:with open(path, 'rb') as f:", rank=7)}))

dead("nfs_not_responding_hang", "host", [], ["nfs|storage|server", "10.2.0.5|filer|not responding"], {
    "messages": "Mar 14 10:01:02 n2 kernel: nfs: server 10.2.0.5 not responding, still trying\n"
                "Mar 14 10:03:11 n2 kernel: INFO: task python:8812 blocked for more than 120 seconds.\n"
                "Mar 14 10:05:12 n2 kernel: INFO: task python:8812 blocked for more than 241 seconds.",
    "train.log": log(plain(49, 55, h=10, m=0),
                     {f"r{r}": watchdog(r, 99, stamp="314 10:11:31.110236541") for r in (1, 2, 3)},
                     {"r0": heard(0, 98, 98, other=1, stamp="314 10:11:31.110236541")})}, may=[0], merge="class")

dead("slurm_time_limit", "scheduler", [], ["time limit"], log(
    megatron(900, 912, h=9, m=57),
    "slurmstepd: error: *** JOB 88120 ON hgx-3 CANCELLED AT 2026-03-14T10:00:00 DUE TO TIME LIMIT ***\n"
    "slurmstepd: error: *** STEP 88120.0 ON hgx-3 CANCELLED AT 2026-03-14T10:00:00 DUE TO TIME LIMIT ***\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."))

dead("slurm_time_limit_after_silence", "scheduler|cpu_stall|unknown|communication_stall", [], ["time limit",
     r"step|progress|iteration|silen|stop|11|hour|h\b"], log(
    megatron(900, 912, h=1, m=2),
    "slurmstepd: error: *** JOB 88121 ON hgx-3 CANCELLED AT 2026-03-14T13:00:00 DUE TO TIME LIMIT ***\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."))

dead("slurm_preempted", "scheduler", [], ["preempt"], log(
    plain(900, 912),
    "slurmstepd: error: *** JOB 1200 ON c3 CANCELLED AT 2026-03-14T10:01:00 DUE TO PREEMPTION ***\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    "srun: error: c3: tasks 0-7: Terminated"))

dead("slurm_node_failure", "host", [], ["node", "c17"], log(
    plain(900, 912),
    "srun: error: Node failure on c17\n"
    "slurmstepd: error: *** JOB 1201 ON c16 CANCELLED AT 2026-03-14T10:01:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR "
    "DETAILS ***\n"
    "srun: error: c16: tasks 0-7: Killed"), may=list(range(8, 16)), never=["rank 0"])

dead("slurm_memory_limit", "host", [], ["memory"], log(
    plain(9, 12),
    "slurmstepd: error: Job 3311 exceeded memory limit (66012344 > 65536000), being killed\n"
    "slurmstepd: error: Exceeded job memory limit\n"
    "slurmstepd: error: *** JOB 3311 ON n2 CANCELLED AT 2026-03-14T10:00:50 ***"))

dead("slurm_cancelled_by_user", "scheduler", [], ["cancel"], log(
    plain(9, 30),
    "slurmstepd: error: *** JOB 3312 ON n2 CANCELLED AT 2026-03-14T10:03:50 ***\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."))

dead("slurm_task_segfault", "application_error", [6], ["task 6|rank 6", "segmentation|SIGSEGV|signal 11"], log(
    {"r0": plain(9, 12)},
    {"slurm": "srun: error: n8: task 6: Segmentation fault (core dumped)\nsrun: Terminating StepId=41.0\n"
              "slurmstepd: error: *** STEP 41.0 ON n8 CANCELLED AT 2026-03-14T10:00:50 ***\n"
              "srun: error: n8: tasks 4-5,7: Terminated\nsrun: error: n7: tasks 0-3: Terminated"}, prefix="srun"))

dead("mpi_abort", "application_error", [5], ["rank 5", "MPI_ABORT|abort", "13|errorcode"], log(
    plain(2, 5),
    "--------------------------------------------------------------------------\n"
    "MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD\nwith errorcode 13.\n\n"
    "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
    "You may or may not see output from other processes, depending on\nexactly when Open MPI kills them.\n"
    "--------------------------------------------------------------------------"))

dead("mpi_signal_box", "application_error", [3], ["rank 3", "segmentation|signal 11", "node-c|segmentation"], log(
    plain(2, 5),
    "[node-c:22019] *** Process received signal ***\n[node-c:22019] Signal: Segmentation fault (11)\n"
    "[node-c:22019] Signal code: Address not mapped (1)\n[node-c:22019] Failing at address: (nil)\n"
    "[node-c:22019] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f6a8205b050]\n"
    "[node-c:22019] *** End of error message ***",
    "--------------------------------------------------------------------------\n"
    "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been "
    "aborted.\n--------------------------------------------------------------------------\n"
    "--------------------------------------------------------------------------\n"
    "mpirun noticed that process rank 3 with PID 22019 on node node-c exited on signal 11 (Segmentation fault).\n"
    "--------------------------------------------------------------------------"))

dead("mpi_daemon_lost", "host|network", [], ["node|daemon|ORTE|PRRTE", "c-21|lost|connection"], log(
    plain(2, 5),
    "--------------------------------------------------------------------------\n"
    "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[41213,0],0] on node c-20\n"
    "  Remote daemon: [[41213,0],1] on node c-21\n\nThis is usually due to either a failure of the TCP network\n"
    "connection to the node, or possibly an internal failure of\nthe daemon itself. We cannot recover from this failure, "
    "and\ntherefore will terminate the job.\n"
    "--------------------------------------------------------------------------"))

dead("k8s_oomkilled", "host", [], ["memory|OOM", "worker-2|137"], {
    "events.txt":
    "2026-03-14T10:20:11Z   Normal    Started     pod/llm-worker-2   Started container pytorch\n"
    "2026-03-14T11:02:40Z   Warning   OOMKilling  node/gke-a3-pool-77  Memory cgroup out of memory: Killed process 3812 "
    "(python) total-vm:191234512kB, anon-rss:131072000kB, file-rss:8124kB, shmem-rss:0kB, UID:0 pgtables:321344kB "
    "oom_score_adj:999\n"
    "2026-03-14T11:02:41Z   Warning   BackOff     pod/llm-worker-2   Back-off restarting failed container pytorch in pod "
    "llm-worker-2",
    "describe.txt":
    "Name:             llm-worker-2\nNamespace:        train\nNode:             gke-a3-pool-77/10.128.0.9\n"
    "    State:          Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n"
    "      Reason:       OOMKilled\n      Exit Code:    137\n"
    "      Started:      Sat, 14 Mar 2026 10:20:11 +0000\n      Finished:     Sat, 14 Mar 2026 11:02:40 +0000"})

dead("k8s_evicted_memory", "host|scheduler", [], ["evict", "memory"], {
    "events.log":
    "2026-03-14T10:40:02Z  Warning  Evicted  pod/trainer-0  The node was low on resource: memory. Threshold quantity: "
    "100Mi, available: 61204Ki. Container pytorch was using 190232412Ki, request is 64Gi, has larger consumption of "
    "memory.\n2026-03-14T10:40:03Z  Normal   Killing  pod/trainer-0  Stopping container pytorch"},
     never=["time limit", "ask for more time"])

dead("k8s_evicted_storage", "host|scheduler", [], ["evict", "storage"], {
    "events.log":
    "4m11s   Warning   Evicted   pod/finetune-worker-5   The node was low on resource: ephemeral-storage. Threshold "
    "quantity: 24068434671, available: 23201836Ki. Container main was using 88120336Ki, request is 0, has larger "
    "consumption of ephemeral-storage.\n4m11s   Normal    Killing   pod/finetune-worker-5   Stopping container main"})

dead("k8s_preempted", "scheduler", [], ["preempt"], {
    "events.log":
    "2026-03-14T10:40:02Z  Warning  Preempted  pod/ddp-worker-1  Preempted by pod 1b2c77aa-9a11-4b1e-93e0-1f1cbb on node "
    "a2-node-4\n2026-03-14T10:40:02Z  Normal  Killing  pod/ddp-worker-1  Stopping container pytorch"})

dead("k8s_node_not_ready", "host", [], ["node", "not ?ready", "ip-10-0-44-2"], {
    "events.log":
    "2026-03-14T10:40:02Z  Normal   NodeNotReady   node/ip-10-0-44-2.ec2.internal  Node ip-10-0-44-2.ec2.internal status "
    "is now: NodeNotReady\n2026-03-14T10:45:02Z  Normal  TaintManagerEviction  pod/ddp-worker-3  Marking for deletion Pod "
    "train/ddp-worker-3"})

dead("ray_oom_monitor", "host", [], ["memory", "10.0.3.21|ray|worker"], log(
    "(WorkerDict pid=3490) step:12 - actor/pg_loss:0.012 - critic/score/mean:0.41 - timing_s/step:61.2\n"
    "(WorkerDict pid=3490) step:13 - actor/pg_loss:0.010 - critic/score/mean:0.42 - timing_s/step:60.9\n"
    "(raylet) [2026-03-14 10:57:19,206 E 3934 3934] (raylet) node_manager.cc:3277: 1 Workers (tasks / actors) killed due "
    "to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 8289f87b78d161ae21bf72, IP: "
    "10.0.3.21) over the last time period. To see more information about the Workers killed on this node, use `ray logs "
    "raylet.out -ip 10.0.3.21`\n" +
    tb("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: "
       "10.0.3.21, ID: 8289f87b78d161ae21bf72) where the task (actor ID: f9cc340f5aef7b, name=WorkerDict.__init__, "
       "pid=3490, memory used=412.22GB) was running was 982.11GB / 1007.52GB (0.974780), which exceeds the memory usage "
       "threshold of 0.95.", "/srv/verl/main_ppo.py:101:<module>:main()",
       "/srv/verl/main_ppo.py:77:main:ray.get(runner.run.remote(cfg))")))

dead("ray_actor_died", "application_error|peer_died|unknown|host", [], ["actor|worker", "died|exit|SIGSEGV|unexpected"], log(
    "(Trainer pid=812, ip=10.0.3.9) epoch 1 step 40 loss 2.11\n" +
    tb("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: "
       "RayTrainWorker\n\tactor_id: 91b2cc77\n\tpid: 812\n\tnamespace: 1b\n\tip: 10.0.3.9\nThe actor is dead because its "
       "worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a "
       "connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL "
       "by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly "
       "due to SIGSEGV or other unexpected errors.", "/srv/app/tune.py:9:<module>:ray.get(ref)")),
     never=["ran out of memory"])

dead("torchrun_pid_names_victims", "application_error", [2], ["rank 2", "SIGSEGV|segmentation|signal 11"], log(
    plain(1, 8),
    elastic([(2, 2, -11, 7002)], host="n9", stop=(7000, 7001, 7003))))

dead("stopped_by_signal_15", "scheduler|unknown|application_error|host", [], ["15|SIGTERM|signal|stop"], log(
    plain(1, 8),
    "W0314 10:05:31.504000 4012 site-packages/torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, "
    "shutting down workers\n" + term((7000, 7001)) + "\n" +
    tb("torch.distributed.elastic.multiprocessing.api.SignalException: Process 4012 got signal: 15",
       "/opt/conda/bin/torchrun:8:<module>:sys.exit(main())")), never=[r"ranks? \d"])

dead("too_many_open_files", "host|application_error", [1], ["rank 1", "open files|Errno 24"], log(
    plain(1, 8),
    tb("OSError: [Errno 24] Too many open files: '/data/part-0091.parquet'", MAIN, LOOP,
       "/srv/app/data.py:71:_open:f = open(path, 'rb')", rank=1)))
