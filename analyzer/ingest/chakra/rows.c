/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of devices become rows, and nodes of the host that called them their launches. */
#include "base/hash.h"

#include "base/mem.h"
#include "base/sort.h"
#include "ingest/chakra/rows.h"
#include "ingest/ingest.h"
#include "ingest/optable/optable.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The wall clock in 2001 in microseconds: what is below counts from the start of something. */
#define MIN_EPOCH_US ((int64_t)1000000000 * 1000000)
/* The year 2100 in microseconds, and a duration of more than a day: such numbers are none. */
#define MAX_TIME_US ((int64_t)4102444800 * 1000000)
#define MAX_DUR_US  ((int64_t)86400 * 1000000)
/* Where a device node names no stream: compute, copies and communication go on beside each other.
 */
enum { LANE_COMPUTE = 0, LANE_COPY = 1, LANE_COMM = 2 };

/* A node of the host that may turn out to have called the device. */
struct caller {
    int64_t id, start_ns, dur_ns, tid;
    inq_str name;
    bool waits; /* for the device */
};

struct reading {
    struct inq_shard *shard;
    struct inq_rank *rank;
    size_t n_callers, cap_callers;
    struct caller *callers;
    struct inq_map callers_by_id;
    struct inq_map devices; /* ids of the device's nodes */
    struct inq_kernel_classes classes;
    /* nodes without times, until one of the device has some */
    bool timed;
    size_t n_ops, cap_ops, n_op_deps, cap_op_deps;
    struct inq_chakra_op *ops;
    int64_t *op_deps;
    int64_t host_end_ns;
    uint64_t untimed; /* nodes of the device without a start */
    bool lasts;       /* one of them has a duration */
    uint64_t n_compute, n_comm;
    char text[INQ_SCAN_MAX_STRING];
};

static int add_name(struct reading *r, const struct inq_chakra_node *node, struct inq_text text,
                    inq_str *name, struct inq_err *err)
{
    if (text.n == 0) {
        *name = 0;
        return INQ_OK;
    }
    if (!node->escaped) {
        size_t n = text.n < INQ_SCAN_MAX_STRING ? text.n : INQ_SCAN_MAX_STRING;
        return inq_strtab_add(&r->shard->names, text.p, n, name, err);
    }
    return inq_scan_name(text, &r->shard->names, name, err);
}

/* ---- process groups -------------------------------------------------------------------------- */

/* The inputs of "## process_group:init ##", which PyTorch's profiler fills with its pg_config: a
 * list of objects inside quotes. */
struct config {
    struct inq_text name, desc;
    int64_t size; /* -1 not said */
    size_t n, cap;
    int32_t *ranks;
    bool bad; /* a member is no rank */
};

static int group_of(struct inq_shard *shard, inq_str name, uint32_t *index, struct inq_err *err)
{
    for (size_t g = 0; g < shard->n_groups; g++) {
        if (shard->groups[g].name == name) {
            *index = (uint32_t)g;
            return INQ_OK;
        }
    }
    return inq_shard_add_group(shard, name, 0, -1, NULL, 0, index, err);
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int add_config(struct inq_shard *shard, struct config *config, struct inq_err *err)
{
    inq_str name = 0;
    uint32_t index = 0;
    int code = inq_scan_name(config->name, &shard->names, &name, err);
    code = code == INQ_OK ? group_of(shard, name, &index, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    struct inq_group *group = &shard->groups[index];
    bool whole =
        config->n > 0 && !config->bad && (config->size < 0 || config->size == (int64_t)config->n);
    if (config->desc.n > 0) {
        code = inq_scan_name(config->desc, &shard->names, &group->desc, err);
    }
    if (code == INQ_OK && whole && group->n_ranks == 0) {
        code = inq_sort(config->ranks, config->n, sizeof *config->ranks, by_rank, NULL, err);
        code = code == INQ_OK
                   ? inq_shard_keep_ranks(shard, config->ranks, (uint32_t)config->n, group, err)
                   : code;
    }
    int64_t size = whole ? (int64_t)config->n : config->size;
    if (code == INQ_OK && size > 0 && size <= INQ_MAX_RANKS) {
        group->size = (int32_t)size;
        if (inq_text_is(config->desc, "default_pg")) {
            shard->ranks[0].world_size = group->size;
        }
    }
    return code;
}

/* Behind the opening bracket. */
static enum inq_scan_result scan_ranks(struct inq_scan *scan, struct config *config, int *code,
                                       struct inq_err *err)
{
    for (;;) {
        int c = inq_scan_blank(scan);
        if (c == ',') {
            scan->p++;
            continue;
        }
        if (c == ']' || c < 0) {
            scan->p += c == ']';
            return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
        }
        struct inq_text text = {NULL, 0};
        int64_t rank = -1;
        enum inq_scan_result result = inq_scan_bare(scan, &text);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        bool good = inq_scan_int(text.p, text.n, &rank) && rank >= 0 && rank < INQ_MAX_RANKS;
        config->bad = config->bad || !good;
        *code = good ? inq_mem_grow(&config->ranks, &config->cap, config->n + 1,
                                    sizeof *config->ranks, INQ_MAX_RANKS, err)
                     : INQ_OK;
        if (*code != INQ_OK) {
            return INQ_SCAN_BAD;
        }
        if (good) {
            config->ranks[config->n++] = (int32_t)rank;
        }
    }
}

static enum inq_scan_result scan_value(struct inq_scan *scan, struct inq_text key,
                                       struct config *config, int *code, struct inq_err *err)
{
    struct inq_text text = {NULL, 0};
    int first = inq_scan_blank(scan);
    if (first == '[' && inq_text_is(key, "ranks")) {
        scan->p++;
        return scan_ranks(scan, config, code, err);
    }
    if (first == '{' || first == '[' || first < 0) {
        return first < 0 ? INQ_SCAN_MORE : inq_scan_skip(scan);
    }
    enum inq_scan_result result =
        first == '"' ? inq_scan_string(scan, &text) : inq_scan_bare(scan, &text);
    if (result == INQ_SCAN_OK && inq_text_is(key, "pg_name")) {
        config->name = text;
    } else if (result == INQ_SCAN_OK && inq_text_is(key, "pg_desc")) {
        config->desc = text;
    } else if (result == INQ_SCAN_OK && inq_text_is(key, "group_size") &&
               !inq_scan_int(text.p, text.n, &config->size)) {
        config->size = -1;
    }
    return result;
}

/* At an opening brace. */
static enum inq_scan_result scan_config(struct inq_scan *scan, struct config *config, int *code,
                                        struct inq_err *err)
{
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        int c = inq_scan_blank(scan);
        if (c == ',') {
            scan->p++;
            continue;
        }
        if (c != '"') {
            scan->p += c == '}';
            return c == '}' ? INQ_SCAN_OK : c < 0 ? INQ_SCAN_MORE : INQ_SCAN_BAD;
        }
        enum inq_scan_result result = inq_scan_key(scan, &key);
        if (result == INQ_SCAN_OK) {
            result = scan_value(scan, key, config, code, err);
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static int read_configs(struct inq_shard *shard, struct inq_text values, struct inq_err *err)
{
    struct inq_scan scan = {values.p, values.p + values.n, NULL};
    int code = INQ_OK;
    while (code == INQ_OK) {
        scan.p = memchr(scan.p, '{', (size_t)(scan.end - scan.p));
        if (scan.p == NULL) {
            break;
        }
        struct config config = {.size = -1};
        enum inq_scan_result result = scan_config(&scan, &config, &code, err);
        if (code == INQ_OK && result == INQ_SCAN_OK && config.name.n > 0) {
            code = add_config(shard, &config, err);
        }
        inq_mem_free(config.ranks);
        if (result != INQ_SCAN_OK) {
            break; /* what is left is cut */
        }
    }
    return code;
}

static int read_groups(struct inq_shard *shard, const struct inq_chakra_node *node,
                       struct inq_err *err)
{
    if (!node->escaped || node->values.n == 0) {
        return node->values.n > 0 ? read_configs(shard, node->values, err) : INQ_OK;
    }
    char *text = inq_mem_alloc(node->values.n + INQ_SOURCE_PADDING);
    if (text == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for process groups");
    }
    struct inq_scan_decoded decoded = inq_scan_decode(node->values, text, node->values.n);
    memset(text + decoded.n, 0, INQ_SOURCE_PADDING);
    int code = read_configs(shard, (struct inq_text){text, (uint32_t)decoded.n}, err);
    inq_mem_free(text);
    return code;
}

/* ---- the host -------------------------------------------------------------------------------- */

static bool has_times(const struct inq_chakra_node *node)
{
    return node->start_us > 0 && node->start_us <= MAX_TIME_US && node->dur_us <= MAX_DUR_US;
}

/* 0: none that can be. Nanoseconds that round to other microseconds than the node's are another
 * thing's. */
static int64_t dur_of(const struct inq_chakra_node *node)
{
    enum { NS = 1000 };
    int64_t us = node->dur_us > 0 && node->dur_us <= MAX_DUR_US ? node->dur_us : 0;
    bool exact = node->dur_ns >= us * NS - NS / 2 && node->dur_ns < us * NS + NS / 2;
    return exact && node->dur_ns >= 0 ? node->dur_ns : us * NS;
}

static int add_note(struct reading *r, const struct inq_chakra_node *node, inq_str name,
                    struct inq_err *err)
{
    struct inq_note note = {
        .start_ns = node->start_us * 1000, .dur_ns = dur_of(node), .name = name};
    const char *text = inq_strtab_get(&r->shard->names, name);
    note.kind = (uint8_t)inq_classify_note(text, strlen(text), &note.number);
    if (note.kind == INQ_NOTE_OTHER) {
        return INQ_OK;
    }
    int code = inq_rank_lane(r->rank, INQ_LANE_THREAD, -1, node->tid, &note.lane, err);
    return code == INQ_OK ? inq_rank_add_note(r->rank, &note, err) : code;
}

/* A node of the host that depends on one of the device, as "aten::item" does, waits for it,
 * whatever it is called. */
static int name_wait(struct reading *r, inq_str *name, struct inq_err *err)
{
    const char *text = inq_strtab_get(&r->shard->names, *name);
    if (inq_host_kind_of(text) == INQ_HOST_SYNCHRONIZE) {
        return INQ_OK;
    }
    int n = snprintf(r->text, sizeof r->text, "Synchronize in %s", text);
    size_t len = (size_t)n < sizeof r->text ? (size_t)n : sizeof r->text - 1;
    return inq_strtab_add(&r->shard->names, r->text, len, name, err);
}

static bool waits_for_device(const struct reading *r, const struct inq_chakra_node *node)
{
    bool waits = false;
    for (uint32_t i = 0; i < node->n_data_deps && !waits; i++) {
        uint32_t none;
        waits = inq_map_get(&r->devices, (uint64_t)node->deps[i], &none);
    }
    return waits;
}

static int add_host_node(struct reading *r, const struct inq_chakra_node *node, struct inq_err *err)
{
    struct caller caller = {.id = node->id,
                            .start_ns = node->start_us * 1000,
                            .dur_ns = dur_of(node),
                            .tid = node->tid};
    int64_t end_ns = caller.start_ns + caller.dur_ns;
    r->host_end_ns = end_ns > r->host_end_ns ? end_ns : r->host_end_ns;
    caller.waits = waits_for_device(r, node);
    int code = add_name(r, node, node->name, &caller.name, err);
    code = code == INQ_OK ? add_note(r, node, caller.name, err) : code;
    if (code == INQ_OK) {
        code = inq_mem_grow(&r->callers, &r->cap_callers, r->n_callers + 1, sizeof *r->callers,
                            INQ_MAX_ROWS, err);
    }
    if (code == INQ_OK) {
        r->callers[r->n_callers] = caller;
        code = inq_map_put(&r->callers_by_id, (uint64_t)node->id, (uint32_t)r->n_callers++, err);
    }
    return code;
}

/* ---- the device ------------------------------------------------------------------------------ */

static bool is_comm(const struct inq_chakra_node *node)
{
    return node->type >= INQ_CHAKRA_SEND && node->type <= INQ_CHAKRA_COLLECTIVE;
}

static bool is_copy(const struct inq_chakra_node *node)
{
    return node->type == INQ_CHAKRA_LOAD || node->type == INQ_CHAKRA_STORE;
}

/* Nodes that do not say where they ran are the host's, but for those that can only be a device's.
 */
static bool is_device(const struct inq_chakra_node *node)
{
    bool work = is_comm(node) || is_copy(node) || node->type == INQ_CHAKRA_COMPUTE;
    bool told = node->is_cpu_op >= 0;
    return work && (is_comm(node) || (told ? node->is_cpu_op == 0 : is_copy(node)));
}

/* In the order of CollectiveCommType. */
static enum inq_coll_kind kind_of(const struct inq_chakra_node *node)
{
    static const enum inq_coll_kind kinds[] = {
        INQ_COLL_ALLREDUCE,      INQ_COLL_REDUCE,    INQ_COLL_ALLGATHER, INQ_COLL_GATHER,
        INQ_COLL_SCATTER,        INQ_COLL_BROADCAST, INQ_COLL_ALLTOALL,  INQ_COLL_REDUCE_SCATTER,
        INQ_COLL_REDUCE_SCATTER, INQ_COLL_BARRIER};
    if (node->type != INQ_CHAKRA_COLLECTIVE) {
        return node->type == INQ_CHAKRA_SEND ? INQ_COLL_SEND : INQ_COLL_RECV;
    }
    size_t n = sizeof kinds / sizeof *kinds;
    return node->comm_type < 0           ? INQ_COLL_UNKNOWN
           : (size_t)node->comm_type < n ? kinds[node->comm_type]
                                         : INQ_COLL_UNKNOWN;
}

static int add_comm(struct reading *r, const struct inq_chakra_node *node, uint32_t *index,
                    struct inq_err *err)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = kind_of(node);
    int64_t peer = comm.kind == INQ_COLL_SEND   ? node->comm_dst
                   : comm.kind == INQ_COLL_RECV ? node->comm_src
                                                : -1;
    comm.peer = peer >= 0 && peer <= INT32_MAX ? (int32_t)peer : -1;
    if (node->comm_size >= 0) { /* bytes of the input, whatever the type */
        comm.dtype_bytes = 1;
        comm.in_elems = node->comm_size;
        bool same = comm.kind != INQ_COLL_ALLGATHER && comm.kind != INQ_COLL_REDUCE_SCATTER;
        comm.out_elems = same ? node->comm_size : -1;
    }
    int code = INQ_OK;
    if (comm.kind != INQ_COLL_UNKNOWN) { /* else the kernel's name says it when it is sealed */
        const char *name = inq_coll_kind_text(comm.kind);
        code = inq_strtab_add(&r->shard->names, name, strlen(name), &comm.op_name, err);
    }
    if (code == INQ_OK && node->group.n > 0) {
        inq_str name = 0;
        code = add_name(r, node, node->group, &name, err);
        code = code == INQ_OK ? group_of(r->shard, name, &comm.group, err) : code;
    }
    return code == INQ_OK ? inq_rank_add_comm(r->rank, &comm, index, err) : code;
}

static int add_launch(struct reading *r, const struct inq_chakra_node *node, uint32_t *index,
                      struct inq_err *err)
{
    struct inq_launch launch = {0};
    uint32_t caller;
    if (node->parent >= 0 && inq_map_get(&r->callers_by_id, (uint64_t)node->parent, &caller)) {
        launch.op = r->callers[caller].name;
    }
    int code = add_name(r, node, node->shapes, &launch.dims, err);
    code = code == INQ_OK ? add_name(r, node, node->types, &launch.types, err) : code;
    return code == INQ_OK ? inq_launches_add(&r->shard->launches, &launch, index, err) : code;
}

static int32_t small(int64_t value)
{
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

/* An op of a schedule, as what 'inquest' writes has them: on the lanes of an op table. *is_op is
 * false where the node is none. */
static int add_label(struct reading *r, const struct inq_chakra_node *node,
                     struct inq_event_row *row, bool *is_op, struct inq_err *err)
{
    const char *name = inq_strtab_get(&r->shard->names, row->name);
    enum inq_op_type type = inq_op_type_from_name(name, strlen(name));
    *is_op = type != INQ_OP_NONE && node->stage >= 0;
    if (!*is_op) {
        return INQ_OK;
    }
    struct inq_label label = {.type = type,
                              .step = small(node->step),
                              .stage = small(node->stage),
                              .dp_rank = node->dp_rank >= 0 ? small(node->dp_rank) : 0,
                              .micro_batch = small(node->micro_batch),
                              .chunk = small(node->chunk),
                              .seq = small(node->seq)};
    r->rank->stage = label.stage;
    r->rank->dp_rank = label.dp_rank;
    row->kind = INQ_EVENT_OP;
    row->cls = inq_op_class(type, name);
    int code = inq_rank_add_label(r->rank, &label, &row->label, err);
    return code == INQ_OK
               ? inq_rank_lane(r->rank, INQ_LANE_OPS, -1, inq_op_role(type, name), &row->lane, err)
               : code;
}

static int place_kernel(struct reading *r, const struct inq_chakra_node *node,
                        struct inq_event_row *row, struct inq_err *err)
{
    int64_t lane = is_comm(node) ? LANE_COMM : is_copy(node) ? LANE_COPY : LANE_COMPUTE;
    lane = node->stream >= 0 ? node->stream : lane;
    row->cls = is_comm(node)   ? INQ_CLASS_COMM
               : is_copy(node) ? INQ_CLASS_COPY
                               : inq_kernel_class(&r->classes, &r->shard->names, row->name);
    row->kind = row->cls == INQ_CLASS_COPY ? INQ_EVENT_MEMCPY : row->kind;
    int code = inq_rank_lane(r->rank, INQ_LANE_STREAM, -1, lane, &row->lane, err);
    return code == INQ_OK ? add_launch(r, node, &row->launch, err) : code;
}

static int make_row(struct reading *r, const struct inq_chakra_node *node,
                    struct inq_event_row *row, struct inq_err *err)
{
    *row = (struct inq_event_row){.start_ns = has_times(node) ? node->start_us * 1000 : 0,
                                  .dur_ns = dur_of(node),
                                  .call = node->parent >= 0 ? (uint32_t)node->parent : INQ_NONE,
                                  .comm = INQ_NONE,
                                  .label = INQ_NONE,
                                  .kind = is_copy(node) ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL};
    bool is_op = false;
    int code = add_name(r, node, node->name, &row->name, err);
    code = code == INQ_OK ? add_label(r, node, row, &is_op, err) : code;
    if (code == INQ_OK && !is_op) {
        code = place_kernel(r, node, row, err);
    }
    code = code == INQ_OK ? inq_map_put(&r->devices, (uint64_t)node->id, 0, err) : code;
    return code == INQ_OK && is_comm(node) ? add_comm(r, node, &row->comm, err) : code;
}

/* What nodes without times gave so far is of no use beside one that has times. */
static void forget_untimed(struct reading *r)
{
    r->rank->n_comms = r->timed ? r->rank->n_comms : 0;
    r->timed = true;
    r->n_ops = 0;
}

static int add_device_node(struct reading *r, const struct inq_chakra_node *node,
                           struct inq_err *err)
{
    struct inq_event_row row;
    int code = make_row(r, node, &row, err);
    row.comm = row.label != INQ_NONE ? INQ_NONE : row.comm;
    return code == INQ_OK ? inq_rank_add_event(r->rank, &row, err) : code;
}

static int add_untimed(struct reading *r, const struct inq_chakra_node *node, int64_t offset,
                       struct inq_err *err)
{
    struct inq_chakra_op op = {.id = node->id,
                               .first_dep = r->n_op_deps,
                               .n_deps = node->n_deps,
                               .device = is_device(node)};
    op.row.comm = INQ_NONE;
    op.row.dur_ns = dur_of(node);
    bool lost = node->more_deps || node->dur_us > MAX_DUR_US;
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LIMIT, lost, offset);
    int code = INQ_OK;
    if (op.device) {
        code = make_row(r, node, &op.row, err);
    } else {
        code = add_name(r, node, node->name, &op.row.name, err);
        code = code == INQ_OK
                   ? inq_rank_lane(r->rank, INQ_LANE_THREAD, -1, node->tid, &op.row.lane, err)
                   : code;
        op.waits = waits_for_device(r, node);
        code = code == INQ_OK && op.waits ? name_wait(r, &op.row.name, err) : code;
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&r->op_deps, &r->cap_op_deps, r->n_op_deps + node->n_deps + 1,
                            sizeof *r->op_deps, INQ_MAX_ROWS, err);
    }
    if (code == INQ_OK) {
        memcpy(r->op_deps + r->n_op_deps, node->deps, node->n_deps * sizeof *node->deps);
        r->n_op_deps += node->n_deps;
        code = inq_mem_grow(&r->ops, &r->cap_ops, r->n_ops + 1, sizeof *r->ops, INQ_MAX_ROWS, err);
    }
    if (code == INQ_OK) {
        r->ops[r->n_ops++] = op;
    }
    return code;
}

/* What can be said of a graph that nobody timed. */
static void count(struct reading *r, const struct inq_chakra_node *node, bool device)
{
    bool comm = device && is_comm(node);
    bool compute = device && node->type == INQ_CHAKRA_COMPUTE;
    r->n_comm += comm;
    r->n_compute += compute;
    r->lasts = r->lasts || (device && node->dur_us > 0 && node->dur_us <= MAX_DUR_US);
    r->untimed += device && !has_times(node);
}

static int take(struct reading *r, const struct inq_chakra_node *node, int64_t offset,
                struct inq_err *err)
{
    struct inq_file *file = &r->shard->file;
    inq_damage_add(&file->damage, INQ_DAMAGE_BAD_NUMBER, node->bad_number, offset);
    if (node->is_metadata) {
        r->rank->pid = node->pid >= 0 ? node->pid : r->rank->pid;
        return INQ_OK;
    }
    file->events++;
    bool device = is_device(node);
    count(r, node, device);
    int code = INQ_OK;
    if (inq_text_is(node->name, "## process_group:init ##")) {
        code = read_groups(r->shard, node, err);
    }
    if (code == INQ_OK && !has_times(node)) {
        bool work = device || node->type == INQ_CHAKRA_COMPUTE;
        return work && !r->timed ? add_untimed(r, node, offset, err) : INQ_OK;
    }
    if (code != INQ_OK) {
        return code;
    }
    forget_untimed(r);
    r->rank->has_clock_epoch = r->rank->has_clock_epoch || node->start_us >= MIN_EPOCH_US;
    return device ? add_device_node(r, node, err) : add_host_node(r, node, err);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int add_call(struct reading *r, const struct caller *caller, struct inq_err *err)
{
    uint32_t lane = 0;
    inq_str name = caller->name;
    int code = caller->waits ? name_wait(r, &name, err) : INQ_OK;
    code = code == INQ_OK ? inq_rank_lane(r->rank, INQ_LANE_THREAD, -1, caller->tid, &lane, err)
                          : code;
    return code == INQ_OK ? inq_rank_add_call(r->rank, caller->start_ns, caller->dur_ns, name, lane,
                                              caller->id, err)
                          : code;
}

/* The host's nodes that device nodes name as their callers are what launched them; of the others
 * those are kept that say what the host was in. */
static int add_calls(struct reading *r, struct inq_err *err)
{
    const struct inq_events *e = &r->rank->events;
    struct inq_map wanted = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        code = e->call[i] != INQ_NONE ? inq_map_put(&wanted, e->call[i], 0, err) : INQ_OK;
    }
    for (size_t i = 0; i < r->n_callers && code == INQ_OK; i++) {
        const struct caller *caller = &r->callers[i];
        const char *name = inq_strtab_get(&r->shard->names, caller->name);
        uint32_t none;
        if (caller->waits || inq_map_get(&wanted, (uint32_t)caller->id, &none) ||
            inq_host_kind_of(name) != INQ_HOST_OTHER) {
            code = add_call(r, caller, err);
        }
    }
    inq_map_release(&wanted);
    return code;
}

/* "llama.3.et", "llama.3.json": the rank is the last number between dots. */
static int32_t rank_of(const char *path)
{
    enum { DIGITS = 6 };
    const char *slash = strrchr(path, '/');
    int32_t rank = -1;
    for (const char *p = strchr(slash != NULL ? slash : path, '.'); p != NULL;
         p = strchr(p + 1, '.')) {
        size_t n = strspn(p + 1, "0123456789");
        if (n > 0 && n <= DIGITS && p[1 + n] == '.') {
            rank = 0;
            for (size_t i = 1; i <= n; i++) {
                rank = rank * 10 + (p[i] - '0');
            }
        }
    }
    return rank;
}

static int say(struct reading *r, struct inq_err *err)
{
    struct inq_shard *shard = r->shard;
    struct inq_file *file = &shard->file;
    if (r->rank->events.n == 0) {
        inq_rank_release(r->rank);
        shard->n_ranks = 0;
        file->reason = r->untimed > 0 && r->timed
                           ? "no start times of the device's nodes, although the host's have some"
                       : r->untimed > 0
                           ? inq_arena_asprintf(&shard->arena,
                                                "no start times and no durations: %" PRIu64
                                                " nodes of compute and %" PRIu64
                                                " of communication on the device take no time",
                                                r->n_compute, r->n_comm)
                           : "no device work recognized: every node is the host's";
    } else if (r->untimed > 0) {
        file->reason = inq_arena_asprintf(
            &shard->arena, "%" PRIu64 " device nodes without a start are left out", r->untimed);
    }
    return file->reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

/* The host's nodes that called the device's, and those that say what the host was in. */
static int find_calls(struct reading *r, struct inq_err *err)
{
    struct inq_map callers = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < r->n_ops && code == INQ_OK; i++) {
        const struct inq_event_row *row = &r->ops[i].row;
        bool called = r->ops[i].device && row->call != INQ_NONE;
        code = called ? inq_map_put(&callers, row->call, 0, err) : INQ_OK;
    }
    for (size_t i = 0; i < r->n_ops; i++) {
        struct inq_chakra_op *op = &r->ops[i];
        uint32_t none;
        op->is_call =
            !op->device &&
            (op->waits || inq_map_get(&callers, (uint32_t)op->id, &none) ||
             inq_host_kind_of(inq_strtab_get(&r->shard->names, op->row.name)) != INQ_HOST_OTHER);
    }
    inq_map_release(&callers);
    return code;
}

/* Leaves the graph to the `join`, which knows those of the other ranks. */
static int keep_untimed(struct reading *r, struct inq_err *err)
{
    struct inq_arena *arena = &r->shard->arena;
    struct inq_untimed *graph = inq_arena_array(arena, 1, sizeof *graph);
    int code = find_calls(r, err);
    if (code != INQ_OK || graph == NULL) {
        return code != INQ_OK ? code : inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    *graph =
        (struct inq_untimed){.ops = inq_arena_array(arena, r->n_ops + 1, sizeof *graph->ops),
                             .deps = inq_arena_array(arena, r->n_op_deps + 1, sizeof *graph->deps),
                             .n_ops = r->n_ops,
                             .n_deps = r->n_op_deps};
    if (graph->ops == NULL || graph->deps == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu nodes", r->n_ops);
    }
    memcpy(graph->ops, r->ops, r->n_ops * sizeof *graph->ops);
    if (r->n_op_deps > 0) {
        memcpy(graph->deps, r->op_deps, r->n_op_deps * sizeof *graph->deps);
    }
    r->shard->untimed = graph;
    r->shard->file.reason =
        "no start times: nodes are placed only where the files of all ranks are "
        "read together, not from partials";
    return INQ_OK;
}

static int finish(struct reading *r, struct inq_err *err)
{
    bool untimed = !r->timed && r->n_ops > 0 && r->lasts;
    int code = add_calls(r, err);
    if (code == INQ_OK) {
        code = inq_chakra_stretch_steps(r->rank, r->host_end_ns, err);
    }
    if (code == INQ_OK && inq_rank_from_name(r->shard->file.path) < 0) {
        r->rank->rank = rank_of(r->shard->file.path);
    }
    if (code == INQ_OK && untimed) {
        return keep_untimed(r, err);
    }
    return code == INQ_OK ? say(r, err) : code;
}

int inq_chakra_rows(struct inq_shard *shard, inq_chakra_next next, void *ctx, struct inq_err *err)
{
    uint32_t index;
    int code = inq_shard_add_rank(shard, &index, err);
    struct reading *r = code == INQ_OK ? inq_mem_zalloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        return code != INQ_OK ? code : inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    r->shard = shard;
    r->rank = &shard->ranks[index];
    r->host_end_ns = INT64_MIN;
    for (bool found = true; code == INQ_OK && found;) {
        struct inq_chakra_node node;
        int64_t offset = 0;
        code = next(ctx, &node, &offset, &found, err);
        if (code == INQ_OK && found) {
            code = take(r, &node, offset, err);
        }
    }
    code = code == INQ_OK ? finish(r, err) : code;
    inq_map_release(&r->callers_by_id);
    inq_map_release(&r->devices);
    inq_kernel_classes_release(&r->classes);
    inq_mem_free(r->callers);
    inq_mem_free(r->ops);
    inq_mem_free(r->op_deps);
    inq_mem_free(r);
    return code;
}
