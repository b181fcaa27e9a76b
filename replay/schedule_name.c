/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind a schedule from a file is: the one whose generator has every rank do the same in the
 * same order. */
#include "schedule.h"

#include <stdio.h>
#include <string.h>

/* Generating it again has to stay cheap. */
static const size_t MOST_ACTIONS = (size_t)1 << 20;

/* The next action that computes, from *at on; NULL: no more. */
static const struct inq_action *next_compute(const struct inq_rank_actions *list, size_t *at)
{
    while (*at < list->n) {
        const struct inq_action *action = &list->actions[(*at)++];
        if (inq_action_computes(action) || action->kind == INQ_ACTION_OVERLAP_F_B) {
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
        if (x->kind != y->kind || x->stage != y->stage || x->microbatch != y->microbatch ||
            x->n_sub != y->n_sub) {
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

int inq_schedule_find_name(struct inq_schedule *schedule, struct inq_err *err)
{
    /* the others place ops by times, which a file does not tell */
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
    return INQ_OK;
}
