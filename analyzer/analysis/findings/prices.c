/* SPDX-License-Identifier: Apache-2.0 */
/* What findings cost that are no causes of the account: what their best fix is predicted to gain.
 */
#include "analysis/findings/findings.h"
#include "inquest/account.h"

#include "base/mem.h"

#include <string.h>

/* A fix that gains less than this part of a step is told from nothing by chance only. */
#define NOISE 0.001
/* Fixes whose gains differ by less than this part of a step are equal: the one that comes first
 * in the finding's list changes the run least. */
#define EQUAL 0.01

/* Findings that ask for action and name fixes, but for what was simulated, or of a recorded run
 * measured, already. */
static bool is_open(const struct inq_findings *f, const struct inq_finding *finding)
{
    return !inq_finding_is_measured(f, finding) && finding->in_order_ns < 0 &&
           finding->n_fixes > 0 && finding->severity > INQ_SEVERITY_INFO;
}

/* The fix to be named first; n: none gains anything. */
static size_t best_of(const int64_t *gain_ns, size_t n, int64_t t_ns)
{
    int64_t most_ns = INT64_MIN;
    size_t best = 0;

    for (size_t i = 0; i < n; i++) {
        most_ns = gain_ns[i] != INQ_TIME_NONE && gain_ns[i] > most_ns ? gain_ns[i] : most_ns;
    }
    if (most_ns == INT64_MIN || (double)most_ns < NOISE * (double)t_ns) {
        return n;
    }
    while (gain_ns[best] == INQ_TIME_NONE ||
           (double)(most_ns - gain_ns[best]) > EQUAL * (double)t_ns) {
        best++;
    }
    return best;
}

/* Fixes in order of what they gain; the cost is the gain of the first. */
static void set_price(struct inq_findings *f, struct inq_finding *finding, const int64_t *gain_ns,
                      int64_t t_ns)
{
    size_t best = best_of(gain_ns, finding->n_fixes, t_ns);
    const char *first = best < finding->n_fixes ? finding->fixes[best] : NULL;

    if (first == NULL) {
        return;
    }
    memmove(&finding->fixes[1], &finding->fixes[0], best * sizeof(*finding->fixes));
    finding->fixes[0] = first;
    inq_findings_set_cost(f, finding, gain_ns[best], t_ns);
}

int inq_findings_price(struct inq_findings *f, inq_predict_gains *predict, struct inq_err *err)
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
    const int64_t *at = gain_ns;
    for (size_t i = 0; code == INQ_OK && i < f->n; i++) {
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
