/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda engine on a GPU that is not there: what it calls, in which order, what comes back, and
 * what is left when something fails. */
#include "cuda/session.h"

#include "base/mem.h"
#include "inquest/schedule.h"
#include "support_gpu.h"
#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)

static const struct random_graph shape = {
    .n_ranks = 5, .n_lanes = 3, .n_steps = 120, .max_dur_ns = 90000, .max_delay_ns = 20000};

struct job {
    struct inq_schedule_graph schedule;
    struct inq_graph *graph; /* of its own, or the schedule's */
    struct inq_plan *plan;
};

static void release_job(struct job *job)
{
    inq_plan_free(job->plan);
    if (job->schedule.graph != NULL) {
        inq_schedule_graph_release(&job->schedule);
    } else {
        inq_graph_free(job->graph);
    }
}

static struct job random_job(uint64_t seed)
{
    struct job job = {.graph = random_graph_make(&shape, seed)};
    assert_non_null(job.graph);
    int64_t *bytes = malloc(job.graph->n_ops * sizeof *bytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < job.graph->n_ops; i++) {
        bytes[i] = (int64_t)(seed * 100);
    }
    const struct inq_plan_options o = {.bytes = bytes};
    assert_int_equal(inq_plan_make(job.graph, &o, &job.plan, NULL), INQ_OK);
    free(bytes);
    return job;
}

static struct job schedule_job(const char *kind, int32_t ranks, int32_t micro, int64_t op_ns)
{
    struct job job = {.graph = NULL};
    struct inq_schedule schedule = {0};
    const struct inq_schedule_spec spec = {
        .kind = kind,
        .n_ranks = ranks,
        .n_microbatches = micro,
        .costs = {.stage = {op_ns, op_ns, op_ns}, .p2p_ns = op_ns / 4}};
    assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_graph_make(&schedule, &spec.costs, &job.schedule, NULL), INQ_OK);
    inq_schedule_release(&schedule);
    job.graph = job.schedule.graph;
    assert_int_equal(inq_plan_make(job.graph, NULL, &job.plan, NULL), INQ_OK);
    return job;
}

/* One collective of `n` ranks after an op each, twice, with `bytes` payload. */
static struct job collective_job(uint8_t kind, int32_t n, int64_t bytes)
{
    struct job job = {.graph = NULL};
    struct inq_graph_builder *b = inq_graph_builder_new();
    int64_t payload[64];
    uint8_t work[64];
    for (int round = 0; round < 2; round++) {
        uint32_t ids[16];
        for (int32_t r = 0; r < n; r++) {
            struct inq_graph_op op = inq_graph_op_init();
            uint32_t id = 0;
            op.rank = r;
            op.lane = 0;
            op.cls = INQ_CLASS_COMPUTE;
            op.type = INQ_OP_FORWARD;
            assert_int_equal(inq_graph_add_op(b, &op, (r + 1) * 10 * US, 0, &id, NULL), INQ_OK);
            op.type = INQ_OP_NONE;
            op.cls = INQ_CLASS_COMM;
            op.lane = 1;
            assert_int_equal(inq_graph_add_op(b, &op, 50 * US, 0, &ids[r], NULL), INQ_OK);
            assert_int_equal(inq_graph_add_dep(b, id, ids[r], NULL), INQ_OK);
        }
        assert_int_equal(inq_graph_add_group(b, ids, (size_t)n, (size_t)n, NULL), INQ_OK);
    }
    assert_int_equal(inq_graph_finish(b, &job.graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    for (size_t i = 0; i < job.graph->n_ops; i++) {
        payload[i] = bytes;
        bool groups = job.graph->op[i].cls == INQ_CLASS_COMM;
        work[i] = (uint8_t)(groups ? kind : INQ_WORK_COUNT);
    }
    const struct inq_plan_options o = {.bytes = payload, .work = work};
    assert_int_equal(inq_plan_make(job.graph, &o, &job.plan, NULL), INQ_OK);
    return job;
}

static void assert_kept(const struct job *job, const struct inq_execution *x, int64_t slack_ns)
{
    struct inq_err err = {0};
    if (inq_execution_check(job->plan, x, slack_ns, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
}

static void assert_nothing_left(const struct fake_gpu *fake)
{
    assert_int_equal(fake->live, 0);
    assert_int_equal(fake->opened, 0);
    assert_false(fake->capturing);
}

/* ---- executing ------------------------------------------------------------------------------- */

static void engine__keeps_random_plans_in_every_mode(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct job job = random_job(seed);
        for (unsigned mode = 0; mode < 4; mode++) {
            struct fake_gpu fake;
            struct inq_execution x;
            struct inq_err err = {0};
            const struct inq_replay_options o = {.work = (mode & 1U) != 0 ? INQ_WORK_RECORDED
                                                                          : INQ_WORK_TIMED,
                                                 .no_graph = (mode & 2U) != 0,
                                                 .repeats = 2};
            fake_gpu_init(&fake);
            if (inq_gpu_run(&fake.calls, job.plan, &o, &x, &err) != INQ_OK) {
                fail_msg("seed %d mode %u: %s", (int)seed, mode, err.message);
            }
            assert_kept(&job, &x, 0);
            assert_int_equal(x.n_repeats, 2);
            assert_int_equal(x.resolution_ns, fake.step_ns);
            assert_true((fake.n_graph_launches > 0) == !o.no_graph);
            assert_nothing_left(&fake);
            inq_execution_release(&x);
            fake_gpu_release(&fake);
        }
        release_job(&job);
    }
}

/* Launching costs 2 us, which the second execution shows (the first loads kernels) and which is
 * then taken off. */
static void engine__takes_as_long_as_the_simulation(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int32_t ranks, micro;
        int64_t step_ns; /* of the timer */
    } cases[] = {{"1f1b", 4, 8, 32},   {"1f1b", 8, 32, 32},  {"zb-h1", 4, 8, 32},
                 {"zb-h1", 8, 32, 32}, {"1f1b", 4, 8, 1024}, {"zb-h1", 8, 32, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = schedule_job(cases[i].kind, cases[i].ranks, cases[i].micro, 100 * US);
        struct fake_gpu fake;
        struct inq_execution x;
        struct inq_err err = {0};
        fake_gpu_init(&fake);
        fake.step_ns = cases[i].step_ns;
        fake.load_ns = 6 * US;
        assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, &err), INQ_OK);
        assert_kept(&job, &x, 0);
        assert_int_equal(fake.op_threads,
                         1); /* threads that look at the timer hold each other up */
        int64_t off = llabs(x.median_ns - job.plan->simulated_ns);
        if (off * 100 > job.plan->simulated_ns) {
            fail_msg("%s %d x %d: %lld instead of %lld ns", cases[i].kind, cases[i].ranks,
                     cases[i].micro, (long long)x.median_ns, (long long)job.plan->simulated_ns);
        }
        assert_int_equal(x.n_virtual, cases[i].ranks);
        assert_non_null(strstr(x.note, "virtual devices of "));
        const char *gap = strstr(x.note, "launch gap of ");
        assert_non_null(gap);
        double gap_us = strtod(gap + strlen("launch gap of "), NULL);
        assert_true(cases[i].step_ns > 32 || (gap_us > 1.9 && gap_us < 2.1));
        assert_string_equal(x.device, "Fake GPU");
        inq_execution_release(&x);
        fake_gpu_release(&fake);
        release_job(&job);
    }
}

static void engine__says_when_ops_are_too_short(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 2, 4, 100 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    fake_gpu_init(&fake);
    fake.step_ns = 16384;
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, NULL), INQ_OK);
    assert_non_null(strstr(x.note, "too short to be exact"));
    assert_int_equal(x.resolution_ns, 16384);
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    release_job(&job);
}

/* Behind a closed gate no queue may run full: the host would wait for a device that waits. */
static void engine__opens_the_gate_before_queues_are_full(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 8, 32, 50 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    const struct inq_replay_options o = {.no_graph = true};
    fake_gpu_init(&fake);
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, &o, &x, NULL), INQ_OK);
    assert_true(fake.most_queued >= INQ_GPU_QUEUE_LIMIT);
    assert_true(fake.most_queued < INQ_GPU_QUEUE_LIMIT + 64);
    assert_non_null(strstr(x.note, "queued while it ran"));
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    release_job(&job);
}

static void engine__falls_back_to_streams_and_says_so(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 8, 8, 100 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    fake_gpu_init(&fake);
    fake.most_parts = 4;
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, NULL), INQ_OK);
    assert_non_null(strstr(x.note, "8 ranks share 132 SMs without partitions (at most 4)"));
    assert_true(fake.n_graph_launches > 0);
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    fake_gpu_init(&fake);
    fake.no_graphs = true;
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, NULL), INQ_OK);
    assert_non_null(strstr(x.note, "streams, no graph: the fake makes none"));
    assert_int_equal(fake.n_graph_launches, 0);
    assert_kept(&job, &x, 0);
    assert_nothing_left(&fake);
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    release_job(&job);
}

/* Timers of several GPUs differ by whatever; the times that come back do not. */
static void engine__aligns_the_timers_of_several_gpus(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 4, 8, 100 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    fake_gpu_init(&fake);
    fake.n_gpus = 4;
    fake.offset_ns = -123456789;
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, NULL), INQ_OK);
    assert_kept(&job, &x, 200);
    assert_string_equal(x.device, "4 x Fake GPU");
    assert_int_equal(x.n_virtual, 1);
    int64_t together_ns = x.median_ns;
    inq_execution_release(&x);
    fake.drift_ppm = 10000; /* 50 us apart at the end of what they are read around */
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, NULL), INQ_OK);
    assert_kept(&job, &x, 200);
    assert_non_null(strstr(x.note, "taken off to within"));
    assert_true(llabs(x.median_ns - together_ns) < together_ns / 50); /* holds run at own pace */
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    release_job(&job);
}

/* ---- real work ------------------------------------------------------------------------------- */

static void engine__verifies_collectives_of_all_kinds_and_sizes(void **state)
{
    (void)state;
    static const uint8_t types[] = {INQ_WORK_ALL_REDUCE, INQ_WORK_REDUCE_SCATTER,
                                    INQ_WORK_REDUCE,     INQ_WORK_ALL_GATHER,
                                    INQ_WORK_BROADCAST,  INQ_WORK_ALL_TO_ALL};
    static const int64_t sizes[] = {0, 4, 60, 4096, 65536, 100000, -1};
    for (size_t t = 0; t < sizeof types; t++) {
        for (int32_t n = 2; n <= 8; n++) {
            struct job job = collective_job(types[t], n, sizes[(size_t)n - 2]);
            for (int corrupt = 0; corrupt < 2; corrupt++) {
                struct fake_gpu fake;
                struct inq_execution x;
                struct inq_err err = {0};
                const struct inq_replay_options o = {
                    .work = INQ_WORK_RECORDED, .no_graph = n % 2 == 0, .repeats = 1};
                fake_gpu_init(&fake);
                fake.corrupt = corrupt != 0;
                int code = inq_gpu_run(&fake.calls, job.plan, &o, &x, &err);
                /* too few values to hit one of those that come out wrong */
                bool hit = corrupt != 0 && t < 3 && (n >= 5 || n == 4); /* those that reduce */
                if (hit) {
                    assert_int_equal(code, INQ_DEVICE);
                    assert_non_null(strstr(err.message, "that transfers brought are wrong"));
                    assert_null(x.start_ns);
                } else {
                    assert_int_equal(code, INQ_OK);
                    assert_true(x.verified);
                    assert_kept(&job, &x, 0);
                    bool guessed = strstr(x.note, "payloads not recorded") != NULL;
                    assert_true(guessed == (sizes[(size_t)n - 2] < 0));
                }
                assert_nothing_left(&fake);
                inq_execution_release(&x);
                fake_gpu_release(&fake);
            }
            release_job(&job);
        }
    }
}

/* Products as long as the ops, by the library or, without one, by the engine's own kernel. */
static void engine__calibrates_products_to_durations(void **state)
{
    (void)state;
    for (int library = 0; library < 2; library++) {
        struct job job = schedule_job("1f1b", 2, 4, 500 * US);
        struct fake_gpu fake;
        struct inq_execution x;
        const struct inq_replay_options o = {.work = INQ_WORK_RECORDED};
        fake_gpu_init(&fake);
        fake.gemm_ns = library != 0 ? fake.gemm_ns : 0;
        assert_int_equal(inq_gpu_run(&fake.calls, job.plan, &o, &x, NULL), INQ_OK);
        assert_non_null(strstr(x.note, library != 0 ? "by cuBLAS" : "own products"));
        assert_true(fake.n_products > 0);
        int64_t off = llabs(x.median_ns - job.plan->simulated_ns);
        assert_true(off * 20 < job.plan->simulated_ns);
        inq_execution_release(&x);
        fake_gpu_release(&fake);
        release_job(&job);
    }
}

/* Ranks of one op each, of the given class and work. */
static struct job ranks_job(size_t n, const int64_t *dur_ns, const uint8_t *classes,
                            const uint8_t *works, const int64_t *sizes)
{
    struct job job = {.graph = NULL};
    struct inq_graph_builder *b = inq_graph_builder_new();
    for (size_t r = 0; r < n; r++) {
        struct inq_graph_op op = inq_graph_op_init();
        op.rank = (int32_t)r;
        op.lane = 0;
        op.cls = classes[r];
        assert_int_equal(inq_graph_add_op(b, &op, dur_ns[r], 0, NULL, NULL), INQ_OK);
    }
    assert_int_equal(inq_graph_finish(b, &job.graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    const struct inq_plan_options o = {.work = works, .bytes = sizes};
    assert_int_equal(inq_plan_make(job.graph, &o, &job.plan, NULL), INQ_OK);
    return job;
}

/* Products of 8192 and 16384 are made where an op lasts as long as the fastest GPU needs for one,
 * so that a long op is a few of them and not hundreds of small ones. */
static void engine__calibrates_the_largest_products(void **state)
{
    (void)state;
    /* 1,000 TFLOP/s: 2 x 8192^3 operations take 1,099,511.6 ns, 2 x 16384^3 take 8,796,093.0 ns */
    static const struct {
        int64_t op_ns;
        int32_t largest;
        size_t most; /* products of one execution of the op: a few of each size */
    } rows[] = {{1099511, 4096, 30},
                {1099512, 8192, 30},
                {8796093, 8192, 30},
                {8796094, 16384, 30},
                {INT64_C(200) * 1000 * US, 16384, 60}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint8_t cls = INQ_CLASS_COMPUTE;
        const uint8_t work = INQ_WORK_COMPUTE;
        struct job job = ranks_job(1, &rows[i].op_ns, &cls, &work, NULL);
        const struct inq_replay_options once = {
            .work = INQ_WORK_RECORDED, .warmup = -1, .repeats = 1, .no_graph = true};
        struct inq_replay_options twice = once;
        struct fake_gpu fakes[2];
        twice.repeats = 2;
        for (int k = 0; k < 2; k++) {
            struct inq_execution x;
            fake_gpu_init(&fakes[k]);
            fakes[k].gemm_ns = 33; /* the same rate */
            assert_int_equal(
                inq_gpu_run(&fakes[k].calls, job.plan, k == 0 ? &once : &twice, &x, NULL), INQ_OK);
            assert_true(llabs(x.median_ns - rows[i].op_ns) < rows[i].op_ns / 50 + 10 * US);
            assert_int_equal(fakes[k].largest, rows[i].largest);
            inq_execution_release(&x);
        }
        assert_true(fakes[1].n_products - fakes[0].n_products <= rows[i].most);
        fake_gpu_release(&fakes[0]);
        fake_gpu_release(&fakes[1]);
        release_job(&job);
    }
}

/* In the execution all partitions are busy: so they are while products are timed, each with as many
 * blocks as its partition has SMs. */
static void engine__calibrates_under_load(void **state)
{
    (void)state;
    static const int64_t dur_ns[] = {500 * US, 10 * US, 10 * US};
    static const uint8_t classes[] = {INQ_CLASS_COMPUTE, INQ_CLASS_OTHER, INQ_CLASS_OTHER};
    static const uint8_t works[] = {INQ_WORK_COMPUTE, INQ_WORK_NOTHING, INQ_WORK_NOTHING};
    struct job job = ranks_job(3, dur_ns, classes, works, NULL);
    for (int library = 0; library < 2; library++) {
        const struct inq_replay_options o = {.work = INQ_WORK_RECORDED};
        struct fake_gpu fake;
        struct inq_execution x;
        fake_gpu_init(&fake);
        fake.gemm_ns = library != 0 ? fake.gemm_ns : 0;
        assert_int_equal(inq_gpu_run(&fake.calls, job.plan, &o, &x, NULL), INQ_OK);
        /* at least two sizes, four times eight products each, though they have none to execute;
         * loading each size takes one of it */
        assert_true(fake.part_products[1] >= 64 && fake.part_products[2] >= 64);
        assert_int_equal(fake.product_blocks, library != 0 ? 0 : fake.sms / 3);
        inq_execution_release(&x);
        fake_gpu_release(&fake);
    }
    release_job(&job);
}

/* Copies from and to the host's memory bring the pattern there and back, and take what they take
 * where their bytes are known. */
static void engine__copies_from_and_to_the_host(void **state)
{
    (void)state;
    static const int64_t dur_ns[] = {50 * US, 60 * US, 70 * US, 80 * US};
    static const uint8_t classes[] = {INQ_CLASS_COPY, INQ_CLASS_COPY, INQ_CLASS_COPY,
                                      INQ_CLASS_COPY};
    static const uint8_t works[] = {INQ_WORK_COPY_HTOD, INQ_WORK_COPY_DTOH, INQ_WORK_COPY,
                                    INQ_WORK_COPY_HTOD};
    static const int64_t sizes[] = {1000000, 2000000, 3000000, -1};
    struct job job = ranks_job(4, dur_ns, classes, works, sizes);
    for (size_t n_gpus = 1; n_gpus <= 4; n_gpus += 3) {
        for (int graph = 0; graph < 2; graph++) {
            const struct inq_replay_options o = {.work = INQ_WORK_RECORDED, .no_graph = graph == 0};
            struct fake_gpu fake;
            struct inq_execution x;
            fake_gpu_init(&fake);
            fake.n_gpus = n_gpus;
            assert_int_equal(inq_gpu_run(&fake.calls, job.plan, &o, &x, NULL), INQ_OK);
            assert_true(x.verified);
            for (uint32_t i = 0; i < 4; i++) {
                uint32_t r = (uint32_t)job.graph->op[i].rank;
                bool own = n_gpus == 4 && sizes[r] > 0;
                int64_t took = x.end_ns[i] - x.start_ns[i];
                /* 1 GB/us; a rank that shares a GPU keeps the recorded time */
                assert_int_equal(x.timing[i], own ? INQ_TIMING_MEASURED : INQ_TIMING_GIVEN);
                assert_true(own ? took < 20 * US : took >= dur_ns[r]);
            }
            assert_nothing_left(&fake);
            inq_execution_release(&x);
            fake_gpu_release(&fake);
        }
    }
    release_job(&job);
}

/* On GPUs of their own ranks do what was recorded: products of its sizes, its traffic, transfers
 * that take what they take; where they share a GPU, or times are scaled, what takes as long. */
static void engine__does_what_was_recorded_on_gpus_of_their_own(void **state)
{
    (void)state;
    struct job job = collective_job(INQ_WORK_ALL_REDUCE, 2, 4096);
    struct inq_product product[16] = {{0}};
    int64_t bytes[16];
    uint8_t work[16];
    for (size_t i = 0; i < job.graph->n_ops; i++) {
        bool compute = job.graph->op[i].cls == INQ_CLASS_COMPUTE;
        bool first = compute && job.graph->op[i].rank == 0;
        work[i] = compute ? INQ_WORK_COMPUTE : INQ_WORK_ALL_REDUCE;
        bytes[i] = compute && !first ? 1 << 20 : compute ? -1 : 4096;
        product[i] = first ? (struct inq_product){512, 1024, 256, 2, INQ_PRODUCT_F16}
                           : (struct inq_product){0};
    }
    inq_plan_free(job.plan);
    struct inq_plan_options o = {.bytes = bytes, .work = work, .product = product};
    assert_int_equal(inq_plan_make(job.graph, &o, &job.plan, NULL), INQ_OK);
    const struct inq_replay_options options = {
        .work = INQ_WORK_RECORDED, .warmup = -1, .repeats = 1};
    for (int shared = 0; shared < 3; shared++) { /* GPUs of their own; one GPU; scaled */
        if (shared == 2) {
            o.scale = 0.5;
            inq_plan_free(job.plan);
            assert_int_equal(inq_plan_make(job.graph, &o, &job.plan, NULL), INQ_OK);
        }
        struct fake_gpu fake;
        struct inq_execution x;
        fake_gpu_init(&fake);
        fake.n_gpus = shared == 1 ? 1 : 2;
        struct inq_err err = {0};
        if (inq_gpu_run(&fake.calls, job.plan, &options, &x, &err) != INQ_OK) {
            fail_msg("%s", err.message);
        }
        bool own = shared == 0;
        /* checked once, executed once: two products and two of traffic each; and one product that
         * tried whether the library has its type */
        assert_int_equal(fake.n_streams, own ? 4 : 0);
        assert_true(own ? fake.n_products == 5 : fake.n_products > 4);
        assert_true(x.peak_bytes > (1 << 19));
        for (size_t i = 0; i < x.n_ops; i++) {
            bool compute = work[i] == INQ_WORK_COMPUTE;
            assert_int_equal(x.timing[i], own       ? INQ_TIMING_MEASURED
                                          : compute ? INQ_TIMING_CALIBRATED
                                                    : INQ_TIMING_GIVEN);
            /* 2 x 512 x 1024 x 256 is 16 times 256 cubed */
            if (own && product[i].m > 0) {
                int64_t took = x.end_ns[i] - x.start_ns[i];
                assert_in_range(took, 16 * fake.gemm_ns, 16 * fake.gemm_ns + 4 * fake.launch_ns);
            }
            if (own && !compute) { /* planned: 50 us */
                assert_true(x.end_ns[i] - x.start_ns[i] < 50 * US);
            }
        }
        inq_execution_release(&x);
        assert_nothing_left(&fake);
        fake_gpu_release(&fake);
    }
    release_job(&job);
}

static void engine__copies_what_is_sent(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 3, 4, 200 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    const struct inq_replay_options o = {.work = INQ_WORK_RECORDED};
    fake_gpu_init(&fake);
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, &o, &x, NULL), INQ_OK);
    bool moves = false;
    for (size_t i = 0; i < job.graph->n_ops; i++) {
        moves |= job.plan->work[i] == INQ_WORK_RECV || job.plan->work[i] == INQ_WORK_COPY;
    }
    assert_true(moves);
    assert_true(x.verified);
    assert_true(fake.n_copies > 0);
    inq_execution_release(&x);
    fake_gpu_release(&fake);
    release_job(&job);
}

/* ---- two in turns ---------------------------------------------------------------------------- */

static void engine__executes_two_plans_in_turns(void **state)
{
    (void)state;
    struct job a = schedule_job("gpipe", 4, 8, 100 * US);
    struct job b = schedule_job("1f1b", 2, 8, 100 * US);
    const struct inq_plan *const plans[2] = {a.plan, b.plan};
    const uint8_t order[5] = {0, 1, 1, 0, 1};
    int64_t makespan[5];
    struct inq_witness witness = {0};
    const struct inq_gpu_turns turns = {plans, order, 5, makespan, &witness};
    struct fake_gpu fake;
    struct inq_execution device;
    fake_gpu_init(&fake);
    assert_int_equal(inq_gpu_alternate(&fake.calls, &turns, NULL, &device, NULL), INQ_OK);
    for (int i = 0; i < 5; i++) {
        int64_t want = plans[order[i]]->simulated_ns;
        assert_true(llabs(makespan[i] - want) * 50 < want);
    }
    assert_string_equal(device.device, "Fake GPU");
    assert_int_equal(device.n_virtual, 4);
    assert_null(device.start_ns);
    assert_int_equal(witness.n, 5);
    assert_int_equal(witness.n_broken, 0);
    assert_int_equal(witness.n_base, 2);
    assert_nothing_left(&fake);
    fake_gpu_release(&fake);
    release_job(&a);
    release_job(&b);
}

/* ---- failing --------------------------------------------------------------------------------- */

/* Whichever call fails, the error says so and nothing stays behind. */
static void engine__leaves_nothing_behind_when_a_call_fails(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 4; mode++) {
        struct job job = collective_job(INQ_WORK_ALL_REDUCE, 3, 4096);
        const struct inq_replay_options o = {.work = (mode & 1U) != 0 ? INQ_WORK_RECORDED
                                                                      : INQ_WORK_TIMED,
                                             .no_graph = (mode & 2U) != 0,
                                             .repeats = 1};
        long n_failed = 0;
        for (long at = 1;; at++) {
            struct fake_gpu fake;
            struct inq_execution x;
            struct inq_err err = {0};
            fake_gpu_init(&fake);
            fake.fail_at = at;
            fake.n_gpus = 1 + (size_t)(at % 2);
            int code = inq_gpu_run(&fake.calls, job.plan, &o, &x, &err);
            bool reached = fake.n_calls >= at;
            /* a failing query leaves open whether the device has stopped */
            bool lost = strstr(err.message, "query") != NULL && fake.opened > 0;
            if (!lost) {
                assert_nothing_left(&fake);
            }
            fake_gpu_release(&fake);
            if (code == INQ_OK) {
                inq_execution_release(&x);
            } else {
                assert_non_null(strstr(err.message, "planted"));
                assert_true(code == INQ_DEVICE || code == INQ_NOMEM);
                assert_null(x.start_ns);
                n_failed++;
            }
            if (!reached) {
                assert_int_equal(code, INQ_OK);
                break;
            }
        }
        assert_true(n_failed > 80);
        release_job(&job);
    }
}

static void engine__leaves_nothing_behind_when_memory_is_out(void **state)
{
    (void)state;
    struct job job = collective_job(INQ_WORK_ALL_REDUCE, 3, 4096);
    const struct inq_replay_options o = {.work = INQ_WORK_RECORDED, .repeats = 1};
    for (long at = 1;; at++) {
        struct fake_gpu fake;
        struct inq_execution x;
        struct inq_err err = {0};
        fake_gpu_init(&fake);
        inq_mem_fail_after(at);
        int code = inq_gpu_run(&fake.calls, job.plan, &o, &x, &err);
        inq_mem_fail_after(0);
        assert_nothing_left(&fake);
        fake_gpu_release(&fake);
        if (code == INQ_OK) {
            inq_execution_release(&x);
            assert_true(at > 20);
            break;
        }
        assert_int_equal(code, INQ_NOMEM);
        assert_null(x.start_ns);
    }
    release_job(&job);
}

static void engine__refuses_more_ranks_than_sms(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 8, 8, 100 * US);
    struct fake_gpu fake;
    struct inq_execution x;
    struct inq_err err = {0};
    fake_gpu_init(&fake);
    fake.sms = 6;
    assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, &err), INQ_LIMIT);
    assert_non_null(strstr(err.message, "8 ranks on one GPU of 6 SMs"));
    assert_nothing_left(&fake);
    fake_gpu_release(&fake);
    release_job(&job);
}

static void engine__stops_what_takes_too_long(void **state)
{
    (void)state;
    struct job job = schedule_job("1f1b", 2, 4, 100 * US);
    for (int stops = 0; stops < 2; stops++) {
        struct fake_gpu fake;
        struct inq_execution x;
        struct inq_err err = {0};
        fake_gpu_init(&fake);
        fake.hangs = true;
        fake.stops = stops != 0;
        assert_int_equal(inq_gpu_run(&fake.calls, job.plan, NULL, &x, &err), INQ_DEVICE);
        assert_non_null(strstr(err.message, stops != 0 ? "was stopped" : "does not stop"));
        if (stops != 0) {
            assert_nothing_left(&fake);
        } else {
            assert_true(fake.opened > 0); /* giving back what a GPU still uses would wait for it */
        }
        fake_gpu_release(&fake);
    }
    release_job(&job);
}

static void engine__is_in_the_table_and_says_what_is_missing(void **state)
{
    (void)state;
    const struct inq_engine *cuda = inq_engine_find("cuda");
    struct job job = schedule_job("1f1b", 2, 2, 100 * US);
    struct inq_execution x;
    struct inq_err err = {0};
    const struct inq_replay_options o = {.timeout_ns = INT64_C(60000000000)};
    assert_non_null(cuda);
    int code = cuda->run(job.plan, &o, &x, &err);
    if (code == INQ_OK) {
        assert_kept(&job, &x, x.resolution_ns); /* there is a GPU after all */
        inq_execution_release(&x);
    } else {
        assert_int_equal(code, INQ_UNSUPPORTED);
        bool driver = strstr(err.message, "driver") != NULL || strstr(err.message, "GPU") != NULL;
        assert_true(cuda->built ? driver : strstr(err.message, "not built") != NULL);
        assert_null(x.start_ns);
    }
    release_job(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__keeps_random_plans_in_every_mode),
        cmocka_unit_test(engine__takes_as_long_as_the_simulation),
        cmocka_unit_test(engine__says_when_ops_are_too_short),
        cmocka_unit_test(engine__opens_the_gate_before_queues_are_full),
        cmocka_unit_test(engine__falls_back_to_streams_and_says_so),
        cmocka_unit_test(engine__aligns_the_timers_of_several_gpus),
        cmocka_unit_test(engine__verifies_collectives_of_all_kinds_and_sizes),
        cmocka_unit_test(engine__calibrates_products_to_durations),
        cmocka_unit_test(engine__calibrates_the_largest_products),
        cmocka_unit_test(engine__calibrates_under_load),
        cmocka_unit_test(engine__copies_from_and_to_the_host),
        cmocka_unit_test(engine__does_what_was_recorded_on_gpus_of_their_own),
        cmocka_unit_test(engine__copies_what_is_sent),
        cmocka_unit_test(engine__executes_two_plans_in_turns),
        cmocka_unit_test(engine__leaves_nothing_behind_when_a_call_fails),
        cmocka_unit_test(engine__leaves_nothing_behind_when_memory_is_out),
        cmocka_unit_test(engine__refuses_more_ranks_than_sms),
        cmocka_unit_test(engine__stops_what_takes_too_long),
        cmocka_unit_test(engine__is_in_the_table_and_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
