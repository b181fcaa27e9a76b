/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words: whatever the machine can run, every word is found where it is, and lines
 * are counted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_trace.h"

#include "ingest/log/patterns.h"
#include "ingest/log/words/words.h"

#include <string.h>

enum { TEXT = 4096, PADDING = 128, ROUNDS = 100 };

struct words {
    const char *list[INQ_LOG_WORDS];
    uint32_t n;
};

static struct words all_words(void)
{
    struct words words = {.n = 0};
    uint32_t n[2] = {0, 0};
    const struct inq_log_pattern *rows[2] = {inq_log_system_patterns(&n[0]),
                                             inq_log_patterns(&n[1])};
    assert_in_range(n[0] + n[1], 2, INQ_LOG_WORDS); /* rows past it would find nothing */
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n[k]; i++) {
            words.list[words.n++] = rows[k][i].needle;
        }
    }
    return words;
}

/* What is searched for of a word. */
static size_t length_of(const char *word)
{
    return strnlen(word, 8);
}

/* Letters, digits and blanks, a byte beyond ASCII now and then, and words or parts of them. */
static void fill(char *text, size_t n, const struct words *words, uint64_t *seed)
{
    static const char usual[] = "etaoinsr lNECX01289:._[]-\n\t\xc3";
    for (size_t i = 0; i < n; i++) {
        text[i] = usual[test_random(seed) % (sizeof usual - 1)];
    }
    for (size_t planted = test_random(seed) % 40; planted > 0; planted--) {
        const char *word = words->list[test_random(seed) % words->n];
        size_t len = length_of(word);
        len -= test_random(seed) % 4 == 0; /* all but its last byte */
        memcpy(text + test_random(seed) % (n - len), word, len);
    }
}

/* The first place from p on where one of the words is, by trying all. */
static const char *find_slowly(const struct words *words, const char *p, const char *end,
                               uint64_t *lines)
{
    for (; p < end; p++) {
        for (uint32_t w = 0; w < words->n; w++) {
            size_t len = length_of(words->list[w]);
            if (len <= (size_t)(end - p) && memcmp(p, words->list[w], len) == 0) {
                return p;
            }
        }
        *lines += *p == '\n';
    }
    return NULL;
}

static void compare(const struct inq_log_scan *scan, const struct words *words, const char *text,
                    const char *end)
{
    for (const char *p = text; p != NULL && p < end; p++) {
        uint64_t lines = 0;
        uint64_t lines_found = 0;
        const char *expected = find_slowly(words, p, end, &lines);
        const char *found = inq_log_find(scan, p, end, &lines_found);
        assert_ptr_equal(found, expected);
        assert_int_equal(lines_found, lines);
        p = found != NULL ? found : end;
    }
}

static void log_scan__finds_every_word_at_every_level(void **state)
{
    (void)state;
    static char text[TEXT + PADDING];
    struct words words = all_words();
    uint64_t seed = 7;
    for (int level = INQ_LOG_SCAN_PLAIN; level <= INQ_LOG_SCAN_AVX512; level++) {
        struct inq_log_scan scan;
        inq_log_scan_init(&scan, words.list, words.n, (enum inq_log_scan_level)level);
        for (int round = 0; round < ROUNDS; round++) {
            size_t n = round == 0 ? TEXT : 64 + test_random(&seed) % (TEXT - 64);
            fill(text, n, &words, &seed);
            memset(text + n, 0, PADDING);
            compare(&scan, &words, text, text + n);
        }
    }
}

/* A word that only begins in front of the end is none; the bytes behind it are not looked at. */
static void log_scan__stops_at_the_end(void **state)
{
    (void)state;
    struct words words = all_words();
    static const char needle[] = {'N', 'V', 'R', 'M', ':', ' ', 'X', 'i', 'd'};
    char text[256];
    for (int level = INQ_LOG_SCAN_PLAIN; level <= INQ_LOG_SCAN_AVX512; level++) {
        struct inq_log_scan scan;
        inq_log_scan_init(&scan, words.list, words.n, (enum inq_log_scan_level)level);
        for (size_t at = 0; at < 100; at++) {
            uint64_t lines = 0;
            memset(text, '\n', sizeof text);
            memcpy(text + at, needle, sizeof needle);
            assert_null(inq_log_find(&scan, text, text + at + 7, &lines));
            assert_int_equal(lines, at);
            lines = 0;
            assert_ptr_equal(inq_log_find(&scan, text, text + at + 8, &lines), text + at);
            assert_int_equal(lines, at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_scan__finds_every_word_at_every_level),
        cmocka_unit_test(log_scan__stops_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
