/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/budget.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first number in a file, or UINT64_MAX ("max", or no such file). */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    unsigned long long value = 0;
    bool found = fscanf(file, "%llu", &value) == 1; // NOLINT(cert-err34-c): kernel's own format
    (void)fclose(file);
    return found && value > 0 ? value : UINT64_MAX;
}

/* What the process may still map (ulimit -v), or UINT64_MAX. */
static uint64_t address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    uint64_t pages = number_in("/proc/self/statm");
    long page = sysconf(_SC_PAGESIZE);
    uint64_t mapped = pages != UINT64_MAX && page > 0 ? pages * (uint64_t)page : 0;
    return limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
}

uint64_t inq_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 30;
    uint64_t group = number_in("/sys/fs/cgroup/memory.max");
    uint64_t space = address_space();
    bytes = space < bytes ? space : bytes;
    return group < bytes ? group : bytes;
}
