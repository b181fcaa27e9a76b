/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/wire/wire.h"

static bool fixed(struct inq_wire *wire, size_t n, uint64_t *value)
{
    *value = 0;
    if (inq_wire_len(wire) < n) {
        return false;
    }
    for (size_t i = n; i > 0; i--) {
        *value = *value << 8 | (unsigned char)wire->at[i - 1];
    }
    wire->at += n;
    return true;
}

static bool take_bytes(struct inq_wire *wire, struct inq_wire_field *field)
{
    uint64_t n = 0;
    if (!inq_wire_varint(wire, &n)) {
        return false;
    }
    size_t left = inq_wire_len(wire);
    field->cut = n > left;
    size_t taken = field->cut ? left : (size_t)n;
    field->bytes = inq_wire_of(wire->at, taken);
    wire->at += taken;
    wire->bad = wire->bad || field->cut;
    return true;
}

bool inq_wire_next(struct inq_wire *wire, struct inq_wire_field *field)
{
    uint64_t tag = 0;
    *field = (struct inq_wire_field){0};
    if (wire->bad || wire->at == wire->end || !inq_wire_varint(wire, &tag)) {
        return false;
    }
    bool read = false;
    field->number = tag >> 3 <= UINT32_MAX ? (uint32_t)(tag >> 3) : 0;
    switch (tag & 7) {
    case INQ_WIRE_VARINT:
        field->type = INQ_WIRE_VARINT;
        read = inq_wire_varint(wire, &field->value);
        break;
    case INQ_WIRE_FIXED64:
        field->type = INQ_WIRE_FIXED64;
        read = fixed(wire, sizeof(uint64_t), &field->value);
        break;
    case INQ_WIRE_BYTES:
        field->type = INQ_WIRE_BYTES;
        read = take_bytes(wire, field);
        break;
    case INQ_WIRE_FIXED32:
        field->type = INQ_WIRE_FIXED32;
        read = fixed(wire, sizeof(uint32_t), &field->value);
        break;
    default: /* groups are of an older time */
        break;
    }
    if (!read || field->number == 0) {
        wire->bad = true;
        wire->at = wire->end;
        return false;
    }
    return true;
}
