/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sections/table.h"

#include "base/mem.h"
#include "base/arena_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t MAX_CELLS = (size_t)1 << 26;
static const char NA[] = "N/A";

void inq_table_release(struct inq_table *table)
{
    inq_mem_free(table->cells);
    table->cells = NULL;
}

size_t inq_table_rows(const struct inq_table *table)
{
    return table->n_columns > 0 ? table->n_cells / table->n_columns : 0;
}

void inq_table_column(struct inq_table *table, enum inq_column_kind kind, const char *title)
{
    if (table->n_columns < INQ_TABLE_MAX_COLUMNS) {
        table->columns[table->n_columns++] =
            (struct inq_column){title, kind, table->unit_ns, table->decimals};
    }
}

void inq_table_columns(struct inq_table *table, enum inq_column_kind kind,
                       const char *const *titles)
{
    for (; *titles != NULL; titles++) {
        inq_table_column(table, kind, *titles);
    }
}

static const char *unit_text(int64_t unit_ns)
{
    return unit_ns == 1000000000 ? "s" : unit_ns == 1000000 ? "ms" : unit_ns == 1000 ? "us" : "ns";
}

void inq_table_unit(struct inq_table *table, int64_t max_ns)
{
    static const int64_t units_ns[] = {1000000000, 1000000, 1000};
    size_t i = 0;
    /* seconds only from 100 s on: people compare steps in ms */
    while (i < 2 && max_ns < (i == 0 ? 100 : 2) * units_ns[i]) {
        i++;
    }
    table->unit_ns = units_ns[i];
    double largest = (double)max_ns / (double)table->unit_ns;
    table->decimals = largest >= 100 ? 1 : largest >= 10 ? 2 : 3;
}

void inq_table_column_ns(struct inq_table *table, const char *title)
{
    const char *full = inq_arena_asprintf(table->arena, "%s %s", title, unit_text(table->unit_ns));
    inq_table_column(table, INQ_COLUMN_RIGHT, full != NULL ? full : title);
}

static void add_cell(struct inq_table *table, const char *text)
{
    if (text == NULL) {
        table->code = INQ_NOMEM;
    }
    if (table->code == INQ_OK) {
        table->code = inq_mem_grow(&table->cells, &table->cap_cells, table->n_cells + 1,
                                   sizeof *table->cells, MAX_CELLS, NULL);
    }
    if (table->code == INQ_OK) {
        table->cells[table->n_cells++] = text;
    }
}

void inq_table_text(struct inq_table *table, const char *text)
{
    add_cell(table, inq_arena_strdup(table->arena, text));
}

/* Whether `text` is a number that was rounded to nothing, "-0.00" or "-0.0 %": its sign says that
 * something changed. */
static bool is_negative_zero(const char *text)
{
    size_t n = text[0] == '-' ? 1 + strspn(text + 1, "0.") : 0;
    return n > 1 && (text[n] == '\0' || strcmp(text + n, " %") == 0);
}

void inq_table_printf(struct inq_table *table, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    inq_table_text(table, is_negative_zero(text) ? text + 1 : text);
}

void inq_table_na(struct inq_table *table)
{
    add_cell(table, NA);
}

void inq_table_count(struct inq_table *table, int64_t value)
{
    inq_table_printf(table, "%" PRId64, value);
}

/* What is rounded to nothing has no sign. */
static void print_real(struct inq_table *table, double value, int decimals)
{
    bool nothing = fabs(value) < 0.5 * pow(10.0, -decimals);
    inq_table_printf(table, "%.*f", decimals, nothing ? 0.0 : value);
}

void inq_table_ns(struct inq_table *table, int64_t ns)
{
    if (table->n_columns == 0) {
        return;
    }
    const struct inq_column *column = &table->columns[table->n_cells % table->n_columns];
    int64_t unit_ns = column->unit_ns > 0 ? column->unit_ns : 1;
    print_real(table, (double)ns / (double)unit_ns, column->decimals);
}

void inq_table_ns_known(struct inq_table *table, int64_t ns)
{
    if (ns < 0) {
        inq_table_na(table);
    } else {
        inq_table_ns(table, ns);
    }
}

void inq_table_real(struct inq_table *table, double value, int decimals)
{
    if (isfinite(value)) {
        print_real(table, value, decimals);
    } else {
        inq_table_na(table);
    }
}

static bool is_empty(const struct inq_table *table, size_t column)
{
    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        if (table->cells[i][0] != '\0') {
            return false;
        }
    }
    return true;
}

void inq_table_left_out(struct inq_table *table, size_t n)
{
    if (n > 0) {
        table->more = inq_arena_printf(table->arena, "%zu more row%s not shown (-v shows all)", n,
                                       n == 1 ? " is" : "s are");
    }
}

void inq_table_trim(struct inq_table *table)
{
    size_t keep[INQ_TABLE_MAX_COLUMNS];
    size_t rows = inq_table_rows(table);
    size_t n = 0;
    for (size_t c = 0; c < table->n_columns; c++) {
        if (!is_empty(table, c)) {
            table->columns[n] = table->columns[c];
            keep[n++] = c;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < n; k++) {
            table->cells[r * n + k] = table->cells[r * table->n_columns + keep[k]];
        }
    }
    table->n_columns = n;
    table->n_cells = rows * n;
}
