/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a run may take. */
#ifndef INQ_INGEST_BUDGET_H
#define INQ_INGEST_BUDGET_H

#include <stdint.h>

/* Bytes of memory that this process may use: the least of the machine's, its control group's and
 * what its address space has left (ulimit -v). */
uint64_t inq_machine_memory(void);

#endif
