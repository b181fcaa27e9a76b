/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of one folder need not be of one moment. A rank that has not finished what its peers have,
 * in a dump that ends before theirs, may be stuck on its GPU, or may only have written its dump
 * before. It is the second when the hang is explained without it, or when there are many such. */
#include "analysis/failure/messages.h"

#include "base/mem.h"

/* Last entries of dumps written at one moment differ by less: clocks are that far apart, and ranks
 * enqueue the same op microseconds after each other. */
#define ONE_MOMENT_NS INT64_C(1000000)

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
    return a_ns == INQ_TIME_NONE || (b_ns != INQ_TIME_NONE && b_ns < a_ns) ? b_ns : a_ns;
}

/* When a member's dump ends, by the clock of the rank whose op is given: hosts' clocks may be
 * seconds apart, and both enqueued the op at about the same time. By the member's own clock where
 * its dump no longer lists the op, or nothing behind it. */
static int64_t end_by_own_clock(const struct inq_state_rank *member, const struct inq_state_op *op)
{
    const struct inq_flight_dump *dump = member->dump;
    int64_t own_ns = op->entry->created_ns;
    for (size_t i = 0; dump != NULL && i < dump->n_entries && own_ns != INQ_TIME_NONE; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        bool same = !entry->is_p2p && entry->collective_seq == op->entry->collective_seq &&
                    entry->group != INQ_NONE && member->team_of[entry->group] == op->team;
        if (same && entry->created_ns != INQ_TIME_NONE && member->last_ns > entry->created_ns) {
            return member->last_ns - entry->created_ns + own_ns;
        }
    }
    return member->last_ns;
}

/* The first end of a dump of those that have left what the rank is stuck in. */
static int64_t peers_end(const struct inq_failure_case *c, size_t r)
{
    const struct inq_state_op *op = &c->model.ranks[r].pending[c->waits.nodes[r].op];
    if (op->entry->is_p2p) {
        uint32_t peer = inq_state_partner(&c->model, (uint32_t)r, op).peer;
        return peer != INQ_NONE ? c->model.ranks[peer].last_ns : INQ_TIME_NONE;
    }
    int64_t end_ns = INQ_TIME_NONE;
    const struct inq_state_group *team = &c->model.groups[op->team];
    for (size_t i = 0; i < team->n_members; i++) {
        const struct inq_state_place *place = &team->places[i];
        bool whole = c->model.ranks[place->rank].whole; /* one that was cut ends too soon */
        if (whole && place->known && place->next_seq > op->entry->collective_seq) {
            end_ns = sooner(end_ns, end_by_own_clock(&c->model.ranks[place->rank], op));
        }
    }
    return end_ns;
}

static bool may_be_early(const struct inq_failure_case *c, size_t r)
{
    const struct inq_state_node *node = &c->waits.nodes[r];
    if (node->end != INQ_END_ON_GPU || node->unstarted) {
        return false;
    }
    if (!c->model.ranks[r].whole) { /* one that was cut does not show when it ended */
        return true;
    }
    int64_t own_ns = c->model.ranks[r].last_ns;
    int64_t end_ns = peers_end(c, r);
    return own_ns != INQ_TIME_NONE && end_ns != INQ_TIME_NONE && end_ns - own_ns > ONE_MOMENT_NS;
}

/* Whether most ranks wait for one that is stuck, directly or not. */
static bool is_explained(struct inq_failure_case *c, const struct inq_solution *waits, bool *reach,
                         struct inq_err *err)
{
    size_t n = 0;
    size_t n_waiting = 0;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        reach[r] = inq_state_is_blocked(&waits->nodes[r]);
    }
    if (inq_state_reach(&c->model, waits, reach, err) != INQ_OK) {
        return false;
    }
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        n += c->model.ranks[r].whole;
        n_waiting += c->model.ranks[r].whole && reach[r];
    }
    return 4 * n_waiting > 3 * n;
}

static void set_aside(struct inq_failure_case *c, const bool *early, bool aside)
{
    for (uint32_t r = 0; r < c->model.n_ranks; r++) {
        if (early[r]) {
            inq_state_set_aside(&c->model, r, aside);
        }
    }
}

/* Whether others wait for a rank that is stuck by a dump that is no older one; or, where those that
 * are stuck do not explain why most ranks wait, for one that left no dump. A rank whose dump may be
 * an older one is then no beginning to be sure of. */
static bool is_rivaled(struct inq_failure_case *c, const bool *early, bool *scratch,
                       struct inq_err *err)
{
    bool absent = false;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        const struct inq_state_node *node = &c->waits.nodes[r];
        if (inq_state_is_blocked(node) && node->waiter != INQ_NONE && !early[r]) {
            return true;
        }
        absent = absent || (node->end == INQ_END_UNKNOWN && node->waiter != INQ_NONE &&
                            c->model.ranks[r].dump == NULL);
    }
    return absent && !is_explained(c, &c->waits, scratch, err);
}

/* One GPU that is stuck, or two at the ends of a link, are a hang; many at once, and more than one
 * host's part of a job of a few hosts, are dumps of other moments. */
static bool are_many(const struct inq_failure_case *c)
{
    enum { ENDS_OF_A_LINK = 2, ONE_IN = 8 };
    return c->n_early > ENDS_OF_A_LINK && ONE_IN * c->n_early > c->model.n_ranks;
}

/* Tries the ranks' dumps as older ones, and keeps to that when it explains more. */
static int weigh(struct inq_failure_case *c, const bool *early, bool *scratch, struct inq_err *err)
{
    struct inq_solution waits;
    bool rivaled = is_rivaled(c, early, scratch, err);
    set_aside(c, early, true);
    int code = inq_state_solve(&c->model, &waits, err);
    bool explained = code == INQ_OK && (rivaled || is_explained(c, &waits, scratch, err));
    if (explained || are_many(c)) {
        c->waits = waits;
        c->scattered = !explained;
        c->n_early = 0;
    } else {
        set_aside(c, early, false);
    }
    return code;
}

int inq_failure_set_early_aside(struct inq_failure_case *c, struct inq_err *err)
{
    size_t n = c->model.n_ranks;
    bool *early = inq_mem_zalloc(2 * (n + 1), sizeof *early);
    if (early == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare the dumps' times");
    }
    for (size_t r = 0; r < n; r++) {
        early[r] = may_be_early(c, r);
        c->n_early += early[r];
    }
    int code = c->n_early > 0 ? weigh(c, early, early + n, err) : INQ_OK;
    inq_mem_free(early);
    return code;
}
