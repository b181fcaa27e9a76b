/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing a shard: sorted columns, kernels joined to their launches, communication kernels to what
 * is known of them. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "trace/trace.h"
#include "trace/build/outliers.h"
#include "trace/build/shard.h"

#include <string.h>

/* ---- reordering ------------------------------------------------------------------------------ */

/* column[i] = column[perm[i]] for `n` elements of `size` bytes, through `spare`. */
static void permute(void *column, size_t n, size_t size, const uint32_t *perm, void *spare)
{
    if (column == NULL) {
        return;
    }
    char *from = column;
    char *to = spare;
    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * size, from + (size_t)perm[i] * size, size);
    }
    memcpy(from, to, n * size);
}

static bool is_identity(const uint32_t *perm, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (perm[i] != i) {
            return false;
        }
    }
    return true;
}

static int by_length(const void *a, const void *b, void *ctx)
{
    const struct inq_events *e = ctx;
    int64_t x = e->dur_ns[*(const uint32_t *)a];
    int64_t y = e->dur_ns[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

static void permute_events(struct inq_events *e, const uint32_t *perm, void *spare)
{
    permute(e->start_ns, e->n, sizeof *e->start_ns, perm, spare);
    permute(e->dur_ns, e->n, sizeof *e->dur_ns, perm, spare);
    permute(e->name, e->n, sizeof *e->name, perm, spare);
    permute(e->lane, e->n, sizeof *e->lane, perm, spare);
    permute(e->call, e->n, sizeof *e->call, perm, spare);
    permute(e->comm, e->n, sizeof *e->comm, perm, spare);
    permute(e->label, e->n, sizeof *e->label, perm, spare);
    permute(e->launch, e->n, sizeof *e->launch, perm, spare);
    permute(e->kind, e->n, sizeof *e->kind, perm, spare);
    permute(e->cls, e->n, sizeof *e->cls, perm, spare);
}

static void permute_calls(struct inq_calls *c, const uint32_t *perm, void *spare)
{
    permute(c->start_ns, c->n, sizeof *c->start_ns, perm, spare);
    permute(c->dur_ns, c->n, sizeof *c->dur_ns, perm, spare);
    permute(c->name, c->n, sizeof *c->name, perm, spare);
    permute(c->lane, c->n, sizeof *c->lane, perm, spare);
    permute(c->correlation, c->n, sizeof *c->correlation, perm, spare);
}

/* Scratch for sorting one rank. */
struct scratch {
    uint32_t *perm;
    void *spare;
};

static int scratch_init(struct scratch *s, size_t n, struct inq_err *err)
{
    s->perm = inq_mem_alloc(n * sizeof *s->perm);
    s->spare = inq_mem_alloc(n * sizeof(int64_t));
    if (s->perm == NULL || s->spare == NULL) {
        inq_mem_free(s->perm);
        inq_mem_free(s->spare);
        return inq_err_set(err, INQ_NOMEM, "out of memory for sorting %zu rows", n);
    }
    return INQ_OK;
}

static void scratch_release(struct scratch *s)
{
    inq_mem_free(s->perm);
    inq_mem_free(s->spare);
}

/* by_start, stably by lane: to[n]. */
static int spread_over_lanes(const struct inq_rank *rank, const uint32_t *by_start, uint32_t *to,
                             struct inq_err *err)
{
    const struct inq_events *e = &rank->events;
    size_t *next = inq_mem_zalloc(rank->n_lanes + 1, sizeof *next);
    if (next == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu lanes", rank->n_lanes);
    }
    for (size_t i = 0; i < e->n; i++) {
        next[e->lane[i] + 1]++;
    }
    for (size_t l = 1; l < rank->n_lanes; l++) {
        next[l] += next[l - 1];
    }
    for (size_t i = 0; i < e->n; i++) {
        to[next[e->lane[by_start[i]]]++] = by_start[i];
    }
    inq_mem_free(next);
    return INQ_OK;
}

/* Longer ones first among those of one lane that start together. */
static int sort_ties(struct inq_events *e, uint32_t *perm, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t lo = 0, hi; lo < e->n && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < e->n && e->start_ns[perm[hi]] == e->start_ns[perm[lo]] &&
               e->lane[perm[hi]] == e->lane[perm[lo]]) {
            hi++;
        }
        code = inq_sort(perm + lo, hi - lo, sizeof *perm, by_length, e, err);
    }
    return code;
}

static int sort_events(struct inq_rank *rank, const struct scratch *s, struct inq_err *err)
{
    struct inq_events *e = &rank->events;
    uint32_t *by_start = s->spare; /* as wide as a time: room for indices */
    int code = inq_sort_order_i64(e->start_ns, e->n, by_start, err);
    if (code == INQ_OK) {
        code = spread_over_lanes(rank, by_start, s->perm, err);
    }
    if (code == INQ_OK) {
        code = sort_ties(e, s->perm, err);
    }
    if (code == INQ_OK && !is_identity(s->perm, e->n)) {
        permute_events(e, s->perm, s->spare);
    }
    return code;
}

/* Calls that start together, as those do that were recorded in whole microseconds: one of no length
 * was over when the other began (a launch before the synchronize that waits for it). Among the rest
 * the file's order stays: longer ones are not first because they hold the others, for no call lies
 * within one that waits for the GPU. */
static int empty_first(const void *a, const void *b, void *ctx)
{
    const struct inq_calls *c = ctx;
    bool x = c->dur_ns[*(const uint32_t *)a] > 0;
    bool y = c->dur_ns[*(const uint32_t *)b] > 0;
    return (x > y) - (x < y);
}

static int sort_call_ties(struct inq_calls *c, uint32_t *perm, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t lo = 0, hi; lo < c->n && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < c->n && c->start_ns[perm[hi]] == c->start_ns[perm[lo]]) {
            hi++;
        }
        if (hi - lo > 1) {
            code = inq_sort(perm + lo, hi - lo, sizeof *perm, empty_first, c, err);
        }
    }
    return code;
}

static int sort_calls(struct inq_calls *c, const struct scratch *s, struct inq_err *err)
{
    int code = inq_sort_order_i64(c->start_ns, c->n, s->perm, err);
    if (code == INQ_OK) {
        code = sort_call_ties(c, s->perm, err);
    }
    if (code == INQ_OK && !is_identity(s->perm, c->n)) {
        permute_calls(c, s->perm, s->spare);
    }
    return code;
}

static int compare_notes(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_note *x = a;
    const struct inq_note *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->dur_ns != y->dur_ns) {
        return x->dur_ns > y->dur_ns ? -1 : 1;
    }
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The calls by (correlation id, start): order[n]. */
static int order_calls(const struct inq_calls *c, uint32_t *order, struct inq_err *err)
{
    int64_t *ids = inq_mem_alloc((c->n + 1) * sizeof *ids);
    if (ids == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for launches");
    }
    for (size_t i = 0; i < c->n; i++) {
        ids[i] = (uint32_t)c->correlation[i];
    }
    int code = inq_sort_order_i64(ids, c->n, order, err); /* stable: by start within an id */
    inq_mem_free(ids);
    return code;
}

static bool comes_after(const struct inq_calls *c, uint32_t call, uint32_t id, int64_t start_ns)
{
    uint32_t own = (uint32_t)c->correlation[call];
    return own > id || (own == id && c->start_ns[call] > start_ns);
}

/* Number of calls that come before (id, start_ns], id included where it starts no later; sought
 * outwards from `near`, since what runs one after the other was mostly launched so. */
static size_t calls_up_to(const struct inq_calls *c, const uint32_t *order, uint32_t id,
                          int64_t start_ns, size_t near)
{
    size_t low = near;
    size_t high = near;
    for (size_t step = 1; low > 0 && comes_after(c, order[low - 1], id, start_ns); step *= 2) {
        high = low - 1;
        low -= step < low ? step : low;
    }
    for (size_t step = 1; high < c->n && !comes_after(c, order[high], id, start_ns); step *= 2) {
        low = high + 1;
        high += step < c->n - high ? step : c->n - high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (comes_after(c, order[middle], id, start_ns)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The call with this id. An id can repeat: of those that start before the event the latest, else
 * the first. *near, where to begin, gets its place in the order. */
static uint32_t find_call(const struct inq_calls *c, const uint32_t *order, uint32_t id,
                          int64_t start_ns, size_t *near)
{
    if (id == 0) {
        return INQ_NONE; /* what calls that launch nothing have */
    }
    size_t at = calls_up_to(c, order, id, start_ns, *near);
    *near = at;
    if (at > 0 && (uint32_t)c->correlation[order[at - 1]] == id) {
        return order[at - 1];
    }
    bool later = at < c->n && (uint32_t)c->correlation[order[at]] == id;
    return later ? order[at] : INQ_NONE;
}

/* Turns correlation ids (32 bits in the event) into call indices. */
static int join_calls(struct inq_rank *rank, struct inq_damage *damage, struct inq_err *err)
{
    struct inq_calls *c = &rank->calls;
    struct inq_events *e = &rank->events;
    uint32_t *order = inq_mem_alloc((c->n + 1) * sizeof *order);
    int code = order != NULL ? order_calls(c, order, err)
                             : inq_err_set(err, INQ_NOMEM, "out of memory for launches");
    size_t near = 0;
    for (size_t i = 0; code == INQ_OK && i < e->n; i++) {
        uint32_t id = e->call[i];
        e->call[i] = id != INQ_NONE ? find_call(c, order, id, e->start_ns[i], &near) : INQ_NONE;
        bool lost = id != INQ_NONE && e->call[i] == INQ_NONE && c->n > 0;
        if (lost && e->kind[i] != INQ_EVENT_SYNC) {
            inq_damage_add(damage, INQ_DAMAGE_NO_LAUNCH, 1, 0);
        }
    }
    inq_mem_free(order);
    return code;
}

/* ---- communication --------------------------------------------------------------------------- */

/* Records of record_param_comms, by external id, that no kernel refers to itself. */
static int index_records(const struct inq_rank *rank, struct inq_map *records, struct inq_err *err)
{
    uint8_t *of_kernel = inq_mem_zalloc(rank->n_comms, 1);
    if (of_kernel == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for communication records");
    }
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.comm[i] != INQ_NONE) {
            of_kernel[rank->events.comm[i]] = 1;
        }
    }
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n_comms; i++) {
        if (!of_kernel[i] && rank->comms[i].external_id > 0) {
            code = inq_map_put(records, (uint64_t)rank->comms[i].external_id, (uint32_t)i, err);
        }
    }
    inq_mem_free(of_kernel);
    return code;
}

static enum inq_coll_kind kind_of_name(const struct inq_shard *shard, inq_str name)
{
    return inq_coll_from_name(inq_strtab_get(&shard->names, name),
                              inq_strtab_len(&shard->names, name));
}

/* Number of notes that start no later than `at_ns`. */
static size_t notes_up_to(const struct inq_rank *rank, int64_t at_ns)
{
    size_t low = 0;
    size_t high = rank->n_notes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rank->notes[middle].start_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The innermost annotation of communication that was open at a time on a lane (the launching
 * thread's, or the stream's own), and that names a collective where `named`; or NULL. */
static const struct inq_note *enclosing_note(const struct inq_shard *shard,
                                             const struct inq_rank *rank, int64_t at_ns,
                                             uint32_t lane, bool named)
{
    enum { LOOK_BACK = 64 }; /* notes nest shallowly; an older open one is not the innermost */
    size_t low = notes_up_to(rank, at_ns);
    for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) {
        const struct inq_note *note = &rank->notes[i - 1];
        if (note->kind == INQ_NOTE_COMM && note->lane == lane &&
            note->start_ns + note->dur_ns >= at_ns &&
            (!named || kind_of_name(shard, note->name) != INQ_COLL_UNKNOWN)) {
            return note;
        }
    }
    return NULL;
}

/* What a kernel's surroundings say of it: its recorded op, the annotation it was launched under,
 * its own name, in this order. */
static void describe(const struct inq_shard *shard, const struct inq_rank *rank, size_t event,
                     const struct inq_map *records, struct inq_comm *comm)
{
    uint32_t record = INQ_NONE;
    if (comm->external_id > 0 && inq_map_get(records, (uint64_t)comm->external_id, &record) &&
        rank->comms[record].kind != INQ_COLL_UNKNOWN) {
        *comm = rank->comms[record];
        return;
    }
    uint32_t call = rank->events.call[event];
    const struct inq_note *note =
        call != INQ_NONE
            ? enclosing_note(shard, rank, rank->calls.start_ns[call], rank->calls.lane[call], true)
            : NULL;
    inq_str name = note != NULL ? note->name : rank->events.name[event];
    comm->op_name = name;
    comm->from_name = note == NULL;
    comm->kind = note != NULL ? kind_of_name(shard, name)
                              : inq_coll_from_kernel(inq_strtab_get(&shard->names, name),
                                                     inq_strtab_len(&shard->names, name));
}

/* A stream that spends this part of its time in communication is a library's: what else runs there
 * under a name that says nothing is communication too. */
static const double COMM_STREAM = 0.9;

/* What is known of the kernels of a rank whose names are of no known kind. */
struct strangers {
    uint8_t *known;  /* [names] 0 not asked yet, 1 computes, 2 says nothing */
    double *comm_ns; /* [n_lanes] of kernels known as communication .. */
    double *all_ns;  /* .. and of all that are known */
    size_t n;
};

static bool is_stranger(const struct inq_shard *shard, const struct inq_rank *rank, size_t event,
                        struct strangers *s)
{
    const struct inq_events *e = &rank->events;
    if (e->kind[event] != INQ_EVENT_KERNEL || e->cls[event] != INQ_CLASS_COMPUTE) {
        return false;
    }
    inq_str name = e->name[event];
    if (s->known[name] == 0) {
        bool computes = inq_kernel_is_compute(inq_strtab_get(&shard->names, name),
                                              inq_strtab_len(&shard->names, name));
        s->known[name] = computes ? 1 : 2;
    }
    return s->known[name] == 2;
}

static void weigh_streams(const struct inq_shard *shard, const struct inq_rank *rank,
                          struct strangers *s)
{
    const struct inq_events *e = &rank->events;
    for (size_t i = 0; i < e->n; i++) {
        if (e->kind[i] != INQ_EVENT_KERNEL) {
            continue;
        }
        if (is_stranger(shard, rank, i, s)) {
            s->n++;
            continue;
        }
        s->all_ns[e->lane[i]] += (double)e->dur_ns[i];
        s->comm_ns[e->lane[i]] += e->cls[i] == INQ_CLASS_COMM ? (double)e->dur_ns[i] : 0.0;
    }
}

/* The launching op, an annotation on the stream, the stream's other work. */
static bool surroundings_say_comm(const struct inq_shard *shard, const struct inq_rank *rank,
                                  size_t event, const struct strangers *s)
{
    const struct inq_events *e = &rank->events;
    const struct inq_calls *c = &rank->calls;
    uint32_t lane = e->lane[event];
    uint32_t call = e->call[event];
    if (s->all_ns[lane] > 0.0 && s->comm_ns[lane] >= COMM_STREAM * s->all_ns[lane]) {
        return true;
    }
    return (call != INQ_NONE &&
            enclosing_note(shard, rank, c->start_ns[call], c->lane[call], false) != NULL) ||
           enclosing_note(shard, rank, e->start_ns[event], lane, false) != NULL;
}

/* Communication that no name gives away. */
static int recognize_comms(const struct inq_shard *shard, struct inq_rank *rank,
                           struct inq_err *err)
{
    struct strangers s = {.known = inq_mem_zalloc(shard->names.n + 1, 1),
                          .comm_ns = inq_mem_zalloc(rank->n_lanes + 1, sizeof *s.comm_ns),
                          .all_ns = inq_mem_zalloc(rank->n_lanes + 1, sizeof *s.all_ns)};
    int code = INQ_OK;
    if (s.known == NULL || s.comm_ns == NULL || s.all_ns == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu lanes", rank->n_lanes);
    } else {
        weigh_streams(shard, rank, &s);
    }
    for (size_t i = 0; code == INQ_OK && s.n > 0 && i < rank->events.n; i++) {
        if (is_stranger(shard, rank, i, &s) && surroundings_say_comm(shard, rank, i, &s)) {
            rank->events.cls[i] = INQ_CLASS_COMM;
        }
    }
    inq_mem_free(s.known);
    inq_mem_free(s.comm_ns);
    inq_mem_free(s.all_ns);
    return code;
}

static int fill_comms(const struct inq_shard *shard, struct inq_rank *rank, struct inq_err *err)
{
    struct inq_map records = {0};
    int code = index_records(rank, &records, err);
    struct inq_events *e = &rank->events;
    for (size_t i = 0; code == INQ_OK && i < e->n; i++) {
        if (e->cls[i] != INQ_CLASS_COMM || e->kind[i] != INQ_EVENT_KERNEL) {
            continue;
        }
        struct inq_comm comm;
        inq_comm_init(&comm);
        if (e->comm[i] != INQ_NONE) {
            comm = rank->comms[e->comm[i]];
        }
        if (comm.kind != INQ_COLL_UNKNOWN) {
            continue;
        }
        describe(shard, rank, i, &records, &comm);
        if (e->comm[i] != INQ_NONE) {
            rank->comms[e->comm[i]] = comm;
        } else {
            code = inq_rank_add_comm(rank, &comm, &e->comm[i], err);
        }
    }
    inq_map_release(&records);
    return code;
}

/* ---- batches of sends and receives ----------------------------------------------------------- */

/* A batch (batch_isend_irecv) is one kernel that is linked with none of the records of its
 * transfers: they are what its thread recorded since it launched communication before. */
struct moment {
    int64_t at_ns;
    uint32_t lane;  /* thread */
    uint32_t event; /* that is launched then; INQ_NONE: */
    uint32_t comm;  /* the record that begins then */
};

/* Transfers that a thread has recorded and not launched. */
struct pending {
    uint32_t first, last;
    uint32_t n;
};

/* A launch begins behind the records of what it launches. */
static int compare_moments(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct moment *x = a;
    const struct moment *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return (x->event != INQ_NONE) - (y->event != INQ_NONE);
}

static size_t list_moments(const struct inq_rank *rank, uint8_t *of_kernel, struct moment *moments)
{
    const struct inq_events *e = &rank->events;
    size_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->comm[i] == INQ_NONE) {
            continue;
        }
        of_kernel[e->comm[i]] = 1;
        if (e->call[i] != INQ_NONE) {
            const struct inq_calls *c = &rank->calls;
            moments[n++] = (struct moment){c->start_ns[e->call[i]], c->lane[e->call[i]], i, 0};
        }
    }
    size_t launches = n;
    for (uint32_t i = 0; i < rank->n_comms; i++) {
        const struct inq_comm *comm = &rank->comms[i];
        if (!of_kernel[i] && inq_coll_is_one_way(comm->kind) && comm->peer >= 0 &&
            comm->start_ns != INQ_TIME_NONE && comm->lane < rank->n_lanes) {
            moments[n++] = (struct moment){comm->start_ns, comm->lane, INQ_NONE, i};
        }
    }
    return n > launches ? n : 0;
}

/* What a kernel did: the one transfer, or several. */
static void take_batch(struct inq_rank *rank, uint32_t event, const struct pending *batch)
{
    struct inq_comm *comm = &rank->comms[rank->events.comm[event]];
    bool fused = inq_coll_may_be_p2p(comm->kind);
    if (batch->n == 0 || !fused) {
        return;
    }
    struct inq_comm first = rank->comms[batch->first];
    int64_t external_id = comm->external_id;
    *comm = first;
    comm->batch = INQ_NONE;
    comm->external_id = external_id;
    if (batch->n == 1) {
        return;
    }
    comm->kind = INQ_COLL_COALESCED;
    comm->seq = -1;
    comm->batch = batch->first;
    for (uint32_t at = first.batch; at != INQ_NONE; at = rank->comms[at].batch) {
        comm->peer = rank->comms[at].peer == comm->peer ? comm->peer : -1;
    }
}

static void add_pending(struct inq_rank *rank, struct pending *pending, uint32_t comm)
{
    if (pending->n == 0) {
        pending->first = comm;
    } else {
        rank->comms[pending->last].batch = comm;
    }
    pending->last = comm;
    pending->n++;
}

static int find_batches(struct inq_rank *rank, struct inq_err *err)
{
    struct moment *moments = inq_mem_alloc((rank->events.n + rank->n_comms + 1) * sizeof *moments);
    struct pending *pending = inq_mem_zalloc(rank->n_lanes + 1, sizeof *pending);
    uint8_t *of_kernel = inq_mem_zalloc(rank->n_comms + 1, 1);
    int code = moments == NULL || pending == NULL || of_kernel == NULL
                   ? inq_err_set(err, INQ_NOMEM, "out of memory for batches")
                   : INQ_OK;
    size_t n = code == INQ_OK ? list_moments(rank, of_kernel, moments) : 0;
    if (n > 0) {
        code = inq_sort(moments, n, sizeof *moments, compare_moments, NULL, err);
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        const struct moment *m = &moments[i];
        if (m->event == INQ_NONE) {
            add_pending(rank, &pending[m->lane], m->comm);
        } else {
            take_batch(rank, m->event, &pending[m->lane]);
            pending[m->lane] = (struct pending){0};
        }
    }
    inq_mem_free(moments);
    inq_mem_free(pending);
    inq_mem_free(of_kernel);
    return code;
}

/* ---- outliers -------------------------------------------------------------------------------- */

/* perm[n]: the rows without those that are set aside, which come last. */
static void order_kept(size_t n, const uint32_t *aside, size_t n_aside, uint32_t *perm)
{
    size_t kept = 0;
    size_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (next < n_aside && aside[next] == i) {
            perm[n - n_aside + next++] = i;
        } else {
            perm[kept++] = i;
        }
    }
}

/* Sets aside what no capture can hold together with the rest, and counts it. */
static void set_outliers_aside(struct inq_rank *rank, const struct scratch *s,
                               struct inq_damage *damage)
{
    struct inq_outliers found;
    inq_outliers_find(rank, &found);
    if (found.n_events > 0) {
        order_kept(rank->events.n, found.events, found.n_events, s->perm);
        permute_events(&rank->events, s->perm, s->spare);
        rank->events.n -= found.n_events;
    }
    if (found.n_calls > 0) {
        order_kept(rank->calls.n, found.calls, found.n_calls, s->perm);
        permute_calls(&rank->calls, s->perm, s->spare);
        rank->calls.n -= found.n_calls;
    }
    for (size_t i = found.n_notes; i-- > 0;) {
        size_t at = found.notes[i];
        memmove(&rank->notes[at], &rank->notes[at + 1],
                (rank->n_notes - at - 1) * sizeof *rank->notes);
        rank->n_notes--;
    }
    size_t n = found.n_events + found.n_calls + found.n_notes;
    if (n > 0) {
        inq_damage_add(damage, INQ_DAMAGE_OUTLIER, n, -1);
    }
}

/* ---- one rank -------------------------------------------------------------------------------- */

static void widen(struct inq_rank *rank, int64_t start_ns, int64_t dur_ns)
{
    int64_t end_ns = start_ns + dur_ns;
    if (rank->first_ns == INQ_TIME_NONE || start_ns < rank->first_ns) {
        rank->first_ns = start_ns;
    }
    if (rank->last_ns == INQ_TIME_NONE || end_ns > rank->last_ns) {
        rank->last_ns = end_ns;
    }
}

static void find_span(struct inq_rank *rank)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        widen(rank, rank->events.start_ns[i], rank->events.dur_ns[i]);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        widen(rank, rank->notes[i].start_ns, rank->notes[i].dur_ns);
    }
}

static int finalize_rank(const struct inq_shard *shard, struct inq_rank *rank,
                         struct inq_damage *damage, struct inq_err *err)
{
    struct inq_events *e = &rank->events;
    size_t longest = e->n > rank->calls.n ? e->n : rank->calls.n;
    struct scratch s;
    int code = scratch_init(&s, longest, err);
    if (code != INQ_OK) {
        return code;
    }
    code = sort_events(rank, &s, err);
    if (code == INQ_OK) {
        code = sort_calls(&rank->calls, &s, err);
    }
    if (code == INQ_OK) {
        code = inq_sort(rank->notes, rank->n_notes, sizeof *rank->notes, compare_notes, NULL, err);
    }
    if (code == INQ_OK) {
        set_outliers_aside(rank, &s, damage);
    }
    scratch_release(&s);
    if (code == INQ_OK) {
        code = join_calls(rank, damage, err);
    }
    if (code == INQ_OK) {
        code = recognize_comms(shard, rank, err);
    }
    if (code == INQ_OK) {
        code = fill_comms(shard, rank, err);
    }
    if (code == INQ_OK) {
        code = find_batches(rank, err);
    }
    return code;
}

/* What is not written down with a sealed shard. */
static int finish_rank(struct inq_rank *rank, struct inq_err *err)
{
    struct inq_events *e = &rank->events;
    e->step = inq_mem_alloc((e->n > 0 ? e->n : 1) * sizeof *e->step);
    if (e->step == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", e->n);
    }
    memset(e->step, 0xff, e->n * sizeof *e->step); /* INQ_NONE */
    find_span(rank);
    inq_rank_shrink(rank);
    return INQ_OK;
}

struct sealing {
    struct inq_shard *shard;
    struct inq_damage *damage; /* [ranks] */
};

static int finalize_nth(void *ctx, size_t r, struct inq_err *err)
{
    const struct sealing *x = ctx;
    struct inq_rank *rank = &x->shard->ranks[r];
    int code = x->shard->sealed ? INQ_OK : finalize_rank(x->shard, rank, &x->damage[r], err);
    return code == INQ_OK ? finish_rank(rank, err) : code;
}

int inq_shard_finalize(struct inq_shard *shard, struct inq_err *err)
{
    struct sealing x = {shard, inq_mem_zalloc(shard->n_ranks + 1, sizeof *x.damage)};
    if (x.damage == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", shard->n_ranks);
    }
    int jobs = shard->jobs > 0 ? shard->jobs : 1;
    int code = inq_par_for(shard->n_ranks, jobs, finalize_nth, &x, err);
    for (size_t r = 0; r < shard->n_ranks; r++) {
        for (enum inq_damage_kind kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
            inq_damage_add(&shard->file.damage, kind, x.damage[r].count[kind],
                           x.damage[r].first_offset[kind]);
        }
    }
    inq_mem_free(x.damage);
    return code;
}
