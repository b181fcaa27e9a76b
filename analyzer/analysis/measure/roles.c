/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of ranks: pipeline stages as recorded or as their sends and receives tell. */
#include "analysis/measure/roles.h"

#include "analysis/measure/row_merge.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

void inq_roles_release(struct inq_roles *roles)
{
    inq_mem_free(roles->of);
    inq_mem_free(roles->stage);
    *roles = (struct inq_roles){0};
}

static bool is_p2p(const struct inq_comm *comm)
{
    return comm->kind == INQ_COLL_SEND || comm->kind == INQ_COLL_RECV ||
           (comm->kind == INQ_COLL_SENDRECV && !comm->from_name);
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

/* The rank's place in the first group in which it sends or receives; -1: it does not. A kernel's
 * name alone says too little: an all-to-all is made of sends too. */
static int32_t stage_by_p2p(const struct inq_trace *trace, const struct inq_rank *rank)
{
    for (size_t c = 0; c < rank->n_comms; c++) {
        const struct inq_comm *comm = &rank->comms[c];
        if (is_p2p(comm) && comm->group < trace->n_groups) {
            int32_t place = place_in_group(&trace->groups[comm->group], rank->rank);
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
                    (rank->comms[c].kind == INQ_COLL_SENDRECV ||
                     rank->comms[c].kind == INQ_COLL_SEND || rank->comms[c].kind == INQ_COLL_RECV);
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
static void number_roles(struct inq_roles *roles, const uint64_t *key, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t like = 0;
        while (key[like] != key[r]) {
            like++;
        }
        roles->of[r] = like < r ? roles->of[like] : (uint32_t)roles->n++;
    }
}

/* The stages that a recognised pipeline gives, if it has every rank as one of its workers. */
static bool stages_of_model(const struct inq_trace *trace, const struct inq_op_model *m,
                            uint64_t *key)
{
    size_t n = m != NULL ? m->n_dp * m->n_stages : 0;

    if (m == NULL || m->n_stages < 2 || n != trace->n_ranks) {
        return false;
    }
    memset(key, 0, n * sizeof(*key));
    for (size_t w = 0; w < n; w++) {
        uint32_t rank = m->worker_rank[w];
        if (rank >= n || key[rank] != 0) {
            return false;
        }
        key[rank] = w % m->n_stages + 1;
    }
    return true;
}

/* -1: neither recorded nor told by the rank's sends and receives. */
static int32_t stage_of(const struct inq_trace *trace, const struct inq_rank *rank)
{
    return rank->stage >= 0 ? rank->stage : stage_by_p2p(trace, rank);
}

bool inq_roles_need_model(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (stage_of(trace, &trace->ranks[r]) >= 0) {
            return false;
        }
    }
    return true;
}

static int find_keys(const struct inq_trace *trace, const struct inq_op_model *model,
                     struct inq_roles *roles, uint64_t *key, struct inq_err *err)
{
    bool any = false;

    for (size_t r = 0; r < trace->n_ranks; r++) {
        int32_t stage = stage_of(trace, &trace->ranks[r]);
        any = any || stage >= 0;
        key[r] = (uint64_t)((int64_t)stage + 1);
    }
    any = any || stages_of_model(trace, model, key);
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

int inq_roles_find(const struct inq_trace *trace, const struct inq_op_model *model,
                   struct inq_roles *roles, struct inq_err *err)
{
    uint64_t *key = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*key));

    *roles = (struct inq_roles){0};
    roles->of = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->of));
    roles->stage = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->stage));
    int code =
        key && roles->of && roles->stage
            ? find_keys(trace, model, roles, key, err)
            : inq_err_set(err, INQ_NOMEM, "no memory for the roles of %zu ranks", trace->n_ranks);
    roles->pipeline = roles->n > 1;
    inq_mem_free(key);
    return code;
}
