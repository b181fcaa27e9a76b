/* SPDX-License-Identifier: Apache-2.0 */
/* The Markdown report: nothing that an input says becomes mark-up, HTML, a link or a mention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/render/markdown/markdown.h"
#include "support_report.h"

#include <stdlib.h>
#include <string.h>

static char *write_markdown(size_t n_reports)
{
    struct inq_report_options options = {.format = INQ_FORMAT_MARKDOWN};
    struct made_report made;
    made_report_fill(&made);
    char *text = made_report_write(&made, &options, n_reports);
    made_report_release(&made);
    return text;
}

static void expect(const char *input, const char *output)
{
    struct inq_out out = {0};
    inq_markdown_text(&out, input, 1000);
    assert_string_equal(out.buf, output);
    inq_out_release(&out);
}

static void markdown__escapes_what_could_be_markup(void **state)
{
    (void)state;
    expect("plain text, 12.5 ms (3 %)", "plain text, 12.5 ms (3 %)");
    expect("a<b>&c", "a&lt;b&gt;&amp;c");
    expect("x|y`z*w", "x\\|y\\`z\\*w");
    expect("snake_case _it_", "snake_case \\_it\\_");
    expect("[l](http://h/)", "\\[l\\](http\\://h/)");
    expect("see www.h.io", "see www\\.h.io");
    expect(":smile: time: 3", "\\:smile: time: 3");
    expect(":+1: :x: :100:", "\\:+1: \\:x: \\:100:");
    expect("08:00:00.5 slow_gpu:rank5 a:b", "08:00:00.5 slow_gpu:rank5 a:b");
    expect("12.5 -3.0 %", "12.5 -3.0 %");
    expect("-3.0", "-3.0");
    expect("---", "\\---");
    expect("-", "\\-");
    expect("+ item", "\\+ item");
    expect("1.", "1\\.");
    expect("@team #12 # 3", "@&#8203;team #&#8203;12 # 3");
    expect("# head", "\\# head");
    expect("- item", "\\- item");
    expect("12. item", "12\\. item");
    expect("$x$ ~~y~~ {+z+}", "\\$x\\$ \\~\\~y\\~\\~ \\{+z+\\}");
    expect("a\nb\r\033c", "a?b??c");
}

static void markdown__cuts_long_names_in_the_middle(void **state)
{
    struct inq_out out = {0};
    (void)state;
    inq_markdown_text(&out, "abcdefghijklmnopqrstuvwxyz", 11);
    assert_string_equal(out.buf, "abcdef..xyz");
    inq_out_release(&out);
}

static void markdown__only_our_own_tags(void **state)
{
    (void)state;
    char *text = write_markdown(1);
    for (const char *p = strchr(text, '<'); p != NULL; p = strchr(p + 1, '<')) {
        assert_true(strncmp(p, "<details>", 9) == 0 || strncmp(p, "</details>", 10) == 0 ||
                    strncmp(p, "<summary>", 9) == 0 || strncmp(p, "</summary>", 10) == 0);
    }
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\r'));
    free(text);
}

static size_t count_pipes(const char *line)
{
    size_t n = 0;
    for (const char *p = line; *p != '\0'; p++) {
        if (*p == '\\') {
            p++;
        } else {
            n += *p == '|';
        }
    }
    return n;
}

static void markdown__long_tables_are_folded(void **state)
{
    struct inq_report_options options = {.format = INQ_FORMAT_MARKDOWN, .verbose = true};
    struct inq_coll_stat stats[17];
    struct made_report made;
    (void)state;
    made_report_fill(&made);
    for (size_t i = 0; i < 17; i++) {
        stats[i] = made.stats[0];
    }
    made.coll.by_op = stats;
    for (made.coll.n_by_op = 16; made.coll.n_by_op <= 17; made.coll.n_by_op++) {
        char *text = made_report_write(&made, &options, 1);
        bool folded = strstr(text, "<summary>Collectives</summary>") != NULL;
        assert_true(folded || strstr(text, "\n## Collectives\n") != NULL);
        assert_int_equal(folded, made.coll.n_by_op > 16);
        free(text);
    }
    made_report_release(&made);
}

static void markdown__every_row_has_its_columns(void **state)
{
    (void)state;
    char *text = write_markdown(1);
    char *save = NULL;
    size_t want = 0;
    size_t rows = 0;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (line[0] != '|') {
            want = 0;
            continue;
        }
        size_t pipes = count_pipes(line);
        assert_true(want == 0 || pipes == want);
        want = pipes;
        rows++;
    }
    assert_true(rows > 15);
    free(text);
}

static void markdown__begins_with_the_verdict(void **state)
{
    (void)state;
    char *text = write_markdown(1);
    assert_int_equal(strncmp(text, "# Rank 0 is late.\n", 18), 0);
    assert_non_null(strstr(text, "### 1. [high] Rank 0 is late in evil?"));
    free(text);
}

static void markdown__details_are_closed(void **state)
{
    (void)state;
    char *text = write_markdown(2);
    long depth = 0;
    for (const char *p = text; (p = strstr(p, "details>")) != NULL; p++) {
        depth += p[-1] == '/' ? -1 : 1;
        assert_true(depth == 0 || depth == 1);
    }
    assert_int_equal(depth, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown__escapes_what_could_be_markup),
        cmocka_unit_test(markdown__cuts_long_names_in_the_middle),
        cmocka_unit_test(markdown__only_our_own_tags),
        cmocka_unit_test(markdown__long_tables_are_folded),
        cmocka_unit_test(markdown__every_row_has_its_columns),
        cmocka_unit_test(markdown__begins_with_the_verdict),
        cmocka_unit_test(markdown__details_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
