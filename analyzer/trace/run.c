/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing what assemble.c made. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "trace/build/build.h"

/* Frees what a trace owns; the trace itself lives in its run's arena. */
static void release_trace(struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        inq_rank_release(&trace->ranks[r]);
    }
    for (size_t i = 0; i < trace->n_dumps; i++) {
        inq_flight_free(trace->dumps[i]);
    }
    for (size_t i = 0; i < trace->n_logs; i++) {
        inq_log_free(trace->logs[i]);
    }
    if (trace->names != NULL) {
        inq_strtab_release(trace->names);
        inq_mem_free(trace->names);
    }
    struct inq_arena *arena = trace->arena;
    if (arena != NULL) {
        inq_arena_release(arena); /* the trace itself lives in the run's arena */
        inq_mem_free(arena);
    }
}

void inq_run_free(struct inq_run *run)
{
    if (run == NULL) {
        return;
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        release_trace(run->traces[t]);
    }
    struct inq_arena *arena = run->arena;
    if (arena != NULL) {
        inq_arena_release(arena);
        inq_mem_free(arena);
    }
    inq_mem_free(run);
}
