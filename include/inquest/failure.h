/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped a run: what failed first and where, which ranks the others wait for, directly or
 * over others, and who only suffered. Read from Flight Recorder dumps and text logs. */
#ifndef INQUEST_FAILURE_H
#define INQUEST_FAILURE_H

#include "inquest/analysis.h"
#include "inquest/flight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, "text"): what kind of failure; the text is its `class` in JSON. */
#define INQ_FAILURE_CLASSES(X)                                                                     \
    X(NONE, "no_hang")                 /* nothing was pending */                                   \
    X(GPU_STALL, "gpu_stall")          /* enqueued everything; its GPU does not finish */          \
    X(CPU_STALL, "cpu_stall")          /* its process did not enqueue what the others wait for */  \
    X(MISMATCH, "collective_mismatch") /* members entered different collectives */                 \
    X(ORDERING, "ordering_deadlock")   /* ranks wait for each other in a circle */                 \
    X(COMMUNICATION, "communication_stall") /* all members joined, none finished */                \
    X(UNKNOWN, "unknown")                   /* what is there does not tell */                      \
    X(GPU_HARDWARE, "gpu_hardware")         /* memory, bus, nvlink */                              \
    X(DRIVER, "driver_firmware")                                                                   \
    X(NETWORK, "network")                                                                          \
    X(HOST, "host") /* memory, storage, node */                                                    \
    X(SCHEDULER, "scheduler")                                                                      \
    X(CUDA_ERROR, "cuda_error")         /* the program's fault on a GPU */                         \
    X(CUDA_OOM, "cuda_oom")             /* no memory left on a GPU */                              \
    X(APPLICATION, "application_error") /* an exception or fault of a process */                   \
    X(UNEVEN, "uneven_work")            /* uneven data, or work of some ranks only */              \
    X(NUMERICAL, "numerical_divergence")                                                           \
    X(PEER_DIED, "peer_died") /* a process elsewhere ended; its log is not here */

enum inq_failure_class {
#define INQ_FAILURE_ENUM(name, text) INQ_FAILURE_##name,
    INQ_FAILURE_CLASSES(INQ_FAILURE_ENUM)
#undef INQ_FAILURE_ENUM
        INQ_FAILURE_CLASS_COUNT
};

/* X(name, "text"): how the members' entries of one collective compare. */
#define INQ_MATCH_STATES(X)                                                                        \
    X(MATCHED, "matched")                                                                          \
    X(MISSING_MEMBER, "missing_member") /* a member with a dump has not joined */                  \
    X(KIND, "kind_mismatch")                                                                       \
    X(ORDER, "order_mismatch") /* the same collectives in another order */                         \
    X(SIZE, "size_mismatch")                                                                       \
    X(DTYPE, "dtype_mismatch")                                                                     \
    X(STATE, "state_mismatch") /* finished on some members only */                                 \
    X(UNDECIDED, "undecided")  /* members without a dump decide */

enum inq_match_state {
#define INQ_MATCH_ENUM(name, text) INQ_MATCH_##name,
    INQ_MATCH_STATES(INQ_MATCH_ENUM)
#undef INQ_MATCH_ENUM
        INQ_MATCH_STATE_COUNT
};

/* The oldest collective of a group that is not finished everywhere. */
struct inq_failure_match {
    const char *group; /* description, or name, and ranks */
    int64_t seq;
    enum inq_match_state state;
    size_t n_ranks; /* members that differ, or have not joined */
    int32_t *ranks;
    const char *what; /* one sentence */
};

/* Ranks that wait in one collective, or transfer, for the same others. */
struct inq_failure_wait {
    const char *op;    /* "all_gather (_all_gather_base)" */
    const char *group; /* description, or name, and ranks */
    int64_t seq;       /* its number in the group; -1 unknown */
    size_t n_ranks;
    int32_t *ranks; /* that wait, ascending */
    size_t n_others;
    int32_t *others; /* whom each of them waits for, itself aside */
};

struct inq_failure_evidence {
    int32_t rank;     /* -1: of no single rank */
    const char *file; /* the dump's or log's path; "" none */
    const char *what;
    uint64_t line;    /* of a log, from 1; 0 none */
    const char *text; /* of a log: the line as it is; NULL none */
};

/* Where a root is, as far as it is known. Texts are "" and numbers -1 where they are not. */
struct inq_failure_place {
    int32_t rank;
    const char *host;
    int64_t pid;
    const char *bus;  /* PCI address of the GPU */
    const char *peer; /* address of a process that only others report */
    const char *what;
};

/* X(name, "text"): parts of a failure in time. */
#define INQ_FAILURE_PHASES(X)                                                                      \
    X(CONTEXT, "context") /* not a cause: survived, or before its time */                          \
    X(CAUSE, "cause")                                                                              \
    X(HANG_START, "hang_start") /* when the first collective began that timed out */               \
    X(SPREAD, "spread")         /* the same on other ranks, and what it led to */                  \
    X(DETECTION, "detection")   /* a timeout, or an error of those that waited */                  \
    X(ABORT, "abort")           /* processes end or are ended */

enum inq_failure_phase {
#define INQ_PHASE_ENUM(name, text) INQ_PHASE_##name,
    INQ_FAILURE_PHASES(INQ_PHASE_ENUM)
#undef INQ_PHASE_ENUM
        INQ_PHASE_COUNT
};

struct inq_timeline_event {
    enum inq_failure_phase phase;
    int64_t time_ns; /* as printed in the logs; INQ_TIME_NONE: no stamp */
    bool since_boot; /* time_ns counts from a machine's start */
    bool dated;      /* the year is known */
    int32_t rank;    /* -1 none */
    const char *file;
    uint64_t line;
    const char *what;
};

/* Lines of one kind that only report suffering. */
struct inq_failure_victims {
    const char *what;
    uint64_t count; /* lines */
    size_t n_ranks;
    int32_t *ranks;   /* known ones, ascending */
    const char *file; /* of the first */
    uint64_t line;
    const char *text;
};

/* The stack of one rank's pending op. */
struct inq_failure_stack {
    int32_t rank;
    const char *op;
    uint32_t n_frames;
    const struct inq_flight_frame *frames; /* of the trace's dump */
};

struct inq_failure {
    enum inq_failure_class cls;
    enum inq_confidence confidence;
    const char *headline;
    const char *advice;
    size_t n_roots; /* each list ascending */
    int32_t *root_ranks;
    size_t n_victims; /* wait for a root, directly or over others */
    int32_t *victim_ranks;
    size_t n_missing; /* members of groups without a (whole) dump */
    int32_t *missing_ranks;
    size_t n_suspected; /* of the missing ones: others wait for what they alone may not have joined
                         */
    int32_t *suspected_ranks;
    const char *group; /* where the waiting began; "" unknown */
    int64_t seq;       /* -1 unknown */
    const char *op;    /* "all_gather (_all_gather_base)"; "" unknown */
    const char *sizes; /* "[2048,1,5120] BFloat16 -> [8192,1,5120] BFloat16"; "" unknown */
    size_t n_evidence; /* the first tells most */
    struct inq_failure_evidence *evidence;
    size_t n_stacks;
    struct inq_failure_stack *stacks;
    size_t n_alternatives;
    const char **alternatives; /* with what would decide */
    size_t n_set_aside;
    const char **set_aside; /* lines of errors that are not the cause, and why */
    size_t n_matches;
    struct inq_failure_match *matches;
    size_t n_waits; /* in the order of their first ranks */
    struct inq_failure_wait *waits;
    /* of text logs; absent without any */
    const char *subclass; /* "memory", "bus", ...; NULL none */
    size_t n_places;
    struct inq_failure_place *places; /* of the roots */
    size_t n_moments;                 /* those with a time first, by it */
    struct inq_timeline_event *moments;
    size_t n_victim_lines; /* most lines first */
    struct inq_failure_victims *victim_lines;
};

INQ_API const char *inq_failure_class_text(enum inq_failure_class cls);
INQ_API const char *inq_match_state_text(enum inq_match_state state);
INQ_API const char *inq_failure_phase_text(enum inq_failure_phase phase);

#ifdef __cplusplus
}
#endif

#endif
