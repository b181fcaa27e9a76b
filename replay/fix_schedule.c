/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes that change the order of a pipeline's work: another schedule, other micro-batches. */
#include "fix_pipe.h"
#include "fix_spec.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double usual_weight_share = 0.5;

/* Share of the weight gradient in a backward. */
static double share_of(const struct fix_job *job)
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
    int64_t n_p2p = 0; /* neighbours that talk to each other */
    for (size_t k = 0; k < n; k++) {
        f += pipe->cells[k].f_ns;
        i += pipe->cells[k].i_ns;
        w += pipe->cells[k].w_ns;
    }
    for (size_t k = 0; k < pipe->n_dp * pipe->n_ranks * 2; k++) {
        p2p += pipe->p2p_ns[k];
        n_p2p += pipe->p2p_ns[k] > 0;
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
                (double)schedule->n_stages;
        inq_schedule_timing_release(&timing, schedule->n_ranks);
    }
    return code == INQ_NOMEM ? inq_fix_no_memory(err) : INQ_OK;
}

/* Peak of the schedule that a job has; 0 not known. */
static int find_own_peak(const struct fix_job *job, const struct fix_pipe *pipe, double *peak,
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

static void say_memory(double before, double after, double size, struct fix_said *said)
{
    if (before > 0.0 && after > 0.0) {
        (void)snprintf(said->memory, sizeof said->memory,
                       "activations: a rank holds at most %.3g micro-batches of a stage instead of "
                       "%.3g%s",
                       after, before,
                       size < 1.0   ? ", smaller ones"
                       : size > 1.0 ? ", larger ones"
                                    : "");
    }
}

/* Bidirectional schedules hold the model several times. */
static void say_replicas(int32_t n, struct fix_said *said)
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
static int lay_out(struct fix_job *job, struct fix_pipe *pipe, const struct inq_schedule *schedule,
                   double weight_share, struct inq_err *err)
{
    struct fix_job laid;
    size_t n_virtual = (size_t)(schedule->n_stages / schedule->n_pipelines);
    int code = INQ_OK;
    if (schedule->n_ranks != (int32_t)pipe->n_ranks) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the schedule is for another number of ranks");
    }
    if (n_virtual != pipe->n_virtual ||
        memcmp(schedule->stage_rank, pipe->rank_of, n_virtual * sizeof *pipe->rank_of) != 0) {
        code = inq_fix_pipe_recut(pipe, n_virtual, schedule->stage_rank, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_pipe_lay(pipe, schedule, weight_share, job, &laid, err);
    }
    if (code == INQ_OK) {
        inq_fix_job_release(job);
        *job = laid;
    }
    return code;
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

static int change_schedule(struct fix_job *job, const struct inq_schedule_spec *wanted,
                           double weight_share, struct fix_said *said, struct inq_err *err)
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
    if (code == INQ_OK) {
        bool measured = pipe.split || job->weight_share > 0.0;
        code = lay_out(job, &pipe, &schedule, weight_share, err);
        if (code == INQ_OK) {
            inq_fix_say(said, "%s instead of %s", spec.kind, before);
            if (job->split && !measured) {
                inq_fix_say(said, "weight gradients taken as %.0f %% of a backward (not measured)",
                            100.0 * weight_share);
            }
            say_memory(peak, after, 1.0, said);
            say_replicas(schedule.n_pipelines, said);
        }
    }
    inq_schedule_release(&schedule);
    inq_fix_pipe_release(&pipe);
    return code;
}

int inq_fix_schedule(struct fix_job *job, const struct fix_args *args, struct fix_said *said,
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
        inq_fix_say(said, "the schedule is %s already", kind);
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

static int divide(struct fix_job *job, const struct division *d, struct fix_said *said,
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
    if (code == INQ_OK) {
        code =
            inq_fix_pipe_divide(&pipe, (size_t)d->n, d->fixed + (1.0 - d->fixed) * size, size, err);
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
        inq_fix_say(said,
                    "%" PRId64 " micro-batches of %.3g times the size instead of %zu%s; %.0f %% of "
                    "an op's time taken as independent of the size",
                    d->n, size, before, known ? "" : ", in 1f1b's order", 100.0 * d->fixed);
        say_memory(peak, after, size, said);
    }
    inq_schedule_release(&schedule);
    inq_fix_pipe_release(&pipe);
    return code;
}

int inq_fix_microbatches(struct fix_job *job, const struct fix_args *args, struct fix_said *said,
                         struct inq_err *err)
{
    struct division d = {.fixed = 0.1};
    int code = inq_fix_argument(args, 1, 65536, &d.n, err);
    if (code == INQ_OK) {
        code = inq_fix_number(args, "fixed", 0.0, 1.0, &d.fixed, err);
    }
    bool pipeline = job->n_stages > 1 || job->n_virtual > 0;
    if (code == INQ_OK && pipeline && (size_t)d.n == job->n_microbatches) {
        inq_fix_say(said, "there are %" PRId64 " micro-batches already", d.n);
        return INQ_OK;
    }
    return code == INQ_OK ? divide(job, &d, said, err) : code;
}
