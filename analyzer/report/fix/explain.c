/* SPDX-License-Identifier: Apache-2.0 */
/* What text and Markdown both say about fixes. */
#include "report/fix/fix.h"

#include "base/time.h"

#include <inttypes.h>
#include <string.h>

struct when {
    char text[32];
};

static struct when time_of(int64_t ns)
{
    struct when when = {""};
    (void)inq_time_format(ns, when.text, sizeof when.text);
    return when;
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static bool was_executed(const struct inq_fix *fix)
{
    return fix->executed.order.judgement != INQ_NOT_EXECUTED;
}

/* What the bounds of a sample are: of few values no interval of the median. */
static const char *of_what(size_t n)
{
    return n >= INQ_CI95_LEAST ? "95 %" : "all";
}

/* What a speed-up takes off a step, in percent of it. */
static double shorter(double speedup)
{
    return speedup > 0.0 ? 100.0 * (1.0 - 1.0 / speedup) : 0.0;
}

const char *inq_judgement_words(enum inq_judgement judgement)
{
    static const char *const text[] = {"not executed", "confirmed", "refuted", "inconclusive"};
    return text[judgement];
}

void inq_fix_collect(void (*what)(const struct inq_fixes *fixes, struct inq_out *out),
                     const struct inq_fixes *fixes, struct inq_out *text)
{
    text->len = 0;
    what(fixes, text);
    inq_out_bytes(text, "", 1);
}

void inq_fix_collect_one(void (*what)(const struct inq_fix *fix, struct inq_out *out),
                         const struct inq_fix *fix, struct inq_out *text)
{
    text->len = 0;
    what(fix, text);
    inq_out_bytes(text, "", 1);
}

static bool any_repairs(const struct inq_fixes *fixes)
{
    return fixes->n > 0 && fixes->fixes[0].repairs && fixes->fixes[0].helps;
}

/* What it gains with the costs that were measured, and what it gained. */
static void executed_cells(const struct inq_fix *fix, struct inq_table *table)
{
    const struct inq_validation *v = &fix->executed;
    if (!was_executed(fix)) {
        inq_table_na(table);
        inq_table_na(table);
        inq_table_na(table);
        return;
    }
    if (fix->n_assumptions > 0) {
        inq_table_real(table, shorter(v->measured_speedup), 1);
    } else {
        inq_table_na(table);
    }
    inq_table_real(table, shorter(v->speedup), 1);
    inq_table_printf(table, "%.1f to %.1f", shorter(v->speedup_ci95[0]),
                     shorter(v->speedup_ci95[1]));
}

void inq_fix_table(const struct inq_fixes *fixes, struct inq_table *table)
{
    bool executed = fixes->engine[0] != '\0';
    table->title =
        any_repairs(fixes)
            ? "Fixes: what repairs a fault first, then by what they are predicted to gain"
            : "Fixes, by what they are predicted to gain";
    inq_table_column(table, INQ_COLUMN_STRETCH, "fix");
    inq_table_unit(table, fixes->base.base_ns);
    inq_table_column_ns(table, "step");
    inq_table_column_ns(table, "gain");
    inq_table_column(table, INQ_COLUMN_RIGHT, "gain %");
    if (executed) {
        inq_table_column(table, INQ_COLUMN_RIGHT, "measured %");
        inq_table_column(table, INQ_COLUMN_RIGHT, "executed %");
        inq_table_column(table, INQ_COLUMN_LEFT, "95 % of it");
    } else {
        inq_table_column(table, INQ_COLUMN_RIGHT, "speed-up");
    }
    inq_table_column(table, INQ_COLUMN_LEFT, "verdict");
    for (size_t i = 0; i < fixes->n; i++) {
        const struct inq_fix *fix = &fixes->fixes[i];
        bool known = fix->t_ns >= 0;
        bool run = was_executed(fix);
        inq_table_text(table, fix->spec);
        inq_table_ns_known(table, fix->t_ns);
        if (known) {
            inq_table_ns(table, fix->gain_ns);
            inq_table_real(table, percent(fix->gain_ns, fixes->base.base_ns), 1);
        } else {
            inq_table_na(table);
            inq_table_na(table);
        }
        if (executed) {
            executed_cells(fix, table);
        } else {
            inq_table_real(table, fix->speedup, 3);
        }
        inq_table_text(table, run          ? inq_validation_text(&fix->executed)
                              : !known     ? "does not apply"
                              : fix->helps ? (fix->repairs ? "repairs" : "helps")
                                           : "does not help");
    }
}

void inq_fix_say_base(const struct inq_fixes *fixes, struct inq_out *out)
{
    const struct inq_fix_base_info *b = &fixes->base;
    if (b->recorded_ns > 0) {
        if (b->n_steps > 1) {
            inq_out_printf(out, "Base: the mean of %zu steps", b->n_steps);
        } else if (b->step >= 0) {
            inq_out_printf(out, "Base: step %" PRId64 ", the one of median length", b->step);
        } else {
            inq_out_text(out, "Base: the whole capture, no steps being known");
        }
        inq_out_printf(out, ", recorded %s; ", time_of(b->mean_recorded_ns).text);
        inq_out_printf(out, "simulated %s (%+.2f %%)", time_of(b->mean_t_ns).text,
                       percent(b->mean_t_ns - b->mean_recorded_ns, b->mean_recorded_ns));
        if (b->n_steps > 1) {
            inq_out_printf(out, "; step %" PRId64 ", the one of median length, recorded %s",
                           b->step, time_of(b->recorded_ns).text);
        }
        inq_out_printf(out, ", %s without launch delays (%+.1f %%)",
                       time_of(b->without_gaps_ns).text,
                       percent(b->without_gaps_ns - b->recorded_ns, b->recorded_ns));
    } else {
        inq_out_printf(out, "Base: a schedule of %s", time_of(b->base_ns).text);
    }
    inq_out_printf(out, "; %zu ops of %zu rank%s", b->n_ops, b->n_ranks,
                   b->n_ranks == 1 ? "" : "s");
    if (b->n_stages > 0) {
        inq_out_printf(out, ", %zu stage%s, %zu replica%s, %zu micro-batch%s%s%s", b->n_stages,
                       b->n_stages == 1 ? "" : "s", b->n_dp, b->n_dp == 1 ? "" : "s",
                       b->n_microbatches, b->n_microbatches == 1 ? "" : "es",
                       b->schedule[0] != '\0' ? ", " : "", b->schedule);
    }
    inq_out_text(out, ".");
    if (b->contradictions > 0) {
        inq_out_printf(out,
                       " By the record ops wait for each other in a circle: predictions rest on a "
                       "graph cut at %zu of its dependencies.",
                       b->contradictions);
    }
    if (!b->connected && b->n_ranks > 1) {
        inq_out_text(out, " No transfers of different ranks could be matched: what one rank "
                          "gains, the others do not see.");
    }
}

/* Nobody is to read a prediction that was refuted as a promise. */
static void say_judged(const struct inq_validation *v, struct inq_out *out)
{
    bool order = v->order.judgement == INQ_CONFIRMED;
    if (v->order.judgement == INQ_NOT_EXECUTED) {
        inq_out_text(out, " Predicted, not executed.");
    } else if (v->order.judgement == INQ_REFUTED) {
        inq_out_text(out, " Executed: the planned order was not kept.");
    } else if (v->cost.judgement == INQ_CONFIRMED) {
        inq_out_text(out, " Executed: order and cost confirmed.");
    } else if (v->cost.judgement == INQ_REFUTED) {
        inq_out_printf(out, " Executed: %scost refuted: it ran %.3f times as fast.",
                       order ? "order confirmed, " : "", v->speedup);
    } else {
        inq_out_printf(out, " Executed: %s.",
                       order ? "order confirmed, cost not judged" : "nothing was decided");
    }
}

void inq_fix_say_best(const struct inq_fixes *fixes, struct inq_out *out)
{
    const struct inq_fix *best = fixes->n > 0 ? &fixes->fixes[0] : NULL;
    if (best == NULL) {
        inq_out_text(out, "No finding calls for a fix that can be simulated.");
    } else if (!best->helps) {
        inq_out_printf(out, fixes->n == 1 ? "The fix would not make a step shorter."
                                          : "None of the fixes would make a step shorter.");
    } else {
        inq_out_printf(out, "%s: a step would take %s instead of %s, %s (%.1f %%) less.",
                       best->spec, time_of(best->t_ns).text, time_of(fixes->base.base_ns).text,
                       time_of(best->gain_ns).text, percent(best->gain_ns, fixes->base.base_ns));
        say_judged(&best->executed, out);
    }
}

/* Which ops of the executed original differ from what was recorded; small differences are left out.
 */
static void say_kinds(const struct inq_fixes *fixes, struct inq_out *out)
{
    const double least = 0.001; /* of the step */
    size_t said = 0;
    for (size_t i = 0; i < fixes->n_kinds; i++) {
        const struct inq_kind_time *k = &fixes->kinds[i];
        int64_t more = k->executed_ns - k->planned_ns;
        int64_t size = more < 0 ? -more : more;
        if ((double)size > least * (double)fixes->expected_ns) {
            inq_out_printf(out, "%s %s %s%s", said == 0 ? " Against the plan, per rank:" : ",",
                           k->kind, more < 0 ? "-" : "+", time_of(size).text);
            said++;
        }
    }
    inq_out_text(out, said > 0 ? "." : "");
}

void inq_fix_say_executed(const struct inq_fixes *fixes, struct inq_out *out)
{
    if (fixes->engine[0] == '\0') {
        return;
    }
    inq_out_printf(out, "Executed by %s on %s", fixes->engine, fixes->device);
    if (fixes->scale < 1.0 || fixes->scale > 1.0) {
        inq_out_printf(out, ", time scaled by %g", fixes->scale);
    }
    inq_out_printf(out, ": the original took %s (%s: %s to %s, n = %zu) where %s was expected",
                   time_of(fixes->executed.median_ns).text, of_what(fixes->executed.n),
                   time_of(fixes->executed.ci95_ns[0]).text,
                   time_of(fixes->executed.ci95_ns[1]).text, fixes->executed.n,
                   time_of(fixes->expected_ns).text);
    inq_out_printf(out, " (%+.2f %%).", 100.0 * fixes->base_error);
    say_kinds(fixes, out);
    if (fixes->note[0] != '\0') {
        inq_out_printf(out, " %s.", fixes->note);
    }
}

void inq_fix_say_outcome(const struct inq_fix *fix, struct inq_out *out)
{
    const struct inq_validation *v = &fix->executed;
    if (was_executed(fix)) {
        inq_out_printf(out, "predicted %.1f %% shorter", shorter(v->predicted_speedup));
        if (fix->n_assumptions > 0) {
            inq_out_printf(out, ", with measured costs %.1f %%", shorter(v->measured_speedup));
        }
        inq_out_printf(out, ", executed %.1f %% (%s: %.1f to %.1f)", shorter(v->speedup),
                       of_what(v->fixed.n), shorter(v->speedup_ci95[0]),
                       shorter(v->speedup_ci95[1]));
    }
}

void inq_fix_say_order(const struct inq_fix *fix, struct inq_out *out)
{
    if (was_executed(fix)) {
        inq_out_printf(out, "%s: %s", inq_judgement_words(fix->executed.order.judgement),
                       fix->executed.order.why);
    }
}

void inq_fix_say_cost(const struct inq_fix *fix, struct inq_out *out)
{
    if (was_executed(fix)) {
        inq_out_printf(out, "%s: %s", inq_judgement_words(fix->executed.cost.judgement),
                       fix->executed.cost.why);
    }
}
