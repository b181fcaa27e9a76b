/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps: real ones with a known fault, and small ones for every state. */
#include "base/arena.h"
#include "support_flight.h"
#include "support_read.h"
#include "trace/build/flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* ---- the real dumps -------------------------------------------------------------------------- */

enum { REAL = 16 };

struct real {
    struct inq_ingest_blob blobs[REAL];
    char names[REAL][32];
    char *bytes[REAL];
};

static bool load(struct real *real, const char *set)
{
    char folder[TEST_PATH];
    char path[TEST_PATH + 64];
    char name[64];
    (void)snprintf(name, sizeof name, "flight/%s", set);
    if (!test_data_path(folder, INQ_SHARED_DATA, name)) {
        return false;
    }
    for (size_t i = 0; i < REAL; i++) {
        size_t n = 0;
        (void)snprintf(path, sizeof path, "%s/_dump_%zu", folder, i);
        (void)snprintf(real->names[i], sizeof real->names[i], "run/_dump_%zu", i);
        real->bytes[i] = test_slurp(path, &n);
        assert_non_null(real->bytes[i]);
        real->blobs[i] = (struct inq_ingest_blob){real->names[i], real->bytes[i], n};
    }
    return true;
}

static void unload(struct real *real)
{
    for (size_t i = 0; i < REAL; i++) {
        free(real->bytes[i]);
    }
}

static void check_whole(const struct real *real, enum inq_failure_class cls)
{
    struct test_judged j = test_analyze_dumps(real->blobs, REAL);
    assert_int_equal(j.failure->cls, cls);
    assert_int_equal(j.failure->n_roots, 2);
    assert_int_equal(j.failure->root_ranks[0], 9);
    assert_int_equal(j.failure->root_ranks[1], 14);
    assert_int_equal(j.failure->n_victims, 14);
    assert_int_equal(j.failure->n_missing, 0);
    assert_string_equal(j.report->verdict.headline, j.failure->headline);
    const char *who = cls == INQ_FAILURE_GPU_STALL
                          ? "Ranks 9 and 14 are stuck on the GPU: they enqueued but never finished "
                            "ops that their peers have finished, such as all_gather"
                          : "Ranks 9 and 14 are stuck on the CPU: they never enqueued ops that "
                            "others wait for, such as their side of send";
    assert_non_null(strstr(j.failure->headline, who));
    assert_true(j.failure->n_evidence > 2);
    test_judged_release(&j);
}

/* Nobody but the faulty ranks is called a root; a faulty rank that is not named left no dump, and
 * that is said. */
static void check_without(const struct real *real, size_t a, size_t b, enum inq_failure_class cls)
{
    struct inq_ingest_blob blobs[REAL];
    size_t n = 0;
    for (size_t i = 0; i < REAL; i++) {
        if (i != a && i != b) {
            blobs[n++] = real->blobs[i];
        }
    }
    struct test_judged j = test_analyze_dumps(blobs, n);
    const struct inq_failure *f = j.failure;
    for (size_t i = 0; i < f->n_roots; i++) {
        assert_true(f->root_ranks[i] == 9 || f->root_ranks[i] == 14);
    }
    static const int32_t faulty[] = {9, 14};
    for (size_t i = 0; i < 2; i++) {
        bool gone = (size_t)faulty[i] == a || (size_t)faulty[i] == b;
        assert_true(gone != test_has_rank(f->root_ranks, f->n_roots, faulty[i]));
        assert_true(!(a == 9 && b == 14) ||
                    test_has_rank(f->suspected_ranks, f->n_suspected, faulty[i]));
    }
    assert_non_null(
        strstr(f->alternatives[f->n_alternatives - 1], "no whole dump shows the last moments"));
    assert_true(test_has_rank(f->missing_ranks, f->n_missing, (int32_t)a));
    assert_true(test_has_rank(f->missing_ranks, f->n_missing, (int32_t)b));
    assert_int_equal(f->cls, a == 9 && b == 14 ? INQ_FAILURE_UNKNOWN : cls);
    test_judged_release(&j);
}

static void check_set(const char *set, enum inq_failure_class cls)
{
    struct real real;
    if (!load(&real, set)) {
        skip();
    }
    check_whole(&real, cls);
    for (size_t a = 0; a < REAL; a++) {
        for (size_t b = a + 1; b < REAL; b++) {
            check_without(&real, a, b, cls);
        }
    }
    unload(&real);
}

/* A hundred groups of the same 5,000 ranks, of which one was used, cost no more than one: the
 * report stays smaller than the dump. */
static void flight__groups_that_nobody_used_cost_nothing(void **state)
{
    (void)state;
    enum { GROUPS = 100, RANKS = 5000 };
    struct inq_out out = {0};
    inq_out_text(&out, "{\"version\": \"2.9\", \"pg_config\": {");
    for (int g = 0; g < GROUPS; g++) {
        inq_out_printf(&out, "%s\"%d\": {\"name\": \"%d\", \"desc\": \"g%d\", \"ranks\": \"[0",
                       g > 0 ? ", " : "", g, g, g);
        for (int r = 1; r < RANKS; r++) {
            inq_out_printf(&out, ", %d", r);
        }
        inq_out_text(&out, "]\"}");
    }
    inq_out_text(&out,
                 "}, \"entries\": [{\"record_id\": 0, \"pg_id\": 0, \"process_group\": "
                 "[\"0\", \"g0\"], \"collective_seq_id\": 1, \"p2p_seq_id\": 0, \"op_id\": 1, "
                 "\"profiling_name\": \"nccl:all_reduce\", \"input_sizes\": [[3]], "
                 "\"output_sizes\": [[3]], \"input_dtypes\": [\"Float\"], \"output_dtypes\": "
                 "[\"Float\"], \"state\": \"scheduled\", \"is_p2p\": false, \"frames\": "
                 "[]}]}");
    struct inq_ingest_blob blob = {"dump_0.json", out.buf, out.len};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &run, NULL), INQ_OK);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(inq_analyze(run->traces[0], NULL, &report, NULL), INQ_OK);
    assert_non_null(report->failure);
    assert_true(report->arena->total < out.len);
    inq_report_free(report);
    inq_run_free(run);
    inq_out_release(&out);
}

static void flight__gpu_error_names_ranks_9_and_14(void **state)
{
    (void)state;
    check_set("gpu_error_2nd", INQ_FAILURE_GPU_STALL);
}

static void flight__gil_lock_names_ranks_9_and_14(void **state)
{
    (void)state;
    check_set("lock_gil_1st", INQ_FAILURE_CPU_STALL);
}

static void flight__cut_dumps_never_make_a_victim_a_root(void **state)
{
    (void)state;
    struct real real;
    if (!load(&real, "gpu_error_2nd")) {
        skip();
    }
    for (size_t cut = 0; cut < REAL; cut++) {
        for (size_t part = 1; part < 8; part++) {
            struct inq_ingest_blob blobs[REAL];
            memcpy(blobs, real.blobs, sizeof blobs);
            blobs[cut].n = blobs[cut].n * part / 8;
            struct test_judged j = test_analyze_dumps(blobs, REAL);
            for (size_t i = 0; i < j.failure->n_roots; i++) {
                assert_true(j.failure->root_ranks[i] == 9 || j.failure->root_ranks[i] == 14);
            }
            assert_true(
                test_has_rank(j.failure->missing_ranks, j.failure->n_missing, (int32_t)cut));
            test_judged_release(&j);
        }
    }
    unload(&real);
}

/* ---- small dumps ----------------------------------------------------------------------------- */

static void check_match(const struct test_flight_op *ops, const struct test_flight_op *odd,
                        enum inq_match_state expected)
{
    struct test_dumps made = {0};
    test_add_four(&made, 2, odd, 1, ops, 1);
    struct test_judged j = test_find(&made, INQ_FAILURE_MISMATCH, "2");
    assert_int_equal(j.failure->n_matches, 1);
    assert_int_equal(j.failure->matches[0].state, expected);
    assert_int_equal(j.failure->confidence, INQ_CONFIDENCE_ESTABLISHED);
    test_judged_release(&j);
}

static void flight__mismatches_name_the_minority(void **state)
{
    (void)state;
    const struct test_flight_op usual = TEST_ALL_REDUCE(7, "4, 4");
    const struct test_flight_op kind = {"0",     "_all_gather_base", "4", "16",
                                        "Float", "scheduled",        7};
    const struct test_flight_op size = TEST_ALL_REDUCE(7, "4, 5");
    const struct test_flight_op dtype = {"0", "all_reduce", "4, 4", "4, 4", "Half", "scheduled", 7};
    const struct test_flight_op gather = {"0",     "_all_gather_base", "4", "16",
                                          "Float", "scheduled",        7};
    const struct test_flight_op short_gather = {"0",     "_all_gather_base", "4", "12",
                                                "Float", "scheduled",        7};
    const struct test_flight_op scatter = {
        "0", "_reduce_scatter_base", "16", "4", "Float", "scheduled", 7};
    const struct test_flight_op bad_scatter = {
        "0", "_reduce_scatter_base", "16", "5", "Float", "scheduled", 7};
    check_match(&usual, &kind, INQ_MATCH_KIND);
    check_match(&usual, &size, INQ_MATCH_SIZE);
    check_match(&usual, &dtype, INQ_MATCH_DTYPE);
    check_match(&gather, &short_gather, INQ_MATCH_SIZE);
    check_match(&scatter, &bad_scatter, INQ_MATCH_SIZE);
}

static void flight__a_collective_coalesced_in_part_is_a_mismatch(void **state)
{
    (void)state;
    const struct test_flight_op whole[] = {TEST_ALL_REDUCE(7, "4"), TEST_ALL_REDUCE(7, "8")};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 4; rank++) {
        test_add_dump(&made, rank, whole, rank == 3 ? 1 : 2);
    }
    test_expect(&made, INQ_FAILURE_MISMATCH, "3");
}

static void flight__uneven_all_to_all_fits_when_its_sums_do(void **state)
{
    (void)state;
    static const char *const out[] = {"10", "6", "8", "8", "9"};
    for (int bad = 0; bad < 2; bad++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            const struct test_flight_op op = {
                "0", "all_to_all", "8", out[bad && rank == 3 ? 4 : rank], "Float", "scheduled", 5};
            test_add_dump(&made, rank, &op, 1);
        }
        struct test_judged j =
            test_find(&made, bad ? INQ_FAILURE_MISMATCH : INQ_FAILURE_COMMUNICATION,
                      ""); /* the sums do not tell who is wrong */
        assert_int_equal(j.failure->matches[0].state, bad ? INQ_MATCH_SIZE : INQ_MATCH_MATCHED);
        test_judged_release(&j);
    }
}

static void flight__two_against_two_is_undecided(void **state)
{
    (void)state;
    struct test_dumps made = {0};
    const struct test_flight_op a = TEST_ALL_REDUCE(7, "4");
    const struct test_flight_op b = {"0", "broadcast", "4", "4", "Float", "scheduled", 7};
    for (int rank = 0; rank < 4; rank++) {
        test_add_dump(&made, rank, rank < 2 ? &a : &b, 1);
    }
    test_expect(&made, INQ_FAILURE_MISMATCH, "");
}

/* One against one in a tensor-parallel group: what the other such group entered decides, where only
 * one side did the same. */
static void flight__a_group_of_the_same_kind_decides_a_tie(void **state)
{
    (void)state;
    static const char *const entered[][4] = {
        {"all_reduce", "broadcast", "all_reduce", "all_reduce"},
        {"broadcast", "all_reduce", "all_reduce", "all_reduce"},
        {"broadcast", "all_reduce", "broadcast", "all_reduce"}};
    static const char *const roots[] = {"1", "0", ""};
    for (size_t k = 0; k < 3; k++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            inq_out_printf(
                &made.out[rank],
                "{\"version\": \"2.10\", \"pg_config\": {\"1\": {\"name\": \"1\", \"desc\": "
                "\"TP\", "
                "\"ranks\": \"[0, 1]\"}, \"2\": {\"name\": \"2\", \"desc\": \"TP\", \"ranks\": "
                "\"[2, 3]\"}}, \"entries\": [{\"collective_seq_id\": 7, \"process_group\": "
                "[\"%d\", \"TP\"], \"profiling_name\": \"nccl:%s\", \"input_sizes\": [[4]], "
                "\"output_sizes\": [[4]], \"input_dtypes\": [\"Float\"], \"state\": \"scheduled\", "
                "\"record_id\": 0, \"pg_id\": %d, \"is_p2p\": false}]}",
                rank / 2 + 1, entered[k][rank], rank / 2 + 1);
            (void)snprintf(made.names[rank], sizeof made.names[0], "run/trace_rank_%d.json", rank);
            made.blobs[rank] =
                (struct inq_ingest_blob){made.names[rank], made.out[rank].buf, made.out[rank].len};
            made.n++;
        }
        test_expect(&made, INQ_FAILURE_MISMATCH, roots[k]);
    }
}

static void flight__swapped_collectives_are_an_order_mismatch(void **state)
{
    (void)state;
    const struct test_flight_op right[] = {TEST_ALL_REDUCE(7, "4"),
                                           {"0", "broadcast", "4", "4", "Float", "scheduled", 8}};
    const struct test_flight_op wrong[] = {{"0", "broadcast", "4", "4", "Float", "scheduled", 7},
                                           TEST_ALL_REDUCE(8, "4")};
    struct test_dumps made = {0};
    test_add_four(&made, 1, wrong, 2, right, 2);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_ORDER);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 1);
    test_judged_release(&j);
    test_dumps_release(&made);
}

/* An order is another only where both sides have the other's collective: a rank that went on to its
 * next, or others that did, show two kinds in one place and no more. */
static void flight__what_one_side_alone_has_is_no_order_mismatch(void **state)
{
    (void)state;
    const struct test_flight_op right[] = {TEST_ALL_REDUCE(7, "4"),
                                           {"0", "broadcast", "4", "4", "Float", "scheduled", 8}};
    const struct test_flight_op wrong[] = {{"0", "broadcast", "4", "4", "Float", "scheduled", 7},
                                           TEST_ALL_REDUCE(8, "4")};
    for (size_t n_its = 1; n_its <= 2; n_its++) {
        struct test_dumps made = {0};
        test_add_four(&made, 1, wrong, n_its, right, 3 - n_its);
        struct test_judged j = test_analyze_dumps(made.blobs, made.n);
        assert_int_equal(j.failure->matches[0].state, INQ_MATCH_KIND);
        assert_int_equal(j.failure->n_roots, 1);
        assert_int_equal(j.failure->root_ranks[0], 1);
        test_judged_release(&j);
        test_dumps_release(&made);
    }
}

/* Dumps alone, of a run in which nothing was pending: that is the verdict, not that traces lack. */
static void flight__dumps_of_a_run_that_goes_on_are_the_verdict(void **state)
{
    (void)state;
    const struct test_flight_op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    struct test_dumps made = {0};
    test_add_four(&made, -1, NULL, 0, &done, 1);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_NONE);
    assert_string_equal(j.report->verdict.headline, j.failure->headline);
    assert_non_null(strstr(j.report->verdict.headline, "Nothing was pending"));
    assert_string_equal(j.report->verdict.cls, inq_failure_class_text(INQ_FAILURE_NONE));
    test_judged_release(&j);
    test_dumps_release(&made);
}

static void flight__unfinished_on_one_rank_only_is_its_gpu(void **state)
{
    (void)state;
    const struct test_flight_op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    const struct test_flight_op open = TEST_ALL_REDUCE(7, "4");
    const struct test_flight_op next[] = {done, TEST_ALL_REDUCE(8, "4")};
    struct test_dumps made = {0};
    test_add_four(&made, 3, &open, 1, next, 2);
    struct test_judged j = test_find(&made, INQ_FAILURE_GPU_STALL, "3");
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_STATE);
    assert_int_equal(j.failure->n_victims, 3);
    test_judged_release(&j);
}

static void check_ranks(const int32_t *ranks, size_t n, const char *expected)
{
    char text[64] = "";
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%d", i > 0 ? ", " : "", (int)ranks[i]);
    }
    assert_string_equal(text, expected);
}

static void check_wait(const struct inq_failure_wait *wait, const char *op, int64_t seq,
                       const char *ranks, const char *others)
{
    assert_string_equal(wait->op, op);
    assert_int_equal(wait->seq, seq);
    check_ranks(wait->ranks, wait->n_ranks, ranks);
    check_ranks(wait->others, wait->n_others, others);
}

static void flight__chain_over_two_groups_ends_at_the_rank_that_enqueued_nothing(void **state)
{
    (void)state;
    const struct test_flight_op open = TEST_ALL_REDUCE(7, "4");
    const struct test_flight_op pair = {"1", "broadcast", "4", "4", "Float", "scheduled", 3};
    const struct test_flight_op before = {"0", "all_reduce", "4", "4", "Float", "completed", 6};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, &pair, 1); /* waits for 1, and blocks 2 and 3 */
    test_add_dump(&made, 1, &before, 1);
    test_add_dump(&made, 2, &open, 1);
    test_add_dump(&made, 3, &open, 1);
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "1");
    assert_int_equal(j.failure->n_victims, 3);
    assert_int_equal(j.failure->n_waits, 2); /* those that wait in one op for the same: one row */
    check_wait(&j.failure->waits[0], "broadcast", 3, "0", "1");
    check_wait(&j.failure->waits[1], "all_reduce", 7, "2, 3", "0, 1");
    test_judged_release(&j);
}

static void flight__two_groups_in_different_orders_are_a_deadlock(void **state)
{
    (void)state;
    const struct test_flight_op first[] = {{"0", "all_reduce", "4", "4", "Float", "scheduled", 7},
                                           {"1", "broadcast", "4", "4", "Float", "scheduled", 3}};
    const struct test_flight_op other[] = {first[1], first[0]};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 4; rank++) {
        test_add_dump(&made, rank, rank == 1 ? other : first, rank < 2 ? 2 : 1);
    }
    test_expect(&made, INQ_FAILURE_ORDERING, "0, 1");
}

static void flight__all_joined_is_no_rank_that_is_late(void **state)
{
    (void)state;
    const struct test_flight_op open = TEST_ALL_REDUCE(7, "4");
    struct test_dumps made = {0};
    test_add_four(&made, -1, NULL, 0, &open, 1);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_COMMUNICATION);
    assert_int_equal(j.failure->n_roots, 0);
    assert_int_equal(j.failure->n_waits, 0); /* for the network, not for a rank */
    test_judged_release(&j);
    made.n = 3; /* without the dump of rank 3 it may be the one that did not join */
    j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_UNKNOWN);
    assert_int_equal(j.failure->n_roots, 0);
    assert_int_equal(j.failure->n_suspected, 1);
    assert_int_equal(j.failure->suspected_ranks[0], 3);
    test_judged_release(&j);
    made.n = 4;
    test_dumps_release(&made);
}

static void flight__p2p_waits_for_the_side_that_is_not_there(void **state)
{
    (void)state;
    const struct test_flight_op send = {"0", "send 0->2", "4", "4", "Float", "scheduled", 9};
    const struct test_flight_op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    struct test_dumps made = {0};
    test_add_four(&made, 0, &send, 1, &done, 1);
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "2");
    assert_int_equal(j.failure->seq, 9);
    test_judged_release(&j);
}

static void flight__all_finished_is_no_hang(void **state)
{
    (void)state;
    const struct test_flight_op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    struct test_dumps made = {0};
    test_add_four(&made, -1, NULL, 0, &done, 1);
    test_expect(&made, INQ_FAILURE_NONE, "");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void flight__rank_is_the_number_at_the_end_of_the_name(void **state)
{
    (void)state;
    size_t digits = 0;
    assert_int_equal(inq_flight_rank("a/nccl_trace_rank_container-node02_5", &digits), 5);
    assert_int_equal(inq_flight_rank("_dump_12", &digits), 12);
    assert_int_equal(inq_flight_rank("fr3", &digits), 3);
    assert_int_equal(inq_flight_rank("x/comm_lib_trace_rank_7.json", &digits), 7);
    assert_int_equal(inq_flight_rank("x/rank_7.pickle.gz", &digits), 7);
    assert_int_equal(inq_flight_rank("x/dump", &digits), -1);
    assert_int_equal(inq_flight_rank("x/dump_1758580155793", &digits), -1);
}

static void flight__two_sets_of_the_same_ranks_are_two_jobs(void **state)
{
    (void)state;
    const struct test_flight_op open = TEST_ALL_REDUCE(7, "4");
    struct test_dumps made = {0};
    static const char *const names[] = {"a/fr0", "a/fr1", "a/fr2", "b/fr0", "b/fr1", "b/fr2"};
    for (int i = 0; i < 6; i++) {
        test_add_dump(&made, i % 3, &open, 1);
        made.blobs[i].name = names[i];
    }
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(made.blobs, made.n, NULL, &run, &err), INQ_OK);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(run->traces[0]->n_dumps, 3);
    assert_int_equal(run->traces[0]->world_size, 4);
    assert_int_equal(run->traces[0]->n_missing, 1);
    assert_string_equal(run->traces[0]->name, "a");
    assert_string_equal(run->traces[1]->name, "b");
    inq_run_free(run);
    test_dumps_release(&made);
}

/* Two folders with the lower half of four ranks each, which no group tells: hosts of one job, in
 * the order of their numbers. */
static void flight__folders_of_local_ranks_are_hosts(void **state)
{
    (void)state;
    const struct test_flight_op open = TEST_ALL_REDUCE(7, "4");
    struct test_dumps made = {0};
    static const char *const names[] = {"n10/fr0", "n10/fr1", "n9/fr0", "n9/fr1"};
    for (int i = 0; i < 4; i++) {
        test_add_dump(&made, i % 2, &open, 1);
        made.blobs[i].name = names[i];
    }
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(made.blobs, made.n, NULL, &run, &err), INQ_OK);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0]->n_dumps, 4);
    assert_int_equal(run->traces[0]->n_missing, 0);
    uint32_t first = run->traces[0]->dumps[0]->file;
    assert_string_equal(run->traces[0]->files[first].path, "n9/fr0");
    inq_run_free(run);
    test_dumps_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flight__groups_that_nobody_used_cost_nothing),
        cmocka_unit_test(flight__gpu_error_names_ranks_9_and_14),
        cmocka_unit_test(flight__gil_lock_names_ranks_9_and_14),
        cmocka_unit_test(flight__cut_dumps_never_make_a_victim_a_root),
        cmocka_unit_test(flight__mismatches_name_the_minority),
        cmocka_unit_test(flight__a_collective_coalesced_in_part_is_a_mismatch),
        cmocka_unit_test(flight__uneven_all_to_all_fits_when_its_sums_do),
        cmocka_unit_test(flight__two_against_two_is_undecided),
        cmocka_unit_test(flight__a_group_of_the_same_kind_decides_a_tie),
        cmocka_unit_test(flight__swapped_collectives_are_an_order_mismatch),
        cmocka_unit_test(flight__what_one_side_alone_has_is_no_order_mismatch),
        cmocka_unit_test(flight__dumps_of_a_run_that_goes_on_are_the_verdict),
        cmocka_unit_test(flight__unfinished_on_one_rank_only_is_its_gpu),
        cmocka_unit_test(flight__chain_over_two_groups_ends_at_the_rank_that_enqueued_nothing),
        cmocka_unit_test(flight__two_groups_in_different_orders_are_a_deadlock),
        cmocka_unit_test(flight__all_joined_is_no_rank_that_is_late),
        cmocka_unit_test(flight__p2p_waits_for_the_side_that_is_not_there),
        cmocka_unit_test(flight__all_finished_is_no_hang),
        cmocka_unit_test(flight__rank_is_the_number_at_the_end_of_the_name),
        cmocka_unit_test(flight__two_sets_of_the_same_ranks_are_two_jobs),
        cmocka_unit_test(flight__folders_of_local_ranks_are_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
