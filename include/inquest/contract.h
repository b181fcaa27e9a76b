/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON documents hold: every key, declared once. The published JSON Schema and the manual
 * inquest-json(5) are made of it. */
#ifndef INQUEST_CONTRACT_H
#define INQUEST_CONTRACT_H

#include "inquest/error.h"
#include "inquest/out.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, "what it is called", "JSON type"): what a key holds. MAP: an object whose keys are data.
 */
#define INQ_KEY_TYPES(X)                                                                           \
    X(TEXT, "text", "string")                                                                      \
    X(INTEGER, "integer", "integer")                                                               \
    X(NUMBER, "number", "number")                                                                  \
    X(BOOLEAN, "boolean", "boolean")                                                               \
    X(OBJECT, "object", "object")                                                                  \
    X(TEXTS, "array of texts", "string")                                                           \
    X(INTEGERS, "array of integers", "integer")                                                    \
    X(NUMBERS, "array of numbers", "number")                                                       \
    X(OBJECTS, "array of objects", "object")                                                       \
    X(MAP_OF_TEXTS, "texts by name", "string")                                                     \
    X(MAP_OF_INTEGERS, "integers by name", "integer")                                              \
    X(MAP_OF_NUMBERS, "numbers by name", "number")                                                 \
    X(MAP_OF_OBJECTS, "objects by name", "object")

enum inq_key_type {
#define INQ_KEY_ENUM(name, text, json) INQ_KEY_##name,
    INQ_KEY_TYPES(INQ_KEY_ENUM)
#undef INQ_KEY_ENUM
        INQ_KEY_TYPE_COUNT
};

struct inq_key {
    const char *name; /* NULL ends a list */
    enum inq_key_type type;
    bool section;               /* may be {unavailable} instead: it failed alone */
    const char *unit;           /* "ns", "bytes", "1" of a ratio; "" none */
    const char *text;           /* its definition */
    const char *null;           /* what null means; NULL: it is never null */
    const char *null_item;      /* what null means as an item of the array; NULL: none is */
    const char *absent;         /* when it is not there; NULL: it always is */
    const char *words;          /* the only values, "high|low"; NULL: any */
    const struct inq_key *keys; /* of the object or objects */
};

struct inq_contract {
    const char *schema; /* "inquest-report/1" */
    const char *text;   /* which command writes it */
    const struct inq_key *keys;
};

/* The documents in their order; NULL after the last. */
INQ_API const struct inq_contract *inq_contract(size_t i);
/* The one of this name, with or without its number ("inquest-report/1", "report"); NULL: none. */
INQ_API const struct inq_contract *inq_contract_find(const char *name);
INQ_API const char *inq_key_type_text(enum inq_key_type type);
/* What an {unavailable} section holds. */
INQ_API const struct inq_key *inq_contract_unavailable(void);
/* Writes the JSON Schema of a document (draft 2020-12). Fails as the sink does, and with
 * INQ_NOMEM. */
INQ_API int inq_contract_schema(const struct inq_contract *contract, struct inq_sink sink,
                                struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
