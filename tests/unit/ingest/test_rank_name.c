/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in file names: the numbers that are ranks, and those that are not. */
#include "ingest/ingest.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

struct expectation {
    const char *path;
    int32_t rank;
};

static void check(const struct expectation *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t rank = inq_rank_from_name(rows[i].path);
        if (rank != rows[i].rank) {
            fail_msg("%s: rank %d instead of %d", rows[i].path, rank, rows[i].rank);
        }
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

static void rank_name__finds_ranks_behind_words_for_them(void **state)
{
    (void)state;
    static const struct expectation rows[] = {
        {"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34},
        {"run/worker7_step_12.1694128201553.pt.trace.json.gz", 7},
        {"worker0.1623143566756.pt.trace.json.gz", 0},
        {"mtia_rank_0.json.gz", 0},
        {"trace_rank_3.json", 3},
        {"rank0.json", 0},
        {"pp_rank_2.json", 2},
        {"_dump_9", 9},
        {"nccl_trace_rank_12", 12},
        {"rank=5/x.json", 5},
        {"RANK_0003.JSON", 3},
        {"traceRank11.json", 11},
        {"global_rank_1023.json", 1023},
        {"rank3of8.json", 3},
        {"iteration_100/rank6_trace.json", 6},
        {"step_40/rank_17", 17},
        {"rank 2.json", 2},
        {"logs/r6.log", 6},
        {"p12.out", 12},
        {"primus-megatron-exp[a]-rank[5].1730.pt.trace.json", 5},
    };
    CHECK(rows);
}

static void rank_name__takes_no_other_number_for_a_rank(void **state)
{
    (void)state;
    static const struct expectation rows[] = {
        {"r6.json", -1},
        {"r6b.log", -1},
        {"run/r6/train.log", -1},
        {"pr6.log", -1},
        {"ip-172-31-16-248.us-east-2.compute.internal_44237.1698957662168769395.pt.trace.json.gz",
         -1},
        {"9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz", -1},
        {"benchmark_result_2869224_1695835535_trace.json.gz", -1},
        {"job-worker-3_1234.1698957662168769395.pt.trace.json.gz", -1}, /* a machine */
        {"worker-3.cluster.local_99.1698957662168769395.pt.trace.json", -1},
        {"rank_not_found.json.gz", -1},
        {"frank7.json", -1},
        {"rank1623143566756.json", -1},
        {"rank3b7f.json", -1},
        {"local_rank_3.json", -1},
        {"tp_rank_1.json", -1},
        {"node_rank-2.json", -1},
        {"ranking3.json", -1},
        {"trace.json", -1},
        {"", -1},
        {"/", -1},
        {"rank", -1},
    };
    CHECK(rows);
}

static void rank_name__prefers_the_surer_word_and_the_nearer_folder(void **state)
{
    (void)state;
    static const struct expectation rows[] = {
        {"worker0_rank5.json", 5},
        {"local_rank_1_rank_9.json", 9},
        {"rank_9_local_rank_1.json", 9},
        {"pp_rank_1_rank_6.json", 6},
        {"rank_2/rank_3.json", 3},
        {"rank_2/trace.json", 2},
        {"rank_2/a/b.json", -1}, /* a folder further up is no name for a file */
        {"rank_4/", 4},
    };
    CHECK(rows);
}

static void assert_host(const char *path, const char *expected)
{
    const char *host = "";
    size_t len = inq_host_from_name(path, &host);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(host, expected, len);
}

static void host_name__stands_before_the_process(void **state)
{
    (void)state;
    assert_host("a/ip-172-31.internal_44237.1698957662168769395.pt.trace.json.gz",
                "ip-172-31.internal");
    assert_host("9c44bd29b3f0_1375.1724066820235157909.pt.trace.json", "9c44bd29b3f0");
    assert_host("worker-3_77.1724066820235157909.pt.trace.json", "worker-3");
    assert_host("worker7_step_12.1694128201545.pt.trace.json.gz", "");
    assert_host("rank3.json", "");
    assert_host("_12.1694128201545.pt.trace.json", "");
    assert_host("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_name__finds_ranks_behind_words_for_them),
        cmocka_unit_test(rank_name__takes_no_other_number_for_a_rank),
        cmocka_unit_test(rank_name__prefers_the_surer_word_and_the_nearer_folder),
        cmocka_unit_test(host_name__stands_before_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
