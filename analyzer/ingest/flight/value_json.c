/* SPDX-License-Identifier: Apache-2.0 */
/* A small reader of JSON that keeps what was whole before a cut. Nesting is bounded, so plain
 * recursion is safe. */
#include "ingest/flight/value_json.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DEPTH = 64, MAX_NUMBER = 64 };
static const size_t DEFAULT_OBJECTS = (size_t)1 << 26;

struct reader {
    const char *text;
    size_t n, at;
    struct inq_arena *arena;
    struct inq_err *err;
    size_t max_depth, max_objects, objects, depth;
    bool stop; /* cut or malformed: close what is open */
    int code;
    struct inq_value **stack; /* items of the containers that are open */
    size_t n_stack, cap_stack;
};

static int fail(struct reader *r, enum inq_code code, const char *why)
{
    r->stop = true;
    if (r->code == INQ_OK) {
        r->code = code;
        (void)inq_err_at(r->err, code, NULL, (int64_t)r->at, "JSON: %s at byte %zu", why, r->at);
    }
    return code;
}

static struct inq_value *make(struct reader *r, enum inq_value_type type)
{
    struct inq_value *value = NULL;
    if (r->objects >= r->max_objects) {
        (void)fail(r, INQ_LIMIT, "too many values");
    } else {
        value = inq_arena_alloc(r->arena, sizeof *value);
        if (value == NULL) {
            (void)fail(r, INQ_NOMEM, "out of memory");
        }
    }
    if (value != NULL) {
        r->objects++;
        value->type = type;
    }
    return value;
}

/* The next byte that is no space; -1 (and stop) at the end. */
static int peek(struct reader *r)
{
    while (r->at < r->n && isspace((unsigned char)r->text[r->at]) != 0) {
        r->at++;
    }
    if (r->at == r->n) {
        r->stop = true;
        return -1;
    }
    return (unsigned char)r->text[r->at];
}

static size_t put_utf8(char *to, unsigned point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xc0 | point >> 6);
        to[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | point >> 12);
    to[1] = (char)(0x80 | (point >> 6 & 0x3f));
    to[2] = (char)(0x80 | (point & 0x3f));
    return 3;
}

/* One escape after its backslash; a pair of surrogates stays two code points. */
static size_t unescape(const char *text, size_t i, size_t end, char *to, size_t *len)
{
    static const char *const letters = "bfnrt";
    static const char *const bytes = "\b\f\n\r\t";
    if (text[i] == 'u' && i + 4 < end) {
        char hex[5] = {text[i + 1], text[i + 2], text[i + 3], text[i + 4], '\0'};
        unsigned point = (unsigned)strtoul(hex, NULL, 16);
        *len += put_utf8(to + *len, point != 0 ? point : '?');
        return i + 4;
    }
    const char *found = strchr(letters, text[i]);
    to[(*len)++] = found != NULL && text[i] != '\0' ? bytes[found - letters] : text[i];
    return i;
}

static struct inq_value *read_string(struct reader *r)
{
    size_t start = ++r->at;
    size_t end = start;
    while (end < r->n && r->text[end] != '"') {
        end += r->text[end] == '\\' ? 2 : 1;
    }
    if (end >= r->n) {
        r->at = r->n;
        r->stop = true;
        return NULL;
    }
    r->at = end + 1;
    struct inq_value *value = make(r, INQ_VALUE_STRING);
    char *copy = value != NULL ? inq_arena_alloc(r->arena, end - start + 1) : NULL;
    if (copy == NULL) {
        (void)fail(r, INQ_NOMEM, "out of memory");
        return NULL;
    }
    for (size_t i = start; i < end; i++) {
        if (r->text[i] == '\\') {
            i = unescape(r->text, i + 1, end, copy, &value->n);
        } else {
            copy[value->n++] = r->text[i];
        }
    }
    value->as.text = copy;
    return value;
}

static struct inq_value *read_number(struct reader *r)
{
    char digits[MAX_NUMBER];
    size_t len = 0;
    bool whole = true;
    while (r->at < r->n && strchr("+-.0123456789eE", r->text[r->at]) != NULL &&
           r->text[r->at] != '\0' && len + 1 < sizeof digits) {
        whole = whole && strchr(".eE", r->text[r->at]) == NULL;
        digits[len++] = r->text[r->at++];
    }
    digits[len] = '\0';
    if (r->at == r->n) { /* the rest of it may be missing */
        r->stop = true;
        return NULL;
    }
    if (len == 0) {
        (void)fail(r, INQ_FORMAT, "not a value");
        return NULL;
    }
    struct inq_value *value = make(r, whole ? INQ_VALUE_INT : INQ_VALUE_DOUBLE);
    if (value != NULL && whole) {
        value->as.integer = strtoll(digits, NULL, 10); /* saturates */
    } else if (value != NULL) {
        value->as.number = strtod(digits, NULL);
    }
    return value;
}

static struct inq_value *read_word(struct reader *r)
{
    static const struct {
        const char *word;
        enum inq_value_type type;
        int64_t value;
    } words[] = {
        {"true", INQ_VALUE_BOOL, 1}, {"false", INQ_VALUE_BOOL, 0}, {"null", INQ_VALUE_NULL, 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i].word);
        if (r->n - r->at >= len && memcmp(r->text + r->at, words[i].word, len) == 0) {
            struct inq_value *value = make(r, words[i].type);
            r->at += len;
            if (value != NULL) {
                value->as.integer = words[i].value;
            }
            return value;
        }
    }
    (void)fail(r, INQ_FORMAT, "not a value");
    return NULL;
}

static struct inq_value *read_value(struct reader *r);

static void push(struct reader *r, struct inq_value *value)
{
    if (inq_mem_grow(&r->stack, &r->cap_stack, r->n_stack + 1, sizeof(struct inq_value *),
                     r->max_objects, r->err) == INQ_OK) {
        r->stack[r->n_stack++] = value;
    } else {
        (void)fail(r, INQ_NOMEM, "out of memory");
    }
}

/* "key": in front of a member; false when it is not whole. */
static bool read_key(struct reader *r)
{
    struct inq_value *key = NULL;
    if (peek(r) != '"') {
        (void)(r->stop ? 0 : fail(r, INQ_FORMAT, "no key"));
        return false;
    }
    key = read_string(r);
    if (key == NULL || peek(r) != ':') {
        (void)(r->stop ? 0 : fail(r, INQ_FORMAT, "no colon"));
        return false;
    }
    r->at++;
    push(r, key);
    return !r->stop;
}

static void read_items(struct reader *r, bool dict, int close)
{
    bool first = true;
    while (!r->stop) {
        int c = peek(r);
        if (c == close) {
            r->at++;
            return;
        }
        if (!first && c == ',') {
            r->at++;
        } else if (!first && c >= 0) {
            (void)fail(r, INQ_FORMAT, "no comma");
        }
        first = false;
        size_t height = r->n_stack;
        if (r->stop || (dict && !read_key(r))) {
            r->n_stack = height;
            return;
        }
        struct inq_value *value = read_value(r);
        if (value == NULL) {
            r->n_stack = height; /* a key without its value */
            r->stop = true;
            return;
        }
        push(r, value);
    }
}

static struct inq_value *read_container(struct reader *r, bool dict)
{
    struct inq_value *value = make(r, dict ? INQ_VALUE_DICT : INQ_VALUE_LIST);
    size_t from = r->n_stack;
    if (value == NULL || r->depth >= r->max_depth) {
        (void)fail(r, INQ_LIMIT, "nested too deeply");
        return NULL;
    }
    r->at++;
    r->depth++;
    read_items(r, dict, dict ? '}' : ']');
    r->depth--;
    value->partial = r->stop;
    value->n = r->n_stack - from;
    value->n -= dict ? value->n % 2 : 0;
    value->as.items = inq_arena_array(r->arena, value->n, sizeof(struct inq_value *));
    if (value->as.items == NULL) {
        (void)fail(r, INQ_NOMEM, "out of memory");
        return NULL;
    }
    if (value->n > 0) {
        memcpy(value->as.items, r->stack + from, value->n * sizeof(struct inq_value *));
    }
    r->n_stack = from;
    return value;
}

static struct inq_value *read_value(struct reader *r)
{
    int c = peek(r);
    if (c < 0) {
        return NULL;
    }
    if (c == '{' || c == '[') {
        return read_container(r, c == '{');
    }
    if (c == '"') {
        return read_string(r);
    }
    return c == '-' || isdigit(c) != 0 ? read_number(r) : read_word(r);
}

int inq_value_json(const char *text, size_t n, const struct inq_pickle_limits *limits,
                   struct inq_arena *arena, struct inq_value **root, bool *complete,
                   struct inq_err *err)
{
    struct inq_err own = {0};
    struct reader r = {.text = text, .n = n, .arena = arena, .err = &own};
    r.max_depth = limits != NULL && limits->max_depth > 0 ? limits->max_depth : DEFAULT_DEPTH;
    r.max_objects =
        limits != NULL && limits->max_objects > 0 ? limits->max_objects : DEFAULT_OBJECTS;
    *root = read_value(&r);
    *complete = !r.stop && *root != NULL;
    inq_mem_free(r.stack);
    if (r.code != INQ_OK && err != NULL && err->code == INQ_OK) {
        *err = own;
    }
    return r.code;
}
