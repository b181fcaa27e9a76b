/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text cells, filled row by row, printed by report/render/text/table.c or markdown. One
 * builder per table serves all formats. */
#ifndef INQ_REPORT_SECTIONS_TABLE_H
#define INQ_REPORT_SECTIONS_TABLE_H

#include "base/arena.h"
#include "report/terminal/terminal.h"

enum { INQ_TABLE_MAX_COLUMNS = 16 };

enum inq_column_kind {
    INQ_COLUMN_RIGHT,
    INQ_COLUMN_LEFT,
    INQ_COLUMN_STRETCH, /* left; cut when the table would be too wide */
    INQ_COLUMN_RANK,    /* right; cut as STRETCH is */
    INQ_COLUMN_WRAP,    /* left, over several lines; only the last column */
    INQ_COLUMN_CODE, /* left; to be copied: Markdown sets it as code. Made by us, not by inputs */
    INQ_COLUMN_BAR   /* left; '#', '=', '-', '.' drawn as blocks where there are any */
};

struct inq_column {
    const char *title;
    enum inq_column_kind kind;
    int64_t unit_ns; /* of times in it */
    int decimals;
};

/* All-zero with `arena` set is an empty table. Cells live in the arena, the array is the table's
 * (inq_table_release). */
struct inq_table {
    struct inq_arena *arena;
    const char *title;
    const char *note; /* one or two sentences under the title; "" or NULL: none */
    const char *more; /* what was left out; "" or NULL: nothing */
    size_t n_columns;
    struct inq_column columns[INQ_TABLE_MAX_COLUMNS];
    size_t n_cells, cap_cells; /* rows * columns */
    const char **cells;
    int64_t unit_ns; /* of the next columns of times */
    int decimals;
    int code; /* 0 or the first failure */
};

void inq_table_release(struct inq_table *table);
size_t inq_table_rows(const struct inq_table *table);

void inq_table_column(struct inq_table *table, enum inq_column_kind kind, const char *title);
/* Several of one kind; the titles end with NULL. */
void inq_table_columns(struct inq_table *table, enum inq_column_kind kind,
                       const char *const *titles);
/* Chooses the unit and decimals for times up to max_ns, for the columns added from now on. */
void inq_table_unit(struct inq_table *table, int64_t max_ns);
/* A right-aligned column of times in the unit chosen last: "wait" gives "wait ms". */
void inq_table_column_ns(struct inq_table *table, const char *title);

/* The next cell. */
void inq_table_text(struct inq_table *table, const char *text); /* copied */
void inq_table_printf(struct inq_table *table, const char *fmt, ...) INQ_PRINTF(2, 3);
void inq_table_na(struct inq_table *table);
void inq_table_count(struct inq_table *table, int64_t value);
void inq_table_ns(struct inq_table *table, int64_t ns);                   /* any sign */
void inq_table_ns_known(struct inq_table *table, int64_t ns);             /* negative: N/A */
void inq_table_real(struct inq_table *table, double value, int decimals); /* NaN: N/A */

/* Says that `n` more rows are there. */
void inq_table_left_out(struct inq_table *table, size_t n);
/* Leaves out the columns in which no row has anything. */
void inq_table_trim(struct inq_table *table);

#endif
