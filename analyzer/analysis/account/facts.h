/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of when the others came: one fact for each event that waited for other ranks. */
#ifndef INQ_ANALYSIS_ACCOUNT_FACTS_H
#define INQ_ANALYSIS_ACCOUNT_FACTS_H

#include "inquest/account.h"

struct inq_op_model;

enum inq_kernel_name {
    INQ_NAME_UNUSED,
    INQ_NAME_COMPUTES,  /* its name says so */
    INQ_NAME_SILENT,    /* the name says nothing: what else its stream does decides */
    INQ_NAME_LOOKS_COMM /* nor this, but it has words in it that communication uses */
};

/* By name. */
struct inq_kernel_names {
    uint8_t *of_name; /* [n_names] enum inq_kernel_name; of kernels of class COMPUTE or OTHER */
    size_t n_names;
    bool all_compute; /* nothing else occurs */
};

enum inq_fact_kind {
    INQ_FACT_NONE,
    INQ_FACT_GROUP,     /* it could transfer from `arrival_ns` on */
    INQ_FACT_UNSURE,    /* the same, but clocks leave open whether it waited before that */
    INQ_FACT_UNKNOWN,   /* matched, but members are absent or their ends disagree */
    INQ_FACT_DEPENDENCY /* it could start at `arrival_ns`: an input of another rank came then */
};

struct inq_fact {
    int64_t arrival_ns;
    uint32_t event, waited_for, collective; /* as in inq_account_wait */
    uint8_t kind;                           /* enum inq_fact_kind */
};

/* Facts by rank, of each rank by event. */
struct inq_account_facts {
    struct inq_kernel_names kinds;
    bool by_event; /* one for each event of a rank, most of them NONE */
    size_t *first; /* [n_ranks + 1] into at */
    struct inq_fact *at;
};

/* Of matched collectives, or of the op model of labeled ops, and the kinds of kernels. Lives in
 * the arena. Fails with INQ_NOMEM. */
int inq_account_find_facts(const struct inq_trace *trace, const struct inq_op_model *model,
                           struct inq_arena *arena, struct inq_account_facts **facts,
                           struct inq_err *err);

/* The fact about an event, NULL: none. */
static inline const struct inq_fact *inq_fact_of(const struct inq_account_facts *facts,
                                                 uint32_t rank, uint32_t event)
{
    size_t low = facts->first[rank];
    size_t high = facts->first[rank + 1];
    if (facts->by_event) {
        const struct inq_fact *fact = &facts->at[low + event];
        return fact->kind != INQ_FACT_NONE ? fact : NULL;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (facts->at[middle].event < event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < facts->first[rank + 1] && facts->at[low].event == event;
    return found ? &facts->at[low] : NULL;
}

#endif
