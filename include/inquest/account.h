/* SPDX-License-Identifier: Apache-2.0 */
/* The account: one ledger of a run's rank-time, which every sentence about time is read from.
 *
 * Cells. The step of a rank goes from the end of its last GPU work of the step before to the end of
 * its last GPU work in it, on the aligned clock; marks of the host only say which launches belong
 * to which step. Rank-time is the sum over all judged cells, and T = rank-time / (judged ranks x
 * judged steps). Without steps, or with inferred ones that are not plausible, the capture is one
 * cell a rank: the interval that all ranks recorded.
 *
 * Classes. Every nanosecond of a judged cell is in exactly one class (integer identity). All times
 * are int64 ns. Formulas: man inquest-report(5), METHODS. */
#ifndef INQUEST_ACCOUNT_H
#define INQUEST_ACCOUNT_H

#include "inquest/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "json id", "words"): the classes, in the order in which an instant is given to them. */
#define INQ_ACCOUNT_CLASSES(X)                                                                     \
    X(COMPUTE, "compute", "compute")                                                               \
    X(UNCLASSIFIED, "unclassified", "unclassified kernels")                                        \
    X(TRANSFER, "transfer", "transfer")                                                            \
    X(WAIT, "wait", "waiting for other ranks")                                                     \
    X(COMM, "communication_not_separable", "communication (wait and transfer not separable)")      \
    X(COPY, "copy", "copies")                                                                      \
    X(HOST, "host", "waiting for the host")                                                        \
    X(DEPENDENCY, "dependency", "waiting for input of another stage")                              \
    X(IDLE, "idle_other", "idle (cause not recorded)")

enum inq_account_class {
#define INQ_ACCOUNT_ENUM(name, id, words) INQ_ACCOUNT_##name,
    INQ_ACCOUNT_CLASSES(INQ_ACCOUNT_ENUM)
#undef INQ_ACCOUNT_ENUM
        INQ_ACCOUNT_CLASS_COUNT
};

/* One rank in one step. sum(ns) == end_ns - start_ns where judged; all zero where not. */
struct inq_account_cell {
    bool whole;  /* the rank has the step, captured whole */
    bool judged; /* whole, its rank and its step are judged */
    int64_t start_ns, end_ns;
    uint64_t work; /* pieces of GPU work launched in the step */
    int64_t ns[INQ_ACCOUNT_CLASS_COUNT];
};

/* A stretch of one rank's judged time in which another rank is waited for and nothing else runs.
 * Stretches of one rank do not overlap. Those of class WAIT sum to the cell's WAIT, those of class
 * DEPENDENCY to the cell's DEPENDENCY. */
struct inq_account_wait {
    uint32_t rank, step; /* indices into inq_trace.ranks, account.steps */
    uint32_t waited_for; /* index into inq_trace.ranks: the last member to arrive, or the sender */
    uint32_t collective; /* index into inq_trace.collectives; INQ_NONE: of an op table */
    uint32_t event;      /* index into the waiting rank's events: what waited (WAIT), what could not
                          * start (DEPENDENCY) */
    uint32_t cause;      /* index into account.causes: its root; INQ_NONE: none names a rank that is
                          * waited for, directly or through others */
    enum inq_account_class cls;
    int64_t start_ns, end_ns;
};

/* A class in more detail: transfer by collective and group, copies by kind, host by what it was in.
 * The parts of a class sum to it. */
#define INQ_ACCOUNT_DATA_LOADING "data loading"
#define INQ_ACCOUNT_ALLOCATION   "memory allocation"
#define INQ_ACCOUNT_COLLECTION   "garbage collection"

struct inq_account_part {
    enum inq_account_class cls;
    const char *what; /* the above where the host was in that */
    int64_t total_ns; /* rank-time */
};

struct inq_account_step {
    int64_t number; /* as recorded; ordinal when inferred; 0 where the capture is one interval */
    bool judged;
    const char *why;      /* why it was set aside; "" if it is judged */
    int64_t length_ns;    /* mean over the judged ranks that have it whole; -1: none */
    int64_t pause_ns;     /* the longest stretch of HOST on any rank; 0: none */
    const char *pause_in; /* what the host was in then, as in inq_account_part; "" none */
};

/* A cause of waiting, of dependency or of a loss that all ranks share: one row per finding about
 * time. All times are per rank and judged step. */
struct inq_account_cause {
    const char *id; /* that of its finding */
    enum inq_finding_kind kind;
    const char *cause; /* its text in JSON */
    size_t n_ranks;    /* global rank numbers, ascending */
    const int32_t *ranks;
    size_t n_hosts;
    const char *const *hosts;
    size_t n_stages;
    const int32_t *stages;
    int64_t ns;                  /* wait and dependency with this root; -1: it causes none */
    int64_t gain_alone_ns;       /* what T gets shorter by with it repaired; -1: not simulated */
    int64_t gain_in_order_ns;    /* the same after all causes before it were; -1 as above */
    int64_t gain_joint_ns;       /* repaired with the first cause that it hides; -1: hides none */
    int64_t gain_interval_ns[2]; /* of gain_alone_ns; INQ_TIME_NONE: none */
    size_t n_overlaps;           /* ids whose gain is shared with this one */
    const char *const *overlaps;
    enum inq_confidence confidence;
    const char *fix; /* spec for `inquest fix`; NULL: none */
};

struct inq_account {
    const struct inq_trace *trace; /* borrowed */

    /* ---- level one, measured */
    size_t n_ranks, n_steps;        /* n_ranks = trace->n_ranks; n_steps at least 1 */
    struct inq_account_cell *cells; /* [n_ranks * n_steps], rank by rank */
    struct inq_account_step *steps; /* [n_steps]: index = inq_events.step unless one_interval */
    bool *rank_judged;              /* [n_ranks] false: no GPU work, or too few whole steps */
    size_t ranks_judged, steps_judged;
    bool one_interval;            /* no plausible steps: the capture is one interval */
    const char *one_interval_why; /* "" where there are steps */
    bool op_table;                /* labeled ops: what is idle was not recorded, only left */
    bool steps_inferred;
    int64_t rank_time_ns; /* sum over the judged cells */
    int64_t t_ns;         /* rank_time_ns / (ranks_judged * steps_judged); -1 nothing */
    int64_t total_ns[INQ_ACCOUNT_CLASS_COUNT]; /* sums over the judged cells == rank_time_ns */
    int64_t class_ns[INQ_ACCOUNT_CLASS_COUNT]; /* per rank and step, rounded so as to sum to t_ns */
    int64_t *rank_ns; /* [n_ranks * CLASS_COUNT] sums over its judged steps */
    size_t n_waits;
    struct inq_account_wait *waits; /* by rank, then time */
    size_t n_parts;
    struct inq_account_part *parts; /* by class, most time first */
    const char *looks_like_comm;    /* names of unclassified kernels that do; "" none */

    struct inq_account_facts *facts; /* private to analysis/account */

    /* ---- levels two and three: causes and gains */
    size_t n_causes; /* largest gain alone first */
    struct inq_account_cause *causes;
    int64_t unexplained_wait_ns;   /* per rank and step: waiting that no cause has; -1 not known */
    int64_t ideal_ns, residual_ns; /* T - gains in order == ideal + residual; -1 not simulated */
    double base_error;             /* (simulated base - T) / T; NaN not simulated */
    const char *gains_problem;     /* why gains are -1; "" where they are known */

    /* ---- the checker */
    size_t n_violations; /* what was withheld, one sentence each */
    const char **violations;
};

INQ_API const char *inq_account_class_id(enum inq_account_class cls);
INQ_API const char *inq_account_class_words(enum inq_account_class cls);

/* The judged step of median length (of an even number the shorter of the middle two), an index into
 * account->steps; INQ_NONE: no step is judged, or memory is out. */
INQ_API uint32_t inq_account_median_step(const struct inq_account *account);

/* What a time of the account is told of: "per step", or "in the capture" where there are none. */
static inline const char *inq_account_per(const struct inq_account *account)
{
    return account != NULL && account->one_interval ? "in the capture" : "per step";
}

static inline const struct inq_account_cell *inq_account_cell_at(const struct inq_account *account,
                                                                 size_t rank, size_t step)
{
    return &account->cells[rank * account->n_steps + step];
}

#ifdef __cplusplus
}
#endif

#endif
