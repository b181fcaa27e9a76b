/* SPDX-License-Identifier: Apache-2.0 */
/* Event traces, written by hand and broken: what was lost is counted, the rest is kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"
#include "support_trace.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* One event; the parts that tests vary come as text. */
#define KERNEL(name, ts, dur, args)                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                                       \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define DOCUMENT(events) "{\"schemaVersion\": 1, \"traceEvents\": [" events "]}"
#define SOME             KERNEL("k", "10", "2", "\"stream\": 7, \"device\": 0, \"correlation\": 5")

/* Reads a document in all ways; the shard is the caller's. */
static void read_all_ways(const char *document, struct inq_shard *shard)
{
    char *copy = malloc(strlen(document) + 1);
    assert_non_null(copy);
    memcpy(copy, document, strlen(document) + 1);
    test_all_ways((struct test_text){copy, strlen(copy)}, document, shard);
    free(copy);
}

static uint64_t damage_of(const struct inq_shard *shard, enum inq_damage_kind kind)
{
    return shard->file.damage.count[kind];
}

static void assert_no_damage(const struct inq_shard *shard)
{
    assert_int_equal(inq_damage_total(&shard->file.damage), 0);
}

#define EVENT(cat, name, rest)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name                                      \
    "\", \"pid\": 42, \"tid\": 43, \"ts\": 100, \"dur\": 7" rest "}"

#define HALF(ph, name, ts)                                                                         \
    "{\"ph\": \"" ph "\", \"pid\": 1, \"tid\": 2, \"ts\": " ts ", \"name\": \"" name "\"}"

/* ---- damage ---------------------------------------------------------------------------------- */

struct damage_case {
    const char *document;
    enum inq_damage_kind kind;
    uint64_t count;
    size_t kernels;
};

static void damage__is_counted_and_the_rest_is_kept(void **state)
{
    (void)state;
    static const struct damage_case cases[] = {
        {"{\"traceEvents\": [" SOME ", " SOME, INQ_DAMAGE_UNTERMINATED, 1, 2},
        {"{\"traceEvents\": [" SOME ", " SOME ",", INQ_DAMAGE_UNTERMINATED, 1, 2},
        {"{\"traceEvents\": [" SOME ", {\"ph\": \"X\", \"ca", INQ_DAMAGE_TRUNCATED, 1, 1},
        {"{\"traceEvents\": [" SOME "], \"distributedInfo\": {\"ra", INQ_DAMAGE_TRUNCATED, 1, 1},
        {"{\"traceEvents\": [" SOME "]", INQ_DAMAGE_TRUNCATED, 1, 1},
        {DOCUMENT(SOME ", {\"ph\": @}, " SOME), INQ_DAMAGE_BAD_EVENT, 1, 2},
        {DOCUMENT(SOME
                  ", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no end, \"ts\": 1}, " SOME
                  ", " SOME),
         INQ_DAMAGE_BAD_EVENT, 1, 3},
        {DOCUMENT(SOME ", 17, null, \"x\", [1], " SOME), INQ_DAMAGE_BAD_EVENT, 4, 2},
        {DOCUMENT(SOME ", {\"no\": \"phase\"}, " SOME), INQ_DAMAGE_BAD_EVENT, 1, 2},
        {DOCUMENT(SOME " #### garbage #### " SOME), INQ_DAMAGE_GARBAGE, 18, 2},
        {"garbage first " DOCUMENT(SOME), INQ_DAMAGE_GARBAGE, 15, 1},
        {DOCUMENT(SOME) " and last", INQ_DAMAGE_GARBAGE, 8, 1},
        {"{\"traceEvents\": [" SOME "], , \"baseTimeNanoseconds\": @@@, \"traceName\": \"x\"}",
         INQ_DAMAGE_GARBAGE, 28, 1},
        {"{\"baseTimeNanoseconds\": \"soon\", \"traceEvents\": [" SOME "]}", INQ_DAMAGE_BAD_NUMBER,
         1, 1},
        {DOCUMENT(KERNEL("k", "10", "-2", "")), INQ_DAMAGE_NEGATIVE_DURATION, 1, 1},
        {DOCUMENT(KERNEL("k", "1o", "2", "") ", " SOME), INQ_DAMAGE_BAD_NUMBER, 1, 1},
        {DOCUMENT(KERNEL("k", "9e17", "2", "") ", " SOME), INQ_DAMAGE_BAD_NUMBER, 1, 1},
        {DOCUMENT("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\"}, " SOME),
         INQ_DAMAGE_BAD_EVENT, 1, 1},
        {DOCUMENT(KERNEL("bad \xff utf-8", "1", "2", "")), INQ_DAMAGE_BAD_UTF8, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_shard shard;
        read_all_ways(cases[i].document, &shard);
        if (damage_of(&shard, cases[i].kind) != cases[i].count ||
            shard.ranks[0].events.n != cases[i].kernels) {
            fail_msg("%s: %d times %s, %zu kernels", cases[i].document,
                     (int)damage_of(&shard, cases[i].kind), inq_damage_text(cases[i].kind),
                     shard.ranks[0].events.n);
        }
        inq_shard_release(&shard);
    }
}

static void damage__tells_where(void **state)
{
    (void)state;
    const char *document = DOCUMENT(SOME ", {\"ph\": @}, " SOME);
    struct inq_shard shard;
    read_all_ways(document, &shard);
    assert_int_equal(shard.file.damage.first_offset[INQ_DAMAGE_BAD_EVENT],
                     strstr(document, "{\"ph\": @") - document);
    inq_shard_release(&shard);
}

static void damage__names_as_old_exporters_wrote_them(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all_ways(DOCUMENT(KERNEL("operator \"\" raw\nline", "1", "2",
                                  "") ", " KERNEL("tab\\tand \\\"quote\\\" \\u00e9", "3", "4", "")),
                  &shard);
    assert_no_damage(&shard);
    const struct inq_events *e = &shard.ranks[0].events;
    assert_int_equal(e->n, 2);
    assert_string_equal(test_str(&shard, e->name[0]), "operator \"\" raw line");
    assert_string_equal(test_str(&shard, e->name[1]), "tab and \"quote\" \xc3\xa9");
    inq_shard_release(&shard);
}

/* A document with one event whose name has n bytes. */
static struct test_text with_long_name(size_t n)
{
    static const char front[] = "{\"schemaVersion\": 1, \"traceEvents\": [" SOME
                                ", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"";
    static const char back[] = "\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 1}, " SOME "]}";
    struct test_text text = {malloc(sizeof front + sizeof back + n), 0};
    assert_non_null(text.p);
    memcpy(text.p, front, sizeof front - 1);
    memset(text.p + sizeof front - 1, 'n', n);
    memcpy(text.p + sizeof front - 1 + n, back, sizeof back - 1);
    text.n = sizeof front - 1 + n + sizeof back - 1;
    return text;
}

static void damage__long_strings_are_cut(void **state)
{
    (void)state;
    static const size_t sizes[] = {INQ_SCAN_MAX_STRING, INQ_SCAN_MAX_STRING + 1, 70000, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct test_text text = with_long_name(sizes[i]);
        struct inq_shard shard;
        test_all_ways(text, "a long name", &shard);
        assert_int_equal(shard.file.events, 3);
        assert_int_equal(shard.ranks[0].events.n, 3);
        assert_int_equal(damage_of(&shard, INQ_DAMAGE_LONG_STRING), i > 0);
        assert_int_equal(inq_strtab_len(&shard.names, shard.ranks[0].events.name[1]),
                         INQ_SCAN_MAX_STRING);
        inq_shard_release(&shard);
        free(text.p);
    }
}

static void damage__an_event_without_end_is_dropped_at_a_limit(void **state)
{
    (void)state;
    struct test_text text = with_long_name(INQ_SCAN_MAX_EVENT + 1000);
    struct inq_shard shard;
    test_all_ways(text, "an endless name", &shard);
    assert_int_equal(damage_of(&shard, INQ_DAMAGE_LIMIT), 1);
    assert_int_equal(shard.file.events, 2);
    inq_shard_release(&shard);
    free(text.p);
}

static void damage__hostile_nesting_ends(void **state)
{
    (void)state;
    static const char *const units[] = {
        "[",          "{\"a\":", "{\"ph\":", "[{\"ph\":\"X\",\"args\":",
        "{\"ph\":\"", "\"",      "\\",       "{\"traceEvents\":["};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i]);
        struct test_text text = {malloc(n * 100000), n * 100000};
        assert_non_null(text.p);
        for (size_t j = 0; j < 100000; j++) {
            memcpy(text.p + j * n, units[i], n);
        }
        struct inq_shard shard;
        int code =
            test_read_trace(text, (struct test_way){.level = (int)inq_shape_level()}, &shard);
        assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
        inq_shard_release(&shard);
        free(text.p);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory__every_failing_allocation_is_reported(void **state)
{
    (void)state;
    char document[] =
        "{\"distributedInfo\": {\"rank\": 0, \"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, "
        "1]}]}, \"deviceProperties\": [{\"id\": 0, \"name\": \"A\"}], \"traceEvents\": [" SOME
        ", " HALF("B", "a", "1") ", " HALF("E", "a", "2") ", " EVENT(
            "cuda_runtime", "l",
            "") ", " EVENT("user_annotation", "n",
                           "") ", " KERNEL("ncclKernel_X \\u0041", "1", "1",
                                           "\"Collective name\": \"allreduce\", \"dtype\": "
                                           "\"Float\", \"Process Group Name\": \"0\", "
                                           "\"Process Group Ranks\": \"[0, 1]\"") "]}";
    struct test_text text = {document, strlen(document)};
    bool done = false;
    for (long n = 1; !done && n < 1000; n++) {
        struct inq_source *source = NULL;
        struct inq_shard shard = {.file = {.path = "test"}};
        struct inq_err err = {0};
        inq_mem_fail_after(n);
        int code = inq_source_open_memory(text.p, text.n, NULL, &source, &err);
        if (code == INQ_OK) {
            code = inq_kineto_read(source, &shard, inq_shape_matcher(inq_shape_level()), &err);
        }
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        done = code == INQ_OK && n > 5;
        if (code != INQ_OK) {
            assert_int_equal(err.code, INQ_NOMEM);
        }
        inq_source_close(source);
        inq_shard_release(&shard);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage__is_counted_and_the_rest_is_kept),
        cmocka_unit_test(damage__tells_where),
        cmocka_unit_test(damage__names_as_old_exporters_wrote_them),
        cmocka_unit_test(damage__long_strings_are_cut),
        cmocka_unit_test(damage__an_event_without_end_is_dropped_at_a_limit),
        cmocka_unit_test(damage__hostile_nesting_ends),
        cmocka_unit_test(memory__every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
