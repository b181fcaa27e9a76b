/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on what was read: files, damage, clocks. */
#include "report/tables.h"

#include "base/say.h"

#include <inttypes.h>
#include <stdlib.h>

void inq_table_files(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_trace *trace = view->trace;
    if (trace->n_files == 0) {
        return;
    }
    size_t n =
        view->options->verbose || trace->n_files < INQ_TABLE_ROWS ? trace->n_files : INQ_TABLE_ROWS;
    size_t shown = 0;
    table->title = "Inputs";
    const char *folder = inq_view_folder(view);
    table->note = inq_say(view->arena,
                          "%s%.200s%sdamaged files first; events: seen in the file; kept: "
                          "GPU work, launches and annotations that the model holds",
                          folder[0] != '\0' ? "in " : "", folder, folder[0] != '\0' ? "; " : "");
    inq_table_column(table, INQ_COLUMN_STRETCH, "file");
    inq_table_column(table, INQ_COLUMN_LEFT, "format");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"size", "events", "kept", NULL});
    inq_table_column(table, INQ_COLUMN_WRAP, "damage, remarks");
    for (int damaged = 1; damaged >= 0; damaged--) {
        for (size_t i = 0; i < trace->n_files; i++) {
            const struct inq_file *file = &trace->files[i];
            const char *damage = inq_view_damage(view, &file->damage);
            bool hurt = damage[0] != '\0' || file->reason[0] != '\0';
            if (hurt != (damaged == 1) || shown >= n) {
                continue;
            }
            bool both = damage[0] != '\0' && file->reason[0] != '\0';
            inq_table_text(table, inq_view_path(view, file->path));
            inq_table_text(table, file->format);
            inq_table_text(table, inq_view_bytes(view, (double)file->bytes));
            inq_table_count(table, (int64_t)file->events);
            inq_table_count(table, (int64_t)file->events_kept);
            inq_table_text(
                table, hurt ? inq_say(view->arena, "%s%s%s", damage, both ? "; " : "", file->reason)
                            : "none");
            shown++;
        }
    }
    inq_table_left_out(table, trace->n_files - n);
}

/* Whether any clock was moved: else there is nothing to say. */
static bool any_moved(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_clock *clock = &trace->ranks[r].clock;
        if (clock->aligned && (clock->offset_ns != 0 || clock->drift_ppb != 0)) {
            return true;
        }
    }
    return false;
}

void inq_table_clocks(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_trace *trace = view->trace;
    const struct inq_collectives *coll = view->report->collectives;
    size_t left_out;
    const bool *picked = inq_pick_ranks(view, &left_out);
    if (!any_moved(trace) || picked == NULL) {
        return;
    }
    table->title = "Clocks";
    table->note = "offset: added to the rank's times so that matched collectives end together";
    if (coll != NULL && coll->ends_spread_ns_max >= 0) {
        table->note = inq_say(view->arena, "%s; ends agree within %s (%s before)", table->note,
                              inq_view_ns(view, coll->ends_spread_ns_max),
                              inq_view_ns(view, coll->raw_ends_spread_ns_max));
    }
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(
        table, INQ_COLUMN_RIGHT,
        (const char *const[]){"offset us", "drift ppm", "residual us", "anchors", NULL});
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_clock *clock = &trace->ranks[r].clock;
        if (!picked[r]) {
            continue;
        }
        inq_table_text(table, inq_view_rank(view, r));
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
    }
    inq_table_left_out(table, left_out);
}
