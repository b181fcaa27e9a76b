/* SPDX-License-Identifier: Apache-2.0 */
/* What each cause explains of a change: the run in which it costs is simulated with the other run's
 * part in its place. A cause of a loss costs in the new run, one of a gain in the base.
 *
 * A rank's compute, host time or copies are swapped by rank order: its longest step gets the
 * longest of the other run, and so on, so that faults of single steps keep their place; where it is
 * not the sums of steps that differ, kernel by kernel of a name. Transfers of a kind of collective,
 * group by group, and those between stages, pair by pair, are scaled to the sum that they have
 * there: a link that is slow in one run is slow for its group, not for all groups a little. */
#include "analysis/compare/compare.h"

#include "analysis/straggler/straggler.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Causes whose gains differ by less than this part of the change are put in order by their own
 * times: of two that hide each other neither gains anything alone, and noise must not choose. */
static const double ALIKE = 0.05;
/* So many are chosen by what they gain after those before them; more than that are never told. */
enum { CHOSEN = 4 };

/* Collectives of a class in one group; transfers from one rank to another. */
struct swap_group {
    uint32_t cls;   /* as in the record; INQ_RECORD_P2P */
    uint64_t whose; /* class and ranks, as other runs have them, too */
    double ns;      /* transfers, per counted step */
    double left;    /* what is left of them */
};

/* One of the runs, in the simulator. */
struct swap_side {
    const struct inq_run_record *p, *other;
    struct inq_study study;
    bool asked, fine;   /* fine: it can be simulated, over steps that count */
    size_t n_places;    /* ranks times steps of the graph */
    size_t n_counted;   /* of these steps */
    uint32_t *group_of; /* [ops] into groups; INQ_NONE: no transfer of a step that counts */
    struct swap_group *groups;
    size_t n_groups, cap_groups;
    struct inq_map by_whose; /* into groups */
    double *factor;          /* [2 * n_places] what is left of compute and copies */
    double *kernels;         /* [ops] the same kernel by kernel; NULL: nothing changes */
    int64_t *host_ns;        /* [n_places] that hosts take less */
};

struct swapping {
    struct inq_comparison *c;
    struct inq_report *const *reports;
    const struct inq_cause_swap *swaps;
    struct swap_side side[2];
    double *values, *others; /* scratch */
    size_t n_values, n_others;
    uint32_t *order;   /* [n_causes] */
    int64_t *alone_ns; /* [n_causes] */
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory to simulate causes of a change");
}

static bool counts(const struct swap_side *s, size_t ordinal)
{
    return s->p->use[inq_study_step(&s->study, ordinal)] == INQ_STEP_COUNTS;
}

/* ---- a run in the simulator ------------------------------------------------------------------ */

/* Of a class and the ranks of a process group, or of the ends of a transfer: what another run has,
 * too. */
static uint64_t whose(const struct swap_side *s, uint32_t cls, const struct inq_collective *coll)
{
    const struct inq_trace *trace = s->study.trace;
    uint64_t hash = cls;
    if (cls == INQ_RECORD_P2P) {
        for (uint32_t m = 0; m < coll->n_members; m++) {
            const struct inq_member *member = &trace->members[coll->first_member + m];
            hash = inq_hash_u64(hash + (uint64_t)(uint32_t)trace->ranks[member->rank].rank);
        }
        return hash;
    }
    const struct inq_record_coll *c = &s->p->classes[cls];
    hash = inq_hash_u64((uint64_t)c->kind + inq_hash_bytes(c->role, strlen(c->role)));
    if (coll->group < trace->n_groups) {
        const struct inq_group *group = &trace->groups[coll->group];
        hash += inq_hash_bytes(group->ranks, group->n_ranks * sizeof *group->ranks);
    }
    return inq_hash_u64(hash);
}

/* *group: that of a collective, which is added when it is new. */
static int group_of(struct swap_side *s, uint32_t cls, const struct inq_collective *coll,
                    uint32_t *group, struct inq_err *err)
{
    uint64_t key = whose(s, cls, coll);
    if (inq_map_get(&s->by_whose, key, group)) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&s->groups, &s->cap_groups, s->n_groups + 1, sizeof *s->groups, SIZE_MAX, err);
    code = code == INQ_OK ? inq_map_put(&s->by_whose, key, (uint32_t)s->n_groups, err) : code;
    if (code == INQ_OK) {
        *group = (uint32_t)s->n_groups;
        s->groups[s->n_groups++] = (struct swap_group){.cls = cls, .whose = key};
    }
    return code;
}

/* The group of each collective that is in a step that counts, by op. */
static int find_transfers(struct swap_side *s, struct inq_err *err)
{
    const struct inq_trace *trace = s->study.trace;
    const struct inq_counterfactual *run = &s->study.run;
    struct inq_map group_of_event = {0};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < trace->n_collectives; i++) {
        const struct inq_collective *coll = &trace->collectives[i];
        uint32_t group = INQ_NONE;
        bool in = s->p->class_of[i] != INQ_NONE;
        code = in ? group_of(s, s->p->class_of[i], coll, &group, err) : code;
        for (uint32_t m = 0; in && code == INQ_OK && m < coll->n_members; m++) {
            const struct inq_member *member = &trace->members[coll->first_member + m];
            uint64_t key = (uint64_t)member->rank << 32 | member->event;
            code = inq_map_put(&group_of_event, key, group, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < run->g.graph->n_ops; i++) {
        const struct inq_trace_op *what = &run->g.ops[i];
        uint64_t key = (uint64_t)what->rank << 32 | what->row;
        uint32_t group = INQ_NONE;
        bool in = !what->host && inq_counterfactual_judged(run, i) &&
                  counts(s, (size_t)run->step_of[i]) && inq_map_get(&group_of_event, key, &group);
        s->group_of[i] = in ? group : INQ_NONE;
        if (in) {
            s->groups[group].ns += (double)run->recorded_dur_ns[i] / (double)s->n_counted;
        }
    }
    inq_map_release(&group_of_event);
    return code;
}

static int alloc_side(struct swap_side *s, struct inq_err *err)
{
    s->n_places = s->study.trace->n_ranks * s->study.run.n_steps;
    s->group_of = inq_mem_alloc((s->study.run.g.graph->n_ops + 1) * sizeof *s->group_of);
    s->factor = inq_mem_alloc((2 * s->n_places + 1) * sizeof *s->factor);
    s->host_ns = inq_mem_alloc((s->n_places + 1) * sizeof *s->host_ns);
    bool whole = s->group_of != NULL && s->factor != NULL && s->host_ns != NULL;
    return whole ? INQ_OK : no_memory(err);
}

static void forget(struct swap_side *s)
{
    for (size_t k = 0; k < 2 * s->n_places; k++) {
        s->factor[k] = 1.0;
    }
    for (size_t i = 0; i < s->n_groups; i++) {
        s->groups[i].left = 1.0;
    }
    memset(s->host_ns, 0, s->n_places * sizeof *s->host_ns);
    inq_mem_free(s->kernels);
    s->kernels = NULL;
}

/* Makes the graph of one run, once. */
static int ask_side(struct swapping *x, int which, struct inq_err *err)
{
    struct swap_side *s = &x->side[which];
    if (s->asked) {
        return INQ_OK;
    }
    s->asked = true;
    int code = inq_study_init(&s->study, x->reports[which]->trace, x->reports[which], err);
    code = code == INQ_OK ? inq_study_simulate(&s->study, err) : code;
    for (size_t k = 0; code == INQ_OK && k < s->study.run.n_steps; k++) {
        s->n_counted += counts(s, k);
    }
    s->fine = s->n_counted > 0;
    if (code == INQ_OK && s->fine) {
        code = alloc_side(s, err);
        code = code == INQ_OK ? find_transfers(s, err) : code;
    }
    if (code == INQ_OK && s->fine) {
        forget(s);
    }
    return code;
}

static void release_side(struct swap_side *s)
{
    inq_study_release(&s->study);
    inq_mem_free(s->group_of);
    inq_mem_free(s->groups);
    inq_map_release(&s->by_whose);
    inq_mem_free(s->factor);
    inq_mem_free(s->kernels);
    inq_mem_free(s->host_ns);
}

/* Compute and copies of the ranks of which something else is left. */
static int swap_gpus(struct swap_side *s, struct inq_err *err)
{
    struct inq_gain cut = {0};
    uint32_t *ranks = inq_mem_alloc((s->p->n_ranks + 1) * sizeof *ranks);
    struct inq_repair gpus = {.kind = INQ_REPAIR_GPU, .ranks = ranks, .gpu_left = s->factor};
    size_t places = 2 * s->study.run.n_steps; /* of a rank */
    if (ranks == NULL) {
        return no_memory(err);
    }
    for (size_t r = 0; r < s->p->n_ranks; r++) {
        bool changes = false;
        for (size_t k = 0; k < places; k++) {
            changes = changes || s->factor[r * places + k] != 1.0;
        }
        ranks[gpus.n_ranks] = (uint32_t)r;
        gpus.n_ranks += changes;
    }
    int code = gpus.n_ranks > 0 ? inq_repair_apply(&s->study, &gpus, &cut, err) : INQ_OK;
    inq_mem_free(ranks);
    return code;
}

/* Simulates with what is to be left: what a step that counts takes less. */
static int simulate(struct swap_side *s, int64_t *gain_ns, struct inq_err *err)
{
    const struct inq_repair hosts = {.kind = INQ_REPAIR_HOST, .host_by_ns = s->host_ns};
    struct inq_counterfactual *run = &s->study.run;
    struct inq_gain cut = {0};
    double sum = 0.0;
    inq_counterfactual_reset(run);
    int code = swap_gpus(s, err);
    for (size_t i = 0; i < run->g.graph->n_ops; i++) {
        double left = s->kernels != NULL ? s->kernels[i] : 1.0;
        left *= s->group_of[i] != INQ_NONE ? s->groups[s->group_of[i]].left : 1.0;
        run->dur_ns[i] = llround((double)run->dur_ns[i] * left);
    }
    code = code == INQ_OK ? inq_repair_apply(&s->study, &hosts, &cut, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    inq_counterfactual_steps(run, s->study.step_ns);
    for (size_t k = 0; k < run->n_steps; k++) {
        sum += counts(s, k) ? (double)(run->base_ns[k] - s->study.step_ns[k]) : 0.0;
    }
    *gain_ns = llround(sum / (double)s->n_counted);
    return INQ_OK;
}

/* ---- what the other run has in its place ------------------------------------------------------
 */

static bool is_of(const struct inq_compared_cause *cause, int32_t rank)
{
    bool found = cause->n_ranks == 0;
    for (size_t i = 0; i < cause->n_ranks; i++) {
        found = found || cause->ranks[i] == rank;
    }
    return found;
}

/* Own times of the other run's peers of a rank in its steps that count, ascending. */
static void list_others(struct swapping *x, const struct swap_side *s, size_t rank,
                        enum inq_loss loss)
{
    const struct inq_account *a = s->other->report->account;
    x->n_others = 0;
    for (int pass = 0; pass < 2 && x->n_others == 0; pass++) { /* without peers: all */
        for (size_t r = 0; r < s->other->n_ranks; r++) {
            bool peer = pass > 0 || inq_is_peer(x->c, &s->other->ranks[r], &s->p->ranks[rank]);
            for (size_t k = 0; peer && k < a->n_steps; k++) {
                if (inq_run_record_counts(s->other, r, k)) {
                    x->others[x->n_others++] =
                        x->c->work * inq_own_ns(inq_account_cell_at(a, r, k), loss);
                }
            }
        }
    }
    inq_sort_double(x->others, x->n_others);
}

/* What the other run has at this place among `n` in ascending order, between its two nearest. */
static double other_at(const struct swapping *x, size_t place, size_t n)
{
    double at = ((double)place + 0.5) * (double)x->n_others / (double)n - 0.5;
    double last = (double)(x->n_others - 1);
    at = at < 0.0 ? 0.0 : at > last ? last : at;
    size_t below = (size_t)at;
    double part = at - (double)below;
    return part > 0.0 ? x->others[below] * (1.0 - part) + x->others[below + 1] * part
                      : x->others[below];
}

/* Sets what is left of a rank's own time in the step; of several causes that which leaves least. */
static void leave(struct swap_side *s, enum inq_loss loss, size_t place, double now, double target)
{
    target = target > 0.0 ? target : 0.0;
    if (loss == INQ_LOSS_HOST) {
        int64_t less_ns = now > target ? llround(now - target) : 0;
        s->host_ns[place] = less_ns > s->host_ns[place] ? less_ns : s->host_ns[place];
    } else if (now > 0.0) {
        double *left = &s->factor[2 * place + (loss == INQ_LOSS_COPY)];
        *left = *left == 1.0 || target / now < *left ? target / now : *left;
    }
}

static size_t below(const double *values, size_t n, double value)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (values[middle] < value) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

static void swap_rank(struct swapping *x, struct swap_side *s, size_t rank, enum inq_loss loss,
                      const struct inq_cause_swap *how)
{
    const struct inq_account *a = s->p->report->account;
    size_t n_steps = s->study.run.n_steps;
    double more = s == &x->side[1] ? how->common_ns : -how->common_ns; /* of this run */
    x->n_values = 0;
    for (size_t k = 0; k < n_steps; k++) {
        size_t step = inq_study_step(&s->study, k);
        if (inq_run_record_counts(s->p, rank, step)) {
            x->values[x->n_values++] = inq_own_ns(inq_account_cell_at(a, rank, step), loss);
        }
    }
    inq_sort_double(x->values, x->n_values);
    list_others(x, s, rank, loss);
    for (size_t k = 0; x->n_others > 0 && k < n_steps; k++) {
        size_t step = inq_study_step(&s->study, k);
        if (inq_run_record_counts(s->p, rank, step)) {
            double now = inq_own_ns(inq_account_cell_at(a, rank, step), loss);
            double target = now - more;
            if (how->whole) {
                size_t place = below(x->values, x->n_values, now);
                target = other_at(x, place, x->n_values) + more;
            }
            leave(s, loss, rank * n_steps + k, now, target);
        }
    }
}

/* ---- kernel by kernel -------------------------------------------------------------------------*/

struct kernel_time {
    uint64_t what; /* its name, and the ranks that it is held against */
    double ns;
    size_t op;
};

struct kernel_times {
    size_t n, cap;
    struct kernel_time *at;
};

static int by_what(const void *a, const void *b, void *ctx)
{
    const struct kernel_time *x = a;
    const struct kernel_time *y = b;
    (void)ctx;
    int order = (x->what > y->what) - (x->what < y->what);
    return order != 0 ? order : (x->ns > y->ns) - (x->ns < y->ns);
}

static int add_kernel(const struct swapping *x, const struct swap_side *s, size_t rank, size_t row,
                      size_t op, struct kernel_times *times, struct inq_err *err)
{
    const struct inq_trace *trace = s->p->report->trace;
    const struct inq_events *events = &trace->ranks[rank].events;
    const char *name = inq_trace_str(trace, events->name[row]);
    bool same_ranks = x->c->run[0].ranks == x->c->run[1].ranks;
    int32_t peers = same_ranks ? s->p->ranks[rank].rank : s->p->ranks[rank].stage;
    int code =
        inq_mem_grow(&times->at, &times->cap, times->n + 1, sizeof *times->at, SIZE_MAX, err);
    if (code == INQ_OK) {
        times->at[times->n++] = (struct kernel_time){
            inq_hash_u64(inq_hash_bytes(name, strlen(name)) + (uint64_t)(uint32_t)peers),
            (double)events->dur_ns[row], op};
    }
    return code;
}

/* Whether the rank's compute is a cause of its own. */
static bool stands_out(const struct inq_comparison *c, int32_t rank)
{
    bool found = false;
    for (size_t i = 0; i < c->n_causes; i++) {
        const struct inq_compared_cause *cause = &c->causes[i];
        found =
            found || (cause->loss == INQ_LOSS_COMPUTE && cause->n_ranks > 0 && is_of(cause, rank));
    }
    return found;
}

/* Compute kernels of the graph in steps that count, but for ranks that are told by themselves. */
static int list_own_kernels(const struct swapping *x, const struct swap_side *s,
                            struct kernel_times *times, struct inq_err *err)
{
    const struct inq_counterfactual *run = &s->study.run;
    bool *alone = s->study.chosen; /* scratch of the study */
    int code = INQ_OK;
    for (size_t r = 0; r < s->p->n_ranks; r++) {
        alone[r] = stands_out(x->c, s->p->ranks[r].rank);
    }
    for (size_t i = 0; code == INQ_OK && i < run->g.graph->n_ops; i++) {
        const struct inq_trace_op *what = &run->g.ops[i];
        if (!what->host && inq_counterfactual_judged(run, i) &&
            counts(s, (size_t)run->step_of[i]) &&
            s->study.trace->ranks[what->rank].events.cls[what->row] == INQ_CLASS_COMPUTE &&
            !alone[what->rank]) {
            code = add_kernel(x, s, what->rank, what->row, i, times, err);
        }
    }
    return code == INQ_OK ? inq_sort(times->at, times->n, sizeof *times->at, by_what, NULL, err)
                          : code;
}

static int list_other_kernels(const struct swapping *x, const struct swap_side *other,
                              struct kernel_times *times, struct inq_err *err)
{
    const struct inq_trace *trace = other->p->report->trace;
    int code = INQ_OK;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *events = &trace->ranks[r].events;
        for (size_t i = 0; code == INQ_OK && i < events->n; i++) {
            if (events->step[i] < other->p->n_account_steps && inq_row_is_work(events, i) &&
                inq_row_class(events, i) == INQ_CLASS_COMPUTE &&
                inq_run_record_counts(other->p, r, events->step[i])) {
                code = add_kernel(x, other, r, i, i, times, err);
            }
        }
    }
    return code == INQ_OK ? inq_sort(times->at, times->n, sizeof *times->at, by_what, NULL, err)
                          : code;
}

static size_t end_of_group(const struct kernel_times *times, size_t from)
{
    size_t to = from;
    while (to < times->n && times->at[to].what == times->at[from].what) {
        to++;
    }
    return to;
}

/* Kernels of a name, in order of their lengths, get those of the other run. */
static void swap_groups(const struct swapping *x, const struct swap_side *s,
                        const struct kernel_times *own, const struct kernel_times *others)
{
    size_t other = 0;
    for (size_t from = 0; from < own->n;) {
        size_t to = end_of_group(own, from);
        while (other < others->n && others->at[other].what < own->at[from].what) {
            other++;
        }
        size_t end = end_of_group(others, other);
        bool there = end > other && others->at[other].what == own->at[from].what;
        for (size_t i = from; there && i < to; i++) {
            size_t nearest = other + (size_t)(((double)(i - from) + 0.5) * (double)(end - other) /
                                              (double)(to - from));
            double ns = own->at[i].ns;
            s->kernels[own->at[i].op] = ns > 0.0 ? x->c->work * others->at[nearest].ns / ns : 1.0;
        }
        from = to;
    }
}

static int swap_kernels(const struct swapping *x, struct swap_side *s,
                        const struct swap_side *other, struct inq_err *err)
{
    struct kernel_times own = {0};
    struct kernel_times others = {0};
    size_t n_ops = s->study.run.g.graph->n_ops;
    inq_mem_free(s->kernels);
    s->kernels = inq_mem_alloc((n_ops + 1) * sizeof *s->kernels);
    int code = s->kernels != NULL ? INQ_OK : no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < n_ops; i++) {
        s->kernels[i] = 1.0;
    }
    code = code == INQ_OK ? list_own_kernels(x, s, &own, err) : code;
    code = code == INQ_OK ? list_other_kernels(x, other, &others, err) : code;
    if (code == INQ_OK) {
        swap_groups(x, s, &own, &others);
    }
    inq_mem_free(own.at);
    inq_mem_free(others.at);
    return code;
}

/* ---- a cause ----------------------------------------------------------------------------------*/

/* The class of a run that a comparison's collective is; `coll` NULL: transfers between stages. */
static uint32_t class_of(const struct swap_side *s, const struct inq_compared_coll *coll)
{
    char name[160];
    for (size_t i = 0; coll != NULL && i < s->p->n_classes; i++) {
        const struct inq_record_coll *c = &s->p->classes[i];
        (void)snprintf(name, sizeof name, "%s over %s", inq_coll_kind_text(c->kind), c->role);
        if (strcmp(name, coll->name) == 0) {
            return (uint32_t)i;
        }
    }
    return coll != NULL ? INQ_NONE : INQ_RECORD_P2P;
}

/* Transfers of the class per rank: a collective's as compared, those between stages as simulated.
 */
static double sum_of(const struct swapping *x, int which, const struct inq_compared_coll *coll)
{
    const struct swap_side *s = &x->side[which];
    double sum = 0.0;
    for (size_t i = 0; coll == NULL && i < s->n_groups; i++) {
        sum += s->groups[i].cls == INQ_RECORD_P2P ? s->groups[i].ns : 0.0;
    }
    return coll != NULL ? (double)coll->transfer_ns[which] : sum / (double)s->p->n_ranks;
}

/* A group that the other run does not have (none is known where it cannot be simulated) gets what
 * all of the class have in common. False: that is not known. */
static bool swap_transfers(const struct swapping *x, int which,
                           const struct inq_compared_coll *coll)
{
    const struct swap_side *s = &x->side[which];
    const struct swap_side *other = &x->side[1 - which];
    uint32_t cls = class_of(s, coll);
    double own_ns = sum_of(x, which, coll);
    double other_ns = x->c->work * sum_of(x, 1 - which, coll);
    bool known = own_ns > 0.0 && (coll != NULL || other->fine);
    for (size_t i = 0; known && i < s->n_groups; i++) {
        struct swap_group *group = &s->groups[i];
        uint32_t same = 0;
        if (group->cls != cls) {
            continue;
        }
        bool there = group->ns > 0.0 && inq_map_get(&other->by_whose, group->whose, &same);
        group->left = there ? x->c->work * other->groups[same].ns / group->ns : other_ns / own_ns;
    }
    return known;
}

/* Whether the analysis of the run could not simulate these hosts either: what made them late, or
 * kept those that waited for them, is not among the recorded calls. */
static bool is_unseen(const struct swapping *x, int which, const struct inq_compared_cause *cause)
{
    const struct inq_report *report = x->reports[which];
    const struct inq_attribution *known = report->attribution;
    for (size_t i = 0; known != NULL && i < known->n_candidates; i++) {
        const struct inq_candidate *host = &known->candidates[i];
        bool unseen = host->kind == INQ_FINDING_LATE_HOST && host->in_order_ns < 0 &&
                      host->n_ranks == cause->n_ranks;
        for (size_t r = 0; unseen && r < host->n_ranks; r++) {
            unseen = is_of(cause, report->trace->ranks[host->ranks[r]].rank);
        }
        if (unseen) {
            return true;
        }
    }
    return false;
}

/* Puts the other run's part in the place of a cause. *fine is false for what is not swapped:
 * consequences, and idle time of which the record does not say why. */
static int swap_cause(struct swapping *x, size_t i, bool *fine, struct inq_err *err)
{
    const struct inq_compared_cause *cause = &x->c->causes[i];
    int which = cause->ns > 0 ? 1 : 0;
    struct swap_side *s = &x->side[which];
    /* the base's part of runs of other sizes has no counterpart that does the same work */
    bool known = which == 1 || (x->c->scaling == INQ_SCALING_SAME && x->c->work == 1.0);
    bool own = cause->loss == INQ_LOSS_COMPUTE || cause->loss == INQ_LOSS_HOST ||
               cause->loss == INQ_LOSS_COPY;
    bool unseen = cause->loss == INQ_LOSS_HOST && is_unseen(x, which, cause);
    bool transfers = cause->loss == INQ_LOSS_P2P || cause->coll != NULL;
    *fine = false;
    int code = known ? ask_side(x, which, err) : INQ_OK;
    code = known && transfers && code == INQ_OK ? ask_side(x, 1 - which, err) : code;
    if (code != INQ_OK || !known || !s->fine || unseen) {
        return code;
    }
    if (x->swaps[i].varies && cause->loss == INQ_LOSS_COMPUTE) {
        code = swap_kernels(x, s, &x->side[1 - which], err);
        *fine = true;
    } else if (own) {
        for (size_t r = 0; r < s->p->n_ranks; r++) {
            if (is_of(cause, s->p->ranks[r].rank) && s->p->ranks[r].steps > 0) {
                swap_rank(x, s, r, cause->loss, &x->swaps[i]);
            }
        }
        *fine = true;
    } else if (transfers) {
        *fine = swap_transfers(x, which, cause->coll);
    }
    return code;
}

/* ---- all causes -------------------------------------------------------------------------------*/

static void forget_both(struct swapping *x)
{
    for (int side = 0; side < 2; side++) {
        if (x->side[side].fine) {
            forget(&x->side[side]);
        }
    }
}

/* What the first n causes of the order and cause `i` explain together in the run that `i` costs in.
 */
static int explained_by(struct swapping *x, size_t n, size_t i, int64_t *ns, bool *fine,
                        struct inq_err *err)
{
    int which = x->c->causes[i].ns > 0 ? 1 : 0;
    int code = INQ_OK;
    forget_both(x);
    for (size_t k = 0; code == INQ_OK && k < n; k++) {
        code = swap_cause(x, x->order[k], fine, err);
    }
    code = code == INQ_OK ? swap_cause(x, i, fine, err) : code;
    code = code == INQ_OK && *fine ? simulate(&x->side[which], ns, err) : code;
    *ns = which == 1 ? *ns : -*ns;
    return code;
}

static int find_alone(struct swapping *x, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < x->c->n_causes; i++) {
        code = explained_by(x, 0, i, &x->alone_ns[i], &x->c->causes[i].simulated, err);
    }
    return code;
}

/* By their own times: what the accounts say before anything is simulated. */
static int by_own_time(const void *a, const void *b, void *ctx)
{
    const struct swapping *x = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t k = *(const uint32_t *)b;
    int64_t sign = x->c->loss_total_ns < 0 ? -1 : 1;
    int64_t m = sign * x->c->causes[i].ns;
    int64_t n = sign * x->c->causes[k].ns;
    return m != n ? (m < n) - (m > n) : (i > k) - (i < k);
}

static void move_up(uint32_t *order, size_t from, size_t to)
{
    uint32_t moved = order[from];
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

/* Chooses the cause at place `at` of the order, of those that are not chosen yet: that which
 * explains most after the ones before. */
static int choose(struct swapping *x, size_t at, int64_t so_far_ns[2], struct inq_err *err)
{
    struct inq_comparison *c = x->c;
    double sign = c->loss_total_ns < 0 ? -1.0 : 1.0;
    double least = ALIKE * fabs((double)c->loss_total_ns);
    double most = 0.0;
    int64_t best_ns = 0;
    size_t best = at;
    int code = INQ_OK;
    for (size_t k = at; code == INQ_OK && k < c->n_causes; k++) {
        struct inq_compared_cause *cause = &c->causes[x->order[k]];
        int which = cause->ns > 0 ? 1 : 0;
        int64_t ns = so_far_ns[which] + cause->ns;
        if (cause->simulated) {
            code = explained_by(x, at, x->order[k], &ns, &cause->simulated, err);
            cause->in_order_ns = ns - so_far_ns[which];
        }
        double more = sign * (double)(ns - so_far_ns[which]);
        if (k == at || more > most + least) {
            most = more;
            best = k;
            best_ns = ns;
        }
    }
    struct inq_compared_cause *chosen = &c->causes[x->order[best]];
    if (code == INQ_OK && chosen->simulated) {
        so_far_ns[chosen->ns > 0] = best_ns;
    }
    move_up(x->order, best, at);
    return code;
}

/* Puts the causes into their order. */
static int reorder(struct swapping *x, struct inq_err *err)
{
    size_t n = x->c->n_causes;
    struct inq_compared_cause *causes = inq_mem_alloc((n + 1) * sizeof *causes);
    if (causes == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < n; k++) {
        causes[k] = x->c->causes[x->order[k]];
        causes[k].ns = causes[k].simulated ? x->alone_ns[x->order[k]] : causes[k].ns;
    }
    memcpy(x->c->causes, causes, n * sizeof *causes);
    inq_mem_free(causes);
    return INQ_OK;
}

static size_t count_values(const struct inq_run_record *p)
{
    return p->n_ranks * p->n_account_steps + 1;
}

int inq_compare_swap(struct inq_comparison *c, const struct inq_run_record *p,
                     struct inq_report *const reports[2], const struct inq_cause_swap *swaps,
                     struct inq_err *err)
{
    size_t n =
        count_values(&p[0]) > count_values(&p[1]) ? count_values(&p[0]) : count_values(&p[1]);
    struct swapping x = {.c = c,
                         .reports = reports,
                         .swaps = swaps,
                         .side = {{.p = &p[0], .other = &p[1]}, {.p = &p[1], .other = &p[0]}},
                         .values = inq_mem_alloc(n * sizeof *x.values),
                         .others = inq_mem_alloc(n * sizeof *x.others),
                         .order = inq_mem_alloc((c->n_causes + 1) * sizeof *x.order),
                         .alone_ns = inq_mem_zalloc(c->n_causes + 1, sizeof *x.alone_ns)};
    int64_t so_far_ns[2] = {0, 0};
    int code = x.values != NULL && x.others != NULL && x.order != NULL && x.alone_ns != NULL
                   ? INQ_OK
                   : no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < c->n_causes; i++) {
        x.order[i] = (uint32_t)i;
    }
    code = code == INQ_OK ? inq_sort(x.order, c->n_causes, sizeof *x.order, by_own_time, &x, err)
                          : code;
    code = code == INQ_OK ? find_alone(&x, err) : code;
    for (size_t k = 0; code == INQ_OK && k < c->n_causes && k < CHOSEN; k++) {
        code = choose(&x, k, so_far_ns, err);
    }
    code = code == INQ_OK ? reorder(&x, err) : code;
    release_side(&x.side[0]);
    release_side(&x.side[1]);
    inq_mem_free(x.values);
    inq_mem_free(x.others);
    inq_mem_free(x.order);
    inq_mem_free(x.alone_ns);
    return code;
}
