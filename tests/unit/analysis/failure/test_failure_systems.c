/* SPDX-License-Identifier: Apache-2.0 */
/* What batch systems, systemd, Kubernetes and the kernel report of a run; and whose exception it
 * is, by the label of its stream. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TRACEBACK "Traceback (most recent call last):\n"

static void systems__limits_of_batch_systems(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"scheduler", "", "walltime 14428",
         TEST_LOG_STEPS "=>> PBS: job killed: walltime 14428 exceeded limit 14400\n"},
        {"host", "", "mem 131072000kb",
         TEST_LOG_STEPS "=>> PBS: job killed: mem 131072000kb exceeded limit 125829120kb\n"},
        {"scheduler", "", "TERM_RUNLIMIT",
         TEST_LOG_STEPS
         "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit "
         "code 140.\n"},
        {"host", "", "TERM_MEMLIMIT",
         TEST_LOG_STEPS "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n"},
        {"host", "", "h_vmem",
         TEST_LOG_STEPS "03/14/2026 10:04:01|  main|n6|W|job 8812.1 exceeds job hard "
                        "limit \"h_vmem\" of queue \"gpu.q@n6\" - sending SIGKILL\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void systems__ends_as_others_report_them(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"unknown", "", "SIGKILL", TEST_LOG_STEPS "command terminated with exit code 137\n"},
        {"unknown", "", "SIGKILL",
         TEST_LOG_STEPS "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                        "=   PID 3312 RUNNING AT c-09\n=   EXIT CODE: 9\n"},
        {"application_error", "6", "MPI_Abort with error code 5",
         TEST_LOG_STEPS "Abort(5) on node 6 (rank 6 in comm 0): application called "
                        "MPI_Abort(MPI_COMM_WORLD, 5) - process 6\n"},
        {"unknown", "", "code 3",
         TEST_LOG_STEPS
         "Mar 14 10:04:09 n6 systemd[1]: train.service: Main process exited, code=exited, "
         "status=3/NOTIMPLEMENTED\n"},
        {"application_error", "", "SIGSEGV",
         TEST_LOG_STEPS
         "Mar 14 10:04:09 n6 systemd[1]: train.service: Main process exited, code=dumped, "
         "status=11/SEGV\n"},
        {"application_error", "", "index out of bounds",
         TEST_LOG_STEPS "thread '<unnamed>' panicked at src/tokenizer/mod.rs:512:41:\n"
                        "index out of bounds: the len is 128 but the index is 128\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void systems__containers_and_machines(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"scheduler", "", "sft-0",
         "2026-03-14T10:00:02Z  Warning  Failed   pod/sft-0  Failed to "
         "pull image \"registry.local/ml/train:v9\"\n"},
        {"scheduler", "", "deadline",
         "2026-03-14T12:00:02Z  Warning  DeadlineExceeded  job/p  Job "
         "was active longer than specified deadline\n"},
        {"host", "", "XFS",
         "Mar 14 10:04:01 n6 kernel: XFS (nvme2n1): Filesystem has been shut "
         "down due to log error (0x2).\n"},
        {"host", "", "evicted",
         "Mar 14 10:00:18 n3 kernel: LustreError: 167-0: "
         "scratch-OST0003: This client was evicted by scratch-OST0003\n"},
        {"scheduler", "", "taken back",
         TEST_LOG_STEPS "2026-03-14T10:04:05Z Spot instance interruption "
                        "notice received: action=terminate\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* An end with code 0 is none, and a program that speaks of codes goes on. */
/* Who says that a driver and its library do not fit: the kernel of a node, or a process on it. */
static void systems__versions_that_do_not_fit(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"driver_firmware", "", "on a node: NVRM",
         TEST_LOG_STEPS "NVRM: API mismatch: the client has the version 550.54.15, but\n"},
        {"driver_firmware", "", "on gx-2: NVRM",
         "Mar 14 10:03:01 gx-2 kernel: NVRM: API mismatch: the client has the version 550.54.15\n"},
        {"driver_firmware", "", "on a process: Failed",
         TEST_LOG_STEPS "Failed to initialize NVML: Driver/library version mismatch\n"},
        {"driver_firmware", "", "on a process on gx-2: Failed",
         "Mar 14 10:03:01 gx-2 python[33]: Failed to initialize NVML: Driver/library version "
         "mismatch\n"},
        {"driver_firmware", "3", "on rank 3: RuntimeError",
         TEST_LOG_STEPS "[rank3]: RuntimeError: The NVIDIA driver on your system is too old (found "
                        "version 11040)\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void systems__good_ends_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TEST_LOG_STEPS "container trainer exited with code 0\n",
        TEST_LOG_STEPS
        "2026-03-14 10:02:45 INFO evaluation: 3 of 164 programs ended with exit code 1\n",
        TEST_LOG_STEPS
        "Mar 14 10:04:09 n6 systemd[1]: train.service: Main process exited, code=exited, "
        "status=0/SUCCESS\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct test_log log;
        test_log_text(&log, "job.out", texts[i]);
        assert_null(log.failure);
        test_log_close(&log);
    }
}

/* A traceback is the end of its own stream: what other processes print behind it proves nothing. */
static void systems__a_traceback_ends_its_own_stream(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "1", "KeyError",
         "[rank1]: " TRACEBACK "[rank1]:   File \"train.py\", line 9, in main\n"
         "[rank1]: KeyError: 'tokens'\n" TEST_LOG_STEPS},
        {"application_error", "1", "rank 1",
         "-- Process 1 terminated with the following error:\n" TRACEBACK
         "  File \"fit.py\", line 5, in go\nKeyError: 'pixel_values'\n"},
        {"application_error", "3", "no batch within 30 s",
         TEST_LOG_STEPS "[rank3]: " TRACEBACK "[rank3]:   File \"train.py\", line 9, in main\n"
                        "[rank3]: TimeoutError: no batch within 30 s\n"},
    };
    test_log_rows_say(rows + 0, 1);
    struct test_log log;
    test_log_text(&log, "job.out", rows[1].text);
    test_log_expect(&log, rows[1].cls, rows[1].roots);
    test_log_close(&log);
    test_log_rows_say(rows + 2, 1);
    test_log_text(&log, "job.out",
                  "[rank1]: step: 0 loss: 4.0\n[rank1]: " TRACEBACK
                  "[rank1]:   File \"train.py\", line 9, in main\n"
                  "[rank1]: KeyError: 'tokens'\n[rank1]: step: 1 loss: 4.0\n"
                  "[rank1]: step: 2 loss: 4.0\n[rank1]: step: 3 loss: 4.0\n"
                  "[rank1]: step: 4 loss: 4.0\n[rank1]: step: 5 loss: 4.0\n"
                  "[rank1]: step: 6 loss: 4.0\n[rank1]: step: 7 loss: 4.0\n");
    assert_null(log.failure); /* its own later steps prove that it was caught */
    test_log_close(&log);
}

/* A fault of the kernel's log of days before the run is of another run. */
static void systems__faults_of_other_days(void **state)
{
    (void)state;
    static const char kernel[] =
        "Mar 10 06:01:20 n2 kernel: NVRM: Xid (PCI:0000:19:00): 31, pid=91, "
        "name=python, Ch 00000008\n";
    static const char *const runs[] = {"2026-03-14 10:00:00 step 1 loss 4.0\n",
                                       "2026-03-10 06:00:00 step 1 loss 4.0\n"};
    for (size_t i = 0; i < 2; i++) {
        const struct inq_ingest_blob blobs[] = {
            {.name = "kern.log", .bytes = kernel, .n = sizeof kernel - 1},
            {.name = "train.log", .bytes = runs[i], .n = strlen(runs[i])}};
        struct test_log log;
        test_log_open(&log, blobs, 2);
        assert_true((log.failure == NULL) == (i == 0));
        test_log_close(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems__limits_of_batch_systems),
        cmocka_unit_test(systems__ends_as_others_report_them),
        cmocka_unit_test(systems__containers_and_machines),
        cmocka_unit_test(systems__versions_that_do_not_fit),
        cmocka_unit_test(systems__good_ends_are_none),
        cmocka_unit_test(systems__a_traceback_ends_its_own_stream),
        cmocka_unit_test(systems__faults_of_other_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
