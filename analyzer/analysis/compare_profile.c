/* SPDX-License-Identifier: Apache-2.0 */
/* A run as sums over its judged cells. */
#include "analysis/compare_profile.h"

#include "analysis/roles.h"
#include "analysis/row_merge.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

static const size_t MAX_KERNELS = (size_t)1 << 20;

void inq_run_profile_release(struct inq_run_profile *p)
{
    inq_cells_release(&p->cells);
    inq_mem_free(p->classes);
    inq_mem_free(p->kernels);
    inq_mem_free(p->rank_compute_ns);
    inq_mem_free(p->stage);
    *p = (struct inq_run_profile){0};
}

static bool judged(const struct inq_run_profile *p, size_t rank, size_t step)
{
    return step >= p->cells.first_step && inq_cell_at(&p->cells, rank, step)->valid;
}

/* ---- all but communication comes from the cells ----------------------------------------------*/

static void add_cells(struct inq_run_profile *p, bool pipeline)
{
    /* in an op table what is idle is left over: with a pipeline, waiting for the neighbour */
    bool left_over = p->cells.op_table && pipeline;
    for (size_t r = 0; r < p->cells.n_ranks; r++) {
        int64_t n = 0;
        int64_t compute_ns = 0;
        for (size_t s = 0; s < p->cells.n_steps; s++) {
            const struct inq_cell *cell = inq_cell_at(&p->cells, r, s);
            if (!judged(p, r, s)) {
                continue;
            }
            n++;
            compute_ns += cell->compute_ns;
            p->part_ns[INQ_PART_COPY] += cell->copy_ns;
            p->part_ns[left_over ? INQ_PART_BUBBLE : INQ_PART_HOST] += cell->host_ns;
            p->part_ns[left_over ? INQ_PART_BUBBLE : INQ_PART_IDLE] += cell->other_ns;
        }
        p->part_ns[INQ_PART_COMPUTE] += compute_ns;
        p->rank_compute_ns[r] = n > 0 ? compute_ns / n : -1;
        p->n_cells += (uint64_t)n;
        p->n_ranks += n > 0;
    }
}

static int keep_stages(struct inq_run_profile *p, const struct inq_roles *roles,
                       struct inq_err *err)
{
    p->rank_compute_ns = inq_mem_zalloc(p->cells.n_ranks + 1, sizeof *p->rank_compute_ns);
    p->stage = inq_mem_zalloc(p->cells.n_ranks + 1, sizeof *p->stage);
    if (p->rank_compute_ns == NULL || p->stage == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", p->cells.n_ranks);
    }
    for (size_t r = 0; r < p->cells.n_ranks; r++) {
        p->stage[r] = roles->n > 1 ? roles->stage[roles->of[r]] : -1;
    }
    return INQ_OK;
}

static int add_step_lengths(struct inq_run_profile *p, struct inq_err *err)
{
    int64_t *lengths = inq_mem_alloc((p->cells.n_steps + 1) * sizeof *lengths);
    if (lengths == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", p->cells.n_steps);
    }
    for (size_t s = 0; s < p->cells.n_steps; s++) {
        int64_t sum = 0;
        int64_t n = 0;
        for (size_t r = 0; r < p->cells.n_ranks; r++) {
            const struct inq_cell *cell = inq_cell_at(&p->cells, r, s);
            sum += judged(p, r, s) ? cell->end_ns - cell->start_ns : 0;
            n += judged(p, r, s);
        }
        if (n > 0) {
            lengths[p->n_steps++] = sum / n;
        }
    }
    int code = inq_measure_of_steps(lengths, p->n_steps, &p->step, err);
    inq_mem_free(lengths);
    return code;
}

/* ---- kernels ---------------------------------------------------------------------------------*/

static int kernel_index(struct inq_run_profile *p, struct inq_map *seen, inq_str id,
                        uint32_t *index, struct inq_err *err)
{
    if (inq_map_get(seen, id, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&p->kernels, &p->cap_kernels, p->n_kernels + 1, sizeof *p->kernels,
                            MAX_KERNELS, err);
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)p->n_kernels;
    p->kernels[p->n_kernels++] =
        (struct inq_kernel_class){.name = inq_trace_str(p->report->trace, id), .id = id};
    return inq_map_put(seen, id, *index, err);
}

static int add_kernels(struct inq_run_profile *p, size_t rank, struct inq_map *seen,
                       struct inq_err *err)
{
    const struct inq_events *events = &p->report->trace->ranks[rank].events;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < events->n; i++) {
        uint32_t step = p->cells.one_step ? 0 : events->step[i];
        uint32_t index = 0;
        if (step >= p->cells.n_steps || !judged(p, rank, step) || !inq_row_is_work(events, i) ||
            inq_row_class(events, i) != INQ_CLASS_COMPUTE) {
            continue;
        }
        code = kernel_index(p, seen, events->name[i], &index, err);
        if (code == INQ_OK) {
            p->kernels[index].count++;
            p->kernels[index].ns += events->dur_ns[i];
        }
    }
    return code;
}

static int by_name(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct inq_kernel_class *)a)->name,
                  ((const struct inq_kernel_class *)b)->name);
}

/* ---- ranks one after the other ---------------------------------------------------------------*/

/* For each rank the collective that each of its events is a member of: members sorted by rank. */
struct members {
    uint32_t **of; /* [n_ranks][events.n] */
    size_t n;
};

static void members_release(struct members *m)
{
    for (size_t r = 0; m->of != NULL && r < m->n; r++) {
        inq_mem_free(m->of[r]);
    }
    inq_mem_free(m->of);
}

static int members_init(const struct inq_trace *trace, struct members *m, struct inq_err *err)
{
    m->n = trace->n_ranks;
    m->of = inq_mem_zalloc(m->n + 1, sizeof *m->of);
    for (size_t r = 0; m->of != NULL && r < m->n; r++) {
        size_t bytes = trace->ranks[r].events.n * sizeof **m->of;
        m->of[r] = inq_mem_alloc(bytes + 1);
        if (m->of[r] == NULL) {
            return inq_err_set(err, INQ_NOMEM, "no memory for the events of a rank");
        }
        memset(m->of[r], 0xff, bytes);
    }
    if (m->of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", m->n);
    }
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        for (uint32_t i = 0; i < coll->n_members; i++) {
            const struct inq_member *member = &trace->members[coll->first_member + i];
            m->of[member->rank][member->event] = (uint32_t)c;
        }
    }
    return INQ_OK;
}

static int add_ranks(struct inq_run_profile *p, bool pipeline, struct inq_err *err)
{
    const struct inq_trace *trace = p->report->trace;
    struct inq_comm_context ctx;
    struct members members = {0};
    struct inq_map seen = {0};
    int code = inq_comm_context_init(trace, pipeline, p, &ctx, err);
    if (code == INQ_OK) {
        code = members_init(trace, &members, err);
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = inq_comm_context_rank(&ctx, r, members.of[r], err);
        code = code == INQ_OK ? add_kernels(p, r, &seen, err) : code;
    }
    inq_map_release(&seen);
    members_release(&members);
    inq_comm_context_release(&ctx);
    return code;
}

int inq_run_profile_build(const struct inq_report *report, int jobs, struct inq_run_profile *p,
                          struct inq_err *err)
{
    struct inq_roles roles = {0};
    *p = (struct inq_run_profile){.report = report};
    int code = inq_cells_build(report->trace, jobs, &p->cells, err);
    code = code == INQ_OK ? inq_roles_find(report->trace, report->op_model, &roles, err) : code;
    code = code == INQ_OK ? keep_stages(p, &roles, err) : code;
    bool pipeline = report->pipeline != NULL || roles.pipeline;
    inq_roles_release(&roles);
    if (code == INQ_OK && p->cells.one_step) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no steps are known in '%.200s'",
                           report->trace->name);
    }
    if (code == INQ_OK) {
        add_cells(p, pipeline);
        code = add_step_lengths(p, err);
    }
    if (code == INQ_OK && p->n_cells == 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no step of '%.200s' was captured whole",
                           report->trace->name);
    }
    code = code == INQ_OK ? add_ranks(p, pipeline, err) : code;
    return code == INQ_OK
               ? inq_sort(p->kernels, p->n_kernels, sizeof *p->kernels, by_name, NULL, err)
               : code;
}
