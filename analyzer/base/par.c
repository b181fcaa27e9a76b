/* SPDX-License-Identifier: Apache-2.0 */
#include "base/par.h"

#include "base/mem.h"

#include <omp.h>

int inq_par_threads(int jobs)
{
    return jobs > 0 ? jobs : omp_get_num_procs();
}

int inq_par_for(size_t n, int jobs, int (*body)(void *ctx, size_t i, struct inq_err *err),
                void *ctx, struct inq_err *err)
{
    size_t threads = (size_t)inq_par_threads(jobs);
    if (threads > n) {
        threads = n;
    }
    if (threads <= 1) {
        int first = INQ_OK;
        for (size_t i = 0; i < n; i++) {
            struct inq_err own = {0};
            int code = body(ctx, i, &own);
            if (code != INQ_OK && first == INQ_OK) {
                first = code;
                if (err != NULL && err->code == INQ_OK) {
                    *err = own;
                }
            }
        }
        return first;
    }
    /* the failure with the lowest index wins, whatever order the threads ran in */
    size_t failed_at = n;
    int failed_code = INQ_OK;
    struct inq_err failed = {0};
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
    for (size_t i = 0; i < n; i++) {
        struct inq_err own = {0};
        int code = body(ctx, i, &own);
        if (code != INQ_OK) {
#pragma omp critical(inq_par_failure)
            if (i < failed_at) {
                failed_at = i;
                failed_code = code;
                failed = own;
            }
        }
    }
    if (failed_code != INQ_OK && err != NULL && err->code == INQ_OK) {
        *err = failed;
    }
    return failed_code;
}
