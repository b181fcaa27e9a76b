/* SPDX-License-Identifier: Apache-2.0 */
/* The mean step: its interval, and what recurs with a period. */
#include "analysis/check/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 64 };

static struct inq_measure mean_of(const int64_t *steps, size_t n, size_t *period)
{
    size_t at[MOST];
    for (size_t i = 0; i < n; i++) {
        at[i] = i;
    }
    return inq_measure_of_mean(steps, at, n, period);
}

/* Half the interval is t s / sqrt(n), with t as printed tables have it. */
static void mean__has_the_t_interval_of_tables(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double quantile; /* of n - 1 degrees of freedom */
    } table[] = {{4, 3.1824}, {6, 2.5706}, {11, 2.2281}, {20, 2.0930}, {31, 2.0423}, {61, 2.0003}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t steps[MOST];
        size_t n = table[i].n;
        size_t period;
        double squares = 0.0;
        for (size_t k = 0; k < n; k++) { /* the first half short, the rest long: no period */
            steps[k] = 50000000 + (2 * k < n ? -1000000 : 1000000);
        }
        struct inq_measure m = mean_of(steps, n, &period);
        for (size_t k = 0; k < n; k++) {
            squares += ((double)steps[k] - m.value) * ((double)steps[k] - m.value);
        }
        double half = table[i].quantile * sqrt(squares / (double)(n - 1) / (double)n);
        assert_int_equal(period, 1);
        assert_true(fabs((m.high - m.value) / half - 1.0) < 0.01);
        assert_true(fabs((m.value - m.low) / half - 1.0) < 0.01);
    }
}

static void mean__of_steps_without_a_period(void **state)
{
    (void)state;
    size_t period;
    /* mean 10, variance 10 / 4; t of 4 degrees 2.776: 10 +- 1.963 */
    int64_t five[] = {8000, 12000, 9000, 11000, 10000};
    struct inq_measure m = mean_of(five, 5, &period);
    assert_int_equal(period, 1);
    assert_true(m.value == 10000.0 && m.n == 5);
    assert_true(fabs(m.low - 8037.0) < 20.0 && fabs(m.high - 11963.0) < 20.0);
    m = mean_of(five, 2, &period); /* two have no interval, as those of the median */
    assert_true(m.value == 10000.0 && isnan(m.low) && isnan(m.high));
    m = mean_of(five, 0, &period);
    assert_true(isnan(m.value));
    int64_t wild[] = {1, 1, 900000}; /* a time is not below none */
    assert_true(mean_of(wild, 3, &period).low == 0.0);
}

/* Every fourth step is 40 long and the others are 20: 25, whichever steps a recording holds. */
static void mean__is_that_of_whole_periods(void **state)
{
    (void)state;
    size_t period;
    for (size_t first = 0; first < 4; first++) {
        for (size_t n = 11; n < 24; n++) {
            int64_t steps[MOST];
            for (size_t i = 0; i < n; i++) {
                steps[i] = (first + i) % 4 == 3 ? 40000 : 20000;
            }
            struct inq_measure m = mean_of(steps, n, &period);
            assert_int_equal(period, 4);
            assert_true(m.value == 25000.0 && m.low == 25000.0 && m.high == 25000.0);
        }
    }
}

/* A step that was set aside does not shift those after it. */
static void mean__counts_steps_where_they_were(void **state)
{
    (void)state;
    int64_t steps[MOST];
    size_t at[MOST];
    size_t n = 0;
    size_t period;
    for (size_t i = 0; i < 21; i++) {
        if (i != 6 && i != 13) {
            at[n] = i;
            steps[n++] = i % 3 == 1 ? 32000 : 20000;
        }
    }
    struct inq_measure m = inq_measure_of_mean(steps, at, n, &period);
    assert_int_equal(period, 3);
    assert_true(m.value == 24000.0);
}

/* What is seen twice may be chance; and phases have to explain three quarters of the variance. */
static void mean__a_period_is_seen_three_times_and_explains_most(void **state)
{
    (void)state;
    size_t period;
    int64_t twice[] = {10, 10, 10, 50, 10, 10, 10, 50, 10, 10};
    mean_of(twice, 10, &period);
    assert_int_equal(period, 1);
    /* phases of 2 at +-d with +-1 in each: of 12 steps 12 d^2 + 12 squares in all, 12 within */
    int64_t steps[12];
    for (int d = 1; d < 40; d++) {
        for (int i = 0; i < 12; i++) {
            steps[i] = 1000 + (i % 2 == 0 ? d : -d) + (i / 2 % 2 == 0 ? 10 : -10);
        }
        double squares = 12.0 * (d * d + 100.0);
        bool most = 1200.0 / 10.0 < 0.25 * squares / 11.0;
        mean_of(steps, 12, &period);
        assert_int_equal(period == 2, most);
    }
}

static double normal(uint64_t *seed)
{
    double sum = -6.0; /* of twelve uniform values: as good as normal within three deviations */
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (double)(*seed >> 11) * 0x1p-53;
    }
    return sum;
}

/* The interval holds the mean as often as it says, and no period is seen where there is none. */
static void mean__covers_as_often_as_it_says(void **state)
{
    (void)state;
    enum { TRIALS = 20000 };
    static const size_t sizes[] = {5, 7, 8, 11, 19, 40};
    uint64_t seed = 777;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int inside = 0;
        int periods = 0;
        for (int t = 0; t < TRIALS; t++) {
            int64_t steps[MOST];
            size_t period;
            for (size_t k = 0; k < sizes[i]; k++) {
                steps[k] = 1000000 + (int64_t)(10000.0 * normal(&seed));
            }
            struct inq_measure m = mean_of(steps, sizes[i], &period);
            inside += m.low <= 1e6 && m.high >= 1e6;
            periods += period > 1;
        }
        print_message("n %zu: %.4f, %d periods\n", sizes[i], (double)inside / TRIALS, periods);
        assert_true(inside > TRIALS * 94 / 100 && inside < TRIALS * 96 / 100);
        assert_true(periods <= TRIALS / 1000 || sizes[i] < 19);
        assert_true(periods == 0 || sizes[i] >= 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean__has_the_t_interval_of_tables),
        cmocka_unit_test(mean__of_steps_without_a_period),
        cmocka_unit_test(mean__is_that_of_whole_periods),
        cmocka_unit_test(mean__counts_steps_where_they_were),
        cmocka_unit_test(mean__a_period_is_seen_three_times_and_explains_most),
        cmocka_unit_test(mean__covers_as_often_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
