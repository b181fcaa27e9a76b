/* SPDX-License-Identifier: Apache-2.0 */
/* Every fix on jobs small enough to be worked out by hand, and what holds for all fixes. */
#include "inquest/fix.h"

#include "base/mem.h"
#include "support_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const int64_t MS = 1000000;

/* ---- jobs ------------------------------------------------------------------------------------ */

struct job {
    struct ops_trace *ops;
    struct inq_report *report;
    struct inq_fix_base *base;
};

static void done(struct job *job)
{
    inq_fix_base_free(job->base);
    inq_report_free(job->report);
    ops_trace_free(job->ops);
}

static void finish(struct job *job)
{
    const char *only[] = {"whatif", "pipeline"};
    struct inq_analysis_options options = {.only = only, .n_only = 2};
    struct inq_err err = {0};
    if (inq_analyze(ops_trace_get(job->ops), &options, &job->report, &err) != INQ_OK ||
        inq_fix_base_of_run(ops_trace_get(job->ops), job->report, &job->base, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
}

enum { STEPS = 3 };

/* One op of every step; times are since the step's start, in ms. */
static void op(struct job *job, uint32_t rank, struct inq_label label, int64_t start_ms,
               int64_t dur_ms)
{
    for (int32_t step = 0; step < STEPS; step++) {
        label.step = step;
        ops_trace_add(job->ops, rank, &label, (step * 1000 + start_ms) * MS, dur_ms * MS);
    }
}

static struct inq_label label(enum inq_op_type type, int32_t dp, int32_t stage, int32_t mb)
{
    return (struct inq_label){.type = type,
                              .stage = stage,
                              .dp_rank = dp,
                              .micro_batch = mb,
                              .chunk = 0,
                              .seq = mb < 0 ? 0 : mb};
}

/* Data parallel without a pipeline: one micro-batch, F and B = 2 F, then the gradient sync. */
static struct job data_parallel(const int64_t *f_ms, uint32_t n, enum inq_op_type sync,
                                int64_t sync_ms)
{
    struct job job = {.ops = ops_trace_new(n)};
    int64_t slowest = 0;
    for (uint32_t r = 0; r < n; r++) {
        slowest = f_ms[r] > slowest ? f_ms[r] : slowest;
    }
    for (uint32_t r = 0; r < n; r++) {
        op(&job, r, label(INQ_OP_FORWARD, (int32_t)r, 0, 0), 0, f_ms[r]);
        op(&job, r, label(INQ_OP_BACKWARD, (int32_t)r, 0, 0), f_ms[r], 2 * f_ms[r]);
        op(&job, r, label(sync, (int32_t)r, 0, -1), 3 * f_ms[r], 3 * (slowest - f_ms[r]) + sync_ms);
    }
    finish(&job);
    return job;
}

static struct inq_fix_base *schedule_base(const char *kind, int32_t p, int32_t m,
                                          const struct inq_costs *costs)
{
    struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = p, .n_microbatches = m, .costs = *costs};
    struct inq_schedule schedule;
    struct inq_fix_base *base = NULL;
    struct inq_err err = {0};
    if (inq_schedule_make(&spec, &schedule, &err) != INQ_OK ||
        inq_fix_base_of_schedule(&schedule, costs, &base, &err) != INQ_OK) {
        fail_msg("%s: %s", kind, err.message);
    }
    inq_schedule_release(&schedule);
    return base;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Simulated step with the fixes of `spec`. */
static int64_t with(const struct inq_fix_base *base, const char *spec)
{
    struct inq_graph *graph = NULL;
    struct inq_err err = {0};
    if (inq_fix_graph(base, spec, &graph, &err) != INQ_OK) {
        fail_msg("%s: %s", spec, err.message);
    }
    int64_t *end_ns = inq_mem_alloc((graph->n_ops + 1) * sizeof *end_ns);
    assert_non_null(end_ns);
    int64_t t_ns = inq_simulate(graph, NULL, graph->delay_ns, NULL, end_ns);
    inq_mem_free(end_ns);
    inq_graph_free(graph);
    return t_ns;
}

static int fails(const struct inq_fix_base *base, const char *spec)
{
    struct inq_graph *graph = NULL;
    struct inq_err err = {0};
    int code = inq_fix_graph(base, spec, &graph, &err);
    assert_null(graph);
    assert_int_not_equal(code, INQ_OK);
    assert_int_not_equal(err.message[0], '\0');
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void replace__takes_the_median_of_the_peers(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10, 15, 12};
    struct job job = data_parallel(f_ms, 4, INQ_OP_GRADS_REDUCE_SCATTER, 2);
    const struct inq_fix_base_info *info = inq_fix_base_info(job.base);
    assert_int_equal(info->t_ns, 47 * MS);
    assert_int_equal(info->recorded_ns, 47 * MS);
    assert_int_equal(info->n_dp, 4);
    assert_int_equal(with(job.base, NULL), 47 * MS);
    assert_int_equal(with(job.base, "replace-rank:2"), (3 * 12 + 2) * MS);
    assert_int_equal(with(job.base, "replace-rank:2,3"), (3 * 10 + 2) * MS);
    assert_int_equal(with(job.base, "replace-rank:2-3"), (3 * 10 + 2) * MS);
    assert_int_equal(with(job.base, "replace-rank:0"), 47 * MS); /* it delays nobody */
    assert_int_equal(fails(job.base, "replace-rank:7"), INQ_UNSUPPORTED);
    done(&job);
}

static void speed__scales_the_compute_of_a_rank(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10, 20};
    struct job job = data_parallel(f_ms, 3, INQ_OP_GRADS_REDUCE_SCATTER, 5);
    assert_int_equal(with(job.base, "speed-rank:2:speed=2"), 35 * MS);
    assert_int_equal(with(job.base, "speed-rank:2:speed=1.25"), (3 * 16 + 5) * MS);
    assert_int_equal(with(job.base, "speed-rank:0-2:speed=2"), 35 * MS);
    assert_int_equal(with(job.base, "speed-rank:0-2:speed=0.5"), 125 * MS);
    done(&job);
}

static void swap__gives_each_place_the_others_pace(void **state)
{
    (void)state;
    struct inq_stage_cost cost[3] = {
        {1 * MS, 1 * MS, 1 * MS}, {1 * MS, 1 * MS, 1 * MS}, {2 * MS, 2 * MS, 2 * MS}};
    struct inq_costs costs = {.per_stage = cost};
    struct inq_fix_base *base = schedule_base("gpipe", 3, 4, &costs);
    /* pace against the mean stage (4 ms): 0.75 and 1.5 change places */
    struct inq_graph *graph = NULL;
    assert_int_equal(inq_fix_graph(base, "swap-ranks:0,2", &graph, NULL), INQ_OK);
    for (size_t i = 0; i < graph->n_ops; i++) {
        int64_t f_ms = graph->op[i].rank == 0 ? 2 : 1;
        bool forward = graph->op[i].type == INQ_OP_FORWARD;
        assert_int_equal(graph->dur_ns[i], f_ms * (forward ? 1 : 2) * MS);
    }
    inq_graph_free(graph);
    assert_int_equal(fails(base, "swap-ranks:0"), INQ_USAGE);
    assert_int_equal(fails(base, "swap-ranks:0,1,2"), INQ_USAGE);
    inq_fix_base_free(base);
}

/* ---- stages and sequences -------------------------------------------------------------------- */

static void rebalance__makes_stages_equally_long(void **state)
{
    (void)state;
    struct inq_stage_cost cost[2] = {{1 * MS, 1 * MS, 1 * MS}, {2 * MS, 2 * MS, 2 * MS}};
    struct inq_costs costs = {.per_stage = cost};
    struct inq_fix_base *base = schedule_base("1f1b", 2, 4, &costs);
    /* 1 + 4 * 6 + 2; even: 4.5 a micro-batch, (4 + 1) * 4.5; half-way: 3.75 and 5.25 */
    assert_int_equal(inq_fix_base_info(base)->t_ns, 27 * MS);
    assert_int_equal(with(base, "rebalance-stages"), 22500000);
    assert_int_equal(with(base, "rebalance-stages:share=0.5"), 1250000 + 21 * MS + 2500000);
    /* two layers of 3 ms: one moves, and the stages have changed places */
    assert_int_equal(with(base, "rebalance-stages:layers=2"), 25 * MS);
    /* four layers of 1.5 ms: one moves */
    assert_int_equal(with(base, "rebalance-stages:layers=4"), 22500000);
    inq_fix_base_free(base);
    const int64_t f_ms[] = {10, 10};
    struct job flat = data_parallel(f_ms, 2, INQ_OP_GRADS_REDUCE_SCATTER, 5);
    assert_int_equal(fails(flat.base, "rebalance-stages"), INQ_UNSUPPORTED);
    done(&flat);
}

static void sequences__are_shared_out_evenly(void **state)
{
    (void)state;
    static const int64_t f_ms[2][2] = {{10, 20}, {30, 20}};
    struct job job = {.ops = ops_trace_new(2)};
    for (int32_t r = 0; r < 2; r++) {
        int64_t at = 0;
        for (int32_t mb = 0; mb < 2; mb++) {
            op(&job, (uint32_t)r, label(INQ_OP_FORWARD, r, 0, mb), at, f_ms[r][mb]);
            op(&job, (uint32_t)r, label(INQ_OP_BACKWARD, r, 0, mb), at + f_ms[r][mb],
               2 * f_ms[r][mb]);
            at += 3 * f_ms[r][mb];
        }
        op(&job, (uint32_t)r, label(INQ_OP_GRADS_REDUCE_SCATTER, r, 0, -1), at, 155 - at);
    }
    finish(&job);
    assert_int_equal(inq_fix_base_info(job.base)->t_ns, 155 * MS);
    assert_int_equal(with(job.base, "balance-sequences"), (3 * 40 + 5) * MS);
    done(&job);
}

/* ---- order of work --------------------------------------------------------------------------- */

static int64_t timed(const char *kind, int32_t p, int32_t m, const struct inq_costs *costs)
{
    struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = p, .n_microbatches = m, .costs = *costs};
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_time(&schedule, costs, &timing, NULL), INQ_OK);
    int64_t t_ns = timing.makespan_ns;
    inq_schedule_timing_release(&timing, schedule.n_ranks);
    inq_schedule_release(&schedule);
    return t_ns;
}

/* The base of a schedule takes what the schedule takes, whatever is in its cells. */
static void base__takes_what_the_schedule_takes(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    const struct inq_costs costs[] = {
        {.stage = {3 * MS, 2 * MS, MS}},
        {.stage = {3 * MS, 4 * MS, 2 * MS}, .p2p_ns = MS / 2},
        {.stage = {3 * MS, 4 * MS, 2 * MS}, .p2p_ns = MS / 2, .overlap_ns = 7 * MS},
        {.stage = {3 * MS, 4 * MS, 2 * MS}, .reduce_ns = 5 * MS, .update_ns = MS}};
    for (size_t k = 0; k < n; k++) {
        for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
            for (int32_t p = 2; p <= 4; p += 2) {
                struct inq_fix_base *base = schedule_base(kinds[k].name, p, 8, &costs[c]);
                int64_t expected = timed(kinds[k].name, p, 8, &costs[c]);
                if (inq_fix_base_info(base)->t_ns != expected || with(base, "") != expected) {
                    fail_msg("%s p=%d costs %zu: %lld, not %lld", kinds[k].name, p, c,
                             (long long)with(base, ""), (long long)expected);
                }
                inq_fix_base_free(base);
            }
        }
    }
}

/* Data parallelism that reduces behind the whole backward: syncs are known by group, kind and
 * stage, and each begins beside the last backward of its own stage. */
static void overlap_grads__of_a_schedule(void **state)
{
    (void)state;
    for (int32_t v = 1; v <= 4; v++) {
        struct inq_schedule_spec spec = {
            .kind = "dp",
            .n_ranks = 4,
            .n_microbatches = 8,
            .n_chunks = v,
            .costs = {.stage = {MS, MS, MS}, .reduce_ns = 5 * MS, .update_ns = 2 * MS},
            .no_overlap = true};
        struct inq_schedule schedule;
        struct inq_fix_base *base = NULL;
        assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
        assert_int_equal(inq_fix_base_of_schedule(&schedule, &spec.costs, &base, NULL), INQ_OK);
        int64_t compute = 2 * v * 3 * MS;
        assert_int_equal(inq_fix_base_info(base)->t_ns, compute + v * 5 * MS + 2 * MS);
        /* the first half of the last stage's backward is done 2 v - 1 ms before the end */
        assert_int_equal(with(base, "overlap-grads:buckets=2:contention=0:latency=0"),
                         compute - (2 * v - 1) * MS + v * 5 * MS + 2 * MS);
        inq_fix_base_free(base);
        inq_schedule_release(&schedule);
    }
    struct inq_costs costs = {.stage = {MS, MS, MS}, .reduce_ns = 5 * MS};
    struct inq_fix_base *base = schedule_base("dp", 4, 8, &costs);
    assert_int_equal(fails(base, "overlap-grads"), INQ_UNSUPPORTED);
    assert_true(with(base, "link:type=sync:factor=0.5") < inq_fix_base_info(base)->t_ns);
    inq_fix_base_free(base);
}

/* From 1F1B to every other schedule with one stage a rank, the fixed graph takes what the schedule
 * itself takes. */
static void schedule__takes_what_the_schedule_takes(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpipe", "1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p"};
    struct inq_costs costs = {.stage = {3 * MS, 4 * MS, 2 * MS}, .p2p_ns = MS / 2};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 8, &costs);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char spec[64];
        (void)snprintf(spec, sizeof spec, "schedule:%s", kinds[k]);
        assert_int_equal(with(base, spec), timed(kinds[k], 4, 8, &costs));
    }
    inq_fix_base_free(base);
}

/* With two chunks a rank each chunk is half a stage. */
static void schedule__cuts_stages_into_chunks(void **state)
{
    (void)state;
    static const char *const kinds[] = {"interleaved", "zb-v", "v-half", "v-min", "seq1f1b"};
    struct inq_costs whole = {.stage = {2 * MS, 4 * MS, 2 * MS}};
    struct inq_costs half = {.stage = {1 * MS, 2 * MS, 1 * MS}};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 8, &whole);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char spec[64];
        (void)snprintf(spec, sizeof spec, "schedule:%s", kinds[k]);
        assert_int_equal(with(base, spec), timed(kinds[k], 4, 8, &half));
    }
    assert_int_equal(fails(base, "schedule:dp"), INQ_UNSUPPORTED);
    assert_int_equal(fails(base, "schedule:2f2b"), INQ_USAGE);
    inq_fix_base_free(base);
}

/* Every kind can be tried; what does not exist for these numbers says so. */
static void schedule__knows_all_kinds(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    struct inq_costs costs = {.stage = {2 * MS, 2 * MS, 2 * MS}};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 8, &costs);
    for (size_t k = 0; k < n; k++) {
        char spec[64];
        struct inq_graph *graph = NULL;
        struct inq_err err = {0};
        (void)snprintf(spec, sizeof spec, "schedule:%s", kinds[k].name);
        int code = inq_fix_graph(base, spec, &graph, &err);
        if (code != INQ_OK && code != INQ_UNSUPPORTED) {
            fail_msg("%s: %s", spec, err.message);
        }
        if (code == INQ_OK) { /* the work is the same */
            int64_t sum = 0;
            for (size_t i = 0; i < graph->n_ops; i++) {
                sum += graph->dur_ns[i];
            }
            assert_int_equal(sum, 4 * 8 * 6 * MS);
        }
        inq_graph_free(graph);
    }
    inq_fix_base_free(base);
}

static void microbatches__divide_the_step(void **state)
{
    (void)state;
    struct inq_costs costs = {.stage = {1 * MS, 1 * MS, 1 * MS}};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 4, &costs);
    /* (m + p - 1)(F + B), of half the size; 20 % of it does not shrink */
    assert_int_equal(inq_fix_base_info(base)->t_ns, 21 * MS);
    assert_int_equal(with(base, "microbatches:8:fixed=0"), 16500000);
    assert_int_equal(with(base, "microbatches:8:fixed=0.2"), 11 * 3 * 600000);
    assert_int_equal(with(base, "microbatches:2:fixed=0"), 5 * 6 * MS);
    assert_int_equal(with(base, "microbatches:8:fixed=1"), 33 * MS);
    assert_int_equal(with(base, "schedule:gpipe+microbatches:8:fixed=0"), 16500000);
    assert_int_equal(fails(base, "microbatches:0"), INQ_USAGE);
    inq_fix_base_free(base);
}

/* ---- gradients and links --------------------------------------------------------------------- */

static void overlap__runs_buckets_beside_the_backward(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10};
    struct job job = data_parallel(f_ms, 2, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    assert_int_equal(inq_fix_base_info(job.base)->t_ns, 38 * MS);
    /* a quarter of 2 ms is left when the backward ends at 30 */
    assert_int_equal(with(job.base, "overlap-grads:buckets=4:contention=0:latency=0"), 32 * MS);
    /* backward 5 + 3 * 6; each further bucket 1 ms longer: 15-17, 21-24, 27-30, 33-36 */
    assert_int_equal(with(job.base, "overlap-grads:buckets=4:contention=0.2:latency=1000"),
                     36 * MS);
    assert_int_equal(fails(job.base, "overlap-grads+overlap-grads:buckets=0"), INQ_USAGE);
    done(&job);
}

static void overlap__of_what_is_overlapped_does_not_apply(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10};
    struct job job = data_parallel(f_ms, 2, INQ_OP_SEPARATE_GRADS_ALL_REDUCE, 8);
    assert_int_equal(fails(job.base, "overlap-grads"), INQ_UNSUPPORTED);
    done(&job);
}

static void buckets__joined_wait_for_the_last_and_save_latency(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10};
    struct job job = data_parallel(f_ms, 2, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    /* two halves: one more latency, nothing earlier, for there is no collective before */
    assert_int_equal(with(job.base, "bucket-size:factor=0.5:latency=500"), 38500000);
    assert_int_equal(fails(job.base, "bucket-size:factor=2"), INQ_UNSUPPORTED);
    done(&job);
}

static void link__scales_transfers(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10};
    struct job job = data_parallel(f_ms, 2, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    assert_int_equal(with(job.base, "link"), 34 * MS);
    assert_int_equal(with(job.base, "link:factor=2:type=sync"), 46 * MS);
    assert_int_equal(fails(job.base, "link:type=p2p"), INQ_UNSUPPORTED);
    assert_int_equal(fails(job.base, "link:type=wire"), INQ_USAGE);
    done(&job);
    struct inq_costs costs = {.stage = {1 * MS, 1 * MS, 1 * MS}, .p2p_ns = 2 * MS};
    struct inq_fix_base *base = schedule_base("gpipe", 2, 1, &costs);
    assert_int_equal(with(base, NULL), 10 * MS);
    assert_int_equal(with(base, "link:type=p2p"), 8 * MS);
    assert_int_equal(with(base, "link:factor=0"), 6 * MS);
    inq_fix_base_free(base);
}

/* Two stages, two replicas; the sync of stage 1 takes four times that of stage 0. */
static struct job two_stages(void)
{
    struct job job = {.ops = ops_trace_new(4)};
    for (int32_t r = 0; r < 4; r++) {
        int32_t dp = r % 2;
        int32_t stage = r / 2;
        op(&job, (uint32_t)r, label(INQ_OP_FORWARD, dp, stage, 0), 10 * stage, 10);
        op(&job, (uint32_t)r, label(INQ_OP_BACKWARD, dp, stage, 0), stage == 1 ? 20 : 40, 20);
        op(&job, (uint32_t)r, label(INQ_OP_GRADS_REDUCE_SCATTER, dp, stage, -1),
           stage == 1 ? 40 : 60, stage == 1 ? 40 : 10);
    }
    finish(&job);
    return job;
}

static void repair__takes_what_the_transfer_takes_elsewhere(void **state)
{
    (void)state;
    struct job job = two_stages();
    assert_int_equal(inq_fix_base_info(job.base)->n_stages, 2);
    assert_int_equal(inq_fix_base_info(job.base)->t_ns, 80 * MS);
    assert_int_equal(with(job.base, "repair-link:2,3"), 70 * MS);
    assert_int_equal(with(job.base, "repair-link:0,1"), 100 * MS); /* the other one is slower */
    assert_int_equal(fails(job.base, "repair-link:0-3"), INQ_UNSUPPORTED);
    done(&job);
}

static void hierarchical__moves_less_between_nodes(void **state)
{
    (void)state;
    const int64_t f_ms[] = {10, 10, 10, 10};
    struct job job = data_parallel(f_ms, 4, INQ_OP_SEPARATE_GRADS_ALL_REDUCE, 12);
    /* (1/2 + 1/2/4) / (3/4) of it */
    assert_int_equal(with(job.base, "hierarchical-all-reduce:local=2"), 40 * MS);
    assert_int_equal(fails(job.base, "hierarchical-all-reduce"), INQ_UNSUPPORTED);
    assert_int_equal(fails(job.base, "hierarchical-all-reduce:local=3"), INQ_UNSUPPORTED);
    done(&job);
}

static void gc__planned_costs_its_mean(void **state)
{
    (void)state;
    struct job job = {.ops = ops_trace_new(2)};
    for (int32_t r = 0; r < 2; r++) {
        for (int32_t step = 0; step < STEPS; step++) {
            /* another rank collects in each step but the first */
            int64_t gc = step > 0 && step % 2 == r ? 12 : 0;
            int64_t end = 30 + (step > 0 ? 12 : 0) + 5;
            int64_t at = step * 1000;
            struct inq_label l = label(INQ_OP_FORWARD, r, 0, 0);
            l.step = step;
            ops_trace_add(job.ops, (uint32_t)r, &l, at * MS, 10 * MS);
            l.type = INQ_OP_BACKWARD;
            ops_trace_add(job.ops, (uint32_t)r, &l, (at + 10) * MS, 20 * MS);
            l.type = INQ_OP_GC;
            ops_trace_add(job.ops, (uint32_t)r, &l, (at + 30) * MS, gc * MS);
            l.type = INQ_OP_GRADS_REDUCE_SCATTER;
            ops_trace_add(job.ops, (uint32_t)r, &l, (at + 30 + gc) * MS, (end - 30 - gc) * MS);
        }
    }
    finish(&job);
    assert_int_equal(inq_fix_base_info(job.base)->t_ns, 47 * MS);
    assert_int_equal(with(job.base, "plan-gc"), 39 * MS); /* 24 of 6 collections */
    done(&job);
}

/* ---- for all --------------------------------------------------------------------------------- */

/* A fix that asks for what is there already changes nothing at all. */
static void fixes__of_nothing_are_the_base(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "speed-rank:0:speed=1.0", "rebalance-stages:share=0",
        "schedule:1f1b",          "microbatches:8",
        "link:factor=1",          "bucket-size:factor=1",
        "swap-ranks:0,2",         "schedule:1f1b+microbatches:8+speed-rank:1:speed=1"};
    struct inq_costs costs = {.stage = {3 * MS, 4 * MS, 2 * MS}, .p2p_ns = MS / 2};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 8, &costs);
    struct inq_graph *before = NULL;
    assert_int_equal(inq_fix_graph(base, "", &before, NULL), INQ_OK);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        struct inq_graph *after = NULL;
        assert_int_equal(inq_fix_graph(base, specs[k], &after, NULL), INQ_OK);
        assert_int_equal(after->n_ops, before->n_ops);
        assert_int_equal(after->n_deps, before->n_deps);
        assert_memory_equal(after->dur_ns, before->dur_ns, before->n_ops * sizeof *before->dur_ns);
        assert_memory_equal(after->deps, before->deps, before->n_deps * sizeof *before->deps);
        inq_graph_free(after);
    }
    inq_graph_free(before);
    inq_fix_base_free(base);
    const int64_t f_ms[] = {10, 15};
    struct job job = data_parallel(f_ms, 2, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    assert_int_equal(with(job.base, "overlap-grads:buckets=1"), 53 * MS);
    done(&job);
}

/* To another schedule and back is where it began. */
static void fixes__can_be_taken_back(void **state)
{
    (void)state;
    struct inq_costs costs = {.stage = {3 * MS, 4 * MS, 2 * MS}, .p2p_ns = MS / 2};
    struct inq_fix_base *base = schedule_base("1f1b", 4, 8, &costs);
    int64_t t_ns = with(base, NULL);
    assert_int_equal(with(base, "schedule:gpipe+schedule:1f1b"), t_ns);
    assert_int_equal(with(base, "schedule:zb-h1+schedule:1f1b"), t_ns);
    assert_int_equal(with(base, "microbatches:16:fixed=0+microbatches:8:fixed=0"), t_ns);
    assert_int_equal(with(base, "speed-rank:1:speed=2+speed-rank:1:speed=0.5"), t_ns);
    inq_fix_base_free(base);
}

static void specs__that_cannot_be_read_say_why(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "replace",
                                      "replace-rank",
                                      "replace-rank:",
                                      "replace-rank:2:speed=1",
                                      "schedule",
                                      "rebalance-stages:half",
                                      "rebalance-stages:share",
                                      "rebalance-stages:=1",
                                      "link:factor=0.5+",
                                      "+link",
                                      "link++link",
                                      ":"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct inq_err err = {0};
        assert_int_equal(inq_fix_check(bad[k], &err), INQ_USAGE);
        assert_int_not_equal(err.message[0], '\0');
    }
    struct inq_costs costs = {.stage = {MS, MS, MS}};
    struct inq_fix_base *base = schedule_base("1f1b", 2, 2, &costs);
    static const char *const worse[] = {
        "rebalance-stages:share=2", "rebalance-stages:share=",  "rebalance-stages:share=nan",
        "microbatches:many",        "microbatches:99999999999", "replace-rank:1-",
        "replace-rank:a",           "replace-rank:1,,0",        "speed-rank:0:speed=0"};
    for (size_t k = 0; k < sizeof worse / sizeof *worse; k++) {
        assert_int_equal(fails(base, worse[k]), INQ_USAGE);
    }
    inq_fix_base_free(base);
}

static void catalog__says_what_a_fix_assumes(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_fix_kind *kind;
    for (; (kind = inq_fix_kind_at(n)) != NULL; n++) {
        assert_int_equal(strncmp(kind->grammar, kind->name, strlen(kind->name)), 0);
        assert_int_not_equal(kind->summary[0], '\0');
        assert_int_not_equal(kind->assumes[0], '\0');
        assert_non_null(kind->costs.memory);
        assert_non_null(kind->costs.accuracy);
        assert_non_null(kind->costs.work);
    }
    assert_true(n >= 15);
}

/* ---- studies --------------------------------------------------------------------------------- */

static void study__ranks_by_gain_and_tells_what_does_not_help(void **state)
{
    (void)state;
    static const char *const specs[] = {"speed-rank:0:speed=1", "link", "replace-rank:2",
                                        "rebalance-stages"};
    const int64_t f_ms[] = {10, 10, 15, 10};
    struct job job = data_parallel(f_ms, 4, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    struct inq_fix_options options = {.specs = specs, .n_specs = 4};
    struct inq_fixes *fixes = NULL;
    assert_int_equal(inq_fix_study(job.base, NULL, &options, &fixes, NULL), INQ_OK);
    assert_int_equal(fixes->n, 5);
    assert_string_equal(fixes->fixes[0].spec, "replace-rank:2+link");
    assert_int_equal(fixes->fixes[0].gain_ns, 19 * MS);
    assert_string_equal(fixes->fixes[1].spec, "replace-rank:2");
    assert_int_equal(fixes->fixes[1].gain_ns, 15 * MS);
    assert_true(fixes->fixes[1].helps);
    assert_string_equal(fixes->fixes[2].spec, "link");
    assert_int_equal(fixes->fixes[2].gain_ns, 4 * MS);
    assert_string_equal(fixes->fixes[3].spec, "speed-rank:0:speed=1");
    assert_int_equal(fixes->fixes[3].gain_ns, 0);
    assert_false(fixes->fixes[3].helps);
    assert_string_equal(fixes->fixes[4].spec, "rebalance-stages");
    assert_int_equal(fixes->fixes[4].t_ns, -1);
    assert_int_not_equal(fixes->fixes[4].problem[0], '\0');
    inq_fixes_free(fixes);
    done(&job);
}

/* The first 256 are looked at; the same again is no further one. */
static void study__counts_fixes_past_the_most(void **state)
{
    (void)state;
    enum { MOST = 256, ASKED = MOST + 2 };
    char texts[ASKED][40];
    const char *specs[ASKED + 2];
    for (int i = 0; i < ASKED; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "speed-rank:0:speed=1.%03d", i);
        specs[i] = texts[i];
    }
    specs[ASKED] = texts[0];
    specs[ASKED + 1] = texts[ASKED - 1];
    const int64_t f_ms[] = {10, 10, 15, 10};
    struct job job = data_parallel(f_ms, 4, INQ_OP_GRADS_REDUCE_SCATTER, 8);
    for (size_t n = MOST; n <= ASKED + 2; n++) {
        struct inq_fix_options options = {.specs = specs, .n_specs = n, .no_pairs = true};
        struct inq_fixes *fixes = NULL;
        assert_int_equal(inq_fix_study(job.base, NULL, &options, &fixes, NULL), INQ_OK);
        assert_int_equal(fixes->n, MOST);
        assert_int_equal(fixes->n_left_out, n < ASKED ? n - MOST : ASKED - MOST);
        inq_fixes_free(fixes);
    }
    done(&job);
}

/* A slow rank is tried in 64 places; further ones are counted. */
static void study__counts_places_past_the_most(void **state)
{
    (void)state;
    static const char *spec = "replace-rank:0";
    enum { STAGES = 66, MOST = 64 };
    struct inq_stage_cost cost[STAGES];
    struct inq_finding finding = {.id = "f", .fixes = &spec, .n_fixes = 1};
    struct inq_report report = {.findings = &finding, .n_findings = 1};
    struct inq_costs costs = {.per_stage = cost, .p2p_ns = MS};
    for (int i = 0; i < STAGES; i++) {
        cost[i] = (struct inq_stage_cost){(i == 0 ? 2 : 1) * MS, MS, MS};
    }
    for (int stages = MOST; stages <= STAGES; stages++) {
        struct inq_fix_base *base = schedule_base("1f1b", stages, 2, &costs);
        struct inq_fix_options options = {.no_pairs = true};
        struct inq_fixes *fixes = NULL;
        assert_int_equal(inq_fix_study(base, &report, &options, &fixes, NULL), INQ_OK);
        assert_int_equal(fixes->n_left_out, stages - 1 > MOST ? stages - 1 - MOST : 0);
        inq_fixes_free(fixes);
        inq_fix_base_free(base);
    }
}

static void study__survives_every_failing_allocation(void **state)
{
    (void)state;
    static const char *const specs[] = {"schedule:zb-h1", "microbatches:4", "rebalance-stages",
                                        "replace-rank:1"};
    struct inq_stage_cost cost[2] = {{1 * MS, 1 * MS, 1 * MS}, {2 * MS, 2 * MS, 2 * MS}};
    struct inq_costs costs = {.per_stage = cost, .p2p_ns = MS};
    struct inq_fix_base *base = schedule_base("1f1b", 2, 2, &costs);
    struct inq_fix_options options = {.specs = specs, .n_specs = 4, .jobs = 1};
    int code = INQ_NOMEM;
    long n = 1;
    for (; code == INQ_NOMEM && n < 100000; n++) {
        struct inq_fixes *fixes = NULL;
        inq_mem_fail_after(n);
        code = inq_fix_study(base, NULL, &options, &fixes, NULL);
        inq_mem_fail_after(0);
        assert_true((code == INQ_OK) == (fixes != NULL));
        inq_fixes_free(fixes);
    }
    assert_int_equal(code, INQ_OK);
    assert_true(n > 50);
    inq_fix_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replace__takes_the_median_of_the_peers),
        cmocka_unit_test(speed__scales_the_compute_of_a_rank),
        cmocka_unit_test(swap__gives_each_place_the_others_pace),
        cmocka_unit_test(rebalance__makes_stages_equally_long),
        cmocka_unit_test(sequences__are_shared_out_evenly),
        cmocka_unit_test(overlap_grads__of_a_schedule),
        cmocka_unit_test(base__takes_what_the_schedule_takes),
        cmocka_unit_test(schedule__takes_what_the_schedule_takes),
        cmocka_unit_test(schedule__cuts_stages_into_chunks),
        cmocka_unit_test(schedule__knows_all_kinds),
        cmocka_unit_test(microbatches__divide_the_step),
        cmocka_unit_test(overlap__runs_buckets_beside_the_backward),
        cmocka_unit_test(overlap__of_what_is_overlapped_does_not_apply),
        cmocka_unit_test(buckets__joined_wait_for_the_last_and_save_latency),
        cmocka_unit_test(link__scales_transfers),
        cmocka_unit_test(repair__takes_what_the_transfer_takes_elsewhere),
        cmocka_unit_test(hierarchical__moves_less_between_nodes),
        cmocka_unit_test(gc__planned_costs_its_mean),
        cmocka_unit_test(fixes__of_nothing_are_the_base),
        cmocka_unit_test(fixes__can_be_taken_back),
        cmocka_unit_test(specs__that_cannot_be_read_say_why),
        cmocka_unit_test(catalog__says_what_a_fix_assumes),
        cmocka_unit_test(study__ranks_by_gain_and_tells_what_does_not_help),
        cmocka_unit_test(study__counts_fixes_past_the_most),
        cmocka_unit_test(study__counts_places_past_the_most),
        cmocka_unit_test(study__survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
