/* SPDX-License-Identifier: Apache-2.0 */
#include "support_plan.h"

#include "schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

uint64_t dice_roll(struct dice *dice, uint64_t n)
{
    dice->state += 0x9e3779b97f4a7c15u;
    uint64_t x = dice->state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % n;
}

struct making {
    const struct random_graph *spec;
    struct dice dice;
    struct inq_graph_builder *builder;
    bool failed;
};

static uint32_t add_op(struct making *m, int32_t rank, uint32_t lane, bool grouped)
{
    static const uint8_t types[] = {INQ_OP_FORWARD, INQ_OP_BACKWARD};
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t id = 0;
    op.rank = rank;
    op.lane = lane;
    op.micro_batch = (int32_t)inq_graph_builder_count(m->builder);
    op.cls = grouped || lane == INQ_NONE ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE;
    op.type = op.cls == INQ_CLASS_COMM ? INQ_OP_NONE : types[dice_roll(&m->dice, 2)];
    int64_t dur_ns = (int64_t)dice_roll(&m->dice, (uint64_t)m->spec->max_dur_ns);
    int64_t delay_ns = m->spec->max_delay_ns > 0 && dice_roll(&m->dice, 4) == 0
                           ? (int64_t)dice_roll(&m->dice, (uint64_t)m->spec->max_delay_ns)
                           : 0;
    m->failed |= inq_graph_add_op(m->builder, &op, dur_ns, delay_ns, &id, NULL) != INQ_OK;
    /* ids only grow, so edges from smaller ones make no circle */
    for (uint64_t k = dice_roll(&m->dice, 3); k > 0 && id > 0; k--) {
        uint32_t window = id < 40 ? id : 40;
        uint32_t before = id - 1 - (uint32_t)dice_roll(&m->dice, window);
        bool inside = grouped && before + (uint32_t)m->spec->n_ranks >= id;
        m->failed |= !inside && inq_graph_add_dep(m->builder, before, id, NULL) != INQ_OK;
    }
    return id;
}

/* One op on each of some ranks. */
static void add_group(struct making *m)
{
    uint32_t ids[64];
    size_t n = 0;
    uint32_t lane = (uint32_t)dice_roll(&m->dice, (uint64_t)m->spec->n_lanes);
    for (int32_t r = 0; r < m->spec->n_ranks; r++) {
        if (dice_roll(&m->dice, 2) == 0) {
            ids[n++] = add_op(m, r, lane, true);
        }
    }
    m->failed |= inq_graph_add_group(m->builder, ids, n, n, NULL) != INQ_OK;
}

struct inq_graph *random_graph_make(const struct random_graph *spec, uint64_t seed)
{
    struct making m = {.spec = spec, .dice = {seed}, .builder = inq_graph_builder_new()};
    struct inq_graph *graph = NULL;
    if (m.builder == NULL || spec->n_ranks > 64) {
        inq_graph_builder_free(m.builder);
        return NULL;
    }
    for (size_t i = 0; i < spec->n_steps; i++) {
        uint64_t what = dice_roll(&m.dice, 10);
        int32_t rank = (int32_t)dice_roll(&m.dice, (uint64_t)spec->n_ranks);
        if (what == 0) {
            add_group(&m);
        } else {
            uint32_t lane =
                what < 3 ? INQ_NONE : (uint32_t)dice_roll(&m.dice, (uint64_t)spec->n_lanes);
            (void)add_op(&m, rank, lane, false);
        }
    }
    if (m.failed || inq_graph_finish(m.builder, &graph, NULL, NULL) != INQ_OK) {
        graph = NULL;
    }
    inq_graph_builder_free(m.builder);
    return graph;
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* What has been done of each micro-batch on each stage: 0 nothing, 1 F, 2 B or I, 3 W. */
struct drawing {
    struct inq_schedule *schedule;
    struct dice dice;
    bool split;
    uint8_t *done; /* [n_stages][n_microbatches] */
};

static uint8_t done_on(const struct drawing *d, int32_t stage, int32_t microbatch)
{
    return d->done[stage * d->schedule->n_microbatches + microbatch];
}

/* The next action of a micro-batch on a stage, IDLE when it has to wait or is through. */
static enum inq_action_kind next_action(const struct drawing *d, int32_t stage, int32_t microbatch)
{
    int32_t last = d->schedule->n_stages - 1;
    uint8_t done = done_on(d, stage, microbatch);
    if (done == 0) {
        bool ready = stage == 0 || done_on(d, stage - 1, microbatch) >= 1;
        return ready ? INQ_ACTION_F : INQ_ACTION_IDLE;
    }
    if (done == 1) {
        bool ready = stage == last || done_on(d, stage + 1, microbatch) >= 2;
        return !ready ? INQ_ACTION_IDLE : d->split ? INQ_ACTION_I : INQ_ACTION_B;
    }
    return done == 2 && d->split ? INQ_ACTION_W : INQ_ACTION_IDLE;
}

/* Draws any action that can go on next; false when there is none left. */
static bool draw(struct drawing *d)
{
    int32_t cells = d->schedule->n_stages * d->schedule->n_microbatches;
    int32_t from = (int32_t)dice_roll(&d->dice, (uint64_t)cells);
    for (int32_t k = 0; k < cells; k++) {
        int32_t cell = (from + k) % cells;
        int32_t stage = cell / d->schedule->n_microbatches;
        int32_t microbatch = cell % d->schedule->n_microbatches;
        enum inq_action_kind kind = next_action(d, stage, microbatch);
        if (kind != INQ_ACTION_IDLE) {
            d->done[cell]++;
            assert_int_equal(inq_schedule_append(d->schedule, d->schedule->stage_rank[stage], kind,
                                                 stage, microbatch, NULL),
                             INQ_OK);
            return true;
        }
    }
    return false;
}

void random_schedule_make(struct inq_schedule *schedule, uint64_t seed)
{
    struct drawing d = {.schedule = schedule, .dice = {seed * 7919}};
    int32_t n_ranks = 1 + (int32_t)dice_roll(&d.dice, 8);
    int32_t n_chunks = 1 + (int32_t)dice_roll(&d.dice, 3);
    int32_t n_microbatches = 1 + (int32_t)dice_roll(&d.dice, 8);
    bool v_shaped = dice_roll(&d.dice, 2) == 1;
    d.split = dice_roll(&d.dice, 2) == 1;
    assert_int_equal(
        inq_schedule_start(n_ranks, n_ranks * n_chunks, n_microbatches, schedule, NULL), INQ_OK);
    for (int32_t s = 0; s < schedule->n_stages; s++) {
        bool up = v_shaped && (s / n_ranks) % 2 == 1;
        schedule->stage_rank[s] = up ? n_ranks - 1 - s % n_ranks : s % n_ranks;
    }
    d.done = calloc((size_t)schedule->n_stages * (size_t)n_microbatches, 1);
    assert_non_null(d.done);
    while (draw(&d)) {
    }
    free(d.done);
}
