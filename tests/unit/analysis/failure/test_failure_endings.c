/* SPDX-License-Identifier: Apache-2.0 */
/* How processes and machines end in words that are nobody's table: last words, completion, nodes'
 * own logs, versions that differ, files put one behind another. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TALOS(level, text) "10.1.1.2: kern: " level ": [2026-03-14T10:03:11.108125566Z]: " text "\n"
#define SEL(text)          "1 | 03/14/2026 | 10:03:10 | " text "\n"
#define AGENT                                                                                      \
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 4 "      \
    "(pid: "                                                                                       \
    "77) of binary: python3\n"

static void check_healthy(const char *text)
{
    struct test_log log;
    test_log_text(&log, "job.out", text);
    assert_null(log.failure);
    test_log_close(&log);
}

static void endings__machines_and_limits(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"gpu_hardware", "", "GPU 0000:4c:00.0 on 10.1.1.2 fell off the bus",
         TALOS("warning", "NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus.")},
        {"host", "", "ran out (python3 invoked oom-killer",
         TALOS("warning", "python3 invoked oom-killer: gfp_mask=0xcc0, order=0")},
        {"host", "", "Power Supply",
         TEST_LOG_STEPS SEL("Power Supply #0x51 | Failure detected | Asserted")},
        {"gpu_hardware", "", "0000:2b:00.0",
         "[Tue Aug  4 20:51:21 2026] xe 0000:2b:00.0: [drm] Tile0: GT0: Timedout job: seqno=14\n"},
        {"host", "", "memory limit",
         TEST_LOG_STEPS "\tError from slot1_7@g2: Docker job has gone over memory limit of 9 Mb\n"},
        {"host", "", "MEM usage",
         TEST_LOG_STEPS "job 31 exceeded MEM usage hard limit (252800 > 112600)\n"},
        {"scheduler", "", "WALLTIME",
         TEST_LOG_STEPS "job 31 exceeded WALLTIME usage hard limit (7300 > 7200)\n"},
        {"host", "", "memory",
         TEST_LOG_STEPS "Terminated  Exit Code: 137, Exit Message: \"OOM Killed\"\n"},
        {"application_error", "", "superblock",
         "FATAL:   container creation failed: mount hook: bad superblock for the image\n"},
        {"application_error", "", "Permission denied", /* the reason, not that it failed */
         "slurmstepd: error: pyxis: container start failed with error code: 1\n"
         "slurmstepd: error: pyxis: printing enroot log file:\n"
         "slurmstepd: error: pyxis:     enroot-mount: failed to mount: /d: Permission denied\n"
         "slurmstepd: error: pyxis: couldn't start container\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
    check_healthy(TEST_LOG_STEPS SEL("Drive Slot #0x4 | Drive Present | Asserted"));
}

static void endings__exceptions(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "", "java.lang.IllegalStateException: store closed",
         TEST_LOG_STEPS "Exception in thread \"feeder-4\" java.lang.IllegalStateException: store "
                        "closed\n\tat com.c.Reader.next(Reader.java:41)\n"},
        {"application_error", "", "ValueError: label 51", /* not the group that it is in */
         TEST_LOG_STEPS "  + Exception Group Traceback (most recent call last):\n"
                        "  |   File \"feed.py\", line 40, in run\n"
                        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
                        "  +-+---------------- 1 ----------------\n"
                        "    | Traceback (most recent call last):\n"
                        "    |   File \"feed.py\", line 22, in fetch\n"
                        "    | ValueError: label 51 outside of 50 classes\n"},
        {"gpu_hardware", "5", "multi-bit ECC", /* words tell more than a code */
         "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"t.py\", line 2, in f\n"
         "[rank5]: RuntimeError: NPU function error: aclrtSync, error code is 507053\n"
         "[rank5]: [Error]: The HBM multi-bit ECC error is detected.\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* What other languages, shells and tools write when they end: none is in a table of causes. */
static void endings__other_forms(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"unknown", "", "no batch",
         TEST_LOG_STEPS "2026-03-14T10:05:00.123Z\terror\tfeed/feed.go:88\tno batch for 300 s\n"},
        {"unknown", "", "volume is read-only",
         TEST_LOG_STEPS "E0314 10:05:00.123456   81 main.go:20] volume is read-only\n"},
        {"unknown", "", "no shards left",
         TEST_LOG_STEPS "E0314 10:05:00.123456 81 feed.py:20] no shards left\n"},
        {"unknown", "", "spool is full",
         TEST_LOG_STEPS "<3>Mar 14 10:05:00 n7 t[8]: spool is full\n"},
        {"unknown", "", "checksum",
         TEST_LOG_STEPS "{\"ts\": \"10:05\", \"lvl\": \"ERROR\", \"msg\": \"checksum of p7\"}\n"},
        {"unknown", "", "NGPU: unbound variable", "./run.sh: line 41: NGPU: unbound variable\n"},
        {"application_error", "", "Exec format",
         "bash: ./t: cannot execute binary file: Exec format error\n"},
        {"application_error", "", "SIGABRT",
         TEST_LOG_STEPS "make: *** [Makefile:31: train] Error 134\n"},
        {"unknown", "", "dgesvd",
         TEST_LOG_STEPS "Error in fit(m) : lapack routine dgesvd returned 3\n"},
        {"unknown", "", "heap-buffer-overflow",
         TEST_LOG_STEPS "==44==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\n"},
        {"application_error", "", "reached its restart limit",
         TEST_LOG_STEPS "** (RuntimeError) supervisor 12 reached its restart limit\n"},
        {"application_error", "", "KeyError",
         TEST_LOG_STEPS "/srv/run.rb:88:in `fetch': key not found: :bucket (KeyError)\n"},
        {"application_error", "", "System.InvalidOperationException",
         TEST_LOG_STEPS "Unhandled exception. System.InvalidOperationException: Empty sequence\n"},
        {"application_error", "", "wrong arguments",
         "usage: t.py [-h]\nt.py: error: argument --data: expected one argument\n"},
        {"unknown", "", "code 70",
         TEST_LOG_STEPS "2026-03-14 10:05:00,123 INFO exited: t (exit status 70; not expected)\n"},
        {"unknown", "", "bad credentials",
         TEST_LOG_STEPS "[gx:0] XCCL WARN neighbor 4 gave bad credentials, aborting\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
    check_healthy(TEST_LOG_STEPS "<6>Mar 14 10:05:00 n7 t[8]: spool is full\n");
    check_healthy(TEST_LOG_STEPS "INFO error feedback is on\nusage hints: error bars are 95 %\n");
    check_healthy(TEST_LOG_STEPS "exited: t (exit status 0; expected)\n");
    check_healthy(TEST_LOG_STEPS "XCCL WARN neighbor 4 is slow\n");
}

/* sys.exit("...") leaves a line without a name or severity; what has one is no last word. */
static void endings__last_words(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"unknown", "4", "its last words are \"train.py: no tokens left on this shard\"",
         TEST_LOG_STEPS "[rank4]: train.py: no tokens left on this shard\n" AGENT},
        {"unknown", "4", "its own error message is not in these logs",
         TEST_LOG_STEPS "[rank4]: 2026-03-14 10:00:00 INFO saving the state\n" AGENT},
        {"unknown", "4", "its own error message is not in these logs",
         "[rank4]: no tokens left\n[rank4]: step: 9 loss: 3.2\n" AGENT},
        {"unknown", "12", "rank 12", /* whom the line is about */
         TEST_LOG_STEPS "2026-03-14 10:03:31 ERROR saver: rank 12 has not confirmed its shard\n"},
        {"unknown", "", "rank 12", /* who only waits is nobody's root */
         TEST_LOG_STEPS "2026-03-14 10:03:31 ERROR saver: rank 12 has not stopped waiting\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void endings__after_completion(void **state)
{
    (void)state;
#define TERM "2026-03-14 10:20:01 INFO received SIGTERM, leaving\n"
    check_healthy(TEST_LOG_STEPS "all epochs done, artifacts pushed\n" TERM);
    static const struct test_log_row rows[] = {
        {"unknown", "", "Stopped from outside", TEST_LOG_STEPS "epoch 3 done\n" TERM},
        {"unknown", "", "Stopped from outside", /* training goes on behind it */
         "all steps done\n" TEST_LOG_STEPS TERM},
        {"unknown", "", "503",
         TEST_LOG_STEPS "all epochs done, pushing\n"
                        "2026-03-14 10:09:00 ERROR pushing failed: 503 Slow Down\n" TERM},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void endings__versions(void **state)
{
    (void)state;
#define NCCL(host, text) host ":40:640 [0] NCCL " text "\n"
#define TRUNCATED        NCCL("n1", "WARN Message truncated : received 256 bytes instead of 64")
    static const struct test_log_row rows[] = {
        {"application_error", "", "2.18.3 and 2.21.5",
         NCCL("n0", "INFO NCCL version 2.18.3+cuda12.1")
             NCCL("n1", "INFO NCCL version 2.21.5+cuda12.4") TRUNCATED},
        {"collective_mismatch", "", "size of a message",
         NCCL("n0", "INFO NCCL version 2.21.5+cuda12.4")
             NCCL("n1", "INFO NCCL version 2.21.5+cuda12.4") TRUNCATED},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* A rank that all accuse is named, but not one whose own service speaks. */
static void endings__proxies(void **state)
{
    (void)state;
#define PROXY(n, r)                                                                                \
    "m2:92:692 [1] proxy.cc:1533 NCCL WARN [Proxy Service " n "] Failed to execute operation "     \
    "Setup from rank " r ", retcode 3\n"
    static const struct test_log_row rows[] = {
        {"unknown", "3", "rank 3", PROXY("1", "3")},
        {"unknown", "", "rank 3", PROXY("3", "3")},
        {"unknown", "", "rank", PROXY("1", "3") PROXY("1", "2")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* srun reports each task by itself: where all are killed, none stands out. */
static void endings__all_killed(void **state)
{
    (void)state;
#define LIMIT                                                                                      \
    "0: slurmstepd-n1: error: StepId=14.0 exceeded memory limit (129816 > 94371), being killed\n"
#define KILLED(t) "srun: error: n1: task " t ": Killed\n"
    static const char ranks[] = "0: INFO rank 0: pid 42 of world 3 on n1\n"
                                "1: INFO rank 1: pid 43 of world 3 on n1\n"
                                "2: INFO rank 2: pid 44 of world 3 on n1\n";
    char text[1024];
    (void)snprintf(text, sizeof text, "%s%s", ranks, LIMIT KILLED("0") KILLED("2") KILLED("1"));
    test_log_says(text, "host", "", "memory");
    (void)snprintf(text, sizeof text, "%s%s", ranks, LIMIT KILLED("1"));
    test_log_says(text, "host", "1", "memory");
}

/* Ranks' files one behind another: what follows an exception goes back in time, or no further. */
static void endings__files_put_together(void **state)
{
    (void)state;
#define RAISED                                                                                     \
    "Traceback (most recent call last):\n  File \"t.py\", line 2, in f\nIndexError: out of "       \
    "range\n"
#define AT(m, n) "2026-03-14 10:0" m ":00 INFO step " n " loss 3.0\n"
#define SIX(m)   AT(m, "1") AT(m, "2") AT(m, "3") AT(m, "4") AT(m, "5") AT(m, "6")
    static const struct test_log_row rows[] = {
        {"application_error", "", "IndexError", TEST_LOG_STEPS RAISED TEST_LOG_STEPS},
        {"application_error", "", "IndexError",
         AT("5", "1") AT("5", "2") RAISED SIX("4") AT("4", "7")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
    check_healthy(AT("5", "1") AT("5", "2") RAISED SIX("6") AT("6", "7")); /* it began again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings__machines_and_limits),
        cmocka_unit_test(endings__exceptions),
        cmocka_unit_test(endings__other_forms),
        cmocka_unit_test(endings__last_words),
        cmocka_unit_test(endings__after_completion),
        cmocka_unit_test(endings__versions),
        cmocka_unit_test(endings__proxies),
        cmocka_unit_test(endings__all_killed),
        cmocka_unit_test(endings__files_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
