/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule from a file is: its replicas of the model, and its kind, the one whose generator
 * has every rank do the same in the same order. */
#include "schedule/schedule.h"

#include "base/mem.h"
#include "graph/optable/optable.h"

#include <stdio.h>
#include <string.h>

/* Generating it again has to stay cheap. */
static const size_t MOST_ACTIONS = (size_t)1 << 20;

/* ---- replicas: stages fall into blocks of equal length that share no micro-batch, as DualPipe's,
 * Chimera's and data parallelism's do -----------------------------------------------------------*/

/* The micro-batches that a stage runs forward, well enough to tell two sets apart. */
struct stage_set {
    uint64_t count, sum;
};

static int32_t block_length(const struct inq_schedule *s, const struct stage_set *sets)
{
    int32_t length = 1;
    while (length < s->n_stages && sets[length].count == sets[0].count &&
           sets[length].sum == sets[0].sum) {
        length++;
    }
    return s->n_stages % length == 0 ? length : s->n_stages;
}

static void count_forwards(const struct inq_schedule *s, struct stage_set *sets)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            if (a->kind == INQ_ACTION_F && a->microbatch >= 0) {
                sets[a->stage].count++;
                sets[a->stage].sum += (uint64_t)a->microbatch + 1;
            }
        }
    }
}

/* Whether every micro-batch stays within one block. */
static bool blocks_are_apart(const struct inq_schedule *s, int32_t length, int32_t *home)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            if (a->kind != INQ_ACTION_F || a->microbatch < 0) {
                continue;
            }
            int32_t block = a->stage / length + 1;
            int32_t *here = &home[a->microbatch];
            if (*here != 0 && *here != block) {
                return false;
            }
            *here = block;
        }
    }
    return true;
}

static int find_replicas(struct inq_schedule *schedule, struct inq_err *err)
{
    struct stage_set *sets = inq_mem_zalloc((size_t)schedule->n_stages, sizeof *sets);
    int32_t *home = inq_mem_zalloc((size_t)schedule->n_microbatches + 1, sizeof *home);
    int code = INQ_OK;
    if (sets == NULL || home == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
    } else {
        count_forwards(schedule, sets);
        int32_t length = block_length(schedule, sets);
        bool whole = length < schedule->n_stages;
        for (int32_t s = 0; whole && s < schedule->n_stages; s++) {
            const struct stage_set *first = &sets[s - s % length];
            whole = sets[s].count > 0 && sets[s].count == first->count && sets[s].sum == first->sum;
        }
        schedule->n_pipelines =
            whole && blocks_are_apart(schedule, length, home) ? schedule->n_stages / length : 1;
    }
    inq_mem_free(sets);
    inq_mem_free(home);
    return code;
}

/* ---- the kind --------------------------------------------------------------------------------*/

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

/* Segments of a sequence, where those are what the micro-batches are: the last of the first
 * sequence is the first to go back. */
static int32_t segments_of(const struct inq_schedule *s)
{
    const struct inq_action *action = NULL;
    for (size_t i = 0; (action = next_compute(&s->ranks[s->n_ranks - 1], &i)) != NULL;) {
        if (action->kind == INQ_ACTION_B) {
            return action->microbatch + 1;
        }
    }
    return 1;
}

/* Whether the spec makes the same; then the name is taken. */
static int try_name(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                    bool *found, struct inq_err *err)
{
    struct inq_schedule made;
    struct inq_err own = {0};
    int code = inq_schedule_make(spec, &made, &own);
    *found = false;
    if (code == INQ_NOMEM) {
        return inq_err_set(err, INQ_NOMEM, "%.200s", own.message);
    }
    if (code == INQ_OK) {
        *found = is_same(schedule, &made);
        schedule->n_segments = *found ? made.n_segments : schedule->n_segments;
        inq_schedule_release(&made);
    }
    if (*found) {
        (void)snprintf(schedule->kind, sizeof schedule->kind, "%s", spec->kind);
    }
    return INQ_OK;
}

int inq_schedule_find_name(struct inq_schedule *schedule, struct inq_err *err)
{
    /* the others are told by what they hold */
    static const char *const fixed[] = {"1f1b",    "gpipe",      "interleaved",   "zb-h1",
                                        "zb-h2",   "zb-v",       "dualpipe",      "dualpipev",
                                        "chimera", "looped-bfs", "interleaved-zb"};
    struct inq_schedule_spec spec = {.n_ranks = schedule->n_ranks,
                                     .n_microbatches = schedule->n_microbatches,
                                     .n_chunks = schedule->n_stages / schedule->n_ranks,
                                     .costs = {.stage = {1, 1, 1}}};
    size_t actions = 0;
    int replicas = find_replicas(schedule, err);
    if (replicas != INQ_OK) {
        return replicas;
    }
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        actions += schedule->ranks[r].n;
    }
    /* every micro-batch has a forward and a backward on every stage of its replica */
    size_t cells =
        (size_t)(schedule->n_stages / schedule->n_pipelines) * (size_t)schedule->n_microbatches;
    bool whole = cells > 0 && cells <= actions / 2 && actions <= MOST_ACTIONS &&
                 schedule->n_stages % schedule->n_ranks == 0;
    for (size_t i = 0; whole && i < sizeof fixed / sizeof *fixed; i++) {
        bool found = false;
        spec.kind = fixed[i];
        int code = try_name(&spec, schedule, &found, err);
        if (code != INQ_OK || found) {
            return code;
        }
    }
    int32_t k = segments_of(schedule);
    if (whole && is_straight(schedule) && k > 1 && schedule->n_microbatches % k == 0) {
        bool found = false;
        spec.kind = "seq1f1b";
        spec.n_chunks = k;
        spec.n_microbatches = schedule->n_microbatches / k;
        int code = try_name(&spec, schedule, &found, err);
        if (code != INQ_OK || found) {
            return code;
        }
    }
    const char *held = whole ? name_by_memory(schedule) : NULL;
    if (held != NULL) {
        (void)snprintf(schedule->kind, sizeof schedule->kind, "%s", held);
    }
    return INQ_OK;
}
