/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a document's members: walked, unquoted, and as numbers, names and lists of ranks. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

static enum inq_scan_result read_value(struct inq_scan *scan, struct inq_text *value)
{
    if (inq_scan_blank(scan) < 0) {
        return INQ_SCAN_MORE;
    }
    const char *start = scan->p;
    enum inq_scan_result result = inq_scan_skip(scan);
    value->p = start;
    value->n = (uint32_t)(scan->p - start);
    return result;
}

struct inq_scan inq_kineto_inside(struct inq_text value)
{
    return (struct inq_scan){.p = value.p + 1, .end = value.p + value.n};
}

int inq_kineto_each_member(struct inq_kineto *k, struct inq_text object, inq_kineto_member_fn fn,
                           void *ctx)
{
    if (object.n < 2 || object.p[0] != '{') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(object);
    while (inq_scan_blank(&scan) == '"') {
        struct inq_text key;
        struct inq_text value;
        if (inq_scan_key(&scan, &key) != INQ_SCAN_OK || read_value(&scan, &value) != INQ_SCAN_OK) {
            break;
        }
        int code = fn(k, ctx, key, value);
        if (code != INQ_OK) {
            return code;
        }
        if (inq_scan_blank(&scan) == ',') {
            scan.p++;
        }
    }
    return INQ_OK;
}

bool inq_kineto_next_element(struct inq_scan *scan, struct inq_text *value)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        c = inq_scan_blank(scan);
    }
    return c >= 0 && c != ']' && read_value(scan, value) == INQ_SCAN_OK && value->n > 0;
}

struct inq_text inq_kineto_unquote(struct inq_text value)
{
    if (value.n < 2 || value.p[0] != '"') {
        return value;
    }
    const char *end = value.p + value.n; /* blanks may follow the closing quote */
    while (end[-1] != '"') {
        end--;
    }
    return (struct inq_text){value.p + 1, (uint32_t)(end - value.p - 2)};
}

int64_t inq_kineto_number(struct inq_text value, int64_t fallback)
{
    struct inq_text text = inq_kineto_unquote(value);
    int64_t number;
    return text.n > 0 && inq_scan_int(text.p, text.n, &number) ? number : fallback;
}

int inq_kineto_text(struct inq_kineto *k, struct inq_text value, inq_str *id)
{
    return inq_kineto_name(k, inq_kineto_unquote(value), -1, id);
}

/* The next number of a list from *p on, at most INT32_MAX; false when there is none. */
static bool next_rank(const char **p, const char *end, int32_t *rank, bool *cut)
{
    const char *at = *p;
    int64_t value = 0;
    while (at < end && (*at < '0' || *at > '9')) {
        *cut = *cut || *at == '.';
        at++;
    }
    bool any = at < end;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        value = value < INT32_MAX ? value * 10 + (*at - '0') : value;
    }
    *p = at;
    *rank = value < INT32_MAX ? (int32_t)value : INT32_MAX;
    return any;
}

/* The ranks of a list that is not in order, or has one twice. */
static int sort_ranks(struct inq_kineto *k, struct inq_text list, bool *cut,
                      struct inq_rank_runs *runs)
{
    int64_t *ranks = NULL;
    size_t cap = 0;
    size_t n = 0;
    int32_t rank;
    int code = INQ_OK;
    const char *p = list.p;
    while (code == INQ_OK && next_rank(&p, list.p + list.n, &rank, cut)) {
        if (n == INQ_MAX_RANKS) {
            *cut = true;
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            break;
        }
        code = inq_mem_grow(&ranks, &cap, n + 1, sizeof *ranks, INQ_MAX_RANKS, k->err);
        if (code == INQ_OK) {
            ranks[n++] = rank;
        }
    }
    n = inq_sort_distinct_i64(ranks, n);
    runs->n = runs->n_ranks = 0;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = inq_rank_runs_add(runs, (int32_t)ranks[i], k->err);
    }
    inq_mem_free(ranks);
    return code;
}

int inq_kineto_ranks(struct inq_kineto *k, struct inq_text list, struct inq_group_note *note)
{
    struct inq_rank_runs runs = {0};
    struct inq_group kept = {0};
    int64_t before = -1;
    int32_t rank;
    bool in_order = true;
    int code = INQ_OK;
    const char *p = list.p;
    note->cut = false;
    while (code == INQ_OK && in_order && next_rank(&p, list.p + list.n, &rank, &note->cut)) {
        if (runs.n_ranks == INQ_MAX_RANKS) {
            note->cut = true;
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            break;
        }
        in_order = rank > before;
        before = rank;
        code = inq_rank_runs_add(&runs, rank, k->err);
    }
    if (code == INQ_OK && !in_order) {
        code = sort_ranks(k, list, &note->cut, &runs);
    }
    if (code == INQ_OK && runs.n_ranks > 0) {
        code = inq_shard_keep_runs(k->shard, &runs, &kept, k->err);
        note->ranks = kept.ranks;
        note->n_ranks = kept.n_ranks;
    }
    inq_mem_free(runs.rows);
    return code;
}
