/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps: a pickle (protocols 2 to 5) or JSON. */
#include "ingest/flight/states.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "ingest/flight/pickle.h"
#include "ingest/flight/value_json.h"
#include "ingest/ingest.h"
#include "inquest/flight.h"
#include "trace/build/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Keys and their meaning in the versions 2.0 to 2.10: unknown keys are passed over, absent ones are
 * "not recorded". */

struct inq_flight_stacks {
    struct inq_flight_dump *dump;
    struct inq_map by_value; /* address of a frame's value -> frame */
    struct inq_flight_frame *frames;
    size_t n_frames, cap_frames;
    struct inq_map by_hash; /* of a stack's frames -> the entry that has them */
};

/* Of a stack the innermost frames are what a report can use. */
enum { MAX_FRAMES = 64, MAX_KNOWN = 1 << 24 };

static int intern_text(struct inq_strtab *names, const struct inq_value *row, const char *key,
                       const char **kept, struct inq_err *err)
{
    uint32_t id = 0;
    const char *text = inq_value_text(inq_value_get(row, key), "");
    int code = inq_strtab_add(names, text, strlen(text), &id, err);
    *kept = inq_strtab_get(names, id);
    return code;
}

static int read_frame(struct inq_flight_stacks *stacks, const struct inq_value *row,
                      struct inq_flight_frame *frame, struct inq_err *err)
{
    uint64_t address = (uint64_t)(uintptr_t)row;
    uint32_t known = 0;
    if (inq_map_get(&stacks->by_value, address, &known)) {
        *frame = stacks->frames[known];
        return INQ_OK;
    }
    frame->line = inq_value_integer(row, "line", 0);
    int code = intern_text(stacks->dump->names, row, "name", &frame->name, err);
    code = code == INQ_OK ? intern_text(stacks->dump->names, row, "filename", &frame->file, err)
                          : code;
    if (code == INQ_OK) {
        code = inq_mem_grow(&stacks->frames, &stacks->cap_frames, stacks->n_frames + 1,
                            sizeof *stacks->frames, MAX_KNOWN, err);
    }
    if (code == INQ_OK) {
        stacks->frames[stacks->n_frames] = *frame;
        code = inq_map_put(&stacks->by_value, address, (uint32_t)stacks->n_frames++, err);
    }
    return code;
}

/* Reads a list of frames into the entry, the dump's `index`-th. Fails with INQ_NOMEM, INQ_LIMIT. */
static int flight_read_stack(struct inq_flight_stacks *stacks, const struct inq_value *list,
                             struct inq_flight_entry *entry, size_t index, struct inq_err *err)
{
    struct inq_flight_frame frames[MAX_FRAMES];
    size_t n = list != NULL && list->type == INQ_VALUE_LIST ? list->n : 0;
    n = n < MAX_FRAMES ? n : MAX_FRAMES;
    uint64_t hash = n;
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = read_frame(stacks, list->as.items[i], &frames[i], err);
        if (code == INQ_OK) { /* names are interned: equal ones have one address */
            hash = inq_hash_u64(hash + (uint64_t)(uintptr_t)frames[i].name);
            hash = inq_hash_u64(hash + (uint64_t)(uintptr_t)frames[i].file);
            hash = inq_hash_u64(hash + (uint64_t)frames[i].line);
        }
    }
    if (code != INQ_OK || n == 0) {
        return code;
    }
    uint32_t other = 0;
    entry->n_frames = (uint32_t)n;
    if (inq_map_get(&stacks->by_hash, hash, &other)) {
        const struct inq_flight_entry *like = &stacks->dump->entries[other];
        if (like->n_frames == n && memcmp(like->frames, frames, n * sizeof *frames) == 0) {
            entry->frames = like->frames;
            return INQ_OK;
        }
    }
    entry->frames = inq_arena_array(stacks->dump->arena, n, sizeof *frames);
    if (entry->frames == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    memcpy(entry->frames, frames, n * sizeof *frames);
    return inq_map_put(&stacks->by_hash, hash, (uint32_t)index, err);
}

/* Reads a list of frames into the entry, the dump's `index`-th. Fails with INQ_NOMEM, INQ_LIMIT. */
static void flight_stacks_release(struct inq_flight_stacks *stacks)
{
    inq_map_release(&stacks->by_value);
    inq_map_release(&stacks->by_hash);
    inq_mem_free(stacks->frames);
}

/* Values may be shared, so a small document can describe a large dump. */
enum { MAX_DIMS = 16, MAX_TENSORS = 4096, MAX_GROUPS = 1 << 16 };
static const size_t max_entries = (size_t)1 << 20;
static const size_t max_dump_bytes = (size_t)512 << 20;

struct filler {
    struct inq_flight_dump *dump;
    int64_t *pg_id; /* [cap_groups] of each group, -1 unknown */
    size_t cap_groups, cap_ids;
    struct inq_damage *damage; /* of the file: what was left out */
    struct inq_map lists;      /* rank lists by their value: the first group that has it */
    uint32_t last_group;
    struct inq_flight_stacks stacks;
    struct inq_err *err;
};

/* ---- single values --------------------------------------------------------------------------- */

static int no_memory(struct filler *f)
{
    return inq_err_set(f->err, INQ_NOMEM, "out of memory for a dump");
}

static void leave_out(struct filler *f, size_t n)
{
    if (n > 0) {
        inq_damage_add(f->damage, INQ_DAMAGE_LIMIT, n, -1);
    }
}

/* A time; None and 0 (in JSON) mean that it was not seen. */
static int64_t time_of(const struct inq_value *dict, const char *key)
{
    int64_t ns = inq_value_integer(dict, key, 0);
    return ns > 0 ? ns : INQ_TIME_NONE;
}

static int intern(struct filler *f, const char *text, const char **kept)
{
    uint32_t id = 0;
    int code = inq_strtab_add(f->dump->names, text, strlen(text), &id, f->err);
    *kept = inq_strtab_get(f->dump->names, id);
    return code;
}

static void *array(struct filler *f, size_t n, size_t size)
{
    return inq_arena_array(f->dump->arena, n, size);
}

/* "nccl:_all_gather_base" as "allgatherbase". */
static void strip_name(const char *name, char *plain, size_t size)
{
    size_t n = 0;
    const char *colon = strchr(name, ':');
    const char *p = colon != NULL ? colon + 1 : name;
    for (; *p != '\0' && n + 1 < size; p++) {
        if (*p != '_') {
            plain[n++] = (char)tolower((unsigned char)*p);
        }
    }
    plain[n] = '\0';
}

/* What "nccl:_all_gather_base" does. */
static enum inq_coll_kind kind_of(const char *name)
{
    static const struct {
        const char *part;
        enum inq_coll_kind kind;
    } kinds[] = {{"send", INQ_COLL_SEND},
                 {"recv", INQ_COLL_RECV},
                 {"reducescatter", INQ_COLL_REDUCE_SCATTER},
                 {"allgather", INQ_COLL_ALLGATHER},
                 {"alltoall", INQ_COLL_ALLTOALL},
                 {"barrier", INQ_COLL_BARRIER},
                 {"allreduce", INQ_COLL_ALLREDUCE},
                 {"broadcast", INQ_COLL_BROADCAST},
                 {"gather", INQ_COLL_GATHER},
                 {"scatter", INQ_COLL_SCATTER},
                 {"reduce", INQ_COLL_REDUCE},
                 {"coalesced", INQ_COLL_COALESCED}};
    char plain[64];
    strip_name(name, plain, sizeof plain);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strstr(plain, kinds[i].part) != NULL) {
            return kinds[i].kind;
        }
    }
    return INQ_COLL_UNKNOWN;
}

/* "send 0->3", "recv 3<-0": ranks within the group. */
static void find_peers(struct inq_flight_entry *entry)
{
    const char *space = strchr(entry->name, ' ');
    char *end = NULL;
    entry->src = entry->dst = -1;
    if (space == NULL) {
        return;
    }
    long left = strtol(space, &end, 10);
    bool to_right = strncmp(end, "->", 2) == 0;
    if (end == space || (!to_right && strncmp(end, "<-", 2) != 0)) {
        return;
    }
    const char *second = end + 2;
    long right = strtol(second, &end, 10);
    bool fits =
        left >= 0 && right >= 0 && left < (long)INQ_MAX_RANKS && right < (long)INQ_MAX_RANKS;
    if (end != second && fits) {
        entry->src = (int32_t)(to_right ? left : right);
        entry->dst = (int32_t)(to_right ? right : left);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int add_group(struct filler *f, const char *name, const char *desc, uint32_t *index)
{
    struct inq_flight_dump *dump = f->dump;
    if (f->last_group < dump->n_groups && strcmp(dump->groups[f->last_group].name, name) == 0) {
        *index = f->last_group;
        return INQ_OK;
    }
    for (size_t g = 0; g < dump->n_groups; g++) {
        if (strcmp(dump->groups[g].name, name) == 0) {
            *index = f->last_group = (uint32_t)g;
            return INQ_OK;
        }
    }
    if (dump->n_groups == f->cap_groups) { /* the old array stays in the arena */
        size_t cap = f->cap_groups * 2 + 16;
        struct inq_flight_group *more = array(f, cap, sizeof *more);
        if (more == NULL || cap > MAX_GROUPS) {
            return more == NULL ? no_memory(f) : inq_err_set(f->err, INQ_LIMIT, "too many groups");
        }
        if (dump->n_groups > 0) {
            memcpy(more, dump->groups, dump->n_groups * sizeof *more);
        }
        dump->groups = more;
        f->cap_groups = cap;
    }
    int code = inq_mem_grow(&f->pg_id, &f->cap_ids, dump->n_groups + 1, sizeof *f->pg_id,
                            MAX_GROUPS, f->err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_flight_group *group = &dump->groups[dump->n_groups];
    *group = (struct inq_flight_group){.last_enqueued = -1, .last_completed = -1};
    f->pg_id[dump->n_groups] = -1;
    code = intern(f, name, &group->name);
    if (code == INQ_OK) {
        code = intern(f, strcmp(desc, "undefined") == 0 ? "" : desc, &group->desc);
    }
    *index = f->last_group = (uint32_t)dump->n_groups++;
    return code;
}

/* "[0, 1, 2]" as text, or a list of integers. */
static int read_ranks(struct filler *f, const struct inq_value *value,
                      struct inq_flight_group *group)
{
    bool listed = value != NULL && value->type == INQ_VALUE_LIST;
    const char *text = inq_value_text(value, "");
    size_t most = listed ? value->n : 1;
    for (const char *p = text; *p != '\0'; p++) {
        most += *p == ',';
    }
    leave_out(f, most > INQ_MAX_RANKS ? most - INQ_MAX_RANKS : 0);
    most = most < INQ_MAX_RANKS ? most : INQ_MAX_RANKS;
    group->ranks = array(f, most, sizeof *group->ranks);
    if (group->ranks == NULL) {
        return no_memory(f);
    }
    for (size_t i = 0; listed && i < most; i++) {
        int64_t rank = inq_value_int(value->as.items[i], -1);
        if (rank >= 0 && rank < (int64_t)INQ_MAX_RANKS) {
            group->ranks[group->n_ranks++] = (int32_t)rank;
        }
    }
    while (*text != '\0' && group->n_ranks < most) {
        char *end = NULL;
        long rank = strtol(text, &end, 10);
        if (end != text && rank >= 0 && rank < (long)INQ_MAX_RANKS) {
            group->ranks[group->n_ranks++] = (int32_t)rank;
        }
        text = end != text ? end : text + 1;
    }
    return INQ_OK;
}

/* The ranks of the group; groups that share a value of the document share the list as well, so that
 * a small document cannot name many large ones. */
static int take_ranks(struct filler *f, const struct inq_value *value, uint32_t index)
{
    struct inq_flight_group *group = &f->dump->groups[index];
    uint64_t key = (uint64_t)(uintptr_t)value;
    uint32_t first = 0;
    if (value == NULL) {
        return INQ_OK;
    }
    if (inq_map_get(&f->lists, key, &first)) {
        group->ranks = f->dump->groups[first].ranks;
        group->n_ranks = f->dump->groups[first].n_ranks;
        return INQ_OK;
    }
    int code = read_ranks(f, value, group);
    return code == INQ_OK ? inq_map_put(&f->lists, key, index, f->err) : code;
}

static int read_groups(struct filler *f, const struct inq_value *config)
{
    int code = INQ_OK;
    size_t n = config != NULL && config->type == INQ_VALUE_DICT ? config->n / 2 : 0;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        const struct inq_value *row = config->as.items[2 * i + 1];
        const char *name =
            inq_value_text(inq_value_get(row, "name"), inq_value_text(config->as.items[2 * i], ""));
        uint32_t index = 0;
        code = add_group(f, name, inq_value_text(inq_value_get(row, "desc"), ""), &index);
        if (code == INQ_OK && f->dump->groups[index].n_ranks == 0) {
            code = take_ranks(f, inq_value_get(row, "ranks"), index);
        }
    }
    return code;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int64_t count_elems(const struct inq_flight_shape *shape)
{
    int64_t elems = 1;
    for (uint32_t d = 0; d < shape->n_dims; d++) {
        if (shape->dims[d] < 0 || __builtin_mul_overflow(elems, shape->dims[d], &elems)) {
            return INT64_MAX;
        }
    }
    return elems;
}

static int read_shape(struct filler *f, const struct inq_value *value,
                      struct inq_flight_shape *shape)
{
    size_t n = value != NULL && value->type == INQ_VALUE_LIST ? value->n : 0;
    leave_out(f, n > MAX_DIMS ? n - MAX_DIMS : 0);
    shape->n_dims = (uint32_t)(n < MAX_DIMS ? n : MAX_DIMS);
    shape->dims = array(f, shape->n_dims, sizeof *shape->dims);
    if (shape->dims == NULL) {
        return no_memory(f);
    }
    for (uint32_t d = 0; d < shape->n_dims; d++) {
        shape->dims[d] = inq_value_int(value->as.items[d], 0);
    }
    return INQ_OK;
}

static int read_shapes(struct filler *f, const struct inq_value *value,
                       struct inq_flight_tensors *tensors)
{
    tensors->elems = -1;
    if (value == NULL || value->type != INQ_VALUE_LIST) {
        return INQ_OK;
    }
    leave_out(f, value->n > MAX_TENSORS ? value->n - MAX_TENSORS : 0);
    tensors->n = (uint32_t)(value->n < MAX_TENSORS ? value->n : MAX_TENSORS);
    tensors->shapes = array(f, tensors->n, sizeof *tensors->shapes);
    if (tensors->shapes == NULL) {
        return no_memory(f);
    }
    int code = INQ_OK;
    bool told = false;
    int64_t sum = 0;
    for (uint32_t i = 0; i < tensors->n && code == INQ_OK; i++) {
        code = read_shape(f, value->as.items[i], &tensors->shapes[i]);
        bool empty = tensors->n == 1 && tensors->shapes[i].n_dims == 0; /* [[]]: not known */
        told = told || !empty;
        if (code == INQ_OK && __builtin_add_overflow(sum, count_elems(&tensors->shapes[i]), &sum)) {
            sum = INT64_MAX;
        }
    }
    tensors->elems = told ? sum : -1;
    return code;
}

/* The types, each once: "Float" or "Float,Long". */
static int read_dtypes(struct filler *f, const struct inq_value *value, const char **kept)
{
    char text[128] = "";
    size_t len = 0;
    if (value != NULL && value->type == INQ_VALUE_STRING) {
        return intern(f, value->as.text, kept);
    }
    size_t n = value != NULL && value->type == INQ_VALUE_LIST ? value->n : 0;
    for (size_t i = 0; i < n && i < MAX_TENSORS; i++) {
        const char *type = inq_value_text(value->as.items[i], "");
        size_t add = strlen(type);
        if (add > 0 && strstr(text, type) == NULL && len + add + 2 < sizeof text) {
            if (len > 0) {
                text[len++] = ',';
            }
            memcpy(text + len, type, add + 1);
            len += add;
        }
    }
    return intern(f, text, kept);
}

static int read_group(struct filler *f, const struct inq_value *row, struct inq_flight_entry *entry)
{
    const struct inq_value *pair = inq_value_get(row, "process_group");
    const char *name = inq_value_text(inq_value_at(pair, 0), inq_value_text(pair, NULL));
    const char *desc = inq_value_text(inq_value_at(pair, 1), "");
    entry->group = INQ_NONE;
    if (name == NULL && inq_value_integer(row, "pg_id", -1) == 0) {
        name = "0"; /* before version 2.0 a group is only numbered, from the default group on */
        desc = INQ_FLIGHT_WORLD;
    }
    if (name == NULL) {
        return INQ_OK;
    }
    int code = add_group(f, name, desc, &entry->group);
    if (code == INQ_OK) {
        f->pg_id[entry->group] = inq_value_integer(row, "pg_id", f->pg_id[entry->group]);
    }
    return code;
}

static void read_numbers(const struct inq_value *row, struct inq_flight_entry *entry)
{
    const char *state = inq_value_text(inq_value_get(row, "state"), "scheduled");
    entry->record_id = inq_value_integer(row, "record_id", -1);
    entry->collective_seq =
        inq_value_integer(row, "collective_seq_id", inq_value_integer(row, "seq_id", -1));
    entry->op_id = inq_value_integer(row, "op_id", -1);
    entry->kind = kind_of(entry->name);
    bool p2p = entry->kind == INQ_COLL_SEND || entry->kind == INQ_COLL_RECV;
    entry->is_p2p = inq_value_int(inq_value_get(row, "is_p2p"), p2p) != 0;
    entry->p2p_seq = inq_value_integer(row, "p2p_seq_id", p2p ? entry->collective_seq : -1);
    entry->state = strcmp(state, "completed") == 0 ? INQ_FLIGHT_COMPLETED
                   : strcmp(state, "started") == 0 ? INQ_FLIGHT_STARTED
                                                   : INQ_FLIGHT_SCHEDULED;
    entry->retired = inq_value_int(inq_value_get(row, "retired"), 0) != 0;
    entry->created_ns = time_of(row, "time_created_ns");
    entry->started_ns = time_of(row, "time_discovered_started_ns");
    entry->completed_ns = time_of(row, "time_discovered_completed_ns");
    int64_t timeout_ms = inq_value_integer(row, "timeout_ms", -1);
    bool sane = timeout_ms >= 0 && timeout_ms < INT64_MAX / 1000000;
    entry->timeout_ns = sane ? timeout_ms * 1000000 : -1;
    find_peers(entry);
}

static int read_entry(struct filler *f, const struct inq_value *row, struct inq_flight_entry *entry)
{
    int code = intern(f, inq_value_text(inq_value_get(row, "profiling_name"), ""), &entry->name);
    if (code == INQ_OK) {
        read_numbers(row, entry);
        code = read_group(f, row, entry);
    }
    if (code == INQ_OK) {
        code = read_shapes(f, inq_value_get(row, "input_sizes"), &entry->in);
    }
    if (code == INQ_OK) {
        code = read_shapes(f, inq_value_get(row, "output_sizes"), &entry->out);
    }
    if (code == INQ_OK) {
        code = read_dtypes(f, inq_value_get(row, "input_dtypes"), &entry->in.dtypes);
    }
    if (code == INQ_OK) {
        code = read_dtypes(f, inq_value_get(row, "output_dtypes"), &entry->out.dtypes);
    }
    if (code == INQ_OK) {
        code = flight_read_stack(&f->stacks, inq_value_get(row, "frames"), entry,
                                 f->dump->n_entries, f->err);
    }
    return code;
}

/* XPUs record a send or receive of its own twice, the second time with its output. */
static bool is_again(const struct inq_flight_entry *entry, const struct inq_flight_entry *before)
{
    return strncmp(entry->name, "xccl:", 5) == 0 && strcmp(entry->name, before->name) == 0 &&
           entry->group == before->group && entry->op_id == before->op_id &&
           entry->collective_seq == before->collective_seq && entry->p2p_seq == before->p2p_seq;
}

static int read_entries(struct filler *f, const struct inq_value *list)
{
    struct inq_flight_dump *dump = f->dump;
    size_t n = list != NULL && list->type == INQ_VALUE_LIST ? list->n : 0;
    leave_out(f, n > max_entries ? n - max_entries : 0);
    n = n < max_entries ? n : max_entries;
    dump->entries = array(f, n, sizeof *dump->entries);
    if (dump->entries == NULL) {
        return no_memory(f);
    }
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        const struct inq_value *row = list->as.items[i];
        if (row->type != INQ_VALUE_DICT && !row->partial) {
            inq_damage_add(f->damage, INQ_DAMAGE_BAD_EVENT, 1, -1);
        }
        if (row->type != INQ_VALUE_DICT || row->partial) { /* a cut one is part of the cut */
            continue;
        }
        if (dump->arena->total + dump->names->arena.total > max_dump_bytes) {
            dump->partial = true;
            return inq_err_set(f->err, INQ_LIMIT, "entry %zu of %zu: the dump is too large", i, n);
        }
        struct inq_flight_entry *entry = &dump->entries[dump->n_entries];
        code = read_entry(f, row, entry);
        if (code == INQ_OK && dump->n_entries > 0 && is_again(entry, entry - 1)) {
            entry[-1] = *entry;
            *entry = (struct inq_flight_entry){.group = INQ_NONE};
            continue;
        }
        dump->n_entries += code == INQ_OK;
    }
    return code;
}

/* ---- status ---------------------------------------------------------------------------------- */

static bool all_digits(const char *text)
{
    return text[0] != '\0' && strlen(text) < 18 && strspn(text, "0123456789") == strlen(text);
}

/* The status rows are keyed by a number that only entries join to a group's name. Both numbers grow
 * in the order in which this process made its groups, so when there are as many of one as of the
 * other, and no entry says otherwise, they pair up in that order. */
static void pair_in_order(struct filler *f, const struct inq_value *status, int64_t *keys,
                          uint32_t *ids, uint32_t *groups)
{
    struct inq_flight_dump *dump = f->dump;
    size_t n = dump->n_groups;
    bool usable = status->n / 2 == n;
    for (size_t i = 0; i < n && usable; i++) {
        usable = all_digits(dump->groups[i].name) &&
                 all_digits(inq_value_text(status->as.items[2 * i], ""));
        keys[i] = usable ? strtoll(dump->groups[i].name, NULL, 10) : 0;
    }
    if (!usable || inq_sort_order_i64(keys, n, groups, f->err) != INQ_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        keys[i] = strtoll(inq_value_text(status->as.items[2 * i], ""), NULL, 10);
    }
    if (inq_sort_order_i64(keys, n, ids, f->err) != INQ_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t known = f->pg_id[groups[i]];
        if (known >= 0 && known != keys[ids[i]]) {
            return;
        }
    }
    for (size_t i = 0; i < n; i++) {
        f->pg_id[groups[i]] = keys[ids[i]];
    }
}

static void take_status(struct filler *f, const struct inq_value *status)
{
    for (size_t i = 0; i + 1 < status->n; i += 2) {
        const char *key = inq_value_text(status->as.items[i], "");
        const struct inq_value *row = status->as.items[i + 1];
        int64_t id = all_digits(key) ? strtoll(key, NULL, 10) : -1;
        for (size_t g = 0; g < f->dump->n_groups && id >= 0; g++) {
            struct inq_flight_group *group = &f->dump->groups[g];
            if (f->pg_id[g] == id) {
                group->has_status = inq_value_get(row, "last_enqueued_collective") != NULL;
                group->last_enqueued = inq_value_integer(row, "last_enqueued_collective", -1);
                group->last_completed = inq_value_integer(row, "last_completed_collective", -1);
            }
        }
    }
}

static int read_status(struct filler *f, const struct inq_value *status)
{
    if (status == NULL || status->type != INQ_VALUE_DICT) {
        return INQ_OK;
    }
    if (status->n > 2 * (size_t)MAX_GROUPS) {
        leave_out(f, status->n / 2);
        return INQ_OK;
    }
    size_t n = f->dump->n_groups + 1;
    if (f->pg_id == NULL) { /* no group to join them to */
        return INQ_OK;
    }
    int64_t *keys = inq_mem_alloc(n * sizeof *keys);
    uint32_t *order = inq_mem_alloc(2 * n * sizeof *order);
    int code = keys != NULL && order != NULL ? INQ_OK : no_memory(f);
    if (code == INQ_OK) {
        pair_in_order(f, status, keys, order, order + n);
        take_status(f, status);
    }
    inq_mem_free(keys);
    inq_mem_free(order);
    return code;
}

/* ---- the dump -------------------------------------------------------------------------------- */

/* Whether the document has the keys of a dump. */
static bool flight_is_dump(const struct inq_value *root)
{
    static const char *const keys[] = {"pg_config", "pg_status", "entries", "nccl_version",
                                       "comm_lib_version"};
    size_t n = inq_value_get(root, "version") != NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        n += inq_value_get(root, keys[i]) != NULL;
    }
    return n >= 2 || (n == 1 && root->partial);
}

/* Fills an empty dump (version, groups, entries, status); entries that are not whole are left out,
 * and `damage` counts what was neither that nor fits. Fails with INQ_NOMEM, and INQ_LIMIT when the
 * dump would hold too much (what fits is kept). */
static int flight_fill(struct inq_flight_dump *dump, const struct inq_value *root,
                       struct inq_damage *damage, struct inq_err *err)
{
    struct filler f = {.dump = dump, .damage = damage, .stacks = {.dump = dump}, .err = err};
    const char *version = inq_value_text(inq_value_get(root, "version"), "");
    char *dot = NULL;
    long major = strtol(version, &dot, 10);
    long minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0; /* 2.10 is not 2.1 */
    dump->version_major = major > 0 && major < 1000 ? (int)major : 0;
    dump->version_minor = minor > 0 && minor < 1000 ? (int)minor : 0;
    const char *comm = inq_value_text(inq_value_get(root, "comm_lib_version"), "");
    comm = inq_value_text(inq_value_get(root, "nccl_version"), comm);
    const struct inq_value *entries = inq_value_get(root, "entries");
    dump->partial = root->partial || (entries != NULL && entries->partial);
    int code = intern(&f, comm, &dump->comm_version);
    if (code == INQ_OK) {
        code = read_groups(&f, inq_value_get(root, "pg_config"));
    }
    if (code == INQ_OK) {
        code = read_entries(&f, entries);
    }
    if (code != INQ_NOMEM) {
        int status = read_status(&f, inq_value_get(root, "pg_status"));
        code = code == INQ_OK ? status : code;
    }
    if (code != INQ_NOMEM) {
        int settled = inq_flight_settle_states(dump, err);
        code = settled != INQ_OK ? settled : code;
    }
    flight_stacks_release(&f.stacks);
    inq_map_release(&f.lists);
    inq_mem_free(f.pg_id);
    return code;
}

/* Whose dump it is, as far as its content tells: a rank is a member of all groups that its dump
 * lists, and one side of all its sends and receives. */

/* The place in its group that a transfer's writer has; -1 unknown. */
static int32_t own_place(const struct inq_flight_entry *entry)
{
    return entry->kind == INQ_COLL_SEND   ? entry->src
           : entry->kind == INQ_COLL_RECV ? entry->dst
                                          : -1;
}

static int32_t rank_by_transfers(const struct inq_flight_dump *dump)
{
    int32_t rank = -1;
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        int32_t place = entry->group != INQ_NONE ? own_place(entry) : -1;
        const struct inq_flight_group *group = place >= 0 ? &dump->groups[entry->group] : NULL;
        if (group == NULL || (size_t)place >= group->n_ranks) {
            continue;
        }
        if (rank >= 0 && rank != group->ranks[place]) {
            return -1; /* they contradict each other */
        }
        rank = group->ranks[place];
    }
    return rank;
}

/* Counts of how many groups each rank is a member of; *n_groups gets how many list members. */
static void count_groups(const struct inq_flight_dump *dump, uint32_t *counts, size_t *n_groups)
{
    for (size_t g = 0; g < dump->n_groups; g++) {
        const struct inq_flight_group *group = &dump->groups[g];
        *n_groups += group->n_ranks > 0;
        for (size_t i = 0; i < group->n_ranks; i++) {
            counts[group->ranks[i]]++;
        }
    }
}

static int32_t highest_rank(const struct inq_flight_dump *dump)
{
    int32_t highest = dump->rank;
    for (size_t g = 0; g < dump->n_groups; g++) {
        for (size_t i = 0; i < dump->groups[g].n_ranks; i++) {
            int32_t rank = dump->groups[g].ranks[i];
            highest = rank > highest ? rank : highest;
        }
    }
    return highest;
}

/* Gives the dump the rank that its groups and transfers leave, where its name tells none or one
 * that cannot be. Fails with INQ_NOMEM. */
static int flight_settle_rank(struct inq_flight_dump *dump, struct inq_err *err)
{
    size_t n_groups = 0;
    size_t world = (size_t)highest_rank(dump) + 1;
    uint32_t *counts = inq_mem_zalloc(world + 1, sizeof *counts);
    if (counts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    count_groups(dump, counts, &n_groups);
    size_t n = 0;
    int32_t only = -1;
    for (size_t r = 0; r < world && n_groups > 0; r++) {
        n += counts[r] == n_groups;
        only = counts[r] == n_groups ? (int32_t)r : only;
    }
    bool can_be = n == 0 || (dump->rank >= 0 && counts[dump->rank] == n_groups);
    int32_t by_transfers = rank_by_transfers(dump);
    if (by_transfers >= 0 && (n == 0 || counts[by_transfers] == n_groups)) {
        dump->rank = by_transfers;
    } else if (n == 1 && (!can_be || dump->rank < 0)) {
        dump->rank = only;
    }
    inq_mem_free(counts);
    return INQ_OK;
}

/* A dump of 20,000 entries with stacks takes some tens of megabytes. */
static const size_t max_file_bytes = (size_t)1 << 30;
static const size_t max_objects = (size_t)1 << 24;

static bool has(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

static bool is_pickle(const char *head, size_t n)
{
    return n > 2 && (unsigned char)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

static int sniff(const char *head, size_t n, const char *path)
{
    (void)path;
    if (is_pickle(head, n)) {
        return has(head, n, "pg_config") || has(head, n, "pg_status") || has(head, n, "entries") ||
                       (has(head, n, "version") && n < 256)
                   ? 95
                   : 0;
    }
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    bool object = i < n && head[i] == '{' && !has(head, n, "\"traceEvents\"");
    return object && (has(head, n, "\"pg_config\"") || has(head, n, "\"collective_seq_id\"")) ? 95
                                                                                              : 0;
}

/* All of it, in one block that the caller frees. */
static int slurp(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t len = 0;
        int code = inq_source_next(source, &chunk, &len, err);
        if (code == INQ_OK && len > 0) {
            code = inq_mem_grow(bytes, &cap, *n + len, 1, max_file_bytes, err);
        }
        if (code != INQ_OK || len == 0) {
            return code;
        }
        memcpy(*bytes + *n, chunk, len);
        *n += len;
    }
}

/* Notes in the file's account why the document was not read to its end. */
static int note_end(struct inq_shard *shard, size_t n, bool complete, const struct inq_err *why,
                    struct inq_err *err)
{
    const char *reason = why->message;
    if (why->code == INQ_LIMIT) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, 1, why->offset);
    } else if (why->code != INQ_OK) {
        uint64_t left = why->offset >= 0 && (size_t)why->offset < n ? n - (size_t)why->offset : 1;
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_GARBAGE, left, why->offset);
    } else if (!complete) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_TRUNCATED, 1, (int64_t)n);
        reason = "the dump is cut short: what was whole before the cut is kept";
    } else {
        return INQ_OK;
    }
    shard->file.reason = inq_arena_strdup(&shard->arena, reason);
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    return INQ_OK;
}

static int take(struct inq_shard *shard, const struct inq_value *root, size_t n, bool complete,
                struct inq_err *why, struct inq_err *err)
{
    if (root == NULL || root->type != INQ_VALUE_DICT || !flight_is_dump(root)) {
        bool refused = why->code != INQ_OK;
        return inq_err_set(err, INQ_UNSUPPORTED, "%s%s", "not a Flight Recorder dump",
                           refused ? ", and not plain data" : "");
    }
    shard->dump = inq_flight_new();
    if (shard->dump == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    size_t digits = 0;
    shard->file.format = "flight-recorder";
    shard->dump->rank = inq_flight_rank(shard->file.path, &digits);
    int code = flight_fill(shard->dump, root, &shard->file.damage, err);
    if (code == INQ_LIMIT) {
        *why = (struct inq_err){.code = INQ_OK};
        inq_err_record(why, INQ_LIMIT, NULL, -1, "%s",
                       "the dump is too large: its first entries are kept");
        if (err != NULL) {
            *err = (struct inq_err){.code = INQ_OK};
        }
        code = INQ_OK;
    }
    code = code == INQ_OK ? flight_settle_rank(shard->dump, err) : code;
    shard->dump->partial = shard->dump->partial || !complete;
    shard->file.events = shard->dump->n_entries;
    return code == INQ_OK ? note_end(shard, n, complete, why, err) : code;
}

static int read(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    char *bytes = NULL;
    size_t n = 0;
    struct inq_arena arena = {0};
    struct inq_value *root = NULL;
    bool complete = false;
    struct inq_err why = {.offset = -1};
    struct inq_pickle_limits limits = {.max_objects = max_objects};
    int code = slurp(source, &bytes, &n, err);
    if (code == INQ_OK || code == INQ_LIMIT) {
        code = is_pickle(bytes, n)
                   ? inq_pickle_decode(bytes, n, &limits, &arena, &root, &complete, &why)
                   : inq_value_json(bytes, n, &limits, &arena, &root, &complete, &why);
        code = code == INQ_NOMEM ? inq_err_set(err, INQ_NOMEM, "out of memory for a dump")
                                 : take(shard, root, n, complete, &why, err);
    }
    inq_arena_release(&arena);
    inq_mem_free(bytes);
    return code;
}

const struct inq_reader inq_reader_flight = {
    .name = "flight-recorder",
    .summary = "Flight Recorder dumps of PyTorch (pickle or JSON): what each rank had enqueued",
    .sniff = sniff,
    .read = read,
};
