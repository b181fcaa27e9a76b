/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Perseus (ml-energy/zeus): one JSON list of the stages of a pipeline, each with its
 * rank, the time of every iteration, and by iteration the durations of data loading and of the
 * forward and backward passes of its micro-batches, in seconds. There are no starts. */
#include "ingest/optable/optable.h"
#include "ingest/optable/place.h"
#include "ingest/ingest.h"
#include "ingest/scan/scan.h"

#include "base/mem.h"
#include "base/time.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A profile is some 20 bytes an op: what is longer is cut. */
#define MAX_TEXT  ((size_t)256 << 20)
#define MAX_ITEMS ((size_t)1 << 24) /* of one list */
#define SECOND    INT64_C(1000000000)
/* The longest duration that is taken for one: a day. Sums of 2^24 of them are no overflow. */
#define MAX_DURATION_NS (INT64_C(86400) * SECOND)

enum part { LOAD, FORWARD, BACKWARD, PARTS };

static const char *const part_names[PARTS] = {"load", "forward", "backward"};

/* The durations of one part: those of iteration i are items[first[i]] up to items[first[i + 1]]. */
struct series {
    int64_t *items;
    size_t n, cap;
    size_t *first;
    size_t n_lists, cap_lists;
};

struct stage {
    int64_t rank; /* -1: not told */
    struct series parts[PARTS];
    struct series times; /* a list of one: of the iterations */
};

struct profile {
    struct inq_shard *shard;
    const struct inq_window *window;
    struct inq_scan scan;
    struct stage *stages;
    size_t n, cap;
};

static void complain(struct profile *profile, enum inq_damage_kind kind, const char *where)
{
    inq_damage_add(&profile->shard->file.damage, kind, 1,
                   inq_window_offset(profile->window, where));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static size_t count_of(const struct series *series, size_t i)
{
    return i < series->n_lists ? series->first[i + 1] - series->first[i] : 0;
}

/* Closes the list whose items were appended last. */
static int end_list(struct series *series, struct inq_err *err)
{
    int code = inq_mem_grow(&series->first, &series->cap_lists, series->n_lists + 2,
                            sizeof *series->first, MAX_ITEMS, err);
    if (code == INQ_OK) {
        series->first[0] = 0;
        series->first[++series->n_lists] = series->n;
    }
    return code;
}

static int append(struct profile *profile, struct series *series, struct inq_text text,
                  struct inq_err *err)
{
    int64_t ns;
    if (!inq_time_parse_decimal(text.p, text.n, SECOND, &ns) || ns < 0 || ns > MAX_DURATION_NS) {
        complain(profile, INQ_DAMAGE_BAD_NUMBER, text.p);
        ns = 0;
    }
    int code = inq_mem_grow(&series->items, &series->cap, series->n + 1, sizeof *series->items,
                            MAX_ITEMS, err);
    if (code == INQ_OK) {
        series->items[series->n++] = ns;
    }
    return code;
}

/* At the bracket of a list of numbers. What stands before a damaged place is no whole list. */
static enum inq_scan_result read_list(struct profile *profile, struct series *series, int *code,
                                      struct inq_err *err)
{
    struct inq_scan *scan = &profile->scan;
    size_t had = series->n;
    int first = 1;
    scan->p++;
    enum inq_scan_result result = inq_scan_element(scan, &first);
    while (result == INQ_SCAN_OK && first != 0 && *code == INQ_OK) {
        struct inq_text text;
        result = inq_scan_bare(scan, &text);
        if (result == INQ_SCAN_OK) {
            *code = append(profile, series, text, err);
            result = inq_scan_element(scan, &first);
        }
    }
    if (result != INQ_SCAN_OK) {
        series->n = had;
    } else if (*code == INQ_OK) {
        *code = end_list(series, err);
    }
    return result;
}

/* At the bracket of a list of such lists, one an iteration. */
static enum inq_scan_result read_lists(struct profile *profile, struct series *series, int *code,
                                       struct inq_err *err)
{
    struct inq_scan *scan = &profile->scan;
    int first = 1;
    scan->p++;
    enum inq_scan_result result = inq_scan_element(scan, &first);
    while (result == INQ_SCAN_OK && first != 0 && *code == INQ_OK) {
        result = first == '[' ? read_list(profile, series, code, err) : inq_scan_skip(scan);
        if (result == INQ_SCAN_OK) {
            result = inq_scan_element(scan, &first);
        }
    }
    return result;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* At the brace of "time_breakdown". */
static enum inq_scan_result read_parts(struct profile *profile, struct stage *stage, int *code,
                                       struct inq_err *err)
{
    struct inq_text key;
    int first = 1;
    profile->scan.p++;
    enum inq_scan_result result = inq_scan_member(&profile->scan, &key, &first);
    while (result == INQ_SCAN_OK && first != 0 && *code == INQ_OK) {
        struct series *series = NULL;
        for (size_t part = 0; part < PARTS; part++) {
            bool is_this = first == '[' && inq_text_is(key, part_names[part]);
            series = is_this && stage->parts[part].n_lists == 0 ? &stage->parts[part] : series;
        }
        result =
            series != NULL ? read_lists(profile, series, code, err) : inq_scan_skip(&profile->scan);
        if (result == INQ_SCAN_OK) {
            result = inq_scan_member(&profile->scan, &key, &first);
        }
    }
    return result;
}

static enum inq_scan_result read_member(struct profile *profile, struct stage *stage,
                                        struct inq_text key, int first, int *code,
                                        struct inq_err *err)
{
    struct inq_text text;
    if (first == '{' && inq_text_is(key, "time_breakdown")) {
        return read_parts(profile, stage, code, err);
    }
    if (first == '[' && inq_text_is(key, "iter_time") && stage->times.n_lists == 0) {
        return read_list(profile, &stage->times, code, err);
    }
    if (first >= '0' && first <= '9' && inq_text_is(key, "rank")) {
        enum inq_scan_result result = inq_scan_bare(&profile->scan, &text);
        if (result == INQ_SCAN_OK &&
            (!inq_scan_int(text.p, text.n, &stage->rank) || stage->rank >= INQ_MAX_RANKS)) {
            complain(profile, INQ_DAMAGE_BAD_NUMBER, text.p);
            stage->rank = -1;
        }
        return result;
    }
    return inq_scan_skip(&profile->scan);
}

/* At the brace of a stage. What could be read of a damaged one stays. */
static enum inq_scan_result read_stage(struct profile *profile, int *code, struct inq_err *err)
{
    *code = inq_mem_grow(&profile->stages, &profile->cap, profile->n + 1, sizeof *profile->stages,
                         INQ_MAX_RANKS, err);
    if (*code != INQ_OK) {
        return INQ_SCAN_OK;
    }
    struct stage *stage = &profile->stages[profile->n++];
    struct inq_text key;
    int first = 1;
    *stage = (struct stage){.rank = -1};
    profile->scan.p++;
    enum inq_scan_result result = inq_scan_member(&profile->scan, &key, &first);
    while (result == INQ_SCAN_OK && first != 0 && *code == INQ_OK) {
        result = read_member(profile, stage, key, first, code, err);
        if (result == INQ_SCAN_OK) {
            result = inq_scan_member(&profile->scan, &key, &first);
        }
    }
    return result;
}

/* From a damaged place to the next stage: an object that begins with its rank. */
static bool find_stage(struct inq_scan *scan, const char *from)
{
    static const char word[] = "\"rank\"";
    const char *found = from;
    while (found < scan->end &&
           (found = memmem(found, (size_t)(scan->end - found), word, sizeof word - 1)) != NULL) {
        const char *brace = found;
        while (brace > from && isspace((unsigned char)brace[-1]) != 0) {
            brace--;
        }
        if (brace > from && brace[-1] == '{') {
            scan->p = brace - 1;
            return true;
        }
        found += sizeof word - 1;
    }
    scan->p = scan->end;
    return false;
}

static int read_document(struct profile *profile, struct inq_err *err)
{
    struct inq_scan *scan = &profile->scan;
    int code = INQ_OK;
    int first = inq_scan_blank(scan);
    if (first != '[') {
        return INQ_OK;
    }
    scan->p++;
    bool more = true;
    while (more && code == INQ_OK) {
        const char *where = scan->p;
        enum inq_scan_result result = inq_scan_element(scan, &first);
        if (result == INQ_SCAN_OK && first != 0) {
            where = scan->p;
            result = first == '{' ? read_stage(profile, &code, err) : inq_scan_skip(scan);
        }
        more = first != 0;
        if (result != INQ_SCAN_OK) {
            bool ended = result == INQ_SCAN_MORE;
            complain(profile, ended ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT,
                     ended ? scan->end : where);
            more = find_stage(scan, scan->p > where ? scan->p : where + 1);
        }
    }
    return code;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Iterations of which every stage that has any told all passes. */
static size_t whole_iterations(const struct profile *profile)
{
    size_t n = SIZE_MAX;
    for (size_t s = 0; s < profile->n; s++) {
        for (size_t part = FORWARD; part < PARTS; part++) {
            size_t own = profile->stages[s].parts[part].n_lists;
            n = own > 0 && own < n ? own : n;
        }
    }
    return n == SIZE_MAX ? 0 : n;
}

static bool is_whole(const struct stage *stage)
{
    return stage->parts[FORWARD].n_lists > 0 && stage->parts[BACKWARD].n_lists > 0;
}

/* How many micro-batches iteration i has. Some lists begin with an entry for the profiler's own
 * start, on all stages: the shortest list counts, that of the loads among them. */
static size_t micro_batches(const struct profile *profile, size_t i)
{
    size_t n = SIZE_MAX;
    for (size_t s = 0; s < profile->n; s++) {
        const struct stage *stage = &profile->stages[s];
        for (size_t part = 0; part < PARTS && is_whole(stage); part++) {
            size_t own = count_of(&stage->parts[part], i);
            n = own < n && (own > 0 || part != LOAD) ? own : n;
        }
    }
    return n == SIZE_MAX ? 0 : n;
}

/* The last `n` of the part's durations in iteration i as ops, `each` of them a micro-batch. */
static int add_part(struct profile *profile, const struct stage *stage, uint32_t worker,
                    enum part part, const size_t where[2], struct inq_err *err)
{
    static const char *const names[PARTS] = {"data-loading", "forward-compute", "backward-compute"};
    static const enum inq_op_type types[PARTS] = {INQ_OP_NONE, INQ_OP_FORWARD, INQ_OP_BACKWARD};
    const struct series *series = &stage->parts[part];
    size_t i = where[0];
    size_t n = where[1];
    size_t count = count_of(series, i);
    size_t each = n > 0 ? count / n : 0; /* the last stage may load twice, its input and targets */
    struct inq_ops_row row = {.role = INQ_ROLE_COMPUTE, .cls = inq_op_class(types[part], "")};
    row.label = (struct inq_label){.type = types[part],
                                   .step = (int32_t)i,
                                   .stage = profile->shard->ranks[worker].stage,
                                   .dp_rank = 0,
                                   .chunk = -1,
                                   .seq = -1};
    int code =
        inq_strtab_add(&profile->shard->names, names[part], strlen(names[part]), &row.name, err);
    profile->shard->file.events += count;
    for (size_t k = count - each * n; k < count && code == INQ_OK; k++) {
        size_t at = k - (count - each * n);
        row.dur_ns = series->items[series->first[i] + k];
        row.label.micro_batch = (int32_t)(at / each);
        code = inq_ops_add(profile->shard, worker, &row, err);
    }
    return code;
}

static int compare_stages(const void *a, const void *b)
{
    const struct stage *x = a;
    const struct stage *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The rank of a stage is its place in the pipeline; one that is there twice counts once. */
static int add_stage(struct profile *profile, size_t s, size_t iterations, struct inq_err *err)
{
    const struct stage *stage = &profile->stages[s];
    uint32_t worker = 0;
    bool again = s > 0 && stage->rank == stage[-1].rank;
    if (again || stage->rank < 0 || !is_whole(stage)) {
        inq_damage_add(&profile->shard->file.damage,
                       again ? INQ_DAMAGE_REPEATED : INQ_DAMAGE_BAD_EVENT, 1, -1);
        return INQ_OK;
    }
    int code = inq_ops_add_worker(profile->shard, &worker, err);
    if (code == INQ_OK) {
        struct inq_rank *rank = &profile->shard->ranks[worker];
        rank->rank = (int32_t)stage->rank;
        rank->stage = (int32_t)stage->rank;
        rank->dp_rank = 0; /* of several replicas one is profiled */
    }
    for (size_t i = 0; i < iterations && code == INQ_OK; i++) {
        const size_t where[2] = {i, micro_batches(profile, i)};
        for (size_t part = 0; part < PARTS && code == INQ_OK; part++) {
            code = add_part(profile, stage, worker, (enum part)part, where, err);
        }
    }
    return code;
}

/* Where each iteration begins: the slowest stage's times, one after the other. */
static int place(struct profile *profile, size_t iterations, struct inq_err *err)
{
    int64_t *origin_ns = inq_mem_zalloc(iterations + 1, sizeof *origin_ns);
    size_t known = iterations;
    if (origin_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t s = 0; s < profile->n; s++) {
        size_t own = count_of(&profile->stages[s].times, 0);
        known = own < known ? own : known;
    }
    for (size_t i = 0; i < known; i++) {
        int64_t longest_ns = 0;
        for (size_t s = 0; s < profile->n; s++) {
            int64_t own_ns = profile->stages[s].times.items[i];
            longest_ns = own_ns > longest_ns ? own_ns : longest_ns;
        }
        origin_ns[i + 1] = origin_ns[i] + longest_ns;
    }
    struct inq_shard *shard = profile->shard;
    int code =
        inq_ops_place(shard, origin_ns, known == iterations ? known : 0, &shard->file.reason, err);
    inq_mem_free(origin_ns);
    return code;
}

static int add_ops(struct profile *profile, struct inq_err *err)
{
    struct inq_shard *shard = profile->shard;
    size_t iterations = whole_iterations(profile);
    int code = INQ_OK;
    if (profile->n > 0) {
        qsort(profile->stages, profile->n, sizeof *profile->stages, compare_stages);
    }
    for (size_t s = 0; s < profile->n && code == INQ_OK; s++) {
        code = add_stage(profile, s, iterations, err);
    }
    size_t told = 0;
    for (size_t i = 0; i < profile->n; i++) {
        told += i == 0 || profile->stages[i].rank != profile->stages[i - 1].rank;
    }
    for (size_t r = 0; r < shard->n_ranks; r++) { /* of a damaged stage the ops are missing */
        shard->ranks[r].world_size = told > shard->n_ranks ? (int32_t)told : -1;
    }
    if (code == INQ_OK && shard->n_ranks > 0) {
        code = place(profile, iterations, err);
    }
    return code;
}

static void release(struct profile *profile)
{
    for (size_t s = 0; s < profile->n; s++) {
        struct stage *stage = &profile->stages[s];
        for (size_t part = 0; part < PARTS; part++) {
            inq_mem_free(stage->parts[part].items);
            inq_mem_free(stage->parts[part].first);
        }
        inq_mem_free(stage->times.items);
        inq_mem_free(stage->times.first);
    }
    inq_mem_free(profile->stages);
}

static int read_perseus(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct inq_window window = {.source = source};
    struct profile profile = {.shard = shard, .window = &window};
    bool cut = false;
    shard->file.format = inq_reader_perseus.name;
    int code = inq_window_all(&window, MAX_TEXT, &cut, err);
    if (code == INQ_OK) {
        profile.scan = (struct inq_scan){.p = window.p, .end = window.end};
        code = read_document(&profile, err);
    }
    if (code == INQ_OK && cut) {
        complain(&profile, INQ_DAMAGE_LIMIT, window.end);
    }
    if (code == INQ_OK) {
        code = add_ops(&profile, err);
    }
    release(&profile);
    inq_window_release(&window);
    return code;
}

static int sniff_perseus(const char *head, size_t n, const char *path)
{
    (void)path;
    struct inq_scan scan = {.p = head, .end = head + n};
    if (inq_scan_blank(&scan) != '[') {
        return 0;
    }
    scan.p++;
    bool list = inq_scan_blank(&scan) == '{';
    bool times = memmem(head, n, "\"iter_time\"", 11) != NULL;
    bool parts = memmem(head, n, "\"time_breakdown\"", 16) != NULL;
    return list && parts ? 90 : list && times ? 80 : 0;
}

const struct inq_reader inq_reader_perseus = {
    .name = "perseus",
    .summary = "profile of Perseus: durations of forward and backward passes by iteration",
    .sniff = sniff_perseus,
    .read = read_perseus,
};
