/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: rank = tp_rank + tp * (dp_rank + dp * stage). */
#include "synth/layout.h"

int32_t inq_synth_stage(const struct inq_synth_spec *spec, int32_t rank)
{
    return rank / (spec->tp * spec->dp);
}

int32_t inq_synth_dp_rank(const struct inq_synth_spec *spec, int32_t rank)
{
    return rank / spec->tp % spec->dp;
}

int32_t inq_synth_tp_rank(const struct inq_synth_spec *spec, int32_t rank)
{
    return rank % spec->tp;
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
    int32_t tp = inq_synth_tp_rank(spec, rank);
    int32_t dp = inq_synth_dp_rank(spec, rank);
    int32_t stage = inq_synth_stage(spec, rank);
    switch (role) {
    case SYNTH_DP:
    case SYNTH_EP:
        return tp + spec->tp * stage;
    case SYNTH_TP:
        return dp + spec->dp * stage;
    case SYNTH_MP:
        return dp;
    case SYNTH_PP:
        return tp + spec->tp * dp;
    case SYNTH_WORLD:
    case SYNTH_ROLE_COUNT:
        break;
    }
    return 0;
}

int32_t inq_synth_group_member(const struct inq_synth_spec *spec, enum synth_role role,
                               int32_t rank, int32_t i)
{
    int32_t tp = inq_synth_tp_rank(spec, rank);
    int32_t dp = inq_synth_dp_rank(spec, rank);
    int32_t stage = inq_synth_stage(spec, rank);
    switch (role) {
    case SYNTH_DP:
    case SYNTH_EP:
        dp = i;
        break;
    case SYNTH_TP:
        tp = i;
        break;
    case SYNTH_MP:
        tp = i % spec->tp;
        stage = i / spec->tp;
        break;
    case SYNTH_PP:
        stage = i;
        break;
    case SYNTH_WORLD:
    case SYNTH_ROLE_COUNT:
        return i;
    }
    return tp + spec->tp * (dp + spec->dp * stage);
}
