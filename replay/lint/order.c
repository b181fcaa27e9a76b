/* SPDX-License-Identifier: Apache-2.0 */
/* Lint rules that need no other rank: counts and ranges (R2), order within a rank (R3), sharding
 * (R10). */
#include "lint/lint.h"

#include "base/mem.h"
#include "schedule/schedule.h"

#include <inttypes.h>

/* What has been done to each (stage, micro-batch) so far. */
enum seen {
    SEEN_F = 1,
    SEEN_I = 2,
    SEEN_W = 4,
    SEEN_B = 8,
    SEEN_RECV_F = 16,
    SEEN_RECV_B = 32,
    SEEN_SEND_F = 64,
    SEEN_SEND_B = 128
};

struct order {
    const struct inq_schedule *schedule;
    struct inq_lint *lint;
    struct inq_err *err;
    uint8_t *seen;      /* [n_stages * n_microbatches] */
    uint8_t *unsharded; /* [n_stages] now */
    uint8_t *reduced;   /* [n_stages] its gradients are */
    bool uses_unshard, uses_reduce;
    int32_t rank;
    size_t at; /* NOWHERE: of what is not there */
    const struct inq_action *action;
    int code;
};

static const size_t NOWHERE = SIZE_MAX;

static void complain(struct order *o, enum inq_lint_rule rule, const char *message)
{
    int32_t position = o->at == NOWHERE ? -1 : inq_lint_position(o->action, o->at);
    if (o->code == INQ_OK) {
        o->code =
            inq_lint_add(o->lint, rule, true, o->rank, position, o->action, o->err, "%s", message);
    }
}

static uint8_t bit_of(uint8_t kind)
{
    static const uint8_t bits[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = SEEN_F,           [INQ_ACTION_I] = SEEN_I,
        [INQ_ACTION_W] = SEEN_W,           [INQ_ACTION_B] = SEEN_B,
        [INQ_ACTION_RECV_F] = SEEN_RECV_F, [INQ_ACTION_RECV_B] = SEEN_RECV_B,
        [INQ_ACTION_SEND_F] = SEEN_SEND_F, [INQ_ACTION_SEND_B] = SEEN_SEND_B};
    return bits[kind];
}

/* R3: what an action needs to have happened on its own rank. */
static void check_order(struct order *o, uint8_t before)
{
    uint8_t kind = o->action->kind;
    bool backward = kind == INQ_ACTION_B || kind == INQ_ACTION_I;
    if (backward && (before & SEEN_F) == 0) {
        complain(o, INQ_LINT_ORDER,
                 "backward before the forward of the same micro-batch; "
                 "move it after that forward");
    }
    if (kind == INQ_ACTION_W && (before & SEEN_I) == 0) {
        complain(o, INQ_LINT_ORDER,
                 "weight gradient before the input gradient of the same "
                 "micro-batch; move it after that");
    }
    if (kind == INQ_ACTION_SEND_F && (before & SEEN_F) == 0) {
        complain(o, INQ_LINT_ORDER, "sends an activation that is not computed yet");
    }
    if (kind == INQ_ACTION_SEND_B && (before & (SEEN_B | SEEN_I)) == 0) {
        complain(o, INQ_LINT_ORDER, "sends a gradient that is not computed yet");
    }
    if (!o->schedule->has_comms) {
        return;
    }
    int32_t stage = o->action->stage;
    int32_t previous = inq_schedule_previous(o->schedule, stage);
    int32_t next = inq_schedule_next(o->schedule, stage);
    const int32_t *rank_of = o->schedule->stage_rank;
    bool from_other_f = previous >= 0 && rank_of[previous] != rank_of[stage];
    bool from_other_b = next >= 0 && rank_of[next] != rank_of[stage];
    if (kind == INQ_ACTION_F && from_other_f && (before & SEEN_RECV_F) == 0) {
        complain(o, INQ_LINT_ORDER, "forward before its input is received");
    }
    if (backward && from_other_b && (before & SEEN_RECV_B) == 0) {
        complain(o, INQ_LINT_ORDER, "backward before its gradient is received");
    }
}

/* R10: a stage is unsharded while it computes, and not twice. */
static void check_sharding(struct order *o)
{
    uint8_t kind = o->action->kind;
    uint8_t *now = &o->unsharded[o->action->stage];
    bool computes = kind >= INQ_ACTION_F && kind <= INQ_ACTION_B;
    if (kind == INQ_ACTION_UNSHARD) {
        if (*now) {
            complain(o, INQ_LINT_UNSHARD, "unsharded already; drop one of the two");
        }
        *now = 1;
    } else if (kind == INQ_ACTION_RESHARD) {
        if (!*now) {
            complain(o, INQ_LINT_UNSHARD, "resharded without being unsharded");
        }
        *now = 0;
    } else if (computes && o->uses_unshard && !*now) {
        complain(o, INQ_LINT_UNSHARD, "computes on a stage that is not unsharded");
    }
}

/* R2, R3: gradients are reduced once, when they are whole. */
static void check_reduction(struct order *o)
{
    uint8_t kind = o->action->kind;
    uint8_t *reduced = &o->reduced[o->action->stage];
    if (kind == INQ_ACTION_REDUCE_GRAD) {
        if (*reduced) {
            complain(o, INQ_LINT_COUNT, "appears twice");
        }
        *reduced = 1;
    } else if (*reduced && (kind == INQ_ACTION_B || kind == INQ_ACTION_W)) {
        complain(o, INQ_LINT_ORDER,
                 "adds to gradients that are reduced already; move REDUCE_GRAD after it");
    }
}

/* Whether `later` needs the result of `earlier` on the same rank. */
static bool needs(const struct order *o, const struct inq_action *later,
                  const struct inq_action *earlier)
{
    if (!inq_action_computes(later) || !inq_action_computes(earlier) ||
        later->microbatch != earlier->microbatch) {
        return false;
    }
    bool from_forward = earlier->kind == INQ_ACTION_F;
    bool same = later->stage == earlier->stage;
    bool backward = later->kind == INQ_ACTION_B || later->kind == INQ_ACTION_I;
    if (later->kind == INQ_ACTION_F) {
        return from_forward && inq_schedule_next(o->schedule, earlier->stage) == later->stage;
    }
    if (later->kind == INQ_ACTION_W) {
        return same && earlier->kind == INQ_ACTION_I;
    }
    bool gradient = earlier->kind == INQ_ACTION_B || earlier->kind == INQ_ACTION_I;
    return backward &&
           (from_forward
                ? same
                : gradient && inq_schedule_previous(o->schedule, earlier->stage) == later->stage);
}

/* R3: the parts of a composite start together, so none may need another's result. */
static void check_composite(struct order *o)
{
    const struct inq_rank_actions *list = &o->schedule->ranks[o->rank];
    size_t end = o->at + 1 + o->action->n_sub;
    end = end < list->n ? end : list->n;
    for (size_t i = o->at + 1; i < end; i++) {
        for (size_t k = o->at + 1; k < end; k++) {
            if (i != k && needs(o, &list->actions[i], &list->actions[k])) {
                o->action = &list->actions[i];
                complain(o, INQ_LINT_ORDER,
                         "needs the result of another part of its own cell, and parts start "
                         "together; take it out of the composite");
                return;
            }
        }
    }
}

static void check_action(struct order *o)
{
    const struct inq_action *a = o->action;
    if (a->kind == INQ_ACTION_OVERLAP_F_B) {
        check_composite(o);
        return;
    }
    if (a->stage < 0) {
        return;
    }
    check_sharding(o);
    check_reduction(o);
    if (a->kind != INQ_ACTION_IDLE && o->schedule->stage_rank[a->stage] != o->rank) {
        complain(o, INQ_LINT_COUNT,
                 "is on another rank than the stage's compute; a stage lives on one rank");
    }
    uint8_t bit = bit_of(a->kind);
    if (bit == 0) {
        return;
    }
    if (a->microbatch < 0) {
        complain(o, INQ_LINT_COUNT, "names no micro-batch");
        return;
    }
    uint8_t *seen =
        &o->seen[(size_t)a->stage * (size_t)o->schedule->n_microbatches + (size_t)a->microbatch];
    if ((*seen & bit) != 0) {
        complain(o, INQ_LINT_COUNT, "appears twice");
    }
    check_order(o, *seen);
    *seen |= bit;
}

/* What is missing of, or too much for, one micro-batch on one stage. */
static void check_cell(struct order *o, struct inq_action *missing, uint8_t seen)
{
    bool whole = (seen & SEEN_B) != 0;
    bool split = (seen & SEEN_I) != 0 || (seen & SEEN_W) != 0;
    missing->kind = INQ_ACTION_F;
    if ((seen & SEEN_F) == 0) {
        complain(o, INQ_LINT_COUNT, "is nowhere in the schedule");
    }
    missing->kind = INQ_ACTION_B;
    if (whole && split) {
        complain(o, INQ_LINT_COUNT, "full backward and a split one: computed twice");
    } else if (!whole && !split) {
        complain(o, INQ_LINT_COUNT, "backward is nowhere in the schedule");
    } else if (split && (seen & SEEN_W) == 0) {
        missing->kind = INQ_ACTION_W;
        complain(o, INQ_LINT_COUNT, "is nowhere in the schedule");
    } else if (split && (seen & SEEN_I) == 0) {
        missing->kind = INQ_ACTION_I;
        complain(o, INQ_LINT_COUNT, "is nowhere in the schedule");
    }
}

/* The replica of the model that a micro-batch goes through: the first that has seen it, else the
 * first of all. */
static int32_t home_of(const struct order *o, int32_t microbatch)
{
    const struct inq_schedule *s = o->schedule;
    for (int32_t stage = 0; s->n_pipelines > 1 && stage < s->n_stages; stage++) {
        if (o->seen[(size_t)stage * (size_t)s->n_microbatches + (size_t)microbatch] != 0) {
            return stage / (s->n_stages / s->n_pipelines);
        }
    }
    return 0;
}

/* R2: at the end every stage (of its replica) has done everything to every micro-batch. */
static void check_complete(struct order *o)
{
    const struct inq_schedule *s = o->schedule;
    int32_t stages = s->n_stages / s->n_pipelines;
    struct inq_action missing = {0};
    o->action = &missing;
    o->at = NOWHERE;
    for (int32_t m = 0; o->code == INQ_OK && m < s->n_microbatches; m++) {
        int32_t home = home_of(o, m);
        for (int32_t stage = 0; o->code == INQ_OK && stage < s->n_stages; stage++) {
            uint8_t seen = o->seen[(size_t)stage * (size_t)s->n_microbatches + (size_t)m];
            missing = (struct inq_action){
                .kind = INQ_ACTION_F, .stage = stage, .microbatch = m, .column = -1};
            o->rank = s->stage_rank[stage];
            if (stage / stages == home) {
                check_cell(o, &missing, seen);
            } else if (seen != 0) {
                complain(o, INQ_LINT_COUNT, "goes through a second replica of the model");
            }
        }
    }
    o->action = NULL;
}

/* What is left open on a stage at the end. */
static void check_stages(struct order *o)
{
    struct inq_action action = {.microbatch = -1, .column = -1};
    o->action = &action;
    o->at = NOWHERE;
    for (int32_t stage = 0; stage < o->schedule->n_stages; stage++) {
        action.stage = stage;
        o->rank = o->schedule->stage_rank[stage];
        if (o->unsharded[stage]) {
            action.kind = INQ_ACTION_UNSHARD;
            complain(o, INQ_LINT_UNSHARD, "is never resharded");
        }
        if (o->uses_reduce && !o->reduced[stage]) {
            action.kind = INQ_ACTION_REDUCE_GRAD;
            complain(o, INQ_LINT_COUNT,
                     "is nowhere in the schedule, though other stages' gradients are reduced");
        }
    }
    o->action = NULL;
}

static void walk(struct order *o, void (*visit)(struct order *o))
{
    for (int32_t r = 0; r < o->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &o->schedule->ranks[r];
        o->rank = r;
        for (o->at = 0; o->code == INQ_OK && o->at < list->n; o->at++) {
            o->action = &list->actions[o->at];
            visit(o);
        }
    }
}

static void note_uses(struct order *o)
{
    o->uses_unshard = o->uses_unshard || o->action->kind == INQ_ACTION_UNSHARD;
    o->uses_reduce = o->uses_reduce || o->action->kind == INQ_ACTION_REDUCE_GRAD;
}

int inq_lint_order(const struct inq_schedule *schedule, struct inq_lint *lint, struct inq_err *err)
{
    struct order o = {.schedule = schedule, .lint = lint, .err = err};
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    o.seen = inq_mem_zalloc(cells, 1);
    o.unsharded = inq_mem_zalloc((size_t)schedule->n_stages, 1);
    o.reduced = inq_mem_zalloc((size_t)schedule->n_stages, 1);
    if (o.seen == NULL || o.unsharded == NULL || o.reduced == NULL) {
        o.code = inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    } else {
        walk(&o, note_uses);
        walk(&o, check_action);
        check_complete(&o);
        check_stages(&o);
    }
    inq_mem_free(o.seen);
    inq_mem_free(o.unsharded);
    inq_mem_free(o.reduced);
    return o.code;
}
