/* SPDX-License-Identifier: Apache-2.0 */
/* What has to wait for the end of the file: the base of the clock may be the last thing in it. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Times beyond this are wall-clock times even without a base: 2001-09-09. */
#define EPOCH_NS INT64_C(1000000000000000000)

/* ---- clock ----------------------------------------------------------------------------------- */

static void add_to_column(int64_t *column, size_t n, int64_t base)
{
    for (size_t i = 0; i < n; i++) {
        column[i] += base;
    }
}

static int64_t some_time(const struct inq_rank *rank)
{
    return rank->events.n > 0  ? rank->events.start_ns[0]
           : rank->calls.n > 0 ? rank->calls.start_ns[0]
           : rank->n_notes > 0 ? rank->notes[0].start_ns
                               : 0;
}

/* Times count from the base, unless they are wall-clock times as they are. */
static void settle_clock(struct inq_rank *rank)
{
    bool absolute = some_time(rank) >= EPOCH_NS;
    int64_t base = absolute ? 0 : rank->base_ns;
    rank->base_ns = base;
    if (base != 0) {
        add_to_column(rank->events.start_ns, rank->events.n, base);
        add_to_column(rank->calls.start_ns, rank->calls.n, base);
        for (size_t i = 0; i < rank->n_notes; i++) {
            rank->notes[i].start_ns += base;
        }
        for (size_t i = 0; i < rank->n_comms; i++) {
            rank->comms[i].start_ns += rank->comms[i].start_ns != INQ_TIME_NONE ? base : 0;
        }
        rank->row0_ns += rank->has_row0 ? base : 0;
    }
    rank->has_clock_epoch = base != 0 || absolute;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names of streams are those of the threads with the device's and the stream's number. */
static void settle_lane_names(struct inq_kineto *k)
{
    for (size_t i = 0; i < k->n_threads; i++) {
        const struct inq_thread *t = &k->threads[i];
        uint32_t lane;
        if (t->name == 0) {
            continue;
        }
        if (t->lane != INQ_NONE) {
            k->rank->lanes[t->lane].name = t->name;
        } else if (!t->pid_text && !t->tid_text &&
                   inq_map_get(&k->streams_by_key, inq_kineto_stream_key(t->pid, t->tid), &lane)) {
            k->rank->lanes[lane].name = t->name;
        }
    }
}

/* The device of the first stream, else the only one there is. */
static void settle_device(struct inq_kineto *k)
{
    int64_t id = k->n_devices == 1 ? k->devices[0].id : -1;
    for (size_t i = 0; i < k->rank->n_lanes; i++) {
        if (k->rank->lanes[i].kind == INQ_LANE_STREAM) {
            id = k->rank->lanes[i].device;
            break;
        }
    }
    for (size_t i = 0; i < k->n_devices; i++) {
        if (k->devices[i].id == id) {
            k->rank->device_name = k->devices[i].name;
            k->rank->multiprocessors = k->devices[i].multiprocessors;
            return;
        }
    }
}

/* The job by name, version and attempt: another attempt is another run. */
static int settle_job(struct inq_kineto *k)
{
    const inq_str *parts = k->job[0][0] != 0 ? k->job[0] : k->job[1];
    if (parts[0] == 0) {
        return INQ_OK;
    }
    char text[512];
    const struct inq_strtab *names = &k->shard->names;
    int n = snprintf(text, sizeof text, "%.300s", inq_strtab_get(names, parts[0]));
    for (int i = 1; i < INQ_JOB_PARTS; i++) {
        if (parts[i] != 0) {
            n += snprintf(text + n, sizeof text - (size_t)n, "/%.80s",
                          inq_strtab_get(names, parts[i]));
        }
    }
    return inq_strtab_add(&k->shard->names, text, strlen(text), &k->rank->job, k->err);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* PyTorch's name for the group of all ranks. */
static void settle_world(struct inq_kineto *k)
{
    const struct inq_shard *shard = k->shard;
    for (size_t g = 0; g < shard->n_groups && k->rank->world_size < 0; g++) {
        const struct inq_group *group = &shard->groups[g];
        if (group->size > 0 &&
            strcmp(inq_strtab_get(&shard->names, group->desc), "default_pg") == 0) {
            k->rank->world_size = group->size;
        }
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static int settle_operator(struct inq_kineto *k, size_t event, uint32_t input)
{
    struct inq_events *e = &k->rank->events;
    struct inq_launch row = k->inputs.rows[input];
    if (e->launch == NULL) {
        e->launch = inq_mem_zalloc(e->cap, sizeof *e->launch);
        if (e->launch == NULL) {
            return inq_err_set(k->err, INQ_NOMEM, "out of memory for launches");
        }
    }
    if (e->launch[event] != 0) {
        const struct inq_launch *own = &k->shard->launches.rows[e->launch[event]];
        memcpy(row.grid, own->grid, sizeof row.grid);
        memcpy(row.block, own->block, sizeof row.block);
    }
    return inq_launches_add(&k->shard->launches, &row, &e->launch[event], k->err);
}

/* Gives each event's launch the operator that it names. */
static int settle_operators(struct inq_kineto *k)
{
    int code = INQ_OK;
    k->shard->took_operators = k->shard->operators;
    for (size_t i = 0; i < k->n_externals && i < k->rank->events.n && code == INQ_OK; i++) {
        uint32_t input = 0;
        if (k->externals[i] > 0 && inq_map_get(&k->op_by_id, (uint64_t)k->externals[i], &input)) {
            code = settle_operator(k, i, input);
        }
    }
    return code;
}

/* ---- kinds of files -------------------------------------------------------------------------- */

/* Slices that were kept until it was clear that this is no generic trace. */
static void drop_slices(struct inq_kineto *k)
{
    struct inq_events *e = &k->rank->events;
    size_t to = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (e->kind[i] == INQ_EVENT_SLICE) {
            continue;
        }
        e->start_ns[to] = e->start_ns[i];
        e->dur_ns[to] = e->dur_ns[i];
        e->name[to] = e->name[i];
        e->lane[to] = e->lane[i];
        e->call[to] = e->call[i];
        e->comm[to] = e->comm[i];
        e->kind[to] = e->kind[i];
        e->cls[to] = e->cls[i];
        if (e->launch != NULL) {
            e->launch[to] = e->launch[i];
        }
        to++;
    }
    k->shard->file.events_kept -= e->n - to;
    e->n = to;
}

/* What a reader of the report should know is not in the file. */
static int say_what_is_missing(struct inq_kineto *k)
{
    const char *rank = !k->has_distributed ? "no distributedInfo"
                       : k->rank->rank < 0 ? "no rank in distributedInfo"
                                           : "";
    const struct inq_file *file = &k->shard->file;
    bool timeless = file->events > 0 && file->damage.count[INQ_DAMAGE_BAD_NUMBER] >= file->events;
    const char *gpu = k->rank->events.n > 0 ? ""
                      : timeless ? "times are beyond any clock in microseconds: nanoseconds?"
                                 : "no GPU events";
    if (rank[0] == '\0' && gpu[0] == '\0') {
        return INQ_OK;
    }
    k->shard->file.reason = inq_arena_printf(&k->shard->arena, "%s%s%s", rank,
                                             rank[0] != '\0' && gpu[0] != '\0' ? "; " : "", gpu);
    return k->shard->file.reason != NULL
               ? INQ_OK
               : inq_err_set(k->err, INQ_NOMEM, "out of memory for a reason");
}

int inq_kineto_finish(struct inq_kineto *k)
{
    if (k->exported) {
        inq_kineto_export_finish(k);
        return INQ_OK;
    }
    int code = inq_kineto_settle_halves(k);
    if (code != INQ_OK) {
        return code;
    }
    code = settle_operators(k);
    if (code != INQ_OK) {
        return code;
    }
    if (k->kineto && k->slices > 0) {
        drop_slices(k);
    }
    if (!k->kineto && k->n_ops > 0) {
        k->shard->file.format = "op-table";
        return inq_kineto_settle_ops(k);
    }
    k->shard->file.events_kept -= k->n_ops;
    k->shard->file.format = k->kineto ? "kineto" : "chrome";
    settle_lane_names(k);
    settle_device(k);
    code = settle_job(k);
    if (code == INQ_OK) {
        code = inq_kineto_settle_groups(k);
    }
    if (code == INQ_OK) {
        settle_world(k);
    }
    if (code == INQ_OK && k->kineto) {
        code = say_what_is_missing(k);
    }
    k->rank->has_row0 = k->rank->has_row0 && k->kineto;
    settle_clock(k->rank);
    return code;
}
