/* SPDX-License-Identifier: Apache-2.0 */
/* One candidate: the cause by what the rank spends the extra time on. */
#include "analysis/straggler/candidates.h"

#include "analysis/measure/measure.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* A rank whose longer compute is for at least this part due to more kernels has extra compute. */
#define MORE_PART 0.5

/* A host that is held up somewhere leaves one gap in a step, or a few; where the longest are less
 * than this part of all that its launches are late, it is behind all the way. */
#define SPREAD_LEAST 0.5

/* So many ranks say what a launch takes: a median of more is no other. */
enum { CALLS_OF_PEERS = 16 };

/* Copies are told beside a late host when they are this part of all that its rank is late. */
#define COPY_PART 0.25

static int64_t whole(double ns)
{
    return (int64_t)llround(ns);
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- compute: slow or more ------------------------------------------------------------------ */

/* What a rank takes longer for. */
enum excess_part { COMPUTE, HOST, COPY };

static enum excess_part part_of(const struct inq_delay *delay)
{
    if (delay->idles) {
        return HOST;
    }
    if (delay->compute.ns >= delay->idle.ns && delay->compute.ns >= delay->copy_ns) {
        return COMPUTE;
    }
    return delay->idle.ns >= delay->copy_ns ? HOST : COPY;
}

/* Whether a rank of the role has kernels as usual: a late host does not change them. */
static bool has_usual_kernels(const struct inq_delay *other, const struct inq_delay *delay)
{
    return other->role == delay->role && other->rank != delay->rank &&
           (!other->outlier || (!other->computes && part_of(other) != COMPUTE));
}

int inq_candidate_kernels(const struct inq_inquiry *q, const struct inq_delay *delay,
                          struct inq_kernel_comparison *result, struct inq_err *err)
{
    if (delay->others || delay->in_steps) {
        return inq_kernels_against(q->trace, q->cells, delay->rank, delay->in_steps, delay->others,
                                   delay->n_others, result, err);
    }
    uint32_t *others = inq_mem_alloc((q->delays->n + 1) * sizeof(*others));
    size_t n = 0;

    if (!others) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu peers", q->delays->n);
    }
    for (size_t i = 0; i < q->delays->n; i++) {
        if (has_usual_kernels(&q->delays->at[i], delay)) {
            others[n++] = q->delays->at[i].rank;
        }
    }
    int code = inq_kernels_against(q->trace, q->cells, delay->rank, NULL, others, n, result, err);
    inq_mem_free(others);
    return code;
}

static bool comes_and_goes(const struct inq_delay *delay)
{
    return delay->seen > 0 && delay->seen < delay->steps;
}

static double times_as_many(const struct inq_kernel_comparison *c)
{
    return (double)c->kernels / (double)(c->peers_kernels > 0 ? c->peers_kernels : 1);
}

/* How many times as many kernels. Those of all steps are counted unless some are named: what is too
 * many was in the steps in which it is seen. */
static double ratio_of_kernels(const struct inq_delay *delay, const struct inq_kernel_comparison *c)
{
    double ratio = times_as_many(c);
    bool counted = delay->in_steps != NULL || !comes_and_goes(delay);

    return counted ? ratio : 1.0 + (ratio - 1.0) * (double)delay->steps / (double)delay->seen;
}

/* Of a fault that comes and goes, in the steps in which it is there; where no peer has usual
 * kernels, by all that it computes. */
static double ratio_when_slow(const struct inq_delay *delay, const struct inq_kernel_comparison *c)
{
    if (delay->peers_compute_ns > 0.0 && comes_and_goes(delay)) {
        return 1.0 + delay->late_ns / delay->peers_compute_ns;
    }
    return delay->peers_compute_ns > 0.0 && isnan(c->ratio)
               ? 1.0 + delay->compute.ns / delay->peers_compute_ns
               : c->ratio;
}

static int attribute_to_compute(const struct inq_inquiry *q, const struct inq_delay *delay,
                                struct inq_candidate *candidate, struct inq_err *err)
{
    struct inq_kernel_comparison c;
    int code = inq_candidate_kernels(q, delay, &c, err);

    if (code != INQ_OK) {
        return code;
    }
    double more_ns = delay->in_steps ? delay->late_ns : delay->compute.ns; /* as c has it */
    candidate->own_ns = whole(delay->peers_compute_ns + delay->compute.ns);
    candidate->peers_ns = whole(delay->peers_compute_ns);
    if (q->cells->op_table) {
        candidate->kind = INQ_FINDING_SLOW_WORKER;
        candidate->ratio = c.ratio;
    } else if (!delay->others && c.more_ns >= MORE_PART * more_ns) {
        candidate->kind = INQ_FINDING_MORE_WORK;
        candidate->ratio = c.others ? (double)NAN : ratio_of_kernels(delay, &c);
    } else if (inq_kernels_are_larger(&c)) {
        candidate->kind = INQ_FINDING_MORE_WORK;
        candidate->ratio = (double)NAN;
        if (!inq_kernels_have_grids(&c) && candidate->confidence > INQ_CONFIDENCE_SUPPORTED) {
            candidate->confidence = INQ_CONFIDENCE_SUPPORTED; /* nothing recorded says how much */
        }
    } else {
        candidate->kind = INQ_FINDING_SLOW_GPU;
        candidate->ratio = ratio_when_slow(delay, &c);
        candidate->memory_ratio = inq_kernels_memory_ratio(&c);
        if (!inq_kernels_have_grids(&c) &&
            c.kind[INQ_KERNEL_OTHER].spared_share >= INQ_SPARED_OTHER &&
            candidate->confidence > INQ_CONFIDENCE_HYPOTHESIS) {
            candidate->confidence--; /* not all kernels agree */
        }
    }
    return INQ_OK;
}

/* ---- evidence ------------------------------------------------------------------------------- */

static int add_evidence(const struct inq_inquiry *q, struct inq_candidate *candidate,
                        struct inq_evidence evidence, struct inq_err *err)
{
    if (!evidence.lane || !evidence.what) {
        return inq_err_set(err, INQ_NOMEM, "no memory for evidence");
    }
    (void)q;
    candidate->evidence[candidate->n_evidence++] = evidence;
    return INQ_OK;
}

static const char *lane_text(const struct inq_inquiry *q, uint32_t rank, uint32_t lane)
{
    const struct inq_rank *source = &q->trace->ranks[rank];

    if (lane >= source->n_lanes) {
        return "";
    }
    const struct inq_lane *row = &source->lanes[lane];
    if (row->kind == INQ_LANE_STREAM) {
        return inq_arena_asprintf(q->arena, "stream %lld", (long long)row->id);
    }
    if (row->name != 0) {
        return inq_trace_str(q->trace, row->name);
    }
    return inq_arena_asprintf(q->arena, "thread %lld", (long long)row->id);
}

static int add_gap_evidence(const struct inq_inquiry *q, uint32_t rank,
                            const struct inq_host_gaps *gaps, struct inq_candidate *candidate,
                            struct inq_err *err)
{
    for (size_t i = 0; i < gaps->n; i++) {
        const struct inq_host_gap *gap = &gaps->at[i];
        const char *device = inq_rank_device(q->trace, &q->trace->ranks[rank]);
        bool known = gap->launch_ns != INQ_TIME_NONE;
        inq_str running = inq_host_gap_running(q->trace, &q->trace->ranks[rank], gap);
        const char *what =
            running != 0
                ? inq_arena_asprintf(q->arena, "%s idle while the host was in %s", device,
                                     inq_arena_name(q->arena, inq_trace_str(q->trace, running)))
                : inq_arena_asprintf(q->arena, "%s idle%s", device,
                                     known ? ", next launch late" : "; no launch recorded");
        int code = add_evidence(q, candidate,
                                (struct inq_evidence){q->trace->ranks[rank].rank,
                                                      lane_text(q, rank, gap->lane), gap->begin_ns,
                                                      gap->end_ns, what},
                                err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* The steps in which it cost most are where a reader looks first. */
static int add_step_evidence(const struct inq_inquiry *q, const struct inq_delay *delay,
                             struct inq_candidate *candidate, struct inq_err *err)
{
    const struct inq_step_stat *worst = NULL;
    size_t worst_step = 0;

    for (size_t s = q->cells->first_step; s < q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(q->cells, delay->rank, s);
        if (cell->valid && (!worst || inq_step_stat_own_ns(q->cells, cell) >
                                          inq_step_stat_own_ns(q->cells, worst))) {
            worst = cell;
            worst_step = s;
        }
    }
    if (!worst) {
        return INQ_OK;
    }
    const char *what = "the whole capture";
    if (!q->cells->one_step) {
        what = inq_arena_asprintf(q->arena, "step %lld, the longest of this rank",
                                  (long long)q->trace->steps[worst_step].number);
    }
    return add_evidence(q, candidate,
                        (struct inq_evidence){q->trace->ranks[delay->rank].rank, "",
                                              worst->start_ns, worst->end_ns, what},
                        err);
}

static int add_wait_evidence(const struct inq_inquiry *q, uint32_t rank,
                             struct inq_candidate *candidate, struct inq_err *err)
{
    const struct inq_arrival *arrival = &q->arrivals->at[rank];

    for (size_t i = 0; i < INQ_WORST_WAITS && arrival->worst[i].collective != INQ_NONE; i++) {
        const struct inq_arrival_span *span = &arrival->worst[i];
        const struct inq_collective *c = &q->trace->collectives[span->collective];
        int code = add_evidence(
            q, candidate,
            (struct inq_evidence){
                q->trace->ranks[span->first_rank].rank, "", span->first_ns, span->last_ns,
                inq_arena_asprintf(q->arena, "%s waits for it", inq_coll_kind_text(c->kind))},
            err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* ---- one candidate ----------------------------------------------------------------------------
 */

/* A fault that was seen in many steps and comes with last arrivals is established; one that was
 * seen in few is supported; a single step supports one only when the collectives in it agree. */
static enum inq_confidence confidence_of(const struct inq_inquiry *q, const struct inq_delay *delay,
                                         const struct inq_candidate *candidate)
{
    bool usually_last = candidate->waits >= 3 && 2 * candidate->last_arrivals >= candidate->waits;
    bool always_last =
        candidate->waits >= 5 && 4 * candidate->last_arrivals >= 3 * candidate->waits;

    if (q->cells->one_step || delay->steps < 2) {
        return always_last ? INQ_CONFIDENCE_SUPPORTED : INQ_CONFIDENCE_HYPOTHESIS;
    }
    if (delay->steps >= 3 || usually_last) {
        return candidate->waits > 0 ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    }
    return INQ_CONFIDENCE_SUPPORTED;
}

/* Median length of the rank's calls that launched its work; -1: none are known. `scratch`: room for
 * its rows. */
static int64_t usual_call_ns(const struct inq_rank *rank, int64_t *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.call[i] < rank->calls.n && rank->events.comm[i] == INQ_NONE) {
            scratch[n++] = rank->calls.dur_ns[rank->events.call[i]];
        }
    }
    return n > 0 ? inq_median_i64(scratch, n) : -1;
}

/* How long the rank's launches take beside those of ranks that are not late: a slow core, or a
 * profiler that records more, makes all calls longer. */
static int compare_calls(const struct inq_inquiry *q, uint32_t rank, double *ratio,
                         struct inq_err *err)
{
    size_t most = 0;
    for (size_t r = 0; r < q->trace->n_ranks; r++) {
        most = q->trace->ranks[r].events.n > most ? q->trace->ranks[r].events.n : most;
    }
    int64_t *scratch = inq_mem_alloc((most + 1) * sizeof *scratch);
    int64_t peers_ns[CALLS_OF_PEERS];
    size_t n = 0;

    if (scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the calls of a rank");
    }
    int64_t own_ns = usual_call_ns(&q->trace->ranks[rank], scratch);
    for (size_t i = 0; i < q->delays->n && n < CALLS_OF_PEERS; i++) {
        const struct inq_delay *other = &q->delays->at[i];
        int64_t ns = other->outlier || other->rank == rank
                         ? -1
                         : usual_call_ns(&q->trace->ranks[other->rank], scratch);
        if (ns > 0) {
            peers_ns[n++] = ns;
        }
    }
    if (own_ns > 0 && n > 0) {
        *ratio = (double)own_ns / (double)inq_median_i64(peers_ns, n);
    }
    inq_mem_free(scratch);
    return INQ_OK;
}

/* Whether a host is late because it has more to launch: launches at the pace of its peers make up
 * for this part of what its device is idle longer. */
static bool launches_more(const struct inq_delay *delay, const struct inq_kernel_comparison *c)
{
    double more = (double)c->kernels - (double)c->peers_kernels;
    return c->peers_kernels > 0 && delay->idle.ns > 0.0 &&
           more * delay->peers_idle_ns / (double)c->peers_kernels >= MORE_PART * delay->idle.ns;
}

static int attribute_to_host(const struct inq_inquiry *q, const struct inq_delay *delay,
                             struct inq_candidate *candidate, struct inq_err *err)
{
    struct inq_host_gaps gaps;
    struct inq_kernel_comparison c;
    int code = inq_host_gaps_find(q->trace, q->cells, delay->rank, &gaps, err);

    if (code == INQ_OK) {
        code = inq_candidate_kernels(q, delay, &c, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    candidate->kind = INQ_FINDING_LATE_HOST;
    candidate->ratio = launches_more(delay, &c) ? times_as_many(&c) : (double)NAN;
    if (delay->idle_seen > 0) { /* compute that is in excess, too, is another fault's */
        candidate->late_ns = whole(delay->idle_late_ns);
        candidate->late_steps = delay->idle_seen;
        candidate->steps_seen = min_of(candidate->steps_seen, delay->idle_seen);
    }
    candidate->launches_known = q->trace->ranks[delay->rank].calls.n > 0;
    candidate->comm_only =
        !candidate->launches_known && inq_knows_comm_only(&q->trace->ranks[delay->rank].events);
    candidate->own_ns = whole(delay->peers_idle_ns + delay->idle.ns);
    candidate->peers_ns = whole(delay->peers_idle_ns);
    candidate->spread = (double)gaps.longest_ns < SPREAD_LEAST * (double)gaps.late_ns;
    if (gaps.n > 0 && !candidate->spread) {
        candidate->running = inq_trace_str(
            q->trace, inq_host_gap_running(q->trace, &q->trace->ranks[delay->rank], &gaps.at[0]));
    }
    if (candidate->spread) {
        code = compare_calls(q, delay->rank, &candidate->call_ratio, err);
    }
    /* Idle though launched in time: something else delayed it, the host is only the likeliest. */
    if (2 * gaps.late_ns < gaps.idle_ns && candidate->confidence > INQ_CONFIDENCE_HYPOTHESIS) {
        candidate->confidence--;
    }
    return code == INQ_OK ? add_gap_evidence(q, delay->rank, &gaps, candidate, err) : code;
}

/* In how many steps the rank copies for longer than its peers. */
static size_t steps_of_copies(const struct inq_inquiry *q, const struct inq_delay *delay)
{
    double least_ns = delay->peers_copy_ns + INQ_STRAGGLER_COST_SHARE * delay->step_ns;
    size_t n = 0;

    for (size_t s = q->cells->first_step; s < q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(q->cells, delay->rank, s);
        n += cell->valid && (double)cell->copy_ns >= least_ns;
    }
    return n;
}

static int make_candidate(const struct inq_inquiry *q, const struct inq_delay *delay,
                          enum excess_part part, struct inq_candidate *candidate,
                          struct inq_err *err)
{
    *candidate = (struct inq_candidate){.group = INQ_NONE,
                                        .stage = -1,
                                        .n_ranks = 1,
                                        .ratio = (double)NAN,
                                        .call_ratio = (double)NAN};
    candidate->ranks = inq_arena_array(q->arena, 1, sizeof(*candidate->ranks));
    candidate->evidence = inq_arena_array(q->arena, 1 + INQ_HOST_GAPS + INQ_WORST_WAITS,
                                          sizeof(*candidate->evidence));
    if (!candidate->ranks || !candidate->evidence) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a candidate");
    }
    candidate->ranks[0] = delay->rank;
    candidate->running = "";
    candidate->cost_ns_per_step = whole(delay->cost_ns);
    candidate->step_ns = whole(delay->step_ns);
    candidate->steps = delay->steps;
    candidate->steps_seen = delay->seen;
    candidate->late_ns = whole(delay->late_ns);
    candidate->last_arrivals = q->arrivals->at[delay->rank].last;
    candidate->waits = q->arrivals->at[delay->rank].waits;
    candidate->confidence = confidence_of(q, delay, candidate);

    int code = INQ_OK;
    if (part == COMPUTE) {
        code = attribute_to_compute(q, delay, candidate, err);
    } else if (part == HOST) {
        code = attribute_to_host(q, delay, candidate, err);
    } else {
        candidate->kind = INQ_FINDING_EXPOSED_COPY;
        /* those behind the last collective of a step delay the others in the next one */
        candidate->steps_seen = steps_of_copies(q, delay);
        candidate->cost_ns_per_step =
            whole(fmax(delay->cost_ns, fmin(delay->own.ns, delay->copy_ns)));
        candidate->own_ns = whole(delay->peers_copy_ns + delay->copy_ns);
        candidate->peers_ns = whole(delay->peers_copy_ns);
    }
    if (code == INQ_OK) {
        code = add_wait_evidence(q, delay->rank, candidate, err);
    }
    return code == INQ_OK ? add_step_evidence(q, delay, candidate, err) : code;
}

int inq_candidate_set_ranks(const struct inq_inquiry *q, struct inq_candidate *candidate,
                            const uint32_t *ranks, size_t n, struct inq_err *err)
{
    candidate->ranks = inq_arena_array(q->arena, n, sizeof(*candidate->ranks));
    if (!candidate->ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", n);
    }
    memcpy(candidate->ranks, ranks, n * sizeof(*ranks));
    candidate->n_ranks = n;
    inq_arrivals_of(q->trace, ranks, n, &candidate->last_arrivals, &candidate->waits);
    return INQ_OK;
}

/* A GPU and a host of one rank, each late by itself: they share what the rank costs. */
static int make_both(const struct inq_inquiry *q, const struct inq_delay *delay,
                     struct inq_candidate *candidates, struct inq_err *err)
{
    double compute_part = delay->compute.ns / (delay->compute.ns + delay->idle.ns);
    struct inq_delay gpu = *delay;
    struct inq_delay host = *delay;

    gpu.cost_ns = delay->cost_ns * compute_part;
    gpu.late_ns = delay->compute.ns;
    gpu.seen = delay->steps;
    host.cost_ns = delay->cost_ns - gpu.cost_ns;
    host.seen = delay->idle_seen;
    int code = make_candidate(q, &gpu, COMPUTE, &candidates[0], err);
    return code == INQ_OK ? make_candidate(q, &host, HOST, &candidates[1], err) : code;
}

/* Copies beside a late host, as of a checkpoint: the host blocks on them, then writes. */
static bool copies_too(const struct inq_delay *delay, enum excess_part part)
{
    return part == HOST && delay->copy_ns >= COPY_PART * delay->own.ns;
}

/* Takes from the delay what is due to copies. */
static struct inq_delay split_copies(struct inq_delay *delay)
{
    struct inq_delay copies = *delay;
    double part = delay->copy_ns / (delay->copy_ns + delay->idle.ns);

    copies.cost_ns = delay->cost_ns * part;
    delay->cost_ns -= copies.cost_ns;
    return copies;
}

int inq_candidates_of_delay(const struct inq_inquiry *q, const struct inq_delay *delay,
                            struct inq_attribution *found, struct inq_err *err)
{
    bool both = delay->computes && delay->idles;
    enum excess_part part = part_of(delay);
    struct inq_candidate *candidate = &found->candidates[found->n_candidates];
    if (both) {
        int code = make_both(q, delay, candidate, err);
        found->n_candidates += code == INQ_OK ? 2 : 0;
        return code;
    }
    struct inq_delay rest = *delay;
    bool copies = copies_too(delay, part);
    struct inq_delay of_copies = copies ? split_copies(&rest) : rest;
    int code = make_candidate(q, &rest, part, candidate, err);
    if (code == INQ_OK && copies) {
        code = make_candidate(q, &of_copies, COPY, candidate + 1, err);
    }
    found->n_candidates += code != INQ_OK ? 0 : copies ? 2 : 1;
    return code;
}

bool inq_candidates_name(const struct inq_attribution *found, size_t rank, bool for_compute)
{
    for (size_t i = 0; i < found->n_candidates; i++) {
        const struct inq_candidate *candidate = &found->candidates[i];
        bool computes = candidate->kind == INQ_FINDING_SLOW_GPU ||
                        candidate->kind == INQ_FINDING_MORE_WORK ||
                        candidate->kind == INQ_FINDING_SLOW_WORKER;
        bool named = for_compute ? computes
                                 : candidate->kind != INQ_FINDING_SLOW_LINK && !candidate->rotates;
        for (size_t k = 0; named && k < candidate->n_ranks; k++) {
            if (candidate->ranks[k] == rank) {
                return true;
            }
        }
    }
    return false;
}
