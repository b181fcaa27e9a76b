/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of classes: of what no line of its own tells. */
#include "analysis/failure/rules/rules.h"

/* What is said of a class when no line says it. */
static const struct inq_failure_rule classes[INQ_FAILURE_CLASS_COUNT] = {
    [INQ_FAILURE_NONE] = {.headline = "Nothing was pending when the dumps were written: they show "
                                      "no hang.",
                          .advice = "Look for an exception or a signal in the logs of the ranks."},
    [INQ_FAILURE_UNKNOWN] = {.headline = "The run ended with \"{text}\" ({who}{since}); its cause "
                                         "is unknown to inquest",
                             .advice = "Collect the logs of all ranks and the kernel logs of their "
                                       "nodes; one that fails often writes neither log nor dump."},
    [INQ_FAILURE_GPU_STALL] =
        {.headline = "{Who} never finished on the GPU what the others have finished: stuck in "
                     "{hang}",
         .advice = "Read the kernel log of these ranks' nodes for Xid lines; drain a node that has "
                   "them.",
         .next = {"a kernel of the model that never ends, a GPU or NVLink fault, or an illegal "
                  "access: check the rank's stderr and the node's kernel log (Xid)",
                  "a host that stopped soon after it had enqueued these ops: check the process's "
                  "stack"}},
    [INQ_FAILURE_CPU_STALL] =
        {.headline = "{Who} never entered {hang}: stuck on the CPU",
         .advice =
             "Read these ranks' stderr, and take their Python stacks (py-spy dump) next time.",
         .next = {"an exception, a held GIL, a data loader, a checkpoint or work of this rank "
                  "alone: check the process's stack and stderr",
                  "a GPU that hangs in work that is no collective, with the host waiting for it: "
                  "check the process's stack and the kernel log"}},
    [INQ_FAILURE_MISMATCH] =
        {.headline = "Ranks did not enter the same collective: {who} differs at {hang}",
         .advice = STACKS,
         .next = {"one rank skipped or repeated a collective earlier: compare the stacks"}},
    [INQ_FAILURE_ORDERING] =
        {.headline = "{Who} wait for each other in a circle",
         .advice = "Enter the groups' collectives in one order on all ranks.",
         .next = {"groups that run on streams of their own, and a rank that is only slow: take a "
                  "second dump a minute later"}},
    [INQ_FAILURE_COMMUNICATION] =
        {.headline = "All ranks joined {hang}, and none finished: the network or one member's GPU",
         .advice = "Check links and network cards of the members' nodes for the time of the hang.",
         .next = {"a link or network card: check the logs of NCCL and of the network",
                  "one member's GPU hangs inside the kernel: check the nodes' kernel logs (Xid)"}},
    [INQ_FAILURE_UNEVEN] =
        {.headline = "{Who} never joined {hang}, which all others wait in: uneven data or work",
         .advice = "Give every rank the same number of batches (drop the last, or Join), and let "
                   "work of one rank alone end before the others' timeout, or raise that.",
         .next = {"fewer batches, an early end of its loop, or work of this rank alone: compare "
                  "the stacks of both sides",
                  "the two collectives in another order: compare the stacks of both sides"}},
    [INQ_FAILURE_GPU_HARDWARE] = {.headline = "The GPU of {who} failed: {text}", .advice = DRAIN},
    [INQ_FAILURE_DRIVER] = {.headline = "The GPU driver or firmware failed on {who}: {text}",
                            .advice = "Drain the node and reset the GPU; update driver and "
                                      "firmware if it comes back."},
    [INQ_FAILURE_NETWORK] = {.headline = "The network failed{to}: {text}",
                             .advice = LINKS,
                             .next = {ASK_PEER}},
    [INQ_FAILURE_HOST] = {.headline = "The host of {who} failed: {text}",
                          .advice = "Drain the node and read its kernel log and its hardware's "
                                    "event log."},
    [INQ_FAILURE_SCHEDULER] = {.headline = "The scheduler ended the job: {text}",
                               .advice = "Restart from the last checkpoint."},
    [INQ_FAILURE_CUDA_ERROR] =
        {.headline = "{Who} met a GPU error of the program: {text}",
         .advice = "Run the failing rank with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find "
                   "the kernel; the timeouts of other ranks need no look."},
    [INQ_FAILURE_CUDA_OOM] = {.headline = "{Who} ran out of GPU memory",
                              .advice =
                                  "Lower this rank's micro-batch or sequence length, or shard "
                                  "and recompute more; compare its memory with that of other "
                                  "ranks."},
    [INQ_FAILURE_APPLICATION] = {.headline = "{Who} failed: {text}", .advice = TRACEBACK},
    [INQ_FAILURE_NUMERICAL] = {.headline = "Training diverged: {text}",
                               .advice = "Look at the data and the gradients of the step at which "
                                         "it began."},
    [INQ_FAILURE_PEER_DIED] = {.headline = "A process elsewhere ended first{to}: these logs are of "
                                           "the peers that lost it",
                               .advice = PEER_LOG,
                               .next = {ASK_NETWORK}},
};

const struct inq_failure_rule *inq_failure_class_rule(enum inq_failure_class cls)
{
    return &classes[cls];
}
