/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking calls really made: known deadlocks stop and are named, and what is executed agrees with
 * what lint says of it, on random orders of random schedules. */
#include "support_plan.h"

#include "inquest/lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct inq_schedule read_csv(const char *text)
{
    struct inq_schedule schedule = {0};
    struct inq_csv_info info;
    struct inq_err err = {0};
    if (inq_schedule_read_csv(text, strlen(text), INQ_CSV_CURRENT, &schedule, &info, &err) !=
        INQ_OK) {
        fail_msg("%s", err.message);
    }
    return schedule;
}

/* Executes a text; the code, and the message in *err. */
static int execute(const char *text, bool ungrouped, struct inq_err *err)
{
    struct inq_schedule schedule = read_csv(text);
    const struct inq_rendezvous_options options = {.ungrouped = ungrouped};
    *err = (struct inq_err){0};
    int code = inq_schedule_execute(&schedule, &options, err);
    inq_schedule_release(&schedule);
    return code;
}

/* Both ranks send before they receive. */
static const char both_send[] = "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,"
                                "2SEND_F1\n"
                                "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,"
                                "3RECV_F1,3F1\n";

static void rendezvous__two_sends_block_unless_grouped(void **state)
{
    (void)state;
    struct inq_err err;
    assert_int_equal(execute(both_send, true, &err), INQ_DEADLOCK);
    assert_string_equal(err.message, "2 of 2 ranks are stuck: rank 0 at 0SEND_F1 waits for rank 1 "
                                     "at 1SEND_F0 waits for rank 0 at 0SEND_F1, in a circle");
    assert_int_equal(execute(both_send, false, &err), INQ_OK);
}

/* Anything between the calls of one rank keeps them from being one group. */
static void rendezvous__a_cell_between_splits_the_group(void **state)
{
    (void)state;
    struct inq_err err;
    const char *text = "0F0,0SEND_F0,0F1,0SEND_F1,0F2,2RECV_F0,2F0\n"
                       "1RECV_F0,1F0,1SEND_F0,1UNSHARD,1RECV_F1,1F1\n";
    assert_int_equal(execute(text, false, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "rank 0 at 0SEND_F1 waits for rank 1"));
}

static void rendezvous__three_ranks_in_a_circle(void **state)
{
    (void)state;
    struct inq_err err;
    const char *wait = "0F0,0RECV_B0,0SEND_F0\n"
                       "1RECV_F0,1F0,1SEND_F0\n"
                       "2RECV_F0,2F0,2B0,2SEND_B0\n";
    assert_int_equal(execute(wait, true, &err), INQ_DEADLOCK);
    assert_string_equal(err.message, "3 of 3 ranks are stuck: rank 0 at 0RECV_B0 waits for rank 1 "
                                     "at 1RECV_F0 waits for rank 0 at 0RECV_B0, in a circle");
}

static void rendezvous__a_call_that_nobody_answers(void **state)
{
    (void)state;
    struct inq_err err;
    const char *text = "0F0,0SEND_F0,0F1\n"
                       "1RECV_F0,1F0,1RECV_F1,1F1\n";
    assert_int_equal(execute(text, false, &err), INQ_DEADLOCK);
    assert_string_equal(err.message, "1 of 2 ranks are stuck: rank 1 at 1RECV_F1 waits for rank "
                                     "0, which is through");
}

static void rendezvous__messages_match_in_order(void **state)
{
    (void)state;
    struct inq_err err;
    const char *text = "0F0,0F1,0SEND_F1,0SEND_F0\n"
                       "1RECV_F0,1RECV_F1,1F0,1F1\n";
    assert_int_equal(execute(text, false, &err), INQ_FORMAT);
    assert_string_equal(err.message, "rank 1 at 1RECV_F0 receives 0SEND_F1 of rank 0");
    assert_int_equal(execute("0F0\n1F0\n", false, &err), INQ_FORMAT);
    assert_string_equal(err.message, "the schedule has no SEND and RECV cells");
}

static void rendezvous__computes_in_between(void **state)
{
    (void)state;
    struct inq_schedule schedule = read_csv("0F0,0SEND_F0\n1RECV_F0,1F0\n");
    const struct inq_costs costs = {.stage = {20000, 20000, 0}};
    const struct inq_rendezvous_options options = {.costs = &costs};
    assert_int_equal(inq_schedule_execute(&schedule, &options, NULL), INQ_OK);
    const struct inq_costs endless = {.stage = {30000000, 0, 0}};
    const struct inq_rendezvous_options hasty = {.costs = &endless, .timeout_ns = 1000000};
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_execute(&schedule, &hasty, &err), INQ_LIMIT);
    inq_schedule_release(&schedule);
}

/* ---- against lint ---------------------------------------------------------------------------- */

static bool is_call(const struct inq_action *a)
{
    return a->kind >= INQ_ACTION_SEND_F && a->kind <= INQ_ACTION_RECV_B;
}

/* Swaps some neighbors of which one is a call at least. */
static void disturb(struct inq_schedule *schedule, struct dice *dice)
{
    for (uint64_t k = dice_roll(dice, 5); k > 0; k--) {
        struct inq_rank_actions *list =
            &schedule->ranks[dice_roll(dice, (uint64_t)schedule->n_ranks)];
        if (list->n < 2) {
            continue;
        }
        struct inq_action *a = &list->actions[dice_roll(dice, list->n - 1)];
        if (is_call(&a[0]) || is_call(&a[1])) {
            struct inq_action first = a[0];
            a[0] = a[1];
            a[1] = first;
        }
    }
}

struct tally {
    size_t runs, circles, others;
};

static void compare(const struct inq_schedule *schedule, enum inq_grouping grouping, uint64_t seed,
                    struct tally *tally)
{
    const struct inq_lint_options how = {.grouping = grouping};
    const struct inq_rendezvous_options options = {.ungrouped = grouping == INQ_GROUPING_NONE};
    struct inq_lint lint = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_lint_schedule(schedule, NULL, &how, &lint, NULL), INQ_OK);
    bool circle = false;
    for (size_t i = 0; i < lint.n; i++) {
        circle = circle || (lint.problems[i].error &&
                            strstr(lint.problems[i].message, "in a circle") != NULL);
    }
    int code = inq_schedule_execute(schedule, &options, &err);
    if ((lint.n_errors == 0) != (code == INQ_OK)) {
        fail_msg("seed %d: lint says %s, the execution %s", (int)seed,
                 lint.n_errors > 0 ? lint.problems[0].message : "it passes",
                 code == INQ_OK ? "runs through" : err.message);
    }
    if (circle && lint.n_errors == 1 && code != INQ_DEADLOCK) {
        fail_msg("seed %d: lint says %s, the execution %s", (int)seed, lint.problems[0].message,
                 err.message);
    }
    tally->runs += code == INQ_OK;
    tally->circles += code == INQ_DEADLOCK;
    tally->others += code == INQ_FORMAT;
    inq_lint_release(&lint);
}

static void rendezvous__agrees_with_lint_on_random_orders(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct dice dice = {seed * 31};
        struct inq_schedule compute = {0};
        struct inq_schedule schedule = {0};
        random_schedule_make(&compute, seed);
        assert_int_equal(inq_schedule_lower(&compute, &schedule, NULL), INQ_OK);
        if (schedule.has_comms && schedule.n_ranks > 1) {
            disturb(&schedule, &dice);
            compare(&schedule, INQ_GROUPING_ADJACENT, seed, &tally);
            compare(&schedule, INQ_GROUPING_NONE, seed, &tally);
        }
        inq_schedule_release(&schedule);
        inq_schedule_release(&compute);
    }
    /* all kinds of ends were met, so that agreeing says something */
    assert_true(tally.runs > 100 && tally.circles > 50 && tally.others > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rendezvous__two_sends_block_unless_grouped),
        cmocka_unit_test(rendezvous__a_cell_between_splits_the_group),
        cmocka_unit_test(rendezvous__three_ranks_in_a_circle),
        cmocka_unit_test(rendezvous__a_call_that_nobody_answers),
        cmocka_unit_test(rendezvous__messages_match_in_order),
        cmocka_unit_test(rendezvous__computes_in_between),
        cmocka_unit_test(rendezvous__agrees_with_lint_on_random_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
