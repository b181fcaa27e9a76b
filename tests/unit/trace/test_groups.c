/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of communication that was recorded without any: streams, and who ends together. */
#include "base/arena.h"
#include "base/strtab.h"
#include "support_synth.h"
#include "trace/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, MOST = 32 };
static const int64_t MS = 1000000;

/* Four ranks with one stream of collectives each. */
struct made {
    struct inq_arena arena;
    struct inq_strtab names;
    struct inq_trace trace;
    struct inq_rank ranks[RANKS];
    struct inq_lane lanes[RANKS];
    struct inq_comm comms[RANKS][MOST];
    int64_t start_ns[RANKS][MOST], dur_ns[RANKS][MOST];
    uint32_t lane[RANKS][MOST], comm[RANKS][MOST];
    uint8_t kind[RANKS][MOST], cls[RANKS][MOST];
};

/* Every other end of ranks 1 and 3 is `member_ns` later than that of 0 and 2, every other end of
 * ranks 2 and 3 `set_ns` later than that of 0 and 1. */
static void make(struct made *m, size_t n, int64_t member_ns, int64_t set_ns,
                 enum inq_coll_kind kind)
{
    memset(m, 0, sizeof *m);
    m->trace = (struct inq_trace){.arena = &m->arena,
                                  .names = &m->names,
                                  .n_ranks = RANKS,
                                  .world_size = RANKS,
                                  .ranks = m->ranks};
    for (uint32_t r = 0; r < RANKS; r++) {
        struct inq_rank *rank = &m->ranks[r];
        rank->rank = (int32_t)r;
        rank->n_lanes = 1;
        rank->lanes = &m->lanes[r];
        rank->lanes[0].kind = INQ_LANE_STREAM;
        rank->lanes[0].id = 20 + (int64_t)r;
        rank->n_comms = n;
        rank->comms = m->comms[r];
        rank->events = (struct inq_events){.n = n,
                                           .start_ns = m->start_ns[r],
                                           .dur_ns = m->dur_ns[r],
                                           .lane = m->lane[r],
                                           .comm = m->comm[r],
                                           .kind = m->kind[r],
                                           .cls = m->cls[r]};
        for (size_t i = 0; i < n; i++) {
            int64_t later_ns = i % 2 == 0 ? 0 : (r % 2) * member_ns + (r / 2) * set_ns;
            m->start_ns[r][i] = (int64_t)i * 5 * MS + later_ns;
            m->dur_ns[r][i] = MS;
            m->comm[r][i] = (uint32_t)i;
            m->kind[r][i] = INQ_EVENT_KERNEL;
            m->cls[r][i] = INQ_CLASS_COMM;
            m->comms[r][i] = (struct inq_comm){.kind = kind, .group = INQ_NONE, .peer = -1};
        }
    }
}

/* How many groups were inferred; every kernel has one, whose size it knows. */
static size_t infer(struct made *m)
{
    struct inq_err err = {0};
    assert_int_equal(inq_groups_infer(&m->trace, &err), INQ_OK);
    for (size_t r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < m->ranks[r].n_comms; i++) {
            uint32_t group = m->comms[r][i].group;
            assert_true(group < m->trace.n_groups);
            assert_int_equal(m->comms[r][i].group_size, m->trace.groups[group].size);
            assert_true(m->trace.groups[group].inferred);
        }
    }
    size_t n = m->trace.n_groups;
    inq_arena_release(&m->arena);
    inq_strtab_release(&m->names);
    return n;
}

static size_t infer_made(size_t n, int64_t member_ns, int64_t set_ns, enum inq_coll_kind kind)
{
    struct made m;
    make(&m, n, member_ns, set_ns, kind);
    return infer(&m);
}

static void groups__are_ranks_that_end_together(void **state)
{
    (void)state;
    const enum inq_coll_kind sum = INQ_COLL_ALLREDUCE;
    assert_int_equal(infer_made(20, 2000, 100000, sum), 2);
    assert_int_equal(infer_made(20, 2000, 2000, sum), 1);    /* all of them do */
    assert_int_equal(infer_made(20, 24000, 100000, sum), 2); /* the widest that is together */
    assert_int_equal(infer_made(20, 24001, 100000, sum), 1);
    assert_int_equal(infer_made(20, 3000, 6000, sum), 2); /* sets twice as far apart */
    assert_int_equal(infer_made(20, 3000, 5999, sum), 1);
    assert_int_equal(infer_made(9, 3000, 6000, sum), 2); /* eight intervals of two that joined */
    assert_int_equal(infer_made(8, 3000, 6000, sum), 1);
    assert_int_equal(infer_made(5, 3000, 12000, sum), 2); /* four, of two bits each */
    assert_int_equal(infer_made(4, 3000, 12000, sum), 1);
    assert_int_equal(infer_made(4, 2000, 100000, sum), 2); /* three of three bits */
    assert_int_equal(infer_made(3, 2000, 100000, sum), 1);
}

/* Transfers by twos are of a pipeline, whose stages have several partners: one group of all. */
static void groups__of_exchanges_by_twos_are_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(infer_made(20, 2000, 100000, INQ_COLL_SENDRECV), 1);
    assert_int_equal(infer_made(20, 2000, 100000, INQ_COLL_SEND), 1);
}

/* Groups of a stream of coalesced calls whose kernels have this name. */
static size_t infer_coalesced(const char *kernel)
{
    struct made m;
    uint32_t names[MOST];
    make(&m, 20, 2000, 100000, INQ_COLL_COALESCED);
    assert_int_equal(inq_strtab_add(&m.names, kernel, strlen(kernel), &names[0], NULL), INQ_OK);
    for (size_t i = 1; i < MOST; i++) {
        names[i] = names[0];
    }
    for (size_t r = 0; r < RANKS; r++) {
        m.ranks[r].events.name = names;
    }
    return infer(&m);
}

/* Neighbors of a stage end their transfers together, each with another rank; what a coalesced call
 * did says the kernel's name. */
static void groups__of_coalesced_calls_by_their_kernels(void **state)
{
    (void)state;
    assert_int_equal(infer_coalesced("ncclDevKernel_SendRecv(ncclDevKernelArgs)"), 1);
    assert_int_equal(infer_coalesced("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"), 2);
}

/* One rank that ends by itself is no group: nothing parts the ranks. */
static void groups__of_unequal_size_are_none(void **state)
{
    (void)state;
    struct made m;
    make(&m, 20, 2000, 2000, INQ_COLL_ALLREDUCE);
    for (size_t i = 1; i < 20; i += 2) {
        m.start_ns[3][i] += 100000;
    }
    assert_int_equal(infer(&m), 1);
}

/* A stream of three kernels, two intervals on each of two ranks that join another's set, does not
 * tell whose it is: of all ranks, unless another stream reports smaller groups. */
static void groups__of_a_stream_that_does_not_tell_are_all_ranks_or_none(void **state)
{
    (void)state;
    for (int parted = 0; parted < 2; parted++) {
        struct inq_err err = {0};
        struct made m;
        struct inq_lane lanes[RANKS][2];
        make(&m, 20, 2000, parted ? 100000 : 2000, INQ_COLL_ALLREDUCE);
        for (uint32_t r = 0; r < RANKS; r++) {
            lanes[r][0] = lanes[r][1] = m.lanes[r];
            lanes[r][1].id += 100;
            m.ranks[r].lanes = lanes[r];
            m.ranks[r].n_lanes = 2;
            for (size_t i = 0; i < 20; i += 8) {
                m.lane[r][i] = 1;
                m.start_ns[r][i] += i % 16 == 0 ? 0 : (r / 2) * 100000;
            }
        }
        assert_int_equal(inq_groups_infer(&m.trace, &err), INQ_OK);
        assert_int_equal(m.trace.n_groups, 2);
        for (uint32_t r = 0; r < RANKS; r++) {
            uint32_t group = m.comms[r][0].group;
            assert_int_equal(group == INQ_NONE, parted);
            assert_true(parted || m.trace.groups[group].size == RANKS);
        }
        inq_arena_release(&m.arena);
        inq_strtab_release(&m.names);
    }
}

/* Records without groups, sizes and peers tell the same as those that have them. */
static void groups__of_old_records_give_the_same_account(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,tp=2,layers=4,steps=5,gz=0,fault=slow_gpu:rank=1:factor=1.3",
        "dp=2,tp=4,layers=4,steps=5,gz=0,window=ragged,fault=slow_gpu:rank=1:factor=1.3",
        "dp=2,pp=4,layers=8,steps=5,gz=0,fault=slow_gpu:rank=3:factor=1.3",
        "dp=2,tp=2,pp=2,layers=4,steps=5,gz=0,fault=slow_gpu:rank=3:factor=1.3",
        /* exchanges of more than two ranks, which are no pairs */
        "dp=16,experts=1,layers=4,steps=5,cpu_ops=0,gz=0,fault=slow_gpu:rank=3:factor=1.1",
        /* captures that begin elsewhere, on hosts whose clocks differ */
        ("dp=8,tp=2,layers=4,micro_batches=1,steps=11,seed=539461,gz=0,window=ragged,clock=1ms,"
         "gpus_per_host=8,fault=slow_gpu:rank=2:factor=1.2"),
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char old[256];
        (void)snprintf(old, sizeof old, "%s,args=old", specs[i]);
        struct test_synth now = test_synth_open(specs[i], NULL);
        struct test_synth then = test_synth_open(old, NULL);
        const struct inq_finding *a = &now.report->findings[0];
        const struct inq_finding *b = &then.report->findings[0];
        print_message("%s\n", old);
        assert_int_equal(a->kind, INQ_FINDING_SLOW_GPU);
        assert_int_equal(b->kind, INQ_FINDING_SLOW_GPU);
        assert_int_equal(b->n_ranks, 1);
        assert_int_equal(b->ranks[0], a->ranks[0]);
        assert_in_range(b->cost_ns_per_step, a->cost_ns_per_step * 95 / 100,
                        a->cost_ns_per_step * 105 / 100);
        test_synth_close(&now);
        test_synth_close(&then);
    }
}

/* Ranks of one tensor group end their transfers a few microseconds apart, as those of one pipeline
 * do: taken for partners, or their sums for sums of all ranks, they made links slow that were not.
 */
static void groups__of_old_records_of_healthy_runs_accuse_nobody(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,tp=4,pp=3,layers=3,micro_batches=3,steps=3,gz=0,args=old,seed=1",
        "dp=2,tp=2,pp=3,layers=3,micro_batches=3,steps=3,gz=0,args=old,seed=5",
        "dp=4,tp=2,pp=2,layers=4,micro_batches=4,steps=1,gz=0,args=old,seed=5",
        "dp=8,tp=2,layers=4,steps=3,gz=0,args=old,seed=5",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_synth run = test_synth_open(specs[i], NULL);
        print_message("%s: %s\n", specs[i], run.report->verdict.headline);
        assert_string_equal(run.report->verdict.cls, "healthy");
        test_synth_close(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups__are_ranks_that_end_together),
        cmocka_unit_test(groups__of_exchanges_by_twos_are_all_ranks),
        cmocka_unit_test(groups__of_coalesced_calls_by_their_kernels),
        cmocka_unit_test(groups__of_unequal_size_are_none),
        cmocka_unit_test(groups__of_a_stream_that_does_not_tell_are_all_ranks_or_none),
        cmocka_unit_test(groups__of_old_records_give_the_same_account),
        cmocka_unit_test(groups__of_old_records_of_healthy_runs_accuse_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
