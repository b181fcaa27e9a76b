/* SPDX-License-Identifier: Apache-2.0 */
/* One step of one rank: data, the schedule of micro-batches, gradients, optimizer, sync. */
#include "synth/build.h"

#include "synth/random.h"

enum {
    ZERO_GRAD_NS = 60000,
    OPTIMIZER_NS = 80000,
    TOKEN_BYTES = 8,
    NORM_SHARE = 20, /* of a layer's forward, in thousandths */
    ADAM_SHARE = 80
};

/* Forward number `k` (backwards count chunks from the last) of interleaved 1F1B: micro-batches in
 * groups of `pp`, each group through all chunks. With one chunk: micro-batch k. */
static void run_action(struct synth_builder *b, int32_t k, bool backward)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t in_group = k % (spec->pp * spec->chunks);
    int32_t chunk = in_group / spec->pp;
    int32_t micro_batch = k / (spec->pp * spec->chunks) * spec->pp + k % spec->pp;
    if (spec->chunks == 1) {
        chunk = 0;
        micro_batch = k;
    }
    if (backward) {
        chunk = spec->chunks - 1 - chunk;
        inq_synth_build_backward(b, chunk * spec->pp + b->stage, micro_batch);
    } else {
        inq_synth_build_forward(b, chunk * spec->pp + b->stage, micro_batch);
    }
}

/* 1F1B: warm-up forwards, pairs of forward and backward, the remaining backwards. */
static void run_schedule(struct synth_builder *b)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t n = spec->micro_batches * spec->chunks;
    int32_t after = spec->pp - b->stage - 1; /* stages behind this one */
    int32_t warm_up = spec->chunks == 1 ? after : 2 * after + (spec->chunks - 1) * spec->pp;
    warm_up = warm_up < n ? warm_up : n;
    for (int32_t k = 0; k < warm_up; k++) {
        run_action(b, k, false);
    }
    for (int32_t k = warm_up; k < n; k++) {
        run_action(b, k, false);
        run_action(b, k - warm_up, true);
    }
    for (int32_t k = n - warm_up; k < n; k++) {
        run_action(b, k, true);
    }
    inq_synth_flush_send(b, -1);
}

static int32_t layers_of_rank(const struct synth_builder *b)
{
    int32_t layers = 0;
    for (int32_t chunk = 0; chunk < b->spec->chunks; chunk++) {
        int32_t v = chunk * b->spec->pp + b->stage;
        layers += inq_synth_first_layer(b->spec, v + 1) - inq_synth_first_layer(b->spec, v);
    }
    return layers;
}

static void load_data(struct synth_builder *b)
{
    const struct inq_synth_spec *spec = b->spec;
    uint32_t note = inq_synth_note_begin(b, SYNTH_NOTE_DATA, 0);
    (void)inq_synth_host(b, spec->data_ns);
    inq_synth_idle(b, inq_synth_step_delay(&b->sim->plan, b->rank, b->step));
    inq_synth_note_end(b, note);
    if (b->stage == 0 || b->stage == spec->pp - 1) {
        int64_t bytes = (int64_t)spec->tokens * spec->micro_batches * TOKEN_BYTES;
        inq_synth_copy_in(b, bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
    }
    note = inq_synth_note_begin(b, SYNTH_NOTE_ZERO_GRAD, 0);
    (void)inq_synth_host(b, ZERO_GRAD_NS);
    inq_synth_kernel(b, SYNTH_FILL, spec->layer_ns * NORM_SHARE / 1000, 1.0);
    inq_synth_note_end(b, note);
}

static void optimize(struct synth_builder *b)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t layers = layers_of_rank(b);
    if (spec->dp > 1) {
        inq_synth_wait(b, SYNTH_COMPUTE, b->last[SYNTH_DP_STREAM]);
    }
    for (int32_t i = 0; i < layers; i += 4) {
        inq_synth_kernel(b, SYNTH_L2_NORM, spec->layer_ns * NORM_SHARE / 1000, 1.0);
    }
    if (spec->tp * spec->pp > 1) {
        uint32_t norm = inq_synth_collective(b, SYNTH_ALLREDUCE, SYNTH_MP, 1, true);
        inq_synth_wait(b, SYNTH_COMPUTE, norm);
    }
    uint32_t note = inq_synth_note_begin(b, SYNTH_NOTE_OPTIMIZER, 0);
    (void)inq_synth_host(b, OPTIMIZER_NS);
    for (int32_t i = 0; i < layers; i++) {
        inq_synth_kernel(b, SYNTH_ADAM, spec->layer_ns * ADAM_SHARE / 1000, 1.0);
    }
    inq_synth_note_end(b, note);
}

void inq_synth_build_step(struct synth_builder *b)
{
    b->kernels = 0;
    b->host_parts = 0;
    b->extra_kernels = 0;
    b->extra_host_parts = 0;
    b->rank_factor = inq_synth_rank_factor(&b->sim->plan, b->rank, b->step);
    b->size_factor = inq_synth_size_factor(&b->sim->plan, b->rank, b->step);
    b->launch_factor = inq_synth_launch_factor(&b->sim->plan, b->rank, b->step);
    uint32_t note = inq_synth_note_begin(b, SYNTH_NOTE_STEP, b->spec->first_step + b->step);
    load_data(b);
    run_schedule(b);
    optimize(b);
    if (b->spec->sync) {
        inq_synth_sync(b);
    }
    inq_synth_note_end(b, note);
    uint32_t *ends = &b->out->step_ends[2 * (size_t)b->step];
    ends[0] = b->host;
    ends[1] = b->last[SYNTH_COMPUTE];
}
