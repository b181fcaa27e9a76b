/* SPDX-License-Identifier: Apache-2.0 */
/* Top kernels, operators, modules and source lines: as tables and as JSON. */
#include "inquest/kernels.h"

#include "base/json.h"
#include "base/arena_text.h"
#include "report/contract/contract.h"
#include "report/info/info.h"
#include "report/sections/tables.h"

enum { KERNELS_SHOWN = 12, KERNELS_IN_JSON = 100 };

static double mean_ns(const struct inq_kernel_row *row)
{
    return row->count > 0 ? (double)row->total_ns / (double)row->count : 0.0;
}

/* "8192x1x1 of 128x1x1"; what is 1 at the end is left out. */
static const char *sizes_text(const struct inq_context *context, const int32_t sizes[3])
{
    return sizes[2] > 1 ? inq_arena_printf(context->arena, "%d x %d x %d", (int)sizes[0],
                                           (int)sizes[1], (int)sizes[2])
           : sizes[1] > 1
               ? inq_arena_printf(context->arena, "%d x %d", (int)sizes[0], (int)sizes[1])
               : inq_arena_printf(context->arena, "%d", (int)sizes[0]);
}

static void put_shape(const struct inq_context *context, struct inq_table *table,
                      const struct inq_kernel_row *row)
{
    if (row->launch == 0 || context->trace->launches[row->launch].grid[0] == 0) {
        inq_table_text(table, "");
        return;
    }
    const struct inq_launch *launch = &context->trace->launches[row->launch];
    inq_table_printf(
        table, "%s of %s%s", sizes_text(context, launch->grid), sizes_text(context, launch->block),
        row->n_launches > 1 ? inq_arena_printf(context->arena, ", %zu more", row->n_launches - 1)
                            : "");
}

static void build(const struct inq_context *context, struct inq_table *table,
                  enum inq_kernels_by by, const char *title, const char *column)
{
    if (context->report->kernels == NULL || context->report->kernels->by[by].n == 0) {
        return;
    }
    const struct inq_kernel_table *rows = &context->report->kernels->by[by];
    size_t shown = context->options->verbose || rows->n < KERNELS_SHOWN ? rows->n : KERNELS_SHOWN;
    table->title = title;
    table->note = "durations summed over all ranks; communication holds its waiting";
    inq_table_unit(table, rows->rows[0].total_ns);
    inq_table_column_ns(table, "total");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"share %", "count", "mean us", "ranks", NULL});
    inq_table_column_ns(table, "least rank");
    inq_table_column_ns(table, "most rank");
    if (by == INQ_KERNELS_BY_NAME) {
        inq_table_column(table, INQ_COLUMN_LEFT, "grid of block");
    }
    inq_table_column(table, INQ_COLUMN_STRETCH, column);
    for (size_t i = 0; i < shown; i++) {
        const struct inq_kernel_row *row = &rows->rows[i];
        inq_table_ns(table, row->total_ns);
        inq_table_real(table, 100.0 * row->share, 1);
        inq_table_count(table, (int64_t)row->count);
        inq_table_real(table, mean_ns(row) / 1000.0, 1);
        inq_table_count(table, (int64_t)row->n_ranks);
        inq_table_ns(table, row->rank_least_ns);
        inq_table_ns(table, row->rank_most_ns);
        if (by == INQ_KERNELS_BY_NAME) {
            put_shape(context, table, row);
        }
        inq_table_text(table, inq_trace_str(context->trace, row->name));
    }
    inq_table_left_out(table, rows->n - shown);
}

static void build_kernels(const struct inq_context *context, struct inq_table *table)
{
    build(context, table, INQ_KERNELS_BY_NAME, "Top kernels", "kernel");
}

static void build_operators(const struct inq_context *context, struct inq_table *table)
{
    build(context, table, INQ_KERNELS_BY_OPERATOR, "Top operators", "operator");
}

static void build_modules(const struct inq_context *context, struct inq_table *table)
{
    build(context, table, INQ_KERNELS_BY_MODULE, "Top modules", "module");
}

static void build_sources(const struct inq_context *context, struct inq_table *table)
{
    build(context, table, INQ_KERNELS_BY_SOURCE, "Top source lines", "line");
}

const struct inq_table_kind inq_tables_kernels[] = {
    {build_kernels, true, false, INQ_SECTION_KERNELS},
    {build_operators, true, false, INQ_SECTION_KERNELS},
    {build_modules, true, false, INQ_SECTION_KERNELS},
    {build_sources, true, false, INQ_SECTION_KERNELS},
    {NULL, false, false, INQ_SECTION_COUNT},
};

static const struct inq_key kernel_keys[] = {
    INQ_KEY("name", TEXT, "", "of the kernel, operator, module or source line"),
    INQ_KEY("count", INTEGER, "", "launches"),
    INQ_KEY("total_ns", INTEGER, "ns", "durations of all ranks, summed"),
    INQ_KEY_NULL("share", NUMBER, "1", "of kernels.total_ns", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("mean_ns", NUMBER, "ns", "total over count", INQ_NULL_NOT_MEASURED),
    INQ_KEY("min_ns", INTEGER, "ns", "shortest"),
    INQ_KEY("max_ns", INTEGER, "ns", "longest"),
    INQ_KEY("ranks", INTEGER, "", "ranks that have any"),
    INQ_KEY_NULL("least_rank", INTEGER, "", "of these, the rank with least", INQ_NULL_NOT_KNOWN),
    INQ_KEY("least_rank_ns", INTEGER, "ns", "its time"),
    INQ_KEY_NULL("most_rank", INTEGER, "", "the rank with most", INQ_NULL_NOT_KNOWN),
    INQ_KEY("most_rank_ns", INTEGER, "ns", "its time"),
    INQ_KEY("shapes", INTEGER, "", "distinct launch configurations"),
    INQ_KEY_IF("grid", INTEGERS, "", "blocks of the configuration with most time", "not recorded"),
    INQ_KEY_IF("block", INTEGERS, "", "threads of it", "not recorded"),
    INQ_KEY_IF("input_dims", TEXT, "", "shapes of its operator's inputs", "not recorded"),
    INQ_KEY_IF("input_types", TEXT, "", "types of its operator's inputs", "not recorded"),
    INQ_KEYS_END,
};

#define KERNELS_BY(key, what)                                                                      \
    INQ_KEY_OF_IF(key, OBJECTS, what, "not recorded or not read", kernel_keys)

const struct inq_key inq_contract_kernels_keys[] = {
    INQ_KEY("count", INTEGER, "", "launches of all ranks"),
    INQ_KEY("total_ns", INTEGER, "ns",
            "durations of all ranks, summed: what ran side by side counts twice"),
    INQ_KEY_OF("by_kernel", OBJECTS, "most time first; 100 without -v", kernel_keys),
    KERNELS_BY("by_operator", "by the innermost operator around the launch"),
    KERNELS_BY("by_module", "by module"),
    KERNELS_BY("by_source", "by source line"),
    INQ_KEYS_END,
};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_sizes(struct inq_json *json, const char *key, const int32_t sizes[3])
{
    inq_json_array(json, key);
    for (int i = 0; i < 3; i++) {
        inq_json_int(json, NULL, sizes[i]);
    }
    inq_json_end_array(json);
}

static void put_launch(struct inq_json *json, const struct inq_context *context,
                       const struct inq_kernel_row *row)
{
    if (row->launch == 0) {
        return;
    }
    const struct inq_launch *launch = &context->trace->launches[row->launch];
    const char *dims = inq_trace_str(context->trace, launch->dims);
    if (launch->grid[0] > 0) {
        put_sizes(json, "grid", launch->grid);
        put_sizes(json, "block", launch->block);
    }
    if (dims[0] != '\0') {
        inq_json_string(json, "input_dims", dims);
        inq_json_string(json, "input_types", inq_trace_str(context->trace, launch->types));
    }
}

static void put_row(struct inq_json *json, const struct inq_context *context,
                    const struct inq_kernel_row *row)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "name", inq_trace_str(context->trace, row->name));
    inq_json_int(json, "count", (int64_t)row->count);
    inq_json_int(json, "total_ns", row->total_ns);
    inq_json_double(json, "share", row->share);
    inq_json_double(json, "mean_ns", mean_ns(row));
    inq_json_int(json, "min_ns", row->min_ns);
    inq_json_int(json, "max_ns", row->max_ns);
    inq_json_int(json, "ranks", (int64_t)row->n_ranks);
    inq_json_rank(json, "least_rank", context, row->rank_least);
    inq_json_int(json, "least_rank_ns", row->rank_least_ns);
    inq_json_rank(json, "most_rank", context, row->rank_most);
    inq_json_int(json, "most_rank_ns", row->rank_most_ns);
    inq_json_int(json, "shapes", (int64_t)row->n_launches);
    put_launch(json, context, row);
    inq_json_end_object(json);
}

void inq_json_kernels(struct inq_json *json, const struct inq_context *context)
{
    static const char *const keys[INQ_KERNELS_BY_COUNT] = {"by_kernel", "by_operator", "by_module",
                                                           "by_source"};
    const struct inq_kernels *kernels = context->report->kernels;
    if (kernels == NULL) {
        return;
    }
    inq_json_object(json, "kernels");
    inq_json_int(json, "count", (int64_t)kernels->count);
    inq_json_int(json, "total_ns", kernels->total_ns);
    for (int by = 0; by < INQ_KERNELS_BY_COUNT; by++) {
        const struct inq_kernel_table *table = &kernels->by[by];
        size_t most = context->options->verbose ? table->n : KERNELS_IN_JSON;
        if (by != INQ_KERNELS_BY_NAME && table->n == 0) {
            continue;
        }
        inq_json_array(json, keys[by]);
        for (size_t i = 0; i < table->n && i < most; i++) {
            put_row(json, context, &table->rows[i]);
        }
        inq_json_end_array(json);
    }
    inq_json_end_object(json);
}
