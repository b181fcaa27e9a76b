/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline as JSON: rows of ranks, lanes of spans, four numbers a span. Times count from the
 * first event of the trace, so that they are exact in a double. */
#include "report/render/html/html.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/sort.h"
#include "graph/optable/optable.h"
#include "report/info/info.h"
#include "report/sections/sections.h"
#include "inquest/account.h"
#include "inquest/failure.h"

#include <inttypes.h>

/* ---- The ops of one lane, merged where they would share a pixel ------------------------------ */

/* Ops that begin before the window and reach into it are looked for this many rows back. */
enum { MOST_BACK = 64 };

static int html_find_marks(const struct inq_view *view, struct inq_html_marks *marks)
{
    const struct inq_report *report = view->report;
    size_t n = 0;
    for (size_t f = 0; f < report->n_findings; f++) {
        n += report->findings[f].n_evidence;
    }
    marks->n = 0;
    marks->at_ns = inq_arena_array(view->arena, 2 * n, sizeof *marks->at_ns);
    if (marks->at_ns == NULL) {
        return INQ_NOMEM;
    }
    for (size_t f = 0; f < report->n_findings; f++) {
        for (size_t i = 0; i < report->findings[f].n_evidence; i++) {
            const struct inq_evidence *evidence = &report->findings[f].evidence[i];
            if (evidence->start_ns != INQ_TIME_NONE) {
                marks->at_ns[marks->n++] = evidence->start_ns;
            }
            if (evidence->end_ns != INQ_TIME_NONE) {
                marks->at_ns[marks->n++] = evidence->end_ns;
            }
        }
    }
    inq_sort_i64(marks->at_ns, marks->n);
    return INQ_OK;
}

static bool is_marked(const struct inq_html_marks *marks, int64_t at_ns)
{
    size_t i = inq_first_from_i64(marks->at_ns, 0, marks->n, at_ns);
    return i < marks->n && marks->at_ns[i] == at_ns;
}

void inq_html_narrow(struct inq_html_lane *lane, const struct inq_html_window *window)
{
    const int64_t *start_ns = lane->events->start_ns;
    size_t from = inq_first_from_i64(start_ns, lane->first, lane->last, window->start_ns);
    lane->first = from - lane->first > MOST_BACK ? from - MOST_BACK : lane->first;
    lane->last = inq_first_from_i64(start_ns, from, lane->last, window->end_ns);
}

/* Whether the op can be a part of something merged. */
static bool is_small(const struct inq_events *e, size_t i, const struct inq_html_marks *marks,
                     int64_t pixel_ns)
{
    return e->dur_ns[i] < pixel_ns && !is_marked(marks, e->start_ns[i]) &&
           !is_marked(marks, e->start_ns[i] + e->dur_ns[i]);
}

static bool is_drawn(const struct inq_events *e, size_t i, const struct inq_html_window *window)
{
    return e->kind[i] != INQ_EVENT_SYNC && e->start_ns[i] < window->end_ns &&
           e->start_ns[i] + e->dur_ns[i] > window->start_ns;
}

bool inq_html_next_span(const struct inq_html_lane *lane, const struct inq_html_window *window,
                        const struct inq_html_marks *marks, int64_t pixel_ns, size_t *at,
                        struct inq_html_span *span)
{
    const struct inq_events *e = lane->events;
    size_t i = *at;
    while (i < lane->last && !is_drawn(e, i, window)) {
        i++;
    }
    if (i >= lane->last) {
        return false;
    }
    *span = (struct inq_html_span){e->start_ns[i], e->start_ns[i] + e->dur_ns[i], (uint32_t)i, 1};
    bool small = is_small(e, i, marks, pixel_ns);
    for (i++; small && i < lane->last; i++) {
        int64_t end_ns = e->start_ns[i] + e->dur_ns[i];
        end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
        if (end_ns - span->start_ns > pixel_ns || !is_small(e, i, marks, pixel_ns)) {
            break;
        }
        if (is_drawn(e, i, window)) {
            span->end_ns = end_ns;
            span->count++;
        }
    }
    *at = i;
    return true;
}

/* ---- Which stretches of time the timeline holds ---------------------------------------------- */

/* Spans in all windows together: some 15 bytes each, so the page stays below 3 MB. */
enum { MAX_SPANS = 110000 };

static const uint32_t NO_STEP = INQ_NONE;

/* From the first start to the last end: the GPU works on when the host has gone on. */
static void widen_by_work(const struct inq_trace *trace, uint32_t step, struct inq_html_window *w)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            if (e->step[i] == step && e->kind[i] != INQ_EVENT_SYNC) {
                int64_t end_ns = e->start_ns[i] + e->dur_ns[i];
                w->start_ns = e->start_ns[i] < w->start_ns ? e->start_ns[i] : w->start_ns;
                w->end_ns = end_ns > w->end_ns ? end_ns : w->end_ns;
            }
        }
    }
}

static void add_step(const struct inq_view *view, struct inq_html_windows *windows, uint32_t step)
{
    const struct inq_step *s = &view->trace->steps[step];
    struct inq_html_window w = {.start_ns = s->start_ns, .end_ns = s->end_ns, .step = s->number};
    widen_by_work(view->trace, step, &w);
    if (windows->n < INQ_HTML_MAX_WINDOWS && w.end_ns > w.start_ns) {
        windows->at[windows->n++] = w;
    }
}

static uint32_t step_numbered(const struct inq_trace *trace, int64_t number)
{
    for (size_t s = 0; s < trace->n_steps; s++) {
        if (trace->steps[s].number == number) {
            return (uint32_t)s;
        }
    }
    return NO_STEP;
}

static uint32_t step_at(const struct inq_trace *trace, int64_t at_ns)
{
    for (size_t s = 0; s < trace->n_steps; s++) {
        if (at_ns >= trace->steps[s].start_ns && at_ns < trace->steps[s].end_ns) {
            return (uint32_t)s;
        }
    }
    return NO_STEP;
}

static void add_shown(const struct inq_view *view, struct inq_html_windows *windows)
{
    const struct inq_critical_path *path = view->report->critical_path;
    uint32_t step = path != NULL ? step_numbered(view->trace, path->step) : NO_STEP;
    if (step == NO_STEP && view->trace->n_steps > 0 && view->report->account != NULL) {
        step = inq_account_median_step(view->report->account);
    }
    if (step != NO_STEP) {
        add_step(view, windows, step);
    } else {
        struct inq_html_window w = {.step = -1};
        if (inq_trace_span(view->trace, &w.start_ns, &w.end_ns) && w.end_ns > w.start_ns) {
            windows->at[windows->n++] = w;
        }
    }
    if (windows->n > 0) {
        windows->at[0].is_shown = true;
    }
}

static bool is_held(const struct inq_html_windows *windows, int64_t at_ns)
{
    for (size_t i = 0; i < windows->n; i++) {
        if (at_ns >= windows->at[i].start_ns && at_ns < windows->at[i].end_ns) {
            return true;
        }
    }
    return false;
}

static void add_evidence(const struct inq_view *view, struct inq_html_windows *windows,
                         const struct inq_evidence *evidence)
{
    if (evidence->start_ns == INQ_TIME_NONE || is_held(windows, evidence->start_ns) ||
        windows->n == INQ_HTML_MAX_WINDOWS) {
        return;
    }
    uint32_t step = step_at(view->trace, evidence->start_ns);
    if (step != NO_STEP) {
        add_step(view, windows, step);
        return;
    }
    int64_t end_ns = evidence->end_ns > evidence->start_ns ? evidence->end_ns : evidence->start_ns;
    int64_t margin_ns = (end_ns - evidence->start_ns) / 2 + 1000;
    windows->at[windows->n++] = (struct inq_html_window){
        .start_ns = evidence->start_ns - margin_ns, .end_ns = end_ns + margin_ns, .step = -1};
}

/* The reports get equal parts, and of each the step that is shown first half. */
static void share_spans(struct inq_html_windows *windows, size_t n_reports)
{
    size_t all = MAX_SPANS / (n_reports > 0 ? n_reports : 1);
    size_t others = windows->n > 1 ? windows->n - 1 : 0;
    for (size_t i = 0; i < windows->n; i++) {
        bool is_shown = windows->at[i].is_shown;
        windows->at[i].max_spans = others == 0 ? all : is_shown ? all / 2 : all / 2 / others;
    }
}

/* The step of the critical path, or of median length, then those that findings point to, of one of
 * `n_reports` reports that share the page. */
static void html_find_windows(const struct inq_view *view, size_t n_reports,
                              struct inq_html_windows *windows)
{
    *windows = (struct inq_html_windows){0};
    if (view->report->failure != NULL && view->trace->n_steps == 0 &&
        view->report->n_rank_times == 0) {
        return; /* dumps only: no work to draw */
    }
    add_shown(view, windows);
    for (size_t f = 0; f < view->report->n_findings; f++) {
        const struct inq_finding *finding = &view->report->findings[f];
        for (size_t i = 0; i < finding->n_evidence && inq_view_shows_finding(view, finding); i++) {
            add_evidence(view, windows, &finding->evidence[i]);
        }
    }
    share_spans(windows, n_reports);
}

enum { MAX_ROWS = 256, NAME_BYTES = 160, FIRST_PIXELS = 32768, LAST_PIXELS = 16 };

enum kind {
    KIND_COMPUTE,
    KIND_FORWARD,
    KIND_BACKWARD,
    KIND_INPUT,
    KIND_WEIGHT,
    KIND_COMM,
    KIND_P2P,
    KIND_COPY,
    KIND_OPTIMIZER,
    KIND_OTHER,
    KIND_COUNT
};

static const char *const kind_texts[KIND_COUNT] = {
    "compute", "forward", "backward", "input",     "weight",
    "comm",    "p2p",     "copy",     "optimizer", "other",
};

/* How a span is drawn and called. */
struct style {
    const char *name;
    enum kind kind;
    bool merged;
};

struct timeline {
    const struct inq_view *view;
    struct inq_json *json;
    struct inq_html_windows windows;
    struct inq_html_marks marks;
    bool *has_row; /* [n_ranks] */
    size_t left_out;
    struct inq_map known; /* (name, kind, merged) to its style */
    size_t n_styles, cap_styles;
    struct style *styles;
    struct inq_step_chart pipe; /* of the window, when the trace does not label its ops */
    struct inq_err *err;
    int code; /* 0, or the first failure */
};

/* ---- kinds and styles ------------------------------------------------------------------------ */

static enum kind kind_of_type(uint8_t type)
{
    static const enum kind kinds[INQ_OP_TYPE_COUNT] = {
        [INQ_OP_NONE] = KIND_OTHER,
        [INQ_OP_FORWARD] = KIND_FORWARD,
        [INQ_OP_BACKWARD] = KIND_BACKWARD,
        [INQ_OP_BACKWARD_INPUT] = KIND_INPUT,
        [INQ_OP_BACKWARD_WEIGHT] = KIND_WEIGHT,
        [INQ_OP_OPTIMIZER] = KIND_OPTIMIZER,
        [INQ_OP_GC] = KIND_OTHER,
    };
    if (type >= INQ_OP_TYPE_COUNT) {
        return KIND_OTHER;
    }
    if (inq_op_is_p2p(type)) {
        return KIND_P2P;
    }
    return inq_op_is_comm(type) ? KIND_COMM : kinds[type];
}

static const struct inq_label *label_of(const struct inq_rank *rank, size_t event)
{
    const struct inq_events *e = &rank->events;
    bool there = e->label != NULL && e->label[event] < rank->n_labels;
    return there ? &rank->labels[e->label[event]] : NULL;
}

static enum kind kind_of(const struct inq_rank *rank, size_t event)
{
    const struct inq_events *e = &rank->events;
    const struct inq_label *label = label_of(rank, event);
    if (label != NULL && label->type != INQ_OP_NONE) {
        return kind_of_type((uint8_t)label->type);
    }
    if (e->cls[event] == INQ_CLASS_COMM) {
        const struct inq_comm *comm =
            e->comm[event] < rank->n_comms ? &rank->comms[e->comm[event]] : NULL;
        bool p2p = comm != NULL && comm->kind >= INQ_COLL_SEND && comm->kind <= INQ_COLL_SENDRECV;
        return p2p ? KIND_P2P : KIND_COMM;
    }
    return e->cls[event] == INQ_CLASS_COMPUTE ? KIND_COMPUTE
           : e->cls[event] == INQ_CLASS_COPY  ? KIND_COPY
                                              : KIND_OTHER;
}

static const char *name_of(const struct timeline *t, const struct inq_rank *rank, size_t event)
{
    const struct inq_label *label = label_of(rank, event);
    const char *name = inq_trace_str(t->view->trace, rank->events.name[event]);
    if (name[0] == '\0' && label != NULL) {
        name = inq_op_type_text(label->type);
    }
    return inq_say(t->view->arena, "%.*s", NAME_BYTES, name);
}

static uint32_t find_style(struct timeline *t, uint64_t key, const struct inq_rank *rank,
                           size_t event, enum kind kind)
{
    uint32_t at = 0;
    if (inq_map_get(&t->known, key, &at) || t->code != INQ_OK) {
        return at;
    }
    at = (uint32_t)t->n_styles;
    t->code = inq_mem_grow(&t->styles, &t->cap_styles, t->n_styles + 1, sizeof *t->styles,
                           UINT32_MAX, t->err);
    if (t->code == INQ_OK) {
        bool merged = rank == NULL;
        t->styles[t->n_styles++] =
            (struct style){merged ? "" : name_of(t, rank, event), kind, merged};
        t->code = inq_map_put(&t->known, key, at, t->err);
    }
    return at;
}

static uint64_t style_key(uint32_t name, enum kind kind, uint32_t more)
{
    return ((uint64_t)name << 16) | ((uint64_t)kind << 8) | more;
}

static uint32_t style_of(struct timeline *t, const struct inq_rank *rank, size_t event)
{
    const struct inq_label *label = label_of(rank, event);
    enum kind kind = kind_of(rank, event);
    uint32_t more = label != NULL ? (uint32_t)label->type : 0;
    return find_style(t, style_key(rank->events.name[event], kind, more), rank, event, kind);
}

static uint32_t merged_style(struct timeline *t, enum kind kind)
{
    return find_style(t, style_key(0, kind, 255), NULL, 0, kind);
}

/* The kind that most of the time of merged ops is of. */
static enum kind main_kind(const struct inq_rank *rank, const struct inq_html_span *span)
{
    int64_t sums[KIND_COUNT] = {0};
    uint32_t seen = 0;
    for (size_t i = span->first; seen < span->count && i < rank->events.n; i++) {
        if (rank->events.kind[i] != INQ_EVENT_SYNC) {
            sums[kind_of(rank, i)] += rank->events.dur_ns[i] + 1;
            seen++;
        }
    }
    enum kind best = KIND_COMPUTE;
    for (int k = 1; k < KIND_COUNT; k++) {
        best = sums[k] > sums[best] ? (enum kind)k : best;
    }
    return best;
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Start as the distance from the end of the span before (fewer digits), duration, style, and the
 * micro-batch + 1 (0: none) or, merged, the number of ops. */
static void write_span(struct timeline *t, int64_t *last_ns, const struct inq_html_span *span,
                       uint32_t style, int64_t more)
{
    inq_json_int(t->json, NULL, span->start_ns - *last_ns);
    inq_json_int(t->json, NULL, span->end_ns - span->start_ns);
    inq_json_int(t->json, NULL, style);
    inq_json_int(t->json, NULL, more);
    *last_ns = span->end_ns;
}

static const char *lane_name(const struct timeline *t, const struct inq_lane *lane)
{
    const char *name = inq_trace_str(t->view->trace, lane->name);
    if (name[0] != '\0') {
        return inq_say(t->view->arena, "%.*s", NAME_BYTES, name);
    }
    return inq_say(t->view->arena, "%s %" PRId64,
                   lane->kind == INQ_LANE_STREAM ? "stream" : "thread", lane->id);
}

static void write_lane(struct timeline *t, const struct inq_html_window *w, int64_t pixel_ns,
                       const struct inq_rank *rank, const struct inq_html_lane *lane)
{
    struct inq_html_span span;
    size_t at = lane->first;
    int64_t last_ns = w->start_ns;
    uint32_t number = rank->events.lane[lane->first];
    inq_json_object(t->json, NULL);
    inq_json_string(t->json, "name",
                    number < rank->n_lanes ? lane_name(t, &rank->lanes[number]) : "");
    inq_json_array(t->json, "spans");
    while (inq_html_next_span(lane, w, &t->marks, pixel_ns, &at, &span)) {
        if (span.count > 1) {
            write_span(t, &last_ns, &span, merged_style(t, main_kind(rank, &span)), span.count);
        } else {
            const struct inq_label *label = label_of(rank, span.first);
            write_span(t, &last_ns, &span, style_of(t, rank, span.first),
                       label != NULL ? label->micro_batch + 1 : 0);
        }
    }
    inq_json_end_array(t->json);
    inq_json_end_object(t->json);
}

/* The next lane, from row *from on, which moves behind it, without the rows at both ends that do
 * not touch the window; false when there is none. */
static bool next_lane(const struct inq_events *e, const struct inq_html_window *w, size_t *from,
                      struct inq_html_lane *lane)
{
    size_t first = *from;
    while (*from < e->n && e->lane[*from] == e->lane[first]) {
        ++*from;
    }
    *lane = (struct inq_html_lane){e, first, *from};
    inq_html_narrow(lane, w);
    return *from > first;
}

/* Calls `each` for every lane of the rank that has ops in the window. */
static void for_lanes(struct timeline *t, const struct inq_html_window *w, int64_t pixel_ns,
                      const struct inq_rank *rank,
                      void (*each)(struct timeline *, const struct inq_html_window *, int64_t,
                                   const struct inq_rank *, const struct inq_html_lane *))
{
    struct inq_html_lane lane;
    struct inq_html_span span;
    for (size_t from = 0; next_lane(&rank->events, w, &from, &lane);) {
        size_t at = lane.first;
        if (inq_html_next_span(&lane, w, &t->marks, pixel_ns, &at, &span)) {
            each(t, w, pixel_ns, rank, &lane);
        }
    }
}

/* ---- forwards and backwards of a run that does not label its ops ----------------------------- */

static uint32_t pipe_style(struct timeline *t, uint8_t type)
{
    enum kind kind = kind_of_type(type);
    uint32_t at = find_style(t, style_key(0, kind, 254), NULL, 0, kind);
    if (t->code == INQ_OK) {
        t->styles[at] = (struct style){inq_op_type_text((enum inq_op_type)type), kind, false};
    }
    return at;
}

static void write_pipe(struct timeline *t, const struct inq_html_window *w,
                       const struct inq_chart_row *row)
{
    int64_t last_ns = w->start_ns;
    inq_json_object(t->json, NULL);
    inq_json_string(t->json, "name", "pipeline");
    inq_json_array(t->json, "spans");
    for (size_t i = 0; i < row->n; i++) {
        const struct inq_chart_block *op = &row->blocks[i];
        if (op->start_ns < w->end_ns && op->end_ns > w->start_ns) {
            const struct inq_html_span span = {op->start_ns, op->end_ns, 0, 1};
            write_span(t, &last_ns, &span, pipe_style(t, op->type), op->micro_batch + 1);
        }
    }
    inq_json_end_array(t->json);
    inq_json_end_object(t->json);
}

static void find_pipe(struct timeline *t, const struct inq_html_window *w)
{
    bool labelled = false;
    for (size_t r = 0; r < t->view->trace->n_ranks; r++) {
        labelled = labelled || t->view->trace->ranks[r].events.label != NULL;
    }
    t->pipe = (struct inq_step_chart){0};
    if (!labelled && w->step >= 0) {
        t->code = inq_step_chart_pipeline(t->view, w->step, t->has_row, &t->pipe, t->err);
    }
}

static const struct inq_chart_row *pipe_row(const struct timeline *t, uint32_t rank)
{
    for (size_t i = 0; i < t->pipe.n_rows; i++) {
        if (t->pipe.rows[i].rank == rank) {
            return &t->pipe.rows[i];
        }
    }
    return NULL;
}

/* ---- rows and windows ------------------------------------------------------------------------ */

static void write_row(struct timeline *t, const struct inq_html_window *w, int64_t pixel_ns,
                      uint32_t r)
{
    const struct inq_rank *rank = &t->view->trace->ranks[r];
    const struct inq_chart_row *pipe = pipe_row(t, r);
    inq_json_object(t->json, NULL);
    inq_json_string(t->json, "label", inq_view_rank(t->view, r));
    inq_json_known(t->json, "rank", rank->rank);
    inq_json_known(t->json, "stage", pipe != NULL ? pipe->stage : rank->stage);
    inq_json_known(t->json, "dp_rank", pipe != NULL ? pipe->dp_rank : rank->dp_rank);
    inq_json_array(t->json, "lanes");
    if (pipe != NULL) {
        write_pipe(t, w, pipe);
    }
    for_lanes(t, w, pixel_ns, rank, write_lane);
    inq_json_end_array(t->json);
    inq_json_end_object(t->json);
}

static size_t count_spans(const struct timeline *t, const struct inq_html_window *w,
                          int64_t pixel_ns)
{
    size_t n = 0;
    for (size_t r = 0; r < t->view->trace->n_ranks; r++) {
        const struct inq_events *e = &t->view->trace->ranks[r].events;
        struct inq_html_lane lane;
        struct inq_html_span span;
        for (size_t from = 0; t->has_row[r] && next_lane(e, w, &from, &lane);) {
            size_t at = lane.first;
            while (inq_html_next_span(&lane, w, &t->marks, pixel_ns, &at, &span)) {
                n++;
            }
        }
    }
    return n;
}

/* The shortest pixel with which the window's spans are few enough; 0: nothing is merged. */
static int64_t choose_pixel(const struct timeline *t, const struct inq_html_window *w)
{
    int64_t span_ns = w->end_ns - w->start_ns;
    int64_t pixel_ns = 0;
    while (count_spans(t, w, pixel_ns) > w->max_spans && pixel_ns < span_ns / LAST_PIXELS) {
        pixel_ns = pixel_ns > 0 ? 2 * pixel_ns : span_ns / FIRST_PIXELS + 1;
    }
    return pixel_ns;
}

static void write_window(struct timeline *t, const struct inq_html_window *w)
{
    int64_t pixel_ns = choose_pixel(t, w);
    find_pipe(t, w);
    inq_json_object(t->json, NULL);
    inq_json_known(t->json, "step", w->step);
    inq_json_int(t->json, "start_ns", w->start_ns - t->view->origin_ns);
    inq_json_int(t->json, "end_ns", w->end_ns - t->view->origin_ns);
    inq_json_int(t->json, "pixel_ns", pixel_ns);
    inq_json_array(t->json, "rows");
    for (size_t r = 0; r < t->view->trace->n_ranks; r++) {
        if (t->has_row[r] && t->code == INQ_OK) {
            write_row(t, w, pixel_ns, (uint32_t)r);
        }
    }
    inq_json_end_array(t->json);
    inq_json_end_object(t->json);
}

static void write_styles(struct timeline *t)
{
    inq_json_array(t->json, "styles");
    for (size_t i = 0; i < t->n_styles; i++) {
        inq_json_object(t->json, NULL);
        inq_json_string(t->json, "name", t->styles[i].name);
        inq_json_string(t->json, "kind", kind_texts[t->styles[i].kind]);
        if (t->styles[i].merged) {
            inq_json_bool(t->json, "merged", true);
        }
        inq_json_end_object(t->json);
    }
    inq_json_end_array(t->json);
}

static bool is_named(const struct inq_report *report, int32_t rank)
{
    for (size_t f = 0; f < report->n_findings; f++) {
        const struct inq_finding *finding = &report->findings[f];
        for (size_t i = 0; i < finding->n_ranks; i++) {
            if (finding->ranks[i] == rank) {
                return true;
            }
        }
        for (size_t i = 0; i < finding->n_evidence; i++) {
            if (finding->evidence[i].rank == rank) {
                return true;
            }
        }
    }
    return false;
}

/* Of very many ranks those that findings name, then the first ones. */
static int choose_rows(struct timeline *t)
{
    const struct inq_trace *trace = t->view->trace;
    size_t n = 0;
    t->has_row = inq_arena_array(t->view->arena, trace->n_ranks, sizeof *t->has_row);
    if (t->has_row == NULL) {
        return INQ_NOMEM;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < trace->n_ranks; r++) {
            int32_t rank = trace->ranks[r].rank;
            if (t->has_row[r] || !inq_view_shows(t->view, rank) || trace->ranks[r].events.n == 0 ||
                (pass == 0 && !is_named(t->view->report, rank))) {
                continue;
            }
            t->has_row[r] = n < MAX_ROWS;
            t->left_out += pass == 1 && n >= MAX_ROWS;
            n += t->has_row[r];
        }
    }
    return INQ_OK;
}

static void release(struct timeline *t)
{
    inq_map_release(&t->known);
    inq_mem_free(t->styles);
}

int inq_html_timeline(const struct inq_view *view, size_t n_reports, struct inq_json *json,
                      struct inq_err *err)
{
    struct timeline t = {.view = view, .json = json, .err = err};
    html_find_windows(view, n_reports, &t.windows);
    t.code = html_find_marks(view, &t.marks);
    if (t.code == INQ_OK) {
        t.code = choose_rows(&t);
    }
    inq_json_object(json, NULL);
    inq_json_string(json, "origin_ns", inq_say(view->arena, "%" PRId64, view->origin_ns));
    inq_json_string(json, "clock", inq_view_clock(view));
    inq_json_int(json, "rows_left_out", (int64_t)t.left_out);
    inq_json_array(json, "windows");
    for (size_t i = 0; i < t.windows.n && t.code == INQ_OK; i++) {
        write_window(&t, &t.windows.at[i]);
    }
    inq_json_end_array(json);
    write_styles(&t);
    inq_json_end_object(json);
    release(&t);
    return t.code == INQ_OK ? INQ_OK : inq_err_set(err, t.code, "no memory for the timeline");
}
