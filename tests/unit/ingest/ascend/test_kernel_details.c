/* SPDX-License-Identifier: Apache-2.0 */
/* Ascend's table of kernels: columns by their titles, HCCL's operations, steps, damage. */
#include "ingest/ingest.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#define TITLES                                                                                     \
    "Step Id,Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input "    \
    "Shapes\n"

/* The same in pieces of any size. */
static void read_all(const char *text, struct inq_shard *shard)
{
    static const size_t chunks[] = {1, 13, 0};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        struct inq_err err = {0};
        *shard = (struct inq_shard){0};
        assert_int_equal(test_read_bytes(text, strlen(text), chunks[i], shard, &err), INQ_OK);
        assert_string_equal(shard->file.format, "ascend-kernels");
        if (chunks[i] != 0) {
            inq_shard_release(shard);
        }
    }
}

static void ascend__rows_are_kernels_and_collectives(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(
        TITLES
        "1,0,2,MatMulV2,MatMulV2,AI_CORE,\"1768464000000100.123\t\",500.120,\"\"\"64,64\"\"\"\n"
        "1,0,9,hcom_allReduce__231_17_1,hcom_allReduce_,HCCL,1768464000000700.5,80,N/A\n"
        "2,0,2,Cast,Cast,AI_VECTOR_CORE,1768464000000900,20,\r\n",
        &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 3);
    assert_string_equal(test_str(&shard, rank->device_name), "Ascend NPU");
    assert_true(rank->has_clock_epoch);
    assert_true(rank->events.start_ns[0] == INT64_C(1768464000000100123));
    assert_int_equal(rank->events.dur_ns[0], 500120);
    const struct inq_launch *launch = &shard.launches.rows[rank->events.launch[0]];
    assert_string_equal(test_str(&shard, launch->op), "MatMulV2");
    assert_int_equal(rank->events.cls[1], INQ_CLASS_COMM);
    const struct inq_comm *comm = &rank->comms[rank->events.comm[1]];
    assert_int_equal(comm->kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(comm->seq, 17);
    assert_string_equal(test_str(&shard, shard.groups[comm->group].name), "231");
    assert_int_equal(rank->n_notes, 2);
    assert_int_equal(rank->notes[0].number, 1);
    assert_int_equal(rank->notes[0].dur_ns, 799877); /* up to where step 2 begins */
    assert_int_equal(rank->notes[1].dur_ns, 20000);
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    inq_shard_release(&shard);
}

/* msprof's titles, no streams: communication goes on beside compute. A core that runs all of a
 * collective is no second one. */
static void ascend__msprof_says_the_same_in_its_words(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all("Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
             "0,MatMul,MatMul,MIX_AIC,5,7\n0,hcom_allGather_,x,COMMUNICATION,8,3\n"
             "0,hcom_allGather_AivKernel,x,AI_VECTOR_CORE,8,3\n",
             &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 2);
    assert_int_equal(rank->n_lanes, 2);
    assert_false(rank->has_clock_epoch);
    assert_int_equal(rank->n_notes, 0);
    assert_int_equal(rank->comms[rank->events.comm[1]].kind, INQ_COLL_ALLGATHER);
    inq_shard_release(&shard);
}

static void ascend__rows_without_times_are_counted(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(TITLES "1,0,2,a,a,AI_CORE,x,1,\n1,0,2,b,b,AI_CORE,5,99999999999999,\n\n"
                    "1,0,2,,c,AI_CORE,5,1,\n1,0,2,d,d,AI_CORE,5,1,\n1,0,2,e,e,AI_C",
             &shard);
    assert_int_equal(shard.file.events, 5);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_EVENT], 4);
    assert_int_equal(shard.ranks[0].events.n, 1);
    inq_shard_release(&shard);
}

static void ascend__is_left_out_beside_its_trace(void **state)
{
    (void)state;
    struct inq_shard shards[3] = {
        {.file = {.path = "a/kernel_details.csv", .format = "ascend-kernels", .read = true}},
        {.file = {.path = "a/trace_view.json", .format = "kineto", .read = true}},
        {.file = {.path = "b/kernel_details.csv", .format = "ascend-kernels", .read = true}}};
    struct inq_err err = {0};
    assert_int_equal(inq_reader_ascend.join(shards, 3, &err), INQ_OK);
    assert_false(shards[0].file.read);
    assert_non_null(strstr(shards[0].file.reason, "trace_view.json"));
    assert_true(shards[1].file.read);
    assert_true(shards[2].file.read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascend__rows_are_kernels_and_collectives),
        cmocka_unit_test(ascend__msprof_says_the_same_in_its_words),
        cmocka_unit_test(ascend__rows_without_times_are_counted),
        cmocka_unit_test(ascend__is_left_out_beside_its_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
