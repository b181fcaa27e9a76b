/* SPDX-License-Identifier: Apache-2.0 */
/* The export for ui.perfetto.dev: sound for a trace processor, and the same run when read back. */
#include "base/mem.h"
#include "inquest/account.h"
#include "inquest/out.h"
#include "inquest/ingest.h"
#include "support_job.h"
#include "support_perfetto.h"
#include "support_read.h"
#include "support_report.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct analyzed {
    struct inq_run *run;
    struct inq_report *reports[4];
    size_t n;
};

static void analyze(struct analyzed *a, int jobs)
{
    struct inq_err err = {0};
    struct inq_analysis_options options = {.jobs = jobs, .method = INQ_METHOD_HTA};
    assert_true(a->run->n_traces <= sizeof a->reports / sizeof *a->reports);
    for (a->n = 0; a->n < a->run->n_traces; a->n++) {
        if (inq_analyze(a->run->traces[a->n], &options, &a->reports[a->n], &err) != INQ_OK) {
            fail_msg("%s", err.message);
        }
    }
}

static void analyze_path(struct analyzed *a, const char *path, int jobs)
{
    struct inq_ingest_options options = {.jobs = jobs};
    struct inq_err err = {0};
    if (inq_ingest(&path, 1, &options, &a->run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    analyze(a, jobs);
}

static void analyze_text(struct analyzed *a, const struct inq_out *text)
{
    struct inq_ingest_blob blob = {"export.trace.json", text->buf, text->len};
    struct inq_err err = {0};
    if (inq_ingest_memory(&blob, 1, NULL, &a->run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    analyze(a, 1);
}

static void release(struct analyzed *a)
{
    for (size_t i = 0; i < a->n; i++) {
        inq_report_free(a->reports[i]);
    }
    inq_run_free(a->run);
    *a = (struct analyzed){0};
}

/* The report on job `i` alone; the buffer ends with a NUL. */
static struct inq_out write_as(const struct analyzed *a, size_t i, enum inq_format format)
{
    struct inq_report_options options = {.format = format, .verbose = true};
    struct inq_out out = {0};
    struct inq_err err = {0};
    if (inq_report_write(a->run, &a->reports[i], 1, &options, inq_out_sink(&out), &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    inq_out_bytes(&out, "", 1);
    out.len--;
    return out;
}

/* Keeps the sections that are about the run, not about its files: from the findings on, or behind
 * them where files were damaged, which is a finding. */
static char *numbers_of(const struct inq_out *json, bool hurt)
{
    const char *from = strstr(json->buf, hurt ? "\n  \"ranks\":" : "\n  \"verdict\":");
    from = from != NULL ? from : "";
    char *kept = inq_mem_zalloc(strlen(from) + 1, 1);
    assert_non_null(kept);
    char *to = kept;
    for (const char *line = from; *line != '\0';) {
        size_t n = strcspn(line + 1, "\n") + 1;
        char *label = memmem(line, n, "\"label\":", 8); /* of unknown ranks: the file's name */
        if (label == NULL) {
            memcpy(to, line, n);
            to += n;
        }
        line += n;
    }
    return kept;
}

static bool is_hurt(const struct inq_trace *trace)
{
    uint64_t damage = 0;
    for (size_t i = 0; i < trace->n_files; i++) {
        damage += inq_damage_total(&trace->files[i].damage);
    }
    return damage > 0;
}

static void same_numbers(const struct analyzed *before, size_t i, const struct analyzed *after,
                         const char *what)
{
    struct inq_out a = write_as(before, i, INQ_FORMAT_JSON);
    struct inq_out b = write_as(after, 0, INQ_FORMAT_JSON);
    bool hurt = is_hurt(before->run->traces[i]);
    char *x = numbers_of(&a, hurt);
    char *y = numbers_of(&b, hurt);
    size_t at = 0;
    while (x[at] != '\0' && x[at] == y[at]) {
        at++;
    }
    if (x[at] != y[at]) {
        size_t back = at > 100 ? at - 100 : 0;
        fail_msg("%s: read back differently:\n%.300s\n---- was\n%.300s", what, y + back, x + back);
    }
    inq_mem_free(x);
    inq_mem_free(y);
    inq_out_release(&a);
    inq_out_release(&b);
}

/* Waiting with each cause at its root, which is what the account has for causes that name ranks. */
static int64_t lost_by_cause(const struct inq_report *report)
{
    const struct inq_account *a = report->account;
    int64_t all_ns = 0;
    for (size_t c = 0; a != NULL && c < a->n_causes; c++) {
        int64_t cells = (int64_t)(a->ranks_judged * a->steps_judged);
        int64_t ns = 0;
        for (size_t w = 0; w < a->n_waits; w++) {
            ns += a->waits[w].cause == c ? a->waits[w].end_ns - a->waits[w].start_ns : 0;
        }
        assert_true(a->causes[c].n_ranks == 0 || cells == 0 || a->causes[c].ns == ns / cells);
        all_ns += ns;
    }
    return all_ns;
}

/* The slices that were added sum to what the report says. */
static void same_sums(const struct inq_report *report, const struct perfetto_count *count)
{
    int64_t idle_ns = 0;
    int64_t wait_ns = 0;
    for (size_t r = 0; r < report->n_rank_times; r++) {
        idle_ns += report->rank_times[r].idle_ns;
    }
    for (size_t w = 0; report->collectives != NULL && w < report->collectives->n_waits; w++) {
        wait_ns += report->collectives->waits[w].wait_ns;
    }
    assert_int_equal(count->idle_ns, idle_ns);
    assert_int_equal(count->wait_ns, wait_ns);
    assert_int_equal(count->lost_ns, lost_by_cause(report));
    bool timed = false; /* else there is no time to show a finding at */
    for (size_t r = 0; r < report->trace->n_ranks; r++) {
        timed = timed || report->trace->ranks[r].first_ns != INQ_TIME_NONE;
    }
    assert_true(!timed || count->findings >= report->n_findings);
    assert_true(report->critical_path == NULL || count->path == report->critical_path->n_segments);
}

static size_t check_path(const char *path)
{
    struct analyzed before = {0};
    analyze_path(&before, path, 2);
    size_t jobs = before.n;
    for (size_t i = 0; i < before.n; i++) {
        struct perfetto_count count;
        struct analyzed after = {0};
        struct inq_out text = write_as(&before, i, INQ_FORMAT_PERFETTO);
        perfetto_check(text.buf, text.len, &count);
        const struct inq_trace *trace = before.run->traces[i];
        if (trace->n_dumps == 0 && trace->n_ranks > 0) { /* what dumps and logs say has no time */
            same_sums(before.reports[i], &count);
            analyze_text(&after, &text);
            if (after.n != 1) {
                fail_msg("%s: job %zu reads back as %zu jobs", path, i, after.n);
            }
            same_numbers(&before, i, &after, path);
            release(&after);
        }
        inq_out_release(&text);
    }
    release(&before);
    return jobs;
}

static void perfetto__samples_read_back(void **state)
{
    static const char *const samples[] = {"clock_offset_dp4", "damaged_dp4",
                                          "healthy_dp4",      "late_host_dp4",
                                          "slow_gpu_dp8",     "pipeline_pp4_long_last"};
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[TEST_PATH];
        assert_true(snprintf(path, sizeof path, "%s/sample-traces/%s", INQ_SOURCE_DIR, samples[i]) <
                    TEST_PATH);
        assert_int_equal(check_path(path), 1);
    }
}

static void perfetto__real_traces_read_back(void **state)
{
    static const char *const names[] = {
        "kineto/dlrm_8ranks",        "kineto/torchrec_sleep",
        "kineto/torchrec_4",         "kineto/torchrec_two_jobs",
        "kineto/resnet18_ddp",       "kineto/megatron_tp2",
        "whatif/ST/trace-ST.csv.gz", "whatif/ST/timeline-ST.json.gz",
        "whatif/AR/trace-AR.csv.gz", "primus/pp8",
    };
    (void)state;
    size_t jobs = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, names[i])) {
            skip();
        }
        jobs += check_path(path);
    }
    assert_int_equal(jobs, 11);
}

/* Folders with a job in every file: one after the other. */
static void perfetto__odd_traces_read_back(void **state)
{
    static const char *const folders[] = {"kineto/hta", "kineto/edge", "nsys", "chrome",
                                          "flight/gpu_error_2nd"};
    (void)state;
    size_t checked = 0;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        char folder[TEST_PATH];
        if (!test_data_path(folder, INQ_SHARED_DATA, folders[f])) {
            skip();
        }
        DIR *dir = opendir(folder);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            char path[2 * TEST_PATH];
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            if (entry->d_name[0] != '.') {
                checked += check_path(path);
            }
        }
        (void)closedir(dir);
    }
    assert_true(checked >= 30);
}

static struct made_op_plan all_reduce(const struct made_job *job, int index)
{
    (void)job;
    (void)index;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, 0, 4000};
}

/* A clock is several straight pieces; what was shown before alignment is known from all of them. */
static void perfetto__clocks_that_were_set_read_back(void **state)
{
    (void)state;
    static const int64_t set_by_ns[4] = {0, 0, 7000000, 7000000};
    struct made_job job = {.ranks = 4,
                           .n_groups = 1,
                           .group_name = {"world"},
                           .group_step = {1},
                           .group_size = {4},
                           .n_ops = 200,
                           .op = all_reduce,
                           .groups = true,
                           .sizes = true,
                           .per_host = 2,
                           .work_ns = 5000000,
                           .jitter_ns = 5000,
                           .set_by_ns = set_by_ns,
                           .seed = 3};
    struct analyzed before = {.run = made_job_run(&job, true)};
    struct analyzed after = {0};
    analyze(&before, 1);
    struct inq_out text = write_as(&before, 0, INQ_FORMAT_PERFETTO);
    analyze_text(&after, &text);
    assert_int_equal(after.n, 1);
    size_t pieces = 0;
    for (size_t r = 0; r < 4; r++) {
        const struct inq_clock *was = &before.run->traces[0]->ranks[r].clock;
        const struct inq_clock *is = &after.run->traces[0]->ranks[r].clock;
        assert_int_equal(is->n_later, was->n_later);
        for (size_t i = 0; i < was->n_later; i++) {
            assert_int_equal(is->later[i].from_ns, was->later[i].from_ns);
            assert_int_equal(is->later[i].offset_ns, was->later[i].offset_ns);
            assert_int_equal(is->later[i].drift_ppb, was->later[i].drift_ppb);
        }
        pieces += was->n_later;
    }
    assert_true(pieces > 0);
    inq_out_release(&text);
    release(&before);
    release(&after);
}

static void perfetto__does_not_depend_on_threads(void **state)
{
    (void)state;
    struct inq_out text[2];
    for (int i = 0; i < 2; i++) {
        struct analyzed a = {0};
        analyze_path(&a, INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8", i == 0 ? 1 : 8);
        text[i] = write_as(&a, 0, INQ_FORMAT_PERFETTO);
        release(&a);
    }
    assert_int_equal(text[0].len, text[1].len);
    assert_memory_equal(text[0].buf, text[1].buf, text[0].len);
    inq_out_release(&text[0]);
    inq_out_release(&text[1]);
}

static void perfetto__chosen_ranks_only(void **state)
{
    (void)state;
    const struct inq_range chosen[] = {{2, 3}, {5, 5}};
    struct inq_report_options options = {
        .format = INQ_FORMAT_PERFETTO, .ranks = chosen, .n_ranks = 2};
    struct analyzed a = {0};
    struct analyzed after = {0};
    struct inq_out out = {0};
    struct perfetto_count count;
    analyze_path(&a, INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8", 1);
    assert_int_equal(inq_report_write(a.run, a.reports, 1, &options, inq_out_sink(&out), NULL),
                     INQ_OK);
    inq_out_bytes(&out, "", 1);
    out.len--;
    perfetto_check(out.buf, out.len, &count);
    assert_int_equal(count.processes, 3 + 1);
    analyze_text(&after, &out);
    assert_int_equal(after.run->traces[0]->n_ranks, 3);
    assert_int_equal(after.run->traces[0]->ranks[2].rank, 5);
    assert_int_equal(after.run->traces[0]->ranks[2].events.n, a.run->traces[0]->ranks[5].events.n);
    inq_out_release(&out);
    release(&after);
    release(&a);
}

static void perfetto__hostile_names_stay_text(void **state)
{
    (void)state;
    struct made_report *made = malloc(sizeof *made);
    struct inq_report_options options = {.format = INQ_FORMAT_PERFETTO};
    struct perfetto_count count;
    assert_non_null(made);
    made_report_fill(made);
    made->trace.n_collectives = 0; /* it has no members */
    made->report.collectives = NULL;
    char *text = made_report_write(made, &options, 1);
    perfetto_check(text, strlen(text), &count);
    assert_true(count.findings > 0);
    free(text);
    made_report_release(made);
    free(made);
}

/* What overlaps without nesting goes on tracks of its own, and back on one lane. */
static void perfetto__overlaps_are_spread(void **state)
{
    static const char trace[] =
        "{\"schemaVersion\":1,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":10,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":15,\"dur\":10,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"pid\":0,\"tid\":7,\"ts\":16.001,"
        "\"dur\":2,\"args\":{\"device\":0,\"stream\":7}}]}";
    (void)state;
    struct inq_ingest_blob blob = {"rank0.json", trace, sizeof trace - 1};
    struct analyzed before = {0};
    struct analyzed after = {0};
    struct perfetto_count count;
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &before.run, NULL), INQ_OK);
    analyze(&before, 1);
    struct inq_out text = write_as(&before, 0, INQ_FORMAT_PERFETTO);
    perfetto_check(text.buf, text.len, &count);
    assert_non_null(strstr(text.buf, "stream 7 (2)"));
    assert_non_null(strstr(text.buf, "\"ts\":16.001"));
    analyze_text(&after, &text);
    assert_int_equal(after.run->traces[0]->ranks[0].n_lanes, 1);
    assert_int_equal(after.run->traces[0]->ranks[0].events.n, 3);
    inq_out_release(&text);
    release(&before);
    release(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfetto__samples_read_back),
        cmocka_unit_test(perfetto__real_traces_read_back),
        cmocka_unit_test(perfetto__odd_traces_read_back),
        cmocka_unit_test(perfetto__clocks_that_were_set_read_back),
        cmocka_unit_test(perfetto__does_not_depend_on_threads),
        cmocka_unit_test(perfetto__chosen_ranks_only),
        cmocka_unit_test(perfetto__hostile_names_stay_text),
        cmocka_unit_test(perfetto__overlaps_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
