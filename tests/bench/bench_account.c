/* SPDX-License-Identifier: Apache-2.0 */
/* The account over generated runs of every kind of fault, shape and way to record that
 * `inquest synth` knows: what contradicts itself in a report, by rule, and how far reports are from
 * the truth (the same run without the fault), by family of faults.
 *
 *   bench_account [--runs N] [--seed N] [--random] [--filter TEXT] [--table] [-v] [PATH...]
 *       default 120 runs, seeds from 1000 on; --random: all of a run is drawn from its seed, not
 *       taken from the grid; --filter: only specs or families with TEXT in them; --table: only the
 *       table; -v: each violation and each run told wrong, with its spec; PATH: these files and
 *       folders are checked for contradictions, too, each as one input
 *
 * Exit status 1 when a rule is violated or a run fails. The table is printed, not judged. */
#include "account_families.h"

#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/report.h"
#include "inquest/synth.h"

#include "base/json.h"
#include "inquest/out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1200, MAX_RANKS = 256, ROWS = FAMILIES + 1 };

/* A fault that costs less than this share of a step need not be found. */
#define COUNTS_FROM 0.01
/* A cost is right within one point of a step. */
#define POINT 0.01
/* The right fix comes first in runs that lose this share of a step, and what it is predicted to
 * gain is right within as much. */
#define FIX_FROM  0.02
#define FIX_POINT 0.02

/* ---- counts ---------------------------------------------------------------------------------- */

enum rule {
    CLASS_SUM,
    RANK_SUM,
    ORDER,
    HEADLINE,
    LOST,
    LEDGER,
    SEVERITY,
    ABOVE_IDEAL,
    FIX,
    HEALTHY_BUT_WAITING,
    ESTABLISHED_ON_LITTLE,
    WITHHELD,
    FAILED,
    RULES
};

static const char *const rule_texts[RULES] = {
    [CLASS_SUM] = "classes of the account do not sum to t_ns",
    [RANK_SUM] = "a rank's compute, exposed and idle time do not sum to its span",
    [ORDER] = "findings are not ordered by cost",
    [HEADLINE] = "the verdict is not the first finding",
    [LOST] = "lost_ns_per_step is not the first finding's cost",
    [LEDGER] = "gains in order, ideal and residual do not sum to t_ns",
    [SEVERITY] =
        "a cost's severity is not that of its share, alone, in its order or with what it hides",
    [ABOVE_IDEAL] = "a finding costs more than the step could gain",
    [FIX] = "a finding's cost is not what its fix is predicted to gain",
    [HEALTHY_BUT_WAITING] = "called healthy with more than 3 % of unexplained waiting",
    [ESTABLISHED_ON_LITTLE] =
        "established with ranks missing, or fewer than 5 steps and no fault in one named step",
    [WITHHELD] = "the report's own checker withheld something",
    [FAILED] = "could not be analyzed",
};

struct score {
    int runs, counting, found, cause, cost_right, costed, established, established_wrong;
    int pairs, not_monotone; /* of neighboring strengths on one shape and seed */
    int false_findings;      /* healthy runs with any finding that asks for action */
    int fixes, fix_first, predicted, predicted_right; /* of runs from FIX_FROM on */
};

struct bench {
    int violations[RULES];
    struct score of[ROWS]; /* by family, then two at once */
    int runs;
    unsigned seed; /* of the first round */
    const char *filter;
    bool verbose;
};

/* One run and its report. */
struct run {
    const char *spec; /* or a path */
    const struct family *family;
    size_t row;
    const struct inq_synth_truth *truth;
    const struct inq_trace *trace;
    struct inq_report *report;
    struct cJSON *json; /* the report as users get it */
    int64_t first_step; /* number of the first one recorded */
    const struct inq_synth_spec *planted;
    double even_ns; /* mean step with the same work on all stages; 0: does not apply */
};

static void violate(struct bench *b, const struct run *run, enum rule rule, const char *detail)
{
    b->violations[rule]++;
    if (b->verbose) {
        printf("%s: %s (%s)\n", rule_texts[rule], detail, run->spec);
    }
}

/* ---- rules: from the JSON alone -------------------------------------------------------------- */

static int64_t whole(const struct cJSON *node, const char *key)
{
    return inq_json_integer(inq_json_get(node, key), -1);
}

static void check_account(struct bench *b, const struct run *run)
{
    const struct cJSON *account = inq_json_get(run->json, "account");
    int64_t t_ns = whole(account, "t_ns");
    int64_t sum_ns = 0;
    const struct cJSON *row = inq_json_first(inq_json_get(account, "classes"));
    for (; row != NULL; row = inq_json_next(row)) {
        sum_ns += whole(row, "ns");
    }
    char text[96];
    (void)snprintf(text, sizeof text, "%" PRId64 " of %" PRId64, sum_ns, t_ns);
    if (account != NULL && t_ns >= 0 && llabs(sum_ns - t_ns) > 16) { /* a rounding each */
        violate(b, run, CLASS_SUM, text);
    }
    size_t withheld = inq_json_count(inq_json_get(account, "withheld"));
    if (withheld > 0) {
        const struct cJSON *first = inq_json_first(inq_json_get(account, "withheld"));
        violate(b, run, WITHHELD, inq_json_text(first, ""));
    }
    const char *cls = inq_json_text(inq_json_get(inq_json_get(run->json, "verdict"), "class"), "");
    int64_t unexplained = whole(account, "unexplained_wait_ns");
    if (strcmp(cls, "healthy") == 0 && unexplained > t_ns * 3 / 100) {
        violate(b, run, HEALTHY_BUT_WAITING, cls);
    }
}

/* Gains in order of the causes, ideal and residual are the step; a cost is as severe as its share,
 * alone, after the causes before it, or with the one that it hides. */
static void check_causes(struct bench *b, const struct run *run)
{
    const struct cJSON *account = inq_json_get(run->json, "account");
    int64_t t_ns = whole(account, "t_ns");
    int64_t left_ns = t_ns - whole(account, "ideal_ns") - whole(account, "residual_ns");
    const struct cJSON *row = inq_json_first(inq_json_get(account, "causes"));
    for (; row != NULL; row = inq_json_next(row)) {
        int64_t order_ns = whole(row, "gain_in_order_ns");
        double most_ns = fmax((double)whole(row, "gain_joint_ns"),
                              fmax((double)order_ns, (double)whole(row, "gain_alone_ns")));
        left_ns -= order_ns > 0 ? order_ns : 0;
        const char *id = inq_json_text(inq_json_get(row, "id"), "");
        const struct cJSON *f = inq_json_first(inq_json_get(run->json, "findings"));
        while (f != NULL && strcmp(inq_json_text(inq_json_get(f, "id"), ""), id) != 0) {
            f = inq_json_next(f);
        }
        const char *word = inq_severity_text(inq_severity_of(most_ns / (double)t_ns));
        if (most_ns >= 0.0 && strcmp(inq_json_text(inq_json_get(f, "severity"), ""), word) != 0) {
            violate(b, run, SEVERITY, id);
        }
    }
    if (whole(account, "ideal_ns") >= 0 && left_ns != 0) {
        violate(b, run, LEDGER, "");
    }
}

static void check_ranks(struct bench *b, const struct run *run)
{
    const struct cJSON *row = inq_json_first(inq_json_get(run->json, "ranks"));
    for (; row != NULL; row = inq_json_next(row)) {
        int64_t sum = whole(row, "compute_ns") + whole(row, "exposed_comm_ns") +
                      whole(row, "exposed_memcpy_ns") + whole(row, "idle_ns");
        if (whole(row, "span_ns") >= 0 && sum != whole(row, "span_ns")) {
            violate(b, run, RANK_SUM, inq_json_text(inq_json_get(row, "label"), ""));
            return;
        }
    }
}

static void check_findings(struct bench *b, const struct run *run)
{
    const struct cJSON *account = inq_json_get(run->json, "account");
    int64_t t_ns = whole(account, "t_ns");
    int64_t ideal_ns = whole(account, "ideal_ns");
    int64_t before = INT64_MAX;
    const struct cJSON *row = inq_json_first(inq_json_get(run->json, "findings"));
    for (; row != NULL; row = inq_json_next(row)) {
        int64_t cost = whole(row, "cost_ns_per_step");
        const char *id = inq_json_text(inq_json_get(row, "id"), "");
        if (cost > before) {
            violate(b, run, ORDER, id);
        }
        before = cost >= 0 ? cost : before;
        if (t_ns > 0 && ideal_ns >= 0 && cost > t_ns - ideal_ns + t_ns / 1000) {
            violate(b, run, ABOVE_IDEAL, id);
        }
        bool established =
            strcmp(inq_json_text(inq_json_get(row, "confidence"), ""), "established") == 0;
        bool timed = cost > 0 && strcmp(inq_json_text(inq_json_get(row, "severity"), ""), "info");
        bool named = strstr(inq_json_text(inq_json_get(row, "title"), ""), "in 1 of ") != NULL;
        size_t missing =
            inq_json_count(inq_json_get(inq_json_get(run->json, "inputs"), "ranks_missing"));
        size_t steps = inq_json_count(inq_json_get(run->json, "steps"));
        if (established && timed && (missing > 0 || (steps < 5 && !named))) {
            violate(b, run, ESTABLISHED_ON_LITTLE, id);
        }
    }
}

static void check_verdict(struct bench *b, const struct run *run)
{
    const struct cJSON *verdict = inq_json_get(run->json, "verdict");
    const struct cJSON *first = inq_json_first(inq_json_get(run->json, "findings"));
    const char *cls = inq_json_text(inq_json_get(verdict, "class"), "");
    int64_t lost = whole(verdict, "lost_ns_per_step");
    if (first == NULL || strcmp(cls, "healthy") == 0 || strcmp(cls, "nothing_to_judge") == 0) {
        return;
    }
    const char *kind = inq_json_text(inq_json_get(first, "kind"), "");
    const char *severity = inq_json_text(inq_json_get(first, "severity"), "");
    const struct cJSON *failure = inq_json_get(run->json, "failure");
    bool of_failure = strcmp(cls, inq_json_text(inq_json_get(failure, "class"), "")) == 0;
    if (strcmp(severity, "info") == 0 || of_failure) {
        return; /* no finding asks for action; the verdict on a failure names its cause */
    }
    if (strcmp(kind, cls) != 0) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s, the first is %s", cls, kind);
        violate(b, run, HEADLINE, text);
    } else if (lost >= 0 && lost != whole(first, "cost_ns_per_step")) {
        violate(b, run, LOST, kind);
    }
}

/* The prediction of the fix that a finding names first is the finding's cost, to a thousandth of
 * the step. */
static void check_fixes(struct bench *b, const struct run *run, const struct inq_fixes *fixes)
{
    for (size_t i = 0; i < run->report->n_findings; i++) {
        const struct inq_finding *f = &run->report->findings[i];
        for (size_t k = 0; k < fixes->n && f->n_fixes > 0; k++) {
            const struct inq_fix *fix = &fixes->fixes[k];
            bool its = strcmp(fix->spec, f->fixes[0]) == 0 && fix->t_ns >= 0;
            if (its && f->cost_ns_per_step >= 0 &&
                llabs(fix->gain_ns - f->cost_ns_per_step) > fixes->base.t_ns / 1000) {
                char text[160];
                (void)snprintf(text, sizeof text, "%.60s %" PRId64 ", %.40s %" PRId64, f->id,
                               f->cost_ns_per_step, fix->spec, fix->gain_ns);
                violate(b, run, FIX, text);
            }
        }
    }
}

static struct inq_fixes *study_fixes(const struct run *run)
{
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    struct inq_fix_options options = {.no_pairs = true};
    if (inq_fix_base_of_run(run->trace, run->report, &base, NULL) == INQ_OK) {
        (void)inq_fix_study(base, run->report, &options, &fixes, NULL);
    }
    inq_fix_base_free(base);
    return fixes;
}

/* ---- against the truth ----------------------------------------------------------------------- */

/* Whether it says that somebody or something in particular is the cause. */
static bool blames(const struct inq_finding *finding)
{
    switch ((int)finding->kind) {
    case INQ_FINDING_EXPOSED_COMM:
    case INQ_FINDING_HOST_BOUND:
    case INQ_FINDING_PIPELINE_BUBBLE:
    case INQ_FINDING_EXPOSED_COPY:
    case INQ_FINDING_STEP_OUTLIER:
    case INQ_FINDING_MISSING_RANK:
    case INQ_FINDING_DAMAGED_INPUT:
        return false;
    default:
        return finding->severity >= INQ_SEVERITY_LOW;
    }
}

/* Ranks that the planted faults are about. What costs nothing as long as another fault costs more
 * is one, too, if a report may name it: `kinds`. */
static void planted_ranks(const struct inq_synth_truth *truth, const char *kinds,
                          bool planted[MAX_RANKS])
{
    memset(planted, 0, MAX_RANKS * sizeof *planted);
    for (size_t i = 0; i < truth->n_faults; i++) {
        const struct inq_synth_truth_fault *fault = &truth->faults[i];
        bool counts =
            fault->cost_ns_per_step > 0 || (truth->n_faults > 1 && has_word(kinds, fault->finding));
        for (size_t r = 0; counts && r < fault->n_ranks; r++) {
            planted[fault->ranks[r] % MAX_RANKS] = true;
        }
    }
}

/* Whether any planted rank has a trace. */
static bool is_recorded(const struct run *run, const bool planted[MAX_RANKS])
{
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        if (planted[run->trace->ranks[r].rank % MAX_RANKS]) {
            return true;
        }
    }
    return false;
}

/* A finding of the right kind whose ranks are all planted ones (or stages of such). */
static bool is_right(const struct run *run, const struct inq_finding *f,
                     const bool planted[MAX_RANKS])
{
    if (!has_word(run->family->kinds, inq_finding_kind_text(f->kind))) {
        return false;
    }
    if (f->kind ==
        INQ_FINDING_MISSING_RANK) { /* all that can be said where the culprit is absent */
        return !is_recorded(run, planted);
    }
    for (size_t i = 0; i < f->n_ranks && !run->family->rotates; i++) {
        bool own = f->ranks[i] >= 0 && planted[f->ranks[i] % MAX_RANKS];
        if (!own && f->kind != INQ_FINDING_SLOW_LINK && f->n_stages == 0) {
            return false;
        }
    }
    return true;
}

struct outcome {
    double loss;    /* true, share of the step */
    double claimed; /* what the right findings gain one after the other; 0: none */
    bool found, costed, cause, wrong, established, established_wrong;
};

/* Mean of the steps that the report judges: of others it says nothing. */
static double mean_judged(const struct run *run, const int64_t *step_ns)
{
    const struct inq_account *account = run->report->account;
    double sum = 0.0;
    double n = 0.0;
    for (size_t i = 0; account != NULL && !account->one_interval && i < account->n_steps; i++) {
        int64_t at = account->steps[i].number - run->first_step;
        bool known = account->steps[i].judged && at >= 0 && at < (int64_t)run->truth->n_steps;
        sum += known ? (double)step_ns[at] : 0.0;
        n += known;
    }
    for (size_t i = 0; n == 0.0 && i < run->truth->n_steps; i++) {
        sum += (double)step_ns[i] / (double)run->truth->n_steps;
    }
    return n > 0.0 ? sum / n : sum;
}

/* Whether the finding's cost is a prediction: of what could not be simulated a report says "up to".
 */
static bool is_simulated(const struct inq_report *report, const struct inq_finding *f)
{
    for (size_t i = 0; report->account != NULL && i < report->account->n_causes; i++) {
        const struct inq_account_cause *cause = &report->account->causes[i];
        if (strcmp(cause->id, f->id) == 0) {
            return cause->gain_alone_ns >= 0;
        }
    }
    return f->cost_ns_per_step >= 0;
}

/* Whether all ranks of the faults that count are named. A fault of which nobody is counts only
 * where so much of the loss is not claimed: over the steps that are judged it may cost nothing, as
 * a host does that pauses while it runs ahead. */
static bool are_all_named(const struct inq_synth_truth *truth, const bool named[MAX_RANKS],
                          double unclaimed)
{
    bool all = true;
    for (size_t i = 0; i < truth->n_faults; i++) {
        const struct inq_synth_truth_fault *fault = &truth->faults[i];
        size_t n = 0;
        for (size_t r = 0; r < fault->n_ranks; r++) {
            n += named[fault->ranks[r] % MAX_RANKS];
        }
        bool counts = (double)fault->cost_ns_per_step >= COUNTS_FROM * (double)truth->mean_step_ns;
        counts = counts && (n > 0 || unclaimed >= COUNTS_FROM);
        all = all && (!counts || n == fault->n_ranks);
    }
    return all;
}

/* Whether the work is to be moved: a rank's own is also told as what to take away. */
static bool moves_work(const struct run *run)
{
    bool stage = !has_word(run->family->kinds, "more_work");
    for (size_t i = 0; i < run->report->n_findings; i++) {
        const struct inq_finding *f = &run->report->findings[i];
        bool told = f->severity >= INQ_SEVERITY_LOW;
        stage = stage || (told && (f->kind == INQ_FINDING_STAGE_IMBALANCE ||
                                   f->kind == INQ_FINDING_SLOW_LAST_STAGE));
    }
    return stage && run->even_ns > 0.0;
}

static struct outcome compare_with_truth(const struct run *run)
{
    const struct inq_synth_truth *truth = run->truth;
    const struct inq_report *report = run->report;
    struct outcome out = {0};
    bool planted[MAX_RANKS];
    bool named[MAX_RANKS] = {false};
    double step = mean_judged(run, truth->step_ns);
    double healthy = moves_work(run) ? run->even_ns : mean_judged(run, truth->step_ns_healthy);
    out.loss = (step - healthy) / step;
    planted_ranks(truth, run->family->kinds, planted);
    for (size_t i = 0; i < report->n_findings; i++) {
        const struct inq_finding *f = &report->findings[i];
        bool right = is_right(run, f, planted);
        bool established = f->confidence == INQ_CONFIDENCE_ESTABLISHED;
        if (right && f->severity >= INQ_SEVERITY_LOW) {
            out.costed = out.costed || is_simulated(report, f);
            int64_t gain_ns = f->in_order_ns >= 0 ? f->in_order_ns : f->cost_ns_per_step;
            out.claimed += gain_ns > 0 ? (double)gain_ns / step : 0.0;
            out.found = true;
            out.established = out.established || established;
            for (size_t r = 0; r < f->n_ranks; r++) {
                named[f->ranks[r] % MAX_RANKS] = true;
            }
        } else if (blames(f)) {
            out.wrong = true;
            out.established_wrong = out.established_wrong || established;
        }
    }
    bool all = are_all_named(truth, named, out.loss - out.claimed);
    bool by_rank = !run->family->rotates && is_recorded(run, planted) &&
                   !has_word(run->family->kinds, "slow_link") &&
                   !has_word(run->family->kinds, "slow_last_stage");
    out.cause = out.found && (all || !by_rank);
    return out;
}

/* Whether a finding asks for action because of what the run lacks, which is nothing here; that a
 * file was cut or that a schedule leaves bubbles is true. */
static bool is_false_alarm(const struct inq_finding *finding)
{
    return finding->severity >= INQ_SEVERITY_LOW && finding->kind != INQ_FINDING_MISSING_RANK &&
           finding->kind != INQ_FINDING_DAMAGED_INPUT &&
           finding->kind != INQ_FINDING_PIPELINE_BUBBLE;
}

static void score_healthy(struct bench *b, const struct run *run, struct score *score)
{
    bool any = false;
    for (size_t i = 0; i < run->report->n_findings; i++) {
        const struct inq_finding *f = &run->report->findings[i];
        if (is_false_alarm(f)) {
            any = true;
            if (b->verbose) {
                printf("healthy: %s [%s] (%s)\n", f->title, f->id, run->spec);
            }
        }
    }
    score->false_findings += any;
}

/* Chips of one kind differ by some percent. */
#define CHIPS_DIFFER 1.05

/* Whether a record bears the fault at all. A rank that is alone in its stage has no peer that does
 * the same work. Other stages run like kernels, but on other chips: a GPU that is slower than
 * theirs all the time by no more than chips of one kind differ is a chip like another. */
static bool is_borne(const struct run *run)
{
    const struct inq_synth_spec *spec = run->planted;
    bool alone = spec->dp * spec->tp == 1 && spec->pp > 1;
    for (size_t i = 0; i < spec->n_faults; i++) {
        const struct inq_synth_fault *f = &spec->faults[i];
        bool gpu = f->kind == INQ_SYNTH_SLOW_GPU || f->kind == INQ_SYNTH_LOW_CLOCK;
        alone = alone && gpu && f->factor <= CHIPS_DIFFER && f->every == 1;
    }
    return !alone || spec->n_faults == 0;
}

static void add_outcome(struct bench *b, const struct run *run, const struct outcome *out)
{
    struct score *score = &b->of[run->row];
    score->runs++;
    score->established += out->established;
    score->established_wrong += out->established_wrong;
    if (out->established_wrong && b->verbose) {
        printf("established and wrong: %s (%s)\n", run->report->verdict.headline, run->spec);
    }
    if (*run->family->kinds == '\0') {
        score_healthy(b, run, score);
        return;
    }
    if ((out->loss < COUNTS_FROM && strcmp(run->family->name, "one_micro_batch") != 0) ||
        !is_borne(run)) {
        return;
    }
    score->counting++;
    score->found += out->found;
    score->cause += out->cause;
    if (out->costed && out->loss >= COUNTS_FROM) {
        score->costed++;
        score->cost_right += fabs(out->claimed - out->loss) <= POINT;
    }
    bool wrong = out->loss >= COUNTS_FROM && fabs(out->claimed - out->loss) > POINT;
    if (b->verbose && (!out->cause || wrong)) {
        printf("%s: true %.1f %%, claimed %.1f %%, %s: %s (%s)\n", run->family->name,
               100.0 * out->loss, 100.0 * out->claimed,
               !out->found   ? "not found"
               : !out->cause ? "not all ranks"
                             : "cost",
               run->report->verdict.headline, run->spec);
    }
}

static bool has_rank(const struct inq_finding *finding, int32_t rank)
{
    size_t i = 0;
    while (i < finding->n_ranks && finding->ranks[i] != rank) {
        i++;
    }
    return i < finding->n_ranks;
}

/* Whether the finding is about this fault: of its kind and ranks; of whatever kind where none is.
 */
static bool is_about(const struct inq_finding *finding, const struct inq_synth_truth_fault *fault,
                     bool any_kind)
{
    bool kind = strcmp(fault->finding, inq_finding_kind_text(finding->kind)) == 0;
    bool ranks = false;
    for (size_t r = 0; r < fault->n_ranks; r++) {
        ranks = ranks || has_rank(finding, fault->ranks[r]);
    }
    return ranks && (kind || any_kind);
}

/* Leaves a fault to those of its ranks that the finding does not name; a link is repaired whole.
 * Returns the faults added, as many as there is room for. */
static size_t leave_others(const struct inq_synth_truth_fault *fault,
                           const struct inq_finding *finding, struct inq_synth_fault *out,
                           size_t room)
{
    size_t n = 0;
    for (size_t r = 0; fault->fault.kind != INQ_SYNTH_SLOW_LINK && r < fault->n_ranks; r++) {
        if (!has_rank(finding, fault->ranks[r]) && n < room) {
            out[n] = fault->fault;
            out[n].rank = fault->ranks[r];
            out[n].last = out[n].host = -1;
            out[n++].stride = 1;
        }
    }
    return n;
}

/* The mean judged step of the same run, same random draws, with the finding's ranks repaired; 0:
 * none of the faults is theirs, or they are too many. */
static double repaired_step(const struct run *run, const struct inq_finding *finding)
{
    static struct inq_synth_spec spec; /* large */
    const struct inq_synth_truth *truth = run->truth;
    struct inq_synth *synth = NULL;
    bool of_kind = false;
    bool changed = false;
    double ns = 0.0;
    for (size_t i = 0; i < truth->n_faults; i++) {
        of_kind = of_kind || is_about(finding, &truth->faults[i], false);
    }
    spec = *run->planted;
    spec.n_faults = 0;
    for (size_t i = 0; i < truth->n_faults && spec.n_faults < INQ_SYNTH_MAX_FAULTS; i++) {
        if (!is_about(finding, &truth->faults[i], !of_kind)) {
            spec.faults[spec.n_faults++] = truth->faults[i].fault;
            continue;
        }
        changed = true;
        spec.n_faults += leave_others(&truth->faults[i], finding, &spec.faults[spec.n_faults],
                                      INQ_SYNTH_MAX_FAULTS - spec.n_faults);
    }
    if (changed && spec.n_faults < INQ_SYNTH_MAX_FAULTS &&
        inq_synth_spec_check(&spec, NULL) == INQ_OK &&
        inq_synth_new(&spec, &synth, NULL) == INQ_OK) {
        ns = mean_judged(run, inq_synth_truth(synth)->step_ns);
    }
    inq_synth_free(synth);
    return ns;
}

/* What repairing the finding would truly gain, as a share of the step: against the same run in
 * which its ranks have no such fault. What rotates, or is divided unevenly, is repaired whole. */
static double true_gain(const struct run *run, const struct inq_finding *finding, double loss)
{
    double step = mean_judged(run, run->truth->step_ns);
    bool whole_fault = run->family->rotates || run->even_ns > 0.0 || finding->n_ranks == 0;
    double repaired = whole_fault ? 0.0 : repaired_step(run, finding);
    return repaired > 0.0 ? (step - repaired) / step : loss;
}

static const struct inq_finding *finding_of(const struct run *run, const struct inq_fix *fix)
{
    for (size_t i = 0; i < run->report->n_findings; i++) {
        if (strcmp(run->report->findings[i].id, fix->finding) == 0) {
            return &run->report->findings[i];
        }
    }
    return NULL;
}

/* Whether the first fix is one that the right finding calls for, and what it is said to gain. What
 * the schedule loses is another true loss: where no schedule was planted, its fixes are passed
 * over. Nobody can repair what left no trace. What is told as "up to" is no prediction, and what
 * ranks gain that are swapped is not known without the swap. */
static void score_fixes(struct bench *b, const struct run *run, const struct inq_fixes *fixes,
                        double loss)
{
    struct score *score = &b->of[run->row];
    bool schedule = has_word(run->family->kinds, "pipeline_bubble");
    const struct inq_fix *first = NULL;
    const struct inq_finding *found = NULL;
    bool planted[MAX_RANKS];
    planted_ranks(run->truth, run->family->kinds, planted);
    if (*run->family->kinds == '\0' || (loss < FIX_FROM && !schedule) || !is_borne(run) ||
        (!schedule && !run->family->rotates && !is_recorded(run, planted))) {
        return;
    }
    for (size_t i = 0; fixes != NULL && i < fixes->n && first == NULL; i++) {
        found = finding_of(run, &fixes->fixes[i]);
        bool other = found != NULL && found->kind == INQ_FINDING_PIPELINE_BUBBLE && !schedule;
        first = other ? NULL : &fixes->fixes[i];
    }
    bool right = first != NULL && found != NULL && is_right(run, found, planted);
    bool repair = right && found->n_fixes > 0 && strcmp(first->spec, found->fixes[0]) == 0;
    bool predicted = repair && first->t_ns >= 0 && !schedule && is_simulated(run->report, found);
    double truth = right ? true_gain(run, found, loss) : 0.0;
    double told = predicted ? (double)first->gain_ns / mean_judged(run, run->truth->step_ns) : 0.0;
    bool near = fabs(told - truth) <= FIX_POINT;
    score->fixes++;
    score->fix_first += right;
    score->predicted += predicted;
    score->predicted_right += predicted && near;
    if (b->verbose && (!right || (predicted && !near))) {
        printf("fix of %s: %s, %.1f %% predicted, %.1f %% true (%s)\n", run->family->name,
               first != NULL ? first->spec : "none", 100.0 * told, 100.0 * truth, run->spec);
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

static int as_json(const struct inq_run *run, struct inq_report *report, struct cJSON **json)
{
    struct inq_out text = {0};
    struct inq_sink sink = inq_out_sink(&text);
    struct inq_report_options options = {.format = INQ_FORMAT_JSON};
    int code = inq_report_write(run, &report, 1, &options, sink, NULL);
    if (code == INQ_OK) {
        code = inq_json_parse(text.buf, text.len, json, NULL);
    }
    inq_out_release(&text);
    return code;
}

static void check_all(struct bench *b, const struct run *run)
{
    check_account(b, run);
    check_causes(b, run);
    check_ranks(b, run);
    check_findings(b, run);
    check_verdict(b, run);
}

/* Makes, reads, analyzes and checks one run. */
static int try_run(struct bench *b, const char *spec_text, const struct family *family, size_t row,
                   struct outcome *out)
{
    static struct inq_synth_spec spec; /* large */
    struct inq_synth *synth = NULL;
    struct inq_run *made = NULL;
    struct run run = {.spec = spec_text, .family = family, .row = row};
    struct inq_err err = {0};
    int code = inq_synth_spec_parse(spec_text, &spec, &err);
    code = code == INQ_OK ? inq_synth_new(&spec, &synth, &err) : code;
    code = code == INQ_OK ? inq_synth_ingest(synth, true, 0, &made, &err) : code;
    if (code == INQ_OK && made->n_traces > 0) {
        run.truth = inq_synth_truth(synth);
        run.planted = &spec;
        run.first_step = spec.first_step;
        run.even_ns = even_step(family, &spec);
        run.trace = made->traces[0];
        struct inq_analysis_options options = {.predict = inq_fix_predict};
        code = inq_analyze(run.trace, &options, &run.report, &err);
    }
    code = code == INQ_OK && run.report != NULL ? as_json(made, run.report, &run.json) : code;
    b->runs++;
    if (code == INQ_OK && run.json != NULL) {
        check_all(b, &run);
        *out = compare_with_truth(&run);
        add_outcome(b, &run, out);
        struct inq_fixes *fixes = study_fixes(&run);
        if (fixes != NULL) {
            check_fixes(b, &run, fixes);
        }
        score_fixes(b, &run, fixes, out->loss);
        inq_fixes_free(fixes);
    } else {
        violate(b, &run, FAILED, err.message);
    }
    inq_json_free(run.json);
    inq_report_free(run.report);
    inq_run_free(made);
    inq_synth_free(synth);
    return code;
}

/* Reads, analyzes and checks what there is at a path. */
static int try_path(struct bench *b, const char *path)
{
    struct inq_run *made = NULL;
    struct run run = {.spec = path};
    struct inq_err err = {0};
    int code = inq_ingest(&path, 1, NULL, &made, &err);
    for (size_t i = 0; code == INQ_OK && i < made->n_traces; i++) {
        struct inq_analysis_options options = {.predict = inq_fix_predict};
        run.trace = made->traces[i];
        code = inq_analyze(run.trace, &options, &run.report, &err);
        code = code == INQ_OK ? as_json(made, run.report, &run.json) : code;
        if (code == INQ_OK) {
            check_all(b, &run);
            struct inq_fixes *fixes = study_fixes(&run);
            if (fixes != NULL) {
                check_fixes(b, &run, fixes);
            }
            inq_fixes_free(fixes);
        }
        inq_json_free(run.json);
        inq_report_free(run.report);
        run.json = NULL;
        run.report = NULL;
    }
    if (code != INQ_OK) {
        violate(b, &run, FAILED, err.message);
    }
    inq_run_free(made);
    return code;
}

/* ---- the grid -------------------------------------------------------------------------------- */

static bool applies(const struct family *family, const struct shape *shape)
{
    for (const char *need = family->needs; *need != '\0'; need++) {
        if (strchr(shape->has, *need) == NULL) {
            return false;
        }
    }
    return true;
}

static void spec_text(char text[TEXT], const struct family *family, const struct shape *shape,
                      const char *variant, int strength, unsigned seed)
{
    char fault[TEXT / 2];
    int rank = (int)(seed * 2654435761u % (unsigned)(shape->ranks - 2));
    const char *form = family->faults[strength];
    size_t n = 0;
    int given = 0;
    for (; *form != '\0' && n + 16 < sizeof fault; form++) {
        if (form[0] == '%' && form[1] == 'd') {
            n += (size_t)snprintf(fault + n, sizeof fault - n, "%d", rank + 2 * given++);
            form++;
        } else {
            fault[n++] = *form;
        }
    }
    fault[n] = '\0';
    (void)snprintf(text, TEXT, "%s,%s,seed=%u,gz=0%s%s", shape->spec, variant, seed,
                   n > 0 ? "," : "", fault);
}

/* All strengths of a family on one shape, with one seed; a larger fault never shows a smaller loss.
 * Returns the runs made. */
static int try_family(struct bench *b, const struct family *family, const struct shape *shape,
                      const char *variant, unsigned seed)
{
    struct outcome before = {0};
    int made = 0;
    for (int strength = 0; strength < STRENGTHS; strength++) {
        char text[TEXT];
        struct outcome out = {0};
        spec_text(text, family, shape, variant, strength, seed + (unsigned)*family->kinds);
        if (b->filter != NULL && strstr(text, b->filter) == NULL &&
            strstr(family->name, b->filter) == NULL) {
            continue;
        }
        if (try_run(b, text, family, (size_t)(family - families), &out) == INQ_OK && made > 0 &&
            out.loss > before.loss && before.loss >= COUNTS_FROM && *family->kinds != '\0') {
            struct score *score = &b->of[family - families];
            score->pairs++;
            if (out.claimed < before.claimed - POINT / 2) {
                score->not_monotone++;
                if (b->verbose) {
                    printf("smaller loss for a larger fault: %.1f %% after %.1f %% (%s)\n",
                           100.0 * out.claimed, 100.0 * before.claimed, text);
                }
            }
        }
        before = out;
        made++;
    }
    return made;
}

static void run_grid(struct bench *b, int runs)
{
    for (unsigned round = 0; b->runs < runs; round++) {
        int before = b->runs;
        for (unsigned f = 0; f < FAMILIES && b->runs < runs; f++) {
            unsigned s = 0;
            while (s < SHAPES && !applies(&families[f], &shapes[(f + round + s) % SHAPES])) {
                s++;
            }
            (void)try_family(b, &families[f], &shapes[(f + round + s) % SHAPES],
                             variants[(f + round / SHAPES + round) % VARIANTS], b->seed + round);
        }
        if (b->runs == before && round > SHAPES * VARIANTS) {
            return; /* the filter leaves nothing */
        }
    }
}

static void run_random(struct bench *b, int runs)
{
    for (int i = 0; i < runs; i++) {
        struct drawn_run run;
        struct outcome out;
        draw_run(b->seed + (unsigned)i, &run);
        if (b->filter == NULL || strstr(run.spec, b->filter) != NULL ||
            strstr(run.family.name, b->filter) != NULL) {
            (void)try_run(b, run.spec, &run.family, run.row, &out);
        }
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_part(int part, int whole_n)
{
    if (whole_n > 0) {
        printf(" %7.3f", (double)part / whole_n);
    } else {
        printf(" %7s", "-");
    }
}

static void add_score(struct score *all, const struct score *s)
{
    all->runs += s->runs;
    all->counting += s->counting;
    all->found += s->found;
    all->cause += s->cause;
    all->costed += s->costed;
    all->cost_right += s->cost_right;
    all->established_wrong += s->established_wrong;
    all->pairs += s->pairs;
    all->not_monotone += s->not_monotone;
    all->fixes += s->fixes;
    all->fix_first += s->fix_first;
    all->predicted += s->predicted;
    all->predicted_right += s->predicted_right;
    all->false_findings += s->false_findings;
}

static void print_row(const char *name, const struct score *s, int wrong)
{
    printf("%-24s %6d %8d", name, s->runs, s->counting);
    print_part(s->found, s->counting);
    print_part(s->cause, s->counting);
    print_part(s->cost_right, s->costed);
    print_part(wrong, s->runs);
    print_part(s->pairs - s->not_monotone, s->pairs);
    print_part(s->fix_first, s->fixes);
    print_part(s->predicted_right, s->predicted);
    printf("\n");
}

static void print_table(const struct bench *b)
{
    struct score all = {0};
    struct score healthy = {0};
    printf("\n%-24s %6s %8s %7s %7s %7s %7s %7s %7s %7s\n", "family", "runs", ">= 1 %", "recall",
           "cause", "cost", "wrong", "monot.", "fix", "gain");
    for (int f = 0; f < ROWS; f++) {
        const struct score *s = &b->of[f];
        bool is_healthy = f < FAMILIES && *families[f].kinds == '\0';
        if (s->runs > 0) {
            print_row(f < FAMILIES ? families[f].name : "two_at_once", s,
                      is_healthy ? s->false_findings : s->established_wrong);
            add_score(&all, s);
            add_score(&healthy, is_healthy ? s : &(struct score){0});
        }
    }
    print_row("all", &all, all.established_wrong);
    printf("healthy runs with a finding: %d of %d\n", healthy.false_findings, healthy.runs);
    printf(
        "recall, cause (kind and all ranks), cost (within one point of the step): of runs that "
        "lose 1 %% or more, but for GPUs without peers that are slower by 5 %% at most, as chips "
        "differ;\nwrong: runs with an established finding that blames what was not "
        "planted (healthy: with any that asks for action);\nmonot.: a larger fault does not "
        "show a smaller loss; fix: of runs that lose 2 %% or more, the fix listed first is that "
        "of the fault;\ngain: of these, what it is predicted to gain is within 2 points of the "
        "truth\n");
}

static int print_violations(const struct bench *b)
{
    int total = 0;
    printf("%d runs; violations:\n", b->runs);
    for (int rule = 0; rule < RULES; rule++) {
        printf("%6d  %s\n", b->violations[rule], rule_texts[rule]);
        total += b->violations[rule];
    }
    return total;
}

int main(int argc, char **argv)
{
    static struct bench bench = {.seed = 1000};
    int runs = 120;
    bool table = false;
    bool random = false;
    int paths = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what -v prints is read while it runs */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            bench.seed = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            bench.filter = argv[++i];
        } else if (strcmp(argv[i], "--table") == 0) {
            table = true;
        } else if (strcmp(argv[i], "--random") == 0) {
            random = true;
        } else if (strcmp(argv[i], "-v") == 0) {
            bench.verbose = true;
        } else if (argv[i][0] != '-') {
            (void)try_path(&bench, argv[i]);
            paths++;
        } else {
            fprintf(stderr, "bench_account [--runs N] [--seed N] [--random] [--filter TEXT] "
                            "[--table] [-v] [PATH...]\n");
            return 2;
        }
    }
    if (random) {
        run_random(&bench, runs);
    } else {
        run_grid(&bench, runs);
    }
    if (paths > 0) {
        printf("%d inputs and ", paths);
    }
    int total = table ? bench.violations[FAILED] : print_violations(&bench);
    print_table(&bench);
    return total > 0 ? 1 : 0;
}
