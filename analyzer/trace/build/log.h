/* SPDX-License-Identifier: Apache-2.0 */
/* Text logs among the traces. */
#ifndef INQ_TRACE_BUILD_LOG_H
#define INQ_TRACE_BUILD_LOG_H

#include "base/hash.h"
#include "inquest/log.h"
#include "trace/build/shard.h"

/* What one file may make us hold. */
#define INQ_LOG_MAX_EVENTS  ((size_t)1 << 19)
#define INQ_LOG_MAX_TEXT    ((size_t)400)
#define INQ_LOG_MAX_METRICS ((size_t)1 << 18)
#define INQ_LOG_MAX_RANKS   ((size_t)1 << 14) /* in one list */

/* An event with everything unknown. */
void inq_log_event_init(struct inq_log_event *event);

/* A log being filled: of lines that tell the same, the first few are kept, the others counted. */
struct inq_log_book {
    struct inq_log *log;
    struct inq_map seen;  /* what a line tells -> first event + 1 */
    struct inq_map kinds; /* kind -> events of it */
    int64_t starts;       /* of the workers, after the first */
};

/* An empty log with its arena and names; NULL without memory. */
struct inq_log *inq_log_new(void);
/* Frees a log and all in it; NULL is fine. */
void inq_log_free(struct inq_log *log);
/* Adds an event; its texts (NUL-terminated) and list are copied, `text` to the cap. Fails with
 * INQ_NOMEM. */
int inq_log_add(struct inq_log_book *book, const struct inq_log_event *event, struct inq_err *err);
void inq_log_book_release(struct inq_log_book *book);

/* Moves the logs of `shards` (which hold nothing else) into the run: into its only trace, or into
 * a trace of their own. */
int inq_assemble_logs(struct inq_run *run, struct inq_shard *shards, size_t n, struct inq_err *err);

#endif
