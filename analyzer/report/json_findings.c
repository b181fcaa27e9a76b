/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `verdict` and `findings`. */
#include "report/document.h"
#include "report/info.h"

#include <math.h>

void inq_json_verdict(struct inq_json *json, const struct inq_verdict *verdict)
{
    inq_json_object(json, "verdict");
    inq_json_string(json, "headline", verdict->headline);
    inq_json_string(json, "class", verdict->cls);
    inq_json_known(json, "lost_ns_per_step", verdict->lost_ns_per_step);
    inq_json_string(json, "confidence", inq_confidence_text(verdict->confidence));
    inq_json_end_object(json);
}

static void write_numbers(struct inq_json *json, const char *key, const int32_t *numbers, size_t n)
{
    inq_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_int(json, NULL, numbers[i]);
    }
    inq_json_end_array(json);
}

static void write_text(struct inq_json *json, const char *key, const char *text)
{
    inq_json_string(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

static void write_evidence(struct inq_json *json, const struct inq_evidence *evidence)
{
    inq_json_object(json, NULL);
    inq_json_known(json, "rank", evidence->rank);
    write_text(json, "lane", evidence->lane);
    inq_json_time(json, "start_ns", evidence->start_ns);
    inq_json_time(json, "end_ns", evidence->end_ns);
    write_text(json, "what", evidence->what);
    inq_json_end_object(json);
}

static void write_finding(struct inq_json *json, const struct inq_finding *f)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "id", f->id);
    inq_json_string(json, "kind", inq_finding_kind_text(f->kind));
    inq_json_string(json, "severity", inq_severity_text(f->severity));
    inq_json_string(json, "confidence", inq_confidence_text(f->confidence));
    write_text(json, "title", f->title);
    write_text(json, "detail", f->detail);
    write_text(json, "advice", f->advice);
    write_numbers(json, "ranks", f->ranks, f->n_ranks);
    write_numbers(json, "stages", f->stages, f->n_stages);
    inq_json_known(json, "cost_ns_per_step", f->cost_ns_per_step);
    inq_json_double(json, "share", f->share >= 0 ? f->share : (double)NAN);
    write_text(json, "measured", f->measured);
    write_text(json, "expected", f->expected);
    inq_json_array(json, "evidence");
    for (size_t i = 0; i < f->n_evidence; i++) {
        write_evidence(json, &f->evidence[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "fixes");
    for (size_t i = 0; i < f->n_fixes; i++) {
        inq_json_string(json, NULL, f->fixes[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

void inq_json_findings(struct inq_json *json, const struct inq_view *view)
{
    inq_json_array(json, "findings");
    for (size_t i = 0; i < view->report->n_findings; i++) {
        if (inq_view_shows_finding(view, &view->report->findings[i])) {
            write_finding(json, &view->report->findings[i]);
        }
    }
    inq_json_end_array(json);
}
