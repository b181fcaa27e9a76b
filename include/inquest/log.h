/* SPDX-License-Identifier: Apache-2.0 */
/* What text logs say of a run that failed: lines of known kinds, with what they name. Plain
 * structs, owned by their log. */
#ifndef INQUEST_LOG_H
#define INQUEST_LOG_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, "what a line of this kind tells") */
#define INQ_LOG_KINDS(X)                                                                           \
    X(PROGRESS, "the run makes progress")                                                          \
    X(WATCHDOG_TIMEOUT, "a collective timed out")                                                  \
    X(WORK_FAILED, "a collective failed or timed out, with the counters of its group")             \
    X(DUMP_SIGNAL, "told to dump, with the counters of its group")                                 \
    X(WATCHDOG_ENDED, "the watchdog ends its process")                                             \
    X(ASYNC_EXCEPTION, "a collective failed before it timed out")                                  \
    X(BLOCKING_WAIT, "a blocking wait timed out")                                                  \
    X(WATCHDOG_STUCK, "the watchdog itself makes no progress")                                     \
    X(ENGINE_STUCK, "an engine made no progress within its watchdog's time")                       \
    X(GIL, "the GIL could not be had")                                                             \
    X(REMOTE_ERROR, "another rank reported an error")                                              \
    X(STORE_LOST, "the store of the process group is gone")                                        \
    X(STORE_TIMEOUT, "the store did not answer in time")                                           \
    X(DESYNC_NEVER, "ranks that never joined any collective")                                      \
    X(DESYNC_UNFINISHED, "ranks that joined a collective and did not finish it")                   \
    X(DESYNC_BEHIND, "ranks that did not join the next collective")                                \
    X(DESYNC_STARTED, "ranks that started an op")                                                  \
    X(MISMATCH, "ranks run different collectives")                                                 \
    X(GLOO_CLOSED, "a peer closed its connection (Gloo)")                                          \
    X(GLOO_TIMEOUT, "Gloo timed out")                                                              \
    X(BARRIER_RANKS, "ranks that did not join a monitored barrier")                                \
    X(PEER_CLOSED, "a peer closed its connection")                                                 \
    X(EXIT, "a process ended")                                                                     \
    X(EXIT_ROW, "a process ended, as the launcher sums up")                                        \
    X(SIGTERM_SENT, "the launcher stops a process")                                                \
    X(PYTHON_ERROR, "a Python exception")                                                          \
    X(CUDA_OOM, "no memory left on a GPU")                                                         \
    X(CUDA_ERROR, "a CUDA error")                                                                  \
    X(NCCL_CUDA_ERROR, "NCCL met a CUDA error")                                                    \
    X(NCCL_INIT, "NCCL rank, device and bus id")                                                   \
    X(NCCL_START, "NCCL starts")                                                                   \
    X(NCCL_RESULT, "an NCCL result passed up")                                                     \
    X(NCCL_IB, "an InfiniBand transfer failed")                                                    \
    X(NCCL_IB_ASYNC, "an InfiniBand port reports an event")                                        \
    X(NCCL_SERVICE, "NCCL's service thread lost a local rank")                                     \
    X(NCCL_CONNECT, "no connection to a peer")                                                     \
    X(NCCL_ERROR, "an NCCL error")                                                                 \
    X(RAS_BEHIND, "NCCL RAS: a rank launched fewer operations")                                    \
    X(RAS_MISSING, "NCCL RAS: a rank does not answer")                                             \
    X(SLURM_TIME_LIMIT, "the job's time limit")                                                    \
    X(SLURM_PREEMPTED, "the job was preempted or requeued")                                        \
    X(SLURM_NODE_FAILED, "a node failed")                                                          \
    X(SLURM_CANCELLED, "the job was cancelled")                                                    \
    X(SLURM_OOM, "the control group ran out of memory")                                            \
    X(SLURM_EXIT, "a task ended")                                                                  \
    X(XID, "the GPU driver reports an error (Xid)")                                                \
    X(FALLEN_OFF, "a GPU fell off the bus")                                                        \
    X(GPU_DRIVER, "the GPU's driver or firmware does not answer")                                  \
    X(SXID, "an NVSwitch reports an error (SXid)")                                                 \
    X(KERNEL_OOM, "the kernel killed a process for memory")                                        \
    X(SEGFAULT, "a segmentation fault")                                                            \
    X(BUS_ERROR, "a bus error")                                                                    \
    X(SOFT_LOCKUP, "a CPU is stuck in the kernel")                                                 \
    X(HUNG_TASK, "a process is blocked in the kernel")                                             \
    X(NFS_DOWN, "a file server does not answer")                                                   \
    X(NFS_OK, "a file server answers again")                                                       \
    X(LINK_DOWN, "a network link went down")                                                       \
    X(LINK_UP, "a network link came up")                                                           \
    X(PCIE_CORRECTED, "a PCIe error was corrected")                                                \
    X(PCIE_FATAL, "a PCIe error was not corrected")                                                \
    X(MACHINE_CHECK, "the machine reports a hardware error")                                       \
    X(DISK, "a disk or file system fails")                                                         \
    X(PANIC, "the kernel stopped")                                                                 \
    X(KILLED, "a process was killed")                                                              \
    X(LOADER_DIED, "a data loader's worker died")                                                  \
    X(POD_OOM, "the container or node ran out of memory")                                          \
    X(POD_EVICTED, "the container was taken away")                                                 \
    X(NOT_FINITE, "a value is NaN or infinite")                                                    \
    X(ABORTED, "a process aborted")                                                                \
    X(MPI_ABORT, "a process called MPI_Abort")                                                     \
    X(MPI_TIME_LIMIT, "mpirun's own time limit")                                                   \
    X(STOPPED, "stopped from outside")                                                             \
    X(HOST_MEMORY, "no memory left on the host")                                                   \
    X(SHARED_MEMORY, "no shared memory left (/dev/shm)")                                           \
    X(EVICTED_MEMORY, "the container was evicted for memory")                                      \
    X(EVICTED_DISK, "the container was evicted for disk space")                                    \
    X(VERSION_MISMATCH, "the GPU driver and its library have different versions")                  \
    X(NPU_FAULT, "an accelerator reports a fault")                                                 \
    X(NPU_SETUP, "an accelerator could not be set up")                                             \
    X(NPU_TIMEOUT, "an NPU's collective waited in vain")                                           \
    X(NPU_ERROR, "a call of the NPU's runtime failed")                                             \
    X(AMD_PAGE_FAULT, "an AMD GPU met a page fault")                                               \
    X(AMD_RESET, "a GPU hung and was reset")                                                       \
    X(AMD_MEMORY, "an AMD GPU reports an uncorrectable error")                                     \
    X(FABRIC_ERROR, "a transfer over the fabric failed")                                           \
    X(FABRIC_SETUP, "the fabric could not be set up")                                              \
    X(INPUT_STALLED, "hosts whose input pipeline stalls")                                          \
    X(STALLED_RANKS, "tensors that some ranks did not submit")                                     \
    X(BUFFER_MISMATCH, "ranks send and expect different sizes")                                    \
    X(TASK_LOST, "a task stopped sending heartbeats")                                              \
    X(WORKER_LOST, "a worker process was lost")                                                    \
    X(NODE_LOST, "a node was lost")                                                                \
    X(PORT_TAKEN, "an address is in use already")                                                  \
    X(TIME_LIMIT, "the time limit of a batch system")                                              \
    X(MEMORY_LIMIT, "the memory limit of a batch system")                                          \
    X(RECLAIMED, "the machine was taken back")                                                     \
    X(POD_FAILED, "Kubernetes could not run the container")                                        \
    X(POD_STARTED, "Kubernetes runs the container")                                                \
    X(LAUNCH_FAILED, "the job could not be started")                                               \
    X(PANICKED, "a program panicked")                                                              \
    X(LEADER_LOST, "the leader of the coordination service is gone")                               \
    X(NCCL_WARNING, "NCCL warns")                                                                  \
    X(ERROR_LINE, "a line of error severity")                                                      \
    X(LAST_WORDS, "the last line that a process printed")                                          \
    X(DIVERGED, "the program ends itself for its loss")                                            \
    X(PART, "a heading in a file that was put together from several")                              \
    X(PROCESS_LIMIT, "a process may open or start no more")                                        \
    X(PROCESS, "which process a rank is")                                                          \
    X(MPI_ERROR, "an MPI call failed")                                                             \
    X(RESTARTED, "the launcher starts the workers again")                                          \
    X(ENDED_WELL, "the run says that it is complete")

enum inq_log_kind {
#define INQ_LOG_ENUM(name, text) INQ_LOG_##name,
    INQ_LOG_KINDS(INQ_LOG_ENUM)
#undef INQ_LOG_ENUM
        INQ_LOG_KIND_COUNT
};

enum inq_log_clock {
    INQ_LOG_CLOCK_NONE,
    INQ_LOG_CLOCK_WALL, /* as printed: local time of whoever wrote it, as if it were UTC */
    INQ_LOG_CLOCK_BOOT  /* since the machine started */
};

/* What a line says of its own severity. */
enum inq_log_level {
    INQ_LOG_LEVEL_NONE,
    INQ_LOG_LEVEL_DEBUG,
    INQ_LOG_LEVEL_INFO,
    INQ_LOG_LEVEL_WARNING,
    INQ_LOG_LEVEL_ERROR,
    INQ_LOG_LEVEL_FATAL
};

#define INQ_LOG_NO_BUS UINT64_MAX

/* One line of a known kind. Numbers that the line does not have are -1, texts "". */
struct inq_log_event {
    enum inq_log_kind kind;
    enum inq_log_clock clock;
    enum inq_log_level level;
    bool year_known;   /* else time_ns has a year that was filled in */
    int64_t time_ns;   /* INQ_TIME_NONE: no stamp */
    int64_t coarse_ns; /* how exact the stamp is across machines */
    int32_t rank;      /* global rank that the line is of */
    int32_t local_rank, device;
    int32_t task;    /* srun's label */
    uint32_t writer; /* of the label in front of the line, as in inq_log_metric; 0: none */
    bool own_frame;  /* of an exception: the innermost frame is the user's code */
    int64_t pid;
    const char *host;
    uint64_t bus;      /* domain << 16 | bus << 8 | device of a GPU; INQ_LOG_NO_BUS */
    const char *group; /* process group, as named */
    int64_t seq, enqueued, completed; /* seq of an Xid: the one that it follows */
    const char *op;                   /* collective; or the name of an exception or error */
    int64_t numel_in, numel_out;
    int64_t timeout_ms, ran_ms;
    int64_t code;      /* Xid, exit code, signal, status of a completion, NCCL result */
    int64_t nranks;    /* NCCL_INIT: of its communicator */
    const char *peer;  /* address or host at the other end; device or server concerned */
    int64_t peer_rank; /* REMOTE_ERROR, NCCL_SERVICE (a local rank) */
    size_t n_ranks;    /* ranks that the line lists */
    bool list_cut;     /* it lists more of them */
    int32_t *ranks;
    uint32_t file;    /* index into inq_trace.files */
    uint64_t line;    /* counted from 1 */
    uint64_t count;   /* lines that tell the same; 0: an event in front counts this one, too */
    const char *text; /* verbatim, cut at 400 bytes */
};

/* One line of training output. What it does not say is NaN, the step -1. */
struct inq_log_metric {
    int64_t step;
    double epoch; /* whole, or with its part */
    double loss;
    double grad_norm;  /* infinite where NaN is printed */
    double step_s;     /* time of the step, in seconds */
    double throughput; /* in whatever the line counts, per second */
    uint32_t wording;  /* of the words in front of the loss: other lines of the run have others */
    uint32_t writer;   /* hash of the label of its process in front of the line; 0: none */
    bool rewarded;     /* of reinforcement learning: the loss is no measure of how far it is */
    uint64_t line;
};

struct inq_strtab;

/* The lines of one file, in its order. */
struct inq_log {
    struct inq_arena *arena;
    struct inq_strtab *names;
    int32_t rank;       /* in the file's name; -1 none */
    int32_t local_rank; /* of the launcher's folder that the file is in; -1 none */
    uint32_t file;      /* index into inq_trace.files */
    uint64_t lines;     /* of the whole file */
    int64_t began_ns;   /* the first time with a year among its first lines; INQ_TIME_NONE */
    size_t n_events, cap_events;
    struct inq_log_event *events;
    uint64_t not_kept; /* lines of known kinds that are only counted, rows of training output past
                        * the most that are kept, lists of ranks that were cut */
    size_t n_metrics, cap_metrics;
    struct inq_log_metric *metrics; /* in order of lines */
    bool sampled;                   /* after many rows only some stretches of the file were read */
};

INQ_API const char *inq_log_kind_text(enum inq_log_kind kind);

#ifdef __cplusplus
}
#endif

#endif
