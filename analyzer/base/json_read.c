/* SPDX-License-Identifier: Apache-2.0 */
/* The only door to cJSON: small documents. */
#include "base/json.h"

#include <cjson/cJSON.h>

#include <math.h>

int inq_json_parse(const char *text, size_t len, struct cJSON **root, struct inq_err *err)
{
    *root = NULL;
    if (len > INQ_JSON_MAX_BYTES) {
        return inq_err_set(err, INQ_LIMIT, "a document of %zu bytes is too large to be a small one",
                           len);
    }
    const char *end = NULL;
    *root = cJSON_ParseWithLengthOpts(text, len, &end, 0);
    if (*root == NULL) {
        return inq_err_at(err, INQ_FORMAT, NULL, end == NULL ? -1 : (int64_t)(end - text),
                          "not valid JSON");
    }
    return INQ_OK;
}

void inq_json_free(struct cJSON *root)
{
    cJSON_Delete(root);
}

const struct cJSON *inq_json_get(const struct cJSON *node, const char *key)
{
    return cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, key) : NULL;
}

const struct cJSON *inq_json_first(const struct cJSON *node)
{
    return node == NULL ? NULL : node->child;
}

const struct cJSON *inq_json_next(const struct cJSON *node)
{
    return node == NULL ? NULL : node->next;
}

size_t inq_json_count(const struct cJSON *node)
{
    return node == NULL ? 0 : (size_t)cJSON_GetArraySize(node);
}

const char *inq_json_key(const struct cJSON *node)
{
    return node == NULL || node->string == NULL ? "" : node->string;
}

bool inq_json_is_object(const struct cJSON *node)
{
    return cJSON_IsObject(node);
}

const char *inq_json_text(const struct cJSON *node, const char *fallback)
{
    return cJSON_IsString(node) ? node->valuestring : fallback;
}

double inq_json_number(const struct cJSON *node, double fallback)
{
    return cJSON_IsNumber(node) ? node->valuedouble : fallback;
}

int64_t inq_json_integer(const struct cJSON *node, int64_t fallback)
{
    double value = inq_json_number(node, (double)NAN);
    /* the doubles just inside the range of int64 */
    return value >= -9.2e18 && value <= 9.2e18 ? (int64_t)value : fallback;
}
