/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes as text, Markdown, JSON and a page. */
#include "inquest/fix.h"

#include "base/arena.h"
#include "base/time.h"
#include "report/render/html/html.h"
#include "report/render/json/json.h"
#include "report/render/markdown/markdown.h"
#include "report/render/text/text.h"
#include "report/contract/contract.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <string.h>

/* ---- What text and Markdown both say about fixes --------------------------------------------- */

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
    return fix->executed.order.judgment != INQ_NOT_EXECUTED;
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

/* "not executed", "confirmed" .. */
static const char *judgment_words(enum inq_judgment judgment)
{
    static const char *const text[] = {"not executed", "confirmed", "refuted", "inconclusive"};
    return text[judgment];
}

/* Collects what one of the functions below says, as a string in `text->buf`. */
static void fix_collect(void (*what)(const struct inq_fixes *fixes, struct inq_out *out),
                        const struct inq_fixes *fixes, struct inq_out *text)
{
    text->len = 0;
    what(fixes, text);
    inq_out_bytes(text, "", 1);
}

/* One of these of a fix, as a string in `text->buf`. */
/* What could not be collected is missing from `out`. */
static void fix_release(struct inq_out *text, struct inq_out *out)
{
    out->code = out->code == INQ_OK ? text->code : out->code;
    inq_out_release(text);
}

static void fix_collect_one(void (*what)(const struct inq_fix *fix, struct inq_out *out),
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
    if (v->fixed.n == 0) { /* it does not fit the device */
        inq_table_na(table);
        inq_table_na(table);
        return;
    }
    inq_table_real(table, shorter(v->speedup), 1);
    inq_table_printf(table, "%.1f to %.1f", shorter(v->speedup_ci95[0]),
                     shorter(v->speedup_ci95[1]));
}

static const char *verdict_words(const struct inq_validation *executed)
{
    const char *text = inq_validation_text(executed);
    return strcmp(text, "order_confirmed") == 0 ? "order confirmed" : text;
}

/* One fix a row. Release the table on failure too. */
static void fix_table(const struct inq_fixes *fixes, struct inq_table *table)
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
        inq_table_text(table, run          ? verdict_words(&fix->executed)
                              : !known     ? "not predicted"
                              : fix->helps ? (fix->repairs ? "repairs" : "helps")
                                           : "does not help");
    }
}

/* The mean of the judged steps, how far the simulator is off it, and the step that stands for them.
 */
static void say_recorded(const struct inq_fix_base_info *b, struct inq_out *out)
{
    double error = percent(b->mean_t_ns - b->mean_recorded_ns, b->mean_recorded_ns);

    if (b->step < 0) {
        inq_out_text(out, "Base: the whole capture, no steps being known");
    } else if (b->n_steps > 1) {
        inq_out_printf(out, "Base: the mean of %zu steps", b->n_steps);
    } else {
        inq_out_printf(out, "Base: step %" PRId64 ", the only one judged", b->step);
    }
    inq_out_printf(out, ", recorded %s", time_of(b->mean_recorded_ns).text);
    if (b->n_simulated > 0) {
        inq_out_printf(out, "; simulated %s (%+.2f %%)", time_of(b->mean_t_ns).text, error);
    }
    if (b->step < 0 || b->n_steps <= 1) {
        inq_out_text(out, "; over all ranks");
    } else {
        inq_out_printf(out, "; step %" PRId64 ", the one of median length%s", b->step,
                       b->n_simulated > 0 ? "" : ", stands for all");
    }
    inq_out_printf(out, ": recorded %s", time_of(b->recorded_ns).text);
    if (b->n_simulated == 0) {
        inq_out_printf(out, ", simulated %s (%+.2f %%)", time_of(b->t_ns).text, error);
    }
    inq_out_printf(out, ", %s without launch delays (%+.1f %%)", time_of(b->without_gaps_ns).text,
                   percent(b->without_gaps_ns - b->recorded_ns, b->recorded_ns));
}

/* What the base is, and how far the model is off, into `out`. */
static void fix_say_base(const struct inq_fixes *fixes, struct inq_out *out)
{
    const struct inq_fix_base_info *b = &fixes->base;
    if (b->recorded_ns > 0) {
        say_recorded(b, out);
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
        inq_out_printf(
            out,
            " The record has ops that wait for each other in a circle; predictions rest on "
            "a graph without its %zu least certain dependenc%s.",
            b->contradictions, b->contradictions == 1 ? "y" : "ies");
    }
    if (!b->connected && b->n_ranks > 1) {
        inq_out_text(out, " No transfers of different ranks could be matched: what one rank "
                          "gains, the others do not see.");
    }
}

/* Nobody is to read a prediction that was refuted as a promise. */
static void say_judged(const struct inq_validation *v, struct inq_out *out)
{
    bool order = v->order.judgment == INQ_CONFIRMED;
    if (v->order.judgment == INQ_NOT_EXECUTED) {
        inq_out_text(out, " Predicted, not executed.");
    } else if (v->order.judgment == INQ_REFUTED) {
        inq_out_text(out, " Executed: the planned order was not kept.");
    } else if (v->cost.judgment == INQ_CONFIRMED) {
        inq_out_text(out, " Executed: order and cost confirmed.");
    } else if (v->cost.judgment == INQ_REFUTED && v->fixed.n == 0) {
        inq_out_text(out, " Not executed: it does not fit the device.");
    } else if (v->cost.judgment == INQ_REFUTED) {
        inq_out_printf(out, " Executed: %scost refuted: it ran %.3f times as fast.",
                       order ? "order confirmed, " : "", v->speedup);
    } else {
        inq_out_printf(out, " Executed: %s.",
                       order ? "order confirmed, cost not judged" : "nothing was decided");
    }
}

static void fix_say_limit(const struct inq_fixes *fixes, struct inq_out *out)
{
    if (fixes->n_left_out > 0) {
        inq_out_printf(
            out,
            "Limit: %zu more fixes (past 256 in all, or past 64 places for one rank) are "
            "not looked at; name one with --fix.",
            fixes->n_left_out);
    }
}

/* The verdict in one sentence. */
static void fix_say_best(const struct inq_fixes *fixes, struct inq_out *out)
{
    const struct inq_fix *best = fixes->n > 0 ? &fixes->fixes[0] : NULL;
    bool capture = fixes->base.recorded_ns > 0 && fixes->base.step < 0;
    const char *step = capture ? "the capture" : "a step";
    if (best == NULL) {
        inq_out_printf(out, "No finding calls for a fix that would make %s shorter.", step);
    } else if (best->t_ns < 0) { /* those with a prediction come first */
        inq_out_printf(out,
                       fixes->n == 1 ? "%s is not predicted: %s." : "No fix is predicted; %s: %s.",
                       best->spec, best->problem);
    } else if (!best->helps) {
        inq_out_printf(out,
                       fixes->n == 1 ? "The fix would not make %s shorter."
                                     : "None of the fixes would make %s shorter.",
                       step);
    } else {
        inq_out_printf(out, "%s: %s would take %s instead of %s, %s (%.1f %%) less.", best->spec,
                       step, time_of(best->t_ns).text, time_of(fixes->base.base_ns).text,
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

/* What was executed and how far the executed original is from the recorded step; nothing when
 * nothing was executed. */
static void fix_say_executed(const struct inq_fixes *fixes, struct inq_out *out)
{
    if (fixes->engine[0] == '\0') {
        return;
    }
    inq_out_printf(out, "Executed by %s on %s", fixes->engine, fixes->device);
    if (fixes->scale < 1.0 || fixes->scale > 1.0) {
        inq_out_printf(out, ", time scaled by %.3g", fixes->scale);
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

/* Of an executed fix, nothing where it was not: the gains side by side; both verdicts and why. */
static void fix_say_outcome(const struct inq_fix *fix, struct inq_out *out)
{
    const struct inq_validation *v = &fix->executed;
    if (was_executed(fix)) {
        inq_out_printf(out, "predicted %.1f %% shorter", shorter(v->predicted_speedup));
        if (fix->n_assumptions > 0) {
            inq_out_printf(out, ", with measured costs %.1f %%", shorter(v->measured_speedup));
        }
        if (v->fixed.n > 0) {
            inq_out_printf(out, ", executed %.1f %% (%s: %.1f to %.1f)", shorter(v->speedup),
                           of_what(v->fixed.n), shorter(v->speedup_ci95[0]),
                           shorter(v->speedup_ci95[1]));
        }
    }
}

static void fix_say_order(const struct inq_fix *fix, struct inq_out *out)
{
    if (was_executed(fix)) {
        inq_out_printf(out, "%s: %s", judgment_words(fix->executed.order.judgment),
                       fix->executed.order.why);
    }
}

static void fix_say_cost(const struct inq_fix *fix, struct inq_out *out)
{
    if (was_executed(fix)) {
        inq_out_printf(out, "%s: %s", judgment_words(fix->executed.cost.judgment),
                       fix->executed.cost.why);
    }
}

/* ---- Fixes on the terminal, and as Markdown -------------------------------------------------- */

enum { INDENT = 4, SHOWN = 8 };

static const struct {
    const char *label;
    void (*say)(const struct inq_fix *fix, struct inq_out *out);
} executed[] = {
    {"Executed step: ", fix_say_outcome}, {"Order: ", fix_say_order}, {"Cost: ", fix_say_cost}};

/* ---- text ------------------------------------------------------------------------------------ */

static void line(const struct inq_terminal *terminal, const char *label, const char *text)
{
    if (text[0] != '\0') {
        inq_out_printf(terminal->out, "%*s%s", INDENT, "", label);
        inq_terminal_wrap(terminal, text, INDENT + (int)strlen(label), INDENT + 2);
    }
}

static void paragraph(const struct inq_terminal *terminal, const struct inq_out *text)
{
    if (text->buf != NULL && text->buf[0] != '\0') {
        inq_terminal_wrap(terminal, text->buf, 0, 0);
    }
}

static void print_fix(const struct inq_terminal *terminal, size_t number, const struct inq_fix *fix)
{
    struct inq_out text = {0};
    inq_out_printf(terminal->out, "%2zu. ", number);
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    (void)inq_terminal_text(terminal, fix->spec, terminal->width - INDENT);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
    line(terminal, "", fix->what);
    line(terminal, "Not predicted: ", fix->problem);
    for (size_t i = 0; i < sizeof executed / sizeof *executed; i++) {
        fix_collect_one(executed[i].say, fix, &text);
        line(terminal, executed[i].label, text.buf != NULL ? text.buf : "");
    }
    line(terminal, "Called for by: ", fix->finding);
    line(terminal, "Assumes: ", fix->assumes);
    line(terminal, "Memory: ", fix->costs.memory);
    line(terminal, "Accuracy: ", fix->costs.accuracy);
    line(terminal, "Work: ", fix->costs.work);
    fix_release(&text, terminal->out);
}

static void fix_text(const struct inq_fixes *fixes, const struct inq_report_options *options,
                     struct inq_arena *arena, struct inq_out *out)
{
    struct inq_terminal terminal = inq_terminal_of(options, out);
    struct inq_out text = {0};
    size_t shown = fixes->n <= SHOWN || options->verbose ? fixes->n : SHOWN;
    inq_terminal_tint(&terminal, INQ_TINT_BOLD);
    fix_collect(fix_say_best, fixes, &text);
    paragraph(&terminal, &text);
    inq_terminal_plain(&terminal);
    fix_collect(fix_say_base, fixes, &text);
    paragraph(&terminal, &text);
    fix_collect(fix_say_executed, fixes, &text);
    paragraph(&terminal, &text);
    if (fixes->n > 0) {
        struct inq_table table = {.arena = arena};
        fix_table(fixes, &table);
        inq_out_text(out, "\n");
        inq_table_print(&table, &terminal);
        out->code = table.code != INQ_OK ? table.code : out->code;
        inq_table_release(&table);
        inq_out_text(out, "\n");
    }
    for (size_t i = 0; i < shown; i++) {
        print_fix(&terminal, i + 1, &fixes->fixes[i]);
    }
    if (shown < fixes->n) {
        inq_out_printf(out, "    and %zu more (-v shows all)\n", fixes->n - shown);
    }
    fix_collect(fix_say_limit, fixes, &text);
    paragraph(&terminal, &text);
    fix_release(&text, out);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void markdown_line(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_TERMINAL_NO_LIMIT);
        inq_out_text(out, "\n");
    }
}

static void markdown_fix(struct inq_out *out, size_t number, const struct inq_fix *fix)
{
    struct inq_out text = {0};
    inq_out_printf(out, "\n### %zu. ", number);
    markdown_line(out, "", fix->spec);
    inq_out_text(out, "\n");
    markdown_line(out, "- ", fix->what);
    markdown_line(out, "- Not predicted: ", fix->problem);
    for (size_t i = 0; i < sizeof executed / sizeof *executed; i++) {
        fix_collect_one(executed[i].say, fix, &text);
        inq_out_text(out, text.buf != NULL && text.buf[0] != '\0' ? "- " : "");
        markdown_line(out, executed[i].label, text.buf);
    }
    markdown_line(out, "- Called for by: ", fix->finding);
    markdown_line(out, "- Assumes: ", fix->assumes);
    markdown_line(out, "- Memory: ", fix->costs.memory);
    markdown_line(out, "- Accuracy: ", fix->costs.accuracy);
    markdown_line(out, "- Work: ", fix->costs.work);
    fix_release(&text, out);
}

static void fix_markdown(const struct inq_fixes *fixes, struct inq_arena *arena,
                         struct inq_out *out)
{
    struct inq_out text = {0};
    inq_out_text(out, "# Fixes\n\n");
    fix_collect(fix_say_best, fixes, &text);
    markdown_line(out, "", text.buf);
    inq_out_text(out, "\n");
    fix_collect(fix_say_base, fixes, &text);
    markdown_line(out, "", text.buf);
    fix_collect(fix_say_executed, fixes, &text);
    if (text.buf != NULL && text.buf[0] != '\0') {
        inq_out_text(out, "\n");
        markdown_line(out, "", text.buf);
    }
    if (fixes->n > 0) {
        struct inq_table table = {.arena = arena};
        fix_table(fixes, &table);
        inq_out_text(out, "\n");
        inq_markdown_table(out, &table);
        out->code = table.code != INQ_OK ? table.code : out->code;
        inq_table_release(&table);
    }
    for (size_t i = 0; i < fixes->n; i++) {
        markdown_fix(out, i + 1, &fixes->fixes[i]);
    }
    fix_collect(fix_say_limit, fixes, &text);
    markdown_line(out, "\n", text.buf);
    fix_release(&text, out);
}

static void write_sample(struct inq_json *json, const struct inq_sample *sample)
{
    inq_json_int(json, "n", (int64_t)sample->n);
    inq_json_int(json, "t_ns_median", sample->median_ns);
    inq_json_array(json, sample->n >= INQ_CI95_LEAST ? "ci95_ns" : "range_ns");
    inq_json_int(json, NULL, sample->ci95_ns[0]);
    inq_json_int(json, NULL, sample->ci95_ns[1]);
    inq_json_end_array(json);
}

static void write_base(struct inq_json *json, const struct inq_fixes *fixes)
{
    const struct inq_fix_base_info *b = &fixes->base;
    inq_json_object(json, "base");
    inq_json_string(json, "source", b->source);
    inq_json_int(json, "steps", (int64_t)b->n_steps);
    inq_json_int(json, "simulated_steps", (int64_t)b->n_simulated);
    inq_json_known(json, "recorded_ns", b->mean_recorded_ns);
    inq_json_int(json, "t_ns", b->mean_t_ns);
    inq_json_known(json, "step", b->step);
    inq_json_known(json, "step_recorded_ns", b->recorded_ns);
    inq_json_int(json, "step_t_ns", b->t_ns);
    inq_json_int(json, "t_without_gaps_ns", b->without_gaps_ns);
    if (b->mean_recorded_ns > 0) {
        inq_json_double(json, "model_error",
                        (double)(b->mean_t_ns - b->mean_recorded_ns) / (double)b->mean_recorded_ns);
    } else {
        inq_json_null(json, "model_error");
    }
    inq_json_int(json, "ops", (int64_t)b->n_ops);
    inq_json_int(json, "ranks", (int64_t)b->n_ranks);
    if (b->n_stages > 0) {
        inq_json_int(json, "stages", (int64_t)b->n_stages);
        inq_json_int(json, "replicas", (int64_t)b->n_dp);
        inq_json_int(json, "microbatches", (int64_t)b->n_microbatches);
        inq_json_string(json, "schedule", b->schedule[0] != '\0' ? b->schedule : NULL);
    }
    inq_json_bool(json, "ranks_connected", b->connected);
    inq_json_int(json, "contradictions", (int64_t)b->contradictions);
    if (fixes->engine[0] != '\0') {
        inq_json_object(json, "executed");
        inq_json_string(json, "engine", fixes->engine);
        inq_json_string(json, "device", fixes->device);
        inq_json_string(json, "note", fixes->note);
        inq_json_double(json, "scale", fixes->scale);
        write_sample(json, &fixes->executed);
        inq_json_int(json, "expected_ns", fixes->expected_ns);
        inq_json_double(json, "fidelity_error", fixes->base_error);
        inq_json_array(json, "kinds");
        for (size_t i = 0; i < fixes->n_kinds; i++) {
            const struct inq_kind_time *k = &fixes->kinds[i];
            inq_json_object(json, NULL);
            inq_json_string(json, "kind", k->kind);
            inq_json_int(json, "n", (int64_t)k->n);
            inq_json_int(json, "planned_ns", k->planned_ns);
            inq_json_int(json, "executed_ns", k->executed_ns);
            inq_json_end_object(json);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    } else {
        inq_json_null(json, "executed");
    }
    inq_json_end_object(json);
}

static void write_ruling(struct inq_json *json, const char *key, const struct inq_ruling *ruling)
{
    inq_json_object(json, key);
    inq_json_string(json, "verdict", judgment_words(ruling->judgment));
    inq_json_string(json, "why", ruling->why);
    inq_json_end_object(json);
}

static void write_assumptions(struct inq_json *json, const struct inq_fix *fix)
{
    inq_json_array(json, "assumptions");
    for (size_t i = 0; i < fix->n_assumptions; i++) {
        const struct inq_assumption *a = &fix->assumptions[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", a->name);
        inq_json_given(json, "unit", a->unit);
        inq_json_double(json, "assumed", a->assumed);
        inq_json_double(json, "measured", a->measured);
        inq_json_array(json, "ci95");
        inq_json_double(json, NULL, a->ci95[0]);
        inq_json_double(json, NULL, a->ci95[1]);
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_executed(struct inq_json *json, const struct inq_fixes *fixes,
                           const struct inq_fix *fix)
{
    const struct inq_validation *v = &fix->executed;
    if (v->order.judgment == INQ_NOT_EXECUTED) {
        inq_json_null(json, "executed");
        return;
    }
    inq_json_object(json, "executed");
    inq_json_string(json, "engine", fixes->engine);
    inq_json_string(json, "device", v->device);
    write_sample(json, &v->fixed);
    inq_json_double(json, "predicted_speedup", v->predicted_speedup);
    if (fix->n_assumptions > 0) {
        inq_json_double(json, "measured_speedup", v->measured_speedup);
    } else {
        inq_json_null(json, "measured_speedup");
    }
    inq_json_double(json, "speedup", v->speedup);
    inq_json_array(json, v->fixed.n >= INQ_CI95_LEAST ? "speedup_ci95" : "speedup_range");
    inq_json_double(json, NULL, v->speedup_ci95[0]);
    inq_json_double(json, NULL, v->speedup_ci95[1]);
    inq_json_end_array(json);
    write_ruling(json, "order", &v->order);
    write_ruling(json, "cost", &v->cost);
    write_assumptions(json, fix);
    inq_json_end_object(json);
}

static void write_fix(struct inq_json *json, const struct inq_fixes *fixes,
                      const struct inq_fix *fix)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "spec", fix->spec);
    inq_json_given(json, "what", fix->what);
    inq_json_given(json, "finding", fix->finding);
    inq_json_bool(json, "repairs", fix->repairs);
    inq_json_given(json, "problem", fix->problem);
    inq_json_known(json, "predicted_t_ns", fix->t_ns);
    inq_json_known(json, "predicted_step_t_ns", fix->t_ns >= 0 ? fix->step_t_ns : -1);
    if (fix->t_ns >= 0) {
        inq_json_int(json, "predicted_gain_ns", fix->gain_ns);
    } else {
        inq_json_null(json, "predicted_gain_ns");
    }
    inq_json_double(json, "predicted_speedup", fix->speedup);
    inq_json_bool(json, "helps", fix->helps);
    write_executed(json, fixes, fix);
    inq_json_string(json, "verdict", inq_validation_text(&fix->executed));
    inq_json_string(json, "assumes", fix->assumes);
    inq_json_object(json, "costs");
    inq_json_given(json, "memory", fix->costs.memory);
    inq_json_given(json, "accuracy", fix->costs.accuracy);
    inq_json_given(json, "work", fix->costs.work);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static void fix_json(const struct inq_fixes *fixes, bool compact, struct inq_out *out)
{
    struct inq_out headline = {0};
    struct inq_json json;
    inq_json_init(&json, out, compact);
    inq_json_document(&json, &inq_contract_fix);
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    fix_collect(fix_say_best, fixes, &headline);
    inq_json_string(&json, "headline", headline.buf != NULL ? headline.buf : "");
    write_base(&json, fixes);
    inq_json_array(&json, "fixes");
    for (size_t i = 0; i < fixes->n; i++) {
        write_fix(&json, fixes, &fixes->fixes[i]);
    }
    inq_json_end_array(&json);
    inq_json_int(&json, "fixes_left_out", (int64_t)fixes->n_left_out);
    inq_json_end_object(&json);
    fix_release(&headline, out);
}

#ifdef INQ_HAVE_HTML
/* ---- a page: what each fix is predicted to gain, and the step before and after it ---- */

struct content {
    const struct inq_fixes *fixes;
    const struct inq_report_options *options;
    struct inq_arena *arena;
};

static void write_plain(const void *ctx, struct inq_out *out)
{
    const struct inq_fixes *fixes = ((const struct content *)ctx)->fixes;
    struct inq_out text = {0};
    fix_collect(fix_say_best, fixes, &text);
    inq_html_element(out, "h1", text.buf);
    fix_collect(fix_say_base, fixes, &text);
    inq_html_element(out, "p", text.buf);
    fix_collect(fix_say_executed, fixes, &text);
    inq_html_element(out, "p", text.buf);
    for (size_t i = 0; i < fixes->n; i++) {
        const struct inq_fix *fix = &fixes->fixes[i];
        inq_html_element(out, "h3", fix->spec);
        inq_html_element(out, "p", fix->what);
        inq_html_element(out, "p", fix->problem);
        fix_collect_one(fix_say_outcome, fix, &text);
        inq_html_element(out, "p", text.buf);
        fix_collect_one(fix_say_order, fix, &text);
        inq_html_element(out, "p", text.buf);
        fix_collect_one(fix_say_cost, fix, &text);
        inq_html_element(out, "p", text.buf);
    }
    fix_collect(fix_say_limit, fixes, &text);
    inq_html_element(out, "p", text.buf);
    fix_release(&text, out);
}

static int write_report(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    fix_json(((const struct content *)ctx)->fixes, true, out);
    return INQ_OK;
}

static int write_step(const struct content *c, const struct inq_run *run, size_t n_steps,
                      struct inq_json *json, struct inq_err *err)
{
    if (run == NULL) {
        inq_json_null(json, NULL);
        return INQ_OK;
    }
    const struct inq_report nothing = {.trace = run->traces[0], .step_ns_median = -1};
    struct inq_context context =
        inq_context_of(run, run->traces[0], &nothing, c->options, c->arena);
    struct inq_html_windows windows;
    inq_html_find_windows(&context, n_steps, &windows);
    inq_json_object(json, NULL);
    int code = inq_html_timeline(&context, &windows, json, err);
    inq_json_end_object(json);
    return code;
}

/* The original, then one step a fix, null where it is not drawn. */
static int write_timelines(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct content *c = ctx;
    struct inq_json json;
    size_t n_steps = c->fixes->drawn != NULL ? 1 : 0;
    for (size_t i = 0; i < c->fixes->n; i++) {
        n_steps += c->fixes->fixes[i].drawn != NULL;
    }
    inq_json_init(&json, out, true);
    inq_json_array(&json, NULL);
    int code = write_step(c, c->fixes->drawn, n_steps, &json, err);
    for (size_t i = 0; i < c->fixes->n && code == INQ_OK; i++) {
        code = write_step(c, c->fixes->fixes[i].drawn, n_steps, &json, err);
    }
    inq_json_end_array(&json);
    return code;
}

/* Only where D3 was found (INQ_HAVE_HTML). */
static int fix_html(const struct inq_fixes *fixes, const struct inq_report_options *options,
                    struct inq_arena *arena, struct inq_out *out, struct inq_err *err)
{
    const struct content ctx = {fixes, options, arena};
    const struct inq_html_content content = {.title = "Fixes",
                                             .ctx = &ctx,
                                             .plain = write_plain,
                                             .report = write_report,
                                             .timeline = write_timelines};
    return inq_html_page_write(&content, out, err);
}
#endif

int inq_fix_report(const struct inq_fixes *fixes, const struct inq_report_options *options,
                   struct inq_sink sink, struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        fix_json(fixes, false, &out);
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        fix_markdown(fixes, &arena, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        fix_text(fixes, options, &arena, &out);
#ifdef INQ_HAVE_HTML
    } else if (options->format == INQ_FORMAT_HTML) {
        code = fix_html(fixes, options, &arena, &out, err);
#endif
    } else {
        code = INQ_UNSUPPORTED;
    }
    code = code == INQ_OK && arena.failed ? INQ_NOMEM : code;
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "fixes", err);
}
