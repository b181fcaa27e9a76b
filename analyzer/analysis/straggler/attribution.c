/* SPDX-License-Identifier: Apache-2.0 */
/* Who delayed whom, and is it true: ranks are compared step by step, outliers are asked why. */
#include "inquest/analysis.h"

#include "analysis/straggler/gains.h"
#include "analysis/analysis.h"
#include "analysis/straggler/candidates.h"
#include "analysis/straggler/transient.h"
#include "base/arena.h"
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

/* ---- in turn --------------------------------------------------------------------------------- */

/* The ranks of one candidate, in the steps. */
struct shifts {
    const struct inq_inquiry *q;
    const struct inq_candidate *s;
    bool *own;        /* [all ranks] */
    double *off;      /* [n_ranks * n_steps] compute beyond the usual, as a part of it; or NaN */
    double *least;    /* [n_steps] what a rank is off that is among the slow ones; infinite: none */
    double *usual_ns; /* [roles] in the step looked at; NaN: not looked for */
    size_t *slow;     /* [n_ranks] in how many steps it is among the slow ones */
    int64_t *scratch; /* [all ranks + n_steps] */
};

static void shifts_release(struct shifts *h)
{
    inq_mem_free(h->own);
    inq_mem_free(h->off);
    inq_mem_free(h->least);
    inq_mem_free(h->usual_ns);
    inq_mem_free(h->slow);
    inq_mem_free(h->scratch);
}

static int shifts_init(struct shifts *h, struct inq_err *err)
{
    size_t n_steps = h->q->cells->n_steps;
    size_t n_ranks = h->q->cells->n_ranks;

    h->own = inq_mem_zalloc(n_ranks + 1, sizeof *h->own);
    h->off = inq_mem_alloc((h->s->n_ranks * n_steps + 1) * sizeof *h->off);
    h->least = inq_mem_alloc((n_steps + 1) * sizeof *h->least);
    h->usual_ns = inq_mem_alloc((h->q->roles->n + 1) * sizeof *h->usual_ns);
    h->slow = inq_mem_zalloc(h->s->n_ranks + 1, sizeof *h->slow);
    h->scratch = inq_mem_alloc((n_ranks + n_steps + 1) * sizeof *h->scratch);
    if (!h->own || !h->off || !h->least || !h->usual_ns || !h->slow || !h->scratch) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the steps of %zu ranks", h->s->n_ranks);
    }
    for (size_t k = 0; k < h->s->n_ranks; k++) {
        h->own[h->s->ranks[k]] = true;
    }
    return INQ_OK;
}

/* What others of the role compute in the step; 0: there are none. */
static double peers_compute(const struct shifts *h, uint32_t role, size_t step)
{
    size_t n = 0;

    for (size_t r = 0; r < h->q->cells->n_ranks; r++) {
        const struct inq_step_stat *cell = inq_step_stat_at(h->q->cells, r, step);
        if (h->q->roles->of[r] == role && !h->own[r] && cell->valid) {
            h->scratch[n++] = cell->compute_ns;
        }
    }
    return n > 0 ? (double)inq_lower_median_i64(h->scratch, n) : 0.0;
}

/* What the rank itself computes in most steps: all that is known of one without peers. */
static double own_compute(const struct shifts *h, uint32_t rank)
{
    size_t n = 0;

    for (size_t s = h->q->cells->first_step; s < h->q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(h->q->cells, rank, s);
        if (cell->valid) {
            h->scratch[n++] = cell->compute_ns;
        }
    }
    return n > 0 ? (double)inq_lower_median_i64(h->scratch, n) : 0.0;
}

static void compare_in_step(struct shifts *h, size_t step)
{
    for (size_t i = 0; i < h->q->roles->n; i++) {
        h->usual_ns[i] = (double)NAN;
    }
    for (size_t k = 0; k < h->s->n_ranks; k++) {
        uint32_t rank = h->s->ranks[k];
        uint32_t role = h->q->roles->of[rank];
        const struct inq_step_stat *cell = inq_step_stat_at(h->q->cells, rank, step);
        if (isnan(h->usual_ns[role])) {
            h->usual_ns[role] = peers_compute(h, role, step);
        }
        double usual_ns = h->usual_ns[role] > 0.0 ? h->usual_ns[role] : own_compute(h, rank);
        h->off[k * h->q->cells->n_steps + step] =
            cell->valid && usual_ns > 0.0 ? (double)cell->compute_ns / usual_ns - 1.0 : (double)NAN;
    }
}

static double least_off(const struct shifts *h, size_t step)
{
    double slowed = (h->s->least_ratio > 0.0 ? h->s->least_ratio : h->s->ratio) - 1.0;
    double least = fmax(INQ_TRANSIENT_RATIO - 1.0, INQ_AS_SLOW_PART * slowed);
    double most = 0.0;

    for (size_t k = 0; k < h->s->n_ranks; k++) {
        most = fmax(most, h->off[k * h->q->cells->n_steps + step]); /* passes NaN over */
    }
    return most >= least ? INQ_AS_SLOW_PART * most : (double)INFINITY;
}

/* Whether the ranks are slow one after the other, or in shifts: in most of the steps that have a
 * slow one no more than half are slow, each is in some of those steps, and none in all of them, as
 * one would be that is slow by itself. */
static bool is_in_turn(struct shifts *h)
{
    size_t n_steps = h->q->cells->n_steps;
    size_t steps = 0;
    size_t parted = 0;

    for (size_t s = h->q->cells->first_step; s < n_steps; s++) {
        double least = h->least[s] = least_off(h, s);
        size_t slow = 0;
        for (size_t k = 0; k < h->s->n_ranks; k++) {
            bool one = h->off[k * n_steps + s] >= least;
            h->slow[k] += one;
            slow += one;
        }
        steps += slow > 0;
        parted += slow > 0 && 2 * slow <= h->s->n_ranks;
    }
    bool turns = 2 * parted > steps;
    for (size_t k = 0; k < h->s->n_ranks; k++) {
        turns = turns && h->slow[k] > 0 && h->slow[k] < steps;
    }
    return turns;
}

static int by_first_step(const void *a, const void *b, void *ctx)
{
    const struct inq_turn *x = a;
    const struct inq_turn *y = b;

    (void)ctx;
    if (x->first_step != y->first_step) {
        return x->first_step < y->first_step ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Appends the turns of the candidate's rank k, and returns the mean of what it is off in them. */
static double add_turns(const struct shifts *h, size_t k, struct inq_candidate *s)
{
    double sum = 0.0;
    bool before = false;

    for (size_t i = h->q->cells->first_step; i < h->q->cells->n_steps; i++) {
        double off = h->off[k * h->q->cells->n_steps + i];
        bool slow = off >= h->least[i];
        int64_t number = h->q->trace->steps[i].number;
        if (slow && !before) {
            s->turns[s->n_turns++] = (struct inq_turn){s->ranks[k], number, number};
        } else if (slow) {
            s->turns[s->n_turns - 1].last_step = number;
        }
        sum += slow ? off : 0.0;
        before = slow;
    }
    return sum / (double)h->slow[k];
}

/* How slow each is while it is, which a mean over the turns of the others hides. Whether what they
 * share slows them, or each has a fault of its own, is left open. */
static int set_turns(const struct shifts *h, struct inq_candidate *s, struct inq_err *err)
{
    size_t room = 0;
    double sum = 0.0;

    for (size_t k = 0; k < s->n_ranks; k++) {
        room += h->slow[k];
    }
    s->turns = inq_arena_array(h->q->arena, room, sizeof *s->turns);
    if (s->turns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu turns", room);
    }
    s->least_ratio = (double)INFINITY;
    s->most_ratio = 0.0;
    for (size_t k = 0; k < s->n_ranks; k++) {
        double off = add_turns(h, k, s);
        sum += off * (double)h->slow[k];
        s->least_ratio = fmin(s->least_ratio, 1.0 + off);
        s->most_ratio = fmax(s->most_ratio, 1.0 + off);
    }
    s->ratio = 1.0 + sum / (double)room;
    s->confidence =
        s->confidence > INQ_CONFIDENCE_SUPPORTED ? INQ_CONFIDENCE_SUPPORTED : s->confidence;
    return inq_sort(s->turns, s->n_turns, sizeof *s->turns, by_first_step, NULL, err);
}

/* Several slow GPUs are one cause when they are slow together. Those that are slow in turn are
 * named by their steps. */
static int find_turns(const struct inq_inquiry *q, struct inq_candidate *s, struct inq_err *err)
{
    struct shifts h = {.q = q, .s = s};
    bool several = s->kind == INQ_FINDING_SLOW_GPU && s->n_ranks > 1 && !q->cells->one_step;
    int code = several ? shifts_init(&h, err) : INQ_OK;

    for (size_t i = q->cells->first_step; several && code == INQ_OK && i < q->cells->n_steps; i++) {
        compare_in_step(&h, i);
    }
    if (several && code == INQ_OK && is_in_turn(&h)) {
        code = set_turns(&h, s, err);
    }
    shifts_release(&h);
    return code;
}

/* ---- what is told ---------------------------------------------------------------------------- */

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
    for (size_t i = 0; code == INQ_OK && i < blame->n_candidates; i++) {
        code = find_turns(q, &blame->candidates[i], err);
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
