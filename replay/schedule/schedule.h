/* SPDX-License-Identifier: Apache-2.0 */
/* What generators, the CSV reader, lint and timing share: building and walking schedules. */
#ifndef INQ_REPLAY_SCHEDULE_SCHEDULE_H
#define INQ_REPLAY_SCHEDULE_SCHEDULE_H

#include "schedule/reductions.h"
#include "inquest/schedule.h"

/* Bounds on schedules from files and command lines. */
#define INQ_MAX_SCHEDULE_RANKS        65536
#define INQ_MAX_SCHEDULE_MICROBATCHES 1048576
#define INQ_MAX_SCHEDULE_ACTIONS      ((size_t)1 << 28)

/* The stage before or after `stage` in its pipeline, or -1 at the ends. */
int32_t inq_schedule_previous(const struct inq_schedule *schedule, int32_t stage);
int32_t inq_schedule_next(const struct inq_schedule *schedule, int32_t stage);

/* Sets n_pipelines of a schedule that was read, and its kind, if it is what a generator makes
 * without knowing times, or holds what those that place ops by times are made to hold. Fails with
 * INQ_NOMEM. */
int inq_schedule_find_name(struct inq_schedule *schedule, struct inq_err *err);

/* Cost of a stage, and how an action of `kind` changes the memory held. */
const struct inq_stage_cost *inq_stage_cost_of(const struct inq_costs *costs, int32_t stage);
double inq_memory_change(const struct inq_costs *costs, uint8_t kind, int32_t stage);
/* What a transfer between two neighboring stages takes. */
int64_t inq_transfer_ns(const struct inq_costs *costs, int32_t from, int32_t to);

/* Fills ranks' lists of a schedule whose sizes and stage map it sets itself. */
typedef int (*inq_schedule_make_fn)(const struct inq_schedule_spec *spec,
                                    struct inq_schedule *schedule, struct inq_err *err);

/* One kind of a family. */
struct inq_schedule_generator {
    const char *kind;
    inq_schedule_make_fn make;
};

/* Runs the generator of spec->kind, which is one of the table. */
int inq_schedule_generate(const struct inq_schedule_generator *generators, size_t n,
                          const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                          struct inq_err *err);

/* The families. Closed forms need no times; the greedy and block-wise ones place ops by the times
 * given. */
int inq_make_closed_form(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                         struct inq_err *err);
int inq_make_zb_greedy(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                       struct inq_err *err);
int inq_make_v(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
               struct inq_err *err);
int inq_make_dual(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                  struct inq_err *err);
int inq_make_dp(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                struct inq_err *err);

#endif
