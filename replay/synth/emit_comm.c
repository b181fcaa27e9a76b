/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups and what is recorded of a communication. */
#include "synth/emit.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_RANKS = 30 }; /* longer lists are cut by the recorder */

static const char *const role_texts[SYNTH_ROLE_COUNT] = {
    [SYNTH_WORLD] = "default_pg",
    [SYNTH_DP] = "DATA_PARALLEL_GROUP",
    [SYNTH_TP] = "TENSOR_MODEL_PARALLEL_GROUP",
    [SYNTH_MP] = "MODEL_PARALLEL_GROUP",
    [SYNTH_PP] = "PIPELINE_MODEL_PARALLEL_GROUP",
};

/* Plain data parallelism runs in the default group. */
static enum synth_role recorded_role(const struct inq_synth_spec *spec, enum synth_role role)
{
    return role == SYNTH_DP && spec->tp * spec->pp == 1 ? SYNTH_WORLD : role;
}

/* Names are numbers in the order in which all ranks make their groups. */
static int32_t group_number(const struct inq_synth_spec *spec, enum synth_role role, int32_t rank)
{
    int32_t number = inq_synth_group_of(spec, role, rank);
    for (int before = 0; before < (int)role; before++) {
        number += inq_synth_group_count(spec, (enum synth_role)before);
    }
    return number;
}

static bool has_group(const struct inq_synth_spec *spec, enum synth_role role)
{
    return role == SYNTH_WORLD ||
           (recorded_role(spec, role) == role && inq_synth_group_size(spec, role) > 1);
}

static void put_ranks(struct synth_emitter *e, enum synth_role role, int32_t limit)
{
    int32_t n = inq_synth_group_size(e->spec, role);
    inq_out_bytes(e->out, "[", 1);
    for (int32_t i = 0; i < n && i < limit; i++) {
        if (i > 0) {
            inq_out_bytes(e->out, ", ", 2);
        }
        inq_synth_put_int(e->out, inq_synth_group_member(e->spec, role, e->rank, i));
    }
    if (n > limit) {
        inq_out_bytes(e->out, ", ...", 5);
    }
    inq_out_bytes(e->out, "]", 1);
}

void inq_synth_emit_distributed(struct synth_emitter *e)
{
    int32_t world = e->sim->plan.world;
    inq_out_printf(e->out,
                   "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %" PRId32
                   ", \"world_size\": %" PRId32,
                   e->rank, world);
    if (e->spec->args != INQ_SYNTH_ARGS_OLD) {
        int count = 0;
        for (int role = 0; role < SYNTH_ROLE_COUNT; role++) {
            count += has_group(e->spec, (enum synth_role)role);
        }
        inq_out_printf(e->out, ", \"pg_count\": %d, \"pg_config\": [", count);
        for (int role = 0; role < SYNTH_ROLE_COUNT; role++) {
            if (!has_group(e->spec, (enum synth_role)role)) {
                continue;
            }
            inq_out_printf(e->out,
                           "%s{\"pg_name\": \"%" PRId32
                           "\", \"pg_desc\": \"%s\", \"backend_config\": \"cuda:nccl\", "
                           "\"pg_size\": %" PRId32 ", \"ranks\": ",
                           role > 0 ? ", " : "",
                           group_number(e->spec, (enum synth_role)role, e->rank), role_texts[role],
                           inq_synth_group_size(e->spec, (enum synth_role)role));
            put_ranks(e, (enum synth_role)role, INT32_MAX);
            inq_out_text(e->out, "}");
        }
        inq_out_text(e->out, "], \"nccl_version\": \"2.21.5\"");
    }
    inq_out_text(e->out, "},\n");
}

static bool is_p2p(const struct synth_comm *comm)
{
    return comm->kind >= SYNTH_SEND;
}

const char *inq_synth_comm_kernel(const struct inq_synth_spec *spec, const struct synth_comm *comm)
{
    const struct synth_comm_info *info = &inq_synth_comms[comm->kind];
    return spec->args == INQ_SYNTH_ARGS_OLD ? info->old_kernel[comm->single]
                                            : info->kernel[comm->single];
}

/* Batched transfers do not say what they are. */
static bool is_bare(const struct inq_synth_spec *spec, const struct synth_comm *comm)
{
    return spec->p2p != INQ_SYNTH_P2P_ARGS && is_p2p(comm);
}

void inq_synth_comm_note(const struct synth_emitter *e, const struct synth_comm *comm, char *text,
                         size_t size)
{
    if (!is_p2p(comm) || is_bare(e->spec, comm)) {
        enum synth_comm_kind kind = is_p2p(comm) ? SYNTH_SENDRECV : comm->kind;
        (void)snprintf(text, size, "%s", inq_synth_comms[kind].note);
        return;
    }
    (void)snprintf(text, size, "%s %" PRId32 "%s%" PRId32, inq_synth_comms[comm->kind].note,
                   inq_synth_stage(e->spec, e->rank), comm->kind == SYNTH_SEND ? "->" : "<-",
                   inq_synth_stage(e->spec, comm->peer)); /* peers by their rank in the group */
}

static void put_sequence(struct synth_emitter *e, const struct synth_comm *comm,
                         enum synth_role role)
{
    bool p2p = is_p2p(comm);
    int64_t seq = (int64_t)(p2p ? e->p2p_seq : comm->seq) + 1;
    uint64_t id = inq_hash_u64((uint64_t)group_number(e->spec, role, e->rank) << 33 |
                               (uint64_t)p2p << 32 | (uint64_t)seq);
    inq_out_printf(e->out, ", \"Seq\": %" PRId64 ", \"Comms Id\": %" PRIu64, seq, id);
}

void inq_synth_emit_comm_args(struct synth_emitter *e, const struct synth_comm *comm, bool kernel)
{
    if (e->spec->args == INQ_SYNTH_ARGS_OLD || is_bare(e->spec, comm)) {
        return;
    }
    struct inq_out *out = e->out;
    enum synth_role role = recorded_role(e->spec, comm->role);
    inq_synth_put_text(out, ", \"Collective name\": \"");
    inq_synth_put_text(out, inq_synth_comms[comm->kind].name);
    inq_synth_put_text(out, "\", \"In msg nelems\": ");
    inq_synth_put_int(out, comm->in_elements);
    inq_synth_put_text(out, ", \"Out msg nelems\": ");
    inq_synth_put_int(out, comm->out_elements);
    inq_synth_put_text(out, ", \"Group size\": ");
    inq_synth_put_int(out, inq_synth_group_size(e->spec, role));
    inq_synth_put_text(out, comm->single ? ", \"dtype\": \"Float\"" : ", \"dtype\": \"BFloat16\"");
    inq_synth_put_text(out, ", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
                            "\"Process Group Name\": \"");
    inq_synth_put_int(out, group_number(e->spec, role, e->rank));
    inq_synth_put_text(out, "\", \"Process Group Description\": \"");
    inq_synth_put_text(out, role_texts[role]);
    inq_synth_put_text(out, "\", \"Process Group Ranks\": \"");
    put_ranks(e, role, SHOWN_RANKS);
    inq_synth_put_text(out, "\"");
    if (is_p2p(comm)) {
        inq_synth_put_text(out, comm->kind == SYNTH_SEND ? ", \"Dst Rank\": " : ", \"Src Rank\": ");
        inq_synth_put_int(out, comm->peer);
    }
    if (e->spec->args == INQ_SYNTH_ARGS_SEQ) {
        put_sequence(e, comm, role);
        e->p2p_seq += kernel && is_p2p(comm);
    }
}
