/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a run: what comparisons and baselines read. Plain data, all of it from the account,
 * over the steps that count: those that the account judges, but for outliers that do not recur.
 *
 * Sums are over the cells (rank, step) that count; divided by n_cells they are means per rank and
 * step. */
#ifndef INQ_ANALYSIS_RECORD_H
#define INQ_ANALYSIS_RECORD_H

#include "inquest/account.h"
#include "inquest/check.h"
#include "inquest/compare.h"

/* In place of a class: sends and receives. */
#define INQ_RECORD_P2P (INQ_NONE - 1)

/* Collectives of one kind over groups of one role. */
struct inq_record_coll {
    enum inq_coll_kind kind;
    char role[64]; /* "all ranks", "DP group" */
    int32_t group_size;
    uint64_t count;      /* members' events */
    uint64_t sized;      /* those whose size and members are known */
    int64_t transfer_ns; /* X, of those matched */
    int64_t exposed_ns;  /* of X */
    int64_t wait_ns;     /* exposed */
    int64_t unsure_ns;   /* exposed, wait and transfer not separable */
    double bytes;        /* of the sized ones */
    double bus_bytes;    /* of the matched ones among these */
    double earliest;     /* part of the step's compute that was done before the first one */
    size_t seen_rank;    /* where the last first one of a step was: while the record is made */
    uint32_t seen_step;
};

struct inq_record_kernel {
    const char *name; /* the trace's */
    inq_str id;
    uint64_t count;
    int64_t ns;
};

struct inq_record_rank {
    int32_t rank, stage;                  /* -1 not known */
    const char *host;                     /* the trace's; "" not known */
    uint64_t steps;                       /* that count; 0: the rank has none */
    int64_t part_ns[INQ_STEP_PART_COUNT]; /* sums */
    uint64_t kernels;                     /* of compute */
};

/* What hosts were in while their GPUs idled, all ranks together. */
struct inq_record_host {
    const char *what; /* the account's */
    int64_t ns;       /* per rank and step that the account judges */
};

enum inq_step_use {
    INQ_STEP_COUNTS,
    INQ_STEP_SET_ASIDE, /* by the account: a warm-up, cut, not whole on all ranks */
    INQ_STEP_OUTLIER    /* far from the median, and does not recur */
};

struct inq_run_record {
    const struct inq_report *report; /* borrowed, with its account */
    int32_t world;
    size_t n_account_steps;
    uint8_t *use; /* [n_account_steps] enum inq_step_use */
    size_t n_steps, n_set_aside, n_outliers, n_warm_up;
    size_t longest;    /* index into account.steps, if it is far longer than the median step */
    int64_t longer_ns; /* by so much; 0: none is */
    size_t n_damaged, n_missing; /* files; ranks without a trace */
    uint64_t n_cells;
    int64_t *step_ns; /* [n_steps] mean length of each that counts, in order */
    size_t *step_at;  /* [n_steps] which of the account's it is */
    int64_t part_ns[INQ_STEP_PART_COUNT];
    size_t n_ranks; /* of the trace */
    struct inq_record_rank *ranks;
    size_t n_classes, cap_classes;
    struct inq_record_coll *classes;
    uint32_t
        *class_of; /* [collectives of the trace] into classes; INQ_NONE: in no step that counts */
    struct inq_workload work;
    size_t n_kernels, cap_kernels;
    struct inq_record_kernel *kernels; /* of compute, by name */
    size_t n_hosts;
    struct inq_record_host *hosts; /* most time first */
    const char *device;            /* of all ranks; "" not known, or not the same */
};

/* Release also after a failure. Fails with INQ_UNSUPPORTED when no step can be judged (says why),
 * INQ_NOMEM. */
int inq_run_record_build(const struct inq_report *report, struct inq_run_record *record,
                         struct inq_err *err);
void inq_run_record_release(struct inq_run_record *record);

/* Whether the rank's step counts. */
static inline bool inq_run_record_counts(const struct inq_run_record *record, size_t rank,
                                         size_t step)
{
    return record->use[step] == INQ_STEP_COUNTS &&
           inq_account_cell_at(record->report->account, rank, step)->judged;
}

/* Mean per rank and step, rounded down. */
static inline int64_t inq_per_cell(const struct inq_run_record *record, int64_t ns)
{
    return ns / (int64_t)record->n_cells;
}

/* The part of a step that a class of the account is, where neither collectives nor a pipeline say
 * otherwise. */
static inline enum inq_step_part inq_part_of_class(enum inq_account_class cls)
{
    static const enum inq_step_part parts[INQ_ACCOUNT_CLASS_COUNT] = {
        [INQ_ACCOUNT_COMPUTE] = INQ_PART_COMPUTE,   [INQ_ACCOUNT_UNCLASSIFIED] = INQ_PART_COMPUTE,
        [INQ_ACCOUNT_TRANSFER] = INQ_PART_TRANSFER, [INQ_ACCOUNT_WAIT] = INQ_PART_WAITING,
        [INQ_ACCOUNT_COMM] = INQ_PART_COMM_OTHER,   [INQ_ACCOUNT_COPY] = INQ_PART_COPY,
        [INQ_ACCOUNT_HOST] = INQ_PART_HOST,         [INQ_ACCOUNT_DEPENDENCY] = INQ_PART_BUBBLE,
        [INQ_ACCOUNT_IDLE] = INQ_PART_IDLE};
    return parts[cls];
}

#endif
