/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report, in the order of the document. Text and Markdown print the same ones. */
#ifndef INQ_REPORT_SECTIONS_TABLES_H
#define INQ_REPORT_SECTIONS_TABLES_H

#include "inquest/contract.h"
#include "report/sections/table.h"
#include "report/terminal/terminal.h"

enum { INQ_TABLE_ROWS = 32 }; /* shown at most without -v */

/* How a format writes tables, and what stands in the place of one that is not available. */
struct inq_table_writer {
    void (*table)(void *ctx, const struct inq_table *table, bool folded);
    void (*missing)(void *ctx, const char *title, const char *problem);
    void *ctx;
};

/* Writes the tables that apply and were asked for, of the sections with these bits; UINT32_MAX:
 * all, and those of no section. */
void inq_tables_write(const struct inq_context *context, uint32_t sections,
                      const struct inq_table_writer *writer);
/* INQ_SECTION_BIT of the sections of which a brief report (inq_context_is_brief) leaves out tables.
 */
uint32_t inq_tables_kept_back(const struct inq_context *context);
/* Writes one table and releases it; memory that ran out costs the table that it ran out in. */
void inq_table_write(struct inq_table *table, bool folded, const struct inq_table_writer *writer);

/* One list per source, ended by a row without `build`. */
struct inq_table_kind {
    /* Fills the table; leaves it without columns when it does not apply. */
    void (*build)(const struct inq_context *context, struct inq_table *table);
    bool folded;              /* Markdown: inside <details> */
    bool brief;               /* text: shown without -v and --only */
    enum inq_section section; /* that it is of; INQ_SECTION_COUNT: none */
};

/* X(list): one list of tables a source, in the order of the document; tables of one section stand
 * together. */
#define INQ_TABLE_LISTS(X)                                                                         \
    X(inq_tables_failure)                                                                          \
    X(inq_tables_training)                                                                         \
    X(inq_tables_reference)                                                                        \
    X(inq_tables_pipeline)                                                                         \
    X(inq_tables_whatif)                                                                           \
    X(inq_tables_time)                                                                             \
    X(inq_tables_comm)                                                                             \
    X(inq_tables_path)                                                                             \
    X(inq_tables_kernels)                                                                          \
    X(inq_tables_inputs)

#define INQ_TABLES_DECLARE(list) extern const struct inq_table_kind list[];
INQ_TABLE_LISTS(INQ_TABLES_DECLARE)
#undef INQ_TABLES_DECLARE

/* X(SECTION, "key", function, keys, "what"): sections whose JSON, and the contract of it, stand
 * apart from the other sections', in the order of the document. */
#define INQ_SECTION_JSON(X)                                                                        \
    X(KERNELS, "kernels", inq_json_kernels, inq_contract_kernels_keys,                             \
      "kernels, copies and sets by time")                                                          \
    X(METHOD, "method", inq_json_reference, inq_contract_method_keys,                              \
      "numbers of another tool, with --method")

struct inq_json;
#define INQ_JSON_DECLARE(section, key, function, keys, what)                                       \
    void function(struct inq_json *json, const struct inq_context *context);                       \
    extern const struct inq_key keys[];
INQ_SECTION_JSON(INQ_JSON_DECLARE)
#undef INQ_JSON_DECLARE

/* ---- shared by the builders ------------------------------------------------------------------ */

/* Which of the trace's ranks get a row: all that were asked for, or, when they are many, those that
 * findings name, then those that arrived last most often, `most` in all. [n_ranks] in the view's
 * arena, NULL when memory is out; *left_out: ranks asked for that get none. */
const bool *inq_pick_ranks(const struct inq_context *context, size_t most, size_t *left_out);
/* The next cell: "p2p_transfer" in words. */
void inq_table_words(struct inq_table *table, const char *key);
/* Of n rows, how many a table shows. */
static inline size_t inq_rows_shown(const struct inq_context *context, size_t n)
{
    return context->options->verbose || n < INQ_TABLE_ROWS ? n : INQ_TABLE_ROWS;
}
/* Whether the ranks have stages; then a column of them. */
bool inq_table_stage_column(const struct inq_context *context, struct inq_table *table);

#endif
