/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/labels.h"

#include "base/arena_text.h"
#include "inquest/memory.h"
#include "report/terminal/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LABEL_COLUMNS = 24 };

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
    return inq_arena_time(context->arena, ns);
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

bool inq_file_hurt(const struct inq_file *file)
{
    return inq_damage_total(&file->damage) > file->damage.count[INQ_DAMAGE_NO_LAUNCH];
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
