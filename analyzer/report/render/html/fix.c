/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes as a page: what each is predicted to gain, what it gained when it was executed, and the
 * step before and after it. */
#include "base/arena.h"
#include "report/fix/fix.h"
#include "report/render/html/html.h"

struct content {
    const struct inq_fixes *fixes;
    const struct inq_report_options *options;
    struct inq_arena *arena;
};

static void write_plain(const void *ctx, struct inq_out *out)
{
    const struct inq_fixes *fixes = ((const struct content *)ctx)->fixes;
    struct inq_out text = {0};
    inq_fix_collect(inq_fix_say_best, fixes, &text);
    inq_html_element(out, "h1", text.buf);
    inq_fix_collect(inq_fix_say_base, fixes, &text);
    inq_html_element(out, "p", text.buf);
    inq_fix_collect(inq_fix_say_executed, fixes, &text);
    inq_html_element(out, "p", text.buf);
    for (size_t i = 0; i < fixes->n; i++) {
        const struct inq_fix *fix = &fixes->fixes[i];
        inq_html_element(out, "h3", fix->spec);
        inq_html_element(out, "p", fix->what);
        inq_html_element(out, "p", fix->problem);
        inq_fix_collect_one(inq_fix_say_outcome, fix, &text);
        inq_html_element(out, "p", text.buf);
        inq_fix_collect_one(inq_fix_say_order, fix, &text);
        inq_html_element(out, "p", text.buf);
        inq_fix_collect_one(inq_fix_say_cost, fix, &text);
        inq_html_element(out, "p", text.buf);
    }
    inq_out_release(&text);
}

static int write_report(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    inq_fix_json(((const struct content *)ctx)->fixes, true, out);
    return INQ_OK;
}

static int write_step(const struct content *c, const struct inq_run *run, size_t n_steps,
                      struct inq_json *json, struct inq_err *err)
{
    if (run == NULL) {
        inq_json_null(json, NULL);
        return INQ_OK;
    }
    const struct inq_report nothing = {.trace = run->traces[0], .step_ns_median = -1};
    struct inq_view view = inq_view_of(run, run->traces[0], &nothing, c->options, c->arena);
    return inq_html_timeline(&view, n_steps, json, err);
}

/* The original, then one step a fix, null where it is not drawn. */
static int write_timelines(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct content *c = ctx;
    struct inq_json json;
    size_t n_steps = c->fixes->drawn != NULL ? 1 : 0;
    for (size_t i = 0; i < c->fixes->n; i++) {
        n_steps += c->fixes->fixes[i].drawn != NULL;
    }
    inq_json_init(&json, out, true);
    inq_json_array(&json, NULL);
    int code = write_step(c, c->fixes->drawn, n_steps, &json, err);
    for (size_t i = 0; i < c->fixes->n && code == INQ_OK; i++) {
        code = write_step(c, c->fixes->fixes[i].drawn, n_steps, &json, err);
    }
    inq_json_end_array(&json);
    return code;
}

int inq_fix_html(const struct inq_fixes *fixes, const struct inq_report_options *options,
                 struct inq_arena *arena, struct inq_out *out, struct inq_err *err)
{
    const struct content ctx = {fixes, options, arena};
    const struct inq_html_content content = {.title = "Fixes",
                                             .ctx = &ctx,
                                             .plain = write_plain,
                                             .report = write_report,
                                             .timeline = write_timelines};
    return inq_html_page_write(&content, out, err);
}
