/* SPDX-License-Identifier: Apache-2.0 */
/* What CI systems read: JUnit XML, and the annotations of a GitHub workflow. */
#include "report/check_parts.h"

#include "report/markup.h"
#include "report/pen.h"

#include <string.h>

/* ---- JUnit XML -------------------------------------------------------------------------------*/

static void attribute(struct inq_out *out, const char *name, const char *value)
{
    inq_out_printf(out, " %s=\"", name);
    inq_markup_text(out, value);
    inq_out_text(out, "\"");
}

static void findings(const struct inq_check *check, struct inq_out *out)
{
    for (size_t i = 0; i < check->n_new; i++) {
        inq_out_text(out, "\n");
        inq_markup_text(out, check->fresh[i].id);
        inq_out_text(out, ": ");
        inq_markup_text(out, check->fresh[i].title != NULL ? check->fresh[i].title : "");
    }
}

static void test_case(const struct inq_check_view *view, const struct inq_check_row *row,
                      struct inq_out *out)
{
    inq_out_text(out, "    <testcase classname=\"inquest.check\"");
    attribute(out, "name", row->now.name);
    inq_out_text(out, " time=\"0\">");
    if (!row->pass) {
        inq_out_text(out, "\n      <failure");
        attribute(out, "type", inq_check_outcome_text(row->outcome));
        attribute(out, "message", row->message);
        inq_out_text(out, ">");
        inq_markup_text(out, row->message);
        if (row->now.kind == INQ_MEASURE_NEW_FINDINGS) {
            findings(view->check, out);
        }
        inq_out_text(out, "</failure>\n    ");
    } else if (row->outcome == INQ_CHECK_OFF) {
        inq_out_text(out, "\n      <skipped/>\n    ");
    } else {
        inq_out_text(out, "\n      <system-out>");
        inq_markup_text(out, row->message);
        inq_out_text(out, "</system-out>\n    ");
    }
    inq_out_text(out, "</testcase>\n");
}

void inq_check_junit(const struct inq_check_view *view, struct inq_out *out)
{
    const struct inq_check *check = view->check;
    size_t skipped = 0;
    for (size_t i = 0; i < check->n; i++) {
        skipped += check->rows[i].outcome == INQ_CHECK_OFF;
    }
    inq_out_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<testsuites name=\"inquest\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
                   "time=\"0\">\n  <testsuite",
                   check->n, check->n_failed);
    attribute(out, "name", view->name);
    inq_out_printf(out,
                   " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"0\">\n",
                   check->n, check->n_failed, skipped);
    inq_out_text(out, "    <properties>\n      <property name=\"baseline\"");
    attribute(out, "value", view->baseline);
    inq_out_text(out, "/>\n    </properties>\n");
    for (size_t i = 0; i < check->n; i++) {
        test_case(view, &check->rows[i], out);
    }
    inq_out_text(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- GitHub workflow commands ----------------------------------------------------------------*/

/* Text of a command ends at the end of the line; in a property ',' and ':' separate too. */
static void github(struct inq_out *out, const char *text, bool property)
{
    struct inq_out safe = {0};
    struct inq_pen pen = {.out = &safe, .width = INQ_PEN_WIDTH, .utf8 = true};
    (void)inq_pen_text(&pen, text, INQ_PEN_NO_LIMIT);
    for (size_t i = 0; i < safe.len; i++) {
        char c = safe.buf[i];
        if (c == '%' || (property && (c == ',' || c == ':'))) {
            inq_out_printf(out, "%%%02X", (unsigned)c);
        } else {
            inq_out_bytes(out, &c, 1);
        }
    }
    out->code = out->code == INQ_OK ? safe.code : out->code;
    inq_out_release(&safe);
}

static void annotate(struct inq_out *out, const char *level, const char *title, const char *text)
{
    inq_out_printf(out, "::%s title=inquest check%%3A ", level);
    github(out, title, true);
    inq_out_text(out, "::");
    github(out, text, false);
    inq_out_text(out, "\n");
}

void inq_check_github(const struct inq_check_view *view, struct inq_out *out)
{
    const struct inq_check *check = view->check;
    annotate(out, check->pass ? "notice" : "error", view->name, inq_check_headline(view));
    for (size_t i = 0; i < check->n; i++) {
        const struct inq_check_row *row = &check->rows[i];
        if (!row->pass) {
            annotate(out, "error", row->now.name, row->message);
        } else if (row->outcome == INQ_CHECK_IMPROVED && !check->updated) {
            annotate(out, "notice", row->now.name, row->message);
        }
    }
    for (size_t i = 0; i < check->n_new; i++) {
        annotate(out, "error", check->fresh[i].id,
                 check->fresh[i].title != NULL ? check->fresh[i].title : "new finding");
    }
}
