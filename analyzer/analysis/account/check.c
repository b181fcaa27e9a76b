/* SPDX-License-Identifier: Apache-2.0 */
/* What a report must not contradict. What does is taken back, and said to be. */
#include "analysis/account/account.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Waiting that nothing explains: above this part of the rank-time no run is called healthy. */
static const double MOST_UNEXPLAINED = 0.03;
/* Rules that can be broken, at most once each or once a row: so many sentences are kept. */
enum { MOST_SENTENCES = 16 };

struct checker {
    struct inq_report *report;
    struct inq_account *account;
    bool no_memory;
};

static void withhold(struct checker *c, const char *rule, const char *what)
{
    struct inq_account *a = c->account;
    const char *text = inq_arena_asprintf(c->report->arena, "%s: %s", what, rule);
    if (text == NULL) {
        c->no_memory = true;
    } else if (a->n_violations < MOST_SENTENCES) {
        a->violations[a->n_violations++] = text;
    }
}

static int64_t sum(const int64_t *ns)
{
    int64_t total = 0;
    for (int i = 0; i < INQ_ACCOUNT_CLASS_COUNT; i++) {
        total += ns[i];
    }
    return total;
}

/* Level one: every nanosecond in exactly one class, every wait with its rank. */
static bool classes_sum(const struct inq_account *a)
{
    int64_t waits_ns = 0;
    bool fits = sum(a->total_ns) == a->rank_time_ns && sum(a->class_ns) == a->t_ns;
    for (size_t i = 0; i < a->n_ranks * a->n_steps; i++) {
        const struct inq_account_cell *cell = &a->cells[i];
        fits = fits && sum(cell->ns) == (cell->judged ? cell->end_ns - cell->start_ns : 0);
    }
    for (size_t i = 0; i < a->n_waits; i++) {
        waits_ns += a->waits[i].end_ns - a->waits[i].start_ns;
    }
    return fits && waits_ns == a->total_ns[INQ_ACCOUNT_WAIT] + a->total_ns[INQ_ACCOUNT_DEPENDENCY];
}

static void check_causes(struct checker *c)
{
    struct inq_account *a = c->account;
    for (size_t i = 0; i < a->n_causes && a->ideal_ns >= 0; i++) {
        if (a->causes[i].gain_alone_ns > a->t_ns - a->ideal_ns) {
            withhold(c, "its gain is above what an ideal run would gain", a->causes[i].id);
            a->causes[i].gain_alone_ns = -1;
            a->causes[i].gain_in_order_ns = -1;
            a->causes[i].gain_interval_ns[0] = INQ_TIME_NONE;
        }
    }
}

/* Level two: what waits for somebody has one root each, or none that is known. */
static bool roots_sum(const struct inq_account *a)
{
    int64_t ns = a->unexplained_wait_ns;
    for (size_t i = 0; i < a->n_causes; i++) {
        ns += a->causes[i].ns > 0 ? a->causes[i].ns : 0;
    }
    int64_t waits_ns = a->class_ns[INQ_ACCOUNT_WAIT] + a->class_ns[INQ_ACCOUNT_DEPENDENCY];
    int64_t rounding_ns = (int64_t)a->n_causes + 2; /* each row is rounded down by itself */
    return a->unexplained_wait_ns < 0 || llabs(ns - waits_ns) <= rounding_ns;
}

static void check_roots(struct checker *c)
{
    struct inq_account *a = c->account;
    if (roots_sum(a)) {
        return;
    }
    withhold(c, "waiting by its roots does not sum to the waiting measured", "roots of waiting");
    for (size_t i = 0; i < a->n_causes; i++) {
        a->causes[i].ns = -1;
    }
    a->unexplained_wait_ns = -1;
}

/* A finding about a cause costs what its row of the account gains, where that was simulated. */
static bool costs_its_gain(const struct inq_account *a, const struct inq_finding *f)
{
    for (size_t i = 0; i < a->n_causes; i++) {
        if (strcmp(a->causes[i].id, f->id) == 0) {
            bool simulated = a->causes[i].gain_alone_ns >= 0; /* else the cost was measured */
            return (!simulated || a->causes[i].gain_alone_ns == f->cost_ns_per_step) &&
                   (a->causes[i].fix == NULL ||
                    (f->n_fixes > 0 && strcmp(a->causes[i].fix, f->fixes[0]) == 0));
        }
    }
    return true;
}

/* The row of the account is no surer than the finding. */
static void take_over_confidence(struct inq_account *a, const struct inq_finding *f)
{
    for (size_t i = 0; i < a->n_causes; i++) {
        if (strcmp(a->causes[i].id, f->id) == 0) {
            a->causes[i].confidence = f->confidence;
        }
    }
}

static void check_findings(struct checker *c)
{
    struct inq_report *r = c->report;
    bool absent = r->trace->n_missing > 0;
    for (size_t i = 0; i < r->n_findings; i++) {
        struct inq_finding *f = &r->findings[i];
        if (!costs_its_gain(c->account, f)) {
            withhold(c, "its cost is not what its fix gains", f->id);
            f->cost_ns_per_step = -1;
            f->share = (double)NAN;
        }
        bool timed = f->cost_ns_per_step >= 0;
        if (timed && f->cost_ns_per_step > c->account->t_ns) {
            withhold(c, "its cost is above the length of a step", f->id);
            f->cost_ns_per_step = -1;
            f->share = (double)NAN;
        }
        if (timed && absent && f->confidence == INQ_CONFIDENCE_ESTABLISHED) {
            f->confidence = INQ_CONFIDENCE_SUPPORTED; /* the absent ranks may tell otherwise */
        }
        take_over_confidence(c->account, f);
    }
}

static void check_verdict(struct checker *c)
{
    struct inq_verdict *v = &c->report->verdict;
    const struct inq_account *a = c->account;
    bool healthy = strcmp(v->cls, "healthy") == 0;
    const struct inq_finding *first = c->report->n_findings > 0 ? c->report->findings : NULL;
    if (c->report->trace->n_missing > 0 && v->lost_ns_per_step >= 0 &&
        v->confidence == INQ_CONFIDENCE_ESTABLISHED) {
        v->confidence = INQ_CONFIDENCE_SUPPORTED;
    }
    if (healthy && (double)a->unexplained_wait_ns > MOST_UNEXPLAINED * (double)a->t_ns) {
        withhold(c, "waiting that nothing explains is above 3 % of the rank-time", "healthy");
        v->headline = "Ranks wait for each other, and what they wait for is not known.";
        v->cls = "waiting_unexplained";
        v->confidence = INQ_CONFIDENCE_HYPOTHESIS;
        v->lost_ns_per_step = -1;
    } else if (!healthy && first != NULL &&
               strcmp(v->cls, inq_finding_kind_text(first->kind)) == 0) {
        v->lost_ns_per_step = first->cost_ns_per_step; /* one number for one loss */
    }
}

int inq_account_check(struct inq_report *report, struct inq_err *err)
{
    struct checker c = {.report = report, .account = report->account};
    if (c.account == NULL) {
        return INQ_OK;
    }
    c.account->violations =
        inq_arena_array(report->arena, MOST_SENTENCES, sizeof(*c.account->violations));
    if (c.account->violations == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the checks of the report");
    }
    if (!classes_sum(c.account)) {
        return inq_err_set(err, INQ_LIMIT, "the classes of the account do not sum to its time");
    }
    check_roots(&c);
    check_causes(&c);
    check_findings(&c);
    check_verdict(&c);
    return c.no_memory ? inq_err_set(err, INQ_NOMEM, "no memory for the checks of the report")
                       : INQ_OK;
}
