/* SPDX-License-Identifier: Apache-2.0 */
/* Validation: the rule of judgment on an engine whose times are made up, and intervals against
 * tabled ones. */
#include "support_plan.h"

#include "engine/engine.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A plan of one op. */
struct pair {
    struct inq_graph *graphs[2];
    struct inq_plan *plans[2];
};

static struct pair make_pair(int64_t base_ns, int64_t fixed_ns)
{
    struct pair pair;
    for (int k = 0; k < 2; k++) {
        struct inq_graph_builder *b = inq_graph_builder_new();
        struct inq_graph_op op = inq_graph_op_init();
        op.rank = 0;
        op.lane = 0;
        assert_int_equal(inq_graph_add_op(b, &op, k == 0 ? base_ns : fixed_ns, 0, NULL, NULL),
                         INQ_OK);
        assert_int_equal(inq_graph_finish(b, &pair.graphs[k], NULL, NULL), INQ_OK);
        inq_graph_builder_free(b);
        assert_int_equal(inq_plan_make(pair.graphs[k], NULL, &pair.plans[k], NULL), INQ_OK);
    }
    return pair;
}

static void free_pair(struct pair *pair)
{
    for (int k = 0; k < 2; k++) {
        inq_plan_free(pair->plans[k]);
        inq_graph_free(pair->graphs[k]);
    }
}

/* The fake engine takes what the plan's op takes times `num / den`, plus noise that repeats; plans
 * of 1,000,000 ns are bases. */
struct fake {
    int64_t base_ppm, fixed_ppm; /* executed / simulated, millionths */
    int64_t noise_ppm;
    bool standin;
    bool too_large;    /* the fixed plan does not fit the memory */
    bool breaks_order; /* the op of the fixed plan ends before it starts */
    size_t calls, pairs_out_of_order;
};
static struct fake fake;

static int fake_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                    struct inq_execution *out, struct inq_err *err)
{
    static const int64_t noise[] = {0, 1, -1, 2, -2, 3, -3};
    bool is_base = plan->dur_ns[0] == 1000000;
    *out = (struct inq_execution){0};
    assert_int_equal(options->warmup, -1);
    assert_int_equal(options->repeats, 1);
    int64_t ppm = (is_base ? fake.base_ppm : fake.fixed_ppm) +
                  fake.noise_ppm * noise[fake.calls % (sizeof noise / sizeof *noise)];
    fake.calls++;
    if (fake.too_large && !is_base) {
        return inq_err_set(err, INQ_NOMEM, "the device is out of memory");
    }
    struct inq_recorder recorder = {0};
    assert_int_equal(inq_recorder_init(&recorder, plan->graph->n_ops, 1, NULL), INQ_OK);
    int64_t *end_ns = inq_recorder_end(&recorder);
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        end_ns[i] = plan->dur_ns[i] * ppm / 1000000;
    }
    (void)inq_recorder_next(&recorder);
    assert_int_equal(inq_recorder_finish(&recorder, out, NULL), INQ_OK);
    if (fake.breaks_order && !is_base) {
        out->end_ns[0] = -1000;
    }
    (void)strcpy(out->device, fake.standin ? "CPU stand-in for a GPU" : "fake");
    return INQ_OK;
}

static const struct inq_engine fake_engine = {"fake", "", true, true, fake_run, NULL, NULL};

static struct inq_validation validate_as(int64_t fixed_ns, struct fake how,
                                         const struct inq_validate_options *options)
{
    struct pair pair = make_pair(1000000, fixed_ns);
    struct inq_validation v;
    int repeats = options->replay.repeats;
    fake = how;
    assert_int_equal(inq_validate(&fake_engine, pair.plans[0], pair.plans[1], options, &v, NULL),
                     INQ_OK);
    free_pair(&pair);
    assert_int_equal(fake.calls, 2 * ((size_t)(repeats > 0 ? repeats : 15) + 1));
    return v;
}

static struct inq_validation validate(int64_t fixed_ns, struct fake how, int repeats)
{
    const struct inq_validate_options options = {.replay = {.repeats = repeats, .seed = 3}};
    return validate_as(fixed_ns, how, &options);
}

/* Two plans that fit one by one, but not together. */
static int no_room_for_both(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                            const struct inq_replay_options *options, int64_t *makespan_ns,
                            struct inq_witness *witness, struct inq_execution *device,
                            struct inq_err *err)
{
    (void)plans;
    (void)order;
    (void)n;
    (void)options;
    (void)makespan_ns;
    (void)witness;
    *device = (struct inq_execution){0};
    return inq_err_set(err, INQ_NOMEM, "no room for both");
}

static void validate__refutes_what_does_not_fit(void **state)
{
    (void)state;
    struct inq_engine small = fake_engine;
    small.alternate = no_room_for_both;
    const struct inq_validate_options options = {.replay = {.repeats = 9}};
    struct inq_validation v;
    struct inq_err err = {0};
    struct pair pair = make_pair(1000000, 800000);
    fake = (struct fake){.base_ppm = 1000000, .fixed_ppm = 1000000};
    assert_int_equal(inq_validate(&small, pair.plans[0], pair.plans[1], &options, &v, &err),
                     INQ_OK);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED); /* one after the other */
    fake.too_large = true;
    assert_int_equal(inq_validate(&small, pair.plans[0], pair.plans[1], &options, &v, &err),
                     INQ_OK);
    assert_int_equal(v.order.judgment, INQ_INCONCLUSIVE);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_string_equal(v.cost.why, "it does not fit: the device is out of memory");
    assert_string_equal(inq_validation_text(&v), "refuted");
    assert_true(v.fixed.n == 0 && isnan(v.speedup));
    free_pair(&pair);
    /* an original that does not fit says nothing of a fix */
    pair = make_pair(800000, 1000000);
    assert_int_equal(inq_validate(&small, pair.plans[0], pair.plans[1], &options, &v, &err),
                     INQ_NOMEM);
    free_pair(&pair);
}

static void validate__confirms_a_gain_that_is_there(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1000000, .noise_ppm = 2000}, 15);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
    assert_int_equal(v.base.n, 15);
    assert_true(v.speedup > 1.24 && v.speedup < 1.26);
    assert_true(v.speedup_ci95[0] <= v.speedup && v.speedup <= v.speedup_ci95[1]);
    assert_true(v.base.ci95_ns[0] <= v.base.median_ns && v.base.median_ns <= v.base.ci95_ns[1]);
    assert_non_null(strstr(v.cost.why, "speed +25.00 % predicted"));
}

static void validate__refutes_what_is_slower(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1300000, .noise_ppm = 1000}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_memory_equal(v.cost.why, "slower", 6);
}

static void validate__refutes_less_than_the_gain(void **state)
{
    (void)state;
    /* predicted 25 %, executed 1 / 0.92 = 8.7 % */
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1150000, .noise_ppm = 1000}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_memory_equal(v.cost.why, "gains less than predicted", 25);
}

static void validate__leaves_open_what_the_noise_hides(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(990000, (struct fake){1000000, 1000000, .noise_ppm = 9000}, 15);
    assert_int_equal(v.order.judgment, INQ_CONFIRMED);
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_memory_equal(v.cost.why, "the interval is too wide", 24);
    assert_string_equal(inq_validation_text(&v), "order_confirmed");
}

static void validate__refutes_a_gain_of_another_size(void **state)
{
    (void)state;
    /* predicted 25 %, executed 1 / 0.86 = 16 % and 1 / 0.72 = 39 % */
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1075000, .noise_ppm = 100}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_memory_equal(v.cost.why, "gains less", 10);
    v = validate(800000, (struct fake){1000000, 900000, .noise_ppm = 100}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_memory_equal(v.cost.why, "gains more", 10);
    assert_string_equal(inq_validation_text(&v), "refuted");
}

/* A fifth of the gain of 25 %: executed 20.1 % is within, 19.9 % is not. */
static void validate__tolerates_a_fifth_of_the_gain(void **state)
{
    (void)state;
    struct inq_validation v = validate(800000, (struct fake){1000000, 1040799, .noise_ppm = 0}, 15);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
    v = validate(800000, (struct fake){1000000, 1042535, .noise_ppm = 0}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
}

static void validate__judges_a_predicted_loss(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(1250000, (struct fake){1000000, 1000000, .noise_ppm = 0}, 15);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
    assert_memory_equal(v.cost.why, "the loss is there", 17);
    v = validate(1250000, (struct fake){1000000, 700000, .noise_ppm = 0}, 15);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_memory_equal(v.cost.why, "faster", 6);
}

/* Both as far off: the ratio is right, but beyond 3 % of the expected step nothing is judged. */
static void validate__judges_nothing_with_a_base_that_is_off(void **state)
{
    (void)state;
    struct inq_validation v = validate(800000, (struct fake){1029000, 1029000, .noise_ppm = 0}, 15);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
    v = validate(800000, (struct fake){1031000, 1031000, .noise_ppm = 0}, 15);
    assert_int_equal(v.order.judgment, INQ_INCONCLUSIVE);
    assert_non_null(strstr(v.order.why, "+3.1 % off the expected step, more than 3 %"));
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_string_equal(inq_validation_text(&v), "inconclusive");
    assert_non_null(strstr(v.cost.why, "+3.1 % off the expected step, more than 3 %"));
    assert_non_null(strstr(v.cost.why, "host and other +31.0 us")); /* which ops */
    assert_int_equal(v.kinds[0].executed_ns - v.kinds[0].planned_ns, 31000);
    /* what was recorded counts, not the simulation */
    const struct inq_validate_options recorded = {.replay = {.repeats = 15},
                                                  .expected_ns = 1031000};
    v = validate_as(800000, (struct fake){1031000, 1031000, .noise_ppm = 0}, &recorded);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
}

static void validate__refutes_an_order_that_was_not_kept(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1000000, .breaks_order = true}, 15);
    assert_int_equal(v.order.judgment, INQ_REFUTED);
    assert_non_null(strstr(v.order.why, "16 of 32 executions"));
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_string_equal(inq_validation_text(&v), "refuted");
}

static void validate__says_what_was_not_measured(void **state)
{
    (void)state;
    const struct inq_validate_options options = {.replay = {.repeats = 15},
                                                 .unmeasured = "the other links"};
    struct inq_validation v =
        validate_as(800000, (struct fake){1000000, 1000000, .noise_ppm = 0}, &options);
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_non_null(strstr(v.cost.why, "not measured on this device: the other links"));
}

/* The gain that was promised is judged, not the one of the costs that were measured since. */
static void validate__judges_the_prediction_not_the_measured_costs(void **state)
{
    (void)state;
    const struct inq_validate_options options = {
        .replay = {.repeats = 15}, .predicted_speedup = 1.5, .measured = "latency 200 us"};
    struct inq_validation v =
        validate_as(800000, (struct fake){1000000, 1000000, .noise_ppm = 0}, &options);
    assert_int_equal(v.cost.judgment, INQ_REFUTED);
    assert_true(v.measured_speedup > 1.24 && v.measured_speedup < 1.26);
    assert_non_null(strstr(v.cost.why, "; latency 200 us"));
}

static void validate__confirms_nothing_that_was_not_executed(void **state)
{
    (void)state;
    struct inq_validation v =
        validate(800000, (struct fake){1000000, 1000000, .standin = true}, 15);
    assert_int_equal(v.order.judgment, INQ_INCONCLUSIVE);
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_non_null(strstr(v.order.why, "CPU stand-in"));
    struct pair pair = make_pair(1000000, 500000);
    assert_int_equal(
        inq_validate(inq_engine_find("sim"), pair.plans[0], pair.plans[1], NULL, &v, NULL), INQ_OK);
    assert_string_equal(inq_validation_text(&v), "inconclusive");
    free_pair(&pair);
}

static void validate__wants_enough_pairs_and_a_prediction(void **state)
{
    (void)state;
    struct inq_validation v = validate(800000, (struct fake){1000000, 1000000, .noise_ppm = 0}, 5);
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_non_null(strstr(v.cost.why, "at least 6"));
    v = validate(800000, (struct fake){1000000, 1000000, .noise_ppm = 0}, 6);
    assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
    v = validate(1000001, (struct fake){1000000, 1000000, .noise_ppm = 0}, 0);
    assert_int_equal(v.cost.judgment, INQ_INCONCLUSIVE);
    assert_int_equal(v.base.n, 15);
}

static int fake_alternate(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                          const struct inq_replay_options *options, int64_t *makespan_ns,
                          struct inq_witness *witness, struct inq_execution *device,
                          struct inq_err *err)
{
    (void)options;
    (void)err;
    *device = (struct inq_execution){0};
    size_t base_first = 0;
    witness->n = n;
    for (size_t i = 0; i < n; i++) {
        makespan_ns[i] = plans[order[i]]->dur_ns[0];
        base_first += i % 2 == 0 && order[i] == 0;
        fake.pairs_out_of_order += i % 2 == 1 && order[i] == order[i - 1];
    }
    fake.calls = base_first;
    return INQ_OK;
}

static void validate__draws_the_order_of_each_pair(void **state)
{
    (void)state;
    const struct inq_engine engine = {"fake", "", true, true, fake_run, fake_alternate, NULL};
    struct pair pair = make_pair(1000000, 500000);
    struct inq_validation v;
    struct inq_validate_options options = {.replay = {.warmup = -1, .repeats = 200}};
    size_t before = 0;
    for (uint64_t seed = 1; seed < 4; seed++) {
        fake = (struct fake){0};
        options.replay.seed = seed;
        assert_int_equal(inq_validate(&engine, pair.plans[0], pair.plans[1], &options, &v, NULL),
                         INQ_OK);
        assert_int_equal(fake.pairs_out_of_order, 0);
        assert_true(fake.calls > 60 && fake.calls < 140);
        assert_int_not_equal(fake.calls, before);
        before = fake.calls;
        assert_int_equal(v.cost.judgment, INQ_CONFIRMED);
        assert_int_equal(v.base.median_ns, 1000000);
        assert_int_equal(v.fixed.median_ns, 500000);
    }
    free_pair(&pair);
}

/* Ranks of the 95 % interval of the median, as tabled: n, k. */
static void sample__takes_the_tabled_order_statistics(void **state)
{
    (void)state;
    static const size_t table[][2] = {{6, 1},  {8, 1},  {9, 2},  {11, 2},  {12, 3},
                                      {15, 4}, {20, 6}, {25, 8}, {30, 10}, {50, 18}};
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        int64_t values[50];
        size_t n = table[t][0];
        for (size_t i = 0; i < n; i++) {
            values[i] = (int64_t)(n - i);
        }
        struct inq_sample sample = inq_sample_make(values, n);
        assert_int_equal(sample.ci95_ns[0], table[t][1]);
        assert_int_equal(sample.ci95_ns[1], n + 1 - table[t][1]);
        assert_int_equal(sample.median_ns, (n + 1) / 2);
    }
    int64_t three[] = {3, 1, 2};
    struct inq_sample sample = inq_sample_make(three, 3);
    assert_int_equal(sample.ci95_ns[0], 1);
    assert_int_equal(sample.ci95_ns[1], 3);
    assert_int_equal(inq_sample_make(NULL, 0).n, 0);
}

static void validate__works_end_to_end_on_the_host(void **state)
{
    (void)state;
    struct pair pair = make_pair(4000000, 1000000);
    struct inq_validation v;
    const struct inq_validate_options options = {.replay = {.repeats = 7}};
    assert_int_equal(
        inq_validate(inq_engine_find("host"), pair.plans[0], pair.plans[1], &options, &v, NULL),
        INQ_OK);
    /* how exact it is depends on what else runs here; that both were executed does not */
    assert_true(v.base.median_ns >= 4000000);
    assert_true(v.fixed.median_ns >= 1000000);
    assert_true(v.order.judgment == INQ_CONFIRMED || fabs(v.base_error) > INQ_BASE_ERROR_LIMIT);
    assert_true(v.cost.judgment != INQ_NOT_EXECUTED && v.cost.why[0] != '\0');
    free_pair(&pair);
}

/* How long recorded work takes is not known before: a hang of it is waited for longer. */
static void timeouts__are_longer_for_recorded_work(void **state)
{
    (void)state;
    struct inq_plan plan = {.simulated_ns = 999999999};
    struct inq_replay_options recorded = {.work = INQ_WORK_RECORDED};
    assert_int_equal(inq_replay_timeout_ns(&plan, NULL), INT64_C(10000000000));
    assert_int_equal(inq_replay_timeout_ns(&plan, &recorded), INT64_C(60000000000));
    plan.simulated_ns = 1000000001;
    assert_int_equal(inq_replay_timeout_ns(&plan, NULL), INT64_C(10000000010));
    plan.simulated_ns = 6000000001;
    assert_int_equal(inq_replay_timeout_ns(&plan, &recorded), INT64_C(60000000010));
    recorded.timeout_ns = 5;
    assert_int_equal(inq_replay_timeout_ns(&plan, &recorded), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts__are_longer_for_recorded_work),
        cmocka_unit_test(validate__refutes_what_does_not_fit),
        cmocka_unit_test(validate__confirms_a_gain_that_is_there),
        cmocka_unit_test(validate__refutes_what_is_slower),
        cmocka_unit_test(validate__refutes_less_than_the_gain),
        cmocka_unit_test(validate__leaves_open_what_the_noise_hides),
        cmocka_unit_test(validate__refutes_a_gain_of_another_size),
        cmocka_unit_test(validate__tolerates_a_fifth_of_the_gain),
        cmocka_unit_test(validate__judges_a_predicted_loss),
        cmocka_unit_test(validate__judges_nothing_with_a_base_that_is_off),
        cmocka_unit_test(validate__refutes_an_order_that_was_not_kept),
        cmocka_unit_test(validate__says_what_was_not_measured),
        cmocka_unit_test(validate__judges_the_prediction_not_the_measured_costs),
        cmocka_unit_test(validate__confirms_nothing_that_was_not_executed),
        cmocka_unit_test(validate__wants_enough_pairs_and_a_prediction),
        cmocka_unit_test(validate__draws_the_order_of_each_pair),
        cmocka_unit_test(sample__takes_the_tabled_order_statistics),
        cmocka_unit_test(validate__works_end_to_end_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
