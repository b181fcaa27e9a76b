/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs for tests of plans and engines. */
#ifndef INQ_SUPPORT_PLAN_H
#define INQ_SUPPORT_PLAN_H

#include "inquest/replay.h"

/* A stream of numbers that depends on nothing but the seed. */
struct dice {
    uint64_t state;
};

uint64_t dice_roll(struct dice *dice, uint64_t n); /* 0 .. n - 1 */

struct random_graph {
    int32_t n_ranks, n_lanes;
    size_t n_steps;     /* ops or groups to add */
    int64_t max_dur_ns; /* durations are below */
    int64_t max_delay_ns;
};

/* Lanes, transfers in no lane, data edges and groups over ranks; NULL when it fails. */
struct inq_graph *random_graph_make(const struct random_graph *spec, uint64_t seed);

/* A schedule of 1 to 8 ranks, 1 to 3 chunks each (looped or V-shaped), whole or split backward, in
 * any order that can run; *schedule is the caller's. Fails the test when there is no memory. */
void random_schedule_make(struct inq_schedule *schedule, uint64_t seed);

#endif
