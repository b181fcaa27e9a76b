/* SPDX-License-Identifier: Apache-2.0 */
/* Words that the sentences of a failure share. */
#ifndef INQ_ANALYSIS_FAILURE_SAY_H
#define INQ_ANALYSIS_FAILURE_SAY_H

#include "analysis/failure_words.h"

/* printf into the report, at most 1 KiB. */
const char *inq_failure_say(struct inq_failure_case *c, const char *fmt, ...) INQ_PRINTF(2, 3);
/* "8-11,15" of ascending numbers. */
const char *inq_failure_numbers(struct inq_failure_case *c, const int32_t *ranks, size_t n);
/* "rank 3", "ranks 8-11,15". */
const char *inq_failure_ranks(struct inq_failure_case *c, const int32_t *ranks, size_t n,
                              bool capital);

#endif
