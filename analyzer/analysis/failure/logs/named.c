/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that name themselves the ranks that the others wait for. */
#include "analysis/failure/logs/logs.h"

#include <string.h>

static int name_suspects(struct inq_log_case *c, const int32_t *ranks, size_t n,
                         struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    hang->suspects = inq_arena_array(c->arena, n, sizeof *hang->suspects);
    hang->n_suspects = hang->suspects != NULL ? n : 0;
    if (n > 0 && hang->suspects != NULL) {
        memcpy(hang->suspects, ranks, n * sizeof *ranks);
    }
    return hang->suspects != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for ranks");
}

/* Which ranks a line names that the others wait for; 0 none. */
static size_t named_in(const struct inq_log_mark *mark, const int32_t **ranks)
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
static bool says_more(const struct inq_log_mark *mark, const struct inq_log_mark *said)
{
    return said == NULL ||
           (mark->event->kind == INQ_LOG_DESYNC_BEHIND &&
            said->event->kind == INQ_LOG_DESYNC_BEHIND && mark->event->seq < said->event->seq);
}

static int take_named(struct inq_log_case *c, struct inq_err *err)
{
    struct inq_log_hang *hang = &c->hang;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
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
        if (name_suspects(c, ranks, n, err) != INQ_OK) {
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
    const struct inq_log_mark *said = NULL;
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
    return name_suspects(c, odd->ranks, n, err);
}

int inq_log_take_named(struct inq_log_case *c, struct inq_err *err)
{
    enum inq_log_hang_how how = c->hang.how;
    if (how == INQ_LOG_NOT_JOINED || how == INQ_LOG_NOT_FINISHED || how == INQ_LOG_DIFFERENT) {
        return INQ_OK; /* the counters decided */
    }
    int code = take_named(c, err);
    return code == INQ_OK ? take_snapshots(c, err) : code;
}
