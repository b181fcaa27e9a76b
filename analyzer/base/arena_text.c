/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena_text.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether `text` begins inside a character of UTF-8. */
static bool is_inside(const char *text)
{
    return ((unsigned char)*text & 0xc0) == 0x80;
}

const char *inq_arena_name(struct inq_arena *arena, const char *name)
{
    enum { LONGEST = 80, TAIL = 25 };
    size_t n = strlen(name);
    bool words = name[strspn(name, "abcdefghijklmnopqrstuvwxyz ")] == '\0';
    const char *quote = strchr(name, ' ') != NULL && !words ? "\"" : "";
    if (n <= LONGEST) {
        return inq_arena_printf(arena, "%s%s%s", quote, name, quote);
    }
    size_t head = LONGEST - TAIL - 2;
    size_t tail = n - TAIL;
    while (head > 0 && is_inside(name + head)) {
        head--;
    }
    while (is_inside(name + tail)) {
        tail++;
    }
    return inq_arena_printf(arena, "%s%.*s..%s%s", quote, (int)head, name, name + tail, quote);
}

const char *inq_arena_list(struct inq_arena *arena, const int32_t *numbers, size_t n)
{
    enum { LONG = 48, LONGEST_ITEM = 24 };
    char text[LONG + 2 * LONGEST_ITEM + 32] = "";
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n && numbers[last + 1] == numbers[last] + 1) {
            last++;
        }
        if (len > LONG) {
            (void)snprintf(text + len, sizeof text - len, ",... (%zu)", n);
            break;
        }
        last = last > i + 1 ? last : i; /* two neighbors read better with a comma */
        int used =
            snprintf(text + len, sizeof text - len, "%s%" PRId32, i > 0 ? "," : "", numbers[i]);
        len += used > 0 ? (size_t)used : 0;
        if (last > i) {
            used = snprintf(text + len, sizeof text - len, "-%" PRId32, numbers[last]);
            len += used > 0 ? (size_t)used : 0;
        }
        i = last + 1;
    }
    return inq_arena_printf(arena, "%s", text);
}

const char *inq_arena_ranks(struct inq_arena *arena, const int32_t *ranks, size_t n, bool capital)
{
    if (n == 2) {
        return inq_arena_printf(arena, "%sanks %" PRId32 " and %" PRId32, capital ? "R" : "r",
                                ranks[0], ranks[1]);
    }
    return inq_arena_printf(arena, "%s%s %s", capital ? "R" : "r", n == 1 ? "ank" : "anks",
                            inq_arena_list(arena, ranks, n));
}

const char *inq_arena_time(struct inq_arena *arena, int64_t ns)
{
    char buf[32];
    return inq_arena_printf(arena, "%s", inq_time_format(ns, buf, sizeof buf));
}
