/* SPDX-License-Identifier: Apache-2.0 */
/* When the all-reduces of a schedule begin and end. */
#include "schedule/reductions.h"

#include "base/mem.h"

#include <inttypes.h>

static int32_t places_of(const struct inq_schedule *schedule)
{
    return schedule->n_stages / schedule->n_pipelines;
}

static uint64_t key_of(int32_t rank, int32_t place)
{
    return (uint64_t)(uint32_t)rank << 32 | (uint32_t)place;
}

static bool reduces(const struct inq_action *action)
{
    return action->kind == INQ_ACTION_REDUCE_GRAD && action->stage >= 0;
}

void inq_reductions_release(struct inq_reductions *x)
{
    inq_mem_free(x->parts);
    inq_mem_free(x->head);
    inq_mem_free(x->end);
    inq_mem_free(x->first_of);
    inq_mem_free(x->of);
    inq_mem_free(x->free_ns);
    inq_mem_free(x->work);
    inq_map_release(&x->part_of);
    *x = (struct inq_reductions){0};
}

/* ---- which there are ------------------------------------------------------------------------- */

static bool allocate(struct inq_reductions *x)
{
    size_t n_ranks = (size_t)x->schedule->n_ranks;
    size_t cells = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        for (size_t i = 0; i < x->schedule->ranks[r].n; i++) {
            cells += reduces(&x->schedule->ranks[r].actions[i]);
        }
    }
    x->parts = inq_mem_zalloc(cells + 1, sizeof *x->parts);
    x->of = inq_mem_zalloc(cells + 1, sizeof *x->of);
    x->work = inq_mem_zalloc(cells + 1, sizeof *x->work);
    x->head = inq_mem_zalloc(n_ranks, sizeof *x->head);
    x->end = inq_mem_zalloc(n_ranks, sizeof *x->end);
    x->free_ns = inq_mem_zalloc(n_ranks, sizeof *x->free_ns);
    x->first_of = inq_mem_zalloc((size_t)places_of(x->schedule) + 2, sizeof *x->first_of);
    return x->parts != NULL && x->of != NULL && x->work != NULL && x->head != NULL &&
           x->end != NULL && x->free_ns != NULL && x->first_of != NULL;
}

static int add_cell(struct inq_reductions *x, int32_t rank, int32_t place, struct inq_err *err)
{
    uint32_t part = 0;
    int code = INQ_OK;
    if (!inq_map_get(&x->part_of, key_of(rank, place), &part)) {
        part = (uint32_t)x->n++;
        x->parts[part] = (struct inq_reduction_part){.rank = rank, .place = place, .end_ns = -1};
        code = inq_map_put(&x->part_of, key_of(rank, place), part, err);
    }
    x->parts[part].to_issue++;
    return code;
}

static void list_places(struct inq_reductions *x)
{
    size_t *next = x->first_of + 1; /* shifted by one until all are listed */
    for (size_t i = 0; i < x->n; i++) {
        next[x->parts[i].place + 1]++;
    }
    for (int32_t p = 0; p < places_of(x->schedule); p++) {
        next[p + 1] += next[p];
    }
    for (size_t i = 0; i < x->n; i++) {
        x->of[next[x->parts[i].place]++] = i;
    }
}

int inq_reductions_find(const struct inq_schedule *schedule, int64_t dur_ns,
                        struct inq_reductions *out, struct inq_err *err)
{
    *out = (struct inq_reductions){.schedule = schedule, .dur_ns = dur_ns};
    if (dur_ns <= 0) {
        return INQ_OK;
    }
    int code =
        allocate(out) ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for all-reduces");
    for (int32_t r = 0; code == INQ_OK && r < schedule->n_ranks; r++) {
        out->head[r] = out->n;
        for (size_t i = 0; code == INQ_OK && i < schedule->ranks[r].n; i++) {
            const struct inq_action *a = &schedule->ranks[r].actions[i];
            code = reduces(a) ? add_cell(out, r, a->stage % places_of(schedule), err) : INQ_OK;
        }
        out->end[r] = out->n;
    }
    if (code == INQ_OK) {
        list_places(out);
    } else {
        inq_reductions_release(out);
    }
    return code;
}

/* ---- when they end --------------------------------------------------------------------------- */

static const struct inq_reduction_part *part_of(const struct inq_reductions *x, int32_t rank,
                                                int32_t stage)
{
    uint32_t part = 0;
    return x->n > 0 && inq_map_get(&x->part_of, key_of(rank, stage % places_of(x->schedule)), &part)
               ? &x->parts[part]
               : NULL;
}

/* Whether all who take part have come to it, and when the last of them is free; -1: no. */
static int64_t start_of(const struct inq_reductions *x, int32_t place)
{
    int64_t start = 0;
    for (size_t k = x->first_of[place]; k < x->first_of[place + 1]; k++) {
        const struct inq_reduction_part *part = &x->parts[x->of[k]];
        int64_t free_ns = x->free_ns[part->rank];
        if (part->to_issue > 0 || x->head[part->rank] != x->of[k]) {
            return -1;
        }
        start = part->ready_ns > start ? part->ready_ns : start;
        start = free_ns > start ? free_ns : start;
    }
    return start;
}

void inq_reductions_issue(struct inq_reductions *x, int32_t rank, int32_t stage, int64_t now_ns,
                          void (*ended)(void *ctx, int32_t rank), void *ctx)
{
    uint32_t own = 0;
    size_t n = 0;
    if (x->n == 0 ||
        !inq_map_get(&x->part_of, key_of(rank, stage % places_of(x->schedule)), &own)) {
        return;
    }
    x->parts[own].to_issue--;
    x->parts[own].ready_ns = now_ns > x->parts[own].ready_ns ? now_ns : x->parts[own].ready_ns;
    x->work[n++] = x->parts[own].place;
    while (n > 0) {
        int32_t place = x->work[--n];
        int64_t start = start_of(x, place);
        for (size_t k = x->first_of[place]; start >= 0 && k < x->first_of[place + 1]; k++) {
            struct inq_reduction_part *part = &x->parts[x->of[k]];
            part->end_ns = start + x->dur_ns;
            x->free_ns[part->rank] = part->end_ns;
            x->head[part->rank]++;
            if (x->head[part->rank] < x->end[part->rank]) {
                x->work[n++] = x->parts[x->head[part->rank]].place;
            }
            ended(ctx, part->rank);
        }
    }
}

int64_t inq_reductions_end(const struct inq_reductions *x, int32_t rank, int32_t stage)
{
    const struct inq_reduction_part *part = part_of(x, rank, stage);
    return part != NULL ? part->end_ns : -1;
}

int inq_reductions_check(const struct inq_reductions *x, struct inq_err *err)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct inq_reduction_part *a = &x->parts[i];
        for (size_t k = x->first_of[a->place]; a->end_ns < 0 && k < x->first_of[a->place + 1];
             k++) {
            const struct inq_reduction_part *b = &x->parts[x->of[k]];
            const struct inq_reduction_part *own = &x->parts[x->head[a->rank]];
            const struct inq_reduction_part *other = &x->parts[x->head[b->rank]];
            if (own->place != other->place) {
                return inq_err_set(err, INQ_DEADLOCK,
                                   "rank %" PRId32 " all-reduces the gradients of stage %" PRId32
                                   " of its replica where rank %" PRId32 " all-reduces those of "
                                   "stage %" PRId32 ": they wait for each other",
                                   a->rank, own->place, b->rank, other->place);
            }
        }
    }
    return INQ_OK;
}
