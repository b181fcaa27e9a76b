/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and lint results to bytes: JSON here, text in schedule_text.c. */
#include "report/schedule_parts.h"

#include "inquest/report.h"

void inq_schedule_json(const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-schedule/1");
    inq_json_string(&json, "kind", schedule->kind);
    inq_json_int(&json, "ranks", schedule->n_ranks);
    inq_json_int(&json, "stages", schedule->n_stages);
    inq_json_int(&json, "microbatches", schedule->n_microbatches);
    inq_json_int(&json, "makespan_ns", timing->makespan_ns);
    inq_json_double(&json, "bubble_ratio", timing->bubble_ratio);
    inq_json_double(&json, "bubble_rate_zb", timing->bubble_rate_zb);
    inq_json_double(&json, "peak_activations", timing->peak_memory);
    inq_json_array(&json, "per_rank");
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        const struct inq_schedule_rank_time *row = &timing->ranks[r];
        inq_json_object(&json, NULL);
        inq_json_int(&json, "rank", r);
        inq_json_int(&json, "busy_ns", row->busy_ns);
        inq_json_int(&json, "idle_ns", row->idle_ns);
        inq_json_double(&json, "peak_activations", row->peak_memory);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
    inq_json_array(&json, "ops");
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            const struct inq_action *action = &schedule->ranks[r].actions[i];
            char text[48];
            if (!inq_action_computes(action)) {
                continue;
            }
            inq_json_object(&json, NULL);
            inq_json_int(&json, "rank", r);
            inq_json_string(&json, "action", inq_action_format(action, text, sizeof text));
            inq_json_int(&json, "start_ns", timing->start_ns[r][i]);
            inq_json_int(&json, "end_ns", timing->end_ns[r][i]);
            inq_json_end_object(&json);
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

void inq_lint_json(const struct inq_lint *lint, struct inq_out *out)
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

void inq_lint_text(const struct inq_lint *lint, const struct inq_pen *pen)
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

static struct inq_pen pen_of(const struct inq_report_options *options, struct inq_out *out)
{
    return (struct inq_pen){.out = out,
                            .width = options->width > 0 ? options->width : INQ_PEN_WIDTH,
                            .color = options->color,
                            .utf8 = options->utf8};
}

int inq_schedule_report(const struct inq_schedule *schedule,
                        const struct inq_schedule_timing *timing,
                        const struct inq_report_options *options, struct inq_sink sink,
                        struct inq_err *err)
{
    if (options->format == INQ_FORMAT_CSV) {
        return inq_schedule_write_csv(schedule, sink, err);
    }
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    if (options->format == INQ_FORMAT_JSON) {
        inq_schedule_json(schedule, timing, &out);
    } else {
        struct inq_pen pen = pen_of(options, &out);
        inq_schedule_text(schedule, timing, &pen);
    }
    int code = inq_out_flush(&out, err);
    inq_out_release(&out);
    return code;
}

int inq_schedule_report_at(const struct inq_schedule *schedule,
                           const struct inq_schedule_timing *timing, int64_t at_ns,
                           struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    inq_schedule_text_at(schedule, timing, at_ns, &out);
    int code = inq_out_flush(&out, err);
    inq_out_release(&out);
    return code;
}

int inq_lint_report(const struct inq_lint *lint, const struct inq_report_options *options,
                    struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    if (options->format == INQ_FORMAT_JSON) {
        inq_lint_json(lint, &out);
    } else {
        struct inq_pen pen = pen_of(options, &out);
        inq_lint_text(lint, &pen);
    }
    int code = inq_out_flush(&out, err);
    inq_out_release(&out);
    return code;
}
