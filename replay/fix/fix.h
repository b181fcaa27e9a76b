/* SPDX-License-Identifier: Apache-2.0 */
/* A fix: its specification, its step, its pipeline. */
#ifndef INQ_FIX_FIX_H
#define INQ_FIX_FIX_H

#include "fix/pipeline.h"
#include "fix/spec.h"
#include "fix/step.h"

#endif
