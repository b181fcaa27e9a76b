/* SPDX-License-Identifier: Apache-2.0 */
/* One op of a graph: what it is before anything is known, and in words. */
#include "inquest/graph.h"

#include <stdio.h>

struct inq_graph_op inq_graph_op_init(void)
{
    return (struct inq_graph_op){.rank = -1,
                                 .lane = INQ_NONE,
                                 .step = -1,
                                 .stage = -1,
                                 .dp_rank = -1,
                                 .micro_batch = -1,
                                 .chunk = -1,
                                 .source = INQ_NONE,
                                 .type = INQ_OP_NONE,
                                 .cls = INQ_CLASS_OTHER};
}

const char *inq_graph_op_text(const struct inq_graph_op *op, char *buf, size_t size)
{
    char micro_batch[40] = "";
    char chunk[32] = "";
    if (op->micro_batch >= 0) {
        (void)snprintf(micro_batch, sizeof micro_batch, " micro-batch %d", op->micro_batch);
    }
    if (op->chunk > 0) {
        (void)snprintf(chunk, sizeof chunk, " chunk %d", op->chunk);
    }
    const char *type =
        op->type == INQ_OP_NONE ? "op" : inq_op_type_text((enum inq_op_type)op->type);
    (void)snprintf(buf, size, "rank %d %s%s%s", op->rank, type, micro_batch, chunk);
    return buf;
}
