/* SPDX-License-Identifier: Apache-2.0 */
/* A stack machine over the opcodes that plain data needs. */
#include "ingest/flight/pickle.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DEPTH = 64 };
static const size_t DEFAULT_OBJECTS = (size_t)1 << 26;

struct machine {
    const unsigned char *bytes;
    size_t n, at;
    size_t op_at; /* offset of the opcode being executed */
    struct inq_arena *arena;
    struct inq_err *err;
    size_t max_depth, max_objects, objects;

    struct inq_value **stack;
    size_t n_stack, cap_stack;
    size_t *marks; /* stack heights */
    size_t n_marks, cap_marks;
    struct inq_value **memo;
    size_t n_memo, cap_memo;

    bool stopped; /* STOP was met */
    bool cut;     /* the bytes ended first */
};

static int refuse(struct machine *m, enum inq_code code, const char *why)
{
    return inq_err_at(m->err, code, NULL, (int64_t)m->op_at, "pickle: %s (opcode 0x%02x at %zu)",
                      why, m->bytes[m->op_at], m->op_at);
}

static int malformed(struct machine *m, const char *why)
{
    return refuse(m, INQ_FORMAT, why);
}

/* The next `n` bytes, or NULL (and `cut`) when there are fewer. */
static const unsigned char *take(struct machine *m, size_t n)
{
    if (n > m->n - m->at) {
        m->cut = true;
        return NULL;
    }
    const unsigned char *p = m->bytes + m->at;
    m->at += n;
    return p;
}

static uint64_t little_endian(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--) {
        value = value << 8 | p[i - 1];
    }
    return value;
}

/* ---- stack --------------------------------------------------------------------------------- */

static struct inq_value *new_value(struct machine *m, enum inq_value_type type)
{
    if (m->objects >= m->max_objects) {
        (void)refuse(m, INQ_LIMIT, "too many objects");
        return NULL;
    }
    struct inq_value *value = inq_arena_alloc(m->arena, sizeof *value);
    if (value == NULL) {
        (void)inq_err_set(m->err, INQ_NOMEM, "out of memory for a pickle");
        return NULL;
    }
    m->objects++;
    value->type = type;
    return value;
}

static int push(struct machine *m, struct inq_value *value)
{
    if (value == NULL) {
        return (int)m->err->code;
    }
    int code = inq_mem_grow(&m->stack, &m->cap_stack, m->n_stack + 1, sizeof(struct inq_value *),
                            m->max_objects, m->err);
    if (code == INQ_OK) {
        m->stack[m->n_stack++] = value;
    }
    return code;
}

static int push_int(struct machine *m, enum inq_value_type type, int64_t integer)
{
    struct inq_value *value = new_value(m, type);
    if (value != NULL) {
        value->as.integer = integer;
    }
    return push(m, value);
}

/* Lowest stack height that the running code may pop to: never below the last mark. */
static size_t stack_floor(const struct machine *m)
{
    return m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0;
}

static int push_mark(struct machine *m)
{
    if (m->n_marks >= m->max_depth) {
        return refuse(m, INQ_LIMIT, "nested too deeply");
    }
    int code = inq_mem_grow(&m->marks, &m->cap_marks, m->n_marks + 1, sizeof *m->marks,
                            m->max_depth, m->err);
    if (code == INQ_OK) {
        m->marks[m->n_marks++] = m->n_stack;
    }
    return code;
}

/* Appends stack[from..] to the container below and pops them. */
static int append_items(struct machine *m, size_t from, enum inq_value_type type)
{
    size_t n = m->n_stack - from;
    if (from == 0 || m->stack[from - 1]->type != type || (type == INQ_VALUE_DICT && n % 2 != 0)) {
        return malformed(m, "items without their container");
    }
    struct inq_value *container = m->stack[from - 1];
    struct inq_value **items = inq_arena_array(m->arena, container->n + n, sizeof(void *));
    if (items == NULL) {
        return inq_err_set(m->err, INQ_NOMEM, "out of memory for a pickle");
    }
    if (container->n > 0) {
        /* only a writer that appends in many batches comes here: bound the copying */
        m->objects += container->n;
        memcpy(items, container->as.items, container->n * sizeof(void *));
    }
    memcpy(items + container->n, m->stack + from, n * sizeof(void *));
    container->as.items = items;
    container->n += n;
    m->n_stack = from;
    return m->objects > m->max_objects ? refuse(m, INQ_LIMIT, "too many objects") : INQ_OK;
}

static int pop_mark_into(struct machine *m, enum inq_value_type type)
{
    if (m->n_marks == 0) {
        return malformed(m, "no mark");
    }
    size_t from = m->marks[--m->n_marks];
    return append_items(m, from, type);
}

static int pop_into(struct machine *m, size_t n, enum inq_value_type type)
{
    if (m->n_stack - stack_floor(m) < n + 1) {
        return malformed(m, "stack too short");
    }
    return append_items(m, m->n_stack - n, type);
}

/* A list of the top values from `from` on, which it replaces. */
static int make_list(struct machine *m, size_t from, enum inq_value_type type)
{
    size_t n = m->n_stack - from;
    struct inq_value *list = new_value(m, type);
    struct inq_value **items = inq_arena_array(m->arena, n, sizeof(void *));
    if (list == NULL || items == NULL || (type == INQ_VALUE_DICT && n % 2 != 0)) {
        return list == NULL ? (int)m->err->code : malformed(m, "odd number of dict items");
    }
    if (n > 0) {
        memcpy(items, m->stack + from, n * sizeof(void *));
    }
    list->as.items = items;
    list->n = n;
    m->n_stack = from;
    return push(m, list);
}

static int make_tuple(struct machine *m, size_t n)
{
    if (m->n_stack - stack_floor(m) < n) {
        return malformed(m, "stack too short");
    }
    return make_list(m, m->n_stack - n, INQ_VALUE_LIST);
}

static int make_marked(struct machine *m, enum inq_value_type type)
{
    if (m->n_marks == 0) {
        return malformed(m, "no mark");
    }
    size_t from = m->marks[--m->n_marks];
    return make_list(m, from, type);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static int push_little_endian(struct machine *m, size_t n)
{
    const unsigned char *p = take(m, n);
    if (p == NULL) {
        return INQ_OK;
    }
    uint64_t raw = little_endian(p, n);
    return push_int(m, INQ_VALUE_INT, n == 4 ? (int64_t)(int32_t)(uint32_t)raw : (int64_t)raw);
}

/* A two's-complement integer of any length; beyond 64 bits it is saturated. */
static int push_long(struct machine *m, size_t length_bytes)
{
    const unsigned char *p = take(m, length_bytes);
    size_t n = p == NULL ? 0 : (size_t)little_endian(p, length_bytes);
    const unsigned char *digits = p == NULL ? NULL : take(m, n);
    if (digits == NULL) {
        return INQ_OK;
    }
    bool negative = n > 0 && (digits[n - 1] & 0x80) != 0;
    int64_t saturated = negative ? INT64_MIN : INT64_MAX;
    for (size_t i = 8; i < n; i++) {
        if (digits[i] != (negative ? 0xff : 0)) {
            return push_int(m, INQ_VALUE_INT, saturated);
        }
    }
    uint64_t value = negative ? UINT64_MAX : 0;
    for (size_t i = n < 8 ? n : 8; i > 0; i--) {
        value = value << 8 | digits[i - 1];
    }
    bool overflows = n >= 8 && (value >> 63) != (negative ? 1U : 0U);
    return push_int(m, INQ_VALUE_INT, overflows ? saturated : (int64_t)value);
}

static int push_double(struct machine *m)
{
    const unsigned char *p = take(m, 8);
    if (p == NULL) {
        return INQ_OK;
    }
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        bits = bits << 8 | p[i]; /* the one big-endian field of the format */
    }
    struct inq_value *value = new_value(m, INQ_VALUE_DOUBLE);
    if (value != NULL) {
        memcpy(&value->as.number, &bits, sizeof bits);
    }
    return push(m, value);
}

static int push_string(struct machine *m, size_t length_bytes)
{
    const unsigned char *p = take(m, length_bytes);
    uint64_t n = p == NULL ? 0 : little_endian(p, length_bytes);
    const unsigned char *text = p == NULL || n > m->n ? NULL : take(m, (size_t)n);
    if (text == NULL) {
        m->cut = true;
        return INQ_OK;
    }
    struct inq_value *value = new_value(m, INQ_VALUE_STRING);
    if (value == NULL) {
        return (int)m->err->code;
    }
    value->n = (size_t)n;
    value->as.text = inq_arena_strndup(m->arena, (const char *)text, (size_t)n);
    if (value->as.text == NULL) {
        return inq_err_set(m->err, INQ_NOMEM, "out of memory for a pickle");
    }
    return push(m, value);
}

/* ---- memo --------------------------------------------------------------------------------- */

static int memo_put(struct machine *m, size_t index)
{
    if (m->n_stack == stack_floor(m)) {
        return malformed(m, "nothing to memoize");
    }
    /* writers number the memo without gaps: an index past the bytes read is hostile */
    if (index > m->at) {
        return refuse(m, INQ_LIMIT, "memo index out of range");
    }
    int code = inq_mem_grow(&m->memo, &m->cap_memo, index + 1, sizeof(struct inq_value *),
                            m->max_objects, m->err);
    if (code != INQ_OK) {
        return code;
    }
    while (m->n_memo <= index) {
        m->memo[m->n_memo++] = NULL;
    }
    m->memo[index] = m->stack[m->n_stack - 1];
    return INQ_OK;
}

static int memo_get(struct machine *m, size_t index)
{
    if (index >= m->n_memo || m->memo[index] == NULL) {
        return malformed(m, "memo entry not set");
    }
    return push(m, m->memo[index]);
}

static int memo_op(struct machine *m, size_t index_bytes, int (*op)(struct machine *m, size_t i))
{
    const unsigned char *p = take(m, index_bytes);
    return p == NULL ? INQ_OK : op(m, (size_t)little_endian(p, index_bytes));
}

/* ---- opcodes --------------------------------------------------------------------------------- */

static int skip(struct machine *m, size_t n)
{
    (void)take(m, n);
    return INQ_OK;
}

static int stop(struct machine *m)
{
    m->stopped = true;
    return INQ_OK;
}

static int execute_scalar(struct machine *m, unsigned char op)
{
    switch (op) {
    case 'N':
        return push(m, new_value(m, INQ_VALUE_NULL));
    case 0x88:
        return push_int(m, INQ_VALUE_BOOL, 1);
    case 0x89:
        return push_int(m, INQ_VALUE_BOOL, 0);
    case 'K':
        return push_little_endian(m, 1);
    case 'M':
        return push_little_endian(m, 2);
    case 'J':
        return push_little_endian(m, 4);
    case 0x8a:
        return push_long(m, 1);
    case 0x8b:
        return push_long(m, 4);
    case 'G':
        return push_double(m);
    case 0x8c: /* short text */
    case 'C':  /* short bytes */
        return push_string(m, 1);
    case 'X':
    case 'B':
        return push_string(m, 4);
    case 0x8d:
    case 0x8e:
        return push_string(m, 8);
    default:
        return refuse(m, INQ_UNSUPPORTED, "refused: it is not plain data");
    }
}

static int execute(struct machine *m, unsigned char op)
{
    switch (op) {
    case 0x80: /* protocol */
        return skip(m, 1);
    case 0x95: /* frame */
        return skip(m, 8);
    case '.':
        return stop(m);
    case '(':
        return push_mark(m);
    case ']':
        return make_list(m, m->n_stack, INQ_VALUE_LIST);
    case '}':
        return make_list(m, m->n_stack, INQ_VALUE_DICT);
    case ')':
        return make_tuple(m, 0);
    case 0x85:
        return make_tuple(m, 1);
    case 0x86:
        return make_tuple(m, 2);
    case 0x87:
        return make_tuple(m, 3);
    case 't':
    case 'l':
        return make_marked(m, INQ_VALUE_LIST);
    case 'd':
        return make_marked(m, INQ_VALUE_DICT);
    case 'e':
        return pop_mark_into(m, INQ_VALUE_LIST);
    case 'u':
        return pop_mark_into(m, INQ_VALUE_DICT);
    case 'a':
        return pop_into(m, 1, INQ_VALUE_LIST);
    case 's':
        return pop_into(m, 2, INQ_VALUE_DICT);
    case 'q':
        return memo_op(m, 1, memo_put);
    case 'r':
        return memo_op(m, 4, memo_put);
    case 0x94: /* memoize at the next free place */
        return memo_put(m, m->n_memo);
    case 'h':
        return memo_op(m, 1, memo_get);
    case 'j':
        return memo_op(m, 4, memo_get);
    default:
        return execute_scalar(m, op);
    }
}

/* The document ended early: fold every open container into the one that holds it. */
static struct inq_value *fold_open(struct machine *m)
{
    while (m->n_marks > 0) {
        size_t from = m->marks[--m->n_marks];
        struct inq_value *holder = from > 0 && from <= m->n_stack ? m->stack[from - 1] : NULL;
        if (holder == NULL || (holder->type != INQ_VALUE_LIST && holder->type != INQ_VALUE_DICT)) {
            m->n_stack = from < m->n_stack ? from : m->n_stack; /* an unfinished tuple */
            continue;
        }
        if (holder->type == INQ_VALUE_DICT && (m->n_stack - from) % 2 != 0) {
            m->n_stack--; /* a key without its value */
        }
        if (append_items(m, from, holder->type) != INQ_OK) {
            break;
        }
        holder->partial = true;
    }
    return m->n_stack > 0 ? m->stack[0] : NULL;
}

static int run(struct machine *m)
{
    int code = INQ_OK;
    while (code == INQ_OK && !m->stopped && !m->cut) {
        m->op_at = m->at;
        const unsigned char *op = take(m, 1);
        code = op == NULL ? INQ_OK : execute(m, *op);
    }
    return code;
}

int inq_pickle_decode(const void *bytes, size_t n, const struct inq_pickle_limits *limits,
                      struct inq_arena *arena, struct inq_value **root, bool *complete,
                      struct inq_err *err)
{
    struct inq_err own = {0};
    struct machine m = {.bytes = bytes, .n = n, .arena = arena, .err = &own};
    m.max_depth = limits != NULL && limits->max_depth > 0 ? limits->max_depth : DEFAULT_DEPTH;
    m.max_objects =
        limits != NULL && limits->max_objects > 0 ? limits->max_objects : DEFAULT_OBJECTS;
    int code = run(&m);
    *complete = code == INQ_OK && m.stopped && m.n_stack == 1 && m.n_marks == 0;
    *root = fold_open(&m);
    if (code != INQ_OK && err != NULL && err->code == INQ_OK) {
        *err = own;
    }
    inq_mem_free(m.stack);
    inq_mem_free(m.marks);
    inq_mem_free(m.memo);
    return code;
}

/* ---- reading values -------------------------------------------------------------------------- */

const struct inq_value *inq_value_get(const struct inq_value *dict, const char *key)
{
    if (dict == NULL || dict->type != INQ_VALUE_DICT) {
        return NULL;
    }
    size_t len = strlen(key);
    for (size_t i = dict->n; i >= 2; i -= 2) { /* the last one written counts */
        const struct inq_value *name = dict->as.items[i - 2];
        if (name->type == INQ_VALUE_STRING && name->n == len &&
            memcmp(name->as.text, key, len) == 0) {
            return dict->as.items[i - 1];
        }
    }
    return NULL;
}

const struct inq_value *inq_value_at(const struct inq_value *list, size_t i)
{
    return list != NULL && list->type == INQ_VALUE_LIST && i < list->n ? list->as.items[i] : NULL;
}

int64_t inq_value_int(const struct inq_value *value, int64_t fallback)
{
    bool whole = value != NULL && (value->type == INQ_VALUE_INT || value->type == INQ_VALUE_BOOL);
    return whole ? value->as.integer : fallback;
}

int64_t inq_value_integer(const struct inq_value *dict, const char *key, int64_t fallback)
{
    const struct inq_value *value = inq_value_get(dict, key);
    if (value != NULL && value->type == INQ_VALUE_STRING) {
        char *end = NULL;
        long long number = strtoll(value->as.text, &end, 10);
        return end != value->as.text && *end == '\0' ? (int64_t)number : fallback;
    }
    return inq_value_int(value, fallback);
}

const char *inq_value_text(const struct inq_value *value, const char *fallback)
{
    return value != NULL && value->type == INQ_VALUE_STRING ? value->as.text : fallback;
}
