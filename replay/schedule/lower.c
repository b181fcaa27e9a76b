/* SPDX-License-Identifier: Apache-2.0 */
/* Explicit communication: the SEND and RECV cells that a compute-only schedule implies. */
#include "schedule/schedule.h"

#include "base/mem.h"

/* torch.distributed.pipelining's rule: ranks advance in turn, each by the next action whose inputs
 * are there; a send stands right behind its compute and its receive is appended to the peer's list
 * at that moment. */
struct lowering {
    const struct inq_schedule *from;
    struct inq_schedule *to;
    size_t *next;    /* [n_ranks] next action to take */
    uint8_t *have_f; /* [stage * microbatches] input of F (of B) is on the stage's rank */
    uint8_t *have_b;
    struct inq_err *err;
};

static size_t cell(const struct inq_schedule *s, int32_t stage, int32_t microbatch)
{
    return (size_t)stage * (size_t)s->n_microbatches + (size_t)microbatch;
}

/* What names no micro-batch computes nothing: lint says so. */
static bool is_forward(const struct inq_action *a)
{
    return inq_action_computes(a) && a->kind == INQ_ACTION_F;
}

static bool is_backward(const struct inq_action *a)
{
    return inq_action_computes(a) && (a->kind == INQ_ACTION_I || a->kind == INQ_ACTION_B);
}

static bool is_ready(const struct lowering *l, const struct inq_action *a)
{
    if (is_forward(a) && inq_schedule_previous(l->from, a->stage) >= 0) {
        return l->have_f[cell(l->from, a->stage, a->microbatch)] != 0;
    }
    if (is_backward(a) && inq_schedule_next(l->from, a->stage) >= 0) {
        return l->have_b[cell(l->from, a->stage, a->microbatch)] != 0;
    }
    return true;
}

/* What a finished compute sends on, if anything. */
static int deliver(struct lowering *l, const struct inq_action *a)
{
    bool forward = is_forward(a);
    if (!forward && !is_backward(a)) {
        return INQ_OK;
    }
    int32_t to =
        forward ? inq_schedule_next(l->from, a->stage) : inq_schedule_previous(l->from, a->stage);
    if (to < 0 || l->from->stage_rank[to] < 0) {
        return INQ_OK;
    }
    (forward ? l->have_f : l->have_b)[cell(l->from, to, a->microbatch)] = 1;
    int32_t own_rank = l->from->stage_rank[a->stage];
    int32_t peer = l->from->stage_rank[to];
    if (peer == own_rank) {
        return INQ_OK;
    }
    int code = inq_schedule_append(l->to, own_rank, forward ? INQ_ACTION_SEND_F : INQ_ACTION_SEND_B,
                                   a->stage, a->microbatch, l->err);
    if (code == INQ_OK) {
        code = inq_schedule_append(l->to, peer, forward ? INQ_ACTION_RECV_F : INQ_ACTION_RECV_B, to,
                                   a->microbatch, l->err);
    }
    return code;
}

/* A cell with its parts: all parts must be ready, and deliver after the last. */
static bool cell_ready(const struct lowering *l, const struct inq_rank_actions *list, size_t at)
{
    size_t parts = list->actions[at].n_sub;
    for (size_t i = at; i <= at + parts && i < list->n; i++) {
        if (!is_ready(l, &list->actions[i])) {
            return false;
        }
    }
    return true;
}

static int take_cell(struct lowering *l, int32_t rank)
{
    const struct inq_rank_actions *list = &l->from->ranks[rank];
    size_t at = l->next[rank];
    size_t end = at + list->actions[at].n_sub + 1;
    int code = INQ_OK;
    for (size_t i = at; code == INQ_OK && i < end && i < list->n; i++) {
        const struct inq_action *a = &list->actions[i];
        if (a->kind == INQ_ACTION_IDLE) {
            continue;
        }
        struct inq_rank_actions *out = &l->to->ranks[rank];
        code = inq_schedule_append(l->to, rank, (enum inq_action_kind)a->kind, a->stage,
                                   a->microbatch, l->err);
        if (code == INQ_OK) {
            out->actions[out->n - 1] = *a;
        }
    }
    for (size_t i = at; code == INQ_OK && i < end && i < list->n; i++) {
        code = deliver(l, &list->actions[i]);
    }
    l->next[rank] = end;
    return code;
}

static int lower_all(struct lowering *l)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int32_t r = 0; r < l->from->n_ranks; r++) {
            if (l->next[r] < l->from->ranks[r].n && cell_ready(l, &l->from->ranks[r], l->next[r])) {
                int code = take_cell(l, r);
                if (code != INQ_OK) {
                    return code;
                }
                moved = true;
            }
        }
    }
    for (int32_t r = 0; r < l->from->n_ranks; r++) {
        if (l->next[r] < l->from->ranks[r].n) {
            char text[48];
            return inq_err_set(
                l->err, INQ_DEADLOCK, "rank %d never gets to %s", (int)r,
                inq_action_format(&l->from->ranks[r].actions[l->next[r]], text, sizeof text));
        }
    }
    return INQ_OK;
}

int inq_schedule_lower(const struct inq_schedule *schedule, struct inq_schedule *out,
                       struct inq_err *err)
{
    struct lowering l = {.from = schedule, .to = out, .err = err};
    int code = inq_schedule_start(schedule->n_ranks, schedule->n_stages, schedule->n_microbatches,
                                  out, err);
    if (code != INQ_OK) {
        return code;
    }
    for (int32_t s = 0; s < schedule->n_stages; s++) {
        out->stage_rank[s] = schedule->stage_rank[s];
    }
    out->n_pipelines = schedule->n_pipelines;
    out->has_comms = true;
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    l.next = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *l.next);
    l.have_f = inq_mem_zalloc(cells, 1);
    l.have_b = inq_mem_zalloc(cells, 1);
    code = l.next == NULL || l.have_f == NULL || l.have_b == NULL
               ? inq_err_set(err, INQ_NOMEM, "out of memory for a schedule")
               : lower_all(&l);
    inq_mem_free(l.next);
    inq_mem_free(l.have_f);
    inq_mem_free(l.have_b);
    if (code != INQ_OK) {
        inq_schedule_release(out);
    }
    return code;
}
