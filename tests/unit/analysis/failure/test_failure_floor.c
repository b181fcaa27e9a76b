/* SPDX-License-Identifier: Apache-2.0 */
/* The floor: whatever ended a run badly is told, known or not; what is no log has no record; and
 * the order in which processes were flushed decides nothing. */
#include "inquest/out.h"
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *what, *cls, *roots;
    const char *says; /* in the headline; NULL anything */
    const char *text;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct test_log log;
        print_message("%s\n", rows[i].what);
        test_log_text(&log, "job.out", rows[i].text);
        test_log_expect(&log, rows[i].cls, rows[i].roots);
        if (rows[i].says != NULL && strstr(log.failure->headline, rows[i].says) == NULL) {
            print_message("  %s\n", log.failure->headline);
            assert_non_null(strstr(log.failure->headline, rows[i].says));
        }
        assert_true(log.report->n_findings > 0);
        assert_int_equal(log.report->findings[0].kind, INQ_FINDING_FAILURE);
        assert_int_equal(log.report->findings[0].severity, INQ_SEVERITY_HIGH);
        test_log_close(&log);
    }
}

/* Nothing in these lines is in any table but that they are errors. */
static void floor__tells_any_line_of_error_severity(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"logging", "unknown", "", "quux service answered 77",
         TEST_LOG_STEPS "2025-03-01 12:00:00,123 - trainer - ERROR - quux service answered 77\n"},
        {"in brackets", "unknown", "", "flux capacitor",
         TEST_LOG_STEPS "[ERROR] flux capacitor is empty\n"},
        {"glog", "unknown", "", "is full\" (rank 3)",
         TEST_LOG_STEPS "[rank3]:[E607 17:52:21.812004031 widget.cpp:63] widget table is full\n"},
        {"a program's own", "unknown", "", "disk shelf 4",
         TEST_LOG_STEPS "flurbd: fatal: disk shelf 4 is on fire\n"},
        {"an exception without a usual name", "application_error", "", "raised queue.Empty",
         TEST_LOG_STEPS "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n"
                        "    item = q.get_nowait()\nqueue.Empty\n"},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* A progress bar goes back to its line's start; what it prints next is no part of the message. */
static void floor__progress_bars_share_the_line(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"behind an error", "unknown", "", "flux capacitor is empty\"",
         TEST_LOG_STEPS "\rtraining:  41%|####      | 41/100\r[ERROR] flux capacitor is empty"
                        "\rtraining:  42%|####      | 42/100\n"},
        {"behind an exception", "application_error", "", "KeyError: 'tokens' at train.py:9 in main",
         TEST_LOG_STEPS "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n"
                        "KeyError: 'tokens'\rtraining:  42%|####      | 42/100\n"},
        {"lines that end as on Windows", "application_error", "",
         "KeyError: 'tokens' at train.py:9 in main",
         TEST_LOG_STEPS "Traceback (most recent call last):\r\n  File \"train.py\", line 9, in "
                        "main\r\nKeyError: 'tokens'\r\n"},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* A message may speak of what peers do; the exception is the process's own all the same. */
static void floor__own_exceptions_are_not_denied(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a store that is no TCPStore", "application_error", "", "feature store has no shard 7",
         TEST_LOG_STEPS "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n"
                        "RuntimeError: feature store has no shard 7\n"},
        {"one that speaks of a connection", "application_error", "", "train.py:9 in main",
         "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n"
         "  File \"/x/lib/python3.11/site-packages/h/hub.py\", line 3, in get\n"
         "RuntimeError: Connection string is malformed\n"},
        {"rows that were flushed after it", "application_error", "", "KeyError",
         "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n"
         "KeyError: 'tokens'\n" TEST_LOG_STEPS},
        {"memory that a library of XLA lacks", "application_error", "", "RESOURCE_EXHAUSTED",
         TEST_LOG_STEPS
         "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: message larger than "
         "max\n"},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* Lines with scary words in runs that came to their end. */
static void floor__is_quiet_where_the_run_went_on(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "INFO pruning: Killed 3% of weights\n",
        "Killed 3% of weights in layer 4\n",
        "WARNING: no NaN detected, CUDA out of memory was avoided\n",
        "INFO recovered from an earlier CUDA error: retrying\n",
        "[INFO] Error count: 0\n",
        "2025-03-01 12:00:00 INFO ValueError: handled\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct inq_out out = {0};
        struct test_log log;
        inq_out_printf(&out, "%s%s", TEST_LOG_STEPS, lines[i]);
        const struct inq_ingest_blob blob = {"job.out", out.buf, out.len};
        test_log_open(&log, &blob, 1);
        print_message("%s", lines[i]);
        assert_null(log.failure);
        test_log_close(&log);
        inq_out_release(&out);
    }
    struct test_log log;
    test_log_text(&log, "job.out",
                  TEST_LOG_STEPS "[ERROR] could not upload metrics\nTraining completed\n");
    assert_null(log.failure);
    test_log_close(&log);
}

/* What lies beside the traces. */
static void floor__code_and_documents_are_no_logs(void **state)
{
    (void)state;
    static const char python[] = "import os\n\ndef main(x):\n    \"\"\"\n    ValueError: if x is "
                                 "bad\n    \"\"\"\n    raise ValueError(x)\n";
    static const char markdown[] = "# Notes\n\nOn failure it prints\n\nRuntimeError: CUDA out of "
                                   "memory\n";
    const struct inq_ingest_blob blobs[] = {{"README.md", markdown, strlen(markdown)},
                                            {"conf.yaml", "error: 3\nloss: 4\n", 17},
                                            {"snapshot", python, strlen(python)},
                                            {"train.py", python, strlen(python)}};
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++) {
        struct test_log log;
        print_message("%s\n", blobs[i].name);
        test_log_open(&log, &blobs[i], 1);
        assert_int_equal(log.run->n_traces, 0);
        test_log_close(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor__tells_any_line_of_error_severity),
        cmocka_unit_test(floor__progress_bars_share_the_line),
        cmocka_unit_test(floor__own_exceptions_are_not_denied),
        cmocka_unit_test(floor__is_quiet_where_the_run_went_on),
        cmocka_unit_test(floor__code_and_documents_are_no_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
