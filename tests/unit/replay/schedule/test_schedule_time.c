/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of schedules against closed forms and published bubble rates. */
#include "schedule/schedule.h"
#include "support_schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

struct timed {
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
};

static struct timed time_kind(const char *kind, int32_t p, int32_t m, int32_t chunks,
                              struct inq_costs costs)
{
    struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = p, .n_microbatches = m, .n_chunks = chunks, .costs = costs};
    struct timed t;
    struct inq_err err = {0};
    if (inq_schedule_make(&spec, &t.schedule, &err) != INQ_OK ||
        inq_schedule_time(&t.schedule, &costs, &t.timing, &err) != INQ_OK) {
        fail_msg("%s p=%d m=%d: %s", kind, p, m, err.message);
    }
    return t;
}

static void release(struct timed *t)
{
    inq_schedule_timing_release(&t->timing, t->schedule.n_ranks);
    inq_schedule_release(&t->schedule);
}

static struct inq_costs costs(int64_t f, int64_t b, int64_t w, int64_t p2p)
{
    return (struct inq_costs){.stage = {f, b, w}, .p2p_ns = p2p};
}

static void assert_span(const char *kind, int32_t p, int32_t m, int32_t chunks, struct inq_costs c,
                        int64_t expected)
{
    struct timed t = time_kind(kind, p, m, chunks, c);
    if (t.timing.span_ns != expected) {
        fail_msg("%s p=%d m=%d v=%d: span %lld, expected %lld", kind, p, m, chunks,
                 (long long)t.timing.span_ns, (long long)expected);
    }
    release(&t);
}

/* Without transfers, for m >= what the schedule needs to fill: the bubbles of the Zero Bubble
 * paper, its Table 2, and of interleaving. Any times with W <= F, B so that the closed forms hold.
 */
static void closed_forms__hold_for_any_size_and_times(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 200; round++) {
        int64_t draw[4];
        for (int i = 0; i < 4; i++) {
            random = random * 1664525u + 1013904223u;
            draw[i] = random >> 16;
        }
        int32_t p = 2 + (int32_t)(draw[0] % 7);
        int32_t m = 2 * p + (int32_t)(draw[1] % 20);
        int64_t f = 1000 + draw[2] % 1000;
        int64_t b = f;
        int64_t w = 500 + draw[3] % 400;
        int64_t work = m * (f + b + w);
        assert_span("gpipe", p, m, 0, costs(f, b, w, 0), work + (p - 1) * (f + b + w));
        assert_span("1f1b", p, m, 0, costs(f, b, w, 0), work + (p - 1) * (f + b + w));
        assert_span("zb-h1", p, m, 0, costs(f, b, w, 0), work + (p - 1) * (f + b - w));
        int32_t v = 2 + (int32_t)(draw[1] % 3);
        assert_span("interleaved", p, p * (2 + round % 3), v, costs(f, b, w, 0),
                    p * (2 + round % 3) * v * (f + b + w) + (p - 1) * (f + b + w));
    }
}

struct paper_row {
    const char *model;
    int32_t p, m;
    double f_ms, b_ms, w_ms, p2p_ms;
    double rate_1f1b, rate_h1, rate_h2;
};

/* Zero Bubble paper (arXiv 2401.10241): inputs of Table 9, rates of Table 5. */
static const struct paper_row paper[] = {
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, .601, .2431, .1585, .1083},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, .626, .1985, .1242, .0837},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, .762, .1240, .0674, .0444},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, .377, .2552, .1397, .0672},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, .379, .2082, .1088, .0516},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, .378, .1251, .0576, .0266},
};

static void assert_rate(const struct paper_row *row, const char *kind, double expected)
{
    struct timed t =
        time_kind(kind, row->p, row->m, 0,
                  costs((int64_t)llround(row->f_ms * 1e6), (int64_t)llround(row->b_ms * 1e6),
                        (int64_t)llround(row->w_ms * 1e6), (int64_t)llround(row->p2p_ms * 1e6)));
    double rounded = round(t.timing.bubble_rate_zb * 1e4) / 1e4;
    if (fabs(rounded - expected) > 1e-9) {
        fail_msg("%s m=%d %s: %.6f, published %.4f", row->model, row->m, kind,
                 t.timing.bubble_rate_zb, expected);
    }
    release(&t);
}

static void bubble_rate__equals_the_published_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        assert_rate(&paper[i], "1f1b", paper[i].rate_1f1b);
        assert_rate(&paper[i], "zb-h1", paper[i].rate_h1);
        assert_rate(&paper[i], "zb-h2", paper[i].rate_h2);
    }
}

static void zb_v__has_no_bubble_at_unit_times(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{4, 8}, {4, 12}, {8, 16}, {8, 24}, {16, 48}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct timed t = time_kind("zb-v", sizes[i][0], sizes[i][1], 0, costs(1, 1, 1, 0));
        for (int32_t r = 0; r < sizes[i][0]; r++) {
            assert_int_equal(t.timing.ranks[r].span_idle_ns, 0);
        }
        assert_int_equal(llround(t.timing.peak_memory), 2 * sizes[i][0]);
        release(&t);
    }
}

static void memory__peaks_are_the_known_ones(void **state)
{
    (void)state;
    struct timed t = time_kind("1f1b", 4, 12, 0, costs(1, 1, 1, 0));
    for (int32_t r = 0; r < 4; r++) {
        assert_int_equal(llround(t.timing.ranks[r].peak_memory), 4 - r);
    }
    release(&t);
    t = time_kind("gpipe", 4, 12, 0, costs(1, 1, 1, 0));
    assert_int_equal(llround(t.timing.peak_memory), 12);
    release(&t);
}

static void pytorch_files__makespan_idle_and_peak(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_PYTORCH_SCHEDULES; i++) {
        struct timed t;
        struct inq_csv_info info;
        struct inq_err err = {0};
        struct inq_costs unit = costs(1, 1, 1, 0);
        assert_int_equal(test_pytorch_schedule(INQ_SHARED_DATA, i, &t.schedule, &info, NULL),
                         INQ_OK);
        int code = inq_schedule_time(&t.schedule, &unit, &t.timing, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(code, INQ_OK);
        assert_int_equal(t.timing.makespan_ns, 49);
        for (int32_t r = 0; r < 2; r++) {
            assert_int_equal(t.timing.ranks[r].idle_ns, 1);
        }
        assert_int_equal(llround(t.timing.peak_memory), 4);
        release(&t);
    }
}

static void orders_that_cannot_run__are_deadlocks_not_hangs(void **state)
{
    (void)state;
    static const char *const text = "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n";
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    struct inq_csv_info info;
    struct inq_err err = {0};
    struct inq_costs unit = costs(1, 1, 1, 0);
    assert_int_equal(
        inq_schedule_read_csv(text, strlen(text), INQ_CSV_DETECT, &schedule, &info, &err), INQ_OK);
    assert_int_equal(inq_schedule_time(&schedule, &unit, &timing, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "micro-batch"));
    assert_null(timing.ranks);
    inq_schedule_release(&schedule);
    err = (struct inq_err){0};
    assert_int_equal(inq_schedule_read_csv("1F0\n", 4, INQ_CSV_DETECT, &schedule, &info, &err),
                     INQ_OK);
    assert_int_equal(inq_schedule_time(&schedule, &unit, &timing, &err), INQ_FORMAT);
    inq_schedule_release(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms__hold_for_any_size_and_times),
        cmocka_unit_test(bubble_rate__equals_the_published_table),
        cmocka_unit_test(zb_v__has_no_bubble_at_unit_times),
        cmocka_unit_test(memory__peaks_are_the_known_ones),
        cmocka_unit_test(pytorch_files__makespan_idle_and_peak),
        cmocka_unit_test(orders_that_cannot_run__are_deadlocks_not_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
