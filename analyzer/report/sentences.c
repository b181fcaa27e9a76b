/* SPDX-License-Identifier: Apache-2.0 */
/* What text and Markdown both say in words. */
#include "report/document.h"

#include "base/say.h"

#include <inttypes.h>
#include <math.h>

static const char *with_semicolon(const struct inq_view *view, const char *before, const char *what,
                                  const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return before;
    }
    return inq_say(view->arena, "%s%s%s%s", before, before[0] != '\0' ? "; " : "", what, value);
}

/* What is lost is what the first finding costs: the step is the one that its share is of. */
const char *inq_say_lost(const struct inq_view *view)
{
    const struct inq_verdict *v = &view->report->verdict;
    const char *confidence = inq_confidence_text(v->confidence);
    double share = view->report->n_findings > 0 ? view->report->findings[0].share : -1.0;
    if (v->lost_ns_per_step <= 0) {
        return "";
    }
    if (!(share > 0.0)) {
        return inq_say(view->arena, "Lost: %s per step. Confidence: %s.",
                       inq_view_ns(view, v->lost_ns_per_step), confidence);
    }
    int64_t step_ns = (int64_t)llround((double)v->lost_ns_per_step / share);
    return inq_say(view->arena, "Lost: %s of a step of %s (%.1f %%). Confidence: %s.",
                   inq_view_ns(view, v->lost_ns_per_step), inq_view_ns(view, step_ns),
                   100.0 * share, confidence);
}

static const char *say_steps(const struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    if (trace->n_steps == 0) {
        return "no steps";
    }
    const char *kind = trace->steps_inferred ? "inferred " : "";
    if (trace->n_steps == 1) {
        return inq_say(view->arena, "1 %sstep of %s", kind,
                       inq_view_ns(view, view->report->step_ns_median));
    }
    return inq_say(view->arena, "%zu %ssteps of %s (median)", trace->n_steps, kind,
                   inq_view_ns(view, view->report->step_ns_median));
}

const char *inq_say_run(const struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    const char *ranks = inq_view_plural(view, trace->n_ranks, "rank", "ranks");
    const char *logs = inq_view_plural(view, trace->n_logs, "log", "logs");
    if (trace->n_ranks == 0 && trace->n_logs > 0) {
        return inq_say(view->arena, "%s, no traces.", logs);
    }
    if (trace->world_size > 0) {
        ranks = inq_say(view->arena, "%zu of %s", trace->n_ranks,
                        inq_view_plural(view, (uint64_t)trace->world_size, "rank", "ranks"));
    }
    const char *text = inq_say(view->arena, "%s, %s", ranks, say_steps(view));
    const struct inq_collectives *coll = view->report->collectives;
    if (coll != NULL) {
        text = inq_say(view->arena, "%s, %s matched", text,
                       inq_view_plural(view, coll->matched, "collective", "collectives"));
        if (coll->unmatched > 0) {
            text = inq_say(view->arena, "%s (%s not)", text,
                           inq_view_plural(view, coll->unmatched, "communication event",
                                           "communication events"));
        }
    }
    const char *clock = inq_view_clock(view);
    if (clock[0] != '\0') {
        text = inq_say(view->arena, "%s; times count from %s", text, clock);
    }
    return inq_say(view->arena, "%s.", text);
}

const char *inq_say_limits(const struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    size_t damaged = 0;
    size_t unknown = 0;
    const char *text = "";
    for (size_t i = 0; i < trace->n_files; i++) {
        damaged += inq_file_hurt(&trace->files[i]);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        unknown += trace->ranks[r].rank < 0;
    }
    if (trace->n_missing > 0) {
        text = with_semicolon(view, text,
                              trace->n_missing == 1 ? "no file of rank " : "no file of ranks ",
                              inq_say_list(view->arena, trace->missing, trace->n_missing));
    }
    if (unknown > 0) {
        text = with_semicolon(view, text, "rank not recorded in ",
                              inq_view_plural(view, unknown, "file", "files"));
    }
    if (damaged > 0) {
        text = with_semicolon(view, text, "",
                              inq_say(view->arena, "%zu of %s damaged", damaged,
                                      inq_view_plural(view, trace->n_files, "file", "files")));
    }
    if (view->options->ranks != NULL) {
        text = with_semicolon(view, text, "", "rows and findings of selected ranks only");
    }
    return text;
}

const char *inq_say_numbers(const struct inq_view *view, const struct inq_finding *finding)
{
    bool told = finding->detail != NULL && finding->detail[0] != '\0';
    const char *text = "";
    if (finding->cost_ns_per_step >= 0) {
        text =
            inq_say(view->arena, "costs %s per step", inq_view_ns(view, finding->cost_ns_per_step));
        if (finding->share >= 0) {
            text = inq_say(view->arena, "%s (%.1f %%)", text, 100 * finding->share);
        }
    }
    text = with_semicolon(view, text, "confidence: ", inq_confidence_text(finding->confidence));
    if (!told) { /* the detail has these in words */
        text = with_semicolon(view, text, "measured ", finding->measured);
        text = with_semicolon(view, text, "expected ", finding->expected);
    }
    return text;
}

const char *inq_say_fixes(const struct inq_view *view, const struct inq_finding *finding)
{
    const char *text = "";
    for (size_t i = 0; i < finding->n_fixes; i++) {
        text = inq_say(view->arena, "%s%s%s", text, i > 0 ? ", " : "", finding->fixes[i]);
    }
    return finding->n_fixes == 0 ? ""
                                 : inq_say(view->arena, "%s ('inquest fix' predicts %s gain)", text,
                                           finding->n_fixes == 1 ? "the" : "each");
}

/* Seconds since the first event, to the microsecond below or above. */
static const char *say_moment(const struct inq_view *view, int64_t ns, bool up)
{
    int64_t since_ns = ns - view->origin_ns;
    int64_t us = since_ns / 1000;
    us -= since_ns % 1000 < 0;
    us += up && since_ns % 1000 != 0;
    if (us < 0) {
        return "0s"; /* --time has nothing before the first event */
    }
    return inq_say(view->arena, "%" PRId64 ".%06" PRId64 "s", us / 1000000, us % 1000000);
}

const char *inq_say_when(const struct inq_view *view, const struct inq_evidence *evidence)
{
    if (evidence->start_ns == INQ_TIME_NONE) {
        return "";
    }
    if (evidence->end_ns == INQ_TIME_NONE) {
        return say_moment(view, evidence->start_ns, false);
    }
    bool instant = evidence->end_ns <= evidence->start_ns;
    return inq_say(view->arena, "%s~%s", say_moment(view, evidence->start_ns, false),
                   say_moment(view, evidence->end_ns + instant, true));
}

size_t inq_count_findings(const struct inq_view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < view->report->n_findings; i++) {
        n += inq_view_shows_finding(view, &view->report->findings[i]);
    }
    return n;
}
