/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a comparison. */
#ifndef INQ_REPORT_COMPARE_COMPARE_H
#define INQ_REPORT_COMPARE_COMPARE_H

#include "base/json.h"
#include "inquest/compare.h"
#include "report/sections/sections.h"

struct inq_compare_view {
    const struct inq_comparison *c;
    struct inq_arena *arena;
    bool verbose; /* all rows */
};

/* "8 ranks, 9 steps of 14.2 ms: name" */
/* What was damaged or missing; "" nothing. */
const char *inq_compare_damage_line(const struct inq_compare_view *view);
const char *inq_compare_run_line(const struct inq_compare_view *view, int run);

/* Each fills a table; one without rows is not shown. The last row has no builder. */
typedef void inq_compare_table(const struct inq_compare_view *view, struct inq_table *table);
extern inq_compare_table *const inq_compare_tables[];

void inq_compare_json(const struct inq_compare_view *view, struct inq_out *out);

#endif
