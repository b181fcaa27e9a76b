/* SPDX-License-Identifier: Apache-2.0 */
/* What text and Markdown both say in words. */
#include "report/report.h"

#include "analysis/findings/findings.h"
#include "base/arena_text.h"
#include "inquest/account.h"

#include <inttypes.h>
#include <string.h>

/* Equal runs differ by less. */
#define HIDES_PART 0.01

static const char *with_semicolon(const struct inq_context *context, const char *before,
                                  const char *what, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return before;
    }
    return inq_arena_printf(context->arena, "%s%s%s%s", before, before[0] != '\0' ? "; " : "", what,
                            value);
}

const char *inq_sentence_why(const struct inq_context *context)
{
    const struct inq_verdict *v = &context->report->verdict;
    const char *when = v->see != NULL ? inq_sentence_when(context, v->see) : "";
    if (v->why[0] == '\0' || when[0] == '\0') {
        return v->why;
    }
    if (v->see->rank < 0) {
        return inq_arena_printf(context->arena, "%s See %s.", v->why, when);
    }
    return inq_arena_printf(context->arena, "%s See rank %" PRId32 ", %s.", v->why, v->see->rank,
                            when);
}

const char *inq_sentence_sure(const struct inq_context *context)
{
    const struct inq_verdict *v = &context->report->verdict;
    size_t n = strlen(v->sure); /* a sentence, which goes on */
    return n == 0 ? ""
                  : inq_arena_printf(context->arena, "%.*s; confidence: %s.",
                                     (int)(n - (v->sure[n - 1] == '.')), v->sure,
                                     inq_confidence_text(v->confidence));
}

bool inq_sentence_told(const struct inq_context *context, const struct inq_finding *finding)
{
    const char *headline = context->report->verdict.headline;
    size_t n = strlen(finding->title);
    return n > 0 && strncmp(headline, finding->title, n) == 0 && strcmp(headline + n, ".") == 0;
}

const char *inq_sentence_title(const struct inq_context *context, const struct inq_finding *finding)
{
    return inq_sentence_told(context, finding) ? "The verdict above" : finding->title;
}

/* A class whose share of the rank-time is below this is one of the others. */
static const double SMALL_SHARE = 0.005;
/* Of the waiting, this part is for one rank: then it is named. */
static const double ONE_RANK = 0.8;

/* "waiting for rank 5" where nearly all waiting is. */
static const char *class_words(const struct inq_context *context, enum inq_account_class cls)
{
    const struct inq_account *account = context->report->account;
    bool waits = cls == INQ_ACCOUNT_WAIT || cls == INQ_ACCOUNT_DEPENDENCY;
    for (size_t i = 0; waits && i < account->n_parts; i++) {
        const struct inq_account_part *part = &account->parts[i]; /* most time first */
        if (part->cls == cls) {
            bool one = (double)part->total_ns >= ONE_RANK * (double)account->total_ns[part->cls];
            return one ? inq_arena_printf(context->arena, "waiting for %s", part->what)
                       : inq_account_class_words(cls);
        }
    }
    return inq_account_class_words(cls);
}

const char *inq_sentence_where(const struct inq_context *context)
{
    const struct inq_account *account = context->report->account;
    int64_t rest_ns = 0;
    const char *list = "";
    if (account == NULL || account->t_ns <= 0) {
        return "";
    }
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        if ((double)account->class_ns[c] < SMALL_SHARE * (double)account->t_ns) {
            rest_ns += account->class_ns[c];
            continue;
        }
        list = inq_arena_printf(context->arena, "%s%s%s %s", list, list[0] != '\0' ? ", " : "",
                                inq_context_ns(context, account->class_ns[c]),
                                class_words(context, (enum inq_account_class)c));
    }
    if (rest_ns > 0) {
        list = inq_arena_printf(context->arena, "%s%s%s other", list, list[0] != '\0' ? ", " : "",
                                inq_context_ns(context, rest_ns));
    }
    return inq_arena_printf(context->arena, "Where %s of %s goes: %s.",
                            account->one_interval ? "the capture" : "a step",
                            inq_context_ns(context, account->t_ns), list);
}

static const char *say_steps(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->n_steps == 0) {
        return "no steps";
    }
    const struct inq_account *account = context->report->account;
    const char *steps =
        inq_arena_printf(context->arena, "%zu %sstep%s", trace->n_steps,
                         trace->steps_inferred ? "inferred " : "", trace->n_steps == 1 ? "" : "s");
    if (account == NULL || account->t_ns <= 0 || account->one_interval) {
        return steps;
    }
    size_t judged = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        judged += account->steps[s].judged;
    }
    const char *length = inq_context_ns(context, account->t_ns);
    return judged == trace->n_steps
               ? inq_arena_printf(context->arena, "%s of %s", steps, length)
               : inq_arena_printf(context->arena, "%s (%zu judged, %s%s)", steps, judged,
                                  judged > 1 ? "mean " : "", length);
}

const char *inq_sentence_run(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    const char *ranks = inq_context_plural(context, trace->n_ranks, "rank", "ranks");
    const char *logs = inq_context_plural(context, trace->n_logs, "log", "logs");
    if (trace->n_ranks == 0 && trace->n_logs > 0) {
        return inq_arena_printf(context->arena, "%s, no traces.", logs);
    }
    if (trace->world_size > 0) {
        ranks = inq_arena_printf(
            context->arena, "%zu of %s", trace->n_ranks,
            inq_context_plural(context, (uint64_t)trace->world_size, "rank", "ranks"));
    }
    const char *text = inq_arena_printf(context->arena, "%s, %s", ranks, say_steps(context));
    const struct inq_collectives *coll = context->report->collectives;
    if (coll != NULL) {
        const char *matched =
            inq_context_plural(context, coll->matched, "collective", "collectives");
        const char *unmatched = inq_context_plural(context, coll->unmatched, "communication event",
                                                   "communication events");
        text = coll->unmatched == 0
                   ? inq_arena_printf(context->arena, "%s, %s matched", text, matched)
               : coll->matched == 0
                   ? inq_arena_printf(context->arena, "%s, %s, none matched across ranks", text,
                                      unmatched)
                   : inq_arena_printf(context->arena, "%s, %s matched (%s unmatched)", text,
                                      matched, unmatched);
    }
    const char *clock = inq_context_clock(context);
    if (clock[0] != '\0') {
        text = inq_arena_printf(context->arena, "%s; times count from %s", text, clock);
    }
    return inq_arena_printf(context->arena, "%s.", text);
}

/* "pipeline, critical_path" */
static const char *section_keys(const struct inq_context *context, uint32_t sections)
{
    const char *text = "";
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        if ((sections & INQ_SECTION_BIT(s)) != 0) {
            text = inq_arena_printf(context->arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                    inq_section_key((enum inq_section)s));
        }
    }
    return text;
}

const char *inq_sentence_lacks(const struct inq_context *context, uint32_t sections)
{
    uint32_t failed = 0;
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        if (context->report->sections[s].reason != NULL) {
            failed |= sections & INQ_SECTION_BIT(s);
        }
    }
    return failed == 0
               ? ""
               : inq_arena_printf(context->arena, "not available: it is drawn from %s; see there",
                                  section_keys(context, failed));
}

/* "2 circles of ops that wait for each other by the record were cut"; "" for none. */
static const char *say_contradictions(const struct inq_context *context)
{
    const struct inq_critical_path *path =
        context->report != NULL ? context->report->critical_path : NULL;
    if (path == NULL || path->contradictions == 0) {
        return "";
    }
    return inq_arena_printf(
        context->arena,
        "ops of the record wait for each other in a circle; %s, the least certain, %s "
        "left out",
        inq_context_plural(context, path->contradictions, "dependency", "dependencies"),
        path->contradictions == 1 ? "is" : "are");
}

/* Ranks that ran the step which is shown at different times; "" for none. */
static const char *say_apart(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_account *account = context->report != NULL ? context->report->account : NULL;
    uint32_t step = account != NULL ? inq_account_median_step(account) : INQ_NONE;
    if (step >= trace->n_steps || !inq_step_is_apart(trace, step)) {
        return "";
    }
    return inq_arena_printf(context->arena,
                            "the ranks ran step %" PRId64 " at different times and no collective "
                            "joins them, so there is no critical path over them",
                            trace->steps[step].number);
}

const char *inq_sentence_reduced(const struct inq_context *context)
{
    const struct inq_reduced *reduced = context->trace->reduced;
    const char *lengths = "";
    const char *longer = "";
    if (reduced == NULL) {
        return "";
    }
    if (reduced->mean_ns >= 0 && reduced->whole_ns >= 0) {
        lengths = inq_arena_printf(context->arena, " (mean %s; of all %zu %s)",
                                   inq_context_ns(context, reduced->whole_ns), reduced->n_steps,
                                   inq_context_ns(context, reduced->mean_ns));
    }
    if (reduced->n_stand_out > 0) {
        longer = inq_arena_printf(
            context->arena, "; %zu of them %s kept for being long and weigh%s more than in the run",
            reduced->n_stand_out, reduced->n_stand_out == 1 ? "was" : "were",
            reduced->n_stand_out == 1 ? "s" : "");
    }
    return inq_arena_printf(context->arena,
                            "reduced partials of %s: %zu of %zu steps have all rows%s, and shares "
                            "and costs are of those%s; " INQ_NOT_SEEN,
                            inq_context_plural(context, reduced->n_ranks, "rank", "ranks"),
                            reduced->n_whole, reduced->n_steps, lengths, longer);
}

const char *inq_sentence_limits(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
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
        text = with_semicolon(context, text,
                              trace->n_missing == 1 ? "no file of rank " : "no file of ranks ",
                              inq_arena_list(context->arena, trace->missing, trace->n_missing));
    }
    if (trace->n_unread > 0) {
        text = with_semicolon(context, text, "could not be read: ",
                              inq_context_plural(context, trace->n_unread, "file", "files"));
    }
    if (unknown > 0) {
        text = with_semicolon(context, text, "rank not recorded in ",
                              inq_context_plural(context, unknown, "file", "files"));
    }
    if (damaged > 0) {
        text = with_semicolon(
            context, text, "",
            inq_arena_printf(context->arena, "%zu of %s damaged", damaged,
                             inq_context_plural(context, trace->n_files, "file", "files")));
    }
    text = with_semicolon(context, text, "", inq_sentence_reduced(context));
    text = with_semicolon(context, text, "", say_contradictions(context));
    text = with_semicolon(context, text, "", say_apart(context));
    if (context->report != NULL && context->report->verdict.without != 0) {
        text = with_semicolon(context, text, "verdict and findings were made without ",
                              section_keys(context, context->report->verdict.without));
    }
    const struct inq_account *account = context->report != NULL ? context->report->account : NULL;
    for (size_t i = 0; account != NULL && i < account->n_violations; i++) {
        text = with_semicolon(context, text, "withheld, ", account->violations[i]);
    }
    if (context->options->ranks != NULL) {
        text = with_semicolon(context, text, "", "rows and findings of selected ranks only");
    }
    return text;
}

const char *inq_sentence_chart_problem(const struct inq_context *context, const struct inq_err *err)
{
    return inq_arena_printf(context->arena, "not available: %s; allow the program more memory",
                            err->message);
}

/* Whether a cause hides behind others: repaired after them it gains more by a hundredth of the step
 * than alone. */
static bool hides(const struct inq_context *context, const struct inq_finding *finding)
{
    const struct inq_account *account = context->report->account;
    double step_ns = account ? (double)account->t_ns : 0.0;
    return (double)(finding->in_order_ns - finding->cost_ns_per_step) >= HIDES_PART * step_ns &&
           step_ns > 0;
}

const char *inq_sentence_numbers(const struct inq_context *context,
                                 const struct inq_finding *finding)
{
    bool told = finding->detail != NULL && finding->detail[0] != '\0';
    const char *text = "";
    bool later = hides(context, finding);
    const char *per = inq_account_per(context->report->account);
    bool titled = finding->joint_with != NULL ||
                  (later && inq_severity_of(finding->share) == INQ_SEVERITY_INFO);
    if (titled) { /* the title says what it costs later */
        text = inq_arena_printf(context->arena, "repaired alone gains %s %s",
                                inq_context_ns(context, finding->cost_ns_per_step), per);
    } else if (finding->cost_ns_per_step >= 0) {
        bool measured = inq_finding_is_measured(context->report->account, finding);
        text = inq_arena_printf(context->arena, "costs %s%s %s", measured ? "up to " : "",
                                inq_context_ns(context, finding->cost_ns_per_step), per);
        if (finding->share >= 0) {
            double percent = 100 * finding->share; /* in as many digits as in the title */
            text = inq_arena_printf(
                context->arena, percent >= 9.95 ? "%s (%.0f %%)" : "%s (%.1f %%)", text, percent);
        }
    }
    if (later && !titled) {
        text =
            with_semicolon(context, text, inq_context_ns(context, finding->in_order_ns),
                           inq_arena_printf(context->arena, " %s after repair of %s", per,
                                            finding->hidden_by != NULL ? finding->hidden_by
                                                                       : "the causes before it"));
    }
    text = with_semicolon(context, text, "confidence: ", inq_confidence_text(finding->confidence));
    if (!told) { /* the detail has these in words */
        text = with_semicolon(context, text, "measured ", finding->measured);
        text = with_semicolon(context, text, "expected ", finding->expected);
    }
    return text;
}

const char *inq_sentence_fixes(const struct inq_context *context, const struct inq_finding *finding)
{
    const char *text = "";
    for (size_t i = 0; i < finding->n_fixes; i++) {
        text =
            inq_arena_printf(context->arena, "%s%s%s", text, i > 0 ? ", " : "", finding->fixes[i]);
    }
    if (finding->n_fixes == 0) {
        return "";
    }
    bool tried = finding->severity > INQ_SEVERITY_INFO || finding->cost_ns_per_step >= 0;
    return inq_arena_printf(context->arena,
                            tried ? "%s (see 'inquest fix')"
                                  : "%s (not simulated: 'inquest fix' tells what helps)",
                            text);
}

/* Seconds since the first event, to the microsecond below or above. */
static const char *say_moment(const struct inq_context *context, int64_t ns, bool up)
{
    int64_t since_ns = ns - context->origin_ns;
    int64_t us = since_ns / 1000;
    us -= since_ns % 1000 < 0;
    us += up && since_ns % 1000 != 0;
    if (us < 0) {
        return "0s"; /* --time has nothing before the first event */
    }
    return inq_arena_printf(context->arena, "%" PRId64 ".%06" PRId64 "s", us / 1000000,
                            us % 1000000);
}

const char *inq_sentence_when(const struct inq_context *context,
                              const struct inq_evidence *evidence)
{
    if (evidence->start_ns == INQ_TIME_NONE) {
        return "";
    }
    if (evidence->end_ns == INQ_TIME_NONE) {
        return say_moment(context, evidence->start_ns, false);
    }
    bool instant = evidence->end_ns <= evidence->start_ns;
    return inq_arena_printf(context->arena, "%s~%s", say_moment(context, evidence->start_ns, false),
                            say_moment(context, evidence->end_ns + instant, true));
}

bool inq_lists_finding(const struct inq_context *context, const struct inq_finding *finding)
{
    return finding->kind != INQ_FINDING_FAILURE && inq_context_shows_finding(context, finding);
}

size_t inq_count_findings(const struct inq_context *context)
{
    size_t n = 0;
    for (size_t i = 0; i < context->report->n_findings; i++) {
        n += inq_lists_finding(context, &context->report->findings[i]);
    }
    return n;
}
