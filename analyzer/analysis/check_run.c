/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded run in a handful of measures, each over its steps. */
#include "analysis/arrivals.h"
#include "analysis/cells.h"
#include "analysis/check_measures.h"
#include "analysis/collectives.h"
#include "analysis/roles.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As the op model has it: steps at the beginning that take this much longer are a warm-up. */
static const double WARM_UP = 1.5;
static const size_t WARM_UP_LEAST = 4;
/* A baseline is to be read by people. */
static const size_t MOST_ROLES = 256;

struct measurer {
    const struct inq_report *report;
    struct inq_snapshot *out;
    struct inq_err *err;
    struct inq_cells cells;
    struct inq_roles roles;
    size_t first;     /* step that is measured first */
    int64_t *wait_ns; /* [n_ranks * n_steps] */
    int64_t *values;  /* [n_steps] */
    double *ratios;   /* [the most values that a measure has] */
    size_t n_ratios;
};

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int set_up(struct measurer *m, int jobs)
{
    const struct inq_trace *trace = m->report->trace;
    int code = inq_cells_build(trace, jobs, &m->cells, m->err);
    if (code == INQ_OK) {
        code = inq_roles_find(trace, m->report->op_model, &m->roles, m->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    m->n_ratios = trace->n_steps;
    m->n_ratios += m->report->pipeline != NULL ? m->report->pipeline->n_steps : 0;
    m->n_ratios += m->report->whatif != NULL ? m->report->whatif->n_by_step : 0;
    m->wait_ns = inq_mem_zalloc(trace->n_ranks * m->cells.n_steps + 1, sizeof *m->wait_ns);
    m->values = inq_mem_zalloc(m->cells.n_steps + 1, sizeof *m->values);
    m->ratios = inq_mem_zalloc(m->n_ratios + 1, sizeof *m->ratios);
    if (m->wait_ns == NULL || m->values == NULL || m->ratios == NULL) {
        return inq_err_set(m->err, INQ_NOMEM, "no memory to measure %zu steps", trace->n_steps);
    }
    return INQ_OK;
}

static void tear_down(struct measurer *m)
{
    inq_cells_release(&m->cells);
    inq_roles_release(&m->roles);
    inq_mem_free(m->wait_ns);
    inq_mem_free(m->values);
    inq_mem_free(m->ratios);
}

/* The capture's first step is left out as the judges do, and so is a warm-up. */
static void set_first(struct measurer *m)
{
    const struct inq_report *report = m->report;
    size_t n = report->trace->n_steps;
    m->first = m->cells.first_step;
    if (report->step_ns == NULL || n < WARM_UP_LEAST) {
        return;
    }
    while (m->first < n / 2 &&
           (double)report->step_ns[m->first] > WARM_UP * (double)report->step_ns_median) {
        m->first++;
    }
}

static int add_steps(struct measurer *m, enum inq_measure_kind kind, const char *suffix, size_t n)
{
    struct inq_measure values;
    if (n == 0) {
        return INQ_OK;
    }
    int code = inq_measure_of_steps(m->values, n, &values, m->err);
    return code == INQ_OK ? inq_snapshot_add(m->out, kind, suffix, &values, m->err) : code;
}

static int add_step_time(struct measurer *m)
{
    size_t n = 0;
    for (size_t s = m->first; s < m->report->trace->n_steps; s++) {
        if (m->report->step_ns[s] > 0) {
            m->values[n++] = m->report->step_ns[s];
        }
    }
    return add_steps(m, INQ_MEASURE_STEP_TIME, NULL, n);
}

/* Per step the longest compute of the role's ranks; INQ_NONE: of all. */
static int add_compute(struct measurer *m, uint32_t role)
{
    size_t n = 0;
    char suffix[24];
    for (size_t s = m->first; s < m->cells.n_steps; s++) {
        int64_t longest_ns = -1;
        for (size_t r = 0; r < m->cells.n_ranks; r++) {
            const struct inq_cell *cell = inq_cell_at(&m->cells, r, s);
            if ((role == INQ_NONE || m->roles.of[r] == role) && cell->valid) {
                longest_ns = max2(longest_ns, cell->compute_ns);
            }
        }
        if (longest_ns > 0) {
            m->values[n++] = longest_ns;
        }
    }
    if (role == INQ_NONE) {
        return add_steps(m, INQ_MEASURE_COMPUTE, NULL, n);
    }
    int32_t stage = m->roles.stage[role];
    (void)snprintf(suffix, sizeof suffix, "%s%d", stage >= 0 ? "stage" : "role",
                   stage >= 0 ? (int)stage : (int)role);
    return add_steps(m, INQ_MEASURE_COMPUTE, suffix, n);
}

static int add_exposed(struct measurer *m)
{
    size_t n = 0;
    for (size_t s = m->first; s < m->cells.n_steps; s++) {
        int64_t sum_ns = 0;
        int64_t ranks = 0;
        for (size_t r = 0; r < m->cells.n_ranks; r++) {
            const struct inq_cell *cell = inq_cell_at(&m->cells, r, s);
            sum_ns += cell->valid ? cell->comm_ns : 0;
            ranks += cell->valid;
        }
        if (ranks > 0) {
            m->values[n++] = sum_ns / ranks;
        }
    }
    return add_steps(m, INQ_MEASURE_EXPOSED_COMM, NULL, n);
}

static void sum_waits(struct measurer *m)
{
    const struct inq_trace *trace = m->report->trace;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        struct inq_arrival_span span;
        if (coll->ends_disagree || !inq_arrival_span(trace, coll, &span)) {
            continue;
        }
        for (uint32_t i = 0; i < coll->n_members; i++) {
            const struct inq_member *member = &trace->members[coll->first_member + i];
            uint32_t step = trace->ranks[member->rank].events.step[member->event];
            if (step < m->cells.n_steps) {
                m->wait_ns[member->rank * m->cells.n_steps + step] +=
                    inq_coll_wait_ns(trace, coll, member, span.last_ns);
            }
        }
    }
}

static int add_worst_wait(struct measurer *m)
{
    size_t n = 0;
    if (m->report->trace->n_collectives == 0) {
        return INQ_OK;
    }
    sum_waits(m);
    for (size_t s = m->first; s < m->cells.n_steps; s++) {
        int64_t worst_ns = -1;
        for (size_t r = 0; r < m->cells.n_ranks; r++) {
            if (inq_cell_at(&m->cells, r, s)->valid) {
                worst_ns = max2(worst_ns, m->wait_ns[r * m->cells.n_steps + s]);
            }
        }
        if (worst_ns >= 0) {
            m->values[n++] = worst_ns;
        }
    }
    return add_steps(m, INQ_MEASURE_WORST_WAIT, NULL, n);
}

static int add_ratios(struct measurer *m, enum inq_measure_kind kind, size_t n)
{
    struct inq_measure values = inq_measure_of_ratios(m->ratios, n);
    return n > 0 ? inq_snapshot_add(m->out, kind, NULL, &values, m->err) : INQ_OK;
}

static int add_graph(struct measurer *m)
{
    const struct inq_pipeline *pipeline = m->report->pipeline;
    const struct inq_whatif *whatif = m->report->whatif;
    size_t n = 0;
    for (size_t s = 0; pipeline != NULL && s < pipeline->n_steps; s++) {
        if (!pipeline->steps[s].warm_up && isfinite(pipeline->steps[s].bubble_ratio)) {
            m->ratios[n++] = pipeline->steps[s].bubble_ratio;
        }
    }
    int code = add_ratios(m, INQ_MEASURE_BUBBLE_RATIO, n);
    n = 0;
    for (size_t s = 0; whatif != NULL && s < whatif->n_by_step; s++) {
        if (isfinite(whatif->steps[s].slowdown)) {
            m->ratios[n++] = whatif->steps[s].slowdown;
        }
    }
    return code == INQ_OK ? add_ratios(m, INQ_MEASURE_SLOWDOWN, n) : code;
}

static int add_findings(struct measurer *m)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < m->report->n_findings; i++) {
        const struct inq_finding *f = &m->report->findings[i];
        if (f->severity > INQ_SEVERITY_INFO) {
            code = inq_snapshot_add_finding(m->out, f->id, f->severity, f->title, m->err);
        }
    }
    return code;
}

/* Without steps the capture's length is arbitrary, and so would be what is measured per step. */
static int add_all(struct measurer *m)
{
    int code = INQ_OK;
    if (m->report->trace->n_steps > 0) {
        set_first(m);
        code = add_step_time(m);
        bool one = m->roles.n <= 1 || m->roles.n > MOST_ROLES;
        for (uint32_t role = 0; code == INQ_OK && role < (one ? 1 : m->roles.n); role++) {
            code = add_compute(m, one ? INQ_NONE : role);
        }
        code = code == INQ_OK ? add_exposed(m) : code;
        code = code == INQ_OK ? add_worst_wait(m) : code;
        code = code == INQ_OK ? add_graph(m) : code;
    }
    return code == INQ_OK ? add_findings(m) : code;
}

int inq_snapshot_of_report(const struct inq_report *report, int jobs, struct inq_snapshot *snapshot,
                           struct inq_err *err)
{
    *snapshot = (struct inq_snapshot){.subject = INQ_SUBJECT_RUN};
    snapshot->ranks = (int32_t)report->trace->n_ranks;
    struct measurer m = {.report = report, .out = snapshot, .err = err};
    int code = set_up(&m, jobs);
    if (code == INQ_OK) {
        code = add_all(&m);
    }
    tear_down(&m);
    return code;
}
