/* SPDX-License-Identifier: Apache-2.0 */
/* Which stretches of time the timeline holds, and how much of each is drawn. */
#include "report/render/html/html.h"

#include "inquest/account.h"
#include "inquest/failure.h"

/* Spans in all windows together: some 15 bytes each, so the page stays below 3 MB. */
enum { MAX_SPANS = 110000 };

static const uint32_t NO_STEP = INQ_NONE;

/* From the first start to the last end: ranks begin and end a step one after the other. */
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

static void add_step(const struct inq_context *context, struct inq_html_windows *windows,
                     uint32_t step)
{
    const struct inq_step *s = &context->trace->steps[step];
    const struct inq_report *report = context->report;
    struct inq_html_window w = {.start_ns = s->start_ns, .end_ns = s->end_ns, .step = s->number};
    if (report->step_ns != NULL && report->step_ns[step] >= 0) {
        w.start_ns = report->step_start_ns[step];
        w.end_ns = w.start_ns + report->step_ns[step];
    }
    widen_by_work(context->trace, step, &w);
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

static uint32_t step_at(const struct inq_report *report, size_t n_steps, int64_t at_ns)
{
    for (size_t s = 0; s < n_steps && report->step_ns != NULL; s++) {
        if (at_ns >= report->step_start_ns[s] &&
            at_ns - report->step_start_ns[s] < report->step_ns[s]) {
            return (uint32_t)s;
        }
    }
    return NO_STEP;
}

static void add_shown(const struct inq_context *context, struct inq_html_windows *windows)
{
    const struct inq_critical_path *path = context->report->critical_path;
    uint32_t step = path != NULL ? step_numbered(context->trace, path->step) : NO_STEP;
    if (step == NO_STEP && context->trace->n_steps > 0 && context->report->account != NULL) {
        step = inq_account_median_step(context->report->account);
    }
    if (step != NO_STEP) {
        add_step(context, windows, step);
    } else {
        struct inq_html_window w = {.step = -1};
        if (inq_trace_span(context->trace, &w.start_ns, &w.end_ns) && w.end_ns > w.start_ns) {
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

static void add_evidence(const struct inq_context *context, struct inq_html_windows *windows,
                         const struct inq_evidence *evidence)
{
    if (evidence->start_ns == INQ_TIME_NONE || is_held(windows, evidence->start_ns) ||
        windows->n == INQ_HTML_MAX_WINDOWS) {
        return;
    }
    uint32_t step = step_at(context->report, context->trace->n_steps, evidence->start_ns);
    if (step != NO_STEP) {
        add_step(context, windows, step);
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

void inq_html_find_windows(const struct inq_context *context, size_t n_reports,
                           struct inq_html_windows *windows)
{
    *windows = (struct inq_html_windows){0};
    if (context->report->failure != NULL && context->trace->n_steps == 0 &&
        context->report->n_rank_times == 0) {
        return; /* dumps only: no work to draw */
    }
    add_shown(context, windows);
    for (size_t f = 0; f < context->report->n_findings; f++) {
        const struct inq_finding *finding = &context->report->findings[f];
        for (size_t i = 0; i < finding->n_evidence && inq_context_shows_finding(context, finding);
             i++) {
            add_evidence(context, windows, &finding->evidence[i]);
        }
    }
    share_spans(windows, n_reports);
}
