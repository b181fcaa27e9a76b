/* SPDX-License-Identifier: Apache-2.0 */
/* A plan made ready on GPUs, and executed. */
#include "cuda/session.h"

#include "base/mem.h"

#include <string.h>

/* The gate opens by itself after this: longer than any launch that finds room takes (a graph of a
 * million nodes is put within some 100 ms), and short beside the time that an execution may take.
 */
#define GATE_NS ((int64_t)200 * 1000 * 1000)

/* ---- making ---------------------------------------------------------------------------------- */

static int make_lanes(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const struct inq_plan *plan = p->plan;
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < plan->n_lanes; k++) {
        struct inq_gpu_spot spot = p->layout->spots[plan->lanes[k].rank];
        code = calls->stream_new(calls->self, spot, &p->stream[k], err);
        if (code == INQ_OK) {
            code = calls->event_new(calls->self, spot, &p->last[k], err);
        }
    }
    for (size_t k = 0; code == INQ_OK && k < p->layout->n_events; k++) {
        code = calls->event_new(calls->self, p->layout->event_spots[k], &p->event[k], err);
    }
    return code;
}

static int make_board(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    size_t bytes = (p->plan->graph->n_ops + 1) * sizeof(int64_t);
    inq_gpu_addr *const parts[] = {&p->start, &p->end, &p->delay, &p->dur};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < sizeof parts / sizeof *parts; i++) {
        code = calls->alloc(calls->self, 0, bytes, parts[i], err);
    }
    return code == INQ_OK
               ? calls->alloc(calls->self, 0, sizeof p->session->shift_ns, &p->shift, err)
               : code;
}

int inq_gpu_program_make(struct inq_gpu_program *program, struct inq_gpu_session *session,
                         const struct inq_plan *plan, const struct inq_gpu_layout *layout,
                         const struct inq_replay_options *options, struct inq_err *err)
{
    struct inq_gpu_program *p = program;
    *p = (struct inq_gpu_program){.session = session, .plan = plan, .layout = layout};
    p->real = options != NULL && options->work == INQ_WORK_RECORDED;
    p->stream = inq_mem_zalloc(plan->n_lanes + 1, sizeof *p->stream);
    p->last = inq_mem_zalloc(plan->n_lanes + 1, sizeof *p->last);
    p->event = inq_mem_zalloc(layout->n_events + 1, sizeof *p->event);
    p->host = inq_mem_zalloc(plan->graph->n_ops + 1, sizeof *p->host);
    int code = INQ_OK;
    if (p->stream == NULL || p->last == NULL || p->event == NULL || p->host == NULL) {
        code =
            inq_err_set(err, INQ_NOMEM, "out of memory for executing %zu ops", plan->graph->n_ops);
    }
    if (code == INQ_OK) {
        code = make_lanes(p, err);
    }
    if (code == INQ_OK) {
        code = make_board(p, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_program_set_times(p, err);
    }
    if (code == INQ_OK && p->real) {
        code = inq_gpu_work_make(p, err);
    }
    if (code != INQ_OK) {
        inq_gpu_program_release(p);
    }
    return code;
}

void inq_gpu_program_release(struct inq_gpu_program *program)
{
    struct inq_gpu_program *p = program;
    if (p->session == NULL) {
        return;
    }
    const struct inq_gpu_calls *calls = p->session->calls;
    if (!p->session->lost) {
        inq_gpu_program_uncapture(p);
        for (size_t k = 0; p->event != NULL && k < p->layout->n_events; k++) {
            calls->event_free(calls->self, p->event[k]);
        }
        for (size_t k = 0; p->last != NULL && k < p->plan->n_lanes; k++) {
            calls->event_free(calls->self, p->last[k]);
        }
        for (size_t k = 0; p->stream != NULL && k < p->plan->n_lanes; k++) {
            calls->stream_free(calls->self, p->stream[k]);
        }
        inq_gpu_work_release(p);
        calls->release(calls->self, 0, p->start);
        calls->release(calls->self, 0, p->end);
        calls->release(calls->self, 0, p->delay);
        calls->release(calls->self, 0, p->dur);
        calls->release(calls->self, 0, p->shift);
    }
    inq_mem_free(p->stream);
    inq_mem_free(p->last);
    inq_mem_free(p->event);
    inq_mem_free(p->host);
    inq_mem_free(p->work.send);
    inq_mem_free(p->work.recv);
    inq_mem_free(p->work.c);
    *p = (struct inq_gpu_program){0};
}

int inq_gpu_program_set_times(struct inq_gpu_program *program, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    size_t n = program->plan->graph->n_ops + 1;
    int64_t *dur = inq_mem_zalloc(n, sizeof *dur);
    if (dur == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the durations of %zu ops", n);
    }
    inq_gpu_gaps_take(program->plan, &program->gaps, program->host, dur);
    int code = calls->upload(calls->self, program->delay, program->host, n * sizeof(int64_t), err);
    if (code == INQ_OK) {
        code = calls->upload(calls->self, program->dur, dur, n * sizeof(int64_t), err);
    }
    inq_mem_free(dur);
    return code;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int put_cmd(struct inq_gpu_program *p, const struct inq_gpu_cmd *cmd, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const uint32_t begin = INQ_GPU_DOES_BEGIN;
    uint32_t end = INQ_GPU_DOES_END;
    switch ((enum inq_gpu_cmd_kind)cmd->kind) {
    case INQ_GPU_WAIT:
        return calls->wait(calls->self, p->stream[cmd->lane], p->event[cmd->at], err);
    case INQ_GPU_RECORD:
        return calls->record(calls->self, p->event[cmd->at], p->stream[cmd->lane], err);
    case INQ_GPU_ALONE:
        return inq_gpu_program_put_op(p, cmd->lane, cmd->at, begin | INQ_GPU_DOES_HOLD | end, err);
    case INQ_GPU_BEGIN:
        return inq_gpu_program_put_op(p, cmd->lane, cmd->at, begin, err);
    case INQ_GPU_END:
        /* products take the time that they take; a transfer at least what was recorded */
        end |= p->plan->work[cmd->at] == INQ_WORK_COMPUTE && p->real ? 0 : INQ_GPU_DOES_HOLD;
        return inq_gpu_program_put_op(p, cmd->lane, cmd->at, end, err);
    case INQ_GPU_CHECK:
        return p->verify ? inq_gpu_work_put(p, cmd, err) : INQ_OK;
    case INQ_GPU_WORK:
    case INQ_GPU_COLLECT:
        break;
    }
    return inq_gpu_work_put(p, cmd, err);
}

/* The board is wiped, the gate closes, and all lanes wait for it. */
static int put_start(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_gpu_session *s = p->session;
    const struct inq_gpu_calls *calls = s->calls;
    size_t bytes = p->plan->graph->n_ops * sizeof(uint64_t);
    const struct inq_gpu_gate_args args = {.board = inq_gpu_board_of(p, 0),
                                           .flag_at = inq_gpu_flag_at(s, INQ_GPU_FLAG_GATE),
                                           .limit_ns = GATE_NS,
                                           .run = 1};
    const struct inq_gpu_launch gate = {INQ_KERNEL_GATE, 1, 1, &args, sizeof args};
    int code = calls->fill(calls->self, s->origin, p->start, 0xff, bytes, err);
    if (code == INQ_OK) {
        code = calls->fill(calls->self, s->origin, p->end, 0, bytes, err);
    }
    if (code == INQ_OK) {
        code = calls->launch(calls->self, s->origin, &gate, err);
    }
    if (code == INQ_OK) {
        code = calls->record(calls->self, s->fork, s->origin, err);
    }
    for (size_t k = 0; code == INQ_OK && k < p->plan->n_lanes; k++) {
        code = calls->wait(calls->self, p->stream[k], s->fork, err);
    }
    return code;
}

static int put_finish(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < p->plan->n_lanes; k++) {
        code = calls->record(calls->self, p->last[k], p->stream[k], err);
        if (code == INQ_OK) {
            code = calls->wait(calls->self, p->session->origin, p->last[k], err);
        }
    }
    return code;
}

/* A queue that is full makes the host wait for the device, which waits for the gate: it opens
 * before that. A capture only notes what is put. */
static int put_all(struct inq_gpu_program *p, bool captures, struct inq_err *err)
{
    const struct inq_gpu_layout *l = p->layout;
    int code = put_start(p, err);
    for (size_t i = 0; code == INQ_OK && i < l->n_cmds; i++) {
        if (!captures && i == INQ_GPU_QUEUE_LIMIT) {
            p->session->flags[INQ_GPU_FLAG_GATE] = 1;
            p->early = true;
        }
        code = put_cmd(p, &l->cmds[i], err);
    }
    return code == INQ_OK ? put_finish(p, err) : code;
}

int inq_gpu_program_capture(struct inq_gpu_program *program, struct inq_err *err)
{
    struct inq_gpu_session *s = program->session;
    const struct inq_gpu_calls *calls = s->calls;
    inq_gpu_program_uncapture(program);
    int code = calls->capture_begin(calls->self, s->origin, err);
    if (code != INQ_OK) {
        return code;
    }
    code = put_all(program, true, err);
    /* a capture that went wrong is ended too, and what it holds is dropped */
    int ended =
        calls->capture_end(calls->self, s->origin, &program->graph, code == INQ_OK ? err : NULL);
    if (code != INQ_OK) {
        inq_gpu_program_uncapture(program);
        return code;
    }
    return ended;
}

void inq_gpu_program_uncapture(struct inq_gpu_program *program)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    calls->graph_free(calls->self, program->graph);
    program->graph = NULL;
}

/* ---- executing ------------------------------------------------------------------------------- */

static int check_times(const struct inq_gpu_program *p, const uint64_t *start, const uint64_t *end,
                       struct inq_err *err)
{
    const struct inq_graph *g = p->plan->graph;
    char text[96];
    for (size_t i = 0; i < g->n_ops; i++) {
        if (start[i] == UINT64_MAX || end[i] < start[i]) {
            return inq_err_set(err, INQ_DEVICE, "the GPU left no times of %s",
                               inq_graph_op_text(&g->op[i], text, sizeof text));
        }
    }
    return INQ_OK;
}

static int launch(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_gpu_session *s = p->session;
    const struct inq_gpu_calls *calls = s->calls;
    /* a launch that waits for room waits for what the gate holds: from then on it stays open */
    s->flags[INQ_GPU_FLAG_GATE] = p->graph != NULL && p->early;
    if (p->graph == NULL) {
        return put_all(p, false, err);
    }
    int64_t began = calls->now_ns(calls->self);
    int code = calls->graph_launch(calls->self, p->graph, s->origin, err);
    p->early |= calls->now_ns(calls->self) - began >= GATE_NS;
    return code;
}

static int run_once(struct inq_gpu_program *p, int64_t timeout_ns, struct inq_err *err)
{
    struct inq_gpu_session *s = p->session;
    int code = launch(p, err);
    s->flags[INQ_GPU_FLAG_GATE] = 1; /* also after a failure, so that what was put can end */
    int ended = inq_gpu_session_wait(s, s->origin, timeout_ns, code == INQ_OK ? err : NULL);
    code = code == INQ_OK ? ended : code;
    /* after a failure, lanes may hold what the origin does not wait for */
    for (size_t k = 0; code != INQ_OK && !s->lost && k < p->plan->n_lanes; k++) {
        (void)inq_gpu_session_wait(s, p->stream[k], timeout_ns, NULL);
    }
    return code;
}

/* Times of a GPU whose timer moved by `drift_ns` against the first one's, as that would have told
 * them: it moved evenly from the first start to the last end. */
static void take_drift(const struct inq_gpu_program *p, const int64_t *drift_ns, uint64_t *start,
                       uint64_t *end)
{
    const struct inq_graph *g = p->plan->graph;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < g->n_ops; i++) {
        first = start[i] < first ? start[i] : first;
        last = end[i] > last ? end[i] : last;
    }
    double span = last > first ? (double)(last - first) : 1.0;
    for (size_t i = 0; i < g->n_ops; i++) {
        double drift = (double)drift_ns[p->layout->spots[g->op[i].rank].gpu];
        start[i] += (uint64_t)(int64_t)(drift * (double)(start[i] - first) / span);
        end[i] += (uint64_t)(int64_t)(drift * (double)(end[i] - first) / span);
    }
}

/* With several GPUs: the timers are aligned before and after, and what they moved is taken off. */
static int aligned_run(struct inq_gpu_program *p, int64_t timeout_ns, int64_t *drift_ns,
                       struct inq_err *err)
{
    struct inq_gpu_session *s = p->session;
    const struct inq_gpu_calls *calls = s->calls;
    int64_t before[INQ_GPU_MAX_GPUS];
    int code = inq_gpu_session_align(s, err);
    memcpy(before, s->shift_ns, sizeof before);
    if (code == INQ_OK) {
        code = calls->upload(calls->self, p->shift, before, sizeof before, err);
    }
    if (code == INQ_OK) {
        code = run_once(p, timeout_ns, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_session_align(s, err);
    }
    for (size_t g = 0; code == INQ_OK && g < s->n_gpus; g++) {
        drift_ns[g] = s->shift_ns[g] - before[g];
        int64_t size = drift_ns[g] < 0 ? -drift_ns[g] : drift_ns[g];
        s->drift_ns = size > s->drift_ns ? size : s->drift_ns;
    }
    return code;
}

int inq_gpu_program_execute(struct inq_gpu_program *program, int64_t timeout_ns, uint64_t *start,
                            uint64_t *end, struct inq_err *err)
{
    struct inq_gpu_session *s = program->session;
    const struct inq_gpu_calls *calls = s->calls;
    size_t bytes = program->plan->graph->n_ops * sizeof(uint64_t);
    int64_t drift_ns[INQ_GPU_MAX_GPUS] = {0};
    int code = s->n_gpus > 1 ? aligned_run(program, timeout_ns, drift_ns, err)
                             : run_once(program, timeout_ns, err);
    if (code == INQ_OK) {
        code = calls->download(calls->self, start, program->start, bytes, err);
    }
    if (code == INQ_OK) {
        code = calls->download(calls->self, end, program->end, bytes, err);
    }
    if (code == INQ_OK) {
        code = check_times(program, start, end, err);
    }
    if (code == INQ_OK && s->n_gpus > 1) {
        take_drift(program, drift_ns, start, end);
    }
    return code;
}
