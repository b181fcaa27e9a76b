# SPDX-License-Identifier: Apache-2.0
"""A seventh part: expert-parallel kernels, compilers, containers, other schedulers and runtimes, programs' own
words that no table names; its truth was written before any verdict was seen."""
from case import dead, healthy, log
from forms import *

A, U = "application_error", "unknown"


def talos(node, stamp, text, level="warning"):
    return f"{node}: kern: {level:>7s}: [{stamp}Z]: {text}"


def lab(r, text):
    return "\n".join(f"[rank{r}]: {line}" for line in text.split("\n"))


# ---- expert parallelism, compilers, kernels --------------------------------------------------------
dead("g_deepep_dispatch_timeout", f"{A}|communication_stall|network|{U}", [], ["DeepEP", "timeout|dispatch"], log(plain(1, 2), {
    f"r{r}": tb("RuntimeError: DeepEP error: timeout (dispatch CPU)", MAIN, STEP,
                "/opt/conda/lib/python3.12/site-packages/deep_ep/buffer.py:490:internode_dispatch:self.runtime.internode_dispatch(", rank=r) for r in (8, 11)}), may=[8, 11])
dead("g_deepep_assert", f"{A}|cuda_error", [3], ["rank 3", "internode.cu|Assertion|num_max"], log(plain(1, 2), {
    "r3": tb("RuntimeError: Failed: Assertion error /srv/deepep/csrc/kernels/internode.cu:1713 'num_max_nvl_chunked_recv_tokens / num_rdma_ranks > num_max_rdma_chunked_send_tokens'", MAIN, STEP, rank=3)}))
dead("g_triton_out_of_resources", f"{A}|cuda_error", [0], ["rank 0", "shared memory|OutOfResources"], log(plain(1, 1), {
    "r0": tb("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.", MAIN, STEP, rank=0)}),
    never=["/dev/shm"])
dead("g_inductor_subprocess", f"{A}|{U}|host", [5], ["rank 5", "compilation|subprocess"], log(plain(1, 1), {
    "r5": tb("torch._inductor.exc.InductorError: RuntimeError: A compilation subprocess exited unexpectedly. This is likely due to a crash. To facilitate debugging, you can re-run "
             "with TORCHINDUCTOR_COMPILE_THREADS=1 to cause compilation to occur in the main process.", MAIN, STEP, rank=5)}))
dead("g_closed_pool", A, [2], ["rank 2", "closed pool"], log(titan(1, 1, rank=2), {
    "r2": tb("RuntimeError: Attempting to use a closed pool", MAIN, "/srv/t/mask.py:31:block_mask:return _compiled_create_block_mask(", rank=2)}))
dead("g_ptxas_failed", f"{A}|cuda_error", [1], ["rank 1", "ptxas|PTX"], log(plain(1, 1), {
    "r1": tb("RuntimeError: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'", MAIN, STEP, rank=1)}))
dead("g_no_kernel_image", f"cuda_error|{A}|driver_firmware", [0], ["rank 0", "no kernel image"], log({"r0": tb(cuda("no kernel image is available for execution on the device"), MAIN, rank=0)}))
dead("g_cublas_not_supported", f"{A}|cuda_error", [6], ["rank 6", "CUBLAS"], log(plain(1, 4), {
    "r6": tb("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)`", MAIN, STEP, rank=6)}))
dead("g_cudnn_workspace", f"{A}|cuda_error|cuda_oom", [4], ["rank 4", "cuDNN|CUDNN"], log(plain(1, 4), {
    "r4": tb("RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", MAIN, STEP, rank=4)}))
dead("g_flash_head_dim", A, [], ["head dimension"], log(plain(1, 1), {
    f"r{r}": tb("RuntimeError: FlashAttention forward only supports head dimension at most 256", MAIN, STEP, rank=r) for r in range(3)}), may=[0, 1, 2])
dead("g_fp8_amax_assert", f"{A}|numerical_divergence", [7], ["rank 7", "amax"], log(megatron(1, 12), {
    "r7": tb("AssertionError: amax of fc1 is zero for 32 steps: the layer is dead", MAIN, STEP, "/srv/m/fp8.py:77:check:assert amax > 0", rank=7)}))

# ---- containers, launchers, schedulers -------------------------------------------------------------
dead("g_pyxis_import", f"{A}|scheduler|host", [], ["pyxis|import|image"], log(
    "pyxis: importing docker image: registry.corp/llm:24.09\nslurmstepd: error: pyxis: child 10028 failed with error code: 1\nslurmstepd: error: pyxis: failed to import docker image\n"
    "slurmstepd: error: pyxis: printing enroot log file:\nslurmstepd: error: pyxis:     [INFO] Authenticating with user: <anonymous>\nslurmstepd: error: pyxis:     [ERROR] URL "
    "https://registry.corp/v2/llm/manifests/24.09 returned error code: 401 Unauthorized\nslurmstepd: error: pyxis: couldn't start container\nslurmstepd: error: spank: required plugin "
    "spank_pyxis.so: task_init() failed with rc=-1\nslurmstepd: error: Failed to invoke spank plugin stack\nsrun: error: compute-0: task 0: Exited with exit code 1"), may=[0])
dead("g_pyxis_squashfs_full", f"host|{A}|scheduler", [], ["space"], log(
    "pyxis: importing docker image ...\nslurmstepd: error: pyxis: child 52574 failed with error code: 1\nslurmstepd: error: pyxis: failed to import docker image\nslurmstepd: error: pyxis: printing "
    "contents of log file ...\nslurmstepd: error: pyxis:     [INFO] Creating squashfs filesystem...\nslurmstepd: error: pyxis:     Write failed because No space left on device\nslurmstepd: error: pyxis:"
    "     FATAL ERROR:Failed to write to output filesystem\nsrun: error: gx-7: task 0: Exited with exit code 1"), may=[0])
dead("g_enroot_mount_denied", f"{A}|host|scheduler", [], ["mount|Permission denied"], log(
    "slurmstepd: error: pyxis: container start failed with error code: 1\nslurmstepd: error: pyxis: printing enroot log file:\nslurmstepd: error: pyxis:     enroot-mount: failed to mount: /home/w/coco at "
    "/tmp/enroot-data/user-0/pyxis_det/data: Permission denied\nslurmstepd: error: pyxis: couldn't start container\nsrun: error: node0: task 0: Exited with exit code 1"), may=[0])
dead("g_apptainer_fatal", f"{A}|host|scheduler", [], ["image|sif|container"], log(
    "INFO:    Converting SIF file to temporary sandbox...\nFATAL:   container creation failed: mount hook function failure: mount /proc/self/fd/3->/var/lib/apptainer/mnt/session/rootfs error: can't mount "
    "image /proc/self/fd/3: kernel reported a bad superblock for squashfs image partition"))
dead("g_mpi_publickey", f"{A}|network|scheduler|host|{U}", [], ["publickey|authentic|worker-1|daemon"], log(
    "Warning: Permanently added 'llm-worker-1.llm-worker' to the list of known hosts.\nroot@llm-worker-1.llm-worker: Permission denied (publickey,password).\n" + "-" * 74 +
    "\nAn ORTE daemon has unexpectedly failed after launch and before\ncommunicating back to mpirun. This could be caused by a number\nof factors, including an inability to create a connection back\n" + "-" * 74))
dead("g_condor_held", "host|scheduler", [], ["memory"], log(
    plain(1, 30) + "\n012 (7731.000.000) 2026-03-14 10:03:01 Job was held.\n\tError from slot1_7@gpu2002: Docker job has gone over memory limit of 1024 Mb\n\tCode 34 Subcode 0"))
dead("g_moab_mem", "host|scheduler", [], ["mem"], log(
    plain(1, 30) + "\nPBS Job Id: 3132467.fe1\nExec host:  gpu-1-4/0\njob deleted\nJob deleted at request of root@fe1\njob 3132467 exceeded MEM usage hard limit (252800 > 112600)"))
dead("g_slurm_job_mem_limit", "host", [], ["memory"], log(
    plain(1, 30) + "\nslurmstepd: error: Job 7518 exceeded memory limit (626359956 > 512000000), being killed\nslurmstepd: error: Exceeded job memory limit\nslurmstepd: error: *** JOB 7518 ON xa-2 "
    "CANCELLED AT 2026-03-14T10:11:35 ***"))
dead("g_nomad_oom", "host", [], ["memory|OOM"], log(
    plain(1, 30) + "\n2026-03-14T10:03:01Z  Terminated  Exit Code: 137, Exit Message: \"OOM Killed\"\n2026-03-14T10:03:01Z  Not Restarting  Policy allows no restarts"))
dead("g_mpijob_timeout", "scheduler", [], ["DeadlineExceeded|deadline|active"], {"events.log":
    "2026-03-14T09:50:02Z  Normal   MPIJobRunning  mpijob/llm  MPIJob llm is running\n2026-03-14T13:50:02Z  Warning  DeadlineExceeded  job/llm-launcher  Job was active longer than specified deadline"})
dead("g_k8s_oom_describe", "host", [], ["llm-7", "memory|OOM"], {"describe.txt":
    "Name:             llm-7\nNamespace:        train\nNode:             gke-a-3/10.0.0.3\nContainers:\n  trainer:\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
    "      Started:      Sat, 14 Mar 2026 09:50:02 +0000\n      Finished:     Sat, 14 Mar 2026 10:03:11 +0000\n    Ready:          False\n    Restart Count:  0\n"}, may=[7])
dead("g_skypilot_exit", f"{A}|{U}", [], ["KeyError|max_seq_len"], log(
    "(worker2, rank=2, pid=3911, ip=10.8.0.4) step 40 loss 2.11\n(worker2, rank=2, pid=3911, ip=10.8.0.4) Traceback (most recent call last):\n(worker2, rank=2, pid=3911, ip=10.8.0.4)   File "
    "\"/root/sky_workdir/train.py\", line 61, in <module>\n(worker2, rank=2, pid=3911, ip=10.8.0.4)     n = cfg['max_seq_len']\n(worker2, rank=2, pid=3911, ip=10.8.0.4) KeyError: 'max_seq_len'\nERROR: "
    "Job 4's setup or run failed with return code list: [0, 0, 1]"), may=[2])
dead("g_flux_job_exception", "scheduler|host|" + U, [], ["exception|node|timelimit|time"], log(
    plain(1, 30) + "\n3600.104s: job.exception type=timeout severity=0 resource allocation expired\nflux-job: task(s) exited with exit code 143"))
dead("g_docker_no_gpu", f"driver_firmware|{A}|host", [], ["nvidia|GPU|driver"], log(
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'))

# ---- kernels of machines ---------------------------------------------------------------------------
dead("g_talos_xid", "gpu_hardware", [], ["0000:4c:00", "79|fell off|fallen"], {"talos.log":
    talos("10.1.1.2", "2026-03-14T10:02:59.108125566", "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver", "info") + "\n" +
    talos("10.1.1.2", "2026-03-14T10:03:11.108125566", "NVRM: Xid (PCI:0000:4c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")})
dead("g_talos_oom", "host", [], ["memory", "9120|python3"], {"talos.log":
    talos("node-b", "2026-03-14T10:03:11.108125566", "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985") + "\n" +
    talos("node-b", "2026-03-14T10:03:11.208125566", "Memory cgroup out of memory: Killed process 9120 (python3) total-vm:91234512kB, anon-rss:512345678kB, file-rss:8124kB, shmem-rss:0kB, UID:1000", "err")})
dead("g_gpu_slot_link_down", "gpu_hardware|host", [], ["PCIe|bus|link|0000:17:00|fell"], {"kern.log":
    "Mar 14 10:03:10 gx-3 kernel: pcieport 0000:16:01.0: pciehp: Slot(3): Link Down\nMar 14 10:03:10 gx-3 kernel: pcieport 0000:16:01.0: pciehp: Slot(3): Card not present\n"
    "Mar 14 10:03:11 gx-3 kernel: NVRM: GPU at PCI:0000:17:00: GPU-11ab\nMar 14 10:03:11 gx-3 kernel: NVRM: Xid (PCI:0000:17:00): 79, pid=4410, name=python3, GPU has fallen off the bus."})
dead("g_rcu_stall", "host", [], ["stall|CPU|lockup", "n17"], {"kern.log":
    "Mar 14 10:03:10 n17 kernel: rcu: INFO: rcu_sched self-detected stall on CPU\nMar 14 10:03:10 n17 kernel: rcu: \t12-....: (14999 ticks this GP) idle=9ea/1/0x4000 softirq=81\n"
    "Mar 14 10:03:40 n17 kernel: watchdog: BUG: soft lockup - CPU#12 stuck for 52s! [python3:4410]\nMar 14 10:04:10 n17 kernel: Kernel panic - not syncing: softlockup: hung tasks"})
dead("g_nvme_reset", "host", [], ["nvme0|I/O|disk|file system"], {"kern.log":
    "Mar 14 10:03:10 n2 kernel: nvme nvme0: I/O 81 QID 4 timeout, aborting\nMar 14 10:03:40 n2 kernel: nvme nvme0: I/O 81 QID 4 timeout, reset controller\nMar 14 10:04:41 n2 kernel: nvme nvme0: Device not "
    "ready; aborting reset, CSTS=0x1\nMar 14 10:04:41 n2 kernel: Buffer I/O error on dev nvme0n1, logical block 88123, lost async page write"}, may=[2])
dead("g_lustre_evicted", "host|network", [], ["Lustre|lustre|evict|OST|MDT"], {"kern.log":
    "Mar 14 10:03:10 c12 kernel: LustreError: 167-0: scratch-MDT0000-mdc-ffff8f: This client was evicted by scratch-MDT0000; in progress operations using this service will fail.",
    "train.log": log(plain(1, 40) + "\n" + tb("OSError: [Errno 5] Input/output error: '/scratch/ckpt/iter_40/mp_06.pt'", MAIN, rank=6))}, may=[6])
dead("g_xe_reset", "gpu_hardware|cuda_error|driver_firmware", [], ["reset|xe|2b:00", "0000:2b:00"], {"dmesg.txt":
    "[Tue Aug  4 20:51:21 2026] xe 0000:2b:00.0: [drm] Tile0: GT0: Timedout job: seqno=1484958, lrc_seqno=1484958, guc_id=0, flags=0x73 in no process [-1]\n[Tue Aug  4 20:51:21 2026] xe 0000:2b:00.0: [drm] "
    "Tile0: GT0: trying reset from guc_exec_queue_timedout_job [xe]\n[Tue Aug  4 20:51:21 2026] xe 0000:2b:00.0: [drm] Tile0: GT0: reset done"})
dead("g_hw_exception_by_gpu", "gpu_hardware|cuda_error|driver_firmware", [], ["node-5|GPU", "[Hh]ang|HW Exception"], log(
    plain(1, 30) + "\nHW Exception by GPU node-5 (Agent handle: 0x55f0c0) reason :GPU Hang\nAborted (core dumped)"))
dead("g_ipmi_power", "host", [], ["power|PSU|Power"], {"sel.log":
    "1 | 03/14/2026 | 10:03:10 | Power Supply #0x51 | Failure detected | Asserted\n2 | 03/14/2026 | 10:03:11 | System Event #0x10 | Power off / down | Asserted",
    "train.log": log(plain(1, 40))})

# ---- ranks and places ------------------------------------------------------------------------------
dead("g_rank_file_names", A, [6], ["rank 6", "IndexError"], {**{f"r{r}.log": log(plain(1, 9)) for r in (0, 1, 5)},
    "r6.log": log(plain(1, 9) + "\n" + tb("IndexError: index 32064 is out of bounds for dimension 0 with size 32000", MAIN, STEP))}, merge="class")
dead("g_rank_dirs", "cuda_oom", [3], ["rank 3", "memory"], {**{f"logs/rank_{r}/stderr.log": log(plain(1, 9)) for r in (0, 1, 2)},
    "logs/rank_3/stderr.log": log(plain(1, 9) + "\n" + tb(oom(3), MAIN, STEP))}, merge="class")
dead("g_nccl_versions_differ", f"{A}|driver_firmware|network", [], ["version", "2.18|2.21|NCCL"], {
    "n0.log": log(nccl("n0", 40, 0, "NCCL version 2.18.3+cuda12.1", sev="INFO") + "\n" + nccl("n0", 40, 0, "Bootstrap : Using eth0", sev="INFO")),
    "n1.log": log(nccl("n1", 41, 0, "NCCL version 2.21.5+cuda12.4", sev="INFO") + "\n" + nccl("n1", 41, 0, "Message truncated : received 256 bytes instead of 64", src="misc/socket.cc:45") + "\n" + tb(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, internal error - please report this issue to the NCCL developers, NCCL version 2.21.5", MAIN))})
dead("g_success_then_term", f"{A}|{U}|host", [], ["upload|503|S3|bucket"], log(
    plain(1, 60) + "\n2026-03-14 10:05:00 INFO all epochs done, pushing the artifacts\n2026-03-14 10:09:00 ERROR pushing the artifacts to s3://m/llm failed: 503 Slow Down, giving up\n"
    "2026-03-14 10:09:01 INFO received SIGTERM, leaving"))
dead("g_rank_in_msg_only", f"{A}|{U}|host|cpu_stall", [12], ["rank 12|12", "checkpoint|shard"], log(
    plain(1, 40) + "\n2026-03-14 10:03:31 ERROR checkpoint coordinator: rank 12 has not confirmed its shard within 900 s, aborting the run"))
dead("g_local_rank_only", "cuda_error|" + A, [], ["assert|device-side"], log(
    "[default2]:" + "\n[default2]:".join(tb(cuda("device-side assert triggered"), MAIN, STEP).split("\n"))), may=[2])
dead("g_sysexit_reason", f"{A}|{U}", [4], ["rank 4", "budget|token"], log(plain(1, 20), {
    "r4": "[rank4]: token budget of 2.0e12 is used up on this shard, wrong split of the data",
    "agent": elastic([(4, 4, 1, 9001)])}))

# ---- the programs' own words, named in no table ----------------------------------------------------
OWN = [
    ("g_own_lease", "ERROR shardsvc: lost the lease on shard 0x1f to another writer, refusing to go on", "lease"),
    ("g_own_quorum", "CRITICAL replica manager: quorum of 3 not reached (1 of 4 replicas alive), exiting", "quorum"),
    ("g_own_config_hash", "FATAL config hash 7af1 differs from the hash 9bd0 in the checkpoint, refusing to resume", "hash"),
    ("g_own_watch", "FATAL health monitor: step time above 900 s for 5 steps, ending the job", "step time|health"),
    ("g_own_vocab", "ERROR tokenizer server gave 503 for 20 min, out of retries", "tokenizer|503|retries"),
    ("g_own_clock", "FATAL clock of this host is 412 s off the coordinator's, leaving", "clock"),
    ("g_own_seed", "CRITICAL data order differs between replicas 3 and 5 at sample 88121, stop", "data order|replica"),
    ("g_own_disk_watch", "FATAL scratch guard: 2 % left on /nvme, will not write a checkpoint that cannot fit", "scratch|nvme|left"),
]
for i, (name, line, word) in enumerate(OWN):
    dead(name, f"{U}|{A}|host|scheduler|network|uneven_work", [], [word], log(plain(1, 30 + i) + f"\n2026-03-14 10:04:{i:02d} {line}"), may=[3, 5])
dead("g_own_plain_last", f"{U}|{A}|host", [], ["vault|token|expired"], log(plain(1, 30) + "\nvault: token expired, cannot read the data key; terminating"))
dead("g_own_cpp_exception", A, [], ["shard_reader|bad magic|runtime_error"], log(
    plain(1, 30) + "\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  shard_reader: bad magic 0xdead in block 17\nAborted (core dumped)"))
dead("g_own_java", f"{A}|host", [], ["IllegalStateException|feature|feed"], log(
    plain(1, 30) + '\nException in thread "feeder-4" java.lang.IllegalStateException: feature store closed while 12 readers wait\n\tat com.corp.feed.Reader.next(Reader.java:41)\n\tat com.corp.feed.Main.main(Main.java:9)'))
dead("g_own_node_js", f"{A}|{U}", [], ["TypeError|undefined"], log(
    plain(1, 30) + "\n/srv/orch/index.js:41\n    job.state.next();\n              ^\n\nTypeError: Cannot read properties of undefined (reading 'next')\n    at tick (/srv/orch/index.js:41:15)"))
dead("g_own_rust_error", f"{A}|{U}", [], ["manifest|missing"], log(plain(1, 30) + "\nError: manifest of epoch 4 names a missing shard: s3://d/e4/00031.tar\n\nCaused by:\n    HTTP status 404"))
dead("g_own_slog", f"{U}|{A}|host", [], ["prefetch|stuck|deadline"], log(
    "\n".join(f'time=2026-03-14T10:00:{i:02d}Z level=INFO msg=step step={i} loss={4 - i * .01:.3f}' for i in range(1, 40)) +
    '\ntime=2026-03-14T10:04:00Z level=ERROR msg="prefetch is stuck: deadline of 180 s passed" shard=31 err="context deadline exceeded"'))
dead("g_own_py_custom", A, [9], ["rank 9", "CorruptShard", "00044"], log(plain(1, 30), {
    "r9": tb("corp.data.errors.CorruptShard: shard 00044 has 1023 of 1024 samples", MAIN, "/srv/d/reader.py:88:check:raise CorruptShard(", rank=9)}))
dead("g_own_exc_group", A, [1], ["rank 1", "ValueError|label"], log(plain(1, 30), {
    "r1": lab(1, "  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/d/async_feed.py\", line 40, in run\n  |     async with asyncio.TaskGroup() as tg:\n  | ExceptionGroup: unhandled errors in a TaskGroup "
                 "(1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/srv/d/async_feed.py\", line 22, in fetch\n    |     raise ValueError('label 51 outside of 50 classes')\n"
                 "    | ValueError: label 51 outside of 50 classes\n    +------------------------------------")}))
dead("g_own_rich_tb", A, [], ["KeyError|attention_mask"], log(plain(1, 5) + "\n" + "\n".join([
    "╭───────────────────── Traceback (most recent call last) ──────────────────────╮", "│ /srv/sd/train.py:118 in <module>                                             │",
    "│ ❱ 118 │   main()                                                             │", "│ /srv/sd/train.py:88 in main                                                  │",
    "│ ❱  88 │   mask = batch['attention_mask']                                     │", "╰──────────────────────────────────────────────────────────────────────────────╯", "KeyError: 'attention_mask'"])))
dead("g_hf_generate_oom_cpu", "host", [2], ["rank 2", "memory|alloc"], log(plain(1, 3), {
    "r2": tb("RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)", MAIN, rank=2)}))
dead("g_streaming_download", f"{A}|network|host", [0], ["rank 0", "index.json|download|s3://"], log({
    "r0": tb("RuntimeError: Failed to download s3://b/d/train/index.json -> /tmp/t/train/index.json. Got errors:\n[ClientError('Object s3://b/d/train/index.json not found! Either check the bucket path or the bucket "
             "permission.')]", MAIN, rank=0), "agent": "ERROR:composer.cli.launcher:Rank 0 crashed with exit code 1."}))
dead("g_wds_bad_tar", f"{A}|host", [3], ["rank 3", "checksum|tar"], log(plain(1, 9), {
    "r3": tb("tarfile.ReadError: ('bad checksum @ /data/d-000412.tar', <tarfile.ExFileObject name='/data/d-000412.tar'>)", MAIN, LOOP, rank=3)}))
dead("g_placement_group_exists", f"{A}|scheduler|{U}", [], ["placement group|already"], log(
    "(main_task pid=411) step 3 reward 0.12\n" + tb("ValueError: placement group name 'global_poolverl_group_4:0' already exists", "/srv/v/main.py:140:<module>:trainer.init_workers()")))
dead("g_dask_killed_worker", f"{A}|host|{U}|peer_died", [], ["KilledWorker|127.0.0.1:39055|40001|memory"], log(
    "2026-03-14 10:03:41,458 - distributed.nanny - WARNING - Worker exceeded 95% memory budget. Restarting\n2026-03-14 10:03:41,485 - distributed.nanny - WARNING - Restarting worker\n" +
    tb("distributed.scheduler.KilledWorker: Attempted to run task 'train_part-2166' on 4 different workers, but all those workers died while running it. The last worker that attempt to run the task was "
       "tcp://10.0.0.4:40001.", "/srv/x/xgb.py:40:<module>:dxgb.train(client, p, X, y)")))
dead("g_mpich_519", f"network|{A}", [519], ["519", "poll failed|Iprobe|PTLTE"], log(plain(1, 9) +
    "\nMPICH ERROR [Rank 519] [job id 947981.0] [Tue Mar 11 15:11:42 2026] [c1207] - Abort(539602063) (rank 519 in comm 0): Fatal error in PMPI_Iprobe: Other MPI error, error stack:\nPMPI_Iprobe(126)...............: "
    "MPI_Iprobe(src=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, comm=0x84000005) failed\nMPIDI_OFI_handle_cq_error(1075): OFI poll failed (ofi_events.c:1077:MPIDI_OFI_handle_cq_error:Input/output error - PTLTE_NOT_FOUND)"))
dead("g_proxy_execute_setup", f"network|host|peer_died|driver_firmware|{U}|cuda_error", [], ["rank 3|Setup|connect"], log(
    nccl("m2", 91, 2, "[Proxy Service 2] Failed to execute operation Connect from rank 3, retcode 3", src="proxy.cc:1521") + "\n" +
    tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, internal error, NCCL version 2.20.5", MAIN)), may=[3])
dead("g_heartbeat_missing_rank", f"cpu_stall|{U}|gpu_stall|communication_stall", [14], ["rank 14", "heartbeat"], log(
    plain(1, 40) + "\n2026-03-14 10:32:11,402 [ERROR] [RankMonitorServer:rank 14@gb-03] Did not get initial heartbeat from rank 14 in 3600 seconds. Terminating the rank process."))
dead("g_npu_lost_507899", "gpu_hardware|cuda_error|driver_firmware", [1], ["rank 1", "107002|507899|lost|drv|internal"], log(plain(1, 9), {
    "r1": tb("RuntimeError: ACL stream synchronize failed, error code:507899\nEZ9999: Inner Error! The device 1 is lost, rtStreamSynchronize failed", MAIN, STEP, rank=1)}))
dead("g_ib_port_flap", "network", [], ["mlx5_3|port|link"], {"kern.log":
    "Mar 14 10:03:10 gx-9 kernel: mlx5_core 0000:9a:00.0: Port module event[error]: module 0, Cable error, Bad or unsupported EEPROM\nMar 14 10:03:10 gx-9 kernel: mlx5_core 0000:9a:00.0 ens3np0: Link down",
    "train.log": log(plain(1, 40), {"r8": watchdog(8, 211)})}, may=[8])
dead("g_nan_first_loss", "numerical_divergence|" + A, [], ["nan|NaN"], log("\n".join(f"step {i} loss nan tok/s 9100{i % 7}" for i in range(1, 30))))
dead("g_loss_explodes", "numerical_divergence", [], ["loss|diverg|rise|rose"], log("\n".join(f"2026-03-14 10:{i // 60:02d}:{i % 60:02d} INFO step {i} loss {2.1 - i * .005 if i < 60 else 2 + 1.09 ** (i - 60):.4f} lr 3e-4" for i in range(1, 120))))

# ---- healthy ---------------------------------------------------------------------------------------
healthy("gk_finetune_done_sigterm", log(plain(1, 90) + "\n2026-03-14 10:20:00 INFO all epochs done, artifacts pushed\n2026-03-14 10:20:01 INFO received SIGTERM, leaving"), ordered=True)
healthy("gk_ray_worker_died_at_end", log("\n".join(f"(RayTrainWorker pid=411, ip=10.0.0.3) epoch 0 step {i} loss {2 - i * .01:.3f}" for i in range(1, 90)) + "\nTraining completed after 89 iterations."), ordered=True)
healthy("gk_nanny_restart", log("2026-03-14 10:00:41,485 - distributed.nanny - WARNING - Restarting worker\n" + plain(1, 90, m=2) + "\nfinished"), ordered=True)
healthy("gk_talos_info", {"talos.log": talos("10.1.1.2", "2026-03-14T10:02:59.108125566", "nvidia-nvlink: Nvlink Core is being initialized, major device number 511", "info"), "train.log": log(plain(1, 90))})
healthy("gk_autotune_out_of_resource", log(plain(1, 2) + "\n2026-03-14 10:00:09 WARNING autotune: config 7 skipped, out of resource: shared memory, Required: 163840, Hardware limit: 101376\n" + plain(3, 90, m=1)), ordered=True)
healthy("gk_mpich_warning", log(plain(1, 20) + "\nPE 0: MPICH WARNING: OFI is failing to make progress on posting a receive. MPICH suspects a hang due to completion queue exhaustion. OFI retry continuing...\n" + plain(21, 120, m=3)), ordered=True)
healthy("gk_same_nccl", {"n0.log": log(nccl("n0", 40, 0, "NCCL version 2.21.5+cuda12.4", sev="INFO") + "\n" + plain(1, 60)), "n1.log": log(nccl("n1", 41, 0, "NCCL version 2.21.5+cuda12.4", sev="INFO") + "\n" + plain(1, 60))})
healthy("gk_r_files", {f"r{r}.log": log(plain(1, 60)) for r in range(4)})
healthy("gk_heartbeat_late", log(plain(1, 40) + "\n2026-03-14 10:03:11,402 [WARNING] [RankMonitorServer:rank 5@gb-07] heartbeat of rank 5 is 41 s late\n" + plain(41, 120, m=4)), ordered=True)
healthy("gk_error_budget", log(plain(1, 40) + "\n2026-03-14 10:03:11 INFO error budget: 0 fatal, 2 retried, 0 lost shards\n" + plain(41, 120, m=4)), ordered=True)
