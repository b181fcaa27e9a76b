/* SPDX-License-Identifier: Apache-2.0 */
/* The safety limits of reading: what goes past one is dropped and counted, or refused with its
 * name. No real input comes near them. */
#ifndef INQ_BASE_LIMITS_H
#define INQ_BASE_LIMITS_H

/* X(NAME, value, "unit", "of what") */
#define INQ_LIMITS(X)                                                                              \
    X(MAX_FILES, 1 << 20, "", "files of one run")                                                  \
    X(MAX_LEVELS, 64, "", "folders inside each other")                                             \
    /* how jobs are collected from hosts; quines of zip never end */                               \
    X(MAX_ARCHIVE_LEVELS, 3, "", "archives inside each other")                                     \
    X(MAX_LAYERS, 4, "", "compressions of one file on top of each other")                          \
    X(MAX_RANKS, 1 << 20, "", "ranks of one job, and the largest rank number")                     \
    X(SCAN_MAX_EVENT, 16 << 20, "bytes", "one event of a JSON trace")                              \
    X(SCAN_MAX_STRING, 16 << 10, "bytes", "one string of a JSON trace; longer ones are cut")       \
    X(SCAN_MAX_DEPTH, 256, "", "arrays and objects inside each other")                             \
    X(KINETO_MAX_GROUPS, 16384, "", "process groups of one trace")                                 \
    X(CSV_MAX_RECORD, 1 << 20, "bytes", "one row of an op table")                                  \
    X(JSON_MAX_BYTES, 64 << 20, "bytes", "a baseline or a spec")

enum inq_limit {
#define INQ_LIMIT_ENUM(name, value, unit, what) INQ_##name = (value),
    INQ_LIMITS(INQ_LIMIT_ENUM)
#undef INQ_LIMIT_ENUM
};

#endif
