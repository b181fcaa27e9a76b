/* SPDX-License-Identifier: Apache-2.0 */
/* How the entries of one collective compare: every state that a pair of members can be in. */
#include "support_flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define OP(name, in, out)                                                                          \
    {                                                                                              \
        "0", name, in, out, "Float", "scheduled", 7                                                \
    }

/* Ranks 0, 1 and 3 entered `usual`, rank 2 `odd`; all four members are there. */
struct pair {
    const char *what;
    struct test_flight_op usual, odd;
    enum inq_match_state state;
    size_t n_roots; /* 1: rank 2; 0: nobody can be told from the others */
};

static const struct pair pairs[] = {
    {"same", OP("all_reduce", "4, 4", "4, 4"), OP("all_reduce", "4, 4", "4, 4"), INQ_MATCH_MATCHED,
     0},
    {"other kind", OP("all_reduce", "4, 4", "4, 4"), OP("broadcast", "4, 4", "4, 4"),
     INQ_MATCH_KIND, 1},
    {"all-to-all among all-reduces", OP("all_reduce", "4, 4", "4, 4"),
     OP("all_to_all", "4, 4", "4, 4"), INQ_MATCH_KIND, 1},
    {"all-reduce of more", OP("all_reduce", "4, 4", "4, 4"), OP("all_reduce", "4, 5", "4, 5"),
     INQ_MATCH_SIZE, 1},
    {"all-reduce with another output", OP("all_reduce", "4, 4", "4, 4"),
     OP("all_reduce", "4, 4", "4, 5"), INQ_MATCH_SIZE, 1},
    {"all-reduce whose output is not its input", OP("all_reduce", "4, 4", "5, 4"),
     OP("all_reduce", "4, 4", "5, 4"), INQ_MATCH_SIZE, 0},
    {"all-gather", OP("_all_gather_base", "4", "16"), OP("_all_gather_base", "4", "16"),
     INQ_MATCH_MATCHED, 0},
    {"one kind under two names", OP("_all_gather_base", "4", "16"), OP("all_gather", "4", "16"),
     INQ_MATCH_MATCHED, 0},
    {"a kind that is not known, by its name", OP("ring_shift", "4", "4"),
     OP("ring_shift", "4", "4"), INQ_MATCH_MATCHED, 0},
    {"two of those", OP("ring_shift", "4", "4"), OP("tree_shift", "4", "4"), INQ_MATCH_KIND, 1},
    {"one of those among all-reduces", OP("all_reduce", "4", "4"), OP("ring_shift", "4", "4"),
     INQ_MATCH_KIND, 1},
    {"all-gather into too little", OP("_all_gather_base", "4", "16"),
     OP("_all_gather_base", "4", "12"), INQ_MATCH_SIZE, 1},
    {"reduce-scatter", OP("_reduce_scatter_base", "16", "4"), OP("_reduce_scatter_base", "16", "4"),
     INQ_MATCH_MATCHED, 0},
    {"reduce-scatter of too little", OP("_reduce_scatter_base", "16", "4"),
     OP("_reduce_scatter_base", "12", "4"), INQ_MATCH_SIZE, 1},
    {"gather: only the root has an output", OP("gather", "4", "0"), OP("gather", "4", "16"),
     INQ_MATCH_MATCHED, 0},
    {"gather of more", OP("gather", "4", "0"), OP("gather", "5", "0"), INQ_MATCH_SIZE, 1},
    {"scatter: only the root has an input", OP("scatter", "0", "4"), OP("scatter", "16", "4"),
     INQ_MATCH_MATCHED, 0},
    {"scatter of more", OP("scatter", "0", "4"), OP("scatter", "0", "5"), INQ_MATCH_SIZE, 1},
    {"uneven broadcast", OP("broadcast", "8", "8"), OP("broadcast", "9", "9"), INQ_MATCH_SIZE, 1},
    {"all-to-all whose sums agree", OP("all_to_all", "8", "8"), OP("all_to_all", "8", "8"),
     INQ_MATCH_MATCHED, 0},
    {"all-to-all whose sums do not", OP("all_to_all", "8", "8"), OP("all_to_all", "8", "9"),
     INQ_MATCH_SIZE, 0},
    {"other dtype",
     OP("all_reduce", "4, 4", "4, 4"),
     {"0", "all_reduce", "4, 4", "4, 4", "Half", "scheduled", 7},
     INQ_MATCH_DTYPE,
     1},
    {"finished on all others",
     {"0", "all_reduce", "4", "4", "Float", "completed", 7},
     OP("all_reduce", "4", "4"),
     INQ_MATCH_STATE,
     1},
    {"not entered",
     OP("all_reduce", "4", "4"),
     {"0", "all_reduce", "4", "4", "Float", "completed", 6},
     INQ_MATCH_MISSING_MEMBER,
     1},
};

static void pair__has_its_state_and_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *pair = &pairs[i];
        struct test_dumps made = {0};
        test_add_four(&made, 2, &pair->odd, 1, &pair->usual, 1);
        struct test_judged j = test_analyze_dumps(made.blobs, made.n);
        print_message("%-42s %s\n", pair->what, inq_match_state_text(j.failure->matches[0].state));
        assert_int_equal(j.failure->matches[0].state, pair->state);
        assert_int_equal(j.failure->n_roots, pair->n_roots);
        if (pair->n_roots == 1) {
            assert_int_equal(j.failure->root_ranks[0], 2);
        }
        test_judged_release(&j);
        test_dumps_release(&made);
    }
}

/* Ranks 0 and 1 exchange through group "1"; the recorded sides must mirror each other. */
static void pair__send_and_receive_of_different_sizes_are_a_mismatch(void **state)
{
    (void)state;
    const struct test_flight_op send = {"1", "send 0->1", "8", "8", "Float", "scheduled", 3};
    const struct test_flight_op recv = {"1", "recv 1<-0", "9", "9", "Float", "scheduled", 3};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, &send, 1);
    test_add_dump(&made, 1, &recv, 1);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_MISMATCH);
    test_judged_release(&j);
    test_dumps_release(&made);
}

/* In a group of more than two each member numbers its own transfers: a middle stage has far higher
 * numbers than the first. */
static void pair__stages_number_their_transfers_each_for_itself(void **state)
{
    (void)state;
    const struct test_flight_op send = {"0", "send 0->1", "8", "8", "Float", "scheduled", 5};
    const struct test_flight_op recv = {"0", "recv 1<-0", "8", "8", "Float", "scheduled", 9};
    const struct test_flight_op next = {"0", "recv 2<-1", "8", "8", "Float", "scheduled", 5};
    const struct test_flight_op last = {"0", "recv 3<-2", "8", "8", "Float", "scheduled", 2};
    const struct test_flight_op *ops[] = {&send, &recv, &next, &last};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 4; rank++) {
        test_add_dump(&made, rank, ops[rank], 1);
    }
    test_expect(&made, INQ_FAILURE_COMMUNICATION, ""); /* 0 and 1 have both joined */
}

#define P2P(name, state, number)                                                                   \
    {                                                                                              \
        "0", name, "4", "4", "Float", state, number                                                \
    }

/* Rank 1 sends to rank 2, which is there, and receives from rank 0, which is not: it waits. */
static void pair__a_batch_waits_for_each_of_its_members(void **state)
{
    (void)state;
    const struct test_flight_op none = P2P("send 0->1", "completed", 2);
    const struct test_flight_op both[] = {
        P2P("recv 1<-0", "completed", 2), P2P("send 1->2", "scheduled", 3),
        P2P("recv 1<-0", "scheduled", 3), P2P("coalesced", "scheduled", 3)};
    const struct test_flight_op one[] = {P2P("recv 2<-1", "scheduled", 2),
                                         P2P("coalesced", "scheduled", 2)};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, &none, 1);
    test_add_dump(&made, 1, both, 4);
    test_add_dump(&made, 2, one, 2);
    test_add_dump(&made, 3, NULL, 0);
    test_expect(&made, INQ_FAILURE_CPU_STALL, "0");
}

/* A ring: rank 0 never comes to its second round. Rank 1 sent in it, and waits for rank 0; rank 2
 * is through with it, and waits for rank 1's third. */
static void pair__a_batch_that_gave_and_did_not_get_holds_the_next(void **state)
{
    (void)state;
    static const char *const sends[] = {"send 0->1", "send 1->2", "send 2->0"};
    static const char *const recvs[] = {"recv 0<-2", "recv 1<-0", "recv 2<-1"};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 3; rank++) {
        struct test_flight_op ops[9];
        size_t n = 0;
        for (int round = 1; round <= rank + 1; round++) {
            const char *is = round == 1 || (rank == 2 && round == 2) ? "completed" : "scheduled";
            ops[n++] = (struct test_flight_op)P2P(sends[rank], "scheduled", round);
            ops[n++] = (struct test_flight_op)P2P(recvs[rank], "scheduled", round);
            ops[n++] = (struct test_flight_op)P2P("coalesced", is, round);
        }
        test_add_dump(&made, rank, ops, n);
    }
    test_add_dump(&made, 3, NULL, 0);
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "0");
    assert_int_equal(j.failure->n_victims, 2);
    test_judged_release(&j);
}

/* Both send first: each has the receive enqueued behind its send. */
static void pair__two_that_both_send_first_are_a_deadlock(void **state)
{
    (void)state;
    const struct test_flight_op first[] = {
        {"1", "send 0->1", "8", "8", "Float", "scheduled", 3},
        {"1", "recv 0<-1", "8", "8", "Float", "scheduled", 4},
    };
    const struct test_flight_op other[] = {
        {"1", "send 1->0", "8", "8", "Float", "scheduled", 3},
        {"1", "recv 1<-0", "8", "8", "Float", "scheduled", 4},
    };
    struct test_dumps made = {0};
    test_add_dump(&made, 0, first, 2);
    test_add_dump(&made, 1, other, 2);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_ORDERING);
    assert_int_equal(j.failure->n_roots, 2);
    test_judged_release(&j);
    test_dumps_release(&made);
}

/* Activations go one way, smaller gradients the other, in one batch: nothing is odd about that. */
static void pair__both_ways_of_a_batch_may_differ_in_size(void **state)
{
    (void)state;
    const struct test_flight_op first[] = {
        {"1", "send 0->1", "8", "8", "Float", "scheduled", 3},
        {"1", "recv 0<-1", "2", "2", "Float", "scheduled", 3},
        {"1", "coalesced", "", "", "Float", "scheduled", 3},
    };
    const struct test_flight_op other[] = {
        {"1", "send 1->0", "2", "2", "Float", "scheduled", 3},
        {"1", "recv 1<-0", "8", "8", "Float", "scheduled", 3},
        {"1", "coalesced", "", "", "Float", "scheduled", 3},
    };
    struct test_dumps made = {0};
    test_add_dump(&made, 0, first, 3);
    test_add_dump(&made, 1, other, 3);
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_COMMUNICATION);
    test_judged_release(&j);
    test_dumps_release(&made);
}

static void pair__a_circle_is_one_whoever_else_left_no_dump(void **state)
{
    (void)state;
    const struct test_flight_op first[] = {OP("all_reduce", "4", "4"),
                                           {"1", "broadcast", "4", "4", "Float", "scheduled", 3}};
    const struct test_flight_op other[] = {first[1], first[0]};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 3; rank++) {
        test_add_dump(&made, rank, rank == 1 ? other : first, rank < 2 ? 2 : 1);
    }
    test_expect(&made, INQ_FAILURE_ORDERING, "0, 1");
}

/* Rank 1 is in what nobody else has entered: the circle is its doing, though rank 0 could end it as
 * well as far as the dumps show, because rank 3 left none. */
static void pair__the_one_that_is_alone_in_its_op_made_the_circle(void **state)
{
    (void)state;
    const struct test_flight_op in_pair = {"1", "broadcast", "4", "4", "Float", "scheduled", 3};
    const struct test_flight_op alone = {"2", "all_gather", "4", "16", "Float", "scheduled", 1};
    const struct test_flight_op receives = {"0", "recv 2<-3", "8", "8", "Float", "scheduled", 3};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, &in_pair, 1);
    test_add_dump(&made, 1, &alone, 1);
    test_add_dump(&made, 2, &receives, 1);
    test_expect(&made, INQ_FAILURE_UNEVEN, "1");
}

static void pair__a_member_without_a_dump_leaves_it_undecided(void **state)
{
    (void)state;
    const struct test_flight_op op = OP("all_reduce", "4", "4");
    struct test_dumps made = {0};
    for (int rank = 0; rank < 3; rank++) {
        test_add_dump(&made, rank, &op, 1);
    }
    struct test_judged j = test_analyze_dumps(made.blobs, made.n);
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_UNDECIDED);
    assert_string_equal(j.failure->matches[0].what, "no dump tells whether rank 3 joined");
    assert_int_equal(j.failure->n_roots, 0);
    test_judged_release(&j);
    test_dumps_release(&made);
}

/* Rings of entries that wrapped have lost what was done: then the oldest pending send goes with the
 * oldest pending receive. Where both list all that ever was, rank 0 is through with its first send
 * and rank 1 is not with what received it. */
static void pair__transfers_are_counted_from_the_start_only_where_it_is_listed(void **state)
{
    (void)state;
    const struct test_flight_op sends[] = {P2P("send 0->1", "completed", 4),
                                           P2P("send 0->1", "scheduled", 5)};
    const struct test_flight_op receive = P2P("recv 1<-0", "scheduled", 5);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        struct test_dumps made = {.first_record = 40 * wrapped};
        test_add_dump(&made, 0, sends, 2);
        test_add_dump(&made, 1, &receive, 1);
        test_add_dump(&made, 2, NULL, 0);
        test_add_dump(&made, 3, NULL, 0);
        struct test_judged j = test_analyze_dumps(made.blobs, made.n);
        print_message("%s\n", j.failure->headline);
        assert_int_equal(j.failure->cls,
                         wrapped ? INQ_FAILURE_COMMUNICATION : INQ_FAILURE_GPU_STALL);
        test_judged_release(&j);
        test_dumps_release(&made);
    }
}

/* All are in 7; what is behind it tells already who will be missed. */
static void pair__a_later_number_that_a_member_lacks_is_told(void **state)
{
    (void)state;
    const struct test_flight_op ops[] = {TEST_ALL_REDUCE(7, "4"), TEST_ALL_REDUCE(8, "4")};
    struct test_dumps made = {0};
    test_add_four(&made, 2, ops, 1, ops, 2);
    struct test_judged j = test_find(&made, INQ_FAILURE_COMMUNICATION, "");
    assert_int_equal(j.failure->matches[0].state, INQ_MATCH_MISSING_MEMBER);
    assert_int_equal(j.failure->matches[0].seq, 8);
    assert_int_equal(j.failure->matches[0].n_ranks, 1);
    assert_int_equal(j.failure->matches[0].ranks[0], 2);
    test_judged_release(&j);
}

/* Counters begin at -1, numbers at 1. */
static void pair__the_first_number_is_that_of_the_entry(void **state)
{
    (void)state;
    const struct test_flight_op op = TEST_ALL_REDUCE(1, "4");
    struct test_dumps made = {
        .status = "\"0\": {\"last_enqueued_collective\": 1, \"last_completed_collective\": -1}"};
    for (int rank = 0; rank < 4; rank++) {
        made.status = rank == 2 ? NULL : made.status;
        test_add_dump(&made, rank, &op, rank != 2);
    }
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "2");
    assert_int_equal(j.failure->matches[0].seq, 1);
    test_judged_release(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pair__has_its_state_and_root),
        cmocka_unit_test(pair__send_and_receive_of_different_sizes_are_a_mismatch),
        cmocka_unit_test(pair__stages_number_their_transfers_each_for_itself),
        cmocka_unit_test(pair__a_batch_waits_for_each_of_its_members),
        cmocka_unit_test(pair__a_batch_that_gave_and_did_not_get_holds_the_next),
        cmocka_unit_test(pair__two_that_both_send_first_are_a_deadlock),
        cmocka_unit_test(pair__both_ways_of_a_batch_may_differ_in_size),
        cmocka_unit_test(pair__a_circle_is_one_whoever_else_left_no_dump),
        cmocka_unit_test(pair__transfers_are_counted_from_the_start_only_where_it_is_listed),
        cmocka_unit_test(pair__a_later_number_that_a_member_lacks_is_told),
        cmocka_unit_test(pair__the_first_number_is_that_of_the_entry),
        cmocka_unit_test(pair__the_one_that_is_alone_in_its_op_made_the_circle),
        cmocka_unit_test(pair__a_member_without_a_dump_leaves_it_undecided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
