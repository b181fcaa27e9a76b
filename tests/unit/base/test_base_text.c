/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, words in texts, times as text, output and JSON. */
#include "base/any_case.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/time.h"
#include "inquest/version.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static void error__first_cause_wins_and_takes_context(void **state)
{
    (void)state;
    struct inq_err err = {0};
    assert_int_equal(inq_err_at(&err, INQ_FORMAT, "a.json", 12, "bad %s", "thing"), INQ_FORMAT);
    assert_int_equal(inq_err_set(&err, INQ_NOMEM, "later"), INQ_NOMEM);
    inq_err_prefix(&err, "rank %d", 3);
    assert_int_equal(err.code, INQ_FORMAT);
    assert_string_equal(err.path, "a.json");
    assert_int_equal(err.offset, 12);
    assert_string_equal(err.message, "rank 3: bad thing");
    assert_string_equal(inq_code_text(INQ_FORMAT), "malformed input");
    assert_int_equal(inq_err_set(NULL, INQ_IO, "nobody listens"), INQ_IO);
}

static void error__long_messages_are_cut_not_overrun(void **state)
{
    (void)state;
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct inq_err err = {0};
    inq_err_set(&err, INQ_IO, "%s", longest);
    inq_err_prefix(&err, "%s", longest);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void error__text_has_place_and_no_control_characters(void **state)
{
    (void)state;
    struct inq_err err = {0};
    char text[64];
    inq_err_at(&err, INQ_FORMAT, "a.json", 12, "bad\x1b[2J thing");
    inq_err_text(&err, text, sizeof text);
    assert_string_equal(text, "a.json: bad?[2J thing (byte 12)");
    inq_err_text(&err, text, 9); /* cut to fit */
    assert_string_equal(text, "a.json: ");

    struct inq_err named = {0}; /* a path that the message has is not said twice */
    inq_err_at(&named, INQ_IO, "a.json", -1, "a.json cannot be opened");
    inq_err_text(&named, text, sizeof text);
    assert_string_equal(text, "a.json cannot be opened");

    struct inq_err bare = {.code = INQ_NOMEM};
    inq_err_text(&bare, text, sizeof text);
    assert_string_equal(text, "out of memory");
}

static void version__library_and_headers_agree(void **state)
{
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", INQ_VERSION_MAJOR, INQ_VERSION_MINOR,
                   INQ_VERSION_PATCH);
    assert_string_equal(inq_version(), text);
    assert_string_equal(inq_version(), INQ_VERSION_STRING);
}

struct decimal_case {
    const char *text;
    int64_t unit_ns;
    int64_t ns;
    bool ok;
};

static void time__decimals_convert_exactly(void **state)
{
    (void)state;
    static const struct decimal_case cases[] = {
        {"4212936072998.236", 1000, 4212936072998236, true},
        {"1687872135367223.123", 1000, 1687872135367223123, true},
        {"1694128201429795", 1000, 1694128201429795000, true},
        {"-0.0015", 1000, -2, true}, /* half away from zero */
        {"0.0004", 1000, 0, true},
        {"1.5e3", 1000, 1500000, true},
        {"1E-3", 1000000000, 1000000, true},
        {"0.8486716747283936", 1000000000, 848671675, true},
        {"0.0003486716747283936", 1000000000, 348672, true}, /* 20 digits, of which 17 count */
        {"0.00000000000000000000012", 1000000000, 0, true},
        {"5.0000000000000000000001", 1000, 5000, true},
        {"0.0000000x", 1000, 0, false},
        {".5", 1000, 500, true},
        {"-.5", 1000, -500, true},
        {"4611686018427387904", 1, INT64_C(4611686018427387904), true},
        {"9223372036.854775807", 1000000000, INT64_MAX, true},
        {"9223372036.854775808", 1000000000, 0, false},
        {"9223372036854775807", 1, INT64_MAX, true},
        {"9223372036854775808", 1, 0, false},
        {"1e300", 1000, 0, false},
        {"1e-300", 1000, 0, true},
        {"0.00000000000000000000000000000000000000000000001", 1000, 0, true},
        {"99999999999999999999999999999999999999999999999999", 1, 0, false},
        {"", 1000, 0, false},
        {"-", 1000, 0, false},
        {".", 1000, 0, false},
        {"1.2.3", 1000, 0, false},
        {"1e", 1000, 0, false},
        {"NaN", 1000, 0, false},
        {"12x", 1000, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = -1;
        bool ok =
            inq_time_parse_decimal(cases[i].text, strlen(cases[i].text), cases[i].unit_ns, &ns);
        if (ok != cases[i].ok || (ok && ns != cases[i].ns)) {
            fail_msg("%s: ok %d, %lld ns", cases[i].text, ok, (long long)ns);
        }
    }
}

/* Short texts are read in 64 bits; the same with zeros behind them are not. */
static void time__short_decimals_are_those_of_long_ones(void **state)
{
    (void)state;
    static const int64_t units[] = {1, 1000, 1000000, 1000000000, 60000000000, 3600000000000};
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        char text[64];
        char longer[96];
        int digits = (int)(seed >> 33) % 19 + 1;
        int whole = (int)(seed >> 40) % digits + 1;
        (void)snprintf(text, sizeof text, "%s%0*llu", i % 5 == 0 ? "-" : "", digits,
                       (unsigned long long)(seed >> 4));
        size_t sign = i % 5 == 0;
        text[sign + (size_t)digits] = '\0';
        memmove(text + sign + whole + 1, text + sign + whole, (size_t)(digits - whole) + 1);
        text[sign + (size_t)whole] = '.';
        if (i % 3 == 0) { /* small ones: zeros behind the point */
            size_t at = sign + (size_t)whole + 1;
            size_t zeros = (size_t)(i / 3 % 12);
            memmove(text + at + zeros, text + at, strlen(text + at) + 1);
            memset(text + at, '0', zeros);
        }
        (void)snprintf(longer, sizeof longer, "%s%s", text, "000000000000000000000");
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            int64_t a = -1;
            int64_t b = -1;
            bool good = inq_time_parse_decimal(text, strlen(text), units[u], &a);
            assert_int_equal(good, inq_time_parse_decimal(longer, strlen(longer), units[u], &b));
            if (good && a != b) {
                fail_msg("%s: %lld ns, not %lld", text, (long long)a, (long long)b);
            }
        }
    }
}

/* Whatever byte follows digits, at every place of a word and beyond. */
static void digits__end_at_the_first_byte_that_is_none(void **state)
{
    (void)state;
    char text[24];
    for (size_t n = 0; n < 19; n++) {
        for (int c = 0; c < 256; c++) {
            uint64_t expected = 0;
            uint64_t value = 0;
            memset(text, '7', sizeof text);
            for (size_t i = 0; i < n; i++) {
                text[i] = (char)('0' + (i * 7 + 9) % 10);
                expected = expected * 10 + (uint64_t)(text[i] - '0');
            }
            text[n] = (char)c;
            const char *p = text;
            bool is_digit = c >= '0' && c <= '9';
            const char *end = is_digit ? text + n : text + sizeof text;
            assert_int_equal(inq_digits_read(&p, end, &value), n);
            assert_ptr_equal(p, text + n);
            assert_true(value == expected);
        }
    }
}

static void time__durations_take_units(void **state)
{
    (void)state;
    int64_t ns = 0;
    assert_true(inq_time_parse("1.25s", 1, &ns));
    assert_int_equal(ns, 1250000000);
    assert_true(inq_time_parse("300ms", 1, &ns));
    assert_int_equal(ns, 300000000);
    assert_true(inq_time_parse("2min", 1, &ns));
    assert_int_equal(ns, 120000000000);
    assert_true(inq_time_parse("7", 1000000, &ns));
    assert_int_equal(ns, 7000000);
    assert_false(inq_time_parse("s", 1, &ns));
    assert_false(inq_time_parse("5 parsecs", 1, &ns));
}

static void time__formats_three_figures(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(inq_time_format(12, buf, sizeof buf), "12 ns");
    assert_string_equal(inq_time_format(8900, buf, sizeof buf), "8.90 us");
    assert_string_equal(inq_time_format(56700000, buf, sizeof buf), "56.7 ms");
    assert_string_equal(inq_time_format(1234000000, buf, sizeof buf), "1.23 s");
    assert_string_equal(inq_time_format(-1500000, buf, sizeof buf), "-1.50 ms");
    assert_string_equal(inq_time_format(999999999, buf, sizeof buf), "1.00 s");
    assert_string_equal(inq_time_format(INT64_MIN, buf, sizeof buf), "-9223372037 s");
}

static void json__writer_escapes_and_repairs(void **state)
{
    (void)state;
    struct inq_out out = {0};
    struct inq_json json;
    inq_json_init(&json, &out, true);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "s", "a\"\\\n\x01\xff\xc3\xa9\xed\xa0\x80");
    inq_json_int(&json, "i", INT64_MIN);
    inq_json_double(&json, "nan", (double)NAN);
    inq_json_array(&json, "list");
    inq_json_bool(&json, NULL, true);
    inq_json_null(&json, NULL);
    inq_json_end_array(&json);
    inq_json_string(&json, "none", NULL);
    inq_json_end_object(&json);
    const char *rune = "\xef\xbf\xbd";
    char expected[256];
    (void)snprintf(expected, sizeof expected,
                   "{\"s\":\"a\\\"\\\\\\n\\u0001%s\xc3\xa9%s%s%s\",\"i\":-9223372036854775808,"
                   "\"nan\":null,\"list\":[true,null],\"none\":null}\n",
                   rune, rune, rune, rune);
    assert_string_equal(out.buf, expected);
    inq_out_release(&out);
}

static void json__large_numbers_keep_their_digits(void **state)
{
    struct inq_out out = {0};
    struct inq_json json;
    (void)state;
    inq_json_init(&json, &out, true);
    inq_json_array(&json, NULL);
    inq_json_double(&json, NULL, 4212936071234.5);
    inq_json_double(&json, NULL, -1234567.0);
    inq_json_double(&json, NULL, 1e30);
    inq_json_double(&json, NULL, 0.1);
    inq_json_end_array(&json);
    assert_string_equal(out.buf, "[4212936071234.500,-1234567,1e+30,0.1]\n");
    inq_out_release(&out);
}

static void json__reader_finds_members_and_reports_where_it_fails(void **state)
{
    (void)state;
    const char *text = "{\"a\": [1, 2, \"x\"], \"b\": 7}";
    struct cJSON *root = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_json_parse(text, strlen(text), &root, &err), INQ_OK);
    assert_int_equal(inq_json_integer(inq_json_get(root, "b"), -1), 7);
    assert_int_equal(inq_json_count(inq_json_get(root, "a")), 3);
    assert_string_equal(inq_json_text(inq_json_get(root, "b"), "no text"), "no text");
    assert_null(inq_json_get(inq_json_get(root, "a"), "b"));
    inq_json_free(root);
    assert_int_equal(inq_json_parse("{\"a\": ]", 7, &root, &err), INQ_FORMAT);
    assert_null(root);
    assert_true(err.offset >= 5);
}

static int refuse(void *ctx, const char *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    ++*(int *)ctx;
    return INQ_IO;
}

static void out__error_is_sticky(void **state)
{
    (void)state;
    int calls = 0;
    struct inq_out out = {.write = refuse, .ctx = &calls};
    struct inq_err err = {0};
    inq_out_text(&out, "one");
    assert_int_equal(inq_out_flush(&out, &err), INQ_IO);
    inq_out_printf(&out, "%s", "two");
    assert_int_equal(inq_out_flush(&out, &err), INQ_IO);
    assert_int_equal(calls, 1);
    inq_out_release(&out);
}

static void out__nothing_may_be_null(void **state)
{
    (void)state;
    struct inq_out out = {0};
    inq_out_bytes(&out, NULL, 0);
    assert_int_equal(out.code, INQ_OK);
    assert_int_equal(out.len, 0);
    inq_out_release(&out);
}

static bool has(const char *word, const char *text, size_t len)
{
    return inq_any_case_has(&word, 1, text, len);
}

static void any_case__finds_a_word_anywhere_in_the_text(void **state)
{
    (void)state;
    assert_true(has("adam", "adam", 4));
    assert_true(has("adam", "multi_tensor_AdamFunctor", 24));
    assert_true(has("aTeN::", "void AtEn::", 11)); /* words have capitals too */
    assert_true(has("l2norm", "ll2norm", 7));      /* its first letter comes twice */
    assert_true(has("ep",
                    "\xc5\xb0"
                    "ep",
                    4));
}

static void any_case__takes_no_other_letters_and_nothing_beyond_the_text(void **state)
{
    (void)state;
    assert_false(has("adam", "adam", 3));
    assert_false(has("ep", "epoch", 1));
    assert_false(has("ep", "", 0));
    assert_false(has("ep", "%0", 2));            /* the low bits of both letters */
    assert_false(has("sgd_", "sgd\x7f sgd", 8)); /* '_' has no case */
    assert_false(inq_any_case_has(NULL, 0, "adam", 4));
}

/* Words are looked for 64 at once. */
static void any_case__looks_for_every_word_of_many(void **state)
{
    (void)state;
    enum { MANY = 129 };
    static char texts[MANY][8];
    const char *words[MANY];
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "w%03zu", i);
        words[i] = texts[i];
    }
    for (size_t n = 63; n <= MANY; n++) {
        for (size_t i = 0; i < MANY; i++) {
            char text[16];
            (void)snprintf(text, sizeof text, "wW%03zu_", i);
            assert_int_equal(inq_any_case_has(words, n, text, strlen(text)), i < n);
        }
    }
}

static void sink__streams_and_buffers_take_the_bytes(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    struct inq_sink sink = inq_sink_file(file);
    assert_int_equal(sink.write(sink.ctx, "abc", 3), INQ_OK);
    char read[4] = "";
    rewind(file);
    assert_int_equal(fread(read, 1, 3, file), 3);
    assert_string_equal(read, "abc");
    (void)fclose(file);

    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) { /* not on every system */
        (void)setvbuf(full, NULL, _IONBF, 0);
        sink = inq_sink_file(full);
        assert_int_equal(sink.write(sink.ctx, "abc", 3), INQ_IO);
        (void)fclose(full);
    }
    struct inq_out out = {0};
    sink = inq_out_sink(&out);
    assert_int_equal(sink.write(sink.ctx, "abc", 3), INQ_OK);
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.buf, "abc", 3);
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error__first_cause_wins_and_takes_context),
        cmocka_unit_test(error__long_messages_are_cut_not_overrun),
        cmocka_unit_test(error__text_has_place_and_no_control_characters),
        cmocka_unit_test(version__library_and_headers_agree),
        cmocka_unit_test(any_case__finds_a_word_anywhere_in_the_text),
        cmocka_unit_test(any_case__takes_no_other_letters_and_nothing_beyond_the_text),
        cmocka_unit_test(any_case__looks_for_every_word_of_many),
        cmocka_unit_test(sink__streams_and_buffers_take_the_bytes),
        cmocka_unit_test(time__decimals_convert_exactly),
        cmocka_unit_test(time__short_decimals_are_those_of_long_ones),
        cmocka_unit_test(digits__end_at_the_first_byte_that_is_none),
        cmocka_unit_test(time__durations_take_units),
        cmocka_unit_test(time__formats_three_figures),
        cmocka_unit_test(json__writer_escapes_and_repairs),
        cmocka_unit_test(json__large_numbers_keep_their_digits),
        cmocka_unit_test(json__reader_finds_members_and_reports_where_it_fails),
        cmocka_unit_test(out__error_is_sticky),
        cmocka_unit_test(out__nothing_may_be_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
