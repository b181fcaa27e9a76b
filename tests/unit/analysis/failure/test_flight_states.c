/* SPDX-License-Identifier: Apache-2.0 */
/* Entries whose recorded state is not what happened, and dumps that were not written at one time.
 */
#include "support_flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define P2P(group, name, state, number)                                                            \
    {                                                                                              \
        group, name, "4", "4", "Float", state, number                                              \
    }

static void check_none(struct test_dumps *made)
{
    struct test_judged j = test_analyze_dumps(made->blobs, made->n);
    assert_int_equal(j.failure->cls, INQ_FAILURE_NONE);
    assert_int_equal(j.failure->n_roots, 0);
    test_judged_release(&j);
    test_dumps_release(made);
}

/* Four stages pass on activations: what is not followed one by one stays "scheduled". */
static void states__members_of_a_finished_batch_are_finished(void **state)
{
    (void)state;
    static const char *const names[4][2] = {{"send 0->1", "recv 0<-1"},
                                            {"recv 1<-0", "send 1->0"},
                                            {"send 2->3", "recv 2<-3"},
                                            {"recv 3<-2", "send 3->2"}};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 4; rank++) {
        const struct test_flight_op ops[] = {P2P("0", names[rank][0], "scheduled", 5),
                                             P2P("0", names[rank][1], "scheduled", 5),
                                             P2P("0", "coalesced", "completed", 5)};
        test_add_dump(&made, rank, ops, 3);
    }
    check_none(&made);
}

/* With active entries only, a finished batch leaves its members behind, not its own entry. */
static void states__members_stay_when_only_active_entries_are_dumped(void **state)
{
    (void)state;
    const struct test_flight_op open[] = {
        P2P("1", "send 0->1", "scheduled", 5), P2P("1", "recv 0<-1", "scheduled", 5),
        P2P("1", "send 0->1", "scheduled", 6), P2P("1", "coalesced", "scheduled", 6)};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, open, 4);
    test_add_dump(&made, 1, NULL, 0);
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "1");
    assert_int_equal(j.failure->seq, 6);
    test_judged_release(&j);
}

/* Rank 0's last batch is listed nowhere, but the group's counters passed it. */
static void states__counters_tell_that_a_batch_is_finished(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"pp\",\"ranks\":"
        "\"[0, 1]\"}},\"pg_status\":{\"3\":{\"last_enqueued_collective\":%d,"
        "\"last_completed_collective\":%d}},\"entries\":["
        "{\"record_id\":7,\"pg_id\":3,\"process_group\":[\"0\",\"pp\"],\"collective_seq_id\":0,"
        "\"p2p_seq_id\":9,\"profiling_name\":\"nccl:send 0->1\",\"state\":\"scheduled\","
        "\"is_p2p\":true},"
        "{\"record_id\":8,\"pg_id\":3,\"process_group\":[\"0\",\"pp\"],\"collective_seq_id\":0,"
        "\"p2p_seq_id\":9,\"profiling_name\":\"nccl:recv 0<-1\",\"state\":\"scheduled\","
        "\"is_p2p\":true}]}";
    static const char idle[] =
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"pp\",\"ranks\":"
        "\"[0, 1]\"}},\"entries\":[]}";
    for (int done = 8; done < 10; done++) {
        struct inq_out out = {0};
        inq_out_printf(&out, text, 9, done);
        struct inq_ingest_blob blobs[] = {{"fr0", out.buf, out.len},
                                          {"fr1", idle, sizeof idle - 1}};
        struct test_judged j = test_analyze_dumps(blobs, 2);
        assert_int_equal(j.failure->cls, done == 9 ? INQ_FAILURE_NONE : INQ_FAILURE_CPU_STALL);
        test_judged_release(&j);
        inq_out_release(&out);
    }
}

/* What runs when its timeout strikes is aborted, and then counts as completed; rank 1 wrote its
 * dump after that. A slow op that others follow is another thing. */
static void states__an_aborted_op_did_not_finish(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct test_dumps made = {0};
        struct inq_out out = {0};
        const struct test_flight_op before = {"1", "all_reduce", "4", "4", "Float", "completed", 1};
        test_add_dump(&made, 0, &before, 1);
        inq_out_printf(
            &out,
            "{\"version\":\"2.10\",\"pg_config\":{\"1\":{\"name\":\"1\",\"desc\":\"pair\","
            "\"ranks\":\"[0, 1]\"}},\"entries\":[{\"record_id\":1,\"process_group\":[\"1\","
            "\"gpair\"],\"collective_seq_id\":2,\"profiling_name\":\"nccl:broadcast\",\"state\":"
            "\"completed\",\"time_created_ns\":1000000000,\"time_discovered_completed_ns\":"
            "3000000000,\"timeout_ms\":1000}%s]}",
            later ? ",{\"record_id\":2,\"process_group\":[\"1\",\"gpair\"],\"collective_seq_id\":3,"
                    "\"profiling_name\":\"nccl:broadcast\",\"state\":\"completed\","
                    "\"time_created_ns\":4000000000,\"time_discovered_completed_ns\":4000000100,"
                    "\"timeout_ms\":1000}"
                  : "");
        struct inq_ingest_blob blobs[] = {made.blobs[0],
                                          {"run/trace_rank_1.json", out.buf, out.len}};
        struct test_judged j = test_analyze_dumps(blobs, 2);
        assert_int_equal(j.failure->cls, later ? INQ_FAILURE_NONE : INQ_FAILURE_CPU_STALL);
        assert_int_equal(j.failure->n_roots, later ? 0 : 1);
        test_judged_release(&j);
        test_dumps_release(&made);
        inq_out_release(&out);
    }
}

/* Ranks 1 to 3 finished what rank 0 had not even enqueued when it wrote its dump. */
static void states__a_dump_from_before_is_no_evidence(void **state)
{
    (void)state;
    const struct test_flight_op early = TEST_ALL_REDUCE(7, "4");
    const struct test_flight_op late[] = {{"0", "all_reduce", "4", "4", "Float", "completed", 9},
                                          TEST_ALL_REDUCE(10, "4")};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, &early, 1);
    for (int rank = 1; rank < 4; rank++) {
        test_add_dump(&made, rank, late, 2);
    }
    struct test_judged j = test_find(&made, INQ_FAILURE_UNKNOWN, "");
    assert_int_equal(j.failure->n_suspected, 1);
    assert_int_equal(j.failure->suspected_ranks[0], 0);
    assert_non_null(strstr(j.failure->headline, "before the others went on"));
    test_judged_release(&j);
}

/* A broadcast finishes on its root before the others have come: that says nothing of their dumps.
 */
static void states__what_one_can_finish_alone_makes_no_dump_old(void **state)
{
    (void)state;
    const struct test_flight_op behind = {"0", "broadcast", "4", "4", "Float", "completed", 8};
    const struct test_flight_op late[] = {{"0", "broadcast", "4", "4", "Float", "completed", 9},
                                          TEST_ALL_REDUCE(10, "4")};
    struct test_dumps made = {0};
    test_add_four(&made, 2, &behind, 1, late, 2);
    test_expect(&made, INQ_FAILURE_CPU_STALL, "2");
}

/* Before version 2.0 groups are only numbered; the first is that of all ranks. */
static void states__numbered_groups_are_of_all_or_of_nobody_known(void **state)
{
    (void)state;
    static const char text[] = "{\"version\":\"1.4\",\"pg_config\":{},\"entries\":[{\"pg_id\":%d,"
                               "\"seq_id\":%d,\"profiling_name\":"
                               "\"nccl:all_reduce\",\"state\":\"%s\"}]}";
    for (int pg = 0; pg < 2; pg++) {
        struct inq_out outs[3] = {{0}};
        struct inq_ingest_blob blobs[3];
        static const char *const names[] = {"fr0", "fr1", "fr2"};
        for (int r = 0; r < 3; r++) {
            inq_out_printf(&outs[r], text, pg, r == 1 ? 4 : 5, r == 1 ? "completed" : "scheduled");
            blobs[r] = (struct inq_ingest_blob){names[r], outs[r].buf, outs[r].len};
        }
        struct test_judged j = test_analyze_dumps(blobs, 3);
        assert_int_equal(j.failure->cls, pg == 0 ? INQ_FAILURE_CPU_STALL : INQ_FAILURE_UNKNOWN);
        assert_int_equal(j.failure->n_roots, pg == 0);
        if (pg == 0) {
            assert_int_equal(j.failure->root_ranks[0], 1);
        }
        test_judged_release(&j);
        for (int r = 0; r < 3; r++) {
            inq_out_release(&outs[r]);
        }
    }
}

/* Both pairs of ranks are in what they will soon finish: a job that runs looks like that. */
static void states__many_joined_groups_at_once_may_be_no_hang(void **state)
{
    (void)state;
    const struct test_flight_op all = TEST_ALL_REDUCE(7, "4");
    const struct test_flight_op both[] = {{"1", "all_reduce", "4", "4", "Float", "scheduled", 3},
                                          {"0", "send 2->3", "4", "4", "Float", "scheduled", 3},
                                          {"0", "recv 3<-2", "4", "4", "Float", "scheduled", 3}};
    for (int many = 0; many < 2; many++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            test_add_dump(&made, rank, many ? &both[rank < 2 ? 0 : rank - 1] : &all, 1);
        }
        struct test_judged j = test_analyze_dumps(made.blobs, made.n);
        assert_int_equal(j.failure->cls, INQ_FAILURE_COMMUNICATION);
        assert_int_equal(j.failure->confidence,
                         many ? INQ_CONFIDENCE_HYPOTHESIS : INQ_CONFIDENCE_SUPPORTED);
        assert_int_equal(strstr(j.failure->headline, "not hung") != NULL, many);
        test_judged_release(&j);
        test_dumps_release(&made);
    }
}

/* Rank 3 has gone on to a collective of another group; with the one that the others are in enqueued
 * behind it, the two are in another order. */
static void states__one_against_all_others_is_the_root(void **state)
{
    (void)state;
    const struct test_flight_op theirs = {"2", "all_reduce", "4", "4", "Float", "scheduled", 5};
    const struct test_flight_op own[] = {TEST_ALL_REDUCE(7, "4"), theirs};
    for (int came = 0; came < 2; came++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            test_add_dump(&made, rank, rank == 3 ? own : &theirs, rank == 3 && came ? 2 : 1);
        }
        struct test_judged j =
            test_find(&made, came ? INQ_FAILURE_ORDERING : INQ_FAILURE_UNEVEN, "3");
        assert_int_equal(j.failure->n_victims, 3);
        assert_non_null(strstr(j.failure->headline, "Rank 3 is in all_reduce 7"));
        test_judged_release(&j);
    }
}

#define IN_ALL(name, state, number)                                                                \
    {                                                                                              \
        "0", name, "4", "4", "Float", state, number                                                \
    }

/* With active entries only: batch 5 is over, as batch 6 is listed; that 7 follows says nothing of
 * batch 6, which is listed as not finished. */
static void states__a_listed_batch_is_not_finished_by_the_next(void **state)
{
    (void)state;
    const struct test_flight_op open[] = {
        P2P("1", "send 0->1", "scheduled", 5), P2P("1", "send 0->1", "scheduled", 6),
        P2P("1", "coalesced", "scheduled", 6), P2P("1", "recv 0<-1", "scheduled", 7),
        P2P("1", "coalesced", "scheduled", 7)};
    struct test_dumps made = {0};
    test_add_dump(&made, 0, open, 5);
    test_add_dump(&made, 1, NULL, 0);
    struct test_judged j = test_find(&made, INQ_FAILURE_CPU_STALL, "1");
    assert_int_equal(j.failure->seq, 6);
    test_judged_release(&j);
}

/* Coalesced collectives are followed as one as well: with active entries only, those of a finished
 * batch stay without its own entry. The counters report the one that ends the dump. */
static void states__collectives_of_a_finished_batch_are_finished(void **state)
{
    (void)state;
    static const char *const counters[] = {
        NULL, "\"0\": {\"last_enqueued_collective\": 7, \"last_completed_collective\": 7}",
        "\"0\": {\"last_enqueued_collective\": 6, \"last_completed_collective\": 6}"};
    const struct test_flight_op ops[] = {
        IN_ALL("all_reduce", "scheduled", 6), IN_ALL("all_reduce", "scheduled", 6),
        IN_ALL("all_reduce", "scheduled", 7), IN_ALL("all_reduce", "scheduled", 7)};
    const struct test_flight_op waits = IN_ALL("all_reduce", "scheduled", 8);
    for (size_t i = 0; i < 3; i++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            made.status = rank == 2 ? counters[i] : NULL;
            test_add_dump(&made, rank, rank == 2 ? ops : &waits, rank == 2 ? 4 : 1);
        }
        test_expect(&made, i == 2 ? INQ_FAILURE_GPU_STALL : INQ_FAILURE_CPU_STALL, "2");
    }
}

/* Rank 1's ring of entries begins inside the batch that all are in. */
static void states__a_batch_cut_by_the_ring_is_no_mismatch(void **state)
{
    (void)state;
    const struct test_flight_op batch[] = {
        IN_ALL("all_reduce", "scheduled", 7), IN_ALL("broadcast", "scheduled", 7),
        IN_ALL("(coalesced)", "scheduled", 7), IN_ALL("all_reduce", "scheduled", 8)};
    for (int cut = 1; cut < 3; cut++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            made.first_record = rank == 1 ? 40 : 0;
            test_add_dump(&made, rank, rank == 1 ? batch + cut : batch,
                          rank == 1 ? 4 - (size_t)cut : 4);
        }
        test_expect(&made, INQ_FAILURE_COMMUNICATION, "");
    }
}

/* Where dumps tell what had started, the member that had not is the one that holds the others. */
static void states__one_that_did_not_start_holds_those_that_did(void **state)
{
    (void)state;
    const struct test_flight_op began[] = {IN_ALL("all_reduce", "started", 7)};
    const struct test_flight_op not_yet[] = {{"1", "broadcast", "4", "4", "Float", "completed", 3},
                                             IN_ALL("all_reduce", "scheduled", 7)};
    for (int timed = 0; timed < 2; timed++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            made.timed = timed && rank == 3;
            test_add_dump(&made, rank, rank == 3 ? not_yet : began, rank == 3 ? 2 : 1);
        }
        struct test_judged j = test_find(
            &made, timed ? INQ_FAILURE_GPU_STALL : INQ_FAILURE_COMMUNICATION, timed ? "3" : "");
        const char *told =
            strstr(j.failure->headline, "Rank 3 is stuck on the GPU: it enqueued but "
                                        "never started all_reduce 7");
        assert_int_equal(told != NULL, timed);
        assert_int_equal(j.failure->n_victims, timed ? 3 : 4);
        test_judged_release(&j);
    }
}

/* A group is listed from its first collective on: rank 3 never came to it. */
static void states__a_group_that_a_rank_does_not_list_it_never_entered(void **state)
{
    (void)state;
    const struct test_flight_op all = IN_ALL("all_reduce", "completed", 9);
    const struct test_flight_op late[] = {all,
                                          {"2", "all_gather", "4", "16", "Long", "scheduled", 1}};
    struct test_dumps made = {0};
    for (int rank = 0; rank < 4; rank++) {
        made.no_other = rank == 3;
        test_add_dump(&made, rank, rank == 3 ? &all : late, rank == 3 ? 1 : 2);
    }
    test_expect(&made, INQ_FAILURE_CPU_STALL, "3");
}

/* A dump that was cut does not show when it ended: it may be an older one. Where nobody else is
 * stuck its rank is. */
static void states__a_cut_dump_makes_no_root_where_another_is(void **state)
{
    (void)state;
    const struct test_flight_op in = IN_ALL("all_reduce", "scheduled", 7);
    const struct test_flight_op late[] = {IN_ALL("all_reduce", "completed", 7),
                                          IN_ALL("all_reduce", "scheduled", 8)};
    for (int lone = 0; lone < 2; lone++) {
        struct test_dumps made = {.created_ns = INT64_C(3000000000)};
        for (int rank = 0; rank < 4; rank++) {
            bool idle = rank == 3 && lone == 0;
            test_add_dump(&made, rank, rank == 0 ? &in : late, rank == 0 || idle ? 1 : 2);
        }
        made.blobs[0].n -= 2; /* without the document's end */
        test_expect(&made, lone ? INQ_FAILURE_GPU_STALL : INQ_FAILURE_CPU_STALL, lone ? "0" : "3");
    }
}

/* Rank 0 is in what its peers have left. In a dump that ends before theirs it may have left it
 * since: rank 3, for whom all others wait, explains the hang. */
static void states__an_older_dump_makes_no_root_where_another_is(void **state)
{
    (void)state;
    const struct test_flight_op early = IN_ALL("all_reduce", "scheduled", 7);
    const struct test_flight_op late[] = {IN_ALL("all_reduce", "completed", 7),
                                          IN_ALL("all_reduce", "scheduled", 8)};
    for (int older = 0; older < 2; older++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            /* a microsecond is no older dump */
            made.created_ns = INT64_C(3000000000) - (rank == 0 ? older ? 2000000000 : 1000 : 0);
            test_add_dump(&made, rank, rank == 0 ? &early : late, rank == 0 || rank == 3 ? 1 : 2);
        }
        struct test_judged j = test_find(
            &made, older ? INQ_FAILURE_CPU_STALL : INQ_FAILURE_GPU_STALL, older ? "3" : "0, 3");
        assert_int_equal(test_has_rank(j.failure->missing_ranks, j.failure->n_missing, 0), older);
        test_judged_release(&j);
    }
}

/* Rank 0 cannot still be in what all of its peers have finished long since, and they wait for
 * nobody: its dump is an older one, and none says that the run hangs. */
static void states__an_older_dump_alone_is_no_hang(void **state)
{
    (void)state;
    const struct test_flight_op early = IN_ALL("all_reduce", "started", 7);
    const struct test_flight_op late[] = {IN_ALL("all_reduce", "completed", 7),
                                          IN_ALL("all_reduce", "completed", 8)};
    for (int pending = 0; pending < 2; pending++) {
        const struct test_flight_op next[] = {late[0], IN_ALL("all_reduce", "started", 8)};
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            made.created_ns = INT64_C(3000000000) - (rank == 0 ? INT64_C(2000000000) : 0);
            test_add_dump(&made, rank,
                          rank == 0 ? &early
                          : pending ? next
                                    : late,
                          rank == 0 ? 1 : 2);
        }
        struct test_judged j = test_find(
            &made, pending ? INQ_FAILURE_GPU_STALL : INQ_FAILURE_UNKNOWN, pending ? "0" : "");
        assert_int_equal(strstr(j.failure->headline, "those of rank 0 are older") != NULL,
                         !pending);
        assert_null(strstr(j.failure->headline, "The run hangs"));
        test_judged_release(&j);
    }
}

/* Most dumps end before another tells that it went on: nothing is known to hang. */
static void states__dumps_of_many_moments_tell_no_hang(void **state)
{
    (void)state;
    const struct test_flight_op early = IN_ALL("all_reduce", "scheduled", 7);
    const struct test_flight_op late[] = {IN_ALL("all_reduce", "completed", 7),
                                          IN_ALL("all_reduce", "scheduled", 8)};
    for (int older = 0; older < 2; older++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            made.created_ns = rank < 3 && older ? INT64_C(1000000000) : INT64_C(3000000000);
            test_add_dump(&made, rank, rank < 3 ? &early : late, rank < 3 ? 1 : 2);
        }
        struct test_judged j = test_find(&made, older ? INQ_FAILURE_UNKNOWN : INQ_FAILURE_GPU_STALL,
                                         older ? "" : "0, 1, 2");
        assert_int_equal(strstr(j.failure->headline, "different moments") != NULL, older);
        test_judged_release(&j);
    }
}

/* Two may be stuck at the ends of a link, and of many ranks some: more than two and than one in
 * eight are dumps of other moments. */
static void states__few_older_dumps_may_be_stuck(void **state)
{
    (void)state;
    static const struct {
        int early, ranks;
        bool stuck;
    } cases[] = {{2, 15, true}, {3, 23, false}, {3, 24, true}};
    const struct test_flight_op early = IN_ALL("all_reduce", "scheduled", 7);
    const struct test_flight_op late[] = {IN_ALL("all_reduce", "completed", 7),
                                          IN_ALL("all_reduce", "scheduled", 8)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_dumps made = {.world = cases[i].ranks};
        for (int rank = 0; rank < cases[i].ranks; rank++) {
            bool is_early = rank < cases[i].early;
            made.created_ns = is_early ? INT64_C(1000000000) : INT64_C(3000000000);
            test_add_dump(&made, rank, is_early ? &early : late, is_early ? 1 : 2);
        }
        test_expect(&made, cases[i].stuck ? INQ_FAILURE_GPU_STALL : INQ_FAILURE_UNKNOWN,
                    !cases[i].stuck       ? ""
                    : cases[i].early == 2 ? "0, 1"
                                          : "0, 1, 2");
    }
}

/* The recorder of XPUs never tells that something finished, and lists a send of its own twice. */
static void states__what_all_have_enqueued_is_over_where_nothing_ever_is(void **state)
{
    (void)state;
    static const char *const sends[] = {"xccl:send 0->1", "xccl:send 1->2", "xccl:send 2->3",
                                        "xccl:send 3->0"};
    for (int behind = 0; behind < 2; behind++) {
        struct test_dumps made = {0};
        for (int rank = 0; rank < 4; rank++) {
            const struct test_flight_op ops[] = {
                IN_ALL("xccl:all_reduce", "scheduled", 6), IN_ALL(sends[rank], "scheduled", 1),
                IN_ALL(sends[rank], "scheduled", 1), IN_ALL("xccl:all_reduce", "scheduled", 7)};
            made.first_record = rank * 5; /* rings that wrapped elsewhere */
            test_add_dump(&made, rank, ops, rank == 2 && behind ? 3 : 4);
        }
        struct test_judged j = test_find(
            &made, behind ? INQ_FAILURE_CPU_STALL : INQ_FAILURE_UNKNOWN, behind ? "2" : "");
        assert_int_equal(j.run->traces[0]->dumps[0]->n_entries, 3);
        assert_int_equal(strstr(j.failure->headline, "what had finished") != NULL, !behind);
        test_judged_release(&j);
    }
}

/* One rank waits in a collective of all, and so many never came to it. */
static void states__all_that_are_behind_are_roots(void **state)
{
    (void)state;
    enum { BEHIND = 4100 };
#define OP(record, number, state)                                                                  \
    "{\"record_id\":" #record ",\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],"             \
    "\"collective_seq_id\":" #number ",\"profiling_name\":\"nccl:all_reduce\",\"state\":\"" state  \
    "\",\"is_p2p\":false,\"time_created_ns\":" #number "000}"
    static const char waits[] =
        "{\"version\":\"2.4\",\"entries\":[" OP(0, 1, "completed") "," OP(1, 2, "scheduled") "]}";
    static const char idle[] = "{\"version\":\"2.4\",\"entries\":[" OP(0, 1, "completed") "]}";
#undef OP
    struct inq_ingest_blob *blobs = calloc(BEHIND + 2, sizeof *blobs);
    char(*names)[32] = calloc(BEHIND + 2, sizeof *names);
    assert_true(blobs != NULL && names != NULL);
    for (int r = 0; r < BEHIND + 2; r++) {
        (void)snprintf(names[r], sizeof names[r], "trace_rank_%d.json", r);
        blobs[r] = r < 2 ? (struct inq_ingest_blob){names[r], waits, sizeof waits - 1}
                         : (struct inq_ingest_blob){names[r], idle, sizeof idle - 1};
    }
    struct test_judged j = test_analyze_dumps(blobs, BEHIND + 2);
    assert_int_equal(j.failure->cls, INQ_FAILURE_CPU_STALL);
    assert_int_equal(j.failure->n_roots, BEHIND);
    assert_int_equal(j.failure->root_ranks[BEHIND - 1], BEHIND + 1);
    assert_int_equal(j.failure->n_victims, 2);
    test_judged_release(&j);
    free(names);
    free(blobs);
}

/* Two groups of one name: whose members a dump does not list, it is in the one that has its rank.
 */
static void states__a_named_group_is_that_of_its_rank(void **state)
{
    (void)state;
    static const char lists[] =
        "{\"version\":\"2.4\",\"pg_config\":{\"tp\":{\"name\":\"tp\",\"desc\":\"tp\",\"ranks\":"
        "\"[%d, %d]\"}},\"entries\":[%s]}";
    static const char names[] = "{\"version\":\"2.4\",\"entries\":[%s]}";
    static const char done[] = "{\"record_id\":0,\"process_group\":[\"tp\",\"tp\"],"
                               "\"collective_seq_id\":1,\"profiling_name\":\"nccl:all_reduce\","
                               "\"state\":\"completed\",\"is_p2p\":false}";
    static const char more[] = "{\"record_id\":0,\"process_group\":[\"tp\",\"tp\"],"
                               "\"collective_seq_id\":2,\"profiling_name\":\"nccl:all_reduce\","
                               "\"state\":\"scheduled\",\"is_p2p\":false}";
    struct inq_out out[4] = {{0}};
    struct inq_ingest_blob blobs[4];
    static const char *const paths[] = {"trace_rank_0.json", "trace_rank_1.json",
                                        "trace_rank_2.json", "trace_rank_3.json"};
    inq_out_printf(&out[0], lists, 0, 1, done);
    inq_out_printf(&out[1], names, done);
    inq_out_printf(&out[2], lists, 2, 3, more);
    inq_out_printf(&out[3], names, done);
    for (int r = 0; r < 4; r++) {
        blobs[r] = (struct inq_ingest_blob){paths[r], out[r].buf, out[r].len};
    }
    struct test_judged j = test_analyze_dumps(blobs, 4);
    assert_int_equal(j.failure->cls, INQ_FAILURE_CPU_STALL);
    assert_int_equal(j.failure->n_roots, 1);
    assert_int_equal(j.failure->root_ranks[0], 3);
    test_judged_release(&j);
    for (int r = 0; r < 4; r++) {
        inq_out_release(&out[r]);
    }
}

/* Ranks 1, 3 and 5 wait in three groups for ranks 0, 2 and 4, which enqueued nothing, as first
 * stages do between two steps. That may be one hang, of which rank 6 without a dump can be the
 * beginning; two late ranks are named. */
static void states__many_late_ranks_and_a_missing_dump_are_no_roots(void **state)
{
    (void)state;
    static const struct test_flight_op in_pair = P2P("1", "recv 1<-0", "scheduled", 1);
    static const struct test_flight_op in_four = P2P("2", "recv 3<-2", "scheduled", 1);
    static const struct test_flight_op in_all = P2P("0", "recv 5<-4", "scheduled", 1);
    for (int missing = 0; missing < 2; missing++) {
        for (int groups = 2; groups <= 3; groups++) {
            struct test_dumps made = {.world = 7};
            test_add_dump(&made, 0, NULL, 0);
            test_add_dump(&made, 1, &in_pair, 1);
            test_add_dump(&made, 2, NULL, 0);
            test_add_dump(&made, 3, &in_four, 1);
            test_add_dump(&made, 4, NULL, 0);
            test_add_dump(&made, 5, &in_all, groups == 3);
            if (!missing) {
                test_add_dump(&made, 6, NULL, 0);
            }
            bool open = missing && groups == 3;
            struct test_judged j =
                test_find(&made, open ? INQ_FAILURE_UNKNOWN : INQ_FAILURE_CPU_STALL,
                          open          ? ""
                          : groups == 3 ? "0, 2, 4"
                                        : "0, 2");
            if (open) {
                assert_int_equal(j.failure->n_suspected, 3);
                assert_non_null(strstr(j.failure->headline, "rank 6 left no whole dump"));
                assert_non_null(strstr(j.failure->advice, "second set of dumps"));
            }
            test_judged_release(&j);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states__members_of_a_finished_batch_are_finished),
        cmocka_unit_test(states__members_stay_when_only_active_entries_are_dumped),
        cmocka_unit_test(states__counters_tell_that_a_batch_is_finished),
        cmocka_unit_test(states__many_late_ranks_and_a_missing_dump_are_no_roots),
        cmocka_unit_test(states__an_aborted_op_did_not_finish),
        cmocka_unit_test(states__a_dump_from_before_is_no_evidence),
        cmocka_unit_test(states__numbered_groups_are_of_all_or_of_nobody_known),
        cmocka_unit_test(states__many_joined_groups_at_once_may_be_no_hang),
        cmocka_unit_test(states__one_against_all_others_is_the_root),
        cmocka_unit_test(states__a_listed_batch_is_not_finished_by_the_next),
        cmocka_unit_test(states__collectives_of_a_finished_batch_are_finished),
        cmocka_unit_test(states__a_batch_cut_by_the_ring_is_no_mismatch),
        cmocka_unit_test(states__one_that_did_not_start_holds_those_that_did),
        cmocka_unit_test(states__a_group_that_a_rank_does_not_list_it_never_entered),
        cmocka_unit_test(states__a_cut_dump_makes_no_root_where_another_is),
        cmocka_unit_test(states__an_older_dump_makes_no_root_where_another_is),
        cmocka_unit_test(states__an_older_dump_alone_is_no_hang),
        cmocka_unit_test(states__dumps_of_many_moments_tell_no_hang),
        cmocka_unit_test(states__few_older_dumps_may_be_stuck),
        cmocka_unit_test(states__what_all_have_enqueued_is_over_where_nothing_ever_is),
        cmocka_unit_test(states__what_one_can_finish_alone_makes_no_dump_old),
        cmocka_unit_test(states__all_that_are_behind_are_roots),
        cmocka_unit_test(states__a_named_group_is_that_of_its_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
