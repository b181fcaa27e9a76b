/* SPDX-License-Identifier: Apache-2.0 */
#include "support_synth.h"

#include "inquest/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_synth test_synth_open(const char *spec, const struct inq_analysis_options *options)
{
    struct inq_synth_spec *parsed = malloc(sizeof(*parsed));
    struct inq_err err = {0};
    struct test_synth made = {0};

    assert_non_null(parsed);
    assert_int_equal(inq_synth_spec_parse(spec, parsed, &err), INQ_OK);
    assert_int_equal(inq_synth_new(parsed, &made.synth, &err), INQ_OK);
    free(parsed);
    assert_int_equal(inq_synth_ingest(made.synth, true, 0, &made.run, &err), INQ_OK);
    assert_int_equal(made.run->n_traces, 1);
    assert_int_equal(inq_analyze(made.run->traces[0], options, &made.report, &err), INQ_OK);
    return made;
}

void test_synth_close(struct test_synth *made)
{
    inq_report_free(made->report);
    inq_run_free(made->run);
    inq_synth_free(made->synth);
}

double test_synth_lost_share(const struct test_synth *t)
{
    enum { FIRST = 10 }; /* step of a synthetic run */
    const struct inq_synth_truth *truth = inq_synth_truth(t->synth);
    const struct inq_account *account = t->report->account;
    double ns = 0.0;
    double healthy_ns = 0.0;

    for (size_t i = 0; i < account->n_steps; i++) {
        size_t at = (size_t)(account->steps[i].number - FIRST);
        ns += account->steps[i].judged ? (double)truth->step_ns[at] : 0.0;
        healthy_ns += account->steps[i].judged ? (double)truth->step_ns_healthy[at] : 0.0;
    }
    assert_true(ns > 0.0);
    return (ns - healthy_ns) / ns;
}

void test_synth_expect_loss(const char *spec, const char *cls)
{
    struct test_synth t = test_synth_open(spec, NULL);

    assert_string_equal(t.report->verdict.cls, cls);
    assert_true(t.report->findings[0].share > test_synth_lost_share(&t) - 0.01);
    assert_true(t.report->findings[0].share < test_synth_lost_share(&t) + 0.01);
    for (size_t i = 1; i < t.report->n_findings; i++) {
        assert_int_equal(t.report->findings[i].severity, INQ_SEVERITY_INFO);
    }
    test_synth_close(&t);
}

void test_synth_expect_cost(const char *spec, int64_t percent)
{
    struct test_synth t = test_synth_open(spec, NULL);
    int64_t truth = inq_synth_truth(t.synth)->faults[0].cost_ns_per_step;

    assert_string_equal(t.report->verdict.cls, inq_synth_truth(t.synth)->faults[0].finding);
    assert_in_range(t.report->findings[0].cost_ns_per_step, truth * (100 - percent) / 100,
                    truth * (100 + percent) / 100);
    test_synth_close(&t);
}

void test_synth_expect(const char *spec, const char *cls)
{
    struct test_synth t = test_synth_open(spec, NULL);

    assert_string_equal(t.report->verdict.cls, cls);
    for (size_t i = 1; i < t.report->n_findings; i++) {
        assert_int_equal(t.report->findings[i].severity, INQ_SEVERITY_INFO);
    }
    test_synth_close(&t);
}
