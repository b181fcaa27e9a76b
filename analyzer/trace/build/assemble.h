/* SPDX-License-Identifier: Apache-2.0 */
/* From shards to traces: tells jobs apart, merges strings and groups, numbers ranks, lists missing
 * ones, then steps, collectives and clocks. */
#ifndef INQ_TRACE_BUILD_ASSEMBLE_H
#define INQ_TRACE_BUILD_ASSEMBLE_H

#include "trace/build/shard.h"

struct inq_clocks;

/* Takes the contents of `shards` (sorted by path; left empty, to be released by the caller) into a
 * new run, with steps, matched collectives and, when `align`, aligned clocks.
 * The result does not depend on the order of the shards or on `jobs`. */
int inq_assemble(struct inq_shard *shards, size_t n, bool align, int jobs, struct inq_run **run,
                 struct inq_err *err);

/* The parts, in the order in which inq_assemble calls them on each trace: */

/* Ranks of op tables (labeled ops, no clock epoch) whose times begin anew in every step: lays the
 * steps one behind the other, in the order of their numbers, over all ranks of the trace. A step's
 * recorded zero is put where the latest op of the step before it ended (its earliest op, if that
 * has a negative time); starts relative to each other within a step, and durations, stay exactly as
 * recorded. Steps that follow each other already stay where they are. */
int inq_steps_rebase(struct inq_trace *trace, int jobs, struct inq_err *err);
/* Fills trace->collectives and members: by group, kind, sizes and recorded sequence or order,
 * robust to capture windows that were cut at different places on different ranks. What cannot be
 * (a split collective, an exchange whose parts do not add up) stays unmatched. *clocks (zeroed)
 * gets a first estimate and goes to inq_clock_align, whatever comes back. Does not depend on
 * `jobs`. */
int inq_match_collectives(struct inq_trace *trace, int jobs, struct inq_clocks *clocks,
                          struct inq_err *err);
/* Fills trace->steps and every event's step: recorded ProfilerStep (kernels through their launching
 * call), labeled ops by their step; else inferred from the optimizer's annotations or the
 * repetition of the launches (steps_inferred), else none. After the clocks: inferred steps of
 * different ranks are taken for one when they were at the same time. */
int inq_steps_assign(struct inq_trace *trace, struct inq_err *err);
/* Of reduced ranks (inq_shard_reduce) only steps that are whole on every rank stay, and of the rows
 * only theirs; trace->reduced says what went. Nothing changes where no rank was reduced. Last:
 * clocks and matches are those of all communication. Fails with INQ_NOMEM. */
int inq_steps_keep_whole(struct inq_trace *trace, struct inq_err *err);

#endif
