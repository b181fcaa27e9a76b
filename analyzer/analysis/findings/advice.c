/* SPDX-License-Identifier: Apache-2.0 */
/* What to try next, by kind of finding. */
#include "analysis/findings/findings.h"

static const struct {
    enum inq_finding_kind kind;
    const char *text;
} advices[] = {
    {INQ_FINDING_SLOW_GPU, "Compare clocks, temperature, power cap and ECC state of this GPU with "
                           "its neighbors (nvidia-smi -q); take it out of the job if they differ."},
    {INQ_FINDING_SLOW_WORKER,
     "Look at this worker's GPU clocks and host load; move the job off it and compare."},
    {INQ_FINDING_MORE_WORK, "Look at how the work is divided: batch and sequence lengths, experts, "
                            "embedding tables, layers per rank."},
    {INQ_FINDING_LATE_HOST, "Look at what this rank's process does then: data loading, garbage "
                            "collection, checkpoints, other processes on its cores, CPU "
                            "frequency."},
    {INQ_FINDING_EXPOSED_COPY,
     "Look at pageable or larger host copies on this rank, and at its PCIe link."},
    {INQ_FINDING_SLOW_LINK, "Check this link: negotiated width and speed, error counters, "
                            "congestion, the network interface and NUMA node that the ranks use."},
    {INQ_FINDING_SLOW_LAST_STAGE, "Give the last stage fewer layers: the output layer and the loss "
                                  "are work of their own."},
    {INQ_FINDING_STAGE_IMBALANCE, "Move layers from this stage to the others."},
    {INQ_FINDING_SEQUENCE_IMBALANCE,
     "Pack or sort sequences so that micro-batches take equally long on all ranks."},
    {INQ_FINDING_UNPLANNED_GC,
     "Collect garbage on all ranks in the same step, every so many steps."},
};

const char *inq_findings_advice(enum inq_finding_kind kind)
{
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
        if (advices[i].kind == kind) {
            return advices[i].text;
        }
    }
    return "";
}
