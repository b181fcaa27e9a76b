/* SPDX-License-Identifier: Apache-2.0 */
/* The mean step, and how well some steps tell it. */
#include "analysis/check/check.h"

#include <math.h>

/* What recurs (a host that synchronizes every fourth step, an evaluation every third) is seen three
 * times at least, and among eight steps: in fewer, chance looks like it too often. A longer period
 * than this is not looked for: it would take thousands of steps. */
enum { LEAST_TIMES = 3, LONGEST_PERIOD = 256, LEAST_STEPS = 3, LEAST_WITH_PERIOD = 8 };
/* Steps recur with a period when its phases explain three quarters of their variance: half a period
 * or a third explain at most half of it. Of recordings of 20 normal steps one in 4,000 has phases
 * that do by chance, of eight steps one in 60: the degrees of freedom that go pay for it. */
static const double UNEXPLAINED = 0.25;

/* Sum of squares of the steps around the means of their phases; *mean: the mean of these. */
static double within_phases(const int64_t *steps_ns, const size_t *at, size_t n, size_t period,
                            double *mean)
{
    double sum[LONGEST_PERIOD] = {0.0};
    double count[LONGEST_PERIOD] = {0.0};
    double squares = 0.0;
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        sum[at[i] % period] += (double)steps_ns[i];
        count[at[i] % period] += 1.0;
    }
    *mean = 0.0;
    for (size_t p = 0; p < period; p++) {
        seen += count[p] >= LEAST_TIMES - 1; /* the ends of a recording may lack one each */
        sum[p] /= fmax(count[p], 1.0);
        *mean += sum[p] / (double)period;
    }
    for (size_t i = 0; i < n; i++) {
        double off = (double)steps_ns[i] - sum[at[i] % period];
        squares += off * off;
    }
    return seen == period ? squares : (double)INFINITY;
}

/* The quantile 0.975 of Student's t, from 3 degrees of freedom on within 1 % (Cornish and Fisher's
 * expansion, Abramowitz and Stegun 26.7.5). */
static double t_quantile(size_t degrees)
{
    const double z = 1.959964;
    double n = (double)degrees;
    double z3 = z * z * z;
    double z5 = z3 * z * z;
    double z7 = z5 * z * z;
    return z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n) +
           (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n);
}

struct inq_measure inq_measure_of_mean(const int64_t *steps_ns, const size_t *at, size_t n,
                                       size_t *period)
{
    struct inq_measure m = {.value = (double)NAN, .low = (double)NAN, .high = (double)NAN, .n = n};
    *period = 1;
    if (n == 0) {
        return m;
    }
    double mean;
    double squares = within_phases(steps_ns, at, n, 1, &mean);
    double variance = n > 1 ? squares / (double)(n - 1) : 0.0;
    /* the first step of a recording is a warm-up more often than not: three periods may lack one */
    for (size_t p = 2; p <= LONGEST_PERIOD && p * LEAST_TIMES <= n + 1 && n >= LEAST_WITH_PERIOD;
         p++) {
        double mean_of_phases;
        double left = within_phases(steps_ns, at, n, p, &mean_of_phases) / (double)(n - p);
        if (left < UNEXPLAINED * variance) {
            *period = p;
            mean = mean_of_phases;
            variance = left;
            break;
        }
    }
    m.value = round(mean);
    if (n >= LEAST_STEPS) {
        double reach = t_quantile(n - *period) * sqrt(variance / (double)n);
        m.low = fmax(round(mean - reach), 0.0);
        m.high = round(mean + reach);
    }
    return m;
}
