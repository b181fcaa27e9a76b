/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/optable/split_name.h"

#include <stddef.h>

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

void inq_split_take(struct inq_split_rank *rank, enum inq_split_step step, int32_t chunk,
                    int32_t microbatch)
{
    int pass = step == INQ_SPLIT_FULL ? INQ_SPLIT_INPUT : (int)step;
    if (chunk >= 0 && chunk < 2) {
        rank->jumps = rank->jumps || microbatch < rank->next[chunk][pass];
        rank->next[chunk][pass] = microbatch;
    }
    rank->forwards += step == INQ_SPLIT_FORWARD;
    rank->backwards += step == INQ_SPLIT_INPUT || step == INQ_SPLIT_FULL;
    rank->freed += step == INQ_SPLIT_WEIGHT || step == INQ_SPLIT_FULL;
    rank->warm_up = rank->backwards == 0 ? rank->forwards : rank->warm_up;
    rank->full = rank->full || step == INQ_SPLIT_FULL;
    rank->split = rank->split || step == INQ_SPLIT_WEIGHT;
    rank->peak_open = larger(rank->peak_open, rank->forwards - rank->backwards);
    rank->peak_held = larger(rank->peak_held, rank->forwards - rank->freed);
}

void inq_split_add(struct inq_split_shape *shape, const struct inq_split_rank *rank)
{
    struct inq_split_rank *sum = &shape->sum;
    sum->peak_open = larger(sum->peak_open, rank->peak_open);
    sum->peak_held = larger(sum->peak_held, rank->peak_held);
    sum->full = sum->full || rank->full;
    sum->split = sum->split || rank->split;
    shape->last_warm_up = rank->warm_up;
    sum->jumps = sum->jumps || rank->jumps;
}

/* One chunk a rank: as many micro-batches under way as the memory of one pipeline, or of two. */
static const char *straight_name(const struct inq_split_shape *s)
{
    bool split = s->sum.split && !s->sum.full && s->last_warm_up == 1;
    return !split                               ? NULL
           : s->sum.peak_open <= s->n_ranks     ? "zb-1p"
           : s->sum.peak_open <= 2 * s->n_ranks ? "zb-2p"
                                                : NULL;
}

/* A chunk down and a chunk up. */
static const char *vee_name(const struct inq_split_shape *s)
{
    int32_t p = s->n_ranks;
    int32_t held = s->sum.peak_held;
    if (s->sum.split && s->sum.full) {
        return held <= 2 * p + 1 ? "dualpipev" : NULL;
    }
    const struct {
        const char *name;
        int32_t most; /* chunks held */
    } split[] = {{"zb-v", 2 * p}, {"v-half", 2 * ((p + 2) / 2)}, {"v-min", 2 * ((p + 4) / 3)}};
    const char *name = NULL;
    for (size_t k = 0; s->sum.split && k < sizeof split / sizeof *split; k++) {
        bool less = k == 0 || split[k].most < split[k - 1].most;
        name = less && held <= split[k].most ? split[k].name : name;
    }
    return name;
}

/* A pipeline from either end. */
static const char *two_way_name(const struct inq_split_shape *s)
{
    int32_t held = s->sum.peak_held;
    return s->sum.split         ? (held <= s->n_ranks + 1 ? "dualpipe" : NULL)
           : held <= s->n_ranks ? "chimera"
                                : NULL;
}

const char *inq_split_name(const struct inq_split_shape *s)
{
    return s->sum.jumps                       ? NULL
           : s->n_chunks == 1                 ? straight_name(s)
           : s->n_chunks != 2 || !s->v_shaped ? NULL
           : s->two_way                       ? two_way_name(s)
                                              : vee_name(s);
}
