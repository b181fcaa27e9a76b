/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- what the system lets this process take -------------------------------------------------- */

enum { PATH_BYTES = 4608, LINE_BYTES = 4096 };

/* Where a control group says what it may take and what it has taken. */
struct group_files {
    const char *folder, *limit, *used;
    /* in memory.stat: pages of files, which give way before anything is killed */
    const char *cached[2];
};

static const struct group_files version1 = {"sys/fs/cgroup/memory",
                                            "memory.limit_in_bytes",
                                            "memory.usage_in_bytes",
                                            {"total_active_file", "total_inactive_file"}};
static const struct group_files version2 = {
    "sys/fs/cgroup", "memory.max", "memory.current", {"active_file", "inactive_file"}};

static void hold(struct inq_mem_budget *budget, uint64_t limit, uint64_t used)
{
    uint64_t left = limit > used ? limit - used : 0;
    budget->total_bytes = limit < budget->total_bytes ? limit : budget->total_bytes;
    budget->available_bytes = left < budget->available_bytes ? left : budget->available_bytes;
}

/* The number after `name` at the start of a line of the file ("": its first number), or `otherwise`
 * ("max", or no such file). */
static uint64_t number_in(const char *path, const char *name, uint64_t otherwise)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return otherwise;
    }
    char line[LINE_BYTES];
    uint64_t value = otherwise;
    size_t len = strlen(name);
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, name, len) == 0 &&
                sscanf(line + len, "%" SCNu64, &value) == 1; // NOLINT(cert-err34-c): kernel's own
    }
    (void)fclose(file);
    return value;
}

static void hold_machine(struct inq_mem_budget *budget, const char *root)
{
    enum { KIB = 1024 };
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t total = number_in(path, "MemTotal:", 0);
    uint64_t available = number_in(path, "MemAvailable:", total);
    if (total > 0) {
        hold(budget, total * KIB, available < total ? (total - available) * KIB : 0);
        return;
    }
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) {
        hold(budget, (uint64_t)pages * (uint64_t)page, 0);
    }
}

static void hold_group(struct inq_mem_budget *budget, const struct group_files *files,
                       const char *folder)
{
    char path[PATH_BYTES + LINE_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, files->limit);
    uint64_t limit = number_in(path, "", UINT64_MAX);
    if (limit == UINT64_MAX) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, files->used);
    uint64_t used = number_in(path, "", 0);
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    for (size_t i = 0; i < sizeof files->cached / sizeof *files->cached; i++) {
        uint64_t cached = number_in(path, files->cached[i], 0);
        used -= cached < used ? cached : used;
    }
    hold(budget, limit, used);
}

/* The group and all around it. In a container the path is the host's and leads nowhere here: then
 * only the root counts, which is the container's own group. */
static void hold_groups(struct inq_mem_budget *budget, const char *root,
                        const struct group_files *files, char *group)
{
    char folder[PATH_BYTES];
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
        *end = '\0';
        (void)snprintf(folder, sizeof folder, "%.200s/%s%s", root, files->folder, group);
        hold_group(budget, files, folder);
    }
}

/* "4:memory:/job" is of version 1, "0::/job" of version 2. */
static void hold_all_groups(struct inq_mem_budget *budget, const char *root)
{
    char line[LINE_BYTES];
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *names = strchr(line, ':');
        char *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        if (strncmp(line, "0:", 2) == 0 && names[1] == '\0') {
            hold_groups(budget, root, &version2, group);
        } else if (strcmp(names + 1, "memory") == 0) {
            hold_groups(budget, root, &version1, group);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void hold_address_space(struct inq_mem_budget *budget)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return;
    }
    uint64_t pages = number_in("/proc/self/statm", "", 0);
    long page = sysconf(_SC_PAGESIZE);
    hold(budget, limit.rlim_cur, page > 0 ? pages * (uint64_t)page : 0);
}

struct inq_mem_budget inq_mem_budget_of(const char *root)
{
    struct inq_mem_budget budget = {UINT64_MAX, UINT64_MAX};
    hold_machine(&budget, root);
    hold_all_groups(&budget, root);
    hold_address_space(&budget);
    return budget;
}

/* ---- the hook -------------------------------------------------------------------------------- */

/* Below this nobody asks what the system has: it is what the program itself takes. */
#define NO_QUESTION (UINT64_C(64) << 20)
/* A part of the smallest limit stays free: for the stacks of threads and for libraries, whose
 * memory does not come through here. */
#define RESERVE 16

/* Fault injection for tests, and what the process holds: the only global state in the library,
 * because memory is the process's. */
static atomic_long fail_countdown;
static atomic_uint_fast64_t held, limit = NO_QUESTION, fixed_limit;

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

uint64_t inq_mem_available(void)
{
    uint64_t now = inq_mem_held();
    uint64_t fixed = atomic_load(&fixed_limit);
    if (fixed > 0) {
        return fixed > now ? fixed - now : 0;
    }
    struct inq_mem_budget budget = inq_mem_budget_of("");
    uint64_t kept = budget.total_bytes / RESERVE;
    return budget.available_bytes > kept ? budget.available_bytes - kept : 0;
}

/* Whether `more` bytes may be had; the system is asked again whenever the last answer is used up.
 */
static bool may_take(size_t more)
{
    uint64_t need = inq_mem_held() + more;
    if (need <= atomic_load_explicit(&limit, memory_order_relaxed)) {
        return true;
    }
    uint64_t allowed = need - more + inq_mem_available();
    if (need <= allowed) {
        atomic_store_explicit(&limit, allowed, memory_order_relaxed);
        return true;
    }
    inq_err_note_shortage(need, allowed);
    return false;
}

/* Counts what malloc gave; `before`: what the block had. */
static void *count(void *ptr, size_t before, size_t size)
{
    if (ptr != NULL) {
        atomic_fetch_add_explicit(&held, malloc_usable_size(ptr) - before, memory_order_relaxed);
    } else {
        inq_err_note_shortage(inq_mem_held() + size - before, inq_mem_held());
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

void *inq_mem_alloc_long(size_t size)
{
#ifdef MADV_HUGEPAGE
    /* of x86, and of Arm with small pages of 4 KiB */
    static const size_t large_page = (size_t)2 << 20;
    if (size >= large_page / 4 * 3 && size <= SIZE_MAX / 2) { /* the rest of a page is no loss */
        if (should_fail() || !may_take(size)) {
            return NULL;
        }
        size_t whole = (size + large_page - 1) / large_page * large_page;
        void *ptr = aligned_alloc(large_page, whole);
        if (ptr != NULL) {
            (void)madvise(ptr, whole, MADV_HUGEPAGE); /* without, it is only slower */
        } else {
            ptr = malloc(size); /* which asks for less address space */
        }
        return count(ptr, 0, size);
    }
#endif
    return inq_mem_alloc(size);
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
