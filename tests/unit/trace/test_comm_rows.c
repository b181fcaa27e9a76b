/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that must be in one order on all members, where the order was not recorded. */
#include "support_job.h"
#include "support_shard.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define MS INT64_C(1000000)

/* Sharded parameters: in each layer a gather and a scatter of one group, on streams of their own,
 * start within microseconds of each other, on each rank in another order. */
static void add_both(struct inq_shard *shards, int r, int layer, bool launched)
{
    static const enum inq_coll_kind kinds[] = {INQ_COLL_ALLGATHER, INQ_COLL_REDUCE_SCATTER};
    static const char *const names[] = {"ncclDevKernel_AllGather_RING_LL",
                                        "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"};
    int64_t at_ns = MS * layer + INT64_C(137000) * (layer % 6); /* six layers repeat */
    for (int k = 0; k < 2; k++) {
        struct inq_comm comm = {.kind = kinds[k], .seq = -1, .peer = -1, .batch = INQ_NONE};
        comm.group = made_group(&shards[r], "g", 2, (const int32_t[]){0, 1}, 2);
        comm.external_id = 2 * layer + k;
        bool later = (layer + r + k) % 2 == 0;
        int64_t end_ns = at_ns + INT64_C(130000) + k * INT64_C(2000);
        int64_t start_ns = at_ns + (later ? 1000 : 0);
        made_kernel(&shards[r], names[k], 20 + k, start_ns, end_ns - start_ns,
                    launched ? at_ns - INT64_C(900000) + k * 1000 : INQ_TIME_NONE,
                    made_comm(&shards[r], &comm));
    }
}

/* Rank 1 lacks the launches, and its window opens 31 layers later: alike work fits wherever it is
 * laid, and only one place is near by the clock that the two have. */
static void streams__kinds_have_an_order_each(void **state)
{
    (void)state;
    enum { LAYERS = 80, CUT = 31 };
    struct inq_shard shards[2];
    made_shard(&shards[0], "s/0", 0, 2);
    made_shard(&shards[1], "s/1", 1, 2);
    for (int r = 0; r < 2; r++) {
        shards[r].ranks[0].host = made_name(&shards[r], "node0");
        for (int layer = r == 0 ? 0 : CUT; layer < LAYERS; layer++) {
            add_both(shards, r, layer, r == 0);
        }
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(made_job_wrong(run->traces[0]), 0);
    size_t whole = 0;
    for (size_t c = 0; c < run->traces[0]->n_collectives; c++) {
        whole += run->traces[0]->collectives[c].n_members == 2;
    }
    assert_int_equal(whole, 2 * (LAYERS - CUT));
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams__kinds_have_an_order_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
