/* SPDX-License-Identifier: Apache-2.0 */
#include "support_steps.h"

#include "support_shard.h"

#include <stdio.h>

#define MS INT64_C(1000000)

void made_steps_init(struct made_steps *plan, int ranks, int64_t compute_ns)
{
    *plan = (struct made_steps){.ranks = ranks};
    for (int r = 0; r < ranks; r++) {
        made_steps_set(plan, r, compute_ns);
    }
}

void made_steps_set(struct made_steps *plan, int rank, int64_t compute_ns)
{
    for (int s = 0; s < MADE_STEPS; s++) {
        plan->compute_ns[rank][s] = compute_ns;
    }
}

static void add_all_reduce(struct inq_shard *shard, int ranks, int64_t seq, int64_t start_ns,
                           int64_t end_ns)
{
    static const int32_t all[MADE_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = made_group(shard, "0", ranks, all, (uint32_t)ranks);
    comm.group_size = ranks;
    comm.seq = seq;
    made_kernel(shard, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, start_ns, end_ns - start_ns,
                start_ns - 1000, made_comm(shard, &comm));
}

struct inq_run *made_steps_run(const struct made_steps *plan)
{
    static const char *const files[MADE_RANKS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct inq_shard shards[MADE_RANKS];
    int64_t at_ns = 0;
    for (int r = 0; r < plan->ranks; r++) {
        made_shard(&shards[r], files[r], r, plan->ranks);
    }
    for (int s = 0; s < MADE_STEPS; s++) {
        int64_t most_ns = 0;
        for (int r = 0; r < plan->ranks; r++) {
            most_ns = plan->compute_ns[r][s] > most_ns ? plan->compute_ns[r][s] : most_ns;
        }
        int64_t end_ns = at_ns + most_ns + (plan->ranks > 1 ? MADE_TRANSFER_MS * MS : 0);
        for (int r = 0; r < plan->ranks; r++) {
            char mark[32];
            int64_t ready_ns = at_ns + plan->compute_ns[r][s];
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
            made_note(&shards[r], mark, at_ns, end_ns - at_ns, false);
            made_kernel(&shards[r], "ampere_sgemm_128x64_nn", 7, at_ns, ready_ns - at_ns, at_ns,
                        INQ_NONE);
            if (plan->ranks > 1) {
                add_all_reduce(&shards[r], plan->ranks, s + 1, ready_ns, end_ns);
            }
        }
        at_ns = end_ns;
    }
    return made_run(shards, (size_t)plan->ranks, false);
}
