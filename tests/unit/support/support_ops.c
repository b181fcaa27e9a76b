/* SPDX-License-Identifier: Apache-2.0 */
#include "support_ops.h"

#include "base/strtab.h"
#include "inquest/ingest.h"

#include <stdlib.h>

struct ops_trace {
    struct inq_trace trace;
    struct inq_strtab names;
    struct inq_run *run; /* of a file; NULL: built op by op */
};

struct ops_trace *ops_trace_new(uint32_t n_ranks)
{
    struct ops_trace *ops = calloc(1, sizeof *ops);
    ops->trace.names = &ops->names;
    ops->trace.name = "test";
    ops->trace.n_ranks = n_ranks;
    ops->trace.ranks = calloc(n_ranks > 0 ? n_ranks : 1, sizeof *ops->trace.ranks);
    for (uint32_t r = 0; r < n_ranks; r++) {
        ops->trace.ranks[r].rank = (int32_t)r;
        ops->trace.ranks[r].stage = -1;
        ops->trace.ranks[r].dp_rank = -1;
    }
    return ops;
}

void ops_trace_add(struct ops_trace *ops, uint32_t rank, const struct inq_label *label,
                   int64_t start_ns, int64_t dur_ns)
{
    struct inq_rank *r = &ops->trace.ranks[rank];
    struct inq_events *e = &r->events;
    if (e->n == e->cap) {
        e->cap = e->cap < 64 ? 64 : 2 * e->cap;
        r->cap_labels = e->cap;
        e->start_ns = realloc(e->start_ns, e->cap * sizeof *e->start_ns);
        e->dur_ns = realloc(e->dur_ns, e->cap * sizeof *e->dur_ns);
        e->label = realloc(e->label, e->cap * sizeof *e->label);
        r->labels = realloc(r->labels, e->cap * sizeof *r->labels);
    }
    e->start_ns[e->n] = start_ns;
    e->dur_ns[e->n] = dur_ns;
    e->label[e->n] = (uint32_t)r->n_labels;
    r->labels[r->n_labels++] = *label;
    e->n++;
}

struct ops_trace *ops_trace_load(const char *path)
{
    struct inq_run *run = NULL;
    if (inq_ingest(&path, 1, NULL, &run, NULL) != INQ_OK || run->n_traces == 0) {
        inq_run_free(run);
        return NULL;
    }
    struct ops_trace *ops = ops_trace_new(0);
    ops->run = run;
    return ops;
}

const struct inq_trace *ops_trace_get(struct ops_trace *ops)
{
    return ops->run != NULL ? ops->run->traces[0] : &ops->trace;
}

void ops_trace_free(struct ops_trace *ops)
{
    for (size_t r = 0; ops != NULL && r < ops->trace.n_ranks; r++) {
        struct inq_rank *rank = &ops->trace.ranks[r];
        free(rank->events.start_ns);
        free(rank->events.dur_ns);
        free(rank->events.label);
        free(rank->labels);
    }
    if (ops != NULL) {
        free(ops->trace.ranks);
        inq_strtab_release(&ops->names);
        inq_run_free(ops->run);
        free(ops);
    }
}
