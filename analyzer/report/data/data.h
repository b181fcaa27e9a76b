/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report for programs: one declaration of their columns, from which CSV, SQLite and
 * the manual are made, and one function each that fills the rows. */
#ifndef INQ_REPORT_DATA_DATA_H
#define INQ_REPORT_DATA_DATA_H

#include "report/report.h"

enum { INQ_DATA_COLUMNS = 32 }; /* of a table at most */

struct inq_data_cell {
    bool null;
    enum inq_column_type type;
    int64_t integer;
    double real;
    const char *text; /* valid while the row is taken */
};

/* Where rows go: cells are put in the order of the columns, a full row is handed over. The first
 * cell, the job, is put by itself. All-zero with `shape`, `take` and `job` set is ready. */
struct inq_data_rows {
    const struct inq_report_table *shape;
    int64_t job; /* from 1 */
    int (*take)(void *ctx, const struct inq_report_table *shape, const struct inq_data_cell *cells);
    void *ctx;
    int code; /* 0 or the first failure of `take`: no row follows it */
    size_t n;
    struct inq_data_cell cells[INQ_DATA_COLUMNS];
};

struct inq_data_table {
    struct inq_report_table shape;
    enum inq_section section; /* that it is of; INQ_SECTION_COUNT: none */
    void (*fill)(const struct inq_context *context, struct inq_data_rows *rows);
};

/* The next cell. */
void inq_data_int(struct inq_data_rows *rows, int64_t value);
void inq_data_known(struct inq_data_rows *rows, int64_t value);   /* negative: NULL */
void inq_data_time(struct inq_data_rows *rows, int64_t ns);       /* INQ_TIME_NONE: NULL */
void inq_data_real(struct inq_data_rows *rows, double value);     /* not finite: NULL */
void inq_data_text(struct inq_data_rows *rows, const char *text); /* NULL and "": NULL */
/* "[0,1,7]" */
void inq_data_list(struct inq_data_rows *rows, const struct inq_context *context,
                   const int32_t *numbers, size_t n);
/* Two cells: rank_id, the index into trace->ranks, and the rank's number. */
void inq_data_rank(struct inq_data_rows *rows, const struct inq_context *context, uint32_t index);

/* The tables in their order; NULL after the last. */
const struct inq_data_table *inq_data_table(size_t i);
/* Fills one table with what was asked for of all reports; stops at the first failure of `take`. */
int inq_data_fill(const struct inq_document *doc, const struct inq_data_table *table,
                  struct inq_data_rows *rows);

/* One list per source, ended by a row without `fill`. */
extern const struct inq_data_table inq_data_run[], inq_data_findings[], inq_data_account[],
    inq_data_comm[], inq_data_work[];

/* csv.c, ../render/sqlite/sqlite.c (only where SQLite was found) */
int inq_document_csv(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);
int inq_document_sqlite(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);

#define INQ_DATA_JOB                                                                               \
    {                                                                                              \
        "job", INQ_TYPE_INTEGER, "", "number of the job in the run, from 1"                        \
    }
#define INQ_DATA_RANK                                                                              \
    {"rank_id", INQ_TYPE_INTEGER, "", "key of the rank in `ranks`"},                               \
    {                                                                                              \
        "rank", INQ_TYPE_INTEGER, "", "its global rank number; NULL: not known"                    \
    }
#define INQ_DATA_SHAPE(name, definition, key, foreign, index, columns)                             \
    {                                                                                              \
        name, definition, key, foreign, index, sizeof(columns) / sizeof(*(columns)), columns       \
    }

#endif
