/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a line is, in the forms in which loggers, collectors and launchers say it. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RED              "\x1b[31m"
#define PLAIN            "\x1b[0m"
#define STAMP            "\"time\": \"2026-03-14T10:00:0"
#define STEPS            "2026-03-14 10:00:00 step 1 loss 4.0\n2026-03-14 10:00:04 step 2 loss 3.9\n"
#define LATER(minute, n) "2026-03-14 10:0" #minute ":30 INFO step " #n " loss 3.5\n"

/* Colors around an object and in it, a rank beside the text, the text in an object of its own. */
static void speakers__records_in_color(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "3", "Rank 3 raised KeyError: 'a'",
         RED "{" STAMP "1Z\", \"rank\": 3, \"message\": \"start\"}" PLAIN "\n" RED "{" STAMP
             "2Z\", \"level\": \"ERROR\", \"rank\": 3, \"message\": \"KeyError: 'a'\"}" PLAIN "\n"},
        {"application_error", "5", "Rank 5 raised KeyError: 'b' at t.py:3 in f",
         "{" STAMP "1Z\", \"rank\": 5, \"message\": \"start\"}\n{" STAMP
         "2Z\", \"levelname\": \"\\u001b[31mERROR\\u001b[0m\", \"rank\": 5, \"message\": "
         "\"uncaught\\nTraceback (most recent call last):\\n  File \\\"t.py\\\", line 3, in f\\n"
         "KeyError: 'b'\"}\n"},
        {"application_error", "6", "Rank 6 raised KeyError: 'c'",
         "{\"timestamp\": \"2026-03-14T10:00:01Z\", \"jsonPayload\": {\"message\": \"KeyError: "
         "'c'\", \"rank\": 6}, \"severity\": \"ERROR\"}\n{\"timestamp\": \"2026-03-14T10:00:02Z\", "
         "\"jsonPayload\": {\"message\": \"bye\", \"labels\": {}}}\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* A rank among pairs of names and values, in front of the message or behind it. */
static void speakers__pairs(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "1", "Rank 1 raised ValueError: no such layer",
         "ts=2026-03-14T10:00:01Z level=error rank=1 msg=\"ValueError: no such layer\"\n"},
        {"application_error", "2", "ZeroDivisionError",
         "2026-03-14T10:00:01Z [" RED "critical " PLAIN "] crashed " RED "rank" PLAIN "=" RED
         "2" PLAIN " host=n7 exc=ZeroDivisionError('division by zero')\n"},
        {"application_error", "4", "Rank 4 on 10.0.0.3 raised ValueError",
         "(Worker pid=41, ip=10.0.0.3, rank=4) ValueError: shapes differ\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
    /* a rank that is talked of is not the one that speaks */
    static const struct test_log_row others[] = {
        {"unknown", "", "lost peer rank=4",
         "2026-03-14 10:00:01 ERROR lost peer rank=4 addr=10.0.0.4 giving up\n"},
    };
    test_log_rows_say(others, 1);
}

/* Several files in one, with headings: a part proves nothing of another one's end. */
static void speakers__headings(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "1", "Rank 1 raised KeyError: 'd'",
         "===== rank 1 stderr =====\n" STEPS
         "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\nKeyError: 'd'\n"
         "===== rank 2 stderr =====\n" STEPS "2026-03-14 10:00:08 step 3 loss 3.8\n"
         "2026-03-14 10:00:12 step 4 loss 3.8\n2026-03-14 10:00:16 step 5 loss 3.8\n"
         "2026-03-14 10:00:20 step 6 loss 3.8\n2026-03-14 10:00:24 step 7 loss 3.8\n"},
        {"application_error", "3", "Rank 3 raised RuntimeError: odd shape",
         "==> out/rank_0.err <==\n" STEPS "\n==> out/rank_3.err <==\n" STEPS
         "RuntimeError: odd shape\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* Lists of ranks in words, and what is waited in. */
static void speakers__those_waited_for(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"peer_died", "1,4,6", "anks 1,4,6",
         STEPS "2026-03-14 10:20:00 ERROR supervisor: ranks 1, 4 and 6 have sent no heartbeat for "
               "600 s; ending the job\n"},
        {"cpu_stall", "2,5", "never entered the barrier",
         STEPS "[rank0]: RuntimeError: [Rank 0]: Ranks 2, 5 failed to pass monitoredBarrier in "
               "1800000 ms\n"},
        {"cpu_stall", "1", "(grad/a, grad/b)",
         STEPS "tensors were submitted by subset of ranks and are waiting for remainder of ranks\n"
               "Missing ranks:\n1: [grad/a, grad/b]\n"},
        {"peer_died", "5", "ank 5",
         "E0314 10:09:38.594192 1044 coordination_service.cc:1031] /job:jax_worker/replica:0/"
         "task:5 unexpectedly disconnected. The task may have crashed.\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* A line of no rank is of the only process that ended by itself, not of one that was killed. */
static void speakers__the_one_that_ended(void **state)
{
    (void)state;
#define FAULT                                                                                      \
    "Memory access fault by GPU node-5 (Agent handle: 0x55e1f10) on address 0x7f11. Reason: Page " \
    "not present or supervisor privilege.\n"
#define FAILED(code)                                                                               \
    "failed (exitcode: " code ") local_rank: 1 (pid: 4021) of binary: python\n"                    \
    "  rank      : 1 (local_rank: 1)\n  exitcode  : " code " (pid: 4021)\n"
    static const struct test_log_row rows[] = {
        {"cuda_error", "1", "Rank 1", STEPS FAULT FAILED("-6")},
        {"cuda_error", "", "A process", STEPS FAULT FAILED("-9")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* What machines and launchers say. */
static void speakers__machines(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"scheduler", "", "TIMED", STEPS "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 3600s\n"},
        {"scheduler", "", "expired", STEPS "fjob: resource allocation expired\n"},
        {"host", "", "Prolog failed",
         "srun: error: Task launch for StepId=81.0 failed on node n21: Prolog failed\n"},
        {"host", "", "Too many open files",
         "g7:77:701 [7] misc/socket.cc:588 NCCL WARN socketCreate: Socket creation failed : Too "
         "many open files\n"},
        /* rows that were flushed after the launcher's word of a task do not belie it */
        {"host", "11", "Rank 11 on n14 was killed",
         "srun: error: n14: task 11: Out Of Memory\n" STEPS LATER(1, 3) LATER(1, 4) LATER(2, 5)
             LATER(2, 6) LATER(3, 7) LATER(3, 8) LATER(4, 9)},
        {"application_error", "", "Process 5122 on c7 met a segmentation fault",
         "[c7:5122:0:5130] Caught signal 11 (Segmentation fault: address not mapped)\n"},
        {"host", "", "n14",
         "slurmstepd-n14: error: Detected 1 oom_kill event in StepId=55.0. Some of the step tasks "
         "have been OOM Killed.\n"},
        {"host", "", "(llm-5) because its node ran out of memory",
         STEPS "3m   Warning   Evicted   pod/llm-5   The node was low on resource: memory. "
               "Threshold quantity: 100Mi, available: 41212Ki.\n"},
        {"host", "", "local disk",
         STEPS "3m   Warning   Evicted   pod/llm-5   The node was low on resource: "
               "ephemeral-storage. Threshold quantity: 100Mi.\n"},
        {"unknown", "", "nvshmem setup connections failed",
         "/opt/nvshmem/src/host/init/init.cu:1007: non-zero status: 7 nvshmem setup connections "
         "failed\n"},
        {"gpu_hardware", "", "NVSwitch failed",
         STEPS "[Mar 14 2026 10:05:00] [ERROR] [tid 2210] failed to train NVLink between GPU 3 and "
               "NVSwitch 1, link 12\n"},
        /* put in front of output that its times say is older */
        {"gpu_hardware", "", "NVSwitch failed",
         "[Mar 14 2026 10:05:00] [ERROR] [tid 2210] failed to train NVLink between GPU 3 and "
         "NVSwitch 1, link 12\n" STEPS LATER(0, 3) LATER(1, 4) LATER(1, 5) LATER(2, 6) LATER(2, 7)
             LATER(3, 8) LATER(3, 9)},
        {"numerical_divergence", "", "loss 390.6",
         STEPS "2026-03-14 10:12:00 ERROR guard: loss 390.6 is 170x its median, aborting run\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* Megatron counts its NaN iterations and prints no loss for them; one is an accident. */
static void speakers__counted_nans(void **state)
{
    (void)state;
#define ROW(n, nan)                                                                                \
    " [2026-03-14 10:00:0" n "] iteration " n "/ 900 | loss scale: 1.0 | number of skipped "       \
    "iterations: " nan " | number of nan iterations: " nan " |\n"
    static const struct test_log_row rows[] = {
        {"numerical_divergence", "", "nan iterations: 1",
         STEPS ROW("3", "0") ROW("4", "1") ROW("5", "1")},
    };
    test_log_rows_say(rows, 1);
    struct test_log log;
    test_log_text(&log, "job.out", STEPS ROW("3", "0") ROW("4", "0") ROW("5", "1"));
    assert_null(log.failure);
    test_log_close(&log);
}

/* Lines of ranks in any order: what stands behind another rank's traceback is not its source, and
 * an exception that the runtime prints without a label has the one with which it was noticed. */
static void speakers__lines_of_others_between(void **state)
{
    (void)state;
#define THROWN                                                                                     \
    "Process group watchdog thread terminated with exception: CUDA error: an illegal "             \
    "memory access was encountered\n"
    static const struct test_log_row rows[] = {
        {"collective_mismatch", "1", "different sizes (196 and 68 bytes)",
         "[default1]:terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
         "[default0]:Traceback (most recent call last):\n"
         "[default0]:  File \"/srv/fit.py\", line 227, in <module>\n"
         "[default1]:  what():  [enforce fail at ./gloo/transport/tcp/pair.cc:510] "
         "op.preamble.length <= op.nbytes. 196 vs 68\n"
         "[default0]:    main()\n"
         "[default0]:RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error "
         "[127.0.0.1]:41655: Connection reset by peer\n"},
        /* the text of a program may hold any words */
        {"application_error", "0", "KeyError: 'a'",
         "[default0]:Traceback (most recent call last):\n"
         "[default0]:  File \"/srv/fit.py\", line 227, in <module>\n"
         "[default1]:2026-03-14 10:00:00 step 1 loss 4.0\n"
         "[default0]:    raise SystemError(\"CUDA error: an illegal memory access\")\n"
         "[default0]:KeyError: 'a'\n"},
        {"cuda_error", "7", "Rank 7 made an illegal memory access",
         STEPS "[rank7]:[E ProcessGroupNCCL.cpp:2057] [PG ID 2 PG GUID 3(fsdp) Rank 7] " THROWN
               "terminate called after throwing an instance of 'c10::DistBackendError'\n"
               "  what():  [PG ID 2 PG GUID 3(fsdp) Rank 7] " THROWN LATER(3, 3) LATER(4, 4)
                   LATER(5, 5) LATER(6, 6) LATER(7, 7) LATER(8, 8) LATER(9, 9)},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speakers__records_in_color),
        cmocka_unit_test(speakers__pairs),
        cmocka_unit_test(speakers__headings),
        cmocka_unit_test(speakers__those_waited_for),
        cmocka_unit_test(speakers__the_one_that_ended),
        cmocka_unit_test(speakers__machines),
        cmocka_unit_test(speakers__counted_nans),
        cmocka_unit_test(speakers__lines_of_others_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
