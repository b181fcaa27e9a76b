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

/* First and last moment of all ranks; false when nothing has a time. */
bool inq_trace_span(const struct inq_trace *trace, int64_t *first_ns, int64_t *last_ns);

/* What reduced partials cannot show, of one run or of two. */
#define INQ_NOT_SEEN "faults in other steps only are not seen"
/* "reduced partials, 3 of 12 steps have all rows; ...". */
const char *inq_context_kept(struct inq_arena *arena, struct inq_kept_steps kept);

#endif
