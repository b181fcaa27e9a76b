/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed shard without the rows of most of its steps: inquest-ingest(1), --reduced. */
#ifndef INQ_TRACE_BUILD_REDUCE_H
#define INQ_TRACE_BUILD_REDUCE_H

#include "trace/build/shard.h"

/* Keeps all rows of `n` recorded steps of each rank, spread over the capture, and of at most as
 * many more that are far longer than the median; of every other step its communication and the
 * totals of the rest. Which steps depends on their numbers more than on where the capture began, so
 * that the files of a job keep the same ones. A rank without recorded steps, with labeled ops or
 * with few steps stays whole, and one that was reduced before stays as it is. Fails with INQ_NOMEM.
 */
int inq_shard_reduce(struct inq_shard *shard, size_t n, struct inq_err *err);

/* Move an event, or a call, `from` of a sealed rank to place `to` (to <= from). */
static inline void inq_events_move(struct inq_events *e, size_t from, size_t to)
{
    e->start_ns[to] = e->start_ns[from];
    e->dur_ns[to] = e->dur_ns[from];
    e->name[to] = e->name[from];
    e->lane[to] = e->lane[from];
    e->call[to] = e->call[from];
    e->comm[to] = e->comm[from];
    e->step[to] = e->step[from];
    e->kind[to] = e->kind[from];
    e->cls[to] = e->cls[from];
    if (e->label != NULL) {
        e->label[to] = e->label[from];
    }
    if (e->launch != NULL) {
        e->launch[to] = e->launch[from];
    }
}

static inline void inq_calls_move(struct inq_calls *c, size_t from, size_t to)
{
    c->start_ns[to] = c->start_ns[from];
    c->dur_ns[to] = c->dur_ns[from];
    c->name[to] = c->name[from];
    c->lane[to] = c->lane[from];
    c->correlation[to] = c->correlation[from];
}

#endif
