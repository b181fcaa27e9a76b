/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of many ranks joined by process group: who is a member, what each has pending, and how far
 * each has come in each group. */
#ifndef INQ_ANALYSIS_FLIGHT_MODEL_H
#define INQ_ANALYSIS_FLIGHT_MODEL_H

#include "base/arena.h"
#include "inquest/flight.h"

/* Where a member stands in a group, by the number of its next collective that is not finished. */
struct inq_flight_place {
    uint32_t rank; /* index into the model's ranks */
    bool known;    /* next_seq is known */
    bool pending;  /* next_seq is enqueued */
    bool whole;    /* its dump is there to the end */
    bool certain;  /* next_seq is where it stands; else only known to be no smaller */
    int64_t next_seq;
};

struct inq_flight_team {
    const char *name, *desc;
    size_t n_members;
    int32_t *members;                /* global ranks, in the group's own order */
    struct inq_flight_place *places; /* [n_members] by global rank */
    bool has_p2p;                    /* its recorded status may count P2P ops */
};

/* An op that a rank has not finished. */
struct inq_flight_op {
    uint32_t team;
    const struct inq_flight_entry *entry;
};

struct inq_flight_rank {
    int32_t rank;
    const struct inq_flight_dump *dump; /* NULL: none */
    uint32_t *team_of;                  /* [dump->n_groups] */
    size_t n_pending;                   /* in the order created */
    struct inq_flight_op *pending;
};

struct inq_flight_model {
    struct inq_arena *arena;
    size_t n_ranks; /* all members of all groups, and all dumps, ascending */
    struct inq_flight_rank *ranks;
    size_t n_teams;
    struct inq_flight_team *teams;
};

/* Builds the model in `arena`; the dumps are borrowed. Fails with INQ_NOMEM. */
int inq_flight_model(const struct inq_trace *trace, struct inq_arena *arena,
                     struct inq_flight_model *model, struct inq_err *err);
/* Index of a global rank, INQ_NONE if it is in no group. */
uint32_t inq_flight_find_rank(const struct inq_flight_model *model, int32_t rank);
/* The place of a rank in a group; NULL if it is no member. */
const struct inq_flight_place *inq_flight_place(const struct inq_flight_team *team, uint32_t rank);

#endif
