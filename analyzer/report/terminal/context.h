/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be written, and the small questions that every format asks of it. */
#ifndef INQ_REPORT_TERMINAL_CONTEXT_H
#define INQ_REPORT_TERMINAL_CONTEXT_H

#include "base/arena.h"
#include "inquest/report.h"

struct inq_context {
    const struct inq_run *run;
    const struct inq_trace *trace;
    const struct inq_report *report; /* NULL for info */
    const struct inq_report_options *options;
    struct inq_arena *arena; /* scratch; dies with the document */
    size_t folder_len;       /* bytes of path that all files share, up to a '/' */
    size_t prefix_len;       /* and of their names, when that is long */
    int64_t origin_ns;       /* the trace's first event: times in text count from here */
};

/* The view of one trace; `report` may be NULL. */
struct inq_context inq_context_of(const struct inq_run *run, const struct inq_trace *trace,
                                  const struct inq_report *report,
                                  const struct inq_report_options *options,
                                  struct inq_arena *arena);

/* Whether rows of this (global) rank were asked for. */
bool inq_context_shows(const struct inq_context *context, int32_t rank);
/* The same by the rank's index into trace->ranks. */
bool inq_context_shows_index(const struct inq_context *context, uint32_t index);
/* Whether any of a finding's ranks was asked for; true when it names none. */
bool inq_context_shows_finding(const struct inq_context *context,
                               const struct inq_finding *finding);

/* Whether the section was asked for. */
bool inq_context_wants(const struct inq_context *context, enum inq_section section);
/* Whether only the first screen is wanted: text, without -v and --only. */
bool inq_context_is_brief(const struct inq_context *context);
/* "not available: reason; next step" of a section that failed; "" if it did not. */
const char *inq_context_unavailable(const struct inq_context *context, enum inq_section section);

/* "3", or how else the report calls a rank; index into trace->ranks. */
const char *inq_context_rank(const struct inq_context *context, uint32_t index);
/* "1 rank", "8 ranks". */
const char *inq_context_plural(const struct inq_context *context, uint64_t n, const char *one,
                               const char *many);
/* A process group by name, description and ranks. */
const char *inq_context_group(const struct inq_context *context, uint32_t group);
/* "12.3 MB", 1000-based. */
const char *inq_context_bytes(const struct inq_context *context, double bytes);
/* A duration with its unit. */
const char *inq_context_ns(const struct inq_context *context, int64_t ns);
/* Seconds from the first event, to the microsecond: "1.234567". */
const char *inq_context_at(const struct inq_context *context, int64_t ns);
/* "2023-11-02 20:55:10.154 UTC", or "" when times are no wall-clock times. */
const char *inq_context_clock(const struct inq_context *context);
/* "document cut short (1), bad number (3)"; "" without damage. */
const char *inq_context_damage(const struct inq_context *context, const struct inq_damage *damage);
/* Whether something of the file was lost. GPU work whose launch lies outside the capture window is
 * the normal case and loses nothing. */
bool inq_file_hurt(const struct inq_file *file);
/* The path within the folder that all of the trace's files are in. */
const char *inq_context_path(const struct inq_context *context, const char *path);

/* First and last moment of all ranks; false when nothing has a time. */
bool inq_trace_span(const struct inq_trace *trace, int64_t *first_ns, int64_t *last_ns);

#endif
