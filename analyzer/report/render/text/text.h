/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text for people. */
#ifndef INQ_REPORT_RENDER_TEXT_TEXT_H
#define INQ_REPORT_RENDER_TEXT_TEXT_H

#include "report/sections/sections.h"

/* Prints title, note, header, rows. */
void inq_table_print(const struct inq_table *table, const struct inq_terminal *terminal);

#endif
