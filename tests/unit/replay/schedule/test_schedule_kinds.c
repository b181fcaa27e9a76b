/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that are searched or run in two directions: ZB-1p, ZB-2p, V-Half, V-Min, DualPipe,
 * DualPipeV, Chimera, data parallelism. Figures against published ones and closed forms, lint. */
#include "inquest/lint.h"
#include "inquest/out.h"
#include "inquest/replay.h"
#include "schedule/schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timed {
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
};

static struct timed time_spec(const struct inq_schedule_spec *spec)
{
    struct timed t;
    struct inq_err err = {0};
    if (inq_schedule_make(spec, &t.schedule, &err) != INQ_OK ||
        inq_schedule_time(&t.schedule, &spec->costs, &t.timing, &err) != INQ_OK) {
        fail_msg("%s p=%d m=%d: %s", spec->kind, spec->n_ranks, spec->n_microbatches, err.message);
    }
    return t;
}

static void release(struct timed *t)
{
    inq_schedule_timing_release(&t->timing, t->schedule.n_ranks);
    inq_schedule_release(&t->schedule);
}

static struct inq_schedule_spec spec_of(const char *kind, int32_t p, int32_t m,
                                        struct inq_stage_cost cost)
{
    return (struct inq_schedule_spec){
        .kind = kind, .n_ranks = p, .n_microbatches = m, .costs = {.stage = cost}};
}

static const struct inq_stage_cost unit = {1, 1, 1};

static int64_t draw(uint32_t *random, int64_t low, int64_t high)
{
    *random = *random * 1664525u + 1013904223u;
    return low + (int64_t)(*random >> 8) % (high - low + 1);
}

/* ---- ZB-1p and ZB-2p ------------------------------------------------------------------------- */

/* Zero Bubble paper (arXiv 2401.10241): Table 9's times, Table 5's rates, heads and hidden size of
 * the model, from which its memory follows (sequence length 1024). */
static const struct {
    const char *model;
    double heads, hidden;
    int32_t p, m;
    double f_ms, b_ms, w_ms, p2p_ms;
    double rate_1p, rate_2p;
} paper[] = {
    {"1.5B", 24, 2304, 8, 24, 18.522, 18.086, 9.337, .601, .1585, .0433},
    {"1.5B", 24, 2304, 8, 32, 18.513, 18.086, 9.331, .626, .1242, .0039},
    {"1.5B", 24, 2304, 8, 64, 18.546, 18.097, 9.321, .762, .0674, .0026},
    {"14.6B", 40, 5120, 16, 48, 11.347, 11.248, 8.132, .377, .1397, .0066},
    {"14.6B", 40, 5120, 16, 64, 11.307, 11.254, 8.101, .379, .1088, .0054},
    {"14.6B", 40, 5120, 16, 128, 11.325, 11.308, 8.109, .378, .0576, .0028},
};

static void zero_bubble__equals_or_beats_the_published_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        for (int twice = 0; twice < 2; twice++) {
            struct inq_schedule_spec spec = spec_of(
                twice ? "zb-2p" : "zb-1p", paper[i].p, paper[i].m,
                (struct inq_stage_cost){llround(paper[i].f_ms * 1e6), llround(paper[i].b_ms * 1e6),
                                        llround(paper[i].w_ms * 1e6)});
            spec.costs.p2p_ns = llround(paper[i].p2p_ms * 1e6);
            spec.costs.memory_f = 34 * paper[i].hidden + 5 * paper[i].heads * 1024;
            spec.costs.memory_w = -32 * paper[i].hidden;
            spec.costs.memory_b = -spec.costs.memory_f - spec.costs.memory_w;
            struct timed t = time_spec(&spec);
            double rate = round(t.timing.bubble_rate_zb * 1e4) / 1e4;
            double published = twice ? paper[i].rate_2p : paper[i].rate_1p;
            double limit = (twice ? 2 : 1) * paper[i].p * spec.costs.memory_f;
            print_message("%s p=%d m=%d %s: %.4f, published %.4f\n", paper[i].model, paper[i].p,
                          paper[i].m, spec.kind, rate, published);
            if (rate > published + 1e-9 || t.timing.peak_memory > limit * (1 + 1e-9)) {
                fail_msg("%s m=%d %s: %.6f, published %.4f; peak %.6g of %.6g", paper[i].model,
                         paper[i].m, spec.kind, t.timing.bubble_rate_zb, published,
                         t.timing.peak_memory, limit);
            }
            release(&t);
        }
    }
}

/* The heuristic knows ZB-H1's and ZB-H2's memory: it should not do worse at equal times. */
static void zero_bubble__is_no_worse_than_the_hand_made_schedules(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int round = 0; round < 60; round++) {
        int32_t p = (int32_t)draw(&random, 2, 9);
        int32_t m = 2 * p + (int32_t)draw(&random, 0, 12);
        struct inq_schedule_spec h1 = spec_of("zb-h1", p, m, unit);
        struct inq_schedule_spec one = spec_of("zb-1p", p, m, unit);
        struct inq_schedule_spec two = spec_of("zb-2p", p, m, unit);
        struct timed a = time_spec(&h1);
        struct timed b = time_spec(&one);
        struct timed c = time_spec(&two);
        assert_true(b.timing.span_ns <= a.timing.span_ns);
        assert_true(c.timing.span_ns <= b.timing.span_ns);
        release(&a);
        release(&b);
        release(&c);
    }
}

/* ---- V-Half and V-Min ------------------------------------------------------------------------ */

/* At equal times: at most half and two thirds of 1F1B's bubble, with half and a third of its
 * activations (rounded as published). One micro-batch is two chunks of one unit each. */
static void v_schedules__bubble_and_memory_are_the_published_shares(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 24; p++) {
        for (int32_t rounds = 3; rounds <= 5; rounds++) {
            int32_t m = p * rounds;
            int64_t bubble_1f1b = (p - 1) * 6;
            struct inq_schedule_spec half = spec_of("v-half", p, m, unit);
            struct inq_schedule_spec min = spec_of("v-min", p, m, unit);
            struct timed h = time_spec(&half);
            struct timed n = time_spec(&min);
            if (h.timing.span_ns - 6 * m > bubble_1f1b / 2 ||
                n.timing.span_ns - 6 * m > bubble_1f1b * 2 / 3) {
                fail_msg("p=%d m=%d: bubbles %lld and %lld of 1F1B's %lld", p, m,
                         (long long)(h.timing.span_ns - 6 * m),
                         (long long)(n.timing.span_ns - 6 * m), (long long)bubble_1f1b);
            }
            assert_true(h.timing.peak_memory <= 2 * ((p + 2) / 2));
            assert_true(n.timing.peak_memory <= 2 * ((p + 4) / 3));
            release(&h);
            release(&n);
        }
    }
}

/* ---- two directions -------------------------------------------------------------------------- */

/* (PP/2 - 1)(F&B + B - 3W) of idle time on the worst rank, PP + 1 activations. */
static void dual_pipes__unit_times(void **state)
{
    (void)state;
    static const int64_t beside[] = {3, 2};        /* F&B: one after the other; well overlapped */
    for (int32_t depth = 2; depth <= 8; depth++) { /* PP / 2 */
        for (size_t i = 0; i < 2; i++) {
            int64_t formula = (depth - 1) * (beside[i] + 2 - 3);
            struct inq_schedule_spec v = spec_of("dualpipev", depth, 2 * depth + 2, unit);
            struct inq_schedule_spec d = spec_of("dualpipe", 2 * depth, 4 * depth + 4, unit);
            v.costs.overlap_ns = d.costs.overlap_ns = beside[i];
            struct timed a = time_spec(&v);
            struct timed b = time_spec(&d);
            int64_t idle[2] = {0, 0};
            for (int32_t r = 0; r < depth; r++) {
                int64_t here = a.timing.ranks[r].idle_ns;
                idle[0] = here > idle[0] ? here : idle[0];
            }
            for (int32_t r = 0; r < 2 * depth; r++) {
                int64_t here = b.timing.ranks[r].idle_ns;
                idle[1] = here > idle[1] ? here : idle[1];
            }
            assert_int_equal(idle[0], formula);
            assert_int_equal(idle[1], formula);
            assert_int_equal(llround(a.timing.peak_memory), 2 * depth + 1);
            assert_int_equal(llround(b.timing.peak_memory), 2 * depth + 1);
            release(&a);
            release(&b);
        }
    }
}

/* Forward and backward of equal length: 2 N + D - 2 for any multiple of D micro-batches. */
static void chimera__bubble_is_its_closed_form(void **state)
{
    (void)state;
    for (int32_t depth = 2; depth <= 16; depth += 2) {
        for (int32_t units = 1; units <= 4; units++) {
            int32_t m = depth * units;
            struct inq_schedule_spec spec =
                spec_of("chimera", depth, m, (struct inq_stage_cost){10, 5, 5});
            struct timed t = time_spec(&spec);
            assert_int_equal(t.timing.makespan_ns, 10 * (2 * m + depth - 2));
            assert_true(t.timing.peak_memory <= depth);
            release(&t);
        }
    }
}

/* ---- data parallelism ------------------------------------------------------------------------ */

static void data_parallel__all_reduce_is_hidden_or_exposed(void **state)
{
    (void)state;
    uint32_t random = 99;
    for (int round = 0; round < 200; round++) {
        int32_t p = (int32_t)draw(&random, 1, 6);
        int32_t each = (int32_t)draw(&random, 1, 4);
        int32_t v = (int32_t)draw(&random, 1, 5);
        struct inq_schedule_spec spec =
            spec_of("dp", p, p * each,
                    (struct inq_stage_cost){draw(&random, 1, 50), draw(&random, 1, 50),
                                            draw(&random, 1, 50)});
        spec.n_chunks = v;
        spec.costs.reduce_ns = draw(&random, 1, 200);
        spec.costs.update_ns = draw(&random, 0, 20);
        int64_t b = spec.costs.stage.b_ns + spec.costs.stage.w_ns;
        int64_t compute = each * v * (spec.costs.stage.f_ns + b);
        int64_t reduce = spec.costs.reduce_ns;
        struct timed hidden = time_spec(&spec);
        /* the first bucket is ready v - 1 backwards before the end; each waits for the one before
         */
        int64_t rest = v * reduce - (v - 1) * b;
        int64_t exposed = rest > reduce ? rest : reduce;
        assert_int_equal(hidden.timing.makespan_ns, compute + exposed + spec.costs.update_ns);
        release(&hidden);
        spec.no_overlap = true;
        struct timed open = time_spec(&spec);
        assert_int_equal(open.timing.makespan_ns, compute + v * reduce + spec.costs.update_ns);
        release(&open);
    }
}

/* One slow rank: every all-reduce waits for it. */
static void data_parallel__all_reduce_waits_for_the_last_rank(void **state)
{
    (void)state;
    const struct inq_stage_cost stages[] = {{10, 10, 10}, {10, 10, 10}, {10, 20, 10}};
    struct inq_schedule_spec spec = spec_of("dp", 3, 3, unit);
    spec.n_chunks = 1;
    spec.costs.per_stage = stages;
    spec.costs.reduce_ns = 7;
    struct timed t = time_spec(&spec);
    assert_int_equal(t.timing.makespan_ns, 47);
    release(&t);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void assert_passes(const struct inq_schedule *s, const char *kind)
{
    struct inq_lint_options options = {.costs = {.stage = unit}};
    struct inq_lint lint;
    struct inq_err err = {0};
    assert_int_equal(inq_lint_schedule(s, NULL, &options, &lint, &err), INQ_OK);
    if (lint.n_errors > 0) {
        fail_msg("%s p=%d m=%d: %s %s rank %d: %s", kind, s->n_ranks, s->n_microbatches,
                 inq_lint_rule_text(lint.problems[0].rule), lint.problems[0].action,
                 lint.problems[0].rank, lint.problems[0].message);
    }
    inq_lint_release(&lint);
}

/* The timing walks the ranks; the graph of the same schedule, simulated, says the same. */
static void assert_graph_agrees(const struct timed *t, const struct inq_costs *costs)
{
    struct inq_schedule_graph graph;
    assert_int_equal(inq_schedule_graph_make(&t->schedule, costs, &graph, NULL), INQ_OK);
    int64_t *start_ns = calloc(graph.graph->n_ops, sizeof *start_ns);
    int64_t *end_ns = calloc(graph.graph->n_ops, sizeof *end_ns);
    (void)inq_simulate(graph.graph, NULL, NULL, start_ns, end_ns);
    for (int32_t r = 0; r < t->schedule.n_ranks; r++) {
        for (size_t i = 0; i < t->schedule.ranks[r].n; i++) {
            uint32_t op = graph.op[r][i];
            if (op != INQ_NONE) {
                assert_int_equal(t->timing.start_ns[r][i], start_ns[op]);
                assert_int_equal(t->timing.end_ns[r][i], end_ns[op]);
            }
        }
    }
    free(start_ns);
    free(end_ns);
    inq_schedule_graph_release(&graph);
}

static void every_kind__lints_clean_at_any_size_and_times(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpipe", "1f1b",     "interleaved", "zb-h1",  "zb-h2",
                                        "zb-1p", "zb-2p",    "zb-v",        "v-half", "v-min",
                                        "dp",    "dualpipe", "dualpipev",   "chimera"};
    uint32_t random = 4242;
    for (size_t round = 0; round < 400; round++) {
        const char *kind = kinds[round % (sizeof kinds / sizeof *kinds)];
        int32_t p = (int32_t)draw(&random, 1, 9);
        int32_t m = (int32_t)draw(&random, 1, 40);
        bool even = strcmp(kind, "dualpipe") == 0 || strcmp(kind, "chimera") == 0;
        p = even ? p + p % 2 : p;
        m = even && m < 2 ? 2 : m;
        m = strcmp(kind, "interleaved") == 0 ? p * (1 + m % 4) : m;
        m = strcmp(kind, "dp") == 0 && m < p ? p : m;
        struct inq_schedule_spec spec =
            spec_of(kind, p, m,
                    (struct inq_stage_cost){draw(&random, 1, 100), draw(&random, 1, 100),
                                            draw(&random, 1, 100)});
        spec.costs.p2p_ns = draw(&random, 0, 30);
        struct timed t = time_spec(&spec);
        assert_passes(&t.schedule, kind);
        assert_graph_agrees(&t, &spec.costs);
        release(&t);
    }
}

static void bounds__that_cannot_be_met_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int32_t p, m;
        double limit;
    } cases[] = {{"zb-1p", 4, 8, 0.5}, {"v-half", 4, 8, 1.0}, {"dualpipe", 3, 8, 0},
                 {"chimera", 5, 8, 0}, {"chimera", 4, 1, 0},  {"dp", 4, 3, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_schedule_spec spec = spec_of(cases[i].kind, cases[i].p, cases[i].m, unit);
        spec.memory_limit = cases[i].limit;
        struct inq_schedule schedule;
        struct inq_err err = {0};
        assert_int_equal(inq_schedule_make(&spec, &schedule, &err), INQ_USAGE);
        assert_null(schedule.ranks);
    }
}

/* arXiv 2211.05953: the bubble is (N_PP - 1) / (N_mb N_loop) of the compute. */
static void looped_bfs__has_the_published_bubble(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 8; p *= 2) {
        for (int32_t v = 1; v <= 4; v++) {
            for (int32_t m = p; m <= 3 * p; m += p / 2) {
                struct inq_schedule_spec spec =
                    spec_of("looped-bfs", p, m, (struct inq_stage_cost){10, 12, 7});
                spec.n_chunks = v;
                struct timed t = time_spec(&spec);
                int64_t compute = (int64_t)m * v * 29;
                assert_int_equal((t.timing.makespan_ns - compute) * m * v, compute * (p - 1));
                assert_true(t.timing.peak_memory == (double)(m * v));
                release(&t);
            }
        }
    }
}

/* arXiv 2406.03488: 1F1B's bubble at a segment's times, so a k-th of it; p + k - 1 segments are
 * held instead of p k. */
static void seq1f1b__has_a_kth_of_the_bubble_and_less_memory(void **state)
{
    (void)state;
    for (int32_t k = 1; k <= 4; k++) {
        for (int32_t p = 2; p <= 8; p++) {
            struct inq_schedule_spec spec =
                spec_of("seq1f1b", p, 3 * p, (struct inq_stage_cost){12, 13, 11});
            struct inq_schedule_spec whole =
                spec_of("1f1b", p, 3 * p, (struct inq_stage_cost){12 * k, 13 * k, 11 * k});
            spec.n_chunks = k;
            struct timed t = time_spec(&spec);
            struct timed one = time_spec(&whole);
            int64_t compute = (int64_t)3 * p * k * 36;
            assert_int_equal((t.timing.makespan_ns - compute) * k,
                             one.timing.makespan_ns - compute);
            assert_true(t.timing.peak_memory == (double)(p + k - 1));
            release(&t);
            release(&one);
        }
    }
    struct inq_schedule_spec many = spec_of("seq1f1b", 4, INT32_MAX, unit);
    struct inq_schedule schedule;
    assert_int_equal(inq_schedule_make(&many, &schedule, NULL), INQ_LIMIT);
}

/* Beside other kinds a segment takes its part of a micro-batch: the same work, the k-th bubble,
 * less memory; and a file of it is known again. */
static void seq1f1b__is_compared_by_whole_microbatches(void **state)
{
    (void)state;
    for (int32_t k = 2; k <= 4; k++) {
        struct inq_schedule_spec spec =
            spec_of("seq1f1b", 4, 8, (struct inq_stage_cost){1200, 1300, 1100});
        struct inq_schedule_row row;
        spec.n_chunks = k;
        spec.costs.per_stage = (struct inq_stage_cost[]){
            {1200, 1300, 1100}, {1200, 1300, 1100}, {1200, 1300, 1100}, {1200, 1300, 1100}};
        assert_int_equal(inq_schedule_measure_kind(&spec, &row, NULL), INQ_OK);
        int64_t off = row.makespan_ns - (8 * 3600 + 3 * 3600 / k);
        assert_true(off > -100 && off < 100); /* ns that a part of 1300 is rounded by */
        assert_true(fabs(row.peak_memory - (4 + k - 1) / (double)k) < 1e-9);
        assert_int_equal(row.n_microbatches, 8);
        struct inq_schedule made;
        struct inq_schedule read;
        struct inq_csv_info info;
        struct inq_out text = {0};
        assert_int_equal(inq_schedule_make(&spec, &made, NULL), INQ_OK);
        assert_int_equal(inq_schedule_write_csv(&made, inq_out_sink(&text), NULL), INQ_OK);
        assert_int_equal(
            inq_schedule_read_csv(text.buf, text.len, INQ_CSV_DETECT, &read, &info, NULL), INQ_OK);
        assert_string_equal(read.kind, "seq1f1b");
        assert_int_equal(read.n_segments, k);
        inq_schedule_release(&read);
        inq_schedule_release(&made);
        inq_out_release(&text);
    }
}

/* PyTorch's own artifact of InterleavedZeroBubble, 2 ranks of 2 stages: the same order; published
 * for it: makespan 49, one idle slot a rank, 4 activations, at unit times. */
static void interleaved_zb__is_the_order_that_pytorch_writes(void **state)
{
    (void)state;
    static const char artifact[] =
        "0F0,0F1,2F0,,2F1,2B0,2W0,0F2,2B1,2W1,0F3,0B0,0W0,2F2,0B1,0W1,2F3,2B2,2W2,0F4,2B3,2W3,"
        "0F5,0B2,0W2,2F4,0B3,0W3,2F5,2B4,2W4,0F6,2B5,2W5,0F7,0B4,0W4,2F6,0B5,0W5,2F7,2B6,2W6,2B7,"
        "2W7,0B6,0W6,0B7,0W7\n"
        ",1F0,1F1,3F0,3B0,3F1,3B1,3W0,1F2,1B0,3W1,1F3,1B1,1W0,3F2,3B2,1W1,3F3,3B3,3W2,1F4,1B2,3W3,"
        "1F5,1B3,1W2,3F4,3B4,1W3,3F5,3B5,3W4,1F6,1B4,3W5,1F7,1B5,1W4,3F6,3B6,1W5,3F7,3B7,3W6,1B6,"
        "3W7,1B7,1W6,1W7\n";
    struct inq_schedule theirs;
    struct inq_csv_info info;
    assert_int_equal(
        inq_schedule_read_csv(artifact, strlen(artifact), INQ_CSV_DETECT, &theirs, &info, NULL),
        INQ_OK);
    assert_string_equal(theirs.kind, "interleaved-zb");
    struct inq_schedule_spec spec = spec_of("interleaved-zb", 2, 8, unit);
    struct timed t = time_spec(&spec);
    for (int32_t r = 0; r < 2; r++) {
        size_t k = 0;
        for (size_t i = 0; i < theirs.ranks[r].n; i++) {
            const struct inq_action *a = &theirs.ranks[r].actions[i];
            if (a->kind != INQ_ACTION_IDLE) {
                const struct inq_action *b = &t.schedule.ranks[r].actions[k++];
                assert_true(a->kind == b->kind && a->stage == b->stage &&
                            a->microbatch == b->microbatch);
            }
        }
        assert_int_equal(k, t.schedule.ranks[r].n);
        assert_int_equal(t.timing.ranks[r].idle_ns * 49, t.timing.makespan_ns);
    }
    assert_true(t.timing.peak_memory == 4.0);
    release(&t);
    inq_schedule_release(&theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looped_bfs__has_the_published_bubble),
        cmocka_unit_test(seq1f1b__has_a_kth_of_the_bubble_and_less_memory),
        cmocka_unit_test(seq1f1b__is_compared_by_whole_microbatches),
        cmocka_unit_test(interleaved_zb__is_the_order_that_pytorch_writes),
        cmocka_unit_test(zero_bubble__equals_or_beats_the_published_table),
        cmocka_unit_test(zero_bubble__is_no_worse_than_the_hand_made_schedules),
        cmocka_unit_test(v_schedules__bubble_and_memory_are_the_published_shares),
        cmocka_unit_test(dual_pipes__unit_times),
        cmocka_unit_test(chimera__bubble_is_its_closed_form),
        cmocka_unit_test(data_parallel__all_reduce_is_hidden_or_exposed),
        cmocka_unit_test(data_parallel__all_reduce_waits_for_the_last_rank),
        cmocka_unit_test(every_kind__lints_clean_at_any_size_and_times),
        cmocka_unit_test(bounds__that_cannot_be_met_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
