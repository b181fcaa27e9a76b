/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and P2P transfers: meetings of several ranks. */
#include "synth/build.h"

#include "base/mem.h"
#include "synth/random.h"

enum {
    OP_NS = 1300,        /* entering the operator */
    END_SPREAD_NS = 2000 /* ends of one collective on its ranks differ by up to this much */
};

static const size_t MAX_ITEMS = (size_t)1 << 28;
/* Bandwidth of the few bytes that model-parallel groups reduce. */
static const double SMALL_GBPS = 1000.0;

static struct synth_program *program_of(struct synth_builder *b)
{
    return &b->sim->program;
}

static uint32_t add_comm(struct synth_builder *b, const struct synth_comm *comm)
{
    struct synth_rank *out = b->out;
    struct synth_program *program = program_of(b);
    if (program->code == INQ_OK && out->n_comms == out->cap_comms) {
        program->code = inq_mem_grow(&out->comms, &out->cap_comms, out->n_comms + 1,
                                     sizeof *out->comms, MAX_ITEMS, NULL);
    }
    if (program->code != INQ_OK) {
        return SYNTH_NONE;
    }
    out->comms[out->n_comms] = *comm;
    return (uint32_t)out->n_comms++;
}

/* The meeting with this sequence number, made by whoever comes first. */
static uint32_t find_meeting(struct synth_builder *b, struct synth_meetings *meetings, uint32_t seq,
                             int64_t transfer_ns)
{
    struct synth_program *program = program_of(b);
    while (program->code == INQ_OK && meetings->n <= seq) {
        if (meetings->n == meetings->cap) {
            program->code = inq_mem_grow(&meetings->meeting, &meetings->cap, meetings->n + 1,
                                         sizeof *meetings->meeting, MAX_ITEMS, NULL);
        }
        if (program->code == INQ_OK) {
            meetings->meeting[meetings->n++] = SYNTH_NONE;
        }
    }
    if (program->code != INQ_OK) {
        return SYNTH_NONE;
    }
    if (meetings->meeting[seq] == SYNTH_NONE) {
        meetings->meeting[seq] = inq_synth_add_meeting(program, transfer_ns);
    }
    return meetings->meeting[seq];
}

/* Latency plus bytes over bandwidth (1 GB/s is a byte per ns), with its noise. */
static int64_t transfer_ns(const struct synth_builder *b, double bytes, double gbps,
                           struct synth_key key, double factor)
{
    double ns = (double)b->spec->link_ns + bytes / gbps;
    return inq_synth_scale(1, ns * factor * inq_synth_lognormal(key, b->spec->link_sigma));
}

static bool is_fused(const struct synth_builder *b)
{
    return b->spec->p2p == INQ_SYNTH_P2P_FUSED || b->spec->p2p == INQ_SYNTH_P2P_BATCHED;
}

/* Puts one transfer on its stream, behind the compute launched so far; receives that are posted
 * early wait for nothing. */
static uint32_t communicate(struct synth_builder *b, const struct synth_comm *comm,
                            enum synth_stream stream, const uint32_t *meetings, size_t n)
{
    uint32_t op = inq_synth_host(b, OP_NS);
    bool early = comm->kind == SYNTH_RECV && b->spec->early_recv > 0;
    if (!early) {
        inq_synth_call(b, SYNTH_CALL_RECORD, SYNTH_COMPUTE);
        inq_synth_wait(b, stream, b->last[SYNTH_COMPUTE]);
    }
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_END, (uint32_t)b->rank, (uint32_t)b->step,
                            b->out->n_comms};
    struct synth_item item = {
        .kind = SYNTH_ITEM_COMM,
        .call = SYNTH_CALL_LAUNCH_EX,
        .stream = (uint8_t)stream,
        .comm = add_comm(b, comm),
        .op = op,
    };
    int64_t spread = (int64_t)(inq_synth_uniform(key) * END_SPREAD_NS);
    uint32_t node = inq_synth_launch(b, &item, spread);
    for (size_t i = 0; i < n; i++) {
        inq_synth_add_seat(program_of(b), node, meetings[i]);
    }
    inq_synth_call(b, SYNTH_CALL_RECORD, stream);
    return node;
}

static enum synth_stream stream_of(enum synth_comm_kind kind, enum synth_role role)
{
    if (kind == SYNTH_ALLGATHER) {
        return SYNTH_GATHER_STREAM;
    }
    return role == SYNTH_DP   ? SYNTH_DP_STREAM
           : role == SYNTH_TP ? SYNTH_TP_STREAM
           : role == SYNTH_EP ? SYNTH_EP_STREAM
                              : SYNTH_MP_STREAM;
}

uint32_t inq_synth_collective(struct synth_builder *b, enum synth_comm_kind kind,
                              enum synth_role role, int64_t elements, bool single)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t n = inq_synth_group_size(spec, role);
    int32_t group = inq_synth_group_of(spec, role, b->rank);
    struct synth_comm comm = {
        .kind = kind,
        .role = role,
        .peer = -1,
        .seq = b->seq[role]++,
        .in_elements = kind == SYNTH_ALLGATHER ? elements / n : elements,
        .out_elements = kind == SYNTH_REDUCE_SCATTER ? elements / n : elements,
        .single = single,
    };
    double passes = (kind == SYNTH_ALLREDUCE ? 2.0 : 1.0) * (n - 1) / n;
    double bytes = (double)elements * (single ? 4 : 2) * passes;
    double gbps = role == SYNTH_DP || role == SYNTH_EP ? spec->dp_gbps
                  : role == SYNTH_TP                   ? spec->tp_gbps
                                                       : SMALL_GBPS;
    struct synth_key key = {spec->seed, SYNTH_DRAW_LINK, (uint32_t)role, (uint32_t)group, comm.seq};
    double factor = inq_synth_link_factor(&b->sim->plan, role, b->rank, -1, b->step);
    uint32_t meeting = find_meeting(b, &b->sim->groups[role][group], comm.seq,
                                    transfer_ns(b, bytes, gbps, key, factor));
    return communicate(b, &comm, stream_of(kind, role), &meeting, 1);
}

/* ---- P2P ------------------------------------------------------------------------------------- */

/* Both ends of a P2P transfer meet in the channel of its sender. */
static uint32_t meet_peer(struct synth_builder *b, int32_t sender, int32_t receiver, bool backward,
                          uint32_t seq, int64_t elements)
{
    const struct inq_synth_spec *spec = b->spec;
    struct synth_key key = {spec->seed, SYNTH_DRAW_LINK, backward ? 65 : 64, (uint32_t)sender, seq};
    double factor = inq_synth_link_factor(&b->sim->plan, SYNTH_PP, sender, receiver, b->step);
    size_t channel = (size_t)sender * 2 + (backward ? 1 : 0);
    return find_meeting(b, &b->sim->channels[channel], seq,
                        transfer_ns(b, (double)elements * 2, spec->pp_gbps, key, factor));
}

static uint32_t meet_as_sender(struct synth_builder *b, const struct synth_deferred *send,
                               struct synth_comm *comm)
{
    *comm = (struct synth_comm){
        .kind = SYNTH_SEND,
        .role = SYNTH_PP,
        .peer = send->peer,
        .seq = b->sent[send->backward]++,
        .in_elements = send->elements,
        .out_elements = send->elements,
    };
    return meet_peer(b, b->rank, send->peer, send->backward, comm->seq, send->elements);
}

void inq_synth_send(struct synth_builder *b, int32_t peer, bool backward, int64_t elements)
{
    struct synth_deferred send = {true, backward, peer, elements};
    struct synth_comm comm;
    if (is_fused(b)) {
        b->deferred = send;
        return;
    }
    uint32_t meeting = meet_as_sender(b, &send, &comm);
    (void)communicate(b, &comm, backward ? SYNTH_SEND_BACKWARD : SYNTH_SEND_FORWARD, &meeting, 1);
}

void inq_synth_flush_send(struct synth_builder *b, int32_t next_peer)
{
    struct synth_comm comm;
    if (!b->deferred.set || b->deferred.peer == next_peer) {
        return;
    }
    uint32_t meeting = meet_as_sender(b, &b->deferred, &comm);
    b->deferred.set = false;
    uint32_t node = communicate(b, &comm, SYNTH_P2P_STREAM, &meeting, 1);
    inq_synth_wait(b, SYNTH_COMPUTE, node); /* batched transfers are waited for, sends too */
}

uint32_t inq_synth_recv(struct synth_builder *b, int32_t peer, bool backward, int64_t elements)
{
    enum synth_stream stream = is_fused(b) ? SYNTH_P2P_STREAM
                               : backward  ? SYNTH_RECV_BACKWARD
                                           : SYNTH_RECV_FORWARD;
    struct synth_comm comm = {
        .kind = SYNTH_RECV,
        .role = SYNTH_PP,
        .peer = peer,
        .seq = b->received[backward]++,
        .in_elements = elements,
        .out_elements = elements,
    };
    uint32_t meetings[2] = {meet_peer(b, peer, b->rank, backward, comm.seq, elements)};
    size_t n = 1;
    if (b->deferred.set && b->deferred.peer == peer) {
        meetings[n++] = meet_as_sender(b, &b->deferred, &comm);
        comm.kind = SYNTH_SENDRECV;
        comm.out_elements = elements;
        b->deferred.set = false;
    }
    return communicate(b, &comm, stream, meetings, n);
}
