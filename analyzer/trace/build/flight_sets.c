/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps into the run. Those of one incident are of one job while no rank occurs twice; else each
 * folder is one, and where that does not settle it, each way of writing the name before the rank.
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "trace/build/assemble.h"
#include "trace/build/flight.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A recorder that sees nothing finish (that of XPUs) tells only what was enqueued. What all members
 * of a group have enqueued, as far as dumps tell, is taken as finished, and so is every transfer:
 * what is left is what a member never came to. */

enum { MAX_GROUPS = 1 << 20 };

struct table {
    struct inq_map index; /* hash of name and members */
    int64_t *least;       /* the lowest of the members' last numbers */
    size_t n, cap;
    struct inq_err *err;
};

static bool is_unfollowed(const struct inq_flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        if (strncmp(entry->name, "xccl:", 5) != 0 || entry->state == INQ_FLIGHT_COMPLETED) {
            return false;
        }
    }
    return dump->n_entries > 0;
}

static int settle_group(struct table *t, const struct inq_flight_group *group, int64_t last)
{
    uint64_t key = inq_flight_group_key(group);
    uint32_t at = 0;
    if (inq_map_get(&t->index, key, &at)) {
        t->least[at] = last < t->least[at] ? last : t->least[at];
        return INQ_OK;
    }
    int code = inq_mem_grow(&t->least, &t->cap, t->n + 1, sizeof *t->least, MAX_GROUPS, t->err);
    if (code != INQ_OK) {
        return code;
    }
    t->least[t->n] = last;
    return inq_map_put(&t->index, key, (uint32_t)t->n++, t->err);
}

static int settle_dump(struct table *t, const struct inq_flight_dump *dump)
{
    int64_t *last = inq_mem_zalloc(dump->n_groups + 1, sizeof *last);
    int code = last != NULL ? INQ_OK : inq_err_set(t->err, INQ_NOMEM, "out of memory for dumps");
    for (size_t i = 0; i < dump->n_entries && code == INQ_OK; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        bool counts = entry->group != INQ_NONE && !entry->is_p2p;
        if (counts && entry->collective_seq > last[entry->group]) {
            last[entry->group] = entry->collective_seq;
        }
    }
    for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
        code = settle_group(t, &dump->groups[g], last[g]);
    }
    inq_mem_free(last);
    return code;
}

static void settle(const struct table *t, struct inq_flight_dump *dump)
{
    dump->unfollowed = true;
    for (size_t i = 0; i < dump->n_entries; i++) {
        struct inq_flight_entry *entry = &dump->entries[i];
        uint32_t at = 0;
        bool listed =
            entry->group != INQ_NONE &&
            inq_map_get(&t->index, inq_flight_group_key(&dump->groups[entry->group]), &at);
        if (entry->is_p2p || (listed && entry->collective_seq <= t->least[at])) {
            entry->state = INQ_FLIGHT_COMPLETED;
        }
    }
}

/* Gives states to the entries of dumps that never tell that one finished, and marks these dumps.
 * Fails with INQ_NOMEM. */
static int flight_settle_unfollowed(struct inq_trace *trace, struct inq_err *err)
{
    struct table t = {.err = err};
    bool any = false;
    int code = INQ_OK;
    for (size_t d = 0; d < trace->n_dumps; d++) {
        any = any || is_unfollowed(trace->dumps[d]);
    }
    for (size_t d = 0; d < trace->n_dumps && any && code == INQ_OK; d++) {
        code = settle_dump(&t, trace->dumps[d]);
    }
    for (size_t d = 0; d < trace->n_dumps && any && code == INQ_OK; d++) {
        if (is_unfollowed(trace->dumps[d])) {
            settle(&t, trace->dumps[d]);
        }
    }
    inq_map_release(&t.index);
    inq_mem_free(t.least);
    return code;
}

/* Dumps of several incidents told apart: old ones are often left where new ones are written. */

struct flight_item {
    struct inq_shard *shard;
    size_t key_len;            /* bytes of the path that name its set */
    size_t digits;             /* where the rank stands in the path */
    int64_t first_ns, last_ns; /* of all that it lists; INQ_TIME_NONE: nothing */
    int64_t timeout_ns;
    int32_t host_offset; /* added to ranks that are numbered anew in each host's folder */
    uint32_t age;        /* how many incidents are later; 0: of the latest */
    int64_t before_ns;   /* its incident ended so long before the latest */
};

/* Ranks of one incident stop within the time after which a collective is given up. */
static const int64_t least_gap_ns = INT64_C(600000000000);

/* ---- times ----------------------------------------------------------------------------------- */

static void widen(struct flight_item *item, int64_t time_ns)
{
    if (time_ns == INQ_TIME_NONE) {
        return;
    }
    bool none = item->first_ns == INQ_TIME_NONE;
    item->first_ns = none || time_ns < item->first_ns ? time_ns : item->first_ns;
    item->last_ns = none || time_ns > item->last_ns ? time_ns : item->last_ns;
}

static void find_times(struct flight_item *item)
{
    const struct inq_flight_dump *dump = item->shard->dump;
    item->first_ns = item->last_ns = INQ_TIME_NONE;
    item->timeout_ns = least_gap_ns;
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        widen(item, entry->created_ns);
        widen(item, entry->completed_ns);
        item->timeout_ns =
            entry->timeout_ns > item->timeout_ns ? entry->timeout_ns : item->timeout_ns;
    }
}

static int compare_times(const void *a, const void *b, void *ctx)
{
    const struct flight_item *x = a;
    const struct flight_item *y = b;
    (void)ctx;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Counts the incidents; `age` gets the number of each item's, from the first on. */
static uint32_t count_incidents(struct flight_item *items, size_t n)
{
    int64_t gap_ns = least_gap_ns;
    for (size_t i = 0; i < n; i++) {
        gap_ns = items[i].timeout_ns > gap_ns ? items[i].timeout_ns : gap_ns;
    }
    uint32_t incident = 0;
    int64_t last_ns = INQ_TIME_NONE;
    for (size_t i = 0; i < n; i++) {
        bool told = items[i].first_ns != INQ_TIME_NONE;
        incident += told && last_ns != INQ_TIME_NONE && items[i].first_ns - gap_ns > last_ns;
        last_ns = items[i].last_ns > last_ns ? items[i].last_ns : last_ns;
        items[i].age = incident;
    }
    return incident;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* How far the members of a group are known to have come, in the latest incident [0] and another. */
struct count {
    int64_t least[2];  /* the lowest of their last numbers that were enqueued, -1 none */
    int64_t synced[2]; /* the highest that is finished and needs all of them, -1 none */
};

struct joining {
    struct flight_item *items;
    size_t n;
    struct inq_map groups, ranks; /* hash of name and members; rank */
    struct count *counts;
    size_t n_counts, cap_counts;
    struct inq_err *err;
};

static int find_count(struct joining *j, const struct inq_flight_group *group, uint32_t *index)
{
    uint64_t key = inq_flight_group_key(group);
    if (inq_map_get(&j->groups, key, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&j->counts, &j->cap_counts, j->n_counts + 1, sizeof *j->counts,
                            MAX_GROUPS, j->err);
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)j->n_counts;
    j->counts[j->n_counts++] = (struct count){.least = {-1, -1}, .synced = {-1, -1}};
    return inq_map_put(&j->groups, key, *index, j->err);
}

/* What one dump reports a group. */
struct own {
    uint32_t count;
    int64_t last;
    bool mixed; /* not all that it lists needs all members: the counters may be of that */
};

static void count_entry(struct joining *j, const struct inq_flight_entry *entry, struct own *own,
                        size_t side)
{
    bool all = !entry->is_p2p && inq_flight_needs_all(entry->kind);
    int64_t seq = entry->is_p2p ? -1 : entry->collective_seq;
    int64_t *synced = &j->counts[own->count].synced[side];
    bool done = entry->state == INQ_FLIGHT_COMPLETED;
    *synced = all && done && seq > *synced ? seq : *synced;
    own->mixed = own->mixed || !all;
    own->last = seq > own->last ? seq : own->last;
}

static void count_group(struct joining *j, const struct inq_flight_group *group,
                        const struct own *own, size_t side)
{
    struct count *count = &j->counts[own->count];
    bool counted = group->has_status && !own->mixed && own->last == group->last_enqueued;
    int64_t done = counted ? group->last_completed : -1;
    int64_t *least = &count->least[side];
    count->synced[side] = done > count->synced[side] ? done : count->synced[side];
    *least = own->last >= 0 && (*least < 0 || own->last < *least) ? own->last : *least;
}

static int count_dump(struct joining *j, const struct inq_flight_dump *dump, size_t side)
{
    struct own *own = inq_mem_alloc((dump->n_groups + 1) * sizeof *own);
    int code = own != NULL ? INQ_OK : inq_err_set(j->err, INQ_NOMEM, "out of memory for dumps");
    for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
        own[g] = (struct own){.last = -1};
        code = find_count(j, &dump->groups[g], &own[g].count);
    }
    for (size_t i = 0; i < dump->n_entries && code == INQ_OK; i++) {
        uint32_t g = dump->entries[i].group;
        if (g != INQ_NONE) {
            count_entry(j, &dump->entries[i], &own[g], side);
        }
    }
    for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
        count_group(j, &dump->groups[g], &own[g], side);
    }
    inq_mem_free(own);
    return code;
}

/* The dumps of an age, and whether none of their ranks was counted before. */
static int count_side(struct joining *j, uint32_t age, size_t side, bool *others)
{
    int code = INQ_OK;
    for (size_t i = 0; i < j->n && code == INQ_OK; i++) {
        const struct inq_flight_dump *dump = j->items[i].shard->dump;
        uint32_t known = 0;
        if (j->items[i].age != age) {
            continue;
        }
        uint64_t rank = (uint64_t)(int64_t)dump->rank;
        *others = *others && !inq_map_get(&j->ranks, rank, &known);
        code = inq_map_put(&j->ranks, rank, age, j->err);
        code = code == INQ_OK ? count_dump(j, dump, side) : code;
    }
    return code;
}

/* Whether nobody finished what needs all before a member on the other side had enqueued it, in any
 * group; at least one group must tell. */
static bool fit(const struct joining *j)
{
    bool told = false;
    for (size_t i = 0; i < j->n_counts; i++) {
        const struct count *c = &j->counts[i];
        if (c->least[0] < 0 || c->least[1] < 0) {
            continue;
        }
        if (c->synced[0] > c->least[1] || c->synced[1] > c->least[0]) {
            return false;
        }
        told = told || (c->synced[0] >= 0 && c->synced[1] >= 0);
    }
    return told;
}

/* Takes an incident into the latest, when it is one with it but for the clocks. */
static int join_incident(struct flight_item *items, size_t n, uint32_t age, bool *joined,
                         struct inq_err *err)
{
    struct joining j = {.items = items, .n = n, .err = err};
    bool others = true;
    int code = count_side(&j, 0, 0, &others);
    others = true;
    code = code == INQ_OK ? count_side(&j, age, 1, &others) : code;
    *joined = code == INQ_OK && others && fit(&j);
    for (size_t i = 0; i < n && *joined; i++) {
        items[i].age = items[i].age == age ? 0 : items[i].age;
        items[i].age -= items[i].age > age;
    }
    inq_map_release(&j.groups);
    inq_map_release(&j.ranks);
    inq_mem_free(j.counts);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* How long before the latest each incident ended. */
static void find_before(struct flight_item *items, size_t n)
{
    int64_t latest_ns = n > 0 ? items[n - 1].last_ns : INQ_TIME_NONE;
    for (size_t i = 0; i < n; i++) {
        latest_ns =
            items[i].age == 0 && items[i].last_ns > latest_ns ? items[i].last_ns : latest_ns;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].before_ns = items[i].age > 0 ? latest_ns - items[i].last_ns : 0;
    }
}

/* Fills times, age and before_ns; sorts the items by their first time. An incident ends where
 * nothing happened on any rank for longer than a timeout, unless what comes after is of other ranks
 * and fits to it by its numbers: then their clocks differ. Dumps without entries count to the
 * latest. Fails with INQ_NOMEM. */
static int flight_split_incidents(struct flight_item *items, size_t n, struct inq_err *err)
{
    for (size_t i = 0; i < n; i++) {
        find_times(&items[i]);
    }
    int code = inq_sort(items, n, sizeof *items, compare_times, NULL, err);
    if (code != INQ_OK) {
        return code;
    }
    uint32_t oldest = count_incidents(items, n);
    for (size_t i = 0; i < n; i++) {
        items[i].age = items[i].first_ns != INQ_TIME_NONE ? oldest - items[i].age : 0;
    }
    for (uint32_t age = 1; age <= oldest && code == INQ_OK;) {
        bool joined = false;
        code = join_incident(items, n, age, &joined, err);
        age += !joined;
        oldest -= joined;
    }
    find_before(items, n);
    return code;
}

static int32_t rank_of(const struct flight_item *item)
{
    return item->shard->dump->rank;
}

static int compare_keys(const struct flight_item *a, const struct flight_item *b)
{
    size_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = memcmp(a->shard->file.path, b->shard->file.path, len);
    return order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    const struct flight_item *x = a;
    const struct flight_item *y = b;
    (void)ctx;
    int order = (x->age > y->age) - (x->age < y->age);
    order = order != 0 ? order : compare_keys(x, y);
    if (order == 0) {
        order = (rank_of(x) > rank_of(y)) - (rank_of(x) < rank_of(y));
    }
    return order != 0 ? order : strcmp(x->shard->file.path, y->shard->file.path);
}

static size_t set_end(const struct flight_item *items, size_t lo, size_t n)
{
    size_t hi = lo + 1;
    while (hi < n && items[hi].age == items[lo].age && compare_keys(&items[lo], &items[hi]) == 0) {
        hi++;
    }
    return hi;
}

static bool has_twice(const struct flight_item *items, size_t lo, size_t hi)
{
    for (size_t i = lo + 1; i < hi; i++) {
        if (rank_of(&items[i]) == rank_of(&items[i - 1]) && rank_of(&items[i]) >= 0 &&
            items[i].age == items[i - 1].age) {
            return true;
        }
    }
    return false;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* ---- hosts' folders ----------------------------------------------------------------------------
 */

/* One more than the highest rank that the dump's groups name. */
static int32_t world_in(const struct inq_flight_dump *dump)
{
    int32_t world = 0;
    for (size_t g = 0; g < dump->n_groups; g++) {
        for (size_t i = 0; i < dump->groups[g].n_ranks; i++) {
            int32_t rank = dump->groups[g].ranks[i];
            world = rank >= world ? rank + 1 : world;
        }
    }
    return world;
}

/* Folders as people number hosts: "node2/" is in front of "node10/". */
static int compare_folders(const struct flight_item *a, const struct flight_item *b)
{
    const char *x = a->shard->file.path;
    const char *y = b->shard->file.path;
    size_t i = 0;
    size_t k = 0;
    while (i < a->key_len && k < b->key_len) {
        bool digits = x[i] >= '0' && x[i] <= '9' && y[k] >= '0' && y[k] <= '9';
        if (!digits) {
            if (x[i] != y[k]) {
                return (unsigned char)x[i] < (unsigned char)y[k] ? -1 : 1;
            }
            i++;
            k++;
            continue;
        }
        char *end_x;
        char *end_y;
        unsigned long long u = strtoull(x + i, &end_x, 10);
        unsigned long long v = strtoull(y + k, &end_y, 10);
        if (u != v) {
            return u < v ? -1 : 1;
        }
        i = (size_t)(end_x - x);
        k = (size_t)(end_y - y);
    }
    return (int)(i < a->key_len) - (int)(k < b->key_len);
}

/* Whether the folders of the items in [lo, hi), that are sorted by them, hold one host each of a
 * single world: together they have room for just its ranks, and each holds some of as many. */
static bool are_hosts(const struct flight_item *items, size_t lo, size_t hi, int32_t *per_host)
{
    int32_t world = world_in(items[lo].shard->dump);
    int32_t folders = 0;
    for (size_t i = lo, end; i < hi; i = end) {
        end = set_end(items, i, hi);
        folders++;
        if (has_twice(items, i, end)) {
            return false;
        }
    }
    *per_host = folders > 1 && world % folders == 0 ? world / folders : 0;
    bool fits = *per_host > 0;
    for (size_t i = lo; i < hi && fits; i++) {
        fits = world_in(items[i].shard->dump) == world && rank_of(&items[i]) >= 0 &&
               rank_of(&items[i]) < *per_host;
    }
    return fits;
}

/* Ranks that are numbered anew in each host's folder, where no group tells which they are, become
 * those of the world, in the order of the folders. The items are sorted by folder. */
static void number_hosts(struct flight_item *items, size_t n)
{
    for (size_t lo = 0, hi; lo < n; lo = hi) {
        int32_t per_host = 0;
        for (hi = lo + 1; hi < n && items[hi].age == items[lo].age; hi++) {
        }
        bool hosts = are_hosts(items, lo, hi, &per_host);
        for (size_t i = lo, end; i < hi && hosts; i = end) {
            int32_t before = 0;
            end = set_end(items, i, hi);
            for (size_t k = lo; k < hi; k = set_end(items, k, hi)) {
                before += compare_folders(&items[k], &items[i]) < 0;
            }
            for (size_t k = i; k < end; k++) {
                items[k].host_offset = before * per_host;
            }
        }
        for (size_t i = lo; i < hi && hosts; i++) {
            items[i].shard->dump->rank += items[i].host_offset;
            items[i].key_len = 0;
        }
    }
}

/* Sorts the items by set and rank. */
static int tell_sets_apart(struct flight_item *items, size_t n, struct inq_err *err)
{
    int code = flight_split_incidents(items, n, err);
    code = code == INQ_OK ? inq_sort(items, n, sizeof *items, compare_items, NULL, err) : code;
    if (code != INQ_OK || !has_twice(items, 0, n)) {
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].key_len = folder_len(items[i].shard->file.path);
    }
    code = inq_sort(items, n, sizeof *items, compare_items, NULL, err);
    if (code == INQ_OK) {
        number_hosts(items, n);
        code = inq_sort(items, n, sizeof *items, compare_items, NULL, err);
    }
    for (size_t lo = 0, hi = 0; lo < n && code == INQ_OK; lo = hi) {
        hi = set_end(items, lo, n);
        bool mixed = has_twice(items, lo, hi);
        for (size_t i = lo; i < hi && mixed; i++) {
            items[i].key_len = items[i].digits;
        }
    }
    return code == INQ_OK ? inq_sort(items, n, sizeof *items, compare_items, NULL, err) : code;
}

/* ---- one set --------------------------------------------------------------------------------- */

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for dumps");
}

/* A dump that is set aside has a remark why, in place of what its reader said. */
static int keep_file(struct inq_trace *trace, const struct inq_file *file, const char *remark,
                     struct inq_err *err)
{
    struct inq_file said = *file;
    said.reason = remark != NULL ? remark : file->reason;
    said.read = remark == NULL;
    said.events_kept = remark == NULL ? file->events_kept : 0;
    return inq_trace_keep_file(trace, &said, err);
}

/* Files and dumps of the set, behind what the trace has. Of two dumps of a rank the first counts.
 */
static int add_dumps(struct inq_trace *trace, struct flight_item *items, size_t n,
                     struct inq_err *err)
{
    trace->dumps = inq_arena_array(trace->arena, n, sizeof(struct inq_flight_dump *));
    int code = trace->dumps != NULL ? inq_trace_reserve_files(trace, n, err) : no_memory(err);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        struct inq_flight_dump *dump = items[i].shard->dump;
        bool again = i > 0 && dump->rank >= 0 && trace->n_dumps > 0 &&
                     trace->dumps[trace->n_dumps - 1]->rank == dump->rank;
        const char *remark = again            ? "another dump of this rank is used"
                             : dump->rank < 0 ? "neither its name nor its groups tell its rank: "
                                                "not used"
                                              : NULL;
        dump->file = (uint32_t)trace->n_files;
        code = keep_file(trace, &items[i].shard->file, remark, err);
        if (code == INQ_OK && remark == NULL) {
            trace->dumps[trace->n_dumps++] = dump;
            items[i].shard->dump = NULL;
        }
    }
    return code == INQ_OK ? flight_settle_unfollowed(trace, err) : code;
}

/* One more than the highest rank of any group: the world has at least that many. */
static int32_t world_of(const struct inq_trace *trace)
{
    int32_t world = 0;
    for (size_t d = 0; d < trace->n_dumps; d++) {
        const struct inq_flight_dump *dump = trace->dumps[d];
        int32_t named = world_in(dump);
        world = dump->rank >= world ? dump->rank + 1 : world;
        world = named > world ? named : world;
    }
    return world;
}

static int add_ranks(struct inq_trace *trace, struct inq_err *err)
{
    trace->world_size = trace->n_dumps > 0 ? world_of(trace) : -1;
    size_t world = trace->n_dumps > 0 ? (size_t)trace->world_size : 0;
    trace->ranks = inq_arena_array(trace->arena, trace->n_dumps, sizeof *trace->ranks);
    trace->missing = inq_arena_array(trace->arena, world, sizeof *trace->missing);
    if (trace->ranks == NULL || trace->missing == NULL) {
        return no_memory(err);
    }
    size_t d = 0;
    for (int32_t number = 0; number < trace->world_size; number++) {
        if (d == trace->n_dumps || trace->dumps[d]->rank != number) {
            trace->missing[trace->n_missing++] = number;
            continue;
        }
        char label[16];
        struct inq_rank *rank = &trace->ranks[trace->n_ranks];
        *rank = (struct inq_rank){.rank = number,
                                  .world_size = trace->world_size,
                                  .stage = -1,
                                  .dp_rank = -1,
                                  .file = trace->dumps[d]->file,
                                  .pid = -1,
                                  .first_ns = INQ_TIME_NONE,
                                  .last_ns = INQ_TIME_NONE,
                                  .clock = {.residual_ns = -1}};
        trace->n_ranks++;
        (void)snprintf(label, sizeof label, "%d", (int)number);
        int code = inq_strtab_add(trace->names, label, strlen(label), &rank->label, err);
        if (code != INQ_OK) {
            return code;
        }
        d++;
    }
    return INQ_OK;
}

/* The folder's name, and what stands before the rank where that tells sets apart. */
static const char *name_place(struct inq_trace *trace, const struct flight_item *items)
{
    const char *path = items[0].shard->file.path;
    size_t end = folder_len(path);
    size_t start = end > 0 ? end - 1 : 0;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    if (items[0].key_len > end) {
        return inq_arena_strndup(trace->arena, path + start, items[0].key_len - start);
    }
    bool nameless = end <= start + 1 || strncmp(path + start, "./", 2) == 0;
    return nameless ? "dumps" : inq_arena_strndup(trace->arena, path + start, end - 1 - start);
}

static const char *name_set(struct inq_trace *trace, const struct flight_item *items)
{
    const char *place = name_place(trace, items);
    if (items[0].age == 0 || place == NULL) {
        return place;
    }
    const int64_t hour = 60;
    const int64_t day = 24 * hour;
    int64_t minutes = items[0].before_ns / INT64_C(60000000000);
    int64_t per = minutes < 2 * hour ? 1 : minutes < 2 * day ? hour : day;
    return inq_arena_asprintf(trace->arena, "%s, an earlier incident, %" PRId64 " %s before", place,
                              minutes / per,
                              per == 1      ? "min"
                              : per == hour ? "h"
                                            : "days");
}

static int make_trace(struct inq_run *run, struct flight_item *items, size_t n, struct inq_err *err)
{
    struct inq_trace *trace = inq_arena_alloc(run->arena, sizeof *trace);
    if (trace == NULL) {
        return no_memory(err);
    }
    trace->name = "";
    trace->arena = inq_mem_zalloc(1, sizeof *trace->arena);
    trace->names = inq_mem_zalloc(1, sizeof *trace->names);
    run->traces[run->n_traces++] = trace;
    if (trace->arena == NULL || trace->names == NULL) {
        return no_memory(err);
    }
    trace->name = name_set(trace, items);
    if (trace->name == NULL) {
        trace->name = "";
        return no_memory(err);
    }
    int code = add_dumps(trace, items, n, err);
    return code == INQ_OK ? add_ranks(trace, err) : code;
}

/* The latest incident belongs to the one trace that is there, if its dumps are of one job. */
static int add_sets(struct inq_run *run, struct flight_item *items, size_t n, struct inq_err *err)
{
    size_t end = set_end(items, 0, n);
    if (run->n_traces == 1 && (end == n || items[end].age > 0)) {
        int code = add_dumps(run->traces[0], items, end, err);
        if (code != INQ_OK || end == n) {
            return code;
        }
        items += end;
        n -= end;
    }
    struct inq_trace **traces =
        inq_arena_array(run->arena, run->n_traces + n, sizeof(struct inq_trace *));
    if (traces == NULL) {
        return no_memory(err);
    }
    if (run->n_traces > 0) {
        memcpy(traces, run->traces, run->n_traces * sizeof(struct inq_trace *));
    }
    run->traces = traces;
    int code = INQ_OK;
    for (size_t lo = 0, hi = 0; lo < n && code == INQ_OK; lo = hi) {
        hi = set_end(items, lo, n);
        code = make_trace(run, items + lo, hi - lo, err);
    }
    return code;
}

int inq_assemble_dumps(struct inq_run *run, struct inq_shard *shards, size_t n, struct inq_err *err)
{
    if (n == 0) {
        return INQ_OK;
    }
    struct flight_item *items = inq_mem_zalloc(n, sizeof *items);
    if (items == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        items[i].shard = &shards[i];
        (void)inq_flight_rank(shards[i].file.path, &items[i].digits);
    }
    int code = tell_sets_apart(items, n, err);
    if (code == INQ_OK) {
        code = add_sets(run, items, n, err);
    }
    inq_mem_free(items);
    return code;
}
