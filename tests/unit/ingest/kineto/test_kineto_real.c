/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces: counts and sums known from an independent reading, and every way of reading, cutting
 * and breaking them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_sanitize.h"
#include "support_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers make everything much slower: then a sample has to do. */
enum { LARGE = TEST_SANITIZED ? 6000000 : 100000000, ONE_OF = TEST_SANITIZED ? 10 : 1 };

/* What a file holds, worked out with exact decimals from the parsed JSON. `starts` is the sum of
 * the starts of GPU events relative to the first of them, `durs` of their durations. */
struct facts {
    const char *name;
    uint64_t events;
    uint64_t kinds[4]; /* kernels, copies, memsets, synchronizations */
    uint64_t calls, notes;
    int32_t rank, world_size;
    int64_t first_ns, starts_ns, durs_ns;
};

static const struct facts files[] = {
    {"dlrm_8ranks/worker0_step_12.1694128201545.pt.trace.json.gz",
     3290,
     {245, 16, 0, 0},
     525,
     40,
     0,
     8,
     INT64_C(1694128201428006000),
     INT64_C(2123465000),
     INT64_C(6851000)},
    {"dlrm_8ranks/worker3_step_12.1694128201557.pt.trace.json.gz",
     3474,
     {315, 16, 6, 0},
     541,
     40,
     3,
     8,
     INT64_C(1694128201422243000),
     INT64_C(3683515000),
     INT64_C(11042000)},
    {"edge/benchmark_result_2869224_1695835535_trace.json.gz",
     1408,
     {79, 16, 3, 41},
     361,
     8,
     0,
     -1,
     INT64_C(1695835572943613000),
     INT64_C(1331753393000),
     INT64_C(67681000)},
    {"edge/distributed_info_not_found.json.gz",
     2467,
     {0, 0, 0, 0},
     0,
     43,
     -1,
     -1,
     INT64_C(0),
     INT64_C(0),
     INT64_C(0)},
    {"edge/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
     220,
     {14, 2, 0, 0},
     21,
     5,
     -1,
     -1,
     INT64_C(1739836029603454206),
     INT64_C(38485645),
     INT64_C(149042)},
    {"edge/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
     30,
     {14, 0, 0, 0}, /* Gloo's all-reduces and operators: there is no device */
     14,
     1,
     34,
     300,
     INT64_C(1721065959548353304),
     INT64_C(10244108963),
     INT64_C(2135459882)},
    {"edge/rank_non_gpu.json.gz",
     2467,
     {0, 0, 0, 0},
     0,
     43,
     0,
     -1,
     INT64_C(0),
     INT64_C(0),
     INT64_C(0)},
    {"edge/rank_not_found.json.gz",
     2467,
     {0, 0, 0, 0},
     0,
     43,
     -1,
     -1,
     INT64_C(0),
     INT64_C(0),
     INT64_C(0)},
    {"edge/worker0.1623143566756.pt.trace.json.gz",
     75718,
     {8772, 12, 312, 0},
     11923,
     24,
     -1,
     -1,
     INT64_C(1623143093549984000),
     INT64_C(4127085729000),
     INT64_C(602145000)},
    {"hta/mtia_rank_0.json.gz",
     455739,
     {25814, 0, 0, 0},
     3453,
     214,
     0,
     1,
     INT64_C(1731348176881202837),
     INT64_C(246372259363896),
     INT64_C(7734519056)},
    {"hta/nccl_data.json.gz",
     40573,
     {2700, 960, 114, 0},
     8740,
     72,
     0,
     2,
     INT64_C(1716423322422880181),
     INT64_C(1274872088412),
     INT64_C(165185838)},
    {"hta/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
     68692,
     {4350, 1600, 145, 0},
     15329,
     85,
     0,
     1,
     INT64_C(1712195495505582988),
     INT64_C(1448044378354),
     INT64_C(472454441)},
    {"hta/rank0.json.gz",
     108936,
     {6080, 1390, 277, 0},
     33924,
     360,
     0,
     16,
     INT64_C(1683564901549715000),
     INT64_C(4864178115000),
     INT64_C(449763000)},
    {"hta/trace_diff/control.json.gz",
     109123,
     {8568, 228, 654, 0},
     24692,
     288,
     3,
     8,
     INT64_C(1661203462599325000),
     INT64_C(2196385025000),
     INT64_C(501567000)},
    {"hta/trace_diff/test.json.gz",
     105167,
     {9876, 4856, 900, 0},
     21167,
     288,
     1,
     2,
     INT64_C(1661938466265125000),
     INT64_C(5849687249000),
     INT64_C(963762000)},
    {"megatron_tp2/9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz",
     3742,
     {217, 28, 0, 0},
     567,
     32,
     0,
     2,
     INT64_C(1724066820056568424),
     INT64_C(8332031707),
     INT64_C(1438279)},
    {"megatron_tp2/9c44bd29b3f0_1376.1724066820237002797.pt.trace.json.gz",
     4082,
     {217, 28, 0, 0},
     737,
     32,
     1,
     2,
     INT64_C(1724066820044007395),
     INT64_C(10510897811),
     INT64_C(49315214)},
    {"resnet18_ddp/"
     "ip-172-31-16-248.us-east-2.compute.internal_85866.1698107929560561434.pt.trace.json",
     5082,
     {177, 48, 0, 0},
     474,
     48,
     0,
     2,
     INT64_C(1698107929236971000),
     INT64_C(14274286000),
     INT64_C(8487000)},
    {"torchrec_4/"
     "ip-172-31-16-248.us-east-2.compute.internal_44239.1698957662181276126.pt.trace.json.gz",
     9832,
     {606, 33, 68, 0},
     1846,
     114,
     2,
     4,
     INT64_C(1698957661004355000),
     INT64_C(299878488000),
     INT64_C(466232000)},
    {"torchrec_sleep/"
     "ip-172-31-16-248.us-east-2.compute.internal_19490.1698954910152757753.pt.trace.json.gz",
     3321,
     {204, 36, 21, 0},
     647,
     90,
     2,
     4,
     INT64_C(1698954906742498000),
     INT64_C(472938899000),
     INT64_C(164862000)},
    {"torchrec_two_jobs/"
     "ip-172-31-16-248.us-east-2.compute.internal_26701.1698955629474265481.pt.trace.json.gz",
     9356,
     {598, 33, 66, 0},
     1618,
     114,
     2,
     4,
     INT64_C(1698955628362218000),
     INT64_C(286432455000),
     INT64_C(477527000)},
};
enum { N_FILES = sizeof files / sizeof files[0] };

static struct test_text load(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "kineto/%s", name);
    struct test_text text = test_load(INQ_SHARED_DATA, path);
    if (text.p == NULL) {
        skip();
    }
    return text;
}

/* What a host's backend communicated for its device, which others do not count. */
static bool is_of_host(const struct inq_rank *rank, size_t event)
{
    bool device = false;
    for (size_t l = 0; l < rank->n_lanes; l++) {
        device = device || rank->lanes[l].kind == INQ_LANE_STREAM;
    }
    return device && rank->lanes[rank->events.lane[event]].kind == INQ_LANE_THREAD;
}

static void check_facts(const struct facts *f, const struct inq_shard *shard)
{
    assert_string_equal(shard->file.format, "kineto");
    assert_int_equal(shard->file.events, f->events);
    assert_int_equal(inq_damage_total(&shard->file.damage), 0);
    assert_int_equal(shard->n_ranks, 1);
    const struct inq_rank *rank = &shard->ranks[0];
    assert_int_equal(rank->rank, f->rank);
    assert_int_equal(rank->world_size, f->world_size);
    assert_int_equal(rank->n_notes, f->notes);
    uint64_t kinds[INQ_EVENT_KIND_COUNT] = {0};
    int64_t first = rank->events.n > 0 ? rank->events.start_ns[0] : 0;
    for (size_t i = 0; i < rank->events.n; i++) {
        kinds[rank->events.kind[i]] += !is_of_host(rank, i);
        first = rank->events.start_ns[i] < first ? rank->events.start_ns[i] : first;
    }
    assert_int_equal(first, f->first_ns);
    int64_t starts = 0;
    int64_t durs = 0;
    size_t of_host = 0; /* each is its own launch */
    for (size_t i = 0; i < rank->events.n; i++) {
        bool device = !is_of_host(rank, i);
        starts += device ? rank->events.start_ns[i] - first : 0;
        durs += device ? rank->events.dur_ns[i] : 0;
        of_host += !device;
    }
    assert_int_equal(rank->calls.n - of_host, f->calls);
    assert_int_equal(starts, f->starts_ns);
    assert_int_equal(durs, f->durs_ns);
    assert_int_equal(kinds[INQ_EVENT_KERNEL], f->kinds[0]);
    assert_int_equal(kinds[INQ_EVENT_MEMCPY], f->kinds[1]);
    assert_int_equal(kinds[INQ_EVENT_MEMSET], f->kinds[2]);
    assert_int_equal(kinds[INQ_EVENT_SYNC], f->kinds[3]);
    assert_int_equal(kinds[INQ_EVENT_SLICE], 0);
    assert_true(rank->has_clock_epoch);
}

static void real__counts_and_sums_are_those_known(void **state)
{
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        struct test_text text = load(files[i].name);
        struct inq_shard shard;
        test_read_ok(text, (struct test_way){.level = (int)inq_shape_level()}, &shard);
        check_facts(&files[i], &shard);
        inq_shard_release(&shard);
        free(text.p);
    }
}

static void real__fast_and_general_give_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        struct test_text text = load(files[i].name);
        if (text.n > LARGE) {
            free(text.p);
            continue;
        }
        struct inq_shard general;
        test_read_ok(text, (struct test_way){.level = -1}, &general);
        for (int level = 0; level <= (int)inq_shape_level(); level++) {
            struct inq_shard fast;
            test_read_ok(text, (struct test_way){.level = level}, &fast);
            test_same_shard(&fast, &general, files[i].name);
            inq_shard_release(&fast);
        }
        inq_shard_release(&general);
        free(text.p);
    }
}

static void real__gzip_threads_and_chunks_do_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        struct test_text text = load(files[i].name);
        if (text.n > 11000000 || text.n > LARGE) {
            free(text.p);
            continue;
        }
        struct test_text packed = test_gzip(text);
        struct inq_shard whole;
        test_read_ok(text, (struct test_way){.level = (int)inq_shape_level()}, &whole);
        struct test_way ways[] = {{.chunk = 1},      {.chunk = 333},
                                  {.chunk = 65536},  {.threaded = true},
                                  {.no_isal = true}, {.threaded = true, .chunk = 9999}};
        for (size_t w = text.n > 1200000 ? 1 : 0; w < sizeof ways / sizeof ways[0]; w++) {
            ways[w].level = (int)inq_shape_level();
            struct inq_shard other;
            test_read_ok(w % 2 == 0 ? text : packed, ways[w], &other);
            test_same_shard(&other, &whole, files[i].name);
            inq_shard_release(&other);
        }
        inq_shard_release(&whole);
        free(packed.p);
        free(text.p);
    }
}

/* ---- generic traces -------------------------------------------------------------------------- */

struct generic {
    const char *name;
    uint64_t events, slices, begins_left;
    enum inq_damage_kind damage; /* INQ_DAMAGE_KIND_COUNT: none */
};

static void real__generic_traces(void **state)
{
    (void)state;
    static const struct generic traces[] = {
        {"async_begin_end.json", 35, 3, 0, INQ_DAMAGE_KIND_COUNT},
        {"big_trace.json", 1866, 933, 0, INQ_DAMAGE_KIND_COUNT},
        {"byteps_unterminated.json.gz", 40585, 20127, 1, INQ_DAMAGE_UNTERMINATED},
        {"chromeos_system_trace.json", 36, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"flow_simple.json", 10, 5, 0, INQ_DAMAGE_KIND_COUNT},
        {"gpu_state_trace.json", 1, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"instance_counters.json", 12, 2, 0, INQ_DAMAGE_KIND_COUNT},
        {"instant_events.json", 5, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"nanoseconds.json", 16, 8, 0, INQ_DAMAGE_KIND_COUNT},
        {"nestable_async.json", 20, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"nestable_async_annotation.json", 20, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"picture_trace.json", 3, 1, 0, INQ_DAMAGE_KIND_COUNT},
        {"quads_with_render_passes.json", 30, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"simple_trace.json", 37, 12, 0, INQ_DAMAGE_KIND_COUNT},
        {"tall_trace.json", 39, 18, 0, INQ_DAMAGE_KIND_COUNT},
        {"trace-with-bad-world-bounds.json", 10, 0, 0, INQ_DAMAGE_KIND_COUNT},
        {"traceviewify.json", 1312, 656, 0, INQ_DAMAGE_KIND_COUNT},
        {"trivial_trace.json", 4, 2, 0, INQ_DAMAGE_KIND_COUNT},
        {"v8_runtime_call_stats.json", 2316, 1305, 0, INQ_DAMAGE_KIND_COUNT},
    };
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        const struct generic *t = &traces[i];
        char path[256];
        (void)snprintf(path, sizeof path, "chrome/%s", t->name);
        struct test_text text = test_load(INQ_SHARED_DATA, path);
        if (text.p == NULL) {
            skip();
        }
        struct inq_shard shard;
        test_all_ways(text, t->name, &shard);
        assert_string_equal(shard.file.format, "chrome");
        assert_int_equal(shard.file.events, t->events);
        assert_int_equal(shard.ranks[0].events.n, t->slices);
        for (size_t e = 0; e < shard.ranks[0].events.n; e++) {
            assert_int_equal(shard.ranks[0].events.kind[e], INQ_EVENT_SLICE);
            assert_true(shard.ranks[0].events.dur_ns[e] >= 0);
        }
        assert_int_equal(shard.file.damage.count[INQ_DAMAGE_UNMATCHED_BEGIN], t->begins_left);
        uint64_t expected = t->begins_left + (t->damage != INQ_DAMAGE_KIND_COUNT);
        assert_int_equal(inq_damage_total(&shard.file.damage), expected);
        inq_shard_release(&shard);
        free(text.p);
    }
}

static void real__documents_that_are_no_traces(void **state)
{
    (void)state;
    static const char *const names[] = {"chrome/google_cloud_trace.json",
                                        "chrome/dashboard_test_points.json"};
    for (size_t i = 0; i < 2; i++) {
        struct test_text text = test_load(INQ_SHARED_DATA, names[i]);
        if (text.p == NULL) {
            skip();
        }
        struct inq_shard shard;
        assert_int_equal(test_read_trace(text, (struct test_way){.level = 0}, &shard),
                         INQ_UNSUPPORTED);
        assert_true(strlen(shard.file.reason) > 0);
        inq_shard_release(&shard);
        free(text.p);
    }
}

static void real__op_tables_as_timelines(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t ranks, ops;
        int32_t stages;
    } tables[] = {{"whatif/ST/timeline-ST.json.gz", 8, 6784, 4},
                  {"whatif/AR/timeline-AR.json.gz", 16, 117216, 4}};
    for (size_t i = 0; i < 2; i++) {
        struct test_text text = test_load(INQ_SHARED_DATA, tables[i].name);
        if (text.p == NULL) {
            skip();
        }
        struct inq_shard shard;
        test_read_ok(text, (struct test_way){.level = (int)inq_shape_level()}, &shard);
        assert_string_equal(shard.file.format, "op-table");
        assert_int_equal(inq_damage_total(&shard.file.damage), 0);
        assert_int_equal(shard.n_ranks, tables[i].ranks);
        size_t ops = 0;
        for (size_t r = 0; r < shard.n_ranks; r++) {
            const struct inq_rank *rank = &shard.ranks[r];
            assert_int_equal(rank->n_labels, rank->events.n);
            assert_in_range(rank->stage, 0, tables[i].stages - 1);
            /* ranks count DP (and TP) ranks inside of stages, in both files */
            assert_int_equal(rank->rank / (int32_t)(tables[i].ranks == 8 ? 2 : 16), rank->stage);
            ops += rank->events.n;
        }
        assert_int_equal(ops, tables[i].ops);
        inq_shard_release(&shard);
        free(text.p);
    }
}

/* ---- cut and broken -------------------------------------------------------------------------- */

/* Files whose every event ends a line "  }": one per folder, and the largest at a few places. */
static const struct {
    const char *name;
    int places;
} victims[] = {
    {"dlrm_8ranks/worker0_step_12.1694128201545.pt.trace.json.gz", 200},
    {"edge/benchmark_result_2869224_1695835535_trace.json.gz", 200},
    {"edge/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 200},
    {"edge/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 200},
    {"edge/rank_non_gpu.json.gz", 200},
    {"megatron_tp2/9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz", 200},
    {"hta/nccl_data.json.gz", 10},
    {"edge/worker0.1623143566756.pt.trace.json.gz", 3},
    {"hta/mtia_rank_0.json.gz", 2},
};
enum { N_VICTIMS = sizeof victims / sizeof victims[0] };

/* Events that end in front of `cut`, counted by their closing lines. */
static uint64_t events_before(struct test_text text, size_t cut)
{
    const char *p = memmem(text.p, text.n, "\"traceEvents\"", 13);
    const char *end = text.p + cut;
    uint64_t n = 0;
    while (p != NULL && p < end && (p = memmem(p, (size_t)(end - p), "\n  }", 4)) != NULL) {
        n++;
        p += 4;
    }
    return n;
}

static void broken__cut_anywhere(void **state)
{
    (void)state;
    uint64_t seed = 20231107;
    for (int v = 0; v < N_VICTIMS; v++) {
        struct test_text text = load(victims[v].name);
        if (text.n > LARGE) {
            free(text.p);
            continue;
        }
        for (int i = 0; i < (victims[v].places + ONE_OF - 1) / ONE_OF; i++) {
            struct test_text cut = {text.p, 1 + test_random(&seed) % (text.n - 1)};
            struct inq_shard shard;
            int code =
                test_read_trace(cut, (struct test_way){.level = (int)inq_shape_level()}, &shard);
            bool told = memmem(cut.p, cut.n, "\"schemaVersion\"", 15) != NULL;
            assert_true(code == INQ_OK || (code == INQ_UNSUPPORTED && !told));
            uint64_t whole = events_before(text, cut.n);
            if (code == INQ_OK && shard.file.events != whole) {
                fail_msg("%s cut at %zu: %llu events, not %llu", victims[v].name, cut.n,
                         (unsigned long long)shard.file.events, (unsigned long long)whole);
            }
            assert_true(inq_damage_total(&shard.file.damage) > 0 || cut.n + 3 > text.n || !told);
            inq_shard_release(&shard);
        }
        free(text.p);
    }
}

static void broken__cut_compressed(void **state)
{
    (void)state;
    uint64_t seed = 99;
    for (int v = 0; v < N_VICTIMS; v++) {
        struct test_text text = load(victims[v].name);
        if (text.n > LARGE) {
            free(text.p);
            continue;
        }
        struct test_text packed = test_gzip(text);
        for (int i = 0; i < (victims[v].places + ONE_OF - 1) / ONE_OF; i++) {
            struct test_text cut = {packed.p, 20 + test_random(&seed) % (packed.n - 20)};
            struct inq_source *source = NULL;
            struct inq_shard shard = {.file = {.path = "test"}};
            assert_int_equal(inq_source_open_memory(cut.p, cut.n, NULL, &source, NULL), INQ_OK);
            int code = inq_kineto_read(source, &shard, inq_shape_matcher(inq_shape_level()), NULL);
            uint64_t delivered = inq_source_delivered(source);
            assert_int_equal(inq_source_damage(source)->count[INQ_DAMAGE_TRUNCATED_GZIP], 1);
            assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
            if (code == INQ_OK) {
                assert_int_equal(shard.file.events, events_before(text, delivered));
            }
            inq_source_close(source);
            inq_shard_release(&shard);
        }
        free(packed.p);
        free(text.p);
    }
}

static void broken__one_flipped_byte_costs_little(void **state)
{
    (void)state;
    uint64_t seed = 4711;
    for (int v = 0; v < 6; v++) {
        struct test_text text = load(victims[v].name);
        uint64_t whole = events_before(text, text.n);
        for (int i = 0; i < 200 / ONE_OF; i++) {
            size_t at = test_random(&seed) % text.n;
            char old = text.p[at];
            text.p[at] = (char)test_random(&seed);
            struct inq_shard shard;
            test_read_ok(text, (struct test_way){.level = (int)inq_shape_level()}, &shard);
            if (shard.file.events + 2 < whole || shard.file.events > whole + 1) {
                fail_msg("%s, byte %zu from %d to %d: %llu events of %llu", victims[v].name, at,
                         old, text.p[at], (unsigned long long)shard.file.events,
                         (unsigned long long)whole);
            }
            inq_shard_release(&shard);
            text.p[at] = old;
        }
        free(text.p);
    }
}

static void broken__two_hundred_flipped_bytes(void **state)
{
    (void)state;
    uint64_t seed = 31337;
    for (int v = 0; v < N_VICTIMS; v++) {
        struct test_text text = load(victims[v].name);
        if (text.n > LARGE) {
            free(text.p);
            continue;
        }
        uint64_t whole = events_before(text, text.n);
        for (int i = 0; i < 200; i++) {
            text.p[test_random(&seed) % text.n] = (char)test_random(&seed);
        }
        for (int level = -1; level <= (int)inq_shape_level(); level++) {
            struct inq_shard shard;
            test_read_ok(text, (struct test_way){.level = level}, &shard);
            assert_true(shard.file.events <= whole + 200);
            assert_true(shard.file.events + 400 >= whole || whole < 400);
            inq_shard_release(&shard);
        }
        struct test_text packed = test_gzip(text);
        for (int i = 0; i < 200; i++) {
            packed.p[10 + test_random(&seed) % (packed.n - 10)] = (char)test_random(&seed);
        }
        struct inq_shard shard;
        int code =
            test_read_trace(packed, (struct test_way){.level = (int)inq_shape_level()}, &shard);
        assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
        inq_shard_release(&shard);
        free(packed.p);
        free(text.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real__counts_and_sums_are_those_known),
        cmocka_unit_test(real__fast_and_general_give_the_same),
        cmocka_unit_test(real__gzip_threads_and_chunks_do_not_matter),
        cmocka_unit_test(real__generic_traces),
        cmocka_unit_test(real__documents_that_are_no_traces),
        cmocka_unit_test(real__op_tables_as_timelines),
        cmocka_unit_test(broken__cut_anywhere),
        cmocka_unit_test(broken__cut_compressed),
        cmocka_unit_test(broken__one_flipped_byte_costs_little),
        cmocka_unit_test(broken__two_hundred_flipped_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
