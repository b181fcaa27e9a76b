/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict where no cause was found: whom it names, and how sure it is. */
#include "analysis/findings/findings.h"
#include "analysis/findings/verdict.h"
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

/* The verdict on a run of four ranks without findings. Its texts live in `arena`, the caller's. */
static struct inq_verdict verdict_on(struct inq_account *account, struct inq_attribution *blame,
                                     struct inq_arena *arena)
{
    struct inq_strtab names = {0};
    struct inq_rank ranks[RANKS] = {
        {.rank = 0, .events = {.n = 1}}, {.rank = 1}, {.rank = 2}, {.rank = 3}};
    struct inq_trace trace = {.names = &names, .n_ranks = RANKS, .ranks = ranks};
    struct inq_report report = {
        .trace = &trace, .arena = arena, .account = account, .attribution = blame};
    struct inq_findings findings = {.report = &report, .arena = arena};
    struct inq_verdict verdict = {0};

    account->t_ns = 10000;
    account->n_ranks = RANKS;
    account->gains_problem = "";
    inq_verdict_make(&trace, &findings, &verdict);
    assert_false(findings.no_memory);
    inq_mem_free(findings.at);
    return verdict;
}

/* Rank 0 waits 1,000 ns of a step of 10,000: `for_three_ns` of it for rank 3, the rest for 1 and 2
 * alike. Whether the headline names rank 3. */
static bool names_rank_3(int64_t for_three_ns)
{
    struct inq_arena arena = {0};
    int64_t rest_ns = (1000 - for_three_ns) / 2;
    struct inq_attribution blame = {.ranks_compared = RANKS};
    struct inq_account_wait waits[] = {
        {.waited_for = 1, .start_ns = 0, .end_ns = rest_ns},
        {.waited_for = 2, .start_ns = rest_ns, .end_ns = 1000 - for_three_ns},
        {.waited_for = 3, .start_ns = 1000 - for_three_ns, .end_ns = 1000},
    };
    struct inq_account account = {.n_waits = 3, .waits = waits, .unexplained_wait_ns = 1000};
    struct inq_verdict verdict = verdict_on(&account, &blame, &arena);

    assert_string_equal(verdict.cls, "waiting_unexplained");
    assert_non_null(strstr(verdict.headline, "no cause was found"));
    bool named = strstr(verdict.headline, "most of it for rank 3") != NULL;
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

/* A run without findings of which `judged` of four ranks were judged in `steps` steps, and of whose
 * step of 10,000 ns `comm_ns` are communication that cannot be parted. */
static enum inq_confidence healthy(size_t judged, size_t steps, int64_t comm_ns,
                                   const char *headline)
{
    struct inq_arena arena = {0};
    struct inq_attribution blame = {.ranks_compared = judged, .steps_judged = steps};
    struct inq_account account = {.ranks_judged = judged, .steps_judged = steps, .n_steps = steps};
    account.class_ns[INQ_ACCOUNT_COMPUTE] = 10000 - comm_ns;
    account.class_ns[INQ_ACCOUNT_COMM] = comm_ns;
    struct inq_verdict verdict = verdict_on(&account, &blame, &arena);

    assert_string_equal(verdict.cls, "healthy");
    assert_int_equal(strncmp(verdict.headline, headline, strlen(headline)), 0);
    inq_arena_release(&arena);
    return verdict.confidence;
}

static void healthy__is_as_sure_as_what_was_seen(void **state)
{
    (void)state;
    assert_int_equal(healthy(4, 3, 0, "No straggler. A step takes "), INQ_CONFIDENCE_ESTABLISHED);
    assert_int_equal(healthy(4, 2, 0, "No straggler. A step takes "), INQ_CONFIDENCE_SUPPORTED);
    assert_int_equal(healthy(3, 3, 0, "No straggler among 3 of 4 ranks. A step takes "),
                     INQ_CONFIDENCE_SUPPORTED);
    /* 3 % of waiting are in every run */
    assert_int_equal(healthy(4, 3, 300, "No straggler. A step takes "), INQ_CONFIDENCE_ESTABLISHED);
    assert_int_equal(healthy(4, 3, 301, "No straggler. A step takes "), INQ_CONFIDENCE_HYPOTHESIS);
}

/* From half of the time on nobody is called healthy where waiting is not told from transfer. */
static void open__is_not_healthy_from_half_of_the_time_on(void **state)
{
    (void)state;
    struct inq_arena arena = {0};
    struct inq_attribution blame = {.ranks_compared = 4, .steps_judged = 3};
    struct inq_account account = {.ranks_judged = 4, .steps_judged = 3, .n_steps = 3};

    assert_int_equal(healthy(4, 3, 4999, "No straggler. A step takes "), INQ_CONFIDENCE_HYPOTHESIS);
    account.class_ns[INQ_ACCOUNT_COMPUTE] = 5000;
    account.class_ns[INQ_ACCOUNT_COMM] = 5000;
    struct inq_verdict verdict = verdict_on(&account, &blame, &arena);
    assert_string_equal(verdict.cls, "waiting_unexplained");
    assert_int_equal(verdict.confidence, INQ_CONFIDENCE_HYPOTHESIS);
    assert_non_null(strstr(verdict.headline, "50 % of the time is exposed communication"));
    inq_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__is_not_healthy_from_half_of_the_time_on),
        cmocka_unit_test(unexplained__names_whom_most_of_it_is_for),
        cmocka_unit_test(healthy__is_as_sure_as_what_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
