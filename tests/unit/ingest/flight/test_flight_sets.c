/* SPDX-License-Identifier: Apache-2.0 */
/* Which dump is whose, and which belong together. */
#include "support_flight.h"

#include "inquest/out.h"
#include "trace/build/flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void sets__rank_stands_behind_its_word_or_at_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int32_t rank;
    } cases[] = {
        {"run/rank3_dump", 3},
        {"run/nccl_trace_rank_3_20260101_120000.json", 3},
        {"run/dump.rank-3-of-8.pkl", 3},
        {"run/trace-rank=3.json", 3},
        {"run/nccl_trace_rank_00012", 12},
        {"run/RANK12.json", 12},
        {"run/rank_3/dump", 3},
        {"job17/rank3/fr_dump.pickle", 3},
        {"rank_3/try_1/dump_0.json", 3},
        {"run/rank_0-15/dump_4", 4},
        {"run/node_rank_1/dump_4", 4},
        {"run/node_rank_1_dump_4", 4},
        {"run/local_rank_1_rank_9.json", 9},
        {"run/nccl_trace_rank_container-node02_5", 5},
        {"run/rank_123456789", -1},
        {"run/dump", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t digits = 0;
        int32_t rank = inq_flight_rank(cases[i].path, &digits);
        print_message("%-46s %" PRId32 "\n", cases[i].path, rank);
        assert_int_equal(rank, cases[i].rank);
        assert_true(digits <= strlen(cases[i].path));
    }
}

/* Of groups [a, b] and [a, c] only a is a member of both. */
static void add_member(struct inq_out *out, int a, int b, int c, const char *entries)
{
    inq_out_printf(out,
                   "{\"version\":\"2.10\",\"pg_config\":{\"1\":{\"name\":\"1\",\"desc\":\"tp\","
                   "\"ranks\":\"[%d, %d]\"},\"2\":{\"name\":\"2\",\"desc\":\"dp\",\"ranks\":"
                   "\"[%d, %d]\"}},\"entries\":[%s]}",
                   a < b ? a : b, a < b ? b : a, a < c ? a : c, a < c ? c : a, entries);
}

static void sets__groups_tell_the_rank_that_names_do_not(void **state)
{
    (void)state;
    static const char *const names[][4] = {{"a/x", "a/y", "a/z", "a/w"},
                                           {"h0/fr0", "h0/fr1", "h1/fr0", "h1/fr1"}};
    for (int by_host = 0; by_host < 2; by_host++) {
        struct inq_out outs[4] = {{0}};
        struct inq_ingest_blob blobs[4];
        for (int r = 0; r < 4; r++) {
            add_member(&outs[r], r, r ^ 1, r ^ 2, "");
            blobs[r] = (struct inq_ingest_blob){names[by_host][r], outs[r].buf, outs[r].len};
        }
        struct inq_run *run = NULL;
        struct inq_err err = {0};
        assert_int_equal(inq_ingest_memory(blobs, 4, NULL, &run, &err), INQ_OK);
        assert_int_equal(run->n_traces, 1);
        assert_int_equal(run->traces[0]->n_dumps, 4);
        for (int32_t r = 0; r < 4; r++) {
            assert_int_equal(run->traces[0]->dumps[r]->rank, r);
        }
        inq_run_free(run);
        for (int r = 0; r < 4; r++) {
            inq_out_release(&outs[r]);
        }
    }
}

/* One group of all leaves everybody; who sends is known. */
static void sets__transfers_tell_the_rank(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"all\",\"ranks\":"
        "\"[4, 5, 6]\"}},\"entries\":[{\"process_group\":[\"0\",\"all\"],\"p2p_seq_id\":1,"
        "\"profiling_name\":\"nccl:recv 2<-0\",\"state\":\"completed\",\"is_p2p\":true}]}";
    const struct inq_ingest_blob blob = {"a/dump", text, sizeof text - 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &run, &err), INQ_OK);
    assert_int_equal(run->traces[0]->n_dumps, 1);
    assert_int_equal(run->traces[0]->dumps[0]->rank, 6);
    inq_run_free(run);
}

static void add_timed(struct inq_out *out, int rank, int64_t at_ns, int seq, const char *state)
{
    char entry[256];
    (void)snprintf(entry, sizeof entry,
                   "{\"process_group\":[\"2\",\"dp\"],\"collective_seq_id\":%d,\"profiling_name\":"
                   "\"nccl:all_reduce\",\"state\":\"%s\",\"time_created_ns\":%" PRId64
                   ",\"timeout_ms\":600000}",
                   seq, state, at_ns);
    add_member(out, rank, rank ^ 1, rank ^ 2, entry);
}

/* Its entry is pending, the one before finished, by the group's counters. */
static void add_counted(struct inq_out *out, int rank, int64_t at_ns, int seq)
{
    char entry[320];
    (void)snprintf(entry, sizeof entry,
                   "{\"process_group\":[\"2\",\"dp\"],\"pg_id\":9,\"collective_seq_id\":%d,"
                   "\"profiling_name\":\"nccl:all_reduce\",\"state\":\"scheduled\","
                   "\"time_created_ns\":%" PRId64 "}],\"pg_status\":{\"9\":"
                   "{\"last_enqueued_collective\":%d,\"last_completed_collective\":%d}},\"x\":[",
                   seq, at_ns, seq, seq - 1);
    add_member(out, rank, rank ^ 1, rank ^ 2, entry);
}

/* Ranks 0 and 1 write new dumps; those of 2 and 3 are from `before_ns` earlier, and of number `seq`
 * where the new ones are of 5. With no state, the groups' counters tell it. */
static size_t count_incidents(int64_t before_ns, int seq, const char *state, const char *second)
{
    const int64_t now_ns = INT64_C(1760000000000000000);
    static const char *const names[] = {"a/fr0", "a/fr1", "a/fr2", "a/fr3"};
    struct inq_out outs[4] = {{0}};
    struct inq_ingest_blob blobs[4];
    for (int r = 0; r < 4; r++) {
        int64_t at_ns = r < 2 ? now_ns : now_ns - before_ns;
        if (state != NULL) {
            add_timed(&outs[r], r, at_ns, r < 2 ? 5 : seq, state);
        } else {
            add_counted(&outs[r], r, at_ns, r < 2 ? 5 : seq);
        }
        blobs[r] = (struct inq_ingest_blob){names[r], outs[r].buf, outs[r].len};
    }
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, 4, NULL, &run, &err), INQ_OK);
    size_t n = run->n_traces;
    assert_string_equal(run->traces[0]->name, "a");
    assert_int_equal(run->traces[0]->dumps[0]->rank, 0);
    if (n > 1) {
        assert_string_equal(run->traces[1]->name, second);
        assert_int_equal(run->traces[1]->dumps[0]->rank, 2);
    }
    inq_run_free(run);
    for (int r = 0; r < 4; r++) {
        inq_out_release(&outs[r]);
    }
    return n;
}

static void sets__dumps_left_from_before_are_another_incident(void **state)
{
    (void)state;
    const int64_t minute_ns = INT64_C(60000000000);
    assert_int_equal(count_incidents(9 * minute_ns, 5, "scheduled", ""), 1);
    assert_int_equal(
        count_incidents(11 * minute_ns, 5, "scheduled", "a, an earlier incident, 11 min before"),
        2);
    assert_int_equal(
        count_incidents(200 * minute_ns, 7, "completed", "a, an earlier incident, 3 h before"), 2);
}

/* All members finished number 5 by any clock: a host's clock is behind. */
static void sets__one_incident_by_its_numbers_is_one_by_any_clock(void **state)
{
    (void)state;
    const int64_t minute_ns = INT64_C(60000000000);
    assert_int_equal(count_incidents(200 * minute_ns, 5, "completed", ""), 1);
    assert_int_equal(count_incidents(200 * minute_ns, 5, NULL, ""), 1);
    assert_int_equal(
        count_incidents(200 * minute_ns, 3, NULL, "a, an earlier incident, 3 h before"), 2);
    assert_int_equal(
        count_incidents(5000 * minute_ns, 4, "completed", "a, an earlier incident, 3 days before"),
        2);
}

/* Entries of one place share its stack; another line is another stack. */
static void sets__stacks_are_shared_by_content(void **state)
{
    (void)state;
    struct inq_out out = {0};
    static const int lines[] = {7, 7, 8};
    inq_out_text(&out, "{\"version\":\"2.9\",\"pg_config\":{},\"entries\":[");
    for (int i = 0; i < 3; i++) {
        inq_out_printf(&out,
                       "%s{\"profiling_name\":\"nccl:all_reduce\",\"frames\":[{\"name\":\"f\","
                       "\"filename\":\"a.py\",\"line\":%d},{\"name\":\"g\",\"filename\":\"b.py\","
                       "\"line\":1}]}",
                       i > 0 ? "," : "", lines[i]);
    }
    inq_out_text(&out, "]}");
    const struct inq_ingest_blob blob = {"fr0", out.buf, out.len};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &run, &err), INQ_OK);
    const struct inq_flight_entry *entries = run->traces[0]->dumps[0]->entries;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(entries[i].n_frames, 2);
        assert_int_equal(entries[i].frames[0].line, lines[i]);
        assert_string_equal(entries[i].frames[0].name, "f");
        assert_string_equal(entries[i].frames[1].file, "b.py");
    }
    assert_ptr_equal(entries[0].frames, entries[1].frames);
    assert_ptr_not_equal(entries[0].frames, entries[2].frames);
    inq_run_free(run);
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets__rank_stands_behind_its_word_or_at_the_end),
        cmocka_unit_test(sets__groups_tell_the_rank_that_names_do_not),
        cmocka_unit_test(sets__transfers_tell_the_rank),
        cmocka_unit_test(sets__stacks_are_shared_by_content),
        cmocka_unit_test(sets__dumps_left_from_before_are_another_incident),
        cmocka_unit_test(sets__one_incident_by_its_numbers_is_one_by_any_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
