/* SPDX-License-Identifier: Apache-2.0 */
/* The op table of a pipeline job as a Chrome trace: one process per DP rank, five threads per
 * worker, the thread names tell the stage. Every worker becomes a rank of the shard. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

/* Threads of one worker: compute, PP, TP and DP communication, others. */
enum { THREADS_PER_WORKER = 5 };

static int32_t small(const struct inq_scan_event *event, enum inq_scan_field field)
{
    int64_t value = (event->has >> field & 1) != 0 ? event->number[field] : -1;
    return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

int inq_kineto_op(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    if (!INQ_HAS(event, TS) || !INQ_HAS(event, DUR) ||
        event->number[INQ_FIELD_TS] > INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_TS] < -INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_DUR] > INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return INQ_OK;
    }
    struct inq_text cat = event->text[INQ_FIELD_CAT];
    struct inq_op_note op = {.row = {.start_ns = event->number[INQ_FIELD_TS],
                                     .dur_ns = event->number[INQ_FIELD_DUR],
                                     .label = {.step = small(event, INQ_FIELD_STEP),
                                               .micro_batch = small(event, INQ_FIELD_MICRO_BATCH),
                                               .chunk = small(event, INQ_FIELD_CHUNK),
                                               .seq = small(event, INQ_FIELD_SEQ_ID)}}};
    if (op.row.dur_ns < 0) {
        inq_kineto_damage(k, INQ_DAMAGE_NEGATIVE_DURATION, 1, offset);
        op.row.dur_ns = 0;
    }
    k->rank->fractional_us |= event->fraction;
    op.row.label.type = inq_op_type_from_name(cat.p, cat.n);
    int code = inq_kineto_name(k, cat, offset, &op.row.name);
    if (code == INQ_OK) {
        code = inq_kineto_thread(k, event, &op.thread);
    }
    if (code == INQ_OK) {
        code =
            inq_mem_grow(&k->ops, &k->cap_ops, k->n_ops + 1, sizeof *k->ops, INQ_MAX_ROWS, k->err);
    }
    if (code == INQ_OK) {
        const char *name = inq_strtab_get(&k->shard->names, op.row.name);
        op.row.role = inq_op_role(op.row.label.type, name);
        op.row.cls = inq_op_class(op.row.label.type, name);
        k->ops[k->n_ops++] = op;
        k->shard->file.events_kept++;
    }
    return code;
}

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

int inq_kineto_settle_ops(struct inq_kineto *k)
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
