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

#include <limits.h>
#include <string.h>

enum { TEXT = 4096, PADDING = 128, ROUNDS = 100 };

struct words {
    struct inq_log_wanted list[INQ_LOG_WORDS];
    uint32_t n;
    size_t len[INQ_LOG_WORDS];
    /* the first word that begins with a byte, and the next that begins as a word does; n: none */
    uint32_t first[UCHAR_MAX + 1], next[INQ_LOG_WORDS];
};

/* What is searched for of a word. */
static size_t length_of(const char *word)
{
    return strnlen(word, 8);
}

static struct words all_words(void)
{
    struct words words = {.n = 0};
    uint32_t n[2] = {0, 0};
    const struct inq_log_pattern *rows[2] = {inq_log_system_patterns(&n[0]),
                                             inq_log_patterns(&n[1])};
    assert_in_range(n[0] + n[1], 2, INQ_LOG_WORDS); /* rows past it would find nothing */
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n[k]; i++) {
            words.list[words.n++] =
                (struct inq_log_wanted){rows[k][i].needle, rows[k][i].special == INQ_LOG_RESULT};
        }
    }
    for (int byte = 0; byte <= UCHAR_MAX; byte++) {
        words.first[byte] = words.n;
    }
    for (uint32_t w = words.n; w-- > 0;) {
        uint32_t *first = &words.first[(unsigned char)words.list[w].text[0]];
        words.len[w] = length_of(words.list[w].text);
        words.next[w] = *first;
        *first = w;
    }
    return words;
}

/* Letters, digits and blanks, a byte beyond ASCII now and then, and words or parts of them. */
static void fill(char *text, size_t n, const struct words *words, uint64_t *seed)
{
    static const char usual[] = "etaoinsr lNECX01289:._[]-\n\t\xc3";
    for (size_t i = 0; i < n; i++) {
        text[i] = usual[test_random(seed) % (sizeof usual - 1)];
    }
    for (size_t planted = test_random(seed) % 40; planted > 0; planted--) {
        size_t w = test_random(seed) % words->n;
        const char *word = words->list[w].text;
        size_t len = words->len[w];
        len -= test_random(seed) % 4 == 0; /* all but its last byte */
        memcpy(text + test_random(seed) % (n - len), word, len);
    }
}

/* The first place from p on where one of the words is, by trying all. */
static const char *find_slowly(const struct words *words, const char *p, const char *end,
                               uint64_t *lines)
{
    for (; p < end; p++) {
        for (uint32_t w = words->first[(unsigned char)*p]; w < words->n; w = words->next[w]) {
            const struct inq_log_wanted *word = &words->list[w];
            size_t len = words->len[w];
            bool closed = p + len >= end || (unsigned char)p[len] <= ' ';
            if (len <= (size_t)(end - p) && memcmp(p, word->text, len) == 0 &&
                (closed || !word->closed)) {
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

/* A stretch that was searched before answers as a search does, wherever it is asked. */
static void log_scan__hits_answer_as_a_search_does(void **state)
{
    (void)state;
    enum { SIZE = 5 * TEXT };
    static char text[SIZE + PADDING];
    static struct inq_log_hits hits;
    struct words words = all_words();
    struct inq_log_scan scan;
    uint64_t seed = 11;
    inq_log_scan_init(&scan, words.list, words.n, INQ_LOG_SCAN_AVX512);
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = round < 10 ? (size_t)round : test_random(&seed) % SIZE;
        fill(text, SIZE, &words, &seed);
        inq_log_search(&hits, &scan, text, n);
        assert_int_equal(hits.size, n);
        assert_true(hits.scan == &scan && hits.covered + (INQ_LOG_WORD_BYTES - 1) >= n);
        for (int ask = 0; ask < ROUNDS && hits.covered > 0; ask++) {
            size_t from = test_random(&seed) % hits.covered;
            size_t to = from + test_random(&seed) % (hits.covered - from + 1);
            uint64_t lines = 5;
            uint64_t expected_lines = 5;
            const char *expected = text + from;
            const char *end = text + to + INQ_LOG_WORD_BYTES - 1;
            expected = inq_log_find(&scan, expected, end, &expected_lines);
            for (const char *p = text + to; p < (expected != NULL ? expected : end); p++) {
                expected_lines -= *p == '\n';
            }
            expected = expected != NULL && expected < text + to ? expected : NULL;
            assert_ptr_equal(inq_log_find_ahead(&hits, text + from, from, to, &lines), expected);
            assert_int_equal(lines, expected_lines);
        }
    }
}

/* Of a stretch with too many words the rest is left to a search of its own. */
static void log_scan__hits_end_where_there_is_no_room(void **state)
{
    (void)state;
    static char text[16 * TEXT + PADDING];
    static struct inq_log_hits hits;
    struct words words = all_words();
    struct inq_log_scan scan;
    uint64_t lines = 0;
    inq_log_scan_init(&scan, words.list, words.n, INQ_LOG_SCAN_AVX512);
    for (size_t i = 0; i < 16 * TEXT; i += 16) {
        memcpy(text + i, "NVRM: Xid     \n\n", 16);
    }
    inq_log_search(&hits, &scan, text, 16 * TEXT);
    assert_int_equal(hits.n, INQ_LOG_HITS);
    assert_in_range(hits.covered, 16 * (INQ_LOG_HITS - 16), 16 * INQ_LOG_HITS);
    size_t last = hits.covered - 1;
    assert_ptr_equal(inq_log_find_ahead(&hits, text + 1, 1, last, &lines), text + 16);
    assert_int_equal(lines, 2);
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
        cmocka_unit_test(log_scan__hits_answer_as_a_search_does),
        cmocka_unit_test(log_scan__hits_end_where_there_is_no_room),
        cmocka_unit_test(log_scan__stops_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
