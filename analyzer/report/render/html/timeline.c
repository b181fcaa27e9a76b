/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline as JSON: rows of ranks, lanes of spans, four numbers a span. Times count from the
 * first event of the trace, so that they are exact in a double. */
#include "report/render/html/html.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/sort.h"
#include "graph/optable/optable.h"
#include "report/info/info.h"
#include "report/sections/sections.h"
#include "trace/trace.h"
#include "inquest/account.h"

#include <inttypes.h>
#include <string.h>

/* ---- The ops of one lane, merged where they would share a pixel ------------------------------ */

/* Ops that begin before the window and reach into it are looked for this many rows back. */
enum { MOST_BACK = 64 };

static int html_find_marks(const struct inq_context *context, struct inq_html_marks *marks)
{
    const struct inq_report *report = context->report;
    size_t n = 0;
    for (size_t f = 0; f < report->n_findings; f++) {
        n += report->findings[f].n_evidence;
    }
    marks->n = 0;
    marks->at_ns = inq_arena_array(context->arena, 2 * n, sizeof *marks->at_ns);
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
    bool work = e->kind == NULL || e->kind[i] != INQ_EVENT_SYNC; /* NULL: of the host */
    return work && e->start_ns[i] < window->end_ns &&
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
    KIND_LAUNCH, /* from here on of the host */
    KIND_SYNCHRONIZE,
    KIND_DATA,
    KIND_HOST,
    KIND_COUNT
};

static const char *const kind_texts[KIND_COUNT] = {
    "compute", "forward",   "backward", "input",  "weight", "comm", "p2p",
    "copy",    "optimizer", "other",    "launch", "sync",   "data", "host",
};

/* How a span is drawn and called. */
struct style {
    const char *name;
    enum kind kind;
    bool merged;
};

/* What the host of a rank did, as rows of lanes: `cls` is an enum kind, `kind` is NULL. */
struct host {
    struct inq_events notes; /* data loading, and what evidence names */
    struct inq_events calls; /* borrowed but for `cls` */
};

struct timeline {
    const struct inq_context *context;
    struct inq_json *json;
    const struct inq_html_windows *windows;
    struct inq_html_marks marks;
    bool *has_row;      /* [n_ranks] */
    struct host *hosts; /* [n_ranks] */
    size_t left_out;
    int64_t host_pixel_ns;                         /* of the window */
    struct inq_map kinds_of_calls, kinds_of_notes; /* name to enum kind */
    struct inq_map known;                          /* (name, kind, merged) to its style */
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
        bool p2p = comm != NULL && inq_coll_is_p2p(comm->kind);
        return p2p ? KIND_P2P : KIND_COMM;
    }
    return e->cls[event] == INQ_CLASS_COMPUTE ? KIND_COMPUTE
           : e->cls[event] == INQ_CLASS_COPY  ? KIND_COPY
                                              : KIND_OTHER;
}

static const char *name_of(const struct timeline *t, const struct inq_rank *rank, size_t event)
{
    const struct inq_label *label = label_of(rank, event);
    const char *name = inq_trace_str(t->context->trace, rank->events.name[event]);
    if (name[0] == '\0' && label != NULL) {
        name = inq_op_type_text(label->type);
    }
    return inq_arena_printf(t->context->arena, "%.*s", NAME_BYTES, name);
}

/* Values of `more` that no label has. */
enum { MORE_HOST = 253, MORE_PIPE = 254, MORE_MERGED = 255 };

static uint64_t style_key(uint32_t name, enum kind kind, uint32_t more)
{
    return ((uint64_t)name << 16) | ((uint64_t)kind << 8) | more;
}

static uint32_t add_style(struct timeline *t, uint64_t key, struct style style)
{
    uint32_t at = (uint32_t)t->n_styles;
    t->code = t->code != INQ_OK ? t->code
                                : inq_mem_grow(&t->styles, &t->cap_styles, t->n_styles + 1,
                                               sizeof *t->styles, UINT32_MAX, t->err);
    if (t->code == INQ_OK) {
        t->styles[t->n_styles++] = style;
        t->code = inq_map_put(&t->known, key, at, t->err);
    }
    return at;
}

static uint32_t style_of(struct timeline *t, const struct inq_rank *rank, size_t event)
{
    const struct inq_label *label = label_of(rank, event);
    enum kind kind = kind_of(rank, event);
    uint32_t more = label != NULL ? (uint32_t)label->type : 0;
    uint64_t key = style_key(rank->events.name[event], kind, more);
    uint32_t at;
    return inq_map_get(&t->known, key, &at)
               ? at
               : add_style(t, key, (struct style){name_of(t, rank, event), kind, false});
}

static uint32_t merged_style(struct timeline *t, enum kind kind)
{
    uint64_t key = style_key(0, kind, MORE_MERGED);
    uint32_t at;
    return inq_map_get(&t->known, key, &at) ? at
                                            : add_style(t, key, (struct style){"", kind, true});
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
    const char *name = inq_trace_str(t->context->trace, lane->name);
    if (name[0] != '\0') {
        return inq_arena_printf(t->context->arena, "%.*s", NAME_BYTES, name);
    }
    return inq_arena_printf(t->context->arena, "%s %" PRId64,
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
    uint64_t key = style_key(type, kind, MORE_PIPE);
    const char *name = inq_op_type_text((enum inq_op_type)type);
    uint32_t at;
    return inq_map_get(&t->known, key, &at) ? at
                                            : add_style(t, key, (struct style){name, kind, false});
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
    bool labeled = false;
    for (size_t r = 0; r < t->context->trace->n_ranks; r++) {
        labeled = labeled || t->context->trace->ranks[r].events.label != NULL;
    }
    t->pipe = (struct inq_step_chart){0};
    if (!labeled && w->step >= 0) {
        t->code = inq_step_chart_pipeline(t->context, w->step, t->has_row, &t->pipe, t->err);
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

/* ---- hosts ----------------------------------------------------------------------------------- */

static enum kind kind_of_host(const char *name)
{
    enum inq_host_kind kind = inq_host_kind_of(name);
    return kind == INQ_HOST_LAUNCH        ? KIND_LAUNCH
           : kind == INQ_HOST_SYNCHRONIZE ? KIND_SYNCHRONIZE
           : kind == INQ_HOST_DATA        ? KIND_DATA
                                          : KIND_HOST;
}

/* Whether evidence says that the host was in what is called so: its name ends the sentence. */
static bool is_in_evidence(const struct timeline *t, const char *name)
{
    const struct inq_report *report = t->context->report;
    const char *said = inq_arena_name(t->context->arena, name);
    size_t n = strlen(said);
    for (size_t f = 0; f < report->n_findings; f++) {
        const struct inq_finding *finding = &report->findings[f];
        for (size_t i = 0; i < finding->n_evidence; i++) {
            const char *what = finding->evidence[i].what;
            size_t all = what != NULL ? strlen(what) : 0;
            if (all > n && what[all - n - 1] == ' ' && strcmp(what + all - n, said) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Ranges that hold all of a step, or of a layer, would hide what is in them: only data loading and
 * what findings speak of is drawn. Names repeat, so each is looked at once. */
static enum kind kind_of_note(struct timeline *t, const struct inq_note *note)
{
    const char *name = inq_trace_str(t->context->trace, note->name);
    uint32_t kind = KIND_COUNT;
    if (note->on_gpu || note->kind == INQ_NOTE_STEP || name[0] == '\0' ||
        inq_map_get(&t->kinds_of_notes, note->name, &kind)) {
        return (enum kind)kind;
    }
    if (note->kind == INQ_NOTE_DATA) {
        kind = KIND_DATA;
    } else if (is_in_evidence(t, name)) {
        kind = kind_of_host(name);
    }
    t->code =
        t->code != INQ_OK ? t->code : inq_map_put(&t->kinds_of_notes, note->name, kind, t->err);
    return (enum kind)kind;
}

/* Columns of `n` rows that the notes fill. */
static bool make_notes(struct timeline *t, size_t n, struct inq_events *notes)
{
    notes->start_ns = inq_arena_array(t->context->arena, n, sizeof *notes->start_ns);
    notes->dur_ns = inq_arena_array(t->context->arena, n, sizeof *notes->dur_ns);
    notes->name = inq_arena_array(t->context->arena, n, sizeof *notes->name);
    notes->cls = inq_arena_array(t->context->arena, n, sizeof *notes->cls);
    return notes->start_ns != NULL && notes->dur_ns != NULL && notes->name != NULL &&
           notes->cls != NULL;
}

static void take_notes(struct timeline *t, const struct inq_rank *rank, struct inq_events *notes)
{
    size_t n = 0;
    for (size_t i = 0; i < rank->n_notes; i++) {
        n += kind_of_note(t, &rank->notes[i]) != KIND_COUNT;
    }
    t->code = t->code == INQ_OK && !make_notes(t, n, notes) ? INQ_NOMEM : t->code;
    for (size_t i = 0; i < rank->n_notes && t->code == INQ_OK; i++) {
        enum kind kind = kind_of_note(t, &rank->notes[i]);
        if (kind != KIND_COUNT) {
            notes->start_ns[notes->n] = rank->notes[i].start_ns;
            notes->dur_ns[notes->n] = rank->notes[i].dur_ns;
            notes->name[notes->n] = rank->notes[i].name;
            notes->cls[notes->n++] = (uint8_t)kind;
        }
    }
}

static void take_calls(struct timeline *t, const struct inq_rank *rank, struct inq_events *calls)
{
    const struct inq_calls *c = &rank->calls;
    *calls = (struct inq_events){
        .n = c->n, .start_ns = c->start_ns, .dur_ns = c->dur_ns, .name = c->name};
    calls->cls = inq_arena_array(t->context->arena, c->n, sizeof *calls->cls);
    t->code = calls->cls == NULL ? INQ_NOMEM : t->code;
    for (size_t i = 0; i < c->n && t->code == INQ_OK; i++) {
        uint32_t kind = 0;
        if (!inq_map_get(&t->kinds_of_calls, c->name[i], &kind)) {
            kind = kind_of_host(inq_trace_str(t->context->trace, c->name[i]));
            t->code = inq_map_put(&t->kinds_of_calls, c->name[i], kind, t->err);
        }
        calls->cls[i] = (uint8_t)kind;
    }
}

/* What the hosts of the ranks that have a row did. */
static void find_hosts(struct timeline *t)
{
    const struct inq_trace *trace = t->context->trace;
    t->hosts = inq_arena_array(t->context->arena, trace->n_ranks, sizeof *t->hosts);
    t->code = t->hosts == NULL ? INQ_NOMEM : t->code;
    for (size_t r = 0; r < trace->n_ranks && t->code == INQ_OK; r++) {
        if (t->has_row[r]) {
            take_notes(t, &trace->ranks[r], &t->hosts[r].notes);
            take_calls(t, &trace->ranks[r], &t->hosts[r].calls);
        }
    }
}

static enum kind main_kind_of_host(const struct inq_events *host, const struct inq_html_span *span)
{
    int64_t sums[KIND_COUNT] = {0};
    enum kind best = KIND_HOST;
    for (size_t i = span->first; i < span->first + span->count && i < host->n; i++) {
        sums[host->cls[i]] += host->dur_ns[i] + 1;
    }
    for (int k = KIND_LAUNCH; k < KIND_COUNT; k++) {
        best = sums[k] > sums[best] ? (enum kind)k : best;
    }
    return best;
}

static uint32_t host_style(struct timeline *t, const struct inq_events *host, size_t row)
{
    enum kind kind = (enum kind)host->cls[row];
    uint64_t key = style_key(host->name[row], kind, MORE_HOST);
    uint32_t at;
    if (inq_map_get(&t->known, key, &at)) {
        return at;
    }
    const char *name = inq_trace_str(t->context->trace, host->name[row]);
    return add_style(
        t, key,
        (struct style){inq_arena_printf(t->context->arena, "%.*s", NAME_BYTES, name), kind, false});
}

static void write_host(struct timeline *t, const struct inq_html_window *w, const char *name,
                       const struct inq_events *host)
{
    struct inq_html_lane lane = {host, 0, host->n};
    struct inq_html_span span;
    int64_t last_ns = w->start_ns;
    inq_html_narrow(&lane, w);
    size_t at = lane.first;
    bool any = inq_html_next_span(&lane, w, &t->marks, t->host_pixel_ns, &at, &span);
    if (any) {
        inq_json_object(t->json, NULL);
        inq_json_string(t->json, "name", name);
        inq_json_bool(t->json, "host", true);
        inq_json_array(t->json, "spans");
    }
    for (bool more = any; more;
         more = inq_html_next_span(&lane, w, &t->marks, t->host_pixel_ns, &at, &span)) {
        bool one = span.count == 1;
        uint32_t style =
            one ? host_style(t, host, span.first) : merged_style(t, main_kind_of_host(host, &span));
        write_span(t, &last_ns, &span, style, one ? 0 : span.count);
    }
    if (any) {
        inq_json_end_array(t->json);
        inq_json_end_object(t->json);
    }
}

/* ---- rows and windows ------------------------------------------------------------------------ */

static void write_row(struct timeline *t, const struct inq_html_window *w, int64_t pixel_ns,
                      uint32_t r)
{
    const struct inq_rank *rank = &t->context->trace->ranks[r];
    const struct inq_chart_row *pipe = pipe_row(t, r);
    inq_json_object(t->json, NULL);
    inq_json_string(t->json, "label", inq_context_rank(t->context, r));
    inq_json_known(t->json, "rank", rank->rank);
    inq_json_known(t->json, "stage", pipe != NULL ? pipe->stage : rank->stage);
    inq_json_known(t->json, "dp_rank", pipe != NULL ? pipe->dp_rank : rank->dp_rank);
    inq_json_array(t->json, "lanes");
    if (pipe != NULL) {
        write_pipe(t, w, pipe);
    }
    for_lanes(t, w, pixel_ns, rank, write_lane);
    write_host(t, w, "host", &t->hosts[r].notes);
    write_host(t, w, "host", &t->hosts[r].calls);
    inq_json_end_array(t->json);
    inq_json_end_object(t->json);
}

static size_t count_lane(const struct timeline *t, const struct inq_html_window *w,
                         int64_t pixel_ns, const struct inq_html_lane *lane)
{
    struct inq_html_span span;
    size_t n = 0;
    for (size_t at = lane->first; inq_html_next_span(lane, w, &t->marks, pixel_ns, &at, &span);) {
        n++;
    }
    return n;
}

static size_t count_work(const struct timeline *t, const struct inq_html_window *w,
                         int64_t pixel_ns)
{
    size_t n = 0;
    for (size_t r = 0; r < t->context->trace->n_ranks; r++) {
        struct inq_html_lane lane;
        for (size_t from = 0;
             t->has_row[r] && next_lane(&t->context->trace->ranks[r].events, w, &from, &lane);) {
            n += count_lane(t, w, pixel_ns, &lane);
        }
    }
    return n;
}

static size_t count_host(const struct timeline *t, const struct inq_html_window *w,
                         int64_t pixel_ns)
{
    size_t n = 0;
    for (size_t r = 0; r < t->context->trace->n_ranks; r++) {
        struct inq_html_lane notes = {&t->hosts[r].notes, 0, t->hosts[r].notes.n};
        struct inq_html_lane calls = {&t->hosts[r].calls, 0, t->hosts[r].calls.n};
        if (t->has_row[r]) {
            inq_html_narrow(&notes, w);
            inq_html_narrow(&calls, w);
            n += count_lane(t, w, pixel_ns, &notes) + count_lane(t, w, pixel_ns, &calls);
        }
    }
    return n;
}

/* The shortest pixel with which what is counted is few enough; 0: nothing is merged. */
static int64_t choose_pixel(const struct timeline *t, const struct inq_html_window *w,
                            size_t (*count)(const struct timeline *t,
                                            const struct inq_html_window *w, int64_t pixel_ns),
                            size_t most)
{
    int64_t span_ns = w->end_ns - w->start_ns;
    int64_t pixel_ns = 0;
    while (count(t, w, pixel_ns) > most && pixel_ns < span_ns / LAST_PIXELS) {
        pixel_ns = pixel_ns > 0 ? 2 * pixel_ns : span_ns / FIRST_PIXELS + 1;
    }
    return pixel_ns;
}

static void write_window(struct timeline *t, const struct inq_html_window *w)
{
    /* the GPU's work is what a reader looks at: the host gets a quarter of the room at most */
    t->host_pixel_ns = choose_pixel(t, w, count_host, w->max_spans / 4);
    size_t n_host = count_host(t, w, t->host_pixel_ns);
    int64_t pixel_ns =
        choose_pixel(t, w, count_work, w->max_spans > n_host ? w->max_spans - n_host : 0);
    find_pipe(t, w);
    inq_json_object(t->json, NULL);
    inq_json_known(t->json, "step", w->step);
    inq_json_int(t->json, "start_ns", w->start_ns - t->context->origin_ns);
    inq_json_int(t->json, "end_ns", w->end_ns - t->context->origin_ns);
    inq_json_int(t->json, "pixel_ns", pixel_ns > t->host_pixel_ns ? pixel_ns : t->host_pixel_ns);
    inq_json_array(t->json, "rows");
    for (size_t r = 0; r < t->context->trace->n_ranks; r++) {
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
    const struct inq_trace *trace = t->context->trace;
    size_t n = 0;
    t->has_row = inq_arena_array(t->context->arena, trace->n_ranks, sizeof *t->has_row);
    if (t->has_row == NULL) {
        return INQ_NOMEM;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < trace->n_ranks; r++) {
            int32_t rank = trace->ranks[r].rank;
            if (t->has_row[r] || !inq_context_shows(t->context, rank) ||
                trace->ranks[r].events.n == 0 ||
                (pass == 0 && !is_named(t->context->report, rank))) {
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
    inq_map_release(&t->kinds_of_calls);
    inq_map_release(&t->kinds_of_notes);
    inq_mem_free(t->styles);
}

int inq_html_timeline(const struct inq_context *context, const struct inq_html_windows *windows,
                      struct inq_json *json, struct inq_err *err)
{
    struct timeline t = {.context = context, .windows = windows, .json = json, .err = err};
    t.code = html_find_marks(context, &t.marks);
    if (t.code == INQ_OK) {
        t.code = choose_rows(&t);
    }
    if (t.code == INQ_OK) {
        find_hosts(&t);
    }
    inq_json_string(json, "origin_ns",
                    inq_arena_printf(context->arena, "%" PRId64, context->origin_ns));
    inq_json_string(json, "clock", inq_context_clock(context));
    inq_json_int(json, "rows_left_out", (int64_t)t.left_out);
    inq_json_array(json, "windows");
    for (size_t i = 0; i < t.windows->n && t.code == INQ_OK; i++) {
        write_window(&t, &t.windows->at[i]);
    }
    inq_json_end_array(json);
    write_styles(&t);
    release(&t);
    return t.code == INQ_OK ? INQ_OK : inq_err_set(err, t.code, "no memory for the timeline");
}
