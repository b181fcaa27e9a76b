/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs made ready: partitions, flags, kernels loaded, timers measured. */
#include "cuda/session.h"

#include "base/time.h"

#include <string.h>

#define PROBES       200 /* of a timer; where the host is busy fewer, so that this ends */
#define LEAST_PROBES 10
#define PROBE_NS     ((int64_t)20 * 1000 * 1000)
#define TICK_SPAN_NS 2000000
#define GRACE_NS     ((int64_t)5 * 1000 * 1000 * 1000) /* for an aborted execution to end */
#define PAUSE_NS     20000
/* The flags' memory: the flags, then what the timer's step is written to. */
#define FLAGS_BYTES ((size_t)64)
#define TICK_AT     ((size_t)16)

int inq_gpu_session_alloc(struct inq_gpu_session *session, uint32_t gpu, size_t bytes,
                          inq_gpu_addr *at, struct inq_err *err)
{
    int code = session->calls->alloc(session->calls->self, gpu, bytes, at, err);
    session->used_bytes[gpu] += code == INQ_OK ? bytes : 0;
    return code;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Sets *done when the stream became empty before `until`. */
static int wait_until(const struct inq_gpu_session *s, void *stream, int64_t until, bool *done,
                      struct inq_err *err)
{
    *done = false;
    for (;;) {
        int code = s->calls->query(s->calls->self, stream, done, err);
        if (code != INQ_OK || *done || s->calls->now_ns(s->calls->self) >= until) {
            return code;
        }
        s->calls->pause(s->calls->self, PAUSE_NS);
    }
}

int inq_gpu_session_wait(struct inq_gpu_session *session, void *stream, int64_t timeout_ns,
                         struct inq_err *err)
{
    bool done = false;
    int64_t now = session->calls->now_ns(session->calls->self);
    int code = wait_until(session, stream, now + timeout_ns, &done, err);
    if (code != INQ_OK || done) {
        return code;
    }
    session->flags[INQ_GPU_FLAG_ABORT] = 1;
    now = session->calls->now_ns(session->calls->self);
    code = wait_until(session, stream, now + GRACE_NS, &done, err);
    session->lost = code != INQ_OK || !done;
    char text[32];
    (void)inq_time_format(timeout_ns, text, sizeof text);
    if (session->lost) {
        return inq_err_set(err, INQ_DEVICE,
                           "the GPU had not ended after %s and does not stop: check it with "
                           "nvidia-smi before the next execution",
                           text);
    }
    session->flags[INQ_GPU_FLAG_ABORT] = 0;
    return inq_err_set(err, INQ_DEVICE,
                       "the GPU had not ended after %s and was stopped: shorten the schedule "
                       "(--scale, --steps)",
                       text);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Launches every kernel once with nothing to do. */
static int try_kernels(const struct inq_gpu_session *s, void *stream, struct inq_err *err)
{
    const struct inq_gpu_op_args op = {.n = 0};
    const struct inq_gpu_gate_args gate = {
        .board = {.abort_at = inq_gpu_flag_at(s, INQ_GPU_FLAG_ABORT)},
        .flag_at = inq_gpu_flag_at(s, INQ_GPU_FLAG_GATE)};
    const struct inq_gpu_tick_args tick = {.out_at = s->flags_at + TICK_AT};
    const struct inq_gpu_probe_args probe = {.n = 0};
    const struct inq_gpu_fill_args fill = {.elems = 0};
    const struct inq_gpu_data_args data = {.n = 1};
    const struct inq_gpu_gemm_args gemm = {.rounds = 0};
    const struct inq_gpu_stream_args traffic = {.elems = 0};
    const struct inq_gpu_launch launches[] = {{INQ_KERNEL_OP, 1, 1, &op, sizeof op},
                                              {INQ_KERNEL_GATE, 1, 1, &gate, sizeof gate},
                                              {INQ_KERNEL_TICK, 1, 1, &tick, sizeof tick},
                                              {INQ_KERNEL_PROBE, 1, 1, &probe, sizeof probe},
                                              {INQ_KERNEL_FILL, 1, 32, &fill, sizeof fill},
                                              {INQ_KERNEL_REDUCE, 1, 32, &data, sizeof data},
                                              {INQ_KERNEL_GATHER, 1, 32, &data, sizeof data},
                                              {INQ_KERNEL_CHECK, 1, 32, &data, sizeof data},
                                              {INQ_KERNEL_GEMM, 1, 256, &gemm, sizeof gemm},
                                              {INQ_KERNEL_STREAM, 1, 32, &traffic, sizeof traffic}};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < sizeof launches / sizeof *launches; i++) {
        code = s->calls->launch(s->calls->self, stream, &launches[i], err);
    }
    return code;
}

static int try_part(struct inq_gpu_session *s, struct inq_gpu_spot spot, struct inq_err *err)
{
    void *stream = NULL;
    int code = s->calls->stream_new(s->calls->self, spot, &stream, err);
    if (code == INQ_OK) {
        code = try_kernels(s, stream, err);
        int ended = inq_gpu_session_wait(s, stream, s->limit_ns, code == INQ_OK ? err : NULL);
        code = code == INQ_OK ? ended : code;
    }
    if (!s->lost) {
        s->calls->stream_free(s->calls->self, stream);
    }
    return code;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static int measure_tick(struct inq_gpu_session *s, struct inq_err *err)
{
    const struct inq_gpu_tick_args args = {.out_at = s->flags_at + TICK_AT,
                                           .span_ns = TICK_SPAN_NS};
    int64_t tick = 0;
    const struct inq_gpu_launch launch = {INQ_KERNEL_TICK, 1, 1, &args, sizeof args};
    int code = s->calls->launch(s->calls->self, s->origin, &launch, err);
    if (code == INQ_OK) {
        code = inq_gpu_session_wait(s, s->origin, s->limit_ns, err);
    }
    if (code == INQ_OK) {
        memcpy(&tick, (const char *)(uintptr_t)s->flags + TICK_AT, sizeof tick);
        s->resolution_ns = tick;
        if (tick <= 0 || tick > TICK_SPAN_NS) {
            code = inq_err_set(err, INQ_DEVICE, "the GPU's timer does not advance");
        }
    }
    return code;
}

/* Asks the kernel for the time and keeps the answer that came back fastest: the timer was read at
 * some moment between question and answer. */
static int ask_time(struct inq_gpu_session *s, volatile const uint64_t *answer,
                    struct inq_gpu_offset *offset, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = s->calls;
    int64_t best = INT64_MAX;
    const int64_t until = calls->now_ns(calls->self) + PROBE_NS;
    for (uint32_t i = 1; i <= PROBES; i++) {
        int64_t asked = calls->now_ns(calls->self);
        if (i > LEAST_PROBES && asked > until) {
            break;
        }
        s->flags[INQ_GPU_FLAG_ASK] = i;
        while (answer[i] == 0) {
            if (calls->now_ns(calls->self) - asked > s->limit_ns) {
                return inq_err_set(err, INQ_DEVICE, "a GPU does not answer when asked the time");
            }
        }
        int64_t took = calls->now_ns(calls->self) - asked;
        if (took < best) {
            best = took;
            int64_t at_ns = asked + best / 2;
            *offset = (struct inq_gpu_offset){(int64_t)answer[i] - at_ns, at_ns, (best + 1) / 2};
        }
    }
    return INQ_OK;
}

static int measure_offset(struct inq_gpu_session *s, uint32_t gpu, struct inq_gpu_offset *offset,
                          struct inq_err *err)
{
    const struct inq_gpu_calls *calls = s->calls;
    void *answer = NULL;
    void *stream = NULL;
    inq_gpu_addr at = 0;
    s->flags[INQ_GPU_FLAG_ASK] = 0;
    int code = calls->host_alloc(calls->self, (PROBES + 1) * sizeof(uint64_t), &answer, &at, err);
    if (code == INQ_OK) {
        const struct inq_gpu_spot whole = {gpu, INQ_GPU_WHOLE};
        code = calls->stream_new(calls->self, whole, &stream, err);
    }
    if (code == INQ_OK) {
        const struct inq_gpu_probe_args args = {.ask_at = inq_gpu_flag_at(s, INQ_GPU_FLAG_ASK),
                                                .answer_at = at,
                                                .abort_at = inq_gpu_flag_at(s, INQ_GPU_FLAG_ABORT),
                                                .limit_ns = s->limit_ns,
                                                .n = PROBES};
        const struct inq_gpu_launch launch = {INQ_KERNEL_PROBE, 1, 1, &args, sizeof args};
        code = calls->launch(calls->self, stream, &launch, err);
    }
    if (code == INQ_OK) {
        code = ask_time(s, answer, offset, err);
        s->flags[INQ_GPU_FLAG_ASK] = PROBES; /* lets the kernel end if it still asks */
        int ended = inq_gpu_session_wait(s, stream, s->limit_ns, code == INQ_OK ? err : NULL);
        code = code == INQ_OK ? ended : code;
    }
    if (!s->lost) {
        calls->stream_free(calls->self, stream);
        calls->host_release(calls->self, answer);
    }
    return code;
}

/* Several GPUs have several timers: each is set against the host's clock. */
int inq_gpu_session_align(struct inq_gpu_session *session, struct inq_err *err)
{
    struct inq_gpu_session *s = session;
    for (uint32_t g = 0; s->n_gpus > 1 && g < s->n_gpus; g++) {
        int code = measure_offset(s, g, &s->offset[g], err);
        if (code != INQ_OK) {
            return code;
        }
        s->shift_ns[g] = s->offset[0].ns - s->offset[g].ns;
        /* the times of two GPUs are compared */
        int64_t doubt_ns = 2 * s->offset[g].doubt_ns;
        s->resolution_ns = doubt_ns > s->resolution_ns ? doubt_ns : s->resolution_ns;
    }
    return INQ_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_gpus(struct inq_gpu_session *s, struct inq_err *err)
{
    int code = INQ_OK;
    s->opened = true;
    for (uint32_t g = 0; code == INQ_OK && g < s->n_gpus; g++) {
        code = s->calls->open(s->calls->self, g, s->parts[g], &s->info[g], err);
        size_t sms = s->info[g].sms > 0 ? (size_t)s->info[g].sms : 1;
        if (code == INQ_OK && s->parts[g] > sms) {
            code = inq_err_set(err, INQ_LIMIT,
                               "%zu ranks on one GPU of %zu SMs: execute fewer ranks, or use more "
                               "GPUs",
                               s->parts[g], sms);
        }
    }
    return code;
}

static int make_common(struct inq_gpu_session *s, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = s->calls;
    const struct inq_gpu_spot whole = {0, INQ_GPU_WHOLE};
    void *flags = NULL;
    int code = calls->host_alloc(calls->self, FLAGS_BYTES, &flags, &s->flags_at, err);
    s->flags = flags;
    if (code == INQ_OK) {
        code = calls->stream_new(calls->self, whole, &s->origin, err);
    }
    if (code == INQ_OK) {
        code = calls->event_new(calls->self, whole, &s->fork, err);
    }
    return code;
}

int inq_gpu_session_open(struct inq_gpu_session *session, const struct inq_gpu_calls *calls,
                         size_t n_gpus, const size_t *parts, int64_t limit_ns, struct inq_err *err)
{
    *session = (struct inq_gpu_session){.calls = calls, .n_gpus = n_gpus, .limit_ns = limit_ns};
    memcpy(session->parts, parts, n_gpus * sizeof *parts);
    int code = open_gpus(session, err);
    if (code == INQ_OK) {
        code = make_common(session, err);
    }
    for (uint32_t g = 0; code == INQ_OK && g < n_gpus; g++) {
        for (uint32_t p = 0; code == INQ_OK && p < parts[g]; p++) {
            code = try_part(session, (struct inq_gpu_spot){g, p}, err);
        }
    }
    if (code == INQ_OK) {
        code = try_part(session, (struct inq_gpu_spot){0, INQ_GPU_WHOLE}, err);
    }
    if (code == INQ_OK) {
        code = measure_tick(session, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_session_align(session, err);
    }
    if (code != INQ_OK) {
        inq_gpu_session_close(session);
    }
    return code;
}

void inq_gpu_session_close(struct inq_gpu_session *session)
{
    const struct inq_gpu_calls *calls = session->calls;
    if (calls != NULL && session->opened && !session->lost) {
        calls->event_free(calls->self, session->fork);
        calls->stream_free(calls->self, session->origin);
        calls->host_release(calls->self, (void *)(uintptr_t)session->flags);
        calls->close(calls->self);
    }
    bool lost = session->lost;
    *session = (struct inq_gpu_session){.lost = lost};
}
