/* SPDX-License-Identifier: Apache-2.0 */
/* Other tools' times, bit for bit. */
#include "analysis/peer_time.h"

#include <math.h>

/* aligned = raw + offset + (raw - ref) * drift / 1e9; what the drift adds is so much smaller than
 * the time that a few corrections find the raw time again, where two share one aligned time one of
 * them. */
int64_t inq_unaligned_ns(const struct inq_rank *rank, int64_t ns)
{
    const struct inq_clock *clock = &rank->clock;

    if (!clock->aligned) {
        return ns;
    }
    int64_t raw = ns - clock->offset_ns;
    for (int i = 0; i < 4 && clock->drift_ppb != 0; i++) {
        double drifted = (double)(raw - clock->ref_ns) * (double)clock->drift_ppb / 1e9;
        int64_t aligned = raw + clock->offset_ns + (int64_t)drifted;
        raw += ns - aligned;
    }
    return raw;
}

int64_t inq_peer_raw_ns(const struct inq_rank *rank, int64_t ns)
{
    return inq_unaligned_ns(rank, ns) - rank->base_ns;
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

double inq_peer_us(int64_t ns)
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

double inq_peer_round(double value, int decimals)
{
    double scale = 1.0;

    for (int i = 0; i < decimals; i++) {
        scale *= 10.0;
    }
    return nearbyint(value * scale) / scale;
}
