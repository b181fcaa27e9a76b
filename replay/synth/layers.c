/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward of one micro-batch through the layers of a model chunk. */
#include "synth/build.h"

#include "synth/random.h"

enum { LOSS_SHARE = 20 }; /* of a layer, in thousandths: embedding, loss */

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
        inq_synth_kernel(b, kernel, ns / n, length);
    }
    b->extra = false;
}

static void layer(struct synth_builder *b, const struct synth_layer_kernel *kernels, size_t n,
                  double length)
{
    for (size_t i = 0; i < n; i++) {
        double size = b->size_factor * (kernels[i].square ? length * length : length);
        inq_synth_kernel(b, kernels[i].kernel, share_ns(b, kernels[i].share), size);
        if (kernels[i].reduce && b->spec->tp > 1) {
            uint32_t done = inq_synth_collective(b, SYNTH_ALLREDUCE, SYNTH_TP,
                                                 activation_elements(b, length), false);
            inq_synth_wait(b, SYNTH_COMPUTE, done);
        }
    }
    bool backward = kernels == inq_synth_backward;
    double count = inq_synth_count_factor(&b->sim->plan, b->rank, b->step);
    int64_t whole = b->spec->layer_ns * (backward ? 2 : 1);
    extra_kernels(b, inq_synth_scale(whole, count - 1.0), length, backward);
}

/* What the last stage has beyond its layers. */
static void output_layer(struct synth_builder *b, int32_t layers, double length, bool backward)
{
    double factor = inq_synth_last_stage_factor(&b->sim->plan, b->step);
    int64_t ns = inq_synth_scale(b->spec->layer_ns * layers * (backward ? 2 : 1), factor - 1.0);
    enum synth_kernel_id softmax = backward ? SYNTH_SOFTMAX_BACKWARD : SYNTH_SOFTMAX;
    inq_synth_kernel(b, softmax, share_ns(b, LOSS_SHARE), length);
    if (ns <= 0) {
        return;
    }
    b->extra = true;
    if (backward) {
        inq_synth_kernel(b, SYNTH_SOFTMAX_BACKWARD, ns * 2 / 10, length);
        inq_synth_kernel(b, SYNTH_GEMM_LOGITS, ns * 4 / 10, length);
        inq_synth_kernel(b, SYNTH_GEMM_LOGITS, ns * 4 / 10, length);
    } else {
        inq_synth_kernel(b, SYNTH_GEMM_LOGITS, ns * 8 / 10, length);
        inq_synth_kernel(b, SYNTH_SOFTMAX, ns * 2 / 10, length);
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
               ? inq_synth_collective(b, SYNTH_ALLGATHER, SYNTH_DP, parameter_elements(b, 1), false)
               : SYNTH_NONE;
}

/* The gradients of the last `layers` layers are complete: reduce them. */
static void reduce_bucket(struct synth_builder *b, int32_t layers)
{
    enum synth_comm_kind kind = is_sharded(b) ? SYNTH_REDUCE_SCATTER : SYNTH_ALLREDUCE;
    if (b->spec->dp > 1 && layers > 0) {
        (void)inq_synth_collective(b, kind, SYNTH_DP, parameter_elements(b, layers), false);
    }
}

/* All layers of a chunk, in one direction. */
static void run_layers(struct synth_builder *b, int32_t layers, double length, bool backward,
                       bool reduces)
{
    uint32_t gathered = gather(b, layers > 0);
    int32_t bucket = 0;
    for (int32_t i = 0; i < layers; i++) {
        uint32_t next = gather(b, i + 1 < layers); /* while this layer computes */
        if (gathered != SYNTH_NONE) {
            inq_synth_wait(b, SYNTH_COMPUTE, gathered);
        }
        gathered = next;
        if (i == b->pause_layer) {
            inq_synth_idle(b, inq_synth_pause(&b->sim->plan, b->rank, b->step));
        }
        if (backward) {
            layer(b, inq_synth_backward, inq_synth_n_backward, length);
        } else {
            layer(b, inq_synth_forward, inq_synth_n_forward, length);
        }
        if (reduces && ++bucket == b->spec->bucket_layers) {
            reduce_bucket(b, bucket);
            bucket = 0;
        }
    }
    reduce_bucket(b, bucket);
}

/* The stage before or behind this one, or -1 where there is none to talk to. */
static int32_t neighbour(const struct synth_builder *b, int32_t virtual_stage, int32_t step)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t other = virtual_stage + step;
    return other < 0 || other > last_virtual_stage(spec)
               ? -1
               : inq_synth_on_stage(spec, b->rank, (b->stage + step + spec->pp) % spec->pp);
}

void inq_synth_build_forward(struct synth_builder *b, int32_t virtual_stage, int32_t micro_batch)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t first = inq_synth_first_layer(spec, virtual_stage);
    int32_t layers = inq_synth_first_layer(spec, virtual_stage + 1) - first;
    double length = inq_synth_sequence(&b->sim->plan, b->step, b->dp_rank, micro_batch);
    int32_t from = neighbour(b, virtual_stage, -1);
    int32_t to = neighbour(b, virtual_stage, 1);
    inq_synth_flush_send(b, from);
    uint32_t note =
        spec->labels ? inq_synth_note_begin(b, SYNTH_NOTE_FORWARD, micro_batch) : SYNTH_NONE;
    if (from >= 0) {
        inq_synth_recv(b, from, false, activation_elements(b, length));
    } else {
        inq_synth_kernel(b, SYNTH_EMBEDDING, share_ns(b, LOSS_SHARE), length);
    }
    if (micro_batch == 0 && virtual_stage < spec->pp) {
        pause_somewhere(b, layers);
    }
    run_layers(b, layers, length, false, false);
    b->pause_layer = -1;
    if (to >= 0) {
        inq_synth_send(b, to, false, activation_elements(b, length));
    } else {
        output_layer(b, layers, length, false);
    }
    inq_synth_note_end(b, note);
}

void inq_synth_build_backward(struct synth_builder *b, int32_t virtual_stage, int32_t micro_batch)
{
    const struct inq_synth_spec *spec = b->spec;
    int32_t first = inq_synth_first_layer(spec, virtual_stage);
    int32_t layers = inq_synth_first_layer(spec, virtual_stage + 1) - first;
    double length = inq_synth_sequence(&b->sim->plan, b->step, b->dp_rank, micro_batch);
    int32_t from = neighbour(b, virtual_stage, 1);
    int32_t to = neighbour(b, virtual_stage, -1);
    inq_synth_flush_send(b, from);
    uint32_t note =
        spec->labels ? inq_synth_note_begin(b, SYNTH_NOTE_BACKWARD, micro_batch) : SYNTH_NONE;
    if (from >= 0) {
        inq_synth_recv(b, from, true, activation_elements(b, length));
    }
    b->thread = 1;
    if (from < 0) {
        output_layer(b, layers, length, true);
    }
    run_layers(b, layers, length, true, is_sharded(b) || micro_batch == spec->micro_batches - 1);
    if (to < 0) {
        inq_synth_kernel(b, SYNTH_EMBEDDING_BACKWARD, share_ns(b, LOSS_SHARE), length);
    }
    b->thread = 0;
    if (to >= 0) {
        inq_synth_send(b, to, true, activation_elements(b, length));
    }
    inq_synth_note_end(b, note);
}
