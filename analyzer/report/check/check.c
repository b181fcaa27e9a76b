/* SPDX-License-Identifier: Apache-2.0 */
/* A check: as a table for people, on the terminal and in a merge request; as a page; as JSON; and
 * as CI systems read it. */
#include "base/json.h"
#include "base/arena_text.h"
#include "inquest/check.h"
#include "report/check/ci_formats.h"
#include "report/info/info.h"
#include "report/render/html/html.h"
#include "report/render/markdown/markdown.h"
#include "report/render/text/text.h"
#include "report/contract/contract.h"
#include "inquest/memory.h"

#include <math.h>
#include <string.h>

enum { NEW_SHOWN = 20 };

struct context {
    const struct inq_check *check;
    const char *name, *baseline;
    struct inq_arena *arena;
};

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* The file and the place of a schedule that a failed check is about. */
struct spot {
    const char *file;
    int32_t line, column; /* of the text, from 1 */
    int32_t rank, cell;   /* from 0; from 1 */
    const char *action;
};

/* Only a schedule that was read from a file has lines: those of lint know theirs. */
static struct spot spot_of(const struct context *context, const struct inq_check_row *row)
{
    const struct inq_check *check = context->check;
    const struct inq_snapshot *now = check->snapshot;
    struct spot spot = {.rank = -1};
    if (check->subject != INQ_SUBJECT_SCHEDULE || now == NULL || now->file == NULL) {
        return spot;
    }
    spot.file = now->file;
    spot.line = 1;
    if (row->now.kind == INQ_MEASURE_LINT_PROBLEMS && now->n_problems > 0) {
        const struct inq_lint_problem *p = now->problems;
        spot.line = p->line > 0 ? p->line : 1;
        spot.column = p->column;
        spot.cell = p->position + 1;
        spot.rank = p->rank;
        spot.action = p->action;
    } else if (check->change.rank >= 0) {
        spot.rank = check->change.rank;
        spot.line = now->lines != NULL ? now->lines[spot.rank] : spot.rank + 1;
        spot.cell = check->change.column + 1;
        spot.action = check->change.now;
        if (now->begins != NULL && check->change.now[0] != '\0') {
            spot.column = now->begins[spot.rank][check->change.column];
        }
    }
    return spot;
}

/* "; at s.csv line 2 (rank 1), cell 5: 1B0; swap cells 5 and 6 of rank 1 (..): with that it runs"
 */
static const char *lint_place_text(const struct context *context, const struct spot *spot)
{
    const char *remedy = context->check->snapshot->remedy.text;
    const char *cell = "";
    const char *place = "";
    if (spot->cell > 0) {
        cell = or_empty(inq_arena_asprintf(context->arena, ", cell %d", (int)spot->cell));
    }
    if (spot->file != NULL && spot->rank >= 0) {
        place = or_empty(inq_arena_asprintf(context->arena, "; at %s line %d (rank %d)%s: %s",
                                            spot->file, (int)spot->line, (int)spot->rank, cell,
                                            spot->action));
    }
    return inq_arena_asprintf(context->arena, "%s%s%s", place, remedy[0] != '\0' ? "; " : "",
                              remedy);
}

/* "; the order first differs at s.csv line 2 (rank 1), cell 5: 1B0, was 1F2" */
static const char *place_text(const struct context *context, const struct inq_check_row *row)
{
    struct spot spot = spot_of(context, row);
    bool lint = row->now.kind == INQ_MEASURE_LINT_PROBLEMS;
    const struct inq_check_change *change = &context->check->change;
    const char *text = "";
    if (lint && context->check->snapshot != NULL) {
        text = lint_place_text(context, &spot);
    } else if (row->outcome == INQ_CHECK_GONE) {
        text = ""; /* what was not measured has no place */
    } else if (!lint && change->rank >= 0) {
        text = inq_arena_asprintf(
            context->arena,
            "; the order first differs at %s%sline %d (rank %d), cell %d: %s, "
            "was %s",
            spot.file != NULL ? spot.file : "", spot.file != NULL ? " " : "",
            spot.line > 0 ? (int)spot.line : (int)change->rank + 1, (int)change->rank,
            (int)change->column + 1, change->now[0] != '\0' ? change->now : "no cell",
            change->before[0] != '\0' ? change->before : "no cell");
    }
    return or_empty(text);
}

/* The first that improved; *n how many did. */
static const struct inq_check_row *first_gain(const struct inq_check *check, size_t *n)
{
    const struct inq_check_row *first = NULL;
    *n = 0;
    for (size_t i = 0; i < check->n; i++) {
        bool gain = check->rows[i].outcome == INQ_CHECK_IMPROVED;
        first = gain && first == NULL ? &check->rows[i] : first;
        *n += gain;
    }
    return first;
}

/* A gain is told, and how to keep it; and a step that is out of line, though it does not fail. */
static const char *pass_text(const struct context *context)
{
    size_t n;
    const struct inq_check_row *gain = first_gain(context->check, &n);
    const struct inq_snapshot *now = context->check->snapshot;
    if (gain == NULL) {
        const char *longest = now != NULL ? now->longest : "";
        return inq_arena_asprintf(context->arena, "Passes: %zu checks against the baseline.%s%s%s",
                                  context->check->n, longest[0] != '\0' ? " " : "", longest,
                                  longest[0] != '\0' ? "." : "");
    }
    return n == 1 ? inq_arena_asprintf(context->arena, "Passes: %s.", gain->message)
                  : inq_arena_asprintf(context->arena, "Passes, %zu of %zu checks improved: %s.", n,
                                       context->check->n, gain->message);
}

/* "Baseline written: 8 measures, means of 5 runs." */
static const char *update_text(const struct context *context)
{
    const struct inq_check *check = context->check;
    size_t n = check->n - (check->subject == INQ_SUBJECT_RUN ? 1 : 0);
    size_t runs = check->n > 0 ? check->rows[0].now.n_runs : 0;
    return runs > 1
               ? inq_arena_asprintf(context->arena,
                                    "Baseline written: %zu measures, means of %zu runs.", n, runs)
               : inq_arena_asprintf(context->arena, "Baseline written: %zu measures.", n);
}

/* The first line is the cause: what got worse, by how much, where, and by whom. */
static const char *headline(const struct context *context)
{
    const struct inq_check *check = context->check;
    const struct inq_check_row *cause = check->cause;
    const char *text;
    if (check->problem != NULL) {
        text = inq_arena_asprintf(context->arena, "Not checked: %s", check->problem);
    } else if (check->updated) {
        text = update_text(context);
    } else if (check->pass || cause == NULL) {
        text = pass_text(context);
    } else {
        bool finding = check->n_new > 0 && cause->now.kind != INQ_MEASURE_NEW_FINDINGS;
        text = inq_arena_asprintf(context->arena, "Fails: %s%s%s%s", cause->message,
                                  place_text(context, cause), finding ? "; new: " : "",
                                  finding ? or_empty(check->fresh[0].title) : "");
    }
    return or_empty(text);
}

/* "14.2 ms", "0.2727", "N/A". */
static const char *value_text(const struct context *context, enum inq_measure_kind kind,
                              double value)
{
    char buf[32];
    if (!isfinite(value)) {
        return "N/A";
    }
    switch (inq_measure_info(kind)->unit) {
    case INQ_UNIT_NS:
        return inq_arena_time(context->arena, (int64_t)value);
    case INQ_UNIT_COUNT:
        return or_empty(inq_arena_asprintf(context->arena, "%.10g", value));
    case INQ_UNIT_BYTES:
        return or_empty(inq_arena_strdup(context->arena,
                                         inq_size_format(value, INQ_SIZE_BINARY, buf, sizeof buf)));
    case INQ_UNIT_SHARE:
    case INQ_UNIT_FACTOR:
        break;
    }
    return or_empty(inq_arena_asprintf(context->arena, "%.4f", value));
}

/* "14.0-14.4 ms" would hide the units of mixed sizes: both ends have theirs. */
static const char *interval(const struct context *context, const struct inq_measure *m)
{
    if (!isfinite(m->low) || m->n == 0) {
        return "";
    }
    return or_empty(inq_arena_asprintf(context->arena, "%s..%s",
                                       value_text(context, m->kind, m->low),
                                       value_text(context, m->kind, m->high)));
}

/* Names without the unit, which the values bear. */
static const char *plain_name(const struct context *context, const struct inq_check_row *row)
{
    const char *name = row->now.name;
    const char *unit = strstr(name, "_ns");
    if (unit == NULL || (unit[3] != '\0' && unit[3] != '.')) {
        return name;
    }
    return or_empty(
        inq_arena_asprintf(context->arena, "%.*s%s", (int)(unit - name), name, unit + 3));
}

static const char *verdict(const struct inq_check_row *row)
{
    return row->noisy                       ? "over the limit, within its noise"
           : row->pass                      ? inq_check_outcome_text(row->outcome)
           : row->outcome == INQ_CHECK_GONE ? "NOT MEASURED"
                                            : "REGRESSED";
}

static void fill(const struct context *context, struct inq_table *table)
{
    const struct inq_check *check = context->check;
    table->title = "Checks";
    inq_table_column(table, INQ_COLUMN_STRETCH, "check");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"baseline", "now", "change", "limit", NULL});
    bool run = check->subject == INQ_SUBJECT_RUN;
    if (run) {
        inq_table_column(table, INQ_COLUMN_LEFT, "95 % interval");
    }
    inq_table_column(table, INQ_COLUMN_LEFT, "verdict");
    for (size_t i = 0; i < check->n; i++) {
        const struct inq_check_row *row = &check->rows[i];
        inq_table_text(table, plain_name(context, row));
        inq_table_text(table, value_text(context, row->now.kind, row->base.value));
        inq_table_text(table, value_text(context, row->now.kind, row->now.value));
        if (isfinite(row->change)) {
            double percent = row->change * 100.0;
            bool told = !row->pass || row->outcome == INQ_CHECK_IMPROVED;
            bool small = told && percent != 0.0 && fabs(percent) < 0.05;
            inq_table_printf(table, small ? "%+.1g %%" : "%+.1f %%", percent);
        } else {
            inq_table_text(table, "");
        }
        inq_table_text(table,
                       isfinite(row->limit) ? value_text(context, row->now.kind, row->limit) : "");
        if (run) {
            inq_table_text(table, interval(context, &row->now));
        }
        inq_table_text(table, verdict(row));
    }
}

/* Lint is the cause: nothing can be measured of what it refuses, and that is no failure of its own.
 */
static bool is_refused(const struct inq_check *check)
{
    return check->cause != NULL && check->cause->now.kind == INQ_MEASURE_LINT_PROBLEMS;
}

static size_t count_gone(const struct inq_check *check)
{
    size_t n = 0;
    for (size_t i = 0; i < check->n; i++) {
        n += !check->rows[i].pass && check->rows[i].outcome == INQ_CHECK_GONE;
    }
    return n;
}

/* "1 of 9 checks fails, 2 could not be measured: run2 against perf.json" */
static const char *subject_line(const struct context *context)
{
    const struct inq_check *check = context->check;
    const char *failed = "";
    if (!check->pass) {
        size_t gone = count_gone(check);
        size_t n = check->n_failed - gone;
        const char *fail = n == 1 ? "checks fails" : "checks fail";
        failed =
            gone == 0 ? inq_arena_asprintf(context->arena, "%zu of %zu %s: ", n, check->n, fail)
            : n == 0
                ? inq_arena_asprintf(context->arena,
                                     "%zu of %zu checks could not be measured: ", gone, check->n)
                : inq_arena_asprintf(context->arena,
                                     "%zu of %zu %s, %zu could not be measured: ", n, check->n,
                                     fail, gone);
        failed = or_empty(failed);
    }
    bool reduced = check->snapshot != NULL && check->snapshot->kept.recorded > 0;
    return or_empty(inq_arena_asprintf(
        context->arena, "%s%s %s %s%s%s", failed, context->name,
        check->updated ? "measured for" : "against", context->baseline, reduced ? ": " : "",
        reduced ? inq_context_kept(context->arena, check->snapshot->kept) : ""));
}

/* The n-th failed row as they are told, the cause first; NULL: there is none. */
static const struct inq_check_row *failed_row(const struct inq_check *check, size_t n)
{
    if (n == 0) {
        return check->cause;
    }
    /* what could not be measured comes last; what lint refuses is told by its cause */
    for (size_t gone = 0; gone < (is_refused(check) ? 1U : 2U); gone++) {
        for (size_t i = 0; i < check->n; i++) {
            const struct inq_check_row *row = &check->rows[i];
            bool is_gone = row->outcome == INQ_CHECK_GONE;
            if (!row->pass && row != check->cause && is_gone == (gone == 1) && --n == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static int write_text(const struct context *context, const struct inq_report_options *options,
                      struct inq_out *out)
{
    const struct inq_check *check = context->check;
    struct inq_terminal terminal = inq_terminal_of(options, out);
    struct inq_table table = {.arena = context->arena};
    inq_terminal_tint(&terminal, check->pass ? INQ_TINT_GREEN : INQ_TINT_RED);
    inq_terminal_words(&terminal, headline(context), 0, 0);
    inq_terminal_plain(&terminal);
    inq_out_text(out, "\n");
    inq_terminal_wrap(&terminal, subject_line(context), 0, 0);
    for (size_t i = 1; failed_row(check, i) != NULL; i++) {
        inq_out_text(out, "  - ");
        inq_terminal_wrap(&terminal, failed_row(check, i)->message, 4, 4);
    }
    for (size_t i = 1; i < check->n_new && i < NEW_SHOWN; i++) { /* the first is in the message */
        inq_out_text(out, "    ");
        inq_terminal_wrap(&terminal, or_empty(check->fresh[i].title), 4, 4);
    }
    inq_out_text(out, "\n");
    fill(context, &table);
    if (table.code == INQ_OK) {
        inq_table_print(&table, &terminal);
    }
    inq_table_release(&table);
    return table.code;
}

static void item(struct inq_out *out, const char *text)
{
    inq_out_text(out, "- ");
    inq_markdown_text(out, text, INQ_TERMINAL_NO_LIMIT);
    inq_out_text(out, "\n");
}

static int write_markdown(const struct context *context, struct inq_out *out)
{
    const struct inq_check *check = context->check;
    struct inq_table table = {.arena = context->arena};
    inq_out_printf(out, "### %s ", check->pass ? ":white_check_mark:" : ":x:");
    inq_markdown_text(out, headline(context), INQ_TERMINAL_NO_LIMIT);
    inq_out_text(out, "\n\n");
    if (check->problem != NULL) {
        inq_markdown_text(out,
                          or_empty(inq_arena_asprintf(context->arena, "%s against %s",
                                                      context->name, context->baseline)),
                          INQ_TERMINAL_NO_LIMIT);
        inq_out_text(out, "\n");
        return INQ_OK;
    }
    inq_markdown_text(out, subject_line(context), INQ_TERMINAL_NO_LIMIT);
    inq_out_text(out, "\n\n");
    size_t items = 0;
    for (size_t i = 1; failed_row(check, i) != NULL; i++, items++) { /* the first is above */
        item(out, failed_row(check, i)->message);
    }
    for (size_t i = 1; i < check->n_new && i < NEW_SHOWN; i++, items++) {
        item(out, or_empty(check->fresh[i].title));
    }
    inq_out_text(out, items == 0 ? "" : "\n");
    fill(context, &table);
    if (table.code == INQ_OK) {
        inq_markdown_table(out, &table);
    }
    inq_table_release(&table);
    return table.code;
}

/* ---- "inquest-check/1" ------------------------------------------------------------------------*/

/* Times are whole numbers of ns; what was not measured is null. */
static void number(struct inq_json *json, const char *key, enum inq_measure_kind kind, double value)
{
    enum inq_check_unit unit = inq_measure_info(kind)->unit;
    if (unit == INQ_UNIT_NS && isfinite(value)) {
        inq_json_int(json, key, llround(value));
    } else {
        inq_json_double(json, key, value);
    }
}

static void place_number(struct inq_json *json, const char *key, int32_t value, int32_t least)
{
    if (value >= least) {
        inq_json_int(json, key, value);
    } else {
        inq_json_null(json, key);
    }
}

/* Ranks from 0, lines, columns and cells from 1, as the text has them. */
static void write_place(struct inq_json *json, const struct spot *spot)
{
    inq_json_string(json, "file", spot->file);
    place_number(json, "line", spot->line, 1);
    place_number(json, "column", spot->column, 1);
    place_number(json, "rank", spot->rank, 0);
    place_number(json, "position", spot->cell, 1);
    inq_json_string(json, "action", spot->action != NULL ? spot->action : "");
}

static void write_row(struct inq_json *json, const struct context *context,
                      const struct inq_check_row *row)
{
    enum inq_measure_kind kind = row->now.kind;
    inq_json_object(json, NULL);
    inq_json_string(json, "name", row->now.name);
    number(json, "baseline", kind, row->base.value);
    number(json, "value", kind, row->now.value);
    number(json, "limit", kind, row->limit);
    inq_json_bool(json, "pass", row->pass);
    inq_json_string(json, "outcome", inq_check_outcome_text(row->outcome));
    inq_json_double(json, "change", row->change);
    number(json, "low", kind, row->now.low);
    number(json, "high", kind, row->now.high);
    inq_json_int(json, "n", (int64_t)row->now.n);
    inq_json_bool(json, "within_noise", row->noisy);
    struct spot spot = spot_of(context, row);
    if (!row->pass && spot.file != NULL) {
        write_place(json, &spot);
    }
    inq_json_string(json, "message", row->message);
    inq_json_end_object(json);
}

static void write_problems(struct inq_json *json, const struct inq_snapshot *now)
{
    inq_json_array(json, "problems");
    for (size_t i = 0; i < now->n_problems; i++) {
        const struct inq_lint_problem *p = &now->problems[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "rule", inq_lint_rule_text(p->rule));
        inq_json_string(json, "severity", p->error ? "error" : "note");
        write_place(json, &(struct spot){now->file, p->line, p->column, p->rank, p->position + 1,
                                         p->action});
        inq_json_string(json, "message", p->message);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_json(const struct context *context, struct inq_json *json)
{
    const struct inq_check *check = context->check;
    inq_json_document(json, &inq_contract_check);
    inq_json_bool(json, "pass", check->pass);
    inq_json_bool(json, "updated", check->updated);
    inq_json_string(json, "subject", check->subject == INQ_SUBJECT_SCHEDULE ? "schedule" : "run");
    inq_json_string(json, "name", context->name);
    inq_json_string(json, "baseline", context->baseline);
    inq_json_string(json, "headline", headline(context));
    if (check->snapshot != NULL) {
        inq_json_kept(json, check->snapshot->kept);
    }
    inq_json_array(json, "checks");
    for (size_t i = 0; i < check->n; i++) {
        write_row(json, context, &check->rows[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "new_findings");
    for (size_t i = 0; i < check->n_new; i++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "id", check->fresh[i].id);
        inq_json_string(json, "severity", inq_severity_text(check->fresh[i].severity));
        inq_json_string(json, "title", check->fresh[i].title);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    if (check->subject == INQ_SUBJECT_SCHEDULE && check->snapshot != NULL) {
        write_problems(json, check->snapshot);
    }
    inq_json_end_object(json);
}

static void write_all_json(const struct inq_check_result *results, size_t n,
                           struct inq_arena *arena, bool compact, struct inq_out *out)
{
    struct inq_json json;
    bool pass = true;
    inq_json_init(&json, out, compact);
    if (n > 1) {
        for (size_t i = 0; i < n; i++) {
            pass = pass && results[i].check->pass;
        }
        inq_json_document(&json, &inq_contract_check_set);
        inq_json_bool(&json, "pass", pass);
        inq_json_array(&json, "results");
    }
    for (size_t i = 0; i < n; i++) {
        struct context context = {results[i].check, or_empty(results[i].name),
                                  or_empty(results[i].baseline), arena};
        write_json(&context, &json);
    }
    if (n > 1) {
        inq_json_end_array(&json);
        inq_json_end_object(&json);
    }
}

#ifdef INQ_HAVE_HTML
/* ---- a page ----------------------------------------------------------------------------------*/

struct checks {
    const struct inq_check_result *results;
    size_t n;
    struct inq_arena *arena;
};

/* What readers see that run no scripts. */
static void plain_checks(const void *ctx, struct inq_out *out)
{
    const struct checks *all = ctx;
    for (size_t i = 0; i < all->n; i++) {
        const struct inq_check *check = all->results[i].check;
        struct context context = {check, or_empty(all->results[i].name),
                                  or_empty(all->results[i].baseline), all->arena};
        inq_html_element(out, i == 0 ? "h1" : "h2", headline(&context));
        inq_html_element(out, "p", subject_line(&context));
        for (size_t row = 1; failed_row(check, row) != NULL; row++) {
            inq_html_element(out, "p", failed_row(check, row)->message);
        }
        for (size_t row = 1; row < check->n_new && row < NEW_SHOWN; row++) {
            inq_html_element(out, "p", check->fresh[row].title);
        }
    }
}

static int page_checks(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct checks *all = ctx;
    (void)err;
    write_all_json(all->results, all->n, all->arena, true, out);
    return INQ_OK;
}
#endif

/* ---- CI --------------------------------------------------------------------------------------*/

/* Every new finding on a line of its own. */
static const char *fresh_text(const struct context *context)
{
    struct inq_out text = {0};
    for (size_t i = 0; i < context->check->n_new; i++) {
        inq_out_printf(&text, "\n%s: %s", context->check->fresh[i].id,
                       or_empty(context->check->fresh[i].title));
    }
    inq_out_bytes(&text, "", 1);
    const char *copy = text.code == INQ_OK ? inq_arena_strdup(context->arena, text.buf) : "";
    inq_out_release(&text);
    return or_empty(copy);
}

/* Whether annotations say it elsewhere: each problem of lint and each new finding has its own,
 * nothing can be measured of what lint refuses, and GitHub's first one is the cause. */
static bool is_told(const struct context *context, const struct inq_check_row *row,
                    enum inq_format format)
{
    const struct inq_check *check = context->check;
    bool lint = is_refused(check);
    if (format == INQ_FORMAT_JUNIT || row->pass) {
        return false;
    }
    return (format == INQ_FORMAT_GITHUB && row == check->cause) ||
           row->now.kind == INQ_MEASURE_NEW_FINDINGS ||
           row->now.kind == INQ_MEASURE_LINT_PROBLEMS || (lint && row->outcome == INQ_CHECK_GONE);
}

/* What failed with its place: not every reader of these formats shows lines, and none shows cells.
 */
static const char *row_text(const struct context *context, const struct inq_check_row *row)
{
    const struct inq_snapshot *now = context->check->snapshot;
    if (!row->pass && is_refused(context->check) && row->outcome == INQ_CHECK_GONE) {
        return or_empty(
            inq_arena_asprintf(context->arena, "%s: lint refuses the schedule", row->message));
    }
    if (!row->pass && row->now.kind == INQ_MEASURE_LINT_PROBLEMS && now != NULL &&
        now->n_problems > 0) {
        return or_empty(
            inq_arena_asprintf(context->arena, "%s, %s", inq_lint_rule_text(now->problems->rule),
                               inq_notice_text(context->arena, now->problems, &now->remedy)));
    }
    return or_empty(inq_arena_asprintf(context->arena, "%s%s", row->message,
                                       row->pass ? "" : place_text(context, row)));
}

static void add_row_notice(const struct context *context, const struct inq_check_row *row,
                           struct inq_notices *notices)
{
    struct spot spot = spot_of(context, row);
    bool refused = is_refused(context->check) && row->outcome == INQ_CHECK_GONE;
    struct inq_notice notice = {.suite = context->name,
                                .reference = context->baseline,
                                .rule = row->now.name,
                                .type = inq_check_outcome_text(row->outcome),
                                .what = inq_measure_info(row->now.kind)->title,
                                .message = row_text(context, row),
                                .file = spot.file,
                                .line = spot.line,
                                .column = spot.column,
                                .level =
                                    !row->pass && !refused                     ? INQ_NOTICE_ERROR
                                    : refused || row->outcome == INQ_CHECK_OFF ? INQ_NOTICE_SKIPPED
                                    : row->outcome == INQ_CHECK_IMPROVED && !context->check->updated
                                        ? INQ_NOTICE_NOTE
                                        : INQ_NOTICE_PASSED};
    if (!row->pass && row->now.kind == INQ_MEASURE_NEW_FINDINGS) {
        notice.details = fresh_text(context);
    }
    inq_notices_add(notices, &notice);
}

/* What lint objects to and the findings that are new, each beside its place. */
static void add_details(const struct context *context, enum inq_format format,
                        struct inq_notices *notices)
{
    const struct inq_check *check = context->check;
    const struct inq_snapshot *now = check->snapshot;
    struct inq_notice notice = {.suite = context->name, .reference = context->baseline};
    if (format == INQ_FORMAT_JUNIT) { /* they are in the failure of their check */
        return;
    }
    notice.level = INQ_NOTICE_ERROR;
    /* the first of them is in GitHub's first annotation */
    bool told = format == INQ_FORMAT_GITHUB && check->cause != NULL;
    bool lint = told && check->cause->now.kind == INQ_MEASURE_LINT_PROBLEMS;
    for (size_t i = 0; check->subject == INQ_SUBJECT_SCHEDULE && i < now->n_problems; i++) {
        const struct inq_lint_problem *p = &now->problems[i];
        notice.rule = inq_lint_rule_text(p->rule);
        notice.what = inq_lint_rule_what(p->rule);
        notice.message = inq_notice_text(context->arena, p, i == 0 ? &now->remedy : NULL);
        notice.file = now->file;
        notice.line = p->line;
        notice.column = p->column;
        if (p->error && (i > 0 || !lint)) {
            inq_notices_add(notices, &notice);
        }
    }
    notice.file = NULL;
    notice.what = NULL;
    for (size_t i = told ? 1 : 0; i < check->n_new; i++) {
        notice.rule = check->fresh[i].id;
        notice.message = check->fresh[i].title != NULL ? check->fresh[i].title : "new finding";
        inq_notices_add(notices, &notice);
    }
}

static void add_notices(const struct context *context, enum inq_format format,
                        struct inq_notices *notices)
{
    const struct inq_check *check = context->check;
    struct inq_notice first = {.level = check->pass ? INQ_NOTICE_NOTE : INQ_NOTICE_ERROR,
                               .suite = context->name,
                               .reference = context->baseline,
                               .message = headline(context),
                               .headline = true};
    if (check->cause != NULL) {
        struct spot spot = spot_of(context, check->cause);
        first.file = spot.file;
        first.line = spot.line;
        first.column = spot.column;
    }
    inq_notices_add(notices, &first);
    if (check->problem != NULL && format != INQ_FORMAT_GITHUB) { /* which has it as headline */
        first.headline = false;
        first.rule = "not_checked";
        first.type = "error";
        inq_notices_add(notices, &first);
    }
    for (size_t i = 0; i < check->n; i++) {
        if (!is_told(context, &check->rows[i], format)) {
            add_row_notice(context, &check->rows[i], notices);
        }
    }
    add_details(context, format, notices);
}

/* ---- all of them -----------------------------------------------------------------------------*/

static int write_people(const struct inq_check_result *results, size_t n,
                        const struct inq_report_options *options, struct inq_arena *arena,
                        struct inq_out *out)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct context context = {results[i].check, or_empty(results[i].name),
                                  or_empty(results[i].baseline), arena};
        inq_out_text(out, i > 0 ? "\n" : "");
        code = options->format == INQ_FORMAT_TEXT ? write_text(&context, options, out)
                                                  : write_markdown(&context, out);
    }
    return code;
}

int inq_check_report_all(const struct inq_check_result *results, size_t n,
                         const struct inq_report_options *options, struct inq_sink sink,
                         struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_TEXT || options->format == INQ_FORMAT_MARKDOWN) {
        code = write_people(results, n, options, &arena, &out);
    } else if (options->format == INQ_FORMAT_JSON) {
        write_all_json(results, n, &arena, false, &out);
#ifdef INQ_HAVE_HTML
    } else if (options->format == INQ_FORMAT_HTML) {
        const struct checks ctx = {results, n, &arena};
        const struct inq_html_content content = {
            .title = "Check", .ctx = &ctx, .plain = plain_checks, .report = page_checks};
        code = inq_html_page_write(&content, &out, err);
#endif
    } else {
        struct inq_notices notices = {.tool = "inquest check"};
        for (size_t i = 0; i < n; i++) {
            struct context context = {results[i].check, or_empty(results[i].name),
                                      or_empty(results[i].baseline), &arena};
            add_notices(&context, options->format, &notices);
        }
        code = inq_notices_write(&notices, options->format, &out);
    }
    code = code == INQ_OK && arena.failed ? INQ_NOMEM : code;
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a check", err);
}

int inq_check_report(const struct inq_check *check, const char *name, const char *baseline,
                     const struct inq_report_options *options, struct inq_sink sink,
                     struct inq_err *err)
{
    const struct inq_check_result result = {check, name, baseline};
    return inq_check_report_all(&result, 1, options, sink, err);
}
