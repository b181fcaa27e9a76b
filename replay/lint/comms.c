/* SPDX-License-Identifier: Apache-2.0 */
/* Lint rules on explicit communication: pairing (R4), neighbors on one rank (R12), and one order
 * of a pair's messages on both sides (R6, R12). */
#include "lint/comms.h"

#include "base/mem.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lint rules on blocking: sends and receives that wait for each other under a grouping (R6) or
 * whatever the buffers (R5), and the buffer depth that would do (R7). Ranks are advanced as far as
 * they get; what is possible only ever grows, so the order of advancing does not matter, and what
 * is stuck at the end is stuck for good. */

/* How calls block: in groups, where sends wait for their receives (rendezvous) or not (eager:
 * unlimited buffers); or one by one with a buffer of `depth` messages per (sender, receiver). */
struct protocol {
    uint32_t depth; /* 0: in groups */
    bool grouped;   /* neighboring cells are one group */
    bool eager;
};

struct lane {
    size_t at;        /* first call of the current group */
    size_t group_end; /* == at: not posted yet */
    size_t missing;   /* calls of the group whose partner is not posted */
    bool queued;
};

struct run {
    const struct inq_calls *c;
    struct protocol protocol;
    struct lane *lanes;
    uint8_t *posted;     /* [n calls] reached (rendezvous) or done (buffered) */
    uint32_t *delivered; /* [n_pairs] messages received (buffered) */
    int32_t *queue;      /* ring of ranks that may get further */
    size_t queue_head, queue_n;
};

static void push(struct run *run, int32_t rank)
{
    if (!run->lanes[rank].queued) {
        size_t n = (size_t)run->c->schedule->n_ranks;
        run->lanes[rank].queued = true;
        run->queue[(run->queue_head + run->queue_n++) % n] = rank;
    }
}

/* ---- groups: all calls of one start together and all end it ---------------------------------- */

/* Whether a call waits for its other half. */
static bool waits(const struct run *run, const struct inq_call *call)
{
    return !(run->protocol.eager && call->sends);
}

/* In one group sends to one peer run in order and so do receives from it (a send and a receive do
 * not wait for each other: that is the usual exchange). Both sides of a pair have one order, so a
 * call whose partner is posted has all before it posted too, and nothing more needs to be kept. */
static void post_group(struct run *run, int32_t rank)
{
    struct lane *lane = &run->lanes[rank];
    const struct inq_call *calls = run->c->calls;
    size_t end = run->c->first[rank + 1];
    lane->group_end = lane->at + 1;
    while (run->protocol.grouped && lane->group_end < end &&
           calls[lane->group_end].index == calls[lane->group_end - 1].index + 1) {
        lane->group_end++;
    }
    for (size_t i = lane->at; i < lane->group_end; i++) {
        bool met = run->posted[calls[i].partner] != 0;
        run->posted[i] = 1;
        if (!met) {
            lane->missing += waits(run, &calls[i]);
        } else if (waits(run, &calls[calls[i].partner]) &&
                   --run->lanes[calls[i].peer].missing == 0) {
            push(run, calls[i].peer);
        }
    }
}

static void advance_groups(struct run *run, int32_t rank)
{
    struct lane *lane = &run->lanes[rank];
    while (lane->at < run->c->first[rank + 1]) {
        if (lane->group_end == lane->at) {
            post_group(run, rank);
        }
        if (lane->missing > 0) {
            return;
        }
        lane->at = lane->group_end;
    }
}

/* ---- buffered: a send ends when there is room, a receive when the message is there ----------- */

static bool can_pass(const struct run *run, const struct inq_call *call)
{
    if (!call->sends) {
        return run->posted[call->partner] != 0;
    }
    return call->nth < run->delivered[call->pair] + run->protocol.depth;
}

static void advance_buffered(struct run *run, int32_t rank)
{
    struct lane *lane = &run->lanes[rank];
    const struct inq_call *calls = run->c->calls;
    while (lane->at < run->c->first[rank + 1] && can_pass(run, &calls[lane->at])) {
        const struct inq_call *call = &calls[lane->at];
        run->posted[lane->at] = 1;
        lane->group_end = ++lane->at;
        if (!call->sends) {
            run->delivered[calls[call->partner].pair]++;
        }
        const struct lane *other = &run->lanes[call->peer];
        if (other->at < run->c->first[call->peer + 1] && calls[other->at].peer == rank) {
            push(run, call->peer);
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static int start(struct run *run)
{
    const struct inq_calls *c = run->c;
    size_t n_ranks = (size_t)c->schedule->n_ranks;
    run->lanes = inq_mem_zalloc(n_ranks, sizeof *run->lanes);
    run->queue = inq_mem_zalloc(n_ranks, sizeof *run->queue);
    run->posted = inq_mem_zalloc(c->n + 1, 1);
    run->delivered = inq_mem_zalloc(c->n_pairs + 1, sizeof *run->delivered);
    if (run->lanes == NULL || run->queue == NULL || run->posted == NULL || run->delivered == NULL) {
        return inq_err_set(c->err, INQ_NOMEM, "out of memory for linting");
    }
    for (int32_t r = 0; r < c->schedule->n_ranks; r++) {
        run->lanes[r].at = run->lanes[r].group_end = c->first[r];
        push(run, r);
    }
    return INQ_OK;
}

static void run_through(struct run *run)
{
    while (run->queue_n > 0) {
        int32_t rank = run->queue[run->queue_head];
        run->queue_head = (run->queue_head + 1) % (size_t)run->c->schedule->n_ranks;
        run->queue_n--;
        run->lanes[rank].queued = false;
        if (run->protocol.depth > 0) {
            advance_buffered(run, rank);
        } else {
            advance_groups(run, rank);
        }
    }
}

static void release_run(struct run *run)
{
    inq_mem_free(run->lanes);
    inq_mem_free(run->queue);
    inq_mem_free(run->posted);
    inq_mem_free(run->delivered);
}

/* The first rank that did not get to its end, or -1. */
static int32_t first_stuck(const struct run *run)
{
    for (int32_t r = 0; r < run->c->schedule->n_ranks; r++) {
        if (run->lanes[r].at < run->c->first[r + 1]) {
            return r;
        }
    }
    return -1;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* The call that a stuck rank waits in. */
static const struct inq_call *waiting_call(const struct run *run, int32_t rank)
{
    const struct lane *lane = &run->lanes[rank];
    const struct inq_call *calls = run->c->calls;
    for (size_t i = lane->at; i < lane->group_end; i++) {
        if (!run->posted[calls[i].partner] && waits(run, &calls[i])) {
            return &calls[i];
        }
    }
    return &calls[lane->at];
}

/* "rank 0 at 0SEND_F1 waits for 1RECV_F1 of rank 1" into text; returns its length. */
static size_t describe_wait(const struct run *run, int32_t rank, char *text, size_t size)
{
    const struct inq_call *call = waiting_call(run, rank);
    char own[48];
    char other[48];
    int n = snprintf(text, size, "rank %" PRId32 " at %s waits for %s of rank %" PRId32, rank,
                     inq_action_format(inq_call_action(run->c, call), own, sizeof own),
                     inq_action_format(inq_call_action(run->c, &run->c->calls[call->partner]),
                                       other, sizeof other),
                     call->peer);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* Who waits for whom, from one rank of the circle on until it closes, and who waits for those. */
static int explain_circle(const struct run *run, int32_t lowest)
{
    const struct inq_calls *c = run->c;
    size_t in_circle = 0;
    size_t stuck = 0;
    int code = INQ_OK;
    int32_t rank = lowest;
    do {
        const struct inq_call *call = waiting_call(run, rank);
        const struct inq_call *other = &c->calls[call->partner];
        const struct inq_action *own = inq_call_action(c, call);
        const struct inq_action *theirs = inq_call_action(c, other);
        int32_t position = inq_lint_position(own, call->index);
        char a[48];
        char b[48];
        code = inq_lint_explain(c->lint, rank, position, c->err,
                                "rank %" PRId32 " waits at its cell %" PRId32
                                ", %s, until rank %" PRId32 " comes to its cell %" PRId32 ", %s",
                                rank, position + 1, inq_action_format(own, a, sizeof a), call->peer,
                                inq_lint_position(theirs, other->index) + 1,
                                inq_action_format(theirs, b, sizeof b));
        in_circle++;
        rank = call->peer;
    } while (code == INQ_OK && rank != lowest);
    for (int32_t r = 0; r < c->schedule->n_ranks; r++) {
        stuck += run->lanes[r].at < c->first[r + 1];
    }
    if (code == INQ_OK && stuck > in_circle) {
        code = inq_lint_explain(c->lint, -1, -1, c->err,
                                "that is a circle: none of them goes on, and %zu more %s for them",
                                stuck - in_circle,
                                stuck - in_circle == 1 ? "rank waits" : "ranks wait");
    } else if (code == INQ_OK) {
        code = inq_lint_explain(c->lint, -1, -1, c->err, "that is a circle: none of them goes on");
    }
    return code;
}

/* Each stuck rank waits for one other stuck rank; following them ends in a circle. */
static int report_circle(const struct run *run, int32_t rank, enum inq_lint_rule rule,
                         const char *advice)
{
    enum { MOST_TOLD = 4 };
    for (int32_t i = 0; i < run->c->schedule->n_ranks; i++) {
        rank = waiting_call(run, rank)->peer;
    }
    int32_t lowest = rank; /* the circle is told from its lowest rank, from wherever it was met */
    for (int32_t next = waiting_call(run, rank)->peer; next != rank;
         next = waiting_call(run, next)->peer) {
        lowest = next < lowest ? next : lowest;
    }
    char text[360] = "";
    size_t used = 0;
    int32_t next = lowest;
    for (int told = 0; told < MOST_TOLD && (told == 0 || next != lowest); told++) {
        if (told > 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, ", ");
        }
        used += describe_wait(run, next, text + used, sizeof text - used);
        next = waiting_call(run, next)->peer;
    }
    const struct inq_call *call = waiting_call(run, lowest);
    const struct inq_action *action = inq_call_action(run->c, call);
    int code = explain_circle(run, lowest);
    if (code != INQ_OK) {
        return code;
    }
    return inq_lint_add(run->c->lint, rule, true, lowest, inq_lint_position(action, call->index),
                        action, run->c->err, "%s%s, in a circle; %s", text,
                        next == lowest ? "" : ", ...", advice);
}

/* Whether the calls run through under a protocol; a circle is reported under `rule` with `advice`
 * (NULL: not reported). */
static int try_protocol(const struct inq_calls *c, struct protocol protocol,
                        enum inq_lint_rule rule, const char *advice, bool *runs)
{
    struct run run = {.c = c, .protocol = protocol};
    int code = start(&run);
    if (code == INQ_OK) {
        run_through(&run);
        int32_t stuck = first_stuck(&run);
        *runs = stuck < 0;
        if (stuck >= 0 && advice != NULL) {
            code = report_circle(&run, stuck, rule, advice);
        }
    }
    release_run(&run);
    return code;
}

/* The smallest depth that runs, between 1 and the number of calls, where calls are not grouped; not
 * said where they run in groups only. */
static int find_depth(struct inq_calls *c)
{
    uint32_t low = 1;
    uint32_t high = (uint32_t)c->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool fits = false;
        int code =
            try_protocol(c, (struct protocol){.depth = middle}, INQ_LINT_BUFFER, NULL, &fits);
        if (code != INQ_OK) {
            return code;
        }
        low = fits ? low : middle + 1;
        high = fits ? middle : high;
    }
    bool runs = false;
    int code = try_protocol(c, (struct protocol){.depth = low}, INQ_LINT_BUFFER, NULL, &runs);
    if (code != INQ_OK || !runs) {
        return code;
    }
    c->lint->buffer_depth = (int32_t)low;
    return inq_lint_add(c->lint, INQ_LINT_BUFFER, false, -1, -1, NULL, c->err,
                        "runs only where every pair of ranks buffers %" PRIu32
                        " message%s; NCCL promises none",
                        low, low == 1 ? "" : "s");
}

/* R5, R6, R7: whether calls that are all paired, in one order on both sides, run through. */
static int lint_blocking(struct inq_calls *c, enum inq_grouping grouping)
{
    bool grouped = grouping != INQ_GROUPING_NONE;
    bool runs = false;
    int code = try_protocol(c, (struct protocol){.grouped = grouped, .eager = true}, INQ_LINT_CYCLE,
                            "no buffer helps: change the order on one of these ranks", &runs);
    if (code != INQ_OK || !runs) {
        return code;
    }
    const char *advice = grouped ? "make them neighbors in one group, or reorder one of the ranks"
                                 : "put both calls of a rank in one group, or let one rank receive "
                                   "before it sends";
    code =
        try_protocol(c, (struct protocol){.grouped = grouped}, INQ_LINT_RENDEZVOUS, advice, &runs);
    if (code == INQ_OK && runs) {
        c->lint->buffer_depth = 0;
    } else if (code == INQ_OK) {
        code = find_depth(c);
    }
    return code;
}

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

/* Slot of the message that a call carries; NULL when its stage has no such neighbor. */
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
                        "the stage has no neighbor on that side; drop it");
    }
    call.peer = c->schedule->stage_rank[other];
    if (call.peer == rank) {
        return complain(c, INQ_LINT_NEIGHBOR, &call,
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
                            "nobody sends it; add the send after the peer's compute");
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
    return complain(c, mixed ? INQ_LINT_NEIGHBOR : INQ_LINT_RENDEZVOUS, recv, message);
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
        code = lint_blocking(&p.c, grouping);
    }
    release(&p);
    return code;
}
