/* SPDX-License-Identifier: Apache-2.0 */
/* Times for graphs that nobody timed, from the durations of their nodes: a node begins when all
 * that it depends on has ended and, unless it communicates, its lane is free; an operation of
 * several ranks ends for all of them together, its transfer after the last has come. Durations that
 * were recorded hold waiting too, so the transfer is the shortest of them. */
#include "ingest/chakra/rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "ingest/ingest.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <string.h>

/* A time beyond is none: sums of two stay far from overflow. */
#define MAX_TIME_NS (INT64_MAX / 4)
/* Lanes for communication that its own lane has no room for begin here: no stream has such a
 * number. */
#define SPARE_LANE ((int64_t)1 << 40)

/* Of all ranks, one graph behind the other. */
struct node {
    const struct inq_chakra_op *op;
    int64_t start_ns, end_ns;
    int64_t called_ns; /* when all of the host that it depends on had ended */
    uint32_t graph;
    uint32_t waits; /* for so many others, with this many dependents from there on: */
    uint32_t n_next;
    size_t first_next;
    uint32_t meeting; /* INQ_NONE: with no other rank */
    uint32_t fellow;  /* the next one there, or INQ_NONE */
    bool begun;
};

/* An operation of several ranks. */
struct meeting {
    uint32_t members, arrived, first;
    int64_t last_ns, transfer_ns;
};

struct graph {
    struct inq_shard *shard;
    struct inq_map by_id; /* place among the nodes of all */
    size_t first;         /* of its nodes */
    int64_t *free_ns;     /* [lanes] when each has ended what it began */
};

struct placing {
    struct graph *graphs;
    size_t n_graphs;
    struct node *nodes;
    size_t n;
    uint32_t *next;            /* dependents */
    struct inq_map meeting_of; /* by key */
    struct meeting *meetings;
    size_t n_meetings, cap_meetings;
    uint32_t *heap; /* nodes that have begun, the first to end on top */
    size_t n_heap;
    uint64_t unmet; /* dependencies on nodes that are not there */
};

/* ---- what meets ------------------------------------------------------------------------------ */

static uint64_t key_of(const struct inq_shard *shard, const struct inq_comm *comm)
{
    const struct inq_rank *rank = &shard->ranks[0];
    bool send = comm->kind == INQ_COLL_SEND;
    if (send || comm->kind == INQ_COLL_RECV) {
        uint64_t from = (uint64_t)(uint32_t)(send ? rank->rank : comm->peer);
        uint64_t to = (uint64_t)(uint32_t)(send ? comm->peer : rank->rank);
        return comm->peer >= 0 ? inq_hash_u64(from << 32 | to) : 0;
    }
    uint64_t key = inq_hash_u64((uint64_t)comm->kind + 1);
    if (comm->group != INQ_NONE) {
        const struct inq_group *group = &shard->groups[comm->group];
        const char *name = inq_strtab_get(&shard->names, group->name);
        key ^= inq_hash_bytes(name, strlen(name));
        key += group->n_ranks > 0
                   ? inq_hash_bytes(group->ranks, group->n_ranks * sizeof *group->ranks)
                   : 0;
    }
    return key;
}

static int join_meeting(struct placing *p, uint32_t index, uint64_t key, struct inq_err *err)
{
    struct node *node = &p->nodes[index];
    int code = INQ_OK;
    if (!inq_map_get(&p->meeting_of, key, &node->meeting)) {
        node->meeting = (uint32_t)p->n_meetings;
        code = inq_mem_grow(&p->meetings, &p->cap_meetings, p->n_meetings + 1, sizeof *p->meetings,
                            INQ_MAX_ROWS, err);
        code = code == INQ_OK ? inq_map_put(&p->meeting_of, key, node->meeting, err) : code;
        if (code != INQ_OK) {
            return code;
        }
        p->meetings[p->n_meetings++] =
            (struct meeting){.first = INQ_NONE, .transfer_ns = INT64_MAX};
    }
    struct meeting *meeting = &p->meetings[node->meeting];
    node->fellow = meeting->first;
    meeting->first = index;
    meeting->members++;
    meeting->transfer_ns =
        node->op->row.dur_ns < meeting->transfer_ns ? node->op->row.dur_ns : meeting->transfer_ns;
    return INQ_OK;
}

/* The nodes of one rank in their order: the third all-reduce of a group meets the others' third. */
static int find_meetings(struct placing *p, const struct graph *graph, struct inq_err *err)
{
    struct inq_map seen = {0};
    const struct inq_untimed *untimed = graph->shard->untimed;
    int code = INQ_OK;
    for (size_t i = 0; i < untimed->n_ops && code == INQ_OK; i++) {
        const struct inq_chakra_op *op = &untimed->ops[i];
        const struct inq_comm *comms = graph->shard->ranks[0].comms;
        uint64_t key = op->row.comm != INQ_NONE ? key_of(graph->shard, &comms[op->row.comm]) : 0;
        uint32_t ordinal = 0;
        if (key != 0) {
            (void)inq_map_get(&seen, key, &ordinal);
            code = inq_map_put(&seen, key, ordinal + 1, err);
            code = code == INQ_OK ? join_meeting(p, (uint32_t)(graph->first + i),
                                                 inq_hash_u64(key + ordinal), err)
                                  : code;
        }
    }
    inq_map_release(&seen);
    return code;
}

/* ---- who waits for whom ---------------------------------------------------------------------- */

/* Counts dependents (next == NULL), or lists them. */
static void each_dependency(struct placing *p, const struct graph *graph, bool list)
{
    const struct inq_untimed *untimed = graph->shard->untimed;
    for (size_t i = 0; i < untimed->n_ops; i++) {
        const struct inq_chakra_op *op = &untimed->ops[i];
        uint32_t own = (uint32_t)(graph->first + i);
        for (uint32_t d = 0; d < op->n_deps; d++) {
            uint32_t before = 0;
            bool there =
                inq_map_get(&graph->by_id, (uint64_t)untimed->deps[op->first_dep + d], &before) &&
                before != own;
            if (there && list) {
                struct node *node = &p->nodes[before];
                p->next[node->first_next + node->n_next++] = own;
                p->nodes[own].waits++;
            } else if (there) {
                p->nodes[before].n_next++;
            } else {
                p->unmet += !list;
            }
        }
    }
}

static int link_nodes(struct placing *p, struct inq_err *err)
{
    size_t n = 0;
    for (size_t g = 0; g < p->n_graphs; g++) {
        each_dependency(p, &p->graphs[g], false);
    }
    for (size_t i = 0; i < p->n; i++) {
        p->nodes[i].first_next = n;
        n += p->nodes[i].n_next;
        p->nodes[i].n_next = 0;
    }
    p->next = inq_mem_alloc((n + 1) * sizeof *p->next);
    if (p->next == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu dependencies", n);
    }
    for (size_t g = 0; g < p->n_graphs; g++) {
        each_dependency(p, &p->graphs[g], true);
    }
    return INQ_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool ends_before(const struct placing *p, uint32_t a, uint32_t b)
{
    int64_t x = p->nodes[a].end_ns;
    int64_t y = p->nodes[b].end_ns;
    return x != y ? x < y : a < b;
}

static void push(struct placing *p, uint32_t index)
{
    size_t at = p->n_heap++;
    while (at > 0 && ends_before(p, index, p->heap[(at - 1) / 2])) {
        p->heap[at] = p->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    p->heap[at] = index;
}

static uint32_t pop(struct placing *p)
{
    uint32_t top = p->heap[0];
    uint32_t last = p->heap[--p->n_heap];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < p->n_heap; at = child) {
        child += child + 1 < p->n_heap && ends_before(p, p->heap[child + 1], p->heap[child]);
        if (!ends_before(p, p->heap[child], last)) {
            break;
        }
        p->heap[at] = p->heap[child];
    }
    p->heap[at] = last;
    return top;
}

static int64_t later(int64_t from_ns, int64_t dur_ns)
{
    return from_ns < MAX_TIME_NS - dur_ns ? from_ns + dur_ns : MAX_TIME_NS;
}

static bool is_receive(const struct placing *p, uint32_t index)
{
    const struct node *node = &p->nodes[index];
    const struct inq_rank *rank = &p->graphs[node->graph].shard->ranks[0];
    return rank->comms[node->op->row.comm].kind == INQ_COLL_RECV;
}

/* The last one to come ends it for all. */
static void arrive(struct placing *p, uint32_t index)
{
    struct node *node = &p->nodes[index];
    struct meeting *meeting = &p->meetings[node->meeting];
    meeting->last_ns = node->start_ns > meeting->last_ns ? node->start_ns : meeting->last_ns;
    if (++meeting->arrived < meeting->members) {
        return;
    }
    for (uint32_t i = meeting->first; i != INQ_NONE; i = p->nodes[i].fellow) {
        /* a schedule's receive that depends on nothing is posted long before: it is its transfer */
        const struct inq_chakra_op *op = p->nodes[i].op;
        bool posted = op->n_deps == 0 && op->row.label != INQ_NONE && is_receive(p, i);
        p->nodes[i].start_ns = posted ? meeting->last_ns : p->nodes[i].start_ns;
        p->nodes[i].end_ns = later(meeting->last_ns, meeting->transfer_ns);
        push(p, i);
    }
}

/* All that the node depends on has ended by then. */
static void begin(struct placing *p, uint32_t index, int64_t ns)
{
    struct node *node = &p->nodes[index];
    node->begun = true;
    node->start_ns = ns;
    if (node->meeting != INQ_NONE) {
        arrive(p, index);
        return;
    }
    int64_t *free_ns = &p->graphs[node->graph].free_ns[node->op->row.lane];
    /* the wait of a node that waits for the device is in its duration, which says no more then */
    int64_t from_ns = node->op->waits ? node->called_ns : ns;
    node->start_ns = *free_ns > from_ns ? *free_ns : from_ns;
    node->end_ns = node->op->waits ? (node->start_ns > ns ? node->start_ns : ns)
                                   : later(node->start_ns, node->op->row.dur_ns);
    *free_ns = node->end_ns;
    push(p, index);
}

static void run(struct placing *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->nodes[i].waits == 0) {
            begin(p, i, 0);
        }
    }
    while (p->n_heap > 0) {
        const struct node *ended = &p->nodes[pop(p)];
        for (uint32_t k = 0; k < ended->n_next; k++) {
            uint32_t next = p->next[ended->first_next + k];
            p->nodes[next].called_ns = ended->op->device ? p->nodes[next].called_ns : ended->end_ns;
            if (--p->nodes[next].waits == 0) {
                begin(p, next, ended->end_ns);
            }
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool has_ended(const struct placing *p, const struct node *node)
{
    const struct meeting *meeting = node->meeting != INQ_NONE ? &p->meetings[node->meeting] : NULL;
    return node->begun && (meeting == NULL || meeting->arrived == meeting->members);
}

/* Communication goes on beside communication: a lane holds one at a time. */
static int spare_lane(struct inq_rank *rank, int64_t **ends, size_t *n, const struct node *node,
                      uint32_t *lane, struct inq_err *err)
{
    int code = INQ_OK;
    for (int64_t spare = 0; code == INQ_OK; spare++) {
        size_t cap = *n;
        if (*lane >= cap) {
            code = inq_mem_grow(ends, &cap, *lane + 1, sizeof **ends, INQ_MAX_LANES, err);
            if (code != INQ_OK) {
                break;
            }
            memset(*ends + *n, 0, (cap - *n) * sizeof **ends);
            *n = cap;
        }
        if ((*ends)[*lane] <= node->start_ns) {
            (*ends)[*lane] = node->end_ns;
            break;
        }
        code = inq_rank_lane(rank, rank->lanes[*lane].kind, -1, SPARE_LANE + spare, lane, err);
    }
    return code;
}

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct node *nodes = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (nodes[x].start_ns != nodes[y].start_ns) {
        return nodes[x].start_ns < nodes[y].start_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static int add_host_row(struct inq_shard *shard, const struct node *node, struct inq_err *err)
{
    const struct inq_event_row *row = &node->op->row;
    const char *text = inq_strtab_get(&shard->names, row->name);
    struct inq_note note = {.start_ns = node->start_ns,
                            .dur_ns = node->end_ns - node->start_ns,
                            .name = row->name,
                            .lane = row->lane};
    note.kind = (uint8_t)inq_classify_note(text, strlen(text), &note.number);
    int code =
        note.kind != INQ_NOTE_OTHER ? inq_rank_add_note(&shard->ranks[0], &note, err) : INQ_OK;
    return code == INQ_OK && node->op->is_call
               ? inq_rank_add_call(&shard->ranks[0], node->start_ns, note.dur_ns, row->name,
                                   row->lane, node->op->id, err)
               : code;
}

struct rows {
    int64_t *ends; /* [n_ends] of lanes, those of communication only */
    size_t n_ends;
    uint64_t left_out;
    int64_t host_end_ns;
};

static int add_row(struct placing *p, struct inq_shard *shard, const struct node *node,
                   struct rows *rows, struct inq_err *err)
{
    struct inq_rank *rank = &shard->ranks[0];
    struct inq_event_row row = node->op->row;
    if (!has_ended(p, node)) {
        rows->left_out++;
        return INQ_OK;
    }
    if (!node->op->device) {
        rows->host_end_ns = node->end_ns > rows->host_end_ns ? node->end_ns : rows->host_end_ns;
        return add_host_row(shard, node, err);
    }
    bool message = node->meeting != INQ_NONE && rank->comms[row.comm].peer >= 0;
    bool moves = message && p->meetings[node->meeting].transfer_ns > 0;
    if (message && row.label == INQ_NONE && (!moves || rank->n_labels > 0)) {
        return INQ_OK; /* of no time, or beside the ops of a schedule: only orders the ranks */
    }
    row.comm = row.label != INQ_NONE ? INQ_NONE : row.comm; /* a schedule's op meets by its label */
    row.start_ns = node->start_ns;
    row.dur_ns = node->end_ns - node->start_ns;
    int code = node->meeting != INQ_NONE
                   ? spare_lane(rank, &rows->ends, &rows->n_ends, node, &row.lane, err)
                   : INQ_OK;
    return code == INQ_OK ? inq_rank_add_event(rank, &row, err) : code;
}

static int say(struct placing *p, struct inq_shard *shard, const struct rows *rows,
               struct inq_err *err)
{
    struct inq_file *file = &shard->file;
    file->reason =
        rows->left_out > 0
            ? inq_arena_asprintf(&shard->arena,
                                 "no start times: nodes are placed by durations and "
                                 "dependencies; %" PRIu64 " that wait for each other are left out",
                                 rows->left_out)
        : p->unmet > 0 ? inq_arena_asprintf(&shard->arena,
                                            "no start times: nodes are placed by durations and "
                                            "dependencies; in all ranks %" PRIu64
                                            " dependencies are on nodes that are not there",
                                            p->unmet)
                       : "no start times: nodes are placed by durations and dependencies";
    return file->reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static int add_rows(struct placing *p, const struct graph *graph, struct inq_err *err)
{
    struct inq_shard *shard = graph->shard;
    size_t n = shard->untimed->n_ops;
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    struct rows rows = {0};
    int code = order != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        order[i] = (uint32_t)(graph->first + i);
    }
    code = code == INQ_OK ? inq_sort(order, n, sizeof *order, by_start, p->nodes, err) : code;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = add_row(p, shard, &p->nodes[order[i]], &rows, err);
    }
    inq_mem_free(order);
    inq_mem_free(rows.ends);
    code =
        code == INQ_OK ? inq_chakra_stretch_steps(&shard->ranks[0], rows.host_end_ns, err) : code;
    struct inq_rank *rank = &shard->ranks[0];
    inq_mem_free(rank->events.step); /* it was sealed before, without a row */
    rank->events.step = NULL;
    code = code == INQ_OK ? inq_shard_finalize(shard, err) : code;
    shard->file.events_kept = rank->events.n + rank->calls.n + rank->n_notes;
    return code == INQ_OK ? say(p, shard, &rows, err) : code;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int list_nodes(struct placing *p, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t g = 0; g < p->n_graphs && code == INQ_OK; g++) {
        struct graph *graph = &p->graphs[g];
        const struct inq_untimed *untimed = graph->shard->untimed;
        size_t lanes = graph->shard->ranks[0].n_lanes;
        graph->free_ns = inq_mem_zalloc(lanes + 1, sizeof *graph->free_ns);
        if (graph->free_ns == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu lanes", lanes);
        }
        for (size_t i = 0; i < untimed->n_ops && code == INQ_OK; i++) {
            size_t at = graph->first + i;
            p->nodes[at] = (struct node){.op = &untimed->ops[i],
                                         .graph = (uint32_t)g,
                                         .meeting = INQ_NONE,
                                         .fellow = INQ_NONE};
            code = inq_map_put(&graph->by_id, (uint64_t)untimed->ops[i].id, (uint32_t)at, err);
        }
        code = code == INQ_OK ? find_meetings(p, graph, err) : code;
    }
    return code;
}

static int place_run(struct placing *p, struct inq_err *err)
{
    p->n = 0;
    for (size_t g = 0; g < p->n_graphs; g++) {
        p->graphs[g].first = p->n;
        p->n += p->graphs[g].shard->untimed->n_ops;
    }
    if (p->n >= INQ_MAX_ROWS) {
        return inq_err_set(err, INQ_LIMIT, "%zu nodes are too many to place", p->n);
    }
    p->nodes = inq_mem_alloc((p->n + 1) * sizeof *p->nodes);
    p->heap = inq_mem_alloc((p->n + 1) * sizeof *p->heap);
    if (p->nodes == NULL || p->heap == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu nodes", p->n);
    }
    int code = list_nodes(p, err);
    code = code == INQ_OK ? link_nodes(p, err) : code;
    if (code == INQ_OK) {
        run(p);
    }
    for (size_t g = 0; g < p->n_graphs && code == INQ_OK; g++) {
        code = add_rows(p, &p->graphs[g], err);
    }
    return code;
}

static void release(struct placing *p)
{
    for (size_t g = 0; g < p->n_graphs; g++) {
        inq_map_release(&p->graphs[g].by_id);
        inq_mem_free(p->graphs[g].free_ns);
        p->graphs[g].shard->untimed = NULL;
    }
    inq_mem_free(p->nodes);
    inq_mem_free(p->next);
    inq_mem_free(p->heap);
    inq_mem_free(p->meetings);
    inq_map_release(&p->meeting_of);
}

/* A rank that comes again is one of another run. */
static size_t list_run(struct inq_shard *shards, size_t from, size_t n, struct placing *p,
                       struct inq_err *err, int *code)
{
    struct inq_map ranks = {0};
    size_t i = from;
    for (; i < n && *code == INQ_OK; i++) {
        uint32_t none;
        if (shards[i].untimed == NULL) {
            continue;
        }
        uint64_t rank = (uint64_t)(uint32_t)shards[i].ranks[0].rank;
        if (inq_map_get(&ranks, rank, &none)) {
            break;
        }
        *code = inq_map_put(&ranks, rank, 0, err);
        p->graphs[p->n_graphs++] = (struct graph){.shard = &shards[i]};
    }
    inq_map_release(&ranks);
    return i;
}

static int place_all(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct graph *graphs = inq_mem_zalloc(n + 1, sizeof *graphs);
    int code = graphs != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (size_t from = 0; from < n && code == INQ_OK;) {
        struct placing p = {.graphs = graphs};
        from = list_run(shards, from, n, &p, err, &code);
        code = code == INQ_OK && p.n_graphs > 0 ? place_run(&p, err) : code;
        release(&p);
    }
    inq_mem_free(graphs);
    return code;
}

/* ---- beside other traces --------------------------------------------------------------------- */

static bool is_chakra(const struct inq_shard *shard)
{
    return shard->file.read && shard->n_ranks == 1 && shard->file.format != NULL &&
           strcmp(shard->file.format, INQ_CHAKRA_FORMAT) == 0;
}

static bool have_met(const struct inq_rank *a, const struct inq_rank *b)
{
    bool timed = a->has_clock_epoch && b->has_clock_epoch && a->first_ns != INQ_TIME_NONE &&
                 b->first_ns != INQ_TIME_NONE;
    return timed && a->first_ns <= b->last_ns && b->first_ns <= a->last_ns;
}

/* A graph is made from a rank's trace, and is often kept beside it: that is no second run. */
int inq_chakra_join(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct inq_map traces = {0}; /* rank to shard, of one rank, that is another format's */
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        bool one = shards[i].file.read && shards[i].n_ranks == 1 && !is_chakra(&shards[i]);
        if (one && shards[i].ranks[0].rank >= 0) {
            code = inq_map_put(&traces, (uint64_t)shards[i].ranks[0].rank, (uint32_t)i, err);
        }
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        uint32_t other;
        if (is_chakra(&shards[i]) && shards[i].ranks[0].rank >= 0 &&
            inq_map_get(&traces, (uint64_t)shards[i].ranks[0].rank, &other) &&
            (shards[i].untimed != NULL || have_met(&shards[i].ranks[0], &shards[other].ranks[0]))) {
            inq_unrecognized_set_aside(&shards[i],
                                       "its rank's trace is beside it, which holds more");
        }
    }
    inq_map_release(&traces);
    return code == INQ_OK ? place_all(shards, n, err) : code;
}
