/* SPDX-License-Identifier: Apache-2.0 */
/* Event traces, written by hand: every form of the document, every kind of row. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"
#include "support_trace.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* One event; the parts that tests vary come as text. */
#define KERNEL(name, ts, dur, args)                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                                       \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define DOCUMENT(events) "{\"schemaVersion\": 1, \"traceEvents\": [" events "]}"
#define SOME             KERNEL("k", "10", "2", "\"stream\": 7, \"device\": 0, \"correlation\": 5")

/* Reads a document in all ways; the shard is the caller's. */
static void read_all_ways(const char *document, struct inq_shard *shard)
{
    char *copy = malloc(strlen(document) + 1);
    assert_non_null(copy);
    memcpy(copy, document, strlen(document) + 1);
    test_all_ways((struct test_text){copy, strlen(copy)}, document, shard);
    free(copy);
}

static uint64_t damage_of(const struct inq_shard *shard, enum inq_damage_kind kind)
{
    return shard->file.damage.count[kind];
}

static void assert_no_damage(const struct inq_shard *shard)
{
    assert_int_equal(inq_damage_total(&shard->file.damage), 0);
}

static const char *lane_name(const struct inq_shard *shard, uint32_t lane)
{
    return test_str(shard, shard->ranks[0].lanes[lane].name);
}

/* ---- forms of the document ------------------------------------------------------------------- */

static void kineto__members_before_and_after_the_events(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8}, "
        "\"baseTimeNanoseconds\": 1719853884000000000, \"host_name\": \"node-1\", "
        "\"traceEvents\": [" SOME "], \"displayTimeUnit\": \"ms\"}",
        "\xef\xbb\xbf\n{\"traceEvents\": [" SOME "],\n \"unknown\": [{\"ph\": \"X\"}, [1, "
        "\"]}\"]], \"distributedInfo\": {\"rank\": \"3\", \"world_size\": 8},\n "
        "\"host_name\": \"node-1\", \"baseTimeNanoseconds\": 1719853884000000000\n}\n",
    };
    for (size_t i = 0; i < 2; i++) {
        struct inq_shard shard;
        read_all_ways(documents[i], &shard);
        assert_no_damage(&shard);
        assert_string_equal(shard.file.format, "kineto");
        assert_int_equal(shard.file.events, 1);
        assert_int_equal(shard.file.events_kept, 1);
        const struct inq_rank *rank = &shard.ranks[0];
        assert_int_equal(rank->rank, 3);
        assert_int_equal(rank->world_size, 8);
        assert_int_equal(rank->base_ns, INT64_C(1719853884000000000));
        assert_int_equal(rank->events.start_ns[0], INT64_C(1719853884000010000));
        assert_int_equal(rank->events.dur_ns[0], 2000);
        assert_true(rank->has_clock_epoch);
        assert_false(rank->fractional_us);
        assert_true(rank->has_row0);
        assert_int_equal(rank->row0_ns, INT64_C(1719853884000010000));
        assert_string_equal(test_str(&shard, rank->host), "node-1");
        assert_string_equal(test_str(&shard, rank->events.name[0]), "k");
        assert_int_equal(rank->events.call[0], 5);
        assert_int_equal(rank->lanes[0].kind, INQ_LANE_STREAM);
        assert_int_equal(rank->lanes[0].device, 0);
        assert_int_equal(rank->lanes[0].id, 7);
        inq_shard_release(&shard);
    }
}

/* A base beside wall-clock times is when the profiler began, not what they count from. */
static void kineto__absolute_times_have_no_base(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        "{\"baseTimeNanoseconds\": 1719853884000000000, \"traceEvents\": [{\"ph\": \"X\", "
        "\"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "1719853885000000.5, \"dur\": 2, \"args\": {\"device\": 0, \"stream\": 7}}]}",
        &shard);
    assert_int_equal(shard.ranks[0].events.start_ns[0], INT64_C(1719853885000000500));
    assert_int_equal(shard.ranks[0].base_ns, 0);
    assert_true(shard.ranks[0].has_clock_epoch);
    inq_shard_release(&shard);
}

static void kineto__process_groups_in_both_forms(void **state)
{
    (void)state;
    static const char *const lists[] = {"[1, 0, 2]", "\"[0, 1, 2]\""};
    for (size_t i = 0; i < 2; i++) {
        char document[2048];
        (void)snprintf(document, sizeof document,
                       "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 3, \"pg_count\": 1, "
                       "\"pg_config\": [{\"pg_name\": \"7\", \"%s\": \"tp\", \"backend_config\": "
                       "\"cuda:nccl\", \"pg_size\": 3, \"ranks\": %s}], \"nccl_version\": "
                       "\"2.1\"}, \"traceEvents\": []}",
                       i == 0 ? "pg_desc" : "uid", lists[i]);
        struct inq_shard shard;
        read_all_ways(document, &shard);
        assert_no_damage(&shard);
        assert_int_equal(shard.n_groups, 1);
        assert_string_equal(test_str(&shard, shard.groups[0].name), "7");
        assert_string_equal(test_str(&shard, shard.groups[0].desc), i == 0 ? "tp" : "");
        assert_int_equal(shard.groups[0].size, 3);
        assert_int_equal(shard.groups[0].n_ranks, 3);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(shard.groups[0].ranks[r], r);
        }
        inq_shard_release(&shard);
    }
}

/* A rank that is listed twice is in the group once; partials hold lists that ascend. */
static void kineto__ranks_of_a_group_ascend(void **state)
{
    (void)state;
    static const char *const lists[] = {"[0, 2, 4, 6, 7]", "[7, 0, 2, 4, 6]",
                                        "[0, 2, 2, 4, 6, 7, 7]", "[0, 2, 4, 7, 6, 0]"};
    static const int32_t expected[] = {0, 2, 4, 6, 7};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char document[512];
        (void)snprintf(document, sizeof document,
                       "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 8, \"pg_config\": "
                       "[{\"pg_name\": \"7\", \"pg_size\": 5, \"ranks\": %s}]}, "
                       "\"traceEvents\": []}",
                       lists[i]);
        struct inq_shard shard;
        read_all_ways(document, &shard);
        assert_int_equal(shard.n_groups, 1);
        assert_int_equal(shard.groups[0].n_ranks, 5);
        assert_memory_equal(shard.groups[0].ranks, expected, sizeof expected);
        inq_shard_release(&shard);
    }
}

/* The group of all ranks tells how many there are where the head of the file does not. */
static void kineto__world_of_the_default_group(void **state)
{
    (void)state;
    static const char format[] = "{%s\"traceEvents\": [" KERNEL(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", "1", "1",
        "\"stream\": 2, \"Collective name\": \"allreduce\", \"Group size\": 6, "
        "\"Process Group Name\": \"0\", \"Process Group Description\": \"%s\"") "]}";
    static const struct {
        const char *head, *desc;
        int world;
    } cases[] = {{"", "default_pg", 6},
                 {"", "undefined", -1},
                 {"\"distributedInfo\": {\"rank\": 1, \"world_size\": 12}, ", "default_pg", 12}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char document[2048];
        struct inq_shard shard;
        (void)snprintf(document, sizeof document, format, cases[i].head, cases[i].desc);
        read_all_ways(document, &shard);
        assert_int_equal(shard.ranks[0].world_size, cases[i].world);
        inq_shard_release(&shard);
    }
}

static void kineto__devices_and_jobs(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways("{\"deviceProperties\": [{\"id\": 0, \"name\": \"A\"}, {\"id\": 1, \"name\": "
                  "\"B\", \"x\": [1], \"numSms\": 132}], \"PT_PROFILER_JOB_VERSION\": \"2\", "
                  "\"PT_PROFILER_JOB_NAME\": \"train\", \"PT_PROFILER_JOB_ATTEMPT_INDEX\": 0, "
                  "\"traceEvents\": [" KERNEL("k", "1", "1", "\"device\": 1, \"stream\": 2") "]}",
                  &shard);
    assert_no_damage(&shard);
    assert_string_equal(test_str(&shard, shard.ranks[0].device_name), "B");
    assert_int_equal(shard.ranks[0].multiprocessors, 132);
    assert_string_equal(test_str(&shard, shard.ranks[0].job), "train/2/0");
    inq_shard_release(&shard);
}

static void kineto__what_is_missing_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        const char *reason;
    } cases[] = {
        {DOCUMENT(SOME), "no distributedInfo"},
        {"{\"distributedInfo\": {\"backend\": \"nccl\"}, \"traceEvents\": [" SOME "]}",
         "no rank in distributedInfo"},
        {"{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": []}",
         "no device work is recognized"},
        {"{\"schemaVersion\": 1, \"traceEvents\": []}",
         "no distributedInfo; no device work is recognized"},
        {"{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [" KERNEL(
             "k", "1768464000000000000", "20000", "\"stream\": 7") "]}",
         "times are beyond any clock in microseconds: nanoseconds?"},
        {"{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [" SOME "]}", ""},
        {"{\"traceEvents\": [{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": "
         "{\"name\": \"/device:GPU:0\"}}, {\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"ts\": 5, "
         "\"dur\": 3, \"name\": \"fusion\"}]}",
         "a Chrome trace of JAX's or TensorFlow's profiler, which does not say what its slices "
         "are: "
         "give the *.xplane.pb beside it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_shard shard;
        read_all_ways(cases[i].document, &shard);
        assert_string_equal(shard.file.reason != NULL ? shard.file.reason : "", cases[i].reason);
        inq_shard_release(&shard);
    }
}

static void kineto__other_documents_are_refused(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "[[1, 2], [3, 4]]",
        "{\"spans\": [{\"name\": \"a\"}]}",
        "[]",
        "{}",
        "[{\"a\": 1}]",
        "{\"rank\": 0}",
        "just some text",
        "",
    };
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        char copy[64];
        (void)snprintf(copy, sizeof copy, "%s", documents[i]);
        struct inq_shard shard;
        assert_int_equal(test_read_trace((struct test_text){copy, strlen(copy)},
                                         (struct test_way){.level = 0}, &shard),
                         INQ_UNSUPPORTED);
        assert_true(strlen(shard.file.reason) > 10);
        inq_shard_release(&shard);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define EVENT(cat, name, rest)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name                                      \
    "\", \"pid\": 42, \"tid\": 43, \"ts\": 100, \"dur\": 7" rest "}"

static void kineto__old_and_foreign_categories(void **state)
{
    (void)state;
    struct inq_shard shard;
    static const char document[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [" EVENT("Kernel", "a", "") "," EVENT("Memcpy", "b", "") "," EVENT(
            "Memset", "c",
            "") "," EVENT("mtia_ccp_events", "d",
                          "") "," EVENT("cuda_sync", "e",
                                        "") "," EVENT("Runtime", "f",
                                                      "") "," EVENT("xpu_runtime", "g",
                                                                    "") "," EVENT("privateuse1_"
                                                                                  "driver",
                                                                                  "h",
                                                                                  "") "," EVENT("Op"
                                                                                                "er"
                                                                                                "at"
                                                                                                "o"
                                                                                                "r",
                                                                                                "Pr"
                                                                                                "of"
                                                                                                "il"
                                                                                                "er"
                                                                                                "St"
                                                                                                "ep"
                                                                                                "#"
                                                                                                "3",
                                                                                                "") "," EVENT("Operator",
                                                                                                              "aten::add",
                                                                                                              "") "," EVENT("python_function",
                                                                                                                            "i",
                                                                                                                            "") "]}";
    read_all_ways(document, &shard);
    assert_no_damage(&shard);
    const struct inq_events *e = &shard.ranks[0].events;
    assert_int_equal(e->n, 5);
    static const enum inq_event_kind kinds[] = {INQ_EVENT_KERNEL, INQ_EVENT_MEMCPY,
                                                INQ_EVENT_MEMSET, INQ_EVENT_KERNEL, INQ_EVENT_SYNC};
    static const enum inq_op_class classes[] = {INQ_CLASS_COMPUTE, INQ_CLASS_COPY, INQ_CLASS_COPY,
                                                INQ_CLASS_COMPUTE, INQ_CLASS_OTHER};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(e->kind[i], kinds[i]);
        assert_int_equal(e->cls[i], classes[i]);
        assert_int_equal(e->call[i], INQ_NONE);
    }
    assert_int_equal(shard.ranks[0].calls.n, 3);
    assert_int_equal(shard.ranks[0].calls.correlation[0], -1);
    assert_int_equal(shard.ranks[0].n_notes, 1);
    assert_int_equal(shard.ranks[0].notes[0].kind, INQ_NOTE_STEP);
    assert_int_equal(shard.ranks[0].notes[0].number, 3);
    assert_int_equal(shard.file.events, 11);
    assert_int_equal(shard.file.events_kept, 9);
    inq_shard_release(&shard);
}

static void kineto__streams_and_threads_as_text(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        DOCUMENT("{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"a\", \"pid\": 1, \"tid\": "
                 "\"stream 7\", \"ts\": 1, \"dur\": 1, \"args\": {}}, "
                 "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"a\", \"pid\": 1, \"tid\": 7, "
                 "\"ts\": 2, \"dur\": 1, \"args\": {\"device\": 1, \"stream\": 7}}, "
                 "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"b\", \"pid\": 9, \"tid\": "
                 "\"25738\", \"ts\": 3, \"dur\": 1}, "
                 "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"b\", \"pid\": 9, \"tid\": "
                 "25738, \"ts\": 4, \"dur\": 1}, "
                 "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"b\", \"pid\": \"main\", "
                 "\"tid\": \"worker\", \"ts\": 4, \"dur\": 1}, "
                 "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 7, \"args\": "
                 "{\"name\": \"stream 7 \"}}, "
                 "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 9, \"tid\": 25738, "
                 "\"args\": {\"name\": \"pt main\"}}"),
        &shard);
    assert_no_damage(&shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->n_lanes, 3);
    assert_int_equal(rank->events.lane[0], rank->events.lane[1]);
    assert_int_equal(rank->lanes[0].id, 7);
    assert_string_equal(lane_name(&shard, 0), "stream 7 ");
    assert_int_equal(rank->calls.lane[0], rank->calls.lane[1]);
    assert_string_equal(lane_name(&shard, rank->calls.lane[0]), "pt main");
    assert_string_equal(lane_name(&shard, rank->calls.lane[2]), "worker");
    assert_int_equal(rank->pid, 9);
    inq_shard_release(&shard);
}

static void kineto__collectives_of_kernels_and_of_the_host(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        "{\"traceEvents\": [" KERNEL(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "10", "2",
            "\"External id\": 6, \"device\": 0, \"stream\": 7, \"correlation\": 5, \"Collective "
            "name\": \"allreduce\", \"In msg nelems\": 100, \"Out msg nelems\": 200, \"Group "
            "size\": 32, \"dtype\": \"BFloat16\", \"Process Group Name\": \"13\", \"Process Group "
            "Description\": \"dp\", \"Process Group Ranks\": \"[0, 1, 2, ...]\", \"Seq\": "
            "4") ", " KERNEL("ncclKernel_SendRecv(x)", "20", "2",
                             "\"External id\": 8, \"device\": 0, \"stream\": 7, "
                             "\"correlation\": 6") ", " KERNEL("my_own_reduce", "30", "2",
                                                               "\"device\": 0, \"stream\": 7, "
                                                               "\"correlation\": 7, \"Collective "
                                                               "name\": \"allreduce\", \"Process "
                                                               "Group Ranks\": [4, 2]") ", "
                                                                                        "{\"ph\": "
                                                                                        "\"X\", "
                                                                                        "\"cat\": "
                                                                                        "\"cpu_"
                                                                                        "op\", "
                                                                                        "\"name\": "
                                                                                        "\"record_"
                                                                                        "param_"
                                                                                        "comms\", "
                                                                                        "\"pid\": "
                                                                                        "1, "
                                                                                        "\"tid\": "
                                                                                        "1, "
                                                                                        "\"ts\": "
                                                                                        "1, "
                                                                                        "\"dur\": "
                                                                                        "1, "
                                                                                        "\"args\": "
                                                                                        "{\"Externa"
                                                                                        "l id\": "
                                                                                        "8, "
                                                                                        "\"Collecti"
                                                                                        "ve "
                                                                                        "name\": "
                                                                                        "\"send\", "
                                                                                        "\"In msg "
                                                                                        "size\": "
                                                                                        "11, "
                                                                                        "\"Process "
                                                                                        "Group "
                                                                                        "ID\": 2, "
                                                                                        "\"Group "
                                                                                        "size\": "
                                                                                        "2, "
                                                                                        "\"Process "
                                                                                        "Group "
                                                                                        "Ranks\": "
                                                                                        "\"[5, "
                                                                                        "9]\", "
                                                                                        "\"Rank\": "
                                                                                        "1, "
                                                                                        "\"dtype\":"
                                                                                        " \"Half\"}"
                                                                                        "}, "
                                                                                        "{\"ph\": "
                                                                                        "\"X\", "
                                                                                        "\"cat\": "
                                                                                        "\"cpu_"
                                                                                        "op\", "
                                                                                        "\"name\": "
                                                                                        "\"record_"
                                                                                        "param_"
                                                                                        "comms\", "
                                                                                        "\"pid\": "
                                                                                        "1, "
                                                                                        "\"tid\": "
                                                                                        "1, "
                                                                                        "\"ts\": "
                                                                                        "1, "
                                                                                        "\"dur\": "
                                                                                        "1, "
                                                                                        "\"args\": "
                                                                                        "{\"Externa"
                                                                                        "l id\": "
                                                                                        "9, "
                                                                                        "\"Collecti"
                                                                                        "ve "
                                                                                        "name\": "
                                                                                        "\"wait\"}}"
                                                                                        ", "
                                                                                        "{\"ph\": "
                                                                                        "\"X\", "
                                                                                        "\"cat\": "
                                                                                        "\"cpu_"
                                                                                        "op\", "
                                                                                        "\"name\": "
                                                                                        "\"record_"
                                                                                        "param_"
                                                                                        "comms\", "
                                                                                        "\"pid\": "
                                                                                        "1, "
                                                                                        "\"tid\": "
                                                                                        "1, "
                                                                                        "\"ts\": "
                                                                                        "1, "
                                                                                        "\"dur\": "
                                                                                        "1, "
                                                                                        "\"args\": "
                                                                                        "{\"Externa"
                                                                                        "l id\": "
                                                                                        "10}}], "
                                                                                        "\"distribu"
                                                                                        "tedInfo\":"
                                                                                        " {"
                                                                                        "\"rank\": "
                                                                                        "1, "
                                                                                        "\"world_"
                                                                                        "size\": "
                                                                                        "32, "
                                                                                        "\"pg_"
                                                                                        "config\": "
                                                                                        "[{\"pg_"
                                                                                        "name\": "
                                                                                        "\"13\", "
                                                                                        "\"pg_"
                                                                                        "desc\": "
                                                                                        "\"dp\", "
                                                                                        "\"pg_"
                                                                                        "size\": "
                                                                                        "32, "
                                                                                        "\"ranks\":"
                                                                                        " [0, 1, "
                                                                                        "2, 3, 4, "
                                                                                        "5, 6, 7, "
                                                                                        "8, 9, "
                                                                                        "10, 11, "
                                                                                        "12, 13, "
                                                                                        "14, 15, "
                                                                                        "16, 17, "
                                                                                        "18, 19, "
                                                                                        "20, 21, "
                                                                                        "22, 23, "
                                                                                        "24, 25, "
                                                                                        "26, 27, "
                                                                                        "28, 29, "
                                                                                        "30, "
                                                                                        "31]}]}}",
        &shard);
    assert_no_damage(&shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 3);
    assert_int_equal(rank->n_comms, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rank->events.cls[i], INQ_CLASS_COMM);
        assert_int_equal(rank->events.comm[i], i);
    }
    const struct inq_comm *c = &rank->comms[0];
    assert_int_equal(c->kind, INQ_COLL_ALLREDUCE);
    assert_string_equal(test_str(&shard, c->op_name), "allreduce");
    assert_string_equal(test_str(&shard, c->dtype), "BFloat16");
    assert_int_equal(c->dtype_bytes, 2);
    assert_int_equal(c->in_elems, 100);
    assert_int_equal(c->out_elems, 200);
    assert_int_equal(c->group_size, 32);
    assert_int_equal(c->seq, 4);
    assert_int_equal(c->external_id, 6);
    const struct inq_group *group = &shard.groups[c->group];
    assert_string_equal(test_str(&shard, group->name), "13");
    assert_int_equal(group->n_ranks, 32); /* the whole list, from the head of the file */
    assert_int_equal(group->ranks[31], 31);

    assert_int_equal(rank->comms[1].kind, INQ_COLL_UNKNOWN); /* sealing joins it */
    assert_int_equal(rank->comms[1].external_id, 8);
    assert_int_equal(rank->comms[1].group, INQ_NONE);
    group = &shard.groups[rank->comms[2].group];
    assert_int_equal(group->n_ranks, 2);
    assert_int_equal(group->ranks[0], 2);

    c = &rank->comms[3];
    assert_int_equal(c->kind, INQ_COLL_SEND);
    assert_int_equal(c->in_elems, 11);
    assert_int_equal(c->external_id, 8);
    assert_int_equal(c->peer, 9); /* place 1 of its group */
    assert_string_equal(test_str(&shard, shard.groups[c->group].name), "2");
    assert_int_equal(shard.file.events_kept, 4);

    struct inq_err err = {0};
    assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
    rank = &shard.ranks[0];
    assert_int_equal(rank->comms[rank->events.comm[1]].kind, INQ_COLL_SEND);
    inq_shard_release(&shard);
}

/* The list of a large group is cut in the record; in the default group a place is a rank. */
static void kineto__peer_in_the_default_group(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        DOCUMENT(EVENT("cpu_op", "record_param_comms",
                       ", \"args\": {\"Collective name\": \"recv\", \"Process Group Name\": \"0\", "
                       "\"Process Group Description\": \"default_pg\", \"Group size\": 64, "
                       "\"Process Group Ranks\": \"[0, 1, ...]\", \"Rank\": 40}")),
        &shard);
    assert_int_equal(shard.ranks[0].n_comms, 1);
    assert_int_equal(shard.ranks[0].comms[0].kind, INQ_COLL_RECV);
    assert_int_equal(shard.ranks[0].comms[0].peer, 40);
    inq_shard_release(&shard);
}

static void kineto__annotations(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        DOCUMENT(EVENT("user_annotation", "ProfilerStep#12", "") "," EVENT(
            "user_annotation", "nccl:all_reduce",
            ", \"args\": {\"External id\": 3}") "," EVENT("gpu_user_annotation", "Forward 2", "")),
        &shard);
    assert_no_damage(&shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->n_notes, 3);
    assert_int_equal(rank->notes[0].kind, INQ_NOTE_STEP);
    assert_int_equal(rank->notes[0].number, 12);
    assert_int_equal(rank->notes[0].start_ns, 100000);
    assert_int_equal(rank->notes[0].dur_ns, 7000);
    assert_false(rank->notes[0].on_gpu);
    assert_int_equal(rank->notes[1].kind, INQ_NOTE_COMM);
    assert_true(rank->notes[2].on_gpu);
    assert_int_equal(rank->lanes[rank->notes[2].lane].kind, INQ_LANE_STREAM);
    assert_int_equal(rank->lanes[rank->notes[2].lane].device, 42);
    inq_shard_release(&shard);
}

/* ---- generic traces -------------------------------------------------------------------------- */

#define HALF(ph, name, ts)                                                                         \
    "{\"ph\": \"" ph "\", \"pid\": 1, \"tid\": 2, \"ts\": " ts ", \"name\": \"" name "\"}"

static void chrome__halves_are_joined(void **state)
{
    (void)state;
    struct inq_shard shard;
    /* out of order in the file; nested; an end without a name; two open at once, crossing */
    read_all_ways(
        "[" HALF("E", "a", "90") "," HALF("B", "a", "10") "," HALF("B", "b", "20") "," HALF(
            "E", "",
            "30") "," HALF("B", "c",
                           "40") "," HALF("B", "d",
                                          "50") "," HALF("E", "c",
                                                         "60") "," HALF("E", "d",
                                                                        "70") "," HALF("B", "e",
                                                                                       "100") "]",
        &shard);
    assert_string_equal(shard.file.format, "chrome");
    const struct inq_events *e = &shard.ranks[0].events;
    assert_int_equal(e->n, 4);
    static const struct {
        const char *name;
        int64_t start, dur;
    } expected[] = {{"b", 20, 10}, {"c", 40, 20}, {"d", 50, 20}, {"a", 10, 80}};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(test_str(&shard, e->name[i]), expected[i].name);
        assert_int_equal(e->start_ns[i], expected[i].start * 1000);
        assert_int_equal(e->dur_ns[i], expected[i].dur * 1000);
        assert_int_equal(e->kind[i], INQ_EVENT_SLICE);
        assert_int_equal(e->cls[i], INQ_CLASS_OTHER);
    }
    assert_int_equal(damage_of(&shard, INQ_DAMAGE_UNMATCHED_BEGIN), 1);
    assert_int_equal(damage_of(&shard, INQ_DAMAGE_UNMATCHED_END), 0);
    assert_int_equal(shard.file.events, 9);
    assert_int_equal(shard.file.events_kept, 8);
    assert_false(shard.ranks[0].has_clock_epoch);
    inq_shard_release(&shard);

    read_all_ways("[" HALF("E", "x", "5") "," HALF("B", "a", "10") "]", &shard);
    assert_int_equal(damage_of(&shard, INQ_DAMAGE_UNMATCHED_END), 1);
    assert_int_equal(damage_of(&shard, INQ_DAMAGE_UNMATCHED_BEGIN), 1);
    inq_shard_release(&shard);
}

static void chrome__threads_of_two_processes_are_two_lanes(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":"
                  "\"X\",\"pid\":2,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":\"s\","
                  "\"id\":1,\"pid\":1,\"ts\":1},{\"ph\":\"C\",\"name\":\"n\",\"ts\":1,\"args\":{"
                  "\"v\":1}}]",
                  &shard);
    assert_no_damage(&shard);
    assert_int_equal(shard.ranks[0].n_lanes, 2);
    assert_int_not_equal(shard.ranks[0].events.lane[0], shard.ranks[0].events.lane[1]);
    assert_int_equal(shard.file.events, 4);
    inq_shard_release(&shard);
}

static void chrome__slices_go_when_it_turns_out_to_be_kineto(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(
        "[" EVENT("whatever", "a", "") "," HALF("B", "b", "1") "," HALF("E", "b", "2") "," EVENT(
            "kernel", "k", "") "," EVENT("whatever", "a", "") "]",
        &shard);
    assert_no_damage(&shard);
    assert_string_equal(shard.file.format, "kineto");
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_int_equal(shard.file.events_kept, 1);
    inq_shard_release(&shard);
}

static void chrome__an_op_table(void **state)
{
    (void)state;
#define OP(type, pid, tid, ts, mb)                                                                 \
    "{\"name\":\"" type "\",\"cat\":\"" type "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts       \
    ",\"dur\":10.5,\"ph\":\"X\",\"args\":{\"step\":3,\"model_chunk\":0,\"mb_id\":" mb              \
    ",\"seq_id\":2}}"
    struct inq_shard shard;
    read_all_ways("[" OP("forward-compute", "1", "20", "5.25", "4") "," OP(
                      "backward-recv", "1", "61", "1",
                      "-1") "," OP("grads-reduce-scatter", "0", "3", "2",
                                   "-1") ","
                                         "{\"name\":\"thread_name\",\"pid\":1,\"tid\":20,\"ph\":"
                                         "\"M\",\"args\":{\"name\":"
                                         "\"PP rank 2, TP rank 0, compute\"}},"
                                         "{\"name\":\"thread_name\",\"pid\":1,\"tid\":61,\"ph\":"
                                         "\"M\",\"args\":{\"name\":"
                                         "\"PP rank 3, TP rank 0, pp-comm\"}},"
                                         "{\"name\":\"thread_name\",\"pid\":0,\"tid\":3,\"ph\":"
                                         "\"M\",\"args\":{\"name\":"
                                         "\"PP rank 0, TP rank 0, dp-comm\"}}]",
                  &shard);
    assert_no_damage(&shard);
    assert_string_equal(shard.file.format, "op-table");
    assert_int_equal(shard.n_ranks, 3);
    const struct inq_rank *rank = test_rank(&shard, 4);
    assert_int_equal(rank->stage, 2);
    assert_int_equal(rank->dp_rank, 1);
    assert_int_equal(rank->events.n, 1);
    assert_int_equal(rank->events.kind[0], INQ_EVENT_OP);
    assert_int_equal(rank->events.start_ns[0], 5250);
    assert_int_equal(rank->events.dur_ns[0], 10500);
    assert_int_equal(rank->lanes[rank->events.lane[0]].kind, INQ_LANE_OPS);
    const struct inq_label *label = &rank->labels[rank->events.label[0]];
    assert_int_equal(label->type, INQ_OP_FORWARD);
    assert_int_equal(label->step, 3);
    assert_int_equal(label->micro_batch, 4);
    assert_int_equal(label->seq, 2);
    assert_int_equal(label->stage, 2);
    assert_int_equal(test_rank(&shard, 12)->stage, 3);
    assert_int_equal(test_rank(&shard, 0)->events.cls[0], INQ_CLASS_COMM);
    assert_false(rank->has_clock_epoch);
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto__members_before_and_after_the_events),
        cmocka_unit_test(kineto__absolute_times_have_no_base),
        cmocka_unit_test(kineto__process_groups_in_both_forms),
        cmocka_unit_test(kineto__ranks_of_a_group_ascend),
        cmocka_unit_test(kineto__world_of_the_default_group),
        cmocka_unit_test(kineto__devices_and_jobs),
        cmocka_unit_test(kineto__what_is_missing_is_said),
        cmocka_unit_test(kineto__other_documents_are_refused),
        cmocka_unit_test(kineto__old_and_foreign_categories),
        cmocka_unit_test(kineto__streams_and_threads_as_text),
        cmocka_unit_test(kineto__collectives_of_kernels_and_of_the_host),
        cmocka_unit_test(kineto__peer_in_the_default_group),
        cmocka_unit_test(kineto__annotations),
        cmocka_unit_test(chrome__halves_are_joined),
        cmocka_unit_test(chrome__threads_of_two_processes_are_two_lanes),
        cmocka_unit_test(chrome__slices_go_when_it_turns_out_to_be_kineto),
        cmocka_unit_test(chrome__an_op_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
