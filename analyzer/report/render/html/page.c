/* SPDX-License-Identifier: Apache-2.0 */
/* The page put together: the template with the style, the scripts and the data in their places. */
#include "report/render/html/html.h"

#include "report/terminal/terminal.h"
#include "inquest/version.h"

#include <string.h>

/* ---- What stands between the inputs' strings and the scripts of the page --------------------- */

/* ---- JSON in a script element ---------------------------------------------------------------- */

static const char LINE_SEPARATOR[] = "\xe2\x80\xa8"; /* U+2029 differs in the last bit */

/* The bytes held back turned out to be something else. */
static void let_go(struct inq_html_script *script)
{
    inq_out_bytes(script->to, LINE_SEPARATOR, script->held);
    script->held = 0;
}

/* True when the byte was taken as a part of U+2028 or U+2029. */
static bool hold(struct inq_html_script *script, unsigned char c)
{
    if (script->held == 2 && (c & 0xfe) == 0xa8) {
        inq_out_text(script->to, c == 0xa8 ? "\\u2028" : "\\u2029");
        script->held = 0;
        return true;
    }
    if (script->held < 2 && c == (unsigned char)LINE_SEPARATOR[script->held]) {
        script->held++;
        return true;
    }
    let_go(script);
    if (c == (unsigned char)LINE_SEPARATOR[0]) {
        script->held = 1;
        return true;
    }
    return false;
}

int inq_html_script_write(void *ctx, const char *bytes, size_t n)
{
    struct inq_html_script *script = ctx;
    size_t plain = 0; /* where the bytes that need nothing begin */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool special = c == '<' || c == '>' || c == '&';
        if (!special && c != 0xe2 && script->held == 0) {
            continue;
        }
        inq_out_bytes(script->to, bytes + plain, i - plain);
        plain = i;
        bool held = hold(script, c);
        if (special) {
            inq_out_printf(script->to, "\\u%04x", (unsigned)c);
        }
        plain += held || special;
    }
    inq_out_bytes(script->to, bytes + plain, n - plain);
    return script->to->code;
}

int inq_html_script_end(struct inq_html_script *script)
{
    let_go(script);
    return script->to->code;
}

struct page {
    const struct inq_html_content *content;
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
    inq_markup_text(page->out, page->content->title);
    inq_out_text(page->out, " - inquest " INQ_VERSION_STRING);
    return INQ_OK;
}

static int put_plain(const struct page *page)
{
    page->content->plain(page->content->ctx, page->out);
    return INQ_OK;
}

static int put_json(const struct page *page,
                    int (*write)(const void *ctx, struct inq_out *out, struct inq_err *err))
{
    struct inq_html_script script = {.to = page->out};
    struct inq_out out = {.write = inq_html_script_write, .ctx = &script};
    int code = write(page->content->ctx, &out, page->err);
    if (code == INQ_OK) {
        code = inq_out_flush(&out, page->err);
    }
    inq_out_release(&out);
    return code == INQ_OK ? inq_html_script_end(&script) : code;
}

static int put_report(const struct page *page)
{
    return put_json(page, page->content->report);
}

static int put_timeline(const struct page *page)
{
    if (page->content->timeline == NULL) {
        inq_out_text(page->out, "null");
        return INQ_OK;
    }
    return put_json(page, page->content->timeline);
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

int inq_html_page_write(const struct inq_html_content *content, struct inq_out *out,
                        struct inq_err *err)
{
    const struct page page = {content, out, err};
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

void inq_html_element(struct inq_out *out, const char *element, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_printf(out, "<%s>", element);
        inq_markup_text(out, text);
        inq_out_printf(out, "</%s>\n", element);
    }
}
