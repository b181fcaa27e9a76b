/* SPDX-License-Identifier: Apache-2.0 */
/* JSON string text to clean UTF-8. */
#include "ingest/scan/scan.h"

#include <string.h>

static const uint32_t REPLACEMENT = 0xfffd;

struct decoder {
    const unsigned char *p, *end;
    char *out;
    size_t n, cap;
    bool cut, bad_utf8;
};

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p, or -1. */
static int32_t hex4(const unsigned char *p, const unsigned char *end)
{
    if (end - p < 4) {
        return -1;
    }
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static void put(struct decoder *d, uint32_t c)
{
    unsigned char bytes[4];
    size_t n;
    if (c < 0x20 || c == 0x7f) {
        c = ' ';
    }
    if (c < 0x80) {
        bytes[0] = (unsigned char)c;
        n = 1;
    } else if (c < 0x800) {
        bytes[0] = (unsigned char)(0xc0 | c >> 6);
        bytes[1] = (unsigned char)(0x80 | (c & 0x3f));
        n = 2;
    } else if (c < 0x10000) {
        bytes[0] = (unsigned char)(0xe0 | c >> 12);
        bytes[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        bytes[2] = (unsigned char)(0x80 | (c & 0x3f));
        n = 3;
    } else {
        bytes[0] = (unsigned char)(0xf0 | c >> 18);
        bytes[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
        bytes[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        bytes[3] = (unsigned char)(0x80 | (c & 0x3f));
        n = 4;
    }
    if (d->n + n > d->cap) {
        d->cut = true;
        return;
    }
    memcpy(d->out + d->n, bytes, n);
    d->n += n;
}

static void put_bad(struct decoder *d)
{
    d->bad_utf8 = true;
    put(d, REPLACEMENT);
}

/* After "\u": one code unit, or a pair of surrogates. */
static void unicode_escape(struct decoder *d)
{
    int32_t unit = hex4(d->p, d->end);
    if (unit < 0) {
        put_bad(d);
        return;
    }
    d->p += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        put(d, (uint32_t)unit);
        return;
    }
    if (unit < 0xdc00 && d->end - d->p >= 6 && d->p[0] == '\\' && d->p[1] == 'u') {
        int32_t low = hex4(d->p + 2, d->end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            d->p += 6;
            put(d, 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
            return;
        }
    }
    put_bad(d);
}

static void escape(struct decoder *d)
{
    unsigned char c = *d->p++;
    switch (c) {
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        put(d, ' ');
        break;
    case 'u':
        unicode_escape(d);
        break;
    default: /* quote, backslash, slash, and what should not have been escaped */
        put(d, c < 0x80 ? c : REPLACEMENT);
        d->bad_utf8 |= c >= 0x80;
        break;
    }
}

/* A character of two to four bytes whose first is at p. */
static void multibyte(struct decoder *d)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = *d->p;
    int n = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    if (n == 1 || first >= 0xf5 || d->end - d->p < n) {
        d->p++;
        put_bad(d);
        return;
    }
    uint32_t c = first & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((d->p[i] & 0xc0) != 0x80) {
            d->p++;
            put_bad(d);
            return;
        }
        c = c << 6 | (d->p[i] & 0x3f);
    }
    d->p += n;
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        put_bad(d);
    } else {
        put(d, c);
    }
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Bytes below `least`, and where those are none, others; never too few. */
static uint64_t below(uint64_t word, unsigned char least)
{
    return (word - EACH(least)) & ~word & EACH(0x80);
}

/* Copies what stays as it is, eight bytes at a time: ASCII without backslashes or controls. */
static void put_plain(struct decoder *d)
{
    while (d->end - d->p >= 8 && d->cap - d->n >= 8) {
        uint64_t word;
        memcpy(&word, d->p, sizeof word);
        if ((word & EACH(0x80)) != 0 || below(word, 0x20) != 0 ||
            below(word ^ EACH(0x7f), 1) != 0 || below(word ^ EACH('\\'), 1) != 0) {
            return;
        }
        memcpy(d->out + d->n, &word, sizeof word);
        d->p += sizeof word;
        d->n += sizeof word;
    }
}

struct inq_scan_decoded inq_scan_decode(struct inq_text text, char *out, size_t cap)
{
    const unsigned char *bytes = (const unsigned char *)text.p;
    struct decoder d = {
        .p = bytes, .end = text.n > 0 ? bytes + text.n : bytes, .out = out, .cap = cap};
    while (d.p < d.end && !d.cut) {
        put_plain(&d);
        if (d.p == d.end) {
            break;
        }
        if (*d.p == '\\' && d.p + 1 < d.end) {
            d.p++;
            escape(&d);
        } else if (*d.p < 0x80) {
            put(&d, *d.p++);
        } else {
            multibyte(&d);
        }
    }
    return (struct inq_scan_decoded){.n = d.n, .cut = d.cut, .bad_utf8 = d.bad_utf8};
}

int inq_scan_name(struct inq_text text, struct inq_strtab *names, uint32_t *id, struct inq_err *err)
{
    char name[INQ_SCAN_MAX_STRING];
    struct inq_scan_decoded decoded = inq_scan_decode(text, name, sizeof name);
    return inq_strtab_add(names, name, decoded.n, id, err);
}
