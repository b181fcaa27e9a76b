/* SPDX-License-Identifier: Apache-2.0 */
/* What a headline quotes and where it says that a program failed; ranks that say nothing. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LIBRARY                                                                                    \
    "  File \"/opt/conda/lib/python3.11/site-packages/hub/http.py\", line 409, in check\n"

#define WARNED(rank, what)                                                                         \
    "[rank" rank "]: n0:20" rank ":21" rank " [" rank "] enqueue.cc:4 NCCL WARN " what "\n"
#define FAILED(rank)                                                                               \
    "[rank" rank "]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:9, "  \
    "internal error, NCCL version 2.21.5\n"

static void quotes__the_place_in_the_users_code(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "", "401 Client Error at sft.py:60 in main",
         "Traceback (most recent call last):\n" LIBRARY "hub.HTTPError: 401 Client Error\n\n"
         "The above exception was the direct cause of the following exception:\n\n"
         "Traceback (most recent call last):\n  File \"sft.py\", line 60, in main\n    load()\n"
         "  File \"/opt/conda/lib/python3.11/site-packages/hub/load.py\", line 3, in load\n"
         "OSError: You are trying to access a gated repo.\n"},
        {"application_error", "", "KeyError: 'a' at sft.py:61 in main",
         "Traceback (most recent call last):\n" LIBRARY "KeyError: 'a'\n\n"
         "During handling of the above exception, another exception occurred:\n\n"
         "Traceback (most recent call last):\n" LIBRARY "hub.Missing: no such key\n\n"
         "During handling of the above exception, another exception occurred:\n\n"
         "Traceback (most recent call last):\n  File \"sft.py\", line 61, in main\n"
         "RuntimeError: could not load\n"},
        {"application_error", "2", "segmentation fault at /w/fused.py:31 in forward",
         TEST_LOG_STEPS
         "[rank2]: Fatal Python error: Segmentation fault\n[rank2]: \n"
         "[rank2]: Thread 0x00007f1b1f7fe641 (most recent call first):\n"
         "[rank2]:   File \"/w/idle.py\", line 3 in wait\n[rank2]: \n"
         "[rank2]: Current thread 0x00007f1b1f7fe640 (most recent call first):\n"
         "[rank2]:   File \"/opt/conda/lib/python3.11/site-packages/torch/nn.py\", line 5 in call\n"
         "[rank2]:   File \"/w/fused.py\", line 31 in forward\n"
         "[rank2]:   File \"/w/train.py\", line 88 in step\n"},
        {"application_error", "", "libcudart.so.12",
         "python: error while loading shared libraries: libcudart.so.12: cannot open shared object "
         "file: No such file or directory\n"},
        {"application_error", "", "version `GLIBC_2.34' not found",
         "python: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by "
         "/opt/env/lib/libnccl.so.2)\n"},
        {"host", "", "ran out (1 Workers (tasks / actors) killed due to memory pressure",
         TEST_LOG_STEPS
         "(raylet, ip=10.0.3.4) [2025-02-02 10:11:12,331 E 2201 2201] (raylet) "
         "node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM)\n"},
        {"host", "", "stuck in the kernel: CPU#44 stuck for 26s! [python:2211]",
         "[  991.123456] watchdog: BUG: soft lockup - CPU#44 stuck for 26s! [python:2211]\n"
         "[ 1019.123456] watchdog: BUG: soft lockup - CPU#44 stuck for 52s! [python:2211]\n"},
        {"network", "", "other end failed: Coordination agent is set to ERROR",
         "2025-01-01 10:11:12.1: E tensorflow/core/coordination_service_agent.cc:678] Coordination "
         "agent is set to ERROR: UNAVAILABLE: failed to connect to all addresses\n"
         "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted by: "
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.9:2222: Failed to "
         "connect to remote host: Connection refused\n"},
        {"host", "",
         "A process on llama-worker-3 was killed for memory: the container or node ran out "
         "(Reason: OOMKilled",
         "Name:             llama-worker-3\nNode:             gke-7/10.4.0.19\nContainers:\n"
         "  pytorch:\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit "
         "Code:    137\n"},
        {"application_error", "", "KeyError: 'mask' at /w/model.py:12 in forward.",
         "job-worker-1 pytorch step 1 loss 2.5\njob-worker-1 pytorch Traceback (most recent call "
         "last):\njob-worker-1 pytorch   File \"/w/model.py\", line 12, in forward\njob-worker-0 "
         "pytorch step 2 loss 2.4\njob-worker-1 pytorch     y = x['mask']\njob-worker-1 pytorch "
         "KeyError: 'mask'\n"},
        {"scheduler", "", "Kubernetes evicted the container",
         "2m   Normal   Killing   pod/train-3   Stopping container main\n2m   Warning  "
         "NodeShutdown  pod/train-3  Pod was terminated in response to imminent node shutdown.\n"},
        {"unknown", "", "SIGTERM", TEST_LOG_STEPS "WARNING received signal SIGTERM, saving\n"},
        {"cuda_oom", "",
         "2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.12 GiB is free.",
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
         "total "
         "capacity of 79.15 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this "
         "process has 78.02 GiB memory in use.\n"},
        {"collective_mismatch", "0",
         "the size of a message: Message truncated : received 128 bytes",
         "node0:2000:2090 [0] misc/socket.cc:484 NCCL WARN Message truncated : received 128 bytes "
         "instead of 64\n[rank0]: Message truncated : received 128 bytes instead of 64\n"},
        {"application_error", "", "at /app/data.py:31 in __next__.",
         "{\"severity\": \"ERROR\", \"timestamp\": \"2025-06-02T10:00:51.5Z\", \"textPayload\": "
         "\"Traceback (most recent call last):\\n  File \\\"/app/train.py\\\", line 88, in step\\n "
         "   "
         "batch = next(it)\\n  File \\\"/app/data.py\\\", line 31, in __next__\\n    raise E(p)\\n "
         " "
         "File \\\"/opt/lib/python3.11/site-packages/e.py\\\", line 3, in E\\nKeyError: 'x'\"}\n"},
        {"cuda_oom", "1", "Rank 1 ran out of device memory (HBM): Attempting to allocate 7.81G",
         "[rank1]: jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating "
         "device buffer: Attempting to allocate 7.81G. That was not possible. There are 2.11G "
         "free.; (0x0x0_HBM0)\n"},
        {"scheduler", "", /* a process of one digit */
         "after the last step: shutdown-script: instance is being preempted",
         "2025-07-01T12:00:00Z step: 9 loss: 2.5\n2025-07-01T12:01:00Z gce-vm "
         "google_metadata_script_runner[8]: shutdown-script: instance is being preempted\n"},
        {"scheduler", "",
         "taken back on gce-vm, 60 s after the last step: shutdown-script: instance is",
         "2025-07-01T12:00:00Z step: 9 loss: 2.5\n2025-07-01T12:01:00Z gce-vm "
         "google_metadata_script_runner[811]: shutdown-script: instance is being preempted\n"},
        {"scheduler", "3", "The machine was taken back",
         TEST_LOG_STEPS
         "E0602 10:01:12.100000 140 coordination_service_agent.cc:300] Coordination agent is set "
         "to ERROR: UNAVAILABLE: The following task was preempted: "
         "/job:jax_worker/replica:0/task:3\n"},
        {"application_error", "", "could not be fetched: slurmstepd: error: pyxis: [ERROR] URL",
         "slurmstepd: error: pyxis: child 4411 failed with error code: 1\n"
         "slurmstepd: error: pyxis: failed to import docker image\n"
         "slurmstepd: error: pyxis: [ERROR] URL https://registry.example/auth returned error "
         "code: 401 Unauthorized\nsrun: error: n01: task 0: Exited with exit code 1\n"},
        {"application_error", "", "could not be used: docker: Error response from daemon",
         "docker: Error response from daemon: manifest for trainer:v9 not found: manifest unknown: "
         "no such image.\n"},
        {"network", "",
         "UCX transfers of process 4411 on n03 failed: Transport retry count exceeded",
         "[1748858400.112233] [n03:4411 :0]    ib_mlx5_log.c:177  UCX  ERROR Transport retry count "
         "exceeded on mlx5_2:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n"},
        {"application_error", "", "KeyError: 'mask' at /w/train.py:77 in main.",
         "\x1b[31m\xe2\x95\xad\xe2\x94\x80 \x1b[0m\x1b[1;31mTraceback \x1b[0m\x1b[1;2;31m(most "
         "recent "
         "call last)\x1b[0m\x1b[31m \xe2\x94\x80\xe2\x95\xae\x1b[0m\n"
         "\x1b[31m\xe2\x94\x82\x1b[0m "
         "\x1b[2;33m/w/\x1b[0m\x1b[1;33mtrain.py\x1b[0m:\x1b[94m77\x1b[0m "
         "in \x1b[92mmain\x1b[0m        \x1b[31m\xe2\x94\x82\x1b[0m\n"
         "\x1b[31m\xe2\x94\x82\x1b[0m   77   run(cfg)   \x1b[31m\xe2\x94\x82\x1b[0m\n"
         "\x1b[31m\xe2\x94\x82\x1b[0m \x1b[33m/opt/lib/python3.11/site-packages/x.py\x1b[0m:"
         "\x1b[94m5\x1b[0m in \x1b[92mget\x1b[0m \x1b[31m\xe2\x94\x82\x1b[0m\n"
         "\x1b[1;91mKeyError: \x1b[0m\x1b[32m'mask'\x1b[0m\n"},
        {"numerical_divergence", "3", "returned nan values",
         "{\"timestamp\": \"2025-06-02T10:00:39.3Z\", \"level\": \"info\", \"event\": "
         "\"train_step\", \"rank\": 3, \"step\": 39, \"loss\": 3.61}\n"
         "{\"timestamp\": \"2025-06-02T10:00:41.3Z\", \"level\": \"error\", \"event\": \"training "
         "failed\", \"rank\": 3, \"exception\": \"Traceback (most recent call last):\\n  File "
         "\\\"/srv/train.py\\\", line 55, in loop\\nRuntimeError: Function 'SoftmaxBackward0' "
         "returned nan values in its 0th output.\"}\n"},
        /* what NCCL warned of last before it failed on the rank, not what it did on another one */
        {"unknown", "", "NCCL failed on rank 1: no algorithm/protocol available.",
         "[rank0]: step: 1 loss: 2.5\n[rank1]: step: 1 loss: 2.5\n" WARNED("1", "no plan found")
             WARNED("1", "no algorithm/protocol available") WARNED("0", "nothing to do") FAILED("1")
                 WARNED("1", "still not destroyed")},
        {"unknown", "", "NCCL failed on rank 0: no algorithm/protocol available.",
         "[rank0]: step: 1 loss: 2.5\n[rank1]: step: 1 loss: 2.5\n" WARNED(
             "0", "no algorithm/protocol available") WARNED("1", "nothing to do") FAILED("0")},
        /* whose file it is said, there is no other */
        {"unknown", "", "NCCL failed on rank 1: no algorithm/protocol available.",
         "[rank1]: step: 1 loss: 2.5\n"
         "n0:20:21 [1] enqueue.cc:4 NCCL WARN no algorithm/protocol available\n" FAILED("1")},
        /* Python's logging: a logger of one letter; without a name it is no logger */
        {"unknown", "", "The run ended with \"shard 7 is not readable\"",
         TEST_LOG_STEPS "ERROR:t:shard 7 is not readable\n"},
        {"unknown", "", "The run ended with \"ERROR::shard 7 is not readable\"",
         TEST_LOG_STEPS "ERROR::shard 7 is not readable\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

#undef WARNED
#undef FAILED

/* JAX: the list of tasks ends with the lines that are nothing but names. */
static void quotes__tasks_that_fell_silent(void **state)
{
    (void)state;
    test_log_says("E0102 10:04:31.221199 2211 coordination_service_agent.cc:711] Polled an error "
                  "from coordination service (this can be an error from this or another task).\n"
                  "F0102 10:04:31.221311 2211 client.h:77] Terminating process because the JAX "
                  "distributed service detected fatal errors. absl::Status: UNAVAILABLE: The "
                  "following tasks are unhealthy (stopped sending heartbeats):\n"
                  "/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:5\n"
                  "The tasks have crashed. Check the task logs for an earlier error, or scheduler "
                  "events (e.g. preemption, eviction) to debug further.\n"
                  "I0102 10:04:31.3 2211 agent.cc:9] /job:jax_worker/replica:0/task:0 leaves\n",
                  "peer_died", "3,5", "Ranks 3 and 5 were lost");
}

/* That the job was queued again and cancelled for it is one event; a start before it counts. */
static void quotes__starts_before_a_requeue(void **state)
{
    (void)state;
    static const char requeued[] =
        "Requeued job 881 with scontrol\nslurmstepd: error: *** JOB 881 ON n1 CANCELLED AT "
        "2025-05-02T11:12:13 DUE TO JOB REQUEUE ***\n";
    char text[2048];
    struct test_log log;
    (void)snprintf(text, sizeof text, "%s%s", TEST_LOG_STEPS, requeued);
    test_log_text(&log, "job.out", text);
    test_log_expect(&log, "scheduler", "");
    assert_null(strstr(log.failure->headline, "start"));
    test_log_close(&log);
    (void)snprintf(text, sizeof text, "%sINFO: restarting worker group\n%s%s", TEST_LOG_STEPS,
                   "step: 9 loss: 3.2\nstep: 10 loss: 3.1\n", requeued);
    test_log_says(text, "scheduler", "", "start 2 of the workers");
}

enum { RANKS = 4, TEXT = 1024 };

/* Logs of ranks that wait in one collective, but for one that prints its steps and nothing else;
 * `own`: it has a file. */
static void open_silent(struct test_log *log, int silent, bool own, char text[RANKS][TEXT],
                        char name[RANKS][32])
{
    struct inq_ingest_blob blobs[RANKS];
    size_t n = 0;
    for (int r = 0; r < RANKS; r++) {
        if (r == silent) {
            (void)snprintf(text[r], TEXT, "%s",
                           own ? "step: 1 loss: 4.0\nstep: 2 loss: 3.9\n" : "");
        } else {
            (void)snprintf(text[r], TEXT,
                           TEST_LOG_STEPS
                           "[rank%d]:[E502 10:31:0%d.123456789 ProcessGroupNCCL.cpp:629] [Rank %d] "
                           "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9102, "
                           "OpType=ALLREDUCE, NumelIn=50124, NumelOut=50124, Timeout(ms)=1800000) "
                           "ran for 1800022 milliseconds before timing out.\n",
                           r, r, r);
        }
        (void)snprintf(name[r], 32, "run/rank_%d.log", r);
        if (r != silent || own) {
            blobs[n++] = (struct inq_ingest_blob){name[r], text[r], strlen(text[r])};
        }
    }
    test_log_open(log, blobs, n);
}

/* A rank whose log is here and reports no timeout never came: its own watchdog would have told.
 * Of one whose log is not here nothing is known. */
static void quotes__a_rank_that_says_nothing(void **state)
{
    (void)state;
    char text[RANKS][TEXT];
    char name[RANKS][32];
    struct test_log log;
    for (int silent = 1; silent < RANKS; silent += 2) { /* the last one has the highest number */
        open_silent(&log, silent, true, text, name);
        test_log_expect(&log, "cpu_stall", silent == 1 ? "1" : "3");
        assert_non_null(strstr(log.failure->headline, "the last step printed there is 2, by the "
                                                      "others 8"));
        test_log_close(&log);
    }
    open_silent(&log, 1, false, text, name);
    test_log_expect(&log, "unknown", "");
    assert_int_equal(log.failure->n_suspected, 1);
    assert_int_equal(log.failure->suspected_ranks[0], 1);
    test_log_close(&log);
}

/* Who reports that HCCL waited is a victim, also the one whose line is quoted. */
static void quotes__those_who_waited_in_hccl(void **state)
{
    (void)state;
#define WAITED(rank)                                                                               \
    "[rank" rank "]: EI0002: [PID: 2101] 2025-06-02-10:32:40.2 The wait execution of the Notify "  \
    "register times out. Reason: The Notify register has not received the Notify record from "     \
    "remote rank [2].\n"
    struct test_log log;
    test_log_text(&log, "train.log",
                  "[rank0]: step 1\n[rank2]: step 1\n" WAITED("0") WAITED("1") WAITED("3"));
    test_log_expect(&log, "communication_stall", "2");
    assert_string_equal(log.failure->headline,
                        "A collective of HCCL waited in vain for rank 2: The Notify register has "
                        "not received the Notify record from remote rank [2]; 3 other ranks "
                        "affected.");
    assert_int_equal(log.failure->n_suspected, 0);
    test_log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes__the_place_in_the_users_code),
        cmocka_unit_test(quotes__those_who_waited_in_hccl),
        cmocka_unit_test(quotes__tasks_that_fell_silent),
        cmocka_unit_test(quotes__starts_before_a_requeue),
        cmocka_unit_test(quotes__a_rank_that_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
