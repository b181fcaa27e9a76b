/* SPDX-License-Identifier: Apache-2.0 */
/* What the launches of a rank repeat. Every kernel that occurs at regular distances could mark a
 * period; the one sought is the shortest period that holds (nearly) everything that is ever
 * launched more than once, so that the layers inside of a step are none. A kernel that updates the
 * weights comes first: each step has it, however many micro-batches it has and whatever follows it
 * (an evaluation every so many steps, a result that is read). */
#include "trace/steps/steps.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/strtab.h"
#include "trace/trace.h"

#include <string.h>
#include <strings.h>

enum {
    MAX_LAUNCHES = 1 << 20, /* looked at, from the first on */
    MIN_PERIOD = 4,         /* launches; less is no step */
    LONG_PERIOD = 4         /* times the usual length: the host paused */
};
/* Distances may differ from the usual one by a tenth (and two launches), in a fifth of them more,
 * as long as those hold no more than a quarter of the launches: layers of one pass are regular but
 * for the other pass. A share of the kinds of launches may be missing from a period; fewer are
 * where the optimizer's are not in every micro-batch, so that is tried first. */
static const int64_t SLACK_PARTS = 10;
static const double REGULAR_SHARE = 0.8;
static const double REGULAR_LAUNCHES = 0.75;
static const double KINDS_SHARES[] = {0.9, 0.7};
enum { STRICT, LOOSE, N_SHARES };
static const double ALIKE_SHARE = 0.8;
/* What the usual period of an update does not hold at all (and is not once per evaluation) is at
 * most a tenth of all launches: updates of single layers lie in the backward pass only. */
static const double COVERED = 0.9;
/* Several kernels update the weights of one step; what is between them is no step. */
enum { BURST = 16 };

/* The launches of a rank in their order, each with its kind: what runs on the GPU, and for a
 * collective of which group and size. */
struct launches {
    size_t n;
    int64_t *time_ns; /* of the launch; of the GPU event where that is not known */
    uint32_t *kind;   /* [n] */
    size_t n_kinds;
    uint64_t *key;    /* [n_kinds] */
    uint32_t *count;  /* [n_kinds] */
    uint32_t *places; /* [n] launches of kind 0, of kind 1, ... in order */
    uint32_t *first;  /* [n_kinds + 1] into places */
    int64_t *scratch; /* [n] */
    bool *updates;    /* [n_kinds] the weights */
    enum inq_window_time time;
};

/* What one kind says as a marker. */
struct verdict {
    bool good;
    bool uneven;   /* an update's, and more comes behind some */
    int64_t usual; /* launches in a period */
};

/* Periods that begin `shift` launches before each marker. */
struct phase {
    int64_t shift;
    size_t first, n;  /* markers whose period begins within the recording: [first, first + n) */
    bool next;        /* one more begin, a usual period behind the last marker's */
    bool head, tail;  /* whether what lies before the first and behind the last begin is whole */
    size_t periods;   /* whole ones */
    int64_t pause_ns; /* usual time between the launch before a period and its first */
};

static void release(struct launches *l)
{
    inq_mem_free(l->time_ns);
    inq_mem_free(l->kind);
    inq_mem_free(l->key);
    inq_mem_free(l->count);
    inq_mem_free(l->places);
    inq_mem_free(l->first);
    inq_mem_free(l->scratch);
    inq_mem_free(l->updates);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_launched(const struct inq_events *e, size_t i)
{
    return e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
           e->kind[i] == INQ_EVENT_MEMSET;
}

static uint64_t key_of(const struct inq_rank *rank, size_t event)
{
    uint64_t key = inq_hash_u64(rank->events.name[event]);
    uint32_t row = rank->events.comm[event];
    if (row != INQ_NONE) {
        const struct inq_comm *comm = &rank->comms[row];
        key = inq_hash_u64(key ^ inq_hash_u64((uint64_t)comm->group << 8 | comm->kind));
        key = inq_hash_u64(key ^ inq_hash_u64((uint64_t)comm->in_elems));
    }
    return key != 0 ? key : 1;
}

/* Work on the GPU by start, then (stably) by launch: order[n]. */
static int order_launches(const struct inq_rank *rank, struct launches *l, uint32_t *order,
                          struct inq_err *err)
{
    const struct inq_events *e = &rank->events;
    uint32_t *events = inq_mem_alloc((e->n + 1) * sizeof *events);
    int64_t *keys = inq_mem_alloc((e->n + 1) * sizeof *keys);
    uint32_t *perm = inq_mem_alloc((e->n + 1) * sizeof *perm);
    int code = INQ_OK;
    if (events == NULL || keys == NULL || perm == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    size_t linked = 0;
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        if (is_launched(e, i)) {
            keys[l->n] = e->start_ns[i];
            events[l->n++] = (uint32_t)i;
            linked += e->call[i] != INQ_NONE;
        }
    }
    l->time = linked * 10 >= l->n * 9 ? INQ_WINDOW_HOST : INQ_WINDOW_GPU;
    if (code == INQ_OK) {
        code = inq_sort_order_i64(keys, l->n, perm, err);
    }
    size_t n = 0;
    for (size_t i = 0; i < l->n && code == INQ_OK; i++) {
        uint32_t event = events[perm[i]];
        if (l->time == INQ_WINDOW_GPU || e->call[event] != INQ_NONE) {
            order[n++] = event;
        }
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        bool host = l->time == INQ_WINDOW_HOST;
        keys[i] = host ? rank->calls.start_ns[e->call[order[i]]] : e->start_ns[order[i]];
    }
    if (code == INQ_OK) {
        code = inq_sort_order_i64(keys, n, perm, err);
    }
    l->n = n < MAX_LAUNCHES ? n : MAX_LAUNCHES;
    for (size_t i = 0; i < l->n && code == INQ_OK; i++) {
        events[i] = order[perm[i]];
        l->time_ns[i] = keys[perm[i]];
    }
    if (code == INQ_OK) {
        memcpy(order, events, l->n * sizeof *order);
    }
    inq_mem_free(events);
    inq_mem_free(keys);
    inq_mem_free(perm);
    return code;
}

/* An update of the weights that the backward pass does not do on its way. */
static bool ends_backward(const struct inq_trace *trace, const struct inq_rank *rank, size_t event)
{
    const char *name = inq_trace_str(trace, rank->events.name[event]);
    return rank->events.kind[event] == INQ_EVENT_KERNEL && inq_kernel_updates_weights(name) &&
           strcasestr(name, "backward") == NULL;
}

/* Of several launches of an update in a row the last is its mark. */
static void keep_last_of_bursts(struct launches *l, uint32_t kind)
{
    uint32_t *at = l->places + l->first[kind];
    size_t n = l->count[kind];
    for (size_t i = 0; i + 1 < n; i++) {
        l->scratch[i] = (int64_t)at[i + 1] - at[i];
    }
    if (n < 2 || inq_lower_median_i64(l->scratch, n - 1) >= MIN_PERIOD) {
        return;
    }
    uint32_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || at[i + 1] - at[i] > BURST) {
            at[kept++] = at[i];
        }
    }
    l->count[kind] = kept;
}

static int name_kinds(const struct inq_trace *trace, const struct inq_rank *rank,
                      struct launches *l, const uint32_t *order, struct inq_err *err)
{
    struct inq_map kinds = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < l->n && code == INQ_OK; i++) {
        uint64_t key = key_of(rank, order[i]);
        if (!inq_map_get(&kinds, key, &l->kind[i])) {
            l->kind[i] = (uint32_t)l->n_kinds;
            l->updates[l->n_kinds] = ends_backward(trace, rank, order[i]);
            l->key[l->n_kinds++] = key;
            code = inq_map_put(&kinds, key, l->kind[i], err);
        }
        l->count[l->kind[i]]++;
    }
    inq_map_release(&kinds);
    uint32_t at = 0;
    for (size_t k = 0; k < l->n_kinds; k++) {
        l->first[k] = at;
        at += l->count[k];
    }
    l->first[l->n_kinds] = at;
    for (size_t i = 0; i < l->n && code == INQ_OK; i++) {
        l->places[l->first[l->kind[i]]++] = (uint32_t)i;
    }
    for (uint32_t k = 0; k < l->n_kinds; k++) {
        l->first[k] -= l->count[k];
        if (l->updates[k]) {
            keep_last_of_bursts(l, k);
        }
    }
    return code;
}

static int read_launches(const struct inq_trace *trace, const struct inq_rank *rank,
                         struct launches *l, struct inq_err *err)
{
    size_t most = rank->events.n + 1;
    l->time_ns = inq_mem_alloc(most * sizeof *l->time_ns);
    l->kind = inq_mem_alloc(most * sizeof *l->kind);
    l->key = inq_mem_alloc(most * sizeof *l->key);
    l->count = inq_mem_zalloc(most, sizeof *l->count);
    l->places = inq_mem_alloc(most * sizeof *l->places);
    l->first = inq_mem_zalloc(most + 1, sizeof *l->first);
    l->scratch = inq_mem_alloc(most * sizeof *l->scratch);
    l->updates = inq_mem_zalloc(most, sizeof *l->updates);
    uint32_t *order = inq_mem_alloc(most * sizeof *order);
    int code = INQ_OK;
    if (l->time_ns == NULL || l->kind == NULL || l->key == NULL || l->count == NULL ||
        l->places == NULL || l->first == NULL || l->scratch == NULL || l->updates == NULL ||
        order == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    if (code == INQ_OK) {
        code = order_launches(rank, l, order, err);
    }
    if (code == INQ_OK) {
        code = name_kinds(trace, rank, l, order, err);
    }
    inq_mem_free(order);
    return code;
}

/* ---- judging a marker ------------------------------------------------------------------------ */

static const uint32_t *places_of(const struct launches *l, uint32_t kind)
{
    return l->places + l->first[kind];
}

/* Whether the marker's distances are alike, and what they usually are. */
static bool is_regular(struct launches *l, uint32_t kind, struct verdict *v)
{
    const uint32_t *at = places_of(l, kind);
    size_t n = l->count[kind] - 1;
    for (size_t i = 0; i < n; i++) {
        l->scratch[i] = (int64_t)at[i + 1] - at[i];
    }
    v->usual = inq_median_i64(l->scratch, n);
    size_t regular = 0;
    size_t launches = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t off = (int64_t)at[i + 1] - at[i] - v->usual;
        int64_t slack = v->usual / SLACK_PARTS + 2;
        bool usual = off <= slack && off >= -slack;
        regular += usual;
        launches += usual ? at[i + 1] - at[i] : 0;
    }
    return v->usual >= MIN_PERIOD && (double)regular >= REGULAR_SHARE * (double)n &&
           (double)launches >= REGULAR_LAUNCHES * (double)(at[n] - at[0]);
}

/* Whether most kinds occur often enough to be in every period. */
static bool holds_most_kinds(const struct launches *l, uint32_t kind, double share)
{
    size_t all = 0;
    size_t held = 0;
    for (size_t k = 0; k < l->n_kinds; k++) {
        bool repeated = l->count[k] >= 2;
        all += repeated;
        held += repeated && l->count[k] * 10 >= (l->count[kind] - 1) * 9;
    }
    return (double)held >= share * (double)all;
}

/* How alike the launches of two stretches are: common kinds, counted as often as they occur. */
static double likeness(const struct launches *l, const uint32_t *at, size_t i, int64_t *count)
{
    size_t common = 0;
    size_t n = 0;
    for (uint32_t p = at[i]; p < at[i + 1]; p++) {
        count[l->kind[p]]++;
        n++;
    }
    size_t other = at[i + 2] - at[i + 1];
    for (uint32_t p = at[i + 1]; p < at[i + 2]; p++) {
        if (count[l->kind[p]] > 0) {
            count[l->kind[p]]--;
            common++;
        }
    }
    for (uint32_t p = at[i]; p < at[i + 1]; p++) {
        count[l->kind[p]] = 0;
    }
    return 2.0 * (double)common / (double)(n + other);
}

static int are_alike(const struct launches *l, uint32_t kind, bool *alike, struct inq_err *err)
{
    const uint32_t *at = places_of(l, kind);
    size_t pairs = l->count[kind] - 2;
    int64_t *count = inq_mem_zalloc(l->n_kinds + 1, sizeof *count);
    double *like = inq_mem_alloc((pairs + 1) * sizeof *like);
    int code = count != NULL && like != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    for (size_t i = 0; i < pairs && code == INQ_OK; i++) {
        like[i] = likeness(l, at, i, count);
    }
    *alike = code == INQ_OK && pairs > 0 && inq_median(like, pairs) >= ALIKE_SHARE;
    inq_mem_free(count);
    inq_mem_free(like);
    return code;
}

static int by_count(const void *a, const void *b, void *ctx)
{
    const struct launches *l = ctx;
    uint32_t x = l->count[*(const uint32_t *)a];
    uint32_t y = l->count[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

static int check_marker(struct launches *l, uint32_t kind, double share, struct verdict *v,
                        struct inq_err *err)
{
    *v = (struct verdict){0};
    if (l->count[kind] < 3 || !holds_most_kinds(l, kind, share) || !is_regular(l, kind, v)) {
        return INQ_OK;
    }
    /* most of what was launched has to lie in whole periods */
    const uint32_t *at = places_of(l, kind);
    size_t n = l->count[kind];
    if ((at[n - 1] - at[0] + (size_t)v->usual) * 2 < l->n) {
        return INQ_OK;
    }
    return are_alike(l, kind, &v->good, err);
}

/* ---- an update of the weights as marker ------------------------------------------------------ */

/* The part of all launches that is of a kind which the period behind marker `i` holds too. */
static double coverage(const struct launches *l, const uint32_t *at, size_t i, bool *held)
{
    size_t covered = 0;
    for (uint32_t p = at[i]; p < at[i + 1]; p++) {
        uint32_t k = l->kind[p];
        covered += held[k] ? 0 : l->first[k + 1] - l->first[k];
        held[k] = true;
    }
    for (uint32_t p = at[i]; p < at[i + 1]; p++) {
        held[l->kind[p]] = false;
    }
    return (double)covered / (double)l->n;
}

/* Whether no period is shorter than usual, and the usual ones hold what there is. More may come
 * behind an update: at most after every other one. */
static int check_uneven(struct launches *l, uint32_t kind, struct verdict *v, struct inq_err *err)
{
    *v = (struct verdict){0};
    if (l->count[kind] < 3) {
        return INQ_OK;
    }
    const uint32_t *at = places_of(l, kind);
    size_t n = l->count[kind] - 1;
    for (size_t i = 0; i < n; i++) {
        l->scratch[i] = (int64_t)at[i + 1] - at[i];
    }
    v->usual = inq_lower_median_i64(l->scratch, n);
    bool *held = inq_mem_zalloc(l->n_kinds + 1, sizeof *held);
    double *covered = inq_mem_alloc((n + 1) * sizeof *covered);
    if (held == NULL || covered == NULL) {
        inq_mem_free(held);
        inq_mem_free(covered);
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    size_t usual = 0;
    size_t shorter = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t off = (int64_t)at[i + 1] - at[i] - v->usual;
        int64_t slack = v->usual / SLACK_PARTS + 2;
        shorter += off < -slack;
        v->uneven = v->uneven || off > slack;
        if (off <= slack && off >= -slack) {
            covered[usual++] = coverage(l, at, i, held);
        }
    }
    v->good = v->usual >= MIN_PERIOD && usual * 2 + 1 >= n &&
              (double)shorter <= (1 - REGULAR_SHARE) * (double)n &&
              inq_median(covered, usual) >= COVERED;
    inq_mem_free(held);
    inq_mem_free(covered);
    return INQ_OK;
}

/* Periods of which none has more than the others are judged as those of any marker. */
static int check_update(struct launches *l, uint32_t kind, struct verdict *v, struct inq_err *err)
{
    int code = check_uneven(l, kind, v, err);
    return code == INQ_OK && (!v->good || !v->uneven)
               ? check_marker(l, kind, KINDS_SHARES[LOOSE], v, err)
               : code;
}

/* The kinds from the most frequent on: the first that is good tells how many periods there are. */
static int choose(struct launches *l, uint32_t *marker, struct verdict *verdict,
                  struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc((l->n_kinds + 1) * sizeof *order);
    if (order == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    for (uint32_t k = 0; k < l->n_kinds; k++) {
        order[k] = k;
    }
    int code = inq_sort(order, l->n_kinds, sizeof *order, by_count, l, err);
    for (size_t i = 0; i < l->n_kinds && code == INQ_OK && !verdict->good; i++) {
        code = l->updates[order[i]] ? check_update(l, order[i], verdict, err) : INQ_OK;
        *marker = order[i];
    }
    for (int s = 0; s < N_SHARES; s++) {
        for (size_t i = 0; i < l->n_kinds && code == INQ_OK && !verdict->good; i++) {
            code = check_marker(l, order[i], KINDS_SHARES[s], verdict, err);
            *marker = order[i];
        }
    }
    inq_mem_free(order);
    return code;
}

/* The kind with this key, if it is there and good. */
static int try_marker(struct launches *l, uint64_t key, uint32_t *marker, struct verdict *v,
                      struct inq_err *err)
{
    for (uint32_t k = 0; k < l->n_kinds && key != 0; k++) {
        if (l->key[k] == key) {
            *marker = k;
            return l->updates[k] ? check_update(l, k, v, err)
                                 : check_marker(l, k, KINDS_SHARES[LOOSE], v, err);
        }
    }
    return INQ_OK;
}

/* ---- where periods begin --------------------------------------------------------------------- */

static bool is_whole(int64_t length, int64_t usual)
{
    return length * 10 >= usual * 9 && length * 10 <= usual * 12;
}

/* Whether nearly all periods of this phase begin with the same kind of launch. */
static bool begin_alike(const struct launches *l, const uint32_t *at, const struct phase *p)
{
    uint32_t kind = l->kind[(int64_t)at[p->first] - p->shift];
    size_t same = 0;
    for (size_t i = p->first; i < p->first + p->n; i++) {
        same += l->kind[(int64_t)at[i] - p->shift] == kind;
    }
    return same * 10 >= p->n * 9;
}

/* Fills a phase from its shift; false when there are no two begins, or unlike ones. */
static bool weigh_phase(struct launches *l, uint32_t marker, int64_t usual, struct phase *p)
{
    const uint32_t *at = places_of(l, marker);
    size_t n = l->count[marker];
    p->first = 0;
    while (p->first < n && (int64_t)at[p->first] < p->shift) {
        p->first++;
    }
    p->n = n - p->first;
    if (p->n < 2 || !begin_alike(l, at, p)) {
        return false;
    }
    int64_t begin = (int64_t)at[p->first] - p->shift;
    int64_t last = (int64_t)at[n - 1] - p->shift;
    p->next = last + usual < (int64_t)l->n && l->kind[last + usual] == l->kind[begin];
    last += p->next ? usual : 0;
    p->head = is_whole(begin, usual);
    p->tail = is_whole((int64_t)l->n - last, usual);
    p->periods = p->n - 1 + p->next + p->head + p->tail;
    size_t pauses = 0;
    for (size_t i = p->first; i < n; i++) {
        int64_t place = (int64_t)at[i] - p->shift;
        if (place > 0) {
            l->scratch[pauses++] = l->time_ns[place] - l->time_ns[place - 1];
        }
    }
    p->pause_ns = inq_median_i64(l->scratch, pauses);
    return true;
}

/* More whole periods first; then the begin after the longest pause: there the host begins anew. */
static bool is_better(const struct phase *a, const struct phase *b)
{
    return a->periods != b->periods ? a->periods > b->periods : a->pause_ns > b->pause_ns;
}

/* Copies that may lie between an update and the next step: of the loss, of what is logged. */
enum { MOST_COPIES = 4 };

/* Uneven periods begin behind an update, counted back from their own: what came before that, an
 * evaluation, ends the period before. The last one ends likewise: what comes behind the last update
 * may be a part of a step. */
static bool weigh_behind_update(struct launches *l, uint32_t marker, int64_t usual, struct phase *p)
{
    const uint32_t *at = places_of(l, marker);
    int64_t last = at[l->count[marker] - 1];
    if (!weigh_phase(l, marker, usual, p)) {
        return false;
    }
    p->next = last - p->shift + usual < (int64_t)l->n;
    p->tail = !p->next;
    p->periods = p->n - 1 + p->next + p->head + p->tail;
    return true;
}

/* The best phase; `wanted`, if it is one, before any other. */
static struct phase find_phase(struct launches *l, uint32_t marker, const struct verdict *verdict,
                               const int64_t *wanted)
{
    int64_t usual = verdict->usual;
    bool (*weigh)(struct launches *, uint32_t, int64_t, struct phase *) =
        verdict->uneven ? weigh_behind_update : weigh_phase;
    int64_t least = verdict->uneven && usual > MOST_COPIES ? usual - 1 - MOST_COPIES : 0;
    struct phase best = {0};
    if (wanted != NULL) {
        best.shift = *wanted;
        if (weigh(l, marker, usual, &best)) {
            return best;
        }
        best = (struct phase){0};
    }
    for (int64_t shift = least; shift < usual; shift++) {
        struct phase own = {.shift = shift};
        if (weigh(l, marker, usual, &own) && (best.n == 0 || is_better(&own, &best))) {
            best = own;
        }
    }
    return best;
}

static int write_periods(const struct launches *l, uint32_t marker, int64_t usual,
                         const struct phase *p, struct inq_repeats *repeats, struct inq_err *err)
{
    const uint32_t *at = places_of(l, marker);
    int code = inq_mem_grow(&repeats->begin_ns, &repeats->cap, p->n + 3, sizeof *repeats->begin_ns,
                            SIZE_MAX / 64, err);
    if (code != INQ_OK) {
        return code;
    }
    repeats->time = l->time;
    repeats->marker = l->key[marker];
    repeats->shift = p->shift;
    repeats->by_update = l->updates[marker];
    if (p->head) {
        repeats->begin_ns[repeats->n++] = l->time_ns[0];
    }
    int64_t place = 0;
    for (size_t i = p->first; i < p->first + p->n; i++) {
        place = (int64_t)at[i] - p->shift;
        repeats->begin_ns[repeats->n++] = l->time_ns[place];
    }
    if (p->next) {
        repeats->begin_ns[repeats->n++] = l->time_ns[place + usual];
    }
    if (p->tail) {
        repeats->begin_ns[repeats->n++] = l->time_ns[l->n - 1] + 1;
    }
    return INQ_OK;
}

/* ---- periods of periods ---------------------------------------------------------------------- */

/* The distance, in periods, of those after which the host pauses (they are many times as long as
 * the usual one), if it is always the same; *first: the first of these. 0: there is none. */
static size_t pause_distance(const struct inq_repeats *repeats, int64_t usual_ns, size_t *first)
{
    size_t distance = 0;
    size_t before = SIZE_MAX;
    for (size_t i = 0; i + 1 < repeats->n; i++) {
        if (repeats->begin_ns[i + 1] - repeats->begin_ns[i] <= LONG_PERIOD * usual_ns) {
            continue;
        }
        if (before == SIZE_MAX) {
            *first = i;
        } else if (distance == 0) {
            distance = i - before;
        } else if (distance != i - before) {
            return 0;
        }
        before = i;
    }
    return distance > 1 ? distance : 0;
}

/* Where the host pauses after every so many periods, all up to the pause are one: alike layers of a
 * step at whose end it waits for the GPU. */
static int merge_to_pauses(struct inq_repeats *repeats, struct inq_err *err)
{
    size_t n = repeats->n > 0 ? repeats->n - 1 : 0;
    int64_t *length_ns = inq_mem_alloc((n + 1) * sizeof *length_ns);
    if (length_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    for (size_t i = 0; i < n; i++) {
        length_ns[i] = repeats->begin_ns[i + 1] - repeats->begin_ns[i];
    }
    size_t first = 0;
    size_t distance = n > 2 ? pause_distance(repeats, inq_median_i64(length_ns, n), &first) : 0;
    inq_mem_free(length_ns);
    if (distance == 0) {
        return INQ_OK;
    }
    size_t kept = 0;
    for (size_t i = (first + 1) % distance; i < repeats->n; i += distance) {
        repeats->begin_ns[kept++] = repeats->begin_ns[i];
    }
    repeats->n = kept;
    return INQ_OK;
}

int inq_repeats_find(const struct inq_trace *trace, size_t rank, const struct inq_repeats *like,
                     struct inq_repeats *repeats, struct inq_err *err)
{
    struct launches l = {0};
    struct verdict verdict = {0};
    uint32_t marker = 0;
    int code = read_launches(trace, &trace->ranks[rank], &l, err);
    if (code == INQ_OK) {
        code = try_marker(&l, like->marker, &marker, &verdict, err);
    }
    const int64_t *wanted = verdict.good ? &like->shift : NULL;
    if (code == INQ_OK && !verdict.good) {
        code = choose(&l, &marker, &verdict, err);
    }
    if (code == INQ_OK && verdict.good) {
        struct phase phase = find_phase(&l, marker, &verdict, wanted);
        if (phase.n > 0) {
            code = write_periods(&l, marker, verdict.usual, &phase, repeats, err);
        }
        if (code == INQ_OK && !repeats->by_update) {
            code = merge_to_pauses(repeats, err);
        }
    }
    release(&l);
    return code;
}
