/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: rank = tp_rank + tp * (dp_rank + dp * stage). */
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
