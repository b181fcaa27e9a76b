/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops: the only door to OpenMP. Results must not depend on the number of threads. */
#ifndef INQ_BASE_PAR_H
#define INQ_BASE_PAR_H

#include "inquest/error.h"

/* `jobs` <= 0: all cores. Fewer where the address space (ulimit -v) has no room for them; never
 * less than 1. */
int inq_par_threads(int jobs);

/* Calls body(ctx, i, err_of_that_call) for i in [0, n), in parallel, dynamically scheduled in order
 * of i. All calls are made even if one fails; the failure with the lowest index is returned. */
int inq_par_for(size_t n, int jobs, int (*body)(void *ctx, size_t i, struct inq_err *err),
                void *ctx, struct inq_err *err);

#endif
