/* SPDX-License-Identifier: Apache-2.0 */
/* A report made by hand: two ranks, one of them unknown, names as hostile as inputs can have them.
 */
#ifndef INQ_TESTS_SUPPORT_REPORT_H
#define INQ_TESTS_SUPPORT_REPORT_H

#include "base/strtab.h"
#include "inquest/report.h"

#define HOSTILE_NAME                                                                               \
    "evil\033[31m|`*_<img src=x onerror=alert(1)></script>\r\n@team #12 \xff\xfe\x01"
#define HOSTILE_HIDDEN                                                                             \
    "safe\xe2\x80\xae"                                                                             \
    "etad\xe2\x80\x8b"

struct made_report {
    struct inq_strtab names;
    struct inq_trace trace;
    struct inq_trace *traces[2];
    struct inq_run run;
    struct inq_report report;
    struct inq_report *reports[2];
    struct inq_file files[2], skipped[1];
    struct inq_rank ranks[2];
    struct inq_step steps[2];
    int64_t step_ns[2], step_start_ns[2];
    struct inq_group groups[1];
    int32_t group_ranks[2], missing[1];
    struct inq_collective collectives[1];
    struct inq_rank_time times[2];
    struct inq_collectives coll;
    struct inq_wait waits[2];
    struct inq_coll_stat stats[1];
    struct inq_coll_worst worst[1];
    struct inq_evidence evidence[2];
    struct inq_finding findings[2];
    int32_t finding_ranks[1];
    char long_name[3000];
};

/* Fills *made; everything points into it. Release with made_report_release. */
void made_report_fill(struct made_report *made);
void made_report_release(struct made_report *made);

/* The document as a string that the caller frees with free(). */
char *made_report_write(const struct made_report *made, const struct inq_report_options *options,
                        size_t n_reports);

#endif
