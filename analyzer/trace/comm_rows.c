/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/comm_rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "trace/classify.h"
#include "trace/groups.h"
#include "trace/build/build.h"
#include "trace/steps/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Kernels of all-to-all and of P2P look alike in NCCL, and all-to-all-v differs in size by rank. */
enum family {
    FAMILY_EXCHANGE = INQ_COLL_KIND_COUNT /* all-to-all(v), fused send and receive */
};

static uint8_t family_of(enum inq_coll_kind kind)
{
    bool exchange =
        kind == INQ_COLL_ALLTOALL || kind == INQ_COLL_ALLTOALLV || kind == INQ_COLL_SENDRECV;
    bool p2p = kind == INQ_COLL_SEND || kind == INQ_COLL_RECV;
    return (uint8_t)(exchange ? (int)FAMILY_EXCHANGE : p2p ? (int)INQ_COLL_SEND : (int)kind);
}

static uint64_t larger(int64_t a, int64_t b)
{
    return a > b ? (a > 0 ? (uint64_t)a : 0) : (b > 0 ? (uint64_t)b : 0);
}

/* What of the size is the same on every member; 0 when unknown or when it may differ: members of an
 * exchange count what each of them sends, those of a gather or a scatter of uneven parts differ in
 * the part but not in the whole. */
static uint64_t common_size(const struct inq_comm *comm)
{
    uint64_t elems = 0;
    if (comm->kind == INQ_COLL_ALLREDUCE || comm->kind == INQ_COLL_BROADCAST) {
        elems = comm->in_elems > 0 ? (uint64_t)comm->in_elems : 0;
    } else if (comm->kind == INQ_COLL_ALLGATHER || comm->kind == INQ_COLL_REDUCE_SCATTER ||
               comm->kind == INQ_COLL_SEND || comm->kind == INQ_COLL_RECV) {
        elems = larger(comm->in_elems, comm->out_elems);
    }
    return elems == 0 ? 0 : elems * 32 + comm->dtype_bytes + 1;
}

struct inq_align_row inq_comm_align_row(const struct inq_comm_row *row, int64_t end_ns)
{
    return (struct inq_align_row){.end_ns = end_ns,
                                  .step = row->step,
                                  .number = row->seq,
                                  .call = row->call,
                                  .size = row->size,
                                  .family = row->family,
                                  .syncs = row->syncs};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What speaks against the order in which a rank's rows of a channel started. */
enum order { SEVERAL_STREAMS = 1, LAUNCH_UNKNOWN = 2, NO_ORDER = SEVERAL_STREAMS | LAUNCH_UNKNOWN };

/* One rank while its rows are collected: channels are numbered per rank first, so that ranks can
 * be taken in parallel. */
struct gathering {
    size_t n, cap;
    struct inq_comm_row *rows;
    size_t n_channels, cap_channels;
    struct inq_channel *channels;
    uint8_t *order;   /* [n_channels] enum order */
    uint32_t *global; /* [n_channels] index into inq_comm_rows.channels */
    struct inq_map index;
    uint64_t unplaced;
};

struct collection {
    struct inq_trace *trace;
    struct inq_comm_rows *rows;
    struct gathering *ranks; /* [n_ranks] */
};

static int find_channel(struct inq_map *index, struct inq_channel **channels, size_t *n,
                        size_t *cap, const struct inq_channel *channel, uint32_t *found,
                        struct inq_err *err)
{
    uint64_t key = inq_hash_bytes(channel, sizeof *channel);
    if (inq_map_get(index, key, found)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(channels, cap, *n + 1, sizeof **channels, INQ_MAX_GROUPS * 16, err);
    if (code == INQ_OK) {
        *found = (uint32_t)*n;
        (*channels)[(*n)++] = *channel;
        code = inq_map_put(index, key, *found, err);
    }
    return code;
}

static struct inq_channel channel_of(const struct inq_rank *rank, const struct inq_comm *comm,
                                     bool bare)
{
    struct inq_channel channel = {.group = comm->group, .from = -1, .to = -1, .bare = bare};
    if (inq_coll_is_one_way(comm->kind) && !bare) {
        bool sends = comm->kind == INQ_COLL_SEND;
        channel.from = sends ? rank->rank : comm->peer;
        channel.to = sends ? comm->peer : rank->rank;
    }
    return channel;
}

static int add_row(struct gathering *g, const struct inq_channel *channel, struct inq_comm_row *row,
                   struct inq_err *err)
{
    int code = find_channel(&g->index, &g->channels, &g->n_channels, &g->cap_channels, channel,
                            &row->channel, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&g->rows, &g->cap, g->n + 1, sizeof *row, INQ_MAX_ROWS, err);
    }
    if (code == INQ_OK) {
        g->rows[g->n++] = *row;
    }
    return code;
}

/* What the kernel did; of a coalesced call its name says so. */
static enum inq_coll_kind kind_of(const struct inq_trace *trace, const struct inq_rank *rank,
                                  size_t event, const struct inq_comm *comm)
{
    inq_str name = rank->events.name[event];
    return inq_coll_of_call(comm->kind, inq_strtab_get(trace->names, name),
                            inq_strtab_len(trace->names, name));
}

static int collect_row(const struct inq_trace *trace, const struct inq_rank *rank,
                       const struct inq_comm *comm, struct inq_comm_row *row, struct gathering *g,
                       struct inq_err *err)
{
    bool lonely = inq_coll_is_one_way(comm->kind) && (comm->peer < 0 || rank->rank < 0);
    bool bare = row->nameless || lonely;
    if (comm->group == INQ_NONE &&
        (lonely || !inq_coll_is_one_way(comm->kind))) { /* of whom is not known */
        g->unplaced++;
        return INQ_OK;
    }
    enum inq_coll_kind kind = kind_of(trace, rank, row->event, comm);
    row->nameless = bare;
    /* each rank counts all its sends and receives: two ends of one differ */
    row->seq = inq_coll_is_one_way(comm->kind) || bare ? -1 : comm->seq;
    row->size = common_size(comm);
    row->family = lonely ? (uint8_t)FAMILY_EXCHANGE : family_of(kind);
    row->syncs = row->family >= INQ_COLL_KIND_COUNT || inq_coll_synchronizes(kind);
    struct inq_channel channel = channel_of(rank, comm, bare);
    return add_row(g, &channel, row, err);
}

static int collect_event(const struct inq_trace *trace, const struct inq_rank *rank,
                         const struct inq_windows *steps, size_t event, struct gathering *g,
                         struct inq_err *err)
{
    const struct inq_events *e = &rank->events;
    const struct inq_comm *comm = &rank->comms[e->comm[event]];
    enum inq_coll_kind kind = kind_of(trace, rank, event, comm);
    struct inq_comm_row row = {
        .event = (uint32_t)event,
        .start_ns = e->start_ns[event],
        .end_ns = e->start_ns[event] + e->dur_ns[event],
        .step = inq_windows_number(steps, rank, event),
        .nameless =
            kind == INQ_COLL_COALESCED || (comm->from_name && comm->kind == INQ_COLL_SENDRECV),
    };
    if (comm->batch == INQ_NONE) {
        return collect_row(trace, rank, comm, &row, g, err);
    }
    int code = INQ_OK;
    row.nameless = false;
    for (uint32_t at = comm->batch; at != INQ_NONE && code == INQ_OK; at = rank->comms[at].batch) {
        code = collect_row(trace, rank, &rank->comms[at], &row, g, err);
    }
    return code;
}

static int compare_starts(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_comm_row *x = a;
    const struct inq_comm_row *y = b;
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int find_orders(const struct inq_rank *rank, struct gathering *g, struct inq_err *err)
{
    uint32_t *lane = inq_mem_alloc((g->n_channels + 1) * sizeof *lane);
    g->order = inq_mem_zalloc(g->n_channels + 1, sizeof *g->order);
    if (lane == NULL || g->order == NULL) {
        inq_mem_free(lane);
        return inq_err_set(err, INQ_NOMEM, "out of memory for channels");
    }
    for (size_t c = 0; c < g->n_channels; c++) {
        lane[c] = INQ_NONE;
    }
    for (size_t i = 0; i < g->n; i++) {
        uint32_t event = g->rows[i].event;
        uint32_t *first = &lane[g->rows[i].channel];
        *first = *first == INQ_NONE ? rank->events.lane[event] : *first;
        g->order[g->rows[i].channel] |=
            (uint8_t)((rank->events.lane[event] != *first ? SEVERAL_STREAMS : 0) |
                      (rank->events.call[event] == INQ_NONE ? LAUNCH_UNKNOWN : 0));
    }
    inq_mem_free(lane);
    return INQ_OK;
}

static int collect_rank(void *ctx, size_t r, struct inq_err *err)
{
    const struct collection *c = ctx;
    const struct inq_rank *rank = &c->trace->ranks[r];
    struct inq_windows steps = {0};
    int code = inq_windows_recorded(rank, &steps, err);
    for (size_t i = 0; code == INQ_OK && i < rank->events.n; i++) {
        if (inq_is_comm_kernel(&rank->events, i)) {
            code = collect_event(c->trace, rank, &steps, i, &c->ranks[r], err);
        }
    }
    inq_windows_release(&steps);
    return code == INQ_OK ? find_orders(rank, &c->ranks[r], err) : code;
}

/* ---- channels of all ranks ------------------------------------------------------------------- */

/* The one channel of a pair for transfers of which the two ends name different groups. */
static int pair_channel(struct inq_map *index, struct inq_comm_rows *rows, uint32_t channel,
                        uint32_t *found, struct inq_err *err)
{
    struct inq_channel pair = rows->channels[channel];
    pair.group = INQ_NONE;
    return find_channel(index, &rows->channels, &rows->n_channels, &rows->cap_channels, &pair,
                        found, err);
}

/* Numbers the ranks' channels alike. */
static int number_channels(struct collection *c, struct inq_map *index, struct inq_err *err)
{
    struct inq_comm_rows *rows = c->rows;
    for (size_t r = 0; r < rows->n_ranks; r++) {
        struct gathering *g = &c->ranks[r];
        g->global = inq_mem_alloc((g->n_channels + 1) * sizeof *g->global);
        if (g->global == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for channels");
        }
        for (size_t i = 0; i < g->n_channels; i++) {
            int code = find_channel(index, &rows->channels, &rows->n_channels, &rows->cap_channels,
                                    &g->channels[i], &g->global[i], err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

/* Transfers of a pair go by their group where both ends name it; ranks may know one group by
 * different names. */
static int join_pairs(struct collection *c, struct inq_map *index, struct inq_err *err)
{
    struct inq_comm_rows *rows = c->rows;
    size_t n = rows->n_channels;
    uint8_t *ends = inq_mem_zalloc(n + 1, 1);
    int code = ends == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for channels") : INQ_OK;
    for (int pass = 0; code == INQ_OK && pass < 2; pass++) {
        for (size_t r = 0; code == INQ_OK && r < rows->n_ranks; r++) {
            struct gathering *g = &c->ranks[r];
            for (size_t i = 0; code == INQ_OK && i < g->n_channels; i++) {
                if (g->channels[i].from < 0) {
                    continue;
                }
                bool sends = g->channels[i].from == c->trace->ranks[r].rank;
                if (pass == 0) {
                    ends[g->global[i]] |= sends ? 1 : 2;
                } else if (ends[g->global[i]] != 3) {
                    code = pair_channel(index, rows, g->global[i], &g->global[i], err);
                }
            }
        }
    }
    inq_mem_free(ends);
    return code;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Gives the rows of a channel in which members may have started the kinds in different orders, and
 * not all launches tell which is right, a channel for each kind. */
static int part_rank(struct collection *c, struct inq_map *index, const uint8_t *order, size_t r,
                     struct inq_err *err)
{
    struct inq_comm_rows *rows = c->rows;
    struct gathering *g = &c->ranks[r];
    int code = INQ_OK;
    for (size_t i = 0; i < g->n && code == INQ_OK; i++) {
        uint32_t *channel = &g->rows[i].channel;
        struct inq_channel own = rows->channels[*channel];
        if (order[*channel] == NO_ORDER && own.from < 0 && own.bare == 0) {
            own.family = g->rows[i].family + 1U;
            code = find_channel(index, &rows->channels, &rows->n_channels, &rows->cap_channels,
                                &own, channel, err);
        }
    }
    return code;
}

static int part_channels(struct collection *c, struct inq_map *index, struct inq_err *err)
{
    size_t n_ranks = c->rows->n_ranks;
    uint8_t *order = inq_mem_zalloc(c->rows->n_channels + 1, sizeof *order);
    int code = order == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for channels") : INQ_OK;
    bool any = false;
    for (size_t r = 0; code == INQ_OK && r < n_ranks; r++) {
        const struct gathering *g = &c->ranks[r];
        for (size_t i = 0; i < g->n_channels; i++) {
            order[g->global[i]] |= g->order[i];
            any = any || order[g->global[i]] == NO_ORDER;
        }
    }
    for (size_t r = 0; any && code == INQ_OK && r < n_ranks; r++) {
        code = part_rank(c, index, order, r, err);
    }
    inq_mem_free(order);
    return code;
}

/* From the rank's own numbers of channels to those of all. */
static int renumber_rank(void *ctx, size_t r, struct inq_err *err)
{
    (void)err;
    struct gathering *g = &((struct collection *)ctx)->ranks[r];
    for (size_t i = 0; i < g->n; i++) {
        g->rows[i].channel = g->global[g->rows[i].channel];
    }
    return INQ_OK;
}

static int64_t launch_of(const struct inq_rank *rank, const struct inq_comm_row *row)
{
    uint32_t call = rank->events.call[row->event];
    return call != INQ_NONE ? rank->calls.start_ns[call] : INQ_TIME_NONE;
}

static int compare_launches(const void *a, const void *b, void *ctx)
{
    int64_t x = launch_of(ctx, a);
    int64_t y = launch_of(ctx, b);
    return x < y ? -1 : x > y;
}

/* Rows of one channel on several streams may start in another order than they were issued in; the
 * members agree on the latter. */
static int order_as_issued(const struct inq_rank *rank, struct inq_comm_row *rows, size_t n,
                           struct inq_err *err)
{
    const uint32_t *lane = rank->events.lane;
    bool one_stream = true;
    bool launched = true;
    for (size_t i = 0; i < n; i++) {
        one_stream = one_stream && lane[rows[i].event] == lane[rows[0].event];
        launched = launched && rank->events.call[rows[i].event] != INQ_NONE;
    }
    if (one_stream || !launched) {
        return INQ_OK;
    }
    struct inq_rank of = *rank;
    return inq_sort(rows, n, sizeof *rows, compare_launches, &of, err);
}

static int sort_rank(void *ctx, size_t r, struct inq_err *err)
{
    const struct collection *c = ctx;
    struct gathering *g = &c->ranks[r];
    int code = inq_sort(g->rows, g->n, sizeof *g->rows, compare_starts, NULL, err);
    for (size_t lo = 0, hi; code == INQ_OK && lo < g->n; lo = hi) {
        for (hi = lo + 1; hi < g->n && g->rows[hi].channel == g->rows[lo].channel;) {
            hi++;
        }
        code = order_as_issued(&c->trace->ranks[r], g->rows + lo, hi - lo, err);
    }
    return code;
}

/* ---- from channel to ranks ------------------------------------------------------------------- */

static void list_sides(const struct inq_comm_rows *rows, size_t *next, bool count)
{
    for (size_t r = 0; r < rows->n_ranks; r++) {
        struct inq_comm_row *row = rows->rows[r];
        for (size_t lo = 0, hi; lo < rows->n_rows[r]; lo = hi) {
            for (hi = lo + 1; hi < rows->n_rows[r] && row[hi].channel == row[lo].channel;) {
                hi++;
            }
            if (count) {
                rows->first_side[row[lo].channel + 1]++;
            } else {
                rows->sides[next[row[lo].channel]++] =
                    (struct inq_side){(uint32_t)r, hi - lo, row + lo};
            }
        }
    }
}

static int index_sides(struct inq_comm_rows *rows, struct inq_err *err)
{
    rows->first_side = inq_mem_zalloc(rows->n_channels + 1, sizeof *rows->first_side);
    size_t *next = inq_mem_alloc((rows->n_channels + 1) * sizeof *next);
    if (rows->first_side != NULL && next != NULL) {
        list_sides(rows, next, true);
        for (size_t c = 0; c < rows->n_channels; c++) {
            rows->first_side[c + 1] += rows->first_side[c];
            next[c] = rows->first_side[c];
        }
        rows->sides = inq_mem_alloc((rows->first_side[rows->n_channels] + 1) * sizeof *rows->sides);
    }
    if (rows->sides != NULL) {
        list_sides(rows, next, false);
    }
    inq_mem_free(next);
    return rows->sides != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for channels");
}

/* ---- recorded sequence numbers --------------------------------------------------------------- */

/* Kernels of one coalesced call have one number: where they end. */
static size_t end_of_call(const struct inq_side *side, size_t from)
{
    size_t to = from;
    while (to < side->n && side->rows[to].seq == side->rows[from].seq) {
        to++;
    }
    return to;
}

/* A call that lies within a capture is there with all its kernels. */
enum { WHOLE_CALL = 1, KERNELS_SHIFT = 1 };

/* Kernels of each number, at most on any side, and whether some side has the whole call. False: the
 * numbers of a side do not rise. */
static int count_kernels(const struct inq_side *side, struct inq_map *kernels, bool *rise,
                         struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t lo = 0, hi; *rise && code == INQ_OK && lo < side->n; lo = hi) {
        hi = end_of_call(side, lo);
        uint32_t known = 0;
        int64_t seq = side->rows[lo].seq;
        *rise = seq >= 0 && (lo == 0 || seq > side->rows[lo - 1].seq);
        (void)inq_map_get(kernels, (uint64_t)seq, &known);
        uint32_t most = known >> KERNELS_SHIFT;
        most = most < hi - lo ? (uint32_t)(hi - lo) : most;
        uint32_t whole = (known & WHOLE_CALL) | (lo > 0 && hi < side->n ? WHOLE_CALL : 0);
        code = inq_map_put(kernels, (uint64_t)seq, most << KERNELS_SHIFT | whole, err);
    }
    return code;
}

/* Numbers the kernels of each call. False: a call has fewer than on another side, and it is not
 * clear that the capture begins or ends in it, or which of them are missing. */
static bool number_kernels(const struct inq_side *side, const struct inq_map *kernels)
{
    for (size_t lo = 0, hi; lo < side->n; lo = hi) {
        hi = end_of_call(side, lo);
        uint32_t known = 0;
        (void)inq_map_get(kernels, (uint64_t)side->rows[lo].seq, &known);
        uint32_t most = known >> KERNELS_SHIFT;
        bool at_one_end = (lo == 0) != (hi == side->n);
        if (hi - lo < most && (!at_one_end || (known & WHOLE_CALL) == 0)) {
            return false;
        }
        uint32_t first = lo == 0 ? most - (uint32_t)(hi - lo) : 0;
        for (size_t i = lo; i < hi; i++) {
            side->rows[i].call = first + (uint32_t)(i - lo);
        }
    }
    return true;
}

/* Numbers that do not rise with the rows, or are the same throughout, or differ in the kernels of a
 * call, say nothing: they are taken off. */
static int settle_numbers(void *ctx, size_t channel, struct inq_err *err)
{
    const struct inq_comm_rows *rows = ctx;
    const struct inq_side *sides = rows->sides + rows->first_side[channel];
    size_t n = rows->first_side[channel + 1] - rows->first_side[channel];
    struct inq_map kernels = {0};
    bool hold = true;
    bool several = false;
    int code = INQ_OK;
    for (size_t s = 0; s < n && hold && code == INQ_OK; s++) {
        several = several || sides[s].n > 1;
        code = count_kernels(&sides[s], &kernels, &hold, err);
    }
    hold = hold && (kernels.n > 1 || !several);
    for (size_t s = 0; s < n && hold && code == INQ_OK; s++) {
        hold = number_kernels(&sides[s], &kernels);
    }
    inq_map_release(&kernels);
    for (size_t s = 0; s < n && !hold; s++) {
        for (size_t i = 0; i < sides[s].n; i++) {
            sides[s].rows[i].seq = -1;
        }
    }
    return code;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int collect(struct collection *c, int jobs, struct inq_err *err)
{
    struct inq_comm_rows *rows = c->rows;
    struct inq_map index = {0};
    int code = inq_groups_infer(c->trace, err);
    if (code == INQ_OK) {
        code = inq_par_for(rows->n_ranks, jobs, collect_rank, c, err);
    }
    if (code == INQ_OK) {
        code = number_channels(c, &index, err);
    }
    if (code == INQ_OK) {
        code = join_pairs(c, &index, err);
    }
    if (code == INQ_OK) {
        code = inq_par_for(rows->n_ranks, jobs, renumber_rank, c, err);
    }
    if (code == INQ_OK) {
        code = part_channels(c, &index, err);
    }
    if (code == INQ_OK) {
        code = inq_par_for(rows->n_ranks, jobs, sort_rank, c, err);
    }
    inq_map_release(&index);
    return code;
}

int inq_comm_rows_collect(struct inq_trace *trace, int jobs, struct inq_comm_rows *rows,
                          struct inq_err *err)
{
    *rows = (struct inq_comm_rows){.n_ranks = trace->n_ranks};
    rows->n_rows = inq_mem_zalloc(trace->n_ranks, sizeof *rows->n_rows);
    rows->rows = inq_mem_zalloc(trace->n_ranks, sizeof(struct inq_comm_row *));
    struct gathering *ranks = inq_mem_zalloc(trace->n_ranks + 1, sizeof *ranks);
    struct collection c = {trace, rows, ranks};
    int code = rows->n_rows != NULL && rows->rows != NULL && ranks != NULL
                   ? collect(&c, jobs, err)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for communication rows");
    for (size_t r = 0; ranks != NULL && r < trace->n_ranks; r++) {
        if (code == INQ_OK) {
            rows->rows[r] = ranks[r].rows;
            rows->n_rows[r] = ranks[r].n;
            rows->unplaced += ranks[r].unplaced;
        } else {
            inq_mem_free(ranks[r].rows);
        }
        inq_mem_free(ranks[r].channels);
        inq_mem_free(ranks[r].order);
        inq_mem_free(ranks[r].global);
        inq_map_release(&ranks[r].index);
    }
    inq_mem_free(ranks);
    if (code == INQ_OK) {
        code = index_sides(rows, err);
    }
    return code == INQ_OK ? inq_par_for(rows->n_channels, jobs, settle_numbers, rows, err) : code;
}

void inq_comm_rows_release(struct inq_comm_rows *rows)
{
    for (size_t r = 0; rows->rows != NULL && r < rows->n_ranks; r++) {
        inq_mem_free(rows->rows[r]);
    }
    inq_mem_free(rows->rows);
    inq_mem_free(rows->n_rows);
    inq_mem_free(rows->channels);
    inq_mem_free(rows->first_side);
    inq_mem_free(rows->sides);
    *rows = (struct inq_comm_rows){0};
}
