/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and lint results to bytes: chooses the format; lint is written here. */
#include "report/schedule_parts.h"

#include "base/mem.h"
#include "inquest/report.h"

static void lint_json(const struct inq_lint *lint, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-lint/1");
    inq_json_bool(&json, "pass", lint->n_errors == 0);
    if (lint->buffer_depth >= 0) {
        inq_json_int(&json, "buffer_depth", lint->buffer_depth);
    } else {
        inq_json_null(&json, "buffer_depth");
    }
    if (lint->peak_memory >= 0.0) {
        inq_json_double(&json, "peak_activations", lint->peak_memory);
    } else {
        inq_json_null(&json, "peak_activations");
    }
    inq_json_array(&json, "problems");
    for (size_t i = 0; i < lint->n; i++) {
        const struct inq_lint_problem *p = &lint->problems[i];
        inq_json_object(&json, NULL);
        inq_json_string(&json, "rule", inq_lint_rule_text(p->rule));
        inq_json_string(&json, "severity", p->error ? "error" : "note");
        inq_json_int(&json, "rank", p->rank);
        inq_json_int(&json, "position", p->position);
        inq_json_string(&json, "action", p->action);
        inq_json_string(&json, "message", p->message);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

static void lint_text(const struct inq_lint *lint, const struct inq_pen *pen)
{
    inq_pen_tint(pen, INQ_TINT_BOLD);
    if (lint->n_errors == 0) {
        inq_out_text(pen->out, "Passes: no problem found.\n");
    } else {
        inq_out_printf(pen->out, "Fails: %zu problem%s.\n", lint->n_errors,
                       lint->n_errors == 1 ? "" : "s");
    }
    inq_pen_plain(pen);
    for (size_t i = 0; i < lint->n; i++) {
        const struct inq_lint_problem *p = &lint->problems[i];
        inq_out_printf(pen->out, "%s %s", p->error ? "error" : "note ",
                       inq_lint_rule_text(p->rule));
        if (p->rank >= 0) {
            inq_out_printf(pen->out, "  rank %d", (int)p->rank);
        }
        if (p->position >= 0) {
            inq_out_printf(pen->out, ", cell %d", (int)p->position + 1);
        }
        inq_out_printf(pen->out, "%s%s\n      ", p->action[0] != '\0' ? ": " : "", p->action);
        inq_pen_wrap(pen, p->message, 6, 6);
    }
    if (lint->buffer_depth == 0) {
        inq_out_text(pen->out, "Runs without buffering (rendezvous).\n");
    }
}

/* Which of its rank's stages each stage is; the caller's (inq_mem_free). NULL when memory is out.
 */
static uint8_t *chunks_of(const struct inq_schedule *schedule)
{
    uint8_t *chunk = inq_mem_zalloc((size_t)schedule->n_stages + 1, 1);
    uint8_t *seen = inq_mem_zalloc((size_t)schedule->n_ranks, 1);
    for (int32_t s = 0; chunk != NULL && seen != NULL && s < schedule->n_stages; s++) {
        int32_t rank = schedule->stage_rank[s];
        if (rank >= 0) {
            chunk[s] = seen[rank];
            seen[rank] = (uint8_t)(seen[rank] < UINT8_MAX ? seen[rank] + 1 : UINT8_MAX);
        }
    }
    if (seen == NULL) {
        inq_mem_free(chunk);
        chunk = NULL;
    }
    inq_mem_free(seen);
    return chunk;
}

static int write_schedule(const struct inq_schedule_view *view,
                          const struct inq_report_options *options, struct inq_out *out,
                          struct inq_err *err)
{
    struct inq_pen pen = inq_pen_of(options, out);
    switch (options->format) {
    case INQ_FORMAT_JSON:
        inq_schedule_json(view, out);
        return INQ_OK;
    case INQ_FORMAT_SVG:
        inq_schedule_svg(view, out);
        return INQ_OK;
    case INQ_FORMAT_PERFETTO:
        inq_schedule_perfetto(view, out);
        return INQ_OK;
    case INQ_FORMAT_TEXT:
        inq_schedule_text(view, &pen);
        return inq_schedule_events(view, &pen, err);
    case INQ_FORMAT_MARKDOWN:
    case INQ_FORMAT_CSV:
    case INQ_FORMAT_HTML:
    case INQ_FORMAT_JUNIT:
    case INQ_FORMAT_GITHUB:
    case INQ_FORMAT_COUNT:
        break;
    }
    return INQ_UNSUPPORTED;
}

int inq_schedule_report(const struct inq_schedule *schedule,
                        const struct inq_schedule_timing *timing,
                        const struct inq_schedule_theory *theory,
                        const struct inq_report_options *options, struct inq_sink sink,
                        struct inq_err *err)
{
    if (options->format == INQ_FORMAT_CSV) {
        return inq_schedule_write_csv(schedule, sink, err);
    }
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    uint8_t *chunk = chunks_of(schedule);
    struct inq_schedule_view view = {schedule, timing, theory, chunk};
    int code = chunk == NULL ? INQ_NOMEM : write_schedule(&view, options, &out, err);
    inq_mem_free(chunk);
    return inq_out_end(&out, code, "a schedule", err);
}

int inq_schedule_report_at(const struct inq_schedule *schedule,
                           const struct inq_schedule_timing *timing, int64_t at_ns,
                           const struct inq_report_options *options, struct inq_sink sink,
                           struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_schedule_view view = {schedule, timing, NULL, NULL};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        inq_schedule_json_at(&view, at_ns, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        inq_schedule_text_at(&view, at_ns, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    return inq_out_end(&out, code, "a moment of a schedule", err);
}

int inq_lint_report(const struct inq_lint *lint, const struct inq_report_options *options,
                    struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        lint_json(lint, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        struct inq_pen pen = inq_pen_of(options, &out);
        lint_text(lint, &pen);
    } else {
        code = INQ_UNSUPPORTED;
    }
    return inq_out_end(&out, code, "what lint found", err);
}
