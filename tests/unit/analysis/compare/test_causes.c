/* SPDX-License-Identifier: Apache-2.0 */
/* What the causes of a change cost, in runs of which every figure is known: a rank's extra compute
 * delays the others by as much, and what all have in common costs that and no waiting. */
#include "support_steps.h"

#include "inquest/analysis.h"
#include "inquest/compare.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

struct compared {
    struct inq_run *runs[2];
    struct inq_report *reports[2];
    struct inq_comparison *c;
};

static struct compared compare(const struct made_steps *base, const struct made_steps *now)
{
    struct compared made = {.runs = {made_steps_run(base), made_steps_run(now)}};
    struct inq_err err = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(inq_analyze(made.runs[i]->traces[0], NULL, &made.reports[i], &err),
                         INQ_OK);
    }
    if (inq_compare_runs(made.reports[0], made.reports[1], NULL, &made.c, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return made;
}

static void release(struct compared *made)
{
    inq_comparison_free(made->c);
    for (int i = 0; i < 2; i++) {
        inq_report_free(made->reports[i]);
        inq_run_free(made->runs[i]);
    }
}

/* A cause: its cost, and its ranks as "0,1" ("" all alike). */
struct cause {
    int64_t ns;
    const char *ranks;
};

static void expect(const struct made_steps *base, const struct made_steps *now, int64_t total_ns,
                   const struct cause *causes, size_t n)
{
    struct compared made = compare(base, now);
    assert_int_equal(made.c->loss_total_ns, total_ns);
    for (size_t i = 0; i < made.c->n_causes; i++) {
        print_message("%lld ns: %s\n", (long long)made.c->causes[i].ns, made.c->causes[i].text);
    }
    assert_int_equal(made.c->n_causes, n);
    for (size_t i = 0; i < n; i++) {
        const struct inq_compared_cause *cause = &made.c->causes[i];
        char ranks[32] = "";
        for (size_t k = 0; k < cause->n_ranks; k++) {
            size_t used = strlen(ranks);
            (void)snprintf(ranks + used, sizeof ranks - used, "%s%d", k > 0 ? "," : "",
                           (int)cause->ranks[k]);
        }
        assert_int_equal(cause->loss, INQ_LOSS_COMPUTE);
        assert_in_range(cause->ns - causes[i].ns + 10, 0, 20); /* rounded per rank */
        assert_string_equal(ranks, causes[i].ranks);
    }
    release(&made);
}

#define EXPECT(total_ns, ...)                                                                      \
    expect(&base, &now, total_ns, (const struct cause[]){__VA_ARGS__},                             \
           sizeof((const struct cause[]){__VA_ARGS__}) / sizeof(struct cause))

static void causes__of_one_rank_cost_what_all_wait(void **state)
{
    (void)state;
    struct made_steps base;
    struct made_steps now;
    made_steps_init(&base, 4, 6 * MS);
    made_steps_init(&now, 4, 6 * MS);
    made_steps_set(&now, 1, 8 * MS);
    EXPECT(2 * MS, {2 * MS, "1"});
    made_steps_set(&base, 1, 9 * MS); /* it was slower still: a gain, and nobody else's */
    EXPECT(-1 * MS, {-1 * MS, "1"});
    made_steps_set(&base, 1, 6 * MS); /* of two the slower one counts, and both are named */
    made_steps_set(&now, 2, 8 * MS);
    EXPECT(2 * MS, {2 * MS, "1,2"});
    made_steps_init(&base, 2, 6 * MS); /* beside one other */
    made_steps_init(&now, 2, 6 * MS);
    made_steps_set(&now, 1, 8 * MS);
    EXPECT(2 * MS, {2 * MS, "1"});
}

/* Another ratio of a rank's extra compute to the largest: half counts as standing out with it. */
static void causes__half_as_much_stands_out_with_the_most(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        struct made_steps base;
        struct made_steps now;
        made_steps_init(&base, 8, 6 * MS);
        made_steps_init(&now, 8, 6 * MS);
        made_steps_set(&now, 3, 8 * MS);
        made_steps_set(&now, 5, 7 * MS - (half ? 0 : 1 * US));
        struct compared made = compare(&base, &now);
        assert_true(made.c->n_causes > 0);
        assert_int_equal(made.c->causes[0].n_ranks, half ? 2 : 1);
        assert_int_equal(made.c->causes[0].ranks[0], 3);
        release(&made);
    }
}

static void causes__that_all_have_cost_no_waiting(void **state)
{
    (void)state;
    struct made_steps base;
    struct made_steps now;
    made_steps_init(&base, 4, 6 * MS);
    made_steps_init(&now, 4, 7 * MS);
    EXPECT(1 * MS, {1 * MS, ""});
    /* less than 0.3 % of the 9 ms of a step is no cause: 27 us */
    made_steps_init(&now, 4, 6 * MS + 26 * US);
    struct compared made = compare(&base, &now);
    assert_int_equal(made.c->n_causes, 0);
    release(&made);
    made_steps_init(&now, 4, 6 * MS + 28 * US);
    EXPECT(28 * US, {28 * US, ""});
}

/* All by 1 ms and one by 2 ms more: the step is 3 ms longer, and the two causes are that. */
static void causes__of_one_and_of_all_add_up(void **state)
{
    (void)state;
    struct made_steps base;
    struct made_steps now;
    made_steps_init(&base, 4, 6 * MS);
    made_steps_init(&now, 4, 7 * MS);
    made_steps_set(&now, 2, 9 * MS);
    struct compared made = compare(&base, &now);
    assert_int_equal(made.c->loss_total_ns, 3 * MS);
    assert_int_equal(made.c->n_causes, 2);
    int64_t sum_ns = 0;
    size_t of_one = 0;
    for (size_t i = 0; i < 2; i++) {
        print_message("%lld ns: %s\n", (long long)made.c->causes[i].ns, made.c->causes[i].text);
        assert_true(made.c->causes[i].ns >= 1 * MS);
        sum_ns += made.c->causes[i].ns;
        of_one += made.c->causes[i].n_ranks == 1 && made.c->causes[i].ranks[0] == 2;
    }
    assert_int_equal(of_one, 1);
    assert_in_range(sum_ns, 3 * MS - 10, 3 * MS + 10);
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes__of_one_rank_cost_what_all_wait),
        cmocka_unit_test(causes__half_as_much_stands_out_with_the_most),
        cmocka_unit_test(causes__that_all_have_cost_no_waiting),
        cmocka_unit_test(causes__of_one_and_of_all_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
