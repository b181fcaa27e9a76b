/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_REPORT_INFO_INFO_H
#define INQ_REPORT_INFO_INFO_H

#include "report/render/json/json.h"
#include "report/sections/sections.h"
#include "report/terminal/terminal.h"

/* ---- shared with the reports ----------------------------------------------------------------- */

/* Fills a table of the files that were not understood; false when there are none. */
bool inq_table_skipped(const struct inq_run *run, struct inq_table *table);
/* {path, format, bytes, ..., damage[]} of one file. */
void inq_json_file(struct inq_json *json, const struct inq_file *file);
void inq_json_skipped(struct inq_json *json, const struct inq_run *run);
/* clock[] of the ranks shown. */
void inq_json_clocks(struct inq_json *json, const struct inq_view *view);
/* ranks_present, ranks_missing; ranks without a number are null. */
void inq_json_rank_lists(struct inq_json *json, const struct inq_trace *trace);

#endif
