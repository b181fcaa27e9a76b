/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: it covers the time without a gap, follows the last arrival, and slack is
 * exactly how much an op may be delayed. */
#include "inquest/analysis.h"

#include "base/mem.h"
#include "graph/critical_path.h"
#include "graph/from_trace.h"
#include "inquest/graph.h"
#include "inquest/ingest.h"
#include "support_shard.h"

#include <setjmp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uint32_t add(struct inq_graph_builder *b, int32_t rank, uint32_t lane, int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = lane;
    uint32_t id = INQ_NONE;
    assert_int_equal(inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL), INQ_OK);
    return id;
}

static struct inq_graph *finish(struct inq_graph_builder *b)
{
    struct inq_graph *g = NULL;
    assert_int_equal(inq_graph_finish(b, &g, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    return g;
}

/* ---- small graphs ---------------------------------------------------------------------------- */

static void path__goes_through_the_last_arriver(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t quick = add(b, 0, 0, 10);
    uint32_t slow = add(b, 1, 0, 70);
    uint32_t ids[] = {add(b, 0, 0, 5), add(b, 1, 0, 5)};
    assert_int_equal(inq_graph_add_group(b, ids, 2, 2, NULL), INQ_OK);
    uint32_t after = add(b, 0, 0, 20);
    struct inq_graph *g = finish(b);
    int64_t start[5];
    int64_t end[5];
    int64_t slack[5];
    assert_int_equal(inq_simulate(g, NULL, NULL, start, end), 95);
    struct inq_timing timing = {start, end, NULL};
    struct inq_path path = {0};
    assert_int_equal(inq_path_find(g, &timing, g->index_of[after], 0, &path, NULL), INQ_OK);
    assert_int_equal(path.n, 3);
    assert_int_equal(path.pieces[0].op, g->index_of[slow]);
    assert_int_equal(path.pieces[0].to_ns, 70);
    assert_int_equal(path.pieces[1].op, g->index_of[ids[0]]); /* its transfer, not its wait */
    assert_int_equal(path.pieces[1].from_ns, 70);
    assert_int_equal(path.pieces[2].op, g->index_of[after]);
    inq_slack_find(g, &timing, slack);
    assert_int_equal(slack[g->index_of[quick]], 60);
    assert_int_equal(slack[g->index_of[slow]], 0);
    assert_int_equal(slack[g->index_of[ids[1]]], 20);
    inq_path_release(&path);
    inq_graph_free(g);
}

static void path__counts_delays_and_stops_at_the_origin(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, 0, 10);
    (void)add(b, 0, 0, 10);
    struct inq_graph *g = finish(b);
    int64_t start[] = {100, 130};
    int64_t end[] = {110, 140};
    struct inq_timing timing = {start, end, NULL};
    struct inq_path path = {0};
    assert_int_equal(inq_path_find(g, &timing, 1, 95, &path, NULL), INQ_OK);
    assert_int_equal(path.n, 4);
    assert_true(path.pieces[0].delay && path.pieces[2].delay);
    assert_int_equal(path.pieces[0].from_ns, 95);
    assert_int_equal(path.pieces[2].from_ns, 110);
    inq_path_release(&path);
    assert_int_equal(inq_path_find(g, &timing, 1, 105, &path, NULL), INQ_OK);
    assert_int_equal(path.pieces[0].from_ns, 105);
    inq_path_release(&path);
    inq_graph_free(g);
}

/* ---- random graphs --------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { N = 120 };

static struct inq_graph *make_random(uint64_t *seed)
{
    struct inq_graph_builder *b = inq_graph_builder_new();
    for (uint32_t i = 0; i < N; i++) {
        (void)add(b, (int32_t)(i % 5), i % 4 == 0 ? INQ_NONE : 0,
                  1 + (int64_t)(next_random(seed) % 1000));
        for (int k = 0; k < 2 && i > 8; k++) {
            uint32_t before = (uint32_t)(next_random(seed) % i);
            assert_int_equal(inq_graph_add_dep(b, before, i, NULL), INQ_OK);
        }
    }
    return finish(b);
}

static void check_cover(const struct inq_path *path, int64_t from, int64_t to)
{
    assert_true(path->n > 0);
    assert_int_equal(path->pieces[0].from_ns, from);
    assert_int_equal(path->pieces[path->n - 1].to_ns, to);
    for (size_t i = 0; i < path->n; i++) {
        assert_true(path->pieces[i].from_ns < path->pieces[i].to_ns);
        assert_true(i == 0 || path->pieces[i].from_ns == path->pieces[i - 1].to_ns);
    }
}

static void slack__is_exactly_what_an_op_may_be_late(void **state)
{
    (void)state;
    uint64_t seed = 4711;
    for (int trial = 0; trial < 30; trial++) {
        struct inq_graph *g = make_random(&seed);
        int64_t start[N];
        int64_t end[N];
        int64_t slack[N];
        int64_t total = inq_simulate(g, NULL, NULL, start, end);
        struct inq_timing timing = {start, end, NULL};
        inq_slack_find(g, &timing, slack);
        uint32_t last = 0;
        for (uint32_t i = 0; i < N; i++) {
            last = end[i] > end[last] ? i : last;
        }
        struct inq_path path = {0};
        assert_int_equal(inq_path_find(g, &timing, last, 0, &path, NULL), INQ_OK);
        check_cover(&path, 0, total);
        for (size_t i = 0; i < path.n; i++) {
            assert_false(path.pieces[i].delay);
            assert_int_equal(slack[path.pieces[i].op], 0);
        }
        inq_path_release(&path);
        for (size_t i = 0; i < N; i++) {
            int64_t other[N];
            g->dur_ns[i] += slack[i];
            assert_int_equal(inq_simulate(g, NULL, NULL, NULL, other), total);
            g->dur_ns[i] += 1;
            assert_int_equal(inq_simulate(g, NULL, NULL, NULL, other), total + 1);
            g->dur_ns[i] -= slack[i] + 1;
        }
        inq_graph_free(g);
    }
}

/* ---- real runs ------------------------------------------------------------------------------- */

static struct inq_run *load(const char *path)
{
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    if (access(path, R_OK) != 0) {
        print_message("no real data at %s: skipped\n", path);
        skip();
    }
    if (inq_ingest(&path, 1, NULL, &run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(run->n_traces > 0);
    return run;
}

static struct inq_report *report_on(const struct inq_trace *trace)
{
    const char *only[] = {"critical_path"};
    struct inq_analysis_options options = {.only = only, .n_only = 1};
    struct inq_err err = {0};
    struct inq_report *report = NULL;
    if (inq_analyze(trace, &options, &report, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return report;
}

static void check_sums(const struct inq_critical_path *p)
{
    int64_t kinds = 0;
    int64_t ranks = 0;
    int64_t stages = 0;
    int64_t segments = 0;
    for (size_t k = 0; k < p->n_by_kind; k++) {
        kinds += p->by_kind[k].ns_per_step;
    }
    for (size_t r = 0; r < p->n_by_rank; r++) {
        ranks += p->by_rank_ns[r];
    }
    for (size_t s = 0; s < p->n_by_stage; s++) {
        stages += p->by_stage[s].ns_per_step;
    }
    for (size_t i = 0; i < p->n_segments; i++) {
        segments += p->segments[i].end_ns - p->segments[i].start_ns;
    }
    assert_int_equal(kinds, p->length_ns);
    assert_int_equal(ranks, p->length_ns);
    assert_true(p->n_by_stage == 0 || stages == p->length_ns);
    assert_int_equal(segments + p->left_out_ns, p->length_ns);
    assert_true(p->n_segments <= 1000 && (p->n_segments_left_out == 0 || p->n_segments == 1000));
}

static void path__sums_on_real_runs(void **state)
{
    (void)state;
    static const char *const runs[] = {"whatif/ST/trace-ST.csv.gz", "primus/pp8",
                                       "kineto/torchrec_sleep",     "kineto/dlrm_8ranks",
                                       "kineto/megatron_tp2",       "kineto/resnet18_ddp",
                                       "kineto/torchrec_4"};
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", INQ_SHARED_DATA, runs[k]);
        struct inq_run *run = load(path);
        for (size_t t = 0; t < run->n_traces; t++) {
            struct inq_report *r = report_on(run->traces[t]);
            assert_non_null(r->critical_path);
            check_sums(r->critical_path);
            inq_report_free(r);
        }
        inq_run_free(run);
    }
}

/* Kernels with gaps between them, in so many segments; what is past the most is counted. */
static void path__segments_past_the_most_are_counted(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    for (int kernels = MOST / 2; kernels <= MOST / 2 + 1; kernels++) {
        struct inq_shard shard;
        made_shard(&shard, "a", 0, 1);
        for (int64_t i = 0; i < kernels; i++) {
            made_kernel(&shard, "gemm", 7, 1000000000 + i * 1000000, 600000 + i, INQ_TIME_NONE,
                        INQ_NONE);
        }
        struct inq_run *run = made_run(&shard, 1, false);
        struct inq_report *r = report_on(run->traces[0]);
        const struct inq_critical_path *p = r->critical_path;
        size_t all = 2 * (size_t)kernels - 1;
        assert_int_equal(p->n_segments, all < MOST ? all : MOST);
        assert_int_equal(p->n_segments_left_out, all < MOST ? 0 : all - MOST);
        check_sums(p);
        inq_report_free(r);
        inq_run_free(run);
    }
}

/* Two ranks of 10 ms steps, the second's `later_ns` after the first's; no collective between them:
 * whether there is a path over both. */
static bool has_path(int64_t later_ns)
{
    struct inq_shard shards[2];
    for (int rank = 0; rank < 2; rank++) {
        struct inq_shard *shard = &shards[rank];
        made_shard(shard, rank == 0 ? "a" : "b", rank, 2);
        for (int64_t step = 0; step < 3; step++) {
            int64_t start_ns = 1000000000 + step * 50000000 + rank * later_ns;
            char name[32];
            (void)snprintf(name, sizeof name, "ProfilerStep#%" PRId64, step);
            made_note(shard, name, start_ns, 10000000, false);
            made_kernel(shard, "gemm", 7, start_ns, 10000000, start_ns, INQ_NONE);
        }
    }
    struct inq_run *run = made_run(shards, 2, false);
    assert_int_equal(run->traces[0]->n_steps, 3);
    struct inq_report *r = report_on(run->traces[0]);
    bool has = r->critical_path != NULL;
    inq_report_free(r);
    inq_run_free(run);
    return has;
}

static void path__is_of_ranks_that_run_a_step_together(void **state)
{
    (void)state;
    assert_true(has_path(0));
    assert_true(has_path(9999999));
    assert_false(has_path(10000000)); /* one after the other */
}

/* Rank 2 sleeps: the path is its host. */
static void path__finds_the_rank_whose_host_sleeps(void **state)
{
    (void)state;
    struct inq_run *run = load(INQ_SHARED_DATA "/kineto/torchrec_sleep");
    struct inq_report *r = report_on(run->traces[0]);
    const struct inq_critical_path *p = r->critical_path;
    uint32_t most = 0;
    for (uint32_t k = 0; k < p->n_by_rank; k++) {
        most = p->by_rank_ns[k] > p->by_rank_ns[most] ? k : most;
    }
    assert_int_equal(run->traces[0]->ranks[most].rank, 2);
    assert_int_equal(p->segments[0].rank, 2);
    assert_string_equal(p->segments[0].kind, "host");
    inq_report_free(r);
    inq_run_free(run);
}

/* The GPU idles 0.4 % of DeepSeek's step, in which the host spins on what DeepEP's kernels tell it:
 * its own work is a small part of the path. */
static void path__of_a_host_that_spins_is_the_gpus(void **state)
{
    (void)state;
    struct inq_run *run = load(INQ_SHARED_DATA "/deepseek");
    struct inq_report *r = report_on(run->traces[0]);
    const struct inq_critical_path *p = r->critical_path;
    int64_t host_ns = 0;
    for (size_t k = 0; k < p->n_by_kind; k++) {
        host_ns += strcmp(p->by_kind[k].cause, "host") == 0 ? p->by_kind[k].ns_per_step : 0;
    }
    assert_true(host_ns < p->length_ns / 20); /* was 79 % */
    check_sums(p);
    inq_report_free(r);
    inq_run_free(run);
}

/* A recorded run replayed with its own delays takes as long as recorded. */
static void replay__gives_recorded_runs_back(void **state)
{
    (void)state;
    static const char *const runs[] = {"kineto/torchrec_sleep", "kineto/dlrm_8ranks",
                                       "kineto/megatron_tp2"};
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", INQ_SHARED_DATA, runs[k]);
        struct inq_run *run = load(path);
        struct inq_trace_graph g;
        assert_int_equal(inq_trace_graph_make(run->traces[0], 0, &g, NULL), INQ_OK);
        assert_int_equal(g.contradictions, 0);
        assert_true(g.graph->n_groups > 0);
        size_t n = g.graph->n_ops;
        int64_t *dur = malloc(4 * n * sizeof *dur);
        int64_t *delay = dur + n;
        int64_t first = INT64_MAX;
        int64_t last = INT64_MIN;
        for (size_t i = 0; i < n; i++) {
            first = g.start_ns[i] < first ? g.start_ns[i] : first;
            last = g.end_ns[i] > last ? g.end_ns[i] : last;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t members = 0;
            uint32_t from = inq_graph_group_of(g.graph, i, &members);
            int64_t arrival = INT64_MIN;
            int64_t ready = first;
            for (uint32_t m = from; m < from + members; m++) {
                arrival = g.start_ns[m] > arrival ? g.start_ns[m] : arrival;
            }
            for (uint32_t d = g.graph->dep_start[i]; d < g.graph->dep_start[i + 1]; d++) {
                int64_t end = g.end_ns[g.graph->deps[d]];
                ready = end > ready || d == g.graph->dep_start[i] ? end : ready;
            }
            dur[i] = g.end_ns[i] - arrival;
            delay[i] = g.start_ns[i] - ready;
        }
        int64_t total = inq_simulate(g.graph, dur, delay, delay + n, delay + 2 * n);
        print_message("%s: %zu ops, %zu groups, replayed %.6f s, recorded %.6f s\n", runs[k], n,
                      g.graph->n_groups, (double)total / 1e9, (double)(last - first) / 1e9);
        assert_int_equal(total, last - first);
        free(dur);
        inq_trace_graph_release(&g);
        inq_run_free(run);
    }
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool host_waits_for_gpu(const struct inq_trace *trace)
{
    struct inq_trace_graph g;
    assert_int_equal(inq_trace_graph_make(trace, INQ_NONE, &g, NULL), INQ_OK);
    bool waits = false;
    for (size_t i = 0; i < g.graph->n_ops; i++) {
        for (uint32_t d = g.graph->dep_start[i]; d < g.graph->dep_start[i + 1]; d++) {
            waits = waits || (g.ops[i].host && !g.ops[g.graph->deps[d]].host);
        }
    }
    inq_trace_graph_release(&g);
    return waits;
}

/* A host that launches `idle_ns` after 8 ms of work of which the launches came before the capture:
 * whether it waited for that work. */
static bool first_call_waits(int64_t idle_ns, bool busy)
{
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_kernel(&shard, "gemm", 7, 1000000, 1000000, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "gemm", 7, 2000000, 8000000, INQ_TIME_NONE, INQ_NONE);
    if (busy) {
        made_kernel(&shard, "copy", 9, 2000000, 20000000, INQ_TIME_NONE, INQ_NONE);
    }
    for (int64_t i = 0; i < 4; i++) {
        int64_t call_ns = 10000000 + idle_ns + i * 200000;
        made_kernel(&shard, "gemm", 7, call_ns + 10000, 100000, call_ns, INQ_NONE);
    }
    struct inq_run *run = made_run(&shard, 1, false);
    bool waits = host_waits_for_gpu(run->traces[0]);
    inq_run_free(run);
    return waits;
}

/* Silent for 8 ms and what comes on top: a quarter of that is 8/3 ms. */
static void host__first_call_after_a_wait_that_began_before_the_capture(void **state)
{
    (void)state;
    assert_true(first_call_waits(300000, false));
    assert_true(first_call_waits(2666666, false));
    assert_false(first_call_waits(2666668, false));
    assert_false(first_call_waits(300000, true));
}

/* A host launches a kernel of `kernel_ns` and makes no call until `late_ns` after its end; a stream
 * beside it is busy. Whether that silence was a wait for the kernel. */
static bool silence_is_a_wait(const char *name, int64_t kernel_ns, int64_t late_ns)
{
    struct inq_shard shard;
    int64_t call_ns = 1000000;
    int64_t called_ns = 1000; /* a made launch takes as long */
    made_shard(&shard, "a", 0, 1);
    made_kernel(&shard, "gemm", 9, 900000, 3 * kernel_ns, 800000, INQ_NONE);
    int64_t start_ns = call_ns + called_ns;
    made_kernel(&shard, name, 7, start_ns, kernel_ns, call_ns, INQ_NONE);
    int64_t next_ns = start_ns + kernel_ns + late_ns;
    made_kernel(&shard, "dispatch", 7, next_ns + 100000, 1000000, next_ns, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, false);
    bool waits = host_waits_for_gpu(run->traces[0]);
    inq_run_free(run);
    return waits;
}

/* It goes on within a 64th of its silence, and within 100 us, of the kernel's end. */
static void host__spins_on_what_its_kernel_writes(void **state)
{
    (void)state;
    static const char notify[] = "ncclDevKernel_notify_dispatch";
    assert_false(silence_is_a_wait("gemm", 20000000, -60000)); /* chance: it tells nobody */
    assert_true(silence_is_a_wait(notify, 20000000, -60000));
    assert_true(silence_is_a_wait(notify, 20000000, 100000));
    assert_false(silence_is_a_wait(notify, 20000000, 100001));
    assert_true(silence_is_a_wait(notify, 20000000, -100000));
    assert_false(silence_is_a_wait(notify, 20000000, -100001));
    assert_true(silence_is_a_wait(notify, 630000, 10000)); /* of 640 us */
    assert_false(silence_is_a_wait(notify, 629999, 10000));
}

/* A loss that is printed: the copy to the host is launched while 8 ms of work run, and its call, of
 * `call_ns`, returns `late_ns` after the copy, on a clock that drifts. Whether it waited for it;
 * that copy was launched by the call all the same, and at once. */
static bool copy_is_awaited_on(int64_t drift_ppb, enum inq_event_kind kind, int64_t call_ns,
                               int64_t late_ns)
{
    enum { COPY_NS = 2000 };
    struct inq_shard shard;
    struct inq_trace_graph g;
    made_shard(&shard, "a", 0, 1);
    int64_t end_ns = 20000000;
    made_kernel(&shard, "gemm", 7, end_ns - COPY_NS - 8000000, 8000000, 1000000, INQ_NONE);
    made_call(&shard, end_ns + late_ns - call_ns, call_ns, 50);
    made_work(&shard, "Memcpy DtoH (Device -> Pageable)", 7, end_ns - COPY_NS, COPY_NS, 50);
    shard.ranks[0].events.kind[1] = (uint8_t)kind;
    made_kernel(&shard, "gemm", 7, end_ns + 100000, 1000000, end_ns + 90000, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, false);
    run->traces[0]->ranks[0].clock.drift_ppb = drift_ppb;
    assert_int_equal(inq_trace_graph_make(run->traces[0], INQ_NONE, &g, NULL), INQ_OK);
    size_t launched = 0;
    size_t awaited = 0;
    for (size_t i = 0; i < g.graph->n_ops; i++) {
        for (uint32_t d = g.graph->dep_start[i]; d < g.graph->dep_start[i + 1]; d++) {
            uint32_t on = g.graph->deps[d];
            bool copy = !g.ops[i].host && g.end_ns[i] == end_ns;
            launched += copy && g.ops[on].host && g.end_ns[on] <= g.start_ns[i];
            awaited += g.ops[i].host && !g.ops[on].host && g.end_ns[on] == end_ns;
        }
    }
    assert_int_equal(launched, 1);
    inq_trace_graph_release(&g);
    inq_run_free(run);
    return awaited == 1;
}

static bool copy_is_awaited(enum inq_event_kind kind, int64_t call_ns, int64_t late_ns)
{
    return copy_is_awaited_on(0, kind, call_ns, late_ns);
}

/* A call that takes 20 us or more and returns within 20 us of its copy's end. */
static void host__waits_for_a_copy_to_pageable_memory(void **state)
{
    (void)state;
    assert_true(copy_is_awaited(INQ_EVENT_MEMCPY, 7000000, 3000));
    assert_true(copy_is_awaited(INQ_EVENT_MEMCPY, 20000, 3000));
    assert_false(copy_is_awaited(INQ_EVENT_MEMCPY, 19999, 3000)); /* as long as any launch */
    assert_true(copy_is_awaited(INQ_EVENT_MEMCPY, 7000000, 20000));
    assert_false(copy_is_awaited(INQ_EVENT_MEMCPY, 7000000, 20001));
    assert_false(copy_is_awaited(INQ_EVENT_MEMCPY, 7000000, -1)); /* asynchronous: still runs */
    assert_false(copy_is_awaited(INQ_EVENT_KERNEL, 7000000, 3000));
}

/* Starts are aligned, lengths are not: 7 ms by a clock that is 20 ppm slow last 140 ns longer. */
static void host__waits_for_a_copy_by_a_clock_that_drifts(void **state)
{
    (void)state;
    assert_true(copy_is_awaited_on(20000, INQ_EVENT_MEMCPY, 7000000, -140));
    assert_false(copy_is_awaited_on(20000, INQ_EVENT_MEMCPY, 7000000, -141));
    assert_false(copy_is_awaited_on(-20000, INQ_EVENT_MEMCPY, 7000000, 139));
    assert_true(copy_is_awaited_on(-20000, INQ_EVENT_MEMCPY, 7000000, 140));
}

/* Host calls in the graph of 40 kernels in a row, launched `lead_ns` before their starts and every
 * `more_ns` earlier than that. */
static size_t host_ops(int64_t lead_ns, int64_t more_ns)
{
    struct inq_shard shard;
    struct inq_trace_graph g;
    size_t n = 0;
    made_shard(&shard, "a", 0, 1);
    int64_t start_ns = 1000000000;
    for (int64_t i = 0; i < 40; i++) {
        int64_t dur_ns = 400000 + i % 7 * 30000;
        made_kernel(&shard, "gemm", 7, start_ns, dur_ns, start_ns - lead_ns - i * more_ns,
                    INQ_NONE);
        start_ns += dur_ns + 10000;
    }
    struct inq_run *run = made_run(&shard, 1, false);
    assert_int_equal(inq_trace_graph_make(run->traces[0], INQ_NONE, &g, NULL), INQ_OK);
    for (size_t i = 0; i < g.graph->n_ops; i++) {
        n += g.ops[i].host;
    }
    inq_trace_graph_release(&g);
    inq_run_free(run);
    return n;
}

/* A host that launches at one distance from what its GPU does is no cause of when it does it. */
static void host__in_step_with_its_gpu_paces_nothing(void **state)
{
    (void)state;
    assert_int_equal(host_ops(30000, 0), 0);
    assert_int_equal(host_ops(3000, 0), 0);
    assert_int_equal(host_ops(30000, 100000), 40); /* ahead, and more and more so */
}

/* Kernels of two streams, both launched long before: whether the second one, of a stream that was
 * idle, seems to have waited for the first, which ends `later_ns` after its start. */
static bool stream_waits(int64_t later_ns)
{
    struct inq_shard shard;
    struct inq_trace_graph g;
    int64_t start_ns = 60000000;
    bool waits = false;
    made_shard(&shard, "a", 0, 1);
    made_kernel(&shard, "gather", 9, 2000000, start_ns + later_ns - 2000000, 1000000, INQ_NONE);
    made_kernel(&shard, "gemm", 7, start_ns, 100000, 1100000, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, false);
    assert_int_equal(inq_trace_graph_make(run->traces[0], INQ_NONE, &g, NULL), INQ_OK);
    for (size_t i = 0; i < g.graph->n_ops; i++) {
        for (uint32_t d = g.graph->dep_start[i]; d < g.graph->dep_start[i + 1]; d++) {
            waits = waits || (g.start_ns[i] == start_ns && !g.ops[g.graph->deps[d]].host);
        }
    }
    inq_trace_graph_release(&g);
    inq_run_free(run);
    return waits;
}

/* Until 20 us after the end, or 2 us before it: start and length are rounded to a microsecond each.
 */
static void stream__waits_for_another_by_rounded_stamps(void **state)
{
    (void)state;
    assert_true(stream_waits(-900));
    assert_true(stream_waits(-20000));
    assert_false(stream_waits(-20001));
    assert_true(stream_waits(100));
    assert_true(stream_waits(2000));
    assert_false(stream_waits(2001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path__goes_through_the_last_arriver),
        cmocka_unit_test(path__counts_delays_and_stops_at_the_origin),
        cmocka_unit_test(slack__is_exactly_what_an_op_may_be_late),
        cmocka_unit_test(path__sums_on_real_runs),
        cmocka_unit_test(path__finds_the_rank_whose_host_sleeps),
        cmocka_unit_test(path__of_a_host_that_spins_is_the_gpus),
        cmocka_unit_test(path__is_of_ranks_that_run_a_step_together),
        cmocka_unit_test(path__segments_past_the_most_are_counted),
        cmocka_unit_test(replay__gives_recorded_runs_back),
        cmocka_unit_test(host__spins_on_what_its_kernel_writes),
        cmocka_unit_test(host__waits_for_a_copy_to_pageable_memory),
        cmocka_unit_test(host__waits_for_a_copy_by_a_clock_that_drifts),
        cmocka_unit_test(host__in_step_with_its_gpu_paces_nothing),
        cmocka_unit_test(host__first_call_after_a_wait_that_began_before_the_capture),
        cmocka_unit_test(stream__waits_for_another_by_rounded_stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
