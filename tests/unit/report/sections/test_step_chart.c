/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of one step and the heat map: what is drawn is what was recorded, in any width. */
#include "inquest/ingest.h"
#include "report/report.h"
#include "report/render/markdown/markdown.h"
#include "report/sections/step_chart.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_arena arena;
    struct inq_report_options options;
    struct inq_context view;
    struct inq_out out;
};

static void open_sample(struct fixture *f, const char *path)
{
    struct inq_analysis_options options = {.jobs = 1};
    *f = (struct fixture){0};
    assert_int_equal(inq_ingest(&path, 1, NULL, &f->run, NULL), INQ_OK);
    assert_int_equal(f->run->n_traces, 1);
    assert_int_equal(inq_analyze(f->run->traces[0], &options, &f->report, NULL), INQ_OK);
    f->view = inq_context_of(f->run, f->run->traces[0], f->report, &f->options, &f->arena);
}

static void release(struct fixture *f)
{
    inq_report_free(f->report);
    inq_run_free(f->run);
    inq_arena_release(&f->arena);
    inq_out_release(&f->out);
}

static const char *pipeline = INQ_SOURCE_DIR "/sample-traces/pipeline_pp4_long_last";
static const char *straggler = INQ_SOURCE_DIR "/sample-traces/slow_gpu_dp8";

static void step_chart__pipeline_has_all_micro_batches(void **state)
{
    struct fixture f;
    struct inq_step_chart chart;
    (void)state;
    open_sample(&f, pipeline);
    assert_int_equal(inq_step_chart_make(&f.view, SIZE_MAX, &chart, NULL), INQ_OK);
    assert_true(chart.pipeline);
    assert_int_equal(chart.n_rows, 4);
    assert_int_equal(chart.step, f.report->critical_path->step);
    for (size_t r = 0; r < chart.n_rows; r++) {
        const struct inq_chart_row *row = &chart.rows[r];
        int32_t forwards = 0;
        int32_t backwards = 0;
        assert_int_equal(row->stage, (int32_t)r);
        for (size_t i = 0; i < row->n; i++) {
            forwards += row->blocks[i].type == INQ_OP_FORWARD;
            backwards += row->blocks[i].type == INQ_OP_BACKWARD;
            assert_true(row->blocks[i].start_ns >= chart.start_ns);
            assert_true(row->blocks[i].end_ns <= chart.end_ns);
            assert_true(i == 0 || row->blocks[i - 1].end_ns <= row->blocks[i].start_ns);
        }
        assert_int_equal(forwards, f.report->pipeline->microbatches);
        assert_int_equal(backwards, f.report->pipeline->microbatches);
    }
    release(&f);
}

static void step_chart__line_shows_who_computes_longer(void **state)
{
    enum { COLUMNS = 80 };
    struct fixture f;
    struct inq_step_chart chart;
    size_t busy[8] = {0};
    (void)state;
    open_sample(&f, straggler);
    assert_int_equal(inq_step_chart_make(&f.view, SIZE_MAX, &chart, NULL), INQ_OK);
    assert_false(chart.pipeline);
    assert_int_equal(chart.n_rows, 8);
    for (size_t r = 0; r < chart.n_rows; r++) {
        char line[COLUMNS + 1];
        assert_int_equal(inq_step_chart_line(&f.view, &chart, &chart.rows[r], COLUMNS, line, NULL),
                         INQ_OK);
        assert_int_equal(strlen(line), COLUMNS);
        assert_int_equal(strspn(line, "#=-."), COLUMNS);
        for (const char *p = line; *p != '\0'; p++) {
            busy[r] += *p == '#';
        }
    }
    for (size_t r = 0; r < 8; r++) { /* rank 5 is planted to compute longer */
        assert_true(r == 5 || busy[5] > busy[r] + 5);
    }
    release(&f);
}

static void step_chart__bounded_rows_keep_those_of_findings(void **state)
{
    struct fixture f;
    struct inq_step_chart chart;
    (void)state;
    open_sample(&f, straggler);
    assert_int_equal(inq_step_chart_make(&f.view, 2, &chart, NULL), INQ_OK);
    assert_int_equal(chart.n_rows, 2);
    assert_int_equal(chart.left_out, 6);
    assert_true(chart.rows[0].rank == 5 || chart.rows[1].rank == 5);
    release(&f);
}

/* Lines of the chart: all begin with "rank", are as wide as the terminal and plain ASCII. */
static void check_rows(const char *text, int width, size_t rows)
{
    size_t n = 0;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, "rank ", 5) == 0) {
            assert_int_equal(len, width);
            n++;
        }
        for (size_t i = 0; i < len; i++) {
            assert_true(line[i] >= ' ' && line[i] <= '~');
        }
        line += len + (line[len] == '\n');
    }
    assert_int_equal(n, rows);
}

static void step_chart__fits_any_width_in_ascii(void **state)
{
    static const int widths[] = {60, 100, 237};
    const char *const samples[] = {pipeline, straggler};
    const size_t rows[] = {4, 8};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        struct fixture f;
        open_sample(&f, samples[s]);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            struct inq_terminal terminal = {.out = &f.out, .width = widths[w]};
            assert_int_equal(inq_text_timeline(&f.view, &terminal, false, NULL), INQ_OK);
            inq_out_bytes(&f.out, "", 1);
            check_rows(f.out.buf, widths[w], rows[s]);
            inq_out_release(&f.out);
            f.out = (struct inq_out){0};
        }
        release(&f);
    }
}

static void step_chart__not_asked_for_is_not_there(void **state)
{
    struct fixture f;
    struct inq_terminal terminal = {.out = &f.out, .width = 100};
    (void)state;
    open_sample(&f, straggler);
    f.report->n_rank_times = 0; /* as with --only something else */
    assert_int_equal(inq_text_timeline(&f.view, &terminal, false, NULL), INQ_OK);
    assert_int_equal(inq_text_heat_map(&f.view, &terminal, NULL), INQ_OK);
    assert_int_equal(f.out.len, 0);
    release(&f);
}

static void heat_map__shades_by_slowdown(void **state)
{
    struct inq_named_ratio workers[] = {
        {.name = "0", .slowdown = 1.0, .stage = 0, .dp_rank = 0},
        {.name = "1", .slowdown = 1.005, .stage = 1, .dp_rank = 0},
        {.name = "2", .slowdown = 1.4, .stage = 1, .dp_rank = 2},
        {.name = "3", .slowdown = 1.2, .stage = 0, .dp_rank = 1},
        {.name = "?", .slowdown = 9, .stage = -1, .dp_rank = -1},
    };
    struct inq_whatif whatif = {.n_by_worker = 5, .by_worker = workers};
    struct inq_report report = {.whatif = &whatif};
    struct inq_report_options options = {0};
    struct inq_arena arena = {0};
    struct inq_context view = {.report = &report, .options = &options, .arena = &arena};
    struct inq_out out = {0};
    struct inq_terminal terminal = {.out = &out, .width = 100};
    (void)state;
    assert_int_equal(inq_text_heat_map(&view, &terminal, NULL), INQ_OK);
    inq_out_bytes(&out, "", 1);
    assert_non_null(strstr(out.buf, "            PP 0    PP 1\n"
                                    "DP 0       1.000   1.005\n"
                                    "DP 1     : 1.200     N/A\n"
                                    "DP 2         N/A # 1.400\n"));
    out.len = 0;
    terminal.width = 20; /* no room for the numbers */
    assert_int_equal(inq_text_heat_map(&view, &terminal, NULL), INQ_OK);
    inq_out_bytes(&out, "", 1);
    assert_non_null(strstr(out.buf, "DP 2     - #\n"));
    inq_out_release(&out);
    inq_arena_release(&arena);
}

/* The heat map of `n` workers as a string; the caller frees it. */
static char *draw_heat_map(struct inq_named_ratio *workers, size_t n, int width, bool verbose)
{
    struct inq_whatif whatif = {.n_by_worker = n, .by_worker = workers};
    struct inq_report report = {.whatif = &whatif};
    struct inq_report_options options = {.verbose = verbose};
    struct inq_arena arena = {0};
    struct inq_context view = {.report = &report, .options = &options, .arena = &arena};
    struct inq_out out = {0};
    struct inq_terminal terminal = {.out = &out, .width = width};
    assert_int_equal(inq_text_heat_map(&view, &terminal, NULL), INQ_OK);
    inq_out_bytes(&out, "", 1);
    char *text = strdup(out.buf);
    assert_non_null(text);
    inq_out_release(&out);
    inq_arena_release(&arena);
    return text;
}

/* Four shades up to the worst in equal parts, each as far as halfway to the next; up to 1 % none,
 * and where nobody is slower than that nothing is dark. */
static void heat_map__has_four_shades_up_to_the_worst(void **state)
{
    static const struct {
        double worst, slowdown;
        const char *cell;
    } rows[] = {
        {1.8, 1.01, "   1.010"},      {1.8, 1.0101, " . 1.010"}, {1.8, 1.299, " . 1.299"},
        {1.8, 1.301, " : 1.301"},     {1.8, 1.499, " : 1.499"},  {1.8, 1.501, " + 1.501"},
        {1.8, 1.699, " + 1.699"},     {1.8, 1.701, " # 1.701"},  {1.008, 1.008, "   1.008"},
        {1.0101, 1.0101, " # 1.010"}, {1.8, 0.9, "   0.900"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct inq_named_ratio workers[] = {
            {.name = "0", .slowdown = rows[i].slowdown, .stage = 0, .dp_rank = 0},
            {.name = "1", .slowdown = rows[i].worst, .stage = 0, .dp_rank = 1}};
        char *text = draw_heat_map(workers, 2, 80, false);
        char line[32];
        (void)snprintf(line, sizeof line, "\nDP 0    %s\n", rows[i].cell);
        print_message("%s", line);
        assert_non_null(strstr(text, line));
        free(text);
    }
}

/* Of more than 16 DP ranks those with the slowest workers are shown, of equal ones the first. */
static void heat_map__keeps_the_slowest_dp_ranks(void **state)
{
    enum { DP = 18 };
    struct inq_named_ratio workers[DP];
    (void)state;
    for (int i = 0; i < DP; i++) {
        workers[i] = (struct inq_named_ratio){.name = "w",
                                              .slowdown = i == 3    ? 1.1
                                                          : i == 17 ? 1.5
                                                                    : 1.2,
                                              .stage = 0,
                                              .dp_rank = i};
    }
    char *text = draw_heat_map(workers, DP - 2, 80, false);
    assert_non_null(strstr(text, "\nDP 3 "));
    assert_null(strstr(text, "not shown"));
    free(text);
    text = draw_heat_map(workers, DP, 80, false);
    assert_null(strstr(text, "\nDP 3 "));
    assert_non_null(strstr(text, "\nDP 15 "));
    assert_null(strstr(text, "\nDP 16 "));
    assert_non_null(strstr(text, "\nDP 17 "));
    assert_non_null(
        strstr(text, "\n  2 DP ranks with faster workers are not shown (-v shows all)\n"));
    free(text);
    text = draw_heat_map(workers, DP, 80, true);
    assert_non_null(strstr(text, "\nDP 3 "));
    assert_non_null(strstr(text, "\nDP 16 "));
    assert_null(strstr(text, "not shown"));
    free(text);
}

/* Numbers where all stages have room for one (8 columns each behind 8), then marks of two columns;
 * stages without room are counted. */
static void heat_map__leaves_out_stages_without_room(void **state)
{
    enum { STAGES = 9 };
    struct inq_named_ratio workers[2 * STAGES];
    (void)state;
    for (int i = 0; i < 2 * STAGES; i++) {
        workers[i] = (struct inq_named_ratio){
            .name = "w", .slowdown = 1.2, .stage = i / 2, .dp_rank = i % 2};
    }
    static const struct {
        int width;
        const char *row, *note;
    } rows[] = {
        {80, "\nDP 0     # 1.200 # 1.200", NULL},
        {79, "\nDP 0     # # # # # # # # #\n", NULL},
        {26, "\nDP 0     # # # # # # # # #\n", NULL},
        {25, "\nDP 0     # # # # # # # #\n", "\n  1 more stage does not fit\n"},
        {20, "\nDP 0     # # # # # #\n", "\n  3 more stages do not fit\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = draw_heat_map(workers, 2 * (size_t)STAGES, rows[i].width, false);
        assert_non_null(strstr(text, rows[i].row));
        assert_true(rows[i].note == NULL ? strstr(text, "do not fit") == NULL
                                         : strstr(text, rows[i].note) != NULL);
        free(text);
    }
}

static void markdown__pipeline_is_a_gantt_chart(void **state)
{
    struct fixture f;
    size_t tasks = 0;
    (void)state;
    open_sample(&f, pipeline);
    assert_int_equal(inq_markdown_chart(&f.view, false, &f.out, NULL), INQ_OK);
    inq_out_bytes(&f.out, "", 1);
    const char *chart = strstr(f.out.buf, "```mermaid\n");
    assert_non_null(chart);
    const char *end = strstr(chart + 3, "```\n");
    assert_non_null(end);
    for (const char *p = chart; p < end; p++) {
        tasks += strncmp(p, "ms\n", 3) == 0;
    }
    assert_int_equal(tasks, 4 * (2 * 8 + 1)); /* and the optimizer */
    assert_null(strchr(f.out.buf, '<'));
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_chart__pipeline_has_all_micro_batches),
        cmocka_unit_test(step_chart__line_shows_who_computes_longer),
        cmocka_unit_test(step_chart__bounded_rows_keep_those_of_findings),
        cmocka_unit_test(step_chart__fits_any_width_in_ascii),
        cmocka_unit_test(step_chart__not_asked_for_is_not_there),
        cmocka_unit_test(heat_map__shades_by_slowdown),
        cmocka_unit_test(heat_map__has_four_shades_up_to_the_worst),
        cmocka_unit_test(heat_map__keeps_the_slowest_dp_ranks),
        cmocka_unit_test(heat_map__leaves_out_stages_without_room),
        cmocka_unit_test(markdown__pipeline_is_a_gantt_chart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
