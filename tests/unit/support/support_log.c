/* SPDX-License-Identifier: Apache-2.0 */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void test_log_open(struct test_log *log, const struct inq_ingest_blob *blobs, size_t n)
{
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_err err = {0};
    *log = (struct test_log){0};
    assert_int_equal(inq_ingest_memory(blobs, n, &options, &log->run, &err), INQ_OK);
    if (log->run->n_traces > 0) {
        assert_int_equal(inq_analyze(log->run->traces[0], NULL, &log->report, &err), INQ_OK);
        log->failure = log->report->failure;
    }
}

void test_log_text(struct test_log *log, const char *name, const char *text)
{
    const struct inq_ingest_blob blob = {name, text, strlen(text)};
    test_log_open(log, &blob, 1);
}

void test_log_close(struct test_log *log)
{
    inq_report_free(log->report);
    inq_run_free(log->run);
    *log = (struct test_log){0};
}

const struct inq_log_event *test_log_event(const struct test_log *log, enum inq_log_kind kind,
                                           size_t n)
{
    if (log->run->n_traces == 0 || log->run->traces[0]->n_logs == 0) {
        return NULL;
    }
    const struct inq_log *of = log->run->traces[0]->logs[0];
    for (size_t i = 0; i < of->n_events; i++) {
        if (of->events[i].kind == kind && n-- == 0) {
            return &of->events[i];
        }
    }
    return NULL;
}

void test_log_expect(const struct test_log *log, const char *cls, const char *roots)
{
    char text[256] = "";
    size_t len = 0;
    assert_non_null(log->failure);
    for (size_t i = 0; i < log->failure->n_roots && len + 16 < sizeof text; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i > 0 ? "," : "",
                                (int)log->failure->root_ranks[i]);
    }
    assert_string_equal(inq_failure_class_text(log->failure->cls), cls);
    assert_string_equal(text, roots);
    for (size_t i = 0; i < log->failure->n_roots; i++) {
        for (size_t k = 0; k < log->failure->n_victims; k++) {
            assert_int_not_equal(log->failure->root_ranks[i], log->failure->victim_ranks[k]);
        }
    }
}

void test_log_says(const char *text, const char *cls, const char *roots, const char *says)
{
    struct test_log log;
    test_log_text(&log, "job.out", text);
    print_message("%s\n", says);
    test_log_expect(&log, cls, roots);
    if (strstr(log.failure->headline, says) == NULL) {
        print_message("  %s\n", log.failure->headline);
        assert_non_null(strstr(log.failure->headline, says));
    }
    test_log_close(&log);
}

void test_log_rows_say(const struct test_log_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        test_log_says(rows[i].text, rows[i].cls, rows[i].roots, rows[i].says);
    }
}
