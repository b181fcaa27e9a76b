/* SPDX-License-Identifier: Apache-2.0 */
/* Training output in several wordings, and what goes wrong in it. */
#include "base/out.h"
#include "inquest/ingest.h"
#include "inquest/training.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct told {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_training *training; /* NULL: none */
};

static struct told tell(const char *text, size_t n)
{
    struct told told = {0};
    struct inq_err err = {0};
    struct inq_ingest_blob blob = {"run/train.log", text, n};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &told.run, &err), INQ_OK);
    if (told.run->n_traces == 1) {
        assert_int_equal(inq_analyze(told.run->traces[0], NULL, &told.report, &err), INQ_OK);
        told.training = told.report->training;
    }
    return told;
}

static void release(struct told *told)
{
    inq_report_free(told->report);
    inq_run_free(told->run);
}

static int64_t millionths(double value)
{
    return (int64_t)llround(value * 1e6);
}

/* ---- wordings ---------------------------------------------------------------------------------
 */

/* One line each; in millionths, -1: not told. */
struct wording {
    const char *line;
    int64_t step, loss, step_s, throughput;
};

static const struct wording wordings[] = {
    {" [2025-03-01 10:00:00] iteration       12/  500000 | consumed samples:         3072 | "
     "elapsed "
     "time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 300.5 | learning rate: "
     "1.5E-04 | lm loss: 2.250000E+00 | loss scale: 1.0 | grad norm: 1.031 | number of skipped "
     "iterations:   0 | number of nan iterations:   0 |",
     12, 2250000, 1234500, 300500000},
    {"[rank0]:[titan] 2025-03-01 10:00:00,123 - root - INFO - \x1b[31mstep: 12  \x1b[32mloss:  "
     "2.2500  \x1b[33mgrad_norm:  1.2 \x1b[34mmemory: 20.50GiB(21.56%)  \x1b[34mtps: 7,012  "
     "\x1b[36mtflops: 51.20  \x1b[35mmfu: 16.40%\x1b[39m",
     12, 2250000, -1, 7012000000},
    {"{'loss': 2.25, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.01}", 1, 2250000, -1, -1},
    {"{\"step\": 12, \"loss\": 2.25, \"step_time\": 0.5}", 12, 2250000, 500000, -1},
    {"iter 12: loss 2.2500, time 123.40ms, mfu 1.20%", 12, 2250000, 123400, -1},
    {"steps: 12 loss: 2.2500 iter time (s): 0.500 samples/sec: 32.0", 12, 2250000, 500000,
     32000000},
    {"Step 12, Loss=2.25", 12, 2250000, -1, -1},
    {"step 12: train loss 2.25, val loss 9.5", 12, 2250000, -1, -1},
    {"global_step=12 train/loss=2.25 train/grad_norm=1.0", 12, 2250000, -1, -1},
};

static void training__is_read_in_every_wording(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        const struct wording *w = &wordings[i];
        char text[1024];
        int n = snprintf(text, sizeof text, "%s\n", w->line);
        struct told told = tell(text, (size_t)n);
        print_message("%.60s\n", w->line);
        const struct inq_training *t = told.training;
        assert_non_null(t);
        assert_int_equal(t->n_rows, 1);
        assert_int_equal(t->first_step, w->step);
        assert_int_equal(millionths(t->loss_last), w->loss);
        assert_int_equal(isnan(t->step_s) ? -1 : millionths(t->step_s), w->step_s);
        assert_int_equal(isnan(t->throughput) ? -1 : millionths(t->throughput), w->throughput);
        release(&told);
    }
}

static void training__is_not_seen_where_there_is_none(void **state)
{
    (void)state;
    static const char *const lines[] = {"loss of signal on port 1\n", "step 12: val loss 2.5\n",
                                        "packet loss is 3 % at hop 4\n",
                                        "the loss of 12 packets\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct told told = tell(lines[i], strlen(lines[i]));
        if (i < 2 || i == 3) {
            assert_null(told.training);
        }
        release(&told);
    }
}

/* ---- what goes wrong --------------------------------------------------------------------------
 */

enum fault { NONE, SPIKE, DIVERGES, NOT_A_NUMBER, SLOWER, FAULTS };

/* Noise that a test can repeat, in [-1, 1]. */
static double noise(uint64_t i, uint64_t seed)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15U + seed * 0xd1342543de82ef95U;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 29;
    return (double)(x >> 11) / (double)(1ULL << 52) - 1.0;
}

static void write_run(struct inq_out *out, enum fault fault, int at, uint64_t seed)
{
    for (int i = 1; i <= 400; i++) {
        double loss = 2.0 + 8.0 * exp(-i / 80.0) + 0.05 * noise((uint64_t)i, seed);
        double ms = 500.0 + 15.0 * noise((uint64_t)i, seed + 99);
        loss += fault == SPIKE && i >= at && i < at + 3 ? 5.0 : 0.0;
        loss += fault == DIVERGES && i >= at ? 0.5 * (i - at + 1) : 0.0;
        ms += fault == SLOWER && i >= at ? 100.0 : 0.0;
        if (fault == NOT_A_NUMBER && i >= at) {
            inq_out_printf(out, "iteration %d | step_time_ms: %.2f | loss: nan\n", i, ms);
        } else {
            inq_out_printf(out, "iteration %d | step_time_ms: %.2f | loss: %.5f\n", i, ms, loss);
        }
    }
}

static void training__each_fault_is_found_where_it_begins(void **state)
{
    (void)state;
    static const enum inq_training_event_kind kinds[FAULTS] = {[SPIKE] = INQ_TRAINING_LOSS_SPIKE,
                                                               [DIVERGES] = INQ_TRAINING_DIVERGENCE,
                                                               [NOT_A_NUMBER] =
                                                                   INQ_TRAINING_NOT_FINITE,
                                                               [SLOWER] = INQ_TRAINING_SLOWER};
    for (enum fault fault = NONE; fault < FAULTS; fault++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct inq_out out = {0};
            int at = 120 + (int)seed * 17;
            write_run(&out, fault, at, seed);
            struct told told = tell(out.buf, out.len);
            const struct inq_training *t = told.training;
            assert_int_equal(t->n_events, fault == NONE ? 0 : 1);
            if (fault != NONE) {
                assert_int_equal(t->events[0].kind, kinds[fault]);
                assert_in_range(t->events[0].first_step, at, fault == DIVERGES ? at + 2 : at);
                assert_int_equal(t->events[0].to_end, fault != SPIKE);
                assert_int_equal(t->events[0].line, t->events[0].first_step);
                assert_int_equal(told.report->n_findings, 1);
            }
            release(&told);
            inq_out_release(&out);
        }
    }
}

/* All ranks print every step, and the run is resumed from a checkpoint. */
static void training__ranks_and_restarts_are_told_apart(void **state)
{
    (void)state;
    struct inq_out out = {0};
    for (int i = 1; i <= 300; i++) {
        for (int rank = 0; rank < 4; rank++) {
            int step = i <= 200 ? i : i - 100;
            inq_out_printf(&out, "[rank%d]: step: %d loss: 2.5\n", rank, step);
        }
    }
    struct told told = tell(out.buf, out.len);
    assert_int_equal(told.training->n_rows, 300);
    assert_int_equal(told.training->n_restarts, 1);
    assert_int_equal(told.training->n_events, 0);
    release(&told);
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training__is_read_in_every_wording),
        cmocka_unit_test(training__is_not_seen_where_there_is_none),
        cmocka_unit_test(training__each_fault_is_found_where_it_begins),
        cmocka_unit_test(training__ranks_and_restarts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
