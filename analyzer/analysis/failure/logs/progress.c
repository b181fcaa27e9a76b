/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks stand in their groups, from the counters that they print when they give up. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

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

int inq_log_find_progress(struct inq_log_case *c, struct inq_err *err)
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
