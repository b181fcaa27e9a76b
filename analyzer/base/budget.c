/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static void hold(struct inq_budget *budget, uint64_t limit, uint64_t used)
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

static void hold_machine(struct inq_budget *budget, const char *root)
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

static void hold_group(struct inq_budget *budget, const struct group_files *files,
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
static void hold_groups(struct inq_budget *budget, const char *root,
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
static void hold_all_groups(struct inq_budget *budget, const char *root)
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

/* Of this process, whatever the root is: a limit is not in a file. */
static struct inq_budget address_space(void)
{
    struct inq_budget budget = {UINT64_MAX, UINT64_MAX};
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        uint64_t pages = number_in("/proc/self/statm", "", 0);
        long page = sysconf(_SC_PAGESIZE);
        hold(&budget, limit.rlim_cur, page > 0 ? pages * (uint64_t)page : 0);
    }
    return budget;
}

uint64_t inq_budget_address_space(void)
{
    return address_space().available_bytes;
}

struct inq_budget inq_budget_of(const char *root)
{
    struct inq_budget budget = address_space();
    hold_machine(&budget, root);
    hold_all_groups(&budget, root);
    return budget;
}
