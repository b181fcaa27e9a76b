/* SPDX-License-Identifier: Apache-2.0 */
/* Reading back what -f perfetto writes: the head says what is what, and may say nonsense. */
#include "inquest/trace.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#define KERNEL(tid, cat)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" cat "\",\"pid\":1,\"tid\":" tid                \
    ",\"ts\":1.500,\"dur\":2.001,\"args\":{\"step\":4,\"mb_id\":2}}"
#define RANK(more)                                                                                 \
    "{\"pid\":1,\"rank\":3,\"stage\":1,\"dp_rank\":0," more                                        \
    "\"lanes\":[{\"kind\":\"stream\",\"device\":0,\"id\":7,\"tids\":[1,2]},"                       \
    "{\"kind\":\"thread\",\"id\":9,\"tids\":[]}]}"
#define DOCUMENT(schema, ranks, events)                                                            \
    "{\"schemaVersion\":1,\"inquest\":{\"schema\":\"" schema "\",\"base_ns\":1000," ranks          \
    "},\"traceEvents\":[\n" events "]}"

static void read_text(const char *text, struct inq_shard *shard)
{
    *shard = (struct inq_shard){0};
    assert_int_equal(test_read_bytes(text, strlen(text), 0, shard, NULL), INQ_OK);
}

static void export__tracks_are_lanes(void **state)
{
    struct inq_shard shard;
    (void)state;
    read_text(DOCUMENT("inquest-perfetto/1", "\"ranks\":[" RANK("\"base_ns\":5,") "]",
                       KERNEL("1", "kernel") "," KERNEL("2", "kernel") "," KERNEL("9", "kernel")),
              &shard);
    assert_int_equal(shard.n_ranks, 1);
    const struct inq_rank *rank = test_rank(&shard, 3);
    assert_int_equal(rank->n_lanes, 2);
    assert_int_equal(rank->events.n, 2); /* track 9 was added to the recording */
    assert_int_equal(rank->events.lane[0], 0);
    assert_int_equal(rank->events.lane[1], 0);
    assert_int_equal(rank->lanes[0].id, 7);
    assert_int_equal(rank->events.start_ns[0], 2500);
    assert_int_equal(rank->events.dur_ns[0], 2001);
    assert_int_equal(rank->base_ns, 5);
    assert_string_equal(shard.file.format, "inquest");
    inq_shard_release(&shard);
}

static void export__clock_is_known(void **state)
{
    struct inq_shard shard;
    (void)state;
    read_text(DOCUMENT("inquest-perfetto/1",
                       "\"ranks\":[" RANK("\"clock\":{\"offset_ns\":-7,\"residual_ns\":3,"
                                          "\"anchors\":2},") "]",
                       KERNEL("1", "kernel")),
              &shard);
    assert_true(shard.ranks[0].clock.aligned);
    assert_int_equal(shard.ranks[0].clock.offset_ns, -7);
    assert_int_equal(shard.ranks[0].clock.residual_ns, 3);
    assert_int_equal(shard.ranks[0].clock.anchors, 2);
    inq_shard_release(&shard);
}

static void export__head_without_ranks_has_none(void **state)
{
    struct inq_shard shard;
    (void)state;
    read_text(DOCUMENT("inquest-perfetto/1", "\"ranks\":7", KERNEL("1", "kernel")), &shard);
    assert_int_equal(shard.n_ranks, 0);
    inq_shard_release(&shard);
    read_text(DOCUMENT("inquest-perfetto/1", "\"groups\":[]", KERNEL("1", "kernel")), &shard);
    assert_int_equal(shard.n_ranks, 0);
    inq_shard_release(&shard);
}

static void export__op_on_a_stream_is_an_op(void **state)
{
    struct inq_shard shard;
    (void)state;
    read_text(
        DOCUMENT("inquest-perfetto/1", "\"ranks\":[" RANK("") "]", KERNEL("1", "forward-compute")),
        &shard);
    const struct inq_rank *rank = test_rank(&shard, 3);
    assert_int_equal(rank->events.n, 1);
    assert_int_equal(rank->events.kind[0], INQ_EVENT_OP);
    assert_int_equal(rank->labels[rank->events.label[0]].micro_batch, 2);
    assert_int_equal(rank->labels[rank->events.label[0]].stage, 1);
    inq_shard_release(&shard);
}

static void export__other_schema_is_a_trace_like_any(void **state)
{
    struct inq_shard shard;
    (void)state;
    read_text(DOCUMENT("inquest-perfetto/9", "\"ranks\":[" RANK("") "]", KERNEL("9", "kernel")),
              &shard);
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(shard.ranks[0].rank, -1);
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_string_equal(shard.file.format, "kineto");
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export__tracks_are_lanes),
        cmocka_unit_test(export__clock_is_known),
        cmocka_unit_test(export__head_without_ranks_has_none),
        cmocka_unit_test(export__op_on_a_stream_is_an_op),
        cmocka_unit_test(export__other_schema_is_a_trace_like_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
