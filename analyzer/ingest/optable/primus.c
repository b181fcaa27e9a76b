/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline dumps of Primus (Megatron on AMD): one file per pipeline rank, an object of iterations
 * by number, in each the starts and ends of its micro-batches' forward and backward passes (with
 * split backward: of the weight gradients too) in ms since the iteration's begin. Sizes of the job
 * are in config.json beside it. */
#include "ingest/optable/optable.h"
#include "ingest/ingest.h"
#include "ingest/scan/scan.h"

#include "base/mem.h"
#include "base/time.h"

#include <ctype.h>
#include <string.h>

/* A dump is a few KB an iteration: what is longer is cut. */
#define MAX_TEXT  ((size_t)256 << 20)
#define MAX_ITEMS ((size_t)1 << 24) /* of one array */
#define MS        INT64_C(1000000)

/* The passes of a micro-batch, and what is recorded of each. */
enum pass { PASS_FWD, PASS_BWD, PASS_WGRAD, PASS_COUNT };
enum part { PART_START, PART_END, PART_MINIBATCH, PART_CHUNK, PART_COUNT };

static const char *const pass_names[PASS_COUNT] = {"fwd", "bwd", "wgrad"};
static const char *const part_names[PART_COUNT] = {"_start", "_end", "_minibatch", "_chunk"};

struct list {
    int64_t *items; /* INQ_TIME_NONE: not a number */
    size_t n, cap;
};

/* Sizes of the job; 0: not known. */
struct sizes {
    int64_t world, pp, vp, dp;
};

struct dump {
    struct inq_shard *shard;
    const struct inq_window *window;
    struct inq_scan scan;
    struct sizes sizes;
    uint32_t worker;
    struct list lists[PASS_COUNT][PART_COUNT]; /* of the current iteration */
};

static void complain(struct dump *dump, enum inq_damage_kind kind, const char *where)
{
    inq_damage_add(&dump->shard->file.damage, kind, 1, inq_window_offset(dump->window, where));
}

/* ---- config.json ----------------------------------------------------------------------------- */

static void read_size(struct inq_scan *scan, struct inq_text key, struct sizes *sizes)
{
    struct inq_text value;
    int64_t number;
    if (inq_scan_bare(scan, &value) != INQ_SCAN_OK || !inq_scan_int(value.p, value.n, &number) ||
        number < 1 || number > (int64_t)INQ_MAX_RANKS) {
        return;
    }
    if (inq_text_is(key, "world_size")) {
        sizes->world = number;
    } else if (inq_text_is(key, "pp_size")) {
        sizes->pp = number;
    } else if (inq_text_is(key, "dp_size")) {
        sizes->dp = number;
    } else if (inq_text_is(key, "vp_size") || inq_text_is(key, "vpp_size")) {
        sizes->vp = number;
    }
}

static void read_sizes(struct inq_scan *scan, struct sizes *sizes)
{
    struct inq_text key;
    int first = 1;
    if (inq_scan_blank(scan) != '{') {
        return;
    }
    scan->p++;
    while (inq_scan_member(scan, &key, &first) == INQ_SCAN_OK && first != 0) {
        struct inq_scan value = *scan;
        read_size(&value, key, sizes);
        if (inq_scan_skip(scan) != INQ_SCAN_OK) {
            return;
        }
    }
}

/* What the job's description beside the dump says; nothing when there is none. */
static int find_sizes(const char *path, struct sizes *sizes, struct inq_err *err)
{
    struct inq_arena scratch = {0};
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    const char *name = path != NULL ? strrchr(path, '/') : NULL;
    if (path == NULL || path[0] == '\0') {
        return INQ_OK;
    }
    int folder = name != NULL ? (int)(name - path) + 1 : 0;
    char *config = inq_arena_asprintf(&scratch, "%.*sconfig.json", folder, path);
    if (config == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    const char *head = NULL;
    size_t n = 0;
    if (inq_source_open(config, &options, &source, NULL) == INQ_OK &&
        inq_source_peek(source, &head, &n, NULL) == INQ_OK) {
        struct inq_scan scan = {.p = head, .end = head + n};
        read_sizes(&scan, sizes);
    }
    inq_source_close(source);
    inq_arena_release(&scratch);
    return INQ_OK;
}

/* ---- an iteration ---------------------------------------------------------------------------- */

static int append(struct list *list, int64_t item, struct inq_err *err)
{
    int code =
        inq_mem_grow(&list->items, &list->cap, list->n + 1, sizeof *list->items, MAX_ITEMS, err);
    if (code == INQ_OK) {
        list->items[list->n++] = item;
    }
    return code;
}

/* The list that a member's name means, or NULL. */
static struct list *find_list(struct dump *dump, struct inq_text key, int64_t *unit)
{
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        size_t len = strlen(pass_names[pass]);
        if (key.n <= len || memcmp(key.p, pass_names[pass], len) != 0) {
            continue;
        }
        struct inq_text rest = {key.p + len, key.n - (uint32_t)len};
        for (int part = 0; part < PART_COUNT; part++) {
            if (inq_text_is(rest, part_names[part])) {
                *unit = part == PART_START || part == PART_END ? MS : 1;
                return &dump->lists[pass][part];
            }
        }
    }
    return NULL;
}

/* At the bracket of an array of numbers. What stands before a damaged place is kept. */
static enum inq_scan_result read_list(struct dump *dump, struct list *list, int64_t unit, int *code,
                                      struct inq_err *err)
{
    struct inq_scan *scan = &dump->scan;
    struct inq_text text;
    list->n = 0;
    scan->p++;
    int c = inq_scan_blank(scan);
    while (c >= 0 && c != ']') {
        enum inq_scan_result result = inq_scan_bare(scan, &text);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        int64_t item;
        if (!inq_time_parse_decimal(text.p, text.n, unit, &item) || item > INT64_MAX / 4 ||
            item < -(INT64_MAX / 4)) {
            complain(dump, INQ_DAMAGE_BAD_NUMBER, text.p);
            item = INQ_TIME_NONE;
        }
        *code = append(list, item, err);
        c = inq_scan_blank(scan);
        if (*code != INQ_OK || (c != ',' && c != ']' && c >= 0)) {
            return INQ_SCAN_BAD;
        }
        scan->p += c == ',';
        c = inq_scan_blank(scan);
    }
    if (c < 0) {
        return INQ_SCAN_MORE;
    }
    scan->p++;
    return INQ_SCAN_OK;
}

/* Which micro-batch and chunk the i-th pass works on. Recorded, or as Megatron's interleaved
 * schedule runs them: groups of pp micro-batches through one chunk after the other. */
static void place(const struct dump *dump, enum pass pass, size_t i, struct inq_label *label)
{
    const struct list *minibatch = &dump->lists[pass][PART_MINIBATCH];
    const struct list *chunk = &dump->lists[pass][PART_CHUNK];
    int64_t pp = dump->sizes.pp;
    int64_t vp = dump->sizes.vp;
    int64_t k = (int64_t)i;
    int64_t batch = k;
    int64_t at = vp == 1 ? 0 : -1;
    if (pp > 0 && vp > 1) {
        batch = k / (pp * vp) * pp + k % pp;
        at = k / pp % vp;
        at = pass == PASS_FWD ? at : vp - 1 - at;
    }
    if (i < minibatch->n) {
        batch = minibatch->items[i];
    }
    if (i < chunk->n) {
        at = chunk->items[i];
    }
    label->micro_batch = batch >= 0 && batch <= INT32_MAX ? (int32_t)batch : -1;
    label->chunk = at >= 0 && at <= INT32_MAX ? (int32_t)at : -1;
    label->seq = i <= INT32_MAX ? (int32_t)i : -1;
}

static enum inq_op_type type_of(const struct dump *dump, enum pass pass)
{
    bool split = dump->lists[PASS_WGRAD][PART_START].n > 0;
    switch (pass) {
    case PASS_FWD:
        return INQ_OP_FORWARD;
    case PASS_BWD:
        return split ? INQ_OP_BACKWARD_INPUT : INQ_OP_BACKWARD;
    case PASS_WGRAD:
        return INQ_OP_BACKWARD_WEIGHT;
    case PASS_COUNT:
        break;
    }
    return INQ_OP_NONE;
}

static int add_pass(struct dump *dump, enum pass pass, int32_t step, const char *where,
                    struct inq_err *err)
{
    const struct list *starts = &dump->lists[pass][PART_START];
    const struct list *ends = &dump->lists[pass][PART_END];
    const struct inq_rank *rank = &dump->shard->ranks[dump->worker];
    struct inq_ops_row row = {.role = INQ_ROLE_COMPUTE, .cls = INQ_CLASS_COMPUTE};
    row.label.type = type_of(dump, pass);
    row.label.step = step;
    row.label.stage = rank->stage;
    row.label.dp_rank = rank->dp_rank;
    const char *name = inq_op_type_text(row.label.type);
    int code = inq_strtab_add(&dump->shard->names, name, strlen(name), &row.name, err);
    size_t n = starts->n > ends->n ? starts->n : ends->n;
    dump->shard->file.events += n;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (i >= starts->n || i >= ends->n || starts->items[i] == INQ_TIME_NONE ||
            ends->items[i] == INQ_TIME_NONE) {
            complain(dump, INQ_DAMAGE_BAD_EVENT, where);
            continue;
        }
        row.start_ns = starts->items[i];
        row.dur_ns = ends->items[i] - starts->items[i];
        if (row.dur_ns < 0) {
            complain(dump, INQ_DAMAGE_NEGATIVE_DURATION, where);
            row.dur_ns = 0;
        }
        place(dump, pass, i, &row.label);
        code = inq_ops_add(dump->shard, dump->worker, &row, err);
    }
    return code;
}

/* At the brace of an iteration: its lists, then its ops, as many as could be read. */
static enum inq_scan_result read_iteration(struct dump *dump, int32_t step, int *code,
                                           struct inq_err *err)
{
    struct inq_scan *scan = &dump->scan;
    const char *where = scan->p;
    struct inq_text key;
    int first = 1;
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        for (int part = 0; part < PART_COUNT; part++) {
            dump->lists[pass][part].n = 0;
        }
    }
    scan->p++;
    enum inq_scan_result result = inq_scan_member(scan, &key, &first);
    while (result == INQ_SCAN_OK && first != 0 && *code == INQ_OK) {
        int64_t unit = 1;
        struct list *list = first == '[' ? find_list(dump, key, &unit) : NULL;
        result = list != NULL ? read_list(dump, list, unit, code, err) : inq_scan_skip(scan);
        if (result == INQ_SCAN_OK) {
            result = inq_scan_member(scan, &key, &first);
        }
    }
    for (int pass = 0; pass < PASS_COUNT && *code == INQ_OK; pass++) {
        *code = add_pass(dump, (enum pass)pass, step, where, err);
    }
    return result;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* From a damaged place to what looks like the next iteration: a quoted number before an object. */
static bool find_iteration(struct inq_scan *scan, const char *from)
{
    for (const char *p = from; p < scan->end; p++) {
        p = memchr(p, '"', (size_t)(scan->end - p));
        if (p == NULL) {
            break;
        }
        struct inq_scan probe = {.p = p, .end = scan->end};
        struct inq_text key;
        int64_t number;
        if (inq_scan_key(&probe, &key) == INQ_SCAN_OK && key.n > 0 &&
            inq_scan_int(key.p, key.n, &number) && inq_scan_blank(&probe) == '{') {
            scan->p = p;
            return true;
        }
    }
    scan->p = scan->end;
    return false;
}

/* The value of a member of the document: an iteration, or something else. */
static enum inq_scan_result read_member(struct dump *dump, struct inq_text key, int first,
                                        int *code, struct inq_err *err)
{
    int64_t step;
    bool numbered = inq_scan_int(key.p, key.n, &step) && step >= 0 && step <= INT32_MAX;
    return numbered && first == '{' ? read_iteration(dump, (int32_t)step, code, err)
                                    : inq_scan_skip(&dump->scan);
}

static int read_document(struct dump *dump, struct inq_err *err)
{
    struct inq_scan *scan = &dump->scan;
    struct inq_text key;
    int first = 1;
    int code = INQ_OK;
    bool more = inq_scan_blank(scan) == '{';
    scan->p += more;
    while (more && code == INQ_OK) {
        (void)inq_scan_blank(scan);
        const char *where = scan->p;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result == INQ_SCAN_OK && first == 0) {
            break;
        }
        if (result == INQ_SCAN_OK) {
            where = key.p - 1; /* its quote: the search goes on after what could not be read */
            result = read_member(dump, key, first, &code, err);
        }
        if (result == INQ_SCAN_OK || code != INQ_OK) {
            continue;
        }
        if (result == INQ_SCAN_MORE || scan->p == scan->end) {
            complain(dump, INQ_DAMAGE_TRUNCATED, scan->end);
        } else {
            complain(dump, INQ_DAMAGE_BAD_EVENT, where);
        }
        more = find_iteration(scan, where + 1);
    }
    return code;
}

/* The rank of a dump by its stage: stages are world / pp ranks apart. */
static int add_rank(struct dump *dump, struct inq_err *err)
{
    const struct sizes *sizes = &dump->sizes;
    int code = inq_ops_add_worker(dump->shard, &dump->worker, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_rank *rank = &dump->shard->ranks[dump->worker];
    int64_t apart = sizes->world > 0 && sizes->pp > 0 ? sizes->world / sizes->pp : 1;
    const char *path = dump->shard->file.path;
    rank->stage = path != NULL ? inq_rank_from_name(path) : -1;
    rank->dp_rank = 0; /* only the first of each stage writes a dump */
    if (rank->stage >= 0 && apart >= 1 && rank->stage * apart <= (int64_t)INQ_MAX_RANKS) {
        rank->rank = (int32_t)(rank->stage * apart);
    }
    /* of a larger job no dumps are missing */
    rank->world_size = sizes->world == sizes->pp && sizes->pp > 0 ? (int32_t)sizes->pp : -1;
    return INQ_OK;
}

static void release_lists(struct dump *dump)
{
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        for (int part = 0; part < PART_COUNT; part++) {
            inq_mem_free(dump->lists[pass][part].items);
        }
    }
}

static int read_primus(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct inq_window window = {.source = source};
    struct dump dump = {.shard = shard, .window = &window};
    bool cut = false;
    shard->file.format = inq_reader_primus.name;
    int code = inq_window_all(&window, MAX_TEXT, &cut, err);
    if (code == INQ_OK) {
        dump.scan = (struct inq_scan){.p = window.p, .end = window.end};
        code = find_sizes(inq_source_path(source), &dump.sizes, err);
    }
    if (code == INQ_OK && cut) {
        complain(&dump, INQ_DAMAGE_LIMIT, window.end);
    }
    if (code == INQ_OK) {
        code = add_rank(&dump, err);
    }
    if (code == INQ_OK) {
        code = read_document(&dump, err);
    }
    release_lists(&dump);
    inq_window_release(&window);
    return code;
}

static int sniff_primus(const char *head, size_t n, const char *path)
{
    (void)path;
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    if (i == n || head[i] != '{') {
        return 0;
    }
    bool fwd = memmem(head, n, "\"fwd_start\"", 11) != NULL;
    bool iteration =
        memmem(head, n, "\"fwd_end\"", 9) != NULL || memmem(head, n, "\"bwd_start\"", 11) != NULL;
    return fwd && iteration ? 90 : 0;
}

const struct inq_reader inq_reader_primus = {
    .name = "primus",
    .summary = "pipeline dump of Primus: starts and ends of forward and backward passes",
    .sniff = sniff_primus,
    .read = read_primus,
};
