/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules to bytes: chooses the format. */
#include "report/schedule/schedule.h"
#include "report/contract/contract.h"

#include "base/mem.h"
#include "base/time.h"
#include "inquest/report.h"

#include <inttypes.h>
#include <stdio.h>

/* A timed schedule as JSON, and as a trace for ui.perfetto.dev: one process a rank, compute and
 * all-reduces on tracks of their own, arrows along what ranks hand to each other. */

static void json_theory(const struct inq_schedule_theory *theory, struct inq_json *json)
{
    if (theory == NULL || (!theory->has_bubble && !theory->has_peak)) {
        return;
    }
    inq_json_object(json, "theory");
    if (theory->has_bubble) {
        inq_json_string(json, "bubble", theory->bubble);
        inq_json_int(json, "bubble_ns", theory->bubble_ns);
        inq_json_double(json, "bubble_rate", theory->bubble_rate);
    }
    if (theory->has_peak) {
        inq_json_string(json, "peak", theory->peak_formula);
        inq_json_double(json, "peak_activations", theory->peak);
        inq_json_bool(json, "peak_is_bound", theory->at_most);
    }
    inq_json_string(json, "condition", theory->condition);
    inq_json_end_object(json);
}

/* "0F7", or "0F7 7B3" of a composite, into buf. */
static char *cell_text(const struct inq_schedule_view *view, const struct inq_schedule_cell *cell,
                       char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < cell->n && used + 1 < size; i++) {
        char one[48];
        const struct inq_action *a = &view->schedule->ranks[cell->rank].actions[cell->first + i];
        int n = snprintf(buf + used, size - used, "%s%s", i > 0 ? " " : "",
                         inq_action_format(a, one, sizeof one));
        used += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

static void json_ops(const struct inq_schedule_view *view, int32_t r, struct inq_json *json)
{
    struct inq_schedule_cell cell;
    for (size_t at = 0; inq_schedule_next_cell(view, r, &at, &cell);) {
        for (size_t i = 0; i < cell.n; i++) {
            char text[48];
            const struct inq_action *a = &view->schedule->ranks[r].actions[cell.first + i];
            inq_json_object(json, NULL);
            inq_json_int(json, "rank", r);
            inq_json_string(json, "action", inq_action_format(a, text, sizeof text));
            inq_json_int(json, "start_ns", cell.start_ns);
            inq_json_int(json, "end_ns", cell.end_ns);
            inq_json_end_object(json);
        }
    }
}

static int schedule_json(const struct inq_schedule_view *view,
                         const struct inq_report_options *options, struct inq_out *out,
                         struct inq_err *err)
{
    const struct inq_schedule *schedule = view->schedule;
    const struct inq_schedule_timing *timing = view->timing;
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_document(&json, &inq_contract_schedule);
    inq_json_string(&json, "kind", schedule->kind);
    inq_json_int(&json, "ranks", schedule->n_ranks);
    inq_json_int(&json, "stages", schedule->n_stages);
    inq_json_int(&json, "microbatches", schedule->n_microbatches / schedule->n_segments);
    if (schedule->n_segments > 1) {
        inq_json_int(&json, "segments", schedule->n_segments);
    }
    inq_json_int(&json, "replicas", schedule->n_pipelines);
    inq_json_int(&json, "makespan_ns", timing->makespan_ns);
    inq_json_int(&json, "span_ns", timing->span_ns);
    inq_json_double(&json, "bubble_ratio", timing->bubble_ratio);
    inq_json_double(&json, "bubble_rate_zb", timing->bubble_rate_zb);
    inq_json_double(&json, "peak_activations", timing->peak_memory);
    json_theory(view->theory, &json);
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
        json_ops(view, r, &json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    (void)options;
    (void)err;
    return INQ_OK;
}

/* ---- Perfetto -------------------------------------------------------------------------------- */

enum { TRACK_COMPUTE = 1, TRACK_REDUCE, TRACK_GATHER };

static int track_of(const struct inq_schedule_cell *cell)
{
    return !cell->beside                                ? TRACK_COMPUTE
           : cell->head->kind == INQ_ACTION_REDUCE_GRAD ? TRACK_REDUCE
                                                        : TRACK_GATHER;
}

static void begin_event(struct inq_json *json, const char *phase, const char *name, int32_t rank,
                        int tid)
{
    inq_out_text(json->out, "\n");
    inq_json_object(json, NULL);
    inq_json_string(json, "ph", phase);
    inq_json_string(json, "name", name);
    inq_json_int(json, "pid", (int64_t)rank + 1);
    inq_json_int(json, "tid", tid);
}

static void write_name(struct inq_json *json, const char *what, int32_t rank, int tid,
                       const char *label)
{
    begin_event(json, "M", what, rank, tid);
    inq_json_object(json, "args");
    inq_json_string(json, "name", label);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static void write_op(const struct inq_schedule_view *view, const struct inq_schedule_cell *cell,
                     struct inq_json *json)
{
    char text[128];
    char words[96];
    begin_event(json, "X", cell_text(view, cell, text, sizeof text), cell->rank, track_of(cell));
    inq_json_string(json, "cat",
                    cell->composite ? "overlap"
                                    : inq_action_text((enum inq_action_kind)cell->head->kind));
    inq_json_us(json, "ts", cell->start_ns);
    inq_json_us(json, "dur", cell->end_ns - cell->start_ns);
    inq_json_object(json, "args");
    inq_json_string(json, "what", inq_action_words(cell->head, words, sizeof words));
    if (cell->head->stage >= 0) {
        inq_json_int(json, "stage", cell->head->stage);
    }
    if (cell->head->microbatch >= 0) {
        inq_json_int(json, "microbatch", cell->head->microbatch);
    }
    inq_json_end_object(json);
    inq_json_end_object(json);
}

/* Both ends of the arrows of one action: `id` says which result goes along it. */
static void write_arrow(const struct inq_schedule_view *view, const struct inq_schedule_cell *cell,
                        const struct inq_action *a, struct inq_json *json)
{
    const struct inq_schedule *s = view->schedule;
    int32_t stages = s->n_stages / s->n_pipelines;
    bool forward = a->kind == INQ_ACTION_F;
    if (!forward && a->kind != INQ_ACTION_B && a->kind != INQ_ACTION_I) {
        return;
    }
    bool first = a->stage % stages == 0;
    bool last = (a->stage + 1) % stages == 0;
    int32_t to = forward ? (last ? -1 : a->stage + 1) : (first ? -1 : a->stage - 1);
    int32_t from = forward ? (first ? -1 : a->stage - 1) : (last ? -1 : a->stage + 1);
    /* results are numbered by the stage that makes them */
    int64_t per_stage = 2 * (int64_t)s->n_microbatches;
    int64_t own = per_stage * a->stage + 2 * (int64_t)a->microbatch + !forward;
    if (to >= 0 && s->stage_rank[to] != cell->rank) {
        begin_event(json, "s", "hands over", cell->rank, TRACK_COMPUTE);
        inq_json_string(json, "cat", "p2p");
        inq_json_int(json, "id", own);
        inq_json_us(json, "ts", cell->end_ns - 1); /* inside the slice, not behind it */
        inq_json_end_object(json);
    }
    if (from >= 0 && s->stage_rank[from] != cell->rank) {
        begin_event(json, "f", "hands over", cell->rank, TRACK_COMPUTE);
        inq_json_string(json, "cat", "p2p");
        inq_json_int(json, "id", own + per_stage * (from - a->stage));
        inq_json_us(json, "ts", cell->start_ns);
        inq_json_string(json, "bp", "e");
        inq_json_end_object(json);
    }
}

static int schedule_perfetto(const struct inq_schedule_view *view,
                             const struct inq_report_options *options, struct inq_out *out,
                             struct inq_err *err)
{
    const struct inq_schedule *s = view->schedule;
    struct inq_json json;
    inq_json_init(&json, out, true);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "displayTimeUnit", "ns");
    inq_json_array(&json, "traceEvents");
    for (int32_t r = 0; r < s->n_ranks; r++) {
        char name[64];
        (void)snprintf(name, sizeof name, "rank %" PRId32 " (%s)", r, s->kind);
        write_name(&json, "process_name", r, 0, name);
        write_name(&json, "thread_name", r, TRACK_COMPUTE, "compute");
        struct inq_schedule_cell cell;
        bool named[TRACK_GATHER + 1] = {false};
        for (size_t at = 0; inq_schedule_next_cell(view, r, &at, &cell);) {
            if (cell.end_ns <= cell.start_ns) {
                continue;
            }
            int track = track_of(&cell);
            if (cell.beside && !named[track]) {
                write_name(&json, "thread_name", r, track,
                           track == TRACK_REDUCE ? "all-reduce" : "all-gather");
                named[track] = true;
            }
            write_op(view, &cell, &json);
            for (size_t i = 0; i < cell.n; i++) {
                write_arrow(view, &cell, &s->ranks[r].actions[cell.first + i], &json);
            }
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    (void)options;
    (void)err;
    return INQ_OK;
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

/* ---- who does what at a moment --------------------------------------------------------------- */

/* The n-th cell that rank does then (compute and an all-reduce can be at once); an op owns its
 * start: at the end of one the next is what is done. */
static bool cell_at(const struct inq_schedule_view *view, int32_t rank, int64_t at_ns, size_t *at,
                    struct inq_schedule_cell *cell)
{
    while (inq_schedule_next_cell(view, rank, at, cell)) {
        if (cell->start_ns <= at_ns && at_ns < cell->end_ns) {
            return true;
        }
    }
    return false;
}

static void text_at(const struct inq_schedule_view *view, int64_t at_ns, struct inq_out *out)
{
    char text[128];
    inq_out_printf(out, "at %s\n", inq_time_format(at_ns, text, sizeof text));
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        size_t at = 0;
        bool any = false;
        inq_out_printf(out, "rank %3" PRId32 " ", r);
        while (cell_at(view, r, at_ns, &at, &cell)) {
            inq_out_printf(out, "%s %s", any ? "," : "", cell_text(view, &cell, text, sizeof text));
            any = true;
        }
        inq_out_text(out, any ? "\n" : " idle\n");
    }
}

static void json_doing(const struct inq_schedule_view *view, int32_t rank,
                       const struct inq_schedule_cell *cell, struct inq_json *json)
{
    char text[128];
    inq_json_object(json, NULL);
    inq_json_int(json, "rank", rank);
    if (cell == NULL) {
        inq_json_null(json, "action");
    } else {
        inq_json_string(json, "action", cell_text(view, cell, text, sizeof text));
        inq_json_int(json, "start_ns", cell->start_ns);
        inq_json_int(json, "end_ns", cell->end_ns);
    }
    inq_json_end_object(json);
}

static void json_at(const struct inq_schedule_view *view, int64_t at_ns, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_document(&json, &inq_contract_schedule);
    inq_json_string(&json, "kind", view->schedule->kind);
    inq_json_int(&json, "at_ns", at_ns);
    inq_json_array(&json, "doing");
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        size_t at = 0;
        bool any = false;
        while (cell_at(view, r, at_ns, &at, &cell)) {
            json_doing(view, r, &cell, &json);
            any = true;
        }
        if (!any) {
            json_doing(view, r, NULL, &json);
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

/* ---- the formats ----------------------------------------------------------------------------- */

/* NULL: no format of a schedule; CSV is written without a timing. */
static inq_schedule_format *const writers[INQ_FORMAT_COUNT] = {
    [INQ_FORMAT_TEXT] = inq_schedule_text,
    [INQ_FORMAT_JSON] = schedule_json,
    [INQ_FORMAT_SVG] = inq_schedule_svg,
    [INQ_FORMAT_PERFETTO] = schedule_perfetto,
};

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
    inq_schedule_format *write =
        options->format < INQ_FORMAT_COUNT ? writers[options->format] : NULL;
    uint8_t *chunk = chunks_of(schedule);
    struct inq_schedule_view view = {schedule, timing, theory, chunk};
    int code = chunk == NULL   ? INQ_NOMEM
               : write == NULL ? INQ_UNSUPPORTED
                               : write(&view, options, &out, err);
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
        json_at(&view, at_ns, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        text_at(&view, at_ns, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    return inq_out_end(&out, code, "a moment of a schedule", err);
}
