/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind a schedule from a file is: the one whose generator has every rank do the same in the
 * same order. */
#include "schedule.h"

#include "graph/split_name.h"

#include <stdio.h>
#include <string.h>

/* Generating it again has to stay cheap. */
static const size_t MOST_ACTIONS = (size_t)1 << 20;

/* The next action that computes, in a composite or not, from *at on; NULL: no more. */
static const struct inq_action *next_compute(const struct inq_rank_actions *list, size_t *at)
{
    while (*at < list->n) {
        const struct inq_action *action = &list->actions[(*at)++];
        if (inq_action_computes(action)) {
            return action;
        }
    }
    return NULL;
}

static bool same_order(const struct inq_rank_actions *a, const struct inq_rank_actions *b)
{
    size_t i = 0;
    size_t k = 0;
    for (;;) {
        const struct inq_action *x = next_compute(a, &i);
        const struct inq_action *y = next_compute(b, &k);
        if (x == NULL || y == NULL) {
            return x == y;
        }
        if (x->kind != y->kind || x->stage != y->stage || x->microbatch != y->microbatch) {
            return false;
        }
    }
}

static bool is_same(const struct inq_schedule *a, const struct inq_schedule *b)
{
    bool same = a->n_ranks == b->n_ranks && a->n_stages == b->n_stages &&
                a->n_microbatches == b->n_microbatches && a->n_pipelines == b->n_pipelines;
    for (int32_t r = 0; same && r < a->n_ranks; r++) {
        same = same_order(&a->ranks[r], &b->ranks[r]);
    }
    return same;
}

static bool is_vee(const struct inq_schedule *s)
{
    bool vee = s->n_ranks > 1 && s->n_stages == 2 * s->n_ranks;
    for (int32_t r = 0; vee && r < s->n_ranks; r++) {
        vee = s->stage_rank[r] == r && s->stage_rank[2 * s->n_ranks - 1 - r] == r;
    }
    return vee;
}

static bool is_straight(const struct inq_schedule *s)
{
    bool straight = s->n_stages == s->n_ranks;
    for (int32_t r = 0; straight && r < s->n_ranks; r++) {
        straight = s->stage_rank[r] == r;
    }
    return straight;
}

/* Those that place ops by times, which a file does not tell, by what their ranks hold. */
static const char *name_by_memory(const struct inq_schedule *s)
{
    static const enum inq_split_step steps[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = INQ_SPLIT_FORWARD,
        [INQ_ACTION_I] = INQ_SPLIT_INPUT,
        [INQ_ACTION_W] = INQ_SPLIT_WEIGHT,
        [INQ_ACTION_B] = INQ_SPLIT_FULL};
    struct inq_split_shape shape = {
        .n_ranks = s->n_ranks, .n_chunks = s->n_stages / s->n_ranks, .v_shaped = is_vee(s)};
    if (s->n_pipelines != 1 || !(shape.v_shaped || is_straight(s))) {
        return NULL;
    }
    for (int32_t r = 0; r < s->n_ranks; r++) {
        struct inq_split_rank rank = {0};
        const struct inq_action *action = NULL;
        for (size_t i = 0; (action = next_compute(&s->ranks[r], &i)) != NULL;) {
            inq_split_take(&rank, steps[action->kind], action->stage / s->n_ranks,
                           action->microbatch);
        }
        inq_split_add(&shape, &rank);
    }
    const char *name = inq_split_name(&shape);
    /* dualpipev has one order */
    return name != NULL && strcmp(name, "dualpipev") == 0 ? NULL : name;
}

int inq_schedule_find_name(struct inq_schedule *schedule, struct inq_err *err)
{
    /* the others are told by what they hold */
    static const char *const fixed[] = {"1f1b", "gpipe",    "interleaved", "zb-h1",  "zb-h2",
                                        "zb-v", "dualpipe", "dualpipev",   "chimera"};
    struct inq_schedule_spec spec = {.n_ranks = schedule->n_ranks,
                                     .n_microbatches = schedule->n_microbatches,
                                     .n_chunks = schedule->n_stages / schedule->n_ranks,
                                     .costs = {.stage = {1, 1, 1}}};
    size_t actions = 0;
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        actions += schedule->ranks[r].n;
    }
    /* every micro-batch has a forward and a backward on every stage of its replica */
    size_t cells =
        (size_t)(schedule->n_stages / schedule->n_pipelines) * (size_t)schedule->n_microbatches;
    bool whole = cells > 0 && cells <= actions / 2 && actions <= MOST_ACTIONS &&
                 schedule->n_stages % schedule->n_ranks == 0;
    for (size_t i = 0; whole && i < sizeof fixed / sizeof *fixed; i++) {
        struct inq_schedule made;
        struct inq_err own = {0};
        spec.kind = fixed[i];
        int code = inq_schedule_make(&spec, &made, &own);
        if (code == INQ_NOMEM) {
            return inq_err_set(err, INQ_NOMEM, "%.200s", own.message);
        }
        bool found = code == INQ_OK && is_same(schedule, &made);
        if (code == INQ_OK) {
            inq_schedule_release(&made);
        }
        if (found) {
            (void)snprintf(schedule->kind, sizeof schedule->kind, "%s", fixed[i]);
            return INQ_OK;
        }
    }
    const char *held = whole ? name_by_memory(schedule) : NULL;
    if (held != NULL) {
        (void)snprintf(schedule->kind, sizeof schedule->kind, "%s", held);
    }
    return INQ_OK;
}
