/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of captures that have little in common: one channel tells too little, all of them enough.
 */
#include "support_job.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#define US   INT64_C(1000)
#define MS   INT64_C(1000000)
#define HOUR (INT64_C(3600) * 1000 * MS)

/* In turn all ranks, ranks of even and of odd places: always as much of the same kind. */
static struct made_op_plan in_turn(const struct made_job *job, int index)
{
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, index % job->n_groups, 4000};
}

/* Two hosts of two ranks, an hour apart. */
static const int64_t an_hour[4] = {0, 0, HOUR, HOUR};

static struct made_job two_hosts(int n_ops)
{
    return (struct made_job){.ranks = 4,
                             .per_host = 2,
                             .n_groups = 3,
                             .group_name = {"world", "even", "odd"},
                             .group_from = {0, 0, 1},
                             .group_step = {1, 2, 2},
                             .group_size = {4, 2, 2},
                             .n_ops = n_ops,
                             .op = in_turn,
                             .groups = true,
                             .sizes = true,
                             .work_ns = 5 * MS,
                             .jitter_ns = 5 * US,
                             .offset_ns = an_hour,
                             .seed = 3};
}

/* What the clock of a rank is off against that of rank 0. */
static int64_t off_by(const struct inq_trace *trace, size_t rank, const int64_t *planted_ns)
{
    return trace->ranks[rank].clock.offset_ns + planted_ns[rank] - trace->ranks[0].clock.offset_ns -
           planted_ns[0];
}

/* Each host has four all-reduces of all ranks, but not the same four: equal counts that are no
 * reason to pair them in their order. */
static void few__as_many_on_both_by_chance(void **state)
{
    (void)state;
    static const int skip[4] = {0, 0, 3, 3};
    static const int stop[4] = {11, 11, 14, 14};
    struct made_job job = two_hosts(14);
    job.skip = skip;
    job.stop = stop;
    struct inq_run *run = made_job_run(&job, true);
    assert_int_equal(run->n_traces, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_in_range(llabs(off_by(trace, 2, an_hour)), 0, 20 * US);
    size_t across = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        across += m[trace->collectives[c].n_members - 1].rank >= 2;
    }
    assert_int_equal(across, 3 + 4 + 2); /* and operations 0, 12: of one host each */
    inq_run_free(run);
}

/* Ranks 0 and 1, and 2 and 3, do much by twos and little together; every rank has its own clock:
 * those of two that are sure of each other move together. */
static struct made_op_plan twos(const struct made_job *job, int index)
{
    (void)job;
    int group = index % 20 < 18 ? 1 + index % 2 : index % 20 == 18 ? 0 : 3;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, group, 4000};
}

static void parts__move_as_a_whole(void **state)
{
    (void)state;
    static const int64_t offset_ns[4] = {0, 7 * MS, HOUR, HOUR - 3 * MS};
    static const int skip[4] = {0, 0, 20, 20};
    static const int stop[4] = {79, 79, 0, 0};
    struct made_job job = {.ranks = 4,
                           .n_groups = 4,
                           .group_name = {"world", "low", "high", "ends"},
                           .group_from = {0, 0, 2, 0},
                           .group_step = {1, 1, 1, 3},
                           .group_size = {4, 2, 2, 2},
                           .n_ops = 99,
                           .op = twos,
                           .groups = true,
                           .sizes = true,
                           .work_ns = 5 * MS,
                           .jitter_ns = 5 * US,
                           .offset_ns = offset_ns,
                           .skip = skip,
                           .stop = stop,
                           .seed = 5};
    struct inq_run *run = made_job_run(&job, true);
    assert_int_equal(run->n_traces, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    for (size_t r = 1; r < 4; r++) {
        assert_in_range(llabs(off_by(trace, r, offset_ns)), 0, 20 * US);
    }
    inq_run_free(run);
}

/* Nothing is clearly more than what order says: whole captures of two operations each. */
static void few__whole_captures_go_by_order(void **state)
{
    (void)state;
    struct made_job job = two_hosts(2);
    job.n_groups = 1;
    struct inq_run *run = made_job_run(&job, true);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(made_job_wrong(run->traces[0]), 0);
    assert_int_equal(run->traces[0]->n_collectives, 2);
    assert_in_range(llabs(off_by(run->traces[0], 2, an_hour)), 0, 20 * US);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few__as_many_on_both_by_chance),
        cmocka_unit_test(few__whole_captures_go_by_order),
        cmocka_unit_test(parts__move_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
