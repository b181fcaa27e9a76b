/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers' wire format, read in place and never past the end: a message is a row of
 * numbered fields. What the numbers mean is the caller's to know. */
#ifndef INQ_INGEST_WIRE_WIRE_H
#define INQ_INGEST_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inq_wire_type {
    INQ_WIRE_VARINT = 0,
    INQ_WIRE_FIXED64 = 1,
    INQ_WIRE_BYTES = 2, /* strings, bytes, messages, packed numbers */
    INQ_WIRE_FIXED32 = 5
};

/* A message or what is left of it. `bad`: it ended in bytes that are no field. */
struct inq_wire {
    const char *at, *end;
    bool bad;
};

struct inq_wire_field {
    uint32_t number;
    enum inq_wire_type type;
    uint64_t value;        /* VARINT, FIXED64, FIXED32 */
    struct inq_wire bytes; /* BYTES: borrowed */
    bool cut;              /* BYTES: said to be longer than the message around it; cut there */
};

static inline struct inq_wire inq_wire_of(const char *bytes, size_t n)
{
    return (struct inq_wire){.at = bytes, .end = bytes + n};
}

static inline size_t inq_wire_len(const struct inq_wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

/* A number takes as many bytes at most: of 64 bits, seven in each. */
enum { INQ_WIRE_MAX_VARINT = 10 };

/* The next of packed numbers; false at the end, or where there is none (then `bad`). */
static inline bool inq_wire_varint(struct inq_wire *wire, uint64_t *value)
{
    uint64_t got = 0;
    const char *p = wire->at;
    for (unsigned i = 0; i < INQ_WIRE_MAX_VARINT && p < wire->end; i++) {
        unsigned char byte = (unsigned char)*p++;
        got |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = got;
            wire->at = p;
            return true;
        }
    }
    wire->bad = wire->bad || wire->at < wire->end;
    wire->at = wire->end;
    return false;
}

/* The next field; false at the end, or where the rest is no field (then `bad`). A field that is cut
 * is the last one, and sets `bad` as well. */
bool inq_wire_next(struct inq_wire *wire, struct inq_wire_field *field);

#endif
