/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of situations: of what no line alone tells. */
#include "analysis/failure/rules/rules.h"

static const struct inq_failure_rule situations[INQ_SITUATION_COUNT] = {
    [INQ_SITUATION_NCCL_VERSIONS] =
        {.role = INQ_LOG_CAUSE,
         .cls = INQ_FAILURE_APPLICATION,
         .sub = "version",
         .weight = 82,
         .headline = "Processes run different versions of NCCL ({versions}), whose messages do not "
                     "fit: {text}",
         .advice = "Install one NCCL on all nodes: one container image, one LD_LIBRARY_PATH."},
};

const struct inq_failure_rule *inq_failure_situation_rule(enum inq_failure_situation situation)
{
    return &situations[situation];
}
