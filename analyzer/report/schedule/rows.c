/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules side by side, as a table or JSON. */
#include "report/schedule/schedule.h"

#include "base/arena.h"
#include "base/time.h"
#include "inquest/report.h"
#include "report/render/text/text.h"
#include "report/contract/contract.h"
#include "inquest/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { HEADLINE = 800 };

static const struct inq_schedule_row *best_of(const struct inq_schedule_rows *rows)
{
    const struct inq_schedule_row *best = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct inq_schedule_row *row = &rows->rows[i];
        bool better = best == NULL || row->makespan_ns < best->makespan_ns ||
                      (row->makespan_ns == best->makespan_ns && !rows->search &&
                       row->peak_memory < best->peak_memory);
        best = row->problem[0] == '\0' && row->fits && better ? row : best;
    }
    return best;
}

/* ---- text
 * -----------------------------------------------------------------------------------------------
 */

static void add_columns(const struct inq_schedule_rows *rows, struct inq_table *table)
{
    int64_t longest = 0;
    for (size_t i = 0; i < rows->n; i++) {
        longest = rows->rows[i].makespan_ns > longest ? rows->rows[i].makespan_ns : longest;
    }
    if (rows->sizes) {
        inq_table_column(table, INQ_COLUMN_RIGHT, "size");
        inq_table_column(table, INQ_COLUMN_RIGHT, "micro-batches");
    }
    inq_table_column(table, INQ_COLUMN_LEFT, rows->sizes ? "best schedule" : "schedule");
    inq_table_unit(table, longest);
    inq_table_column_ns(table, "makespan");
    inq_table_column(table, INQ_COLUMN_RIGHT, "bubble");
    inq_table_column(table, INQ_COLUMN_RIGHT, "zb rate");
    inq_table_column_ns(table, "worst idle");
    inq_table_column(table, INQ_COLUMN_RIGHT, "peak");
    inq_table_column(table, INQ_COLUMN_RIGHT, "weights");
    if (rows->search && rows->memory_limit > 0.0) {
        inq_table_column(table, INQ_COLUMN_LEFT, "fits");
    }
    if (rows->sizes) {
        inq_table_column(table, INQ_COLUMN_LEFT, "times");
    }
}

static void add_row(const struct inq_schedule_rows *rows, const struct inq_schedule_row *row,
                    struct inq_table *table)
{
    if (rows->sizes) {
        inq_table_count(table, row->microbatch_size);
        inq_table_count(table, row->n_microbatches);
    }
    inq_table_text(table, row->name);
    bool made = row->problem[0] == '\0';
    if (made) {
        inq_table_ns(table, row->makespan_ns);
        inq_table_real(table, row->bubble_ratio, 4);
        inq_table_real(table, row->bubble_rate_zb, 4);
        inq_table_ns(table, row->worst_idle_ns);
        if (row->memory_unit == INQ_MEMORY_BYTES) {
            char peak[48];
            inq_table_text(table,
                           inq_size_format(row->peak_memory, INQ_SIZE_BINARY, peak, sizeof peak));
        } else {
            inq_table_printf(table, "%.*g", row->peak_memory == floor(row->peak_memory) ? 15 : 4,
                             row->peak_memory);
        }
        inq_table_printf(table, "%" PRId32 "x", row->weights);
    } else {
        for (int i = 0; i < 6; i++) {
            inq_table_na(table);
        }
    }
    if (rows->search && rows->memory_limit > 0.0) {
        inq_table_text(table, !made ? "N/A" : row->fits ? "yes" : "no");
    }
    if (rows->sizes) {
        inq_table_text(table, row->interpolated ? "interpolated" : "given");
    }
}

/* What the shortest is held against: the first that was named, else the next shortest. */
static const struct inq_schedule_row *rival_of(const struct inq_schedule_rows *rows,
                                               const struct inq_schedule_row *best)
{
    const struct inq_schedule_row *rival = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct inq_schedule_row *row = &rows->rows[i];
        if (row == best || row->problem[0] != '\0') {
            continue;
        }
        if (i == 0) {
            return row;
        }
        rival = rival == NULL || row->makespan_ns < rival->makespan_ns ? row : rival;
    }
    return rival;
}

/* What else one has to know of the shortest: what it holds. */
static void say_peaks(const struct inq_schedule_row *best, const struct inq_schedule_row *rival,
                      char *buf, size_t size)
{
    char own[48];
    char other[48];
    if (best->peak_memory != rival->peak_memory) {
        (void)snprintf(
            buf, size, "; %s holds %s at most, %s %s", best->name,
            inq_memory_format(best->memory_unit, best->peak_memory, own, sizeof own), rival->name,
            inq_memory_format(rival->memory_unit, rival->peak_memory, other, sizeof other));
    }
}

/* Which is the shortest, by how much, and through what. */
static void say_shortest(const struct inq_schedule_rows *rows, const struct inq_schedule_row *best,
                         char *line, size_t size)
{
    const struct inq_schedule_row *rival = best != NULL ? rival_of(rows, best) : NULL;
    char peaks[288] = "";
    char times[4][32];
    if (best == NULL) {
        (void)snprintf(line, size, "%s",
                       rows->memory_limit > 0.0 ? "No schedule fits." : "None of them runs.");
    } else if (rival == NULL) {
        (void)snprintf(line, size, "%s takes %s.", best->name,
                       inq_time_format(best->makespan_ns, times[0], sizeof times[0]));
    } else if (rival->makespan_ns == best->makespan_ns) {
        say_peaks(best, rival, peaks, sizeof peaks);
        (void)snprintf(line, size, "%s and %s take equally long, %s%s.", best->name, rival->name,
                       inq_time_format(best->makespan_ns, times[0], sizeof times[0]), peaks);
    } else {
        int64_t gain = rival->makespan_ns - best->makespan_ns;
        say_peaks(best, rival, peaks, sizeof peaks);
        (void)snprintf(line, size,
                       "%s is the shortest: %s, %s (%.1f %%) less than %s; its worst rank idles "
                       "%s, that of %s %s%s.",
                       best->name, inq_time_format(best->makespan_ns, times[0], sizeof times[0]),
                       inq_time_format(gain, times[1], sizeof times[1]),
                       100.0 * (double)gain / (double)rival->makespan_ns, rival->name,
                       inq_time_format(best->worst_idle_ns, times[2], sizeof times[2]), rival->name,
                       inq_time_format(rival->worst_idle_ns, times[3], sizeof times[3]), peaks);
    }
}

/* The first line: the answer. */
static void headline(const struct inq_schedule_rows *rows, char *line, size_t size)
{
    const struct inq_schedule_row *best = best_of(rows);
    if (!rows->search) {
        say_shortest(rows, best, line, size);
    } else if (best == NULL) {
        (void)snprintf(line, size, "No schedule fits.");
    } else if (rows->sizes) {
        (void)snprintf(line, size, "Best: %s with %" PRId32 " micro-batches of size %" PRId32 ".",
                       best->name, best->n_microbatches, best->microbatch_size);
    } else {
        (void)snprintf(line, size, "Best: %s.", best->name);
    }
}

static void say_how(const struct inq_schedule_rows *rows, const struct inq_terminal *terminal)
{
    enum inq_memory_unit unit =
        rows->n > 0 ? rows->rows[0].memory_unit : INQ_MEMORY_ACTIVATIONS; /* of all alike */
    inq_out_text(terminal->out, "\n");
    inq_terminal_wrap(terminal,
                      rows->sizes
                          ? "Times are of one micro-batch of that size on one rank, whatever the "
                            "number of chunks or segments."
                          : "Times are of one micro-batch on one rank, whatever the number of "
                            "chunks or segments.",
                      0, 0);
    inq_terminal_wrap(terminal,
                      unit == INQ_MEMORY_BYTES  ? "Peak is what the rank holds that holds most."
                      : unit == INQ_MEMORY_TOLD ? "Peak is in the unit of --memory."
                      : rows->sizes ? "Peak is in activations of one sample on one rank."
                                    : "Peak is in activations of one micro-batch on one rank.",
                      0, 0);
    if (rows->interpolated) {
        inq_terminal_wrap(
            terminal, "Times of sizes between those given are interpolated linearly: an estimate.",
            0, 0);
    }
}

static int write_text(const struct inq_schedule_rows *rows, const struct inq_terminal *terminal)
{
    struct inq_arena arena = {0};
    struct inq_table table = {.arena = &arena, .title = ""};
    char line[HEADLINE];
    add_columns(rows, &table);
    for (size_t i = 0; i < rows->n; i++) {
        add_row(rows, &rows->rows[i], &table);
    }
    headline(rows, line, sizeof line);
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_terminal_words(terminal, line, 0, 0);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
    inq_table_print(&table, terminal);
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->rows[i].problem[0] != '\0') {
            (void)snprintf(line, sizeof line, "%s: %s", rows->rows[i].name, rows->rows[i].problem);
            inq_terminal_wrap(terminal, line, 0, 2);
        }
    }
    say_how(rows, terminal);
    int code = table.code;
    inq_table_release(&table);
    inq_arena_release(&arena);
    return code;
}

/* ---- JSON
 * -----------------------------------------------------------------------------------------------
 */

static void json_row(const struct inq_schedule_row *row, bool sizes, bool limited,
                     struct inq_json *json)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "schedule", row->name);
    if (row->problem[0] != '\0') {
        inq_json_string(json, "problem", row->problem);
        inq_json_end_object(json);
        return;
    }
    inq_json_int(json, "ranks", row->n_ranks);
    inq_json_int(json, "stages", row->n_stages);
    inq_json_int(json, "microbatches", row->n_microbatches);
    if (sizes) {
        inq_json_int(json, "microbatch_size", row->microbatch_size);
        inq_json_bool(json, "interpolated", row->interpolated);
    }
    inq_json_int(json, "makespan_ns", row->makespan_ns);
    inq_json_double(json, "bubble_ratio", row->bubble_ratio);
    inq_json_double(json, "bubble_rate_zb", row->bubble_rate_zb);
    inq_json_int(json, "worst_idle_ns", row->worst_idle_ns);
    inq_json_double(json, "peak_activations", row->peak_memory);
    inq_json_int(json, "weights", row->weights);
    if (limited) {
        inq_json_bool(json, "fits", row->fits);
    }
    inq_json_end_object(json);
}

static void write_json(const struct inq_schedule_rows *rows, struct inq_out *out)
{
    struct inq_json json;
    const struct inq_schedule_row *best = best_of(rows);
    char line[HEADLINE];
    headline(rows, line, sizeof line);
    inq_json_init(&json, out, false);
    inq_json_document(&json, inq_contract_find("schedule-compare"));
    inq_json_string(&json, "headline", line);
    if (rows->memory_limit > 0.0) {
        inq_json_double(&json, "memory_limit", rows->memory_limit);
    }
    inq_json_string(&json, "best", best == NULL ? NULL : best->name);
    if (rows->search && rows->sizes && best != NULL) {
        inq_json_int(&json, "best_microbatch_size", best->microbatch_size);
    }
    inq_json_array(&json, "schedules");
    for (size_t i = 0; i < rows->n; i++) {
        json_row(&rows->rows[i], rows->sizes, rows->memory_limit > 0.0, &json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

int inq_schedule_rows_report(const struct inq_schedule_rows *rows,
                             const struct inq_report_options *options, struct inq_sink sink,
                             struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        write_json(rows, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        struct inq_terminal terminal = inq_terminal_of(options, &out);
        code = write_text(rows, &terminal);
    } else {
        code = INQ_UNSUPPORTED;
    }
    return inq_out_end(&out, code, "a comparison of schedules", err);
}
