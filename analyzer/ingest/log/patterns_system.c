/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of machines, batch systems and containers: the kernel's file systems, systemd, PBS, LSF,
 * Grid Engine, MPICH's launcher, Kubernetes, clouds; and how whoever started a process tells its
 * end. */
#include "ingest/log/patterns.h"

#include <stddef.h>

static const struct inq_log_field of_outcome[] = {{"with exit code ", INQ_LOG_CODE},
                                                  {"exit code ", INQ_LOG_CODE},
                                                  {"xit Code:", INQ_LOG_CODE},
                                                  {"exit code: ", INQ_LOG_CODE},
                                                  {"xit_status=", INQ_LOG_CODE},
                                                  {"exit status ", INQ_LOG_CODE},
                                                  {"with code ", INQ_LOG_CODE},
                                                  {"ExitCode=", INQ_LOG_CODE},
                                                  {"Exit status:", INQ_LOG_CODE},
                                                  {"exit_code=", INQ_LOG_CODE},
                                                  {"exit status of rank ", INQ_LOG_RANK}, /* MPD */
                                                  {"(return value ", INQ_LOG_CODE},
                                                  {"Pod: ", INQ_LOG_HOST},
                                                  {"xitCode: ", INQ_LOG_CODE},
                                                  {"xitCode:", INQ_LOG_CODE},
                                                  {"exitCode\":", INQ_LOG_CODE},
                                                  {"rror pod ", INQ_LOG_HOST},
                                                  {"(signal ", INQ_LOG_SIGNAL},
                                                  {"by signal ", INQ_LOG_SIGNAL},
                                                  {"Code is ", INQ_LOG_CODE},
                                                  {"code is ", INQ_LOG_CODE},
                                                  {NULL, 0}};

/* "pdsh@gx-1: gx-2: ssh exited with exit code 255" */
static const struct inq_log_field of_ssh[] = {
    {": ", INQ_LOG_HOST}, {"exit code ", INQ_LOG_CODE}, {NULL, 0}};

/* "make: *** [Makefile:31: train] Error 134" */
static const struct inq_log_field of_make[] = {{"] Error ", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_field of_unit_exit[] = {{"status=", INQ_LOG_CODE}, {NULL, 0}};
static const struct inq_log_field of_unit_signal[] = {{"status=", INQ_LOG_SIGNAL}, {NULL, 0}};

static const struct inq_log_field of_core[] = {{"Process ", INQ_LOG_PID}, {NULL, 0}};

static const struct inq_log_field of_box[] = {
    {"RANK ", INQ_LOG_RANK},       {"PID ", INQ_LOG_PID},
    {"EXIT CODE: ", INQ_LOG_CODE}, {"KILLED BY SIGNAL: ", INQ_LOG_SIGNAL},
    {"RUNNING AT ", INQ_LOG_HOST}, {NULL, 0}};

static const struct inq_log_field of_abort[] = {{"(rank ", INQ_LOG_RANK},
                                                {"- process ", INQ_LOG_RANK},
                                                {"MPI_COMM_WORLD, ", INQ_LOG_CODE},
                                                {"Abort(", INQ_LOG_CODE},
                                                {NULL, 0}};

static const struct inq_log_field of_object[] = {{"pod/", INQ_LOG_PEER}, {"job/", INQ_LOG_PEER},
                                                 {"Pod/", INQ_LOG_PEER}, {"node/", INQ_LOG_PEER},
                                                 {"pod ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_volcano[] = {
    {"Task:", INQ_LOG_PEER}, {"Job: ", INQ_LOG_PEER}, {NULL, 0}};

static const struct inq_log_field of_device[] = {
    {"XFS (", INQ_LOG_PEER}, {"device ", INQ_LOG_PEER}, {"dev ", INQ_LOG_PEER}, {NULL, 0}};

/* "The following task was preempted: /job:jax_worker/replica:0/task:3" */
static const struct inq_log_field of_taken[] = {{"/task:", INQ_LOG_RANK}, {NULL, 0}};

static const struct inq_log_field of_fetch[] = {{"returned error code:", INQ_LOG_CODE}, {NULL, 0}};

static const struct inq_log_pattern patterns[] = {
    /* batch systems: limits */
    LAST(TIME_LIMIT, "TERM_RUNLIMIT", NULL, NULL),
    LAST(TIME_LIMIT, "TERM_CPULIMIT", NULL, NULL),
    LAST(MEMORY_LIMIT, "TERM_MEMLIMIT", NULL, NULL),
    LAST(MEMORY_LIMIT, "TERM_SWAP", NULL, NULL),
    LAST(RECLAIMED, "TERM_PREEMPT", NULL, NULL),
    LAST(SLURM_CANCELLED, "TERM_OWNER", NULL, NULL),
    LAST(SLURM_CANCELLED, "TERM_ADMIN", NULL, NULL),
    LAST(SLURM_CANCELLED, "TERM_FORCE_", NULL, NULL),
    LAST(TIME_LIMIT, "PBS: job killed", "time ", NULL),
    LAST(MEMORY_LIMIT, "PBS: job killed", "mem ", NULL),
    LAST(SLURM_CANCELLED, "PBS: job killed", NULL, NULL),
    LAST(MEMORY_LIMIT, "mem limit exceeded", NULL, NULL),
    LAST(MEMORY_LIMIT, "ob has gone over", "memory limit", NULL), /* HTCondor */
    LAST(MEMORY_LIMIT, "usage hard limit", "MEM ", NULL),         /* Moab */
    LAST(TIME_LIMIT, "usage hard limit", "WALLTIME", NULL),
    LAST(TIME_LIMIT, "exceeded hard wallclock time", NULL, NULL), /* Grid Engine */
    LAST(TIME_LIMIT, "exceeded soft wallclock time", NULL, NULL),
    LAST(TIME_LIMIT, "limit \"h_rt", "exceed", NULL),
    LAST(TIME_LIMIT, "limit \"s_rt", "exceed", NULL),
    LAST(TIME_LIMIT, "limit \"h_cpu", "exceed", NULL),
    LAST(MEMORY_LIMIT, "limit \"h_vmem", "exceed", NULL),
    LAST(MEMORY_LIMIT, "limit \"s_vmem", "exceed", NULL),
    LAST(MEMORY_LIMIT, "limit \"h_rss", "exceed", NULL),
    LAST(TIME_LIMIT, "State: TIMEOUT", NULL, NULL),
    LAST(TIME_LIMIT, "JobState=TIMEOUT", NULL, NULL),
    LAST(MEMORY_LIMIT, "State: OUT_OF_MEMORY", NULL, NULL),
    LAST(MEMORY_LIMIT, "JobState=OUT_OF_MEMORY", NULL, NULL),
    SPECIAL(MEMORY_LIMIT, "OUT_OF_ME", NULL, NULL, INQ_LOG_OUTCOME),
    LAST(SLURM_NODE_FAILED, "State: NODE_FAIL", NULL, NULL),
    LAST(SLURM_NODE_FAILED, "JobState=NODE_FAIL", NULL, NULL),
    LAST(TIME_LIMIT, "exceeded the time limit", NULL, NULL),
    LAST(TIME_LIMIT, "exceeded its time limit", NULL, NULL),
    LAST(TIME_LIMIT, "MaxRuntimeExceeded", NULL, NULL),
    LAST(TIME_LIMIT, "APPLICATION TIMED OUT", NULL, NULL),       /* MPICH's Hydra */
    LAST(TIME_LIMIT, "resource allocation expired", NULL, NULL), /* Flux */
    LAST(TIME_LIMIT, "duration exceeded timeout", NULL, NULL),
    LAST(TIME_LIMIT, "exceeded resource walltime", NULL, NULL), /* PBS's comment */
    LAST(TIME_LIMIT, "exceeded resource cput", NULL, NULL),
    LAST(MEMORY_LIMIT, "exceeded resource mem", NULL, NULL),
    LAST(MEMORY_LIMIT, "exceeded resource vmem", NULL, NULL),
    LAST(MEMORY_LIMIT, "beyond physical memory limits", NULL, NULL), /* YARN */
    LAST(MEMORY_LIMIT, "beyond the 'PHYSICAL' memory limit", NULL, NULL),
    LAST(MEMORY_LIMIT, "beyond the 'VIRTUAL' memory limit", NULL, NULL),
    LAST(MEMORY_LIMIT, "killed by YARN for exceeding", "memory", NULL),
    LAST(MEMORY_LIMIT, "Container killed due to memory", NULL, NULL),
    LAST(MEMORY_LIMIT, "OutOfMemoryError: Java heap", NULL, NULL),
    LAST(MEMORY_LIMIT, "OutOfMemoryError: GC overhead", NULL, NULL),
    /* jobs that never began */
    LAST(LAUNCH_FAILED, "There are not enough slots", NULL, NULL),
    LAST(LAUNCH_FAILED, "was unable to launch", NULL, NULL),
    LAST(LAUNCH_FAILED, "was unable to find the specified executable", NULL, NULL),
    LAST(LAUNCH_FAILED, "could not find an executable", NULL, NULL),
    LAST(LAUNCH_FAILED, "could not access or execute", NULL, NULL),
    LAST(LAUNCH_FAILED, "Unable to create step", NULL, NULL),
    LAST(LAUNCH_FAILED, "Unable to confirm allocation", NULL, NULL),
    LAST(LAUNCH_FAILED, "Unable to allocate resources", NULL, NULL),
    LAST(LAUNCH_FAILED, "Task launch for", "failed", NULL),
    LAST(LAUNCH_FAILED, "Batch job submission failed", NULL, NULL),
    LAST(LAUNCH_FAILED, "Could not override '", NULL, NULL), /* Hydra */
    LAST(LAUNCH_FAILED, "allocation failure", "error: ", NULL),
    LAST(LAUNCH_FAILED, "CapacityError", NULL, NULL), /* of clouds: no machine to be had */
    LAST(LAUNCH_FAILED, "InsufficientInstanceCapacity", NULL, NULL),
    LAST(LAUNCH_FAILED, "ZONE_RESOURCE_POOL_EXHAUSTED", NULL, NULL),
    LAST(LAUNCH_FAILED, "QuotaExceeded", "uota", NULL),
    LAST(LAUNCH_FAILED, "error: execve():", NULL, NULL),
    LAST(LAUNCH_FAILED, ": command not found", NULL, NULL),
    LAST(LAUNCH_FAILED, "cannot execute binary file", NULL, NULL),
    LAST(LAUNCH_FAILED, "Could not find '", "In '", NULL), /* Hydra */
    LAST(LAUNCH_FAILED, "error while loading shared libraries", NULL, NULL),
    LAST(LAUNCH_FAILED, "Could not load library", "rror: ", NULL),      /* cuDNN */
    LAST(LAUNCH_FAILED, "version `", "' not found (required by", NULL), /* GLIBC, GLIBCXX, CXXABI */
    LAST(LAUNCH_FAILED, ": can't open file", NULL, NULL),
    LAST(LAUNCH_FAILED, "Error while finding module specification", NULL, NULL),
    LAST(LAUNCH_FAILED, ": No module named ", "!Error: ", NULL), /* python -m */
    LAST(LAUNCH_FAILED, "Permission denied (publickey", NULL, NULL),
    LAST(LAUNCH_FAILED, "Host key verification failed", NULL, NULL),
    LAST(LAUNCH_FAILED, "error: pyxis:", "failed to", NULL),
    LAST(LAUNCH_FAILED, "error: pyxis:", "couldn't", NULL),
    LAST(LAUNCH_FAILED, "returned error code: ", "[ERROR] URL", of_fetch), /* enroot */
    LAST(VERSION_MISMATCH, "Error response from daemon", "nvidia-container-cli", of_object),
    LAST(VERSION_MISMATCH, "nvidia-container-cli: ", "error", of_object),
    LAST(LAUNCH_FAILED, "Error response from daemon", NULL, NULL), /* docker */
    LAST(LAUNCH_FAILED, "While making image from", "FATAL", NULL), /* apptainer */
    LAST(LAUNCH_FAILED, "could not open image", "FATAL", NULL),
    LAST(LAUNCH_FAILED, "container creation failed", NULL, NULL),
    /* MPICH and Intel MPI */
    SPECIAL(EXIT, "BAD TERMINATION OF ONE", NULL, of_box, INQ_LOG_BOX),
    LAST(EXIT, "THE EXIT STRING:", "signal", of_outcome),
    LAST(MPI_ABORT, "Abort(", ") on node", of_abort),
    LAST(MPI_ABORT, "Abort(", ") (rank ", of_abort), /* Cray's */
    /* systemd */
    LAST(EXIT, "process exited, code=exited", NULL, of_unit_exit),
    LAST(EXIT, "process exited, code=killed", NULL, of_unit_signal),
    LAST(EXIT, "process exited, code=dumped", NULL, of_unit_signal),
    LAST(ABORTED, "systemd-coredump", "dumped core", of_core),
    LAST(POD_OOM, "Failed with result 'oom-kill'", NULL, NULL),
    LAST(POD_OOM, "killed by the OOM killer", NULL, NULL),
    LAST(POD_OOM, "OOM Killed", NULL, NULL), /* Nomad */
    LAST(POD_OOM, "systemd-oomd", "Killed", NULL),
    /* Kubernetes and containers */
    LAST(TIME_LIMIT, "DeadlineExceeded job/", NULL, of_object), /* no code of a request */
    LAST(TIME_LIMIT, "DeadlineExceeded pod/", NULL, of_object),
    LAST(TIME_LIMIT, "DeadlineExceeded", "eason:", of_object),
    LAST(TIME_LIMIT, "active longer than specified deadline", NULL, of_object),
    LAST(POD_FAILED, "ImagePullBackOff", NULL, of_object),
    LAST(POD_FAILED, "ErrImagePull", NULL, of_object),
    LAST(POD_FAILED, "Failed to pull image", NULL, of_object),
    LAST(POD_FAILED, "InvalidImageName", NULL, of_object),
    LAST(POD_FAILED, "CreateContainerConfigError", NULL, of_object),
    LAST(POD_FAILED, "CreateContainerError", NULL, of_object),
    LAST(POD_FAILED, "RunContainerError", NULL, of_object),
    LAST(POD_FAILED, "ContainerCannotRun", NULL, of_object),
    LAST(POD_FAILED, "FailedScheduling", NULL, of_object),
    LAST(POD_FAILED, "FailedMount", NULL, of_object),
    LAST(POD_FAILED, "FailedAttachVolume", NULL, of_object),
    LAST(POD_FAILED, "FailedCreatePodSandBox", NULL, of_object),
    LAST(POD_FAILED, "UnexpectedAdmissionError", NULL, of_object),
    LAST(POD_FAILED, "iveness probe failed", NULL, of_object),
    LAST(POD_FAILED, "CrashLoopBackOff", NULL, of_object),
    LAST(POD_FAILED, "BackoffLimitExceeded", NULL, of_object),
    LAST(POD_FAILED, "Back-off restarting failed", NULL, of_object),
    LAST(POD_EVICTED, "Event:PodEvicted", NULL, of_volcano),
    LAST(EXIT, "Event:PodFailed", "ExitCode:", of_outcome),
    LAST(EXIT, "exitCode: ", "rror pod ", of_outcome),   /* Kubeflow's operators */
    LAST(POD_STARTED, "Started container", "!(x", NULL), /* "(x3 over 9m)": again and again */
    LAST(POD_STARTED, "Successfully assigned", NULL, NULL),
    LAST(NODE_LOST, "node.kubernetes.io/unreachable", "aint", NULL),
    LAST(NODE_LOST, "NodeStatusUnknown", NULL, NULL),
    SPECIAL(EXIT, "Exit Code:", "!Process name", of_outcome, INQ_LOG_OUTCOME),
    /* clouds */
    LAST(RECLAIMED, "interruption notice", NULL, NULL),
    LAST(RECLAIMED, "Host EC2 (instance ", "terminated", NULL), /* AWS Batch */
    LAST(RECLAIMED, "instance-action", "terminate", NULL),
    LAST(RECLAIMED, "TERMINATE_ON_HOST_MAINTENANCE", NULL, NULL),
    LAST(RECLAIMED, "compute.instances.preempted", NULL, NULL),
    LAST(RECLAIMED, "nstance was preempted", NULL, NULL),
    LAST(RECLAIMED, "cluster is preempted", NULL, NULL), /* SkyPilot */
    LAST(RECLAIMED, "interrupted due to", "preempt", NULL),
    LAST(RECLAIMED, "Job was evicted", ") ", NULL),         /* HTCondor */
    LAST(RECLAIMED, "is being preempted", "nstance", NULL), /* Google Cloud's shutdown script */
    LAST(RECLAIMED, "is being preempted", "VM ", NULL),
    LAST(RECLAIMED, "\"EventType\"", "\"Preempt\"", NULL), /* Azure's scheduled events */
    LAST(RECLAIMED, "NodePreempted", NULL, NULL),
    LAST(RECLAIMED, " was preempted", "node ", NULL),
    LAST(RECLAIMED, "ask was preempted", "/task:", of_taken),
    LAST(RECLAIMED, "asks were preempted", "/task:", of_taken),
    LAST(RECLAIMED, "preemption notice", "eceived", NULL),
    /* the kernel: file systems, network cards, the machine itself */
    LAST(DISK, "XFS (", "hut down", of_device),
    LAST(DISK, "XFS (", "log I/O error", of_device),
    LAST(DISK, "XFS (", "orruption", of_device),
    LAST(DISK, "EXT4-fs error", NULL, of_device),
    LAST(DISK, "BTRFS error", NULL, of_device),
    LAST(DISK, "Buffer I/O error", NULL, of_device),
    LAST(DISK, "critical medium error", NULL, of_device),
    LAST(DISK, "LustreError", "evicted", NULL),
    LAST(DISK, "LustreError", "failed: rc = -", NULL),
    LAST(DISK, "Transport endpoint is not connected", NULL, NULL),
    LAST(DISK, "Transport endpoint is shut down", NULL, NULL),
    LAST(DISK, "ceph: mds", "hung", NULL),
    LAST(DISK, "ceph: mds", "caps went stale", NULL),
    LAST(DISK, "mmfs: ", "unmount", NULL),
    LAST(LINK_DOWN, "NETDEV WATCHDOG", NULL, NULL),
    LAST(LINK_DOWN, "mlx5_core", "health compromised", NULL),
    LAST(LINK_DOWN, "mlx5_core", "Fatal error", NULL),
    LAST(PANIC, "BUG: unable to handle", NULL, NULL),
    LAST(PANIC, "kernel BUG at", NULL, NULL),
    LAST(PANIC, "BUG: kernel ", NULL, NULL),
    LAST(PANIC, "Oops: 0", NULL, NULL),
    LAST(NODE_LOST, "ritical temperature reached", NULL, NULL),
    LAST(SOFT_LOCKUP, "self-detected stall on CPU", NULL, NULL),
    LAST(MACHINE_CHECK, "EDAC ", " UE ", NULL),
    LAST(MACHINE_CHECK, "ailure detected", "| Asserted", NULL), /* the machine's event log (IPMI) */
    LAST(MACHINE_CHECK, "ower off", "| Asserted", NULL),
    LAST(MACHINE_CHECK, "ncorrectable", "| Asserted", NULL),
    LAST(MACHINE_CHECK, "on-recoverable", "| Asserted", NULL),
    LAST(GPU_DRIVER, "GPU is lost", NULL, NULL), /* NVML, for whoever asks it */
    LAST(GPU_DRIVER, "Unable to determine the device handle", NULL, NULL),
    LAST(NODE_LOST, "reboot: Power down", NULL, NULL),
    LAST(NODE_LOST, "reboot: Restarting system", NULL, NULL),
    /* programs in other languages */
    SPECIAL(PANICKED, "panicked at", NULL, NULL, INQ_LOG_NEXT_LINE),
    CLAUSE(PANICKED, "panic: ", "!not syncing", NULL),
    CLAUSE(PANICKED, "fatal error: all goroutines", NULL, NULL),
    LAST(ABORTED, "Assertion `", "!thread: [", NULL),
    LAST(ABORTED, "Assertion '", "failed", NULL),
    /* NCCL's set-up */
    LAST(FABRIC_SETUP, "no socket interface found", NULL, NULL),
    LAST(FABRIC_SETUP, "No interface found", NULL, NULL),
    LAST(VERSION_MISMATCH, "Mismatched NCCL version", NULL, NULL),
    /* the end of a process, by whoever started it */
    LAST(EXIT, "*** [", "] Error ", of_make),                     /* make */
    LAST(EXIT, "exited: ", "not expected)", of_outcome),          /* supervisord */
    LAST(EXIT, "ssh exited with exit code", NULL, of_ssh),        /* pdsh */
    LAST(EXIT, "exited with code", "Pod: ", of_outcome),          /* Kubeflow, at whatever level */
    LAST(EXIT, "bnormal termination (signal ", NULL, of_outcome), /* HTCondor */
    LAST(ENDED_WELL, "Normal termination (return value 0)", NULL, NULL),
    LAST(EXIT, "Normal termination (return value ", NULL, of_outcome),
    SPECIAL(EXIT, "\"exitCode\": ", NULL, of_outcome, INQ_LOG_OUTCOME), /* kubectl get -o json */
    SPECIAL(EXIT, "exit code", "!srun: ", of_outcome, INQ_LOG_OUTCOME),
    SPECIAL(EXIT, "exit status", "!non-zero", of_outcome, INQ_LOG_OUTCOME),
    SPECIAL(EXIT, "Exit_status=", NULL, of_outcome, INQ_LOG_OUTCOME),
    SPECIAL(EXIT, "ExitCode=", NULL, of_outcome, INQ_LOG_OUTCOME),
    SPECIAL(EXIT, "exited with code", "!ank ", of_outcome, INQ_LOG_OUTCOME),
    SPECIAL(EXIT, "killed by signal ", "!DataLoader", of_outcome, INQ_LOG_OUTCOME),
};

const struct inq_log_pattern *inq_log_system_patterns(uint32_t *n)
{
    *n = sizeof patterns / sizeof patterns[0];
    return patterns;
}
