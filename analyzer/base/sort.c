/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

struct merge {
    size_t size;
    inq_compare compare;
    void *ctx;
};

/* Merges [a, a + n_a) and [b, b + n_b), neighbors in one array, into `to`. */
static void merge_runs(const struct merge *m, const char *a, size_t n_a, const char *b, size_t n_b,
                       char *to)
{
    size_t size = m->size;
    while (n_a > 0 && n_b > 0) {
        if (m->compare(b, a, m->ctx) < 0) {
            memcpy(to, b, size);
            b += size;
            n_b--;
        } else {
            memcpy(to, a, size);
            a += size;
            n_a--;
        }
        to += size;
    }
    memcpy(to, a, n_a * size);
    memcpy(to + n_a * size, b, n_b * size);
}

static bool is_sorted(const struct merge *m, const char *base, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (m->compare(base + i * m->size, base + (i - 1) * m->size, m->ctx) < 0) {
            return false;
        }
    }
    return true;
}

int inq_sort(void *base, size_t n, size_t size, inq_compare compare, void *ctx, struct inq_err *err)
{
    struct merge m = {.size = size, .compare = compare, .ctx = ctx};
    if (n < 2 || is_sorted(&m, base, n)) {
        return INQ_OK;
    }
    char *spare = n > SIZE_MAX / size ? NULL : inq_mem_alloc(n * size);
    if (spare == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for sorting %zu elements", n);
    }
    char *from = base;
    char *to = spare;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t n_a = n - i < width ? n - i : width;
            size_t rest = n - i - n_a;
            size_t n_b = rest < width ? rest : width;
            merge_runs(&m, from + i * size, n_a, from + (i + n_a) * size, n_b, to + i * size);
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != (char *)base) {
        memcpy(base, from, n * size);
    }
    inq_mem_free(spare);
    return INQ_OK;
}

/* ---- numbers, in place ------------------------------------------------------------------------
 * Quicksort that falls back to heapsort, so that no input makes it slow. */

/* An int64_t, or the bits of a double. */
typedef int64_t word __attribute__((may_alias));

static void insert_all(word *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int64_t x = v[i];
        size_t at = i;
        for (; at > 0 && v[at - 1] > x; at--) {
            v[at] = v[at - 1];
        }
        v[at] = x;
    }
}

static void sift(word *v, size_t at, size_t n)
{
    int64_t x = v[at];
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && v[child + 1] > v[child];
        if (v[child] <= x) {
            break;
        }
        v[at] = v[child];
        at = child;
    }
    v[at] = x;
}

static void heap_sort(word *v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) {
        sift(v, i, n);
    }
    while (n-- > 1) {
        int64_t top = v[0];
        v[0] = v[n];
        v[n] = top;
        sift(v, 0, n);
    }
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
    int64_t low = a < b ? a : b;
    int64_t high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Parts v so that nothing left of the returned place is larger than anything from it on; both sides
 * have elements. n >= 3. */
static size_t part(word *v, size_t n)
{
    int64_t pivot = middle_of(v[0], v[n / 2], v[n - 1]);
    size_t i = 0;
    size_t j = n - 1;
    for (;;) {
        while (v[i] < pivot) {
            i++;
        }
        while (v[j] > pivot) {
            j--;
        }
        if (i >= j) {
            return i; /* neither 0 nor n: the middle of three has company on both sides */
        }
        int64_t swap = v[i];
        v[i++] = v[j];
        v[j--] = swap;
    }
}

static void quick_sort(word *v, size_t n, int depth)
{
    enum { FEW = 24 };
    while (n > FEW) {
        if (depth-- == 0) {
            heap_sort(v, n);
            return;
        }
        size_t left = part(v, n);
        bool left_smaller = left < n - left;
        quick_sort(left_smaller ? v : v + left, left_smaller ? left : n - left, depth);
        v = left_smaller ? v + left : v;
        n = left_smaller ? n - left : left;
    }
    insert_all(v, n);
}

/* Parts that may be made of n values before they are no longer halves in any sense. */
static int most_parts(size_t n)
{
    int depth = 0;
    for (size_t left = n; left > 1; left /= 2) {
        depth += 2;
    }
    return depth;
}

static void sort_words(word *values, size_t n)
{
    quick_sort(values, n, most_parts(n));
}

/* The least of v[from..n) to its front, the greatest of the others behind them. */
static void meet(word *v, size_t from, size_t n)
{
    size_t least = from;
    size_t most = from - 1;
    for (size_t i = from; i < n; i++) {
        least = v[i] < v[least] ? i : least;
    }
    for (size_t i = 0; i < from; i++) {
        most = v[i] > v[most] ? i : most;
    }
    int64_t low = v[from];
    v[from] = v[least];
    v[least] = low;
    int64_t high = v[from - 1];
    v[from - 1] = v[most];
    v[most] = high;
}

static void select_words(word *v, size_t n, size_t at)
{
    enum { FEW = 12 };
    for (int depth = most_parts(n); n > FEW && depth > 0; depth--) {
        size_t left = part(v, n);
        if (at + 1 == left) {
            meet(v, left, n);
            return;
        }
        bool right = at >= left;
        v = right ? v + left : v;
        n = right ? n - left : left;
        at = right ? at - left : at;
    }
    sort_words(v, n);
}

void inq_sort_i64(int64_t *values, size_t n)
{
    sort_words((word *)values, n);
}

size_t inq_sort_distinct_i64(int64_t *values, size_t n)
{
    size_t kept = 0;
    inq_sort_i64(values, n);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || values[i] != values[kept - 1]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

size_t inq_first_from_i64(const int64_t *values, size_t low, size_t high, int64_t least)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The bits of doubles are in order as integers once those of negative ones are turned round; the
 * same step turns them back. */
static void turn_negative(word *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] ^= values[i] < 0 ? INT64_MAX : 0;
    }
}

void inq_sort_double(double *values, size_t n)
{
    /* cppcheck-suppress invalidPointerCast */
    word *bits = (word *)values;
    turn_negative(bits, n);
    sort_words(bits, n);
    turn_negative(bits, n);
}

void inq_select_double(double *values, size_t n, size_t at)
{
    /* cppcheck-suppress invalidPointerCast */
    word *bits = (word *)values;
    turn_negative(bits, n);
    select_words(bits, n, at);
    turn_negative(bits, n);
}
