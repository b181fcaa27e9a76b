/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/partners.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <stdlib.h>

/* Ends of one transfer agree this well: both wait for the last byte, and clocks are fitted to a few
 * microseconds. */
static const int64_t SAME_END_NS = 50000;
/* No more transfers than this end together; more are not looked through. */
enum { MAX_TOGETHER = 64 };
/* Two sides that have several transfers at once pair the nearest first. */
enum { MAX_ROUNDS = 8 };
/* A side ends this part of its transfers with each of its partners: a stage has two, and either may
 * have other work more often. Replicas end theirs together by chance, more rarely. */
enum { PARTNER_PART = 4 };
/* By how much later one side ends than the other varies by less than a microsecond between
 * partners, who leave one transfer together, and by as much as kernels vary between their replicas
 * and the other ranks of their tensor groups: who varies more than this many times as much as the
 * steadiest is none of theirs. */
enum { STEADY_FACTOR = 6 };
/* Times in whole microseconds differ by one without telling anything. */
static const int64_t STEADY_NS = 1000;
/* Differences that are kept of a pair, the fewest that tell how they vary, and which part
 * and how many at least are measured. */
enum { SAMPLES = 32, LEAST_SAMPLES = 4, PART = 3, LEAST_PART = 3 };
/* Of more transfers than this a part is looked at, and of more pairs these. */
enum { MOST_LOOKED_AT = 1 << 16, MOST_PAIRS = 1 << 20 };

/* Two sides that ended transfers together. */
struct pair {
    uint32_t low, high; /* the sides */
    uint32_t n;         /* how often, seen from either */
    uint32_t n_samples;
    int32_t ns[SAMPLES]; /* by how much later the higher one ended, the first times */
    int64_t varies_ns;   /* the steadiest third of them; -1: too few */
    int64_t usual_ns; /* the middle of that third: what their clocks still differ by; 0: unknown */
    bool partners;
};

struct pairing {
    struct inq_exchange *all;
    size_t n;
    const struct inq_partner_rules *rules; /* NULL: none */
    struct inq_map pair_of;                /* by sides */
    struct pair *pairs;
    size_t n_pairs, cap_pairs;
    uint32_t *seen_at;  /* [n_sides] exchange + 1 that was last compared with the side */
    uint32_t *most;     /* [n_sides] with the one that it ended together with most often */
    int64_t *steadiest; /* [n_sides] of those that it often ended together with; -1: not known */
    uint32_t *wish;     /* [n] */
};

static int compare_exchanges(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_exchange *x = a;
    const struct inq_exchange *y = b;
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return x->side < y->side ? -1 : x->side > y->side;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* ---- who ends together ----------------------------------------------------------------------- */

/* The exchanges around one, nearest end first. */
struct walk {
    const struct inq_exchange *all;
    size_t n, at, below, above; /* the next ones to look at: below - 1, above */
    size_t left;
};

static struct walk walk_from(const struct inq_exchange *all, size_t n, size_t at)
{
    return (struct walk){all, n, at, at, at + 1, MAX_TOGETHER};
}

/* INQ_NONE at the end. */
static uint32_t walk_next(struct walk *w)
{
    int64_t end_ns = w->all[w->at].end_ns;
    int64_t below_ns = w->below > 0 ? end_ns - w->all[w->below - 1].end_ns : INT64_MAX;
    int64_t above_ns = w->above < w->n ? w->all[w->above].end_ns - end_ns : INT64_MAX;
    if (w->left == 0 || (below_ns > SAME_END_NS && above_ns > SAME_END_NS)) {
        return INQ_NONE;
    }
    w->left--;
    return (uint32_t)(below_ns < above_ns ? --w->below : w->above++);
}

/* Negative: they cannot be one transfer. */
static int64_t rules_against(const struct pairing *p, const struct inq_exchange *x,
                             const struct inq_exchange *y)
{
    if (x->side == y->side) {
        return -1;
    }
    return p->rules != NULL ? p->rules->against(p->rules->ctx, x, y) : 0;
}

static int note_together(struct pairing *p, const struct inq_exchange *x,
                         const struct inq_exchange *y, struct inq_err *err)
{
    uint64_t key = pair_key(x->side, y->side);
    uint32_t at = INQ_NONE;
    if (!inq_map_get(&p->pair_of, key, &at)) {
        if (p->n_pairs >= MOST_PAIRS) {
            return INQ_OK;
        }
        int code =
            inq_mem_grow(&p->pairs, &p->cap_pairs, p->n_pairs + 1, sizeof *p->pairs, INQ_NONE, err);
        if (code != INQ_OK) {
            return code;
        }
        at = (uint32_t)p->n_pairs++;
        p->pairs[at] = (struct pair){.low = x->side < y->side ? x->side : y->side,
                                     .high = x->side < y->side ? y->side : x->side,
                                     .varies_ns = -1};
        code = inq_map_put(&p->pair_of, key, at, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    struct pair *pair = &p->pairs[at];
    if (x->side == pair->low && pair->n_samples < SAMPLES) { /* else they are seen twice */
        pair->ns[pair->n_samples++] = (int32_t)(y->end_ns - x->end_ns);
    }
    pair->n++;
    return INQ_OK;
}

static int find_pairs(struct pairing *p, struct inq_err *err)
{
    size_t stride = p->n / MOST_LOOKED_AT + 1;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < p->n; i += stride) {
        struct walk walk = walk_from(p->all, p->n, i);
        p->seen_at[p->all[i].side] = (uint32_t)i + 1;
        for (uint32_t k = walk_next(&walk); code == INQ_OK && k != INQ_NONE; k = walk_next(&walk)) {
            if (p->seen_at[p->all[k].side] != i + 1 && /* the nearest of each side */
                rules_against(p, &p->all[i], &p->all[k]) >= 0) {
                p->seen_at[p->all[k].side] = (uint32_t)i + 1;
                code = note_together(p, &p->all[i], &p->all[k], err);
            }
        }
    }
    return code;
}

/* ---- which of them are partners -------------------------------------------------------------- */

/* The shortest interval that holds a third of the differences: most of them may be of transfers
 * that the two had with others at the same time. */
static void measure(struct pair *pair)
{
    int64_t ns[SAMPLES];
    size_t n = pair->n_samples;
    size_t part = n / PART > LEAST_PART ? n / PART : LEAST_PART;
    for (size_t k = 0; k < n; k++) {
        ns[k] = pair->ns[k];
    }
    inq_sort_i64(ns, n);
    for (size_t k = part - 1; n >= LEAST_SAMPLES && k < n; k++) {
        int64_t width_ns = ns[k] - ns[k + 1 - part];
        if (pair->varies_ns < 0 || width_ns < pair->varies_ns) {
            pair->varies_ns = width_ns;
            pair->usual_ns = ns[k] - width_ns / 2;
        }
    }
}

static bool is_often(const struct pairing *p, const struct pair *pair)
{
    return pair->n >= p->most[pair->low] / PARTNER_PART &&
           pair->n >= p->most[pair->high] / PARTNER_PART;
}

static void keep_least(int64_t *least_ns, int64_t ns)
{
    *least_ns = *least_ns < 0 || ns < *least_ns ? ns : *least_ns;
}

static bool is_steady(const struct pairing *p, const struct pair *pair, uint32_t side)
{
    int64_t least_ns = p->steadiest[side];
    if (least_ns < 0 || pair->varies_ns < 0) {
        return least_ns < 0;
    }
    return pair->varies_ns <= STEADY_NS || pair->varies_ns <= STEADY_FACTOR * least_ns;
}

static void find_partners(struct pairing *p)
{
    for (size_t k = 0; k < p->n_pairs; k++) {
        const struct pair *pair = &p->pairs[k];
        p->most[pair->low] = pair->n > p->most[pair->low] ? pair->n : p->most[pair->low];
        p->most[pair->high] = pair->n > p->most[pair->high] ? pair->n : p->most[pair->high];
    }
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        measure(pair);
        if (pair->varies_ns >= 0 && is_often(p, pair)) {
            keep_least(&p->steadiest[pair->low], pair->varies_ns);
            keep_least(&p->steadiest[pair->high], pair->varies_ns);
        }
    }
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        pair->partners =
            is_often(p, pair) && is_steady(p, pair, pair->low) && is_steady(p, pair, pair->high);
    }
}

/* ---- which transfers ------------------------------------------------------------------------- */

/* How far an exchange's end is from another's of a partner, but for what the two usually differ by;
 * by how much those vary, and what else speaks against it, more. INT64_MAX: of none. */
static int64_t distance(const struct pairing *p, const struct inq_exchange *x,
                        const struct inq_exchange *y)
{
    uint32_t at = INQ_NONE;
    int64_t against_ns = rules_against(p, x, y);
    if (against_ns < 0 || !inq_map_get(&p->pair_of, pair_key(x->side, y->side), &at) ||
        !p->pairs[at].partners) {
        return INT64_MAX;
    }
    const struct pair *pair = &p->pairs[at];
    int64_t later_ns = x->side == pair->low ? y->end_ns - x->end_ns : x->end_ns - y->end_ns;
    return llabs(later_ns - pair->usual_ns) + (pair->varies_ns > 0 ? pair->varies_ns : 0) +
           against_ns;
}

/* Of those that ended together with `i` and are free, the nearest of a partner. */
static uint32_t likeliest(const struct pairing *p, size_t i)
{
    struct walk walk = walk_from(p->all, p->n, i);
    uint32_t best = INQ_NONE;
    int64_t least_ns = INT64_MAX;
    for (uint32_t k = walk_next(&walk); k != INQ_NONE; k = walk_next(&walk)) {
        int64_t ns =
            p->all[k].partner == INQ_NONE ? distance(p, &p->all[i], &p->all[k]) : INT64_MAX;
        if (ns < least_ns) {
            best = k;
            least_ns = ns;
        }
    }
    return best;
}

/* Pairs those that are each other's likeliest; how many more are paired. */
static size_t pair_round(struct pairing *p)
{
    struct inq_exchange *all = p->all;
    const uint32_t *wish = p->wish;
    size_t paired = 0;
    for (size_t i = 0; i < p->n; i++) {
        p->wish[i] = all[i].partner == INQ_NONE ? likeliest(p, i) : INQ_NONE;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (wish[i] != INQ_NONE && wish[i] > i && wish[wish[i]] == i) {
            all[i].partner = wish[i];
            all[wish[i]].partner = (uint32_t)i;
            paired += 2;
        }
    }
    return paired;
}

static int pairing_init(struct pairing *p, size_t n_sides, struct inq_err *err)
{
    p->wish = inq_mem_alloc((p->n + 1) * sizeof *p->wish);
    p->most = inq_mem_zalloc(n_sides + 1, sizeof *p->most);
    p->seen_at = inq_mem_zalloc(n_sides + 1, sizeof *p->seen_at);
    p->steadiest = inq_mem_alloc((n_sides + 1) * sizeof *p->steadiest);
    if (p->wish == NULL || p->most == NULL || p->seen_at == NULL || p->steadiest == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu exchanges", p->n);
    }
    for (size_t s = 0; s < n_sides; s++) {
        p->steadiest[s] = -1;
    }
    return inq_sort(p->all, p->n, sizeof *p->all, compare_exchanges, NULL, err);
}

static void pairing_release(struct pairing *p)
{
    inq_map_release(&p->pair_of);
    inq_mem_free(p->pairs);
    inq_mem_free(p->wish);
    inq_mem_free(p->most);
    inq_mem_free(p->seen_at);
    inq_mem_free(p->steadiest);
}

int inq_partners_find(struct inq_exchange *all, size_t n, const struct inq_partner_rules *rules,
                      size_t *n_paired, struct inq_err *err)
{
    struct pairing p = {.all = all, .n = n, .rules = rules};
    size_t n_sides = 0;
    for (size_t i = 0; i < n; i++) {
        all[i].partner = INQ_NONE;
        n_sides = all[i].side >= n_sides ? (size_t)all[i].side + 1 : n_sides;
    }
    *n_paired = 0;
    int code = pairing_init(&p, n_sides, err);
    if (code == INQ_OK) {
        code = find_pairs(&p, err);
    }
    bool more = code == INQ_OK;
    if (more) {
        find_partners(&p);
    }
    for (int round = 0; more && round < MAX_ROUNDS; round++) {
        size_t paired = pair_round(&p);
        more = paired > 0;
        *n_paired += paired;
    }
    pairing_release(&p);
    return code;
}
