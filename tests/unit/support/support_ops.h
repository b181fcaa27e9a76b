/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of labeled ops for tests: from an op table on disk, or built op by op. */
#ifndef SUPPORT_OPS_H
#define SUPPORT_OPS_H

#include "inquest/trace.h"

struct ops_trace;

/* An empty trace with `n_ranks` ranks. */
struct ops_trace *ops_trace_new(uint32_t n_ranks);
/* The first job of a file or folder, through ingest; NULL when there is none. */
struct ops_trace *ops_trace_load(const char *path);
void ops_trace_add(struct ops_trace *ops, uint32_t rank, const struct inq_label *label,
                   int64_t start_ns, int64_t dur_ns);
const struct inq_trace *ops_trace_get(struct ops_trace *ops);
void ops_trace_free(struct ops_trace *ops);

#endif
