/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and sealing a shard. */
#include "support_shard.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

static const struct inq_rank *finalize(struct inq_shard *shard)
{
    assert_int_equal(inq_shard_finalize(shard, NULL), INQ_OK);
    return &shard->ranks[0];
}

static const char *name_of(const struct inq_shard *shard, size_t event)
{
    return inq_strtab_get(&shard->names, shard->ranks[0].events.name[event]);
}

/* ---- filling --------------------------------------------------------------------------------- */

static void fill__a_new_rank_knows_nothing(void **state)
{
    (void)state;
    struct inq_shard shard = {0};
    uint32_t index;
    assert_int_equal(inq_shard_add_rank(&shard, &index, NULL), INQ_OK);
    const struct inq_rank *rank = &shard.ranks[index];
    assert_int_equal(rank->rank, -1);
    assert_int_equal(rank->world_size, -1);
    assert_int_equal(rank->pid, -1);
    assert_true(rank->first_ns == INQ_TIME_NONE);
    assert_int_equal(rank->clock.residual_ns, -1);
    inq_shard_release(&shard);
}

static void fill__lanes_are_found_again(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    uint32_t stream;
    uint32_t other;
    uint32_t again;
    struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_STREAM, 0, 7, &stream, NULL), INQ_OK);
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_THREAD, 0, 7, &other, NULL), INQ_OK);
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_STREAM, 0, 7, &again, NULL), INQ_OK);
    assert_int_equal(stream, again);
    assert_int_not_equal(stream, other);
    assert_int_equal(rank->n_lanes, 2);
    inq_shard_release(&shard);
}

static void fill__groups_are_the_same_by_name_and_ranks(void **state)
{
    (void)state;
    struct inq_shard shard;
    const int32_t low[] = {0, 1};
    const int32_t high[] = {2, 3};
    made_shard(&shard, "a", 0, 4);
    uint32_t a = made_group(&shard, "tp", 2, low, 2);
    assert_int_equal(made_group(&shard, "tp", 2, low, 2), a);
    assert_int_not_equal(made_group(&shard, "tp", 2, high, 2), a);
    assert_int_not_equal(made_group(&shard, "dp", 2, low, 2), a);
    assert_int_equal(shard.n_groups, 3);
    inq_shard_release(&shard);
}

static void fill__long_lists_of_ranks_are_shared(void **state)
{
    (void)state;
    struct inq_rank_lists lists = {.adding = PTHREAD_MUTEX_INITIALIZER};
    struct inq_shard shards[2] = {{.shared = &lists}, {.shared = &lists}};
    int32_t ranks[64];
    uint32_t index;
    for (int32_t r = 0; r < 64; r++) {
        ranks[r] = r;
    }
    for (int k = 0; k < 2; k++) {
        const uint32_t sizes[] = {64, 32, 31};
        for (int i = 0; i < 3; i++) {
            assert_int_equal(
                inq_shard_add_group(&shards[k], 0, 0, -1, ranks, sizes[i], &index, NULL), INQ_OK);
            assert_int_equal(index, i);
            assert_int_equal(shards[k].groups[i].n_ranks, sizes[i]);
            assert_memory_equal(shards[k].groups[i].ranks, ranks, sizes[i] * sizeof *ranks);
        }
    }
    assert_ptr_equal(shards[0].groups[0].ranks, shards[1].groups[0].ranks);
    assert_ptr_equal(shards[0].groups[1].ranks, shards[1].groups[1].ranks);
    assert_ptr_not_equal(shards[0].groups[2].ranks, shards[1].groups[2].ranks);
    inq_shard_release(&shards[0]);
    assert_memory_equal(shards[1].groups[0].ranks, ranks, sizeof ranks);
    inq_shard_release(&shards[1]);
    inq_strtab_release(&lists.runs);
    inq_arena_release(&lists.arena);
}

/* Runs are the list again, whatever it is. */
static void fill__lists_of_ranks_are_kept_as_runs(void **state)
{
    (void)state;
    static const int32_t odd[] = {0, 1, 2, 3, 8, 16, 24, 32, 33, 40, 50, 52, 99, INT32_MAX};
    enum { N = sizeof odd / sizeof *odd };
    struct inq_rank_lists lists = {.adding = PTHREAD_MUTEX_INITIALIZER};
    int32_t ranks[3 * N];
    for (int i = 0; i < 3 * N; i++) { /* shared from 32 on */
        ranks[i] = i < 2 * N ? 2 * i : 100 + odd[i - 2 * N] / 2;
    }
    for (int shared = 0; shared < 2; shared++) {
        struct inq_shard shard = {.shared = shared ? &lists : NULL};
        for (uint32_t n = 0; n <= 3 * N; n++) {
            struct inq_group group = {0};
            assert_int_equal(inq_shard_keep_ranks(&shard, ranks, n, &group, NULL), INQ_OK);
            assert_int_equal(group.n_ranks, n);
            assert_memory_equal(group.ranks, ranks, n * sizeof *ranks);
        }
        struct inq_rank_runs runs = {0};
        struct inq_group group = {0};
        for (int i = 0; i < N; i++) {
            assert_int_equal(inq_rank_runs_add(&runs, odd[i], NULL), INQ_OK);
        }
        assert_int_equal(runs.n_ranks, N);
        assert_int_equal(runs.rows[0].n, 4); /* 0 to 3, then 8, 16, 24, 32 */
        assert_int_equal(runs.rows[1].stride, 8);
        assert_int_equal(inq_shard_keep_runs(&shard, &runs, &group, NULL), INQ_OK);
        assert_memory_equal(group.ranks, odd, sizeof odd);
        inq_mem_free(runs.rows);
        inq_shard_release(&shard);
    }
    inq_strtab_release(&lists.runs);
    inq_arena_release(&lists.arena);
}

static void damage__counts_and_keeps_the_first_place(void **state)
{
    (void)state;
    struct inq_damage damage = {0};
    inq_damage_add(&damage, INQ_DAMAGE_BAD_EVENT, 2, 900);
    inq_damage_add(&damage, INQ_DAMAGE_BAD_EVENT, 1, 300);
    inq_damage_add(&damage, INQ_DAMAGE_BAD_EVENT, 0, 5);
    inq_damage_add(&damage, INQ_DAMAGE_GARBAGE, 4096, 10);
    assert_int_equal(damage.count[INQ_DAMAGE_BAD_EVENT], 3);
    assert_int_equal(damage.first_offset[INQ_DAMAGE_BAD_EVENT], 300);
    assert_int_equal(inq_damage_total(&damage), 4); /* garbage is one place of many bytes */
}

/* ---- sealing --------------------------------------------------------------------------------- */

static void finalize__sorts_by_lane_start_and_longer_first(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_kernel(&shard, "c", 7, 300, 10, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "other", 9, 50, 10, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "short", 7, 100, 10, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "long", 7, 100, 90, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "short too", 7, 100, 10, INQ_TIME_NONE, INQ_NONE);
    const struct inq_rank *rank = finalize(&shard);
    static const char *const expected[] = {"long", "short", "short too", "c", "other"};
    assert_int_equal(rank->events.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(name_of(&shard, i), expected[i]);
    }
    assert_int_equal(rank->first_ns, 50);
    assert_int_equal(rank->last_ns, 310);
    assert_true(rank->events.step[0] == INQ_NONE);
    inq_shard_release(&shard);
}

/* With whole microseconds a copy of no length and the synchronize after it start together. */
static void finalize__calls_of_no_length_come_before_those_that_start_with_them(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_call(&shard, 100, 500, 1);
    made_call(&shard, 100, 0, 2);
    made_call(&shard, 100, 700, 3); /* a longer one stays where the file has it */
    made_call(&shard, 90, 5, 4);
    const struct inq_rank *rank = finalize(&shard);
    static const int64_t expected_ns[] = {5, 0, 500, 700};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rank->calls.dur_ns[i], expected_ns[i]);
    }
    inq_shard_release(&shard);
}

static void finalize__launches_come_by_correlation(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_call(&shard, 30, 5, 12);
    made_call(&shard, 10, 5, 11);
    made_work(&shard, "a", 7, 100, 10, 12);
    made_work(&shard, "b", 7, 200, 10, 11);
    made_work(&shard, "lost", 7, 300, 10, 99);
    made_work(&shard, "none", 7, 400, 10, INQ_NONE);
    const struct inq_rank *rank = finalize(&shard);
    assert_int_equal(rank->calls.start_ns[0], 10); /* sorted by start */
    assert_int_equal(rank->events.call[0], 1);
    assert_int_equal(rank->events.call[1], 0);
    assert_true(rank->events.call[2] == INQ_NONE);
    assert_true(rank->events.call[3] == INQ_NONE);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_NO_LAUNCH], 1);
    inq_shard_release(&shard);
}

static void finalize__of_repeated_ids_the_latest_launch_before_counts(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_call(&shard, 100, 5, 7);
    made_call(&shard, 200, 5, 7);
    made_call(&shard, 300, 5, 7);
    made_work(&shard, "before all", 7, 50, 5, 7);
    made_work(&shard, "first", 7, 150, 5, 7);
    made_work(&shard, "second", 7, 299, 5, 7);
    made_work(&shard, "third", 7, 300, 5, 7);
    const struct inq_rank *rank = finalize(&shard);
    static const uint32_t expected[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rank->events.call[i], expected[i]);
    }
    inq_shard_release(&shard);
}

static void finalize__ids_are_compared_in_32_bits(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_call(&shard, 10, 5, INT64_C(0x700000005));
    made_work(&shard, "a", 7, 100, 10, 5);
    assert_int_equal(finalize(&shard)->events.call[0], 0);
    inq_shard_release(&shard);
}

static void finalize__many_equal_ids_take_no_long_time(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    enum { MANY = 100000 };
    for (int i = 0; i < MANY; i++) {
        made_call(&shard, 1000 + i, 1, 7);
        made_work(&shard, "a", 7, i % 900, 1, 7); /* before all calls */
    }
    assert_int_equal(finalize(&shard)->events.call[MANY - 1], 0);
    inq_shard_release(&shard);
}

/* ---- communication --------------------------------------------------------------------------- */

static void comms__are_found_by_external_id(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 2);
    struct inq_comm host;
    struct inq_comm kernel;
    inq_comm_init(&host);
    inq_comm_init(&kernel);
    host.kind = INQ_COLL_ALLGATHER;
    host.external_id = 77;
    host.in_elems = 1000;
    host.seq = 5;
    kernel.external_id = 77;
    (void)made_comm(&shard, &host);
    uint32_t row = made_comm(&shard, &kernel);
    made_kernel(&shard, "ncclDevKernel_Generic(ncclDevComm*)", 20, 100, 10, 50, row);
    const struct inq_rank *rank = finalize(&shard);
    const struct inq_comm *comm = &rank->comms[rank->events.comm[0]];
    assert_int_equal(comm->kind, INQ_COLL_ALLGATHER);
    assert_int_equal(comm->in_elems, 1000);
    assert_int_equal(comm->seq, 5);
    assert_false(comm->from_name);
    inq_shard_release(&shard);
}

static void comms__are_named_by_the_annotation_around_the_launch(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 2);
    made_note(&shard, "nccl:all_to_all", 40, 30, false);
    made_note(&shard, "record_param_comms", 45, 20, false); /* inside; says nothing */
    made_kernel(&shard, "ncclDevKernel_SendRecv(ncclDevComm*)", 20, 100, 10, 50, INQ_NONE);
    made_kernel(&shard, "ncclDevKernel_SendRecv(ncclDevComm*)", 20, 200, 10, 150, INQ_NONE);
    const struct inq_rank *rank = finalize(&shard);
    const struct inq_comm *inside = &rank->comms[rank->events.comm[0]];
    const struct inq_comm *outside = &rank->comms[rank->events.comm[1]];
    assert_int_equal(inside->kind, INQ_COLL_ALLTOALL);
    assert_false(inside->from_name);
    assert_int_equal(outside->kind, INQ_COLL_SENDRECV);
    assert_true(outside->from_name);
    inq_shard_release(&shard);
}

static void comms__are_only_of_communication_kernels(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 2);
    made_note(&shard, "nccl:all_reduce", 40, 30, false);
    made_kernel(&shard, "volta_sgemm", 7, 100, 10, 50, INQ_NONE);
    assert_true(finalize(&shard)->events.comm[0] == INQ_NONE);
    inq_shard_release(&shard);
}

static void comms__what_the_kernel_says_itself_stays(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 2);
    struct inq_comm own;
    inq_comm_init(&own);
    own.kind = INQ_COLL_REDUCE_SCATTER;
    own.out_elems = 12;
    made_note(&shard, "nccl:all_reduce", 40, 30, false);
    made_kernel(&shard, "ncclDevKernel_Generic", 20, 100, 10, 50, made_comm(&shard, &own));
    const struct inq_rank *rank = finalize(&shard);
    assert_int_equal(rank->comms[rank->events.comm[0]].kind, INQ_COLL_REDUCE_SCATTER);
    assert_int_equal(rank->comms[rank->events.comm[0]].out_elems, 12);
    inq_shard_release(&shard);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Fails each allocation in turn: either all is well or INQ_NOMEM, never a crash or a leak. */
static void memory__runs_out_anywhere(void **state)
{
    (void)state;
    bool done = false;
    for (long nth = 1; !done; nth++) {
        struct inq_shard shard;
        made_shard(&shard, "a", 0, 2);
        made_note(&shard, "nccl:all_to_all", 40, 30, false);
        made_kernel(&shard, "ncclDevKernel_SendRecv", 20, 100, 10, 50, INQ_NONE);
        made_kernel(&shard, "gemm", 7, 90, 10, 10, INQ_NONE);
        inq_mem_fail_after(nth);
        int code = inq_shard_finalize(&shard, NULL);
        done = code == INQ_OK && nth > 40;
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill__a_new_rank_knows_nothing),
        cmocka_unit_test(fill__lanes_are_found_again),
        cmocka_unit_test(fill__groups_are_the_same_by_name_and_ranks),
        cmocka_unit_test(fill__long_lists_of_ranks_are_shared),
        cmocka_unit_test(fill__lists_of_ranks_are_kept_as_runs),
        cmocka_unit_test(damage__counts_and_keeps_the_first_place),
        cmocka_unit_test(finalize__sorts_by_lane_start_and_longer_first),
        cmocka_unit_test(finalize__calls_of_no_length_come_before_those_that_start_with_them),
        cmocka_unit_test(finalize__launches_come_by_correlation),
        cmocka_unit_test(finalize__of_repeated_ids_the_latest_launch_before_counts),
        cmocka_unit_test(finalize__ids_are_compared_in_32_bits),
        cmocka_unit_test(finalize__many_equal_ids_take_no_long_time),
        cmocka_unit_test(comms__are_found_by_external_id),
        cmocka_unit_test(comms__are_named_by_the_annotation_around_the_launch),
        cmocka_unit_test(comms__are_only_of_communication_kernels),
        cmocka_unit_test(comms__what_the_kernel_says_itself_stays),
        cmocka_unit_test(memory__runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
