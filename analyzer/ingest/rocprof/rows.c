/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/rocprof/rows.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <string.h>

/* Type of an agent. */
enum { GPU_AGENT = 2 };

/* Where a copy names no stream. */
enum { LANE_COPIES = -1 };

static uint64_t operation_key(const struct inq_rocprof_record *record)
{
    return (uint64_t)record->kind << 32 | (uint32_t)record->operation;
}

static struct inq_rank *rank_of(struct inq_rocprof *p)
{
    return &p->shard->ranks[p->rank];
}

/* Appends to a list of numbers that goes along with rows. */
static int note_number(uint64_t **list, size_t *n, size_t *cap, uint64_t number,
                       struct inq_err *err)
{
    int code = inq_mem_grow(list, cap, *n + 1, sizeof **list, INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        (*list)[(*n)++] = number;
    }
    return code;
}

int inq_rocprof_begin(struct inq_rocprof *p, struct inq_err *err)
{
    struct inq_shard *shard = p->shard;
    memset(p, 0, sizeof *p);
    p->shard = shard;
    p->first_gpu = -1;
    return inq_shard_add_rank(shard, &p->rank, err);
}

/* ---- tables ---------------------------------------------------------------------------------- */

int inq_rocprof_metadata(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                         struct inq_err *err)
{
    struct inq_rank *rank = rank_of(p);
    rank->pid = record->pid >= 0 ? record->pid : rank->pid;
    return record->host.n > 0 ? inq_scan_name(record->host, &p->shard->names, &rank->host, err)
                              : INQ_OK;
}

int inq_rocprof_agent(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                      struct inq_err *err)
{
    enum { MAX_AGENTS = 4096 };
    if (record->type != GPU_AGENT || record->handle < 0 || p->n_gpus == MAX_AGENTS) {
        return INQ_OK;
    }
    struct inq_rocprof_agent agent = {
        .handle = record->handle,
        .units = record->units > 0 && record->units <= INT32_MAX ? (int32_t)record->units : -1};
    struct inq_text name = record->product.n > 0 ? record->product : record->name;
    int code = inq_scan_name(name, &p->shard->names, &agent.name, err);
    if (code == INQ_OK) {
        code =
            inq_mem_grow(&p->gpus, &p->cap_gpus, p->n_gpus + 1, sizeof *p->gpus, MAX_AGENTS, err);
    }
    if (code == INQ_OK) {
        p->gpus[p->n_gpus++] = agent;
    }
    return code;
}

int inq_rocprof_symbol(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                       struct inq_err *err)
{
    struct inq_text name = record->formatted.n > 0   ? record->formatted
                           : record->demangled.n > 0 ? record->demangled
                                                     : record->mangled;
    inq_str id = 0;
    int code = record->kernel >= 0 && name.n > 0 ? inq_scan_name(name, &p->shard->names, &id, err)
                                                 : INQ_OK;
    return code == INQ_OK && id != 0 ? inq_map_put(&p->kernels, (uint64_t)record->kernel, id, err)
                                     : code;
}

/* The text of a range, by the call that opened it. */
int inq_rocprof_marker(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                       struct inq_err *err)
{
    inq_str id = 0;
    int code = record->key >= 0 && record->value.n > 0
                   ? inq_scan_name(record->value, &p->shard->names, &id, err)
                   : INQ_OK;
    return code == INQ_OK && id != 0 ? inq_map_put(&p->markers, (uint64_t)record->key, id, err)
                                     : code;
}

/* The names of one kind's operations. Kinds and operations are numbered by their places. */
int inq_rocprof_operations(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                           struct inq_err *err)
{
    uint64_t kind = p->kinds++;
    if (record->operations.n == 0) {
        return INQ_OK;
    }
    struct inq_scan scan = {record->operations.p, record->operations.p + record->operations.n,
                            NULL};
    int first = 0;
    int code = INQ_OK;
    scan.p++;
    for (uint32_t i = 0; code == INQ_OK && i < UINT16_MAX; i++) {
        struct inq_text text = {NULL, 0};
        if (inq_scan_element(&scan, &first) != INQ_SCAN_OK || first != '"' ||
            inq_scan_string(&scan, &text) != INQ_SCAN_OK) {
            break;
        }
        inq_str name = 0;
        code = inq_scan_name(text, &p->shard->names, &name, err);
        code = code == INQ_OK ? inq_map_put(&p->operations, kind << 32 | i, name, err) : code;
    }
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The number of the GPU among those of the process, or -1. */
static int32_t device_of(const struct inq_rocprof *p, int64_t handle)
{
    for (size_t i = 0; i < p->n_gpus; i++) {
        if (p->gpus[i].handle == handle) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* Grids are in threads here, in blocks elsewhere. */
static int add_grid(struct inq_rocprof *p, const struct inq_rocprof_record *record, uint32_t *index,
                    struct inq_err *err)
{
    struct inq_launch launch = {0};
    for (int i = 0; i < 3; i++) {
        int64_t threads = record->block[i];
        int64_t blocks = threads > 0 ? (record->grid[i] + threads - 1) / threads : 0;
        if (blocks <= 0 || blocks > INT32_MAX || threads > INT32_MAX) {
            return INQ_OK;
        }
        launch.grid[i] = (int32_t)blocks;
        launch.block[i] = (int32_t)threads;
    }
    return inq_launches_add(&p->shard->launches, &launch, index, err);
}

static int add_event(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                     struct inq_event_row *row, int32_t device, int64_t lane, uint64_t named,
                     struct inq_err *err)
{
    row->start_ns = record->start_ns;
    row->dur_ns = record->end_ns - record->start_ns;
    row->call = record->correlation >= 0 ? (uint32_t)record->correlation : INQ_NONE;
    row->comm = row->label = INQ_NONE;
    int code = inq_rank_lane(rank_of(p), INQ_LANE_STREAM, device, lane, &row->lane, err);
    if (code == INQ_OK) {
        code = note_number(&p->event_names, &p->n_event_names, &p->cap_event_names, named, err);
    }
    p->shard->file.events_kept += code == INQ_OK;
    return code == INQ_OK ? inq_rank_add_event(rank_of(p), row, err) : code;
}

int inq_rocprof_dispatch(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                         struct inq_err *err)
{
    struct inq_event_row row = {.kind = INQ_EVENT_KERNEL, .cls = INQ_CLASS_COMPUTE};
    int32_t device = device_of(p, record->agent);
    p->first_gpu = p->first_gpu < 0 ? record->agent : p->first_gpu;
    int code = add_grid(p, record, &row.launch, err);
    return code == INQ_OK ? add_event(p, record, &row, device,
                                      record->stream > 0 ? record->stream : record->queue,
                                      (uint64_t)record->kernel, err)
                          : code;
}

int inq_rocprof_copy(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                     struct inq_err *err)
{
    struct inq_event_row row = {.kind = INQ_EVENT_MEMCPY, .cls = INQ_CLASS_COPY};
    int32_t device = device_of(p, record->target);
    device = device >= 0 ? device : device_of(p, record->source);
    struct inq_launch launch = {.bytes = record->bytes};
    int code = record->bytes > 0 ? inq_launches_add(&p->shard->launches, &launch, &row.launch, err)
                                 : INQ_OK;
    return code == INQ_OK ? add_event(p, record, &row, device,
                                      record->stream > 0 ? record->stream : LANE_COPIES,
                                      operation_key(record), err)
                          : code;
}

int inq_rocprof_call(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                     struct inq_err *err)
{
    uint32_t lane;
    int code = inq_rank_lane(rank_of(p), INQ_LANE_THREAD, -1, record->thread, &lane, err);
    if (code == INQ_OK) {
        code = note_number(&p->call_names, &p->n_call_names, &p->cap_call_names,
                           operation_key(record), err);
    }
    p->shard->file.events_kept += code == INQ_OK;
    return code == INQ_OK
               ? inq_rank_add_call(rank_of(p), record->start_ns, record->end_ns - record->start_ns,
                                   0, lane, record->correlation, err)
               : code;
}

static int take_span(struct inq_rocprof *p, struct inq_rocprof_spans *spans,
                     const struct inq_rocprof_record *record, struct inq_err *err)
{
    int code =
        inq_mem_grow(&spans->at, &spans->cap, spans->n + 1, sizeof *spans->at, INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        spans->at[spans->n++] = (struct inq_rocprof_span){.start_ns = record->start_ns,
                                                          .end_ns = record->end_ns,
                                                          .thread = record->thread,
                                                          .correlation = record->correlation,
                                                          .op = operation_key(record)};
        p->shard->file.events_kept++;
    }
    return code;
}

int inq_rocprof_rccl(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                     struct inq_err *err)
{
    return take_span(p, &p->rccl, record, err);
}

int inq_rocprof_range(struct inq_rocprof *p, const struct inq_rocprof_record *record,
                      struct inq_err *err)
{
    return take_span(p, &p->ranges, record, err);
}

/* ---- the end of a process -------------------------------------------------------------------- */

/* Tables of names may stand behind the records, so that these are named at the end. */
static const char *text_of(const struct inq_rocprof *p, inq_str name)
{
    return inq_strtab_get(&p->shard->names, name);
}

static void name_events(struct inq_rocprof *p)
{
    struct inq_events *e = &rank_of(p)->events;
    for (size_t i = 0; i < p->n_event_names && i < e->n; i++) {
        bool copy = e->kind[i] == INQ_EVENT_MEMCPY;
        uint32_t name = 0;
        (void)inq_map_get(copy ? &p->operations : &p->kernels, p->event_names[i], &name);
        e->name[i] = name;
        if (!copy) {
            e->cls[i] = (uint8_t)inq_kernel_class(&p->classes, &p->shard->names, name);
        }
    }
}

static void name_calls(struct inq_rocprof *p)
{
    struct inq_calls *calls = &rank_of(p)->calls;
    for (size_t i = 0; i < p->n_call_names && i < calls->n; i++) {
        uint32_t name = 0;
        (void)inq_map_get(&p->operations, p->call_names[i], &name);
        calls->name[i] = name;
    }
}

static int add_notes(struct inq_rocprof *p, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < p->ranges.n && code == INQ_OK; i++) {
        const struct inq_rocprof_span *range = &p->ranges.at[i];
        struct inq_note note = {.start_ns = range->start_ns,
                                .dur_ns = range->end_ns - range->start_ns};
        if (range->correlation < 0 ||
            !inq_map_get(&p->markers, (uint64_t)range->correlation, &note.name)) {
            continue;
        }
        const char *text = text_of(p, note.name);
        note.kind = (uint8_t)inq_classify_note(text, strlen(text), &note.number);
        code = inq_rank_lane(rank_of(p), INQ_LANE_THREAD, -1, range->thread, &note.lane, err);
        code = code == INQ_OK ? inq_rank_add_note(rank_of(p), &note, err) : code;
    }
    return code;
}

/* ---- collectives: RCCL runs all of them in a few kernels, whose names say little; the calls
 * around their launches do. */

static int by_thread(const void *a, const void *b, void *ctx)
{
    const struct inq_rocprof_span *x = a;
    const struct inq_rocprof_span *y = b;
    (void)ctx;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The last call of the thread that began by then, or -1. */
static int64_t call_before(const struct inq_rocprof_spans *rccl, int64_t thread, int64_t ns)
{
    size_t lo = 0;
    size_t hi = rccl->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct inq_rocprof_span *call = &rccl->at[mid];
        bool before = call->thread < thread || (call->thread == thread && call->start_ns <= ns);
        lo = before ? mid + 1 : lo;
        hi = before ? hi : mid;
    }
    return lo > 0 && rccl->at[lo - 1].thread == thread ? (int64_t)lo - 1 : -1;
}

/* What a call is: "ncclAllReduce". */
static const char *call_name(const struct inq_rocprof *p, size_t call)
{
    uint32_t name = 0;
    (void)inq_map_get(&p->operations, p->rccl.at[call].op, &name);
    return text_of(p, name);
}

static enum inq_coll_kind kind_of_call(const char *name)
{
    bool nccl = strncmp(name, "nccl", 4) == 0;
    return nccl ? inq_coll_from_name(name + 4, strlen(name + 4)) : INQ_COLL_UNKNOWN;
}

/* The kind of all operations of the group that the call ends, else unknown. */
static enum inq_coll_kind kind_of_group(const struct inq_rocprof *p, size_t end)
{
    enum { MAX_GROUP = 4096 }; /* calls: more are no group, but a start that was not recorded */
    const struct inq_rocprof_spans *rccl = &p->rccl;
    enum inq_coll_kind kind = INQ_COLL_UNKNOWN;
    for (size_t i = end; i > 0 && end - i < MAX_GROUP; i--) {
        const char *name = call_name(p, i - 1);
        if (rccl->at[i - 1].thread != rccl->at[end].thread || strcmp(name, "ncclGroupStart") == 0) {
            return kind;
        }
        enum inq_coll_kind own = kind_of_call(name);
        if (own != INQ_COLL_UNKNOWN && kind != INQ_COLL_UNKNOWN && own != kind) {
            return INQ_COLL_UNKNOWN;
        }
        kind = own != INQ_COLL_UNKNOWN ? own : kind;
    }
    return kind;
}

/* By correlation: the call of RCCL itself, or the launch and with it the thread and the time. */
struct origins {
    struct inq_map rccl, launches;
};

static enum inq_coll_kind kind_of_event(const struct inq_rocprof *p, const struct origins *origins,
                                        uint32_t correlation)
{
    const struct inq_rank *rank = &p->shard->ranks[p->rank];
    uint32_t at = 0;
    int64_t call = -1;
    if (inq_map_get(&origins->rccl, correlation, &at)) {
        call = at;
    } else if (inq_map_get(&origins->launches, correlation, &at)) {
        int64_t start_ns = rank->calls.start_ns[at];
        call = call_before(&p->rccl, rank->lanes[rank->calls.lane[at]].id, start_ns);
        call = call >= 0 && p->rccl.at[call].end_ns >= start_ns ? call : -1;
    }
    if (call < 0) {
        return INQ_COLL_UNKNOWN;
    }
    const char *name = call_name(p, (size_t)call);
    return strcmp(name, "ncclGroupEnd") == 0 ? kind_of_group(p, (size_t)call) : kind_of_call(name);
}

static int list_origins(struct inq_rocprof *p, struct origins *origins, struct inq_err *err)
{
    struct inq_rocprof_spans *rccl = &p->rccl;
    const struct inq_calls *calls = &rank_of(p)->calls;
    int code = inq_sort(rccl->at, rccl->n, sizeof *rccl->at, by_thread, NULL, err);
    for (size_t i = 0; i < rccl->n && code == INQ_OK; i++) {
        code = inq_map_put(&origins->rccl, (uint32_t)rccl->at[i].correlation, (uint32_t)i, err);
    }
    for (size_t i = 0; rccl->n > 0 && i < calls->n && code == INQ_OK; i++) {
        code = inq_map_put(&origins->launches, (uint32_t)calls->correlation[i], (uint32_t)i, err);
    }
    return code;
}

static int add_comms(struct inq_rocprof *p, struct inq_err *err)
{
    struct inq_events *e = &rank_of(p)->events;
    struct origins origins = {0};
    int code = list_origins(p, &origins, err);
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        if (e->cls[i] != INQ_CLASS_COMM) {
            continue;
        }
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.kind = kind_of_event(p, &origins, e->call[i]);
        if (comm.kind != INQ_COLL_UNKNOWN) { /* else the kernel's name says it when it is sealed */
            const char *name = inq_coll_kind_text(comm.kind);
            code = inq_strtab_add(&p->shard->names, name, strlen(name), &comm.op_name, err);
        }
        code = code == INQ_OK ? inq_rank_add_comm(rank_of(p), &comm, &e->comm[i], err) : code;
    }
    inq_map_release(&origins.rccl);
    inq_map_release(&origins.launches);
    return code;
}

int inq_rocprof_finish(struct inq_rocprof *p, struct inq_err *err)
{
    struct inq_rank *rank = rank_of(p);
    int32_t gpu = device_of(p, p->first_gpu);
    if (gpu >= 0) {
        rank->device_name = p->gpus[gpu].name;
        rank->multiprocessors = p->gpus[gpu].units;
    }
    name_events(p);
    name_calls(p);
    int code = add_notes(p, err);
    code = code == INQ_OK ? add_comms(p, err) : code;
    inq_mem_free(p->gpus);
    inq_map_release(&p->operations);
    inq_map_release(&p->kernels);
    inq_kernel_classes_release(&p->classes);
    inq_map_release(&p->markers);
    inq_mem_free(p->event_names);
    inq_mem_free(p->call_names);
    inq_mem_free(p->ranges.at);
    inq_mem_free(p->rccl.at);
    return code;
}
