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

struct inq_report_options {
    enum inq_format format;
    int width;    /* text: columns; 0: 100 */
    bool color;   /* text: ANSI colours */
    bool utf8;    /* text: block and line characters */
    bool verbose; /* all rows of every table */
};

/* Writes all reports of one run (one per job) as one document. */
INQ_API int inq_report_write(const struct inq_run *run, struct inq_report *const *reports,
                             size_t n_reports, const struct inq_report_options *options,
                             struct inq_sink sink, struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
