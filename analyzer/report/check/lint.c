/* SPDX-License-Identifier: Apache-2.0 */
/* What lint found in schedules: for people, as JSON, and as CI systems read it. */
#include "base/json.h"
#include "base/arena.h"
#include "inquest/lint.h"
#include "report/check/ci_formats.h"
#include "report/contract/contract.h"
#include "report/render/markdown/markdown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *name_of(const struct inq_lint *lint)
{
    return lint->file != NULL ? lint->file : "schedule";
}

/* ---- text ------------------------------------------------------------------------------------*/

/* "R6, s.csv line 2 (rank 1), cell 4, 1RECV_F1" */
static void place(const struct inq_lint *lint, const struct inq_lint_problem *p, char *buf,
                  size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "%s", inq_lint_rule_text(p->rule));
    if (lint->file != NULL && p->line > 0) {
        used += (size_t)snprintf(buf + used, size - used,
                                 ", %.200s line %" PRId32 " (rank %" PRId32 ")", lint->file,
                                 p->line, p->rank);
    } else if (p->rank >= 0) {
        used += (size_t)snprintf(buf + used, size - used, ", rank %" PRId32, p->rank);
    } else if (lint->file != NULL && p->error) { /* all of it */
        used += (size_t)snprintf(buf + used, size - used, ", %.200s", lint->file);
    }
    if (p->position >= 0) {
        used += (size_t)snprintf(buf + used, size - used, ", cell %" PRId32, p->position + 1);
    }
    if (p->action[0] != '\0') {
        (void)snprintf(buf + used, size - used, ", %s", p->action);
    }
}

static const struct inq_lint_problem *first_error(const struct inq_lint *lint)
{
    for (size_t i = 0; i < lint->n; i++) {
        if (lint->problems[i].error) {
            return &lint->problems[i];
        }
    }
    return NULL;
}

static void problem_text(const struct inq_lint *lint, const struct inq_lint_problem *p,
                         const struct inq_terminal *terminal)
{
    char where[360];
    place(lint, p, where, sizeof where);
    inq_out_text(terminal->out, p->error ? "error  " : "note   ");
    inq_terminal_wrap(terminal, where, 7, 7);
    inq_out_text(terminal->out, "       ");
    inq_terminal_wrap(terminal, p->message, 7, 7);
}

/* The first line is the cause. */
static void lint_text(const struct inq_lint *lint, bool several,
                      const struct inq_terminal *terminal)
{
    const struct inq_lint_problem *first = first_error(lint);
    char buf[360];
    inq_terminal_tint(terminal, first == NULL ? INQ_TINT_GREEN : INQ_TINT_RED);
    if (first == NULL) {
        inq_out_printf(terminal->out, "%s%sPasses: no problem found.\n",
                       several ? name_of(lint) : "", several ? ": " : "");
    } else {
        place(lint, first, buf, sizeof buf);
        inq_out_text(terminal->out, "Fails: ");
        inq_terminal_words(terminal, buf, 7, 7);
        inq_out_text(terminal->out, "\n");
    }
    inq_terminal_plain(terminal);
    if (first != NULL) {
        inq_out_text(terminal->out, "       ");
        inq_terminal_wrap(terminal, first->message, 7, 7);
    }
    for (size_t i = 0; i < lint->n; i++) {
        if (&lint->problems[i] != first) {
            problem_text(lint, &lint->problems[i], terminal);
        }
    }
    if (lint->n_story > 0) {
        inq_out_text(terminal->out, "What happens:\n");
    }
    for (size_t i = 0; i < lint->n_story; i++) {
        inq_out_printf(terminal->out, "%3zu. ", i + 1);
        inq_terminal_wrap(terminal, lint->story[i], 5, 5);
    }
    if (lint->remedy.rank >= 0) {
        inq_out_text(terminal->out, "To mend it: ");
        inq_terminal_wrap(terminal, lint->remedy.text, 12, 12);
    }
    if (lint->buffer_depth == 0) {
        inq_out_text(terminal->out, "Runs without buffering (rendezvous).\n");
    }
}

/* ---- Markdown --------------------------------------------------------------------------------*/

static void paragraph(struct inq_out *out, const char *before, const char *text)
{
    inq_out_text(out, before);
    inq_markdown_text(out, text, INQ_TERMINAL_NO_LIMIT);
    inq_out_text(out, "\n");
}

/* In the order of the text. What was taken for granted asks a reviewer for nothing where the
 * schedule passes. */
static void lint_markdown(const struct inq_lint *lint, struct inq_out *out)
{
    const struct inq_lint_problem *first = first_error(lint);
    char where[360];
    if (first == NULL) {
        paragraph(out, "### :white_check_mark: Passes: no problem found in ", name_of(lint));
    } else {
        place(lint, first, where, sizeof where);
        paragraph(out, "### :x: Fails: ", where);
        paragraph(out, "\n", first->message);
    }
    bool any = false;
    for (size_t i = 0; i < lint->n; i++) {
        const struct inq_lint_problem *p = &lint->problems[i];
        if (p != first && (first != NULL || !p->granted)) {
            place(lint, p, where, sizeof where);
            paragraph(out, any ? "- " : "\n- ", where);
            paragraph(out, p->error ? "  **error**: " : "  note: ", p->message);
            any = true;
        }
    }
    for (size_t i = 0; i < lint->n_story; i++) {
        paragraph(out, i == 0 ? "\nWhat happens:\n\n1. " : "1. ", lint->story[i]);
    }
    if (lint->remedy.rank >= 0) {
        paragraph(out, "\nTo mend it: ", lint->remedy.text);
    }
    if (lint->buffer_depth == 0) {
        inq_out_text(out, "\nRuns without buffering (rendezvous).\n");
    }
}

/* ---- JSON ------------------------------------------------------------------------------------*/

/* Counted as the text counts: ranks from 0, lines, columns and cells from 1; what there is not is
 * null. */
static void whole(struct inq_json *json, const char *key, int32_t value, int32_t least)
{
    if (value >= least) {
        inq_json_int(json, key, value);
    } else {
        inq_json_null(json, key);
    }
}

static void problem_json(struct inq_json *json, const struct inq_lint *lint,
                         const struct inq_lint_problem *p)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "rule", inq_lint_rule_text(p->rule));
    inq_json_string(json, "severity", p->error ? "error" : "note");
    inq_json_string(json, "file", lint->file);
    whole(json, "line", p->line, 1);
    whole(json, "column", p->column, 1);
    whole(json, "rank", p->rank, 0);
    whole(json, "position", p->position >= 0 ? p->position + 1 : -1, 1);
    inq_json_string(json, "action", p->action);
    inq_json_string(json, "message", p->message);
    inq_json_end_object(json);
}

static void lint_json(const struct inq_lint *lint, struct inq_json *json)
{
    inq_json_document(json, &inq_contract_lint);
    inq_json_string(json, "file", lint->file);
    inq_json_bool(json, "pass", lint->n_errors == 0);
    whole(json, "buffer_depth", lint->buffer_depth, 0);
    inq_json_double(json, "peak_activations", lint->peak_memory);
    inq_json_array(json, "problems");
    for (size_t i = 0; i < lint->n; i++) {
        problem_json(json, lint, &lint->problems[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "story");
    for (size_t i = 0; i < lint->n_story; i++) {
        inq_json_string(json, NULL, lint->story[i]);
    }
    inq_json_end_array(json);
    if (lint->remedy.rank >= 0) {
        inq_json_object(json, "remedy");
        inq_json_int(json, "rank", lint->remedy.rank);
        inq_json_int(json, "first", lint->remedy.first + 1);
        inq_json_int(json, "second", lint->remedy.second + 1);
        inq_json_end_object(json);
    }
    inq_json_end_object(json);
}

static void all_json(const struct inq_lint *lints, size_t n, struct inq_out *out)
{
    struct inq_json json;
    bool pass = true;
    inq_json_init(&json, out, false);
    for (size_t i = 0; i < n; i++) {
        pass = pass && lints[i].n_errors == 0;
    }
    if (n == 1) {
        lint_json(lints, &json);
        return;
    }
    inq_json_document(&json, &inq_contract_lint_set);
    inq_json_bool(&json, "pass", pass);
    inq_json_array(&json, "files");
    for (size_t i = 0; i < n; i++) {
        lint_json(&lints[i], &json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

/* ---- CI --------------------------------------------------------------------------------------*/

/* Beside the lines of a merge request what was taken for granted asks for nothing where the file
 * passes. */
static void add_notices(const struct inq_lint *lint, struct inq_arena *arena,
                        struct inq_notices *notices)
{
    struct inq_notice notice = {.suite = name_of(lint), .file = lint->file, .type = "error"};
    for (size_t i = 0; i < lint->n; i++) {
        const struct inq_lint_problem *p = &lint->problems[i];
        if (p->granted && lint->n_errors == 0) {
            continue;
        }
        notice.level = p->error ? INQ_NOTICE_ERROR : INQ_NOTICE_NOTE;
        notice.rule = inq_lint_rule_text(p->rule);
        notice.what = inq_lint_rule_what(p->rule);
        notice.message = inq_notice_text(arena, p, &lint->remedy);
        notice.line = p->line > 0 ? p->line : 1;
        notice.column = p->column;
        inq_notices_add(notices, &notice);
    }
    if (lint->n_errors == 0) {
        notice = (struct inq_notice){.level = INQ_NOTICE_PASSED,
                                     .suite = name_of(lint),
                                     .file = lint->file,
                                     .rule = "lint",
                                     .message = "no problem found"};
        inq_notices_add(notices, &notice);
    }
}

int inq_lint_report(const struct inq_lint *lints, size_t n,
                    const struct inq_report_options *options, struct inq_sink sink,
                    struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        all_json(lints, n, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        struct inq_terminal terminal = inq_terminal_of(options, &out);
        for (size_t i = 0; i < n; i++) {
            lint_text(&lints[i], n > 1, &terminal);
        }
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        for (size_t i = 0; i < n; i++) {
            inq_out_text(&out, i > 0 ? "\n" : "");
            lint_markdown(&lints[i], &out);
        }
    } else {
        struct inq_arena arena = {0};
        struct inq_notices notices = {.tool = "inquest lint"};
        for (size_t i = 0; i < n; i++) {
            add_notices(&lints[i], &arena, &notices);
        }
        code = inq_notices_write(&notices, options->format, &out);
        code = code == INQ_OK && arena.failed ? INQ_NOMEM : code;
        inq_arena_release(&arena);
    }
    return inq_out_end(&out, code, "what lint found", err);
}
