/* SPDX-License-Identifier: Apache-2.0 */
/* Headline, evidence, stacks, what else it could be, what to do. */
#include "analysis/failure/messages.h"
#include "analysis/failure/rules/rules.h"

#include "base/say.h"

#include <inttypes.h>

enum { MAX_ROOT_EVIDENCE = 16, MAX_WAITER_EVIDENCE = 4, MAX_EVIDENCE = 32, MAX_STACKS = 8 };

static void add_evidence(struct inq_failure_case *c, uint32_t rank, const char *what)
{
    struct inq_failure *failure = c->failure;
    const struct inq_flight_dump *dump = rank != INQ_NONE ? c->model.ranks[rank].dump : NULL;
    if (failure->n_evidence < MAX_EVIDENCE && failure->evidence != NULL) {
        failure->evidence[failure->n_evidence++] = (struct inq_failure_evidence){
            .rank = rank != INQ_NONE ? c->model.ranks[rank].rank : -1,
            .file = dump != NULL ? c->trace->files[dump->file].path : "",
            .what = what,
        };
    }
}

static void add_stack(struct inq_failure_case *c, uint32_t rank,
                      const struct inq_flight_entry *entry)
{
    struct inq_failure *failure = c->failure;
    if (entry->n_frames > 0 && failure->n_stacks < MAX_STACKS && failure->stacks != NULL) {
        failure->stacks[failure->n_stacks++] = (struct inq_failure_stack){
            .rank = c->model.ranks[rank].rank,
            .op = inq_state_op_text(&c->model, entry),
            .n_frames = entry->n_frames,
            .frames = entry->frames,
        };
    }
}

/* "all_gather (_all_gather_base) 87749 of GROUP [8-11]" */
static const char *say_op(struct inq_failure_case *c, const struct inq_state_op *op)
{
    const struct inq_flight_entry *entry = op->entry;
    return inq_say(c->arena, "%s %" PRId64 " of %s", inq_state_op_text(&c->model, entry),
                   entry->is_p2p ? entry->p2p_seq : entry->collective_seq,
                   inq_state_group_text(&c->model, op->team));
}

static const struct inq_state_op *op_of(const struct inq_failure_case *c, uint32_t rank,
                                        uint32_t op)
{
    return &c->model.ranks[rank].pending[op];
}

/* ---- evidence -------------------------------------------------------------------------------- */

static const char *say_waiter(struct inq_failure_case *c, const struct inq_state_node *node)
{
    if (node->waiter == INQ_NONE) {
        return "";
    }
    return inq_say(c->arena, "rank %" PRId32 " waits for it in %s",
                   c->model.ranks[node->waiter].rank,
                   say_op(c, op_of(c, node->waiter, node->waiter_op)));
}

/* Why a dump does not tell what holds its rank. */
static const char *say_dump(const struct inq_state_rank *of)
{
    return of->dump == NULL     ? "no dump"
           : of->n_unplaced > 0 ? "pending in a group whose members no dump lists"
           : of->stale ? "its dump is older: others have finished since what it must have joined"
                       : "its dump is cut short";
}

/* What holds a rank, as far as its dump and those of its waiters tell. */
static void tell_rank(struct inq_failure_case *c, uint32_t rank)
{
    const struct inq_state_node *node = &c->waits.nodes[rank];
    const struct inq_state_rank *of = &c->model.ranks[rank];
    const char *waiter = say_waiter(c, node);
    const char *comma = waiter[0] != '\0' ? "; " : "";
    if (node->op != INQ_NONE) {
        add_stack(c, rank, of->pending[node->op].entry);
    }
    switch (node->end) {
    case INQ_END_ON_GPU:
        add_evidence(c, rank,
                     inq_say(c->arena,
                             "%zu ops enqueued and not finished; the oldest is %s, "
                             "which other members have %s%s%s",
                             of->n_pending, say_op(c, &of->pending[node->op]),
                             node->unstarted ? "started" : "finished", comma, waiter));
        break;
    case INQ_END_ON_CPU:
        add_evidence(c, rank,
                     inq_say(c->arena, "%s; %s",
                             of->n_pending == 0 ? "everything that it enqueued is finished"
                                                : "what it enqueued says nothing of others",
                             waiter));
        break;
    case INQ_END_UNKNOWN:
        add_evidence(c, rank, inq_say(c->arena, "%s%s%s", say_dump(of), comma, waiter));
        break;
    case INQ_END_JOINED:
    case INQ_END_WAITS:
    case INQ_END_CIRCLE:
        if (node->op != INQ_NONE) {
            const char *peer = node->first != INQ_NONE ? inq_say(c->arena, " for rank %" PRId32,
                                                                 c->model.ranks[node->first].rank)
                                                       : "";
            bool both = node->end == INQ_END_CIRCLE && waiter[0] != '\0';
            add_evidence(c, rank,
                         inq_say(c->arena, "waits in %s%s%s%s", say_op(c, &of->pending[node->op]),
                                 peer, both ? comma : "", both ? waiter : ""));
        }
        break;
    case INQ_END_IDLE:
        break;
    }
}

static void tell_list(struct inq_failure_case *c, const int32_t *ranks, size_t n, size_t most)
{
    for (size_t i = 0; i < n && i < most; i++) {
        uint32_t rank = inq_state_find_rank(&c->model, ranks[i]);
        if (rank != INQ_NONE) {
            tell_rank(c, rank);
        }
    }
    if (n > most) {
        add_evidence(c, INQ_NONE,
                     inq_say(c->arena, "and %zu more: %s", n - most,
                             inq_say_ranks(c->arena, ranks + most, n - most, false)));
    }
}

static void tell_mismatch(struct inq_failure_case *c)
{
    const struct inq_state_verdict *v = &c->mismatch;
    add_evidence(c, INQ_NONE,
                 inq_say(c->arena, "%s %" PRId64 " of %s: %s", c->failure->op, v->seq,
                         c->failure->group, inq_failure_say_match(c, c->mismatch_team, v)));
    const struct inq_state_group *team = &c->model.groups[c->mismatch_team];
    const struct inq_flight_entry *both[] = {v->other, v->usual};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < team->n_members; i++) {
            const struct inq_state_rank *rank = &c->model.ranks[team->places[i].rank];
            const struct inq_flight_dump *dump = rank->dump;
            bool owns = dump != NULL && both[k] >= dump->entries &&
                        both[k] < dump->entries + dump->n_entries;
            if (owns && (k == 0 || both[0] != both[1])) {
                add_evidence(c, team->places[i].rank,
                             inq_say(c->arena, "entered %s, %s",
                                     inq_state_op_text(&c->model, both[k]),
                                     inq_failure_sizes(c, both[k])));
                add_stack(c, team->places[i].rank, both[k]);
            }
        }
    }
}

static void tell_evidence(struct inq_failure_case *c)
{
    struct inq_failure *failure = c->failure;
    failure->evidence = inq_arena_array(c->arena, MAX_EVIDENCE, sizeof *failure->evidence);
    failure->stacks = inq_arena_array(c->arena, MAX_STACKS, sizeof *failure->stacks);
    if (failure->evidence == NULL || failure->stacks == NULL) {
        c->no_memory = true;
        return;
    }
    if (failure->cls == INQ_FAILURE_MISMATCH) {
        tell_mismatch(c);
    } else {
        tell_list(c, failure->root_ranks, failure->n_roots, MAX_ROOT_EVIDENCE);
        if (failure->cls == INQ_FAILURE_COMMUNICATION && c->first != INQ_NONE) {
            tell_rank(c, c->first);
        }
    }
    tell_list(c, failure->suspect_ranks, failure->n_suspects, MAX_WAITER_EVIDENCE);
    tell_list(c, failure->victim_ranks, failure->n_victims, MAX_WAITER_EVIDENCE);
}

/* ---- headline -------------------------------------------------------------------------------- */

static const char *say_victims(struct inq_failure_case *c)
{
    size_t n = c->failure->n_victims;
    if (n == 0) {
        return "";
    }
    return inq_say(c->arena, "; %zu other rank%s", n, n == 1 ? " waits" : "s wait");
}

static bool is_held_alike(const struct inq_failure_case *c, uint32_t rank)
{
    const struct inq_state_op *op = inq_failure_held(c, rank);
    return op != NULL && c->held != NULL && op->team == c->held->team &&
           op->entry->is_p2p == c->held->entry->is_p2p &&
           op->entry->collective_seq == c->held->entry->collective_seq &&
           op->entry->p2p_seq == c->held->entry->p2p_seq;
}

/* The roots with this end: how many, their list, and whether one op holds them all. */
static size_t list_stuck(struct inq_failure_case *c, enum inq_state_end end, int32_t **ranks,
                         bool *alike)
{
    const struct inq_failure *f = c->failure;
    size_t n = 0;
    *alike = true;
    *ranks = inq_arena_array(c->arena, f->n_roots, sizeof **ranks);
    for (size_t i = 0; i < f->n_roots && *ranks != NULL; i++) {
        uint32_t rank = inq_state_find_rank(&c->model, f->root_ranks[i]);
        if (c->waits.nodes[rank].end == end) {
            (*ranks)[n++] = f->root_ranks[i];
            *alike = *alike && is_held_alike(c, rank);
        }
    }
    return n;
}

static const char *say_stuck(struct inq_failure_case *c, const char *op)
{
    int32_t *ranks = NULL;
    bool alike = true;
    bool gpu = c->failure->cls == INQ_FAILURE_GPU_STALL;
    size_t n = list_stuck(c, gpu ? INQ_END_ON_GPU : INQ_END_ON_CPU, &ranks, &alike);
    const char *who = inq_say_ranks(c->arena, ranks, n, true);
    const char *be = n == 1 ? "is" : "are";
    const char *with = alike ? "" : "what others wait for, such as ";
    bool side = !gpu && c->held != NULL && c->held->entry->is_p2p;
    if (!gpu) {
        return inq_say(c->arena, "%s %s stuck on the CPU: never enqueued %s%s%s%s.", who, be, with,
                       side ? "its side of " : "", op, say_victims(c));
    }
    bool unstarted = c->waits.nodes[c->first].unstarted;
    const char *left = unstarted ? "started" : "left";
    const char *what =
        alike ? inq_say(c->arena, "%s, which %s peers have %s", op, n == 1 ? "its" : "their", left)
              : inq_say(c->arena, "what their peers have %s, such as %s", left, op);
    n = list_stuck(c, INQ_END_ON_CPU, &ranks, &alike);
    const char *more =
        n == 0 ? ""
               : inq_say(c->arena, "; %s %s stuck on the CPU",
                         inq_say_ranks(c->arena, ranks, n, false), n == 1 ? "is" : "are");
    return inq_say(c->arena, "%s %s stuck on the GPU: enqueued, but never %s, %s%s%s.", who, be,
                   unstarted ? "started" : "finished", what, more, say_victims(c));
}

/* What the dumps of ranks that others wait for lack: the same of all, or a whole dump of some. */
static const char *say_lack(const struct inq_failure_case *c)
{
    const struct inq_failure *f = c->failure;
    size_t n_stale = 0;
    size_t n_unplaced = 0;
    for (size_t i = 0; i < f->n_suspects; i++) {
        const struct inq_state_rank *rank =
            &c->model.ranks[inq_state_find_rank(&c->model, f->suspect_ranks[i])];
        n_stale += rank->stale;
        n_unplaced += rank->whole && rank->n_unplaced > 0;
    }
    return n_stale == f->n_suspects
               ? "whose dump was written before the others went on: whether the run hangs, the "
                 "dumps do not tell"
           : n_unplaced == f->n_suspects
               ? "pending in groups whose members no dump lists: the cause is not in the dumps"
               : "which left no whole dump: the cause is not in the dumps";
}

static const char *say_unknown(struct inq_failure_case *c)
{
    const struct inq_failure *f = c->failure;
    if (f->n_suspects == 0 && c->trace->dumps[0]->unfollowed) {
        return "The dumps do not tell what had finished: each member enqueued what all the others "
               "did, and whether the run hangs is open.";
    }
    if (f->n_suspects == 0) {
        return "The run hangs, but the dumps do not tell who waits for whom.";
    }
    if (c->scattered) {
        return inq_say(c->arena,
                       "The dumps are of different moments: others had left what %s %s in. Whether "
                       "the run hangs, they do not tell.",
                       inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false),
                       f->n_suspects == 1 ? "is" : "are");
    }
    if (c->doubtful) {
        return inq_say(c->arena,
                       "Whether the run hangs, the dumps do not tell: in %zu groups all members "
                       "are in one collective or transfer, as in a job that runs; %s %s last.",
                       c->n_elsewhere,
                       inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false),
                       f->n_suspects == 1 ? "is" : "are");
    }
    return inq_say(c->arena, "Others wait for %s, %s.",
                   inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false), say_lack(c));
}

/* One rank that waits for others in one collective, while they wait for it in another. */
static const char *say_lone(struct inq_failure_case *c)
{
    const struct inq_state_node *node = &c->waits.nodes[c->first];
    const char *own = say_op(c, op_of(c, c->first, node->op));
    const char *theirs = say_op(c, op_of(c, node->waiter, node->waiter_op));
    return inq_say(c->arena, "Rank %" PRId32 " is in %s, but is waited for in %s, which %s%s.",
                   c->model.ranks[c->first].rank, own, theirs,
                   inq_failure_lone_came(c) ? "it enqueued later" : "it never enqueued",
                   say_victims(c));
}

static const char *say_headline(struct inq_failure_case *c)
{
    struct inq_failure *f = c->failure;
    const char *roots = inq_say_ranks(c->arena, f->root_ranks, f->n_roots, true);
    const char *op = inq_say(c->arena, "%s %" PRId64 " of %s", f->op, f->seq, f->group);
    switch ((int)f->cls) {
    case INQ_FAILURE_GPU_STALL:
    case INQ_FAILURE_CPU_STALL:
        return say_stuck(c, op);
    case INQ_FAILURE_MISMATCH:
        return inq_say(c->arena,
                       "Members of %s do not enter the same collective at %" PRId64 ": %s.",
                       f->group, f->seq, inq_failure_say_match(c, c->mismatch_team, &c->mismatch));
    case INQ_FAILURE_ORDERING:
    case INQ_FAILURE_UNEVEN:
        return f->n_roots == 1 ? say_lone(c)
                               : inq_say(c->arena,
                                         "%s wait for each other in a circle: they entered "
                                         "collectives, or sends and "
                                         "receives, in different orders%s.",
                                         roots, say_victims(c));
    case INQ_FAILURE_COMMUNICATION:
        if (c->n_elsewhere > 0) {
            return inq_say(c->arena,
                           "All members joined %s, and none finished; %zu other group%s "
                           "likewise: the network, or a run that was not hung when its dumps "
                           "were written.",
                           op, c->n_elsewhere, c->n_elsewhere == 1 ? "" : "s");
        }
        return inq_say(c->arena,
                       "All members joined %s, and none finished: the network or one "
                       "member's GPU, not a rank that is late%s.",
                       op, say_victims(c));
    case INQ_FAILURE_UNKNOWN:
        return say_unknown(c);
    default: /* what only logs tell */
        return inq_say(c->arena, "%s.", inq_failure_class_rule(INQ_FAILURE_NONE)->headline);
    }
}

/* ---- what else, what next -------------------------------------------------------------------- */

static void tell_alternatives(struct inq_failure_case *c)
{
    const struct inq_failure_rule *rule = inq_failure_class_rule(c->failure->cls);
    struct inq_failure *f = c->failure;
    f->alternatives = inq_arena_array(c->arena, INQ_RULE_NEXT + 3, sizeof(const char *));
    if (f->alternatives == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < INQ_RULE_NEXT && rule->next[i] != NULL; i++) {
        f->alternatives[f->n_alternatives++] = rule->next[i];
    }
    if (c->n_elsewhere > 0) {
        f->alternatives[f->n_alternatives++] =
            "no hang: a running job, asked for its dumps, looks like this; a second set of dumps, "
            "or a timeout in the logs, decides";
    }
    if (c->n_early > 0) {
        f->alternatives[f->n_alternatives++] =
            "dumps of these ranks that are older than their peers': what they tell ends before";
    }
    if (f->n_missing > 0 && f->cls != INQ_FAILURE_NONE) {
        f->alternatives[f->n_alternatives++] = inq_say(
            c->arena, "no whole dump of %s: %s",
            inq_say_ranks(c->arena, f->missing_ranks, f->n_missing, false),
            f->n_suspects > 0 ? "others wait for some of them, so they may be a cause as well; "
                                "their logs and nodes decide"
                              : "they may be a cause as well; their dumps decide");
    }
}

void inq_failure_tell(struct inq_failure_case *c)
{
    tell_evidence(c);
    tell_alternatives(c);
    c->failure->advice =
        c->doubtful ? "Take a second set of dumps a minute later: what has not moved hangs."
                    : inq_failure_class_rule(c->failure->cls)->advice;
    c->failure->headline = say_headline(c);
}
