/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules to bytes: chooses the format. */
#include "report/schedule/schedule.h"

#include "base/mem.h"
#include "inquest/report.h"

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
    case INQ_FORMAT_GITLAB:
    case INQ_FORMAT_SARIF:
    case INQ_FORMAT_SQLITE:
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
