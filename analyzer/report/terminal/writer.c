/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/writer.h"

#include <string.h>

struct inq_terminal inq_terminal_of(const struct inq_report_options *options, struct inq_out *out)
{
    int width = options->width > 0 ? options->width : INQ_TERMINAL_WIDTH;
    return (struct inq_terminal){out, width, options->color, options->utf8};
}

static const uint32_t REPLACEMENT = 0xfffd;

/* Bytes announced by the first one; 0: cannot start a character. */
static size_t sequence_length(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        return 2;
    }
    if ((first & 0xf0) == 0xe0) {
        return 3;
    }
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

size_t inq_utf8_next(const char *p, size_t left, uint32_t *point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)p;
    size_t len = sequence_length(byte[0]);
    *point = REPLACEMENT;
    if (len == 0 || len > left) {
        return 1;
    }
    uint32_t value = len == 1 ? byte[0] : byte[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 1;
        }
        value = value << 6 | (byte[i] & 0x3fU);
    }
    if (value < smallest[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        return 1;
    }
    *point = value;
    return len;
}

struct span {
    uint32_t first, last;
};

static bool in_spans(uint32_t point, const struct span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (point >= spans[i].first && point <= spans[i].last) {
            return true;
        }
    }
    return false;
}

bool inq_utf8_unsafe(uint32_t point)
{
    static const struct span spans[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x061c, 0x061c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
        {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    return in_spans(point, spans, sizeof spans / sizeof *spans);
}

/* Columns of a safe character: marks that combine take none, East Asian wide ones two. */
static int character_width(uint32_t point)
{
    static const struct span none[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x20d0, 0x20f0},
    };
    static const struct span two[] = {
        {0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3}, {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    if (point < 0x0300) {
        return 1;
    }
    if (in_spans(point, none, sizeof none / sizeof *none)) {
        return 0;
    }
    return in_spans(point, two, sizeof two / sizeof *two) ? 2 : 1;
}

/* One character as it will be written. */
static int shown_width(const struct inq_terminal *terminal, uint32_t point)
{
    if (point < 0x80 || !terminal->utf8 || inq_utf8_unsafe(point)) {
        return 1;
    }
    return character_width(point);
}

static void put(const struct inq_terminal *terminal, const char *p, size_t len, uint32_t point)
{
    if (inq_utf8_unsafe(point) || (point >= 0x80 && !terminal->utf8)) {
        inq_out_bytes(terminal->out, "?", 1);
    } else if (point == REPLACEMENT && len == 1) {
        inq_out_bytes(terminal->out, "\xef\xbf\xbd", 3);
    } else {
        inq_out_bytes(terminal->out, p, len);
    }
}

static int columns_of(const struct inq_terminal *terminal, const char *text, size_t n)
{
    int columns = 0;
    uint32_t point;
    for (size_t i = 0; i < n;) {
        i += inq_utf8_next(text + i, n - i, &point);
        columns += shown_width(terminal, point);
    }
    return columns;
}

int inq_terminal_columns(const struct inq_terminal *terminal, const char *text)
{
    return columns_of(terminal, text, strlen(text));
}

/* Writes characters as long as they fit; returns the columns used. */
static int put_head(const struct inq_terminal *terminal, const char *text, size_t n, int columns)
{
    int used = 0;
    uint32_t point;
    for (size_t i = 0; i < n;) {
        size_t len = inq_utf8_next(text + i, n - i, &point);
        int width = shown_width(terminal, point);
        if (used + width > columns) {
            break;
        }
        put(terminal, text + i, len, point);
        used += width;
        i += len;
    }
    return used;
}

/* Writes the last characters that fit `columns`. */
static int put_tail(const struct inq_terminal *terminal, const char *text, size_t n, int columns)
{
    int left = columns_of(terminal, text, n);
    uint32_t point;
    size_t i = 0;
    while (i < n && left > columns) {
        i += inq_utf8_next(text + i, n - i, &point);
        left -= shown_width(terminal, point);
    }
    return put_head(terminal, text + i, n - i, columns);
}

int inq_terminal_text(const struct inq_terminal *terminal, const char *text, int columns)
{
    enum { GAP = 2, LONGEST = 4096 };
    size_t n = strlen(text);
    if (n > LONGEST) {
        n = LONGEST; /* no line is longer than this; keeps the tail search cheap */
    }
    if (columns_of(terminal, text, n) <= columns) {
        return put_head(terminal, text, n, columns);
    }
    if (columns <= GAP + 2) {
        return put_head(terminal, text, n, columns);
    }
    int tail = (columns - GAP) / 3;
    int used = put_head(terminal, text, n, columns - GAP - tail);
    inq_out_text(terminal->out, "..");
    return used + GAP + put_tail(terminal, text, n, tail);
}

/* Whether the `n` characters at `text` are a unit, with what ends a clause behind it. */
static bool is_unit(const char *text, size_t n)
{
    static const char *const units[] = {"%",  "ns", "us", "ms",  "s",   "B",   "kB",
                                        "MB", "GB", "TB", "KiB", "MiB", "GiB", "UTC"};
    while (n > 0 && strchr(".,;:)", text[n - 1]) != NULL) {
        n--;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == n && strncmp(text, units[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* The length of the next word at `text`. A number and its unit are one: "(18 %)" at the end of a
 * line reads badly when the next one begins with "%)". */
static size_t word_length(const char *text)
{
    size_t len = strcspn(text, " \n");
    if (len > 0 && text[len] == ' ' && text[len - 1] >= '0' && text[len - 1] <= '9') {
        size_t more = strcspn(text + len + 1, " \n");
        len += is_unit(text + len + 1, more) ? 1 + more : 0;
    }
    return len;
}

void inq_terminal_words(const struct inq_terminal *terminal, const char *text, int column,
                        int indent)
{
    bool fresh = true; /* nothing on this line yet */
    while (*text != '\0') {
        size_t len = word_length(text);
        int width = columns_of(terminal, text, len);
        if (!fresh && column + 1 + width > terminal->width) {
            inq_out_printf(terminal->out, "\n%*s", indent, "");
            column = indent;
            fresh = true;
        }
        if (!fresh) {
            inq_out_text(terminal->out, " ");
            column++;
        }
        column += put_head(terminal, text, len, INQ_TERMINAL_NO_LIMIT);
        fresh = fresh && len == 0;
        text += len;
        text += *text != '\0';
    }
}

void inq_terminal_wrap(const struct inq_terminal *terminal, const char *text, int column,
                       int indent)
{
    inq_terminal_words(terminal, text, column, indent);
    inq_out_text(terminal->out, "\n");
}

void inq_terminal_tint(const struct inq_terminal *terminal, enum inq_tint tint)
{
    static const char *const codes[] = {"1", "2", "1;31", "33", "36", "32"};
    if (terminal->color) {
        inq_out_printf(terminal->out, "\033[%sm", codes[tint]);
    }
}

void inq_terminal_plain(const struct inq_terminal *terminal)
{
    if (terminal->color) {
        inq_out_text(terminal->out, "\033[0m");
    }
}

/* ---- markup ---------------------------------------------------------------------------------- */

/* How a character is written; NULL: as it is. XML 1.0 has no control characters at all, not even
 * escaped. */
static const char *entity_of(uint32_t point)
{
    switch (point) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return inq_utf8_unsafe(point) || (point >= 0xfffd && point <= 0xffff) ? "\xef\xbf\xbd"
                                                                              : NULL;
    }
}

void inq_markup_text(struct inq_out *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t point;
        size_t len = inq_utf8_next(text, left, &point);
        const char *as = entity_of(point);
        inq_out_bytes(out, as != NULL ? as : text, as != NULL ? strlen(as) : len);
        text += len;
        left -= len;
    }
}
