/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the members of a group entered the same collective. */
#ifndef INQ_ANALYSIS_FAILURE_STATE_MATCH_H
#define INQ_ANALYSIS_FAILURE_STATE_MATCH_H

#include "analysis/failure/state/model.h"
#include "inquest/failure.h"

struct inq_state_verdict {
    int64_t seq; /* the oldest that is not finished everywhere, or where all have joined that, the
                    first that a member has not; -1: nothing is pending */
    enum inq_match_state state;
    size_t n_odd; /* members that differ from most, or have not joined; ascending */
    int32_t *odd;
    bool tied;       /* no majority: both sides may be wrong */
    bool by_sisters; /* which side is odd, groups of the same kind tell */
    const struct inq_flight_entry *usual, *other; /* of most members, and of the first odd one */
};

/* Members entered different collectives. */
bool inq_state_is_mismatch(enum inq_match_state state);
/* Compares the members' entries of the group's oldest unfinished collective. Fails with INQ_NOMEM.
 */
int inq_state_match(const struct inq_state *model, uint32_t team, struct inq_state_verdict *verdict,
                    struct inq_err *err);

/* analysis/failure/state/pairs.c */

/* How the other side of a pending send or receive stands. */
enum inq_state_other {
    INQ_OTHER_UNKNOWN, /* with whom is not known */
    INQ_OTHER_ABSENT,  /* has not enqueued it, as far as is known */
    INQ_OTHER_THERE,   /* has it pending as well */
    INQ_OTHER_LEFT     /* has finished it */
};

struct inq_state_partner {
    enum inq_state_other stands;
    uint32_t peer;                 /* the other rank's index; INQ_NONE: unknown */
    const struct inq_state_op *op; /* its pending op; NULL unless it is there */
    bool exact;                    /* that the two belong together does not rest on their order
                                      among the pending ones */
};

struct inq_state_partner inq_state_partner(const struct inq_state *model, uint32_t rank,
                                           const struct inq_state_op *op);
/* The end of the unit that begins at pending op `first`: a batch, or a single op. */
size_t inq_state_unit_end(const struct inq_state_rank *rank, size_t first);
/* The first pending send and receive of one number whose sizes or dtypes differ; *team is INQ_NONE
 * when there is none. Neither side can be told to be the wrong one. Fails with INQ_NOMEM. */
int inq_state_match_pairs(const struct inq_state *model, uint32_t *team,
                          struct inq_state_verdict *verdict, struct inq_err *err);

#endif
