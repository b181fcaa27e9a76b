/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: a streaming writer, and (the only door to cJSON) a reader for small documents. */
#ifndef INQ_BASE_JSON_H
#define INQ_BASE_JSON_H

#include "base/limits.h"
#include "inquest/out.h"

#include <stdbool.h>

/* ---- writer: keys in call order, two-space indent (or none), UTF-8 made valid ---------------- */

struct inq_json {
    struct inq_out *out;
    bool compact;
    int depth;
    bool first[64]; /* per depth: nothing written yet */
};

void inq_json_init(struct inq_json *json, struct inq_out *out, bool compact);
void inq_json_object(struct inq_json *json, const char *key); /* key NULL inside arrays, at top */
void inq_json_array(struct inq_json *json, const char *key);
void inq_json_end_object(struct inq_json *json);
void inq_json_end_array(struct inq_json *json);
void inq_json_string(struct inq_json *json, const char *key, const char *value); /* NULL: null */
void inq_json_int(struct inq_json *json, const char *key, int64_t value);
void inq_json_double(struct inq_json *json, const char *key, double value); /* NaN, inf: null */
/* Nanoseconds as microseconds with three decimals, exactly: 1.234. */
void inq_json_us(struct inq_json *json, const char *key, int64_t ns);
void inq_json_bool(struct inq_json *json, const char *key, bool value);
void inq_json_null(struct inq_json *json, const char *key);

/* ---- reader: documents of at most INQ_JSON_MAX_BYTES; numbers are doubles -------------------- */

struct cJSON;

/* Parses `len` bytes; the tree is the caller's (inq_json_free). Not to be called from a parallel
 * region: cJSON keeps a global error. Fails with INQ_FORMAT (with offset), INQ_LIMIT, INQ_NOMEM. */
int inq_json_parse(const char *text, size_t len, struct cJSON **root, struct inq_err *err);
void inq_json_free(struct cJSON *root);
/* Members and items; NULL when absent or `node` is NULL or of another type. */
const struct cJSON *inq_json_get(const struct cJSON *node, const char *key);
const struct cJSON *inq_json_first(const struct cJSON *node); /* first child of array or object */
const struct cJSON *inq_json_next(const struct cJSON *node);
size_t inq_json_count(const struct cJSON *node);
const char *inq_json_key(const struct cJSON *node); /* of an object's member; "" otherwise */
bool inq_json_is_object(const struct cJSON *node);
const char *inq_json_text(const struct cJSON *node, const char *fallback);
double inq_json_number(const struct cJSON *node, double fallback);
int64_t inq_json_integer(const struct cJSON *node, int64_t fallback);

#endif
