/* SPDX-License-Identifier: Apache-2.0 */
/* The safe subset of pickle: what it builds, what it refuses, what it keeps of a cut document. */
#include "ingest/flight/pickle.h"
#include "ingest/flight/value_json.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#define BYTES(text) text, sizeof(text) - 1

/* {"version": "2.9", "entries": [{"n": 1}, {"n": -2}]} as protocols 2, 4 and 5 write it. */
static const char proto2[] = "\x80\x02}(X\x07\0\0\0versionq\0X\x03\0\0\0"
                             "2.9q\x01X\x07\0\0\0entriesq\x02](}(X\x01\0\0\0nq\x03K\x01u"
                             "}(h\x03J\xfe\xff\xff\xffueu.";
static const char proto4[] = "\x80\x04\x95\x34\0\0\0\0\0\0\0}\x94(\x8c\x07version\x94\x8c\x03"
                             "2.9\x94\x8c\x07"
                             "entries\x94]\x94"
                             "(}\x94\x8c\x01n\x94K\x01s}\x94h\x06J\xfe\xff\xff\xffseu.";

struct document {
    struct inq_arena arena;
    struct inq_value *root;
    bool complete;
    struct inq_err err;
    int code;
};

static struct document decode(const void *bytes, size_t n, const struct inq_pickle_limits *limits)
{
    struct document doc = {0};
    doc.code = inq_pickle_decode(bytes, n, limits, &doc.arena, &doc.root, &doc.complete, &doc.err);
    return doc;
}

static void check_document(const char *bytes, size_t n)
{
    struct document doc = decode(bytes, n, NULL);
    assert_int_equal(doc.code, INQ_OK);
    assert_true(doc.complete);
    assert_string_equal(inq_value_text(inq_value_get(doc.root, "version"), ""), "2.9");
    const struct inq_value *entries = inq_value_get(doc.root, "entries");
    assert_int_equal(entries->n, 2);
    assert_int_equal(inq_value_int(inq_value_get(inq_value_at(entries, 0), "n"), 0), 1);
    assert_int_equal(inq_value_int(inq_value_get(inq_value_at(entries, 1), "n"), 0), -2);
    assert_null(inq_value_at(entries, 2));
    inq_arena_release(&doc.arena);
}

static void pickle__reads_protocols_2_4_and_5(void **state)
{
    (void)state;
    char proto5[sizeof proto4];
    memcpy(proto5, proto4, sizeof proto4);
    proto5[1] = 5;
    check_document(BYTES(proto2));
    check_document(BYTES(proto4));
    check_document(BYTES(proto5));
}

static int64_t one_int(const char *bytes, size_t n)
{
    struct document doc = decode(bytes, n, NULL);
    assert_int_equal(doc.code, INQ_OK);
    assert_true(doc.complete);
    int64_t value = inq_value_int(doc.root, 77);
    inq_arena_release(&doc.arena);
    return value;
}

static void pickle__reads_integers_of_any_width(void **state)
{
    (void)state;
    assert_int_equal(one_int(BYTES("\x80\x02K\xff.")), 255);
    assert_int_equal(one_int(BYTES("\x80\x02M\xff\xff.")), 65535);
    assert_int_equal(one_int(BYTES("\x80\x02J\xff\xff\xff\xff.")), -1);
    assert_int_equal(one_int(BYTES("\x80\x02\x8a\x08\0\0\0\0\0\0\0\x80.")), INT64_MIN);
    assert_int_equal(one_int(BYTES("\x80\x02\x8a\x01\x80.")), -128);
    assert_int_equal(one_int(BYTES("\x80\x02\x8a\x00.")), 0);
    assert_int_equal(one_int(BYTES("\x80\x02\x8a\x09\0\0\0\0\0\0\0\x80\0.")), INT64_MAX);
    assert_int_equal(one_int(BYTES("\x80\x02\x88.")), 1);
}

static void pickle__refuses_what_is_not_plain_data(void **state)
{
    (void)state;
    static const char refused[] = "cRbio\x81\x92\x93\x82\x83\x84PQ\x97\x8f";
    for (size_t i = 0; i + 1 < sizeof refused; i++) {
        char bytes[] = "\x80\x02K\x01?\n\n.";
        bytes[4] = refused[i];
        struct document doc = decode(bytes, sizeof bytes - 1, NULL);
        assert_int_equal(doc.code, INQ_UNSUPPORTED);
        assert_int_equal(doc.err.offset, 4);
        assert_false(doc.complete);
        assert_int_equal(inq_value_int(doc.root, 0), 1); /* what was read before stays */
        inq_arena_release(&doc.arena);
    }
}

static void pickle__keeps_whole_entries_of_a_cut_document(void **state)
{
    (void)state;
    size_t most = 0;
    for (size_t n = 0; n < sizeof proto2 - 1; n++) {
        struct document doc = decode(proto2, n, NULL);
        assert_int_equal(doc.code, INQ_OK);
        assert_false(doc.complete);
        const struct inq_value *entries = inq_value_get(doc.root, "entries");
        size_t whole = 0;
        for (size_t i = 0; entries != NULL && i < entries->n; i++) {
            const struct inq_value *entry = inq_value_at(entries, i);
            whole += entry->type == INQ_VALUE_DICT && !entry->partial && entry->n == 2;
        }
        assert_true(whole >= most); /* more bytes, never fewer entries */
        most = whole;
        inq_arena_release(&doc.arena);
    }
    assert_int_equal(most, 2);
}

static void pickle__bounds_depth_objects_and_memo(void **state)
{
    (void)state;
    char deep[256];
    memset(deep, '(', sizeof deep);
    memcpy(deep, "\x80\x02", 2);
    struct document doc = decode(deep, sizeof deep, NULL);
    assert_int_equal(doc.code, INQ_LIMIT);
    inq_arena_release(&doc.arena);

    struct inq_pickle_limits few = {.max_objects = 3};
    doc = decode(BYTES("\x80\x02]K\x01"
                       "aK\x02"
                       "aK\x03"
                       "a."),
                 &few);
    assert_int_equal(doc.code, INQ_LIMIT);
    inq_arena_release(&doc.arena);

    doc = decode(BYTES("\x80\x02K\x01r\xff\xff\xff\x7f."), NULL); /* memo index without bytes */
    assert_int_equal(doc.code, INQ_LIMIT);
    inq_arena_release(&doc.arena);

    doc = decode(BYTES("\x80\x02h\x05."), NULL); /* memo never set */
    assert_int_equal(doc.code, INQ_FORMAT);
    inq_arena_release(&doc.arena);

    doc = decode(BYTES("\x80\x02X\xff\xff\xff\xff"
                       "abc"),
                 NULL); /* longer than the document */
    assert_int_equal(doc.code, INQ_OK);
    assert_false(doc.complete);
    inq_arena_release(&doc.arena);
}

static void pickle__malformed_stacks_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {{BYTES("\x80\x02u.")},
               {BYTES("\x80\x02"
                      "a.")},
               {BYTES("\x80\x02\x86.")},
               {BYTES("\x80\x02K\x01(K\x01"
                      "e.")},
               {BYTES("\x80\x02}(K\x01u.")},
               {BYTES("\x80\x02](\x86.")},
               {BYTES("\x80\x02q\x00.")}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct document doc = decode(bad[i].bytes, bad[i].n, NULL);
        assert_int_equal(doc.code, INQ_FORMAT);
        assert_true(doc.err.offset >= 0);
        inq_arena_release(&doc.arena);
    }
}

static void pickle__every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (long n = 1; n < 200; n++) {
        struct document doc = {0};
        inq_mem_fail_after(n);
        doc.code = inq_pickle_decode(proto2, sizeof proto2 - 1, NULL, &doc.arena, &doc.root,
                                     &doc.complete, &doc.err);
        inq_mem_fail_after(0);
        inq_arena_release(&doc.arena);
        if (doc.code == INQ_OK && doc.complete) {
            return;
        }
        assert_int_equal(doc.code, INQ_NOMEM);
    }
    fail();
}

static void json__integers_are_exact_and_cuts_keep_whole_items(void **state)
{
    (void)state;
    static const char text[] =
        "{\"t\": 1758580155793872443, \"a\": [{\"s\": \"x\\n\\u00e9\"}, [], null, true, -1.5]}";
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        struct document doc = {0};
        doc.code = inq_value_json(text, n, NULL, &doc.arena, &doc.root, &doc.complete, &doc.err);
        assert_int_equal(doc.complete, n == sizeof text - 1);
        if (n > 25) {
            assert_true(inq_value_int(inq_value_get(doc.root, "t"), 0) == 1758580155793872443);
        }
        if (doc.complete) {
            const struct inq_value *list = inq_value_get(doc.root, "a");
            assert_int_equal(list->n, 5);
            assert_string_equal(inq_value_text(inq_value_get(inq_value_at(list, 0), "s"), ""),
                                "x\n\xc3\xa9");
        }
        inq_arena_release(&doc.arena);
    }
}

static void json__malformed_is_an_error_with_its_offset(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"a\": 1 \"b\": 2}", "{1: 2}", "[1 2]", "{\"a\" 1}", "[x]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct document doc = {0};
        doc.code = inq_value_json(bad[i], strlen(bad[i]), NULL, &doc.arena, &doc.root,
                                  &doc.complete, &doc.err);
        assert_int_equal(doc.code, INQ_FORMAT);
        assert_true(doc.err.offset > 0);
        inq_arena_release(&doc.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pickle__reads_protocols_2_4_and_5),
        cmocka_unit_test(pickle__reads_integers_of_any_width),
        cmocka_unit_test(pickle__refuses_what_is_not_plain_data),
        cmocka_unit_test(pickle__keeps_whole_entries_of_a_cut_document),
        cmocka_unit_test(pickle__bounds_depth_objects_and_memo),
        cmocka_unit_test(pickle__malformed_stacks_are_errors),
        cmocka_unit_test(pickle__every_failed_allocation_is_reported),
        cmocka_unit_test(json__integers_are_exact_and_cuts_keep_whole_items),
        cmocka_unit_test(json__malformed_is_an_error_with_its_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
