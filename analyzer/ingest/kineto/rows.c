/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, lanes and rows. The columns are appended to in place: this is the hot end of reading. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

/* ---- threads --------------------------------------------------------------------------------- */

/* A pid or tid as a number; a text of digits counts as one, other texts by their hash. */
static int64_t id_of(const struct inq_scan_event *event, enum inq_scan_field field, bool *is_text)
{
    *is_text = false;
    if ((event->has >> field & 1) == 0) {
        return -1;
    }
    struct inq_text text = event->text[field];
    if (text.p == NULL) {
        return event->number[field];
    }
    *is_text = true;
    return (int64_t)(inq_hash_bytes(text.p, text.n) >> 1);
}

static int new_thread(struct inq_kineto *k, const struct inq_thread *thread, uint64_t key,
                      uint32_t *index)
{
    int code = inq_mem_grow(&k->threads, &k->cap_threads, k->n_threads + 1, sizeof *k->threads,
                            INQ_MAX_LANES, k->err);
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)k->n_threads;
    k->threads[k->n_threads++] = *thread;
    return inq_map_put(&k->threads_by_key, key, *index, k->err);
}

int inq_kineto_find_thread(struct inq_kineto *k, const struct inq_scan_event *event,
                           uint32_t *index)
{
    struct inq_thread thread = {.lane = INQ_NONE, .rank = INQ_NONE};
    thread.pid = id_of(event, INQ_FIELD_PID, &thread.pid_text);
    thread.tid = id_of(event, INQ_FIELD_TID, &thread.tid_text);
    uint64_t texts = (thread.pid_text ? 2u : 0u) + (thread.tid_text ? 1u : 0u);
    uint64_t key = inq_hash_u64((uint64_t)thread.pid * 4 + texts) ^ (uint64_t)thread.tid;
    int code = INQ_OK;
    if (!inq_map_get(&k->threads_by_key, key, index)) {
        if (thread.tid_text) {
            code = inq_kineto_name(k, event->text[INQ_FIELD_TID], -1, &thread.name);
        }
        if (code == INQ_OK) {
            code = new_thread(k, &thread, key, index);
        }
    }
    if (code == INQ_OK) {
        k->last_thread = *index;
    }
    return code;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static int new_lane(struct inq_kineto *k, const struct inq_lane *lane, uint32_t *index)
{
    struct inq_rank *rank = k->rank;
    int code = inq_mem_grow(&rank->lanes, &rank->cap_lanes, rank->n_lanes + 1, sizeof *rank->lanes,
                            INQ_MAX_LANES, k->err);
    if (code == INQ_OK) {
        *index = (uint32_t)rank->n_lanes;
        rank->lanes[rank->n_lanes++] = *lane;
    }
    return code;
}

/* The thread's lane, made on first use. */
static int thread_lane(struct inq_kineto *k, uint32_t thread, uint32_t *lane)
{
    struct inq_thread *t = &k->threads[thread];
    if (t->lane == INQ_NONE) {
        struct inq_lane fresh = {
            .kind = INQ_LANE_THREAD, .device = -1, .id = t->tid, .name = t->name};
        int code = new_lane(k, &fresh, &t->lane);
        if (code != INQ_OK) {
            return code;
        }
    }
    *lane = t->lane;
    return INQ_OK;
}

static int stream_lane(struct inq_kineto *k, int64_t device, int64_t stream, uint32_t *lane)
{
    if (k->last_stream_lane != INQ_NONE && stream == k->last_stream && device == k->last_device) {
        *lane = k->last_stream_lane;
        return INQ_OK;
    }
    uint64_t key = inq_kineto_stream_key(device, stream);
    int code = INQ_OK;
    if (!inq_map_get(&k->streams_by_key, key, lane)) {
        struct inq_lane fresh = {
            .kind = INQ_LANE_STREAM,
            .device = device >= INT32_MIN && device <= INT32_MAX ? (int32_t)device : -1,
            .id = stream,
        };
        code = new_lane(k, &fresh, lane);
        if (code == INQ_OK) {
            code = inq_map_put(&k->streams_by_key, key, *lane, k->err);
        }
    }
    if (code == INQ_OK) {
        k->last_device = device;
        k->last_stream = stream;
        k->last_stream_lane = *lane;
    }
    return code;
}

/* A stream as a number: args.stream, else tid, which may be written "stream 7". */
static int64_t stream_of(const struct inq_scan_event *event)
{
    if (INQ_HAS(event, STREAM)) {
        return event->number[INQ_FIELD_STREAM];
    }
    if (!INQ_HAS(event, TID)) {
        return -1;
    }
    struct inq_text text = event->text[INQ_FIELD_TID];
    if (text.p == NULL) {
        return event->number[INQ_FIELD_TID];
    }
    int64_t stream = -1;
    if (text.n > 7 && memcmp(text.p, "stream ", 7) == 0 &&
        inq_scan_int(text.p + 7, text.n - 7, &stream)) {
        return stream;
    }
    return (int64_t)(inq_hash_bytes(text.p, text.n) >> 1);
}

static int64_t device_of(const struct inq_scan_event *event)
{
    if (INQ_HAS(event, DEVICE)) {
        return event->number[INQ_FIELD_DEVICE];
    }
    return INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p == NULL
               ? event->number[INQ_FIELD_PID]
               : -1;
}

int inq_kineto_find_lane(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                         uint32_t *lane)
{
    if (k->exported) { /* its tracks are known, on whatever stream they are */
        uint32_t track = 0;
        int code = inq_kineto_thread(k, event, &track);
        *lane = code == INQ_OK ? k->threads[track].lane : 0;
        return code;
    }
    switch (cat) {
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_GPU_NOTE:
        return stream_lane(k, device_of(event), stream_of(event), lane);
    case INQ_CAT_OTHER:
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
    case INQ_CAT_NOTE:
    case INQ_CAT_CALL:
    case INQ_CAT_PASSING:
    case INQ_CAT_OP:
        break;
    }
    uint32_t thread = 0;
    int code = inq_kineto_thread(k, event, &thread);
    return code == INQ_OK ? thread_lane(k, thread, lane) : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    enum inq_event_kind kind;
    enum inq_op_class cls;
} row_kinds[] = {
    [INQ_CAT_OTHER] = {INQ_EVENT_SLICE, INQ_CLASS_OTHER},
    [INQ_CAT_CPU_OP] = {INQ_EVENT_SLICE, INQ_CLASS_COMPUTE},
    [INQ_CAT_KERNEL] = {INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE},
    [INQ_CAT_MEMCPY] = {INQ_EVENT_MEMCPY, INQ_CLASS_COPY},
    [INQ_CAT_MEMSET] = {INQ_EVENT_MEMSET, INQ_CLASS_COPY},
    [INQ_CAT_SYNC] = {INQ_EVENT_SYNC, INQ_CLASS_OTHER},
};

/* Remembers which operator the event that is added next names. */
static int note_external(struct inq_kineto *k, int64_t external_id)
{
    if (!k->shard->operators) {
        return INQ_OK;
    }
    while (k->n_externals <= k->rank->events.n) {
        int code = inq_mem_grow(&k->externals, &k->cap_externals, k->n_externals + 1,
                                sizeof *k->externals, INQ_MAX_ROWS, k->err);
        if (code != INQ_OK) {
            return code;
        }
        k->externals[k->n_externals++] = 0;
    }
    k->externals[k->rank->events.n] = external_id;
    return INQ_OK;
}

int inq_kineto_add_row(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part)
{
    struct inq_event_row row = {
        .start_ns = part->start_ns,
        .dur_ns = part->dur_ns,
        .name = part->name,
        .lane = part->lane,
        .call = part->correlation < 0 ? INQ_NONE : (uint32_t)part->correlation,
        .comm = part->comm,
        .label = INQ_NONE,
        .launch = part->launch,
        .kind = row_kinds[cat].kind,
        .cls = row_kinds[cat].cls,
    };
    if (cat == INQ_CAT_KERNEL) {
        row.cls = part->comm != INQ_NONE
                      ? INQ_CLASS_COMM
                      : inq_kernel_class(&k->classes, &k->shard->names, part->name);
    }
    k->slices += row.kind == INQ_EVENT_SLICE;
    int code = note_external(k, part->external_id);
    return code == INQ_OK ? inq_rank_add_event(k->rank, &row, k->err) : code;
}

int inq_kineto_add_note(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part)
{
    struct inq_note note = {.start_ns = part->start_ns,
                            .dur_ns = part->dur_ns,
                            .name = part->name,
                            .lane = part->lane,
                            .number = -1,
                            .on_gpu = cat == INQ_CAT_GPU_NOTE};
    const struct inq_strtab *names = &k->shard->names;
    note.kind = (uint8_t)inq_classify_note(inq_strtab_get(names, part->name),
                                           inq_strtab_len(names, part->name), &note.number);
    return inq_rank_add_note(k->rank, &note, k->err);
}
