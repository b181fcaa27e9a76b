/* SPDX-License-Identifier: Apache-2.0 */
/* A table on the terminal: aligned, one header line, no wider than the pen. */
#include "report/table.h"

#include <string.h>

enum { GAP = 2, LEAST_STRETCH = 12, LEAST_WRAP = 40 };

static int cell_columns(const struct inq_table *table, const struct inq_pen *pen, size_t cell)
{
    size_t column = cell % table->n_columns;
    /* a bar is ASCII inside, one column a character */
    return table->columns[column].kind == INQ_COLUMN_BAR ? (int)strlen(table->cells[cell])
                                                         : inq_pen_columns(pen, table->cells[cell]);
}

/* The widths of all columns; those that stretch give way until the table fits. */
static void find_widths(const struct inq_table *table, const struct inq_pen *pen, int *widths)
{
    int total = -GAP;
    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = inq_pen_columns(pen, table->columns[c].title);
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        int width = cell_columns(table, pen, i);
        size_t c = i % table->n_columns;
        widths[c] = width > widths[c] ? width : widths[c];
    }
    for (size_t c = 0; c < table->n_columns; c++) {
        total += widths[c] + GAP;
    }
    size_t last = table->n_columns - 1;
    if (table->columns[last].kind == INQ_COLUMN_WRAP) {
        int room = pen->width - (total - widths[last]);
        int width = room > LEAST_WRAP ? room : LEAST_WRAP;
        if (width < widths[last]) {
            total -= widths[last] - width;
            widths[last] = width;
        }
    }
    for (size_t c = 0; c < table->n_columns && total > pen->width; c++) {
        if (table->columns[c].kind == INQ_COLUMN_BAR) {
            total -= widths[c] + GAP;
            widths[c] = 0; /* a narrow terminal does without */
        }
    }
    while (total > pen->width) {
        size_t widest = table->n_columns;
        for (size_t c = 0; c < table->n_columns; c++) {
            enum inq_column_kind kind = table->columns[c].kind;
            bool gives = kind == INQ_COLUMN_STRETCH || kind == INQ_COLUMN_RANK;
            if (gives && widths[c] > LEAST_STRETCH &&
                (widest == table->n_columns || widths[c] >= widths[widest])) {
                widest = c;
            }
        }
        if (widest == table->n_columns) {
            return; /* wider than the terminal, but readable */
        }
        widths[widest]--;
        total--;
    }
}

static void print_bar(const struct inq_pen *pen, const char *bar)
{
    static const char *const blocks[] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92",
                                         "\xe2\x96\x91"}; /* full to light */
    for (; *bar != '\0'; bar++) {
        const char *found = strchr("#=-.", *bar);
        if (pen->utf8 && found != NULL) {
            inq_out_text(pen->out, blocks[found - strchr("#=-.", '#')]);
        } else {
            inq_out_bytes(pen->out, bar, 1);
        }
    }
}

/* One cell padded to its width; the last left-aligned one is not padded. */
static void print_cell(const struct inq_table *table, const struct inq_pen *pen, size_t column,
                       const char *text, int width)
{
    enum inq_column_kind kind = table->columns[column].kind;
    if (width == 0) {
        return;
    }
    int columns = kind == INQ_COLUMN_BAR ? (int)strlen(text) : inq_pen_columns(pen, text);
    int pad = columns < width ? width - columns : 0;
    bool last = column + 1 == table->n_columns;
    if (column > 0) {
        inq_out_printf(pen->out, "%*s", GAP, "");
    }
    bool right = kind == INQ_COLUMN_RIGHT || kind == INQ_COLUMN_RANK;
    if (right && pad > 0) {
        inq_out_printf(pen->out, "%*s", pad, "");
    }
    if (kind == INQ_COLUMN_BAR) {
        print_bar(pen, text);
    } else {
        (void)inq_pen_text(pen, text, width);
    }
    if (!right && !last && pad > 0) {
        inq_out_printf(pen->out, "%*s", pad, "");
    }
}

static void print_header(const struct inq_table *table, const struct inq_pen *pen,
                         const int *widths)
{
    inq_pen_tint(pen, INQ_TINT_DIM);
    for (size_t c = 0; c < table->n_columns; c++) {
        enum inq_column_kind kind = table->columns[c].kind;
        const char *title = table->columns[c].title;
        if (kind == INQ_COLUMN_BAR && widths[c] > 0) { /* a title is no bar */
            inq_out_printf(pen->out, "%*s%s", c > 0 ? GAP : 0, "", title);
        } else {
            print_cell(table, pen, c, title, widths[c]);
        }
    }
    inq_pen_plain(pen);
    inq_out_text(pen->out, "\n");
}

/* The last column over several lines; ends the line. */
static void print_wrapped(const struct inq_table *table, const struct inq_pen *pen,
                          const char *text, const int *widths)
{
    int indent = 0;
    for (size_t c = 0; c + 1 < table->n_columns; c++) {
        indent += widths[c] + GAP;
    }
    struct inq_pen column = *pen;
    column.width = indent + widths[table->n_columns - 1];
    inq_out_printf(pen->out, "%*s", table->n_columns > 1 ? GAP : 0, "");
    inq_pen_wrap(&column, text, indent, indent);
}

void inq_table_print(const struct inq_table *table, const struct inq_pen *pen)
{
    int widths[INQ_TABLE_MAX_COLUMNS] = {0};
    if (table->n_columns == 0) {
        return;
    }
    find_widths(table, pen, widths);
    inq_pen_tint(pen, INQ_TINT_BOLD);
    inq_pen_words(pen, table->title, 0, 0);
    inq_pen_plain(pen);
    inq_out_text(pen->out, "\n");
    if (table->note != NULL && table->note[0] != '\0') {
        inq_out_text(pen->out, "  ");
        inq_pen_wrap(pen, table->note, 2, 2);
    }
    if (table->n_cells > 0) {
        print_header(table, pen, widths);
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t c = i % table->n_columns;
        if (table->columns[c].kind == INQ_COLUMN_WRAP) {
            print_wrapped(table, pen, table->cells[i], widths);
            continue;
        }
        print_cell(table, pen, c, table->cells[i], widths[c]);
        if (c + 1 == table->n_columns) {
            inq_out_text(pen->out, "\n");
        }
    }
    if (table->more != NULL && table->more[0] != '\0') {
        inq_out_text(pen->out, "  ");
        inq_pen_wrap(pen, table->more, 2, 2);
    }
}
