/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured within a step does not have the shift of its run, but each rank its own. The
 * lines below are of 0.4 % from rank to rank in each of two runs (normal), of 0.5 % from step to
 * step, and of runs that as a whole shift evenly by up to 1 %. */
#include "analysis/check/within.h"

#include "analysis/check/check.h"
#include "analysis/check/pool.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double RANK_TO_RANK = 0.004;
static const double STEP_TO_STEP = 0.005;
/* Of the difference of two that shift evenly. */
static const double VARIANCE_OF_SHIFT = INQ_MOST_SHIFT * INQ_MOST_SHIFT / 6.0;

enum { RANKS_OF_STAGE = 2, PEERS_OF_RANK = 4, MOST_STAGES = 256 };

static size_t stages_in(const struct inq_snapshot *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += s->measures[i].kind == INQ_MEASURE_STAGE_SHARE;
    }
    return n;
}

/* The measure of another kind for the same ranks; NULL: there is none. */
static const struct inq_measure *like(const struct inq_snapshot *s, const struct inq_check_row *row,
                                      enum inq_measure_kind kind)
{
    char name[INQ_MEASURE_NAME];
    return inq_snapshot_find(s, inq_measure_like(&row->now, kind, name, sizeof name));
}

/* ---- those that changed alike ----------------------------------------------------------------*/

/* A stage this far from what the others changed by changed by itself: six deviations of what a
 * stage of one rank varies by from run to run, 0.6 %. */
static const double ALIKE = 0.04;

/* The part of all stages' compute that is one's, of what multiple of the others' mean it is. */
static double part_of(const struct inq_measure *m, size_t stages)
{
    return m->value / ((double)stages - 1.0 + m->value);
}

/* What makes of a multiple of all other stages one of those that changed alike: 1 nearly always. A
 * stage that got much faster makes no other one slow, and a slow one hides none. */
static double against_alike(const struct inq_check_row *of, const struct inq_snapshot *now,
                            const struct inq_snapshot *base)
{
    double changes[MOST_STAGES]; /* of the others' parts, as logarithms */
    double sorted[MOST_STAGES];
    size_t stages = stages_in(now);
    size_t n = 0;
    double all = 0.0;
    double alike = 0.0;
    double n_alike = 0.0;
    for (size_t i = 0; stages <= MOST_STAGES && i < now->n; i++) {
        const struct inq_measure *m = &now->measures[i];
        const struct inq_measure *before = inq_snapshot_find(base, m->name);
        if (m->kind == INQ_MEASURE_STAGE_SHARE && strcmp(m->name, of->now.name) != 0 &&
            before != NULL && m->value > 0.0 && before->value > 0.0) {
            changes[n] = sorted[n] = log(part_of(m, stages) / part_of(before, stages));
            n++;
        }
    }
    double middle = n > 0 ? inq_median(sorted, n) : 0.0;
    for (size_t i = 0; i < n; i++) {
        bool same = fabs(changes[i] - middle) < ALIKE;
        all += changes[i] / (double)n;
        alike += same ? changes[i] : 0.0;
        n_alike += same ? 1.0 : 0.0;
    }
    return n_alike > 0.0 && n_alike < (double)n ? exp(all - alike / n_alike) : 1.0;
}

/* ---- a stage against one run -----------------------------------------------------------------*/

/* Of 2,016 pairs of runs that bench_gate made 8 had a stage above its line by chance, and of as
 * many with a stage 3 % slower 94.7 % were found: 90 % where a rank makes up a stage, 99.7 % where
 * two or four do, of which the least a stage is told for decides. It is near the best of tests: the
 * likelihood ratio of all stages' times, with the bench's noise known, finds 95.2 % with one alarm
 * in 200 pairs, and 95.0 % with 0.45 in 100. */
static const double ABOVE_BY_CHANCE = 0.006;
static const double LEAST_AGAINST_ONE = 0.017;
/* Half of a median's interval in deviations of the mean of the middle values, of ten normal steps;
 * 2.4 of a hundred. */
static const double HALF_IN_DEVIATIONS = 2.5;

/* So many deviations one of n normal values is above with this probability, or a little less. */
static double deviations_of(double probability, size_t n)
{
    double low = 0.0;
    double high = 8.0;
    for (int i = 0; i < 40; i++) {
        double z = (low + high) / 2.0;
        bool above = 0.5 * erfc(z / sqrt(2.0)) * (double)n > probability;
        low = above ? z : low;
        high = above ? high : z;
    }
    return high;
}

/* By what steps vary, a part of its value varies so much (a variance). */
static double noise_of_steps(const struct inq_measure *m, size_t stages, int32_t replicas)
{
    double others = (double)stages - 1.0;
    double half = (m->high - m->low) / 2.0 / m->value / HALF_IN_DEVIATIONS;
    double assumed = STEP_TO_STEP * STEP_TO_STEP * (1.0 + 1.0 / others) / replicas;
    return isfinite(half) ? half * half : assumed / fmax((double)m->n, 1.0);
}

/* Of few steps an interval says little: half of it is what the intervals of all stages say. */
static double noise_of_stage(const struct inq_check_row *row, const struct inq_snapshot *now,
                             const struct inq_snapshot *base, size_t stages, int32_t replicas)
{
    double sum = 0.0;
    double n = 0.0;
    for (size_t i = 0; i < now->n; i++) {
        const struct inq_measure *m = &now->measures[i];
        const struct inq_measure *before = inq_snapshot_find(base, m->name);
        if (m->kind == INQ_MEASURE_STAGE_SHARE && before != NULL && m->value > 0.0 &&
            before->value > 0.0) {
            sum += noise_of_steps(m, stages, replicas) + noise_of_steps(before, stages, replicas);
            n += 1.0;
        }
    }
    double own =
        noise_of_steps(&row->now, stages, replicas) + noise_of_steps(&row->base, stages, replicas);
    return (own + sum / n) / 2.0;
}

/* What a stage grew by beyond the others is its own change less theirs. Theirs is the shift of the
 * runs and their own noise: where they changed by c, the part c * q of it is expected to be noise
 * (q is its share of both variances), which is none of this stage's. */
static void hold_stage(const struct inq_check_row *row, const struct inq_snapshot *now,
                       const struct inq_snapshot *base, struct inq_within_step *w)
{
    const struct inq_measure *own_now = like(now, row, INQ_MEASURE_COMPUTE);
    const struct inq_measure *own_base = like(base, row, INQ_MEASURE_COMPUTE);
    int32_t replicas = base->work.replicas > 1 ? base->work.replicas : 1;
    size_t n = stages_in(now);
    size_t stages = n > 2 ? n : 2;
    double others = (double)stages - 1.0;
    double steps = noise_of_stage(row, now, base, stages, replicas);
    double own = 2.0 * RANK_TO_RANK * RANK_TO_RANK / replicas + steps * others / (others + 1.0);
    double noise = own / others;
    double part = noise / (noise + VARIANCE_OF_SHIFT);
    double change = 0.0;
    if (own_now != NULL && own_base != NULL && own_base->value > 0.0) {
        change = own_now->value / own_base->value - row->now.value / row->base.value;
    }
    double expected = part * fmin(fmax(change, -INQ_MOST_SHIFT), INQ_MOST_SHIFT);
    double line = fmax(deviations_of(ABOVE_BY_CHANCE, stages) * sqrt(own + (1.0 - part) * noise),
                       LEAST_AGAINST_ONE);
    w->above = line - expected;
    w->below = line + expected;
}

/* ---- a rank ----------------------------------------------------------------------------------*/

/* What is tolerated of a rank is itself a spread from run to run, independent of that of the steps.
 * The slower of few ranks varies by more than one among many, and is further from the other than
 * from a median of many. */
static const double TOLERANCE_OF_RANK = 0.0175;
static const double TOLERANCE_OF_RANK_OF_FEW = 0.0225;

static double half(double end, double value)
{
    return isfinite(end) ? end - value : 0.0;
}

static void hold_rank(const struct inq_check_row *row, int32_t replicas, struct inq_within_step *w)
{
    const struct inq_measure *now = &row->now;
    const struct inq_measure *base = &row->base;
    double tolerance = replicas >= PEERS_OF_RANK ? TOLERANCE_OF_RANK : TOLERANCE_OF_RANK_OF_FEW;
    double worse = hypot(half(now->low, now->value), half(base->high, base->value));
    double better = hypot(half(now->high, now->value), half(base->low, base->value));
    w->above = hypot(tolerance, worse / base->value);
    w->below = hypot(tolerance, better / base->value);
}

/* ---- against several runs --------------------------------------------------------------------*/

/* One stage in 3,000 goes above its line by chance, and one that is 3 % slower stays below it in 1
 * of 100, or in 5 where a single rank has it. */
static const double LEAST_STAGE = 0.015;
static const double LEAST_STAGE_OF_ONE = 0.019;
static const double LEAST_RANK = 0.012;
static const double LEAST_RANK_OF_FEW = 0.019;

static double least_of(enum inq_measure_kind kind, int32_t replicas)
{
    if (kind == INQ_MEASURE_STAGE_SHARE) {
        return replicas >= RANKS_OF_STAGE ? LEAST_STAGE : LEAST_STAGE_OF_ONE;
    }
    return replicas >= PEERS_OF_RANK ? LEAST_RANK : LEAST_RANK_OF_FEW;
}

/* A rank among few peers is seen twice, by independent noise: it computes longer than they do, and
 * its stage longer than the other stages. Of a rank of two that is 3 % slower the one finds 81 %,
 * both together 98 %, with half the false alarms. */
static const double LEAST_RANK_WITH_STAGE = 0.016;
/* A rank that is slower by d takes its stage of n along by d / n; where the whole stage is slower,
 * its ranks are as they were to each other. Of two ranks the two are equally likely where the rank
 * is above its peer by 0.8 of what its stage is above the others; a little less, as the slower of
 * two is above the other by chance already, which the baseline has. */
static const double OF_THE_RANK = 0.6;

/* Both weigh by the inverse of their variances, which come from how many ranks and stages there
 * are. */
static double joint_growth_of_stage(const struct inq_check_row *row, const struct inq_snapshot *now,
                                    const struct inq_snapshot *base)
{
    const struct inq_measure *stage_now = like(now, row, INQ_MEASURE_STAGE_SHARE);
    const struct inq_measure *stage_base = like(base, row, INQ_MEASURE_STAGE_SHARE);
    int32_t replicas = base->work.replicas;
    double ranks = (double)replicas;
    double stages = (double)stages_in(now);
    if (stage_now == NULL || stage_base == NULL || replicas < 2 || replicas >= PEERS_OF_RANK ||
        stages < 2.0 || stage_base->n_runs != row->base.n_runs) {
        return 0.0;
    }
    double weight = (ranks - 1.0) / ranks;
    double weight_of_stage = (stages - 1.0) / stages;
    double sum = weight + weight_of_stage / ranks;
    double stage = stage_now->value / stage_base->value - 1.0;
    double rank = row->now.value / row->base.value - 1.0;
    struct inq_measure joint = {.n_runs = stage_base->n_runs};
    for (size_t i = 0; i < stage_base->n_runs; i++) {
        joint.runs[i] = (weight * row->base.runs[i] / row->base.value +
                         weight_of_stage * stage_base->runs[i] / stage_base->value) /
                        sum;
    }
    double growth = (weight * rank + weight_of_stage * stage) / sum;
    bool beyond = growth > inq_pool_allowance(&joint, LEAST_RANK_WITH_STAGE);
    return beyond && stage > 0.0 && rank > OF_THE_RANK * stage ? stage : 0.0;
}

/* ---- all -------------------------------------------------------------------------------------*/

struct inq_within_step inq_within_step(struct inq_check_row *row, const struct inq_snapshot *now,
                                       const struct inq_snapshot *base)
{
    bool stage = row->now.kind == INQ_MEASURE_STAGE_SHARE;
    bool rank = row->now.kind == INQ_MEASURE_SLOWEST_RANK;
    struct inq_within_step w = {.holds = stage || rank,
                                .above = (double)NAN,
                                .below = (double)NAN,
                                .least = least_of(row->now.kind, base->work.replicas)};
    if (!w.holds || !(row->now.value > 0.0 && row->base.value > 0.0)) {
        return w;
    }
    if (rank) {
        hold_rank(row, base->work.replicas, &w);
        w.stage = joint_growth_of_stage(row, now, base);
        return w;
    }
    double factor = against_alike(row, now, base);
    row->now.value *= factor;
    row->now.low *= factor;
    row->now.high *= factor;
    hold_stage(row, now, base, &w);
    return w;
}
