/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/flight_incidents.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* Ranks of one incident stop within the time after which a collective is given up. */
static const int64_t least_gap_ns = INT64_C(600000000000);

/* ---- times ----------------------------------------------------------------------------------- */

static void widen(struct inq_flight_item *item, int64_t time_ns)
{
    if (time_ns == INQ_TIME_NONE) {
        return;
    }
    bool none = item->first_ns == INQ_TIME_NONE;
    item->first_ns = none || time_ns < item->first_ns ? time_ns : item->first_ns;
    item->last_ns = none || time_ns > item->last_ns ? time_ns : item->last_ns;
}

static void find_times(struct inq_flight_item *item)
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
    const struct inq_flight_item *x = a;
    const struct inq_flight_item *y = b;
    (void)ctx;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Counts the incidents; `age` gets the number of each item's, from the first on. */
static uint32_t count_incidents(struct inq_flight_item *items, size_t n)
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

enum { MAX_GROUPS = 1 << 20 };

/* How far the members of a group are known to have come, in the latest incident [0] and another. */
struct count {
    int64_t least[2];  /* the lowest of their last numbers that were enqueued, -1 none */
    int64_t synced[2]; /* the highest that is finished and needs all of them, -1 none */
};

struct joining {
    struct inq_flight_item *items;
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

/* What one dump tells of a group. */
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
static int join_incident(struct inq_flight_item *items, size_t n, uint32_t age, bool *joined,
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
static void find_before(struct inq_flight_item *items, size_t n)
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

int inq_flight_tell_incidents(struct inq_flight_item *items, size_t n, struct inq_err *err)
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
