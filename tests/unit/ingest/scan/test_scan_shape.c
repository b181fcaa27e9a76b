/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: whatever the layout of a document and whatever its values, the fast path gives what the
 * general reader gives, and it is the fast path that does the work. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing documents ----------------------------------------------------------------------- */

/* How a document is laid out. */
struct layout {
    const char *name;
    const char *before_event, *before_key, *before_arg, *before_end, *before_args_end;
    const char *colon, *comma;
    bool args_first; /* before all other members */
    bool sorted;     /* members in another order */
};

static const struct layout layouts[] = {
    {"kineto", "\n  ", "\n    ", "\n      ", "\n  ", "\n    ", ": ", ", ", false, false},
    {"indented", "\n        ", "\n            ", "\n                ", "\n        ",
     "\n            ", ": ", ",", false, false},
    {"tabs", "\n\t", "\n\t\t", "\n\t\t\t", "\n\t", "\n\t\t", ": ", ",", false, false},
    {"crlf", "\r\n  ", "\r\n    ", "\r\n      ", "\r\n  ", "\r\n    ", ": ", ",", false, false},
    {"column0", "\n", "\n ", "\n  ", "\n", "\n ", ": ", ",", false, false},
    {"one line", " ", "", "", "", "", ": ", ", ", false, false},
    {"compact", "", "", "", "", "", ":", ",", false, false},
    {"line per event", "\n", "", "", "", "", ":", ",", false, false},
    {"args first", " ", "", "", "", "", ": ", ", ", true, false},
    {"sorted", "\n  ", "\n    ", "\n      ", "\n  ", "\n    ", ": ", ", ", false, true},
};

struct writer {
    char *p;
    size_t n, cap;
    const struct layout *layout;
    uint64_t seed;
    bool first;
};

static void put(struct writer *w, const char *format, ...) INQ_PRINTF(2, 3);

static void put(struct writer *w, const char *format, ...)
{
    if (w->cap - w->n < 32768) {
        w->cap = w->cap * 2 + 65536;
        w->p = realloc(w->p, w->cap);
        assert_non_null(w->p);
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->p + w->n, w->cap - w->n, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < w->cap - w->n);
    w->n += (size_t)n;
}

static unsigned pick(struct writer *w, unsigned n)
{
    return (unsigned)(test_random(&w->seed) % n);
}

/* A number with so many digits that widths change now and then. */
static uint64_t number(struct writer *w)
{
    static const uint64_t limits[] = {10, 100, 1000, 100000, 10000000, UINT64_C(1000000000000)};
    return test_random(&w->seed) % limits[pick(w, 6)];
}

static void key(struct writer *w, bool in_args, const char *name)
{
    if (!w->first) {
        put(w, "%s", w->layout->comma);
    }
    w->first = false;
    put(w, "%s\"%s\"%s", in_args ? w->layout->before_arg : w->layout->before_key, name,
        w->layout->colon);
}

static void text_member(struct writer *w, bool in_args, const char *name, const char *text)
{
    key(w, in_args, name);
    put(w, "\"%s\"", text);
}

static void number_member(struct writer *w, bool in_args, const char *name, uint64_t value)
{
    key(w, in_args, name);
    put(w, "%llu", (unsigned long long)value);
}

static void time_member(struct writer *w, const char *name, bool large)
{
    key(w, false, name);
    put(w, "%llu", (unsigned long long)((large ? UINT64_C(4212936085387) : 0) + number(w)));
    if (pick(w, 4) > 0) {
        put(w, ".%03u", pick(w, 1000));
    }
}

static const char *const op_names[] = {"aten::empty",         "aten::add_",
                                       "record_param_commsX", "ProfilerStep#7",
                                       "with } brace",        "with ] { [ }}",
                                       "escaped \\\" quote",  "a\\\\",
                                       "\\u00e9t\\u00e9",     "x"};
#define LONG_NAME                                                                                  \
    "a kernel whose name goes on and on and on and on and on and on and on, far beyond one vector" \
    " of the matcher and then some more <a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r>"

static const char *const kernel_names[] = {
    "volta_sgemm_32x128_tn",
    "void at::native::kernel<float, {lambda(int)#1}>(at::native::Array<char*, 2>)",
    "Memset (Device)",
    "k",
    LONG_NAME,
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
};

static void head(struct writer *w, const char *cat, const char *name)
{
    if (w->layout->sorted) {
        text_member(w, false, "name", name);
        number_member(w, false, "pid", pick(w, 3) + 99);
        number_member(w, false, "tid", pick(w, 3) + 99);
        time_member(w, "ts", true);
        time_member(w, "dur", false);
        text_member(w, false, "ph", "X");
        text_member(w, false, "cat", cat);
        return;
    }
    text_member(w, false, "ph", "X");
    text_member(w, false, "cat", cat);
    text_member(w, false, "name", name);
    number_member(w, false, "pid", pick(w, 3) + 99);
    number_member(w, false, "tid", pick(w, 3) + 99);
    time_member(w, "ts", true);
    time_member(w, "dur", false);
}

static void begin_args(struct writer *w)
{
    key(w, false, "args");
    put(w, "{");
    w->first = true;
}

static void end_args(struct writer *w)
{
    put(w, "%s}", w->layout->before_args_end);
    w->first = false;
}

static void op_args(struct writer *w)
{
    begin_args(w);
    number_member(w, true, "External id", number(w));
    key(w, true, "Input Dims");
    put(w, "[");
    unsigned n = pick(w, 4);
    for (unsigned i = 0; i < n; i++) {
        put(w, "%s[%u, %u]", i > 0 ? ", " : "", pick(w, 1000), pick(w, 9));
    }
    put(w, "]");
    key(w, true, "nested");
    put(w, "[{\"ph\"%s\"X\", \"a\": {\"name\": \"}\"}}, {\"ph\"%s\"Y\"}]", w->layout->colon,
        w->layout->colon);
    end_args(w);
}

static void kernel_args(struct writer *w, bool nccl)
{
    begin_args(w);
    number_member(w, true, "External id", number(w));
    number_member(w, true, "device", pick(w, 2));
    number_member(w, true, "stream", pick(w, 30));
    number_member(w, true, "correlation", number(w));
    key(w, true, "blocks per SM");
    put(w, "%u.%u", pick(w, 100), pick(w, 1000));
    key(w, true, "grid");
    put(w, "[%u, %u, 1]", pick(w, 40), pick(w, 64));
    if (pick(w, 50) > 0) {
        key(w, true, "block");
        put(w, "[%u, 1, 1]", 32 * pick(w, 8));
    } else if (pick(w, 2) > 0) {
        text_member(w, true, "grid", "[2, 2, 2]"); /* once more, in another form */
    }
    if (pick(w, 60) == 0) {
        key(w, true, "nested");
        put(w, "{\"grid\": [7, 7, 7], \"block\": [7, 7, 7]}");
    }
    if (nccl) {
        text_member(w, true, "Collective name", "allreduce");
        number_member(w, true, "In msg nelems", number(w));
        number_member(w, true, "Group size", 2);
        text_member(w, true, "Process Group Name", "0");
        text_member(w, true, "Process Group Ranks", "[0, 1]");
    }
    end_args(w);
}

static void call_args(struct writer *w)
{
    begin_args(w);
    number_member(w, true, "cbid", pick(w, 300));
    if (pick(w, 5) > 0) {
        number_member(w, true, "correlation", number(w));
    }
    end_args(w);
}

static void flow_event(struct writer *w)
{
    text_member(w, false, "ph", pick(w, 2) ? "s" : "f");
    number_member(w, false, "id", number(w));
    number_member(w, false, "pid", 0);
    time_member(w, "ts", true);
    text_member(w, false, "cat", "ac2g");
}

static void metadata_event(struct writer *w)
{
    text_member(w, false, "name", pick(w, 2) ? "thread_name" : "process_labels");
    text_member(w, false, "ph", "M");
    number_member(w, false, "pid", pick(w, 3) + 99);
    number_member(w, false, "tid", pick(w, 3) + 99);
    begin_args(w);
    text_member(w, true, "name", "some thread");
    end_args(w);
}

static void one_event(struct writer *w)
{
    unsigned kind = pick(w, 12);
    unsigned which = pick(w, 6);
    if (kind < 4) {
        head(w, "cpu_op", op_names[pick(w, 10)]);
        op_args(w);
    } else if (kind < 6) {
        head(w, "kernel", kernel_names[which]);
        kernel_args(w, which == 5 || pick(w, 40) == 0);
    } else if (kind < 8) {
        head(w, "cuda_runtime", pick(w, 2) ? "cudaLaunchKernel" : "cudaEventRecord");
        call_args(w);
    } else if (kind == 8) {
        head(w, "user_annotation", "nccl:all_reduce");
    } else if (kind == 9) {
        metadata_event(w);
    } else if (kind == 10 && pick(w, 3) == 0) {
        head(w, pick(w, 2) ? "python_function" : "gpu_user_annotation", "f");
        begin_args(w);
        end_args(w);
    } else {
        flow_event(w);
    }
}

static struct test_text document(const struct layout *layout, unsigned n, uint64_t seed)
{
    struct writer w = {.layout = layout, .seed = seed};
    put(&w, "{\"schemaVersion\": 1, \"traceEvents\": [");
    for (unsigned i = 0; i < n; i++) {
        put(&w, "%s%s{", i > 0 ? "," : "", layout->before_event);
        w.first = true;
        if (layout->args_first) {
            static const char *const cats[] = {"kernel", "cuda_runtime", "cpu_op"};
            kernel_args(&w, pick(&w, 20) == 0);
            head(&w, cats[pick(&w, 3)], kernel_names[pick(&w, 6)]);
        } else {
            one_event(&w);
        }
        put(&w, "%s}", layout->before_end);
    }
    put(&w, "\n], \"traceName\": \"t\"}");
    return (struct test_text){w.p, w.n};
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void shape__every_layout_reads_as_in_general(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct test_text text = document(&layouts[i], 1500, seed * 7919);
            struct inq_shard shard;
            test_all_ways(text, layouts[i].name, &shard);
            assert_int_equal(shard.file.events, 1500);
            assert_int_equal(inq_damage_total(&shard.file.damage), 0);
            assert_true(shard.file.events_kept > 300);
            inq_shard_release(&shard);
            free(text.p);
        }
    }
}

/* Counts the events that a matcher takes out of a document. */
static uint64_t fast_n;

static const struct inq_shape_leaf *counting_match(struct inq_shapes *shapes, const char **p,
                                                   const char *end, struct inq_scan_event *event,
                                                   const char **start, uint64_t *dropped)
{
    uint64_t before = *dropped;
    const struct inq_shape_leaf *leaf =
        inq_shape_matcher(inq_shape_level())(shapes, p, end, event, start, dropped);
    fast_n += *dropped - before + (leaf != NULL);
    return leaf;
}

static void shape__takes_nearly_all_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct test_text text = document(&layouts[i], 5000, 11);
        struct inq_source *source = NULL;
        assert_int_equal(inq_source_open_memory(text.p, text.n, NULL, &source, NULL), INQ_OK);
        struct inq_shard shard = {0};
        fast_n = 0;
        assert_int_equal(inq_kineto_read(source, &shard, counting_match, NULL), INQ_OK);
        /* names with escapes, marked ones and the lines' odd ones are left: 3 of 10 names of a
         * third of the events */
        assert_true(fast_n > 5000 * 70 / 100);
        inq_source_close(source);
        inq_shard_release(&shard);
        free(text.p);
    }
}

static void expect_same(const char *document_text)
{
    char *copy = malloc(strlen(document_text) + 1);
    assert_non_null(copy);
    memcpy(copy, document_text, strlen(document_text) + 1);
    struct test_text text = {copy, strlen(copy)};
    struct inq_shard shard;
    test_all_ways(text, document_text, &shard);
    inq_shard_release(&shard);
    free(copy);
}

static void shape__literals_that_are_prefixes_of_others(void **state)
{
    (void)state;
    expect_same(
        "[{\"ph\": \"X\", \"tid\": 1, \"pid\": 1, \"ts\": 5, \"dur\": 2, \"name\": \"a\"},\n"
        "{\"ph\": \"X\", \"tid\": \"one\", \"pid\": 1, \"ts\": 6, \"dur\": 2, \"name\": "
        "\"a\"},\n"
        "{\"ph\": \"X\", \"tid\": 2, \"pid\": 1, \"ts\": 7, \"dur\": 2, \"name\": \"a\"},\n"
        "{\"ph\": \"X\", \"tid\": \"two\", \"pid\": 1, \"ts\": 8, \"dur\": 2, \"name\": "
        "\"a\"},\n"
        "{\"ph\": \"X\", \"tid\": \"12\", \"pid\": 1, \"ts\": 9, \"dur\": 2, \"name\": "
        "\"a\"},\n"
        "{\"ph\": \"X\", \"tid\": -1, \"pid\": 1, \"ts\": 9, \"dur\": 2, \"name\": "
        "\"a\"}]");
}

static void shape__odd_numbers_are_left_to_the_general_reader(void **state)
{
    (void)state;
    static const char *const values[] = {"1",
                                         "1.5",
                                         "1.2345",
                                         "1.23",
                                         "2688330.4119110107",
                                         "0.0005",
                                         "3.99950",
                                         "3.99949999",
                                         "1.12345678901234567",
                                         "1.",
                                         "1.5e2",
                                         "12345678.123",
                                         "1e3",
                                         "-5",
                                         "0.0001",
                                         "1712195495519689.047",
                                         "9999999999999999",
                                         "99999999999999999999",
                                         "null",
                                         "1x",
                                         "12 34",
                                         "\"77\"",
                                         "nan",
                                         "18446744073709551615"};
    size_t n_values = sizeof values / sizeof values[0];
    for (size_t i = 0; i < n_values; i++) {
        char text[4096];
        int n = snprintf(text, sizeof text, "{\"traceEvents\": [");
        for (size_t j = 0; j < 6; j++) {
            const char *odd = values[j % 2 == 1 ? i : 0];
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "%s\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
                          "\"pid\": %s, \"tid\": %s,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": "
                          "{\n      \"device\": %s, \"stream\": %s, \"correlation\": %s\n    }\n"
                          "  }",
                          j > 0 ? "," : "", odd, odd, odd, odd, odd, odd, odd);
        }
        (void)snprintf(text + n, sizeof text - (size_t)n, "\n  ]\n}");
        expect_same(text);
    }
}

/* Events of which one number is `a` twice, then `b`, and so on; `place` says which. */
static struct test_text changing(const char *cat, unsigned place, const char *a, const char *b)
{
    struct writer w = {.layout = &layouts[5], .seed = 1};
    put(&w, "[");
    for (unsigned i = 0; i < 9; i++) {
        const char *v[5] = {"7", "7", "7", "7", "7"};
        v[place] = i % 3 == 2 ? b : a;
        put(&w,
            "%s{\"ph\": \"X\", \"cat\": \"%s\", \"any\": %s, \"name\": \"k\", \"pid\": %s, "
            "\"ts\": %s, \"tid\": 1, \"dur\": %s, \"args\": {\"correlation\": %s}}",
            i > 0 ? ", " : "", cat, v[0], v[1], v[2], v[3], v[4]);
    }
    put(&w, "]");
    return (struct test_text){w.p, w.n};
}

/* Numbers as wide as the one before them in the same place, and not the same kind of number. */
static void shape__numbers_that_change_their_form(void **state)
{
    (void)state;
    static const char *const values[] = {"1234",
                                         "12.5",
                                         "1.25",
                                         "12e5",
                                         "125.",
                                         "-125",
                                         "12.55",
                                         "1234567890.12345678901234567890",
                                         "123456789012345.1234567890123456"};
    size_t n_values = sizeof values / sizeof values[0];
    for (unsigned place = 0; place < 5; place++) {
        for (size_t i = 0; i < n_values * n_values; i++) {
            for (int kept = 0; kept < 2; kept++) {
                struct test_text text = changing(kept ? "kernel" : "python_function", place,
                                                 values[i / n_values], values[i % n_values]);
                struct inq_shard shard;
                test_all_ways(text, text.p, &shard);
                inq_shard_release(&shard);
                free(text.p);
            }
        }
    }
}

static void shape__an_inner_object_at_the_events_indent(void **state)
{
    (void)state;
    /* the brackets of args close at the column of the event's own */
    expect_same(
        "{\"traceEvents\": [\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", "
        "\"args\": {\n      \"x\": 1\n    }\n  },\n  {\n    \"ph\": \"X\", \"cat\": "
        "\"cpu_op\", \"name\": \"b\", \"args\": {\n      \"x\": 1\n  },\n  \"dur\": 5\n  "
        "},\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"args\": {\n    "
        "  \"x\": 1\n    }\n  },\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
        "\"d\", \"ts\": 1, \"dur\": 2, \"tid\": 3, \"pid\": 0\n  }\n]}");
}

static void shape__many_shapes_stop_being_learned(void **state)
{
    (void)state;
    struct writer w = {.layout = &layouts[5], .seed = 5};
    put(&w, "[");
    for (unsigned i = 0; i < 6000; i++) { /* each with a member of its own */
        put(&w, "%s{\"ph\": \"X\", \"name\": \"n\", \"k%u\": 1, \"ts\": %u, \"dur\": 1}",
            i > 0 ? ", " : "", i, i);
    }
    put(&w, "]");
    struct test_text text = {w.p, w.n};
    struct inq_shard shard;
    test_all_ways(text, "many shapes", &shard);
    assert_int_equal(shard.file.events, 6000);
    assert_int_equal(shard.ranks[0].events.n, 6000);
    inq_shard_release(&shard);
    free(text.p);
}

/* Six events of which the odd ones are `odd`. */
static struct test_text alternating(const char *usual, const char *odd)
{
    struct writer w = {.layout = &layouts[5], .seed = 1};
    put(&w, "{\"traceEvents\": [");
    for (unsigned i = 0; i < 6; i++) {
        put(&w, "%s%s", i > 0 ? ",\n" : "\n", i % 2 == 1 ? odd : usual);
    }
    put(&w, "]}");
    return (struct test_text){w.p, w.n};
}

#define PADDING                                                                                    \
    "\"one member of no interest\": true, \"and another one of no interest at all\": null, "       \
    "\"and so on\": false, "
#define EVENT(args)                                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 1, \"tid\": 7, \"ts\": 5, "    \
    "\"dur\": 2, \"args\": {" args "}}"

/* A shape is given up in the middle of an event, with more text left than a node holds. */
static void shape__given_up_before_long_text(void **state)
{
    (void)state;
    static const char *const odd[] = {
        EVENT(PADDING "\"stream\": \"7\", \"device\": 0"),
        EVENT("\"Collective name\": \"allreduce\", " PADDING "\"device\": 0"),
        EVENT(PADDING "\"device\": 0, \"device\": 1"),
        EVENT(PADDING "\"stream\": null, \"device\": 1"),
        EVENT(PADDING "\"stream\": 1.5, \"device\": 1"),
        EVENT(PADDING "\"dtype\": 15, \"device\": 1"),
        EVENT(PADDING "\"a\": [[[[[[[[[[\"" PADDING "\"]]]]]]]]]], \"device\": 1"),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct test_text text = alternating(EVENT("\"device\": 0, \"stream\": 7"), odd[i]);
        expect_same(text.p);
        free(text.p);
    }
}

static void shape__events_without_a_name(void **state)
{
    (void)state;
    expect_same("[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"ts\": 1, \"pid\": 1, \"tid\": 1},\n"
                "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"ts\": 2, \"pid\": 1, \"tid\": 1},\n"
                "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"ts\": 3, \"pid\": 1, \"tid\": 1}]"
                "                                                                ");
}

static void shape__a_member_that_is_there_twice_counts_once(void **state)
{
    (void)state;
    struct test_text text = alternating(
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 5, "
        "\"dur\": 2, \"id\": 1}",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 5, "
        "\"dur\": 2, \"cat\": \"kernel\", \"ts\": \"later\"}");
    expect_same(text.p);
    free(text.p);
}

static uint64_t damage_of(const char *usual, const char *odd, enum inq_damage_kind kind)
{
    struct test_text text = alternating(usual, odd);
    struct inq_shard shard;
    test_all_ways(text, odd, &shard);
    uint64_t n = shard.file.damage.count[kind];
    inq_shard_release(&shard);
    free(text.p);
    return n;
}

/* Also where the event is passed over: the second and the third have a shape that is known. */
static void shape__bad_numbers_of_dropped_events_are_counted(void **state)
{
    (void)state;
#define HOST_EVENT(cat, ts)                                                                        \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"f\", \"pid\": 1, \"tid\": 2, \"ts\": " ts   \
    ", \"dur\": 2}"
    assert_int_equal(damage_of(HOST_EVENT("cpu_op", "5"), HOST_EVENT("cpu_op", "\"soon\""),
                               INQ_DAMAGE_BAD_NUMBER),
                     3);
    assert_int_equal(damage_of(HOST_EVENT("python_function", "5"),
                               HOST_EVENT("python_function", "\"soon\""), INQ_DAMAGE_BAD_NUMBER),
                     3);
#undef HOST_EVENT
    assert_int_equal(damage_of("{\"ph\": \"s\", \"id\": 1, \"pid\": 0, \"tid\": 3, \"ts\": 4}",
                               "{\"ph\": \"s\", \"id\": 1, \"pid\": 0, \"tid\": 3, \"ts\": \"x\"}",
                               INQ_DAMAGE_BAD_NUMBER),
                     3);
}

static void shape__a_long_name_is_counted_once(void **state)
{
    (void)state;
    struct writer w = {.layout = &layouts[5], .seed = 1};
    put(&w, "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"");
    for (int i = 0; i < 20000; i++) { /* more than INQ_SCAN_MAX_STRING */
        put(&w, "k");
    }
    put(&w, "\", \"pid\": 1, \"tid\": 7, \"ts\": 5, \"dur\": 2, \"args\": {\"device\": 0}}");
    const char *usual = EVENT("\"device\": 0");
    assert_int_equal(damage_of(usual, w.p, INQ_DAMAGE_LONG_STRING), 3);
    assert_int_equal(
        damage_of(usual,
                  "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"\xff\", \"pid\": 1, "
                  "\"tid\": 7, \"ts\": 5, \"dur\": 2, \"args\": {\"device\": 0}}",
                  INQ_DAMAGE_BAD_UTF8),
        3);
    free(w.p);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Events of a kind, then one that differs in what a run of theirs holds, then some of them again.
 */
static void expect_same_among(const char *usual, const char *odd)
{
    for (size_t layout = 0; layout < 2; layout++) {
        struct writer w = {.layout = &layouts[0], .seed = 1};
        put(&w, "{\"traceEvents\": [");
        for (unsigned i = 0; i < 12; i++) {
            put(&w, "%s\n  {%s%s%s}", i > 0 ? "," : "", layout == 0 ? "\n    " : "",
                i % 5 == 4 ? odd : usual, layout == 0 ? "\n  " : "");
        }
        put(&w, "\n  ]\n}");
        expect_same(w.p);
        free(w.p);
    }
}

#define FLOW(id, rest)                                                                             \
    "\"ph\": \"f\", \"id\": " id ", \"pid\": 3, \"tid\": 7, \"ts\": 4458676522709.059, \"cat\": "  \
    "\"ac2g\", \"name\": " rest
#define COPY(numbers, rest)                                                                        \
    "\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"c\", \"pid\": 0, \"tid\": 7, \"ts\": "    \
    "4458676522709.059, \"dur\": 5, \"args\": {\"device\": 0, " numbers rest "}"

static void shape__runs_hold_nothing_but_other_digits(void **state)
{
    (void)state;
    static const char *const flows[] = {
        FLOW("34", "\"b3\", \"bp\": 1"),     FLOW("3.", "\"a1\", \"bp\": 1"),
        FLOW("-4", "\"a1\", \"bp\": 1"),     FLOW("345", "\"a1\", \"bp\": 1"),
        FLOW("34", "\"a}\", \"bp\": 1"),     FLOW("34", "\"a\\\"\", \"bp\": 1"),
        FLOW("34", "\"a1\", \"bp\": {"),     FLOW("34", "\"a1\",\n  \"p\": 1"),
        FLOW("34", "\"a1\", \"bp\": 1,\n}"), FLOW("34", "\"a1\", \"dur\": \"x\""),
        FLOW("3e", "\"a1\", \"bp\": 1"),     FLOW("34", "\"a1\", \"pid\": 9"),
    };
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        expect_same_among(FLOW("12", "\"a1\", \"bp\": 1"), flows[i]);
    }
    static const char *const copies[] = {
        COPY("\"stream\": 8, \"correlation\": 89", ", \"x\": 1"),
        COPY("\"stream\": 8, \"correlation\": 8.", ", \"x\": 1"),
        COPY("\"stream\": -8, \"correlation\": 89", ", \"x\": 1"),
        COPY("\"stream\": 8, \"correlation\": -8", ", \"x\": 1"),
        COPY("\"stream\": 8, \"correlation\": 8e", ", \"x\": 1"),
        COPY("\"stream\": 8, \"correlation\": 89", ", \"x\": 1, \"bytes\": 512"),
        COPY("\"stream\": 8, \"correlation\": 89", ", \"x\": {\"y\": 1}"),
        COPY("\"stream\": 8, \"correlation\": 89", ", \"x\":\n  1"),
        COPY("\"stream\": 8, \"correlation\": 890", ", \"x\": 1"),
    };
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        expect_same_among(COPY("\"stream\": 7, \"correlation\": 12", ", \"x\": 0"), copies[i]);
        expect_same_among(COPY("\"stream\": -7, \"correlation\": 12", ", \"x\": 0"), copies[i]);
    }
}

/* Digits are read sixteen at once: of one to sixteen, and of more, each number is what it says, in
 * a run and outside of one. */
static void shape__numbers_of_every_width(void **state)
{
    (void)state;
    for (int n = 1; n <= 18; n++) {
        struct writer w = {.layout = &layouts[0], .seed = 1};
        put(&w, "{\"traceEvents\": [");
        for (int i = 0; i < 6; i++) {
            const char *last = i % 2 == 0 ? "7" : "9";
            put(&w,
                "%s\n  {\n    \"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"c\", \"pid\": "
                "%.*s%s, \"tid\": 7, \"ts\": %.*s%s.%.*s, \"dur\": %.*s, \"args\": {\"device\": 0, "
                "\"stream\": 7, \"correlation\": %.*s%s}\n  }",
                i > 0 ? "," : "", n - 1, "98765432109876543", last, n < 15 ? n - 1 : 14,
                "45866765227098", last, 1 + n % 4, "6549", n < 15 ? n : 15, "987654321098765",
                n - 1, "12345678901234567", last);
        }
        put(&w, "\n  ]\n}");
        expect_same(w.p);
        free(w.p);
    }
}

/* A document whose last event is cut at each of its bytes: a run must not reach beyond the end. */
static void shape__runs_end_with_the_text(void **state)
{
    (void)state;
    struct writer w = {.layout = &layouts[0], .seed = 1};
    put(&w, "{\"traceEvents\": [");
    size_t last = 0;
    for (unsigned i = 0; i < 6; i++) {
        last = w.n;
        put(&w, "%s\n  {\n    " FLOW("12", "\"a1\", \"bp\": 1") "\n  }", i > 0 ? "," : "");
    }
    for (size_t n = last; n < w.n; n++) {
        char *cut = strndup(w.p, n);
        assert_non_null(cut);
        expect_same(cut);
        free(cut);
    }
    free(w.p);
}

/* A step over `text`, whose literal has `literal` bytes. */
static struct inq_shape_step step_over(struct inq_shape_node *node, const char *text,
                                       size_t literal, size_t n)
{
    node->len = (uint8_t)literal;
    node->slot = INQ_SLOT_CHECK;
    node->field = INQ_FIELD_COUNT;
    return (struct inq_shape_step){node, text, text + n};
}

/* The steps over "pid" and "tid" of a text that begins with them. */
static void learn_ids(struct inq_shape_node nodes[2], const char *text, size_t n_pid, size_t n_tid)
{
    struct inq_shape_step steps[2] = {step_over(&nodes[0], text, 7, n_pid),
                                      step_over(&nodes[1], text + n_pid, 9, n_tid)};
    inq_shape_learn_runs(steps, 2);
}

static void shape__a_run_is_replaced_after_eight_misses(void **state)
{
    (void)state;
    struct inq_shape_node nodes[2] = {{.len = 0}, {.len = 0}};
    const struct inq_shape_node *a = &nodes[0];
    const char *narrow = "\"pid\": 12, \"tid\": 34,";
    const char *wide = "\"pid\": 12, \"tid\": 345,";
    const char *wider = "\"pid\": 12, \"tid\": 3456,";
    struct inq_shape_step step = step_over(&nodes[0], narrow, 7, 9);
    inq_shape_learn_runs(&step, 1); /* one number is no run */
    assert_int_equal(a->n_runs, 0);
    learn_ids(nodes, narrow, 9, 11);
    assert_int_equal(a->n_runs, 1);
    assert_int_equal(nodes[1].n_runs, 0);
    const struct inq_shape_run *run = &a->runs[0];
    assert_int_equal(run->len, 20);
    assert_int_equal(run->low[20], ',');
    assert_int_equal(run->span[20], 0);
    assert_int_equal(run->span[21], UINT8_MAX);
    assert_int_equal(run->span[19], 9);
    learn_ids(nodes, wide, 9, 12); /* there is room for two */
    assert_int_equal(a->n_runs, 2);
    assert_int_equal(a->runs[1].len, 21);
    for (unsigned i = 0; i < 7; i++) {
        learn_ids(nodes, wider, 9, 13);
        assert_int_equal(a->runs[0].len, 20);
    }
    learn_ids(nodes, wider, 9, 13);
    assert_int_equal(a->runs[0].len, 22);
    assert_int_equal(a->runs[1].len, 21);
}

/* A text is part of a run until it is seen to be another one, and then never again. */
static void shape__a_run_holds_texts_that_stay_the_same(void **state)
{
    (void)state;
    const char *texts[] = {"\"id\": 1, \"name\": \"one\", \"tid\": 3,",
                           "\"id\": 2, \"name\": \"two\", \"tid\": 3,"};
    struct inq_shape_node nodes[3] = {{.len = 0}, {.len = 0}, {.len = 0}};
    for (unsigned i = 0; i < 4; i++) {
        const char *text = texts[i / 2 % 2];
        struct inq_shape_step steps[3] = {step_over(&nodes[0], text, 6, 7),
                                          step_over(&nodes[1], text + 7, 11, 14),
                                          step_over(&nodes[2], text + 21, 10, 11)};
        nodes[1].slot = INQ_SLOT_STRING;
        nodes[1].field = INQ_FIELD_NAME;
        inq_shape_learn_runs(steps, nodes[1].varies ? 1 : 3);
        assert_int_equal(nodes[1].varies, i >= 2);
        assert_int_equal(nodes[0].n_runs, i < 2 ? 1 + i : 0);
    }
    assert_int_equal(nodes[0].runs[0].len, 32);
    assert_int_equal(nodes[0].runs[0].n_values, 1);
    assert_int_equal(nodes[0].runs[0].values[0].at, 18);
    assert_int_equal(nodes[0].runs[0].values[0].width, 3);
}

/* With the byte behind it a run fills what it is compared in, and no more. */
static void shape__runs_have_191_bytes_at_most(void **state)
{
    (void)state;
    char text[INQ_SHAPE_RUN + 8];
    memset(text, '7', sizeof text);
    for (unsigned more = 0; more < 2; more++) {
        struct inq_shape_node a = {.len = 0};
        struct inq_shape_node b = {.len = 0};
        size_t n = INQ_SHAPE_RUN - 1 - 64 + more;
        struct inq_shape_step steps[2] = {step_over(&a, text, 60, 64),
                                          step_over(&b, text + 64, 60, n)};
        inq_shape_learn_runs(steps, 2);
        assert_int_equal(a.n_runs, more == 0);
        assert_int_equal(a.runs[0].len, more == 0 ? INQ_SHAPE_RUN - 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape__every_layout_reads_as_in_general),
        cmocka_unit_test(shape__takes_nearly_all_events),
        cmocka_unit_test(shape__literals_that_are_prefixes_of_others),
        cmocka_unit_test(shape__odd_numbers_are_left_to_the_general_reader),
        cmocka_unit_test(shape__numbers_that_change_their_form),
        cmocka_unit_test(shape__an_inner_object_at_the_events_indent),
        cmocka_unit_test(shape__many_shapes_stop_being_learned),
        cmocka_unit_test(shape__given_up_before_long_text),
        cmocka_unit_test(shape__events_without_a_name),
        cmocka_unit_test(shape__a_member_that_is_there_twice_counts_once),
        cmocka_unit_test(shape__bad_numbers_of_dropped_events_are_counted),
        cmocka_unit_test(shape__a_long_name_is_counted_once),
        cmocka_unit_test(shape__runs_hold_nothing_but_other_digits),
        cmocka_unit_test(shape__numbers_of_every_width),
        cmocka_unit_test(shape__runs_end_with_the_text),
        cmocka_unit_test(shape__a_run_is_replaced_after_eight_misses),
        cmocka_unit_test(shape__a_run_holds_texts_that_stay_the_same),
        cmocka_unit_test(shape__runs_have_191_bytes_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
