/* SPDX-License-Identifier: Apache-2.0 */
/* The report for the terminal: the verdict first, nothing wider than asked, nothing that acts on
 * the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inquest/account.h"
#include "report/render/text/text.h"
#include "support_report.h"

#include <stdlib.h>
#include <string.h>

static char *write_text(const struct inq_report_options *options, size_t n_reports)
{
    struct made_report made;
    made_report_fill(&made);
    char *text = made_report_write(&made, options, n_reports);
    made_report_release(&made);
    return text;
}

static void text__first_line_is_the_verdict(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT};
    (void)state;
    char *text = write_text(&options, 1);
    assert_int_equal(strncmp(text, "Rank 0 is late.\n", 16), 0);
    assert_non_null(strstr(text, "\nWhy:   It came last."));
    assert_non_null(strstr(text, "\nNext:  Look at its host.\n"));
    assert_non_null(strstr(text, "\nBasis: 2 of 2 ranks; confidence: supported.\n"));
    assert_non_null(strstr(text, "no file of rank 2; rank not recorded in 1 file; 1 of 2 files"));
    free(text);
}

/* Of many findings and rows the first are shown, the others counted; with `verbose` all are. */
static void text__says_what_it_leaves_out(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT};
    struct inq_finding findings[12];
    struct inq_coll_stat stats[17];
    struct made_report made;
    (void)state;
    made_report_fill(&made);
    for (size_t i = 0; i < 12; i++) {
        findings[i] = made.report.findings[0];
    }
    for (size_t i = 0; i < 17; i++) {
        stats[i] = made.stats[0];
    }
    made.report.findings = findings;
    made.report.n_findings = 12;
    made.coll.by_op = stats;
    made.coll.n_by_op = 17;
    char *text = made_report_write(&made, &options, 1);
    assert_non_null(strstr(text, "\n 5.  "));
    assert_null(strstr(text, "\n 6.  "));
    assert_non_null(strstr(text, " 7 more findings are not shown (-v shows all)\n"));
    assert_null(strstr(text, "\nCollectives\n")); /* one table of ranks is enough */
    assert_non_null(strstr(text, "\nMore tables: -v shows all, --only NAME one: "));
    free(text);
    options.hidden = INQ_SECTION_BIT(INQ_SECTION_RANKS); /* asked for some: these are whole */
    text = made_report_write(&made, &options, 1);
    assert_non_null(strstr(text, "\n10.  "));
    assert_null(strstr(text, "\n11.  "));
    assert_non_null(strstr(text, " 2 more findings are not shown (-v shows all)\n"));
    assert_non_null(strstr(text, "\nCollectives\n"));
    assert_non_null(strstr(text, " 1 more row is not shown (-v shows all)\n"));
    assert_null(strstr(text, "\nMore: "));
    free(text);
    options.hidden = 0;
    options.verbose = true;
    text = made_report_write(&made, &options, 1);
    assert_non_null(strstr(text, "\n12.  "));
    assert_null(strstr(text, "not shown"));
    free(text);
    made_report_release(&made);
}

/* What is said of a cause that costs `alone_ns` of a step of 2 ms, and `later_ns` once those before
 * it are repaired. */
static void expect_numbers(int64_t alone_ns, int64_t later_ns, const char *numbers)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT, .hidden = ~0U};
    struct inq_account account = {.t_ns = 2000000, .gains_problem = ""};
    struct made_report made;
    made_report_fill(&made);
    made.report.account = &account;
    made.findings[0].cost_ns_per_step = alone_ns;
    made.findings[0].share = (double)alone_ns / 2e6;
    made.findings[0].in_order_ns = later_ns;
    char *text = made_report_write(&made, &options, 1);
    assert_non_null(strstr(text, numbers));
    free(text);
    made_report_release(&made);
}

/* From 1 % of the step on a title says what its cause costs alone, below what it costs later. */
static void text__a_cause_that_hides_says_each_cost_once(void **state)
{
    (void)state;
    expect_numbers(19999, 200000,
                   "\n     repaired alone gains 20.0 us per step; confidence: supported");
    expect_numbers(20000, 200000,
                   "\n     costs 20.0 us per step (1.0 %); 200 us per step after repair of "
                   "the causes before it;\n     confidence: supported");
    expect_numbers(190000, 200000, "\n     costs 190 us per step (9.5 %); confidence: supported");
}

/* From a hundredth of the step on a cause hides; shares have a digit more below 9.95 %; what costs
 * nothing was measured, what is not measured has no cost. */
static void text__costs_have_the_digits_that_count(void **state)
{
    (void)state;
    expect_numbers(100000, 119999, "\n     costs 100 us per step (5.0 %); confidence: supported");
    expect_numbers(100000, 120000,
                   "\n     costs 100 us per step (5.0 %); 120 us per step after repair of");
    expect_numbers(198900, 198900, "\n     costs 199 us per step (9.9 %); confidence");
    expect_numbers(199000, 199000, "\n     costs 199 us per step (10 %); confidence");
    expect_numbers(0, 0, "\n     costs 0 ns per step (0.0 %); confidence: supported");
    expect_numbers(-1, -1, "\n     confidence: supported");
}

static void text__is_plain_ascii_without_utf8(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT, .verbose = true};
    (void)state;
    char *text = write_text(&options, 1);
    for (const char *p = text; *p != '\0'; p++) {
        assert_true((*p >= 0x20 && *p < 0x7f) || *p == '\n');
    }
    free(text);
}

static void text__no_input_acts_on_the_terminal(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT, .utf8 = true, .verbose = true};
    (void)state;
    char *text = write_text(&options, 1);
    size_t left = strlen(text);
    for (const char *p = text; left > 0;) {
        uint32_t point;
        size_t len = inq_utf8_next(p, left, &point);
        assert_true(*p == '\n' || !inq_utf8_unsafe(point));
        assert_true(len > 1 || (unsigned char)*p < 0x80);
        p += len;
        left -= len;
    }
    free(text);
}

/* Single words longer than a line (a kernel's name in a sentence) are the only exception. */
static void text__lines_fit_the_width(void **state)
{
    struct inq_report_options options = {
        .format = INQ_FORMAT_TEXT, .utf8 = true, .width = 100, .verbose = true};
    struct inq_terminal terminal = {.utf8 = true};
    (void)state;
    char *text = write_text(&options, 1);
    char *save = NULL;
    size_t lines = 0;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        const char *word = strrchr(line, ' ');
        if (word == NULL || strlen(word) < 60) {
            assert_true(inq_terminal_columns(&terminal, line) <= 100);
            lines++;
        }
    }
    assert_true(lines > 30);
    free(text);
}

static void text__narrow_tables_do_without_bars(void **state)
{
    const struct inq_range range = {0, 0};
    struct inq_report_options options = {
        .format = INQ_FORMAT_TEXT, .verbose = true, .ranks = &range, .n_ranks = 1};
    (void)state;
    char *wide = write_text(&options, 1);
    options.width = 60;
    char *narrow = write_text(&options, 1);
    assert_non_null(strstr(wide, "##########=====....."));
    assert_null(strstr(narrow, "##########=====....."));
    free(wide);
    free(narrow);
}

/* One row of a table that is as wide as its titles. */
static void fill_table(struct inq_table *table)
{
    inq_table_column(table, INQ_COLUMN_STRETCH, "op");
    inq_table_column(table, INQ_COLUMN_LEFT, "remark");
    inq_table_column(table, INQ_COLUMN_RIGHT, "transfer us");
    inq_table_column(table, INQ_COLUMN_RIGHT, "alg GB/s");
    table->title = "Table";
    inq_table_text(table, "all reduce");
    inq_table_text(table, "");
    inq_table_real(table, 1.5, 1);
    inq_table_real(table, 97.2, 1);
}

static void expect_table(int width, bool trim, const char *expected)
{
    struct inq_arena arena = {0};
    struct inq_out out = {0};
    struct inq_table table = {.arena = &arena};
    struct inq_terminal terminal = {.out = &out, .width = width};
    fill_table(&table);
    if (trim) {
        inq_table_trim(&table);
    }
    inq_table_print(&table, &terminal);
    inq_out_bytes(&out, "", 1);
    assert_string_equal(out.buf, expected);
    inq_table_release(&table);
    inq_out_release(&out);
    inq_arena_release(&arena);
}

static void table__that_is_too_wide_has_titles_of_two_lines(void **state)
{
    (void)state;
    expect_table(80, true,
                 "Table\n"
                 "op          transfer us  alg GB/s\n"
                 "all reduce          1.5      97.2\n");
    expect_table(30, true,
                 "Table\n"
                 "            transfer   alg\n"
                 "op                us  GB/s\n"
                 "all reduce       1.5  97.2\n");
    expect_table(25, true,
                 "Table\n"
                 "           transfer  alg\n"
                 "op               us GB/s\n"
                 "all reduce      1.5 97.2\n");
}

static void table__without_anything_in_a_column_does_without_it(void **state)
{
    (void)state;
    expect_table(80, false,
                 "Table\n"
                 "op          remark  transfer us  alg GB/s\n"
                 "all reduce                  1.5      97.2\n");
}

static void text__unmeasured_is_not_zero(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT, .verbose = true};
    (void)state;
    char *text = write_text(&options, 1);
    const char *row = strstr(text, "\nall_reduce ");
    assert_non_null(row);
    assert_non_null(strstr(row, "N/A"));
    assert_true(strstr(row, "N/A") < strchr(row + 1, '\n'));
    free(text);
}

static void text__colors_only_when_asked(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT, .utf8 = true};
    (void)state;
    char *plain = write_text(&options, 1);
    options.color = true;
    char *colored = write_text(&options, 1);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(colored, "\033[1;31mHIGH\033[0m"));
    assert_non_null(strstr(plain, "HIGH"));
    free(plain);
    free(colored);
}

static void text__selected_ranks_only(void **state)
{
    const struct inq_range range = {5, 9};
    struct inq_report_options options = {
        .format = INQ_FORMAT_TEXT, .verbose = true, .ranks = &range, .n_ranks = 1};
    (void)state;
    char *text = write_text(&options, 1);
    assert_null(strstr(text, "Rank 0 is late in"));     /* a finding on rank 0 */
    assert_non_null(strstr(text, "A file is damaged")); /* one that names no rank */
    assert_null(strstr(text, "Where each rank's"));     /* no row is left */
    assert_non_null(strstr(text, "selected ranks only"));
    free(text);
}

static void text__several_jobs_are_told_first(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_TEXT};
    (void)state;
    char *text = write_text(&options, 2);
    const char *second = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(text, "Job 1 of 2, evil", 16), 0);
    assert_int_equal(strncmp(second, "Job 2 of 2, evil", 16), 0);
    assert_non_null(strstr(second, "=== Job 2 of 2"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__first_line_is_the_verdict),
        cmocka_unit_test(text__says_what_it_leaves_out),
        cmocka_unit_test(text__a_cause_that_hides_says_each_cost_once),
        cmocka_unit_test(text__costs_have_the_digits_that_count),
        cmocka_unit_test(text__is_plain_ascii_without_utf8),
        cmocka_unit_test(text__no_input_acts_on_the_terminal),
        cmocka_unit_test(text__lines_fit_the_width),
        cmocka_unit_test(text__narrow_tables_do_without_bars),
        cmocka_unit_test(table__that_is_too_wide_has_titles_of_two_lines),
        cmocka_unit_test(table__without_anything_in_a_column_does_without_it),
        cmocka_unit_test(text__unmeasured_is_not_zero),
        cmocka_unit_test(text__colors_only_when_asked),
        cmocka_unit_test(text__selected_ranks_only),
        cmocka_unit_test(text__several_jobs_are_told_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
