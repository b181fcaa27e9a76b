/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what stands in logs proves, each just within and just beyond. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLEAR 5 /* rows in front of a failure */

static void check_healthy(const char *text)
{
    struct test_log log;
    test_log_text(&log, "train.log", text);
    assert_null(log.failure);
    test_log_close(&log);
}

/* Rank 2 fails at a step, then rank 1 prints `n` more rows. */
static void write_rows(char *text, size_t size, const char *failure, int n)
{
    size_t len = 0;
    for (int i = 0; i < CLEAR + n; i++) {
        len += (size_t)snprintf(text + len, size - len, "%s[rank1]: step %d loss 3.%02d\n",
                                i == CLEAR ? failure : "", i, 99 - i);
    }
}

/* What a process may have printed before it heard of a failure elsewhere, held back in its buffer:
 * 63 rows of one process prove nothing, 64 prove that the run went on. */
static void limits__rows_held_back(void **state)
{
    (void)state;
    static const char error[] = "[rank2]: ERROR checkpoint shard 3 could not be read\n";
    char text[8192];
    write_rows(text, sizeof text, error, 63);
    test_log_says(text, "unknown", "", "\"checkpoint shard 3 could not be read\" (rank 2)");
    write_rows(text, sizeof text, error, 64);
    check_healthy(text);
}

/* The lines of a paragraph count that end within 800 bytes behind its head; of others, no piece. */
static void limits__paragraph(void **state)
{
    (void)state;
    enum { BELOW = 800 };
    static const char line[] = "E0314 10:02:11.118204 77 megascale.cc:88] Megascale detects a hang "
                               "that is likely caused by bad TPU chips on the following hosts.";
    static const char field[] = "The hosts that have bad TPUs are: slice-3-worker-9";
    static const char *const says[] = {"suspects bad TPU chips (slice-3-worker-9) behind a hang",
                                       "suspects bad TPU chips behind a hang"};
    for (size_t beyond = 0; beyond < 2; beyond++) {
        char text[2048];
        size_t pad = BELOW - 2 - strlen(field) + beyond; /* with two ends of lines */
        int n = snprintf(text, sizeof text, "%s\n%*s\n%s\n", line, (int)pad, "", field);
        assert_true(n > 0 && (size_t)n < sizeof text);
        memset(text + sizeof line, '.', pad);
        struct test_log log;
        test_log_text(&log, "w.log", text);
        assert_non_null(log.failure);
        print_message("%s\n", log.failure->headline);
        assert_non_null(strstr(log.failure->headline, says[beyond]));
        test_log_close(&log);
    }
}

/* What a process raises while it handles another exception: of one moment within a second, so that
 * the one that says more counts; later the first counts. */
static void limits__chained_exceptions(void **state)
{
    (void)state;
#define RAISED(time, what)                                                                         \
    "[rank3]: 2026-03-14 10:00:" time " ERROR Traceback (most recent call last):\n"                \
    "[rank3]: 2026-03-14 10:00:" time " ERROR   File \"/w/t.py\", line 7, in step\n"               \
    "[rank3]: 2026-03-14 10:00:" time " ERROR " what "\n"
    static const struct test_log_row rows[] = {
        {"cuda_oom", "3", "ran out of GPU memory",
         RAISED("10.000", "KeyError: 'mask'")
             RAISED("11.000", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
                              "GiB.")},
        {"application_error", "3", "KeyError: 'mask'",
         RAISED("10.000", "KeyError: 'mask'") RAISED("11.001", "FloatingPointError: overflow")},
        {"numerical_divergence", "3", "FloatingPointError: overflow",
         RAISED("10.000", "KeyError: 'mask'") RAISED("11.000", "FloatingPointError: overflow")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
#undef RAISED
}

/* A line of up to 170 bytes is quoted whole; of a longer one the words that fit. */
static void limits__quotes(void **state)
{
    (void)state;
    char words[169] = "";
    for (int i = 0; i < 21; i++) {
        memcpy(words + (size_t)i * 8, "acegikm ", 9);
    }
    for (int longer = 0; longer < 2; longer++) {
        char text[256];
        char quoted[256];
        (void)snprintf(text, sizeof text, "[rank2]: ERROR %s%s\n", words, longer ? "zzz" : "zz");
        (void)snprintf(quoted, sizeof quoted, "\"%.*s%s\"", longer ? 167 : 168, words,
                       longer ? "..." : "zz");
        struct test_log log;
        test_log_text(&log, "w.log", text);
        assert_non_null(log.failure);
        assert_non_null(strstr(log.failure->headline, quoted));
        test_log_close(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__rows_held_back),
        cmocka_unit_test(limits__paragraph),
        cmocka_unit_test(limits__chained_exceptions),
        cmocka_unit_test(limits__quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
