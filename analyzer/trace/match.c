/* SPDX-License-Identifier: Apache-2.0 */
/* Matching collectives across ranks. Within a channel (a group, or one direction of a pair) every
 * member runs the same operations in the same order, but each rank's capture may begin, end or have
 * holes elsewhere: the ranks' rows are merged one after the other into one master sequence, walking
 * both in order, with aligned end times to tell a hole from a match. Recorded sequence numbers,
 * where all rows of a channel have them, decide alone. */
#include "trace/assemble.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/classify.h"
#include "trace/comm_rows.h"

#include <string.h>

/* Ends of one operation on two ranks never differ by more than this after the first clock estimate:
 * synchronising kinds end within microseconds of each other, but drift and a wrong first estimate
 * add to it; a sender may end long before its receiver. */
static const int64_t SYNC_TOLERANCE_NS = 20000000;
static const int64_t LOOSE_TOLERANCE_NS = 1000000000;
/* Kernels of which only "send or receive" is known count as one collective only when they end
 * together as one. */
static const int64_t NAMELESS_TOLERANCE_NS = 1000000;

/* One operation of a channel, found on one or more ranks. */
struct instance {
    struct inq_comm_row row; /* of the member that came first; end_ns aligned */
    uint32_t last_member;    /* chain into members, INQ_NONE at the end */
    uint32_t n_members;
    bool nameless; /* so far no member says more than "send or receive" */
};

struct link {
    struct inq_member member;
    uint32_t previous;
};

struct matcher {
    struct inq_trace *trace;
    struct inq_comm_rows rows;
    int64_t *offset_ns;               /* [n_ranks] first clock estimate */
    struct instance *master, *merged; /* of the channel in work */
    size_t n_master, cap_master, cap_merged;
    struct link *links;
    size_t n_links, cap_links;
    struct inq_collective *found; /* all channels */
    size_t n_found, cap_found;
    struct inq_member *members;
    size_t n_members, cap_members;
    uint64_t placed; /* rows that stand in a collective */
    struct inq_err *err;
};

/* ---- merging one rank into the master sequence ----------------------------------------------- */

static int64_t gap(const struct instance *a, int64_t end_ns)
{
    return a->row.end_ns > end_ns ? a->row.end_ns - end_ns : end_ns - a->row.end_ns;
}

static int64_t tolerance(const struct instance *a, const struct inq_comm_row *b)
{
    if (a->nameless && b->nameless) {
        return NAMELESS_TOLERANCE_NS;
    }
    bool sync = a->row.family >= INQ_COLL_KIND_COUNT ||
                inq_coll_synchronises((enum inq_coll_kind)a->row.family);
    return sync ? SYNC_TOLERANCE_NS : LOOSE_TOLERANCE_NS;
}

static bool can_match(const struct instance *a, const struct inq_comm_row *b, int64_t end_ns)
{
    return inq_comm_rows_agree(&a->row, b) && gap(a, end_ns) <= tolerance(a, b);
}

/* One rank's rows of one channel with the rank's clock. */
struct side {
    const struct inq_comm_row *rows;
    size_t n, at;
    int64_t offset_ns;
};

static int64_t end_of(const struct side *side, size_t i)
{
    return side->rows[i].end_ns + side->offset_ns;
}

/* Ends are in order, so candidates come nearer and nearer in time and then move away again; some
 * that do not agree may stand between them. */
enum { MAX_LOOK_AHEAD = 4096 };

/* The smallest gap between row `at` and any of master[from...]. */
static int64_t nearest_in_master(const struct matcher *m, size_t from, const struct side *side)
{
    int64_t end_ns = end_of(side, side->at);
    int64_t best = INT64_MAX;
    for (size_t i = from; i < m->n_master && i - from < MAX_LOOK_AHEAD; i++) {
        int64_t here = gap(&m->master[i], end_ns);
        if (can_match(&m->master[i], &side->rows[side->at], end_ns)) {
            best = here < best ? here : best;
        }
        bool behind = m->master[i].row.end_ns > end_ns;
        if (behind && (here >= best || here > LOOSE_TOLERANCE_NS)) {
            break;
        }
    }
    return best;
}

/* The smallest gap between master[i] and any row from `from` on. */
static int64_t nearest_in_side(const struct instance *master, const struct side *side, size_t from)
{
    int64_t best = INT64_MAX;
    for (size_t k = from; k < side->n && k - from < MAX_LOOK_AHEAD; k++) {
        int64_t end_ns = end_of(side, k);
        int64_t here = gap(master, end_ns);
        if (can_match(master, &side->rows[k], end_ns)) {
            best = here < best ? here : best;
        }
        bool behind = end_ns > master->row.end_ns;
        if (behind && (here >= best || here > LOOSE_TOLERANCE_NS)) {
            break;
        }
    }
    return best;
}

/* Whether row `at` goes to master[i]; a later one that fits much better in time says that there is
 * a hole on one of the two sides. */
static bool should_match(const struct matcher *m, size_t i, const struct side *side)
{
    int64_t end_ns = end_of(side, side->at);
    if (!can_match(&m->master[i], &side->rows[side->at], end_ns)) {
        return false;
    }
    int64_t much_better = gap(&m->master[i], end_ns) / 4;
    return nearest_in_master(m, i + 1, side) >= much_better &&
           nearest_in_side(&m->master[i], side, side->at + 1) >= much_better;
}

static int add_member(struct matcher *m, struct instance *instance, uint32_t rank, uint32_t event)
{
    int code = inq_mem_grow(&m->links, &m->cap_links, m->n_links + 1, sizeof *m->links,
                            INQ_NONE - 1, m->err);
    if (code == INQ_OK) {
        m->links[m->n_links] = (struct link){{rank, event}, instance->last_member};
        instance->last_member = (uint32_t)m->n_links++;
        instance->n_members++;
    }
    return code;
}

static int join(struct matcher *m, struct instance *instance, const struct side *side,
                uint32_t rank)
{
    const struct inq_comm_row *row = &side->rows[side->at];
    if (instance->row.size == 0) {
        instance->row.size = row->size;
    }
    instance->nameless = instance->nameless && row->nameless;
    return add_member(m, instance, rank, row->event);
}

static int start_instance(struct matcher *m, struct instance *instance, const struct side *side,
                          uint32_t rank)
{
    *instance = (struct instance){.row = side->rows[side->at],
                                  .last_member = INQ_NONE,
                                  .nameless = side->rows[side->at].nameless};
    instance->row.end_ns = end_of(side, side->at);
    return add_member(m, instance, rank, instance->row.event);
}

/* Merges by order and time into m->merged, which becomes the master. */
static int merge_by_order(struct matcher *m, struct side *side, uint32_t rank)
{
    size_t most = m->n_master + side->n;
    int code = inq_mem_grow(&m->merged, &m->cap_merged, most > 0 ? most : 1, sizeof *m->merged,
                            INQ_NONE, m->err);
    size_t n = 0;
    size_t i = 0;
    while (code == INQ_OK && (i < m->n_master || side->at < side->n)) {
        bool both = i < m->n_master && side->at < side->n;
        if (both && should_match(m, i, side)) {
            m->merged[n] = m->master[i++];
            code = join(m, &m->merged[n++], side, rank);
            side->at++;
        } else if (i < m->n_master &&
                   (!both || m->master[i].row.end_ns <= end_of(side, side->at))) {
            m->merged[n++] = m->master[i++];
        } else {
            code = start_instance(m, &m->merged[n++], side, rank);
            side->at++;
        }
    }
    struct instance *swap = m->master;
    size_t cap = m->cap_master;
    m->master = m->merged;
    m->cap_master = m->cap_merged;
    m->n_master = n;
    m->merged = swap;
    m->cap_merged = cap;
    return code;
}

/* Merges by recorded sequence number. */
static int merge_by_seq(struct matcher *m, struct side *side, uint32_t rank, struct inq_map *by_seq)
{
    int code = inq_mem_grow(&m->master, &m->cap_master, m->n_master + side->n + 1,
                            sizeof *m->master, INQ_NONE, m->err);
    for (; code == INQ_OK && side->at < side->n; side->at++) {
        uint32_t found = 0;
        uint64_t key = (uint64_t)side->rows[side->at].seq;
        if (inq_map_get(by_seq, key, &found)) {
            code = join(m, &m->master[found], side, rank);
            continue;
        }
        code = inq_map_put(by_seq, key, (uint32_t)m->n_master, m->err);
        if (code == INQ_OK) {
            code = start_instance(m, &m->master[m->n_master++], side, rank);
        }
    }
    return code;
}

/* ---- one channel ----------------------------------------------------------------------------- */

/* Ranks of the trace that should take part in a channel. */
static uint32_t expected_members(const struct inq_trace *trace, const struct inq_channel *channel,
                                 uint32_t present)
{
    if (channel->group == INQ_NONE) {
        return 2;
    }
    const struct inq_group *group = &trace->groups[channel->group];
    if (group->inferred || group->n_ranks == 0) {
        return present;
    }
    uint32_t expected = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        for (uint32_t i = 0; i < group->n_ranks; i++) {
            expected += trace->ranks[r].rank == group->ranks[i];
        }
    }
    return expected;
}

/* Nameless kernels are taken for a collective only when nearly all of a channel's behave like one.
 */
static bool nameless_convince(const struct matcher *m, uint32_t expected)
{
    size_t whole = 0;
    size_t all = 0;
    for (size_t i = 0; i < m->n_master; i++) {
        all += m->master[i].nameless;
        whole += m->master[i].nameless && m->master[i].n_members == expected;
    }
    return whole * 5 >= all * 4;
}

static int keep_instance(struct matcher *m, const struct instance *instance, uint32_t channel,
                         uint32_t expected, int64_t seq)
{
    int code = inq_mem_grow(&m->found, &m->cap_found, m->n_found + 1, sizeof *m->found,
                            INQ_NONE - 1, m->err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&m->members, &m->cap_members, m->n_members + instance->n_members,
                            sizeof *m->members, INQ_NONE - 1, m->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    uint32_t n = instance->n_members;
    uint32_t at = instance->last_member;
    for (uint32_t i = n; i > 0; i--) { /* the chain runs from the last rank to the first */
        m->members[m->n_members + i - 1] = m->links[at].member;
        at = m->links[at].previous;
    }
    struct inq_member first = m->members[m->n_members];
    const struct inq_rank *rank = &m->trace->ranks[first.rank];
    const struct inq_comm *comm = &rank->comms[rank->events.comm[first.event]];
    m->found[m->n_found++] = (struct inq_collective){
        .group = comm->group,
        .kind = m->rows.channels[channel].group == INQ_NONE ? INQ_COLL_SENDRECV : comm->kind,
        .seq = seq,
        .first_member = (uint32_t)m->n_members,
        .n_members = n,
        .complete = n >= expected,
    };
    m->n_members += n;
    m->placed += n;
    return INQ_OK;
}

static int keep_channel(struct matcher *m, uint32_t channel, uint32_t present, bool recorded)
{
    uint32_t expected = expected_members(m->trace, &m->rows.channels[channel], present);
    bool nameless_ok = nameless_convince(m, expected);
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < m->n_master; i++) {
        const struct instance *instance = &m->master[i];
        if (instance->n_members >= 2 && (!instance->nameless || nameless_ok)) {
            int64_t seq = recorded ? instance->row.seq : (int64_t)i;
            code = keep_instance(m, instance, channel, expected, seq);
        }
    }
    return code;
}

/* Rows of one rank in the channel; `next` remembers where the rank's following channel begins. */
static struct side take_side(const struct matcher *m, size_t rank, uint32_t channel, size_t *next)
{
    size_t from = next[rank];
    size_t to = from;
    while (to < m->rows.n_rows[rank] && m->rows.rows[rank][to].channel == channel) {
        to++;
    }
    next[rank] = to;
    return (struct side){.rows = to > from ? m->rows.rows[rank] + from : NULL,
                         .n = to - from,
                         .offset_ns = m->offset_ns[rank]};
}

static bool all_have_seq(const struct matcher *m, uint32_t channel, const size_t *next)
{
    for (size_t r = 0; r < m->trace->n_ranks; r++) {
        const struct inq_comm_row *rows = m->rows.rows[r];
        for (size_t i = next[r]; i < m->rows.n_rows[r] && rows[i].channel == channel; i++) {
            if (rows[i].seq < 0) {
                return false;
            }
        }
    }
    return true;
}

static int match_channel(struct matcher *m, uint32_t channel, size_t *next)
{
    struct inq_map by_seq = {0};
    bool recorded = all_have_seq(m, channel, next);
    uint32_t present = 0;
    int code = INQ_OK;
    m->n_master = 0;
    m->n_links = 0;
    for (size_t r = 0; code == INQ_OK && r < m->trace->n_ranks; r++) {
        struct side side = take_side(m, r, channel, next);
        if (side.n > 0 && side.rows != NULL) {
            present++;
            code = recorded ? merge_by_seq(m, &side, (uint32_t)r, &by_seq)
                            : merge_by_order(m, &side, (uint32_t)r);
        }
    }
    inq_map_release(&by_seq);
    return code == INQ_OK ? keep_channel(m, channel, present, recorded) : code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int64_t latest_start(const struct inq_trace *trace, const struct inq_collective *c)
{
    int64_t latest = INT64_MIN;
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct inq_member member = trace->members[c->first_member + i];
        int64_t start = trace->ranks[member.rank].events.start_ns[member.event];
        latest = start > latest ? start : latest;
    }
    return latest;
}

static int compare_collectives(const void *a, const void *b, void *ctx)
{
    int64_t x = latest_start(ctx, a);
    int64_t y = latest_start(ctx, b);
    return x < y ? -1 : x > y;
}

int inq_collectives_sort(struct inq_trace *trace, struct inq_err *err)
{
    return inq_sort(trace->collectives, trace->n_collectives, sizeof *trace->collectives,
                    compare_collectives, trace, err);
}

/* What is known of a collective's members: whether they were one synchronisation. */
struct ends {
    int64_t first_ns, last_ns; /* ends */
    int64_t last_start_ns, longest_ns;
    int64_t residual_ns[2]; /* of the two clocks that agree least */
};

static struct ends find_ends(const struct inq_trace *trace, const struct inq_collective *c)
{
    struct ends ends = {INT64_MAX, INT64_MIN, INT64_MIN, 0, {0, 0}};
    for (uint32_t j = 0; j < c->n_members; j++) {
        struct inq_member member = trace->members[c->first_member + j];
        const struct inq_events *e = &trace->ranks[member.rank].events;
        int64_t start = e->start_ns[member.event];
        int64_t end = start + e->dur_ns[member.event];
        int64_t residual = trace->ranks[member.rank].clock.residual_ns;
        ends.first_ns = end < ends.first_ns ? end : ends.first_ns;
        ends.last_ns = end > ends.last_ns ? end : ends.last_ns;
        ends.last_start_ns = start > ends.last_start_ns ? start : ends.last_start_ns;
        ends.longest_ns = end - start > ends.longest_ns ? end - start : ends.longest_ns;
        if (residual > ends.residual_ns[0]) {
            ends.residual_ns[1] = ends.residual_ns[0];
            ends.residual_ns[0] = residual;
        } else if (residual > ends.residual_ns[1]) {
            ends.residual_ns[1] = residual;
        }
    }
    return ends;
}

void inq_collectives_check_ends(struct inq_trace *trace)
{
    for (size_t i = 0; i < trace->n_collectives; i++) {
        struct inq_collective *c = &trace->collectives[i];
        struct ends ends = find_ends(trace, c);
        int64_t doubt = INQ_ENDS_RESIDUALS * (ends.residual_ns[0] + ends.residual_ns[1]) +
                        (int64_t)2 * INQ_ENDS_RESOLUTION_NS;
        int64_t part = ends.longest_ns / INQ_ENDS_PART;
        int64_t limit = part > doubt ? part : doubt;
        c->ends_disagree =
            inq_coll_synchronises(c->kind) &&
            (ends.last_ns - ends.first_ns > limit || ends.first_ns < ends.last_start_ns - doubt);
    }
}

static void *arena_copy(struct inq_arena *arena, const void *from, size_t n, size_t size)
{
    void *copy = inq_arena_array(arena, n, size);
    if (copy != NULL && n > 0) {
        memcpy(copy, from, n * size);
    }
    return copy;
}

static int hand_over(struct matcher *m)
{
    struct inq_trace *trace = m->trace;
    uint64_t rows = m->rows.unplaced;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        rows += m->rows.n_rows[r];
    }
    trace->unmatched_comms = rows - m->placed;
    trace->collectives = arena_copy(trace->arena, m->found, m->n_found, sizeof *trace->collectives);
    trace->members = arena_copy(trace->arena, m->members, m->n_members, sizeof *trace->members);
    if (trace->collectives == NULL || trace->members == NULL) {
        return inq_err_set(m->err, INQ_NOMEM, "out of memory for %zu collectives", m->n_found);
    }
    trace->n_collectives = m->n_found;
    trace->n_members = m->n_members;
    return inq_collectives_sort(trace, m->err);
}

int inq_match_collectives(struct inq_trace *trace, int jobs, int64_t *offset_ns,
                          struct inq_err *err)
{
    struct matcher m = {.trace = trace, .offset_ns = offset_ns, .err = err};
    size_t *next = inq_mem_zalloc(trace->n_ranks, sizeof *next);
    int code = next == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for matching")
                            : inq_comm_rows_collect(trace, &m.rows, err);
    if (code == INQ_OK) {
        code = inq_clock_first_offsets(trace, &m.rows, jobs, offset_ns, err);
    }
    for (size_t c = 0; code == INQ_OK && c < m.rows.n_channels; c++) {
        code = match_channel(&m, (uint32_t)c, next);
    }
    if (code == INQ_OK) {
        code = hand_over(&m);
    }
    inq_comm_rows_release(&m.rows);
    inq_mem_free(next);
    inq_mem_free(m.master);
    inq_mem_free(m.merged);
    inq_mem_free(m.links);
    inq_mem_free(m.found);
    inq_mem_free(m.members);
    return code;
}
