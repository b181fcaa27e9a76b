/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on real runs whose story is known: who and why, not in which words. */
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct opened {
    struct inq_run *run;
    struct inq_report *report; /* of one trace */
};

/* Skips the test where the real data are not there. */
static struct opened open_trace(const char *name, size_t trace)
{
    char path[1024];
    const char *paths[] = {path};
    struct inq_ingest_options options = {0};
    struct opened o = {0};
    struct inq_err err = {0};

    (void)snprintf(path, sizeof(path), "%s/%s", INQ_SHARED_DATA, name);
    if (access(path, R_OK) != 0) {
        print_message("skipped: no %s\n", path);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, &options, &o.run, &err), INQ_OK);
    assert_true(trace < o.run->n_traces);
    struct inq_analysis_options how = {.predict = inq_fix_predict};
    assert_int_equal(inq_analyze(o.run->traces[trace], &how, &o.report, &err), INQ_OK);
    return o;
}

static void shut(struct opened *o)
{
    inq_report_free(o->report);
    inq_run_free(o->run);
}

static const struct inq_finding *find(const struct inq_report *report, enum inq_finding_kind kind)
{
    for (size_t i = 0; i < report->n_findings; i++) {
        if (report->findings[i].kind == kind) {
            return &report->findings[i];
        }
    }
    return NULL;
}

/* The finding of this kind; the test fails when there is none. */
static const struct inq_finding *need(const struct inq_report *report, enum inq_finding_kind kind)
{
    static const struct inq_finding none;
    const struct inq_finding *finding = find(report, kind);

    if (!finding) {
        fail_msg("no finding %s", inq_finding_kind_text(kind));
        return &none;
    }
    return finding;
}

static bool names_only(const struct inq_finding *finding, int32_t rank)
{
    return finding->n_ranks == 1 && finding->ranks && finding->ranks[0] == rank;
}

/* Exactly one rank is named: this one, its host, for this long per step. */
static void expect_late_host(const struct inq_report *report, int32_t rank, double low_ms,
                             double high_ms)
{
    assert_non_null(report->attribution);
    assert_int_equal(report->attribution->n_candidates, 1);
    const struct inq_finding *finding = need(report, INQ_FINDING_LATE_HOST);
    assert_true(names_only(finding, rank));
    double ms = (double)finding->cost_ns_per_step / 1e6;
    assert_true(ms >= low_ms && ms <= high_ms);
    assert_true(finding->n_evidence > 0);
    for (size_t i = 0; finding->evidence && i < finding->n_evidence; i++) {
        assert_true(finding->evidence[i].end_ns > finding->evidence[i].start_ns);
    }
}

static void torchrec_sleep__rank_2_sleeps_a_second_in_every_step(void **state)
{
    (void)state;
    struct opened o = open_trace("kineto/torchrec_sleep", 0);

    expect_late_host(o.report, 2, 990.0, 1015.0);
    assert_string_equal(o.report->verdict.cls, "late_host");
    assert_true(o.report->verdict.confidence >= INQ_CONFIDENCE_SUPPORTED);
    assert_int_equal(o.report->findings[0].severity, INQ_SEVERITY_HIGH);
    shut(&o);
}

static void torchrec_4__rank_2_again(void **state)
{
    (void)state;
    struct opened o = open_trace("kineto/torchrec_4", 0);

    expect_late_host(o.report, 2, 7.0, 12.0);
    assert_string_equal(o.report->verdict.cls, "late_host");
    shut(&o);
}

static void megatron_tp2__rank_0_in_the_only_step(void **state)
{
    (void)state;
    struct opened o = open_trace("kineto/megatron_tp2", 0);

    expect_late_host(o.report, 0, 44.0, 52.0);
    assert_true(o.report->verdict.confidence < INQ_CONFIDENCE_ESTABLISHED);
    shut(&o);
}

/* One step whose beginning no rank shares: the last arrivals are mixed, and nobody is named. */
static void dlrm_8ranks__nobody_is_named(void **state)
{
    (void)state;
    struct opened o = open_trace("kineto/dlrm_8ranks", 0);

    assert_non_null(o.report->attribution);
    assert_int_equal(o.report->attribution->n_candidates, 0);
    shut(&o);
}

static void torchrec_two_jobs__rank_2_of_both(void **state)
{
    (void)state;
    struct opened first = open_trace("kineto/torchrec_two_jobs", 0);
    expect_late_host(first.report, 2, 980.0, 1010.0);
    shut(&first);

    struct opened second = open_trace("kineto/torchrec_two_jobs", 1);
    expect_late_host(second.report, 2, 15.0, 22.0);
    shut(&second);
}

/* Both hosts starve their GPUs; one of them a little more. The other waits 2.4 ms for it, of which
 * 1.3 ms are gained: it reads its loss at each step's end, and is late for that itself. */
static void resnet18_ddp__hosts_first_then_rank_1(void **state)
{
    (void)state;
    struct opened o = open_trace("kineto/resnet18_ddp", 0);

    assert_string_equal(o.report->verdict.cls, "host_bound");
    expect_late_host(o.report, 1, 1.1, 1.5);
    shut(&o);
}

static void single_ranks__nobody_to_blame(void **state)
{
    (void)state;
    static const char *const names[] = {"kineto/hta/nccl_data.json.gz", "kineto/hta/rank0.json.gz"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct opened o = open_trace(names[i], 0);
        assert_null(o.report->attribution);
        for (size_t k = 0; k < o.report->n_findings; k++) {
            enum inq_finding_kind kind = o.report->findings[k].kind;
            assert_true(o.report->findings[k].n_ranks == 0 || kind == INQ_FINDING_MISSING_RANK ||
                        kind == INQ_FINDING_DAMAGED_INPUT);
        }
        assert_true(strlen(o.report->verdict.headline) > 0);
        shut(&o);
    }
}

static void whatif_ar__the_injected_slow_worker(void **state)
{
    (void)state;
    struct opened o = open_trace("whatif/AR/trace-AR.csv.gz", 0);
    const struct inq_finding *finding = need(o.report, INQ_FINDING_SLOW_WORKER);

    assert_true(names_only(finding, 0));
    assert_true(finding->share > 0.45 && finding->share < 0.55);
    assert_string_equal(o.report->verdict.cls, "slow_worker");
    assert_null(find(o.report, INQ_FINDING_SLOW_LAST_STAGE));
    shut(&o);
}

static void whatif_st__the_long_last_stage(void **state)
{
    (void)state;
    struct opened o = open_trace("whatif/ST/trace-ST.csv.gz", 0);
    const struct inq_finding *finding = need(o.report, INQ_FINDING_SLOW_LAST_STAGE);

    assert_true(finding->n_stages == 1 && finding->stages && finding->stages[0] == 3);
    assert_string_equal(o.report->verdict.cls, "slow_last_stage");
    assert_null(find(o.report, INQ_FINDING_SLOW_WORKER));
    shut(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torchrec_sleep__rank_2_sleeps_a_second_in_every_step),
        cmocka_unit_test(torchrec_4__rank_2_again),
        cmocka_unit_test(megatron_tp2__rank_0_in_the_only_step),
        cmocka_unit_test(dlrm_8ranks__nobody_is_named),
        cmocka_unit_test(torchrec_two_jobs__rank_2_of_both),
        cmocka_unit_test(resnet18_ddp__hosts_first_then_rank_1),
        cmocka_unit_test(single_ranks__nobody_to_blame),
        cmocka_unit_test(whatif_ar__the_injected_slow_worker),
        cmocka_unit_test(whatif_st__the_long_last_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
