/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scan/scan.h"

#include "base/mem.h"

#include <string.h>

/* Objects of one program have a few hundred nodes at most: more are keys that are values. A chain
 * of alternatives, all compared where none matches, is as short. Longer objects are read one by
 * one: there are few of them. */
enum { MAX_NODES = 4096, MAX_ALTERNATIVES = 16, MAX_REFUSED = 2000, MAX_OBJECT = 64 << 10 };

/* Of brackets, one bit each. */
enum { MAX_DEPTH = 64 };

/* In place of a node. */
#define REFUSED UINT32_MAX

enum slot { SLOT_BARE, SLOT_STRING, SLOT_END };

/* Literal text, and the value behind it (a string's begins behind its quote). */
struct inq_layout_node {
    const uint64_t *literal; /* padded with zeros */
    uint64_t last;           /* the bytes of its last word that count */
    uint32_t n;              /* bytes of it */
    uint32_t child;          /* first of what may follow; 0: none */
    uint32_t sibling;        /* next alternative; 0: none */
    int32_t field;           /* of the value; -1: of no interest; END: the tag */
    enum slot slot;
};

void inq_layouts_release(struct inq_layouts *layouts)
{
    inq_arena_release(&layouts->arena);
    inq_mem_free(layouts->nodes);
    *layouts = (struct inq_layouts){0};
}

/* ---- matching -------------------------------------------------------------------------------- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static uint64_t load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static bool has_zero(uint64_t word)
{
    return ((word - EACH(1)) & ~word & EACH(0x80)) != 0;
}

static bool is_literal(const struct inq_layout_node *node, const char *p)
{
    uint64_t differs = 0;
    size_t at = 0;
    for (; at + 8 <= node->n; at += 8) {
        differs |= load(p + at) ^ node->literal[at / 8];
    }
    return (differs | ((load(p + at) ^ node->literal[at / 8]) & node->last)) == 0;
}

/* The quote that ends a string without escapes; NULL: there is none such. */
static const char *end_of_string(const char *p, const char *end)
{
    for (; p + 8 <= end; p += 8) {
        uint64_t word = load(p);
        if (has_zero(word ^ EACH('"')) || has_zero(word ^ EACH('\\'))) {
            break;
        }
    }
    while (p < end && *p != '"' && *p != '\\') {
        p++;
    }
    return p < end && *p == '"' ? p : NULL;
}

static bool are_digits(uint64_t word)
{
    return (word & EACH(0xf0)) == EACH(0x30) && ((word + EACH(6)) & EACH(0xf0)) == EACH(0x30);
}

/* As inq_scan_bare takes it. */
static bool is_bare(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == '_' ||
           ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static const char *end_of_bare(const char *p, const char *end)
{
    enum { MOST = 400 }; /* for inq_scan_bare, longer ones are none */
    const char *from = p;
    while (p + 8 <= end && are_digits(load(p))) {
        p += 8;
    }
    while (p < end && is_bare(*p)) {
        p++;
    }
    return p > from && p < end && p - from <= MOST ? p : NULL;
}

/* Where the value at p ends; NULL: it is of another kind, or cut. */
static const char *end_of_value(enum slot slot, const char *p, const char *end)
{
    return slot == SLOT_STRING ? end_of_string(p, end) : end_of_bare(p, end);
}

bool inq_layouts_match(struct inq_layouts *layouts, const char **p, const char *end, int *tag)
{
    const char *at = *p;
    uint32_t index = layouts->n_nodes > 0 ? 1 : 0;
    layouts->n_values = 0;
    while (index != 0) {
        const struct inq_layout_node *node = &layouts->nodes[index];
        const char *from = at + node->n;
        bool same = node->n <= (size_t)(end - at) && is_literal(node, at);
        const char *stop = !same                    ? NULL
                           : node->slot == SLOT_END ? from
                                                    : end_of_value(node->slot, from, end);
        if (stop == NULL) {
            index = node->sibling;
            continue;
        }
        if (node->slot == SLOT_END) {
            *tag = node->field;
            *p = stop;
            return true;
        }
        if (node->field >= 0) {
            layouts->values[layouts->n_values++] =
                (struct inq_layout_value){{from, (uint32_t)(stop - from)}, node->field};
        }
        at = stop;
        index = node->child;
    }
    return false;
}

/* ---- learning -------------------------------------------------------------------------------- */

void inq_layouts_begin(struct inq_layouts *layouts)
{
    layouts->n_values = 0;
}

void inq_layouts_note(struct inq_layouts *layouts, const struct inq_layout_value *value)
{
    if (layouts->n_values < INQ_LAYOUT_MAX_VALUES) {
        layouts->values[layouts->n_values] = *value;
    }
    layouts->n_values++; /* one too many: not learned */
}

/* The object taken apart: one literal and value after the other. Only what is strictly JSON is: in
 * what a lenient reader takes for an object, other values may be other brackets. */
struct learner {
    struct inq_layouts *layouts;
    const char *literal, *p, *stop; /* where the literal begins; the cursor; behind the object */
    size_t n_taken;
    uint32_t parent;
    unsigned depth;   /* brackets open */
    uint64_t objects; /* which of them are braces, the innermost last */
    char before;      /* the byte of the grammar in front of the cursor; 'v': a value */
};

/* The node behind `parent` with this literal and slot, or a new one. */
static int add_node(struct learner *l, const char *to, enum slot slot, int field,
                    struct inq_err *err)
{
    struct inq_layouts *layouts = l->layouts;
    struct inq_layout_node node = {.n = (uint32_t)(to - l->literal), .field = field, .slot = slot};
    uint32_t index =
        l->parent != 0 ? layouts->nodes[l->parent].child : (layouts->n_nodes > 0 ? 1 : 0);
    uint32_t last = 0;
    size_t alternatives = 0;
    for (; index != 0; alternatives++) {
        const struct inq_layout_node *other = &layouts->nodes[index];
        if (other->n == node.n && other->slot == slot && other->field == field &&
            is_literal(other, l->literal)) {
            l->parent = index;
            return INQ_OK;
        }
        last = index;
        index = other->sibling;
    }
    if (alternatives >= MAX_ALTERNATIVES || layouts->n_nodes >= MAX_NODES) {
        l->parent = REFUSED;
        return INQ_OK;
    }
    size_t cap = layouts->cap_nodes;
    uint64_t *copy = inq_arena_alloc(&layouts->arena, (node.n / 8 + 1) * sizeof *copy);
    int code = copy != NULL ? inq_mem_grow(&layouts->nodes, &cap, layouts->n_nodes + 2,
                                           sizeof *layouts->nodes, SIZE_MAX / 64, err)
                            : inq_err_set(err, INQ_NOMEM, "out of memory for layouts");
    if (code != INQ_OK) {
        return code;
    }
    layouts->cap_nodes = (uint32_t)cap;
    memcpy(copy, l->literal, node.n);
    memset(&node.last, 0xff, node.n % sizeof node.last);
    node.literal = copy;
    index = ++layouts->n_nodes;
    layouts->nodes[index] = node;
    if (last != 0) {
        layouts->nodes[last].sibling = index;
    } else if (l->parent != 0) {
        layouts->nodes[l->parent].child = index;
    }
    l->parent = index;
    return INQ_OK;
}

/* The field that the value was taken for; values are taken in the order of the text. */
static int field_of(struct learner *l, const char *from, const char *to)
{
    const struct inq_layouts *layouts = l->layouts;
    const struct inq_layout_value *next = &layouts->values[l->n_taken];
    bool taken = l->n_taken < layouts->n_values && next->text.p == from &&
                 next->text.n == (size_t)(to - from);
    l->n_taken += taken;
    return taken ? next->field : -1;
}

static bool in_object(const struct learner *l)
{
    return l->depth > 0 && (l->objects & 1) != 0;
}

static bool is_value_next(const struct learner *l)
{
    bool in_list = l->depth > 0 && !in_object(l);
    return in_list ? l->before == '[' || l->before == ',' : l->before == ':';
}

/* Past a bracket, comma or blank; false where it may not stand. */
static bool take_mark(struct learner *l)
{
    char c = *l->p++;
    char before = l->before;
    switch (c) {
    case '{':
    case '[':
        if (l->depth == MAX_DEPTH || !is_value_next(l)) {
            return false;
        }
        l->depth++;
        l->objects = l->objects << 1 | (c == '{');
        l->before = c;
        return true;
    case '}':
    case ']':
        if (l->depth == 0 || in_object(l) != (c == '}') ||
            (before != 'v' && before != (c == '}' ? '{' : '['))) {
            return false;
        }
        l->depth--;
        l->objects >>= 1;
        l->before = 'v';
        return true;
    case ',':
        l->before = c;
        return before == 'v';
    default:
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }
}

/* A key, up to its colon, is part of the literal. */
static bool take_key(struct learner *l)
{
    const char *quote = end_of_string(l->p + 1, l->stop);
    struct inq_scan scan = {quote != NULL ? quote + 1 : l->stop, l->stop, NULL};
    bool colon = inq_scan_blank(&scan) == ':';
    l->p = scan.p + colon;
    l->before = ':';
    return colon;
}

static int take_scalar(struct learner *l, bool *good, struct inq_err *err)
{
    enum slot slot = *l->p == '"' ? SLOT_STRING : SLOT_BARE;
    const char *from = l->p + (slot == SLOT_STRING);
    const char *to = end_of_value(slot, from, l->stop);
    *good = to != NULL && is_value_next(l);
    if (!*good) {
        return INQ_OK;
    }
    int code = add_node(l, from, slot, field_of(l, from, to), err);
    l->literal = to;
    l->p = to + (slot == SLOT_STRING);
    l->before = 'v';
    return code;
}

int inq_layouts_learn(struct inq_layouts *layouts, const char *start, const char *stop, int tag,
                      struct inq_err *err)
{
    struct learner l = {
        .layouts = layouts, .literal = start, .p = start, .stop = stop, .before = ':'};
    bool good = layouts->refused < MAX_REFUSED && stop - start <= MAX_OBJECT &&
                layouts->n_values <= INQ_LAYOUT_MAX_VALUES;
    int code = INQ_OK;
    while (code == INQ_OK && good && l.p < stop && l.parent != REFUSED) {
        if (*l.p == '"' && in_object(&l) && (l.before == '{' || l.before == ',')) {
            good = take_key(&l);
        } else if (strchr("{}[], \t\r\n", *l.p) != NULL) {
            good = *l.p != '\0' && take_mark(&l);
        } else {
            code = take_scalar(&l, &good, err);
        }
    }
    good = good && l.depth == 0 && l.parent != REFUSED && l.n_taken == layouts->n_values;
    if (code == INQ_OK && good) {
        return add_node(&l, stop, SLOT_END, tag, err);
    }
    layouts->refused++;
    return code;
}
