/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs of any size compared: what a step of the new one should take, what it takes, and where
 * the difference went.
 *
 * All times are means per rank and step, over the steps that count: those that the account judges
 * (account.h), but for the first recorded, and for outliers: steps far from the median that do not
 * recur.
 *
 *   work      rho: work per rank and step of the new run as a part of the base's. Given (samples
 *             per step, divided by the ranks), else 1 for equally many ranks; else inferred from
 *             the ratio of GPU compute per rank: the nearer of 1 (weak scaling: the same work per
 *             rank) and n1/n2 (strong scaling: the same work in all), and where it is not within a
 *             fifth of either, that ratio itself
 *   ideal     Ti = rho * T1, and so each part of the base's step
 *   loss      T2 - Ti, the sum of the parts' losses, exactly
 *   speed-up  of throughput: rho * (n2/n1) * T1/T2; ideal n2/n1; efficiency = Ti/T2
 *
 * Communication that no compute covers is split, for one kind of collective and role of group, by
 * X: time of its transfers (from the last arrival on), V: bytes on the bus (nccl-tests' size times
 * factor), H: what compute covers of X:
 *   bytes      X1 * V2/V1 - rho * X1     traffic did not shrink with the work, or grew
 *   bandwidth  X2 - X1 * V2/V1           the same traffic takes longer
 *   overlap    -(H2 - rho * H1)          compute covers less of it
 *   waiting    W2 - rho * W1             exposed time before the last arrival
 */
#ifndef INQUEST_COMPARE_H
#define INQUEST_COMPARE_H

#include "inquest/analysis.h"
#include "inquest/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "text", "what it is"): where a step's time goes; the parts sum to the step. */
#define INQ_STEP_PARTS(X)                                                                          \
    X(COMPUTE, "compute", "GPU compute")                                                           \
    X(TRANSFER, "transfer", "transfers of collectives that no compute covers")                     \
    X(WAITING, "waiting", "waiting for others in collectives")                                     \
    X(COMM_OTHER, "comm_other", "communication that could not be matched across ranks")            \
    X(BUBBLE, "bubble", "pipeline: waiting for other stages")                                      \
    X(P2P, "p2p", "pipeline: transfers between stages that no compute covers")                     \
    X(COPY, "copy", "copies that nothing covers")                                                  \
    X(HOST, "host", "GPU idle because the host launched late")                                     \
    X(IDLE, "idle", "GPU idle otherwise")

enum inq_step_part {
#define INQ_STEP_PART_ENUM(name, text, what) INQ_PART_##name,
    INQ_STEP_PARTS(INQ_STEP_PART_ENUM)
#undef INQ_STEP_PART_ENUM
        INQ_STEP_PART_COUNT
};

/* X(NAME, "text", "what it is"): why a step is longer than it should be. */
#define INQ_LOSSES(X)                                                                              \
    X(COMPUTE, "compute", "compute per rank, against its share of the work")                       \
    X(BYTES, "bytes", "bytes that collectives move for the work")                                  \
    X(BANDWIDTH, "bandwidth", "how fast collectives move their bytes")                             \
    X(OVERLAP, "overlap", "how much of the transfers compute covers")                              \
    X(UNSIZED, "transfer", "transfers whose sizes are not recorded")                               \
    X(WAITING, "waiting", "waiting for others in collectives")                                     \
    X(COMM_OTHER, "comm_other", "communication that could not be matched across ranks")            \
    X(BUBBLE, "bubble", "pipeline bubbles")                                                        \
    X(P2P, "p2p", "transfers between pipeline stages")                                             \
    X(COPY, "copy", "exposed copies")                                                              \
    X(HOST, "host", "GPU idle because the host launched late")                                     \
    X(IDLE, "idle", "other idle time")

enum inq_loss {
#define INQ_LOSS_ENUM(name, text, what) INQ_LOSS_##name,
    INQ_LOSSES(INQ_LOSS_ENUM)
#undef INQ_LOSS_ENUM
        INQ_LOSS_COUNT
};

enum inq_scaling { INQ_SCALING_SAME, INQ_SCALING_WEAK, INQ_SCALING_STRONG, INQ_SCALING_OTHER };

enum inq_change { INQ_CHANGE_NEW, INQ_CHANGE_GONE, INQ_CHANGE_WORSE, INQ_CHANGE_BETTER };

INQ_API const char *inq_step_part_text(enum inq_step_part part);
INQ_API const char *inq_step_part_what(enum inq_step_part part);
INQ_API const char *inq_scaling_text(enum inq_scaling scaling); /* "same", "weak", ... */
INQ_API const char *inq_change_text(enum inq_change change);    /* "new", "gone", ... */
INQ_API const char *inq_loss_text(enum inq_loss loss);
INQ_API const char *inq_loss_what(enum inq_loss loss);

/* One of the two runs. */
struct inq_compared_run {
    const char *name;
    int32_t ranks;              /* world size */
    size_t ranks_seen;          /* with steps that could be judged */
    size_t steps;               /* that count */
    size_t warm_up, outliers;   /* steps set aside; other than these: cut, not whole */
    size_t damaged, missing;    /* files; ranks without a trace */
    struct inq_kept_steps kept; /* of reduced partials */
    const char *device;         /* of all its ranks; "" not known, or not one */
    int64_t step_ns;            /* mean; the sum of part_ns */
    int64_t median_ns;          /* of the steps that count */
    double step_low, step_high; /* interval of the mean step; NaN: not known */
    int64_t part_ns[INQ_STEP_PART_COUNT];
};

/* Collectives of one kind in groups of one role, as both runs have them. 1: base, 2: new. */
struct inq_compared_coll {
    const char *name;     /* "all_reduce over all ranks" */
    bool gradients;       /* only in the later part of a step, and large */
    double count[2];      /* per rank and step */
    double bytes[2];      /* nccl-tests size, per rank and step; NaN: sizes not recorded */
    double busbw_gbps[2]; /* NaN: not known */
    int32_t group_size[2];
    int64_t transfer_ns[2];          /* X */
    int64_t exposed_ns[2];           /* of X */
    int64_t wait_ns[2];              /* exposed */
    int64_t loss_ns[INQ_LOSS_COUNT]; /* its part of bytes, bandwidth, overlap, unsized, waiting */
    int64_t total_loss_ns;
};

/* A compute kernel by name; times are sums of durations, not of what is exposed. */
struct inq_compared_kernel {
    const char *name;
    double count[2]; /* per rank and step */
    int64_t ns[2];   /* per rank and step */
    int64_t loss_ns; /* ns[1] - rho * ns[0] */
};

/* Compute of a rank that both runs have, or (runs of different sizes) of the ranks of a stage. */
struct inq_compared_rank {
    int32_t rank, stage; /* -1: not one */
    int64_t ns[2];       /* per step */
    int64_t loss_ns;     /* ns[1] - rho * ns[0] */
};

/* Why a step changed: one part of it that is not the consequence of another. */
struct inq_compared_cause {
    enum inq_loss loss;
    const char *text; /* one sentence with its figures */
    int64_t ns;       /* what it changes a step by */
    /* The run in which it costs (the new one, for a gain the base) was simulated with the other's
     * part in its place: ns is by how much its steps get shorter, in_order_ns the same where that
     * was done to the causes before it, too. Else ns is its own change and that of the waiting for
     * it, at most the whole change, and in_order_ns is 0. */
    bool simulated;
    int64_t in_order_ns;
    double part;      /* of a step that its own part changed by on the ranks it is about */
    size_t n_ranks;   /* whom it is about; 0: all alike */
    int32_t *ranks;   /* global numbers, ascending */
    const char *link; /* "ranks 3, 5 take 4 times as long as among other ranks": of a transfer that
                       * got slower, where its link is slow among those like it; NULL: none is */
    int32_t stage;    /* the ranks are all of this stage; -1 */
    const char *host; /* the ranks are all of this host; NULL */
    const struct inq_compared_coll *coll; /* NULL: not a collective's */
};

struct inq_compared_finding {
    enum inq_change change;
    const struct inq_finding *base, *now; /* borrowed from the reports; NULL: not there */
};

struct inq_comparison {
    struct inq_arena *arena;
    struct inq_compared_run run[2];
    enum inq_scaling scaling;
    double work;            /* rho */
    bool work_given;        /* false: inferred */
    const char *work_how;   /* one sentence */
    const char *other_work; /* by what the work differs though the ranks are as many; "" nothing */
    double speedup, ideal_speedup, efficiency;
    int64_t ideal_ns; /* Ti */
    int64_t ideal_part_ns[INQ_STEP_PART_COUNT];
    int64_t loss_total_ns;
    int64_t loss_ns[INQ_LOSS_COUNT]; /* sum to loss_total_ns */
    double chance_ns;                /* by which the steps' spread lets the loss differ */
    bool changed; /* more than chance, and than 3 % of a step, by which equal jobs differ from run
                   * to run; or than 1 % where the work changed, or few ranks by more than 5 % */
    const char *headline; /* one sentence */
    const char *reason;   /* one or two more: the main cause, with its numbers; "" none */
    size_t n_causes;      /* largest in the direction of the whole change first */
    struct inq_compared_cause *causes;
    size_t n_colls, n_kernels, n_compared, n_findings; /* largest loss first */
    struct inq_compared_coll *colls;
    struct inq_compared_kernel *kernels;
    struct inq_compared_rank *compared; /* none where they cannot be told apart */
    struct inq_compared_finding *findings;
};

struct inq_compare_options {
    double samples[2]; /* per step, of base and new; 0: not known */
};

/* Compares two analyzed runs, which must outlive the result; what it needs of them and is not there
 * is made in them. On success *comparison is the caller's (inq_comparison_free). Fails with
 * INQ_UNSUPPORTED when a run has no steps, INQ_NOMEM. */
INQ_API int inq_compare_runs(struct inq_report *base, struct inq_report *now,
                             const struct inq_compare_options *options,
                             struct inq_comparison **comparison, struct inq_err *err);
INQ_API void inq_comparison_free(struct inq_comparison *comparison);

/* Text, Markdown, or "inquest-compare/1" as JSON; fails as the writers of report.h do. */
INQ_API int inq_comparison_report(const struct inq_comparison *comparison,
                                  const struct inq_report_options *options, struct inq_sink sink,
                                  struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
