/* SPDX-License-Identifier: Apache-2.0 */
/* All tables as one SQLite database ("inquest-sqlite/1"): made in memory, then written out whole.
 * The only door to sqlite3 beside the reader of Nsight's exports. */
#include "report/data/data.h"

#include "inquest/version.h"

#include <sqlite3.h>
#include <stdio.h>

/* What a reader would otherwise write again and again. */
static const char views[] =
    "CREATE VIEW collective_arrivals AS SELECT a.*, c.op, c.group_name, "
    "a.start_ns - MIN(a.start_ns) OVER m AS late_ns, "
    "MAX(MIN(MAX(a.start_ns) OVER m, a.end_ns) - a.start_ns, 0) AS wait_ns, "
    "a.start_ns = MAX(a.start_ns) OVER m AS is_last "
    "FROM arrivals a JOIN collectives c USING (job, collective_id) "
    "WINDOW m AS (PARTITION BY a.job, a.collective_id);"
    "CREATE VIEW rank_shares AS SELECT job, rank_id, rank, class, 100.0 * ns / SUM(ns) OVER "
    "(PARTITION BY job, rank_id) AS percent, ns FROM rank_classes;"
    "CREATE VIEW waits_by_root AS SELECT job, waited_for_rank, class, SUM(end_ns - start_ns) AS "
    "wait_ns, COUNT(*) AS stretches, COUNT(DISTINCT rank_id) AS ranks FROM waits "
    "GROUP BY job, waited_for_rank, class;"
    "CREATE VIEW ranked_findings AS SELECT job, position, severity, confidence, kind, title, "
    "cost_ns_per_step / 1e6 AS cost_ms, 100 * share AS percent FROM findings "
    "ORDER BY job, position;";

struct database {
    sqlite3 *db;
    sqlite3_stmt *insert;
    struct inq_err *err;
};

static int fail(struct database *d, int status)
{
    const char *why = d->db != NULL ? sqlite3_errmsg(d->db) : sqlite3_errstr(status);
    return inq_err_set(d->err, status == SQLITE_NOMEM ? INQ_NOMEM : INQ_LIMIT,
                       "cannot make the SQLite tables: %s", why);
}

static int run_sql(struct database *d, const char *sql)
{
    int status = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    return status == SQLITE_OK ? INQ_OK : fail(d, status);
}

/* Runs the statement and makes it ready for the next row. */
static int step(struct database *d)
{
    int status = sqlite3_step(d->insert);
    (void)sqlite3_reset(d->insert);
    return status == SQLITE_DONE ? INQ_OK : fail(d, status);
}

static int take_row(void *ctx, const struct inq_report_table *shape,
                    const struct inq_data_cell *cells)
{
    struct database *d = ctx;
    int status = SQLITE_OK;
    for (size_t i = 0; i < shape->n_columns && status == SQLITE_OK; i++) {
        int at = (int)i + 1;
        status = cells[i].null ? sqlite3_bind_null(d->insert, at)
                 : cells[i].type == INQ_TYPE_INTEGER
                     ? sqlite3_bind_int64(d->insert, at, cells[i].integer)
                 : cells[i].type == INQ_TYPE_REAL
                     ? sqlite3_bind_double(d->insert, at, cells[i].real)
                     : sqlite3_bind_text(d->insert, at, cells[i].text, -1, SQLITE_TRANSIENT);
    }
    return status == SQLITE_OK ? step(d) : fail(d, status);
}

/* "CREATE TABLE", its further index, and the INSERT for its rows. */
static int make_table(struct database *d, const struct inq_report_table *shape)
{
    struct inq_out sql = {0};
    inq_out_printf(&sql, "CREATE TABLE %s (", shape->name);
    for (size_t i = 0; i < shape->n_columns; i++) {
        inq_out_printf(&sql, "\"%s\" %s%s, ", shape->columns[i].name,
                       inq_column_type_text(shape->columns[i].type), i == 0 ? " NOT NULL" : "");
    }
    inq_out_printf(&sql, "PRIMARY KEY (%s)", shape->key);
    for (size_t i = 0; shape->foreign[i] != NULL; i++) {
        inq_out_printf(&sql, ", FOREIGN KEY %s", shape->foreign[i]);
    }
    inq_out_text(&sql, ");");
    if (shape->index != NULL) {
        inq_out_printf(&sql, "CREATE INDEX %s_index ON %s (%s);", shape->name, shape->name,
                       shape->index);
    }
    int code = sql.code == INQ_OK ? run_sql(d, sql.buf) : fail(d, SQLITE_NOMEM);
    inq_out_release(&sql);
    sql = (struct inq_out){0};
    inq_out_printf(&sql, "INSERT INTO %s VALUES (?", shape->name);
    for (size_t i = 1; i < shape->n_columns; i++) {
        inq_out_text(&sql, ",?");
    }
    inq_out_text(&sql, ")");
    if (code == INQ_OK) {
        int status = sql.code == INQ_OK ? sqlite3_prepare_v2(d->db, sql.buf, -1, &d->insert, NULL)
                                        : SQLITE_NOMEM;
        code = status == SQLITE_OK ? INQ_OK : fail(d, status);
    }
    inq_out_release(&sql);
    return code;
}

static int write_table(struct database *d, const struct inq_document *doc,
                       const struct inq_data_table *table)
{
    struct inq_data_rows rows = {.shape = &table->shape, .take = take_row, .ctx = d};
    int code = make_table(d, &table->shape);
    if (code == INQ_OK) {
        code = inq_data_fill(doc, table, &rows);
    }
    (void)sqlite3_finalize(d->insert);
    d->insert = NULL;
    return code;
}

/* The declarations themselves, as rows. */
static int write_columns(struct database *d)
{
    int code = run_sql(d, "CREATE TABLE columns (\"table\" TEXT NOT NULL, \"column\" TEXT NOT NULL,"
                          " type TEXT NOT NULL, unit TEXT, definition TEXT NOT NULL,"
                          " PRIMARY KEY (\"table\", \"column\"));"
                          "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
                          "INSERT INTO meta VALUES ('schema', 'inquest-sqlite/1'),"
                          " ('tool', 'inquest " INQ_VERSION_STRING "');");
    if (code == INQ_OK &&
        sqlite3_prepare_v2(d->db, "INSERT INTO columns VALUES (?, ?, ?, NULLIF(?, ''), ?)", -1,
                           &d->insert, NULL) != SQLITE_OK) {
        code = fail(d, SQLITE_NOMEM);
    }
    const struct inq_report_table *shape;
    for (size_t t = 0; code == INQ_OK && (shape = inq_report_table(t)) != NULL; t++) {
        for (size_t i = 0; i < shape->n_columns && code == INQ_OK; i++) {
            const struct inq_report_column *column = &shape->columns[i];
            const char *const cells[] = {shape->name, column->name,
                                         inq_column_type_text(column->type), column->unit,
                                         column->definition};
            for (int c = 0; c < 5; c++) {
                (void)sqlite3_bind_text(d->insert, c + 1, cells[c], -1, SQLITE_STATIC);
            }
            code = step(d);
        }
    }
    (void)sqlite3_finalize(d->insert);
    d->insert = NULL;
    return code;
}

int inq_document_sqlite(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    struct database d = {.err = err};
    const struct inq_data_table *table;
    int status = sqlite3_open(":memory:", &d.db);
    int code =
        status == SQLITE_OK ? run_sql(&d, "PRAGMA page_size = 4096; BEGIN") : fail(&d, status);
    for (size_t i = 0; code == INQ_OK && (table = inq_data_table(i)) != NULL; i++) {
        code = write_table(&d, doc, table);
    }
    if (code == INQ_OK) {
        code = write_columns(&d);
    }
    if (code == INQ_OK) {
        code = run_sql(&d, views);
    }
    if (code == INQ_OK) {
        code = run_sql(&d, "COMMIT");
    }
    if (code == INQ_OK) {
        sqlite3_int64 size = 0;
        unsigned char *bytes = sqlite3_serialize(d.db, "main", &size, 0);
        if (bytes == NULL) {
            code = fail(&d, SQLITE_NOMEM);
        } else {
            inq_out_bytes(out, (const char *)bytes, (size_t)size);
        }
        sqlite3_free(bytes);
    }
    (void)sqlite3_close(d.db);
    return code;
}
