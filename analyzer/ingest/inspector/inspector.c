/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the NCCL Inspector: one JSON object per operation, communicator and rank. */
#include "ingest/ingest.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
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
    int64_t rank, n_ranks, pid;              /* rank: the place in the communicator */
    int64_t sn, bytes, peer, exec_ns;
    int64_t op_start_ns; /* when the host enqueued it */
    int64_t stop_ns;     /* when the last of its channels was seen to have stopped */
    bool p2p;
    bool marker;     /* dump_stats: what follows is of the communicator that it names */
    bool bad_number; /* some field's number could not be read */
};

/* The wall clock in 2001 in microseconds: what is below (RCCL's kernels have the device's own
 * counter) is no time of the host. */
#define MIN_EPOCH_NS ((int64_t)1000000000 * 1000000000)

enum form { TEXT, NUMBER, MICROSECONDS, DURATION };

struct field {
    const char *key;
    enum form form;
    size_t at;
};

#define AT(member) offsetof(struct record, member)

static const struct field fields[] = {
    {"id", TEXT, AT(id)},
    {"comm_name", TEXT, AT(comm_name)},
    {"hostname", TEXT, AT(host)},
    {"coll", TEXT, AT(op)},
    {"p2p", TEXT, AT(op)},
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
        record->bad_number = true;
    } else if (field->form != MICROSECONDS) {
        *out = value;
    } else if (value >= MIN_EPOCH_NS) {
        *out = *out == INQ_TIME_NONE || value > *out ? value : *out; /* of channels: the last */
    }
}

static const struct field *find(struct inq_text key)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (inq_text_is(key, fields[i].key)) {
            return &fields[i];
        }
    }
    return NULL;
}

static enum inq_scan_result take_value(struct inq_scan *scan, struct inq_text key, int first,
                                       struct record *record)
{
    const struct field *field = find(key);
    struct inq_text text = {NULL, 0};
    if (field == NULL || first == '{' || first == '[') {
        return inq_scan_skip(scan);
    }
    bool quoted = first == '"';
    enum inq_scan_result result =
        quoted ? inq_scan_string(scan, &text) : inq_scan_bare(scan, &text);
    if (result == INQ_SCAN_OK && quoted && field->form == TEXT) {
        *(struct inq_text *)(void *)((char *)record + field->at) = text;
        record->p2p = record->p2p || inq_text_is(key, "p2p");
    } else if (result == INQ_SCAN_OK && field->form != TEXT && !inq_text_is(text, "null")) {
        take_number(field, text, record);
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
                                        struct record *record)
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
    return take_value(scan, key, first, record);
}

/* Reads the object whose opening brace is at the cursor; on INQ_SCAN_OK the cursor is behind its
 * closing brace. */
static enum inq_scan_result scan_record(struct inq_scan *scan, struct record *record)
{
    struct nest nest = {.n = 1};
    *record = (struct record){.rank = -1,
                              .n_ranks = -1,
                              .pid = -1,
                              .sn = -1,
                              .bytes = -1,
                              .peer = -1,
                              .exec_ns = -1,
                              .op_start_ns = INQ_TIME_NONE,
                              .stop_ns = INQ_TIME_NONE};
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
            result = take_member(scan, &nest, record);
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
/* Of a name that is kept. */
#define MAX_NAME 256
/* 2100: later ends would overflow when durations are added. */
#define MAX_TIME_NS ((int64_t)4102444800 * 1000000000)
/* An operation of more than a day is none. */
#define MAX_EXEC_NS ((int64_t)86400 * 1000000000)

/* Whose records are being read: v4.3 says it once per dump of a communicator, in front of its
 * records; before that every record did. */
struct reading {
    struct inq_shard *shard;
    uint32_t rank;       /* of the shard's */
    uint32_t group;      /* the communicator of the records that name none; INQ_NONE */
    int64_t place, size; /* of this rank in it */
    uint64_t untimed;    /* records without a time */
    uint64_t others;     /* records of another device of the same process */
};

static int add_name(struct reading *r, struct inq_text text, inq_str *name, struct inq_err *err)
{
    char buffer[MAX_NAME];
    struct inq_scan_decoded decoded = inq_scan_decode(text, buffer, sizeof buffer);
    return inq_strtab_add(&r->shard->names, buffer, decoded.n, name, err);
}

/* Until all files are read, a communicator's members are only this one: its place there. */
static int set_group(struct reading *r, const struct record *record, struct inq_err *err)
{
    struct inq_rank *rank = &r->shard->ranks[r->rank];
    inq_str name = 0;
    inq_str desc = 0;
    int code = add_name(r, record->id, &name, err);
    if (code == INQ_OK && record->comm_name.n > 0 && !inq_text_is(record->comm_name, "unknown")) {
        code = add_name(r, record->comm_name, &desc, err);
    }
    if (code == INQ_OK && record->host.n > 0 && rank->host == 0) {
        code = add_name(r, record->host, &rank->host, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    rank->pid = rank->pid < 0 ? record->pid : rank->pid;
    r->place = record->rank;
    r->size = record->n_ranks;
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
    comm.kind = inq_coll_from_name(record->op.p, record->op.n);
    comm.group = r->group;
    comm.group_size = (int32_t)r->size;
    comm.seq = record->sn;
    bool has_peer = record->p2p && record->peer >= 0 && record->peer < r->size;
    comm.peer = has_peer ? (int32_t)record->peer : -1;
    set_size(&comm, record->bytes, r->size);
    int code = add_name(r, record->op, &comm.op_name, err);
    row.name = comm.op_name;
    if (code == INQ_OK) {
        code = lane_of(r, &row.lane, err);
    }
    if (code == INQ_OK) {
        code = inq_rank_add_comm(rank, &comm, &row.comm, err);
    }
    r->shard->file.events_kept += code == INQ_OK;
    return code == INQ_OK ? inq_rank_add_event(rank, &row, err) : code;
}

static int take(struct reading *r, const struct record *record, int64_t offset, struct inq_err *err)
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
    if (start == INQ_TIME_NONE || start > MAX_TIME_NS) {
        r->untimed++;
        return INQ_OK;
    }
    return add_op(r, record, err);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Passes over what is no record, up to the next line. */
static int pass_line(struct inq_window *w, struct inq_err *err)
{
    int code = INQ_OK;
    for (bool found = false; code == INQ_OK && !found;) {
        char *stop = memchr(w->p, '\n', (size_t)(w->end - w->p));
        found = stop != NULL || w->ended;
        w->p = stop != NULL ? stop + 1 : w->end;
        if (!found) {
            code = inq_window_more(w, 1, err);
        }
    }
    return code;
}

/* At a byte that is no blank. */
static int read_record(struct reading *r, struct inq_window *w, struct inq_err *err)
{
    struct record record;
    struct inq_scan scan = {w->p, w->end, NULL};
    enum inq_scan_result result = *w->p == '{' ? scan_record(&scan, &record) : INQ_SCAN_BAD;
    size_t have = (size_t)(w->end - w->p);
    int64_t offset = inq_window_offset(w, w->p);
    if (result == INQ_SCAN_MORE && !w->ended && have < MAX_RECORD) {
        return inq_window_more(w, have, err);
    }
    if (result == INQ_SCAN_OK) {
        int code = take(r, &record, offset, err);
        w->p = (char *)(uintptr_t)scan.p;
        return code;
    }
    bool cut = result == INQ_SCAN_MORE && w->ended && memchr(w->p, '\n', have) == NULL;
    inq_damage_add(&r->shard->file.damage, cut ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT, 1,
                   offset);
    return pass_line(w, err);
}

static int read_records(struct reading *r, struct inq_source *source, struct inq_err *err)
{
    struct inq_window w = {0};
    int code = inq_window_init(&w, source, err);
    while (code == INQ_OK) {
        while (w.p < w.end && strchr(" \t\r\n,[]", *w.p) != NULL && *w.p != '\0') {
            w.p++;
        }
        if (w.p < w.end) {
            code = read_record(r, &w, err);
        } else if (w.ended) {
            break;
        } else {
            code = inq_window_more(&w, 1, err);
        }
    }
    inq_window_release(&w);
    return code;
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
    shard->file.format = inq_reader_inspector.name;
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
    }
    int code = inq_shard_add_rank(shard, &r.rank, err);
    if (code == INQ_OK) {
        code = read_records(&r, source, err);
    }
    shard->ranks[r.rank].has_clock_epoch = true;
    return code == INQ_OK ? say_what_is_missing(&r, err) : code;
}

/* ---- processes of one run -------------------------------------------------------------------- */

/* Places in communicators to ranks of a run. The records have no global rank: where one
 * communicator has all processes, it is the place in that; else processes are numbered by host and
 * number, and that is said. */
/* A communicator that says it is larger is not believed. */
#define MAX_MEMBERS ((int32_t)1 << 20)

/* The processes of one run. */
struct inspector_run {
    struct inq_shard **shards;
    size_t n;
    struct inq_map ranks; /* (communicator, place) to rank */
};

static bool is_inspector(const struct inq_shard *shard)
{
    return shard->file.read && shard->file.format != NULL && shard->n_ranks == 1 &&
           strcmp(shard->file.format, inq_reader_inspector.name) == 0;
}

/* A partial may say what it will: each communicator's list is its own place, until it is settled.
 */
static bool has_places(const struct inq_shard *shard)
{
    bool all = true;
    for (size_t g = 0; g < shard->n_groups; g++) {
        all = all && shard->groups[g].n_ranks == 1;
    }
    return all;
}

static bool have_met(const struct inq_rank *a, const struct inq_rank *b)
{
    return a->first_ns != INQ_TIME_NONE && b->first_ns != INQ_TIME_NONE &&
           a->first_ns <= b->last_ns && b->first_ns <= a->last_ns;
}

static const char *group_name(const struct inq_shard *shard, const struct inq_group *group)
{
    return inq_strtab_get(&shard->names, group->name);
}

static const struct inq_group *largest(const struct inq_shard *shard)
{
    const struct inq_group *best = NULL;
    for (size_t g = 0; g < shard->n_groups; g++) {
        best = best == NULL || shard->groups[g].size > best->size ? &shard->groups[g] : best;
    }
    return best;
}

/* The name of the communicator that has every process of the run in another place, or NULL. */
static const char *find_world(const struct inspector_run *run, struct inq_err *err, int *code)
{
    const char *world = NULL;
    struct inq_map places = {0};
    for (size_t i = 0; i < run->n && *code == INQ_OK; i++) {
        const struct inq_group *group = largest(run->shards[i]);
        const char *name = group != NULL ? group_name(run->shards[i], group) : "";
        uint32_t other;
        if (group == NULL || group->size > MAX_MEMBERS || (i > 0 && strcmp(name, world) != 0) ||
            inq_map_get(&places, (uint64_t)group->ranks[0], &other)) {
            world = NULL;
            break;
        }
        world = name;
        *code = inq_map_put(&places, (uint64_t)group->ranks[0], (uint32_t)i, err);
    }
    inq_map_release(&places);
    return world;
}

static int number_ranks(struct inspector_run *run, struct inq_err *err)
{
    int code = INQ_OK;
    const char *world = find_world(run, err, &code);
    if (code == INQ_OK && world == NULL) {
        code = inq_number_processes(run->shards, run->n, "no communicator has all ranks", err);
    }
    for (size_t i = 0; i < run->n && code == INQ_OK; i++) {
        struct inq_shard *shard = run->shards[i];
        const struct inq_group *group = largest(shard);
        shard->ranks[0].rank = world != NULL ? group->ranks[0] : shard->ranks[0].rank;
        shard->ranks[0].world_size = world != NULL ? group->size : (int32_t)run->n;
    }
    return code;
}

static uint64_t key_of(const struct inq_shard *shard, const struct inq_group *group, int32_t place)
{
    const char *name = group_name(shard, group);
    return inq_hash_u64(inq_hash_bytes(name, strlen(name)) + (uint64_t)(uint32_t)place);
}

static int list_places(struct inspector_run *run, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < run->n; i++) {
        const struct inq_shard *shard = run->shards[i];
        for (size_t g = 0; g < shard->n_groups && code == INQ_OK; g++) {
            const struct inq_group *group = &shard->groups[g];
            code = inq_map_put(&run->ranks, key_of(shard, group, group->ranks[0]),
                               (uint32_t)shard->ranks[0].rank, err);
        }
    }
    return code;
}

static int32_t rank_at(const struct inspector_run *run, const struct inq_shard *shard,
                       const struct inq_group *group, int32_t place)
{
    uint32_t rank;
    return inq_map_get(&run->ranks, key_of(shard, group, place), &rank) ? (int32_t)rank : -1;
}

/* Peers are places in their communicators. */
static void settle_peers(const struct inspector_run *run, struct inq_shard *shard)
{
    struct inq_rank *rank = &shard->ranks[0];
    for (size_t i = 0; i < rank->n_comms; i++) {
        struct inq_comm *comm = &rank->comms[i];
        if (comm->peer >= 0 && comm->group != INQ_NONE) {
            comm->peer = rank_at(run, shard, &shard->groups[comm->group], comm->peer);
        }
    }
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Half a list of members is none. */
static int settle_group(const struct inspector_run *run, struct inq_shard *shard,
                        struct inq_group *group, struct inq_err *err)
{
    bool believed = group->size > 0 && (size_t)group->size <= run->n;
    int32_t *ranks = inq_mem_alloc((believed ? (size_t)group->size : 1) * sizeof *ranks);
    if (ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a process group");
    }
    bool all = believed;
    for (int32_t place = 0; all && place < group->size; place++) {
        ranks[place] = rank_at(run, shard, group, place);
        all = ranks[place] >= 0;
    }
    uint32_t n = all ? (uint32_t)group->size : 0;
    int code = inq_sort(ranks, n, sizeof *ranks, by_rank, NULL, err);
    if (code == INQ_OK) {
        code = inq_shard_keep_ranks(shard, ranks, n, group, err);
    }
    inq_mem_free(ranks);
    return code;
}

static int settle_run(struct inspector_run *run, struct inq_err *err)
{
    int code = number_ranks(run, err);
    code = code == INQ_OK ? list_places(run, err) : code;
    for (size_t i = 0; i < run->n && code == INQ_OK; i++) {
        struct inq_shard *shard = run->shards[i];
        settle_peers(run, shard);
        for (size_t g = 0; g < shard->n_groups && code == INQ_OK; g++) {
            code = settle_group(run, shard, &shard->groups[g], err);
        }
    }
    inq_map_release(&run->ranks);
    return code;
}

/* Another format's trace of the same time, or NULL. */
static const struct inq_shard *find_other(const struct inq_shard *shards, size_t n,
                                          const struct inq_shard *own)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < shards[i].n_ranks && shards[i].file.read; r++) {
            const struct inq_rank *rank = &shards[i].ranks[r];
            if (!is_inspector(&shards[i]) && rank->has_clock_epoch &&
                have_met(rank, &own->ranks[0])) {
                return &shards[i];
            }
        }
    }
    return NULL;
}

static int join_processes(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct inspector_run run = {.shards = inq_mem_alloc((n + 1) * sizeof(struct inq_shard *))};
    uint8_t *done = inq_mem_zalloc(n + 1, 1);
    int code =
        run.shards != NULL && done != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (!is_inspector(&shards[i]) || done[i] || !has_places(&shards[i])) {
            continue;
        }
        if (find_other(shards, n, &shards[i]) != NULL) {
            inq_unrecognized_set_aside(
                &shards[i], "its operations are in the traces beside it, which hold more");
            continue;
        }
        run.n = 0;
        for (size_t k = i; k < n; k++) {
            bool same = k == i || (is_inspector(&shards[k]) && !done[k] && has_places(&shards[k]) &&
                                   have_met(&shards[i].ranks[0], &shards[k].ranks[0]) &&
                                   find_other(shards, n, &shards[k]) == NULL);
            if (same) {
                done[k] = 1;
                run.shards[run.n++] = &shards[k];
            }
        }
        code = settle_run(&run, err);
    }
    inq_mem_free((void *)run.shards);
    inq_mem_free(done);
    return code;
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
    .name = "nccl-inspector",
    .summary = "NCCL Inspector records (JSON lines): collectives of each rank",
    .sniff = sniff_inspector,
    .read = read_inspector,
    .join = join_processes,
};
