/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of op types. */
#include "graph/optable/rows.h"

bool inq_op_is_compute(uint8_t type)
{
    return type == INQ_OP_FORWARD || type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_INPUT ||
           type == INQ_OP_BACKWARD_WEIGHT;
}

bool inq_op_is_backward(uint8_t type)
{
    return type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_INPUT;
}

bool inq_op_is_p2p(uint8_t type)
{
    return type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_BACKWARD_RECV;
}

bool inq_op_is_comm(uint8_t type)
{
    return type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_OPTIMIZER_CLIP;
}
