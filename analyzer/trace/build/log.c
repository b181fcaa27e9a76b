/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/log.h"

#include "base/mem.h"
#include "base/words.h"

#include <string.h>

/* Of lines that tell the same, this many are events. */
#define KEEP_SAME 2
/* And of one kind: a run of 131,072 ranks may time out on all of them, and say so twice. */
#define KEEP_KIND ((uint32_t)1 << 18)

static const char *const kind_texts[] = {INQ_LOG_KINDS(INQ_WORD_TEXT)};

const char *inq_log_kind_text(enum inq_log_kind kind)
{
    return kind_texts[kind];
}

void inq_log_event_init(struct inq_log_event *event)
{
    *event = (struct inq_log_event){
        .time_ns = INQ_TIME_NONE,
        .rank = -1,
        .local_rank = -1,
        .device = -1,
        .task = -1,
        .pid = -1,
        .host = "",
        .bus = INQ_LOG_NO_BUS,
        .group = "",
        .seq = -1,
        .enqueued = -1,
        .completed = -1,
        .op = "",
        .numel_in = -1,
        .numel_out = -1,
        .timeout_ms = -1,
        .ran_ms = -1,
        .code = -1,
        .nranks = -1,
        .peer = "",
        .peer_rank = -1,
        .count = 1,
        .text = "",
    };
}

struct inq_log *inq_log_new(void)
{
    struct inq_log *log = inq_mem_zalloc(1, sizeof *log);
    if (log == NULL) {
        return NULL;
    }
    log->rank = -1;
    log->local_rank = -1;
    log->began_ns = INQ_TIME_NONE;
    log->arena = inq_mem_zalloc(1, sizeof *log->arena);
    log->names = inq_mem_zalloc(1, sizeof *log->names);
    if (log->arena == NULL || log->names == NULL) {
        inq_log_free(log);
        return NULL;
    }
    return log;
}

void inq_log_free(struct inq_log *log)
{
    if (log == NULL) {
        return;
    }
    inq_mem_free(log->metrics);
    if (log->arena != NULL) {
        inq_arena_release(log->arena);
        inq_mem_free(log->arena);
    }
    if (log->names != NULL) {
        inq_strtab_release(log->names);
        inq_mem_free(log->names);
    }
    inq_mem_free(log->events);
    inq_mem_free(log);
}

void inq_log_book_release(struct inq_log_book *book)
{
    inq_map_release(&book->seen);
    inq_map_release(&book->kinds);
}

/* What the line tells, and of whom: two lines with one key say the same. Numbers that every line
 * has anew (counters, times) are no part of it. `starts`: of the workers before it, as each dies of
 * its own. */
static uint64_t key_of(const struct inq_log_event *event, int64_t starts)
{
    bool rows = event->kind == INQ_LOG_EXIT_ROW || event->kind == INQ_LOG_DESYNC_STARTED ||
                event->kind == INQ_LOG_DESYNC_BEHIND || event->kind == INQ_LOG_RAS_BEHIND ||
                event->kind == INQ_LOG_SLURM_EXIT; /* of other tasks */
    const int64_t numbers[] = {
        (int64_t)event->kind,
        event->rank,
        event->local_rank,
        event->device,
        event->task,
        event->pid,
        (int64_t)event->bus,
        event->code,
        event->peer_rank,
        rows ? (int64_t)event->line : 0,
        starts,
    };
    uint64_t key = inq_hash_bytes(numbers, sizeof numbers);
    const char *texts[] = {event->host, event->group, event->op, event->peer};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        key = key * UINT64_C(0x9e3779b97f4a7c15) + inq_hash_bytes(texts[i], strlen(texts[i]));
    }
    return key;
}

static int intern(struct inq_log *log, const char **text, struct inq_err *err)
{
    uint32_t id = 0;
    int code = inq_strtab_add(log->names, *text, strlen(*text), &id, err);
    *text = code == INQ_OK ? inq_strtab_get(log->names, id) : "";
    return code;
}

static int keep(struct inq_log *log, const struct inq_log_event *event, uint64_t count,
                struct inq_err *err)
{
    int code = inq_mem_grow(&log->events, &log->cap_events, log->n_events + 1, sizeof *log->events,
                            INQ_LOG_MAX_EVENTS, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_log_event *kept = &log->events[log->n_events];
    *kept = *event;
    kept->count = count;
    const char **texts[] = {&kept->host, &kept->group, &kept->op, &kept->peer};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && code == INQ_OK; i++) {
        code = intern(log, texts[i], err);
    }
    if (code != INQ_OK) {
        return code;
    }
    kept->text = inq_arena_strndup(log->arena, event->text, strnlen(event->text, INQ_LOG_MAX_TEXT));
    kept->ranks = inq_arena_array(log->arena, event->n_ranks, sizeof *kept->ranks);
    if (kept->text == NULL || kept->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a log");
    }
    if (event->n_ranks > 0) {
        memcpy(kept->ranks, event->ranks, event->n_ranks * sizeof *kept->ranks);
    }
    log->n_events++;
    return INQ_OK;
}

int inq_log_add(struct inq_log_book *book, const struct inq_log_event *event, struct inq_err *err)
{
    struct inq_log *log = book->log;
    uint64_t key = key_of(event, book->starts);
    book->starts += event->kind == INQ_LOG_RESTARTED;
    log->not_kept += event->list_cut;
    uint32_t first = 0;
    uint32_t n = 0;
    (void)inq_map_get(&book->kinds, (uint64_t)event->kind, &n);
    bool known = inq_map_get(&book->seen, key, &first);
    if (known) {
        struct inq_log_event *same = &log->events[first - 1];
        same->count++;
        if (same->count > KEEP_SAME) {
            return INQ_OK;
        }
    }
    if (n >= KEEP_KIND || log->n_events >= INQ_LOG_MAX_EVENTS) {
        log->not_kept++;
        return INQ_OK;
    }
    int code = keep(log, event, known ? 0 : 1, err);
    if (code == INQ_OK && !known) {
        code = inq_map_put(&book->seen, key, (uint32_t)log->n_events, err);
    }
    return code == INQ_OK ? inq_map_put(&book->kinds, (uint64_t)event->kind, n + 1, err) : code;
}
