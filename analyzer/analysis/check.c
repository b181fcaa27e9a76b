/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured against the baseline: is it worse by more than the tolerance and chance? */
#include "inquest/check.h"

#include "analysis/check_measures.h"
#include "base/mem.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t MAX_ROWS = 50000;
/* Ratios in a baseline have nine digits. */
static const double TEXT_ROUNDING = 1e-8;

/* A time that grows by a part of a step where the step is not known grows by a part of itself. */
struct limits {
    const struct inq_check_rules *rules;
    double tolerance;
    double step_ns; /* NaN: not known */
};

const char *inq_check_outcome_text(enum inq_check_outcome outcome)
{
    static const char *const texts[] = {"within", "improved", "regressed", "gone", "added", "off"};
    return texts[outcome];
}

void inq_check_release(struct inq_check *check)
{
    for (size_t i = 0; i < check->n_new; i++) {
        inq_mem_free(check->fresh[i].id);
        inq_mem_free(check->fresh[i].title);
    }
    inq_mem_free(check->fresh);
    inq_mem_free(check->rows);
    *check = (struct inq_check){0};
}

/* ---- one measure -----------------------------------------------------------------------------*/

static char *value_text(enum inq_check_unit unit, double value, char *buf, size_t size)
{
    if (unit == INQ_UNIT_NS) {
        return inq_time_format((int64_t)value, buf, size);
    }
    (void)snprintf(buf, size, unit == INQ_UNIT_COUNT ? "%.6g" : "%.4f", value);
    return buf;
}

/* By how much the baseline may grow. */
static double allowance(const struct limits *limits, const struct inq_measure *base, double part)
{
    switch (inq_measure_info(base->kind)->growth) {
    case INQ_GROWS_STEP:
        return part * (isfinite(limits->step_ns) ? limits->step_ns : base->value);
    case INQ_GROWS_ADD:
        return part;
    case INQ_GROWS_OWN:
        return part * base->value;
    case INQ_GROWS_NOT:
        break;
    }
    return 0.0;
}

static double half_up(const struct inq_measure *m)
{
    return isfinite(m->high) ? m->high - m->value : 0.0;
}

static double half_down(const struct inq_measure *m)
{
    return isfinite(m->low) ? m->value - m->low : 0.0;
}

static void say(struct inq_check_row *row, const char *what, bool absolute)
{
    enum inq_check_unit unit = inq_measure_info(row->now.kind)->unit;
    char now[32];
    char base[32];
    char limit[32];
    char change[48] = "";
    value_text(unit, row->now.value, now, sizeof now);
    value_text(unit, row->limit, limit, sizeof limit);
    if (isfinite(row->change)) {
        (void)snprintf(change, sizeof change, " (%+.1f %%)", row->change * 100.0);
    }
    if (isfinite(row->base.value)) {
        (void)snprintf(row->message, sizeof row->message, "%s %s%s: %s, was %s; limit %s%s",
                       row->now.name, what, change, now,
                       value_text(unit, row->base.value, base, sizeof base), limit,
                       absolute ? " (a rule's)" : "");
    } else {
        (void)snprintf(row->message, sizeof row->message, "%s %s: %s; limit %s%s", row->now.name,
                       what, now, limit, absolute ? " (a rule's)" : "");
    }
}

/* An absolute limit asks nothing of the baseline. */
static void judge_absolute(struct inq_check_row *row, double limit, bool by_rule)
{
    row->limit = limit;
    double above = row->now.value - limit;
    bool fails = above > half_down(&row->now);
    row->outcome = fails ? INQ_CHECK_REGRESSED : INQ_CHECK_WITHIN;
    say(row,
        fails         ? "is above its limit"
        : above > 0.0 ? "is above its limit, but not by more than chance explains"
                      : "is within its limit",
        by_rule);
}

static void judge_relative(struct inq_check_row *row, const struct limits *limits, double part)
{
    double allowed = allowance(limits, &row->base, part);
    double slack = allowed + fabs(row->base.value) * TEXT_ROUNDING;
    double chance_worse = hypot(half_down(&row->now), half_up(&row->base));
    double chance_better = hypot(half_up(&row->now), half_down(&row->base));
    double growth = row->now.value - row->base.value;
    row->limit = row->base.value + allowed;
    if (growth - slack > chance_worse) {
        row->outcome = INQ_CHECK_REGRESSED;
        say(row, "got worse", false);
    } else if (-growth - slack > chance_better) {
        row->outcome = INQ_CHECK_IMPROVED;
        say(row, "improved", false);
    } else {
        row->outcome = INQ_CHECK_WITHIN;
        say(row,
            growth > slack ? "is above its limit, but not by more than chance explains"
                           : "is within its limit",
            false);
    }
}

static void judge(struct inq_check_row *row, const struct limits *limits)
{
    const struct inq_check_rule *rule = &limits->rules->of[row->now.kind];
    bool measured = isfinite(row->now.value);
    bool known = isfinite(row->base.value);
    row->limit = (double)NAN;
    row->change = (double)NAN;
    if (measured && known && row->base.value > 0.0) {
        double change = row->now.value / row->base.value - 1.0;
        row->change = fabs(change) > TEXT_ROUNDING ? change : 0.0;
    }
    if (rule->kind == INQ_RULE_OFF) {
        row->outcome = INQ_CHECK_OFF;
        (void)snprintf(row->message, sizeof row->message, "%s is not looked at (a rule's)",
                       row->now.name);
    } else if (!measured) {
        row->outcome = INQ_CHECK_GONE;
        (void)snprintf(row->message, sizeof row->message,
                       "%s is in the baseline, but could not be measured now", row->now.name);
    } else if (rule->kind == INQ_RULE_LIMIT) {
        judge_absolute(row, rule->value, true);
    } else if (inq_measure_info(row->now.kind)->growth == INQ_GROWS_NOT) {
        judge_absolute(row, 0.0, false);
    } else if (known) {
        judge_relative(row, limits,
                       rule->kind == INQ_RULE_TOLERANCE ? rule->value : limits->tolerance);
    } else {
        row->outcome = INQ_CHECK_ADDED;
        (void)snprintf(row->message, sizeof row->message,
                       "%s is not in the baseline; --update would add it", row->now.name);
    }
    row->pass = row->outcome != INQ_CHECK_REGRESSED && row->outcome != INQ_CHECK_GONE;
}

/* ---- findings --------------------------------------------------------------------------------*/

/* A finding is new when the baseline lacks it, or had it two steps of severity lower: one step may
 * be chance at a border. */
static bool is_new(const struct inq_known_finding *finding, const struct inq_snapshot *base)
{
    for (size_t i = 0; i < base->n_findings; i++) {
        if (strcmp(base->findings[i].id, finding->id) == 0) {
            return (int)finding->severity >= (int)base->findings[i].severity + 2;
        }
    }
    return true;
}

static int take_new(struct inq_check *check, const struct inq_known_finding *finding,
                    struct inq_err *err)
{
    struct inq_snapshot one = {.findings = &check->fresh[check->n_new],
                               .n_findings = 0,
                               .cap_findings = 1}; /* room is there: nothing is moved */
    int code = inq_snapshot_add_finding(&one, finding->id, finding->severity, finding->title, err);
    check->n_new += one.n_findings;
    return code;
}

static int add_findings(struct inq_check *check, const struct inq_snapshot *now,
                        const struct inq_snapshot *base, const struct limits *limits,
                        struct inq_err *err)
{
    enum inq_severity line =
        limits->rules->has_severity ? limits->rules->severity : INQ_SEVERITY_MEDIUM;
    struct inq_check_row *row = &check->rows[check->n++];
    *row = (struct inq_check_row){.now = {.kind = INQ_MEASURE_NEW_FINDINGS}};
    (void)snprintf(row->now.name, sizeof row->now.name, "%s",
                   inq_measure_info(INQ_MEASURE_NEW_FINDINGS)->name);
    row->base = row->now;
    row->base.value = row->base.low = row->base.high = (double)NAN;
    row->now.low = row->now.high = (double)NAN;
    check->fresh = inq_mem_zalloc(now->n_findings + 1, sizeof *check->fresh);
    if (check->fresh == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the findings");
    }
    bool off = limits->rules->of[INQ_MEASURE_NEW_FINDINGS].kind == INQ_RULE_OFF;
    for (size_t i = 0; !off && i < now->n_findings; i++) {
        const struct inq_known_finding *finding = &now->findings[i];
        if (finding->severity >= line && is_new(finding, base)) {
            int code = take_new(check, finding, err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    row->now.value = (double)check->n_new;
    judge(row, limits);
    if (check->n_new > 0) {
        (void)snprintf(row->message, sizeof row->message,
                       "%zu new finding%s of %s or above: %.400s", check->n_new,
                       check->n_new == 1 ? "" : "s", inq_severity_text(line),
                       check->fresh[0].title != NULL ? check->fresh[0].title : check->fresh[0].id);
    } else if (!off) {
        (void)snprintf(row->message, sizeof row->message,
                       "no finding of %s or above that the baseline does not have",
                       inq_severity_text(line));
    }
    return INQ_OK;
}

/* ---- all -------------------------------------------------------------------------------------*/

/* Those of a run differ from run to run: their noise is in what is measured. */
static bool same_times(const struct inq_snapshot *a, const struct inq_snapshot *b)
{
    size_t bytes = 3 * a->n_stage_times * sizeof *a->stage_times_ns;
    return a->times_of_run ||
           (memcmp(a->times_ns, b->times_ns, sizeof a->times_ns) == 0 &&
            a->n_stage_times == b->n_stage_times &&
            (bytes == 0 || memcmp(a->stage_times_ns, b->stage_times_ns, bytes) == 0));
}

/* As --times takes them; cut short with "...". */
static char *times_text(const struct inq_snapshot *s, char *buf, size_t size)
{
    enum { FEW = 4, ALL = sizeof s->times_ns / sizeof *s->times_ns };
    size_t used = 0;
    int n = FEW;
    for (int i = FEW; i < ALL; i++) {
        n = s->times_ns[i] != 0 ? i + 1 : n;
    }
    size_t total = (size_t)n + (s->n_stage_times > 0 ? 3 * (s->n_stage_times - 1) : 0);
    for (size_t i = 0; i < total; i++) {
        bool later = i >= (size_t)n;
        size_t place = later ? i - (size_t)n + 3 : i;
        int64_t ns = later ? s->stage_times_ns[place] : s->times_ns[i];
        if (used + 32 > size) {
            (void)snprintf(buf + used, size - used, "...");
            break;
        }
        const char *before = i == 0 ? "" : later && place % 3 == 0 ? "/" : ",";
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64 "ns", before, ns);
    }
    return buf;
}

static int not_comparable(const struct inq_snapshot *now, const struct inq_snapshot *base,
                          struct inq_err *err)
{
    bool schedule = now->subject == INQ_SUBJECT_SCHEDULE;
    if (now->subject != base->subject) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the baseline is of a %s, and this is a %s",
                           schedule ? "run" : "schedule", schedule ? "schedule" : "run");
    }
    if (now->ranks != base->ranks) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "the baseline is of %" PRId32 " ranks, and here are %" PRId32,
                           base->ranks, now->ranks);
    }
    if (schedule && (now->stages != base->stages || now->microbatches != base->microbatches)) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "the baseline is of %" PRId32 " stages and %" PRId32
                           " micro-batches, and here are %" PRId32 " and %" PRId32,
                           base->stages, base->microbatches, now->stages, now->microbatches);
    }
    if (schedule && now->times_of_run != base->times_of_run) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the baseline was timed %s: that is not compared",
                           base->times_of_run ? "by a run's times, and this by --times told"
                                              : "by --times told, and this by a run's");
    }
    if (schedule && !same_times(now, base)) {
        char text[200];
        return inq_err_set(err, INQ_UNSUPPORTED, "the baseline was timed with --times %s",
                           times_text(base, text, sizeof text));
    }
    return INQ_OK;
}

static void add_row(struct inq_check *check, const struct inq_measure *now,
                    const struct inq_measure *base, const struct limits *limits)
{
    static const double nan = (double)NAN;
    struct inq_check_row *row = &check->rows[check->n++];
    const struct inq_measure *any = now != NULL ? now : base;
    struct inq_measure none = *any;
    none.value = none.low = none.high = nan;
    none.n = 0;
    *row = (struct inq_check_row){.now = now != NULL ? *now : none,
                                  .base = base != NULL ? *base : none};
    judge(row, limits);
}

static void say_lint(struct inq_check *check, const struct inq_snapshot *now)
{
    for (size_t i = 0; i < check->n; i++) {
        struct inq_check_row *row = &check->rows[i];
        if (row->now.kind == INQ_MEASURE_LINT_PROBLEMS && !row->pass && now->problem[0] != '\0') {
            (void)snprintf(row->message, sizeof row->message, "lint finds %.0f problem%s; %s",
                           row->now.value, row->now.value > 1.0 ? "s" : "", now->problem);
        }
    }
}

/* Rows in the order of the kinds; of one kind, as measured now, then those that are gone. */
static void add_rows(struct inq_check *check, const struct inq_snapshot *now,
                     const struct inq_snapshot *base, const struct limits *limits)
{
    for (int kind = 0; kind < INQ_MEASURE_COUNT; kind++) {
        for (size_t i = 0; i < now->n; i++) {
            if ((int)now->measures[i].kind == kind) {
                add_row(check, &now->measures[i], inq_snapshot_find(base, now->measures[i].name),
                        limits);
            }
        }
        for (size_t i = 0; i < base->n; i++) {
            if ((int)base->measures[i].kind == kind &&
                inq_snapshot_find(now, base->measures[i].name) == NULL) {
                add_row(check, NULL, &base->measures[i], limits);
            }
        }
    }
}

int inq_check_compare(const struct inq_snapshot *now, const struct inq_baseline *baseline,
                      const struct inq_check_rules *rules, struct inq_check *check,
                      struct inq_err *err)
{
    const struct inq_snapshot *base = &baseline->snapshot;
    struct inq_check_rules all = baseline->rules;
    *check = (struct inq_check){.subject = now->subject};
    int code = not_comparable(now, base, err);
    if (code != INQ_OK) {
        return code;
    }
    if (rules != NULL) {
        inq_check_rules_merge(&all, rules);
    }
    const struct inq_measure *step = inq_snapshot_find(base, "step_time_ns");
    struct limits limits = {.rules = &all,
                            .tolerance = all.has_tolerance ? all.tolerance : INQ_CHECK_TOLERANCE,
                            .step_ns = step != NULL ? step->value : (double)NAN};
    size_t most = now->n + base->n + 1;
    check->rows = most < MAX_ROWS ? inq_mem_zalloc(most, sizeof *check->rows) : NULL;
    if (check->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu checks", most);
    }
    add_rows(check, now, base, &limits);
    say_lint(check, now);
    if (now->subject == INQ_SUBJECT_RUN) {
        code = add_findings(check, now, base, &limits, err);
    }
    for (size_t i = 0; i < check->n; i++) {
        check->n_failed += !check->rows[i].pass;
    }
    check->pass = check->n_failed == 0;
    return code;
}
