/* SPDX-License-Identifier: Apache-2.0 */
/* What the analyses found: findings with their evidence, and what stopped the run. */
#include "report/data/data.h"

#include "inquest/failure.h"

/* ---- findings
 * ------------------------------------------------------------------------------------ */

static const struct inq_report_column findings_columns[] = {
    INQ_DATA_JOB,
    {"position", INQ_TYPE_INTEGER, "", "key; 0 costs most"},
    {"id", INQ_TYPE_TEXT, "", "stable name: kind and subject"},
    {"kind", INQ_TYPE_TEXT, "", "as in inquest-report(5)"},
    {"severity", INQ_TYPE_TEXT, "", "info, low, medium or high"},
    {"confidence", INQ_TYPE_TEXT, "", "established, supported or hypothesis"},
    {"title", INQ_TYPE_TEXT, "", "one sentence"},
    {"detail", INQ_TYPE_TEXT, "", "measured against expected; NULL: nothing to add"},
    {"advice", INQ_TYPE_TEXT, "", "what to try next; NULL: none"},
    {"ranks", INQ_TYPE_TEXT, "", "JSON array of global rank numbers"},
    {"stages", INQ_TYPE_TEXT, "", "JSON array of pipeline stages"},
    {"cost_ns_per_step", INQ_TYPE_INTEGER, "ns",
     "what a step would lose less without it; NULL: not measured"},
    {"low_ns", INQ_TYPE_INTEGER, "ns", "lower end of its 95 % interval; NULL: none"},
    {"high_ns", INQ_TYPE_INTEGER, "ns", "upper end; NULL: none"},
    {"share", INQ_TYPE_REAL, "1", "of the step; NULL: not measured"},
    {"measured", INQ_TYPE_TEXT, "", "with unit; NULL: does not apply"},
    {"expected", INQ_TYPE_TEXT, "", "with unit; NULL: does not apply"},
};

static void fill_findings(const struct inq_context *context, struct inq_data_rows *rows)
{
    int64_t position = 0;
    for (size_t i = 0; i < context->report->n_findings; i++) {
        const struct inq_finding *f = &context->report->findings[i];
        if (!inq_context_shows_finding(context, f)) {
            continue;
        }
        inq_data_int(rows, position++);
        inq_data_text(rows, f->id);
        inq_data_text(rows, inq_finding_kind_text(f->kind));
        inq_data_text(rows, inq_severity_text(f->severity));
        inq_data_text(rows, inq_confidence_text(f->confidence));
        inq_data_text(rows, f->title);
        inq_data_text(rows, f->detail);
        inq_data_text(rows, f->advice);
        inq_data_list(rows, context, f->ranks, f->n_ranks);
        inq_data_list(rows, context, f->stages, f->n_stages);
        inq_data_known(rows, f->cost_ns_per_step);
        inq_data_time(rows, f->low_ns);
        inq_data_time(rows, f->high_ns);
        inq_data_real(rows, f->share);
        inq_data_text(rows, f->measured);
        inq_data_text(rows, f->expected);
    }
}

/* ---- finding_fixes
 * ------------------------------------------------------------------------------- */

static const struct inq_report_column finding_fixes_columns[] = {
    INQ_DATA_JOB,
    {"position", INQ_TYPE_INTEGER, "", "key of the finding"},
    {"fix_id", INQ_TYPE_INTEGER, "", "key"},
    {"spec", INQ_TYPE_TEXT, "", "for inquest fix --fix"},
};

static void fill_finding_fixes(const struct inq_context *context, struct inq_data_rows *rows)
{
    int64_t position = 0;
    for (size_t i = 0; i < context->report->n_findings; i++) {
        const struct inq_finding *f = &context->report->findings[i];
        for (size_t k = 0; inq_context_shows_finding(context, f) && k < f->n_fixes; k++) {
            inq_data_int(rows, position);
            inq_data_int(rows, (int64_t)k);
            inq_data_text(rows, f->fixes[k]);
        }
        position += inq_context_shows_finding(context, f);
    }
}

static const char *const finding_fixes_foreign[] = {"(job, position) REFERENCES findings", NULL};

/* ---- evidence
 * ------------------------------------------------------------------------------------ */

static const struct inq_report_column evidence_columns[] = {
    INQ_DATA_JOB,
    {"position", INQ_TYPE_INTEGER, "", "key of the finding"},
    {"evidence_id", INQ_TYPE_INTEGER, "", "key"},
    {"rank", INQ_TYPE_INTEGER, "", "global rank number; NULL: of none"},
    {"lane", INQ_TYPE_TEXT, "", "NULL: of none"},
    {"start_ns", INQ_TYPE_INTEGER, "ns", "NULL: not a time range"},
    {"end_ns", INQ_TYPE_INTEGER, "ns", "NULL: not a time range"},
    {"what", INQ_TYPE_TEXT, "", "in words"},
};

static void fill_evidence(const struct inq_context *context, struct inq_data_rows *rows)
{
    int64_t position = 0;
    for (size_t i = 0; i < context->report->n_findings; i++) {
        const struct inq_finding *f = &context->report->findings[i];
        for (size_t k = 0; inq_context_shows_finding(context, f) && k < f->n_evidence; k++) {
            const struct inq_evidence *e = &f->evidence[k];
            inq_data_int(rows, position);
            inq_data_int(rows, (int64_t)k);
            inq_data_known(rows, e->rank);
            inq_data_text(rows, e->lane);
            inq_data_time(rows, e->start_ns);
            inq_data_time(rows, e->end_ns);
            inq_data_text(rows, e->what);
        }
        position += inq_context_shows_finding(context, f);
    }
}

static const char *const evidence_foreign[] = {"(job, position) REFERENCES findings", NULL};

/* ---- failures
 * ------------------------------------------------------------------------------------ */

static const struct inq_report_column failures_columns[] = {
    INQ_DATA_JOB,
    {"class", INQ_TYPE_TEXT, "", "as in inquest-report(5)"},
    {"subclass", INQ_TYPE_TEXT, "", "NULL: none"},
    {"confidence", INQ_TYPE_TEXT, "", "established, supported or hypothesis"},
    {"headline", INQ_TYPE_TEXT, "", "one sentence"},
    {"root_ranks", INQ_TYPE_TEXT, "", "JSON array: where it began"},
    {"victim_ranks", INQ_TYPE_TEXT, "", "JSON array: who only waited"},
    {"missing_ranks", INQ_TYPE_TEXT, "", "JSON array: ranks without a whole dump"},
    {"group_name", INQ_TYPE_TEXT, "", "process group where the waiting began; NULL: not known"},
    {"seq", INQ_TYPE_INTEGER, "", "number of the collective in its group; NULL: not known"},
    {"op", INQ_TYPE_TEXT, "", "NULL: not known"},
    {"sizes", INQ_TYPE_TEXT, "", "NULL: not known"},
    {"advice", INQ_TYPE_TEXT, "", "what to do next; NULL: none"},
};

static void fill_failures(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_failure *f = context->report->failure;
    if (f == NULL) {
        return;
    }
    inq_data_text(rows, inq_failure_class_text(f->cls));
    inq_data_text(rows, f->subclass);
    inq_data_text(rows, inq_confidence_text(f->confidence));
    inq_data_text(rows, f->headline);
    inq_data_list(rows, context, f->root_ranks, f->n_roots);
    inq_data_list(rows, context, f->victim_ranks, f->n_victims);
    inq_data_list(rows, context, f->missing_ranks, f->n_missing);
    inq_data_text(rows, f->group);
    inq_data_known(rows, f->seq);
    inq_data_text(rows, f->op);
    inq_data_text(rows, f->sizes);
    inq_data_text(rows, f->advice);
}

/* ---- failure_evidence
 * ---------------------------------------------------------------------------- */

static const struct inq_report_column failure_evidence_columns[] = {
    INQ_DATA_JOB,
    {"evidence_id", INQ_TYPE_INTEGER, "", "key"},
    {"rank", INQ_TYPE_INTEGER, "", "global rank number; NULL: of none"},
    {"file", INQ_TYPE_TEXT, "", "dump or log; NULL: none"},
    {"line", INQ_TYPE_INTEGER, "", "of a log, from 1; NULL: not of a log"},
    {"what", INQ_TYPE_TEXT, "", "in words; NULL: the line says it"},
    {"text", INQ_TYPE_TEXT, "", "the line of the log as it is; NULL: not of a log"},
};

static void fill_failure_evidence(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_failure *f = context->report->failure;
    for (size_t i = 0; f != NULL && i < f->n_evidence; i++) {
        const struct inq_failure_evidence *e = &f->evidence[i];
        inq_data_int(rows, (int64_t)i);
        inq_data_known(rows, e->rank);
        inq_data_text(rows, e->file);
        inq_data_known(rows, e->line > 0 ? (int64_t)e->line : -1);
        inq_data_text(rows, e->what);
        inq_data_text(rows, e->line > 0 ? e->text : NULL);
    }
}

static const char *const failure_evidence_foreign[] = {"(job) REFERENCES failures", NULL};

static const char *const no_foreign[] = {NULL};

const struct inq_data_table inq_data_findings[] = {
    {INQ_DATA_SHAPE("findings", "most costly first", "job, position", no_foreign, "job, kind",
                    findings_columns),
     INQ_SECTION_FINDINGS, fill_findings},
    {INQ_DATA_SHAPE("finding_fixes", "specs for inquest fix", "job, position, fix_id",
                    finding_fixes_foreign, NULL, finding_fixes_columns),
     INQ_SECTION_FINDINGS, fill_finding_fixes},
    {INQ_DATA_SHAPE("evidence", "where a finding shows", "job, position, evidence_id",
                    evidence_foreign, NULL, evidence_columns),
     INQ_SECTION_FINDINGS, fill_evidence},
    {INQ_DATA_SHAPE("failures", "what stopped a job: at most one row per job", "job", no_foreign,
                    NULL, failures_columns),
     INQ_SECTION_FAILURE, fill_failures},
    {INQ_DATA_SHAPE("failure_evidence", "what shows the failure; the first row tells most",
                    "job, evidence_id", failure_evidence_foreign, NULL, failure_evidence_columns),
     INQ_SECTION_FAILURE, fill_failure_evidence},
    {.fill = NULL},
};
