/* SPDX-License-Identifier: Apache-2.0 */
/* Top kernels: sums, spread over the ranks, shapes, operators. */
#include "support_shard.h"

#include "analysis/measure/kernel_speed.h"
#include "trace/kernel_kind.h"
#include "inquest/analysis.h"
#include "inquest/ingest.h"
#include "inquest/kernels.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

/* A kernel of 128 threads a block; blocks 0: nothing recorded of its launch. */
static void ran(struct inq_shard *shard, const char *name, int64_t start_ns, int64_t dur_ns,
                int32_t blocks, const char *op)
{
    struct inq_launch launch = {.op = made_name(shard, op)};
    launch.grid[0] = blocks;
    launch.block[0] = blocks > 0 ? 128 : 0;
    struct inq_event_row row = {.start_ns = start_ns,
                                .dur_ns = dur_ns,
                                .name = made_name(shard, name),
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .label = INQ_NONE,
                                .kind = INQ_EVENT_KERNEL,
                                .cls = INQ_CLASS_COMPUTE};
    assert_int_equal(inq_launches_add(&shard->launches, &launch, &row.launch, NULL), INQ_OK);
    assert_int_equal(inq_rank_lane(&shard->ranks[0], INQ_LANE_STREAM, 0, 7, &row.lane, NULL),
                     INQ_OK);
    assert_int_equal(inq_rank_add_event(&shard->ranks[0], &row, NULL), INQ_OK);
}

static struct inq_run *two_ranks(void)
{
    struct inq_shard shards[2];
    made_shard(&shards[0], "run/a.json", 0, 2);
    made_shard(&shards[1], "run/b.json", 1, 2);
    ran(&shards[0], "gemm", 1000, 100, 8, "aten::mm");
    ran(&shards[0], "gemm", 2000, 300, 16, "aten::bmm");
    ran(&shards[0], "gelu", 3000, 50, 4, "");
    ran(&shards[1], "gemm", 1000, 600, 16, "aten::mm");
    ran(&shards[1], "copy", 2000, 10, 0, "");
    return made_run(shards, 2, false);
}

static struct inq_report *analyzed(const struct inq_run *run)
{
    static const char *const only[] = {"kernels"};
    struct inq_analysis_options options = {.only = only, .n_only = 1};
    struct inq_report *report = NULL;
    assert_int_equal(inq_analyze(run->traces[0], &options, &report, NULL), INQ_OK);
    assert_non_null(report->kernels);
    return report;
}

static void kernels__sum_and_spread_over_the_ranks(void **state)
{
    (void)state;
    struct inq_run *run = two_ranks();
    struct inq_report *report = analyzed(run);
    const struct inq_kernels *kernels = report->kernels;
    assert_int_equal(kernels->count, 5);
    assert_int_equal(kernels->total_ns, 1060);
    const struct inq_kernel_table *table = &kernels->by[INQ_KERNELS_BY_NAME];
    assert_int_equal(table->n, 3);
    assert_int_equal(table->named_ns, 1060); /* every piece of work is in a row */
    const struct inq_kernel_row *gemm = &table->rows[0];
    assert_string_equal(inq_trace_str(run->traces[0], gemm->name), "gemm");
    assert_int_equal(gemm->count, 3);
    assert_int_equal(gemm->total_ns, 1000);
    assert_int_equal(gemm->min_ns, 100);
    assert_int_equal(gemm->max_ns, 600);
    assert_int_equal((int)lround(gemm->share * 1060), 1000);
    assert_int_equal(gemm->n_ranks, 2);
    assert_int_equal(gemm->rank_least, 0);
    assert_int_equal(gemm->rank_least_ns, 400);
    assert_int_equal(gemm->rank_most, 1);
    assert_int_equal(gemm->rank_most_ns, 600);
    assert_int_equal(gemm->n_launches, 3);
    assert_int_equal(run->traces[0]->launches[gemm->launch].grid[0], 16);
    assert_int_equal(gemm->launch_ns, 600);
    assert_int_equal(table->rows[1].n_ranks, 1);
    assert_int_equal(table->rows[2].n_launches, 0); /* of the copy nothing is known */
    inq_report_free(report);
    inq_run_free(run);
}

static void kernels__by_operator_where_it_is_known(void **state)
{
    (void)state;
    struct inq_run *run = two_ranks();
    struct inq_report *report = analyzed(run);
    const struct inq_kernel_table *table = &report->kernels->by[INQ_KERNELS_BY_OPERATOR];
    assert_int_equal(table->n, 2);
    assert_int_equal(table->named_ns, 1000);
    assert_string_equal(inq_trace_str(run->traces[0], table->rows[0].name), "aten::mm");
    assert_int_equal(table->rows[0].total_ns, 700);
    assert_int_equal(table->rows[0].rank_least_ns, 100);
    assert_int_equal(table->rows[1].n_ranks, 1);
    assert_int_equal(report->kernels->by[INQ_KERNELS_BY_MODULE].n, 0);
    inq_report_free(report);
    inq_run_free(run);
}

static void kernels__none_without_gpu_work(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "run/a.json", 0, 1);
    made_note(&shard, "ProfilerStep#1", 0, 1000, false);
    struct inq_run *run = made_run(&shard, 1, false);
    struct inq_report *report = NULL;
    assert_int_equal(inq_analyze(run->traces[0], NULL, &report, NULL), INQ_OK);
    assert_null(report->kernels);
    inq_report_free(report);
    inq_run_free(run);
}

/* What the first of two ranks runs against the second, in a capture of one step. */
static struct inq_kernel_comparison compared(const char *const *own, size_t n_own,
                                             const char *const *peers, size_t n_peers)
{
    struct inq_shard shards[2];
    struct inq_step_stat cells[2] = {{.valid = true}, {.valid = true}};
    struct inq_step_stats stats = {.n_ranks = 2, .n_steps = 1, .at = cells, .one_step = true};
    struct inq_kernel_comparison c;
    const uint32_t peer = 1;
    made_shard(&shards[0], "run/a.json", 0, 2);
    made_shard(&shards[1], "run/b.json", 1, 2);
    for (size_t i = 0; i < n_own; i++) {
        ran(&shards[0], own[i], (int64_t)i * 1000, 500, 8, "");
    }
    for (size_t i = 0; i < n_peers; i++) {
        ran(&shards[1], peers[i], (int64_t)i * 1000, 50, 8, "");
    }
    struct inq_run *run = made_run(shards, 2, false);
    assert_int_equal(inq_kernels_against(run->traces[0], &stats, 0, NULL, &peer, 1, &c, NULL),
                     INQ_OK);
    inq_run_free(run);
    return c;
}

/* A library picks another kernel for larger products: as many kernels, others in their place. Of
 * the kernels of which there are more, at least half have to be more in all. */
static void kernels__others_in_place_are_not_more(void **state)
{
    (void)state;
    static const char *const small[] = {"gemm_64", "gemm_64", "relu"};
    static const char *const large[] = {"gemm_128", "gemm_128", "relu", "gemm_128", "gemm_128"};
    struct inq_kernel_comparison c = compared(large, 3, small, 3);
    assert_int_equal(c.kernels, 3);
    assert_int_equal(c.peers_kernels, 3);
    assert_true(c.others);
    assert_true(compared(large, 4, small, 3).others);
    assert_false(compared(large, 5, small, 3).others);
    c = compared(large, 5, small + 2, 1);
    assert_int_equal(c.peers_kernels, 1);
    assert_false(c.others);
}

/* A GPU whose matrix products (four fifths of the time) take this many times as long as on its
 * peers, and all else so many times. */
static double memory_ratio(double math, double rest)
{
    struct inq_kernel_comparison c = {.ratio = 0.8 * math + 0.2 * rest};

    c.kind[INQ_KERNEL_MATH].share = 0.8;
    c.kind[INQ_KERNEL_MATH].ratio = math;
    c.kind[INQ_KERNEL_UPDATE].share = 0.05;
    c.kind[INQ_KERNEL_UPDATE].ratio = rest;
    c.kind[INQ_KERNEL_OTHER].share = 0.15;
    c.kind[INQ_KERNEL_OTHER].ratio = rest;
    return inq_kernels_memory_ratio(&c);
}

/* Memory is slow where what waits for it is and matrix products are not: they may take a quarter of
 * what all kernels take longer. A low clock slows them, too. */
static void kernels__slow_memory_spares_matrix_products(void **state)
{
    (void)state;
    assert_float_equal(memory_ratio(1.0, 1.6), 1.6, 1e-9);
    assert_float_equal(memory_ratio(1.03, 1.6), 1.6, 1e-9);   /* 1.144 in all: up to 1.036 */
    assert_float_equal(memory_ratio(1.0405, 1.6), 0.0, 1e-9); /* 1.152: up to 1.038 */
    assert_float_equal(memory_ratio(1.2, 1.2), 0.0, 1e-9);    /* all are slower */
    assert_float_equal(memory_ratio(1.3, 1.0), 0.0, 1e-9);    /* a low clock */
    assert_float_equal(memory_ratio(0.99, 0.99), 0.0, 1e-9);  /* not slower at all */
    struct inq_kernel_comparison no_math = {.ratio = 1.2};
    no_math.kind[INQ_KERNEL_OTHER] = (struct inq_kernel_kind_ratio){.share = 1.0, .ratio = 1.2};
    assert_float_equal(inq_kernels_memory_ratio(&no_math), 0.0, 1e-9); /* nothing to compare with */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels__others_in_place_are_not_more),
        cmocka_unit_test(kernels__slow_memory_spares_matrix_products),
        cmocka_unit_test(kernels__sum_and_spread_over_the_ranks),
        cmocka_unit_test(kernels__by_operator_where_it_is_known),
        cmocka_unit_test(kernels__none_without_gpu_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
