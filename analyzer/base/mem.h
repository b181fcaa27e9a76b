/* SPDX-License-Identifier: Apache-2.0 */
/* The one hook through which all memory is had, so that tests can fail the Nth allocation. */
#ifndef INQ_BASE_MEM_H
#define INQ_BASE_MEM_H

#include "inquest/error.h"

/* As malloc, calloc, realloc; NULL on failure. Free with inq_mem_free. */
void *inq_mem_alloc(size_t size);
void *inq_mem_zalloc(size_t count, size_t size);
void *inq_mem_realloc(void *ptr, size_t size);
void inq_mem_free(void *ptr);

/* Tests only: the Nth allocation from now fails (1 = the next); 0 switches it off. Returns what was
 * left to go of the call before: 0 when its allocation has failed. */
long inq_mem_fail_after(long n);

/* Makes room for `need` elements of `elem` bytes in *ptr (geometric growth), at most `max`.
 * Returns 0, INQ_NOMEM or INQ_LIMIT; on failure *ptr and *cap are unchanged. */
int inq_mem_grow(void *ptr_to_ptr, size_t *cap, size_t need, size_t elem, size_t max,
                 struct inq_err *err);

#endif
