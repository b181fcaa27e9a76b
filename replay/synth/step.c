/* SPDX-License-Identifier: Apache-2.0 */
/* One step of one rank: data, the schedule of micro-batches through the layers, gradients,
 * optimizer, sync. */
#include "synth/step.h"

#include "base/mem.h"
#include "synth/emit/emit.h"
#include "synth/plan.h"
#include "synth/random.h"

#include <string.h>

/* ---- the program ----------------------------------------------------------------------------- */

static const size_t MAX_PARTS = (size_t)1 << 30;

/* Room for one more; false after a failure. */
static bool room(struct synth_program *program, void *ptr_to_ptr, size_t *cap, size_t n,
                 size_t size)
{
    if (program->code == INQ_OK && n == *cap) {
        program->code = inq_mem_grow(ptr_to_ptr, cap, n + 1, size, MAX_PARTS, NULL);
    }
    return program->code == INQ_OK;
}

/* SYNTH_NONE after a failure (program->code); as of a meeting. */
static uint32_t add_node(struct synth_program *program, int64_t dur_ns)
{
    if (!room(program, &program->nodes, &program->cap_nodes, program->n_nodes,
              sizeof *program->nodes)) {
        return SYNTH_NONE;
    }
    program->nodes[program->n_nodes] =
        (struct synth_node){.dur_ns = dur_ns, .first_edge = SYNTH_NONE, .first_seat = SYNTH_NONE};
    return (uint32_t)program->n_nodes++;
}

static uint32_t add_meeting(struct synth_program *program, int64_t transfer_ns)
{
    if (!room(program, &program->meetings, &program->cap_meetings, program->n_meetings,
              sizeof *program->meetings)) {
        return SYNTH_NONE;
    }
    program->meetings[program->n_meetings] =
        (struct synth_meeting){.transfer_ns = transfer_ns, .first_seat = SYNTH_NONE};
    return (uint32_t)program->n_meetings++;
}

/* `to` starts no earlier than `lag_ns` after the end of `from`; SYNTH_NONE on either side: none. */
static void add_edge(struct synth_program *program, uint32_t from, uint32_t to, int32_t lag_ns)
{
    if (from == SYNTH_NONE || to == SYNTH_NONE ||
        !room(program, &program->edges, &program->cap_edges, program->n_edges,
              sizeof *program->edges)) {
        return;
    }
    struct synth_node *node = &program->nodes[from];
    program->edges[program->n_edges] =
        (struct synth_edge){.to = to, .next = node->first_edge, .lag_ns = lag_ns};
    node->first_edge = (uint32_t)program->n_edges++;
    program->nodes[to].pending++;
}

static void add_seat(struct synth_program *program, uint32_t node, uint32_t meeting)
{
    if (node == SYNTH_NONE || meeting == SYNTH_NONE ||
        !room(program, &program->seats, &program->cap_seats, program->n_seats,
              sizeof *program->seats)) {
        return;
    }
    struct synth_node *member = &program->nodes[node];
    struct synth_meeting *place = &program->meetings[meeting];
    program->seats[program->n_seats] = (struct synth_seat){
        .node = node,
        .meeting = meeting,
        .next_of_node = member->first_seat,
        .next_of_meeting = place->first_seat,
    };
    member->first_seat = (uint32_t)program->n_seats;
    member->meetings_left++;
    place->first_seat = (uint32_t)program->n_seats++;
    place->pending++;
}

/* ---- primitives: host time, launches, waits -------------------------------------------------- */

/* Device-side times that no spec changes. */
enum {
    LAUNCH_TO_START_NS = 1500, /* from the end of a launch to the start of its kernel */
    KERNEL_GAP_NS = 900,       /* between two kernels in one stream */
    EVENT_NS = 1200,           /* from an event to who waits for it in another stream */
    CALL_NS = 1300             /* cudaEventRecord and the like */
};

static struct synth_program *program_of(struct synth_builder *b)
{
    return &b->sim->program;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Keeps an item of the current thread; SYNTH_NONE after a failure. */
static uint32_t add_item(struct synth_builder *b, const struct synth_item *item)
{
    struct synth_rank *out = b->out;
    if (!room(program_of(b), &out->items, &out->cap_items, out->n_items, sizeof *out->items)) {
        return SYNTH_NONE;
    }
    out->items[out->n_items] = *item;
    out->items[out->n_items].thread = b->thread;
    return (uint32_t)out->n_items++;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* The host does nothing that a trace shows, for exactly `ns`. */
static void idle(struct synth_builder *b, int64_t ns)
{
    uint32_t node = add_node(program_of(b), ns);
    add_edge(program_of(b), b->host, node, 0);
    b->host = node;
}

/* The host is busy for `ns` (before noise). */
static uint32_t host_works(struct synth_builder *b, int64_t ns)
{
    uint64_t ordinal = b->extra ? b->extra_host_parts++ | SYNTH_EXTRA : b->host_parts++;
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_HOST, (uint32_t)b->rank, (uint32_t)b->step,
                            ordinal};
    double noise = inq_synth_lognormal(key, b->spec->host_sigma);
    idle(b, inq_synth_scale(ns, noise * b->factor.launch));
    return b->host;
}

/* A call that puts nothing on the GPU that takes time. */
static void make_call(struct synth_builder *b, enum synth_call_id call, enum synth_stream stream)
{
    struct synth_item item = {
        .kind = SYNTH_ITEM_CALL,
        .call = (uint8_t)call,
        .stream = (uint8_t)stream,
        .gpu = SYNTH_NONE,
        .comm = SYNTH_NONE,
        .first = host_works(b, CALL_NS / 2),
    };
    item.last = host_works(b, CALL_NS);
    (void)add_item(b, &item);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Launches what the item says, after what its stream waits for. */
static uint32_t launch(struct synth_builder *b, struct synth_item *item, int64_t dur_ns)
{
    struct synth_program *program = program_of(b);
    enum synth_stream stream = (enum synth_stream)item->stream;
    item->first = host_works(b, b->spec->op_ns);
    item->op = item->op != 0 ? item->op : item->first; /* node 0 is the start of a rank */
    item->last = host_works(b, b->spec->launch_ns);
    item->gpu = add_node(program, dur_ns);
    if (stream == SYNTH_COMPUTE) { /* a full queue blocks the launch */
        uint32_t *slot = &b->queue[b->launched++ % SYNTH_QUEUE];
        add_edge(program, *slot, item->last, 0);
        *slot = item->gpu;
    }
    add_edge(program, item->last, item->gpu, LAUNCH_TO_START_NS);
    add_edge(program, b->last[stream], item->gpu, KERNEL_GAP_NS);
    for (uint32_t i = 0; i < b->n_waits[stream]; i++) {
        add_edge(program, b->waits[stream][i], item->gpu, EVENT_NS);
    }
    b->n_waits[stream] = 0;
    b->last[stream] = item->gpu;
    (void)add_item(b, item);
    return item->gpu;
}

/* The next operation of `stream` waits for the end of `node`. */
static void wait_on_stream(struct synth_builder *b, enum synth_stream stream, uint32_t node)
{
    make_call(b, SYNTH_CALL_WAIT, stream);
    if (node != SYNTH_NONE && b->n_waits[stream] < SYNTH_MAX_WAITS) {
        b->waits[stream][b->n_waits[stream]++] = node;
    }
}

/* ---- Collectives and P2P transfers: meetings of several ranks -------------------------------- */

enum {
    OP_NS = 1300,        /* entering the operator */
    END_SPREAD_NS = 2000 /* ends of one collective on its ranks differ by up to this much */
};

/* Bandwidth of the few bytes that model-parallel groups reduce. */
static const double SMALL_GBPS = 1000.0;

static uint32_t add_comm(struct synth_builder *b, const struct synth_comm *comm)
{
    struct synth_rank *out = b->out;
    if (!room(program_of(b), &out->comms, &out->cap_comms, out->n_comms, sizeof *out->comms)) {
        return SYNTH_NONE;
    }
    out->comms[out->n_comms] = *comm;
    return (uint32_t)out->n_comms++;
}

/* The meeting with this sequence number, made by whoever comes first. It takes as long as the
 * member that has most to transfer. */
static uint32_t find_meeting(struct synth_builder *b, struct synth_meetings *meetings, uint32_t seq,
                             int64_t transfer_ns)
{
    struct synth_program *program = program_of(b);
    while (program->code == INQ_OK && meetings->n <= seq) {
        if (meetings->n == meetings->cap) {
            program->code = inq_mem_grow(&meetings->meeting, &meetings->cap, meetings->n + 1,
                                         sizeof *meetings->meeting, MAX_PARTS, NULL);
        }
        if (program->code == INQ_OK) {
            meetings->meeting[meetings->n++] = SYNTH_NONE;
        }
    }
    if (program->code != INQ_OK) {
        return SYNTH_NONE;
    }
    if (meetings->meeting[seq] == SYNTH_NONE) {
        meetings->meeting[seq] = add_meeting(program, transfer_ns);
    }
    uint32_t at = meetings->meeting[seq];
    if (at != SYNTH_NONE && program->meetings[at].transfer_ns < transfer_ns) {
        program->meetings[at].transfer_ns = transfer_ns;
    }
    return at;
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

/* Whether the rank's next receive shares a kernel with the send that waits. Frameworks send and
 * receive at once while forwards and backwards alternate (Megatron-LM's
 * send_forward_recv_backward): a stage whose micro-batches all belong to its warm-up never does. */
static bool shares_kernel(const struct synth_builder *b, int32_t peer)
{
    int32_t warm_up = b->spec->pp - 1 - b->stage;
    return b->deferred.set && b->deferred.peer == peer && b->spec->micro_batches > warm_up;
}

/* Puts one transfer on its stream, behind the compute launched so far; receives that are posted
 * early wait for nothing. */
static uint32_t communicate(struct synth_builder *b, const struct synth_comm *comm,
                            enum synth_stream stream, const uint32_t *meetings, size_t n)
{
    uint32_t op = host_works(b, OP_NS);
    bool early = comm->kind == SYNTH_RECV && b->spec->early_recv > 0;
    if (!early) {
        make_call(b, SYNTH_CALL_RECORD, SYNTH_COMPUTE);
        wait_on_stream(b, stream, b->last[SYNTH_COMPUTE]);
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
    uint32_t node = launch(b, &item, spread);
    for (size_t i = 0; i < n; i++) {
        add_seat(program_of(b), node, meetings[i]);
    }
    make_call(b, SYNTH_CALL_RECORD, stream);
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

/* A collective over the rank's group; `elements` of the whole, not of one rank's shard. Returns its
 * node. */
static uint32_t synth_collective(struct synth_builder *b, enum synth_comm_kind kind,
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

/* A transfer to or from the peer; `backward` for gradients. In fused mode a send waits for a
 * receive from the same peer, to share its kernel. A receive that is early waits for no compute;
 * who needs its data has to wait for the node returned. */
static void synth_send(struct synth_builder *b, int32_t peer, bool backward, int64_t elements)
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

/* Issues the send that waits, unless a receive from `next_peer` comes next. */
static void synth_flush_send(struct synth_builder *b, int32_t next_peer)
{
    struct synth_comm comm;
    if (!b->deferred.set || shares_kernel(b, next_peer)) {
        return;
    }
    uint32_t meeting = meet_as_sender(b, &b->deferred, &comm);
    b->deferred.set = false;
    uint32_t node = communicate(b, &comm, SYNTH_P2P_STREAM, &meeting, 1);
    wait_on_stream(b, SYNTH_COMPUTE, node); /* batched transfers are waited for, sends too */
}

static uint32_t synth_recv(struct synth_builder *b, int32_t peer, bool backward, int64_t elements)
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
    if (shares_kernel(b, peer)) {
        meetings[n++] = meet_as_sender(b, &b->deferred, &comm);
        comm.kind = SYNTH_SENDRECV;
        comm.out_elements = elements;
        b->deferred.set = false;
    }
    return communicate(b, &comm, stream, meetings, n);
}

enum {
    ZERO_GRAD_NS = 60000,
    OPTIMIZER_NS = 80000,
    TOKEN_BYTES = 8,
    LOSS_SHARE = 20, /* of a layer's forward, in thousandths: embedding, loss */
    NORM_SHARE = 20,
    ADAM_SHARE = 80,
    NOTE_NS = 700,  /* entering an annotation */
    WAIT_NS = 1300, /* entering the call that waits */
    SYNC_NS = 2500, /* from the end of the stream to the return of the call */
    COPY_NS = 1800
};

/* ---- annotations, kernels, copies ------------------------------------------------------------ */

static uint32_t note_begin(struct synth_builder *b, enum synth_note_id note, int32_t number)
{
    struct synth_item item = {
        .kind = SYNTH_ITEM_NOTE,
        .what = (uint8_t)note,
        .number = number,
        .gpu = SYNTH_NONE,
        .comm = SYNTH_NONE,
        .op = host_works(b, NOTE_NS),
    };
    return add_item(b, &item);
}

static void note_end(struct synth_builder *b, uint32_t item)
{
    if (item != SYNTH_NONE) {
        b->out->items[item].last = b->host;
    }
}

/* Launches a kernel of `ns` (before noise and factors) on the compute stream. */
static void run_kernel(struct synth_builder *b, enum synth_kernel_id kernel, int64_t ns,
                       double size)
{
    uint64_t ordinal = b->extra ? b->extra_kernels++ | SYNTH_EXTRA : b->kernels++;
    double noise = inq_synth_kernel_noise(&b->sim->plan, b->rank, b->step, ordinal);
    double grid = inq_synth_kernels[kernel].grid * size;
    struct synth_item item = {
        .kind = SYNTH_ITEM_KERNEL,
        .call = SYNTH_CALL_LAUNCH,
        .stream = SYNTH_COMPUTE,
        .what = (uint8_t)kernel,
        .comm = SYNTH_NONE,
        .grid = grid < 1.0 ? 1 : (uint32_t)(grid + 0.5),
    };
    double factor = noise * b->factor.gpu * size;
    if (inq_synth_kernels[kernel].computes) {
        factor *= b->factor.clock;
    }
    (void)launch(b, &item, inq_synth_scale(ns, factor));
}

static uint32_t copy(struct synth_builder *b, enum synth_item_kind kind, uint32_t bytes)
{
    struct synth_item item = {
        .kind = (uint8_t)kind,
        .call = SYNTH_CALL_COPY,
        .stream = SYNTH_COMPUTE,
        .comm = SYNTH_NONE,
        .bytes = bytes,
    };
    return launch(b, &item, COPY_NS + bytes / 12);
}

/* The call that launched the copy returns when that is done. */
static void block_on(struct synth_builder *b, uint32_t copied)
{
    idle(b, 0);
    add_edge(program_of(b), copied, b->host, SYNC_NS);
    if (program_of(b)->code == INQ_OK) {
        b->out->items[b->out->n_items - 1].last = b->host;
    }
}

/* The host waits for everything on the compute stream, through a copy to the host. */
static void sync(struct synth_builder *b)
{
    bool reads = b->spec->wait == INQ_SYNTH_WAIT_ITEM;
    uint32_t op = reads ? host_works(b, OP_NS) : 0;
    uint32_t copied = copy(b, SYNTH_ITEM_COPY_OUT, 4);
    if (reads) {
        block_on(b, copied);
    }
    struct synth_item item = {
        .kind = SYNTH_ITEM_CALL,
        .call = SYNTH_CALL_SYNC,
        .stream = SYNTH_COMPUTE,
        .gpu = SYNTH_NONE,
        .comm = SYNTH_NONE,
        .op = op,
        .first = host_works(b, WAIT_NS / 2),
    };
    idle(b, WAIT_NS);
    add_edge(&b->sim->program, b->last[SYNTH_COMPUTE], b->host, SYNC_NS);
    item.last = b->host;
    (void)add_item(b, &item);
}

/* ---- one micro-batch through the layers of a chunk ------------------------------------------- */

static int32_t last_virtual_stage(const struct inq_synth_spec *spec)
{
    return spec->pp * spec->chunks - 1;
}

static int64_t share_ns(const struct synth_builder *b, int64_t thousandths)
{
    return b->spec->layer_ns * thousandths / 1000;
}

static int64_t activation_elements(const struct synth_builder *b, double length)
{
    return inq_synth_scale((int64_t)b->spec->tokens * b->spec->hidden, length);
}

/* Kernels beyond the plan of the model: `ns` in all, like two of the layer's own. */
static void extra_kernels(struct synth_builder *b, int64_t ns, double length, bool backward)
{
    if (ns <= 0) {
        return;
    }
    int64_t typical = share_ns(b, 130);
    int64_t n = typical > 0 ? (ns + typical / 2) / typical : 1;
    n = n < 1 ? 1 : n > 4096 ? 4096 : n;
    b->extra = true;
    for (int64_t i = 0; i < n; i++) {
        enum synth_kernel_id kernel = i % 3 == 2 ? (backward ? SYNTH_GELU_BACKWARD : SYNTH_GELU)
                                      : backward ? SYNTH_GEMM_DGRAD
                                                 : SYNTH_GEMM_FC1;
        run_kernel(b, kernel, ns / n, length);
    }
    b->extra = false;
}

/* Tokens to their experts, or back. */
static void exchange(struct synth_builder *b, double length)
{
    uint32_t done =
        synth_collective(b, SYNTH_ALLTOALL, SYNTH_EP, activation_elements(b, length), false);
    wait_on_stream(b, SYNTH_COMPUTE, done);
}

/* One kernel of a transformer layer. */
struct synth_layer_kernel {
    enum synth_kernel_id kernel;
    int32_t share; /* of the forward of a layer, in thousandths */
    bool square;   /* grows with the square of the sequence length */
    bool reduce;   /* its output is reduced over the TP group */
    bool expert;   /* of the half of a layer that experts may take over */
};

static const struct synth_layer_kernel forward_kernels[] = {
    {SYNTH_LAYER_NORM, 20, false, false, false},    {SYNTH_GEMM_QKV, 190, false, false, false},
    {SYNTH_FLASH_FORWARD, 160, true, false, false}, {SYNTH_GEMM_PROJ, 70, false, true, false},
    {SYNTH_ADD, 20, false, false, false},           {SYNTH_LAYER_NORM, 20, false, false, false},
    {SYNTH_GEMM_FC1, 240, false, false, true},      {SYNTH_GELU, 30, false, false, true},
    {SYNTH_GEMM_FC2, 230, false, true, true},       {SYNTH_ADD, 20, false, false, false},
};
enum { N_FORWARD = sizeof forward_kernels / sizeof *forward_kernels };

static const struct synth_layer_kernel backward_kernels[] = {
    {SYNTH_GEMM_DGRAD, 230, false, false, true},
    {SYNTH_GEMM_WGRAD, 230, false, false, true},
    {SYNTH_GELU_BACKWARD, 40, false, false, true},
    {SYNTH_GEMM_DGRAD, 240, false, true, true},
    {SYNTH_GEMM_WGRAD, 240, false, false, true},
    {SYNTH_LAYER_NORM_BACKWARD, 40, false, false, false},
    {SYNTH_GEMM_DGRAD, 70, false, false, false},
    {SYNTH_GEMM_WGRAD, 70, false, false, false},
    {SYNTH_FLASH_BACKWARD, 420, true, false, false},
    {SYNTH_GEMM_DGRAD, 190, false, true, false},
    {SYNTH_GEMM_WGRAD, 190, false, false, false},
    {SYNTH_LAYER_NORM_BACKWARD, 40, false, false, false},
};
enum { N_BACKWARD = sizeof backward_kernels / sizeof *backward_kernels };

/* `load`: relative number of tokens of this rank's experts; 0: the layer has none. */
static void layer(struct synth_builder *b, const struct synth_layer_kernel *kernels, size_t n,
                  double length, double load)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        double size = b->factor.size * (kernels[i].square ? length * length : length);
        bool expert = load > 0.0 && kernels[i].expert;
        if (expert != inside) {
            exchange(b, length);
            inside = expert;
        }
        size *= expert ? load : 1.0;
        run_kernel(b, kernels[i].kernel, share_ns(b, kernels[i].share), size);
        if (kernels[i].reduce && b->spec->tp > 1) {
            uint32_t done = synth_collective(b, SYNTH_ALLREDUCE, SYNTH_TP,
                                             activation_elements(b, length), false);
            wait_on_stream(b, SYNTH_COMPUTE, done);
        }
    }
    bool backward = kernels == backward_kernels;
    int64_t whole = b->spec->layer_ns * (backward ? 2 : 1);
    extra_kernels(b, inq_synth_scale(whole, b->factor.count - 1.0), length, backward);
}

/* What the last stage has beyond its layers. */
static void output_layer(struct synth_builder *b, int32_t layers, double length, bool backward)
{
    double factor = b->factor.last_stage;
    int64_t ns = inq_synth_scale(b->spec->layer_ns * layers * (backward ? 2 : 1), factor - 1.0);
    enum synth_kernel_id softmax = backward ? SYNTH_SOFTMAX_BACKWARD : SYNTH_SOFTMAX;
    run_kernel(b, softmax, share_ns(b, LOSS_SHARE), length);
    if (ns <= 0) {
        return;
    }
    b->extra = true;
    if (backward) {
        run_kernel(b, SYNTH_SOFTMAX_BACKWARD, ns * 2 / 10, length);
        run_kernel(b, SYNTH_GEMM_LOGITS, ns * 4 / 10, length);
        run_kernel(b, SYNTH_GEMM_LOGITS, ns * 4 / 10, length);
    } else {
        run_kernel(b, SYNTH_GEMM_LOGITS, ns * 8 / 10, length);
        run_kernel(b, SYNTH_SOFTMAX, ns * 2 / 10, length);
    }
    b->extra = false;
}

/* Chooses the layer of this forward before which the host pauses, if it does. */
static void pause_somewhere(struct synth_builder *b, int32_t layers)
{
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_PAUSE, (uint32_t)b->rank, (uint32_t)b->step,
                            0};
    b->pause_layer = (int32_t)(inq_synth_uniform(key) * layers);
}

/* Parameters (and gradients) of `layers` layers on this rank. */
static int64_t parameter_elements(const struct synth_builder *b, int32_t layers)
{
    return (int64_t)12 * b->spec->hidden * b->spec->hidden / b->spec->tp * layers;
}

static bool is_sharded(const struct synth_builder *b)
{
    return b->spec->sharded && b->spec->dp > 1;
}

/* With sharded parameters: asks for those of the next layer, if there is one. */
static uint32_t gather(struct synth_builder *b, bool more)
{
    return is_sharded(b) && more
               ? synth_collective(b, SYNTH_ALLGATHER, SYNTH_DP, parameter_elements(b, 1), false)
               : SYNTH_NONE;
}

/* The gradients of the last `layers` layers are complete: reduce them. */
static void reduce_bucket(struct synth_builder *b, int32_t layers)
{
    enum synth_comm_kind kind = is_sharded(b) ? SYNTH_REDUCE_SCATTER : SYNTH_ALLREDUCE;
    if (b->spec->dp > 1 && layers > 0) {
        (void)synth_collective(b, kind, SYNTH_DP, parameter_elements(b, layers), false);
    }
}

static double length_of(const struct synth_builder *b, const struct synth_action *action)
{
    return inq_synth_sequence(&b->sim->plan, b->step, b->dp_rank, action->micro_batch);
}

/* First layer of a virtual stage (chunk * pp + stage); of the next one: one past the last. */
static int32_t first_layer(const struct inq_synth_spec *spec, int32_t virtual_stage)
{
    int32_t stages = spec->pp * spec->chunks;
    int32_t each = spec->layers / stages;
    int32_t rest = spec->layers % stages; /* the first stages have one more */
    return virtual_stage * each + (virtual_stage < rest ? virtual_stage : rest);
}

/* All layers of a chunk, in one direction. */
static void run_layers(struct synth_builder *b, const struct synth_action *action, int32_t layers,
                       bool reduces)
{
    bool backward = action->backward;
    double length = length_of(b, action);
    bool experts = b->spec->experts > 0 && b->spec->dp > 1;
    uint32_t gathered = gather(b, layers > 0);
    int32_t bucket = 0;
    for (int32_t i = 0; i < layers; i++) {
        uint32_t next = gather(b, i + 1 < layers); /* while this layer computes */
        if (gathered != SYNTH_NONE) {
            wait_on_stream(b, SYNTH_COMPUTE, gathered);
        }
        gathered = next;
        if (i == b->pause_layer) {
            idle(b, b->factor.pause_ns);
        }
        int32_t number =
            first_layer(b->spec, action->virtual_stage) + (backward ? layers - 1 - i : i);
        double load = experts ? inq_synth_expert_load(&b->sim->plan, b->rank, b->step, number,
                                                      action->micro_batch)
                              : 0.0;
        if (backward) {
            layer(b, backward_kernels, N_BACKWARD, length, load);
        } else {
            layer(b, forward_kernels, N_FORWARD, length, load);
        }
        if (reduces && ++bucket == b->spec->bucket_layers) {
            reduce_bucket(b, bucket);
            bucket = 0;
        }
    }
    reduce_bucket(b, bucket);
}

/* The rank on another stage with the same replica and TP rank. */
static int32_t rank_on_stage(const struct inq_synth_spec *spec, int32_t rank, int32_t stage)
{
    int32_t plane = spec->tp * spec->dp;
    return rank % plane + stage * plane;
}

/* The stage before or behind this one, or -1 where there is none to talk to. */
static int32_t neighbor(const struct synth_builder *b, int32_t virtual_stage, int32_t step)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t other = virtual_stage + step;
    return other < 0 || other > last_virtual_stage(spec)
               ? -1
               : rank_on_stage(spec, b->rank, (b->stage + step + spec->pp) % spec->pp);
}

/* Where the action's input comes from, or -1. */
static int32_t source_of(const struct synth_builder *b, const struct synth_action *action)
{
    return neighbor(b, action->virtual_stage, action->backward ? 1 : -1);
}

/* Posts the receive of the action, which b->posted becomes, if it needs one and none is posted. */
static void post_receive(struct synth_builder *b, const struct synth_action *action)
{
    int32_t from = source_of(b, action);
    if (from >= 0 && b->posted == SYNTH_NONE) {
        b->posted =
            synth_recv(b, from, action->backward, activation_elements(b, length_of(b, action)));
    }
}

/* Receives the action's input, if it is not under way, and lets compute wait for it. */
static void receive(struct synth_builder *b, const struct synth_action *action,
                    const struct synth_action *next)
{
    post_receive(b, action);
    uint32_t posted = b->posted;
    b->posted = SYNTH_NONE;
    if (next != NULL) {
        post_receive(b, next);
    }
    if (posted != SYNTH_NONE) {
        wait_on_stream(b, SYNTH_COMPUTE, posted);
    }
}

static void forward(struct synth_builder *b, const struct synth_action *action,
                    const struct synth_action *next, int32_t layers)
{
    const struct inq_synth_spec *spec = b->spec;
    double length = length_of(b, action);
    int32_t to = neighbor(b, action->virtual_stage, 1);
    receive(b, action, next);
    if (source_of(b, action) < 0) {
        run_kernel(b, SYNTH_EMBEDDING, share_ns(b, LOSS_SHARE), length);
    }
    if (action->micro_batch == 0 && action->virtual_stage < spec->pp) {
        pause_somewhere(b, layers);
    }
    run_layers(b, action, layers, false);
    b->pause_layer = -1;
    if (to >= 0) {
        synth_send(b, to, false, activation_elements(b, length));
    } else {
        output_layer(b, layers, length, false);
    }
}

static void backward(struct synth_builder *b, const struct synth_action *action,
                     const struct synth_action *next, int32_t layers)
{
    const struct inq_synth_spec *spec = b->spec;
    double length = length_of(b, action);
    int32_t to = neighbor(b, action->virtual_stage, -1);
    receive(b, action, next);
    b->thread = 1;
    if (source_of(b, action) < 0) {
        output_layer(b, layers, length, true);
    }
    run_layers(b, action, layers, is_sharded(b) || action->micro_batch == spec->micro_batches - 1);
    if (to < 0) {
        run_kernel(b, SYNTH_EMBEDDING_BACKWARD, share_ns(b, LOSS_SHARE), length);
    }
    b->thread = 0;
    if (to >= 0) {
        synth_send(b, to, true, activation_elements(b, length));
    }
}

/* `next`: the action whose receive is to be posted before this one computes, NULL: none. */
static void run_action(struct synth_builder *b, const struct synth_action *action,
                       const struct synth_action *next)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t first = first_layer(spec, action->virtual_stage);
    int32_t layers = first_layer(spec, action->virtual_stage + 1) - first;
    synth_flush_send(b, source_of(b, action));
    enum synth_note_id label = action->backward ? SYNTH_NOTE_BACKWARD : SYNTH_NOTE_FORWARD;
    uint32_t note = spec->labels ? note_begin(b, label, action->micro_batch) : SYNTH_NONE;
    if (action->backward) {
        backward(b, action, next, layers);
    } else {
        forward(b, action, next, layers);
    }
    note_end(b, note);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static void run_schedule(struct synth_builder *b)
{
    int32_t n = 2 * b->spec->micro_batches * b->spec->chunks;
    for (int32_t i = 0; i < n; i++) {
        struct synth_action action = inq_synth_action(b->spec, b->stage, i);
        struct synth_action next = inq_synth_action(b->spec, b->stage, i + 1 < n ? i + 1 : i);
        bool early = b->spec->early_recv > 0 && i + 1 < n;
        run_action(b, &action, early ? &next : NULL);
    }
    synth_flush_send(b, -1);
}

/* Posts the first receive of the next step. */
static void look_ahead(struct synth_builder *b)
{
    if (b->spec->early_recv > 1 && b->step + 1 < b->spec->steps) {
        struct synth_action first = inq_synth_action(b->spec, b->stage, 0);
        b->step++;
        post_receive(b, &first);
        b->step--;
    }
}

static int32_t layers_of_rank(const struct synth_builder *b)
{
    int32_t layers = 0;
    for (int32_t chunk = 0; chunk < b->spec->chunks; chunk++) {
        int32_t v = chunk * b->spec->pp + b->stage;
        layers += first_layer(b->spec, v + 1) - first_layer(b->spec, v);
    }
    return layers;
}

/* ---- the step -------------------------------------------------------------------------------- */

static void load_data(struct synth_builder *b)
{
    const struct inq_synth_spec *spec = b->spec;
    uint32_t note = note_begin(b, SYNTH_NOTE_DATA, 0);
    (void)host_works(b, spec->data_ns);
    idle(b, b->factor.data_delay_ns);
    note_end(b, note);
    if (b->factor.step_delay_ns > 0) {
        idle(b, b->factor.step_delay_ns);
    }
    if (b->stage == 0 || b->stage == spec->pp - 1) {
        int64_t bytes = (int64_t)spec->tokens * spec->micro_batches * TOKEN_BYTES;
        (void)copy(b, SYNTH_ITEM_COPY_IN, bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
    }
    note = note_begin(b, SYNTH_NOTE_ZERO_GRAD, 0);
    (void)host_works(b, ZERO_GRAD_NS);
    run_kernel(b, SYNTH_FILL, spec->layer_ns * NORM_SHARE / 1000, 1.0);
    note_end(b, note);
}

static void optimize(struct synth_builder *b)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t layers = layers_of_rank(b);
    if (spec->dp > 1) {
        wait_on_stream(b, SYNTH_COMPUTE, b->last[SYNTH_DP_STREAM]);
    }
    for (int32_t i = 0; i < layers; i += 4) {
        run_kernel(b, SYNTH_L2_NORM, spec->layer_ns * NORM_SHARE / 1000, 1.0);
    }
    if (spec->tp * spec->pp > 1) {
        uint32_t norm = synth_collective(b, SYNTH_ALLREDUCE, SYNTH_MP, 1, true);
        wait_on_stream(b, SYNTH_COMPUTE, norm);
    }
    uint32_t note = note_begin(b, SYNTH_NOTE_OPTIMIZER, 0);
    (void)host_works(b, OPTIMIZER_NS);
    for (int32_t i = 0; i < layers; i++) {
        run_kernel(b, SYNTH_ADAM, spec->layer_ns * ADAM_SHARE / 1000, 1.0);
    }
    note_end(b, note);
}

static void build_step(struct synth_builder *b)
{
    b->kernels = 0;
    b->host_parts = 0;
    b->extra_kernels = 0;
    b->extra_host_parts = 0;
    b->factor = inq_synth_factors(&b->sim->plan, b->rank, b->step);
    uint32_t note = note_begin(b, SYNTH_NOTE_STEP, b->spec->first_step + b->step);
    load_data(b);
    run_schedule(b);
    look_ahead(b);
    optimize(b);
    if (b->spec->sync > 0 && (b->step + 1) % b->spec->sync == 0) {
        sync(b);
    }
    note_end(b, note);
    uint32_t *ends = &b->out->step_ends[2 * (size_t)b->step];
    ends[0] = b->host;
    ends[1] = b->last[SYNTH_COMPUTE];
}

/* ---- the run --------------------------------------------------------------------------------- */

enum { START_SPREAD_NS = 40000 };

/* A run that would need more nodes than this is refused before it is built. */
static const double MAX_NODES = 2e8;

static int check_size(const struct inq_synth_spec *spec, int32_t world, struct inq_err *err)
{
    double kernels =
        (double)(N_FORWARD + N_BACKWARD) * spec->layers / spec->pp * spec->micro_batches;
    double nodes = 3.0 * kernels * world * spec->steps;
    if (nodes > MAX_NODES) {
        return inq_err_set(err, INQ_LIMIT,
                           "the run would have about %.0f million operations (limit %.0f): fewer "
                           "ranks, steps, layers or micro-batches",
                           nodes / 1e6, MAX_NODES / 1e6);
    }
    return INQ_OK;
}

static void start_builder(struct synth_builder *b, struct synth_sim *sim, int32_t rank)
{
    struct synth_place at = inq_synth_place(sim->plan.spec, rank);
    *b = (struct synth_builder){
        .sim = sim,
        .spec = sim->plan.spec,
        .out = &sim->ranks[rank],
        .rank = rank,
        .stage = at.stage,
        .dp_rank = at.dp,
        .host = SYNTH_NONE,
        .pause_layer = -1,
        .posted = SYNTH_NONE,
    };
    memset(b->last, 0xff, sizeof b->last);
    memset(b->queue, 0xff, sizeof b->queue);
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_START, (uint32_t)rank, 0, 0};
    idle(b, (int64_t)(inq_synth_uniform(key) * START_SPREAD_NS));
}

static int build_rank(struct synth_sim *sim, int32_t rank, struct inq_err *err)
{
    struct synth_builder builder;
    start_builder(&builder, sim, rank);
    int32_t steps = sim->plan.spec->steps;
    builder.out->step_ends = inq_mem_alloc(2 * sizeof(uint32_t) * (size_t)steps);
    if (builder.out->step_ends == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (int32_t step = 0; step < steps && sim->program.code == INQ_OK; step++) {
        builder.step = step;
        build_step(&builder);
    }
    return INQ_OK;
}

int inq_synth_build(struct synth_sim *sim, struct inq_err *err)
{
    int code = check_size(sim->plan.spec, sim->plan.world, err);
    for (int32_t rank = 0; rank < sim->plan.world && code == INQ_OK; rank++) {
        code = build_rank(sim, rank, err);
    }
    return code;
}
