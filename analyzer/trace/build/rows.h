/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a rank: its events and calls, added one by one. Adding fails with INQ_NOMEM or
 * INQ_LIMIT. */
#ifndef INQ_TRACE_BUILD_ROWS_H
#define INQ_TRACE_BUILD_ROWS_H

#include "inquest/trace.h"

/* Bound on what a hostile file can make us hold. */
#define INQ_MAX_ROWS ((size_t)1 << 31)

struct inq_event_row {
    int64_t start_ns, dur_ns;
    inq_str name;
    uint32_t lane;
    uint32_t call;   /* before sealing: the low 32 bits of the correlation id, INQ_NONE for none */
    uint32_t comm;   /* INQ_NONE for none */
    uint32_t label;  /* INQ_NONE for none */
    uint32_t launch; /* of the shard's launches; 0: not recorded */
    enum inq_event_kind kind;
    enum inq_op_class cls;
};

int inq_rank_add_event(struct inq_rank *rank, const struct inq_event_row *row, struct inq_err *err);
/* Room for one more call. */
int inq_rank_grow_calls(struct inq_rank *rank, struct inq_err *err);
/* Inline: traces have as many calls as all else that is kept of them. */
static inline int inq_rank_add_call(struct inq_rank *rank, int64_t start_ns, int64_t dur_ns,
                                    inq_str name, uint32_t lane, int64_t correlation,
                                    struct inq_err *err)
{
    struct inq_calls *c = &rank->calls;
    int code = c->n < c->cap ? INQ_OK : inq_rank_grow_calls(rank, err);
    if (code != INQ_OK) {
        return code;
    }
    size_t i = c->n++;
    c->start_ns[i] = start_ns;
    c->dur_ns[i] = dur_ns;
    c->name[i] = name;
    c->lane[i] = lane;
    c->correlation[i] = correlation;
    return INQ_OK;
}

/* Makes room for the rows that are still to come of a file of which the part `progress` (above 0,
 * up to 1) has been read: they need not be moved each time that there are half as many again. Only
 * when there is little room left, and no more than may be had. */
void inq_rank_make_room(struct inq_rank *rank, double progress);
/* Gives back what growing left over. */
void inq_rank_shrink(struct inq_rank *rank);

/* Frees a rank's columns and tables. */
void inq_rank_release(struct inq_rank *rank);

#endif
