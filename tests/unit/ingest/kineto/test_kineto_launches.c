/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels were launched: grids, blocks, operators with their inputs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"
#include "support_trace.h"

#include <stdlib.h>
#include <string.h>

/* One event; the parts that tests vary come as text. */
#define KERNEL(name, ts, dur, args)                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                                       \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define DOCUMENT(events) "{\"schemaVersion\": 1, \"traceEvents\": [" events "]}"

/* Reads a document in all ways; the shard is the caller's. */
static void read_all_ways(const char *document, struct inq_shard *shard)
{
    char *copy = malloc(strlen(document) + 1);
    assert_non_null(copy);
    memcpy(copy, document, strlen(document) + 1);
    test_all_ways((struct test_text){copy, strlen(copy)}, document, shard);
    free(copy);
}

static void assert_no_damage(const struct inq_shard *shard)
{
    assert_int_equal(inq_damage_total(&shard->file.damage), 0);
}

static void launches__grids_and_blocks(void **state)
{
    (void)state;
#define AT(ts, args)       KERNEL("k", ts, "1", "\"stream\": 7, \"correlation\": 5, " args)
#define SIZES(grid, block) "\"warps per SM\": 0.5, \"grid\": " grid ", \"block\": " block
    struct inq_shard shard;
    read_all_ways(
        DOCUMENT(AT("1", SIZES("[8, 2, 1]", "[128, 1, 1]")) "," AT(
            "2",
            SIZES(
                "[9, 2, 1]",
                "[128, 1, "
                "1]")) "," AT("3",
                              "\"x\": 1") "," AT("4",
                                                 SIZES(
                                                     "[ 8,\n 2, 1 ]",
                                                     "\"[128]\"")) "," AT("5",
                                                                          SIZES(
                                                                              "[0, 2, 1]",
                                                                              "[128, 1, "
                                                                              "1]")) "," AT("6",
                                                                                            SIZES(
                                                                                                "[9"
                                                                                                "99"
                                                                                                "99"
                                                                                                "99"
                                                                                                "99"
                                                                                                "99"
                                                                                                "]",
                                                                                                "[1"
                                                                                                ", "
                                                                                                "1,"
                                                                                                " 1"
                                                                                                "]")) "," AT("7",
                                                                                                             SIZES(
                                                                                                                 "["
                                                                                                                 "1"
                                                                                                                 ","
                                                                                                                 " "
                                                                                                                 "2"
                                                                                                                 ","
                                                                                                                 " "
                                                                                                                 "3"
                                                                                                                 ","
                                                                                                                 " "
                                                                                                                 "4"
                                                                                                                 "]",
                                                                                                                 "["
                                                                                                                 "1"
                                                                                                                 ","
                                                                                                                 " "
                                                                                                                 "1"
                                                                                                                 ","
                                                                                                                 " "
                                                                                                                 "1"
                                                                                                                 "]")) "," AT("8",
                                                                                                                              "\"grid\": [1]")),
        &shard);
    assert_no_damage(&shard);
    const uint32_t *launch = shard.ranks[0].events.launch;
    assert_int_equal(shard.launches.n, 3); /* one of them: nothing recorded */
    const struct inq_launch *first = &shard.launches.rows[launch[0]];
    const int32_t grid[3] = {8, 2, 1};
    const int32_t block[3] = {128, 1, 1};
    assert_memory_equal(first->grid, grid, sizeof grid);
    assert_memory_equal(first->block, block, sizeof block);
    assert_int_equal(shard.launches.rows[launch[1]].grid[0], 9);
    assert_int_equal(launch[3], launch[0]); /* however it is written */
    for (int i = 2; i < 8; i += i == 2 ? 2 : 1) {
        assert_int_equal(launch[i], 0); /* no sizes */
    }
    assert_true(inq_launch_same_grid(first, &shard.launches.rows[launch[3]]));
    assert_false(inq_launch_same_grid(first, &shard.launches.rows[launch[1]]));
    assert_false(inq_launch_same_grid(&shard.launches.rows[0], &shard.launches.rows[0]));
    inq_shard_release(&shard);
#undef AT
#undef SIZES
}

#define OPERATOR(name, args)                                                                       \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name                                       \
    "\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1, \"args\": {" args "}}"

/* Operators are read only where they are asked for, and then the same in all ways. */
static void launches__operators_where_asked_for(void **state)
{
    (void)state;
#define MM   ", \"Input Dims\": [[2, 3], [3, 4]], \"Input type\": [\"float\", \"float\"]"
#define GEMM "\"stream\": 7, \"correlation\": 1, \"grid\": [8, 1, 1], \"block\": [128, 1, 1]"
    /* clang-format off */
    char text[] = DOCUMENT(
        OPERATOR("aten::mm", "\"External id\": 5" MM) ","
        OPERATOR("aten::mm", "\"External id\": 6" MM) ","
        OPERATOR("aten::copy_", "\"External id\": 7") ","
        KERNEL("gemm", "10", "2", "\"External id\": 5, " GEMM) ","
        KERNEL("gemm", "20", "2", "\"External id\": 6, " GEMM) ","
        KERNEL("copy", "30", "2", "\"External id\": 7, \"stream\": 7") ","
        KERNEL("lost", "40", "2", "\"External id\": 99, \"stream\": 7"));
    /* clang-format on */
    struct test_text document = {text, sizeof text - 1};
    struct inq_shard plain;
    test_read_ok(document, (struct test_way){.level = -1}, &plain);
    assert_int_equal(plain.launches.rows[plain.ranks[0].events.launch[0]].op, 0);
    inq_shard_release(&plain);
    for (int level = -1; level <= (int)inq_shape_level(); level++) {
        struct inq_shard shard;
        test_read_ok(document, (struct test_way){.level = level, .operators = true}, &shard);
        const uint32_t *launch = shard.ranks[0].events.launch;
        const struct inq_launch *mm = &shard.launches.rows[launch[0]];
        assert_string_equal(test_str(&shard, mm->op), "aten::mm");
        assert_string_equal(test_str(&shard, mm->dims), "[[2, 3], [3, 4]]");
        assert_int_equal(mm->grid[0], 8);
        assert_int_equal(launch[1], launch[0]);
        assert_string_equal(test_str(&shard, shard.launches.rows[launch[2]].op), "aten::copy_");
        assert_int_equal(launch[3], 0); /* no operator has that id */
        inq_shard_release(&shard);
    }
}

/* Bytes of copies come with the operators, the same in all ways; of others they are not read. */
static void launches__bytes_of_copies_where_operators_are(void **state)
{
    (void)state;
#define EVENT(cat, name, args)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name                                      \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": 10, \"dur\": 1, \"args\": {\"stream\": 7" args "}}"
    /* clang-format off */
    char text[] = DOCUMENT(
        EVENT("gpu_memcpy", "Memcpy HtoD", ", \"External id\": 5, \"bytes\": 6000000000, \"x\": 0.5") ","
        EVENT("gpu_memcpy", "Memcpy HtoD", ", \"bytes\": 6000000000, \"x\": 0.5") ","
        EVENT("gpu_memcpy", "Memcpy DtoH", ", \"bytes\": 16") ","
        EVENT("gpu_memcpy", "Memcpy DtoH", ", \"bytes\": 16") ","
        EVENT("gpu_memcpy", "Memcpy DtoH", ", \"bytes\": \"many\"") ","
        EVENT("gpu_memcpy", "Memcpy DtoD", "") ","
        EVENT("kernel", "k", ", \"bytes\": 16") ","
        EVENT("gpu_memset", "Memset", ", \"bytes\": 16") ","
        OPERATOR("aten::copy_", "\"External id\": 5" MM));
    /* clang-format on */
    struct test_text document = {text, sizeof text - 1};
    struct inq_shard plain;
    test_read_ok(document, (struct test_way){.level = -1}, &plain);
    assert_null(plain.ranks[0].events.launch); /* rows are no larger for it */
    inq_shard_release(&plain);
    for (int level = -1; level <= (int)inq_shape_level(); level++) {
        struct inq_shard shard;
        test_read_ok(document, (struct test_way){.level = level, .operators = true}, &shard);
        static const int64_t bytes[] = {6000000000, 6000000000, 16, 16, 0, 0, 0, 0};
        const uint32_t *launch = shard.ranks[0].events.launch;
        assert_int_equal(shard.ranks[0].events.n, sizeof bytes / sizeof *bytes);
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            assert_int_equal(shard.launches.rows[launch[i]].bytes, bytes[i]);
        }
        assert_string_equal(test_str(&shard, shard.launches.rows[launch[0]].op), "aten::copy_");
        assert_int_equal(launch[3], launch[2]);
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches__grids_and_blocks),
        cmocka_unit_test(launches__operators_where_asked_for),
        cmocka_unit_test(launches__bytes_of_copies_where_operators_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
