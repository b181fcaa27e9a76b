/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines of several runs: what differs from run to run is measured. */
#include "analysis/check/pool.h"

#include "analysis/check/check.h"
#include "base/stats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Fewer runs say nothing of their spread. */
enum { LEAST_RUNS = 3 };
/* So many deviations keep one in 160 of normal values, and all of those that shift evenly; five
 * runs can lie so close by chance that a floor is needed. */
static const double DEVIATIONS = 2.5;
/* A creep needs six values, of which nearly all pairs ascend (z of Mann and Kendall: 0.5 %), and
 * has to add up to what a single run would be stopped for. */
enum { LEAST_CREEPING = 6 };
static const double CREEP_Z = 2.576;
static const double CREEP_LEAST = 0.03;

static void append(struct inq_measure *to, double value)
{
    if (to->n_runs == INQ_POOL_MOST) { /* the oldest goes */
        memmove(to->runs, to->runs + 1, (INQ_POOL_MOST - 1) * sizeof *to->runs);
        to->n_runs--;
    }
    to->runs[to->n_runs++] = value;
}

/* The mean of the runs; its ends are the least and the most. */
static void summarize(struct inq_measure *m)
{
    double sum = 0.0;
    m->low = m->high = m->runs[0];
    for (size_t i = 0; i < m->n_runs; i++) {
        sum += m->runs[i];
        m->low = fmin(m->low, m->runs[i]);
        m->high = fmax(m->high, m->runs[i]);
    }
    m->value = sum / (double)m->n_runs;
    if (inq_measure_info(m->kind)->unit == INQ_UNIT_NS) {
        m->value = round(m->value);
    }
}

static int add_measure(struct inq_snapshot *pool, const struct inq_measure *m, struct inq_err *err)
{
    const struct inq_measure *known = inq_snapshot_find(pool, m->name);
    struct inq_measure *to = known != NULL ? &pool->measures[known - pool->measures] : NULL;
    if (to == NULL) {
        const char *dot = strchr(m->name, '.');
        struct inq_measure empty = *m;
        empty.n_runs = 0;
        int code = inq_snapshot_add(pool, m->kind, dot != NULL ? dot + 1 : NULL, &empty, err);
        if (code != INQ_OK) {
            return code;
        }
        to = &pool->measures[pool->n - 1];
    }
    if (m->n_runs == 0) {
        append(to, m->value);
    }
    for (size_t i = 0; i < m->n_runs; i++) {
        append(to, m->runs[i]);
    }
    to->n = m->n < to->n ? m->n : to->n;
    summarize(to);
    return INQ_OK;
}

static int add_finding(struct inq_snapshot *pool, const struct inq_known_finding *f,
                       struct inq_err *err)
{
    for (size_t i = 0; i < pool->n_findings; i++) {
        if (strcmp(pool->findings[i].id, f->id) == 0) {
            bool worse = f->severity > pool->findings[i].severity;
            pool->findings[i].severity = worse ? f->severity : pool->findings[i].severity;
            return INQ_OK;
        }
    }
    return inq_snapshot_add_finding(pool, f->id, f->severity, f->title, err);
}

int inq_snapshot_pool(struct inq_snapshot *pool, const struct inq_snapshot *run,
                      struct inq_err *err)
{
    bool first = pool->n == 0;
    char text[400];
    if (run->subject != INQ_SUBJECT_RUN || (!first && run->ranks != pool->ranks)) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "a baseline of several runs is of equal jobs: here are %" PRId32
                           " ranks, and %" PRId32 " before",
                           run->ranks, pool->ranks);
    }
    if (!first && run->gpu[0] != '\0' && pool->gpu[0] != '\0' && strcmp(run->gpu, pool->gpu) != 0) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "a baseline of several runs is of equal jobs: this one ran on %s, those "
                           "before on %s",
                           run->gpu, pool->gpu);
    }
    pool->subject = INQ_SUBJECT_RUN;
    pool->ranks = run->ranks;
    if (!first && inq_workload_differs(&run->work, &pool->work, text, sizeof text)) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "a baseline of several runs is of equal jobs: this one has %s", text);
    }
    pool->work = first ? run->work : pool->work;
    if (pool->gpu[0] == '\0') {
        memcpy(pool->gpu, run->gpu, sizeof pool->gpu);
    }
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < run->n; i++) {
        code = add_measure(pool, &run->measures[i], err);
    }
    for (size_t i = 0; code == INQ_OK && i < run->n_findings; i++) {
        code = add_finding(pool, &run->findings[i], err);
    }
    return code;
}

double inq_pool_allowance(const struct inq_measure *base, double least)
{
    double mean = 0.0;
    double squares = 0.0;
    double n = (double)base->n_runs;
    if (base->n_runs < LEAST_RUNS) {
        return (double)NAN;
    }
    for (size_t i = 0; i < base->n_runs; i++) {
        mean += base->runs[i] / n;
    }
    for (size_t i = 0; i < base->n_runs; i++) {
        squares += (base->runs[i] - mean) * (base->runs[i] - mean);
    }
    return fmax(DEVIATIONS * sqrt(squares / (n - 1.0)), least);
}

double inq_pool_creep(const struct inq_measure *base, double now, double unit)
{
    double values[INQ_POOL_MOST + 1];
    double slopes[(INQ_POOL_MOST + 1) * INQ_POOL_MOST / 2];
    size_t n = base->n_runs + 1;
    size_t pairs = 0;
    double rising = 0.0;
    if (n < LEAST_CREEPING) {
        return 0.0;
    }
    memcpy(values, base->runs, base->n_runs * sizeof *values);
    values[n - 1] = now;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            double up = values[k] - values[i];
            rising += up > 0.0 ? 1.0 : up < 0.0 ? -1.0 : 0.0;
            slopes[pairs++] = up / (double)(k - i);
        }
    }
    double count = (double)n;
    double deviation = sqrt(count * (count - 1.0) * (2.0 * count + 5.0) / 18.0);
    double slope = inq_median(slopes, pairs);
    bool creeps = rising - 1.0 > CREEP_Z * deviation && slope * (count - 1.0) > CREEP_LEAST * unit;
    return creeps ? slope : 0.0;
}
