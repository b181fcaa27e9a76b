/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include "base/sort.h"

#include <math.h>

/* The mean of two, rounded down: no sum that could overflow; floor of half the odd bits. */
static int64_t middle_of(int64_t low, int64_t high)
{
    int64_t odd = low ^ high;
    return (low & high) + (odd - (odd & 1)) / 2;
}

int64_t inq_median_i64(int64_t *values, size_t n)
{
    if (n > 0) {
        inq_select_i64(values, n, (n - 1) / 2);
    }
    return inq_median_of_sorted_i64(values, n);
}

int64_t inq_median_of_sorted_i64(const int64_t *sorted, size_t n)
{
    return n > 0 ? middle_of(sorted[(n - 1) / 2], sorted[n / 2]) : 0;
}

/* The value at `place` of the others. */
static int64_t other_at(const int64_t *sorted, size_t place, int64_t own)
{
    return sorted[place] < own ? sorted[place] : sorted[place + 1];
}

int64_t inq_median_of_others_i64(const int64_t *sorted, size_t n, int64_t own)
{
    return middle_of(other_at(sorted, (n - 2) / 2, own), other_at(sorted, (n - 1) / 2, own));
}

int64_t inq_lower_median_i64(int64_t *values, size_t n)
{
    if (n == 0) {
        return 0;
    }
    inq_select_i64(values, n, (n - 1) / 2);
    return values[(n - 1) / 2];
}

double inq_quantile(double *values, size_t n, double q)
{
    if (n == 0) {
        return (double)NAN;
    }
    double place = q * (double)(n - 1);
    size_t low = (size_t)place;
    inq_select_double(values, n, low < n ? low : n - 1);
    if (low >= n - 1) {
        return values[n - 1];
    }
    double part = place - (double)low;
    return values[low] + part * (values[low + 1] - values[low]);
}

double inq_median(double *values, size_t n)
{
    return inq_quantile(values, n, 0.5);
}

double inq_mad(double *values, size_t n, double center)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = fabs(values[i] - center);
    }
    return inq_median(values, n);
}

double inq_mean(const double *values, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return n == 0 ? (double)NAN : sum / (double)n;
}

size_t inq_warm_up_steps(const int64_t *lengths_ns, size_t n, int64_t *space)
{
    enum { LEAST_STEPS = 4 };          /* fewer have no median to speak of */
    static const double FACTOR = 1.5;  /* faults rarely take so much, first steps often do */
    static const double AS_LONG = 0.1; /* lengths of like steps differ by a few percent */
    size_t known = 0;
    for (size_t s = 0; s < n; s++) {
        space[known] = lengths_ns[s];
        known += lengths_ns[s] >= 0;
    }
    double median_ns = (double)inq_median_i64(space, known);
    size_t longer = 0;
    while (known >= LEAST_STEPS && longer < n / 2 &&
           (lengths_ns[longer] < 0 || (double)lengths_ns[longer] > FACTOR * median_ns)) {
        longer++;
    }
    size_t s = 0;
    while (s < longer &&
           (lengths_ns[s] < 0 || !inq_is_near_any(lengths_ns + longer, n - longer, lengths_ns[s],
                                                  AS_LONG * median_ns))) {
        s++;
    }
    return s;
}
