/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing a shard: sorted columns, kernels joined to their launches, communication kernels to what
 * is known of them. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/classify.h"
#include "trace/shard.h"

#include <string.h>

/* ---- reordering --------------------------------------------------------------------------------
 */

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

static int compare_events(const void *a, const void *b, void *ctx)
{
    const struct inq_events *e = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t j = *(const uint32_t *)b;
    if (e->lane[i] != e->lane[j]) {
        return e->lane[i] < e->lane[j] ? -1 : 1;
    }
    if (e->start_ns[i] != e->start_ns[j]) {
        return e->start_ns[i] < e->start_ns[j] ? -1 : 1;
    }
    return e->dur_ns[i] > e->dur_ns[j] ? -1 : e->dur_ns[i] < e->dur_ns[j];
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

static int sort_events(struct inq_events *e, const struct scratch *s, struct inq_err *err)
{
    /* by start first (linear when in order), then stably by lane and length */
    int code = inq_sort_order_i64(e->start_ns, e->n, s->perm, err);
    if (code == INQ_OK) {
        code = inq_sort(s->perm, e->n, sizeof *s->perm, compare_events, e, err);
    }
    if (code == INQ_OK && !is_identity(s->perm, e->n)) {
        permute_events(e, s->perm, s->spare);
    }
    return code;
}

static int sort_calls(struct inq_calls *c, const struct scratch *s, struct inq_err *err)
{
    int code = inq_sort_order_i64(c->start_ns, c->n, s->perm, err);
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
    return x->dur_ns > y->dur_ns ? -1 : x->dur_ns < y->dur_ns;
}

/* ---- launches ----------------------------------------------------------------------------------
 */

/* Turns correlation ids (32 bits in the event) into call indices. An id can repeat: the call that
 * starts before the kernel and is the latest such is taken, else the first. */
static int join_calls(struct inq_rank *rank, struct inq_damage *damage, struct inq_err *err)
{
    struct inq_calls *c = &rank->calls;
    struct inq_events *e = &rank->events;
    struct inq_map newest = {0};
    uint32_t *older = inq_mem_alloc(c->n * sizeof *older); /* chain of calls with the same id */
    int code = older == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for launches") : INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < c->n; i++) {
        uint64_t id = (uint32_t)c->correlation[i];
        older[i] = INQ_NONE;
        if (c->correlation[i] > 0) {
            (void)inq_map_get(&newest, id, &older[i]);
            code = inq_map_put(&newest, id, (uint32_t)i, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < e->n; i++) {
        uint32_t call = INQ_NONE;
        uint32_t id = e->call[i];
        if (id != INQ_NONE && inq_map_get(&newest, id, &call)) {
            while (c->start_ns[call] > e->start_ns[i] && older[call] != INQ_NONE) {
                call = older[call];
            }
        } else if (id != INQ_NONE && c->n > 0 && e->kind[i] != INQ_EVENT_SYNC) {
            inq_damage_add(damage, INQ_DAMAGE_NO_LAUNCH, 1, 0);
        }
        e->call[i] = call;
    }
    inq_map_release(&newest);
    inq_mem_free(older);
    return code;
}

/* ---- communication ------------------------------------------------------------------------------
 */

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

/* The innermost communication annotation that was open on the launching thread, or NULL. */
static const struct inq_note *enclosing_note(const struct inq_rank *rank, uint32_t call)
{
    if (call == INQ_NONE) {
        return NULL;
    }
    int64_t at_ns = rank->calls.start_ns[call];
    size_t low = 0;
    size_t high = rank->n_notes;
    while (low < high) { /* first note that starts after the launch */
        size_t middle = low + (high - low) / 2;
        if (rank->notes[middle].start_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    enum { LOOK_BACK = 64 }; /* notes nest shallowly; an older open one is not the innermost */
    for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) {
        const struct inq_note *note = &rank->notes[i - 1];
        if (note->kind == INQ_NOTE_COMM && !note->on_gpu && note->lane == rank->calls.lane[call] &&
            note->start_ns + note->dur_ns >= at_ns) {
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
    const struct inq_note *note = enclosing_note(rank, rank->events.call[event]);
    inq_str name = note != NULL ? note->name : rank->events.name[event];
    const char *text = inq_strtab_get(&shard->names, name);
    size_t len = inq_strtab_len(&shard->names, name);
    comm->kind = note != NULL ? inq_coll_from_name(text, len) : INQ_COLL_UNKNOWN;
    comm->from_name = comm->kind == INQ_COLL_UNKNOWN;
    if (comm->from_name) {
        name = rank->events.name[event];
        comm->kind = inq_coll_from_kernel(inq_strtab_get(&shard->names, name),
                                          inq_strtab_len(&shard->names, name));
    }
    comm->op_name = name;
}

static int fill_comms(struct inq_shard *shard, struct inq_rank *rank, struct inq_err *err)
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

/* ---- one rank
 * ------------------------------------------------------------------------------------ */

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

static int seal_rank(struct inq_shard *shard, struct inq_rank *rank, struct inq_err *err)
{
    struct inq_events *e = &rank->events;
    size_t longest = e->n > rank->calls.n ? e->n : rank->calls.n;
    struct scratch s;
    int code = scratch_init(&s, longest, err);
    if (code != INQ_OK) {
        return code;
    }
    code = sort_events(e, &s, err);
    if (code == INQ_OK) {
        code = sort_calls(&rank->calls, &s, err);
    }
    scratch_release(&s);
    if (code == INQ_OK) {
        code = inq_sort(rank->notes, rank->n_notes, sizeof *rank->notes, compare_notes, NULL, err);
    }
    if (code == INQ_OK) {
        code = join_calls(rank, &shard->file.damage, err);
    }
    if (code == INQ_OK) {
        code = fill_comms(shard, rank, err);
    }
    if (code == INQ_OK) {
        e->step = inq_mem_alloc((e->n > 0 ? e->n : 1) * sizeof *e->step);
        if (e->step == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", e->n);
        }
        memset(e->step, 0xff, e->n * sizeof *e->step); /* INQ_NONE */
        find_span(rank);
    }
    return code;
}

int inq_shard_seal(struct inq_shard *shard, struct inq_err *err)
{
    for (size_t i = 0; i < shard->n_ranks; i++) {
        int code = seal_rank(shard, &shard->ranks[i], err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}
