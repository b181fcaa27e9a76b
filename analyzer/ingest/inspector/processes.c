/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of one run: their files joined, their ranks found, members of communicators named. */
#include "ingest/inspector/inspector.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool has_format(const struct inq_shard *shard, const char *name)
{
    return shard->file.read && shard->file.format != NULL && shard->n_ranks == 1 &&
           strcmp(shard->file.format, name) == 0;
}

static bool is_dump(const struct inq_shard *shard)
{
    return has_format(shard, INQ_FORMAT_NCCL_PROFILER);
}

static bool is_either(const struct inq_shard *shard)
{
    return has_format(shard, INQ_FORMAT_INSPECTOR) || is_dump(shard);
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

/* ---- files of one process -------------------------------------------------------------------- */

/* The example profiler writes a file for each communicator that a process is in. Which process it
 * was is told by its number and the folder; where several devices share a process, or processes of
 * several hosts a number, by their order in the communicators. */
struct dump_file {
    struct inq_shard *shard;
    uint32_t device; /* of those with this process number and folder */
};

static size_t folder_length(const struct inq_shard *shard)
{
    const char *slash = strrchr(shard->file.path, '/');
    return slash != NULL ? (size_t)(slash - shard->file.path) : 0;
}

static int compare_processes(const struct inq_shard *x, const struct inq_shard *y)
{
    size_t n = folder_length(x);
    size_t m = folder_length(y);
    int order = n != m ? (n > m) - (n < m) : memcmp(x->file.path, y->file.path, n);
    int64_t a = x->ranks[0].pid;
    int64_t b = y->ranks[0].pid;
    return order != 0 ? order : (a > b) - (a < b);
}

static int compare_comms(const struct inq_shard *x, const struct inq_shard *y)
{
    return strcmp(group_name(x, &x->groups[0]), group_name(y, &y->groups[0]));
}

static int by_place(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_shard *x = ((const struct dump_file *)a)->shard;
    const struct inq_shard *y = ((const struct dump_file *)b)->shard;
    int order = compare_processes(x, y);
    order = order != 0 ? order : compare_comms(x, y);
    int32_t i = x->groups[0].ranks[0];
    int32_t k = y->groups[0].ranks[0];
    order = order != 0 ? order : (i > k) - (i < k);
    return order != 0 ? order : strcmp(x->file.path, y->file.path);
}

static int by_device(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct dump_file *x = a;
    const struct dump_file *y = b;
    int order = compare_processes(x->shard, y->shard);
    order = order != 0 ? order : (x->device > y->device) - (x->device < y->device);
    return order != 0 ? order : strcmp(x->shard->file.path, y->shard->file.path);
}

static int copy_name(struct inq_shard *to, const struct inq_shard *from, inq_str name, inq_str *out,
                     struct inq_err *err)
{
    const char *text = inq_strtab_get(&from->names, name);
    return inq_strtab_add(&to->names, text, inq_strtab_len(&from->names, name), out, err);
}

/* `groups`: where those of `from` are in `to`. */
static int copy_groups(struct inq_shard *to, const struct inq_shard *from, uint32_t *groups,
                       struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t g = 0; g < from->n_groups && code == INQ_OK; g++) {
        const struct inq_group *group = &from->groups[g];
        inq_str name = 0;
        code = copy_name(to, from, group->name, &name, err);
        if (code == INQ_OK) {
            code = inq_shard_add_group(to, name, 0, group->size, group->ranks, group->n_ranks,
                                       &groups[g], err);
        }
    }
    return code;
}

static int copy_comms(struct inq_shard *to, const struct inq_shard *from, const uint32_t *groups,
                      struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t c = 0; c < from->ranks[0].n_comms && code == INQ_OK; c++) {
        struct inq_comm comm = from->ranks[0].comms[c];
        uint32_t index;
        comm.group = comm.group < from->n_groups ? groups[comm.group] : INQ_NONE;
        comm.dtype = 0;
        code = copy_name(to, from, comm.op_name, &comm.op_name, err);
        code = code == INQ_OK ? copy_name(to, from, comm.algorithm, &comm.algorithm, err) : code;
        if (code == INQ_OK) {
            code = inq_rank_add_comm(&to->ranks[0], &comm, &index, err);
        }
    }
    return code;
}

static int copy_event(struct inq_shard *to, const struct inq_shard *from, size_t event,
                      uint32_t first_comm, struct inq_err *err)
{
    const struct inq_events *e = &from->ranks[0].events;
    struct inq_event_row row = {.start_ns = e->start_ns[event],
                                .dur_ns = e->dur_ns[event],
                                .call = INQ_NONE,
                                .label = INQ_NONE,
                                .comm = first_comm + e->comm[event],
                                .kind = INQ_EVENT_KERNEL,
                                .cls = INQ_CLASS_COMM};
    if (e->comm[event] >= from->ranks[0].n_comms) {
        return INQ_OK; /* of a partial that says what it will */
    }
    uint32_t group = to->ranks[0].comms[row.comm].group;
    int code = copy_name(to, from, e->name[event], &row.name, err);
    if (code == INQ_OK) {
        code = inq_rank_lane(&to->ranks[0], INQ_LANE_STREAM, -1, group, &row.lane, err);
    }
    if (code == INQ_OK) {
        to->ranks[0].lanes[row.lane].name = group != INQ_NONE ? to->groups[group].name : 0;
        code = inq_rank_add_event(&to->ranks[0], &row, err);
    }
    return code;
}

/* The rows of `from` become rows of `to`; its file stays as one that was read. */
static int take_over(struct inq_shard *to, struct inq_shard *from, struct inq_err *err)
{
    uint32_t *groups = inq_mem_alloc((from->n_groups + 1) * sizeof *groups);
    uint32_t first_comm = (uint32_t)to->ranks[0].n_comms;
    int code = groups != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for groups");
    if (code == INQ_OK) {
        code = copy_groups(to, from, groups, err);
    }
    if (code == INQ_OK) {
        code = copy_comms(to, from, groups, err);
    }
    for (size_t i = 0; i < from->ranks[0].events.n && code == INQ_OK; i++) {
        code = copy_event(to, from, i, first_comm, err);
    }
    inq_mem_free(groups);
    inq_rank_release(&from->ranks[0]);
    from->n_ranks = 0;
    from->n_groups = 0;
    return code;
}

static int join_process(struct dump_file *files, size_t n, struct inq_err *err)
{
    struct inq_shard *to = files[0].shard;
    int code = INQ_OK;
    for (size_t i = 1; i < n && code == INQ_OK; i++) {
        code = take_over(to, files[i].shard, err);
    }
    if (n > 1 && code == INQ_OK) {
        inq_mem_free(to->ranks[0].events.step);
        to->ranks[0].events.step = NULL;
        to->sealed = false;
        code = inq_shard_finalize(to, err);
    }
    return code;
}

/* A communicator's size is not recorded: it has as many members as left files. */
static int set_sizes(struct dump_file *files, size_t n, struct inq_err *err)
{
    struct inq_map sizes = {0};
    int code = INQ_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            struct inq_shard *shard = files[i].shard;
            for (size_t g = 0; g < shard->n_groups && code == INQ_OK; g++) {
                struct inq_group *group = &shard->groups[g];
                uint64_t key = key_of(shard, group, 0);
                uint32_t size = 0;
                bool known = inq_map_get(&sizes, key, &size);
                uint32_t own = (uint32_t)group->ranks[0] + 1;
                if (pass == 1) {
                    group->size = (int32_t)size;
                } else if (!known || own > size) {
                    code = inq_map_put(&sizes, key, own, err);
                }
            }
        }
    }
    inq_map_release(&sizes);
    return code;
}

/* Counts are of one rank's part where parts are gathered or scattered. */
static void settle_counts(struct inq_shard *shard)
{
    struct inq_rank *rank = &shard->ranks[0];
    for (size_t c = 0; c < rank->n_comms; c++) {
        struct inq_comm *comm = &rank->comms[c];
        int64_t size = comm->group < shard->n_groups ? shard->groups[comm->group].size : -1;
        bool grows = comm->kind == INQ_COLL_ALLGATHER;
        bool shrinks = comm->kind == INQ_COLL_REDUCE_SCATTER;
        int64_t part = shrinks ? comm->out_elems : comm->in_elems;
        comm->group_size = (int32_t)size;
        if ((grows || shrinks) && size > 0 && part >= 0 && part <= INT64_MAX / size) {
            comm->in_elems = shrinks ? part * size : part;
            comm->out_elems = grows ? part * size : part;
        }
    }
}

static int join_files(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct dump_file *files = inq_mem_alloc((n + 1) * sizeof *files);
    size_t found = 0;
    if (files == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu files", n);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_dump(&shards[i]) && shards[i].n_groups > 0 && has_places(&shards[i])) {
            files[found++] = (struct dump_file){&shards[i], 0};
        }
    }
    int code = inq_sort(files, found, sizeof *files, by_place, NULL, err);
    for (size_t i = 1; i < found && code == INQ_OK; i++) {
        bool same = compare_processes(files[i - 1].shard, files[i].shard) == 0 &&
                    compare_comms(files[i - 1].shard, files[i].shard) == 0;
        files[i].device = same ? files[i - 1].device + 1 : 0;
    }
    if (code == INQ_OK) {
        code = set_sizes(files, found, err);
    }
    for (size_t i = 0; i < found && code == INQ_OK; i++) {
        settle_counts(files[i].shard);
    }
    if (code == INQ_OK) {
        code = inq_sort(files, found, sizeof *files, by_device, NULL, err);
    }
    for (size_t i = 0; i < found && code == INQ_OK;) {
        size_t end = i + 1;
        while (end < found && files[end].device == files[i].device &&
               compare_processes(files[i].shard, files[end].shard) == 0) {
            end++;
        }
        code = join_process(files + i, end - i, err);
        i = end;
    }
    inq_mem_free(files);
    return code;
}

/* A file whose operations another one took over goes where that one went. */
static void set_rest_aside(struct inq_shard *shards, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *format = shards[i].file.format;
        bool given = shards[i].file.read && shards[i].n_ranks == 0 && format != NULL &&
                     strcmp(format, INQ_FORMAT_NCCL_PROFILER) == 0;
        bool kept = false;
        for (size_t k = 0; given && k < n && !kept; k++) {
            size_t len = folder_length(&shards[i]);
            kept = is_dump(&shards[k]) && folder_length(&shards[k]) == len &&
                   memcmp(shards[i].file.path, shards[k].file.path, len) == 0;
        }
        if (given && !kept) {
            inq_unrecognized_set_aside(
                &shards[i], "its operations are in the traces beside it, which hold more");
        }
    }
}

/* ---- beside traces --------------------------------------------------------------------------- */

/* An operation and a kernel are the same when their times share half of the shorter: clocks of one
 * host agree, but a host sees a start late. */
static const double SHARED = 0.5;
/* Durations disagree when they are apart by a tenth of the longer, and by more than a host's thread
 * that watches for starts and ends may be late. */
static const double APART = 0.1;
/* Of a process's operations so many are found in the rank that it was: with fewer it is another
 * one, and nothing of it is to be believed of that rank. */
static const double FOUND = 0.9;
static const int64_t LATE_NS = 50000;
/* Ranks of a host that are looked at; a process has no number that both records know. */
enum { MOST_RANKS = 64 };

/* The communication of a rank, by start. */
struct work {
    struct inq_shard *shard;
    struct inq_rank *rank;
    uint32_t *row;
    size_t n;
};

struct agreement {
    struct inq_shard *shard; /* of the trace */
    size_t rank;             /* of its ranks */
    size_t found, sizes, durations;
    size_t algorithms;              /* of both, that differ */
    size_t given, given_algorithms; /* sizes; algorithms or channels */
    double off_ns; /* starts of those found are apart, and a second for each that is not */
};

static int64_t start_of(const struct work *w, size_t i)
{
    return w->rank->events.start_ns[w->row[i]];
}

static int64_t end_of(const struct work *w, size_t i)
{
    return start_of(w, i) + w->rank->events.dur_ns[w->row[i]];
}

static struct inq_comm *comm_of(const struct work *w, size_t i)
{
    return &w->rank->comms[w->rank->events.comm[w->row[i]]];
}

static int list_work(struct inq_shard *shard, size_t r, struct work *w, struct inq_err *err)
{
    struct inq_rank *rank = &shard->ranks[r];
    const struct inq_events *e = &rank->events;
    int64_t *start_ns = inq_mem_alloc((e->n + 1) * sizeof *start_ns);
    uint32_t *rows = inq_mem_alloc((e->n + 1) * sizeof *rows);
    *w = (struct work){
        .shard = shard, .rank = rank, .row = inq_mem_alloc((e->n + 1) * sizeof *w->row)};
    int code = start_ns != NULL && rows != NULL && w->row != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu operations", e->n);
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        if (e->cls[i] == INQ_CLASS_COMM && e->comm[i] < rank->n_comms) {
            start_ns[w->n] = e->start_ns[i];
            rows[w->n++] = (uint32_t)i;
        }
    }
    if (code == INQ_OK) {
        code = inq_sort_order_i64(start_ns, w->n, w->row, err);
    }
    for (size_t i = 0; i < w->n && code == INQ_OK; i++) {
        w->row[i] = rows[w->row[i]];
    }
    inq_mem_free(start_ns);
    inq_mem_free(rows);
    return code;
}

static int64_t bytes_of(const struct inq_comm *comm)
{
    bool known = comm->dtype_bytes > 0 && comm->in_elems >= 0 &&
                 comm->in_elems <= INT64_MAX / comm->dtype_bytes;
    return known ? comm->in_elems * comm->dtype_bytes : -1;
}

static bool are_same(const struct work *a, size_t i, const struct work *b, size_t k)
{
    int64_t from = start_of(a, i) > start_of(b, k) ? start_of(a, i) : start_of(b, k);
    int64_t to = end_of(a, i) < end_of(b, k) ? end_of(a, i) : end_of(b, k);
    int64_t own = end_of(a, i) - start_of(a, i);
    int64_t other = end_of(b, k) - start_of(b, k);
    return comm_of(a, i)->kind == comm_of(b, k)->kind &&
           (double)(to - from) >= SHARED * (double)(own < other ? own : other);
}

/* Sizes that a trace did not record are those of the records. */
static bool give_size(const struct inq_comm *from, struct inq_comm *to)
{
    bool lacks = to->dtype_bytes == 0 || (to->in_elems < 0 && to->out_elems < 0);
    if (!lacks || bytes_of(from) < 0) {
        return false;
    }
    to->dtype_bytes = from->dtype_bytes;
    to->in_elems = from->in_elems;
    to->out_elems = from->out_elems;
    return true;
}

/* So are the algorithm and its channels. */
static int give_algorithm(const struct work *own, size_t i, const struct work *other, size_t k,
                          struct agreement *result, struct inq_err *err)
{
    const struct inq_comm *from = comm_of(own, i);
    struct inq_comm *to = comm_of(other, k);
    bool gives =
        (from->algorithm != 0 && to->algorithm == 0) || (from->channels > 0 && to->channels == 0);
    int code = to->algorithm == 0
                   ? copy_name(other->shard, own->shard, from->algorithm, &to->algorithm, err)
                   : INQ_OK;
    to->channels = to->channels == 0 ? from->channels : to->channels;
    result->given_algorithms += gives;
    return code;
}

static bool differ_in_algorithm(const struct work *own, size_t i, const struct work *other,
                                size_t k)
{
    inq_str a = comm_of(own, i)->algorithm;
    inq_str b = comm_of(other, k)->algorithm;
    return a != 0 && b != 0 &&
           strcmp(inq_strtab_get(&own->shard->names, a), inq_strtab_get(&other->shard->names, b)) !=
               0;
}

/* What is begun at once by both is the same whatever comes before it: each kernel is found once.
 * `give`: what is found gets what only the records know. */
static int compare(const struct work *own, const struct work *other, bool *taken, bool give,
                   struct agreement *agreement, struct inq_err *err)
{
    struct agreement result = {.shard = other->shard,
                               .rank = (size_t)(other->rank - other->shard->ranks)};
    size_t first = 0;
    int code = INQ_OK;
    for (size_t i = 0; i < own->n && code == INQ_OK; i++) {
        size_t found = other->n;
        while (first < other->n && end_of(other, first) < start_of(own, i)) {
            first++;
        }
        for (size_t k = first; k < other->n && start_of(other, k) <= end_of(own, i); k++) {
            bool nearer = found == other->n || llabs(start_of(other, k) - start_of(own, i)) <
                                                   llabs(start_of(other, found) - start_of(own, i));
            found = !taken[k] && nearer && are_same(own, i, other, k) ? k : found;
        }
        if (found == other->n) {
            result.off_ns += 1e9;
            continue;
        }
        int64_t a = end_of(own, i) - start_of(own, i);
        int64_t b = end_of(other, found) - start_of(other, found);
        int64_t bytes[] = {bytes_of(comm_of(own, i)), bytes_of(comm_of(other, found))};
        taken[found] = true;
        result.found++;
        result.algorithms += differ_in_algorithm(own, i, other, found);
        result.given += give && give_size(comm_of(own, i), comm_of(other, found));
        code = give ? give_algorithm(own, i, other, found, &result, err) : INQ_OK;
        result.off_ns += (double)llabs(start_of(other, found) - start_of(own, i));
        result.sizes += bytes[0] >= 0 && bytes[1] >= 0 && bytes[0] != bytes[1];
        result.durations +=
            llabs(a - b) > LATE_NS && (double)llabs(a - b) > APART * (double)(a > b ? a : b);
    }
    *agreement = result;
    return code;
}

static int compare_rank(const struct work *own, struct inq_shard *shard, size_t rank, bool give,
                        struct agreement *best, struct inq_err *err)
{
    struct work other;
    int code = list_work(shard, rank, &other, err);
    bool *taken = inq_mem_zalloc(other.n + 1, sizeof *taken);
    if (code == INQ_OK && taken == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu operations", other.n);
    }
    if (code == INQ_OK) {
        struct agreement result;
        code = compare(own, &other, taken, give, &result, err);
        *best = give || result.off_ns < best->off_ns ? result : *best;
    }
    inq_mem_free(other.row);
    inq_mem_free(taken);
    return code;
}

static bool same_host(const struct inq_shard *a, const struct inq_shard *b, size_t rank)
{
    const char *x = inq_strtab_get(&a->names, a->ranks[0].host);
    const char *y = inq_strtab_get(&b->names, b->ranks[rank].host);
    return x[0] == '\0' || y[0] == '\0' || strcmp(x, y) == 0;
}

/* How the operations of `own` agree with the traces of other formats among the shards: *text (of
 * its arena). The rank on its host whose kernels begin when they do is the one. */
static int explain_agreement(struct inq_shard *own, struct inq_shard *shards, size_t n,
                             const char **text, struct inq_err *err)
{
    struct agreement best = {.off_ns = (double)INFINITY};
    struct work work;
    size_t looked = 0;
    int code = list_work(own, 0, &work, err);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        bool other = shards[i].file.read && &shards[i] != own && !is_either(&shards[i]);
        for (size_t r = 0; other && r < shards[i].n_ranks && code == INQ_OK; r++) {
            if (looked < MOST_RANKS && same_host(own, &shards[i], r)) {
                code = compare_rank(&work, &shards[i], r, false, &best, err);
                looked++;
            }
        }
    }
    if (code == INQ_OK && best.shard != NULL && (double)best.found >= FOUND * (double)work.n) {
        code = compare_rank(&work, best.shard, best.rank, true, &best, err);
    }
    if (code == INQ_OK) {
        char more[160] = "";
        if (best.algorithms > 0) {
            (void)snprintf(more, sizeof more, ", %zu of another algorithm", best.algorithms);
        }
        if (best.given > 0) {
            (void)snprintf(more + strlen(more), sizeof more - strlen(more),
                           "; %zu get their size from here", best.given);
        }
        if (best.given_algorithms > 0) {
            (void)snprintf(more + strlen(more), sizeof more - strlen(more),
                           "; %zu get their algorithm and channels from here",
                           best.given_algorithms);
        }
        *text = inq_arena_asprintf(
            &own->arena,
            "its operations are in the traces beside it, which hold more: %zu of %zu found there, "
            "%zu of another size, %zu of another duration%s",
            best.found, work.n, best.sizes, best.durations, more);
        code = *text != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    inq_mem_free(work.row);
    return code;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Another format's trace of the same time, or NULL. */
static const struct inq_shard *find_other(const struct inq_shard *shards, size_t n,
                                          const struct inq_shard *own)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < shards[i].n_ranks && shards[i].file.read; r++) {
            const struct inq_rank *rank = &shards[i].ranks[r];
            if (!is_either(&shards[i]) && rank->has_clock_epoch && have_met(rank, &own->ranks[0])) {
                return &shards[i];
            }
        }
    }
    return NULL;
}

int inq_inspector_join(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct inspector_run run = {.shards = inq_mem_alloc((n + 1) * sizeof(struct inq_shard *))};
    uint8_t *done = inq_mem_zalloc(n + 1, 1);
    int code =
        run.shards != NULL && done != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    if (code == INQ_OK) {
        code = join_files(shards, n, err);
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (!is_either(&shards[i]) || done[i] || !has_places(&shards[i])) {
            continue;
        }
        if (find_other(shards, n, &shards[i]) != NULL) {
            const char *text = "";
            code = explain_agreement(&shards[i], shards, n, &text, err);
            inq_unrecognized_set_aside(&shards[i], text);
            continue;
        }
        run.n = 0;
        for (size_t k = i; k < n; k++) {
            bool same = k == i || (is_dump(&shards[k]) == is_dump(&shards[i]) &&
                                   is_either(&shards[k]) && !done[k] && has_places(&shards[k]) &&
                                   have_met(&shards[i].ranks[0], &shards[k].ranks[0]) &&
                                   find_other(shards, n, &shards[k]) == NULL);
            if (same) {
                done[k] = 1;
                run.shards[run.n++] = &shards[k];
            }
        }
        code = settle_run(&run, err);
    }
    set_rest_aside(shards, n);
    inq_mem_free((void *)run.shards);
    inq_mem_free(done);
    return code;
}
