/* SPDX-License-Identifier: Apache-2.0 */
/* What a run holds, as text or JSON. */
#include "report/info/info.h"
#include "report/contract/contract.h"
#include "report/render/text/text.h"

#include "inquest/out.h"
#include "base/arena_text.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <string.h>

/* ---- "inquest-info/1" ------------------------------------------------------------------------ */

static void write_rank(struct inq_json *json, const struct inq_context *context, size_t r)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_rank *rank = &trace->ranks[r];
    int64_t steps = 0;
    for (size_t s = 0; s < trace->n_steps; s++) {
        const int64_t *starts = trace->steps[s].rank_start_ns;
        steps += starts != NULL && starts[r] != INQ_TIME_NONE;
    }
    inq_json_object(json, NULL);
    inq_json_known(json, "rank", rank->rank);
    inq_json_name(json, "label", trace, rank->label);
    inq_json_string(json, "path",
                    rank->file < trace->n_files ? trace->files[rank->file].path : NULL);
    inq_json_known(json, "stage", rank->stage);
    inq_json_known(json, "dp_rank", rank->dp_rank);
    inq_json_name(json, "host", trace, rank->host);
    inq_json_name(json, "device", trace, rank->device_name);
    inq_json_int(json, "steps", steps);
    inq_json_int(json, "gpu_events", (int64_t)rank->events.n);
    inq_json_int(json, "lanes", (int64_t)rank->n_lanes);
    inq_json_time(json, "start_ns", rank->first_ns);
    inq_json_time(json, "end_ns", rank->last_ns);
    inq_json_end_object(json);
}

static void write_steps(struct inq_json *json, const struct inq_trace *trace)
{
    inq_json_object(json, "steps");
    inq_json_int(json, "count", (int64_t)trace->n_steps);
    if (trace->n_steps > 0) {
        inq_json_bool(json, "inferred", trace->steps_inferred);
        inq_json_int(json, "first", trace->steps[0].number);
        inq_json_int(json, "last", trace->steps[trace->n_steps - 1].number);
    }
    inq_json_end_object(json);
}

static void write_job(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    int64_t first_ns = INQ_TIME_NONE;
    int64_t last_ns = INQ_TIME_NONE;
    (void)inq_trace_span(trace, &first_ns, &last_ns);
    inq_json_object(json, NULL);
    inq_json_string(json, "name", trace->name);
    inq_json_rank_lists(json, trace);
    inq_json_time(json, "start_ns", first_ns);
    inq_json_time(json, "end_ns", last_ns);
    write_steps(json, trace);
    inq_json_object(json, "collectives");
    inq_json_int(json, "matched", (int64_t)trace->n_collectives);
    inq_json_int(json, "unmatched", (int64_t)trace->unmatched_comms);
    inq_json_end_object(json);
    inq_json_array(json, "ranks");
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (inq_context_shows(context, trace->ranks[r].rank)) {
            write_rank(json, context, r);
        }
    }
    inq_json_end_array(json);
    inq_json_clocks(json, context);
    inq_json_array(json, "files");
    for (size_t i = 0; i < trace->n_files; i++) {
        inq_json_file(json, &trace->files[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

static void info_json(const struct inq_run *run, const struct inq_report_options *options,
                      struct inq_arena *arena, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_document(&json, &inq_contract_info);
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_array(&json, "jobs");
    for (size_t i = 0; i < run->n_traces; i++) {
        struct inq_context context = inq_context_of(run, run->traces[i], NULL, options, arena);
        write_job(&json, &context);
    }
    inq_json_end_array(&json);
    inq_json_skipped(&json, run);
    inq_json_end_object(&json);
}

/* ---- What a run holds, for people ------------------------------------------------------------ */

enum { ROWS_SHOWN = 64, SKIPPED_SHOWN = 20 };

struct counts {
    size_t ranks, files, damaged;
};

static struct counts count(const struct inq_run *run)
{
    struct counts c = {0};
    for (size_t t = 0; t < run->n_traces; t++) {
        const struct inq_trace *trace = run->traces[t];
        c.ranks += trace->n_ranks;
        c.files += trace->n_files;
        for (size_t i = 0; i < trace->n_files; i++) {
            c.damaged += inq_file_hurt(&trace->files[i]);
        }
    }
    return c;
}

/* "8 of 8 ranks", "7 of 8 ranks (missing 3)", "4 ranks". */
static const char *ranks_text(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->world_size <= 0) {
        return inq_context_plural(context, trace->n_ranks, "rank", "ranks");
    }
    const char *text =
        inq_arena_printf(context->arena, "%zu of %s", trace->n_ranks,
                         inq_context_plural(context, (uint64_t)trace->world_size, "rank", "ranks"));
    if (trace->n_unread > 0) {
        text = inq_arena_printf(context->arena, "%s (%zu not readable)", text, trace->n_unread);
    }
    if (trace->n_missing == 0) {
        return text;
    }
    return inq_arena_printf(context->arena, "%s (missing %s)", text,
                            inq_arena_list(context->arena, trace->missing, trace->n_missing));
}

static const char *steps_text(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->n_steps == 0) {
        return "no steps";
    }
    const char *inferred = trace->steps_inferred ? "inferred " : "";
    if (trace->n_steps == 1) {
        return inq_arena_printf(context->arena, "%sstep %" PRId64, inferred,
                                trace->steps[0].number);
    }
    return inq_arena_printf(context->arena, "%ssteps %" PRId64 "..%" PRId64, inferred,
                            trace->steps[0].number, trace->steps[trace->n_steps - 1].number);
}

/* Slices of programs are no ranks' work. */
static bool has_work(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            if (e->kind[i] != INQ_EVENT_SLICE) {
                return true;
            }
        }
    }
    return false;
}

/* "8 of 8 ranks, steps 10..14"; of a run that left no trace, what it left. */
static const char *what_is_here(const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (has_work(trace)) {
        return inq_arena_printf(context->arena, "%s, %s", ranks_text(context), steps_text(context));
    }
    if (trace->n_dumps > 0) {
        return inq_arena_printf(context->arena, "Flight Recorder dumps of %s, no traces",
                                inq_context_plural(context, trace->n_dumps, "rank", "ranks"));
    }
    return trace->n_ranks == 0 ? "No traces" : "No device work is recognized";
}

/* "kineto", or "kineto, op-table" when the files differ. */
static const char *formats_of(const struct inq_context *context)
{
    enum { MOST = 8 };
    const char *seen[MOST];
    size_t n = 0;
    const char *text = "";
    for (size_t i = 0; i < context->trace->n_files && n < MOST; i++) {
        const char *format = context->trace->files[i].format;
        size_t j = 0;
        while (j < n && strcmp(seen[j], format) != 0) {
            j++;
        }
        if (j == n) {
            text = inq_arena_printf(context->arena, "%s%s%s", text, n > 0 ? ", " : "", format);
            seen[n++] = format;
        }
    }
    return text;
}

/* The first line: all there is in one sentence. */
static void print_summary(const struct inq_run *run, const struct inq_context *first,
                          const struct inq_terminal *terminal)
{
    struct counts c = count(run);
    const char *line = "";
    if (run->n_traces == 0) {
        line = inq_arena_printf(first->arena, "No trace here: %s, none understood",
                                inq_context_plural(first, run->n_skipped, "file", "files"));
    } else if (run->n_traces == 1) {
        line = what_is_here(first);
        line = inq_arena_printf(first->arena, "%s, %s of %s", line,
                                inq_context_plural(first, c.files, "file", "files"),
                                formats_of(first));
    } else {
        line = inq_arena_printf(first->arena, "%zu jobs, %s, %s", run->n_traces,
                                inq_context_plural(first, c.ranks, "rank", "ranks"),
                                inq_context_plural(first, c.files, "file", "files"));
    }
    if (run->n_traces > 0 && c.damaged > 0) {
        line = inq_arena_printf(first->arena, "%s, %zu damaged", line, c.damaged);
    } else if (run->n_traces > 0) {
        line = inq_arena_printf(first->arena, "%s, no damage", line);
    }
    if (run->n_traces > 0 && run->n_skipped > 0) {
        line = inq_arena_printf(first->arena, "%s, %zu not read", line, run->n_skipped);
    }
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_terminal_words(terminal, line, 0, 0);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
}

static void print_facts(const struct inq_context *context, const struct inq_terminal *terminal)
{
    const struct inq_trace *trace = context->trace;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    const char *clock = inq_context_clock(context);
    if (inq_trace_span(trace, &first_ns, &last_ns)) {
        inq_out_printf(terminal->out, "  %s%s%s long\n", clock, clock[0] != '\0' ? ", " : "",
                       inq_context_ns(context, last_ns - first_ns));
    }
    if (trace->reduced != NULL) {
        inq_terminal_wrap(terminal, inq_sentence_reduced(context), 2, 2);
    }
    if (trace->n_collectives > 0 || trace->unmatched_comms > 0) {
        inq_out_printf(terminal->out, "  %zu collective%s matched across ranks",
                       trace->n_collectives, trace->n_collectives == 1 ? "" : "s");
        if (trace->unmatched_comms > 0) {
            inq_out_printf(terminal->out, ", %" PRIu64 " communication event%s without a match",
                           trace->unmatched_comms, trace->unmatched_comms == 1 ? "" : "s");
        }
        inq_out_text(terminal->out, "\n");
    }
    if (trace->n_files == 0) {
        return;
    }
    uint64_t bytes = 0;
    uint64_t raw = 0;
    uint64_t events = 0;
    uint64_t kept = 0;
    for (size_t i = 0; i < trace->n_files; i++) {
        bytes += trace->files[i].bytes;
        raw += trace->files[i].bytes_raw;
        events += trace->files[i].events;
        kept += trace->files[i].events_kept;
    }
    inq_out_printf(terminal->out,
                   "  %s on disk, %s uncompressed, %" PRIu64 " events, %" PRIu64 " kept\n",
                   inq_context_bytes(context, (double)bytes),
                   inq_context_bytes(context, (double)raw), events, kept);
}

/* Which of the optional columns any rank can fill. */
struct rank_columns {
    bool stage, dp_rank, host, device, clock;
};

static struct rank_columns find_columns(const struct inq_trace *trace)
{
    struct rank_columns c = {0};
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        c.stage |= rank->stage >= 0;
        c.dp_rank |= rank->dp_rank >= 0;
        c.host |= rank->host != 0;
        c.device |= rank->device_name != 0;
        c.clock |= rank->clock.aligned && rank->clock.offset_ns != 0;
    }
    return c;
}

static void add_rank(struct inq_table *table, const struct inq_context *context,
                     const struct rank_columns *c, uint32_t r)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_rank *rank = &trace->ranks[r];
    bool timed = rank->first_ns != INQ_TIME_NONE && rank->last_ns != INQ_TIME_NONE;
    inq_table_text(table, inq_context_rank(context, r));
    if (c->stage) {
        inq_table_count(table, rank->stage);
    }
    if (c->dp_rank) {
        inq_table_count(table, rank->dp_rank);
    }
    inq_table_count(table, (int64_t)rank->events.n);
    inq_table_count(table, (int64_t)rank->n_lanes);
    if (timed) {
        inq_table_text(table, inq_context_at(context, rank->first_ns));
        inq_table_ns(table, rank->last_ns - rank->first_ns);
    } else {
        inq_table_na(table);
        inq_table_na(table);
    }
    if (c->clock) {
        inq_table_printf(table, "%+.1f", (double)rank->clock.offset_ns / 1e3);
    }
    if (c->host) {
        inq_table_text(table, inq_trace_str(trace, rank->host));
    }
    if (c->device) {
        inq_table_text(table, inq_trace_str(trace, rank->device_name));
    }
    inq_table_text(table, rank->file < trace->n_files
                              ? inq_context_path(context, trace->files[rank->file].path)
                              : "");
}

static int64_t longest_span(const struct inq_trace *trace)
{
    int64_t longest_ns = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        if (rank->first_ns != INQ_TIME_NONE && rank->last_ns - rank->first_ns > longest_ns) {
            longest_ns = rank->last_ns - rank->first_ns;
        }
    }
    return longest_ns;
}

static void add_rank_columns(struct inq_table *table, const struct rank_columns *c)
{
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    if (c->stage) {
        inq_table_column(table, INQ_COLUMN_RIGHT, "stage");
    }
    if (c->dp_rank) {
        inq_table_column(table, INQ_COLUMN_RIGHT, "DP");
    }
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"GPU events", "lanes", "start s", NULL});
    inq_table_column_ns(table, "span");
    if (c->clock) {
        inq_table_column(table, INQ_COLUMN_RIGHT, "clock us");
    }
    if (c->host) {
        inq_table_column(table, INQ_COLUMN_STRETCH, "host");
    }
    if (c->device) {
        inq_table_column(table, INQ_COLUMN_STRETCH, "device");
    }
    inq_table_column(table, INQ_COLUMN_STRETCH, "file");
}

/* Prints a table and frees it; INQ_NOMEM when it could not be filled. */
static int finish(struct inq_table *table, const struct inq_terminal *terminal, struct inq_err *err)
{
    int code = table->code;
    if (code != INQ_OK) {
        code = inq_err_set(err, (enum inq_code)code, "no memory for a table");
    } else if (inq_table_rows(table) > 0) {
        inq_out_text(terminal->out, "\n");
        inq_table_print(table, terminal);
    }
    inq_table_release(table);
    return code;
}

static int print_ranks(const struct inq_context *context, const struct inq_terminal *terminal,
                       struct inq_err *err)
{
    const struct inq_trace *trace = context->trace;
    struct rank_columns columns = find_columns(trace);
    struct inq_table table = {.arena = context->arena, .title = "Ranks"};
    inq_table_unit(&table, longest_span(trace));
    add_rank_columns(&table, &columns);
    size_t left_out = 0;
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        if (!inq_context_shows(context, trace->ranks[r].rank)) {
            continue;
        }
        if (inq_table_rows(&table) < ROWS_SHOWN || context->options->verbose) {
            add_rank(&table, context, &columns, r);
        } else {
            left_out++;
        }
    }
    if (left_out > 0) {
        table.more = inq_arena_printf(context->arena, "and %zu more (-v shows all)", left_out);
    }
    return finish(&table, terminal, err);
}

static int print_damage(const struct inq_context *context, const struct inq_terminal *terminal,
                        struct inq_err *err)
{
    struct inq_table table = {.arena = context->arena, .title = "Damage and remarks"};
    inq_table_column(&table, INQ_COLUMN_STRETCH, "file");
    inq_table_column(&table, INQ_COLUMN_RIGHT, "events");
    inq_table_column(&table, INQ_COLUMN_WRAP, "what (times)");
    for (size_t i = 0; i < context->trace->n_files; i++) {
        const struct inq_file *file = &context->trace->files[i];
        const char *damage = inq_context_damage(context, &file->damage);
        if (damage[0] != '\0' || file->reason[0] != '\0') {
            bool both = damage[0] != '\0' && file->reason[0] != '\0';
            inq_table_text(&table, inq_context_path(context, file->path));
            inq_table_count(&table, (int64_t)file->events);
            inq_table_text(&table, inq_arena_printf(context->arena, "%s%s%s", damage,
                                                    both ? "; " : "", file->reason));
        }
    }
    return finish(&table, terminal, err);
}

bool inq_table_skipped(const struct inq_run *run, struct inq_table *table)
{
    table->title = "Files not read";
    inq_table_column(table, INQ_COLUMN_STRETCH, "file");
    inq_table_column(table, INQ_COLUMN_RIGHT, "bytes");
    inq_table_column(table, INQ_COLUMN_WRAP, "why");
    for (size_t i = 0; i < run->n_skipped && i < SKIPPED_SHOWN; i++) {
        inq_table_text(table, run->skipped[i].path);
        inq_table_count(table, (int64_t)run->skipped[i].bytes);
        inq_table_text(table, run->skipped[i].reason);
    }
    if (run->n_skipped > SKIPPED_SHOWN) {
        table->more = inq_arena_asprintf(table->arena, "and %zu more (-f json lists all)",
                                         run->n_skipped - SKIPPED_SHOWN);
    }
    return run->n_skipped > 0;
}

static int info_text(const struct inq_run *run, const struct inq_report_options *options,
                     struct inq_arena *arena, struct inq_out *out, struct inq_err *err)
{
    static const struct inq_trace empty;
    struct inq_terminal terminal = inq_terminal_of(options, out);
    const struct inq_trace *trace = run->n_traces > 0 ? run->traces[0] : &empty;
    struct inq_context context = inq_context_of(run, trace, NULL, options, arena);
    int code = INQ_OK;
    print_summary(run, &context, &terminal);
    for (size_t t = 0; t < run->n_traces && code == INQ_OK; t++) {
        context = inq_context_of(run, run->traces[t], NULL, options, arena);
        if (run->n_traces > 1) {
            inq_out_text(out, "\n");
            inq_terminal_wrap(&terminal,
                              inq_arena_printf(context.arena, "Job %zu of %zu, %.200s: %s, %s, %s",
                                               t + 1, run->n_traces, run->traces[t]->name,
                                               ranks_text(&context), steps_text(&context),
                                               formats_of(&context)),
                              0, 4);
        }
        print_facts(&context, &terminal);
        code = print_ranks(&context, &terminal, err);
        if (code == INQ_OK) {
            code = print_damage(&context, &terminal, err);
        }
    }
    struct inq_table skipped = {.arena = arena};
    if (code == INQ_OK && inq_table_skipped(run, &skipped)) {
        code = finish(&skipped, &terminal, err);
    }
    return code;
}

int inq_info_write(const struct inq_run *run, const struct inq_report_options *options,
                   struct inq_sink sink, struct inq_err *err)
{
    static const struct inq_report_options defaults;
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    options = options != NULL ? options : &defaults;
    if (options->format == INQ_FORMAT_TEXT) {
        code = info_text(run, options, &arena, &out, err);
    } else if (options->format == INQ_FORMAT_JSON) {
        info_json(run, options, &arena, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "info", err);
}
