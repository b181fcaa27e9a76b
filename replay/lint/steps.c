/* SPDX-License-Identifier: Apache-2.0 */
/* Lint rule R6 for runtimes that walk all rows step by step: in step j a rank runs cell j, then
 * sends its result and receives what its neighbours computed in their cell j, in one batch. All
 * batches of a step belong together, so they cannot block; but a result that its consumer needs in
 * the same or an earlier step is never received. */
#include "lint/lint.h"

#include "base/mem.h"
#include "schedule/schedule.h"

#include <inttypes.h>

struct steps {
    const struct inq_schedule *schedule;
    struct inq_lint *lint;
    struct inq_err *err;
    int32_t *forward, *backward; /* [n_stages * n_microbatches] step of F, of B or I; -1: none */
};

static int32_t *slot_of(const struct steps *s, int32_t stage, int32_t microbatch, bool forward)
{
    size_t cell = (size_t)stage * (size_t)s->schedule->n_microbatches + (size_t)microbatch;
    return forward ? &s->forward[cell] : &s->backward[cell];
}

static int check_action(const struct steps *s, int32_t rank, const struct inq_action *a,
                        int32_t step)
{
    bool forward = a->kind == INQ_ACTION_F;
    if (!inq_action_computes(a) || a->kind == INQ_ACTION_W) {
        return INQ_OK;
    }
    int32_t from = forward ? inq_schedule_previous(s->schedule, a->stage)
                           : inq_schedule_next(s->schedule, a->stage);
    int32_t peer = from < 0 ? rank : s->schedule->stage_rank[from];
    int32_t made = from < 0 ? -1 : *slot_of(s, from, a->microbatch, forward);
    if (peer == rank || made < step) {
        return INQ_OK;
    }
    return inq_lint_add(
        s->lint, INQ_LINT_RENDEZVOUS, true, rank, inq_lint_position(a, 0), a, s->err,
        "needs what rank %" PRId32 " computes in step %" PRId32 ", but stands in step %" PRId32
        " itself: with one batch of sends and receives a step it is not received "
        "yet; put %" PRId32 " empty cells before it",
        peer, made + 1, step + 1, made - step + 1);
}

/* Visits every action with the step of its cell: composites are one cell. */
static int walk(const struct steps *s, bool checks)
{
    int code = INQ_OK;
    for (int32_t r = 0; r < s->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &s->schedule->ranks[r];
        int32_t step = -1;
        size_t parts = 0;
        for (size_t i = 0; code == INQ_OK && i < list->n; i++) {
            const struct inq_action *a = &list->actions[i];
            bool starts_cell = parts == 0;
            parts = starts_cell ? a->n_sub : parts - 1;
            step += starts_cell;
            if (checks) {
                code = check_action(s, r, a, step);
            } else if (inq_action_computes(a) && a->kind != INQ_ACTION_W) {
                *slot_of(s, a->stage, a->microbatch, a->kind == INQ_ACTION_F) = step;
            }
        }
    }
    return code;
}

int inq_lint_steps(const struct inq_schedule *schedule, struct inq_lint *lint, struct inq_err *err)
{
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    struct steps s = {.schedule = schedule, .lint = lint, .err = err};
    s.forward = inq_mem_zalloc(cells, sizeof *s.forward);
    s.backward = inq_mem_zalloc(cells, sizeof *s.backward);
    int code = INQ_OK;
    if (s.forward == NULL || s.backward == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    } else {
        (void)walk(&s, false);
        code = walk(&s, true);
    }
    inq_mem_free(s.forward);
    inq_mem_free(s.backward);
    return code;
}
