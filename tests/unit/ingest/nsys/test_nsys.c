/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems exports: real ones against counts and sums that the sqlite3 shell gave, and
 * databases that are damaged or something else. */
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef INQ_HAVE_SQLITE

int main(void)
{
    print_message("built without sqlite3: skipped\n");
    return 77;
}

#else

#include <sqlite3.h>

struct kind_facts {
    size_t count;
    int64_t dur_ns;
};

/* Per table: SELECT count(*), sum(end - start); of RUNTIME the rows of the process that has the
 * kernels. */
struct nsys_facts {
    const char *name;
    struct kind_facts kinds[INQ_EVENT_KIND_COUNT];
    struct kind_facts calls, notes;
    int64_t first_kernel_ns, last_kernel_ns; /* SELECT min(start), max(end) */
    int64_t epoch_ns;
    int64_t pid;
    const char *device, *host;
};

static const struct nsys_facts cloverleaf = {
    .name = "nsys/perlmutter-cloverleaf-cuda.sqlite",
    .kinds = {[INQ_EVENT_KERNEL] = {1312, 294404540},
              [INQ_EVENT_MEMCPY] = {279, 9390923},
              [INQ_EVENT_SYNC] = {1312, 301136696}},
    .calls = {3048, 571656984},
    .first_kernel_ns = 533338240,
    .last_kernel_ns = 875678947,
    .epoch_ns = INT64_C(1696392839587175550),
    .pid = 1701896,
    .device = "NVIDIA A100-SXM4-80GB",
    .host = "nid008553",
};

static const struct nsys_facts fuser = {
    .name = "nsys/57da9a1f_report1.sqlite",
    .kinds = {[INQ_EVENT_KERNEL] = {18, 10167602},
              [INQ_EVENT_MEMCPY] = {3, 21388372},
              [INQ_EVENT_MEMSET] = {3, 3072},
              [INQ_EVENT_SYNC] = {3, 1749532}},
    .calls = {988, 69961746},
    .notes = {13513, INT64_C(11792189555)},
    .first_kernel_ns = INT64_C(5844617581),
    .last_kernel_ns = INT64_C(9034955316),
    .epoch_ns = INT64_C(1741793819042497997),
    .pid = 50556,
    .device = "NVIDIA H200",
    .host = "ipp2-0047.nvidia.com",
};

static void check_events(const struct inq_rank *rank, const struct nsys_facts *facts)
{
    struct kind_facts kinds[INQ_EVENT_KIND_COUNT] = {{0, 0}};
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < rank->events.n; i++) {
        int64_t start = rank->events.start_ns[i];
        int64_t end = start + rank->events.dur_ns[i];
        kinds[rank->events.kind[i]].count++;
        kinds[rank->events.kind[i]].dur_ns += rank->events.dur_ns[i];
        if (rank->events.kind[i] == INQ_EVENT_KERNEL) {
            first = start < first ? start : first;
            last = end > last ? end : last;
        }
    }
    for (int kind = 0; kind < INQ_EVENT_KIND_COUNT; kind++) {
        assert_int_equal(kinds[kind].count, facts->kinds[kind].count);
        assert_int_equal(kinds[kind].dur_ns, facts->kinds[kind].dur_ns);
    }
    assert_int_equal(first, facts->epoch_ns + facts->first_kernel_ns);
    assert_int_equal(last, facts->epoch_ns + facts->last_kernel_ns);
}

static void check_host(const struct inq_rank *rank, const struct nsys_facts *facts)
{
    int64_t calls_ns = 0;
    int64_t notes_ns = 0;
    for (size_t i = 0; i < rank->calls.n; i++) {
        calls_ns += rank->calls.dur_ns[i];
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        notes_ns += rank->notes[i].dur_ns;
    }
    assert_int_equal(rank->calls.n, facts->calls.count);
    assert_int_equal(calls_ns, facts->calls.dur_ns);
    assert_int_equal(rank->n_notes, facts->notes.count);
    assert_int_equal(notes_ns, facts->notes.dur_ns);
}

static void check_export(const struct nsys_facts *facts)
{
    char path[TEST_PATH];
    struct inq_shard shard;
    struct inq_err err = {0};
    if (!test_data_path(path, INQ_SHARED_DATA, facts->name)) {
        skip();
    }
    assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
    assert_string_equal(shard.file.format, "nsys");
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    assert_int_equal(shard.n_ranks, 1);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->rank, -1);
    assert_int_equal(rank->pid, facts->pid);
    assert_true(rank->has_clock_epoch);
    assert_int_equal(rank->base_ns, facts->epoch_ns);
    assert_string_equal(test_str(&shard, rank->device_name), facts->device);
    assert_string_equal(test_str(&shard, rank->host), facts->host);
    check_events(rank, facts);
    check_host(rank, facts);
    inq_shard_release(&shard);
}

static void nsys__schema_3_13(void **state)
{
    (void)state;
    check_export(&cloverleaf);
}

static void nsys__schema_3_17_with_nvtx(void **state)
{
    (void)state;
    check_export(&fuser);
}

static void nsys__kernels_find_their_launches(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct inq_shard shard;
    struct inq_err err = {0};
    if (!test_data_path(path, INQ_SHARED_DATA, cloverleaf.name)) {
        skip();
    }
    assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
    assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
    const struct inq_rank *rank = &shard.ranks[0];
    size_t kernels = 0;
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.kind[i] == INQ_EVENT_KERNEL) {
            uint32_t call = rank->events.call[i];
            assert_int_not_equal(call, INQ_NONE);
            /* the export calls it cudaLaunchKernel_v7000 */
            assert_string_equal(test_str(&shard, rank->calls.name[call]), "cudaLaunchKernel");
            assert_true(rank->calls.start_ns[call] <= rank->events.start_ns[i]);
            assert_non_null(strstr(test_str(&shard, rank->events.name[i]), "clover::"));
            kernels++;
        }
    }
    assert_int_equal(kernels, 1312);
    inq_shard_release(&shard);
}

/* ---- databases made here --------------------------------------------------------------------- */

/* Runs the statements and reads what they made. */
static int read_made(const char *sql, struct inq_shard *shard, struct inq_err *err)
{
    sqlite3 *db = NULL;
    sqlite3_int64 n = 0;
    char *message = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    unsigned char *image = sqlite3_serialize(db, "main", &n, 0);
    assert_non_null(image);
    int code = test_read_bytes(image, (size_t)n, 0, shard, err);
    sqlite3_free(image);
    (void)sqlite3_close(db);
    return code;
}

/* Two processes on one node, the second with two devices; globalPid holds the pid in bits 24 to 47,
 * globalTid the thread below. */
static const char two_processes[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (2, 'gemm'), "
    "(3, 'cudaLaunchKernel_v7000'), (4, 'step 7'), (5, 'main');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
    "globalPid, demangledName, shortName);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 11, 100 << 24, 1, 2), "
    "(100, 150, 1, 7, 11, 200 << 24, 2, 2), (160, 150, 2, 9, 12, 200 << 24, NULL, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, "
    "globalPid);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300, 400, 2, 9, 13, 200 << 24);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
    "globalPid, copyKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50, 60, 0, 7, 10, 100 << 24, 2), "
    "(NULL, 60, 0, 7, 10, 100 << 24, 99), (70, 80, 0, 7, NULL, 100 << 24, 99);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 95, (100 << 24) + 101, 11, 3), "
    "(91, 96, (200 << 24) + 201, 11, 3), (92, 97, (200 << 24) + 201, 12, 3), "
    "(93, 98, (300 << 24) + 301, 11, 3);"
    "CREATE TABLE NVTX_EVENTS (start, end, globalTid, text, textId, eventType);"
    "INSERT INTO NVTX_EVENTS VALUES (10, 500, (200 << 24) + 201, NULL, 4, 59), "
    "(20, 30, (100 << 24) + 101, 'ProfilerStep#3', NULL, 59), "
    "(40, NULL, (100 << 24) + 101, 'never closed', NULL, 59), "
    "(45, NULL, (100 << 24) + 101, 'a mark', NULL, 34);"
    "CREATE TABLE ThreadNames (globalTid, nameId);"
    "INSERT INTO ThreadNames VALUES ((100 << 24) + 101, 5);";

static void nsys__processes_and_devices_are_ranks(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(read_made(two_processes, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, 3);
    assert_string_equal(shard.file.reason, "no ranks in the file: numbered by device");
    static const struct {
        int32_t rank;
        int64_t pid;
        size_t events, calls, notes;
    } rows[] = {{0, 100, 3, 1, 1}, {1, 200, 1, 1, 1}, {2, 200, 2, 1, 1}};
    for (size_t i = 0; i < 3; i++) {
        const struct inq_rank *rank = test_rank(&shard, rows[i].rank);
        assert_int_equal(rank->pid, rows[i].pid);
        assert_int_equal(rank->events.n, rows[i].events);
        assert_int_equal(rank->calls.n, rows[i].calls);
        assert_int_equal(rank->n_notes, rows[i].notes);
        assert_false(rank->has_clock_epoch); /* the session's time is not in the file */
    }
    const struct inq_rank *first = test_rank(&shard, 0);
    assert_int_equal(first->events.cls[0], INQ_CLASS_COMM);
    assert_string_equal(test_str(&shard, first->events.name[1]), "Memcpy DtoH");
    assert_string_equal(test_str(&shard, first->events.name[2]), "Memcpy");
    assert_int_equal(first->notes[0].kind, INQ_NOTE_STEP);
    assert_int_equal(first->notes[0].number, 3);
    assert_string_equal(test_str(&shard, first->lanes[first->calls.lane[0]].name), "main");
    const struct inq_rank *third = test_rank(&shard, 2);
    assert_string_equal(test_str(&shard, third->events.name[0]), "gemm"); /* the short name */
    assert_int_equal(third->events.dur_ns[0], 0);
    assert_string_equal(test_str(&shard, third->events.name[1]), "CUDA graph");
    assert_string_equal(test_str(&shard, third->notes[0].name), "step 7");
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_NEGATIVE_DURATION], 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_NUMBER], 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_UNMATCHED_BEGIN], 1);
    inq_shard_release(&shard);
}

/* Four processes, a GPU each. All but the first have something on GPU 0 too: a copy, a copy and a
 * set, a copy and a small kernel. */
static void nsys__strays_on_another_gpu_make_no_rank(void **state)
{
    (void)state;
    static const char sql[] =
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES (2, 'gemm'), (3, 'cudaLaunchKernel');"
        "CREATE TABLE TARGET_INFO_GPU (id, name);"
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU a'), (1, 'GPU b'), (2, 'GPU c'), (3, 'GPU d');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
        "globalPid, shortName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 11, 100 << 24, 2), "
        "(100, 200, 1, 7, 11, 101 << 24, 2), (100, 200, 2, 7, 11, 102 << 24, 2), "
        "(100, 200, 3, 7, 11, 103 << 24, 2), (50, 74, 0, 7, 9, 103 << 24, 2);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
        "globalPid, copyKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 900, 0, 7, 10, 101 << 24, 1), "
        "(20, 30, 0, 7, 10, 102 << 24, 1), (20, 30, 0, 7, 10, 103 << 24, 1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, "
        "globalPid);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (31, 35, 0, 7, 8, 102 << 24);";
    static const size_t events[] = {1, 2, 3, 3};
    static const char *const gpus[] = {"GPU a", "GPU b", "GPU c", "GPU d"};
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(read_made(sql, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, 4);
    for (int32_t r = 0; r < 4; r++) {
        const struct inq_rank *rank = test_rank(&shard, r);
        assert_int_equal(rank->pid, 100 + r);
        assert_int_equal(rank->events.n, events[r]);
        assert_string_equal(test_str(&shard, rank->device_name), gpus[r]);
        assert_int_equal(rank->n_lanes, r == 0 ? 1 : 2); /* by the GPU where it was */
    }
    inq_shard_release(&shard);
}

/* Each process works on a GPU of its own and copies on GPU 0. */
static void nsys__homes_hold_for_any_number_of_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 2000 };
    static const char sql[] =
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
        "globalPid);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
        "globalPid, copyKind);"
        "WITH RECURSIVE p(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM p WHERE n < 1999) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 100, 200, 1 + n % 7, 7, 11, n << 24 FROM p;"
        "WITH RECURSIVE p(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM p WHERE n < 1999) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT 20, 25, 0, 7, 10, n << 24, 1 FROM p;";
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(read_made(sql, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, PROCESSES);
    for (size_t r = 0; r < shard.n_ranks; r++) {
        assert_int_equal(shard.ranks[r].events.n, 2); /* the copy as well */
    }
    inq_shard_release(&shard);
}

/* One process that drives two GPUs is two ranks from a quarter of the other's kernels on. */
static void nsys__a_process_with_two_busy_gpus_is_two_ranks(void **state)
{
    (void)state;
    for (int64_t second_ns = 24; second_ns <= 25; second_ns++) {
        char sql[1024];
        struct inq_shard shard;
        struct inq_err err = {0};
        (void)snprintf(
            sql, sizeof sql,
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
            "correlationId, globalPid);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 5, 7, 11, 100 << 24), "
            "(100, %d, 4, 7, 12, 100 << 24);",
            100 + (int)second_ns);
        assert_int_equal(read_made(sql, &shard, &err), INQ_OK);
        assert_int_equal(shard.n_ranks, second_ns < 25 ? 1 : 2);
        inq_shard_release(&shard);
    }
}

/* Columns that a schema lacks are simply not known. */
static void nsys__fewer_columns_are_enough(void **state)
{
    (void)state;
    static const char sql[] =
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES (2, 'gemm'), (3, 'cudaLaunchKernel');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
        "shortName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 11, 2);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 95, (100 << 24) + 101, 11, 3);";
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(read_made(sql, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(inq_shard_finalize(&shard, &err), INQ_OK);
    assert_int_equal(shard.ranks[0].calls.n, 1);
    assert_int_equal(shard.ranks[0].events.call[0], 0);
    inq_shard_release(&shard);
}

static void nsys__other_databases_say_what_they_lack(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *reason;
    } rows[] = {
        {"CREATE TABLE t (a);", "an SQLite database, but no export of Nsight Systems"},
        {"CREATE TABLE rocpd_kernel_dispatch_7 (id, start, end);",
         "rocprofv3's rocpd database, which is not read: record with --output-format json"},
        {"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);",
         "an Nsight Systems export without GPU work: no CUPTI activity tables"},
        /* a view is code of the file's author: not run */
        {"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
         "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL "
         "SELECT start + 1 FROM c) SELECT start, start AS end FROM c;",
         "an Nsight Systems export without GPU work: no CUPTI activity tables"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        assert_int_equal(read_made(rows[i].sql, &shard, &err), INQ_UNSUPPORTED);
        assert_string_equal(err.message, rows[i].reason);
        inq_shard_release(&shard);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The image of a database, as if it had come out of a gzip, reads as the file does. */
static void nsys__memory_and_file_give_the_same(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct inq_shard from_file;
    struct inq_shard from_memory;
    struct inq_err err = {0};
    if (!test_data_path(path, INQ_SHARED_DATA, cloverleaf.name)) {
        skip();
    }
    size_t n = 0;
    char *image = test_slurp(path, &n);
    assert_int_equal(test_read_file(path, &from_file, &err), INQ_OK);
    assert_int_equal(test_read_bytes(image, n, 0, &from_memory, &err), INQ_OK);
    const struct inq_events *a = &from_file.ranks[0].events;
    const struct inq_events *b = &from_memory.ranks[0].events;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->start_ns, b->start_ns, a->n * sizeof *a->start_ns);
    assert_memory_equal(a->name, b->name, a->n * sizeof *a->name);
    assert_int_equal(from_file.ranks[0].calls.n, from_memory.ranks[0].calls.n);
    inq_shard_release(&from_file);
    inq_shard_release(&from_memory);
    free(image);
}

/* Cut and flipped exports give what can be read or a reason; never a crash, never silence. */
static void nsys__damage_is_said(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, cloverleaf.name)) {
        skip();
    }
    size_t n = 0;
    size_t said = 0;
    char *image = test_slurp(path, &n);
    for (size_t part = 1; part < 40; part++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        int code = test_read_bytes(image, n / 40 * part, 0, &shard, &err);
        if (code == INQ_OK) {
            said += inq_damage_total(&shard.file.damage) > 0 && shard.file.reason[0] != '\0';
        } else {
            assert_int_equal(code, INQ_UNSUPPORTED);
            assert_true(err.message[0] != '\0');
            said++;
        }
        inq_shard_release(&shard);
    }
    assert_int_equal(said, 39);
    for (size_t i = 0; i < 200; i++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        char *spot = &image[(i * 2654435761U) % n];
        *spot = (char)(*spot ^ (1 << i % 8));
        int code = test_read_bytes(image, n, 0, &shard, &err);
        assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
        inq_shard_release(&shard);
    }
    free(image);
}

static void nsys__only_databases_are_taken(void **state)
{
    (void)state;
    static const char almost[] = "SQLite format 3\0but nothing that follows makes one";
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(inq_reader_nsys.sniff(almost, sizeof almost, ""), 100);
    assert_int_equal(inq_reader_nsys.sniff("SQLite format 3", 15, ""), 0);
    assert_int_equal(test_read_bytes(almost, sizeof almost, 0, &shard, &err), INQ_UNSUPPORTED);
    assert_non_null(strstr(err.message, "damaged SQLite database"));
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nsys__schema_3_13),
        cmocka_unit_test(nsys__schema_3_17_with_nvtx),
        cmocka_unit_test(nsys__kernels_find_their_launches),
        cmocka_unit_test(nsys__processes_and_devices_are_ranks),
        cmocka_unit_test(nsys__strays_on_another_gpu_make_no_rank),
        cmocka_unit_test(nsys__homes_hold_for_any_number_of_processes),
        cmocka_unit_test(nsys__a_process_with_two_busy_gpus_is_two_ranks),
        cmocka_unit_test(nsys__fewer_columns_are_enough),
        cmocka_unit_test(nsys__other_databases_say_what_they_lack),
        cmocka_unit_test(nsys__memory_and_file_give_the_same),
        cmocka_unit_test(nsys__damage_is_said),
        cmocka_unit_test(nsys__only_databases_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
