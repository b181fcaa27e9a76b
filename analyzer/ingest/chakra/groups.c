/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/chakra/groups.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

struct config {
    struct inq_text name, desc;
    int64_t size; /* -1 not said */
    size_t n, cap;
    int32_t *ranks;
    bool bad; /* a member is no rank */
};

int inq_chakra_group(struct inq_shard *shard, inq_str name, uint32_t *index, struct inq_err *err)
{
    for (size_t g = 0; g < shard->n_groups; g++) {
        if (shard->groups[g].name == name) {
            *index = (uint32_t)g;
            return INQ_OK;
        }
    }
    return inq_shard_add_group(shard, name, 0, -1, NULL, 0, index, err);
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int add_config(struct inq_shard *shard, struct config *config, struct inq_err *err)
{
    char text[256];
    inq_str name = 0;
    uint32_t index = 0;
    struct inq_scan_decoded decoded = inq_scan_decode(config->name, text, sizeof text);
    int code = inq_strtab_add(&shard->names, text, decoded.n, &name, err);
    code = code == INQ_OK ? inq_chakra_group(shard, name, &index, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    struct inq_group *group = &shard->groups[index];
    bool whole =
        config->n > 0 && !config->bad && (config->size < 0 || config->size == (int64_t)config->n);
    decoded = inq_scan_decode(config->desc, text, sizeof text);
    code = inq_strtab_add(&shard->names, text, decoded.n, &group->desc, err);
    if (code == INQ_OK && whole && group->n_ranks == 0) {
        code = inq_sort(config->ranks, config->n, sizeof *config->ranks, by_rank, NULL, err);
        code = code == INQ_OK
                   ? inq_shard_keep_ranks(shard, config->ranks, (uint32_t)config->n, group, err)
                   : code;
    }
    int64_t size = whole ? (int64_t)config->n : config->size;
    if (code == INQ_OK && size > 0 && size <= INQ_MAX_RANKS) {
        group->size = (int32_t)size;
        if (inq_text_is(config->desc, "default_pg")) {
            shard->ranks[0].world_size = group->size;
        }
    }
    return code;
}

/* Behind the opening bracket. */
static enum inq_scan_result scan_ranks(struct inq_scan *scan, struct config *config, int *code,
                                       struct inq_err *err)
{
    for (;;) {
        int c = inq_scan_blank(scan);
        if (c == ',') {
            scan->p++;
            continue;
        }
        if (c == ']' || c < 0) {
            scan->p += c == ']';
            return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
        }
        struct inq_text text = {NULL, 0};
        int64_t rank = -1;
        enum inq_scan_result result = inq_scan_bare(scan, &text);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        bool good = inq_scan_int(text.p, text.n, &rank) && rank >= 0 && rank < INQ_MAX_RANKS;
        config->bad = config->bad || !good;
        *code = good ? inq_mem_grow(&config->ranks, &config->cap, config->n + 1,
                                    sizeof *config->ranks, INQ_MAX_RANKS, err)
                     : INQ_OK;
        if (*code != INQ_OK) {
            return INQ_SCAN_BAD;
        }
        if (good) {
            config->ranks[config->n++] = (int32_t)rank;
        }
    }
}

static enum inq_scan_result scan_value(struct inq_scan *scan, struct inq_text key,
                                       struct config *config, int *code, struct inq_err *err)
{
    struct inq_text text = {NULL, 0};
    int first = inq_scan_blank(scan);
    if (first == '[' && inq_text_is(key, "ranks")) {
        scan->p++;
        return scan_ranks(scan, config, code, err);
    }
    if (first == '{' || first == '[' || first < 0) {
        return first < 0 ? INQ_SCAN_MORE : inq_scan_skip(scan);
    }
    enum inq_scan_result result =
        first == '"' ? inq_scan_string(scan, &text) : inq_scan_bare(scan, &text);
    if (result == INQ_SCAN_OK && inq_text_is(key, "pg_name")) {
        config->name = text;
    } else if (result == INQ_SCAN_OK && inq_text_is(key, "pg_desc")) {
        config->desc = text;
    } else if (result == INQ_SCAN_OK && inq_text_is(key, "group_size") &&
               !inq_scan_int(text.p, text.n, &config->size)) {
        config->size = -1;
    }
    return result;
}

/* At an opening brace. */
static enum inq_scan_result scan_config(struct inq_scan *scan, struct config *config, int *code,
                                        struct inq_err *err)
{
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        int c = inq_scan_blank(scan);
        if (c == ',') {
            scan->p++;
            continue;
        }
        if (c != '"') {
            scan->p += c == '}';
            return c == '}' ? INQ_SCAN_OK : c < 0 ? INQ_SCAN_MORE : INQ_SCAN_BAD;
        }
        enum inq_scan_result result = inq_scan_key(scan, &key);
        if (result == INQ_SCAN_OK) {
            result = scan_value(scan, key, config, code, err);
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static int read_configs(struct inq_shard *shard, struct inq_text values, struct inq_err *err)
{
    struct inq_scan scan = {values.p, values.p + values.n, NULL};
    int code = INQ_OK;
    while (code == INQ_OK) {
        scan.p = memchr(scan.p, '{', (size_t)(scan.end - scan.p));
        if (scan.p == NULL) {
            break;
        }
        struct config config = {.size = -1};
        enum inq_scan_result result = scan_config(&scan, &config, &code, err);
        if (code == INQ_OK && result == INQ_SCAN_OK && config.name.n > 0) {
            code = add_config(shard, &config, err);
        }
        inq_mem_free(config.ranks);
        if (result != INQ_SCAN_OK) {
            break; /* what is left is cut */
        }
    }
    return code;
}

int inq_chakra_read_groups(struct inq_shard *shard, const struct inq_chakra_node *node,
                           struct inq_err *err)
{
    if (!node->escaped || node->values.n == 0) {
        return node->values.n > 0 ? read_configs(shard, node->values, err) : INQ_OK;
    }
    char *text = inq_mem_alloc(node->values.n + INQ_SOURCE_PADDING);
    if (text == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for process groups");
    }
    struct inq_scan_decoded decoded = inq_scan_decode(node->values, text, node->values.n);
    memset(text + decoded.n, 0, INQ_SOURCE_PADDING);
    int code = read_configs(shard, (struct inq_text){text, (uint32_t)decoded.n}, err);
    inq_mem_free(text);
    return code;
}
