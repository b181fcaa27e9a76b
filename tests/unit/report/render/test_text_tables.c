/* SPDX-License-Identifier: Apache-2.0 */
/* What a table as text gives up, and in which order, at the very width at which it must. */
#include "base/mem.h"
#include "report/render/text/text.h"
#include "report/sections/tables.h"
#include "report/terminal/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Lines of a printed table, without its title. */
struct printed {
    size_t n;
    int columns[16];
    char text[16][128];
};

static struct printed print(const struct inq_table *table, int width)
{
    struct inq_out out = {0};
    struct inq_terminal terminal = {.out = &out, .width = width};
    struct printed p = {0};
    inq_table_print(table, &terminal);
    inq_out_bytes(&out, "", 1);
    char *save = NULL;
    char *line = strtok_r(out.buf, "\n", &save);
    assert_string_equal(line, "Table");
    while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
        assert_true(p.n < 16 && strlen(line) < sizeof p.text[0]);
        p.columns[p.n] = (int)strlen(line);
        memcpy(p.text[p.n++], line, strlen(line) + 1);
    }
    inq_out_release(&out);
    return p;
}

/* Names of 30 characters, one figure, a bar of 10, a title of two words: 30 + 1 + 10 + 11 columns
 * and three gaps of 2 are 58. First the titles take two lines, but only where names cut to 24 would
 * not do; then the bar goes (its 10 and a gap); names are cut to 12 at least; then gaps are 1. */
static void table__gives_up_one_thing_after_another(void **state)
{
    static const struct {
        int width, titles, columns;
    } rows[] = {
        {100, 1, 58}, {58, 1, 58}, {57, 1, 46}, {52, 1, 46}, {51, 2, 43}, {44, 2, 43},
        {43, 2, 43},  {42, 2, 42}, {26, 2, 26}, {25, 2, 25}, {24, 2, 23}, {10, 2, 23},
    };
    (void)state;
    struct inq_arena arena = {0};
    struct inq_table table = {.arena = &arena, .title = "Table"};
    inq_table_column(&table, INQ_COLUMN_STRETCH, "name");
    inq_table_column(&table, INQ_COLUMN_RIGHT, "n");
    inq_table_column(&table, INQ_COLUMN_BAR, "");
    inq_table_column(&table, INQ_COLUMN_RIGHT, "transfer us");
    inq_table_text(&table, "a_kernel_with_a_rather_long_na");
    inq_table_text(&table, "7");
    inq_table_text(&table, "######====");
    inq_table_text(&table, "1.5");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct printed p = print(&table, rows[i].width);
        assert_int_equal(p.n, rows[i].titles + 1);
        assert_int_equal(p.columns[p.n - 1], rows[i].columns);
        bool bar = strstr(p.text[p.n - 1], "######====") != NULL;
        assert_true(bar == (rows[i].columns == 58));
    }
    inq_table_release(&table);
    inq_arena_release(&arena);
}

/* Of two long names the longer one is cut until they are equal. */
static void table__cuts_the_longest_name_first(void **state)
{
    (void)state;
    struct inq_arena arena = {0};
    struct inq_table table = {.arena = &arena, .title = "Table"};
    inq_table_column(&table, INQ_COLUMN_STRETCH, "first");
    inq_table_column(&table, INQ_COLUMN_STRETCH, "second");
    inq_table_text(&table, "0123456789012345678901234567"); /* 28 */
    inq_table_text(&table, "01234567890123456789");         /* 20 */
    struct printed p = print(&table, 50);
    assert_string_equal(p.text[p.n - 1], "0123456789012345678901234567  01234567890123456789");
    p = print(&table, 42);
    assert_non_null(strstr(p.text[p.n - 1], "  01234567890123456789"));
    assert_int_equal(p.columns[p.n - 1], 42);
    p = print(&table, 40);
    assert_null(strstr(p.text[p.n - 1], "01234567890123456789"));
    assert_int_equal(p.columns[p.n - 1], 40);
    inq_table_release(&table);
    inq_arena_release(&arena);
}

/* A last column of sentences: what is left of the width, 32 columns at least, each further line
 * below the first. */
static void table__wraps_sentences_in_what_is_left(void **state)
{
    static const char words[] =
        "aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo pp qq rr ss tt"; /* 59 */
    static const struct {
        int width, columns; /* of the first line */
        size_t titles, lines;
    } rows[] = {{65, 65, 1, 1}, {64, 62, 1, 2}, {38, 38, 1, 2}, {37, 37, 2, 2}, {20, 37, 2, 2}};
    (void)state;
    struct inq_arena arena = {0};
    struct inq_table table = {.arena = &arena, .title = "Table"};
    inq_table_column(&table, INQ_COLUMN_RIGHT, "rank");
    inq_table_column(&table, INQ_COLUMN_WRAP, "what");
    inq_table_text(&table, "3");
    inq_table_text(&table, words);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct printed p = print(&table, rows[i].width);
        size_t first = rows[i].titles;
        assert_int_equal(p.n, first + rows[i].lines);
        assert_non_null(strstr(p.text[first], "   3 "));
        assert_int_equal(p.columns[first], rows[i].columns);
        size_t indent = first == 1 ? 6 : 5; /* where gaps are 1 */
        for (size_t k = first + 1; k < p.n; k++) {
            assert_int_equal(strspn(p.text[k], " "), indent);
        }
    }
    inq_table_release(&table);
    inq_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__gives_up_one_thing_after_another),
        cmocka_unit_test(table__cuts_the_longest_name_first),
        cmocka_unit_test(table__wraps_sentences_in_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
