/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a trace. */
#ifndef INQ_TRACE_FILES_H
#define INQ_TRACE_FILES_H

#include "inquest/trace.h"

/* Makes room for `n` more behind those that are there. Fails with INQ_NOMEM. */
int inq_trace_reserve_files(struct inq_trace *trace, size_t n, struct inq_err *err);
/* Copies one behind the others, its texts into the trace; in the room that was made. Fails with
 * INQ_NOMEM. */
int inq_trace_keep_file(struct inq_trace *trace, const struct inq_file *file, struct inq_err *err);

#endif
