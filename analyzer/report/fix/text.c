/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes on the terminal, and as Markdown. */
#include "report/fix/fix.h"
#include "report/render/markdown/markdown.h"

#include <string.h>

enum { INDENT = 4, SHOWN = 8 };

static const struct {
    const char *label;
    void (*say)(const struct inq_fix *fix, struct inq_out *out);
} executed[] = {
    {"Gain: ", inq_fix_say_outcome}, {"Order: ", inq_fix_say_order}, {"Cost: ", inq_fix_say_cost}};

/* ---- text ------------------------------------------------------------------------------------ */

static void line(const struct inq_pen *pen, const char *label, const char *text)
{
    if (text[0] != '\0') {
        inq_out_printf(pen->out, "%*s%s", INDENT, "", label);
        inq_pen_wrap(pen, text, INDENT + (int)strlen(label), INDENT + 2);
    }
}

static void paragraph(const struct inq_pen *pen, const struct inq_out *text)
{
    if (text->buf != NULL && text->buf[0] != '\0') {
        inq_pen_wrap(pen, text->buf, 0, 0);
    }
}

static void write_fix(const struct inq_pen *pen, size_t number, const struct inq_fix *fix)
{
    struct inq_out text = {0};
    inq_out_printf(pen->out, "%2zu. ", number);
    inq_pen_tint(pen, INQ_TINT_BOLD);
    (void)inq_pen_text(pen, fix->spec, pen->width - INDENT);
    inq_pen_plain(pen);
    inq_out_text(pen->out, "\n");
    line(pen, "", fix->what);
    line(pen, "Does not apply: ", fix->problem);
    for (size_t i = 0; i < sizeof executed / sizeof *executed; i++) {
        inq_fix_collect_one(executed[i].say, fix, &text);
        line(pen, executed[i].label, text.buf != NULL ? text.buf : "");
    }
    line(pen, "Called for by: ", fix->finding);
    line(pen, "Assumes: ", fix->assumes);
    line(pen, "Memory: ", fix->costs.memory);
    line(pen, "Accuracy: ", fix->costs.accuracy);
    line(pen, "Work: ", fix->costs.work);
    inq_out_release(&text);
}

void inq_fix_text(const struct inq_fixes *fixes, const struct inq_report_options *options,
                  struct inq_arena *arena, struct inq_out *out)
{
    struct inq_pen pen = inq_pen_of(options, out);
    struct inq_out text = {0};
    size_t shown = fixes->n <= SHOWN || options->verbose ? fixes->n : SHOWN;
    inq_pen_tint(&pen, INQ_TINT_BOLD);
    inq_fix_collect(inq_fix_say_best, fixes, &text);
    paragraph(&pen, &text);
    inq_pen_plain(&pen);
    inq_fix_collect(inq_fix_say_base, fixes, &text);
    paragraph(&pen, &text);
    inq_fix_collect(inq_fix_say_executed, fixes, &text);
    paragraph(&pen, &text);
    if (fixes->n > 0) {
        struct inq_table table = {.arena = arena};
        inq_fix_table(fixes, &table);
        inq_out_text(out, "\n");
        inq_table_print(&table, &pen);
        out->code = table.code != INQ_OK ? table.code : out->code;
        inq_table_release(&table);
        inq_out_text(out, "\n");
    }
    for (size_t i = 0; i < shown; i++) {
        write_fix(&pen, i + 1, &fixes->fixes[i]);
    }
    if (shown < fixes->n) {
        inq_out_printf(out, "    and %zu more (-v shows all)\n", fixes->n - shown);
    }
    inq_out_release(&text);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void markdown_line(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_PEN_NO_LIMIT);
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
    markdown_line(out, "- Does not apply: ", fix->problem);
    for (size_t i = 0; i < sizeof executed / sizeof *executed; i++) {
        inq_fix_collect_one(executed[i].say, fix, &text);
        inq_out_text(out, text.buf != NULL && text.buf[0] != '\0' ? "- " : "");
        markdown_line(out, executed[i].label, text.buf);
    }
    markdown_line(out, "- Called for by: ", fix->finding);
    markdown_line(out, "- Assumes: ", fix->assumes);
    markdown_line(out, "- Memory: ", fix->costs.memory);
    markdown_line(out, "- Accuracy: ", fix->costs.accuracy);
    markdown_line(out, "- Work: ", fix->costs.work);
    inq_out_release(&text);
}

void inq_fix_markdown(const struct inq_fixes *fixes, struct inq_arena *arena, struct inq_out *out)
{
    struct inq_out text = {0};
    inq_out_text(out, "# Fixes\n\n");
    inq_fix_collect(inq_fix_say_best, fixes, &text);
    markdown_line(out, "", text.buf);
    inq_out_text(out, "\n");
    inq_fix_collect(inq_fix_say_base, fixes, &text);
    markdown_line(out, "", text.buf);
    inq_fix_collect(inq_fix_say_executed, fixes, &text);
    if (text.buf != NULL && text.buf[0] != '\0') {
        inq_out_text(out, "\n");
        markdown_line(out, "", text.buf);
    }
    if (fixes->n > 0) {
        struct inq_table table = {.arena = arena};
        inq_fix_table(fixes, &table);
        inq_out_text(out, "\n");
        inq_markdown_table(out, &table);
        out->code = table.code != INQ_OK ? table.code : out->code;
        inq_table_release(&table);
    }
    for (size_t i = 0; i < fixes->n; i++) {
        markdown_fix(out, i + 1, &fixes->fixes[i]);
    }
    inq_out_release(&text);
}
