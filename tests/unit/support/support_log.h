/* SPDX-License-Identifier: Apache-2.0 */
/* Text logs from memory through ingest and analysis. */
#ifndef INQ_TEST_SUPPORT_LOG_H
#define INQ_TEST_SUPPORT_LOG_H

#include "inquest/failure.h"
#include "inquest/ingest.h"
#include "inquest/log.h"

/* Eight steps of a run that goes well. */
#define TEST_LOG_STEPS                                                                             \
    "step: 1 loss: 4.0\nstep: 2 loss: 3.9\nstep: 3 loss: 3.8\nstep: 4 loss: 3.7\n"                 \
    "step: 5 loss: 3.6\nstep: 6 loss: 3.5\nstep: 7 loss: 3.4\nstep: 8 loss: 3.3\n"

struct test_log {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_failure *failure; /* NULL: none told of */
};

/* Reads and analyses files that are in memory; fails the test when that cannot be. Without any
 * log the report is NULL. */
void test_log_open(struct test_log *log, const struct inq_ingest_blob *blobs, size_t n);
/* The same for one text. */
void test_log_text(struct test_log *log, const char *name, const char *text);
void test_log_close(struct test_log *log);
/* The n-th event of a kind in the first log; NULL when there is none. */
const struct inq_log_event *test_log_event(const struct test_log *log, enum inq_log_kind kind,
                                           size_t n);
/* Class, and the roots as "0,4" ("" none). */
void test_log_expect(const struct test_log *log, const char *cls, const char *roots);
/* The same of a log with this text, and that `says` is in the headline. */
void test_log_says(const char *text, const char *cls, const char *roots, const char *says);

struct test_log_row {
    const char *cls, *roots;
    const char *says; /* in the headline */
    const char *text;
};
/* The same of each row. */
void test_log_rows_say(const struct test_log_row *rows, size_t n);

#endif
