/* SPDX-License-Identifier: Apache-2.0 */
/* From shards to traces: jobs, ranks, names, groups. */
#include "support_digest.h"
#include "support_shard.h"

#include "inquest/ingest.h"

#include "base/mem.h"
#include "trace/build/assemble.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SECOND INT64_C(1000000000)

/* A file of a rank that was recorded in [from, from + 1 s). */
static void recorded(struct inq_shard *shard, const char *path, int32_t rank, int32_t world,
                     int64_t from_ns)
{
    made_shard(shard, path, rank, world);
    for (int i = 0; i < 20; i++) {
        made_kernel(shard, "gemm", 7, from_ns + i * SECOND / 20 + rank, SECOND / 40, INQ_TIME_NONE,
                    INQ_NONE);
    }
}

static void set_process(struct inq_shard *shard, const char *host, int64_t pid)
{
    shard->ranks[0].host = made_name(shard, host);
    shard->ranks[0].pid = pid;
}

static const struct inq_trace *only_trace(const struct inq_run *run)
{
    assert_int_equal(run->n_traces, 1);
    return run->traces[0];
}

/* The job that the file is of. */
static size_t job_of(const struct inq_run *run, const char *path)
{
    for (size_t t = 0; t < run->n_traces; t++) {
        for (size_t f = 0; f < run->traces[t]->n_files; f++) {
            if (strcmp(run->traces[t]->files[f].path, path) == 0) {
                return t;
            }
        }
    }
    fail_msg("%s is in no job", path);
    return 0;
}

/* ---- one job --------------------------------------------------------------------------------- */

static void ranks__are_sorted_and_missing_ones_listed(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    recorded(&shards[0], "run/x.json", 4, 6, 0);
    recorded(&shards[1], "run/y.json", 0, 6, 0);
    recorded(&shards[2], "run/z.json", 2, 6, 0);
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = only_trace(run);
    assert_string_equal(trace->name, "run");
    assert_int_equal(trace->world_size, 6);
    assert_int_equal(trace->n_ranks, 3);
    static const int32_t expected[] = {0, 2, 4};
    static const int32_t missing[] = {1, 3, 5};
    assert_int_equal(trace->n_missing, 3);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(trace->ranks[r].rank, expected[r]);
        assert_int_equal(trace->missing[r], missing[r]);
    }
    assert_string_equal(trace->files[trace->ranks[0].file].path, "run/y.json");
    assert_string_equal(inq_trace_str(trace, trace->ranks[2].label), "4");
    inq_run_free(run);
}

static void ranks__unknown_ones_are_called_after_their_files(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    recorded(&shards[0], "run/left.json", -1, -1, 0);
    recorded(&shards[1], "run/right.json", -1, -1, 0);
    recorded(&shards[2], "run/rank1.json", 1, 4, 0);
    set_process(&shards[1], "node-7", 31);
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_ranks, 3);
    assert_int_equal(trace->ranks[0].rank, -1);
    assert_int_equal(trace->ranks[1].rank, -1);
    assert_string_equal(inq_trace_str(trace, trace->ranks[0].label), "left.json");
    assert_string_equal(inq_trace_str(trace, trace->ranks[1].label), "node-7_31");
    assert_int_equal(trace->n_missing, 0); /* they may be any */
    inq_run_free(run);
}

static void ranks__an_absurd_world_size_lists_nothing(void **state)
{
    (void)state;
    struct inq_shard shard;
    recorded(&shard, "run/a.json", 0, INT32_MAX, 0);
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_missing, 0);
    inq_run_free(run);
}

static void names__equal_texts_of_different_files_are_one(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    recorded(&shards[0], "run/a", 0, 2, 0);
    made_shard(&shards[1], "run/b", 1, 2);
    made_kernel(&shards[1], "first in b", 7, 10, 5, 3, INQ_NONE);
    made_kernel(&shards[1], "gemm", 7, 20, 5, 4, INQ_NONE);
    made_note(&shards[1], "a note", 1, 2, false);
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = only_trace(run);
    const struct inq_rank *b = &trace->ranks[1];
    assert_string_equal(inq_trace_str(trace, b->events.name[0]), "first in b");
    assert_string_equal(inq_trace_str(trace, b->calls.name[0]), "cudaLaunchKernel");
    assert_string_equal(inq_trace_str(trace, b->notes[0].name), "a note");
    assert_int_equal(b->events.name[1], trace->ranks[0].events.name[0]);
    inq_run_free(run);
}

static void made_allreduce(struct inq_shard *shard, uint32_t group)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = group;
    made_kernel(shard, "ncclDevKernel_AllReduce", 20, 100, 10, INQ_TIME_NONE,
                made_comm(shard, &comm));
}

static uint32_t group_of(const struct inq_trace *trace, size_t rank)
{
    return trace->ranks[rank].comms[0].group;
}

/* A kernel at start_ns with a grid of that many blocks; the first comes last in time, so that
 * sealing moves them. */
static void launched(struct inq_shard *shard, int64_t start_ns, int32_t blocks, const char *op)
{
    struct inq_launch launch = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};
    launch.op = made_name(shard, op);
    struct inq_event_row row = {.start_ns = start_ns,
                                .dur_ns = 10,
                                .name = made_name(shard, "gemm"),
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .label = INQ_NONE,
                                .kind = INQ_EVENT_KERNEL,
                                .cls = INQ_CLASS_COMPUTE};
    assert_int_equal(inq_launches_add(&shard->launches, &launch, &row.launch, NULL), INQ_OK);
    assert_int_equal(inq_rank_lane(&shard->ranks[0], INQ_LANE_STREAM, 0, 7, &row.lane, NULL),
                     INQ_OK);
    assert_int_equal(inq_rank_add_event(&shard->ranks[0], &row, NULL), INQ_OK);
}

static void launches__of_all_files_are_one_table(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    for (int i = 0; i < 3; i++) {
        static const char *const paths[] = {"run/a.json", "run/b.json", "run/c.json"};
        made_shard(&shards[i], paths[i], i, 3);
    }
    made_kernel(&shards[0], "before any launch", 7, 500, 10, INQ_TIME_NONE, INQ_NONE);
    launched(&shards[0], 400, 8, "aten::mm");
    launched(&shards[0], 300, 16, "aten::mm");
    launched(&shards[1], 300, 16, "aten::mm");
    launched(&shards[1], 400, 16, "aten::bmm");
    made_kernel(&shards[2], "gemm", 7, 300, 10, INQ_TIME_NONE, INQ_NONE);
    struct inq_run *run = made_run(shards, 3, false);
    struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_launches, 4); /* the one of nothing among them */
    const struct inq_rank *ranks = trace->ranks;
    assert_int_equal(inq_trace_launch(trace, &ranks[0], 0)->grid[0], 16);
    assert_int_equal(inq_trace_launch(trace, &ranks[0], 1)->grid[0], 8);
    assert_int_equal(inq_trace_launch(trace, &ranks[0], 2)->grid[0], 0);
    assert_string_equal(inq_trace_str(trace, inq_trace_launch(trace, &ranks[0], 0)->op),
                        "aten::mm");
    assert_int_equal(ranks[0].events.launch[0], ranks[1].events.launch[0]);
    assert_int_not_equal(ranks[1].events.launch[1], ranks[1].events.launch[0]);
    assert_null(ranks[2].events.launch);
    assert_int_equal(inq_trace_launch(trace, &ranks[2], 0)->grid[0], 0);
    int64_t origin = 300;
    assert_int_equal(inq_trace_keep_time(trace, 350 - origin, 450 - origin, NULL), INQ_OK);
    assert_int_equal(ranks[0].events.n, 1);
    assert_int_equal(inq_trace_launch(trace, &ranks[0], 0)->grid[0], 8);
    inq_run_free(run);
}

static void groups__merge_by_name_and_ranks(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    static const int32_t low[] = {0, 1};
    static const int32_t high[] = {2, 3};
    for (int32_t r = 0; r < 4; r++) {
        made_shard(&shards[r], r == 0 ? "r/0" : r == 1 ? "r/1" : r == 2 ? "r/2" : "r/3", r, 4);
        (void)made_group(&shards[r], r % 2 == 0 ? "one more" : "another", 1, &r, 1);
        made_allreduce(&shards[r], made_group(&shards[r], "tp", 2, r < 2 ? low : high, 2));
    }
    struct inq_run *run = made_run(shards, 4, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_groups, 6);
    assert_int_equal(group_of(trace, 0), group_of(trace, 1));
    assert_int_equal(group_of(trace, 2), group_of(trace, 3));
    assert_int_not_equal(group_of(trace, 0), group_of(trace, 2));
    const struct inq_group *group = &trace->groups[group_of(trace, 2)];
    assert_string_equal(inq_trace_str(trace, group->name), "tp");
    assert_int_equal(group->size, 2);
    assert_int_equal(group->n_ranks, 2);
    assert_int_equal(group->ranks[0], 2);
    inq_run_free(run);
}

/* A file that names a group but not its ranks means the one that others describe and it is in. */
static void groups__without_ranks_are_those_described_elsewhere(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    static const int32_t low[] = {0, 1};
    static const int32_t high[] = {2, 3};
    made_shard(&shards[0], "r/0", 0, 4);
    made_allreduce(&shards[0], made_group(&shards[0], "tp", 2, NULL, 0));
    made_shard(&shards[1], "r/1", 1, 4);
    made_allreduce(&shards[1], made_group(&shards[1], "tp", 2, low, 2));
    made_shard(&shards[2], "r/2", 2, 4);
    made_allreduce(&shards[2], made_group(&shards[2], "tp", 2, high, 2));
    made_shard(&shards[3], "r/3", 3, 4);
    made_allreduce(&shards[3], made_group(&shards[3], "tp", 2, high, 1)); /* a part of its ranks */
    struct inq_run *run = made_run(shards, 4, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_groups, 2);
    assert_int_equal(group_of(trace, 0), group_of(trace, 1));
    assert_int_equal(group_of(trace, 3), group_of(trace, 2));
    inq_run_free(run);
}

static void groups__never_described_stay_unknown(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    made_shard(&shards[0], "r/0", 0, 2);
    made_allreduce(&shards[0], made_group(&shards[0], "dp", 2, NULL, 0));
    made_shard(&shards[1], "r/1", 1, 2);
    made_allreduce(&shards[1], made_group(&shards[1], "dp", 2, NULL, 0));
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_groups, 1);
    assert_int_equal(trace->groups[0].n_ranks, 0);
    assert_int_equal(trace->groups[0].size, 2);
    inq_run_free(run);
}

static void shards__with_several_ranks_stay_together(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "table.csv", 1, -1);
    shard.file.format = "op-table";
    shard.ranks[0].has_clock_epoch = false;
    uint32_t index;
    assert_int_equal(inq_shard_add_rank(&shard, &index, NULL), INQ_OK);
    shard.ranks[1].rank = 0;
    struct inq_label label = {INQ_OP_FORWARD, 3, 0, 0, 0, 0, 0};
    made_op(&shard, 0, &label, 0, 10);
    made_op(&shard, 1, &label, 5, 10);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_string_equal(trace->name, "table.csv");
    assert_int_equal(trace->n_ranks, 2);
    assert_int_equal(trace->ranks[0].rank, 0);
    assert_int_equal(trace->ranks[0].events.start_ns[0], 5);
    assert_int_equal(trace->n_steps, 1);
    assert_int_equal(trace->steps[0].number, 3);
    inq_run_free(run);
}

/* ---- several jobs ---------------------------------------------------------------------------- */

static void jobs__far_apart_in_time(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    recorded(&shards[0], "run/a0", 0, 4, 0);
    recorded(&shards[1], "run/a1", 1, 4, 2 * SECOND); /* clocks differ by some seconds */
    recorded(&shards[2], "run/b2", 2, 4, 300 * SECOND);
    recorded(&shards[3], "run/b3", 3, 4, 301 * SECOND);
    struct inq_run *run = made_run(shards, 4, false);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "run/a0"), 0);
    assert_int_equal(job_of(run, "run/a1"), 0);
    assert_int_equal(job_of(run, "run/b2"), 1);
    assert_int_equal(job_of(run, "run/b3"), 1);
    assert_string_equal(run->traces[0]->name, "run #1");
    assert_string_equal(run->traces[1]->name, "run #2");
    assert_int_equal(run->traces[0]->n_missing, 2);
    inq_run_free(run);
}

/* Files of every rank, once, in the same steps: it is the clocks that are apart. */
static void jobs__a_whole_world_in_the_same_steps_is_one(void **state)
{
    (void)state;
    for (int other_steps = 0; other_steps < 2; other_steps++) {
        struct inq_shard shards[4];
        for (int r = 0; r < 4; r++) {
            char mark[32];
            int64_t from_ns = r == 2 ? 3600 * SECOND : 0;
            recorded(&shards[r],
                     r == 2   ? "run/c"
                     : r == 1 ? "run/b"
                     : r == 0 ? "run/a"
                              : "run/d",
                     r, 4, from_ns);
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", r == 2 && other_steps ? 8 : 7);
            made_note(&shards[r], mark, from_ns, SECOND, false);
        }
        struct inq_run *run = made_run(shards, 4, false);
        assert_int_equal(run->n_traces, other_steps ? 2 : 1);
        inq_run_free(run);
    }
}

/* Two hosts of one job whose clocks are an hour apart: each lacks the other's ranks, and a group
 * has some of both. Another run of the same ranks, or steps that differ, are another job. */
static void jobs__hosts_an_hour_apart_that_complement_each_other(void **state)
{
    (void)state;
    static const char *const paths[] = {"run/a", "run/b", "run/c", "run/d"};
    static const int32_t world[] = {0, 1, 2, 3};
    for (int other = 0; other < 3; other++) { /* 1: a rank is there twice; 2: other steps */
        struct inq_shard shards[4];
        for (int i = 0; i < 4; i++) {
            int64_t from_ns = i < 2 ? 0 : 3600 * SECOND;
            recorded(&shards[i], paths[i], other == 1 && i == 3 ? 1 : i, 8, from_ns);
            (void)made_group(&shards[i], "dp", 4, world, 4);
            made_note(&shards[i], other == 2 && i > 1 ? "ProfilerStep#9" : "ProfilerStep#7",
                      from_ns, SECOND, false);
        }
        struct inq_run *run = made_run(shards, 4, false);
        assert_int_equal(run->n_traces, other == 0 ? 1 : 2);
        inq_run_free(run);
    }
}

static void jobs__same_ranks_soon_after(void **state)
{
    (void)state;
    struct inq_shard shards[6];
    recorded(&shards[0], "run/f", 0, 3, 10 * SECOND);
    recorded(&shards[1], "run/e", 1, 3, 10 * SECOND + 1000);
    recorded(&shards[2], "run/d", 2, 3, 10 * SECOND + 2000);
    recorded(&shards[3], "run/c", 0, 3, 14 * SECOND);
    recorded(&shards[4], "run/b", 1, 3, 14 * SECOND + 1000);
    recorded(&shards[5], "run/a", 2, 3, 14 * SECOND + 2000);
    struct inq_run *run = made_run(shards, 6, true);
    assert_int_equal(run->n_traces, 2);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(run->traces[t]->n_ranks, 3);
        assert_int_equal(run->traces[t]->n_missing, 0);
    }
    assert_int_equal(job_of(run, "run/d"), 0);
    assert_int_equal(job_of(run, "run/c"), 1);
    inq_run_free(run);
}

/* Several cycles of one profiler: the same processes, one after the other. */
static void jobs__captures_of_one_process_stay_apart(void **state)
{
    (void)state;
    struct inq_shard shards[6];
    static const char *const paths[] = {"r/0.1", "r/0.2", "r/0.3", "r/1.1", "r/1.2", "r/1.3"};
    for (int i = 0; i < 6; i++) {
        recorded(&shards[i], paths[i], i / 3, 2, (i % 3) * 5 * SECOND);
        set_process(&shards[i], "node", 100 + i / 3);
    }
    struct inq_run *run = made_run(shards, 6, true);
    assert_int_equal(run->n_traces, 3);
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(run->traces[t]->n_ranks, 2);
    }
    assert_int_equal(job_of(run, "r/0.2"), job_of(run, "r/1.2"));
    inq_run_free(run);
}

static void jobs__at_the_same_time_in_folders(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    recorded(&shards[0], "x/one/node0/0", 0, 2, 0);
    recorded(&shards[1], "x/one/node1/1", 1, 2, 0);
    recorded(&shards[2], "x/two/node0/0", 0, 2, 50);
    recorded(&shards[3], "x/two/node1/1", 1, 2, 50);
    struct inq_run *run = made_run(shards, 4, true);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "x/one/node0/0"), job_of(run, "x/one/node1/1"));
    assert_int_equal(job_of(run, "x/two/node0/0"), job_of(run, "x/two/node1/1"));
    assert_string_equal(run->traces[0]->name, "one");
    assert_string_equal(run->traces[1]->name, "two");
    inq_run_free(run);
}

/* Nothing tells the two apart but the processes' ids. */
static void jobs__at_the_same_time_on_one_host(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    recorded(&shards[0], "x/a", 0, 2, 0);
    recorded(&shards[1], "x/b", 0, 2, 100);
    recorded(&shards[2], "x/c", 1, 2, 0);
    recorded(&shards[3], "x/d", 1, 2, 100);
    set_process(&shards[0], "node", 400);
    set_process(&shards[1], "node", 900);
    set_process(&shards[2], "node", 401);
    set_process(&shards[3], "node", 901);
    struct inq_run *run = made_run(shards, 4, true);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "x/a"), job_of(run, "x/c"));
    assert_int_equal(job_of(run, "x/b"), job_of(run, "x/d"));
    inq_run_free(run);
}

/* Hosts alone do not make jobs: only where ranks are there twice. */
static void jobs__one_rank_twice_does_not_part_the_hosts(void **state)
{
    (void)state;
    struct inq_shard shards[5];
    static const char *const paths[] = {"x/0", "x/1", "x/2", "x/3", "x/3 again"};
    for (int i = 0; i < 5; i++) {
        recorded(&shards[i], paths[i], i < 4 ? i : 3, 4, i < 4 ? 0 : 7000);
        set_process(&shards[i], i < 2 ? "n0" : "n1", 50 + i);
    }
    struct inq_run *run = made_run(shards, 5, true);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "x/0"), job_of(run, "x/2"));
    assert_int_not_equal(job_of(run, "x/3"), job_of(run, "x/3 again"));
    inq_run_free(run);
}

static void jobs__of_different_sizes_or_names(void **state)
{
    (void)state;
    struct inq_shard shards[5];
    recorded(&shards[0], "x/a", 0, 2, 0);
    recorded(&shards[1], "x/b", 0, 8, 0);
    recorded(&shards[2], "x/c", 1, 2, 0);
    recorded(&shards[3], "x/d", 2, 2, 0);
    recorded(&shards[4], "x/e", 4, -1, 0); /* says neither: goes along */
    shards[3].ranks[0].job = made_name(&shards[3], "ablation");
    shards[0].ranks[0].job = made_name(&shards[0], "main");
    struct inq_run *run = made_run(shards, 5, true);
    assert_int_equal(run->n_traces, 3);
    assert_int_equal(job_of(run, "x/a"), job_of(run, "x/c"));
    assert_int_not_equal(job_of(run, "x/a"), job_of(run, "x/b"));
    assert_int_not_equal(job_of(run, "x/a"), job_of(run, "x/d"));
    assert_string_equal(run->traces[job_of(run, "x/d")]->name, "ablation");
    inq_run_free(run);
}

static void jobs__of_different_formats(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    recorded(&shards[0], "x/a", 0, 2, 0);
    recorded(&shards[1], "x/b", 1, 2, 0);
    recorded(&shards[2], "x/c", 0, 2, 0);
    shards[1].file.format = "chrome"; /* what Kineto writes, too */
    shards[2].file.format = "nsys";
    struct inq_run *run = made_run(shards, 3, true);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "x/a"), job_of(run, "x/b"));
    inq_run_free(run);
}

static void jobs__a_copy_counts_once(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    recorded(&shards[0], "x/0.json", 0, 2, 0);
    recorded(&shards[1], "x/0.json.gz", 0, 2, 0);
    recorded(&shards[2], "x/1.json", 1, 2, 0);
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_ranks, 2);
    assert_int_equal(trace->n_files, 3);
    assert_string_equal(trace->files[2].path, "x/0.json.gz");
    assert_false(trace->files[2].read);
    assert_non_null(strstr(trace->files[2].reason, "x/0.json"));
    inq_run_free(run);
}

/* What was left of a file that was not written to its end, beside the one that was. */
static void jobs__a_cut_copy_does_not_count(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    recorded(&shards[0], "x/0.json.gz", 0, 2, 0);
    recorded(&shards[1], "x/0.json", 0, 2, 0);
    recorded(&shards[2], "x/1.json.gz", 1, 2, 0);
    shards[1].ranks[0].events.n = 7;
    shards[1].file.events = 7;
    shards[0].file.events = 20;
    inq_damage_add(&shards[1].file.damage, INQ_DAMAGE_TRUNCATED, 1, 0);
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_ranks, 2);
    assert_int_equal(trace->ranks[0].events.n, 20);
    assert_false(trace->files[2].read);
    assert_string_equal(trace->files[2].reason, "the beginning of x/0.json.gz, not counted");
    assert_int_equal(inq_damage_total(&trace->files[2].damage), 0);
    inq_run_free(run);
}

/* A file that was cut before its first event still belongs to its job. */
static void jobs__without_a_time_join_where_their_rank_lacks(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    recorded(&shards[0], "x/0", 0, 2, 0);
    recorded(&shards[1], "x/0 later", 0, 2, 500 * SECOND);
    recorded(&shards[2], "x/1 later", 1, 2, 500 * SECOND);
    made_shard(&shards[3], "x/1", 1, 2);
    struct inq_run *run = made_run(shards, 4, true);
    assert_int_equal(run->n_traces, 2);
    assert_int_equal(job_of(run, "x/1"), job_of(run, "x/0"));
    inq_run_free(run);
}

static void jobs__one_bad_time_stamp_does_not_join_them(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    recorded(&shards[0], "x/a", 0, 2, 0);
    made_kernel(&shards[0], "gemm", 7, 100000 * SECOND, 10, INQ_TIME_NONE, INQ_NONE);
    recorded(&shards[1], "x/b", 1, 2, 5000 * SECOND);
    struct inq_run *run = made_run(shards, 2, true);
    assert_int_equal(run->n_traces, 2);
    inq_run_free(run);
}

static void jobs__nothing_in_nothing_out(void **state)
{
    (void)state;
    struct inq_run *run = made_run(NULL, 0, true);
    assert_int_equal(run->n_traces, 0);
    inq_run_free(run);
}

/* ---- order, memory --------------------------------------------------------------------------- */

enum { MIXED = 9 };

static void mixed(struct inq_shard shards[MIXED], const int order[MIXED])
{
    static const char *const paths[MIXED] = {"x/a/0", "x/a/1", "x/a/2", "x/b/0", "x/b/1",
                                             "x/b/2", "x/c",   "x/d",   "x/e"};
    for (int place = 0; place < MIXED; place++) {
        int i = order[place];
        struct inq_shard *shard = &shards[place];
        recorded(shard, paths[i], i < 6 ? i % 3 : -1, i < 6 ? 3 : -1,
                 i < 3   ? 0
                 : i < 6 ? 100
                         : i * SECOND);
        made_note(shard, i % 2 == 0 ? "even" : "odd", 5, 6, false);
        made_allreduce(shard, made_group(shard, i < 3 ? "g" : "h", 3, NULL, 0));
    }
}

static void order__of_files_does_not_matter(void **state)
{
    (void)state;
    static const int orders[][MIXED] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1, 0}, {3, 8, 0, 5, 1, 7, 2, 4, 6}};
    uint64_t digest[3];
    for (int o = 0; o < 3; o++) {
        struct inq_shard shards[MIXED];
        mixed(shards, orders[o]);
        struct inq_run *run = made_run(shards, MIXED, true);
        assert_int_equal(run->n_traces, 2);
        digest[o] = test_digest_run(run, TEST_DIGEST_ALL);
        inq_run_free(run);
    }
    assert_true(digest[0] == digest[1] && digest[0] == digest[2]);
}

static void memory__runs_out_anywhere(void **state)
{
    (void)state;
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    bool done = false;
    for (long nth = 1; !done; nth++) {
        struct inq_shard shards[MIXED];
        struct inq_run *run = NULL;
        mixed(shards, order);
        for (size_t i = 0; i < MIXED; i++) {
            assert_int_equal(inq_shard_finalize(&shards[i], NULL), INQ_OK);
        }
        inq_mem_fail_after(nth);
        int code = inq_assemble(shards, MIXED, true, 1, &run, NULL);
        inq_mem_fail_after(0);
        done = code == INQ_OK;
        assert_true(done || (code == INQ_NOMEM && run == NULL));
        inq_run_free(run);
        for (size_t i = 0; i < MIXED; i++) {
            inq_shard_release(&shards[i]);
        }
    }
}

/* ---- real files ------------------------------------------------------------------------------ */

static struct inq_run *real(const char *folder)
{
    char path[512];
    const char *paths[] = {path};
    struct stat info;
    struct inq_run *run = NULL;
    assert_true(snprintf(path, sizeof path, "%s/kineto/%s", INQ_SHARED_DATA, folder) <
                (int)sizeof path);
    if (stat(path, &info) != 0) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
    return run;
}

static void real__two_jobs_in_one_folder(void **state)
{
    (void)state;
    struct inq_run *run = real("torchrec_two_jobs");
    assert_int_equal(run->n_traces, 2);
    for (size_t t = 0; t < 2; t++) {
        const struct inq_trace *trace = run->traces[t];
        assert_int_equal(trace->n_ranks, 4);
        assert_int_equal(trace->world_size, 4);
        assert_int_equal(trace->n_missing, 0);
        for (int32_t r = 0; r < 4; r++) {
            assert_int_equal(trace->ranks[r].rank, r);
            const char *path = trace->files[trace->ranks[r].file].path;
            bool first = strstr(path, "_2404") != NULL || strstr(path, "_2405") != NULL;
            assert_int_equal(first, t == 0);
        }
    }
    int64_t apart_ns = run->traces[1]->ranks[0].first_ns - run->traces[0]->ranks[0].first_ns;
    assert_true(apart_ns / SECOND == 268);
    inq_run_free(run);
}

static void real__unrelated_files_stay_apart(void **state)
{
    (void)state;
    struct inq_run *run = real("hta");
    for (size_t t = 0; t < run->n_traces; t++) {
        assert_int_equal(run->traces[t]->n_ranks, 1);
    }
    assert_true(run->n_traces >= 6);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks__are_sorted_and_missing_ones_listed),
        cmocka_unit_test(ranks__unknown_ones_are_called_after_their_files),
        cmocka_unit_test(ranks__an_absurd_world_size_lists_nothing),
        cmocka_unit_test(names__equal_texts_of_different_files_are_one),
        cmocka_unit_test(launches__of_all_files_are_one_table),
        cmocka_unit_test(groups__merge_by_name_and_ranks),
        cmocka_unit_test(groups__without_ranks_are_those_described_elsewhere),
        cmocka_unit_test(groups__never_described_stay_unknown),
        cmocka_unit_test(shards__with_several_ranks_stay_together),
        cmocka_unit_test(jobs__far_apart_in_time),
        cmocka_unit_test(jobs__a_whole_world_in_the_same_steps_is_one),
        cmocka_unit_test(jobs__hosts_an_hour_apart_that_complement_each_other),
        cmocka_unit_test(jobs__same_ranks_soon_after),
        cmocka_unit_test(jobs__captures_of_one_process_stay_apart),
        cmocka_unit_test(jobs__at_the_same_time_in_folders),
        cmocka_unit_test(jobs__at_the_same_time_on_one_host),
        cmocka_unit_test(jobs__one_rank_twice_does_not_part_the_hosts),
        cmocka_unit_test(jobs__of_different_sizes_or_names),
        cmocka_unit_test(jobs__of_different_formats),
        cmocka_unit_test(jobs__a_copy_counts_once),
        cmocka_unit_test(jobs__a_cut_copy_does_not_count),
        cmocka_unit_test(jobs__without_a_time_join_where_their_rank_lacks),
        cmocka_unit_test(jobs__one_bad_time_stamp_does_not_join_them),
        cmocka_unit_test(jobs__nothing_in_nothing_out),
        cmocka_unit_test(order__of_files_does_not_matter),
        cmocka_unit_test(memory__runs_out_anywhere),
        cmocka_unit_test(real__two_jobs_in_one_folder),
        cmocka_unit_test(real__unrelated_files_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
