/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of times: every operation walks its sorted inputs once, side by side. */
#include "analysis/measure/interval.h"

#include "base/mem.h"

#include <stdbool.h>

#define MAX_INTERVALS ((size_t)1 << 31)

void inq_intervals_release(struct inq_intervals *set)
{
    inq_mem_free(set->at);
    *set = (struct inq_intervals){0};
}

int inq_intervals_push(struct inq_intervals *set, int64_t start, int64_t end, struct inq_err *err)
{
    if (end <= start) {
        return INQ_OK;
    }
    if (set->n > 0 && start <= set->at[set->n - 1].end) {
        if (end > set->at[set->n - 1].end) {
            set->at[set->n - 1].end = end;
        }
        return INQ_OK;
    }
    if (set->n == set->cap) {
        int code =
            inq_mem_grow(&set->at, &set->cap, set->n + 1, sizeof(*set->at), MAX_INTERVALS, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    set->at[set->n++] = (struct inq_interval){start, end};
    return INQ_OK;
}

int64_t inq_intervals_length(const struct inq_intervals *set)
{
    int64_t length = 0;

    for (size_t i = 0; i < set->n; i++) {
        length += set->at[i].end - set->at[i].start;
    }
    return length;
}

int inq_intervals_union(const struct inq_intervals *a, const struct inq_intervals *b,
                        struct inq_intervals *out, struct inq_err *err)
{
    size_t i = 0;
    size_t j = 0;
    int code = INQ_OK;

    while (code == INQ_OK && (i < a->n || j < b->n)) {
        const struct inq_interval *next;
        if (j == b->n || (i < a->n && a->at[i].start <= b->at[j].start)) {
            next = &a->at[i++];
        } else {
            next = &b->at[j++];
        }
        code = inq_intervals_push(out, next->start, next->end, err);
    }
    return code;
}

/* The next common piece of the sets from (*i, *j) on; false at the end. */
static bool next_common(const struct inq_intervals *a, const struct inq_intervals *b, size_t *i,
                        size_t *j, struct inq_interval *common)
{
    while (*i < a->n && *j < b->n) {
        const struct inq_interval *x = &a->at[*i];
        const struct inq_interval *y = &b->at[*j];
        common->start = x->start > y->start ? x->start : y->start;
        common->end = x->end < y->end ? x->end : y->end;
        if (x->end <= y->end) {
            (*i)++;
        } else {
            (*j)++;
        }
        if (common->start < common->end) {
            return true;
        }
    }
    return false;
}

int64_t inq_intervals_common(const struct inq_intervals *a, const struct inq_intervals *b)
{
    size_t i = 0;
    size_t j = 0;
    struct inq_interval common;
    int64_t length = 0;

    while (next_common(a, b, &i, &j, &common)) {
        length += common.end - common.start;
    }
    return length;
}
