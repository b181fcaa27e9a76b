/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops: the only door to OpenMP. Results must not depend on the number of threads. */
#ifndef INQ_BASE_PAR_H
#define INQ_BASE_PAR_H

#include "inquest/version.h"

/* Calls body(ctx, i, err_of_that_call) for i in [0, n), in parallel, dynamically scheduled in order
 * of i. All calls are made even if one fails; the failure with the lowest index is returned. Loops
 * inside of a call get an equal part of the `jobs`: more of them when fewer calls are left. */
int inq_par_for(size_t n, int jobs, int (*body)(void *ctx, size_t i, struct inq_err *err),
                void *ctx, struct inq_err *err);

#endif
