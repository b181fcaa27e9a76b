/* SPDX-License-Identifier: Apache-2.0 */
/* One run as the comparison sees it: where a step's time goes, its collectives by kind and role of
 * their groups, its kernels by name. Sums over all judged cells (rank, step); divide by n_cells. */
#ifndef INQ_ANALYSIS_COMPARE_PROFILE_H
#define INQ_ANALYSIS_COMPARE_PROFILE_H

#include "analysis/cells.h"
#include "analysis/check_measures.h"
#include "inquest/compare.h"

/* Collectives of one kind over groups of one role. */
struct inq_coll_class {
    enum inq_coll_kind kind;
    char role[64]; /* "all ranks", "DP group" */
    int32_t group_size;
    uint64_t count;      /* members' events */
    int64_t transfer_ns; /* X, of those matched */
    int64_t exposed_ns;  /* of X */
    int64_t wait_ns;     /* exposed */
    double bytes, bus_bytes;
    bool sized;      /* false: a size was not recorded */
    double earliest; /* part of the step's compute that was done before the first one */
};

struct inq_kernel_class {
    const char *name; /* the trace's */
    inq_str id;
    uint64_t count;
    int64_t ns;
};

struct inq_run_profile {
    const struct inq_report *report;
    struct inq_cells cells;
    uint64_t n_cells;
    size_t n_ranks, n_steps; /* with a judged cell */
    int64_t part_ns[INQ_STEP_PART_COUNT];
    int64_t *rank_compute_ns; /* [cells.n_ranks] per judged step; -1: none */
    int32_t *stage;           /* [cells.n_ranks]; -1: not a pipeline's */
    struct inq_measure step;  /* over the steps: mean length of their cells */
    size_t n_classes, cap_classes;
    struct inq_coll_class *classes;
    size_t n_kernels, cap_kernels;
    struct inq_kernel_class *kernels; /* by name */
};

/* Release also after a failure. Fails with INQ_UNSUPPORTED when no step can be judged, INQ_NOMEM.
 */
int inq_run_profile_build(const struct inq_report *report, int jobs,
                          struct inq_run_profile *profile, struct inq_err *err);
void inq_run_profile_release(struct inq_run_profile *profile);

/* compare_comm.c: the exposed communication of one rank, into parts and classes. */
struct inq_comm_context {
    const struct inq_trace *trace;
    struct inq_run_profile *profile;
    bool pipeline;
    int64_t *arrival_ns;    /* [n_collectives] last arrival; INQ_TIME_NONE: not known */
    bool *across;           /* [n_collectives] its members are of different stages */
    int64_t *bytes;         /* [n_collectives] nccl-tests size; -1 */
    size_t *first_row;      /* [n_ranks + 1] places of a rank's events in .. */
    int64_t *op_arrival_ns; /* .. last arrivals of labelled ops; INQ_TIME_NONE: not known. NULL: no
                               op has one */
    uint32_t *class_of;     /* [(n_groups + 1) * INQ_COLL_KIND_COUNT]; INQ_NONE: not met yet */
};
int inq_comm_context_init(const struct inq_trace *trace, bool pipeline,
                          struct inq_run_profile *profile, struct inq_comm_context *ctx,
                          struct inq_err *err);
void inq_comm_context_release(struct inq_comm_context *ctx);
/* `collective` [events.n] of this rank; INQ_NONE: not matched. */
int inq_comm_context_rank(struct inq_comm_context *ctx, size_t rank, const uint32_t *collective,
                          struct inq_err *err);

#endif
