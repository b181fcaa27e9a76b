/* SPDX-License-Identifier: Apache-2.0 */
/* What analyze, fix, compare and check make of analyzed runs, in which the Nth allocation fails,
 * for every N there is: the whole document, or an error that says why. */
#include "base/json.h"
#include "base/mem.h"
#include "inquest/check.h"
#include "inquest/compare.h"
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/out.h"
#include "inquest/report.h"
#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct analyzed {
    struct inq_run *run;
    struct inq_report *report;
};

/* The slow GPU. */
static struct analyzed slow;
/* A slow GPU in as little as can be, and a healthy run to compare it with: a fix and a comparison
 * make very many allocations. */
static struct test_synth small, healthy;

static void analyze(const char *path, struct analyzed *to)
{
    struct inq_ingest_options how = {.jobs = 1};
    struct inq_analysis_options options = {.jobs = 1, .predict = inq_fix_predict};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest(&path, 1, &how, &to->run, &err), INQ_OK);
    assert_int_equal(inq_analyze(to->run->traces[0], &options, &to->report, &err), INQ_OK);
}

static int open_runs(void **state)
{
    (void)state;
    analyze(INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8", &slow);
    const struct inq_analysis_options options = {.jobs = 1, .predict = inq_fix_predict};
    small = test_synth_open("dp=2,steps=3,layers=2,fault=slow_gpu:rank=1:factor=1.5", &options);
    healthy = test_synth_open("dp=2,steps=3,layers=2,seed=2", &options);
    return 0;
}

static int close_runs(void **state)
{
    (void)state;
    test_synth_close(&small);
    test_synth_close(&healthy);
    inq_report_free(slow.report);
    inq_run_free(slow.run);
    return 0;
}

/* ---- what is done ---------------------------------------------------------------------------- */

typedef int (*command)(enum inq_format format, struct inq_out *out, struct inq_err *err);

static int fix(enum inq_format format, struct inq_out *out, struct inq_err *err)
{
    struct inq_report_options options = {.format = format, .verbose = true};
    struct inq_fix_options how = {.jobs = 1};
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    int code = inq_fix_base_of_run(small.run->traces[0], small.report, &base, err);
    code = code == INQ_OK ? inq_fix_study(base, small.report, &how, &fixes, err) : code;
    code = code == INQ_OK ? inq_fix_timeline(base, 2, fixes, err) : code;
    code = code == INQ_OK ? inq_fix_report(fixes, &options, inq_out_sink(out), err) : code;
    inq_fixes_free(fixes);
    inq_fix_base_free(base);
    return code;
}

/* From the trace on: sections that are lost say so. */
static int analysis(enum inq_format format, struct inq_out *out, struct inq_err *err)
{
    struct inq_report_options options = {.format = format, .verbose = true};
    struct inq_analysis_options how = {.jobs = 1, .predict = inq_fix_predict};
    struct inq_report *report = NULL;
    int code = inq_analyze(small.run->traces[0], &how, &report, err);
    code = code == INQ_OK
               ? inq_report_write(small.run, &report, 1, &options, inq_out_sink(out), err)
               : code;
    inq_report_free(report);
    return code;
}

static int compare(enum inq_format format, struct inq_out *out, struct inq_err *err)
{
    struct inq_report_options options = {.format = format, .verbose = true};
    struct inq_compare_options how = {0};
    struct inq_comparison *comparison = NULL;
    int code = inq_compare_runs(healthy.report, small.report, &how, &comparison, err);
    code =
        code == INQ_OK ? inq_comparison_report(comparison, &options, inq_out_sink(out), err) : code;
    inq_comparison_free(comparison);
    return code;
}

/* Against the run's own baseline, which is written and read back. */
static int check(enum inq_format format, struct inq_out *out, struct inq_err *err)
{
    struct inq_report_options options = {.format = format};
    struct inq_check_rules rules = {0};
    struct inq_snapshot now = {0};
    struct inq_snapshot pool = {0};
    struct inq_baseline base = {0};
    struct inq_check found = {0};
    struct inq_out text = {0};
    int code = inq_snapshot_of_report(slow.report, &now, err);
    code = code == INQ_OK ? inq_snapshot_pool(&pool, &now, err) : code;
    code = code == INQ_OK ? inq_baseline_write(&now, &rules, inq_out_sink(&text), err) : code;
    code = code == INQ_OK ? inq_baseline_read(text.buf, text.len, &base, err) : code;
    code = code == INQ_OK ? inq_check_compare(&now, &base, NULL, &found, err) : code;
    code = code == INQ_OK
               ? inq_check_report(&found, "slow", "base.json", &options, inq_out_sink(out), err)
               : code;
    inq_out_release(&text);
    inq_check_release(&found);
    inq_baseline_release(&base);
    inq_snapshot_release(&pool);
    inq_snapshot_release(&now);
    return code;
}

/* ---- every allocation ------------------------------------------------------------------------ */

/* What is not the whole document says that memory was short. */
static void try_all(command run, enum inq_format format)
{
    struct inq_out whole = {0};
    struct inq_err err = {0};
    struct cJSON *root = NULL;
    assert_int_equal(run(format, &whole, &err), INQ_OK);
    assert_true(whole.len > 100);
    assert_true(format != INQ_FORMAT_JSON ||
                inq_json_parse(whole.buf, whole.len, &root, &err) == INQ_OK);
    inq_json_free(root);
    bool struck = true;
    long n = 0;
    while (struck) {
        struct inq_out out = {0};
        err = (struct inq_err){0};
        (void)inq_mem_fail_after(++n);
        int code = run(format, &out, &err);
        struck = inq_mem_fail_after(0) == 0;
        if (code == INQ_OK) { /* all of it, or one part is said to be lost */
            bool same = out.len == whole.len && memcmp(out.buf, whole.buf, whole.len) == 0;
            assert_true(out.len > 100);
            if (!same && strstr(out.buf, "no memory") == NULL &&
                strstr(out.buf, "out of memory") == NULL) {
                fail_msg("N = %ld: another document, and no error\n%s", n, out.buf);
            }
        } else {
            assert_int_equal(code, INQ_NOMEM);
            if (strstr(err.message, "memory") == NULL) {
                fail_msg("N = %ld: %s", n, err.message);
            }
        }
        inq_out_release(&out);
    }
    print_message("up to allocation %ld\n", n);
    assert_true(n > 20);
    inq_out_release(&whole);
}

static void faults__in_analyze(void **state)
{
    (void)state;
    try_all(analysis, INQ_FORMAT_TEXT);
    try_all(analysis, INQ_FORMAT_JSON);
}

/* Analyses that ask whether other causes are there: of stages, links and uneven work. */
static void faults__in_analyze_of_other_causes(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "pp=2,steps=3,layers=2,micro_batches=2,lean=1,cpu_ops=0,fault=uneven_seq:sigma=0.6",
        "dp=2,tp=2,gpus_per_host=2,steps=3,layers=1,lean=1,cpu_ops=0,fault=slow_link:rank=3:factor="
        "4",
    };
    const struct inq_analysis_options options = {.jobs = 1, .predict = inq_fix_predict};
    struct test_synth slow_gpu = small;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        small = test_synth_open(specs[i], &options);
        try_all(analysis, INQ_FORMAT_TEXT);
        test_synth_close(&small);
    }
    small = slow_gpu;
}

static void faults__in_fix(void **state)
{
    (void)state;
    try_all(fix, INQ_FORMAT_TEXT);
}

static void faults__in_compare(void **state)
{
    (void)state;
    try_all(compare, INQ_FORMAT_TEXT);
    try_all(compare, INQ_FORMAT_JSON);
}

static void faults__in_check(void **state)
{
    (void)state;
    try_all(check, INQ_FORMAT_TEXT);
    try_all(check, INQ_FORMAT_JSON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults__in_analyze), cmocka_unit_test(faults__in_analyze_of_other_causes),
        cmocka_unit_test(faults__in_fix),     cmocka_unit_test(faults__in_compare),
        cmocka_unit_test(faults__in_check),
    };
    return cmocka_run_group_tests(tests, open_runs, close_runs);
}
