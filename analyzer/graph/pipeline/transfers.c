/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/pipeline/transfers.h"

#include "base/hash.h"
#include "base/mem.h"
#include "trace/trace.h"

/* ---- partners -------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t rank, uint32_t event)
{
    return (uint64_t)rank << 32 | event;
}

/* Global ranks to their places. */
static int index_ranks(const struct inq_trace *trace, struct inq_map *index, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        if (trace->ranks[r].rank >= 0) {
            code = inq_map_put(index, (uint64_t)trace->ranks[r].rank, (uint32_t)r, err);
        }
    }
    return code;
}

/* The events of matched pairs to the other member. */
static int index_pairs(const struct inq_trace *trace, struct inq_map *pairs, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        const struct inq_member *m = &trace->members[coll->first_member];
        if (!inq_coll_is_p2p(coll->kind) || coll->n_members != 2) {
            continue;
        }
        code = inq_map_put(pairs, key_of(m[0].rank, m[0].event), coll->first_member + 1, err);
        if (code == INQ_OK) {
            code = inq_map_put(pairs, key_of(m[1].rank, m[1].event), coll->first_member, err);
        }
    }
    return code;
}

/* A receive may be posted a step before its send: it belongs to the step of what is sent. Where the
 * record does not say which way a transfer went, the end of the earlier step is the receive; a
 * kernel that serves several waits for its own sends, too. */
static void follow_send(const struct inq_trace *trace, const struct inq_member *send,
                        const struct inq_comm *comm, struct inq_pipe_item *item)
{
    uint32_t step = trace->ranks[send->rank].events.step[send->event];
    bool several = comm != NULL && comm->batch != INQ_NONE;
    bool may = item->dir == INQ_COLL_RECV || (item->dir == INQ_COLL_SENDRECV && !several);
    if (trace->n_steps > 0 && may && step != INQ_NONE && step > item->step) {
        item->step = step;
    }
}

/* Recorded peers, else the other member of a matched pair. */
static void set_partners(struct inq_pipe_run *run, uint32_t r, const struct inq_map *index,
                         const struct inq_map *pairs)
{
    const struct inq_rank *rank = &run->trace->ranks[r];
    for (size_t i = 0; i < run->ranks[r].n_items; i++) {
        struct inq_pipe_item *item = &run->ranks[r].items[i];
        uint32_t row = rank->events.comm[item->event];
        const struct inq_comm *comm = row != INQ_NONE ? &rank->comms[row] : NULL;
        uint32_t other = INQ_NONE;
        if (item->kind != INQ_ITEM_P2P) {
            continue;
        }
        if (inq_map_get(pairs, key_of(r, item->event), &other)) {
            item->partner = run->trace->members[other].rank;
            follow_send(run->trace, &run->trace->members[other], comm, item);
        }
        if (comm != NULL && comm->peer >= 0) {
            (void)inq_map_get(index, (uint64_t)comm->peer, &item->partner);
        }
    }
}

/* ---- streams ---------------------------------------------------------------------------------
 *
 * Ranks that post receives early have a stream for each way and neighbor: on one stream a receive
 * that waits would block the sends after it. */

struct stream {
    uint32_t partner; /* of its transfers; INQ_NONE: not known */
    bool shared;      /* with several */
    bool ahead;       /* a transfer was posted in an earlier step than that of its other end */
    uint8_t dir;      /* INQ_COLL_SENDRECV: not known */
};

struct streams {
    struct inq_pipe_run *run;
    struct stream *all;
    size_t *first; /* [n_ranks + 1] of each rank's lanes */
};

static struct stream *stream_of(const struct streams *x, uint32_t rank, uint32_t event)
{
    return &x->all[x->first[rank] + x->run->trace->ranks[rank].events.lane[event]];
}

static void note_stream(const struct streams *x, uint32_t r, const struct inq_pipe_item *item)
{
    struct stream *stream = stream_of(x, r, item->event);
    uint32_t step = x->run->trace->ranks[r].events.step[item->event];
    bool known = stream->partner != INQ_NONE && item->partner != INQ_NONE;
    stream->shared = stream->shared || (known && stream->partner != item->partner);
    stream->partner = item->partner != INQ_NONE ? item->partner : stream->partner;
    stream->ahead = stream->ahead || (x->run->trace->n_steps > 0 && step != item->step);
}

/* Of two streams between the same ranks the one that is ahead receives, and the other one sends. */
static void part_ways(struct stream *of, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        struct stream *other = NULL;
        size_t others = 0;
        for (size_t b = 0; b < n; b++) {
            bool same = b != a && of[b].partner == of[a].partner;
            other = same ? &of[b] : other;
            others += same;
        }
        if (of[a].partner != INQ_NONE && of[a].ahead && !of[a].shared && others == 1 &&
            !other->ahead && !other->shared) {
            of[a].dir = INQ_COLL_RECV;
            other->dir = INQ_COLL_SEND;
        }
    }
}

static uint8_t opposite(uint8_t dir)
{
    return dir == INQ_COLL_SEND ? INQ_COLL_RECV : dir == INQ_COLL_RECV ? INQ_COLL_SEND : dir;
}

/* What one end receives the other one sends. */
static void mirror_directions(const struct streams *x)
{
    const struct inq_trace *trace = x->run->trace;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        const struct inq_member *m = &trace->members[coll->first_member];
        for (int k = 0; k < 2 && inq_coll_is_p2p(coll->kind) && coll->n_members == 2; k++) {
            struct stream *other = stream_of(x, m[1 - k].rank, m[1 - k].event);
            uint8_t dir = opposite(stream_of(x, m[k].rank, m[k].event)->dir);
            other->dir = other->dir == INQ_COLL_SENDRECV && !other->shared ? dir : other->dir;
        }
    }
}

/* Transfers without a match have their stream's partner, and all its direction. */
static void read_streams(const struct streams *x, uint32_t r)
{
    for (size_t i = 0; i < x->run->ranks[r].n_items; i++) {
        struct inq_pipe_item *item = &x->run->ranks[r].items[i];
        if (item->kind != INQ_ITEM_P2P) {
            continue;
        }
        const struct stream *stream = stream_of(x, r, item->event);
        bool alone = item->partner == INQ_NONE && !stream->shared;
        item->partner = alone ? stream->partner : item->partner;
        item->dir = item->dir == INQ_COLL_SENDRECV ? stream->dir : item->dir;
        x->run->has_direction = x->run->has_direction && item->dir != INQ_COLL_SENDRECV;
    }
}

/* `directed`: also which way transfers went. */
static void use_streams(const struct streams *x, bool directed)
{
    const struct inq_pipe_run *run = x->run;
    for (uint32_t r = 0; r < run->trace->n_ranks; r++) {
        for (size_t i = 0; i < run->ranks[r].n_items; i++) {
            if (run->ranks[r].items[i].kind == INQ_ITEM_P2P) {
                note_stream(x, r, &run->ranks[r].items[i]);
            }
        }
        part_ways(x->all + x->first[r], directed ? x->first[r + 1] - x->first[r] : 0);
    }
    mirror_directions(x);
    for (uint32_t r = 0; r < run->trace->n_ranks; r++) {
        read_streams(x, r);
    }
}

static int find_streams(struct inq_pipe_run *run, bool directed, struct inq_err *err)
{
    size_t n = run->trace->n_ranks;
    struct streams x = {.run = run, .first = inq_mem_zalloc(n + 1, sizeof *x.first)};
    for (size_t r = 0; x.first != NULL && r < n; r++) {
        x.first[r + 1] = x.first[r] + run->trace->ranks[r].n_lanes;
    }
    x.all = x.first != NULL ? inq_mem_alloc((x.first[n] + 1) * sizeof *x.all) : NULL;
    int code = x.all != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for streams");
    for (size_t k = 0; code == INQ_OK && k < x.first[n]; k++) {
        x.all[k] = (struct stream){.partner = INQ_NONE, .dir = INQ_COLL_SENDRECV};
    }
    if (code == INQ_OK) {
        use_streams(&x, directed);
    }
    inq_mem_free(x.first);
    inq_mem_free(x.all);
    return code;
}

int inq_pipe_find_partners(struct inq_pipe_run *run, bool streams, struct inq_err *err)
{
    struct inq_map index = {0};
    struct inq_map pairs = {0};
    int code = index_ranks(run->trace, &index, err);
    if (code == INQ_OK) {
        code = index_pairs(run->trace, &pairs, err);
    }
    for (uint32_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        set_partners(run, r, &index, &pairs);
    }
    inq_map_release(&index);
    inq_map_release(&pairs);
    run->has_direction = true;
    return code == INQ_OK ? find_streams(run, streams, err) : code;
}
