/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of NCCL's example profiler: what is taken of them, and what damage costs. */
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN(name, cat, id, ts, args)                                                             \
    "{\"name\": \"" name "\", \"cat\": \"" cat "\", \"ph\": \"b\", \"id\": " id                    \
    ", \"pid\": 40, \"tid\": 1, \"ts\": " ts ", \"args\": {" args "}},\n"
#define END(name, cat, id, ts)                                                                     \
    "{\"name\": \"" name "\", \"cat\": \"" cat "\", \"ph\": \"e\", \"id\": " id                    \
    ", \"pid\": 40, \"tid\": 1, \"ts\": " ts "},\n"
#define COLL(seq, rank)                                                                            \
    "\"SeqNum\": " seq ", \"CommHash\": 18446744073709551615, \"Rank\": " rank                     \
    ", \"Count\": 1024, \"Datatype\": \"ncclBfloat16\", \"nChannels\": 2"
#define KERNEL(id, start, stop)                                                                    \
    BEGIN("KernelCh", "GPU", id, "5.0",                                                            \
          "\"Channel\": 0, \"StartGpuClk\": 1756135989724" start                                   \
          ", \"StopGpuClk\": 1756135989724" stop)                                                  \
    END("KernelCh", "GPU", id, "9.0")
#define PROXY(id, ts)                                                                              \
    BEGIN("ProgressSend", "PROXY", id, ts, "\"Channel\": 0, \"Peer\": 1, \"Steps\": 4")            \
    END("ProgressSend", "PROXY", id, ts)

static void read_text(const char *text, size_t n, struct inq_shard *shard)
{
    struct inq_err err = {0};
    *shard = (struct inq_shard){.file = {.path = "nccl_1_0.json"}};
    assert_int_equal(test_read_bytes(text, n, 64, shard, &err), INQ_OK);
    assert_string_equal(shard->file.format, "nccl-profiler");
    assert_int_equal(shard->n_ranks, 1);
}

static uint64_t damage(const struct inq_shard *shard)
{
    uint64_t n = 0;
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        n += shard->file.damage.count[kind];
    }
    return n;
}

/* Two channels, the one from 20 to 60, the other from 10 to 50 us; the GPU's clock decides. As the
 * README shows it, data types of calls and streams may stand without quotes. */
static const char whole[] =
    "[\n" BEGIN("AllReduce", "COLL_API", "0", "1.0",
                "\"count\": 1024, \"datatype\": ncclBfloat16, \"Stream\": 0x5020000567d0")
        BEGIN("AllReduce", "COLL", "0", "2.0", COLL("7", "3")) KERNEL("0", "620000", "660000")
            KERNEL("1", "610000", "650000") END("AllReduce", "COLL", "0", "4.0")
                END("AllReduce", "COLL_API", "0", "4.5") "{}]\n";

static void dump__operation_runs_while_a_channel_does(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_text(whole, sizeof whole - 1, &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(damage(&shard), 0);
    assert_int_equal(rank->pid, 40);
    assert_int_equal(rank->events.n, 1);
    assert_int_equal(rank->events.start_ns[0], INT64_C(1756135989724610000));
    assert_int_equal(rank->events.dur_ns[0], 50000);
    assert_true(rank->has_clock_epoch);
    assert_int_equal(rank->comms[0].kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(rank->comms[0].seq, 7);
    assert_int_equal(rank->comms[0].in_elems, 1024);
    assert_int_equal(rank->comms[0].dtype_bytes, 2);
    assert_int_equal(shard.n_groups, 1);
    assert_string_equal(test_str(&shard, shard.groups[0].name), "18446744073709551615");
    assert_int_equal(shard.groups[0].ranks[0], 3);
    inq_shard_release(&shard);
}

/* Wherever the file ends, nothing is invented, and what is lost is counted. */
static void dump__cut_anywhere(void **state)
{
    (void)state;
    size_t ends = (size_t)(strstr(whole, "\"ts\": 4.0") - whole);
    for (size_t n = (size_t)(strstr(whole, "COLL_API") - whole) + 9; n < sizeof whole; n++) {
        struct inq_shard shard;
        read_text(whole, n, &shard);
        assert_int_equal(shard.ranks[0].events.n, n >= ends + 10);
        bool begun = n > (size_t)(strstr(whole, "nChannels") - whole) + 16;
        assert_true(n >= ends + 10 || !begun || damage(&shard) > 0);
        inq_shard_release(&shard);
    }
}

/* Where the proxies were recorded, an operation ends with them; where only the host was, it is
 * known when it was launched, and not when it ran. */
static void dump__host_alone_knows_the_launch_only(void **state)
{
    (void)state;
    static const char text[] = "[\n" BEGIN("AllReduce", "COLL", "0", "2.5", COLL("0", "0"))
        PROXY("0", "3.0") END("AllReduce", "COLL", "0", "44.5")
            BEGIN("AllReduce", "COLL", "1", "50.0", COLL("1", "0"))
                END("AllReduce", "COLL", "1", "51.0") "{}]\n";
    struct inq_shard shard;
    read_text(text, sizeof text - 1, &shard);
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_int_equal(shard.ranks[0].events.start_ns[0], 2500);
    assert_int_equal(shard.ranks[0].events.dur_ns[0], 42000);
    assert_false(shard.ranks[0].has_clock_epoch);
    assert_non_null(strstr(shard.file.reason, "1 operations of which only the launch"));
    inq_shard_release(&shard);
}

/* One that never ends, one that ends without having begun, a line of garbage: each is one damage,
 * and the next operation is whole. */
static void dump__damage_costs_its_operation(void **state)
{
    (void)state;
    static const char text[] = "[\n" BEGIN("AllReduce", "COLL", "0", "2.0", COLL("0", "0"))
        KERNEL("0", "100000", "200000") BEGIN("AllReduce", "COLL", "1", "3.0", COLL("1", "0"))
            KERNEL("1", "300000", "400000") END("AllReduce", "COLL", "1", "4.0")
                END("AllReduce", "COLL", "5", "4.0") "#$%&\n" BEGIN(
                    "Send", "P2P", "0", "5.0",
                    "\"CommHash\": 1, \"Rank\": 0, \"Peer\": 1, \"Count\": 8, \"Datatype\": "
                    "\"ncclFloat8e4m3\", \"nChannels\": 1") KERNEL("2", "500000", "600000")
                    END("Send", "P2P", "0", "6.0") "{}]\n";
    struct inq_shard shard;
    read_text(text, sizeof text - 1, &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 2);
    assert_int_equal(damage(&shard), 3);
    const struct inq_comm *comm = &rank->comms[rank->events.comm[1]];
    assert_int_equal(comm->kind, INQ_COLL_SEND);
    assert_int_equal(comm->peer, 1);
    assert_int_equal(comm->dtype_bytes, 1);
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dump__operation_runs_while_a_channel_does),
        cmocka_unit_test(dump__cut_anywhere),
        cmocka_unit_test(dump__host_alone_knows_the_launch_only),
        cmocka_unit_test(dump__damage_costs_its_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
