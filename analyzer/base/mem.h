/* SPDX-License-Identifier: Apache-2.0 */
/* The hook in the one way to memory: it is counted, bounded by what the system allows, and tests
 * can fail the Nth allocation. */
#ifndef INQ_BASE_MEM_H
#define INQ_BASE_MEM_H

#include "inquest/memory.h"

struct inq_mem_budget {
    uint64_t total_bytes;     /* the smallest limit that holds for the process */
    uint64_t available_bytes; /* what it may take on top of what it has, by the tightest of them */
};

/* Asks the machine (what is free or can be freed), the control groups of the process and those
 * around them (versions 1 and 2) and its address space (ulimit -v). `root`: the folder whose proc/
 * and sys/ are read, "" for the system's own. A limit that cannot be read is none. */
struct inq_mem_budget inq_mem_budget_of(const char *root);

/* As inq_mem_alloc, for what is filled and read from end to end: what is long enough lies on large
 * pages where the system has them, because there a small one costs more to come by (0.5 to 10 us)
 * than to fill. */
void *inq_mem_alloc_long(size_t size);

/* Bytes held at this moment by the whole process. */
uint64_t inq_mem_held(void);
/* Bytes that it may take besides: what the system has for it, less a reserve. */
uint64_t inq_mem_available(void);
/* Holds the process to `bytes` instead; 0: to what the system allows. */
void inq_mem_set_limit(uint64_t bytes);

/* For the next INQ_NOMEM that this thread records: what the process would have had to hold, and
 * what it may. Kept with the errors (error.c), which say it. */
void inq_err_note_shortage(uint64_t needed, uint64_t allowed);

/* Tests only: the Nth allocation from now fails (1 = the next); 0 switches it off. Returns what was
 * left to go of the call before: 0 when its allocation has failed. */
long inq_mem_fail_after(long n);

#endif
