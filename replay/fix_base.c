/* SPDX-License-Identifier: Apache-2.0 */
/* Bases of fixes: of a run, or of a schedule. */
#include "fix_base.h"
#include "fix_pipe.h"
#include "fix_spec.h"

#include "analysis/whatif.h"
#include "base/mem.h"
#include "base/stats.h"

#include <string.h>

void inq_fix_base_free(struct inq_fix_base *base)
{
    if (base != NULL) {
        inq_fix_job_release(&base->job);
        inq_mem_free(base);
    }
}

const struct inq_fix_base_info *inq_fix_base_info(const struct inq_fix_base *base)
{
    return &base->info;
}

int inq_fix_median_step(const int64_t *length_ns, size_t n, size_t *step, struct inq_err *err)
{
    int64_t *sorted = inq_mem_alloc((n + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = length_ns[i];
    }
    int64_t median = inq_median_i64(sorted, n);
    *step = 0;
    while (*step + 1 < n && length_ns[*step] != median) {
        (*step)++;
    }
    inq_mem_free(sorted);
    return INQ_OK;
}

/* What the base takes by the simulator. */
static int measure(struct inq_fix_base *base, struct inq_err *err)
{
    struct fix_job *job = &base->job;
    int64_t t_ns = 0;
    int64_t without_ns = 0;
    int code = inq_fix_job_time(job, true, &t_ns, err);
    if (code == INQ_OK) {
        code = inq_fix_job_time(job, false, &without_ns, err);
    }
    base->info.t_ns = t_ns + base->tail_ns;
    base->info.without_gaps_ns = without_ns;
    base->info.n_ops = job->n_ops;
    base->info.n_ranks = job->n_ranks;
    base->info.n_stages = job->n_stages;
    base->info.n_dp = job->n_dp;
    base->info.n_microbatches = job->n_microbatches;
    base->info.schedule = job->schedule;
    base->info.connected = job->connected;
    return code;
}

static int new_base(struct inq_fix_base **base, struct inq_err *err)
{
    *base = inq_mem_zalloc(1, sizeof **base);
    if (*base == NULL) {
        return inq_fix_no_memory(err);
    }
    (*base)->info = (struct inq_fix_base_info){.source = "", .step = -1, .recorded_ns = -1};
    return INQ_OK;
}

static int finish(struct inq_fix_base **base, int code, struct inq_err *err)
{
    if (code == INQ_OK) {
        code = measure(*base, err);
    }
    if (code != INQ_OK) {
        inq_fix_base_free(*base);
        *base = NULL;
    }
    return code;
}

int inq_fix_base_of_run(const struct inq_trace *trace, struct inq_report *report,
                        struct inq_fix_base **base, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    int code = new_base(base, err);
    if (code == INQ_OK) {
        code = inq_op_model_shared(trace, report, &model, err);
    }
    if (code == INQ_OK) {
        code = model != NULL ? inq_fix_base_model(trace, report, model, *base, err)
                             : inq_fix_base_trace(trace, report, *base, err);
    }
    return finish(base, code, err);
}

int inq_fix_base_of_schedule(const struct inq_schedule *schedule, const struct inq_costs *costs,
                             struct inq_fix_base **base, struct inq_err *err)
{
    int code = new_base(base, err);
    if (code == INQ_OK) {
        (*base)->info.source = "schedule";
        code = inq_fix_job_of_schedule(schedule, costs, &(*base)->job, err);
    }
    return finish(base, code, err);
}

int inq_fix_graph(const struct inq_fix_base *base, const char *spec, struct inq_graph **graph,
                  struct inq_err *err)
{
    struct fix_job job;
    struct fix_said said = {0};
    *graph = NULL;
    int code = inq_fix_job_copy(&base->job, &job, err);
    if (code == INQ_OK) {
        code = inq_fix_apply(&job, spec, &said, err);
        if (code == INQ_OK) {
            code = inq_fix_job_graph(&job, graph, err);
        }
        inq_fix_job_release(&job);
    }
    return code;
}
