/* SPDX-License-Identifier: Apache-2.0 */
/* A step that can be changed: the ops, edges and groups of a graph as plain lists. A fix takes a
 * job, changes it, and the job becomes a graph again. */
#ifndef INQ_REPLAY_FIX_STEP_H
#define INQ_REPLAY_FIX_STEP_H

#include "graph/graph.h"
#include "inquest/fix.h"
#include "inquest/replay.h"

enum fix_place {
    FIX_PLACE_GPU,
    FIX_PLACE_HOST,     /* a host call */
    FIX_PLACE_HOST_SYNC /* a host call that waits for the GPU */
};

struct fix_op {
    int64_t dur_ns, delay_ns;
    int64_t mean_ns;   /* over the run's steps; INQ_TIME_NONE unknown */
    int64_t shaped_ns; /* compute, copies: with this dur_ns it has those bytes or is that product;
                          with another one it is other work */
    int64_t bytes;     /* communication, copies: payload; compute bound by memory: traffic; -1 not
                          known */
    struct inq_graph_op op;     /* rank: index into ranks */
    struct inq_product product; /* compute: as recorded; m 0: not known */
    uint32_t slot;  /* ops with the same slot on other ranks are its peers; INQ_NONE: none */
    uint32_t group; /* INQ_NONE: none */
    uint8_t place;  /* enum fix_place */
    bool early;     /* its kind and group reduce from the forward on: activations; bucket-size */
    bool beside;    /* part of a forward and a backward that run beside each other */
    uint8_t coll;   /* communication: enum inq_coll_kind; INQ_COLL_UNKNOWN: none or not known */
    uint8_t copy;   /* copies from or to the host: enum inq_work; 0: others */
};

/* What a fix takes for granted. */
enum fix_cost {
    FIX_COST_LATENCY,    /* us that a collective takes whatever its size */
    FIX_COST_CONTENTION, /* part by which compute beside transfers takes longer */
    FIX_COST_FIXED,      /* part of an op that does not depend on the micro-batch's size */
    FIX_COST_SPLIT,      /* part of a backward that is the weight's gradient */
    FIX_COST_PACE        /* time per work of an op whose size changes: 1 as before */
};

/* One such quantity, and the work that shows what a device makes of it: an op of dur_ns, and
 * `share` of that op. */
struct fix_need {
    enum fix_cost cost;
    double assumed;
    double measured, ci95[2]; /* NaN: not measured */
    int64_t dur_ns;
    double share;
    int64_t bytes;    /* of a collective; -1 not known */
    uint32_t members; /* of a collective's group */
};

/* Fixes are applied twice: first their needs are listed, then, measured, they are used. */
struct fix_needs {
    size_t n, taken;
    bool measured;          /* use `at` rather than fill it */
    const char *unmeasured; /* what nobody can measure here; NULL: nothing */
    struct fix_need at[INQ_MOST_ASSUMPTIONS];
};

struct fix_rank {
    int32_t number;    /* as recorded */
    int32_t stage, dp; /* dense; -1: not a pipeline */
};

/* Replicas of a pipeline that was laid out: all have the first one's ops, edges and groups, only
 * times differ, and ranks. Of very many ranks their lists would be most of the memory that an
 * analysis takes (112 bytes an op, 5.8 million ops of 64 micro-batches on 16,384 ranks). */
struct fix_replicas {
    size_t n;                        /* 0: the step's lists hold everything */
    size_t n_ops, n_edges, n_groups; /* of one; the first's begin the step's lists */
    size_t n_delayed;                /* no op from here on has a delay */
    int64_t *dur_ns, *delay_ns;      /* [n][n_ops], [n][n_delayed] */
};

/* All-zero is releasable. Lanes run their ops in the order of the list. With replicas the lists
 * hold the first one's ops, edges and groups, then the others' (those in no replica). There edges
 * count the ops of all replicas before the others. */
struct fix_step {
    size_t n_ops, cap_ops;
    struct fix_op *ops;
    size_t n_edges, cap_edges;
    struct inq_edge *edges; /* besides lane order */
    size_t n_groups;
    size_t n_ranks;
    struct fix_rank *ranks;
    size_t n_stages, n_dp, n_chunks, n_microbatches; /* 0: not a pipeline */
    size_t n_virtual; /* besides n_stages of 0: a schedule's pipeline, whose ops have its stages, so
                         many in a replica; 0: none */
    size_t n_slots;
    bool connected;          /* ranks wait for each other */
    bool split;              /* backward is recorded as input and weight gradient */
    bool v_shaped, two_way;  /* as in inq_op_template */
    double weight_share;     /* of a full backward; 0: not known */
    double beside;           /* what ops beside each other take of their time one by one; 0: all */
    char schedule[24];       /* "" unknown */
    struct fix_needs *needs; /* borrowed; NULL: assumptions are used as they are */
    struct fix_replicas replicas;
};

void inq_fix_step_release(struct fix_step *job);
int inq_fix_step_copy(const struct fix_step *from, struct fix_step *to, struct inq_err *err);

/* Lists the ops, edges and groups of all replicas. What reads or changes ops wants this first. */
int inq_fix_step_expand(struct fix_step *job, struct inq_err *err);

/* Appends; *index may be NULL. */
int inq_fix_step_add(struct fix_step *job, const struct fix_op *op, uint32_t *index,
                     struct inq_err *err);
int inq_fix_step_edge(struct fix_step *job, uint32_t before, uint32_t after, struct inq_err *err);

/* Ops, edges and groups of a graph; place, mean, slot and ranks are the caller's to fill. Durations
 * and delays as given (delay_ns NULL: none). */
int inq_fix_step_take(struct fix_step *job, const struct inq_graph *graph, const int64_t *dur_ns,
                      const int64_t *delay_ns, struct inq_err *err);
/* The graph of an expanded job. Fails with INQ_DEADLOCK when a fix ties a knot. */
int inq_fix_step_graph(const struct fix_step *job, struct inq_graph **graph, struct inq_err *err);
/* Simulated length, expanded or not; `delays`: with them. Fails as inq_fix_step_graph does. */
int inq_fix_step_time(const struct fix_step *job, bool delays, int64_t *t_ns, struct inq_err *err);

/* A product rounded to the nearest ns. */
int64_t inq_fix_scaled(int64_t ns, double factor);

#endif
