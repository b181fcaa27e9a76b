/* SPDX-License-Identifier: Apache-2.0 */
/* The page put together: the template with the style, the scripts and the data in their places.
 * What matters most is written as plain HTML too, for readers that run no scripts. */
#include "report/html.h"

#include "inquest/version.h"

#include <string.h>

struct page {
    const struct inq_document *doc;
    struct inq_out *out;
    struct inq_err *err;
};

static int put_asset(const struct page *page, const struct inq_html_asset *asset)
{
    inq_out_bytes(page->out, (const char *)asset->bytes, asset->n);
    return INQ_OK;
}

static int put_title(const struct page *page)
{
    const struct inq_document *doc = page->doc;
    inq_html_text(page->out, doc->n_reports > 0 ? doc->reports[0]->trace->name : "nothing");
    if (doc->n_reports > 1) {
        inq_out_printf(page->out, " and %zu more", doc->n_reports - 1);
    }
    inq_out_text(page->out, " - inquest " INQ_VERSION_STRING);
    return INQ_OK;
}

static void put_element(const struct page *page, const char *element, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_printf(page->out, "<%s>", element);
        inq_html_text(page->out, text);
        inq_out_printf(page->out, "</%s>\n", element);
    }
}

/* The verdict and the findings of all jobs. */
static int put_plain(const struct page *page)
{
    for (size_t i = 0; i < page->doc->n_reports; i++) {
        const struct inq_report *report = page->doc->reports[i];
        struct inq_view view = inq_view_of(page->doc->run, report->trace, report,
                                           page->doc->options, page->doc->arena);
        put_element(page, i == 0 ? "h1" : "h2", report->verdict.headline);
        put_element(page, "p", inq_say_lost(&view));
        put_element(page, "p", inq_say_run(&view));
        for (size_t f = 0; f < report->n_findings; f++) {
            if (inq_view_shows_finding(&view, &report->findings[f])) {
                put_element(page, "h3", report->findings[f].title);
                put_element(page, "p", inq_say_numbers(&view, &report->findings[f]));
                put_element(page, "p", report->findings[f].detail);
                put_element(page, "p", report->findings[f].advice);
            }
        }
    }
    return INQ_OK;
}

static int put_report(const struct page *page)
{
    struct inq_html_script script = {.to = page->out};
    struct inq_out out = {.write = inq_html_script_write, .ctx = &script};
    inq_document_json(page->doc, &out, true);
    int code = inq_out_flush(&out, page->err);
    inq_out_release(&out);
    return code == INQ_OK ? inq_html_script_end(&script) : code;
}

static int write_timelines(const struct page *page, struct inq_out *out)
{
    struct inq_json json;
    int code = INQ_OK;
    inq_json_init(&json, out, true);
    inq_json_array(&json, NULL);
    for (size_t i = 0; i < page->doc->n_reports && code == INQ_OK; i++) {
        const struct inq_report *report = page->doc->reports[i];
        struct inq_view view = inq_view_of(page->doc->run, report->trace, report,
                                           page->doc->options, page->doc->arena);
        code = inq_html_timeline(&view, page->doc->n_reports, &json, page->err);
    }
    inq_json_end_array(&json);
    return code;
}

static int put_timeline(const struct page *page)
{
    struct inq_html_script script = {.to = page->out};
    struct inq_out out = {.write = inq_html_script_write, .ctx = &script};
    int code = write_timelines(page, &out);
    if (code == INQ_OK) {
        code = inq_out_flush(&out, page->err);
    }
    inq_out_release(&out);
    return code == INQ_OK ? inq_html_script_end(&script) : code;
}

static int put_style(const struct page *page)
{
    return put_asset(page, &inq_html_style);
}

static int put_d3(const struct page *page)
{
    return put_asset(page, &inq_html_d3);
}

static int put_app(const struct page *page)
{
    return put_asset(page, &inq_html_app);
}

/* @NAME@ in the template, and what goes there. */
static const struct place {
    const char *name;
    int (*put)(const struct page *page);
} places[] = {
    {"@TITLE@", put_title},   {"@STYLE@", put_style},       {"@PLAIN@", put_plain},
    {"@REPORT@", put_report}, {"@TIMELINE@", put_timeline}, {"@D3@", put_d3},
    {"@APP@", put_app},
};

static const struct place *place_at(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t len = strlen(places[i].name);
        if (len <= n && memcmp(text, places[i].name, len) == 0) {
            return &places[i];
        }
    }
    return NULL;
}

int inq_document_html(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    const struct page page = {doc, out, err};
    const char *text = (const char *)inq_html_page.bytes;
    int code = INQ_OK;
    for (size_t i = 0; i < inq_html_page.n && code == INQ_OK;) {
        const struct place *place = text[i] == '@' ? place_at(text + i, inq_html_page.n - i) : NULL;
        if (place != NULL) {
            code = place->put(&page);
            i += strlen(place->name);
        } else {
            const char *next = memchr(text + i + 1, '@', inq_html_page.n - i - 1);
            size_t end = next != NULL ? (size_t)(next - text) : inq_html_page.n;
            inq_out_bytes(out, text + i, end - i);
            i = end;
        }
    }
    return code;
}
