/* SPDX-License-Identifier: Apache-2.0 */
/* What generators, the CSV reader, lint and timing share: building and walking schedules. */
#ifndef INQ_REPLAY_SCHEDULE_H
#define INQ_REPLAY_SCHEDULE_H

#include "inquest/schedule.h"

/* Bounds on schedules from files and command lines. */
#define INQ_MAX_SCHEDULE_RANKS        65536
#define INQ_MAX_SCHEDULE_MICROBATCHES 1048576
#define INQ_MAX_SCHEDULE_ACTIONS      ((size_t)1 << 28)

/* Empty schedule of these sizes; stage_rank all 0. Fails with INQ_LIMIT, INQ_NOMEM. */
int inq_schedule_init(struct inq_schedule *schedule, int32_t n_ranks, int32_t n_stages,
                      int32_t n_microbatches, struct inq_err *err);
/* Appends a generated action to a rank's list. */
int inq_schedule_add(struct inq_schedule *schedule, int32_t rank, enum inq_action_kind kind,
                     int32_t stage, int32_t microbatch, struct inq_err *err);

/* The stage before or after `stage` in its pipeline, or -1 at the ends. */
int32_t inq_schedule_previous(const struct inq_schedule *schedule, int32_t stage);
int32_t inq_schedule_next(const struct inq_schedule *schedule, int32_t stage);

/* Sets n_pipelines of a schedule that was read. Fails with INQ_NOMEM. */
int inq_schedule_find_replicas(struct inq_schedule *schedule, struct inq_err *err);

/* Sets the kind of a schedule that was read, if it is what a generator makes without knowing times,
 * or holds what those that place ops by times are made to hold. Fails with INQ_NOMEM. */
int inq_schedule_find_name(struct inq_schedule *schedule, struct inq_err *err);

/* Cost of a stage, and how an action of `kind` changes the memory held. */
const struct inq_stage_cost *inq_stage_cost_of(const struct inq_costs *costs, int32_t stage);
double inq_memory_change(const struct inq_costs *costs, uint8_t kind);

/* One generator: fills ranks' lists of a schedule whose sizes and stage map it sets itself. */
typedef int (*inq_schedule_generator)(const struct inq_schedule_spec *spec,
                                      struct inq_schedule *schedule, struct inq_err *err);

int inq_make_gpipe(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_1f1b(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                  struct inq_err *err);
int inq_make_interleaved(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                         struct inq_err *err);
int inq_make_zb_h1(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_zb_h2(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_zb_v(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                  struct inq_err *err);
int inq_make_zb_1p(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_zb_2p(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_v_half(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                    struct inq_err *err);
int inq_make_v_min(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                   struct inq_err *err);
int inq_make_dualpipe(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err);
int inq_make_dualpipev(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                       struct inq_err *err);
int inq_make_chimera(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                     struct inq_err *err);
int inq_make_dp(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                struct inq_err *err);

#endif
