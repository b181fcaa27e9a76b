/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks put right by the ends of collectives, held against what was planted. */
#include "base/mem.h"
#include "support_job.h"
#include "trace/clock/clock.h"

#include "inquest/ingest.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

enum { RANKS = 8 };

/* Three all-reduces of a step, then a long one: nothing but time tells steps apart. */
static struct made_op_plan steps(const struct made_job *job, int index)
{
    (void)job;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, 0, index % 4 == 3 ? 300000 : 4000};
}

/* Rows of four, and the first of each row: no group holds all ranks. */
static struct made_op_plan tree(const struct made_job *job, int index)
{
    (void)job;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, index % 3, 4000 + index % 5};
}

static struct made_job job_of(int n_ops)
{
    struct made_job job = {.ranks = RANKS,
                           .n_groups = 1,
                           .group_name = {"world"},
                           .group_step = {1},
                           .group_size = {RANKS},
                           .n_ops = n_ops,
                           .op = steps,
                           .groups = true,
                           .sizes = true,
                           .work_ns = 5 * MS,
                           .jitter_ns = 5 * US,
                           .seed = 3};
    return job;
}

/* How far the ends of one collective lie apart, at most. */
static int64_t widest_ends(const struct inq_trace *trace)
{
    int64_t widest = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        int64_t first = INT64_MAX;
        int64_t last = INT64_MIN;
        for (uint32_t i = 0; i < trace->collectives[c].n_members; i++) {
            struct inq_member m = trace->members[trace->collectives[c].first_member + i];
            const struct inq_events *e = &trace->ranks[m.rank].events;
            int64_t end = e->start_ns[m.event] + e->dur_ns[m.event];
            first = end < first ? end : first;
            last = end > last ? end : last;
        }
        widest = last - first > widest ? last - first : widest;
    }
    return widest;
}

/* What was planted is found again but for one constant and `slack`. */
static void assert_offsets(const struct inq_trace *trace, const int64_t *planted_ns,
                           int64_t slack_ns)
{
    int64_t first = trace->ranks[0].clock.offset_ns + planted_ns[0];
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t off = trace->ranks[r].clock.offset_ns + planted_ns[trace->ranks[r].rank] - first;
        if (llabs(off) > slack_ns) {
            fail_msg("rank %zu is off by %lld ns", r, (long long)off);
        }
        assert_true(trace->ranks[r].clock.aligned);
    }
}

static const int64_t offsets[RANKS] = {0,       3 * MS,     -700 * US, 2500 * MS,
                                       40 * MS, -1100 * MS, 90 * US,   -12 * MS};

static void offset__from_microseconds_to_seconds(void **state)
{
    (void)state;
    struct made_job job = job_of(120);
    job.offset_ns = offsets;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_offsets(trace, offsets, 20 * US);
    assert_true(widest_ends(trace) < 30 * US);
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(trace->ranks[r].clock.anchors, 120);
        assert_true(trace->ranks[r].clock.residual_ns < 5 * US);
        assert_int_equal(trace->ranks[r].clock.drift_ppb, 0);
    }
    inq_run_free(run);
}

static void offset__without_groups_or_sizes(void **state)
{
    (void)state;
    struct made_job job = job_of(200);
    job.offset_ns = offsets;
    job.groups = false;
    job.sizes = false;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_offsets(trace, offsets, 20 * US);
    inq_run_free(run);
}

static void offset__in_captures_cut_anywhere(void **state)
{
    (void)state;
    static const int skip[RANKS] = {0, 3, 11, 1, 7, 19, 0, 2};
    static const int stop[RANKS] = {0, 95, 80, 100, 77, 99, 90, 0};
    struct made_job job = job_of(120);
    job.offset_ns = offsets;
    job.skip = skip;
    job.stop = stop;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_offsets(trace, offsets, 20 * US);
    inq_run_free(run);
}

static void offset__through_groups_that_share_a_rank(void **state)
{
    (void)state;
    struct made_job job = job_of(300);
    job.n_groups = 3;
    job.group_name[0] = "low";
    job.group_name[1] = "high";
    job.group_name[2] = "firsts";
    job.group_from[1] = 4;
    job.group_size[0] = 4;
    job.group_size[1] = 4;
    job.group_step[1] = 1;
    job.group_size[2] = 2;
    job.group_step[2] = 4;
    job.op = tree;
    job.offset_ns = offsets;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_offsets(trace, offsets, 30 * US);
    inq_run_free(run);
}

/* 50 ppm over some seconds are hundreds of microseconds. */
static void drift__of_fifty_ppm(void **state)
{
    (void)state;
    static const double ppm[RANKS] = {0, 50, 0, -50, 0, 20, 0, 0};
    struct made_job job = job_of(800);
    job.offset_ns = offsets;
    job.ppm = ppm;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_true(widest_ends(trace) < 50 * US);
    for (size_t r = 0; r < RANKS; r++) { /* against rank 0, which is the usual one */
        int64_t own = trace->ranks[r].clock.drift_ppb - trace->ranks[0].clock.drift_ppb;
        int64_t off = own + (int64_t)(ppm[r] * 1000);
        if (llabs(off) > 5000) {
            fail_msg("rank %zu drifts by %lld ppb", r, (long long)own);
        }
    }
    inq_run_free(run);
}

/* In a job without any irregularity the next step fits as well as the right one, and with drift
 * better: the numbers of the steps tell. */
static void drift__does_not_move_a_rank_by_a_step(void **state)
{
    (void)state;
    static const double ppm[RANKS] = {0, 40, -30, 0, 15, -25, 35, -40};
    struct made_job job = job_of(120);
    job.offset_ns = offsets;
    job.ppm = ppm;
    job.steady = true;
    job.step_ops = 4;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(trace->ranks[r].clock.anchors, 120);
    }
    inq_run_free(run);
}

/* Five ppm over half a minute are more than ends differ by. */
static void drift__of_five_ppm_is_followed(void **state)
{
    (void)state;
    static const double ppm[RANKS] = {0, 0, 0, 0, 5, 5, 5, 5};
    struct made_job job = job_of(1500);
    job.per_host = 4;
    job.work_ns = 20 * MS;
    job.ppm = ppm;
    struct inq_run *run = made_job_run(&job, true);
    assert_true(widest_ends(run->traces[0]) < 30 * US);
    inq_run_free(run);
}

/* A clock that is set in the middle is two lines. */
/* All-reduces in bursts a second apart, 50 ppm: the middle of an even number of them lies between
 * two bursts. */
static void drift__in_bursts(void **state)
{
    (void)state;
    enum { BURSTS = 4, OF_BURST = 2, POINTS = BURSTS * OF_BURST };
    struct inq_clock_point points[POINTS];
    for (int64_t i = 0; i < POINTS; i++) {
        points[i].raw_ns = i / OF_BURST * 1000 * MS + i % OF_BURST * 100 * US;
        points[i].add_ns = 7 * MS - points[i].raw_ns / 20000;
    }
    struct inq_clock clock = {0};
    bool possible = false;
    assert_int_equal(inq_clock_fit(points, POINTS, &clock, &possible, NULL), INQ_OK);
    assert_true(possible);
    for (int64_t raw_ns = 0; raw_ns <= 3000 * MS; raw_ns += 250 * MS) {
        int64_t off_ns = inq_clock_common_ns(&clock, raw_ns) - raw_ns - (7 * MS - raw_ns / 20000);
        assert_in_range(off_ns + 100, 0, 200);
    }
    inq_mem_free(clock.later);
}

/* Ends every 10 ms; the clock is set by 5 ms twice. *later: pieces after the first. */
static bool may_be_set_twice(size_t n, size_t *later)
{
    struct inq_clock_point points[32];
    for (size_t i = 0; i < n; i++) {
        points[i].raw_ns = (int64_t)i * 10 * MS;
        points[i].add_ns = i < n / 3 || i >= n - n / 3 ? 0 : 5 * MS;
    }
    struct inq_clock clock = {.offset_ns = 77};
    bool possible = false;
    assert_int_equal(inq_clock_fit(points, n, &clock, &possible, NULL), INQ_OK);
    *later = clock.n_later;
    assert_true(possible || clock.offset_ns == 77); /* it stays as it was */
    inq_mem_free(clock.later);
    return possible;
}

/* Ten ends between two sets, or they are not of the same operations. */
static void impossible__set_at_every_turn(void **state)
{
    (void)state;
    size_t later = 0;
    assert_true(may_be_set_twice(20, &later));
    assert_int_equal(later, 2);
    assert_false(may_be_set_twice(19, &later));
}

/* Whether a clock may gain `ppm` over ten ends that are `apart_ns` from each other. */
static bool may_run(int64_t ppm, int64_t apart_ns, int64_t *drift_ppb)
{
    enum { POINTS = 10 };
    struct inq_clock_point points[POINTS];
    struct inq_clock clock = {0};
    bool possible = false;
    for (int64_t i = 0; i < POINTS; i++) { /* the noise of ends */
        points[i].raw_ns = i * apart_ns;
        points[i].add_ns = points[i].raw_ns / 1000000 * ppm + i % 2 * 100;
    }
    assert_int_equal(inq_clock_fit(points, POINTS, &clock, &possible, NULL), INQ_OK);
    inq_mem_free(clock.later);
    *drift_ppb = clock.drift_ppb;
    return possible;
}

/* No clock gains more than a thousandth; less than ends may differ by is not told by it. */
static void impossible__gains_more_than_a_thousandth(void **state)
{
    (void)state;
    int64_t drift_ppb = 0;
    assert_true(may_run(999, 100 * MS, &drift_ppb));
    assert_in_range(drift_ppb, 998000, 1000000);
    assert_false(may_run(1010, 100 * MS, &drift_ppb));
    assert_true(may_run(1010, 50 * MS, &drift_ppb)); /* 253 us from half to half */
    assert_int_equal(drift_ppb, 0);
}

/* Points as far apart as times that readers let pass make them, in both: what lies between two of
 * them does not fit twice. */
static void hostile__points_as_far_apart_as_times_can_be(void **state)
{
    (void)state;
    enum { POINTS = 12 };
    const int64_t far_ns = INT64_MAX / 4;
    for (int order = 0; order < 4; order++) {
        struct inq_clock_point points[POINTS];
        struct inq_clock clock = {0};
        bool possible = true;
        for (int64_t i = 0; i < POINTS; i++) {
            bool late = (order & 1) != 0 ? i >= POINTS / 2 : i % 2 != 0;
            points[i].raw_ns = -far_ns + i * (far_ns / POINTS * 2);
            points[i].add_ns = late == ((order & 2) != 0) ? 3 * far_ns : -3 * far_ns;
        }
        assert_int_equal(inq_clock_fit(points, POINTS, &clock, &possible, NULL), INQ_OK);
        assert_false(possible);
        inq_mem_free(clock.later);
    }
}

/* Three hosts, the last of which reads a clock that was set before its last all-reduce: too few to
 * tell by how much. It may be later than whoever seems to be last. */
static void doubt__of_an_arrival(void **state)
{
    (void)state;
    struct inq_member members[] = {{0, 0}, {1, 0}, {2, 0}};
    int64_t starts_ns[] = {0, 40 * US, 10 * US};
    struct inq_rank ranks[3] = {{0}};
    static const int64_t residuals_ns[] = {US, US, 100 * US};
    for (uint32_t r = 0; r < 3; r++) {
        ranks[r].clock =
            (struct inq_clock){.source = r, .aligned = true, .residual_ns = residuals_ns[r]};
        ranks[r].events.start_ns = &starts_ns[r];
    }
    struct inq_trace trace = {.n_ranks = 3, .ranks = ranks, .n_members = 3, .members = members};
    struct inq_collective c = {.kind = INQ_COLL_ALLREDUCE, .n_members = 2};
    int64_t surely_ns = inq_arrival_doubt_ns(&trace, &c, 1, 40 * US);
    assert_int_equal(surely_ns, 2 * INQ_ENDS_RESOLUTION_NS);
    c.n_members = 3;
    int64_t doubt_ns = inq_clock_doubt_ns(&trace, 1, 2);
    assert_int_equal(inq_arrival_doubt_ns(&trace, &c, 1, 40 * US), doubt_ns - 30 * US);
    ranks[2].clock.residual_ns = -1; /* nothing connects it */
    assert_int_equal(inq_arrival_doubt_ns(&trace, &c, 1, 40 * US), INT64_MAX);
}

static void set__by_some_milliseconds(void **state)
{
    (void)state;
    static const int64_t set_by_ns[RANKS] = {0, 0, 0, 0, 7 * MS, 7 * MS, 7 * MS, 7 * MS};
    struct made_job job = job_of(200);
    job.per_host = 4;
    job.set_by_ns = set_by_ns;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    assert_true(trace->ranks[0].clock.n_later + trace->ranks[7].clock.n_later > 0);
    size_t apart = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        apart += trace->collectives[c].ends_disagree;
    }
    assert_true(apart <= 1); /* the one that was running */
    inq_run_free(run);
}

/* Few collectives: ranks of a host stay together whatever their ends say. */
static void host__its_ranks_have_one_clock(void **state)
{
    (void)state;
    static const int skip[RANKS] = {0, 1, 0, 0, 1, 0, 0, 0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct made_job job = job_of(3);
        job.per_host = 4;
        job.offset_ns = (const int64_t[RANKS]){0, 0, 0, 0, 900 * MS, 900 * MS, 900 * MS, 900 * MS};
        job.skip = skip;
        job.work_ns = 1000 * MS;
        job.seed = seed;
        struct inq_run *run = made_job_run(&job, true);
        const struct inq_trace *trace = run->traces[0];
        for (size_t r = 0; r < RANKS; r++) {
            const struct inq_clock *first = &trace->ranks[r / 4 * 4].clock;
            assert_int_equal(trace->ranks[r].clock.source, r / 4);
            assert_int_equal(trace->ranks[r].clock.offset_ns, first->offset_ns);
        }
        assert_int_equal(made_job_wrong(trace), 0);
        inq_run_free(run);
    }
}

/* What is left in doubt: nothing on one clock, some of what ends differ by on two. */
static void doubt__between_hosts_only(void **state)
{
    (void)state;
    struct made_job job = job_of(120);
    job.per_host = 4;
    job.offset_ns = (const int64_t[RANKS]){0, 0, 0, 0, MS, MS, MS, MS};
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(inq_clock_doubt_ns(trace, 0, 3), 2 * INQ_ENDS_RESOLUTION_NS);
    int64_t doubt_ns = inq_clock_doubt_ns(trace, 0, 7);
    assert_true(doubt_ns > 2 * INQ_ENDS_RESOLUTION_NS && doubt_ns < 20 * US);
    inq_run_free(run);
}

static void none__clocks_that_agree_stay(void **state)
{
    (void)state;
    struct made_job job = job_of(120);
    struct inq_run *run = made_job_run(&job, true);
    for (size_t r = 0; r < RANKS; r++) {
        const struct inq_clock *clock = &run->traces[0]->ranks[r].clock;
        assert_int_equal(clock->offset_ns, 0);
        assert_int_equal(clock->drift_ppb, 0);
        assert_true(clock->aligned);
        assert_true(clock->residual_ns >= 0 && clock->residual_ns < 5 * US);
    }
    inq_run_free(run);
}

static void none__ranks_of_one_host_read_one_clock(void **state)
{
    (void)state;
    static const int64_t few_us[RANKS] = {0, 80 * US, 0, -70 * US, 0, 0, 60 * US, 0};
    struct made_job job = job_of(120);
    job.one_host = true;
    job.offset_ns = few_us;
    struct inq_run *run = made_job_run(&job, true);
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(run->traces[0]->ranks[r].clock.offset_ns, 0);
    }
    inq_run_free(run);
}

static void none__when_not_asked_for(void **state)
{
    (void)state;
    struct made_job job = job_of(120);
    job.offset_ns = offsets;
    struct inq_run *run = made_job_run(&job, false);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0); /* matched all the same */
    assert_int_equal(trace->n_collectives, 120);
    for (size_t r = 0; r < RANKS; r++) {
        assert_false(trace->ranks[r].clock.aligned);
        assert_int_equal(trace->ranks[r].clock.offset_ns, 0);
    }
    assert_true(widest_ends(trace) > 1000 * MS);
    inq_run_free(run);
}

/* Everything of a rank moves together. */
static void shift__calls_move_with_the_events(void **state)
{
    (void)state;
    struct made_job job = job_of(120);
    job.offset_ns = offsets;
    struct inq_run *raw = made_job_run(&job, false);
    struct inq_run *run = made_job_run(&job, true);
    for (size_t r = 0; r < RANKS; r++) {
        const struct inq_rank *before = &raw->traces[0]->ranks[r];
        const struct inq_rank *after = &run->traces[0]->ranks[r];
        int64_t moved = after->clock.offset_ns;
        assert_int_equal(after->events.start_ns[5] - before->events.start_ns[5], moved);
        assert_int_equal(after->calls.start_ns[5] - before->calls.start_ns[5], moved);
        assert_int_equal(after->first_ns - before->first_ns, moved);
        assert_int_equal(after->last_ns - before->last_ns, moved);
        assert_int_equal(after->events.dur_ns[5], before->events.dur_ns[5]);
    }
    inq_run_free(raw);
    inq_run_free(run);
}

/* ---- real files ------------------------------------------------------------------------------ */

static void real__one_host_is_left_alone(void **state)
{
    (void)state;
    static const char *const folders[] = {"torchrec_sleep", "torchrec_4",   "torchrec_two_jobs",
                                          "dlrm_8ranks",    "resnet18_ddp", "megatron_tp2"};
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        char path[512];
        const char *paths[] = {path};
        struct stat info;
        struct inq_run *run = NULL;
        assert_true(snprintf(path, sizeof path, "%s/kineto/%s", INQ_SHARED_DATA, folders[f]) <
                    (int)sizeof path);
        if (stat(path, &info) != 0) {
            print_message("skipped: there is no %s\n", path);
            skip();
        }
        assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
        for (size_t t = 0; t < run->n_traces; t++) {
            for (size_t r = 0; r < run->traces[t]->n_ranks; r++) {
                assert_int_equal(run->traces[t]->ranks[r].clock.offset_ns, 0);
            }
        }
        inq_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset__from_microseconds_to_seconds),
        cmocka_unit_test(offset__without_groups_or_sizes),
        cmocka_unit_test(offset__in_captures_cut_anywhere),
        cmocka_unit_test(offset__through_groups_that_share_a_rank),
        cmocka_unit_test(drift__of_fifty_ppm),
        cmocka_unit_test(drift__does_not_move_a_rank_by_a_step),
        cmocka_unit_test(drift__of_five_ppm_is_followed),
        cmocka_unit_test(drift__in_bursts),
        cmocka_unit_test(impossible__set_at_every_turn),
        cmocka_unit_test(impossible__gains_more_than_a_thousandth),
        cmocka_unit_test(hostile__points_as_far_apart_as_times_can_be),
        cmocka_unit_test(doubt__of_an_arrival),
        cmocka_unit_test(set__by_some_milliseconds),
        cmocka_unit_test(host__its_ranks_have_one_clock),
        cmocka_unit_test(doubt__between_hosts_only),
        cmocka_unit_test(none__clocks_that_agree_stay),
        cmocka_unit_test(none__ranks_of_one_host_read_one_clock),
        cmocka_unit_test(none__when_not_asked_for),
        cmocka_unit_test(shift__calls_move_with_the_events),
        cmocka_unit_test(real__one_host_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
