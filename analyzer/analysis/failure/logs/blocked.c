/* SPDX-License-Identifier: Apache-2.0 */
/* Who blocks whom, by what ranks printed: where each one stands in its groups, from the counters
 * that it prints when it gives up, is written down as its dump would have been, and the state of
 * ranks x groups is solved as that of dumps is. */
#include "analysis/failure/logs/logs.h"

#include "analysis/failure/state/state.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- progress: where ranks stand in their groups -----------------------------------------------
 */

#define MS INT64_C(1000000)
/* Nobody runs further ahead of a member. */
#define NEAR 64

/* The progress of one group while they are collected. */
struct team {
    const char *group;
    int64_t seq;      /* of the line it was made for; -1 unknown */
    int64_t start_ns; /* the earliest known beginning of what timed out */
    int64_t detected_ns;
    size_t n, cap, n_timed_out;
    bool told; /* to dump, because of a timeout somewhere */
    struct inq_rank_progress *rows;
    struct inq_map index; /* rank -> row + 1 */
    const struct inq_attributed_line *first;
    int64_t timeout_ms;
};

static bool is_timeout(const struct inq_log_event *event)
{
    bool own = event->kind == INQ_LOG_DUMP_SIGNAL && event->peer_rank < 0 &&
               strstr(event->text, "this local") != NULL;
    return event->kind == INQ_LOG_WATCHDOG_TIMEOUT || event->kind == INQ_LOG_WORK_FAILED ||
           event->kind == INQ_LOG_BLOCKING_WAIT || own;
}

static bool counts(const struct inq_log_event *event)
{
    return is_timeout(event) || event->kind == INQ_LOG_DUMP_SIGNAL ||
           event->kind == INQ_LOG_ASYNC_EXCEPTION;
}

static struct inq_rank_progress *row_of(struct team *team, int32_t rank, struct inq_err *err)
{
    uint32_t at = 0;
    if (inq_map_get(&team->index, (uint64_t)(uint32_t)rank, &at)) {
        return &team->rows[at - 1];
    }
    if (inq_mem_grow(&team->rows, &team->cap, team->n + 1, sizeof *team->rows, (size_t)1 << 20,
                     err) != INQ_OK ||
        inq_map_put(&team->index, (uint64_t)(uint32_t)rank, (uint32_t)team->n + 1, err) != INQ_OK) {
        return NULL;
    }
    team->rows[team->n] = (struct inq_rank_progress){
        .rank = rank, .seq = -1, .enqueued = -1, .completed = -1, .numel = -1, .op = ""};
    return &team->rows[team->n++];
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void stand(struct inq_rank_progress *row, const struct inq_attributed_line *mark)
{
    const struct inq_log_event *event = mark->event;
    bool timed_out = is_timeout(event);
    bool counted_from_one = event->kind == INQ_LOG_WORK_FAILED && event->op[0] != '\0';
    int64_t seq = counted_from_one && event->seq > 0 ? event->seq - 1 : event->seq;
    row->timed_out = row->timed_out || timed_out;
    if (seq >= 0 && (row->seq < 0 || seq < row->seq)) {
        row->seq = seq;
    }
    row->enqueued = larger(row->enqueued, event->enqueued);
    row->completed = larger(row->completed, event->completed);
    if (event->op[0] != '\0' && row->op[0] == '\0') {
        row->op = event->op;
        row->numel = event->numel_in;
    }
    if (row->mark == NULL || (timed_out && row->mark->event->kind == INQ_LOG_DUMP_SIGNAL)) {
        row->mark = mark;
    }
}

static int note(struct team *team, const struct inq_attributed_line *mark, struct inq_err *err)
{
    const struct inq_log_event *event = mark->event;
    struct inq_rank_progress *row = row_of(team, mark->rank, err);
    if (row == NULL) {
        return INQ_NOMEM;
    }
    team->n_timed_out += is_timeout(event) && !row->timed_out;
    team->told = team->told || event->kind == INQ_LOG_DUMP_SIGNAL;
    stand(row, mark);
    if (!is_timeout(event)) {
        return INQ_OK;
    }
    team->timeout_ms = larger(team->timeout_ms, event->timeout_ms);
    bool earlier = team->first == NULL ||
                   (mark->time_ns != INQ_TIME_NONE && mark->time_ns < team->first->time_ns);
    team->first = earlier ? mark : team->first;
    if (mark->time_ns != INQ_TIME_NONE) {
        bool first = team->detected_ns == INQ_TIME_NONE || mark->time_ns < team->detected_ns;
        team->detected_ns = first ? mark->time_ns : team->detected_ns;
        int64_t start_ns = event->ran_ms >= 0 && event->ran_ms < INT64_C(1) << 40
                               ? mark->time_ns - event->ran_ms * MS
                               : INQ_TIME_NONE;
        bool sooner = start_ns != INQ_TIME_NONE &&
                      (team->start_ns == INQ_TIME_NONE || start_ns < team->start_ns);
        team->start_ns = sooner ? start_ns : team->start_ns;
    }
    return INQ_OK;
}

static bool is_far(int64_t seq, int64_t other)
{
    return seq >= 0 && other >= 0 && (seq > other ? seq - other : other - seq) > NEAR;
}

/* The same group under both ways to name it: T1 lines name none. `apart`: those that name none are
 * of several groups, told by how far they are. */
static struct team *team_of(struct team *teams, size_t *n, size_t cap, const char *group,
                            int64_t seq, bool apart)
{
    for (size_t i = 0; i < *n; i++) {
        bool other = apart && group[0] == '\0' && is_far(seq, teams[i].seq);
        if (strcmp(teams[i].group, group) == 0 && !other) {
            return &teams[i];
        }
    }
    if (*n == cap) {
        return NULL;
    }
    teams[*n] = (struct team){.group = group,
                              .seq = seq,
                              .start_ns = INQ_TIME_NONE,
                              .detected_ns = INQ_TIME_NONE,
                              .timeout_ms = -1};
    return &teams[(*n)++];
}

/* ---- all groups ------------------------------------------------------------------------------ */

/* Which group a line without one is of. */
struct naming {
    const char *only;     /* the only one that is named; NULL: none, or several */
    int64_t most, least;  /* of its counters: completed by the furthest, enqueued by the last */
    struct inq_map pairs; /* rank and number of a work -> mark that names its group, + 1 */
    struct inq_map waits; /* rank -> mark of its first timeout that names none, + 1 */
    bool apart;           /* a rank timed out in works of no group that are far from each other */
};

static uint64_t key_of(const struct inq_attributed_line *mark)
{
    return inq_hash_u64((uint64_t)mark->event->seq << 24 ^ (uint64_t)(uint32_t)mark->rank);
}

static int learn_apart(const struct inq_log_case *c, size_t i, struct naming *naming,
                       struct inq_err *err)
{
    const struct inq_attributed_line *mark = &c->marks[i];
    uint64_t rank = (uint64_t)(uint32_t)mark->rank;
    uint32_t at = 0;
    if (mark->rank < 0 || mark->event->seq < 0 || !is_timeout(mark->event)) {
        return INQ_OK;
    }
    if (!inq_map_get(&naming->waits, rank, &at)) {
        return inq_map_put(&naming->waits, rank, (uint32_t)i + 1, err);
    }
    naming->apart = naming->apart || is_far(c->marks[at - 1].event->seq, mark->event->seq);
    return INQ_OK;
}

static int learn_groups(const struct inq_log_case *c, struct naming *naming, struct inq_err *err)
{
    bool several = false;
    int code = INQ_OK;
    for (size_t i = 0; i < c->n_marks && code == INQ_OK; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (!counts(event) || event->group[0] == '\0') {
            code = counts(event) ? learn_apart(c, i, naming, err) : INQ_OK;
            continue;
        }
        several = several || (naming->only != NULL && strcmp(naming->only, event->group) != 0);
        naming->only = naming->only != NULL ? naming->only : event->group;
        naming->most = larger(naming->most, event->completed);
        bool last = event->enqueued >= 0 && event->enqueued < naming->least;
        naming->least = last ? event->enqueued : naming->least;
        if (event->seq >= 0 && c->marks[i].rank >= 0) {
            code = inq_map_put(&naming->pairs, key_of(&c->marks[i]), (uint32_t)i + 1, err);
        }
    }
    naming->only = several ? NULL : naming->only;
    return code;
}

/* That of another line on the same work of the same rank; else the only one there is, if its
 * counters are near. */
static const char *group_of(const struct inq_log_case *c, const struct naming *naming,
                            const struct inq_attributed_line *mark)
{
    int64_t seq = mark->event->seq;
    uint32_t at = 0;
    if (mark->event->group[0] != '\0') {
        return mark->event->group;
    }
    if (seq >= 0 && inq_map_get(&naming->pairs, key_of(mark), &at)) {
        return c->marks[at - 1].event->group;
    }
    bool near = seq < 0 || (seq + NEAR >= naming->most && seq - NEAR <= naming->least);
    return naming->only != NULL && near ? naming->only : "";
}

static int collect(struct inq_log_case *c, struct team *teams, size_t cap, size_t *n,
                   struct inq_err *err)
{
    struct naming naming = {.most = -1, .least = INT64_MAX};
    int code = learn_groups(c, &naming, err);
    for (size_t i = 0; i < c->n_marks && code == INQ_OK; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (counts(mark->event) && mark->rank >= 0) {
            struct team *team =
                team_of(teams, n, cap, group_of(c, &naming, mark), mark->event->seq, true);
            code = team != NULL ? note(team, mark, err) : INQ_OK;
        }
    }
    inq_map_release(&naming.pairs);
    inq_map_release(&naming.waits);
    return code;
}

/* Of the groups in which somebody timed out, else of all: the one whose wait began first; without
 * times, the one that says more. */
static const struct team *choose(const struct team *teams, size_t n)
{
    const struct team *best = NULL;
    size_t n_timed_out = 0;
    for (size_t i = 0; i < n; i++) {
        n_timed_out += teams[i].n_timed_out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct team *team = &teams[i];
        if (n_timed_out > 0 ? team->n_timed_out == 0 : !team->told) {
            continue;
        }
        bool timed = best != NULL && team->start_ns != INQ_TIME_NONE &&
                     best->start_ns != INQ_TIME_NONE && team->start_ns != best->start_ns;
        bool better = best == NULL || (timed ? team->start_ns < best->start_ns : team->n > best->n);
        best = better ? team : best;
    }
    return best;
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = ((const struct inq_rank_progress *)a)->rank;
    int32_t y = ((const struct inq_rank_progress *)b)->rank;
    return (x > y) - (x < y);
}

static int keep(struct inq_log_case *c, const struct team *team, struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    *hang = (struct inq_log_hang){
        .how = INQ_LOG_HANG_UNCLEAR,
        .group = team->group,
        .op = "",
        .seq = -1,
        .numel = -1,
        .start_ns = team->start_ns,
        .detected_ns = team->detected_ns,
        .timeout_ms = team->timeout_ms,
        .first = team->first,
        .n_progress = team->n,
    };
    hang->progress = inq_arena_array(c->arena, team->n, sizeof *hang->progress);
    if (hang->progress == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    memcpy(hang->progress, team->rows, team->n * sizeof *hang->progress);
    for (size_t i = 0; i < team->n && team->n_timed_out == 0; i++) {
        struct inq_rank_progress *row = &hang->progress[i];
        row->timed_out = row->enqueued > row->completed;
    }
    return inq_sort(hang->progress, team->n, sizeof *hang->progress, by_rank, NULL, err);
}

/* Fills the progress of the group that hangs. */
static int find_progress(struct inq_log_case *c, struct inq_err *err)
{
    enum { TEAMS = 256 };
    size_t n = 0;
    struct team *teams = inq_mem_zalloc(TEAMS, sizeof *teams);
    if (teams == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for groups");
    }
    c->hang = (struct inq_log_hang){.group = "",
                                    .op = "",
                                    .seq = -1,
                                    .numel = -1,
                                    .timeout_ms = -1,
                                    .start_ns = INQ_TIME_NONE,
                                    .detected_ns = INQ_TIME_NONE};
    int code = collect(c, teams, TEAMS, &n, err);
    const struct team *team = code == INQ_OK ? choose(teams, n) : NULL;
    code = team != NULL ? keep(c, team, err) : code;
    for (size_t i = 0; i < n; i++) {
        inq_mem_free(teams[i].rows);
        inq_map_release(&teams[i].index);
    }
    inq_mem_free(teams);
    return code;
}

/* A rank that waited for others until its timeout is no root, even if it was then killed. */
bool inq_log_waited(const struct inq_log_case *c, int32_t rank)
{
    for (size_t i = 0; i < c->hang.n_progress; i++) {
        if (c->hang.progress[i].rank == rank) {
            return c->hang.progress[i].timed_out;
        }
    }
    return false;
}

/* ---- as dumps would tell it ------------------------------------------------------------------ */

/* All that was enqueued is done: what the rank waits for is no collective of this group. */
static bool is_done(const struct inq_rank_progress *row)
{
    return row->seq < 0 && row->enqueued >= 0 && row->enqueued == row->completed;
}

/* The number of the next work that a rank has not finished; -1 unknown. */
static int64_t next_of(const struct inq_rank_progress *row)
{
    bool elsewhere = row->timed_out && is_done(row);
    return row->seq >= 0 ? row->seq : row->completed >= 0 && !elsewhere ? row->completed + 1 : -1;
}

/* Whether it has enqueued that. */
static bool is_pending(const struct inq_rank_progress *row)
{
    return row->timed_out || row->enqueued < 0 || row->enqueued >= next_of(row);
}

/* Only the group of all ranks has members that are known without a dump. */
static bool of_world(const char *group)
{
    return group[0] == '\0' || strcmp(group, "0") == 0 || strstr(group, "default_pg") != NULL;
}

/* ---- what a rank printed, as a dump ------------------------------------------------------------
 */

/* "7 (tp)": its name, and what it is for. */
static int name_group(struct inq_log_case *c, struct inq_flight_group *group, struct inq_err *err)
{
    const char *text = c->hang.group;
    const char *open = strstr(text, " (");
    size_t n = open != NULL ? (size_t)(open - text) : strlen(text);
    size_t n_desc = open != NULL ? strcspn(open + 2, ")") : 0;
    group->name = of_world(text) ? "0" : inq_arena_asprintf(c->arena, "%.*s", (int)n, text);
    group->desc = of_world(text) ? INQ_FLIGHT_WORLD
                                 : inq_arena_asprintf(c->arena, "%.*s", (int)n_desc,
                                                      open != NULL ? open + 2 : "");
    return group->name != NULL && group->desc != NULL
               ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "no memory for a group");
}

/* Ranks that wait for the number that is furthest. */
static int64_t furthest(const struct inq_log_hang *hang)
{
    int64_t most = -1;
    for (size_t i = 0; i < hang->n_progress; i++) {
        const struct inq_rank_progress *row = &hang->progress[i];
        most = row->timed_out && next_of(row) > most ? next_of(row) : most;
    }
    return most;
}

/* Whether all members of a group give an op the same size: others may pass lists of tensors. Of
 * groups that the line does not name, only what is reduced is compared: each stage of a pipeline
 * has shards of its own sizes. */
static bool is_even(const char *op, const char *group)
{
    static const char *const ops[] = {"_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "BROADCAST"};
    bool named = group[0] != '\0' && of_world(group);
    bool even = strstr(op, "ALLREDUCE") != NULL;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && named; i++) {
        even = even || strcmp(op, ops[i]) == 0;
    }
    return even;
}

static void write_entry(const struct inq_rank_progress *row, struct inq_flight_entry *entry)
{
    *entry = (struct inq_flight_entry){
        .record_id = 1,
        .collective_seq = next_of(row),
        .p2p_seq = -1,
        .op_id = -1,
        .kind = inq_coll_from_name(row->op, strlen(row->op)),
        .name = row->seq >= 0 ? row->op : "",
        .src = -1,
        .dst = -1,
        .in = {.elems = -1, .dtypes = ""},
        .out = {.elems = -1, .dtypes = ""},
        .state = INQ_FLIGHT_SCHEDULED,
        .created_ns = INQ_TIME_NONE,
        .started_ns = INQ_TIME_NONE,
        .completed_ns = INQ_TIME_NONE,
        .timeout_ns = -1,
    };
}

static void write_record(const struct inq_rank_progress *row, const struct inq_flight_group *group,
                         struct inq_flight_dump *dump, struct inq_flight_group *own,
                         struct inq_flight_entry *entry)
{
    int64_t next = next_of(row);
    bool pending = is_pending(row);
    *own = *group;
    own->has_status = true;
    own->last_completed = next - 1;
    own->last_enqueued = row->enqueued > next ? row->enqueued : pending ? next : next - 1;
    *dump = (struct inq_flight_dump){.rank = row->rank,
                                     .comm_version = "",
                                     .file = row->mark->event->file,
                                     .n_groups = 1,
                                     .groups = own,
                                     .n_entries = pending,
                                     .entries = entry};
    write_entry(row, entry);
}

int inq_log_records(struct inq_log_case *c, const struct inq_flight_group *group,
                    struct inq_flight_dump **dumps, size_t *n, struct inq_err *err)
{
    const struct inq_log_hang *hang = &c->hang;
    struct inq_flight_group *groups = inq_arena_array(c->arena, hang->n_progress, sizeof *groups);
    struct inq_flight_entry *entries = inq_arena_array(c->arena, hang->n_progress, sizeof *entries);
    *dumps = inq_arena_array(c->arena, hang->n_progress, sizeof **dumps);
    *n = 0;
    if (groups == NULL || entries == NULL || *dumps == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for what ranks printed");
    }
    struct inq_flight_group unlisted = {0};
    if (group == NULL && name_group(c, &unlisted, err) != INQ_OK) {
        return INQ_NOMEM;
    }
    for (size_t i = 0; i < hang->n_progress; i++) {
        const struct inq_rank_progress *row = &hang->progress[i];
        if (next_of(row) >= 0 && row->mark != NULL) {
            write_record(row, group != NULL ? group : &unlisted, &(*dumps)[*n], &groups[*n],
                         &entries[*n]);
            entries[*n].in.elems = is_even(row->op, hang->group) ? row->numel : -1;
            (*n)++;
        }
    }
    return INQ_OK;
}

/* ---- solved ---------------------------------------------------------------------------------- */

/* The members: all ranks, where the group is that and most of them tell; else those that tell.
 * *all: the former. A rank that waits for what is not known is left out. */
static int list_members(struct inq_log_case *c, struct inq_flight_group *group, bool *all,
                        struct inq_err *err)
{
    const struct inq_log_hang *hang = &c->hang;
    size_t world = c->world > 0 ? (size_t)c->world : 0;
    size_t n = hang->n_progress;
    bool silent = n < world;
    *all = of_world(hang->group) && n >= 2 && (!silent || (world - n) * 2 < world);
    size_t most = *all && silent ? world : n;
    group->ranks = inq_arena_array(c->arena, most, sizeof *group->ranks);
    if (group->ranks == NULL || name_group(c, group, err) != INQ_OK) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the members of a group");
    }
    size_t at = 0;
    for (int32_t rank = 0; *all && silent && rank < c->world; rank++) {
        while (at < n && hang->progress[at].rank < rank) {
            at++;
        }
        bool there = at < n && hang->progress[at].rank == rank;
        if (!there || next_of(&hang->progress[at]) >= 0) {
            group->ranks[group->n_ranks++] = rank;
        }
    }
    for (size_t i = 0; i < n && !(*all && silent); i++) {
        if (next_of(&hang->progress[i]) >= 0) {
            group->ranks[group->n_ranks++] = hang->progress[i].rank;
        }
    }
    return INQ_OK;
}

/* What holds the others, by the ends of the chains of waiting. */
static enum inq_log_hang_how name_end(const struct inq_state *state,
                                      const struct inq_solution *solution, bool all)
{
    size_t n[INQ_END_CIRCLE + 1] = {0};
    for (size_t r = 0; r < state->n_ranks; r++) {
        const struct inq_state_node *node = &solution->nodes[r];
        bool held = inq_state_is_blocked(node) || node->end == INQ_END_JOINED ||
                    (node->end == INQ_END_UNKNOWN && node->waiter != INQ_NONE);
        n[node->end] += held;
    }
    return n[INQ_END_ON_CPU] > 0          ? INQ_LOG_NOT_JOINED
           : n[INQ_END_ON_GPU] > 0        ? INQ_LOG_NOT_FINISHED
           : n[INQ_END_UNKNOWN] > 0       ? INQ_LOG_SILENT
           : n[INQ_END_JOINED] > 0 && all ? INQ_LOG_ALL_WAIT
                                          : INQ_LOG_HANG_UNCLEAR;
}

static bool is_suspected(const struct inq_state_node *node, enum inq_log_hang_how how)
{
    return how == INQ_LOG_SILENT ? node->end == INQ_END_UNKNOWN && node->waiter != INQ_NONE
                                 : inq_state_is_blocked(node);
}

static int take_solution(struct inq_log_case *c, const struct inq_state *state,
                         const struct inq_solution *solution, bool all, struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    hang->how = name_end(state, solution, all);
    hang->suspected = inq_arena_array(c->arena, state->n_ranks, sizeof *hang->suspected);
    if (hang->suspected == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    for (size_t r = 0; r < state->n_ranks; r++) {
        if (is_suspected(&solution->nodes[r], hang->how)) {
            hang->suspected[hang->n_suspected++] = state->ranks[r].rank;
        }
    }
    return inq_state_list_waits(state, solution, &hang->waits, &hang->n_waits, err);
}

static int solve(struct inq_log_case *c, const struct inq_flight_dump *dumps, size_t n, bool all,
                 struct inq_err *err)
{
    struct inq_state state;
    struct inq_solution solution;
    struct inq_state_verdict verdict = {.seq = -1};
    struct inq_state_records records = {.n_printed = n,
                                        .of = inq_arena_array(c->arena, n, sizeof *records.of)};
    if (records.of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for what ranks printed");
    }
    for (size_t i = 0; i < n; i++) {
        records.of[i] = &dumps[i];
    }
    int code = inq_state_build(&records, c->arena, &state, err);
    code = code == INQ_OK ? inq_state_solve(&state, &solution, err) : code;
    code = code == INQ_OK && state.n_groups > 0 ? inq_state_match(&state, 0, &verdict, err) : code;
    if (code != INQ_OK || state.n_groups == 0) {
        return code;
    }
    if (inq_state_is_mismatch(verdict.state) && verdict.seq >= 0) {
        c->hang.how = INQ_LOG_DIFFERENT;
        c->hang.seq = verdict.seq;
        c->hang.suspected = verdict.odd;
        c->hang.n_suspected = verdict.n_odd;
        return INQ_OK;
    }
    return take_solution(c, &state, &solution, all, err);
}

/* Nobody has anything left to finish: they wait on the CPU, in a barrier or for a store. */
static bool all_done(const struct inq_log_hang *hang)
{
    size_t n = 0;
    for (size_t i = 0; i < hang->n_progress; i++) {
        n += is_done(&hang->progress[i]);
    }
    return n > 0 && n == hang->n_progress;
}

/* The op that they wait in. */
static void name_op(struct inq_log_hang *hang)
{
    for (size_t i = 0; i < hang->n_progress && hang->op[0] == '\0'; i++) {
        const struct inq_rank_progress *row = &hang->progress[i];
        if (row->op[0] != '\0' && row->seq == hang->seq) {
            hang->op = row->op;
            hang->numel = row->numel;
        }
    }
}

/* Whether the others wait for the rank. */
static bool is_awaited(const struct inq_log_hang *hang, int32_t rank)
{
    for (size_t k = 0; k < hang->n_suspected; k++) {
        if (hang->suspected[k] == rank) {
            return true;
        }
    }
    return false;
}

/* Where a GPU does not finish what the others have finished, the op is the first of its own that it
 * timed out in, not the later one of theirs. */
static void name_stuck_op(struct inq_log_hang *hang)
{
    if (hang->how != INQ_LOG_NOT_FINISHED || inq_log_other_op(hang)) {
        return;
    }
    for (size_t i = 0; i < hang->n_progress; i++) {
        const struct inq_rank_progress *row = &hang->progress[i];
        if (is_awaited(hang, row->rank) && row->timed_out && row->seq >= 0 &&
            row->seq < hang->seq) {
            hang->seq = row->seq;
            hang->numel = row->numel;
        }
    }
}

/* ---- lines that name the ranks themselves ---------------------------------------------------- */

static int name_suspected(struct inq_log_case *c, const int32_t *ranks, size_t n,
                          struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    hang->suspected = inq_arena_array(c->arena, n, sizeof *hang->suspected);
    hang->n_suspected = hang->suspected != NULL ? n : 0;
    if (n > 0 && hang->suspected != NULL) {
        memcpy(hang->suspected, ranks, n * sizeof *ranks);
    }
    return hang->suspected != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for ranks");
}

/* Which ranks a line names that the others wait for; 0 none. */
static size_t named_in(const struct inq_attributed_line *mark, const int32_t **ranks)
{
    const struct inq_log_event *event = mark->event;
    switch ((int)event->kind) {
    case INQ_LOG_DESYNC_NEVER:
    case INQ_LOG_DESYNC_BEHIND:
    case INQ_LOG_BARRIER_RANKS:
    case INQ_LOG_STALLED_RANKS:
    case INQ_LOG_RAS_MISSING:
        *ranks = event->ranks;
        return event->n_ranks;
    case INQ_LOG_RAS_BEHIND:
        *ranks = &mark->rank;
        return mark->rank >= 0;
    default:
        return 0;
    }
}

/* Of two lines, the one on the ranks that are furthest behind. */
static bool says_more(const struct inq_attributed_line *mark,
                      const struct inq_attributed_line *said)
{
    return said == NULL ||
           (mark->event->kind == INQ_LOG_DESYNC_BEHIND &&
            said->event->kind == INQ_LOG_DESYNC_BEHIND && mark->event->seq < said->event->seq);
}

static int take_named(struct inq_log_case *c, struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        const int32_t *ranks = NULL;
        size_t n = named_in(mark, &ranks);
        bool apart = mark->event->kind == INQ_LOG_RAS_BEHIND && hang->how == INQ_LOG_NO_HANG;
        hang->how = apart ? INQ_LOG_HANG_UNCLEAR : hang->how;
        if (n == 0 || !says_more(mark, hang->said) ||
            (mark->went_on && strstr(mark->event->text, "onitoredBarrier") == NULL)) {
            continue;
        }
        bool silent = mark->event->kind == INQ_LOG_RAS_MISSING;
        hang->said = mark;
        hang->how = silent ? INQ_LOG_SILENT : INQ_LOG_NOT_JOINED;
        hang->group = hang->group != NULL ? hang->group : "";
        hang->op = hang->op != NULL ? hang->op : "";
        hang->seq = mark->event->seq >= 0 ? mark->event->seq : hang->seq;
        if (name_suspected(c, ranks, n, err) != INQ_OK) {
            return INQ_NOMEM;
        }
    }
    return INQ_OK;
}

/* Snapshots of a desync report that show different ops under one number. */
static int take_snapshots(struct inq_log_case *c, struct inq_err *err)
{
    const struct inq_log_event *usual = NULL;
    const struct inq_log_event *odd = NULL;
    const struct inq_attributed_line *said = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (event->kind != INQ_LOG_DESYNC_STARTED) {
            continue;
        }
        bool same = usual != NULL && usual->seq == event->seq;
        if (same && strcmp(usual->op, event->op) != 0) {
            said = &c->marks[i];
            odd = event->n_ranks > usual->n_ranks ? usual : event;
            usual = event->n_ranks > usual->n_ranks ? event : usual;
            break;
        }
        usual = event;
    }
    if (odd == NULL) {
        return INQ_OK;
    }
    struct inq_log_hang *hang = &c->hang;
    hang->how = INQ_LOG_DIFFERENT;
    hang->said = said;
    hang->seq = usual->seq;
    hang->op = usual->op;
    hang->group = hang->group != NULL ? hang->group : "";
    size_t n = odd->n_ranks < usual->n_ranks ? odd->n_ranks : 0;
    return name_suspected(c, odd->ranks, n, err);
}

static int take_lines(struct inq_log_case *c, struct inq_err *err)
{
    enum inq_log_hang_how how = c->hang.how;
    if (how == INQ_LOG_NOT_JOINED || how == INQ_LOG_NOT_FINISHED || how == INQ_LOG_DIFFERENT) {
        return INQ_OK; /* the counters decided */
    }
    int code = take_named(c, err);
    return code == INQ_OK ? take_snapshots(c, err) : code;
}

int inq_log_find_hang(struct inq_log_case *c, struct inq_err *err)
{
    int code = inq_log_facts(c, err);
    code = code == INQ_OK ? find_progress(c, err) : code;
    struct inq_flight_group group = {0};
    struct inq_flight_dump *dumps = NULL;
    size_t n = 0;
    bool all = false;
    if (code == INQ_OK && all_done(&c->hang)) {
        c->hang.how = INQ_LOG_ALL_DONE;
    } else if (code == INQ_OK && c->hang.n_progress > 0) {
        c->hang.seq = furthest(&c->hang);
        code = list_members(c, &group, &all, err);
        code = code == INQ_OK ? inq_log_records(c, &group, &dumps, &n, err) : code;
        code = code == INQ_OK && n > 0 ? solve(c, dumps, n, all, err) : code;
        name_op(&c->hang);
        name_stuck_op(&c->hang);
    }
    return code == INQ_OK ? take_lines(c, err) : code;
}

bool inq_log_other_op(const struct inq_log_hang *hang)
{
    for (size_t i = 0; i < hang->n_progress; i++) {
        const struct inq_rank_progress *row = &hang->progress[i];
        if (is_awaited(hang, row->rank) && row->op[0] != '\0' && hang->op[0] != '\0' &&
            strcmp(row->op, hang->op) != 0) {
            return true;
        }
    }
    return false;
}
