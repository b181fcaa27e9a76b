/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, groups, times, sizes, damage and paths as a report writes them; each lives as long as the
 * document. */
#ifndef INQ_REPORT_TERMINAL_LABELS_H
#define INQ_REPORT_TERMINAL_LABELS_H

#include "report/terminal/context.h"

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

#endif
