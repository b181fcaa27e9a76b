/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the members of a group entered the same collective, and whether the two sides of a
 * transfer say the same of it. */
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

/* The first pending send and receive of one number whose sizes or dtypes differ; *team is INQ_NONE
 * when there is none. Neither side can be told to be the wrong one. Fails with INQ_NOMEM. */
int inq_state_match_pairs(const struct inq_state *model, uint32_t *team,
                          struct inq_state_verdict *verdict, struct inq_err *err);

#endif
