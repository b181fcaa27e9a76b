/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what costs a run time or ended it, each with its cause, what to try, and how sure it
 * is; and the verdict, which sums them up. */
#ifndef INQUEST_FINDINGS_H
#define INQUEST_FINDINGS_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_severity { INQ_SEVERITY_INFO, INQ_SEVERITY_LOW, INQ_SEVERITY_MEDIUM, INQ_SEVERITY_HIGH };

enum inq_confidence {
    INQ_CONFIDENCE_HYPOTHESIS,
    INQ_CONFIDENCE_SUPPORTED,
    INQ_CONFIDENCE_ESTABLISHED
};

/* INQ_ABOUT_CAUSE: others wait for it; waiting can have it as its root. */
enum inq_finding_about {
    INQ_ABOUT_CAUSE,
    INQ_ABOUT_COPIES,   /* a cause where it names ranks, else a view */
    INQ_ABOUT_TIME,     /* a view of where time goes: waiting has no root in it */
    INQ_ABOUT_INPUT,    /* what is missing, not where time was lost */
    INQ_ABOUT_TRAINING, /* the numbers that the run printed */
    INQ_ABOUT_END       /* what ended the run */
};

/* Every kind of finding, a row a kind, and all that is known of it beforehand:
 * X(name, "key", about, "fix", "advice").
 *
 * key: its `kind` in JSON, and how its id begins. about: one of enum inq_finding_about. fix: the
 * spec for `inquest fix --fix` that it calls for, where ":RANKS" stands for the finding's ranks;
 * "": none, or it depends on the run. advice: what to try; "": it depends on the case. */
#define INQ_FINDING_KINDS(X)                                                                       \
    /* one rank's kernels run slower than its peers' */                                            \
    X(SLOW_GPU, "slow_gpu", CAUSE, "replace-rank:RANKS",                                           \
      "Compare clocks, temperature, power cap and ECC state with those of healthy GPUs "           \
      "(nvidia-smi -q); take what differs out of the job.")                                        \
    /* one rank has more or larger kernels */                                                      \
    X(MORE_WORK, "more_work", CAUSE, "match-work:RANKS",                                           \
      "Look at how the work is divided: batch and sequence lengths, experts, embedding "           \
      "tables, layers per rank.")                                                                  \
    /* one rank launches with delay: its host is slow */                                           \
    X(LATE_HOST, "late_host", CAUSE, "repair-host:RANKS",                                          \
      "Look at what the process does then: data loading, garbage collection, "                     \
      "checkpoints, other processes on its cores, CPU frequency.")                                 \
    /* a group's or pair's transfers are slower */                                                 \
    X(SLOW_LINK, "slow_link", CAUSE, "repair-link:RANKS",                                          \
      "Check this link: negotiated width and speed, error counters, congestion, the network "      \
      "interface and NUMA node that the ranks use.")                                               \
    /* communication not covered by compute */                                                     \
    X(EXPOSED_COMM, "exposed_comm", TIME, "",                                                      \
      "Overlap it with compute (bucket sizes, prefetch, asynchronous collectives), or send "       \
      "less.")                                                                                     \
    /* all ranks idle waiting for launches */                                                      \
    X(HOST_BOUND, "host_bound", TIME, "",                                                          \
      "Launch less and larger work: CUDA graphs, compiled or fused kernels, larger batches, "      \
      "fewer synchronizations.")                                                                   \
    /* copies not covered by compute */                                                            \
    X(EXPOSED_COPY, "exposed_copy", COPIES, "replace-rank:RANKS",                                  \
      "Look for pageable or larger host copies there, and at the PCIe link.")                      \
    X(PIPELINE_BUBBLE, "pipeline_bubble", CAUSE, "",                                               \
      "More micro-batches per step, or a schedule with fewer bubbles (interleaved, "               \
      "zero-bubble).")                                                                             \
    X(STAGE_IMBALANCE, "stage_imbalance", CAUSE, "rebalance-stages",                               \
      "Move layers from this stage to the others.")                                                \
    X(SLOW_LAST_STAGE, "slow_last_stage", CAUSE, "rebalance-stages",                               \
      "Give the last stage fewer layers: the output layer and the loss are work of their "         \
      "own.")                                                                                      \
    /* a rank of an op table    */                                                                 \
    X(SLOW_WORKER, "slow_worker", CAUSE, "replace-rank:RANKS",                                     \
      "Look at this worker's GPU clocks and host load; move the job off it and compare.")          \
    X(SEQUENCE_IMBALANCE, "sequence_imbalance", CAUSE, "balance-sequences",                        \
      "Pack or sort sequences so that micro-batches take equally long on all ranks.")              \
    X(UNPLANNED_GC, "unplanned_gc", CAUSE, "plan-gc",                                              \
      "Collect garbage on all ranks in the same step, every so many steps.")                       \
    X(STEP_OUTLIER, "step_outlier", TIME, "",                                                      \
      "Look for checkpoints, evaluation, garbage collection or data loading in these steps.")      \
    X(MISSING_RANK, "missing_rank", INPUT, "",                                                     \
      "Collect their traces, or find out why they wrote none: a rank that died first often "       \
      "left nothing.")                                                                             \
    /* the file of a rank could not be read */                                                     \
    X(UNREAD_INPUT, "unread_input", INPUT, "",                                                     \
      "Make the files readable (rights, disk, number of open files: ulimit -n) or copy them "      \
      "again, and repeat the call.")                                                               \
    /* files that were recorded at another time than the others */                                 \
    X(OTHER_RUN, "other_run", INPUT, "",                                                           \
      "Put the file of this run in its place, or take it out; where only the clock is wrong, "     \
      "set it.")                                                                                   \
    X(DAMAGED_INPUT, "damaged_input", INPUT, "",                                                   \
      "Copy the files again, or let the profiler finish writing before the job is stopped.")       \
    /* the loss or the gradient norm */                                                            \
    X(NOT_FINITE, "not_finite", TRAINING, "",                                                      \
      "Go back to the checkpoint before this step; look at the learning rate, the loss scale, "    \
      "the batch of this step, and one rank's gradients alone: a GPU that computes wrong shows "   \
      "on one rank only.")                                                                         \
    X(LOSS_SPIKE, "loss_spike", TRAINING, "",                                                      \
      "Look at the data of this step and the gradient norm; clip, or skip the batch.")             \
    X(DIVERGENCE, "divergence", TRAINING, "",                                                      \
      "Go back to the checkpoint before this step with a lower learning rate or without its "      \
      "data.")                                                                                     \
    X(GRADIENT, "gradient_explosion", TRAINING, "",                                                \
      "Look at the gradient norm of each layer and at the learning rate; clipping holds the "      \
      "weights, not the cause.")                                                                   \
    X(THROUGHPUT_DROP, "throughput_drop", TRAINING, "",                                            \
      "Trace a few steps now and compare them with a trace from before: inquest compare.")         \
    X(FAILURE, "failure", END, "", "")

enum inq_finding_kind {
#define INQ_FINDING_ENUM(name, key, about, fix, advice) INQ_FINDING_##name,
    INQ_FINDING_KINDS(INQ_FINDING_ENUM)
#undef INQ_FINDING_ENUM
        INQ_FINDING_KIND_COUNT
};

/* A row of INQ_FINDING_KINDS. */
struct inq_finding_kind_info {
    const char *key;
    enum inq_finding_about about;
    const char *fix, *advice;
};

struct inq_evidence {
    int32_t rank;             /* global rank number; -1: none */
    const char *lane;         /* "" none */
    int64_t start_ns, end_ns; /* INQ_TIME_NONE: not a time range */
    const char *what;
};

struct inq_finding {
    const char *id; /* stable: kind plus subject, "slow_gpu:rank2" */
    enum inq_finding_kind kind;
    enum inq_severity severity;
    enum inq_confidence confidence;
    const char *title;  /* one sentence */
    const char *detail; /* measured against expected, in words */
    const char *advice; /* what to try next */
    size_t n_ranks;
    int32_t *ranks; /* global rank numbers */
    size_t n_stages;
    int32_t *stages;
    int64_t cost_ns_per_step;        /* what a step gains by its first fix; -1 not simulated */
    int64_t in_order_ns;             /* the same after the causes before it; -1: not simulated */
    int64_t low_ns, high_ns;         /* 95 % interval of the cost; INQ_TIME_NONE: none */
    const char *hidden_by;           /* "rank 9's GPU": in_order_ns is gained once that is repaired;
                                      * NULL: after all causes before it */
    const char *joint_with;          /* alone it gains as little as this other cause; NULL: none */
    int64_t joint_ns;                /* gained by the repair of both; -1 */
    const char *joint_fix;           /* the spec that does it; "" none */
    double share;                    /* of the step; NaN not measured */
    const char *measured, *expected; /* with units; "" where they do not apply */
    size_t n_evidence;
    struct inq_evidence *evidence;
    size_t n_fixes;
    const char **fixes; /* specs for `inquest fix --fix` */
};

struct inq_verdict {
    const char *headline; /* one sentence: what, where, how much */
    const char *why;      /* what it rests on, measured against expected; "" none */
    const char *next;     /* the fix with its predicted gain, and what to look at; "" none */
    const char *sure;     /* what the confidence rests on; "" none */
    const struct inq_evidence *see; /* where to look first; NULL none */
    const char *cls;                /* kind of the first finding, "healthy", "waiting_unexplained",
                                     * "nothing_to_judge", or "not_available" */
    uint32_t without;               /* INQ_SECTION_BIT of sections that failed: not in it */
    int64_t lost_ns_per_step;       /* -1 not measured */
    enum inq_confidence confidence;
};

/* The row of a kind; NULL for a number that is none. */
INQ_API const struct inq_finding_kind_info *inq_finding_kind_info(enum inq_finding_kind kind);
INQ_API const char *inq_finding_kind_text(enum inq_finding_kind kind);
INQ_API const char *inq_severity_text(enum inq_severity severity);
/* The share of the step from which a cost is of this severity; 0 of the least. */
INQ_API double inq_severity_least(enum inq_severity severity);
/* The severity of a cost of this share of the step; a negative one is not known. */
INQ_API enum inq_severity inq_severity_of(double share);
INQ_API const char *inq_confidence_text(enum inq_confidence confidence);

#ifdef __cplusplus
}
#endif

#endif
