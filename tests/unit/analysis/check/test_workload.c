/* SPDX-License-Identifier: Apache-2.0 */
/* Other work is no better or worse run: said in layers and micro-batches where it is those. */
#include "inquest/check.h"
#include "inquest/synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct inq_workload work_of(const char *job)
{
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct inq_synth *synth = NULL;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_snapshot snapshot;
    char text[256];
    struct inq_err err = {0};
    assert_non_null(spec);
    (void)snprintf(text, sizeof text, "%s,gz=0,flows=0,calls=0,steps=5", job);
    if (inq_synth_spec_parse(text, spec, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(inq_synth_new(spec, &synth, NULL), INQ_OK);
    free(spec);
    assert_int_equal(inq_synth_ingest(synth, true, 0, &run, NULL), INQ_OK);
    assert_int_equal(inq_analyze(run->traces[0], NULL, &report, NULL), INQ_OK);
    assert_int_equal(inq_snapshot_of_report(report, &snapshot, NULL), INQ_OK);
    struct inq_workload work = snapshot.work;
    inq_snapshot_release(&snapshot);
    inq_report_free(report);
    inq_run_free(run);
    inq_synth_free(synth);
    return work;
}

/* says NULL: the same work. */
static const struct {
    const char *base, *now, *says;
} pairs[] = {
    {"dp=4,layers=6", "dp=4,layers=4", "4 layers instead of 6"},
    {"dp=4,layers=6", "dp=4,layers=8", "8 layers instead of 6"},
    {"dp=4,layers=2", "dp=4,layers=1", "1 layer instead of 2"},
    {"dp=4,layers=6,sharded=1", "dp=4,layers=5,sharded=1", "5 layers instead of 6"},
    {"dp=4,layers=6,micro_batches=4", "dp=4,layers=6,micro_batches=3",
     "3 micro-batches instead of 4"},
    {"dp=4,layers=6,micro_batches=4", "dp=4,layers=5,micro_batches=4", "5 layers instead of 6"},
    {"dp=2,pp=2,layers=8,micro_batches=8,labels=1", "dp=2,pp=2,layers=6,micro_batches=8,labels=1",
     "6 layers instead of 8"},
    {"dp=2,pp=2,layers=8,micro_batches=8", "dp=2,pp=2,layers=8,micro_batches=6",
     "6 micro-batches instead of 8"},
    {"dp=2,tp=2,layers=6,seed=1", "dp=2,tp=2,layers=6,seed=2", NULL},
    {"dp=4,layers=6,seed=1", "dp=4,layers=6,seed=2,layer=1ms", NULL},
    {"dp=4,layers=6", "dp=4,layers=6,fault=more_work:rank=1:factor=1.4", NULL},
    {"dp=4,layers=4,experts=1,seed=1", "dp=4,layers=4,experts=1,seed=2", NULL},
};

static void workload__says_what_differs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct inq_workload base = work_of(pairs[i].base);
        struct inq_workload now = work_of(pairs[i].now);
        char text[400];
        bool differs = inq_workload_differs(&now, &base, text, sizeof text);
        if (differs != (pairs[i].says != NULL) ||
            (differs && strncmp(text, pairs[i].says, strlen(pairs[i].says)) != 0)) {
            fail_msg("%s, %s: '%s'", pairs[i].base, pairs[i].now, text);
        }
    }
}

/* A layer multiplies four times forward and eight backward, and attends once each way. Ranks that
 * run more kernels than their peers are told: what they do is no more layers. */
static void workload__is_counted_over_all_ranks(void **state)
{
    (void)state;
    struct inq_workload even = work_of("dp=2,layers=3,micro_batches=4");
    struct inq_workload uneven = work_of("dp=2,layers=3,fault=more_work:rank=1:factor=1.4");
    assert_int_equal(even.passes, 4);
    assert_int_equal(even.replicas, 2);
    assert_int_equal(even.math, 14 * 3 * 4 * 2);
    assert_true(even.kernels > even.math);
    assert_true(even.even);
    assert_false(uneven.even);
}

static struct inq_workload products(int64_t count, const char *shape, int64_t small)
{
    struct inq_workload work = {
        .kernels = 100 + count + small, .math = count, .passes = 1, .replicas = 1, .n = 2};
    work.items[0] =
        (struct inq_workload_item){.what = "aten::mm", .count = count, .share = 0.9, .math = true};
    (void)snprintf(work.items[0].shape, sizeof work.items[0].shape, "%s", shape);
    work.items[1] = (struct inq_workload_item){.what = "aten::add", .count = small, .share = 0.1};
    return work;
}

static void workload__shapes_and_products(void **state)
{
    (void)state;
    struct inq_workload base = products(100, "[[4096, 1024]]", 40);
    struct inq_workload fused = products(100, "[[4096, 1024]]", 4);
    struct inq_workload smaller = products(100, "[[2048, 1024]]", 40);
    struct inq_workload lost = products(98, "[[4096, 1024]]", 40); /* the profiler's */
    struct inq_workload less = products(97, "[[4096, 1024]]", 40);
    struct inq_workload unknown = {0};
    char text[400];
    assert_false(inq_workload_differs(&fused, &base, text, sizeof text));
    assert_true(inq_workload_differs(&smaller, &base, text, sizeof text));
    assert_string_equal(text, "other shapes: aten::mm of [[2048, 1024]] instead of [[4096, 1024]]");
    assert_false(inq_workload_differs(&lost, &base, text, sizeof text));
    assert_true(inq_workload_differs(&less, &base, text, sizeof text));
    assert_non_null(strstr(text, "97 matrix products"));
    assert_false(inq_workload_differs(&base, &unknown, text, sizeof text));
    base.items[0].share = smaller.items[0].share = 0.09; /* of little time */
    assert_false(inq_workload_differs(&smaller, &base, text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workload__says_what_differs),
        cmocka_unit_test(workload__is_counted_over_all_ranks),
        cmocka_unit_test(workload__shapes_and_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
