/* SPDX-License-Identifier: Apache-2.0 */
/* What rocprofv3 records of a process, as JSON (rocprofiler-sdk's tool, --output-format json):
 * tables of names, agents and kernels, then lists of records by kind. Records are far more than
 * memory should hold, so the document is walked, and one record at a time is read whole. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "ingest/rocprof/rows.h"
#include "ingest/scan/scan.h"

#include <stddef.h>
#include <string.h>

/* ---- places in the document ------------------------------------------------------------------ */

enum section {
    OUTSIDE, /* in front of and behind the document */
    ROOT,
    TOOL,
    PROCESS,
    METADATA,
    AGENTS,
    SYMBOLS,
    STRINGS,
    NAMES,
    MARKERS,
    RECORDS,
    DISPATCHES,
    COPIES,
    CALLS,
    RCCL,
    RANGES,
    OTHER, /* what is passed over */
    N_SECTIONS
};

static const struct {
    const char *key; /* NULL: has none */
    enum section parent;
    char open;
    /* NULL: nothing to be done at its ends; its elements are no records */
    int (*begin)(struct inq_rocprof *, struct inq_err *);
    int (*take)(struct inq_rocprof *, const struct inq_rocprof_record *, struct inq_err *);
    int (*finish)(struct inq_rocprof *, struct inq_err *);
} sections[N_SECTIONS] = {
    [OUTSIDE] = {.parent = OUTSIDE},
    [ROOT] = {.parent = OUTSIDE, .open = '{'},
    [TOOL] = {.key = "rocprofiler-sdk-tool", .parent = ROOT, .open = '['},
    [PROCESS] = {.parent = TOOL,
                 .open = '{',
                 .begin = inq_rocprof_begin,
                 .finish = inq_rocprof_finish},
    [METADATA] = {.key = "metadata", .parent = PROCESS, .open = '{', .take = inq_rocprof_metadata},
    [AGENTS] = {.key = "agents", .parent = PROCESS, .open = '[', .take = inq_rocprof_agent},
    [SYMBOLS] = {.key = "kernel_symbols",
                 .parent = PROCESS,
                 .open = '[',
                 .take = inq_rocprof_symbol},
    [STRINGS] = {.key = "strings", .parent = PROCESS, .open = '{'},
    [NAMES] = {.key = "buffer_records",
               .parent = STRINGS,
               .open = '[',
               .take = inq_rocprof_operations},
    [MARKERS] = {.key = "marker_api", .parent = STRINGS, .open = '[', .take = inq_rocprof_marker},
    [RECORDS] = {.key = "buffer_records", .parent = PROCESS, .open = '{'},
    [DISPATCHES] = {.key = "kernel_dispatch",
                    .parent = RECORDS,
                    .open = '[',
                    .take = inq_rocprof_dispatch},
    [COPIES] = {.key = "memory_copy", .parent = RECORDS, .open = '[', .take = inq_rocprof_copy},
    [CALLS] = {.key = "hip_api", .parent = RECORDS, .open = '[', .take = inq_rocprof_call},
    [RCCL] = {.key = "rccl_api", .parent = RECORDS, .open = '[', .take = inq_rocprof_rccl},
    [RANGES] = {.key = "marker_api", .parent = RECORDS, .open = '[', .take = inq_rocprof_range},
    [OTHER] = {.parent = OUTSIDE},
};

/* Whether the elements of the section are records that are read. */
static bool has_records(enum section section)
{
    return sections[section].take != NULL;
}

/* The section that such a value opens, or OTHER. */
static enum section child_of(enum section section, struct inq_text key, int first)
{
    for (int i = ROOT; i < OTHER; i++) {
        bool named = sections[i].key != NULL ? inq_text_is(key, sections[i].key) : key.p == NULL;
        if (sections[i].parent == section && sections[i].open == first && named) {
            return (enum section)i;
        }
    }
    return OTHER;
}

/* ---- one record ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct inq_rocprof_record, member)

/* By the key of the object they are in, and their own. Texts are of the record itself. */
static const struct {
    const char *in, *key;
    size_t at;
    bool text;
} fields[] = {
    {"", "kind", AT(kind), false},
    {"", "operation", AT(operation), false},
    {"", "thread_id", AT(thread), false},
    {"correlation_id", "internal", AT(correlation), false},
    {"", "start_timestamp", AT(start_ns), false},
    {"", "end_timestamp", AT(end_ns), false},
    {"dispatch_info", "kernel_id", AT(kernel), false},
    {"agent_id", "handle", AT(agent), false},
    {"queue_id", "handle", AT(queue), false},
    {"stream_id", "handle", AT(stream), false},
    {"grid_size", "x", AT(grid[0]), false},
    {"grid_size", "y", AT(grid[1]), false},
    {"grid_size", "z", AT(grid[2]), false},
    {"workgroup_size", "x", AT(block[0]), false},
    {"workgroup_size", "y", AT(block[1]), false},
    {"workgroup_size", "z", AT(block[2]), false},
    {"src_agent_id", "handle", AT(source), false},
    {"dst_agent_id", "handle", AT(target), false},
    {"", "bytes", AT(bytes), false},
    {"id", "handle", AT(handle), false},
    {"", "type", AT(type), false},
    {"", "cu_count", AT(units), false},
    {"", "kernel_id", AT(kernel), false},
    {"", "key", AT(key), false},
    {"", "pid", AT(pid), false},
    {"", "name", AT(name), true},
    {"", "product_name", AT(product), true},
    {"", "formatted_kernel_name", AT(formatted), true},
    {"", "demangled_kernel_name", AT(demangled), true},
    {"", "kernel_name", AT(mangled), true},
    {"", "hostname", AT(host), true},
    {"", "value", AT(value), true},
    {"", "kind", AT(domain), true},
};

enum { N_FIELDS = sizeof fields / sizeof *fields, OPERATIONS = N_FIELDS };

/* The field of such a key, written as text or not; -1: none. */
static int find(const char *in, struct inq_text key, bool text)
{
    for (int i = 0; i < N_FIELDS; i++) {
        if (fields[i].text == text && inq_text_is(key, fields[i].key) &&
            strcmp(fields[i].in, in) == 0) {
            return i;
        }
    }
    return -1;
}

static void take(struct inq_rocprof_record *record, const struct inq_layout_value *value)
{
    void *at = (char *)record + fields[value->field].at;
    if (fields[value->field].text) {
        *(struct inq_text *)at = value->text;
    } else if (!inq_scan_int(value->text.p, value->text.n, (int64_t *)at) || *(int64_t *)at < 0) {
        record->bad_number = true;
        *(int64_t *)at = -1;
    }
}

/* The objects in a record that hold fields: "" is the record itself. */
static const char *entered(struct inq_text key)
{
    static const char *const names[] = {
        "correlation_id", "dispatch_info",  "agent_id",     "queue_id",     "stream_id",
        "grid_size",      "workgroup_size", "src_agent_id", "dst_agent_id", "id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (inq_text_is(key, names[i])) {
            return names[i];
        }
    }
    return NULL;
}

/* The record, dispatch_info in it, an id or a size in that. */
enum { MAX_DEPTH = 4 };

/* At the value of a member. */
static enum inq_scan_result scan_value(struct inq_scan *scan, struct inq_layouts *layouts,
                                       struct inq_rocprof_record *record, const char *in,
                                       struct inq_text key, int first)
{
    bool quoted = first == '"';
    struct inq_layout_value value = {{scan->p, 0}, OPERATIONS};
    enum inq_scan_result result;
    if (first == '{' || first == '[') {
        result = inq_scan_skip(scan);
        if (result == INQ_SCAN_OK && inq_text_is(key, "operations")) {
            value.text.n = (uint32_t)(scan->p - value.text.p);
            record->operations = value.text;
            inq_layouts_note(layouts, &value); /* no scalar: such a record is not learned */
        }
        return result;
    }
    result = quoted ? inq_scan_string(scan, &value.text) : inq_scan_bare(scan, &value.text);
    value.field = find(in, key, quoted);
    if (result == INQ_SCAN_OK && value.field >= 0) {
        inq_layouts_note(layouts, &value);
        take(record, &value);
    }
    return result;
}

static void clear(struct inq_rocprof_record *record)
{
    *record = (struct inq_rocprof_record){0};
    for (size_t i = 0; i < N_FIELDS && !fields[i].text; i++) {
        *(int64_t *)(void *)((char *)record + fields[i].at) = -1;
    }
}

/* Reads the object at whose opening brace the cursor is, key by key, and goes behind it. */
static enum inq_scan_result scan_record(struct inq_scan *scan, struct inq_layouts *layouts,
                                        struct inq_rocprof_record *record)
{
    const char *in[MAX_DEPTH] = {""};
    size_t depth = 1;
    scan->p++;
    while (depth > 0) {
        struct inq_text key = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result == INQ_SCAN_OK && first == 0) {
            depth--;
            continue;
        }
        const char *inner = result == INQ_SCAN_OK && first == '{' ? entered(key) : NULL;
        if (inner != NULL && depth < MAX_DEPTH) {
            in[depth++] = inner;
            scan->p++;
        } else if (result == INQ_SCAN_OK) {
            result = scan_value(scan, layouts, record, in[depth - 1], key, first);
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
    return INQ_SCAN_OK;
}

/* Times are of the host's clock since it was started; one beyond is none. */
#define MAX_TIME_NS (INT64_MAX / 4)
static bool is_timed(const struct inq_rocprof_record *record)
{
    return record->start_ns >= 0 && record->start_ns <= MAX_TIME_NS &&
           record->end_ns >= record->start_ns && record->end_ns <= MAX_TIME_NS;
}

/* Whether the record has what its section's must have. */
static bool is_whole(enum section section, const struct inq_rocprof_record *record)
{
    if (sections[section].parent == RECORDS) {
        bool named = section == DISPATCHES ? record->kernel >= 0
                                           : record->operation >= 0 && record->kind >= 0;
        return named && is_timed(record);
    }
    return section == METADATA  ? true
           : section == AGENTS  ? record->handle >= 0
           : section == SYMBOLS ? record->kernel >= 0
           : section == MARKERS ? record->key >= 0
                                : record->operations.n > 0 || record->domain.n > 0;
}

struct reading {
    struct inq_shard *shard;
    struct inq_window window;
    enum section section;
    enum section back; /* where OTHER was opened */
    size_t depth;      /* of OTHER's own objects and lists */
    uint32_t lists;    /* which of those are lists, a bit each */
    bool lost;         /* a record is looked for */
    bool learn;        /* the record was read key by key */
    struct inq_layouts layouts;
    uint64_t looked; /* bytes that looking has cost */
    struct inq_rocprof process;
};

/* ---- the document ---------------------------------------------------------------------------- */

/* No record is longer: names of kernels have some thousand bytes. What is passed over whole, the
 * program's command line and settings among it, may be longer, and is lost beyond that. */
#define MAX_RECORD ((size_t)1 << 20)
/* Where a record is looked for, it is one of a usual size. */
#define MAX_FOUND ((size_t)1 << 14)
/* And no file makes looking take long: bytes looked at for each that is passed over. */
#define LOOKS 64
/* Of what is passed over: lists in objects in it; what is deeper is passed over whole. */
enum { MAX_OTHER = 8 };

static void damage(struct reading *r, enum inq_damage_kind kind)
{
    inq_damage_add(&r->shard->file.damage, kind, 1, inq_window_offset(&r->window, r->window.p));
}

static int open_section(struct reading *r, enum section section, int first, struct inq_err *err)
{
    if (section == OTHER) {
        r->back = r->section;
        r->depth = 1;
        r->lists = first == '[';
    }
    r->section = section;
    return sections[section].begin != NULL ? sections[section].begin(&r->process, err) : INQ_OK;
}

static bool in_list(const struct reading *r)
{
    return r->section == OTHER ? (r->lists >> (r->depth - 1) & 1) != 0
                               : sections[r->section].open == '[';
}

static int close_section(struct reading *r, struct inq_err *err)
{
    if (r->section == OTHER && --r->depth > 0) {
        return INQ_OK;
    }
    enum section closed = r->section;
    r->section = closed == OTHER ? r->back : sections[closed].parent;
    return sections[closed].finish != NULL ? sections[closed].finish(&r->process, err) : INQ_OK;
}

/* Reads the value at the cursor, or passes over it. In a section that is no list a scalar is read
 * as the only member of a record. */
static enum inq_scan_result scan_one(struct reading *r, struct inq_scan *scan, struct inq_text key,
                                     int first, struct inq_rocprof_record *record)
{
    struct inq_layouts *layouts = &r->layouts;
    int tag = 0;
    clear(record);
    r->learn = false;
    if (!has_records(r->section)) {
        return inq_scan_skip(scan);
    }
    if (first == '{' && inq_layouts_match(layouts, &scan->p, scan->end, &tag)) {
        for (size_t i = 0; i < layouts->n_values; i++) {
            take(record, &layouts->values[i]);
        }
        return INQ_SCAN_OK;
    }
    r->learn = first == '{';
    inq_layouts_begin(layouts);
    return first == '{' ? scan_record(scan, layouts, record)
                        : scan_value(scan, layouts, record, "", key, first);
}

static int take_value(struct reading *r, const struct inq_rocprof_record *record,
                      struct inq_err *err)
{
    if (!has_records(r->section)) {
        return INQ_OK;
    }
    if (!is_whole(r->section, record)) {
        damage(r, INQ_DAMAGE_BAD_EVENT);
        return INQ_OK;
    }
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_NUMBER, record->bad_number,
                   inq_window_offset(&r->window, r->window.p));
    r->shard->file.events += sections[r->section].parent == RECORDS;
    return sections[r->section].take(&r->process, record, err);
}

/* Whether the value is gone into rather than read: sections, and what is passed over piece by
 * piece. */
static bool is_entered(const struct reading *r, enum section child, int first)
{
    bool container = first == '{' || first == '[';
    bool other = r->section == OTHER
                     ? r->depth < MAX_OTHER
                     : r->section == PROCESS || r->section == STRINGS || r->section == RECORDS;
    return container && (child != OTHER || other);
}

/* What is to be done with the result of scanning a value or a key of which so much is there. */
static int settle(struct reading *r, enum inq_scan_result result, struct inq_err *err)
{
    size_t have = (size_t)(r->window.end - r->window.p);
    if (result == INQ_SCAN_MORE && !r->window.ended && have < MAX_RECORD) {
        return inq_window_more(&r->window, have < 256 ? 256 : have, err);
    }
    if (result == INQ_SCAN_MORE && r->window.ended) {
        damage(r, INQ_DAMAGE_TRUNCATED);
        r->window.p = r->window.end;
        return INQ_OK;
    }
    damage(r, result == INQ_SCAN_MORE ? INQ_DAMAGE_LIMIT : INQ_DAMAGE_BAD_EVENT);
    r->lost = true;
    r->window.p++;
    return INQ_OK;
}

static int step(struct reading *r, struct inq_err *err)
{
    struct inq_scan scan = {r->window.p, r->window.end, NULL};
    struct inq_text key = {NULL, 0};
    struct inq_rocprof_record record;
    int first = (unsigned char)*r->window.p;
    bool list = in_list(r);
    if (r->section != OUTSIDE && first == (list ? ']' : '}')) {
        r->window.p++;
        return close_section(r, err);
    }
    if (!list && r->section != OUTSIDE) {
        enum inq_scan_result result = first == '"' ? inq_scan_key(&scan, &key) : INQ_SCAN_BAD;
        first = result == INQ_SCAN_OK ? inq_scan_blank(&scan) : -1;
        if (first < 0) {
            return settle(r, result == INQ_SCAN_OK ? INQ_SCAN_MORE : result, err);
        }
    }
    enum section child = child_of(r->section, key, first);
    if (is_entered(r, child, first)) {
        r->window.p += scan.p + 1 - r->window.p;
        if (r->section == OTHER) {
            r->lists = (r->lists & ~(1u << r->depth)) | (uint32_t)(first == '[') << r->depth;
            r->depth++;
            return INQ_OK;
        }
        return open_section(r, child, first, err);
    }
    const char *value = scan.p;
    enum inq_scan_result result = scan_one(r, &scan, key, first, &record);
    if (result != INQ_SCAN_OK) {
        return settle(r, result, err);
    }
    int code = r->learn ? inq_layouts_learn(&r->layouts, value, scan.p, 0, err) : INQ_OK;
    code = code == INQ_OK ? take_value(r, &record, err) : code;
    r->window.p += scan.p - r->window.p;
    return code;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The section of a process that a key and a bracket in the text open, or OUTSIDE. */
static enum section section_at(const char *at, const char *end)
{
    struct inq_scan scan = {at, end, NULL};
    struct inq_text key = {NULL, 0};
    if (inq_scan_key(&scan, &key) != INQ_SCAN_OK) {
        return OUTSIDE;
    }
    int first = inq_scan_blank(&scan);
    static const enum section parents[] = {PROCESS, RECORDS, STRINGS};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        enum section child = child_of(parents[i], key, first);
        if (child != OTHER && key.n > 0) {
            return child;
        }
    }
    return OUTSIDE;
}

/* Whether the search may go on at the cursor's byte: a record of the section that was lost, or the
 * beginning of another. */
static bool is_found(struct reading *r, const char *at, const char *end)
{
    struct inq_rocprof_record record;
    struct inq_scan scan = {at, end, NULL};
    if (*at == '"' && r->section > TOOL) {
        enum section section = section_at(at, end);
        r->section = section != OUTSIDE ? sections[section].parent : r->section;
        return section != OUTSIDE;
    }
    if (*at != '{' || !has_records(r->section)) {
        return false;
    }
    clear(&record);
    inq_layouts_begin(&r->layouts);
    bool good =
        scan_record(&scan, &r->layouts, &record) == INQ_SCAN_OK && is_whole(r->section, &record);
    r->looked += (uint64_t)(scan.p - at);
    return good;
}

static int look(struct reading *r, struct inq_err *err)
{
    struct inq_window *w = &r->window;
    int64_t from = inq_window_offset(w, w->p);
    size_t have = (size_t)(w->end - w->p);
    int code = have < 2 * MAX_FOUND ? inq_window_more(w, 2 * MAX_FOUND - have, err) : INQ_OK;
    if (code != INQ_OK) {
        return code;
    }
    have = (size_t)(w->end - w->p);
    const char *stop = w->p + (w->ended ? have : have - MAX_FOUND);
    while (w->p < stop && r->lost) {
        size_t left = (size_t)(w->end - w->p);
        bool may = r->looked <= LOOKS * (uint64_t)inq_window_offset(w, w->p);
        r->lost = !may || !is_found(r, w->p, w->p + (left < MAX_FOUND ? left : MAX_FOUND));
        w->p += r->lost;
    }
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_GARBAGE,
                   (uint64_t)(inq_window_offset(w, w->p) - from), from);
    return INQ_OK;
}

static int read_document(struct reading *r, struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK) {
        struct inq_window *w = &r->window;
        while (w->p < w->end && !r->lost && *w->p != '\0' && strchr(" \t\r\n,", *w->p) != NULL) {
            w->p++;
        }
        if (w->p < w->end) {
            code = r->lost ? look(r, err) : step(r, err);
        } else if (!w->ended) {
            code = inq_window_more(w, 1, err);
        } else {
            break;
        }
    }
    if (code == INQ_OK && r->section != OUTSIDE &&
        r->shard->file.damage.count[INQ_DAMAGE_TRUNCATED] == 0) {
        damage(r, INQ_DAMAGE_TRUNCATED);
    }
    while (r->section != OUTSIDE) { /* also after a failure: a process is to be finished */
        int closed = close_section(r, err);
        code = code == INQ_OK ? closed : code;
    }
    return code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* What of the process was not recorded. */
static void say_what_is_missing(struct inq_shard *shard)
{
    size_t events = 0;
    size_t calls = 0;
    for (size_t i = 0; i < shard->n_ranks; i++) {
        events += shard->ranks[i].events.n;
        calls += shard->ranks[i].calls.n;
    }
    shard->file.reason = events == 0  ? "no device work recognized: rocprofv3 records it with "
                                        "--kernel-trace"
                         : calls == 0 ? "no launches: rocprofv3 records them with "
                                        "--hip-runtime-trace"
                                      : "";
}

static int read_rocprof(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct reading *r = inq_mem_zalloc(1, sizeof *r);
    if (r == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    r->shard = r->process.shard = shard;
    shard->file.format = inq_reader_rocprof.name;
    int code = inq_window_init(&r->window, source, err);
    code = code == INQ_OK ? read_document(r, err) : code;
    if (code == INQ_OK) {
        say_what_is_missing(shard);
    }
    inq_window_release(&r->window);
    inq_layouts_release(&r->layouts);
    inq_mem_free(r);
    return code;
}

static int sniff_rocprof(const char *head, size_t n, const char *path)
{
    (void)path;
    struct inq_scan scan = {head, head + n, NULL};
    static const char key[] = "\"rocprofiler-sdk-tool\"";
    return inq_scan_blank(&scan) == '{' && memmem(head, n, key, sizeof key - 1) != NULL ? 97 : 0;
}

const struct inq_reader inq_reader_rocprof = {
    .name = INQ_ROCPROF_FORMAT,
    .summary = "rocprofv3 (ROCm), JSON: kernels, copies, launches, RCCL's calls, markers",
    .sniff = sniff_rocprof,
    .read = read_rocprof,
    .join = inq_rocprof_join,
};
