/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of records against reading key by key: the same values and end of every object, whatever
 * was learned before it, and whatever happened to it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ingest/scan/scan.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 4096, MAX_VALUES = 512 };

/* What a reader found in one object. */
struct found {
    size_t n;
    struct inq_layout_value values[MAX_VALUES];
};

/* Values named "a", "bb" and "ccc" count, at any depth of objects and of lists named "in". */
static int field_of(struct inq_text key)
{
    return inq_text_is(key, "a")     ? 0
           : inq_text_is(key, "bb")  ? 1
           : inq_text_is(key, "ccc") ? 2
                                     : -1;
}

static enum inq_scan_result read_members(struct inq_scan *scan, struct found *found, int depth);

static enum inq_scan_result read_elements(struct inq_scan *scan, struct found *found, int depth)
{
    for (scan->p++;;) {
        int first = -1;
        enum inq_scan_result result = inq_scan_element(scan, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        result =
            first == '{' && depth < 8 ? read_members(scan, found, depth + 1) : inq_scan_skip(scan);
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static enum inq_scan_result read_members(struct inq_scan *scan, struct found *found, int depth)
{
    for (scan->p++;;) {
        struct inq_text key = {NULL, 0};
        struct inq_text text = {NULL, 0};
        int first = -1;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        int field = field_of(key);
        if (first == '[' && inq_text_is(key, "in") && depth < 8) {
            result = read_elements(scan, found, depth + 1);
        } else if (field < 0 || first == '{' || first == '[') {
            result = inq_scan_skip(scan);
        } else {
            result = first == '"' ? inq_scan_string(scan, &text) : inq_scan_bare(scan, &text);
            if (result == INQ_SCAN_OK && found->n < MAX_VALUES) {
                found->values[found->n++] = (struct inq_layout_value){text, field};
            }
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static enum inq_scan_result read_object(struct inq_scan *scan, struct inq_layouts *layouts,
                                        struct found *found)
{
    found->n = 0;
    inq_layouts_begin(layouts);
    enum inq_scan_result result = read_members(scan, found, 0);
    for (size_t i = 0; i < found->n; i++) {
        inq_layouts_note(layouts, &found->values[i]);
    }
    return result;
}

/* Texts with the room behind them that sources have. */
struct padded {
    size_t n;
    char text[MAX_TEXT + 256];
};

static struct padded pad(const char *text, size_t n)
{
    struct padded padded = {.n = n};
    assert_true(n <= MAX_TEXT);
    memcpy(padded.text, text, n);
    return padded;
}

static void learn(struct inq_layouts *layouts, const char *text, int tag)
{
    struct padded padded = pad(text, strlen(text));
    struct found found;
    struct inq_err err = {0};
    struct inq_scan scan = {padded.text, padded.text + padded.n, NULL};
    assert_int_equal(read_object(&scan, layouts, &found), INQ_SCAN_OK);
    assert_int_equal(inq_layouts_learn(layouts, padded.text, scan.p, tag, &err), INQ_OK);
}

/* Whether the text matches; if so, key by key it gives the same. */
static bool match(struct inq_layouts *layouts, const struct padded *padded, int *tag)
{
    static struct inq_layouts none;
    struct found found;
    const char *p = padded->text;
    const char *end = padded->text + padded->n;
    if (!inq_layouts_match(layouts, &p, end, tag)) {
        assert_ptr_equal(p, padded->text);
        return false;
    }
    struct inq_scan scan = {padded->text, end, NULL};
    assert_int_equal(read_object(&scan, &none, &found), INQ_SCAN_OK);
    assert_ptr_equal(scan.p, p);
    assert_int_equal(found.n, layouts->n_values);
    for (size_t i = 0; i < found.n; i++) {
        assert_int_equal(found.values[i].field, layouts->values[i].field);
        assert_ptr_equal(found.values[i].text.p, layouts->values[i].text.p);
        assert_int_equal(found.values[i].text.n, layouts->values[i].text.n);
    }
    return true;
}

static bool match_text(struct inq_layouts *layouts, const char *text)
{
    struct padded padded = pad(text, strlen(text));
    int tag = -1;
    return match(layouts, &padded, &tag);
}

/* ---- what matches ---------------------------------------------------------------------------- */

static void layouts__match_objects_that_differ_in_values(void **state)
{
    (void)state;
    static struct inq_layouts layouts;
    learn(&layouts, "{\"a\": 1, \"x\": 2.5, \"bb\": \"text\", \"y\": \"\"}", 7);
    struct padded other = pad("{\"a\": null, \"x\": -1e9, \"bb\": \"\", \"y\": \"z}\"}, {", 44);
    int tag = 0;
    assert_true(match(&layouts, &other, &tag));
    assert_int_equal(tag, 7);
    assert_int_equal(layouts.n_values, 2);
    assert_true(inq_text_is(layouts.values[0].text, "null"));
    assert_int_equal(layouts.values[1].text.n, 0);
    inq_layouts_release(&layouts);
}

static void layouts__leave_everything_else_to_the_reader(void **state)
{
    (void)state;
    static struct inq_layouts layouts;
    static const char *const others[] = {
        "{\"bb\": \"text\", \"a\": 1, \"in\": [{\"ccc\": 3}]}",       /* other order */
        "{\"a\":1, \"bb\": \"text\", \"in\": [{\"ccc\": 3}]}",        /* other spacing */
        "{\"a\": 1,\r\n\"bb\": \"text\", \"in\": [{\"ccc\": 3}]}",    /* CRLF */
        "{\"a\": 1, \"bb\": \"te\\\"xt\", \"in\": [{\"ccc\": 3}]}",   /* an escape */
        "{\"a\": 1, \"bb\": \"te\"xt\", \"in\": [{\"ccc\": 3}]}",     /* a quote in a string */
        "{\"a\": \"1\", \"bb\": \"text\", \"in\": [{\"ccc\": 3}]}",   /* quoted */
        "{\"a\": 1, \"bb\": 2, \"in\": [{\"ccc\": 3}]}",              /* not quoted */
        "{\"a\": 1, \"bb\": \"text\", \"in\": []}",                   /* fewer */
        "{\"a\": 1, \"bb\": \"text\", \"in\": [{\"ccc\": 3}, {}]}",   /* more */
        "{\"a\": 1, \"bb\": \"text\", \"in\": [{\"ccc\": 3}",         /* cut */
        "{\"a\": , \"bb\": \"text\", \"in\": [{\"ccc\": 3}]}",        /* nothing there */
        "{\"a\": 1, \"b\\u0062\": \"text\", \"in\": [{\"ccc\": 3}]}", /* an escaped key */
    };
    learn(&layouts, "{\"a\": 1, \"bb\": \"text\", \"in\": [{\"ccc\": 3}]}", 0);
    assert_true(match_text(&layouts, "{\"a\": 12, \"bb\": \"\", \"in\": [{\"ccc\": -4}]}"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(match_text(&layouts, others[i]));
    }
    inq_layouts_release(&layouts);
}

/* A bare value has at most 400 characters, for the reader as well. */
static void layouts__take_no_longer_numbers_than_the_reader(void **state)
{
    (void)state;
    static struct inq_layouts layouts;
    learn(&layouts, "{\"a\": 1}", 0);
    for (size_t n = 399; n <= 402; n++) {
        char text[512] = "{\"a\": ";
        memset(text + 6, '7', n);
        strcpy(text + 6 + n, "}");
        assert_int_equal(match_text(&layouts, text), n <= 400);
    }
    inq_layouts_release(&layouts);
}

/* What only a lenient reader takes for an object is not learned: the next one may be another. */
static void layouts__learn_only_plain_objects(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\": 1 \"bb\": 2}",
        "{\"x\": \"te\"xt\", \"a\": 1}",
        "{\"x\": [1 2], \"a\": 1}",
        "{\"x\": \"\\n\", \"a\": 1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static struct inq_layouts layouts;
        struct padded padded = pad(texts[i], strlen(texts[i]));
        struct found found;
        struct inq_err err = {0};
        struct inq_scan scan = {padded.text, padded.text + padded.n, NULL};
        if (read_object(&scan, &layouts, &found) == INQ_SCAN_OK) {
            assert_int_equal(inq_layouts_learn(&layouts, padded.text, scan.p, 0, &err), INQ_OK);
            assert_false(match_text(&layouts, texts[i]));
        }
        inq_layouts_release(&layouts);
    }
}

/* Keys that are values make a new layout each: after some thousands no more are learned, and those
 * that are known still match. */
static void layouts__are_bounded(void **state)
{
    (void)state;
    static struct inq_layouts layouts;
    learn(&layouts, "{\"a\": 1}", 0);
    for (int i = 0; i < 9000; i++) {
        char text[64] = "{\"a\": 1, \"k0000\": 2, \"m0000\": \"3\"}";
        for (int k = 0, rest = i; k < 4; k++, rest /= 10) {
            text[11 + k] = text[23 + k] = (char)('0' + rest % 10);
        }
        learn(&layouts, text, 0);
    }
    assert_true(layouts.n_nodes <= 4096);
    assert_true(match_text(&layouts, "{\"a\": 5}"));
    inq_layouts_release(&layouts);
}

/* ---- mutations ------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* One byte, or a stretch, changed, dropped or doubled. */
static struct padded mutate(const struct padded *from, uint32_t *seed)
{
    static const char bytes[] = "{}[],:\" \n\r\\a1.-e0u\0";
    struct padded to = *from;
    for (uint32_t i = next_random(seed) % 3; i < 3 && to.n > 1; i++) {
        size_t at = next_random(seed) % to.n;
        size_t n = 1 + next_random(seed) % 12;
        n = n < to.n - at ? n : to.n - at;
        switch (next_random(seed) % 4) {
        case 0:
            memmove(to.text + at, to.text + at + n, to.n - at - n);
            to.n -= n;
            break;
        case 1:
            memmove(to.text + at + n, to.text + at, to.n - at);
            to.n += n;
            break;
        default:
            to.text[at] = bytes[next_random(seed) % (sizeof bytes - 1)];
        }
        to.n = to.n < 1024 ? to.n : 1024;
    }
    return to;
}

static void layouts__agree_with_the_reader_on_mutated_objects(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\": 1, \"x\": 2.5, \"bb\": \"text\", \"y\": \"\"}",
        ("{\"h\": {\"a\": 3, \"id\": \"0x7f\"}, \"in\": [{\"a\": 17, \"ccc\": 5}, {\"a\": 18}], "
         "\"z\": 0}"),
        "{\"x\":[1,2,[\"s\",{}]],\"ccc\":\"long text of more than eight bytes\",\"bb\":-1.5e3}",
        "{\n  \"a\" : \"1768464000000000\",\n  \"bb\" : null ,\n  \"in\" : [ ]\n}",
    };
    static struct inq_layouts layouts;
    uint32_t seed = 1;
    size_t matched = 0;
    for (size_t i = 0; i < 60000; i++) {
        const char *text = texts[next_random(&seed) % 4];
        struct padded from = pad(text, strlen(text));
        struct padded to = mutate(&from, &seed);
        int tag = 0;
        bool known = match(&layouts, &to, &tag);
        matched += known;
        struct found found;
        struct inq_err err = {0};
        struct inq_scan scan = {to.text, to.text + to.n, NULL};
        if (!known && to.text[0] == '{' && read_object(&scan, &layouts, &found) == INQ_SCAN_OK) {
            assert_int_equal(inq_layouts_learn(&layouts, to.text, scan.p, 0, &err), INQ_OK);
        }
        if (layouts.n_nodes > 3000) { /* start anew before nothing more is learned */
            inq_layouts_release(&layouts);
        }
    }
    assert_true(matched > 1000);
    inq_layouts_release(&layouts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts__match_objects_that_differ_in_values),
        cmocka_unit_test(layouts__leave_everything_else_to_the_reader),
        cmocka_unit_test(layouts__take_no_longer_numbers_than_the_reader),
        cmocka_unit_test(layouts__learn_only_plain_objects),
        cmocka_unit_test(layouts__are_bounded),
        cmocka_unit_test(layouts__agree_with_the_reader_on_mutated_objects),
    };
    return cmocka_run_group_tests_name("ingest/scan/layout", tests, NULL, NULL);
}
