/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/straggler/straggler.h"

#include "analysis/whatif/whatif.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <math.h>

enum { RESAMPLES = 1000 };

/* A simulated base further from the record than this predicts nothing. */
#define BASE_ERROR 0.02

int inq_study_init(struct inq_study *study, const struct inq_trace *trace,
                   struct inq_report *report, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    bool needs_model = false;

    *study = (struct inq_study){.trace = trace};
    int code = inq_step_stats_build(report->account, &study->cells, err);
    if (code == INQ_OK) {
        code = inq_peer_groups_need_model(trace, &needs_model, err);
    }
    if (code == INQ_OK && needs_model) {
        code = inq_op_model_shared(trace, report, &model, err);
    }
    if (code == INQ_OK) {
        code = inq_peer_groups_find(trace, model, &study->roles, err);
    }
    if (code == INQ_OK) {
        code = inq_comm_only_own(trace, &study->roles, &study->cells, err);
    }
    if (code == INQ_OK) {
        code = inq_silences_find(trace, &study->cells, &study->roles, &study->silences, err);
    }
    if (code == INQ_OK) {
        code = inq_links_find(trace, &study->cells, &study->links, err);
    }
    return code;
}

static int64_t mean_of(const int64_t *values, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)values[i];
    }
    return n > 0 ? (int64_t)llround(sum / (double)n) : 0;
}

/* Mean recorded length of the judged steps, over all ranks' cells; 0 without a graph. */
static int64_t recorded_mean(const struct inq_study *study)
{
    double sum = 0.0;
    double n = 0.0;

    for (size_t r = 0; r < study->trace->n_ranks; r++) {
        for (size_t s = 0; s < study->run.n_steps; s++) {
            const struct inq_step_stat *cell = inq_study_step_stat(study, r, s);
            sum += cell->valid ? (double)(cell->end_ns - cell->start_ns) : 0.0;
            n += cell->valid;
        }
    }
    return n > 0.0 ? (int64_t)llround(sum / n) : 0;
}

/* The base is held against the record: where they differ, gains are not told. */
static void check_base(struct inq_study *study)
{
    study->recorded_ns = recorded_mean(study);
    double recorded_ns = (double)study->recorded_ns;

    study->simulated_ns = mean_of(study->run.base_ns, study->run.n_steps);
    if (fabs((double)study->simulated_ns - recorded_ns) > BASE_ERROR * recorded_ns) {
        study->run.n_steps = 0;
        study->run.problem = "the simulated base is more than 2 % off the record";
    }
}

int inq_study_simulate(struct inq_study *study, struct inq_err *err)
{
    if (study->run.problem != NULL) {
        return INQ_OK;
    }
    if (study->cells.op_table) {
        study->run.problem = "labeled ops are simulated by their own model";
        return INQ_OK;
    }
    int code = inq_counterfactual_init(study->trace, &study->cells, &study->run, err);
    study->chosen = inq_mem_zalloc(study->trace->n_ranks + 1, sizeof *study->chosen);
    study->faulty = inq_mem_zalloc(study->trace->n_ranks + 1, sizeof *study->faulty);
    study->step_ns = inq_mem_zalloc(study->run.n_steps + 1, sizeof *study->step_ns);
    if (code == INQ_OK &&
        (study->chosen == NULL || study->faulty == NULL || study->step_ns == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", study->trace->n_ranks);
    }
    if (code == INQ_OK && study->run.n_steps > 0) {
        check_base(study);
    }
    return code;
}

/* Whether the candidate has all ranks of the role of one of its own. */
static bool has_role(const struct inq_study *study, const struct inq_candidate *candidate,
                     uint32_t rank)
{
    uint32_t role = study->roles.of[rank];
    size_t own = 0;

    for (size_t k = 0; k < candidate->n_ranks; k++) {
        own += study->roles.of[candidate->ranks[k]] == role;
    }
    return own == study->roles.members[role];
}

/* Larger kernels on all of a stage are how the work is divided. */
void inq_study_know_faults(struct inq_study *study, const struct inq_attribution *found)
{
    for (size_t i = 0; study->faulty != NULL && i < found->n_candidates; i++) {
        const struct inq_candidate *c = &found->candidates[i];
        bool gpu = c->kind == INQ_FINDING_SLOW_GPU;
        for (size_t k = 0; (gpu || c->kind == INQ_FINDING_MORE_WORK) && k < c->n_ranks; k++) {
            uint32_t rank = c->ranks[k];
            study->faulty[rank] = study->faulty[rank] || gpu || !has_role(study, c, rank);
        }
    }
}

static void release_links(struct inq_links *links)
{
    for (size_t i = 0; i < links->n; i++) {
        inq_mem_free(links->at[i].slow);
        inq_mem_free(links->at[i].usual);
    }
    inq_mem_free(links->at);
    *links = (struct inq_links){0};
}

void inq_study_release(struct inq_study *study)
{
    inq_step_stats_release(&study->cells);
    inq_peer_groups_release(&study->roles);
    inq_silences_release(&study->silences);
    release_links(&study->links);
    inq_counterfactual_release(&study->run);
    inq_mem_free(study->chosen);
    inq_mem_free(study->faulty);
    inq_mem_free(study->step_ns);
    *study = (struct inq_study){0};
}

/* Interval of the mean of n values by bootstrap: the same for equal values on every machine. */
static void bootstrap_mean(const int64_t *values, size_t n, int64_t *low, int64_t *high)
{
    double means[RESAMPLES];
    uint64_t state = n;

    *low = INQ_TIME_NONE;
    *high = INQ_TIME_NONE;
    if (n < INQ_GAIN_LEAST_STEPS) {
        return;
    }
    for (size_t k = 0; k < RESAMPLES; k++) {
        means[k] = 0.0;
        for (size_t i = 0; i < n; i++) {
            state = inq_hash_u64(state + 1);
            means[k] += (double)values[state % n] / (double)n;
        }
    }
    inq_sort_double(means, RESAMPLES);
    *low = (int64_t)llround(means[RESAMPLES / 40]);
    *high = (int64_t)llround(means[RESAMPLES - 1 - RESAMPLES / 40]);
}

int inq_study_gain(struct inq_study *study, const struct inq_repair *repairs, size_t n,
                   struct inq_gain *gain, struct inq_err *err)
{
    size_t n_steps = study->run.n_steps;
    int64_t kept_ns = 0;
    int code = INQ_OK;

    *gain = (struct inq_gain){.low_ns = INQ_TIME_NONE, .high_ns = INQ_TIME_NONE};
    inq_counterfactual_reset(&study->run);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        int64_t before_ns = gain->removed_ns;
        code = inq_repair_apply(study, &repairs[i], gain, err);
        if (repairs[i].kind == INQ_REPAIR_PAUSES) { /* every rank still has its own */
            kept_ns += (gain->removed_ns - before_ns) / (int64_t)(study->trace->n_ranks * n_steps);
        }
    }
    if (code != INQ_OK || !gain->applies) {
        return code;
    }
    inq_counterfactual_steps(&study->run, study->step_ns);
    for (size_t s = 0; s < n_steps; s++) {
        study->step_ns[s] = study->run.base_ns[s] - study->step_ns[s] - kept_ns;
    }
    gain->steps_seen = inq_gain_steps_seen(study->step_ns, n_steps, study->simulated_ns);
    gain->gain_ns = mean_of(study->step_ns, n_steps);
    bootstrap_mean(study->step_ns, n_steps, &gain->low_ns, &gain->high_ns);
    return INQ_OK;
}
