/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps and logs of one folder: one verdict. */
#include "support_flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#define ALL(state, number)                                                                         \
    {                                                                                              \
        "0", "all_reduce", "4", "4", "Float", state, number                                        \
    }

/* Ranks 0 to 2 wait for rank 3: in its dump it has enqueued nothing more; or there is none. */
static struct test_judged analyze_with(struct test_dumps *made, bool with_dump, const char *log)
{
    const struct test_flight_op ops[] = {ALL("completed", 7), ALL("scheduled", 8)};
    for (int rank = 0; rank < (with_dump ? 4 : 3); rank++) {
        test_add_dump(made, rank, ops, rank == 3 ? 1 : 2);
    }
    made->blobs[made->n++] = (struct inq_ingest_blob){"run/stderr.log", log, strlen(log)};
    return test_analyze_dumps(made->blobs, made->n);
}

#define TIMEOUT(rank)                                                                              \
    "[rank" rank "]:[E918 22:36:00.123456789 ProcessGroupNCCL.cpp:632] [Rank " rank "] Watchdog "  \
    "caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=4, "        \
    "NumelOut=4, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"

#define RAISED(rank)                                                                               \
    "[rank" rank "]: Traceback (most recent call last):\n"                                         \
    "[rank" rank "]:   File \"/app/train.py\", line 88, in main\n"                                 \
    "[rank" rank "]:     batch = next(it)\n[rank" rank "]: ValueError: sample 8812\n"

/* What a rank prints when it is told to dump: how far it had come. */
#define TOLD(rank, enqueued, completed)                                                            \
    "[rank" rank "]:[E918 22:36:00.223456789 ProcessGroupNCCL.cpp:1685] [PG ID 0 PG GUID "         \
    "0(default_pg) Rank " rank "] Observed flight recorder dump signal from another rank via "     \
    "TCPStore.\n"                                                                                  \
    "[rank" rank "]:[E918 22:36:00.223456790 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID "         \
    "0(default_pg) Rank " rank "] Received a dump signal due to a collective timeout from rank 0 " \
    "and we will try our best to dump the debug info. Last enqueued NCCL work: " enqueued          \
    ", last completed NCCL work: " completed ".\n"

static void join__one_verdict_of_dumps_and_logs(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        bool with_dump;
        enum inq_failure_class cls;
        int32_t root, suspected; /* -1 none */
    } cases[] = {
        {TIMEOUT("0") TIMEOUT("1") TIMEOUT("2"), true, INQ_FAILURE_CPU_STALL, 3, -1},
        {TIMEOUT("0") TIMEOUT("1") TIMEOUT("2"), false, INQ_FAILURE_UNKNOWN, -1, 3},
        /* rank 3 left no dump, but printed where it stood */
        {TIMEOUT("0") TOLD("3", "7", "7"), false, INQ_FAILURE_CPU_STALL, 3, -1},
        {TIMEOUT("0") TOLD("3", "8", "7"), false, INQ_FAILURE_COMMUNICATION, -1, -1},
        {TIMEOUT("0") TOLD("3", "9", "6"), false, INQ_FAILURE_GPU_STALL, 3, -1},
        /* its dump counts, not what it printed before */
        {TIMEOUT("0") TOLD("3", "9", "6"), true, INQ_FAILURE_CPU_STALL, 3, -1},
        {RAISED("3") TIMEOUT("0"), false, INQ_FAILURE_APPLICATION, 3, -1},
        {RAISED("3") TIMEOUT("0"), true, INQ_FAILURE_APPLICATION, 3, -1},
        /* rank 1 waits in its dump: it failed later, or in another attempt */
        {RAISED("1") TIMEOUT("0"), true, INQ_FAILURE_CPU_STALL, 3, -1},
        /* a hang lasts until the scheduler ends it */
        {"slurmstepd: error: *** JOB 123 ON node01 CANCELLED AT 2025-09-18T23:10:00 DUE TO TIME "
         "LIMIT ***\n",
         true, INQ_FAILURE_CPU_STALL, 3, -1},
        {"srun: error: Node failure on node1\n", false, INQ_FAILURE_HOST, -1, 3},
        {"step 10 loss 2.5\nstep 20 loss 2.4\n", true, INQ_FAILURE_CPU_STALL, 3, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_dumps made = {0};
        struct test_judged j = analyze_with(&made, cases[i].with_dump, cases[i].log);
        print_message("%s\n", j.failure->headline);
        assert_null(strstr(j.failure->headline, ",  ")); /* an op without a name */
        assert_int_equal(j.failure->cls, cases[i].cls);
        assert_int_equal(j.failure->n_roots, cases[i].root >= 0);
        assert_int_equal(j.failure->n_suspected, cases[i].suspected >= 0);
        if (cases[i].root >= 0) {
            assert_int_equal(j.failure->root_ranks[0], cases[i].root);
        }
        if (cases[i].suspected >= 0) {
            assert_int_equal(j.failure->suspected_ranks[0], cases[i].suspected);
        }
        test_judged_release(&j);
        test_dumps_release(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__one_verdict_of_dumps_and_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
