/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules with work in two directions on every rank: DualPipe, DualPipeV and Chimera. */
#include "schedule/schedule.h"

#include "base/mem.h"

#include <inttypes.h>

/* One of the two directions on a rank: the stage it runs there and its micro-batches. */
struct direction {
    int32_t stage, first, count; /* micro-batches first .. first + count - 1 */
    int32_t forwards, backwards;
};

/* A weight gradient put off. */
struct weight {
    int32_t stage, microbatch;
};

struct rank_builder {
    struct inq_schedule *schedule;
    int32_t rank;
    struct direction direction[2];
    struct weight *weights; /* fifo */
    size_t head, tail;
    int code;
    struct inq_err *err;
};

/* Orders are laid out for enough micro-batches to fill the pipeline; what does not exist is left
 * out. */
static bool exists(const struct direction *d, int32_t nth)
{
    return nth < d->count;
}

static void put(struct rank_builder *b, enum inq_action_kind kind, int32_t stage,
                int32_t microbatch)
{
    if (b->code == INQ_OK) {
        b->code = inq_schedule_append(b->schedule, b->rank, kind, stage, microbatch, b->err);
    }
}

static void forward(struct rank_builder *b, int to)
{
    struct direction *d = &b->direction[to];
    int32_t nth = d->forwards++;
    if (exists(d, nth)) {
        put(b, INQ_ACTION_F, d->stage, d->first + nth);
    }
}

/* A backward, whole or split with its weight gradient put off. */
static void backward(struct rank_builder *b, int to, bool split)
{
    struct direction *d = &b->direction[to];
    int32_t nth = d->backwards++;
    if (!exists(d, nth)) {
        return;
    }
    put(b, split ? INQ_ACTION_I : INQ_ACTION_B, d->stage, d->first + nth);
    if (split) {
        b->weights[b->tail++] = (struct weight){d->stage, d->first + nth};
    }
}

static void weight(struct rank_builder *b)
{
    if (b->head < b->tail) {
        struct weight w = b->weights[b->head++];
        put(b, INQ_ACTION_W, w.stage, w.microbatch);
    }
}

/* A forward of one direction beside a backward of the other. */
static void overlap(struct rank_builder *b, int forward_to, int backward_to)
{
    bool both = exists(&b->direction[forward_to], b->direction[forward_to].forwards) &&
                exists(&b->direction[backward_to], b->direction[backward_to].backwards);
    if (both) {
        put(b, INQ_ACTION_OVERLAP_F_B, -1, -1);
    }
    struct inq_rank_actions *list = &b->schedule->ranks[b->rank];
    if (both && b->code == INQ_OK) {
        list->actions[list->n - 1].n_sub = 2;
    }
    forward(b, forward_to);
    backward(b, backward_to, false);
}

/* The eight phases of DualPipe on a rank that is `r` from the outer end of `depth` ranks, with
 * `count` micro-batches in each direction. */
static void dual_pipe(struct rank_builder *b, int32_t r, int32_t depth, int32_t count)
{
    int32_t inner = depth - 1 - r; /* ranks between this one and the middle */
    for (int32_t i = 0; i < 2 * inner; i++) {
        forward(b, 0);
    }
    for (int32_t i = 0; i <= r; i++) {
        forward(b, 0);
        forward(b, 1);
    }
    for (int32_t i = 0; i < inner; i++) {
        backward(b, 1, true);
        weight(b);
        forward(b, 1);
    }
    for (int32_t i = 0; i < count - 2 * depth + r + 1; i++) {
        if (i == 0 && inner == 0) {
            forward(b, 0); /* its own backward waits for it: nothing to overlap yet */
            backward(b, 1, false);
        } else {
            overlap(b, 0, 1);
        }
        overlap(b, 1, 0);
    }
    for (int32_t i = 0; i < inner; i++) {
        backward(b, 1, false);
        overlap(b, 1, 0);
    }
    for (int32_t i = 0; i < 2 * (r + 1); i++) {
        backward(b, i % 2 == 0 ? 1 : 0, i > r); /* the second half puts its weights off */
    }
    for (int32_t i = 0; i < inner; i++) {
        weight(b);
        backward(b, 0, true);
    }
    while (b->head < b->tail) {
        weight(b);
    }
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int build_dual(struct rank_builder *b, int32_t r, int32_t depth)
{
    int32_t most = larger(b->direction[0].count, b->direction[1].count);
    b->weights = inq_mem_alloc(2 * ((size_t)most + 1) * sizeof *b->weights);
    if (b->weights == NULL) {
        return inq_err_set(b->err, INQ_NOMEM, "out of memory for a schedule");
    }
    dual_pipe(b, r, depth, larger(most, 2 * depth));
    inq_mem_free(b->weights);
    return b->code;
}

static int make_dualpipev(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                          struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int32_t m = spec->n_microbatches;
    int code = inq_schedule_start(p, 2 * p, m, schedule, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        schedule->stage_rank[r] = r;
        schedule->stage_rank[2 * p - 1 - r] = r;
        struct rank_builder b = {.schedule = schedule,
                                 .rank = r,
                                 .direction = {{r, 0, m, 0, 0}, {2 * p - 1 - r, 0, m, 0, 0}},
                                 .err = err};
        code = build_dual(&b, r, p);
    }
    return code;
}

/* Two replicas of the model, one from each end; the first gets the odd micro-batch. */
static int start_bidirectional(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                               struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    if (p < 2 || p % 2 != 0) {
        return inq_err_set(err, INQ_USAGE,
                           "%s runs from both ends: it needs an even number of ranks, not %" PRId32,
                           spec->kind, p);
    }
    if (spec->n_microbatches < 2) {
        return inq_err_set(err, INQ_USAGE, "%s needs a micro-batch in each direction, so 2 or more",
                           spec->kind);
    }
    int code = inq_schedule_start(p, 2 * p, spec->n_microbatches, schedule, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        schedule->stage_rank[r] = r;
        schedule->stage_rank[2 * p - 1 - r] = r;
    }
    schedule->n_pipelines = 2;
    return code;
}

/* The direction that starts on rank r's side of the pipeline, or the other. */
static struct direction direction_of(const struct inq_schedule *schedule, int32_t r, int replica)
{
    int32_t p = schedule->n_ranks;
    int32_t half = (schedule->n_microbatches + 1) / 2;
    return replica == 0
               ? (struct direction){r, 0, half, 0, 0}
               : (struct direction){2 * p - 1 - r, half, schedule->n_microbatches - half, 0, 0};
}

static int make_dualpipe(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                         struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int code = start_bidirectional(spec, schedule, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        bool near_end = r < p / 2;
        struct rank_builder b = {.schedule = schedule,
                                 .rank = r,
                                 .direction = {direction_of(schedule, r, near_end ? 0 : 1),
                                               direction_of(schedule, r, near_end ? 1 : 0)},
                                 .err = err};
        code = build_dual(&b, near_end ? r : p - 1 - r, p / 2);
    }
    return code;
}

/* ---- Chimera --------------------------------------------------------------------------------- */

/* Slots of equal length in which the two directions never meet: with D ranks, a forward of micro-
 * batch i (of D / 2 in one unit) reaches stage s in slot s + 2 i, its backward in 2 D - 1 - s + 2
 * i; units follow every 2 D slots. */
static void fill_slots(const struct inq_schedule *schedule, const struct direction *d,
                       struct inq_action *slots)
{
    int32_t depth = schedule->n_ranks;
    int32_t s = d->stage % depth;
    int32_t unit = depth / 2;
    for (int32_t i = 0; i < d->count; i++) {
        size_t base = (size_t)(i / unit) * 2 * (size_t)depth + 2 * (size_t)(i % unit);
        struct inq_action action = {
            .kind = INQ_ACTION_F, .stage = d->stage, .microbatch = d->first + i, .column = -1};
        slots[base + (size_t)s] = action;
        action.kind = INQ_ACTION_B;
        slots[base + (size_t)(2 * depth - 1 - s)] = action;
    }
}

static int make_chimera(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                        struct inq_err *err)
{
    int code = start_bidirectional(spec, schedule, err);
    if (code != INQ_OK) {
        return code;
    }
    int32_t depth = spec->n_ranks;
    size_t units = (size_t)((schedule->n_microbatches + 1) / 2 - 1) / (size_t)(depth / 2) + 1;
    size_t n_slots = (units + 1) * 2 * (size_t)depth;
    for (int32_t r = 0; code == INQ_OK && r < depth; r++) {
        struct inq_action *slots = inq_mem_zalloc(n_slots, sizeof *slots);
        if (slots == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
        }
        for (int replica = 0; replica < 2; replica++) {
            struct direction d = direction_of(schedule, r, replica);
            fill_slots(schedule, &d, slots);
        }
        for (size_t i = 0; code == INQ_OK && i < n_slots; i++) {
            if (slots[i].kind != INQ_ACTION_IDLE) {
                code = inq_schedule_append(schedule, r, (enum inq_action_kind)slots[i].kind,
                                           slots[i].stage, slots[i].microbatch, err);
            }
        }
        inq_mem_free(slots);
    }
    return code;
}

int inq_make_dual(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                  struct inq_err *err)
{
    static const struct inq_schedule_generator generators[] = {
        {"dualpipe", make_dualpipe},
        {"dualpipev", make_dualpipev},
        {"chimera", make_chimera},
    };
    return inq_schedule_generate(generators, sizeof generators / sizeof *generators, spec, schedule,
                                 err);
}
