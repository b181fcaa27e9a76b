/* SPDX-License-Identifier: Apache-2.0 */
/* Which schedule a pipeline ran: the order of forwards and backwards of each stage is compared with
 * the order that each known schedule prescribes. */
#include "analysis/pipeline/pipeline.h"
#include "base/mem.h"
#include "base/sort.h"
#include "graph/optable/optable.h"

#include <math.h>
#include <string.h>

/* Below this share of ops in their place, no name is given. */
static const double enough = 0.8;

/* One op in a stage's order; weight gradients are left out: they fill gaps. */
struct slot {
    bool backward;
    int32_t chunk, micro_batch; /* micro_batch: by rank among the stage's numbers */
};

struct shape {
    const struct inq_op_model *m;
    int p, n_mb, v;
    bool has_weight;
    size_t n;                /* slots of one stage */
    struct slot *seen;       /* [n] */
    struct slot *wanted;     /* [n] */
    int64_t *numbers;        /* scratch [n] */
    double f_ns, b_ns, w_ns; /* mean times of a micro-batch on a stage */
};

/* ---- what is there --------------------------------------------------------------------------- */

static int32_t number_of(const struct inq_step_op *op)
{
    return op->micro_batch >= 0 ? op->micro_batch : op->seq;
}

/* The stage's forwards and backwards in order; their number. */
static size_t list_slots(struct shape *s, size_t stage)
{
    const struct inq_op_template *t = &s->m->shape;
    size_t n = 0;
    for (size_t i = t->stage_start[stage]; i < t->stage_start[stage + 1]; i++) {
        if (t->op[i].type == INQ_OP_FORWARD || inq_op_is_backward(t->op[i].type)) {
            s->numbers[n++] = number_of(&t->op[i]);
        }
    }
    size_t known = inq_sort_distinct_i64(s->numbers, n);
    n = 0;
    for (size_t i = t->stage_start[stage]; i < t->stage_start[stage + 1]; i++) {
        const struct inq_step_op *op = &t->op[i];
        if (op->type == INQ_OP_FORWARD || inq_op_is_backward(op->type)) {
            s->seen[n++] =
                (struct slot){op->type != INQ_OP_FORWARD, op->chunk > 0 ? op->chunk : 0,
                              (int32_t)inq_first_from_i64(s->numbers, 0, known, number_of(op))};
        }
    }
    return n;
}

static void measure(struct shape *s)
{
    const struct inq_op_template *t = &s->m->shape;
    size_t forwards = 0;
    s->p = (int)t->n_stages;
    s->v = (int)t->n_chunks;
    for (size_t i = 0; i < t->n; i++) {
        uint8_t type = t->op[i].type;
        forwards += type == INQ_OP_FORWARD;
        s->has_weight = s->has_weight || type == INQ_OP_BACKWARD_WEIGHT;
    }
    /* to the nearest: a stage may lack one that was not recorded whole */
    size_t of_one = t->n_stages * (t->two_way ? 1 : t->n_chunks);
    s->n_mb = (int)((forwards + of_one / 2) / of_one);
    double per = (double)s->m->n_dp * (double)s->m->n_steps * (double)s->p * (double)s->n_mb;
    for (size_t i = 0; per > 0.0 && i < s->m->graph->n_ops; i++) {
        uint8_t type = s->m->graph->op[i].type;
        double ns = (double)inq_steps_sum(s->m, s->m->dur_ns + i * s->m->stride) / per;
        s->f_ns += type == INQ_OP_FORWARD ? ns : 0.0;
        s->b_ns += inq_op_is_backward(type) ? ns : 0.0;
        s->w_ns += type == INQ_OP_BACKWARD_WEIGHT ? ns : 0.0;
    }
}

/* ---- what schedules prescribe ---------------------------------------------------------------- */

/* k-th forward or backward of an interleaved schedule: rounds of p micro-batches, chunk by chunk.
 */
static struct slot virtual_slot(const struct shape *s, int k, bool backward)
{
    int round = s->p * s->v;
    int chunk = k % round / s->p;
    return (struct slot){backward, backward ? s->v - 1 - chunk : chunk,
                         k / round * s->p + k % s->p};
}

/* `warm_up` forwards, then a backward and a forward in turn, then the rest. */
static size_t prescribe(const struct shape *s, int warm_up, struct slot *out)
{
    int total = s->n_mb * s->v;
    int f = 0;
    int b = 0;
    size_t n = 0;
    while (b < total) {
        while (f < total && f < warm_up + b) {
            out[n++] = virtual_slot(s, f++, false);
        }
        out[n++] = virtual_slot(s, b++, true);
    }
    return n;
}

struct candidate {
    const char *name;
    bool chunks, weight; /* needs several chunks; needs separate weight gradients */
    bool any_order;      /* of the micro-batches */
    int (*warm_up)(const struct shape *s, int stage);
    double (*bubble_ns)(const struct shape *s); /* besides m (F + B + W); NULL: no closed form */
};

static int clamp_warm_up(const struct shape *s, int n)
{
    int total = s->n_mb * s->v;
    return n < 1 ? 1 : n < total ? n : total;
}

static int warm_gpipe(const struct shape *s, int stage)
{
    (void)stage;
    return s->n_mb * s->v;
}

static int warm_1f1b(const struct shape *s, int stage)
{
    return clamp_warm_up(s, s->p - stage);
}

static int warm_interleaved(const struct shape *s, int stage)
{
    return clamp_warm_up(s, 2 * (s->p - stage - 1) + (s->v - 1) * s->p + 1);
}

static int warm_h2(const struct shape *s, int stage)
{
    return clamp_warm_up(s, 2 * (s->p - stage) - 1);
}

static double bubble_1f1b(const struct shape *s)
{
    return (double)(s->p - 1) * (s->f_ns + s->b_ns + s->w_ns);
}

static double bubble_interleaved(const struct shape *s)
{
    return bubble_1f1b(s) / s->v;
}

static double bubble_h1(const struct shape *s)
{
    return (double)(s->p - 1) * (s->f_ns + s->b_ns - s->w_ns);
}

static double bubble_h2(const struct shape *s)
{
    return (double)(s->p - 1) * (s->f_ns + s->b_ns - 2.0 * s->w_ns);
}

/* Of equally good ones the first. */
static const struct candidate candidates[] = {
    {"1f1b", false, false, false, warm_1f1b, bubble_1f1b},
    {"gpipe", false, false, true, warm_gpipe, bubble_1f1b},
    {"interleaved-1f1b", true, false, false, warm_interleaved, bubble_interleaved},
    {"zb-h1", false, true, false, warm_1f1b, bubble_h1},
    {"zb-h2", false, true, false, warm_h2, bubble_h2},
};

static bool same_slot(struct slot a, struct slot b, bool any_order)
{
    return a.backward == b.backward && a.chunk == b.chunk &&
           (any_order || a.micro_batch == b.micro_batch);
}

/* Share of the ops that stand where the schedule has them. */
static double fit(struct shape *s, const struct candidate *c)
{
    size_t fits = 0;
    size_t all = 0;
    for (size_t stage = 0; stage < s->m->shape.n_stages; stage++) {
        size_t n = list_slots(s, stage);
        size_t wanted = prescribe(s, c->warm_up(s, (int)stage), s->wanted);
        for (size_t i = 0; i < n && i < wanted; i++) {
            fits += same_slot(s->seen[i], s->wanted[i], c->any_order);
        }
        all += n > wanted ? n : wanted;
    }
    return all > 0 ? (double)fits / (double)all : 0.0;
}

/* ---- schedules that are known by what they hold ---------------------------------------------- */

static void take_stage(const struct inq_op_template *t, size_t stage, struct inq_split_shape *shape)
{
    struct inq_split_rank rank = {0};
    for (size_t i = t->stage_start[stage]; i < t->stage_start[stage + 1]; i++) {
        const struct inq_step_op *op = &t->op[i];
        if (inq_op_is_compute(op->type)) {
            inq_split_take(&rank,
                           op->type == INQ_OP_FORWARD           ? INQ_SPLIT_FORWARD
                           : op->type == INQ_OP_BACKWARD_INPUT  ? INQ_SPLIT_INPUT
                           : op->type == INQ_OP_BACKWARD_WEIGHT ? INQ_SPLIT_WEIGHT
                                                                : INQ_SPLIT_FULL,
                           op->chunk > 0 ? op->chunk : 0, number_of(op));
        }
    }
    inq_split_add(shape, &rank);
}

static void recognize_held(const struct shape *s, struct inq_schedule_guess *guess)
{
    const struct inq_op_template *t = &s->m->shape;
    struct inq_split_shape shape = {
        .n_ranks = s->p, .n_chunks = s->v, .v_shaped = t->v_shaped, .two_way = t->two_way};
    for (size_t stage = 0; stage < t->n_stages; stage++) {
        take_stage(t, stage, &shape);
    }
    const char *name = inq_split_name(&shape);
    guess->name = name != NULL    ? name
                  : t->two_way    ? "bidirectional"
                  : t->v_shaped   ? "v-shaped"
                  : s->has_weight ? "zero-bubble" /* its weight gradients are split off */
                                  : "unknown";
    guess->confidence = name != NULL || t->v_shaped ? enough : guess->confidence;
    guess->bubble_ratio = (double)NAN;
}

int inq_schedule_recognize(const struct inq_op_model *model, struct inq_schedule_guess *guess,
                           struct inq_err *err)
{
    struct shape s = {.m = model};
    measure(&s);
    size_t cap = 2 * (size_t)s.n_mb * (size_t)s.v + model->shape.n;
    s.seen = inq_mem_alloc(cap * sizeof *s.seen);
    s.wanted = inq_mem_alloc(cap * sizeof *s.wanted);
    s.numbers = inq_mem_alloc(cap * sizeof *s.numbers);
    *guess = (struct inq_schedule_guess){"unknown", 0.0, s.n_mb, s.v, (double)NAN};
    bool memory = s.seen != NULL && s.wanted != NULL && s.numbers != NULL;
    for (size_t k = 0; memory && k < sizeof candidates / sizeof candidates[0]; k++) {
        const struct candidate *c = &candidates[k];
        if (c->chunks != (s.v > 1) || c->weight != s.has_weight) {
            continue;
        }
        double share = fit(&s, c);
        if (share > guess->confidence) {
            double compute = (double)s.n_mb * (s.f_ns + s.b_ns + s.w_ns);
            double bubble = c->bubble_ns(&s);
            guess->confidence = share;
            guess->name = share >= enough ? c->name : "unknown";
            guess->bubble_ratio = share >= enough && compute > 0.0 && bubble > 0.0
                                      ? bubble / (bubble + compute)
                                      : (double)NAN;
        }
    }
    bool vee = model->shape.v_shaped && s.v == 2;
    if (memory && (vee || (s.has_weight && guess->confidence < enough))) {
        recognize_held(&s, guess);
    }
    inq_mem_free(s.seen);
    inq_mem_free(s.wanted);
    inq_mem_free(s.numbers);
    return memory ? INQ_OK
                  : inq_err_set(err, INQ_NOMEM, "out of memory for recognizing a schedule");
}
