/* SPDX-License-Identifier: Apache-2.0 */
/* Names of schedules that put weight gradients off: they place them by times, so that it is not
 * their order that tells them apart but what they hold, which is what they were made for. */
#ifndef INQ_GRAPH_OPTABLE_SPLIT_NAME_H
#define INQ_GRAPH_OPTABLE_SPLIT_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* What a rank does, op by op; all-zero to begin. */
struct inq_split_rank {
    int32_t forwards, backwards, freed; /* freed: weight gradients and full backwards */
    int32_t warm_up;                    /* forwards before the first backward */
    int32_t peak_open;                  /* most forwards without their backward .. */
    int32_t peak_held;                  /* .. and without their weight gradient */
    bool full, split;                   /* backwards of that kind */
    bool jumps;                         /* micro-batches of a chunk do not follow each other */
    int32_t next[2][3];                 /* [chunk][pass] the least micro-batch that may come */
};

enum inq_split_step { INQ_SPLIT_FORWARD, INQ_SPLIT_INPUT, INQ_SPLIT_WEIGHT, INQ_SPLIT_FULL };

/* `chunk` counts from 0; those from 2 on have no names. */
void inq_split_take(struct inq_split_rank *rank, enum inq_split_step step, int32_t chunk,
                    int32_t microbatch);

struct inq_split_shape {
    int32_t n_ranks, n_chunks; /* chunks a rank */
    bool v_shaped, two_way;    /* as in inq_op_template */
    struct inq_split_rank sum; /* of all ranks: the highest peaks, any kind of backward */
    int32_t last_warm_up;      /* of the rank added last */
};

/* Adds a rank that is complete; ranks come in their order. */
void inq_split_add(struct inq_split_shape *shape, const struct inq_split_rank *rank);

/* "zb-1p", "v-half", "dualpipe", "chimera", ...; NULL: it is none of them. */
const char *inq_split_name(const struct inq_split_shape *shape);

#endif
