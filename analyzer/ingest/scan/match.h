/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes, as text that is compiled once for each kind of machine. The
 * including file defines MATCH, the name of the function, and
 * - literal_at(p, node): whether the node's literal is at p (64 bytes there are readable)
 * - run_at(p, run): whether the run is at p (INQ_SHAPE_RUN bytes there are readable)
 * - mask_of(p, c): a bit for each of the 64 bytes at p that is c
 * - digits_at(p): a bit for each of the 32 bytes at p that is a digit
 * - value_of(p, n): the value of the n digits at p, 1 to 16
 * All of them may read beyond `end`: sources keep bytes readable behind their text, and nothing is
 * accepted that does not end in front of it. */

/* What is rare, or long: inside of the loop over events it would take its registers. */
#define NOT_INLINE __attribute__((noinline))

enum {
    STEP_BYTES = 64,
    MAX_SKIP = 64 << 10,
    MAX_TIME_DIGITS = 16,
    MAX_STEPS = 16,
    /* Text comes out of the second cache, where inflating it left it: an event's worth of lines is
     * fetched for each event, three or four events ahead (a tenth of the matcher's time). */
    PREFETCH_AHEAD = 768,
    PREFETCH_LINES = 4
};

/* Where the matcher is in an event. */
struct match {
    struct inq_shapes *shapes;
    struct inq_scan_event *event;
    const char *end;
    struct inq_shape_step steps[MAX_STEPS]; /* of this event: those that a run may hold */
    unsigned n_steps;
};

/* From a bit for each quote: a bit for each byte from an opening quote up to its closing one. */
static inline uint64_t quoted_by(uint64_t quotes)
{
    quotes ^= quotes << 1;
    quotes ^= quotes << 2;
    quotes ^= quotes << 4;
    quotes ^= quotes << 8;
    quotes ^= quotes << 16;
    quotes ^= quotes << 32;
    return quotes;
}

/* Whether a value may end in front of this byte. */
static inline bool ends_value(char c)
{
    return __builtin_expect(c == ',', 1) || c == '}' || c == ']' || (unsigned char)c <= ' ';
}

/* How far a number goes: the bytes of its sign, of its digits, and, with a point and decimals, of
 * all of it. */
struct extent {
    unsigned sign, whole, width;
};

/* Durations have another width from one event to the next; all other numbers seldom do. The masks
 * have 32 bits: they hold a number of at most 30 bytes and the byte behind it. */
static inline void remember(struct inq_shape_node *node, uint32_t others, const struct extent *e)
{
    if (e->sign == 0 && e->width < 31) {
        node->upto = (UINT32_C(2) << e->width) - 1;
        node->stops = others & node->upto;
        node->whole = (uint8_t)e->whole;
        node->width = (uint8_t)e->width;
    }
}

static inline bool measure_digits(const char *p, uint32_t others, bool time, struct extent *e)
{
    e->whole = (unsigned)__builtin_ctzll(others | UINT64_C(1) << 32);
    if (e->whole - 1 >= MAX_TIME_DIGITS) {
        return false;
    }
    e->width = e->sign + e->whole;
    if (time && p[e->whole] == '.') {
        uint32_t behind = others & (others - 1);
        if (behind == 0 || (unsigned)__builtin_ctz(behind) == e->whole + 1) {
            return false;
        }
        e->width = (unsigned)__builtin_ctz(behind);
    }
    return true;
}

/* Measures the number at p; false when it has no digits or too many: 16 are taken in front of the
 * point, and 31 bytes with it. One as wide as the last in this place is only compared with that:
 * what follows it then need not wait until it is measured. */
static inline bool measure(struct inq_shape_node *node, const char *p, bool time, struct extent *e)
{
    uint32_t others = ~digits_at(p);
    if ((others & node->upto) == node->stops && p[node->width] != '.' &&
        (node->whole == node->width || p[node->whole] == '.')) {
        *e = (struct extent){0, node->whole, node->width};
        return true;
    }
    e->sign = !time && *p == '-';
    others = ~digits_at(p + e->sign);
    if (!measure_digits(p, others, time, e)) {
        return false;
    }
    remember(node, others, e);
    return true;
}

/* Decimals of microseconds, n of them, as ns: rounded half up, as the general reader rounds what is
 * not negative. */
static inline unsigned parse_decimals(const char *p, unsigned n)
{
    if (n == 3) { /* as profilers write them */
        return (unsigned)(p[0] * 100 + p[1] * 10 + p[2] - 111 * '0');
    }
    unsigned a = (unsigned)(p[0] - '0');
    unsigned b = n > 1 ? (unsigned)(p[1] - '0') : 0;
    unsigned c = n > 2 ? (unsigned)(p[2] - '0') : 0;
    return a * 100 + b * 10 + c + (n > 3 && p[3] >= '5' ? 1 : 0);
}

/* Takes microseconds in as ns; false when those are too many. */
static inline bool take_time(struct match *m, int field, const char *digits, unsigned whole,
                             unsigned width)
{
    uint64_t value = value_of(digits, whole) * 1000;
    bool fraction = width > whole;
    if (fraction) {
        value += parse_decimals(digits + whole + 1, width - whole - 1);
    }
    if (field == INQ_FIELD_TS) {
        m->event->fraction = fraction;
    }
    m->event->number[field] = (int64_t)value;
    return value <= (uint64_t)INT64_MAX;
}

static inline void take_number(struct match *m, int field, int64_t value)
{
    m->event->number[field] = value;
    m->event->text[field].p = NULL;
}

static inline bool read_time(struct match *m, struct inq_shape_node *node, const char **p)
{
    struct extent e;
    const char *digits = *p;
    if (!measure(node, digits, true, &e)) {
        return false;
    }
    *p += e.width;
    return take_time(m, node->field, digits, e.whole, e.width) && ends_value(**p);
}

static inline bool read_number(struct match *m, struct inq_shape_node *node, const char **p)
{
    struct extent e;
    if (!measure(node, *p, false, &e)) {
        return false;
    }
    int64_t value = (int64_t)value_of(*p + e.sign, e.whole);
    take_number(m, node->field, e.sign != 0 ? -value : value);
    *p += e.width;
    return ends_value(**p);
}

/* A duration, of an event that is dropped too. */
static inline bool read_duration(struct match *m, const struct inq_shape_node *node, const char **p)
{
    struct extent e = {0};
    const char *digits = *p;
    if (!measure_digits(digits, ~digits_at(digits), true, &e)) {
        return false;
    }
    *p += e.width;
    return ends_value(**p) &&
           (node->slot == INQ_SLOT_CHECK || take_time(m, INQ_FIELD_DUR, digits, e.whole, e.width));
}

/* A number of a dropped event: what read_time and read_number would accept. */
static inline bool check_number(struct inq_shape_node *node, const char **p)
{
    struct extent e;
    if (!measure(node, *p, node->field == INQ_FIELD_TS, &e)) {
        return false;
    }
    *p += e.width;
    return ends_value(**p);
}

/* A number that nobody wants: the run of bytes that one can be made of. */
static inline bool skip_number(struct inq_shape_node *node, const char **p)
{
    struct extent e;
    if (measure(node, *p, true, &e) && ends_value((*p)[e.width])) {
        *p += e.width;
        return true;
    }
    const char *q = *p;
    while ((*q >= '0' && *q <= '9') || *q == '.' || *q == '-' || *q == '+' || *q == 'e' ||
           *q == 'E') {
        q++;
        if (q - *p > 64) {
            return false;
        }
    }
    bool any = q > *p;
    *p = q;
    return any;
}

/* A string without escapes, up to its quote. */
static inline bool read_string(struct match *m, const char **p, int field)
{
    const char *start = *p;
    const char *q = start;
    uint64_t quotes;
    uint64_t escapes;
    for (;;) {
        quotes = mask_of(q, '"');
        escapes = mask_of(q, '\\');
        if ((quotes | escapes) != 0) {
            break;
        }
        q += STEP_BYTES;
        if (q >= m->end || q - start > MAX_SKIP) {
            return false;
        }
    }
    unsigned at = (unsigned)__builtin_ctzll(quotes | escapes);
    if ((escapes >> at & 1) != 0) {
        return false;
    }
    *p = q + at;
    if (!ends_value(q[at + 1])) {
        return false;
    }
    if (field < INQ_FIELD_COUNT) {
        m->event->text[field] = (struct inq_text){start, (uint32_t)(*p - start)};
    }
    return true;
}

/* ---- the end of an event --------------------------------------------------------------------- */

/* The first line break that is followed by less indentation than the inside of an event has. */
static inline const char *end_of_indented(const struct match *m, const char *p)
{
    size_t column = m->shapes->indent + 1;
    char blank = m->shapes->blank;
    const char *limit = m->end - p > MAX_SKIP ? p + MAX_SKIP : m->end;
    for (; p < limit; p += STEP_BYTES) {
        uint64_t hits = mask_of(p, '\n');
        if (hits != 0) {
            hits &= ~mask_of(p + column, blank);
            if (hits != 0) {
                return p + __builtin_ctzll(hits);
            }
        }
    }
    return NULL;
}

/* Which bytes are escaped: those behind an odd run of backslashes. *carry: the first one is. */
static inline uint64_t escaped_by(uint64_t backslashes, uint64_t *carry)
{
    if (backslashes == 0) {
        uint64_t escaped = *carry;
        *carry = 0;
        return escaped;
    }
    uint64_t escaped = 0;
    bool next = *carry != 0;
    for (unsigned i = 0; i < 64; i++) { /* rare */
        bool is = next;
        escaped |= (uint64_t)is << i;
        next = !is && (backslashes >> i & 1) != 0;
    }
    *carry = next;
    return escaped;
}

/* The closing bracket of the event, `depth` brackets being open at p. */
static inline const char *end_of_brackets(const struct match *m, const char *p, unsigned depth,
                                          bool in_string)
{
    uint64_t inside = in_string ? UINT64_MAX : 0;
    uint64_t carry = 0;
    const char *limit = m->end - p > MAX_SKIP ? p + MAX_SKIP : m->end;
    for (; p < limit; p += STEP_BYTES) {
        uint64_t escaped = escaped_by(mask_of(p, '\\'), &carry);
        uint64_t quoted = quoted_by(mask_of(p, '"') & ~escaped) ^ inside;
        inside = 0 - (quoted >> 63);
        uint64_t opening = (mask_of(p, '{') | mask_of(p, '[')) & ~quoted;
        uint64_t closing = (mask_of(p, '}') | mask_of(p, ']')) & ~quoted;
        unsigned n_closing = (unsigned)__builtin_popcountll(closing);
        if (n_closing < depth) {
            depth += (unsigned)__builtin_popcountll(opening) - n_closing;
            continue;
        }
        for (uint64_t both = opening | closing; both != 0; both &= both - 1) {
            uint64_t bit = both & -both;
            depth = (opening & bit) != 0 ? depth + 1 : depth - 1;
            if (depth == 0) {
                return p + __builtin_ctzll(bit);
            }
        }
    }
    return NULL;
}

/* Blanks, as exporters put them between things: few. */
static inline const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
    }
    return p;
}

/* A member with a list of numbers, behind its key. Returns what follows it, or NULL. */
static inline const char *read_list(struct match *m, const char *p, const char *end, int field)
{
    p = skip_blanks(p, end);
    if (p == end || *p != ':') {
        return NULL;
    }
    p = skip_blanks(p + 1, end);
    uint64_t closing = mask_of(p, ']');
    if (p == end || *p != '[' || closing == 0) {
        return NULL;
    }
    const char *behind = p + __builtin_ctzll(closing) + 1;
    if (behind > end) {
        return NULL;
    }
    m->event->text[field] = (struct inq_text){p, (uint32_t)(behind - p)};
    m->event->has |= UINT64_C(1) << field;
    return behind;
}

/* The grid, from behind its key, and the block behind it. */
static inline bool read_grid(struct match *m, const char *p, const char *end)
{
    static const char key[] = "\"block\"";
    p = read_list(m, p, end, INQ_FIELD_GRID);
    if (p == NULL || p == end || *p != ',') {
        return false;
    }
    p = skip_blanks(p + 1, end);
    return end - p > (ptrdiff_t)sizeof key && memcmp(p, key, sizeof key - 1) == 0 &&
           read_list(m, p + sizeof key - 1, end, INQ_FIELD_BLOCK) != NULL;
}

/* Goes over what is left of a kernel: reads its grid and block. False when arguments of a
 * collective are in it, or a grid that is written in another way. */
static inline bool watch_rest(struct match *m, const char *p, const char *end)
{
    const char *start = p;
    for (; p < end; p += STEP_BYTES) {
        uint64_t quotes = mask_of(p, '"');
        uint64_t grids = quotes & mask_of(p + 1, 'g');
        uint64_t collectives = quotes & mask_of(p + 1, 'C');
        if ((grids | collectives) == 0) {
            continue;
        }
        collectives &= mask_of(p + 2, 'o') & mask_of(p + 3, 'l');
        if (collectives != 0 && p + __builtin_ctzll(collectives) < end) {
            return false;
        }
        grids &=
            mask_of(p + 2, 'r') & mask_of(p + 3, 'i') & mask_of(p + 4, 'd') & mask_of(p + 5, '"');
        const char *grid = grids != 0 ? p + __builtin_ctzll(grids) : end;
        if (grid < end && (memchr(start, '{', (size_t)(grid - start)) != NULL || /* not the args' */
                           !read_grid(m, grid + 6, end))) {
            return false;
        }
    }
    return true;
}

/* From inside of an event to the opening bracket of the next one; NULL when it is not to be had. */
static NOT_INLINE const char *skip_rest(struct match *m, const struct inq_shape_node *node,
                                        const struct inq_shape_leaf *leaf, const char *p)
{
    const struct inq_shape_node *gap = &m->shapes->gap;
    const char *q = m->shapes->indented ? end_of_indented(m, p)
                                        : end_of_brackets(m, p, node->depth, node->in_string);
    if (q == NULL || m->end - q < gap->len || !literal_at(q, gap)) {
        return NULL;
    }
    if (leaf->watch && !watch_rest(m, p, q)) {
        return NULL;
    }
    return q + gap->len - 1;
}

/* Behind an event that was matched to its very end: to the next one. */
static inline const char *pass_gap(const struct match *m, const char *p)
{
    const struct inq_shape_node *gap = &m->shapes->gap;
    unsigned before = m->shapes->gap_before + 1; /* of it up to the closing bracket */
    if (m->end - p < (ptrdiff_t)(gap->len - before) || !literal_at(p - before, gap)) {
        return NULL;
    }
    return p + gap->len - before - 1;
}

/* ---- one event ------------------------------------------------------------------------------- */

/* Whether a name starts with one of the marks. */
static inline bool is_marked(const struct inq_shapes *shapes, const char *name)
{
    uint64_t first;
    memcpy(&first, name, sizeof first);
    return first == shapes->marks[0] || first == shapes->marks[1];
}

/* The number behind a node's literal; false when the text there is none. */
static NOT_INLINE bool read_digits(struct match *m, struct inq_shape_node *node, const char **p)
{
    switch (node->slot) {
    case INQ_SLOT_NUMBER:
        return read_number(m, node, p);
    case INQ_SLOT_TIME:
        return read_time(m, node, p);
    case INQ_SLOT_CHECK:
        return check_number(node, p);
    case INQ_SLOT_OTHER:
        return skip_number(node, p);
    default:
        return true;
    }
}

/* The slot behind a node's literal; false when the text there is not of its kind. */
static inline bool read_slot(struct match *m, struct inq_shape_node *node, const char **p)
{
    return node->slot == INQ_SLOT_STRING  ? read_string(m, p, node->field)
           : node->field == INQ_FIELD_DUR ? read_duration(m, node, p)
                                          : read_digits(m, node, p);
}

/* The event ends with this node, whose literal ended at p. */
static inline const char *match_end(struct match *m, const struct inq_shape_node *node,
                                    const char *p, struct inq_shape_leaf **leaf)
{
    *leaf = node->leaf;
    if (*leaf == NULL) {
        return NULL;
    }
    if ((*leaf)->watch) {
        m->event->has = 0;
    }
    if (node->field == INQ_FIELD_NAME) {
        m->event->text[INQ_FIELD_NAME].p = p;
    }
    return node->slot == INQ_SLOT_SKIP ? skip_rest(m, node, *leaf, p) : pass_gap(m, p);
}

/* The node's run that is at p, or NULL. */
static inline const struct inq_shape_run *find_run(const struct match *m,
                                                   struct inq_shape_node *node, const char *p)
{
    for (unsigned i = 0; i < node->n_runs; i++) {
        const struct inq_shape_run *run = &node->runs[i];
        if (run_at(p, run)) {
            node->misses = 0;
            return run->leaf == NULL || m->end - p > run->len ? run : NULL;
        }
    }
    return NULL;
}

/* Reads the values of the run at p; false when there is a time that is none. */
static inline bool read_run(struct match *m, const struct inq_shape_run *run, const char *p)
{
    for (unsigned i = 0; i < run->n_values; i++) {
        const struct inq_run_value *v = &run->values[i];
        const char *at = p + v->at;
        if (v->slot == INQ_SLOT_NUMBER) {
            take_number(m, v->field, (int64_t)value_of(at, v->whole));
        } else if (v->slot == INQ_SLOT_TIME) {
            if (!take_time(m, v->field, at, v->whole, v->width)) {
                return false;
            }
        } else if (v->slot == INQ_SLOT_NEGATIVE) {
            take_number(m, v->field, -(int64_t)value_of(at, v->whole));
        } else {
            m->event->text[v->field] = (struct inq_text){at, v->width};
        }
    }
    return true;
}

/* Durations are as wide as those before too seldom; kernels have to be read to their end. */
static inline void note_step(struct match *m, struct inq_shape_node *node, const char *from,
                             const char *to)
{
    bool wanted = node->slot >= INQ_SLOT_SKIP ? node->field != INQ_FIELD_NAME && !node->leaf->watch
                                              : !node->varies && node->field != INQ_FIELD_DUR;
    if (wanted && to - from < INQ_SHAPE_RUN && m->n_steps < MAX_STEPS) {
        m->steps[m->n_steps++] = (struct inq_shape_step){node, from, to};
    }
}

/* Follows the trie from `node`, one of siblings. Returns where the next event starts, or NULL. */
static inline const char *match_from(struct match *m, struct inq_shape_node *node, const char *p,
                                     struct inq_shape_leaf **leaf)
{
    while (node != NULL) {
        struct inq_shape_node *next = node->sibling;
        const struct inq_shape_run *run = node->n_runs > 0 ? find_run(m, node, p) : NULL;
        if (run != NULL && read_run(m, run, p)) {
            p += run->len;
            if (run->leaf != NULL) {
                *leaf = run->leaf;
                return p;
            }
            next = run->next;
        } else if (literal_at(p, node)) {
            const char *q = p + node->len;
            if (node->slot >= INQ_SLOT_SKIP) {
                q = match_end(m, node, q, leaf);
                if (q != NULL) {
                    note_step(m, node, p, q);
                }
                return q;
            }
            if (node->child != NULL && read_slot(m, node, &q)) {
                note_step(m, node, p, q);
                p = q;
                next = node->child;
            }
        }
        node = next;
    }
    return NULL;
}

/* The first node whose literal is at p: before all others the one that followed the last time. */
static inline struct inq_shape_node *first_node(const struct inq_shapes *shapes,
                                                struct inq_shape_node *guess, const char *p)
{
    if (guess != NULL && literal_at(p, guess)) {
        return guess;
    }
    struct inq_shape_node *node = shapes->first;
    while (node != NULL && !literal_at(p, node)) {
        node = node->sibling;
    }
    return node;
}

const struct inq_shape_leaf *MATCH(struct inq_shapes *shapes, const char **p, const char *end,
                                   struct inq_scan_event *event, const char **start,
                                   uint64_t *dropped)
{
    struct match m;
    m.shapes = shapes;
    m.event = event;
    m.end = end;
    struct inq_shape_leaf *last = shapes->last_leaf;
    const struct inq_shape_leaf *delivered = NULL;
    const char *at = *p;
    uint64_t count = 0;
    while (end - at > STEP_BYTES) {
        for (size_t i = 0; i < PREFETCH_LINES; i++) {
            __builtin_prefetch(at + PREFETCH_AHEAD + STEP_BYTES * i);
        }
        struct inq_shape_node *first = first_node(shapes, last->follow, at);
        struct inq_shape_leaf *leaf = NULL;
        m.n_steps = 0;
        const char *next = match_from(&m, first, at, &leaf);
        if (next == NULL || (leaf->action == INQ_SHAPE_DROP_OP &&
                             is_marked(shapes, event->text[INQ_FIELD_NAME].p))) {
            break;
        }
        if (m.n_steps > 0) {
            inq_shape_learn_runs(m.steps, m.n_steps);
        }
        last->follow = first;
        last = leaf;
        *start = at;
        at = next;
        if (leaf->action == INQ_SHAPE_DELIVER) {
            delivered = leaf;
            break;
        }
        count++;
    }
    shapes->last_leaf = last;
    *p = at;
    *dropped += count;
    return delivered;
}
