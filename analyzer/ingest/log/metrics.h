/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of training output: a loss, and what else they say of the step. */
#ifndef INQ_INGEST_LOG_METRICS_H
#define INQ_INGEST_LOG_METRICS_H

#include "inquest/log.h"

#include <stddef.h>

/* Reads [p, p + n) as a line of training output, whoever wrote it: names and numbers, joined by
 * blanks, ':' or '='. False when it tells no loss of training (one of validation is none). */
bool inq_log_read_metric(const char *p, size_t n, struct inq_log_metric *metric);

/* OLMo and Composer print a step in many lines: the step's number stands without a blank in front,
 * all else behind one. Adds to what the line at `start` said what the lines around it say;
 * [lo, hi) is the text at hand. Leaves a metric with a step as it is. */
void inq_log_complete_metric(const char *lo, const char *hi, const char *start,
                             struct inq_log_metric *metric);

#endif
