/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/receives.h"

#include "base/mem.h"
#include "trace/trace.h"

/* Of one rank, in the order of their launches: receives, and passes, which are the compute between
 * two sends of one step. */
struct passes {
    size_t n_receives, n_passes;
    uint32_t *receive; /* rows of the rank's events */
    uint32_t *first;   /* row of a pass's first kernel */
    int32_t *to;       /* whom it was sent to */
    bool *opens;       /* its step, which may begin with preparations */
    int32_t peer[2];   /* whom the rank exchanges with: two neighbors, or one */
    size_t n_peers;
};
/* Of the passes so many must agree with the order, and at most the rest be seen to contradict it:
 * now and then other work begins just when a receive ends. */
static const double AGREEING = 0.8;
/* Where the record begins, receives of its first passes were posted before; where it ends, passes
 * of its last receives come after it. Frameworks post at most the receives of a warm-up ahead:
 * one for each further stage, and pipelines rarely have more of them. */
enum { MOST_AHEAD = 16 };

/* What a transfer is known as; INQ_COLL_UNKNOWN: the event is none. */
static enum inq_coll_kind kind_of(const struct inq_receives *p, size_t row)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t comm = e->comm != NULL ? e->comm[row] : INQ_NONE;
    return comm < p->rank->n_comms ? p->rank->comms[comm].kind : INQ_COLL_UNKNOWN;
}

static bool says_no_way(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_SENDRECV || kind == INQ_COLL_COALESCED;
}

/* Whether some transfers of which the record does not say which way they go begin before their
 * compute has ended: those streams receive, and the others send. */
static bool parts_ways(const struct inq_receives *p)
{
    for (size_t i = 0; i < p->rank->events.n; i++) {
        if (says_no_way(kind_of(p, i)) && p->early[p->rank->events.lane[i]]) {
            return true;
        }
    }
    return false;
}

/* Who is at the other end of a transfer of this kind; -1: it is of another. */
static int32_t peer_of(const struct inq_receives *p, size_t row, enum inq_coll_kind kind)
{
    const struct inq_events *e = &p->rank->events;
    enum inq_coll_kind own = kind_of(p, row);
    if (says_no_way(own) && p->early != NULL) {
        own = p->early[e->lane[row]] ? INQ_COLL_RECV : INQ_COLL_SEND;
    }
    bool is = p->event_id[row] != INQ_NONE && e->call[row] != INQ_NONE && own == kind;
    int32_t peer = is ? p->rank->comms[e->comm[row]].peer : -1;
    return is && peer < 0 ? p->matched[row] : peer;
}

/* By call: the first row that it launched of compute, sends and receives; INQ_NONE: none. */
static void find_by_call(const struct inq_receives *p, uint32_t *row_of)
{
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < p->rank->calls.n; i++) {
        row_of[i] = INQ_NONE;
    }
    for (size_t i = e->n; i > 0; i--) {
        size_t row = i - 1;
        bool compute = p->event_id[row] != INQ_NONE && e->call[row] != INQ_NONE &&
                       e->cls[row] == INQ_CLASS_COMPUTE;
        if (compute || peer_of(p, row, INQ_COLL_SEND) >= 0 || peer_of(p, row, INQ_COLL_RECV) >= 0) {
            row_of[e->call[row]] = (uint32_t)row;
        }
    }
}

static void note_peer(struct passes *x, int32_t peer)
{
    for (size_t k = 0; k < x->n_peers && k < 2; k++) {
        if (x->peer[k] == peer) {
            return;
        }
    }
    if (x->n_peers < 2) {
        x->peer[x->n_peers] = peer;
    }
    x->n_peers++;
}

static void find_passes(const struct inq_receives *p, const uint32_t *row_of, struct passes *x)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t open = INQ_NONE;
    bool opens = true;
    for (size_t i = 0; i < p->rank->calls.n; i++) {
        uint32_t row = row_of[i];
        int32_t to = row != INQ_NONE ? peer_of(p, row, INQ_COLL_SEND) : -1;
        if (row != INQ_NONE && e->cls[row] == INQ_CLASS_COMPUTE) {
            opens = opens || (open != INQ_NONE && e->step[open] != e->step[row]);
            open = open == INQ_NONE || e->step[open] != e->step[row] ? row : open;
        } else if (to >= 0) {
            note_peer(x, to);
            if (open != INQ_NONE) {
                x->first[x->n_passes] = open;
                x->opens[x->n_passes] = opens;
                x->to[x->n_passes++] = to;
                open = INQ_NONE;
                opens = false;
            }
        } else if (row != INQ_NONE) {
            note_peer(x, peer_of(p, row, INQ_COLL_RECV));
            x->receive[x->n_receives++] = row;
        }
    }
}

/* The first pass from `k` on that was sent to a peer; n_passes: none. */
static size_t next_pass(const struct passes *x, size_t k, int32_t to)
{
    while (k < x->n_passes && x->to[k] != to) {
        k++;
    }
    return k;
}

static bool ends_before(const struct inq_events *e, uint32_t a, uint32_t b)
{
    return e->start_ns[a] + e->dur_ns[a] <= e->start_ns[b];
}

/* Passes sent to a peer from the k-th on. */
static size_t count_passes(const struct passes *x, size_t k, int32_t to)
{
    size_t n = 0;
    for (k = next_pass(x, k, to); k < x->n_passes; k = next_pass(x, k + 1, to)) {
        n++;
    }
    return n;
}

/* Pairs the receives from one peer with the passes sent to another, both in order, without the
 * first `ahead` passes: fed[] is the first kernel of each receive's pass, INQ_NONE of those from
 * others, of passes that open a step, and of receives without one. How many were seen to wait for
 * their receive; -1: the order does not fit the record. */
static int64_t pair_passes(const struct inq_receives *p, const struct passes *x, int32_t from,
                           int32_t to, size_t ahead, uint32_t *fed)
{
    const struct inq_events *e = &p->rank->events;
    size_t n = 0; /* that tell */
    size_t seen = 0;
    size_t agree = 0;
    size_t before = 0; /* the receive ended before the pass began */
    size_t unfed = 0;
    size_t k = 0;
    for (size_t skipped = 0; skipped < ahead; skipped++) {
        k = next_pass(x, k, to) + 1;
    }
    for (size_t j = 0; j < x->n_receives; j++) {
        uint32_t receive = x->receive[j];
        fed[j] = INQ_NONE;
        if (peer_of(p, receive, INQ_COLL_RECV) != from) {
            continue;
        }
        k = next_pass(x, k, to);
        if (k >= x->n_passes) {
            unfed++;
            continue;
        }
        uint32_t first = x->first[k];
        if (!x->opens[k++]) {
            fed[j] = first;
            n++;
            seen += p->feeds[receive] != INQ_NONE;
            agree += p->feeds[receive] == first;
            before += ends_before(e, receive, first);
        }
    }
    bool fits = unfed <= MOST_AHEAD && count_passes(x, k, to) <= MOST_AHEAD && n > 0 &&
                (double)before >= AGREEING * (double)n &&
                (double)(seen - agree) <= (1.0 - AGREEING) * (double)n;
    return fits ? (int64_t)agree : -1;
}

/* As pair_passes; of the first passes those are left out whose receives were posted before the
 * record: as many as most of what was seen agrees with, else as few as fit. */
static bool pair_receives(const struct inq_receives *p, const struct passes *x, int32_t from,
                          int32_t to, uint32_t *fed)
{
    size_t most = count_passes(x, 0, to);
    size_t best = 0;
    int64_t best_agree = -1;
    for (size_t ahead = 0; ahead < most && ahead <= MOST_AHEAD; ahead++) {
        int64_t agree = pair_passes(p, x, from, to, ahead, fed);
        best = agree > best_agree ? ahead : best;
        best_agree = agree > best_agree ? agree : best_agree;
    }
    return best_agree >= 0 && pair_passes(p, x, from, to, best, fed) >= 0;
}

/* Adds the edges that were not seen; `fed` is room for all receives. */
static int connect_pair(const struct inq_receives *p, const struct passes *x, int32_t from,
                        int32_t to, uint32_t *fed, struct inq_graph_builder *b, struct inq_err *err)
{
    int code = INQ_OK;
    if (!pair_receives(p, x, from, to, fed)) {
        return INQ_OK;
    }
    for (size_t j = 0; code == INQ_OK && j < x->n_receives; j++) {
        uint32_t receive = x->receive[j];
        if (fed[j] != INQ_NONE && p->feeds[receive] == INQ_NONE &&
            ends_before(&p->rank->events, receive, fed[j])) {
            p->feeds[receive] = fed[j];
            code = inq_graph_add_inferred(b, p->event_id[receive], p->event_id[fed[j]], err);
        }
    }
    return code;
}

static int connect_all(const struct inq_receives *p, const struct passes *x, uint32_t *fed,
                       struct inq_graph_builder *b, struct inq_err *err)
{
    int code = INQ_OK;
    if (x->n_peers == 1 || x->n_peers == 2) {
        code = connect_pair(p, x, x->peer[0], x->peer[x->n_peers - 1], fed, b, err);
    }
    return code == INQ_OK && x->n_peers == 2
               ? connect_pair(p, x, x->peer[1], x->peer[0], fed, b, err)
               : code;
}

/* ---- those that are left --------------------------------------------------------------------- */

/* The first event from `lo` on, of those sorted by lane and start, that is behind (lane, start_ns).
 */
static size_t first_behind(const struct inq_events *e, size_t lo, uint32_t lane, int64_t start_ns)
{
    size_t hi = e->n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        bool before =
            e->lane[middle] < lane || (e->lane[middle] == lane && e->start_ns[middle] <= start_ns);
        lo = before ? middle + 1 : lo;
        hi = before ? hi : middle;
    }
    return lo;
}

/* Whether compute of another lane begins while event `i` goes on. */
static bool is_beside_compute(const struct inq_events *e, size_t i)
{
    int64_t end_ns = e->start_ns[i] + e->dur_ns[i];
    bool beside = false;
    for (size_t lo = 0; lo < e->n && !beside; lo = first_behind(e, lo, e->lane[lo], INT64_MAX)) {
        size_t next = first_behind(e, lo, e->lane[lo], e->start_ns[i]);
        beside = next < e->n && e->lane[next] == e->lane[lo] && e->lane[lo] != e->lane[i] &&
                 e->start_ns[next] < end_ns && e->cls[next] == INQ_CLASS_COMPUTE;
    }
    return beside;
}

/* A transfer of which the record does not say which way it goes may be a receive. */
static void count_loose(const struct inq_receives *p, size_t *n, size_t *n_loose)
{
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; e->comm != NULL && i < e->n; i++) {
        enum inq_coll_kind kind = p->event_id[i] != INQ_NONE ? kind_of(p, i) : INQ_COLL_UNKNOWN;
        if (kind == INQ_COLL_RECV || kind == INQ_COLL_SENDRECV) {
            *n += 1;
            *n_loose += p->feeds[i] == INQ_NONE && is_beside_compute(e, i);
        }
    }
}

int inq_receives_connect(const struct inq_receives *of, struct inq_graph_builder *builder,
                         size_t *n, size_t *n_loose, struct inq_err *err)
{
    size_t n_calls = of->rank->calls.n + 1;
    struct inq_receives own = *of;
    struct passes x = {0};
    if (of->matched == NULL) {
        return INQ_OK;
    }
    own.early = parts_ways(of) ? of->early : NULL;
    uint32_t *row_of = inq_mem_alloc(n_calls * sizeof *row_of);
    x.receive = inq_mem_alloc(n_calls * sizeof *x.receive);
    x.first = inq_mem_alloc(n_calls * sizeof *x.first);
    x.to = inq_mem_alloc(n_calls * sizeof *x.to);
    x.opens = inq_mem_alloc(n_calls * sizeof *x.opens);
    int code = INQ_OK;
    if (row_of == NULL || x.receive == NULL || x.first == NULL || x.to == NULL || x.opens == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu launches", n_calls);
    } else {
        find_by_call(&own, row_of);
        find_passes(&own, row_of, &x);
        code = connect_all(&own, &x, row_of, builder, err); /* room: a receive has a launch */
        count_loose(&own, n, n_loose);
    }
    inq_mem_free(row_of);
    inq_mem_free(x.receive);
    inq_mem_free(x.first);
    inq_mem_free(x.to);
    inq_mem_free(x.opens);
    return code;
}
