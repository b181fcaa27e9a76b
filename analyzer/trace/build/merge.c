/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/merge.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"

#include <string.h>

/* From a shard's ids to the trace's. */
struct translation {
    struct inq_shard *shard;
    size_t first_rank; /* in the trace */
    inq_str *names;    /* [strings of the shard]; until they are merged: 1 where used */
    uint32_t *groups;
    uint32_t *launches;
};

/* A trace's groups while they are collected. */
struct groups {
    size_t n, cap;
    struct inq_group *rows;
    struct inq_map by_key;  /* name and ranks; name and size where the ranks are not known */
    struct inq_map by_name; /* the last group with the name whose ranks are known */
    size_t cap_previous;
    uint32_t *previous; /* [n] the one before it, or INQ_NONE */
};

struct merge {
    struct inq_trace *trace;
    size_t n;
    struct translation *parts;
    struct groups groups;
    struct inq_launches launches;
};

/* ---- names ----------------------------------------------------------------------------------- */

typedef void visit(inq_str *id, inq_str *map);

static void mark(inq_str *id, inq_str *map)
{
    map[*id] = 1;
}

static void translate(inq_str *id, inq_str *map)
{
    *id = map[*id];
}

static void visit_launch(struct inq_launch *launch, visit *v, inq_str *map)
{
    v(&launch->op, map);
    v(&launch->dims, map);
    v(&launch->types, map);
    v(&launch->module, map);
    v(&launch->source, map);
}

static void visit_rank(struct inq_rank *rank, visit *v, inq_str *map)
{
    v(&rank->host, map);
    v(&rank->device_name, map);
    v(&rank->job, map);
    v(&rank->label, map);
    for (size_t i = 0; i < rank->n_lanes; i++) {
        v(&rank->lanes[i].name, map);
    }
    for (size_t i = 0; i < rank->events.n; i++) {
        v(&rank->events.name[i], map);
    }
    for (size_t i = 0; i < rank->calls.n; i++) {
        v(&rank->calls.name[i], map);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        v(&rank->notes[i].name, map);
    }
    for (size_t i = 0; i < rank->n_comms; i++) {
        v(&rank->comms[i].op_name, map);
        v(&rank->comms[i].dtype, map);
    }
}

static int mark_used(void *ctx, size_t i, struct inq_err *err)
{
    struct translation *part = &((struct merge *)ctx)->parts[i];
    struct inq_shard *shard = part->shard;
    part->names = inq_mem_zalloc(inq_strtab_count(&shard->names), sizeof *part->names);
    part->groups = inq_mem_zalloc(shard->n_groups + 1, sizeof *part->groups);
    part->launches = inq_mem_zalloc(shard->launches.n + 1, sizeof *part->launches);
    if (part->names == NULL || part->groups == NULL || part->launches == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for merging names");
    }
    for (size_t r = 0; r < shard->n_ranks; r++) {
        visit_rank(&shard->ranks[r], mark, part->names);
    }
    for (size_t g = 0; g < shard->n_groups; g++) {
        mark(&shard->groups[g].name, part->names);
        mark(&shard->groups[g].desc, part->names);
    }
    for (size_t l = 0; l < shard->launches.n; l++) {
        visit_launch(&shard->launches.rows[l], mark, part->names);
    }
    return INQ_OK;
}

/* In the order of the shards, and of the ids in each: the same whatever ran in parallel. */
static int merge_names(struct merge *m, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t p = 0; p < m->n; p++) {
        const struct inq_strtab *names = &m->parts[p].shard->names;
        inq_str *map = m->parts[p].names;
        map[0] = 0;
        for (uint32_t id = 1; id < inq_strtab_count(names) && code == INQ_OK; id++) {
            if (map[id] != 0) {
                code = inq_strtab_add(m->trace->names, inq_strtab_get(names, id),
                                      inq_strtab_len(names, id), &map[id], err);
            }
        }
    }
    return code;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool ranks_known(const struct inq_group *group)
{
    return group->n_ranks > 0 && (group->size < 0 || (uint32_t)group->size == group->n_ranks);
}

static uint64_t key_of(const struct inq_group *group)
{
    uint64_t key = inq_hash_u64(group->name);
    if (ranks_known(group)) {
        return key ^ inq_hash_bytes(group->ranks, group->n_ranks * sizeof *group->ranks);
    }
    return inq_hash_u64(key + (uint32_t)group->size);
}

static bool same_group(const struct inq_group *a, const struct inq_group *b)
{
    if (a->name != b->name || ranks_known(a) != ranks_known(b)) {
        return false;
    }
    if (!ranks_known(a)) {
        return a->size == b->size;
    }
    return a->n_ranks == b->n_ranks &&
           memcmp(a->ranks, b->ranks, a->n_ranks * sizeof *a->ranks) == 0;
}

static int append_group(struct merge *m, const struct inq_group *group, uint32_t *index,
                        struct inq_err *err)
{
    struct groups *g = &m->groups;
    int code = inq_mem_grow(&g->rows, &g->cap, g->n + 1, sizeof *g->rows, INQ_MAX_GROUPS, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&g->previous, &g->cap_previous, g->n + 1, sizeof *g->previous,
                            INQ_MAX_GROUPS, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)g->n;
    struct inq_group *row = &g->rows[g->n];
    *row = *group;
    row->n_ranks = ranks_known(group) ? group->n_ranks : 0; /* part of a list is no list */
    row->size = row->size < 0 && row->n_ranks > 0 ? (int32_t)row->n_ranks : row->size;
    int32_t *ranks = inq_arena_array(m->trace->arena, row->n_ranks, sizeof *ranks);
    if (ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for process groups");
    }
    if (row->n_ranks > 0) {
        memcpy(ranks, group->ranks, row->n_ranks * sizeof *ranks);
    }
    row->ranks = ranks;
    g->previous[g->n] = INQ_NONE;
    if (row->n_ranks > 0) {
        (void)inq_map_get(&g->by_name, group->name, &g->previous[g->n]);
        code = inq_map_put(&g->by_name, group->name, *index, err);
    }
    g->n++;
    return code == INQ_OK ? inq_map_put(&g->by_key, key_of(group), *index, err) : code;
}

static int find_or_append(struct merge *m, const struct inq_group *group, uint32_t *index,
                          struct inq_err *err)
{
    if (!inq_map_get(&m->groups.by_key, key_of(group), index) ||
        !same_group(&m->groups.rows[*index], group)) {
        return append_group(m, group, index, err);
    }
    struct inq_group *row = &m->groups.rows[*index];
    row->desc = row->desc == 0 ? group->desc : row->desc;
    return INQ_OK;
}

static bool has_rank(const struct inq_group *group, int32_t rank)
{
    size_t low = 0;
    size_t high = group->n_ranks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (group->ranks[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < group->n_ranks && group->ranks[low] == rank;
}

/* The one group that other files describe in full and that a rank of this shard is in, or INQ_NONE.
 */
static uint32_t described_elsewhere(const struct merge *m, const struct inq_shard *shard,
                                    const struct inq_group *group)
{
    uint32_t found = INQ_NONE;
    uint32_t g = INQ_NONE;
    (void)inq_map_get(&m->groups.by_name, group->name, &g);
    for (; g != INQ_NONE; g = m->groups.previous[g]) {
        const struct inq_group *row = &m->groups.rows[g];
        bool fits = group->size < 0 || row->size == group->size;
        bool in_it = false;
        for (size_t r = 0; r < shard->n_ranks && fits && !in_it; r++) {
            in_it = shard->ranks[r].rank >= 0 && has_rank(row, shard->ranks[r].rank);
        }
        if (in_it && found != INQ_NONE) {
            return INQ_NONE; /* two could be meant */
        }
        found = in_it ? g : found;
    }
    return found;
}

static int merge_groups_of(struct merge *m, const struct translation *part, bool known,
                           struct inq_err *err)
{
    const struct inq_shard *shard = part->shard;
    int code = INQ_OK;
    for (size_t g = 0; g < shard->n_groups && code == INQ_OK; g++) {
        struct inq_group group = shard->groups[g];
        if (ranks_known(&group) != known) {
            continue;
        }
        group.name = part->names[group.name];
        group.desc = part->names[group.desc];
        uint32_t index = known ? INQ_NONE : described_elsewhere(m, shard, &group);
        if (index == INQ_NONE) {
            code = find_or_append(m, &group, &index, err);
        }
        part->groups[g] = index;
    }
    return code;
}

static int merge_groups(struct merge *m, struct inq_err *err)
{
    int code = INQ_OK;
    for (int known = 1; known >= 0; known--) {
        for (size_t p = 0; p < m->n && code == INQ_OK; p++) {
            code = merge_groups_of(m, &m->parts[p], known != 0, err);
        }
    }
    struct inq_trace *trace = m->trace;
    if (code == INQ_OK) {
        trace->groups = inq_arena_array(trace->arena, m->groups.n, sizeof *trace->groups);
        if (trace->groups == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for process groups");
        }
        trace->n_groups = m->groups.n;
        if (m->groups.n > 0) {
            memcpy(trace->groups, m->groups.rows, m->groups.n * sizeof *trace->groups);
        }
    }
    return code;
}

/* ---- launches -------------------------------------------------------------------------------- */

static int merge_launches(struct merge *m, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t p = 0; p < m->n; p++) {
        const struct translation *part = &m->parts[p];
        const struct inq_launches *own = &part->shard->launches;
        for (size_t i = 1; i < own->n && code == INQ_OK; i++) {
            struct inq_launch row = own->rows[i];
            visit_launch(&row, translate, part->names);
            code = inq_launches_add(&m->launches, &row, &part->launches[i], err);
        }
    }
    struct inq_trace *trace = m->trace;
    if (code == INQ_OK && m->launches.n > 0) {
        trace->launches = inq_arena_array(trace->arena, m->launches.n, sizeof *trace->launches);
        if (trace->launches == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu launches", m->launches.n);
        }
        trace->n_launches = m->launches.n;
        memcpy(trace->launches, m->launches.rows, m->launches.n * sizeof *trace->launches);
    }
    return code;
}

/* A clock's pieces lie in the arena of the shard, which goes. */
static int keep_clocks(struct inq_trace *trace, struct inq_err *err)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_clock *clock = &trace->ranks[r].clock;
        if (clock->n_later == 0) {
            continue;
        }
        struct inq_clock_piece *kept = inq_arena_array(trace->arena, clock->n_later, sizeof *kept);
        if (kept == NULL) {
            clock->n_later = 0;
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", trace->n_ranks);
        }
        memcpy(kept, clock->later, clock->n_later * sizeof *kept);
        clock->later = kept;
    }
    return INQ_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int move_ranks(void *ctx, size_t p, struct inq_err *err)
{
    (void)err;
    const struct merge *m = ctx;
    const struct translation *part = &m->parts[p];
    struct inq_shard *shard = part->shard;
    for (size_t r = 0; r < shard->n_ranks; r++) {
        struct inq_rank *rank = &m->trace->ranks[part->first_rank + r];
        *rank = shard->ranks[r];
        visit_rank(rank, translate, part->names);
        for (size_t c = 0; c < rank->n_comms; c++) {
            uint32_t *group = &rank->comms[c].group;
            *group = *group < shard->n_groups ? part->groups[*group] : INQ_NONE;
        }
        for (size_t i = 0; rank->events.launch != NULL && i < rank->events.n; i++) {
            rank->events.launch[i] = part->launches[rank->events.launch[i]];
        }
    }
    shard->n_ranks = 0; /* theirs no more */
    return INQ_OK;
}

int inq_merge_shards(struct inq_trace *trace, struct inq_shard *const *shards, size_t n, int jobs,
                     struct inq_err *err)
{
    struct merge m = {.trace = trace, .n = n};
    m.parts = inq_mem_zalloc(n + 1, sizeof *m.parts);
    if (m.parts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for merging %zu files", n);
    }
    size_t n_ranks = 0;
    for (size_t p = 0; p < n; p++) {
        m.parts[p].shard = shards[p];
        m.parts[p].first_rank = n_ranks;
        n_ranks += shards[p]->n_ranks;
    }
    int code = inq_par_for(n, jobs, mark_used, &m, err);
    if (code == INQ_OK) {
        code = merge_names(&m, err);
    }
    if (code == INQ_OK) {
        code = merge_groups(&m, err);
    }
    if (code == INQ_OK) {
        code = merge_launches(&m, err);
    }
    if (code == INQ_OK) {
        trace->n_ranks = n_ranks;
        code = inq_par_for(n, jobs, move_ranks, &m, err);
    }
    if (code == INQ_OK) {
        code = keep_clocks(trace, err);
    }
    for (size_t p = 0; p < n; p++) {
        inq_mem_free(m.parts[p].names);
        inq_mem_free(m.parts[p].groups);
        inq_mem_free(m.parts[p].launches);
    }
    inq_mem_free(m.parts);
    inq_mem_free(m.groups.rows);
    inq_mem_free(m.groups.previous);
    inq_launches_release(&m.launches);
    inq_map_release(&m.groups.by_key);
    inq_map_release(&m.groups.by_name);
    return code;
}
