/* SPDX-License-Identifier: Apache-2.0 */
/* Learning the shapes of events. */
#include "ingest/scan/shape.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_DEPTH = 8, MAX_REFUSED = 2000, MAX_EVENT = 16 << 10, MAX_LEAVES = 1024 };

int inq_shapes_init(struct inq_shapes *shapes, const char mark_a[8], const char mark_b[8],
                    struct inq_err *err)
{
    *shapes = (struct inq_shapes){0};
    memcpy(&shapes->marks[0], mark_a, 8);
    memcpy(&shapes->marks[1], mark_b, 8);
    shapes->leaves = inq_mem_zalloc(MAX_LEAVES, sizeof *shapes->leaves);
    if (shapes->leaves == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for event shapes");
    }
    shapes->last_leaf = shapes->leaves;
    return INQ_OK;
}

void inq_shapes_release(struct inq_shapes *shapes)
{
    inq_arena_release(&shapes->arena);
    for (size_t i = 0; i < sizeof shapes->blocks / sizeof *shapes->blocks; i++) {
        inq_mem_free(shapes->blocks[i]);
    }
    inq_mem_free(shapes->leaves);
    *shapes = (struct inq_shapes){0};
}

/* ---- the trie -------------------------------------------------------------------------------- */

/* One event being added: where the next node hangs, and the text not yet in a node. */
struct learner {
    struct inq_shapes *shapes;
    const struct inq_scan_event *event;
    const struct inq_shape_plan *plan;
    struct inq_shape_node *parent; /* NULL: the next node is a first one */
    const char *literal;           /* start of the text that the next node has to hold */
    const char *stop;              /* of the event */
    uint64_t seen;                 /* fields */
    bool done, failed, no_memory;
};

static void set_literal(struct inq_shape_node *node, const char *p, size_t n)
{
    memset(node->literal, 0, sizeof node->literal);
    memcpy(node->literal, p, n);
    node->len = (uint8_t)n;
    node->mask = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool same_node(const struct inq_shape_node *a, const struct inq_shape_node *b)
{
    return a->len == b->len && a->slot == b->slot && a->field == b->field &&
           memcmp(a->literal, b->literal, sizeof a->literal) == 0;
}

/* A node like that one, with literals in one line of the cache each; NULL (and the learner fails)
 * when there are too many or there is no memory. */
static struct inq_shape_node *new_node(struct learner *l, const struct inq_shape_node *node)
{
    struct inq_shapes *s = l->shapes;
    void **block =
        &s->blocks[s->n_nodes / INQ_SHAPE_BLOCK % (sizeof s->blocks / sizeof *s->blocks)];
    if (s->n_nodes < INQ_SHAPE_MAX_NODES && *block == NULL) {
        *block = inq_mem_zalloc(INQ_SHAPE_BLOCK + 1, sizeof *node);
        l->no_memory = *block == NULL;
    }
    if (s->n_nodes == INQ_SHAPE_MAX_NODES || *block == NULL) {
        l->failed = true;
        return NULL;
    }
    size_t align = _Alignof(struct inq_shape_node);
    size_t before = (align - (uintptr_t)*block % align) % align;
    struct inq_shape_node *nodes = (void *)((char *)*block + before);
    struct inq_shape_node *fresh = &nodes[s->n_nodes++ % INQ_SHAPE_BLOCK];
    *fresh = *node;
    return fresh;
}

/* Finds the node among the children of the learner's parent, or hangs it behind them. */
static void descend(struct learner *l, const struct inq_shape_node *node)
{
    struct inq_shapes *s = l->shapes;
    struct inq_shape_node **link = l->parent == NULL ? &s->first : &l->parent->child;
    while (*link != NULL) {
        if (same_node(*link, node)) {
            l->parent = *link;
            return;
        }
        link = &(*link)->sibling;
    }
    *link = new_node(l, node);
    l->parent = *link;
}

/* Puts the text up to `end` into a node (several, if it is long) that is followed by a slot. */
static void add_node(struct learner *l, const char *end, enum inq_slot slot, int field)
{
    struct inq_shape_node node = {.field = INQ_FIELD_COUNT, .stops = UINT32_MAX};
    while (end - l->literal > INQ_SHAPE_LITERAL && !l->failed) {
        set_literal(&node, l->literal, INQ_SHAPE_LITERAL);
        node.slot = INQ_SLOT_NONE;
        descend(l, &node);
        l->literal += INQ_SHAPE_LITERAL;
    }
    if (l->failed) { /* what is left may be longer than a node holds */
        return;
    }
    set_literal(&node, l->literal, (size_t)(end - l->literal));
    node.slot = (uint8_t)slot;
    node.field = (uint8_t)field;
    descend(l, &node);
    l->literal = end;
}

/* The node just added ends an event. */
static void add_leaf(struct learner *l, unsigned depth, bool in_string)
{
    struct inq_shapes *s = l->shapes;
    struct inq_shape_node *node = l->parent;
    l->done = true;
    if (l->failed || node->leaf != NULL) {
        return;
    }
    if (s->n_leaves == MAX_LEAVES - 1) {
        l->failed = true;
        return;
    }
    struct inq_shape_leaf leaf = {.has = l->seen,
                                  .action = l->plan->action,
                                  .tag = l->plan->tag,
                                  .ph = l->event->ph,
                                  .watch = l->plan->watch};
    if (INQ_HAS(l->event, CAT)) {
        struct inq_text cat = l->event->text[INQ_FIELD_CAT];
        leaf.cat.p = inq_arena_strndup(&s->arena, cat.p, cat.n);
        leaf.cat.n = cat.n;
        l->no_memory = leaf.cat.p == NULL;
        l->failed = l->no_memory;
    }
    node->leaf = &s->leaves[++s->n_leaves];
    node->depth = (uint8_t)depth;
    node->in_string = in_string;
    *node->leaf = leaf;
}

static bool satisfied(const struct learner *l)
{
    return (l->plan->need & ~l->seen) == 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A whole number of digits, perhaps negative. */
static bool is_whole(struct inq_text text)
{
    uint32_t first = text.n > 0 && text.p[0] == '-';
    for (uint32_t i = first; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return false;
        }
    }
    return text.n > first;
}

static void note_field(struct learner *l, enum inq_scan_field field)
{
    if (field == INQ_FIELD_COUNT) {
        return;
    }
    uint64_t bit = UINT64_C(1) << field;
    l->failed |= (l->seen & bit) != 0; /* twice in one event */
    l->seen |= bit;
}

static void learn_string(struct learner *l, struct inq_text text, enum inq_scan_field field,
                         bool number, unsigned depth)
{
    const char *behind = text.p + text.n + 1;
    bool place = field == INQ_FIELD_PID || field == INQ_FIELD_TID;
    l->failed |= (number && !place) || field == INQ_FIELD_COLLECTIVE;
    note_field(l, field);
    if (field == INQ_FIELD_PH || field == INQ_FIELD_CAT) { /* its value belongs to the shape */
        if (satisfied(l)) {
            add_node(l, behind, INQ_SLOT_SKIP, INQ_FIELD_COUNT);
            add_leaf(l, depth, false);
        }
        return;
    }
    if (field == INQ_FIELD_NAME && satisfied(l) && l->plan->action == INQ_SHAPE_DROP_OP) {
        add_node(l, text.p, INQ_SLOT_SKIP, (int)field); /* not even its end is of interest */
        add_leaf(l, depth, true);
        return;
    }
    add_node(l, text.p, INQ_SLOT_STRING, (int)field);
    l->literal = text.p + text.n;
    if (satisfied(l)) {
        add_node(l, l->literal, INQ_SLOT_SKIP, INQ_FIELD_COUNT);
        add_leaf(l, depth, true);
    }
}

static void learn_bare(struct learner *l, struct inq_text text, enum inq_scan_field field,
                       unsigned depth)
{
    bool number = (text.p[0] >= '0' && text.p[0] <= '9') || text.p[0] == '-';
    if (!number) { /* true, null, ...: literal, but nothing that is wanted */
        l->failed |= field != INQ_FIELD_COUNT;
        return;
    }
    bool time = field == INQ_FIELD_TS || field == INQ_FIELD_DUR;
    enum inq_slot slot = field == INQ_FIELD_COUNT               ? INQ_SLOT_OTHER
                         : l->plan->action != INQ_SHAPE_DELIVER ? INQ_SLOT_CHECK
                         : time                                 ? INQ_SLOT_TIME
                                                                : INQ_SLOT_NUMBER;
    l->failed |= field != INQ_FIELD_COUNT && !time && !is_whole(text);
    note_field(l, field);
    add_node(l, text.p, slot, (int)field);
    l->literal = text.p + text.n;
    if (satisfied(l)) {
        add_node(l, l->literal, INQ_SLOT_SKIP, INQ_FIELD_COUNT);
        add_leaf(l, depth, false);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Brackets open, outermost first. */
struct open_bracket {
    bool object, args;
};

static void learn_scalar(struct learner *l, struct inq_scan *scan, struct inq_text key,
                         const struct open_bracket *top, unsigned depth)
{
    bool number = false;
    enum inq_scan_field field = INQ_FIELD_COUNT;
    if (depth == 1 || top->args) {
        field = inq_scan_field_of(key, top->args, &number);
    }
    struct inq_text text;
    bool quoted = *scan->p == '"';
    enum inq_scan_result result =
        quoted ? inq_scan_string(scan, &text) : inq_scan_bare(scan, &text);
    bool wrong_kind = !quoted && field != INQ_FIELD_COUNT && !number;
    if (result != INQ_SCAN_OK || wrong_kind) {
        l->failed = true;
    } else if (quoted) {
        learn_string(l, text, field, number, depth);
    } else {
        learn_bare(l, text, field, depth);
    }
}

/* A list that is read only where it comes behind everything else of interest. */
static bool is_grid(struct inq_text key)
{
    bool number;
    enum inq_scan_field field = inq_scan_field_of(key, true, &number);
    return field == INQ_FIELD_GRID || field == INQ_FIELD_BLOCK;
}

/* One step of the walk: a key, a scalar, or a bracket. */
static void step(struct learner *l, struct inq_scan *scan, struct open_bracket *open,
                 unsigned *depth, struct inq_text *key)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        return;
    }
    if (c == '}' || c == ']') {
        scan->p++;
        if (--*depth == 0) {
            add_node(l, scan->p, INQ_SLOT_END, INQ_FIELD_COUNT);
            add_leaf(l, 0, false);
        }
        return;
    }
    bool keyed = *depth > 0 && open[*depth - 1].object;
    if (keyed) {
        if (c != '"' || inq_scan_key(scan, key) != INQ_SCAN_OK) {
            l->failed = true;
            return;
        }
        c = inq_scan_blank(scan);
    }
    if (c == '{' || c == '[') {
        l->failed |= *depth == MAX_DEPTH || (keyed && open[*depth - 1].args && is_grid(*key));
        if (!l->failed) {
            open[*depth] = (struct open_bracket){.object = c == '{',
                                                 .args = c == '{' && *depth == 1 && key->n == 4 &&
                                                         memcmp(key->p, "args", 4) == 0};
            ++*depth;
        }
        scan->p++;
        return;
    }
    if (c < 0 || *depth == 0) {
        l->failed = true;
        return;
    }
    struct inq_text none = {"", 0};
    learn_scalar(l, scan, keyed ? *key : none, &open[*depth - 1], *depth);
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* The text between this event and the next; false when there is none in sight. */
static bool find_gap(const char *stop, const char *end, size_t *n)
{
    struct inq_scan scan = {.p = stop, .end = end};
    if (inq_scan_blank(&scan) != ',') {
        return false;
    }
    scan.p++;
    if (inq_scan_blank(&scan) != '{') {
        return false;
    }
    *n = (size_t)(scan.p + 1 - stop);
    return true;
}

/* Whether every line of the event but the last is indented deeper than `indent`. */
static bool deeper_inside(const char *start, const char *last_line, unsigned indent, char blank)
{
    for (const char *p = memchr(start, '\n', (size_t)(last_line - start)); p != NULL;
         p = memchr(p + 1, '\n', (size_t)(last_line - p - 1))) {
        for (unsigned i = 0; i <= indent; i++) {
            if (p + 1 + i >= last_line || p[1 + i] != blank) {
                return false;
            }
        }
    }
    return true;
}

static void learn_layout(struct inq_shapes *s, const char *start, const char *stop, const char *end)
{
    size_t behind = 0;
    if (!find_gap(stop, end, &behind)) {
        return;
    }
    const char *bracket = stop - 1;
    const char *line = bracket; /* of the closing bracket */
    while (line > start && line[-1] != '\n' && (line[-1] == ' ' || line[-1] == '\t') &&
           line[-1] == bracket[-1]) {
        line--;
    }
    size_t indent = (size_t)(bracket - line);
    bool indented = line > start && line[-1] == '\n' && indent <= INQ_SHAPE_MAX_INDENT;
    char blank = indent > 0 ? bracket[-1] : ' ';
    if (indented) {
        indented = deeper_inside(start, line - 1, (unsigned)indent, blank);
    }
    size_t before = indented ? indent + 1 : 0;
    if (before + 1 + behind > INQ_SHAPE_LITERAL) {
        return;
    }
    set_literal(&s->gap, bracket - before, before + 1 + behind);
    s->gap_before = (unsigned)before;
    s->indented = indented;
    s->indent = (unsigned)indent;
    s->blank = blank;
    s->has_layout = true;
}

int inq_shapes_learn(struct inq_shapes *shapes, const char *start, const char *stop,
                     const char *end, const struct inq_scan_event *event,
                     const struct inq_shape_plan *plan, struct inq_err *err)
{
    if (shapes->refused >= MAX_REFUSED || stop - start > MAX_EVENT || event->bad_numbers > 0 ||
        INQ_HAS(event, COLLECTIVE)) { /* it is the general reader's, whatever its shape */
        return INQ_OK;
    }
    if (!shapes->has_layout) {
        learn_layout(shapes, start, stop, end);
    }
    if (!shapes->has_layout) {
        return INQ_OK;
    }
    struct learner l = {
        .shapes = shapes, .event = event, .plan = plan, .literal = start, .stop = stop};
    struct inq_scan scan = {.p = start, .end = stop};
    struct open_bracket open[MAX_DEPTH] = {{false, false}};
    unsigned depth = 0;
    struct inq_text key = {"", 0};
    while (!l.done && !l.failed) {
        step(&l, &scan, open, &depth, &key);
    }
    shapes->refused += l.failed;
    if (l.no_memory) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for event shapes");
    }
    return INQ_OK;
}

/* ---- choice of the matcher ------------------------------------------------------------------- */

enum inq_shape_level inq_shape_level(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        return INQ_SHAPE_AVX2;
    }
    return INQ_SHAPE_PLAIN;
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
    return INQ_SHAPE_NEON;
#else
    return INQ_SHAPE_PLAIN;
#endif
}

inq_shape_match inq_shape_matcher(enum inq_shape_level level)
{
    static const inq_shape_match matchers[] = {
        [INQ_SHAPE_PLAIN] = inq_shape_match_plain,
        [INQ_SHAPE_NEON] = inq_shape_match_neon,
        [INQ_SHAPE_AVX2] = inq_shape_match_avx2,
    };
    return matchers[level];
}
