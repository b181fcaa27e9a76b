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

static int parse_ranks(struct inq_kineto *k, struct inq_text list, int64_t **out, size_t *n,
                       bool *cut)
{
    size_t cap = 0;
    const char *p = list.p;
    const char *end = list.p + list.n;
    *out = NULL;
    *n = 0;
    *cut = false;
    while (p < end) {
        if (*p == '.') {
            *cut = true;
        }
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        int64_t value = 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++) {
            value = value < INT32_MAX ? value * 10 + (*p - '0') : value;
        }
        if (*n == INQ_MAX_RANKS) {
            *cut = true;
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            return INQ_OK;
        }
        int code = inq_mem_grow(out, &cap, *n + 1, sizeof **out, INQ_MAX_RANKS, k->err);
        if (code != INQ_OK) {
            return code;
        }
        (*out)[(*n)++] = value < INT32_MAX ? value : INT32_MAX;
    }
    return INQ_OK;
}

int inq_kineto_ranks(struct inq_kineto *k, struct inq_text list, struct inq_group_note *note)
{
    int64_t *ranks = NULL;
    size_t n = 0;
    int code = parse_ranks(k, list, &ranks, &n, &note->cut);
    if (code == INQ_OK && n > 0) {
        inq_sort_i64(ranks, n);
        note->ranks = inq_arena_array(&k->shard->arena, n, sizeof *note->ranks);
        if (note->ranks == NULL) {
            code = inq_err_set(k->err, INQ_NOMEM, "out of memory for a process group");
        } else {
            for (size_t i = 0; i < n; i++) {
                note->ranks[i] = (int32_t)ranks[i];
            }
            note->n_ranks = (uint32_t)n;
        }
    }
    inq_mem_free(ranks);
    return code;
}
