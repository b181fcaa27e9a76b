/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of generated runs that name no peer. */
#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

/* What is less than this is no offset of a clock (clock.c). */
enum { LEAST_OFFSET_NS = 20000 };

/* Four stages on a host each, whose clocks only their transfers connect: no group was recorded, and
 * the captures begin anywhere. Ranks r and r + 2 talk. */
static void pairing__transfers_alone_tell_clocks(void **state)
{
    (void)state;
    struct test_synth made = test_synth_open(
        "dp=2,pp=4,micro_batches=4,layers=4,p2p=args,gpus_per_host=2,steps=5,args=old,"
        "window=ragged,clock=1ms,seed=5,gz=0,cpu_ops=0",
        NULL);
    const struct inq_trace *trace = made.run->traces[0];
    size_t n = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        const struct inq_member *m = trace->members + c->first_member;
        if (c->kind == INQ_COLL_SENDRECV) {
            assert_int_equal(trace->ranks[m[0].rank].rank + 2, trace->ranks[m[1].rank].rank);
            n++;
        }
    }
    assert_int_equal(n, 177); /* all whose two ends were recorded */
    const int64_t *first = &inq_synth_truth(made.synth)->ranks[0].clock_offset_ns;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t off_ns = inq_synth_truth(made.synth)->ranks[r].clock_offset_ns - *first +
                         trace->ranks[r].clock.offset_ns - trace->ranks[0].clock.offset_ns;
        assert_in_range(llabs(off_ns), 0, LEAST_OFFSET_NS);
    }
    test_synth_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairing__peers_of_missing_ranks_hide_no_others),
        cmocka_unit_test(pairing__transfers_alone_tell_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
