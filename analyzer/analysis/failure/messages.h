/* SPDX-License-Identifier: Apache-2.0 */
/* A failure being judged, and its sentences. Texts live in the report's arena; when memory is out
 * they are "" and no_memory is set. */
#ifndef INQ_ANALYSIS_FAILURE_MESSAGES_H
#define INQ_ANALYSIS_FAILURE_MESSAGES_H

#include "analysis/failure/state/state.h"
#include "inquest/failure.h"

struct inq_failure_case {
    const struct inq_trace *trace;
    struct inq_arena *arena;
    struct inq_failure *failure;
    struct inq_state model;
    struct inq_solution waits;
    uint32_t mismatch_team; /* INQ_NONE: members agree wherever they can be compared */
    struct inq_state_verdict mismatch;
    uint32_t first;                  /* index of the rank whose evidence comes first; INQ_NONE */
    const struct inq_state_op *held; /* the op where the waiting began; NULL unknown */
    size_t n_elsewhere; /* groups whose members all joined and none finished, besides `held`'s */
    size_t n_early;     /* stuck ranks whose dumps may be older than that */
    bool scattered;     /* many dumps are older than what others tell: of different moments */
    bool several_late;  /* ranks are late on the host in several groups, and a dump is missing */
    bool doubtful;      /* so, or more groups elsewhere than ranks that are late: it may not hang */
    bool alone; /* nobody waits for the rank that is stuck: the others had nothing more to do */
    bool no_memory;
};

/* "[2048,1,5120] BFloat16 -> [8192,1,5120] BFloat16"; "" when not recorded */
const char *inq_failure_sizes(struct inq_failure_case *c, const struct inq_flight_entry *entry);
/* The op that holds a rank, or that another waits in for it; NULL none. */
const struct inq_state_op *inq_failure_held(const struct inq_failure_case *c, uint32_t rank);
/* Of the one rank that waits against all others: whether it has enqueued what they wait in. */
bool inq_failure_lone_came(const struct inq_failure_case *c);
/* How the members' entries compare, in one sentence. */
const char *inq_failure_describe_match(struct inq_failure_case *c, uint32_t team,
                                       const struct inq_state_verdict *verdict);
/* Headline, evidence, stacks, alternatives, advice, once class and ranks are known. */
void inq_failure_explain(struct inq_failure_case *c);

#endif
