/* SPDX-License-Identifier: Apache-2.0 */
/* What has to wait for the end of the file: the base of the clock may be the last thing in it. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slices written as two events, 'B' and 'E'. They are joined at the end of the file, in the order
 * of their times, because exporters do not always write them in order. */

static int compare_halves(const void *a, const void *b, void *ctx)
{
    const struct inq_half *x = a;
    const struct inq_half *y = b;
    (void)ctx;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : 0;
}

/* Which of the open slices an end closes: the innermost of its name; if none has it, the innermost.
 * The search is bounded; deeper nesting than that is not real. */
static size_t find_open(const struct inq_half *halves, const uint32_t *open, size_t n,
                        const struct inq_half *end)
{
    enum { MAX_SEARCH = 1024 };
    if (end->name != 0) {
        for (size_t i = n; i > 0 && n - i < MAX_SEARCH; i--) {
            if (halves[open[i - 1]].name == end->name) {
                return i - 1;
            }
        }
    }
    return n - 1;
}

static int add_slice(struct inq_kineto *k, const struct inq_half *begin, const struct inq_half *end)
{
    struct inq_part part = {.start_ns = begin->ts,
                            .dur_ns = end->ts - begin->ts,
                            .correlation = begin->correlation,
                            .name = begin->name,
                            .lane = begin->lane,
                            .comm = INQ_NONE};
    switch ((enum inq_cat)begin->cat) {
    case INQ_CAT_CALL:
        k->shard->file.events_kept += 2;
        return inq_rank_add_call(k->rank, part.start_ns, part.dur_ns, part.name, part.lane,
                                 part.correlation, k->err);
    case INQ_CAT_NOTE:
    case INQ_CAT_GPU_NOTE:
        k->shard->file.events_kept += 2;
        return inq_kineto_add_note(k, (enum inq_cat)begin->cat, &part);
    case INQ_CAT_OTHER:
        if (k->kineto && k->processes.n == 0) {
            return INQ_OK; /* only generic traces keep them */
        }
        break;
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
        break;
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
    case INQ_CAT_PASSING:
    case INQ_CAT_OP:
        return INQ_OK;
    }
    k->shard->file.events_kept += 2;
    return inq_kineto_add_row(k, (enum inq_cat)begin->cat, &part);
}

/* Joins the halves of one thread, [from, to). `open` has room for all of them. */
static int join_thread(struct inq_kineto *k, size_t from, size_t to, uint32_t *open)
{
    size_t n_open = 0;
    int code = INQ_OK;
    for (size_t i = from; i < to && code == INQ_OK; i++) {
        const struct inq_half *half = &k->halves[i];
        if (half->begin) {
            open[n_open++] = (uint32_t)i;
        } else if (n_open == 0) {
            inq_kineto_damage(k, INQ_DAMAGE_UNMATCHED_END, 1, -1);
        } else {
            size_t which = find_open(k->halves, open, n_open, half);
            code = add_slice(k, &k->halves[open[which]], half);
            n_open--;
            for (size_t j = which; j < n_open; j++) {
                open[j] = open[j + 1];
            }
        }
    }
    if (n_open > 0) {
        inq_kineto_damage(k, INQ_DAMAGE_UNMATCHED_BEGIN, n_open, -1);
    }
    return code;
}

/* Joins the halves to rows. */
static int kineto_settle_halves(struct inq_kineto *k)
{
    if (k->n_halves == 0) {
        return INQ_OK;
    }
    uint32_t *open = inq_mem_zalloc(k->n_halves, sizeof *open);
    if (open == NULL) {
        return inq_err_set(k->err, INQ_NOMEM, "out of memory for open slices");
    }
    int code = inq_sort(k->halves, k->n_halves, sizeof *k->halves, compare_halves, NULL, k->err);
    for (size_t from = 0; from < k->n_halves && code == INQ_OK;) {
        size_t to = from + 1;
        while (to < k->n_halves && k->halves[to].thread == k->halves[from].thread) {
            to++;
        }
        code = join_thread(k, from, to, open);
        from = to;
    }
    inq_mem_free(open);
    return code;
}

/* The op table of a pipeline job as a Chrome trace: one process per DP rank, five threads per
 * worker, the thread names tell the stage. Every worker becomes a rank of the shard. */

/* Threads of one worker: compute, PP, TP and DP communication, others. */
enum { THREADS_PER_WORKER = 5 };

/* ---- workers --------------------------------------------------------------------------------- */

/* One worker: its global rank, place, and where it is in the shard. */
struct worker {
    int64_t rank, dp_rank;
    int32_t stage;
    uint32_t index;
};

struct workers {
    struct worker *rows;
    size_t n, cap;
    struct inq_map by_key;
    uint32_t *of_thread; /* [n_threads] index into rows, INQ_NONE for threads without ops */
};

/* The stage in a thread's name ("PP rank 2, TP rank 0, compute"), or -1. */
static int32_t stage_in(const char *name)
{
    const char *p = strstr(name, "PP rank ");
    if (p == NULL) {
        return -1;
    }
    char *end;
    long stage = strtol(p + 8, &end, 10);
    return end == p + 8 || stage < 0 || stage > INT32_MAX ? -1 : (int32_t)stage;
}

static int find_worker(struct inq_kineto *k, struct workers *workers, uint32_t thread)
{
    const struct inq_thread *t = &k->threads[thread];
    int64_t rank = t->tid / THREADS_PER_WORKER;
    int32_t stage = stage_in(inq_strtab_get(&k->shard->names, t->name));
    uint64_t key = inq_hash_u64((uint64_t)rank) ^ (uint64_t)t->pid;
    uint32_t index;
    if (workers->rows != NULL && inq_map_get(&workers->by_key, key, &index)) {
        struct worker *w = &workers->rows[index];
        w->stage = w->stage < 0 ? stage : w->stage;
        workers->of_thread[thread] = index;
        return INQ_OK;
    }
    int code = inq_mem_grow(&workers->rows, &workers->cap, workers->n + 1, sizeof *workers->rows,
                            INQ_MAX_RANKS, k->err);
    if (code == INQ_OK) {
        workers->of_thread[thread] = (uint32_t)workers->n;
        workers->rows[workers->n++] =
            (struct worker){.rank = rank, .dp_rank = t->pid, .stage = stage};
        code = inq_map_put(&workers->by_key, key, workers->of_thread[thread], k->err);
    }
    return code;
}

static int compare_workers(const void *a, const void *b, void *ctx)
{
    const struct worker *workers = ctx;
    const struct worker *x = &workers[*(const uint32_t *)a];
    const struct worker *y = &workers[*(const uint32_t *)b];
    if (x->dp_rank != y->dp_rank) {
        return x->dp_rank < y->dp_rank ? -1 : 1;
    }
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : 0;
}

/* Where the thread names do not tell, stages are the order of the workers of one DP rank. */
static int number_stages(struct inq_kineto *k, struct workers *workers)
{
    uint32_t *order = inq_mem_zalloc(workers->n, sizeof *order);
    if (order == NULL) {
        return inq_err_set(k->err, INQ_NOMEM, "out of memory for workers");
    }
    bool known = true;
    for (size_t i = 0; i < workers->n; i++) {
        order[i] = (uint32_t)i;
        known = known && workers->rows[i].stage >= 0;
    }
    int code = inq_sort(order, workers->n, sizeof *order, compare_workers, workers->rows, k->err);
    int32_t stage = 0;
    for (size_t i = 0; code == INQ_OK && !known && i < workers->n; i++) {
        struct worker *w = &workers->rows[order[i]];
        bool same = i > 0 && workers->rows[order[i - 1]].dp_rank == w->dp_rank;
        stage = same ? stage + 1 : 0;
        w->stage = stage;
    }
    inq_mem_free(order);
    return code;
}

static int32_t rank_or_none(int64_t value)
{
    return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

/* Makes a rank of each worker, in place of the shard's one rank. */
static int add_ranks(struct inq_kineto *k, struct workers *workers)
{
    bool fraction = k->rank->fractional_us;
    inq_rank_release(k->rank);
    k->shard->n_ranks = 0;
    for (size_t i = 0; i < workers->n; i++) {
        struct worker *w = &workers->rows[i];
        int code = inq_ops_add_worker(k->shard, &w->index, k->err);
        if (code != INQ_OK) {
            return code;
        }
        struct inq_rank *rank = &k->shard->ranks[w->index];
        rank->rank = rank_or_none(w->rank);
        rank->dp_rank = rank_or_none(w->dp_rank);
        rank->stage = w->stage;
        rank->fractional_us = fraction;
    }
    k->rank = &k->shard->ranks[0];
    return INQ_OK;
}

static int add_ops(struct inq_kineto *k, const struct workers *workers)
{
    int code = INQ_OK;
    for (size_t i = 0; i < k->n_ops && code == INQ_OK; i++) {
        struct inq_op_note *op = &k->ops[i];
        const struct worker *w = &workers->rows[workers->of_thread[op->thread]];
        op->row.label.stage = w->stage;
        op->row.label.dp_rank = rank_or_none(w->dp_rank);
        code = inq_ops_add(k->shard, w->index, &op->row, k->err);
    }
    return code;
}

/* Replaces the one rank by the workers of a pipeline job. */
static int kineto_settle_ops(struct inq_kineto *k)
{
    struct workers workers = {0};
    workers.of_thread = inq_mem_alloc(k->n_threads * sizeof *workers.of_thread);
    int code = workers.of_thread != NULL
                   ? INQ_OK
                   : inq_err_set(k->err, INQ_NOMEM, "out of memory for workers");
    for (size_t i = 0; i < k->n_threads && code == INQ_OK; i++) {
        workers.of_thread[i] = INQ_NONE;
    }
    for (size_t i = 0; i < k->n_ops && code == INQ_OK; i++) {
        if (workers.of_thread[k->ops[i].thread] == INQ_NONE) {
            code = find_worker(k, &workers, k->ops[i].thread);
        }
    }
    if (code == INQ_OK) {
        code = number_stages(k, &workers);
    }
    if (code == INQ_OK) {
        code = add_ranks(k, &workers);
    }
    if (code == INQ_OK) {
        code = add_ops(k, &workers);
    }
    inq_mem_free(workers.of_thread);
    inq_mem_free(workers.rows);
    inq_map_release(&workers.by_key);
    return code;
}

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
static int settle_device(struct inq_kineto *k)
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
        }
    }
    const char *kind = k->rank->events.n > 0 ? k->kind_of_device : NULL;
    return k->rank->device_name != 0 || kind == NULL
               ? INQ_OK
               : inq_strtab_add(&k->shard->names, kind, strlen(kind), &k->rank->device_name,
                                k->err);
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
        row.bytes = own->bytes;
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
                                 : "no device work is recognized";
    if (rank[0] == '\0' && gpu[0] == '\0') {
        return INQ_OK;
    }
    k->shard->file.reason = inq_arena_asprintf(&k->shard->arena, "%s%s%s", rank,
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
    int code = kineto_settle_halves(k);
    if (code != INQ_OK) {
        return code;
    }
    code = settle_operators(k);
    if (code != INQ_OK) {
        return code;
    }
    code = inq_kineto_settle_devices(k);
    if (code != INQ_OK) {
        return code;
    }
    if (k->kineto) {
        code = inq_kineto_settle_cpu(k);
        if (code != INQ_OK) {
            return code;
        }
    }
    if (k->kineto && k->slices > 0) {
        drop_slices(k);
    }
    if (!k->kineto && k->n_ops > 0) {
        k->shard->file.format = "op-table";
        return kineto_settle_ops(k);
    }
    k->shard->file.events_kept -= k->n_ops;
    k->shard->file.format = k->kineto ? "kineto" : "chrome";
    settle_lane_names(k);
    code = settle_device(k);
    if (code == INQ_OK) {
        code = settle_job(k);
    }
    if (code == INQ_OK) {
        code = inq_kineto_settle_groups(k);
    }
    if (code == INQ_OK) {
        settle_world(k);
    }
    if (code == INQ_OK && k->kineto) {
        code = say_what_is_missing(k);
    } else if (k->xla) {
        k->shard->file.reason =
            "a Chrome trace of JAX's or TensorFlow's profiler, which does not say "
            "what its slices are: give the *.xplane.pb beside it";
    }
    k->rank->has_row0 = k->rank->has_row0 && k->kineto;
    settle_clock(k->rank);
    return code;
}
