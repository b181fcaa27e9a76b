/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a log: what stands in front of its message, and the numbers and names in it. */
#ifndef INQ_INGEST_LOG_LINE_H
#define INQ_INGEST_LOG_LINE_H

#include "ingest/log/seek.h"
#include "inquest/log.h"

/* A piece of text in which a word was found. Lines of several ranks may be joined without an end
 * between them, and one message be cut over several lines. */
struct inq_log_line {
    const char *lo, *hi;     /* all text at hand */
    const char *outer;       /* where the line begins */
    size_t label;            /* bytes of the marked name that it begins with */
    const char *start, *end; /* the part of it that one writer wrote */
    const char *more;        /* end of the lines behind it that may go on with it */
    const char *at;          /* the word; within start and end */
    bool cut;                /* it is longer than what is looked at */
};

/* Finds the limits of the line around `at`; lo <= at < hi. */
void inq_log_line_around(struct inq_log_line *line, const char *lo, const char *at, const char *hi);

/* A time stamp at p, of any of the usual forms; where it ends, or NULL. Those without a year get
 * 1970 and year_known = false. */
const char *inq_log_stamp(const char *p, const char *end, struct inq_log_event *event);

/* Reads what stands in front of the message: ranks, time, host, process. Names go to `host`, which
 * the event then points to. */
void inq_log_prefix(const struct inq_log_line *line, struct inq_log_event *event, char *host,
                    size_t host_size);
/* Where the message begins: behind all of that. */
const char *inq_log_message(const char *p, const char *end);

/* Around the name of a machine that a launcher put in front of the line, "\x1en02\x1f": control
 * characters that no log has there. */
enum { INQ_LOG_MARK_FRONT = 0x1e, INQ_LOG_MARK_BACK = 0x1f };
/* A rank, device or task as a number; -1 for what can be none. */
int32_t inq_log_small(int64_t value);
/* Behind stamps and the label of its writer ("[rank3]:", "12: ", "[1,3]<stderr>:"), where the text
 * of the line begins, indented or not; *writer gets what labels are told apart by; 0: none. */
const char *inq_log_body(const char *start, const char *end, uint32_t *writer);
uint32_t inq_log_writer(const char *start, const char *end);
/* Where the line in front of the one that begins at `start` begins; NULL: none at hand. */
const char *inq_log_line_before(const struct inq_log_line *line, const char *start);

#endif
