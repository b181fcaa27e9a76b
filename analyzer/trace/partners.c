/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/partners.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

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
/* Differences that are kept of a pair, the fewest that tell how they vary, which part and how many
 * at least are measured, and the fewest of which half and half tell how clocks drift. */
enum { SAMPLES = 32, LEAST_SAMPLES = 4, PART = 3, LEAST_PART = 3, LEAST_DRIFT = 8 };
/* Who is partners with whom changes who is paired, and the other way round; it rests after two or
 * three times. */
enum { MAX_PASSES = 8 };
/* Of more transfers than this a part is looked at, and of more pairs these. */
enum { MOST_LOOKED_AT = 1 << 16, MOST_PAIRS = 1 << 20 };

/* By how much later the higher side of a pair ended than the lower one. */
struct difference {
    uint32_t at; /* index of the one exchange */
    int32_t later_ns;
};

/* Two sides that ended transfers together. */
struct pair {
    uint32_t low, high; /* the sides */
    uint32_t n;         /* how often they ended together, seen from either */
    uint32_t n_paired;  /* how often they were paired; before, how often they ended together, seen
                           from the lower one */
    uint32_t n_samples;
    struct difference samples[SAMPLES]; /* of those that were paired; before, of all */
    int64_t varies_ns;                  /* the steadiest third of them; -1: too few */
    int64_t usual_ns;                   /* the middle of that third, at from_ns: what their clocks
                                           still differ by; 0: unknown */
    int64_t from_ns;
    double drift; /* by how much more they differ later, in ns per ns */
    bool often;
    bool partners;
};

/* A side's exchanges. */
struct presence {
    uint32_t n;
    int64_t first_ns, last_ns;
};

struct pairing {
    struct inq_exchange *all;
    size_t n, n_sides;
    const struct inq_partner_rules *rules; /* NULL: none */
    struct inq_map pair_of;                /* by sides */
    struct pair *pairs;
    size_t n_pairs, cap_pairs;
    struct presence *sides; /* [n_sides] */
    uint32_t *seen_at;      /* [n_sides] exchange + 1 that was last compared with the side */
    uint32_t *most;         /* [n_sides] with the one that it ended together with most often */
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

/* Keeps the difference of every so manyth transfer, the more there are, so that all of the time is
 * seen; there were `n` before. */
static void sample(struct pair *pair, uint32_t n, uint32_t at, int64_t later_ns)
{
    uint32_t stride = 1;
    while (n / stride >= SAMPLES) {
        stride *= 2;
    }
    if (n % stride != 0) {
        return;
    }
    if (pair->n_samples == SAMPLES) {
        for (uint32_t k = 0; k < SAMPLES / 2; k++) {
            pair->samples[k] = pair->samples[2 * (size_t)k];
        }
        pair->n_samples = SAMPLES / 2;
    }
    pair->samples[pair->n_samples++] = (struct difference){at, (int32_t)later_ns};
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
    if (x->side == pair->low) { /* else they are seen twice */
        sample(pair, pair->n_paired++, (uint32_t)(x - p->all), y->end_ns - x->end_ns);
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

/* From the middle of the first half of the differences to that of the second. */
static void fit_drift(const struct pairing *p, struct pair *pair)
{
    int64_t ns[2][SAMPLES / 2];
    uint32_t half = pair->n_samples / 2;
    uint32_t middle = half / 2;
    const struct difference *late = &pair->samples[pair->n_samples - half];
    pair->drift = 0.0;
    if (pair->n_samples < LEAST_DRIFT) {
        return;
    }
    for (uint32_t k = 0; k < half; k++) {
        ns[0][k] = pair->samples[k].later_ns;
        ns[1][k] = late[k].later_ns;
    }
    inq_sort_i64(ns[0], half);
    inq_sort_i64(ns[1], half);
    int64_t from_ns = p->all[pair->samples[middle].at].end_ns;
    int64_t to_ns = p->all[late[middle].at].end_ns;
    if (to_ns > from_ns) {
        int64_t more_ns = ns[1][middle] - ns[0][middle];
        pair->drift = (double)more_ns / (double)(to_ns - from_ns);
        pair->from_ns = from_ns;
    }
}

static int64_t drifted(const struct pair *pair, int64_t end_ns)
{
    return (int64_t)(pair->drift * (double)(end_ns - pair->from_ns));
}

/* The shortest interval that holds a third of the differences, but for their drift: most of them
 * may be of transfers that the two had with others at the same time. */
static void measure(const struct pairing *p, struct pair *pair)
{
    int64_t ns[SAMPLES];
    size_t n = pair->n_samples;
    size_t part = n / PART > LEAST_PART ? n / PART : LEAST_PART;
    for (size_t k = 0; k < n; k++) {
        ns[k] = pair->samples[k].later_ns - drifted(pair, p->all[pair->samples[k].at].end_ns);
    }
    inq_sort_i64(ns, n);
    pair->varies_ns = n >= LEAST_SAMPLES ? INT64_MAX : pair->varies_ns;
    for (size_t k = part - 1; n >= LEAST_SAMPLES && k < n; k++) {
        int64_t width_ns = ns[k] - ns[k + 1 - part];
        if (width_ns < pair->varies_ns) {
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
        fit_drift(p, pair);
        measure(p, pair);
        if (pair->varies_ns >= 0 && is_often(p, pair)) {
            keep_least(&p->steadiest[pair->low], pair->varies_ns);
            keep_least(&p->steadiest[pair->high], pair->varies_ns);
        }
    }
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        pair->n_paired = 0;
        pair->often = is_often(p, pair);
        pair->partners =
            pair->often && is_steady(p, pair, pair->low) && is_steady(p, pair, pair->high);
    }
}

/* ---- which transfers ------------------------------------------------------------------------- */

/* How many times as often either was paired with another, in powers of two. */
static int64_t how_rare(const struct pairing *p, const struct pair *pair)
{
    uint32_t most =
        p->most[pair->low] > p->most[pair->high] ? p->most[pair->low] : p->most[pair->high];
    int64_t n = 0;
    for (; pair->n_paired > 0 && most > pair->n_paired; most /= 2) {
        n++;
    }
    return n;
}

/* How far an exchange's end is from another's of a partner, but for what the two usually differ by;
 * by how much those vary, once more for each time that another partner is twice as usual, and what
 * else speaks against it, more. INT64_MAX: of none. */
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
    int64_t varies_ns = pair->varies_ns > 0 ? pair->varies_ns : 0;
    int64_t rare_ns = how_rare(p, pair) * (varies_ns > STEADY_NS ? varies_ns : STEADY_NS);
    return llabs(later_ns - pair->usual_ns - drifted(pair, x->end_ns)) + varies_ns + rare_ns +
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

static void pair_all(struct pairing *p)
{
    bool more = true;
    for (size_t i = 0; i < p->n; i++) {
        p->all[i].partner = INQ_NONE;
    }
    for (int round = 0; more && round < MAX_ROUNDS; round++) {
        more = pair_round(p) > 0;
    }
}

/* ---- what that says of the partners ---------------------------------------------------------- */

static struct pair *pair_of(const struct pairing *p, uint32_t i)
{
    uint32_t at = 0; /* there is one of all that are paired */
    (void)inq_map_get(&p->pair_of, pair_key(p->all[i].side, p->all[p->all[i].partner].side), &at);
    return &p->pairs[at];
}

/* Counts and measures what is paired. Whether it is not what it was before. */
static bool count_paired(struct pairing *p, uint32_t *before)
{
    bool changed = false;
    memset(p->most, 0, p->n_sides * sizeof *p->most);
    for (size_t k = 0; k < p->n_pairs; k++) {
        before[k] = p->pairs[k].n_paired;
        p->pairs[k].n_paired = 0;
        p->pairs[k].n_samples = 0;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->all[i].partner != INQ_NONE && p->all[i].partner > i) {
            struct pair *pair = pair_of(p, i);
            int64_t later_ns = p->all[p->all[i].partner].end_ns - p->all[i].end_ns;
            sample(pair, pair->n_paired++, i, p->all[i].side == pair->low ? later_ns : -later_ns);
        }
    }
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        uint32_t n = pair->n_paired;
        fit_drift(p, pair);
        measure(p, pair);
        p->most[pair->low] = n > p->most[pair->low] ? n : p->most[pair->low];
        p->most[pair->high] = n > p->most[pair->high] ? n : p->most[pair->high];
        changed = changed || n != before[k];
    }
    return changed;
}

/* Who is paired more rarely than partners are: than either with another, or than it could be, as
 * much as the other was recorded meanwhile. */
static bool is_rare(const struct pairing *p, const struct pair *pair, uint32_t side)
{
    const struct presence *own = &p->sides[side];
    const struct presence *other = &p->sides[side == pair->low ? pair->high : pair->low];
    int64_t from_ns = own->first_ns > other->first_ns ? own->first_ns : other->first_ns;
    int64_t to_ns = own->last_ns < other->last_ns ? own->last_ns : other->last_ns;
    int64_t span_ns = own->last_ns - own->first_ns;
    double part =
        span_ns > 0 && to_ns > from_ns ? (double)(to_ns - from_ns) / (double)span_ns : 0.0;
    return pair->n_paired < p->most[side] / PARTNER_PART ||
           (double)pair->n_paired * PARTNER_PART < part * own->n;
}

/* How much partners vary, the middle of all that are paired; -1: not known. */
static int64_t usually_varies(const struct pairing *p, int64_t *varies_ns)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->all[i].partner != INQ_NONE && p->all[i].partner > i) {
            varies_ns[n] = pair_of(p, i)->varies_ns;
            n += varies_ns[n] >= 0;
        }
    }
    inq_sort_i64(varies_ns, n);
    return n > 0 ? varies_ns[n / 2] : -1;
}

/* Those who were paired rarely are no partners, nor those who vary more than partners do in this
 * run: ranks whose partners were not recorded end beside others by chance. */
static void narrow_partners(struct pairing *p, int64_t usual_ns)
{
    int64_t most_ns = STEADY_FACTOR * (usual_ns > STEADY_NS ? usual_ns : STEADY_NS);
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        bool steady = usual_ns < 0 || pair->varies_ns <= most_ns;
        pair->partners = pair->partners && steady && !is_rare(p, pair, pair->low) &&
                         !is_rare(p, pair, pair->high);
    }
}

/* Pairs all, and again with what that says of who is partners with whom, until it rests: a pair
 * that ended together by chance is seldom, and its two have others. */
static int settle(struct pairing *p, struct inq_err *err)
{
    int64_t *varies_ns = inq_mem_alloc((p->n + 1) * sizeof *varies_ns);
    uint32_t *before = inq_mem_alloc((p->n_pairs + 1) * sizeof *before);
    bool more = varies_ns != NULL && before != NULL;
    int code = more ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for partners");
    for (int pass = 0; more && pass < MAX_PASSES; pass++) {
        pair_all(p);
        more = count_paired(p, before);
        if (more) {
            narrow_partners(p, usually_varies(p, varies_ns));
        }
    }
    inq_mem_free(varies_ns);
    inq_mem_free(before);
    return code;
}

/* Where clocks still drift, true partners vary more than others until that is allowed for: those
 * who have nobody try again. Whether there are any. */
static bool try_lonely(struct pairing *p)
{
    bool any = false;
    for (size_t k = 0; k < p->n_pairs; k++) {
        struct pair *pair = &p->pairs[k];
        bool lonely = p->most[pair->low] == 0 && p->most[pair->high] == 0;
        any = any || (pair->often && lonely && !pair->partners);
        pair->partners = pair->partners || (pair->often && lonely);
    }
    return any;
}

/* ---- who is left ----------------------------------------------------------------------------- */

/* The free one that ended together with `i` and is the nearest of a partner, where `i` leaves its
 * own; *ns: how near. */
static uint32_t nearest_free(const struct pairing *p, uint32_t i, uint32_t but, int64_t *ns)
{
    struct walk walk = walk_from(p->all, p->n, i);
    uint32_t best = INQ_NONE;
    *ns = INT64_MAX;
    for (uint32_t k = walk_next(&walk); k != INQ_NONE; k = walk_next(&walk)) {
        int64_t own_ns = k != but && p->all[k].partner == INQ_NONE
                             ? distance(p, &p->all[i], &p->all[k])
                             : INT64_MAX;
        best = own_ns < *ns ? k : best;
        *ns = own_ns < *ns ? own_ns : *ns;
    }
    return best;
}

/* Two transfers that ended together may have left two ends alone that have no other: those who took
 * each other part for them. */
static void part_for(struct pairing *p, uint32_t i)
{
    struct walk walk = walk_from(p->all, p->n, i);
    uint32_t best = INQ_NONE;
    uint32_t best_free = INQ_NONE;
    int64_t least_ns = INT64_MAX;
    for (uint32_t k = walk_next(&walk); k != INQ_NONE; k = walk_next(&walk)) {
        int64_t ns = distance(p, &p->all[i], &p->all[k]);
        if (p->all[k].partner == INQ_NONE || ns == INT64_MAX) {
            continue;
        }
        int64_t other_ns;
        uint32_t found = nearest_free(p, p->all[k].partner, i, &other_ns);
        if (found != INQ_NONE && ns + other_ns < least_ns) {
            best = k;
            best_free = found;
            least_ns = ns + other_ns;
        }
    }
    if (best != INQ_NONE) {
        uint32_t left = p->all[best].partner;
        p->all[left].partner = best_free;
        p->all[best_free].partner = left;
        p->all[best].partner = i;
        p->all[i].partner = best;
    }
}

static void part_for_all(struct pairing *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->all[i].partner == INQ_NONE) {
            part_for(p, i);
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int pairing_init(struct pairing *p, size_t n_sides, struct inq_err *err)
{
    p->wish = inq_mem_alloc((p->n + 1) * sizeof *p->wish);
    p->sides = inq_mem_zalloc(n_sides + 1, sizeof *p->sides);
    p->most = inq_mem_zalloc(n_sides + 1, sizeof *p->most);
    p->seen_at = inq_mem_zalloc(n_sides + 1, sizeof *p->seen_at);
    p->steadiest = inq_mem_alloc((n_sides + 1) * sizeof *p->steadiest);
    if (p->wish == NULL || p->sides == NULL || p->most == NULL || p->seen_at == NULL ||
        p->steadiest == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu exchanges", p->n);
    }
    for (size_t s = 0; s < n_sides; s++) {
        p->steadiest[s] = -1;
    }
    int code = inq_sort(p->all, p->n, sizeof *p->all, compare_exchanges, NULL, err);
    for (size_t i = 0; code == INQ_OK && i < p->n; i++) {
        struct presence *side = &p->sides[p->all[i].side];
        side->first_ns = side->n == 0 ? p->all[i].end_ns : side->first_ns;
        side->last_ns = p->all[i].end_ns;
        side->n++;
    }
    return code;
}

static void pairing_release(struct pairing *p)
{
    inq_map_release(&p->pair_of);
    inq_mem_free(p->pairs);
    inq_mem_free(p->wish);
    inq_mem_free(p->sides);
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
    p.n_sides = n_sides;
    int code = pairing_init(&p, n_sides, err);
    if (code == INQ_OK) {
        code = find_pairs(&p, err);
    }
    if (code == INQ_OK) {
        find_partners(&p);
        code = settle(&p, err);
    }
    if (code == INQ_OK && try_lonely(&p)) {
        code = settle(&p, err);
    }
    if (code == INQ_OK) {
        part_for_all(&p);
    }
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        *n_paired += all[i].partner != INQ_NONE;
    }
    pairing_release(&p);
    return code;
}
