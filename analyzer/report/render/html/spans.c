/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of one lane, merged where they would share a pixel. */
#include "report/render/html/html.h"

#include "base/sort.h"

/* Ops that begin before the window and reach into it are looked for this many rows back. */
enum { MOST_BACK = 64 };

int inq_html_find_marks(const struct inq_view *view, struct inq_html_marks *marks)
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
