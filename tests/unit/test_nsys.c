/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems exports: real ones against counts and sums that the sqlite3 shell gave, and
 * databases that are damaged or something else. */
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#ifndef INQ_HAVE_SQLITE

int main(void)
{
    print_message("built without sqlite3: skipped\n");
    return 77;
}

#else

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
    assert_int_equal(inq_shard_seal(&shard, &err), INQ_OK);
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
        cmocka_unit_test(nsys__memory_and_file_give_the_same),
        cmocka_unit_test(nsys__damage_is_said),
        cmocka_unit_test(nsys__only_databases_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
