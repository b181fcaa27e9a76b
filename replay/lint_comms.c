/* SPDX-License-Identifier: Apache-2.0 */
/* Lint rules on explicit communication: pairing (R4), order of a pair's messages (R6, R12),
 * blocking under a grouping (R6), circles whatever the buffers (R5), and the buffer depth that
 * would do (R7). */
#include "lint.h"

#include "base/mem.h"
#include "base/sort.h"
#include "inquest/graph.h"
#include "schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One SEND or RECV cell. */
struct call {
    int32_t rank, peer;
    uint32_t index;   /* in the rank's list */
    uint32_t partner; /* the other half, INQ_NONE when there is none */
    uint32_t nth;     /* n-th of its (sender, receiver) */
    bool sends, forward;
};

struct comms {
    const struct inq_schedule *schedule;
    struct inq_lint *lint;
    struct inq_err *err;
    size_t n, cap;
    struct call *calls; /* rank by rank, in list order */
    uint32_t *first;    /* [n_ranks + 1] into calls */
    /* [2][n_stages * n_microbatches]: forward, backward; by receiving stage */
    uint32_t *send, *recv;
    uint32_t *order; /* [n] calls by (sender, receiver), sends then receives */
};

static bool is_send(uint8_t kind)
{
    return kind == INQ_ACTION_SEND_F || kind == INQ_ACTION_SEND_B;
}

static bool is_comm(uint8_t kind)
{
    return is_send(kind) || kind == INQ_ACTION_RECV_F || kind == INQ_ACTION_RECV_B;
}

static const struct inq_action *action_of(const struct comms *c, const struct call *call)
{
    return &c->schedule->ranks[call->rank].actions[call->index];
}

static int complain(struct comms *c, enum inq_lint_rule rule, const struct call *call,
                    const char *message)
{
    const struct inq_action *action = action_of(c, call);
    return inq_lint_add(c->lint, rule, true, call->rank, inq_lint_position(action, call->index),
                        action, c->err, "%s", message);
}

/* ---- pairing (R4), same rank (R12)
 * ------------------------------------------------------------------ */

/* Slot of the message that a call carries; NULL when its stage has no such neighbour. */
static uint32_t *slot_of(const struct comms *c, const struct inq_action *action, int32_t *other)
{
    const struct inq_schedule *s = c->schedule;
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
    return &(sends ? c->send : c->recv)[(forward ? 0 : cells) + cell];
}

static int add_call(struct comms *c, int32_t rank, uint32_t index)
{
    const struct inq_action *action = &c->schedule->ranks[rank].actions[index];
    struct call call = {.rank = rank,
                        .index = index,
                        .partner = INQ_NONE,
                        .sends = is_send(action->kind),
                        .forward =
                            action->kind == INQ_ACTION_SEND_F || action->kind == INQ_ACTION_RECV_F};
    int32_t other = -1;
    uint32_t *slot = action->microbatch < 0 ? NULL : slot_of(c, action, &other);
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
    int code = inq_mem_grow(&c->calls, &c->cap, c->n + 1, sizeof call, INQ_NONE - 1, c->err);
    if (code == INQ_OK) {
        c->calls[c->n++] = call;
    }
    return code;
}

static int collect(struct comms *c)
{
    for (int32_t r = 0; r < c->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &c->schedule->ranks[r];
        c->first[r] = (uint32_t)c->n;
        for (size_t i = 0; i < list->n; i++) {
            int code = is_comm(list->actions[i].kind) ? add_call(c, r, (uint32_t)i) : INQ_OK;
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    c->first[c->schedule->n_ranks] = (uint32_t)c->n;
    return INQ_OK;
}

static int pair_up(struct comms *c)
{
    size_t slots = 2 * (size_t)c->schedule->n_stages * (size_t)c->schedule->n_microbatches;
    for (size_t i = 0; i < slots; i++) {
        uint32_t send = c->send[i];
        uint32_t recv = c->recv[i];
        int code = INQ_OK;
        if (send != INQ_NONE && recv != INQ_NONE) {
            c->calls[send].partner = recv;
            c->calls[recv].partner = send;
        } else if (send != INQ_NONE) {
            code = complain(c, INQ_LINT_PAIRING, &c->calls[send],
                            "nobody receives it; add the receive on the peer's row");
        } else if (recv != INQ_NONE) {
            code = complain(c, INQ_LINT_PAIRING, &c->calls[recv],
                            "nobody sends it; add the send behind the peer's compute");
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* ---- order of a pair's messages (R6, R12)
 * ------------------------------------------------------------- */

static int32_t sender_of(const struct call *call)
{
    return call->sends ? call->rank : call->peer;
}

static int32_t receiver_of(const struct call *call)
{
    return call->sends ? call->peer : call->rank;
}

static int compare_calls(const void *a, const void *b, void *ctx)
{
    const struct call *calls = ctx;
    const struct call *x = &calls[*(const uint32_t *)a];
    const struct call *y = &calls[*(const uint32_t *)b];
    if (sender_of(x) != sender_of(y)) {
        return sender_of(x) < sender_of(y) ? -1 : 1;
    }
    if (receiver_of(x) != receiver_of(y)) {
        return receiver_of(x) < receiver_of(y) ? -1 : 1;
    }
    return x->sends == y->sends ? 0 : x->sends ? -1 : 1; /* stable: list order within each */
}

static bool same_pair(const struct call *x, const struct call *y)
{
    return sender_of(x) == sender_of(y) && receiver_of(x) == receiver_of(y);
}

/* The k-th receive of a pair takes the k-th send: there are no tags. One report a pair. */
static int check_pair_order(struct comms *c, const uint32_t *sends, const uint32_t *recvs, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        struct call *send = &c->calls[sends[k]];
        struct call *recv = &c->calls[recvs[k]];
        if (send->partner == recvs[k]) {
            continue;
        }
        char text[48];
        char message[256];
        (void)snprintf(
            message, sizeof message,
            "receive %zu from rank %" PRId32 " would get its send %zu, %s: calls between "
            "two ranks match in order, so put both in one order",
            k + 1, send->rank, k + 1, inq_action_format(action_of(c, send), text, sizeof text));
        bool mixed = send->forward != recv->forward;
        return complain(c, mixed ? INQ_LINT_NEIGHBOUR : INQ_LINT_RENDEZVOUS, recv, message);
    }
    return INQ_OK;
}

static int check_orders(struct comms *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->order[i] = (uint32_t)i;
    }
    int code = inq_sort(c->order, c->n, sizeof *c->order, compare_calls, c->calls, c->err);
    for (size_t from = 0, to = 0; code == INQ_OK && from < c->n; from = to) {
        size_t sends = 0;
        for (; to < c->n && same_pair(&c->calls[c->order[from]], &c->calls[c->order[to]]); to++) {
            struct call *call = &c->calls[c->order[to]];
            call->nth = (uint32_t)(call->sends ? to - from : to - from - sends);
            sends += call->sends;
        }
        code = check_pair_order(c, c->order + from, c->order + from + sends, sends);
    }
    return code;
}

/* ---- blocking
 * ------------------------------------------------------------------------------------------ */

/* How calls block: rendezvous in groups, or a buffer of `depth` messages per (sender, receiver). */
struct protocol {
    bool buffered;
    uint32_t depth; /* INQ_NONE: unlimited */
    enum inq_grouping grouping;
};

struct run {
    struct comms *c;
    struct protocol protocol;
    struct inq_graph_builder *graph;
    uint32_t *op; /* [n calls] graph op */
    int code;
};

static uint32_t add_op(struct run *run, int32_t rank, uint32_t index, bool in_order)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = in_order ? 0 : INQ_NONE;
    op.source = index;
    uint32_t id = 0;
    if (run->code == INQ_OK) {
        run->code = inq_graph_add_op(run->graph, &op, 0, 0, &id, run->c->err);
    }
    return id;
}

static void add_dep(struct run *run, uint32_t before, uint32_t after)
{
    if (run->code == INQ_OK) {
        run->code = inq_graph_add_dep(run->graph, before, after, run->c->err);
    }
}

/* A group of calls: all may start together, sends to one peer run in order and so do receives from
 * it (a send and a receive do not wait for each other: that is the usual exchange), all end it. */
static void add_group(struct run *run, int32_t rank, size_t first, size_t n)
{
    struct call *calls = run->c->calls;
    uint32_t begin = add_op(run, rank, calls[first].index, true);
    for (size_t i = first; i < first + n; i++) {
        run->op[i] = add_op(run, rank, calls[i].index, false);
        add_dep(run, begin, run->op[i]);
        for (size_t k = i; k > first; k--) {
            if (calls[k - 1].peer == calls[i].peer && calls[k - 1].sends == calls[i].sends) {
                add_dep(run, run->op[k - 1], run->op[i]);
                break;
            }
        }
    }
    uint32_t end = add_op(run, rank, calls[first + n - 1].index, true);
    for (size_t i = first; i < first + n; i++) {
        add_dep(run, run->op[i], end);
    }
}

/* The calls of one rank, run by run of neighbouring cells. */
static void add_rank(struct run *run, int32_t rank)
{
    const struct comms *c = run->c;
    bool grouped = !run->protocol.buffered && run->protocol.grouping == INQ_GROUPING_ADJACENT;
    for (size_t i = c->first[rank]; i < c->first[rank + 1];) {
        size_t n = 1;
        while (grouped && i + n < c->first[rank + 1] &&
               c->calls[i + n].index == c->calls[i + n - 1].index + 1) {
            n++;
        }
        if (n > 1) {
            add_group(run, rank, i, n);
        } else {
            run->op[i] = add_op(run, rank, c->calls[i].index, true);
        }
        i += n;
    }
}

static void add_links(struct run *run)
{
    const struct comms *c = run->c;
    for (size_t i = 0; run->code == INQ_OK && i < c->n; i++) {
        const struct call *call = &c->calls[i];
        if (!call->sends) {
            continue;
        }
        uint32_t pair[2] = {run->op[i], run->op[call->partner]};
        if (run->protocol.buffered) {
            add_dep(run, pair[0], pair[1]);
        } else {
            run->code = inq_graph_add_group(run->graph, pair, 2, 2, c->err);
        }
    }
    bool bounded = run->protocol.buffered && run->protocol.depth != INQ_NONE;
    for (size_t i = 0; bounded && i < c->n; i++) {
        /* order[]: sends of a pair, then its receives; send n waits for receive n - depth */
        const struct call *send = &c->calls[c->order[i]];
        if (!send->sends || send->nth < run->protocol.depth) {
            continue;
        }
        const struct call *earlier = &c->calls[c->order[i - run->protocol.depth]];
        add_dep(run, run->op[earlier->partner], run->op[c->order[i]]);
    }
}

static size_t describe_wait(const struct run *run, uint32_t id, char *text, size_t size)
{
    const struct inq_graph_op *op = inq_graph_builder_op(run->graph, id);
    const struct inq_action *action = &run->c->schedule->ranks[op->rank].actions[op->source];
    char cell[48];
    int n = snprintf(text, size, "rank %" PRId32 " at %s", op->rank,
                     inq_action_format(action, cell, sizeof cell));
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* "rank 0 at 0SEND_F1 waits for rank 1 at 1RECV_F1, which waits for ..., in a circle". */
static int report_circle(struct run *run, enum inq_lint_rule rule,
                         const struct inq_deadlock *deadlock, const char *advice)
{
    char text[360] = "";
    size_t used = 0;
    uint32_t last = INQ_NONE;
    for (size_t i = 0; i < deadlock->n_waits && used < sizeof text - 80; i++) {
        const struct inq_graph_op *op = inq_graph_builder_op(run->graph, deadlock->waits[i].op);
        if (last != INQ_NONE) {
            const struct inq_graph_op *before = inq_graph_builder_op(run->graph, last);
            if (before->rank == op->rank && before->source == op->source) {
                continue; /* begin, call and end of one group */
            }
            used += (size_t)snprintf(text + used, sizeof text - used, " waits for ");
        }
        last = deadlock->waits[i].op;
        used += describe_wait(run, last, text + used, sizeof text - used);
    }
    uint32_t first = deadlock->n_waits > 0 ? deadlock->waits[0].op : 0;
    const struct inq_graph_op *op = inq_graph_builder_op(run->graph, first);
    const struct inq_action *action = &run->c->schedule->ranks[op->rank].actions[op->source];
    return inq_lint_add(run->c->lint, rule, true, op->rank, inq_lint_position(action, op->source),
                        action, run->c->err, "%s, in a circle; %s", text, advice);
}

/* Whether the calls run through under a protocol; a circle is reported under `rule` with `advice`
 * (NULL: not reported). */
static int try_protocol(struct comms *c, struct protocol protocol, enum inq_lint_rule rule,
                        const char *advice, bool *runs)
{
    struct run run = {.c = c, .protocol = protocol, .graph = inq_graph_builder_new()};
    run.op = inq_mem_alloc(c->n * sizeof *run.op);
    *runs = false;
    if (run.graph == NULL || run.op == NULL) {
        run.code = inq_err_set(c->err, INQ_NOMEM, "out of memory for linting");
    }
    for (int32_t r = 0; run.code == INQ_OK && r < c->schedule->n_ranks; r++) {
        add_rank(&run, r);
    }
    if (run.code == INQ_OK) {
        add_links(&run);
    }
    if (run.code == INQ_OK) {
        struct inq_graph *graph = NULL;
        struct inq_deadlock deadlock = {0};
        struct inq_err own = {0};
        run.code = inq_graph_finish(run.graph, &graph, &deadlock, &own);
        *runs = run.code == INQ_OK;
        if (run.code == INQ_DEADLOCK) {
            run.code = advice == NULL ? INQ_OK : report_circle(&run, rule, &deadlock, advice);
        }
        inq_deadlock_release(&deadlock);
        inq_graph_free(graph);
    }
    inq_graph_builder_free(run.graph);
    inq_mem_free(run.op);
    return run.code;
}

/* The smallest depth that runs, between 1 and the number of calls. */
static int find_depth(struct comms *c)
{
    uint32_t low = 1;
    uint32_t high = (uint32_t)c->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool runs = false;
        int code =
            try_protocol(c, (struct protocol){true, middle, 0}, INQ_LINT_BUFFER, NULL, &runs);
        if (code != INQ_OK) {
            return code;
        }
        low = runs ? low : middle + 1;
        high = runs ? middle : high;
    }
    c->lint->buffer_depth = (int32_t)low;
    return inq_lint_add(c->lint, INQ_LINT_BUFFER, false, -1, -1, NULL, c->err,
                        "runs only where every pair of ranks buffers %" PRIu32
                        " messages; NCCL promises none",
                        low);
}

static int check_blocking(struct comms *c, enum inq_grouping grouping)
{
    bool runs = false;
    int code = try_protocol(c, (struct protocol){true, INQ_NONE, 0}, INQ_LINT_CYCLE,
                            "no buffer helps: change the order on one of these ranks", &runs);
    if (code != INQ_OK || !runs) {
        return code;
    }
    const char *advice = grouping == INQ_GROUPING_NONE
                             ? "put both calls of a rank in one group, or let one rank receive "
                               "before it sends"
                             : "make them neighbours in one group, or reorder one of the ranks";
    code =
        try_protocol(c, (struct protocol){false, 0, grouping}, INQ_LINT_RENDEZVOUS, advice, &runs);
    if (code == INQ_OK && runs) {
        c->lint->buffer_depth = 0;
    } else if (code == INQ_OK) {
        code = find_depth(c);
    }
    return code;
}

int inq_lint_comms(const struct inq_schedule *schedule, enum inq_grouping grouping,
                   struct inq_lint *lint, struct inq_err *err)
{
    struct comms c = {.schedule = schedule, .lint = lint, .err = err};
    size_t slots = 2 * (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    c.send = inq_mem_alloc(slots * sizeof *c.send);
    c.recv = inq_mem_alloc(slots * sizeof *c.recv);
    c.first = inq_mem_zalloc((size_t)schedule->n_ranks + 1, sizeof *c.first);
    int code = INQ_OK;
    if (c.send == NULL || c.recv == NULL || c.first == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    } else {
        memset(c.send, 0xff, slots * sizeof *c.send);
        memset(c.recv, 0xff, slots * sizeof *c.recv);
        code = collect(&c);
    }
    if (code == INQ_OK) {
        code = pair_up(&c);
    }
    c.order = code == INQ_OK ? inq_mem_alloc(c.n * sizeof *c.order) : NULL;
    if (code == INQ_OK && c.order == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = check_orders(&c);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = check_blocking(&c, grouping);
    }
    inq_mem_free(c.send);
    inq_mem_free(c.recv);
    inq_mem_free(c.first);
    inq_mem_free(c.calls);
    inq_mem_free(c.order);
    return code;
}
