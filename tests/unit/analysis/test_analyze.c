/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of analyses and the frame of a report. */
#include "inquest/analysis.h"

#include "base/mem.h"
#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void registry__names_are_unique_and_described(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_analysis *all = inq_analyses(&n);

    for (size_t i = 0; i < n; i++) {
        assert_non_null(all[i].name);
        assert_non_null(all[i].run);
        assert_true(strlen(all[i].summary) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(all[i].name, all[j].name);
        }
    }
}

static void analyze__refuses_an_unknown_name(void **state)
{
    (void)state;
    const char *only[] = {"no_such_analysis"};
    struct inq_trace trace = {0};
    struct inq_analysis_options options = {.only = only, .n_only = 1};
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    assert_int_equal(inq_analyze(&trace, &options, &report, &err), INQ_USAGE);
    assert_null(report);
    assert_non_null(strstr(err.message, "no_such_analysis"));
}

static void analyze__empty_trace_gives_an_empty_report(void **state)
{
    (void)state;
    struct inq_trace trace = {0};
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    assert_int_equal(inq_analyze(&trace, NULL, &report, &err), INQ_OK);
    assert_non_null(report);
    assert_ptr_equal(report->trace, &trace);
    assert_int_equal(report->step_ns_median, -1);
    assert_int_equal(report->n_rank_times, 0);
    assert_null(report->reference);
    assert_non_null(report->verdict.headline);
    inq_report_free(report);
}

static void texts__every_value_has_its_word(void **state)
{
    (void)state;
    for (int i = 0; i < INQ_FINDING_KIND_COUNT; i++) {
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(inq_finding_kind_text((enum inq_finding_kind)i),
                                    inq_finding_kind_text((enum inq_finding_kind)j));
        }
    }
    assert_string_equal(inq_finding_kind_text(INQ_FINDING_SLOW_GPU), "slow_gpu");
    assert_string_equal(inq_severity_text(INQ_SEVERITY_HIGH), "high");
    assert_string_equal(inq_confidence_text(INQ_CONFIDENCE_ESTABLISHED), "established");
    assert_string_equal(inq_method_text(INQ_METHOD_TRACELENS), "tracelens");
}

static size_t count_failed(const struct inq_report *report)
{
    size_t n = 0;
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        n += report->sections[s].reason != NULL;
    }
    return n;
}

static void analyze__survives_every_failed_allocation(void **state)
{
    (void)state;
    static const enum inq_method methods[] = {INQ_METHOD_INQUEST, INQ_METHOD_HTA,
                                              INQ_METHOD_TRACELENS};
    const char *paths[] = {INQ_SHARED_DATA "/kineto/megatron_tp2"};
    struct stat info;
    struct inq_run *run = NULL;

    if (stat(paths[0], &info) != 0) {
        print_message("skipped: there is no %s\n", paths[0]);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
    assert_int_equal(run->n_traces, 1);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct inq_analysis_options options = {.jobs = 1, .method = methods[i]};
        bool whole = false;
        size_t parts = 0; /* reports in which one section failed */
        for (long n = 1; !whole && n < 1000000; n += 1 + n / 32) {
            struct inq_report *report = NULL;
            inq_mem_fail_after(n);
            int code = inq_analyze(run->traces[0], &options, &report, NULL);
            inq_mem_fail_after(0);
            assert_true(code == INQ_OK || (code == INQ_NOMEM && !report));
            size_t failed = report ? count_failed(report) : 1;
            assert_true(failed <= 5); /* the account, and the four that need it */
            assert_true(!report || !inq_report_is_void(report));
            whole = failed == 0;
            parts += report && failed > 0;
            inq_report_free(report);
        }
        assert_true(whole);
        assert_true(parts > 10);
    }
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry__names_are_unique_and_described),
        cmocka_unit_test(analyze__refuses_an_unknown_name),
        cmocka_unit_test(analyze__empty_trace_gives_an_empty_report),
        cmocka_unit_test(texts__every_value_has_its_word),
        cmocka_unit_test(analyze__survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
