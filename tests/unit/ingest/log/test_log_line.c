/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in a line: words are found through blanks and escape sequences. */
#include "ingest/log/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Where the search ends, -1 where nothing is found. */
static long seek(const char *text, const char *word)
{
    const char *behind = inq_log_seek(text, text + strlen(text), word);
    return behind != NULL ? (long)(behind - text) : -1;
}

static void log_line__seek_through_blanks(void **state)
{
    (void)state;
    assert_int_equal(seek("a rank :3", "rank:"), 8);
    assert_int_equal(seek("a \x1b[31mrank\x1b[0m: 3", "rank:"), 16);
    assert_int_equal(seek("[PG 0]", "[PG "), 3);
    assert_int_equal(seek("\x1b[PG 0]", "[PG "), -1); /* the bracket is the sequence's */
    assert_int_equal(seek("rankrank:", "rank:"), 9);
}

/* A word with a blank in front stands behind one, wherever that is. */
static void log_line__seek_apart(void **state)
{
    (void)state;
    assert_int_equal(seek("2m  Warning  Evicted", " Warning "), 11);
    assert_int_equal(seek("2m\tWarning Evicted", " Warning "), 10);
    assert_int_equal(seek("DeprecationWarning: x", " Warning "), -1);
    assert_int_equal(seek("Warning: x", " Warning "), -1);
    assert_int_equal(seek("min in x", " in"), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_line__seek_through_blanks),
        cmocka_unit_test(log_line__seek_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
