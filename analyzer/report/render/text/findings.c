/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on the terminal: what, by how much, where to look, what to try. */
#include "report/report.h"

#include "base/say.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { INDENT = 5, FINDINGS_SHOWN = 10, EVIDENCE_SHOWN = 4, LANE_COLUMNS = 24 };
/* On the first screen: the first finding with its evidence, the next ones in short. */
enum { BRIEF_FINDINGS = 5, BRIEF_EVIDENCE = 2 };

static void tint_severity(const struct inq_pen *pen, enum inq_severity severity)
{
    switch (severity) {
    case INQ_SEVERITY_HIGH:
        inq_pen_tint(pen, INQ_TINT_RED);
        break;
    case INQ_SEVERITY_MEDIUM:
        inq_pen_tint(pen, INQ_TINT_YELLOW);
        break;
    case INQ_SEVERITY_LOW:
        inq_pen_tint(pen, INQ_TINT_CYAN);
        break;
    case INQ_SEVERITY_INFO:
        break;
    }
}

/* "HIGH": the severity is readable without colours. */
static void write_severity(const struct inq_pen *pen, enum inq_severity severity)
{
    char word[16];
    size_t i = 0;
    const char *text = inq_severity_text(severity);
    for (; i + 1 < sizeof word && text[i] != '\0'; i++) {
        word[i] = (char)toupper((unsigned char)text[i]);
    }
    word[i] = '\0';
    tint_severity(pen, severity);
    inq_out_text(pen->out, word);
    if (severity != INQ_SEVERITY_INFO) {
        inq_pen_plain(pen);
    }
}

static void indented(const struct inq_pen *pen, const char *label, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    inq_out_printf(pen->out, "%*s%s", INDENT, "", label);
    inq_pen_wrap(pen, text, INDENT + (int)strlen(label), INDENT + (int)strlen(label));
}

static void write_evidence(const struct inq_view *view, const struct inq_pen *pen,
                           const struct inq_evidence *evidence)
{
    const char *when = inq_say_when(view, evidence);
    int column = INDENT + 2;
    inq_out_printf(pen->out, "%*s- ", INDENT - 2 + 2, "");
    if (evidence->rank >= 0) {
        const char *rank = inq_say(view->arena, "rank %" PRId32 "  ", evidence->rank);
        column += inq_pen_text(pen, rank, INQ_PEN_NO_LIMIT);
    }
    if (evidence->lane != NULL && evidence->lane[0] != '\0') {
        column += inq_pen_text(pen, evidence->lane, LANE_COLUMNS);
        inq_out_text(pen->out, "  ");
        column += 2;
    }
    if (when[0] != '\0') {
        inq_out_printf(pen->out, "%s  ", when);
        column += (int)strlen(when) + 2;
    }
    inq_pen_wrap(pen, evidence->what != NULL ? evidence->what : "", column, INDENT + 2);
}

static void write_all_evidence(const struct inq_view *view, const struct inq_pen *pen,
                               const struct inq_finding *finding)
{
    size_t most = view->options->verbose    ? SIZE_MAX
                  : inq_view_is_brief(view) ? (size_t)BRIEF_EVIDENCE
                                            : (size_t)EVIDENCE_SHOWN;
    size_t n = finding->n_evidence < most ? finding->n_evidence : most;
    for (size_t i = 0; i < n; i++) {
        write_evidence(view, pen, &finding->evidence[i]);
    }
    if (n < finding->n_evidence) {
        inq_out_printf(pen->out, "%*s  and %zu more (-v shows all)\n", INDENT, "",
                       finding->n_evidence - n);
    }
}

/* Whether the verdict has said it: a report says nothing twice. */
static bool is_headline(const struct inq_view *view, const struct inq_finding *finding)
{
    const char *headline = view->report->verdict.headline;
    size_t n = strlen(finding->title);
    return n > 0 && strncmp(headline, finding->title, n) == 0 && strcmp(headline + n, ".") == 0;
}

static void write_finding(const struct inq_view *view, const struct inq_pen *pen, size_t number,
                          const struct inq_finding *finding)
{
    bool told = is_headline(view, finding);
    bool whole = number == 1 || !inq_view_is_brief(view);
    inq_out_printf(pen->out, "%2zu.  ", number);
    write_severity(pen, finding->severity);
    inq_out_text(pen->out, "  ");
    int column = INDENT + (int)strlen(inq_severity_text(finding->severity)) + 2;
    inq_pen_wrap(pen, told ? "The verdict above" : finding->title, column, INDENT);
    indented(pen, "", inq_say_numbers(view, finding));
    if (whole) {
        indented(pen, "", told ? "" : finding->detail);
        write_all_evidence(view, pen, finding);
        indented(pen, "Try: ", told ? "" : finding->advice);
    }
    indented(pen, "Fix: ", inq_say_fixes(view, finding));
}

/* Views of where time goes that ask for nothing have a place of their own, below what has a cost.
 */
static bool only_informs(const struct inq_finding *finding)
{
    return finding->severity == INQ_SEVERITY_INFO && finding->cost_ns_per_step < 0;
}

static void write_head(const struct inq_pen *pen, const char *head, const char *order)
{
    inq_out_text(pen->out, "\n");
    inq_pen_tint(pen, INQ_TINT_BOLD);
    inq_out_text(pen->out, head);
    inq_pen_plain(pen);
    inq_out_text(pen->out, order);
}

void inq_text_findings(const struct inq_view *view, const struct inq_pen *pen)
{
    size_t shown = 0;
    size_t wanted = inq_count_findings(view);
    size_t most = view->options->verbose    ? SIZE_MAX
                  : inq_view_is_brief(view) ? (size_t)BRIEF_FINDINGS
                                            : (size_t)FINDINGS_SHOWN;
    if (wanted == 0) {
        return;
    }
    bool informs = false;
    for (size_t i = 0; i < view->report->n_findings; i++) {
        const struct inq_finding *finding = &view->report->findings[i];
        if (!inq_lists_finding(view, finding)) {
            continue;
        }
        if (shown >= most) {
            break;
        }
        if (only_informs(finding) && !informs) {
            write_head(pen, "For information", ", without a cost of its own\n");
        } else if (shown == 0) {
            write_head(pen, "Findings", ", most costly first\n");
        }
        informs = only_informs(finding);
        write_finding(view, pen, ++shown, finding);
    }
    if (shown < wanted) {
        inq_out_printf(pen->out, "     %zu more finding%s not shown (-v shows all)\n",
                       wanted - shown, wanted - shown == 1 ? " is" : "s are");
    }
}
