/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofv3's JSON: records joined with the tables that name them, wherever those stand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- a writer -------------------------------------------------------------------------------- */

/* Kinds by their place in NAMES. */
#define NAMES                                                                                      \
    "\"strings\": {\"callback_records\": [], \"buffer_records\": ["                                \
    "{\"kind\": \"NONE\", \"operations\": []},"                                                    \
    "{\"kind\": \"HIP_RUNTIME_API\", \"operations\": [\"hipLaunchKernel\", "                       \
    "\"hipDeviceSynchronize\""                                                                     \
    "]},{\"kind\": \"RCCL_API\", \"operations\": [\"ncclGroupStart\", \"ncclAllReduce\", "         \
    "\"ncclGroupEnd\", \"ncclSend\"]},"                                                            \
    "{\"kind\": \"MEMORY_COPY\", \"operations\": [\"MEMORY_COPY_HOST_TO_DEVICE\"]},"               \
    "{\"kind\": \"MARKER_CORE_API\", \"operations\": [\"roctxRangePushA\"]}],"                     \
    "\"marker_api\": [{\"key\": 90, \"value\": \"ProfilerStep#3\"}]}"
#define TABLES                                                                                     \
    "\"metadata\": {\"node\": {\"id\": 1, \"hostname\": \"n0\"}, \"pid\": 100, \"config\": "       \
    "{\"a\": "                                                                                     \
    "[1]}}, \"agents\": [{\"id\": {\"handle\": 3}, \"type\": 1, \"name\": \"EPYC\"}, {\"id\": "    \
    "{\"handle\": 5}, \"type\": 2, \"name\": \"gfx942\", \"cu_count\": 304}], "                    \
    "\"kernel_symbols\": "                                                                         \
    "[{\"kernel_id\": 1, \"formatted_kernel_name\": \"Cijk_Ailk_Bljk_BBS\"}, {\"kernel_id\": 2, "  \
    "\"kernel_name\": \"ncclDevKernel_Generic_1(x)\"}], " NAMES
#define ROW(kind, operation, id, start, end)                                                       \
    "{\"size\": 64, \"kind\": " #kind ", \"operation\": " #operation                               \
    ", \"thread_id\": 7, \"correlation_id\": {\"internal\": " #id                                  \
    ", \"external\": 0}, \"start_timestamp\": " #start ", \"end_timestamp\": " #end
#define KERNEL(kernel, id, start, end)                                                             \
    ROW(9, 0, id, start, end)                                                                      \
    ", \"dispatch_info\": {\"agent_id\": {\"handle\": 5}, \"queue_id\": {\"handle\": 1}, "         \
    "\"kernel_id\": " #kernel                                                                      \
    ", \"workgroup_size\": {\"x\": 256, \"y\": 1, \"z\": 1}, \"grid_size\": {\"x\": 4096, \"y\": " \
    "1, \"z\": 1}}, \"stream_id\": {\"handle\": 4}}"
#define KERNELS  "\"kernel_dispatch\": [" KERNEL(1, 1, 1000, 2000) "," KERNEL(2, 2, 2100, 2900) "]"
#define LAUNCHES "\"hip_api\": [" ROW(1, 0, 1, 100, 200) "}," ROW(1, 0, 2, 320, 380) "}]"
#define OTHERS                                                                                     \
    "\"hsa_api\": [" ROW(5, 1, 3, 1, 2) "}], \"marker_api\": [" ROW(                               \
        4, 0, 90, 50,                                                                              \
        3000) "}], "                                                                               \
              "\"memory_copy\": [" ROW(3, 0, 4, 10,                                                \
                                       20) ", \"bytes\": 4096, \"dst_agent_id\": {\"handle\": "    \
                                           "5}, \"src_agent_id\": {\"handle\": 3}}]"
#define GROUP                                                                                      \
    "\"rccl_api\": [" ROW(2, 0, 91, 300, 305) "}," ROW(2, 1, 92, 306, 310) "}," ROW(2, 2, 93, 311, \
                                                                                    400) "}]"
#define RECORDS(more) "\"buffer_records\": {" KERNELS ", " OTHERS more "}"
#define TOOL(process) "{\"rocprofiler-sdk-tool\": [{" process "}]}"

/* The same in pieces of any size. */
static void read_all(const char *document, struct inq_shard *shard)
{
    static const size_t chunks[] = {1, 7, 64, 0};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        struct inq_err err = {0};
        *shard = (struct inq_shard){0};
        assert_int_equal(test_read_bytes(document, strlen(document), chunks[i], shard, &err),
                         INQ_OK);
        assert_string_equal(shard->file.format, "rocprof");
        if (chunks[i] != 0) {
            inq_shard_release(shard);
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_whole(const struct inq_shard *shard)
{
    assert_int_equal(shard->n_ranks, 1);
    const struct inq_rank *rank = &shard->ranks[0];
    assert_string_equal(test_str(shard, rank->host), "n0");
    assert_string_equal(test_str(shard, rank->device_name), "gfx942");
    assert_int_equal(rank->multiprocessors, 304);
    assert_int_equal(rank->pid, 100);
    assert_int_equal(rank->events.n, 3);
    assert_string_equal(test_str(shard, rank->events.name[0]), "Cijk_Ailk_Bljk_BBS");
    assert_int_equal(rank->events.start_ns[0], 1000);
    assert_int_equal(rank->events.dur_ns[0], 1000);
    assert_int_equal(rank->events.call[0], 1);
    assert_int_equal(shard->launches.rows[rank->events.launch[0]].grid[0], 16);
    assert_int_equal(rank->events.cls[1], INQ_CLASS_COMM);
    assert_int_equal(rank->comms[rank->events.comm[1]].kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(rank->events.kind[2], INQ_EVENT_MEMCPY);
    assert_string_equal(test_str(shard, rank->events.name[2]), "MEMORY_COPY_HOST_TO_DEVICE");
    assert_int_equal(rank->calls.n, 2);
    assert_string_equal(test_str(shard, rank->calls.name[0]), "hipLaunchKernel");
    assert_int_equal(rank->n_notes, 1);
    assert_int_equal(rank->notes[0].kind, INQ_NOTE_STEP);
    assert_int_equal(rank->notes[0].number, 3);
    assert_string_equal(shard->file.reason, "");
    for (int k = 0; k < INQ_DAMAGE_KIND_COUNT; k++) {
        assert_int_equal(shard->file.damage.count[k], 0);
    }
}

static void rocprof__records_have_the_names_of_the_tables(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(TOOL(TABLES ", " RECORDS(", " LAUNCHES ", " GROUP)), &shard);
    check_whole(&shard);
    inq_shard_release(&shard);
    read_all(TOOL(RECORDS(", " GROUP ", " LAUNCHES) ", " TABLES), &shard);
    check_whole(&shard);
    inq_shard_release(&shard);
}

/* A kernel's operation by RCCL's call: around its launch, alone or a group's; else not said. */
static void rocprof__rccl_calls_name_collectives(void **state)
{
    (void)state;
    static const struct {
        const char *calls;
        enum inq_coll_kind kind;
    } cases[] = {
        {", " LAUNCHES ", \"rccl_api\": [" ROW(2, 1, 92, 310, 390) "}]", INQ_COLL_ALLREDUCE},
        {", " LAUNCHES ", " GROUP, INQ_COLL_ALLREDUCE},
        /* over before the launch */
        {", " LAUNCHES ", \"rccl_api\": [" ROW(2, 1, 92, 310, 319) "}]", INQ_COLL_UNKNOWN},
        /* two kinds in one group */
        {", " LAUNCHES ", \"rccl_api\": [" ROW(2, 0, 91, 300, 305) "}," ROW(
             2, 1, 92, 306, 308) "}," ROW(2, 3, 94, 309, 310) "}," ROW(2, 2, 93, 311, 400) "}]",
         INQ_COLL_UNKNOWN},
        /* without launches: the kernel's own correlation */
        {", \"rccl_api\": [" ROW(2, 1, 2, 310, 390) "}]", INQ_COLL_ALLREDUCE},
        {"", INQ_COLL_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[16384];
        struct inq_shard shard;
        (void)snprintf(document, sizeof document, "%s%s}}]}",
                       "{\"rocprofiler-sdk-tool\": [{" TABLES ", \"buffer_records\": {" KERNELS,
                       cases[i].calls);
        read_all(document, &shard);
        const struct inq_rank *rank = &shard.ranks[0];
        assert_int_equal(rank->comms[rank->events.comm[1]].kind, cases[i].kind);
        inq_shard_release(&shard);
    }
}

static void rocprof__what_was_not_recorded_is_said(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(TOOL(TABLES ", " RECORDS("")), &shard);
    assert_non_null(strstr(shard.file.reason, "--hip-runtime-trace"));
    inq_shard_release(&shard);
    read_all(TOOL(TABLES), &shard);
    assert_non_null(strstr(shard.file.reason, "no device work recognized"));
    inq_shard_release(&shard);
}

/* One record is lost, and what is cut off. */
static void rocprof__damage_is_counted_and_passed(void **state)
{
    (void)state;
    static const char whole[] = TOOL(TABLES ", " RECORDS(", " LAUNCHES));
    char document[sizeof whole];
    struct inq_shard shard;
    memcpy(document, whole, sizeof whole);
    *strstr(strstr(document, "kernel_dispatch"), "correlation_id") = '\001';
    *strchr(strstr(document, "\001orrelation_id"), ':') = ']';
    read_all(document, &shard);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_EVENT], 1);
    assert_true(shard.file.damage.count[INQ_DAMAGE_GARBAGE] > 0);
    assert_int_equal(shard.ranks[0].events.n, 2);
    assert_int_equal(shard.ranks[0].calls.n, 2);
    inq_shard_release(&shard);

    memcpy(document, whole, sizeof whole);
    *(strstr(document, "hip_api") + 30) = '\0';
    read_all(document, &shard);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_TRUNCATED], 1);
    assert_int_equal(shard.ranks[0].events.n, 3);
    assert_string_equal(test_str(&shard, shard.ranks[0].events.name[0]), "Cijk_Ailk_Bljk_BBS");
    inq_shard_release(&shard);

    read_all("{\"rocprofiler-sdk-tool\": [{\"buffer_records\": {\"kernel_dispatch\": [7, {}]}}]}",
             &shard);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_EVENT], 2);
    inq_shard_release(&shard);
}

/* Every allocation that fails is a failure, and nothing leaks. */
static void rocprof__survives_failing_memory(void **state)
{
    (void)state;
    static const char document[] = TOOL(TABLES ", " RECORDS(", " LAUNCHES ", " GROUP));
    int code = INQ_NOMEM;
    for (long n = 1; code != INQ_OK; n++) {
        struct inq_shard shard = {.file = {.path = "x.json"}};
        struct inq_err err = {0};
        inq_mem_fail_after(n);
        code = test_read_bytes(document, sizeof document - 1, 64, &shard, &err);
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        inq_shard_release(&shard);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define TITLES                                                                                     \
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Kernel_Id\",\"Kernel_Name\","              \
    "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"Workgroup_Size_X\","               \
    "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
#define LINE(kernel, name, from, to)                                                               \
    "\"KERNEL_DISPATCH\",\"Agent 7\",1,4," #kernel ",\"" name "\",9," #from "," #to                \
    ",256,1,1,4096,1,1\n"

static void tables__kernels_have_names_times_and_grids(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(TITLES LINE(1, "void f<a, \"\"b\"\">(int, c)", 1000, 2000)
                 LINE(2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2100, 2900),
             &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(rank->events.n, 2);
    assert_int_equal(rank->events.start_ns[0], 1000);
    assert_int_equal(rank->events.dur_ns[0], 1000);
    assert_int_equal(rank->lanes[rank->events.lane[0]].id, 4);
    assert_int_equal(shard.launches.rows[rank->events.launch[0]].grid[0], 16);
    assert_string_equal(test_str(&shard, rank->events.name[0]), "void f<a, \"\"b\"\">(int, c)");
    assert_int_equal(rank->events.cls[1], INQ_CLASS_COMM);
    assert_non_null(strstr(shard.file.reason, "kernels only"));
    inq_shard_release(&shard);
}

static void tables__damage_costs_its_line(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(TITLES LINE(1, "f", 2000, 1000) "\"KERNEL_DISPATCH\",1\n" LINE(1, "f", x, 3)
                 LINE(1, "f", 1000, 2000) "\"KERNEL_DI",
             &shard);
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_EVENT], 4);
    inq_shard_release(&shard);
}

/* Copies have no kernels' columns: it is said what the file is, and what to record. */
static void tables__of_other_kinds_are_told(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "\"Kind\",\"Direction\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\","
        "\"Start_Timestamp\",\"End_Timestamp\"\n",
        "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","
        "\"Start_Timestamp\",\"End_Timestamp\"\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct inq_shard shard = {0};
        struct inq_err err = {0};
        assert_int_equal(test_read_bytes(heads[i], strlen(heads[i]), 0, &shard, &err),
                         INQ_UNSUPPORTED);
        assert_non_null(strstr(err.message, "--output-format json"));
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rocprof__records_have_the_names_of_the_tables),
        cmocka_unit_test(rocprof__rccl_calls_name_collectives),
        cmocka_unit_test(rocprof__what_was_not_recorded_is_said),
        cmocka_unit_test(rocprof__damage_is_counted_and_passed),
        cmocka_unit_test(rocprof__survives_failing_memory),
        cmocka_unit_test(tables__kernels_have_names_times_and_grids),
        cmocka_unit_test(tables__damage_costs_its_line),
        cmocka_unit_test(tables__of_other_kinds_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
