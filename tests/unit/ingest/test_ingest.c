/* SPDX-License-Identifier: Apache-2.0 */
/* Ingest as a whole: folders and files in any mix and order, jobs, limits, interruption. */
#include "inquest/ingest.h"
#include "support_digest.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct inq_run *ingest_with(const char *const *paths, size_t n,
                                   const struct inq_ingest_options *options)
{
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    int code = inq_ingest(paths, n, options, &run, &err);
    if (code != INQ_OK) {
        fail_msg("%s: %s", err.path, err.message);
    }
    assert_non_null(run);
    return run;
}

static struct inq_run *ingest(const char *path)
{
    return ingest_with(&path, 1, NULL);
}

static size_t files_read(const struct inq_run *run)
{
    size_t n = 0;
    for (size_t t = 0; t < run->n_traces; t++) {
        for (size_t i = 0; i < run->traces[t]->n_files; i++) {
            n += run->traces[t]->files[i].read;
        }
    }
    return n;
}

static const char *skipped_reason(const struct inq_run *run, const char *name)
{
    for (size_t i = 0; i < run->n_skipped; i++) {
        const char *slash = strrchr(run->skipped[i].path, '/');
        if (slash != NULL && strcmp(slash + 1, name) == 0) {
            return run->skipped[i].reason;
        }
    }
    return "(not skipped)";
}

/* ---- a folder of small files ----------------------------------------------------------------- */

static const char kineto_start[] = "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ";
static const char kineto_rest[] =
    ", \"world_size\": 2},\n\"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, "
    "\"ts\": 1600000000000100, \"dur\": 20, \"args\": {\"device\": 0, \"stream\": 7}}\n]}\n";
static const char kineto_nameless[] =
    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, "
    "\"tid\": 7, \"ts\": 1600000000000100, \"dur\": 20, \"args\": {\"stream\": 7}}]}";

/* Room for a path below a test's folder. */
#define LONG_PATH (2 * TEST_PATH)

static void put(const char *folder, const char *name, const char *text)
{
    char path[LONG_PATH];
    assert_true(strlen(folder) + strlen(name) + 2 < sizeof path);
    (void)stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
    test_write(path, text, strlen(text));
}

static void put_rank(const char *folder, const char *name, int rank)
{
    char text[sizeof kineto_start + sizeof kineto_rest + 16];
    (void)snprintf(text, sizeof text, "%s%d%s", kineto_start, rank, kineto_rest);
    put(folder, name, text);
}

static void make_subfolder(char path[LONG_PATH], const char *folder, const char *name)
{
    assert_true(strlen(folder) + strlen(name) + 2 < LONG_PATH);
    (void)stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void ingest__mixed_folder_lists_what_it_does_not_understand(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char sub[LONG_PATH];
    char deep[LONG_PATH];
    test_make_folder(folder);
    put_rank(folder, "b.json", 1);
    put_rank(folder, "a.json", 0);
    put(folder, "notes.txt", "it was slow\n");
    put(folder, "empty.json", "");
    put(folder, "run.yaml", "dp_size: 1\npp_size: 2\nworld_size: 2\n");
    make_subfolder(sub, folder, ".git");
    put(sub, "config", "x");
    make_subfolder(sub, folder, "deep");
    make_subfolder(deep, sub, "er");
    put(deep, "ops.csv", "optype,start_ts,duration,step,rank\ngc,0,1,1,0\n");
    struct inq_run *run = ingest(folder);
    assert_int_equal(files_read(run), 3);
    assert_int_equal(run->n_skipped, 4);
    assert_string_equal(skipped_reason(run, "notes.txt"),
                        "not a trace: text that reports no failure and no training");
    assert_string_equal(skipped_reason(run, "empty.json"), "empty file");
    assert_string_equal(skipped_reason(run, "run.yaml"), "job description");
    assert_string_equal(skipped_reason(run, ".git"), "hidden folder, not entered");
    inq_run_free(run);
    test_remove_folder(folder);
}

static void ingest__rank_of_the_name_when_the_file_has_none(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    test_make_folder(folder);
    put(folder, "trace_rank_3.json", kineto_nameless);
    struct inq_run *run = ingest(folder);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0]->ranks[0].rank, 3);
    inq_run_free(run);
    test_remove_folder(folder);

    test_make_folder(folder);
    put(folder, "trace.json", kineto_nameless);
    run = ingest(folder);
    assert_int_equal(run->traces[0]->ranks[0].rank, -1);
    assert_non_null(strstr(run->traces[0]->files[0].reason, "no rank in the file or its name"));
    inq_run_free(run);
    test_remove_folder(folder);
}

/* Files of one time that differ in one number are that many ranks; others keep none. */
static void ingest__ranks_of_names_in_a_row(void **state)
{
    (void)state;
    enum { FILES = 3 };
    static const struct {
        const char *names[FILES];
        int32_t last; /* of the third file's rank */
    } cases[] = {
        {{"profile_0.json", "profile_1.json", "profile_2.json"}, 2},
        {{"0001_p0.json", "0001_p1.json", "0001_p2.json"}, 2},
        {{"1768464000-TP-0.json", "1768464000-TP-1.json", "1768464000-TP-3.json"}, 3},
        {{"gpu0/t.json", "gpu1/t.json", "gpu2/t.json"}, 2},
        {{"profile_1.json", "profile_2.json", "profile_3.json"}, -1}, /* from one on */
        {{"step_0.json", "step_1.json", "step_2.json"}, -1},          /* numbers of steps */
        {{"ip-10-0-0.json", "ip-10-0-1.json", "ip-10-0-2.json"}, -1}, /* of machines */
        {{"0_p0.json", "1_p1.json", "2_p0.json"}, -1},                /* two that differ */
        {{"p0.json", "p1.json", "p01.json"}, -1},                     /* one twice */
        {{"p0.json", "p1.json", "p9.json"}, -1},                      /* too few of too many */
        {{"p0.json", "p1.json", "other.json"}, -1},                   /* not all of that time */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char folder[TEST_PATH];
        test_make_folder(folder);
        for (int f = 0; f < FILES; f++) {
            const char *slash = strchr(cases[i].names[f], '/');
            char sub[LONG_PATH];
            char name[32] = "";
            if (slash != NULL) {
                (void)memcpy(name, cases[i].names[f], (size_t)(slash - cases[i].names[f]));
                make_subfolder(sub, folder, name);
            }
            put(folder, cases[i].names[f], kineto_nameless);
        }
        struct inq_run *run = ingest(folder);
        assert_int_equal(run->n_traces, 1);
        const struct inq_trace *trace = run->traces[0];
        assert_int_equal(trace->n_ranks, FILES);
        if (trace->ranks[FILES - 1].rank != cases[i].last) {
            fail_msg("%s: rank %d", cases[i].names[FILES - 1], trace->ranks[FILES - 1].rank);
        }
        inq_run_free(run);
        test_remove_folder(folder);
    }
}

/* All of torch_npu's traces have one name; the file beside their folder knows the rank. */
static void ingest__ranks_of_ascend_from_the_file_beside(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char outer[LONG_PATH];
    char inner[LONG_PATH];
    test_make_folder(folder);
    make_subfolder(outer, folder, "host_12_ascend_pt");
    make_subfolder(inner, outer, "ASCEND_PROFILER_OUTPUT");
    put(folder, "host_12_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", kineto_nameless);
    put(folder, "host_12_ascend_pt/profiler_info_5.json", "{\"rank_id\": 5}");
    struct inq_run *run = ingest(folder);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0]->ranks[0].rank, 5);
    inq_run_free(run);
    test_remove_folder(folder);
}

static void ingest__links_and_loops_are_followed_once(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char sub[LONG_PATH];
    char link[LONG_PATH + 16];
    test_make_folder(folder);
    make_subfolder(sub, folder, "real");
    put_rank(sub, "rank0.json", 0);
    (void)snprintf(link, sizeof link, "%s/loop", sub);
    assert_int_equal(symlink(folder, link), 0);
    (void)snprintf(link, sizeof link, "%s/a_first.json", folder);
    assert_int_equal(symlink("real/rank0.json", link), 0);
    (void)snprintf(link, sizeof link, "%s/dangling", folder);
    assert_int_equal(symlink("nowhere", link), 0);
    struct inq_run *run = ingest(folder);
    assert_int_equal(files_read(run), 1);
    /* the real path, though the link sorts first */
    assert_non_null(strstr(run->traces[0]->files[0].path, "/real/rank0.json"));
    assert_int_equal(run->n_skipped, 1);
    assert_string_equal(skipped_reason(run, "dangling"), "No such file or directory");
    inq_run_free(run);

    /* a file and its folder, given with and without a slash, are one file */
    char slash[TEST_PATH + 64];
    (void)snprintf(link, sizeof link, "%s/rank0.json", sub);
    (void)snprintf(slash, sizeof slash, "%s//", folder);
    const char *paths[] = {link, slash, folder, sub};
    run = ingest_with(paths, 4, NULL);
    assert_int_equal(files_read(run), 1);
    inq_run_free(run);
    test_remove_folder(folder);
}

static void ingest__pipes_are_read_when_they_are_given(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[LONG_PATH];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], kineto_nameless, sizeof kineto_nameless - 1),
                     sizeof kineto_nameless - 1);
    (void)close(ends[1]);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    struct inq_run *run = ingest(path);
    assert_int_equal(files_read(run), 1);
    assert_int_equal(run->traces[0]->files[0].bytes, sizeof kineto_nameless - 1);
    inq_run_free(run);
    (void)close(ends[0]);

    /* but not when they lie about: that might wait forever */
    test_make_folder(folder);
    (void)stpcpy(stpcpy(path, folder), "/pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    run = ingest(folder);
    assert_string_equal(skipped_reason(run, "pipe"), "not a regular file");
    inq_run_free(run);
    test_remove_folder(folder);
}

static void ingest__missing_path_is_an_error(void **state)
{
    (void)state;
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    const char *paths[] = {"/", "no/such/run"};
    assert_int_equal(inq_ingest(paths + 1, 1, NULL, &run, &err), INQ_NOT_FOUND);
    assert_null(run);
    assert_string_equal(err.path, "no/such/run");
}

static void ingest__nothing_to_read_is_no_error(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    test_make_folder(folder);
    struct inq_run *run = ingest(folder);
    assert_int_equal(run->n_traces, 0);
    assert_int_equal(run->n_skipped, 0);
    inq_run_free(run);
    test_remove_folder(folder);
}

/* ---- limits and interruption ----------------------------------------------------------------- */

static void put_table(const char *folder, const char *name, int rows, int rank)
{
    char path[TEST_PATH + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "optype,start_ts,duration,step,rank\n");
    for (int i = 0; i < rows; i++) {
        (void)fprintf(file, "forward-compute,%d.5,0.25,1,%d\n", i, rank);
    }
    assert_int_equal(fclose(file), 0);
}

static uint64_t events_of(const struct inq_run *run)
{
    uint64_t n = 0;
    for (size_t t = 0; t < run->n_traces; t++) {
        for (size_t r = 0; r < run->traces[t]->n_ranks; r++) {
            n += run->traces[t]->ranks[r].events.n;
        }
    }
    return n;
}

static void ingest__memory_limit_cuts_and_says_so(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    test_make_folder(folder);
    put_table(folder, "a.csv", 30000, 0);
    put_table(folder, "b.csv", 30000, 1);
    struct inq_run *whole = ingest(folder);
    assert_int_equal(events_of(whole), 60000);
    uint64_t digest = 0;
    for (int jobs = 1; jobs <= 8; jobs *= 2) {
        struct inq_ingest_options options = {.jobs = jobs, .memory_limit = 2 << 20};
        const char *path = folder;
        struct inq_run *run = ingest_with(&path, 1, &options);
        assert_in_range(events_of(run), 1000, 50000);
        assert_int_equal(files_read(run), 2);
        for (size_t t = 0; t < run->n_traces; t++) {
            for (size_t i = 0; i < run->traces[t]->n_files; i++) {
                assert_true(run->traces[t]->files[i].damage.count[INQ_DAMAGE_LIMIT] > 0);
            }
        }
        /* what is cut does not depend on the threads */
        uint64_t again = test_digest_run(run, TEST_DIGEST_ALL);
        assert_true(jobs == 1 || again == digest);
        digest = again;
        inq_run_free(run);
    }
    /* a limit that is not reached changes nothing */
    struct inq_ingest_options options = {.jobs = 2, .memory_limit = 64 << 20};
    const char *path = folder;
    struct inq_run *run = ingest_with(&path, 1, &options);
    assert_int_equal(test_digest_run(run, TEST_DIGEST_ALL),
                     test_digest_run(whole, TEST_DIGEST_ALL));
    inq_run_free(run);
    inq_run_free(whole);
    test_remove_folder(folder);
}

/* A reader that does not go through the source keeps the limit too. */
/* Where reading stops is no end of the file: it is whole, and to copy it again would not help. */
static void ingest__memory_limit_is_no_damage_of_the_file(void **state)
{
    (void)state;
    enum { EVENTS = 30000, ROOM = 128 };
    char folder[TEST_PATH];
    test_make_folder(folder);
    char *text = malloc((size_t)EVENTS * ROOM + ROOM);
    assert_non_null(text);
    int n = snprintf(text, ROOM, "%s0}, \"traceEvents\": [", kineto_start);
    for (int i = 0; i < EVENTS; i++) {
        n += snprintf(text + n, ROOM,
                      "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%d\", \"ts\": %d, "
                      "\"dur\": 1, \"tid\": 7}",
                      i > 0 ? ", " : "", i, 2 * i);
    }
    (void)snprintf(text + n, ROOM, "]}");
    put(folder, "rank0.json", text);
    free(text);
    struct inq_ingest_options options = {.jobs = 1, .memory_limit = 1 << 20};
    const char *path = folder;
    struct inq_run *run = ingest_with(&path, 1, &options);
    const struct inq_damage *damage = &run->traces[0]->files[0].damage;
    assert_in_range(events_of(run), 1000, EVENTS - 1);
    assert_int_equal(damage->count[INQ_DAMAGE_LIMIT], 1);
    assert_int_equal(damage->count[INQ_DAMAGE_TRUNCATED], 0);
    assert_int_equal(damage->count[INQ_DAMAGE_UNTERMINATED], 0);
    inq_run_free(run);
    test_remove_folder(folder);
}

/* All events come in the first third of the file: room for as many in the rest takes none of the
 * limit, which holds for twice what there are. */
static void ingest__memory_limit_is_not_met_by_room(void **state)
{
    (void)state;
    enum { EVENTS = 40000, PADS = 100, PAD = 64 << 10, ROW = 46 };
    char folder[TEST_PATH];
    char path[TEST_PATH + 64];
    test_make_folder(folder);
    (void)snprintf(path, sizeof path, "%s/rank0.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s0}, \"traceEvents\": [{}", kineto_start);
    for (int i = 0; i < EVENTS; i++) {
        (void)fprintf(file,
                      ", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": %d, "
                      "\"dur\": 1, \"tid\": 7}",
                      2 * i);
    }
    for (int i = 0; i < PADS; i++) {
        (void)fprintf(file, ", {\"ph\": \"i\", \"name\": \"%0*d\"}", PAD, i);
    }
    (void)fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
    struct inq_ingest_options options = {.jobs = 1, .memory_limit = UINT64_C(2) * EVENTS * ROW};
    const char *paths = folder;
    struct inq_run *run = ingest_with(&paths, 1, &options);
    assert_int_equal(events_of(run), EVENTS);
    assert_int_equal(run->traces[0]->files[0].damage.count[INQ_DAMAGE_LIMIT], 0);
    inq_run_free(run);
    test_remove_folder(folder);
}

static void ingest__memory_limit_holds_for_databases(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, "nsys/perlmutter-cloverleaf-cuda.sqlite")) {
        skip();
    }
#ifdef INQ_HAVE_SQLITE
    struct inq_ingest_options options = {.jobs = 1, .memory_limit = 64 << 10};
    const char *paths[] = {path};
    struct inq_run *run = ingest_with(paths, 1, &options);
    assert_int_equal(run->n_traces, 1);
    assert_in_range(events_of(run), 1, 2902);
    assert_int_equal(run->traces[0]->files[0].damage.count[INQ_DAMAGE_LIMIT], 1);
    inq_run_free(run);
#endif
}

struct watch {
    struct inq_progress last;
    uint32_t calls;
    uint32_t stop_at; /* the call that asks for an end; 0: none */
};

static int watch(void *ctx, const struct inq_progress *progress)
{
    struct watch *w = ctx;
    w->calls++;
    w->last = *progress;
    return w->calls == w->stop_at;
}

static void ingest__reports_progress_to_the_end(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    test_make_folder(folder);
    put_table(folder, "a.csv", 20000, 0);
    put_table(folder, "b.csv", 10, 1);
    put(folder, "c.txt", "text");
    struct watch w = {.calls = 0};
    struct inq_ingest_options options = {.jobs = 2, .progress = watch, .progress_ctx = &w};
    const char *path = folder;
    inq_run_free(ingest_with(&path, 1, &options));
    assert_true(w.calls >= 1);
    assert_int_equal(w.last.files_done, 3);
    assert_int_equal(w.last.files_total, 3);
    assert_int_equal(w.last.bytes_done, w.last.bytes_total);
    assert_int_equal(w.last.events, 20010);
    test_remove_folder(folder);
}

static void ingest__can_be_interrupted(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    test_make_folder(folder);
    put_table(folder, "a.csv", 1000, 0);
    put_table(folder, "b.csv", 1000, 1);
    for (int jobs = 1; jobs <= 4; jobs *= 2) {
        struct watch w = {.stop_at = 1};
        struct inq_ingest_options options = {.jobs = jobs, .progress = watch, .progress_ctx = &w};
        struct inq_run *run = NULL;
        struct inq_err err = {0};
        const char *path = folder;
        assert_int_equal(inq_ingest(&path, 1, &options, &run, &err), INQ_CANCELLED);
        assert_null(run);
        assert_int_equal(w.calls, 1);
    }
    test_remove_folder(folder);
}

/* ---- real runs ------------------------------------------------------------------------------- */

static const char *const real_folders[] = {"kineto", "chrome", "whatif", "primus", "nsys"};

static void ingest__every_real_trace_is_read(void **state)
{
    (void)state;
    static const size_t expected[] = {41, 19, 4, 8, 2};
    for (size_t i = 0; i < sizeof real_folders / sizeof real_folders[0]; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, real_folders[i])) {
            skip();
        }
        struct inq_run *run = ingest(path);
#ifndef INQ_HAVE_SQLITE
        if (strcmp(real_folders[i], "nsys") == 0) {
            inq_run_free(run);
            continue;
        }
#endif
        assert_int_equal(files_read(run), expected[i]);
        for (size_t k = 0; k < run->n_skipped; k++) {
            assert_true(run->skipped[k].reason[0] != '\0');
        }
        inq_run_free(run);
    }
}

static void ingest__threads_do_not_change_the_result(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof real_folders / sizeof real_folders[0]; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, real_folders[i])) {
            skip();
        }
        const char *paths[] = {path};
        uint64_t digests[2];
        for (size_t k = 0; k < 2; k++) {
            struct inq_ingest_options options = {.jobs = k == 0 ? 1 : 8};
            struct inq_run *run = ingest_with(paths, 1, &options);
            digests[k] = test_digest_run(run, TEST_DIGEST_ALL);
            inq_run_free(run);
        }
        assert_int_equal(digests[0], digests[1]);
    }
}

static void ingest__order_of_paths_does_not_change_the_result(void **state)
{
    (void)state;
    static const char *const names[] = {"kineto/megatron_tp2", "primus/pp8",
                                        "kineto/resnet18_ddp", "whatif/ST",
                                        "kineto/dlrm_8ranks",  "logs"};
    enum { N = sizeof names / sizeof names[0] };
    char paths[N][TEST_PATH];
    const char *order[N];
    uint64_t first = 0;
    for (size_t i = 0; i < N; i++) {
        if (!test_data_path(paths[i], INQ_SHARED_DATA, names[i])) {
            skip();
        }
    }
    for (size_t turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < N; i++) {
            order[i] = paths[turn % 2 == 0 ? (i + turn) % N : N - 1 - (i + turn) % N];
        }
        struct inq_run *run = ingest_with(order, N, NULL);
        uint64_t digest = test_digest_run(run, TEST_DIGEST_ALL);
        assert_true(turn == 0 || digest == first);
        first = digest;
        inq_run_free(run);
    }
}

/* The same run with its files unpacked. */
static void unpack(const char *from, const char *to)
{
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(inq_source_open(from, &options, &source, &err), INQ_OK);
    for (;;) {
        const char *bytes = NULL;
        size_t n = 0;
        assert_int_equal(inq_source_next(source, &bytes, &n, &err), INQ_OK);
        if (n == 0) {
            break;
        }
        assert_int_equal(fwrite(bytes, 1, n, file), n);
    }
    inq_source_close(source);
    assert_int_equal(fclose(file), 0);
}

static void ingest__plain_and_gzip_give_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"kineto/megatron_tp2", "kineto/torchrec_sleep"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[TEST_PATH];
        char folder[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, names[i])) {
            skip();
        }
        struct inq_run *packed = ingest(path);
        test_make_folder(folder);
        for (size_t k = 0; k < packed->traces[0]->n_files; k++) {
            const char *from = packed->traces[0]->files[k].path;
            const char *slash = strrchr(from, '/');
            char to[2 * TEST_PATH];
            (void)snprintf(to, sizeof to, "%s%.*s", folder, (int)strlen(slash) - 3, slash);
            unpack(from, to);
        }
        struct inq_run *plain = ingest(folder);
        assert_int_equal(test_digest_run(packed, TEST_DIGEST_CONTENT),
                         test_digest_run(plain, TEST_DIGEST_CONTENT));
        inq_run_free(packed);
        inq_run_free(plain);
        test_remove_folder(folder);
    }
}

static void ingest__two_jobs_in_one_folder_stay_two(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, "kineto/torchrec_two_jobs")) {
        skip();
    }
    struct inq_run *run = ingest(path);
    assert_int_equal(run->n_traces, 2);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(run->traces[t]->n_ranks, 4);
        for (int32_t r = 0; r < 4; r++) {
            assert_int_equal(run->traces[t]->ranks[r].rank, r);
        }
    }
    /* 268 s apart */
    int64_t apart = run->traces[1]->ranks[0].first_ns - run->traces[0]->ranks[0].first_ns;
    assert_in_range(apart, INT64_C(267000000000), INT64_C(269000000000));
    inq_run_free(run);
}

struct span {
    int64_t first_ns, last_ns;
};

#define MAX_STEP 2000

/* From the first start to the last end of each labeled step, over all ranks. */
static void span_steps(const struct inq_trace *trace, struct span spans[MAX_STEP])
{
    for (size_t i = 0; i < MAX_STEP; i++) {
        spans[i] = (struct span){INT64_MAX, INT64_MIN};
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            struct span *span = &spans[rank->labels[rank->events.label[i]].step];
            int64_t start = rank->events.start_ns[i];
            int64_t end = start + rank->events.dur_ns[i];
            span->first_ns = start < span->first_ns ? start : span->first_ns;
            span->last_ns = end > span->last_ns ? end : span->last_ns;
        }
    }
}

/* Steps of a pipeline job stand in a row: none begins before the one before it has ended. */
static void ingest__steps_of_op_tables_stand_in_a_row(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t steps;
    } rows[] = {
        {"whatif/ST/trace-ST.csv.gz", 32}, {"whatif/AR/trace-AR.csv.gz", 44}, {"primus/pp8", 20}};
    static struct span spans[MAX_STEP];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, rows[i].name)) {
            skip();
        }
        struct inq_run *run = ingest(path);
        assert_int_equal(run->n_traces, 1);
        span_steps(run->traces[0], spans);
        inq_run_free(run);
        size_t steps = 0;
        int64_t end = INT64_MIN;
        for (size_t k = 0; k < MAX_STEP; k++) {
            if (spans[k].first_ns < INT64_MAX) {
                assert_true(spans[k].first_ns >= end);
                end = spans[k].last_ns;
                steps++;
            }
        }
        assert_int_equal(steps, rows[i].steps);
    }
}

/* ---- partials in memory -----------------------------------------------------------------------
 */

enum { MOST_PARTIALS = 4 };

struct taken {
    size_t n;
    struct inq_ingest_blob partials[MOST_PARTIALS];
};

static int keep(void *ctx, const struct inq_ingest_blob *partial, struct inq_err *err)
{
    (void)err;
    struct taken *taken = ctx;
    void *bytes = malloc(partial->n);
    assert_non_null(bytes);
    assert_true(taken->n < MOST_PARTIALS);
    memcpy(bytes, partial->bytes, partial->n);
    taken->partials[taken->n++] =
        (struct inq_ingest_blob){strdup(partial->name), bytes, partial->n};
    return INQ_OK;
}

static int refuse(void *ctx, const struct inq_ingest_blob *partial, struct inq_err *err)
{
    (void)ctx;
    return inq_err_set(err, INQ_IO, "no place for %s", partial->name);
}

static void ingest__traces_are_handed_over_and_read_from_there(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    const char *path = folder;
    struct taken taken = {0};
    test_make_folder(folder);
    put_rank(folder, "a.json", 0);
    put_rank(folder, "b.json", 1);
    put(folder, "notes.txt", "it was slow\n");
    put(folder, "c.json.inq", "no partial, but named like one");
    for (size_t share = 0; share < 3; share++) {
        const struct inq_ingest_options own = {.jobs = 1, .share = share, .n_shares = 3};
        assert_int_equal(inq_ingest_traces(&path, 1, &own, keep, &taken, NULL), INQ_OK);
    }
    assert_int_equal(taken.n, 2); /* by path: a.json of share 0, b.json of share 1 */
    /* what is in the files is not looked at any more */
    put(folder, "a.json", "gone");
    put(folder, "b.json", "gone");
    const struct inq_ingest_options all = {.partials = taken.partials, .n_partials = taken.n};
    struct inq_run *run = ingest_with(&path, 1, &all);
    assert_int_equal(files_read(run), 2);
    assert_int_equal(run->n_skipped, 2);
    assert_string_equal(skipped_reason(run, "notes.txt"),
                        "not a trace: text that reports no failure and no training");
    inq_run_free(run);
    for (size_t i = 0; i < taken.n; i++) {
        free((void *)(uintptr_t)taken.partials[i].name);
        free((void *)(uintptr_t)taken.partials[i].bytes);
    }
    test_remove_folder(folder);
}

static void ingest__traces_ends_with_what_taking_them_fails_with(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    const char *path = folder;
    struct inq_err err = {0};
    test_make_folder(folder);
    put_rank(folder, "a.json", 0);
    assert_int_equal(inq_ingest_traces(&path, 1, NULL, refuse, NULL, &err), INQ_IO);
    assert_non_null(strstr(err.message, "no place for"));
    const struct inq_ingest_options none = {.share = 2, .n_shares = 2};
    assert_int_equal(inq_ingest_traces(&path, 1, &none, refuse, NULL, &err), INQ_USAGE);
    test_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ingest__mixed_folder_lists_what_it_does_not_understand),
        cmocka_unit_test(ingest__rank_of_the_name_when_the_file_has_none),
        cmocka_unit_test(ingest__ranks_of_names_in_a_row),
        cmocka_unit_test(ingest__ranks_of_ascend_from_the_file_beside),
        cmocka_unit_test(ingest__links_and_loops_are_followed_once),
        cmocka_unit_test(ingest__pipes_are_read_when_they_are_given),
        cmocka_unit_test(ingest__missing_path_is_an_error),
        cmocka_unit_test(ingest__nothing_to_read_is_no_error),
        cmocka_unit_test(ingest__memory_limit_cuts_and_says_so),
        cmocka_unit_test(ingest__memory_limit_is_no_damage_of_the_file),
        cmocka_unit_test(ingest__memory_limit_is_not_met_by_room),
        cmocka_unit_test(ingest__memory_limit_holds_for_databases),
        cmocka_unit_test(ingest__reports_progress_to_the_end),
        cmocka_unit_test(ingest__can_be_interrupted),
        cmocka_unit_test(ingest__every_real_trace_is_read),
        cmocka_unit_test(ingest__threads_do_not_change_the_result),
        cmocka_unit_test(ingest__order_of_paths_does_not_change_the_result),
        cmocka_unit_test(ingest__plain_and_gzip_give_the_same),
        cmocka_unit_test(ingest__two_jobs_in_one_folder_stay_two),
        cmocka_unit_test(ingest__traces_are_handed_over_and_read_from_there),
        cmocka_unit_test(ingest__traces_ends_with_what_taking_them_fails_with),
        cmocka_unit_test(ingest__steps_of_op_tables_stand_in_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
