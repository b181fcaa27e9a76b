/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a comparison; text and Markdown print the same. */
#include "report/compare/compare.h"

#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 10 };

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

const char *inq_compare_run_line(const struct inq_compare_view *view, int run)
{
    const struct inq_compared_run *r = &view->c->run[run];
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
    return or_empty(inq_arena_printf(
        view->arena, "%s%" PRId32 " rank%s, %zu step%s of %s%s: %s",
        run == 0 ? "base: " : "new:  ", r->ranks, r->ranks == 1 ? "" : "s", r->steps,
        r->steps == 1 ? "" : "s", inq_time_format(r->step_ns, step, sizeof step), aside, r->name));
}

const char *inq_compare_damage_line(const struct inq_compare_view *view)
{
    const struct inq_compared_run *r = view->c->run;
    const char *text = "";
    for (int run = 0; run < 2; run++) {
        const char *which = run == 0 ? "base" : "new";
        if (r[run].damaged > 0) {
            text =
                or_empty(inq_arena_printf(view->arena,
                                          "%s%sDamaged files of the %s run: %zu. Only what could "
                                          "be read of them is compared.",
                                          text, text[0] != '\0' ? " " : "", which, r[run].damaged));
        }
        if (r[run].missing > 0) {
            text = or_empty(inq_arena_printf(view->arena,
                                             "%s%sRanks without a trace in the %s run: %zu.", text,
                                             text[0] != '\0' ? " " : "", which, r[run].missing));
        }
    }
    return text;
}

static size_t limit(const struct inq_compare_view *view, size_t n, struct inq_table *table)
{
    size_t shown = view->verbose || n <= ROWS ? n : ROWS;
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

static void parts(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
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

static void losses(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
    table->title = scaled(c) ? "What the new run loses against the ideal" : "What changed a step";
    inq_table_unit(table, longest(c));
    inq_table_column(table, INQ_COLUMN_LEFT, "cause");
    inq_table_column_ns(table, scaled(c) ? "lost" : "change");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of a step");
    inq_table_column(table, INQ_COLUMN_STRETCH, "what it is");
    if (c->loss_total_ns == 0 && !c->changed) {
        return;
    }
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (c->loss_ns[loss] != 0) {
            inq_table_text(table, inq_loss_text((enum inq_loss)loss));
            inq_table_ns(table, c->loss_ns[loss]);
            percent(table, c->loss_ns[loss], c->run[1].step_ns);
            inq_table_text(table, inq_loss_what((enum inq_loss)loss));
        }
    }
    inq_table_text(table, "all");
    inq_table_ns(table, c->loss_total_ns);
    percent(table, c->loss_total_ns, c->run[1].step_ns);
    inq_table_text(table, "sum of the causes");
}

/* ---- collectives -----------------------------------------------------------------------------*/

static void two_reals(const struct inq_compare_view *view, struct inq_table *table,
                      const double value[2], double unit)
{
    const char *text[2];
    for (int i = 0; i < 2; i++) {
        text[i] = isfinite(value[i])
                      ? or_empty(inq_arena_printf(view->arena, "%.4g", value[i] / unit))
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

static void collectives(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
    size_t n = limit(view, c->n_colls, table);
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

static void ranks(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
    size_t changed = 0;
    while (changed < c->n_compared && (c->compared[changed].loss_ns > c->ideal_ns / SHOWN_PART ||
                                       c->compared[changed].loss_ns < -c->ideal_ns / SHOWN_PART)) {
        changed++;
    }
    size_t n = limit(view, changed, table);
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

static void kernels(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
    size_t changed = 0;
    while (changed < c->n_kernels && c->kernels[changed].loss_ns != 0) {
        changed++;
    }
    size_t n = limit(view, changed, table);
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
        two_reals(view, table, k->count, 1.0);
        inq_table_text(table, k->name);
    }
}

static void findings(const struct inq_compare_view *view, struct inq_table *table)
{
    const struct inq_comparison *c = view->c;
    size_t n = limit(view, c->n_findings, table);
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

inq_compare_table *const inq_compare_tables[] = {parts,   losses,   collectives, ranks,
                                                 kernels, findings, NULL};
