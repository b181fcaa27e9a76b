/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped a run: which ranks the others wait for, directly or over others, and where those
 * are stuck. Read from Flight Recorder dumps. */
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
    X(UNKNOWN, "unknown")                   /* ranks without a dump may be the cause */

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

struct inq_failure_evidence {
    int32_t rank;     /* -1: of no single rank */
    const char *file; /* the dump's path; "" none */
    const char *what;
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
    size_t n_suspects; /* of the missing ones: others wait for what they alone may not have joined
                        */
    int32_t *suspect_ranks;
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
    size_t n_matches;
    struct inq_failure_match *matches;
};

INQ_API const char *inq_failure_class_text(enum inq_failure_class cls);
INQ_API const char *inq_match_state_text(enum inq_match_state state);

#ifdef __cplusplus
}
#endif

#endif
