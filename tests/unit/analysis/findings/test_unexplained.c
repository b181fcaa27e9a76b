/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on waiting that no cause was found for: whom it names. */
#include "analysis/findings/findings.h"
#include "inquest/account.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/strtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* Rank 0 waits 1,000 ns of a step of 10,000: `for_three_ns` of it for rank 3, the rest for 1 and 2
 * alike. Whether the headline names rank 3. */
static bool names_rank_3(int64_t for_three_ns)
{
    struct inq_arena arena = {0};
    struct inq_strtab names = {0};
    struct inq_rank ranks[RANKS] = {
        {.rank = 0, .events = {.n = 1}}, {.rank = 1}, {.rank = 2}, {.rank = 3}};
    int64_t rest_ns = (1000 - for_three_ns) / 2;
    struct inq_blame blame = {.ranks_compared = RANKS};
    struct inq_account_wait waits[] = {
        {.waited_for = 1, .start_ns = 0, .end_ns = rest_ns},
        {.waited_for = 2, .start_ns = rest_ns, .end_ns = 1000 - for_three_ns},
        {.waited_for = 3, .start_ns = 1000 - for_three_ns, .end_ns = 1000},
    };
    struct inq_account account = {.t_ns = 10000,
                                  .n_ranks = RANKS,
                                  .n_waits = 3,
                                  .waits = waits,
                                  .unexplained_wait_ns = 1000,
                                  .gains_problem = ""};
    struct inq_trace trace = {.names = &names, .n_ranks = RANKS, .ranks = ranks};
    struct inq_report report = {
        .trace = &trace, .arena = &arena, .account = &account, .blame = &blame};
    struct inq_findings findings = {.report = &report, .arena = &arena};
    struct inq_verdict verdict = {0};

    inq_verdict_make(&trace, &findings, &verdict);
    assert_false(findings.no_memory);
    assert_string_equal(verdict.cls, "waiting_unexplained");
    assert_non_null(strstr(verdict.headline, "no cause was found"));
    bool named = strstr(verdict.headline, "most of it for rank 3") != NULL;
    inq_mem_free(findings.at);
    inq_arena_release(&arena);
    return named;
}

static void unexplained__names_whom_most_of_it_is_for(void **state)
{
    (void)state;
    assert_true(names_rank_3(1000));
    assert_true(names_rank_3(500));
    assert_false(names_rank_3(498));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unexplained__names_whom_most_of_it_is_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
