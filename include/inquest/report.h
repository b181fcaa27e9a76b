/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: the result structure to bytes. Nothing is computed here. */
#ifndef INQUEST_REPORT_H
#define INQUEST_REPORT_H

#include "inquest/analysis.h"
#include "inquest/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_format { INQ_FORMAT_TEXT, INQ_FORMAT_JSON, INQ_FORMAT_MARKDOWN };

struct inq_report_setting {
    const char *name, *value; /* value NULL: not set */
};

/* Zero-initialised options are the defaults. */
struct inq_report_options {
    enum inq_format format;
    int width;    /* text: columns; 0: 100 */
    bool color;   /* text: ANSI colours */
    bool utf8;    /* text: block and line characters */
    bool verbose; /* all rows of every table */
    /* Only the rows and findings of these ranks; NULL: all. Totals and verdict stay. */
    const struct inq_range *ranks;
    size_t n_ranks;
    /* What the analysis was asked for, to be written into the JSON. */
    const struct inq_report_setting *settings;
    size_t n_settings;
};

/* Writes all reports of one run (one per job) as one document. Fails with what the sink returns,
 * INQ_NOMEM. */
INQ_API int inq_report_write(const struct inq_run *run, struct inq_report *const *reports,
                             size_t n_reports, const struct inq_report_options *options,
                             struct inq_sink sink, struct inq_err *err);

/* Writes what a run holds, without any analysis: jobs, ranks, steps, damage, skipped files. Text or
 * JSON ("inquest-info/1"); Markdown is INQ_UNSUPPORTED. */
INQ_API int inq_info_write(const struct inq_run *run, const struct inq_report_options *options,
                           struct inq_sink sink, struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
