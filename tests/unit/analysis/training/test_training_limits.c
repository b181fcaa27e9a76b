/* SPDX-License-Identifier: Apache-2.0 */
/* Where training output begins to be an event: each threshold from both sides, in runs without
 * noise, so that nothing but the threshold decides. */
#include "inquest/out.h"
#include "inquest/ingest.h"
#include "inquest/training.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

struct told {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_training *training;
};

static struct told read_training(const struct inq_out *out)
{
    struct told told = {0};
    struct inq_err err = {0};
    struct inq_ingest_blob blob = {"run/train.log", out->buf, out->len};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &told.run, &err), INQ_OK);
    assert_int_equal(told.run->n_traces, 1);
    assert_int_equal(inq_analyze(told.run->traces[0], NULL, &told.report, &err), INQ_OK);
    told.training = told.report->training;
    assert_non_null(told.training);
    return told;
}

static void release(struct told *told, struct inq_out *out)
{
    inq_report_free(told->report);
    inq_run_free(told->run);
    inq_out_release(out);
}

/* Steps 1 to `n` with a loss of 2, 1 s each, a gradient norm of 1; rows [at, at + len) differ. */
struct shape {
    const char *what;
    int n, at, len;
    double loss_times, time_times, norm;
    int n_events;
    enum inq_training_event_kind kind;
};

static const struct shape shapes[] = {
    /* a fifth above the level is a jump */
    {"loss 19 % up", 200, 100, 1, 1.19, 1, 1, 0, 0},
    {"loss 21 % up", 200, 100, 1, 1.21, 1, 1, 1, INQ_TRAINING_LOSS_SPIKE},
    /* to have a level takes ten rows after the five of the warm-up */
    {"a jump in row 15", 200, 15, 1, 3, 1, 1, 0, 0},
    {"a jump in row 16", 200, 16, 1, 3, 1, 1, 1, INQ_TRAINING_LOSS_SPIKE},
    /* four rows at the end may yet come back, five are a course that was left; it may dip for
     * fewer than five */
    {"high in the last 4", 200, 197, 4, 3, 1, 1, 1, INQ_TRAINING_LOSS_SPIKE},
    {"high in the last 5", 200, 196, 5, 3, 1, 1, 1, INQ_TRAINING_DIVERGENCE},
    {"high until 5 rows before the end", 1000, 960, 36, 3, 1, 1, 1, INQ_TRAINING_LOSS_SPIKE},
    {"high until 4 rows before the end", 1000, 960, 37, 3, 1, 1, 1, INQ_TRAINING_DIVERGENCE},
    /* steps a tenth slower */
    {"9 % slower", 300, 150, 151, 1, 1.09, 1, 0, 0},
    {"11 % slower", 300, 150, 151, 1, 1.11, 1, 1, INQ_TRAINING_SLOWER},
    /* ten rows are a stretch, fewer are a pause */
    {"9 rows slower", 300, 150, 9, 1, 1.2, 1, 0, 0},
    {"10 rows slower", 300, 150, 10, 1, 1.2, 1, 1, INQ_TRAINING_SLOWER},
    {"the last 9 slower", 300, 292, 9, 1, 1.2, 1, 0, 0},
    {"the last 10 slower", 300, 291, 10, 1, 1.2, 1, 1, INQ_TRAINING_SLOWER},
    /* a gradient norm of five times the level, at the end in five rows */
    {"norm 4.9 times", 300, 150, 50, 1, 1, 4.9, 0, 0},
    {"norm 5.1 times", 300, 150, 50, 1, 1, 5.1, 1, INQ_TRAINING_GRADIENT},
    {"norm high in the last 4", 300, 297, 4, 1, 1, 9, 0, 0},
    {"norm high in the last 5", 300, 296, 5, 1, 1, 9, 1, INQ_TRAINING_GRADIENT},
    /* a loss scaler skips a few steps; at the start it searches for its scale */
    {"no norm in 4 rows", 300, 150, 4, 1, 1, (double)INFINITY, 0, 0},
    {"no norm in 5 rows", 300, 150, 5, 1, 1, (double)INFINITY, 1, INQ_TRAINING_NOT_FINITE},
    {"no norm in the first 31", 300, 1, 31, 1, 1, (double)INFINITY, 0, 0},
    {"no norm in the first 32", 300, 1, 32, 1, 1, (double)INFINITY, 1, INQ_TRAINING_NOT_FINITE},
};

static void write_shape(const struct shape *s, struct inq_out *out)
{
    for (int i = 1; i <= s->n; i++) {
        bool in = i >= s->at && i < s->at + s->len;
        inq_out_printf(out, "step: %d loss: %.6f step_time: %.6f grad_norm: %.4f\n", i,
                       in ? 2.0 * s->loss_times : 2.0, in ? s->time_times : 1.0,
                       in ? s->norm : 1.0);
    }
}

static void limits__decide_from_both_sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        struct inq_out out = {0};
        write_shape(s, &out);
        struct told told = read_training(&out);
        const struct inq_training *t = told.training;
        print_message("%s: %zu events\n", s->what, t->n_events);
        assert_int_equal(t->n_events, s->n_events);
        if (s->n_events > 0) {
            assert_int_equal(t->events[0].kind, s->kind);
            assert_int_equal(t->events[0].first_step, s->at);
            assert_int_equal(t->events[0].last_step,
                             s->kind == INQ_TRAINING_DIVERGENCE ? s->n : s->at + s->len - 1);
        }
        release(&told, &out);
    }
}

/* A loss that rises to the end is a course that was left where it had one: in a quarter of the run
 * it had not risen by a tenth of what it rose and as much again for noise, or it had fallen to
 * where it was; and where it rose by a fifth. */
static void limits__a_slow_rise_leaves_a_course(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    static const struct {
        const char *what;
        int fall, rise; /* rows in which it falls from twice the level; from which on it rises */
        double to;      /* times the level, at the end */
        bool left;
    } cases[] = {
        {"rises from the start", 0, 0, 1.6, false},
        {"is flat for a twentieth", 0, ROWS / 20, 1.6, false}, /* and low for 23 % */
        {"is flat for an eighth", 0, ROWS / 8, 1.6, true},     /* and low for 29 % */
        {"fell in a twentieth", ROWS / 20, ROWS / 20, 1.6, true},
        {"rises by 15 %", 0, ROWS / 2, 1.15, false},
        {"rises by 30 %", 0, ROWS / 2, 1.30, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_out out = {0};
        for (int row = 0; row < ROWS; row++) {
            double up = row > cases[i].rise
                            ? (double)(row - cases[i].rise) / (double)(ROWS - cases[i].rise)
                            : 0.0;
            double down = row < cases[i].fall ? 1.0 - (double)row / (double)cases[i].fall : 0.0;
            inq_out_printf(&out, "step: %d loss: %.6f step_time: 1.0\n", row + 1,
                           2.0 * pow(cases[i].to, up) * pow(2.0, down));
        }
        struct told told = read_training(&out);
        print_message("%s: %zu events\n", cases[i].what, told.training->n_events);
        assert_int_equal(told.training->n_events, cases[i].left);
        if (cases[i].left) {
            const struct inq_training_event *event = &told.training->events[0];
            assert_int_equal(event->kind, INQ_TRAINING_DIVERGENCE);
            assert_int_equal(event->last_step, ROWS);
            assert_true(event->first_step >= cases[i].rise - ROWS / 40);
        }
        release(&told, &out);
    }
}

/* The row in front of a slow stretch belongs to it from half of a tenth on. */
static void limits__a_stretch_begins_with_the_row_that_is_half_as_high(void **state)
{
    (void)state;
    static const struct {
        double time;
        int64_t first;
    } cases[] = {{1.045, 150}, {1.055, 149}};
    for (size_t k = 0; k < 2; k++) {
        struct inq_out out = {0};
        for (int i = 1; i <= 300; i++) {
            inq_out_printf(&out, "step: %d loss: 2.0 step_time: %.4f\n", i,
                           i < 149    ? 1.0
                           : i == 149 ? cases[k].time
                                      : 1.3);
        }
        struct told told = read_training(&out);
        assert_int_equal(told.training->n_events, 1);
        assert_int_equal(told.training->events[0].first_step, cases[k].first);
        release(&told, &out);
    }
}

/* Three slow stretches are told one by one, four are one event. */
static void limits__many_slow_stretches_are_one_event(void **state)
{
    (void)state;
    for (int n = 3; n <= 4; n++) {
        struct inq_out out = {0};
        for (int i = 1; i <= 1000; i++) {
            bool slow = i >= 200 && i < 200 + n * 180 && (i - 200) % 180 < 20;
            inq_out_printf(&out, "step: %d loss: 2.0 step_time: %.1f\n", i, slow ? 2.0 : 1.0);
        }
        struct told told = read_training(&out);
        assert_int_equal(told.training->n_events, n == 3 ? 3 : 1);
        assert_true((strstr(told.training->events[0].what, "in 4 stretches") != NULL) == (n == 4));
        release(&told, &out);
    }
}

/* Times that grow to more than five times the first are counted from the start of the run; those
 * that grow less may be steps that take longer and longer. */
static void limits__times_since_the_start_grow_fivefold(void **state)
{
    (void)state;
    for (int n = 401; n <= 402; n++) {
        struct inq_out out = {0};
        for (int i = 0; i < n; i++) {
            inq_out_printf(&out, "step: %d loss: 2.0 step_time: %d\n", i + 1, 100 + i);
        }
        struct told told = read_training(&out);
        if (n == 401) { /* the last is 500 */
            assert_int_equal(llround(told.training->step_s), 300);
        } else {
            assert_int_equal(llround(told.training->step_s), 1);
        }
        release(&told, &out);
    }
}

/* Three units of the last digit that losses were printed with are no jump: how fine it is, the
 * least difference in the 50 rows before tells; without any, a fifth is one. */
static void limits__a_jump_is_three_units_of_the_last_digit(void **state)
{
    (void)state;
    static const struct {
        int at_11; /* the row that says 1.1 */
        double jump;
        int n_events;
    } cases[] = {{0, 1.3, 1}, {180, 1.3, 0}, {180, 1.4, 1}, {152, 1.3, 0}, {140, 1.3, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct inq_out out = {0};
        for (int i = 1; i <= 300; i++) {
            inq_out_printf(&out, "step: %d loss: %.1f\n", i,
                           i == 200              ? cases[k].jump
                           : i == cases[k].at_11 ? 1.1
                                                 : 1.0);
        }
        struct told told = read_training(&out);
        print_message("1.1 in row %d, %.1f in row 200\n", cases[k].at_11, cases[k].jump);
        assert_int_equal(told.training->n_events, cases[k].n_events);
        release(&told, &out);
    }
}

/* Steps that take long in turn are an event from the fourth on, when three gaps are equal; before,
 * the run went without for as long. */
static void limits__three_equal_gaps_are_a_period(void **state)
{
    (void)state;
    static const struct {
        int first, last, n, n_events;
    } cases[] = {{80, 140, 150, 1}, {80, 120, 130, 0}, {60, 140, 150, 0}, {80, 140, 185, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct inq_out out = {0};
        for (int i = 1; i <= cases[k].n; i++) {
            bool slow = i >= cases[k].first && i <= cases[k].last && i % 20 == 0;
            inq_out_printf(&out, "step: %d loss: 2.0 step_time: %.1f\n", i, slow ? 4.0 : 1.0);
        }
        struct told told = read_training(&out);
        print_message("steps %d to %d of %d\n", cases[k].first, cases[k].last, cases[k].n);
        assert_int_equal(told.training->n_events, cases[k].n_events);
        if (cases[k].n_events > 0) {
            const struct inq_training_event *event = &told.training->events[0];
            assert_int_equal(event->first_step, 80);
            assert_int_equal(llround(event->measured * 1e6), 1150000); /* 60 rows, 3 of them long */
            assert_int_equal(llround(event->expected * 1e6), 1000000);
            assert_non_null(strstr(event->what, "one in 20 steps"));
        }
        release(&told, &out);
    }
}

/* A slow stretch that a restart ends, ends with its attempt: the first rows of the next one, which
 * warm up, are not in it. */
static void limits__a_restart_ends_a_stretch(void **state)
{
    (void)state;
    struct inq_out out = {0};
    for (int attempt = 0; attempt < 2; attempt++) {
        for (int i = 1; i <= 100; i++) {
            inq_out_printf(&out, "step: %d loss: 2.0 step_time: %.1f\n", i,
                           attempt == 0 && i > 60 ? 1.5 : 1.0);
        }
    }
    struct told told = read_training(&out);
    const struct inq_training *t = told.training;
    assert_int_equal(t->n_restarts, 1);
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->events[0].kind, INQ_TRAINING_SLOWER);
    assert_int_equal(t->events[0].first_step, 61);
    assert_int_equal(t->events[0].last_step, 100);
    assert_false(t->events[0].to_end);
    assert_int_equal(llround(t->events[0].measured * 1e6), 1500000);
    assert_int_equal(llround(t->events[0].expected * 1e6), 1000000);
    release(&told, &out);
}

/* Step 0 is a step like others: not one that is counted, nor the same as step 1. */
static void limits__step_0_is_a_step(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct inq_out out = {0};
        for (int i = 0; i < 200; i++) {
            for (int rank = 0; rank < ranks; rank++) {
                double loss = i == 0 ? 4.0 : i == 100 ? 9.0 : 2.0;
                inq_out_printf(&out, "[rank%d]: step: %d loss: %.1f\n", rank, i, loss);
            }
        }
        struct told told = read_training(&out);
        const struct inq_training *t = told.training;
        assert_int_equal(t->n_rows, 200);
        assert_int_equal(t->first_step, 0);
        assert_int_equal(t->last_step, 199);
        assert_int_equal(llround(t->loss_first), 4);
        assert_int_equal(t->n_restarts, 0);
        assert_int_equal(t->n_events, 1);
        assert_int_equal(t->events[0].first_step, 100);
        release(&told, &out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__decide_from_both_sides),
        cmocka_unit_test(limits__a_slow_rise_leaves_a_course),
        cmocka_unit_test(limits__a_stretch_begins_with_the_row_that_is_half_as_high),
        cmocka_unit_test(limits__many_slow_stretches_are_one_event),
        cmocka_unit_test(limits__times_since_the_start_grow_fivefold),
        cmocka_unit_test(limits__a_jump_is_three_units_of_the_last_digit),
        cmocka_unit_test(limits__three_equal_gaps_are_a_period),
        cmocka_unit_test(limits__a_restart_ends_a_stretch),
        cmocka_unit_test(limits__step_0_is_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
