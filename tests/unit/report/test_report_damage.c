/* SPDX-License-Identifier: Apache-2.0 */
/* Every real trace, cut and flipped at random places with a fixed seed, plain and gzip'd: there is
 * always a report or a reason. 200 places a file where files are small; fewer for the large ones,
 * so that all of it takes seconds (INQ_DAMAGE_PLACES=200 in the environment for all). */
#include "inquest/analysis.h"
#include "inquest/ingest.h"
#include "base/hash.h"
#include "inquest/out.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 200, FLIPS = 200, MIN_PLACES = 3 };
static const size_t BUDGET_BYTES = (size_t)24 << 20; /* of input per file and way */

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return inq_hash_u64(*state);
}

static size_t places_for(size_t n)
{
    const char *told = getenv("INQ_DAMAGE_PLACES");
    size_t places = told != NULL ? strtoul(told, NULL, 10) : BUDGET_BYTES / (n / 2 + 1);
    places = places > PLACES ? PLACES : places;
    return places < MIN_PLACES ? MIN_PLACES : places;
}

/* Bytes in, a report out, or the reason why not. */
static void inquire(const char *name, const char *bytes, size_t n)
{
    struct inq_ingest_blob blob = {.name = name, .bytes = bytes, .n = n};
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    if (inq_ingest_memory(&blob, 1, &options, &run, &err) != INQ_OK) {
        fail_msg("%s, %zu bytes: %s", name, n, err.message);
    }
    assert_true(run->n_traces + run->n_skipped > 0);
    for (size_t t = 0; t < run->n_traces; t++) {
        struct inq_analysis_options analysis = {.jobs = 1};
        struct inq_report *report = NULL;
        if (inq_analyze(run->traces[t], &analysis, &report, &err) != INQ_OK) {
            fail_msg("%s, %zu bytes: %s", name, n, err.message);
        }
        assert_true(report->verdict.headline[0] != '\0');
        inq_report_free(report);
    }
    for (size_t s = 0; s < run->n_skipped; s++) {
        assert_true(run->skipped[s].reason[0] != '\0');
    }
    inq_run_free(run);
}

static void cut(const char *name, const char *bytes, size_t n, size_t places)
{
    uint64_t state = n;
    for (size_t i = 0; i < places; i++) {
        inquire(name, bytes, draw(&state) % n);
    }
}

static void flip(const char *name, const char *bytes, size_t n, size_t rounds)
{
    uint64_t state = ~(uint64_t)n;
    char *copy = malloc(n);
    assert_non_null(copy);
    for (size_t i = 0; i < rounds; i++) {
        memcpy(copy, bytes, n);
        for (int f = 0; f < FLIPS; f++) {
            copy[draw(&state) % n] = (char)draw(&state);
        }
        inquire(name, copy, n);
    }
    free(copy);
}

static struct inq_out plain_of(const char *path)
{
    struct inq_source *source = NULL;
    struct inq_source_options options = {0};
    struct inq_err err = {0};
    struct inq_out out = {0};
    assert_int_equal(inq_source_open(path, &options, &source, &err), INQ_OK);
    const char *chunk = NULL;
    size_t n = 1;
    while (n > 0) {
        assert_int_equal(inq_source_next(source, &chunk, &n, &err), INQ_OK);
        inq_out_bytes(&out, chunk, n);
    }
    inq_source_close(source);
    return out;
}

static void damage_file(const char *path)
{
    struct inq_out plain = plain_of(path);
    size_t n = 0;
    char *stored = test_slurp(path, &n);
    assert_non_null(stored);
    size_t places = places_for(plain.len);
    cut(path, plain.buf, plain.len, places);
    flip(path, plain.buf, plain.len, places / 20 + 1);
    if (n != plain.len) { /* stored packed */
        cut(path, stored, n, places);
        flip(path, stored, n, places / 20 + 1);
    }
    free(stored);
    inq_out_release(&plain);
}

/* All files below a folder, in no particular order: each stands for itself. */
static size_t damage_folder(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    for (struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL;
         entry = readdir(dir)) {
        char below[TEST_PATH];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        size_t inside = damage_folder(below);
        if (inside == 0) {
            damage_file(below);
        }
        n += inside + 1;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static void damage_set(const char *name)
{
    char path[TEST_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", INQ_SHARED_DATA, name);
    if (damage_folder(path) == 0) {
        print_message("skipped: no %s\n", path);
        skip();
    }
}

static void report__from_damaged_kineto_traces(void **state)
{
    (void)state;
    damage_set("kineto");
}

static void report__from_damaged_chrome_traces(void **state)
{
    (void)state;
    damage_set("chrome");
}

static void report__from_damaged_op_tables(void **state)
{
    (void)state;
    damage_set("whatif");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report__from_damaged_kineto_traces),
        cmocka_unit_test(report__from_damaged_chrome_traces),
        cmocka_unit_test(report__from_damaged_op_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
