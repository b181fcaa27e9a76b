/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, numbers, values: right ones exactly, wrong ones told apart. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ingest/scan/scan.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static void scan_int__reads_what_fits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"007", true, 7},
        {"999999999999999999", true, INT64_C(999999999999999999)},
        {"1719853884000000000", true, INT64_C(1719853884000000000)},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775807", true, -INT64_MAX},
        {"18446744073709551615", false, 0},
        {"1e3", true, 1000},
        {"2.0", true, 2},
        {"", false, 0},
        {"-", false, 0},
        {"12a", false, 0},
        {"true", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        assert_int_equal(inq_scan_int(cases[i].text, strlen(cases[i].text), &value), cases[i].good);
        if (cases[i].good) {
            assert_int_equal(value, cases[i].value);
        }
    }
}

static void scan_time__is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
        bool fraction;
    } cases[] = {
        {"0", 0, false},
        {"1", 1000, false},
        {"1694128201435418", INT64_C(1694128201435418000), false},
        {"1712195495519689.047", INT64_C(1712195495519689047), true},
        {"4212936085387.172", INT64_C(4212936085387172), true},
        {"4212936093842.190", INT64_C(4212936093842190), true},
        {"0.001", 1, true},
        {"0.1", 100, true},
        {"0.12", 120, true},
        {"5.0", 5000, true},
        {"2688330.4119110107", INT64_C(2688330412), true},
        {"0.0004", 0, true},
        {"402.000000", 402000, true},
        {"402.9995", 403000, true},
        {"1768464000000000.0004999", INT64_C(1768464000000000000), true},
        {"9223372036854775", INT64_C(9223372036854775000), false},
        {"9223372036854775.807", INT64_MAX, true},
        {"0.0005", 1, true},
        {"1.5e3", 1500000, true},
        {"1e3", 1000000, true},
        {"-2.5", -2500, true},
        {"-7", -7000, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = 0;
        bool fraction = false;
        assert_true(inq_scan_time(cases[i].text, strlen(cases[i].text), &ns, &fraction));
        assert_int_equal(ns, cases[i].ns);
        assert_int_equal(fraction, cases[i].fraction);
    }
    static const char *const bad[] = {"",
                                      ".",
                                      "-",
                                      "1.2.3",
                                      "1e",
                                      "x",
                                      "9999999999999999999999",
                                      "1e400",
                                      "9223372036854776",
                                      "9223372036854775.808",
                                      "1.00000x",
                                      "1.0 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ns = 0;
        bool fraction = false;
        assert_false(inq_scan_time(bad[i], strlen(bad[i]), &ns, &fraction));
    }
}

/* ---- strings --------------------------------------------------------------------------------- */

/* A cursor over exactly the bytes of the text, so that a sanitizer sees reads behind it. */
static struct inq_scan over(const char *text, char **copy)
{
    size_t n = strlen(text);
    *copy = malloc(n > 0 ? n : 1);
    assert_non_null(*copy);
    memcpy(*copy, text, n);
    return (struct inq_scan){.p = *copy, .end = *copy + n};
}

static void check_string(const char *text, enum inq_scan_result expected, const char *inside,
                         long resync)
{
    char *copy;
    struct inq_scan scan = over(text, &copy);
    struct inq_text got;
    assert_int_equal(inq_scan_string(&scan, &got), expected);
    if (expected == INQ_SCAN_OK) {
        assert_int_equal(got.n, strlen(inside));
        assert_memory_equal(got.p, inside, got.n);
    } else if (expected == INQ_SCAN_BAD) {
        assert_int_equal(scan.resync - copy, resync);
    }
    free(copy);
}

static void scan_string__ends_where_a_string_can_end(void **state)
{
    (void)state;
    check_string("\"abc\",", INQ_SCAN_OK, "abc", 0);
    check_string("\"\"}", INQ_SCAN_OK, "", 0);
    check_string("\"abc\"  \n ]", INQ_SCAN_OK, "abc", 0);
    check_string("\"a\\\"b\",", INQ_SCAN_OK, "a\\\"b", 0);
    check_string("\"a\\\\\",", INQ_SCAN_OK, "a\\\\", 0);
    check_string("\"a\\\\\\\"b\",", INQ_SCAN_OK, "a\\\\\\\"b", 0);
    /* quotes that somebody forgot to escape, a raw line break */
    check_string("\"operator \"\" _s\",", INQ_SCAN_OK, "operator \"\" _s", 0);
    check_string("\"a\nb\",", INQ_SCAN_OK, "a\nb", 0);
    /* the text ends too soon */
    check_string("\"abc", INQ_SCAN_MORE, "", 0);
    check_string("\"abc\"", INQ_SCAN_MORE, "", 0);
    check_string("\"abc\" ", INQ_SCAN_MORE, "", 0);
    check_string("\"abc\\\"", INQ_SCAN_MORE, "", 0);
    /* it has swallowed the next key: the search for the thread goes on behind its start */
    check_string("\"abc, \"pid\": 1,", INQ_SCAN_BAD, "", 1);
}

static void scan_skip__any_value(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum inq_scan_result result;
        size_t used;
    } cases[] = {
        {"1,", INQ_SCAN_OK, 1},
        {"\"a\",", INQ_SCAN_OK, 3},
        {"true}", INQ_SCAN_OK, 4},
        {"[],", INQ_SCAN_OK, 2},
        {"[[1, 2], {\"a\": \"}]\"}, \"]\"],", INQ_SCAN_OK, 26},
        {"{\"a\": {\"b\": [null]}}x", INQ_SCAN_OK, 20},
        {"[\"\", \"\", 12, \"0\", 3],", INQ_SCAN_OK, 20},
        {"[\"\"a\", 4],", INQ_SCAN_OK, 9}, /* a quote inside, behind the first one */
        {"[\"\\\"\", 4],", INQ_SCAN_OK, 9},
        {"{\"\": \"\"},", INQ_SCAN_OK, 8},
        {"[ 7", INQ_SCAN_MORE, 0},
        {"[ ", INQ_SCAN_MORE, 0},
        {"[\"", INQ_SCAN_MORE, 0},
        {"[1, 2", INQ_SCAN_MORE, 0},
        {"{\"a\": ", INQ_SCAN_MORE, 0},
        {"12", INQ_SCAN_MORE, 0},
        {"[1}", INQ_SCAN_BAD, 0},
        {"[\"a\": 1]", INQ_SCAN_BAD, 0},
        {"]", INQ_SCAN_BAD, 0},
        {"@", INQ_SCAN_BAD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *copy;
        struct inq_scan scan = over(cases[i].text, &copy);
        assert_int_equal(inq_scan_skip(&scan), cases[i].result);
        if (cases[i].result == INQ_SCAN_OK) {
            assert_int_equal(scan.p - copy, cases[i].used);
        }
        free(copy);
    }
}

/* Lists of numbers are passed over by blocks: wherever in them something else stands, it is seen.
 */
static void scan_skip__long_lists_of_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *odd;
        enum inq_scan_result result;
    } cases[] = {
        {"1", INQ_SCAN_OK},         {", ", INQ_SCAN_OK},    {"-1.5e3", INQ_SCAN_OK},
        {"[7, 8]", INQ_SCAN_OK},    {"\"]\"", INQ_SCAN_OK}, {"{\"a\": [1]}", INQ_SCAN_OK},
        {"\n\t", INQ_SCAN_OK},      {"}", INQ_SCAN_BAD},    {":", INQ_SCAN_BAD},
        {"\xac\xb1", INQ_SCAN_BAD}, {"\"", INQ_SCAN_MORE},  {"/", INQ_SCAN_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int at = 0; at < 80; at++) {
            char text[1024] = "[";
            size_t n = 1;
            for (int k = 0; k < 80; k++) {
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s%d", k > 0 ? ", " : "",
                                      k == at ? cases[i].odd : "", k == at ? ", " : "", 97 + k);
                /* a value and a number beside it are two words without a comma, which is let pass
                 */
            }
            n += (size_t)snprintf(text + n, sizeof text - n, "],");
            char *copy;
            struct inq_scan scan = over(text, &copy);
            assert_int_equal(inq_scan_skip(&scan), cases[i].result);
            if (cases[i].result == INQ_SCAN_OK) {
                assert_int_equal(scan.p - copy, n - 1);
            }
            free(copy);
        }
    }
}

/* As long as a number may be, and longer, at any place of a block. */
static void scan_skip__numbers_that_are_too_long(void **state)
{
    (void)state;
    for (int before = 0; before < 12; before++) {
        for (int len = 399; len <= 520; len++) {
            char text[1024];
            int n = snprintf(text, sizeof text, "[%.*s", before * 3,
                             "11,22,33,44,55,66,77,88,99,00,12,");
            memset(text + n, '7', (size_t)len);
            (void)snprintf(text + n + len, sizeof text - (size_t)(n + len), ", 1],");
            char *copy;
            struct inq_scan scan = over(text, &copy);
            enum inq_scan_result result = inq_scan_skip(&scan);
            if (len <= 400 || len > 400 + 31) { /* a block may have ended in it */
                assert_int_equal(result, len > 400 ? INQ_SCAN_BAD : INQ_SCAN_OK);
            }
            free(copy);
        }
    }
}

static void scan_skip__depth_is_bounded(void **state)
{
    (void)state;
    char deep[2 * INQ_SCAN_MAX_DEPTH + 4];
    memset(deep, '[', INQ_SCAN_MAX_DEPTH);
    memset(deep + INQ_SCAN_MAX_DEPTH, ']', INQ_SCAN_MAX_DEPTH);
    struct inq_scan fits = {.p = deep, .end = deep + 2 * INQ_SCAN_MAX_DEPTH};
    assert_int_equal(inq_scan_skip(&fits), INQ_SCAN_OK);
    memset(deep, '[', sizeof deep);
    struct inq_scan scan = {.p = deep, .end = deep + sizeof deep};
    assert_int_equal(inq_scan_skip(&scan), INQ_SCAN_BAD);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static void check_decode(const char *text, const char *expected, bool bad)
{
    char out[64];
    struct inq_text in = {text, (uint32_t)strlen(text)};
    struct inq_scan_decoded got = inq_scan_decode(in, out, sizeof out);
    assert_int_equal(got.n, strlen(expected));
    assert_memory_equal(out, expected, got.n);
    assert_int_equal(got.bad_utf8, bad);
    assert_false(got.cut);
}

static void scan_decode__gives_clean_utf8(void **state)
{
    (void)state;
    check_decode("plain", "plain", false);
    check_decode("a\\\"b\\\\c\\/d", "a\"b\\c/d", false);
    check_decode("a\\nb\\tc", "a b c", false);
    check_decode("a\nb\x01", "a b ", false);
    check_decode("\\u0041\\u00e9\\u4e2d", "A\xc3\xa9\xe4\xb8\xad", false);
    check_decode("\\ud83d\\ude00", "\xf0\x9f\x98\x80", false);
    check_decode("\xf0\x9f\x98\x80\xc3\xa9", "\xf0\x9f\x98\x80\xc3\xa9", false);
    check_decode("\\u0000", " ", false);
    check_decode("\\ud83d", "\xef\xbf\xbd", true);
    check_decode("\\ud83dx", "\xef\xbf\xbdx", true);
    check_decode("\\u12",
                 "\xef\xbf\xbd"
                 "12",
                 true);
    check_decode("a\xff", "a\xef\xbf\xbd", true);
    check_decode("\xc3", "\xef\xbf\xbd", true);
    check_decode("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", true);
    check_decode("\xed\xa0\x80", "\xef\xbf\xbd", true);
    check_decode("\xf5\x80", "\xef\xbf\xbd\xef\xbf\xbd", true);
    check_decode("tail\\", "tail\\", false);
}

static void scan_decode__cuts_between_characters(void **state)
{
    (void)state;
    char out[4];
    struct inq_text in = {"ab\xc3\xa9\xc3\xa9", 6};
    struct inq_scan_decoded got = inq_scan_decode(in, out, 4);
    assert_int_equal(got.n, 4);
    assert_true(got.cut);
    got = inq_scan_decode(in, out, 3);
    assert_int_equal(got.n, 2);
    assert_true(got.cut);
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum inq_scan_result read_text(const char *text, struct inq_scan_event *event, char **copy,
                                      size_t *used)
{
    struct inq_scan scan = over(text, copy);
    enum inq_scan_result result = inq_scan_event_read(&scan, event);
    *used = (size_t)((result == INQ_SCAN_BAD ? scan.resync : scan.p) - *copy);
    return result;
}

static void scan_event__reads_fields_in_any_order(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "12.5,"
        " \"dur\": 3, \"args\": {\"stream\": 7, \"device\": 0, \"correlation\": 99}}",
        "{\"args\":{\"correlation\":99,\"x\":[1,{\"stream\":5}],\"device\":0,\"stream\":7},"
        "\"dur\":\"3\",\"ts\":\"12.5\",\"tid\":7,\"pid\":0,\"name\":\"k\",\"cat\":\"kernel\","
        "\"ph\":\"X\"}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct inq_scan_event event = {0};
        char *copy;
        size_t used;
        assert_int_equal(read_text(texts[i], &event, &copy, &used), INQ_SCAN_OK);
        assert_int_equal(used, strlen(texts[i]));
        assert_int_equal(event.ph, 'X');
        assert_int_equal(event.number[INQ_FIELD_TS], 12500);
        assert_int_equal(event.number[INQ_FIELD_DUR], 3000);
        assert_int_equal(event.number[INQ_FIELD_TID], 7);
        assert_int_equal(event.number[INQ_FIELD_STREAM], 7);
        assert_int_equal(event.number[INQ_FIELD_CORRELATION], 99);
        assert_true(event.fraction);
        assert_int_equal(event.bad_numbers, 0);
        free(copy);
    }
}

static void scan_event__every_prefix_wants_more(void **state)
{
    (void)state;
    const char *text = "{\"ph\": \"X\", \"name\": \"a\\\"b\", \"pid\": \"x\", \"ts\": 1.5,"
                       " \"args\": {\"a\": [1, {}], \"stream\": 2}, \"dur\": 3}";
    size_t n = strlen(text);
    for (size_t cut = 1; cut < n; cut++) {
        struct inq_scan_event event = {0};
        char *copy = malloc(cut);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        struct inq_scan scan = {.p = copy, .end = copy + cut};
        assert_int_equal(inq_scan_event_read(&scan, &event), INQ_SCAN_MORE);
        assert_ptr_equal(scan.p, copy);
        free(copy);
    }
}

static void scan_event__tells_where_it_broke(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *resync; /* text from there on */
    } cases[] = {
        {"{\"ph\": \"X\" \"cat\": 1}", "X\" \"cat\": 1}"},
        {"{\"ph\": @, \"cat\": 1}", "@, \"cat\": 1}"},
        {"{\"ph\" \"X\"}", "ph\" \"X\"}"},
        {"{\"a\": 1, {\"ph\": 2}", "{\"ph\": 2}"},
        {"{\"a\": [1, 2}, {\"ph\": 2}", "}, {\"ph\": 2}"},
        {"{\"name\": \"abc, \"ts\": 1}, {\"ph\": 2}", "abc, \"ts\": 1}, {\"ph\": 2}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_scan_event event = {0};
        char *copy;
        size_t used;
        assert_int_equal(read_text(cases[i].text, &event, &copy, &used), INQ_SCAN_BAD);
        assert_string_equal(cases[i].text + used, cases[i].resync);
        free(copy);
    }
}

static void scan_event__counts_bad_numbers(void **state)
{
    (void)state;
    struct inq_scan_event event = {0};
    char *copy;
    size_t used;
    assert_int_equal(read_text("{\"ph\": \"X\", \"ts\": 12a4, \"dur\": 1.2.3, \"pid\": nil, "
                               "\"args\": {\"stream\": 1x}}",
                               &event, &copy, &used),
                     INQ_SCAN_OK);
    assert_int_equal(event.bad_numbers, 2);
    assert_false(INQ_HAS(&event, TS));
    assert_false(INQ_HAS(&event, DUR));
    assert_false(INQ_HAS(&event, STREAM));
    free(copy);
}

static void scan_resync__finds_events_and_members(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum inq_scan_start found;
        const char *rest;
        bool last;
    } cases[] = {
        {"garbage {\"ph\": 1}", INQ_START_EVENT, "{\"ph\": 1}", false},
        {"{\"x\": {\"y\": 1}, \n {\n \"name\" : 1}", INQ_START_EVENT, "{\n \"name\" : 1}", false},
        {"\"ph\": 1, \"traceName\": 2", INQ_START_MEMBER, "\"traceName\": 2", false},
        {"{\"External id\": 1}", INQ_START_NONE, "", true},
        {"{{{{", INQ_START_NONE, "{", false},
        {"{{{{", INQ_START_NONE, "", true},
        {"{  \"na", INQ_START_MORE, "{  \"na", false},
        {"{  \"na", INQ_START_NONE, "", true},
        {"\"a {\"ph\": 1}", INQ_START_EVENT, "{\"ph\": 1}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *copy;
        struct inq_scan scan = over(cases[i].text, &copy);
        assert_int_equal(inq_scan_resync(&scan, cases[i].last), cases[i].found);
        assert_string_equal(cases[i].text + (scan.p - copy), cases[i].rest);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_int__reads_what_fits),
        cmocka_unit_test(scan_time__is_exact),
        cmocka_unit_test(scan_string__ends_where_a_string_can_end),
        cmocka_unit_test(scan_skip__any_value),
        cmocka_unit_test(scan_skip__long_lists_of_numbers),
        cmocka_unit_test(scan_skip__numbers_that_are_too_long),
        cmocka_unit_test(scan_skip__depth_is_bounded),
        cmocka_unit_test(scan_decode__gives_clean_utf8),
        cmocka_unit_test(scan_decode__cuts_between_characters),
        cmocka_unit_test(scan_event__reads_fields_in_any_order),
        cmocka_unit_test(scan_event__every_prefix_wants_more),
        cmocka_unit_test(scan_event__tells_where_it_broke),
        cmocka_unit_test(scan_event__counts_bad_numbers),
        cmocka_unit_test(scan_resync__finds_events_and_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
