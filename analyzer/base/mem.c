/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Fault injection for tests; the one piece of global state in the library, off by default. */
static atomic_long fail_countdown;

static int should_fail(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0) {
        return 0;
    }
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

long inq_mem_fail_after(long n)
{
    return atomic_exchange(&fail_countdown, n);
}

void *inq_mem_alloc(size_t size)
{
    return should_fail() ? NULL : malloc(size > 0 ? size : 1);
}

void *inq_mem_zalloc(size_t count, size_t size)
{
    if (should_fail()) {
        return NULL;
    }
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

void *inq_mem_realloc(void *ptr, size_t size)
{
    return should_fail() ? NULL : realloc(ptr, size > 0 ? size : 1);
}

void inq_mem_free(void *ptr)
{
    free(ptr);
}

int inq_mem_grow(void *ptr_to_ptr, size_t *cap, size_t need, size_t elem, size_t max,
                 struct inq_err *err)
{
    if (need <= *cap) {
        return INQ_OK;
    }
    if (need > max || need > SIZE_MAX / 2 / elem) {
        return inq_err_set(err, INQ_LIMIT, "more than %zu elements of %zu bytes", max, elem);
    }
    size_t wanted = *cap < 8 ? 16 : *cap + *cap / 2;
    if (wanted < need) {
        wanted = need;
    }
    if (wanted > max) {
        wanted = max;
    }
    void *old;
    memcpy(&old, ptr_to_ptr, sizeof old); /* any object pointer type */
    void *grown = inq_mem_realloc(old, wanted * elem);
    if (grown == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu bytes", wanted * elem);
    }
    memcpy(ptr_to_ptr, &grown, sizeof grown);
    *cap = wanted;
    return INQ_OK;
}
