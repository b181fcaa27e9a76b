/* SPDX-License-Identifier: Apache-2.0 */
#include "support_shard.h"

#include "trace/build/assemble.h"
#include "trace/classify.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

enum { THREAD = 7 };

void made_shard(struct inq_shard *shard, const char *path, int32_t rank, int32_t world_size)
{
    uint32_t index;
    *shard = (struct inq_shard){.file = {.path = path, .format = "kineto", .reason = ""}};
    shard->file.read = true;
    assert_int_equal(inq_shard_add_rank(shard, &index, NULL), INQ_OK);
    shard->ranks[index].rank = rank;
    shard->ranks[index].world_size = world_size;
    shard->ranks[index].has_clock_epoch = true;
}

inq_str made_name(struct inq_shard *shard, const char *text)
{
    inq_str id = 0;
    assert_int_equal(inq_strtab_add(&shard->names, text, strlen(text), &id, NULL), INQ_OK);
    return id;
}

uint32_t made_group(struct inq_shard *shard, const char *name, int32_t size, const int32_t *ranks,
                    uint32_t n_ranks)
{
    uint32_t index = INQ_NONE;
    inq_str id = made_name(shard, name);
    assert_int_equal(inq_shard_add_group(shard, id, 0, size, ranks, n_ranks, &index, NULL), INQ_OK);
    return index;
}

static uint32_t lane_of(struct inq_shard *shard, enum inq_lane_kind kind, int64_t id)
{
    uint32_t lane = INQ_NONE;
    int32_t device = kind == INQ_LANE_STREAM ? 0 : -1;
    assert_int_equal(inq_rank_lane(&shard->ranks[0], kind, device, id, &lane, NULL), INQ_OK);
    return lane;
}

static void add_kernel(struct inq_shard *shard, const char *name, int64_t stream,
                       const struct inq_event_row *times)
{
    struct inq_event_row row = *times;
    row.name = made_name(shard, name);
    row.lane = lane_of(shard, INQ_LANE_STREAM, stream);
    row.label = INQ_NONE;
    row.kind = INQ_EVENT_KERNEL;
    row.cls = inq_classify_kernel(name, strlen(name));
    assert_int_equal(inq_rank_add_event(&shard->ranks[0], &row, NULL), INQ_OK);
}

void made_kernel(struct inq_shard *shard, const char *name, int64_t stream, int64_t start_ns,
                 int64_t dur_ns, int64_t launch_ns, uint32_t comm)
{
    struct inq_event_row row = {
        .start_ns = start_ns, .dur_ns = dur_ns, .call = INQ_NONE, .comm = comm};
    if (launch_ns != INQ_TIME_NONE) {
        row.call = (uint32_t)shard->ranks[0].calls.n + 1;
        made_call(shard, launch_ns, 1000, row.call);
    }
    add_kernel(shard, name, stream, &row);
}

void made_call(struct inq_shard *shard, int64_t start_ns, int64_t dur_ns, int64_t correlation)
{
    uint32_t lane = lane_of(shard, INQ_LANE_THREAD, THREAD);
    inq_str name = made_name(shard, "cudaLaunchKernel");
    assert_int_equal(
        inq_rank_add_call(&shard->ranks[0], start_ns, dur_ns, name, lane, correlation, NULL),
        INQ_OK);
}

void made_work(struct inq_shard *shard, const char *name, int64_t stream, int64_t start_ns,
               int64_t dur_ns, uint32_t correlation)
{
    struct inq_event_row row = {
        .start_ns = start_ns, .dur_ns = dur_ns, .call = correlation, .comm = INQ_NONE};
    add_kernel(shard, name, stream, &row);
}

uint32_t made_comm(struct inq_shard *shard, const struct inq_comm *comm)
{
    uint32_t index = INQ_NONE;
    assert_int_equal(inq_rank_add_comm(&shard->ranks[0], comm, &index, NULL), INQ_OK);
    return index;
}

void made_note(struct inq_shard *shard, const char *name, int64_t start_ns, int64_t dur_ns,
               bool on_gpu)
{
    struct inq_note note = {.start_ns = start_ns, .dur_ns = dur_ns, .on_gpu = on_gpu};
    note.name = made_name(shard, name);
    note.lane = lane_of(shard, INQ_LANE_THREAD, THREAD);
    note.kind = (uint8_t)inq_classify_note(name, strlen(name), &note.number);
    assert_int_equal(inq_rank_add_note(&shard->ranks[0], &note, NULL), INQ_OK);
}

void made_op(struct inq_shard *shard, uint32_t index, const struct inq_label *label,
             int64_t start_ns, int64_t dur_ns)
{
    struct inq_rank *rank = &shard->ranks[index];
    struct inq_event_row row = {.start_ns = start_ns,
                                .dur_ns = dur_ns,
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .kind = INQ_EVENT_OP,
                                .cls = INQ_CLASS_COMPUTE};
    row.name = made_name(shard, inq_op_type_text(label->type));
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_OPS, -1, 0, &row.lane, NULL), INQ_OK);
    assert_int_equal(inq_rank_add_label(rank, label, &row.label, NULL), INQ_OK);
    assert_int_equal(inq_rank_add_event(rank, &row, NULL), INQ_OK);
}

struct inq_run *made_run(struct inq_shard *shards, size_t n, bool align)
{
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(inq_shard_finalize(&shards[i], &err), INQ_OK);
    }
    if (inq_assemble(shards, n, align, 2, &run, &err) != INQ_OK) {
        fail_msg("assemble: %s", err.message);
    }
    for (size_t i = 0; i < n; i++) {
        inq_shard_release(&shards[i]);
    }
    return run;
}
