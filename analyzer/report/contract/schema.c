/* SPDX-License-Identifier: Apache-2.0 */
/* A contract as JSON Schema, draft 2020-12. Unknown keys are allowed: a key may be added under the
 * same number. */
#include "report/contract/contract.h"

#include <string.h>

#define TYPE_TEXT(name, text, json) text,
#define TYPE_JSON(name, text, json) json,

const char *inq_key_type_text(enum inq_key_type type)
{
    static const char *const texts[] = {INQ_KEY_TYPES(TYPE_TEXT)};
    return texts[type];
}

const struct inq_key *inq_contract_unavailable(void)
{
    static const struct inq_key inner[] = {
        INQ_KEY("reason", TEXT, "", "what went wrong"),
        INQ_KEY("next", TEXT, "", "what to do"),
        INQ_KEYS_END,
    };
    static const struct inq_key outer[] = {
        INQ_KEY_OF("unavailable", OBJECT, "the section failed; all others are as if it had not",
                   inner),
        INQ_KEYS_END,
    };
    return outer;
}

void inq_json_document(struct inq_json *json, const struct inq_contract *contract)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "schema", contract->schema);
}

static bool is_array(enum inq_key_type type)
{
    return type == INQ_KEY_TEXTS || type == INQ_KEY_INTEGERS || type == INQ_KEY_NUMBERS ||
           type == INQ_KEY_OBJECTS;
}

static bool is_map(enum inq_key_type type)
{
    return type == INQ_KEY_MAP_OF_TEXTS || type == INQ_KEY_MAP_OF_INTEGERS ||
           type == INQ_KEY_MAP_OF_NUMBERS || type == INQ_KEY_MAP_OF_OBJECTS;
}

static void put_type(struct inq_json *json, const char *type, bool nullable)
{
    if (!nullable) {
        inq_json_string(json, "type", type);
        return;
    }
    inq_json_array(json, "type");
    inq_json_string(json, NULL, type);
    inq_json_string(json, NULL, "null");
    inq_json_end_array(json);
}

static void put_words(struct inq_json *json, const struct inq_key *key)
{
    inq_json_array(json, "enum");
    for (const char *at = key->words; *at != '\0';) {
        char word[64];
        size_t len = strcspn(at, "|");
        if (len > 0 && len < sizeof word) {
            memcpy(word, at, len);
            word[len] = '\0';
            inq_json_string(json, NULL, word);
        }
        at += len + (at[len] == '|');
    }
    if (key->null != NULL) {
        inq_json_null(json, NULL);
    }
    inq_json_end_array(json);
}

/* "properties" and "required" of an object, and of the objects in it: how deep they nest is how
 * deep the tables do. */
static void put_keys(struct inq_json *json, const struct inq_key *keys);

/* What a value is, or the items of an array or a map are. */
static void put_value(struct inq_json *json, const struct inq_key *key, bool nullable)
{
    static const char *const types[] = {INQ_KEY_TYPES(TYPE_JSON)};
    put_type(json, types[key->type], nullable);
    if (key->words != NULL) {
        put_words(json, key);
    }
    if (key->keys != NULL) {
        put_keys(json, key->keys);
    }
}

static void put_shape(struct inq_json *json, const struct inq_key *key)
{
    bool nullable = key->null != NULL;
    if (is_array(key->type) || is_map(key->type)) {
        put_type(json, is_array(key->type) ? "array" : "object", nullable);
        inq_json_object(json, is_array(key->type) ? "items" : "additionalProperties");
        /* JSON has no NaN: numbers by name may be null, where one was not measured */
        put_value(json, key, key->null_item != NULL || key->type == INQ_KEY_MAP_OF_NUMBERS);
        inq_json_end_object(json);
    } else {
        put_value(json, key, nullable);
    }
}

static void put_note(struct inq_json *json, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_json_string(json, name, text);
    }
}

static void put_key(struct inq_json *json, const struct inq_key *key)
{
    inq_json_object(json, key->name);
    inq_json_string(json, "description", key->text);
    put_note(json, "x-unit", key->unit);
    put_note(json, "x-null", key->null != NULL ? key->null : key->null_item);
    put_note(json, "x-absent", key->absent);
    if (key->section) { /* or {unavailable} */
        inq_json_array(json, "anyOf");
        inq_json_object(json, NULL);
        inq_json_string(json, "type", "object");
        put_keys(json, inq_contract_unavailable());
        inq_json_end_object(json);
        if (key->keys != NULL) {
            inq_json_object(json, NULL);
            put_shape(json, key);
            inq_json_end_object(json);
        }
        inq_json_end_array(json);
    } else {
        put_shape(json, key);
    }
    inq_json_end_object(json);
}

static void put_keys(struct inq_json *json, const struct inq_key *keys)
{
    inq_json_object(json, "properties");
    for (const struct inq_key *key = keys; key->name != NULL; key++) {
        put_key(json, key);
    }
    inq_json_end_object(json);
    inq_json_array(json, "required");
    for (const struct inq_key *key = keys; key->name != NULL; key++) {
        if (key->absent == NULL) {
            inq_json_string(json, NULL, key->name);
        }
    }
    inq_json_end_array(json);
}

int inq_contract_schema(const struct inq_contract *contract, struct inq_sink sink,
                        struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_json json;
    inq_json_init(&json, &out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    inq_json_string(&json, "title", contract->schema);
    inq_json_string(&json, "description", contract->text);
    inq_json_string(&json, "type", "object");
    put_keys(&json, contract->keys);
    inq_json_end_object(&json);
    return inq_out_end(&out, INQ_OK, "a schema", err);
}
