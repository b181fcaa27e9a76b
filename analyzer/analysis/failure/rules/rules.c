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
     "{Who} exited with code {code}{since}; its own error message is not in these logs",
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
    {SAYS(ABORTED, "c10::Error"),
     AS(CAUSE, APPLICATION, "abort", 32),
     "{Who} aborted: {op}",
     NULL,
     {NULL}},
    {SAYS(ABORTED, "received signal"), PLAIN_FACT},
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
    {NAMED(PYTHON_ERROR, "KeyboardInterrupt"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "SystemExit"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "SIGTERMException"), AS(TEARDOWN, UNKNOWN, "", 0), NULL, NULL, {NULL}},
    {NAMED(PYTHON_ERROR, "Warning"), PLAIN_CONTEXT},
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
    {SAYS(PYTHON_ERROR, "Collective ops is aborted by"), PLAIN_VICTIM}, /* TensorFlow */
    {SAYS(PYTHON_ERROR, "DEADLINE_EXCEEDED"), PLAIN_VICTIM},
    {SAYS(PYTHON_ERROR, "DataLoader worker"), PLAIN_VICTIM},
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
    {SAYS(CUDA_OOM, "HIP out of memory"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of GPU memory{at}",
     NULL,
     {NULL}},
    {SAYS(CUDA_OOM, "HBM"),
     AS(CAUSE, CUDA_OOM, "", 86),
     "{Who} ran out of device memory (HBM){at}",
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
    CUDA("GPU Hang", GPU_HARDWARE, "", 62, "The GPU of {who} hung: {op}", DRAIN, NULL),
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
    {KIND(VERSION_MISMATCH),
     AS(CAUSE, DRIVER, "version", 82),
     "The GPU driver and its library do not fit each other on {who}: {text}",
     "Reboot the node, or reload the kernel module, so that the loaded driver is the installed "
     "one; in a container, use the host's driver libraries.",
     {NULL}},
    /* ---- NPUs and AMD GPUs ---- */
    {SAYS(NPU_FAULT, "cc"),
     AS(CAUSE, GPU_HARDWARE, "memory", 90),
     "The memory of the NPU of {who} failed: {text}",
     DRAIN,
     {NULL}},
    {SAYS(NPU_FAULT, "lost"),
     AS(CAUSE, GPU_HARDWARE, "bus", 90),
     "The NPU of {who} is lost: {text}",
     DRAIN,
     {NULL}},
    {KIND(NPU_FAULT),
     AS(CAUSE, CUDA_ERROR, "", 76),
     "A kernel of {who} failed on the NPU: {text}",
     "Read the plog of this rank for the operator and its inputs; run msnpureport for the device.",
     {NULL}},
    {SAYS(NPU_SETUP, "HCCP"),
     AS(CAUSE, DRIVER, "setup", 76),
     "HCCL could not start on {who}: {text}",
     "End what is left of the last run on these NPUs (npu-smi info), and start again.",
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
    {KIND(AMD_RESET),
     AS(CAUSE, GPU_HARDWARE, "", 70),
     "The AMD GPU of {who} hung and was reset by the driver",
     "Drain the node, run its GPU diagnostics, and update driver and firmware if it comes back.",
     {"a kernel of the program that never ends: a page fault before the reset would confirm it"}},
    {KIND(AMD_MEMORY),
     AS(CAUSE, GPU_HARDWARE, "memory", 92),
     "The AMD GPU of {who} reports an uncorrectable error",
     DRAIN,
     {NULL}},
    /* ---- networks ---- */
    {KIND(NCCL_IB_ASYNC),
     AS(CAUSE, NETWORK, "port", 60),
     "An InfiniBand port of {who} reports an event: {op}",
     LINKS,
     {ASK_PEER}},
    {KIND(LINK_DOWN),
     AS(CAUSE, NETWORK, "link", 64),
     "A network link went down on {who}",
     LINKS,
     {ASK_PEER}},
    {SAYS(FABRIC_ERROR, "UCX"),
     AS(CAUSE, NETWORK, "link", 56),
     "UCX transfers of {who} failed: {text}",
     LINKS,
     {ASK_PEER}},
    {KIND(FABRIC_ERROR),
     AS(CAUSE, NETWORK, "link", 56),
     "Transfers of {who} failed: {text}",
     LINKS,
     {ASK_PEER}},
    {KIND(NPU_TIMEOUT),
     AS(CAUSE, COMMUNICATION, "npu", 35),
     "A collective of HCCL waited in vain{awaited}: {op}",
     "Find the rank that logs no such timeout, or another error: the others wait for it.",
     {"a rank that is late or dead: the plog of every rank would name it",
      "the network between the NPUs: check the ports (hccn_tool)"}},
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
    {SAYS(ERROR_LINE, ": invalid "),
     AS(CAUSE, APPLICATION, "usage", 56),
     "{Who} {was} started with wrong arguments: {text}",
     "Correct the command line.",
     {NULL}},
    {KIND(ERROR_LINE), AS(CAUSE, UNKNOWN, "error", 25), NULL, NULL, {NULL}},
    {KIND(NCCL_WARNING), AS(CAUSE, UNKNOWN, "warning", 10), NULL, NULL, {NULL}},
};

/* What is said of a class when no line says it. */
static const struct inq_failure_rule classes[INQ_FAILURE_CLASS_COUNT] = {
    [INQ_FAILURE_NONE] = {.headline = "Nothing was pending when the dumps were written: they show "
                                      "no hang",
                          .advice = "Look for an exception or a signal in the logs of the ranks."},
    [INQ_FAILURE_UNKNOWN] = {.headline = "The run ended with \"{text}\" ({who}{since}); its cause "
                                         "is unknown to inquest",
                             .advice = "Collect the logs of all ranks and the kernel logs of their "
                                       "nodes; one that fails often writes neither log nor dump."},
    [INQ_FAILURE_GPU_STALL] =
        {.headline = "The GPU of {who} does not finish what the others have finished: stuck in "
                     "{hang}",
         .advice = "Read the kernel log of these ranks' nodes for Xid lines; drain a node that has "
                   "them.",
         .next = {"a kernel of the model that never ends, a GPU or NVLink fault, or an illegal "
                  "access: check the rank's stderr and the node's kernel log (Xid)",
                  "a host that stopped soon after it had enqueued these ops: check the process's "
                  "stack"}},
    [INQ_FAILURE_CPU_STALL] =
        {.headline = "{Who} never entered {hang}: stuck on the CPU",
         .advice =
             "Read these ranks' stderr, and take their Python stacks (py-spy dump) next time.",
         .next = {"an exception, a held GIL, a data loader, a checkpoint or work of this rank "
                  "alone: check the process's stack and stderr",
                  "a GPU that hangs in work that is no collective, with the host waiting for it: "
                  "check the process's stack and the kernel log"}},
    [INQ_FAILURE_MISMATCH] =
        {.headline = "Ranks did not enter the same collective: {who} differs at {hang}",
         .advice = STACKS,
         .next = {"one rank skipped or repeated a collective earlier: compare the stacks"}},
    [INQ_FAILURE_ORDERING] =
        {.headline = "{Who} wait for each other in a circle",
         .advice = "Enter the groups' collectives in one order on all ranks.",
         .next = {"groups that run on streams of their own, and a rank that is only slow: take a "
                  "second dump a minute later"}},
    [INQ_FAILURE_COMMUNICATION] =
        {.headline = "All ranks joined {hang}, and none finished: the network or one member's GPU",
         .advice = "Check links and network cards of the members' nodes for the time of the hang.",
         .next = {"a link or network card: check the logs of NCCL and of the network",
                  "one member's GPU hangs inside the kernel: check the nodes' kernel logs (Xid)"}},
    [INQ_FAILURE_UNEVEN] =
        {.headline = "{Who} never joined {hang}, which all others wait in: uneven data or work",
         .advice = "Give every rank the same number of batches (drop the last, or Join), and let "
                   "work of one rank alone end before the others' timeout, or raise that.",
         .next = {"fewer batches, an early end of its loop, or work of this rank alone: compare "
                  "the stacks of both sides",
                  "the two collectives in another order: compare the stacks of both sides"}},
    [INQ_FAILURE_GPU_HARDWARE] = {.headline = "The GPU of {who} failed: {text}", .advice = DRAIN},
    [INQ_FAILURE_DRIVER] = {.headline = "The GPU driver or firmware failed on {who}: {text}",
                            .advice = "Drain the node and reset the GPU; update driver and "
                                      "firmware if it comes back."},
    [INQ_FAILURE_NETWORK] = {.headline = "The network failed{to}: {text}",
                             .advice = LINKS,
                             .next = {ASK_PEER}},
    [INQ_FAILURE_HOST] = {.headline = "The host of {who} failed: {text}",
                          .advice = "Drain the node and read its kernel log and its hardware's "
                                    "event log."},
    [INQ_FAILURE_SCHEDULER] = {.headline = "The scheduler ended the job: {text}",
                               .advice = "Restart from the last checkpoint."},
    [INQ_FAILURE_CUDA_ERROR] =
        {.headline = "{Who} met a GPU error of the program: {text}",
         .advice = "Run the failing rank with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find "
                   "the kernel; the timeouts of other ranks need no look."},
    [INQ_FAILURE_CUDA_OOM] = {.headline = "{Who} ran out of GPU memory",
                              .advice =
                                  "Lower this rank's micro-batch or sequence length, or shard "
                                  "and recompute more; compare its memory with that of other "
                                  "ranks."},
    [INQ_FAILURE_APPLICATION] = {.headline = "{Who} failed: {text}", .advice = TRACEBACK},
    [INQ_FAILURE_NUMERICAL] = {.headline = "Training diverged: {text}",
                               .advice = "Look at the data and the gradients of the step at which "
                                         "it began."},
    [INQ_FAILURE_PEER_DIED] = {.headline = "A process elsewhere ended first{to}: these logs are of "
                                           "the peers that lost it",
                               .advice = PEER_LOG,
                               .next = {ASK_NETWORK}},
};

const struct inq_failure_rule *inq_failure_class_rule(enum inq_failure_class cls)
{
    return &classes[cls];
}

/* An exit code as its signal, or 1 for any other failure. */
static int64_t exit_code(int64_t code)
{
    int64_t signal = code < 0 && code > -65 ? -code : code > 128 && code < 193 ? code - 128 : 0;
    return signal > 0 ? signal : code > 0 && code < 128 ? 1 : 0;
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

/* An exception of a class that otherwise tells of a lost peer, raised by the user's own code with
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
        bool nonfatal = strstr(event->text, "onfatal") != NULL;
        const struct inq_failure_rule *rule = inq_xid_rule(event->code, nonfatal);
        return rule->role == INQ_LOG_VICTIM && event->seq > 0 ? inq_xid_rule(event->seq, nonfatal)
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
