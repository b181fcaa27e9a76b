/* SPDX-License-Identifier: Apache-2.0 */
/* Logs whose every line is in a JSON object, or behind a label, tell what the bare lines tell. */
#include "ingest/log/wrap.h"
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOCKER(text, second)                                                                       \
    "{\"log\":\"" text "\\n\",\"stream\":\"stderr\",\"time\":\"2025-03-04T11:02:" second           \
    ".100000000Z\"}\n"
#define JOURNAL(text, second)                                                                      \
    "{\"__CURSOR\":\"s=1;i=2\",\"__REALTIME_TIMESTAMP\":\"17410861" second                         \
    "100000\",\"_HOSTNAME\":\"gpu-17\",\"PRIORITY\":\"3\",\"SYSLOG_IDENTIFIER\":\"kernel\","       \
    "\"MESSAGE\":\"" text "\"}\n"

/* What Docker keeps of a container: rank, frame, time, and the line as the program wrote it. */
static void log_wrap__of_a_container(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "0a1b-json.log",
                  DOCKER("step 7 loss 2.5", "01") DOCKER("step 8 loss 2.4", "02")
                      DOCKER("[rank3]: Traceback (most recent call last):", "10") DOCKER(
                          "[rank3]:   File \\\"/w/t.py\\\", line 31, in \\u003cmodule\\u003e", "10")
                          DOCKER("[rank3]: KeyError: 'caf\\u00e9'", "11"));
    test_log_expect(&log, "application_error", "3");
    const struct inq_log_event *event = test_log_event(&log, INQ_LOG_PYTHON_ERROR, 0);
    assert_non_null(event);
    assert_int_equal(event->line, 5);
    assert_string_equal(event->peer, "/w/t.py:31 in <module>");
    assert_string_equal(event->text,
                        "2025-03-04T11:02:11.100000000Z [rank3]: KeyError: 'caf\xc3\xa9'");
    assert_int_equal(log.run->traces[0]->logs[0]->n_metrics, 2);
    test_log_close(&log);
}

/* journalctl -o json: host, time and PCI address of an Xid. */
static void log_wrap__of_the_journal(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "journal.json",
                  JOURNAL("NVRM: GPU at PCI:0000:9b:00: GPU-5", "30")
                      JOURNAL("NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', "
                              "name=<unknown>, GPU has fallen off the bus.",
                              "31"));
    test_log_expect(&log, "gpu_hardware", "");
    const struct inq_log_event *event = test_log_event(&log, INQ_LOG_XID, 0);
    assert_non_null(event);
    assert_string_equal(event->host, "gpu-17");
    assert_true(event->time_ns == INT64_C(1741086131100000000));
    assert_int_equal(event->code, 79);
    test_log_close(&log);
}

/* A program's own JSON: several lines in one text, the stack beside it. */
static void log_wrap__of_a_program(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "app.json",
                  "{\"timestamp\": \"2025-03-04 11:02:10,5\", \"level\": \"INFO\", \"message\": "
                  "\"ready\"}\n"
                  "{\"timestamp\": \"2025-03-04 11:02:11,5\", \"level\": \"ERROR\", \"message\": "
                  "\"failed\", \"exc_info\": \"Traceback (most recent call last):\\n  File "
                  "\\\"t.py\\\", line 3, in f\\nOSError: [Errno 116] Stale file handle\"}\n");
    test_log_expect(&log, "host", "");
    assert_int_equal(test_log_event(&log, INQ_LOG_DISK, 0)->line, 2);
    test_log_close(&log);
}

/* Training output in JSON, a broken object and a bare line stay as they are. */
static void log_wrap__what_is_none(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "m.jsonl",
                  "{\"msg\": \"train\", \"time\": \"11:02\", \"step\": 1, \"loss\": 2.5}\n"
                  "{\"msg\": \"train\", \"time\": \"11:03\", \"step\": 2, \"loss\": 2.4}\n");
    assert_null(log.failure);
    assert_int_equal(log.run->traces[0]->logs[0]->n_metrics, 2);
    test_log_close(&log);
    test_log_text(&log, "c.log",
                  DOCKER("starts", "01") "{\"log\":\"[rank1]: KeyError: 'x'\n"
                                         "[rank2]: ValueError: bad\n");
    test_log_expect(&log, "application_error", "1");
    test_log_close(&log);
}

/* ---- labels ---- */

#define FOUR(label)                                                                                \
    label "step 1 loss 2.0\n" label "step 2 loss 2.0\n" label "step 3 loss 2.0\n" label            \
          "step 4 loss 2.0\n"
#define FAILS(label)                                                                               \
    label "Traceback (most recent call last):\n" label                                             \
          "  File \"/w/train.py\", line 61, in main\n" label "    step()\n" label                  \
          "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when "                         \
          "calling `cublasGemmEx( handle, opa)`\n"

/* What several machines wrote in turns: of which one it is, and its place and words. */
static void log_label__machines_and_pods(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
    } cases[] = {
        {FOUR("n01: ") FOUR("n02: ") FAILS("n02: "), "n02"},
        {"[runner.py:568] cmd = pdsh -w n01,n02\n" FOUR("n01: ") FOUR("10.0.0.2: ")
             FAILS("10.0.0.2: "),
         "10.0.0.2"},
        {FOUR("[pod/job-worker-0/pytorch] ") FOUR("[pod/job-worker-1/pytorch] ")
             FAILS("[pod/job-worker-1/pytorch] "),
         "job-worker-1"},
        {FOUR("trainer-0  | ") FOUR("trainer-10 | ") FAILS("trainer-10 | "), "trainer-10"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_log log;
        char line[200];
        test_log_text(&log, "all.log", cases[i].text);
        test_log_expect(&log, "cuda_error", "");
        (void)snprintf(line, sizeof line,
                       "A process on %s met a GPU error: CUBLAS_STATUS_EXECUTION_FAILED when "
                       "calling `cublasGemmEx` at /w/train.py:61 in main.",
                       cases[i].host);
        assert_string_equal(log.failure->headline, line);
        assert_string_equal(test_log_event(&log, INQ_LOG_CUDA_ERROR, 0)->host, cases[i].host);
        test_log_close(&log);
    }
}

/* Ranks of one machine that write in turns keep their own tracebacks. */
static void log_label__ranks_of_one_machine(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(
        &log, "all.log",
        FOUR("n1: [rank0]: ")
            FOUR("n1: [rank1]: ") "n1: [rank0]: Traceback (most recent call last):\n"
                                  "n1: [rank1]: Traceback (most recent call last):\n"
                                  "n1: [rank0]:   File \"/w/a.py\", line 1, in fa\n"
                                  "n1: [rank1]:   File \"/w/b.py\", line 2, in fb\n"
                                  "n1: [rank0]: KeyError: 'x'\n"
                                  "n1: [rank1]: torch.distributed.DistBackendError: NCCL error\n");
    test_log_expect(&log, "application_error", "0");
    assert_non_null(
        strstr(log.failure->headline, "Rank 0 on n1 raised KeyError: 'x' at /w/a.py:1"));
    test_log_close(&log);
}

static enum inq_log_wrapping labels_of(const char *text)
{
    return inq_log_wrapping_of(text, strlen(text));
}

/* Eight lines, three of four, each name four times; and names that no machine has. */
static void log_label__what_is_none(void **state)
{
    (void)state;
    assert_int_equal(labels_of(FOUR("n1: ") FOUR("n2: ")), INQ_LOG_HOSTS);
    assert_int_equal(labels_of(FOUR("n1: ") "n1: a\nn1: b\nn1: c\n"), INQ_LOG_BARE);
    assert_int_equal(labels_of(FOUR("n1: ") FOUR("n1: ") FOUR("n2: ") FOUR("")), INQ_LOG_HOSTS);
    assert_int_equal(labels_of(FOUR("n1: ") FOUR("n1: ") FOUR("n2: ") FOUR("") "\n"), INQ_LOG_BARE);
    assert_int_equal(labels_of(FOUR("n1: ") "n2: a\nn2: b\nn2: c\nn3: d\n"), INQ_LOG_BARE);
    static const char *const others[] = {
        "rank1: ", "INFO: ", "GPU0: ", "step_1: ", "1: ", "12.5: ", "Epoch 1: ", "conv: "};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[512] = "";
        for (int k = 0; k < 8; k++) {
            (void)strcat(strcat(text, others[i]), "a\n");
        }
        assert_int_equal(labels_of(text), INQ_LOG_BARE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_wrap__of_a_container),
        cmocka_unit_test(log_wrap__of_the_journal),
        cmocka_unit_test(log_wrap__of_a_program),
        cmocka_unit_test(log_wrap__what_is_none),
        cmocka_unit_test(log_label__machines_and_pods),
        cmocka_unit_test(log_label__ranks_of_one_machine),
        cmocka_unit_test(log_label__what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
