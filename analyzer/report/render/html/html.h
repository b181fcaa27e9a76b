/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML report: one page with the JSON document and the timeline of a few steps in it. The page
 * draws itself with the scripts that are embedded at build time (html/embed.cmake). */
#ifndef INQ_REPORT_RENDER_HTML_HTML_H
#define INQ_REPORT_RENDER_HTML_HTML_H

#include "report/report.h"

/* ---- what is embedded ------------------------------------------------------------------------ */

struct inq_html_asset {
    const unsigned char *bytes;
    size_t n;
};

/* The page with @NAME@ where something is to be put; its style, D3, and the script. */
extern const struct inq_html_asset inq_html_page, inq_html_style, inq_html_d3, inq_html_app;

/* What a page holds: a title, the gist as plain HTML, and two JSON values for the scripts; a page
 * without a timeline has NULL for it. */
struct inq_html_content {
    const char *title;
    const void *ctx;
    void (*plain)(const void *ctx, struct inq_out *out);
    int (*report)(const void *ctx, struct inq_out *out, struct inq_err *err);
    int (*timeline)(const void *ctx, struct inq_out *out, struct inq_err *err);
};

int inq_html_page_write(const struct inq_html_content *content, struct inq_out *out,
                        struct inq_err *err);
/* <element>text</element>, escaped; nothing for no text. */
void inq_html_element(struct inq_out *out, const char *element, const char *text);

/* Passes JSON on so that it can stand in a <script> element: < > & U+2028 U+2029 as escapes. Set
 * `to` and give inq_html_script_write as an output's write; flush when the JSON is complete. */
struct inq_html_script {
    struct inq_out *to;
    unsigned held; /* bytes of a possible U+2028 that arrived last */
};

int inq_html_script_write(void *script, const char *bytes, size_t n);
int inq_html_script_end(struct inq_html_script *script);

enum { INQ_HTML_MAX_WINDOWS = 8 };

/* A stretch of time that the timeline holds. */
struct inq_html_window {
    int64_t start_ns, end_ns;
    int64_t step;     /* recorded number; -1: not a step */
    bool is_shown;    /* the step that the page opens with */
    size_t max_spans; /* drawn at most */
};

struct inq_html_windows {
    size_t n;
    struct inq_html_window at[INQ_HTML_MAX_WINDOWS];
};

/* ---- the ops of one lane, reduced ---- */

/* What is drawn: an op, or several neighbors that together are shorter than `pixel_ns`. */
struct inq_html_span {
    int64_t start_ns, end_ns;
    uint32_t first; /* event row, or row of the pipeline ops */
    uint32_t count; /* 1: an op */
};

/* Times that evidence points to, ascending: ops that begin or end there are never merged. */
struct inq_html_marks {
    size_t n;
    int64_t *at_ns;
};

/* Rows of one lane: events[first .. last), sorted by start. */
struct inq_html_lane {
    const struct inq_events *events;
    size_t first, last;
};

/* Leaves out the rows at both ends that do not touch the window. */
void inq_html_narrow(struct inq_html_lane *lane, const struct inq_html_window *window);
/* The next span of the lane that lies in the window, from row *at on; false when there is none. */
bool inq_html_next_span(const struct inq_html_lane *lane, const struct inq_html_window *window,
                        const struct inq_html_marks *marks, int64_t pixel_ns, size_t *at,
                        struct inq_html_span *span);

/* The step of the critical path, or of median length, then those that findings point to, of one of
 * `n_reports` reports that share the page. */
void inq_html_find_windows(const struct inq_context *context, size_t n_reports,
                           struct inq_html_windows *windows);
/* Writes the timeline of these windows as a JSON value. Fails with INQ_NOMEM. */
int inq_html_timeline(const struct inq_context *context, const struct inq_html_windows *windows,
                      struct inq_json *json, struct inq_err *err);

#endif
