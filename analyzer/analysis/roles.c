/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of ranks: pipeline stages as recorded or as their sends and receives tell. */
#include "analysis/roles.h"

#include "base/mem.h"

void inq_roles_release(struct inq_roles *roles)
{
    inq_mem_free(roles->of);
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

/* Gives equal stages equal roles, numbered in order of first use. */
static void number_roles(struct inq_roles *roles, const int32_t *stage, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t like = 0;
        while (stage[like] != stage[r]) {
            like++;
        }
        roles->of[r] = like < r ? roles->of[like] : (uint32_t)roles->n++;
    }
}

int inq_roles_find(const struct inq_trace *trace, struct inq_roles *roles, struct inq_err *err)
{
    int32_t *stage = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*stage));

    *roles = (struct inq_roles){0};
    roles->of = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*roles->of));
    if (!stage || !roles->of) {
        inq_mem_free(stage);
        return inq_err_set(err, INQ_NOMEM, "no memory for the roles of %zu ranks", trace->n_ranks);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        stage[r] = rank->stage >= 0 ? rank->stage : stage_by_p2p(trace, rank);
    }
    number_roles(roles, stage, trace->n_ranks);
    roles->pipeline = roles->n > 1;
    inq_mem_free(stage);
    return INQ_OK;
}
