/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of protocol buffers. */
#ifndef INQ_TESTS_SUPPORT_WIRE_H
#define INQ_TESTS_SUPPORT_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* All-zero is empty; what does not fit is the caller's fault. */
struct message {
    char bytes[1 << 17];
    size_t n;
};

void put_varint(struct message *m, uint64_t value);
void put_number(struct message *m, unsigned field, int64_t value);
void put_bytes(struct message *m, unsigned field, const char *bytes, size_t n);
void put_text(struct message *m, unsigned field, const char *text);
void put_message(struct message *m, unsigned field, const struct message *inner);

#endif
