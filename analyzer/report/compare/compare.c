/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as text, Markdown, JSON and a page. */
#include "inquest/compare.h"

#include "base/json.h"
#include "base/time.h"
#include "report/info/info.h"
#include "report/sections/sections.h"
#include "report/render/html/html.h"
#include "report/render/markdown/markdown.h"
#include "report/render/text/text.h"
#include "report/contract/contract.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct compare_view {
    const struct inq_comparison *c;
    struct inq_arena *arena;
    bool verbose; /* all rows */
};

/* ---- The tables of a comparison; text and Markdown print the same ---------------------------- */

enum { ROWS = 10 };

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* "8 ranks, 9 steps of 14.2 ms: name" */
static const char *compare_run_line(const struct compare_view *context, int run)
{
    const struct inq_compared_run *r = &context->c->run[run];
    char step[32];
    char aside[160] = "";
    size_t used = 0;
    if (r->warm_up > 0) {
        used += (size_t)snprintf(aside, sizeof aside, ", without %zu warm-up step%s", r->warm_up,
                                 r->warm_up == 1 ? "" : "s");
    }
    if (r->outliers > 0) {
        (void)snprintf(aside + used, sizeof aside - used, ", without %zu outlier%s", r->outliers,
                       r->outliers == 1 ? "" : "s");
    }
    return or_empty(inq_arena_asprintf(
        context->arena, "%s%" PRId32 " rank%s, %zu step%s of %s%s: %s",
        run == 0 ? "base: " : "new:  ", r->ranks, r->ranks == 1 ? "" : "s", r->steps,
        r->steps == 1 ? "" : "s", inq_time_format(r->step_ns, step, sizeof step), aside, r->name));
}

/* What was damaged, missing or left out; "" nothing. */
static const char *compare_damage_line(const struct compare_view *context)
{
    const struct inq_compared_run *r = context->c->run;
    const char *text = "";
    for (int run = 0; run < 2; run++) {
        const char *which = run == 0 ? "base" : "new";
        if (r[run].damaged > 0) {
            text = or_empty(
                inq_arena_asprintf(context->arena,
                                   "%s%sDamaged files of the %s run: %zu. Only what could "
                                   "be read of them is compared.",
                                   text, text[0] != '\0' ? " " : "", which, r[run].damaged));
        }
        if (r[run].missing > 0) {
            text = or_empty(
                inq_arena_asprintf(context->arena, "%s%sRanks without a trace in the %s run: %zu.",
                                   text, text[0] != '\0' ? " " : "", which, r[run].missing));
        }
        if (r[run].kept.recorded > 0) {
            text = or_empty(inq_arena_asprintf(context->arena, "%s%sThe %s run: %s.", text,
                                               text[0] != '\0' ? " " : "", which,
                                               inq_context_kept(context->arena, r[run].kept)));
        }
    }
    return text;
}

static size_t limit(const struct compare_view *context, size_t n, struct inq_table *table)
{
    size_t shown = context->verbose || n <= ROWS ? n : ROWS;
    inq_table_left_out(table, n - shown);
    return shown;
}

static void percent(struct inq_table *table, int64_t part, int64_t whole)
{
    if (whole != 0) {
        inq_table_printf(table, "%.1f %%", 100.0 * (double)part / (double)whole);
    } else {
        inq_table_text(table, "");
    }
}

static bool scaled(const struct inq_comparison *c)
{
    return c->scaling != INQ_SCALING_SAME;
}

static int64_t longest(const struct inq_comparison *c)
{
    return c->run[0].step_ns > c->run[1].step_ns ? c->run[0].step_ns : c->run[1].step_ns;
}

/* ---- where a step goes -----------------------------------------------------------------------*/

static void part_row(const struct inq_comparison *c, struct inq_table *table, const char *name,
                     const int64_t ns[3], const char *what)
{
    inq_table_text(table, name);
    inq_table_ns(table, ns[0]);
    if (scaled(c)) {
        inq_table_ns(table, ns[1]);
    }
    inq_table_ns(table, ns[2]);
    inq_table_ns(table, ns[2] - ns[1]);
    inq_table_text(table, what);
}

static void parts(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    table->title = "Where a step goes, mean of ranks and steps";
    inq_table_unit(table, longest(c));
    inq_table_column(table, INQ_COLUMN_LEFT, "part");
    inq_table_column_ns(table, "base");
    if (scaled(c)) {
        inq_table_column_ns(table, "ideal");
    }
    inq_table_column_ns(table, "new");
    inq_table_column_ns(table, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_STRETCH, "what it is");
    for (int p = 0; p < INQ_STEP_PART_COUNT; p++) {
        int64_t ns[3] = {c->run[0].part_ns[p], c->ideal_part_ns[p], c->run[1].part_ns[p]};
        if (ns[0] != 0 || ns[2] != 0) {
            part_row(c, table, inq_step_part_text((enum inq_step_part)p), ns,
                     inq_step_part_what((enum inq_step_part)p));
        }
    }
    int64_t all[3] = {c->run[0].step_ns, c->ideal_ns, c->run[1].step_ns};
    part_row(c, table, "step", all, "sum of the parts");
}

/* ---- why -------------------------------------------------------------------------------------*/

/* The longer of the two steps is the whole of which a loss or a gain is a part. */
static int64_t whole_step(const struct inq_comparison *c, const char **name)
{
    bool longer = c->run[1].step_ns >= c->ideal_ns;
    *name = longer ? "of the new step" : scaled(c) ? "of the ideal step" : "of the base step";
    return longer ? c->run[1].step_ns : c->ideal_ns;
}

static void losses(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    const char *of_step;
    int64_t whole = whole_step(c, &of_step);
    table->title = scaled(c) ? "What the new run loses against the ideal" : "What changed a step";
    inq_table_unit(table, longest(c));
    inq_table_column(table, INQ_COLUMN_LEFT, "cause");
    inq_table_column_ns(table, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_RIGHT, of_step);
    inq_table_column(table, INQ_COLUMN_STRETCH, "what it is");
    if (c->loss_total_ns == 0 && !c->changed) {
        return;
    }
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (c->loss_ns[loss] != 0) {
            inq_table_text(table, inq_loss_text((enum inq_loss)loss));
            inq_table_ns(table, c->loss_ns[loss]);
            percent(table, c->loss_ns[loss], whole);
            inq_table_text(table, inq_loss_what((enum inq_loss)loss));
        }
    }
    inq_table_text(table, "all");
    inq_table_ns(table, c->loss_total_ns);
    percent(table, c->loss_total_ns, whole);
    inq_table_text(table, "sum of the causes");
}

/* ---- collectives -----------------------------------------------------------------------------*/

static void two_reals(const struct compare_view *context, struct inq_table *table,
                      const double value[2], double unit)
{
    const char *text[2];
    for (int i = 0; i < 2; i++) {
        text[i] = isfinite(value[i])
                      ? or_empty(inq_arena_asprintf(context->arena, "%.4g", value[i] / unit))
                      : "N/A";
    }
    inq_table_printf(table, "%s > %s", text[0], text[1]);
}

static void coll_row(struct inq_table *table, const struct inq_compared_coll *coll, int side)
{
    inq_table_text(table, side == 0 ? "base" : "new");
    inq_table_real(table, coll->count[side], 1);
    inq_table_real(table, coll->bytes[side] / 1e6, 1);
    inq_table_real(table, coll->busbw_gbps[side], 1);
    inq_table_ns(table, coll->transfer_ns[side]);
    inq_table_ns(table, coll->exposed_ns[side]);
    inq_table_ns(table, coll->wait_ns[side]);
    if (side == 1) {
        inq_table_ns(table, coll->total_loss_ns);
    } else {
        inq_table_text(table, "");
    }
    inq_table_printf(table, "%s%s", side == 0 && coll->gradients ? "gradient " : "",
                     side == 0 ? coll->name : "");
}

static void collectives(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    size_t n = limit(context, c->n_colls, table);
    table->title = "Collectives, per rank and step; times in ms, busbw";
    table->unit_ns = 1000000;
    table->decimals = 3;
    inq_table_column(table, INQ_COLUMN_LEFT, "run");
    inq_table_columns(
        table, INQ_COLUMN_RIGHT,
        (const char *const[]){"count", "MB", "GB/s", "transfer", "exposed", "waiting", NULL});
    inq_table_column(table, INQ_COLUMN_RIGHT, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_STRETCH, "collective");
    for (size_t i = 0; i < n; i++) {
        coll_row(table, &c->colls[i], 0);
        coll_row(table, &c->colls[i], 1);
    }
}

/* ---- ranks -----------------------------------------------------------------------------------*/

/* Compute that changed by less than this part of a step is not shown. */
static const int64_t SHOWN_PART = 200;

static void ranks(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    size_t changed = 0;
    while (changed < c->n_compared && (c->compared[changed].loss_ns > c->ideal_ns / SHOWN_PART ||
                                       c->compared[changed].loss_ns < -c->ideal_ns / SHOWN_PART)) {
        changed++;
    }
    size_t n = limit(context, changed, table);
    bool by_rank = n > 0 && c->compared[0].rank >= 0;
    table->title = by_rank ? "Ranks whose compute changed, per step"
                           : "Stages whose compute changed, per rank and step";
    inq_table_unit(table, longest(c));
    inq_table_column(table, INQ_COLUMN_RIGHT, by_rank ? "rank" : "stage");
    inq_table_column_ns(table, "base");
    inq_table_column_ns(table, "new");
    inq_table_column_ns(table, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of its compute");
    for (size_t i = 0; i < n; i++) {
        const struct inq_compared_rank *r = &c->compared[i];
        inq_table_count(table, by_rank ? r->rank : r->stage);
        inq_table_ns(table, r->ns[0]);
        inq_table_ns(table, r->ns[1]);
        inq_table_ns(table, r->loss_ns);
        percent(table, r->loss_ns, r->ns[1] - r->loss_ns);
    }
}

/* ---- kernels, findings -----------------------------------------------------------------------*/

static void kernels(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    size_t changed = 0;
    while (changed < c->n_kernels && c->kernels[changed].loss_ns != 0) {
        changed++;
    }
    size_t n = limit(context, changed, table);
    table->title = "Compute kernels that changed most, sums per rank and step";
    inq_table_unit(table, n > 0 ? c->kernels[0].ns[0] + c->kernels[0].ns[1] : 0);
    inq_table_column_ns(table, "base");
    inq_table_column_ns(table, "new");
    inq_table_column_ns(table, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_RIGHT, "count");
    inq_table_column(table, INQ_COLUMN_STRETCH, "kernel");
    for (size_t i = 0; i < n; i++) {
        const struct inq_compared_kernel *k = &c->kernels[i];
        inq_table_ns(table, k->ns[0]);
        inq_table_ns(table, k->ns[1]);
        inq_table_ns(table, k->loss_ns);
        two_reals(context, table, k->count, 1.0);
        inq_table_text(table, k->name);
    }
}

static void findings(const struct compare_view *context, struct inq_table *table)
{
    const struct inq_comparison *c = context->c;
    size_t n = limit(context, c->n_findings, table);
    table->title = "Findings that changed";
    inq_table_column(table, INQ_COLUMN_LEFT, "change");
    inq_table_column(table, INQ_COLUMN_LEFT, "severity");
    inq_table_column(table, INQ_COLUMN_WRAP, "finding");
    for (size_t i = 0; i < n; i++) {
        const struct inq_compared_finding *f = &c->findings[i];
        const struct inq_finding *shown = f->now != NULL ? f->now : f->base;
        inq_table_text(table, inq_change_text(f->change));
        inq_table_text(table, inq_severity_text(shown->severity));
        inq_table_text(table, shown->title);
    }
}

/* Each fills a table; one without rows is not shown. */
typedef void compare_table(const struct compare_view *context, struct inq_table *table);
static compare_table *const compare_tables[] = {parts,   losses,   collectives, ranks,
                                                kernels, findings, NULL};

/* ---- "inquest-compare/1": documented in man inquest-compare(1) ------------------------------- */

static void write_run(struct inq_json *json, const char *key, const struct inq_compared_run *run)
{
    inq_json_object(json, key);
    inq_json_string(json, "name", run->name);
    inq_json_int(json, "ranks", run->ranks);
    inq_json_int(json, "ranks_seen", (int64_t)run->ranks_seen);
    inq_json_int(json, "steps", (int64_t)run->steps);
    inq_json_int(json, "warm_up_steps", (int64_t)run->warm_up);
    inq_json_int(json, "outlier_steps", (int64_t)run->outliers);
    inq_json_int(json, "damaged_files", (int64_t)run->damaged);
    inq_json_int(json, "missing_ranks", (int64_t)run->missing);
    inq_json_kept(json, run->kept);
    inq_json_string(json, "device", run->device[0] != '\0' ? run->device : NULL);
    inq_json_int(json, "step_ns", run->step_ns);
    inq_json_int(json, "median_step_ns", run->median_ns);
    if (isfinite(run->step_low)) {
        inq_json_int(json, "step_low_ns", (int64_t)run->step_low);
        inq_json_int(json, "step_high_ns", (int64_t)run->step_high);
    } else {
        inq_json_null(json, "step_low_ns");
        inq_json_null(json, "step_high_ns");
    }
    inq_json_end_object(json);
}

static void write_parts(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "parts");
    for (int p = 0; p < INQ_STEP_PART_COUNT; p++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "part", inq_step_part_text((enum inq_step_part)p));
        inq_json_int(json, "base_ns", c->run[0].part_ns[p]);
        inq_json_int(json, "ideal_ns", c->ideal_part_ns[p]);
        inq_json_int(json, "new_ns", c->run[1].part_ns[p]);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_losses(struct inq_json *json, const char *key, const int64_t *loss_ns, bool all)
{
    inq_json_array(json, key);
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (all || loss_ns[loss] != 0) {
            inq_json_object(json, NULL);
            inq_json_string(json, "cause", inq_loss_text((enum inq_loss)loss));
            inq_json_int(json, "loss_ns", loss_ns[loss]);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void coll_side(struct inq_json *json, const char *key, const struct inq_compared_coll *coll,
                      int side)
{
    inq_json_object(json, key);
    inq_json_int(json, "group_size", coll->group_size[side]);
    inq_json_double(json, "count", coll->count[side]);
    inq_json_double(json, "bytes", coll->bytes[side]);
    inq_json_double(json, "busbw_gbps", coll->busbw_gbps[side]);
    inq_json_int(json, "transfer_ns", coll->transfer_ns[side]);
    inq_json_int(json, "exposed_ns", coll->exposed_ns[side]);
    inq_json_int(json, "wait_ns", coll->wait_ns[side]);
    inq_json_end_object(json);
}

static void write_causes(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "causes");
    for (size_t i = 0; i < c->n_causes; i++) {
        const struct inq_compared_cause *cause = &c->causes[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "cause", inq_loss_text(cause->loss));
        inq_json_int(json, "ns", cause->ns);
        inq_json_bool(json, "simulated", cause->simulated);
        if (cause->simulated) {
            inq_json_int(json, "in_order_ns", cause->in_order_ns);
        } else {
            inq_json_null(json, "in_order_ns");
        }
        inq_json_string(json, "text", cause->text);
        inq_json_array(json, "ranks");
        for (size_t r = 0; r < cause->n_ranks; r++) {
            inq_json_int(json, NULL, cause->ranks[r]);
        }
        inq_json_end_array(json);
        if (cause->stage >= 0) {
            inq_json_int(json, "stage", cause->stage);
        } else {
            inq_json_null(json, "stage");
        }
        inq_json_string(json, "host", cause->host);
        inq_json_string(json, "collective", cause->coll != NULL ? cause->coll->name : NULL);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_colls(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "collectives");
    for (size_t i = 0; i < c->n_colls; i++) {
        const struct inq_compared_coll *coll = &c->colls[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", coll->name);
        inq_json_bool(json, "gradients", coll->gradients);
        inq_json_int(json, "loss_ns", coll->total_loss_ns);
        write_losses(json, "losses", coll->loss_ns, false);
        coll_side(json, "base", coll, 0);
        coll_side(json, "new", coll, 1);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_kernels(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "kernels");
    for (size_t i = 0; i < c->n_kernels; i++) {
        const struct inq_compared_kernel *k = &c->kernels[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", k->name);
        inq_json_double(json, "base_count", k->count[0]);
        inq_json_double(json, "new_count", k->count[1]);
        inq_json_int(json, "base_ns", k->ns[0]);
        inq_json_int(json, "new_ns", k->ns[1]);
        inq_json_int(json, "loss_ns", k->loss_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_compared(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "compute");
    for (size_t i = 0; i < c->n_compared; i++) {
        const struct inq_compared_rank *r = &c->compared[i];
        inq_json_object(json, NULL);
        if (r->rank >= 0) {
            inq_json_int(json, "rank", r->rank);
        } else {
            inq_json_null(json, "rank");
        }
        if (r->stage >= 0) {
            inq_json_int(json, "stage", r->stage);
        } else {
            inq_json_null(json, "stage");
        }
        inq_json_int(json, "base_ns", r->ns[0]);
        inq_json_int(json, "new_ns", r->ns[1]);
        inq_json_int(json, "loss_ns", r->loss_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void severity(struct inq_json *json, const char *key, const struct inq_finding *finding)
{
    inq_json_string(json, key, finding != NULL ? inq_severity_text(finding->severity) : NULL);
}

static void cost(struct inq_json *json, const char *key, const struct inq_finding *finding)
{
    if (finding != NULL && finding->cost_ns_per_step >= 0) {
        inq_json_int(json, key, finding->cost_ns_per_step);
    } else {
        inq_json_null(json, key);
    }
}

static void write_findings(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "findings");
    for (size_t i = 0; i < c->n_findings; i++) {
        const struct inq_compared_finding *f = &c->findings[i];
        const struct inq_finding *shown = f->now != NULL ? f->now : f->base;
        inq_json_object(json, NULL);
        inq_json_string(json, "change", inq_change_text(f->change));
        inq_json_string(json, "id", shown->id);
        inq_json_string(json, "title", shown->title);
        severity(json, "base_severity", f->base);
        severity(json, "new_severity", f->now);
        cost(json, "base_cost_ns_per_step", f->base);
        cost(json, "new_cost_ns_per_step", f->now);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void compare_json(const struct compare_view *context, bool compact, struct inq_out *out)
{
    const struct inq_comparison *c = context->c;
    struct inq_json json;
    inq_json_init(&json, out, compact);
    inq_json_document(&json, &inq_contract_compare);
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_string(&json, "headline", c->headline);
    inq_json_string(&json, "reason", c->reason);
    inq_json_bool(&json, "changed", c->changed);
    write_run(&json, "base", &c->run[0]);
    write_run(&json, "new", &c->run[1]);
    inq_json_object(&json, "scaling");
    inq_json_string(&json, "kind", inq_scaling_text(c->scaling));
    inq_json_double(&json, "work_per_rank", c->work);
    inq_json_bool(&json, "work_given", c->work_given);
    inq_json_string(&json, "how", c->work_how);
    inq_json_double(&json, "speedup", c->speedup);
    inq_json_double(&json, "ideal_speedup", c->ideal_speedup);
    inq_json_double(&json, "efficiency", c->efficiency);
    inq_json_int(&json, "ideal_step_ns", c->ideal_ns);
    inq_json_end_object(&json);
    inq_json_int(&json, "loss_ns", c->loss_total_ns);
    write_losses(&json, "losses", c->loss_ns, true);
    write_causes(&json, c);
    write_parts(&json, c);
    write_colls(&json, c);
    write_compared(&json, c);
    write_kernels(&json, c);
    write_findings(&json, c);
    inq_json_end_object(&json);
}

static int text_table(const struct inq_table *table, const struct inq_terminal *terminal)
{
    if (table->code == INQ_OK && inq_table_rows(table) > 0) {
        inq_out_text(terminal->out, "\n");
        inq_table_print(table, terminal);
    }
    return table->code;
}

static int write_text(const struct compare_view *context, const struct inq_report_options *options,
                      struct inq_out *out)
{
    const struct inq_comparison *c = context->c;
    struct inq_terminal terminal = inq_terminal_of(options, out);
    int code = INQ_OK;
    inq_terminal_tint(&terminal, c->changed ? INQ_TINT_BOLD : INQ_TINT_GREEN);
    inq_terminal_words(&terminal, c->headline, 0, 0);
    inq_terminal_plain(&terminal);
    inq_out_text(out, "\n");
    if (c->reason[0] != '\0') {
        inq_terminal_wrap(&terminal, c->reason, 0, 0);
    }
    if (compare_damage_line(context)[0] != '\0') {
        inq_terminal_wrap(&terminal, compare_damage_line(context), 0, 0);
    }
    inq_terminal_wrap(&terminal, compare_run_line(context, 0), 0, 6);
    inq_terminal_wrap(&terminal, compare_run_line(context, 1), 0, 6);
    inq_terminal_wrap(&terminal, c->work_how, 0, 0);
    for (size_t i = 0; compare_tables[i] != NULL && code == INQ_OK; i++) {
        struct inq_table table = {.arena = context->arena};
        compare_tables[i](context, &table);
        code = text_table(&table, &terminal);
        inq_table_release(&table);
    }
    return code;
}

static void paragraph(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_TERMINAL_NO_LIMIT);
        inq_out_text(out, "\n\n");
    }
}

static int write_markdown(const struct compare_view *context, struct inq_out *out)
{
    const struct inq_comparison *c = context->c;
    int code = INQ_OK;
    paragraph(out, "# ", c->headline);
    paragraph(out, "", c->reason);
    paragraph(out, "", compare_damage_line(context));
    paragraph(out, "- ", compare_run_line(context, 0));
    paragraph(out, "- ", compare_run_line(context, 1));
    paragraph(out, "> ", c->work_how);
    for (size_t i = 0; compare_tables[i] != NULL && code == INQ_OK; i++) {
        struct inq_table table = {.arena = context->arena};
        compare_tables[i](context, &table);
        code = table.code;
        if (code == INQ_OK && inq_table_rows(&table) > 0) {
            paragraph(out, "## ", table.title);
            inq_markdown_table(out, &table);
            inq_out_text(out, "\n");
            paragraph(out, "", table.more);
        }
        inq_table_release(&table);
    }
    inq_out_text(out, "---\nWritten by inquest " INQ_VERSION_STRING
                      "; every number is explained in `man inquest-compare`.\n");
    return code;
}

#ifdef INQ_HAVE_HTML
/* ---- a page: the gist for readers that run no scripts, the rest as JSON ---- */

static void plain_comparison(const void *ctx, struct inq_out *out)
{
    const struct compare_view *context = ctx;
    const struct inq_comparison *c = context->c;
    inq_html_element(out, "h1", c->headline);
    inq_html_element(out, "p", c->reason);
    inq_html_element(out, "p", compare_damage_line(context));
    inq_html_element(out, "p", compare_run_line(context, 0));
    inq_html_element(out, "p", compare_run_line(context, 1));
    inq_html_element(out, "p", c->work_how);
}

static int page_comparison(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    compare_json(ctx, true, out);
    return INQ_OK;
}
#endif

int inq_comparison_report(const struct inq_comparison *comparison,
                          const struct inq_report_options *options, struct inq_sink sink,
                          struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct compare_view context = {comparison, &arena, options->verbose};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_TEXT) {
        code = write_text(&context, options, &out);
    } else if (options->format == INQ_FORMAT_JSON) {
        compare_json(&context, false, &out);
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        code = write_markdown(&context, &out);
#ifdef INQ_HAVE_HTML
    } else if (options->format == INQ_FORMAT_HTML) {
        const struct inq_html_content content = {.title = "Comparison",
                                                 .ctx = &context,
                                                 .plain = plain_comparison,
                                                 .report = page_comparison};
        code = inq_html_page_write(&content, &out, err);
#endif
    } else {
        code = INQ_UNSUPPORTED;
    }
    code = code == INQ_OK && arena.failed ? INQ_NOMEM : code;
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a comparison", err);
}
