/* SPDX-License-Identifier: Apache-2.0 */
#include "synth/random.h"

/* One step of the splitmix64 sequence: a bijection that spreads neighboring keys. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t draw(struct synth_key key)
{
    uint64_t h = mix(key.seed ^ ((uint64_t)key.purpose << 56));
    h = mix(h ^ ((uint64_t)key.a << 32 | key.b));
    return mix(h ^ key.c);
}

double inq_synth_uniform(struct synth_key key)
{
    return (double)(draw(key) >> 11) * 0x1p-53;
}

double inq_synth_normal(struct synth_key key)
{
    uint64_t state = draw(key);
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) { /* three 21-bit uniforms of each draw */
        sum += (state & 0x1fffff) + (state >> 21 & 0x1fffff) + (state >> 42 & 0x1fffff);
        state = mix(state);
    }
    return ((double)sum + 6.0) * 0x1p-21 - 6.0;
}

/* e^x for |x| < 700, the same bits on every machine. */
static double power_of_e(double x)
{
    int halvings = 0;
    while (x > 0.0625 || x < -0.0625) {
        x *= 0.5;
        halvings++;
    }
    double term = 1.0;
    double sum = 1.0;
    for (int i = 1; i <= 10; i++) {
        term *= x / i;
        sum += term;
    }
    for (; halvings > 0; halvings--) {
        sum *= sum;
    }
    return sum;
}

double inq_synth_lognormal(struct synth_key key, double sigma)
{
    return sigma > 0.0 ? power_of_e(sigma * inq_synth_normal(key)) : 1.0;
}

int64_t inq_synth_scale(int64_t ns, double factor)
{
    double scaled = (double)ns * factor;
    if (!(scaled > 0.0)) {
        return 0;
    }
    return scaled < 4e18 ? (int64_t)(scaled + 0.5) : INT64_MAX / 2;
}
