/* SPDX-License-Identifier: Apache-2.0 */
#include "support_trace.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct test_text test_load(const char *shared, const char *name)
{
    char path[1024];
    struct test_text text = {NULL, 0};
    (void)snprintf(path, sizeof path, "%s/%s", shared, name);
    struct inq_source *source = NULL;
    if (inq_source_open(path, NULL, &source, NULL) != INQ_OK) {
        print_message("skipped: no %s\n", path);
        return text;
    }
    const char *chunk = NULL;
    size_t n = 0;
    size_t cap = 1;
    text.p = malloc(cap);
    while (inq_source_next(source, &chunk, &n, NULL) == INQ_OK && n > 0) {
        if (text.n + n > cap) {
            cap = (text.n + n) * 2;
            text.p = realloc(text.p, cap);
        }
        assert_non_null(text.p);
        memcpy(text.p + text.n, chunk, n);
        text.n += n;
    }
    inq_source_close(source);
    return text;
}

struct test_text test_gzip(struct test_text text)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t cap = deflateBound(&z, text.n) + 64;
    struct test_text out = {malloc(cap), 0};
    assert_non_null(out.p);
    z.next_in = (unsigned char *)text.p;
    z.avail_in = (uInt)text.n;
    z.next_out = (unsigned char *)out.p;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.n = cap - z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out;
}

int test_read_trace(struct test_text text, struct test_way way, struct inq_shard *shard)
{
    struct inq_source_options options = {
        .chunk_size = way.chunk, .threaded = way.threaded, .no_isal = way.no_isal};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_source_open_memory(text.p, text.n, &options, &source, &err), INQ_OK);
    *shard = (struct inq_shard){.file = {.path = "test"}, .operators = way.operators};
    inq_shape_match match =
        way.level < 0 ? NULL : inq_shape_matcher((enum inq_shape_level)way.level);
    int code = inq_kineto_read(source, shard, match, &err);
    inq_source_close(source);
    return code;
}

void test_read_ok(struct test_text text, struct test_way way, struct inq_shard *shard)
{
    assert_int_equal(test_read_trace(text, way, shard), INQ_OK);
}

/* ---- comparison ------------------------------------------------------------------------------ */

#define DIFFER(condition, what)                                                                    \
    if (condition) {                                                                               \
        return what;                                                                               \
    }
#define COLUMN(a, b, column, n, what)                                                              \
    DIFFER((n) > 0 && memcmp((a)->column, (b)->column, (n) * sizeof *(a)->column) != 0, what)

static bool same_note(const struct inq_note *a, const struct inq_note *b)
{
    return a->start_ns == b->start_ns && a->dur_ns == b->dur_ns && a->name == b->name &&
           a->lane == b->lane && a->number == b->number && a->kind == b->kind &&
           a->on_gpu == b->on_gpu;
}

static bool same_comm(const struct inq_comm *a, const struct inq_comm *b)
{
    return a->kind == b->kind && a->op_name == b->op_name && a->dtype == b->dtype &&
           a->dtype_bytes == b->dtype_bytes && a->group == b->group &&
           a->group_size == b->group_size && a->in_elems == b->in_elems &&
           a->out_elems == b->out_elems && a->seq == b->seq && a->peer == b->peer &&
           a->external_id == b->external_id && a->from_name == b->from_name &&
           a->start_ns == b->start_ns && a->lane == b->lane;
}

static bool same_lane(const struct inq_lane *a, const struct inq_lane *b)
{
    return a->kind == b->kind && a->device == b->device && a->id == b->id && a->name == b->name;
}

static const char *rank_difference(const struct inq_rank *a, const struct inq_rank *b)
{
    DIFFER(a->rank != b->rank || a->world_size != b->world_size || a->stage != b->stage ||
               a->dp_rank != b->dp_rank || a->host != b->host || a->job != b->job ||
               a->device_name != b->device_name || a->pid != b->pid || a->base_ns != b->base_ns ||
               a->fractional_us != b->fractional_us || a->has_clock_epoch != b->has_clock_epoch ||
               a->has_row0 != b->has_row0 || a->row0_ns != b->row0_ns ||
               a->multiprocessors != b->multiprocessors,
           "description of a rank");
    DIFFER(a->n_lanes != b->n_lanes, "number of lanes");
    for (size_t i = 0; i < a->n_lanes; i++) {
        DIFFER(!same_lane(&a->lanes[i], &b->lanes[i]), "a lane");
    }
    DIFFER(a->events.n != b->events.n, "number of events");
    COLUMN(&a->events, &b->events, start_ns, a->events.n, "start of an event");
    COLUMN(&a->events, &b->events, dur_ns, a->events.n, "duration of an event");
    COLUMN(&a->events, &b->events, name, a->events.n, "name of an event");
    COLUMN(&a->events, &b->events, lane, a->events.n, "lane of an event");
    COLUMN(&a->events, &b->events, call, a->events.n, "correlation of an event");
    COLUMN(&a->events, &b->events, comm, a->events.n, "comm of an event");
    COLUMN(&a->events, &b->events, kind, a->events.n, "kind of an event");
    COLUMN(&a->events, &b->events, cls, a->events.n, "class of an event");
    DIFFER((a->events.launch == NULL) != (b->events.launch == NULL), "launches");
    COLUMN(&a->events, &b->events, launch, a->events.launch != NULL ? a->events.n : 0,
           "launch of an event");
    DIFFER(a->calls.n != b->calls.n, "number of calls");
    COLUMN(&a->calls, &b->calls, start_ns, a->calls.n, "start of a call");
    COLUMN(&a->calls, &b->calls, dur_ns, a->calls.n, "duration of a call");
    COLUMN(&a->calls, &b->calls, name, a->calls.n, "name of a call");
    COLUMN(&a->calls, &b->calls, lane, a->calls.n, "lane of a call");
    COLUMN(&a->calls, &b->calls, correlation, a->calls.n, "correlation of a call");
    DIFFER(a->n_notes != b->n_notes, "number of notes");
    for (size_t i = 0; i < a->n_notes; i++) {
        DIFFER(!same_note(&a->notes[i], &b->notes[i]), "a note");
    }
    DIFFER(a->n_comms != b->n_comms, "number of comms");
    for (size_t i = 0; i < a->n_comms; i++) {
        DIFFER(!same_comm(&a->comms[i], &b->comms[i]), "a comm");
    }
    DIFFER(a->n_labels != b->n_labels, "number of labels");
    COLUMN(a, b, labels, a->n_labels, "a label");
    return "";
}

const char *test_shard_difference(const struct inq_shard *a, const struct inq_shard *b)
{
    DIFFER(strcmp(a->file.format != NULL ? a->file.format : "",
                  b->file.format != NULL ? b->file.format : "") != 0,
           "format");
    DIFFER(a->file.events != b->file.events, "events of the file");
    DIFFER(a->file.events_kept != b->file.events_kept, "events kept of the file");
    DIFFER(memcmp(&a->file.damage, &b->file.damage, sizeof a->file.damage) != 0, "damage");
    DIFFER(a->names.n != b->names.n, "number of names");
    for (size_t i = 0; i < a->names.n; i++) {
        DIFFER(strcmp(inq_strtab_get(&a->names, (uint32_t)i),
                      inq_strtab_get(&b->names, (uint32_t)i)) != 0,
               "a name");
    }
    DIFFER(a->n_groups != b->n_groups, "number of groups");
    for (size_t i = 0; i < a->n_groups; i++) {
        const struct inq_group *x = &a->groups[i];
        const struct inq_group *y = &b->groups[i];
        DIFFER(x->name != y->name || x->desc != y->desc || x->size != y->size ||
                   x->n_ranks != y->n_ranks,
               "a group");
        COLUMN(x, y, ranks, x->n_ranks, "ranks of a group");
    }
    DIFFER(a->launches.n != b->launches.n, "number of launches");
    COLUMN(&a->launches, &b->launches, rows, a->launches.n, "a launch");
    DIFFER(a->n_ranks != b->n_ranks, "number of ranks");
    for (size_t i = 0; i < a->n_ranks; i++) {
        const char *difference = rank_difference(&a->ranks[i], &b->ranks[i]);
        DIFFER(difference[0] != '\0', difference);
    }
    return "";
}

void test_same_shard(const struct inq_shard *a, const struct inq_shard *b, const char *what)
{
    const char *difference = test_shard_difference(a, b);
    if (difference[0] != '\0') {
        fail_msg("%s: %s differs", what, difference);
    }
}

void test_all_ways(struct test_text text, const char *what, struct inq_shard *shard)
{
    static const size_t chunks[] = {0, 3000, 701};
    test_read_ok(text, (struct test_way){.level = -1}, shard);
    for (int level = -1; level <= (int)inq_shape_level(); level++) {
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
            struct inq_shard other;
            test_read_ok(text, (struct test_way){.level = level, .chunk = chunks[i]}, &other);
            test_same_shard(&other, shard, what);
            inq_shard_release(&other);
        }
    }
}
