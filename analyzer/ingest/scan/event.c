/* SPDX-License-Identifier: Apache-2.0 */
/* The general reader of one event: any order of keys, any layout. It is also what the fast path
 * learns from and falls back to. */
#include "ingest/scan/shape.h"

#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------ */

struct key {
    const char *text;
    uint8_t n;
    uint8_t field;
    uint8_t number; /* wanted as a number, though it may be written as a string */
};

#define KEY(text, field, number)                                                                   \
    {                                                                                              \
        text, sizeof(text) - 1, INQ_FIELD_##field, number                                          \
    }

static const struct key event_keys[] = {
    KEY("ph", PH, 0),   KEY("cat", CAT, 0), KEY("name", NAME, 0), KEY("pid", PID, 1),
    KEY("tid", TID, 1), KEY("ts", TS, 1),   KEY("dur", DUR, 1),
};

static const struct key arg_keys[] = {
    KEY("correlation", CORRELATION, 1),
    KEY("External id", EXTERNAL_ID, 1),
    KEY("external id", EXTERNAL_ID, 1),
    KEY("device", DEVICE, 1),
    KEY("stream", STREAM, 1),
    KEY("name", ARG_NAME, 0),
    KEY("Collective name", COLLECTIVE, 0),
    KEY("dtype", DTYPE, 0),
    KEY("Process Group Name", GROUP_NAME, 0),
    KEY("Process Group Description", GROUP_DESC, 0),
    KEY("Process Group Ranks", GROUP_RANKS, 0),
    KEY("Process Group ID", GROUP_ID, 1),
    KEY("Group size", GROUP_SIZE, 1),
    KEY("In msg nelems", IN_ELEMS, 1),
    KEY("In msg size", IN_ELEMS, 1),
    KEY("Out msg nelems", OUT_ELEMS, 1),
    KEY("Out msg size", OUT_ELEMS, 1),
    KEY("Seq", SEQ, 1),
    KEY("Rank", RANK, 1),
    KEY("Src Rank", SRC_RANK, 1),
    KEY("Dst Rank", DST_RANK, 1),
    KEY("step", STEP, 1),
    KEY("model_chunk", CHUNK, 1),
    KEY("mb_id", MICRO_BATCH, 1),
    KEY("seq_id", SEQ_ID, 1),
    KEY("grid", GRID, 0),
    KEY("block", BLOCK, 0),
    KEY("Input Dims", DIMS, 0),
    KEY("Input dims", DIMS, 0),
    KEY("Input type", TYPES, 0),
    KEY("bytes", BYTES, 1),
    /* Ascend: */
    KEY("Task Type", TASK_TYPE, 0),
    KEY("Physic Stream Id", STREAM, 1),
    KEY("connection_id", CORRELATION, 1),
    KEY("alg_type", ALGORITHM, 0),
    KEY("data_type", DTYPE, 0),
    KEY("count", IN_ELEMS, 1),
};

static const struct key *find_key(const struct key *keys, size_t n, struct inq_text text)
{
    for (size_t i = 0; i < n; i++) {
        if (keys[i].n == text.n && keys[i].text[0] == text.p[0] &&
            memcmp(keys[i].text, text.p, text.n) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

enum inq_scan_field inq_scan_field_of(struct inq_text key, bool in_args, bool *number)
{
    const struct key *found =
        in_args ? find_key(arg_keys, sizeof arg_keys / sizeof arg_keys[0], key)
                : find_key(event_keys, sizeof event_keys / sizeof event_keys[0], key);
    *number = found != NULL && found->number;
    return found != NULL ? (enum inq_scan_field)found->field : INQ_FIELD_COUNT;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* pid and tid may be text; every other number has to be one. */
static bool may_be_text(const struct key *key)
{
    return key->field == INQ_FIELD_PID || key->field == INQ_FIELD_TID;
}

static bool may_be_list(const struct key *key)
{
    return key->field == INQ_FIELD_GROUP_RANKS || key->field == INQ_FIELD_GRID ||
           key->field == INQ_FIELD_BLOCK || key->field == INQ_FIELD_DIMS ||
           key->field == INQ_FIELD_TYPES;
}

static void note_bad_number(struct inq_scan_event *event, const char *where)
{
    if (event->bad_numbers++ == 0) {
        event->bad_where = where;
    }
}

/* Of a field that is there twice the first counts: what comes after it may be passed over unread by
 * the fast path. */
static bool is_repeated(const struct inq_scan_event *event, const struct key *key)
{
    return (event->has >> key->field & 1) != 0;
}

/* A number's text, from a bare or a quoted value. */
static void set_number(struct inq_scan_event *event, const struct key *key, struct inq_text text,
                       bool quoted)
{
    if (is_repeated(event, key)) {
        return;
    }
    int64_t value = 0;
    bool fraction = false;
    bool is_time = key->field == INQ_FIELD_TS || key->field == INQ_FIELD_DUR;
    bool good = is_time ? inq_scan_time(text.p, text.n, &value, &fraction)
                        : inq_scan_int(text.p, text.n, &value);
    if (!good && quoted && may_be_text(key)) {
        event->text[key->field] = text;
    } else if (!good) {
        /* null and the like say that there is none; in args anything may be said */
        if (text.p[0] != 'n' && (is_time || may_be_text(key))) {
            note_bad_number(event, text.p);
        }
        return;
    } else {
        event->text[key->field].p = NULL;
        event->number[key->field] = value;
    }
    if (key->field == INQ_FIELD_TS) {
        event->fraction = fraction;
    }
    event->has |= UINT64_C(1) << key->field;
}

static void set_text(struct inq_scan_event *event, const struct key *key, struct inq_text text)
{
    if (is_repeated(event, key)) {
        return;
    }
    event->text[key->field] = text;
    event->has |= UINT64_C(1) << key->field;
    if (key->field == INQ_FIELD_PH) {
        event->ph = text.n == 1 ? text.p[0] : '?';
    }
}

/* Behind a scalar there must be a comma or a closing bracket; if there is not, the value was broken
 * and the rest of it is passed over up to the next one on the line. */
static enum inq_scan_result end_of_bare(struct inq_scan *scan, bool *broken)
{
    int c = inq_scan_blank(scan);
    if (c == ',' || c == '}' || c == ']') {
        return INQ_SCAN_OK;
    }
    *broken = true;
    for (int i = 0; i < 64; i++, scan->p++) {
        if (scan->p == scan->end) {
            return INQ_SCAN_MORE;
        }
        if (*scan->p == ',' || *scan->p == '}' || *scan->p == ']') {
            return INQ_SCAN_OK;
        }
        if (*scan->p == '"' || *scan->p == '\n') {
            break;
        }
    }
    return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_BAD;
}

static enum inq_scan_result read_scalar(struct inq_scan *scan, struct inq_scan_event *event,
                                        const struct key *key)
{
    struct inq_text text;
    enum inq_scan_result result;
    if (*scan->p == '"') {
        result = inq_scan_string(scan, &text);
        if (result != INQ_SCAN_OK || key == NULL) {
            return result;
        }
        if (key->number) {
            set_number(event, key, text, true);
        } else {
            set_text(event, key, text);
        }
        return result;
    }
    const char *start = scan->p;
    result = inq_scan_bare(scan, &text);
    if (result != INQ_SCAN_OK) {
        return result;
    }
    bool broken = false;
    result = end_of_bare(scan, &broken);
    if (result == INQ_SCAN_BAD) {
        scan->resync = scan->p;
    } else if (broken) {
        note_bad_number(event, start);
    } else if (key != NULL && key->number) {
        set_number(event, key, text, false);
    }
    return result;
}

static enum inq_scan_result read_args(struct inq_scan *scan, struct inq_scan_event *event);

static enum inq_scan_result read_member(struct inq_scan *scan, struct inq_scan_event *event,
                                        bool args)
{
    struct inq_text name;
    enum inq_scan_result result = inq_scan_key(scan, &name);
    int c = result == INQ_SCAN_OK ? inq_scan_blank(scan) : 0;
    if (result != INQ_SCAN_OK || c < 0) {
        return result != INQ_SCAN_OK ? result : INQ_SCAN_MORE;
    }
    if (c == '{' && !args && name.n == 4 && memcmp(name.p, "args", 4) == 0) {
        event->has_args = true;
        return read_args(scan, event);
    }
    const struct key *key =
        args ? find_key(arg_keys, sizeof arg_keys / sizeof arg_keys[0], name)
             : find_key(event_keys, sizeof event_keys / sizeof event_keys[0], name);
    if (c == '{' || c == '[') {
        const char *start = scan->p;
        result = inq_scan_skip(scan);
        if (result == INQ_SCAN_OK && key != NULL && may_be_list(key)) {
            set_text(event, key, (struct inq_text){start, (uint32_t)(scan->p - start)});
        }
        return result;
    }
    return read_scalar(scan, event, key);
}

/* The members of an object whose opening brace is at the cursor, up to its closing one. */
static enum inq_scan_result read_object(struct inq_scan *scan, struct inq_scan_event *event,
                                        bool args)
{
    scan->p++;
    int c = inq_scan_blank(scan);
    if (c == '}') {
        scan->p++;
        return INQ_SCAN_OK;
    }
    for (;;) {
        if (c < 0) {
            return INQ_SCAN_MORE;
        }
        if (c != '"') {
            scan->resync = scan->p;
            return INQ_SCAN_BAD;
        }
        enum inq_scan_result result = read_member(scan, event, args);
        c = result == INQ_SCAN_OK ? inq_scan_blank(scan) : 0;
        if (result != INQ_SCAN_OK || c < 0) {
            return result != INQ_SCAN_OK ? result : INQ_SCAN_MORE;
        }
        if (c != ',' && c != '}') {
            scan->resync = scan->p;
            return INQ_SCAN_BAD;
        }
        scan->p++;
        if (c == '}') {
            return INQ_SCAN_OK;
        }
        c = inq_scan_blank(scan);
    }
}

static enum inq_scan_result read_args(struct inq_scan *scan, struct inq_scan_event *event)
{
    return read_object(scan, event, true);
}

enum inq_scan_result inq_scan_event_read(struct inq_scan *scan, struct inq_scan_event *event)
{
    event->has = 0;
    event->ph = 0;
    event->fraction = false;
    event->has_args = false;
    event->bad_numbers = 0;
    event->bad_where = NULL;
    const char *start = scan->p;
    enum inq_scan_result result = read_object(scan, event, false);
    if (result != INQ_SCAN_OK) {
        scan->p = start;
    }
    return result;
}

/* ---- finding the thread again ---------------------------------------------------------------- */

/* Keys with which an event or the rest of a document begins. */
static const struct {
    const char *text;
    bool member; /* of the document */
} starts[] = {
    {"ph", false},
    {"cat", false},
    {"name", false},
    {"pid", false},
    {"tid", false},
    {"ts", false},
    {"args", false},
    {"id", false},
    {"traceEvents", true},
    {"traceName", true},
    {"displayTimeUnit", true},
    {"baseTimeNanoseconds", true},
    {"distributedInfo", true},
    {"deviceProperties", true},
    {"schemaVersion", true},
};

/* What the quote at p starts, if anything: a key of the list and a colon. */
static enum inq_scan_start start_at(const char *p, const char *end, bool after_brace)
{
    struct inq_scan scan = {.p = p, .end = end - p > 64 ? p + 64 : end};
    struct inq_text key;
    enum inq_scan_result result = inq_scan_key(&scan, &key);
    if (result == INQ_SCAN_MORE && end - p <= 64) {
        return INQ_START_MORE;
    }
    if (result != INQ_SCAN_OK) {
        return INQ_START_NONE;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strlen(starts[i].text) == key.n && memcmp(starts[i].text, key.p, key.n) == 0 &&
            (starts[i].member || after_brace)) {
            return starts[i].member ? INQ_START_MEMBER : INQ_START_EVENT;
        }
    }
    return INQ_START_NONE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

enum inq_scan_start inq_scan_resync(struct inq_scan *scan, bool last)
{
    const char *brace = NULL; /* nothing but blanks since */
    for (const char *p = scan->p; p < scan->end; p++) {
        if (is_blank(*p)) {
            continue;
        }
        enum inq_scan_start start =
            *p == '"' ? start_at(p, scan->end, brace != NULL) : INQ_START_NONE;
        if (start != INQ_START_NONE && !(start == INQ_START_MORE && last)) {
            scan->p = start == INQ_START_MEMBER || brace == NULL ? p : brace;
            return start;
        }
        brace = *p == '{' ? p : NULL;
    }
    scan->p = brace != NULL && !last && scan->end - brace < 4096 ? brace : scan->end;
    return INQ_START_NONE;
}
