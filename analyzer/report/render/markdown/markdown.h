/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of Markdown (GitHub's and GitLab's flavour). */
#ifndef INQ_REPORT_RENDER_MARKDOWN_MARKDOWN_H
#define INQ_REPORT_RENDER_MARKDOWN_MARKDOWN_H

#include "report/report.h"

/* Writes text so that it shows as it is: no mark-up, HTML, link, mention or line break of an input
 * takes effect. More than `columns` columns are cut in the middle. */
void inq_markdown_text(struct inq_out *out, const char *text, int columns);
/* A table, without its title. */
void inq_markdown_table(struct inq_out *out, const struct inq_table *table);

/* The heat map of workers, or the timeline of one step, where it applies. */
int inq_markdown_chart(const struct inq_context *context, bool heat, struct inq_out *out,
                       struct inq_err *err);

#endif
