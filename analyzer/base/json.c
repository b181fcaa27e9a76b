/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming writer, and the reader of small documents: the only door to cJSON. */
#include "base/json.h"

#include <cjson/cJSON.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

void inq_json_init(struct inq_json *json, struct inq_out *out, bool compact)
{
    *json = (struct inq_json){.out = out, .compact = compact};
    json->first[0] = true;
}

/* Length of the valid UTF-8 sequence at `p`, 0 when it is not one. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80                   ? 1
                 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                 : (p[0] & 0xf0) == 0xe0       ? 3
                 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                               : 0;
    if (len <= 1 || len > left) {
        return len > left ? 0 : len;
    }
    uint32_t point = p[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (p[i] & 0x3fU);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < smallest[len] || point > 0x10ffff || surrogate ? 0 : len;
}

/* Writes one character of a string; returns the number of bytes it used up. */
static size_t write_character(struct inq_out *out, const unsigned char *p, size_t left)
{
    static const char *const named = "\b\f\n\r\t\"\\";
    static const char *const letter = "bfnrt\"\\";
    const char *found = p[0] != 0 ? strchr(named, p[0]) : NULL;
    size_t len = utf8_length(p, left);
    if (found != NULL) {
        inq_out_printf(out, "\\%c", letter[found - named]);
    } else if (len == 0) {
        inq_out_text(out, "\xef\xbf\xbd"); /* U+FFFD */
        len = 1;
    } else if (p[0] < 0x20 || p[0] == 0x7f) {
        inq_out_printf(out, "\\u%04x", (unsigned)p[0]);
    } else {
        inq_out_bytes(out, (const char *)p, len);
    }
    return len;
}

static void write_quoted(struct inq_out *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);
    inq_out_bytes(out, "\"", 1);
    while (left > 0) {
        size_t used = write_character(out, p, left);
        p += used;
        left -= used;
    }
    inq_out_bytes(out, "\"", 1);
}

static void new_line(struct inq_json *json)
{
    if (!json->compact) {
        inq_out_printf(json->out, "\n%*s", json->depth * 2, "");
    }
}

/* Comma, line and key in front of a value. */
static void start_value(struct inq_json *json, const char *key)
{
    if (!json->first[json->depth]) {
        inq_out_text(json->out, ",");
    }
    if (json->depth > 0) {
        new_line(json);
    }
    json->first[json->depth] = false;
    if (key != NULL) {
        write_quoted(json->out, key);
        inq_out_text(json->out, json->compact ? ":" : ": ");
    }
}

static void open_scope(struct inq_json *json, const char *key, const char *bracket)
{
    start_value(json, key);
    inq_out_text(json->out, bracket);
    if (json->depth + 1 < MAX_DEPTH) {
        json->depth++;
    }
    json->first[json->depth] = true;
}

static void close_scope(struct inq_json *json, const char *bracket)
{
    bool empty = json->first[json->depth];
    json->depth -= json->depth > 0;
    if (!empty) {
        new_line(json);
    }
    inq_out_text(json->out, bracket);
    if (json->depth == 0) {
        inq_out_text(json->out, "\n");
    }
}

void inq_json_object(struct inq_json *json, const char *key)
{
    open_scope(json, key, "{");
}

void inq_json_array(struct inq_json *json, const char *key)
{
    open_scope(json, key, "[");
}

void inq_json_end_object(struct inq_json *json)
{
    close_scope(json, "}");
}

void inq_json_end_array(struct inq_json *json)
{
    close_scope(json, "]");
}

void inq_json_string(struct inq_json *json, const char *key, const char *value)
{
    start_value(json, key);
    if (value == NULL) {
        inq_out_text(json->out, "null");
    } else {
        write_quoted(json->out, value);
    }
}

void inq_json_int(struct inq_json *json, const char *key, int64_t value)
{
    start_value(json, key);
    inq_out_printf(json->out, "%" PRId64, value);
}

void inq_json_us(struct inq_json *json, const char *key, int64_t ns)
{
    uint64_t whole = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
    start_value(json, key);
    inq_out_printf(json->out, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", whole / 1000,
                   whole % 1000);
}

void inq_json_double(struct inq_json *json, const char *key, double value)
{
    const double large = 1e6; /* a stamp in us has more digits than nine */
    const double largest = 1e15;
    start_value(json, key);
    if (fabs(value) >= large && fabs(value) < largest) {
        inq_out_printf(json->out, value == floor(value) ? "%.0f" : "%.3f", value);
    } else if (isfinite(value)) {
        inq_out_printf(json->out, "%.9g", value);
    } else {
        inq_out_text(json->out, "null");
    }
}

void inq_json_bool(struct inq_json *json, const char *key, bool value)
{
    start_value(json, key);
    inq_out_text(json->out, value ? "true" : "false");
}

void inq_json_null(struct inq_json *json, const char *key)
{
    start_value(json, key);
    inq_out_text(json->out, "null");
}

/* ---- reader ---------------------------------------------------------------------------------- */

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
