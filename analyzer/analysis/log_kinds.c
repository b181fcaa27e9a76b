/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of line means. */
#include "analysis/log_case.h"

#include <string.h>

#define MEANS(kind, role, cls, sub, weight)                                                        \
    [INQ_LOG_##kind] = {INQ_LOG_##role, INQ_FAILURE_##cls, sub, weight}

static const struct inq_log_meaning table[INQ_LOG_KIND_COUNT] = {
    MEANS(PROGRESS, FACT, UNKNOWN, "", 0),
    MEANS(WATCHDOG_TIMEOUT, VICTIM, UNKNOWN, "", 0),
    MEANS(WORK_FAILED, VICTIM, UNKNOWN, "", 0),
    MEANS(DUMP_SIGNAL, FACT, UNKNOWN, "", 0),
    MEANS(WATCHDOG_ENDED, VICTIM, UNKNOWN, "", 0),
    MEANS(ASYNC_EXCEPTION, VICTIM, UNKNOWN, "", 0),
    MEANS(BLOCKING_WAIT, VICTIM, UNKNOWN, "", 0),
    MEANS(WATCHDOG_STUCK, VICTIM, UNKNOWN, "", 0),
    MEANS(GIL, CAUSE, CPU_STALL, "gil", 54),
    MEANS(REMOTE_ERROR, VICTIM, UNKNOWN, "", 0),
    MEANS(STORE_LOST, VICTIM, UNKNOWN, "", 0),
    MEANS(STORE_TIMEOUT, VICTIM, UNKNOWN, "", 0),
    MEANS(DESYNC_NEVER, FACT, UNKNOWN, "", 0),
    MEANS(DESYNC_UNFINISHED, FACT, UNKNOWN, "", 0),
    MEANS(DESYNC_BEHIND, FACT, UNKNOWN, "", 0),
    MEANS(DESYNC_STARTED, FACT, UNKNOWN, "", 0),
    MEANS(MISMATCH, CAUSE, MISMATCH, "", 88),
    MEANS(GLOO_CLOSED, VICTIM, UNKNOWN, "", 0),
    MEANS(GLOO_TIMEOUT, VICTIM, UNKNOWN, "", 0),
    MEANS(BARRIER_RANKS, FACT, UNKNOWN, "", 0),
    MEANS(PEER_CLOSED, VICTIM, UNKNOWN, "", 0),
    MEANS(EXIT, VICTIM, UNKNOWN, "", 0),
    MEANS(EXIT_ROW, VICTIM, UNKNOWN, "", 0),
    MEANS(SIGTERM_SENT, TEARDOWN, UNKNOWN, "", 0),
    MEANS(PYTHON_ERROR, CAUSE, APPLICATION, "exception", 70),
    MEANS(CUDA_OOM, CAUSE, CUDA_OOM, "", 86),
    MEANS(CUDA_ERROR, CAUSE, CUDA_ERROR, "", 68),
    MEANS(NCCL_CUDA_ERROR, CAUSE, CUDA_ERROR, "", 58),
    MEANS(NCCL_INIT, FACT, UNKNOWN, "", 0),
    MEANS(NCCL_START, FACT, UNKNOWN, "", 0),
    MEANS(NCCL_RESULT, VICTIM, UNKNOWN, "", 0),
    MEANS(NCCL_IB, VICTIM, UNKNOWN, "", 0),
    MEANS(NCCL_IB_ASYNC, CAUSE, NETWORK, "port", 60),
    MEANS(NCCL_SERVICE, VICTIM, UNKNOWN, "", 0),
    MEANS(NCCL_CONNECT, VICTIM, NETWORK, "connect", 0),
    MEANS(NCCL_ERROR, VICTIM, UNKNOWN, "", 0),
    MEANS(RAS_BEHIND, FACT, UNKNOWN, "", 0),
    MEANS(RAS_MISSING, FACT, UNKNOWN, "", 0),
    MEANS(SLURM_TIME_LIMIT, CAUSE, SCHEDULER, "time_limit", 84),
    MEANS(SLURM_PREEMPTED, CAUSE, SCHEDULER, "preemption", 84),
    MEANS(SLURM_NODE_FAILED, CAUSE, HOST, "node", 84),
    MEANS(SLURM_CANCELLED, TEARDOWN, UNKNOWN, "", 0),
    MEANS(SLURM_OOM, CAUSE, HOST, "memory", 88),
    MEANS(SLURM_EXIT, VICTIM, UNKNOWN, "", 0),
    MEANS(XID, CAUSE, GPU_HARDWARE, "", 0),
    MEANS(FALLEN_OFF, CAUSE, GPU_HARDWARE, "bus", 96),
    MEANS(GPU_DRIVER, CAUSE, DRIVER, "firmware", 82),
    MEANS(SXID, CAUSE, GPU_HARDWARE, "nvlink", 56),
    MEANS(KERNEL_OOM, CAUSE, HOST, "memory", 90),
    MEANS(SEGFAULT, CAUSE, APPLICATION, "segfault", 78),
    MEANS(BUS_ERROR, CAUSE, HOST, "storage", 57),
    MEANS(SOFT_LOCKUP, CAUSE, HOST, "node", 60),
    MEANS(HUNG_TASK, CAUSE, HOST, "storage", 56),
    MEANS(NFS_DOWN, CAUSE, HOST, "storage", 62),
    MEANS(NFS_OK, CONTEXT, UNKNOWN, "", 0),
    MEANS(LINK_DOWN, CAUSE, NETWORK, "link", 64),
    MEANS(LINK_UP, CONTEXT, UNKNOWN, "", 0),
    MEANS(PCIE_CORRECTED, CONTEXT, UNKNOWN, "", 0),
    MEANS(PCIE_FATAL, CAUSE, GPU_HARDWARE, "bus", 74),
    MEANS(MACHINE_CHECK, CAUSE, HOST, "node", 72),
    MEANS(DISK, CAUSE, HOST, "storage", 75),
    MEANS(PANIC, CAUSE, HOST, "node", 95),
    MEANS(KILLED, CAUSE, UNKNOWN, "killed", 30),
    MEANS(LOADER_DIED, CAUSE, HOST, "memory", 77),
    MEANS(POD_OOM, CAUSE, HOST, "memory", 86),
    MEANS(POD_EVICTED, CAUSE, SCHEDULER, "eviction", 82),
    MEANS(NOT_FINITE, CAUSE, NUMERICAL, "", 66),
};

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

static bool has_any(const char *text, const char *const *words)
{
    while (*words != NULL && !has(text, *words)) {
        words++;
    }
    return *words != NULL;
}

int64_t inq_log_signal(int64_t code)
{
    return code < 0 && code > -65 ? -code : code > 128 && code < 193 ? code - 128 : 0;
}

static struct inq_log_meaning of_exit(const struct inq_log_event *event)
{
    static const struct inq_log_meaning victim = {INQ_LOG_VICTIM, INQ_FAILURE_UNKNOWN, "", 0};
    switch (inq_log_signal(event->code)) {
    case 9:
        return (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_UNKNOWN, "killed", 30};
    case 11:
        return (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_APPLICATION, "segfault", 57};
    case 7:
        return (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_HOST, "storage", 40};
    case 4:
    case 8:
        return (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_APPLICATION, "signal", 50};
    default:
        break;
    }
    bool failed = event->code > 0 && event->code < 128;
    return failed ? (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_UNKNOWN, "exit", 20}
                  : victim;
}

/* Errors of the CUDA runtime that some wordings tell of without its own. */
enum { CUDA_ILLEGAL_ADDRESS = 700, CUDA_ASSERT = 710 };

/* Texts of the CUDA runtime. */
static struct inq_log_meaning of_cuda(const struct inq_log_event *event)
{
    static const struct {
        const char *word;
        struct inq_log_meaning means;
    } rows[] = {
        {"ECC", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "memory", 92}},
        {"nvlink", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "nvlink", 90}},
        {"NVLink", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "nvlink", 90}},
        {"fallen off", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "bus", 94}},
        {"device is lost", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "bus", 90}},
        {"hardware", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "", 88}},
        {"unknown error", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "", 76}},
        {"driver shutting down", {INQ_LOG_TEARDOWN, INQ_FAILURE_UNKNOWN, "", 0}},
        {"driver version", {INQ_LOG_CAUSE, INQ_FAILURE_DRIVER, "", 74}},
        {"not yet initialized", {INQ_LOG_CAUSE, INQ_FAILURE_DRIVER, "", 74}},
        {"initialization error", {INQ_LOG_CAUSE, INQ_FAILURE_DRIVER, "", 60}},
        {"busy or unavailable", {INQ_LOG_CAUSE, INQ_FAILURE_DRIVER, "", 60}},
        {"no CUDA-capable", {INQ_LOG_CAUSE, INQ_FAILURE_DRIVER, "", 70}},
        {"illegal memory access", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_ERROR, "illegal_access", 78}},
        {"ILLEGAL_ADDRESS", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_ERROR, "illegal_access", 78}},
        {"out of memory", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_OOM, "", 75}},
        {"GPU Hang", {INQ_LOG_CAUSE, INQ_FAILURE_GPU_HARDWARE, "", 62}},
        {"device-side assert", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_ERROR, "assert", 79}},
        {"launch failure", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_ERROR, "launch_failure", 74}},
        {"misaligned", {INQ_LOG_CAUSE, INQ_FAILURE_CUDA_ERROR, "illegal_access", 76}},
    };
    struct inq_log_meaning means = table[event->kind];
    if (event->code == CUDA_ASSERT || event->code == CUDA_ILLEGAL_ADDRESS) {
        bool assertion = event->code == CUDA_ASSERT;
        means.sub = assertion ? "assert" : "illegal_access";
        means.weight = assertion ? 79 : 78;
        return means;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (has(event->op, rows[i].word)) {
            means = rows[i].means;
            means.weight -= event->kind == INQ_LOG_NCCL_CUDA_ERROR ? 15 : 0;
            return means;
        }
    }
    return means;
}

/* An error that is said to follow another one stands for that where its own line is missing. */
static struct inq_log_meaning of_xid(const struct inq_log_event *event)
{
    struct inq_log_meaning means = inq_xid_meaning(event->code);
    if (means.role == INQ_LOG_VICTIM && event->seq > 0) {
        means = inq_xid_meaning(event->seq);
        means.weight = means.weight < INQ_LOG_STRONG ? means.weight : INQ_LOG_STRONG - 1;
    }
    return means;
}

/* What ended a data loader's worker: the kernel, for memory of the host or shared memory, or its
 * own fault. */
static struct inq_log_meaning of_loader(const struct inq_log_event *event)
{
    bool memory = has(event->text, "shared memory") || has(event->text, "Killed") ||
                  has(event->text, "Bus error");
    return memory ? table[INQ_LOG_LOADER_DIED]
                  : (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_APPLICATION, "data_loader",
                                             60};
}

/* Exceptions: those of communication only tell that another one is gone. */
static struct inq_log_meaning of_exception(const struct inq_log_event *event)
{
    static const char *const victims[] = {"DistBackendError",
                                          "DistNetworkError",
                                          "DistStoreError",
                                          "DistError",
                                          "ChildFailedError",
                                          "SignalException",
                                          "CalledProcessError",
                                          "BrokenPipeError",
                                          "ConnectionReset",
                                          "ConnectionError",
                                          "ConnectionRefused",
                                          "ConnectionAborted",
                                          "TimeoutError",
                                          "EOFError",
                                          "ProcessExited",
                                          "ProcessRaised",
                                          "RayActorError",
                                          "RayTaskError",
                                          "ActorDied",
                                          "RendezvousClosed",
                                          "RendezvousTimeout",
                                          "RendezvousConnection",
                                          NULL};
    static const char *const stops[] = {"KeyboardInterrupt", "SystemExit", "SIGTERMException",
                                        NULL};
    static const char *const elsewhere[] = {"OutOfMemoryError",
                                            "DataLoader worker",
                                            "CUDA error",
                                            "CUDA out of memory",
                                            "HIP error",
                                            "cudaGetDeviceCount",
                                            "CUBLAS_STATUS",
                                            "CUDNN_STATUS",
                                            "out of shared memory",
                                            "No space left on device",
                                            "found NaN",
                                            "found Inf",
                                            "found nan",
                                            "is nan, stopping",
                                            "NaN detected",
                                            "is nan or inf",
                                            "nan values in its",
                                            "scale already at minimum",
                                            "RESOURCE_EXHAUSTED",
                                            NULL};
    static const char *const of_peers[] = {"NCCL",
                                           "nccl",
                                           "Watchdog",
                                           "gloo",
                                           "Gloo",
                                           "Socket",
                                           "Connection",
                                           "connect()",
                                           "timed out",
                                           "store",
                                           "monitoredBarrier",
                                           "TCPStore",
                                           "Broken pipe",
                                           "mismatch between collectives",
                                           NULL};
    struct inq_log_meaning means = table[INQ_LOG_PYTHON_ERROR];
    if (has_any(event->op, elsewhere) || has_any(event->text, elsewhere)) {
        means = (struct inq_log_meaning){INQ_LOG_FACT, INQ_FAILURE_UNKNOWN, "", 0};
    } else if (has_any(event->op, victims) ||
               (has(event->op, "RuntimeError") && has_any(event->text, of_peers))) {
        means = (struct inq_log_meaning){INQ_LOG_VICTIM, INQ_FAILURE_UNKNOWN, "", 0};
    } else if (has_any(event->op, stops)) {
        means = (struct inq_log_meaning){INQ_LOG_TEARDOWN, INQ_FAILURE_UNKNOWN, "", 0};
    } else if (strcmp(event->op, "MemoryError") == 0 || has(event->op, "bad_alloc")) {
        means = (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_HOST, "memory", 74};
    } else if (strcmp(event->op, "FloatingPointError") == 0) {
        means = (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_NUMERICAL, "", 72};
    } else if (has(event->op, "Warning")) {
        means.role = INQ_LOG_CONTEXT;
    }
    return means;
}

struct inq_log_meaning inq_log_meaning(const struct inq_log_event *event)
{
    struct inq_log_meaning means = table[event->kind];
    switch ((int)event->kind) {
    case INQ_LOG_XID:
        return of_xid(event);
    case INQ_LOG_EXIT:
    case INQ_LOG_EXIT_ROW:
    case INQ_LOG_SLURM_EXIT:
        return of_exit(event);
    case INQ_LOG_CUDA_ERROR:
    case INQ_LOG_NCCL_CUDA_ERROR:
        return of_cuda(event);
    case INQ_LOG_PYTHON_ERROR:
        return of_exception(event);
    case INQ_LOG_SXID:
        means.role = has(event->op, "Fatal") ? INQ_LOG_CAUSE : INQ_LOG_CONTEXT;
        return means;
    case INQ_LOG_LOADER_DIED:
        return of_loader(event);
    case INQ_LOG_NCCL_ERROR:
        if (event->code == 5) {
            return (struct inq_log_meaning){INQ_LOG_CAUSE, INQ_FAILURE_APPLICATION, "usage", 56};
        }
        return means;
    case INQ_LOG_BUS_ERROR:
    case INQ_LOG_SEGFAULT:
    default:
        return means;
    }
}

bool inq_log_transient(enum inq_log_kind kind)
{
    return kind == INQ_LOG_NCCL_IB_ASYNC || kind == INQ_LOG_SOFT_LOCKUP ||
           kind == INQ_LOG_HUNG_TASK || kind == INQ_LOG_NFS_DOWN || kind == INQ_LOG_LINK_DOWN ||
           kind == INQ_LOG_PYTHON_ERROR || kind == INQ_LOG_NOT_FINITE || kind == INQ_LOG_DISK ||
           kind == INQ_LOG_MACHINE_CHECK || kind == INQ_LOG_SXID;
}

bool inq_log_of_host(enum inq_log_kind kind)
{
    switch ((int)kind) {
    case INQ_LOG_XID:
    case INQ_LOG_FALLEN_OFF:
    case INQ_LOG_GPU_DRIVER:
    case INQ_LOG_SXID:
    case INQ_LOG_KERNEL_OOM:
    case INQ_LOG_SOFT_LOCKUP:
    case INQ_LOG_HUNG_TASK:
    case INQ_LOG_NFS_DOWN:
    case INQ_LOG_NFS_OK:
    case INQ_LOG_LINK_DOWN:
    case INQ_LOG_LINK_UP:
    case INQ_LOG_PCIE_CORRECTED:
    case INQ_LOG_PCIE_FATAL:
    case INQ_LOG_MACHINE_CHECK:
    case INQ_LOG_PANIC:
    case INQ_LOG_SLURM_TIME_LIMIT:
    case INQ_LOG_SLURM_PREEMPTED:
    case INQ_LOG_SLURM_NODE_FAILED:
    case INQ_LOG_SLURM_CANCELLED:
    case INQ_LOG_SLURM_OOM:
    case INQ_LOG_SLURM_EXIT:
    case INQ_LOG_POD_EVICTED:
        return true;
    default:
        return false;
    }
}
