/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as a page. What matters most is written as plain HTML too, for readers that run no
 * scripts. */
#include "report/render/html/html.h"

#include "base/arena_text.h"
#include "report/sections/sections.h"

/* The verdict and the findings of all jobs. */
static void write_plain(const void *ctx, struct inq_out *out)
{
    const struct inq_document *doc = ctx;
    for (size_t i = 0; i < doc->n_reports; i++) {
        const struct inq_report *report = doc->reports[i];
        struct inq_context context =
            inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
        inq_html_element(out, i == 0 ? "h1" : "h2", report->verdict.headline);
        inq_html_element(out, "p", inq_sentence_why(&context));
        inq_html_element(out, "p", report->verdict.next);
        inq_html_element(out, "p", inq_sentence_sure(&context));
        inq_html_element(out, "p", inq_sentence_where(&context));
        inq_html_element(out, "p", inq_sentence_run(&context));
        for (int s = 0; s < INQ_SECTION_COUNT; s++) {
            const char *problem = inq_context_unavailable(&context, (enum inq_section)s);
            if (problem[0] != '\0' && inq_context_wants(&context, (enum inq_section)s)) {
                inq_html_element(out, "h3", inq_section_title((enum inq_section)s));
                inq_html_element(out, "p", problem);
            }
        }
        for (size_t f = 0; f < report->n_findings; f++) {
            const struct inq_finding *finding = &report->findings[f];
            if (inq_context_shows_finding(&context, finding)) {
                bool told = inq_sentence_told(&context, finding);
                inq_html_element(out, "h3", inq_sentence_title(&context, finding));
                inq_html_element(out, "p", inq_sentence_numbers(&context, finding));
                inq_html_element(out, "p", told ? "" : finding->detail);
                inq_html_element(out, "p", told ? "" : finding->advice);
            }
        }
    }
}

static int write_report(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    inq_document_json(ctx, out, true);
    return INQ_OK;
}

/* Sections that the page draws itself; the tables of all others are its own as they are. */
static const uint32_t drawn =
    INQ_SECTION_BIT(INQ_SECTION_ACCOUNT) | INQ_SECTION_BIT(INQ_SECTION_RANKS) |
    INQ_SECTION_BIT(INQ_SECTION_COLLECTIVES) | INQ_SECTION_BIT(INQ_SECTION_PIPELINE) |
    INQ_SECTION_BIT(INQ_SECTION_WHATIF) | INQ_SECTION_BIT(INQ_SECTION_CRITICAL_PATH) |
    INQ_SECTION_BIT(INQ_SECTION_KERNELS) | INQ_SECTION_BIT(INQ_SECTION_BLAME) |
    INQ_SECTION_BIT(INQ_SECTION_FAILURE) | INQ_SECTION_BIT(INQ_SECTION_METHOD) |
    INQ_SECTION_BIT(INQ_SECTION_FINDINGS);

static void write_table(void *ctx, const struct inq_table *table, bool folded)
{
    struct inq_json *json = ctx;
    size_t n = table->n_columns;
    inq_json_object(json, NULL);
    inq_json_string(json, "title", table->title);
    inq_json_string(json, "note", table->note != NULL ? table->note : "");
    inq_json_bool(json, "folded", folded);
    inq_json_array(json, "columns");
    for (size_t c = 0; c < n; c++) {
        inq_json_string(json, NULL, table->columns[c].title);
    }
    inq_json_end_array(json);
    inq_json_array(json, "cells"); /* row by row */
    for (size_t i = 0; i < inq_table_rows(table) * n; i++) {
        inq_json_string(json, NULL, table->cells[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

/* The page says from the report which sections there are not. */
static void pass_over(void *ctx, const char *title, const char *problem)
{
    (void)ctx;
    (void)title;
    (void)problem;
}

static void write_tables(const struct inq_context *context, struct inq_json *json)
{
    const struct inq_table_writer writer = {write_table, pass_over, json};
    inq_json_array(json, "tables");
    inq_tables_write(context, ~drawn & (INQ_SECTION_BIT(INQ_SECTION_COUNT) - 1), &writer);
    inq_json_end_array(json);
}

static int write_timelines(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct inq_document *doc = ctx;
    struct inq_json json;
    int code = INQ_OK;
    inq_json_init(&json, out, true);
    inq_json_array(&json, NULL);
    for (size_t i = 0; i < doc->n_reports && code == INQ_OK; i++) {
        const struct inq_report *report = doc->reports[i];
        struct inq_context context =
            inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
        struct inq_html_windows windows;
        inq_html_find_windows(&context, doc->n_reports, &windows);
        inq_json_object(&json, NULL);
        code = inq_html_timeline(&context, &windows, &json, err);
        write_tables(&context, &json);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
    return code;
}

int inq_document_html(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    const char *title = doc->n_reports > 0 ? doc->reports[0]->trace->name : "nothing";
    if (doc->n_reports > 1) {
        title = inq_arena_printf(doc->arena, "%s and %zu more", title, doc->n_reports - 1);
    }
    const struct inq_html_content content = {.title = title,
                                             .ctx = doc,
                                             .plain = write_plain,
                                             .report = write_report,
                                             .timeline = write_timelines};
    return inq_html_page_write(&content, out, err);
}
