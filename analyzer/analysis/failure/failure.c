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
        code = inq_failure_set_early_aside(&c, err);
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
