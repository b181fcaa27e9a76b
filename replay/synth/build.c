/* SPDX-License-Identifier: Apache-2.0 */
/* The primitives: host time, launches, waits. */
#include "synth/build.h"

#include "base/mem.h"
#include "synth/random.h"

/* Device-side times that no spec changes. */
enum {
    LAUNCH_TO_START_NS = 1500, /* from the end of a launch to the start of its kernel */
    KERNEL_GAP_NS = 900,       /* between two kernels in one stream */
    EVENT_NS = 1200,           /* from an event to who waits for it in another stream */
    CALL_NS = 1300             /* cudaEventRecord and the like */
};

static const size_t MAX_ITEMS = (size_t)1 << 28;

static struct synth_program *program_of(struct synth_builder *b)
{
    return &b->sim->program;
}

/* ---- items ----------------------------------------------------------------------------------- */

uint32_t inq_synth_add_item(struct synth_builder *b, const struct synth_item *item)
{
    struct synth_rank *out = b->out;
    struct synth_program *program = program_of(b);
    if (program->code == INQ_OK && out->n_items == out->cap_items) {
        program->code = inq_mem_grow(&out->items, &out->cap_items, out->n_items + 1,
                                     sizeof *out->items, MAX_ITEMS, NULL);
    }
    if (program->code != INQ_OK) {
        return SYNTH_NONE;
    }
    out->items[out->n_items] = *item;
    out->items[out->n_items].thread = b->thread;
    return (uint32_t)out->n_items++;
}

/* ---- the host -------------------------------------------------------------------------------- */

void inq_synth_idle(struct synth_builder *b, int64_t ns)
{
    uint32_t node = inq_synth_add_node(program_of(b), ns);
    inq_synth_add_edge(program_of(b), b->host, node, 0);
    b->host = node;
}

uint32_t inq_synth_host(struct synth_builder *b, int64_t ns)
{
    uint64_t ordinal = b->extra ? b->extra_host_parts++ | SYNTH_EXTRA : b->host_parts++;
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_HOST, (uint32_t)b->rank, (uint32_t)b->step,
                            ordinal};
    double noise = inq_synth_lognormal(key, b->spec->host_sigma);
    inq_synth_idle(b, inq_synth_scale(ns, noise * b->factor.launch));
    return b->host;
}

void inq_synth_call(struct synth_builder *b, enum synth_call_id call, enum synth_stream stream)
{
    struct synth_item item = {
        .kind = SYNTH_ITEM_CALL,
        .call = (uint8_t)call,
        .stream = (uint8_t)stream,
        .gpu = SYNTH_NONE,
        .comm = SYNTH_NONE,
        .first = inq_synth_host(b, CALL_NS / 2),
    };
    item.last = inq_synth_host(b, CALL_NS);
    (void)inq_synth_add_item(b, &item);
}

/* ---- launches -------------------------------------------------------------------------------- */

uint32_t inq_synth_launch(struct synth_builder *b, struct synth_item *item, int64_t dur_ns)
{
    struct synth_program *program = program_of(b);
    enum synth_stream stream = (enum synth_stream)item->stream;
    item->first = inq_synth_host(b, b->spec->op_ns);
    item->op = item->op != 0 ? item->op : item->first; /* node 0 is the start of a rank */
    item->last = inq_synth_host(b, b->spec->launch_ns);
    item->gpu = inq_synth_add_node(program, dur_ns);
    if (stream == SYNTH_COMPUTE) { /* a full queue blocks the launch */
        uint32_t *slot = &b->queue[b->launched++ % SYNTH_QUEUE];
        inq_synth_add_edge(program, *slot, item->last, 0);
        *slot = item->gpu;
    }
    inq_synth_add_edge(program, item->last, item->gpu, LAUNCH_TO_START_NS);
    inq_synth_add_edge(program, b->last[stream], item->gpu, KERNEL_GAP_NS);
    for (uint32_t i = 0; i < b->n_waits[stream]; i++) {
        inq_synth_add_edge(program, b->waits[stream][i], item->gpu, EVENT_NS);
    }
    b->n_waits[stream] = 0;
    b->last[stream] = item->gpu;
    (void)inq_synth_add_item(b, item);
    return item->gpu;
}

void inq_synth_wait(struct synth_builder *b, enum synth_stream stream, uint32_t node)
{
    inq_synth_call(b, SYNTH_CALL_WAIT, stream);
    if (node != SYNTH_NONE && b->n_waits[stream] < SYNTH_MAX_WAITS) {
        b->waits[stream][b->n_waits[stream]++] = node;
    }
}
