/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: recorded, labeled, inferred. */
#include "support_shard.h"

#include "trace/build/assemble.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static const struct inq_trace *only_trace(const struct inq_run *run)
{
    assert_int_equal(run->n_traces, 1);
    return run->traces[0];
}

/* Number of the step of an event, or -1. */
static int64_t step_of(const struct inq_trace *trace, size_t rank, size_t event)
{
    uint32_t step = trace->ranks[rank].events.step[event];
    return step != INQ_NONE ? trace->steps[step].number : -1;
}

/* ---- recorded -------------------------------------------------------------------------------- */

static void recorded__kernels_go_by_their_launch(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#7", 100, 100, false);
    made_note(&shard, "ProfilerStep#8", 210, 90, false);
    made_note(&shard, "ProfilerStep#7", 900, 300, true); /* its projection does not count */
    made_kernel(&shard, "before", 7, 1000, 5, 90, INQ_NONE);
    made_kernel(&shard, "in 7", 7, 1010, 5, 150, INQ_NONE);
    made_kernel(&shard, "between 7 and 8", 7, 1020, 5, 205, INQ_NONE);
    made_kernel(&shard, "in 8", 7, 1030, 5, 210, INQ_NONE);
    made_kernel(&shard, "after", 7, 1040, 5, 300, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    static const int64_t expected[] = {-1, 7, 7, 8, -1};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(step_of(trace, 0, i), expected[i]);
    }
    assert_false(trace->steps_inferred);
    assert_int_equal(trace->n_steps, 2);
    assert_int_equal(trace->steps[0].number, 7);
    assert_int_equal(trace->steps[0].start_ns, 100);
    assert_int_equal(trace->steps[0].end_ns, 200);
    assert_int_equal(trace->steps[1].rank_start_ns[0], 210);
    assert_int_equal(trace->steps[1].rank_end_ns[0], 300);
    inq_run_free(run);
}

/* Ranks that number their steps in ways of their own have more of them together than one alone. */
static void recorded__steps_past_the_most_are_counted_where_they_were(void **state)
{
    (void)state;
    enum { MOST = 1 << 17, MORE = 5 };
    struct inq_shard shards[2];
    char name[32];
    for (int r = 0; r < 2; r++) {
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        int first = r == 0 ? 0 : MOST;
        int n = r == 0 ? MOST : MORE;
        for (int s = 0; s < n; s++) {
            (void)snprintf(name, sizeof name, "ProfilerStep#%d", first + s);
            made_note(&shards[r], name, s * US, US / 2, false);
        }
        made_kernel(&shards[r], "gemm", 7, 10, 5, 1, INQ_NONE);
    }
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, MOST);
    assert_int_equal(trace->files[0].damage.count[INQ_DAMAGE_LIMIT], 0);
    assert_int_equal(trace->files[1].damage.count[INQ_DAMAGE_LIMIT], MORE);
    assert_string_equal(trace->files[1].reason, "steps after the first 131072 are left out");
    inq_run_free(run);
}

/* A trace that was cut or lost its durations has marks without an end. */
static void recorded__a_mark_without_an_end_is_no_step(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#7", 100, 0, false);
    made_note(&shard, "ProfilerStep#8", 210, 90, false);
    made_kernel(&shard, "in 7", 7, 1010, 5, 150, INQ_NONE);
    made_kernel(&shard, "in 8", 7, 1030, 5, 210, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, 1);
    assert_int_equal(trace->steps[0].number, 8);
    assert_int_equal(step_of(trace, 0, 0), -1);
    inq_run_free(run);
}

/* Between steps whose numbers do not follow each other nothing is known. */
static void recorded__a_pause_of_the_profiler_is_no_step(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#2", 100, 100, false);
    made_note(&shard, "ProfilerStep#9", 500, 100, false);
    made_kernel(&shard, "in", 7, 100, 5, 150, INQ_NONE);
    made_kernel(&shard, "between", 7, 300, 5, 250, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(step_of(trace, 0, 0), 2);
    assert_int_equal(step_of(trace, 0, 1), -1);
    inq_run_free(run);
}

static void recorded__lost_launches_go_with_their_neighbors(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#0", 100, 100, false);
    made_note(&shard, "ProfilerStep#1", 200, 100, false);
    made_kernel(&shard, "before the capture", 7, 90, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "in 0", 7, 110, 5, 105, INQ_NONE);
    made_kernel(&shard, "lost", 7, 120, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "lost", 7, 130, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "in 0", 7, 140, 5, 120, INQ_NONE);
    made_kernel(&shard, "of either", 7, 190, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "in 1", 7, 210, 5, 205, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    static const int64_t expected[] = {-1, 0, 0, 0, 0, -1, 1};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(step_of(trace, 0, i), expected[i]);
    }
    inq_run_free(run);
}

static void recorded__without_launches_by_the_time_on_the_gpu(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#0", 100, 100, false);
    made_note(&shard, "ProfilerStep#1", 200, 100, false);
    made_kernel(&shard, "k", 7, 110, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "k", 7, 210, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "k", 7, 310, 5, INQ_TIME_NONE, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(step_of(trace, 0, 0), 0);
    assert_int_equal(step_of(trace, 0, 1), 1);
    assert_int_equal(step_of(trace, 0, 2), -1);
    inq_run_free(run);
}

/* Hosts run ahead: a window that opens late has the GPU's work and mark, not the launch, or the
 * launch and not the host's mark around it. */
static void recorded__what_the_host_lacks_the_mark_on_the_gpu_tells(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#8", 210, 90, false);
    made_note(&shard, "ProfilerStep#7", 900, 300, true);
    made_note(&shard, "ProfilerStep#8", 1200, 300, true);
    made_kernel(&shard, "of 6", 7, 890, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "launch lost", 7, 900, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "mark cut", 7, 1000, 5, 150, INQ_NONE);
    made_kernel(&shard, "by its launch", 7, 1199, 5, 210, INQ_NONE);
    made_kernel(&shard, "launch lost", 7, 1300, 5, INQ_TIME_NONE, INQ_NONE);
    made_kernel(&shard, "launched after 8", 7, 1400, 5, 300, INQ_NONE);
    made_kernel(&shard, "behind", 7, 1500, 5, INQ_TIME_NONE, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    static const int64_t expected[] = {-1, 7, 7, 8, 8, -1, -1};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(step_of(trace, 0, i), expected[i]);
    }
    assert_int_equal(trace->n_steps, 2);
    assert_int_equal(trace->steps[0].rank_start_ns[0], 900);
    assert_int_equal(trace->steps[1].rank_start_ns[0], 210);
    inq_run_free(run);
}

static void recorded__ranks_may_lack_steps(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    made_shard(&shards[0], "a", 0, 2);
    made_note(&shards[0], "ProfilerStep#3", 100, 100, false);
    made_note(&shards[0], "ProfilerStep#4", 200, 100, false);
    made_shard(&shards[1], "b", 1, 2);
    made_note(&shards[1], "ProfilerStep#4", 190, 150, false);
    made_note(&shards[1], "ProfilerStep#4", 200, 180, false); /* of another thread */
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, 2);
    assert_true(trace->steps[0].rank_start_ns[1] == INQ_TIME_NONE);
    assert_true(trace->steps[0].rank_end_ns[1] == INQ_TIME_NONE);
    assert_int_equal(trace->steps[1].start_ns, 190);
    assert_int_equal(trace->steps[1].end_ns, 380);
    assert_int_equal(trace->steps[1].rank_end_ns[0], 300);
    inq_run_free(run);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void labels__name_the_step(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "table", 0, 1);
    struct inq_label label = {INQ_OP_FORWARD, 5, 0, 0, 0, 0, 0};
    made_op(&shard, 0, &label, 100, 10);
    label.type = INQ_OP_BACKWARD;
    made_op(&shard, 0, &label, 120, 30);
    label.step = 6;
    made_op(&shard, 0, &label, 200, 10);
    label.step = -1;
    made_op(&shard, 0, &label, 300, 10);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    static const int64_t expected[] = {5, 5, 6, -1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(step_of(trace, 0, i), expected[i]);
    }
    assert_int_equal(trace->steps[0].start_ns, 100);
    assert_int_equal(trace->steps[0].end_ns, 150);
    assert_false(trace->steps_inferred);
    inq_run_free(run);
}

/* ---- inferred -------------------------------------------------------------------------------- */

/* A loop as a training script has it; launches 10 us apart. */
struct loop {
    int micro_batches, layers;
    bool optimizer_notes;
    int skip;         /* launches not captured at the begin */
    int64_t begin_ns; /* of the capture */
    int64_t clock_ns; /* what the rank's clock is ahead */
    int n_launched;
    int64_t at_ns;
};

static void launch(struct inq_shard *shard, struct loop *loop, const char *name)
{
    loop->at_ns += 10 * US;
    if (loop->n_launched++ >= loop->skip) {
        int64_t at_ns = loop->at_ns + loop->clock_ns;
        made_kernel(shard, name, 7, at_ns + 500 * US, 9 * US, at_ns, INQ_NONE);
    }
}

static void run_step(struct inq_shard *shard, struct loop *loop)
{
    loop->at_ns += 200 * US; /* data loading */
    launch(shard, loop, "Memcpy HtoD (Pinned -> Device)");
    for (int m = 0; m < loop->micro_batches; m++) {
        launch(shard, loop, "embedding");
        for (int l = 0; l < loop->layers; l++) {
            launch(shard, loop, "norm");
            launch(shard, loop, "gemm");
            launch(shard, loop, "attention");
        }
        launch(shard, loop, "loss");
        for (int l = 0; l < loop->layers; l++) {
            launch(shard, loop, "attention backward");
            launch(shard, loop, "gemm");
            launch(shard, loop, "gemm");
        }
        launch(shard, loop, "embedding backward");
    }
    launch(shard, loop, "clip");
    int64_t begin_ns = loop->at_ns + 5 * US;
    launch(shard, loop, "adam");
    launch(shard, loop, "adam");
    if (loop->optimizer_notes && loop->n_launched > loop->skip) {
        int64_t dur_ns = loop->at_ns + 5 * US - begin_ns;
        made_note(shard, "Optimizer.step#AdamW.step", begin_ns + loop->clock_ns, dur_ns, false);
    }
}

static void run_loop(struct inq_shard *shard, struct loop *loop, int steps)
{
    loop->at_ns = loop->begin_ns;
    for (int s = 0; s < steps; s++) {
        run_step(shard, loop);
    }
}

/* Launches in a step of the loop, and its length. */
static int size_of(const struct loop *loop)
{
    return 4 + loop->micro_batches * (3 + 6 * loop->layers);
}

static int64_t length_of(const struct loop *loop)
{
    return 200 * US + size_of(loop) * 10 * US;
}

static void assert_steps(const struct inq_trace *trace, size_t rank, size_t least,
                         int64_t length_ns)
{
    size_t n = 0;
    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        if (step->rank_start_ns[rank] != INQ_TIME_NONE) {
            int64_t own_ns = step->rank_end_ns[rank] - step->rank_start_ns[rank];
            /* the pause for the data is in no window at an edge of the capture */
            assert_true(own_ns <= length_ns && own_ns >= length_ns - 220 * US);
            n++;
        }
    }
    assert_true(trace->steps_inferred);
    assert_true(n >= least);
}

static void inferred__from_what_the_launches_repeat(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 1, .layers = 12};
    made_shard(&shard, "a", 0, 1);
    run_loop(&shard, &loop, 5);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, 5);
    assert_steps(trace, 0, 5, length_of(&loop));
    assert_int_equal(trace->steps[0].number, 0);
    /* each step holds what one step launches, from its first launch on */
    size_t size = (size_t)size_of(&loop);
    for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
        assert_int_equal(step_of(trace, 0, i), (int64_t)(i / size));
    }
    inq_run_free(run);
}

static void inferred__in_a_capture_cut_anywhere(void **state)
{
    (void)state;
    struct loop whole = {.micro_batches = 1, .layers = 6};
    for (int skip = 1; skip < size_of(&whole); skip += 5) {
        struct inq_shard shard;
        struct loop loop = {.micro_batches = 1, .layers = 6, .skip = skip};
        made_shard(&shard, "a", 0, 1);
        run_loop(&shard, &loop, 5);
        struct inq_run *run = made_run(&shard, 1, true);
        const struct inq_trace *trace = only_trace(run);
        assert_true(trace->n_steps == 4 || trace->n_steps == 5);
        size_t size = (size_t)size_of(&loop);
        size_t in_step[5] = {0};
        for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
            int64_t step = step_of(trace, 0, i);
            in_step[step >= 0 ? step : 0] += step >= 0;
        }
        for (size_t s = 0; s < trace->n_steps; s++) { /* nine tenths at the edges are enough */
            bool edge = s == 0 || s + 1 == trace->n_steps;
            assert_true(in_step[s] <= size * 12 / 10 && in_step[s] >= size * (edge ? 9 : 10) / 10);
        }
        inq_run_free(run);
    }
}

static void inferred__layers_are_no_steps(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 1, .layers = 80};
    made_shard(&shard, "a", 0, 1);
    run_loop(&shard, &loop, 3);
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 3);
    inq_run_free(run);
}

/* Few kinds of kernels are no layer's, and those of the backward pass are regular but for the
 * forward pass. */
static void inferred__layers_of_one_pass_are_no_steps(void **state)
{
    (void)state;
    static const char *const forward[] = {"qkv", "flash", "mlp"};
    static const char *const backward[] = {"mlp bwd", "flash bwd", "qkv bwd", "reduce"};
    struct inq_shard shard;
    struct loop loop = {.layers = 6};
    made_shard(&shard, "a", 0, 1);
    for (int s = 0; s < 8; s++) {
        launch(&shard, &loop, "embedding");
        for (int k = 0; k < 3 * loop.layers; k++) {
            launch(&shard, &loop, forward[k % 3]);
        }
        launch(&shard, &loop, "loss");
        for (int k = 0; k < 4 * loop.layers; k++) {
            launch(&shard, &loop, backward[k % 4]);
        }
        launch(&shard, &loop, "adam");
    }
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 8);
    inq_run_free(run);
}

/* Nothing but the host's wait at the end of each step tells its alike layers from steps. */
static void inferred__alike_layers_up_to_a_pause_are_a_step(void **state)
{
    (void)state;
    static const char *const layer[] = {"qkv", "flash", "mlp", "reduce"};
    struct inq_shard shard;
    struct loop loop = {.layers = 5};
    made_shard(&shard, "a", 0, 1);
    for (int s = 0; s < 6; s++) {
        for (int k = 0; k < 4 * loop.layers; k++) {
            launch(&shard, &loop, layer[k % 4]);
        }
        loop.at_ns += 3000 * US;
    }
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, 6);
    for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
        assert_int_equal(step_of(trace, 0, i), (int64_t)i / 20);
    }
    inq_run_free(run);
}

static void inferred__micro_batches_are_no_steps_without_the_optimizers_kernels(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 8, .layers = 10};
    made_shard(&shard, "a", 0, 1);
    run_loop(&shard, &loop, 4);
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 4);
    inq_run_free(run);
}

static void inferred__micro_batches_are_no_steps_where_the_optimizer_shows(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 8, .layers = 10, .optimizer_notes = true};
    made_shard(&shard, "a", 0, 1);
    run_loop(&shard, &loop, 4);
    struct inq_run *run = made_run(&shard, 1, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_steps, 4);
    assert_steps(trace, 0, 4, length_of(&loop));
    inq_run_free(run);
}

/* Forward passes only, behind a step; `other` of them of a kernel that no step has. */
static void evaluate(struct inq_shard *shard, struct loop *loop, int passes, int other)
{
    for (int m = 0; m < passes; m++) {
        launch(shard, loop, "embedding");
        for (int l = 0; l < loop->layers; l++) {
            launch(shard, loop, "norm");
            launch(shard, loop, "gemm");
            launch(shard, loop, "attention");
        }
        launch(shard, loop, "loss");
    }
    for (int i = 0; i < other; i++) {
        launch(shard, loop, "metric");
    }
}

/* Steps, of which every `every`th is followed by an evaluation (or all but those). */
static struct inq_run *run_evaluated(int every, bool all_but, int passes, int other)
{
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 2, .layers = 4};
    made_shard(&shard, "a", 0, 1);
    for (int s = 0; s < 12; s++) {
        loop.at_ns -= 200 * US; /* nothing pauses */
        run_step(&shard, &loop);
        if ((s % every == every - 1) != all_but) {
            evaluate(&shard, &loop, passes, other);
        }
    }
    return made_run(&shard, 1, true);
}

/* Each step has its update, whatever follows it. */
static void update__ends_a_step_that_an_evaluation_follows(void **state)
{
    (void)state;
    for (int every = 2; every <= 4; every++) {
        struct inq_run *run = run_evaluated(every, false, 3, 0);
        const struct inq_trace *trace = only_trace(run);
        assert_int_equal(trace->n_steps, 12);
        int updates[12] = {0};
        for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
            bool adam = strcmp(inq_trace_str(trace, trace->ranks[0].events.name[i]), "adam") == 0;
            int64_t step = step_of(trace, 0, i);
            assert_true(!adam || (step >= 0 && step < 12));
            updates[adam ? step : 0] += adam;
        }
        for (int s = 0; s < 12; s++) {
            assert_int_equal(updates[s], 2);
        }
        inq_run_free(run);
    }
}

/* An evaluation of kernels that no step has is a tenth of all launches, then more. And where more
 * steps are followed by one than are not, which is a step's length? */
static void update__nothing_is_invented(void **state)
{
    (void)state;
    int size = size_of(&(struct loop){.micro_batches = 2, .layers = 4});
    int most = 3 * size / 9; /* of three steps and one evaluation: a tenth */
    struct inq_run *run = run_evaluated(3, false, 0, most);
    assert_int_equal(only_trace(run)->n_steps, 12);
    inq_run_free(run);
    run = run_evaluated(3, false, 0, most + 1);
    assert_int_equal(only_trace(run)->n_steps, 0);
    inq_run_free(run);
    run = run_evaluated(3, true, 3, 0);
    assert_int_equal(only_trace(run)->n_steps, 0);
    inq_run_free(run);
}

/* The host waits for every second loss: that makes no step of two. */
static void update__a_result_read_now_and_then(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 1, .layers = 6};
    made_shard(&shard, "a", 0, 1);
    for (int s = 0; s < 10; s++) {
        run_step(&shard, &loop);
        if (s % 2 == 1) {
            launch(&shard, &loop, "Memcpy DtoH (Device -> Pageable)");
            loop.at_ns += 30 * MS;
        }
    }
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 10);
    inq_run_free(run);
}

/* The backward pass updates each layer once it has its gradient: these are layers. */
static void update__of_single_layers_is_no_step(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.layers = 12};
    made_shard(&shard, "a", 0, 1);
    for (int s = 0; s < 6; s++) {
        loop.at_ns += 200 * US;
        evaluate(&shard, &loop, 1, 0);
        for (int l = 0; l < loop.layers; l++) {
            launch(&shard, &loop, "attention backward");
            launch(&shard, &loop, "wgrad");
            launch(&shard, &loop, "dgrad");
            launch(&shard, &loop, "adam");
        }
    }
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 6);
    inq_run_free(run);
}

/* Ranks whose captures begin in different steps, on clocks that are apart: the same step has the
 * same number. */
static void inferred__are_numbered_alike_on_all_ranks(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    static const char *const paths[] = {"a", "b", "c"};
    struct loop loops[3] = {{.micro_batches = 1, .layers = 4},
                            {.micro_batches = 1, .layers = 4},
                            {.micro_batches = 1, .layers = 4}};
    int size = size_of(&loops[0]);
    loops[1].skip = 2 * size + 11;
    loops[1].clock_ns = 30 * US;
    loops[2].skip = size - 2;
    for (int r = 0; r < 3; r++) {
        made_shard(&shards[r], paths[r], r, 3);
        run_loop(&shards[r], &loops[r], 8);
    }
    struct inq_run *run = made_run(shards, 3, false);
    const struct inq_trace *trace = only_trace(run);
    int64_t length_ns = length_of(&loops[0]);
    assert_true(trace->n_steps >= 7);
    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        for (size_t r = 1; r < 3; r++) {
            bool both =
                step->rank_end_ns[0] != INQ_TIME_NONE && step->rank_end_ns[r] != INQ_TIME_NONE;
            if (both) {
                int64_t apart_ns = step->rank_end_ns[r] - step->rank_end_ns[0];
                assert_true(apart_ns < length_ns / 2 && apart_ns > -length_ns / 2);
            }
        }
    }
    assert_steps(trace, 1, 5, length_ns);
    assert_steps(trace, 2, 6, length_ns);
    inq_run_free(run);
}

/* Rank 1's host launches just in time, rank 0's three and a half steps ahead: the n-th all-reduce
 * of their group is of one step. */
static void inferred__are_numbered_by_their_collectives(void **state)
{
    (void)state;
    static const char *const names[] = {"norm", "gemm", "attention", "wgrad", "adam"};
    enum { KINDS = sizeof names / sizeof *names, STEPS = 9, OF_STEP = KINDS + 1 };
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        shards[r].ranks[0].host = made_name(&shards[r], "node");
        for (int64_t i = 0; i < STEPS * OF_STEP; i++) {
            int64_t at_ns = i * 100 * US + 50 * MS;
            int64_t ahead_ns = r == 0 ? 7 * OF_STEP * 100 * US / 2 : 20 * US;
            struct inq_comm comm;
            inq_comm_init(&comm);
            comm.kind = INQ_COLL_ALLREDUCE;
            comm.group = made_group(&shards[r], "g", 2, (const int32_t[]){0, 1}, 2);
            bool reduces = i % OF_STEP == 3;
            made_kernel(&shards[r],
                        reduces ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                                : names[i % OF_STEP > 3 ? i % OF_STEP - 1 : i % OF_STEP],
                        7, at_ns, 90 * US, at_ns - ahead_ns,
                        reduces ? made_comm(&shards[r], &comm) : INQ_NONE);
        }
    }
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = only_trace(run);
    assert_int_equal(trace->n_collectives, STEPS);
    assert_true(trace->steps_inferred);
    for (size_t i = 0; i < trace->ranks[0].events.n; i++) {
        assert_int_equal(step_of(trace, 0, i), step_of(trace, 1, i));
    }
    inq_run_free(run);
}

static void inferred__nothing_without_repetition(void **state)
{
    (void)state;
    struct inq_shard shard;
    uint64_t x = 12345;
    made_shard(&shard, "a", 0, 1);
    for (int i = 0; i < 3000; i++) {
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407U;
        made_kernel(&shard, names[(x >> 33) % 9], 7, i * 10 * US, 9 * US, i * 10 * US - 5,
                    INQ_NONE);
    }
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 0);
    assert_false(only_trace(run)->steps_inferred);
    inq_run_free(run);
}

static void inferred__nothing_from_too_little(void **state)
{
    (void)state;
    struct inq_shard shard;
    struct loop loop = {.micro_batches = 1, .layers = 5};
    made_shard(&shard, "a", 0, 1);
    run_loop(&shard, &loop, 1);
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 0);
    inq_run_free(run);
}

/* All launches of a CUDA graph have its launch's time: what repeats in it has no length. */
static void inferred__nothing_from_within_a_cuda_graph(void **state)
{
    (void)state;
    static const char *const layer[] = {"qkv", "flash", "mlp", "reduce"};
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_call(&shard, 10 * US, 5 * US, 1);
    for (int k = 0; k < 4 * 12; k++) {
        made_work(&shard, layer[k % 4], 7, 100 * US + k * 10 * US, 9 * US, 1);
    }
    struct inq_run *run = made_run(&shard, 1, true);
    assert_int_equal(only_trace(run)->n_steps, 0);
    assert_false(only_trace(run)->steps_inferred);
    inq_run_free(run);
}

/* One execution of 37 layers: nothing ends a layer, so they are no steps; a result read after each
 * (a token) makes them some. */
static void inferred__layers_of_one_execution_are_no_steps(void **state)
{
    (void)state;
    static const char *const layer[] = {"norm", "qkv",    "flash",   "proj",
                                        "norm", "mlp up", "mlp down"};
    for (int reads = 0; reads < 2; reads++) {
        struct inq_shard shard;
        struct loop loop = {.layers = 37};
        made_shard(&shard, "a", 0, 1);
        for (int k = 0; k < 7 * loop.layers; k++) {
            launch(&shard, &loop, layer[k % 7]);
            if (reads && k % 7 == 6) {
                launch(&shard, &loop, "Memcpy DtoH (Device -> Pageable)");
                shard.ranks[0].events.kind[shard.ranks[0].events.n - 1] = INQ_EVENT_MEMCPY;
            }
        }
        struct inq_run *run = made_run(&shard, 1, true);
        const struct inq_trace *trace = only_trace(run);
        assert_int_equal(trace->n_steps > 0, reads);
        assert_int_equal(trace->no_steps_why == NULL, reads);
        inq_run_free(run);
    }
}

/* A rank of which communication alone is recorded: layers with two all-reduces each, and per step
 * the gradients of some, and a sum of so many bytes. */
static struct inq_run *run_of_communication(int64_t sum_bytes, bool kernels)
{
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    int64_t at_ns = 0;
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.dtype_bytes = 1;
    comm.op_name = made_name(&shard, "AllReduce");
    for (int s = 0; s < 8; s++) {
        for (int i = 0; i < 13; i++) {
            comm.in_elems = comm.out_elems = i == 12 ? sum_bytes : i % 3 == 2 ? 1 << 22 : 1 << 20;
            at_ns += 500 * US;
            made_kernel(&shard, "ncclAllReduce", 7, at_ns, 90 * US, INQ_TIME_NONE,
                        made_comm(&shard, &comm));
            if (kernels) {
                made_kernel(&shard, "gemm", 8, at_ns + 100 * US, 90 * US, INQ_TIME_NONE, INQ_NONE);
            }
        }
    }
    return made_run(&shard, 1, true);
}

/* Two numbers of 8 bytes that all ranks sum up are the loss or a norm; more may be of a layer. */
static void inferred__a_sum_of_numbers_ends_a_step_of_communication(void **state)
{
    (void)state;
    for (int64_t bytes = 16; bytes <= 17; bytes++) {
        struct inq_run *run = run_of_communication(bytes, false);
        assert_int_equal(only_trace(run)->n_steps, bytes == 16 ? 8 : 0);
        assert_int_equal(only_trace(run)->no_steps_why == NULL, bytes == 16);
        inq_run_free(run);
    }
    /* where more is recorded, that shows what ends a step */
    struct inq_run *run = run_of_communication(16, true);
    assert_int_equal(only_trace(run)->n_steps, 0);
    inq_run_free(run);
}

/* What repeats on one rank and not at all on the other is no step of the job. */
static void inferred__nothing_that_ranks_do_not_agree_on(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    struct loop loop = {.micro_batches = 1, .layers = 6};
    made_shard(&shards[0], "a", 0, 2);
    run_loop(&shards[0], &loop, 5);
    made_shard(&shards[1], "b", 1, 2);
    uint64_t x = 12345;
    for (int i = 0; i < 300; i++) {
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407U;
        made_kernel(&shards[1], names[(x >> 33) % 9], 7, i * 10 * US, 9 * US, i * 10 * US - 5,
                    INQ_NONE);
    }
    struct inq_run *run = made_run(shards, 2, false);
    assert_int_equal(only_trace(run)->n_steps, 0);
    assert_non_null(only_trace(run)->no_steps_why);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded__kernels_go_by_their_launch),
        cmocka_unit_test(recorded__steps_past_the_most_are_counted_where_they_were),
        cmocka_unit_test(recorded__a_mark_without_an_end_is_no_step),
        cmocka_unit_test(recorded__a_pause_of_the_profiler_is_no_step),
        cmocka_unit_test(recorded__lost_launches_go_with_their_neighbors),
        cmocka_unit_test(recorded__without_launches_by_the_time_on_the_gpu),
        cmocka_unit_test(recorded__what_the_host_lacks_the_mark_on_the_gpu_tells),
        cmocka_unit_test(recorded__ranks_may_lack_steps),
        cmocka_unit_test(labels__name_the_step),
        cmocka_unit_test(inferred__from_what_the_launches_repeat),
        cmocka_unit_test(inferred__in_a_capture_cut_anywhere),
        cmocka_unit_test(inferred__layers_are_no_steps),
        cmocka_unit_test(inferred__layers_of_one_pass_are_no_steps),
        cmocka_unit_test(inferred__alike_layers_up_to_a_pause_are_a_step),
        cmocka_unit_test(inferred__micro_batches_are_no_steps_without_the_optimizers_kernels),
        cmocka_unit_test(inferred__micro_batches_are_no_steps_where_the_optimizer_shows),
        cmocka_unit_test(update__ends_a_step_that_an_evaluation_follows),
        cmocka_unit_test(update__nothing_is_invented),
        cmocka_unit_test(update__a_result_read_now_and_then),
        cmocka_unit_test(update__of_single_layers_is_no_step),
        cmocka_unit_test(inferred__are_numbered_alike_on_all_ranks),
        cmocka_unit_test(inferred__are_numbered_by_their_collectives),
        cmocka_unit_test(inferred__nothing_without_repetition),
        cmocka_unit_test(inferred__nothing_from_too_little),
        cmocka_unit_test(inferred__nothing_from_within_a_cuda_graph),
        cmocka_unit_test(inferred__layers_of_one_execution_are_no_steps),
        cmocka_unit_test(inferred__a_sum_of_numbers_ends_a_step_of_communication),
        cmocka_unit_test(inferred__nothing_that_ranks_do_not_agree_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
