/* SPDX-License-Identifier: Apache-2.0 */
/* Lint rules on explicit communication: pairing (R4), neighbours on one rank (R12), and one order
 * of a pair's messages on both sides (R6, R12). Whether they block is in lint/block.c. */
#include "lint/comms.h"

#include "base/mem.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What pairing needs besides the calls. */
struct pairing {
    struct inq_calls c;
    /* [2][n_stages * n_microbatches]: forward, backward; by receiving stage */
    uint32_t *send, *recv;
    /* [n_ranks] of the rank being walked, by peer: the pair of its sends, and how many so far */
    uint32_t *pair_of, *sent, *received;
};

static bool is_send(uint8_t kind)
{
    return kind == INQ_ACTION_SEND_F || kind == INQ_ACTION_SEND_B;
}

static bool is_comm(uint8_t kind)
{
    return is_send(kind) || kind == INQ_ACTION_RECV_F || kind == INQ_ACTION_RECV_B;
}

static int complain(struct inq_calls *c, enum inq_lint_rule rule, const struct inq_call *call,
                    const char *message)
{
    const struct inq_action *action = inq_call_action(c, call);
    return inq_lint_add(c->lint, rule, true, call->rank, inq_lint_position(action, call->index),
                        action, c->err, "%s", message);
}

/* ---- pairing (R4), same rank (R12) ----------------------------------------------------------- */

/* Slot of the message that a call carries; NULL when its stage has no such neighbour. */
static uint32_t *slot_of(const struct pairing *p, const struct inq_action *action, int32_t *other)
{
    const struct inq_schedule *s = p->c.schedule;
    bool forward = action->kind == INQ_ACTION_SEND_F || action->kind == INQ_ACTION_RECV_F;
    bool sends = is_send(action->kind);
    *other = forward == sends ? inq_schedule_next(s, action->stage)
                              : inq_schedule_previous(s, action->stage);
    if (*other < 0) {
        return NULL;
    }
    int32_t receiver = sends ? *other : action->stage;
    size_t cells = (size_t)s->n_stages * (size_t)s->n_microbatches;
    size_t cell = (size_t)receiver * (size_t)s->n_microbatches + (size_t)action->microbatch;
    return &(sends ? p->send : p->recv)[(forward ? 0 : cells) + cell];
}

static int add_call(struct pairing *p, int32_t rank, uint32_t index)
{
    struct inq_calls *c = &p->c;
    const struct inq_action *action = &c->schedule->ranks[rank].actions[index];
    struct inq_call call = {.rank = rank,
                            .index = index,
                            .partner = INQ_NO_CALL,
                            .sends = is_send(action->kind),
                            .forward = action->kind == INQ_ACTION_SEND_F ||
                                       action->kind == INQ_ACTION_RECV_F};
    int32_t other = -1;
    uint32_t *slot = action->microbatch < 0 ? NULL : slot_of(p, action, &other);
    if (slot == NULL) {
        return complain(c, INQ_LINT_PAIRING, &call,
                        "the stage has no neighbour on that side; drop it");
    }
    call.peer = c->schedule->stage_rank[other];
    if (call.peer == rank) {
        return complain(c, INQ_LINT_NEIGHBOUR, &call,
                        "both stages are on this rank: hand the tensor over, do not send it");
    }
    *slot = (uint32_t)c->n;
    c->calls[c->n++] = call;
    return INQ_OK;
}

static int collect(struct pairing *p)
{
    struct inq_calls *c = &p->c;
    for (int32_t r = 0; r < c->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &c->schedule->ranks[r];
        c->first[r] = c->n;
        for (size_t i = 0; i < list->n; i++) {
            int code = is_comm(list->actions[i].kind) ? add_call(p, r, (uint32_t)i) : INQ_OK;
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    c->first[c->schedule->n_ranks] = c->n;
    return INQ_OK;
}

static int pair_up(struct pairing *p)
{
    struct inq_calls *c = &p->c;
    size_t slots = 2 * (size_t)c->schedule->n_stages * (size_t)c->schedule->n_microbatches;
    for (size_t i = 0; i < slots; i++) {
        uint32_t send = p->send[i];
        uint32_t recv = p->recv[i];
        int code = INQ_OK;
        if (send != INQ_NO_CALL && recv != INQ_NO_CALL) {
            c->calls[send].partner = recv;
            c->calls[recv].partner = send;
        } else if (send != INQ_NO_CALL) {
            code = complain(c, INQ_LINT_PAIRING, &c->calls[send],
                            "nobody receives it; add the receive on the peer's row");
        } else if (recv != INQ_NO_CALL) {
            code = complain(c, INQ_LINT_PAIRING, &c->calls[recv],
                            "nobody sends it; add the send behind the peer's compute");
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* ---- order of a pair's messages (R6, R12) ---------------------------------------------------- */

/* Numbers the calls of every (sender, receiver), on each side in its own order. */
static void number_calls(struct pairing *p)
{
    struct inq_calls *c = &p->c;
    for (int32_t r = 0; r < c->schedule->n_ranks; r++) {
        for (size_t i = c->first[r]; i < c->first[r + 1]; i++) {
            int32_t peer = c->calls[i].peer;
            p->pair_of[peer] = INQ_NO_CALL;
            p->sent[peer] = p->received[peer] = 0;
        }
        for (size_t i = c->first[r]; i < c->first[r + 1]; i++) {
            struct inq_call *call = &c->calls[i];
            if (!call->sends) {
                call->nth = p->received[call->peer]++;
                continue;
            }
            uint32_t *pair = &p->pair_of[call->peer];
            *pair = *pair == INQ_NO_CALL ? (uint32_t)c->n_pairs++ : *pair;
            call->pair = *pair;
            call->nth = p->sent[call->peer]++;
        }
    }
}

/* The k-th receive of a pair takes the k-th send: there are no tags. */
static int report_order(struct inq_calls *c, const struct inq_call *recv)
{
    const struct inq_call *meant = &c->calls[recv->partner];
    const struct inq_call *send = meant;
    for (size_t i = c->first[meant->rank]; i < c->first[meant->rank + 1]; i++) {
        const struct inq_call *call = &c->calls[i];
        send = call->sends && call->pair == meant->pair && call->nth == recv->nth ? call : send;
    }
    char text[48];
    char message[256];
    (void)snprintf(message, sizeof message,
                   "receive %" PRIu32 " from rank %" PRId32 " would get its send %" PRIu32
                   ", %s: calls between two ranks match in order, so put both in one order",
                   recv->nth + 1, send->rank, recv->nth + 1,
                   inq_action_format(inq_call_action(c, send), text, sizeof text));
    bool mixed = send->forward != recv->forward;
    return complain(c, mixed ? INQ_LINT_NEIGHBOUR : INQ_LINT_RENDEZVOUS, recv, message);
}

/* One report a pair. */
static int check_orders(struct inq_calls *c)
{
    uint8_t *told = inq_mem_zalloc(c->n_pairs + 1, 1);
    if (told == NULL) {
        return inq_err_set(c->err, INQ_NOMEM, "out of memory for linting");
    }
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < c->n; i++) {
        const struct inq_call *recv = &c->calls[i];
        const struct inq_call *send = &c->calls[recv->partner];
        if (!recv->sends && recv->nth != send->nth && !told[send->pair]) {
            told[send->pair] = 1;
            code = report_order(c, recv);
        }
    }
    inq_mem_free(told);
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int init(struct pairing *p)
{
    const struct inq_schedule *s = p->c.schedule;
    size_t slots = 2 * (size_t)s->n_stages * (size_t)s->n_microbatches;
    size_t n_ranks = (size_t)s->n_ranks;
    size_t n_calls = 0;
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            n_calls += is_comm(s->ranks[r].actions[i].kind);
        }
    }
    if (n_calls >= INQ_NO_CALL) {
        return inq_err_set(p->c.err, INQ_LIMIT, "more sends and receives than can be linted");
    }
    p->send = inq_mem_alloc(slots * sizeof *p->send);
    p->recv = inq_mem_alloc(slots * sizeof *p->recv);
    p->pair_of = inq_mem_alloc(n_ranks * sizeof *p->pair_of);
    p->sent = inq_mem_alloc(n_ranks * sizeof *p->sent);
    p->received = inq_mem_alloc(n_ranks * sizeof *p->received);
    p->c.calls = inq_mem_alloc((n_calls + 1) * sizeof *p->c.calls);
    p->c.first = inq_mem_zalloc(n_ranks + 1, sizeof *p->c.first);
    if (p->send == NULL || p->recv == NULL || p->pair_of == NULL || p->sent == NULL ||
        p->received == NULL || p->c.calls == NULL || p->c.first == NULL) {
        return inq_err_set(p->c.err, INQ_NOMEM, "out of memory for linting");
    }
    memset(p->send, 0xff, slots * sizeof *p->send);
    memset(p->recv, 0xff, slots * sizeof *p->recv);
    return INQ_OK;
}

static void release(struct pairing *p)
{
    inq_mem_free(p->send);
    inq_mem_free(p->recv);
    inq_mem_free(p->pair_of);
    inq_mem_free(p->sent);
    inq_mem_free(p->received);
    inq_mem_free(p->c.calls);
    inq_mem_free(p->c.first);
}

int inq_lint_comms(const struct inq_schedule *schedule, enum inq_grouping grouping,
                   struct inq_lint *lint, struct inq_err *err)
{
    struct pairing p = {.c = {.schedule = schedule, .lint = lint, .err = err}};
    int code = init(&p);
    if (code == INQ_OK) {
        code = collect(&p);
    }
    if (code == INQ_OK) {
        code = pair_up(&p);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        number_calls(&p);
        code = check_orders(&p.c);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = inq_lint_blocking(&p.c, grouping);
    }
    release(&p);
    return code;
}
