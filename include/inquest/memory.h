/* SPDX-License-Identifier: Apache-2.0 */
/* The one way through which the library has all its memory; sizes as people read them. */
#ifndef INQUEST_MEMORY_H
#define INQUEST_MEMORY_H

#include "inquest/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As malloc, calloc, realloc; NULL on failure. Free with inq_mem_free. */
INQ_API void *inq_mem_alloc(size_t size);
INQ_API void *inq_mem_zalloc(size_t count, size_t size);
INQ_API void *inq_mem_realloc(void *ptr, size_t size);
INQ_API void inq_mem_free(void *ptr);

/* Makes room for `need` elements of `elem` bytes in *ptr (geometric growth), at most `max`.
 * Returns 0, INQ_NOMEM or INQ_LIMIT; on failure *ptr and *cap are unchanged. */
INQ_API int inq_mem_grow(void *ptr_to_ptr, size_t *cap, size_t need, size_t elem, size_t max,
                         struct inq_err *err);

/* Files, transfers and the program's own memory are told in powers of ten ("325 kB", "1.16 MB"),
 * the memory of a GPU in powers of two ("5.50 GiB", "34.0 MiB"), as its maker does. */
enum inq_size_units { INQ_SIZE_DECIMAL, INQ_SIZE_BINARY };

/* A size with three digits into buf (at least 32 bytes); returns buf. */
INQ_API char *inq_size_format(double bytes, enum inq_size_units units, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
