/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is divided unevenly, as suspects: a stage with its ranks, or nobody in particular. */
#include "analysis/straggler/suspects.h"

#include "analysis/measure/measure.h"
#include "base/arena.h"

#include <math.h>

/* A stage of one rank whose longer compute is for this part due to the same kernels running slower
 * has a slow GPU, not more work. */
#define SLOWER_PART 0.5

static struct inq_suspect blank(const struct inq_inquiry *q, enum inq_finding_kind kind,
                                double cost_ns)
{
    size_t steps = q->cells->n_steps - q->cells->first_step;
    struct inq_suspect suspect = {
        .kind = kind, .group = INQ_NONE, .stage = -1, .ratio = (double)NAN, .running = ""};

    suspect.confidence = q->cells->one_step || steps < 2 ? INQ_CONFIDENCE_HYPOTHESIS
                         : steps < 3                     ? INQ_CONFIDENCE_SUPPORTED
                                                         : INQ_CONFIDENCE_ESTABLISHED;
    suspect.cost_ns_per_step = (int64_t)llround(cost_ns);
    suspect.step_ns = (int64_t)llround(q->delays->step_ns);
    suspect.steps = steps;
    suspect.steps_seen = steps;
    return suspect;
}

static int stage_suspect(const struct inq_inquiry *q, const struct inq_imbalance *found,
                         struct inq_suspect *suspect, struct inq_err *err)
{
    size_t n_ranks = q->trace->n_ranks;
    uint32_t *ranks = inq_arena_array(q->arena, n_ranks, sizeof(*ranks));
    uint32_t *others = inq_arena_array(q->arena, n_ranks, sizeof(*others));
    size_t n_others = 0;

    *suspect = blank(q, found->last ? INQ_FINDING_SLOW_LAST_STAGE : INQ_FINDING_STAGE_IMBALANCE,
                     found->stage_cost_ns);
    if (!ranks || !others) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a suspect");
    }
    suspect->ranks = ranks;
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (q->roles->of[r] == found->role) {
            ranks[suspect->n_ranks++] = r;
        } else {
            others[n_others++] = r;
        }
    }
    suspect->stage = q->roles->stage[found->role];
    suspect->own_ns = (int64_t)llround(found->stage_ns);
    suspect->peers_ns = (int64_t)llround(found->stages_ns);
    suspect->ratio = found->stage_ns / found->stages_ns;
    if (suspect->n_ranks > 1) {
        return INQ_OK;
    }
    struct inq_kernel_comparison c;
    int code = inq_kernels_against(q->trace, q->cells, ranks[0], others, n_others, &c, err);
    if (code == INQ_OK && c.slower_ns >= SLOWER_PART * found->stage_cost_ns &&
        !inq_kernels_are_larger(&c)) {
        suspect->kind = INQ_FINDING_SLOW_GPU;
        suspect->ratio = c.ratio;
        suspect->confidence = suspect->confidence > INQ_CONFIDENCE_SUPPORTED
                                  ? INQ_CONFIDENCE_SUPPORTED
                                  : suspect->confidence;
    }
    return code;
}

static struct inq_suspect uneven_suspect(const struct inq_inquiry *q,
                                         const struct inq_imbalance *found)
{
    struct inq_suspect suspect = blank(q, INQ_FINDING_SEQUENCE_IMBALANCE, found->cost_ns);

    suspect.ratio = found->sigma;
    if (suspect.confidence > INQ_CONFIDENCE_SUPPORTED || !found->constant_known) {
        suspect.confidence =
            found->constant_known ? INQ_CONFIDENCE_SUPPORTED : INQ_CONFIDENCE_HYPOTHESIS;
    }
    return suspect;
}

int inq_suspects_of_imbalance(const struct inq_inquiry *q, const struct inq_imbalance *found,
                              struct inq_suspect *suspects, size_t *n, struct inq_err *err)
{
    double least_ns = INQ_STAGE_COST_SHARE * q->delays->step_ns;
    int code = INQ_OK;

    if (found->stage_found) {
        code = stage_suspect(q, found, &suspects[*n], err);
        *n += code == INQ_OK;
    }
    if (code == INQ_OK && found->uneven && found->cost_ns >= least_ns) {
        suspects[(*n)++] = uneven_suspect(q, found);
    }
    return code;
}
