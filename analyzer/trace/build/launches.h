/* SPDX-License-Identifier: Apache-2.0 */
/* A table of distinct launch configurations. */
#ifndef INQ_TRACE_BUILD_LAUNCHES_H
#define INQ_TRACE_BUILD_LAUNCHES_H

#include "base/hash.h"
#include "inquest/trace.h"

/* All-zero is a valid table, of the row 0 alone: nothing recorded. */
struct inq_launches {
    size_t n, cap; /* 0 until another row is added; then row 0 is there too */
    struct inq_launch *rows;
    struct inq_map by_content;
};

/* Finds the row or appends it; *index is 0 for one of which nothing is known. Fails with INQ_NOMEM,
 * INQ_LIMIT. */
int inq_launches_add(struct inq_launches *launches, const struct inq_launch *row, uint32_t *index,
                     struct inq_err *err);
void inq_launches_release(struct inq_launches *launches);

#endif
