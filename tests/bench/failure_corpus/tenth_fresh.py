# SPDX-License-Identifier: Apache-2.0
"""A tenth part: what the other parts have least of (Moore Threads' driver and runtime, Paddle's launchers,
ColossalAI's, MosaicML's streaming, OpenRLHF's engines, HyperPod's agent, TPU crashes, DeepEP's receivers, labels of
addresses in front of ranks). The forms are those of public issue threads; the truth was written before any verdict
was seen."""
from case import dead, healthy, log
from forms import *

A, U, H = "application_error", "unknown", "host"
STUCK = "cpu_stall|gpu_stall|communication_stall|communication|network|peer_died|unknown"


def under(label, text):
    return "\n".join(label + line for line in text.split("\n"))


def steps_tf(first, last):
    return "\n".join(f"I0314 10:{i // 60:02d}:{i % 60:02d}.451247 140641718562816 trainer.py:501] Training: step {i} loss {4 - i * .01:.3f}"
                     for i in range(first, last + 1))


# ---- accelerators ------------------------------------------------------------------------------------
dead("t_musa_lockup", "gpu_hardware|driver_firmware|cuda_error|application_error|unknown", [], ["MTGPU|MUSA|Lockup"], {
    "train.log": log(plain(1, 30) + "\n" + tb("RuntimeError: MUSA error: unknown error", STEP)),
    "dmesg.txt": log("[24078.925037] MTGPU:(Error): 56377:  PID 1747 experienced error Guilty Lockup (0x1) caller[CheckFWCCB CTX Reset Noticication] [188]\n"
                     "[24082.382737] MTGPU:(Error): 56377:  PID 1747 experienced error Innocent Lockup (0x2) caller[CheckFWCCB CTX Reset Noticication] [188]")})
dead("t_musa_illegal", "cuda_error|application_error|gpu_hardware", [3], ["rank 3", "illegal memory access"], log({"r0": plain(1, 9), "r3": tb(
    "RuntimeError: MUSA error: an illegal memory access was encountered\nMUSA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect.", STEP, rank=3)}))
dead("t_musa_oom", "out_of_memory|application_error|cuda_error", [1], ["rank 1", "memory"], log({"r0": plain(1, 9), "r1": tb(
    "RuntimeError: MUSA out of memory. Tried to allocate 1.50 GiB (MUSA 0; 31.98 GiB total capacity; 29.12 GiB already allocated; 0.9 GiB free)", STEP, rank=1)}))
dead("t_hpu_graph", "application_error|driver_firmware|cuda_error|unknown", [6], ["rank 6", "Graph compile|synStatus|mark_step|Habana|FATAL"], log({
    "r0": plain(1, 9), "r6": tb("RuntimeError: [Rank:6] FATAL ERROR :: MODULE:PT_BRIDGE Exception in Launch thread...\nCheck $HABANA_LOGS/ for details"
                                "Graph compile failed. synStatus=synStatus 26 [Generic failure].", STEP, rank=6)}))
dead("t_xe_timedout", "gpu_hardware|driver_firmware|cuda_error|application_error", [], ["DEVICE_LOST|GT0|xe|reset|Timedout"], {
    "train.log": log(plain(1, 30) + "\n" + tb("RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)", STEP)),
    "dmesg.txt": log("[ 8811.1] xe 0000:2b:00.0: [drm] Tile0: GT0: Timedout job: seqno=1484958, lrc_seqno=1484958, guc_id=0, flags=0x73 in no process [-1]\n"
                     "[ 8811.2] xe 0000:2b:00.0: [drm] Tile0: GT0: trying reset from guc_exec_queue_timedout_job [xe]\n[ 8811.3] xe 0000:2b:00.0: [drm] Tile0: GT0: reset done")})
dead("t_tpu_segv", "application_error|unknown|driver_firmware", [], ["SIGSEGV|segmentation"], log(
    steps_tf(1, 60) + "\n*** SIGSEGV (@(nil)), see gl__________41#s15 received by PID 11743 (TID 12350) on cpu 17; stack trace: ***\n"
    "PC: @     0x7facba4a8de2  (unknown)  (unknown)\n    @     0x7facbd838294        976  (unknown)"))
dead("t_jax_task37", "peer_died|host|unknown|network|cpu_stall", [37], ["task ?37|task:37|[Rr]ank 37", "heartbeat"], log(
    steps_tf(1, 198) + "\n2026-03-14 10:06:15.140058: E external/org_tensorflow/tensorflow/core/distributed_runtime/coordination/coordination_service.cc:954] "
    "/job:jax_worker/replica:0/task:37 has been set to ERROR in coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:37 heartbeat timeout. "
    "This indicates that the remote task has failed, got preempted, or crashed unexpectedly. [type.googleapis.com/tensorflow.CoordinationServiceError='']"))
dead("t_neuron_netreg", "network|unknown|application_error|driver_firmware|host", [], ["channel buffer|NetRegMr|network connector|register"], log(
    plain(1, 30) + "\n2026-Mar-14 10:03:15.502423 18506:21252 ERROR   ENC:ncclNetRegMr                            failed neuronNetRegMr request to NCCL\n"
    "2026-Mar-14 10:03:15.502435 18506:21252 ERROR   ENC:configure_net_connector                 [rank 0, channel 0] failed to register channel buffer, addr: 0x0x7fd881000000, len: 50331648"),
    may=[0])

# ---- communication -----------------------------------------------------------------------------------
dead("t_deepep_nvl", STUCK + "|application_error", [], ["DeepEP|timeout|receiver"], log(plain(1, 20) + "\n" + "\n".join(
    f"DeepEP dispatch NVL receiver timeout, channel: {c}, RDMA: 1, nvl: {6 - c % 3}, src RDMA: 0, src nvl: 7, start: 0, end: 0" for c in range(4))), free=False)
dead("t_ip_labels_remote", STUCK, [], ["rank 22|remote|Connection closed|dgxh100-sapphire"], log({
    "r0": plain(1, 9), "n1": under("10.3.0.41: ", tb(
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, remote process exited or there was a network error, NCCL version 2.20.5\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n"
        "socketProgress: Connection closed by remote peer dgxh100-sapphire-ib0<40484>", "/home/k/src/fast_llm.py:196:<module>:main()", rank=22))}), may=[22])
dead("t_ip_labels_own", A, [8], ["rank 8", "checkpoint|state_dict|KeyError|optimizer"], log({
    "r0": plain(1, 9), "n2": under("10.3.0.42: ", tb("KeyError: 'optimizer.state.exp_avg'", "/home/k/src/fast_llm.py:196:<module>:main()",
                                                     "/home/k/src/ckpt.py:61:main:load(state['optimizer'])", rank=8))}))
dead("t_fingerprint_old", "collective_mismatch", [], ["[Rr]ank 0|BROADCAST"], log(plain(1, 9) + "\n" + tb(
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running inconsistent collective: CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[4], "
    "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default)))", "/srv/t/core.py:1046:fit:dist._broadcast_coalesced(")), may=[0])
dead("t_horovod_shut", "application_error|peer_died|unknown", [1], ["[Rr]ank 1|IndexError"], log(
    "\n".join(f"[1,{r}]<stdout>:Epoch 0/100, Batch {i}/29316 loss {24 - i * .1:.3f}" for i in range(1, 20) for r in (0, 1)) + "\n" +
    under("[1,1]<stderr>:", tb("IndexError: index 512 is out of bounds for axis 0 with size 512", "/srv/t/data.py:44:__getitem__:return self.rows[i]")) + "\n" +
    under("[1,0]<stderr>:", tb("horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to "
                               "allreduce, allgather or broadcast a tensor after one of the ranks finished execution.", MAIN))))

# ---- launchers and frameworks ------------------------------------------------------------------------
dead("t_paddle_abort", f"{U}|{A}|peer_died", [3], ["[Rr]ank 3|rank=\\[3\\]"], log(
    "INFO 2026-03-14 10:00:01,611 utils.py:10] epoch 0 step 12 loss 2.311\nINFO 2026-03-14 10:17:14,611 launch_utils.py:307] terminate all the procs\n"
    "ERROR 2026-03-14 10:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer process with rank=[3] was aborted. Please check its log.\n"
    "INFO 2026-03-14 10:17:17,615 launch_utils.py:307] terminate all the procs"))
dead("t_paddle_pod", f"{U}|{A}|peer_died", [0], ["[Rr]ank 0", "code 1|exit|failed"], log(
    "I0314 10:35:53.560647 3004662 tcp_store.cc:257] receive shutdown event and so quit from MasterDaemon run loop\nLAUNCH INFO 2026-03-14 10:35:54,384 Pod failed\n"
    "LAUNCH ERROR 2026-03-14 10:35:54,385 Container failed !!!\nContainer rank 0 status failed cmd ['/usr/bin/python3', '-u', 'tools/train.py'] code 1 log log/workerlog.0"))
dead("t_colossal_kill", "host|unknown|application_error", [3], ["rank 3", "-9|SIGKILL|kill"], log(
    "[03/14/26 10:14:26] INFO     colossalai - colossalai - INFO: process rank 0 is bound to device 0\n"
    "[Epoch 0 / Train]:   1%|#| 19/2839 [15:02<33:39:30, 42.97s/it, loss=2580.0, lr=0.0167]\n"
    "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 812914 closing signal SIGTERM\n"
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 3 (pid: 812917) of binary: /usr/bin/python3\n"
    "Error: failed to run torchrun --nproc_per_node=4 --nnodes=1 train_sft.py on 127.0.0.1"))
dead("t_colossal_bare", f"{U}|{A}", [], ["failed to run|torchrun"], log(
    "Error: failed to run torchrun --nproc_per_node=4 --nnodes=1 --node_rank=0 --rdzv_backend=c10d --rdzv_id=colossalai-default-job train.py -s on 127.0.0.1, "
    "is localhost: True, exception: Encountered a bad command exit code!"))
dead("t_streaming_shm", f"{A}|{H}", [7], ["rank 7", "File exists|000000_epoch_shape|000000_locals"], log({"r0": plain(1, 3), "r7": tb(
    "FileExistsError: [Errno 17] File exists: '/000000_locals'", "/srv/t/train.py:124:build_dataloader:return text_data.build(cfg)",
    "/srv/t/src/text_data.py:422:build:dataset = StreamingC4(local='./data/c4')", rank=7)}))
dead("t_streaming_index", f"{A}|{H}|network", [5], ["rank 5", "too long to download|index.json"], log({"r0": plain(1, 3), "r5": tb(
    "RuntimeError: Index file /tmp/tmpqc4652dc/train/index.json took too long to download, bailing out: 60.000 < 60.003 sec.",
    "/srv/t/train.py:124:build_dataloader:return text_data.build(cfg)", rank=5)}))
dead("t_wds_pipe", f"{A}|{H}|network", [2], ["rank 2", "exit 1|gsutil|20.tar|aws s3"], log({"r0": plain(1, 9), "r2": tb(
    "OSError: (\"(('gsutil cat gs://d/train/20.tar',), {'shell': True, 'bufsize': 8192}): exit 1 (read) {}\", <webdataset.gopen.Pipe object at 0x7fce1cc86e80>)",
    "/srv/t/loop.py:12:run:for batch in loader:", rank=2)}))
dead("t_openrlhf_engine", A, [], ["RuntimeError|init_process_group|update_weight|dtype"], log(
    under("(LLMRayActor pid=585804) (EngineCore_DP0 pid=586112) ERROR 03-14 10:25:45 [core.py:1094] ", tb(
        "RuntimeError: Expected dtype torch.bfloat16 for update_weight, got torch.float16", "/srv/t/vllm/core.py:1091:_handle_client_request:result = method(*args)"))))
dead("t_ray_actor_oom_guess", f"{U}|peer_died|{H}", [], ["20174|WorkerDict|10.164.37.106|actor"], log(plain(1, 9) + "\n" + tb(
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict\n"
    "\tactor_id: d9cc467228965f31cb6dbc9301000000\n\tpid: 20174\n\tip: 10.164.37.106\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
    "Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.", "/srv/t/ppo/ray_trainer.py:952:fit:out = self.wg.generate(batch)")))
dead("t_weights_only", A, [0], ["rank 0", "Weights only|UnpicklingError|weights_only"], log({"r0": plain(1, 3) + "\n" + tb(
    "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`.",
    "/srv/t/resume.py:31:load:state = torch.load(path)", rank=0)}))
dead("t_wandb_then_dcp", A, [0], ["rank 0", "checkpoint|No space|CheckpointException|disk"], log(
    titan(2990, 3000, rank=0) + "\n[rank0]:[titan] 2026-03-14 03:01:00,237 - root - INFO - Saving the checkpoint (or staging if async is enabled).\n[rank0]:wandb: \n"
    "[rank0]:wandb: Run history:\n[rank0]:wandb: You can sync this run to the cloud by running:\n" +
    tb("torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([0])", "/torchtitan/train.py:69:<module>:main()",
       "/torchtitan/trainer.py:998:train:self.checkpointer.save(", rank=0)), free=False)

# ---- machines ----------------------------------------------------------------------------------------
dead("t_hyperpod_xid71", "gpu_hardware|network|driver_firmware", [], ["Xid|NVLink|71"], {
    "train.log": log(plain(1, 30)),
    "hma.log": log("2026-03-14T10:05:32.532-07:00 {\"level\":\"info\",\"ts\":\"2026-03-14T10:05:35Z\",\"msg\":\"NPD caught event: %v\",\"details: \":{\"severity\":\"warn\",\"timestamp\":"
                   "\"2026-03-14T10:05:29Z\",\"reason\":\"XidHardwareFailure\",\"message\":\"Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: "
                   "\\\"NVRM: Xid (PCI:0000:b9:00): 71, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)\\\"\"}}")})

# ---- healthy -----------------------------------------------------------------------------------------
healthy("tk_inf_in_scaler", log("WARNING  colossalai - ShardedOptimizerV2 - WARNING: found inf during ShardedOptimV2 step\n" + plain(1, 90)), ordered=True)
healthy("tk_preemption_notice", log(steps_tf(1, 60) + "\n2026-03-14 10:01:35.025511: W external/tsl/tsl/distributed_runtime/preemption/preemption_sync_manager.cc:170] Failed to retrieve "
        "preemption notice from coordination service: UNAVAILABLE: retrying\n" + steps_tf(62, 119)), ordered=True)
healthy("tk_tpu_slow_init", log("UserWarning: TPU backend initialization is taking more than 60.0 seconds. Did you run your code on all TPU hosts?\n  warnings.warn(\n" + steps_tf(1, 90)), ordered=True)
healthy("tk_pp_loss_minus_one", log(under("[rank0]:", "\n".join(
    f"[titan] 2026-03-14 10:{13 + i // 60:02d}:{i % 60:02d},816 - root - INFO - step: {i:2d}  loss: -1.0000  memory: 42.78GiB(54.06%)  tps: 8  tflops: 1.81  mfu: 0.58%" for i in range(1, 60)))))
healthy("tk_wds_warns", log("UserWarning: webdataset handler: OSError('exit 1 (read)') while reading 20.tar; continuing with the next shard\n  warnings.warn(repr(exn))\n" + plain(1, 90)), ordered=True)
healthy("tk_hma_ok", {"train.log": log(plain(1, 90)), "hma.log": log(
    "2026-03-14T09:35:35.532-07:00 {\"level\":\"info\",\"ts\":\"2026-03-14T09:35:35Z\",\"msg\":\"Node condition NvidiaErrorReboot is now: False, reason: NoXidHardwareFailure\"}")})
healthy("tk_adjust_timeout", log(under("[rank0]:", "[titan] 2026-03-14 02:59:50,816 - root - INFO - Synchronizing and adjusting timeout for all ProcessGroups to 0:01:40") + "\n" +
                                 titan(1, 60, rank=0)), ordered=True)
healthy("tk_paddle_shutdown", log("\n".join(f"[2026-03-14 10:{i // 60:02d}:{i % 60:02d},611] [    INFO] - loss: {2.3 - i * .01:.4f}, learning_rate: 3e-05, global_step: {i}" for i in range(1, 90)) +
        "\n[2026-03-14 10:02:00,100] [    INFO] - Training completed.\nI0314 10:02:01.560647 3004662 tcp_store.cc:257] receive shutdown event and so quit from MasterDaemon run loop\n"
        "LAUNCH INFO 2026-03-14 10:02:02,384 Pod completed\nLAUNCH INFO 2026-03-14 10:02:02,400 Exit code 0"), ordered=True)
healthy("tk_ray_dashboard", log("(raylet) [2026-03-14 10:00:00,101 W 312 312] (raylet) file_system_monitor.cc:111: /tmp/ray is over 80% full, available space: 91 GB; capacity: 500 GB.\n" + plain(1, 90)), ordered=True)
