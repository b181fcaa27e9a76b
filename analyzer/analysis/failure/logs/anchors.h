/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of lines are: of machines, of launchers; and what exit codes say. */
#ifndef INQ_ANALYSIS_FAILURE_LOGS_ANCHORS_H
#define INQ_ANALYSIS_FAILURE_LOGS_ANCHORS_H

#include "inquest/log.h"

/* A line of the machine, not of a process of the job. */
bool inq_log_of_host(enum inq_log_kind kind);
/* An exit code as a signal (9 for -9 and 137), 0 when it is none. */
int64_t inq_log_signal(int64_t code);

/* What a status of InfiniBand's work completions says, and of which side. */
const char *inq_log_ib_status(int64_t code);

/* A process's end, as its launcher tells it. */
bool inq_log_is_end(enum inq_log_kind kind);

#endif
