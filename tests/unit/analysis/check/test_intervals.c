/* SPDX-License-Identifier: Apache-2.0 */
/* Medians and what is known of them: the intervals of a run's measures. */
#include "analysis/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

/* P(B <= k) by Pascal's triangle: another way than the code's. */
static double binomial_below(int n, int k)
{
    double row[70] = {1.0};
    for (int i = 1; i <= n; i++) {
        for (int j = i; j >= 0; j--) {
            row[j] = (j < i ? row[j] : 0.0) / 2.0 + (j > 0 ? row[j - 1] / 2.0 : 0.0);
        }
    }
    double sum = 0.0;
    for (int j = 0; j <= k; j++) {
        sum += row[j];
    }
    return sum;
}

static void interval__has_95_percent_and_no_more_than_needed(void **state)
{
    (void)state;
    assert_int_equal(inq_median_interval(0).k, 0);
    assert_int_equal(inq_median_interval(2).k, 0);
    assert_int_equal(inq_median_interval(3).k, 1);
    assert_int_equal(inq_median_interval(5).k, 1);
    for (int n = 6; n < 65; n++) {
        struct inq_median_place place = inq_median_interval((size_t)n);
        int k = (int)place.k;
        assert_true(k >= 1 && k < n / 2);
        assert_true(2.0 * binomial_below(n, k - 1) <= 0.05);
        assert_true(2.0 * binomial_below(n, k) > 0.05);
        assert_true(place.lambda >= 0.0 && place.lambda < 1.0);
    }
    assert_int_equal(inq_median_interval(100).k, 40); /* as tables have it */
    assert_true(inq_median_interval(100000).k > 49600);
    /* n 10, k 2: c = 0.97852 and 0.89063, I = 0.32444, lambda = 8 I / (2 + 6 I) */
    assert_true(fabs(inq_median_interval(10).lambda - 0.6577) < 0.0001);
}

static void interval__of_steps(void **state)
{
    (void)state;
    int64_t steps[] = {17000, 11000, 12000, 19000, 13000, 900000, 15000, 16000, 14000, 18000};
    struct inq_measure m;
    assert_int_equal(inq_measure_of_steps(steps, 10, &m, NULL), INQ_OK);
    assert_true(m.value == 15000.0 && m.low == 12658.0 && m.high == 18342.0);
    int64_t two[] = {5, 3};
    assert_int_equal(inq_measure_of_steps(two, 2, &m, NULL), INQ_OK);
    assert_true(m.value == 3.0 && isnan(m.low) && isnan(m.high));
    assert_int_equal(inq_measure_of_steps(two, 0, &m, NULL), INQ_OK);
    assert_true(isnan(m.value));
    double ratios[] = {0.4, 0.1, 0.3};
    m = inq_measure_of_ratios(ratios, 3);
    assert_true(m.value == 0.3 && m.low == 0.1 && m.high == 0.4);
}

/* The mean without a tenth at either end, one at least, and never beside the interval. */
static void interval__of_ratios_is_around_the_mean_of_the_middle(void **state)
{
    (void)state;
    double two[] = {3.0, 1.0};
    assert_true(inq_measure_of_ratios(two, 2).value == 2.0);
    double four[] = {2.0, 900.0, 1.0, 0.0};
    assert_true(inq_measure_of_ratios(four, 4).value == 1.5);
    double nine[] = {9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 14.0, 900.0};
    assert_true(fabs(inq_measure_of_ratios(nine, 9).value - 43.0 / 7.0) < 1e-12);
    double most[20] = {900.0, 900.0, 0.0, 0.0}; /* one of 19, two of 20 go at either end */
    for (size_t i = 4; i < 20; i++) {
        most[i] = i % 2 == 0 ? 10.0 : 30.0;
    }
    assert_true(inq_measure_of_ratios(most, 20).value == 20.0);
    double one[19] = {900.0, 32.0, 0.0, 12.0};
    for (size_t i = 4; i < 19; i++) {
        one[i] = i % 2 == 0 ? 10.0 : 30.0;
    }
    assert_true(fabs(inq_measure_of_ratios(one, 19).value - 334.0 / 17.0) < 1e-12);
    double skewed[40] = {
        0}; /* 28 of 1, 12 of 100: the median is 1, the mean of the middle is not */
    for (size_t i = 0; i < 40; i++) {
        skewed[i] = i < 28 ? 1.0 : 100.0;
    }
    struct inq_measure m = inq_measure_of_ratios(skewed, 40);
    assert_true(m.low == 1.0 && m.value <= m.high && m.value == 1.0);
}

/* The true median is in the interval of noise as often as that says, also of skewed noise. */
static void interval__covers_as_often_as_it_says(void **state)
{
    (void)state;
    enum { TRIALS = 20000 };
    static const size_t sizes[] = {6, 8, 10, 13, 25};
    uint64_t seed = 12345;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int inside = 0;
        for (int t = 0; t < TRIALS; t++) {
            double values[25];
            for (size_t k = 0; k < sizes[i]; k++) {
                seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                double uniform = ((double)(seed >> 11) + 0.5) * 0x1p-53;
                values[k] = -log(uniform); /* exponential: median log 2 */
            }
            struct inq_measure m = inq_measure_of_ratios(values, sizes[i]);
            inside += m.low <= log(2.0) && log(2.0) <= m.high;
        }
        double coverage = (double)inside / TRIALS;
        print_message("n %zu: %.4f\n", sizes[i], coverage);
        assert_true(coverage > 0.94 && coverage < 0.97);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval__has_95_percent_and_no_more_than_needed),
        cmocka_unit_test(interval__of_steps),
        cmocka_unit_test(interval__of_ratios_is_around_the_mean_of_the_middle),
        cmocka_unit_test(interval__covers_as_often_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
