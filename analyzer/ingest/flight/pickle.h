/* SPDX-License-Identifier: Apache-2.0 */
/* A safe subset of Python's pickle: builds plain data and nothing else. Opcodes that would import,
 * call or build objects are refused with their byte offset; depth, memo, counts and lengths are
 * bounded; what was complete before a cut is kept. */
#ifndef INQ_INGEST_FLIGHT_PICKLE_H
#define INQ_INGEST_FLIGHT_PICKLE_H

#include "base/arena.h"
#include "inquest/error.h"

#include <stdbool.h>

enum inq_value_type {
    INQ_VALUE_NULL,
    INQ_VALUE_BOOL,
    INQ_VALUE_INT,
    INQ_VALUE_DOUBLE,
    INQ_VALUE_STRING,
    INQ_VALUE_LIST, /* lists and tuples */
    INQ_VALUE_DICT  /* items alternate: key, value, in the order written */
};

/* Values may be shared (a pickle is a DAG): walk by schema, not recursively to the end. */
struct inq_value {
    enum inq_value_type type;
    bool partial; /* the document ended inside this list or dict */
    size_t n;     /* bytes of the string; items of the list; keys and values of the dict */
    union {
        int64_t integer; /* also bool */
        double number;
        const char *text; /* NUL-terminated copy */
        struct inq_value **items;
    } as;
};

struct inq_pickle_limits {
    size_t max_depth;   /* open containers; 0: 64 */
    size_t max_objects; /* 0: 2^26 */
};

/* Decodes `n` bytes of protocols 2 to 5 into values owned by `arena`. On a cut document *root holds
 * everything up to the cut (containers still open are `partial`), *complete is false and INQ_OK is
 * returned; *root is NULL when nothing was built. Fails with INQ_FORMAT or INQ_UNSUPPORTED (refused
 * opcode), both with the byte offset and with what was read before in *root; INQ_LIMIT; INQ_NOMEM.
 */
int inq_pickle_decode(const void *bytes, size_t n, const struct inq_pickle_limits *limits,
                      struct inq_arena *arena, struct inq_value **root, bool *complete,
                      struct inq_err *err);

/* The value of a string key of a dict, or NULL. */
const struct inq_value *inq_value_get(const struct inq_value *dict, const char *key);
/* The i-th item of a list, or NULL. */
const struct inq_value *inq_value_at(const struct inq_value *list, size_t i);
/* Typed access with a fallback for an absent value or another type. */
int64_t inq_value_int(const struct inq_value *value, int64_t fallback);
/* An integer of a dict; some writers quote them. */
int64_t inq_value_integer(const struct inq_value *dict, const char *key, int64_t fallback);
const char *inq_value_text(const struct inq_value *value, const char *fallback);

#endif
