/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of cells. */
#include "report/data/data.h"

#include "base/arena_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static void put(struct inq_data_rows *rows, struct inq_data_cell cell)
{
    if (rows->n == 0) {
        rows->cells[rows->n++] =
            (struct inq_data_cell){.type = INQ_TYPE_INTEGER, .integer = rows->job};
    }
    assert(cell.null || cell.type == rows->shape->columns[rows->n].type);
    rows->cells[rows->n++] = cell;
    if (rows->n == rows->shape->n_columns) {
        rows->n = 0;
        if (rows->code == INQ_OK) {
            rows->code = rows->take(rows->ctx, rows->shape, rows->cells);
        }
    }
}

static void put_null(struct inq_data_rows *rows)
{
    put(rows, (struct inq_data_cell){.null = true});
}

void inq_data_int(struct inq_data_rows *rows, int64_t value)
{
    put(rows, (struct inq_data_cell){.type = INQ_TYPE_INTEGER, .integer = value});
}

void inq_data_known(struct inq_data_rows *rows, int64_t value)
{
    if (value < 0) {
        put_null(rows);
    } else {
        inq_data_int(rows, value);
    }
}

void inq_data_time(struct inq_data_rows *rows, int64_t ns)
{
    if (ns == INQ_TIME_NONE) {
        put_null(rows);
    } else {
        inq_data_int(rows, ns);
    }
}

void inq_data_real(struct inq_data_rows *rows, double value)
{
    if (isfinite(value)) {
        put(rows, (struct inq_data_cell){.type = INQ_TYPE_REAL, .real = value});
    } else {
        put_null(rows);
    }
}

void inq_data_text(struct inq_data_rows *rows, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        put_null(rows);
    } else {
        put(rows, (struct inq_data_cell){.type = INQ_TYPE_TEXT, .text = text});
    }
}

void inq_data_list(struct inq_data_rows *rows, const struct inq_context *context,
                   const int32_t *numbers, size_t n)
{
    struct inq_out out = {0};
    inq_out_text(&out, "[");
    for (size_t i = 0; i < n; i++) {
        inq_out_printf(&out, "%s%" PRId32, i > 0 ? "," : "", numbers[i]);
    }
    inq_out_text(&out, "]");
    const char *text = out.code == INQ_OK ? inq_arena_strdup(context->arena, out.buf) : NULL;
    inq_out_release(&out);
    if (text == NULL && rows->code == INQ_OK) {
        rows->code = INQ_NOMEM;
    }
    inq_data_text(rows, text);
}

void inq_data_rank(struct inq_data_rows *rows, const struct inq_context *context, uint32_t index)
{
    bool there = index < context->trace->n_ranks;
    inq_data_known(rows, there ? (int64_t)index : -1);
    inq_data_known(rows, there ? context->trace->ranks[index].rank : -1);
}
