/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of NCCL's example profiler: asynchronous Chrome events, one operation inside of the call
 * and the group that it is of, a file for each communicator and rank. */
#include "ingest/inspector/inspector.h"

#include "base/mem.h"
#include "ingest/scan/scan.h"
#include "trace/trace.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- one event ------------------------------------------------------------------------------- */

/* Texts point into the text that was scanned, n == 0: not there. Numbers: -1 not there. */
struct event {
    struct inq_text name, cat, phase, comm, dtype, algorithm, protocol;
    int64_t id, pid, ts_ns;
    int64_t seq, place, peer, count, channels;
    int64_t gpu_start_ns, gpu_stop_ns;
    bool bad_number;
};

static const struct event EMPTY = {.id = -1,
                                   .pid = -1,
                                   .ts_ns = -1,
                                   .seq = -1,
                                   .place = -1,
                                   .peer = -1,
                                   .count = -1,
                                   .channels = -1,
                                   .gpu_start_ns = -1,
                                   .gpu_stop_ns = -1};

enum form { TEXT, NUMBER, MICROSECONDS };

struct field {
    const char *key;
    enum form form;
    size_t at;
};

#define AT(member) offsetof(struct event, member)

static const struct field fields[] = {
    {"name", TEXT, AT(name)},
    {"cat", TEXT, AT(cat)},
    {"ph", TEXT, AT(phase)},
    {"id", NUMBER, AT(id)},
    {"pid", NUMBER, AT(pid)},
    {"ts", MICROSECONDS, AT(ts_ns)},
    {"SeqNum", NUMBER, AT(seq)},
    {"CommHash", TEXT, AT(comm)},
    {"Rank", NUMBER, AT(place)},
    {"Peer", NUMBER, AT(peer)},
    {"Count", NUMBER, AT(count)},
    {"Datatype", TEXT, AT(dtype)},
    {"Algorithm", TEXT, AT(algorithm)},
    {"Protocol", TEXT, AT(protocol)},
    {"nChannels", NUMBER, AT(channels)},
    {"StartGpuClk", NUMBER, AT(gpu_start_ns)},
    {"StopGpuClk", NUMBER, AT(gpu_stop_ns)},
};

static int find(struct inq_text key)
{
    for (int i = 0; i < (int)(sizeof fields / sizeof *fields); i++) {
        if (inq_text_is(key, fields[i].key)) {
            return i;
        }
    }
    return -1;
}

static void take_number(const struct field *field, struct inq_text text, struct event *event)
{
    int64_t value = -1;
    bool fraction = false;
    bool good = field->form == NUMBER ? inq_scan_int(text.p, text.n, &value)
                                      : inq_scan_time(text.p, text.n, &value, &fraction);
    if (good && value >= 0) {
        *(int64_t *)(void *)((char *)event + field->at) = value;
    } else {
        event->bad_number = true;
    }
}

static void take(const struct inq_layout_value *value, struct event *event)
{
    const struct field *field = &fields[value->field];
    if (field->form == TEXT) {
        *(struct inq_text *)(void *)((char *)event + field->at) = value->text;
    } else {
        take_number(field, value->text, event);
    }
}

/* The hash of a communicator is written as a number that may be beyond what is signed. */
static enum inq_scan_result take_value(struct inq_scan *scan, struct inq_text key, int first,
                                       struct inq_layouts *layouts, struct event *event)
{
    struct inq_layout_value value = {{NULL, 0}, find(key)};
    if (value.field < 0 || first == '{' || first == '[') {
        return inq_scan_skip(scan);
    }
    enum inq_scan_result result =
        first == '"' ? inq_scan_string(scan, &value.text) : inq_scan_bare(scan, &value.text);
    if (result == INQ_SCAN_OK) {
        inq_layouts_note(layouts, &value);
        take(&value, event);
    }
    return result;
}

/* Reads the object whose opening brace is at the cursor, its args with it, key by key; on
 * INQ_SCAN_OK the cursor is behind its closing brace. */
static enum inq_scan_result scan_event(struct inq_scan *scan, struct inq_layouts *layouts,
                                       struct event *event)
{
    size_t depth = 1;
    inq_layouts_begin(layouts);
    scan->p++;
    while (depth > 0) {
        struct inq_text key = {NULL, 0};
        int first = -1;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        if (first == 0) {
            depth--;
        } else if (first == '{' && depth == 1 && inq_text_is(key, "args")) {
            depth++;
            scan->p++;
        } else {
            result = take_value(scan, key, first, layouts, event);
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
    return INQ_SCAN_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* No event is longer; what is, is passed over to the next line. */
#define MAX_EVENT ((size_t)1 << 16)

/* An operation, with what its channels' kernels or proxies say of when it ran. */
struct operation {
    uint32_t comm, lane;
    inq_str name;
    int64_t start_ns, end_ns;         /* on the host, since its profiler began */
    int64_t gpu_start_ns, gpu_end_ns; /* INQ_TIME_NONE: not recorded */
    bool proxies;                     /* the host's times are of the operation, not of its launch */
};

struct reading {
    struct inq_shard *shard;
    struct inq_layouts layouts;
    uint32_t rank; /* of the shard's */
    bool open;     /* `op` has begun */
    bool p2p;      /* it is a transfer between two */
    int64_t open_id;
    int64_t offset; /* of its begin */
    struct operation op;
    struct operation *ops;
    size_t n_ops, cap_ops;
};

/* Until all files are read, a communicator's members are only this one: its place there. */
static int find_group(struct reading *r, const struct event *event, uint32_t *group,
                      struct inq_err *err)
{
    inq_str name = 0;
    int32_t place = (int32_t)event->place;
    int code = inq_scan_name(event->comm, &r->shard->names, &name, err);
    return code == INQ_OK ? inq_shard_add_group(r->shard, name, 0, -1, &place, 1, group, err)
                          : code;
}

/* "ncclBfloat16" */
static uint32_t bytes_of(struct inq_text dtype)
{
    static const char prefix[] = "nccl";
    char name[32]; /* of a dtype: "ncclBfloat16" */
    size_t n = 0;
    size_t skip = sizeof prefix - 1;
    if (dtype.n <= skip || dtype.n >= sizeof name || memcmp(dtype.p, prefix, skip) != 0) {
        return 0;
    }
    for (size_t i = skip; i < dtype.n; i++) {
        name[n++] = (char)tolower((unsigned char)dtype.p[i]);
    }
    bool eight = n > 6 && memcmp(name, "float8", 6) == 0;
    return eight ? 1 : inq_dtype_bytes(name, n);
}

static int add_comm(struct reading *r, const struct event *event, uint32_t group, uint32_t *index,
                    struct inq_err *err)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = inq_coll_from_name(event->name.p, event->name.n);
    comm.group = group;
    comm.seq = event->seq;
    comm.peer = r->p2p && event->peer >= 0 && event->peer <= INT32_MAX ? (int32_t)event->peer : -1;
    comm.dtype_bytes = bytes_of(event->dtype);
    comm.in_elems = event->count;
    comm.out_elems = event->count;
    bool has_channels = event->channels > 0 && event->channels <= INT32_MAX;
    comm.channels = has_channels ? (int32_t)event->channels : 0;
    int code = inq_scan_name(event->name, &r->shard->names, &comm.op_name, err);
    code = code == INQ_OK ? inq_nccl_algorithm(&r->shard->names, event->algorithm, event->protocol,
                                               &comm.algorithm, err)
                          : code;
    r->op.name = comm.op_name;
    return code == INQ_OK ? inq_rank_add_comm(&r->shard->ranks[r->rank], &comm, index, err) : code;
}

static int begin(struct reading *r, const struct event *event, int64_t offset, struct inq_err *err)
{
    struct inq_damage *damage = &r->shard->file.damage;
    bool whole = event->comm.n > 0 && event->place >= 0 && event->place < INT32_MAX &&
                 event->name.n > 0 && event->ts_ns >= 0 && event->ts_ns <= INQ_NCCL_MAX_TIME_NS;
    inq_damage_add(damage, INQ_DAMAGE_BAD_EVENT, r->open, r->offset); /* it never ended */
    inq_damage_add(damage, INQ_DAMAGE_BAD_EVENT, !whole, offset);
    r->open = whole;
    if (!whole) {
        return INQ_OK;
    }
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    uint32_t group = INQ_NONE;
    r->p2p = inq_text_is(event->cat, "P2P");
    r->open_id = event->id;
    r->offset = offset;
    r->op = (struct operation){
        .start_ns = event->ts_ns, .gpu_start_ns = INQ_TIME_NONE, .gpu_end_ns = INQ_TIME_NONE};
    rank->pid = rank->pid < 0 ? event->pid : rank->pid;
    int code = find_group(r, event, &group, err);
    if (code == INQ_OK) {
        code = add_comm(r, event, group, &r->op.comm, err);
    }
    if (code == INQ_OK) {
        code = inq_rank_lane(rank, INQ_LANE_STREAM, -1, group, &r->op.lane, err);
    }
    if (code == INQ_OK) {
        rank->lanes[r->op.lane].name = r->shard->groups[group].name;
    }
    return code;
}

static int end(struct reading *r, const struct event *event, int64_t offset, struct inq_err *err)
{
    bool good = r->open && event->id == r->open_id && event->ts_ns >= r->op.start_ns &&
                event->ts_ns <= INQ_NCCL_MAX_TIME_NS;
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_EVENT, !good, offset);
    r->open = r->open && !good && event->id != r->open_id;
    if (!good) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&r->ops, &r->cap_ops, r->n_ops + 1, sizeof *r->ops, INQ_NONE, err);
    if (code == INQ_OK) {
        r->op.end_ns = event->ts_ns;
        r->ops[r->n_ops++] = r->op;
    }
    return code;
}

/* The first of its channels to start, the last to stop, on the GPU's own clock. */
static void add_channel(struct reading *r, const struct event *event)
{
    int64_t start_ns = event->gpu_start_ns;
    int64_t stop_ns = event->gpu_stop_ns;
    struct operation *op = &r->op;
    if (start_ns <= 0 || stop_ns < start_ns || stop_ns > INQ_NCCL_MAX_TIME_NS) {
        return;
    }
    bool first = op->gpu_start_ns == INQ_TIME_NONE;
    op->gpu_start_ns = first || start_ns < op->gpu_start_ns ? start_ns : op->gpu_start_ns;
    op->gpu_end_ns = first || stop_ns > op->gpu_end_ns ? stop_ns : op->gpu_end_ns;
}

static int add_event(struct reading *r, const struct event *event, int64_t offset,
                     struct inq_err *err)
{
    bool operation = inq_text_is(event->cat, "COLL") || inq_text_is(event->cat, "P2P");
    bool begins = inq_text_is(event->phase, "b");
    if (event->cat.n == 0 && event->phase.n == 0) {
        return INQ_OK; /* the one behind the last comma */
    }
    r->shard->file.events++;
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_NUMBER, event->bad_number, offset);
    if (operation && begins) {
        return begin(r, event, offset, err);
    }
    if (operation && inq_text_is(event->phase, "e")) {
        return end(r, event, offset, err);
    }
    if (r->open && begins && inq_text_is(event->name, "KernelCh")) {
        add_channel(r, event);
    }
    r->op.proxies = r->op.proxies || (r->open && inq_text_is(event->cat, "PROXY"));
    return INQ_OK;
}

/* ---- documents ------------------------------------------------------------------------------- */

static enum inq_scan_result read_event(void *reading, struct inq_scan *scan, int64_t offset,
                                       int *code, struct inq_err *err)
{
    struct reading *r = reading;
    struct inq_layouts *layouts = &r->layouts;
    struct event event = EMPTY;
    const char *start = scan->p;
    int tag = 0;
    *code = INQ_OK;
    if (inq_layouts_match(layouts, &scan->p, scan->end, &tag)) {
        for (size_t i = 0; i < layouts->n_values; i++) {
            take(&layouts->values[i], &event);
        }
    } else {
        enum inq_scan_result result = scan_event(scan, layouts, &event);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        *code = inq_layouts_learn(layouts, start, scan->p, tag, err);
    }
    *code = *code == INQ_OK ? add_event(r, &event, offset, err) : *code;
    return INQ_SCAN_OK;
}

static int read_events(struct reading *r, struct inq_source *source, struct inq_err *err)
{
    const struct inq_nccl_objects objects = {read_event, r, MAX_EVENT, &r->shard->file.damage};
    int code = inq_nccl_read_objects(source, &objects, err);
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_TRUNCATED, r->open, r->offset);
    return code;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Which of its times the file is read by: the GPU's where there are any. Two clocks cannot be
 * mixed, and a host that only launched an operation does not know when it ran. */
static bool time_of(const struct operation *op, bool by_gpu, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = by_gpu ? op->gpu_start_ns : op->start_ns;
    *end_ns = by_gpu ? op->gpu_end_ns : op->end_ns;
    return by_gpu ? op->gpu_start_ns != INQ_TIME_NONE : op->proxies;
}

static int add_operations(struct reading *r, uint64_t *untimed, struct inq_err *err)
{
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    bool by_gpu = false;
    bool epoch = true;
    for (size_t i = 0; i < r->n_ops; i++) {
        by_gpu = by_gpu || r->ops[i].gpu_start_ns != INQ_TIME_NONE;
    }
    int code = INQ_OK;
    for (size_t i = 0; i < r->n_ops && code == INQ_OK; i++) {
        const struct operation *op = &r->ops[i];
        int64_t start_ns;
        int64_t end_ns;
        if (!time_of(op, by_gpu, &start_ns, &end_ns)) {
            ++*untimed;
            continue;
        }
        epoch = epoch && start_ns >= INQ_NCCL_MIN_EPOCH_NS;
        struct inq_event_row row = {.start_ns = start_ns,
                                    .dur_ns = end_ns - start_ns,
                                    .name = op->name,
                                    .lane = op->lane,
                                    .call = INQ_NONE,
                                    .comm = op->comm,
                                    .label = INQ_NONE,
                                    .kind = INQ_EVENT_KERNEL,
                                    .cls = INQ_CLASS_COMM};
        code = inq_rank_add_event(rank, &row, err);
        r->shard->file.events_kept++;
    }
    rank->has_clock_epoch = epoch && rank->events.n > 0;
    return code;
}

static int read_dump(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct reading r = {.shard = shard};
    uint64_t untimed = 0;
    shard->file.format = INQ_FORMAT_NCCL_PROFILER;
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
    }
    int code = inq_shard_add_rank(shard, &r.rank, err);
    if (code == INQ_OK) {
        code = read_events(&r, source, err);
    }
    if (code == INQ_OK) {
        code = add_operations(&r, &untimed, err);
    }
    inq_layouts_release(&r.layouts);
    inq_mem_free(r.ops);
    if (code == INQ_OK && untimed > 0) {
        shard->file.reason = inq_arena_asprintf(
            &shard->arena,
            "%" PRIu64 " operations of which only the launch was recorded are left out; "
            "NCCL_PROFILE_EVENT_MASK=64 records their kernels",
            untimed);
        code = shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    return code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int sniff_dump(const char *head, size_t n, const char *path)
{
    (void)path;
    static const char *const words[] = {"\"GROUP_API\"", "\"COLL_API\"", "\"P2P_API\"",
                                        "\"CommHash\""};
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') {
        at++;
    }
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && at < n && head[at] == '['; i++) {
        found = found || memmem(head + at, n - at, words[i], strlen(words[i])) != NULL;
    }
    return found ? 97 : 0;
}

const struct inq_reader inq_reader_nccl_profiler = {
    .name = INQ_FORMAT_NCCL_PROFILER,
    .summary = "NCCL's example profiler (Chrome events): collectives by communicator",
    .sniff = sniff_dump,
    .read = read_dump,
};
