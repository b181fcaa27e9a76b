/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of GPU work that HTA works on: its rounding, its choice of profiler steps, its kernel
 * types. */
#ifndef INQ_ANALYSIS_REFERENCE_HTA_H
#define INQ_ANALYSIS_REFERENCE_HTA_H

#include "inquest/trace.h"

enum inq_hta_type { INQ_HTA_COMPUTATION, INQ_HTA_COMMUNICATION, INQ_HTA_MEMORY, INQ_HTA_OTHER };

enum inq_hta_type inq_hta_type_of(const char *name);

#endif
