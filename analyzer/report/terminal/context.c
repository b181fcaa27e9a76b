/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/context.h"

#include "base/arena_text.h"
#include "base/time.h"
#include "inquest/memory.h"
#include "report/terminal/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LABEL_COLUMNS = 24, LONG_PREFIX = 10 };

bool inq_trace_span(const struct inq_trace *trace, int64_t *first_ns, int64_t *last_ns)
{
    bool any = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        if (rank->first_ns == INQ_TIME_NONE || rank->last_ns == INQ_TIME_NONE) {
            continue;
        }
        *first_ns = any && *first_ns < rank->first_ns ? *first_ns : rank->first_ns;
        *last_ns = any && *last_ns > rank->last_ns ? *last_ns : rank->last_ns;
        any = true;
    }
    return any;
}

/* Bytes with which all paths begin. */
static size_t shared_bytes(const struct inq_trace *trace)
{
    const char *first = trace->files[0].path;
    size_t len = strlen(first);
    for (size_t i = 1; i < trace->n_files; i++) {
        size_t same = 0;
        const char *path = trace->files[i].path;
        while (same < len && path[same] == first[same]) {
            same++;
        }
        len = same;
    }
    return len;
}

/* Fills the parts of the paths that all files share. */
static void find_shared(struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->n_files == 0) {
        return;
    }
    const char *first = trace->files[0].path;
    size_t shared = shared_bytes(trace);
    context->folder_len = shared;
    while (context->folder_len > 0 && first[context->folder_len - 1] != '/') {
        context->folder_len--;
    }
    while (shared > context->folder_len && isalnum((unsigned char)first[shared - 1]) != 0) {
        shared--; /* words and numbers stay whole */
    }
    bool is_long = trace->n_files > 1 && shared >= context->folder_len + LONG_PREFIX;
    context->prefix_len = is_long ? shared : context->folder_len;
}

const char *inq_context_path(const struct inq_context *context, const char *path)
{
    if (strlen(path) <= context->prefix_len) {
        return path;
    }
    if (context->prefix_len > context->folder_len) {
        return inq_arena_printf(context->arena, "..%.600s", path + context->prefix_len);
    }
    return path + context->folder_len;
}

bool inq_file_hurt(const struct inq_file *file)
{
    return inq_damage_total(&file->damage) > file->damage.count[INQ_DAMAGE_NO_LAUNCH];
}

struct inq_context inq_context_of(const struct inq_run *run, const struct inq_trace *trace,
                                  const struct inq_report *report,
                                  const struct inq_report_options *options, struct inq_arena *arena)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    (void)inq_trace_span(trace, &first_ns, &last_ns);
    struct inq_context context = {.run = run,
                                  .trace = trace,
                                  .report = report,
                                  .options = options,
                                  .arena = arena,
                                  .origin_ns = trace->cut ? trace->origin_ns : first_ns};
    find_shared(&context);
    return context;
}

bool inq_context_shows(const struct inq_context *context, int32_t rank)
{
    const struct inq_report_options *options = context->options;
    for (size_t i = 0; i < options->n_ranks; i++) {
        if (rank >= options->ranks[i].first && rank <= options->ranks[i].last) {
            return true;
        }
    }
    return options->ranks == NULL;
}

bool inq_context_shows_index(const struct inq_context *context, uint32_t index)
{
    return index < context->trace->n_ranks &&
           inq_context_shows(context, context->trace->ranks[index].rank);
}

bool inq_context_shows_finding(const struct inq_context *context, const struct inq_finding *finding)
{
    for (size_t i = 0; i < finding->n_ranks; i++) {
        if (inq_context_shows(context, finding->ranks[i])) {
            return true;
        }
    }
    return finding->n_ranks == 0;
}

/* At most `columns` columns of the text, the middle left out. */
static const char *shorten(const struct inq_context *context, const char *text, int columns)
{
    struct inq_out out = {0};
    struct inq_terminal terminal = {.out = &out, .width = columns, .utf8 = true};
    (void)inq_terminal_text(&terminal, text, columns);
    const char *copy = out.len > 0 ? inq_arena_strdup(context->arena, out.buf) : "";
    context->arena->failed = context->arena->failed || out.code != INQ_OK;
    inq_out_release(&out);
    return copy != NULL ? copy : "";
}

bool inq_context_wants(const struct inq_context *context, enum inq_section section)
{
    return (context->options->hidden & INQ_SECTION_BIT(section)) == 0;
}

bool inq_context_is_brief(const struct inq_context *context)
{
    const struct inq_report_options *options = context->options;
    return options->format == INQ_FORMAT_TEXT && !options->verbose && options->hidden == 0;
}

const char *inq_context_unavailable(const struct inq_context *context, enum inq_section section)
{
    const struct inq_section_state *state = &context->report->sections[section];
    return state->reason == NULL ? ""
                                 : inq_arena_printf(context->arena, "not available: %s; %s",
                                                    state->reason, state->next);
}

const char *inq_context_rank(const struct inq_context *context, uint32_t index)
{
    if (index >= context->trace->n_ranks) {
        return "?";
    }
    const struct inq_rank *rank = &context->trace->ranks[index];
    const char *label = inq_trace_str(context->trace, rank->label);
    if (label[0] != '\0') {
        return shorten(context, label, LABEL_COLUMNS);
    }
    return rank->rank >= 0 ? inq_arena_printf(context->arena, "%" PRId32, rank->rank) : "?";
}

const char *inq_context_plural(const struct inq_context *context, uint64_t n, const char *one,
                               const char *many)
{
    return inq_arena_printf(context->arena, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

const char *inq_context_group(const struct inq_context *context, uint32_t group)
{
    if (group >= context->trace->n_groups) {
        return "?";
    }
    const struct inq_group *g = &context->trace->groups[group];
    const char *name = inq_trace_str(context->trace, g->desc);
    if (name[0] == '\0' || strcmp(name, "undefined") == 0) {
        name = inq_trace_str(context->trace, g->name);
    }
    const char *ranks = g->n_ranks > 0 ? inq_arena_list(context->arena, g->ranks, g->n_ranks) : "";
    if (name[0] != '\0' && ranks[0] != '\0') {
        return inq_arena_printf(context->arena, "%.40s [%s]", name, ranks);
    }
    if (name[0] != '\0') {
        return name;
    }
    return ranks[0] != '\0' ? inq_arena_printf(context->arena, "[%s]", ranks) : "?";
}

const char *inq_context_bytes(const struct inq_context *context, double bytes)
{
    char buf[32];
    return inq_arena_printf(context->arena, "%s",
                            inq_size_format(bytes, INQ_SIZE_DECIMAL, buf, sizeof buf));
}

const char *inq_context_ns(const struct inq_context *context, int64_t ns)
{
    char buf[32];
    return inq_arena_printf(context->arena, "%s", inq_time_format(ns, buf, sizeof buf));
}

const char *inq_context_at(const struct inq_context *context, int64_t ns)
{
    int64_t since_ns = ns - context->origin_ns;
    const char *sign = since_ns < 0 ? "-" : "";
    int64_t us = (since_ns < 0 ? -since_ns : since_ns) / 1000;
    return inq_arena_printf(context->arena, "%s%" PRId64 ".%06" PRId64, sign, us / 1000000,
                            us % 1000000);
}

const char *inq_context_clock(const struct inq_context *context)
{
    const int64_t year_2000_ns = 946684800000000000;
    const struct inq_trace *trace = context->trace;
    if (trace->n_ranks == 0 || context->origin_ns < year_2000_ns) {
        return "";
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (!trace->ranks[r].has_clock_epoch) {
            return "";
        }
    }
    time_t seconds = (time_t)(context->origin_ns / 1000000000);
    struct tm utc;
    char text[32];
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0) {
        return "";
    }
    return inq_arena_printf(context->arena, "%s.%03d UTC", text,
                            (int)(context->origin_ns % 1000000000 / 1000000));
}

const char *inq_context_damage(const struct inq_context *context, const struct inq_damage *damage)
{
    const char *text = "";
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        if (damage->count[kind] > 0) {
            text = inq_arena_printf(
                context->arena, "%s%s%s (%" PRIu64 ")", text, text[0] != '\0' ? ", " : "",
                inq_damage_text((enum inq_damage_kind)kind), damage->count[kind]);
        }
    }
    return text;
}
