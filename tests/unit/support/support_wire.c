/* SPDX-License-Identifier: Apache-2.0 */
#include "support_wire.h"

#include <string.h>

/* Of bytes that a length stands before; not the reader's own, which is tested with it. */
enum { WIRE_BYTES = 2 };

void put_varint(struct message *m, uint64_t value)
{
    for (; value > 127; value >>= 7) {
        m->bytes[m->n++] = (char)((value & 127) | 128);
    }
    m->bytes[m->n++] = (char)value;
}

void put_number(struct message *m, unsigned field, int64_t value)
{
    put_varint(m, field << 3);
    put_varint(m, (uint64_t)value);
}

void put_bytes(struct message *m, unsigned field, const char *bytes, size_t n)
{
    put_varint(m, field << 3 | WIRE_BYTES);
    put_varint(m, n);
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

void put_text(struct message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

void put_message(struct message *m, unsigned field, const struct message *inner)
{
    put_bytes(m, field, inner->bytes, inner->n);
}
