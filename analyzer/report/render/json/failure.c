/* SPDX-License-Identifier: Apache-2.0 */
/* The section `failure`. */
#include "inquest/failure.h"
#include "report/report.h"
#include "report/info/info.h"
#include "report/terminal/terminal.h"

static void write_evidence(struct inq_json *json, const char *key,
                           const struct inq_failure_evidence *evidence)
{
    inq_json_object(json, key);
    inq_json_known(json, "rank", evidence->rank);
    inq_json_given(json, "file", evidence->file);
    inq_json_given(json, "what", evidence->what);
    if (evidence->line > 0) {
        inq_json_int(json, "line", (int64_t)evidence->line);
        inq_json_given(json, "text", evidence->text);
    }
    inq_json_end_object(json);
}

static void write_where(struct inq_json *json, const char *file, uint64_t line)
{
    inq_json_given(json, "file", file);
    inq_json_int(json, "line", (int64_t)line);
}

/* Where the roots are, the course of events and who only suffered: what logs tell. */
static void write_logs(struct inq_json *json, const struct inq_failure *f)
{
    inq_json_array(json, "roots");
    for (size_t i = 0; i < f->n_places; i++) {
        const struct inq_failure_place *place = &f->places[i];
        inq_json_object(json, NULL);
        inq_json_known(json, "rank", place->rank);
        inq_json_given(json, "host", place->host);
        inq_json_known(json, "pid", place->pid);
        inq_json_given(json, "bus_id", place->bus);
        inq_json_given(json, "peer", place->peer);
        inq_json_given(json, "what", place->what);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_array(json, "timeline");
    for (size_t i = 0; i < f->n_moments; i++) {
        const struct inq_timeline_event *moment = &f->moments[i];
        bool wall = moment->time_ns != INQ_TIME_NONE && !moment->since_boot;
        char time[INQ_EVENT_TIME_TEXT];
        inq_json_object(json, NULL);
        inq_json_string(json, "phase", inq_failure_phase_text(moment->phase));
        if (wall && moment->dated) {
            inq_json_int(json, "time_ns", moment->time_ns);
        } else {
            inq_json_null(json, "time_ns");
        }
        inq_json_given(json, "time", inq_event_time_text(moment, time, sizeof time));
        inq_json_known(json, "rank", moment->rank);
        write_where(json, moment->file, moment->line);
        inq_json_given(json, "what", moment->what);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_array(json, "victims");
    for (size_t i = 0; i < f->n_victim_lines; i++) {
        const struct inq_failure_victims *group = &f->victim_lines[i];
        inq_json_object(json, NULL);
        inq_json_given(json, "what", group->what);
        inq_json_int(json, "count", (int64_t)group->count);
        inq_json_numbers(json, "ranks", group->ranks, group->n_ranks);
        write_where(json, group->file, group->line);
        inq_json_given(json, "text", group->text);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_stack(struct inq_json *json, const struct inq_failure_stack *stack)
{
    inq_json_object(json, NULL);
    inq_json_int(json, "rank", stack->rank);
    inq_json_given(json, "op", stack->op);
    inq_json_array(json, "frames");
    for (uint32_t i = 0; i < stack->n_frames; i++) {
        inq_json_object(json, NULL);
        inq_json_given(json, "name", stack->frames[i].name);
        inq_json_given(json, "file", stack->frames[i].file);
        inq_json_int(json, "line", stack->frames[i].line);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

static void write_match(struct inq_json *json, const struct inq_failure_match *match)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "group", match->group);
    inq_json_int(json, "seq", match->seq);
    inq_json_string(json, "state", inq_match_state_text(match->state));
    inq_json_numbers(json, "ranks", match->ranks, match->n_ranks);
    inq_json_given(json, "what", match->what);
    inq_json_end_object(json);
}

static void write_wait(struct inq_json *json, const struct inq_failure_wait *wait)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "op", wait->op);
    inq_json_string(json, "group", wait->group);
    inq_json_known(json, "seq", wait->seq);
    inq_json_numbers(json, "ranks", wait->ranks, wait->n_ranks);
    inq_json_numbers(json, "for_ranks", wait->others, wait->n_others);
    inq_json_end_object(json);
}

static void write_place(struct inq_json *json, const struct inq_failure *f)
{
    if (f->n_evidence > 0) {
        write_evidence(json, "first_evidence", &f->evidence[0]);
    } else {
        inq_json_null(json, "first_evidence");
    }
    inq_json_given(json, "group", f->group);
    inq_json_known(json, "seq", f->seq);
    inq_json_given(json, "op", f->op);
    inq_json_given(json, "sizes", f->sizes);
}

void inq_json_failure(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL) {
        return;
    }
    inq_json_object(json, "failure");
    inq_json_string(json, "class", inq_failure_class_text(f->cls));
    inq_json_given(json, "subclass", f->subclass);
    inq_json_string(json, "confidence", inq_confidence_text(f->confidence));
    inq_json_string(json, "headline", f->headline);
    inq_json_numbers(json, "root_ranks", f->root_ranks, f->n_roots);
    inq_json_numbers(json, "victim_ranks", f->victim_ranks, f->n_victims);
    inq_json_numbers(json, "missing_ranks", f->missing_ranks, f->n_missing);
    inq_json_numbers(json, "suspect_ranks", f->suspected_ranks, f->n_suspected);
    write_place(json, f);
    inq_json_array(json, "evidence");
    for (size_t i = 0; i < f->n_evidence; i++) {
        write_evidence(json, NULL, &f->evidence[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "stacks");
    for (size_t i = 0; i < f->n_stacks; i++) {
        write_stack(json, &f->stacks[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "collectives");
    for (size_t i = 0; i < f->n_matches; i++) {
        write_match(json, &f->matches[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "waits");
    for (size_t i = 0; i < f->n_waits; i++) {
        write_wait(json, &f->waits[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "alternatives");
    for (size_t i = 0; i < f->n_alternatives; i++) {
        inq_json_string(json, NULL, f->alternatives[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "set_aside");
    for (size_t i = 0; i < f->n_set_aside; i++) {
        inq_json_string(json, NULL, f->set_aside[i]);
    }
    inq_json_end_array(json);
    inq_json_given(json, "advice", f->advice);
    write_logs(json, f);
    inq_json_end_object(json);
}
