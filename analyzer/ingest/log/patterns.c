/* SPDX-License-Identifier: Apache-2.0 */
/* The table of lines that tell something of a failure, in the wordings of PyTorch 1.13 to 2.10,
 * NCCL 2.10 to 2.30, launchers (torchrun, mpirun, Horovod, DeepSpeed, Lightning, Ray), Slurm,
 * Kubernetes, the CUDA and ROCm runtimes and the Linux kernel. */
#include "ingest/log/patterns.h"

#include <stddef.h>

static const struct inq_log_field of_work[] = {
    {"SeqNum=", INQ_LOG_SEQ},        {"OpType=", INQ_LOG_OP},
    {"NumelIn=", INQ_LOG_NUMEL_IN},  {"NumelOut=", INQ_LOG_NUMEL_OUT},
    {"TensorShape=", INQ_LOG_SHAPE}, {"Timeout(ms)=", INQ_LOG_TIMEOUT},
    {"ran for ", INQ_LOG_RAN},       {NULL, 0},
};

static const struct inq_log_field of_counters[] = {
    {"Timeout at NCCL work:", INQ_LOG_SEQ},
    {"watchdog at work:", INQ_LOG_SEQ},
    {"work sequence id:", INQ_LOG_SEQ},
    {"ast enqueued NCCL work:", INQ_LOG_ENQUEUED},
    {"ast enqueued work:", INQ_LOG_ENQUEUED},
    {"ast completed NCCL work:", INQ_LOG_COMPLETED},
    {"ast completed work:", INQ_LOG_COMPLETED},
    {"timeout from rank", INQ_LOG_PEER_RANK},
    {NULL, 0},
};

static const struct inq_log_field of_desync[] = {
    {"ranks [", INQ_LOG_RANKS},
    {"- [", INQ_LOG_RANKS},
    {"[", INQ_LOG_RANKS},
    {"join collective #", INQ_LOG_SEQ},
    {"collective #", INQ_LOG_SEQ},
    {"started", INQ_LOG_OP},
    {NULL, 0},
};

static const struct inq_log_field of_desync_timeout[] = {
    {"collective:", INQ_LOG_OP}, {", #", INQ_LOG_SEQ}, {"[", INQ_LOG_RANK}, {NULL, 0}};

static const struct inq_log_field of_init[] = {
    /* the rank is one of the communicator */
    {" rank ", INQ_LOG_PEER_RANK},
    {"nranks ", INQ_LOG_NRANKS},
    {"cudaDev ", INQ_LOG_DEVICE},
    {"busId ", INQ_LOG_BUS_ID},
    {NULL, 0},
};

static const struct inq_log_field of_version[] = {{"NCCL version ", INQ_LOG_OP}, {NULL, 0}};

static const struct inq_log_field of_completion[] = {
    {"peer ", INQ_LOG_PEER},
    {"status=", INQ_LOG_CODE},
    {"ERR(", INQ_LOG_CODE},
    {"ERROR(", INQ_LOG_CODE},
    {"with error ", INQ_LOG_CODE},
    {"RC:", INQ_LOG_CODE},
    {NULL, 0},
};

static const struct inq_log_field of_peer[] = {
    {"remote peer ", INQ_LOG_PEER}, {"recv from ", INQ_LOG_PEER},
    {"send to ", INQ_LOG_PEER},     {"onnect to ", INQ_LOG_PEER},
    {"peer [", INQ_LOG_PEER},       {"localRank ", INQ_LOG_PEER_RANK},
    {"remote=", INQ_LOG_PEER},      {NULL, 0},
};

static const struct inq_log_field of_modify[] = {{"remote IP ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_remote[] = {{"from rank:", INQ_LOG_PEER_RANK},
                                                 {"from rank ", INQ_LOG_PEER_RANK},
                                                 {"/task:", INQ_LOG_PEER_RANK}, /* JAX */
                                                 {NULL, 0}};

static const struct inq_log_field of_barrier[] = {{"issing ranks:", INQ_LOG_RANKS},
                                                  {"Ranks ", INQ_LOG_RANKS},
                                                  {"]: Rank ", INQ_LOG_RANKS},
                                                  {"Rank ", INQ_LOG_RANKS},
                                                  {NULL, 0}};

static const struct inq_log_field of_exit[] = {{"exitcode:", INQ_LOG_CODE},
                                               {"exitcode :", INQ_LOG_CODE},
                                               {"local_rank:", INQ_LOG_LOCAL_RANK},
                                               {"(pid:", INQ_LOG_PID},
                                               {NULL, 0}};

/* Launchers other than torchrun; the last of these names its last child, not the one that failed.
 */
static const struct inq_log_field of_child[] = {
    {"process rank ", INQ_LOG_RANK},  {"],", INQ_LOG_RANK},
    {"noticed rank ", INQ_LOG_RANK}, /* jsrun */
    {" on node ", INQ_LOG_HOST},      {"with PID ", INQ_LOG_PID},
    {"on signal ", INQ_LOG_SIGNAL},   {"(signal ", INQ_LOG_SIGNAL},

    {"with signal ", INQ_LOG_SIGNAL}, {"<Signals.", INQ_LOG_SIGNAL},
    {"with code ", INQ_LOG_CODE},     {"exit code of ", INQ_LOG_CODE},
    {"exit code ", INQ_LOG_CODE},     {"Exit code:", INQ_LOG_CODE},
    {"return code = ", INQ_LOG_CODE}, {"exit status ", INQ_LOG_CODE},
    {"process ", INQ_LOG_LOCAL_RANK}, {NULL, 0}};

/* "Container rank 2 status failed cmd ['python3', ...] code -6 log ..." of PaddlePaddle */
static const struct inq_log_field of_paddle[] = {{"Container rank ", INQ_LOG_RANK},
                                                 {"rank=[", INQ_LOG_RANK},
                                                 {"] code ", INQ_LOG_CODE},
                                                 {NULL, 0}};

/* "x4006c0s6b0n0.hsn.cm: rank 256 died from signal 11" of PALS */
static const struct inq_log_field of_pals[] = {
    {": rank ", INQ_LOG_RANK}, {"from signal ", INQ_LOG_SIGNAL}, {NULL, 0}};

/* "Global rank 2 (PID 77) exited with code -7" */
static const struct inq_log_field of_rank[] = {{"ank ", INQ_LOG_RANK},
                                               {"(PID ", INQ_LOG_PID},
                                               {"exit code ", INQ_LOG_CODE},
                                               {"with code ", INQ_LOG_CODE},
                                               {NULL, 0}};

static const struct inq_log_field of_missing[] = {{"Rank ", INQ_LOG_RANKS}, {NULL, 0}};

static const struct inq_log_field of_instance[] = {{"instance of", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_signal[] = {
    {"subprocess ", INQ_LOG_PID}, {"process ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_oom[] = {{". GPU ", INQ_LOG_DEVICE},
                                              {"(GPU ", INQ_LOG_DEVICE},
                                              {"error on GPU ", INQ_LOG_DEVICE},
                                              {NULL, 0}};

/* "rank 1 and rank 0 both on CUDA device 1b000": numbers of one communicator, so no ranks here */
static const struct inq_log_field of_shared[] = {{"detected :", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_cuda[] = {
    {"CUDA error: ", INQ_LOG_SENTENCE},    {"HIP error: ", INQ_LOG_SENTENCE},
    {"Error [CUDA]:", INQ_LOG_SENTENCE},   {"Cuda failure '", INQ_LOG_SENTENCE},
    {"runtime error (", INQ_LOG_SENTENCE}, {"CUBLAS_STATUS", INQ_LOG_SENTENCE},
    {"CUDNN_STATUS", INQ_LOG_SENTENCE},    {"CUDA_ERROR_", INQ_LOG_SENTENCE},
    {"Assertion", INQ_LOG_SENTENCE},       {"eason:", INQ_LOG_SENTENCE},
    {"eason :", INQ_LOG_SENTENCE},         {"? Error ", INQ_LOG_SENTENCE},
    {"IPC handle :", INQ_LOG_SENTENCE},    {"'", INQ_LOG_SENTENCE}, /* Cuda failure 999 '...' */
    {"Cuda failure", INQ_LOG_SENTENCE},    {NULL, 0}};

/* "cuda runtime error (39) : uncorrectable ECC error encountered at ..." */
static const struct inq_log_field of_runtime[] = {{") : ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_sycl[] = {
    {"(PI_ERROR_", INQ_LOG_OP}, {"_RESULT_ERROR_", INQ_LOG_OP}, {NULL, 0}};

/* "CUDA error(719), unspecified launch failure." */
static const struct inq_log_field of_numbered[] = {
    {"CUDA error(", INQ_LOG_CODE}, {"), ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_behind[] = {
    {"Rank ", INQ_LOG_RANK}, {"operation ", INQ_LOG_SEQ}, {"process ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_oom_kill[] = {
    {"pid=", INQ_LOG_PID}, {"rocess ", INQ_LOG_PID}, {NULL, 0}};

/* "Killed process 3812 (python)": the name stands in the first bracket. */
static const struct inq_log_field of_oom_victim[] = {
    {"rocess ", INQ_LOG_PID}, {"(", INQ_LOG_OP}, {NULL, 0}};

static const struct inq_log_field of_health[] = {{"Xid=", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_field of_value[] = {
    {"on rank ", INQ_LOG_RANK}, {"Rank ", INQ_LOG_RANK}, {NULL, 0}};

static const struct inq_log_field of_events[] = {{"Detected ", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_field of_stuck[] = {{"soft lockup - ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_blocked[] = {{"task ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_server[] = {{"server ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_pod[] = {{"pod/", INQ_LOG_PEER},
                                              {"workload/", INQ_LOG_PEER},
                                              {"job/", INQ_LOG_PEER},
                                              {"pod ", INQ_LOG_PEER},
                                              {NULL, 0}};

static const struct inq_log_field of_worker[] = {
    {"(pid(s) ", INQ_LOG_PID}, {"(pid ", INQ_LOG_PID}, {"signal: ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_async[] = {{"event: ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_mpi_abort[] = {{"on rank ", INQ_LOG_RANK},
                                                    {"rank:", INQ_LOG_RANK},
                                                    {"rank=", INQ_LOG_RANK},
                                                    {"(rank ", INQ_LOG_RANK},
                                                    {"- process ", INQ_LOG_RANK},
                                                    {"errorcode ", INQ_LOG_CODE},
                                                    {"MPI_COMM_WORLD, ", INQ_LOG_CODE},
                                                    {NULL, 0}};

/* "terminate called after throwing an instance of 'c10::Error'\n  what():  ..." */
static const struct inq_log_field of_abort[] = {{"what():", INQ_LOG_SENTENCE},
                                                {"instance of", INQ_LOG_SENTENCE},
                                                {"Fatal Python error:", INQ_LOG_SENTENCE},
                                                {"Signal:", INQ_LOG_SENTENCE},
                                                {"received signal ", INQ_LOG_SENTENCE},
                                                {NULL, 0}};

static const struct inq_log_field of_absl[] = {
    {"received by PID ", INQ_LOG_PID}, {"*** ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_sizes[] = {
    {"nbytes.", INQ_LOG_NUMEL_IN}, {" vs ", INQ_LOG_NUMEL_OUT}, {NULL, 0}};

/* "Missing ranks:\n0: [allreduce.x]", "[missing ranks: 0, 3]", "[ready ranks: 1, 2]" */
static const struct inq_log_field of_stalled[] = {
    {"issing ranks:", INQ_LOG_RANKS}, {"talled ranks:", INQ_LOG_RANKS}, {NULL, 0}};

/* "Timed out node list is: [const vector]{5, 6}" */
static const struct inq_log_field of_list[] = {{"]{", INQ_LOG_RANKS}, {NULL, 0}};

static const struct inq_log_field of_task[] = {
    {"/task:", INQ_LOG_RANKS}, {"task ", INQ_LOG_RANKS}, {NULL, 0}};

/* "Did not get subsequent heartbeat from rank 5 in 1800 seconds": of the rank's own monitor */
static const struct inq_log_field of_monitored[] = {{"heartbeat from rank ", INQ_LOG_RANK},
                                                    {NULL, 0}};

/* "ranks 1 and 6 have sent no heartbeat for 600 s" */
static const struct inq_log_field of_silent[] = {
    {"anks ", INQ_LOG_RANKS}, {"ank ", INQ_LOG_RANKS}, {NULL, 0}};

static const struct inq_log_field of_joined[] = {
    {"clients.", INQ_LOG_SEQ}, {"/", INQ_LOG_NRANKS}, {NULL, 0}};

static const struct inq_log_field of_unique_id[] = {
    {"ncclUniqueId from [", INQ_LOG_PEER_RANK}, {"UniqueId from [", INQ_LOG_PEER_RANK}, {NULL, 0}};

static const struct inq_log_field of_proxy[] = {
    {"from rank ", INQ_LOG_PEER_RANK}, {"retcode ", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_field of_process[] = {
    {"ank ", INQ_LOG_RANK},     {"ank=", INQ_LOG_RANK},         {"ank: ", INQ_LOG_RANK},
    {"pid ", INQ_LOG_PID},      {"pid=", INQ_LOG_PID},          {"pid: ", INQ_LOG_PID},
    {"world ", INQ_LOG_NRANKS}, {"world_size", INQ_LOG_NRANKS}, {NULL, 0}};

static const struct inq_log_field of_ping[] = {
    {"ping failed on ", INQ_LOG_PEER}, {"ping RPC timeout from ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_daemon[] = {
    {"Remote daemon", INQ_LOG_SENTENCE}, {"on node ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_mpi_error[] = {{"MPI_ERR_", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_amd[] = {
    {"amdgpu ", INQ_LOG_BUS_ID},     {"i915 ", INQ_LOG_BUS_ID}, {" xe ", INQ_LOG_BUS_ID},
    {"habanalabs ", INQ_LOG_BUS_ID}, {"pid ", INQ_LOG_PID},     {NULL, 0}};

static const struct inq_log_field of_npu[] = {{"RankID:", INQ_LOG_RANK},
                                              {"remote rank [", INQ_LOG_PEER_RANK},
                                              {"remote rank ", INQ_LOG_PEER_RANK},
                                              {"remote rank: [", INQ_LOG_PEER_RANK},
                                              {"Location[IP/ID]:[", INQ_LOG_PEER},
                                              {"Device:", INQ_LOG_DEVICE},
                                              {"PID:", INQ_LOG_PID},
                                              {"error code is ", INQ_LOG_CODE},
                                              {"error code:", INQ_LOG_CODE},
                                              {"Reason:", INQ_LOG_SENTENCE},
                                              {"reason=", INQ_LOG_SENTENCE},
                                              {NULL, 0}};

static const struct inq_log_field of_hsa[] = {
    {"[pid:", INQ_LOG_PID}, {"HSA_STATUS_", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_address[] = {{"(IP: ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_node[] = {{"IP: ", INQ_LOG_PEER},
                                               {"address: ", INQ_LOG_PEER},
                                               {"Node ", INQ_LOG_PEER},
                                               {"node ", INQ_LOG_PEER},
                                               {NULL, 0}};

static const struct inq_log_field of_worker_exit[] = {
    {"orker IP address: ", INQ_LOG_PEER}, {"ip: ", INQ_LOG_PEER}, {"ip=", INQ_LOG_PEER},
    {"orker PID: ", INQ_LOG_PID},         {"pid: ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_dead_node[] = {{"Node Id: ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_owner[] = {{"Owner Ip address: ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_allocation[] = {
    {"tried to allocate ", INQ_LOG_SENTENCE}, {"Unable to allocate ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_fabric[] = {
    {"Peer host id: ", INQ_LOG_PEER}, {"peer ", INQ_LOG_PEER},       {"RC: ", INQ_LOG_CODE},
    {"err: ", INQ_LOG_CODE},          {"Error: ", INQ_LOG_SENTENCE}, {NULL, 0}};

/* Google's digest of a hang over many TPU slices: whose fault it takes it for. */
static const struct inq_log_field of_digest[] = {
    {"TPUs are: ", INQ_LOG_PEER},        {"stalls are: ", INQ_LOG_PEER},
    {"culprit workers: ", INQ_LOG_PEER}, {"fingerprints: ", INQ_LOG_PEER},
    {"following hosts: ", INQ_LOG_PEER}, {NULL, 0}};

/* "Process 3 exit with status code 134." of Horovod, whose processes are its ranks; or "Process
 * name: 3" and "Exit code: 134" below a line */
static const struct inq_log_field of_horovod[] = {{"rocess name: ", INQ_LOG_RANK},
                                                  {"Exit code: ", INQ_LOG_CODE},
                                                  {"rocess ", INQ_LOG_RANK},
                                                  {"status code ", INQ_LOG_CODE},
                                                  {NULL, 0}};

static const struct inq_log_pattern patterns[] = {
    /* PyTorch's watchdog */
    LAST(WATCHDOG_TIMEOUT, "caught collective operation timeout", NULL, of_work),
    LAST(WORK_FAILED, "Timeout at NCCL work", NULL, of_counters),
    LAST(WORK_FAILED, "detected by watchdog at work", NULL, of_counters),
    LAST(DUMP_SIGNAL, "Received a dump signal", NULL, of_counters),
    ROW(WATCHDOG_ENDED, "watchdog thread terminated with exception", NULL, NULL),
    LAST(WATCHDOG_ENDED, "taking the entire process down", NULL, NULL),
    LAST(WATCHDOG_ENDED, "Some NCCL operations have failed", NULL, NULL),
    ROW(ASYNC_EXCEPTION, "raised the following async exception", NULL, of_work),
    LAST(BLOCKING_WAIT, "blocking wait", "timed out in", of_work),
    LAST(WATCHDOG_STUCK, "watchdog got stuck for", NULL, NULL),
    LAST(WATCHDOG_STUCK, "Heartbeat monitor timed out", NULL, NULL),
    ROW(WATCHDOG_STUCK, "due to ProcessGroupNCCL watchdog hang", NULL, NULL),
    LAST(ENGINE_STUCK, "Watchdog timeout (", NULL, NULL),  /* SGLang */
    LAST(ENGINE_STUCK, "may be stuck", "endezvous", NULL), /* XLA */
    LAST(ENGINE_STUCK, "may be stuck", "collective operation", NULL),
    LAST(GIL, "acquire GIL within", NULL, NULL),
    LAST(GIL, "acquire GIL on exit", NULL, NULL),
    LAST(REMOTE_ERROR, "remote error detected from rank", NULL, of_remote),
    LAST(STORE_LOST, "should dump\" flag on TCPStore", NULL, NULL),
    ROW(STORE_LOST, "recvValue failed", NULL, of_peer),
    ROW(STORE_LOST, "recvVector failed", NULL, of_peer),
    ROW(STORE_LOST, "sendBytes failed", NULL, of_peer),
    ROW(STORE_LOST, "remote server shutdown or crash", NULL, NULL),
    ROW(STORE_TIMEOUT, "wait timeout after", NULL, NULL),
    ROW(STORE_TIMEOUT, "Socket Timeout", NULL, NULL),
    ROW(STORE_TIMEOUT, "for clients. ", NULL, of_joined),
    ROW(STORE_TIMEOUT, "UniqueId from [", NULL, of_unique_id),
    ROW(STORE_TIMEOUT, "client socket has timed out", NULL, NULL),
    LAST(DESYNC_NEVER, "lagging ranks that caused this timeout", NULL, of_desync),
    LAST(DESYNC_UNFINISHED, "joined but didn't finish collective", NULL, of_desync),
    LAST(DESYNC_BEHIND, "but didn't join collective", NULL, of_desync),
    SPECIAL(DESYNC_STARTED, "] started ", "[", of_desync, INQ_LOG_STARTED),
    LAST(WORK_FAILED, "Timeout at collective", NULL, of_desync_timeout),
    SPECIAL(MISMATCH, "mismatch between collectives on ranks", NULL, NULL, INQ_LOG_FINGERPRINTS),
    ROW(MISMATCH, "essage truncated", "bytes instead of", NULL),
    LAST(MISMATCH, "ismatched collective detected", NULL, NULL),
    /* Gloo, barriers, sockets */
    ROW(GLOO_CLOSED, " by peer", "closed", of_peer),
    ROW(GLOO_TIMEOUT, "Timed out waiting", "ms for", NULL),
    ROW(GLOO_TIMEOUT, "Application timeout caused pair closure", NULL, NULL),
    LAST(BARRIER_RANKS, "failed to pass monitoredBarrier", NULL, of_barrier),
    LAST(BARRIER_RANKS, "issing ranks:", NULL, of_barrier),
    LAST(REMOTE_ERROR, "reached monitoredBarrier, but received errors", NULL, of_remote),
    LAST(REMOTE_ERROR, "coordination service:", "ERROR in", of_remote),
    LAST(STORE_LOST, "coordination service:", "UNAVAILABLE", of_peer),
    LAST(REMOTE_ERROR, "Horovod has been shut down", NULL, NULL),
    LAST(NCCL_SERVICE, "closed by localRank", NULL, of_peer),
    LAST(PEER_CLOSED, "closed by remote peer", NULL, of_peer),
    LAST(PEER_CLOSED, "Call to recv from", "failed", of_peer),
    LAST(PEER_CLOSED, "Call to send to", "failed", of_peer),
    ROW(PEER_CLOSED, "Socket recv failed", NULL, NULL),
    ROW(PEER_CLOSED, "Failed to execute operation", "retcode", of_proxy),
    ROW(PEER_CLOSED, " by peer", "reset", of_peer),
    ROW(PEER_CLOSED, "Broken pipe", NULL, of_peer),
    /* the launcher */
    SPECIAL(EXIT_ROW, "exitcode", "(local_rank:", of_exit, INQ_LOG_EXIT_ITEM),
    LAST(EXIT, "exitcode", "local_rank:", of_exit),
    SPECIAL(EXIT_ROW, "exitcode", "(pid:", of_exit, INQ_LOG_EXIT_ITEM),
    SPECIAL(EXIT, "noticed that process rank", "exited on", of_child, INQ_LOG_WRAPPED),
    LAST(EXIT, "exited on signal", "process rank", of_child),
    {INQ_LOG_EXIT, INQ_LOG_PLAIN, ": [[", "Process name", of_child, 1, true},
    {INQ_LOG_EXIT, INQ_LOG_PLAIN, "has exited due to process rank", NULL, of_child, 1, true},
    LAST(EXIT, "exit with status code", "rocess ", of_horovod),
    SPECIAL(EXIT, "first process to do so was", NULL, of_horovod, INQ_LOG_BELOW),
    LAST(EXIT, "non-zero exit code of", "noticed rank ", of_child), /* jsrun */
    LAST(EXIT, "Container rank ", "status failed", of_paddle),
    SPECIAL(EXIT, "Container failed !!!", NULL, of_paddle, INQ_LOG_BELOW),
    LAST(EXIT, "died from signal ", ": rank ", of_pals),
    LAST(EXIT, "exits with return code", NULL, of_child),
    LAST(EXIT, "non-zero exit status", NULL, of_child),
    LAST(EXIT, "crashed with exit code", "ank ", of_rank),
    LAST(EXIT, "exited with code", "ank ", of_rank),
    LAST(EXIT, "<Signals.", "died with", of_child),
    LAST(EXIT, "terminated with ", "process", of_child),
    LAST(SIGTERM_SENT, "Killing subprocess", NULL, of_signal),
    LAST(SIGTERM_SENT, "closing signal", "process", of_signal),
    ROW(SIGTERM_SENT, "death signal", NULL, NULL),
    ROW(SIGTERM_SENT, "got signal: ", NULL, of_signal),
    ROW(PYTHON_ERROR, "std::bad_alloc", "instance of", of_instance),
    /* CUDA */
    CLAUSE(CUDA_OOM, "CUDA out of memory", "!1EB", of_oom),
    CLAUSE(CUDA_OOM, "HIP out of memory", "!1EB", of_oom),
    ROW(CUDA_OOM, "OutOfMemoryError: Allocation on device", NULL, NULL),
    CLAUSE(CUDA_ERROR, "CUDA error: ", "!out of memory", of_cuda),
    ROW(CUDA_OOM, "CUDA error: ", "out of memory", of_oom),
    LAST(CUDA_ERROR, "CUDA error: ", "RuntimeError", of_cuda), /* of two processes in one line */
    CLAUSE(CUDA_ERROR, "HIP error: ", NULL, of_cuda),
    LAST(CUDA_ERROR, "CUDA error(", NULL, of_numbered), /* PaddlePaddle */
    ROW(CUDA_ERROR, "cudaGetDeviceCount", NULL, of_cuda),
    ROW(CUDA_ERROR, "cuda runtime error (", NULL, of_runtime),
    ROW(CUDA_ERROR, "Triton Error [CUDA]", NULL, of_cuda),
    ROW(CUDA_OOM, "CUBLAS_STATUS_ALLOC_FAILED", NULL, NULL),
    ROW(CUDA_ERROR, "CUBLAS_STATUS_", "!CUBLAS_STATUS_ALLOC_FAILED", of_cuda),
    ROW(CUDA_ERROR, "CUDNN_STATUS_", NULL, of_cuda),
    LAST(CUDA_ERROR, "CUDA_ERROR_", ":", of_cuda),
    LAST(CUDA_OOM, "Out of memory error on GPU", NULL, of_oom),                /* PaddlePaddle */
    LAST(HOST_MEMORY, "OOM when allocating tensor", "by allocator cpu", NULL), /* TensorFlow */
    LAST(CUDA_OOM, "OOM when allocating tensor", NULL, NULL),
    LAST(CUDA_OOM, "esource exhausted:", "ttempting to ", NULL), /* TPUs in TensorFlow's words */
    LAST(CUDA_OOM, "esource exhausted:", "emory space", NULL),
    LAST(CUDA_OOM, "RESULT_ERROR_", "OUT_OF_DEVICE_MEMORY", NULL), /* Level Zero, SYCL */
    LAST(HOST_MEMORY, "RESULT_ERROR_", "OUT_OF_HOST_MEMORY", NULL),
    LAST(NPU_FAULT, "RESULT_ERROR_", "DEVICE_LOST", NULL),
    LAST(CUDA_ERROR, "RESULT_ERROR_", NULL, of_sycl),
    LAST(CUDA_OOM, "PI_ERROR_", "OUT_OF_DEVICE_MEMORY", NULL), /* SYCL's before */
    LAST(NPU_FAULT, "PI_ERROR_", "DEVICE_LOST", NULL),
    LAST(CUDA_ERROR, "PI_ERROR_", NULL, of_sycl),
    LAST(CUDA_OOM, "RESOURCE_EXHAUSTED", "emory", NULL),
    LAST(CUDA_OOM, "RESOURCE_EXHAUSTED", "llocating device buffer", NULL),
    LAST(CUDA_OOM, "RESOURCE_EXHAUSTED", "ttempting to ", NULL),
    {INQ_LOG_CUDA_ERROR, INQ_LOG_PLAIN, "Assertion `", "thread: [", of_cuda, 710, false},
    {INQ_LOG_CUDA_ERROR, INQ_LOG_PLAIN, "illegal memory access", "!CUDA error: ", NULL, 700, true},
    {INQ_LOG_CUDA_ERROR, INQ_LOG_PLAIN, "fault by GPU", "Memory access", of_cuda, 700, true},
    LAST(CUDA_ERROR, "HW Exception by GPU", NULL, of_cuda),
    LAST(NCCL_CUDA_ERROR, "Cuda failure", NULL, of_cuda),
    LAST(NCCL_CUDA_ERROR, "CUDA IPC handle :", NULL, of_cuda),
    /* NCCL */
    LAST(NCCL_INIT, "- Init COMPLETE", "busId", of_init),
    LAST(NCCL_INIT, "- Init START", "busId", of_init),
    LAST(NCCL_INIT, "Init COMPLETE", "busId", of_init),
    LAST(NCCL_START, "NET/IB : Using", NULL, NULL),
    LAST(NCCL_START, "Bootstrap : Using", NULL, NULL),
    LAST(NCCL_START, "NCCL version ", "!rror", of_version),
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 1", "NCCL INFO", NULL, 1, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 2", "NCCL INFO", NULL, 2, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 3", "NCCL INFO", NULL, 3, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 6", "NCCL INFO", NULL, 6, true},
    LAST(NCCL_IB, "Got completion from peer", NULL, of_completion),
    ROW(NCCL_IB_ASYNC, "async event: ", "NET/IB", of_async),
    ROW(NCCL_IB_ASYNC, "async error event: ", "NET/IB", of_async),
    ROW(NCCL_IB_ASYNC, "async fatal event: ", NULL, of_async),
    LAST(NCCL_CONNECT, "onnect to ", "retry count after", of_peer),
    LAST(NCCL_CONNECT, "onnect to ", "refused", of_peer),
    LAST(NCCL_CONNECT, "onnect to ", "imed out", of_peer),
    LAST(NCCL_CONNECT, "onnect to ", "No route to host", of_peer),
    LAST(NCCL_CONNECT, "Connect to ", "failed", of_peer),
    LAST(NCCL_CONNECT, "ibv_modify_qp failed", NULL, of_modify),
    LAST(NCCL_CONNECT, "connectFullMesh failed", NULL, NULL),
    CODE(NCCL_ERROR, "ncclUnhandledCudaError", NULL, 1),
    CODE(NCCL_ERROR, "ncclSystemError", NULL, 2),
    CODE(NCCL_ERROR, "ncclInternalError", NULL, 3),
    CODE(NCCL_ERROR, "ncclInvalidArgument", NULL, 4),
    CODE(NCCL_ERROR, "ncclInvalidUsage", NULL, 5),
    CODE(NCCL_ERROR, "ncclRemoteError", NULL, 6),
    CODE(NCCL_ERROR, "CL error in", ", invalid usage", 5),
    CODE(NCCL_ERROR, "CL error in", NULL, -1),
    {INQ_LOG_NCCL_ERROR, INQ_LOG_PLAIN, "Duplicate GPU detected", NULL, of_shared, 5, false},
    LAST(RAS_BEHIND, "launched up to operation", "has launched", of_behind),
    LAST(RAS_BEHIND, "launched up to operation", NULL, NULL),
    LAST(RAS_MISSING, "Missing communicator data from", NULL, of_missing),
    /* Slurm */
    LAST(SLURM_TIME_LIMIT, "CANCELLED AT", "TIME LIMIT", NULL),
    LAST(SLURM_PREEMPTED, "CANCELLED AT", "PREEMPTION", NULL),
    LAST(SLURM_PREEMPTED, "CANCELLED AT", "JOB REQUEUE", NULL),
    LAST(SLURM_NODE_FAILED, "CANCELLED AT", "NODE FAILURE", NULL),
    LAST(SLURM_CANCELLED, "CANCELLED AT", NULL, NULL),
    LAST(SLURM_CANCELLED, "Job step aborted", NULL, NULL),
    LAST(SLURM_OOM, "Detected ", "oom-kill event", of_events),
    LAST(SLURM_OOM, "Detected ", "oom_kill event", of_events),
    {INQ_LOG_SLURM_EXIT, INQ_LOG_SRUN, "srun: error:", "task", NULL, -1, true},
    LAST(SLURM_PREEMPTED, "job is preempted", NULL, NULL),
    LAST(SLURM_TIME_LIMIT, "job is timed-out", NULL, NULL),
    LAST(SLURM_NODE_FAILED, "Node failure on", NULL, NULL),
    /* the kernel */
    SPECIAL(XID, "NVRM: Xid", NULL, NULL, INQ_LOG_FROM_KERNEL),
    LAST(XID, "XidCriticalError", NULL, of_health),
    SPECIAL(FALLEN_OFF, "fallen off the bus", "!Xid (", NULL, INQ_LOG_FALLEN),
    LAST(GPU_DRIVER, "GSP Timeout", NULL, NULL),
    LAST(GPU_DRIVER, "RmInitAdapter failed", NULL, NULL),
    LAST(GPU_DRIVER, "HeartbeatTimedOut", "timed out", NULL),
    SPECIAL(SXID, "SXid (", NULL, NULL, INQ_LOG_FROM_KERNEL),
    SPECIAL(KERNEL_OOM, "invoked oom-killer", NULL, NULL, INQ_LOG_PLAIN),
    LAST(KERNEL_OOM, "oom-kill:constraint", NULL, of_oom_kill),
    LAST(KERNEL_OOM, "Killed process", NULL, of_oom_victim),
    LAST(KERNEL_OOM, "Kill process", "memory", of_oom_kill),
    SPECIAL(SEGFAULT, "segfault at", NULL, NULL, INQ_LOG_FAULT),
    SPECIAL(SEGFAULT, "general protection", NULL, NULL, INQ_LOG_FAULT),
    LAST(SOFT_LOCKUP, "soft lockup", NULL, of_stuck),
    LAST(SOFT_LOCKUP, "LOCKUP on cpu", NULL, NULL),
    LAST(HUNG_TASK, "blocked for more than", NULL, of_blocked),
    LAST(NFS_DOWN, "nfs: server", "not responding", of_server),
    LAST(NFS_OK, "nfs: server", "OK", of_server),
    LAST(NFS_DOWN, "in progress operations using this service will wait", NULL, NULL),
    LAST(NFS_OK, "onnection restored to", NULL, NULL),
    LAST(LINK_DOWN, "Link DOWN", NULL, NULL),
    LAST(LINK_DOWN, "Link INIT", NULL, NULL),
    LAST(LINK_DOWN, "Link down", NULL, NULL),
    LAST(LINK_DOWN, "link down", NULL, NULL),
    LAST(LINK_DOWN, "Link is Down", NULL, NULL),
    LAST(LINK_DOWN, "module event[error]", NULL, NULL),
    LAST(LINK_UP, "Link ACTIVE", NULL, NULL),
    LAST(LINK_UP, "Link UP", NULL, NULL),
    LAST(LINK_UP, "Link up", NULL, NULL),
    LAST(LINK_UP, "link up", NULL, NULL),
    LAST(LINK_UP, "Link is Up", NULL, NULL),
    LAST(PCIE_CORRECTED, "severity=Corrected", NULL, NULL),
    LAST(PCIE_CORRECTED, "Corrected error received", NULL, NULL),
    LAST(PCIE_FATAL, "severity=Uncorrected", NULL, NULL),
    LAST(PCIE_FATAL, "Uncorrected (Fatal)", NULL, NULL),
    LAST(PCIE_FATAL, "Uncorrectable error received", NULL, NULL),
    LAST(MACHINE_CHECK, "Machine Check Exception", NULL, NULL),
    LAST(MACHINE_CHECK, "Hardware Error]", "ncorrected", NULL),
    LAST(MACHINE_CHECK, "Hardware Error]", "severity: fatal", NULL),
    LAST(MACHINE_CHECK, "Hardware Error]", "severity: recoverable", NULL),
    LAST(DISK, "Remounting filesystem read-only", NULL, NULL),
    LAST(DISK, "nvme", "reset controller", NULL),
    LAST(DISK, "I/O error, dev", NULL, NULL),
    CLAUSE(DISK, "No space left on device", NULL, NULL),
    CLAUSE(DISK, "Stale file handle", NULL, NULL),
    CLAUSE(DISK, "Input/output error", NULL, NULL),
    CLAUSE(DISK, "Read-only file system", NULL, NULL),
    CLAUSE(DISK, "Disk quota exceeded", NULL, NULL),
    LAST(DISK, "StreamWriter failed writing", NULL, NULL),
    LAST(DISK, "iostream error", NULL, NULL),
    LAST(PANIC, "Kernel panic", NULL, NULL),
    /* processes and containers */
    CLAUSE(SEGFAULT, "Segmentation fault", NULL, NULL),
    LAST(SEGFAULT, "Caught signal 11", NULL, NULL),
    LAST(BUS_ERROR, "Caught signal 7", NULL, NULL),
    LAST(LOADER_DIED, "out of shared memory", NULL, NULL),
    LAST(LOADER_DIED, "DataLoader worker", "killed by signal", of_worker),
    LAST(LOADER_DIED, "DataLoader worker", "exited unexpectedly", of_worker),
    CLAUSE(BUS_ERROR, "Bus error", NULL, NULL),
    {INQ_LOG_POD_OOM, INQ_LOG_DESCRIBED, "OOMKilled", NULL, of_pod, -1, true},
    LAST(POD_OOM, "low on memory", "node running", of_address),
    LAST(EVICTED_DISK, "ephemeral local storage usage exceeds", NULL, of_pod),
    LAST(EVICTED_DISK, "Usage of EmptyDir volume", "exceeds", of_pod),
    LAST(EVICTED_MEMORY, "Evicted", "low on resource: memory", of_pod),
    LAST(EVICTED_DISK, "Evicted", "low on resource: ephemeral-storage", of_pod),
    LAST(POD_EVICTED, "Evicted", "eason", of_pod), /* caches evict, too */
    LAST(POD_EVICTED, "Evicted", "kubelet", of_pod),
    LAST(POD_EVICTED, "Evicted", "low on", of_pod),
    LAST(POD_EVICTED, "Evicted", "0/", of_pod),
    ROW(POD_EVICTED, "Evicted", "Warning", of_pod), /* for what, its message may say */
    LAST(POD_EVICTED, "TaintManagerEviction", NULL, of_pod),
    LAST(POD_EVICTED, "imminent node shutdown", NULL, of_pod),
    LAST(POD_EVICTED, "Preempted to accommodate", NULL, of_pod), /* Kueue */
    LAST(SLURM_NODE_FAILED, "NodeNotReady", NULL, of_pod),
    SPECIAL(KILLED, "Killed", "!process", NULL, INQ_LOG_ALONE),
    LAST(NOT_FINITE, "is nan, stopping", NULL, of_value),
    LAST(NOT_FINITE, "found NaN in", NULL, of_value),
    LAST(NOT_FINITE, "found Inf in", NULL, of_value),
    LAST(NOT_FINITE, "NaN detected", NULL, of_value),
    LAST(NOT_FINITE, "nan or inf", NULL, of_value),
    LAST(NOT_FINITE, "nan values in its", NULL, of_value),
    LAST(NOT_FINITE, "loss scale already at minimum", NULL, of_value),
    SPECIAL(PROCESS, "pid ", "ank", of_process, INQ_LOG_IDENTITY),
    SPECIAL(PROCESS, "pid=", "ank", of_process, INQ_LOG_IDENTITY),
    SPECIAL(PROCESS, "pid: ", "ank", of_process, INQ_LOG_IDENTITY),
    /* MPI */
    SPECIAL(NODE_LOST, "lost communication with a remote daemon", NULL, NULL, INQ_LOG_DAEMON),
    LAST(NODE_LOST, "daemon died unexpectedly", NULL, of_daemon),
    LAST(NODE_LOST, "ping failed on", NULL, of_ping), /* PALS */
    LAST(NODE_LOST, "ping RPC timeout from", NULL, of_ping),
    LAST(MPI_ERROR, "MPI_ERR_", NULL, of_mpi_error),
    LAST(MPI_ABORT, "MPI_ABORT was invoked on rank", NULL, of_mpi_abort),
    LAST(MPI_ABORT, "application called MPI_Abort", NULL, of_mpi_abort),
    LAST(MPI_TIME_LIMIT, "user-provided time limit for job execution", NULL, NULL),
    LAST(ABORTED, "*** Process received signal", NULL, of_abort),
    LAST(ABORTED, "rank=[", "rainer process with", of_paddle),
    LAST(ABORTED, "Program received signal", NULL, of_abort), /* gfortran, gdb */
    LAST(ABORTED, "*** SIGABRT received by PID", NULL, of_absl),
    LAST(ABORTED, "*** SIGSEGV received by PID", NULL, of_absl),
    LAST(ABORTED, "*** SIGSEGV (@", "received by PID", of_absl),
    LAST(ABORTED, "*** SIGBUS received by PID", NULL, of_absl),
    CLAUSE(ABORTED, "Check failed: ", NULL, NULL),         /* glog, absl, Ray */
    LAST(ABORTED, "Assertion failed in file", NULL, NULL), /* MPICH */
    {INQ_LOG_ABORTED, INQ_LOG_WHAT, "terminate called", NULL, of_abort, -1, true},
    SPECIAL(ABORTED, "Fatal Python error", NULL, of_abort, INQ_LOG_EXCEPTION),
    LAST(ABORTED, "(core dumped)", NULL, NULL),
    SPECIAL(ABORTED, "Aborted ", NULL, NULL, INQ_LOG_ALONE), /* by a shell */
    LAST(ABORTED, "pure virtual method called", NULL, NULL),
    LAST(ABORTED, "double free or corruption", NULL, NULL),
    LAST(ABORTED, "malloc(): ", NULL, NULL),
    LAST(ABORTED, "free(): invalid", NULL, NULL),
    LAST(ABORTED, "Attempt to free invalid", NULL, NULL), /* tcmalloc */
    LAST(ABORTED, "munmap_chunk(): invalid", NULL, NULL),
    LAST(ABORTED, "corrupted size vs", NULL, NULL),
    LAST(ABORTED, "stack smashing detected", NULL, NULL),
    SPECIAL(STOPPED, "Terminated", "python", NULL, INQ_LOG_ALONE), /* by a shell */
    SPECIAL(STOPPED, "Terminated", "torchrun", NULL, INQ_LOG_ALONE),
    SPECIAL(STOPPED, "Terminated", "deepspeed", NULL, INQ_LOG_ALONE),
    SPECIAL(STOPPED, "Terminated", "accelerate", NULL, INQ_LOG_ALONE),
    LAST(STOPPED, "eceived SIGTERM", NULL, NULL),
    LAST(STOPPED, "eceived signal 15", NULL, NULL),
    LAST(STOPPED, "eceived signal SIGTERM", "!if the", NULL),
    LAST(STOPPED, "eceived termination signal", "!if the", NULL),
    LAST(STOPPED, "SIGTERM received", "!when", NULL),
    LAST(STOPPED, "aught SIGTERM", "!on caught", NULL),
    LAST(STOPPED, "Exiting gracefully", "ignal", NULL),
    /* memory of the host */
    LAST(HOST_MEMORY, "DefaultCPUAllocator", NULL, of_allocation),
    LAST(HOST_MEMORY, "Unable to allocate", "for an array", of_allocation),
    CLAUSE(HOST_MEMORY, "Cannot allocate memory", "!strerror", NULL), /* a library's errno */
    CLAUSE(PROCESS_LIMIT, "Too many open files", NULL, NULL),
    CLAUSE(PROCESS_LIMIT, "Resource temporarily unavailable", "pthread_create", NULL),
    ROW(PROCESS_LIMIT, "can't start new thread", NULL, NULL),
    LAST(PROCESS_LIMIT, "fork: retry: Resource temporarily", NULL, NULL),
    LAST(SLURM_OOM, "exceeded memory limit", NULL, NULL),
    LAST(SLURM_OOM, "Exceeded job memory limit", NULL, NULL),
    LAST(SLURM_OOM, "exceeded virtual memory limit", NULL, NULL),
    LAST(SHARED_MEMORY, "shared memory segment", "/dev/shm", NULL),
    LAST(SHARED_MEMORY, "/dev/shm", "No space left", NULL),
    LAST(SHARED_MEMORY, "/dev/shm", "insufficient", NULL),
    LAST(SHARED_MEMORY, "insufficient shared memory", NULL, NULL),
    LAST(SHARED_MEMORY, "unable to open shared memory object", NULL, NULL),
    LAST(SHARED_MEMORY, "unable to write to file </torch_", NULL, NULL),
    LAST(SHARED_MEMORY, "unable to mmap", "/torch_", NULL),
    /* Kubernetes, Ray */
    LAST(EVICTED_MEMORY, "low on resource: memory", NULL, NULL),
    LAST(EVICTED_DISK, "low on resource: ephemeral-storage", NULL, NULL),
    LAST(EVICTED_DISK, "local ephemeral storage usage exceeds", NULL, NULL),
    LAST(POD_EVICTED, "Preempted by", NULL, of_pod),
    LAST(POD_OOM, "killed due to memory pressure", NULL, of_node),
    LAST(NODE_LOST, "missed too many heartbeats", NULL, of_node),
    LAST(NODE_LOST, "Node is not ready", NULL, NULL),
    LAST(NODE_LOST, "node(s) had been lost", NULL, NULL),
    LAST(NODE_LOST, "because its node has died", NULL, of_dead_node),
    SPECIAL(WORKER_LOST, "actor died unexpectedly", NULL, of_worker_exit, INQ_LOG_BELOW),
    LAST(WORKER_LOST, "worker died unexpectedly", NULL, of_worker_exit),
    LAST(WORKER_LOST, "Worker unexpectedly exits", NULL, of_worker_exit),
    LAST(WORKER_LOST, "orker exit type: SYSTEM_ERROR", NULL, of_worker_exit),
    LAST(WORKER_LOST, "because its owner has died", NULL, of_owner),
    LAST(WORKER_LOST, "died unexpectedly, shutting down", NULL, NULL), /* vLLM */
    LAST(WORKER_LOST, "process pool was terminated abruptly", NULL, NULL),
    /* drivers and libraries */
    LAST(VERSION_MISMATCH, "Driver/library version mismatch", NULL, NULL),
    LAST(VERSION_MISMATCH, "NVRM: API mismatch", NULL, NULL),
    LAST(VERSION_MISMATCH, "driver version is insufficient", NULL, NULL),
    LAST(VERSION_MISMATCH, "driver on your system is too old", NULL, NULL),
    LAST(VERSION_MISMATCH, "Failed to initialize NVML", NULL, NULL),
    /* Ascend */
    LAST(NPU_FAULT, "aicore exception", NULL, of_npu),
    LAST(NPU_FAULT, "aicore error", NULL, of_npu),
    LAST(NPU_SETUP, "Failed to initialize the HCCP", NULL, of_npu),
    LAST(NPU_SETUP, "EJ0001", NULL, of_npu),
    LAST(NPU_SETUP, "TPU initialization failed", NULL, NULL),
    LAST(NPU_SETUP, "/dev/vfio/", "busy", NULL),
    LAST(NPU_SETUP, "get global TPU topology", NULL, NULL),
    LAST(NPU_SETUP, "synapse error", NULL, of_npu),
    LAST(NPU_SETUP, "synStatus=", NULL, of_npu),
    LAST(NPU_SETUP, "synStatus ", "failed", of_npu),
    LAST(NPU_FAULT, "vector core exception", NULL, of_npu),
    LAST(NPU_FAULT, "task exception", "device", of_npu),
    LAST(NPU_FAULT, "multi bit ecc", NULL, of_npu),
    LAST(NPU_FAULT, "Multi-bit ECC", NULL, of_npu),
    LAST(NPU_FAULT, "multi-bit ECC", NULL, of_npu),
    LAST(NPU_FAULT, "HBM MULTI BIT ECC", NULL, of_npu),
    LAST(NPU_FAULT, "device is lost", "npu", of_npu),
    LAST(NPU_FAULT, "NPU is lost", NULL, of_npu),
    LAST(NPU_FAULT, "lost heartbeat", "ts ", of_npu),
    LAST(NPU_FAULT, "lost heartbeat", "task scheduler", of_npu),
    LAST(NPU_SETUP, "driver error:", "reason=", of_npu),
    LAST(NPU_TIMEOUT, "error code is 507046", NULL, of_npu), /* a stream did not end in time */
    LAST(NPU_TIMEOUT, "error code:507046", NULL, of_npu),
    LAST(NPU_TIMEOUT, "stream sync timeout", NULL, of_npu),
    LAST(NPU_FAULT, "error code is 507", NULL, of_npu),
    LAST(NPU_FAULT, "error code:507", NULL, of_npu),
    CLAUSE(CUDA_OOM, "NPU out of memory", NULL, of_oom),
    CLAUSE(CUDA_OOM, "XPU out of memory", NULL, of_oom),
    CLAUSE(CUDA_OOM, "MPS backend out of memory", NULL, NULL),
    LAST(CUDA_OOM, "PT_DEVMEM Allocation failed", NULL, NULL), /* Habana */
    LAST(NPU_TIMEOUT, "EI0006", NULL, of_npu),
    LAST(NPU_TIMEOUT, "EI0002", NULL, of_npu),
    LAST(NPU_TIMEOUT, "Getting socket times out", NULL, of_npu),
    LAST(NPU_TIMEOUT, "Notify register times out", NULL, of_npu),
    LAST(NPU_TIMEOUT, "HcclGetCommAsyncError", NULL, of_npu),
    ROW(NPU_ERROR, "HCCL function error", NULL, of_npu),
    ROW(NPU_ERROR, "HCCL error in", NULL, of_npu),
    ROW(NPU_ERROR, "call hccl api failed", NULL, of_npu),
    ROW(NPU_ERROR, "call acl api failed", NULL, of_npu),
    ROW(NPU_ERROR, "OPS function error", NULL, of_npu),
    /* Trainium, TPU */
    LAST(NPU_FAULT, "NRT_EXEC_HW_ERR", NULL, NULL),
    LAST(NPU_FAULT, "found hardware error on nd", NULL, NULL),
    LAST(NPU_FAULT, "completed with err: 120", "nference", NULL),
    LAST(NCCL_CONNECT, "Timeout waiting for incoming connection", NULL, NULL),
    LAST(NCCL_CONNECT, "Timeout waiting for RX", NULL, NULL),
    LAST(NPU_FAULT, "halted unexpectedly", NULL, NULL),
    LAST(NPU_FAULT, "halted prematurely", NULL, NULL),
    SPECIAL(NPU_FAULT, "a hang that is likely caused by", "bad TPU", of_digest, INQ_LOG_BELOW),
    SPECIAL(MISMATCH, "a hang that is likely caused by", "inconsistent", of_digest, INQ_LOG_BELOW),
    SPECIAL(MISMATCH, "a hang that is likely caused by", "different", of_digest, INQ_LOG_BELOW),
    SPECIAL(INPUT_STALLED, "a hang that is likely caused by", "data input", of_digest,
            INQ_LOG_BELOW),
    SPECIAL(FABRIC_ERROR, "a hang that is likely caused by", "networking", of_digest,
            INQ_LOG_BELOW),
    /* AMD, Intel, Habana: their kernel drivers */
    LAST(AMD_PAGE_FAULT, "page fault (src_id:", NULL, of_amd),
    LAST(AMD_RESET, "GPU reset begin", NULL, of_amd),
    LAST(AMD_RESET, "timeout, signaled seq=", "amdgpu", of_amd),
    LAST(AMD_RESET, "GPU hang", "HWS", of_amd),
    LAST(AMD_RESET, "GPU HANG", NULL, of_amd),
    LAST(AMD_RESET, "Timedout job", "[drm]", of_amd), /* xe */
    LAST(AMD_RESET, "trying reset from", "[drm]", of_amd),
    LAST(AMD_RESET, "Engine reset", "[drm]", of_amd),
    LAST(AMD_RESET, "heartbeat failed", "habanalabs", of_amd),
    LAST(AMD_RESET, "oing to reset device", "habanalabs", of_amd),
    LAST(AMD_RESET, "ard-reset", "habanalabs", of_amd),
    LAST(AMD_RESET, "qcm fence wait loop timeout", NULL, of_amd),
    LAST(AMD_MEMORY, "uncorrectable hardware error", "amdgpu", of_amd),
    LAST(AMD_MEMORY, "Uncorrectable error", "amdgpu", of_amd),
    LAST(CUDA_OOM, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", "Free mem : 0 MB", of_hsa),
    LAST(CUDA_ERROR, "HSA_STATUS_ERROR", NULL, of_hsa),
    /* fabrics */
    LAST(FABRIC_ERROR, "OFI poll failed", NULL, NULL), /* MPICH */
    LAST(FABRIC_ERROR, "NET/OFI", "completed with error", of_fabric),
    LAST(FABRIC_ERROR, "efa_rdm_", "err: ", of_fabric),
    LAST(FABRIC_ERROR, "rxr_cq_", "err: ", of_fabric),
    LAST(FABRIC_ERROR, "Transport retry count exceeded", NULL, of_fabric),
    LAST(FABRIC_ERROR, "got completion with error", "mlx", NULL), /* libmlx5 itself */
    LAST(FABRIC_ERROR, "Unresponsive re", NULL, of_fabric),
    LAST(FABRIC_ERROR, "Endpoint timeout", NULL, of_fabric),
    LAST(FABRIC_ERROR, "UCX  ERROR", NULL, of_fabric),
    LAST(FABRIC_SETUP, "ibv_reg_mr", "annot allocate memory", NULL),
    LAST(FABRIC_SETUP, "CCL_ERROR", "can't find suitable provider", NULL),
    LAST(FABRIC_SETUP, "CCL_ERROR", "can not open network providers", NULL),
    LAST(FABRIC_ERROR, "resources not recovered", NULL, NULL), /* Slingshot */
    LAST(FABRIC_SETUP, "ibv_create_", "annot allocate memory", NULL),
    LAST(FABRIC_SETUP, "NET/OFI", "ouldn't open", of_fabric),
    LAST(FABRIC_SETUP, "NET/OFI", "ouldn't find any", of_fabric),
    LAST(FABRIC_SETUP, "NET/OFI", "nable to register memory", of_fabric),
    LAST(FABRIC_SETUP, "NET/OFI", "failed: ", of_fabric),
    /* those that wait, and for whom */
    SPECIAL(STALLED_RANKS, "Missing ranks:", NULL, of_stalled, INQ_LOG_STALLED),
    SPECIAL(STALLED_RANKS, "Stalled ranks:", NULL, of_stalled, INQ_LOG_STALLED),
    LAST(STALLED_RANKS, "[missing ranks:", NULL, of_stalled),
    LAST(STALLED_RANKS, "subset of ranks and are waiting", "!issing ranks:\n", of_stalled),
    LAST(BUFFER_MISMATCH, "preamble.length <= op", NULL, of_sizes),
    LAST(BUFFER_MISMATCH, "Received data size doesn't match", NULL, NULL),
    LAST(ENGINE_STUCK, "heartbeat from rank", "id not get", of_monitored), /* NVRx */
    LAST(TASK_LOST, "no heartbeat", "ank", of_silent),
    LAST(TASK_LOST, "heartbeat from rank", NULL, of_silent),
    LAST(TASK_LOST, "heartbeats from rank", NULL, of_silent),
    LAST(TASK_LOST, "unexpectedly disconnected", "/task:", of_task),
    LAST(TASK_LOST, "imed out node list is", NULL, of_list), /* MindSpore */
    LAST(TASK_LOST, "different incarnation", "/task:", of_task),
    LAST(TASK_LOST, "heartbeat timeout", "task", of_task),
    LAST(TASK_LOST, "lame workers", "/task:", of_task), /* TensorFlow on TPUs */
    SPECIAL(TASK_LOST, "stopped sending heartbeats", NULL, NULL, INQ_LOG_TASKS),
    SPECIAL(TASK_LOST, "Barrier timed out", NULL, NULL, INQ_LOG_TASKS),
    LAST(LEADER_LOST, "leader task was preempted", NULL, NULL),
    LAST(LEADER_LOST, "GCS may have been killed", NULL, NULL), /* Ray */
    LAST(LEADER_LOST, "ailed to connect to GCS", "!will ", NULL),
    SPECIAL(TASK_LOST, "distributed service detected fatal errors", "stopped sending heartbeats",
            NULL, INQ_LOG_TASKS),
    LAST(REMOTE_ERROR, "distributed service detected fatal errors", "!leader task was preempted",
         NULL),
    LAST(REMOTE_ERROR, "Polled an error from coordination service", NULL, NULL),
    LAST(REMOTE_ERROR, "Check the task logs for an earlier error", NULL, NULL),
    CLAUSE(PORT_TAKEN, "Address already in use", NULL, NULL),
    LAST(PORT_TAKEN, "EADDRINUSE", NULL, NULL),
    /* the launcher's course */
    LAST(RESTARTED, "will restart worker group", NULL, NULL),
    LAST(RESTARTED, "estarting worker group", NULL, NULL),
    LAST(RESTARTED, "Requeued", "job", NULL),
    LAST(ENDED_WELL, "raining completed", NULL, NULL),
    LAST(ENDED_WELL, "raining complete", NULL, NULL),
    LAST(ENDED_WELL, "raining finished", NULL, NULL),
    LAST(ENDED_WELL, "raining done", NULL, NULL),
    LAST(ENDED_WELL, "raining is done", NULL, NULL),
    LAST(ENDED_WELL, "inished training", NULL, NULL),
    LAST(ENDED_WELL, "inished successfully", NULL, NULL),
    LAST(ENDED_WELL, "ompleted successfully", NULL, NULL),
    LAST(ENDED_WELL, "uccessfully completed", NULL, NULL),
    LAST(ENDED_WELL, "after training is done", NULL, NULL),
    LAST(ENDED_WELL, "max_steps=", "reached", NULL),
    LAST(ENDED_WELL, "`Trainer.fit` stopped", "reached", NULL),
    LAST(ENDED_WELL, "train_runtime", NULL, NULL),
    LAST(ENDED_WELL, "orker group successfully finished", NULL, NULL),
    LAST(ENDED_WELL, "state SUCCEEDED", NULL, NULL),
    LAST(ENDED_WELL, "JobStatus.SUCCEEDED", NULL, NULL),
    SPECIAL(DIVERGED, "diverged", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(DIVERGED, "abort", "loss", NULL, INQ_LOG_SEVERE),
    /* several files in one */
    SPECIAL(PART, "==> ", "<==", NULL, INQ_LOG_HEADING),
    SPECIAL(PART, "=== ", "ank", NULL, INQ_LOG_HEADING),
    SPECIAL(PART, "--- ", "ank", NULL, INQ_LOG_HEADING),
    SPECIAL(PART, "### ", "ank", NULL, INQ_LOG_HEADING),
    SPECIAL(PART, "*** ", "ank", NULL, INQ_LOG_HEADING),
    /* training output */
    SPECIAL(PROGRESS, "loss", NULL, NULL, INQ_LOG_METRICS),
    SPECIAL(PROGRESS, "Loss", NULL, NULL, INQ_LOG_METRICS),
    SPECIAL(NOT_FINITE, "grad_norm", NULL, NULL, INQ_LOG_NORM),
    SPECIAL(NOT_FINITE, "grad norm", NULL, NULL, INQ_LOG_NORM),
    SPECIAL(NOT_FINITE, "nan iterations:", NULL, NULL, INQ_LOG_NORM), /* Megatron's count */
    /* Python */
    SPECIAL(PYTHON_ERROR, "Error", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "Exception", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "Interrupt", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "SystemExit", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "StopIteration", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "Traceback (most", NULL, NULL, INQ_LOG_TRACEBACK),
    /* the floor: whatever says itself that it is an error */
    SPECIAL(NCCL_WARNING, "NCCL WARN", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "ERROR", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "FATAL", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "CRITICAL", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "SEVERE", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "PANIC", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "error", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "fatal", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "critical", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "Error", NULL, NULL, INQ_LOG_SEVERE), /* "Error: failed to run" */
    SPECIAL(ERROR_LINE, "panic:", NULL, NULL, INQ_LOG_SEVERE),
    LAST(ERROR_LINE, "Execution halted", NULL, NULL),      /* R */
    LAST(ERROR_LINE, "timeout check failed:", NULL, NULL), /* DeepEP */
    LAST(ERROR_LINE, "DeepEP ", "timeout, channel", NULL),
    LAST(ERROR_LINE, "non-zero status: ", NULL, NULL),       /* NVSHMEM */
    SPECIAL(ERROR_LINE, "EI00", NULL, NULL, INQ_LOG_SEVERE), /* CANN's codes */
    SPECIAL(ERROR_LINE, "EE10", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "EL00", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "EZ99", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "job.exception type=", NULL, NULL, INQ_LOG_SEVERE), /* Flux */
    SPECIAL(ERROR_LINE, ".cc:", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, ".cpp:", NULL, NULL, INQ_LOG_SEVERE),
    SPECIAL(ERROR_LINE, "distributed/elastic", NULL, NULL, INQ_LOG_SEVERE),
};

const struct inq_log_pattern *inq_log_patterns(uint32_t *n)
{
    *n = sizeof patterns / sizeof patterns[0];
    return patterns;
}
