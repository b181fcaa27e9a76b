/* SPDX-License-Identifier: Apache-2.0 */
/* Who delayed whom, and is it true: ranks are compared step by step, outliers are asked why. */
#include "inquest/analysis.h"

#include "analysis/straggler/gains.h"
#include "analysis/analysis.h"
#include "analysis/straggler/candidates.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct tools {
    struct inq_study study;
    struct inq_delays delays;
    struct inq_arrivals arrivals;
};

static void tools_release(struct tools *t)
{
    inq_study_release(&t->study);
    inq_delays_release(&t->delays);
    inq_arrivals_release(&t->arrivals);
}

static int tools_init(struct tools *t, const struct inq_trace *trace, struct inq_report *report,
                      struct inq_err *err)
{
    int code = inq_study_init(&t->study, trace, report, err);

    if (code == INQ_OK) {
        code =
            inq_delays_find(&t->study.cells, &t->study.roles, &t->study.silences, &t->delays, err);
    }
    return code == INQ_OK ? inq_arrivals_count(trace, &t->arrivals, err) : code;
}

/* Where only communication is recorded, a rank that another one keeps waiting in one group, and
 * that is late in the next for that, looks late itself; but it is not the last in the first. Where
 * own time could not be told from what hides in communication (see comm_only.h), when they arrive
 * is all that is known of ranks: one is named that is the last in three of four collectives that
 * wait, which is also what a single step takes to be supported. */
static bool is_victim(const struct inq_inquiry *q, const struct inq_candidate *candidate)
{
    return candidate->comm_only && !q->cells->between_comm &&
           4 * candidate->last_arrivals < 3 * candidate->waits;
}

/* Whether extra compute is said of most ranks of a role: what most have is what is usual, and it is
 * the others who have less. A slow GPU is one, however many there are. */
static bool is_most(const struct inq_delay *delay, const struct inq_candidate *candidate)
{
    return candidate->kind == INQ_FINDING_MORE_WORK && 2 * delay->usual < delay->peers;
}

static int collect_delays(const struct inq_inquiry *q, struct inq_attribution *blame,
                          struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < q->delays->n; i++) {
        if (q->delays->at[i].outlier) {
            size_t before = blame->n_candidates;
            code = inq_candidates_of_delay(q, &q->delays->at[i], blame, err);
            while (blame->n_candidates > before &&
                   (is_victim(q, &blame->candidates[blame->n_candidates - 1]) ||
                    is_most(&q->delays->at[i], &blame->candidates[blame->n_candidates - 1]))) {
                blame->n_candidates--;
            }
        }
    }
    return code;
}

/* What a candidate must cost to be told. A late host among few is hardly told from how hosts
 * differ; how much GPUs differ has been held against what they compute, and what is divided
 * unevenly, or slow between ranks, has tests of its own. */
static double least_share(const struct inq_inquiry *q, const struct inq_candidate *s)
{
    bool of_hosts = s->kind == INQ_FINDING_LATE_HOST || s->kind == INQ_FINDING_EXPOSED_COPY;
    return inq_straggler_min_share(of_hosts ? q->trace->n_ranks : SIZE_MAX, s->steps);
}

/* Whether ranks are called late because they idle longer than those of other roles, and the
 * simulator cannot say that this is the host: where transfers have no partner, waiting for another
 * stage looks the same. */
static bool is_unsupported(const struct inq_candidate *s)
{
    return s->beside_roles && s->in_order_ns < 0;
}

static bool is_told(const struct inq_inquiry *q, const struct inq_candidate *s)
{
    int64_t cost_ns = s->in_order_ns >= 0 ? s->in_order_ns : s->cost_ns_per_step;
    return !is_unsupported(s) && (double)cost_ns >= least_share(q, s) * (double)s->step_ns;
}

static bool is_same(const struct inq_candidate *x, const struct inq_candidate *y)
{
    return x->kind == y->kind && x->ranks == y->ranks;
}

static bool is_among(const struct inq_candidate *s, const struct inq_candidate *told, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_same(s, &told[i])) {
            return true;
        }
    }
    return false;
}

static bool hides_one(const struct inq_candidate *s, const struct inq_candidate *told, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (told[i].hidden && (told[i].hidden_by == NULL || is_same(told[i].hidden_by, s))) {
            return true;
        }
    }
    return false;
}

/* Drops what costs too little to be told, and what costs nothing once the causes before it are
 * repaired: that is another view of the same loss. What hides one that is told stays. */
static void drop_cheap(const struct inq_inquiry *q, struct inq_attribution *blame)
{
    struct inq_candidate *at = blame->candidates;
    size_t n = blame->n_candidates;
    size_t first = n; /* those from here on are told */

    for (size_t i = n; i-- > 0;) {
        struct inq_candidate s = at[i];
        bool hides = hides_one(&s, &at[first], n - first);
        if (s.hides != NULL && !is_among(s.hides, &at[first], n - first)) {
            s.hides = NULL;
            s.joint_ns = -1;
        }
        if (hides || is_told(q, &s)) {
            at[--first] = s;
        }
    }
    memmove(at, &at[first], (n - first) * sizeof *at);
    blame->n_candidates = n - first;
}

/* Median of a field over the judged steps of all ranks that delay nobody. */
static int64_t usual(const struct inq_step_stats *cells, const struct inq_attribution *blame,
                     size_t field, int64_t *scratch)
{
    size_t n = 0;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        bool counts = !inq_candidates_name(blame, r, false);
        for (size_t s = cells->first_step; counts && s < cells->n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(cells, r, s);
            if (cell->valid) {
                int64_t ns = *(const int64_t *)(const void *)((const char *)cell + field);
                scratch[n++] =
                    field == offsetof(struct inq_step_stat, end_ns) ? ns - cell->start_ns : ns;
            }
        }
    }
    return inq_median_i64(scratch, n);
}

static int fill_usual(const struct inq_step_stats *cells, struct inq_attribution *blame,
                      struct inq_err *err)
{
    int64_t *scratch = inq_mem_alloc((cells->n_ranks * cells->n_steps + 1) * sizeof(*scratch));

    if (!scratch) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", cells->n_steps);
    }
    struct inq_usual_step *u = &blame->usual;
    u->step_ns = usual(cells, blame, offsetof(struct inq_step_stat, end_ns), scratch);
    u->compute_ns = usual(cells, blame, offsetof(struct inq_step_stat, compute_ns), scratch);
    u->comm_ns = usual(cells, blame, offsetof(struct inq_step_stat, comm_ns), scratch);
    u->copy_ns = usual(cells, blame, offsetof(struct inq_step_stat, copy_ns), scratch);
    u->host_ns = usual(cells, blame, offsetof(struct inq_step_stat, host_ns), scratch);
    u->other_ns = usual(cells, blame, offsetof(struct inq_step_stat, other_ns), scratch);
    inq_mem_free(scratch);
    return INQ_OK;
}

static int collect(const struct inq_inquiry *q, struct inq_attribution *blame, struct inq_err *err)
{
    /* in this order: what a rank is named for keeps it out of what is compared after it */
    static const struct {
        inq_candidates_find *find;
        bool op_tables; /* there whatif knows more of all others */
    } sorts[] = {{collect_delays, true},
                 {inq_candidates_of_transients, false},
                 {inq_candidates_of_peer_group_hosts, false},
                 {inq_candidates_of_imbalance, false},
                 {inq_candidates_of_pauses, false},
                 {inq_candidates_of_links, true}};
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < sizeof sorts / sizeof *sorts; i++) {
        if (sorts[i].op_tables || !q->cells->op_table) {
            code = sorts[i].find(q, blame, err);
        }
    }
    return code;
}

/* Before such a one is joined with others of its host, where nothing can be simulated. */
static void drop_unsupported(struct inq_attribution *blame)
{
    size_t kept = 0;

    for (size_t i = 0; i < blame->n_candidates; i++) {
        if (!blame->candidates[i].beside_roles) {
            blame->candidates[kept++] = blame->candidates[i];
        }
    }
    blame->n_candidates = kept;
}

/* What the candidates cost, by the simulator where the record allows it. */
static int find_costs(const struct inq_inquiry *q, struct inq_study *study,
                      struct inq_attribution *blame, struct inq_err *err)
{
    int code = blame->n_candidates > 0 ? inq_study_simulate(study, err) : INQ_OK;
    if (code == INQ_OK && study->run.n_steps == 0) {
        drop_unsupported(blame);
    }
    if (code == INQ_OK) {
        inq_study_know_faults(study, blame);
        code = inq_gains_find(study, q->arena, blame->candidates, &blame->n_candidates, err);
    }
    blame->no_gains = study->run.problem ? study->run.problem : "";
    blame->simulated_ns = study->simulated_ns > 0 ? study->simulated_ns : -1;
    drop_cheap(q, blame);
    return code;
}

static int fill(const struct inq_inquiry *q, struct inq_study *study, struct inq_report *report,
                struct inq_err *err)
{
    struct inq_attribution *blame = inq_arena_alloc(q->arena, sizeof(*blame));
    /* GPUs and hosts of each role; steps of each rank */
    size_t room = study->links.n + 2 * q->roles->n + 4 + q->cells->n_ranks;

    for (size_t i = 0; i < q->delays->n; i++) {
        room += q->delays->at[i].outlier ? 2 : 0;
    }
    if (blame) {
        blame->candidates = inq_arena_array(q->arena, room, sizeof(*blame->candidates));
    }
    if (!blame || !blame->candidates) {
        return inq_err_set(err, INQ_NOMEM, "no memory for candidates");
    }
    blame->ranks_compared = q->delays->n;
    blame->steps_judged = q->cells->n_steps - q->cells->first_step;
    blame->first_step_left_out = q->cells->first_step > 0;
    blame->one_step = q->cells->one_step;
    blame->op_table = q->cells->op_table;
    blame->waste_ns_per_step = (int64_t)llround(q->delays->waste_ns);
    report->attribution = blame;
    int code = collect(q, blame, err);
    if (code == INQ_OK) {
        code = find_costs(q, study, blame, err);
    }
    return code == INQ_OK ? fill_usual(q->cells, blame, err) : code;
}

int inq_run_attribution(const struct inq_trace *trace, const struct inq_analysis_options *options,
                        struct inq_report *report, struct inq_err *err)
{
    struct tools t = {0};
    int code = report->account != NULL ? tools_init(&t, trace, report, err) : INQ_OK;

    (void)options;

    if (code == INQ_OK &&
        (t.delays.n > 0 || t.study.links.compared > 0 || t.study.roles.pipeline)) {
        struct inq_inquiry q = {.trace = trace,
                                .cells = &t.study.cells,
                                .roles = &t.study.roles,
                                .silences = &t.study.silences,
                                .delays = &t.delays,
                                .arrivals = &t.arrivals,
                                .links = &t.study.links,
                                .arena = report->arena};
        code = fill(&q, &t.study, report, err);
    }
    tools_release(&t);
    return code;
}
