# SPDX-License-Identifier: Apache-2.0
"""A fifth part, of launchers, collectors and loggers that the others have few of; its truth was
written before any verdict was seen. Where both streams are of one rank, they are not woven freely:
a rank's own lines keep their order."""
import json

from case import dead, healthy, log
from forms import *

CSI = "\x1b["


def loguru(time, level, where, text, color=32):
    return (f"{CSI}32m{time}{CSI}0m | {CSI}1m{CSI}{color}m{level:8s}{CSI}0m | {CSI}36m{where}{CSI}0m - "
            f"{CSI}1m{text}{CSI}0m")


def record(seconds, level, text, **more):
    """A line of a logger that writes JSON."""
    return json.dumps(dict(asctime=at(10, 0, seconds, sep="T") + "Z", levelname=level, **more, message=text))


def structlog(seconds, level, event, **more):
    """A colored line of structlog's console renderer."""
    pairs = " ".join(f"{CSI}36m{k}{CSI}0m={CSI}35m{v}{CSI}0m" for k, v in more.items())
    return f"{CSI}2m{at(10, 0, seconds, sep='T')}Z{CSI}0m [{CSI}31m{CSI}1m{level:9s}{CSI}0m] {CSI}1m{event}{CSI}0m {pairs}"


def loki(label, lines, start=0):
    return "\n".join(f"{at(10, 0, start + i, sep='T')}.000Z {{job=\"llm\", pod=\"{label}\"}} {line}"
                     for i, line in enumerate(lines.split("\n")))


# ---- loggers and collectors ------------------------------------------------------------------------
dead("e_color_json_oom", "cuda_oom", [3], ["rank 3", "memory"], log(
    "\n".join(f"{CSI}32m" + record(i, "INFO", f"step {i} loss {4 - i * .01:.3f}", rank=0) + f"{CSI}0m" for i in range(1, 20)),
    {"r3": f"{CSI}31m" + record(21, "ERROR", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 3 has a total "
     "capacity of 79.10 GiB of which 1.03 GiB is free.", rank=3) + f"{CSI}0m"}))
dead("e_json_color_in_message", "application_error", [5], ["rank 5", "KeyError|position_ids"], log(
    "\n".join(record(i, f"{CSI}32mINFO{CSI}0m", f"{CSI}1mstep {i}{CSI}0m loss {4 - i * .01:.3f}", rank=5, host="gx-4") for i in range(1, 20)),
    {"r5": record(21, f"{CSI}31mERROR{CSI}0m", f"{CSI}31muncaught exception{CSI}0m\n" + tb("KeyError: 'position_ids'", MAIN, STEP), rank=5, host="gx-4")}))
dead("e_structlog_exception", "application_error", [2], ["rank 2", "ZeroDivisionError|division"], log(
    "\n".join(structlog(i, "info", "train_step", step=i, loss=round(3 - i * .01, 3), rank=2) for i in range(1, 30)),
    {"r2": structlog(31, "critical", "training_crashed", rank=2, host="b200-07", exc="ZeroDivisionError('float division by zero')")}), free=False)
dead("e_loguru_box", "application_error", [], ["UnicodeDecodeError|utf-8"], log(
    "\n".join(loguru(at(10, 0, i), "INFO", "train:loop:44", f"step {i} loss {2 - i * .01:.3f}") for i in range(1, 15)) + "\n" +
    loguru(at(10, 0, 17), "ERROR", "__main__:<module>:91", "An error has been caught in function '<module>', process 'MainProcess' (811)", 31) +
    "\n" + tb("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte", MAIN, "/srv/lm/jsonl.py:19:rows:for line in f:")))
dead("e_utf16_windows", "application_error|host", [], ["PermissionError|WinError 32|used by another"], {"train.log": (
    "\ufeff" + plain(1, 20) + "\nTraceback (most recent call last):\n  File \"D:\\lm\\train.py\", line 71, in <module>\n    save(model)\n"
    "PermissionError: [WinError 32] The process cannot access the file because it is being used by another process: 'D:\\\\runs\\\\ckpt.pt'\n"
).replace("\n", "\r\n").encode("utf-16-le")})
dead("e_loki_labels", "host", [], ["train-6", "No space|disk|space"], log(
    loki("train-0", plain(1, 20)), loki("train-6", tb("OSError: [Errno 28] No space left on device: '/ckpt/step_20/w_6.pt'", MAIN), 25)), may=[6])
dead("e_cloud_jsonpayload", "cuda_error", [6], ["rank 6", "illegal|CUDA"], log(
    "\n".join(json.dumps({"insertId": f"a{i}", "jsonPayload": {"message": f"step {i} loss {3 - i * .01:.2f}", "rank": 6}, "severity": "INFO",
                          "timestamp": at(10, 0, i, sep="T") + ".100Z"}) for i in range(1, 12)),
    {"r6": json.dumps({"insertId": "b1", "jsonPayload": {"message": "RuntimeError: CUDA error: an illegal memory access was encountered", "rank": 6},
                       "severity": "ERROR", "timestamp": at(10, 0, 13, sep="T") + ".100Z"})}), free=False)
dead("e_logfmt", "application_error", [1], ["rank 1", "AssertionError|dtype|bf16"], log(
    "\n".join(f'ts={at(10, 0, i, sep="T")}Z level=info rank=1 msg="step {i}" loss={3 - i * .01:.3f}' for i in range(1, 20)),
    {"r1": f'ts={at(10, 0, 22, sep="T")}Z level=error rank=1 msg="AssertionError: expected bf16 weights, found float32 in layers.3" exit=1'}), free=False)
dead("e_journal_export", "host", [], ["memory|oom|OOM", "python3|811|gx9"], {"journal.log":
    "Mar 14 10:00:09 gx9 trainer[811]: step 10 loss 2.110\nMar 14 10:00:19 gx9 trainer[811]: step 11 loss 2.104\n"
    "Mar 14 10:00:21 gx9 systemd-oomd[402]: Killed /system.slice/trainer.service due to memory used (127.4G) / total (128.0G) and swap used (8.0G) / total (8.0G) being more than 90.00%\n"
    "Mar 14 10:00:21 gx9 systemd[1]: trainer.service: Main process exited, code=killed, status=9/KILL"})

# ---- torchrun, NCCL, Gloo --------------------------------------------------------------------------
dead("e_nccl_remote_named", "peer_died|network", [], ["10.4.1.19|g19", "closed|remote|peer"], log(plain(1, 12), {
    "r0": nccl("g2", 71, 0, "Net : Call to recv from 10.4.1.19<53312> failed : Connection reset by peer", src="misc/socket.cc:59")}))
dead("e_store_dead", "peer_died|network|unknown", [], ["store|TCPStore|rank 0|g0.cluster"], log(plain(1, 12), {
    f"r{r}": f"[rank{r}]:[W314 10:01:11.110236541 TCPStore.cpp:115] [c10d] recvVector failed on SocketImpl(fd=57, addr=[g{r}]:45110, "
    "remote=[g0.cluster]:29500): failed to recv, got 0 bytes" for r in (4, 5)}), may=[0])
dead("e_gloo_mismatch", "collective_mismatch", [], ["size|bytes|length|1024|4096"], log(plain(1, 5), {
    "r1": tb("RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 4096 vs 1024", MAIN, STEP,
             rank=1)}), may=[0, 1])
dead("e_barrier_ranks_list", "cpu_stall|peer_died|unknown|uneven_work", [2, 5, 7], ["ranks? 2, ?5,? ?(and )?7", "barrier"], log(plain(1, 5), {
    "r0": tb("RuntimeError: [Rank 0]: Ranks 2, 5, 7 failed to pass monitoredBarrier in 1800000 ms", MAIN, rank=0)}))
dead("e_words_ranks_and", "cpu_stall|peer_died|unknown", [1, 6], ["ranks? 1 and 6"], log(
    plain(1, 30) + "\n2026-03-14 10:22:00 ERROR supervisor: ranks 1 and 6 have sent no heartbeat for 600 s; ending the job"))
dead("e_desync_report", "cpu_stall|collective_mismatch|uneven_work", [], ["rank 3"], log(plain(1, 5), {
    "r0": watchdog(0, 418) + "\n" + c10(0, "[Rank 0] Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint("
                                        "SequenceNumber=418, OpType=ALLREDUCE, TensorShape=[4096], TensorDtypes=BFloat16), but Rank 3 is running collective: "
                                        "CollectiveFingerPrint(SequenceNumber=418, OpType=BROADCAST, TensorShape=[16], TensorDtypes=Long).")}), may=[0, 3])
dead("e_elastic_sigbus", "host|application_error", [4], ["rank 4", "shm|shared memory|SIGBUS|Bus error"], log(plain(1, 5), {
    "r4": "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."},
    {"agent": elastic([(4, 4, -7, 9044)])}))
dead("e_ib_async_port", "network", [], ["mlx5_3|port", "g8"], log(plain(1, 9), {
    "r9": nccl("g8", 90, 1, "NET/IB : mlx5_3:1 Got async error event: port error", src="transport/net_ib.cc:137") + "\n" +
    nccl("g8", 90, 1, "NET/IB: Got completion from peer 10.9.0.31<38110> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::1 remoteGid fe80::2 "
         "hca mlx5_3", src="transport/net_ib.cc:1310")}))
dead("e_init_one_missing", "cpu_stall|peer_died|unknown|network", [], ["1|rank|join|clients|store|3/4"], log(
    tb("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.",
       "/srv/t/train.py:20:<module>:dist.init_process_group('nccl')")), may=[0])
dead("e_nccl_duplicate_gpu", "application_error|cuda_error", [1], ["rank 1", "rank 0", "same|duplicate", "bus|device|GPU"], log({
    "r1": nccl("g1", 31, 0, "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", src="init.cc:894") + "\n" + tb(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, invalid usage, NCCL version 2.20.5", MAIN, rank=1)}), may=[0])
dead("e_ulimit_nofile", "host|application_error", [], ["Too many open files", "rank 7|g7"], log(plain(1, 9), {
    "r7": nccl("g7", 77, 7, "socketCreate: Socket creation failed : Too many open files", src="misc/socket.cc:588")}), may=[7])

# ---- Slurm, MPI, Kubernetes, PBS -------------------------------------------------------------------
dead("e_srun_task_oom", "host", [11], ["(rank|task) 11", "memory", "n14"], log({"r0": plain(1, 9)}, {
    "srun": "slurmstepd-n14: error: Detected 1 oom_kill event in StepId=5512.0. Some of the step tasks have been OOM Killed.\n"
            "srun: error: n14: task 11: Out Of Memory\nsrun: Terminating StepId=5512.0\nslurmstepd-n11: error: *** STEP 5512.0 ON n11 CANCELLED AT 2026-03-14T10:02:00 ***"}))
dead("e_ompi_abort_rank", "application_error|unknown", [2], ["rank 2", "MPI_ABORT|77|abort"], log(plain(1, 3), {
    "mpi": "--------------------------------------------------------------------------\nMPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\n"
           "  Proc: [[41213,1],2]\n  Errorcode: 77\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
           "--------------------------------------------------------------------------"}))
dead("e_hydra_timeout", "scheduler", [], ["time|timeout|limit"], log(plain(1, 30), {
    "mpi": "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 3600s"}))
dead("e_mpich_rank_failure", "application_error", [6], ["5122|c7", "Segmentation|SIGSEGV|11"], log(plain(1, 3), {
    "mpi": "===================================================================================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
           "=   PID 5122 RUNNING AT c7\n=   EXIT CODE: 139\n=   CLEANING UP REMAINING PROCESSES\n"
           "===================================================================================\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
    "r6": "[c7:5122:6] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)"}), may=[6])
dead("e_k8s_oomkilled_yaml", "host", [], ["OOMKilled|memory", "worker-3|trainer"], {"describe.log":
    "2026-03-14T10:05:10Z  Normal   Started    pod/llm-worker-3  Started container trainer\n"
    "2026-03-14T10:45:10Z  Warning  OOMKilled  pod/llm-worker-3  Container trainer was OOMKilled (exit code 137, limit 96Gi)"}, may=[3])
dead("e_k8s_node_notready", "host|scheduler", [], ["ip-10-3-4-5|node", "not ready|NotReady|heartbeat|status"], {"events.log":
    "2026-03-14T10:05:10Z  Normal   Started       pod/llm-2  Started container trainer\n"
    "2026-03-14T10:45:10Z  Warning  NodeNotReady  pod/llm-2  Node ip-10-3-4-5 is not ready\n"
    "2026-03-14T10:50:11Z  Normal   TaintManagerEviction  pod/llm-2  Marking for deletion Pod train/llm-2"})
dead("e_k8s_spot", "scheduler|host", [], ["spot|preempt|reclaim|interrupt"], log(
    plain(1, 30) + "\n2026-03-14 10:02:41 WARNING node-agent: spot instance interruption notice received, node i-0ab31 will be terminated in 120 s\n"
    "2026-03-14 10:02:42 INFO saving checkpoint\n2026-03-14 10:04:40 WARNING Received SIGTERM, exiting"))
dead("e_slurm_prolog", "host|scheduler", [], ["Prolog|prolog", "n21"], log(
    "srun: error: Task launch for StepId=8121.0 failed on node n21: Prolog failed\nsrun: error: Application launch failed: Prolog failed\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."))
dead("e_flux_exception", "scheduler|unknown|application_error", [], ["time|expired|timeout"], log(
    plain(1, 30) + "\nflux-job: fABC123 resource allocation expired\n" + "2.112s: job.exception type=timeout severity=0 resource allocation expired"))
dead("e_jsrun_signal", "application_error|unknown|host", [], ["Bus error|signal 7|SIGBUS|killed"], log(
    plain(1, 30) + "\nERROR:  One or more process (first noticed rank 9) terminated with signal 7 (core dumped)"), may=[9])

# ---- Ray, Horovod, Lightning, DeepSpeed, Megatron, vLLM ---------------------------------------------
dead("e_ray_oom_monitor", "host", [], ["memory", "10.0.4.8|node"], log(
    "(TrainWorker pid=812, ip=10.0.4.8) step 40 loss 1.882\n(raylet, ip=10.0.4.8) 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers "
    "crashed due to other reasons at node (ID: 41ab, IP: 10.0.4.8) over the last time period."))
dead("e_ray_rank_prefix", "application_error", [3], ["rank 3", "RuntimeError|shape|mat1"], log(
    "(RayTrainWorker pid=411, ip=10.0.0.3, rank=3) step 12 loss 2.01\n" + "\n".join(
        "(RayTrainWorker pid=411, ip=10.0.0.3, rank=3) " + line for line in tb(
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x1024 and 2048x512)", "/srv/r/model.py:55:forward:return self.out(x)").split("\n"))))
dead("e_horovod_stall", "cpu_stall|uneven_work", [1], ["rank 1|ranks? 1", "grad"], log(
    plain(1, 9) + "\n[2026-03-14 10:05:40. 51: W /tmp/pip/horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or "
    "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to "
    "submit different tensors or that only subset of ranks is submitting tensors, which will cause deadlock. \nMissing ranks:\n1: [grad/layer_3, grad/layer_4]"))
dead("e_lightning_sigterm", "scheduler|unknown", [], ["SIGTERM|signal|stopped|terminated"], log(
    tqdm(20, 40) + "\nReceived SIGTERM: 15\nBypassing SIGTERM: 15\n" + tb("lightning.fabric.utilities.exceptions.SIGTERMException", "/opt/x/lightning/pytorch/trainer/call.py:49:_call_and_handle_interrupt:return trainer_fn(*args)"),))
dead("e_deepspeed_scale", "numerical_divergence", [], ["scale|overflow"], log(
    "\n".join(f"step {i} loss {2.5 + i * .01:.3f} grad overflow, loss scale {2 ** (20 - i)}" for i in range(1, 20)),
    {"r0": tb("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", MAIN, rank=0)}), may=[0])
dead("e_megatron_nan_skips", "numerical_divergence", [], ["nan|NaN"], log(
    megatron(1, 8) + "\n" + "\n".join(
        f" [{at(10, 2, i * 12)}] iteration {8 + i:8d}/   50000 | consumed samples: {(8 + i) * 512:12d} | elapsed time per iteration (ms): 12001.0 | learning rate: "
        f"1.500000E-04 | global batch size:   512 | loss scale: 1.0 | number of skipped iterations:   1 | number of nan iterations:   1 |" for i in range(1, 9))))
dead("e_vllm_engine_core", "application_error|unknown|cuda_error", [], ["EngineCore|engine"], log(
    "(EngineCore_0 pid=410) INFO 03-14 10:00:01 [core.py:78] Initializing a V1 LLM engine (v0.9.1)\n"
    "(EngineCore_0 pid=410) ERROR 03-14 10:00:31 [core.py:586] EngineCore failed to start.\n(EngineCore_0 pid=410) ERROR 03-14 10:00:31 [core.py:586] Traceback (most "
    "recent call last):\n(EngineCore_0 pid=410) ERROR 03-14 10:00:31 [core.py:586]   File \"/opt/vllm/v1/engine/core.py\", line 577, in run_engine_core\n"
    "(EngineCore_0 pid=410) ERROR 03-14 10:00:31 [core.py:586] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n"
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}"))
dead("e_sglang_tp_watchdog", "unknown|cpu_stall|gpu_stall|communication_stall", [], ["watchdog|timeout|stuck"], log(
    "[2026-03-14 10:00:01 TP2] Decode batch. #running-req: 31, #token: 81123, gen throughput (token/s): 1182.3\n"
    "[2026-03-14 10:05:02 TP2] Watchdog timeout (self.watchdog_timeout=300, self.soft=False)\n[2026-03-14 10:05:07 TP2] Pyspy failed to dump PID 912."), may=[2])
dead("e_triton_compile", "application_error", [0], ["rank 0", "OutOfResources|shared memory|Triton|triton"], log(plain(1, 2), {
    "r0": tb("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 264192, Hardware limit: 232448. Reducing block sizes or "
             "`num_stages` may help.", MAIN, STEP, "/opt/x/triton/compiler/compiler.py:401:_init_handles:raise OutOfResources(", rank=0)}))
dead("e_inductor_gcc", "application_error|host", [1], ["rank 1", "C\\+\\+ compile|CppCompileError|gcc|Python.h"], log({
    "r1": tb("torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:\ng++ /root/.cache/main.cpp -shared\n\nOutput:\n"
             "fatal error: Python.h: No such file or directory", MAIN, STEP, rank=1)}))

# ---- JAX, TPU, Ascend, ROCm, Gaudi -----------------------------------------------------------------
dead("e_jax_coord_heartbeat", "peer_died|host|network|unknown|cpu_stall", [5], ["task(:| )?5|rank 5"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\nE0314 10:09:38.594192    1044 coordination_service.cc:1031] "
    "/job:jax_worker/replica:0/task:5 unexpectedly disconnected. Possible causes: the task crashed, or a network problem.\n"
    "F0314 10:09:38.594192    1044 client.h:80] Terminating process because the JAX distributed service detected fatal errors."))
dead("e_tpu_preempted", "scheduler|host", [], ["maintenance|preempt|terminat"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n2026-03-14 10:03:11 WARNING tpu-agent: maintenance event TERMINATE_ON_HOST_MAINTENANCE on t1v-n-4-w-3, "
    "terminating in 60 s\n2026-03-14 10:04:12 ERROR worker 3 lost"), may=[3])
dead("e_hccl_timeout", "communication_stall|network|cpu_stall|unknown|peer_died", [], ["HCCL|EI0002|notify|remote rank"], log(
    plain(1, 9) + "\n[ERROR] HCCL(812,python):2026-03-14-10:09:38.594.192 [task_exception_handler.cc:411][812]Task from HCCL run failed: EI0002 The wait execution of the "
    "Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [3].base information: [streamID:[2], tag[AllReduce_x]]"), may=[3])
dead("e_cann_oom", "cuda_oom", [2], ["rank 2|NPU 2", "memory"], log(plain(1, 9), {
    "r2": tb("RuntimeError: NPU out of memory. Tried to allocate 2.50 GiB (NPU 2; 60.97 GiB total capacity; 57.20 GiB already allocated; 1.10 GiB free)", MAIN, STEP, rank=2)}))
dead("e_amd_hang_reset", "gpu_hardware|driver_firmware", [], ["amdgpu|GPU|ring|reset", "0000:46:00|mi-3"], {"kern.log":
    "Mar 14 10:03:11 mi-3 kernel: amdgpu 0000:46:00.0: amdgpu: ring comp_1.0.0 timeout, signaled seq=4112, emitted seq=4114\n"
    "Mar 14 10:03:11 mi-3 kernel: amdgpu 0000:46:00.0: amdgpu: GPU reset begin!\nMar 14 10:03:15 mi-3 kernel: amdgpu 0000:46:00.0: amdgpu: GPU reset end with ret = -62"})
dead("e_hip_fault", "cuda_error|gpu_hardware", [1], ["rank 1", "memory access fault|page not present|GPU node|GPU"], log(plain(1, 9), {
    "r1": "Memory access fault by GPU node-5 (Agent handle: 0x55e1f10) on address 0x7f1100000000. Reason: Page not present or supervisor privilege."},
    {"agent": elastic([(1, 1, -6, 4021)])}))
dead("e_gaudi_synapse", "gpu_hardware|driver_firmware|cuda_error|unknown|application_error", [4], ["rank 4", "synStatus|graph|device|Gaudi|Habana"], log(plain(1, 9), {
    "r4": tb("RuntimeError: synStatus=26 [Generic failure] Device acquire failed. Device module id 4 is busy or in reset", "/srv/g/train.py:12:<module>:import habana_frameworks.torch.core", rank=4)}))

# ---- machines, files, memory -----------------------------------------------------------------------
dead("e_lustre_evicted", "host", [], ["lustre|OST|evicted|client", "n31"], {"kern.log":
    "Mar 14 10:03:11 n31 kernel: LustreError: 167-0: scratch-OST0012-osc-ffff91: This client was evicted by scratch-OST0012; in progress operations using this service will fail.",
    "train.log": log(plain(1, 40), {"r8": tb("OSError: [Errno 5] Input/output error: '/scratch/ckpt/0040/mp_08.pt'", MAIN, rank=8)})}, may=[8])
dead("e_sxid_fatal", "gpu_hardware", [], ["SXid 12028|SXid|NVSwitch", "nvswitch3|0000:c5|h2"], {"kern.log":
    "Mar 14 10:03:11 h2 kernel: nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 12028, Fatal, Link 30 egress non-posted PRIV error"})
dead("e_xid_94_then_app", "gpu_hardware", [], ["Xid 94|ECC|memory", "0000:3b:00|n5"], {
    "kern.log": "Mar 14 10:00:41 n5 kernel: NVRM: Xid (PCI:0000:3b:00): 94, pid=4410, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
    "train.log": log(plain(1, 8), {"r2": tb("RuntimeError: CUDA error: uncorrectable ECC error encountered", MAIN, STEP, rank=2)})}, may=[2])
dead("e_loader_killed_signal", "host|application_error", [3], ["rank 3", "DataLoader worker|worker", "kill|signal"], log(plain(1, 9), {
    "r3": tb("RuntimeError: DataLoader worker (pid 7788) is killed by signal: Killed. ", MAIN, LOOP, rank=3)}))
dead("e_ckpt_zip", "application_error|host", [0], ["rank 0", "zip|central directory|PytorchStreamReader"], log({
    "r0": tb("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", MAIN, "/srv/t/ckpt.py:30:load:return torch.load(path)", rank=0)}))
dead("e_tokenizer_rust", "application_error", [], ["tokenizer|panicked|index out of bounds"], log(
    plain(1, 3) + "\nthread '<unnamed>' panicked at tokenizers-lib/src/models/bpe/model.rs:412:31:\nindex out of bounds: the len is 50257 but the index is 50300\n"
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n" +
    tb("pyo3_runtime.PanicException: index out of bounds: the len is 50257 but the index is 50300", MAIN)))
dead("e_thread_limit", "host|application_error", [], ["thread|Resource temporarily unavailable|pthread_create"], log(
    plain(1, 3) + "\nOpenBLAS blas_thread_init: pthread_create failed for thread 61 of 64: Resource temporarily unavailable\n" +
    tb("RuntimeError: can't start new thread", MAIN, "/usr/lib/python3.11/threading.py:935:start:_start_new_thread(self._bootstrap, ())")))
dead("e_glibc_abort", "application_error", [6], ["rank 6", "double free|corrupt|SIGABRT|abort"], log(plain(1, 9), {
    "r6": "free(): double free detected in tcache 2\nFatal Python error: Aborted"}, prefix="rank"))
dead("e_concatenated_ranks", "application_error", [2], ["rank 2", "FileNotFoundError|shard_00044"], log("\n".join(
    f"===== rank {r} stderr =====\n" + plain(1, 9) + ("\n" + tb("FileNotFoundError: [Errno 2] No such file or directory: '/data/shard_00044.bin'", MAIN, LOOP)
                                                     if r == 2 else "") for r in range(4))))
dead("e_restart_then_died", "cuda_error", [1], ["rank 1", "misaligned"], log(
    plain(1, 20) + "\n", {"r3": tb("ConnectionResetError: [Errno 104] Connection reset by peer", MAIN, rank=3)},
    "W0314 10:02:31.504000 4012 api.py:851] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n" + plain(15, 60, m=4),
    {"r1": tb("RuntimeError: CUDA error: misaligned address", MAIN, STEP, rank=1)}), ordered=True)
dead("e_s3_credentials", "host|network|application_error", [0], ["rank 0", "ExpiredToken|token|expired"], log(plain(1, 9), {
    "r0": tb("botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the PutObject operation: The provided token has expired.", MAIN, rank=0)}))
dead("e_hf_hub_429", "network|application_error|host", [], ["429|Too Many Requests"], log(
    tb("huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://hub.example/api/models/x", MAIN)))
dead("e_loss_diverged_guard", "numerical_divergence", [], ["loss|spike|diverge"], log(
    "\n".join(f"step {i} loss {2.4 - i * .005:.3f}" for i in range(1, 40)) + "\n" +
    "\n".join(f"step {40 + i} loss {2.3 * 1.9 ** i:.3f}" for i in range(1, 9)) + "\n2026-03-14 10:12:00 ERROR guard: loss 390.6 is 170x its median, aborting run"))

# ---- healthy ---------------------------------------------------------------------------------------
healthy("ek_color_warnings", log("\n".join(loguru(at(10, 0, i), "WARNING" if i % 7 == 0 else "INFO", "train:loop:44", "gradient clipped at 1.0 (norm 3.2), no error"
                                                  if i % 7 == 0 else f"step {i} loss {2 - i * .01:.3f}", 33) for i in range(1, 50))))
healthy("ek_json_retry", log("\n".join(record(i, "ERROR" if i == 20 else "INFO", "upload failed: ConnectionResetError, attempt 1 of 5" if i == 20 else
                                              f"step {i} loss {4 - i * .01:.3f}", rank=0) for i in range(1, 60))))
healthy("ek_oom_handled", log(plain(1, 20) + "\n2026-03-14 10:01:25 WARNING batch 4411 skipped: CUDA out of memory. Tried to allocate 2.00 GiB; halving it\n" + plain(21, 90, m=2)))
healthy("ek_traceback_logged_debug", log(plain(1, 20) + "\n2026-03-14 10:01:25 DEBUG sample 7123 rejected\n" + tb("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "/srv/t/data.py:9:row:return json.loads(line)") + "\n" + plain(21, 90, m=2) + "\nTraining completed. Best loss 2.1"), ordered=True)
healthy("ek_exit_noise_pgdestroy", log(plain(1, 90) + "\ntraining finished\n[rank0]:[W314 10:10:31.110236541 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed "
        "before we destruct ProcessGroupNCCL."))
healthy("ek_resource_tracker", log(plain(1, 90) + "\nDone.\n/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: resource_tracker: There appear to be 8 leaked semaphore "
        "objects to clean up at shutdown"))
healthy("ek_xid_63_remap", {"kern.log": "Mar 14 09:00:41 n5 kernel: NVRM: Xid (PCI:0000:3b:00): 63, pid=4410, name=python3, Row Remapper: New row (0x1) marked for remapping, reset gpu to activate.",
                            "train.log": log(plain(1, 90) + "\nfinished")})
healthy("ek_nfs_came_back", {"kern.log": "Mar 14 10:01:11 n5 kernel: nfs: server nas1 not responding, still trying\nMar 14 10:01:31 n5 kernel: nfs: server nas1 OK", "train.log": log(plain(1, 90))})
healthy("ek_metrics_named_errors", log("\n".join(f"step {i} loss {2 - i * .01:.3f} word_error_rate {.4 - i * .001:.3f} failed_samples 0 killed_experts 3" for i in range(1, 60))))
healthy("ek_eval_on_crash_reports", log(plain(1, 40) + "\n2026-03-14 10:02:41 INFO eval prompt: 'Segmentation fault (core dumped) - what does it mean?'\n2026-03-14 10:02:42 INFO eval answer: 'The "
        "kernel killed the process: SIGSEGV'\n" + plain(41, 90, m=3)))
healthy("ek_sigterm_saved_done", log(plain(1, 90, total=90) + "\n2026-03-14 10:06:11 INFO training finished, exit code 0\n2026-03-14 10:06:12 INFO received SIGTERM from sidecar cleanup"))
healthy("ek_pod_probe_failed", {"events.log": "2026-03-14T09:50:02Z  Normal   Started    pod/train-0  Started container main\n2026-03-14T09:50:20Z  Warning  Unhealthy  pod/train-0  Readiness probe failed: "
        "connection refused\n2026-03-14T10:20:20Z  Normal   Completed  pod/train-0  Container main completed", "train.log": log(plain(1, 90) + "\nfinished")})
healthy("ek_slurm_requeue_ok", log("slurmstepd: error: *** JOB 991 ON n3 CANCELLED AT 2026-03-14T09:00:00 DUE TO PREEMPTION ***\n2026-03-14 09:40:00 INFO resumed from step 400\n" + plain(401, 480) +
        "\ntraining finished"), ordered=True)
healthy("ek_loss_scale_steps", log("\n".join(f"step {i} loss {9 - i * .05:.3f} loss_scale {65536 if i != 30 else 32768}" + (" (overflow, step skipped)" if i == 30 else "") for i in range(1, 80))))
healthy("ek_xla_slow_compile", log("I0314 10:00:01.100 1234 train.py:88] step 1 loss 8.91\n2026-03-14 10:02:00.100000: E external/xla/xla/service/slow_operation_alarm.cc:65] Very slow compile? If you "
        "want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.\n" + "\n".join(
            f"I0314 10:{3 + i // 60:02d}:{i % 60:02d}.100 1234 train.py:88] step {i} loss {8.9 - i * .01:.2f}" for i in range(2, 90))))
healthy("ek_tf_registration", log("2026-03-14 09:59:51.101: E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when "
        "one has already been registered\n" + hf(10, 900)))
healthy("ek_restart_recovered", log(plain(1, 20), {"r3": tb("ConnectionResetError: [Errno 104] Connection reset by peer", MAIN, rank=3)},
        "W0314 10:02:31.504000 4012 api.py:851] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n" + plain(15, 90, m=4) + "\ntraining finished"), ordered=True)
