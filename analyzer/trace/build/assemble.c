/* SPDX-License-Identifier: Apache-2.0 */
/* From shards to traces: one trace per job, then its steps, collectives and clocks. */
#include "trace/build/assemble.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "trace/build/jobs.h"
#include "trace/build/shard.h"
#include "trace/clock/clock.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Ranks of several shards under one string table and one list of groups. */

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
        v(&rank->comms[i].algorithm, map);
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

/* Makes trace->names and trace->groups of the shards' (in this order), and moves the shards' ranks
 * into trace->ranks, one shard behind the other, with their ids translated. trace->arena and room
 * for the ranks are there. Does not depend on `jobs`. On failure nothing has moved. Fails with
 * INQ_NOMEM, INQ_LIMIT. */
static int merge_shards(struct inq_trace *trace, struct inq_shard *const *shards, size_t n,
                        int jobs, struct inq_err *err)
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

/* The shards of one job, by path. */
struct job {
    struct inq_shard **shards; /* [n], then copies of other files */
    size_t n, n_copies;
    struct inq_shard **copy_of; /* [n_copies] */
    bool align;
    int jobs;
};

/* ---- files ----------------------------------------------------------------------------------- */

static int keep_copy(struct inq_trace *trace, const struct inq_shard *copy,
                     const struct inq_shard *of, struct inq_err *err)
{
    int code = inq_trace_keep_file(trace, &copy->file, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_file *file = &trace->files[trace->n_files - 1];
    file->read = false;
    file->events_kept = 0;
    const char *path = of->file.path != NULL ? of->file.path : "another file";
    if (copy->file.events < of->file.events) { /* what it lacks is not lost */
        file->damage = (struct inq_damage){0};
        file->reason = inq_arena_asprintf(trace->arena, "the beginning of %s, not counted", path);
    } else {
        file->reason =
            inq_arena_asprintf(trace->arena, "holds the same events as %s, counted once", path);
    }
    return file->reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a file");
}

/* The files of the job in the order of the shards; copies of others behind them. */
static int keep_files(struct inq_trace *trace, const struct job *job, struct inq_err *err)
{
    int code = inq_trace_reserve_files(trace, job->n + job->n_copies, err);
    for (size_t i = 0; i < job->n && code == INQ_OK; i++) {
        code = inq_trace_keep_file(trace, &job->shards[i]->file, err);
        for (size_t r = 0; r < job->shards[i]->n_ranks; r++) {
            job->shards[i]->ranks[r].file = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < job->n_copies && code == INQ_OK; i++) {
        code = keep_copy(trace, job->shards[job->n + i], job->copy_of[i], err);
    }
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* By rank; those of one number stay in the order of their files. */
static int compare_ranks(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = ((const struct inq_rank *)a)->rank;
    int32_t y = ((const struct inq_rank *)b)->rank;
    return (x > y) - (x < y);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What reports call a rank: its number, else its host and process (as the profiler names its file),
 * else its file's name (and place, if that has several). */
static int label_rank(struct inq_trace *trace, size_t r, size_t place, struct inq_err *err)
{
    struct inq_rank *rank = &trace->ranks[r];
    char text[280];
    const char *file = base_name(trace->files[rank->file].path);
    const char *host = inq_trace_str(trace, rank->host);
    if (rank->rank >= 0) {
        (void)snprintf(text, sizeof text, "%d", (int)rank->rank);
    } else if (host[0] != '\0' && rank->pid >= 0) {
        (void)snprintf(text, sizeof text, "%.200s_%" PRId64, host, rank->pid);
    } else if (place > 0) {
        (void)snprintf(text, sizeof text, "%.255s#%zu", file, place);
    } else {
        (void)snprintf(text, sizeof text, "%.255s", file);
    }
    return inq_strtab_add(trace->names, text, strlen(text), &rank->label, err);
}

static int label_ranks(struct inq_trace *trace, struct inq_err *err)
{
    int code = INQ_OK;
    size_t place = 0;
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        bool same = r > 0 && rank[-1].rank == rank->rank && rank[-1].file == rank->file;
        place = same ? place + 1 : 0;
        code = label_rank(trace, r, place, err);
    }
    return code;
}

/* Ranks below the world size that no file is of; which they are is not known when a file may be of
 * any. */
static int list_missing(struct inq_trace *trace, struct inq_err *err)
{
    bool all_named = true;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int32_t size = trace->ranks[r].world_size;
        trace->world_size = size > trace->world_size ? size : trace->world_size;
        all_named = all_named && trace->ranks[r].rank >= 0;
    }
    if (!all_named || trace->world_size <= 0 || (size_t)trace->world_size > INQ_MAX_RANKS) {
        return INQ_OK;
    }
    size_t n = (size_t)trace->world_size;
    trace->missing = inq_arena_array(trace->arena, n, sizeof *trace->missing);
    if (trace->missing == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu missing ranks", n);
    }
    size_t r = 0;
    for (int32_t number = 0; number < trace->world_size; number++) {
        while (r < trace->n_ranks && trace->ranks[r].rank < number) {
            r++;
        }
        if (r == trace->n_ranks || trace->ranks[r].rank != number) {
            trace->missing[trace->n_missing++] = number;
        }
    }
    return INQ_OK;
}

/* ---- name ------------------------------------------------------------------------------------ */

/* The folder that all files of the job are in; the file's own name when it is one. */
static const char *name_after_paths(struct inq_trace *trace)
{
    const char *first = trace->n_files > 0 ? trace->files[0].path : "";
    size_t len = strlen(first);
    for (size_t i = 1; i < trace->n_files; i++) {
        size_t same = 0;
        while (same < len && trace->files[i].path[same] == first[same]) {
            same++;
        }
        len = same;
    }
    if (trace->n_files == 1) {
        return base_name(first);
    }
    while (len > 0 && first[len - 1] != '/') {
        len--;
    }
    while (len > 0 && first[len - 1] == '/') {
        len--;
    }
    size_t start = len;
    while (start > 0 && first[start - 1] != '/') {
        start--;
    }
    bool nameless = len == start || (len - start == 1 && first[start] == '.');
    return nameless ? base_name(first)
                    : inq_arena_strndup(trace->arena, first + start, len - start);
}

static int name_trace(struct inq_trace *trace, struct inq_err *err)
{
    const char *job = "";
    for (size_t r = 0; r < trace->n_ranks && job[0] == '\0'; r++) {
        job = inq_trace_str(trace, trace->ranks[r].job);
    }
    trace->name = job[0] != '\0' ? inq_arena_strdup(trace->arena, job) : name_after_paths(trace);
    return trace->name != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a name");
}

/* ---- one trace ------------------------------------------------------------------------------- */

static int derive(struct inq_trace *trace, bool align, int jobs, struct inq_err *err)
{
    struct inq_clocks clocks = {0};
    int code = inq_steps_rebase(trace, jobs, err);
    if (code == INQ_OK) {
        code = inq_match_collectives(trace, jobs, &clocks, err);
    }
    int aligned = inq_clock_align(trace, &clocks, align && code == INQ_OK, jobs, err);
    code = code == INQ_OK ? aligned : code;
    if (code == INQ_OK) {
        inq_collectives_check_ends(trace);
        code = inq_steps_assign(trace, err); /* inferred ones are compared across ranks by time */
    }
    return code == INQ_OK ? inq_steps_keep_whole(trace, err) : code;
}

static int fill_trace(struct inq_trace *trace, const struct job *job, struct inq_err *err)
{
    size_t n_ranks = 0;
    for (size_t i = 0; i < job->n; i++) {
        n_ranks += job->shards[i]->n_ranks;
    }
    trace->ranks = inq_arena_array(trace->arena, n_ranks, sizeof *trace->ranks);
    if (trace->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", n_ranks);
    }
    int code = keep_files(trace, job, err);
    if (code == INQ_OK) {
        code = merge_shards(trace, job->shards, job->n, job->jobs, err);
    }
    if (code == INQ_OK) {
        code =
            inq_sort(trace->ranks, trace->n_ranks, sizeof *trace->ranks, compare_ranks, NULL, err);
    }
    if (code == INQ_OK) {
        code = label_ranks(trace, err);
    }
    if (code == INQ_OK) {
        code = list_missing(trace, err);
    }
    if (code == INQ_OK) {
        code = name_trace(trace, err);
    }
    return code == INQ_OK ? derive(trace, job->align, job->jobs, err) : code;
}

static int make_trace(struct inq_run *run, const struct job *job, struct inq_err *err)
{
    struct inq_trace *trace = inq_arena_alloc(run->arena, sizeof *trace);
    if (trace == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a trace");
    }
    trace->world_size = -1;
    trace->name = "";
    trace->arena = inq_mem_zalloc(1, sizeof *trace->arena);
    trace->names = inq_mem_zalloc(1, sizeof *trace->names);
    run->traces[run->n_traces++] = trace;
    if (trace->arena == NULL || trace->names == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a trace");
    }
    return fill_trace(trace, job, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b, void *ctx)
{
    const struct inq_shard *shards = ctx;
    const char *x = shards[*(const uint32_t *)a].file.path;
    const char *y = shards[*(const uint32_t *)b].file.path;
    return strcmp(x != NULL ? x : "", y != NULL ? y : "");
}

static int by_job(const void *a, const void *b, void *ctx)
{
    const struct inq_jobs *found = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t j = *(const uint32_t *)b;
    if (found->job_of[i] != found->job_of[j]) {
        return found->job_of[i] < found->job_of[j] ? -1 : 1;
    }
    int x = found->same_as[i] != INQ_NONE;
    int y = found->same_as[j] != INQ_NONE;
    return x - y;
}

/* One job after the other; in each its files by path, copies last. */
static int make_traces(struct inq_run *run, struct inq_shard *shards, size_t n,
                       const struct inq_jobs *found, const struct job *settings,
                       struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    struct inq_shard **row = inq_mem_alloc(2 * (n + 1) * sizeof(struct inq_shard *));
    int code = order != NULL && row != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (uint32_t i = 0; code == INQ_OK && i < n; i++) {
        order[i] = i;
    }
    if (code == INQ_OK) {
        code = inq_sort(order, n, sizeof *order, by_path, shards, err);
    }
    if (code == INQ_OK) {
        struct inq_jobs known = *found;
        code = inq_sort(order, n, sizeof *order, by_job, &known, err);
    }
    for (size_t lo = 0, hi = 0; code == INQ_OK && lo < n; lo = hi) {
        struct job job = *settings;
        job.shards = row;
        job.copy_of = row + n;
        for (; hi < n && found->job_of[order[hi]] == found->job_of[order[lo]]; hi++) {
            uint32_t same_as = found->same_as[order[hi]];
            row[hi - lo] = &shards[order[hi]];
            if (same_as == INQ_NONE) {
                job.n++;
            } else {
                job.copy_of[job.n_copies++] = &shards[same_as];
            }
        }
        code = make_trace(run, &job, err);
    }
    inq_mem_free(order);
    inq_mem_free(row);
    return code;
}

static int64_t first_time(const struct inq_trace *trace)
{
    int64_t first_ns = INT64_MAX;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t own_ns = trace->ranks[r].first_ns;
        first_ns = own_ns != INQ_TIME_NONE && own_ns < first_ns ? own_ns : first_ns;
    }
    return first_ns;
}

static int compare_traces(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_trace *x = *(struct inq_trace *const *)a;
    const struct inq_trace *y = *(struct inq_trace *const *)b;
    int64_t first_x = first_time(x);
    int64_t first_y = first_time(y);
    if (first_x != first_y) {
        return first_x < first_y ? -1 : 1;
    }
    int by_name = strcmp(x->name, y->name);
    return by_name != 0 || x->n_files == 0 || y->n_files == 0
               ? by_name
               : strcmp(x->files[0].path, y->files[0].path);
}

/* Jobs of one name are numbered in the order of their times. */
static int number_traces(struct inq_run *run, struct inq_err *err)
{
    struct inq_map count = {0};
    struct inq_map turn = {0};
    int code = INQ_OK;
    for (size_t t = 0; t < run->n_traces && code == INQ_OK; t++) {
        uint64_t key = inq_hash_bytes(run->traces[t]->name, strlen(run->traces[t]->name));
        uint32_t n = 0;
        (void)inq_map_get(&count, key, &n);
        code = inq_map_put(&count, key, n + 1, err);
    }
    for (size_t t = 0; t < run->n_traces && code == INQ_OK; t++) {
        struct inq_trace *trace = run->traces[t];
        uint64_t key = inq_hash_bytes(trace->name, strlen(trace->name));
        uint32_t n = 0;
        uint32_t before = 0;
        (void)inq_map_get(&count, key, &n);
        (void)inq_map_get(&turn, key, &before);
        code = inq_map_put(&turn, key, before + 1, err);
        if (code == INQ_OK && n > 1) {
            trace->name = inq_arena_asprintf(trace->arena, "%s #%u", trace->name, before + 1);
            code = trace->name != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
        }
    }
    inq_map_release(&count);
    inq_map_release(&turn);
    return code;
}

static int fill_run(struct inq_run *run, struct inq_shard *shards, size_t n,
                    const struct job *settings, struct inq_err *err)
{
    struct inq_jobs found = {0};
    run->arena = inq_mem_zalloc(1, sizeof *run->arena);
    if (run->arena == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    int code = inq_jobs_find(shards, n, &found, err);
    if (code == INQ_OK) {
        run->traces = inq_arena_array(run->arena, found.n_jobs, sizeof(struct inq_trace *));
        code = run->traces != NULL ? make_traces(run, shards, n, &found, settings, err)
                                   : inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    inq_jobs_release(&found);
    if (code == INQ_OK) {
        code = inq_sort(run->traces, run->n_traces, sizeof(struct inq_trace *), compare_traces,
                        NULL, err);
    }
    return code == INQ_OK ? number_traces(run, err) : code;
}

int inq_assemble(struct inq_shard *shards, size_t n, bool align, int jobs, struct inq_run **run,
                 struct inq_err *err)
{
    struct job settings = {.align = align, .jobs = jobs};
    *run = NULL;
    struct inq_run *made = inq_mem_zalloc(1, sizeof *made);
    if (made == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    int code = fill_run(made, shards, n, &settings, err);
    if (code != INQ_OK) {
        inq_run_free(made);
        return code;
    }
    *run = made;
    return INQ_OK;
}
