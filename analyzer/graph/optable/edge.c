/* SPDX-License-Identifier: Apache-2.0 */
/* Edges of a template. */
#include "graph/optable/template.h"

#include "base/mem.h"

int inq_template_edge(struct inq_op_template *t, size_t before, size_t after, struct inq_err *err)
{
    int code = inq_mem_grow(&t->edges, &t->cap_edges, t->n_edges + 1, sizeof *t->edges,
                            INQ_GRAPH_MAX_EDGES - 1, err);
    if (code == INQ_OK) {
        t->edges[t->n_edges++] = (struct inq_edge){(uint32_t)before, (uint32_t)after};
    }
    return code;
}
