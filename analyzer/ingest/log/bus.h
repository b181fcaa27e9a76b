/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses. */
#ifndef INQ_INGEST_LOG_BUS_H
#define INQ_INGEST_LOG_BUS_H

#include <stdint.h>

/* "0000:9b:00", "PCI:0000:9b:00.0", "9b000" at p; INQ_LOG_NO_BUS when there is none. */
uint64_t inq_log_bus(const char *p, const char *end);

#endif
