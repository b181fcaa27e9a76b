/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a run may take, and takes. */
#ifndef INQ_INGEST_BUDGET_H
#define INQ_INGEST_BUDGET_H

#include "trace/shard.h"

/* Bytes held by a shard's columns, strings and lists. */
uint64_t inq_shard_bytes(const struct inq_shard *shard);
/* Bytes of memory that this process may use: the machine's, or its control group's if less. */
uint64_t inq_machine_memory(void);

#endif
