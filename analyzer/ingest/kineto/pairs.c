/* SPDX-License-Identifier: Apache-2.0 */
/* Slices written as two events, 'B' and 'E'. They are joined at the end of the file, in the order
 * of their times, because exporters do not always write them in order. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

int inq_kineto_half(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                    int64_t offset)
{
    if (!INQ_HAS(event, TS) || event->number[INQ_FIELD_TS] > INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_TS] < -INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return INQ_OK;
    }
    struct inq_half half = {.ts = event->number[INQ_FIELD_TS],
                            .correlation = -1,
                            .lane = INQ_NONE,
                            .order = (uint32_t)k->n_halves,
                            .cat = (uint8_t)cat,
                            .begin = event->ph == 'B'};
    if (INQ_HAS(event, CORRELATION) && cat != INQ_CAT_OTHER) {
        half.correlation = event->number[INQ_FIELD_CORRELATION];
    }
    k->rank->fractional_us |= event->fraction;
    int code = inq_mem_grow(&k->halves, &k->cap_halves, k->n_halves + 1, sizeof *k->halves,
                            INQ_MAX_ROWS, k->err);
    if (code == INQ_OK) {
        code = inq_kineto_thread(k, event, &half.thread);
    }
    if (code == INQ_OK && INQ_HAS(event, NAME)) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_NAME], offset, &half.name);
    }
    if (code == INQ_OK && half.begin) {
        code = inq_kineto_lane(k, event, cat, &half.lane);
    }
    if (code == INQ_OK) {
        k->halves[k->n_halves++] = half;
    }
    return code;
}

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

int inq_kineto_settle_halves(struct inq_kineto *k)
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
