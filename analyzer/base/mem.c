/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "base/budget.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Below this nobody asks what the system has: it is what the program itself takes. */
#define NO_QUESTION (UINT64_C(64) << 20)
/* A part of the smallest limit stays free: for the stacks of threads and for libraries, whose
 * memory does not come through here. */
#define RESERVE 16

/* Fault injection for tests, and what the process holds: the only global state in the library,
 * because memory is the process's. */
static atomic_long fail_countdown;
static atomic_uint_fast64_t held, limit = NO_QUESTION, fixed_limit;
static _Thread_local struct inq_mem_shortage shortage;

static bool should_fail(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0) {
        return false;
    }
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

long inq_mem_fail_after(long n)
{
    return atomic_exchange(&fail_countdown, n);
}

void inq_mem_set_limit(uint64_t bytes)
{
    atomic_store(&fixed_limit, bytes);
    atomic_store(&limit, bytes > 0 ? bytes : NO_QUESTION);
}

uint64_t inq_mem_held(void)
{
    return atomic_load_explicit(&held, memory_order_relaxed);
}

uint64_t inq_mem_allowed(void)
{
    uint64_t fixed = atomic_load(&fixed_limit);
    if (fixed > 0) {
        return fixed;
    }
    struct inq_budget budget = inq_budget_of("");
    uint64_t kept = budget.total_bytes / RESERVE;
    return inq_mem_held() + (budget.available_bytes > kept ? budget.available_bytes - kept : 0);
}

struct inq_mem_shortage inq_mem_last_shortage(void)
{
    struct inq_mem_shortage last = shortage;
    shortage = (struct inq_mem_shortage){0};
    return last;
}

/* Whether `more` bytes may be had; the system is asked again whenever the last answer is used up.
 */
static bool may_take(size_t more)
{
    uint64_t need = inq_mem_held() + more;
    if (need <= atomic_load_explicit(&limit, memory_order_relaxed)) {
        return true;
    }
    uint64_t allowed = inq_mem_allowed();
    if (need <= allowed) {
        atomic_store_explicit(&limit, allowed, memory_order_relaxed);
        return true;
    }
    shortage = (struct inq_mem_shortage){need, allowed};
    return false;
}

/* Counts what malloc gave; `before`: what the block had. */
static void *count(void *ptr, size_t before, size_t size)
{
    if (ptr != NULL) {
        atomic_fetch_add_explicit(&held, malloc_usable_size(ptr) - before, memory_order_relaxed);
    } else {
        shortage = (struct inq_mem_shortage){inq_mem_held() + size - before, inq_mem_held()};
    }
    return ptr;
}

void *inq_mem_alloc(size_t size)
{
    if (should_fail() || !may_take(size)) {
        return NULL;
    }
    return count(malloc(size > 0 ? size : 1), 0, size);
}

void *inq_mem_zalloc(size_t n, size_t size)
{
    bool fits = size == 0 || n <= SIZE_MAX / 2 / size;
    if (should_fail() || !fits || !may_take(n * size)) {
        return NULL;
    }
    return count(n == 0 || size == 0 ? calloc(1, 1) : calloc(n, size), 0, n * size);
}

void *inq_mem_realloc(void *ptr, size_t size)
{
    size_t before = malloc_usable_size(ptr);
    if (should_fail() || (size > before && !may_take(size - before))) {
        return NULL;
    }
    return count(realloc(ptr, size > 0 ? size : 1), before, size);
}

void inq_mem_free(void *ptr)
{
    atomic_fetch_sub_explicit(&held, malloc_usable_size(ptr), memory_order_relaxed);
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
