/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of generated runs that name no peer. */
#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two stages of four replicas: ranks r and r + 4 talk. Stage 0 lacks ranks 0 and 1. */
static void pairing__peers_of_missing_ranks_hide_no_others(void **state)
{
    (void)state;
    struct test_synth made = test_synth_open(
        "dp=4,pp=2,micro_batches=4,layers=4,p2p=bare,p2p_group=world,gpus_per_host=4,steps=5,"
        "sigma=0.04,seed=887021,gz=0,cpu_ops=0,fault=missing_rank:rank=0:last=1",
        NULL);
    const struct inq_trace *trace = made.run->traces[0];
    size_t n = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        const struct inq_member *m = trace->members + c->first_member;
        if (c->kind == INQ_COLL_SENDRECV) {
            assert_int_equal(c->n_members, 2);
            assert_int_equal(trace->ranks[m[0].rank].rank + 4, trace->ranks[m[1].rank].rank);
            n++;
        }
    }
    assert_int_equal(n, 2 * 2 * 4 * 5); /* pairs, directions, micro-batches, steps */
    test_synth_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairing__peers_of_missing_ranks_hide_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
