/* SPDX-License-Identifier: Apache-2.0 */
#include "support_plan.h"

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
