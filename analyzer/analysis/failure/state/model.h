/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks x process groups: who is a member, what each has pending, and how far each has come in each
 * group. Filled by dumps, and by what ranks without one printed when they gave up. */
#ifndef INQ_ANALYSIS_FAILURE_STATE_MODEL_H
#define INQ_ANALYSIS_FAILURE_STATE_MODEL_H

#include "base/arena.h"
#include "inquest/flight.h"

/* Where a member stands in a group, by the number of its next collective that is not finished. */
struct inq_state_place {
    uint32_t rank; /* index into the model's ranks */
    bool known;    /* next_seq is known */
    bool pending;  /* next_seq is enqueued */
    bool whole;    /* its dump is there to the end */
    bool batched;  /* its transfers are numbered by batch, as this side made them up */
    bool certain;  /* next_seq is where it stands; else only known to be no smaller */
    int64_t next_seq;
    int64_t enqueued; /* highest number that its dump knows of, -1 none */
    int64_t synced;   /* highest finished one that needs all members, -1 none */
    int64_t transfer; /* number of its oldest pending send or receive, -1 none */
};

struct inq_state_group {
    const char *name, *desc;
    size_t n_members;
    int32_t *members;               /* global ranks, in the group's own order */
    struct inq_state_place *places; /* [n_members] by global rank */
    bool has_p2p;                   /* its recorded status may count P2P ops */
};

/* An op that a rank has not finished. */
struct inq_state_op {
    uint32_t team;
    const struct inq_flight_entry *entry;
    uint32_t channel; /* of a transfer; INQ_NONE: between whom is not known */
    uint32_t nth;     /* of its channel's pending ones */
};

/* The transfers from one member of a group to another, as one of the two lists them. They finish in
 * the order in which they were enqueued. */
struct inq_state_channel {
    uint32_t team;
    int32_t src, dst;  /* places in the group */
    int64_t n_done;    /* finished ones that are listed */
    int64_t last_done; /* highest number of these, -1 none */
    int64_t n_pending;
    uint32_t first; /* the first pending one, in the rank's `transfers` */
};

struct inq_state_rank {
    int32_t rank;
    const struct inq_flight_dump *dump; /* NULL: none */
    bool printed; /* `dump` is what the rank printed: it reports the groups that it lists alone */
    bool whole;   /* the dump is there to its end, and no older than what others report this rank */
    bool stale;   /* others finished what this rank must have joined after its dump was written */
    uint32_t *team_of; /* [dump->n_groups] */
    size_t n_pending;  /* in the order created */
    struct inq_state_op *pending;
    size_t n_unplaced; /* pending ones of groups whose members no dump lists */
    int64_t unplaced;  /* record id of the first of these, -1 none */
    bool timed;        /* its dump tells what had started */
    int64_t last_ns;   /* the last time in its dump, INQ_TIME_NONE none */
    bool from_start;   /* the dump lists all that was ever enqueued */
    size_t n_channels;
    struct inq_state_channel *channels; /* by team, src and dst */
    uint32_t *transfers;                /* pending ones (indices) by channel, in order */
};

struct inq_state {
    struct inq_arena *arena;
    size_t n_ranks; /* all members of all groups, and all dumps, ascending */
    struct inq_state_rank *ranks;
    size_t n_groups;
    struct inq_state_group *groups;
};

/* What the state is filled from, one a rank. */
struct inq_state_records {
    size_t n_dumps, n_printed;
    const struct inq_flight_dump **of; /* the dumps, then what ranks without one printed */
};

/* Builds the state in `arena`; the records are borrowed. Fails with INQ_NOMEM. */
int inq_state_build(const struct inq_state_records *records, struct inq_arena *arena,
                    struct inq_state *model, struct inq_err *err);
/* Takes a rank's dump as older than the others: where it stood later is not known. Or takes that
 * back, of a whole dump. */
void inq_state_set_aside(struct inq_state *model, uint32_t rank, bool aside);
/* Index of a global rank, INQ_NONE if it is in no group. */
uint32_t inq_state_find_rank(const struct inq_state *model, int32_t rank);

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

#endif
