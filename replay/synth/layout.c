/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: rank = tp_rank + tp * (dp_rank + dp * stage); and who does what when. */
#include "synth/layout.h"

struct synth_place inq_synth_place(const struct inq_synth_spec *spec, int32_t rank)
{
    return (struct synth_place){.stage = rank / (spec->tp * spec->dp),
                                .dp = rank / spec->tp % spec->dp,
                                .tp = rank % spec->tp};
}

int32_t inq_synth_group_size(const struct inq_synth_spec *spec, enum synth_role role)
{
    switch (role) {
    case SYNTH_WORLD:
        return spec->dp * spec->tp * spec->pp;
    case SYNTH_DP:
        return spec->dp;
    case SYNTH_TP:
        return spec->tp;
    case SYNTH_MP:
        return spec->tp * spec->pp;
    case SYNTH_PP:
        return spec->pp;
    case SYNTH_EP:
        return spec->dp;
    case SYNTH_ROLE_COUNT:
        break;
    }
    return 0;
}

int32_t inq_synth_group_count(const struct inq_synth_spec *spec, enum synth_role role)
{
    int32_t size = inq_synth_group_size(spec, role);
    return size > 0 ? inq_synth_group_size(spec, SYNTH_WORLD) / size : 0;
}

int32_t inq_synth_group_of(const struct inq_synth_spec *spec, enum synth_role role, int32_t rank)
{
    struct synth_place at = inq_synth_place(spec, rank);
    switch (role) {
    case SYNTH_DP:
    case SYNTH_EP:
        return at.tp + spec->tp * at.stage;
    case SYNTH_TP:
        return at.dp + spec->dp * at.stage;
    case SYNTH_MP:
        return at.dp;
    case SYNTH_PP:
        return at.tp + spec->tp * at.dp;
    case SYNTH_WORLD:
    case SYNTH_ROLE_COUNT:
        break;
    }
    return 0;
}

int32_t inq_synth_group_member(const struct inq_synth_spec *spec, enum synth_role role,
                               int32_t rank, int32_t i)
{
    struct synth_place at = inq_synth_place(spec, rank);
    switch (role) {
    case SYNTH_DP:
    case SYNTH_EP:
        at.dp = i;
        break;
    case SYNTH_TP:
        at.tp = i;
        break;
    case SYNTH_MP:
        at.tp = i % spec->tp;
        at.stage = i / spec->tp;
        break;
    case SYNTH_PP:
        at.stage = i;
        break;
    case SYNTH_WORLD:
    case SYNTH_ROLE_COUNT:
        return i;
    }
    return at.tp + spec->tp * (at.dp + spec->dp * at.stage);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* Forward number `k` (backwards count chunks from the last) of interleaved 1F1B: micro-batches in
 * groups of `pp`, each group through all chunks. With one chunk: micro-batch k. */
static struct synth_action action_of(const struct inq_synth_spec *spec, int32_t stage, int32_t k,
                                     bool backward)
{
    int32_t in_group = k % (spec->pp * spec->chunks);
    int32_t chunk = in_group / spec->pp;
    int32_t micro_batch = k / (spec->pp * spec->chunks) * spec->pp + k % spec->pp;
    if (spec->chunks == 1) {
        chunk = 0;
        micro_batch = k;
    }
    chunk = backward ? spec->chunks - 1 - chunk : chunk;
    return (struct synth_action){chunk * spec->pp + stage, micro_batch, backward};
}

/* Forwards that come before the first backward. */
static int32_t warm_up_of(const struct inq_synth_spec *spec, int32_t stage)
{
    int32_t n = spec->micro_batches * spec->chunks;
    int32_t after = spec->pp - stage - 1; /* stages behind this one */
    int32_t warm_up = spec->chunks == 1 ? after : 2 * after + (spec->chunks - 1) * spec->pp;
    return warm_up < n ? warm_up : n;
}

struct synth_action inq_synth_action(const struct inq_synth_spec *spec, int32_t stage, int32_t i)
{
    int32_t n = spec->micro_batches * spec->chunks;
    int32_t warm_up = warm_up_of(spec, stage);
    if (i < warm_up) {
        return action_of(spec, stage, i, false);
    }
    int32_t pair = (i - warm_up) / 2;
    if (pair < n - warm_up) {
        bool backward = (i - warm_up) % 2 == 1;
        return action_of(spec, stage, backward ? pair : warm_up + pair, backward);
    }
    return action_of(spec, stage, i - n, true);
}
