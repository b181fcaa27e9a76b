/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tables. */
#include "report/data/data.h"

static const struct inq_data_table *const groups[] = {
    inq_data_run, inq_data_findings, inq_data_account, inq_data_comm, inq_data_work,
};

const struct inq_data_table *inq_data_table(size_t i)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (const struct inq_data_table *table = groups[g]; table->fill != NULL; table++) {
            if (i-- == 0) {
                return table;
            }
        }
    }
    return NULL;
}

const struct inq_report_table *inq_report_table(size_t i)
{
    const struct inq_data_table *table = inq_data_table(i);
    return table != NULL ? &table->shape : NULL;
}

const char *inq_column_type_text(enum inq_column_type type)
{
    return type == INQ_TYPE_INTEGER ? "INTEGER" : type == INQ_TYPE_REAL ? "REAL" : "TEXT";
}

int inq_data_fill(const struct inq_document *doc, const struct inq_data_table *table,
                  struct inq_data_rows *rows)
{
    for (size_t i = 0; i < doc->n_reports && rows->code == INQ_OK; i++) {
        const struct inq_report *report = doc->reports[i];
        struct inq_context context =
            inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
        rows->job = (int64_t)i + 1;
        if (table->section == INQ_SECTION_COUNT || inq_context_wants(&context, table->section)) {
            table->fill(&context, rows);
        }
    }
    return rows->code;
}
