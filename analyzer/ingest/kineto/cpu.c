/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks without a device: what their threads' operators compute, and what their backend (Gloo, MPI,
 * UCC, oneCCL) communicates. Operators are kept as slices until the end of the file shows that
 * there was no device. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* ---- while reading --------------------------------------------------------------------------- */

bool inq_kineto_may_be_cpu(const struct inq_kineto *k)
{
    return !k->device && k->n_devices == 0 && !k->exported;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What a slice or a note of the host is. */
enum part { PART_ANNOTATION, PART_OPERATOR, PART_CALL_OF_COMM, PART_COMM };

/* Backends that run on CPUs: what they record under their name is the communication itself. */
static bool is_cpu_backend(const char *name)
{
    static const char *const backends[] = {"gloo:", "mpi:", "ucc:", "oneccl:", "ccl:"};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strncmp(name, backends[i], strlen(backends[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* An annotation of the old recordings, which have no categories, is what is no operator of a
 * library ("aten::mm") and no node of autograd ("AddmmBackward0"). */
static bool names_operator(const char *name)
{
    const char *node = strstr(name, "Backward");
    return strstr(name, "::") != NULL ||
           (node != NULL && node[8 + strspn(node + 8, "0123456789")] == '\0');
}

static enum part part_of(const struct inq_kineto *k, inq_str id)
{
    const char *name = inq_strtab_get(&k->shard->names, id);
    int64_t number;
    enum inq_note_kind kind =
        inq_classify_note(name, inq_strtab_len(&k->shard->names, id), &number);
    if (kind == INQ_NOTE_COMM) {
        return is_cpu_backend(name) ? PART_COMM : PART_CALL_OF_COMM;
    }
    if (kind == INQ_NOTE_OPTIMIZER) { /* one piece of work, as it is recorded */
        return PART_OPERATOR;
    }
    bool op = kind == INQ_NOTE_OTHER && (!k->legacy || names_operator(name));
    return op ? PART_OPERATOR : PART_ANNOTATION;
}

/* ---- top-level operators --------------------------------------------------------------------- */

struct host {
    struct inq_kineto *k;
    uint32_t *rows; /* of operators, by (lane, start, longer first) */
    size_t n, depth;
    uint32_t *open; /* [n] places in `rows` of what is open */
    uint8_t *part;  /* [n] enum part */
    uint8_t *talks; /* [n] it, or what runs in it, communicates */
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct inq_events *e = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (e->lane[x] != e->lane[y]) {
        return e->lane[x] < e->lane[y] ? -1 : 1;
    }
    if (e->start_ns[x] != e->start_ns[y]) {
        return e->start_ns[x] < e->start_ns[y] ? -1 : 1;
    }
    if (e->dur_ns[x] != e->dur_ns[y]) {
        return e->dur_ns[x] > e->dur_ns[y] ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* the outer one of two that are alike is written first */
}

static bool is_host_row(const struct inq_events *e, size_t row)
{
    return e->kind[row] == INQ_EVENT_SLICE && e->cls[row] == INQ_CLASS_COMPUTE;
}

static int list_rows(struct host *h)
{
    const struct inq_events *e = &h->k->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        h->n += is_host_row(e, i);
    }
    h->rows = inq_mem_alloc((h->n + 1) * sizeof *h->rows);
    h->open = inq_mem_alloc((h->n + 1) * sizeof *h->open);
    h->part = inq_mem_zalloc(h->n + 1, 1);
    h->talks = inq_mem_zalloc(h->n + 1, 1);
    if (h->rows == NULL || h->open == NULL || h->part == NULL || h->talks == NULL) {
        return inq_err_set(h->k->err, INQ_NOMEM, "out of memory for %zu operators", h->n);
    }
    size_t at = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (is_host_row(e, i)) {
            h->rows[at++] = (uint32_t)i;
        }
    }
    return inq_sort(h->rows, h->n, sizeof *h->rows, compare_rows, &h->k->rank->events, h->k->err);
}

/* Closes what has ended when the row at `at` begins. */
static void close_until(struct host *h, size_t at)
{
    const struct inq_events *e = &h->k->rank->events;
    uint32_t row = h->rows[at];
    while (h->depth > 0) {
        uint32_t outer = h->rows[h->open[h->depth - 1]];
        int64_t end_ns = e->start_ns[outer] + e->dur_ns[outer];
        if (e->lane[outer] == e->lane[row] && end_ns > e->start_ns[row] &&
            end_ns >= e->start_ns[row] + e->dur_ns[row]) {
            return;
        }
        h->depth--;
    }
}

/* An operator that issues or awaits communication is not at work all the time: what runs in it
 * counts in its place. */
static void find_talkers(struct host *h)
{
    const struct inq_events *e = &h->k->rank->events;
    h->depth = 0;
    for (size_t i = 0; i < h->n; i++) {
        h->part[i] = (uint8_t)part_of(h->k, e->name[h->rows[i]]);
        close_until(h, i);
        bool talks = h->part[i] == PART_COMM || h->part[i] == PART_CALL_OF_COMM;
        for (size_t d = h->depth; talks && d > 0 && !h->talks[h->open[d - 1]]; d--) {
            h->talks[h->open[d - 1]] = 1;
        }
        h->talks[i] = talks;
        h->open[h->depth++] = (uint32_t)i;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A thread launches its own work: time in which it runs nothing is the host's. */
static int make_work(struct inq_kineto *k, size_t row, enum inq_op_class cls)
{
    struct inq_events *e = &k->rank->events;
    int64_t launch = (int64_t)k->rank->calls.n + 1; /* 0 is none */
    e->kind[row] = INQ_EVENT_KERNEL;
    e->cls[row] = (uint8_t)cls;
    e->call[row] = (uint32_t)launch;
    k->slices -= k->slices > 0;
    return inq_rank_add_call(k->rank, e->start_ns[row], 0, e->name[row], e->lane[row], launch,
                             k->err);
}

static int make_comm(struct inq_kineto *k, size_t row)
{
    struct inq_events *e = &k->rank->events;
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.op_name = e->name[row];
    comm.kind = inq_coll_from_name(inq_strtab_get(&k->shard->names, comm.op_name),
                                   inq_strtab_len(&k->shard->names, comm.op_name));
    comm.from_name = true;
    int code = inq_rank_add_comm(k->rank, &comm, &e->comm[row], k->err);
    return code == INQ_OK ? make_work(k, row, INQ_CLASS_COMM) : code;
}

static int make_note(struct inq_kineto *k, size_t row)
{
    const struct inq_events *e = &k->rank->events;
    struct inq_part part = {
        .start_ns = e->start_ns[row],
        .dur_ns = e->dur_ns[row],
        .name = e->name[row],
        .lane = e->lane[row],
    };
    return inq_kineto_add_note(k, INQ_CAT_NOTE, &part);
}

/* Operators of a thread that lie in none: compute. */
static int make_rows(struct host *h)
{
    int64_t busy_until_ns = INT64_MIN;
    uint32_t lane = INQ_NONE;
    int code = INQ_OK;
    for (size_t i = 0; i < h->n && code == INQ_OK; i++) {
        const struct inq_events *e = &h->k->rank->events;
        uint32_t row = h->rows[i];
        int64_t end_ns = e->start_ns[row] + e->dur_ns[row];
        busy_until_ns = e->lane[row] == lane ? busy_until_ns : INT64_MIN;
        lane = e->lane[row];
        if (h->part[i] == PART_COMM) {
            code = make_comm(h->k, row);
        } else if (h->part[i] == PART_ANNOTATION && h->k->legacy) {
            code = make_note(h->k, row);
        } else if (h->part[i] == PART_OPERATOR && !h->talks[i] && end_ns > busy_until_ns) {
            busy_until_ns = end_ns;
            code = make_work(h->k, row, INQ_CLASS_COMPUTE);
        }
    }
    return code;
}

/* ---- records --------------------------------------------------------------------------------- */

/* What PyTorch recorded of a collective where it was called, and what its backend recorded of it:
 * the same collectives in the same order, kind by kind. */
struct half {
    int64_t start_ns;
    uint32_t row;
};

static int compare_halves(const void *a, const void *b, void *ctx)
{
    const struct half *x = a;
    const struct half *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool is_record(const struct inq_kineto *k, size_t row)
{
    const struct inq_events *e = &k->rank->events;
    return e->kind[row] == INQ_EVENT_SLICE && e->comm[row] != INQ_NONE;
}

/* Lists communication of a kind: made of the backend's rows, or the records; their number. */
static size_t list_kind(const struct inq_kineto *k, enum inq_coll_kind kind, bool records,
                        struct half *out)
{
    const struct inq_events *e = &k->rank->events;
    size_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        bool wanted = records ? is_record(k, i)
                              : e->kind[i] == INQ_EVENT_KERNEL && e->cls[i] == INQ_CLASS_COMM;
        if (wanted && k->rank->comms[e->comm[i]].kind == kind) {
            out[n++] = (struct half){e->start_ns[i], i};
        }
    }
    return n;
}

/* How many of the backend's rows come before the one of the first record, *pairs: how many are of a
 * record each. A capture begins between calls and their work, and ends before the backend's threads
 * say that the last is done, so that rows lack their record in front, and records their row behind.
 * None begins before its call: where one would, which belong together is not known. */
static size_t find_pairs(const struct half *work, size_t n, const struct half *records,
                         size_t n_records, size_t *pairs)
{
    size_t early = 0;
    while (n_records > 0 && early < n && work[early].start_ns < records[0].start_ns) {
        early++;
    }
    early = n - early > n_records ? n - n_records : early;
    *pairs = n - early < n_records ? n - early : n_records;
    for (size_t i = 0; i < *pairs; i++) {
        if (work[early + i].start_ns < records[i].start_ns) {
            *pairs = 0;
        }
    }
    return early;
}

static int join_kind(struct inq_kineto *k, enum inq_coll_kind kind, struct half *work,
                     struct half *records)
{
    struct inq_events *e = &k->rank->events;
    size_t n = list_kind(k, kind, false, work);
    size_t n_records = list_kind(k, kind, true, records);
    if (n == 0) { /* a backend that records nothing itself: the calls are all there is */
        int code = INQ_OK;
        for (size_t i = 0; i < n_records && code == INQ_OK; i++) {
            code = make_work(k, records[i].row, INQ_CLASS_COMM);
        }
        return code;
    }
    int code = inq_sort(work, n, sizeof *work, compare_halves, NULL, k->err);
    if (code == INQ_OK) {
        code = inq_sort(records, n_records, sizeof *records, compare_halves, NULL, k->err);
    }
    size_t pairs = 0;
    size_t early = code == INQ_OK ? find_pairs(work, n, records, n_records, &pairs) : 0;
    for (size_t i = 0; i < pairs; i++) {
        e->comm[work[early + i].row] = e->comm[records[i].row];
    }
    return code;
}

static int join_records(struct inq_kineto *k)
{
    size_t n = k->rank->events.n + 1;
    struct half *work = inq_mem_alloc(n * sizeof *work);
    struct half *records = inq_mem_alloc(n * sizeof *records);
    int code = work != NULL && records != NULL
                   ? INQ_OK
                   : inq_err_set(k->err, INQ_NOMEM, "out of memory for collectives");
    for (int kind = INQ_COLL_UNKNOWN; kind < INQ_COLL_KIND_COUNT && code == INQ_OK; kind++) {
        code = join_kind(k, (enum inq_coll_kind)kind, work, records);
    }
    inq_mem_free(work);
    inq_mem_free(records);
    return code;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A library of devices at work, or nothing of PyTorch: not a rank that computes on CPUs. */
static bool names_device_library(const struct inq_kineto *k, inq_str id)
{
    const char *name = inq_strtab_get(&k->shard->names, id);
    return part_of(k, id) == PART_CALL_OF_COMM && strstr(name, "ccl:") != NULL;
}

static bool is_cpu_rank(const struct inq_kineto *k)
{
    const struct inq_events *e = &k->rank->events;
    bool operators = false;
    if (!inq_kineto_may_be_cpu(k)) {
        return false;
    }
    for (size_t i = 0; i < e->n; i++) {
        if (e->kind[i] != INQ_EVENT_SLICE || names_device_library(k, e->name[i])) {
            return false;
        }
        operators = operators || is_host_row(e, i);
    }
    for (size_t i = 0; i < k->rank->n_notes; i++) {
        if (names_device_library(k, k->rank->notes[i].name)) {
            return false;
        }
    }
    return operators;
}

static struct inq_part row_of_note(const struct inq_note *note)
{
    return (struct inq_part){.start_ns = note->start_ns,
                             .dur_ns = note->dur_ns,
                             .correlation = -1,
                             .name = note->name,
                             .lane = note->lane,
                             .comm = INQ_NONE};
}

/* Annotations of communication become slices like the others, the optimizer's are work too. */
static int take_notes(struct inq_kineto *k)
{
    size_t kept = 0;
    int code = INQ_OK;
    for (size_t i = 0; i < k->rank->n_notes && code == INQ_OK; i++) {
        const struct inq_note note = k->rank->notes[i];
        struct inq_part part = row_of_note(&note);
        if (note.kind == INQ_NOTE_COMM || note.kind == INQ_NOTE_OPTIMIZER) {
            code = inq_kineto_add_row(k, INQ_CAT_CPU_OP, &part);
        }
        if (note.kind != INQ_NOTE_COMM) {
            k->rank->notes[kept++] = note;
        }
    }
    k->rank->n_notes = code == INQ_OK ? kept : k->rank->n_notes;
    return code;
}

/* Whether a device worked, and recorded no communication of its own: where it did, what the host
 * notes under a backend's name are the calls. */
static bool leaves_comms_to_host(const struct inq_kineto *k)
{
    const struct inq_events *e = &k->rank->events;
    bool works = false;
    for (size_t i = 0; i < e->n; i++) {
        if (e->kind[i] == INQ_EVENT_KERNEL && e->cls[i] == INQ_CLASS_COMM) {
            return false;
        }
        works = works || e->kind[i] == INQ_EVENT_KERNEL;
    }
    return works;
}

/* Tensors of a device that a host's backend reduces: a copy, the host's communication, a copy back.
 * What the host does in between is the rank's communication, as on CPUs. */
static int take_host_comms(struct inq_kineto *k)
{
    int code = INQ_OK;
    for (size_t i = 0; i < k->rank->n_notes && code == INQ_OK; i++) {
        const struct inq_note note =
            k->rank->notes[i]; /* on the GPU: of the copy back, once more */
        if (note.kind != INQ_NOTE_COMM || note.on_gpu ||
            !is_cpu_backend(inq_strtab_get(&k->shard->names, note.name))) {
            continue;
        }
        struct inq_part part = row_of_note(&note);
        size_t row = k->rank->events.n;
        code = inq_kineto_add_row(k, INQ_CAT_CPU_OP, &part);
        if (code == INQ_OK && k->rank->events.n > row) {
            code = make_comm(k, row);
        }
    }
    return code;
}

int inq_kineto_settle_cpu(struct inq_kineto *k)
{
    if (!is_cpu_rank(k)) {
        return leaves_comms_to_host(k) ? take_host_comms(k) : INQ_OK;
    }
    struct host h = {.k = k};
    int code = inq_strtab_add(&k->shard->names, "CPU", 3, &k->rank->device_name, k->err);
    if (code == INQ_OK) {
        code = take_notes(k);
    }
    if (code == INQ_OK) {
        code = list_rows(&h);
    }
    if (code == INQ_OK) {
        find_talkers(&h);
        code = make_rows(&h);
    }
    if (code == INQ_OK) {
        code = join_records(k);
    }
    inq_mem_free(h.rows);
    inq_mem_free(h.open);
    inq_mem_free(h.part);
    inq_mem_free(h.talks);
    return code;
}
