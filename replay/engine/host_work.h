/* SPDX-License-Identifier: Apache-2.0 */
/* What ops do on the host where work is recorded work: compute is arithmetic (small matrix
 * products, so many that they take the planned time on this CPU), transfers are memory traffic of
 * the recorded bytes. */
#ifndef INQ_REPLAY_ENGINE_HOST_WORK_H
#define INQ_REPLAY_ENGINE_HOST_WORK_H

#include "inquest/replay.h"

/* All-zero is releasable. */
struct host_work {
    size_t n_threads;
    float *tiles;    /* [n_threads] of three matrices each */
    uint8_t *memory; /* [n_threads] of two buffers each */
    double products_per_ns, weight_products_per_ns, bytes_per_ns; /* of one thread */
    int64_t latency_ns; /* added to each transfer: what a slower network takes */
};

/* Makes memory for the threads and measures the CPU, some 30 ms. Fails with INQ_NOMEM. */
int inq_host_work_init(struct host_work *work, size_t n_threads, int64_t latency_ns,
                       struct inq_err *err);
void inq_host_work_release(struct host_work *work);
/* Does an op's work on a thread's memory, in pieces of some 10 us; stops early when `*outcome` is
 * not `goes_on` any more. */
struct host_task {
    const struct inq_plan *plan;
    uint32_t op, first; /* first of its group */
    size_t thread;
};
bool inq_host_work_do(const struct host_work *work, const struct host_task *task,
                      bool (*goes_on)(void *ctx), void *ctx);

#endif
