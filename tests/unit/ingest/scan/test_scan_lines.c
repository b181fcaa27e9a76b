/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are the same and in order, however many cores read them and however the source is cut. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ingest/scan/scan.h"
#include "trace/build/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (((size_t)1 << 20) - 1) /* bytes of a line that is taken */

/* What was taken, as one text: offset, length and the first bytes of each line. */
struct taken {
    char *text;
    size_t n, cap, lines;
    bool cut;
    struct inq_damage damage;
};

struct row {
    size_t n;
    char first[8];
};

static void parse(const void *ctx, const struct inq_line *line, void *out)
{
    struct row *row = out;
    (void)ctx;
    assert_int_equal(row->n, 0);
    row->n = line->n;
    memcpy(row->first, line->p, line->n < sizeof row->first ? line->n : sizeof row->first);
}

static int take(void *ctx, const struct inq_line *line, void *out, struct inq_err *err)
{
    struct taken *taken = ctx;
    const struct row *row = out;
    (void)err;
    assert_int_equal(row->n, line->n);
    assert_false(taken->cut);
    taken->cut = line->cut;
    if (taken->cap < taken->n + 128) {
        taken->cap = 2 * taken->cap + 4096;
        taken->text = realloc(taken->text, taken->cap);
        assert_non_null(taken->text);
    }
    taken->n += (size_t)snprintf(taken->text + taken->n, 128, "%lld %zu %.8s|",
                                 (long long)line->offset, line->n, row->first);
    taken->lines++;
    return INQ_OK;
}

static struct taken read_lines(const char *text, size_t n, char separator, int jobs, size_t chunk)
{
    struct taken taken = {0};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    struct inq_source_options options = {.chunk_size = chunk, .threaded = jobs > 4};
    struct inq_lines lines = {.jobs = jobs,
                              .ctx = &taken,
                              .row_size = sizeof(struct row),
                              .parse = parse,
                              .take = take,
                              .separator = separator,
                              .damage = &taken.damage};
    assert_int_equal(inq_source_open_memory(text, n, &options, &source, &err), INQ_OK);
    assert_int_equal(inq_lines_read(source, &lines, &err), INQ_OK);
    inq_source_close(source);
    return taken;
}

/* The same by any number of cores and in chunks of any size. */
static struct taken read_all(const char *text, size_t n, char separator)
{
    struct taken first = read_lines(text, n, separator, 1, 0);
    static const size_t chunks[] = {0, 1, 4099, (size_t)3 << 20};
    for (int jobs = 1; jobs <= 8; jobs++) {
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            if (chunks[c] == 1 && n > 4096) {
                continue; /* takes long */
            }
            struct taken again = read_lines(text, n, separator, jobs, chunks[c]);
            assert_int_equal(again.n, first.n);
            assert_memory_equal(again.text, first.text, first.n);
            assert_int_equal(again.cut, first.cut);
            assert_memory_equal(&again.damage, &first.damage, sizeof first.damage);
            free(again.text);
        }
    }
    return first;
}

static void check(const char *text, char separator, const char *expected, uint64_t bad)
{
    struct taken taken = read_all(text, strlen(text), separator);
    assert_string_equal(taken.n > 0 ? taken.text : "", expected);
    assert_int_equal(taken.damage.count[INQ_DAMAGE_BAD_EVENT], bad);
    assert_int_equal(inq_damage_total(&taken.damage), bad);
    free(taken.text);
}

static void lines__empty_ones_are_left_out(void **state)
{
    (void)state;
    check("", 0, "", 0);
    check("\n\r\n\n", 0, "", 0);
    check("a\n\nbc\r\nd", 0, "0 1 a|3 2 bc|7 1 d|", 0);
    check("a,\"b\nc\"\nd\n", 0, "0 4 a,\"b|5 2 c\"|8 1 d|", 0);
}

static void lines__the_last_may_have_no_line_break(void **state)
{
    (void)state;
    struct taken taken = read_all("ab\ncd", 5, ',');
    assert_true(taken.cut);
    free(taken.text);
    taken = read_all("ab\ncd\n", 6, ',');
    assert_false(taken.cut);
    free(taken.text);
}

static void lines__quoted_fields_have_line_breaks(void **state)
{
    (void)state;
    check("a,\"b\nc\"\nd\n", ',', "0 7 a,\"b\nc\"|8 1 d|", 0);
    check("\"a\"\"\n\",b\r\n\"c\"", ',', "0 8 \"a\"\"\n\",b|10 3 \"c\"|", 0);
    check("a\"\nb\"\n", ',', "0 2 a\"|3 2 b\"|", 0); /* no field begins there */
    check("\"a\nb;\"c\nd\"\n", ';', "0 7 \"a\nb;\"c|8 2 d\"|", 0);
    /* one that never closes costs its line */
    check("a\n\"b,c\nd\n", ',', "0 1 a|7 1 d|", 1);
    check("a\n\"", ',', "0 1 a|", 1);
}

static char *repeat(char c, size_t n, const char *rest, size_t *length)
{
    *length = n + strlen(rest);
    char *text = malloc(*length + 1);
    assert_non_null(text);
    memset(text, c, n);
    memcpy(text + n, rest, strlen(rest) + 1);
    return text;
}

static void lines__too_long_ones_are_counted(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        for (char separator = 0; separator <= ','; separator += ',') {
            size_t n = 0;
            char *text = repeat('x', LONGEST + more, "\nab\n\"c\"\n", &n);
            struct taken taken = read_all(text, n, separator);
            assert_int_equal(taken.lines, 3 - more);
            assert_int_equal(taken.damage.count[INQ_DAMAGE_LIMIT], more);
            assert_int_equal(inq_damage_total(&taken.damage), more);
            free(taken.text);
            free(text);
        }
    }
}

/* Some hundred pieces, of lines of very different lengths. */
static void lines__of_a_large_text_are_in_order(void **state)
{
    (void)state;
    size_t cap = (size_t)12 << 20;
    char *text = malloc(cap + 8192);
    size_t n = 0;
    size_t lines = 0;
    assert_non_null(text);
    for (uint32_t seed = 7; n < cap; lines++) {
        seed = seed * 1664525 + 1013904223;
        size_t length = (seed >> 8) % ((seed >> 30) == 0 ? 4000 : 60);
        n += (size_t)sprintf(text + n, "%zu,", lines);
        memset(text + n, lines % 500 == 0 ? '"' : 'x', length & ~(size_t)1);
        n += length & ~(size_t)1;
        text[n++] = '\n';
    }
    for (char separator = 0; separator <= ','; separator += ',') {
        struct taken taken = read_all(text, n, separator);
        assert_int_equal(taken.lines, lines);
        assert_int_equal(inq_damage_total(&taken.damage), 0);
        free(taken.text);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__empty_ones_are_left_out),
        cmocka_unit_test(lines__the_last_may_have_no_line_break),
        cmocka_unit_test(lines__quoted_fields_have_line_breaks),
        cmocka_unit_test(lines__too_long_ones_are_counted),
        cmocka_unit_test(lines__of_a_large_text_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
