/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on what stopped the run. */
#include "base/arena_text.h"
#include "inquest/failure.h"
#include "inquest/log.h"
#include "report/terminal/terminal.h"
#include "report/sections/tables.h"

#include <inttypes.h>

enum { MAX_FRAMES = 12, MAX_PLACES = 8 };

static void row(struct inq_table *table, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        inq_table_text(table, name);
        inq_table_text(table, value);
    }
}

/* "rank 3, GPU 0000:9b:00.0, node-7, pid 123: Xid 79 ..." */
static const char *say_place(const struct inq_context *context,
                             const struct inq_failure_place *place)
{
    const char *rank =
        place->rank >= 0 ? inq_arena_printf(context->arena, "rank %" PRId32 ", ", place->rank) : "";
    const char *gpu =
        place->bus[0] != '\0' ? inq_arena_printf(context->arena, "GPU %.40s, ", place->bus) : "";
    const char *host =
        place->host[0] != '\0' ? inq_arena_printf(context->arena, "%.100s, ", place->host) : "";
    const char *pid =
        place->pid >= 0 ? inq_arena_printf(context->arena, "pid %" PRId64 ", ", place->pid) : "";
    const char *peer =
        place->peer[0] != '\0'
            ? inq_arena_printf(context->arena, "the process at %.100s, ", place->peer)
            : "";
    return inq_arena_printf(context->arena, "%s%s%s%s%s%.300s", rank, gpu, host, pid, peer,
                            place->what);
}

static bool logs_have_events(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t i = 0; i < trace->n_logs; i++) {
        n += trace->logs[i]->n_events;
    }
    return n > 0;
}

static void build_failure(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL) {
        return;
    }
    table->title = "Failure";
    bool logs = logs_have_events(context->trace);
    bool dumps = context->trace->n_dumps > 0;
    table->note = logs    ? "roots: where it began; victims: ranks that only suffered from it"
                  : dumps ? "from Flight Recorder dumps; roots: the ranks that the others wait "
                            "for, directly or through others, and that wait for nobody"
                          : "";
    inq_table_column(table, INQ_COLUMN_LEFT, "item");
    inq_table_column(table, INQ_COLUMN_WRAP,
                     !logs   ? "what the dumps show"
                     : dumps ? "what dumps and logs show"
                             : "what the logs show");
    row(table, "class",
        f->subclass != NULL ? inq_arena_printf(context->arena, "%s (%s)",
                                               inq_failure_class_text(f->cls), f->subclass)
                            : inq_failure_class_text(f->cls));
    row(table, "confidence", inq_confidence_text(f->confidence));
    row(table, "roots",
        f->n_roots > 0 ? inq_arena_list(context->arena, f->root_ranks, f->n_roots) : "none");
    for (size_t i = 0; i < f->n_places && i < MAX_PLACES; i++) {
        row(table, i == 0 ? "where" : "and", say_place(context, &f->places[i]));
    }
    row(table, "victims", inq_arena_list(context->arena, f->victim_ranks, f->n_victims));
    row(table, "cut, older or no dump",
        inq_arena_list(context->arena, f->missing_ranks, f->n_missing));
    row(table, "suspects", inq_arena_list(context->arena, f->suspected_ranks, f->n_suspected));
    row(table, "group", f->group);
    if (f->seq >= 0) {
        row(table, "op",
            inq_arena_printf(context->arena, "%.200s%snumber %" PRId64, f->op,
                             f->op[0] != '\0' ? ", " : "", f->seq));
    }
    row(table, "sizes", f->sizes);
    for (size_t i = 0; i < f->n_alternatives; i++) {
        row(table, i == 0 ? "it could be" : "or", f->alternatives[i]);
    }
    for (size_t i = 0; i < f->n_set_aside; i++) {
        row(table, i == 0 ? "set aside" : "and", f->set_aside[i]);
    }
    row(table, "next", f->advice);
}

static void build_failure_evidence(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL || f->n_evidence == 0) {
        return;
    }
    table->title = "Evidence of the failure";
    inq_table_column(table, INQ_COLUMN_RIGHT, "rank");
    inq_table_column(table, INQ_COLUMN_STRETCH, "file");
    inq_table_column(table, INQ_COLUMN_WRAP, "evidence");
    for (size_t i = 0; i < f->n_evidence; i++) {
        const struct inq_failure_evidence *e = &f->evidence[i];
        if (e->rank >= 0) {
            inq_table_count(table, e->rank);
        } else {
            inq_table_text(table, "");
        }
        const char *file = e->file[0] != '\0' ? inq_context_path(context, e->file) : "";
        inq_table_text(
            table, e->line > 0 ? inq_arena_printf(context->arena, "%.300s:%" PRIu64, file, e->line)
                               : file);
        inq_table_text(table, e->text != NULL ? e->text : e->what);
    }
}

static void build_failure_moments(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL || f->n_moments == 0) {
        return;
    }
    size_t n = inq_rows_shown(context, f->n_moments);
    table->title = "Course of the failure";
    table->note = "times as printed in the logs; the first line of each kind";
    inq_table_column(table, INQ_COLUMN_LEFT, "time");
    inq_table_column(table, INQ_COLUMN_LEFT, "phase");
    inq_table_column(table, INQ_COLUMN_RIGHT, "rank");
    inq_table_column(table, INQ_COLUMN_WRAP, "what happened");
    for (size_t i = 0; i < n; i++) {
        const struct inq_timeline_event *moment = &f->moments[i];
        char time[INQ_EVENT_TIME_TEXT];
        inq_table_text(table, inq_event_time_text(moment, time, sizeof time));
        inq_table_text(table, inq_failure_phase_text(moment->phase));
        if (moment->rank >= 0) {
            inq_table_count(table, moment->rank);
        } else {
            inq_table_text(table, "");
        }
        inq_table_text(table, moment->what);
    }
    inq_table_left_out(table, f->n_moments - n);
}

static void build_failure_victims(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL || f->n_victim_lines == 0) {
        return;
    }
    table->title = "Consequences";
    table->note = "lines of those that only suffered, by kind";
    inq_table_column(table, INQ_COLUMN_RIGHT, "lines");
    inq_table_column(table, INQ_COLUMN_LEFT, "ranks");
    inq_table_column(table, INQ_COLUMN_WRAP, "what");
    for (size_t i = 0; i < f->n_victim_lines; i++) {
        const struct inq_failure_victims *group = &f->victim_lines[i];
        inq_table_count(table, (int64_t)group->count);
        inq_table_text(table, inq_arena_list(context->arena, group->ranks, group->n_ranks));
        inq_table_text(table, group->what);
    }
}

static void build_failure_groups(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL || f->n_matches == 0) {
        return;
    }
    size_t n = inq_rows_shown(context, f->n_matches);
    table->title = "Unfinished collectives";
    table->note = "the oldest of each group";
    inq_table_column(table, INQ_COLUMN_STRETCH, "group");
    inq_table_column(table, INQ_COLUMN_RIGHT, "number");
    inq_table_column(table, INQ_COLUMN_LEFT, "state");
    inq_table_column(table, INQ_COLUMN_WRAP, "what is the matter");
    for (size_t i = 0; i < n; i++) {
        inq_table_text(table, f->matches[i].group);
        inq_table_count(table, f->matches[i].seq);
        inq_table_text(table, inq_match_state_text(f->matches[i].state));
        inq_table_text(table, f->matches[i].what);
    }
    inq_table_left_out(table, f->n_matches - n);
}

static void build_failure_stacks(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL || f->n_stacks == 0) {
        return;
    }
    table->title = "Stacks of pending ops";
    table->note = "innermost first";
    inq_table_column(table, INQ_COLUMN_RIGHT, "rank");
    inq_table_column(table, INQ_COLUMN_LEFT, "op");
    inq_table_column(table, INQ_COLUMN_WRAP, "frame");
    for (size_t i = 0; i < f->n_stacks; i++) {
        const struct inq_failure_stack *stack = &f->stacks[i];
        for (uint32_t k = 0; k < stack->n_frames && k < MAX_FRAMES; k++) {
            const struct inq_flight_frame *frame = &stack->frames[k];
            inq_table_count(table, stack->rank);
            inq_table_text(table, k == 0 ? stack->op : "");
            inq_table_text(table, inq_arena_printf(context->arena, "%.200s %.600s:%" PRId64,
                                                   frame->name, frame->file, frame->line));
        }
    }
}

const struct inq_table_kind inq_tables_failure[] = {
    {build_failure, false, true, INQ_SECTION_FAILURE},
    {build_failure_moments, false, true, INQ_SECTION_FAILURE},
    {build_failure_evidence, false, true, INQ_SECTION_FAILURE},
    {build_failure_victims, false, false, INQ_SECTION_FAILURE},
    {build_failure_groups, true, false, INQ_SECTION_FAILURE},
    {build_failure_stacks, true, false, INQ_SECTION_FAILURE},
    {NULL, false, false, INQ_SECTION_COUNT},
};
