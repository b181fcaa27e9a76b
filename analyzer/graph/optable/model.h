/* SPDX-License-Identifier: Apache-2.0 */
/* The op model of a labeled trace: the graph of one step, and what every step took on it. */
#ifndef INQ_GRAPH_OPTABLE_MODEL_H
#define INQ_GRAPH_OPTABLE_MODEL_H

#include "graph/optable/template.h"
#include "inquest/graph.h"

/* No op of a step ends later than this after its begin: 18 years. */
#define INQ_OP_MODEL_MOST_NS ((int64_t)1 << 59)

/* Matrices are [n_ops][stride], by op index of `graph` and by step; unused cells are 0. */
struct inq_op_model {
    struct inq_op_template shape;
    struct inq_graph *graph; /* ops of all replicas; source: op of `shape` */
    size_t n_steps, stride;  /* stride: n_steps rounded up to whole batches */
    size_t n_dropped;        /* steps set aside because their ops differ from the others' */
    size_t n_warm_up;        /* steps set aside because they begin the record and are far longer */
    int64_t *warm_step, *warm_ns; /* [n_warm_up] number and length */
    int64_t *step;                /* [n_steps] recorded number */
    int64_t *origin_ns;           /* [n_steps] earliest start */
    int64_t *recorded_ns;         /* [n_steps] latest end - origin, and for recorded runs .. */
    int64_t *tail_ns;             /* [n_steps] .. the time until the next step begins */
    const char *source;           /* "labels", "annotations", "inferred" */
    size_t n_stages, n_dp;
    int32_t *stage_number, *dp_number; /* as recorded */
    uint32_t *worker_rank;             /* [n_dp * n_stages] into inq_trace.ranks */
    int64_t *start_ns;                 /* since the step's origin */
    int64_t *end_ns;
    int64_t *dur_ns;   /* duration; in a group the transfer: own end - latest start of the group */
    int64_t *delay_ns; /* own start - latest end of what it waits for: launches, data loading */
    uint32_t *event;   /* of the worker's rank */
};

/* Makes the model of a trace whose ops carry labels. *model stays NULL, with INQ_OK, when there are
 * none or no two steps or replicas agree on what a step is. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_op_model_make(const struct inq_trace *trace, struct inq_op_model **model,
                      struct inq_err *err);
void inq_op_model_free(struct inq_op_model *model);

/* A step and how long it took. */
struct inq_op_model_step {
    int64_t number, length_ns;
};

/* Keeps the steps that are in `steps` (by number, ascending) and gives them their lengths; of the
 * steps of a recorded run the account knows more than a model of a part of the work does. *any:
 * there are such steps; else the model stays as it is. Fails with INQ_NOMEM. */
int inq_op_model_set_steps(struct inq_op_model *model, const struct inq_op_model_step *steps,
                           size_t n, bool *any, struct inq_err *err);

/* Worker (replica * n_stages + stage) of an op of the graph. */
static inline size_t inq_op_worker(const struct inq_op_model *m, size_t op)
{
    return (size_t)m->graph->op[op].dp_rank * m->n_stages + (size_t)m->graph->op[op].stage;
}

/* The stage over all model chunks, in the order of the model: chunks run down the stages each time,
 * or down and up. */
static inline int32_t inq_op_virtual_stage(const struct inq_op_model *m, int32_t stage,
                                           int32_t chunk)
{
    int32_t p = (int32_t)m->n_stages;
    int32_t own = chunk > 0 ? chunk : 0;
    return own * p + (m->shape.v_shaped && own % 2 != 0 ? p - 1 - stage : stage);
}

/* Whether an op needs the result of another stage without a recorded transfer in between. */
static inline bool inq_op_needs_stage(const struct inq_op_model *m, size_t op)
{
    const struct inq_graph *g = m->graph;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (g->op[g->deps[d]].stage != g->op[op].stage) {
            return true;
        }
    }
    return false;
}

#endif
