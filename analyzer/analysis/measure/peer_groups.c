/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of ranks: pipeline stages as recorded or as their sends and receives tell. */
#include "analysis/measure/peer_groups.h"

#include "analysis/measure/row_merge.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

void inq_peer_groups_release(struct inq_peer_groups *roles)
{
    inq_mem_free(roles->of);
    inq_mem_free(roles->stage);
    inq_mem_free(roles->members);
    *roles = (struct inq_peer_groups){0};
}

static bool is_p2p(const struct inq_comm *comm)
{
    return inq_coll_is_one_way(comm->kind) || (comm->kind == INQ_COLL_SENDRECV && !comm->from_name);
}

/* Place of a global rank in the group's list; -1 when it is not in it. */
static int32_t place_in_group(const struct inq_group *group, int32_t rank)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        if (group->ranks[i] == rank) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* ---- lines of ranks --------------------------------------------------------------------------
 *
 * Where sends and receives run in the group of all ranks, a rank's place in it is no stage: the
 * ranks that it exchanges with, and those they exchange with, are its pipeline. A pipeline is a
 * line, or a ring where a rank has several chunks: whoever exchanges with more than two others is
 * in none. */

enum { LINE_NEIGHBORS = 2 };

struct line_node {
    int64_t number; /* global rank; of ranks without a trace too */
    int32_t neighbor[LINE_NEIGHBORS];
    uint32_t n_neighbors;
    uint32_t line;  /* place of another one of its line, or its own */
    int32_t before; /* ranks of its line with a lower number */
};

/* All-zero is empty. */
struct lines {
    struct line_node *at;
    size_t n, cap;
    struct inq_map place; /* by number */
    bool branches;        /* somebody exchanges with more than two others */
};

static void lines_release(struct lines *lines)
{
    inq_mem_free(lines->at);
    inq_map_release(&lines->place);
}

static int line_node(struct lines *lines, int32_t number, uint32_t *place, struct inq_err *err)
{
    if (inq_map_get(&lines->place, (uint64_t)(uint32_t)number, place)) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&lines->at, &lines->cap, lines->n + 1, sizeof(*lines->at), INQ_NONE - 1, err);
    if (code == INQ_OK) {
        *place = (uint32_t)lines->n;
        code = inq_map_put(&lines->place, (uint64_t)(uint32_t)number, *place, err);
    }
    if (code == INQ_OK) {
        lines->at[lines->n++] = (struct line_node){.number = number, .line = *place};
    }
    return code;
}

static void add_neighbor(struct lines *lines, uint32_t place, int32_t number)
{
    struct line_node *node = &lines->at[place];

    for (uint32_t i = 0; i < node->n_neighbors; i++) {
        if (node->neighbor[i] == number) {
            return;
        }
    }
    lines->branches = lines->branches || node->n_neighbors == LINE_NEIGHBORS;
    if (node->n_neighbors < LINE_NEIGHBORS) {
        node->neighbor[node->n_neighbors++] = number;
    }
}

static uint32_t line_of(const struct lines *lines, uint32_t place)
{
    while (lines->at[place].line != place) {
        place = lines->at[place].line;
    }
    return place;
}

static int add_pair(struct lines *lines, int32_t rank, int32_t peer, struct inq_err *err)
{
    uint32_t a = 0;
    uint32_t b = 0;
    int code = line_node(lines, rank, &a, err);

    code = code == INQ_OK ? line_node(lines, peer, &b, err) : code;
    if (code == INQ_OK) {
        add_neighbor(lines, a, peer);
        add_neighbor(lines, b, rank);
        uint32_t one = line_of(lines, a);
        uint32_t other = line_of(lines, b);
        lines->at[one > other ? one : other].line = one > other ? other : one;
    }
    return code;
}

/* Counts for each rank those of its line that come before it. */
static int number_lines(struct lines *lines, struct inq_err *err)
{
    int64_t *number = inq_mem_alloc((lines->n + 1) * sizeof(*number));
    uint32_t *order = inq_mem_alloc((lines->n + 1) * sizeof(*order));
    int32_t *so_far = inq_mem_zalloc(lines->n + 1, sizeof(*so_far));
    int code = number && order && so_far
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for the lines of %zu ranks", lines->n);

    for (size_t i = 0; code == INQ_OK && i < lines->n; i++) {
        number[i] = lines->at[i].number;
    }
    code = code == INQ_OK ? inq_sort_order_i64(number, lines->n, order, err) : code;
    for (size_t i = 0; code == INQ_OK && i < lines->n; i++) {
        struct line_node *node = &lines->at[order[i]];
        node->before = so_far[line_of(lines, order[i])]++;
    }
    inq_mem_free(number);
    inq_mem_free(order);
    inq_mem_free(so_far);
    return code;
}

static bool is_of_all(const struct inq_trace *trace, uint32_t group)
{
    return group < trace->n_groups && trace->groups[group].n_ranks > 0 &&
           (int64_t)trace->groups[group].n_ranks >= (int64_t)trace->world_size;
}

static int find_lines(const struct inq_trace *trace, struct lines *lines, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        int32_t last = rank->rank; /* most come one after the other to the same peer */
        for (size_t c = 0; code == INQ_OK && c < rank->n_comms; c++) {
            const struct inq_comm *comm = &rank->comms[c];
            if (is_p2p(comm) && comm->peer >= 0 && comm->peer != last && rank->rank >= 0 &&
                comm->peer != rank->rank && is_of_all(trace, comm->group)) {
                last = comm->peer;
                code = add_pair(lines, rank->rank, comm->peer, err);
            }
        }
    }
    return code == INQ_OK ? number_lines(lines, err) : code;
}

static int32_t place_in_line(const struct lines *lines, int32_t rank)
{
    uint32_t own = 0;
    bool known =
        !lines->branches && rank >= 0 && inq_map_get(&lines->place, (uint64_t)(uint32_t)rank, &own);

    return known ? lines->at[own].before : -1;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Whether the job has groups of several, but not of all ranks: then not each rank is a stage. */
static bool has_smaller_groups(const struct inq_trace *trace)
{
    for (uint32_t g = 0; g < trace->n_groups; g++) {
        if (trace->groups[g].n_ranks > 1 && !is_of_all(trace, g)) {
            return true;
        }
    }
    return false;
}

/* The rank's place in the first group in which it sends or receives; -1: it does not. A kernel's
 * name alone says too little: an all-to-all is made of sends too. */
static int32_t stage_by_p2p(const struct inq_trace *trace, const struct inq_rank *rank,
                            const struct lines *lines, bool smaller)
{
    for (size_t c = 0; c < rank->n_comms; c++) {
        const struct inq_comm *comm = &rank->comms[c];
        if (is_p2p(comm) && comm->group < trace->n_groups) {
            bool of_all = is_of_all(trace, comm->group);
            int32_t place = of_all && lines->n > 0 ? place_in_line(lines, rank->rank)
                            : of_all && smaller
                                ? -1
                                : place_in_group(&trace->groups[comm->group], rank->rank);
            if (place >= 0) {
                return place;
            }
        }
    }
    return -1;
}

/* Whether the ranks send and receive, but to whom cannot be told: most such kernels have no partner
 * in any collective. */
static bool has_bare_sends(const struct inq_trace *trace)
{
    uint64_t bare = 0;

    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            uint32_t c = rank->events.comm[i];
            bare += c < rank->n_comms && rank->comms[c].from_name &&
                    inq_coll_is_p2p(rank->comms[c].kind);
        }
    }
    return bare > 0 && 2 * trace->unmatched_comms > bare;
}

/* Hash of the set of names of the rank's compute kernels. */
static int name_set(const struct inq_trace *trace, const struct inq_rank *rank, uint64_t *hash,
                    struct inq_err *err)
{
    struct inq_map seen = {0};
    uint32_t ignored;
    int code = INQ_OK;

    (void)trace;
    *hash = 0;
    for (size_t i = 0; code == INQ_OK && i < rank->events.n; i++) {
        bool compute = inq_row_is_work(&rank->events, i) &&
                       inq_row_class(&rank->events, i) == INQ_CLASS_COMPUTE;
        if (compute && !inq_map_get(&seen, rank->events.name[i], &ignored)) {
            *hash += inq_hash_u64(rank->events.name[i]);
            code = inq_map_put(&seen, rank->events.name[i], 1, err);
        }
    }
    inq_map_release(&seen);
    return code;
}

/* Gives equal keys equal roles, numbered in order of first use. */
static void number_roles(struct inq_peer_groups *roles, const uint64_t *key, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t like = 0;
        while (key[like] != key[r]) {
            like++;
        }
        roles->of[r] = like < r ? roles->of[like] : (uint32_t)roles->n++;
        roles->members[roles->of[r]]++;
    }
}

/* Completes `stage` [n_ranks] by a recognized pipeline, if it has every rank as one of its workers
 * and contradicts nobody's stage. */
static void add_stages_of_model(const struct inq_trace *trace, const struct inq_op_model *m,
                                int32_t *stage)
{
    size_t n = m != NULL ? m->n_dp * m->n_stages : 0;
    bool fits = m != NULL && m->n_stages >= 2 && n == trace->n_ranks;

    for (size_t w = 0; fits && w < n; w++) {
        uint32_t rank = m->worker_rank[w];
        fits = rank < n && (stage[rank] < 0 || stage[rank] == (int32_t)(w % m->n_stages));
    }
    for (size_t w = 0; fits && w < n; w++) {
        stage[m->worker_rank[w]] = (int32_t)(w % m->n_stages);
    }
}

/* Of each rank; -1: neither recorded nor told by its sends and receives. */
static int find_stages(const struct inq_trace *trace, int32_t *stage, struct inq_err *err)
{
    struct lines lines = {0};
    int code = find_lines(trace, &lines, err);
    bool smaller = has_smaller_groups(trace);

    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        stage[r] = rank->stage >= 0 ? rank->stage : stage_by_p2p(trace, rank, &lines, smaller);
    }
    lines_release(&lines);
    return code;
}

int inq_peer_groups_need_model(const struct inq_trace *trace, bool *needed, struct inq_err *err)
{
    int32_t *stage = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*stage));
    int code =
        stage ? find_stages(trace, stage, err)
              : inq_err_set(err, INQ_NOMEM, "no memory for the roles of %zu ranks", trace->n_ranks);

    *needed = false;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        *needed = *needed || stage[r] < 0;
    }
    inq_mem_free(stage);
    return code;
}

static int find_keys(const struct inq_trace *trace, const struct inq_op_model *model,
                     struct inq_peer_groups *roles, uint64_t *key, struct inq_err *err)
{
    int32_t *stage = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*stage));
    int found =
        stage ? find_stages(trace, stage, err)
              : inq_err_set(err, INQ_NOMEM, "no memory for the roles of %zu ranks", trace->n_ranks);
    bool any = false;

    if (found == INQ_OK) {
        add_stages_of_model(trace, model, stage);
    }
    for (size_t r = 0; found == INQ_OK && r < trace->n_ranks; r++) {
        any = any || stage[r] >= 0;
        key[r] = (uint64_t)((int64_t)stage[r] + 1);
    }
    inq_mem_free(stage);
    if (found != INQ_OK) {
        return found;
    }
    if (!any && has_bare_sends(trace)) {
        for (size_t r = 0; r < trace->n_ranks; r++) {
            int code = name_set(trace, &trace->ranks[r], &key[r], err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    number_roles(roles, key, trace->n_ranks);
    for (size_t r = 0; r < trace->n_ranks; r++) {
        roles->stage[roles->of[r]] = any ? (int32_t)((int64_t)key[r] - 1) : -1;
    }
    return INQ_OK;
}

int inq_peer_groups_find(const struct inq_trace *trace, const struct inq_op_model *model,
                         struct inq_peer_groups *roles, struct inq_err *err)
{
    uint64_t *key = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*key));

    *roles = (struct inq_peer_groups){0};
    roles->of = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->of));
    roles->stage = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->stage));
    roles->members = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->members));
    int code =
        key && roles->of && roles->stage && roles->members
            ? find_keys(trace, model, roles, key, err)
            : inq_err_set(err, INQ_NOMEM, "no memory for the roles of %zu ranks", trace->n_ranks);
    roles->pipeline = roles->n > 1;
    inq_mem_free(key);
    return code;
}
