/* SPDX-License-Identifier: Apache-2.0 */
/* What looks like a failure, or like none of this one, and when it is. */
#include "inquest/out.h"
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMED_OUT(r)                                                                               \
    "[rank" r "]:[E607 17:52:21.812004031 ProcessGroupNCCL.cpp:632] [Rank " r                      \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, "        \
    "NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600012 milliseconds before timing "  \
    "out.\n"

/* Lines that look like a failure in logs of runs that went on, or came to their end. */
static void failure_scares__of_runs_that_went_on(void **state)
{
    (void)state;
    static const struct {
        const char *what, *front, *line;
        int steps; /* behind it */
    } rows[] = {
        {"a connection that was lost and tried again", "", "wandb: Connection reset by peer\n", 9},
        {"an error of one trial", "", "RuntimeError: CUDA error: out of range\n", 9},
        {"connections that end", "",
         "n1:5:9 [0] NCCL INFO [Service thread] Connection closed by localRank 0\n"
         "n1:5:9 [0] NCCL INFO misc/socket.cc:47 -> 3\n",
         0},
        {"an exception that was ignored",
         "Exception ignored in: <function f.__del__ at 0x7f>\nTraceback (most recent call last):\n"
         "  File \"x.py\", line 1, in f\n",
         "AssertionError: can only test a child process\n", 0},
        {"a cache", "", "Evicted 3 blocks\n", 0},
        {"what would be done", "A checkpoint is saved if the process received signal SIGTERM\n",
         "will save when SIGTERM received\n", 9},
        {"an error behind all steps", "", "[rank1]: KeyError: 'x'\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct inq_out out = {0};
        struct test_log log;
        for (int k = 1; k <= 20; k++) {
            inq_out_printf(&out, "step: %d loss: %.2f\n", k, 4.0 - 0.02 * k);
        }
        inq_out_printf(&out, "%s%s", rows[i].front, rows[i].line);
        for (int k = 21; k < 21 + rows[i].steps; k++) {
            inq_out_printf(&out, "step: %d loss: %.2f\n", k, 4.0 - 0.02 * k);
        }
        print_message("%s\n", rows[i].what);
        const struct inq_ingest_blob blob = {"job.out", out.buf, out.len};
        test_log_open(&log, &blob, 1);
        assert_int_equal(log.failure != NULL, i + 1 == sizeof rows / sizeof rows[0]);
        test_log_close(&log);
        inq_out_release(&out);
    }
}

/* Each of many ranks went on behind a fault, as its own file tells. */
static void failure_scares__of_many_ranks_that_went_on(void **state)
{
    (void)state;
    enum { RANKS = 4200 };
    struct inq_ingest_blob *blobs = calloc(RANKS, sizeof *blobs);
    char(*names)[24] = calloc(RANKS, sizeof *names);
    struct inq_out *outs = calloc(RANKS, sizeof *outs);
    assert_true(blobs != NULL && names != NULL && outs != NULL);
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(names[r], sizeof names[r], "rank%d.log", r);
        inq_out_printf(&outs[r],
                       "step: 1 loss: 4.00\nstep: 2 loss: 3.98\n"
                       "n%d:5:9 [0] NCCL WARN NET/IB : mlx5_%d:1 Got async event : port error\n"
                       "step: 3 loss: 3.96\nstep: 4 loss: 3.92\n",
                       r, r % 8);
        blobs[r] = (struct inq_ingest_blob){names[r], outs[r].buf, outs[r].len};
    }
    struct test_log log;
    test_log_open(&log, blobs, RANKS);
    assert_null(log.failure);
    test_log_close(&log);
    for (int r = 0; r < RANKS; r++) {
        inq_out_release(&outs[r]);
    }
    free(outs);
    free(names);
    free(blobs);
}

/* Of a large world one rank does not say that it lost others. */
static void failure_scares__of_the_one_that_others_lost(void **state)
{
    (void)state;
    enum { RANKS = 70000, LOST = 66000 };
    struct inq_out out = {0};
    for (int r = 0; r < RANKS; r++) {
        if (r != LOST) {
            inq_out_printf(&out,
                           "[rank%d]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/"
                           "pair.cc:547] Connection closed by peer [10.0.0.1]:9\n",
                           r);
        }
    }
    const struct inq_ingest_blob blob = {"job.out", out.buf, out.len};
    struct test_log log;
    test_log_open(&log, &blob, 1);
    assert_non_null(log.failure);
    assert_int_equal(log.failure->n_roots, 1);
    assert_int_equal(log.failure->root_ranks[0], LOST);
    test_log_close(&log);
    inq_out_release(&out);
}

/* A fault that the times of its file put hours behind the hang may be of another time zone; what
 * lies days apart is not. A line that tells two things is shown once. */
static void failure_scares__clocks_of_machines(void **state)
{
    (void)state;
    static const char train[] = TIMED_OUT("0") TIMED_OUT("1");
    static const char xid[] = "[Sun Jun  8 01:42:22 2025] NVRM: Xid (PCI:0000:9b:00): 79, pid=7, "
                              "name=python, GPU has fallen off the bus.\n";
    static const char later[] = "[Tue Jun 10 01:42:22 2025] NVRM: Xid (PCI:0000:9b:00): 79, pid=7, "
                                "name=python, GPU has fallen off the bus.\n";
    const struct inq_ingest_blob zone[] = {{"n0.log", train, strlen(train)},
                                           {"n1.dmesg", xid, strlen(xid)}};
    const struct inq_ingest_blob other[] = {{"n0.log", train, strlen(train)},
                                            {"n1.dmesg", later, strlen(later)}};
    struct test_log log;
    test_log_open(&log, zone, 2);
    test_log_expect(&log, "gpu_hardware", "");
    assert_int_equal(log.failure->confidence, INQ_CONFIDENCE_HYPOTHESIS);
    assert_non_null(strstr(log.failure->alternatives[0], "clock"));
    test_log_close(&log);
    test_log_open(&log, other, 2);
    test_log_expect(&log, "communication_stall", "");
    test_log_close(&log);
    test_log_text(&log, "job.out",
                  "RuntimeError: NCCL error in: x.cpp:825, unhandled system error\n");
    assert_int_equal(log.failure->n_evidence, 1);
    test_log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_scares__of_runs_that_went_on),
        cmocka_unit_test(failure_scares__of_many_ranks_that_went_on),
        cmocka_unit_test(failure_scares__of_the_one_that_others_lost),
        cmocka_unit_test(failure_scares__clocks_of_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
