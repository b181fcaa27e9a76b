/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as commands for streams. */
#include "cuda/layout.h"

#include "base/mem.h"

#include <string.h>

#define MAX_CMDS ((size_t)1 << 27)

struct maker {
    const struct inq_plan *plan;
    struct inq_gpu_layout *layout;
    struct inq_err *err;
    bool real;
    uint32_t *unit;        /* [n_ops] first op of the group that the op is in */
    uint32_t *pending;     /* [n_ops] by unit: what must be laid out before */
    uint32_t *after_start; /* [n_ops + 1] into after */
    uint32_t *after;       /* ops that wait for an op */
    uint32_t *uses;        /* [n_ops] waits from other lanes that are still to come */
    uint32_t *event;       /* [n_ops] recorded at the op's end */
    uint32_t *ready;       /* [n_ops] units in the order in which they can be laid out */
    uint32_t *free_event;  /* [n_ranks] first free event of a rank */
    uint32_t *next_free;   /* [n_events] */
    uint32_t *waited;      /* [n_lanes][n_lanes] how far a lane has waited for another */
    uint32_t *hub;         /* [most members] events on which members meet */
    size_t cap_cmds, cap_events, cap_next;
};

/* ---- where ranks go -------------------------------------------------------------------------- */

static int place_ranks(struct maker *m, size_t n_gpus)
{
    const struct inq_plan *plan = m->plan;
    struct inq_gpu_layout *l = m->layout;
    size_t n = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        n += k == 0 || plan->lanes[k].rank != plan->lanes[k - 1].rank;
    }
    if (n_gpus == 0) {
        return inq_err_set(m->err, INQ_UNSUPPORTED, "there is no GPU to place ranks on");
    }
    size_t most = n_gpus < INQ_GPU_MAX_GPUS ? n_gpus : INQ_GPU_MAX_GPUS;
    size_t each = n > most ? (n + most - 1) / most : 1;
    if (each > INQ_GPU_MAX_RANKS) {
        return inq_err_set(m->err, INQ_LIMIT,
                           "%zu ranks on %zu GPU%s: at most %zu ranks run on one at once: execute "
                           "fewer (one DP replica, or a few stages), or use more GPUs",
                           n, most, most == 1 ? "" : "s", INQ_GPU_MAX_RANKS);
    }
    if (plan->n_lanes > INQ_GPU_MAX_LANES) {
        return inq_err_set(m->err, INQ_LIMIT,
                           "%zu streams for %zu ranks, and at most %zu can be made: execute fewer "
                           "ranks or steps",
                           plan->n_lanes, n, INQ_GPU_MAX_LANES);
    }
    l->n_gpus = (n + each - 1) / each;
    size_t seen = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        if (k == 0 || plan->lanes[k].rank != plan->lanes[k - 1].rank) {
            l->spots[plan->lanes[k].rank] =
                (struct inq_gpu_spot){(uint32_t)(seen / each), (uint32_t)(seen % each)};
            l->parts[seen / each]++;
            seen++;
        }
    }
    return INQ_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

static uint32_t lane_before(const struct inq_plan *plan, uint32_t op)
{
    uint32_t place = plan->place_of[op];
    return place == 0 ? INQ_NONE : plan->lanes[plan->lane_of[op]].ops[place - 1];
}

/* Counts what each unit waits for (fill false), then lists what waits for each op. */
static void link_ops(struct maker *m, bool fill)
{
    const struct inq_graph *g = m->plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t before = lane_before(m->plan, i);
        uint32_t n = g->dep_start[i + 1] - g->dep_start[i];
        for (uint32_t d = 0; d <= n; d++) {
            uint32_t from = d < n ? g->deps[g->dep_start[i] + d] : before;
            if (from == INQ_NONE) {
                continue;
            }
            if (fill) {
                m->after[m->after_start[from]++] = i;
            } else {
                m->after_start[from + 1]++;
                m->pending[m->unit[i]]++;
                m->uses[from] += m->plan->lane_of[from] != m->plan->lane_of[i];
            }
        }
    }
}

static int alloc_order(struct maker *m)
{
    const struct inq_graph *g = m->plan->graph;
    size_t n = g->n_ops + 1;
    m->unit = inq_mem_zalloc(n, sizeof *m->unit);
    m->pending = inq_mem_zalloc(n, sizeof *m->pending);
    m->after_start = inq_mem_zalloc(n + 1, sizeof *m->after_start);
    m->after = inq_mem_zalloc(n + g->n_deps, sizeof *m->after);
    m->uses = inq_mem_zalloc(n, sizeof *m->uses);
    m->event = inq_mem_zalloc(n, sizeof *m->event);
    m->ready = inq_mem_zalloc(n, sizeof *m->ready);
    m->hub = inq_mem_zalloc(n, sizeof *m->hub);
    m->free_event = inq_mem_zalloc(g->n_ranks + 1, sizeof *m->free_event);
    m->waited = inq_mem_zalloc(m->plan->n_lanes * m->plan->n_lanes + 1, sizeof *m->waited);
    bool ok = m->unit != NULL && m->pending != NULL && m->after_start != NULL && m->after != NULL &&
              m->uses != NULL && m->event != NULL && m->ready != NULL && m->hub != NULL &&
              m->free_event != NULL && m->waited != NULL;
    if (!ok) {
        return inq_err_set(m->err, INQ_NOMEM, "out of memory for laying out %zu ops", g->n_ops);
    }
    for (size_t r = 0; r < g->n_ranks; r++) {
        m->free_event[r] = INQ_GPU_NO_EVENT;
    }
    return INQ_OK;
}

static int order_ops(struct maker *m)
{
    const struct inq_graph *g = m->plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i += g->members[i]) {
        if (g->members[i] > INQ_GPU_MAX_GROUP) {
            return inq_err_set(m->err, INQ_LIMIT,
                               "a transfer has %u members, and at most %d can meet on GPUs: "
                               "execute fewer ranks",
                               g->members[i], INQ_GPU_MAX_GROUP);
        }
        for (uint32_t k = 0; k < g->members[i]; k++) {
            m->unit[i + k] = i;
        }
    }
    link_ops(m, false);
    for (size_t i = 0; i < g->n_ops; i++) {
        m->after_start[i + 1] += m->after_start[i];
    }
    link_ops(m, true);
    memmove(m->after_start + 1, m->after_start, g->n_ops * sizeof *m->after_start);
    m->after_start[0] = 0;
    return INQ_OK;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int put(struct maker *m, enum inq_gpu_cmd_kind kind, uint32_t lane, uint32_t at)
{
    struct inq_gpu_layout *l = m->layout;
    int code =
        inq_mem_grow(&l->cmds, &m->cap_cmds, l->n_cmds + 1, sizeof *l->cmds, MAX_CMDS, m->err);
    if (code == INQ_OK) {
        l->cmds[l->n_cmds++] = (struct inq_gpu_cmd){(uint8_t)kind, lane, at};
        l->n_kernels += kind != INQ_GPU_WAIT && kind != INQ_GPU_RECORD && kind != INQ_GPU_TOGETHER;
    }
    return code;
}

/* An event where the lane lives; a free one if there is one. */
static int take_event(struct maker *m, uint32_t lane, uint32_t *event)
{
    struct inq_gpu_layout *l = m->layout;
    size_t rank = (size_t)m->plan->lanes[lane].rank;
    *event = m->free_event[rank];
    if (*event != INQ_GPU_NO_EVENT) {
        m->free_event[rank] = m->next_free[*event];
        return INQ_OK;
    }
    size_t need = l->n_events + 1;
    int code = inq_mem_grow(&l->event_spots, &m->cap_events, need, sizeof *l->event_spots, MAX_CMDS,
                            m->err);
    if (code == INQ_OK) {
        code =
            inq_mem_grow(&m->next_free, &m->cap_next, need, sizeof *m->next_free, MAX_CMDS, m->err);
    }
    if (code == INQ_OK) {
        *event = (uint32_t)l->n_events;
        l->event_spots[l->n_events++] = l->spots[rank];
    }
    return code;
}

static void give_event(struct maker *m, uint32_t lane, uint32_t event)
{
    size_t rank = (size_t)m->plan->lanes[lane].rank;
    m->next_free[event] = m->free_event[rank];
    m->free_event[rank] = event;
}

/* The op's lane waits for what the op depends on in other lanes, unless it has already waited for
 * something later there. */
static int put_waits(struct maker *m, uint32_t op)
{
    const struct inq_plan *plan = m->plan;
    const struct inq_graph *g = plan->graph;
    uint32_t lane = plan->lane_of[op];
    int code = INQ_OK;
    for (uint32_t d = g->dep_start[op]; code == INQ_OK && d < g->dep_start[op + 1]; d++) {
        uint32_t from = g->deps[d];
        uint32_t other = plan->lane_of[from];
        if (other == lane) {
            continue;
        }
        uint32_t *waited = &m->waited[(size_t)lane * plan->n_lanes + other];
        if (*waited < plan->place_of[from] + 1) {
            *waited = plan->place_of[from] + 1;
            code = put(m, INQ_GPU_WAIT, lane, m->event[from]);
        }
        if (--m->uses[from] == 0) {
            give_event(m, other, m->event[from]);
        }
    }
    return code;
}

/* No member's lane goes on before all have come this far. */
static int put_meeting(struct maker *m, uint32_t first, uint32_t n)
{
    const uint32_t *lane_of = m->plan->lane_of;
    int code = INQ_OK;
    for (uint32_t k = 1; code == INQ_OK && k < n; k++) {
        code = take_event(m, lane_of[first + k], &m->hub[k]);
        if (code == INQ_OK) {
            code = put(m, INQ_GPU_RECORD, lane_of[first + k], m->hub[k]);
        }
        if (code == INQ_OK) {
            code = put(m, INQ_GPU_WAIT, lane_of[first], m->hub[k]);
        }
    }
    if (code == INQ_OK) {
        code = take_event(m, lane_of[first], &m->hub[0]);
    }
    if (code == INQ_OK) {
        code = put(m, INQ_GPU_RECORD, lane_of[first], m->hub[0]);
    }
    for (uint32_t k = 1; code == INQ_OK && k < n; k++) {
        code = put(m, INQ_GPU_WAIT, lane_of[first + k], m->hub[0]);
    }
    for (uint32_t k = 0; code == INQ_OK && k < n; k++) {
        give_event(m, lane_of[first + k], m->hub[k]);
    }
    return code;
}

static int put_each(struct maker *m, enum inq_gpu_cmd_kind kind, uint32_t first, uint32_t n)
{
    int code = INQ_OK;
    for (uint32_t k = 0; code == INQ_OK && k < n; k++) {
        uint8_t work = m->plan->work[first + k];
        bool wanted = kind == INQ_GPU_BEGIN || kind == INQ_GPU_END;
        wanted |= kind == INQ_GPU_WORK && (inq_gpu_reduces(work) || work == INQ_WORK_RECV);
        wanted |=
            kind == INQ_GPU_COLLECT && inq_gpu_gathers(work) && (work != INQ_WORK_REDUCE || k == 0);
        wanted |= kind == INQ_GPU_CHECK && inq_gpu_receives(work);
        if (wanted) {
            code = put(m, kind, m->plan->lane_of[first + k], first + k);
        }
    }
    return code;
}

/* A group's data: a library moves it at once; else, in steps after which all meet, so that none
 * reads what is not there yet or overwrites what another still reads. */
static int put_data(struct maker *m, uint32_t first, uint32_t n)
{
    struct inq_gpu_layout *l = m->layout;
    uint8_t work = m->plan->work[first];
    bool steps[2] = {!inq_gpu_exchanges(work), inq_gpu_gathers(work)};
    size_t together = l->n_cmds;
    int code = put(m, INQ_GPU_TOGETHER, 0, first);
    for (int step = 0; step < 2; step++) {
        if (code == INQ_OK && steps[step]) {
            code = put_each(m, step == 0 ? INQ_GPU_WORK : INQ_GPU_COLLECT, first, n);
            if (code == INQ_OK) {
                code = put_meeting(m, first, n);
            }
        }
    }
    if (code == INQ_OK) {
        l->cmds[together].lane = (uint32_t)(l->n_cmds - together - 1);
    }
    return code;
}

/* All arrive, then all transfer. */
static int put_group(struct maker *m, uint32_t first, uint32_t n)
{
    uint8_t work = m->plan->work[first];
    bool moves = m->real && (inq_gpu_receives(work) || work == INQ_WORK_SEND);
    int code = put_each(m, INQ_GPU_BEGIN, first, n);
    if (code == INQ_OK) {
        code = put_meeting(m, first, n);
    }
    if (code == INQ_OK && moves) {
        code = put_data(m, first, n);
    }
    if (code == INQ_OK && moves) {
        code = put_each(m, INQ_GPU_CHECK, first, n);
    }
    return code == INQ_OK ? put_each(m, INQ_GPU_END, first, n) : code;
}

static int put_single(struct maker *m, uint32_t op)
{
    uint8_t work = m->plan->work[op];
    uint32_t lane = m->plan->lane_of[op];
    if (!m->real || (work != INQ_WORK_COMPUTE && !inq_gpu_copies(work))) {
        return put(m, INQ_GPU_ALONE, lane, op);
    }
    int code = put(m, INQ_GPU_BEGIN, lane, op);
    if (code == INQ_OK) {
        code = put(m, INQ_GPU_WORK, lane, op);
    }
    if (code == INQ_OK && inq_gpu_copies(work)) {
        code = put(m, INQ_GPU_CHECK, lane, op);
    }
    return code == INQ_OK ? put(m, INQ_GPU_END, lane, op) : code;
}

static int put_unit(struct maker *m, uint32_t first)
{
    const struct inq_plan *plan = m->plan;
    uint32_t n = plan->graph->members[first];
    int code = INQ_OK;
    for (uint32_t k = 0; code == INQ_OK && k < n; k++) {
        code = put_waits(m, first + k);
    }
    if (code == INQ_OK) {
        code = n > 1 ? put_group(m, first, n) : put_single(m, first);
    }
    for (uint32_t k = first; code == INQ_OK && k < first + n; k++) {
        if (m->uses[k] > 0) {
            code = take_event(m, plan->lane_of[k], &m->event[k]);
            if (code == INQ_OK) {
                code = put(m, INQ_GPU_RECORD, plan->lane_of[k], m->event[k]);
            }
        }
    }
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int name_stuck(const struct maker *m)
{
    const struct inq_graph *g = m->plan->graph;
    char text[96];
    for (uint32_t i = 0; i < g->n_ops; i += g->members[i]) {
        if (m->pending[i] > 0) {
            return inq_err_set(m->err, INQ_DEADLOCK,
                               "the lanes' orders and the dependencies contradict each other: %s "
                               "never becomes ready",
                               inq_graph_op_text(&g->op[i], text, sizeof text));
        }
    }
    return inq_err_set(m->err, INQ_DEADLOCK, "no order of the ops exists");
}

static int put_all(struct maker *m)
{
    const struct inq_graph *g = m->plan->graph;
    size_t n_ready = 0;
    for (uint32_t i = 0; i < g->n_ops; i += g->members[i]) {
        if (m->pending[i] == 0) {
            m->ready[n_ready++] = i;
        }
    }
    size_t n_ops = 0;
    for (size_t next = 0; next < n_ready; next++) {
        uint32_t first = m->ready[next];
        uint32_t n = g->members[first];
        int code = put_unit(m, first);
        if (code != INQ_OK) {
            return code;
        }
        n_ops += n;
        for (uint32_t a = m->after_start[first]; a < m->after_start[first + n]; a++) {
            uint32_t unit = m->unit[m->after[a]];
            if (--m->pending[unit] == 0) {
                m->ready[n_ready++] = unit;
            }
        }
    }
    return n_ops == g->n_ops ? INQ_OK : name_stuck(m);
}

static void release_maker(struct maker *m)
{
    inq_mem_free(m->unit);
    inq_mem_free(m->pending);
    inq_mem_free(m->after_start);
    inq_mem_free(m->after);
    inq_mem_free(m->uses);
    inq_mem_free(m->event);
    inq_mem_free(m->ready);
    inq_mem_free(m->hub);
    inq_mem_free(m->free_event);
    inq_mem_free(m->next_free);
    inq_mem_free(m->waited);
}

int inq_gpu_layout_make(const struct inq_plan *plan, size_t n_gpus, enum inq_work_mode work,
                        struct inq_gpu_layout *layout, struct inq_err *err)
{
    const struct inq_graph *g = plan->graph;
    struct maker m = {
        .plan = plan, .layout = layout, .err = err, .real = work == INQ_WORK_RECORDED};
    *layout = (struct inq_gpu_layout){.n_ranks = g->n_ranks};
    if (g->n_ops > INQ_GPU_MAX_OPS) {
        return inq_err_set(err, INQ_LIMIT,
                           "%zu ops are more than the %zu that one execution on GPUs holds: take "
                           "fewer steps",
                           g->n_ops, INQ_GPU_MAX_OPS);
    }
    layout->spots = inq_mem_zalloc(g->n_ranks + 1, sizeof *layout->spots);
    layout->parts = inq_mem_zalloc(INQ_GPU_MAX_GPUS, sizeof *layout->parts);
    int code = INQ_OK;
    if (layout->spots == NULL || layout->parts == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for placing %zu ranks", g->n_ranks);
    }
    for (size_t r = 0; code == INQ_OK && r < g->n_ranks; r++) {
        layout->spots[r].part = INQ_NONE;
    }
    if (code == INQ_OK) {
        code = place_ranks(&m, n_gpus);
    }
    if (code == INQ_OK) {
        code = alloc_order(&m);
    }
    if (code == INQ_OK) {
        code = order_ops(&m);
    }
    if (code == INQ_OK) {
        code = put_all(&m);
    }
    release_maker(&m);
    if (code != INQ_OK) {
        inq_gpu_layout_release(layout);
    }
    return code;
}
