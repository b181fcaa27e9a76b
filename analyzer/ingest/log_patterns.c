/* SPDX-License-Identifier: Apache-2.0 */
/* The table of lines that tell something of a failure, in the wordings of PyTorch 1.13 to 2.10,
 * NCCL 2.10 to 2.30, launchers (torchrun, mpirun, Horovod, DeepSpeed, Lightning, Ray), Slurm,
 * Kubernetes, the CUDA and ROCm runtimes and the Linux kernel. */
#include "ingest/log_patterns.h"

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
static const struct inq_log_field of_child[] = {{"process rank ", INQ_LOG_RANK},
                                                {"],", INQ_LOG_RANK},
                                                {"with PID ", INQ_LOG_PID},
                                                {"on signal ", INQ_LOG_SIGNAL},
                                                {"(signal ", INQ_LOG_SIGNAL},

                                                {"with signal ", INQ_LOG_SIGNAL},
                                                {"<Signals.", INQ_LOG_SIGNAL},
                                                {"with code ", INQ_LOG_CODE},
                                                {"exit code ", INQ_LOG_CODE},
                                                {"Exit code:", INQ_LOG_CODE},
                                                {"return code = ", INQ_LOG_CODE},
                                                {"exit status ", INQ_LOG_CODE},
                                                {"process ", INQ_LOG_LOCAL_RANK},
                                                {NULL, 0}};

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

static const struct inq_log_field of_oom[] = {
    {". GPU ", INQ_LOG_DEVICE}, {"(GPU ", INQ_LOG_DEVICE}, {NULL, 0}};

static const struct inq_log_field of_cuda[] = {{"CUDA error: ", INQ_LOG_SENTENCE},
                                               {"HIP error: ", INQ_LOG_SENTENCE},
                                               {"Cuda failure '", INQ_LOG_SENTENCE},
                                               {"runtime error (", INQ_LOG_SENTENCE},
                                               {"CUBLAS_STATUS", INQ_LOG_SENTENCE},
                                               {"CUDNN_STATUS", INQ_LOG_SENTENCE},
                                               {"CUDA_ERROR_", INQ_LOG_SENTENCE},
                                               {"Assertion", INQ_LOG_SENTENCE},
                                               {"eason:", INQ_LOG_SENTENCE},
                                               {"eason :", INQ_LOG_SENTENCE},
                                               {"? Error ", INQ_LOG_SENTENCE},
                                               {"IPC handle :", INQ_LOG_SENTENCE},
                                               {"'", INQ_LOG_SENTENCE}, /* Cuda failure 999 '...' */
                                               {"Cuda failure", INQ_LOG_SENTENCE},
                                               {NULL, 0}};

static const struct inq_log_field of_behind[] = {
    {"Rank ", INQ_LOG_RANK}, {"operation ", INQ_LOG_SEQ}, {"process ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_oom_kill[] = {
    {"pid=", INQ_LOG_PID}, {"rocess ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_value[] = {{"Rank ", INQ_LOG_RANK}, {NULL, 0}};

static const struct inq_log_field of_events[] = {{"Detected ", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_field of_stuck[] = {{"[", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_blocked[] = {{"task ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_server[] = {{"server ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_worker[] = {
    {"(pid(s) ", INQ_LOG_PID}, {"(pid ", INQ_LOG_PID}, {"signal: ", INQ_LOG_SENTENCE}, {NULL, 0}};

static const struct inq_log_field of_async[] = {{"event: ", INQ_LOG_SENTENCE}, {NULL, 0}};

#define ROW(kind, needle, also, fields)                                                            \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, fields, -1, false                             \
    }
#define LAST(kind, needle, also, fields)                                                           \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, fields, -1, true                              \
    }
#define CODE(kind, needle, also, code)                                                             \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, NULL, code, false                             \
    }
#define SPECIAL(kind, needle, also, fields, special)                                               \
    {                                                                                              \
        INQ_LOG_##kind, special, needle, also, fields, -1, false                                   \
    }

static const struct inq_log_pattern patterns[] = {
    /* PyTorch's watchdog */
    LAST(WATCHDOG_TIMEOUT, "caught collective operation timeout", NULL, of_work),
    LAST(WORK_FAILED, "Timeout at NCCL work", NULL, of_counters),
    LAST(WORK_FAILED, "detected by watchdog at work", NULL, of_counters),
    LAST(DUMP_SIGNAL, "Received a dump signal", NULL, of_counters),
    ROW(WATCHDOG_ENDED, "watchdog thread terminated with exception", NULL, NULL),
    ROW(ASYNC_EXCEPTION, "raised the following async exception", NULL, of_work),
    LAST(BLOCKING_WAIT, "blocking wait", "timed out in", of_work),
    LAST(WATCHDOG_STUCK, "watchdog got stuck for", NULL, NULL),
    LAST(WATCHDOG_STUCK, "Heartbeat monitor timed out", NULL, NULL),
    ROW(WATCHDOG_STUCK, "due to ProcessGroupNCCL watchdog hang", NULL, NULL),
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
    ROW(STORE_TIMEOUT, "for clients. ", NULL, NULL),
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
    ROW(PEER_CLOSED, "Failed to execute operation", "retcode", NULL),
    ROW(PEER_CLOSED, " by peer", "reset", of_peer),
    ROW(PEER_CLOSED, "Broken pipe", NULL, of_peer),
    /* the launcher */
    SPECIAL(EXIT_ROW, "exitcode", "(local_rank:", of_exit, INQ_LOG_EXIT_ITEM),
    LAST(EXIT, "exitcode", "local_rank:", of_exit),
    SPECIAL(EXIT_ROW, "exitcode", "(pid:", of_exit, INQ_LOG_EXIT_ITEM),
    LAST(EXIT, "exited on signal", "process rank", of_child),
    {INQ_LOG_EXIT, INQ_LOG_PLAIN, ": [[", "Process name", of_child, 1, true},
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
    LAST(CUDA_OOM, "CUDA out of memory", "!1EB", of_oom),
    LAST(CUDA_OOM, "HIP out of memory", "!1EB", of_oom),
    ROW(CUDA_OOM, "OutOfMemoryError: Allocation on device", NULL, NULL),
    ROW(CUDA_ERROR, "CUDA error: ", "!out of memory", of_cuda),
    ROW(CUDA_OOM, "CUDA error: ", NULL, of_oom),
    ROW(CUDA_ERROR, "HIP error: ", NULL, of_cuda),
    ROW(CUDA_ERROR, "cudaGetDeviceCount", NULL, of_cuda),
    ROW(CUDA_ERROR, "cuda runtime error (", NULL, of_cuda),
    ROW(CUDA_OOM, "CUBLAS_STATUS_ALLOC_FAILED", NULL, NULL),
    ROW(CUDA_ERROR, "CUBLAS_STATUS_", "!CUBLAS_STATUS_ALLOC_FAILED", of_cuda),
    ROW(CUDA_ERROR, "CUDNN_STATUS_", NULL, of_cuda),
    LAST(CUDA_ERROR, "CUDA_ERROR_", ":", of_cuda),
    LAST(CUDA_OOM, "RESOURCE_EXHAUSTED", "emory", NULL),
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
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 1", "NCCL INFO", NULL, 1, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 2", "NCCL INFO", NULL, 2, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 3", "NCCL INFO", NULL, 3, true},
    {INQ_LOG_NCCL_RESULT, INQ_LOG_RESULT, " -> 6", "NCCL INFO", NULL, 6, true},
    LAST(NCCL_IB, "Got completion from peer", NULL, of_completion),
    LAST(NCCL_IB, "NET/OFI Request", "error", of_completion),
    ROW(NCCL_IB_ASYNC, "async event: ", "NET/IB", of_async),
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
    CODE(NCCL_ERROR, "CL error in", NULL, -1),
    CODE(NCCL_ERROR, "Duplicate GPU detected", NULL, 5),
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
    SPECIAL(SLURM_EXIT, "srun: error:", "task", NULL, INQ_LOG_SRUN),
    LAST(SLURM_PREEMPTED, "job is preempted", NULL, NULL),
    LAST(SLURM_TIME_LIMIT, "job is timed-out", NULL, NULL),
    LAST(SLURM_NODE_FAILED, "Node failure on", NULL, NULL),
    /* the kernel */
    SPECIAL(XID, "NVRM: Xid", NULL, NULL, INQ_LOG_FROM_KERNEL),
    SPECIAL(FALLEN_OFF, "fallen off the bus", "!Xid (", NULL, INQ_LOG_FALLEN),
    LAST(GPU_DRIVER, "GSP Timeout", NULL, NULL),
    LAST(GPU_DRIVER, "RmInitAdapter failed", NULL, NULL),
    LAST(GPU_DRIVER, "HeartbeatTimedOut", "timed out", NULL),
    SPECIAL(SXID, "SXid (", NULL, NULL, INQ_LOG_FROM_KERNEL),
    SPECIAL(KERNEL_OOM, "invoked oom-killer", NULL, NULL, INQ_LOG_PLAIN),
    LAST(KERNEL_OOM, "oom-kill:constraint", NULL, of_oom_kill),
    LAST(KERNEL_OOM, "Killed process", NULL, of_oom_kill),
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
    LAST(DISK, "No space left on device", NULL, NULL),
    LAST(DISK, "Stale file handle", NULL, NULL),
    LAST(DISK, "Input/output error", NULL, NULL),
    LAST(DISK, "Read-only file system", NULL, NULL),
    LAST(DISK, "Disk quota exceeded", NULL, NULL),
    LAST(DISK, "StreamWriter failed writing", NULL, NULL),
    LAST(DISK, "iostream error", NULL, NULL),
    LAST(PANIC, "Kernel panic", NULL, NULL),
    /* processes and containers */
    LAST(SEGFAULT, "Segmentation fault", NULL, NULL),
    LAST(SEGFAULT, "Caught signal 11", NULL, NULL),
    LAST(BUS_ERROR, "Caught signal 7", NULL, NULL),
    LAST(LOADER_DIED, "out of shared memory", NULL, NULL),
    LAST(LOADER_DIED, "DataLoader worker", "killed by signal", of_worker),
    LAST(LOADER_DIED, "DataLoader worker", "exited unexpectedly", of_worker),
    LAST(BUS_ERROR, "Bus error", NULL, NULL),
    LAST(POD_OOM, "OOMKilled", NULL, NULL),
    LAST(POD_OOM, "killed due to memory pressure", NULL, NULL),
    LAST(POD_OOM, "low on memory", "node running", NULL),
    LAST(POD_EVICTED, "Evicted", "eason", NULL), /* caches evict, too */
    LAST(POD_EVICTED, "Evicted", "kubelet", NULL),
    LAST(POD_EVICTED, "Evicted", "low on", NULL),
    LAST(POD_EVICTED, "Evicted", "0/", NULL),
    LAST(POD_EVICTED, "TaintManagerEviction", NULL, NULL),
    LAST(SLURM_NODE_FAILED, "NodeNotReady", NULL, NULL),
    LAST(KILLED, "Killed ", "!process", NULL),
    LAST(NOT_FINITE, "is nan, stopping", NULL, of_value),
    LAST(NOT_FINITE, "found NaN in", NULL, of_value),
    LAST(NOT_FINITE, "found Inf in", NULL, of_value),
    LAST(NOT_FINITE, "NaN detected", NULL, of_value),
    LAST(NOT_FINITE, "nan or inf", NULL, of_value),
    LAST(NOT_FINITE, "nan values in its", NULL, of_value),
    LAST(NOT_FINITE, "loss scale already at minimum", NULL, of_value),
    /* training output */
    SPECIAL(PROGRESS, "loss", NULL, NULL, INQ_LOG_METRICS),
    SPECIAL(PROGRESS, "Loss", NULL, NULL, INQ_LOG_METRICS),
    /* Python */
    SPECIAL(PYTHON_ERROR, "Error", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "Exception", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "Interrupt", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "SystemExit", NULL, NULL, INQ_LOG_EXCEPTION),
    SPECIAL(PYTHON_ERROR, "StopIteration", NULL, NULL, INQ_LOG_EXCEPTION),
};

const struct inq_log_pattern *inq_log_patterns(uint32_t *n)
{
    *n = sizeof patterns / sizeof patterns[0];
    return patterns;
}
