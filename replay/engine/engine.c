/* SPDX-License-Identifier: Apache-2.0 */
/* The table of engines, and the one that only simulates. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

static int simulate(const struct inq_plan *plan, const struct inq_replay_options *options,
                    struct inq_execution *out, struct inq_err *err)
{
    struct inq_recorder recorder = {0};
    *out = (struct inq_execution){0};
    if (options != NULL && options->work == INQ_WORK_RECORDED) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the sim engine does no work");
    }
    int code = inq_recorder_init(&recorder, plan->graph->n_ops, 1, err);
    if (code == INQ_OK) {
        (void)inq_simulate(plan->graph, plan->dur_ns, plan->delay_ns, inq_recorder_start(&recorder),
                           inq_recorder_end(&recorder));
        (void)inq_recorder_next(&recorder);
        code = inq_recorder_finish(&recorder, out, err);
    }
    if (code == INQ_OK) {
        (void)snprintf(out->device, sizeof out->device, "simulator");
    }
    inq_recorder_release(&recorder);
    return code;
}

#ifdef INQ_HAVE_CUDA
#define CUDA_BUILT true
#else
#define CUDA_BUILT                false
static int run_no_cuda(const struct inq_plan *plan, const struct inq_replay_options *options,
                       struct inq_execution *out, struct inq_err *err)
{
    (void)plan;
    (void)options;
    *out = (struct inq_execution){0};
    return inq_err_set(err, INQ_UNSUPPORTED,
                       "the cuda engine is not built in: nvcc was not there at build time");
}
#define inq_engine_cuda_run       run_no_cuda
#define inq_engine_cuda_alternate NULL
#define inq_engine_cuda_gpus      NULL
#endif

static const struct inq_engine engines[] = {
    {"sim", "simulates: exact and deterministic, nothing is executed", true, false, simulate, NULL,
     NULL},
    {"host", "executes on CPU threads with real clocks and real waiting", true, true,
     inq_engine_host_run, inq_engine_host_alternate, NULL},
    {"cuda", "executes on GPUs", CUDA_BUILT, true, inq_engine_cuda_run, inq_engine_cuda_alternate,
     inq_engine_cuda_gpus},
};

const struct inq_engine *inq_engines(size_t *n)
{
    *n = sizeof engines / sizeof *engines;
    return engines;
}

const struct inq_engine *inq_engine_find(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (strcmp(engines[i].name, name) == 0) {
            return &engines[i];
        }
    }
    return NULL;
}
