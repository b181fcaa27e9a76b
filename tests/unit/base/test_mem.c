/* SPDX-License-Identifier: Apache-2.0 */
/* What the process may take: by the machine, control groups of both versions, and its own limits;
 * and that the memory hook keeps to it. */
#include "base/mem.h"
#include "inquest/version.h"
#include "base/par.h"
#include "inquest/error.h"
#include "support_sanitize.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GB UINT64_C(1000000000)

static char root[] = "/tmp/inquest-budget-XXXXXX";

/* Writes root/PATH, with the folders it is in. */
static void put(const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/inquest-budget-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("proc/meminfo", "MemTotal:       8000000 kB\nMemFree: 100 kB\nMemAvailable: 6000000 kB\n");
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command); // NOLINT(cert-env33-c): a name that mkdtemp made
}

static void budget__machine_counts_what_can_be_freed(void **state)
{
    (void)state;
    struct inq_mem_budget budget = inq_mem_budget_of(root);
    assert_int_equal(budget.total_bytes, UINT64_C(8000000) * 1024);
    assert_int_equal(budget.available_bytes, UINT64_C(6000000) * 1024);
}

static void budget__group_of_version_2_and_those_around_it(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/jobs/one\n");
    put("sys/fs/cgroup/jobs/one/memory.max", "max\n");
    put("sys/fs/cgroup/jobs/memory.max", "4000000000\n");
    put("sys/fs/cgroup/jobs/memory.current", "3500000000\n");
    put("sys/fs/cgroup/jobs/memory.stat",
        "anon 1000000000\ninactive_file 2000000000\nactive_file 500000000\n");
    struct inq_mem_budget budget = inq_mem_budget_of(root);
    assert_int_equal(budget.total_bytes, 4 * GB);
    assert_int_equal(budget.available_bytes, 3 * GB); /* pages of files give way */
    put("sys/fs/cgroup/jobs/one/memory.max", "2000000000\n");
    put("sys/fs/cgroup/jobs/one/memory.current", "1500000000\n");
    budget = inq_mem_budget_of(root);
    assert_int_equal(budget.total_bytes, 2 * GB);
    assert_int_equal(budget.available_bytes, GB / 2);
    put("sys/fs/cgroup/jobs/one/memory.current", "2100000000\n"); /* over it already */
    assert_int_equal(inq_mem_budget_of(root).available_bytes, 0);
}

static void budget__group_of_version_1(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:name=systemd:/x\n4:memory:/pod\n3:cpuset:/\n0::/\n");
    put("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "1000000000\n");
    put("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", "600000000\n");
    put("sys/fs/cgroup/memory/pod/memory.stat",
        "cache 7\ninactive_file 5\ntotal_inactive_file 100000000\ntotal_active_file 200000000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct inq_mem_budget budget = inq_mem_budget_of(root);
    assert_int_equal(budget.total_bytes, GB);
    assert_int_equal(budget.available_bytes, 700000000);
}

/* In a container /proc names the host's path, and the root of the mount is the container's. */
static void budget__group_whose_path_leads_nowhere(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:memory:/docker/0123\n0::/system.slice/docker-0123.scope\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000000\n");
    assert_int_equal(inq_mem_budget_of(root).total_bytes, 3 * GB);
    put("sys/fs/cgroup/memory.max", "2000000000\n");
    assert_int_equal(inq_mem_budget_of(root).total_bytes, 2 * GB);
}

static void budget__nonsense_is_no_limit(void **state)
{
    (void)state;
    put("proc/self/cgroup", "\n:\n0:\n4:memory\n0::\n");
    put("sys/fs/cgroup/memory.max", "a lot\n");
    assert_int_equal(inq_mem_budget_of(root).total_bytes, UINT64_C(8000000) * 1024);
    put("proc/meminfo", "");
    assert_true(inq_mem_budget_of(root).total_bytes > 0);
}

static void mem__is_held_to_the_limit(void **state)
{
    (void)state;
    const size_t block = 1 << 20;
    uint64_t before = inq_mem_held();
    inq_mem_set_limit(before + 2 * block + 65536);
    void *one = inq_mem_alloc(block);
    void *two = inq_mem_zalloc(block, 1);
    assert_non_null(one);
    assert_non_null(two);
    assert_true(inq_mem_held() >= before + 2 * block);
    assert_null(inq_mem_alloc(block));
    assert_null(inq_mem_zalloc(block, 1));
    assert_null(inq_mem_realloc(one, 2 * block)); /* `one` stays */
    inq_mem_free(two);                            /* what is given back can be had again */
    one = inq_mem_realloc(one, 2 * block);
    assert_non_null(one);
    inq_mem_free(one);
    assert_int_equal(inq_mem_held(), before);
    inq_mem_set_limit(0);
}

static void mem__limit_is_met_to_the_byte(void **state)
{
    (void)state;
    const size_t block = 1 << 20;
    inq_mem_set_limit(inq_mem_held() + block);
    void *fits = inq_mem_alloc(block);
    assert_non_null(fits);
    inq_mem_free(fits);
    assert_null(inq_mem_alloc(block + 1));
    inq_mem_set_limit(0);
}

/* Long blocks are asked for, counted and refused as others are; from 1.5 MiB on they begin where a
 * large page does. */
static void mem__long_blocks_lie_on_large_pages(void **state)
{
    (void)state;
    const size_t page = 2 << 20;
    const size_t sizes[] = {0, 100, page / 4 * 3 - 1, page / 4 * 3, page, page + 1, 5 * page};
    uint64_t before = inq_mem_held();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = inq_mem_alloc_long(sizes[i]);
        assert_non_null(block);
        assert_true(inq_mem_held() >= before + sizes[i]);
        memset(block, 1, sizes[i]);
        if (sizes[i] >= page / 4 * 3) {
            assert_int_equal((uintptr_t)block % page, 0);
        }
        block = inq_mem_realloc(block, 50);
        assert_non_null(block);
        assert_true(sizes[i] == 0 || (block[0] == 1 && block[49] == 1));
        inq_mem_free(block);
        assert_int_equal(inq_mem_held(), before);
    }
    inq_mem_fail_after(1);
    assert_null(inq_mem_alloc_long(page));
    inq_mem_set_limit(before + page - 1);
    assert_null(inq_mem_alloc_long(page));
    inq_mem_set_limit(0);
    assert_null(inq_mem_alloc_long(SIZE_MAX));
}

static void error__says_how_much_memory_is_missing(void **state)
{
    (void)state;
    struct inq_err err = {0};
    inq_mem_set_limit(inq_mem_held() + 1000);
    assert_null(inq_mem_alloc(3 * GB));
    assert_int_equal(inq_err_set(&err, INQ_NOMEM, "no memory for it"), INQ_NOMEM);
    assert_non_null(strstr(err.message, "no memory for it: at least 3.00 GB are needed, "));
    inq_mem_set_limit(0);
    struct inq_err plain = {0}; /* it is said once */
    (void)inq_err_set(&plain, INQ_NOMEM, "no memory for it");
    assert_string_equal(plain.message, "no memory for it");
}

/* In a child with so much address space: whether threads fit, and 2 GB are refused. */
static int limited_child(uint64_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        return 2;
    }
    bool few = inq_threads(64) < 64 && inq_threads(64) >= 1;
    bool refused = inq_mem_alloc((size_t)2 << 30) == NULL;
    return few && refused && inq_mem_budget_of("").total_bytes <= bytes ? 0 : 1;
}

static void budget__address_space_bounds_threads_and_memory(void **state)
{
    (void)state;
#if TEST_SANITIZED
    skip(); /* these map terabytes */
#endif
    static const uint64_t sizes[] = {UINT64_C(1) << 20, UINT64_C(100) << 20, UINT64_C(1) << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(limited_child(sizes[i]));
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Sizes have three digits, four below the next unit; units change at 1,024. */
static void size__is_told_in_its_unit(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {9.99 * 1024, "9.99 KiB"},
                 {9.996 * 1024, "10.0 KiB"},
                 {99.9 * 1024, "99.9 KiB"},
                 {99.96 * 1024, "100 KiB"},
                 {1023.0 * 1024, "1023 KiB"},
                 {1024.0 * 1024, "1.00 MiB"},
                 {-1.5 * 1024 * 1024 * 1024, "-1.50 GiB"},
                 {1e30, "888178419700125 PiB"}};
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_string_equal(inq_size_format(sizes[i].bytes, INQ_SIZE_BINARY, text, sizeof text),
                            sizes[i].text);
    }
}

static void bytes__change_unit_where_they_would_be_four_digits(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},          {999, "999 B"},     {1000, "1.00 kB"}, {9994, "9.99 kB"},
                 {9996, "10.0 kB"},   {99940, "99.9 kB"}, {99960, "100 kB"}, {999400, "999 kB"},
                 {999500, "1.00 MB"}, {3e9, "3.00 GB"},   {5e15, "5.00 PB"}, {-2e6, "-2.00 MB"}};
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_string_equal(inq_size_format(sizes[i].bytes, INQ_SIZE_DECIMAL, text, sizeof text),
                            sizes[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes__change_unit_where_they_would_be_four_digits),
        cmocka_unit_test_setup_teardown(budget__machine_counts_what_can_be_freed, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(budget__group_of_version_2_and_those_around_it, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(budget__group_of_version_1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(budget__group_whose_path_leads_nowhere, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(budget__nonsense_is_no_limit, make_root, remove_root),
        cmocka_unit_test(size__is_told_in_its_unit),
        cmocka_unit_test(mem__is_held_to_the_limit),
        cmocka_unit_test(mem__limit_is_met_to_the_byte),
        cmocka_unit_test(mem__long_blocks_lie_on_large_pages),
        cmocka_unit_test(error__says_how_much_memory_is_missing),
        cmocka_unit_test(budget__address_space_bounds_threads_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
