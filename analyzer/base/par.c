/* SPDX-License-Identifier: Apache-2.0 */
#include "base/par.h"

#include "base/mem.h"

#include <omp.h>
#include <sys/resource.h>

/* Address space that a thread takes where its stack has the usual 8 MB: malloc reserves 64 MB for
 * it. OpenMP ends the process when there is no room for a stack, so threads get half of what is
 * left, and where that is too little there is one, which needs nothing. */
static const uint64_t THREAD_BYTES = UINT64_C(72) << 20;

int inq_threads(int jobs)
{
    int wanted = jobs > 0 ? jobs : omp_get_num_procs();
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return wanted;
    }
    uint64_t room = inq_mem_available() / 2 / THREAD_BYTES;
    return room + 1 < (uint64_t)wanted ? (int)room + 1 : wanted;
}

/* The failure with the lowest index wins, whatever order the threads ran in. */
struct failure {
    size_t index;
    int code;
    struct inq_err err;
};

static void keep_first(struct failure *failure, size_t index, int code, const struct inq_err *err)
{
#pragma omp critical(inq_par_failure)
    if (failure->code == INQ_OK || index < failure->index) {
        failure->index = index;
        failure->code = code;
        failure->err = *err;
    }
}

/* Inside of another loop, whose call this is a part of: the threads that it leaves idle. */
static size_t threads_for(size_t n, int jobs)
{
    size_t threads = (size_t)inq_threads(jobs);
    if (omp_in_parallel() && (size_t)omp_get_max_threads() < threads) {
        threads = (size_t)omp_get_max_threads();
    }
    return threads < n ? threads : n;
}

int inq_par_for(size_t n, int jobs, int (*body)(void *ctx, size_t i, struct inq_err *err),
                void *ctx, struct inq_err *err)
{
    struct failure failure = {0};
    int wanted = inq_threads(jobs);
    size_t threads = threads_for(n, jobs);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads) if (threads > 1)
    for (size_t i = 0; i < n; i++) {
        struct inq_err own = {0};
        size_t left = n - i < threads ? n - i : threads;
        /* both are this task's own, for the loops that its call makes */
        omp_set_num_threads(wanted / (int)left > 1 ? wanted / (int)left : 1);
        omp_set_max_active_levels(omp_get_active_level() + 1);
        int code = body(ctx, i, &own);
        if (code != INQ_OK) {
            keep_first(&failure, i, code, &own);
        }
    }
    if (failure.code != INQ_OK && err != NULL && err->code == INQ_OK) {
        *err = failure.err;
    }
    return failure.code;
}
