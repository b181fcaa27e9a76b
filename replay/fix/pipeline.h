/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline taken apart into what its micro-batches cost on each stage, and laid out again in the
 * order of a schedule. */
#ifndef INQ_REPLAY_FIX_PIPELINE_H
#define INQ_REPLAY_FIX_PIPELINE_H

#include "fix/step.h"

/* One micro-batch on one virtual stage of one replica; backward = input + weight. */
struct fix_cell {
    int64_t f_ns, i_ns, w_ns;
    int64_t f_delay_ns, b_delay_ns; /* between what it waited for and its start */
};

/* All-zero is releasable. Virtual stages are numbered in the order of the model. */
struct fix_pipe {
    size_t n_dp, n_ranks, n_virtual, n_microbatches; /* ranks of one replica */
    struct fix_cell *cells;                          /* [n_dp][n_virtual][n_microbatches] */
    int32_t *rank_of;                                /* [n_virtual] rank (stage) that holds it */
    /* [n_dp][n_ranks][2]: over the link from rank r to r + 1 (the last one's leads to rank 0), and
     * back; two ranks have one link, the first. INQ_TIME_NONE: nothing was measured on it. */
    int64_t *p2p_ns;
    int64_t usual_p2p_ns; /* median of those measured; 0: none */
    bool transfers;       /* transfers are ops of their own */
    bool from_delays;     /* which were not recorded: passes waited for them */
    bool in_order;        /* a receive is posted when the compute before its own is over */
    bool split;    /* i_ns and w_ns were measured; else w_ns is 0 and i_ns the full backward */
    double beside; /* as in fix_step */
};

void inq_fix_pipe_release(struct fix_pipe *pipe);
/* What a transfer between two ranks takes; false: that link was not measured (or there is none),
 * and *ns is the median of those that were, 0 if none was. */
bool inq_fix_pipe_transfer(const struct fix_pipe *pipe, size_t dp, int32_t from, int32_t to,
                           int64_t *ns);
/* What the job's pipeline costs. Fails with INQ_UNSUPPORTED when it is none, or when an op is
 * missing. */
int inq_fix_pipe_take(const struct fix_step *job, struct fix_pipe *pipe, struct inq_err *err);
/* Cuts the model into `n_virtual` virtual stages instead, ranks by `rank_of`: layers are taken as
 * evenly spread over each stage that was measured, what the first and last stage take beyond the
 * median one stays at the ends of the model, and each rank keeps its pace. */
int inq_fix_pipe_recut(struct fix_pipe *pipe, size_t n_virtual, const int32_t *rank_of,
                       struct inq_err *err);
/* Which part of an op's time does not depend on the size of its micro-batch, by what the op takes:
 * between the two lengths in proportion. */
struct fix_curve {
    int64_t dur_ns[2]; /* ascending */
    double fixed[2];
};
/* Divides the same step into `n` micro-batches, each `size` times as large. */
int inq_fix_pipe_divide(struct fix_pipe *pipe, size_t n, const struct fix_curve *curve, double size,
                        struct inq_err *err);
/* The job of `schedule` at the pipe's costs; ops of `from` (may be NULL) that are neither forward
 * nor backward nor their transfers stay where they were: before the first or after the last of
 * their rank; the others are taken out of `from`. `weight_share` of a full backward becomes W where
 * the schedule splits it. Of several replicas the first is listed (struct fix_replicas). */
int inq_fix_relayout(const struct fix_pipe *pipe, const struct inq_schedule *schedule,
                     double weight_share, struct fix_step *from, struct fix_step *to,
                     struct inq_err *err);

#endif
