/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/level.h"

#include <string.h>
#include <strings.h>

/* Words of a prefix: a date, a time, a host and a module are rarely more, digits left aside. */
enum { MAX_WORDS = 8, MAX_PREFIX = 240 };

static const struct {
    const char *word;
    enum inq_log_level level;
} levels[] = {
    {"TRACE", INQ_LOG_LEVEL_DEBUG},     {"DEBUG", INQ_LOG_LEVEL_DEBUG},
    {"INFO", INQ_LOG_LEVEL_INFO},       {"NOTICE", INQ_LOG_LEVEL_INFO},
    {"WARN", INQ_LOG_LEVEL_WARNING},    {"WARNING", INQ_LOG_LEVEL_WARNING},
    {"ERR", INQ_LOG_LEVEL_ERROR},       {"ERROR", INQ_LOG_LEVEL_ERROR},
    {"SEVERE", INQ_LOG_LEVEL_ERROR},    {"CRITICAL", INQ_LOG_LEVEL_FATAL},
    {"FATAL", INQ_LOG_LEVEL_FATAL},     {"ALERT", INQ_LOG_LEVEL_FATAL},
    {"EMERGENCY", INQ_LOG_LEVEL_FATAL}, {"PANIC", INQ_LOG_LEVEL_FATAL},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static enum inq_log_level of_letter(char c)
{
    switch (c) {
    case 'D':
        return INQ_LOG_LEVEL_DEBUG;
    case 'I':
        return INQ_LOG_LEVEL_INFO;
    case 'W':
        return INQ_LOG_LEVEL_WARNING;
    case 'E':
        return INQ_LOG_LEVEL_ERROR;
    case 'F':
    case 'C':
        return INQ_LOG_LEVEL_FATAL;
    default:
        return INQ_LOG_LEVEL_NONE;
    }
}

/* "E1213 17:25:49", "[E ProcessGroupNCCL.cpp:475]", "[E]", "E 9751 9751] (raylet)": one letter with
 * a date behind it, or alone in a bracket or in front of one. */
static enum inq_log_level read_letter(const char *word, const char *end, const char *start,
                                      const char *stop)
{
    bool bracket = word > start && word[-1] == '[';
    const char *p = word + 1;
    while (p < end && is_digit(*p)) {
        p++;
    }
    bool dated =
        p == end && p - word >= 4 && p - word <= 5 && p + 2 < stop && *p == ' ' && is_digit(p[1]);
    bool stamped = word - start > 2 && memcmp(word - 2, ": ", 2) == 0; /* TensorFlow's */
    const char *colon = end - word == 1 && (word == start || stamped) && end < stop && *end == ' '
                            ? memchr(end + 1, ' ', (size_t)(stop - end) - 1)
                            : NULL;
    if (colon != NULL && colon[-1] == ']' && memchr(end, ':', (size_t)(colon - end)) != NULL) {
        return of_letter(*word); /* "E stream.cc:12] " */
    }
    bool alone =
        end - word == 1 && end < stop &&
        ((bracket && (*end == ' ' || *end == ']')) ||
         (*end == ' ' && end + 1 < stop && is_digit(end[1]) &&
          memchr(end, ']', (size_t)(stop - end) < 24 ? (size_t)(stop - end) : 24) != NULL));
    return dated || alone ? of_letter(*word) : INQ_LOG_LEVEL_NONE;
}

/* "level=", `"log.level": "`, `"severity":"` in front of the word. */
static bool is_keyed(const char *word, const char *start)
{
    enum { NEAR = 16 };
    static const char *const keys[] = {"evel", "lvl", "everity"};
    size_t n = word - start > NEAR ? NEAR : (size_t)(word - start);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (memmem(word - n, n, keys[i], strlen(keys[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* "<3>Mar 14": the priority that syslog puts in front, of which the last three bits are the
 * severity. */
static enum inq_log_level read_priority(const char *p, const char *end)
{
    static const enum inq_log_level of[] = {
        INQ_LOG_LEVEL_FATAL,   INQ_LOG_LEVEL_FATAL, INQ_LOG_LEVEL_FATAL, INQ_LOG_LEVEL_ERROR,
        INQ_LOG_LEVEL_WARNING, INQ_LOG_LEVEL_INFO,  INQ_LOG_LEVEL_INFO,  INQ_LOG_LEVEL_DEBUG};
    unsigned priority = 0;
    const char *digit = p + 1;
    while (digit < end && digit - p < 4 && is_digit(*digit)) {
        priority = priority * 10 + (unsigned)(*digit++ - '0');
    }
    bool closed = p < end && *p == '<' && digit > p + 1 && end - digit > 1 && *digit == '>' &&
                  !is_digit(digit[1]) && digit[1] != ' ';
    return closed ? of[priority & 7] : INQ_LOG_LEVEL_NONE;
}

/* Whether the word stands as a severity does: marked off from what follows; in lower case only in
 * front of a colon, or as a value. */
static bool is_marked(const char *word, const char *end, const char *start, const char *stop,
                      bool first)
{
    char before = word > start ? word[-1] : ' ';
    char behind = end < stop ? *end : '\n';
    bool upper = *word <= 'Z' && word[1] <= 'Z';
    bool boxed = strchr("[<|(*\t", before) != NULL && strchr("]>|):*\t", behind) != NULL;
    bool dashed = behind == ' ' && end + 1 < stop && strchr("-|:[", end[1]) != NULL;
    bool ruled = before == '=' && word - start > 1 && word[-2] == '='; /* "==81==ERROR: " */
    if (strchr("=\"", before) != NULL && word - start > 1 && !ruled) {
        return is_keyed(word, start);
    }
    if (!upper) {
        return boxed || (behind == ':' && end + 1 < stop && end[1] == ' ');
    }
    return boxed || dashed || behind == ':' || behind == '|' ||
           (behind == ' ' && (first || before == ' ' || before == ']'));
}

/* "EI0006:", "EZ9999:" of Ascend's CANN: each of its errors has such a code. */
static bool is_cann(const char *word, const char *end, const char *stop)
{
    bool code = end - word == 6 && word[0] == 'E' && word[1] >= 'A' && word[1] <= 'Z';
    for (const char *p = word + 2; code && p < end; p++) {
        code = is_digit(*p);
    }
    return code && end < stop && *end == ':';
}

static enum inq_log_level level_of_word(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strlen(levels[i].word) == n && strncasecmp(word, levels[i].word, n) == 0) {
            return levels[i].level;
        }
    }
    return INQ_LOG_LEVEL_NONE;
}

/* "/w/pool.py:46: UserWarning: ...": what Python's module for warnings writes. */
static bool is_warning(const char *start, const char *stop)
{
    static const char tail[] = "Warning: ";
    const char *at = memmem(start, (size_t)(stop - start), tail, sizeof tail - 1);
    const char *name = at;
    while (name != NULL && name > start && is_letter(name[-1])) {
        name--;
    }
    return name != NULL && name < at && name - start > 3 && memcmp(name - 2, ": ", 2) == 0 &&
           is_digit(name[-3]);
}

/* The next word at *p or behind it, which then is its end; NULL: none. */
static const char *next_word(const char **p, const char *stop)
{
    while (*p < stop && !is_letter(**p) && !is_digit(**p)) {
        (*p)++;
    }
    const char *word = *p;
    while (*p < stop && (is_letter(**p) || is_digit(**p) || **p == '_')) {
        (*p)++;
    }
    return *p > word ? word : NULL;
}

/* The severity of a word that stands in a prefix, a name in full marked off as one. */
static enum inq_log_level read_word(const char *word, const char *end, const char *start,
                                    const char *stop, bool first)
{
    if (is_cann(word, end, stop)) {
        return INQ_LOG_LEVEL_ERROR;
    }
    enum inq_log_level named = level_of_word(word, (size_t)(end - word));
    bool marked = named != INQ_LOG_LEVEL_NONE && is_marked(word, end, start, stop, first);
    return marked ? named : INQ_LOG_LEVEL_NONE;
}

/* A word of plain text: in lower case, with another such word behind it. */
static bool is_bare(const char *word, const char *end, const char *stop)
{
    return end + 1 < stop && *end == ' ' && *word >= 'a' && *word <= 'z' && end[1] >= 'a' &&
           end[1] <= 'z';
}

/* Whether text goes on behind a word, no dash or bar marking it off. */
static bool runs_on(const char *end, const char *stop)
{
    return end < stop && *end == ' ' && (end + 1 == stop || (end[1] != '-' && end[1] != '|'));
}

enum inq_log_level inq_log_level_of(const char *start, const char *end)
{
    const char *stop = (size_t)(end - start) > MAX_PREFIX ? start + MAX_PREFIX : end;
    const char *p = start;
    bool bare = false; /* a word of plain text came before */
    enum inq_log_level priority = read_priority(start, end);
    if (priority != INQ_LOG_LEVEL_NONE) {
        return priority;
    }
    for (int words = 0; words < MAX_WORDS;) {
        const char *word = next_word(&p, stop);
        if (word == NULL) {
            break;
        }
        if (is_digit(*word)) {
            continue;
        }
        enum inq_log_level level = read_letter(word, p, start, stop);
        if (level == INQ_LOG_LEVEL_NONE && !(bare && runs_on(p, stop))) {
            level = read_word(word, p, start, stop, words == 0);
        }
        if (level != INQ_LOG_LEVEL_NONE) {
            return level;
        }
        bare = bare || is_bare(word, p, stop);
        words++;
    }
    return is_warning(start, stop) ? INQ_LOG_LEVEL_WARNING : INQ_LOG_LEVEL_NONE;
}
