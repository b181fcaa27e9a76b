/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of made-up runs, and the random numbers behind them. */
#ifndef INQ_SYNTH_SYNTH_H
#define INQ_SYNTH_SYNTH_H

#include "synth/step.h"
#include "synth/random.h"

#endif
