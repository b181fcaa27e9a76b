/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files through the whole of ingest: real ones, cut and flipped at places drawn with a
 * fixed seed. There is always a run, and what was lost is always said. */
#include "inquest/ingest.h"
#include "base/hash.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define PLACES 24

#define RESNET                                                                                     \
    "kineto/resnet18_ddp/"                                                                         \
    "ip-172-31-16-248.us-east-2.compute.internal_85866.1698107929560561434.pt.trace.json"

static const char *const real_files[] = {
    "kineto/megatron_tp2/9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz",
    "kineto/dlrm_8ranks/worker3_step_12.1694128201557.pt.trace.json.gz",
    (RESNET), /* one string: in parentheses for clang */
    "kineto/edge/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "chrome/v8_runtime_call_stats.json",
    "whatif/ST/trace-ST.csv.gz",
    "primus/pp8/pp_rank_0.json",
#ifdef INQ_HAVE_SQLITE
    "nsys/perlmutter-cloverleaf-cuda.sqlite",
#endif
};

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return inq_hash_u64(*state);
}

/* What came of one file. */
struct outcome {
    bool read;
    uint64_t kept, damage;
    bool reason;
};

static struct outcome outcome_of(const struct inq_file *file)
{
    return (struct outcome){.read = file->read,
                            .kept = file->events_kept,
                            .damage = inq_damage_total(&file->damage),
                            .reason = file->reason[0] != '\0'};
}

static struct outcome ingest(const char *name, const char *bytes, size_t n)
{
    struct inq_ingest_blob blob = {.name = name, .bytes = bytes, .n = n};
    struct inq_ingest_options options = {.jobs = 2};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    int code = inq_ingest_memory(&blob, 1, &options, &run, &err);
    if (code != INQ_OK) {
        fail_msg("%s, %zu bytes: %s", name, n, err.message);
    }
    assert_int_equal(run->n_traces + run->n_skipped, 1);
    struct outcome outcome =
        outcome_of(run->n_traces == 1 ? &run->traces[0]->files[0] : &run->skipped[0]);
    inq_run_free(run);
    return outcome;
}

/* Calls `check` for every real file; skips when there is none. */
static void each_file(void (*check)(const char *name, char *bytes, size_t n))
{
    for (size_t i = 0; i < sizeof real_files / sizeof real_files[0]; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, real_files[i])) {
            skip();
        }
        size_t n = 0;
        char *bytes = test_slurp(path, &n);
        assert_non_null(bytes);
        check(path, bytes, n);
        free(bytes);
    }
}

static void check_cuts(const char *name, char *bytes, size_t n)
{
    uint64_t state = n;
    struct outcome whole = ingest(name, bytes, n);
    assert_true(whole.read);
    for (size_t i = 0; i < PLACES; i++) {
        size_t place = 1 + draw(&state) % (n - 2);
        struct outcome cut = ingest(name, bytes, place);
        if (!(cut.read ? cut.damage > 0 : cut.reason)) {
            fail_msg("%s cut at %zu: nothing is said", name, place);
        }
        assert_true(cut.kept <= whole.kept);
        assert_true(cut.read || cut.kept == 0);
    }
}

static void damage__cut_files_give_a_run_that_says_so(void **state)
{
    (void)state;
    each_file(check_cuts);
}

static void check_flips(const char *name, char *bytes, size_t n)
{
    uint64_t state = ~(uint64_t)n;
    struct outcome whole = ingest(name, bytes, n);
    for (size_t i = 0; i < PLACES; i++) {
        size_t place = draw(&state) % n;
        char before = bytes[place];
        bytes[place] = (char)(before ^ (char)(1 + draw(&state) % 255));
        struct outcome flipped = ingest(name, bytes, n);
        /* a changed digit is no damage; a file that lost something says so */
        if (flipped.kept < whole.kept) {
            assert_true(flipped.damage > whole.damage || flipped.reason);
        }
        bytes[place] = before;
    }
}

static void damage__flipped_files_give_a_run(void **state)
{
    (void)state;
    each_file(check_flips);
}

/* Every row in front of the cut is kept: counted by lines. */
static void damage__op_table_keeps_every_row_before_the_cut(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, "whatif/ST/trace-ST.csv.gz")) {
        skip();
    }
    struct inq_source_options options = {.chunk_size = (size_t)1 << 20};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    const char *text = NULL;
    size_t n = 0;
    assert_int_equal(inq_source_open(path, &options, &source, &err), INQ_OK);
    assert_int_equal(inq_source_next(source, &text, &n, &err), INQ_OK);
    assert_int_equal(n, 505792); /* all of it */
    uint64_t seed = 20250101;
    for (size_t i = 0; i < PLACES; i++) {
        size_t place = 200 + draw(&seed) % (n - 201);
        uint64_t rows = 0;
        size_t start = 0; /* of the line that is cut */
        size_t commas = 0;
        for (size_t k = 0; k < place; k++) {
            rows += text[k] == '\n';
            start = text[k] == '\n' ? k + 1 : start;
        }
        for (size_t k = start; k < place; k++) {
            commas += text[k] == ',';
        }
        /* in the last field a cut cannot be seen */
        bool looks_whole = commas == 10;
        struct outcome cut = ingest("trace.csv", text, place);
        assert_int_equal(cut.kept, rows - 1 + looks_whole);
        assert_int_equal(cut.damage, place > start && !looks_whole);
    }
    inq_source_close(source);
}

/* A damaged file beside whole ones costs only itself. */
static void damage__stays_in_its_file(void **state)
{
    (void)state;
    static const char *const names[] = {
        "kineto/megatron_tp2/9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz",
        "kineto/megatron_tp2/9c44bd29b3f0_1376.1724066820237002797.pt.trace.json.gz",
    };
    char paths[2][TEST_PATH];
    struct inq_ingest_blob blobs[4];
    for (size_t i = 0; i < 2; i++) {
        if (!test_data_path(paths[i], INQ_SHARED_DATA, names[i])) {
            skip();
        }
        size_t n = 0;
        blobs[i].name = paths[i];
        blobs[i].bytes = test_slurp(paths[i], &n);
        blobs[i].n = i == 0 ? n : n / 2;
    }
    blobs[2] = (struct inq_ingest_blob){.name = "x/rank_7.json", .bytes = "{\"traceEv", .n = 9};
    blobs[3] = (struct inq_ingest_blob){.name = "x/core",
                                        .bytes = "\x7f"
                                                 "ELF\0",
                                        .n = 5};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, 4, NULL, &run, &err), INQ_OK);
    uint64_t damaged = 0;
    uint64_t whole = 0;
    for (size_t t = 0; t < run->n_traces; t++) {
        for (size_t i = 0; i < run->traces[t]->n_files; i++) {
            const struct inq_file *file = &run->traces[t]->files[i];
            bool second = strcmp(file->path, paths[1]) == 0;
            damaged += second && file->damage.count[INQ_DAMAGE_TRUNCATED_GZIP] == 1;
            whole += strcmp(file->path, paths[0]) == 0 && inq_damage_total(&file->damage) == 0;
        }
    }
    assert_int_equal(damaged, 1);
    assert_int_equal(whole, 1);
    inq_run_free(run);
    for (size_t i = 0; i < 2; i++) {
        free((void *)(uintptr_t)blobs[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage__cut_files_give_a_run_that_says_so),
        cmocka_unit_test(damage__flipped_files_give_a_run),
        cmocka_unit_test(damage__op_table_keeps_every_row_before_the_cut),
        cmocka_unit_test(damage__stays_in_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
