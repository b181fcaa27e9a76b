/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/failure/state/match.h"

#include "base/mem.h"

#include <string.h>

/* What one member entered under the number that is looked at. */
struct part {
    const struct inq_flight_entry *entry; /* NULL: not recorded */
    size_t n_entries;                     /* more than one: coalesced */
    int64_t in, out;                      /* elements in all; -1 not recorded */
    uint32_t rank;
    bool has_dump, joined, passed;
};

struct table {
    const struct inq_state *model;
    const struct inq_state_group *team;
    uint32_t index;
    int64_t seq;
    struct part *parts; /* [team->n_members] */
};

static int64_t plus(int64_t sum, int64_t more)
{
    return sum < 0 || more < 0 || __builtin_add_overflow(sum, more, &sum) ? -1 : sum;
}

/* Whether the ring of entries wrapped inside this batch: what it is of is not known. */
static bool is_cut_batch(const struct inq_flight_dump *dump, const struct part *part)
{
    return part->entry != NULL && part->entry == &dump->entries[0] && part->entry->record_id > 0 &&
           (part->n_entries > 1 || part->entry->kind == INQ_COLL_COALESCED);
}

static struct part part_of(const struct table *t, size_t i)
{
    const struct inq_state_place *place = &t->team->places[i];
    const struct inq_state_rank *rank = &t->model->ranks[place->rank];
    struct part own = {.rank = place->rank, .has_dump = place->whole};
    struct part *part = &own;
    part->passed = place->known && place->next_seq > t->seq;
    part->joined = part->passed || (place->next_seq == t->seq && place->pending);
    for (size_t e = 0; rank->dump != NULL && e < rank->dump->n_entries; e++) {
        const struct inq_flight_entry *entry = &rank->dump->entries[e];
        if (entry->group != INQ_NONE && rank->team_of[entry->group] == t->index && !entry->is_p2p &&
            entry->collective_seq == t->seq) {
            bool first = part->n_entries++ == 0;
            part->entry = first ? entry : part->entry;
            part->in = first ? entry->in.elems : plus(part->in, entry->in.elems);
            part->out = first ? entry->out.elems : plus(part->out, entry->out.elems);
        }
    }
    bool nameless = part->entry != NULL && part->entry->name[0] == '\0';
    if (nameless || is_cut_batch(rank->dump, part)) {
        part->entry = NULL;
    }
    return own;
}

/* ---- tests: whether two members, or one by itself, agree ------------------------------------- */

typedef bool agrees(const struct table *t, const struct part *a, const struct part *b);

static bool same_kind(const struct table *t, const struct part *a, const struct part *b)
{
    (void)t;
    bool unknown = a->entry->kind == INQ_COLL_UNKNOWN || b->entry->kind == INQ_COLL_UNKNOWN;
    return (unknown ? strcmp(a->entry->name, b->entry->name) == 0
                    : a->entry->kind == b->entry->kind) &&
           a->n_entries == b->n_entries;
}

static bool same_number(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}

static bool same_sizes(const struct table *t, const struct part *a, const struct part *b)
{
    (void)t;
    enum inq_coll_kind kind = a->entry->kind;
    bool any_in = kind == INQ_COLL_ALLTOALL || kind == INQ_COLL_SCATTER;
    bool any_out = kind == INQ_COLL_ALLTOALL || kind == INQ_COLL_GATHER;
    return (any_in || same_number(a->in, b->in)) && (any_out || same_number(a->out, b->out));
}

/* The rule between what a member gives and takes. */
static bool whole_sizes(const struct table *t, const struct part *a)
{
    int64_t n = (int64_t)t->team->n_members;
    int64_t product = 0;
    if (a->in < 0 || a->out < 0) {
        return true;
    }
    enum inq_coll_kind kind = a->entry->kind;
    if (kind == INQ_COLL_ALLGATHER) {
        return !__builtin_mul_overflow(a->in, n, &product) && product == a->out;
    }
    if (kind == INQ_COLL_REDUCE_SCATTER) {
        return !__builtin_mul_overflow(a->out, n, &product) && product == a->in;
    }
    return kind != INQ_COLL_ALLREDUCE || a->in == a->out;
}

static bool right_sizes(const struct table *t, const struct part *a, const struct part *b)
{
    return whole_sizes(t, a) == whole_sizes(t, b) && same_sizes(t, a, b);
}

static bool same_dtypes(const struct table *t, const struct part *a, const struct part *b)
{
    (void)t;
    const char *x = a->entry->in.dtypes;
    const char *y = b->entry->in.dtypes;
    return x[0] == '\0' || y[0] == '\0' || strcmp(x, y) == 0;
}

/* ---- majority -------------------------------------------------------------------------------- */

/* Whether a member of another group of the same kind entered the same under this number: the
 * tensor-parallel groups of a job run one program. */
static bool has_sister(const struct table *t, agrees *agree, const struct part *part)
{
    for (uint32_t g = 0; g < t->model->n_groups; g++) {
        const struct inq_state_group *team = &t->model->groups[g];
        bool sister = g != t->index && team->desc[0] != '\0' &&
                      team->n_members == t->team->n_members &&
                      strcmp(team->desc, t->team->desc) == 0;
        struct table other = {.model = t->model, .team = team, .index = g, .seq = t->seq};
        for (size_t i = 0; i < team->n_members && sister; i++) {
            struct part its = part_of(&other, i);
            if (its.entry != NULL && agree(t, part, &its)) {
                return true;
            }
        }
    }
    return false;
}

/* Fills `odd` with the members that do not agree with one; the first of them. */
static size_t list_odd(const struct table *t, agrees *agree, size_t usual,
                       struct inq_state_verdict *verdict)
{
    size_t first = usual;
    size_t entered = 0;
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        const struct part *part = &t->parts[i];
        entered += part->entry != NULL;
        if (part->entry != NULL && !agree(t, &t->parts[usual], part)) {
            first = verdict->n_odd == 0 ? i : first;
            verdict->other = verdict->n_odd == 0 ? part->entry : verdict->other;
            verdict->odd[verdict->n_odd++] = t->model->ranks[part->rank].rank;
        }
    }
    verdict->usual = t->parts[usual].entry;
    verdict->tied = 2 * verdict->n_odd >= entered;
    return first;
}

/* Fills `odd` with the members that do not agree with most, or where as many do as do not, with
 * the groups of the same kind; false when all agree. */
static bool find_odd(const struct table *t, agrees *agree, struct inq_state_verdict *verdict)
{
    size_t best = 0;
    size_t most = 0;
    size_t n_entered = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        size_t n = 0;
        n_entered += t->parts[i].entry != NULL;
        for (size_t j = 0; j < t->team->n_members && t->parts[i].entry != NULL; j++) {
            n += t->parts[j].entry != NULL && agree(t, &t->parts[i], &t->parts[j]);
        }
        if (n > most) {
            most = n;
            best = i;
        }
        if (most == n_entered && i + 1 == t->team->n_members) {
            return false;
        }
        if (most * 2 > t->team->n_members) {
            break; /* nothing can have more */
        }
    }
    size_t odd = list_odd(t, agree, best, verdict);
    if (verdict->tied && verdict->n_odd > 0) {
        bool usual = has_sister(t, agree, &t->parts[best]);
        bool other = has_sister(t, agree, &t->parts[odd]);
        if (other && !usual) {
            (void)list_odd(t, agree, odd, verdict);
        }
        verdict->by_sisters = usual != other;
        verdict->tied = usual == other;
    }
    return verdict->n_odd > 0;
}

/* All members break the rule between input and output in the same way. */
static bool all_wrong(const struct table *t, struct inq_state_verdict *verdict)
{
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        if (t->parts[i].entry != NULL && !whole_sizes(t, &t->parts[i])) {
            verdict->usual = verdict->other = t->parts[i].entry;
            verdict->odd[verdict->n_odd++] = t->model->ranks[t->parts[i].rank].rank;
        }
    }
    verdict->tied = true;
    return verdict->n_odd > 0;
}

/* In an all-to-all only the sums can be compared, and only when all members are there. */
static bool unequal_sums(const struct table *t, struct inq_state_verdict *verdict)
{
    int64_t in = 0;
    int64_t out = 0;
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        const struct part *part = &t->parts[i];
        if (part->entry == NULL || part->entry->kind != INQ_COLL_ALLTOALL) {
            return false;
        }
        in = plus(in, part->in);
        out = plus(out, part->out);
        verdict->odd[verdict->n_odd++] = t->model->ranks[part->rank].rank;
        verdict->usual = verdict->other = part->entry;
    }
    verdict->tied = true;
    return in >= 0 && out >= 0 && in != out;
}

/* Whether the odd member has the usual collective elsewhere among its pending ones, and the
 * reverse.
 */
static bool is_swapped(const struct table *t, const struct inq_state_verdict *verdict)
{
    bool found[2] = {false, false};
    for (size_t i = 0; i < t->team->n_members; i++) {
        const struct inq_state_rank *rank = &t->model->ranks[t->parts[i].rank];
        for (size_t p = 0; p < rank->n_pending; p++) {
            const struct inq_state_op *op = &rank->pending[p];
            if (op->team != t->index || op->entry->is_p2p || op->entry->collective_seq == t->seq) {
                continue;
            }
            bool odd = t->parts[i].entry != NULL && verdict->other->kind == t->parts[i].entry->kind;
            enum inq_coll_kind want = odd ? verdict->usual->kind : verdict->other->kind;
            found[odd] = found[odd] || op->entry->kind == want;
        }
    }
    return found[0] && found[1] && verdict->usual->kind != verdict->other->kind;
}

/* ---- the group ------------------------------------------------------------------------------- */

static bool list_absent(const struct table *t, bool with_dump, struct inq_state_verdict *verdict)
{
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        const struct part *part = &t->parts[i];
        if (!part->joined && part->has_dump == with_dump) {
            verdict->odd[verdict->n_odd++] = t->model->ranks[part->rank].rank;
        }
    }
    return verdict->n_odd > 0;
}

static bool list_unfinished(const struct table *t, struct inq_state_verdict *verdict)
{
    bool passed = false;
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members; i++) {
        passed = passed || t->parts[i].passed;
        if (t->parts[i].joined && !t->parts[i].passed) {
            verdict->odd[verdict->n_odd++] = t->model->ranks[t->parts[i].rank].rank;
        }
    }
    return passed && verdict->n_odd > 0;
}

static enum inq_match_state find_mismatch(const struct table *t, struct inq_state_verdict *verdict)
{
    if (find_odd(t, same_kind, verdict)) {
        return is_swapped(t, verdict) ? INQ_MATCH_ORDER : INQ_MATCH_KIND;
    }
    if (find_odd(t, right_sizes, verdict) || all_wrong(t, verdict) || unequal_sums(t, verdict)) {
        return INQ_MATCH_SIZE;
    }
    if (find_odd(t, same_dtypes, verdict)) {
        return INQ_MATCH_DTYPE;
    }
    if (list_absent(t, true, verdict)) {
        return INQ_MATCH_MISSING_MEMBER;
    }
    if (list_unfinished(t, verdict)) {
        return INQ_MATCH_STATE;
    }
    return list_absent(t, false, verdict) ? INQ_MATCH_UNDECIDED : INQ_MATCH_MATCHED;
}

/* Where all have joined the oldest, one of those behind it may lack a member. */
static void find_absent_later(const struct table *t, struct inq_state_verdict *verdict)
{
    int64_t least = INT64_MAX;
    int64_t most = -1;
    for (size_t i = 0; i < t->team->n_members; i++) {
        const struct inq_state_place *place = &t->team->places[i];
        least = place->whole && place->enqueued < least ? place->enqueued : least;
        most = place->whole && place->enqueued > most ? place->enqueued : most;
    }
    verdict->n_odd = 0;
    for (size_t i = 0; i < t->team->n_members && least < most; i++) {
        const struct inq_state_place *place = &t->team->places[i];
        if (place->whole && place->enqueued == least) {
            verdict->odd[verdict->n_odd++] = t->model->ranks[place->rank].rank;
            verdict->seq = least + 1;
            verdict->state = INQ_MATCH_MISSING_MEMBER;
        }
    }
}

bool inq_state_is_mismatch(enum inq_match_state state)
{
    return state == INQ_MATCH_KIND || state == INQ_MATCH_ORDER || state == INQ_MATCH_SIZE ||
           state == INQ_MATCH_DTYPE;
}

int inq_state_match(const struct inq_state *model, uint32_t team, struct inq_state_verdict *verdict,
                    struct inq_err *err)
{
    struct table t = {.model = model, .team = &model->groups[team], .index = team, .seq = -1};
    *verdict = (struct inq_state_verdict){.seq = -1};
    for (size_t i = 0; i < t.team->n_members; i++) {
        const struct inq_state_place *place = &t.team->places[i];
        bool counts = place->pending && !model->ranks[place->rank].stale;
        if (counts && (t.seq < 0 || place->next_seq < t.seq)) {
            t.seq = place->next_seq;
        }
    }
    if (t.seq < 0) {
        return INQ_OK;
    }
    t.parts = inq_mem_alloc(t.team->n_members * sizeof *t.parts);
    verdict->odd = inq_arena_array(model->arena, t.team->n_members, sizeof *verdict->odd);
    if (t.parts == NULL || verdict->odd == NULL) {
        inq_mem_free(t.parts);
        return inq_err_set(err, INQ_NOMEM, "no memory to compare the members of a group");
    }
    for (size_t i = 0; i < t.team->n_members; i++) {
        t.parts[i] = part_of(&t, i);
        verdict->usual = verdict->usual == NULL ? t.parts[i].entry : verdict->usual;
    }
    verdict->seq = t.seq;
    verdict->state = find_mismatch(&t, verdict);
    if (verdict->state == INQ_MATCH_MATCHED) {
        find_absent_later(&t, verdict);
    }
    inq_mem_free(t.parts);
    return INQ_OK;
}

/* ---- sends and receives ---------------------------------------------------------------------- */

/* What a side moves: recorded as input, output or both. */
static const struct inq_flight_tensors *moved(const struct inq_flight_entry *entry)
{
    return entry->in.elems >= 0 ? &entry->in : &entry->out;
}

static enum inq_match_state compare(const struct inq_flight_entry *a,
                                    const struct inq_flight_entry *b)
{
    const struct inq_flight_tensors *x = moved(a);
    const struct inq_flight_tensors *y = moved(b);
    bool dtypes = x->dtypes[0] != '\0' && y->dtypes[0] != '\0' && strcmp(x->dtypes, y->dtypes) != 0;
    if (x->elems >= 0 && y->elems >= 0 && x->elems != y->elems) {
        return INQ_MATCH_SIZE;
    }
    return dtypes ? INQ_MATCH_DTYPE : INQ_MATCH_MATCHED;
}

/* Whether the rank's op and the other side's differ: both are odd, neither is usual. */
static bool differs(const struct inq_state *model, uint32_t rank, const struct inq_state_op *op,
                    struct inq_state_verdict *verdict)
{
    struct inq_state_partner partner = inq_state_partner(model, rank, op);
    if (!partner.exact || partner.peer < rank) {
        return false;
    }
    verdict->state = compare(op->entry, partner.op->entry);
    if (verdict->state == INQ_MATCH_MATCHED) {
        return false;
    }
    verdict->seq = op->entry->p2p_seq;
    verdict->odd[verdict->n_odd++] = model->ranks[rank].rank;
    verdict->odd[verdict->n_odd++] = model->ranks[partner.peer].rank;
    verdict->usual = op->entry;
    verdict->other = partner.op->entry;
    verdict->tied = true;
    return true;
}

int inq_state_match_pairs(const struct inq_state *model, uint32_t *team,
                          struct inq_state_verdict *verdict, struct inq_err *err)
{
    *team = INQ_NONE;
    *verdict = (struct inq_state_verdict){.seq = -1};
    verdict->odd = inq_arena_array(model->arena, 2, sizeof *verdict->odd);
    if (verdict->odd == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare sends and receives");
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        const struct inq_state_rank *rank = &model->ranks[r];
        for (size_t i = 0; i < rank->n_pending; i++) {
            const struct inq_state_op *op = &rank->pending[i];
            if (op->entry->is_p2p && differs(model, (uint32_t)r, op, verdict)) {
                *team = op->team;
                return INQ_OK;
            }
        }
    }
    return INQ_OK;
}
