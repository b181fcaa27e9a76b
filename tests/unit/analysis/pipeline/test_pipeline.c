/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules recognized from the order of ops, bubbles, and waterfalls that sum exactly: on real
 * jobs, and on made ones with planted causes. */
#include "inquest/analysis.h"

#include "inquest/graph.h"
#include "support_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct inq_report *report_on(const struct inq_trace *trace, int jobs)
{
    const char *only[] = {"pipeline"};
    struct inq_analysis_options options = {.only = only, .n_only = 1, .jobs = jobs};
    struct inq_err err = {0};
    struct inq_report *report = NULL;
    if (inq_analyze(trace, &options, &report, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return report;
}

static int64_t part(const struct inq_pipeline *p, const char *cause)
{
    for (size_t k = 0; k < p->n_waterfall; k++) {
        if (strcmp(p->waterfall[k].cause, cause) == 0) {
            return p->waterfall[k].ns_per_step;
        }
    }
    fail_msg("no part named %s", cause);
    return 0;
}

/* Everything that must sum, sums. */
static void check_identities(const struct inq_pipeline *p)
{
    int64_t sum = 0;
    for (size_t k = 0; k < p->n_waterfall; k++) {
        sum += p->waterfall[k].ns_per_step;
    }
    assert_int_equal(sum, p->total_ns_per_step);
    int64_t steps = 0;
    int64_t n = 0;
    for (size_t t = 0; t < p->n_steps; t++) {
        sum = 0;
        for (size_t k = 0; p->steps[t].parts_ns != NULL && k < p->n_waterfall; k++) {
            sum += p->steps[t].parts_ns[k];
        }
        assert_int_equal(sum, p->steps[t].warm_up ? 0 : p->steps[t].dur_ns);
        steps += sum;
        n += !p->steps[t].warm_up;
        assert_true(t == 0 || p->steps[t].warm_up || p->steps[t].dur_ns <= p->steps[t - 1].dur_ns);
    }
    assert_int_equal(steps / n, p->total_ns_per_step);
    for (size_t s = 0; s < p->n_per_stage; s++) {
        const struct inq_stage_time *x = &p->per_stage[s];
        assert_int_equal(x->compute_ns + x->p2p_ns + x->sync_ns + x->other_ns + x->idle_ns,
                         p->total_ns_per_step);
        assert_true(x->idle_ns >= 0);
    }
}

static void print_pipeline(const char *name, const struct inq_pipeline *p)
{
    print_message("%s: %s (%.2f), %d stages, %d micro-batches, bubble %.4f, theory %.4f\n", name,
                  p->schedule, p->confidence, p->stages, p->microbatches, p->bubble_ratio,
                  p->bubble_ratio_theory);
    for (size_t k = 0; k < p->n_waterfall; k++) {
        print_message("  %-22s %12.3f ms\n", p->waterfall[k].cause,
                      (double)p->waterfall[k].ns_per_step / 1e6);
    }
    for (size_t s = 0; s < p->n_per_stage; s++) {
        const struct inq_stage_time *x = &p->per_stage[s];
        print_message("  stage %d: F %.3f B %.3f | compute %.1f p2p %.1f sync %.1f other %.1f idle "
                      "%.1f ms\n",
                      x->stage, (double)x->forward_ns / 1e6, (double)x->backward_ns / 1e6,
                      (double)x->compute_ns / 1e6, (double)x->p2p_ns / 1e6,
                      (double)x->sync_ns / 1e6, (double)x->other_ns / 1e6,
                      (double)x->idle_ns / 1e6);
    }
}

/* ---- real jobs ------------------------------------------------------------------------------- */

static struct inq_report *load(const char *path, struct ops_trace **ops)
{
    *ops = ops_trace_load(path);
    if (*ops == NULL) {
        print_message("no real data at %s: skipped\n", path);
        skip();
    }
    return report_on(ops_trace_get(*ops), 2);
}

static void pipeline__of_a_job_with_a_long_last_stage(void **state)
{
    (void)state;
    struct ops_trace *ops = NULL;
    struct inq_report *r = load(INQ_SHARED_DATA "/whatif/ST/trace-ST.csv.gz", &ops);
    const struct inq_pipeline *p = r->pipeline;
    assert_non_null(p);
    print_pipeline("ST", p);
    check_identities(p);
    assert_string_equal(p->schedule, "1f1b");
    assert_true(p->confidence > 0.99);
    assert_int_equal(p->stages, 4);
    assert_int_equal(p->microbatches, 4);
    assert_true(fabs(p->bubble_ratio_theory - 3.0 / 7.0) < 1e-9);
    assert_true(part(p, "stage_imbalance") > part(p, "stragglers"));
    assert_true(part(p, "stage_imbalance") > part(p, "microbatch_variation"));
    assert_int_equal(part(p, "unexplained"), 0);
    inq_report_free(r);
    ops_trace_free(ops);
}

static void pipeline__of_a_job_with_a_slow_worker(void **state)
{
    (void)state;
    struct ops_trace *ops = NULL;
    struct inq_report *r = load(INQ_SHARED_DATA "/whatif/AR/trace-AR.csv.gz", &ops);
    const struct inq_pipeline *p = r->pipeline;
    assert_non_null(p);
    print_pipeline("AR", p);
    check_identities(p);
    assert_string_equal(p->schedule, "1f1b");
    assert_int_equal(p->microbatches, 32);
    assert_int_equal(p->replicas, 4);
    for (size_t k = 0; k < p->n_waterfall; k++) {
        if (strcmp(p->waterfall[k].cause, "ideal") != 0) {
            assert_true(p->waterfall[k].ns_per_step <= part(p, "stragglers"));
        }
    }
    inq_report_free(r);
    ops_trace_free(ops);
}

/* Forwards and backwards only; the first iteration is a warm-up, the last stage is slower. */
static void pipeline__of_a_primus_dump(void **state)
{
    (void)state;
    struct ops_trace *ops = NULL;
    struct inq_report *r = load(INQ_SHARED_DATA "/primus/pp8", &ops);
    const struct inq_pipeline *p = r->pipeline;
    assert_non_null(p);
    print_pipeline("pp8", p);
    check_identities(p);
    assert_string_equal(p->schedule, "1f1b");
    assert_int_equal(p->stages, 8);
    assert_int_equal(p->microbatches, 16);
    assert_int_equal(p->n_warm_up_steps, 1);
    assert_int_equal(p->n_steps, 20);
    assert_true(p->steps[19].warm_up);
    assert_int_equal(p->steps[19].step, 1);
    for (size_t s = 0; s + 1 < p->n_per_stage; s++) {
        assert_true(p->per_stage[s].compute_ns < p->per_stage[7].compute_ns);
    }
    assert_true(part(p, "stage_imbalance") > part(p, "microbatch_variation"));
    inq_report_free(r);
    ops_trace_free(ops);
}

/* ---- made jobs ------------------------------------------------------------------------------- */

enum kind { GPIPE, ONE_F_ONE_B, INTERLEAVED, H1, H2 };

struct job {
    enum kind kind;
    int p, m, v, dp, steps;
    int64_t f, b, w;
    int64_t gap;                     /* before every op: host */
    int64_t last_stage, slow_worker; /* added to every forward */
    int64_t optimizer;
    int64_t link;  /* before every op that another stage's op comes before */
    int64_t pause; /* of stage 1's host before its first forward */
};

struct slot {
    int op; /* 0 F, 1 B, 2 W */
    int mb, chunk;
};

/* The order of one stage, by the textbook. */
static int order_of(const struct job *j, int s, struct slot *out)
{
    int total = j->m * j->v;
    int warm[] = {total, j->p - s, 2 * (j->p - s - 1) + (j->v - 1) * j->p + 1, j->p - s,
                  2 * (j->p - s) - 1};
    int lag = j->kind == H2 ? 2 * s : s;
    int f = 0;
    int b = 0;
    int w = 0;
    int n = 0;
    while (b < total) {
        while (f < total && f < warm[j->kind] + b) {
            out[n++] =
                (struct slot){0, f / (j->p * j->v) * j->p + f % j->p, f % (j->p * j->v) / j->p};
            f++;
        }
        out[n++] = (struct slot){1, b / (j->p * j->v) * j->p + b % j->p,
                                 j->v - 1 - b % (j->p * j->v) / j->p};
        b++;
        if (j->w > 0 && b - w > lag) {
            out[n++] = (struct slot){2, w++, 0};
        }
    }
    while (j->w > 0 && w < total) {
        out[n++] = (struct slot){2, w++, 0};
    }
    for (int i = 0; j->v == 1 && i < n; i++) { /* without chunks simply in order */
        int nth = 0;
        for (int k = 0; k < i; k++) {
            nth += out[k].op == out[i].op;
        }
        out[i].mb = nth;
        out[i].chunk = 0;
    }
    return n;
}

struct made {
    struct inq_graph_builder *b;
    uint32_t id[3][8][8][64]; /* op, virtual stage, replica, micro-batch */
};

static int64_t op_time(const struct job *j, int op, int s, int d)
{
    int64_t t = op == 0 ? j->f : op == 1 ? j->b : j->w;
    if (op == 0) {
        t += s == j->p - 1 ? j->last_stage : 0;
        t += s == 1 && d == 1 ? j->slow_worker : 0;
    }
    return t / (op == 2 ? 1 : j->v);
}

static int64_t delay_before(const struct job *j, const struct slot *slot, int stage)
{
    int neighbor = slot->op == 0 ? stage - 1 : stage + 1;
    bool linked = slot->op != 2 && neighbor >= 0 && neighbor < j->p;
    bool paused = stage == 1 && slot->op == 0 && slot->mb == 0;
    return j->gap + (linked ? j->link : 0) + (paused ? j->pause : 0);
}

/* Builds the job's graph on its own, simulates it, and records the times as a trace. */
static struct ops_trace *make(const struct job *j)
{
    struct made *x = calloc(1, sizeof *x);
    x->b = inq_graph_builder_new();
    struct slot order[256];
    for (int d = 0; d < j->dp; d++) {
        for (int s = 0; s < j->p; s++) {
            int n = order_of(j, s, order);
            for (int i = 0; i < n; i++) {
                struct inq_graph_op op = inq_graph_op_init();
                op.rank = d * j->p + s;
                op.lane = 0;
                op.stage = s;
                op.dp_rank = d;
                op.micro_batch = order[i].mb;
                op.chunk = order[i].chunk;
                op.type = (uint8_t)(order[i].op == 0   ? INQ_OP_FORWARD
                                    : order[i].op == 2 ? INQ_OP_BACKWARD_WEIGHT
                                    : j->w > 0         ? INQ_OP_BACKWARD_INPUT
                                                       : INQ_OP_BACKWARD);
                int g = order[i].chunk * j->p + s;
                assert_int_equal(inq_graph_add_op(x->b, &op, op_time(j, order[i].op, s, d),
                                                  delay_before(j, &order[i], s),
                                                  &x->id[order[i].op][g][d][order[i].mb], NULL),
                                 INQ_OK);
            }
        }
        for (int g = 0; g + 1 < j->p * j->v; g++) {
            for (int i = 0; i < j->m; i++) {
                (void)inq_graph_add_dep(x->b, x->id[0][g][d][i], x->id[0][g + 1][d][i], NULL);
                (void)inq_graph_add_dep(x->b, x->id[1][g + 1][d][i], x->id[1][g][d][i], NULL);
            }
        }
    }
    struct inq_graph *graph = NULL;
    struct inq_err err = {0};
    if (inq_graph_finish(x->b, &graph, NULL, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    int64_t *start = calloc(2 * graph->n_ops, sizeof *start);
    int64_t *end = start + graph->n_ops;
    int64_t total = inq_simulate(graph, NULL, graph->delay_ns, start, end);
    struct ops_trace *ops = ops_trace_new((uint32_t)(j->p * j->dp));
    for (int step = 0; step < j->steps; step++) {
        for (size_t i = 0; i < graph->n_ops; i++) {
            const struct inq_graph_op *op = &graph->op[i];
            struct inq_label label = {(enum inq_op_type)op->type,
                                      step,
                                      op->stage,
                                      op->dp_rank,
                                      op->micro_batch,
                                      op->chunk,
                                      -1};
            ops_trace_add(ops, (uint32_t)op->rank, &label, step * 2 * total + start[i],
                          end[i] - start[i]);
        }
        for (int r = 0; j->optimizer > 0 && r < j->p * j->dp; r++) {
            struct inq_label label = {INQ_OP_OPTIMIZER, step, r % j->p, r / j->p, -1, -1, 0};
            ops_trace_add(ops, (uint32_t)r, &label, step * 2 * total + total, j->optimizer);
        }
    }
    inq_graph_free(graph);
    inq_graph_builder_free(x->b);
    free(start);
    free(x);
    return ops;
}

static void schedules__are_named(void **state)
{
    (void)state;
    static const char *const names[] = {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2"};
    for (int kind = GPIPE; kind <= H2; kind++) {
        for (int p = 2; p <= 4; p += 2) {
            struct job j = {.kind = (enum kind)kind,
                            .p = p,
                            .m = 8,
                            .v = kind == INTERLEAVED ? 2 : 1,
                            .dp = 1,
                            .steps = 2,
                            .f = 1000,
                            .b = kind >= H1 ? 1000 : 2000,
                            .w = kind >= H1 ? 1000 : 0};
            struct ops_trace *ops = make(&j);
            struct inq_report *r = report_on(ops_trace_get(ops), 1);
            assert_non_null(r->pipeline);
            assert_string_equal(r->pipeline->schedule, names[kind]);
            assert_true(r->pipeline->confidence > 0.999);
            assert_int_equal(r->pipeline->microbatches, 8);
            assert_int_equal(r->pipeline->chunks, j.v);
            check_identities(r->pipeline);
            if (kind <= H1) { /* no communication: theory holds exactly */
                print_message("%s p=%d: bubble %.4f theory %.4f\n", names[kind], p,
                              r->pipeline->bubble_ratio, r->pipeline->bubble_ratio_theory);
                assert_true(fabs(r->pipeline->bubble_ratio - r->pipeline->bubble_ratio_theory) <
                            1e-3);
            }
            assert_int_equal(part(r->pipeline, "unexplained"), 0);
            assert_int_equal(part(r->pipeline, "host_gaps"), 0);
            inq_report_free(r);
            ops_trace_free(ops);
        }
    }
}

/* An order that no schedule prescribes is not given a name. */
static void schedules__an_odd_order_is_unknown(void **state)
{
    (void)state;
    struct ops_trace *ops = ops_trace_new(2);
    static const int order[] = {7, 0, 5, 2, 6, 1, 3, 4};
    for (uint32_t s = 0; s < 2; s++) {
        for (int i = 0; i < 8; i++) {
            struct inq_label f = {INQ_OP_FORWARD, 0, (int32_t)s, 0, order[i], 0, -1};
            struct inq_label b = {INQ_OP_BACKWARD, 0, (int32_t)s, 0, order[7 - i], 0, -1};
            ops_trace_add(ops, s, i % 2 == 0 ? &f : &b, 1000 * i, 100);
            ops_trace_add(ops, s, i % 2 == 0 ? &b : &f, 1000 * i + 500, 100);
        }
    }
    struct inq_report *r = report_on(ops_trace_get(ops), 1);
    if (r->pipeline != NULL) {
        assert_string_equal(r->pipeline->schedule, "unknown");
        check_identities(r->pipeline);
    }
    inq_report_free(r);
    ops_trace_free(ops);
}

/* A forward beside a backward: what runs together keeps the stage busy once. */
static void bubbles__of_ops_beside_each_other(void **state)
{
    (void)state;
    static const struct {
        uint32_t stage;
        enum inq_op_type type;
        int32_t micro_batch;
        int64_t start, end;
    } all[] = {{0, INQ_OP_FORWARD, 0, 0, 10},   {0, INQ_OP_FORWARD, 1, 10, 20},
               {0, INQ_OP_FORWARD, 2, 30, 50},  {0, INQ_OP_BACKWARD, 0, 30, 50},
               {0, INQ_OP_BACKWARD, 1, 50, 60}, {0, INQ_OP_BACKWARD, 2, 80, 90},
               {1, INQ_OP_FORWARD, 0, 10, 20},  {1, INQ_OP_BACKWARD, 0, 20, 30},
               {1, INQ_OP_FORWARD, 1, 30, 40},  {1, INQ_OP_BACKWARD, 1, 40, 50},
               {1, INQ_OP_FORWARD, 2, 50, 60},  {1, INQ_OP_BACKWARD, 2, 60, 70}};
    struct ops_trace *ops = ops_trace_new(2);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct inq_label label = {all[i].type, 0, (int32_t)all[i].stage, 0, all[i].micro_batch,
                                  0,           -1};
        ops_trace_add(ops, all[i].stage, &label, all[i].start * 1000000,
                      (all[i].end - all[i].start) * 1000000);
    }
    struct inq_report *r = report_on(ops_trace_get(ops), 1);
    assert_non_null(r->pipeline);
    check_identities(r->pipeline);
    assert_true(fabs(r->pipeline->bubble_ratio - 1.0 / 3.0) < 1e-9); /* 60 of 90 ms each */
    assert_int_equal(r->pipeline->per_stage[0].busy_ns, 60000000);
    assert_int_equal(r->pipeline->per_stage[0].bubble_ns, 30000000);
    inq_report_free(r);
    ops_trace_free(ops);
}

static struct inq_report *planted(const struct job *j, struct ops_trace **ops)
{
    *ops = make(j);
    struct inq_report *r = report_on(ops_trace_get(*ops), 1);
    assert_non_null(r->pipeline);
    check_identities(r->pipeline);
    return r;
}

static int64_t total_of(const struct job *j)
{
    struct ops_trace *ops = NULL;
    struct inq_report *r = planted(j, &ops);
    int64_t total = r->pipeline->total_ns_per_step;
    inq_report_free(r);
    ops_trace_free(ops);
    return total;
}

/* Each planted cause shows in its own part, with its own cost: what the step is longer than without
 * it. */
/* Transfers of 100 ns that were not recorded: the host may be taken for one of them as long as it
 * pauses no longer than the transfer takes, and what it pauses beyond that is its own. */
static void waterfall__a_pause_is_no_transfer(void **state)
{
    (void)state;
    static const int64_t pauses[] = {0, 100, 101, 50000};
    int64_t host[4];
    int64_t p2p[4];
    for (size_t k = 0; k < 4; k++) {
        struct job j = {.kind = GPIPE,
                        .p = 2,
                        .m = 4,
                        .v = 1,
                        .dp = 1,
                        .steps = 3,
                        .f = 1000,
                        .b = 2000,
                        .gap = 10,
                        .link = 100,
                        .pause = pauses[k]};
        struct ops_trace *ops = make(&j);
        struct inq_report *r = report_on(ops_trace_get(ops), 1);
        host[k] = part(r->pipeline, "host_gaps");
        p2p[k] = part(r->pipeline, "p2p_transfer");
        check_identities(r->pipeline);
        inq_report_free(r);
        ops_trace_free(ops);
    }
    assert_int_equal(p2p[1] - p2p[0], 100);
    assert_int_equal(host[1], host[0]);
    assert_int_equal(p2p[2], p2p[1]);
    assert_int_equal(host[2], host[1] + 1);
    assert_int_equal(p2p[3], p2p[1]);
    assert_int_equal(host[3], host[1] + 49900);
}

static void waterfall__planted_causes_are_told_apart(void **state)
{
    (void)state;
    static const char *const causes[] = {"stage_imbalance", "stragglers", "host_gaps",
                                         "optimizer_and_other"};
    for (int k = 0; k < 4; k++) {
        struct job healthy = {.kind = ONE_F_ONE_B,
                              .p = 4,
                              .m = 12,
                              .v = 1,
                              .dp = 2,
                              .steps = 3,
                              .f = 1000000,
                              .b = 2000000};
        struct job sick = healthy;
        sick.last_stage = k == 0 ? 700000 : 0;
        healthy.f += sick.last_stage / healthy.p; /* evened out: its work moves to the others */
        sick.slow_worker = k == 1 ? 900000 : 0;
        sick.gap = k == 2 ? 50000 : 0;
        sick.optimizer = k == 3 ? 4000000 : 0;
        int64_t cost = total_of(&sick) - total_of(&healthy);
        struct ops_trace *ops = NULL;
        struct inq_report *r = planted(&sick, &ops);
        print_pipeline(causes[k], r->pipeline);
        int64_t found = part(r->pipeline, causes[k]);
        assert_true(cost > 0 && llabs(found - cost) * 20 <= cost);
        inq_report_free(r);
        ops_trace_free(ops);
    }
}

static void pipeline__is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    struct job j = {.kind = ONE_F_ONE_B,
                    .p = 4,
                    .m = 8,
                    .v = 1,
                    .dp = 3,
                    .steps = 7,
                    .f = 1000,
                    .b = 2100,
                    .gap = 13,
                    .slow_worker = 77};
    struct ops_trace *ops = make(&j);
    struct inq_report *one = report_on(ops_trace_get(ops), 1);
    struct inq_report *five = report_on(ops_trace_get(ops), 5);
    assert_memory_equal(one->pipeline->per_stage, five->pipeline->per_stage,
                        one->pipeline->n_per_stage * sizeof *one->pipeline->per_stage);
    for (size_t k = 0; k < one->pipeline->n_waterfall; k++) {
        assert_int_equal(one->pipeline->waterfall[k].ns_per_step,
                         five->pipeline->waterfall[k].ns_per_step);
    }
    inq_report_free(one);
    inq_report_free(five);
    ops_trace_free(ops);
}

static void pipeline__a_long_first_step_is_set_aside(void **state)
{
    (void)state;
    struct job j = {
        .kind = ONE_F_ONE_B, .p = 2, .m = 4, .v = 1, .dp = 1, .steps = 5, .f = 1000, .b = 2000};
    struct ops_trace *ops = make(&j);
    /* step 0 becomes longer: its last backward on stage 0 */
    const struct inq_trace *trace = ops_trace_get(ops);
    int64_t last = 0;
    size_t at = 0;
    for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
        const struct inq_label *label = &trace->ranks[0].labels[trace->ranks[0].events.label[i]];
        if (label->step == 0 && trace->ranks[0].events.start_ns[i] >= last) {
            last = trace->ranks[0].events.start_ns[i];
            at = i;
        }
    }
    trace->ranks[0].events.dur_ns[at] += 12000;
    struct inq_report *r = report_on(trace, 1);
    assert_int_equal(r->pipeline->n_warm_up_steps, 1);
    assert_int_equal(r->pipeline->n_steps, 5);
    assert_true(r->pipeline->steps[4].warm_up);
    assert_int_equal(r->pipeline->steps[4].step, 0);
    assert_int_equal(r->pipeline->total_ns_per_step, 15000);
    check_identities(r->pipeline);
    inq_report_free(r);
    ops_trace_free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipeline__of_a_job_with_a_long_last_stage),
        cmocka_unit_test(pipeline__of_a_job_with_a_slow_worker),
        cmocka_unit_test(pipeline__of_a_primus_dump),
        cmocka_unit_test(schedules__are_named),
        cmocka_unit_test(waterfall__a_pause_is_no_transfer),
        cmocka_unit_test(schedules__an_odd_order_is_unknown),
        cmocka_unit_test(bubbles__of_ops_beside_each_other),
        cmocka_unit_test(waterfall__planted_causes_are_told_apart),
        cmocka_unit_test(pipeline__is_the_same_for_any_number_of_threads),
        cmocka_unit_test(pipeline__a_long_first_step_is_set_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
