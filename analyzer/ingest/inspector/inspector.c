/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the NCCL Inspector: one JSON object per operation, communicator and rank. */
#include "ingest/inspector/inspector.h"

#include "ingest/scan/scan.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- one record ------------------------------------------------------------------------------ */

/* Texts point into the text that was scanned, n == 0: not there. Numbers: -1 not there, times: ns
 * since the epoch, INQ_TIME_NONE not there. */
struct record {
    struct inq_text id, comm_name, host, op; /* op: "AllReduce", "Send" */
    struct inq_text algorithm, protocol;     /* "RING", "SIMPLE" */
    int64_t rank, n_ranks, pid;              /* rank: the place in the communicator */
    int64_t sn, bytes, peer, exec_ns;
    int64_t op_start_ns; /* when the host enqueued it */
    int64_t stop_ns;     /* when the last of its channels was seen to have stopped */
    int32_t channels;    /* that were seen to have stopped */
    bool p2p;
    bool marker;     /* dump_stats: what follows is of the communicator that it names */
    bool bad_number; /* some field's number could not be read */
};

static const struct record EMPTY = {.rank = -1,
                                    .n_ranks = -1,
                                    .pid = -1,
                                    .sn = -1,
                                    .bytes = -1,
                                    .peer = -1,
                                    .exec_ns = -1,
                                    .op_start_ns = INQ_TIME_NONE,
                                    .stop_ns = INQ_TIME_NONE};

enum form { TEXT, NUMBER, MICROSECONDS, DURATION };

struct field {
    const char *key;
    enum form form;
    size_t at;
};

#define AT(member) offsetof(struct record, member)

enum { P2P = 0, N_FIELDS = 20 };

static const struct field fields[N_FIELDS] = {
    [P2P] = {"p2p", TEXT, AT(op)},
    {"id", TEXT, AT(id)},
    {"comm_name", TEXT, AT(comm_name)},
    {"hostname", TEXT, AT(host)},
    {"coll", TEXT, AT(op)},
    {"coll_algo", TEXT, AT(algorithm)},
    {"coll_proto", TEXT, AT(protocol)},
    {"rank", NUMBER, AT(rank)},
    {"n_ranks", NUMBER, AT(n_ranks)},
    {"pid", NUMBER, AT(pid)},
    {"coll_sn", NUMBER, AT(sn)},
    {"p2p_sn", NUMBER, AT(sn)},
    {"coll_msg_size_bytes", NUMBER, AT(bytes)},
    {"p2p_msg_size_bytes", NUMBER, AT(bytes)},
    {"p2p_peer", NUMBER, AT(peer)},
    {"coll_exec_time_us", DURATION, AT(exec_ns)},
    {"p2p_exec_time_us", DURATION, AT(exec_ns)},
    {"coll_start_ts", MICROSECONDS, AT(op_start_ns)},
    {"p2p_start_ts", MICROSECONDS, AT(op_start_ns)},
    {"kernel_stop_ts", MICROSECONDS, AT(stop_ns)},
};

/* Objects and lists that hold fields; all others are passed over. */
static bool is_entered(struct inq_text key)
{
    static const char *const names[] = {"header",   "metadata",       "coll_perf",
                                        "p2p_perf", "event_trace_ts", "kernel_events"};
    bool entered = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        entered = entered || inq_text_is(key, names[i]);
    }
    return entered;
}

static void take_number(const struct field *field, struct inq_text text, struct record *record)
{
    int64_t *out = (int64_t *)(void *)((char *)record + field->at);
    int64_t value = -1;
    bool fraction = false;
    bool good = field->form == NUMBER ? inq_scan_int(text.p, text.n, &value)
                                      : inq_scan_time(text.p, text.n, &value, &fraction);
    if (!good || value < 0) {
        record->bad_number = record->bad_number || !inq_text_is(text, "null");
    } else if (field->form != MICROSECONDS) {
        *out = value;
    } else if (value >= INQ_NCCL_MIN_EPOCH_NS) {
        *out = *out == INQ_TIME_NONE || value > *out ? value : *out; /* of channels: the last */
        record->channels += field->at == AT(stop_ns);
    }
}

static void take(const struct inq_layout_value *value, struct record *record)
{
    const struct field *field = &fields[value->field];
    if (field->form == TEXT) {
        *(struct inq_text *)(void *)((char *)record + field->at) = value->text;
        record->p2p = record->p2p || value->field == P2P;
    } else {
        take_number(field, value->text, record);
    }
}

static int find(struct inq_text key)
{
    for (int i = 0; i < N_FIELDS; i++) {
        if (inq_text_is(key, fields[i].key)) {
            return i;
        }
    }
    return -1;
}

static enum inq_scan_result take_value(struct inq_scan *scan, struct inq_text key, int first,
                                       struct inq_layouts *layouts, struct record *record)
{
    struct inq_layout_value value = {{NULL, 0}, find(key)};
    if (value.field < 0 || first == '{' || first == '[') {
        return inq_scan_skip(scan);
    }
    bool quoted = first == '"';
    enum inq_scan_result result =
        quoted ? inq_scan_string(scan, &value.text) : inq_scan_bare(scan, &value.text);
    if (result == INQ_SCAN_OK && (quoted || fields[value.field].form != TEXT)) {
        inq_layouts_note(layouts, &value);
        take(&value, record);
    }
    return result;
}

/* A record's objects: the outermost, its perf, the trace in that, its channels' list and each of
 * these. */
#define MAX_DEPTH 8

struct nest {
    bool list[MAX_DEPTH]; /* by depth: '[', not '{' */
    size_t n;
};

static enum inq_scan_result take_member(struct inq_scan *scan, struct nest *nest,
                                        struct inq_layouts *layouts, struct record *record)
{
    struct inq_text key = {NULL, 0};
    enum inq_scan_result result = inq_scan_key(scan, &key);
    int first = result == INQ_SCAN_OK ? inq_scan_blank(scan) : -1;
    if (result != INQ_SCAN_OK || first < 0) {
        return result == INQ_SCAN_OK ? INQ_SCAN_MORE : result;
    }
    record->marker = record->marker || inq_text_is(key, "dump_stats");
    if ((first == '{' || first == '[') && nest->n < MAX_DEPTH && is_entered(key)) {
        nest->list[nest->n++] = first == '[';
        scan->p++;
        return INQ_SCAN_OK;
    }
    return take_value(scan, key, first, layouts, record);
}

/* Reads the object whose opening brace is at the cursor, key by key; on INQ_SCAN_OK the cursor is
 * behind its closing brace. */
static enum inq_scan_result scan_record(struct inq_scan *scan, struct inq_layouts *layouts,
                                        struct record *record)
{
    struct nest nest = {.n = 1};
    inq_layouts_begin(layouts);
    scan->p++;
    while (nest.n > 0) {
        bool list = nest.list[nest.n - 1];
        enum inq_scan_result result = INQ_SCAN_OK;
        int first = inq_scan_blank(scan);
        if (first < 0) {
            return INQ_SCAN_MORE;
        }
        if (first == (list ? ']' : '}')) {
            nest.n--;
            scan->p++;
        } else if (first == ',') {
            scan->p++;
        } else if (!list && first == '"') {
            result = take_member(scan, &nest, layouts, record);
        } else if (list && first == '{' && nest.n < MAX_DEPTH) {
            nest.list[nest.n++] = false;
            scan->p++;
        } else {
            return INQ_SCAN_BAD;
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
    return INQ_SCAN_OK;
}

/* ---- records of one process ------------------------------------------------------------------ */

/* No record is longer: 64 channels of 100 bytes, twice. What is, is passed over to the next line.
 */
#define MAX_RECORD ((size_t)1 << 20)
/* Of a name that is known again as it is written; longer ones are read each time. */
#define MAX_NAME 256
/* An operation of more than a day is none. */
#define MAX_EXEC_NS ((int64_t)86400 * 1000000000)

/* A text as it was written; longer ones are not kept. */
struct spelling {
    uint32_t n;
    char text[MAX_NAME];
};

/* The first few operations that occur: no more have names. */
enum { MAX_OPS = 16 };

struct op {
    inq_str name;
    enum inq_coll_kind kind;
};

/* Whose records are being read: v4.3 says it once per dump of a communicator, in front of its
 * records; before that every record did. */
struct reading {
    struct inq_shard *shard;
    struct inq_layouts layouts;
    uint32_t rank;                 /* of the shard's */
    uint32_t group;                /* the communicator of the records that name none; INQ_NONE */
    int64_t place, size;           /* of this rank in it */
    struct spelling id, comm_name; /* of that communicator, as the last record wrote them */
    struct op ops[MAX_OPS];
    size_t n_ops;
    uint64_t untimed; /* records without a time */
    uint64_t others;  /* records of another device of the same process */
};

static bool is_spelled(const struct spelling *spelling, struct inq_text text)
{
    return spelling->n == text.n && (text.n == 0 || memcmp(spelling->text, text.p, text.n) == 0);
}

static void keep_spelling(struct spelling *spelling, struct inq_text text)
{
    spelling->n = text.n <= MAX_NAME ? text.n : UINT32_MAX;
    if (text.n > 0 && text.n <= MAX_NAME) {
        memcpy(spelling->text, text.p, text.n);
    }
}

/* Nearly every record that names a communicator is of the one that the last one named. */
static bool is_same_group(const struct reading *r, const struct record *record)
{
    const struct inq_rank *rank = &r->shard->ranks[r->rank];
    return r->group != INQ_NONE && r->place == record->rank && r->size == record->n_ranks &&
           (rank->host != 0 || record->host.n == 0) && (rank->pid >= 0 || record->pid < 0) &&
           is_spelled(&r->id, record->id) && is_spelled(&r->comm_name, record->comm_name);
}

/* Until all files are read, a communicator's members are only this one: its place there. */
static int set_group(struct reading *r, const struct record *record, struct inq_err *err)
{
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    inq_str name = 0;
    inq_str desc = 0;
    if (is_same_group(r, record)) {
        return INQ_OK;
    }
    int code = inq_scan_name(record->id, &r->shard->names, &name, err);
    if (code == INQ_OK && record->comm_name.n > 0 && !inq_text_is(record->comm_name, "unknown")) {
        code = inq_scan_name(record->comm_name, &r->shard->names, &desc, err);
    }
    if (code == INQ_OK && record->host.n > 0 && rank->host == 0) {
        code = inq_scan_name(record->host, &r->shard->names, &rank->host, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    rank->pid = rank->pid < 0 ? record->pid : rank->pid;
    r->place = record->rank;
    r->size = record->n_ranks;
    keep_spelling(&r->id, record->id);
    keep_spelling(&r->comm_name, record->comm_name);
    int32_t place = (int32_t)record->rank;
    for (uint32_t g = 0; g < r->shard->n_groups; g++) {
        if (r->shard->groups[g].name == name) {
            r->group = g;
            return INQ_OK;
        }
    }
    return inq_shard_add_group(r->shard, name, desc, (int32_t)record->n_ranks, &place, 1, &r->group,
                               err);
}

static int lane_of(struct reading *r, uint32_t *lane, struct inq_err *err)
{
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    int code = inq_rank_lane(rank, INQ_LANE_STREAM, -1, r->group, lane, err);
    if (code == INQ_OK) {
        const struct inq_group *group = &r->shard->groups[r->group];
        rank->lanes[*lane].name = group->desc != 0 ? group->desc : group->name;
    }
    return code;
}

/* The recorded size is one rank's part where parts are gathered or scattered (as the bandwidths
 * beside it show), in bytes whatever the type. */
static void set_size(struct inq_comm *comm, int64_t bytes, int64_t size)
{
    bool grows = comm->kind == INQ_COLL_ALLGATHER;
    bool shrinks = comm->kind == INQ_COLL_REDUCE_SCATTER;
    if (bytes >= 0 && (size <= 0 || bytes <= INT64_MAX / size)) {
        comm->dtype_bytes = 1;
        comm->in_elems = shrinks ? bytes * size : bytes;
        comm->out_elems = grows ? bytes * size : bytes;
    }
}

/* Channels report their end to the host, but how long the kernel ran is the device's own account:
 * its start is that long before the end. One with no channels only has the time it was enqueued. */
static int64_t start_of(const struct record *record)
{
    return record->stop_ns != INQ_TIME_NONE ? record->stop_ns - record->exec_ns
                                            : record->op_start_ns;
}

static enum inq_coll_kind kind_of(struct reading *r, inq_str name)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        if (r->ops[i].name == name) {
            return r->ops[i].kind;
        }
    }
    const struct inq_strtab *names = &r->shard->names;
    enum inq_coll_kind kind =
        inq_coll_from_name(inq_strtab_get(names, name), inq_strtab_len(names, name));
    if (r->n_ops < MAX_OPS) {
        r->ops[r->n_ops++] = (struct op){name, kind};
    }
    return kind;
}

static int add_op(struct reading *r, const struct record *record, struct inq_err *err)
{
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    struct inq_event_row row = {.start_ns = start_of(record),
                                .dur_ns = record->exec_ns,
                                .call = INQ_NONE,
                                .label = INQ_NONE,
                                .kind = INQ_EVENT_KERNEL,
                                .cls = INQ_CLASS_COMM};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.group = r->group;
    comm.group_size = (int32_t)r->size;
    comm.seq = record->sn;
    bool has_peer = record->p2p && record->peer >= 0 && record->peer < r->size;
    comm.peer = has_peer ? (int32_t)record->peer : -1;
    int code = inq_scan_name(record->op, &r->shard->names, &comm.op_name, err);
    comm.kind = kind_of(r, comm.op_name);
    comm.channels = record->channels;
    set_size(&comm, record->bytes, r->size);
    row.name = comm.op_name;
    if (code == INQ_OK) {
        code = inq_nccl_algorithm(&r->shard->names, record->algorithm, record->protocol,
                                  &comm.algorithm, err);
    }
    if (code == INQ_OK) {
        code = lane_of(r, &row.lane, err);
    }
    if (code == INQ_OK) {
        code = inq_rank_add_comm(rank, &comm, &row.comm, err);
    }
    r->shard->file.events_kept += code == INQ_OK;
    return code == INQ_OK ? inq_rank_add_event(rank, &row, err) : code;
}

static int add_record(struct reading *r, const struct record *record, int64_t offset,
                      struct inq_err *err)
{
    struct inq_damage *damage = &r->shard->file.damage;
    bool named = record->id.n > 0 && record->n_ranks > 0 && record->n_ranks <= INT32_MAX &&
                 record->rank >= 0 && record->rank < record->n_ranks;
    int code = named ? set_group(r, record, err) : INQ_OK;
    inq_damage_add(damage, INQ_DAMAGE_BAD_NUMBER, record->bad_number, offset);
    r->shard->file.events++;
    if (code != INQ_OK || record->marker || (record->op.n == 0 && record->sn < 0)) {
        return code; /* other records: the proxy's steps */
    }
    bool whole = r->group != INQ_NONE && record->op.n > 0 && record->sn >= 0 &&
                 record->exec_ns >= 0 && record->exec_ns <= MAX_EXEC_NS;
    if (!whole) {
        inq_damage_add(damage, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return INQ_OK;
    }
    int64_t start = start_of(record);
    if (r->shard->groups[r->group].ranks[0] != r->place) {
        r->others++;
        return INQ_OK;
    }
    if (start == INQ_TIME_NONE || start > INQ_NCCL_MAX_TIME_NS) {
        r->untimed++;
        return INQ_OK;
    }
    return add_op(r, record, err);
}

/* ---- documents ------------------------------------------------------------------------------- */

static enum inq_scan_result read_record(void *reading, struct inq_scan *scan, int64_t offset,
                                        int *code, struct inq_err *err)
{
    struct reading *r = reading;
    struct inq_layouts *layouts = &r->layouts;
    struct record record = EMPTY;
    const char *start = scan->p;
    int marker = 0;
    *code = INQ_OK;
    if (inq_layouts_match(layouts, &scan->p, scan->end, &marker)) {
        for (size_t i = 0; i < layouts->n_values; i++) {
            take(&layouts->values[i], &record);
        }
        record.marker = marker != 0;
    } else {
        enum inq_scan_result result = scan_record(scan, layouts, &record);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        *code = inq_layouts_learn(layouts, start, scan->p, record.marker, err);
    }
    *code = *code == INQ_OK ? add_record(r, &record, offset, err) : *code;
    return INQ_SCAN_OK;
}

static int read_records(struct reading *r, struct inq_source *source, struct inq_err *err)
{
    const struct inq_nccl_objects objects = {read_record, r, MAX_RECORD, &r->shard->file.damage};
    return inq_nccl_read_objects(source, &objects, err);
}

/* What of the records could not be placed in time. */
static int say_what_is_missing(struct reading *r, struct inq_err *err)
{
    struct inq_file *file = &r->shard->file;
    if (r->untimed > 0) {
        file->reason = inq_arena_asprintf(
            &r->shard->arena,
            "%" PRIu64 " operations without times are left out; NCCL_INSPECTOR_DUMP_VERBOSE=1 "
            "records them",
            r->untimed);
    } else if (r->others > 0) {
        file->reason = inq_arena_asprintf(
            &r->shard->arena, "%" PRIu64 " operations of the process's other devices are left out",
            r->others);
    }
    return file->reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static int read_inspector(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct reading r = {.shard = shard, .group = INQ_NONE};
    shard->file.format = INQ_FORMAT_INSPECTOR;
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
    }
    int code = inq_shard_add_rank(shard, &r.rank, err);
    if (code == INQ_OK) {
        code = read_records(&r, source, err);
    }
    inq_layouts_release(&r.layouts);
    shard->ranks[r.rank].has_clock_epoch = true;
    return code == INQ_OK ? say_what_is_missing(&r, err) : code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int sniff_inspector(const char *head, size_t n, const char *path)
{
    (void)path;
    static const char *const words[] = {"\"coll_perf\"", "\"p2p_perf\"", "\"dump_stats\"",
                                        "\"inspector_output_format_version\""};
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') {
        at++;
    }
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && at < n && head[at] == '{'; i++) {
        found = found || memmem(head + at, n - at, words[i], strlen(words[i])) != NULL;
    }
    return found && memmem(head, n, "\"traceEvents\"", 13) == NULL ? 97 : 0;
}

const struct inq_reader inq_reader_inspector = {
    .name = INQ_FORMAT_INSPECTOR,
    .summary = "NCCL Inspector records (JSON lines): collectives of each rank",
    .sniff = sniff_inspector,
    .read = read_inspector,
    .join = inq_inspector_join,
};
