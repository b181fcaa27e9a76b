/* SPDX-License-Identifier: Apache-2.0 */
/* What clouds, services and collectors write of a run, records within records, launchers that start
 * the workers again, and what the order of lines does not prove. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EVENT(kind, reason, text) "2026-03-14T10:00:02Z  " kind "  " reason "  " text "\n"

static void check_healthy(const char *text)
{
    struct test_log log;
    test_log_text(&log, "job.out", text);
    assert_null(log.failure);
    test_log_close(&log);
}

static void sources__services(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"host", "", "(b-3)",
         EVENT("Warning", "Evicted",
               "pod/b-3 Pod ephemeral local storage usage exceeds the limit")},
        {"scheduler", "", "(a)",
         EVENT("Normal", "Preempted", "workload/a Preempted to accommodate a workload")},
        {"scheduler", "", "no machine",
         "2026-03-14 10:58:20 Failed - CapacityError: no instances of that type\n"},
        {"scheduler", "", "quota",
         "2026-03-14 10:58:20 ERROR QuotaExceeded: Quota 'GPUS' exceeded. Limit: 8\n"},
        {"scheduler", "", "Slurm refused",
         "sbatch: error: Batch job submission failed: Invalid account\n"},
        {"scheduler", "", "taken back",
         TEST_LOG_STEPS "2026-03-14T10:02:50Z ERROR JobNodePreempted: node vm_81 was preempted\n"},
        {"application_error", "", "Process 4410 on n5 dumped core: Process 4410 (python3)",
         "Mar 14 10:03:11 n5 systemd-coredump[9021]: Process 4410 (python3) of user 1000 dumped "
         "core.\n"},
        {"gpu_hardware", "", "Xid 79",
         "E0314 10:04:11.118204 1811 health.go:160] XidCriticalError: Xid=79 on Device=GPU-8a1f\n"},
        {"network", "4", "resolve",
         "[rank4]: Traceback (most recent call last):\n[rank4]:   File \"t.py\", line 2, in f\n"
         "[rank4]: torch.distributed.DistNetworkError: llm-0 cannot be retrieved (gai error: "
         "-2)\n"},
        {"cpu_stall", "5", "Rank 5", /* its own monitor: nobody lost it */
         TEST_LOG_STEPS "2026-03-14 10:32:11,402 [ERROR] [RankMonitorServer:rank 5@n7] Did not get "
                        "subsequent heartbeat from rank 5 in 1800 seconds.\n"},
        {"application_error", "3", "KeyError",
         TEST_LOG_STEPS "[1,mpirank:3,algo-1]<stderr>:Traceback (most recent call last):\n"
                        "[1,mpirank:3,algo-1]<stderr>:  File \"t.py\", line 2, in f\n"
                        "[1,mpirank:3,algo-1]<stderr>:KeyError: 'label'\n"},
        {"driver_firmware", "3", "HCCL could not start",
         "[ERROR] 2026-03-14-10:00:54 (PID:927, Device:3, RankID:3) ERR02200 DIST call hccl api "
         "failed.\nEJ0001: 2026-03-14-10:00:54.167 Failed to initialize the HCCP process.\n"},
        {"cpu_stall", "6", "Rank 6",
         "E0314 10:12:35.165575 26 agent.cc:322] DEADLINE_EXCEEDED: Barrier timed out. The first "
         "task at the barrier: /job:w/replica:0/task:0. Some timed out task names:\n"
         "/job:w/replica:0/task:6\n"},
        {"application_error", "3", "Rank 3 aborted", /* PaddlePaddle's launcher */
         "ERROR 2026-03-14 10:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the "
         "trainer process with rank=[3] was aborted. Please check its log.\n"},
        {"unknown", "0", "Rank 0 exited with code 1",
         "LAUNCH ERROR 2026-03-14 10:35:54,385 Container failed !!!\nContainer rank 0 status "
         "failed "
         "cmd ['/usr/bin/python3', '-u', 'train.py'] code 1 log log/workerlog.0\n"},
        {"unknown", "", "DeepEP dispatch",
         TEST_LOG_STEPS
         "DeepEP dispatch NVL receiver timeout, channel: 0, RDMA: 1, nvl: 6, src nvl: 7\n"},
        {"gpu_hardware", "", "NVLink failed", /* the driver's words, not its number */
         "NVRM: Xid (PCI:0000:b9:00): 71, pid=<unknown>, NVLink: fatal error detected on link 6\n"},
        {"network", "", "transport retries exhausted", /* wherever rank 0's steps were flushed */
         "g8:90:690 [1] transport/net_ib.cc:137 NCCL WARN NET/IB : mlx5_3:1 Got async error event: "
         "port error\n"
         "g8:90:690 [1] transport/net_ib.cc:1310 NCCL WARN NET/IB: Got completion from peer "
         "10.9.0.31<38110> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n" TEST_LOG_STEPS},
        {"network", "", "port of",
         "g8:90:690 [1] transport/net_ib.cc:137 NCCL WARN NET/IB : "
         "mlx5_3:1 Got async error event: port error\n"},
        {"unknown", "", "process 207258 on 10.0.1.75",
         TEST_LOG_STEPS
         "(raylet) Worker IP address: 10.0.1.75 Worker port: 1 Worker PID: 207258 Worker exit "
         "type: SYSTEM_ERROR\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* A long exception says at its end what happened. */
static void sources__the_cause_within_an_exception(void **state)
{
    (void)state;
    test_log_says(
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"t.py\", line 2, in f\n"
        "[rank0]: requests.exceptions.SSLError: HTTPSConnectionPool(host='artifacts.corp', "
        "port=443): Max retries exceeded with url: /a/rather/long/path/of/an/artifact/that/"
        "says/nothing (Caused by SSLError('certificate has expired'))\n",
        "application_error", "0", "certificate has expired");
}

/* The least that a log without training output can end with. */
static void sources__a_refusal(void **state)
{
    (void)state;
    test_log_says("[NeMo I 2026-03-14 09:59:51 log:381] experiments at /results\n"
                  "Cannot open the table of shards\n",
                  "unknown", "", "Cannot open the table of shards");
    check_healthy("[NeMo I 2026-03-14 09:59:51 log:381] experiments at /results\n"
                  "the table of shards cannot be cached\n");
}

#define DOCKER(text, second)                                                                       \
    "{\"log\": \"" text "\\n\", \"stream\": \"stderr\", \"time\": \"2026-03-14T10:00:" second      \
    ".000Z\"}\n"
#define RECORD(rank, level, text)                                                                  \
    "{\\\"time\\\": \\\"2026-03-14T10:00:01Z\\\", \\\"level\\\": \\\"" level                       \
    "\\\", \\\"rank\\\": " rank ", \\\"message\\\": \\\"" text "\\\"}"

static void sources__records_within_records(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "3", "Rank 3 raised KeyError: 'a'",
         DOCKER("\\u001b[32m" RECORD("0", "INFO", "start") "\\u001b[0m", "01")
             DOCKER("\\u001b[31m" RECORD("3", "ERROR", "KeyError: 'a'") "\\u001b[0m", "02")},
        {"application_error", "3", "Rank 3 raised KeyError: 'a'", /* one record alone */
         "{\"time\": \"2026-03-14T10:00:01Z\", \"level\": \"ERROR\", \"rank\": 3, \"message\": "
         "\"KeyError: 'a'\"}\n"},
        {"application_error", "3", "Rank 3 raised KeyError: 'a'", /* behind a collector's stamp */
         "2026-03-14T10:00:01.000Z {\"time\": \"2026-03-14T10:00:01Z\", \"level\": \"ERROR\", "
         "\"rank\": 3, \"message\": \"KeyError: 'a'\"}\n"},
        {"gpu_hardware", "", "NVLink failed", /* a member tells more than the message */
         "2026-03-14T10:05:32.532Z {\"level\":\"info\",\"ts\":\"2026-03-14T10:05:35Z\",\"msg\":"
         "\"caught event\",\"details\":{\"severity\":\"warn\",\"message\":\"NVRM: Xid "
         "(PCI:0000:b9:00): 74, NVLink: fatal error detected on link 6\"}}\n"},
        {"application_error", "3", "Rank 3 raised KeyError: 'a'",
         "{\"level\":\"error\",\"ts\":\"2026-03-14T10:05:35Z\",\"rank\":\"3\",\"msg\":\"run "
         "failed\","
         "\"error\":\"KeyError: 'a'\"}\n"},
        {"application_error", "2", "Rank 2 raised ValueError: b", /* structlog's colors */
         "2026-03-14T10:00:01Z [\x1b[31mcritical \x1b[0m] crashed \x1b[36mrank\x1b[0m=\x1b[35m2"
         "\x1b[0m \x1b[36mexc\x1b[0m=\x1b[35mValueError: b\x1b[0m\n"},
        {"application_error", "2", "Rank 2 raised KeyError: 'a'", /* a heading behind stamps */
         "2026-03-14T10:00:01.000Z ===== rank 1 stderr =====\n2026-03-14T10:00:01.001Z start\n"
         "2026-03-14T10:00:01.002Z ===== rank 2 stderr =====\n"
         "2026-03-14T10:00:01.003Z KeyError: 'a'\n"},
        {"application_error", "2", "Rank 2 raised KeyError: 'a'", /* and in color */
         "\x1b[36m===== rank 2 stderr =====\x1b[0m\n\x1b[36mKeyError: 'a'\x1b[0m\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* What one start of the workers died of does not explain the next. */
static void sources__starts_are_apart(void **state)
{
    (void)state;
    static const char first[] =
        "2026-03-14T10:00:01.000Z step 1 loss 4.0\n2026-03-14T10:00:02.000Z step 2 loss 3.9\n"
        "2026-03-14T10:00:05.000Z [rank3]: ConnectionResetError: [Errno 104] Connection reset by "
        "peer\n2026-03-14T10:00:06.000Z [default] Worker group FAILED. 2/3 attempts left; will "
        "restart worker group\n2026-03-14T10:02:02.000Z step 2 loss 3.9\n"
        "2026-03-14T10:02:03.000Z step 3 loss 3.8\n";
    char text[1024];
    check_healthy(first);
    (void)snprintf(text, sizeof text, "%s%s", first,
                   "2026-03-14T10:03:00.000Z [rank1]: KeyError: 'a'\n");
    test_log_says(text, "application_error", "1", "start 2 of the workers");
}

/* However many there are. */
static void sources__every_start_counts(void **state)
{
    (void)state;
    enum { STARTS = 300, LINE = 160 };
    static char text[(STARTS + 2) * LINE];
    size_t n = (size_t)snprintf(text, LINE, "2026-03-14T09:00:00.000Z step 1 loss 4.0\n");
    for (int i = 0; i < STARTS; i++) {
        n += (size_t)snprintf(text + n, LINE,
                              "2026-03-14T10:%02d:%02d.000Z [default] Worker group FAILED. %d/400 "
                              "attempts left; will restart worker group\n",
                              i / 60, i % 60, 400 - i);
    }
    (void)snprintf(text + n, LINE, "2026-03-14T11:00:00.000Z [rank1]: KeyError: 'a'\n");
    test_log_says(text, "application_error", "1", "start 301 of the workers");
}

/* A kernel's line of before the last step of another log was survived, in one file as in two. */
static void sources__the_last_step_is_known(void **state)
{
    (void)state;
    static const char xid[] =
        "Mar 14 10:01:11 k9 kernel: NVRM: Xid (PCI:0000:ed:00): 145, RLW_REMAP "
        "Nonfatal XC0 i0 Link 11 (0x4 0x0)\n";
    char steps[8192];
    char both[9000];
    size_t n = 0;
    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(steps + n, sizeof steps - n,
                              "2026-03-14 10:%02d:%02d step %d loss %.3f\n", i / 3, i % 3 * 20,
                              i + 1, 4.0 - i * 0.01);
    }
    struct test_log log;
    const struct inq_ingest_blob blobs[] = {{.name = "kern.log", .bytes = xid, .n = strlen(xid)},
                                            {.name = "train.log", .bytes = steps, .n = n}};
    test_log_open(&log, blobs, 2);
    assert_null(log.failure);
    test_log_close(&log);
    (void)snprintf(both, sizeof both, "%s%s", steps, xid);
    check_healthy(both);
}

/* Rows that nobody is named in, behind what ended a process that is: they may have been held back
 * in its buffer, or be of others. */
static void sources__rows_of_others_prove_nothing(void **state)
{
    (void)state;
    enum { HELD_BACK = 64 };
    test_log_says("step: 0 loss: 4.1\n[rank6]: free(): double free detected\n[rank6]: Fatal Python "
                  "error: Aborted\n" TEST_LOG_STEPS,
                  "application_error", "6", "Rank 6 aborted");
    char text[4096];
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "step 0 loss 4.0\ng2:71:71 [0] misc/socket.cc:59 NCCL WARN Call to recv "
                         "from 10.4.1.19<53312> failed : Connection reset by peer\n");
    for (int i = 1; i < HELD_BACK; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "step %d loss 3.%02d\n", i, 99 - i);
    }
    test_log_says(text, "peer_died", "", "10.4.1.19");
    (void)snprintf(text + n, sizeof text - n, "step %d loss 3.01\n", HELD_BACK);
    check_healthy(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources__services),
        cmocka_unit_test(sources__the_cause_within_an_exception),
        cmocka_unit_test(sources__a_refusal),
        cmocka_unit_test(sources__records_within_records),
        cmocka_unit_test(sources__starts_are_apart),
        cmocka_unit_test(sources__every_start_counts),
        cmocka_unit_test(sources__the_last_step_is_known),
        cmocka_unit_test(sources__rows_of_others_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
