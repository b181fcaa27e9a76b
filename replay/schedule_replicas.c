/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of the model in a schedule from a file: its stages fall into blocks of equal length that
 * share no micro-batch, as DualPipe's, Chimera's and data parallelism's do. */
#include "schedule.h"

#include "base/mem.h"

/* The micro-batches that a stage runs forward, well enough to tell two sets apart. */
struct stage_set {
    uint64_t count, sum;
};

static int32_t block_length(const struct inq_schedule *s, const struct stage_set *sets)
{
    int32_t length = 1;
    while (length < s->n_stages && sets[length].count == sets[0].count &&
           sets[length].sum == sets[0].sum) {
        length++;
    }
    return s->n_stages % length == 0 ? length : s->n_stages;
}

static void count_forwards(const struct inq_schedule *s, struct stage_set *sets)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            if (a->kind == INQ_ACTION_F && a->microbatch >= 0) {
                sets[a->stage].count++;
                sets[a->stage].sum += (uint64_t)a->microbatch + 1;
            }
        }
    }
}

/* Whether every micro-batch stays within one block. */
static bool blocks_are_apart(const struct inq_schedule *s, int32_t length, int32_t *home)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            if (a->kind != INQ_ACTION_F || a->microbatch < 0) {
                continue;
            }
            int32_t block = a->stage / length + 1;
            int32_t *here = &home[a->microbatch];
            if (*here != 0 && *here != block) {
                return false;
            }
            *here = block;
        }
    }
    return true;
}

int inq_schedule_find_replicas(struct inq_schedule *schedule, struct inq_err *err)
{
    struct stage_set *sets = inq_mem_zalloc((size_t)schedule->n_stages, sizeof *sets);
    int32_t *home = inq_mem_zalloc((size_t)schedule->n_microbatches + 1, sizeof *home);
    int code = INQ_OK;
    if (sets == NULL || home == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
    } else {
        count_forwards(schedule, sets);
        int32_t length = block_length(schedule, sets);
        bool whole = length < schedule->n_stages;
        for (int32_t s = 0; whole && s < schedule->n_stages; s++) {
            const struct stage_set *first = &sets[s - s % length];
            whole = sets[s].count > 0 && sets[s].count == first->count && sets[s].sum == first->sum;
        }
        schedule->n_pipelines =
            whole && blocks_are_apart(schedule, length, home) ? schedule->n_stages / length : 1;
    }
    inq_mem_free(sets);
    inq_mem_free(home);
    return code;
}
