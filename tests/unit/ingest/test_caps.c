/* SPDX-License-Identifier: Apache-2.0 */
/* Every cap on what a file may make the program hold counts what it dropped, and costs no more. */
#include "support_read.h"

#include "base/mem.h"
#include "ingest/discover.h"
#include "inquest/flight.h"
#include "inquest/ingest.h"
#include "inquest/log.h"
#include "trace/build/build.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a growing text -------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t n;
    FILE *file;
};

static void begin(struct text *text)
{
    *text = (struct text){.n = 0};
    text->file = open_memstream(&text->bytes, &text->n);
    assert_non_null(text->file);
}

/* Closes the text and reads it as a file of that name. */
static struct inq_run *end(struct text *text, const char *name)
{
    assert_int_equal(fclose(text->file), 0);
    struct inq_ingest_blob blob = {name, text->bytes, text->n};
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    if (inq_ingest_memory(&blob, 1, &options, &run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    free(text->bytes);
    return run;
}

static const struct inq_file *file_of(const struct inq_run *run)
{
    return run->n_traces > 0 ? &run->traces[0]->files[run->traces[0]->n_files - 1]
                             : &run->skipped[0];
}

static uint64_t dropped(const struct inq_run *run)
{
    return file_of(run)->damage.count[INQ_DAMAGE_LIMIT];
}

/* ---- logs ------------------------------------------------------------------------------------ */

static struct inq_run *log_of_ranks(int n)
{
    struct text text;
    begin(&text);
    for (int r = 0; r < n; r++) {
        (void)fprintf(text.file,
                      "[rank%d]:[E ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective "
                      "operation timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE)\n",
                      r, r);
    }
    return end(&text, "job.log");
}

static void caps__a_log_of_45000_ranks_is_kept(void **state)
{
    (void)state;
    struct inq_run *run = log_of_ranks(45000);
    assert_int_equal(run->traces[0]->logs[0]->n_events, 45000);
    assert_int_equal(dropped(run), 0);
    inq_run_free(run);
}

static void caps__events_of_one_kind_past_the_most_are_counted(void **state)
{
    (void)state;
    enum { MOST = 1 << 18 };
    struct inq_run *run = log_of_ranks(MOST + 3);
    assert_int_equal(run->traces[0]->logs[0]->n_events, MOST);
    assert_int_equal(dropped(run), 3);
    inq_run_free(run);
}

/* "Missing ranks:" and a line for each. */
static struct inq_run *stalled(int n)
{
    struct text text;
    begin(&text);
    (void)fputs("[2026-03-14 10:00:00.0: W horovod/common/stall_inspector.cc:107] One or more "
                "tensors were submitted to be reduced, gathered or broadcasted by subset of ranks "
                "and are waiting for remainder of ranks for more than 60 seconds.\n"
                "Missing ranks:\n",
                text.file);
    for (int r = 0; r < n; r++) {
        (void)fprintf(text.file, "%d: [allreduce.x]\n", r);
    }
    (void)fputs("done\n", text.file);
    return end(&text, "job.log");
}

static size_t longest_list(const struct inq_run *run)
{
    const struct inq_log *log = run->traces[0]->logs[0];
    size_t most = 0;
    for (size_t i = 0; i < log->n_events; i++) {
        most = log->events[i].n_ranks > most ? log->events[i].n_ranks : most;
    }
    return most;
}

static void caps__a_list_of_ranks_is_whole_or_counted(void **state)
{
    (void)state;
    struct inq_run *run = stalled(400);
    assert_true(longest_list(run) >= 400);
    assert_int_equal(dropped(run), 0);
    inq_run_free(run);
    run = stalled(20000); /* more than the text that is at hand */
    assert_true(longest_list(run) > 400 && longest_list(run) < 20000);
    assert_int_equal(dropped(run), 1);
    inq_run_free(run);
}

/* A line longer than what is looked at. */
static void caps__ranks_of_a_long_line_are_counted(void **state)
{
    (void)state;
    struct text text;
    begin(&text);
    (void)fputs(
        "[2026-03-14 10:00:00] torch.distributed.DistStoreError: Timed out after 901 seconds "
        "waiting for clients. Missing ranks: 0",
        text.file);
    for (int r = 2; r < 4000; r += 2) {
        (void)fprintf(text.file, ", %d", r);
    }
    (void)fputs("\n", text.file);
    struct inq_run *run = end(&text, "job.log");
    assert_true(longest_list(run) > 100 && longest_list(run) < 2000);
    assert_true(dropped(run) > 0);
    inq_run_free(run);
}

/* ---- Kineto ---------------------------------------------------------------------------------- */

static void put_kernel(struct text *text, int64_t ts_us, const char *args)
{
    (void)fprintf(text->file,
                  "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
                  "\"pid\": 0, \"tid\": 7, \"ts\": %lld, \"dur\": 20, \"args\": {\"device\": 0, "
                  "\"stream\": 7%s",
                  (long long)ts_us, args);
}

static void caps__a_group_with_too_many_ranks_costs_itself_only(void **state)
{
    (void)state;
    struct text text;
    begin(&text);
    (void)fputs("{\"distributedInfo\": {\"rank\": 0, \"world_size\": 2},\n\"traceEvents\": [\n",
                text.file);
    put_kernel(&text, 1600000000000100,
               ", \"Collective name\": \"allreduce\", \"Process Group "
               "Name\": \"0\", \"Process Group Ranks\": [0");
    for (size_t i = 0; i < INQ_MAX_RANKS; i++) {
        (void)fputs(",1", text.file);
    }
    (void)fputs("]}},\n", text.file);
    put_kernel(&text, 1600000000000200, "}}\n]}\n");
    struct inq_run *run = end(&text, "rank0.json");
    assert_int_equal(run->traces[0]->ranks[0].events.n, 2);
    assert_int_equal(dropped(run), 1);
    inq_run_free(run);
}

/* ---- op tables ------------------------------------------------------------------------------- */

static struct inq_run *table_of(int columns, int rows)
{
    struct text text;
    begin(&text);
    (void)fputs("dp_rank,stage,step,optype", text.file);
    for (int c = 0; c < columns; c++) {
        (void)fprintf(text.file, ",c%d", c);
    }
    (void)fputs(",start_ts,duration\n", text.file);
    for (int r = 0; r < rows; r++) {
        (void)fputs("0,0,1,forward-compute", text.file);
        for (int c = 0; c < columns; c++) {
            (void)fputs(",7", text.file);
        }
        (void)fprintf(text.file, ",%d.5,0.25\n", r);
    }
    return end(&text, "ops.csv");
}

static void caps__columns_are_not_limited(void **state)
{
    (void)state;
    struct inq_run *run = table_of(500, 3);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0]->ranks[0].events.n, 3);
    assert_int_equal(inq_damage_total(&file_of(run)->damage), 0);
    inq_run_free(run);
}

/* Its lines are longer than any record, and pieces of them are none. */
static void caps__a_table_with_a_million_columns_says_so(void **state)
{
    (void)state;
    struct inq_run *run = table_of(1000000, 3);
    assert_int_equal(run->n_traces, 0);
    assert_true(file_of(run)->reason[0] != '\0');
    inq_run_free(run);

    struct text text;
    begin(&text);
    (void)fputs("dp_rank,stage,step,optype,start_ts,duration", text.file);
    for (int c = 0; c < 1000000; c++) {
        (void)fputs(",c", text.file);
    }
    (void)fputs("\n0,0,1,forward-compute,1.5,0.25", text.file);
    for (int c = 0; c < 1000000; c++) {
        (void)fputs(",0", text.file);
    }
    (void)fputs("\n", text.file);
    run = end(&text, "ops.csv");
    assert_int_equal(run->n_traces, 0);
    /* what of the header was not looked at, its line, the row */
    assert_int_equal(file_of(run)->damage.count[INQ_DAMAGE_LIMIT], 3);
    inq_run_free(run);
}

/* ---- telemetry ------------------------------------------------------------------------------- */

static void caps__gpus_without_a_number_past_the_most_are_no_others(void **state)
{
    (void)state;
    struct text text;
    begin(&text);
    (void)fputs("timestamp, uuid, clocks.current.sm [MHz]\n", text.file);
    for (int g = 0; g < 258; g++) {
        (void)fprintf(text.file, "2026/01/15 08:00:00.000, GPU-%d, %d MHz\n", g, 1000 + g);
    }
    struct inq_run *run = end(&text, "gpus.csv");
    assert_int_equal(dropped(run), 2);
    assert_int_equal(file_of(run)->events, 256);
    inq_run_free(run);
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static void caps__what_a_dump_loses_is_counted(void **state)
{
    (void)state;
    struct text text;
    begin(&text);
    (void)fputs("{\"version\": \"2.5\", \"pg_config\": {\"0\": {\"name\": \"0\", \"desc\": "
                "\"default_pg\", \"ranks\": \"[0, 1]\"}}, \"entries\": [7, {\"frames\": [], "
                "\"record_id\": 0, \"pg_id\": 0, \"process_group\": [\"0\", \"default_pg\"], "
                "\"collective_seq_id\": 1, \"p2p_seq_id\": 0, \"op_id\": 1, \"profiling_name\": "
                "\"nccl:all_reduce\", \"time_created_ns\": 1, \"input_sizes\": [[1",
                text.file);
    for (int d = 1; d < 20; d++) {
        (void)fputs(", 1", text.file);
    }
    (void)fputs("]], \"input_dtypes\": [\"Float\"], \"output_sizes\": [[1]], \"output_dtypes\": "
                "[\"Float\"], \"state\": \"scheduled\", \"is_p2p\": false}]}",
                text.file);
    struct inq_run *run = end(&text, "dump_0.json");
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(file_of(run)->damage.count[INQ_DAMAGE_BAD_EVENT], 1); /* the 7 */
    assert_int_equal(dropped(run), 4); /* dimensions past the sixteenth */
    inq_run_free(run);
}

/* ---- what is found --------------------------------------------------------------------------- */

static void caps__files_past_the_most_are_counted(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH + 16];
    test_make_folder(folder);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(path, sizeof path, "%s/%d.txt", folder, i);
        test_write(path, "x", 1);
    }
    const char *paths[] = {folder};
    struct inq_err err = {0};
    struct inq_discovery walk = {.most = 5};
    assert_int_equal(inq_discover_paths(paths, 1, &walk, &err), INQ_OK);
    assert_int_equal(walk.n, 5);
    inq_discovery_release(&walk);
    walk = (struct inq_discovery){.most = 3};
    assert_int_equal(inq_discover_paths(paths, 1, &walk, &err), INQ_OK);
    assert_int_equal(walk.n, 4);
    assert_int_equal(walk.left_out, 2);
    assert_string_equal(walk.files[0].path, folder);
    assert_non_null(strstr(walk.files[0].reason, "2 more files are not looked at"));
    inq_discovery_release(&walk);
    test_remove_folder(folder);
}

enum { PIPE_MIB = 40 };

static void *fill_pipe(void *ctx)
{
    static char block[1 << 16];
    const int *fd = ctx;
    memset(block, ' ', sizeof block);
    memcpy(block, "[2026-03-14 10:00:00] step 1 loss 2.0\n", 38);
    for (int i = 0; i < PIPE_MIB * 16; i++) {
        if (write(*fd, block, sizeof block) < 0) {
            break; /* nobody reads the rest */
        }
    }
    (void)close(*fd);
    return NULL;
}

static void caps__a_pipe_that_gives_more_than_fits_says_so(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    pthread_t writer;
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, fill_pipe, &ends[1]), 0);
    const char *paths[] = {path};
    struct inq_discovery walk = {.n = 0};
    struct inq_err err = {0};
    inq_mem_set_limit(inq_mem_held() + ((uint64_t)PIPE_MIB << 20));
    int code = inq_discover_paths(paths, 1, &walk, &err);
    inq_mem_set_limit(0);
    (void)close(ends[0]);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(code, INQ_OK);
    assert_int_equal(walk.n, 1);
    assert_true(walk.files[0].size < (uint64_t)PIPE_MIB << 20);
    assert_non_null(strstr(walk.files[0].cut, "write it to a file instead"));
    inq_discovery_release(&walk);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caps__a_log_of_45000_ranks_is_kept),
        cmocka_unit_test(caps__events_of_one_kind_past_the_most_are_counted),
        cmocka_unit_test(caps__a_list_of_ranks_is_whole_or_counted),
        cmocka_unit_test(caps__ranks_of_a_long_line_are_counted),
        cmocka_unit_test(caps__a_group_with_too_many_ranks_costs_itself_only),
        cmocka_unit_test(caps__columns_are_not_limited),
        cmocka_unit_test(caps__a_table_with_a_million_columns_says_so),
        cmocka_unit_test(caps__gpus_without_a_number_past_the_most_are_no_others),
        cmocka_unit_test(caps__what_a_dump_loses_is_counted),
        cmocka_unit_test(caps__files_past_the_most_are_counted),
        cmocka_unit_test(caps__a_pipe_that_gives_more_than_fits_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
