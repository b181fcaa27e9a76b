/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML report: nothing that an input says becomes mark-up or script, sections that do not apply
 * are absent, and ops that evidence points to are never merged away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#ifdef INQ_HAVE_HTML

#include "base/json.h"
#include "base/mem.h"
#include "inquest/ingest.h"
#include "report/render/html/html.h"
#include "report/terminal/terminal.h"
#include "support_report.h"
#include "support_shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *write_html(const struct made_report *made, size_t n_reports)
{
    struct inq_report_options options = {.format = INQ_FORMAT_HTML};
    return made_report_write(made, &options, n_reports);
}

static char *write_made(size_t n_reports)
{
    struct made_report made;
    made_report_fill(&made);
    char *text = write_html(&made, n_reports);
    made_report_release(&made);
    return text;
}

/* ---- escaping -------------------------------------------------------------------------------- */

static void expect_text(const char *input, const char *output)
{
    struct inq_out out = {0};
    inq_markup_text(&out, input);
    assert_string_equal(out.buf, output);
    inq_out_release(&out);
}

static void html__text_has_no_markup(void **state)
{
    (void)state;
    expect_text("a < b && c > \"d\" 'e'", "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
    expect_text("</script><img onerror=x>", "&lt;/script&gt;&lt;img onerror=x&gt;");
    expect_text("\xc3\xa4\xe2\x80\xa6", "\xc3\xa4\xe2\x80\xa6");
    expect_text("x\xff\xc3", "x\xef\xbf\xbd\xef\xbf\xbd");
    expect_text("\033[31m\r\x7f", "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd");
}

/* The script filter gives the same whether it gets the bytes at once or one by one. */
static void expect_script(const char *input, const char *output)
{
    size_t n = strlen(input);
    for (size_t piece = 1; piece <= n; piece++) {
        struct inq_out out = {0};
        struct inq_html_script script = {.to = &out};
        for (size_t i = 0; i < n; i += piece) {
            size_t len = n - i < piece ? n - i : piece;
            assert_int_equal(inq_html_script_write(&script, input + i, len), INQ_OK);
        }
        assert_int_equal(inq_html_script_end(&script), INQ_OK);
        assert_string_equal(out.buf, output);
        inq_out_release(&out);
    }
}

static void html__json_cannot_end_its_script(void **state)
{
    (void)state;
    expect_script("\"</script><!--&\"", "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    expect_script("a\xe2\x80\xa8z\xe2\x80\xa9", "a\\u2028z\\u2029");
    expect_script("\xe2\x80\xa6\xe2\x82\xac\xe2", "\xe2\x80\xa6\xe2\x82\xac\xe2");
    expect_script("\xe2\x80\xe2\x80\xa8<", "\xe2\x80\\u2028\\u003c");
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what)) {
        n++;
    }
    return n;
}

static void html__hostile_names_stay_text(void **state)
{
    (void)state;
    char *text = write_made(2);
    assert_int_equal(count(text, "<img"), 0);
    assert_int_equal(count(text, "</script"), 4); /* two of data, D3, ours */
    assert_int_equal(count(text, "<script"), 4);
    assert_int_equal(count(text, "\033"), 0);
    assert_non_null(strstr(text, "&lt;img src=x onerror=alert(1)&gt;&lt;/script&gt;"));
    assert_non_null(strstr(text, "\\u003cimg src=x onerror=alert(1)\\u003e\\u003c/script\\u003e"));
    free(text);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void html__has_a_policy_and_loads_nothing(void **state)
{
    (void)state;
    char *text = write_made(1);
    const char *policy = strstr(text, "http-equiv=\"Content-Security-Policy\"");
    assert_non_null(policy);
    assert_non_null(strstr(policy, "default-src 'none'"));
    assert_int_equal(count(text, "unsafe-inline"), 0);
    assert_int_equal(count(text, "<link"), 0);
    assert_int_equal(count(text, " src=\""), 0);
    free(text);
}

/* The text of the script element with this id, [n]; the caller's. */
static char *data_of(const char *html, const char *id)
{
    const char *at = strstr(html, id);
    assert_non_null(at);
    at = strchr(at, '>') + 1;
    size_t n = (size_t)(strstr(at, "</script>") - at);
    char *text = strndup(at, n);
    assert_non_null(text);
    return text;
}

static struct cJSON *parse(const char *html, const char *id)
{
    struct cJSON *root = NULL;
    struct inq_err err = {0};
    char *text = data_of(html, id);
    assert_int_equal(inq_json_parse(text, strlen(text), &root, &err), INQ_OK);
    free(text);
    return root;
}

static void html__data_is_the_json_document(void **state)
{
    (void)state;
    char *text = write_made(1);
    struct cJSON *root = parse(text, "id=\"inq-report\"");
    assert_string_equal(inq_json_text(inq_json_get(root, "schema"), ""), "inquest-report/1");
    assert_non_null(inq_json_get(root, "verdict"));
    assert_null(inq_json_get(root, "pipeline"));
    assert_null(inq_json_get(root, "failure"));
    inq_json_free(root);
    root = parse(text, "id=\"inq-timeline\"");
    assert_int_equal(inq_json_count(root), 1);
    inq_json_free(root);
    free(text);
}

static void html__a_timeline_for_every_report(void **state)
{
    (void)state;
    char *text = write_made(2);
    struct cJSON *root = parse(text, "id=\"inq-timeline\"");
    assert_int_equal(inq_json_count(root), 2);
    inq_json_free(root);
    free(text);
}

/* ---- spans ----------------------------------------------------------------------------------- */

enum { OPS = 100 };

struct lane_of_ops {
    struct inq_events events;
    int64_t start_ns[OPS], dur_ns[OPS];
    uint8_t kind[OPS], cls[OPS];
};

/* Ops of 8 ns, one every 10 ns. */
static struct inq_html_lane fill_lane(struct lane_of_ops *ops)
{
    memset(ops, 0, sizeof *ops);
    for (int i = 0; i < OPS; i++) {
        ops->start_ns[i] = 10 * (int64_t)i;
        ops->dur_ns[i] = 8;
        ops->kind[i] = INQ_EVENT_KERNEL;
    }
    ops->events = (struct inq_events){.n = OPS,
                                      .start_ns = ops->start_ns,
                                      .dur_ns = ops->dur_ns,
                                      .kind = ops->kind,
                                      .cls = ops->cls};
    return (struct inq_html_lane){&ops->events, 0, OPS};
}

static const struct inq_html_window everything = {.start_ns = 0, .end_ns = 10 * OPS};

static void html__spans_below_a_pixel_are_merged(void **state)
{
    (void)state;
    struct lane_of_ops ops;
    struct inq_html_lane lane = fill_lane(&ops);
    struct inq_html_marks none = {0};
    struct inq_html_span span;
    size_t at = 0;
    size_t spans = 0;
    size_t merged = 0;
    while (inq_html_next_span(&lane, &everything, &none, 40, &at, &span)) {
        assert_true(span.end_ns - span.start_ns <= 40);
        spans++;
        merged += span.count;
    }
    assert_int_equal(merged, OPS);
    assert_int_equal(spans, OPS / 4);
}

static void html__without_a_pixel_nothing_is_merged(void **state)
{
    (void)state;
    struct lane_of_ops ops;
    struct inq_html_lane lane = fill_lane(&ops);
    struct inq_html_marks none = {0};
    struct inq_html_span span;
    size_t spans = 0;
    for (size_t at = 0; inq_html_next_span(&lane, &everything, &none, 0, &at, &span);) {
        assert_int_equal(span.count, 1);
        spans++;
    }
    assert_int_equal(spans, OPS);
}

static void html__evidence_is_never_merged_away(void **state)
{
    (void)state;
    struct lane_of_ops ops;
    struct inq_html_lane lane = fill_lane(&ops);
    int64_t times[] = {530, 708}; /* op 53 begins, op 70 ends */
    struct inq_html_marks marks = {2, times};
    struct inq_html_span span;
    size_t merged = 0;
    bool begins = false;
    bool ends = false;
    for (size_t at = 0; inq_html_next_span(&lane, &everything, &marks, 1000, &at, &span);) {
        begins = begins || (span.start_ns == 530 && span.end_ns == 538 && span.count == 1);
        ends = ends || (span.start_ns == 700 && span.end_ns == 708 && span.count == 1);
        merged += span.count;
    }
    assert_true(begins);
    assert_true(ends);
    assert_int_equal(merged, OPS);
}

static void html__only_the_window_is_drawn(void **state)
{
    (void)state;
    struct lane_of_ops ops;
    struct inq_html_lane lane = fill_lane(&ops);
    const struct inq_html_window window = {.start_ns = 205, .end_ns = 301};
    struct inq_html_marks none = {0};
    struct inq_html_span span;
    size_t spans = 0;
    inq_html_narrow(&lane, &window);
    for (size_t at = lane.first; inq_html_next_span(&lane, &window, &none, 0, &at, &span);) {
        assert_in_range(span.start_ns, 200, 300);
        spans++;
    }
    assert_int_equal(spans, 11); /* 200 reaches in, 300 begins inside */
}

/* ---- real runs ------------------------------------------------------------------------------- */

/* The page of a run of one job, which is released. */
static struct inq_out page_of_run(struct inq_run *run, int jobs)
{
    struct inq_analysis_options asking = {.jobs = jobs};
    struct inq_report_options writing = {.format = INQ_FORMAT_HTML};
    struct inq_out out = {0};
    struct inq_err err = {0};
    struct inq_report *report = NULL;
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(inq_analyze(run->traces[0], &asking, &report, &err), INQ_OK);
    assert_int_equal(inq_report_write(run, &report, 1, &writing, inq_out_sink(&out), &err), INQ_OK);
    inq_report_free(report);
    inq_run_free(run);
    return out;
}

/* The page of a sample run, read and analyzed by `jobs` threads. */
static struct inq_out page_of(const char *sample, int jobs)
{
    char path[512];
    (void)snprintf(path, sizeof path, INQ_SOURCE_DIR "/sample-traces/%s", sample);
    const char *const paths[] = {path};
    struct inq_ingest_options reading = {.jobs = jobs};
    struct inq_err err = {0};
    struct inq_run *run = NULL;
    assert_int_equal(inq_ingest(paths, 1, &reading, &run, &err), INQ_OK);
    return page_of_run(run, jobs);
}

static const struct cJSON *item_of(const struct cJSON *array, size_t i)
{
    const struct cJSON *item = inq_json_first(array);
    for (; i > 0 && item != NULL; i--) {
        item = inq_json_next(item);
    }
    return item;
}

/* Kinds of the host's spans in a lane, a bit each. */
static unsigned kinds_of(const struct cJSON *styles, const struct cJSON *lane)
{
    static const char *const kinds[] = {"launch", "sync", "data", "host"};
    const struct cJSON *spans = inq_json_get(lane, "spans");
    unsigned found = 0;
    for (size_t i = 2; i < inq_json_count(spans); i += 4) {
        int64_t style = inq_json_integer(item_of(spans, i), -1);
        const char *kind = inq_json_text(inq_json_get(item_of(styles, (size_t)style), "kind"), "");
        for (unsigned k = 0; k < 4; k++) {
            found |= strcmp(kind, kinds[k]) == 0 ? 1u << k : 0;
        }
    }
    return found;
}

/* Of the host the page has what it called and the data it waited for, in lanes of their own; not
 * the range that is all of the step. */
static void html__a_row_has_what_its_host_did(void **state)
{
    struct inq_out page = page_of("late_host_dp4", 2);
    inq_out_bytes(&page, "", 1);
    struct cJSON *root = parse(page.buf, "id=\"inq-timeline\"");
    const struct cJSON *timeline = item_of(root, 0);
    const struct cJSON *styles = inq_json_get(timeline, "styles");
    const struct cJSON *rows = inq_json_get(item_of(inq_json_get(timeline, "windows"), 0), "rows");
    (void)state;
    assert_int_equal(inq_json_count(rows), 4);
    for (size_t r = 0; r < 4; r++) {
        const struct cJSON *lanes = inq_json_get(item_of(rows, r), "lanes");
        unsigned found[2] = {0};
        size_t n = 0;
        for (size_t i = 0; i < inq_json_count(lanes); i++) {
            if (inq_json_get(item_of(lanes, i), "host") != NULL) {
                assert_true(n < 2);
                found[n++] = kinds_of(styles, item_of(lanes, i));
            }
        }
        assert_int_equal(n, 2);
        assert_int_equal(found[0], 1 << 2);                   /* data loading */
        assert_int_equal(found[1], 1 << 0 | 1 << 1 | 1 << 3); /* calls */
    }
    for (size_t i = 0; i < inq_json_count(styles); i++) {
        const char *name = inq_json_text(inq_json_get(item_of(styles, i), "name"), "");
        assert_null(strstr(name, "ProfilerStep"));
        assert_null(strstr(name, "Optimizer"));
    }
    inq_json_free(root);
    inq_out_release(&page);
}

/* Of more ranks than the timeline has rows for it says how many are left out. */
static void html__ranks_without_a_row_are_counted(void **state)
{
    struct inq_out table = {0};
    struct inq_run *run = NULL;
    (void)state;
    inq_out_text(&table, "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n");
    for (int rank = 0; rank < 300; rank++) {
        inq_out_printf(&table, "%d,0,%d,1,forward-compute,0.0,0.01,0,0,0,0\n", rank, rank);
        inq_out_printf(&table, "%d,0,%d,1,backward-compute,0.02,0.01,0,0,0,0\n", rank, rank);
    }
    const struct inq_ingest_blob blob = {"trace-many.csv", table.buf, table.len};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &run, NULL), INQ_OK);
    struct inq_out page = page_of_run(run, 1);
    assert_non_null(strstr(page.buf, "\"rows_left_out\":44"));
    inq_out_release(&page);
    inq_out_release(&table);
}

static void html__does_not_depend_on_threads(void **state)
{
    static const char *const samples[] = {"slow_gpu_dp8", "pipeline_pp4_long_last", "damaged_dp4"};
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct inq_out one = page_of(samples[i], 1);
        struct inq_out eight = page_of(samples[i], 8);
        assert_int_equal(one.len, eight.len);
        assert_memory_equal(one.buf, eight.buf, one.len);
        inq_out_release(&one);
        inq_out_release(&eight);
    }
}

/* The window of the timeline that holds a moment, NULL when none does. */
static const struct cJSON *window_at(const struct cJSON *timeline, int64_t at_ns)
{
    const struct cJSON *w = inq_json_first(inq_json_get(timeline, "windows"));
    for (; w != NULL; w = inq_json_next(w)) {
        if (inq_json_integer(inq_json_get(w, "start_ns"), 0) <= at_ns &&
            inq_json_integer(inq_json_get(w, "end_ns"), 0) > at_ns) {
            return w;
        }
    }
    return NULL;
}

/* A step's window is that of its kernels, not of its host: the last op is drawn whole. */
static void html__a_window_has_all_work_of_its_step(void **state)
{
    (void)state;
    const int64_t ms = 1000000;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#3", 1000 * ms, 5 * ms, false);
    made_kernel(&shard, "ampere_sgemm_128x64_nn", 7, 1001 * ms, 3 * ms, 1000 * ms + 1000, INQ_NONE);
    made_kernel(&shard, "ampere_sgemm_128x64_nn", 7, 1004 * ms, 5 * ms, 1000 * ms + 9000, INQ_NONE);
    struct inq_out page = page_of_run(made_run(&shard, 1, false), 1);
    struct cJSON *root = parse(page.buf, "id=\"inq-timeline\"");
    const struct cJSON *timeline = inq_json_first(root);
    const struct cJSON *w = item_of(inq_json_get(timeline, "windows"), 0);
    int64_t origin_ns = strtoll(inq_json_text(inq_json_get(timeline, "origin_ns"), "0"), NULL, 10);
    assert_int_equal(origin_ns + inq_json_integer(inq_json_get(w, "start_ns"), -1), 1001 * ms);
    assert_int_equal(origin_ns + inq_json_integer(inq_json_get(w, "end_ns"), -1), 1009 * ms);
    assert_int_equal(inq_json_integer(inq_json_get(w, "step"), -1), 3);
    inq_json_free(root);
    inq_out_release(&page);
}

/* Whether a span of the lane begins at that moment. */
static bool begins_at(const struct cJSON *lane, int64_t window_ns, int64_t at_ns)
{
    int64_t time_ns = window_ns;
    int place = 0;
    const struct cJSON *n = inq_json_first(inq_json_get(lane, "spans"));
    for (; n != NULL; n = inq_json_next(n), place++) {
        time_ns += place % 4 < 2 ? inq_json_integer(n, 0) : 0;
        if (place % 4 == 0 && time_ns == at_ns) {
            return true;
        }
    }
    return false;
}

static bool rank_has_span(const struct cJSON *window, int64_t rank, int64_t at_ns)
{
    int64_t window_ns = inq_json_integer(inq_json_get(window, "start_ns"), 0);
    const struct cJSON *row = inq_json_first(inq_json_get(window, "rows"));
    for (; row != NULL; row = inq_json_next(row)) {
        const struct cJSON *lane = inq_json_first(inq_json_get(row, "lanes"));
        for (; lane != NULL; lane = inq_json_next(lane)) {
            if (inq_json_integer(inq_json_get(row, "rank"), -1) == rank &&
                begins_at(lane, window_ns, at_ns)) {
                return true;
            }
        }
    }
    return false;
}

/* Findings of the straggler sample point to collectives in several steps; the timeline holds every
 * one of them, as the op it is. */
static void html__timeline_holds_the_evidence(void **state)
{
    (void)state;
    const int64_t origin_ns = 1768464000000000000; /* to stay exact in cJSON's doubles */
    char path[] = INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8";
    const char *const paths[] = {path};
    struct inq_err err = {0};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_ingest_options reading = {.jobs = 2};
    struct inq_analysis_options asking = {.jobs = 2};
    assert_int_equal(inq_ingest(paths, 1, &reading, &run, &err), INQ_OK);
    assert_int_equal(inq_analyze(run->traces[0], &asking, &report, &err), INQ_OK);
    struct inq_out page = page_of("slow_gpu_dp8", 2);
    struct cJSON *root = parse(page.buf, "id=\"inq-timeline\"");
    const struct cJSON *timeline = inq_json_first(root);
    int64_t first_ns = strtoll(inq_json_text(inq_json_get(timeline, "origin_ns"), "0"), NULL, 10);
    assert_true(first_ns > origin_ns);
    size_t collectives = 0;
    for (size_t i = 0; i < report->findings[0].n_evidence; i++) {
        const struct inq_evidence *evidence = &report->findings[0].evidence[i];
        int64_t at_ns = evidence->start_ns - first_ns;
        const struct cJSON *window = window_at(timeline, at_ns);
        assert_non_null(window);
        if (strstr(evidence->what, "waits for it") != NULL) {
            assert_true(rank_has_span(window, evidence->rank, at_ns));
            collectives++;
        }
    }
    assert_true(collectives > 0);
    inq_json_free(root);
    inq_out_release(&page);
    inq_report_free(report);
    inq_run_free(run);
}

/* Out of memory at any place: an error, never a crash or half a page that looks whole. */
static void html__survives_without_memory(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_HTML};
    struct made_report made;
    (void)state;
    made_report_fill(&made);
    int code = INQ_NOMEM;
    for (long n = 1; code != INQ_OK && n < 5000; n++) {
        struct inq_out out = {0};
        struct inq_err err = {0};
        inq_mem_fail_after(n);
        code = inq_report_write(&made.run, made.reports, 1, &options, inq_out_sink(&out), &err);
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        inq_out_release(&out);
    }
    assert_int_equal(code, INQ_OK);
    made_report_release(&made);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Evidence that no step holds gets a window of its own: half as much again on each side, and 1 us.
 */
static void html__evidence_outside_of_steps_has_its_own_window(void **state)
{
    (void)state;
    struct inq_step step = {.number = 7, .start_ns = 1000000, .end_ns = 2000000};
    struct inq_trace trace = {.steps = &step, .n_steps = 1};
    struct inq_critical_path path = {.step = 7};
    struct inq_evidence evidence[] = {
        {.start_ns = INQ_TIME_NONE, .end_ns = INQ_TIME_NONE},
        {.start_ns = 1000000, .end_ns = 1000010}, /* in the step */
        {.start_ns = 1999999, .end_ns = 2500000}, /* so is its last moment, but not its end: */
        {.start_ns = 2000000, .end_ns = 2010000},
        {.start_ns = 1994000, .end_ns = 1994000}, /* in the step again */
        {.start_ns = 2015999, .end_ns = 2015999}, /* in the window of the one before: 6000 wider */
        {.start_ns = 2016000, .end_ns = 0},       /* and no more; it has no end */
        {.start_ns = 999999, .end_ns = 1000000},  /* before the step */
    };
    struct inq_finding finding = {.evidence = evidence, .n_evidence = 8};
    struct inq_report report = {.findings = &finding, .n_findings = 1, .critical_path = &path};
    struct inq_context context = {.trace = &trace, .report = &report};
    const struct inq_html_window expected[] = {
        {.start_ns = 1000000, .end_ns = 2000000, .step = 7, .is_shown = true, .max_spans = 55000},
        {.start_ns = 1994000, .end_ns = 2016000, .step = -1, .max_spans = 18333},
        {.start_ns = 2015000, .end_ns = 2017000, .step = -1, .max_spans = 18333},
        {.start_ns = 998999, .end_ns = 1001000, .step = -1, .max_spans = 18333},
    };
    struct inq_html_windows windows;
    inq_html_find_windows(&context, 1, &windows);
    assert_int_equal(windows.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(windows.at[i].start_ns, expected[i].start_ns);
        assert_int_equal(windows.at[i].end_ns, expected[i].end_ns);
        assert_int_equal(windows.at[i].step, expected[i].step);
        assert_int_equal(windows.at[i].is_shown, expected[i].is_shown);
        assert_int_equal(windows.at[i].max_spans, expected[i].max_spans);
    }
    report.n_findings = 0; /* alone, the step has all the room; of two reports each gets half */
    inq_html_find_windows(&context, 2, &windows);
    assert_int_equal(windows.n, 1);
    assert_int_equal(windows.at[0].max_spans, 55000);
}

/* As many windows as there is room for, and then no more. */
static void html__no_more_windows_than_there_is_room_for(void **state)
{
    (void)state;
    struct inq_trace trace = {0};
    struct inq_evidence evidence[INQ_HTML_MAX_WINDOWS + 2];
    for (int64_t i = 0; i < INQ_HTML_MAX_WINDOWS + 2; i++) {
        evidence[i] = (struct inq_evidence){.start_ns = i * 100000, .end_ns = i * 100000};
    }
    struct inq_finding finding = {.evidence = evidence, .n_evidence = INQ_HTML_MAX_WINDOWS + 2};
    struct inq_report report = {.findings = &finding, .n_findings = 1};
    struct inq_context context = {.trace = &trace, .report = &report};
    struct inq_html_windows windows;
    inq_html_find_windows(&context, 1, &windows);
    assert_int_equal(windows.n, INQ_HTML_MAX_WINDOWS);
    for (int64_t i = 0; i < INQ_HTML_MAX_WINDOWS; i++) {
        assert_int_equal(windows.at[i].start_ns, i * 100000 - 1000);
    }
}

/* Pixels double until what is drawn fits. A thousand ops of 10 ns, 20 ns apart: k of them take
 * 20 k - 10 ns, so 2 share a pixel of 32 ns, 3 one of 64, 6 one of 128 and 13 one of 256; a pixel
 * is no more than doubled once it is a 16th of the window, 1250 ns. */
static void html__many_spans_are_merged_until_few_enough(void **state)
{
    (void)state;
    const struct {
        size_t max_spans;
        int64_t pixel_ns;
    } cases[] = {{1000, 0},  {999, 32},  {500, 32},  {499, 64}, {334, 64},
                 {333, 128}, {167, 128}, {166, 256}, {77, 256}, {1, 2048}};
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    for (int64_t i = 0; i < 1000; i++) {
        made_kernel(&shard, "ampere_sgemm_128x64_nn", 7, 1000000 + 20 * i, 10, INQ_TIME_NONE,
                    INQ_NONE);
    }
    struct inq_run *run = made_run(&shard, 1, false);
    struct inq_report report = {0};
    struct inq_report_options options = {0};
    struct inq_arena arena = {0};
    struct inq_context context = inq_context_of(run, run->traces[0], &report, &options, &arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_html_windows windows = {.n = 1};
        windows.at[0] = (struct inq_html_window){
            .start_ns = 1000000, .end_ns = 1020000, .step = -1, .max_spans = cases[i].max_spans};
        struct inq_out out = {0};
        struct inq_err err = {0};
        struct inq_json json;
        inq_json_init(&json, &out, true);
        inq_json_object(&json, NULL);
        assert_int_equal(inq_html_timeline(&context, &windows, &json, &err), INQ_OK);
        inq_json_end_object(&json);
        struct cJSON *root = NULL;
        assert_int_equal(inq_json_parse(out.buf, out.len, &root, &err), INQ_OK);
        const struct cJSON *w = item_of(inq_json_get(root, "windows"), 0);
        assert_int_equal(inq_json_integer(inq_json_get(w, "pixel_ns"), -1), cases[i].pixel_ns);
        inq_json_free(root);
        inq_out_release(&out);
    }
    inq_arena_release(&arena);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html__text_has_no_markup),
        cmocka_unit_test(html__json_cannot_end_its_script),
        cmocka_unit_test(html__hostile_names_stay_text),
        cmocka_unit_test(html__has_a_policy_and_loads_nothing),
        cmocka_unit_test(html__data_is_the_json_document),
        cmocka_unit_test(html__a_timeline_for_every_report),
        cmocka_unit_test(html__spans_below_a_pixel_are_merged),
        cmocka_unit_test(html__without_a_pixel_nothing_is_merged),
        cmocka_unit_test(html__evidence_is_never_merged_away),
        cmocka_unit_test(html__only_the_window_is_drawn),
        cmocka_unit_test(html__a_row_has_what_its_host_did),
        cmocka_unit_test(html__ranks_without_a_row_are_counted),
        cmocka_unit_test(html__does_not_depend_on_threads),
        cmocka_unit_test(html__a_window_has_all_work_of_its_step),
        cmocka_unit_test(html__timeline_holds_the_evidence),
        cmocka_unit_test(html__survives_without_memory),
        cmocka_unit_test(html__evidence_outside_of_steps_has_its_own_window),
        cmocka_unit_test(html__no_more_windows_than_there_is_room_for),
        cmocka_unit_test(html__many_spans_are_merged_until_few_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <stdio.h>

int main(void)
{
    puts("skipped: built without D3, so there is no HTML report");
    return 77;
}

#endif
