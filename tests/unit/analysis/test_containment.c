/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is lost because one part fails: each analysis fails in turn, and all other sections are
 * byte for byte those of the undisturbed report. */
#include "analysis/analysis.h"
#include "inquest/ingest.h"
#include "inquest/report.h"

#include "base/mem.h"
#include "inquest/out.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REASON   "planted by the test"
#define MAX_ROWS 32

static const char *const samples[] = {
    INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8",
    INQ_SOURCE_DIR "/sample-traces/pipeline_pp4_long_last",
    INQ_SOURCE_DIR "/sample-traces/damaged_dp4",
    INQ_SOURCE_DIR "/tests/fuzz/seeds/log",
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static struct inq_run *read_sample(const char *path)
{
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    if (inq_ingest(&path, 1, NULL, &run, &err) != INQ_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    assert_true(run->n_traces > 0);
    return run;
}

/* Leaves rows behind, as an analysis does that fails half way. */
static int fail_midway(const struct inq_trace *trace, const struct inq_analysis_options *options,
                       struct inq_report *report, struct inq_err *err)
{
    static struct inq_collectives half;
    static struct inq_attribution blame;
    (void)trace;
    (void)options;
    report->collectives = &half;
    report->attribution = &blame;
    return inq_err_set(err, INQ_FORMAT, "%s", REASON);
}

/* The report when the row with this index fails; `fails` past the rows: none does. */
static struct inq_report *analyze(const struct inq_trace *trace, size_t fails)
{
    struct inq_analysis rows[MAX_ROWS];
    size_t n = 0;
    const struct inq_analysis *all = inq_analysis_rows(&n);
    struct inq_analysis_options options = {.jobs = 1, .method = INQ_METHOD_HTA};
    struct inq_report *report = NULL;
    assert_true(n <= MAX_ROWS);
    memcpy(rows, all, n * sizeof *rows);
    if (fails < n) {
        rows[fails].run = fail_midway;
    }
    assert_int_equal(inq_analyze_rows(rows, n, trace, &options, &report, NULL), INQ_OK);
    return report;
}

/* The document; free with free(). */
static char *document(const struct inq_run *run, struct inq_report *report, enum inq_format format,
                      uint32_t hidden)
{
    struct inq_report_options options = {.format = format, .hidden = hidden, .verbose = true};
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_report_write(run, &report, 1, &options, sink, NULL), INQ_OK);
    char *text = malloc(out.len + 1);
    assert_non_null(text);
    memcpy(text, out.buf, out.len);
    text[out.len] = '\0';
    inq_out_release(&out);
    return text;
}

/* Sections that say something else when this one failed: those that need or read it, and what is
 * said of them all. */
static uint32_t touched(enum inq_section failed)
{
    size_t n = 0;
    const struct inq_analysis *rows = inq_analysis_rows(&n);
    uint32_t bits = INQ_SECTION_BIT(failed) | INQ_SECTION_BIT(INQ_SECTION_FINDINGS);
    for (size_t i = 0; i < n; i++) {
        if (((rows[i].needs | rows[i].reads) & bits & ~INQ_SECTION_BIT(INQ_SECTION_FINDINGS)) !=
            0) {
            bits |= INQ_SECTION_BIT(rows[i].section);
        }
    }
    return bits;
}

static bool is_touched(const char *key, uint32_t bits)
{
    if (strcmp(key, "account") == 0) { /* its causes are those of the findings */
        return true;
    }
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        if (strcmp(key, inq_section_key((enum inq_section)s)) == 0) {
            return (bits & INQ_SECTION_BIT(s)) != 0;
        }
    }
    return strcmp(key, "verdict") == 0 ||
           ((bits & INQ_SECTION_BIT(INQ_SECTION_ACCOUNT)) != 0 && strncmp(key, "step", 4) == 0);
}

static void same_json(const char *whole, const char *part, enum inq_section failed)
{
    cJSON *a = cJSON_Parse(whole);
    cJSON *b = cJSON_Parse(part);
    assert_non_null(a);
    assert_non_null(b);
    const cJSON *mark =
        cJSON_GetObjectItem(cJSON_GetObjectItem(b, inq_section_key(failed)), "unavailable");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(mark, "reason")), REASON);
    assert_true(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(mark, "next"))) > 10);
    for (const cJSON *item = a->child; item != NULL; item = item->next) {
        if (is_touched(item->string, touched(failed))) {
            continue;
        }
        char *left = cJSON_Print(item);
        char *right = cJSON_Print(cJSON_GetObjectItem(b, item->string));
        assert_non_null(right);
        assert_string_equal(left, right);
        free(left);
        free(right);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
}

static void analyses__fail_alone_in_json(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_analysis *rows = inq_analysis_rows(&n);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct inq_run *run = read_sample(samples[i]);
        struct inq_report *whole = analyze(run->traces[0], n);
        char *undisturbed = document(run, whole, INQ_FORMAT_JSON, 0);
        for (size_t f = 0; f < n; f++) {
            struct inq_report *part = analyze(run->traces[0], f);
            char *disturbed = document(run, part, INQ_FORMAT_JSON, 0);
            same_json(undisturbed, disturbed, rows[f].section);
            assert_false(inq_report_is_void(part));
            free(disturbed);
            inq_report_free(part);
        }
        free(undisturbed);
        inq_report_free(whole);
        inq_run_free(run);
    }
}

/* Whether `text` has the paragraph [from, end), from one empty line to the next. */
static bool has_paragraph(const char *text, const char *from, const char *end)
{
    size_t n = (size_t)(end - from);
    for (const char *at = text; (at = strchr(at, *from)) != NULL; at++) {
        bool begins = at == text || at[-1] == '\n';
        if (begins && strncmp(at, from, n) == 0 && (at[n] == '\n' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Every paragraph of `part` that is not in `whole`: returns how many, and asserts that each is one
 * of the head (the first `head` paragraphs), findings or "not available". */
static size_t new_paragraphs(const char *whole, const char *part, size_t head)
{
    size_t fresh = 0;
    size_t number = 0;
    for (const char *from = part; *from != '\0'; number++) {
        const char *end = strstr(from, "\n\n");
        end = end != NULL ? end : from + strlen(from);
        if (end > from && !has_paragraph(whole, from, end)) {
            char text[4096];
            size_t n = (size_t)(end - from) < sizeof text ? (size_t)(end - from) : sizeof text - 1;
            memcpy(text, from, n);
            text[n] = '\0';
            if (number >= head && strncmp(text, "Findings", 8) != 0 &&
                strncmp(text, "For information", 15) != 0 &&
                strstr(text, "not available: ") == NULL) {
                fail_msg("changed though it does not depend on what failed: %s", text);
            }
            fresh++;
        }
        from = end + strspn(end, "\n");
    }
    return fresh;
}

static void analyses__fail_alone_in_text(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_analysis *rows = inq_analysis_rows(&n);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct inq_run *run = read_sample(samples[i]);
        struct inq_report *whole = analyze(run->traces[0], n);
        char *undisturbed = document(run, whole, INQ_FORMAT_TEXT, 0);
        for (size_t f = 0; f < n; f++) {
            struct inq_report *part = analyze(run->traces[0], f);
            char *disturbed = document(run, part, INQ_FORMAT_TEXT, 0);
            assert_true(new_paragraphs(undisturbed, disturbed, 2) > 0);
            assert_non_null(strstr(disturbed, inq_section_title(rows[f].section)));
            assert_non_null(strstr(disturbed, "not available: " REASON "; "));
            free(disturbed);
            inq_report_free(part);
        }
        free(undisturbed);
        inq_report_free(whole);
        inq_run_free(run);
    }
}

/* The first "## " at the start of a line of `text`; its end if there is none. */
static const char *next_heading(const char *text)
{
    const char *at = strncmp(text, "## ", 3) == 0 ? text : strstr(text, "\n## ");
    return at == NULL ? text + strlen(text) : at + (*at == '\n');
}

/* Every section of a Markdown document but the head and the findings is one of `whole`, or says
 * that it is not available. */
static void same_sections(const char *whole, const char *part)
{
    for (const char *at = next_heading(part); *at != '\0';) {
        const char *end = next_heading(at + 3);
        char *section = strndup(at, (size_t)(end - at));
        assert_non_null(section);
        if (strncmp(section, "## Findings", 11) != 0 && strstr(whole, section) == NULL &&
            strstr(section, "not available: ") == NULL) {
            fail_msg("changed though it does not depend on what failed: %s", section);
        }
        free(section);
        at = end;
    }
}

static void analyses__fail_alone_in_markdown(void **state)
{
    (void)state;
    size_t n = 0;
    (void)inq_analysis_rows(&n);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct inq_run *run = read_sample(samples[i]);
        struct inq_report *whole = analyze(run->traces[0], n);
        char *undisturbed = document(run, whole, INQ_FORMAT_MARKDOWN, 0);
        same_sections(undisturbed, undisturbed);
        for (size_t f = 0; f < n; f++) {
            struct inq_report *part = analyze(run->traces[0], f);
            char *disturbed = document(run, part, INQ_FORMAT_MARKDOWN, 0);
            assert_non_null(strstr(disturbed, "not available: " REASON));
            same_sections(undisturbed, disturbed);
            free(disturbed);
            inq_report_free(part);
        }
        free(undisturbed);
        inq_report_free(whole);
        inq_run_free(run);
    }
}

#ifdef INQ_HAVE_HTML
/* Cuts what lies between the mark and the next "</script>" out of the page; free with free(). */
static char *cut_script(char *page, const char *mark)
{
    char *from = strstr(page, mark);
    assert_non_null(from);
    from += strlen(mark);
    char *end = strstr(from, "</script>");
    assert_non_null(end);
    char *script = strndup(from, (size_t)(end - from));
    assert_non_null(script);
    memmove(from, end, strlen(end) + 1);
    return script;
}

/* From the end of the page's own text on: the scripts. */
static const char *after_text(const char *page)
{
    const char *at = strstr(page, "</main>");
    assert_non_null(at);
    return at;
}

static void analyses__fail_alone_in_html(void **state)
{
    (void)state;
    static const char report[] = "<script type=\"application/json\" id=\"inq-report\">";
    static const char timeline[] = "<script type=\"application/json\" id=\"inq-timeline\">";
    size_t n = 0;
    const struct inq_analysis *rows = inq_analysis_rows(&n);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct inq_run *run = read_sample(samples[i]);
        struct inq_report *whole = analyze(run->traces[0], n);
        char *undisturbed = document(run, whole, INQ_FORMAT_HTML, 0);
        char *json = cut_script(undisturbed, report);
        free(cut_script(undisturbed, timeline));
        for (size_t f = 0; f < n; f++) {
            struct inq_report *part = analyze(run->traces[0], f);
            char *disturbed = document(run, part, INQ_FORMAT_HTML, 0);
            char *part_json = cut_script(disturbed, report);
            free(cut_script(disturbed, timeline)); /* its windows are of findings and steps */
            assert_non_null(strstr(disturbed, "not available: " REASON));
            same_json(json, part_json, rows[f].section);
            assert_string_equal(after_text(undisturbed), after_text(disturbed));
            free(part_json);
            free(disturbed);
            inq_report_free(part);
        }
        free(json);
        free(undisturbed);
        inq_report_free(whole);
        inq_run_free(run);
    }
}
#endif

/* Memory for the model and a little more: what there is no room for says so, and all else is as it
 * would be. */
static void analyses__go_without_what_memory_does_not_allow(void **state)
{
    (void)state;
    struct inq_run *run = read_sample(samples[0]);
    struct inq_report *whole = analyze(run->traces[0], SIZE_MAX);
    char *undisturbed = document(run, whole, INQ_FORMAT_MARKDOWN, 0);
    inq_report_free(whole);
    size_t partial = 0;
    size_t complete = 0;
    for (uint64_t more = 64 << 10; more <= 64 << 20; more += more / 4) {
        struct inq_report *report = NULL;
        struct inq_analysis_options options = {.jobs = 1, .method = INQ_METHOD_HTA};
        struct inq_err err = {0};
        inq_mem_set_limit(inq_mem_held() + more);
        int code = inq_analyze(run->traces[0], &options, &report, &err);
        inq_mem_set_limit(0);
        assert_int_equal(code, INQ_OK);
        size_t lacking = 0;
        for (int s = 0; s < INQ_SECTION_COUNT; s++) {
            const char *reason = report->sections[s].reason;
            lacking += reason != NULL;
            assert_true(reason == NULL || strstr(reason, "it needs ") != NULL ||
                        strstr(reason, " are needed, ") != NULL);
        }
        char *text = document(run, report, INQ_FORMAT_MARKDOWN, 0);
        same_sections(undisturbed, text);
        assert_true(lacking > 0 || strcmp(text, undisturbed) == 0);
        partial += lacking > 0;
        complete += lacking == 0;
        free(text);
        inq_report_free(report);
    }
    assert_true(partial > 2);
    assert_true(complete > 0);
    free(undisturbed);
    inq_run_free(run);
}

static void verdict__names_what_it_was_made_without(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_analysis *rows = inq_analysis_rows(&n);
    struct inq_run *run = read_sample(samples[0]);
    for (size_t f = 0; f < n; f++) {
        struct inq_report *report = analyze(run->traces[0], f);
        bool counts = rows[f].section != INQ_SECTION_METHOD;
        assert_int_equal((report->verdict.without & INQ_SECTION_BIT(rows[f].section)) != 0, counts);
        assert_true(!counts || report->verdict.confidence != INQ_CONFIDENCE_ESTABLISHED);
        if (rows[f].section == INQ_SECTION_BLAME) { /* not as if the ranks had nothing in common */
            assert_null(strstr(report->verdict.headline, "step in common"));
            assert_null(strstr(report->verdict.headline, "No straggler"));
        }
        if (rows[f].section == INQ_SECTION_FINDINGS) {
            assert_string_equal(report->verdict.cls, "not_available");
        }
        inq_report_free(report);
    }
    inq_run_free(run);
}

/* What --only does: other sections are hidden, and what is shown says the same. */
static void sections__shown_alone_say_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct inq_run *run = read_sample(samples[i]);
        struct inq_report *report = analyze(run->traces[0], SIZE_MAX);
        char *whole = document(run, report, INQ_FORMAT_TEXT, 0);
        for (int s = 0; s < INQ_SECTION_FINDINGS; s++) {
            uint32_t hidden = ~(INQ_SECTION_BIT(s) | INQ_SECTION_BIT(INQ_SECTION_FINDINGS));
            char *part = document(run, report, INQ_FORMAT_TEXT, hidden);
            assert_int_equal(new_paragraphs(whole, part, 0), 0);
            assert_true(strlen(part) < strlen(whole));
            free(part);
        }
        free(whole);
        inq_report_free(report);
        inq_run_free(run);
    }
}

static void report__is_void_when_nothing_could_be_said(void **state)
{
    (void)state;
    struct inq_trace trace = {0};
    struct inq_analysis rows[MAX_ROWS];
    size_t n = 0;
    const struct inq_analysis *all = inq_analysis_rows(&n);
    struct inq_report *report = analyze(&trace, SIZE_MAX);
    assert_false(inq_report_is_void(report));
    inq_report_free(report);
    memcpy(rows, all, n * sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        rows[i].run = fail_midway;
    }
    assert_int_equal(inq_analyze_rows(rows, n, &trace, NULL, &report, NULL), INQ_OK);
    assert_true(inq_report_is_void(report));
    inq_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyses__fail_alone_in_json),
        cmocka_unit_test(analyses__fail_alone_in_text),
        cmocka_unit_test(analyses__fail_alone_in_markdown),
#ifdef INQ_HAVE_HTML
        cmocka_unit_test(analyses__fail_alone_in_html),
#endif
        cmocka_unit_test(analyses__go_without_what_memory_does_not_allow),
        cmocka_unit_test(verdict__names_what_it_was_made_without),
        cmocka_unit_test(sections__shown_alone_say_the_same),
        cmocka_unit_test(report__is_void_when_nothing_could_be_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
