/* SPDX-License-Identifier: Apache-2.0 */
/* The document: header, host events, calls and GPU events, annotations on the GPU, names. */
#include "synth/emit/emit.h"

#include "base/hash.h"
#include "synth/synth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The simulation starts on this wall clock: 2026-01-15 08:00 UTC. */
static const int64_t EPOCH_S = 1768464000;
/* Stamps count from a three-month grid, as the recorder's do. */
static const int64_t BASE_GRID_S = 7889238;

enum { FIRST_PID = 4000, AUTOGRAD_TID = 500, FIRST_CORRELATION = 1000 };

/* What the writing of one rank needs to know. */
struct synth_emitter {
    struct inq_out *out;
    const struct synth_sim *sim;
    const struct inq_synth_spec *spec;
    const struct synth_rank *rank_items;
    int32_t rank, device, pid;
    struct synth_clock clock;
    int64_t epoch_ns;          /* wall clock at time 0 of the simulation */
    int64_t base_ns;           /* subtracted from all stamps */
    int64_t from_ns, until_ns; /* capture window, simulation time */
    bool first_event;
    uint32_t p2p_seq;
};

struct synth_event {
    const char *cat, *name;
    int64_t number; /* after the name; -1 none */
    int32_t pid, tid;
    int64_t start_ns, end_ns; /* simulation time */
};

/* ---- names ----------------------------------------------------------------------------------- */

struct synth_comm_info {
    const char *name;          /* as recorded */
    const char *note;          /* its annotation; of P2P: an arrow and the peers follow */
    const char *kernel[2];     /* BFloat16, Float */
    const char *old_kernel[2]; /* as named before PyTorch 2.4 */
};

#define NCCL(what)     "ncclDevKernel_" what "(ncclDevKernelArgsStorage<4096ul>)"
#define OLD_NCCL(what) "ncclKernel_" what "(ncclDevComm*, unsigned long, ncclWork*)"

static const struct synth_comm_info comm_infos[SYNTH_COMM_COUNT] = {
    [SYNTH_ALLREDUCE] = {"allreduce",
                         "nccl:all_reduce",
                         {NCCL("AllReduce_Sum_bf16_RING_LL"), NCCL("AllReduce_Sum_f32_RING_LL")},
                         {OLD_NCCL("AllReduce_RING_LL_Sum___nv_bfloat16"),
                          OLD_NCCL("AllReduce_RING_LL_Sum_float")}},
    [SYNTH_ALLGATHER] = {"_allgather_base",
                         "nccl:_all_gather_base",
                         {NCCL("AllGather_RING_LL"), NCCL("AllGather_RING_LL")},
                         {OLD_NCCL("AllGather_RING_LL_Sum_int8_t"),
                          OLD_NCCL("AllGather_RING_LL_Sum_int8_t")}},
    [SYNTH_REDUCE_SCATTER] = {"_reduce_scatter_base",
                              "nccl:_reduce_scatter_base",
                              {NCCL("ReduceScatter_Sum_bf16_RING_LL"),
                               NCCL("ReduceScatter_Sum_f32_RING_LL")},
                              {OLD_NCCL("ReduceScatter_RING_LL_Sum___nv_bfloat16"),
                               OLD_NCCL("ReduceScatter_RING_LL_Sum_float")}},
    [SYNTH_SEND] = {"send",
                    "nccl:send",
                    {NCCL("SendRecv"), NCCL("SendRecv")},
                    {OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t"),
                     OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t")}},
    [SYNTH_RECV] = {"recv",
                    "nccl:recv",
                    {NCCL("SendRecv"), NCCL("SendRecv")},
                    {OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t"),
                     OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t")}},
    [SYNTH_SENDRECV] = {"coalesced",
                        "nccl:coalesced",
                        {NCCL("SendRecv"), NCCL("SendRecv")},
                        {OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t"),
                         OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t")}},
    [SYNTH_ALLTOALL] = {"all_to_all",
                        "nccl:all_to_all",
                        {NCCL("SendRecv"), NCCL("SendRecv")},
                        {OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t"),
                         OLD_NCCL("SendRecv_RING_SIMPLE_Sum_int8_t")}},
};

struct synth_call_info {
    const char *name;
    bool driver; /* cuda_driver, else cuda_runtime */
    int32_t cbid;
};

static const struct synth_call_info call_infos[SYNTH_CALL_COUNT] = {
    [SYNTH_CALL_LAUNCH] = {"cudaLaunchKernel", false, 211},
    [SYNTH_CALL_LAUNCH_EX] = {"cuLaunchKernelEx", true, 652},
    [SYNTH_CALL_COPY] = {"cudaMemcpyAsync", false, 41},
    [SYNTH_CALL_SYNC] = {"cudaStreamSynchronize", false, 131},
    [SYNTH_CALL_RECORD] = {"cudaEventRecord", false, 135},
    [SYNTH_CALL_WAIT] = {"cudaStreamWaitEvent", false, 147},
};

struct synth_note_info {
    const char *text;
    bool numbered; /* the number follows the text */
};

static const struct synth_note_info note_infos[SYNTH_NOTE_COUNT] = {
    [SYNTH_NOTE_STEP] = {"ProfilerStep#", true},
    [SYNTH_NOTE_DATA] = {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", false},
    [SYNTH_NOTE_ZERO_GRAD] = {"Optimizer.zero_grad#AdamW.zero_grad", false},
    [SYNTH_NOTE_OPTIMIZER] = {"Optimizer.step#AdamW.step", false},
    [SYNTH_NOTE_FORWARD] = {"Forward ", true},
    [SYNTH_NOTE_BACKWARD] = {"Backward ", true},
};

static const int32_t stream_ids[SYNTH_STREAM_COUNT] = {7, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56};

/* ---- numbers --------------------------------------------------------------------------------- */

static void put_text(struct inq_out *out, const char *text)
{
    inq_out_bytes(out, text, strlen(text));
}

static void put_int(struct inq_out *out, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    inq_out_bytes(out, digits + at, sizeof digits - at);
}

static void put_us(const struct synth_emitter *e, int64_t ns)
{
    int64_t us = ns >= 0 ? ns / 1000 : -((-ns + 999) / 1000);
    put_int(e->out, us);
    if (e->spec->ts != INQ_SYNTH_TS_ABS) {
        int64_t rest = ns - us * 1000;
        char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};
        inq_out_bytes(e->out, decimals, sizeof decimals);
    }
}

static int64_t local_ns(const struct synth_emitter *e, int64_t t)
{
    int64_t drift = t / 1000 * e->clock.drift_ppb / 1000000;
    return t + e->clock.offset_ns + drift + e->epoch_ns - e->base_ns;
}

/* ---- one event ------------------------------------------------------------------------------- */

static void begin_event(struct synth_emitter *e, const char *phase)
{
    put_text(e->out, e->first_event ? "  {\n    \"ph\": \"" : ",\n  {\n    \"ph\": \"");
    put_text(e->out, phase);
    e->first_event = false;
}

static bool put_event(struct synth_emitter *e, const struct synth_event *event)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return false;
    }
    begin_event(e, "X\", \"cat\": \"");
    put_text(e->out, event->cat);
    put_text(e->out, "\", \"name\": \"");
    put_text(e->out, event->name);
    if (event->number >= 0) {
        put_int(e->out, event->number);
    }
    put_text(e->out, "\", \"pid\": ");
    put_int(e->out, event->pid);
    put_text(e->out, ", \"tid\": ");
    put_int(e->out, event->tid);
    put_text(e->out, ",\n    \"ts\": ");
    int64_t start = local_ns(e, event->start_ns);
    put_us(e, start);
    put_text(e->out, ", \"dur\": ");
    put_us(e, local_ns(e, event->end_ns) - start);
    put_text(e->out, ",\n    \"args\": {\n      ");
    return true;
}

static void end_event(struct synth_emitter *e)
{
    put_text(e->out, "\n    }\n  }");
}

static void put_arg(struct synth_emitter *e, const char *key, int64_t value)
{
    put_text(e->out, key);
    put_int(e->out, value);
}

static void put_flow(struct synth_emitter *e, const char *phase, const struct synth_event *event,
                     int64_t id)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return;
    }
    begin_event(e, phase);
    put_arg(e, "\", \"id\": ", id);
    put_arg(e, ", \"pid\": ", event->pid);
    put_arg(e, ", \"tid\": ", event->tid);
    put_text(e->out, ", \"ts\": ");
    put_us(e, local_ns(e, event->start_ns));
    put_text(e->out, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    put_text(e->out, *phase == 'f' ? ", \"bp\": \"e\"\n  }" : "\n  }");
}

/* ---- communication: process groups, and what is recorded of a transfer --------------------------
 */

enum { SHOWN_RANKS = 30 }; /* longer lists are cut by the recorder */

static const char *const role_texts[SYNTH_ROLE_COUNT] = {
    [SYNTH_WORLD] = "default_pg",
    [SYNTH_DP] = "DATA_PARALLEL_GROUP",
    [SYNTH_TP] = "TENSOR_MODEL_PARALLEL_GROUP",
    [SYNTH_MP] = "MODEL_PARALLEL_GROUP",
    [SYNTH_PP] = "PIPELINE_MODEL_PARALLEL_GROUP",
    [SYNTH_EP] = "EXPERT_MODEL_PARALLEL_GROUP",
};

/* Plain data parallelism runs in the default group, and the pipeline where that was asked for. */
static enum synth_role recorded_role(const struct inq_synth_spec *spec, enum synth_role role)
{
    if (role == SYNTH_PP && spec->p2p_group == INQ_SYNTH_P2P_GROUP_WORLD) {
        return SYNTH_WORLD;
    }
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
    if (role == SYNTH_EP && spec->experts == 0) {
        return false;
    }
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
        put_int(e->out, inq_synth_group_member(e->spec, role, e->rank, i));
    }
    if (n > limit) {
        inq_out_bytes(e->out, ", ...", 5);
    }
    inq_out_bytes(e->out, "]", 1);
}

static void put_distributed(struct synth_emitter *e)
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
    return comm->kind >= SYNTH_SEND && comm->kind <= SYNTH_SENDRECV;
}

static const char *comm_kernel(const struct inq_synth_spec *spec, const struct synth_comm *comm)
{
    const struct synth_comm_info *info = &comm_infos[comm->kind];
    return spec->args == INQ_SYNTH_ARGS_OLD ? info->old_kernel[comm->single]
                                            : info->kernel[comm->single];
}

/* Batched transfers do not say what they are. */
static bool is_bare(const struct inq_synth_spec *spec, const struct synth_comm *comm)
{
    return spec->p2p != INQ_SYNTH_P2P_ARGS && is_p2p(comm);
}

static void comm_note(const struct synth_emitter *e, const struct synth_comm *comm, char *text,
                      size_t size)
{
    if (!is_p2p(comm) || is_bare(e->spec, comm)) {
        enum synth_comm_kind kind = is_p2p(comm) ? SYNTH_SENDRECV : comm->kind;
        (void)snprintf(text, size, "%s", comm_infos[kind].note);
        return;
    }
    bool world = recorded_role(e->spec, comm->role) == SYNTH_WORLD;
    (void)snprintf(text, size, "%s %" PRId32 "%s%" PRId32, comm_infos[comm->kind].note,
                   world ? e->rank : inq_synth_place(e->spec, e->rank).stage,
                   comm->kind == SYNTH_SEND ? "->" : "<-",
                   world ? comm->peer
                         : inq_synth_place(e->spec, comm->peer).stage); /* in the group */
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

static void put_comm_args(struct synth_emitter *e, const struct synth_comm *comm, bool kernel)
{
    struct inq_out *out = e->out;
    enum synth_role role = recorded_role(e->spec, comm->role);
    put_text(out, ", \"Collective name\": \"");
    put_text(out, comm_infos[comm->kind].name);
    put_text(out, "\", \"In msg nelems\": ");
    put_int(out, comm->in_elements);
    put_text(out, ", \"Out msg nelems\": ");
    put_int(out, comm->out_elements);
    put_text(out, ", \"Group size\": ");
    put_int(out, inq_synth_group_size(e->spec, role));
    put_text(out, comm->single ? ", \"dtype\": \"Float\"" : ", \"dtype\": \"BFloat16\"");
    put_text(out, ", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
                  "\"Process Group Name\": \"");
    put_int(out, group_number(e->spec, role, e->rank));
    put_text(out, "\", \"Process Group Description\": \"");
    put_text(out, role_texts[role]);
    put_text(out, "\", \"Process Group Ranks\": \"");
    put_ranks(e, role, SHOWN_RANKS);
    put_text(out, "\"");
    if (is_p2p(comm)) {
        put_text(out, comm->kind == SYNTH_SEND ? ", \"Dst Rank\": " : ", \"Src Rank\": ");
        put_int(out, comm->peer);
    }
    if (e->spec->args == INQ_SYNTH_ARGS_SEQ) {
        put_sequence(e, comm, role);
        e->p2p_seq += kernel && is_p2p(comm);
    }
}

static void put_kernel_comm_args(struct synth_emitter *e, const struct synth_comm *comm,
                                 bool kernel)
{
    if (e->spec->args != INQ_SYNTH_ARGS_OLD && !is_bare(e->spec, comm)) {
        put_comm_args(e, comm, kernel);
    }
}

static void put_record(struct synth_emitter *e, const struct synth_event *event,
                       const struct synth_comm *comm, int64_t id)
{
    if (put_event(e, event)) {
        put_arg(e, "\"External id\": ", id);
        put_arg(e, ", \"Ev Idx\": ", id - 1);
        put_comm_args(e, comm, true);
        end_event(e);
    }
}

static bool put_batch(struct synth_emitter *e, const struct synth_comm *comm,
                      const struct synth_event *where, int64_t id)
{
    if (e->spec->p2p != INQ_SYNTH_P2P_BATCHED || !is_p2p(comm) ||
        e->spec->args == INQ_SYNTH_ARGS_OLD) {
        return false;
    }
    struct synth_event event = *where;
    struct synth_comm part = *comm;
    int64_t ids = 2 * id + (int64_t)e->rank_items->n_items; /* no kernel's */
    if (comm->kind == SYNTH_SENDRECV) {
        event.end_ns = where->start_ns + (where->end_ns - where->start_ns) / 2;
        part.kind = SYNTH_SEND;
        part.out_elements = part.in_elements;
        put_record(e, &event, &part, ids);
        event.start_ns = event.end_ns;
        event.end_ns = where->end_ns;
        part.kind = SYNTH_RECV;
        part.in_elements = part.out_elements = comm->out_elements;
    }
    put_record(e, &event, &part, ids + 1);
    return true;
}

/* ---- items ----------------------------------------------------------------------------------- */

static const struct synth_node *node_of(const struct synth_emitter *e, uint32_t index)
{
    return &e->sim->program.nodes[index];
}

static int32_t thread_of(const struct synth_emitter *e, const struct synth_item *item)
{
    return e->pid + (item->thread != 0 ? AUTOGRAD_TID : 0);
}

static const struct synth_comm *comm_of(const struct synth_emitter *e,
                                        const struct synth_item *item)
{
    return &e->rank_items->comms[item->comm];
}

/* The annotation around a communication, on the host or on the GPU. */
static void put_comm_note(struct synth_emitter *e, const struct synth_item *item,
                          const struct synth_event *where, int64_t id)
{
    char name[64];
    struct synth_event event = *where;
    comm_note(e, comm_of(e, item), name, sizeof name);
    event.cat =
        item->gpu == SYNTH_NONE || where->pid == e->pid ? "user_annotation" : "gpu_user_annotation";
    event.name = name;
    if (put_event(e, &event)) {
        put_arg(e, "\"External id\": ", id);
        end_event(e);
    }
}

/* Inputs of an operator; the tokens follow the size of its grid. */
static void put_shapes(struct synth_emitter *e, const struct synth_item *item)
{
    const struct synth_kernel_info *kernel = &inq_synth_kernels[item->what];
    int64_t tokens = (int64_t)e->spec->tokens * item->grid / kernel->grid;
    int64_t width = e->spec->hidden;
    bool product = kernel->computes && strncmp(kernel->name, "void flash", 10) != 0;
    inq_out_printf(e->out, ", \"Input Dims\": [[%" PRId64 ", %" PRId64 "]", tokens, width);
    if (product) {
        inq_out_printf(e->out, ", [%" PRId64 ", %" PRId64 "]", width, width);
    }
    put_text(e->out, product ? "], \"Input type\": [\"c10::BFloat16\", "
                               "\"c10::BFloat16\"]"
                             : "], \"Input type\": [\"c10::BFloat16\"]");
}

/* Whether the item is one of the two calls that read a loss. */
static bool is_read(const struct synth_emitter *e, const struct synth_item *item)
{
    bool sync = item->kind == SYNTH_ITEM_CALL && item->call == SYNTH_CALL_SYNC;
    return e->spec->wait == INQ_SYNTH_WAIT_ITEM && (item->kind == SYNTH_ITEM_COPY_OUT || sync);
}

/* Its operators, around both calls, with the second one. */
static void put_read(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct synth_event event = {
        .cat = "cpu_op",
        .name = "aten::item",
        .number = -1,
        .pid = e->pid,
        .tid = thread_of(e, item),
        .start_ns = node_of(e, item->op)->start_ns,
        .end_ns = node_of(e, item->last)->end_ns,
    };
    if (item->kind == SYNTH_ITEM_COPY_OUT || !e->spec->cpu_ops) {
        return;
    }
    if (put_event(e, &event)) {
        put_arg(e, "\"External id\": ", id);
        end_event(e);
    }
    event.name = "aten::_local_scalar_dense";
    event.start_ns = node_of(e, item->op)->end_ns;
    if (put_event(e, &event)) {
        put_arg(e, "\"External id\": ", id - 1); /* the copy's */
        end_event(e);
    }
}

/* Annotations and operators: what the host did. */
static void put_host_item(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct synth_event event = {
        .number = -1,
        .pid = e->pid,
        .tid = thread_of(e, item),
        .start_ns = node_of(e, item->op)->start_ns,
        .end_ns = node_of(e, item->last)->end_ns,
    };
    if (item->kind == SYNTH_ITEM_NOTE) {
        const struct synth_note_info *note = &note_infos[item->what];
        event.cat = "user_annotation";
        event.name = note->text;
        event.number = note->numbered ? item->number : -1;
    } else if (item->kind == SYNTH_ITEM_CALL || !e->spec->cpu_ops) {
        return;
    } else {
        event.cat = "cpu_op";
        event.name = item->kind == SYNTH_ITEM_KERNEL ? inq_synth_kernels[item->what].op
                     : item->kind == SYNTH_ITEM_COMM ? "record_param_comms"
                                                     : "aten::copy_";
    }
    struct synth_event note = event;
    note.start_ns = node_of(e, item->op)->end_ns;
    struct synth_event batch = event;
    batch.end_ns = note.start_ns;
    if (item->kind == SYNTH_ITEM_COMM && put_batch(e, comm_of(e, item), &batch, id)) {
        put_comm_note(e, item, &note, id);
        return;
    }
    if (!put_event(e, &event)) {
        return;
    }
    put_arg(e, "\"External id\": ", id);
    if (item->kind == SYNTH_ITEM_KERNEL && e->spec->shapes) {
        put_shapes(e, item);
    }
    put_arg(e, ", \"Ev Idx\": ", id - 1);
    if (item->kind == SYNTH_ITEM_COMM) {
        put_kernel_comm_args(e, comm_of(e, item), false);
        end_event(e);
        put_comm_note(e, item, &note, id);
    } else {
        end_event(e);
    }
}

static void put_call(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    const struct synth_call_info *call = &call_infos[item->call];
    if (item->call >= SYNTH_CALL_RECORD && !e->spec->calls) {
        return;
    }
    struct synth_event event = {
        .cat = call->driver ? "cuda_driver" : "cuda_runtime",
        .name = call->name,
        .number = -1,
        .pid = e->pid,
        .tid = thread_of(e, item),
        .start_ns = node_of(e, item->first)->end_ns,
        .end_ns = node_of(e, item->last)->end_ns,
    };
    if (!put_event(e, &event)) {
        return;
    }
    put_arg(e, "\"External id\": ", id);
    put_arg(e, ", \"cbid\": ", call->cbid);
    put_arg(e, ", \"correlation\": ", id + FIRST_CORRELATION);
    end_event(e);
    if (e->spec->flows && item->gpu != SYNTH_NONE) {
        put_flow(e, "s", &event, id + FIRST_CORRELATION);
    }
}

/* Launch geometry of a kernel. */
static void put_geometry(struct synth_emitter *e, const struct synth_item *item)
{
    static const struct synth_kernel_info nccl = {"", "", 16, 544, 96, 83000, false};
    const struct synth_kernel_info *kernel =
        item->kind == SYNTH_ITEM_COMM ? &nccl : &inq_synth_kernels[item->what];
    put_arg(e, ", \"queued\": 0, \"context\": 1, \"registers per thread\": ", kernel->registers);
    put_arg(e, ", \"shared memory\": ", kernel->shared);
    put_arg(e, ", \"grid\": [", item->kind == SYNTH_ITEM_COMM ? kernel->grid : item->grid);
    put_arg(e, ", 1, 1], \"block\": [", kernel->block);
    put_text(e->out, ", 1, 1]");
}

static void put_gpu(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct synth_event event = {
        .cat = "kernel",
        .number = -1,
        .pid = e->device,
        .tid = stream_ids[item->stream],
        .start_ns = node_of(e, item->gpu)->start_ns,
        .end_ns = node_of(e, item->gpu)->end_ns,
    };
    bool copy = item->kind == SYNTH_ITEM_COPY_IN || item->kind == SYNTH_ITEM_COPY_OUT;
    if (copy) {
        event.cat = "gpu_memcpy";
        event.name = item->kind == SYNTH_ITEM_COPY_IN ? "Memcpy HtoD (Pinned -> Device)"
                                                      : "Memcpy DtoH (Device -> Pageable)";
    } else {
        event.name = item->kind == SYNTH_ITEM_COMM ? comm_kernel(e->spec, comm_of(e, item))
                                                   : inq_synth_kernels[item->what].name;
    }
    if (!put_event(e, &event)) {
        return;
    }
    put_arg(e, "\"External id\": ", id);
    put_arg(e, ", \"device\": ", e->device);
    put_arg(e, ", \"stream\": ", event.tid);
    put_arg(e, ", \"correlation\": ", id + FIRST_CORRELATION);
    if (copy) {
        put_arg(e, ", \"bytes\": ", item->bytes);
    } else if (!e->spec->lean) {
        put_geometry(e, item);
    }
    if (item->kind == SYNTH_ITEM_COMM) {
        put_kernel_comm_args(e, comm_of(e, item), true);
    }
    end_event(e);
    if (e->spec->flows) {
        put_flow(e, "f", &event, id + FIRST_CORRELATION);
    }
}

/* ---- annotations on the GPU ------------------------------------------------------------------ */

static void put_gpu_step(struct synth_emitter *e, const struct synth_item *step, int64_t start_ns,
                         int64_t end_ns, int64_t id)
{
    struct synth_event event = {
        .cat = "gpu_user_annotation",
        .name = note_infos[SYNTH_NOTE_STEP].text,
        .number = step->number,
        .pid = e->device,
        .tid = stream_ids[SYNTH_COMPUTE],
        .start_ns = start_ns - 1,
        .end_ns = end_ns + 1,
    };
    if (start_ns <= end_ns && put_event(e, &event)) {
        put_arg(e, "\"External id\": ", id);
        end_event(e);
    }
}

/* Each communication, widened as a step is. */
static void put_gpu_comms(struct synth_emitter *e)
{
    for (size_t i = 0; i < e->rank_items->n_items && e->spec->cpu_ops; i++) {
        const struct synth_item *item = &e->rank_items->items[i];
        if (item->kind == SYNTH_ITEM_COMM) {
            struct synth_event event = {
                .number = -1,
                .pid = e->device,
                .tid = stream_ids[item->stream],
                .start_ns = node_of(e, item->gpu)->start_ns - 1,
                .end_ns = node_of(e, item->gpu)->end_ns + 1,
            };
            put_comm_note(e, item, &event, (int64_t)i + 1);
        }
    }
}

/* Each step over the kernels that its main thread launched, widened by a nanosecond. */
static void put_gpu_steps(struct synth_emitter *e)
{
    const struct synth_item *step = NULL;
    int64_t id = 0;
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = 0;
    for (size_t i = 0; i < e->rank_items->n_items; i++) {
        const struct synth_item *item = &e->rank_items->items[i];
        if (item->kind == SYNTH_ITEM_NOTE && item->what == SYNTH_NOTE_STEP) {
            if (step != NULL) {
                put_gpu_step(e, step, start_ns, end_ns, id);
            }
            step = item;
            id = (int64_t)i + 1;
            start_ns = INT64_MAX;
            end_ns = 0;
        } else if (item->gpu != SYNTH_NONE && item->stream == SYNTH_COMPUTE && item->thread == 0) {
            const struct synth_node *node = node_of(e, item->gpu);
            start_ns = node->start_ns < start_ns ? node->start_ns : start_ns;
            end_ns = node->end_ns > end_ns ? node->end_ns : end_ns;
        }
    }
    if (step != NULL) {
        put_gpu_step(e, step, start_ns, end_ns, id);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

/* How stamps are to be read; some versions say so only after the events. */
static void put_time_base(struct synth_emitter *e)
{
    inq_out_text(e->out, "  \"displayTimeUnit\": \"ms\",\n");
    if (e->spec->ts != INQ_SYNTH_TS_ABS) {
        inq_out_printf(e->out, "  \"baseTimeNanoseconds\": %" PRId64 ",\n", e->base_ns);
    }
}

static void put_footer(struct synth_emitter *e)
{
    inq_out_text(e->out, "\n  ],\n");
    if (e->spec->base_last) {
        put_time_base(e);
    }
}

static void put_header(struct synth_emitter *e)
{
    static const char *const gpus[] = {"Synthetic GPU", "NVIDIA A100-SXM4-80GB",
                                       "NVIDIA H100 80GB HBM3"};
    inq_out_text(e->out, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    for (int32_t i = 0; i < e->spec->gpus_per_host; i++) {
        inq_out_printf(e->out,
                       "%s\n    {\"id\": %" PRId32 ", \"name\": \"%s\", "
                       "\"totalGlobalMem\": 85029158912, \"computeMajor\": 9, \"computeMinor\": 0, "
                       "\"warpSize\": 32, \"numSms\": 132}",
                       i > 0 ? "," : "", i, gpus[e->spec->gpu]);
    }
    inq_out_text(e->out, "\n  ],\n");
    put_distributed(e);
    inq_out_printf(e->out, "  \"host_name\": \"node-%02" PRId32 "\",\n",
                   e->rank / e->spec->gpus_per_host);
    if (!e->spec->base_last) {
        put_time_base(e);
    }
    inq_out_text(e->out, "  \"traceEvents\": [\n");
}

static void put_name(struct synth_emitter *e, const char *what, int32_t pid, int32_t tid,
                     const char *name, int32_t number)
{
    begin_event(e, "M\", \"name\": \"");
    inq_out_printf(e->out,
                   "%s\", \"pid\": %" PRId32 ", \"tid\": %" PRId32
                   ", \"args\": {\"name\": \"%s%" PRId32 "\"}}",
                   what, pid, tid, name, number);
}

/* The recorder's own marks: its span and the ends of its window. */
static void put_marks(struct synth_emitter *e)
{
    int64_t end_ns = e->sim->ends_ns[e->spec->steps - 1];
    int64_t start = local_ns(e, e->from_ns > 0 ? e->from_ns : 0);
    int64_t end = local_ns(e, e->until_ns < end_ns ? e->until_ns : end_ns);
    begin_event(e, "X\", \"cat\": \"Trace\", \"ts\": ");
    put_us(e, start);
    put_text(e->out, ", \"dur\": ");
    put_us(e, end - start);
    put_text(e->out, ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    "
                     "\"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      "
                     "\"Op count\": 0");
    end_event(e);
    begin_event(e, "i\", \"name\": \"Iteration Start: PyTorch Profiler\", \"s\": \"g\",\n    "
                   "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
    put_us(e, start);
    put_text(e->out, "\n  }");
    begin_event(e, "i\", \"name\": \"Record Window End\", \"s\": \"g\",\n    "
                   "\"pid\": \"\", \"tid\": \"\", \"ts\": ");
    put_us(e, end);
    put_text(e->out, "\n  }");
}

static void put_names(struct synth_emitter *e)
{
    bool used[SYNTH_STREAM_COUNT] = {false};
    for (size_t i = 0; i < e->rank_items->n_items; i++) {
        const struct synth_item *item = &e->rank_items->items[i];
        used[item->stream] |= item->gpu != SYNTH_NONE;
    }
    put_name(e, "process_name", e->pid, 0, "python ", e->pid);
    put_name(e, "process_name", e->device, 0, "GPU ", e->device);
    put_name(e, "thread_name", e->pid, e->pid, "thread ", e->pid);
    put_name(e, "thread_name", e->pid, e->pid + AUTOGRAD_TID, "pt_autograd_", e->device);
    for (int i = 0; i < SYNTH_STREAM_COUNT; i++) {
        if (used[i]) {
            put_name(e, "thread_name", e->device, stream_ids[i], "stream ", stream_ids[i]);
        }
    }
}

/* The capture window: everything, or from a place in the first step to one in the last. */
static void set_window(struct synth_emitter *e)
{
    e->from_ns = INT64_MIN;
    e->until_ns = INT64_MAX;
    int32_t steps = e->spec->steps;
    if (e->spec->window == INQ_SYNTH_WINDOW_FULL || steps < 3) {
        return;
    }
    struct synth_key key = {e->spec->seed, SYNTH_DRAW_WINDOW, (uint32_t)e->rank, 0, 0};
    int64_t first = e->sim->ends_ns[0];
    int64_t before = e->sim->ends_ns[steps - 2];
    int64_t last = e->sim->ends_ns[steps - 1];
    e->from_ns = inq_synth_scale(first, inq_synth_uniform(key));
    key.b = 1;
    e->until_ns = before + inq_synth_scale(last - before, inq_synth_uniform(key));
}

static int64_t base_of(const struct inq_synth_spec *spec, int32_t rank)
{
    int64_t grid = EPOCH_S / BASE_GRID_S;
    if (spec->ts == INQ_SYNTH_TS_SPLIT && rank % 2 == 1) {
        grid--;
    }
    return spec->ts == INQ_SYNTH_TS_ABS ? 0 : grid * BASE_GRID_S * 1000000000;
}

void inq_synth_emit(const struct synth_sim *sim, int32_t rank, struct inq_out *out)
{
    const struct inq_synth_spec *spec = sim->plan.spec;
    struct synth_emitter e = {
        .out = out,
        .sim = sim,
        .spec = spec,
        .rank_items = &sim->ranks[rank],
        .rank = rank,
        .device = rank % spec->gpus_per_host,
        .pid = FIRST_PID + rank % spec->gpus_per_host,
        .clock = inq_synth_clock(spec, rank),
        .epoch_ns = EPOCH_S * 1000000000,
        .base_ns = base_of(spec, rank),
        .first_event = true,
    };
    set_window(&e);
    put_header(&e);
    size_t n = e.rank_items->n_items;
    for (size_t i = 0; i < n; i++) {
        const struct synth_item *item = &e.rank_items->items[i];
        (is_read(&e, item) ? put_read : put_host_item)(&e, item, (int64_t)i + 1);
    }
    for (size_t i = 0; i < n; i++) {
        const struct synth_item *item = &e.rank_items->items[i];
        if (item->kind != SYNTH_ITEM_NOTE) {
            put_call(&e, item, (int64_t)i + 1);
        }
        if (item->gpu != SYNTH_NONE) {
            put_gpu(&e, item, (int64_t)i + 1);
        }
    }
    put_gpu_steps(&e);
    put_gpu_comms(&e);
    put_names(&e);
    put_marks(&e);
    put_footer(&e);
    inq_out_printf(out, "  \"traceName\": \"./trace/rank-%" PRId32 ".pt.trace.json\"\n}\n", rank);
}
