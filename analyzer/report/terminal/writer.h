/* SPDX-License-Identifier: Apache-2.0 */
/* Writing text of inputs: on a terminal nothing can move the cursor, change colors or break a
 * line, and columns are counted as the terminal counts them; in HTML and XML nothing is markup. */
#ifndef INQ_REPORT_TERMINAL_WRITER_H
#define INQ_REPORT_TERMINAL_WRITER_H

#include "inquest/out.h"
#include "inquest/report.h"

enum { INQ_TERMINAL_WIDTH = 100, INQ_TERMINAL_NO_LIMIT = 1 << 20 };

struct inq_terminal {
    struct inq_out *out;
    int width;
    bool color, utf8;
};

enum inq_tint {
    INQ_TINT_BOLD,
    INQ_TINT_DIM,
    INQ_TINT_RED,
    INQ_TINT_YELLOW,
    INQ_TINT_CYAN,
    INQ_TINT_GREEN
};

/* The terminal for text by these options. */
struct inq_terminal inq_terminal_of(const struct inq_report_options *options, struct inq_out *out);

/* The character at `p` (`left` > 0 bytes); returns the bytes it takes, at least 1. What is no UTF-8
 * is U+FFFD. */
size_t inq_utf8_next(const char *p, size_t left, uint32_t *point);
/* Whether a character would act on the terminal or hide: controls, bidirectional marks, invisible
 * ones. */
bool inq_utf8_unsafe(uint32_t point);

/* Columns that `text` takes when written by inq_terminal_text. */
int inq_terminal_columns(const struct inq_terminal *terminal, const char *text);
/* Writes at most `columns` columns of text, the middle left out when it is longer; returns the
 * columns used. Unsafe characters come out as '?', and without UTF-8 all that is not ASCII. */
int inq_terminal_text(const struct inq_terminal *terminal, const char *text, int columns);
/* Writes text broken at spaces, each line after the first indented; the first starts at `column`.
 */
void inq_terminal_words(const struct inq_terminal *terminal, const char *text, int column,
                        int indent);
/* The same, with a newline at the end. */
void inq_terminal_wrap(const struct inq_terminal *terminal, const char *text, int column,
                       int indent);
/* Colors on and off; nothing without colors. */
void inq_terminal_tint(const struct inq_terminal *terminal, enum inq_tint tint);
void inq_terminal_plain(const struct inq_terminal *terminal);

/* As text of HTML or XML or as the value of an attribute; what is no UTF-8 and what neither may
 * hold (control characters, non-characters) becomes U+FFFD. */
void inq_markup_text(struct inq_out *out, const char *text);

#endif
