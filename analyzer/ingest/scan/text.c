/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, numbers and values of JSON text in memory. */
#include "ingest/scan/scan.h"

#include "base/digits.h"
#include "base/time.h"

#include <string.h>

enum { BARE = 1 };

/* What a byte can be part of. */
static const unsigned char byte_class[256] = {
    ['0'] = BARE, ['1'] = BARE, ['2'] = BARE, ['3'] = BARE, ['4'] = BARE, ['5'] = BARE,
    ['6'] = BARE, ['7'] = BARE, ['8'] = BARE, ['9'] = BARE, ['+'] = BARE, ['-'] = BARE,
    ['.'] = BARE, ['_'] = BARE, ['a'] = BARE, ['b'] = BARE, ['c'] = BARE, ['d'] = BARE,
    ['e'] = BARE, ['f'] = BARE, ['g'] = BARE, ['h'] = BARE, ['i'] = BARE, ['j'] = BARE,
    ['k'] = BARE, ['l'] = BARE, ['m'] = BARE, ['n'] = BARE, ['o'] = BARE, ['p'] = BARE,
    ['q'] = BARE, ['r'] = BARE, ['s'] = BARE, ['t'] = BARE, ['u'] = BARE, ['v'] = BARE,
    ['w'] = BARE, ['x'] = BARE, ['y'] = BARE, ['z'] = BARE, ['A'] = BARE, ['B'] = BARE,
    ['C'] = BARE, ['D'] = BARE, ['E'] = BARE, ['F'] = BARE, ['G'] = BARE, ['H'] = BARE,
    ['I'] = BARE, ['J'] = BARE, ['K'] = BARE, ['L'] = BARE, ['M'] = BARE, ['N'] = BARE,
    ['O'] = BARE, ['P'] = BARE, ['Q'] = BARE, ['R'] = BARE, ['S'] = BARE, ['T'] = BARE,
    ['U'] = BARE, ['V'] = BARE, ['W'] = BARE, ['X'] = BARE, ['Y'] = BARE, ['Z'] = BARE,
};

static unsigned char class_of(char c)
{
    return byte_class[(unsigned char)c];
}

static enum inq_scan_result bad_at(struct inq_scan *scan, const char *resync)
{
    scan->resync = resync;
    return INQ_SCAN_BAD;
}

enum inq_scan_result inq_scan_member(struct inq_scan *scan, struct inq_text *key, int *first)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        c = inq_scan_blank(scan);
    }
    *first = 0;
    if (c == '}') {
        scan->p++;
        return INQ_SCAN_OK;
    }
    if (c != '"') {
        return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_BAD;
    }
    enum inq_scan_result result = inq_scan_key(scan, key);
    if (result == INQ_SCAN_OK) {
        *first = inq_scan_blank(scan);
        result = *first < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
    }
    return result;
}

enum inq_scan_result inq_scan_element(struct inq_scan *scan, int *first)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        c = inq_scan_blank(scan);
    }
    *first = c == ']' ? 0 : c;
    scan->p += c == ']';
    return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
}

/* Moves to the next unescaped quote; false when there is none before the end. */
static bool find_quote(struct inq_scan *scan)
{
    if (scan->p < scan->end && *scan->p == '"') { /* empty, as most strings of lists are */
        return true;
    }
    for (;;) {
        const char *quote = memchr(scan->p, '"', (size_t)(scan->end - scan->p));
        if (quote == NULL) {
            return false;
        }
        const char *before = quote;
        while (before > scan->p && before[-1] == '\\') {
            before--;
        }
        scan->p = quote;
        if ((quote - before) % 2 == 0) {
            return true;
        }
        scan->p = quote + 1; /* an escaped quote: what is before it holds no half escape */
    }
}

/* Reads a string whose closing quote is followed by what ends a value, or, if it may be a key, by a
 * colon. `resync` is set behind the opening quote, because a string that lost its end swallows the
 * start of what follows it. */
static enum inq_scan_result read_string(struct inq_scan *scan, bool may_be_key,
                                        struct inq_text *text)
{
    const char *start = ++scan->p;
    for (;;) {
        if (!find_quote(scan)) {
            return INQ_SCAN_MORE;
        }
        const char *quote = scan->p++;
        int after = inq_scan_blank(scan);
        if (after < 0) {
            return INQ_SCAN_MORE;
        }
        if (after == ',' || after == ']' || after == '}' || (after == ':' && may_be_key)) {
            text->p = start;
            text->n = (uint32_t)(quote - start);
            return INQ_SCAN_OK;
        }
        if (after == ':') {
            return bad_at(scan, start);
        }
        scan->p = quote + 1;
    }
}

enum inq_scan_result inq_scan_key(struct inq_scan *scan, struct inq_text *key)
{
    const char *start = scan->p + 1;
    scan->p++;
    if (!find_quote(scan)) {
        return INQ_SCAN_MORE;
    }
    key->p = start;
    key->n = (uint32_t)(scan->p - start < UINT16_MAX ? scan->p - start : UINT16_MAX);
    scan->p++;
    int after = inq_scan_blank(scan);
    if (after < 0) {
        return INQ_SCAN_MORE;
    }
    if (after != ':') {
        return bad_at(scan, start);
    }
    scan->p++;
    return INQ_SCAN_OK;
}

enum inq_scan_result inq_scan_string(struct inq_scan *scan, struct inq_text *text)
{
    return read_string(scan, false, text);
}

enum inq_scan_result inq_scan_bare(struct inq_scan *scan, struct inq_text *text)
{
    const char *start = scan->p;
    while (scan->p < scan->end && (class_of(*scan->p) & BARE)) {
        scan->p++;
    }
    if (scan->p == scan->end) {
        return INQ_SCAN_MORE;
    }
    if (scan->p == start || scan->p - start > 400) {
        return bad_at(scan, start);
    }
    text->p = start;
    text->n = (uint32_t)(scan->p - start);
    return INQ_SCAN_OK;
}

/* ---- skipping -------------------------------------------------------------------------------- */

/* Which brackets are open: one bit each, set for objects. */
struct nesting {
    int depth;
    uint64_t object[INQ_SCAN_MAX_DEPTH / 64];
};

static bool in_object(const struct nesting *nesting)
{
    int top = nesting->depth - 1;
    return (nesting->object[top / 64] >> (top % 64) & 1) != 0;
}

static bool open_bracket(struct nesting *nesting, bool object)
{
    int at = nesting->depth++;
    if (at >= INQ_SCAN_MAX_DEPTH) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << (at % 64);
    if (object) {
        nesting->object[at / 64] |= bit;
    } else {
        nesting->object[at / 64] &= ~bit;
    }
    return true;
}

static bool close_bracket(struct nesting *nesting, bool object)
{
    if (nesting->depth == 0 || in_object(nesting) != object) {
        return false;
    }
    nesting->depth--;
    return true;
}

static enum inq_scan_result skip_one(struct inq_scan *scan, struct nesting *nesting)
{
    int c = inq_scan_blank(scan);
    struct inq_text text;
    bool good = true;
    switch (c) {
    case -1:
        return INQ_SCAN_MORE;
    case '"':
        return read_string(scan, nesting->depth > 0 && in_object(nesting), &text);
    case '{':
    case '[':
        good = open_bracket(nesting, c == '{');
        break;
    case '}':
    case ']':
        good = close_bracket(nesting, c == '}');
        break;
    case ',':
        good = nesting->depth > 0;
        break;
    case ':':
        good = nesting->depth > 0 && in_object(nesting);
        break;
    default:
        return inq_scan_bare(scan, &text);
    }
    if (!good) {
        return bad_at(scan, scan->p);
    }
    scan->p++;
    return INQ_SCAN_OK;
}

/* The highest bit of each byte of `word` that is not `c`; all bytes are below 0x80. */
static uint64_t differs(uint64_t word, unsigned char c)
{
    return (word ^ UINT64_C(0x0101010101010101) * c) + UINT64_C(0x7f7f7f7f7f7f7f7f);
}

/* Whole blocks of a list of small numbers: the ranks of the world fill 90 KB in each of 16,384
 * files, and are passed over once for every object around them. A comma in each block keeps the
 * numbers about as short as inq_scan_bare takes them. */
static void skip_numbers(struct inq_scan *scan)
{
    enum { WORDS = 4 };
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t word[WORDS];
    while ((size_t)(scan->end - scan->p) > sizeof word) {
        uint64_t others = 0;
        uint64_t no_comma = high;
        memcpy(word, scan->p, sizeof word);
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t low = word[i] & ~high;
            uint64_t no_digit = (low ^ UINT64_C(0x3030303030303030)) + UINT64_C(0x7676767676767676);
            uint64_t comma = differs(low, ',');
            others |= (no_digit & comma & differs(low, ' ')) | word[i];
            no_comma &= comma;
        }
        if ((others & high) != 0 || (no_comma & high) == high) {
            return;
        }
        scan->p += sizeof word;
    }
}

/* Whether a number comes next, maybe behind a blank. */
static bool starts_number(const struct inq_scan *scan)
{
    const char *p = scan->p;
    if (scan->end - p < 2) {
        return false;
    }
    p += *p == ' ';
    return *p >= '0' && *p <= '9';
}

enum inq_scan_result inq_scan_skip(struct inq_scan *scan)
{
    struct nesting nesting = {0};
    enum inq_scan_result result = skip_one(scan, &nesting);
    while (result == INQ_SCAN_OK && nesting.depth > 0) {
        if (!in_object(&nesting) && starts_number(scan)) {
            skip_numbers(scan);
        }
        result = skip_one(scan, &nesting);
    }
    return result;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool inq_scan_int(const char *p, size_t n, int64_t *value)
{
    size_t i = n > 0 && p[0] == '-';
    if (n - i > 0 && n - i <= 19) { /* ns since 1970: 19 digits */
        uint64_t sum = 0;
        const char *at = p + i;
        (void)inq_digits_read(&at, p + n, &sum);
        if (at == p + n && sum <= INT64_MAX) {
            *value = i ? -(int64_t)sum : (int64_t)sum;
            return true;
        }
    }
    return inq_time_parse_decimal(p, n, 1, value);
}

bool inq_scan_time(const char *p, size_t n, int64_t *ns, bool *fraction)
{
    uint64_t sum = 0;
    const char *stop = p;
    size_t at = inq_digits_read(&stop, p + (n < 16 ? n : 16), &sum); /* since 1970: 16 digits */
    if (at == n && n > 0 && sum < INT64_MAX / 1000) {                /* whole microseconds */
        *ns = (int64_t)(sum * 1000);
        *fraction = false;
        return true;
    }
    *fraction = (at < n && p[at] == '.') || memchr(p, '.', n) != NULL ||
                memchr(p, 'e', n) != NULL || memchr(p, 'E', n) != NULL;
    return inq_time_parse_decimal(p, n, 1000, ns);
}
