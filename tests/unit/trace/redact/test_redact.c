/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/redact/text.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/mem.h"

#include <string.h>

/* The key of SipHash's own test vectors; the hashes below are of an implementation that was held
 * against those. */
static struct inq_redaction known(void)
{
    return (struct inq_redaction){.key = {0x0706050403020100, 0x0f0e0d0c0b0a0908}};
}

static void release(struct inq_redaction *r)
{
    inq_strtab_release(&r->names);
    inq_arena_release(&r->arena);
    inq_mem_free(r->tokens);
}

static const char *token(struct inq_redaction *r, enum inq_redact_kind kind, const char *name)
{
    struct inq_err err = {0};
    return inq_redact_token(r, kind, name, strlen(name), &err);
}

static void redact__tokens_are_siphash(void **state)
{
    (void)state;
    struct inq_redaction r = known();
    assert_string_equal(token(&r, INQ_REDACT_HOST, "node-7"), "host-35188a524a72");
    assert_string_equal(token(&r, INQ_REDACT_USER, "zelda"), "user-340475d025cf");
    assert_string_equal(token(&r, INQ_REDACT_PATH, "a_folder_of_16ch"), "path-3cf45ca40c87");
    assert_string_equal(token(&r, INQ_REDACT_HOST, ""), "");
    release(&r);
}

static void redact__one_name_one_token_counted_once(void **state)
{
    (void)state;
    struct inq_redaction r = known();
    const char *first = token(&r, INQ_REDACT_HOST, "a");
    const char *other = token(&r, INQ_REDACT_USER, "a");
    assert_string_equal(token(&r, INQ_REDACT_HOST, "a"), first);
    assert_string_not_equal(strchr(first, '-'), strchr(other, '-'));
    assert_int_equal(inq_redaction_count(&r, INQ_REDACT_HOST), 1);
    assert_int_equal(inq_redaction_count(&r, INQ_REDACT_USER), 1);
    assert_int_equal(inq_redaction_count(&r, INQ_REDACT_KERNEL), 0);
    release(&r);
}

/* What a kernel is, analyses know by its name. */
static void redact__kernels_keep_their_class(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "_ncclDevKernel_AllReduce"},
        {"ncclDevKernel_SendRecv(x)", "_ncclDevKernel_SendRecv"},
        {"sm90_xmma_gemm_bf16_tn", "_gemm"},
        {"flash_fwd_kernel", "_gemm"},
    };
    struct inq_redaction r = known();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *is = token(&r, INQ_REDACT_KERNEL, rows[i][0]);
        assert_memory_equal(is, "kernel-", 7);
        assert_string_equal(is + strlen("kernel-000000000000"), rows[i][1]);
    }
    release(&r);
}

static void check(const char *text, const char *expected)
{
    struct inq_redaction r = known();
    struct inq_arena arena = {0};
    struct inq_err err = {0};
    (void)token(&r, INQ_REDACT_HOST, "node-7");
    assert_int_equal(inq_redact_find_users(&r, "/home/zelda/x and user=otto, 3 times", &err),
                     INQ_OK);
    const char *is = inq_redact_text(&r, &arena, text, &err);
    assert_non_null(is);
    char shape[512];
    size_t n = 0;
    for (const char *p = is; *p != '\0' && n + 8 < sizeof shape;) { /* hashes as # */
        size_t digits = strspn(p, "0123456789abcdef");
        if (digits == 12 && p > is && p[-1] == '-') {
            shape[n++] = '#';
            p += digits;
        } else {
            shape[n++] = *p++;
        }
    }
    shape[n] = '\0';
    assert_string_equal(shape, expected);
    assert_true((is == text) == (strcmp(text, expected) == 0));
    inq_arena_release(&arena);
    release(&r);
}

static void redact__texts_lose_their_names(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"at node-7, node-7.cluster.example and node-70.", "at host-#, host-# and node-70."},
        {"by zelda (otto@far-off) not zeldas", "by user-# (user-#@host-#) not zeldas"},
        {"File \"/home/zelda/src/train.py\", line 3",
         "File \"/path-#/path-#/path-#/path-#.py\", line 3"},
        {"wrote ~/run/a.trace.json.gz.", "wrote ~/path-#/path-#.trace.json.gz."},
        {"../x/y and model.py(12)", "../path-#/path-# and path-#.py(12)"},
        {"in runs/secret/3, x/y.py", "in path-#/path-#/path-#, path-#/path-#.py"},
        {"to 10.0.0.12:29500 or fe80::a:1%2", "to host-#:29500 or host-#%2"},
        /* no names */
        {"08:00:00.123 1/2 of 3 kB/s, 0000:3b:00.0, v2.1.0, 1.2.3.x",
         "08:00:00.123 1/2 of 3 kB/s, 0000:3b:00.0, v2.1.0, 1.2.3.x"},
        {"aten::add c10::cuda std::abs(/)", "aten::add c10::cuda std::abs(/)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check(rows[i][0], rows[i][1]);
    }
}

static void redact__paths_keep_what_they_are_of(void **state)
{
    (void)state;
    struct inq_redaction r = known();
    struct inq_arena arena = {0};
    struct inq_err err = {0};
    const char *path = inq_redact_path(&r, &arena, "/a/./rank-0.pt.trace.json.gz", &err);
    assert_memory_equal(path, "/path-", 6);
    assert_string_equal(strrchr(path, '/') + strlen("/path-000000000000"), ".pt.trace.json.gz");
    assert_non_null(strstr(path, "/./"));
    assert_string_equal(inq_redact_path(&r, &arena, ".gz", &err) + strlen("path-000000000000"), "");
    inq_arena_release(&arena);
    release(&r);
}

static void redact__no_memory_is_said(void **state)
{
    (void)state;
    long left = 0;
    for (long nth = 1; left == 0; nth++) {
        struct inq_redaction r = known();
        struct inq_arena arena = {0};
        struct inq_err err = {0};
        (void)inq_mem_fail_after(nth);
        const char *text = inq_redact_text(&r, &arena, "see /home/zelda/src and 10.0.0.1", &err);
        left = inq_mem_fail_after(0);
        assert_int_equal(text == NULL, left == 0);
        assert_true(text != NULL || err.code == INQ_NOMEM);
        assert_true(text == NULL || strstr(text, "zelda") == NULL);
        inq_arena_release(&arena);
        release(&r);
        assert_true(nth < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redact__tokens_are_siphash),
        cmocka_unit_test(redact__one_name_one_token_counted_once),
        cmocka_unit_test(redact__kernels_keep_their_class),
        cmocka_unit_test(redact__texts_lose_their_names),
        cmocka_unit_test(redact__paths_keep_what_they_are_of),
        cmocka_unit_test(redact__no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
