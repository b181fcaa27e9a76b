/* SPDX-License-Identifier: Apache-2.0 */
#include "report/check/ci_formats.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "inquest/version.h"
#include "report/terminal/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NOTICES = 100000 };

void inq_notices_add(struct inq_notices *notices, const struct inq_notice *notice)
{
    struct inq_err err = {0};
    if (notices->code == INQ_OK) {
        notices->code = inq_mem_grow(&notices->rows, &notices->cap, notices->n + 1,
                                     sizeof *notices->rows, MAX_NOTICES, &err);
    }
    if (notices->code == INQ_OK) {
        notices->rows[notices->n++] = *notice;
    }
}

const char *inq_notice_text(struct inq_arena *arena, const struct inq_lint_problem *p,
                            const struct inq_lint_remedy *remedy)
{
    char where[120] = "";
    const char *action = p->action;
    size_t used = 0;
    if (p->rank >= 0) {
        used = (size_t)snprintf(where, sizeof where, "rank %" PRId32 "%s", p->rank,
                                p->position >= 0    ? ", "
                                : action[0] != '\0' ? " "
                                                    : ": ");
    }
    if (p->position >= 0) {
        used += (size_t)snprintf(where + used, sizeof where - used, "cell %" PRId32 "%s",
                                 p->position + 1, action[0] != '\0' ? " " : ": ");
    }
    if (action[0] != '\0') {
        (void)snprintf(where + used, sizeof where - used, used > 0 ? "(%s): " : "%s: ", action);
    }
    bool mends = p->error && remedy != NULL && remedy->text[0] != '\0';
    const char *text = inq_arena_asprintf(arena, "%s%s%s%s", where, p->message, mends ? "; " : "",
                                          mends ? remedy->text : "");
    return text != NULL ? text : "";
}

/* What there is to review; what passed is JUnit's business. */
static bool is_shown(const struct inq_notice *notice)
{
    return !notice->headline &&
           (notice->level == INQ_NOTICE_ERROR || notice->level == INQ_NOTICE_NOTE);
}

/* The same for the same problem of the same file, whatever else is found. */
static void fingerprint(const struct inq_notice *n, char *buf, size_t size)
{
    const char *parts[] = {n->rule, n->file != NULL ? n->file : n->suite, n->message};
    uint64_t hash = inq_hash_u64(((uint64_t)(uint32_t)n->line << 32) | (uint32_t)n->column);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = inq_hash_u64(hash ^ inq_hash_bytes(parts[i], strlen(parts[i])));
    }
    (void)snprintf(buf, size, "%016" PRIx64, hash);
}

/* ---- JUnit XML -------------------------------------------------------------------------------*/

static void attribute(struct inq_out *out, const char *name, const char *value)
{
    inq_out_printf(out, " %s=\"", name);
    inq_markup_text(out, value);
    inq_out_text(out, "\"");
}

static void test_case(const struct inq_notices *notices, const struct inq_notice *n,
                      struct inq_out *out)
{
    char class[32];
    (void)snprintf(class, sizeof class, "%s", notices->tool);
    for (char *p = class; *p != '\0'; p++) {
        *p = *p == ' ' ? '.' : *p;
    }
    inq_out_text(out, "    <testcase");
    attribute(out, "classname", class);
    attribute(out, "name", n->rule);
    if (n->file != NULL) {
        attribute(out, "file", n->file);
        inq_out_printf(out, " line=\"%d\"", n->line > 0 ? (int)n->line : 1);
    }
    inq_out_text(out, " time=\"0\">");
    if (n->level == INQ_NOTICE_ERROR) {
        inq_out_text(out, "\n      <failure");
        attribute(out, "type", n->type);
        attribute(out, "message", n->message);
        inq_out_text(out, ">");
        inq_markup_text(out, n->message);
        inq_markup_text(out, n->details != NULL ? n->details : "");
        inq_out_text(out, "</failure>\n    ");
    } else if (n->level == INQ_NOTICE_SKIPPED) {
        inq_out_text(out, "\n      <skipped");
        attribute(out, "message", n->message);
        inq_out_text(out, "/>\n    ");
    } else {
        inq_out_text(out, "\n      <system-out>");
        inq_markup_text(out, n->message);
        inq_out_text(out, "</system-out>\n    ");
    }
    inq_out_text(out, "</testcase>\n");
}

struct counts {
    size_t tests, failures, skipped;
};

static struct counts count(const struct inq_notice *rows, size_t n)
{
    struct counts c = {0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        c.tests += !rows[i].headline;
        c.failures += !rows[i].headline && rows[i].level == INQ_NOTICE_ERROR;
        c.skipped += !rows[i].headline && rows[i].level == INQ_NOTICE_SKIPPED;
    }
    return c;
}

static void test_suite(const struct inq_notices *notices, size_t first, size_t n,
                       struct inq_out *out)
{
    const struct inq_notice *rows = &notices->rows[first];
    struct counts c = count(rows, n);
    inq_out_text(out, "  <testsuite");
    attribute(out, "name", rows->suite);
    inq_out_printf(out,
                   " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"0\">\n",
                   c.tests, c.failures, c.skipped);
    if (rows->reference != NULL) {
        inq_out_text(out, "    <properties>\n      <property name=\"baseline\"");
        attribute(out, "value", rows->reference);
        inq_out_text(out, "/>\n    </properties>\n");
    }
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].headline) {
            test_case(notices, &rows[i], out);
        }
    }
    inq_out_text(out, "  </testsuite>\n");
}

static void junit(const struct inq_notices *notices, struct inq_out *out)
{
    struct counts c = count(notices->rows, notices->n);
    inq_out_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<testsuites name=\"inquest\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
                   "time=\"0\">\n",
                   c.tests, c.failures);
    for (size_t i = 0; i < notices->n;) {
        size_t end = i + 1;
        while (end < notices->n && notices->rows[end].suite == notices->rows[i].suite) {
            end++;
        }
        test_suite(notices, i, end - i, out);
        i = end;
    }
    inq_out_text(out, "</testsuites>\n");
}

/* ---- GitHub workflow commands ----------------------------------------------------------------*/

/* Text of a command ends at the end of the line; in a property ',' and ':' separate too. */
static void escaped(struct inq_out *out, const char *text, bool property)
{
    struct inq_out safe = {0};
    struct inq_terminal terminal = {.out = &safe, .width = INQ_TERMINAL_WIDTH, .utf8 = true};
    (void)inq_terminal_text(&terminal, text, INQ_TERMINAL_NO_LIMIT);
    for (size_t i = 0; i < safe.len; i++) {
        char c = safe.buf[i];
        if (c == '%' || (property && (c == ',' || c == ':'))) {
            inq_out_printf(out, "%%%02X", (unsigned)c);
        } else {
            inq_out_bytes(out, &c, 1);
        }
    }
    out->code = out->code == INQ_OK ? safe.code : out->code;
    inq_out_release(&safe);
}

static void github(const struct inq_notices *notices, struct inq_out *out)
{
    for (size_t i = 0; i < notices->n; i++) {
        const struct inq_notice *n = &notices->rows[i];
        if (!n->headline && !is_shown(n)) {
            continue;
        }
        inq_out_text(out, n->level == INQ_NOTICE_ERROR ? "::error " : "::notice ");
        if (n->file != NULL) {
            inq_out_text(out, "file=");
            escaped(out, n->file, true);
            inq_out_printf(out, ",line=%d", n->line > 0 ? (int)n->line : 1);
            if (n->column > 0) {
                inq_out_printf(out, ",col=%d", (int)n->column);
            }
            inq_out_text(out, ",");
        }
        inq_out_text(out, "title=");
        escaped(out, notices->tool, true);
        inq_out_text(out, "%3A ");
        escaped(out, n->headline ? n->suite : n->rule, true);
        inq_out_text(out, "::");
        escaped(out, n->message, false);
        inq_out_text(out, "\n");
    }
}

/* ---- GitLab ----------------------------------------------------------------------------------*/

static void gitlab(const struct inq_notices *notices, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_array(&json, NULL);
    for (size_t i = 0; i < notices->n; i++) {
        const struct inq_notice *n = &notices->rows[i];
        char print[32];
        if (!is_shown(n)) {
            continue;
        }
        fingerprint(n, print, sizeof print);
        inq_json_object(&json, NULL);
        inq_json_string(&json, "description", n->message);
        inq_json_string(&json, "check_name", n->rule);
        inq_json_string(&json, "fingerprint", print);
        inq_json_string(&json, "severity", n->level == INQ_NOTICE_ERROR ? "major" : "info");
        inq_json_object(&json, "location");
        inq_json_string(&json, "path", n->file != NULL ? n->file : n->suite);
        inq_json_object(&json, "lines");
        inq_json_int(&json, "begin", n->line > 0 ? n->line : 1);
        inq_json_end_object(&json);
        inq_json_end_object(&json);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
}

/* ---- SARIF 2.1.0 -----------------------------------------------------------------------------*/

/* A path as a URI reference. */
static void uri(struct inq_json *json, const char *path)
{
    struct inq_out text = {0};
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0'; p++) {
        bool plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                     (*p >= 'A' && *p <= 'Z') || strchr("/._-~", *p) != NULL;
        inq_out_printf(&text, plain ? "%c" : "%%%02X", (unsigned)*p);
    }
    inq_out_bytes(&text, "", 1);
    inq_json_string(json, "uri", text.code == INQ_OK ? text.buf : "");
    inq_out_release(&text);
}

static void sarif_result(struct inq_json *json, const struct inq_notice *n)
{
    char print[32];
    fingerprint(n, print, sizeof print);
    inq_json_object(json, NULL);
    inq_json_string(json, "ruleId", n->rule);
    inq_json_string(json, "level", n->level == INQ_NOTICE_ERROR ? "error" : "note");
    inq_json_object(json, "message");
    inq_json_string(json, "text", n->message);
    inq_json_end_object(json);
    inq_json_array(json, "locations");
    inq_json_object(json, NULL);
    inq_json_object(json, "physicalLocation");
    inq_json_object(json, "artifactLocation");
    uri(json, n->file != NULL ? n->file : n->suite);
    inq_json_end_object(json);
    inq_json_object(json, "region");
    inq_json_int(json, "startLine", n->line > 0 ? n->line : 1);
    if (n->column > 0) {
        inq_json_int(json, "startColumn", n->column);
    }
    inq_json_end_object(json);
    inq_json_end_object(json);
    inq_json_end_object(json);
    inq_json_end_array(json);
    inq_json_object(json, "partialFingerprints");
    inq_json_string(json, "inquest/1", print);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static bool is_first_of_rule(const struct inq_notices *notices, size_t i)
{
    for (size_t k = 0; is_shown(&notices->rows[i]) && k < i; k++) {
        if (is_shown(&notices->rows[k]) &&
            strcmp(notices->rows[k].rule, notices->rows[i].rule) == 0) {
            return false;
        }
    }
    return is_shown(&notices->rows[i]);
}

static void sarif(const struct inq_notices *notices, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    inq_json_string(&json, "version", "2.1.0");
    inq_json_array(&json, "runs");
    inq_json_object(&json, NULL);
    inq_json_object(&json, "tool");
    inq_json_object(&json, "driver");
    inq_json_string(&json, "name", notices->tool);
    inq_json_string(&json, "version", INQ_VERSION_STRING);
    inq_json_array(&json, "rules");
    for (size_t i = 0; i < notices->n; i++) {
        if (is_first_of_rule(notices, i)) {
            inq_json_object(&json, NULL);
            inq_json_string(&json, "id", notices->rows[i].rule);
            if (notices->rows[i].what != NULL) {
                inq_json_object(&json, "shortDescription");
                inq_json_string(&json, "text", notices->rows[i].what);
                inq_json_end_object(&json);
            }
            inq_json_end_object(&json);
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    inq_json_end_object(&json);
    inq_json_array(&json, "results");
    for (size_t i = 0; i < notices->n; i++) {
        if (is_shown(&notices->rows[i])) {
            sarif_result(&json, &notices->rows[i]);
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

int inq_notices_write(struct inq_notices *notices, enum inq_format format, struct inq_out *out)
{
    int code = notices->code;
    if (code == INQ_OK && format == INQ_FORMAT_JUNIT) {
        junit(notices, out);
    } else if (code == INQ_OK && format == INQ_FORMAT_GITHUB) {
        github(notices, out);
    } else if (code == INQ_OK && format == INQ_FORMAT_GITLAB) {
        gitlab(notices, out);
    } else if (code == INQ_OK && format == INQ_FORMAT_SARIF) {
        sarif(notices, out);
    } else if (code == INQ_OK) {
        code = INQ_UNSUPPORTED;
    }
    inq_mem_free(notices->rows);
    *notices = (struct inq_notices){0};
    return code;
}
