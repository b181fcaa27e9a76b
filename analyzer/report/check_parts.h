/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a check. */
#ifndef INQ_REPORT_CHECK_PARTS_H
#define INQ_REPORT_CHECK_PARTS_H

#include "base/json.h"
#include "inquest/check.h"
#include "inquest/report.h"

struct inq_check_view {
    const struct inq_check *check;
    const char *name, *baseline;
    struct inq_arena *arena;
};

/* "Fails: 2 of 9 checks." */
const char *inq_check_headline(const struct inq_check_view *view);

void inq_check_json(const struct inq_check_view *view, struct inq_out *out);
void inq_check_junit(const struct inq_check_view *view, struct inq_out *out);
void inq_check_github(const struct inq_check_view *view, struct inq_out *out);

#endif
