/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts of a run are names of what. */
#include "inquest/flight.h"
#include "inquest/log.h"
#include "trace/redact/text.h"

#include "base/mem.h"

#include <string.h>

/* A run in work; `code` is the first failure. */
struct work {
    struct inq_redaction *r;
    struct inq_arena *arena; /* of the run: what it points at lives as long */
    struct inq_err *err;
    int code;
};

static void take(struct work *w, const char **text, const char *replaced)
{
    if (replaced == NULL) {
        w->code = w->code == INQ_OK ? INQ_NOMEM : w->code;
    } else if (replaced != *text) {
        const char *copy = inq_arena_strdup(w->arena, replaced);
        w->code = copy == NULL && w->code == INQ_OK
                      ? inq_err_set(w->err, INQ_NOMEM, "no memory for names")
                      : w->code;
        *text = copy != NULL ? copy : "";
    }
}

static void redact_text(struct work *w, const char **text)
{
    if (*text != NULL) {
        take(w, text, inq_redact_text(w->r, w->arena, *text, w->err));
    }
}

static void redact_path(struct work *w, const char **path)
{
    if (*path != NULL) {
        take(w, path, inq_redact_path(w->r, w->arena, *path, w->err));
    }
}

static void redact_host(struct work *w, const char **host)
{
    if (*host != NULL) {
        take(w, host, inq_redact_token(w->r, INQ_REDACT_HOST, *host, strlen(*host), w->err));
    }
}

/* ---- the names of a trace -------------------------------------------------------------------- */

enum { PLAIN = INQ_REDACT_KIND_COUNT }; /* a text, with names in it or not */

/* What each string of the table is; the first use counts, which is the one that hides most. */
static uint8_t *uses_of(const struct inq_trace *trace)
{
    size_t n = inq_strtab_count(trace->names);
    uint8_t *uses = inq_mem_alloc(n);
    if (uses == NULL) {
        return NULL;
    }
    memset(uses, PLAIN, n);
    for (size_t i = 0; i < trace->n_launches; i++) {
        uses[trace->launches[i].module] = INQ_REDACT_MODULE;
        uses[trace->launches[i].source] = INQ_REDACT_PATH;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        const struct inq_events *e = &rank->events;
        bool operators = inq_rank_on_cpu(trace, rank); /* what its events are */
        for (size_t i = 0; i < e->n; i++) {
            bool kernel =
                e->kind == NULL || e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_SLICE;
            bool labelled = e->label != NULL && e->label[i] != INQ_NONE;
            uses[e->name[i]] =
                kernel && !labelled && !operators ? INQ_REDACT_KERNEL : uses[e->name[i]];
        }
        uses[rank->job] = INQ_REDACT_PATH;
        uses[rank->host] = INQ_REDACT_HOST;
        uses[rank->label] = rank->rank < 0 ? INQ_REDACT_PATH : uses[rank->label];
    }
    return uses;
}

static const char *renamed(struct work *w, enum inq_redact_kind kind, const char *text)
{
    return kind == INQ_REDACT_PATH ? inq_redact_path(w->r, w->arena, text, w->err)
           : (int)kind == PLAIN    ? inq_redact_text(w->r, w->arena, text, w->err)
                                   : inq_redact_token(w->r, kind, text, strlen(text), w->err);
}

/* Names of one kind, so that hosts and users are known before texts are searched for them. */
static void rename_all(struct work *w, struct inq_strtab *names, const uint8_t *uses, bool plain)
{
    for (uint32_t id = 1; id < inq_strtab_count(names) && w->code == INQ_OK; id++) {
        if ((uses[id] == PLAIN) == plain) {
            const char *old = inq_strtab_get(names, id);
            const char *text = renamed(w, (enum inq_redact_kind)uses[id], old);
            w->code = text == NULL  ? INQ_NOMEM
                      : text != old ? inq_strtab_rename(names, id, text, w->err)
                                    : INQ_OK;
        }
    }
}

/* ---- hosts and users, wherever they are named ------------------------------------------------ */

static void find_users(struct work *w, const char *text)
{
    if (text != NULL && w->code == INQ_OK) {
        w->code = inq_redact_find_users(w->r, text, w->err);
    }
}

static void know_host(struct work *w, const char *host)
{
    if (host != NULL &&
        inq_redact_token(w->r, INQ_REDACT_HOST, host, strlen(host), w->err) == NULL) {
        w->code = INQ_NOMEM;
    }
}

static void find_names(struct work *w, const struct inq_trace *trace)
{
    find_users(w, trace->name);
    for (size_t i = 0; i < trace->n_files; i++) {
        find_users(w, trace->files[i].path);
    }
    for (uint32_t id = 1; id < inq_strtab_count(trace->names); id++) {
        find_users(w, inq_strtab_get(trace->names, id));
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        know_host(w, inq_trace_str(trace, trace->ranks[r].host));
    }
    for (size_t l = 0; l < trace->n_logs; l++) {
        for (size_t i = 0; i < trace->logs[l]->n_events; i++) {
            know_host(w, trace->logs[l]->events[i].host);
            find_users(w, trace->logs[l]->events[i].text);
        }
    }
    for (size_t d = 0; d < trace->n_dumps; d++) {
        const struct inq_flight_dump *dump = trace->dumps[d];
        for (size_t i = 0; i < dump->n_entries; i++) {
            for (uint32_t f = 0; f < dump->entries[i].n_frames; f++) {
                find_users(w, dump->entries[i].frames[f].file);
            }
        }
    }
}

/* ---- the rest of a run ----------------------------------------------------------------------- */

static void redact_file(struct work *w, struct inq_file *file)
{
    redact_path(w, &file->path);
    redact_text(w, &file->reason);
}

static void redact_dump(struct work *w, struct inq_flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_groups; i++) {
        redact_text(w, &dump->groups[i].desc);
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        struct inq_flight_entry *entry = &dump->entries[i];
        for (uint32_t f = 0; f < entry->n_frames; f++) {
            redact_path(w, &entry->frames[f].file);
        }
    }
}

static void redact_log(struct work *w, struct inq_log *log)
{
    for (size_t i = 0; i < log->n_events; i++) {
        struct inq_log_event *event = &log->events[i];
        redact_host(w, &event->host);
        redact_text(w, &event->peer);
        redact_text(w, &event->group);
        redact_text(w, &event->op);
        redact_text(w, &event->text);
    }
}

static void redact_trace(struct work *w, struct inq_trace *trace)
{
    uint8_t *uses = uses_of(trace);
    if (uses == NULL) {
        w->code = inq_err_set(w->err, INQ_NOMEM, "no memory to redact names");
        return;
    }
    w->arena = trace->arena;
    rename_all(w, trace->names, uses, false);
    rename_all(w, trace->names, uses, true);
    inq_mem_free(uses);
    redact_path(w, &trace->name);
    for (size_t i = 0; i < trace->n_files; i++) {
        redact_file(w, &trace->files[i]);
    }
    for (size_t i = 0; i < trace->n_unread; i++) {
        redact_path(w, &trace->unread[i].path);
        redact_text(w, &trace->unread[i].reason);
    }
    for (size_t i = 0; i < trace->n_dumps; i++) {
        redact_dump(w, trace->dumps[i]);
    }
    for (size_t i = 0; i < trace->n_logs; i++) {
        redact_log(w, trace->logs[i]);
    }
}

int inq_redaction_apply(struct inq_redaction *redaction, struct inq_run *run, struct inq_err *err)
{
    struct work w = {.r = redaction, .arena = run->arena, .err = err};
    for (size_t t = 0; t < run->n_traces && w.code == INQ_OK; t++) {
        find_names(&w, run->traces[t]);
    }
    for (size_t i = 0; i < run->n_skipped; i++) {
        find_users(&w, run->skipped[i].path);
    }
    for (size_t i = 0; i < run->n_skipped && w.code == INQ_OK; i++) {
        redact_file(&w, &run->skipped[i]);
    }
    for (size_t t = 0; t < run->n_traces && w.code == INQ_OK; t++) {
        redact_trace(&w, run->traces[t]);
    }
    return w.code;
}
