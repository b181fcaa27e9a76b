/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `verdict` and `findings`. */
#include "report/report.h"
#include "report/info/info.h"

#include <math.h>

void inq_json_verdict(struct inq_json *json, const struct inq_verdict *verdict)
{
    inq_json_object(json, "verdict");
    inq_json_string(json, "headline", verdict->headline);
    inq_json_given(json, "why", verdict->why);
    inq_json_given(json, "next", verdict->next);
    inq_json_given(json, "sure", verdict->sure);
    inq_json_string(json, "class", verdict->cls);
    inq_json_known(json, "lost_ns_per_step", verdict->lost_ns_per_step);
    inq_json_string(json, "confidence", inq_confidence_text(verdict->confidence));
    if (verdict->without != 0) {
        inq_json_array(json, "without");
        for (int s = 0; s < INQ_SECTION_COUNT; s++) {
            if ((verdict->without & INQ_SECTION_BIT(s)) != 0) {
                inq_json_string(json, NULL, inq_section_key((enum inq_section)s));
            }
        }
        inq_json_end_array(json);
    }
    inq_json_end_object(json);
}

static void write_evidence(struct inq_json *json, const struct inq_evidence *evidence)
{
    inq_json_object(json, NULL);
    inq_json_known(json, "rank", evidence->rank);
    inq_json_given(json, "lane", evidence->lane);
    inq_json_time(json, "start_ns", evidence->start_ns);
    inq_json_time(json, "end_ns", evidence->end_ns);
    inq_json_given(json, "what", evidence->what);
    inq_json_end_object(json);
}

static void write_finding(struct inq_json *json, const struct inq_finding *f)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "id", f->id);
    inq_json_string(json, "kind", inq_finding_kind_text(f->kind));
    inq_json_string(json, "severity", inq_severity_text(f->severity));
    inq_json_string(json, "confidence", inq_confidence_text(f->confidence));
    inq_json_given(json, "title", f->title);
    inq_json_given(json, "detail", f->detail);
    inq_json_given(json, "advice", f->advice);
    inq_json_numbers(json, "ranks", f->ranks, f->n_ranks);
    inq_json_numbers(json, "stages", f->stages, f->n_stages);
    inq_json_known(json, "cost_ns_per_step", f->cost_ns_per_step);
    inq_json_double(json, "share", f->share >= 0 ? f->share : (double)NAN);
    inq_json_given(json, "measured", f->measured);
    inq_json_given(json, "expected", f->expected);
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
