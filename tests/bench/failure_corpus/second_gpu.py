# SPDX-License-Identifier: Apache-2.0
"""GPUs and communication: the second half of the corpus."""
from case import dead, log
from forms import *

dead("h_oom_two_of_sixteen_srun", "cuda_oom", [10, 13], ["rank.*10", "13", "memory"], log(
    {"r0": megatron(61, 66)},
    {"r10": tb(oom(2, "512.00 MiB"), "/opt/megatron/pretrain_gpt.py:301:<module>:pretrain("),
     "r13": tb(oom(5, "512.00 MiB"), "/opt/megatron/pretrain_gpt.py:301:<module>:pretrain(")},
    {"slurm": "srun: error: hgx-b: tasks 10,13: Exited with exit code 1\nsrun: Terminating StepId=5.0\n"
              "srun: error: hgx-a: tasks 0-7: Terminated\nsrun: error: hgx-b: tasks 8-9,11-12,14-15: Terminated"},
    prefix="srun"))

dead("h_oom_hf_single", "cuda_oom", [], ["memory", r"2\.32 GiB|GPU 0"], log(
    "  3%|3         | 12/400 [00:31<16:40,  2.58s/it]\n" +
    tb("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacty of 23.65 "
       "GiB of which 1.11 GiB is free. Process 4077 has 22.53 GiB memory in use. Of the allocated memory 20.11 GiB is "
       "allocated by PyTorch, and 1.98 GiB is reserved by PyTorch but unallocated.", "/home/lee/sft.py:88:<module>:"
       "trainer.train()", "/home/lee/.venv/lib/python3.10/site-packages/transformers/trainer.py:1938:train:return "
       "inner_training_loop(") + "\n  3%|3         | 12/400 [00:33<17:52,  2.76s/it]"), may=[0])

dead("h_oom_nccl_alloc", "cuda_oom", [3], ["rank 3|node-e", "memory"], log(
    nccl_init("node-e", 200, 4), plain(1, 2),
    nccl("node-e", 203, 3, "Failed to CUDA calloc async 608 bytes", src="include/alloc.h:231") + "\n" +
    nccl("node-e", 203, 3, "Cuda failure 'out of memory'", src="transport/p2p.cc:271") + "\n" +
    nccl("node-e", 203, 3, "init.cc:1501 -> 1", sev="INFO")))

dead("h_illegal_address_watchdog_payload", "cuda_error", [7], ["rank 7", "illegal memory access"], log(
    titan(100, 106),
    {"r7": c10(7, "[PG ID 2 PG GUID 3(fsdp) Rank 7] Process group watchdog thread terminated with exception: CUDA error: an "
               "illegal memory access was encountered", line=2057) +
           "\nterminate called after throwing an instance of 'c10::DistBackendError'\n"
           "  what():  [PG ID 2 PG GUID 3(fsdp) Rank 7] Process group watchdog thread terminated with exception: CUDA error: "
           "an illegal memory access was encountered"},
    {"agent": elastic([(7, 7, -6, 887)], stop=(880, 881, 882))}))

dead("h_launch_failure_all", "cuda_error", [], ["unspecified launch failure|launch"], log(
    plain(1, 3),
    {f"r{r}": tb(cuda("unspecified launch failure"), MAIN, LOOP, STEP, rank=r) for r in range(4)}), may=[0, 1, 2, 3])

dead("h_no_kernel_image", "cuda_error|driver_firmware|application_error", [], ["no kernel image"], log(
    tb(cuda("no kernel image is available for execution on the device"), MAIN, "/srv/a/model.py:9:forward:return x @ w")),
    may=[0])

dead("h_triton_misaligned", "cuda_error", [2], ["rank 2", "misaligned"], log(
    hf(10, 30), tb("RuntimeError: Triton Error [CUDA]: misaligned address", MAIN, LOOP,
                   "/opt/conda/lib/python3.11/site-packages/triton/backends/nvidia/driver.py:365:__call__:self.launch("
                   "*args, **kwargs)", rank=2)))

dead("h_xid31_app", "cuda_error", [], ["Xid 31|page fault|MMU|illegal", "0000:19:00|dgx-2"], log("\n".join([
    xid(31, "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f2c_40000000. Fault is of "
        "type FAULT_PDE ACCESS_TYPE_VIRT_READ", "Apr  2 06:01:20", "0000:19:00", "dgx-2", 3391),
    xid(43, "Ch 00000008", "Apr  2 06:01:20", "0000:19:00", "dgx-2", 3391)])), never=["replace", "drain"])

dead("h_xid95_uncontained", "gpu_hardware", [], ["memory|ECC|uncontained", "0000:db:00|gpu-r9|Xid 95"], {
    "gpu-r9.log": log("\n".join([
        xid(95, "Uncontained: LTC TAG (0x1,0x0). RST: Yes, D-RST: No", "2026-03-14T08:11:22.118+00:00", "0000:db:00",
            "gpu-r9", 88),
        xid(154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            "2026-03-14T08:11:22.318+00:00", "0000:db:00", "gpu-r9")]))})

dead("h_fallen_three_lines", "gpu_hardware", [], ["bus|respond", "0000:b3:00.0"], log(
    "[41233.110201] NVRM: The NVIDIA GPU 0000:b3:00.0\n[41233.110201] NVRM: (PCI ID: 10de:2330) installed in this system "
    "has\n[41233.110201] NVRM: fallen off the bus and is not responding to commands.\n"
    "[41239.000110] nvidia 0000:b3:00.0: probe with driver nvidia failed with error -1"))

dead("h_nvlink_fatal_149", "gpu_hardware", [], ["NVLink|nvlink|link", "0000:4d:00|gb2|Xid 149"], log(
    xid(149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        "Mar 14 09:12:01", "0000:4d:00", "gb2") + "\n" +
    xid(154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "Mar 14 09:12:02", "0000:4d:00", "gb2")))

dead("h_pcie_aer", "gpu_hardware|host", [], ["PCIe|AER|bus", "0000:a1:00.0|n8"], {
    "kern.log": "Mar 14 10:03:40 n8 kernel: pcieport 0000:a0:01.0: AER: Uncorrectable (Fatal) error message received from "
                "0000:a1:00.0\nMar 14 10:03:40 n8 kernel: nvidia 0000:a1:00.0: AER: PCIe Bus Error: severity=Uncorrectable "
                "(Fatal), type=Transaction Layer, (Receiver ID)\n" +
                xid(79, "GPU has fallen off the bus.", "Mar 14 10:03:41", "0000:a1:00", "n8", 71),
    "run.log": log(plain(1, 50), {"r5": tb(cuda("unknown error"), MAIN, LOOP, rank=5)})}, may=[5], merge="class")

dead("h_gsp_120", "driver_firmware", [], ["GSP", "0000:3a:00|w11|Xid 120"], log(
    xid(120, "GSP task timeout @ pc:0x2d1ff12, partition:0, task:1", "Mar 14 09:12:01", "0000:3a:00", "w11")))

dead("h_driver_too_old", "driver_firmware", [], ["driver", "old|12040|version|insufficient"], log(
    tb("RuntimeError: The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver by "
       "downloading and installing a new version", "/srv/x.py:3:<module>:torch.zeros(1).cuda()",
       "/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:319:_lazy_init:torch._C._cuda_init()")), may=[0])

dead("h_fabric_manager", "driver_firmware|cuda_error|host", [], ["802|system not yet initialized|fabric"], log(
    tb("RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
       "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
       "/srv/x.py:3:<module>:torch.cuda.set_device(r)")), may=[0])

dead("h_amd_gpu_reset_hang", "gpu_hardware|driver_firmware|cuda_error", [], ["reset|hang|timeout|ring", "0000:83:00.0|mi1"], {
    "mi1-kern.log":
    "Mar 14 08:41:10 mi1 kernel: amdgpu 0000:83:00.0: amdgpu: ring comp_1.0.1 timeout, signaled seq=9182, emitted seq=9184\n"
    "Mar 14 08:41:10 mi1 kernel: amdgpu 0000:83:00.0: amdgpu: GPU reset begin!\n"
    "Mar 14 08:41:12 mi1 kernel: amdgpu 0000:83:00.0: amdgpu: GPU reset end with ret = -110\n"
    "Mar 14 08:41:12 mi1 kernel: [drm:amdgpu_device_gpu_recover [amdgpu]] *ERROR* GPU Recovery Failed: -110"})

dead("h_amd_hsa_queue", "cuda_error|gpu_hardware", [6], ["rank 6", "HSA_STATUS|queue|exception"], log(
    plain(1, 9),
    {"r6": ":0:rocdevice.cpp            :2984: 77120110023 us: [pid:9106  tid:0x7f2c] Callback: Queue 0x7f20 aborting with "
           "error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016"},
    {"agent": elastic([(6, 6, -6, 9106)], stop=(9100, 9101))}))

dead("h_npu_link_down", "network|gpu_hardware|peer_died|communication_stall|cpu_stall", [], ["EI0002|EI0004|link|notify|HCCL",
     "device|remote rank|7"], log(
    plain(1, 9),
    {"r3": tb("RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current "
              "working operator name is HcclAllreduce.\n[ERROR] 2026-03-14-11:21:31 (PID:4112, Device:3, RankID:3) ERR02200 "
              "DIST call hccl api failed.\nEI0002: [PID: 4112] 2026-03-14-11:21:31.301.204 The wait execution of the Notify "
              "register times out. Reason: The Notify register has not received the Notify record from remote rank [7].",
              MAIN, rank=3)}), may=[7])

dead("h_npu_device_lost", "gpu_hardware|cuda_error|driver_firmware", [5], ["rank 5|device 5", "507899|lost|HBM|ECC|107|multi"], log(
    plain(1, 9),
    {"r5": tb("RuntimeError: NPU function error: aclrtSynchronizeStreamWithTimeout, error code is 507053\n[ERROR] "
              "2026-03-14-11:21:31 (PID:4114, Device:5, RankID:5) ERR00100 PTA call acl api failed\n[Error]: The HBM "
              "multi-bit ECC error is detected.", MAIN, LOOP, rank=5)}))

# ---- communication ----
dead("h_hang_two_missing_tp", "cpu_stall", [2, 3], ["rank", "2", "3"], log(
    megatron(10, 14),
    {**{f"r{r}": watchdog(r, 4401, "ALLREDUCE") for r in (0, 1, 4, 5, 6, 7)},
     "r2": heard(2, 4400, 4400, other=0), "r3": heard(3, 4400, 4400, other=0)}))

dead("h_hang_old_form_rank0_busy", "cpu_stall|uneven_work", [0], ["rank 0"], log(
    plain(99, 100) + "\n2026-03-14 10:00:09 INFO rank 0 writing checkpoint to /nfs/ckpt/step100",
    {f"r{r}": watchdog(r, 1999, "ALLREDUCE", 1, old=True, ms=1800000) for r in (1, 2, 3)},
    {"r0": c10(0, "[PG 0 Rank 0] Received a dump signal due to a collective timeout from  rank 2 and we will try our best to "
               "dump the debug info. Last enqueued NCCL work: 1998, last completed NCCL work: 1998.", line=1421)}))

dead("h_hang_gpu_side", "gpu_stall", [4], ["rank 4", "GPU"], log(
    megatron(10, 14),
    {**{f"r{r}": watchdog(r, 900, "_ALLGATHER_BASE", 1 << 20, 1 << 23, enq=905, done=899) for r in (0, 1, 2, 3, 5, 6, 7)},
     "r4": watchdog(4, 897, "_REDUCE_SCATTER_BASE", 1 << 23, 1 << 20, enq=905, done=896)}))

dead("h_heartbeat_gil", "cpu_stall|application_error|unknown", [1], ["rank 1", "GIL|watchdog|stuck|heartbeat"], log(
    plain(1, 7),
    {"r1": c10(1, "[PG ID 0 PG GUID 0(default_pg) Rank 1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making "
               "progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., "
               "CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside "
               "a CUDA api (for example, CudaEventDestroy), or other deadlock-prone behaviors.", line=1685) + "\n" +
           c10(1, "Could not acquire GIL within 300 ms on exit, possible GIL induced hang", line=1345) + "\n" +
           c10(1, "[PG ID 0 PG GUID 0(default_pg) Rank 1] Terminating the process after attempting to dump debug info, due to "
               "ProcessGroupNCCL watchdog hang.", line=1555, sev="F")}))

dead("h_mismatch_three_sizes", "collective_mismatch", [], ["195,?812,?480", "51,?123,?456"], log(
    plain(1, 3),
    {"r0": watchdog(0, 21, "ALLREDUCE", 195812480), "r1": watchdog(1, 21, "ALLREDUCE", 51123456)}), may=[0, 1])

dead("h_mismatch_detail_shapes", "collective_mismatch", [], ["shape|TensorShape|size|\\[8", "ALLGATHER|all.?gather"], log(
    {"r0": tb("RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
              "CollectiveFingerPrint(SequenceNumber=9, OpType=ALLGATHER, TensorShape=[8, 512], TensorDtypes=Float, "
              "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 3 is running collective: "
              "CollectiveFingerPrint(SequenceNumber=9, OpType=ALLGATHER, TensorShape=[7, 512], TensorDtypes=Float, "
              "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)).Collectives differ in the following "
              "aspects: \t Tensor Tensor shapes: 8, 512vs 7, 512", MAIN, rank=0)}), may=[0, 3])

dead("h_params_verify", "collective_mismatch|application_error", [1], ["rank|ranks", "parameter|shape|appears|model"], log(
    {"r1": tb("RuntimeError: DDP expects same model across all ranks, but Rank 1 has 148 params, while rank 0 has inconsistent "
              "146 params.", MAIN, "/opt/conda/lib/python3.11/site-packages/torch/distributed/utils.py:265:"
              "_verify_param_shape_across_processes:return dist._verify_params_across_processes(", rank=1)}), may=[0])

dead("h_ib_rnr", "network", [], ["RNR|receiver|13", "mlx5_6|gpu-x2|10.7.1.9|rank"], log(
    plain(7, 9), nccl("gpu-x2", 66, 6, "NET/IB: Got completion from peer 10.7.1.9<51122> with status=IBV_WC_RNR_RETRY_EXC_ERR(13)"
                      " opcode=IBV_WC_SEND(0) vendor_err=136 (Send) localGid ::ffff:10.7.1.8 remoteGids::ffff:10.7.1.9 hca "
                      "mlx5_6")), may=[6])

dead("h_ib_flush_is_victim", "application_error", [1], ["rank 1", "IndexError", "out of range|shards"], log(
    plain(7, 9),
    {"r1": tb("IndexError: list index out of range", MAIN, "/srv/d.py:8:pick:return shards[i]", rank=1),
     "r0": nccl("gpu-x1", 60, 0, "NET/IB : Got completion from peer 10.7.1.9<51122> with status=5 opcode=0 len=0 vendor err 249 "
                "(Recv) localGid ::ffff:10.7.1.8 remoteGids::ffff:10.7.1.9 hca mlx5_0")}))

dead("h_modify_qp", "network", [], ["ibv_modify_qp|QP|connection timed out|110|connect", "mlx5_bond_0|node-h|10.9"], log(
    nccl("node-h", 12, 0, "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_bond_0:1, curr state INIT, "
         "next state RTR, local GID index 3, local GID ::ffff:10.9.0.4, remote GID ::ffff:10.9.0.5", src="misc/ibvwrap.cc:210")
    + "\n" + tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:328, unhandled "
                "system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclSystemError: System call (e.g. "
                "socket, malloc) or external library call failed or device error. \nLast error:\nCall to ibv_modify_qp failed "
                "with 110 Connection timed out", MAIN, rank=0)), may=[0])

dead("h_socket_no_route", "network", [], ["route|unreachable|113|connect", "10.20.0.8"], log(
    nccl("m1", 12, 0, "socketStartConnect: Connect to 10.20.0.8<36311> failed : No route to host", src="misc/socket.cc:441")
    + "\n" + nccl("m1", 12, 0, "misc/socket.cc:564 -> 2", sev="INFO")), may=[0])

dead("h_bootstrap_no_interface", "network|application_error", [], ["interface|bootstrap|eth9|socket"], log(
    nccl("m1", 12, 0, "Bootstrap : no socket interface found", src="bootstrap.cc:45") + "\n" +
    tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, internal "
       "error - please report this issue to the NCCL developers, NCCL version 2.18.5\nncclInternalError: Internal check "
       "failed.\nLast error:\nBootstrap : no socket interface found", MAIN, rank=0)), may=[0])

dead("h_proxy_setup_names_rank", "network|host|peer_died|driver_firmware|unknown|cuda_error", [3], ["rank 3", "Setup|connect|transport"], log(
    plain(1, 1),
    nccl("m2", 92, 1, "[Proxy Service 1] Failed to execute operation Setup from rank 3, retcode 3", src="proxy.cc:1533")),
    may=[1])

dead("h_efa_reachable_abort", "network|peer_died", [], ["EFA|libfabric|OFI|receiver", "unreachable|reachable|responsive|15"], log(
    plain(40, 45),
    "libfabric:20481:1773478844::efa:cq:efa_rdm_cq_handle_error():321<warn> err: 113, message: Unresponsive receiver (reachable "
    "by EFA device but handshake failed) My EFA addr: fi_addr_efa://[fe80::4d:1]:1:99 Peer EFA addr: "
    "fi_addr_efa://[fe80::4d:2]:3:12\n"
    "ip-10-3-0-4:20481:20992 [3] nccl_net_ofi_rdma_process_cq:1102 NCCL WARN NET/OFI Request 0x7f01 completed with error. RC: "
    "113. Error: 4104 (Unresponsive receiver). Completed length: 0"), may=[3])

dead("h_ucx_connection_reset", "network|peer_died", [], ["UCX|ucx|endpoint|connection", "cn0031|reset|timeout|timed out"], log(
    "[1773478844.182931] [cn0031:88120:0]           ib_device.c:450  UCX  ERROR   mlx5_2: port 1 went down\n"
    "[1773478846.182931] [cn0031:88120:0]         ucp_worker.c:576  UCX  ERROR Remote access error on endpoint 0x7f9: "
    "Endpoint timeout\n"
    "[cn0031:88120] pml_ucx.c:911  Error: ucx send failed: Endpoint timeout\n[cn0031:88120] *** An error occurred in "
    "MPI_Allreduce\n[cn0031:88120] *** reported by process [1241513985,14]\n[cn0031:88120] *** on communicator MPI_COMM_WORLD\n"
    "[cn0031:88120] *** MPI_ERR_OTHER: known error not in list\n[cn0031:88120] *** MPI_ERRORS_ARE_FATAL (processes in this "
    "communicator will now abort,\n[cn0031:88120] ***    and potentially your MPI job)"), may=[14])

dead("h_gloo_connect_full_mesh", "network|cpu_stall|peer_died|unknown", [], ["connect|full mesh|timed out|gloo"], log(
    {f"r{r}": tb("RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
                 MAIN, "/srv/a/init.py:8:setup:dist.init_process_group('gloo')", rank=r) for r in (0, 1)}), may=[0, 1])

dead("h_gloo_send_timeout_two_waiters", "cpu_stall|unknown|communication_stall", [0], ["rank 0"], log(
    {"r1": plain(8, 11, rank=1), "r2": plain(8, 11, rank=2), "r0": plain(8, 10, rank=0)},
    {f"r{r}": tb("RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:133] Timed out waiting 600000ms for "
                 "send operation to complete", MAIN, "/srv/a/eval.py:88:gather:dist.gather_object(out)", rank=r)
     for r in (1, 2)}))

dead("h_horovod_old_missing", "cpu_stall|collective_mismatch|uneven_work", [1], ["rank 1|ranks? 1"], log(
    {"r0": "[2026-03-14 10:55:31.858119: W horovod/common/operations.cc:588] One or more tensors were submitted to be reduced, "
           "gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. \n"
           "[2026-03-14 10:55:31.858140: W horovod/common/operations.cc:588] HorovodBroadcast_dense_kernel_Momentum_0 [missing "
           "ranks: 1]\n[2026-03-14 10:56:31.861697: W horovod/common/operations.cc:588] HorovodBroadcast_dense_bias_0 [missing "
           "ranks: 1]"}, prefix="mpirun"))

dead("h_horovod_peer_shutdown", "application_error", [2], ["rank 2", "ValueError|shape|reshape"], log(
    {"r2": tb("ValueError: cannot reshape array of size 150528 into shape (224,224,4)", MAIN, "/srv/hv/data.py:31:decode:"
              "return a.reshape(224, 224, 4)"),
     **{f"r{r}": tb("horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an "
                    "exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of "
                    "the ranks finished execution.", MAIN, "/srv/hv/train.py:71:train:optimizer.step()") for r in (0, 1, 3)}},
    prefix="mpirun"))

dead("h_store_get_timeout", "peer_died|network|cpu_stall|unknown|application_error", [0], ["rank 0|master|10.0.0.5", "store|600|time"], log(
    {f"r{r}": tb("torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to "
                 "(10.0.0.5, 29500).", MAIN, "/srv/a/init.py:8:setup:dist.init_process_group('nccl')", rank=r)
     for r in (8, 9)}), may=[0, 8, 9], never=["ranks? 8.* (failed|crash)"])

dead("h_rendezvous_timeout", "peer_died|network|cpu_stall|unknown|scheduler|application_error", [], ["rendezvous|join|node"], log(
    "W0314 10:00:01.504000 4012 site-packages/torch/distributed/run.py:793] master_addr is only used for static rdzv_backend and "
    "when rdzv_endpoint is not specified.\n" +
    tb("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "/opt/conda/bin/torchrun:8:<module>:sys.exit(main())",
       "/opt/conda/lib/python3.11/site-packages/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:652:run:raise "
       "RendezvousTimeoutError()")))

dead("h_uneven_eval", "uneven_work|cpu_stall", [3], ["rank 3"], log(
    {"r0": plain(1, 40, rank=0), "r3": plain(1, 39, rank=3) + "\n2026-03-14 10:02:40 INFO rank 3 dataloader exhausted after 39 "
     "batches, leaving the loop"},
    {**{f"r{r}": watchdog(r, 118, "ALLREDUCE", 1) for r in (0, 1, 2)}, "r3": heard(3, 117, 117, other=0)}))

dead("h_ordering_two_groups", "ordering_deadlock|cpu_stall|communication_stall|collective_mismatch|unknown", [], ["tp|dp", "rank|ranks"], log(
    plain(1, 4),
    {"r0": watchdog(0, 55, "ALLREDUCE", 4096, pg="1", uid="1", desc="tp", group_rank=0, enq=55),
     "r1": watchdog(1, 31, "ALLREDUCE", 8192, pg="2", uid="2", desc="dp", group_rank=1, enq=31)}), may=[0, 1])

dead("h_nccl_version_mismatch", "application_error|network|driver_firmware|host", [], ["version|2.18|2.20|mismatch"], log(
    nccl("m4", 31, 0, "Mismatched NCCL version detected : rank 0 version 21805 rank 1 version 22005 file init.cc", src="init.cc:880")
    + "\n" + nccl("m4", 31, 0, "init.cc:1050 -> 5", sev="INFO")), may=[0, 1])

dead("h_duplicate_gpu", "application_error|cuda_error", [], ["duplicate|same GPU|device|rank"], log(
    nccl("m4", 31, 0, "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", src="init.cc:907") + "\n" +
    tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, invalid usage "
       "(run with NCCL_DEBUG=WARN for details), NCCL version 2.20.5\nncclInvalidUsage: This usually reflects invalid usage of "
       "NCCL library.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", MAIN, rank=1)),
    may=[0, 1])
