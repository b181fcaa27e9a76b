/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an op table, by the names in its first line, in any order. */
#ifndef INQ_INGEST_OPTABLE_HEADER_H
#define INQ_INGEST_OPTABLE_HEADER_H

#include "ingest/optable/csv.h"

enum inq_op_column {
    INQ_COL_TYPE,
    INQ_COL_START,
    INQ_COL_DURATION,
    INQ_COL_END, /* instead of a duration */
    INQ_COL_STEP,
    INQ_COL_RANK,
    INQ_COL_DP_RANK,
    INQ_COL_STAGE,
    INQ_COL_MICRO_BATCH,
    INQ_COL_CHUNK,
    INQ_COL_SEQ,
    INQ_COL_COUNT
};

struct inq_op_header {
    char separator;
    size_t n_columns;               /* of any name, at most INQ_CSV_MAX_FIELDS */
    int place[INQ_COL_COUNT];       /* index of the field; -1: no such column */
    int64_t unit_ns[INQ_COL_COUNT]; /* of the three columns of time */
};

/* Understands a first line (`len` bytes, without its line break). False when it is not the header
 * of an op table: that has an op type, a start, and a duration or an end. */
bool inq_op_header_parse(const char *line, size_t len, struct inq_op_header *header);

#endif
