/* SPDX-License-Identifier: Apache-2.0 */
/* Other tools' times, bit for bit. */
#include "analysis/measure/peer_time.h"

#include "trace/clock/clock.h"

#include <math.h>

/* What the clock showed if its straight piece `i` (0: the first) were all of it. What the drift
 * adds is so much smaller than the time that a few corrections find the raw time again, where two
 * share one aligned time one of them. */
static int64_t raw_of_piece(const struct inq_clock *clock, size_t i, int64_t ns)
{
    struct inq_clock one = *clock;
    if (i > 0) {
        one.ref_ns = clock->later[i - 1].from_ns;
        one.offset_ns = clock->later[i - 1].offset_ns;
        one.drift_ppb = clock->later[i - 1].drift_ppb;
    }
    one.n_later = 0;
    int64_t raw = ns - one.offset_ns;
    for (int k = 0; k < 4 && one.drift_ppb != 0; k++) {
        raw += ns - inq_clock_common_ns(&one, raw);
    }
    return raw;
}

/* Of a clock that was set back, two pieces lead to the same aligned time: what is aligned never
 * goes back, so the earlier one did. No piece leads to what a clock leapt over: the later one is
 * near. */
static int64_t unaligned_ns(const struct inq_rank *rank, int64_t ns)
{
    const struct inq_clock *clock = &rank->clock;

    if (!clock->aligned) {
        return ns;
    }
    for (size_t i = 0; i < clock->n_later; i++) {
        int64_t raw = raw_of_piece(clock, i, ns);
        if (raw < clock->later[i].from_ns) {
            return raw;
        }
    }
    return raw_of_piece(clock, clock->n_later, ns);
}

int64_t inq_reference_raw_ns(const struct inq_rank *rank, int64_t ns)
{
    return unaligned_ns(rank, ns) - rank->base_ns;
}

/* Bits of x up to the highest one. */
static int bit_length(uint64_t x)
{
    int n = 0;

    while (x != 0) {
        x >>= 1;
        n++;
    }
    return n;
}

double inq_reference_us(int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    uint64_t whole = size / 1000;
    uint64_t rest = size % 1000;
    int bits = 53 - bit_length(whole); /* of the fraction that the double has room for */
    double us;

    if (whole == 0) {
        us = (double)rest / 1000.0;
    } else if (bits < 0) { /* only even numbers are left: past the middle between two, upwards */
        us = (double)(whole + (rest > 0 && (whole & 1) != 0));
    } else {
        uint64_t scaled = rest << bits; /* below 2^62 */
        uint64_t fraction = scaled / 1000;
        uint64_t left = scaled % 1000;
        uint64_t odd = (bits > 0 ? fraction : whole) & 1;
        if (left > 500 || (left == 500 && odd)) {
            fraction++;
        }
        us = (double)whole + ldexp((double)fraction, -bits);
    }
    return ns < 0 ? -us : us;
}

double inq_reference_round(double value, int decimals)
{
    double scale = 1.0;

    for (int i = 0; i < decimals; i++) {
        scale *= 10.0;
    }
    return nearbyint(value * scale) / scale;
}
