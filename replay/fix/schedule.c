/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes that change the order of a pipeline's work: another schedule, other micro-batches. */
#include "fix/pipeline.h"
#include "fix/spec.h"
#include "schedule/schedule.h"

#include "base/mem.h"
#include "base/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double usual_weight_share = 0.5;

/* Share of the weight gradient in a backward. */
static double share_of(const struct fix_step *job)
{
    return job->weight_share > 0.0 ? job->weight_share : usual_weight_share;
}

/* Mean costs of the stages, for generators that place ops by time. */
static struct inq_costs mean_costs(const struct fix_pipe *pipe, double weight_share)
{
    struct inq_costs costs = {0};
    size_t n = pipe->n_dp * pipe->n_virtual * pipe->n_microbatches;
    int64_t f = 0;
    int64_t i = 0;
    int64_t w = 0;
    int64_t p2p = 0;
    int64_t n_p2p = 0; /* neighbors that talk to each other */
    for (size_t k = 0; k < n; k++) {
        f += pipe->cells[k].f_ns;
        i += pipe->cells[k].i_ns;
        w += pipe->cells[k].w_ns;
    }
    for (size_t k = 0; k < pipe->n_dp * pipe->n_ranks * 2; k++) {
        bool talks = pipe->p2p_ns[k] != INQ_TIME_NONE && pipe->p2p_ns[k] > 0;
        p2p += talks ? pipe->p2p_ns[k] : 0;
        n_p2p += talks;
    }
    int64_t weight = pipe->split ? w : inq_fix_scaled(i, weight_share);
    int64_t count = n > 0 ? (int64_t)n : 1;
    costs.stage = (struct inq_stage_cost){f / count, (i + w - weight) / count, weight / count};
    costs.p2p_ns = pipe->transfers && n_p2p > 0 ? p2p / n_p2p : 0;
    return costs;
}

/* Most activations a rank holds, in micro-batches of one whole stage; 0 not known. */
static int find_peak(const struct inq_schedule *schedule, const struct inq_costs *costs,
                     double *peak, struct inq_err *err)
{
    struct inq_schedule_timing timing;
    struct inq_err own = {0};
    *peak = 0.0;
    int code = inq_schedule_time(schedule, costs, &timing, &own);
    if (code == INQ_OK) {
        *peak = timing.peak_memory * (double)schedule->n_ranks * schedule->n_pipelines /
                (double)schedule->n_stages / (double)schedule->n_segments;
        inq_schedule_timing_release(&timing, schedule->n_ranks);
    }
    return code == INQ_NOMEM ? inq_fix_no_memory(err) : INQ_OK;
}

/* Peak of the schedule that a job has; 0 not known. */
static int find_own_peak(const struct fix_step *job, const struct fix_pipe *pipe, double *peak,
                         struct inq_err *err)
{
    struct inq_schedule schedule;
    struct inq_schedule_spec spec = {.kind = job->schedule,
                                     .n_ranks = (int32_t)pipe->n_ranks,
                                     .n_microbatches = (int32_t)pipe->n_microbatches,
                                     .n_chunks = (int32_t)job->n_chunks,
                                     .costs = mean_costs(pipe, usual_weight_share)};
    struct inq_err own = {0};
    *peak = 0.0;
    int code =
        job->schedule[0] == '\0' ? INQ_UNSUPPORTED : inq_schedule_make(&spec, &schedule, &own);
    if (code != INQ_OK) {
        return code == INQ_NOMEM ? inq_fix_no_memory(err) : INQ_OK;
    }
    code = find_peak(&schedule, &spec.costs, peak, err);
    inq_schedule_release(&schedule);
    return code;
}

static void say_memory(double before, double after, double size, struct fix_notes *said)
{
    char peak[64] = "";
    if (before <= 0.0 || after <= 0.0) {
        return;
    }
    (void)snprintf(said->memory, sizeof said->memory,
                   "activations: a rank holds at most %.3g micro-batches of a stage", after);
    size_t used = strlen(said->memory);
    (void)snprintf(peak, sizeof peak, "%.3g", after);
    char was[64];
    (void)snprintf(was, sizeof was, "%.3g", before);
    (void)snprintf(said->memory + used, sizeof said->memory - used, "%s%s%s",
                   strcmp(peak, was) == 0 ? ", as now" : " instead of ",
                   strcmp(peak, was) == 0 ? "" : was,
                   size < 1.0   ? ", smaller ones"
                   : size > 1.0 ? ", larger ones"
                                : "");
}

/* Bidirectional schedules hold the model several times. */
static void say_replicas(int32_t n, struct fix_notes *said)
{
    size_t used = strlen(said->memory);
    if (n > 1) {
        (void)snprintf(said->memory + used, sizeof said->memory - used,
                       "%severy rank holds the parameters of %" PRId32
                       " stages, whose gradients have to be added up too",
                       used > 0 ? "; " : "", n);
    }
}

/* A kind that does not exist for these numbers is no mistake of who asked for it. */
static int unsupported(int code, struct inq_err *err)
{
    if (code == INQ_USAGE && err != NULL) {
        err->code = INQ_UNSUPPORTED;
    }
    return code == INQ_USAGE ? INQ_UNSUPPORTED : code;
}

/* Replaces the job by its pipe in the order of a schedule. */
static int lay_out(struct fix_step *job, struct fix_pipe *pipe, const struct inq_schedule *schedule,
                   double weight_share, struct inq_err *err)
{
    struct fix_step laid;
    size_t n_virtual = (size_t)(schedule->n_stages / schedule->n_pipelines);
    int code = INQ_OK;
    if (schedule->n_ranks != (int32_t)pipe->n_ranks) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the schedule is for another number of ranks");
    }
    if (n_virtual != pipe->n_virtual ||
        memcmp(schedule->stage_rank, pipe->rank_of, n_virtual * sizeof *pipe->rank_of) != 0) {
        code = inq_fix_pipe_recut(pipe, n_virtual, schedule->stage_rank, err);
    }
    if (code == INQ_OK && schedule->n_segments > 1) { /* a segment takes its part of the time */
        static const struct fix_curve nothing_fixed = {{0, 1}, {0.0, 0.0}};
        code = inq_fix_pipe_divide(pipe, (size_t)schedule->n_microbatches, &nothing_fixed,
                                   1.0 / (double)schedule->n_segments, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_relayout(pipe, schedule, weight_share, job, &laid, err);
    }
    if (code == INQ_OK) {
        inq_fix_step_release(job);
        *job = laid;
    }
    return code;
}

/* The first link that the schedule sends over and the record does not. */
static void explain_links(const struct fix_pipe *pipe, const struct inq_schedule *schedule,
                          struct fix_notes *said)
{
    for (int32_t s = 0; pipe->transfers && s < schedule->n_stages; s++) {
        int32_t next = inq_schedule_next(schedule, s);
        int32_t from = schedule->stage_rank[s];
        int32_t to = next < 0 ? from : schedule->stage_rank[next];
        int64_t ns = 0;
        bool there = from == to || inq_fix_pipe_transfer(pipe, 0, from, to, &ns);
        bool back = from == to || inq_fix_pipe_transfer(pipe, 0, to, from, &ns);
        if (!there || !back) {
            inq_fix_note(said,
                         "no transfer from stage %" PRId32 " to stage %" PRId32
                         " is recorded: it is taken as the median of the other links, %s",
                         there ? to : from, there ? from : to,
                         inq_fix_time(pipe->usual_p2p_ns).text);
            return;
        }
    }
}

/* ---- another schedule ------------------------------------------------------------------------ */

static int check_kind(struct fix_text name, char *kind, size_t size, struct inq_err *err)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    for (size_t i = 0; i < n; i++) {
        if (inq_fix_is(name, kinds[i].name)) {
            (void)snprintf(kind, size, "%s", kinds[i].name);
            return strcmp(kind, "dp") != 0
                       ? INQ_OK
                       : inq_err_set(err, INQ_UNSUPPORTED, "dp is no schedule of a pipeline");
        }
    }
    return inq_err_set(err, INQ_USAGE, "no schedule is called '%.*s'",
                       name.len < 60 ? (int)name.len : 60, name.at);
}

/* Median of what the ops of a type take; 0: there are none. */
static int median_of_type(const struct fix_step *job, uint8_t type, int64_t *median_ns,
                          struct inq_err *err)
{
    int64_t *values = inq_mem_alloc((job->n_ops + 1) * sizeof *values);
    size_t n = 0;
    if (values == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (job->ops[i].op.type == type) {
            values[n++] = job->ops[i].dur_ns;
        }
    }
    *median_ns = n > 0 ? inq_median_i64(values, n) : 0;
    inq_mem_free(values);
    return INQ_OK;
}

/* Whether a schedule has weight gradients as actions of their own. */
static bool splits(const struct inq_schedule *schedule)
{
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            if (schedule->ranks[r].actions[i].kind == INQ_ACTION_W) {
                return true;
            }
        }
    }
    return false;
}

static int change_schedule(struct fix_step *job, const struct inq_schedule_spec *wanted,
                           double weight_share, struct fix_notes *said, struct inq_err *err)
{
    struct fix_pipe pipe = {0};
    struct inq_schedule schedule = {0};
    struct inq_schedule_spec spec = *wanted;
    char before[24];
    int code = inq_fix_pipe_take(job, &pipe, err);
    if (code == INQ_OK) {
        spec.n_ranks = (int32_t)pipe.n_ranks;
        spec.n_microbatches = (int32_t)pipe.n_microbatches;
        spec.costs = mean_costs(&pipe, weight_share);
        code = inq_schedule_make(&spec, &schedule, err);
        code = unsupported(code, err);
    }
    (void)snprintf(before, sizeof before, "%s",
                   job->schedule[0] != '\0' ? job->schedule : "the recorded order");
    double peak = 0.0;
    double after = 0.0;
    if (code == INQ_OK) {
        code = find_own_peak(job, &pipe, &peak, err);
    }
    if (code == INQ_OK) {
        code = find_peak(&schedule, &spec.costs, &after, err);
    }
    bool measured = pipe.split || job->weight_share > 0.0;
    if (code == INQ_OK && !measured && splits(&schedule)) {
        struct fix_need need = {
            .cost = FIX_COST_SPLIT, .assumed = weight_share, .share = 0.5, .bytes = -1};
        code = median_of_type(job, INQ_OP_BACKWARD, &need.dur_ns, err);
        if (code == INQ_OK && need.dur_ns > 0) {
            weight_share = inq_fix_assume(job, &need);
        }
    }
    if (code == INQ_OK) {
        code = lay_out(job, &pipe, &schedule, weight_share, err);
        if (code == INQ_OK) {
            inq_fix_note(said, "%s instead of %s", spec.kind, before);
            if (job->split && !measured) {
                inq_fix_note(said, "weight gradients taken as %.0f %% of a backward (not measured)",
                             100.0 * weight_share);
            }
            if (schedule.n_segments > 1) {
                inq_fix_note(said,
                             "each micro-batch's sequences cut into %" PRId32
                             " segments that take equal parts of its time",
                             schedule.n_segments);
            }
            explain_links(&pipe, &schedule, said);
            say_memory(peak, after, 1.0, said);
            say_replicas(schedule.n_pipelines, said);
        }
    }
    inq_schedule_release(&schedule);
    inq_fix_pipe_release(&pipe);
    return code;
}

int inq_fix_schedule(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                     struct inq_err *err)
{
    char kind[24];
    int64_t chunks = 0;
    double weight_share = share_of(job);
    int code = check_kind(args->argument, kind, sizeof kind, err);
    if (code == INQ_OK) {
        code = inq_fix_integer(args, "chunks", 1, 64, &chunks, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_number(args, "w", 0.0, 0.9, &weight_share, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    bool same =
        strcmp(kind, job->schedule) == 0 && (chunks == 0 || (size_t)chunks == job->n_chunks);
    if (same && (job->n_stages > 1 || job->n_virtual > 0)) {
        inq_fix_note(said, "the schedule is %s already", kind);
        return INQ_OK;
    }
    struct inq_schedule_spec spec = {.kind = kind, .n_chunks = (int32_t)chunks};
    return change_schedule(job, &spec, weight_share, said, err);
}

/* ---- micro-batches --------------------------------------------------------------------------- */

struct division {
    int64_t n;
    double fixed; /* share of an op's time that does not depend on the micro-batch's size */
};

/* The fixed share of ops as long as a forward and as long as a backward. */
static int find_curve(struct fix_step *job, const struct division *d, double size,
                      struct fix_curve *curve, struct inq_err *err)
{
    struct fix_need need = {
        .cost = FIX_COST_FIXED, .assumed = d->fixed, .share = size, .bytes = -1};
    bool split = job->split;
    curve->dur_ns[0] = 0;
    curve->dur_ns[1] = 0;
    int code = median_of_type(job, INQ_OP_FORWARD, &curve->dur_ns[0], err);
    if (code == INQ_OK) {
        code = median_of_type(job, split ? INQ_OP_BACKWARD_INPUT : INQ_OP_BACKWARD,
                              &curve->dur_ns[1], err);
    }
    if (code != INQ_OK) {
        return code;
    }
    if (curve->dur_ns[0] > curve->dur_ns[1]) {
        int64_t longer_ns = curve->dur_ns[0];
        curve->dur_ns[0] = curve->dur_ns[1];
        curve->dur_ns[1] = longer_ns;
    }
    for (int k = 0; k < 2; k++) {
        need.dur_ns = curve->dur_ns[k];
        curve->fixed[k] = need.dur_ns > 0 ? inq_fix_assume(job, &need) : d->fixed;
    }
    return code;
}

static int divide(struct fix_step *job, const struct division *d, struct fix_notes *said,
                  struct inq_err *err)
{
    struct fix_pipe pipe = {0};
    struct inq_schedule schedule = {0};
    bool known = job->schedule[0] != '\0';
    struct inq_schedule_spec spec = {
        .kind = known ? job->schedule : "1f1b",
        .n_ranks = (int32_t)(job->n_virtual > 0 ? job->n_ranks : job->n_stages),
        .n_microbatches = (int32_t)d->n,
        .n_chunks = (int32_t)job->n_chunks};
    double size = (double)job->n_microbatches / (double)d->n;
    size_t before = job->n_microbatches;
    int code = inq_fix_pipe_take(job, &pipe, err);
    double weight_share = share_of(job);
    double peak = 0.0;
    double after = 0.0;
    if (code == INQ_OK) {
        code = find_own_peak(job, &pipe, &peak, err);
    }
    struct fix_curve curve;
    if (code == INQ_OK) {
        code = find_curve(job, d, size, &curve, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_pipe_divide(&pipe, (size_t)d->n, &curve, size, err);
    }
    if (code == INQ_OK) {
        spec.costs = mean_costs(&pipe, weight_share);
        code = unsupported(inq_schedule_make(&spec, &schedule, err), err);
    }
    if (code == INQ_OK) {
        code = find_peak(&schedule, &spec.costs, &after, err);
    }
    if (code == INQ_OK) {
        code = lay_out(job, &pipe, &schedule, weight_share, err);
        inq_fix_note(said,
                     "%" PRId64
                     " micro-batches of %.3g times the size instead of %zu%s; %.0f %% of "
                     "an op's time taken as independent of the size",
                     d->n, size, before, known ? "" : ", in 1f1b's order", 100.0 * d->fixed);
        explain_links(&pipe, &schedule, said);
        say_memory(peak, after, size, said);
    }
    inq_schedule_release(&schedule);
    inq_fix_pipe_release(&pipe);
    return code;
}

int inq_fix_microbatches(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                         struct inq_err *err)
{
    struct division d = {.fixed = 0.1};
    int code = inq_fix_integer(args, NULL, 1, 65536, &d.n, err);
    if (code == INQ_OK) {
        code = inq_fix_number(args, "fixed", 0.0, 1.0, &d.fixed, err);
    }
    bool pipeline = job->n_stages > 1 || job->n_virtual > 0;
    if (code == INQ_OK && pipeline && (size_t)d.n == job->n_microbatches) {
        inq_fix_note(said, "there are %" PRId64 " micro-batches already", d.n);
        return INQ_OK;
    }
    return code == INQ_OK ? divide(job, &d, said, err) : code;
}
