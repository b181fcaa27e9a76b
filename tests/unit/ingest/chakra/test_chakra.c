/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces: nodes of the device with their times, what called them and what waited
 * for them; damage; what is recognized. */
#include "ingest/ingest.h"
#include "inquest/ingest.h"
#include "support_read.h"
#include "support_wire.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const int64_t EPOCH_US = INT64_C(1768464000000000); /* 2026-01-15 08:00:00 UTC */

/* ---- a writer (et_def.proto) ----------------------------------------------------------------- */

/* 9 int64, 27 bool: an attribute's value. */
static void put_attribute(struct message *node, const char *name, unsigned form, int64_t value)
{
    struct message m = {.n = 0};
    put_text(&m, 1, name);
    put_number(&m, form, value);
    put_bytes(node, 10, m.bytes, m.n);
}

struct spec {
    int64_t id;
    const char *name;
    int type;
    int64_t parent, dep; /* 0: none */
    int64_t start_us, dur_us;
    int64_t stream; /* -1: the host's */
    int64_t comm_type;
    const char *group;
};

static void put_node(struct message *file, const struct spec *spec)
{
    struct message m = {.n = 0};
    put_number(&m, 1, spec->id);
    put_text(&m, 2, spec->name);
    put_number(&m, 3, spec->type);
    if (spec->parent > 0) {
        put_number(&m, 4, spec->parent); /* not packed, which readers have to take as well */
    }
    if (spec->dep > 0) {
        char packed[1] = {(char)spec->dep};
        put_bytes(&m, 5, packed, 1);
    }
    if (spec->start_us > 0) {
        put_number(&m, 6, EPOCH_US + spec->start_us);
    }
    put_number(&m, 7, spec->dur_us);
    put_attribute(&m, "is_cpu_op", 27, spec->stream < 0);
    put_attribute(&m, spec->stream < 0 ? "tid" : "stream", 9, spec->stream < 0 ? 7 : spec->stream);
    if (spec->type == 7) {
        put_attribute(&m, "comm_type", 9, spec->comm_type);
        put_attribute(&m, "comm_size", 9, 4096);
    }
    if (spec->group != NULL) {
        struct message name = {.n = 0};
        put_text(&name, 1, "pg_name");
        put_text(&name, 29, spec->group);
        put_bytes(&m, 10, name.bytes, name.n);
    }
    put_varint(file, m.n);
    memcpy(file->bytes + file->n, m.bytes, m.n);
    file->n += m.n;
}

static void put_head(struct message *file)
{
    struct message m = {.n = 0};
    put_text(&m, 1, "0.0.4");
    put_varint(file, m.n);
    memcpy(file->bytes + file->n, m.bytes, m.n);
    file->n += m.n;
}

static void put_groups(struct message *file)
{
    struct message m = {.n = 0};
    struct message inputs = {.n = 0};
    put_text(&inputs, 1,
             "['[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": [0, 1, 2, 3]}, "
             "{\"pg_name\": \"5\", \"pg_desc\": \"tp\", \"ranks\": [3, 1], \"group_size\": 2}]']");
    put_number(&m, 1, 1);
    put_text(&m, 2, "## process_group:init ##");
    put_number(&m, 3, 1);
    put_bytes(&m, 8, inputs.bytes, inputs.n);
    put_varint(file, m.n);
    memcpy(file->bytes + file->n, m.bytes, m.n);
    file->n += m.n;
}

/* Two steps: each a kernel, a copy and an all-gather, then the host waits for the last. */
static const struct spec nodes[] = {
    {2, "ProfilerStep#4", 4, 0, 0, 100, 1, -1, 0, NULL},
    {3, "aten::mm", 4, 2, 0, 110, 10, -1, 0, NULL},
    {4, "gemm_kernel", 4, 3, 3, 125, 50, 7, 0, NULL},
    {5, "Memcpy HtoD", 2, 3, 4, 180, 5, 9, 0, NULL},
    {6, "ncclDevKernel_AllGather_RING_LL(int)", 7, 3, 4, 200, 40, 20, 2, "5"},
    {7, "aten::item", 4, 2, 6, 130, 111, -1, 0, NULL},
    {8, "aten::add", 4, 2, 7, 242, 3, -1, 0, NULL},
    {9, "ProfilerStep#5", 4, 0, 7, 300, 1, -1, 0, NULL},
    {10, "aten::mm", 4, 9, 7, 310, 10, -1, 0, NULL},
    {11, "gemm_kernel", 4, 10, 10, 325, 50, 7, 0, NULL},
    {12, "ncclDevKernel_AllReduce_Sum(int)", 7, 10, 11, 380, 40, 20, 0, "0"},
};

enum { N_NODES = sizeof nodes / sizeof *nodes };

static void put_run(struct message *file)
{
    put_head(file);
    put_groups(file);
    for (size_t i = 0; i < N_NODES; i++) {
        put_node(file, &nodes[i]);
    }
}

/* ---- what is read ---------------------------------------------------------------------------- */

static struct inq_comm comm_of(const struct inq_rank *rank, const char *what,
                               const struct inq_shard *shard)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        if (strstr(test_str(shard, rank->events.name[i]), what) != NULL) {
            return rank->comms[rank->events.comm[i]];
        }
    }
    fail_msg("no event of %s", what);
    return (struct inq_comm){0};
}

static void chakra__nodes_of_the_device_are_rows_with_their_callers(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    struct inq_shard shard;
    struct inq_err err = {0};
    put_run(&file);
    assert_int_equal(test_read_bytes(file.bytes, file.n, 0, &shard, &err), INQ_OK);
    assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
    assert_string_equal(shard.file.format, "chakra");
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->world_size, 4);
    assert_true(rank->has_clock_epoch);
    assert_int_equal(rank->events.n, 5);
    const struct inq_events *e = &rank->events;
    for (size_t i = 0; i < e->n; i++) {
        /* every one was called by an "aten::mm" */
        assert_int_not_equal(e->call[i], INQ_NONE);
        assert_string_equal(test_str(&shard, rank->calls.name[e->call[i]]), "aten::mm");
        bool copy = strncmp(test_str(&shard, e->name[i]), "Memcpy", 6) == 0;
        assert_int_equal(e->kind[i], copy ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL);
        if (strcmp(test_str(&shard, e->name[i]), "gemm_kernel") == 0) {
            assert_int_equal(e->dur_ns[i], 50000);
            assert_int_equal(e->cls[i], INQ_CLASS_COMPUTE);
        }
    }
    struct inq_comm gather = comm_of(rank, "AllGather", &shard);
    assert_int_equal(gather.kind, INQ_COLL_ALLGATHER);
    assert_int_equal(gather.in_elems * gather.dtype_bytes, 4096);
    const struct inq_group *group = &shard.groups[gather.group];
    assert_int_equal(group->n_ranks, 2);
    assert_int_equal(group->ranks[0], 1);
    assert_int_equal(group->ranks[1], 3);
    assert_int_equal(comm_of(rank, "AllReduce", &shard).kind, INQ_COLL_ALLREDUCE);
    inq_shard_release(&shard);
}

/* Durations are without those of nodes that a node calls. */
static void chakra__steps_last_until_the_next_and_waits_are_calls(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    struct inq_shard shard;
    struct inq_err err = {0};
    put_run(&file);
    assert_int_equal(test_read_bytes(file.bytes, file.n, 0, &shard, &err), INQ_OK);
    assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->n_notes, 2);
    assert_int_equal(rank->notes[0].number, 4);
    assert_int_equal(rank->notes[0].dur_ns, 200000);
    assert_int_equal(rank->notes[1].dur_ns, 20000); /* to the end of the host's last node */
    size_t waits = 0;
    for (size_t i = 0; i < rank->calls.n; i++) {
        const char *name = test_str(&shard, rank->calls.name[i]);
        assert_string_not_equal(name, "aten::add"); /* it called nothing and waited for nothing */
        waits += strcmp(name, "Synchronize in aten::item") == 0;
    }
    assert_int_equal(waits, 1);
    inq_shard_release(&shard);
}

static void chakra__json_says_the_same(void **state)
{
    (void)state;
    static const char text[] =
        "{\n \"version\": \"0.0.4\"\n}{\n \"id\": \"3\",\n \"name\": \"aten::mm\",\n"
        " \"type\": \"COMP_NODE\",\n \"startTimeMicros\": \"1768464000000110\",\n"
        " \"durationMicros\": \"10\",\n \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": "
        "true}]\n}{\n"
        " \"id\": \"4\",\n \"name\": \"a \\\"kernel\\\"\",\n \"type\": \"COMP_NODE\",\n"
        " \"ctrlDeps\": [\n  \"3\"\n ],\n \"startTimeMicros\": \"1768464000000125\",\n"
        " \"durationMicros\": \"50\",\n \"attr\": [\n  {\"name\": \"is_cpu_op\", \"boolVal\": "
        "false},\n"
        "  {\"name\": \"stream\", \"int64Val\": \"7\"}\n ]\n}";
    struct inq_shard shard;
    struct inq_err err = {0};
    for (size_t chunk = 0; chunk < 3; chunk++) {
        assert_int_equal(test_read_bytes(text, sizeof text - 1, chunk, &shard, &err), INQ_OK);
        assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
        const struct inq_rank *rank = &shard.ranks[0];
        assert_int_equal(rank->events.n, 1);
        assert_string_equal(test_str(&shard, rank->events.name[0]), "a \"kernel\"");
        assert_int_equal(rank->events.dur_ns[0], 50000);
        assert_string_equal(test_str(&shard, rank->calls.name[rank->events.call[0]]), "aten::mm");
        assert_int_equal(inq_damage_total(&shard.file.damage), 0);
        inq_shard_release(&shard);
    }
}

/* ---- without times --------------------------------------------------------------------------- */

#define GRAPH(nodes) "{\"workload_graph\": [" nodes "]}"
#define NODE(id, name, type, us, deps, more)                                                       \
    "{\"Id\": " #id ", \"Name\": \"" name "\", \"NodeType\": " #type                               \
    ", \"is_cpu_op\": false, \"runtime\": " #us ", \"data_deps\": [" deps "]" more "}"
#define HOST(id, name, us, deps)                                                                   \
    "{\"Id\": " #id ", \"Name\": \"" name "\", \"NodeType\": 4, \"is_cpu_op\": true, \"tid\": 7, " \
    "\"runtime\": " #us ", \"data_deps\": [" deps "]}"

/* Reads the graphs of ranks 0, 1, ... and places them. */
static void place(const char *const *texts, size_t n, struct inq_shard *shards)
{
    static const char *const paths[] = {"w.0.json", "w.1.json", "w.2.json"};
    struct inq_err err = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(test_read_bytes(texts[i], strlen(texts[i]), 0, &shards[i], &err), INQ_OK);
        shards[i].file.path = paths[i];
        shards[i].file.read = true;
        shards[i].ranks[0].rank = (int32_t)i;
        assert_int_equal(inq_shard_finalize(&shards[i], &err), INQ_OK);
        assert_int_equal(shards[i].ranks[0].events.n, 0);
    }
    assert_int_equal(inq_reader_chakra.join(shards, n, &err), INQ_OK);
}

static void release_all(struct inq_shard *shards, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        inq_shard_release(&shards[i]);
    }
}

/* The row of that name begins and ends at these microseconds. */
static void assert_at(const struct inq_shard *shard, const char *name, int64_t from, int64_t to)
{
    const struct inq_events *e = &shard->ranks[0].events;
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp(test_str(shard, e->name[i]), name) == 0) {
            assert_int_equal(e->start_ns[i] / 1000, from);
            assert_int_equal((e->start_ns[i] + e->dur_ns[i]) / 1000, to);
            return;
        }
    }
    fail_msg("no row of %s", name);
}

/* Rank 1 computes longer. Rank 0 was recorded to wait for it, so the transfer is the 20 us of
 * rank 1.
 */
static void chakra__untimed_collectives_end_together(void **state)
{
    (void)state;
    static const char *const texts[] = {
        GRAPH(NODE(0, "fwd", 4, 100, "", "") "," NODE(
            1, "sum", 7, 70, "0", ", \"comm_type\": 0") "," NODE(2, "update", 4, 10, "1", "")),
        GRAPH(NODE(0, "fwd", 4, 150, "", "") "," NODE(
            1, "sum", 7, 20, "0", ", \"comm_type\": 0") "," NODE(2, "update", 4, 10, "1", ""))};
    struct inq_shard shards[2];
    place(texts, 2, shards);
    assert_at(&shards[0], "fwd", 0, 100);
    assert_at(&shards[0], "sum", 100, 170);
    assert_at(&shards[0], "update", 170, 180);
    assert_at(&shards[1], "sum", 150, 170);
    assert_non_null(strstr(shards[0].file.reason, "no start times"));
    assert_int_equal(inq_damage_total(&shards[0].file.damage), 0);
    release_all(shards, 2);
}

/* Collectives of one kind meet in their order; a message is its sender's and its receiver's. */
static void chakra__untimed_messages_meet_in_order(void **state)
{
    (void)state;
    static const char *const texts[] = {
        GRAPH(NODE(0, "a", 4, 10, "", "") "," NODE(
            1, "send", 5, 5, "0", ", \"comm_dst\": 1") "," NODE(2, "b", 4, 30, "0",
                                                                "") "," NODE(3, "send2", 5, 5, "2",
                                                                             ", \"comm_dst\": 1")),
        GRAPH(NODE(0, "recv", 6, 5, "", ", \"comm_src\": 0") "," NODE(
            1, "recv2", 6, 5, "0", ", \"comm_src\": 0") "," NODE(2, "c", 4, 7, "1", ""))};
    struct inq_shard shards[2];
    place(texts, 2, shards);
    assert_at(&shards[0], "send", 10, 15);
    assert_at(&shards[0], "send2", 40, 45);
    assert_at(&shards[1], "recv", 0, 15);
    assert_at(&shards[1], "recv2", 15, 45);
    assert_at(&shards[1], "c", 45, 52);
    release_all(shards, 2);
}

/* A device computes one thing at a time, and communicates beside it, and beside itself. */
static void chakra__untimed_lanes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        GRAPH(NODE(0, "a", 4, 10, "", "") "," NODE(1, "b", 4, 20, "", "") "," NODE(
            2, "x", 7, 50, "0", ", \"comm_type\": 0") "," NODE(3, "y", 7, 40, "1",
                                                               ", \"comm_type\": 2"))};
    struct inq_shard shard;
    place(texts, 1, &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_at(&shard, "a", 0, 10);
    assert_at(&shard, "b", 10, 30);
    assert_at(&shard, "x", 10, 60);
    assert_at(&shard, "y", 30, 70);
    assert_int_equal(rank->events.n, 4);
    for (size_t i = 1; i < 4; i++) { /* no two at once on one lane */
        const struct inq_events *e = &rank->events;
        assert_true(e->lane[i] != e->lane[i - 1] ||
                    e->start_ns[i] >= e->start_ns[i - 1] + e->dur_ns[i - 1]);
    }
    assert_int_equal(rank->comms[rank->events.comm[3]].kind, INQ_COLL_ALLGATHER);
    release_all(&shard, 1);
}

/* What a host waited for its device is in the duration that was recorded, and is not to be waited
 * for twice: "item" is called at 5 us, and ends with the device. */
static void chakra__untimed_hosts_wait_for_their_device(void **state)
{
    (void)state;
    static const char *const texts[] = {GRAPH(
        HOST(0, "mm", 5, "") "," NODE(1, "gemm", 4, 100, "0", ", \"ctrl_deps\": [0]") "," HOST(
            2, "item", 96, "0, 1") "," HOST(3, "add", 4, "2") "," NODE(4, "plus", 4, 10, "3",
                                                                       ", \"ctrl_deps\": [3]"))};
    struct inq_shard shard;
    place(texts, 1, &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_at(&shard, "gemm", 5, 105);
    assert_at(&shard, "plus", 109, 119);
    assert_int_equal(rank->calls.n, 3);
    assert_string_equal(test_str(&shard, rank->calls.name[1]), "Synchronize in item");
    assert_int_equal(rank->calls.start_ns[1], 5000);
    assert_int_equal(rank->calls.dur_ns[1], 100000);
    assert_string_equal(test_str(&shard, rank->calls.name[rank->events.call[1]]), "add");
    release_all(&shard, 1);
}

/* Circles are left out with what depends on them, and said; so is what depends on nothing known. */
static void chakra__untimed_graphs_that_cannot_run(void **state)
{
    (void)state;
    static const char *const circle[] = {
        GRAPH(NODE(0, "a", 4, 10, "", "") "," NODE(1, "b", 4, 10, "0, 2", "") "," NODE(
            2, "c", 4, 10, "1", "") "," NODE(3, "d", 4, 10, "2", ""))};
    static const char *const unmet[] = {GRAPH(NODE(0, "a", 4, 10, "77", ""))};
    struct inq_shard shard;
    place(circle, 1, &shard);
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_non_null(strstr(shard.file.reason, "3 that wait for each other"));
    release_all(&shard, 1);
    place(unmet, 1, &shard);
    assert_at(&shard, "a", 0, 10);
    assert_non_null(strstr(shard.file.reason, "1 dependencies are on nodes that are not there"));
    release_all(&shard, 1);
}

/* A graph for a simulator that has no durations either. */
static void chakra__graphs_without_durations_say_what_they_hold(void **state)
{
    (void)state;
    static const char text[] =
        GRAPH(NODE(0, "fwd", 4, 0, "", "") "," NODE(1, "grads", 7, 0, "0", ", \"comm_type\": 0"));
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(test_read_bytes(text, sizeof text - 1, 0, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, 0);
    assert_int_equal(shard.file.events, 2);
    assert_non_null(strstr(shard.file.reason, "no start times and no durations: 1 nodes of compute "
                                              "and 1 of communication"));
    inq_shard_release(&shard);
    struct message file = {.n = 0};
    put_head(&file);
    put_node(&file, &nodes[1]); /* of the host */
    assert_int_equal(test_read_bytes(file.bytes, file.n, 0, &shard, &err), INQ_OK);
    assert_non_null(strstr(shard.file.reason, "no device work recognized"));
    inq_shard_release(&shard);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static size_t read_events(const char *bytes, size_t n, size_t chunk, struct inq_damage *damage)
{
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(test_read_bytes(bytes, n, chunk, &shard, &err), INQ_OK);
    size_t events = shard.file.events;
    *damage = shard.file.damage;
    inq_shard_release(&shard);
    return events;
}

/* Wherever a byte is wrong, no more than the node that it is in and the next are lost. */
static void chakra__damage_costs_the_nodes_that_it_hits(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    struct inq_damage damage;
    put_run(&file);
    assert_int_equal(read_events(file.bytes, file.n, 0, &damage), N_NODES + 1);
    assert_int_equal(inq_damage_total(&damage), 0);
    struct message head = {.n = 0};
    put_head(&head);
    put_groups(&head);
    put_node(&head, &nodes[0]); /* intact, so that the file is recognized */
    for (size_t at = head.n; at < file.n; at++) {
        char kept = file.bytes[at];
        file.bytes[at] = (char)0xff;
        struct inq_damage in_parts;
        size_t events = read_events(file.bytes, file.n, 0, &damage);
        assert_true(events >= N_NODES + 1 - 2);
        assert_int_equal(read_events(file.bytes, file.n, 5, &in_parts), events);
        assert_memory_equal(&damage.count, &in_parts.count, sizeof damage.count);
        if (events < N_NODES + 1) {
            assert_true(inq_damage_total(&damage) > 0);
        }
        file.bytes[at] = kept;
    }
}

static void chakra__a_cut_file_keeps_what_is_whole(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    struct inq_damage damage;
    put_run(&file);
    assert_int_equal(read_events(file.bytes, file.n - 9, 0, &damage), N_NODES);
    assert_int_equal(damage.count[INQ_DAMAGE_TRUNCATED], 1);
    /* zeros that a file system left behind what was written */
    memset(file.bytes + file.n, 0, 4096);
    assert_int_equal(read_events(file.bytes, file.n + 4096, 0, &damage), N_NODES + 1);
    assert_int_equal(damage.count[INQ_DAMAGE_GARBAGE], 4096);
}

static void chakra__json_goes_on_behind_a_broken_node(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\": \"0.0.4\"}{\"id\": \"1\", \"name\": \"a\", \"type\": \"COMP_NODE\"}"
        "{\"id\": \"2\", \"name\": \"b\" \"type\": \"COMP_NODE\", \"attr\": [{\"name\": "
        "\"is_cpu_op\","
        " \"boolVal\": true}]}{\"id\": \"3\", \"name\": \"c\", \"type\": \"COMP_NODE\"}";
    struct inq_damage damage;
    assert_int_equal(read_events(text, sizeof text - 1, 0, &damage), 2);
    assert_true(damage.count[INQ_DAMAGE_BAD_EVENT] > 0);
    assert_int_equal(read_events(text, sizeof text - 2, 0, &damage), 1);
    assert_int_equal(damage.count[INQ_DAMAGE_TRUNCATED], 1);
}

/* ---- recognition ----------------------------------------------------------------------------- */

static void chakra__is_recognized_by_content(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    put_run(&file);
    assert_ptr_equal(inq_reader_find(file.bytes, file.n, "x.pt.trace.json"), &inq_reader_chakra);
    /* the head of a file may end anywhere behind its first node */
    struct message head = {.n = 0};
    put_head(&head);
    put_groups(&head);
    assert_ptr_equal(inq_reader_find(file.bytes, head.n + 11, "x"), &inq_reader_chakra);
    assert_null(inq_reader_find(file.bytes, 9, "x.et")); /* metadata alone is no trace */
    static const char other[] = "\x07\n\x05"
                                "0.0.4\x03\x08\x01\x12";
    assert_ptr_not_equal(inq_reader_find(other, sizeof other - 1, "x.et"), &inq_reader_chakra);
}

/* "{" may be the length of the first message: 123 bytes. */
/* PyTorch's observer writes the host's operators in the order of the host and nothing of a device:
 * which file it is, and what to bring instead. */
static void chakra__what_pytorch_observes_is_told_apart(void **state)
{
    (void)state;
    static const char text[] =
        "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 763, \"start_ts\": 102689,\n"
        "  \"nodes\": [ { \"id\": 2, \"name\": \"[pytorch|profiler|execution_trace|thread]\", "
        "\"ctrl_deps\": 1, \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": "
        "0}]}]}";
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_true(inq_reader_chakra.sniff(text, sizeof text - 1, "et.json") > 90);
    assert_int_equal(test_read_bytes(text, sizeof text - 1, 0, &shard, &err), INQ_UNSUPPORTED);
    assert_non_null(strstr(shard.file.reason, "PyTorch's own execution trace"));
    inq_shard_release(&shard);
}

static void chakra__a_length_that_looks_like_json_is_none(void **state)
{
    (void)state;
    struct message file = {.n = 0};
    struct message m = {.n = 0};
    struct inq_damage damage;
    char version[121];
    memset(version, '4', sizeof version);
    put_bytes(&m, 1, version, sizeof version);
    assert_int_equal(m.n, '{');
    put_varint(&file, m.n);
    memcpy(file.bytes + file.n, m.bytes, m.n);
    file.n += m.n;
    put_node(&file, &nodes[2]);
    assert_int_equal(read_events(file.bytes, file.n, 0, &damage), 1);
    assert_int_equal(inq_damage_total(&damage), 0);
}

static void chakra__ranks_come_from_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t rank;
    } rows[] = {{"llama.3.et", 3},     {"llama3.8b.17.et", 17}, {"rank_4.et", 4},
                {"et.2026.0.json", 0}, {"trace.et", -1},        {"run.1234567.et", -1}};
    char folder[TEST_PATH];
    test_make_folder(folder);
    struct message file = {.n = 0};
    put_run(&file);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[TEST_PATH + 64];
        (void)snprintf(path, sizeof path, "%s/%s", folder, rows[i].name);
        test_write(path, file.bytes, file.n);
        struct inq_shard shard = {.file = {.path = path}};
        struct inq_err err = {0};
        assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
        int32_t rank = shard.ranks[0].rank;
        rank = rank < 0 ? inq_rank_from_name(path) : rank;
        assert_int_equal(rank, rows[i].rank);
        inq_shard_release(&shard);
    }
    test_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chakra__nodes_of_the_device_are_rows_with_their_callers),
        cmocka_unit_test(chakra__steps_last_until_the_next_and_waits_are_calls),
        cmocka_unit_test(chakra__json_says_the_same),
        cmocka_unit_test(chakra__untimed_collectives_end_together),
        cmocka_unit_test(chakra__untimed_messages_meet_in_order),
        cmocka_unit_test(chakra__untimed_lanes),
        cmocka_unit_test(chakra__untimed_hosts_wait_for_their_device),
        cmocka_unit_test(chakra__untimed_graphs_that_cannot_run),
        cmocka_unit_test(chakra__graphs_without_durations_say_what_they_hold),
        cmocka_unit_test(chakra__damage_costs_the_nodes_that_it_hits),
        cmocka_unit_test(chakra__a_cut_file_keeps_what_is_whole),
        cmocka_unit_test(chakra__json_goes_on_behind_a_broken_node),
        cmocka_unit_test(chakra__is_recognized_by_content),
        cmocka_unit_test(chakra__what_pytorch_observes_is_told_apart),
        cmocka_unit_test(chakra__a_length_that_looks_like_json_is_none),
        cmocka_unit_test(chakra__ranks_come_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
