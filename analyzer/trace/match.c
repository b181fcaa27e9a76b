/* SPDX-License-Identifier: Apache-2.0 */
/* Matching collectives across ranks. Within a channel (a group, or one direction of a pair) every
 * member runs the same operations in the same order, but each rank's capture may begin, end or have
 * holes elsewhere: the members' rows are merged one after the other into one master sequence,
 * aligned by order and, where rows are missing, by time (align.h). Recorded sequence numbers decide
 * where they agree with the order of the rows. Channels know nothing of each other. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "trace/build/build.h"
#include "trace/classify.h"
#include "trace/collectives.h"
#include "trace/clock/clock.h"
#include "trace/comm_rows.h"
#include "trace/pairing.h"

#include <string.h>

/* Kernels of which only "send or receive" is known count as one collective only when they end
 * together as one. */
static const int64_t NAMELESS_TOLERANCE_NS = 1000000;

/* One operation of a channel, found on one or more ranks. */
struct instance {
    struct inq_align_row row; /* of the member that came first; its end in common time */
    int64_t seq;
    uint32_t last_member; /* chain into links, INQ_NONE at the end */
    uint32_t n_members;
    int64_t first_end_ns, last_end_ns; /* of the members, in common time */
    bool nameless;                     /* so far no member says more than "send or receive" */
    bool dropped;                      /* cannot be */
};

struct link {
    uint32_t side; /* of the channel */
    uint32_t row;  /* of the side */
    uint32_t previous;
};

/* What one channel gave. */
struct found {
    size_t n, cap;
    struct inq_collective *rows; /* first_member: within `members` */
    size_t n_members, cap_members;
    struct inq_member *members;
};

struct matcher {
    struct inq_trace *trace;
    const struct inq_comm_rows *rows;
    const struct inq_clock *clocks; /* by source: first estimate */
    struct found *found;            /* [n_channels] */
    struct inq_pairing pairing;
    size_t n_left, cap_left;
    struct inq_leftover *left;
};

/* A channel in work. */
struct channel {
    const struct matcher *m;
    uint32_t index;
    size_t n_sides;
    const struct inq_side *sides;
    bool pairs; /* a sender and a receiver each, whatever the kernels are called */
    struct instance *master, *merged;
    size_t n_master, cap_master, cap_merged;
    struct link *links;
    size_t n_links, cap_links;
    struct inq_align_row *a, *b; /* scratch of the alignment */
    uint32_t *match;
    size_t cap_a, cap_b, cap_match;
    struct found *found;
    struct inq_err *err;
};

/* ---- instances ------------------------------------------------------------------------------- */

static struct inq_align_row align_row(const struct channel *c, size_t side, size_t index)
{
    const struct inq_side *s = &c->sides[side];
    const struct inq_comm_row *r = &s->rows[index];
    const struct inq_clock *clock = &c->m->clocks[c->m->trace->ranks[s->rank].clock.source];
    int64_t end_ns = inq_clock_common_ns(clock, r->start_ns) + (r->end_ns - r->start_ns);
    struct inq_align_row row = inq_comm_align_row(r, end_ns);
    row.number = -1; /* they have decided already, where they can */
    return row;
}

static int join(struct channel *c, struct instance *instance, size_t side, size_t row,
                int64_t end_ns)
{
    const struct inq_comm_row *r = &c->sides[side].rows[row];
    int code = inq_mem_grow(&c->links, &c->cap_links, c->n_links + 1, sizeof *c->links,
                            INQ_NONE - 1, c->err);
    if (code != INQ_OK) {
        return code;
    }
    if (instance->row.size == 0) {
        instance->row.size = r->size;
    }
    instance->nameless = instance->nameless && r->nameless;
    instance->first_end_ns = end_ns < instance->first_end_ns ? end_ns : instance->first_end_ns;
    instance->last_end_ns = end_ns > instance->last_end_ns ? end_ns : instance->last_end_ns;
    c->links[c->n_links] = (struct link){(uint32_t)side, (uint32_t)row, instance->last_member};
    instance->last_member = (uint32_t)c->n_links++;
    instance->n_members++;
    return INQ_OK;
}

static int start_instance(struct channel *c, struct instance *instance, size_t side, size_t row,
                          const struct inq_align_row *as)
{
    *instance = (struct instance){.row = *as,
                                  .seq = c->sides[side].rows[row].seq,
                                  .last_member = INQ_NONE,
                                  .first_end_ns = as->end_ns,
                                  .last_end_ns = as->end_ns,
                                  .nameless = true};
    return join(c, instance, side, row, as->end_ns);
}

/* ---- by order and time ----------------------------------------------------------------------- */

/* Merges a side that was aligned with the master (c->match) into c->merged, which becomes the
 * master; rows of one without a partner on the other go between by their ends. */
static int merge(struct channel *c, size_t side)
{
    size_t m = c->sides[side].n;
    int code = inq_mem_grow(&c->merged, &c->cap_merged, c->n_master + m + 1, sizeof *c->merged,
                            INQ_NONE, c->err);
    size_t n = 0;
    size_t i = 0;
    size_t next = 0; /* row with a partner */
    for (size_t j = 0; code == INQ_OK && (i < c->n_master || j < m);) {
        for (next = next < j ? j : next; next < m && c->match[next] == INQ_NONE;) {
            next++;
        }
        size_t partner = next < m ? c->match[next] : c->n_master;
        if (j == next && j < m && i == partner) {
            c->merged[n] = c->master[i++];
            code = join(c, &c->merged[n++], side, j, c->b[j].end_ns);
            j++;
        } else if (i < partner &&
                   (j == next || j == m || c->master[i].row.end_ns <= c->b[j].end_ns)) {
            c->merged[n++] = c->master[i++];
        } else {
            code = start_instance(c, &c->merged[n++], side, j, &c->b[j]);
            j++;
        }
    }
    struct instance *swap = c->master;
    size_t cap = c->cap_master;
    c->master = c->merged;
    c->cap_master = c->cap_merged;
    c->n_master = n;
    c->merged = swap;
    c->cap_merged = cap;
    return code;
}

static int join_all(struct channel *c, size_t side)
{
    int code = INQ_OK;
    for (size_t j = 0; code == INQ_OK && j < c->sides[side].n; j++) {
        code = join(c, &c->master[c->match[j]], side, j, c->b[j].end_ns);
    }
    return code;
}

static int merge_side(struct channel *c, size_t side)
{
    size_t m = c->sides[side].n;
    int code = inq_mem_grow(&c->a, &c->cap_a, c->n_master + 1, sizeof *c->a, INQ_NONE, c->err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&c->b, &c->cap_b, m + 1, sizeof *c->b, INQ_NONE, c->err);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&c->match, &c->cap_match, m + 1, sizeof *c->match, INQ_NONE, c->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    for (size_t i = 0; i < c->n_master; i++) {
        c->a[i] = c->master[i].row;
    }
    for (size_t j = 0; j < m; j++) {
        c->b[j] = align_row(c, side, j);
    }
    struct inq_alignment pair = {
        .a = c->a, .b = c->b, .n = c->n_master, .m = m, .one_clock = true, .match = c->match};
    inq_align(&pair);
    bool all = true;
    for (size_t j = 0; j < m && all; j++) {
        all = c->match[j] != INQ_NONE;
    }
    return all ? join_all(c, side) : merge(c, side);
}

static int match_by_order(struct channel *c)
{
    size_t longest = 0;
    for (size_t s = 1; s < c->n_sides; s++) {
        longest = c->sides[s].n > c->sides[longest].n ? s : longest;
    }
    size_t n = c->sides[longest].n;
    int code = inq_mem_grow(&c->master, &c->cap_master, n + 1, sizeof *c->master, INQ_NONE, c->err);
    for (size_t j = 0; code == INQ_OK && j < n; j++) {
        struct inq_align_row row = align_row(c, longest, j);
        code = start_instance(c, &c->master[c->n_master++], longest, j, &row);
    }
    for (size_t s = 0; code == INQ_OK && s < c->n_sides; s++) {
        code = s != longest ? merge_side(c, s) : INQ_OK;
    }
    return code;
}

/* ---- by recorded sequence number ------------------------------------------------------------- */

static int merge_by_seq(struct channel *c, size_t side, struct inq_map *by_seq, bool *agree)
{
    const struct inq_side *s = &c->sides[side];
    int code = inq_mem_grow(&c->master, &c->cap_master, c->n_master + s->n + 1, sizeof *c->master,
                            INQ_NONE, c->err);
    for (size_t j = 0; code == INQ_OK && *agree && j < s->n; j++) {
        struct inq_align_row row = align_row(c, side, j);
        uint64_t key =
            inq_hash_u64((uint64_t)s->rows[j].seq) ^ inq_hash_u64(~(uint64_t)s->rows[j].call);
        uint32_t found = 0;
        if (inq_map_get(by_seq, key, &found)) {
            *agree = inq_align_agree(&c->master[found].row, &row);
            code = *agree ? join(c, &c->master[found], side, j, row.end_ns) : INQ_OK;
            continue;
        }
        code = inq_map_put(by_seq, key, (uint32_t)c->n_master, c->err);
        if (code == INQ_OK) {
            code = start_instance(c, &c->master[c->n_master++], side, j, &row);
        }
    }
    return code;
}

/* *agree: no number means different operations on two members. */
static int match_by_seq(struct channel *c, bool *agree)
{
    struct inq_map by_seq = {0};
    int code = INQ_OK;
    *agree = true;
    for (size_t s = 0; code == INQ_OK && *agree && s < c->n_sides; s++) {
        code = merge_by_seq(c, s, &by_seq, agree);
    }
    inq_map_release(&by_seq);
    return code;
}

/* ---- what cannot be -------------------------------------------------------------------------- */

/* Rows of the master sequence that are looked at together for what cannot be: one collective falls
 * apart into two or three; with more than these, nothing says which are at fault. */
enum { LONGEST_SPLIT = 8 };

/* What stretches of the master sequence hold. */
struct census {
    size_t *rows; /* [n_sides] of each side */
    size_t several, most;
};

static void count_instance(const struct channel *c, const struct instance *instance,
                           struct census *census)
{
    census->several += instance->n_members >= 2 && !instance->dropped;
    for (uint32_t at = instance->last_member; at != INQ_NONE; at = c->links[at].previous) {
        size_t own = ++census->rows[c->links[at].side];
        census->most = own > census->most ? own : census->most;
    }
}

static void start_census(const struct channel *c, struct census *census)
{
    memset(census->rows, 0, c->n_sides * sizeof *census->rows);
    census->several = 0;
    census->most = 0;
}

/* The shortest row of groups that ends with `last` and cannot be, from *from on. */
static bool find_split(const struct channel *c, size_t lo, size_t last, struct census *census,
                       size_t *from)
{
    start_census(c, census);
    for (size_t k = last + 1; k > lo && k + LONGEST_SPLIT > last + 1; k--) {
        count_instance(c, &c->master[k - 1], census);
        if (census->several > census->most) {
            *from = k - 1;
            return true;
        }
    }
    return false;
}

/* Within [lo, hi) somewhere are more groups than rows: those go that cannot be among themselves;
 * all, where nothing says which. */
static void drop_stretch(struct channel *c, size_t lo, size_t hi, struct census *census)
{
    size_t clear = lo; /* behind what was dropped last */
    for (size_t k = lo; k < hi; k++) {
        size_t from = k;
        bool split = c->master[k].n_members >= 2 && find_split(c, clear, k, census, &from);
        for (size_t i = from; split && i <= k; i++) {
            c->master[i].dropped = c->master[i].n_members >= 2;
        }
        clear = split ? k + 1 : clear;
    }
    start_census(c, census);
    for (size_t k = lo; k < hi; k++) {
        count_instance(c, &c->master[k], census);
    }
    for (size_t k = lo; k < hi && census->several > census->most; k++) {
        c->master[k].dropped = true;
    }
}

/* Between two collectives that all members have, no member can have missed more than it lacks: more
 * collectives than any member recorded rows are parts of fewer. */
static int drop_split(struct channel *c, uint32_t expected)
{
    struct census census = {.rows = inq_mem_zalloc(c->n_sides + 1, sizeof *census.rows)};
    if (census.rows == NULL) {
        return inq_err_set(c->err, INQ_NOMEM, "out of memory for matching");
    }
    size_t lo = SIZE_MAX; /* behind the last whole one */
    for (size_t i = 0; i < c->n_master; i++) {
        if (c->master[i].n_members < expected) {
            continue;
        }
        start_census(c, &census);
        for (size_t k = lo; k < i; k++) {
            count_instance(c, &c->master[k], &census);
        }
        if (census.several > census.most) {
            drop_stretch(c, lo, i, &census);
        }
        lo = i + 1;
    }
    inq_mem_free(census.rows);
    return INQ_OK;
}

static const struct inq_comm *comm_of(const struct channel *c, const struct link *link)
{
    const struct inq_side *side = &c->sides[link->side];
    const struct inq_rank *rank = &c->m->trace->ranks[side->rank];
    return &rank->comms[rank->events.comm[side->rows[link->row].event]];
}

/* Whether what all members of an exchange sent is what all received; also true where it is not
 * known. */
static bool adds_up(const struct channel *c, const struct instance *instance, bool *known)
{
    int64_t sent = 0;
    int64_t received = 0;
    *known = instance->row.family >= INQ_COLL_KIND_COUNT;
    for (uint32_t at = instance->last_member; *known && at != INQ_NONE;
         at = c->links[at].previous) {
        const struct inq_comm *comm = comm_of(c, &c->links[at]);
        *known = comm->in_elems >= 0 && comm->out_elems >= 0 &&
                 comm->in_elems < INT64_MAX / (int64_t)INQ_MAX_RANKS &&
                 comm->out_elems < INT64_MAX / (int64_t)INQ_MAX_RANKS;
        sent += *known ? comm->in_elems : 0;
        received += *known ? comm->out_elems : 0;
    }
    return !*known || sent == received;
}

/* Uneven exchanges agree by their sums. Where hardly any does, recorders count something else. */
static void drop_uneven(struct channel *c, uint32_t expected)
{
    size_t even = 0;
    size_t uneven = 0;
    for (int pass = 0; pass < 2 && (pass == 0 || (uneven > 0 && even > uneven)); pass++) {
        for (size_t i = 0; i < c->n_master; i++) {
            bool known = false;
            if (c->master[i].n_members < expected) {
                continue;
            }
            bool adds = adds_up(c, &c->master[i], &known);
            c->master[i].dropped = c->master[i].dropped || (pass == 1 && !adds);
            even += pass == 0 && known && adds;
            uneven += pass == 0 && known && !adds;
        }
    }
}

/* ---- one channel ----------------------------------------------------------------------------- */

static bool has_rank(const struct inq_trace *trace, int32_t rank)
{
    size_t low = 0;
    size_t high = trace->n_ranks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->ranks[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < trace->n_ranks && trace->ranks[low].rank == rank;
}

/* Ranks of the trace that should take part in a channel. */
static uint32_t expected_members(const struct channel *c)
{
    const struct inq_channel *channel = &c->m->rows->channels[c->index];
    if (channel->from >= 0) {
        return 2;
    }
    const struct inq_group *group = &c->m->trace->groups[channel->group];
    if (group->inferred || group->n_ranks == 0) {
        return (uint32_t)c->n_sides;
    }
    uint32_t expected = 0;
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        expected += has_rank(c->m->trace, group->ranks[i]);
    }
    return expected;
}

static bool end_together(const struct instance *instance)
{
    return instance->last_end_ns - instance->first_end_ns <= NAMELESS_TOLERANCE_NS;
}

/* Nameless kernels are taken for a collective only when nearly all of a channel's behave like one.
 */
static bool nameless_convince(const struct channel *c, uint32_t expected)
{
    size_t whole = 0;
    size_t all = 0;
    for (size_t i = 0; i < c->n_master; i++) {
        const struct instance *instance = &c->master[i];
        all += instance->nameless;
        whole += instance->nameless && instance->n_members == expected && end_together(instance);
    }
    return inq_is_nearly_all(whole, all);
}

/* The members by rank: the chain runs backwards, and but for the longest side they joined so. */
static void write_members(const struct channel *c, const struct instance *instance,
                          struct inq_member *members)
{
    uint32_t at = instance->last_member;
    for (uint32_t i = instance->n_members; i > 0; i--) {
        const struct inq_side *side = &c->sides[c->links[at].side];
        members[i - 1] = (struct inq_member){side->rank, side->rows[c->links[at].row].event};
        at = c->links[at].previous;
    }
    for (uint32_t i = 1; i < instance->n_members && members[i - 1].rank > members[i].rank; i++) {
        struct inq_member first = members[i - 1];
        members[i - 1] = members[i];
        members[i] = first;
    }
}

/* What holds of every collective, however it was found: a rank is in it once, and its members agree
 * in kind and size. What does not is left unmatched. */
static bool is_sound(const struct channel *c, const struct instance *instance,
                     const struct inq_member *members)
{
    bool sound = true;
    for (uint32_t i = 1; i < instance->n_members; i++) {
        sound = sound && members[i - 1].rank < members[i].rank;
    }
    for (uint32_t at = instance->last_member; at != INQ_NONE; at = c->links[at].previous) {
        const struct inq_comm_row *row = &c->sides[c->links[at].side].rows[c->links[at].row];
        struct inq_align_row own = inq_comm_align_row(row, row->end_ns);
        sound = sound && inq_align_agree(&instance->row, &own);
    }
    return sound;
}

static int keep_instance(struct channel *c, const struct instance *instance, uint32_t expected,
                         int64_t seq)
{
    struct found *f = c->found;
    uint32_t n = instance->n_members;
    int code = inq_mem_grow(&f->rows, &f->cap, f->n + 1, sizeof *f->rows, INQ_NONE - 1, c->err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&f->members, &f->cap_members, f->n_members + n, sizeof *f->members,
                            INQ_NONE - 1, c->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    struct inq_member *members = f->members + f->n_members;
    write_members(c, instance, members);
    if (!is_sound(c, instance, members)) {
        return INQ_OK;
    }
    const struct inq_rank *rank = &c->m->trace->ranks[members[0].rank];
    const struct inq_comm *comm = &rank->comms[rank->events.comm[members[0].event]];
    f->rows[f->n++] = (struct inq_collective){
        .group = comm->group,
        .kind = c->pairs ? INQ_COLL_SENDRECV : comm->kind,
        .seq = seq,
        .first_member = (uint32_t)f->n_members,
        .n_members = n,
        .complete = n >= expected,
    };
    f->n_members += n;
    return INQ_OK;
}

static int keep_channel(struct channel *c, bool by_seq)
{
    uint32_t expected = expected_members(c);
    int code = by_seq ? INQ_OK : drop_split(c, expected);
    drop_uneven(c, expected);
    bool nameless_ok = nameless_convince(c, expected);
    for (size_t i = 0; code == INQ_OK && i < c->n_master; i++) {
        const struct instance *instance = &c->master[i];
        if (instance->n_members >= 2 && !instance->dropped &&
            (!instance->nameless || (nameless_ok && end_together(instance)))) {
            code = keep_instance(c, instance, expected, by_seq ? instance->seq : (int64_t)i);
        }
    }
    return code;
}

/* ---- bare exchanges -------------------------------------------------------------------------- */

static int keep_pair(struct channel *c, const struct inq_open_row *x, const struct inq_open_row *y)
{
    struct found *f = c->found;
    bool swap = x->rank > y->rank;
    struct inq_member first = {swap ? y->rank : x->rank, swap ? y->row->event : x->row->event};
    struct inq_member other = {swap ? x->rank : y->rank, swap ? x->row->event : y->row->event};
    int code = inq_mem_grow(&f->rows, &f->cap, f->n + 1, sizeof *f->rows, INQ_NONE - 1, c->err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&f->members, &f->cap_members, f->n_members + 2, sizeof *f->members,
                            INQ_NONE - 1, c->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    const struct inq_rank *rank = &c->m->trace->ranks[first.rank];
    f->rows[f->n] =
        (struct inq_collective){.group = rank->comms[rank->events.comm[first.event]].group,
                                .kind = INQ_COLL_SENDRECV,
                                .seq = (int64_t)f->n,
                                .first_member = (uint32_t)f->n_members,
                                .n_members = 2,
                                .complete = true};
    f->n++;
    f->members[f->n_members++] = first;
    f->members[f->n_members++] = other;
    return INQ_OK;
}

static int keep_pairs(struct channel *c, const struct inq_open *p)
{
    int code = INQ_OK;
    for (size_t i = 0; i < p->n && code == INQ_OK; i++) {
        uint32_t partner = p->all[i].partner;
        if (partner == INQ_NONE || partner < i) {
            continue;
        }
        const struct inq_open_row *x = &p->open[p->all[i].row];
        const struct inq_open_row *y = &p->open[p->all[partner].row];
        code = keep_pair(c, x, y);
        struct inq_leftover *left = x->left != NULL ? x->left : y->left;
        if (left != NULL) {
            left->taken = true;
        }
    }
    return code;
}

/* Kernels of which only "send or receive" is known: several pairs of ranks, each of which ends its
 * own transfers together? Like one collective of all they are only where that explains less. Ranks
 * that name peers elsewhere have no such collective. */
static int match_pairs(struct channel *c, bool *done)
{
    bool named = false;
    for (size_t s = 0; s < c->n_sides; s++) {
        named = named || c->m->pairing.named[c->sides[s].rank];
    }
    struct inq_open open = {.pairing = &c->m->pairing, .clocks = c->m->clocks};
    int code = inq_open_pair(&open, c->sides, c->n_sides, c->m->left, c->m->n_left, c->err);
    if (code == INQ_OK && (named || open.convincing)) {
        *done = true;
        code = keep_pairs(c, &open);
    }
    inq_open_release(&open);
    return code;
}

static bool has_several_lanes(const struct matcher *m, const struct inq_side *side)
{
    const uint32_t *lane = m->trace->ranks[side->rank].events.lane;
    bool several = false;
    for (size_t i = 1; i < side->n && !several; i++) {
        several = lane[side->rows[i].event] != lane[side->rows[0].event];
    }
    return several;
}

/* Whether a channel's kernels are told by pairs of ends: rows of two ranks that use one stream each
 * have an order, which says more. */
static bool is_of_pairs(const struct channel *c)
{
    bool pairs = c->n_sides > 2;
    for (size_t s = 0; s < c->n_sides && !pairs; s++) {
        pairs = c->m->pairing.named[c->sides[s].rank] || has_several_lanes(c->m, &c->sides[s]);
    }
    return c->m->rows->channels[c->index].bare != 0 && pairs;
}

static int match_rows(struct channel *c)
{
    bool by_seq = c->sides[0].rows[0].seq >= 0;
    int code = by_seq ? match_by_seq(c, &by_seq) : INQ_OK;
    if (code == INQ_OK && !by_seq) {
        c->n_master = 0;
        c->n_links = 0;
        code = match_by_order(c);
    }
    return code == INQ_OK ? keep_channel(c, by_seq) : code;
}

static struct channel channel_at(const struct matcher *m, size_t index, struct inq_err *err)
{
    size_t from = m->rows->first_side[index];
    return (struct channel){.m = m,
                            .index = (uint32_t)index,
                            .n_sides = m->rows->first_side[index + 1] - from,
                            .sides = m->rows->sides + from,
                            .pairs = m->rows->channels[index].from >= 0,
                            .found = &m->found[index],
                            .err = err};
}

static void channel_release(struct channel *c)
{
    inq_mem_free(c->master);
    inq_mem_free(c->merged);
    inq_mem_free(c->links);
    inq_mem_free(c->a);
    inq_mem_free(c->b);
    inq_mem_free(c->match);
}

static int match_channel(void *ctx, size_t index, struct inq_err *err)
{
    const struct matcher *m = ctx;
    struct channel c = channel_at(m, index, err);
    int code = c.n_sides >= 2 && !is_of_pairs(&c) ? match_rows(&c) : INQ_OK;
    channel_release(&c);
    return code;
}

static int match_exchanges(void *ctx, size_t index, struct inq_err *err)
{
    const struct matcher *m = ctx;
    struct channel c = channel_at(m, index, err);
    bool done = false;
    int code = is_of_pairs(&c) ? match_pairs(&c, &done) : INQ_OK;
    if (code == INQ_OK && !done && c.n_sides >= 2 && is_of_pairs(&c)) {
        code = match_rows(&c);
    }
    channel_release(&c);
    return code;
}

/* ---- transfers that name a peer of which no end was found ------------------------------------ */

/* Marks the kernels of one channel that stand in what it found. */
static void mark_found(const struct found *f, uint8_t *const *placed)
{
    for (size_t i = 0; i < f->n_members; i++) {
        placed[f->members[i].rank][f->members[i].event] = 1;
    }
}

static int add_leftovers(struct matcher *m, size_t channel, uint8_t *const *placed,
                         struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t s = m->rows->first_side[channel]; s < m->rows->first_side[channel + 1]; s++) {
        const struct inq_side *side = &m->rows->sides[s];
        for (size_t i = 0; code == INQ_OK && i < side->n; i++) {
            uint8_t *seen = &placed[side->rank][side->rows[i].event];
            code = *seen == 0 ? inq_mem_grow(&m->left, &m->cap_left, m->n_left + 1, sizeof *m->left,
                                             INQ_NONE - 1, err)
                              : INQ_OK;
            if (code == INQ_OK && *seen == 0) {
                *seen = 1; /* one of several transfers counts */
                m->left[m->n_left++] = (struct inq_leftover){side->rank, &side->rows[i], false};
            }
        }
    }
    return code;
}

/* Kernels whose launch lies before the capture name no peer; their partners may. */
static int list_leftovers(struct matcher *m, struct inq_err *err)
{
    size_t n = m->rows->n_channels;
    bool bare = false;
    bool named = false;
    for (size_t c = 0; c < n; c++) {
        bare = bare || m->rows->channels[c].bare != 0;
        named = named || m->rows->channels[c].from >= 0;
    }
    if (!bare || !named) {
        return INQ_OK;
    }
    uint8_t **placed = inq_marks_new(m->trace);
    int code = placed != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory to match");
    for (size_t c = 0; code == INQ_OK && c < n; c++) {
        mark_found(&m->found[c], placed);
    }
    for (size_t c = 0; code == INQ_OK && c < n; c++) {
        code = m->rows->channels[c].from >= 0 ? add_leftovers(m, c, placed, err) : INQ_OK;
    }
    inq_mem_free(placed);
    return code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Whether two kernels have been paired by another of the transfers that both did at once. */
static int paired_before(const struct inq_trace *trace, struct inq_map *pairs,
                         const struct inq_member *m, bool *before, struct inq_err *err)
{
    const struct inq_rank *rank = &trace->ranks[m[0].rank];
    uint32_t n = 0;
    *before = false;
    if (rank->comms[rank->events.comm[m[0].event]].batch == INQ_NONE) {
        return INQ_OK;
    }
    uint64_t key = inq_hash_bytes(m, 2 * sizeof *m);
    *before = inq_map_get(pairs, key, &n);
    return inq_map_put(pairs, key, 1, err);
}

/* Appends what a channel gave. */
static int append_found(struct inq_trace *trace, const struct found *f, struct inq_map *pairs,
                        struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < f->n && code == INQ_OK; i++) {
        const struct inq_member *members = f->members + f->rows[i].first_member;
        bool before = false;
        if (f->rows[i].kind == INQ_COLL_SENDRECV && f->rows[i].n_members == 2) {
            code = paired_before(trace, pairs, members, &before, err);
        }
        if (before || code != INQ_OK) {
            continue;
        }
        struct inq_collective *row = &trace->collectives[trace->n_collectives++];
        *row = f->rows[i];
        row->first_member = (uint32_t)trace->n_members;
        memcpy(trace->members + trace->n_members, members, row->n_members * sizeof *members);
        trace->n_members += row->n_members;
    }
    return code;
}

/* Communication kernels that stand in no collective. */
static int count_unmatched(struct matcher *m, struct inq_err *err)
{
    struct inq_trace *trace = m->trace;
    uint8_t **placed = inq_marks_new(trace);
    int code = placed != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory to match");
    trace->unmatched_comms = m->rows->unplaced;
    for (size_t i = 0; code == INQ_OK && i < trace->n_members; i++) {
        placed[trace->members[i].rank][trace->members[i].event] = 1;
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        for (size_t i = 0; i < m->rows->n_rows[r]; i++) {
            uint8_t *seen = &placed[r][m->rows->rows[r][i].event];
            trace->unmatched_comms += *seen == 0;
            *seen = 1; /* one of several transfers counts */
        }
    }
    inq_mem_free(placed);
    return code;
}

/* The channels' collectives, one channel behind the other. */
static int hand_over(struct matcher *m, struct inq_err *err)
{
    struct inq_trace *trace = m->trace;
    struct inq_map pairs = {0};
    size_t n = 0;
    size_t n_members = 0;
    for (size_t c = 0; c < m->rows->n_channels; c++) {
        n += m->found[c].n;
        n_members += m->found[c].n_members;
    }
    trace->collectives = inq_arena_array(trace->arena, n, sizeof *trace->collectives);
    trace->members = inq_arena_array(trace->arena, n_members, sizeof *trace->members);
    if (trace->collectives == NULL || trace->members == NULL || n_members >= INQ_NONE) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu collectives", n);
    }
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < m->rows->n_channels; c++) {
        code = append_found(trace, &m->found[c], &pairs, err);
    }
    inq_map_release(&pairs);
    if (code == INQ_OK) {
        code = count_unmatched(m, err);
    }
    return code == INQ_OK ? inq_collectives_sort(trace, err) : code;
}

static int match_channels(struct matcher *m, int jobs, struct inq_err *err)
{
    size_t n = m->rows->n_channels;
    m->found = inq_mem_zalloc(n + 1, sizeof *m->found);
    int code = m->found == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for matching")
                                : inq_pairing_init(&m->pairing, m->trace, m->rows, err);
    if (code == INQ_OK) {
        code = inq_par_for(n, jobs, match_channel, m, err);
    }
    if (code == INQ_OK) {
        code = list_leftovers(m, err);
    }
    if (code == INQ_OK) { /* which channel takes what is left must not depend on threads */
        code = inq_par_for(n, m->n_left > 0 ? 1 : jobs, match_exchanges, m, err);
    }
    if (code == INQ_OK) {
        code = hand_over(m, err);
    }
    for (size_t c = 0; m->found != NULL && c < n; c++) {
        inq_mem_free(m->found[c].rows);
        inq_mem_free(m->found[c].members);
    }
    inq_mem_free(m->found);
    inq_mem_free(m->left);
    inq_pairing_release(&m->pairing);
    return code;
}

int inq_match_collectives(struct inq_trace *trace, int jobs, struct inq_clocks *clocks,
                          struct inq_err *err)
{
    struct inq_comm_rows rows = {0};
    int code = inq_comm_rows_collect(trace, jobs, &rows, err);
    if (code == INQ_OK) {
        code = inq_clock_first(trace, &rows, jobs, clocks, err);
    }
    struct matcher m = {.trace = trace, .rows = &rows, .clocks = clocks->at};
    if (code == INQ_OK) {
        code = match_channels(&m, jobs, err);
    }
    inq_comm_rows_release(&rows);
    return code;
}
