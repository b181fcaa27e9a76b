/* SPDX-License-Identifier: Apache-2.0 */
/* The order of keys. Those of traces come in a few long runs, one for each buffer that the profiler
 * wrote: the runs are merged; keys without such an order are sorted by their digits. */
#include "base/sort.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

/* More runs than this are not worth merging: each doubling is a pass. */
enum { MAX_RUNS = 1024 };

/* ---- runs ------------------------------------------------------------------------------------ */

/* Where the runs of keys that do not fall begin: start[*n_runs + 1], the last is n. False when
 * there are too many. */
static bool find_runs(const int64_t *keys, size_t n, size_t start[MAX_RUNS + 1], size_t *n_runs)
{
    size_t runs = 0;
    start[runs++] = 0;
    for (size_t i = 1; i < n; i++) {
        if (keys[i] < keys[i - 1]) {
            if (runs == MAX_RUNS) {
                return false;
            }
            start[runs++] = i;
        }
    }
    start[runs] = n;
    *n_runs = runs;
    return true;
}

/* How many of the ordered perm[0, n) have a key below `key`, or at it, too, when `and_equal`. */
static size_t count_below(const int64_t *keys, const uint32_t *perm, size_t n, int64_t key,
                          bool and_equal)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t own = keys[perm[middle]];
        if (own < key || (and_equal && own == key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Merges the neighbors perm[0, n_a) and perm[n_a, n_a + n_b), both not empty; what is in its
 * place already is left there. `spare` has room for the first. */
static void merge_neighbors(const int64_t *keys, uint32_t *perm, size_t n_a, size_t n_b,
                            uint32_t *spare)
{
    uint32_t *b = perm + n_a;
    size_t in_place = count_below(keys, perm, n_a, keys[b[0]], true);
    perm += in_place;
    n_a -= in_place;
    if (n_a == 0) {
        return;
    }
    n_b = count_below(keys, b, n_b, keys[b[-1]], false);
    memcpy(spare, perm, n_a * sizeof *spare);
    size_t i = 0;
    size_t j = 0;
    while (i < n_a && j < n_b) {
        bool from_b = keys[b[j]] < keys[spare[i]];
        *perm++ = from_b ? b[j] : spare[i];
        j += from_b;
        i += !from_b;
    }
    memcpy(perm, spare + i, (n_a - i) * sizeof *perm); /* what is left of b is in place */
}

static int merge_all(const int64_t *keys, uint32_t *perm, size_t *start, size_t n_runs,
                     struct inq_err *err)
{
    size_t n = start[n_runs];
    uint32_t *spare = n_runs > 1 ? inq_mem_alloc(n * sizeof *spare) : NULL;
    if (n_runs > 1 && spare == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for sorting %zu times", n);
    }
    while (n_runs > 1) {
        size_t kept = 0;
        for (size_t r = 0; r < n_runs; r += 2) {
            size_t first = start[r];
            if (r + 1 < n_runs) {
                size_t second = start[r + 1];
                merge_neighbors(keys, perm + first, second - first, start[r + 2] - second, spare);
            }
            start[kept++] = first;
        }
        start[kept] = n;
        n_runs = kept;
    }
    inq_mem_free(spare);
    return INQ_OK;
}

/* ---- digits ---------------------------------------------------------------------------------- */

struct keyed {
    uint64_t key;
    uint32_t index;
};

/* One pass of a least-significant-digit radix sort over 16 bits. */
static void radix_pass(const struct keyed *from, struct keyed *to, size_t n, unsigned shift,
                       size_t *start)
{
    memset(start, 0, ((size_t)1 << 16) * sizeof *start);
    for (size_t i = 0; i < n; i++) {
        start[(from[i].key >> shift) & 0xffff]++;
    }
    size_t sum = 0;
    for (size_t d = 0; d < (size_t)1 << 16; d++) {
        size_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[start[(from[i].key >> shift) & 0xffff]++] = from[i];
    }
}

static int compare_keyed(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct keyed *x = a;
    const struct keyed *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int radix_sort(struct keyed *rows, size_t n, uint64_t spread, struct inq_err *err)
{
    struct keyed *spare = inq_mem_alloc(n * sizeof *spare);
    size_t *start = inq_mem_alloc(((size_t)1 << 16) * sizeof *start);
    if (spare == NULL || start == NULL) {
        inq_mem_free(spare);
        inq_mem_free(start);
        return inq_err_set(err, INQ_NOMEM, "out of memory for sorting %zu times", n);
    }
    struct keyed *from = rows;
    struct keyed *to = spare;
    for (unsigned shift = 0; shift < 64 && (spread >> shift) != 0; shift += 16) {
        radix_pass(from, to, n, shift, start);
        struct keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows) {
        memcpy(rows, from, n * sizeof *rows);
    }
    inq_mem_free(spare);
    inq_mem_free(start);
    return INQ_OK;
}

static int sort_digits(const int64_t *keys, size_t n, uint32_t *perm, struct inq_err *err)
{
    int64_t lowest = keys[0];
    int64_t highest = keys[0];
    for (size_t i = 1; i < n; i++) {
        lowest = keys[i] < lowest ? keys[i] : lowest;
        highest = keys[i] > highest ? keys[i] : highest;
    }
    struct keyed *rows = inq_mem_alloc(n * sizeof *rows);
    if (rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for sorting %zu times", n);
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = (struct keyed){(uint64_t)keys[i] - (uint64_t)lowest, (uint32_t)i};
    }
    /* below this a radix pass costs more than it saves */
    const size_t radix_from = 20000;
    int code = n < radix_from ? inq_sort(rows, n, sizeof *rows, compare_keyed, NULL, err)
                              : radix_sort(rows, n, (uint64_t)highest - (uint64_t)lowest, err);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        perm[i] = rows[i].index;
    }
    inq_mem_free(rows);
    return code;
}

/* ---- both ------------------------------------------------------------------------------------ */

int inq_sort_order_i64(const int64_t *keys, size_t n, uint32_t *perm, struct inq_err *err)
{
    size_t start[MAX_RUNS + 1];
    size_t n_runs = 0;
    if (n == 0) {
        return INQ_OK;
    }
    if (!find_runs(keys, n, start, &n_runs)) {
        return sort_digits(keys, n, perm, err);
    }
    for (size_t i = 0; i < n; i++) {
        perm[i] = (uint32_t)i;
    }
    return merge_all(keys, perm, start, n_runs, err);
}
