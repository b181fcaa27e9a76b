/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda engine on a table of device calls: one plan repeated, or two in turns. */
#include "cuda/session.h"

#include "base/mem.h"
#include "base/time.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHORT_OP_STEPS 10 /* an op shorter than so many steps of the timer is inexact */
#define SHORT_OP_GAPS  2  /* and one shorter than so many launch gaps */

/* ---- notes ----------------------------------------------------------------------------------- */

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
    char text[96];
    char step[32];
    int64_t gap = p->gaps.launch_ns + p->gaps.hold_ns;
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
        (void)snprintf(text, sizeof text, "the GPUs' timers moved by up to %s, taken off",
                       inq_time_format(p->session->drift_ns, step, sizeof step));
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
    inq_gpu_program_release(&r->program);
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
    return inq_gpu_program_execute(&r->program, r->timeout_ns, r->start, r->end, err);
}

/* As a graph; where the device refuses to make one, by streams and events from then on. */
static int capture(struct ready *r, struct inq_err *err)
{
    struct inq_err why = {0};
    int code = inq_gpu_program_capture(&r->program, &why);
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
    inq_gpu_program_uncapture(&r->program);
    r->program.verify = false;
    if (code == INQ_OK) {
        code = inq_gpu_work_judge(&r->program, &n, err);
        r->verified = code == INQ_OK && n > 0;
    }
    return code;
}

/* Warms up; the first warm-up tells what launching costs, which is taken off what follows. */
static int warm_up(struct ready *r, int n, struct inq_err *err)
{
    int code = INQ_OK;
    for (int i = 0; code == INQ_OK && i < n; i++) {
        code = execute(r, err);
        if (code == INQ_OK && i == 0) {
            code = inq_gpu_gaps_find(r->plan, r->start, r->end, &r->program.gaps, err);
            if (code == INQ_OK) {
                code = inq_gpu_program_set_times(&r->program, err);
            }
        }
    }
    return code;
}

static int make_ready(struct ready *r, struct inq_gpu_session *session,
                      const struct inq_replay_options *options, struct inq_err *err)
{
    int code = inq_gpu_program_make(&r->program, session, r->plan, &r->layout, options, err);
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
    if (code == INQ_OK) {
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

/* Both are charged the same for launching, so that they differ in the schedule alone. */
static int share_gaps(struct ready ready[2], struct inq_err *err)
{
    struct inq_gpu_gaps *a = &ready[0].program.gaps;
    struct inq_gpu_gaps *b = &ready[1].program.gaps;
    a->launch_ns = (a->launch_ns + b->launch_ns) / 2;
    a->hold_ns = (a->hold_ns + b->hold_ns) / 2;
    *b = *a;
    int code = inq_gpu_program_set_times(&ready[0].program, err);
    return code == INQ_OK ? inq_gpu_program_set_times(&ready[1].program, err) : code;
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
        code = share_gaps(ready, err);
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
