/* SPDX-License-Identifier: Apache-2.0 */
/* One table as CSV (RFC 4180): a header row, "" for NULL. */
#include "report/data/data.h"

#include <inttypes.h>
#include <string.h>

static void write_text(struct inq_out *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        inq_out_text(out, text);
        return;
    }
    inq_out_quoted(out, text);
}

static int write_row(void *ctx, const struct inq_report_table *shape,
                     const struct inq_data_cell *cells)
{
    struct inq_out *out = ctx;
    for (size_t i = 0; i < shape->n_columns; i++) {
        inq_out_text(out, i > 0 ? "," : "");
        if (cells[i].null) {
            continue;
        }
        if (cells[i].type == INQ_TYPE_INTEGER) {
            inq_out_printf(out, "%" PRId64, cells[i].integer);
        } else if (cells[i].type == INQ_TYPE_REAL) {
            inq_out_printf(out, "%.17g", cells[i].real);
        } else {
            write_text(out, cells[i].text);
        }
    }
    inq_out_text(out, "\r\n");
    return out->code;
}

int inq_document_csv(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    const char *name = doc->options->table != NULL ? doc->options->table : "";
    const struct inq_data_table *table = NULL;
    for (size_t i = 0; (table = inq_data_table(i)) != NULL; i++) {
        if (strcmp(table->shape.name, name) == 0) {
            break;
        }
    }
    if (table == NULL) {
        return inq_err_set(err, INQ_USAGE, "there is no table '%s'", name);
    }
    for (size_t i = 0; i < table->shape.n_columns; i++) {
        inq_out_printf(out, "%s%s", i > 0 ? "," : "", table->shape.columns[i].name);
    }
    inq_out_text(out, "\r\n");
    struct inq_data_rows rows = {.shape = &table->shape, .take = write_row, .ctx = out};
    return inq_data_fill(doc, table, &rows);
}
