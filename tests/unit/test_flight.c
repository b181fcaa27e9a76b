/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps: real ones with a known fault, and small ones for every state. */
#include "base/out.h"
#include "inquest/failure.h"
#include "inquest/ingest.h"
#include "support_read.h"
#include "trace/flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOBS = 32 };

struct judged {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_failure *failure;
};

static struct judged judge(const struct inq_ingest_blob *blobs, size_t n)
{
    struct judged j = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, n, NULL, &j.run, &err), INQ_OK);
    assert_int_equal(j.run->n_traces, 1);
    assert_int_equal(inq_analyze(j.run->traces[0], NULL, &j.report, &err), INQ_OK);
    j.failure = j.report->failure;
    assert_non_null(j.failure);
    return j;
}

static void release(struct judged *j)
{
    inq_report_free(j->report);
    inq_run_free(j->run);
}

static bool has(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* ---- the real dumps ----------------------------------------------------------------------------
 */

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
    struct judged j = judge(real->blobs, REAL);
    assert_int_equal(j.failure->cls, cls);
    assert_int_equal(j.failure->n_roots, 2);
    assert_int_equal(j.failure->root_ranks[0], 9);
    assert_int_equal(j.failure->root_ranks[1], 14);
    assert_int_equal(j.failure->n_victims, 14);
    assert_int_equal(j.failure->n_missing, 0);
    assert_string_equal(j.report->verdict.headline, j.failure->headline);
    assert_true(j.failure->n_evidence > 2);
    release(&j);
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
    struct judged j = judge(blobs, n);
    const struct inq_failure *f = j.failure;
    for (size_t i = 0; i < f->n_roots; i++) {
        assert_true(f->root_ranks[i] == 9 || f->root_ranks[i] == 14);
    }
    static const int32_t faulty[] = {9, 14};
    for (size_t i = 0; i < 2; i++) {
        bool gone = (size_t)faulty[i] == a || (size_t)faulty[i] == b;
        assert_true(gone != has(f->root_ranks, f->n_roots, faulty[i]));
        assert_true(!(a == 9 && b == 14) || has(f->suspect_ranks, f->n_suspects, faulty[i]));
    }
    assert_non_null(strstr(f->alternatives[f->n_alternatives - 1], "no whole dump of ranks "));
    assert_true(has(f->missing_ranks, f->n_missing, (int32_t)a));
    assert_true(has(f->missing_ranks, f->n_missing, (int32_t)b));
    assert_int_equal(f->cls, a == 9 && b == 14 ? INQ_FAILURE_UNKNOWN : cls);
    release(&j);
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
            struct judged j = judge(blobs, REAL);
            for (size_t i = 0; i < j.failure->n_roots; i++) {
                assert_true(j.failure->root_ranks[i] == 9 || j.failure->root_ranks[i] == 14);
            }
            assert_true(has(j.failure->missing_ranks, j.failure->n_missing, (int32_t)cut));
            release(&j);
        }
    }
    unload(&real);
}

/* ---- small dumps -------------------------------------------------------------------------------
 */

struct op {
    const char *group, *name, *in, *out, *dtype, *state;
    int seq;
};

struct made {
    struct inq_out out[MAX_BLOBS];
    struct inq_ingest_blob blobs[MAX_BLOBS];
    char names[MAX_BLOBS][32];
    size_t n;
};

static void add_op(struct inq_out *out, const struct op *op, int record, bool first)
{
    bool p2p = strstr(op->name, "->") != NULL || strstr(op->name, "<-") != NULL;
    inq_out_printf(out,
                   "%s{\"collective_seq_id\": %d, \"p2p_seq_id\": %d, \"process_group\": [\"%s\", "
                   "\"g%s\"], \"profiling_name\": \"nccl:%s\", \"input_sizes\": [[%s]], "
                   "\"output_sizes\": [[%s]], \"input_dtypes\": [\"%s\"], \"state\": \"%s\", "
                   "\"record_id\": %d, \"is_p2p\": %s}",
                   first ? "" : ", ", p2p ? 0 : op->seq, p2p ? op->seq : 0, op->group, op->group,
                   op->name, op->in, op->out, op->dtype, op->state, record, p2p ? "true" : "false");
}

/* A dump of `rank` in groups "0" (ranks 0-3) and "1" (ranks 0 and 1). */
static void add_dump(struct made *made, int rank, const struct op *ops, size_t n)
{
    struct inq_out *out = &made->out[made->n];
    inq_out_text(out, "{\"version\": \"2.10\", \"pg_config\": {\"0\": {\"name\": \"0\", \"desc\": "
                      "\"all\", \"ranks\": \"[0, 1, 2, 3]\"}, \"1\": {\"name\": \"1\", \"desc\": "
                      "\"pair\", \"ranks\": \"[0, 1]\"}}, \"entries\": [");
    for (size_t i = 0; i < n; i++) {
        add_op(out, &ops[i], (int)i, i == 0);
    }
    inq_out_text(out, "]}");
    (void)snprintf(made->names[made->n], sizeof made->names[0], "run/trace_rank_%d.json", rank);
    made->blobs[made->n] = (struct inq_ingest_blob){made->names[made->n], out->buf, out->len};
    made->n++;
}

static void release_made(struct made *made)
{
    for (size_t i = 0; i < made->n; i++) {
        inq_out_release(&made->out[i]);
    }
}

#define ALL_REDUCE(number, size)                                                                   \
    {                                                                                              \
        "0", "all_reduce", size, size, "Float", "scheduled", number                                \
    }

static void check_match(const struct op *ops, const struct op *odd, enum inq_match_state expected)
{
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank == 2 ? odd : ops, 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->n_matches, 1);
    assert_int_equal(j.failure->matches[0].state, expected);
    assert_int_equal(j.failure->cls, INQ_FAILURE_MISMATCH);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 2);
    assert_int_equal(j.failure->confidence, INQ_CONFIDENCE_ESTABLISHED);
    release(&j);
    release_made(&made);
}

static void flight__mismatches_name_the_minority(void **state)
{
    (void)state;
    const struct op usual = ALL_REDUCE(7, "4, 4");
    const struct op kind = {"0", "_all_gather_base", "4", "16", "Float", "scheduled", 7};
    const struct op size = ALL_REDUCE(7, "4, 5");
    const struct op dtype = {"0", "all_reduce", "4, 4", "4, 4", "Half", "scheduled", 7};
    const struct op gather = {"0", "_all_gather_base", "4", "16", "Float", "scheduled", 7};
    const struct op short_gather = {"0", "_all_gather_base", "4", "12", "Float", "scheduled", 7};
    const struct op scatter = {"0", "_reduce_scatter_base", "16", "4", "Float", "scheduled", 7};
    const struct op bad_scatter = {"0", "_reduce_scatter_base", "16", "5", "Float", "scheduled", 7};
    check_match(&usual, &kind, INQ_MATCH_KIND);
    check_match(&usual, &size, INQ_MATCH_SIZE);
    check_match(&usual, &dtype, INQ_MATCH_DTYPE);
    check_match(&gather, &short_gather, INQ_MATCH_SIZE);
    check_match(&scatter, &bad_scatter, INQ_MATCH_SIZE);
}

static void flight__a_collective_coalesced_in_part_is_a_mismatch(void **state)
{
    (void)state;
    const struct op whole[] = {ALL_REDUCE(7, "4"), ALL_REDUCE(7, "8")};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, whole, rank == 3 ? 1 : 2);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_MISMATCH);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 3);
    release(&j);
    release_made(&made);
}

static void flight__uneven_all_to_all_fits_when_its_sums_do(void **state)
{
    (void)state;
    static const char *const out[] = {"10", "6", "8", "8", "9"};
    for (int bad = 0; bad < 2; bad++) {
        struct made made = {0};
        for (int rank = 0; rank < 4; rank++) {
            const struct op op = {"0",     "all_to_all", "8", out[bad && rank == 3 ? 4 : rank],
                                  "Float", "scheduled",  5};
            add_dump(&made, rank, &op, 1);
        }
        struct judged j = judge(made.blobs, made.n);
        assert_int_equal(j.failure->matches[0].state, bad ? INQ_MATCH_SIZE : INQ_MATCH_MATCHED);
        assert_int_equal(j.failure->cls, bad ? INQ_FAILURE_MISMATCH : INQ_FAILURE_COMMUNICATION);
        assert_int_equal(j.failure->n_roots, 0); /* the sums do not tell who is wrong */
        release(&j);
        release_made(&made);
    }
}

static void flight__two_against_two_is_undecided(void **state)
{
    (void)state;
    struct made made = {0};
    const struct op a = ALL_REDUCE(7, "4");
    const struct op b = {"0", "broadcast", "4", "4", "Float", "scheduled", 7};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank < 2 ? &a : &b, 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_MISMATCH);
    assert_int_equal(j.failure->n_roots, 0);
    release(&j);
    release_made(&made);
}

static void flight__swapped_collectives_are_an_order_mismatch(void **state)
{
    (void)state;
    const struct op right[] = {ALL_REDUCE(7, "4"),
                               {"0", "broadcast", "4", "4", "Float", "scheduled", 8}};
    const struct op wrong[] = {{"0", "broadcast", "4", "4", "Float", "scheduled", 7},
                               ALL_REDUCE(8, "4")};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank == 1 ? wrong : right, 2);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_ORDER);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 1);
    release(&j);
    release_made(&made);
}

static void flight__unfinished_on_one_rank_only_is_its_gpu(void **state)
{
    (void)state;
    const struct op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    const struct op open = ALL_REDUCE(7, "4");
    const struct op next[] = {done, ALL_REDUCE(8, "4")};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank == 3 ? &open : next, rank == 3 ? 1 : 2);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_STATE);
    assert_int_equal(j.failure->cls, INQ_FAILURE_GPU_STALL);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 3);
    assert_int_equal(j.failure->n_victims, 3);
    release(&j);
    release_made(&made);
}

static void flight__chain_over_two_groups_ends_at_the_rank_that_enqueued_nothing(void **state)
{
    (void)state;
    const struct op open = ALL_REDUCE(7, "4");
    const struct op pair = {"1", "broadcast", "4", "4", "Float", "scheduled", 3};
    const struct op before = {"0", "all_reduce", "4", "4", "Float", "completed", 6};
    struct made made = {0};
    add_dump(&made, 0, &pair, 1); /* waits for 1, and holds up 2 and 3 */
    add_dump(&made, 1, &before, 1);
    add_dump(&made, 2, &open, 1);
    add_dump(&made, 3, &open, 1);
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_CPU_STALL);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 1);
    assert_int_equal(j.failure->n_victims, 3);
    release(&j);
    release_made(&made);
}

static void flight__two_groups_in_different_orders_are_a_deadlock(void **state)
{
    (void)state;
    const struct op first[] = {{"0", "all_reduce", "4", "4", "Float", "scheduled", 7},
                               {"1", "broadcast", "4", "4", "Float", "scheduled", 3}};
    const struct op other[] = {first[1], first[0]};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank == 1 ? other : first, rank < 2 ? 2 : 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_ORDERING);
    assert_true(has(j.failure->root_ranks, j.failure->n_roots, 0));
    assert_true(has(j.failure->root_ranks, j.failure->n_roots, 1));
    assert_int_equal(j.failure->n_roots, 2);
    release(&j);
    release_made(&made);
}

static void flight__all_joined_is_no_rank_that_is_late(void **state)
{
    (void)state;
    const struct op open = ALL_REDUCE(7, "4");
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, &open, 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_COMMUNICATION);
    assert_int_equal(j.failure->n_roots, 0);
    release(&j);
    made.n = 3; /* without the dump of rank 3 it may be the one that did not join */
    j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_UNKNOWN);
    assert_int_equal(j.failure->n_roots, 0);
    assert_int_equal(j.failure->n_suspects, 1);
    assert_int_equal(j.failure->suspect_ranks[0], 3);
    release(&j);
    made.n = 4;
    release_made(&made);
}

static void flight__p2p_waits_for_the_side_that_is_not_there(void **state)
{
    (void)state;
    const struct op send = {"0", "send 0->2", "4", "4", "Float", "scheduled", 9};
    const struct op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, rank == 0 ? &send : &done, 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_CPU_STALL);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 2);
    assert_int_equal(j.failure->seq, 9);
    release(&j);
    release_made(&made);
}

static void flight__all_finished_is_no_hang(void **state)
{
    (void)state;
    const struct op done = {"0", "all_reduce", "4", "4", "Float", "completed", 7};
    struct made made = {0};
    for (int rank = 0; rank < 4; rank++) {
        add_dump(&made, rank, &done, 1);
    }
    struct judged j = judge(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_NONE);
    assert_int_equal(j.failure->n_roots, 0);
    release(&j);
    release_made(&made);
}

/* ---- names -------------------------------------------------------------------------------------
 */

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
    const struct op open = ALL_REDUCE(7, "4");
    struct made made = {0};
    static const char *const names[] = {"a/fr0", "a/fr1", "b/fr0", "b/fr1"};
    for (int i = 0; i < 4; i++) {
        add_dump(&made, i % 2, &open, 1);
        made.blobs[i].name = names[i];
    }
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(made.blobs, made.n, NULL, &run, &err), INQ_OK);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(run->traces[0]->n_dumps, 2);
    assert_int_equal(run->traces[0]->world_size, 4);
    assert_int_equal(run->traces[0]->n_missing, 2);
    assert_string_equal(run->traces[0]->name, "a");
    assert_string_equal(run->traces[1]->name, "b");
    inq_run_free(run);
    release_made(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flight__gpu_error_names_ranks_9_and_14),
        cmocka_unit_test(flight__gil_lock_names_ranks_9_and_14),
        cmocka_unit_test(flight__cut_dumps_never_make_a_victim_a_root),
        cmocka_unit_test(flight__mismatches_name_the_minority),
        cmocka_unit_test(flight__a_collective_coalesced_in_part_is_a_mismatch),
        cmocka_unit_test(flight__uneven_all_to_all_fits_when_its_sums_do),
        cmocka_unit_test(flight__two_against_two_is_undecided),
        cmocka_unit_test(flight__swapped_collectives_are_an_order_mismatch),
        cmocka_unit_test(flight__unfinished_on_one_rank_only_is_its_gpu),
        cmocka_unit_test(flight__chain_over_two_groups_ends_at_the_rank_that_enqueued_nothing),
        cmocka_unit_test(flight__two_groups_in_different_orders_are_a_deadlock),
        cmocka_unit_test(flight__all_joined_is_no_rank_that_is_late),
        cmocka_unit_test(flight__p2p_waits_for_the_side_that_is_not_there),
        cmocka_unit_test(flight__all_finished_is_no_hang),
        cmocka_unit_test(flight__rank_is_the_number_at_the_end_of_the_name),
        cmocka_unit_test(flight__two_sets_of_the_same_ranks_are_two_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
