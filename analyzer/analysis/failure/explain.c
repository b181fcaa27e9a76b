/* SPDX-License-Identifier: Apache-2.0 */
/* Headline, evidence, stacks, what else it could be, what to do. */
#include "analysis/failure/messages.h"
#include "analysis/failure/rules/rules.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <string.h>

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
    return inq_arena_printf(c->arena, "%s %" PRId64 " of %s", inq_state_op_text(&c->model, entry),
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
    return inq_arena_printf(c->arena, "rank %" PRId32 " waits for it in %s",
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
static void explain_rank(struct inq_failure_case *c, uint32_t rank)
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
                     inq_arena_printf(c->arena,
                                      "%zu ops enqueued and not finished; the oldest is %s, "
                                      "which other members have %s%s%s",
                                      of->n_pending, say_op(c, &of->pending[node->op]),
                                      node->unstarted ? "started" : "finished", comma, waiter));
        break;
    case INQ_END_ON_CPU:
        add_evidence(c, rank,
                     inq_arena_printf(c->arena, "%s; %s",
                                      of->n_pending == 0
                                          ? "everything that it enqueued is finished"
                                          : "what it enqueued says nothing of others",
                                      waiter));
        break;
    case INQ_END_UNKNOWN:
        add_evidence(c, rank, inq_arena_printf(c->arena, "%s%s%s", say_dump(of), comma, waiter));
        break;
    case INQ_END_JOINED:
    case INQ_END_WAITS:
    case INQ_END_CIRCLE:
        if (node->op != INQ_NONE) {
            const char *peer = node->first != INQ_NONE
                                   ? inq_arena_printf(c->arena, " for rank %" PRId32,
                                                      c->model.ranks[node->first].rank)
                                   : "";
            bool both = node->end == INQ_END_CIRCLE && waiter[0] != '\0';
            add_evidence(c, rank,
                         inq_arena_printf(c->arena, "waits in %s%s%s%s",
                                          say_op(c, &of->pending[node->op]), peer,
                                          both ? comma : "", both ? waiter : ""));
        }
        break;
    case INQ_END_IDLE:
        break;
    }
}

static void explain_list(struct inq_failure_case *c, const int32_t *ranks, size_t n, size_t most)
{
    for (size_t i = 0; i < n && i < most; i++) {
        uint32_t rank = inq_state_find_rank(&c->model, ranks[i]);
        if (rank != INQ_NONE) {
            explain_rank(c, rank);
        }
    }
    if (n > most) {
        add_evidence(c, INQ_NONE,
                     inq_arena_printf(c->arena, "and %zu more: %s", n - most,
                                      inq_arena_ranks(c->arena, ranks + most, n - most, false)));
    }
}

static void explain_mismatch(struct inq_failure_case *c)
{
    const struct inq_state_verdict *v = &c->mismatch;
    add_evidence(c, INQ_NONE,
                 inq_arena_printf(c->arena, "%s %" PRId64 " of %s: %s", c->failure->op, v->seq,
                                  c->failure->group,
                                  inq_failure_describe_match(c, c->mismatch_team, v)));
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
                             inq_arena_printf(c->arena, "entered %s, %s",
                                              inq_state_op_text(&c->model, both[k]),
                                              inq_failure_sizes(c, both[k])));
                add_stack(c, team->places[i].rank, both[k]);
            }
        }
    }
}

static void explain_evidence(struct inq_failure_case *c)
{
    struct inq_failure *failure = c->failure;
    failure->evidence = inq_arena_array(c->arena, MAX_EVIDENCE, sizeof *failure->evidence);
    failure->stacks = inq_arena_array(c->arena, MAX_STACKS, sizeof *failure->stacks);
    if (failure->evidence == NULL || failure->stacks == NULL) {
        c->no_memory = true;
        return;
    }
    if (failure->cls == INQ_FAILURE_MISMATCH) {
        explain_mismatch(c);
    } else {
        explain_list(c, failure->root_ranks, failure->n_roots, MAX_ROOT_EVIDENCE);
        if (failure->cls == INQ_FAILURE_COMMUNICATION && c->first != INQ_NONE) {
            explain_rank(c, c->first);
        }
    }
    explain_list(c, failure->suspected_ranks, failure->n_suspected, MAX_WAITER_EVIDENCE);
    explain_list(c, failure->victim_ranks, failure->n_victims, MAX_WAITER_EVIDENCE);
}

/* ---- headline -------------------------------------------------------------------------------- */

static const char *say_victims(struct inq_failure_case *c)
{
    size_t n = c->failure->n_victims;
    if (n == 0) {
        return "";
    }
    return inq_arena_printf(c->arena, "; %zu other rank%s", n, n == 1 ? " waits" : "s wait");
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

/* ---- sentences ------------------------------------------------------------------------------- */

/* The ranks that a headline begins with: of a stall those that are stuck as the first one is. */
static const int32_t *listed(struct inq_failure_case *c, size_t *n, bool *alike)
{
    const struct inq_failure *f = c->failure;
    int32_t *ranks = NULL;
    *alike = true;
    if (f->cls == INQ_FAILURE_GPU_STALL || f->cls == INQ_FAILURE_CPU_STALL) {
        bool gpu = f->cls == INQ_FAILURE_GPU_STALL;
        *n = list_stuck(c, gpu ? INQ_END_ON_GPU : INQ_END_ON_CPU, &ranks, alike);
        return ranks;
    }
    *n = f->n_roots;
    return f->root_ranks;
}

static const char *say_who(struct inq_failure_case *c)
{
    size_t n;
    bool alike;
    const int32_t *ranks = listed(c, &n, &alike);
    return inq_arena_ranks(c->arena, ranks, n, true);
}

static const char *say_is(struct inq_failure_case *c)
{
    size_t n;
    bool alike;
    (void)listed(c, &n, &alike);
    return n == 1 ? "is" : "are";
}

static const char *say_they(struct inq_failure_case *c)
{
    size_t n;
    bool alike;
    (void)listed(c, &n, &alike);
    return n == 1 ? "it" : "they";
}

static const char *say_first_op(struct inq_failure_case *c)
{
    const struct inq_failure *f = c->failure;
    return inq_arena_printf(c->arena, "%s %" PRId64 " of %s", f->op, f->seq, f->group);
}

static const char *say_started(struct inq_failure_case *c)
{
    return c->waits.nodes[c->first].unstarted ? "started" : "finished";
}

/* "all_reduce 7 of tp [0-3], which its peers have finished" */
static const char *say_what(struct inq_failure_case *c)
{
    size_t n;
    bool alike;
    (void)listed(c, &n, &alike);
    const char *op = say_first_op(c);
    const char *done = say_started(c);
    return alike ? inq_arena_printf(c->arena, "%s, which %s peers have %s", op,
                                    n == 1 ? "its" : "their", done)
                 : inq_arena_printf(c->arena, "ops that their peers have %s, such as %s", done, op);
}

/* "; rank 3 is stuck on the CPU", beside those on the GPU. */
static const char *say_others(struct inq_failure_case *c)
{
    int32_t *ranks = NULL;
    bool alike = true;
    size_t n = list_stuck(c, INQ_END_ON_CPU, &ranks, &alike);
    return n == 0 ? ""
                  : inq_arena_printf(c->arena, "; %s %s stuck on the CPU",
                                     inq_arena_ranks(c->arena, ranks, n, false),
                                     n == 1 ? "is" : "are");
}

static const char *say_with(struct inq_failure_case *c)
{
    size_t n;
    bool alike;
    (void)listed(c, &n, &alike);
    bool side = c->held != NULL && c->held->entry->is_p2p;
    const char *whose = n == 1 ? "its side of " : "their side of ";
    return inq_arena_printf(c->arena, "%s%s", alike ? "" : "ops that others wait for, such as ",
                            side ? whose : "");
}

static const char *say_group(struct inq_failure_case *c)
{
    return c->failure->group;
}

static const char *say_seq(struct inq_failure_case *c)
{
    return inq_arena_printf(c->arena, "%" PRId64, c->failure->seq);
}

static const char *say_match(struct inq_failure_case *c)
{
    return inq_failure_describe_match(c, c->mismatch_team, &c->mismatch);
}

/* Of one rank that waits for others in one collective, while they wait for it in another. */
static const char *say_own(struct inq_failure_case *c)
{
    return say_op(c, op_of(c, c->first, c->waits.nodes[c->first].op));
}

static const char *say_theirs(struct inq_failure_case *c)
{
    const struct inq_state_node *node = &c->waits.nodes[c->first];
    return say_op(c, op_of(c, node->waiter, node->waiter_op));
}

static const char *say_came(struct inq_failure_case *c)
{
    return inq_failure_lone_came(c) ? "it enqueued later" : "it never enqueued";
}

static const char *say_elsewhere(struct inq_failure_case *c)
{
    return inq_arena_printf(c->arena, "%zu other group%s", c->n_elsewhere,
                            c->n_elsewhere == 1 ? "" : "s");
}

static const char *say_groups(struct inq_failure_case *c)
{
    return inq_arena_printf(c->arena, "%zu", c->n_elsewhere);
}

static const char *say_suspected(struct inq_failure_case *c)
{
    return inq_arena_ranks(c->arena, c->failure->suspected_ranks, c->failure->n_suspected, false);
}

/* Ranks whose dumps are older and still show something pending. */
static const char *say_older(struct inq_failure_case *c)
{
    int32_t *ranks = inq_arena_array(c->arena, c->model.n_ranks, sizeof *ranks);
    size_t n = 0;
    for (size_t r = 0; r < c->model.n_ranks && ranks != NULL; r++) {
        if (c->model.ranks[r].stale && c->model.ranks[r].n_pending > 0) {
            ranks[n++] = c->model.ranks[r].rank;
        }
    }
    return inq_arena_ranks(c->arena, ranks, n, false);
}

static const char *say_be(struct inq_failure_case *c)
{
    return c->failure->n_suspected == 1 ? "is" : "are";
}

static const char *say_missing(struct inq_failure_case *c)
{
    return inq_arena_ranks(c->arena, c->failure->missing_ranks, c->failure->n_missing, false);
}

static const struct {
    const char *name;
    const char *(*say)(struct inq_failure_case *c);
} fields[] = {
    {"Who", say_who},         {"is", say_is},           {"op", say_first_op},
    {"started", say_started}, {"what", say_what},       {"others", say_others},
    {"with", say_with},       {"victims", say_victims}, {"group", say_group},
    {"seq", say_seq},         {"match", say_match},     {"own", say_own},
    {"theirs", say_theirs},   {"came", say_came},       {"elsewhere", say_elsewhere},
    {"groups", say_groups},   {"be", say_be},           {"suspected", say_suspected},
    {"missing", say_missing}, {"they", say_they},       {"older", say_older},
};

static const char *say_field(void *ctx, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) == n && memcmp(fields[i].name, name, n) == 0) {
            return fields[i].say(ctx);
        }
    }
    return "";
}

/* What the dumps of ranks that others wait for lack: the same of all, or a whole dump of some. */
static enum inq_failure_situation lack_of(const struct inq_failure_case *c)
{
    const struct inq_failure *f = c->failure;
    size_t n_stale = 0;
    size_t n_unplaced = 0;
    for (size_t i = 0; i < f->n_suspected; i++) {
        const struct inq_state_rank *rank =
            &c->model.ranks[inq_state_find_rank(&c->model, f->suspected_ranks[i])];
        n_stale += rank->stale;
        n_unplaced += rank->whole && rank->n_unplaced > 0;
    }
    return n_stale == f->n_suspected      ? INQ_SITUATION_STALE
           : n_unplaced == f->n_suspected ? INQ_SITUATION_UNPLACED
                                          : INQ_SITUATION_NO_DUMP;
}

/* Whether a dump that is not known to be an older one has something pending. */
static bool is_pending_at_the_end(const struct inq_failure_case *c)
{
    for (size_t r = 0; r < c->model.n_ranks; r++) {
        if (c->model.ranks[r].n_pending > 0 && !c->model.ranks[r].stale) {
            return true;
        }
    }
    return false;
}

static enum inq_failure_situation of_unknown(const struct inq_failure_case *c)
{
    return c->failure->n_suspected == 0 && c->trace->dumps[0]->unfollowed ? INQ_SITUATION_UNFOLLOWED
           : c->failure->n_suspected == 0
               ? is_pending_at_the_end(c) ? INQ_SITUATION_UNCLEAR : INQ_SITUATION_OLDER
           : c->scattered    ? INQ_SITUATION_SCATTERED
           : c->several_late ? INQ_SITUATION_SEVERAL_LATE
           : c->doubtful     ? INQ_SITUATION_DOUBTFUL
                             : lack_of(c);
}

static enum inq_failure_situation situation_of(const struct inq_failure_case *c)
{
    switch ((int)c->failure->cls) {
    case INQ_FAILURE_GPU_STALL:
        return INQ_SITUATION_ON_GPU;
    case INQ_FAILURE_CPU_STALL:
        return INQ_SITUATION_ON_CPU;
    case INQ_FAILURE_MISMATCH:
        return INQ_SITUATION_MEMBERS_DIFFER;
    case INQ_FAILURE_ORDERING:
    case INQ_FAILURE_UNEVEN:
        return c->failure->n_roots == 1 ? INQ_SITUATION_LONE : INQ_SITUATION_CIRCLE;
    case INQ_FAILURE_COMMUNICATION:
        return c->n_elsewhere > 0 ? INQ_SITUATION_JOINED_ELSEWHERE : INQ_SITUATION_JOINED;
    case INQ_FAILURE_UNKNOWN:
        return of_unknown(c);
    default: /* what only logs tell */
        return INQ_SITUATION_NONE;
    }
}

/* ---- what else, what next -------------------------------------------------------------------- */

static void add_alternative(struct inq_failure_case *c, const char *text)
{
    c->failure->alternatives[c->failure->n_alternatives++] =
        inq_failure_fill(c->arena, text, say_field, c);
}

static void explain_alternatives(struct inq_failure_case *c)
{
    const struct inq_failure_rule *rule = inq_failure_class_rule(c->failure->cls);
    struct inq_failure *f = c->failure;
    enum inq_failure_situation more[3];
    size_t n = 0;
    f->alternatives = inq_arena_array(c->arena, INQ_RULE_NEXT + 3, sizeof(const char *));
    if (f->alternatives == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < INQ_RULE_NEXT && rule->next[i] != NULL; i++) {
        add_alternative(c, rule->next[i]);
    }
    if (c->n_elsewhere > 0) {
        more[n++] = INQ_SITUATION_JOINED_ELSEWHERE;
    }
    if (c->n_early > 0) {
        more[n++] = INQ_SITUATION_EARLY_DUMPS;
    }
    if (f->n_missing > 0 && f->cls != INQ_FAILURE_NONE) {
        more[n++] = f->n_suspected > 0 ? INQ_SITUATION_MISSING_AWAITED : INQ_SITUATION_MISSING;
    }
    for (size_t i = 0; i < n; i++) {
        add_alternative(c, inq_failure_situation_rule(more[i])->next[0]);
    }
}

void inq_failure_explain(struct inq_failure_case *c)
{
    const struct inq_failure_rule *situation = inq_failure_situation_rule(situation_of(c));
    const struct inq_failure_rule *cls = inq_failure_class_rule(c->failure->cls);
    explain_evidence(c);
    explain_alternatives(c);
    c->failure->advice = situation->advice != NULL ? situation->advice : cls->advice;
    c->failure->headline = inq_failure_fill(
        c->arena, situation->headline != NULL ? situation->headline : cls->headline, say_field, c);
}
