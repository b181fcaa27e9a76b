/* SPDX-License-Identifier: Apache-2.0 */
/* A small run of traces, one packed, and a log, in which the Nth allocation, the Nth open or
 * the Nth read fails, for every N there is: always a report or an error that says why, and nothing
 * of what could be read is lost. */
#include "base/mem.h"
#include "inquest/out.h"
#include "inquest/ingest.h"
#include "inquest/report.h"
#include "support_trace.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- calls that fail ------------------------------------------------------------------------- */

static long open_countdown, read_countdown;

static bool fails(long *countdown)
{
    return *countdown > 0 && --*countdown == 0;
}

/* The linker puts them in the place of the real ones. NOLINTBEGIN(bugprone-reserved-identifier) */
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *buffer, size_t n);
ssize_t __wrap_pread(int fd, void *buffer, size_t n, off_t at);
DIR *__wrap_opendir(const char *path);
DIR *__real_opendir(const char *path);

int __wrap_open(const char *path, int flags, ...)
{
    if (fails(&open_countdown)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

DIR *__wrap_opendir(const char *path)
{
    if (fails(&open_countdown)) {
        errno = EMFILE;
        return NULL;
    }
    return __real_opendir(path);
}

ssize_t __wrap_read(int fd, void *buffer, size_t n)
{
    if (fails(&read_countdown)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, fd, buffer, n);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t n, off_t at)
{
    if (fails(&read_countdown)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, buffer, n, at);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- the run --------------------------------------------------------------------------------- */

static char folder[] = "/tmp/inquest-faults-XXXXXX";

static void put_file(const char *name, const char *bytes, size_t n)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void make_run(void)
{
    static const char log[] = "[rank1]: Traceback (most recent call last):\n"
                              "[rank1]:   File \"train.py\", line 7, in step\n"
                              "[rank1]: RuntimeError: CUDA error: an illegal memory access was "
                              "encountered\n";
    assert_non_null(mkdtemp(folder));
    struct test_text rank0 = test_load(INQ_SOURCE_DIR "/tests/data/ok_two_ranks", "rank0.json");
    struct test_text rank1 = test_load(INQ_SOURCE_DIR "/tests/data/ok_two_ranks", "rank1.json");
    assert_non_null(rank0.p);
    assert_non_null(rank1.p);
    struct test_text packed = test_gzip(rank1);
    put_file("rank0.json", rank0.p, rank0.n);
    put_file("rank1.json.gz", packed.p, packed.n);
    put_file("rank1.log", log, sizeof log - 1);
    free(rank0.p);
    free(rank1.p);
    free(packed.p);
}

static void remove_run(void)
{
    static const char *const names[] = {"rank0.json", "rank1.json.gz", "rank1.log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

enum { FILES = 3 };

struct outcome {
    int code;
    struct inq_err err;
    size_t n_read, n_skipped;
    bool folder_lost; /* and so all in it, and that is said */
    size_t ranks_with_events;
    size_t failed_sections;
    char *json; /* NULL: it could not be written */
};

/* With the verdicts of all jobs, in all formats; the JSON is kept. */
static void report_on(const struct inq_run *run, struct outcome *o)
{
    struct inq_report *reports[FILES] = {NULL};
    struct inq_analysis_options how = {.jobs = 1};
    assert_true(run->n_traces <= FILES);
    for (size_t t = 0; t < run->n_traces && o->code == INQ_OK; t++) {
        o->code = inq_analyze(run->traces[t], &how, &reports[t], &o->err);
        for (int s = 0; o->code == INQ_OK && s < INQ_SECTION_COUNT; s++) {
            const struct inq_section_state *state = &reports[t]->sections[s];
            o->failed_sections += state->reason != NULL;
            assert_true(state->reason == NULL ||
                        (state->reason[0] != '\0' && state->next[0] != '\0'));
        }
    }
    static const enum inq_format formats[] = {INQ_FORMAT_TEXT, INQ_FORMAT_MARKDOWN,
                                              INQ_FORMAT_JSON};
    for (size_t f = 0; f < sizeof formats / sizeof *formats && o->code == INQ_OK; f++) {
        struct inq_report_options options = {.format = formats[f], .verbose = true};
        struct inq_out out = {0};
        o->code =
            inq_report_write(run, reports, run->n_traces, &options, inq_out_sink(&out), &o->err);
        if (o->code == INQ_OK && formats[f] == INQ_FORMAT_JSON) {
            o->json = strndup(out.buf, out.len);
        }
        inq_out_release(&out);
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        inq_report_free(reports[t]);
    }
}

static void count_files(const struct inq_run *run, struct outcome *o)
{
    for (size_t i = 0; i < run->n_skipped; i++) {
        assert_true(run->skipped[i].reason[0] != '\0');
        o->folder_lost = strcmp(run->skipped[i].path, folder) == 0;
        o->n_skipped++;
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        const struct inq_trace *trace = run->traces[t];
        for (size_t r = 0; r < trace->n_ranks; r++) {
            o->ranks_with_events += trace->ranks[r].events.n > 0;
        }
        o->n_read += trace->n_files;
    }
}

static struct outcome attempt(void)
{
    struct outcome o = {0};
    const char *path = folder;
    struct inq_ingest_options how = {.jobs = 1, .memory_limit = UINT64_C(1) << 32};
    struct inq_run *run = NULL;
    o.code = inq_ingest(&path, 1, &how, &run, &o.err);
    if (o.code == INQ_OK) {
        count_files(run, &o);
        report_on(run, &o);
    }
    inq_run_free(run);
    return o;
}

/* ---- every one of them ----------------------------------------------------------------------- */

/* What must hold of a run in which something failed. */
static void check_outcome(const struct outcome *o, const struct outcome *whole, long n)
{
    if (o->code != INQ_OK) { /* a clear error */
        assert_int_equal(o->code, INQ_NOMEM);
        assert_true(strstr(o->err.message, "memory") != NULL);
        return;
    }
    assert_non_null(o->json);
    if (o->folder_lost) {
        return;
    }
    /* no file is forgotten, and at most one is lost */
    if (o->n_read + o->n_skipped != FILES || o->n_skipped > 1) {
        fail_msg("N = %ld: %zu files read, %zu skipped", n, o->n_read, o->n_skipped);
    }
    bool lost = o->n_skipped > 0 || o->ranks_with_events < whole->ranks_with_events;
    if (!lost && o->failed_sections == 0 && strcmp(o->json, whole->json) != 0 &&
        strstr(o->json, "\"damage\": [\n") == NULL) {
        size_t at = strspn(o->json, " ");
        while (o->json[at] == whole->json[at]) {
            at++;
        }
        fail_msg(
            "N = %ld: another report, though nothing is said to be lost, at\n%.300s\nwas\n%.300s",
            n, o->json + (at > 60 ? at - 60 : 0), whole->json + (at > 60 ? at - 60 : 0));
    }
}

enum fault { ALLOCATION, OPEN, READ };

/* Sets the fault for the next attempt; 0 ends it: whether it has struck. */
static bool arm(enum fault fault, long n)
{
    long *countdown = fault == OPEN ? &open_countdown : &read_countdown;
    if (fault == ALLOCATION) {
        return inq_mem_fail_after(n) == 0;
    }
    bool struck = *countdown == 0;
    *countdown = n;
    return struck;
}

static long try_all(enum fault fault)
{
    struct outcome whole = attempt();
    assert_int_equal(whole.code, INQ_OK);
    assert_int_equal(whole.n_read, FILES);
    assert_int_equal(whole.failed_sections, 0);
    bool struck = true;
    long n = 0;
    while (struck) {
        (void)arm(fault, ++n);
        struct outcome o = attempt();
        struck = arm(fault, 0);
        check_outcome(&o, &whole, n);
        free(o.json);
    }
    free(whole.json);
    return n - 1;
}

static void faults__of_every_allocation(void **state)
{
    (void)state;
    long n = try_all(ALLOCATION);
    print_message("%ld allocations\n", n);
    assert_true(n > 500);
}

static void faults__of_every_open(void **state)
{
    (void)state;
    assert_true(try_all(OPEN) >= 1 + FILES); /* the folder and the files */
}

static void faults__of_every_read(void **state)
{
    (void)state;
    assert_true(try_all(READ) >= 2 * FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults__of_every_allocation),
        cmocka_unit_test(faults__of_every_open),
        cmocka_unit_test(faults__of_every_read),
    };
    make_run();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_run();
    return failed;
}
