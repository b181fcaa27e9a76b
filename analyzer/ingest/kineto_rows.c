/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, lanes and rows. The columns are appended to in place: this is the hot end of reading. */
#include "ingest/kineto.h"

#include "base/mem.h"

int inq_kineto_init(struct inq_kineto *k, struct inq_shard *shard, struct inq_err *err)
{
    *k = (struct inq_kineto){.shard = shard, .err = err};
    k->last_thread = INQ_NONE;
    k->last_stream_lane = INQ_NONE;
    uint32_t index = 0;
    int code = inq_shard_add_rank(shard, &index, err);
    if (code == INQ_OK) {
        k->rank = &shard->ranks[index];
    }
    return code;
}

void inq_kineto_release(struct inq_kineto *k)
{
    inq_mem_free(k->kernel_class);
    inq_mem_free(k->scratch);
    inq_map_release(&k->threads_by_key);
    inq_map_release(&k->streams_by_key);
    inq_map_release(&k->groups_by_key);
    inq_mem_free(k->threads);
    inq_mem_free(k->halves);
    inq_mem_free(k->ops);
    inq_mem_free(k->groups);
    inq_mem_free(k->config);
    inq_mem_free(k->devices);
    inq_mem_free(k->of_export);
    inq_mem_free(k->export_groups);
    *k = (struct inq_kineto){0};
}

void inq_kineto_damage(struct inq_kineto *k, enum inq_damage_kind kind, uint64_t n, int64_t offset)
{
    inq_damage_add(&k->shard->file.damage, kind, n, offset);
}

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

int inq_kineto_thread(struct inq_kineto *k, const struct inq_scan_event *event, uint32_t *index)
{
    struct inq_thread thread = {.lane = INQ_NONE, .rank = INQ_NONE};
    thread.pid = id_of(event, INQ_FIELD_PID, &thread.pid_text);
    thread.tid = id_of(event, INQ_FIELD_TID, &thread.tid_text);
    uint64_t texts = (thread.pid_text ? 2u : 0u) + (thread.tid_text ? 1u : 0u);
    uint64_t key = inq_hash_u64((uint64_t)thread.pid * 4 + texts) ^ (uint64_t)thread.tid;
    if (key == k->last_thread_key && k->last_thread != INQ_NONE) {
        *index = k->last_thread;
        return INQ_OK;
    }
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
        k->last_thread_key = key;
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

int inq_kineto_thread_lane(struct inq_kineto *k, uint32_t thread, uint32_t *lane)
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

uint64_t inq_kineto_stream_key(int64_t device, int64_t stream)
{
    return inq_hash_u64((uint64_t)device) ^ (uint64_t)stream;
}

int inq_kineto_stream_lane(struct inq_kineto *k, int64_t device, int64_t stream, uint32_t *lane)
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
