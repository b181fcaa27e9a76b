/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of real files: as they are marked, and inferred like the marks. */
#include "support_read.h"
#include "support_shard.h"

#include "base/sort.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { MOST_FILES = 16 };

/* The files of a folder of kineto traces, those of one kind of notes dropped. */
static struct inq_run *real(const char *folder, bool drop_steps, bool drop_optimizer)
{
    static char paths[MOST_FILES][TEST_PATH];
    struct inq_shard shards[MOST_FILES] = {0};
    char path[TEST_PATH];
    char name[TEST_PATH];
    size_t n = 0;
    assert_true(snprintf(name, sizeof name, "kineto/%s", folder) < (int)sizeof name);
    if (!test_data_path(path, INQ_SHARED_DATA, name)) {
        skip();
    }
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (strstr(e->d_name, ".json") == NULL) {
            continue;
        }
        assert_true(n < MOST_FILES);
        assert_true(snprintf(paths[n], TEST_PATH, "%.400s/%.400s", path, e->d_name) < TEST_PATH);
        struct inq_shard *shard = &shards[n];
        assert_int_equal(test_read_file(paths[n], shard, NULL), INQ_OK);
        shard->file.path = paths[n++];
        for (size_t r = 0; r < shard->n_ranks; r++) {
            struct inq_rank *rank = &shard->ranks[r];
            size_t kept = 0;
            for (size_t i = 0; i < rank->n_notes; i++) {
                bool step = rank->notes[i].kind == INQ_NOTE_STEP && drop_steps;
                bool optimizer = rank->notes[i].kind == INQ_NOTE_OPTIMIZER && drop_optimizer;
                if (!step && !optimizer) {
                    rank->notes[kept++] = rank->notes[i];
                }
            }
            rank->n_notes = kept;
        }
    }
    closedir(dir);
    return made_run(shards, n, true);
}

static int64_t median_step(const struct inq_trace *trace, size_t step)
{
    int64_t own_ns[MOST_FILES];
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->steps[step].rank_start_ns[r] != INQ_TIME_NONE) {
            own_ns[n++] = trace->steps[step].rank_end_ns[r] - trace->steps[step].rank_start_ns[r];
        }
    }
    inq_sort_i64(own_ns, n);
    return n > 0 ? own_ns[n / 2] : -1;
}

static void real__torchrec_sleep_marks(void **state)
{
    (void)state;
    struct inq_run *run = real("torchrec_sleep", false, false);
    const struct inq_trace *trace = run->traces[0];
    static const int64_t expected_ms[] = {1056, 1173, 1055};
    assert_int_equal(trace->n_steps, 3);
    for (size_t s = 0; s < 3; s++) {
        assert_int_equal(trace->steps[s].number, 4 + s);
        assert_int_equal((median_step(trace, s) + MS / 2) / MS, expected_ms[s]);
    }
    inq_run_free(run);
}

/* With the marks taken away, what is inferred has as many steps of about the same lengths. */
static void assert_inferred(const char *folder, bool drop_optimizer)
{
    struct inq_run *marked = real(folder, false, false);
    struct inq_run *run = real(folder, true, drop_optimizer);
    assert_int_equal(run->n_traces, marked->n_traces);
    for (size_t t = 0; t < run->n_traces; t++) {
        const struct inq_trace *trace = run->traces[t];
        assert_true(trace->steps_inferred);
        assert_int_equal(trace->n_steps, marked->traces[t]->n_steps);
        for (size_t s = 0; s < trace->n_steps; s++) {
            int64_t recorded_ns = median_step(marked->traces[t], s);
            int64_t off_ns = median_step(trace, s) - recorded_ns;
            assert_true(off_ns < recorded_ns / 8 && off_ns > -recorded_ns / 8);
        }
    }
    inq_run_free(marked);
    inq_run_free(run);
}

static void real__inferred_like_the_marks(void **state)
{
    (void)state;
    assert_inferred("torchrec_sleep", true);
    assert_inferred("torchrec_4", true);
    assert_inferred("torchrec_4", false);
    assert_inferred("torchrec_two_jobs", true);
    assert_inferred("resnet18_ddp", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real__torchrec_sleep_marks),
        cmocka_unit_test(real__inferred_like_the_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
