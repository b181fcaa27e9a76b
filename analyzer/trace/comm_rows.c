/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/comm_rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "trace/classify.h"
#include "trace/shard.h"
#include "trace/steps.h"

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

/* The part of the size that is the same on every member; 0 when unknown or when it may differ. */
static uint64_t common_size(const struct inq_comm *comm)
{
    int64_t elems = -1;
    if (comm->kind == INQ_COLL_ALLREDUCE || comm->kind == INQ_COLL_ALLGATHER ||
        comm->kind == INQ_COLL_BROADCAST || comm->kind == INQ_COLL_ALLTOALL) {
        elems = comm->in_elems;
    } else if (comm->kind == INQ_COLL_REDUCE_SCATTER) {
        elems = comm->out_elems;
    }
    return elems < 0 ? 0 : (uint64_t)elems * 32 + comm->dtype_bytes + 1;
}

bool inq_comm_rows_agree(const struct inq_comm_row *a, const struct inq_comm_row *b)
{
    return a->family == b->family && (a->size == 0 || b->size == 0 || a->size == b->size);
}

/* ---- channels -------------------------------------------------------------------------------- */

static int find_channel(struct inq_comm_rows *rows, struct inq_map *index,
                        const struct inq_channel *channel, uint32_t *found, struct inq_err *err)
{
    uint64_t key = inq_hash_bytes(channel, sizeof *channel);
    if (inq_map_get(index, key, found)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&rows->channels, &rows->cap_channels, rows->n_channels + 1,
                            sizeof *rows->channels, INQ_MAX_GROUPS * 16, err);
    if (code == INQ_OK) {
        *found = (uint32_t)rows->n_channels;
        rows->channels[rows->n_channels++] = *channel;
        code = inq_map_put(index, key, *found, err);
    }
    return code;
}

static bool is_p2p(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_SEND || kind == INQ_COLL_RECV;
}

static bool is_comm_kernel(const struct inq_events *e, size_t i)
{
    return e->cls[i] == INQ_CLASS_COMM && e->kind[i] == INQ_EVENT_KERNEL && e->comm[i] != INQ_NONE;
}

/* ---- inferred groups ------------------------------------------------------------------------- */

static bool needs_group(const struct inq_rank *rank, size_t event)
{
    return is_comm_kernel(&rank->events, event) &&
           rank->comms[rank->events.comm[event]].group == INQ_NONE;
}

/* Lanes of a rank that carry communication without a recorded group, by stream id. */
struct streams {
    size_t n;
    uint32_t *lanes;
};

static int list_streams(const struct inq_rank *rank, struct streams *streams, struct inq_err *err)
{
    *streams = (struct streams){0};
    uint8_t *used = inq_mem_zalloc(rank->n_lanes, 1);
    streams->lanes = inq_mem_alloc(rank->n_lanes * sizeof *streams->lanes);
    if (used == NULL || streams->lanes == NULL) {
        inq_mem_free(used);
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu streams", rank->n_lanes);
    }
    for (size_t i = 0; i < rank->events.n; i++) {
        if (needs_group(rank, i)) {
            used[rank->events.lane[i]] = 1;
        }
    }
    for (size_t l = 0; l < rank->n_lanes; l++) {
        size_t at = streams->n;
        if (!used[l]) {
            continue;
        }
        for (; at > 0 && rank->lanes[streams->lanes[at - 1]].id > rank->lanes[l].id; at--) {
            streams->lanes[at] = streams->lanes[at - 1];
        }
        streams->lanes[at] = (uint32_t)l;
        streams->n++;
    }
    inq_mem_free(used);
    return INQ_OK;
}

/* Appends one group of all ranks, called after the stream it was inferred from. */
static int append_group(struct inq_trace *trace, size_t ordinal, uint32_t *index,
                        struct inq_err *err)
{
    struct inq_group *groups =
        inq_arena_array(trace->arena, trace->n_groups + 1, sizeof *trace->groups);
    int32_t *ranks = inq_arena_array(trace->arena, trace->n_ranks, sizeof *ranks);
    if (groups == NULL || ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a process group");
    }
    if (trace->n_groups > 0) {
        memcpy(groups, trace->groups, trace->n_groups * sizeof *groups);
    }
    uint32_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].rank >= 0) {
            ranks[n++] = trace->ranks[r].rank;
        }
    }
    char text[32];
    int len = snprintf(text, sizeof text, "inferred %zu", ordinal);
    struct inq_group *group = &groups[trace->n_groups];
    *group = (struct inq_group){
        .size = (int32_t)trace->n_ranks, .n_ranks = n, .ranks = ranks, .inferred = true};
    *index = (uint32_t)trace->n_groups;
    trace->groups = groups;
    trace->n_groups++;
    return inq_strtab_add(trace->names, text, (size_t)len, &group->name, err);
}

/* Gives every communication kernel without a group the inferred one of its stream. Streams of
 * different ranks correspond by their order of id when all ranks have as many, else one group
 * stands for all. */
static int assign_groups(struct inq_trace *trace, const struct streams *streams,
                         struct inq_err *err)
{
    size_t most = 0;
    bool equal = true;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        equal = equal && (streams[r].n == 0 || most == 0 || streams[r].n == most);
        most = streams[r].n > most ? streams[r].n : most;
    }
    size_t n_groups = equal ? most : 1;
    uint32_t first = 0;
    for (size_t g = 0; most > 0 && g < n_groups; g++) {
        uint32_t index = 0;
        int code = append_group(trace, g, &index, err);
        if (code != INQ_OK) {
            return code;
        }
        first = g == 0 ? index : first;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            size_t ordinal = 0;
            while (equal && ordinal + 1 < streams[r].n &&
                   streams[r].lanes[ordinal] != rank->events.lane[i]) {
                ordinal++;
            }
            if (needs_group(rank, i)) {
                struct inq_comm *comm = &rank->comms[rank->events.comm[i]];
                comm->group = first + (uint32_t)ordinal;
                comm->group_size = (int32_t)trace->n_ranks;
            }
        }
    }
    return INQ_OK;
}

static int infer_groups(struct inq_trace *trace, struct inq_err *err)
{
    struct streams *streams = inq_mem_zalloc(trace->n_ranks, sizeof *streams);
    int code = streams == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for streams") : INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = list_streams(&trace->ranks[r], &streams[r], err);
    }
    if (code == INQ_OK) {
        code = assign_groups(trace, streams, err);
    }
    for (size_t r = 0; streams != NULL && r < trace->n_ranks; r++) {
        inq_mem_free(streams[r].lanes);
    }
    inq_mem_free(streams);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare_rows(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_comm_row *x = a;
    const struct inq_comm_row *y = b;
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static struct inq_channel channel_of(const struct inq_rank *rank, const struct inq_comm *comm)
{
    struct inq_channel channel = {.group = comm->group, .from = -1, .to = -1};
    if (is_p2p(comm->kind)) {
        bool sends = comm->kind == INQ_COLL_SEND;
        channel.from = sends ? rank->rank : comm->peer;
        channel.to = sends ? comm->peer : rank->rank;
        channel.group = INQ_NONE; /* ranks of a pair may know the group by other names */
    }
    return channel;
}

static int64_t step_of(const struct inq_windows *steps, const struct inq_rank *rank, size_t event)
{
    uint32_t window = inq_windows_find(steps, rank, event);
    return window != INQ_NONE ? steps->rows[window].number : -1;
}

static int collect_rows(const struct inq_rank *rank, const struct inq_windows *steps,
                        struct inq_comm_rows *rows, size_t r, struct inq_map *index,
                        struct inq_err *err)
{
    const struct inq_events *e = &rank->events;
    size_t cap = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (!is_comm_kernel(e, i)) {
            continue;
        }
        const struct inq_comm *comm = &rank->comms[e->comm[i]];
        if (is_p2p(comm->kind) && (comm->peer < 0 || rank->rank < 0)) {
            rows->unplaced++;
            continue;
        }
        struct inq_comm_row row = {
            .event = (uint32_t)i,
            .start_ns = e->start_ns[i],
            .end_ns = e->start_ns[i] + e->dur_ns[i],
            /* each rank counts all its sends and receives: two ends of one differ */
            .seq = is_p2p(comm->kind) ? -1 : comm->seq,
            .step = step_of(steps, rank, i),
            .size = common_size(comm),
            .family = family_of(comm->kind),
            .nameless = comm->kind == INQ_COLL_COALESCED ||
                        (comm->from_name && comm->kind == INQ_COLL_SENDRECV),
        };
        struct inq_channel channel = channel_of(rank, comm);
        int code = find_channel(rows, index, &channel, &row.channel, err);
        if (code == INQ_OK) {
            code = inq_mem_grow(&rows->rows[r], &cap, rows->n_rows[r] + 1, sizeof row, INQ_MAX_ROWS,
                                err);
        }
        if (code != INQ_OK) {
            return code;
        }
        rows->rows[r][rows->n_rows[r]++] = row;
    }
    return inq_sort(rows->rows[r], rows->n_rows[r], sizeof **rows->rows, compare_rows, NULL, err);
}

static int collect_rank(const struct inq_rank *rank, struct inq_comm_rows *rows, size_t r,
                        struct inq_map *index, struct inq_err *err)
{
    struct inq_windows steps = {0};
    int code = inq_windows_recorded(rank, &steps, err);
    if (code == INQ_OK) {
        code = collect_rows(rank, &steps, rows, r, index, err);
    }
    inq_mem_free(steps.rows);
    return code;
}

int inq_comm_rows_collect(struct inq_trace *trace, struct inq_comm_rows *rows, struct inq_err *err)
{
    *rows = (struct inq_comm_rows){.n_ranks = trace->n_ranks};
    rows->n_rows = inq_mem_zalloc(trace->n_ranks, sizeof *rows->n_rows);
    rows->rows = inq_mem_zalloc(trace->n_ranks, sizeof(struct inq_comm_row *));
    if (rows->n_rows == NULL || rows->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for communication rows");
    }
    int code = infer_groups(trace, err);
    struct inq_map index = {0};
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = collect_rank(&trace->ranks[r], rows, r, &index, err);
    }
    inq_map_release(&index);
    return code;
}

void inq_comm_rows_release(struct inq_comm_rows *rows)
{
    for (size_t r = 0; rows->rows != NULL && r < rows->n_ranks; r++) {
        inq_mem_free(rows->rows[r]);
    }
    inq_mem_free(rows->rows);
    inq_mem_free(rows->n_rows);
    inq_mem_free(rows->channels);
    *rows = (struct inq_comm_rows){0};
}
