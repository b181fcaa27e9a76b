/* SPDX-License-Identifier: Apache-2.0 */
/* JSON event traces: Kineto's object form, Chrome's object and array forms. Walks the document,
 * hands events and members on, and finds the thread again after damage. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "ingest/ingest.h"

#include <string.h>
#include <strings.h>

/* What an event is: by its category, and of devices that no category here names by what its
 * arguments are (a stream and a device or a launch, the type of an Ascend task). */

/* Categories that Kineto writes, or has written. */
static const struct {
    const char *text;
    enum inq_cat cat;
} categories[] = {
    {"cpu_op", INQ_CAT_CPU_OP},
    {"Operator", INQ_CAT_OPERATOR},
    {"user_annotation", INQ_CAT_NOTE},
    {"gpu_user_annotation", INQ_CAT_GPU_NOTE},
    {"kernel", INQ_CAT_KERNEL},
    {"Kernel", INQ_CAT_KERNEL},
    {"concurrent_kernel", INQ_CAT_KERNEL},
    {"collective_comm", INQ_CAT_KERNEL},
    {"mtia_ccp_events", INQ_CAT_KERNEL},
    {"hpu_op", INQ_CAT_KERNEL},
    {"gpu_memcpy", INQ_CAT_MEMCPY},
    {"Memcpy", INQ_CAT_MEMCPY},
    {"gpu_memset", INQ_CAT_MEMSET},
    {"Memset", INQ_CAT_MEMSET},
    {"cuda_sync", INQ_CAT_SYNC},
    {"xpu_sync", INQ_CAT_SYNC},
    {"cuda_runtime", INQ_CAT_CALL},
    {"cuda_driver", INQ_CAT_CALL},
    {"Runtime", INQ_CAT_CALL},
    {"hip_runtime", INQ_CAT_CALL},
    {"mtia_runtime", INQ_CAT_CALL},
    {"xpu_runtime", INQ_CAT_CALL},
    {"xpu_driver", INQ_CAT_CALL},
    {"glow_runtime", INQ_CAT_CALL},
    {"privateuse1_runtime", INQ_CAT_CALL},
    {"privateuse1_driver", INQ_CAT_CALL},
    {"python_function", INQ_CAT_PASSING},
    {"cpu_instant_event", INQ_CAT_PASSING},
    {"ac2g", INQ_CAT_PASSING},
    {"fwdbwd", INQ_CAT_PASSING},
    {"async_cpu_to_gpu", INQ_CAT_PASSING},
    {"cuda_event", INQ_CAT_PASSING},
    {"cuda_profiler_range", INQ_CAT_PASSING},
    {"mtia_workloadd", INQ_CAT_PASSING},
    {"mtia_insight", INQ_CAT_PASSING},
};

static enum inq_cat look_up(struct inq_text text)
{
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (inq_text_is(text, categories[i].text)) {
            return categories[i].cat;
        }
    }
    return inq_op_type_from_name(text.p, text.n) != INQ_OP_NONE ? INQ_CAT_OP : INQ_CAT_OTHER;
}

/* The kind of device of which only it has such categories, or NULL. Others' are GPUs. */
static const char *kind_of(struct inq_text cat)
{
    static const struct {
        const char *prefix, *kind;
    } kinds[] = {{"mtia_", "MTIA"}, {"hpu_", "HPU"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].prefix);
        if (cat.n > n && memcmp(cat.p, kinds[i].prefix, n) == 0) {
            return kinds[i].kind;
        }
    }
    return NULL;
}

static enum inq_cat by_category(struct inq_kineto *k, struct inq_text text)
{
    if (text.n == k->cat_text.n && k->cat_text.p != NULL &&
        memcmp(text.p, k->cat_bytes, text.n) == 0) {
        return k->cat;
    }
    enum inq_cat cat = look_up(text);
    k->kind_of_device =
        cat != INQ_CAT_OTHER && kind_of(text) != NULL ? kind_of(text) : k->kind_of_device;
    if (text.n <= sizeof k->cat_bytes) {
        memcpy(k->cat_bytes, text.p, text.n);
        k->cat_text = (struct inq_text){k->cat_bytes, text.n};
        k->cat = cat;
    }
    return cat;
}

static bool has_word(struct inq_text text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (strncasecmp(text.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_any(struct inq_text text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (has_word(text, words[i])) {
            return true;
        }
    }
    return false;
}

#define ANY_OF(text, words) has_any(text, words, sizeof(words) / sizeof *(words))

/* ---- arguments ------------------------------------------------------------------------------- */

/* Words in the types of Ascend tasks that wait, signal or keep books: a stream that waits does not
 * work. */
static const char *const idle_tasks[] = {"WAIT",  "RECORD",       "NOTIFY", "EVENT",
                                         "LABEL", "PLACE_HOLDER", "WRITE",  "MAINTENANCE"};
static const char *const copy_tasks[] = {"MEMCPY", "SDMA", "DMA"};

static enum inq_cat cat_of_task(struct inq_text type)
{
    return ANY_OF(type, idle_tasks)   ? INQ_CAT_PASSING
           : ANY_OF(type, copy_tasks) ? INQ_CAT_MEMCPY
           : has_word(type, "MEMSET") ? INQ_CAT_MEMSET
                                      : INQ_CAT_KERNEL;
}

/* The kind of device work by the words of a category that is not known. */
static enum inq_cat cat_of_work(struct inq_text cat)
{
    static const char *const syncs[] = {"sync", "wait", "notif", "event_record"};
    return has_word(cat, "memcpy")       ? INQ_CAT_MEMCPY
           : has_word(cat, "memset")     ? INQ_CAT_MEMSET
           : has_word(cat, "annotation") ? INQ_CAT_GPU_NOTE
           : ANY_OF(cat, syncs)          ? INQ_CAT_SYNC
                                         : INQ_CAT_KERNEL;
}

/* An event of PyTorch's profiler as it was before Kineto, and is in builds without it. */
static bool is_legacy(const struct inq_scan_event *event)
{
    return !INQ_HAS(event, CAT) && INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p != NULL &&
           inq_text_is(event->text[INQ_FIELD_PID], "CPU functions");
}

/* Class of an event: by its category, and where that says nothing by what its arguments are. */
static enum inq_cat category_of(struct inq_kineto *k, const struct inq_scan_event *event)
{
    static const char *const hosts[] = {"runtime", "driver"};
    struct inq_text text = {"", 0};
    enum inq_cat cat = INQ_CAT_OTHER;
    if (INQ_HAS(event, CAT)) {
        text = event->text[INQ_FIELD_CAT];
        cat = by_category(k, text);
    } else if (is_legacy(event)) {
        k->legacy = true;
        return INQ_CAT_OPERATOR;
    }
    if (cat != INQ_CAT_OTHER || k->exported) {
        return cat;
    }
    if (INQ_HAS(event, TASK_TYPE)) {
        k->kind_of_device = INQ_KINETO_ASCEND;
        return cat_of_task(event->text[INQ_FIELD_TASK_TYPE]);
    }
    if (INQ_HAS(event, CORRELATION) && ANY_OF(text, hosts)) {
        return INQ_CAT_CALL;
    }
    bool on_device =
        INQ_HAS(event, STREAM) && (INQ_HAS(event, DEVICE) || INQ_HAS(event, CORRELATION));
    return on_device ? cat_of_work(text) : cat;
}

/* Which fields of an event decide what becomes of it. */

#define BIT(field) (UINT64_C(1) << INQ_FIELD_##field)

/* What a kept event is made of. */
#define NUMBERS (BIT(PID) | BIT(TID) | BIT(TS) | BIT(DUR))
#define WHOLE   (BIT(PH) | BIT(CAT) | BIT(NAME) | NUMBERS)
#define LABEL   (BIT(STEP) | BIT(CHUNK) | BIT(MICRO_BATCH) | BIT(SEQ_ID))

/* Whatever becomes of the event: the numbers that every event has are read, so that a bad one is
 * counted. */
static void plan_complete(enum inq_cat cat, bool named, struct inq_shape_plan *plan)
{
    plan->action = INQ_SHAPE_DELIVER;
    switch (cat) {
    case INQ_CAT_CPU_OP:
        plan->need = WHOLE;
        plan->action = named ? INQ_SHAPE_DROP_OP : INQ_SHAPE_DROP;
        break;
    case INQ_CAT_PASSING:
        plan->need = WHOLE;
        plan->action = INQ_SHAPE_DROP;
        break;
    case INQ_CAT_OTHER:
        plan->need = WHOLE | BIT(CORRELATION);
        break;
    case INQ_CAT_OPERATOR:
    case INQ_CAT_NOTE:
        plan->need = WHOLE;
        break;
    case INQ_CAT_CALL:
        plan->need = WHOLE | BIT(CORRELATION);
        break;
    case INQ_CAT_KERNEL:
        plan->watch = true;
        plan->need = WHOLE | BIT(DEVICE) | BIT(STREAM) | BIT(CORRELATION);
        break;
    case INQ_CAT_GPU_NOTE:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
        plan->need = WHOLE | BIT(DEVICE) | BIT(STREAM) | BIT(CORRELATION);
        break;
    case INQ_CAT_OP:
        plan->need = WHOLE | LABEL;
        break;
    }
}

/* What has to be read of events like this one; false when they are better read in general. */
static bool plan_fields(const struct inq_kineto *k, const struct inq_scan_event *event,
                        enum inq_cat cat, struct inq_shape_plan *plan)
{
    *plan = (struct inq_shape_plan){.tag = (int)cat};
    if (k->exported) { /* every event belongs to one rank or another */
        return false;
    }
    bool op = cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR;
    if (INQ_HAS(event, TASK_TYPE) || INQ_HAS(event, ALGORITHM)) { /* texts decide what it is */
        return false;
    }
    bool unsaid = !INQ_HAS(event, CAT) && INQ_HAS(event, PID) &&
                  event->text[INQ_FIELD_PID].p != NULL; /* the process decides */
    bool kept = op && inq_kineto_may_be_cpu(k);
    if (unsaid || kept || (k->shard->operators && op)) { /* inputs are lists */
        return false;
    }
    switch (event->ph) {
    case 'X':
        plan_complete(cat, INQ_HAS(event, NAME), plan);
        plan->need |= k->shard->operators ? BIT(EXTERNAL_ID) : 0; /* joins kernels to operators */
        plan->need |= k->shard->operators && cat == INQ_CAT_MEMCPY ? BIT(BYTES) : 0;
        return true;
    case 'B':
    case 'E':
        plan->need = WHOLE;
        plan->action = INQ_SHAPE_DELIVER;
        return cat == INQ_CAT_OTHER;
    case 'M':
        plan->need = BIT(PH) | NUMBERS | BIT(NAME) | BIT(ARG_NAME);
        plan->action = INQ_SHAPE_DELIVER;
        return true;
    default:
        plan->need = BIT(PH) | NUMBERS;
        plan->action = INQ_SHAPE_DROP;
        return true;
    }
}

/* Where in a document the cursor is. */
enum place {
    AT_START,
    AT_MEMBERS, /* of the document: between them */
    AT_EVENTS,  /* of the array: between them */
    AT_TAIL,    /* behind the document */
    LOST,       /* in garbage */
    AT_END
};

struct document {
    struct inq_shapes shapes; /* first: its nodes are aligned to cache lines */
    inq_shape_match match;    /* NULL: no use is made of shapes */
    struct inq_err *err;
    struct inq_window window;
    struct inq_scan_event event;
    struct inq_kineto k;
    enum place place;
    bool array_form; /* the document is an array */
    bool blaming;    /* the garbage at hand is part of an event already counted as bad */
};

/* ---- the window ------------------------------------------------------------------------------ */

static struct inq_scan cursor(struct document *d)
{
    return (struct inq_scan){.p = d->window.p, .end = d->window.end};
}

static void move_to(struct document *d, const char *p)
{
    d->window.p += p - d->window.p;
}

/* The first events of a file say little of the rest. */
static void expect_rows(struct document *d)
{
    enum { SAMPLE_BYTES = 2 << 20 };
    const struct inq_source *source = d->window.source;
    uint64_t size;
    (void)inq_source_is_file(source, &size);
    if (size > 0 && inq_source_delivered(source) >= SAMPLE_BYTES) {
        inq_rank_make_room(d->k.rank, (double)inq_source_consumed(source) / (double)size);
    }
}

/* Doubles what is in memory of the thing at the cursor. */
static int grow(struct document *d)
{
    expect_rows(d);
    size_t have = (size_t)(d->window.end - d->window.p);
    return inq_window_more(&d->window, have < 256 ? 256 : have, d->err);
}

/* Skips blanks; *c is the byte found or -1 at the end of the source. */
static int next_blank(struct document *d, int *c)
{
    for (;;) {
        struct inq_scan scan = cursor(d);
        *c = inq_scan_blank(&scan);
        move_to(d, scan.p);
        if (*c >= 0 || d->window.ended) {
            return INQ_OK;
        }
        int code = grow(d);
        if (code != INQ_OK) {
            return code;
        }
    }
}

static int64_t offset_of(const struct document *d, const char *p)
{
    return inq_window_offset(&d->window, p);
}

static void damage(struct document *d, enum inq_damage_kind kind, uint64_t n, const char *p)
{
    inq_kineto_damage(&d->k, kind, n, offset_of(d, p));
}

/* ---- things too large for memory ------------------------------------------------------------- */

/* Where in a value a byte is. */
struct nesting {
    int64_t depth;
    bool quoted, escaped;
};

/* Goes over one byte; whether the value is at its end there. */
static bool ends_with(struct nesting *n, char c)
{
    if (n->quoted) {
        n->quoted = n->escaped || c != '"';
        n->escaped = !n->escaped && c == '\\';
    } else {
        n->quoted = c == '"';
        n->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    return n->depth <= 0 && !n->quoted && c != '"';
}

/* Passes over a value without keeping it, however large. */
static int stream_past(struct document *d)
{
    struct nesting nesting = {0};
    for (;;) {
        for (const char *p = d->window.p; p < d->window.end; p++) {
            if (ends_with(&nesting, *p)) {
                move_to(d, p + (*p == '}' || *p == ']'));
                return INQ_OK;
            }
        }
        d->window.p = d->window.end;
        if (d->window.ended) {
            return INQ_OK;
        }
        int code = grow(d);
        if (code != INQ_OK) {
            return code;
        }
    }
}

/* What stands at the cursor is no JSON; `blaming`: part of an event already counted as bad. */
static int lose(struct document *d, bool blaming)
{
    d->place = LOST;
    d->blaming = blaming;
    return INQ_OK;
}

/* The document ends where more had to come. */
static int cut_short(struct document *d, enum inq_damage_kind kind, const char *at)
{
    damage(d, kind, 1, at);
    d->place = AT_END;
    return INQ_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* As much as an event may have of what is in memory. */
static struct inq_scan event_cursor(struct document *d)
{
    struct inq_scan scan = cursor(d);
    if ((size_t)(scan.end - scan.p) > INQ_SCAN_MAX_EVENT) {
        scan.end = scan.p + INQ_SCAN_MAX_EVENT;
    }
    return scan;
}

/* The event at the cursor is longer than what is in memory. */
static int more_of_event(struct document *d)
{
    if ((size_t)(d->window.end - d->window.p) < INQ_SCAN_MAX_EVENT) {
        if (!d->window.ended) {
            return grow(d);
        }
        const char *at = d->window.p;
        d->window.p = d->window.end;
        return cut_short(d, INQ_DAMAGE_TRUNCATED, at);
    }
    damage(d, INQ_DAMAGE_LIMIT, 1, d->window.p);
    d->window.p++;
    return lose(d, true);
}

static int take_event(struct document *d, const char *start, const char *stop)
{
    struct inq_scan_event *event = &d->event;
    int64_t offset = offset_of(d, start);
    if (!INQ_HAS(event, PH)) {
        d->k.odd++;
        if (d->k.shard->file.events > 0) {
            inq_kineto_damage(&d->k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        }
        return INQ_OK;
    }
    if (event->bad_numbers > 0) {
        inq_kineto_damage(&d->k, INQ_DAMAGE_BAD_NUMBER, event->bad_numbers,
                          offset_of(d, event->bad_where));
    }
    enum inq_cat cat = category_of(&d->k, event);
    int code = inq_kineto_event(&d->k, event, cat, offset);
    struct inq_shape_plan plan;
    if (code == INQ_OK && d->match != NULL && plan_fields(&d->k, event, cat, &plan)) {
        code = inq_shapes_learn(&d->shapes, start, stop, d->window.end, event, &plan, d->err);
    }
    return code;
}

static int read_event(struct document *d)
{
    struct inq_scan scan = event_cursor(d);
    const char *start = scan.p;
    switch (inq_scan_event_read(&scan, &d->event)) {
    case INQ_SCAN_MORE:
        return more_of_event(d);
    case INQ_SCAN_BAD:
        damage(d, INQ_DAMAGE_BAD_EVENT, 1, start);
        move_to(d, scan.resync > start ? scan.resync : start + 1);
        return lose(d, true);
    case INQ_SCAN_OK:
        break;
    }
    int code = take_event(d, start, scan.p);
    move_to(d, scan.p);
    return code;
}

/* A kernel that communicates or is odd: by the general reader, which knows all of it. */
static int read_again(struct document *d, const char *start)
{
    struct inq_scan scan = {.p = start, .end = d->window.end};
    if (inq_scan_event_read(&scan, &d->event) != INQ_SCAN_OK) {
        return INQ_OK; /* cannot be: it has been matched */
    }
    return inq_kineto_event(&d->k, &d->event, INQ_CAT_KERNEL, offset_of(d, start));
}

/* A pid or tid in quotes may be a number all the same. */
static void unquote(struct inq_scan_event *event, enum inq_scan_field field)
{
    struct inq_text text = event->text[field];
    if ((event->has >> field & 1) != 0 && text.p != NULL &&
        inq_scan_int(text.p, text.n, &event->number[field])) {
        event->text[field].p = NULL;
    }
}

/* Whether a kernel leaves damage: it is counted once, where the event is taken in. */
static bool is_odd(struct inq_kineto *k, const struct inq_scan_event *event)
{
    return !INQ_HAS(event, TS) || event->number[INQ_FIELD_TS] > INQ_KINETO_MAX_TIME ||
           (INQ_HAS(event, DUR) && event->number[INQ_FIELD_DUR] > INQ_KINETO_MAX_TIME) ||
           !INQ_HAS(event, NAME) || !inq_kineto_is_plain(k, event->text[INQ_FIELD_NAME]);
}

static int deliver(struct document *d, const struct inq_shape_leaf *leaf, const char *start)
{
    struct inq_scan_event *event = &d->event;
    enum inq_cat cat = (enum inq_cat)leaf->tag;
    int64_t offset = offset_of(d, start);
    event->has = leaf->has | (leaf->watch ? event->has : 0);
    event->ph = leaf->ph;
    event->text[INQ_FIELD_CAT] = leaf->cat;
    unquote(event, INQ_FIELD_PID);
    unquote(event, INQ_FIELD_TID);
    if (cat == INQ_CAT_KERNEL && event->ph == 'X') {
        inq_str name = 0;
        if (is_odd(&d->k, event)) {
            return read_again(d, start);
        }
        int code = inq_kineto_name(&d->k, event->text[INQ_FIELD_NAME], offset, &name);
        if (code != INQ_OK ||
            inq_kernel_class(&d->k.classes, &d->k.shard->names, name) == INQ_CLASS_COMM) {
            return code != INQ_OK ? code : read_again(d, start);
        }
    }
    return inq_kineto_event(&d->k, event, cat, offset);
}

/* Takes all events from the cursor on whose shapes are known. */
static int read_shapes(struct document *d)
{
    int code = INQ_OK;
    const char *p = d->window.p;
    const struct inq_shape_leaf *leaf;
    do {
        const char *start = p;
        leaf = d->match(&d->shapes, &p, d->window.end, &d->event, &start, &d->k.shard->file.events);
        if (leaf != NULL) {
            code = deliver(d, leaf, start);
        }
    } while (leaf != NULL && code == INQ_OK);
    move_to(d, p);
    return code;
}

/* An element of the array that is no object. */
static int skip_element(struct document *d)
{
    struct inq_scan scan = event_cursor(d);
    switch (inq_scan_skip(&scan)) {
    case INQ_SCAN_MORE:
        return more_of_event(d);
    case INQ_SCAN_BAD:
        return lose(d, false);
    case INQ_SCAN_OK:
        break;
    }
    d->k.odd++;
    if (d->k.shard->file.events > 0) {
        damage(d, INQ_DAMAGE_BAD_EVENT, 1, d->window.p);
    }
    move_to(d, scan.p);
    return INQ_OK;
}

static int in_events(struct document *d)
{
    int c = 0;
    int code = next_blank(d, &c);
    if (code != INQ_OK) {
        return code;
    }
    switch (c) {
    case -1:
        return cut_short(d, INQ_DAMAGE_UNTERMINATED, d->window.p);
    case '{':
        if (d->match != NULL) {
            code = read_shapes(d);
        }
        return code != INQ_OK ? code : read_event(d);
    case ',':
        d->window.p++;
        return INQ_OK;
    case ']':
        d->window.p++;
        d->place = d->array_form ? AT_TAIL : AT_MEMBERS;
        return INQ_OK;
    default:
        return skip_element(d);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* The value at the cursor, whole if it fits; larger ones stream past. */
static int take_value(struct document *d, struct inq_scan *scan, struct inq_text key,
                      const char *start)
{
    struct inq_text value = {scan->p, 0};
    switch (inq_scan_skip(scan)) {
    case INQ_SCAN_OK:
        break;
    case INQ_SCAN_MORE:
        if ((size_t)(d->window.end - start) >= INQ_SCAN_MAX_EVENT) {
            damage(d, INQ_DAMAGE_LIMIT, 1, start);
            move_to(d, value.p);
            return stream_past(d);
        }
        if (!d->window.ended) {
            return grow(d); /* and the member is read again */
        }
        return cut_short(d, INQ_DAMAGE_TRUNCATED, start);
    case INQ_SCAN_BAD:
        damage(d, INQ_DAMAGE_GARBAGE, (uint64_t)(scan->resync - start), start);
        move_to(d, scan->resync);
        return lose(d, false);
    }
    value.n = (uint32_t)(scan->p - value.p);
    int code = inq_kineto_member(&d->k, key, value, offset_of(d, start));
    move_to(d, scan->p);
    return code;
}

static int read_member(struct document *d)
{
    struct inq_scan scan = event_cursor(d);
    const char *start = scan.p;
    struct inq_text key;
    enum inq_scan_result result = inq_scan_key(&scan, &key);
    if (result == INQ_SCAN_OK && inq_scan_blank(&scan) < 0) {
        result = INQ_SCAN_MORE;
    }
    if (result == INQ_SCAN_MORE) {
        return more_of_event(d);
    }
    if (result == INQ_SCAN_BAD) {
        return lose(d, false);
    }
    if (inq_text_is(key, "traceEvents") && *scan.p == '[') {
        d->k.has_events = true;
        d->place = AT_EVENTS;
        move_to(d, scan.p + 1);
        return INQ_OK;
    }
    return take_value(d, &scan, key, start);
}

static int in_members(struct document *d)
{
    int c = 0;
    int code = next_blank(d, &c);
    if (code != INQ_OK) {
        return code;
    }
    switch (c) {
    case -1:
        return cut_short(d, INQ_DAMAGE_TRUNCATED, d->window.p);
    case '"':
        return read_member(d);
    case ',':
        d->window.p++;
        return INQ_OK;
    case '}':
        d->window.p++;
        d->place = AT_TAIL;
        return INQ_OK;
    default:
        return lose(d, false);
    }
}

/* ---- start, end, garbage --------------------------------------------------------------------- */

static int at_start(struct document *d)
{
    int c = 0;
    int code = next_blank(d, &c);
    if (code == INQ_OK && c == 0xef) { /* a byte order mark */
        if (d->window.end - d->window.p < 4) {
            code = grow(d);
        }
        if (code == INQ_OK && d->window.end - d->window.p >= 3 &&
            memcmp(d->window.p, "\xef\xbb\xbf", 3) == 0) {
            d->window.p += 3;
            code = next_blank(d, &c);
        }
    }
    if (code != INQ_OK) {
        return code;
    }
    d->array_form = c == '[';
    d->place = c == '[' ? AT_EVENTS : c == '{' ? AT_MEMBERS : c < 0 ? AT_END : LOST;
    if (c == '[' || c == '{') {
        d->window.p++;
    }
    return INQ_OK;
}

static int in_tail(struct document *d)
{
    int c = 0;
    int code = next_blank(d, &c);
    if (code == INQ_OK) {
        d->place = c < 0 ? AT_END : LOST;
        d->blaming = false;
    }
    return code;
}

/* Looks for an event or a member of the document. */
static int in_garbage(struct document *d)
{
    struct inq_scan scan = cursor(d);
    const char *start = scan.p;
    enum inq_scan_start found = inq_scan_resync(&scan, d->window.ended);
    if (!d->blaming && scan.p > start) {
        damage(d, INQ_DAMAGE_GARBAGE, (uint64_t)(scan.p - start), start);
    }
    move_to(d, scan.p);
    switch (found) {
    case INQ_START_EVENT:
        d->place = AT_EVENTS;
        return INQ_OK;
    case INQ_START_MEMBER:
        d->place = AT_MEMBERS;
        return INQ_OK;
    case INQ_START_NONE:
    case INQ_START_MORE:
        break;
    }
    if (!d->window.ended) {
        return grow(d);
    }
    if (d->window.p < d->window.end && !d->blaming) {
        damage(d, INQ_DAMAGE_GARBAGE, (uint64_t)(d->window.end - d->window.p), d->window.p);
    }
    d->place = AT_END;
    return INQ_OK;
}

static int read_document(struct document *d)
{
    int code = INQ_OK;
    while (code == INQ_OK && d->place != AT_END) {
        switch (d->place) {
        case AT_START:
            code = at_start(d);
            break;
        case AT_MEMBERS:
            code = in_members(d);
            break;
        case AT_EVENTS:
            code = in_events(d);
            break;
        case AT_TAIL:
            code = in_tail(d);
            break;
        case LOST:
            code = in_garbage(d);
            break;
        case AT_END:
            break;
        }
    }
    return code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* Prepares *k to fill the shard, which gets one rank. Release in any case. */
static int init(struct inq_kineto *k, struct inq_shard *shard, struct inq_err *err)
{
    *k = (struct inq_kineto){.shard = shard, .err = err};
    k->last_thread = INQ_NONE;
    k->last_stream_lane = INQ_NONE;
    uint32_t index = 0;
    int code = inq_shard_add_rank(shard, &index, err);
    if (code == INQ_OK) {
        k->rank = &shard->ranks[index];
    }
    return code;
}

static void release(struct inq_kineto *k)
{
    inq_kernel_classes_release(&k->classes);
    inq_mem_free(k->scratch);
    inq_mem_free(k->grids);
    inq_launches_release(&k->inputs);
    inq_map_release(&k->op_by_id);
    inq_mem_free(k->externals);
    inq_map_release(&k->processes);
    inq_mem_free(k->hccl);
    inq_map_release(&k->threads_by_key);
    inq_map_release(&k->streams_by_key);
    inq_map_release(&k->groups_by_key);
    inq_mem_free(k->threads);
    inq_mem_free(k->halves);
    inq_mem_free(k->ops);
    inq_mem_free(k->groups);
    inq_mem_free(k->config);
    inq_mem_free(k->devices);
    inq_mem_free(k->of_export);
    inq_mem_free(k->export_groups);
    *k = (struct inq_kineto){0};
}

static int refuse(struct document *d, const char *why)
{
    d->k.shard->file.reason = why;
    return inq_err_set(d->err, INQ_UNSUPPORTED, "%s", why);
}

int inq_kineto_read(struct inq_source *source, struct inq_shard *shard, inq_shape_match match,
                    struct inq_err *err)
{
    struct document d = {.match = match, .err = err};
    int code = inq_window_init(&d.window, source, err);
    if (code == INQ_OK) {
        code = inq_shapes_init(&d.shapes, "record_p", "Profiler", err);
    }
    if (code == INQ_OK) {
        code = init(&d.k, shard, err);
    }
    if (code == INQ_OK) {
        code = read_document(&d);
    }
    if (code == INQ_OK && shard->file.events == 0 && !d.k.has_events && !d.k.kineto) {
        code = refuse(&d, d.array_form ? "a JSON array, but not of trace events"
                                       : "a JSON document without traceEvents");
    }
    if (code == INQ_OK) {
        code = inq_kineto_finish(&d.k);
    }
    release(&d.k);
    inq_shapes_release(&d.shapes);
    inq_window_release(&d.window);
    return code;
}

static int read_trace(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    return inq_kineto_read(source, shard, inq_shape_matcher(inq_shape_level()), err);
}

static bool mentions(const char *head, size_t n, const char *what)
{
    return memmem(head, n, what, strlen(what)) != NULL;
}

static int sniff(const char *head, size_t n, const char *path)
{
    (void)path;
    struct inq_scan scan = {.p = head, .end = head + n};
    if (n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) {
        scan.p += 3;
    }
    int c = inq_scan_blank(&scan);
    bool whole = n < (size_t)60 << 10; /* nothing more will follow */
    /* the world of a large run fills the head: what stands before it is looked for first */
    bool events = mentions(head, n, "\"schemaVersion\"") || mentions(head, n, "\"traceEvents\"") ||
                  mentions(head, n, "\"deviceProperties\"");
    if (c == '{' && events) {
        return 95;
    }
    bool phases = mentions(head, n, "\"ph\"");
    if (c == '{') {
        return phases ? 40 : whole ? 0 : 5;
    }
    if (c == '[') {
        return phases ? 90 : whole ? 0 : 5;
    }
    return events && phases ? 30 : phases ? 10 : 0;
}

const struct inq_reader inq_reader_kineto = {
    .name = "kineto",
    .summary = "PyTorch (Kineto) and Chrome event traces, JSON",
    .sniff = sniff,
    .read = read_trace,
};
