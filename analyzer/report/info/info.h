/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_REPORT_INFO_INFO_H
#define INQ_REPORT_INFO_INFO_H

#include "report/render/json/json.h"
#include "report/sections/sections.h"
#include "report/terminal/terminal.h"

/* ---- shared with the reports ----------------------------------------------------------------- */

/* Fills a table of the files that were not understood; false when there are none. */
bool inq_table_skipped(const struct inq_run *run, struct inq_table *table);
#endif
