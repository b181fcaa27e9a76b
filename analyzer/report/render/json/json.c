/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-report/1", and "inquest-report-set/1" for several jobs: the contract with programs. Keys
 * and their order are documented in man inquest-report(5); what was not measured is null, a section
 * that does not apply is absent. */
#include "report/report.h"
#include "report/info/info.h"
#include "report/render/json/json.h"

#include "inquest/version.h"

static void write_options(struct inq_json *json, const struct inq_report_options *options)
{
    inq_json_object(json, "options");
    for (size_t i = 0; i < options->n_settings; i++) {
        inq_json_string(json, options->settings[i].name, options->settings[i].value);
    }
    inq_json_end_object(json);
}

static void write_inputs(struct inq_json *json, const struct inq_view *view, bool skipped)
{
    inq_json_object(json, "inputs");
    inq_json_array(json, "files");
    for (size_t i = 0; i < view->trace->n_files; i++) {
        inq_json_file(json, &view->trace->files[i]);
    }
    inq_json_end_array(json);
    if (skipped) {
        inq_json_skipped(json, view->run);
    }
    inq_json_rank_lists(json, view->trace);
    inq_json_clocks(json, view);
    inq_json_time(json, "origin_ns", view->trace->n_ranks > 0 ? view->origin_ns : INQ_TIME_NONE);
    inq_json_end_object(json);
}

static void write_unavailable(struct inq_json *json, enum inq_section section,
                              const struct inq_section_state *state)
{
    inq_json_object(json, inq_section_key(section));
    inq_json_object(json, "unavailable");
    inq_json_string(json, "reason", state->reason);
    inq_json_string(json, "next", state->next);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

/* In the order of the document. */
static void write_sections(struct inq_json *json, const struct inq_view *view)
{
    static const struct {
        enum inq_section section;
        void (*write)(struct inq_json *json, const struct inq_view *view); /* NULL: has no rows */
    } parts[] = {
        {INQ_SECTION_FAILURE, inq_json_failure},
        {INQ_SECTION_TRAINING, inq_json_training},
        {INQ_SECTION_ACCOUNT, inq_json_account},
        {INQ_SECTION_BLAME, NULL},
        {INQ_SECTION_FINDINGS, inq_json_findings},
        {INQ_SECTION_RANKS, inq_json_ranks},
        {INQ_SECTION_COLLECTIVES, inq_json_collectives},
        {INQ_SECTION_PIPELINE, inq_json_pipeline},
        {INQ_SECTION_WHATIF, inq_json_whatif},
        {INQ_SECTION_CRITICAL_PATH, inq_json_critical_path},
        {INQ_SECTION_KERNELS, inq_json_kernels},
        {INQ_SECTION_METHOD, inq_json_peers},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct inq_section_state *state = &view->report->sections[parts[i].section];
        if (!inq_view_wants(view, parts[i].section)) {
            continue;
        }
        if (state->reason != NULL) {
            write_unavailable(json, parts[i].section, state);
        } else if (parts[i].write != NULL) {
            parts[i].write(json, view);
        }
    }
}

/* One report. In a set, options and skipped files are told once, by the set. */
static void write_report(const struct inq_document *doc, const struct inq_report *report,
                         struct inq_json *json)
{
    struct inq_view view = inq_view_of(doc->run, report->trace, report, doc->options, doc->arena);
    bool alone = doc->n_reports == 1;
    inq_json_object(json, NULL);
    inq_json_string(json, "schema", "inquest-report/1");
    inq_json_string(json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_string(json, "name", report->trace->name);
    if (alone) {
        write_options(json, doc->options);
    }
    write_inputs(json, &view, alone);
    inq_json_verdict(json, &report->verdict);
    write_sections(json, &view);
    inq_json_end_object(json);
}

void inq_document_json(const struct inq_document *doc, struct inq_out *out, bool compact)
{
    struct inq_json json;
    inq_json_init(&json, out, compact);
    if (doc->n_reports == 1) {
        write_report(doc, doc->reports[0], &json);
        return;
    }
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-report-set/1");
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    write_options(&json, doc->options);
    inq_json_skipped(&json, doc->run);
    inq_json_array(&json, "runs");
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_report(doc, doc->reports[i], &json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}
