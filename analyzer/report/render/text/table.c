/* SPDX-License-Identifier: Apache-2.0 */
/* A table on the terminal: aligned, one header line, no wider than the terminal. */
#include "report/render/text/text.h"

#include "base/arena_text.h"

#include <string.h>

enum { GAP = 2, LEAST_STRETCH = 12, GOOD_STRETCH = 24, LEAST_WRAP = 32 };

/* How a table is laid out. */
struct layout {
    int widths[INQ_TABLE_MAX_COLUMNS]; /* 0: left out */
    int gap;                           /* between columns */
    bool tall;                         /* the last word of a title stands under the others */
};

static int cell_columns(const struct inq_table *table, const struct inq_terminal *terminal,
                        size_t cell)
{
    size_t column = cell % table->n_columns;
    /* a bar is ASCII inside, one column a character */
    return table->columns[column].kind == INQ_COLUMN_BAR
               ? (int)strlen(table->cells[cell])
               : inq_terminal_columns(terminal, table->cells[cell]);
}

/* One of the two lines of a title: all but its last word, and that. */
static const char *title_line(const struct inq_table *table, size_t column, bool lower)
{
    const char *title = table->columns[column].title;
    const char *space = strrchr(title, ' ');
    if (lower) {
        return space != NULL ? space + 1 : title;
    }
    return space != NULL ? inq_arena_printf(table->arena, "%.*s", (int)(space - title), title) : "";
}

static int title_columns(const struct inq_table *table, const struct inq_terminal *terminal,
                         size_t column, bool tall)
{
    if (!tall) {
        return inq_terminal_columns(terminal, table->columns[column].title);
    }
    int upper = inq_terminal_columns(terminal, title_line(table, column, false));
    int lower = inq_terminal_columns(terminal, title_line(table, column, true));
    return upper > lower ? upper : lower;
}

static int total_width(const struct inq_table *table, const struct layout *layout)
{
    int total = -layout->gap;
    for (size_t c = 0; c < table->n_columns; c++) {
        total += layout->widths[c] > 0 ? layout->widths[c] + layout->gap : 0;
    }
    return total;
}

/* Every column as wide as its widest cell, but for one that goes over several lines. */
static void measure(const struct inq_table *table, const struct inq_terminal *terminal, bool tall,
                    struct layout *layout)
{
    size_t last = table->n_columns - 1;
    *layout = (struct layout){.gap = GAP, .tall = tall};
    for (size_t c = 0; c < table->n_columns; c++) {
        layout->widths[c] = title_columns(table, terminal, c, tall);
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        int *width = &layout->widths[i % table->n_columns];
        int own = cell_columns(table, terminal, i);
        *width = own > *width ? own : *width;
    }
    if (table->columns[last].kind == INQ_COLUMN_WRAP) {
        int room = terminal->width - (total_width(table, layout) - layout->widths[last]);
        int least = room > LEAST_WRAP ? room : LEAST_WRAP;
        layout->widths[last] = layout->widths[last] < least ? layout->widths[last] : least;
    }
}

/* The widest column that may be cut; n_columns: none. */
static size_t widest_to_cut(const struct inq_table *table, const struct layout *layout)
{
    size_t widest = table->n_columns;
    for (size_t c = 0; c < table->n_columns; c++) {
        enum inq_column_kind kind = table->columns[c].kind;
        bool gives = kind == INQ_COLUMN_STRETCH || kind == INQ_COLUMN_RANK;
        if (gives && layout->widths[c] > LEAST_STRETCH &&
            (widest == table->n_columns || layout->widths[c] >= layout->widths[widest])) {
            widest = c;
        }
    }
    return widest;
}

/* How much wider than the terminal the table is when long names are cut to what tells them apart.
 */
static int excess(const struct inq_table *table, const struct inq_terminal *terminal,
                  const struct layout *layout)
{
    int excess = total_width(table, layout) - terminal->width;
    for (size_t c = 0; c < table->n_columns; c++) {
        enum inq_column_kind kind = table->columns[c].kind;
        bool gives = kind == INQ_COLUMN_STRETCH || kind == INQ_COLUMN_RANK;
        excess -= gives && layout->widths[c] > GOOD_STRETCH ? layout->widths[c] - GOOD_STRETCH : 0;
    }
    return excess;
}

/* A table that is too wide gets titles of two lines, then loses its bars, then has names cut, then
 * its columns move together; past that it is wider than the terminal, but readable. */
static void lay_out(const struct inq_table *table, const struct inq_terminal *terminal,
                    struct layout *layout)
{
    measure(table, terminal, false, layout);
    if (excess(table, terminal, layout) > 0) {
        measure(table, terminal, true, layout);
    }
    for (size_t c = 0; c < table->n_columns && total_width(table, layout) > terminal->width; c++) {
        if (table->columns[c].kind == INQ_COLUMN_BAR) {
            layout->widths[c] = 0;
        }
    }
    size_t widest = widest_to_cut(table, layout);
    while (total_width(table, layout) > terminal->width && widest < table->n_columns) {
        layout->widths[widest]--;
        widest = widest_to_cut(table, layout);
    }
    if (total_width(table, layout) > terminal->width) {
        layout->gap = 1;
    }
}

static void print_bar(const struct inq_terminal *terminal, const char *bar)
{
    static const char *const blocks[] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92",
                                         "\xe2\x96\x91"}; /* full to light */
    for (; *bar != '\0'; bar++) {
        const char *found = strchr("#=-.", *bar);
        if (terminal->utf8 && found != NULL) {
            inq_out_text(terminal->out, blocks[found - strchr("#=-.", '#')]);
        } else {
            inq_out_bytes(terminal->out, bar, 1);
        }
    }
}

/* One cell padded to its width; the last left-aligned one is not padded. */
static void print_cell(const struct inq_table *table, const struct inq_terminal *terminal,
                       const struct layout *layout, size_t column, const char *text, bool bar)
{
    enum inq_column_kind kind = table->columns[column].kind;
    int width = layout->widths[column];
    bool last = column + 1 == table->n_columns;
    if (width == 0 || (last && text[0] == '\0')) {
        return;
    }
    int columns = bar ? (int)strlen(text) : inq_terminal_columns(terminal, text);
    int pad = columns < width ? width - columns : 0;
    if (column > 0) {
        inq_out_printf(terminal->out, "%*s", layout->gap, "");
    }
    bool right = kind == INQ_COLUMN_RIGHT || kind == INQ_COLUMN_RANK;
    if (right && pad > 0) {
        inq_out_printf(terminal->out, "%*s", pad, "");
    }
    if (bar) {
        print_bar(terminal, text);
    } else {
        (void)inq_terminal_text(terminal, text, width);
    }
    if (!right && !last && pad > 0) {
        inq_out_printf(terminal->out, "%*s", pad, "");
    }
}

static void print_header(const struct inq_table *table, const struct inq_terminal *terminal,
                         const struct layout *layout)
{
    inq_terminal_tint(terminal, INQ_TINT_DIM);
    for (int line = layout->tall ? 0 : 1; line < 2; line++) {
        for (size_t c = 0; c < table->n_columns; c++) {
            const char *title =
                layout->tall ? title_line(table, c, line == 1) : table->columns[c].title;
            print_cell(table, terminal, layout, c, title, false);
        }
        inq_out_text(terminal->out, line == 0 ? "\n" : "");
    }
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
}

/* The last column over several lines; ends the line. */
static void print_wrapped(const struct inq_table *table, const struct inq_terminal *terminal,
                          const struct layout *layout, const char *text)
{
    int indent = 0;
    for (size_t c = 0; c + 1 < table->n_columns; c++) {
        indent += layout->widths[c] > 0 ? layout->widths[c] + layout->gap : 0;
    }
    struct inq_terminal column = *terminal;
    column.width = indent + layout->widths[table->n_columns - 1];
    inq_out_printf(terminal->out, "%*s", table->n_columns > 1 ? layout->gap : 0, "");
    inq_terminal_wrap(&column, text, indent, indent);
}

static void print_row(const struct inq_table *table, const struct inq_terminal *terminal,
                      const struct layout *layout, const char *const *cells)
{
    size_t last = table->n_columns - 1;
    bool wraps = table->columns[last].kind == INQ_COLUMN_WRAP;
    for (size_t c = 0; c < table->n_columns - wraps; c++) {
        print_cell(table, terminal, layout, c, cells[c], table->columns[c].kind == INQ_COLUMN_BAR);
    }
    if (wraps) {
        print_wrapped(table, terminal, layout, cells[last]);
    } else {
        inq_out_text(terminal->out, "\n");
    }
}

void inq_table_print(const struct inq_table *table, const struct inq_terminal *terminal)
{
    struct layout layout;
    if (table->n_columns == 0) {
        return;
    }
    lay_out(table, terminal, &layout);
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_terminal_words(terminal, table->title, 0, 0);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
    if (table->note != NULL && table->note[0] != '\0') {
        inq_out_text(terminal->out, "  ");
        inq_terminal_wrap(terminal, table->note, 2, 2);
    }
    if (table->n_cells > 0) {
        print_header(table, terminal, &layout);
    }
    for (size_t r = 0; r < inq_table_rows(table); r++) {
        print_row(table, terminal, &layout, table->cells + r * table->n_columns);
    }
    if (table->more != NULL && table->more[0] != '\0') {
        inq_out_text(terminal->out, "  ");
        inq_terminal_wrap(terminal, table->more, 2, 2);
    }
}
