/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the system lets this process take. */
#ifndef INQ_BASE_BUDGET_H
#define INQ_BASE_BUDGET_H

#include <stdint.h>

struct inq_budget {
    uint64_t total_bytes;     /* the smallest limit that holds for the process */
    uint64_t available_bytes; /* what it may take on top of what it has, by the tightest of them */
};

/* Asks the machine (what is free or can be freed), the control groups of the process and those
 * around them (versions 1 and 2) and its address space (ulimit -v). `root`: the folder whose proc/
 * and sys/ are read, "" for the system's own. A limit that cannot be read is none. */
struct inq_budget inq_budget_of(const char *root);
/* What is left of the address space alone; UINT64_MAX where it has no limit. */
uint64_t inq_budget_address_space(void);

#endif
