/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda engine on a table of device calls: one plan repeated, or two in turns. */
#include "cuda/session.h"

#include "base/mem.h"
#include "base/time.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- A plan made ready on GPUs, and executed ------------------------------------------------- */

/* The gate opens by itself after this: longer than any launch that finds room takes (a graph of a
 * million nodes is put within some 100 ms), and short beside the time that an execution may take.
 */
#define GATE_NS ((int64_t)200 * 1000 * 1000)

static void gpu_program_uncapture(struct inq_gpu_program *program)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    calls->graph_free(calls->self, program->graph);
    program->graph = NULL;
}

static void gpu_program_release(struct inq_gpu_program *program)
{
    struct inq_gpu_program *p = program;
    if (p->session == NULL) {
        return;
    }
    const struct inq_gpu_calls *calls = p->session->calls;
    if (!p->session->lost) {
        gpu_program_uncapture(p);
        for (size_t k = 0; p->event != NULL && k < p->layout->n_events; k++) {
            calls->event_free(calls->self, p->event[k]);
        }
        for (size_t k = 0; p->last != NULL && k < p->plan->n_lanes; k++) {
            calls->event_free(calls->self, p->last[k]);
        }
        for (size_t k = 0; p->stream != NULL && k < p->plan->n_lanes; k++) {
            calls->stream_free(calls->self, p->stream[k]);
        }
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
    inq_gpu_work_release(p);
    *p = (struct inq_gpu_program){0};
}

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
    size_t bytes = (p->plan->graph->n_ops + 1) * sizeof(int64_t);
    inq_gpu_addr *const parts[] = {&p->start, &p->end, &p->delay, &p->dur};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < sizeof parts / sizeof *parts; i++) {
        code = inq_gpu_session_alloc(p->session, 0, bytes, parts[i], err);
    }
    return code == INQ_OK
               ? inq_gpu_session_alloc(p->session, 0, sizeof p->session->shift_ns, &p->shift, err)
               : code;
}

/* Takes launch gaps off the delays and durations that the device reads. */
static int gpu_program_set_times(struct inq_gpu_program *program, struct inq_err *err)
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

static int gpu_program_make(struct inq_gpu_program *program, struct inq_gpu_session *session,
                            const struct inq_plan *plan, const struct inq_gpu_layout *layout,
                            const struct inq_replay_options *options, struct inq_err *err)
{
    struct inq_gpu_program *p = program;
    *p = (struct inq_gpu_program){.session = session, .plan = plan, .layout = layout};
    p->real = options != NULL && options->work == INQ_WORK_RECORDED;
    p->free_transfers = options != NULL && options->free_transfers;
    p->own_gpus = plan->scale == 1.0;
    for (size_t g = 0; g < layout->n_gpus; g++) {
        p->own_gpus = p->own_gpus && layout->parts[g] == 1;
    }
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
        code = gpu_program_set_times(p, err);
    }
    if (code == INQ_OK && p->real) {
        code = inq_gpu_work_make(p, err);
    }
    if (code != INQ_OK) {
        gpu_program_release(p);
    }
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
        end |= inq_gpu_work_timing(p, cmd->at) == INQ_TIMING_GIVEN ? INQ_GPU_DOES_HOLD : 0;
        return inq_gpu_program_put_op(p, cmd->lane, cmd->at, end, err);
    case INQ_GPU_CHECK:
        return p->verify ? inq_gpu_work_put(p, cmd, err) : INQ_OK;
    case INQ_GPU_WORK:
    case INQ_GPU_COLLECT:
    case INQ_GPU_TOGETHER:
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
        if (!captures && i >= INQ_GPU_QUEUE_LIMIT) {
            p->session->flags[INQ_GPU_FLAG_GATE] = 1;
            p->early = true;
        }
        const struct inq_gpu_cmd *cmd = &l->cmds[i];
        bool together = cmd->kind == INQ_GPU_TOGETHER;
        bool library = together && inq_gpu_work_together(p, cmd->at);
        code = !together || library ? put_cmd(p, cmd, err) : INQ_OK;
        i += library ? cmd->lane : 0;
    }
    return code == INQ_OK ? put_finish(p, err) : code;
}

/* Captures the commands for executions to come. */
static int gpu_program_capture(struct inq_gpu_program *program, struct inq_err *err)
{
    struct inq_gpu_session *s = program->session;
    const struct inq_gpu_calls *calls = s->calls;
    gpu_program_uncapture(program);
    int code = calls->capture_begin(calls->self, s->origin, err);
    if (code != INQ_OK) {
        return code;
    }
    code = put_all(program, true, err);
    /* a capture that went wrong is ended too, and what it holds is dropped */
    int ended =
        calls->capture_end(calls->self, s->origin, &program->graph, code == INQ_OK ? err : NULL);
    if (code != INQ_OK) {
        gpu_program_uncapture(program);
        return code;
    }
    return ended;
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

/* A timer between two readings of it: ahead of the host's clock by a line through both. */
struct timer {
    struct inq_gpu_offset before, after;
    int64_t shift_ns; /* that kernels added to it */
};

/* What kernels noted, on the host's clock. */
static int64_t host_time(const struct timer *timer, uint64_t noted)
{
    int64_t own_ns = (int64_t)noted - timer->shift_ns;
    int64_t first_ns = timer->before.at_ns + timer->before.ns;
    int64_t last_ns = timer->after.at_ns + timer->after.ns;
    double part =
        last_ns > first_ns ? (double)(own_ns - first_ns) / (double)(last_ns - first_ns) : 0.0;
    return own_ns - timer->before.ns -
           (int64_t)(part * (double)(timer->after.ns - timer->before.ns));
}

/* With several GPUs: their timers are read before and after, and all times are put on one clock.
 * Timers move on while an execution is prepared and cleared, so that the moments of the readings
 * count, not the execution's. */
static int aligned_run(struct inq_gpu_program *p, int64_t timeout_ns, struct timer *timers,
                       struct inq_err *err)
{
    struct inq_gpu_session *s = p->session;
    const struct inq_gpu_calls *calls = s->calls;
    int code = inq_gpu_session_align(s, err);
    for (size_t g = 0; g < s->n_gpus; g++) {
        timers[g] = (struct timer){.before = s->offset[g], .shift_ns = s->shift_ns[g]};
    }
    if (code == INQ_OK) {
        code = calls->upload(calls->self, p->shift, s->shift_ns, sizeof s->shift_ns, err);
    }
    if (code == INQ_OK) {
        code = run_once(p, timeout_ns, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_session_align(s, err);
    }
    for (size_t g = 0; code == INQ_OK && g < s->n_gpus; g++) {
        timers[g].after = s->offset[g];
        int64_t moved_ns = s->shift_ns[g] - timers[g].shift_ns;
        moved_ns = moved_ns < 0 ? -moved_ns : moved_ns;
        s->drift_ns = moved_ns > s->drift_ns ? moved_ns : s->drift_ns;
    }
    return code;
}

static void put_on_one_clock(const struct inq_gpu_program *p, const struct timer *timers,
                             uint64_t *start, uint64_t *end)
{
    const struct inq_graph *g = p->plan->graph;
    for (size_t i = 0; i < g->n_ops; i++) {
        const struct timer *timer = &timers[p->layout->spots[g->op[i].rank].gpu];
        start[i] = (uint64_t)host_time(timer, start[i]);
        end[i] = (uint64_t)host_time(timer, end[i]);
    }
}

/* Executes once; start and end [n_ops] get the device's times. */
static int gpu_program_execute(struct inq_gpu_program *program, int64_t timeout_ns, uint64_t *start,
                               uint64_t *end, struct inq_err *err)
{
    struct inq_gpu_session *s = program->session;
    const struct inq_gpu_calls *calls = s->calls;
    size_t bytes = program->plan->graph->n_ops * sizeof(uint64_t);
    struct timer timers[INQ_GPU_MAX_GPUS] = {{{0}, {0}, 0}};
    int code = s->n_gpus > 1 ? aligned_run(program, timeout_ns, timers, err)
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
        put_on_one_clock(program, timers, start, end);
    }
    return code;
}

/* ---- notes ----------------------------------------------------------------------------------- */

#define SHORT_OP_STEPS 10 /* an op shorter than so many steps of the timer is inexact */
#define SHORT_OP_GAPS  2  /* and one shorter than so many launch gaps */

static void add_note(char *note, size_t size, const char *text)
{
    size_t n = strlen(note);
    (void)snprintf(note + n, size - n, "%s%s", n > 0 ? "; " : "", text);
}

static void note_parts(const struct inq_gpu_session *s, struct inq_execution *out)
{
    char text[224];
    size_t most = 0;
    for (size_t g = 0; g < s->n_gpus; g++) {
        most = s->parts[g] > most ? s->parts[g] : most;
    }
    out->n_virtual = most;
    if (most <= 1) {
        return;
    }
    if (s->info[0].partitioned) {
        (void)snprintf(text, sizeof text,
                       "%zu virtual devices of %d SMs share memory, L2, copy engines and power",
                       most, s->info[0].part_sms);
    } else {
        (void)snprintf(text, sizeof text, "%zu ranks share %d SMs without partitions (%s)", most,
                       s->info[0].sms, s->info[0].why);
    }
    add_note(out->note, sizeof out->note, text);
}

static void note_times(const struct inq_gpu_program *p, struct inq_execution *out)
{
    char text[128];
    char step[32];
    int64_t gap = inq_gpu_gaps_mean_ns(&p->gaps);
    int64_t shortest = p->plan->shortest_ns;
    if (gap > 0) {
        (void)snprintf(text, sizeof text, "launch gap of %s per op taken off its time",
                       inq_time_format(gap, step, sizeof step));
        add_note(out->note, sizeof out->note, text);
    }
    if (shortest > 0 &&
        (shortest < p->session->resolution_ns * SHORT_OP_STEPS || shortest < gap * SHORT_OP_GAPS)) {
        (void)snprintf(text, sizeof text,
                       "shortest op, %s, is too short to be exact: raise --scale",
                       inq_time_format(shortest, step, sizeof step));
        add_note(out->note, sizeof out->note, text);
    }
    if (p->early) {
        add_note(out->note, sizeof out->note, "queued while it ran");
    }
    if (p->session->drift_ns > 0) {
        char doubt[32];
        (void)snprintf(text, sizeof text,
                       "the GPUs' timers moved by up to %s, taken off to within %s",
                       inq_time_format(p->session->drift_ns, step, sizeof step),
                       inq_time_format(p->session->resolution_ns, doubt, sizeof doubt));
        add_note(out->note, sizeof out->note, text);
    }
    if (p->no_graph[0] != '\0') {
        (void)snprintf(text, sizeof text, "streams, no graph: %.60s", p->no_graph);
        add_note(out->note, sizeof out->note, text);
    }
}

static void note_work(const struct inq_gpu_program *p, struct inq_execution *out)
{
    if (p->real && p->work.menu[0].n > 0) {
        add_note(out->note, sizeof out->note,
                 p->work.library ? "products by cuBLAS" : "own products, no cuBLAS");
    }
    char text[128];
    if (p->work.refused[INQ_PRODUCT_F8]) {
        add_note(out->note, sizeof out->note, "no f8 products here: as much work of bf16");
    }
    if (p->work.n_cliques > 0) {
        (void)snprintf(text, sizeof text, "transfers by %s", p->work.transfers);
        add_note(out->note, sizeof out->note, text);
    } else if (p->work.no_transfers[0] != '\0') {
        (void)snprintf(text, sizeof text, "own transfers: %s", p->work.no_transfers);
        add_note(out->note, sizeof out->note, text);
    }
    if (p->real && p->work.guessed) {
        add_note(out->note, sizeof out->note, "payloads not recorded: 1 MiB each");
    }
}

static void describe(const struct inq_gpu_program *p, struct inq_execution *out)
{
    const struct inq_gpu_session *s = p->session;
    if (s->n_gpus > 1) {
        (void)snprintf(out->device, sizeof out->device, "%zu x %s", s->n_gpus, s->info[0].name);
    } else {
        (void)snprintf(out->device, sizeof out->device, "%s", s->info[0].name);
    }
    out->resolution_ns = s->resolution_ns;
    for (size_t g = 0; p->real && g < s->n_gpus; g++) {
        int64_t used = (int64_t)s->used_bytes[g];
        out->peak_bytes = used > out->peak_bytes ? used : out->peak_bytes;
    }
    if (s->info[0].left_out[0] != '\0') {
        add_note(out->note, sizeof out->note, s->info[0].left_out);
    }
    note_parts(s, out);
    note_times(p, out);
    note_work(p, out);
}

/* ---- a plan ready to execute ----------------------------------------------------------------- */

struct ready {
    const struct inq_plan *plan;
    int64_t timeout_ns;
    bool graph;
    bool verified;
    struct inq_gpu_layout layout;
    struct inq_gpu_program program;
    uint64_t *start, *end; /* [n_ops] */
};

static void release_ready(struct ready *r)
{
    gpu_program_release(&r->program);
    inq_gpu_layout_release(&r->layout);
    inq_mem_free(r->start);
    inq_mem_free(r->end);
}

static int lay_out(struct ready *r, const struct inq_plan *plan, size_t n_gpus,
                   const struct inq_replay_options *options, struct inq_err *err)
{
    r->plan = plan;
    r->timeout_ns = inq_replay_timeout_ns(plan, options);
    r->graph = options == NULL || !options->no_graph;
    r->start = inq_mem_zalloc(plan->graph->n_ops + 1, sizeof *r->start);
    r->end = inq_mem_zalloc(plan->graph->n_ops + 1, sizeof *r->end);
    if (r->start == NULL || r->end == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the times of %zu ops",
                           plan->graph->n_ops);
    }
    if (plan->graph->n_ops == 0) {
        return inq_err_set(err, INQ_USAGE, "there is no op to execute");
    }
    return inq_gpu_layout_make(plan, n_gpus, options != NULL ? options->work : INQ_WORK_TIMED,
                               &r->layout, err);
}

static int execute(struct ready *r, struct inq_err *err)
{
    return gpu_program_execute(&r->program, r->timeout_ns, r->start, r->end, err);
}

/* As a graph; where the device refuses to make one, by streams and events from then on. */
static int capture(struct ready *r, struct inq_err *err)
{
    struct inq_err why = {0};
    int code = gpu_program_capture(&r->program, &why);
    if (code == INQ_DEVICE || code == INQ_NOMEM) {
        r->graph = false;
        (void)snprintf(r->program.no_graph, sizeof r->program.no_graph, "%.*s",
                       (int)sizeof r->program.no_graph - 1, why.message);
        return INQ_OK;
    }
    return code == INQ_OK ? INQ_OK : inq_err_set(err, (enum inq_code)code, "%s", why.message);
}

/* One execution in which all that transfers bring is compared; its times do not count. */
static int verify(struct ready *r, struct inq_err *err)
{
    uint64_t n = 0;
    r->program.verify = true;
    int code = r->graph ? capture(r, err) : INQ_OK;
    if (code == INQ_OK) {
        code = execute(r, err);
    }
    gpu_program_uncapture(&r->program);
    r->program.verify = false;
    if (code == INQ_OK) {
        code = inq_gpu_work_verify(&r->program, &n, err);
        r->verified = code == INQ_OK && n > 0;
    }
    return code;
}

/* Warms up, if at all, twice at least: the first execution loads kernels, and launching is 12 %
 * slower in it (H100); the second tells what launching costs, which is taken off what follows. */
static int warm_up(struct ready *r, int n, struct inq_err *err)
{
    const int measured = 1;
    int code = INQ_OK;
    for (int i = 0; code == INQ_OK && n > 0 && (i < n || i <= measured); i++) {
        code = execute(r, err);
        if (code == INQ_OK && i == measured) {
            code = inq_gpu_gaps_find(r->plan, r->start, r->end, &r->program.gaps, err);
            if (code == INQ_OK) {
                code = gpu_program_set_times(&r->program, err);
            }
        }
    }
    return code;
}

static int make_ready(struct ready *r, struct inq_gpu_session *session,
                      const struct inq_replay_options *options, struct inq_err *err)
{
    int code = gpu_program_make(&r->program, session, r->plan, &r->layout, options, err);
    if (code == INQ_OK && r->graph && r->program.work.n_cliques > 0) {
        /* NCCL's manual, "Using NCCL with CUDA Graphs": several GPUs of one process may hang */
        r->graph = false;
        (void)snprintf(r->program.no_graph, sizeof r->program.no_graph,
                       "%s is not captured for several GPUs", r->program.work.transfers);
    }
    if (code == INQ_OK && r->program.real) {
        code = verify(r, err);
    }
    if (code == INQ_OK && r->graph) {
        code = capture(r, err);
    }
    return code == INQ_OK ? warm_up(r, inq_replay_warmup(options), err) : code;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- one plan -------------------------------------------------------------------------------- */

static int repeat(struct ready *r, struct inq_recorder *recorder, struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK && recorder->n < recorder->n_repeats) {
        code = execute(r, err);
        if (code == INQ_OK) {
            size_t bytes = r->plan->graph->n_ops * sizeof(uint64_t);
            memcpy(inq_recorder_start(recorder), r->start, bytes);
            memcpy(inq_recorder_end(recorder), r->end, bytes);
            (void)inq_recorder_next(recorder);
        }
    }
    return code;
}

static int take_timing(const struct inq_gpu_program *p, struct inq_execution *out,
                       struct inq_err *err)
{
    size_t n = p->plan->graph->n_ops;
    out->timing = inq_mem_zalloc(n + 1, sizeof *out->timing);
    if (out->timing == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        out->timing[i] = (uint8_t)inq_gpu_work_timing(p, i);
    }
    return INQ_OK;
}

int inq_gpu_run(const struct inq_gpu_calls *calls, const struct inq_plan *plan,
                const struct inq_replay_options *options, struct inq_execution *out,
                struct inq_err *err)
{
    struct inq_gpu_session session = {0};
    struct ready ready = {0};
    struct inq_recorder recorder = {0};
    struct inq_execution result = {0};
    size_t n_gpus = 0;
    *out = result;
    int code = calls->count(calls->self, &n_gpus, err);
    if (code == INQ_OK) {
        code = lay_out(&ready, plan, n_gpus, options, err);
    }
    if (code == INQ_OK) {
        code = inq_recorder_init(&recorder, plan->graph->n_ops, (size_t)inq_replay_repeats(options),
                                 err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_session_open(&session, calls, ready.layout.n_gpus, ready.layout.parts,
                                    ready.timeout_ns, err);
    }
    if (code == INQ_OK) {
        code = make_ready(&ready, &session, options, err);
    }
    if (code == INQ_OK) {
        code = repeat(&ready, &recorder, err);
    }
    if (code == INQ_OK) {
        code = inq_recorder_finish(&recorder, &result, err);
    }
    if (code == INQ_OK && ready.program.real) {
        code = take_timing(&ready.program, &result, err);
    }
    if (code != INQ_OK) {
        inq_execution_release(&result);
    } else {
        describe(&ready.program, &result);
        result.verified = ready.verified;
        *out = result;
    }
    inq_recorder_release(&recorder);
    release_ready(&ready);
    inq_gpu_session_close(&session);
    return code;
}

/* ---- two plans in turns ---------------------------------------------------------------------- */

static int64_t span_of(const struct ready *r)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < r->plan->graph->n_ops; i++) {
        first = r->start[i] < first ? r->start[i] : first;
        last = r->end[i] > last ? r->end[i] : last;
    }
    return (int64_t)(last - first);
}

static int open_both(struct inq_gpu_session *session, const struct inq_gpu_calls *calls,
                     const struct ready ready[2], struct inq_err *err)
{
    size_t parts[INQ_GPU_MAX_GPUS] = {0};
    size_t n_gpus = 0;
    for (int k = 0; k < 2; k++) {
        const struct inq_gpu_layout *l = &ready[k].layout;
        n_gpus = l->n_gpus > n_gpus ? l->n_gpus : n_gpus;
        for (size_t g = 0; g < l->n_gpus; g++) {
            parts[g] = l->parts[g] > parts[g] ? l->parts[g] : parts[g];
        }
    }
    return inq_gpu_session_open(session, calls, n_gpus, parts,
                                longer(ready[0].timeout_ns, ready[1].timeout_ns), err);
}

/* A GPU's times are far below 2^63. */
static void witness(const struct inq_gpu_turns *turns, const struct ready *r, bool base,
                    int64_t slack_ns)
{
    const struct inq_execution x = {.n_ops = r->plan->graph->n_ops,
                                    .start_ns = (int64_t *)r->start,
                                    .end_ns = (int64_t *)r->end};
    inq_witness_take(turns->witness, r->plan, base, &x, slack_ns);
}

int inq_gpu_alternate(const struct inq_gpu_calls *calls, const struct inq_gpu_turns *turns,
                      const struct inq_replay_options *options, struct inq_execution *device,
                      struct inq_err *err)
{
    struct inq_gpu_session session = {0};
    struct ready ready[2] = {{0}, {0}};
    size_t n_gpus = 0;
    *device = (struct inq_execution){0};
    int code = calls->count(calls->self, &n_gpus, err);
    for (int k = 0; code == INQ_OK && k < 2; k++) {
        code = lay_out(&ready[k], turns->plans[k], n_gpus, options, err);
    }
    if (code == INQ_OK) {
        code = open_both(&session, calls, ready, err);
    }
    for (int k = 0; code == INQ_OK && k < 2; k++) {
        code = make_ready(&ready[k], &session, options, err);
    }
    if (code == INQ_OK) {
        inq_gpu_gaps_share(&ready[0].program.gaps, &ready[1].program.gaps);
    }
    for (int k = 0; code == INQ_OK && k < 2; k++) {
        code = gpu_program_set_times(&ready[k].program, err);
    }
    for (size_t i = 0; code == INQ_OK && i < turns->n; i++) {
        struct ready *r = &ready[turns->order[i] != 0];
        code = execute(r, err);
        turns->makespan_ns[i] = code == INQ_OK ? span_of(r) : 0;
        if (code == INQ_OK) {
            witness(turns, r, turns->order[i] == 0, 2 * session.resolution_ns);
        }
    }
    if (code == INQ_OK) {
        describe(&ready[0].program, device);
        device->verified = ready[0].verified && ready[1].verified;
    }
    release_ready(&ready[0]);
    release_ready(&ready[1]);
    inq_gpu_session_close(&session);
    return code;
}
