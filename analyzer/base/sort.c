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

void inq_select_i64(int64_t *values, size_t n, size_t at)
{
    select_words(values, n, at);
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

/* ---- the order of keys: runs ----------------------------------------------------------------- */

/* Keys of traces come in a few long runs, one for each buffer that the profiler wrote: the runs are
 * merged; keys without such an order are sorted by their digits. */

/* More runs than this are not worth merging: each doubling is a pass. */
enum { MAX_RUNS = 1024 };

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

/* ---- the order of keys: digits --------------------------------------------------------------- */

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

/* ---- the order of keys: either way ----------------------------------------------------------- */

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
