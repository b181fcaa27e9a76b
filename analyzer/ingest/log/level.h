/* SPDX-License-Identifier: Apache-2.0 */
/* How severe a line says that it is, whatever it tells. */
#ifndef INQ_INGEST_LOG_LEVEL_H
#define INQ_INGEST_LOG_LEVEL_H

#include "inquest/log.h"

/* "[rank1]:[E1213 17:25:49 ...]", "2025-03-01 12:00:00 - trainer - ERROR - ", "srun: error: ",
 * "level=fatal", "[WARNING|trainer.py:12]": the first severity among the words in front of a
 * message; INQ_LOG_LEVEL_NONE when there is none. A severity that is only talked of is none. */
enum inq_log_level inq_log_level_of(const char *start, const char *end);

#endif
