/* SPDX-License-Identifier: Apache-2.0 */
/* The `training` section. */
#include "inquest/training.h"
#include "report/report.h"

static void write_event(struct inq_json *json, const struct inq_training_event *event)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "kind", inq_training_event_text(event->kind));
    inq_json_int(json, "first_step", event->first_step);
    inq_json_int(json, "last_step", event->last_step);
    inq_json_bool(json, "to_end", event->to_end);
    inq_json_int(json, "line", (int64_t)event->line);
    inq_json_double(json, "measured", event->measured);
    inq_json_double(json, "expected", event->expected);
    inq_json_string(json, "what", event->what);
    inq_json_end_object(json);
}

void inq_json_training(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_training *t = view->report->training;
    if (t == NULL) {
        return;
    }
    inq_json_object(json, "training");
    inq_json_string(json, "file", t->file);
    inq_json_int(json, "rows", (int64_t)t->n_rows);
    inq_json_bool(json, "steps_printed", t->numbered);
    inq_json_bool(json, "sampled", t->sampled);
    inq_json_int(json, "first_step", t->first_step);
    inq_json_int(json, "last_step", t->last_step);
    inq_json_int(json, "restarts", (int64_t)t->n_restarts);
    inq_json_double(json, "loss_first", t->loss_first);
    inq_json_double(json, "loss_least", t->loss_least);
    inq_json_double(json, "loss_last", t->loss_last);
    inq_json_double(json, "step_s_median", t->step_s);
    inq_json_double(json, "throughput_median", t->throughput);
    inq_json_array(json, "events");
    for (size_t i = 0; i < t->n_events; i++) {
        write_event(json, &t->events[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}
