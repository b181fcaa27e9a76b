/* SPDX-License-Identifier: Apache-2.0 */
/* What a fix takes for granted, measured on the device that executes it. */
#ifndef INQ_REPLAY_FIX_VALIDATE_VALIDATE_H
#define INQ_REPLAY_FIX_VALIDATE_VALIDATE_H

#include "fix/fix.h"
#include "inquest/fix.h"

/* Measures every need on an engine by recorded work: `measured` and `ci95` are filled where the
 * device can do that work. Fails with INQ_NOMEM, INQ_CANCELLED. */
int inq_fix_measure(const struct inq_engine *engine, const struct inq_replay_options *options,
                    struct fix_needs *needs, struct inq_err *err);

#endif
