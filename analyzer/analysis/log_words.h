/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a failure that logs tell of. */
#ifndef INQ_ANALYSIS_LOG_WORDS_H
#define INQ_ANALYSIS_LOG_WORDS_H

#include "analysis/log_case.h"

/* "0000:9b:00.0", "" for none. */
const char *inq_log_bus_text(struct inq_log_case *c, uint64_t bus);
/* What a line tells, with the numbers that matter. */
const char *inq_log_what(struct inq_log_case *c, const struct inq_log_mark *mark);

const char *inq_log_headline(struct inq_log_case *c, const struct inq_failure *f);
const char *inq_log_advice(struct inq_log_case *c, const struct inq_failure *f);
/* Fills failure->alternatives. */
void inq_log_alternatives(struct inq_log_case *c, struct inq_failure *f);

#endif
