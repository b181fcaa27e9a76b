/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping, and tables. */
#include "report/render/markdown/markdown.h"

#include <ctype.h>
#include <string.h>

/* A name is cut in the middle; prose has as many lines as it needs. */
enum { CELL_COLUMNS = 80, PROSE_COLUMNS = 2000 };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool ends_word(char c)
{
    return c == ' ' || c == '\0';
}

/* Whether text[i] is a '.' that makes a number at the start a list item. */
static bool ends_item_number(const char *text, size_t i)
{
    return i > 0 && strspn(text, "0123456789") == i && ends_word(text[i + 1]);
}

/* Whether an emoji's code stands behind the ':' at `text`; no code is a bare number of two digits,
 * as times have them. */
static bool is_emoji_code(const char *text)
{
    size_t n = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789_+-");
    return n > 0 && text[1 + n] == ':' && (n != 2 || strspn(text + 1, "0123456789") < n);
}

/* Whether the character at `i` could be read as mark-up. */
static bool is_markup(const char *text, size_t i)
{
    char c = text[i];
    char next = text[i + 1];
    switch (c) {
    case '_': /* inside a word it is none */
        return i == 0 || !is_word(text[i - 1]) || !is_word(next);
    case '.': /* a bare web address */
        return (i >= 3 && strncmp(text + i - 3, "www", 3) == 0) || ends_item_number(text, i);
    case ':':
        return next == '/' || is_emoji_code(text + i);
    case '!':
    case '%':
        return next == '[' || next == '"' || is_word(next);
    case '-': /* an item, a rule or a line under a heading; a number is none of them */
    case '+':
        return i == 0 && (ends_word(next) || next == c);
    case '=':
    case '#':
        return i == 0;
    default:
        return c != '\0' && strchr("\\`*{}[]|~$", c) != NULL;
    }
}

/* Nobody is to be notified, no other ticket to be linked. */
static bool is_reference(const char *text, size_t i)
{
    return text[i] == '@' || (text[i] == '#' && is_word(text[i + 1]));
}

static void escape(struct inq_out *out, const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == '<') {
            inq_out_text(out, "&lt;");
        } else if (text[i] == '>') {
            inq_out_text(out, "&gt;");
        } else if (text[i] == '&') {
            inq_out_text(out, "&amp;");
        } else {
            if (is_markup(text, i)) {
                inq_out_text(out, "\\");
            }
            inq_out_bytes(out, text + i, 1);
            if (is_reference(text, i)) {
                inq_out_text(out, "&#8203;");
            }
        }
    }
}

void inq_markdown_text(struct inq_out *out, const char *text, int columns)
{
    struct inq_out safe = {0};
    struct inq_terminal terminal = {.out = &safe, .width = columns, .utf8 = true};
    (void)inq_terminal_text(&terminal, text, columns);
    if (safe.code != INQ_OK) {
        out->code = safe.code;
    } else if (safe.len > 0) {
        escape(out, safe.buf);
    }
    inq_out_release(&safe);
}

static void write_bar(struct inq_out *out, const char *bar)
{
    static const char *const blocks[] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92",
                                         "\xe2\x96\x91"};
    static const char marks[] = "#=-.";
    for (; *bar != '\0'; bar++) {
        const char *found = strchr(marks, *bar);
        inq_out_text(out, found != NULL ? blocks[found - marks] : " ");
    }
}

/* Whether nothing in it can end the code or the cell. */
static bool is_code(const char *text)
{
    static const char safe[] = "0123456789abcdefghijklmnopqrstuvwxyz.~ -";
    return text[0] != '\0' && text[strspn(text, safe)] == '\0';
}

void inq_markdown_table(struct inq_out *out, const struct inq_table *table)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        inq_out_text(out, "| ");
        inq_markdown_text(out, table->columns[c].title, CELL_COLUMNS);
        inq_out_text(out, " ");
    }
    inq_out_text(out, "|\n");
    for (size_t c = 0; c < table->n_columns; c++) {
        enum inq_column_kind kind = table->columns[c].kind;
        bool right = kind == INQ_COLUMN_RIGHT || kind == INQ_COLUMN_RANK;
        inq_out_text(out, right ? "| ---: " : "| :--- ");
    }
    inq_out_text(out, "|\n");
    for (size_t i = 0; i < table->n_cells && table->n_columns > 0; i++) {
        size_t c = i % table->n_columns;
        inq_out_text(out, "| ");
        if (table->columns[c].kind == INQ_COLUMN_BAR) {
            write_bar(out, table->cells[i]);
        } else if (table->columns[c].kind == INQ_COLUMN_CODE && is_code(table->cells[i])) {
            inq_out_printf(out, "`%s`", table->cells[i]);
        } else {
            bool prose = table->columns[c].kind == INQ_COLUMN_WRAP;
            inq_markdown_text(out, table->cells[i], prose ? PROSE_COLUMNS : CELL_COLUMNS);
        }
        inq_out_text(out, c + 1 == table->n_columns ? " |\n" : " ");
    }
}
