/* SPDX-License-Identifier: Apache-2.0 */
/* Stable sorting with a context. */
#ifndef INQ_BASE_SORT_H
#define INQ_BASE_SORT_H

#include "inquest/error.h"

typedef int (*inq_compare)(const void *a, const void *b, void *ctx);

/* Stable merge sort of `n` elements of `size` bytes. Fails with INQ_NOMEM (order unspecified). */
int inq_sort(void *base, size_t n, size_t size, inq_compare compare, void *ctx,
             struct inq_err *err);

/* Stable order of `n` keys: perm[i] = index of the i-th smallest. `perm` is the caller's [n].
 * Linear for keys in order, and nearly so where they come in a few ordered runs. Fails with
 * INQ_NOMEM. */
int inq_sort_order_i64(const int64_t *keys, size_t n, uint32_t *perm, struct inq_err *err);

/* Ascending, in place, no failure. */
void inq_sort_i64(int64_t *values, size_t n);
void inq_sort_double(double *values, size_t n); /* NaN: in front or last, by its sign */
/* Puts at `at` and behind it what sorting would, the others in front of or behind both: in time in
 * proportion to n, as a rule. at < n. */
void inq_select_i64(int64_t *values, size_t n, size_t at);
void inq_select_double(double *values, size_t n, size_t at);

/* Sorts, and keeps each value once, in front; how many. */
size_t inq_sort_distinct_i64(int64_t *values, size_t n);
/* Index of the first of the ascending values from `low` to `high` that is at least `least`; `high`:
 * none. */
size_t inq_first_from_i64(const int64_t *values, size_t low, size_t high, int64_t least);

#endif
