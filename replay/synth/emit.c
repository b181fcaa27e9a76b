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

/* ---- numbers --------------------------------------------------------------------------------- */

void inq_synth_put_text(struct inq_out *out, const char *text)
{
    inq_out_bytes(out, text, strlen(text));
}

void inq_synth_put_int(struct inq_out *out, int64_t value)
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
    inq_synth_put_int(e->out, us);
    if (e->spec->ts != INQ_SYNTH_TS_ABS) {
        int64_t rest = ns - us * 1000;
        char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};
        inq_out_bytes(e->out, decimals, sizeof decimals);
    }
}

/* A moment of the simulation on the clock of the rank's host. */
static int64_t local_ns(const struct synth_emitter *e, int64_t t)
{
    int64_t drift = t / 1000 * e->clock.drift_ppb / 1000000;
    return t + e->clock.offset_ns + drift + e->epoch_ns - e->base_ns;
}

/* ---- one event ------------------------------------------------------------------------------- */

struct event {
    const char *cat, *name;
    int64_t number; /* after the name; -1 none */
    int32_t pid, tid;
    int64_t start_ns, end_ns; /* simulation time */
};

static void begin_event(struct synth_emitter *e, const char *phase)
{
    inq_synth_put_text(e->out, e->first_event ? "  {\"ph\": \"" : ",\n  {\"ph\": \"");
    inq_synth_put_text(e->out, phase);
    e->first_event = false;
}

/* Writes everything up to and with `"args": {`; false when it is outside the capture window. */
static bool put_event(struct synth_emitter *e, const struct event *event)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return false;
    }
    begin_event(e, "X\", \"cat\": \"");
    inq_synth_put_text(e->out, event->cat);
    inq_synth_put_text(e->out, "\", \"name\": \"");
    inq_synth_put_text(e->out, event->name);
    if (event->number >= 0) {
        inq_synth_put_int(e->out, event->number);
    }
    inq_synth_put_text(e->out, "\", \"pid\": ");
    inq_synth_put_int(e->out, event->pid);
    inq_synth_put_text(e->out, ", \"tid\": ");
    inq_synth_put_int(e->out, event->tid);
    inq_synth_put_text(e->out, ", \"ts\": ");
    int64_t start = local_ns(e, event->start_ns);
    put_us(e, start);
    inq_synth_put_text(e->out, ", \"dur\": ");
    put_us(e, local_ns(e, event->end_ns) - start);
    inq_synth_put_text(e->out, ", \"args\": {");
    return true;
}

static void put_arg(struct synth_emitter *e, const char *key, int64_t value)
{
    inq_synth_put_text(e->out, key);
    inq_synth_put_int(e->out, value);
}

static void put_flow(struct synth_emitter *e, const char *phase, const struct event *event,
                     int64_t id)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return;
    }
    begin_event(e, phase);
    put_arg(e, "\", \"id\": ", id);
    put_arg(e, ", \"pid\": ", event->pid);
    put_arg(e, ", \"tid\": ", event->tid);
    inq_synth_put_text(e->out, ", \"ts\": ");
    put_us(e, local_ns(e, event->start_ns));
    inq_synth_put_text(e->out, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    inq_synth_put_text(e->out, *phase == 'f' ? ", \"bp\": \"e\"}" : "}");
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

/* Annotations and operators: what the host did. */
static void put_host_item(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct event event = {
        .number = -1,
        .pid = e->pid,
        .tid = thread_of(e, item),
        .start_ns = node_of(e, item->first)->start_ns,
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
    if (!put_event(e, &event)) {
        return;
    }
    put_arg(e, "\"External id\": ", id);
    put_arg(e, ", \"Ev Idx\": ", id - 1);
    if (item->kind == SYNTH_ITEM_COMM) {
        inq_synth_emit_comm_args(e, comm_of(e, item), false);
    }
    inq_synth_put_text(e->out, "}}");
}

static void put_call(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    const struct synth_call_info *call = &inq_synth_calls[item->call];
    if (item->call >= SYNTH_CALL_RECORD && !e->spec->calls) {
        return;
    }
    struct event event = {
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
    inq_synth_put_text(e->out, "}}");
    if (e->spec->flows && item->gpu != SYNTH_NONE) {
        put_flow(e, "s", &event, id + FIRST_CORRELATION);
    }
}

/* Launch geometry of a kernel. */
static void put_geometry(struct synth_emitter *e, const struct synth_item *item)
{
    static const struct synth_kernel_info nccl = {"", "", 16, 544, 96, 83000};
    const struct synth_kernel_info *kernel =
        item->kind == SYNTH_ITEM_COMM ? &nccl : &inq_synth_kernels[item->what];
    put_arg(e, ", \"queued\": 0, \"context\": 1, \"registers per thread\": ", kernel->registers);
    put_arg(e, ", \"shared memory\": ", kernel->shared);
    put_arg(e, ", \"grid\": [", item->kind == SYNTH_ITEM_COMM ? kernel->grid : item->grid);
    put_arg(e, ", 1, 1], \"block\": [", kernel->block);
    inq_synth_put_text(e->out, ", 1, 1]");
}

static void put_gpu(struct synth_emitter *e, const struct synth_item *item, int64_t id)
{
    struct event event = {
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
        inq_synth_emit_comm_args(e, comm_of(e, item), true);
    }
    inq_synth_put_text(e->out, "}}");
    if (e->spec->flows) {
        put_flow(e, "f", &event, id + FIRST_CORRELATION);
    }
}

/* ---- annotations on the GPU ------------------------------------------------------------------ */

static void put_gpu_step(struct synth_emitter *e, const struct synth_item *step, int64_t start_ns,
                         int64_t end_ns, int64_t id)
{
    struct event event = {
        .cat = "gpu_user_annotation",
        .name = inq_synth_notes[SYNTH_NOTE_STEP].text,
        .number = step->number,
        .pid = e->device,
        .tid = inq_synth_stream_ids[SYNTH_COMPUTE],
        .start_ns = start_ns - 1,
        .end_ns = end_ns + 1,
    };
    if (start_ns <= end_ns && put_event(e, &event)) {
        put_arg(e, "\"External id\": ", id);
        inq_synth_put_text(e->out, "}}");
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
    inq_out_text(e->out, "  \"displayTimeUnit\": \"ms\",\n");
    if (e->spec->ts != INQ_SYNTH_TS_ABS) {
        inq_out_printf(e->out, "  \"baseTimeNanoseconds\": %" PRId64 ",\n", e->base_ns);
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
    put_names(&e);
    inq_out_printf(out, "\n  ],\n  \"traceName\": \"./trace/rank-%" PRId32 ".pt.trace.json\"\n}\n",
                   rank);
}
