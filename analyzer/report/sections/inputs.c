/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on what was read: files, damage, clocks. */
#include "report/sections/tables.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Whether it was not read, or something of it is lost. */
static bool is_damaged(const struct inq_file *file)
{
    return inq_file_hurt(file) || file->reason[0] != '\0';
}

/* Files that get a row: all, or of a brief report the damaged ones. */
static size_t count_files(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    size_t damaged = 0;
    for (size_t i = 0; i < trace->n_files; i++) {
        damaged += is_damaged(&trace->files[i]);
    }
    return inq_context_is_brief(context) ? damaged : trace->n_files;
}

/* The folder that all of the trace's files are in, "" none. */
static const char *shared_folder(const struct inq_context *context)
{
    if (context->folder_len == 0) {
        return "";
    }
    return inq_arena_printf(context->arena, "%.*s", (int)context->folder_len,
                            context->trace->files[0].path);
}

static void build_files(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_trace *trace = context->trace;
    size_t files = count_files(context);
    if (files == 0) {
        return;
    }
    size_t n = inq_rows_shown(context, files);
    size_t shown = 0;
    table->title = inq_context_is_brief(context) ? "Damage and remarks" : "Inputs";
    const char *folder = shared_folder(context);
    table->note =
        inq_arena_printf(context->arena,
                         "%s%.200s%sdamaged files first; events: in the file; kept: "
                         "work, launches and annotations that the analyses use",
                         folder[0] != '\0' ? "in " : "", folder, folder[0] != '\0' ? "; " : "");
    inq_table_column(table, INQ_COLUMN_STRETCH, "file");
    inq_table_column(table, INQ_COLUMN_LEFT, "format");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"size", "events", "kept", NULL});
    inq_table_column(table, INQ_COLUMN_WRAP, "damage, remarks");
    for (int damaged = 1; damaged >= 0; damaged--) {
        for (size_t i = 0; i < trace->n_files; i++) {
            const struct inq_file *file = &trace->files[i];
            const char *damage = inq_context_damage(context, &file->damage);
            bool any = damage[0] != '\0' || file->reason[0] != '\0';
            if (is_damaged(file) != (damaged == 1) || shown >= n) {
                continue;
            }
            bool both = damage[0] != '\0' && file->reason[0] != '\0';
            inq_table_text(table, inq_context_path(context, file->path));
            inq_table_text(table, file->format);
            inq_table_text(table, inq_context_bytes(context, (double)file->bytes));
            inq_table_count(table, (int64_t)file->events);
            inq_table_count(table, (int64_t)file->events_kept);
            inq_table_text(table, any ? inq_arena_printf(context->arena, "%s%s%s", damage,
                                                         both ? "; " : "", file->reason)
                                      : "none");
            shown++;
        }
    }
    inq_table_left_out(table, files - n);
}

/* Whether any clock was moved: else there is nothing to say. *pieces: whether one by pieces. */
static bool any_moved(const struct inq_trace *trace, bool *pieces)
{
    bool moved = false;
    *pieces = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_clock *clock = &trace->ranks[r].clock;
        *pieces = *pieces || clock->n_later > 0;
        moved = moved || clock->n_later > 0 ||
                (clock->aligned && (clock->offset_ns != 0 || clock->drift_ppb != 0));
    }
    return moved;
}

static void build_clocks(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_collectives *coll = context->report->collectives;
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    bool pieces = false;
    if (!any_moved(trace, &pieces) || picked == NULL) {
        return;
    }
    table->title = "Clocks";
    table->note = "offset: added to the rank's times so that matched collectives end together";
    if (coll != NULL && coll->ends_spread_ns_max >= 0) {
        table->note =
            inq_arena_printf(context->arena, "%s; ends agree within %s (%s before)", table->note,
                             inq_context_ns(context, coll->ends_spread_ns_max),
                             inq_context_ns(context, coll->raw_ends_spread_ns_max));
    }
    if (pieces) {
        table->note =
            inq_arena_printf(context->arena,
                             "%s; pieces: where a clock was set or its drift changed, the offset "
                             "and drift are of its first piece",
                             table->note);
    }
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"offset us", "drift ppm", "residual us", "anchors",
                                            pieces ? "pieces" : NULL, NULL});
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_clock *clock = &trace->ranks[r].clock;
        if (!picked[r]) {
            continue;
        }
        inq_table_text(table, inq_context_rank(context, r));
        if (clock->aligned) {
            inq_table_real(table, (double)clock->offset_ns / 1e3, 1);
            inq_table_real(table, (double)clock->drift_ppb / 1e3, 3);
        } else {
            inq_table_na(table);
            inq_table_na(table);
        }
        if (clock->residual_ns >= 0) {
            inq_table_real(table, (double)clock->residual_ns / 1e3, 1);
        } else {
            inq_table_na(table);
        }
        inq_table_count(table, clock->anchors);
        if (pieces) {
            inq_table_count(table, (int64_t)clock->n_later + 1);
        }
    }
    inq_table_left_out(table, left_out);
}

const struct inq_table_kind inq_tables_inputs[] = {
    {build_clocks, true, false, INQ_SECTION_COUNT},
    {build_files, true, true, INQ_SECTION_COUNT},
    {NULL, false, false, INQ_SECTION_COUNT},
};
