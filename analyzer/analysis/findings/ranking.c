/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: every section of the report is asked for findings; the costliest come first, and a
 * verdict sums them up. */
#include "analysis/analysis.h"
#include "analysis/findings/causes.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/verdict.h"
#include "analysis/straggler/straggler.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/out.h"

#include <string.h>

/* Ranks that a fix names at most: of more, its spec would be longer than a line. */
enum { MOST_FIX_RANKS = 256 };

/* "replace-rank:2,5" of "replace-rank:RANKS"; "" when no rank is named, or a rank's number is not
 * known. */
static const char *fix_of_ranks(struct inq_findings *f, const struct inq_finding *finding,
                                const char *fix)
{
    struct inq_out out = {0};
    const char *spec = "";
    bool known = finding->n_ranks > 0 && finding->n_ranks <= MOST_FIX_RANKS;

    inq_out_printf(&out, "%.*s", (int)strcspn(fix, ":"), fix);
    for (size_t i = 0; known && i < finding->n_ranks; i++) {
        known = finding->ranks[i] >= 0;
        inq_out_printf(&out, "%c%d", i == 0 ? ':' : ',', finding->ranks[i]);
    }
    if (known) {
        spec = inq_findings_text(f, "%.*s", (int)out.len, out.buf ? out.buf : "");
    }
    f->no_memory = f->no_memory || out.code != INQ_OK;
    inq_out_release(&out);
    return spec;
}

/* Gives every finding that has none yet the advice of its kind and the fix that it calls for. */
static void complete(struct inq_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct inq_finding *finding = &f->at[i];
        const struct inq_finding_kind_info *kind = inq_finding_kind_info(finding->kind);

        if (finding->advice[0] == '\0') {
            finding->advice = kind->advice;
        }
        if (finding->n_fixes == 0 && kind->fix[0] != '\0') {
            bool of_ranks = strchr(kind->fix, ':') != NULL;
            inq_findings_call_for(f, finding,
                                  of_ranks ? fix_of_ranks(f, finding, kind->fix) : kind->fix);
        }
    }
}

/* What findings cost that are no causes of the account: what their best fix is predicted to gain.
 * What is only measured (a view of where time goes) costs nothing by a fix that gains less than is
 * worth telling: it stays as severe as its share. What was simulated costs what its fix gains,
 * however little. */

/* Fixes whose gains differ by less than this part of a step are equal: the one that comes first
 * in the finding's list changes the run least. */
#define EQUAL 0.01

/* Findings that ask for action and name fixes, but for what was simulated, or of a recorded run
 * measured, already. What only informs is not worth the time: with a base to
 * simulate, a report of 64 ranks needs three times the CPU. */
static bool is_open(const struct inq_findings *f, const struct inq_finding *finding)
{
    return !inq_finding_is_measured(f->report->account, finding) && finding->in_order_ns < 0 &&
           finding->n_fixes > 0 && finding->severity > INQ_SEVERITY_INFO;
}

/* As `inquest fix` says it. */
static bool helps(int64_t gain_ns, int64_t t_ns)
{
    return gain_ns != INQ_TIME_NONE && (double)gain_ns > INQ_FIX_NOISE * (double)t_ns;
}

/* INQ_TIME_NONE: none is known. */
static int64_t most_of(const int64_t *gain_ns, size_t n)
{
    int64_t most_ns = INQ_TIME_NONE; /* the least there is */

    for (size_t i = 0; i < n; i++) {
        most_ns = gain_ns[i] > most_ns ? gain_ns[i] : most_ns;
    }
    return most_ns;
}

/* The fix to be named first; n: none helps. */
static size_t best_of(const int64_t *gain_ns, size_t n, int64_t t_ns)
{
    int64_t most_ns = most_of(gain_ns, n);
    size_t best = 0;

    while (best < n && (!helps(gain_ns[best], t_ns) ||
                        (double)(most_ns - gain_ns[best]) > EQUAL * (double)t_ns)) {
        best++;
    }
    return best;
}

/* Leaves the fixes that help, and their gains, in the order of these. */
static void keep_helpful(struct inq_finding *finding, int64_t *gain_ns, int64_t t_ns)
{
    size_t kept = 0;
    size_t best = best_of(gain_ns, finding->n_fixes, t_ns);

    while (kept + best < finding->n_fixes) {
        const char **fixes = &finding->fixes[kept];
        int64_t *gains = &gain_ns[kept];
        const char *fix = fixes[best];
        int64_t gain = gains[best];
        memmove(&fixes[1], &fixes[0], best * sizeof(*fixes));
        memmove(&gains[1], &gains[0], best * sizeof(*gains));
        fixes[0] = fix;
        gains[0] = gain;
        kept++;
        best = best_of(gain_ns + kept, finding->n_fixes - kept, t_ns);
    }
    finding->n_fixes = kept;
}

/* "microbatches:32, schedule:zb-h1" */
static const char *list_fixes(struct inq_findings *f, const struct inq_finding *finding)
{
    const char *text = "";

    for (size_t i = 0; i < finding->n_fixes; i++) {
        text = inq_findings_text(f, "%s%s%s", text, i > 0 ? ", " : "", finding->fixes[i]);
    }
    return text;
}

/* Over few steps, or with ranks that left no trace, a gain is supported at most (man
 * inquest-report(5)). */
static bool is_sure(const struct inq_findings *f)
{
    return f->report->account->steps_judged >= INQ_GAIN_LEAST_STEPS &&
           f->report->trace->n_missing == 0;
}

/* Fixes in order of what they gain; the cost is the gain of the first. */
static void set_price(struct inq_findings *f, struct inq_finding *finding, int64_t *gain_ns,
                      int64_t t_ns)
{
    double least = finding->cost_ns_per_step < 0 ? inq_severity_least(INQ_SEVERITY_LOW) : 0.0;
    const char *tried = list_fixes(f, finding);
    int64_t most_ns = most_of(gain_ns, finding->n_fixes);

    if (finding->cost_ns_per_step >= 0 && !helps(most_ns, t_ns)) {
        return; /* what-if analysis took the cause away otherwise, and gained by it */
    }
    keep_helpful(finding, gain_ns, t_ns);
    if (finding->n_fixes == 0) {
        finding->advice =
            inq_findings_text(f, "%s No gain is predicted for %s.", finding->advice, tried);
        return;
    }
    if ((double)most_ns < least * (double)t_ns) {
        return;
    }
    inq_findings_set_cost(f, finding, gain_ns[0], t_ns);
    if (!is_sure(f) && finding->confidence == INQ_CONFIDENCE_ESTABLISHED) {
        finding->confidence = INQ_CONFIDENCE_SUPPORTED;
    }
}

/* Gives findings that ask for action and are no causes of the account the cost that their best fix
 * is predicted to gain, and leaves them the fixes that help. All stay as they are where nothing
 * is predicted, or `predict` is NULL. Fails as `predict` does. */
static int findings_price(struct inq_findings *f, inq_predict_gains *predict, struct inq_err *err)
{
    const struct inq_account *a = f->report->account;
    size_t n = 0;

    if (predict == NULL || a == NULL || a->t_ns <= 0) {
        return INQ_OK;
    }
    for (size_t i = 0; i < f->n; i++) {
        n += is_open(f, &f->at[i]) ? f->at[i].n_fixes : 0;
    }
    if (n == 0) {
        return INQ_OK;
    }
    const char **specs = inq_mem_alloc(n * sizeof(*specs));
    int64_t *gain_ns = inq_mem_alloc(n * sizeof(*gain_ns));
    int code =
        specs && gain_ns ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for %zu fixes", n);
    n = 0;
    for (size_t i = 0; code == INQ_OK && i < f->n; i++) {
        for (size_t k = 0; is_open(f, &f->at[i]) && k < f->at[i].n_fixes; k++) {
            specs[n++] = f->at[i].fixes[k];
        }
    }
    code = code == INQ_OK ? predict(f->report->trace, f->report, specs, n, gain_ns, err) : code;
    int64_t *at = gain_ns;
    bool known = code == INQ_OK && most_of(gain_ns, n) != INQ_TIME_NONE;
    for (size_t i = 0; known && i < f->n; i++) {
        if (is_open(f, &f->at[i])) {
            size_t own = f->at[i].n_fixes;
            set_price(f, &f->at[i], at, a->t_ns);
            at += own;
        }
    }
    inq_mem_free(specs);
    inq_mem_free(gain_ns);
    return code;
}

static inq_findings_from *const parts[] = {inq_findings_from_stragglers, inq_findings_from_graph,
                                           inq_findings_from_time,       inq_findings_from_training,
                                           inq_findings_from_inputs,     inq_findings_from_failure};

/* A run that died, or whose numbers are gone, has lost more than time. */
static int64_t weight(const struct inq_finding *finding)
{
    if (finding->kind == INQ_FINDING_FAILURE) {
        return INT64_MAX;
    }
    bool lost =
        finding->severity == INQ_SEVERITY_HIGH &&
        (finding->kind == INQ_FINDING_NOT_FINITE || finding->kind == INQ_FINDING_DIVERGENCE);
    if (lost) {
        return INT64_MAX - 1;
    }
    /* evening out work makes a slow GPU's shorter, too: what it gains beyond that counts */
    bool beyond = finding->kind == INQ_FINDING_SEQUENCE_IMBALANCE && finding->in_order_ns >= 0 &&
                  finding->in_order_ns < finding->cost_ns_per_step;
    return beyond ? finding->in_order_ns : finding->cost_ns_per_step;
}

static int by_share(const struct inq_finding *x, const struct inq_finding *y)
{
    double a = x->share >= 0.0 ? x->share : -1.0; /* not measured: last */
    double b = y->share >= 0.0 ? y->share : -1.0;
    return a > b ? -1 : a < b;
}

/* Findings that ask for action before those that only inform; the costly before the cheap. */
static int worst_first(const void *a, const void *b, void *ctx)
{
    const struct inq_finding *x = a;
    const struct inq_finding *y = b;
    bool x_informs = x->severity == INQ_SEVERITY_INFO;
    bool y_informs = y->severity == INQ_SEVERITY_INFO;

    (void)ctx;
    if (x_informs != y_informs) {
        return x_informs ? 1 : -1;
    }
    if (weight(x) != weight(y)) {
        return weight(x) > weight(y) ? -1 : 1;
    }
    if (x->severity != y->severity) {
        return x->severity > y->severity ? -1 : 1;
    }
    if (by_share(x, y) != 0) {
        return by_share(x, y);
    }
    return strcmp(x->id, y->id);
}

int inq_run_findings(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    struct inq_findings findings = {.report = report, .arena = report->arena};
    int code = INQ_OK;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        parts[i](trace, &findings);
    }
    complete(&findings);
    code = findings_price(&findings, options->predict, err);
    code = code != INQ_OK
               ? code
               : inq_sort(findings.at, findings.n, sizeof(*findings.at), worst_first, NULL, err);
    if (code == INQ_OK) {
        inq_findings_fill_causes(&findings);
        inq_verdict_make(trace, &findings, &report->verdict);
        report->findings = inq_arena_array(report->arena, findings.n, sizeof(*findings.at));
        findings.no_memory = findings.no_memory || !report->findings;
    }
    if (code == INQ_OK && findings.no_memory) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for findings");
    }
    if (code == INQ_OK && findings.n > 0) {
        memcpy(report->findings, findings.at, findings.n * sizeof(*findings.at));
        report->n_findings = findings.n;
    }
    inq_mem_free(findings.at);
    return code;
}
