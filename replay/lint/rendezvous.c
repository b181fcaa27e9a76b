/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule's explicit calls, really made: one thread a rank, calls that block until their peer
 * has called, messages that are handed over. NCCL's rules: calls between two ranks match in order,
 * one direction at a time; calls in one group do not wait for each other. */
#include "inquest/replay.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "engine/engine.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 1024 };

/* What one rank sends another: its n-th send meets the other's n-th receive. Calls are indices into
 * their rank's list, in the order in which they were made; those beyond the shorter list wait. */
struct channel {
    int32_t from, to;
    size_t n_sends, n_recvs, cap_sends, cap_recvs;
    uint32_t *sends, *recvs;
};

struct rank {
    struct machine *machine;
    int32_t number;
    pthread_t thread;
    pthread_cond_t wake;
    size_t pending;   /* calls of the group at hand that have not returned */
    int32_t on;       /* in a deadlock: the peer that it waits for, .. */
    uint32_t on_call; /* .. with this call */
    bool blocked, through;
};

/* What is there for a micro-batch on a stage. */
enum { TENSOR_INPUT = 1, TENSOR_OUTPUT = 2 };

struct machine {
    const struct inq_schedule *schedule;
    const struct inq_rendezvous_options *options;
    pthread_mutex_t lock;      /* of everything below, and of the ranks */
    struct inq_map channel_of; /* sender << 32 | receiver */
    size_t n_channels, cap_channels;
    struct channel *channels;
    struct rank *ranks;
    /* [2][n_stages * n_microbatches] of activations and gradients: TENSOR_ bits */
    uint8_t *tensors;
    size_t n_alive, n_blocked;
    int64_t deadline_ns;
    bool stopped;
    int code;
    struct inq_err err; /* what stopped it */
};

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_send(uint8_t kind)
{
    return kind == INQ_ACTION_SEND_F || kind == INQ_ACTION_SEND_B;
}

static bool is_call(uint8_t kind)
{
    return is_send(kind) || kind == INQ_ACTION_RECV_F || kind == INQ_ACTION_RECV_B;
}

static bool is_forward(uint8_t kind)
{
    return kind == INQ_ACTION_SEND_F || kind == INQ_ACTION_RECV_F;
}

static const struct inq_action *action_of(const struct machine *m, int32_t rank, size_t i)
{
    return &m->schedule->ranks[rank].actions[i];
}

/* The stage at the other end of a call; -1 when there is none. */
static int32_t other_stage(const struct machine *m, const struct inq_action *a)
{
    return is_forward(a->kind) == is_send(a->kind) ? inq_schedule_next(m->schedule, a->stage)
                                                   : inq_schedule_previous(m->schedule, a->stage);
}

/* Forward: the activations of a micro-batch into and out of a stage; else the gradients. */
static uint8_t *tensor_of(const struct machine *m, bool forward, int32_t stage, int32_t microbatch)
{
    size_t cells = (size_t)m->schedule->n_stages * (size_t)m->schedule->n_microbatches;
    size_t cell = (size_t)stage * (size_t)m->schedule->n_microbatches + (size_t)microbatch;
    return &m->tensors[(forward ? 0 : cells) + cell];
}

/* The n-th calls of a pair: both sides must mean the same message. */
static bool same_message(const struct machine *m, const struct inq_action *send,
                         const struct inq_action *recv)
{
    return is_forward(send->kind) == is_forward(recv->kind) &&
           send->microbatch == recv->microbatch && other_stage(m, send) == recv->stage;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void stop(struct machine *m, int code)
{
    if (!m->stopped) {
        m->stopped = true;
        m->code = code;
        for (int32_t r = 0; r < m->schedule->n_ranks; r++) {
            (void)pthread_cond_signal(&m->ranks[r].wake);
        }
    }
}

static size_t name_rank(const struct machine *m, int32_t rank, char *text, size_t size)
{
    const struct rank *r = &m->ranks[rank];
    char cell[48];
    int n = r->through
                ? snprintf(text, size, "rank %" PRId32 ", which is through", rank)
                : snprintf(text, size, "rank %" PRId32 " at %s", rank,
                           inq_action_format(action_of(m, rank, r->on_call), cell, sizeof cell));
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* Follows who waits for whom from a blocked rank, and tells the circle that it ends in. */
static void explain_deadlock(struct machine *m, int32_t from)
{
    enum { MOST_TOLD = 6 };
    char text[440];
    int32_t rank = from;
    for (int32_t i = 0; i < m->schedule->n_ranks && !m->ranks[rank].through; i++) {
        from = rank;
        rank = m->ranks[rank].on;
    }
    rank = m->ranks[rank].through ? from : rank; /* in the circle, or the last before the end */
    int32_t start = rank;
    for (int32_t r = m->ranks[rank].on; r != rank && !m->ranks[r].through; r = m->ranks[r].on) {
        start = r < start ? r : start; /* a circle is told from its first rank, every time */
    }
    rank = start;
    size_t used = name_rank(m, rank, text, sizeof text);
    for (int told = 0; told < MOST_TOLD && used < sizeof text - 80; told++) {
        rank = m->ranks[rank].on;
        used += (size_t)snprintf(text + used, sizeof text - used, " waits for ");
        used += name_rank(m, rank, text + used, sizeof text - used);
        if (rank == start || m->ranks[rank].through) {
            break;
        }
    }
    (void)inq_err_set(&m->err, INQ_DEADLOCK, "%zu of %" PRId32 " ranks are stuck: %s%s",
                      m->n_blocked, m->schedule->n_ranks, text,
                      rank == start ? ", in a circle" : "");
    stop(m, INQ_DEADLOCK);
}

/* Calls without an answer say who waits for whom. */
static void find_waits(struct machine *m)
{
    for (size_t k = 0; k < m->n_channels; k++) {
        const struct channel *c = &m->channels[k];
        if (c->n_sends > c->n_recvs) {
            m->ranks[c->from].on = c->to;
            m->ranks[c->from].on_call = c->sends[c->n_recvs];
        } else if (c->n_recvs > c->n_sends) {
            m->ranks[c->to].on = c->from;
            m->ranks[c->to].on_call = c->recvs[c->n_sends];
        }
    }
}

/* A rank that is not blocked can still go on; with none left, nobody ever will. */
static void look_for_deadlock(struct machine *m)
{
    if (m->stopped || m->n_alive == 0 || m->n_blocked < m->n_alive) {
        return;
    }
    for (int32_t r = 0; r < m->schedule->n_ranks; r++) {
        if (m->ranks[r].blocked) {
            find_waits(m);
            explain_deadlock(m, r);
            return;
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int channel_between(struct machine *m, int32_t from, int32_t to, struct channel **channel)
{
    uint64_t key = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    uint32_t index = 0;
    int code = INQ_OK;
    if (!inq_map_get(&m->channel_of, key, &index)) {
        code = inq_mem_grow(&m->channels, &m->cap_channels, m->n_channels + 1, sizeof *m->channels,
                            (size_t)MOST_RANKS * MOST_RANKS, &m->err);
        index = (uint32_t)m->n_channels;
        code = code == INQ_OK ? inq_map_put(&m->channel_of, key, index, &m->err) : code;
        if (code == INQ_OK) {
            m->channels[m->n_channels++] = (struct channel){.from = from, .to = to};
        }
    }
    *channel = code == INQ_OK ? &m->channels[index] : NULL;
    return code;
}

/* A call of a rank has returned. Who waited for nothing else goes on. */
static void finish_call(struct machine *m, struct rank *r)
{
    r->pending--;
    if (r->pending == 0 && r->blocked) {
        r->blocked = false;
        m->n_blocked--;
        (void)pthread_cond_signal(&r->wake);
    }
}

/* The n-th calls of both sides are there: the message goes over. */
static int hand_over(struct machine *m, const struct channel *c, size_t n)
{
    char a[48];
    char b[48];
    const struct inq_action *send = action_of(m, c->from, c->sends[n]);
    const struct inq_action *recv = action_of(m, c->to, c->recvs[n]);
    if (!same_message(m, send, recv)) {
        return inq_err_set(
            &m->err, INQ_FORMAT, "rank %" PRId32 " at %s receives %s of rank %" PRId32, c->to,
            inq_action_format(recv, a, sizeof a), inq_action_format(send, b, sizeof b), c->from);
    }
    *tensor_of(m, is_forward(recv->kind), recv->stage, recv->microbatch) |= TENSOR_INPUT;
    finish_call(m, &m->ranks[c->from]);
    finish_call(m, &m->ranks[c->to]);
    return INQ_OK;
}

static int lacks(struct machine *m, const struct rank *r, const struct inq_action *a,
                 const char *what)
{
    char text[48];
    return inq_err_set(&m->err, INQ_FORMAT, "rank %" PRId32 " at %s %s", r->number,
                       inq_action_format(a, text, sizeof text), what);
}

static int make_call(struct machine *m, struct rank *r, size_t i)
{
    const struct inq_action *a = action_of(m, r->number, i);
    int32_t stage = a->microbatch < 0 ? -1 : other_stage(m, a);
    int32_t peer = stage < 0 ? r->number : m->schedule->stage_rank[stage];
    bool sends = is_send(a->kind);
    struct channel *c = NULL;
    if (peer == r->number) {
        return lacks(m, r, a, "has no peer to call");
    }
    if (sends &&
        (*tensor_of(m, is_forward(a->kind), a->stage, a->microbatch) & TENSOR_OUTPUT) == 0) {
        return lacks(m, r, a, "sends what is not computed yet");
    }
    int code = channel_between(m, sends ? r->number : peer, sends ? peer : r->number, &c);
    if (code != INQ_OK) {
        return code;
    }
    size_t n = sends ? c->n_sends : c->n_recvs;
    code = sends ? inq_mem_grow(&c->sends, &c->cap_sends, n + 1, sizeof *c->sends,
                                INQ_MAX_SCHEDULE_ACTIONS, &m->err)
                 : inq_mem_grow(&c->recvs, &c->cap_recvs, n + 1, sizeof *c->recvs,
                                INQ_MAX_SCHEDULE_ACTIONS, &m->err);
    if (code != INQ_OK) {
        return code;
    }
    (sends ? c->sends : c->recvs)[n] = (uint32_t)i;
    c->n_sends += sends ? 1 : 0;
    c->n_recvs += sends ? 0 : 1;
    r->pending++;
    return n < c->n_sends && n < c->n_recvs ? hand_over(m, c, n) : INQ_OK;
}

/* Makes the calls of a group and waits for all of them; the lock is held but while it waits. */
static void call_group(struct machine *m, struct rank *r, size_t first, size_t n)
{
    const int64_t second = 1000000000;
    const struct timespec until = {.tv_sec = (time_t)(m->deadline_ns / second),
                                   .tv_nsec = (long)(m->deadline_ns % second)};
    for (size_t i = first; i < first + n && !m->stopped; i++) {
        int code = make_call(m, r, i);
        if (code != INQ_OK) {
            stop(m, code);
        }
    }
    if (m->stopped || r->pending == 0) {
        return;
    }
    r->blocked = true;
    m->n_blocked++;
    look_for_deadlock(m);
    while (r->blocked && !m->stopped) {
        (void)pthread_cond_timedwait(&r->wake, &m->lock, &until);
        if (r->blocked && !m->stopped && inq_time_now_ns() >= m->deadline_ns) {
            stop(m, inq_err_set(&m->err, INQ_LIMIT, "the calls did not return in time"));
        }
    }
}

/* ---- compute --------------------------------------------------------------------------------- */

static int64_t duration(const struct machine *m, const struct inq_action *a)
{
    if (m->options->costs == NULL) {
        return 0;
    }
    const struct inq_stage_cost *cost = inq_stage_cost_of(m->options->costs, a->stage);
    return a->kind == INQ_ACTION_F   ? cost->f_ns
           : a->kind == INQ_ACTION_I ? cost->b_ns
           : a->kind == INQ_ACTION_W ? cost->w_ns
                                     : cost->b_ns + cost->w_ns;
}

/* Whether what the action takes is there: from the stage before (or behind, in the backward). */
static int check_inputs(struct machine *m, struct rank *r, const struct inq_action *a)
{
    bool forward = a->kind == INQ_ACTION_F;
    int32_t from = forward ? inq_schedule_previous(m->schedule, a->stage)
                           : inq_schedule_next(m->schedule, a->stage);
    if (a->kind == INQ_ACTION_W) {
        return (*tensor_of(m, false, a->stage, a->microbatch) & TENSOR_OUTPUT) != 0
                   ? INQ_OK
                   : lacks(m, r, a, "comes before its input gradient");
    }
    if (!forward && (*tensor_of(m, true, a->stage, a->microbatch) & TENSOR_OUTPUT) == 0) {
        return lacks(m, r, a, "comes before its forward");
    }
    if (from >= 0 && (*tensor_of(m, forward, a->stage, a->microbatch) & TENSOR_INPUT) == 0) {
        return lacks(m, r, a, "has not received its input");
    }
    return INQ_OK;
}

static void compute(struct machine *m, struct rank *r, const struct inq_action *a)
{
    bool forward = a->kind == INQ_ACTION_F;
    int code = check_inputs(m, r, a);
    if (code != INQ_OK) {
        stop(m, code);
        return;
    }
    int64_t dur_ns = duration(m, a);
    if (dur_ns > 0) {
        const int64_t second = 1000000000;
        const struct timespec nap = {.tv_sec = (time_t)(dur_ns / second),
                                     .tv_nsec = (long)(dur_ns % second)};
        (void)pthread_mutex_unlock(&m->lock);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        (void)pthread_mutex_lock(&m->lock);
    }
    if (a->kind == INQ_ACTION_W) {
        return;
    }
    *tensor_of(m, forward, a->stage, a->microbatch) |= TENSOR_OUTPUT;
    int32_t to = forward ? inq_schedule_next(m->schedule, a->stage)
                         : inq_schedule_previous(m->schedule, a->stage);
    if (to >= 0 && m->schedule->stage_rank[to] == r->number) {
        *tensor_of(m, forward, to, a->microbatch) |= TENSOR_INPUT; /* stays on the rank */
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void *run_rank(void *ctx)
{
    struct rank *r = ctx;
    struct machine *m = r->machine;
    const struct inq_rank_actions *list = &m->schedule->ranks[r->number];
    (void)pthread_mutex_lock(&m->lock);
    for (size_t at = 0, n = 1; at < list->n && !m->stopped; at += n) {
        const struct inq_action *a = &list->actions[at];
        n = 1;
        if (is_call(a->kind)) {
            while (!m->options->ungrouped && at + n < list->n &&
                   is_call(list->actions[at + n].kind)) {
                n++;
            }
            call_group(m, r, at, n);
        } else if (inq_action_computes(a)) {
            compute(m, r, a);
        }
    }
    r->through = true;
    m->n_alive--;
    look_for_deadlock(m);
    (void)pthread_mutex_unlock(&m->lock);
    return NULL;
}

static int make_ranks(struct machine *m, struct inq_err *err)
{
    size_t n = (size_t)m->schedule->n_ranks;
    size_t cells = (size_t)m->schedule->n_stages * (size_t)m->schedule->n_microbatches;
    size_t made = 0;
    m->ranks = inq_mem_zalloc(n + 1, sizeof *m->ranks);
    m->tensors = inq_mem_zalloc(2 * cells + 1, sizeof *m->tensors);
    int code = m->ranks != NULL && m->tensors != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for executing a schedule");
    for (; code == INQ_OK && made < n; made++) {
        if (!inq_host_cond_init(&m->ranks[made].wake)) {
            return inq_err_set(err, INQ_NOMEM, "no more conditions for threads");
        }
        m->ranks[made].machine = m;
        m->ranks[made].number = (int32_t)made;
    }
    m->n_alive = made;
    return code;
}

static int run_all(struct machine *m, struct inq_err *err)
{
    size_t n = 0;
    int code = INQ_OK;
    (void)pthread_mutex_lock(&m->lock); /* nobody is stuck before everybody is there */
    for (; code == INQ_OK && n < (size_t)m->schedule->n_ranks; n++) {
        if (pthread_create(&m->ranks[n].thread, NULL, run_rank, &m->ranks[n]) != 0) {
            code = inq_err_set(err, INQ_NOMEM, "cannot start a thread a rank");
            stop(m, code);
            n--;
        }
    }
    (void)pthread_mutex_unlock(&m->lock);
    while (n > 0) {
        (void)pthread_join(m->ranks[--n].thread, NULL);
    }
    return code;
}

static void machine_release(struct machine *m)
{
    for (int32_t r = 0; m->ranks != NULL && r < m->schedule->n_ranks; r++) {
        if (m->ranks[r].machine != NULL) {
            (void)pthread_cond_destroy(&m->ranks[r].wake);
        }
    }
    for (size_t k = 0; k < m->n_channels; k++) {
        inq_mem_free(m->channels[k].sends);
        inq_mem_free(m->channels[k].recvs);
    }
    inq_mem_free(m->channels);
    inq_map_release(&m->channel_of);
    inq_mem_free(m->ranks);
    inq_mem_free(m->tensors);
    (void)pthread_mutex_destroy(&m->lock);
}

int inq_schedule_execute(const struct inq_schedule *schedule,
                         const struct inq_rendezvous_options *options, struct inq_err *err)
{
    static const struct inq_rendezvous_options defaults = {0};
    const int64_t minute_ns = (int64_t)60 * 1000000000;
    struct machine m = {.schedule = schedule, .options = options != NULL ? options : &defaults};
    if (!schedule->has_comms) {
        return inq_err_set(err, INQ_FORMAT, "the schedule has no SEND and RECV cells");
    }
    if (schedule->n_ranks > MOST_RANKS) {
        return inq_err_set(err, INQ_LIMIT, "%" PRId32 " ranks, at most %d can be executed",
                           schedule->n_ranks, (int)MOST_RANKS);
    }
    if (pthread_mutex_init(&m.lock, NULL) != 0) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a lock");
    }
    m.deadline_ns =
        inq_time_now_ns() + (m.options->timeout_ns > 0 ? m.options->timeout_ns : minute_ns);
    int code = make_ranks(&m, err);
    if (code == INQ_OK) {
        code = run_all(&m, err);
    }
    if (code == INQ_OK && m.code != INQ_OK) {
        code = inq_err_set(err, (enum inq_code)m.code, "%s", m.err.message);
    }
    machine_release(&m);
    return code;
}
