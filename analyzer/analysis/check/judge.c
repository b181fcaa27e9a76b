/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured against the baseline: is it worse by more than the tolerance and chance? */
#include "inquest/check.h"

#include "analysis/check/check.h"
#include "analysis/check/pool.h"
#include "analysis/check/within.h"
#include "base/mem.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ratios in a baseline have nine digits. */
static const double TEXT_ROUNDING = 1e-8;

/* A gain of so few steps beside the baseline's is not told as one. */
static const uint64_t FEWER_STEPS = 2;

/* A time that grows by a part of a step where the step is not known grows by a part of itself. */
struct limits {
    const struct inq_check_rules *rules;
    const struct inq_snapshot *now, *base;
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
    static const double MOST_NS = 9.2e18; /* 292 years: what a limit in percent of years can pass */
    if (unit == INQ_UNIT_NS) {
        return inq_time_format((int64_t)fmin(value, MOST_NS), buf, size);
    }
    if (unit == INQ_UNIT_BYTES) {
        return inq_size_format(value, INQ_SIZE_BINARY, buf, size);
    }
    (void)snprintf(buf, size, unit == INQ_UNIT_COUNT ? "%.10g" : "%.4f", value);
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

/* "compute of stage 2": the measure as a sentence calls it. */
static const char *title_of(const struct inq_measure *m, char *buf, size_t size)
{
    const char *title = inq_measure_info(m->kind)->title;
    const char *of = strchr(m->name, '.');
    size_t letters = of != NULL ? strcspn(of + 1, "0123456789") : 0;
    if (of == NULL) {
        (void)snprintf(buf, size, "%s", title);
    } else {
        (void)snprintf(buf, size, "%s of %.*s %s", title, (int)letters, of + 1, of + 1 + letters);
    }
    return buf;
}

/* The same with so many more digits, times in the unit that they have anyway. */
static void fine_text(enum inq_check_unit unit, double value, int digits, char *buf, size_t size)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1.0, "ns"}};
    size_t i = 0;
    if (unit != INQ_UNIT_NS) {
        (void)snprintf(buf, size, "%.*f", 4 + digits, value);
        return;
    }
    while (i < 3 && fabs(value) < units[i].ns) {
        i++;
    }
    (void)snprintf(buf, size, "%.*f %s", i < 3 ? digits : 0, value / units[i].ns, units[i].name);
}

/* Two values that differ, with as many digits as show it: "1.0163" over a limit of "1.0163" reads
 * as a contradiction. */
static void tell_apart(enum inq_check_unit unit, const double values[2], char texts[2][32])
{
    for (int i = 0; i < 2; i++) {
        value_text(unit, values[i], texts[i], sizeof texts[i]);
    }
    bool fine = unit != INQ_UNIT_COUNT && unit != INQ_UNIT_BYTES && values[0] != values[1];
    for (int digits = 1; fine && strcmp(texts[0], texts[1]) == 0 && digits <= 7; digits++) {
        for (int i = 0; i < 2; i++) {
            fine_text(unit, values[i], digits, texts[i], sizeof texts[i]);
        }
    }
}

/* " by 4.8 %" of what got worse or improved, " (+0.3 %)" of the rest; "" nothing changed. */
static const char *change_text(const struct inq_check_row *row, char *buf, size_t size)
{
    double percent = row->change * 100.0;
    bool small = fabs(percent) < 0.05; /* one digit that counts: 0.04 % */
    bool moved = row->outcome == INQ_CHECK_REGRESSED || row->outcome == INQ_CHECK_IMPROVED;
    buf[0] = '\0';
    if (isfinite(percent) && percent != 0.0 && moved) {
        (void)snprintf(buf, size, small ? " by %.1g %%" : " by %.1f %%", fabs(percent));
    } else if (isfinite(percent) && percent != 0.0) {
        (void)snprintf(buf, size, small ? " (%+.1g %%)" : " (%+.1f %%)", percent);
    }
    return buf;
}

/* "step time got worse by 4.8 %, beyond ...: 22.0 ms, was 21.0 ms (limit 21.0 ms); rank 3". */
static void say(struct inq_check_row *row, const char *what, const char *than, bool by_rule)
{
    enum inq_check_unit unit = inq_measure_info(row->now.kind)->unit;
    char title[INQ_MEASURE_NAME + 32];
    char texts[2][32]; /* now, limit */
    char base[48] = "";
    char limit[64] = "";
    char change[48];
    bool worse = row->outcome == INQ_CHECK_REGRESSED && row->now.who[0] != '\0';
    bool over = row->outcome == INQ_CHECK_REGRESSED;
    const double values[] = {row->now.value, over ? row->limit : row->now.value};
    tell_apart(unit, values, texts);
    if (isfinite(row->base.value) && over && row->base.value == row->limit) {
        (void)snprintf(base, sizeof base, ", was %s", texts[1]);
    } else if (isfinite(row->base.value)) {
        size_t used = (size_t)snprintf(base, sizeof base, ", was ");
        value_text(unit, row->base.value, base + used, sizeof base - used);
    }
    if (row->outcome != INQ_CHECK_IMPROVED) { /* a gain has none */
        if (!over) {
            value_text(unit, row->limit, texts[1], sizeof texts[1]);
        }
        (void)snprintf(limit, sizeof limit, " (limit %s%s)", texts[1],
                       by_rule ? ", by a rule" : "");
    }
    (void)snprintf(row->message, sizeof row->message, "%s %s%s%s: %s%s%s%s%s",
                   title_of(&row->now, title, sizeof title), what,
                   change_text(row, change, sizeof change), than, texts[0], base, limit,
                   worse ? "; " : "", worse ? row->now.who : "");
}

/* "is over the limit, within its noise (34.2 ms to 34.9 ms)" */
static const char *noise_text(const struct inq_check_row *row, char *buf, size_t size)
{
    enum inq_check_unit unit = inq_measure_info(row->now.kind)->unit;
    const struct inq_measure *m = isfinite(row->now.low) ? &row->now : &row->base;
    char low[32];
    char high[32];
    (void)snprintf(buf, size, "is over the limit, within %s noise (%s to %s)",
                   m == &row->now ? "its" : "the baseline's",
                   value_text(unit, isfinite(m->low) ? m->low : m->value, low, sizeof low),
                   value_text(unit, isfinite(m->high) ? m->high : m->value, high, sizeof high));
    return buf;
}

/* An absolute limit asks nothing of the baseline. */
static void verify_absolute(struct inq_check_row *row, double limit, bool by_rule)
{
    char noise[128];
    row->limit = limit;
    double above = row->now.value - limit;
    bool fails = above > half_down(&row->now);
    row->outcome = fails ? INQ_CHECK_REGRESSED : INQ_CHECK_WITHIN;
    row->noisy = !fails && above > 0.0;
    say(row,
        fails         ? "is over its limit"
        : above > 0.0 ? noise_text(row, noise, sizeof noise)
                      : "is within its limit",
        "", by_rule);
}

/* Times are whole ns in a baseline; other values have the digits that were written. */
static double rounding(const struct inq_measure *base)
{
    bool whole = inq_measure_info(base->kind)->unit == INQ_UNIT_NS;
    return whole ? 0.0 : fabs(base->value) * TEXT_ROUNDING;
}

/* What one part of growth is a part of. */
static double unit_of(const struct limits *limits, const struct inq_measure *base)
{
    return allowance(limits, base, 1.0);
}

/* Runs that shift evenly by up to 1 % are up to 2 % apart. Compute of the slowest of several ranks
 * shifts with the run and the rank: more is needed for as few false alarms. */
static const double LEAST_ALLOWED = 0.02;
static const double LEAST_COMPUTE = 0.025;

/* "is less, but of 1 step where the baseline has 10": no gain is told. */
static bool is_of_few_steps(const struct inq_check_row *row, char *text, size_t size)
{
    (void)snprintf(text, size, "is less, but of %" PRIu64 " step%s where the baseline has %" PRIu64,
                   row->now.n, row->now.n == 1 ? "" : "s", row->base.n);
    return row->now.n * FEWER_STEPS <= row->base.n && row->base.n > 0;
}

/* Against several runs, whose spread is measured. */
static void verify_pooled(struct inq_check_row *row, const struct limits *limits, double allowed,
                          double stage)
{
    double unit = unit_of(limits, &row->base);
    double creep = inq_pool_creep(&row->base, row->now.value, unit);
    double growth = row->now.value - row->base.value;
    bool over = growth > allowed;
    char text[96];
    row->limit = row->base.value + allowed;
    if (growth < -allowed && is_of_few_steps(row, text, sizeof text)) {
        say(row, text, "", false);
        return;
    }
    row->outcome = over || stage > 0.0 || creep > 0.0 ? INQ_CHECK_REGRESSED
                   : growth < -allowed                ? INQ_CHECK_IMPROVED
                                                      : INQ_CHECK_WITHIN;
    if (!over && stage > 0.0) {
        (void)snprintf(text, sizeof text,
                       ", and its stage by %.1f %% with it, together beyond the spread of %zu runs",
                       100.0 * stage, row->base.n_runs);
        say(row, "got worse", text, false);
        return;
    }
    if (!over && creep > 0.0) {
        (void)snprintf(text, sizeof text, ", %.1f %% a run over %zu runs", 100.0 * creep / unit,
                       row->base.n_runs + 1);
        say(row, "crept up", text, false);
        return;
    }
    bool within = row->outcome == INQ_CHECK_WITHIN;
    (void)snprintf(text, sizeof text, "%s the spread of %zu runs",
                   within ? "is within" : ", beyond", row->base.n_runs);
    say(row,
        within                                ? text
        : row->outcome == INQ_CHECK_REGRESSED ? "got worse"
                                              : "improved",
        within ? "" : text, false);
}

static void verify_relative(struct inq_check_row *row, const struct limits *limits, double part)
{
    double allowed = allowance(limits, &row->base, part);
    double slack = allowed + rounding(&row->base);
    double chance_worse = hypot(half_down(&row->now), half_up(&row->base));
    double chance_better = hypot(half_up(&row->now), half_down(&row->base));
    double growth = row->now.value - row->base.value;
    char text[128];
    row->limit = row->base.value + allowed;
    if (growth > slack + chance_worse) {
        row->outcome = INQ_CHECK_REGRESSED;
        say(row, "got worse", "", false);
    } else if (-growth <= slack + chance_better) {
        row->outcome = INQ_CHECK_WITHIN;
        row->noisy = growth > slack;
        say(row, growth > slack ? noise_text(row, text, sizeof text) : "is within its limit", "",
            false);
    } else if (is_of_few_steps(row, text, sizeof text)) {
        row->outcome = INQ_CHECK_WITHIN;
        say(row, text, "", false);
    } else {
        row->outcome = INQ_CHECK_IMPROVED;
        say(row, "improved", "", false);
    }
}

/* What is exact may not grow at all. */
static double tolerance_of(const struct inq_check_row *row, const struct limits *limits)
{
    const struct inq_check_rule *rule = &limits->rules->of[row->now.kind];
    bool exact = row->now.n == 0 && row->base.n == 0;
    return rule->kind == INQ_RULE_TOLERANCE ? rule->value
           : limits->rules->has_tolerance   ? limits->rules->tolerance
           : exact                          ? 0.0
                                            : INQ_CHECK_TOLERANCE;
}

/* Against one run, what is held against its peers in the same step. */
static void verify_within_step(struct inq_check_row *row, const struct inq_within_step *within)
{
    double part = row->now.value / row->base.value - 1.0;
    char text[96];
    row->limit = row->base.value * (1.0 + within->above);
    if (row->now.value > row->limit) {
        row->outcome = INQ_CHECK_REGRESSED;
        say(row, "got worse", "", false);
    } else if (part >= -within->below) {
        say(row, "is within its limit", "", false);
    } else if (is_of_few_steps(row, text, sizeof text)) {
        say(row, text, "", false);
    } else {
        row->outcome = INQ_CHECK_IMPROVED;
        say(row, "improved", "", false);
    }
}

static double pooled_of(const struct inq_check_row *row, const struct limits *limits,
                        const struct inq_within_step *within)
{
    double least = within->holds                           ? within->least
                   : row->base.kind == INQ_MEASURE_COMPUTE ? LEAST_COMPUTE
                                                           : LEAST_ALLOWED;
    return inq_pool_allowance(&row->base, least * unit_of(limits, &row->base));
}

static void verify(struct inq_check_row *row, const struct limits *limits)
{
    const struct inq_check_rule *rule = &limits->rules->of[row->now.kind];
    struct inq_within_step within = inq_within_step(row, limits->now, limits->base);
    bool measured = isfinite(row->now.value);
    bool known = isfinite(row->base.value);
    bool by_default = !limits->rules->has_tolerance && rule->kind != INQ_RULE_TOLERANCE;
    char title[INQ_MEASURE_NAME + 32];
    row->limit = (double)NAN;
    row->change = (double)NAN;
    (void)title_of(measured ? &row->now : &row->base, title, sizeof title);
    if (measured && known && row->base.value > 0.0) {
        double change = row->now.value / row->base.value - 1.0;
        row->change = fabs(change) > TEXT_ROUNDING ? change : 0.0;
    }
    if (rule->kind == INQ_RULE_OFF) {
        row->outcome = INQ_CHECK_OFF;
        (void)snprintf(row->message, sizeof row->message, "%s is off, by a rule", title);
    } else if (!measured) {
        row->outcome = INQ_CHECK_GONE;
        (void)snprintf(row->message, sizeof row->message,
                       "%s could not be measured, and the baseline has it", title);
    } else if (rule->kind == INQ_RULE_LIMIT) {
        verify_absolute(row, rule->value, true);
    } else if (inq_measure_info(row->now.kind)->growth == INQ_GROWS_NOT) {
        verify_absolute(row, 0.0, false);
    } else if (known && by_default && isfinite(pooled_of(row, limits, &within))) {
        verify_pooled(row, limits, pooled_of(row, limits, &within), within.stage);
    } else if (known && by_default && isfinite(within.above)) {
        verify_within_step(row, &within);
    } else if (known) {
        verify_relative(row, limits, tolerance_of(row, limits));
    } else {
        row->outcome = INQ_CHECK_ADDED;
        (void)snprintf(row->message, sizeof row->message,
                       "%s is not in the baseline; --update would add it", title);
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

static bool any_regressed(const struct inq_check *check)
{
    for (size_t i = 0; i < check->n; i++) {
        if (check->rows[i].outcome == INQ_CHECK_REGRESSED) {
            return true;
        }
    }
    return false;
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
    /* a step that is far off and does not recur makes findings that no measure sees */
    bool passing = now->outliers > 0 && !any_regressed(check);
    for (size_t i = 0; !off && i < now->n_findings; i++) {
        const struct inq_known_finding *finding = &now->findings[i];
        if (!passing && finding->severity >= line && is_new(finding, base)) {
            int code = take_new(check, finding, err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    row->now.value = (double)check->n_new;
    verify(row, limits);
    if (check->n_new > 0) {
        (void)snprintf(row->message, sizeof row->message,
                       "%zu new finding%s of severity %s or above: %.400s", check->n_new,
                       check->n_new == 1 ? "" : "s", inq_severity_text(line),
                       check->fresh[0].title != NULL ? check->fresh[0].title : check->fresh[0].id);
    } else if (passing && !off) {
        (void)snprintf(row->message, sizeof row->message,
                       "%zu step%s far off the median do%s not recur: no new finding counts",
                       now->outliers, now->outliers == 1 ? "" : "s",
                       now->outliers == 1 ? "es" : "");
    } else if (!off) {
        (void)snprintf(row->message, sizeof row->message, "no new finding of severity %s or above",
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

/* "1 of 4 files damaged": what is missing may be why nothing compares; "" nothing is. */
static const char *but_unfit(const struct inq_snapshot *now, char *buf, size_t size)
{
    const struct inq_measure *damaged = inq_snapshot_find(now, "damaged_files");
    bool less = now->missing > 0 || (damaged != NULL && damaged->value > 0.0);
    (void)snprintf(buf, size, "%.300s", less ? now->unfit : "");
    return buf;
}

static int not_comparable(const struct inq_snapshot *now, const struct inq_snapshot *base,
                          struct inq_err *err)
{
    bool schedule = now->subject == INQ_SUBJECT_SCHEDULE;
    bool unread =
        schedule && now->stages == 0; /* lint says why: that fails whatever the baseline */
    char unfit[400];
    (void)but_unfit(now, unfit, sizeof unfit);
    if (now->subject != base->subject) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the baseline is of a %s, and this is a %s",
                           schedule ? "run" : "schedule", schedule ? "schedule" : "run");
    }
    if (unread) {
        return INQ_OK;
    }
    if (now->ranks != base->ranks) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "the baseline is of %" PRId32 " ranks, and here are %" PRId32 "%s%s",
                           base->ranks, now->ranks, unfit[0] != '\0' ? ": " : "", unfit);
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
    if (now->gpu[0] != '\0' && base->gpu[0] != '\0' && strcmp(now->gpu, base->gpu) != 0) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "not comparable: this ran on another GPU, %s, and the baseline on %s",
                           now->gpu, base->gpu);
    }
    char text[400];
    if (!schedule && inq_workload_differs(&now->work, &base->work, text, sizeof text)) {
        return unfit[0] == '\0'
                   ? inq_err_set(err, INQ_UNSUPPORTED, "not comparable: %s", text)
                   : inq_err_set(err, INQ_UNSUPPORTED, "not comparable: %s; what is left has %s",
                                 unfit, text);
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
    verify(row, limits);
}

/* ---- where and why ---------------------------------------------------------------------------*/

/* The n-th cell of a row, without its end, into buf; false when the row has no such cell. */
static bool cell_at(const char *row, int32_t column, char *buf, size_t size)
{
    for (int32_t i = 0; i < column; i++) {
        row = strchr(row, ',');
        if (row == NULL) {
            return false;
        }
        row++;
    }
    (void)snprintf(buf, size, "%.*s", (int)strcspn(row, ","), row);
    return true;
}

/* The column where two rows begin to differ; -1: nowhere. */
static int32_t first_difference(const char *a, const char *b)
{
    int32_t column = 0;
    if (strcmp(a, b) == 0) {
        return -1;
    }
    while (*a == *b) {
        column += *a == ',';
        a++;
        b++;
    }
    bool longer = (*a == ',' && *b == '\0') || (*b == ',' && *a == '\0');
    return column + longer;
}

static void find_change(struct inq_check *check, const struct inq_snapshot *now,
                        const struct inq_snapshot *base)
{
    struct inq_check_change *change = &check->change;
    *change = (struct inq_check_change){.rank = -1, .column = -1};
    for (size_t r = 0; now->n_order == base->n_order && r < now->n_order; r++) {
        int32_t column = first_difference(now->order[r], base->order[r]);
        if (column >= 0) {
            change->rank = (int32_t)r;
            change->column = column;
            (void)cell_at(now->order[r], column, change->now, sizeof change->now);
            (void)cell_at(base->order[r], column, change->before, sizeof change->before);
            return;
        }
    }
}

/* How soon a failed row is told as the cause: lint explains the rest; what could not be measured
 * explains least; of those that got worse the kinds stand in the order of what they say. */
static int cause_rank(const struct inq_check_row *row)
{
    return row->now.kind == INQ_MEASURE_LINT_PROBLEMS   ? 0
           : row->now.kind == INQ_MEASURE_DAMAGED_FILES ? 1
           : row->outcome == INQ_CHECK_GONE             ? 3
                                                        : 2;
}

static void find_cause(struct inq_check *check)
{
    for (size_t i = 0; i < check->n; i++) {
        const struct inq_check_row *row = &check->rows[i];
        if (!row->pass && (check->cause == NULL || cause_rank(row) < cause_rank(check->cause))) {
            check->cause = row;
        }
    }
}

/* What a step consists of, in the order in which one explains the next: others wait for a rank that
 * computes longer or whose host is late, never the other way round. */
static bool explains_step(enum inq_measure_kind kind)
{
    return kind == INQ_MEASURE_COMPUTE || kind == INQ_MEASURE_HOST || kind == INQ_MEASURE_IDLE ||
           kind == INQ_MEASURE_EXPOSED_COMM;
}

/* The row of another kind for the same ranks; NULL: there is none. */
static const struct inq_check_row *
row_like(const struct inq_check *check, const struct inq_check_row *row, enum inq_measure_kind kind)
{
    char name[INQ_MEASURE_NAME];
    (void)inq_measure_like(&row->now, kind, name, sizeof name);
    for (size_t i = 0; i < check->n; i++) {
        if (strcmp(check->rows[i].now.name, name) == 0) {
            return &check->rows[i];
        }
    }
    return NULL;
}

/* Whose slowness it is: the rank that fell behind its peers says more than the longest of all, a
 * host or several ranks more than one of them. */
static const char *whose(const struct inq_check *check, const struct inq_check_row *row)
{
    const struct inq_check_row *peer = row->now.kind == INQ_MEASURE_COMPUTE
                                           ? row_like(check, row, INQ_MEASURE_SLOWEST_RANK)
                                           : NULL;
    return peer != NULL && !peer->pass && !row->now.several ? peer->now.who : row->now.who;
}

/* By most of the step's growth at least. */
static const double EXPLAINS = 0.5;

/* Every stage grew by nearly as much as the one that grew most: then it is no stage's matter. */
static const double ALL_ALIKE = 0.75;

static bool is_of_all_stages(const struct inq_check *check, const struct inq_check_row *best)
{
    size_t stages = 0;
    double most = best->now.value - best->base.value;
    for (size_t i = 0; i < check->n; i++) {
        const struct inq_check_row *row = &check->rows[i];
        bool stage =
            row->now.kind == INQ_MEASURE_COMPUTE && strstr(row->now.name, ".stage") != NULL;
        if (stage && !(row->now.value - row->base.value > ALL_ALIKE * most)) {
            return false;
        }
        stages += stage;
    }
    return best->now.kind == INQ_MEASURE_COMPUTE && stages > 1;
}

/* "; mostly compute of stage 2 (+826 us), rank 3": the part that the step grew by. */
static void explain_step(struct inq_check *check)
{
    struct inq_check_row *step = NULL;
    const struct inq_check_row *best = NULL;
    double most = 0.0;
    for (size_t i = 0; i < check->n; i++) {
        struct inq_check_row *row = &check->rows[i];
        double growth = row->now.value - row->base.value;
        bool own = row->now.kind != INQ_MEASURE_EXPOSED_COMM;
        step = row->now.kind == INQ_MEASURE_STEP_TIME ? row : step;
        /* a rank's own time explains the waiting for it, which can measure a little more */
        growth *= own ? 1.0 : 1.0 - INQ_CHECK_TOLERANCE;
        if (explains_step(row->now.kind) && isfinite(growth) && growth > most) {
            most = growth;
            best = row;
        }
    }
    if (step == NULL || step->pass || best == NULL ||
        most < EXPLAINS * (step->now.value - step->base.value)) {
        return;
    }
    char growth[32];
    char title[INQ_MEASURE_NAME + 32];
    bool all = is_of_all_stages(check, best);
    const char *who = all ? "" : whose(check, best);
    size_t used = strlen(step->message);
    (void)snprintf(
        step->message + used, sizeof step->message - used, "; mostly %s (+%s)%s%s",
        all ? "compute of all stages" : title_of(&best->now, title, sizeof title),
        value_text(INQ_UNIT_NS, best->now.value - best->base.value, growth, sizeof growth),
        who[0] != '\0' ? ", " : "", who);
}

static void say_lint(struct inq_check *check, const struct inq_snapshot *now)
{
    for (size_t i = 0; i < check->n; i++) {
        struct inq_check_row *row = &check->rows[i];
        if (row->now.kind == INQ_MEASURE_DAMAGED_FILES && !row->pass) {
            (void)snprintf(row->message, sizeof row->message,
                           "%.0f file%s: what is measured is only of what could be read",
                           row->now.value, row->now.value > 1.0 ? "s are damaged" : " is damaged");
        }
        if (row->now.kind == INQ_MEASURE_LINT_PROBLEMS && !row->pass && now->problem[0] != '\0') {
            (void)snprintf(row->message, sizeof row->message, "lint finds %.0f problem%s: %s",
                           row->now.value, row->now.value > 1.0 ? "s" : "", now->problem);
        }
    }
}

/* Who fell back behind others has a longer time of its own, by a third of it at least, whatever its
 * run shifts by: 3 % remain 1 % where two runs shift by 1 % each, to either side. Others that are
 * faster by no more than that may just have the shift of their run, and noise of their own: the
 * mean of three stages of a rank each differs by 0.36 % (a deviation) between two runs. */
static const double ITS_OWN = 1.0 / 3.0;
static const double MOST_OF_OTHERS = INQ_MOST_SHIFT + 0.004;

/* A stage or a rank is no slower because others got faster. */
static void verify_own_times(struct inq_check *check)
{
    char title[INQ_MEASURE_NAME + 32];
    for (size_t i = 0; i < check->n; i++) {
        struct inq_check_row *row = &check->rows[i];
        const struct inq_check_row *own =
            row->now.kind == INQ_MEASURE_STAGE_SHARE || row->now.kind == INQ_MEASURE_SLOWEST_RANK
                ? row_like(check, row, INQ_MEASURE_COMPUTE)
                : NULL;
        if (row->outcome == INQ_CHECK_REGRESSED && own != NULL &&
            own->change < ITS_OWN * row->change && own->change < row->change - MOST_OF_OTHERS) {
            row->outcome = INQ_CHECK_WITHIN;
            row->pass = true;
            (void)snprintf(row->message, sizeof row->message,
                           "%s is more (%+.1f %%), because others got faster: its own compute "
                           "changed by %+.1f %%",
                           title_of(&row->now, title, sizeof title), row->change * 100.0,
                           own->change * 100.0);
        }
    }
}

/* A gain is kept by a new baseline only, and by none of a run that fails. A stage that takes a
 * smaller part of a step in which another takes longer gained nothing. */
static void verify_gains(struct inq_check *check)
{
    char title[INQ_MEASURE_NAME + 32];
    bool regressed = any_regressed(check);
    for (size_t i = 0; i < check->n; i++) {
        struct inq_check_row *row = &check->rows[i];
        size_t used = strlen(row->message);
        if (row->outcome == INQ_CHECK_IMPROVED && !regressed) {
            (void)snprintf(row->message + used, sizeof row->message - used,
                           "; --update would keep the gain");
        } else if (row->outcome == INQ_CHECK_IMPROVED && row->now.kind == INQ_MEASURE_STAGE_SHARE) {
            row->outcome = INQ_CHECK_WITHIN;
            (void)snprintf(row->message, sizeof row->message,
                           "%s is less (%.1f %%), because something else got worse",
                           title_of(&row->now, title, sizeof title), row->change * 100.0);
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
                            .now = now,
                            .base = base,
                            .step_ns = step != NULL ? step->value : (double)NAN};
    size_t most = now->n + base->n + 1;
    check->rows = inq_mem_zalloc(most, sizeof *check->rows);
    if (check->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu checks", most);
    }
    add_rows(check, now, base, &limits);
    say_lint(check, now);
    verify_own_times(check);
    explain_step(check);
    verify_gains(check);
    if (now->subject == INQ_SUBJECT_RUN) {
        code = add_findings(check, now, base, &limits, err);
    }
    for (size_t i = 0; i < check->n; i++) {
        check->n_failed += !check->rows[i].pass;
    }
    check->pass = check->n_failed == 0;
    check->snapshot = now;
    find_change(check, now, base);
    find_cause(check);
    return code;
}
