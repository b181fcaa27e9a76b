/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/failure/rules/rules.h"

#include <string.h>

#define RAISED "{Who} raised {exc}{at}"
#define WAS_KILLED                                                                                 \
    AS(CAUSE, UNKNOWN, "killed", 30),                                                              \
        "{Who} {was} killed (SIGKILL){since}; no line here says by whom",                          \
        "Read the node's kernel log and the scheduler's record for the time of the kill.",         \
    {                                                                                              \
        "host memory ran out: look for an oom-kill line of this process in the node's kernel "     \
        "log, or the control group's count of them",                                               \
            "killed from outside (scheduler, health check, operator): check the scheduler's "      \
            "record"                                                                               \
    }
#define NCCL_CUDA                                                                                  \
    AS(CAUSE, CUDA_ERROR, "nccl", 36), "NCCL on {who} met a CUDA error{at}: {warned}",             \
        "Run with NCCL_DEBUG=WARN, which names the CUDA error; read this rank's lines before it.", \
    {                                                                                              \
        ASK_XID, "another rank failed first, and this one was torn down: compare the times"        \
    }
#define NCCL_FAILED                                                                                \
    AS(CAUSE, UNKNOWN, "nccl", 22), "NCCL failed on {who}{at}: {warned}",                          \
        "Run with NCCL_DEBUG=INFO, and read what NCCL warns of just before it.",                   \
    {                                                                                              \
        NULL                                                                                       \
    }
#define RAY_LOST                                                                                   \
    AS(CAUSE, PEER_DIED, "leader", 58),                                                            \
        "Ray's control service (GCS) on the head node is gone{since}, as {who} reports",           \
        "Read gcs_server.out and the kernel log of the head node: its memory is the usual cause.", \
    {                                                                                              \
        ASK_NETWORK                                                                                \
    }
#define LOCKED_MEMORY                                                                              \
    AS(CAUSE, NETWORK, "locked_memory", 66),                                                       \
        "{Who} could not register memory with its network card: {text}",                           \
        "Raise the limit of locked memory to unlimited (ulimit -l; docker --ulimit memlock=-1; "   \
        "Slurm: PropagateResourceLimitsExcept=MEMLOCK), and check it inside the job.",             \
    {                                                                                              \
        "a card that has no more queues or regions to give: fewer connections would exclude it"    \
    }
#define NO_NAME                                                                                    \
    AS(CAUSE, NETWORK, "dns", 74), "{Who} could not resolve a host name{at}: {exc}",               \
        "Check the name (MASTER_ADDR, the address of the service) and the node's name servers.",   \
    {                                                                                              \
        NULL                                                                                       \
    }

static const struct inq_failure_rule lines[] = {
    /* ---- who is where ---- */
    {KIND(PROGRESS), PLAIN_FACT},
    {KIND(DUMP_SIGNAL), PLAIN_FACT},
    {KIND(DESYNC_NEVER), PLAIN_FACT},
    {KIND(DESYNC_UNFINISHED), PLAIN_FACT},
    {KIND(DESYNC_BEHIND), PLAIN_FACT},
    {KIND(DESYNC_STARTED), PLAIN_FACT},
    {KIND(BARRIER_RANKS), PLAIN_FACT},
    {KIND(STALLED_RANKS), PLAIN_FACT},
    {KIND(NCCL_INIT), PLAIN_FACT},
    {KIND(NCCL_START), PLAIN_FACT},
    {KIND(RAS_BEHIND), PLAIN_FACT},
    {KIND(RAS_MISSING), PLAIN_FACT},
    {KIND(ENDED_WELL), PLAIN_FACT},
    {KIND(RESTARTED), PLAIN_FACT},
    {KIND(PROCESS), PLAIN_FACT},
    {KIND(LAST_WORDS), PLAIN_FACT},
    {KIND(PART), PLAIN_FACT},
    {KIND(POD_STARTED), PLAIN_FACT},
    /* ---- those that only noticed ---- */
    {KIND(WATCHDOG_TIMEOUT), PLAIN_VICTIM},
    {KIND(WORK_FAILED), PLAIN_VICTIM},
    {KIND(WATCHDOG_ENDED), PLAIN_VICTIM},
    {KIND(ASYNC_EXCEPTION), PLAIN_VICTIM},
    {KIND(BLOCKING_WAIT), PLAIN_VICTIM},
    {KIND(WATCHDOG_STUCK), PLAIN_VICTIM},
    {KIND(REMOTE_ERROR), PLAIN_VICTIM},
    {KIND(STORE_LOST), PLAIN_VICTIM},
    {KIND(STORE_TIMEOUT), PLAIN_VICTIM},
    {KIND(GLOO_CLOSED), PLAIN_VICTIM},
    {KIND(GLOO_TIMEOUT), PLAIN_VICTIM},
    {KIND(PEER_CLOSED), PLAIN_VICTIM},
    {KIND(TASK_LOST), PLAIN_VICTIM},
    {KIND(WORKER_LOST), PLAIN_VICTIM},
    {KIND(NCCL_RESULT), PLAIN_VICTIM},
    {KIND(NCCL_SERVICE), PLAIN_VICTIM},
    {KIND(NCCL_CONNECT), PLAIN_VICTIM},
    {KIND(NPU_ERROR), PLAIN_VICTIM},
    {KIND(NCCL_IB), PLAIN_VICTIM},
    {SAYS(NCCL_ERROR, "Duplicate GPU"),
     AS(CAUSE, APPLICATION, "usage", 58),
     "Ranks share a GPU, which NCCL does not allow: {text}",
     "Give every rank of a node a GPU of its own (torch.cuda.set_device(local_rank), "
     "CUDA_VISIBLE_DEVICES, one task a GPU).",
     {NULL}},
    {CODED(NCCL_ERROR, 5),
     AS(CAUSE, APPLICATION, "usage", 56),
     "{Who} used NCCL wrongly: {text}",
     "Correct the call: usually a device that two ranks share, or arguments that differ.",
     {NULL}},
    {KIND(NCCL_ERROR), PLAIN_VICTIM},
    {KIND(SIGTERM_SENT), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {SAYS(SLURM_CANCELLED, "*** JOB"),
     AS(CAUSE, SCHEDULER, "cancelled", 15),
     "The job was cancelled{on}{since}: {text}",
     "Ask who cancelled it (scancel, sacct -j); nothing in these logs failed before.",
     {NULL}},
    {KIND(SLURM_CANCELLED), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {KIND(STOPPED), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    /* ---- how processes ended ---- */
    {SAYS(EXIT, "has exited due to"),
     AS(CAUSE, UNKNOWN, "exit", 22),
     "{Who} ended without leaving MPI{since}; {words}",
     NULL,
     {NULL}},
    {CODED(EXIT, 9), WAS_KILLED},
    {CODED(EXIT, 11),
     AS(CAUSE, APPLICATION, "segfault", 57),
     "{Who} ended on SIGSEGV",
     "Take the stack of the fault (core file, PYTHONFAULTHANDLER=1).",
     {ASK_CORE}},
    {CODED(EXIT, 7),
     AS(CAUSE, HOST, "storage", 40),
     "{Who} ended on SIGBUS: memory-mapped storage or shared memory failed",
     STORAGE,
     {ASK_CORE}},
    {CODED(EXIT, 4),
     AS(CAUSE, APPLICATION, "signal", 50),
     "{Who} ended on SIGILL",
     NULL,
     {ASK_CORE}},
    {CODED(EXIT, 8),
     AS(CAUSE, APPLICATION, "signal", 50),
     "{Who} ended on SIGFPE",
     NULL,
     {ASK_CORE}},
    {CODED(EXIT, 6),
     AS(CAUSE, APPLICATION, "abort", 28),
     "{Who} aborted (SIGABRT){since}",
     "Read this rank's stderr for the assertion or exception of C++ before the abort.",
     {ASK_CORE}},
    {CODED(EXIT, 15),
     AS(CAUSE, UNKNOWN, "terminated", 24),
     "{Who} {was} stopped by SIGTERM{since}; no line here says by whom",
     NULL,
     {NULL}},
    {CODED(EXIT, 1),
     AS(CAUSE, UNKNOWN, "exit", 20),
     "{Who} exited with code {code}{since}; {words}",
     NULL,
     {NULL}},
    {KIND(EXIT), PLAIN_VICTIM},
    {KIND(KILLED), WAS_KILLED},
    {KIND(SEGFAULT),
     AS(CAUSE, APPLICATION, "segfault", 78),
     "{Who} met a segmentation fault",
     "Take the stack of the fault (core file, PYTHONFAULTHANDLER=1); timeouts of others are its "
     "consequence.",
     {ASK_CORE}},
    {SAYS(ABORTED, "egmentation fault"),
     AS(CAUSE, APPLICATION, "segfault", 78),
     "{Who} met a segmentation fault{at}",
     "Take the stack of the fault (core file, PYTHONFAULTHANDLER=1); timeouts of others are its "
     "consequence.",
     {ASK_CORE}},
    {SAYS(ABORTED, "bad_alloc"),
     AS(CAUSE, HOST, "memory", 74),
     "{Who} could not allocate host memory (std::bad_alloc)",
     MEMORY,
     {NULL}},
    {SAYS(ABORTED, "DistBackendError"), PLAIN_VICTIM},
    {NAMED(ABORTED, "collective operation timeout"), PLAIN_VICTIM},
    {NAMED(ABORTED, "unhandled cuda error"), NCCL_CUDA},
    {NAMED(ABORTED, "CUDA runtime error"),
     AS(CAUSE, CUDA_ERROR, "", 60),
     "{Who} aborted on a CUDA error: {op}",
     NULL,
     {ASK_XID}},
    {NAMED(ABORTED, "NCCL error"), PLAIN_VICTIM},
    {NAMED(ABORTED, "gloo/"), PLAIN_VICTIM},
    {NAMED(ABORTED, "NCCL Error"), PLAIN_VICTIM},
    {SAYS(ABORTED, "c10::Error"),
     AS(CAUSE, APPLICATION, "abort", 32),
     "{Who} aborted: {op}",
     NULL,
     {NULL}},
    {SAYS(ABORTED, "Program received signal"),
     AS(CAUSE, APPLICATION, "signal", 60),
     "{Who} ended on a signal: {op}",
     "Take the stack of the fault (core file, or a build with -g).",
     {ASK_CORE}},
    {SAYS(ABORTED, "received signal"), PLAIN_FACT},
    {SAYS(ABORTED, "to connect to GCS"), RAY_LOST},
    {SAYS(ABORTED, "ibv_reg_mr"), LOCKED_MEMORY},
    {SAYS(ABORTED, "Check failed"),
     AS(CAUSE, APPLICATION, "abort", 58),
     "{Who} aborted on a failed check: {text}",
     NULL,
     {ASK_CORE}},
    {SAYS(ABORTED, "pure virtual method"),
     AS(CAUSE, APPLICATION, "abort", 58),
     "{Who} aborted: {text}",
     "Native code called an object that was gone, as threads do that outlive what they use: take "
     "the stack from the core.",
     {ASK_CORE}},
    {NAMED(ABORTED, "without an active exception"),
     AS(CAUSE, APPLICATION, "abort", 56),
     "{Who} aborted: {text}",
     "A thread of native code was still running when its object went: take the stack from the "
     "core.",
     {ASK_CORE}},
    {SAYS(ABORTED, "dumped core"),
     AS(CAUSE, APPLICATION, "abort", 34),
     "{Who} dumped core: {text}",
     "Take the stack of the fault from the core (coredumpctl info).",
     {ASK_CORE}},
    {SAYS(ABORTED, "core dumped"),
     AS(CAUSE, APPLICATION, "abort", 34),
     "{Who} aborted: {text}",
     NULL,
     {ASK_CORE}},
    {SAYS(ABORTED, "corrupt"),
     AS(CAUSE, APPLICATION, "abort", 70),
     "{Who} aborted on a corrupted heap: {text}",
     "Run this rank under AddressSanitizer or valgrind: native code writes out of bounds.",
     {ASK_CORE}},
    {SAYS(ABORTED, "invalid pointer"),
     AS(CAUSE, APPLICATION, "abort", 70),
     "{Who} aborted on a corrupted heap: {text}",
     "Run this rank under AddressSanitizer or valgrind: native code writes out of bounds.",
     {ASK_CORE}},
    {SAYS(ABORTED, "alloc()"),
     AS(CAUSE, APPLICATION, "abort", 70),
     "{Who} aborted on a corrupted heap: {text}",
     "Run this rank under AddressSanitizer or valgrind: native code writes out of bounds.",
     {ASK_CORE}},
    {SAYS(ABORTED, "Assertion"),
     AS(CAUSE, APPLICATION, "abort", 66),
     "{Who} aborted on a failed assertion: {text}",
     NULL,
     {ASK_CORE}},
    {KIND(ABORTED), AS(CAUSE, APPLICATION, "abort", 45), "{Who} aborted{at}: {op}", NULL, {NULL}},
    {KIND(PANICKED),
     AS(CAUSE, APPLICATION, "panic", 70),
     "{Who} panicked: {text}{message}",
     "Read the lines in front of the panic; RUST_BACKTRACE=1 or GOTRACEBACK=all give its stack.",
     {NULL}},
    {SAYS(MPI_ABORT, "Fatal error in"),
     AS(CAUSE, APPLICATION, "mpi", 50),
     "An MPI call of {who} failed: {text}",
     "Read the error stack behind this line; where others ended before, theirs is the cause.",
     {ASK_PEER, ASK_NETWORK}},
    {KIND(MPI_ABORT),
     AS(CAUSE, APPLICATION, "abort", 50),
     "{Who} called MPI_Abort with error code {code}",
     "Read the output of this rank just before the call.",
     {NULL}},
    {KIND(MPI_TIME_LIMIT),
     AS(CAUSE, SCHEDULER, "time_limit", 84),
     "mpirun ended the job at the time limit that the user gave it",
     "Raise mpirun's --timeout, or find what kept the job from ending.",
     {NULL}},
    /* ---- exceptions: what they are, else a report of others ---- */
    {NAMED(PYTHON_ERROR, "ChildFailedError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "SignalException"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "CalledProcessError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "ProcessExited"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "terminated with the following error"),
     PLAIN_VICTIM}, /* of torch's spawn */
    {NAMED(PYTHON_ERROR, "ProcessRaised"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "RayActorError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "RayTaskError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "ActorDied"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "WorkerCrashedError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "RendezvousClosed"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "RendezvousTimeout"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "RendezvousConnection"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Name or service not known"), NO_NAME},
    {SAYS(PYTHON_ERROR, "Temporary failure in name resolution"), NO_NAME},
    {SAYS(PYTHON_ERROR, "ame does not resolve"), NO_NAME},
    {SAYS(PYTHON_ERROR, "gai error"), NO_NAME},
    {SAYS(PYTHON_ERROR, "unhandled cuda error"), NCCL_CUDA},
    {SAYS(PYTHON_ERROR, ", internal error"), NCCL_FAILED},
    {NAMED(PYTHON_ERROR, "DistBackendError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "DistNetworkError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "DistStoreError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "DistError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "BrokenPipeError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "ConnectionResetError"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "ConnectionRefusedError"),
     AS(CAUSE, APPLICATION, "connection", 56),
     RAISED,
     "Check the service that this rank connects to, and that it listens.",
     {"a peer or store of the job that had ended before: check its log"}},
    {NAMED(PYTHON_ERROR, "ConnectionAbortedError"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Mismatched "),
     AS(CAUSE, MISMATCH, "", 84),
     "Ranks passed different tensors to one collective: {exc}",
     STACKS,
     {NULL}},
    {NAMED(PYTHON_ERROR, "HorovodInternalError"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Horovod detected that one or more"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "EngineDeadError"), PLAIN_VICTIM}, /* vLLM */
    {SAYS(PYTHON_ERROR, "RuntimeError: cancelled"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "KeyboardInterrupt"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "SystemExit"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "SIGTERMException"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "ResourcesUnavailableError"), /* SkyPilot */
     AS(CAUSE, SCHEDULER, "capacity", 66),
     "There was no machine to run the job on{on}: {exc}",
     "Try again later, in another zone, or with another type of machine; a reservation keeps it.",
     {NULL}},
    {NAMED(PYTHON_ERROR, "Warning"), PLAIN_CONTEXT},
    {NAMED(PYTHON_ERROR, "torch.OutOfMemoryError"),
     AS(CAUSE, APPLICATION, "exception", 70), /* of which device, its message says */
     RAISED,
     TRACEBACK,
     {NULL}},
    {NAMED(PYTHON_ERROR, "MemoryError"),
     AS(CAUSE, HOST, "memory", 81),
     "{Who} ran out of host memory{at}: {exc}",
     MEMORY,
     {NULL}},
    {NAMED(PYTHON_ERROR, "bad_alloc"),
     AS(CAUSE, HOST, "memory", 74),
     "{Who} could not allocate host memory (std::bad_alloc)",
     MEMORY,
     {NULL}},
    {NAMED(PYTHON_ERROR, "FloatingPointError"), AS(CAUSE, NUMERICAL, "", 72), RAISED, NULL, {NULL}},
    {SAYS(PYTHON_ERROR, "EOFError: Ran out of input"),
     AS(CAUSE, APPLICATION, "exception", 70),
     "{Who} read a file that ends too early{at}: {exc}",
     "Check that file: it was cut when it was written, or is still being written.",
     {NULL}},
#define NETWORK_FILE(number)                                                                       \
    {                                                                                              \
        SAYS(PYTHON_ERROR, "[Errno " number "] "), AS(CAUSE, HOST, "storage", 75),                 \
            "A network file system of {who} failed{at}: {exc}", STORAGE,                           \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
    NETWORK_FILE("70"),  /* communication error on send */
    NETWORK_FILE("108"), /* cannot send after transport endpoint shutdown */
    NETWORK_FILE("121"), /* remote I/O error */
    {SAYS(PYTHON_ERROR, "CUDA unknown error"),
     AS(CAUSE, DRIVER, "", 72),
     "The CUDA runtime of {who} failed without naming a cause{at}: {exc}",
     "Check nvidia-smi and the node's kernel log for Xid lines; reload the driver (on WSL, restart "
     "it).",
     {ASK_XID}},
    {SAYS(PYTHON_ERROR, "Inner error is reported"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "torch_npu"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Read error ["), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "NCCL communicator was aborted"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "NCCL error"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "ProcessGroupNCCL"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "HCCL"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "ACL stream synchronize failed"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "HcclAll"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "preamble.length"), AS(FACT, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {SAYS(PYTHON_ERROR, "gloo/"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Gloo connectFullMesh"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Connection closed by peer"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Connection reset by peer"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Socket Timeout"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Stop_waiting response"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "TCPStore("), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "->get("), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "wait timeout after"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "connect() timed out"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "client socket has timed out"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "waiting for clients"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Watchdog caught"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Timed out waiting"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "monitoredBarrier"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Broken pipe"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "mismatch between collectives"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Horovod has been shut down"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "UNAVAILABLE: "), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "different incarnation"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "imed out node list"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "Collective ops is aborted by"), PLAIN_VICTIM}, /* TensorFlow */
    {SAYS(PYTHON_ERROR, "DEADLINE_EXCEEDED"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "DataLoader worker"), PLAIN_VICTIM},
    {NAMED(PYTHON_ERROR, "ExceptionGroup"), /* what it groups says more */
     AS(CAUSE, APPLICATION, "exception", 60),
     RAISED,
     TRACEBACK,
     {NULL}},
    {NAMED(PYTHON_ERROR, "TimeoutError"),
     AS(CAUSE, UNKNOWN, "timeout", 24),
     RAISED,
     TRACEBACK,
     {ASK_PEER}},
    {NAMED(PYTHON_ERROR, "EOFError"),
     AS(CAUSE, UNKNOWN, "peer", 22),
     RAISED,
     TRACEBACK,
     {ASK_PEER}},
    {KIND(PYTHON_ERROR), AS(CAUSE, APPLICATION, "exception", 70), RAISED, TRACEBACK, {NULL}},
    /* ---- GPU memory ---- */
    {SAYS(CUDA_OOM, "NPU out of memory"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of NPU memory{at}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "XPU out of memory"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of GPU memory{at}{alloc}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "MPS backend"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of GPU memory{at}{alloc}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "PT_DEVMEM"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of device memory{at}: {text}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "emory space hbm"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of device memory (HBM){at}{alloc}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "OUT_OF_DEVICE_MEMORY"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of device memory{at}: {text}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "HBM"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of device memory (HBM){at}{alloc}",
     NULL,
     {NULL}},
    {KIND(CUDA_OOM),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of GPU memory{at}{alloc}",
     NULL,
     {NULL}},
    /* ---- CUDA errors: text of the runtime ---- */
    {CODED(CUDA_ERROR, 710),
     AS(CAUSE, CUDA_ERROR, "assert", 79),
     "{Who} failed an assertion on the GPU: {op}{at}",
     "Look for an index out of range (labels, token ids); run with CUDA_LAUNCH_BLOCKING=1.",
     {NULL}},
    {CODED(CUDA_ERROR, 700),
     AS(CAUSE, CUDA_ERROR, "illegal_access", 78),
     "{Who} made an illegal memory access on the GPU: {text}",
     NULL,
     {ASK_XID}},
#define CUDA(word, cls, sub, weight, headline, advice, ask)                                        \
    {NAMED(CUDA_ERROR, word), AS(CAUSE, cls, sub, weight), headline, advice, {ask}},               \
    {                                                                                              \
        NAMED(NCCL_CUDA_ERROR, word), AS(CAUSE, cls, sub, (weight)-15), headline, advice,          \
        {                                                                                          \
            ask                                                                                    \
        }                                                                                          \
    }
    CUDA("ECC", GPU_HARDWARE, "memory", 92, "The memory of the GPU of {who} failed: {op}", DRAIN,
         NULL),
    CUDA("nvlink", GPU_HARDWARE, "nvlink", 90, "NVLink failed on {who}: {op}", NULL, NULL),
    CUDA("NVLink", GPU_HARDWARE, "nvlink", 90, "NVLink failed on {who}: {op}", NULL, NULL),
    CUDA("fallen off", GPU_HARDWARE, "bus", 94, "The GPU of {who} fell off the bus", DRAIN, NULL),
    CUDA("device is lost", GPU_HARDWARE, "bus", 90, "The GPU of {who} is lost: {op}", DRAIN, NULL),
    CUDA("hardware", GPU_HARDWARE, "", 88, "The GPU of {who} failed: {op}", DRAIN, NULL),
    CUDA("unknown error", DRIVER, "", 75,
         "The CUDA runtime of {who} failed without naming a cause: {op}",
         "Read the node's kernel log for Xid lines and check nvidia-smi; reload the driver (on "
         "WSL, restart it) before blaming the GPU.",
         ASK_XID),
    {NAMED(CUDA_ERROR, "driver shutting down"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(NCCL_CUDA_ERROR, "driver shutting down"),
     AS(TEARDOWN, UNKNOWN, "", 0),
     NULL,
     NULL,
     {NULL}},
    CUDA("driver version", DRIVER, "", 74, "The GPU driver of {who} is too old: {op}",
         "Install a driver that fits the CUDA version, or a build for the driver there is.", NULL),
    CUDA("not yet initialized", DRIVER, "", 74, "The GPU system of {who} is not initialized: {op}",
         "Start nvidia-fabricmanager and check that its version is the driver's.", NULL),
    CUDA("initialization error", DRIVER, "", 60, "CUDA could not start on {who}: {op}", NULL, NULL),
    CUDA("busy or unavailable", DRIVER, "", 60, "The GPU of {who} is busy or unavailable: {op}",
         "Look for another process on this GPU, and at its compute mode.", NULL),
    CUDA("no CUDA-capable", DRIVER, "", 70, "{Who} found no GPU: {op}",
         "Check nvidia-smi on the node, the driver and what GPUs the job may see.", NULL),
    CUDA("illegal memory access", CUDA_ERROR, "illegal_access", 78,
         "{Who} made an illegal memory access on the GPU{at}", NULL, ASK_XID),
    CUDA("ILLEGAL_ADDRESS", CUDA_ERROR, "illegal_access", 78,
         "{Who} made an illegal memory access on the GPU{at}", NULL, ASK_XID),
    CUDA("out of memory", CUDA_OOM, "", 75, "{Who} ran out of GPU memory{at}{alloc}", NULL, NULL),
    CUDA("GPU Hang", GPU_HARDWARE, "", 62, "The GPU of {who} hung: {text}", DRAIN, NULL),
    CUDA("device-side assert", CUDA_ERROR, "assert", 79, "{Who} failed an assertion on the GPU{at}",
         "Look for an index out of range (labels, token ids); run with CUDA_LAUNCH_BLOCKING=1.",
         NULL),
    CUDA("launch failure", CUDA_ERROR, "launch_failure", 74,
         "A kernel of {who} failed on the GPU: {op}{at}", NULL, ASK_XID),
    CUDA("misaligned", CUDA_ERROR, "illegal_access", 76,
         "{Who} made a misaligned memory access on the GPU{at}", NULL, ASK_XID),
    {KIND(CUDA_ERROR),
     AS(CAUSE, CUDA_ERROR, "", 68),
     "{Who} met a GPU error: {op}{at}",
     NULL,
     {ASK_XID}},
    {KIND(NCCL_CUDA_ERROR),
     AS(CAUSE, CUDA_ERROR, "", 58),
     "NCCL on {who} met a GPU error: {op}",
     NULL,
     {ASK_XID}},
    {SAYS(VERSION_MISMATCH, "NCCL version"),
     AS(CAUSE, APPLICATION, "version", 80),
     "Ranks run different versions of NCCL: {text}",
     "Install one NCCL on all nodes: one container image, one LD_LIBRARY_PATH.",
     {NULL}},
    {SAYS(VERSION_MISMATCH, "NVML: Unknown Error"),
     AS(CAUSE, DRIVER, "nvml", 72),
     "{Who} lost its access to the GPUs: {text}",
     "Restart the container, and check nvidia-smi on the node.",
     {"a container that lost its devices when systemd reloaded (control groups, version 2): "
      "nvidia-smi works on the node and not in the container",
      "a driver or GPU that failed: the node's kernel log (NVRM, Xid) would tell"}},
    {SAYS(VERSION_MISMATCH, "nvidia-container-cli"),
     AS(CAUSE, DRIVER, "container", 80),
     "The container could not get its GPUs{node}: {text}",
     "Check nvidia-smi on the node: load its driver, or drain it; then restart the container.",
     {NULL}},
    {KIND(VERSION_MISMATCH),
     AS(CAUSE, DRIVER, "version", 82),
     "The GPU driver and its library do not fit each other on {who}: {text}",
     "Reboot the node, or reload the kernel module, so that the loaded driver is the installed "
     "one; in a container, use the host's driver libraries.",
     {NULL}},
/* ---- NPUs and AMD GPUs ---- */
#define DEVICE(text, cls, sub, weight, headline, ask)                                              \
    {                                                                                              \
        SAYS(NPU_FAULT, text), AS(CAUSE, cls, sub, weight), headline, DRAIN,                       \
        {                                                                                          \
            ask                                                                                    \
        }                                                                                          \
    }
/* CANN's codes, by the names of its list of runtime errors */
#define NPU(number, ...)                                                                           \
    {                                                                                              \
        CODED(NPU_FAULT, number), __VA_ARGS__                                                      \
    }
#define NPU_KERNEL                                                                                 \
    AS(CAUSE, CUDA_ERROR, "", 76), "A kernel of {who} failed on the NPU: {text}",                  \
        "Read the plog of this rank for the operator and its inputs; run msnpureport for the "     \
        "device.",                                                                                 \
    {                                                                                              \
        NULL                                                                                       \
    }
/* of a line in words; a code says less than one */
#define NPU_MEMORY(weight)                                                                         \
    AS(CAUSE, GPU_HARDWARE, "memory", weight), "The memory of the NPU of {who} failed: {text}",    \
        DRAIN,                                                                                     \
    {                                                                                              \
        NULL                                                                                       \
    }
#define NPU_REMOTE                                                                                 \
    AS(CAUSE, UNKNOWN, "peer", 56),                                                                \
        "{Who} met a fault in the memory of another NPU, or accessed its own out of bounds: "      \
        "{text}",                                                                                  \
        "Read the logs of the ranks that it communicates with: the one whose memory failed says "  \
        "so.",                                                                                     \
    {                                                                                              \
        ASK_PEER                                                                                   \
    }
#define NPU_RUNTIME                                                                                \
    AS(CAUSE, DRIVER, "runtime", 60), "The NPU's runtime reports an error on {who}: {text}",       \
        "Look the code up in CANN's list of runtime errors, and read the plog of this rank.",      \
    {                                                                                              \
        NULL                                                                                       \
    }
    NPU(507010, AS(CAUSE, GPU_HARDWARE, "", 80),
        "The accelerator of {who} no longer answers (lost heartbeat): {text}", DRAIN, {NULL}),
    NPU(507011, NPU_KERNEL), /* model execution */
    NPU(507014, NPU_KERNEL), /* AI core: timeout, exception, trap */
    NPU(507015, NPU_KERNEL),
    NPU(507016, NPU_KERNEL),
    NPU(507017, NPU_KERNEL), /* AI CPU */
    NPU(507018, NPU_KERNEL),
    NPU(507034, NPU_KERNEL), /* vector core */
    NPU(507035, NPU_KERNEL),
    NPU(507036, NPU_KERNEL),
    NPU(507048, NPU_KERNEL), /* FFTS+ */
    NPU(507049, NPU_KERNEL),
    NPU(507050, NPU_KERNEL),
    NPU(507053, NPU_MEMORY(89)), /* device memory, ECC of HBM */
    NPU(507054, NPU_MEMORY(89)),
    NPU(507055, NPU_REMOTE), /* another device's memory is suspected */
    NPU(507057, NPU_REMOTE),
    NPU(507056, AS(CAUSE, NETWORK, "link", 70),
        "The link from the NPU of {who} to another broke: {text}", LINKS, {ASK_PEER}),
    NPU(507899, AS(CAUSE, DRIVER, "", 72),
        "The NPU's driver reports an internal error on {who}: {text}",
        "Check that driver, firmware and CANN fit each other, and that no other container holds "
        "the device; msnpureport collects the device's log.",
        {"a fault of the device: npu-smi info -t health would tell"}),
    NPU(507901, AS(CAUSE, DRIVER, "", 74), "{Who} lost the connection to its NPU: {text}",
        "Check npu-smi info on the node and the device's log (msnpureport).",
        {"a device that was reset or fell off the bus: the kernel log would tell"}),
    NPU(507904, AS(CAUSE, NETWORK, "link", 60),
        "A collective of HCCL failed on {who}, retries included: {text}", LINKS, {ASK_PEER}),
    DEVICE("DEVICE_LOST", GPU_HARDWARE, "bus", 88, "The accelerator of {who} is lost: {text}",
           "a kernel that never ends and was reset: GPU HANG in the node's kernel log would tell"),
    DEVICE("eartbeat", GPU_HARDWARE, "", 82, "The accelerator of {who} no longer answers: {text}",
           NULL),
    DEVICE("bad TPU", GPU_HARDWARE, "", 70, "Megascale suspects bad TPU chips{node} behind a hang",
           "a kernel of the program (XLA, Pallas) that never ends: other hosts would be named the "
           "next time"),
    DEVICE("_UE", GPU_HARDWARE, "memory", 90,
           "The memory of an accelerator of {who} failed: {text}", NULL),
    DEVICE("uncorrectable", GPU_HARDWARE, "memory", 90,
           "The memory of an accelerator of {who} failed: {text}", NULL),
    {SAYS(NPU_FAULT, "HW_ERR_COLLECTIVES"),
     AS(CAUSE, COMMUNICATION, "npu", 50),
     "A collective of {who} does not end, as the runtime reports: {text}",
     "Look for a hardware error in the logs of the other workers: one of them delays the others.",
     {ASK_PEER}},
    DEVICE("ardware error", GPU_HARDWARE, "", 84, "An accelerator of {who} failed: {text}", NULL),
    DEVICE("HW_ERR", GPU_HARDWARE, "", 84, "An accelerator of {who} failed: {text}", NULL),
    DEVICE("with err: 120", GPU_HARDWARE, "", 78, "An accelerator of {who} failed: {text}", NULL),
    {SAYS(NPU_FAULT, "halted"),
     AS(CAUSE, CUDA_ERROR, "", 72),
     "The accelerator of {who} halted in a program: {text}{at}",
     "Run the step again on other hosts: where they halt too, it is the program, else the chip.",
     {"a fault of the chip: the same host would halt again with another program"}},
    {SAYS(NPU_FAULT, "ecc"), NPU_MEMORY(90)},
    {SAYS(NPU_FAULT, "ECC"), NPU_MEMORY(90)},
    {SAYS(NPU_FAULT, "lost"),
     AS(CAUSE, GPU_HARDWARE, "bus", 90),
     "The NPU of {who} is lost: {text}",
     DRAIN,
     {NULL}},
    {SAYS(NPU_FAULT, "error code is 507"), NPU_RUNTIME},
    {SAYS(NPU_FAULT, "error code:507"), NPU_RUNTIME},
    {KIND(NPU_FAULT), NPU_KERNEL},
    {SAYS(NPU_SETUP, "HCCP"),
     AS(CAUSE, DRIVER, "setup", 76),
     "HCCL could not start on {who}: {text}",
     "End what is left of the last run on these NPUs (npu-smi info), and start again.",
     {NULL}},
    {SAYS(NPU_SETUP, "resource busy"),
     AS(CAUSE, DRIVER, "busy", 73),
     "The TPU of {who} is held by another process: {text}{at}",
     "End the process that holds it (lsof /dev/vfio), or delete and recreate the machine: one that "
     "was reused after a preemption may still be held.",
     {NULL}},
    {SAYS(NPU_SETUP, "raph compile failed"),
     AS(CAUSE, APPLICATION, "compile", 73),
     "The graph of {who} could not be compiled: {text}",
     "Read the compiler's log (HABANA_LOGS) for the operation that failed.",
     {"memory of the device that does not suffice: the same error with a smaller batch would "
      "exclude it"}},
    {SAYS(NPU_SETUP, "driver error"),
     AS(CAUSE, DRIVER, "", 74),
     "The NPU driver of {who} failed: {text}",
     "Check the NPU (npu-smi info) and the driver's log; end what is left of the last run on it.",
     {NULL}},
    {KIND(NPU_SETUP),
     AS(CAUSE, DRIVER, "setup", 72),
     "The accelerator of {who} could not be used: {text}",
     "End other processes on these devices, check them (hl-smi, npu-smi), and read the driver's "
     "log.",
     {NULL}},
    {KIND(AMD_PAGE_FAULT),
     AS(CAUSE, CUDA_ERROR, "illegal_access", 74),
     "{Who} made an illegal memory access on an AMD GPU (page fault)",
     "Run the failing rank with AMD_SERIALIZE_KERNEL=3 and HIP_LAUNCH_BLOCKING=1 to find the "
     "kernel.",
     {"a fault of the GPU: RAS errors of amdgpu in the kernel log would confirm it"}},
#define RESET(says, driver)                                                                        \
    {                                                                                              \
        SAYS(AMD_RESET, says), AS(CAUSE, GPU_HARDWARE, "", 70),                                    \
            "{Device} hung and was reset by its driver (" driver "): {text}", DRAIN,               \
        {                                                                                          \
            "a kernel of the program that never ends: the same step would hang again elsewhere"    \
        }                                                                                          \
    }
    RESET("habanalabs", "habanalabs"),
    RESET("i915", "i915"),
    RESET("xe 0000", "xe"),
    {KIND(AMD_RESET),
     AS(CAUSE, GPU_HARDWARE, "", 70),
     "{Device} hung and was reset by its driver (amdgpu): {text}",
     "Drain the node, run its GPU diagnostics, and update driver and firmware if it comes back.",
     {"a kernel of the program that never ends: a page fault before the reset would confirm it"}},
    {KIND(AMD_MEMORY),
     AS(CAUSE, GPU_HARDWARE, "memory", 92),
     "{Device} reports an uncorrectable error: {text}",
     DRAIN,
     {NULL}},
    /* ---- networks ---- */
    {KIND(NCCL_IB_ASYNC),
     AS(CAUSE, NETWORK, "port", 60),
     "An InfiniBand port of {who} reports an event: {op}",
     LINKS,
     {ASK_PEER}},
    {SAYS(LINK_DOWN, "mlx5_core"),
     AS(CAUSE, NETWORK, "link", 64),
     "A network card or its link failed on {who}: {text}",
     LINKS,
     {ASK_PEER}},
    {KIND(LINK_DOWN),
     AS(CAUSE, NETWORK, "link", 64),
     "A network link went down on {who}",
     LINKS,
     {ASK_PEER}},
    {SAYS(FABRIC_ERROR, "OFI poll failed"), /* of a call that says itself that it failed */
     AS(CAUSE, NETWORK, "link", 45),
     "Transfers of {who} failed: {text}",
     LINKS,
     {ASK_PEER}},
    {SAYS(FABRIC_ERROR, "likely caused by"),
     AS(CAUSE, NETWORK, "link", 70),
     "Megascale suspects the network{node} behind a hang",
     LINKS,
     {ASK_PEER}},
    {SAYS(FABRIC_ERROR, "locked memory"), LOCKED_MEMORY},
    {SAYS(FABRIC_ERROR, "UCX"),
     AS(CAUSE, NETWORK, "link", 56),
     "UCX transfers of {who} failed: {text}",
     LINKS,
     {ASK_PEER}},
    {KIND(FABRIC_ERROR),
     AS(CAUSE, NETWORK, "link", 56),
     "Transfers of {who} failed{to}: {text}",
     LINKS,
     {ASK_PEER}},
#define STREAM(text)                                                                               \
    {                                                                                              \
        SAYS(NPU_TIMEOUT, text), AS(CAUSE, COMMUNICATION, "npu", 34),                              \
            "A stream of {who} did not end in time: {text}",                                       \
            "Find the rank that logs another error or none: the others may wait for it.",          \
        {                                                                                          \
            "a kernel that never ends, or a collective that waits: the plog of every rank would "  \
            "tell"                                                                                 \
        }                                                                                          \
    }
    STREAM("507046"),
    STREAM("stream sync"),
    {KIND(NPU_TIMEOUT),
     AS(CAUSE, COMMUNICATION, "npu", 35),
     "A collective of HCCL waited in vain{awaited}: {op}",
     "Find the rank that logs no such timeout, or another error: the others wait for it.",
     {"a rank that is late or dead: the plog of every rank would name it",
      "the network between the NPUs: check the ports (hccn_tool)"}},
    {SAYS(FABRIC_SETUP, "ibv_"), LOCKED_MEMORY},
    {SAYS(FABRIC_SETUP, "interface"),
     AS(CAUSE, NETWORK, "setup", 66),
     "NCCL on {who} found no network interface to use: {text}",
     "Correct NCCL_SOCKET_IFNAME, or bring the interface up.",
     {NULL}},
    {KIND(FABRIC_SETUP),
     AS(CAUSE, NETWORK, "setup", 56),
     "The fabric could not be set up on {who}: {text}",
     "Check the versions of libfabric, its NCCL plugin and the EFA driver, memory limits "
     "(ulimit -l), and the security group.",
     {NULL}},
    {SAYS(LEADER_LOST, "GCS"), RAY_LOST},
    {KIND(LEADER_LOST),
     AS(CAUSE, PEER_DIED, "leader", 58),
     "The leader (task 0) is gone: the coordination service no longer answers{on}{since}",
     PEER_LOG,
     {ASK_NETWORK}},
    {KIND(PORT_TAKEN),
     AS(CAUSE, APPLICATION, "port", 72),
     "{Who} could not listen on its port, which is in use already: {text}",
     "Choose another port (--master_port, MASTER_PORT), or end the job that holds it.",
     {NULL}},
    {SAYS(MISMATCH, "essage truncated"),
     AS(CAUSE, MISMATCH, "size", 82),
     "Ranks do not agree on the size of a message: {text}",
     "Compare the \"NCCL version\" lines and the environment of the nodes, then the sizes that the "
     "ranks pass to this collective.",
     {"nodes with different versions or settings of NCCL: compare their \"NCCL version\" lines",
      "ranks that entered different collectives: their stacks would tell"}},
    {SAYS(MISMATCH, "likely caused by"),
     AS(CAUSE, MISMATCH, "program", 72),
     "Megascale suspects that workers run different or inconsistent TPU programs{node} behind a "
     "hang",
     "Compare the HLO dumps of these hosts (--xla_dump_to), then their code and library versions.",
     {NULL}},
    {KIND(INPUT_STALLED),
     AS(CAUSE, CPU_STALL, "input", 70),
     "Megascale suspects a stall of the data input pipeline{node} behind a hang",
     "Look at the data loading of these hosts: storage, decoding, a shard that is missing.",
     {NULL}},
    {KIND(MISMATCH), AS(CAUSE, MISMATCH, "", 88), NULL, STACKS, {NULL}},
    {KIND(BUFFER_MISMATCH),
     AS(CAUSE, MISMATCH, "size", 84),
     "Ranks entered one collective with different sizes{sizes}: {who} received another size than "
     "it expected",
     "Print the shapes that each rank passes to this collective; the last batch is often smaller "
     "on one rank.",
     {"ranks that entered different collectives: their stacks would tell"}},
    /* ---- numbers ---- */
    {KIND(NOT_FINITE),
     AS(CAUSE, NUMERICAL, "", 66),
     "Training of {who} met values that are not "
     "finite: {op}",
     NULL,
     {NULL}},
    {KIND(DIVERGED),
     AS(CAUSE, NUMERICAL, "", 60),
     "Training of {who} was ended for its loss: {text}",
     NULL,
     {NULL}},
    {KIND(GIL), AS(CAUSE, CPU_STALL, "gil", 54), NULL, NULL, {NULL}},
    {SAYS(ENGINE_STUCK, "heartbeat from rank"),
     AS(CAUSE, CPU_STALL, "heartbeat", 56),
     "{Who} no longer told its monitor that it was alive{since}: {text}",
     "Take the stacks of this rank's process (py-spy dump) when it hangs again, and compare the "
     "monitor's timeout with the longest step, evaluation and checkpoint.",
     {"a GPU or a collective that hangs, with the host waiting for it: check its stack and the "
      "node's kernel log",
      "work that takes longer than the monitor allows: raise its timeout"}},
    {KIND(ENGINE_STUCK),
     AS(CAUSE, UNKNOWN, "stuck", 50),
     NULL,
     "Take the stacks of all its processes (py-spy dump) next time, and read their logs from "
     "before "
     "the watchdog's time.",
     {NULL}},
    /* ---- the floor ---- */
    {SAYS(ERROR_LINE, "error: unrecognized arguments"),
     AS(CAUSE, APPLICATION, "usage", 60),
     "{Who} {was} started with wrong arguments: {text}",
     "Correct the command line.",
     {NULL}},
    {SAYS(ERROR_LINE, "error: the following arguments"),
     AS(CAUSE, APPLICATION, "usage", 60),
     "{Who} {was} started with missing arguments: {text}",
     "Correct the command line.",
     {NULL}},
    {SAYS(ERROR_LINE, ": error: argument "),
     AS(CAUSE, APPLICATION, "usage", 58),
     "{Who} {was} started with wrong arguments: {text}",
     "Correct the command line.",
     {NULL}},
    {SAYS(ERROR_LINE, ": invalid "),
     AS(CAUSE, APPLICATION, "usage", 56),
     "{Who} {was} started with wrong arguments: {text}",
     "Correct the command line.",
     {NULL}},
    {SAYS(ERROR_LINE, "NVSwitch"), /* the fabric manager's */
     AS(CAUSE, GPU_HARDWARE, "nvlink", 55),
     "NVLink or an NVSwitch failed{on}: {text}",
     "Read the fabric manager's log and the kernel log (SXid) of the node; drain it when it "
     "repeats.",
     {NULL}},
    {KIND(ERROR_LINE), AS(CAUSE, UNKNOWN, "error", 25), NULL, NULL, {NULL}},
    {KIND(NCCL_WARNING), AS(CAUSE, UNKNOWN, "warning", 10), NULL, NULL, {NULL}},
};

/* An exit code as its signal, or 1 for any other failure. */
static int64_t exit_code(int64_t code)
{
    int64_t signal = code < 0 && code > -65 ? -code : code > 128 && code < 193 ? code - 128 : 0;
    bool failed = code > 0 && (code <= 128 || (code > 192 && code < 256)); /* 255: ssh, -1 */
    return signal > 0 ? signal : failed ? 1 : 0;
}

static bool takes(const struct inq_failure_rule *rule, enum inq_log_kind kind, int64_t code,
                  const struct inq_log_event *event)
{
    return rule->kind == kind && (rule->code < 0 || rule->code == code) &&
           (rule->name == NULL || strstr(event->op, rule->name) != NULL) &&
           (rule->text == NULL || strstr(event->text, rule->text) != NULL);
}

static const struct inq_failure_rule *find_rule(const struct inq_failure_rule *rules, size_t n,
                                                enum inq_log_kind kind, int64_t code,
                                                const struct inq_log_event *event)
{
    for (size_t i = 0; i < n; i++) {
        if (takes(&rules[i], kind, code, event)) {
            return &rules[i];
        }
    }
    return NULL;
}

/* An exception of a class that otherwise reports a lost peer, raised by the user's own code with
 * its own words: `raise TimeoutError("no batch within 30 s")`. */
static bool is_own(const struct inq_failure_rule *rule, const struct inq_log_event *event)
{
    static const char *const names[] = {"TimeoutError", "EOFError", "BrokenPipeError",
                                        "ConnectionResetError", "ConnectionAbortedError"};
    bool named = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && rule->name != NULL; i++) {
        named = named || strcmp(rule->name, names[i]) == 0;
    }
    const char *said = named ? strstr(event->text, event->op) : NULL;
    return said != NULL && event->own_frame && said[strlen(event->op)] == ':' &&
           strstr(said, "[Errno") == NULL;
}

const struct inq_failure_rule *inq_failure_rule_of(const struct inq_log_event *event)
{
    static const struct inq_failure_rule none = {.advice = NULL, .sub = ""};
    bool exit = event->kind == INQ_LOG_EXIT || event->kind == INQ_LOG_EXIT_ROW ||
                event->kind == INQ_LOG_SLURM_EXIT;
    enum inq_log_kind kind = exit ? INQ_LOG_EXIT : event->kind;
    int64_t code = exit ? exit_code(event->code) : event->code;
    if (kind == INQ_LOG_XID) {
        const struct inq_failure_rule *rule = inq_xid_rule(event->code, event->text);
        return rule->role == INQ_LOG_VICTIM && event->seq > 0
                   ? inq_xid_rule(event->seq, event->text)
                   : rule;
    }
    size_t n_system = 0;
    const struct inq_failure_rule *system = inq_failure_system_rules(&n_system);
    const struct inq_failure_rule *rule =
        find_rule(lines, sizeof lines / sizeof lines[0], kind, code, event);
    if (rule != NULL && is_own(rule, event)) {
        static const struct inq_log_event any = {.op = "", .text = ""};
        rule = find_rule(lines, sizeof lines / sizeof lines[0], kind, code, &any);
    }
    rule = rule != NULL ? rule : find_rule(system, n_system, kind, code, event);
    return rule != NULL ? rule : &none;
}
