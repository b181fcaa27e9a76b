/* SPDX-License-Identifier: Apache-2.0 */
/* The true cost of a longer stage. */
#ifndef INQ_TESTS_BENCH_EVENED_STEP_H
#define INQ_TESTS_BENCH_EVENED_STEP_H

#include "inquest/synth.h"

/* What a longer stage costs is what dividing its work evenly would gain: the work stays. Mean step
 * of the same run with what its last fault adds to one stage on all of them, in equal parts; 0: it
 * cannot be made. */
double evened_step(const struct inq_synth_spec *spec);

#endif
