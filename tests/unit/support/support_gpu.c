/* SPDX-License-Identifier: Apache-2.0 */
#include "support_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_stream {
    struct inq_gpu_spot spot;
    int64_t time;
    unsigned capture; /* the last capture that it belongs to */
};

struct fake_event {
    struct inq_gpu_spot spot;
    int64_t time;
    bool recorded;
    unsigned capture;
};

enum fake_kind { FAKE_LAUNCH, FAKE_FILL, FAKE_COPY, FAKE_GEMM, FAKE_RECORD, FAKE_WAIT };

struct fake_command {
    enum fake_kind kind;
    struct fake_stream *stream;
    struct fake_event *event;
    enum inq_gpu_kernel kernel;
    unsigned blocks, threads;
    unsigned char *args;
    inq_gpu_addr to, from;
    int byte;
    size_t bytes;
};

struct fake_graph {
    struct fake_graph *next;
    struct fake_stream *origin;
    size_t n, cap;
    struct fake_command *commands;
};

/* ---- failing --------------------------------------------------------------------------------- */

/* Counts a call that can fail; the chosen one does. */
static int counted(struct fake_gpu *f, const char *what, struct inq_err *err)
{
    if (++f->n_calls == f->fail_at) {
        return inq_err_set(err, INQ_DEVICE, "planted failure of %s", what);
    }
    return INQ_OK;
}

static void *address(inq_gpu_addr at)
{
    return (void *)(uintptr_t)at;
}

/* Whether what joined capture number `capture` belongs to the one that is going on. */
static bool captured(const struct fake_gpu *f, unsigned capture)
{
    return f->capturing && capture == f->n_captures;
}

/* ---- what is not released -------------------------------------------------------------------- */

static void hold(struct fake_gpu *f, void *memory)
{
    if (f->n_held == f->cap_held) {
        size_t cap = f->cap_held * 2 + 64;
        void **grown = realloc(f->held, cap * sizeof *grown);
        if (grown == NULL) {
            abort();
        }
        f->held = grown;
        f->cap_held = cap;
    }
    f->held[f->n_held++] = memory;
    f->live++;
}

static void let_go(struct fake_gpu *f, const void *memory)
{
    for (size_t i = 0; memory != NULL && i < f->n_held; i++) {
        if (f->held[i] == memory) {
            f->held[i] = f->held[--f->n_held];
            f->live--;
            return;
        }
    }
    if (memory != NULL) {
        abort(); /* released twice */
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const int64_t timer_origin = 1000000000;

static int64_t timer(const struct fake_gpu *f, const struct fake_stream *s, int64_t time)
{
    int64_t gpu = (int64_t)s->spot.gpu;
    int64_t now = timer_origin + time + gpu * f->offset_ns + gpu * f->drift_ppm * time / 1000000;
    return now / f->step_ns * f->step_ns;
}

static int64_t run_op(const struct fake_gpu *f, const struct fake_stream *s, const void *raw,
                      int64_t now)
{
    const struct inq_gpu_op_args *a = raw;
    if (a->n == 0) {
        return now;
    }
    uint64_t *start = address(a->board.start_at);
    uint64_t *end = address(a->board.end_at);
    const int64_t *delay = address(a->board.delay_at);
    const int64_t *dur = address(a->board.dur_at);
    int64_t shift_ns = a->board.shift_at != 0 ? *(const int64_t *)address(a->board.shift_at) : 0;
    if ((a->does & INQ_GPU_DOES_BEGIN) != 0) {
        now += delay[a->op];
        uint64_t at = (uint64_t)(timer(f, s, now) + shift_ns);
        start[a->op] = at < start[a->op] ? at : start[a->op];
    }
    if ((a->does & INQ_GPU_DOES_HOLD) != 0) {
        uint64_t since = 0;
        for (uint32_t i = a->first; i < a->first + a->n; i++) {
            since = start[i] > since ? start[i] : since;
        }
        int64_t until = (int64_t)since - shift_ns + dur[a->op];
        int64_t seen = timer(f, s, now);
        if (seen < until) {
            /* the first moment at which the timer shows it */
            int64_t steps = (until + f->step_ns - 1) / f->step_ns * f->step_ns;
            int64_t gpu = (int64_t)s->spot.gpu;
            int64_t pace = 1000000 + gpu * f->drift_ppm;
            now = ((steps - timer_origin - gpu * f->offset_ns) * 1000000 + pace - 1) / pace;
        }
    }
    if ((a->does & INQ_GPU_DOES_END) != 0) {
        uint64_t at = (uint64_t)(timer(f, s, now) + shift_ns);
        end[a->op] = at > end[a->op] ? at : end[a->op];
    }
    return now;
}

static void run_reduce(const struct inq_gpu_data_args *a, bool corrupt)
{
    float *to = address(a->to_at);
    uint64_t end = inq_gpu_slice(a->elems, a->n, a->self + 1);
    for (uint64_t j = inq_gpu_slice(a->elems, a->n, a->self); a->passes > 0 && j < end; j++) {
        float sum = 0.0F;
        for (uint32_t k = 0; k < a->n; k++) {
            const float *from = address(a->from_at[k]);
            sum += from[(j + a->turn) & a->mask];
        }
        to[j] = corrupt && j % 64 == 7 ? sum + 1.0F : sum;
    }
}

static void run_gather(const struct inq_gpu_data_args *a)
{
    float *to = address(a->to_at);
    for (uint32_t k = 0; a->passes > 0 && k < a->n; k++) {
        if (k == a->self && a->work == INQ_WORK_ALL_REDUCE) {
            continue;
        }
        const float *from = address(a->from_at[k]);
        uint64_t shift = a->from_turn;
        if (a->work == INQ_WORK_ALL_TO_ALL) {
            shift += inq_gpu_slice(a->elems, a->n, a->self) - inq_gpu_slice(a->elems, a->n, k);
        }
        uint64_t end = inq_gpu_slice(a->elems, a->n, k + 1);
        for (uint64_t j = inq_gpu_slice(a->elems, a->n, k); j < end; j++) {
            to[j] = from[(j + shift) & a->mask];
        }
    }
}

/* Not as the kernel does it: what a value must be is worked out from the ranks alone. */
static void run_check(const struct inq_gpu_data_args *a)
{
    const float *got = address(a->to_at);
    uint64_t *bad = address(a->bad_at);
    for (uint64_t j = 0; j < a->elems; j++) {
        uint32_t owner = 0;
        while (owner + 1 < a->n && j >= inq_gpu_slice(a->elems, a->n, owner + 1)) {
            owner++;
        }
        if (a->work == INQ_WORK_REDUCE_SCATTER && owner != a->self) {
            continue;
        }
        uint64_t want = 0;
        bool sums = a->work == INQ_WORK_ALL_REDUCE || a->work == INQ_WORK_REDUCE_SCATTER;
        uint64_t own = inq_gpu_slice(a->elems, a->n, a->self);
        uint64_t place =
            a->work != INQ_WORK_ALL_TO_ALL ? j : own + (j - inq_gpu_slice(a->elems, a->n, owner));
        for (uint32_t k = 0; k < a->n; k++) {
            uint64_t index = (place + a->turn) % (a->mask + 1);
            uint64_t value = (index * 7 + (uint64_t)a->rank[k] * 31 + 5) % 251;
            want += sums || k == owner ? value : 0;
        }
        bad[0]++;
        bad[1] += (double)got[j] < (double)want || (double)got[j] > (double)want;
    }
}

static void run_fill(const struct inq_gpu_fill_args *a)
{
    float *to = address(a->to_at);
    for (uint64_t j = 0; j < a->elems; j++) {
        to[j] = inq_gpu_value(a->rank, j);
    }
}

static void run_probe(const struct fake_gpu *f, const struct fake_stream *s,
                      const struct inq_gpu_probe_args *a)
{
    uint64_t *answer = address(a->answer_at);
    for (uint32_t i = 1; i <= a->n; i++) {
        answer[i] = (uint64_t)timer(f, s, f->now);
    }
}

static void count_product(struct fake_gpu *f, const struct fake_stream *s, size_t n)
{
    f->n_products += n;
    f->part_products[s->spot.part % 32] += n;
}

/* Does what the kernel does; returns when it ends. */
static int64_t run_kernel(struct fake_gpu *f, const struct fake_command *c, int64_t now)
{
    const struct inq_gpu_gemm_args *gemm = NULL;
    const struct inq_gpu_stream_args *stream = NULL;
    const struct inq_gpu_tick_args *tick = NULL;
    switch (c->kernel) {
    case INQ_KERNEL_OP:
        return run_op(f, c->stream, c->args, now);
    case INQ_KERNEL_TICK:
        tick = (const void *)c->args;
        *(int64_t *)address(tick->out_at) = f->step_ns;
        return now + tick->span_ns;
    case INQ_KERNEL_PROBE:
        run_probe(f, c->stream, (const void *)c->args);
        return now;
    case INQ_KERNEL_FILL:
        run_fill((const void *)c->args);
        return now + 1000;
    case INQ_KERNEL_REDUCE:
        run_reduce((const void *)c->args, f->corrupt);
        return now + 1000;
    case INQ_KERNEL_GATHER:
        run_gather((const void *)c->args);
        return now + 1000;
    case INQ_KERNEL_CHECK:
        run_check((const void *)c->args);
        return now + 1000;
    case INQ_KERNEL_GEMM:
        gemm = (const void *)c->args;
        count_product(f, c->stream, gemm->rounds > 0);
        f->product_blocks = gemm->rounds > 0 ? c->blocks : f->product_blocks;
        return now + (int64_t)gemm->rounds * 100;
    case INQ_KERNEL_STREAM:
        stream = (const void *)c->args;
        f->n_streams += stream->elems > 0;
        return now + (int64_t)(stream->elems * 8 * stream->passes / 1000); /* 1 TB/s */
    case INQ_KERNEL_GATE:
    case INQ_KERNEL_COUNT:
        break;
    }
    return now;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool loads(const struct fake_gpu *f)
{
    return f->n_graph_launches == 0;
}

static void run_command(struct fake_gpu *f, const struct fake_command *c)
{
    struct fake_stream *s = c->stream;
    int64_t work = 0;
    switch (c->kind) {
    case FAKE_LAUNCH:
        s->time = run_kernel(f, c, s->time + f->launch_ns + (loads(f) ? f->load_ns : 0));
        break;
    case FAKE_FILL:
        memset(address(c->to), c->byte, c->bytes);
        s->time += f->launch_ns;
        break;
    case FAKE_COPY:
        memcpy(address(c->to), address(c->from), c->bytes);
        s->time += f->launch_ns + (int64_t)(c->bytes / 1000);
        f->n_copies++;
        break;
    case FAKE_GEMM:
        work = (int64_t)(c->bytes >> 24); /* of 256 cubed */
        s->time += f->gemm_ns * work;
        count_product(f, s, 1);
        break;
    case FAKE_RECORD:
        c->event->time = s->time;
        c->event->recorded = true;
        break;
    case FAKE_WAIT:
        s->time = c->event->time > s->time ? c->event->time : s->time;
        break;
    }
    f->free_from = s->time > f->free_from ? s->time : f->free_from;
}

/* Into the graph if the stream is part of the capture, else done at once. */
static int put(struct fake_gpu *f, struct fake_command c, const void *args, size_t size)
{
    if (args != NULL) {
        c.args = malloc(size);
        if (c.args == NULL) {
            return INQ_NOMEM;
        }
        memcpy(c.args, args, size);
    }
    if (!captured(f, c.stream->capture)) {
        if (f->flags != NULL && f->flags[INQ_GPU_FLAG_GATE] == 0) {
            f->queued++;
            f->most_queued = f->queued > f->most_queued ? f->queued : f->most_queued;
        }
        run_command(f, &c);
        free(c.args);
        return INQ_OK;
    }
    struct fake_graph *g = f->graph;
    if (g->n == g->cap) {
        size_t cap = g->cap * 2 + 64;
        struct fake_command *grown = realloc(g->commands, cap * sizeof *grown);
        if (grown == NULL) {
            free(c.args);
            return INQ_NOMEM;
        }
        g->commands = grown;
        g->cap = cap;
    }
    g->commands[g->n++] = c;
    return INQ_OK;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static int fake_count(void *self, size_t *n, struct inq_err *err)
{
    struct fake_gpu *f = self;
    *n = f->n_gpus;
    return counted(f, "count", err);
}

static int fake_open(void *self, uint32_t gpu, size_t parts, struct inq_gpu_info *info,
                     struct inq_err *err)
{
    struct fake_gpu *f = self;
    (void)gpu;
    *info = (struct inq_gpu_info){.sms = f->sms};
    (void)snprintf(info->name, sizeof info->name, "Fake GPU");
    info->partitioned = parts > 1 && parts <= f->most_parts;
    info->part_sms = f->sms / (int)parts;
    if (parts > 1 && !info->partitioned) {
        (void)snprintf(info->why, sizeof info->why, "at most %zu", f->most_parts);
    }
    int code = counted(f, "open", err);
    f->opened += code == INQ_OK;
    return code;
}

static void fake_close(void *self)
{
    struct fake_gpu *f = self;
    f->opened = 0;
}

static int fake_alloc(void *self, uint32_t gpu, size_t bytes, inq_gpu_addr *at, struct inq_err *err)
{
    struct fake_gpu *f = self;
    (void)gpu;
    *at = 0;
    if (++f->n_calls == f->fail_at) {
        return inq_err_set(err, INQ_NOMEM, "planted: no memory on the GPU");
    }
    void *memory = malloc(bytes);
    if (memory == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory");
    }
    memset(memory, 0xa5, bytes);
    *at = (inq_gpu_addr)(uintptr_t)memory;
    hold(f, memory);
    return INQ_OK;
}

static void fake_release(void *self, uint32_t gpu, inq_gpu_addr at)
{
    struct fake_gpu *f = self;
    (void)gpu;
    let_go(f, address(at));
    free(address(at));
}

static int fake_host_alloc(void *self, size_t bytes, void **host, inq_gpu_addr *at,
                           struct inq_err *err)
{
    struct fake_gpu *f = self;
    *host = NULL;
    *at = 0;
    int code = counted(f, "host memory", err);
    if (code == INQ_OK) {
        *host = calloc(1, bytes);
        *at = (inq_gpu_addr)(uintptr_t)*host;
        hold(f, *host);
        f->flags = f->flags == NULL ? *host : f->flags;
    }
    return code;
}

static void fake_host_release(void *self, void *host)
{
    struct fake_gpu *f = self;
    let_go(f, host);
    f->flags = f->flags == host ? NULL : f->flags;
    free(host);
}

static int fake_upload(void *self, inq_gpu_addr to, const void *from, size_t bytes,
                       struct inq_err *err)
{
    int code = counted(self, "upload", err);
    if (code == INQ_OK) {
        memcpy(address(to), from, bytes);
    }
    return code;
}

static int fake_download(void *self, void *to, inq_gpu_addr from, size_t bytes, struct inq_err *err)
{
    int code = counted(self, "download", err);
    if (code == INQ_OK) {
        memcpy(to, address(from), bytes);
    }
    return code;
}

static int fake_stream_new(void *self, struct inq_gpu_spot spot, void **stream, struct inq_err *err)
{
    struct fake_gpu *f = self;
    *stream = NULL;
    int code = counted(f, "stream", err);
    if (code == INQ_OK) {
        struct fake_stream *s = calloc(1, sizeof *s);
        if (s == NULL) {
            return INQ_NOMEM;
        }
        s->spot = spot;
        s->time = f->now;
        *stream = s;
        hold(f, s);
    }
    return code;
}

static void fake_stream_free(void *self, void *stream)
{
    struct fake_gpu *f = self;
    let_go(f, stream);
    free(stream);
}

static int fake_event_new(void *self, struct inq_gpu_spot spot, void **event, struct inq_err *err)
{
    struct fake_gpu *f = self;
    *event = NULL;
    int code = counted(f, "event", err);
    if (code == INQ_OK) {
        struct fake_event *e = calloc(1, sizeof *e);
        if (e == NULL) {
            return INQ_NOMEM;
        }
        e->spot = spot;
        *event = e;
        hold(f, e);
    }
    return code;
}

static void fake_event_free(void *self, void *event)
{
    struct fake_gpu *f = self;
    let_go(f, event);
    free(event);
}

/* Only a stream of the event's own context records it. */
static int fake_record(void *self, void *event, void *stream, struct inq_err *err)
{
    struct fake_gpu *f = self;
    struct fake_event *e = event;
    struct fake_stream *s = stream;
    int code = counted(f, "record", err);
    if (code == INQ_OK && (e->spot.gpu != s->spot.gpu || e->spot.part != s->spot.part)) {
        return inq_err_set(err, INQ_DEVICE, "an event of another context was recorded");
    }
    e->capture = s->capture;
    return code == INQ_OK
               ? put(f, (struct fake_command){.kind = FAKE_RECORD, .stream = s, .event = e}, NULL,
                     0)
               : code;
}

/* A stream that waits for a captured event becomes part of the capture. */
static int fake_wait(void *self, void *stream, void *event, struct inq_err *err)
{
    struct fake_gpu *f = self;
    struct fake_event *e = event;
    struct fake_stream *s = stream;
    int code = counted(f, "wait", err);
    bool joins = captured(f, e->capture);
    if (code == INQ_OK && !joins && (captured(f, s->capture) || !e->recorded)) {
        return inq_err_set(err, INQ_DEVICE, "waited for an event that nothing records");
    }
    s->capture = joins ? f->n_captures : s->capture;
    return code == INQ_OK
               ? put(f, (struct fake_command){.kind = FAKE_WAIT, .stream = s, .event = e}, NULL, 0)
               : code;
}

static int fake_launch(void *self, void *stream, const struct inq_gpu_launch *launch,
                       struct inq_err *err)
{
    struct fake_gpu *f = self;
    int code = counted(f, "launch", err);
    /* blocks of traffic wait for nothing and come one after the other */
    bool fits = launch->blocks >= 1 &&
                (launch->blocks <= (unsigned)f->sms || launch->kernel == INQ_KERNEL_STREAM);
    if (code == INQ_OK && !fits) {
        return inq_err_set(err, INQ_DEVICE, "%u blocks", launch->blocks);
    }
    f->n_launches++;
    unsigned threads = launch->blocks * launch->threads;
    if (launch->kernel == INQ_KERNEL_OP && threads > f->op_threads) {
        f->op_threads = threads;
    }
    const struct fake_command c = {.kind = FAKE_LAUNCH,
                                   .stream = stream,
                                   .kernel = launch->kernel,
                                   .blocks = launch->blocks,
                                   .threads = launch->threads};
    return code == INQ_OK ? put(f, c, launch->args, launch->args_size) : code;
}

static int fake_fill(void *self, void *stream, inq_gpu_addr to, int byte, size_t bytes,
                     struct inq_err *err)
{
    int code = counted(self, "fill", err);
    const struct fake_command c = {
        .kind = FAKE_FILL, .stream = stream, .to = to, .byte = byte, .bytes = bytes};
    return code == INQ_OK ? put(self, c, NULL, 0) : code;
}

static int fake_copy(void *self, void *stream, inq_gpu_addr to, inq_gpu_addr from, size_t bytes,
                     struct inq_err *err)
{
    int code = counted(self, "copy", err);
    const struct fake_command c = {
        .kind = FAKE_COPY, .stream = stream, .to = to, .from = from, .bytes = bytes};
    return code == INQ_OK ? put(self, c, NULL, 0) : code;
}

static int fake_query(void *self, void *stream, bool *done, struct inq_err *err)
{
    struct fake_gpu *f = self;
    (void)stream;
    int code = counted(f, "query", err);
    f->queued = 0;
    bool hung = f->hangs && f->n_graph_launches > 0 &&
                !(f->stops && f->flags != NULL && f->flags[INQ_GPU_FLAG_ABORT] != 0);
    f->now = f->now > f->free_from || hung ? f->now : f->free_from;
    *done = code == INQ_OK && !hung;
    return code;
}

static void fake_pause(void *self, int64_t ns)
{
    struct fake_gpu *f = self;
    f->now += ns * 1000; /* hanging is quickly tested */
}

static int64_t fake_now(void *self)
{
    struct fake_gpu *f = self;
    return ++f->now;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void fake_graph_free(void *self, void *graph)
{
    struct fake_gpu *f = self;
    struct fake_graph *g = graph;
    if (g == NULL) {
        return;
    }
    struct fake_graph **link = &f->graphs;
    while (*link != g) {
        link = &(*link)->next;
    }
    *link = g->next;
    f->live--;
    for (size_t i = 0; i < g->n; i++) {
        free(g->commands[i].args);
    }
    free(g->commands);
    free(g);
}

static int fake_capture_begin(void *self, void *stream, struct inq_err *err)
{
    struct fake_gpu *f = self;
    struct fake_stream *s = stream;
    int code = counted(f, "begin of a capture", err);
    if (code == INQ_OK && f->capturing) {
        return inq_err_set(err, INQ_DEVICE, "two captures at once");
    }
    if (code == INQ_OK) {
        f->graph = calloc(1, sizeof *f->graph);
        if (f->graph == NULL) {
            return INQ_NOMEM;
        }
        f->graph->origin = stream;
        f->capturing = true;
        f->graph->next = f->graphs;
        f->graphs = f->graph;
        f->live++;
        s->capture = ++f->n_captures;
    }
    return code;
}

static int fake_capture_end(void *self, void *stream, void **graph, struct inq_err *err)
{
    struct fake_gpu *f = self;
    struct fake_graph *g = f->graph;
    int code = counted(f, "end of a capture", err);
    *graph = NULL;
    if (g == NULL || g->origin != stream) {
        return inq_err_set(err, INQ_DEVICE, "a capture ended on another stream");
    }
    f->capturing = false;
    f->graph = NULL;
    *graph = g;
    if (code == INQ_OK && f->no_graphs) {
        code = inq_err_set(err, INQ_DEVICE, "the fake makes none");
    }
    if (code != INQ_OK) {
        fake_graph_free(f, g);
        *graph = NULL;
    }
    return code;
}

static int fake_graph_launch(void *self, void *graph, void *stream, struct inq_err *err)
{
    struct fake_gpu *f = self;
    const struct fake_graph *g = graph;
    int code = counted(f, "launch of a graph", err);
    struct fake_stream *s = stream;
    s->time = f->free_from > f->now ? f->free_from : f->now;
    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        run_command(f, &g->commands[i]);
    }
    f->n_graph_launches++;
    return code;
}

static int fake_gemm_open(void *self, struct inq_gpu_spot spot, size_t factor_bytes,
                          size_t result_bytes, struct inq_err *err)
{
    struct fake_gpu *f = self;
    (void)spot;
    (void)factor_bytes;
    (void)result_bytes;
    int code = counted(f, "products", err);
    return code == INQ_OK && f->gemm_ns == 0 ? inq_err_set(err, INQ_UNSUPPORTED, "none") : code;
}

static int fake_gemm(void *self, struct inq_gpu_spot spot, void *stream,
                     const struct inq_product *product, struct inq_err *err)
{
    struct fake_gpu *f = self;
    (void)spot;
    int code = counted(self, "product", err);
    f->largest = product->m > f->largest ? product->m : f->largest;
    size_t volume = (size_t)product->m * (size_t)product->n * (size_t)product->k;
    const struct fake_command c = {
        .kind = FAKE_GEMM, .stream = stream, .bytes = volume * (size_t)product->batch};
    return code == INQ_OK ? put(self, c, NULL, 0) : code;
}

void fake_gpu_release(struct fake_gpu *fake)
{
    while (fake->graphs != NULL) {
        fake_graph_free(fake, fake->graphs);
    }
    for (size_t i = 0; i < fake->n_held; i++) {
        free(fake->held[i]);
    }
    free(fake->held);
    fake->held = NULL;
    fake->n_held = 0;
}

void fake_gpu_init(struct fake_gpu *fake)
{
    *fake = (struct fake_gpu){.n_gpus = 1,
                              .sms = 132,
                              .most_parts = 15,
                              .launch_ns = 2000,
                              .step_ns = 32,
                              .gemm_ns = 1500,
                              .offset_ns = 777777};
    const struct inq_gpu_calls calls = {.self = fake,
                                        .count = fake_count,
                                        .open = fake_open,
                                        .close = fake_close,
                                        .alloc = fake_alloc,
                                        .release = fake_release,
                                        .host_alloc = fake_host_alloc,
                                        .host_release = fake_host_release,
                                        .upload = fake_upload,
                                        .download = fake_download,
                                        .stream_new = fake_stream_new,
                                        .stream_free = fake_stream_free,
                                        .event_new = fake_event_new,
                                        .event_free = fake_event_free,
                                        .record = fake_record,
                                        .wait = fake_wait,
                                        .launch = fake_launch,
                                        .fill = fake_fill,
                                        .copy = fake_copy,
                                        .query = fake_query,
                                        .pause = fake_pause,
                                        .now_ns = fake_now,
                                        .capture_begin = fake_capture_begin,
                                        .capture_end = fake_capture_end,
                                        .graph_launch = fake_graph_launch,
                                        .graph_free = fake_graph_free,
                                        .gemm_open = fake_gemm_open,
                                        .gemm = fake_gemm};
    fake->calls = calls;
}
