/* SPDX-License-Identifier: Apache-2.0 */
/* Who held whom up, and is it true: ranks are compared step by step, outliers are asked why. */
#include "inquest/analysis.h"

#include "analysis/parts.h"
#include "analysis/rerun.h"
#include "analysis/suspects.h"
#include "analysis/whatif.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <stddef.h>

struct tools {
    struct inq_cells cells;
    struct inq_roles roles;
    struct inq_delays delays;
    struct inq_arrivals arrivals;
    struct inq_links links;
};

static void tools_release(struct tools *t)
{
    inq_cells_release(&t->cells);
    inq_roles_release(&t->roles);
    inq_delays_release(&t->delays);
    inq_arrivals_release(&t->arrivals);
    inq_links_release(&t->links);
}

static int tools_init(struct tools *t, const struct inq_trace *trace, int jobs,
                      struct inq_report *report, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    int code = inq_cells_build(trace, jobs, &t->cells, err);

    if (code == INQ_OK && inq_roles_need_model(trace)) {
        code = inq_op_model_shared(trace, report, &model, err);
    }
    if (code == INQ_OK) {
        code = inq_roles_find(trace, model, &t->roles, err);
    }
    if (code == INQ_OK) {
        code = inq_delays_find(&t->cells, &t->roles, &t->delays, err);
    }
    if (code == INQ_OK) {
        code = inq_arrivals_count(trace, &t->arrivals, err);
    }
    if (code == INQ_OK) {
        code = inq_links_find(trace, &t->cells, &t->links, err);
    }
    return code;
}

static int costliest_first(const void *a, const void *b, void *ctx)
{
    const struct inq_suspect *x = a;
    const struct inq_suspect *y = b;

    (void)ctx;
    if (x->cost_ns_per_step != y->cost_ns_per_step) {
        return x->cost_ns_per_step > y->cost_ns_per_step ? -1 : 1;
    }
    if (x->n_ranks == 0 || y->n_ranks == 0) {
        return (x->n_ranks == 0) - (y->n_ranks == 0);
    }
    return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

/* Ranks alike share a cost that none of them has alone (all ranks of a slow host): the later one
 * joins the earlier one's finding. */
static int join(const struct inq_inquiry *q, struct inq_suspect *into,
                const struct inq_suspect *from, struct inq_err *err)
{
    uint32_t *ranks = inq_arena_array(q->arena, into->n_ranks + from->n_ranks, sizeof(*ranks));
    size_t n = 0;
    size_t i = 0;

    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a suspect");
    }
    for (size_t j = 0; j < from->n_ranks || i < into->n_ranks;) {
        bool first = j == from->n_ranks || (i < into->n_ranks && into->ranks[i] < from->ranks[j]);
        ranks[n++] = first ? into->ranks[i++] : from->ranks[j++];
    }
    into->ranks = ranks;
    into->n_ranks = n;
    into->cost_ns_per_step += from->cost_ns_per_step;
    into->steps_seen = from->steps_seen > into->steps_seen ? from->steps_seen : into->steps_seen;
    into->last_arrivals += from->last_arrivals;
    into->waits = from->waits > into->waits ? from->waits : into->waits;
    if (from->confidence < into->confidence) {
        into->confidence = from->confidence;
    }
    return INQ_OK;
}

static bool costs_enough(const struct inq_suspect *suspect, size_t ranks)
{
    double share = inq_straggler_min_share(ranks, suspect->steps);

    return (double)suspect->cost_ns_per_step >= share * (double)suspect->step_ns;
}

static int collect_delays(const struct inq_inquiry *q, struct inq_blame *blame, struct inq_err *err)
{
    struct inq_suspect small[INQ_FINDING_KIND_COUNT]; /* too cheap each: by kind, joined */
    bool any[INQ_FINDING_KIND_COUNT] = {false};
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < q->delays->n; i++) {
        const struct inq_delay *delay = &q->delays->at[i];
        struct inq_suspect suspect;
        if (!delay->outlier) {
            continue;
        }
        code = inq_suspect_make(q, delay, &suspect, err);
        if (code != INQ_OK) {
            break;
        }
        if (costs_enough(&suspect, delay->peers + 1)) {
            blame->suspects[blame->n_suspects++] = suspect;
        } else if (!any[suspect.kind]) {
            small[suspect.kind] = suspect;
            any[suspect.kind] = true;
        } else {
            code = join(q, &small[suspect.kind], &suspect, err);
        }
    }
    for (size_t k = 0; code == INQ_OK && k < INQ_FINDING_KIND_COUNT; k++) {
        if (any[k] && costs_enough(&small[k], q->delays->n)) {
            blame->suspects[blame->n_suspects++] = small[k];
        }
    }
    return code;
}

static bool is_suspect(const struct inq_blame *blame, size_t rank)
{
    for (size_t i = 0; i < blame->n_suspects; i++) {
        const struct inq_suspect *suspect = &blame->suspects[i];
        for (size_t k = 0; suspect->kind != INQ_FINDING_SLOW_LINK && k < suspect->n_ranks; k++) {
            if (suspect->ranks[k] == rank) {
                return true;
            }
        }
    }
    return false;
}

/* Median of a field over the judged steps of all ranks that hold nobody up. */
static int64_t usual(const struct inq_cells *cells, const struct inq_blame *blame, size_t field,
                     int64_t *scratch)
{
    size_t n = 0;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        bool counts = !is_suspect(blame, r);
        for (size_t s = cells->first_step; counts && s < cells->n_steps; s++) {
            const struct inq_cell *cell = inq_cell_at(cells, r, s);
            if (cell->valid) {
                int64_t ns = *(const int64_t *)(const void *)((const char *)cell + field);
                scratch[n++] =
                    field == offsetof(struct inq_cell, end_ns) ? ns - cell->start_ns : ns;
            }
        }
    }
    return inq_median_i64(scratch, n);
}

static int fill_usual(const struct inq_cells *cells, struct inq_blame *blame, struct inq_err *err)
{
    int64_t *scratch = inq_mem_alloc((cells->n_ranks * cells->n_steps + 1) * sizeof(*scratch));

    if (!scratch) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", cells->n_steps);
    }
    struct inq_usual_step *u = &blame->usual;
    u->step_ns = usual(cells, blame, offsetof(struct inq_cell, end_ns), scratch);
    u->compute_ns = usual(cells, blame, offsetof(struct inq_cell, compute_ns), scratch);
    u->comm_ns = usual(cells, blame, offsetof(struct inq_cell, comm_ns), scratch);
    u->copy_ns = usual(cells, blame, offsetof(struct inq_cell, copy_ns), scratch);
    u->host_ns = usual(cells, blame, offsetof(struct inq_cell, host_ns), scratch);
    u->other_ns = usual(cells, blame, offsetof(struct inq_cell, other_ns), scratch);
    inq_mem_free(scratch);
    return INQ_OK;
}

/* Uneven work is looked for among the ranks that hold nobody up. */
static int collect_imbalance(const struct inq_inquiry *q, struct inq_blame *blame,
                             struct inq_err *err)
{
    bool *skip = inq_mem_zalloc(q->trace->n_ranks + 1, sizeof(*skip));
    struct inq_imbalance found;

    if (!skip) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", q->trace->n_ranks);
    }
    for (size_t r = 0; r < q->trace->n_ranks; r++) {
        skip[r] = is_suspect(blame, r);
    }
    int code = inq_imbalance_find(q->trace, q->cells, q->roles, skip, &found, err);
    if (code == INQ_OK) {
        code = inq_suspects_of_imbalance(q, &found, blame->suspects, &blame->n_suspects, err);
    }
    inq_mem_free(skip);
    return code;
}

static int fill(const struct inq_inquiry *q, const struct inq_links *links,
                struct inq_report *report, struct inq_err *err)
{
    struct inq_blame *blame = inq_arena_alloc(q->arena, sizeof(*blame));
    size_t room = INQ_FINDING_KIND_COUNT + links->n + 3;

    for (size_t i = 0; i < q->delays->n; i++) {
        room += q->delays->at[i].outlier;
    }
    if (blame) {
        blame->suspects = inq_arena_array(q->arena, room, sizeof(*blame->suspects));
    }
    if (!blame || !blame->suspects) {
        return inq_err_set(err, INQ_NOMEM, "no memory for suspects");
    }
    blame->ranks_compared = q->delays->n;
    blame->steps_judged = q->cells->n_steps - q->cells->first_step;
    blame->first_step_left_out = q->cells->first_step > 0;
    blame->one_step = q->cells->one_step;
    blame->op_table = q->cells->op_table;
    blame->waste_ns_per_step = (int64_t)llround(q->delays->waste_ns);
    report->blame = blame;
    int code = collect_delays(q, blame, err);
    if (code == INQ_OK && !q->cells->op_table) { /* of an op table, whatif knows more */
        code = collect_imbalance(q, blame, err);
    }
    if (code == INQ_OK) {
        code = inq_suspects_of_links(q, links, blame->suspects, &blame->n_suspects, err);
    }
    if (code == INQ_OK) {
        code = inq_suspects_cost(q, links, blame->suspects, blame->n_suspects, err);
    }
    if (code == INQ_OK) {
        code = inq_sort(blame->suspects, blame->n_suspects, sizeof(*blame->suspects),
                        costliest_first, NULL, err);
    }
    return code == INQ_OK ? fill_usual(q->cells, blame, err) : code;
}

int inq_run_blame(const struct inq_trace *trace, const struct inq_analysis_options *options,
                  struct inq_report *report, struct inq_err *err)
{
    struct tools t = {0};
    int code = tools_init(&t, trace, options->jobs, report, err);

    if (code == INQ_OK && (t.delays.n > 0 || t.links.compared > 0 || t.roles.pipeline)) {
        struct inq_inquiry q = {trace, &t.cells, &t.roles, &t.delays, &t.arrivals, report->arena};
        code = fill(&q, &t.links, report, err);
    }
    tools_release(&t);
    return code;
}
