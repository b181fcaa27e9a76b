/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines share. */
#ifndef INQ_REPLAY_ENGINE_ENGINE_H
#define INQ_REPLAY_ENGINE_ENGINE_H

#include "engine/host.h"
#include "inquest/replay.h"

/* The engines' `run`s. Those of cuda are there only with INQ_HAVE_CUDA. */
int inq_engine_host_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                        struct inq_execution *out, struct inq_err *err);
int inq_engine_host_alternate(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                              const struct inq_replay_options *options, int64_t *makespan_ns,
                              struct inq_witness *witness, struct inq_execution *device,
                              struct inq_err *err);
size_t inq_engine_cuda_gpus(const struct inq_replay_options *options);
int inq_engine_cuda_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                        struct inq_execution *out, struct inq_err *err);
int inq_engine_cuda_alternate(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                              const struct inq_replay_options *options, int64_t *makespan_ns,
                              struct inq_witness *witness, struct inq_execution *device,
                              struct inq_err *err);

/* Numbers of the options, defaults filled in. */
int inq_replay_warmup(const struct inq_replay_options *options);
int inq_replay_repeats(const struct inq_replay_options *options);
int64_t inq_replay_timeout_ns(const struct inq_plan *plan,
                              const struct inq_replay_options *options);

/* Ranks that have a lane. */
size_t inq_plan_ranks(const struct inq_plan *plan);

/* Takes the times of one repeat after the other, keeps those of the one with the median makespan.
 * All-zero is releasable. */
struct inq_recorder {
    size_t n_ops, n_repeats, n;
    int64_t *start_ns, *end_ns; /* [n_repeats][n_ops] */
    int64_t *makespan_ns;       /* [n_repeats] */
};

int inq_recorder_init(struct inq_recorder *recorder, size_t n_ops, size_t n_repeats,
                      struct inq_err *err);
void inq_recorder_release(struct inq_recorder *recorder);
/* Where the next repeat's times go, [n_ops] each, on any clock. */
int64_t *inq_recorder_start(struct inq_recorder *recorder);
int64_t *inq_recorder_end(struct inq_recorder *recorder);
/* The next repeat is complete: shifts its earliest start to 0; returns its makespan. */
int64_t inq_recorder_next(struct inq_recorder *recorder);
/* Moves the result into `out` (the rest of `out` is the engine's to fill) and empties the recorder.
 * Fails with INQ_NOMEM. */
int inq_recorder_finish(struct inq_recorder *recorder, struct inq_execution *out,
                        struct inq_err *err);

#endif
