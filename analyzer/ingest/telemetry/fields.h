/* SPDX-License-Identifier: Apache-2.0 */
/* The words of telemetry: names of columns and metrics, values with units, times. Pure functions.
 */
#ifndef INQ_INGEST_TELEMETRY_FIELDS_H
#define INQ_INGEST_TELEMETRY_FIELDS_H

#include "inquest/telemetry.h"

enum { INQ_GPU_MAX_UUIDS = 256 }; /* of one host */

enum inq_gpu_column_kind {
    INQ_GPU_COLUMN_OTHER,
    INQ_GPU_COLUMN_TIME,
    INQ_GPU_COLUMN_INDEX,
    INQ_GPU_COLUMN_UUID,
    INQ_GPU_COLUMN_METRIC,
    INQ_GPU_COLUMN_REASONS, /* a mask of bits */
    INQ_GPU_COLUMN_REASON   /* one of them: "Active", "Not Active" */
};

struct inq_gpu_column {
    enum inq_gpu_column_kind kind;
    enum inq_gpu_metric metric;
    uint32_t bit;
};

/* By the name of a column or metric, its unit in brackets or not. */
struct inq_gpu_column inq_gpu_column_of(const char *name, size_t n);
/* "1980", "1980 MHz", "71.52 W"; false for "[N/A]", "-" and the like. */
bool inq_gpu_number(const char *text, size_t n, double *value);
/* "0x0000000000000040" or a decimal number. */
bool inq_gpu_reasons(const char *text, size_t n, uint32_t *bits);
/* "2026/01/15 08:00:00.123", "2026-01-15T08:00:00", "20260115 08:00:00" as if it were UTC. */
bool inq_gpu_time(const char *text, size_t n, int64_t *at_ns);

#endif
