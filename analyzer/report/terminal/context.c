/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/context.h"

#include "base/say.h"
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
static void find_shared(struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    if (trace->n_files == 0) {
        return;
    }
    const char *first = trace->files[0].path;
    size_t shared = shared_bytes(trace);
    view->folder_len = shared;
    while (view->folder_len > 0 && first[view->folder_len - 1] != '/') {
        view->folder_len--;
    }
    while (shared > view->folder_len && isalnum((unsigned char)first[shared - 1]) != 0) {
        shared--; /* words and numbers stay whole */
    }
    bool is_long = trace->n_files > 1 && shared >= view->folder_len + LONG_PREFIX;
    view->prefix_len = is_long ? shared : view->folder_len;
}

const char *inq_view_path(const struct inq_view *view, const char *path)
{
    if (strlen(path) <= view->prefix_len) {
        return path;
    }
    if (view->prefix_len > view->folder_len) {
        return inq_say(view->arena, "..%.600s", path + view->prefix_len);
    }
    return path + view->folder_len;
}

bool inq_file_hurt(const struct inq_file *file)
{
    return inq_damage_total(&file->damage) > file->damage.count[INQ_DAMAGE_NO_LAUNCH];
}

struct inq_view inq_view_of(const struct inq_run *run, const struct inq_trace *trace,
                            const struct inq_report *report,
                            const struct inq_report_options *options, struct inq_arena *arena)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    (void)inq_trace_span(trace, &first_ns, &last_ns);
    struct inq_view view = {.run = run,
                            .trace = trace,
                            .report = report,
                            .options = options,
                            .arena = arena,
                            .origin_ns = trace->cut ? trace->origin_ns : first_ns};
    find_shared(&view);
    return view;
}

bool inq_view_shows(const struct inq_view *view, int32_t rank)
{
    const struct inq_report_options *options = view->options;
    for (size_t i = 0; i < options->n_ranks; i++) {
        if (rank >= options->ranks[i].first && rank <= options->ranks[i].last) {
            return true;
        }
    }
    return options->ranks == NULL;
}

bool inq_view_shows_index(const struct inq_view *view, uint32_t index)
{
    return index < view->trace->n_ranks && inq_view_shows(view, view->trace->ranks[index].rank);
}

bool inq_view_shows_finding(const struct inq_view *view, const struct inq_finding *finding)
{
    for (size_t i = 0; i < finding->n_ranks; i++) {
        if (inq_view_shows(view, finding->ranks[i])) {
            return true;
        }
    }
    return finding->n_ranks == 0;
}

/* At most `columns` columns of the text, the middle left out. */
static const char *shorten(const struct inq_view *view, const char *text, int columns)
{
    struct inq_out out = {0};
    struct inq_pen pen = {.out = &out, .width = columns, .utf8 = true};
    (void)inq_pen_text(&pen, text, columns);
    const char *copy = out.len > 0 ? inq_arena_strdup(view->arena, out.buf) : "";
    view->arena->failed = view->arena->failed || out.code != INQ_OK;
    inq_out_release(&out);
    return copy != NULL ? copy : "";
}

bool inq_view_wants(const struct inq_view *view, enum inq_section section)
{
    return (view->options->hidden & INQ_SECTION_BIT(section)) == 0;
}

bool inq_view_is_brief(const struct inq_view *view)
{
    const struct inq_report_options *options = view->options;
    return options->format == INQ_FORMAT_TEXT && !options->verbose && options->hidden == 0;
}

const char *inq_view_unavailable(const struct inq_view *view, enum inq_section section)
{
    const struct inq_section_state *state = &view->report->sections[section];
    return state->reason == NULL
               ? ""
               : inq_say(view->arena, "not available: %s; %s", state->reason, state->next);
}

const char *inq_view_rank(const struct inq_view *view, uint32_t index)
{
    if (index >= view->trace->n_ranks) {
        return "?";
    }
    const struct inq_rank *rank = &view->trace->ranks[index];
    const char *label = inq_trace_str(view->trace, rank->label);
    if (label[0] != '\0') {
        return shorten(view, label, LABEL_COLUMNS);
    }
    return rank->rank >= 0 ? inq_say(view->arena, "%" PRId32, rank->rank) : "?";
}

const char *inq_view_plural(const struct inq_view *view, uint64_t n, const char *one,
                            const char *many)
{
    return inq_say(view->arena, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

const char *inq_view_group(const struct inq_view *view, uint32_t group)
{
    if (group >= view->trace->n_groups) {
        return "?";
    }
    const struct inq_group *g = &view->trace->groups[group];
    const char *name = inq_trace_str(view->trace, g->desc);
    if (name[0] == '\0' || strcmp(name, "undefined") == 0) {
        name = inq_trace_str(view->trace, g->name);
    }
    const char *ranks = g->n_ranks > 0 ? inq_say_list(view->arena, g->ranks, g->n_ranks) : "";
    if (name[0] != '\0' && ranks[0] != '\0') {
        return inq_say(view->arena, "%.40s [%s]", name, ranks);
    }
    if (name[0] != '\0') {
        return name;
    }
    return ranks[0] != '\0' ? inq_say(view->arena, "[%s]", ranks) : "?";
}

const char *inq_view_bytes(const struct inq_view *view, double bytes)
{
    char buf[32];
    return inq_say(view->arena, "%s", inq_size_format(bytes, INQ_SIZE_DECIMAL, buf, sizeof buf));
}

const char *inq_view_ns(const struct inq_view *view, int64_t ns)
{
    char buf[32];
    return inq_say(view->arena, "%s", inq_time_format(ns, buf, sizeof buf));
}

const char *inq_view_at(const struct inq_view *view, int64_t ns)
{
    int64_t since_ns = ns - view->origin_ns;
    const char *sign = since_ns < 0 ? "-" : "";
    int64_t us = (since_ns < 0 ? -since_ns : since_ns) / 1000;
    return inq_say(view->arena, "%s%" PRId64 ".%06" PRId64, sign, us / 1000000, us % 1000000);
}

const char *inq_view_clock(const struct inq_view *view)
{
    const int64_t year_2000_ns = 946684800000000000;
    const struct inq_trace *trace = view->trace;
    if (trace->n_ranks == 0 || view->origin_ns < year_2000_ns) {
        return "";
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (!trace->ranks[r].has_clock_epoch) {
            return "";
        }
    }
    time_t seconds = (time_t)(view->origin_ns / 1000000000);
    struct tm utc;
    char text[32];
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0) {
        return "";
    }
    return inq_say(view->arena, "%s.%03d UTC", text, (int)(view->origin_ns % 1000000000 / 1000000));
}

const char *inq_view_damage(const struct inq_view *view, const struct inq_damage *damage)
{
    const char *text = "";
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        if (damage->count[kind] > 0) {
            text = inq_say(view->arena, "%s%s%s (%" PRIu64 ")", text, text[0] != '\0' ? ", " : "",
                           inq_damage_text((enum inq_damage_kind)kind), damage->count[kind]);
        }
    }
    return text;
}
