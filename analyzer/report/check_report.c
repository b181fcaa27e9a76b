/* SPDX-License-Identifier: Apache-2.0 */
/* A check as a table, for people: on the terminal and in a merge request. */
#include "report/check_parts.h"

#include "base/time.h"
#include "report/info.h"
#include "report/markdown.h"

#include <math.h>
#include <string.h>

enum { NEW_SHOWN = 20 };

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

const char *inq_check_headline(const struct inq_check_view *view)
{
    const struct inq_check *check = view->check;
    const char *text;
    if (check->updated) {
        text = inq_arena_printf(view->arena, "Baseline written: %zu measures.",
                                check->n - (check->subject == INQ_SUBJECT_RUN ? 1 : 0));
    } else if (check->pass) {
        text = inq_arena_printf(view->arena, "Passes: %zu checks against the baseline.", check->n);
    } else {
        text =
            inq_arena_printf(view->arena, "Fails: %zu of %zu checks.", check->n_failed, check->n);
    }
    return or_empty(text);
}

/* "14.2 ms", "0.2727", "N/A". */
static const char *value_text(const struct inq_check_view *view, enum inq_measure_kind kind,
                              double value)
{
    char buf[32];
    if (!isfinite(value)) {
        return "N/A";
    }
    switch (inq_measure_info(kind)->unit) {
    case INQ_UNIT_NS:
        return or_empty(
            inq_arena_strdup(view->arena, inq_time_format((int64_t)value, buf, sizeof buf)));
    case INQ_UNIT_COUNT:
        return or_empty(inq_arena_printf(view->arena, "%.6g", value));
    case INQ_UNIT_SHARE:
    case INQ_UNIT_FACTOR:
        break;
    }
    return or_empty(inq_arena_printf(view->arena, "%.4f", value));
}

/* "14.0-14.4 ms" would hide the units of mixed sizes: both ends have theirs. */
static const char *interval(const struct inq_check_view *view, const struct inq_measure *m)
{
    if (!isfinite(m->low) || m->n == 0) {
        return "";
    }
    return or_empty(inq_arena_printf(view->arena, "%s..%s", value_text(view, m->kind, m->low),
                                     value_text(view, m->kind, m->high)));
}

/* Names without the unit, which the values bear. */
static const char *plain_name(const struct inq_check_view *view, const struct inq_check_row *row)
{
    const char *name = row->now.name;
    const char *unit = strstr(name, "_ns");
    if (unit == NULL || (unit[3] != '\0' && unit[3] != '.')) {
        return name;
    }
    return or_empty(inq_arena_printf(view->arena, "%.*s%s", (int)(unit - name), name, unit + 3));
}

static const char *verdict(const struct inq_check_row *row)
{
    return row->pass                        ? inq_check_outcome_text(row->outcome)
           : row->outcome == INQ_CHECK_GONE ? "GONE"
                                            : "REGRESSED";
}

static void fill(const struct inq_check_view *view, struct inq_table *table)
{
    const struct inq_check *check = view->check;
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
        inq_table_text(table, plain_name(view, row));
        inq_table_text(table, value_text(view, row->now.kind, row->base.value));
        inq_table_text(table, value_text(view, row->now.kind, row->now.value));
        if (isfinite(row->change)) {
            inq_table_printf(table, "%+.1f %%", row->change * 100.0);
        } else {
            inq_table_text(table, "");
        }
        inq_table_text(table,
                       isfinite(row->limit) ? value_text(view, row->now.kind, row->limit) : "");
        if (run) {
            inq_table_text(table, interval(view, &row->now));
        }
        inq_table_text(table, verdict(row));
    }
}

static const char *subject_line(const struct inq_check_view *view)
{
    return or_empty(inq_arena_printf(view->arena, "%s %s %s", view->name,
                                     view->check->updated ? "measured for" : "against",
                                     view->baseline));
}

static int write_text(const struct inq_check_view *view, const struct inq_report_options *options,
                      struct inq_out *out)
{
    const struct inq_check *check = view->check;
    struct inq_pen pen = inq_pen_of(options, out);
    struct inq_table table = {.arena = view->arena};
    inq_pen_tint(&pen, check->pass ? INQ_TINT_GREEN : INQ_TINT_RED);
    inq_pen_words(&pen, inq_check_headline(view), 0, 0);
    inq_pen_plain(&pen);
    inq_out_text(out, "\n");
    inq_pen_wrap(&pen, subject_line(view), 0, 0);
    for (size_t i = 0; i < check->n; i++) {
        if (!check->rows[i].pass) {
            inq_out_text(out, "  - ");
            inq_pen_wrap(&pen, check->rows[i].message, 4, 4);
        }
    }
    for (size_t i = 1; i < check->n_new && i < NEW_SHOWN; i++) { /* the first is in the message */
        inq_out_text(out, "    ");
        inq_pen_wrap(&pen, or_empty(check->fresh[i].title), 4, 4);
    }
    inq_out_text(out, "\n");
    fill(view, &table);
    if (table.code == INQ_OK) {
        inq_table_print(&table, &pen);
    }
    inq_table_release(&table);
    return table.code;
}

static void item(struct inq_out *out, const char *text)
{
    inq_out_text(out, "- ");
    inq_markdown_text(out, text, INQ_PEN_NO_LIMIT);
    inq_out_text(out, "\n");
}

static int write_markdown(const struct inq_check_view *view, struct inq_out *out)
{
    const struct inq_check *check = view->check;
    struct inq_table table = {.arena = view->arena};
    inq_out_printf(out, "### %s ", check->pass ? ":white_check_mark:" : ":x:");
    inq_markdown_text(out, inq_check_headline(view), INQ_PEN_NO_LIMIT);
    inq_out_text(out, "\n\n");
    inq_markdown_text(out, subject_line(view), INQ_PEN_NO_LIMIT);
    inq_out_text(out, "\n\n");
    for (size_t i = 0; i < check->n; i++) {
        if (!check->rows[i].pass) {
            item(out, check->rows[i].message);
        }
    }
    for (size_t i = 1; i < check->n_new && i < NEW_SHOWN; i++) {
        item(out, or_empty(check->fresh[i].title));
    }
    inq_out_text(out, check->pass ? "" : "\n");
    fill(view, &table);
    if (table.code == INQ_OK) {
        inq_markdown_table(out, &table);
    }
    inq_table_release(&table);
    return table.code;
}

int inq_check_report(const struct inq_check *check, const char *name, const char *baseline,
                     const struct inq_report_options *options, struct inq_sink sink,
                     struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_check_view view = {check, or_empty(name), or_empty(baseline), &arena};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_TEXT) {
        code = write_text(&view, options, &out);
    } else if (options->format == INQ_FORMAT_JSON) {
        inq_check_json(&view, &out);
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        code = write_markdown(&view, &out);
    } else if (options->format == INQ_FORMAT_JUNIT) {
        inq_check_junit(&view, &out);
    } else if (options->format == INQ_FORMAT_GITHUB) {
        inq_check_github(&view, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a check", err);
}
