/* SPDX-License-Identifier: Apache-2.0 */
/* Closed forms of bubbles and peak activations of the schedules that have them. */
#include "schedule/schedule.h"

#include <string.h>

/* Sizes and times that the formulas speak of. */
struct sizes {
    double p, m, v; /* ranks, micro-batches, chunks a rank */
    double k;       /* segments of a sequence */
    double f, b, w; /* of one micro-batch on one rank: all its chunks */
    double beside;  /* a forward beside a full backward, of one chunk each */
    double reduce, update;
    bool equal; /* F = B = W */
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void set_bubble(struct inq_schedule_theory *t, double ns, const char *formula,
                       const char *condition)
{
    t->has_bubble = true;
    t->bubble_ns = (int64_t)(ns + 0.5);
    t->bubble = formula;
    t->condition = condition;
}

static void set_peak(struct inq_schedule_theory *t, double peak, const char *formula, bool at_most)
{
    t->has_peak = true;
    t->peak = peak;
    t->peak_formula = formula;
    t->at_most = at_most;
}

static void plain(const struct sizes *s, struct inq_schedule_theory *t)
{
    set_bubble(t, (s->p - 1) * (s->f + s->b + s->w), "(p-1)(F+B+W)", "");
}

static void gpipe(const struct sizes *s, struct inq_schedule_theory *t)
{
    plain(s, t);
    set_peak(t, s->m, "m", false);
}

static void one_f_one_b(const struct sizes *s, struct inq_schedule_theory *t)
{
    plain(s, t);
    set_peak(t, smaller(s->p, s->m), "p", false);
}

static void interleaved(const struct sizes *s, struct inq_schedule_theory *t)
{
    set_bubble(t, (s->p - 1) * (s->f + s->b + s->w) / s->v, "(p-1)(F+B+W)/v",
               "p micro-batches a round");
    set_peak(t, smaller(s->p * s->v + s->p - 1, s->m * s->v), "pv+p-1 chunks", false);
}

/* arXiv 2211.05953: (N_PP - 1) / (N_mb N_loop) of the compute. */
static void looped_bfs(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->m >= s->p) {
        set_bubble(t, (s->p - 1) * (s->f + s->b + s->w) / s->v, "(p-1)(F+B+W)/v", "m >= p");
    }
    set_peak(t, s->m * s->v, "mv chunks", false);
}

/* arXiv 2406.03488: that of 1F1B with the times of a segment; the first rank holds the segments of
 * one sequence less one beyond 1F1B's p. */
static void seq1f1b(const struct sizes *s, struct inq_schedule_theory *t)
{
    set_bubble(t, (s->p - 1) * (s->f + s->b + s->w), "(p-1)(F+B+W) of segments", "equal segments");
    set_peak(t, smaller(s->p + s->k - 1, s->m), "p+k-1 segments", false);
}

static void zb_h1(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->m >= s->p && s->w <= s->f && s->w <= s->b) {
        set_bubble(t, (s->p - 1) * (s->f + s->b - s->w), "(p-1)(F+B-W)", "W <= F, B");
    }
    set_peak(t, smaller(s->p, s->m), "p", false);
}

static void zb_h2(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->m >= 2 * s->p - 1 && 2 * s->w <= s->f + s->b && s->w <= s->f && s->w <= s->b) {
        set_bubble(t, (s->p - 1) * (s->f + s->b - 2 * s->w), "(p-1)(F+B-2W)", "W <= F, B");
    }
    set_peak(t, smaller(2 * s->p - 1, s->m), "2p-1", false);
}

static void zb_v(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->equal && s->m >= 2 * s->p) {
        set_bubble(t, 0, "0", "F = B = W");
    }
    set_peak(t, smaller(2 * s->p, 2 * s->m), "2p chunks", true);
}

static double floor_of(double x)
{
    return (double)(int64_t)x;
}

static void v_half(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->equal && s->m >= 2 * s->p) {
        set_bubble(t, (s->p - 1) * (s->f + s->b + s->w) / 2, "(p-1)(F+B+W)/2",
                   "F = B = W, at most");
    }
    set_peak(t, 2 * floor_of((s->p + 2) / 2), "2 floor((p+2)/2) chunks", true);
}

static void v_min(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->equal && s->m >= 2 * s->p) {
        set_bubble(t, (s->p - 1) * (s->f + s->b + s->w) * 2 / 3, "2(p-1)(F+B+W)/3",
                   "F = B = W, at most");
    }
    set_peak(t, 2 * floor_of((s->p + 4) / 3), "2 floor((p+4)/3) chunks", true);
}

/* `depth`: PP/2. A full backward of one chunk is (b + w) / v there. */
static void dual(const struct sizes *s, double depth, struct inq_schedule_theory *t)
{
    double back = (s->b + s->w) / s->v;
    if (s->equal) {
        set_bubble(t, (depth - 1) * (s->beside + back - 3 * s->w / s->v), "(PP/2-1)(F&B+B-3W)",
                   "F = I = W; B is full there");
    }
    set_peak(t, 2 * depth + 1, "PP+1", true);
}

static void dualpipe(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->m >= 2 * s->p) {
        dual(s, s->p / 2, t);
    }
}

static void dualpipev(const struct sizes *s, struct inq_schedule_theory *t)
{
    if (s->m >= 2 * s->p) {
        dual(s, s->p, t);
    }
}

static void chimera(const struct sizes *s, struct inq_schedule_theory *t)
{
    double units = s->m / s->p;
    if (units - floor_of(units) < 1e-9 && s->f - (s->b + s->w) < 0.5 && s->b + s->w - s->f < 0.5) {
        set_bubble(t, (s->p - 2) * s->f, "(D-2)F", "F = full backward, D divides m");
    }
    set_peak(t, s->p, "D", true);
}

static void dp(const struct sizes *s, struct inq_schedule_theory *t)
{
    set_peak(t, s->v, "v chunks", false);
}

static struct sizes sizes_of(const struct inq_schedule *schedule, const struct inq_costs *costs)
{
    int32_t replicas = schedule->n_pipelines;
    /* in bidirectional schedules a rank runs one stage of each replica on half the micro-batches */
    double stages = (double)schedule->n_stages / (double)schedule->n_ranks / (double)replicas;
    if (strcmp(schedule->kind, "dp") == 0) { /* every rank has all of its replica */
        stages = (double)schedule->n_stages / (double)replicas;
    }
    const struct inq_stage_cost *c = &costs->stage;
    double work = (double)(c->f_ns + c->b_ns + c->w_ns);
    struct sizes s = {.p = schedule->n_ranks,
                      .m = schedule->n_microbatches,
                      .v = larger(stages, 1),
                      .k = larger(schedule->n_segments, 1),
                      .beside = costs->overlap_ns > 0 ? (double)costs->overlap_ns : work,
                      .reduce = (double)costs->reduce_ns,
                      .update = (double)costs->update_ns,
                      .equal = c->f_ns == c->b_ns && c->b_ns == c->w_ns};
    s.f = s.v * (double)c->f_ns;
    s.b = s.v * (double)c->b_ns;
    s.w = s.v * (double)c->w_ns;
    return s;
}

struct inq_schedule_theory inq_schedule_theory_of(const struct inq_schedule *schedule,
                                                  const struct inq_costs *costs)
{
    static const struct {
        const char *kind;
        void (*fill)(const struct sizes *sizes, struct inq_schedule_theory *theory);
    } forms[] = {{"gpipe", gpipe},
                 {"1f1b", one_f_one_b},
                 {"interleaved", interleaved},
                 {"looped-bfs", looped_bfs},
                 {"seq1f1b", seq1f1b},
                 {"zb-h1", zb_h1},
                 {"zb-h2", zb_h2},
                 {"zb-v", zb_v},
                 {"v-half", v_half},
                 {"v-min", v_min},
                 {"dualpipe", dualpipe},
                 {"dualpipev", dualpipev},
                 {"chimera", chimera},
                 {"dp", dp}};
    struct inq_schedule_theory theory = {.bubble = "", .peak_formula = "", .condition = ""};
    bool told = costs->memory_f > 0.0 || costs->memory_b < 0.0 || costs->memory_w < 0.0 ||
                costs->memory_per_stage != NULL;
    struct sizes sizes = sizes_of(schedule, costs);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(schedule->kind, forms[i].kind) == 0 && costs->per_stage == NULL) {
            forms[i].fill(&sizes, &theory);
        }
    }
    theory.has_peak = theory.has_peak && !told;
    double total = sizes.m * (sizes.f + sizes.b + sizes.w) + (double)theory.bubble_ns;
    theory.bubble_rate = theory.has_bubble && total > 0.0 ? (double)theory.bubble_ns / total : 0.0;
    return theory;
}
