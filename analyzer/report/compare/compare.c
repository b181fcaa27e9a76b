/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as text and as Markdown. */
#include "report/compare/compare.h"

#include "inquest/version.h"
#include "report/info/info.h"
#include "report/render/markdown/markdown.h"

static int text_table(const struct inq_table *table, const struct inq_pen *pen)
{
    if (table->code == INQ_OK && inq_table_rows(table) > 0) {
        inq_out_text(pen->out, "\n");
        inq_table_print(table, pen);
    }
    return table->code;
}

static int write_text(const struct inq_compare_view *view, const struct inq_report_options *options,
                      struct inq_out *out)
{
    const struct inq_comparison *c = view->c;
    struct inq_pen pen = inq_pen_of(options, out);
    int code = INQ_OK;
    inq_pen_tint(&pen, c->changed ? INQ_TINT_BOLD : INQ_TINT_GREEN);
    inq_pen_words(&pen, c->headline, 0, 0);
    inq_pen_plain(&pen);
    inq_out_text(out, "\n");
    if (c->reason[0] != '\0') {
        inq_pen_wrap(&pen, c->reason, 0, 0);
    }
    if (inq_compare_damage_line(view)[0] != '\0') {
        inq_pen_wrap(&pen, inq_compare_damage_line(view), 0, 0);
    }
    inq_pen_wrap(&pen, inq_compare_run_line(view, 0), 0, 6);
    inq_pen_wrap(&pen, inq_compare_run_line(view, 1), 0, 6);
    inq_pen_wrap(&pen, c->work_how, 0, 0);
    for (size_t i = 0; inq_compare_tables[i] != NULL && code == INQ_OK; i++) {
        struct inq_table table = {.arena = view->arena};
        inq_compare_tables[i](view, &table);
        code = text_table(&table, &pen);
        inq_table_release(&table);
    }
    return code;
}

static void paragraph(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_PEN_NO_LIMIT);
        inq_out_text(out, "\n\n");
    }
}

static int write_markdown(const struct inq_compare_view *view, struct inq_out *out)
{
    const struct inq_comparison *c = view->c;
    int code = INQ_OK;
    paragraph(out, "# ", c->headline);
    paragraph(out, "", c->reason);
    paragraph(out, "", inq_compare_damage_line(view));
    paragraph(out, "- ", inq_compare_run_line(view, 0));
    paragraph(out, "- ", inq_compare_run_line(view, 1));
    paragraph(out, "> ", c->work_how);
    for (size_t i = 0; inq_compare_tables[i] != NULL && code == INQ_OK; i++) {
        struct inq_table table = {.arena = view->arena};
        inq_compare_tables[i](view, &table);
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

int inq_comparison_report(const struct inq_comparison *comparison,
                          const struct inq_report_options *options, struct inq_sink sink,
                          struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_compare_view view = {comparison, &arena, options->verbose};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_TEXT) {
        code = write_text(&view, options, &out);
    } else if (options->format == INQ_FORMAT_JSON) {
        inq_compare_json(&view, &out);
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        code = write_markdown(&view, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a comparison", err);
}
