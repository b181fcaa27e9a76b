/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/straggler/gains.h"

#include "analysis/measure/measure.h"
#include "analysis/straggler/straggler.h"
#include "base/mem.h"
#include "inquest/out.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Candidates of one kind whose costs one by one make up less than this part of what they cost
 * together hide each other: they are one cause. */
#define ALIKE_PART 0.6
/* Ranks that a spec names. */
enum { MOST_RANKS = 1024 };
/* Host calls must show this part of what the GPU was left idle for, else they are not its reason.
 */
#define SHOWN_PART 0.5
/* The simulated gain is less than this part of what the peers wait for the candidate: a second
 * cause explains a third of it, not more than half. */
#define HELD_PART 0.5
/* One cause hides another where repairing it leaves the other at least this part of what repairing
 * all before it does: the rest is shared with more. */
#define HIDDEN_PART 0.5
/* Evening out work between ranks makes a slow GPU's shorter, too, where not all of its kernels are
 * slow. So it comes before a cause of single ranks only where that makes up less than this part of
 * what evening gains: then most of it is not that cause. */
#define EVEN_PART 0.5
/* Repairs that gain all but this part of what they gain with one more do without it: as much is
 * the noise of a gain over few steps. */
#define APART_PART 0.1
/* Each pair is a simulation; those that cost most come first. */
enum { MOST_HIDERS = 16 };

struct gains {
    struct inq_study *study;
    struct inq_arena *arena;
    struct inq_candidate *at;
    size_t n;
    struct inq_repair *repairs; /* [n] scratch */
    int64_t *scratch_ns;        /* [n_ranks] */
    double *ratios;             /* [n] scratch */
    bool *apart;                /* [n] not to be joined with those looked at */
};

/* The repair of a candidate; false: there is none in a recorded run. */
static bool repair_of(const struct inq_candidate *candidate, struct inq_repair *repair)
{
    *repair = (struct inq_repair){
        .kind = INQ_REPAIR_GPU, .n_ranks = candidate->n_ranks, .ranks = candidate->ranks};
    switch ((int)candidate->kind) {
    case INQ_FINDING_SLOW_GPU:
    case INQ_FINDING_MORE_WORK:
    case INQ_FINDING_EXPOSED_COPY:
        return candidate->n_ranks > 0;
    case INQ_FINDING_LATE_HOST:
    case INQ_FINDING_UNPLANNED_GC:
        repair->kind = INQ_REPAIR_HOST;
        return candidate->n_ranks > 0;
    case INQ_FINDING_SLOW_LINK:
        repair->kind = INQ_REPAIR_LINK;
        return candidate->n_ranks > 0;
    case INQ_FINDING_SEQUENCE_IMBALANCE:
        repair->kind = INQ_REPAIR_SEQUENCES;
        repair->n_ranks = 0;
        return true;
    case INQ_FINDING_STAGE_IMBALANCE:
    case INQ_FINDING_SLOW_LAST_STAGE:
        repair->kind = INQ_REPAIR_STAGES;
        repair->n_ranks = 0;
        return true;
    default:
        return false;
    }
}

/* ---- specs ----------------------------------------------------------------------------------- */

static const char *fix_name(enum inq_finding_kind kind)
{
    switch ((int)kind) {
    case INQ_FINDING_LATE_HOST:
    case INQ_FINDING_UNPLANNED_GC:
        return "repair-host";
    case INQ_FINDING_SLOW_LINK:
        return "repair-link";
    case INQ_FINDING_MORE_WORK:
        return "match-work";
    case INQ_FINDING_SEQUENCE_IMBALANCE:
        return "balance-sequences";
    case INQ_FINDING_STAGE_IMBALANCE:
    case INQ_FINDING_SLOW_LAST_STAGE:
        return "rebalance-stages";
    default:
        return "replace-rank";
    }
}

/* ":0-7,9"; false when a rank's number is not known. */
static bool word_ranks(const struct inq_trace *trace, const struct inq_repair *repair,
                       struct inq_out *out)
{
    for (size_t i = 0; i < repair->n_ranks; i++) {
        int32_t first = trace->ranks[repair->ranks[i]].rank;
        int32_t last = first;
        while (i + 1 < repair->n_ranks && trace->ranks[repair->ranks[i + 1]].rank == last + 1) {
            last++;
            i++;
        }
        if (first < 0) {
            return false;
        }
        inq_out_printf(out, "%c%d", out->len > 0 && strchr(out->buf, ':') ? ',' : ':', first);
        if (last > first) {
            inq_out_printf(out, "%c%d", last > first + 1 ? '-' : ',', last);
        }
    }
    return true;
}

/* "replace-rank:2,5"; "" when a rank's number is not known. */
static int word_fix(struct gains *g, struct inq_candidate *candidate, struct inq_err *err)
{
    struct inq_out out = {0};
    struct inq_repair repair;
    bool known = repair_of(candidate, &repair) && repair.n_ranks <= MOST_RANKS;

    inq_out_text(&out, fix_name(candidate->kind));
    known = known && word_ranks(g->study->trace, &repair, &out);
    candidate->fix = known && out.code == INQ_OK
                         ? inq_arena_asprintf(g->arena, "%.*s", (int)out.len, out.buf)
                         : "";
    int code = out.code == INQ_OK && candidate->fix != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for a fix");
    inq_out_release(&out);
    return code;
}

/* ---- alone ----------------------------------------------------------------------------------- */

/* Whether the repair took away what the cause was seen by: a host's delays that its calls do not
 * show are not cut with them. Where hosts launch no faster than GPUs compute, its peers wait for it
 * in communication while their own hosts launch, so that their GPUs idle less than these take:
 * there its calls show all that its own GPU idles, and little of it is too much. */
static bool is_shown(const struct gains *g, const struct inq_candidate *candidate,
                     const struct inq_gain *gain)
{
    double n = (double)(candidate->n_ranks * g->study->run.n_steps);
    double late_ns = (double)(candidate->own_ns - candidate->peers_ns) * n;
    return (candidate->kind != INQ_FINDING_LATE_HOST &&
            candidate->kind != INQ_FINDING_UNPLANNED_GC) ||
           (double)gain->removed_ns >= SHOWN_PART * late_ns ||
           (candidate->spread && gain->removed_ns > 0 &&
            (double)gain->host_ns >= (double)candidate->own_ns * n);
}

/* Whether what is not recorded keeps the simulated step long. When ranks that left no trace arrive
 * is not known, so that every collective with one of them takes as long as recorded whatever is
 * repaired; where only communication is recorded, what orders one group's after another's is not
 * known, so that each begins as late as it did. A host may wait for its copies without a call that
 * says so. What the peers wait for the candidate tells more, as an upper bound. */
static bool is_held(const struct gains *g, const struct inq_candidate *candidate,
                    const struct inq_gain *gain)
{
    const struct inq_trace *trace = g->study->trace;
    bool link = candidate->kind == INQ_FINDING_SLOW_LINK && candidate->comm_only;
    bool copy = candidate->kind == INQ_FINDING_EXPOSED_COPY;
    return (link || copy || trace->n_missing + trace->n_unread > 0) &&
           (double)gain->gain_ns < HELD_PART * (double)candidate->cost_ns_per_step;
}

/* Of the steps that get shorter, those in which it is late as said: a pause now and then stands
 * beside small delays in others. */
static uint64_t seen_of(const struct inq_candidate *candidate, uint64_t steps)
{
    return candidate->late_steps > 0 && steps > candidate->late_steps ? candidate->late_steps
                                                                      : steps;
}

/* The most that one of its ranks computes, or is idle, in a step. */
static int64_t most_in_step(const struct gains *g, const struct inq_candidate *candidate)
{
    const struct inq_step_stats *cells = &g->study->cells;
    bool host = candidate->kind == INQ_FINDING_LATE_HOST;
    int64_t most_ns = 0;

    for (size_t k = 0; k < candidate->n_ranks; k++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(cells, candidate->ranks[k], s);
            int64_t ns = !cell->valid ? 0
                         : host       ? inq_step_stat_idle_ns(cells, cell)
                                      : cell->compute_ns;
            most_ns = ns > most_ns ? ns : most_ns;
        }
    }
    return most_ns;
}

/* What the peers of a rank, of which none is repaired, compute in a step; -1: there are none. */
static int64_t usual_compute(const struct gains *g, uint32_t rank, size_t step)
{
    const struct inq_study *study = g->study;
    size_t n = 0;

    for (size_t r = 0; r < study->trace->n_ranks; r++) {
        const struct inq_step_stat *cell = inq_study_step_stat(study, r, step);
        if (study->roles.of[r] == study->roles.of[rank] && !study->chosen[r] && cell->valid) {
            g->scratch_ns[n++] = cell->compute_ns;
        }
    }
    return n > 0 ? inq_lower_median_i64(g->scratch_ns, n) : -1;
}

/* How many times as long as its peers the ranks [from, to) of the candidate compute in the steps
 * that gain by the repair just studied, which is its own; NaN: they have no peers. */
static double ratio_in_seen(const struct gains *g, const struct inq_candidate *candidate,
                            size_t from, size_t to)
{
    const struct inq_study *study = g->study;
    size_t n_steps = study->run.n_steps;
    double least_ns = inq_gain_least_seen(study->step_ns, n_steps, study->simulated_ns);
    double own_ns = 0.0;
    double peers_ns = 0.0;

    for (size_t k = from; k < to; k++) {
        for (size_t s = 0; s < n_steps; s++) {
            const struct inq_step_stat *cell = inq_study_step_stat(study, candidate->ranks[k], s);
            bool seen = cell->valid && (double)study->step_ns[s] >= least_ns;
            int64_t usual_ns = seen ? usual_compute(g, candidate->ranks[k], s) : -1;
            own_ns += usual_ns >= 0 ? (double)cell->compute_ns : 0.0;
            peers_ns += usual_ns >= 0 ? (double)usual_ns : 0.0;
        }
    }
    return peers_ns > 0.0 ? own_ns / peers_ns : (double)NAN;
}

/* The same of each rank of several: a rank that another one hid was measured in other steps. */
static void set_ratios_in_seen(const struct gains *g, struct inq_candidate *candidate, double ratio)
{
    bool several = candidate->least_ratio > 0.0;

    candidate->ratio = ratio;
    candidate->least_ratio = several ? (double)INFINITY : 0.0;
    candidate->most_ratio = 0.0;
    for (size_t k = 0; several && k < candidate->n_ranks; k++) {
        double own = ratio_in_seen(g, candidate, k, k + 1); /* fmin and fmax pass NaN over */
        candidate->least_ratio = fmin(candidate->least_ratio, own);
        candidate->most_ratio = fmax(candidate->most_ratio, own);
    }
}

/* What was spread over the steps in which a candidate was late, in fewer; but no more than any of
 * its steps shows, as a steady one costs in few where others hide it. */
static void gather(const struct gains *g, struct inq_candidate *candidate, double factor)
{
    double peers_ns = (double)candidate->peers_ns;
    double most_ns = (double)most_in_step(g, candidate);
    double late_ns = (double)candidate->late_ns;
    double ratio = fmin(1.0 + (candidate->ratio - 1.0) * factor, most_ns / peers_ns);

    candidate->late_ns =
        (int64_t)llround(fmax(late_ns, fmin(late_ns * factor, most_ns - peers_ns)));
    if (!isnan(candidate->ratio)) {
        candidate->ratio = fmax(candidate->ratio, ratio);
    }
}

/* How late a candidate is in the steps in which it costs, where these are not all: a GPU, as its
 * peers tell. */
static void see_in(const struct gains *g, struct inq_candidate *candidate, uint64_t seen)
{
    bool some = seen > 0 && seen < g->study->run.n_steps;
    bool fewer = seen < candidate->steps_seen && candidate->steps_seen < candidate->steps;
    double measured = some && candidate->kind == INQ_FINDING_SLOW_GPU
                          ? ratio_in_seen(g, candidate, 0, candidate->n_ranks)
                          : (double)NAN;

    if (!isnan(measured)) {
        set_ratios_in_seen(g, candidate, measured);
    } else if (some && fewer && candidate->peers_ns > 0) {
        gather(g, candidate, (double)candidate->steps_seen / (double)seen);
    }
    candidate->steps_seen = seen;
}

static int gain_alone(struct gains *g, struct inq_candidate *candidate, struct inq_err *err)
{
    struct inq_repair repair;
    struct inq_gain gain = {0};
    int code = INQ_OK;

    candidate->in_order_ns = -1;
    candidate->low_ns = candidate->high_ns = INQ_TIME_NONE;
    if (!repair_of(candidate, &repair)) {
        return INQ_OK;
    }
    code = inq_study_gain(g->study, &repair, 1, &gain, err);
    if (code == INQ_OK && gain.applies && is_shown(g, candidate, &gain) &&
        !is_held(g, candidate, &gain)) {
        candidate->cost_ns_per_step = gain.gain_ns > 0 ? gain.gain_ns : 0;
        candidate->low_ns = gain.low_ns;
        candidate->high_ns = gain.high_ns;
        see_in(g, candidate, seen_of(candidate, gain.steps_seen));
        candidate->steps = g->study->run.n_steps;
        candidate->in_order_ns = 0;
        candidate->step_ns = g->study->recorded_ns;
        if (gain.spread && candidate->confidence > INQ_CONFIDENCE_SUPPORTED) {
            candidate->confidence = INQ_CONFIDENCE_SUPPORTED;
        }
    }
    return code;
}

/* ---- alike ----------------------------------------------------------------------------------- */

static double least_of(const struct inq_candidate *candidate)
{
    return candidate->least_ratio > 0.0 ? candidate->least_ratio : candidate->ratio;
}

static double most_of(const struct inq_candidate *candidate)
{
    return candidate->most_ratio > 0.0 ? candidate->most_ratio : candidate->ratio;
}

/* Adds the ranks, evidence and counts of `from`; both lists of ranks ascend. */
static int join(struct gains *g, struct inq_candidate *into, const struct inq_candidate *from,
                struct inq_err *err)
{
    size_t room = into->n_ranks + from->n_ranks;
    uint32_t *ranks = inq_arena_array(g->arena, room, sizeof(*ranks));
    size_t n_evidence = into->n_evidence + from->n_evidence;
    struct inq_evidence *evidence = inq_arena_array(g->arena, n_evidence, sizeof(*evidence));
    size_t n = 0;
    size_t i = 0;

    if (!ranks || !evidence) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", room);
    }
    for (size_t j = 0; j < from->n_ranks || i < into->n_ranks;) {
        bool first = j == from->n_ranks || (i < into->n_ranks && into->ranks[i] < from->ranks[j]);
        ranks[n++] = first ? into->ranks[i++] : from->ranks[j++];
    }
    memcpy(evidence, into->evidence, into->n_evidence * sizeof(*evidence));
    memcpy(evidence + into->n_evidence, from->evidence, from->n_evidence * sizeof(*evidence));
    double weight = (double)from->n_ranks / (double)room; /* means over the ranks */
    into->own_ns += (int64_t)((double)(from->own_ns - into->own_ns) * weight);
    into->peers_ns += (int64_t)((double)(from->peers_ns - into->peers_ns) * weight);
    into->late_ns += (int64_t)((double)(from->late_ns - into->late_ns) * weight);
    into->least_ratio = fmin(least_of(into), least_of(from));
    into->most_ratio = fmax(most_of(into), most_of(from));
    into->ratio += (from->ratio - into->ratio) * weight;
    into->memory_ratio = fmin(into->memory_ratio, from->memory_ratio); /* 0: not of all */
    into->evidence = evidence;
    into->n_evidence = n_evidence;
    into->ranks = ranks;
    into->n_ranks = n;
    int64_t most_ns = from->cost_ns_per_step > into->cost_ns_per_step ? from->cost_ns_per_step
                                                                      : into->cost_ns_per_step;
    into->cost_ns_per_step += from->cost_ns_per_step; /* but no step is lost twice */
    into->cost_ns_per_step =
        into->cost_ns_per_step < into->step_ns ? into->cost_ns_per_step : most_ns;
    into->steps_seen = from->steps_seen > into->steps_seen ? from->steps_seen : into->steps_seen;
    into->late_steps = from->late_steps > into->late_steps ? from->late_steps : into->late_steps;
    into->confidence = from->confidence < into->confidence ? from->confidence : into->confidence;
    return INQ_OK;
}

/* Whether two candidates are parts of one cause. */
typedef bool belongs(const struct gains *g, const struct inq_candidate *a,
                     const struct inq_candidate *b);

/* Joins all later candidates that `belong` with candidate i, and are not apart, into it. */
static int join_all(struct gains *g, size_t i, belongs *belong, struct inq_err *err)
{
    size_t kept = i + 1;
    int code = INQ_OK;

    for (size_t k = i + 1; k < g->n; k++) {
        if (code == INQ_OK && !g->apart[k] && belong(g, &g->at[i], &g->at[k])) {
            code = join(g, &g->at[i], &g->at[k], err);
        } else {
            g->at[kept++] = g->at[k];
        }
    }
    if (kept < g->n) {
        inq_arrivals_of(g->study->trace, g->at[i].ranks, g->at[i].n_ranks, &g->at[i].last_arrivals,
                        &g->at[i].waits);
    }
    g->n = kept;
    return code;
}

static bool is_rank_fault(const struct inq_candidate *candidate)
{
    return candidate->kind == INQ_FINDING_SLOW_GPU || candidate->kind == INQ_FINDING_MORE_WORK ||
           (candidate->kind == INQ_FINDING_LATE_HOST && !candidate->rotates) ||
           candidate->kind == INQ_FINDING_EXPOSED_COPY;
}

static bool is_same_kind(const struct gains *g, const struct inq_candidate *a,
                         const struct inq_candidate *b)
{
    (void)g;
    return a->kind == b->kind && a->rotates == b->rotates;
}

static inq_str host_of(const struct gains *g, const struct inq_candidate *candidate)
{
    return g->study->trace->ranks[candidate->ranks[0]].host;
}

/* Whether b, with all its ranks, is on the host of a's first one. */
static bool is_on_host(const struct gains *g, const struct inq_candidate *a,
                       const struct inq_candidate *b)
{
    bool all = a->kind == b->kind;
    for (size_t k = 0; all && k < b->n_ranks; k++) {
        all = g->study->trace->ranks[b->ranks[k]].host == host_of(g, a);
    }
    return all;
}

/* Whether every rank of the host of candidate i is a candidate of its kind, and there are others:
 * what they have in common is the host. */
static bool is_whole_host(const struct gains *g, size_t i)
{
    inq_str host = host_of(g, &g->at[i]);
    size_t all = 0;
    size_t found = 0;

    for (size_t r = 0; r < g->study->trace->n_ranks; r++) {
        all += g->study->trace->ranks[r].host == host;
    }
    for (size_t k = 0; k < g->n; k++) {
        found +=
            is_rank_fault(&g->at[k]) && is_on_host(g, &g->at[i], &g->at[k]) ? g->at[k].n_ranks : 0;
    }
    return host != 0 && all > 1 && found == all && all < g->study->trace->n_ranks;
}

/* What the repairs gain as one, not one after the other: none of their ranks is a peer of the
 * others. */
static int gain_of_all(struct gains *g, size_t n, int64_t *gain_ns, struct inq_err *err)
{
    struct inq_gain gain = {0};
    size_t room = 0;

    for (size_t k = 0; k < n; k++) {
        room += g->repairs[k].n_ranks;
    }
    uint32_t *ranks = inq_mem_alloc((room + 1) * sizeof(*ranks));
    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", room);
    }
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        memcpy(ranks + at, g->repairs[k].ranks, g->repairs[k].n_ranks * sizeof(*ranks));
        at += g->repairs[k].n_ranks;
    }
    struct inq_repair joint = {.kind = g->repairs[0].kind, .n_ranks = room, .ranks = ranks};
    int code = inq_study_gain(g->study, &joint, 1, &gain, err);
    *gain_ns = gain.gain_ns;
    inq_mem_free(ranks);
    return code;
}

/* Candidates of i's kind together: *joint_ns; the sum of their own costs: *sum_ns. */
static int compare_joint(struct gains *g, size_t i, int64_t *joint_ns, int64_t *sum_ns,
                         struct inq_err *err)
{
    size_t n = 0;

    *sum_ns = 0;
    for (size_t k = i; k < g->n; k++) {
        if (g->at[k].kind == g->at[i].kind && repair_of(&g->at[k], &g->repairs[n])) {
            *sum_ns += g->at[k].cost_ns_per_step;
            n++;
        }
    }
    *joint_ns = *sum_ns;
    return n < 2 ? INQ_OK : gain_of_all(g, n, joint_ns, err);
}

/* Whether candidate k is i, or belongs with it. */
static bool is_part(const struct gains *g, size_t i, belongs *belong, size_t k)
{
    return k == i || belong(g, &g->at[i], &g->at[k]);
}

/* The same for those from i on that belong with it, without candidate `but`. */
static int gain_without(struct gains *g, size_t i, belongs *belong, size_t but, int64_t *gain_ns,
                        struct inq_err *err)
{
    size_t n = 0;

    *gain_ns = 0;
    for (size_t k = i; k < g->n; k++) {
        bool one = k != but && is_part(g, i, belong, k);
        n += one && repair_of(&g->at[k], &g->repairs[n]);
    }
    return n > 0 ? gain_of_all(g, n, gain_ns, err) : INQ_OK;
}

/* Marks in g->apart the slow GPUs among those that belong with candidate i that are no part of what
 * they have in common: less than half as slow as the slowest, and without their repair that of the
 * others gains as much. Chips of one kind differ by some percent. `all_ns`: what the repair of all
 * gains, if that is what was studied last; else -1. */
static int find_apart(struct gains *g, size_t i, belongs *belong, int64_t all_ns,
                      struct inq_err *err)
{
    double most = 0.0;
    int code = INQ_OK;

    memset(g->apart, 0, g->n * sizeof(*g->apart));
    if (g->study->run.n_steps == 0 || g->at[i].kind != INQ_FINDING_SLOW_GPU) {
        return INQ_OK;
    }
    if (all_ns < 0) {
        code = gain_without(g, i, belong, g->n, &all_ns, err);
    }
    for (size_t k = i; code == INQ_OK && k < g->n; k++) {
        double ratio =
            is_part(g, i, belong, k) ? ratio_in_seen(g, &g->at[k], 0, g->at[k].n_ranks) : 1.0;
        g->ratios[k] = isnan(ratio) ? g->at[k].ratio : ratio;
        most = fmax(most, g->ratios[k]);
    }
    for (size_t k = i; code == INQ_OK && k < g->n; k++) {
        int64_t rest_ns = all_ns;
        bool one = is_part(g, i, belong, k);
        if (one && g->ratios[k] - 1.0 < INQ_AS_SLOW_PART * (most - 1.0)) {
            code = gain_without(g, i, belong, k, &rest_ns, err);
            double lost_ns = (double)(all_ns - rest_ns);
            g->apart[k] = lost_ns < APART_PART * (double)all_ns &&
                          lost_ns < INQ_GAIN_SEEN_SHARE * (double)g->study->simulated_ns;
        }
    }
    return code;
}

static bool is_any_apart(const struct gains *g)
{
    bool any = false;
    for (size_t k = 0; k < g->n; k++) {
        any = any || g->apart[k];
    }
    return any;
}

static int join_hosts(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        if (!is_rank_fault(&g->at[i]) || !is_whole_host(g, i)) {
            continue;
        }
        code = find_apart(g, i, is_on_host, -1, err);
        if (code == INQ_OK && !is_any_apart(g)) {
            code = join_all(g, i, is_on_host, err);
            g->at[i].host = inq_trace_str(g->study->trace, host_of(g, &g->at[i]));
        }
    }
    return code;
}

static bool is_cheap(const struct inq_candidate *candidate)
{
    return (double)candidate->cost_ns_per_step <
           INQ_STRAGGLER_COST_SHARE * (double)candidate->step_ns;
}

static bool is_cheap_too(const struct gains *g, const struct inq_candidate *a,
                         const struct inq_candidate *b)
{
    (void)g;
    return a->kind == b->kind && is_cheap(b);
}

/* Where nothing can be simulated: several that are each too cheap to be told are one cause. */
static int join_cheap(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        if (is_rank_fault(&g->at[i]) && is_cheap(&g->at[i])) {
            code = join_all(g, i, is_cheap_too, err);
        }
    }
    return code;
}

/* Those that hide each other become one. */
static int join_alike(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        int64_t joint_ns = 0;
        int64_t sum_ns = 0;
        if (!is_rank_fault(&g->at[i])) {
            continue;
        }
        code = compare_joint(g, i, &joint_ns, &sum_ns, err);
        if (code != INQ_OK || (double)sum_ns >= ALIKE_PART * (double)joint_ns) {
            continue;
        }
        code = find_apart(g, i, is_same_kind, joint_ns, err);
        if (code == INQ_OK && !g->apart[i]) {
            code = join_all(g, i, is_same_kind, err);
            g->at[i].host = "";
            code = code == INQ_OK ? gain_alone(g, &g->at[i], err) : code;
        }
    }
    return code;
}

/* ---- one loss, two fixes ------------------------------------------------------------------- */

static bool moves_work(const struct inq_candidate *candidate)
{
    return candidate->kind == INQ_FINDING_STAGE_IMBALANCE ||
           candidate->kind == INQ_FINDING_SLOW_LAST_STAGE;
}

static bool has_same_ranks(const struct inq_candidate *a, const struct inq_candidate *b)
{
    return a->n_ranks == b->n_ranks &&
           memcmp(a->ranks, b->ranks, a->n_ranks * sizeof *a->ranks) == 0;
}

/* A stage whose kernels are larger than the others' has its work moved, where that gains enough to
 * be told, or cannot be simulated. Where each stage waits for the one before it, as with few
 * micro-batches, it gains nothing: there its larger kernels are told. */
static void leave_out_moved(struct gains *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->n; i++) {
        bool moved = false;
        for (size_t k = 0; k < g->n && g->at[i].kind == INQ_FINDING_MORE_WORK; k++) {
            moved = moved || (moves_work(&g->at[k]) && has_same_ranks(&g->at[k], &g->at[i]) &&
                              (g->at[k].in_order_ns < 0 || !is_cheap(&g->at[k])));
        }
        g->at[kept] = g->at[i];
        kept += !moved;
    }
    g->n = kept;
}

/* ---- receives beside other work -------------------------------------------------------------- */

/* Whether it is not known of a good part of the receives what they feed: in the simulation, work
 * that gets longer elsewhere does not make them late. */
static bool hides_receives(const struct inq_trace_graph *graph)
{
    enum { ONE_IN = 20 }; /* fewer shift a step's length by less than a gain is known */
    return graph->n_loose * ONE_IN > graph->n_receives;
}

/* ---- how sure ------------------------------------------------------------------------------- */

/* The one rule (man inquest-report(5)): established takes all ranks there, enough judged steps or a
 * fault in one named step, an interval above zero, and a simulated base close to the record; one of
 * these missing leaves supported, more a hypothesis. Candidates that were unsure for reasons of
 * their own (a rival cause that is not excluded) stay so. */
static void set_confidence(const struct gains *g, struct inq_candidate *candidate)
{
    const struct inq_study *study = g->study;
    bool named = candidate->steps_seen == 1 && study->run.n_steps > 1;
    bool enough = study->run.n_steps >= INQ_GAIN_LEAST_STEPS || named;
    bool above = candidate->low_ns == INQ_TIME_NONE || named || candidate->low_ns > 0;
    bool late = moves_work(candidate) && hides_receives(&study->run.g);
    int missing = (study->trace->n_missing > 0) + !enough + !above + late;
    enum inq_confidence most = missing == 0   ? INQ_CONFIDENCE_ESTABLISHED
                               : missing == 1 ? INQ_CONFIDENCE_SUPPORTED
                                              : INQ_CONFIDENCE_HYPOTHESIS;
    candidate->confidence = candidate->confidence < most ? candidate->confidence : most;
}

/* ---- in order -------------------------------------------------------------------------------- */

/* What a candidate is ordered by. */
static double weight_of(const struct inq_candidate *candidate)
{
    double part = candidate->kind == INQ_FINDING_SEQUENCE_IMBALANCE ? EVEN_PART : 1.0;
    return part * (double)candidate->cost_ns_per_step;
}

static int costliest_first(const void *a, const void *b, void *ctx)
{
    const struct inq_candidate *x = a;
    const struct inq_candidate *y = b;
    double x_ns = weight_of(x);
    double y_ns = weight_of(y);

    (void)ctx;
    if (x_ns < y_ns || x_ns > y_ns) {
        return x_ns > y_ns ? -1 : 1;
    }
    if (x->n_ranks == 0 || y->n_ranks == 0) {
        return (x->n_ranks == 0) - (y->n_ranks == 0);
    }
    return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

/* Steps in which more is seen to be gained than before; `gains_ns` becomes what they gain now. */
static size_t count_later(const struct inq_study *study, int64_t *gains_ns)
{
    size_t n = study->run.n_steps;

    for (size_t s = 0; s < n; s++) {
        gains_ns[s] = study->step_ns[s] - gains_ns[s];
    }
    size_t seen = inq_gain_steps_seen(gains_ns, n, study->simulated_ns);
    memcpy(gains_ns, study->step_ns, n * sizeof *gains_ns);
    return seen;
}

/* What is gained when the candidates are repaired one after the other, costliest first. One that
 * hides behind others shows in more steps then. */
static int gain_in_order(struct gains *g, struct inq_err *err)
{
    int64_t *gains_ns = inq_mem_zalloc(g->study->run.n_steps + 1, sizeof *gains_ns);
    int64_t before_ns = 0;
    size_t n = 0;
    int code = gains_ns != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for steps");

    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        struct inq_gain gain;
        if (g->at[i].in_order_ns < 0 || !repair_of(&g->at[i], &g->repairs[n])) {
            continue;
        }
        n++;
        code = inq_study_gain(g->study, g->repairs, n, &gain, err);
        if (code == INQ_OK && gain.applies) {
            uint64_t seen = seen_of(&g->at[i], count_later(g->study, gains_ns));
            g->at[i].steps_seen = seen > g->at[i].steps_seen ? seen : g->at[i].steps_seen;
            g->at[i].in_order_ns = gain.gain_ns - before_ns;
            before_ns = gain.gain_ns;
        }
    }
    inq_mem_free(gains_ns);
    return code;
}

static int put_in_order(struct gains *g, struct inq_err *err)
{
    int code = inq_sort(g->at, g->n, sizeof(*g->at), costliest_first, NULL, err);
    return code == INQ_OK && g->study->run.n_steps > 0 ? gain_in_order(g, err) : code;
}

/* ---- hidden ---------------------------------------------------------------------------------- */

/* Two causes that delay a step side by side: neither gains alone, both together do. */

static bool is_small(const struct gains *g, int64_t ns)
{
    return (double)ns < INQ_GAIN_SEEN_SHARE * (double)g->study->simulated_ns;
}

/* Whether it gains only after the causes before it. */
static bool is_late_gain(const struct gains *g, const struct inq_candidate *candidate)
{
    return !is_small(g, candidate->in_order_ns) && is_small(g, candidate->cost_ns_per_step);
}

/* The first of those before candidate i that, with it, gains at least HIDDEN_PART of what all of
 * them leave to it; i: none does so alone. */
static int find_hider(struct gains *g, size_t i, size_t *hider, int64_t *joint_ns,
                      struct inq_err *err)
{
    bool known = repair_of(&g->at[i], &g->repairs[1]);
    int code = INQ_OK;

    *hider = i;
    for (size_t k = 0; known && code == INQ_OK && k < i && k < MOST_HIDERS; k++) {
        struct inq_gain gain;
        if (g->at[k].in_order_ns < 0 || !repair_of(&g->at[k], &g->repairs[0])) {
            continue;
        }
        code = inq_study_gain(g->study, g->repairs, 2, &gain, err);
        if (code == INQ_OK && gain.applies &&
            (double)(gain.gain_ns - g->at[k].cost_ns_per_step) >=
                HIDDEN_PART * (double)g->at[i].in_order_ns) {
            *hider = k;
            *joint_ns = gain.gain_ns;
            break;
        }
    }
    return code;
}

/* For each cause that gains only after others: after which. */
static int find_hidden(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 1; code == INQ_OK && i < g->n; i++) {
        struct inq_candidate *hidden = &g->at[i];
        size_t hider = i;
        int64_t joint_ns = 0;
        if (!is_late_gain(g, hidden)) {
            continue;
        }
        code = find_hider(g, i, &hider, &joint_ns, err);
        hidden->hidden = true;
        if (code != INQ_OK || hider == i) {
            continue;
        }
        struct inq_candidate *pair = inq_arena_array(g->arena, 2, sizeof *pair);
        const char *fix = inq_arena_asprintf(g->arena, "%s+%s", g->at[hider].fix, hidden->fix);
        if (!pair || !fix) {
            return inq_err_set(err, INQ_NOMEM, "no memory for causes");
        }
        pair[0] = g->at[hider];
        pair[1] = *hidden;
        hidden->hidden_by = &pair[0];
        if (is_small(g, pair[0].cost_ns_per_step) && !pair[0].hides) {
            g->at[hider].hides = &pair[1];
            g->at[hider].joint_ns = joint_ns;
            g->at[hider].joint_fix = pair[0].fix[0] && pair[1].fix[0] ? fix : "";
        }
    }
    return code;
}

/* Whether candidate i gains only with others of its kind before it: repaired after those of other
 * kinds alone, less than HIDDEN_PART of what it gains after all. */
static int needs_its_kind(struct gains *g, size_t i, bool *needs, struct inq_err *err)
{
    struct inq_gain others = {0};
    struct inq_gain with = {0};
    size_t n = 0;
    int code = INQ_OK;

    for (size_t k = 0; k < i; k++) {
        n += !is_same_kind(g, &g->at[k], &g->at[i]) && g->at[k].in_order_ns >= 0 &&
             repair_of(&g->at[k], &g->repairs[n]);
    }
    if (n > 0) {
        code = inq_study_gain(g->study, g->repairs, n, &others, err);
    }
    *needs = code == INQ_OK && repair_of(&g->at[i], &g->repairs[n]);
    if (*needs) {
        code = inq_study_gain(g->study, g->repairs, n + 1, &with, err);
        *needs =
            (double)(with.gain_ns - others.gain_ns) < HIDDEN_PART * (double)g->at[i].in_order_ns;
    }
    return code;
}

/* Candidates of one kind that a cause of another kind hides, as well as each other: one by one
 * they gain nothing before the last of them, so that they are one cause. */
static int join_hidden(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 1; code == INQ_OK && i < g->n; i++) {
        size_t first = 0;
        bool needs = false;
        if (!is_rank_fault(&g->at[i]) || !is_late_gain(g, &g->at[i])) {
            continue;
        }
        while (first < i && !is_same_kind(g, &g->at[first], &g->at[i])) {
            first++;
        }
        code = first < i ? needs_its_kind(g, i, &needs, err) : INQ_OK;
        if (code == INQ_OK && needs) {
            code = join_all(g, first, is_same_kind, err);
            g->at[first].host = "";
            code = code == INQ_OK ? gain_alone(g, &g->at[first], err) : code;
            code = code == INQ_OK ? put_in_order(g, err) : code;
            i = 0; /* the order is another */
        }
    }
    return code;
}

/* ---- as slow --------------------------------------------------------------------------------- */

/* Whether a candidate is worth telling by itself. */
static bool is_worth(const struct inq_candidate *s)
{
    int64_t cost_ns = s->in_order_ns >= 0 ? s->in_order_ns : s->cost_ns_per_step;
    return (double)cost_ns >= inq_straggler_min_share(SIZE_MAX, s->steps) * (double)s->step_ns;
}

/* Whether b is too cheap to be told beside a, which is, and its GPUs are as slow. */
static bool is_as_slow(const struct gains *g, const struct inq_candidate *a,
                       const struct inq_candidate *b)
{
    (void)g;
    return b->kind == a->kind && b->host[0] == '\0' && !is_worth(b) &&
           b->ratio - 1.0 >= INQ_AS_SLOW_PART * (least_of(a) - 1.0);
}

/* Puts candidate i where the first of those as slow is; returns its new place. */
static size_t put_before(struct gains *g, size_t i)
{
    size_t first = 0;

    while (first < i && !is_as_slow(g, &g->at[i], &g->at[first])) {
        first++;
    }
    struct inq_candidate moved = g->at[i];
    g->at[i] = g->at[first];
    g->at[first] = moved;
    return first;
}

/* Slow GPUs of which one, once the others are repaired, gains too little to be told: it is as slow
 * as they are, and what made them slow made it slow, too. */
static int join_as_slow(struct gains *g, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < g->n; i++) {
        size_t before = g->n;
        if (g->at[i].kind != INQ_FINDING_SLOW_GPU || g->at[i].host[0] != '\0' ||
            !is_worth(&g->at[i])) {
            continue;
        }
        size_t at = put_before(g, i);
        code = join_all(g, at, is_as_slow, err);
        if (code == INQ_OK && g->n < before) {
            code = g->study->run.n_steps > 0 ? gain_alone(g, &g->at[at], err) : INQ_OK;
            code = code == INQ_OK ? put_in_order(g, err) : code;
            i = (size_t)-1; /* the order is another */
        }
    }
    return code;
}

int inq_gains_find(struct inq_study *study, struct inq_arena *arena,
                   struct inq_candidate *candidates, size_t *n, struct inq_err *err)
{
    struct gains g = {.study = study, .arena = arena, .at = candidates, .n = *n};
    bool simulated = *n > 0 && study->run.n_steps > 0;
    g.repairs = inq_mem_zalloc(*n + 1, sizeof *g.repairs);
    g.ratios = inq_mem_zalloc(*n + 1, sizeof *g.ratios);
    g.apart = inq_mem_zalloc(*n + 1, sizeof *g.apart);
    g.scratch_ns = inq_mem_alloc((study->trace->n_ranks + 1) * sizeof *g.scratch_ns);
    bool all = g.repairs != NULL && g.ratios != NULL && g.apart != NULL && g.scratch_ns != NULL;
    int code = all ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for gains");

    for (size_t i = 0; i < g.n; i++) {
        g.at[i].host = g.at[i].joint_fix = "";
        g.at[i].joint_ns = -1;
        g.at[i].in_order_ns = -1;
        g.at[i].low_ns = g.at[i].high_ns = INQ_TIME_NONE;
    }
    code = code == INQ_OK ? join_hosts(&g, err) : code;
    if (code == INQ_OK) {
        memset(g.apart, 0, *n * sizeof *g.apart);
    }
    for (size_t i = 0; code == INQ_OK && simulated && i < g.n; i++) {
        code = gain_alone(&g, &g.at[i], err);
    }
    leave_out_moved(&g);
    if (code == INQ_OK) {
        code = simulated ? join_alike(&g, err) : join_cheap(&g, err);
        memset(g.apart, 0, *n * sizeof *g.apart);
    }
    if (code == INQ_OK) {
        code = put_in_order(&g, err);
    }
    if (code == INQ_OK && simulated) {
        code = join_hidden(&g, err);
    }
    if (code == INQ_OK) {
        code = join_as_slow(&g, err);
    }
    for (size_t i = 0; code == INQ_OK && i < g.n; i++) {
        if (g.at[i].in_order_ns >= 0) {
            set_confidence(&g, &g.at[i]);
        } else if (!study->cells.op_table && g.at[i].confidence > INQ_CONFIDENCE_SUPPORTED) {
            g.at[i].confidence = INQ_CONFIDENCE_SUPPORTED; /* nothing was simulated */
        }
        code = word_fix(&g, &g.at[i], err);
    }
    if (code == INQ_OK && simulated) {
        code = find_hidden(&g, err);
    }
    *n = g.n;
    inq_mem_free(g.repairs);
    inq_mem_free(g.ratios);
    inq_mem_free(g.apart);
    inq_mem_free(g.scratch_ns);
    return code;
}
