/* SPDX-License-Identifier: Apache-2.0 */
/* The document: header, host events, calls and GPU events, annotations on the GPU, names. */
#include "synth/emit.h"

#include "synth/random.h"

#include <inttypes.h>
#include <string.h>

/* The simulation starts on this wall clock: 2026-01-15 08:00 UTC. */
static const int64_t EPOCH_S = 1768464000;
/* Stamps count from a three-month grid, as the recorder's do. */
static const int64_t BASE_GRID_S = 7889238;

enum { FIRST_PID = 4000, AUTOGRAD_TID = 500, FIRST_CORRELATION = 1000 };

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
    inq_synth_comm_note(e, comm_of(e, item), name, sizeof name);
    event.cat =
        item->gpu == SYNTH_NONE || where->pid == e->pid ? "user_annotation" : "gpu_user_annotation";
    event.name = name;
    if (inq_synth_put_event(e, &event)) {
        inq_synth_put_arg(e, "\"External id\": ", id);
        inq_synth_end_event(e);
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
        const struct synth_note_info *note = &inq_synth_notes[item->what];
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
    if (!inq_synth_put_event(e, &event)) {
        return;
    }
    inq_synth_put_arg(e, "\"External id\": ", id);
    inq_synth_put_arg(e, ", \"Ev Idx\": ", id - 1);
    if (item->kind == SYNTH_ITEM_COMM) {
        inq_synth_emit_comm_args(e, comm_of(e, item), false);
        inq_synth_end_event(e);
        event.start_ns = node_of(e, item->op)->end_ns;
        put_comm_note(e, item, &event, id);
    } else {
        inq_synth_end_event(e);
    }
}

static void put_call(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    const struct synth_call_info *call = &inq_synth_calls[item->call];
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
    if (!inq_synth_put_event(e, &event)) {
        return;
    }
    inq_synth_put_arg(e, "\"External id\": ", id);
    inq_synth_put_arg(e, ", \"cbid\": ", call->cbid);
    inq_synth_put_arg(e, ", \"correlation\": ", id + FIRST_CORRELATION);
    inq_synth_end_event(e);
    if (e->spec->flows && item->gpu != SYNTH_NONE) {
        inq_synth_put_flow(e, "s", &event, id + FIRST_CORRELATION);
    }
}

/* Launch geometry of a kernel. */
static void put_geometry(struct synth_emitter *e, const struct synth_item *item)
{
    static const struct synth_kernel_info nccl = {"", "", 16, 544, 96, 83000};
    const struct synth_kernel_info *kernel =
        item->kind == SYNTH_ITEM_COMM ? &nccl : &inq_synth_kernels[item->what];
    inq_synth_put_arg(
        e, ", \"queued\": 0, \"context\": 1, \"registers per thread\": ", kernel->registers);
    inq_synth_put_arg(e, ", \"shared memory\": ", kernel->shared);
    inq_synth_put_arg(e, ", \"grid\": [",
                      item->kind == SYNTH_ITEM_COMM ? kernel->grid : item->grid);
    inq_synth_put_arg(e, ", 1, 1], \"block\": [", kernel->block);
    inq_synth_put_text(e->out, ", 1, 1]");
}

static void put_gpu(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct synth_event event = {
        .cat = "kernel",
        .number = -1,
        .pid = e->device,
        .tid = inq_synth_stream_ids[item->stream],
        .start_ns = node_of(e, item->gpu)->start_ns,
        .end_ns = node_of(e, item->gpu)->end_ns,
    };
    bool copy = item->kind == SYNTH_ITEM_COPY_IN || item->kind == SYNTH_ITEM_COPY_OUT;
    if (copy) {
        event.cat = "gpu_memcpy";
        event.name = item->kind == SYNTH_ITEM_COPY_IN ? "Memcpy HtoD (Pinned -> Device)"
                                                      : "Memcpy DtoH (Device -> Pageable)";
    } else {
        event.name = item->kind == SYNTH_ITEM_COMM
                         ? inq_synth_comm_kernel(e->spec, comm_of(e, item))
                         : inq_synth_kernels[item->what].name;
    }
    if (!inq_synth_put_event(e, &event)) {
        return;
    }
    inq_synth_put_arg(e, "\"External id\": ", id);
    inq_synth_put_arg(e, ", \"device\": ", e->device);
    inq_synth_put_arg(e, ", \"stream\": ", event.tid);
    inq_synth_put_arg(e, ", \"correlation\": ", id + FIRST_CORRELATION);
    if (copy) {
        inq_synth_put_arg(e, ", \"bytes\": ", item->bytes);
    } else if (!e->spec->lean) {
        put_geometry(e, item);
    }
    if (item->kind == SYNTH_ITEM_COMM) {
        inq_synth_emit_comm_args(e, comm_of(e, item), true);
    }
    inq_synth_end_event(e);
    if (e->spec->flows) {
        inq_synth_put_flow(e, "f", &event, id + FIRST_CORRELATION);
    }
}

/* ---- annotations on the GPU ------------------------------------------------------------------ */

static void put_gpu_step(struct synth_emitter *e, const struct synth_item *step, int64_t start_ns,
                         int64_t end_ns, int64_t id)
{
    struct synth_event event = {
        .cat = "gpu_user_annotation",
        .name = inq_synth_notes[SYNTH_NOTE_STEP].text,
        .number = step->number,
        .pid = e->device,
        .tid = inq_synth_stream_ids[SYNTH_COMPUTE],
        .start_ns = start_ns - 1,
        .end_ns = end_ns + 1,
    };
    if (start_ns <= end_ns && inq_synth_put_event(e, &event)) {
        inq_synth_put_arg(e, "\"External id\": ", id);
        inq_synth_end_event(e);
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
                .tid = inq_synth_stream_ids[item->stream],
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
    inq_out_text(e->out, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    for (int32_t i = 0; i < e->spec->gpus_per_host; i++) {
        inq_out_printf(e->out,
                       "%s\n    {\"id\": %" PRId32 ", \"name\": \"Synthetic GPU\", "
                       "\"totalGlobalMem\": 85029158912, \"computeMajor\": 9, \"computeMinor\": 0, "
                       "\"warpSize\": 32, \"numSms\": 132}",
                       i > 0 ? "," : "", i);
    }
    inq_out_text(e->out, "\n  ],\n");
    inq_synth_emit_distributed(e);
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
    inq_synth_begin_event(e, "M\", \"name\": \"");
    inq_out_printf(e->out,
                   "%s\", \"pid\": %" PRId32 ", \"tid\": %" PRId32
                   ", \"args\": {\"name\": \"%s%" PRId32 "\"}}",
                   what, pid, tid, name, number);
}

/* The recorder's own marks: its span and the ends of its window. */
static void put_marks(struct synth_emitter *e)
{
    int64_t end_ns = inq_synth_step_end(e->sim, e->spec->steps - 1);
    int64_t start = inq_synth_local_ns(e, e->from_ns > 0 ? e->from_ns : 0);
    int64_t end = inq_synth_local_ns(e, e->until_ns < end_ns ? e->until_ns : end_ns);
    inq_synth_begin_event(e, "X\", \"cat\": \"Trace\", \"ts\": ");
    inq_synth_put_us(e, start);
    inq_synth_put_text(e->out, ", \"dur\": ");
    inq_synth_put_us(e, end - start);
    inq_synth_put_text(e->out, ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    "
                               "\"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      "
                               "\"Op count\": 0");
    inq_synth_end_event(e);
    inq_synth_begin_event(
        e, "i\", \"name\": \"Iteration Start: PyTorch Profiler\", \"s\": \"g\",\n    "
           "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
    inq_synth_put_us(e, start);
    inq_synth_put_text(e->out, "\n  }");
    inq_synth_begin_event(e, "i\", \"name\": \"Record Window End\", \"s\": \"g\",\n    "
                             "\"pid\": \"\", \"tid\": \"\", \"ts\": ");
    inq_synth_put_us(e, end);
    inq_synth_put_text(e->out, "\n  }");
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
            put_name(e, "thread_name", e->device, inq_synth_stream_ids[i], "stream ",
                     inq_synth_stream_ids[i]);
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
    int64_t first = inq_synth_step_end(e->sim, 0);
    int64_t before = inq_synth_step_end(e->sim, steps - 2);
    int64_t last = inq_synth_step_end(e->sim, steps - 1);
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
        put_host_item(&e, &e.rank_items->items[i], (int64_t)i + 1);
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
