/* SPDX-License-Identifier: Apache-2.0 */
/* The hook in the one way to memory: tests fail the Nth allocation. */
#ifndef INQ_BASE_MEM_H
#define INQ_BASE_MEM_H

#include "inquest/memory.h"

/* Tests only: the Nth allocation from now fails (1 = the next); 0 switches it off. Returns what was
 * left to go of the call before: 0 when its allocation has failed. */
long inq_mem_fail_after(long n);

#endif
