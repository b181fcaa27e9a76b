/* SPDX-License-Identifier: Apache-2.0 */
/* Draws by key: a draw depends only on what it is for, never on what was drawn before, so that a
 * run with and without a fault shares every other draw. Plain IEEE arithmetic, no libm: the same
 * bits on every machine. */
#ifndef INQ_REPLAY_SYNTH_RANDOM_H
#define INQ_REPLAY_SYNTH_RANDOM_H

#include <stdint.h>

enum synth_purpose {
    SYNTH_DRAW_KERNEL,
    SYNTH_DRAW_EXTRA_KERNEL,
    SYNTH_DRAW_JITTER,
    SYNTH_DRAW_STEP,
    SYNTH_DRAW_RANK,
    SYNTH_DRAW_HOST,
    SYNTH_DRAW_LINK,
    SYNTH_DRAW_END,
    SYNTH_DRAW_START,
    SYNTH_DRAW_SEQUENCE,
    SYNTH_DRAW_CLOCK,
    SYNTH_DRAW_WINDOW,
    SYNTH_DRAW_PAUSE,
    SYNTH_DRAW_GC,
    SYNTH_DRAW_EXPERTS,
    SYNTH_DRAW_DRIFT
};

/* What a draw is for. */
struct synth_key {
    uint64_t seed;
    enum synth_purpose purpose;
    uint32_t a, b;
    uint64_t c;
};

/* In [0, 1). */
double inq_synth_uniform(struct synth_key key);
/* Standard normal to within the sum of twelve uniforms (never beyond six sigma). */
double inq_synth_normal(struct synth_key key);
/* exp(sigma * normal). */
double inq_synth_lognormal(struct synth_key key, double sigma);
/* ns * factor, rounded, never below zero. */
int64_t inq_synth_scale(int64_t ns, double factor);

#endif
