/* SPDX-License-Identifier: Apache-2.0 */
/* From findings to the rows of causes of the account. */
#include "analysis/findings/causes.h"
#include "analysis/findings/findings.h"
#include "inquest/account.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Causes share a gain when that in order differs from that alone by this part of it. */
#define SHARED_PART 0.1
/* Ranks that waited themselves, one for the other, are followed so far. */
enum { MOST_HOPS = 8 };

struct roots {
    struct inq_account *account;
    uint32_t *cause;      /* [n_ranks] index of the cause that names the rank; INQ_NONE */
    uint32_t *waited_for; /* [n_ranks * n_steps] whom it waited for longest in the step; INQ_NONE */
    int64_t *longest_ns;  /* [n_ranks * n_steps] */
    uint32_t shared;      /* the cause that names no rank: work that is divided unevenly */
    uint32_t schedule;    /* the pipeline's; INQ_NONE */
    int64_t *sum_ns;      /* [n_causes] */
    int64_t left_ns;      /* of no rank that a cause names */
};

/* ---- roots ----------------------------------------------------------------------------------- */

static void name_ranks(struct roots *x)
{
    const struct inq_account *a = x->account;

    x->shared = x->schedule = INQ_NONE;
    for (size_t r = 0; r < a->n_ranks; r++) {
        x->cause[r] = INQ_NONE;
    }
    for (size_t i = a->n_causes; i-- > 0;) { /* the first cause that names a rank has it */
        const struct inq_account_cause *cause = &a->causes[i];
        bool schedule = cause->kind == INQ_FINDING_PIPELINE_BUBBLE;
        x->schedule = schedule ? (uint32_t)i : x->schedule;
        x->shared = cause->n_ranks == 0 && !schedule ? (uint32_t)i : x->shared;
        for (size_t k = 0; k < cause->n_ranks; k++) {
            for (size_t r = 0; r < a->n_ranks; r++) {
                if (a->trace->ranks[r].rank == cause->ranks[k]) {
                    x->cause[r] = (uint32_t)i;
                }
            }
        }
    }
}

static void find_longest(struct roots *x)
{
    const struct inq_account *a = x->account;

    for (size_t k = 0; k < a->n_ranks * a->n_steps; k++) {
        x->waited_for[k] = INQ_NONE;
    }
    for (size_t i = 0; i < a->n_waits; i++) {
        const struct inq_account_wait *wait = &a->waits[i];
        size_t k = wait->rank * a->n_steps + wait->step;
        if ((wait->end_ns - wait->start_ns) > x->longest_ns[k]) {
            x->longest_ns[k] = (wait->end_ns - wait->start_ns);
            x->waited_for[k] = wait->waited_for;
        }
    }
}

/* The cause at the root of a wait: of the rank waited for, or of whom that waited for itself;
 * INQ_NONE: no cause names any of them. */
static uint32_t root_of(const struct roots *x, const struct inq_account_wait *wait)
{
    uint32_t rank = wait->waited_for;

    for (int hop = 0; hop < MOST_HOPS && rank != INQ_NONE; hop++) {
        if (x->cause[rank] != INQ_NONE) {
            return x->cause[rank];
        }
        rank = x->waited_for[rank * x->account->n_steps + wait->step];
    }
    return INQ_NONE;
}

static void add_waits(struct roots *x)
{
    struct inq_account *a = x->account;

    for (size_t i = 0; i < a->n_waits; i++) {
        uint32_t cause = a->waits[i].cause = root_of(x, &a->waits[i]);
        if (cause != INQ_NONE) {
            x->sum_ns[cause] += (a->waits[i].end_ns - a->waits[i].start_ns);
        } else {
            x->left_ns += (a->waits[i].end_ns - a->waits[i].start_ns);
        }
    }
}

/* Waiting for ranks that no cause names: first the schedule's, as much as it loses, then that of
 * work that is divided unevenly. What is left is not explained. */
static int64_t share_out(struct roots *x, int64_t schedule_ns)
{
    if (x->schedule != INQ_NONE) {
        x->sum_ns[x->schedule] = x->left_ns < schedule_ns ? x->left_ns : schedule_ns;
        x->left_ns -= x->sum_ns[x->schedule];
    }
    if (x->shared != INQ_NONE) {
        x->sum_ns[x->shared] += x->left_ns;
        x->left_ns = 0;
    }
    return x->left_ns;
}

/* What the schedule of a pipeline loses of a step by the waterfall: warm-up and cool-down, and the
 * transfers in them. */
static int64_t schedule_loss_ns(const struct inq_pipeline *p)
{
    int64_t ns = 0;
    for (size_t i = 0; p != NULL && i < p->n_waterfall; i++) {
        const struct inq_waterfall_part *part = &p->waterfall[i];
        bool schedule =
            strcmp(part->cause, "schedule") == 0 || strcmp(part->cause, "p2p_transfer") == 0;
        ns += schedule && part->ns_per_step > 0 ? part->ns_per_step : 0;
    }
    return ns;
}

static bool attribute(struct inq_account *a, const struct inq_pipeline *pipeline)
{
    size_t n_cells = a->n_ranks * a->n_steps;
    int64_t cells = (int64_t)(a->ranks_judged * a->steps_judged);
    struct roots x = {.account = a};
    x.cause = inq_mem_alloc((a->n_ranks + 1) * sizeof(*x.cause));
    x.waited_for = inq_mem_alloc((n_cells + 1) * sizeof(*x.waited_for));
    x.longest_ns = inq_mem_zalloc(n_cells + 1, sizeof(*x.longest_ns));
    x.sum_ns = inq_mem_zalloc(a->n_causes + 1, sizeof(*x.sum_ns));
    bool fine = x.cause && x.waited_for && x.longest_ns && x.sum_ns && cells > 0;
    if (fine) {
        name_ranks(&x);
        find_longest(&x);
        add_waits(&x);
        a->unexplained_wait_ns = share_out(&x, schedule_loss_ns(pipeline) * cells) / cells;
        for (size_t i = 0; i < a->n_causes; i++) {
            a->causes[i].ns = x.sum_ns[i] / cells;
        }
    }
    inq_mem_free(x.cause);
    inq_mem_free(x.waited_for);
    inq_mem_free(x.longest_ns);
    inq_mem_free(x.sum_ns);
    return fine || cells == 0;
}

static bool is_cause(const struct inq_finding *finding)
{
    return inq_finding_is_about(finding) == INQ_ABOUT_CAUSE;
}

bool inq_finding_is_measured(const struct inq_account *account, const struct inq_finding *finding)
{
    bool recorded = account != NULL && !account->op_table;

    return recorded && is_cause(finding) && finding->in_order_ns < 0 &&
           finding->kind != INQ_FINDING_PIPELINE_BUBBLE;
}

/* ---- gains ----------------------------------------------------------------------------------- */

/* Ids of the causes before this one, where it gains more or less after them than alone. */
static void set_overlaps(struct inq_findings *f, struct inq_account *a, size_t i)
{
    struct inq_account_cause *cause = &a->causes[i];
    double off = cause->gain_in_order_ns >= 0
                     ? fabs((double)(cause->gain_in_order_ns - cause->gain_alone_ns))
                     : 0.0;
    double most = fmax((double)cause->gain_alone_ns, (double)cause->gain_in_order_ns);

    if (i == 0 || off <= SHARED_PART * most) {
        return;
    }
    const char **ids = inq_arena_array(f->arena, i, sizeof(*ids));
    f->no_memory = f->no_memory || !ids;
    for (size_t k = 0; ids && k < i; k++) {
        ids[cause->n_overlaps++] = a->causes[k].id;
    }
    cause->overlaps = ids;
}

static void add_cause(const struct inq_findings *f, struct inq_account *a,
                      const struct inq_finding *finding)
{
    bool simulated = !inq_finding_is_measured(f->report->account, finding);
    struct inq_account_cause *cause = &a->causes[a->n_causes++];

    *cause = (struct inq_account_cause){.id = finding->id,
                                        .kind = finding->kind,
                                        .cause = inq_finding_kind_text(finding->kind),
                                        .n_ranks = finding->n_ranks,
                                        .ranks = finding->ranks,
                                        .n_stages = finding->n_stages,
                                        .stages = finding->stages,
                                        .ns = -1,
                                        .gain_alone_ns = simulated ? finding->cost_ns_per_step : -1,
                                        .gain_in_order_ns = finding->in_order_ns,
                                        .gain_joint_ns = finding->joint_ns,
                                        .gain_interval_ns = {finding->low_ns, finding->high_ns},
                                        .confidence = finding->confidence,
                                        .fix = finding->n_fixes > 0 ? finding->fixes[0] : NULL};
}

/* What is left when all causes are repaired: the compute, and the rest. */
static void set_rest(struct inq_account *a, int64_t simulated_ns)
{
    int64_t left_ns = a->t_ns;

    a->base_error = ((double)simulated_ns - (double)a->t_ns) / (double)a->t_ns;
    if (a->gains_problem[0] != '\0') {
        return;
    }
    for (size_t i = 0; i < a->n_causes; i++) {
        left_ns -= a->causes[i].gain_in_order_ns > 0 ? a->causes[i].gain_in_order_ns : 0;
    }
    a->ideal_ns = a->class_ns[INQ_ACCOUNT_COMPUTE] + a->class_ns[INQ_ACCOUNT_UNCLASSIFIED];
    a->ideal_ns = a->ideal_ns < left_ns ? a->ideal_ns : left_ns;
    a->residual_ns = left_ns - a->ideal_ns;
}

/* Whether a cause is told only for what it costs once those before it are repaired. */
static bool is_hidden(const struct inq_findings *f, const struct inq_finding *finding)
{
    return inq_severity_of(finding->share) == INQ_SEVERITY_INFO &&
           inq_severity_of(inq_findings_share(f, finding->in_order_ns, -1)) > INQ_SEVERITY_INFO;
}

/* " alone, 6.36 ms per step (8.6 %) together with rank 3's host", " after repair of rank 9's GPU";
 * "" of a cause that others do not hide. */
static const char *beside_others(struct inq_findings *f, const struct inq_finding *finding)
{
    if (finding->joint_with != NULL) {
        return inq_findings_text(
            f, " alone, %s (%s) together with %s", inq_findings_time(f, finding->joint_ns),
            inq_findings_percent(f, inq_findings_share(f, finding->joint_ns, -1)),
            finding->joint_with);
    }
    if (!is_hidden(f, finding)) {
        return "";
    }
    return finding->hidden_by != NULL
               ? inq_findings_text(f, " after repair of %s", finding->hidden_by)
               : " after repair of the causes before it";
}

/* "...: 2.55 ms per step (18 %)": what a cause costs ends its title, once that is known. */
static void say_costs(struct inq_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct inq_finding *finding = &f->at[i];
        bool priced = is_cause(finding) && finding->cost_ns_per_step >= 0;
        if (priced && finding->kind != INQ_FINDING_PIPELINE_BUBBLE) {
            const char *most = inq_finding_is_measured(f->report->account, finding) ? "up to " : "";
            bool hidden = finding->joint_with == NULL && is_hidden(f, finding);
            int64_t ns = hidden ? finding->in_order_ns : finding->cost_ns_per_step;
            finding->title = inq_findings_text(
                f, "%s: %s%s %s (%s)%s", finding->title, most, inq_findings_time(f, ns),
                inq_account_per(f->report->account),
                inq_findings_percent(f, hidden ? inq_findings_share(f, ns, -1) : finding->share),
                beside_others(f, finding));
        }
    }
}

void inq_findings_fill_causes(struct inq_findings *findings)
{
    const struct inq_attribution *blame = findings->report->attribution;
    struct inq_account *a = findings->report->account;

    say_costs(findings);
    if (!a || a->t_ns <= 0) {
        return;
    }
    a->causes = inq_arena_array(findings->arena, findings->n + 1, sizeof(*a->causes));
    if (!a->causes) {
        findings->no_memory = true;
        return;
    }
    for (size_t i = 0; i < findings->n; i++) {
        if (is_cause(&findings->at[i])) {
            add_cause(findings, a, &findings->at[i]);
        }
    }
    for (size_t i = 0; i < a->n_causes; i++) {
        set_overlaps(findings, a, i);
    }
    findings->no_memory = !attribute(a, findings->report->pipeline) || findings->no_memory;
    if (blame && blame->no_gains[0] != '\0') {
        a->gains_problem = blame->no_gains;
    }
    if (blame && blame->simulated_ns > 0) {
        set_rest(a, blame->simulated_ns);
    }
}
