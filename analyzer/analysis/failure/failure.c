/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped the run: from the ends of the chains of waiting to classes, roots and victims. */
#include "inquest/failure.h"

#include "analysis/failure/join.h"
#include "analysis/failure/messages.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/words.h"

#include <string.h>

static const char *const class_texts[] = {INQ_FAILURE_CLASSES(INQ_WORD_TEXT)};

static const char *const match_texts[] = {INQ_MATCH_STATES(INQ_WORD_TEXT)};

const char *inq_failure_class_text(enum inq_failure_class cls)
{
    return class_texts[cls];
}

static const char *const phase_texts[] = {INQ_FAILURE_PHASES(INQ_WORD_TEXT)};

const char *inq_failure_phase_text(enum inq_failure_phase phase)
{
    return phase_texts[phase];
}

const char *inq_match_state_text(enum inq_match_state state)
{
    return match_texts[state];
}

/* ---- matches --------------------------------------------------------------------------------- */

static void add_match(struct inq_failure_case *c, uint32_t team,
                      const struct inq_state_verdict *verdict)
{
    c->failure->matches[c->failure->n_matches++] = (struct inq_failure_match){
        .group = inq_state_group_text(&c->model, team),
        .seq = verdict->seq,
        .state = verdict->state,
        .n_ranks = verdict->n_odd,
        .ranks = verdict->odd,
        .what = inq_failure_describe_match(c, team, verdict),
    };
    if (inq_state_is_mismatch(verdict->state) && c->mismatch_team == INQ_NONE) {
        c->mismatch_team = team;
        c->mismatch = *verdict;
    }
}

/* One row per group that has something pending, and one for a send whose receive differs; the first
 * mismatch decides. */
static int match_groups(struct inq_failure_case *c, struct inq_err *err)
{
    struct inq_failure *failure = c->failure;
    failure->matches = inq_arena_array(c->arena, c->model.n_groups + 1, sizeof *failure->matches);
    if (failure->matches == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare groups");
    }
    for (uint32_t t = 0; t < c->model.n_groups; t++) {
        struct inq_state_verdict verdict;
        int code = inq_state_match(&c->model, t, &verdict, err);
        if (code != INQ_OK) {
            return code;
        }
        if (verdict.seq >= 0) {
            add_match(c, t, &verdict);
        }
    }
    uint32_t team = INQ_NONE;
    struct inq_state_verdict pair;
    int code = inq_state_match_pairs(&c->model, &team, &pair, err);
    if (code == INQ_OK && team != INQ_NONE) {
        add_match(c, team, &pair);
    }
    return code;
}

/* ---- lists of ranks -------------------------------------------------------------------------- */

static int list_marked(struct inq_failure_case *c, const bool *marked, size_t *n, int32_t **ranks,
                       struct inq_err *err)
{
    *ranks = inq_arena_array(c->arena, c->model.n_ranks, sizeof **ranks);
    if (*ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a list of ranks");
    }
    *n = 0;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        if (marked[r]) {
            (*ranks)[(*n)++] = c->model.ranks[r].rank;
        }
    }
    return INQ_OK;
}

/* A rank that others wait for, directly or not, and that waits for nobody. */
static bool is_root(const struct inq_failure_case *c, size_t r)
{
    const struct inq_state_node *node = &c->waits.nodes[r];
    switch ((int)c->failure->cls) {
    case INQ_FAILURE_GPU_STALL:
    case INQ_FAILURE_CPU_STALL:
        return inq_state_is_blocked(node) || (c->alone && node->end == INQ_END_ON_GPU);
    case INQ_FAILURE_ORDERING:
    case INQ_FAILURE_UNEVEN:
        return node->end == INQ_END_CIRCLE;
    case INQ_FAILURE_MISMATCH:
        for (size_t i = 0; i < c->mismatch.n_odd && !c->mismatch.tied; i++) {
            if (c->mismatch.odd[i] == c->model.ranks[r].rank) {
                return true;
            }
        }
        return false;
    default: /* nobody in particular */
        return false;
    }
}

static int list_ranks(struct inq_failure_case *c, struct inq_err *err)
{
    struct inq_failure *failure = c->failure;
    size_t n = c->model.n_ranks;
    bool *marks = inq_mem_zalloc(4 * (n + 1), sizeof *marks);
    if (marks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lists of ranks");
    }
    bool *roots = marks;
    bool *reach = marks + n;
    bool *missing = reach + n;
    bool *suspected = missing + n;
    for (size_t r = 0; r < n; r++) {
        roots[r] = reach[r] = is_root(c, r);
        missing[r] = !c->model.ranks[r].whole || c->model.ranks[r].printed;
        suspected[r] = c->waits.nodes[r].end == INQ_END_UNKNOWN ||
                       (c->doubtful && inq_state_is_blocked(&c->waits.nodes[r]));
        bool joined = c->waits.nodes[r].end == INQ_END_JOINED;
        reach[r] = reach[r] || (failure->cls == INQ_FAILURE_COMMUNICATION && joined) ||
                   (failure->cls == INQ_FAILURE_UNKNOWN && suspected[r]);
    }
    int code = inq_state_reach(&c->model, &c->waits, reach, err);
    for (size_t r = 0; r < n; r++) {
        /* that it suffered is known only of a rank that has a dump */
        bool waits = c->model.ranks[r].n_pending > 0 && !c->model.ranks[r].stale;
        reach[r] = reach[r] && !roots[r] && waits;
    }
    code =
        code != INQ_OK ? code : list_marked(c, roots, &failure->n_roots, &failure->root_ranks, err);
    code = code != INQ_OK ? code
                          : list_marked(c, reach, &failure->n_victims, &failure->victim_ranks, err);
    code = code != INQ_OK
               ? code
               : list_marked(c, missing, &failure->n_missing, &failure->missing_ranks, err);
    code = code != INQ_OK
               ? code
               : list_marked(c, suspected, &failure->n_suspected, &failure->suspected_ranks, err);
    inq_mem_free(marks);
    return code;
}

/* ---- the class ------------------------------------------------------------------------------- */

static uint32_t first_with(const struct inq_failure_case *c, enum inq_state_end end)
{
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        const struct inq_state_node *node = &c->waits.nodes[r];
        bool counts = node->waiter != INQ_NONE || end == INQ_END_JOINED;
        if (node->end == end && counts) {
            return (uint32_t)r;
        }
    }
    return INQ_NONE;
}

/* The rank whose evidence comes first; sets the class. */
static void classify(struct inq_failure_case *c)
{
    static const struct {
        enum inq_state_end end;
        enum inq_failure_class cls;
    } order[] = {{INQ_END_ON_GPU, INQ_FAILURE_GPU_STALL},
                 {INQ_END_ON_CPU, INQ_FAILURE_CPU_STALL},
                 {INQ_END_CIRCLE, INQ_FAILURE_ORDERING},
                 {INQ_END_UNKNOWN, INQ_FAILURE_UNKNOWN},
                 {INQ_END_JOINED, INQ_FAILURE_COMMUNICATION}};
    if (c->mismatch_team != INQ_NONE) {
        c->failure->cls = INQ_FAILURE_MISMATCH;
        c->failure->confidence = c->mismatch.tied || c->mismatch.by_sisters
                                     ? INQ_CONFIDENCE_SUPPORTED
                                     : INQ_CONFIDENCE_ESTABLISHED;
        return;
    }
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        c->first = first_with(c, order[i].end);
        if (c->first != INQ_NONE) {
            c->failure->cls = order[i].cls;
            c->failure->confidence = order[i].cls == INQ_FAILURE_UNKNOWN ? INQ_CONFIDENCE_HYPOTHESIS
                                                                         : INQ_CONFIDENCE_SUPPORTED;
            return;
        }
    }
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        if (c->waits.nodes[r].end == INQ_END_ON_GPU) { /* the others have finished and are done */
            c->alone = true;
            c->first = (uint32_t)r;
            c->failure->cls = INQ_FAILURE_GPU_STALL;
            c->failure->confidence = INQ_CONFIDENCE_SUPPORTED;
            return;
        }
        const struct inq_state_rank *rank = &c->model.ranks[r];
        bool unfollowed = rank->dump != NULL && rank->dump->unfollowed;
        if (rank->n_pending + rank->n_unplaced > 0 || unfollowed) {
            c->failure->cls = INQ_FAILURE_UNKNOWN;
            c->failure->confidence = INQ_CONFIDENCE_HYPOTHESIS;
        }
    }
}

/* Where the waiting began: the group, number and op that the first evidence is of. */
static void place_it(struct inq_failure_case *c)
{
    if (c->mismatch_team != INQ_NONE) {
        c->failure->group = inq_state_group_text(&c->model, c->mismatch_team);
        c->failure->seq = c->mismatch.seq;
        c->failure->op = inq_state_op_text(&c->model, c->mismatch.usual);
        c->failure->sizes = inq_failure_sizes(c, c->mismatch.usual);
        return;
    }
    const struct inq_state_op *op = c->held =
        c->first != INQ_NONE ? inq_failure_held(c, c->first) : NULL;
    if (op != NULL) {
        c->failure->group = inq_state_group_text(&c->model, op->team);
        c->failure->seq = op->entry->is_p2p ? op->entry->p2p_seq : op->entry->collective_seq;
        c->failure->op = inq_state_op_text(&c->model, op->entry);
        c->failure->sizes = inq_failure_sizes(c, op->entry);
    }
}

/* One rank against all others is uneven work, unless it has enqueued what they wait in. */
static void find_uneven(struct inq_failure_case *c)
{
    size_t n = 0;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        n += c->waits.nodes[r].end == INQ_END_CIRCLE;
    }
    if (c->failure->cls == INQ_FAILURE_ORDERING && n == 1 && !inq_failure_lone_came(c)) {
        c->failure->cls = INQ_FAILURE_UNEVEN;
    }
}

/* Which transfers of two sides belong together is not always known, nor whether what a rank
 * enqueued behind some is held by them. */
static bool is_joined_for_certain(const struct inq_failure_case *c, uint32_t rank)
{
    const struct inq_state_op *op = &c->model.ranks[rank].pending[c->waits.nodes[rank].op];
    return c->waits.nodes[rank].op == 0 &&
           (!op->entry->is_p2p || inq_state_partner(&c->model, rank, op).exact);
}

/* In how many groups others wait for ranks that are stuck; `seen` [n_groups] is scratch. */
static size_t count_beginnings(const struct inq_failure_case *c, bool *seen)
{
    size_t n = 0;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        const struct inq_state_node *node = &c->waits.nodes[r];
        if (inq_state_is_blocked(node)) {
            uint32_t team = c->model.ranks[node->waiter].pending[node->waiter_op].team;
            n += !seen[team];
            seen[team] = true;
        }
    }
    memset(seen, 0, c->model.n_groups * sizeof *seen);
    return n;
}

/* Two ranks of one run have been seen to hang at once. Where more are late on their hosts, each in
 * another group, they are idle for one reason, or for none: first stages of a pipeline between two
 * steps look like that. A rank that left no dump may be the reason. */
#define MOST_BEGINNINGS 2

static bool are_several_late(const struct inq_failure_case *c, bool *seen)
{
    bool missing = false;
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        missing = missing || !c->model.ranks[r].whole;
    }
    return missing && c->failure->cls == INQ_FAILURE_CPU_STALL &&
           count_beginnings(c, seen) > MOST_BEGINNINGS;
}

/* A hang has few beginnings. Groups that have all joined what they will soon finish are what a
 * running job looks like. */
static void doubt_hang(struct inq_failure_case *c)
{
    bool *seen = inq_mem_zalloc(c->model.n_groups + 1, sizeof *seen);
    bool stall = c->failure->cls == INQ_FAILURE_GPU_STALL ||
                 c->failure->cls == INQ_FAILURE_CPU_STALL ||
                 c->failure->cls == INQ_FAILURE_COMMUNICATION;
    c->no_memory = c->no_memory || seen == NULL;
    c->several_late = seen != NULL && are_several_late(c, seen);
    if (seen != NULL && c->held != NULL) {
        seen[c->held->team] = true;
    }
    size_t n_stuck = 0;
    for (size_t r = 0; r < c->model.n_ranks && stall && seen != NULL; r++) {
        const struct inq_state_node *node = &c->waits.nodes[r];
        n_stuck += inq_state_is_blocked(node);
        if (node->end == INQ_END_JOINED && is_joined_for_certain(c, (uint32_t)r)) {
            uint32_t team = c->model.ranks[r].pending[node->op].team;
            c->n_elsewhere += !seen[team];
            seen[team] = true;
        }
    }
    if (c->n_elsewhere > 0) {
        c->failure->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    }
    c->doubtful = c->scattered || c->several_late || (n_stuck > 0 && c->n_elsewhere > n_stuck);
    if (c->doubtful) {
        c->failure->cls = INQ_FAILURE_UNKNOWN;
    }
    inq_mem_free(seen);
}

/* ---- dumps of other moments ------------------------------------------------------------------ */

/* Dumps of one folder need not be of one moment. A rank that has not finished what its peers have,
 * in a dump that ends before theirs, may be stuck on its GPU, or may only have written its dump
 * before. It is the second when the hang is explained without it, or when there are many such. */

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

/* Sets dumps aside that only were written before the others. */
static int set_early_aside(struct inq_failure_case *c, struct inq_err *err)
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

/* ---- all of it ------------------------------------------------------------------------------- */

int inq_failure_from_state(const struct inq_trace *trace, const struct inq_state_records *records,
                           struct inq_arena *arena, struct inq_failure *failure,
                           struct inq_err *err)
{
    struct inq_failure_case c = {.trace = trace,
                                 .arena = arena,
                                 .failure = failure,
                                 .mismatch_team = INQ_NONE,
                                 .first = INQ_NONE};
    int code = inq_state_build(records, arena, &c.model, err);
    if (code == INQ_OK) {
        code = inq_state_solve(&c.model, &c.waits, err);
    }
    if (code == INQ_OK) {
        code = set_early_aside(&c, err);
    }
    if (code == INQ_OK) {
        code = match_groups(&c, err);
    }
    if (code == INQ_OK) {
        classify(&c);
        find_uneven(&c);
        place_it(&c);
        doubt_hang(&c);
        code = list_ranks(&c, err);
    }
    if (code == INQ_OK) {
        code = inq_state_list_waits(&c.model, &c.waits, &failure->waits, &failure->n_waits, err);
    }
    if (code == INQ_OK) {
        inq_failure_explain(&c);
        code = c.no_memory || c.arena->failed
                   ? inq_err_set(err, INQ_NOMEM, "no memory for a failure")
                   : INQ_OK;
    }
    return code;
}
