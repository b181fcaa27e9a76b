# SPDX-License-Identifier: Apache-2.0
"""Communication: hangs, collectives that differ, networks, peers that are gone."""
from case import dead, log
from forms import *

dead("hang_one_rank_behind", "cpu_stall", [6], ["rank 6", "all.?gather|collective"], log(
    megatron(40, 44),
    {**{f"r{r}": watchdog(r, 733, "_ALLGATHER_BASE", 4194304, 33554432) for r in (0, 1, 2, 3, 4, 5, 7)},
     "r6": heard(6, 732, 732, other=0)},
    {"agent": elastic([(0, 0, -6, 50), (3, 3, -6, 53)])}))

dead("hang_missing_in_one_of_two_groups", "cpu_stall", [5], ["rank 5"], log(
    plain(90, 95),
    {"r4": watchdog(4, 212, "ALLREDUCE", pg="2", uid="11", desc="dp_1", group_rank=0),
     "r6": watchdog(6, 212, "ALLREDUCE", pg="2", uid="11", desc="dp_1", group_rank=2),
     "r7": watchdog(7, 212, "ALLREDUCE", pg="2", uid="11", desc="dp_1", group_rank=3),
     "r5": heard(5, 211, 211, other=4, pg="2", uid="11", desc="dp_1", group_rank=1)}))

dead("hang_different_groups_are_not_compared", "unknown|communication_stall|cpu_stall", [], [r"time(d)? ?out|timeout"],
     log(plain(5, 9),
         {"r0": c10(0, "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, "
                    "NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600031 milliseconds before timing "
                    "out."),
          "r9": c10(9, "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12040, "
                    "OpType=_REDUCE_SCATTER_BASE, NumelIn=8388608, NumelOut=1048576, Timeout(ms)=600000) ran for 600044 "
                    "milliseconds before timing out.")}))

dead("hang_all_in_one_collective", "communication_stall|network|unknown", [], ["ALLREDUCE|all.?reduce", "1044|time"], log(
    plain(5, 9), {f"r{r}": watchdog(r, 1044) for r in range(8)},
    {"agent": elastic([(r, r, -6, 600 + r) for r in range(8)])}))

dead("mismatch_detail_wrapper", "collective_mismatch", [], ["BROADCAST", "ALLREDUCE|rank"], log(
    plain(1, 2),
    {"r1": tb("RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
              "CollectiveFingerPrint(SequenceNumber=57, OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long, "
              "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), "
              "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))), but Rank 0 is "
              "running collective: CollectiveFingerPrint(SequenceNumber=57, OpType=ALLREDUCE, TensorShape=[4096], "
              "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided "
              "(default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))).",
              MAIN, "/workspace/train.py:77:main:dist.broadcast(flag, src=0)", rank=1)}), may=[0, 1])

dead("mismatch_sizes_in_watchdogs", "collective_mismatch", [3], ["rank 3", "51200000|51,200,000"], log(
    plain(5, 9),
    {**{f"r{r}": watchdog(r, 310, numel=50331648) for r in (0, 1, 2)}, "r3": watchdog(3, 310, numel=51200000)}))

dead("mismatch_op_kinds", "collective_mismatch", [2], ["rank 2", "BROADCAST", "ALLREDUCE|all.?reduce"], log(
    hf(10, 50),
    {**{f"r{r}": watchdog(r, 77, "ALLREDUCE", 2097152) for r in (0, 1, 3)}, "r2": watchdog(2, 77, "BROADCAST", 1)}))

dead("desync_report", "cpu_stall|uneven_work", [1], ["rank 1"], log(
    plain(1, 6),
    {"r0": c10(0, "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, "
               "NumelIn=1024, NumelOut=1024, Timeout(ms)=120000) ran for 120004 milliseconds before timing out.") +
           "\n\t - [0] Timeout at collective: ALLREDUCE, #42\n\t - To our best knowledge, the lagging/dead/mismatched "
           "ranks that caused the desync are:\n\t   - [1] finished collective #41, but didn't join collective #42 "
           "(count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #42 started ranks:\n\t     [0, 2, 3] started "
           "ALLREDUCE\n\t   #41 finished ranks:\n\t     [1] finished ALLREDUCE"}))

dead("net_ib_retry_exceeded", "network", [], ["retr|12|unreachable|transport", "mlx5_4|gpu-b3|172.16.4.31|rank"], log(
    nccl_init("gpu-b3", 700, 2, 0, 16), plain(70, 75),
    {"r0": "\n" + nccl("gpu-b3", 700, 0, "NET/IB: Got completion from peer 172.16.4.31<47122> with "
                       "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 (Send) localGid "
                       "::ffff:172.16.4.30 remoteGids::ffff:172.16.4.31 hca mlx5_4",
                       src="[2026-03-14 10:20:44] transport/net_ib.cc:2190") + "\n" +
           nccl("gpu-b3", 700, 0, "transport/net.cc:1302 -> 6", sev="INFO"),
     "r9": watchdog(9, 3001)}), may=[0])

dead("net_ib_local_protection", "network|driver_firmware|cuda_error|application_error|host", [2],
     ["rank 2|gpu-k1", "protection|status 4|local"], log(
    nccl_init("gpu-k1", 1700, 4, 0, 8), plain(70, 75),
    nccl("gpu-k1", 1702, 2, "NET/IB : Got completion from peer 10.4.0.9<40012> with status=4 opcode=32692 len=0 vendor "
         "err 81 (Recv) localGid ::ffff:10.4.0.8 remoteGids::ffff:10.4.0.9 hca mlx5_2")), never=["peer failed"])

dead("net_link_down", "network", [], ["mlx5_0|port|link", "node-3"], {
    "node-3.syslog": log(
        "Mar 14 10:11:32 node-3 kernel: mlx5_core 0000:12:00.0 ibs1: Link down\n"
        "Mar 14 10:11:32 node-3 opensm[991]: port 1 of mlx5_0 is DOWN"),
    "train.log": log(
        plain(70, 75, h=10, m=11),
        nccl("node-3", 510, 0, "NET/IB : mlx5_0:1 Got async event : port error") + "\n" +
        nccl("node-3", 510, 0, "NET/IB : Got completion from peer 10.0.0.4<39921> with error 12, opcode 0, len 0, "
             "vendor err 129"))}, may=[0])

dead("net_connection_refused_startup", "network|peer_died|host", [], ["connect|refused", "10.10.0.7|node-7"], log(
    nccl("node-2", 51, 0, "socketPollConnect: Connect to 10.10.0.7<41211> returned 111(Connection refused) errno 111",
         src="misc/socket.cc:484") + "\n" +
    nccl("node-2", 51, 0, "misc/socket.cc:567 -> 6", sev="INFO") + "\n" +
    nccl("node-2", 51, 0, "bootstrap.cc:285 -> 6", sev="INFO") + "\n" +
    tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, "
       "remote process exited or there was a network error, NCCL version 2.20.5\nncclRemoteError: A call failed possibly "
       "due to a network error or a remote process exiting prematurely.\nLast error:\nsocketPollConnect: Connect to "
       "10.10.0.7<41211> returned 111(Connection refused) errno 111", MAIN,
       "/workspace/train.py:31:main:dist.barrier()", rank=8)), never=["transfers? to a peer"], may=[8])

dead("net_unique_id_from_rank0", "peer_died|network|application_error|cpu_stall|unknown", [0],
     [r"rank 0|\[0\]", "store|ncclUniqueId|rank"], log(
    {f"r{r}": tb("torch.distributed.DistBackendError: [%d] is setting up NCCL communicator and retrieving ncclUniqueId "
                 "from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer"
                 % r, "/srv/app/pretrain.py:90:main:dist.all_reduce(x)", rank=r) for r in (1, 2, 3)}), may=[0])

dead("efa_unresponsive_receiver", "network|peer_died", [], ["EFA|libfabric|OFI|receiver", "unresponsive|receiver"], log(
    "ip-10-1-12-7:3301:3301 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)", plain(12, 15),
    "\nip-10-1-12-7:3301:4410 [0] ofi_process_cq:185 NCCL WARN NET/OFI Request 0x7f90a8003a40 completed with error. RC: "
    "113. Error: 4126 (Unresponsive receiver (reachable by EFA device but handshake failed)). Completed length: 0, "
    "Request: { dev: 2, size: 524288, state: CREATED, type: SEND }\n"
    "ip-10-1-12-7:3301:4410 [0] NCCL INFO transport/net.cc:1034 -> 2"), may=[0])

dead("efa_fi_send_failure", "network|driver_firmware|host", [], ["EFA|libfabric|OFI|fi_", "memory|No such|ENOMEM|-12"], log(
    "Libfabric EFA provider has encountered an internal error:\n\n"
    "libfabric:3310:1773478844::efa:mr:efa_mr_reg_impl():812<warn> Unable to register MR of 2097152 bytes: Cannot "
    "allocate memory, ibv pd: 0x55c0, total mr reg size 9019431321 bytes, num mr registration 300\n"
    "\nip-10-1-9-3:3310:3391 [5] nccl_ofi_rdma_reg_mr:2212 NCCL WARN NET/OFI Unable to register memory (type = 2) for "
    "device 1. RC: -12, Error: Cannot allocate memory\n"
    "ip-10-1-9-3:3310:3391 [5] NCCL INFO transport/net.cc:812 -> 2"))

dead("ucx_retry_exceeded", "network", [], ["retry", "mlx5_1|cn0412"], log(
    plain(200, 204),
    "[cn0412:118223:0:118223] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_1:1/IB (synd 0x15 vend 0x81 "
    "hw_synd 0/0)\n"
    "[cn0412:118223:0:118223] ib_mlx5_log.c:177  RC QP 0x4410 wqe[933]: RDMA_WRITE s-- [rva 0x7f6ecf2600 rkey 0x4894] "
    "[va 0x7f51a90a5000 len 65536 lkey 0x640d] [rqpn 0x12d1 dlid=77 sl=0 port=1 src_path_bits=0]\n"
    "==== backtrace (tid: 118223) ====\n 0  /opt/ucx/lib/libucs.so.0(ucs_handle_error+0x294) [0x7fada5837a4]\n"
    "=================================\n"
    "[cn0412:118223] *** Process received signal ***\n[cn0412:118223] Signal: Aborted (6)\n"
    "[cn0412:118223] *** End of error message ***\n"
    "--------------------------------------------------------------------------\n"
    "mpirun noticed that process rank 21 with PID 118223 on node cn0412 exited on signal 6 (Aborted).\n"
    "--------------------------------------------------------------------------"), may=[21])

dead("gloo_closed_by_peer_and_exception", "application_error", [2], ["rank 2", "KeyError", "tok_9|weights"], log(
    plain(3, 6),
    {"r2": tb("KeyError: 'tok_9'", "/srv/app/fit.py:70:<module>:main()",
              "/srv/app/fit.py:44:main:w = weights[name]", rank=2),
     **{f"r{r}": tb("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
                    "[10.3.0.12]:21873", "/srv/app/fit.py:70:<module>:main()",
                    "/srv/app/fit.py:52:main:dist.all_reduce(g)", rank=r) for r in (0, 1, 3)}},
    {"agent": elastic([(0, 0, 1, 810), (2, 2, 1, 812)], host="w1", script="fit.py")}))

dead("gloo_timeout_one_absent", "cpu_stall|unknown|communication_stall", [1], ["rank 1"], log(
    {"r0": plain(3, 6, rank=0), "r1": plain(3, 4, rank=1), "r2": plain(3, 6, rank=2), "r3": plain(3, 6, rank=3)},
    {f"r{r}": tb("RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
                 "1800000ms for recv operation to complete", MAIN, "/srv/app/fit.py:52:main:dist.all_reduce(g)", rank=r)
     for r in (0, 2, 3)}))

dead("gloo_sizes_differ", "collective_mismatch", [], ["size|length|mismatch", "rank|ranks|gloo|all.?reduce"], log(
    {f"r{r}": tb("RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length "
                 "<= op.nbytes. 4800 vs 4000", MAIN, "/srv/app/fit.py:61:main:dist.all_reduce(grad)", rank=r)
     for r in (0, 1)}), may=[0, 1])

dead("monitored_barrier", "cpu_stall|uneven_work|peer_died", [2], ["rank 2|ranks? 2"], log(
    plain(1, 9),
    {"r0": tb("RuntimeError: Rank 2 failed to pass monitoredBarrier in 60000 ms\n Original exception: \n"
              "[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation "
              "to complete", MAIN, "/srv/app/ckpt.py:22:save:dist.monitored_barrier(timeout=T)", rank=0)}))

dead("horovod_stall_missing", "cpu_stall|collective_mismatch|uneven_work", [3], ["rank 3|ranks? 3"], log(
    {"r0": "Epoch 3/90: 120/1252 loss 5.21 images/s 1410\nEpoch 3/90: 130/1252 loss 5.18 images/s 1404\n"
           "[2026-03-14 10:41:08.121313: W /tmp/horovod/common/stall_inspector.cc:107] One or more tensors were "
           "submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks "
           "for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors or "
           "that only subset of ranks is submitting tensors, which will cause deadlock. \n"
           "Missing ranks:\n3: [allreduce.layer1.0.conv1.weight, allreduce.layer1.0.conv2.weight, "
           "allreduce.bn1.weight ...]\n"
           "[2026-03-14 10:42:08.121313: W /tmp/horovod/common/stall_inspector.cc:107] One or more tensors were "
           "submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks "
           "for more than 60 seconds.\nMissing ranks:\n3: [allreduce.layer1.0.conv1.weight, "
           "allreduce.layer1.0.conv2.weight, allreduce.bn1.weight ...]"}))

dead("horovod_shutdown_mismatch", "collective_mismatch", [], ["shape|mismatch", "allreduce|tensor|grad"], log(
    {f"r{r}": tb("horovod.common.exceptions.HorovodInternalError: Mismatched allreduce tensor shapes: One rank sent a "
                 "tensor of shape [128, 10], but another rank sent a tensor of shape [128, 12].", MAIN,
                 "/srv/hvd/train.py:88:train:optimizer.step()", rank=None) for r in (0, 1)}, prefix="mpirun"),
     may=[0, 1])

dead("hccl_notify_timeout_heartbeat", "peer_died|network|communication_stall|cpu_stall", [], ["EI0002|[Nn]otify|HCCL",
     r"90\.90\.92\.241|device 1|heartbeat|rank"], log(
    plain(88, 91),
    {"r0": "[rank0]: RuntimeError: The Inner error is reported as above.\n"
           "[rank0]: EI0002: [PID: 7277] 2026-03-14-10:59:30.645.648 The wait execution of the Notify register times "
           "out. Reason: The Notify register has not received the Notify record from remote rank [unknown].base "
           "information: [streamID:[2282987520], taskID[5], tag[AllReduce_90.90.92.240%eth0_60000_0_1773478844], "
           "AlgType(level 0-1-2):[fullmesh-ring-ring].] task information: [\n"
           "[rank0]: there are(is) 1 abnormal device(s):\n"
           "[rank0]: Cluster Exception Location[IP/ID]:[90.90.92.241/1], Arrival Time:[Sat Mar 14 10:56:34 2026], "
           "Discoverer:[90.90.92.240/0], ExceptionType:[Heartbeat Lost Occurred], Possible Reason:1. Process has exited, "
           "2. Network Disconnected\n[rank0]: ]"}))

dead("hccl_socket_timeout", "network|peer_died|communication_stall|cpu_stall|unknown", [], ["EI0006|socket|HCCL"], log(
    {"r1": tb("RuntimeError: InnerRunOpApi:torch_npu/csrc/framework/OpParamMaker.cpp:281 OPS function error: "
              "HcclAllreduce, error code is 6\n[ERROR] 2026-03-14-18:07:20 (PID:12363, Device:1, RankID:1) ERR01100 OPS "
              "call acl api failed.\nEI0006: [PID: 12363] 2026-03-14-18:07:20.444.436 Getting socket times out. Reason: "
              "Remote Rank did not send the data in time. Please check the reason for the rank being stuck",
              "/srv/rl/train.py:35:step:dist.all_reduce(x)", rank=1)}), may=[1])

dead("store_clients_joined", "peer_died|network|cpu_stall|unknown|application_error", [], [r"1/3|2 .*(miss|not)|joined",
     "store|rendezvous|client"], log(
    {"r0": tb("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/3 clients joined.",
              "/srv/app/main.py:20:<module>:dist.init_process_group('nccl')",
              "/opt/conda/lib/python3.11/site-packages/torch/distributed/rendezvous.py:189:_create_c10d_store:"
              "return TCPStore(", rank=0)}))

dead("port_in_use", "network|host|application_error", [], ["29500|port|address", "use"], log(
    tb("RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed "
       "to bind to [::]:29500 (errno: 98 - Address already in use). The server socket has failed to bind to "
       "?UNKNOWN? (errno: 98 - Address already in use).", "/srv/app/main.py:20:<module>:main()",
       "/srv/app/main.py:9:main:dist.init_process_group('gloo')")))

dead("nccl_remote_peer_closed_no_root", "peer_died|network", [], ["10.0.3.9|peer|closed|node-9"], log(
    plain(31, 36),
    {"r0": nccl("node-1", 700, 0, "[Service thread] Connection closed by localRank 3", sev="INFO") + "\n" +
           nccl("node-1", 700, 0, "NET/Socket : peer 10.0.3.9<50012> closed connection: Connection reset by peer")}),
     may=[0, 3])

dead("rccl_hang_socket", "cpu_stall|uneven_work|unknown", [9], ["rank 9"], log(
    plain(31, 36),
    {**{f"r{r}": watchdog(r, 991, "ALLREDUCE", 16) for r in (8, 10, 11)}, "r9": heard(9, 990, 990, other=8)}))

dead("nccl_shm_full", "host", [], ["/dev/shm|shared memory", "No space|space|full|small"], log(
    nccl("pod-7f", 91, 1, "Error: failed to extend /dev/shm/nccl-9xYb1k to 33030532 bytes, error: No space left on device "
         "(28)", src="misc/shmutils.cc:87") + "\n" +
    nccl("pod-7f", 91, 1, "Error while creating shared memory segment /dev/shm/nccl-9xYb1k (size 33030528), error: No "
         "space left on device (28)", src="misc/shmutils.cc:129") + "\n" +
    tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled "
       "system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.19.3\nncclSystemError: System call (e.g. "
       "socket, malloc) or external library call failed or device error. \nLast error:\nError while creating shared "
       "memory segment /dev/shm/nccl-9xYb1k (size 33030528)", MAIN, rank=1)), may=[1], never=["failing disk", "disk is"])

dead("dump_signal_only_names_the_absent", "cpu_stall", [4], ["rank 4"], log(
    titan(20, 26),
    {**{f"r{r}": watchdog(r, 5120, "_REDUCE_SCATTER_BASE", 1048576, 131072, desc="fsdp", pg="1", uid="3")
        for r in (0, 1, 2, 3)},
     "r4": heard(4, 5119, 5119, other=2, desc="fsdp", pg="1", uid="3"),
     **{f"r{r}": watchdog(r, 5120, "_REDUCE_SCATTER_BASE", 1048576, 131072, desc="fsdp", pg="1", uid="3")
        for r in (5, 6, 7)}}))
