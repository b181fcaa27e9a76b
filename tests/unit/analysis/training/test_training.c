/* SPDX-License-Identifier: Apache-2.0 */
/* Training output in several wordings, and what goes wrong in it. */
#include "inquest/out.h"
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

static struct told read_training(const char *text, size_t n)
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

/* ---- wordings -------------------------------------------------------------------------------- */

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
    /* a line with several losses: the whole one, wherever it stands */
    {"iteration 12/ 500 | lm loss: 2.25E+00 | load_balancing_loss: 1.01E+00 | mtp_1 loss: 7.5E+00 "
     "|",
     12, 2250000, -1, -1},
    {"s_loss: 9.0 mask_loss: 8.0 total_loss: 2.25 step: 12", 12, 2250000, -1, -1},
    {"| epoch 022 | loss 2.25 | nll_loss 1.204 | ppl 4.61 | wps 402818 | num_updates 12 | gnorm "
     "0.309 |",
     12, 2250000, -1, 402818000000},
    {"2020-07-17 04:08:14 | INFO | train_inner | epoch 001:    100 / 2952087 loss=2.25, ppl=4.7, "
     "wps=8640.2, ups=4.66, num_updates=12, gnorm=4.215, loss_scale=128, wall=120",
     12, 2250000, -1, 8640200000},
    {"{\"epoch\": 1, \"update\": 0.1, \"loss\": \"2.25\", \"wps\": \"8640.2\", "
     "\"num_updates\": \"12\"}",
     12, 2250000, -1, 8640200000},
    {"completed step: 12, seconds: 1.341, TFLOP/s/device: 257.929, Tokens/s/device: 36653.244, "
     "loss: 2.250",
     12, 2250000, 1341000, 36653244000},
    {"Training epoch 0, iteration 12/149 | lr: 3e-05 | global_step: 12 | reduced_train_loss: 2.25 "
     "| train_step_timing in s: 0.03146 | val_loss: 4.106",
     12, 2250000, 31460, -1},
    {"[    INFO] - loss: 2.25, learning_rate: 2.1e-06, global_step: 12, interval_runtime: 26.3106, "
     "interval_samples_per_second: 6.25, interval_steps_per_second: 0.5, epoch: 0.0014",
     12, 2250000, 2000000, 6250000},
    {"Epoch: [0] [12/7312] learning_rate: 0.000029 loss: 2.25 loss_cls: 1.374 eta: 67 days, "
     "10:28:48 batch_cost: 0.1664 data_cost: 0.0034 ips: 96.1758 images/s",
     12, 2250000, 166400, 96175800},
    {"Epoch 0:  22%|##2       | 12/18 [00:17<01:02,  4.25s/it, loss=2.25, v_num=193315]", 12,
     2250000, 4250000, -1},
    {"Epoch 1:  39%|###9 | 12/12331 [05:59<09:15, 12.50it/s, loss=2.25, v_num=1]", 12, 2250000,
     80000, -1},
    {"10/30 22:18:02 - mmengine - INFO - Epoch(train) [1][12/735]  lr: 1.9870e-04  eta: 2:46:39  "
     "time: 2.8906  data_time: 0.0042  memory: 10762  loss: 2.25  grad_norm: nan",
     12, 2250000, 2890600, -1},
    {"INFO:tensorflow:global step 12: loss = 2.25 (16.534 sec/step)", 12, 2250000, 16534000, -1},
    {"Training Epoch: 2/3, step 12/50 completed (loss: 2.25): 100%|####| 12/50 [09:01<00:00, "
     "10.82s/it]",
     12, 2250000, 10820000, -1},
    {"{'loss': 2.25, 'global_step/max_steps': '12/873', 'elapsed_time': '1m 4s', "
     "'remaining_time': '9m 1s', 'train_speed(iter/s)': 0.25}",
     12, 2250000, 4000000, -1},
    {"Ep 1 | iter 12 | step 3: loss train (curr): 2.25, val (prev val iter): None | iter time: "
     "298.25 ms (opt.step)",
     12, 2250000, 298250, -1},
    {"tflops=188.02,step=12,loss=2.25,tgs "
     "(tokens/gpu/second)=4233.75,lr=7.6e-06,loss_scale=65536.0,"
     "grad_norm=12.54,fwd_bwd_time=3.75",
     12, 2250000, 3750000, 4233750000},
    {"INFO | step 00000012/00000015 | step-time 73.25 sec | cross-entropy-loss 2.25 | "
     "load-balance-loss 0.001807 | gradient-norm 20.26 | tokens-per-second 28,590",
     12, 2250000, 73250000, 28590000000},
    {"    train/CrossEntropyLoss=2.25", 1, 2250000, -1, -1},
    {"         Train loss/train/total: 2.25", 1, 2250000, -1, -1},
    {"INFO    [step=12/73,epoch=0]\n    optim/total_grad_norm=1.5\n"
     "    train/CrossEntropyLoss=2.25\n    throughput/device/tokens_per_second=26,668",
     12, 2250000, -1, 26668000000},
    {"[batch=12/48]:\n\t Train time/epoch: 0\n\t Train time/batch_in_epoch: 11\n"
     "\t Train loss/train/total: 2.25\n\t Train throughput/tokens_per_sec: 669.5",
     12, 2250000, -1, 669500000},
    {"step 12 loss 2.25 elapsed time 5230.1s", 12, 2250000, -1, -1},
};

static void training__is_read_in_every_wording(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        const struct wording *w = &wordings[i];
        char text[1024];
        int n = snprintf(text, sizeof text, "%s\n", w->line);
        struct told told = read_training(text, (size_t)n);
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
    static const char *const lines[] = {"loss of signal on port 1\n",
                                        "step 12: val loss 2.5\n",
                                        "packet loss is 3 % at hop 4\n",
                                        "the loss of 12 packets\n",
                                        "| valid | epoch 001 | loss 2.5 | num_updates 12\n",
                                        "[eval] step: 12 loss: 2.5\n",
                                        "Validation: step 12 loss 2.5\n",
                                        "{'eval_loss': 2.5, 'epoch': 1.0}\n",
                                        "{'train_runtime': 9.5, 'train_loss': 2.5}\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct told told = read_training(lines[i], strlen(lines[i]));
        if (i != 2) {
            assert_null(told.training);
        }
        release(&told);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

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
            struct told told = read_training(out.buf, out.len);
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
    struct told told = read_training(out.buf, out.len);
    assert_int_equal(told.training->n_rows, 300);
    assert_int_equal(told.training->n_restarts, 1);
    assert_int_equal(told.training->n_events, 0);
    release(&told);
    inq_out_release(&out);
}

/* ---- what is healthy, and what is not -------------------------------------------------------- */

/* A run that writes itself, and the events it must have: none, or one. */
struct course {
    const char *what;
    void (*write)(struct inq_out *out);
    int n_events;
    enum inq_training_event_kind kind;
    int64_t first, last;
};

static double falling(int i)
{
    return 2.0 + 8.0 * exp(-i / 40.0) + 0.05 * noise((uint64_t)i, 5);
}

/* Noise between 3 and 5 from the first line on, of ranks that print in turn. */
static void write_stationary(struct inq_out *out)
{
    for (int i = 1; i <= 400; i++) {
        double loss = 3.0 + i % 2 + 0.5 + 0.5 * noise((uint64_t)i, 3);
        inq_out_printf(out, "[rank%d]: step %d loss %.3f grad_norm 1.%d\n", i % 8, (i + 7) / 8,
                       loss, i % 10);
    }
}

/* A sixth of the batches are of other data. */
static void write_two_kinds(struct inq_out *out)
{
    for (int i = 1; i <= 400; i++) {
        double loss = falling(i) * (noise((uint64_t)i, 8) > 0.65 ? 1.8 : 1.0);
        inq_out_printf(out, "step %d loss %.4f\n", i, loss);
    }
}

static void write_two_runs(struct inq_out *out)
{
    for (int i = 0; i < 400; i++) {
        inq_out_printf(out, "step %d loss %.4f\n", i % 200, falling(i % 200));
    }
}

/* Without steps only the epoch tells that it is another run; its last line is a mean. */
static void write_two_unnumbered(struct inq_out *out)
{
    for (int i = 0; i < 400; i++) {
        inq_out_printf(out, "{'loss': %.4f, 'epoch': %.3f}\n", falling(i % 200), (i % 200) / 50.0);
        if (i % 200 == 199) {
            inq_out_text(out, "{'train_runtime': 95.1, 'train_loss': 4.1, 'epoch': 4.0}\n");
        }
    }
}

/* Each epoch counts its steps anew; a sum of the epoch stands between. */
static void write_epochs(struct inq_out *out)
{
    for (int i = 0; i < 400; i++) {
        inq_out_printf(out, "epoch %d step %d loss: %.4f\n", i / 100, i % 100, falling(i));
        if (i % 100 == 99) {
            inq_out_printf(out, "epoch %d mean_loss: %.4f\n", i / 100, falling(i - 50));
        }
    }
}

/* The batch grows: a step takes longer, and does more. */
static void write_larger_batch(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        double s = i < 150 ? 1.0 : 2.0;
        inq_out_printf(out, "step: %d loss: %.4f step_time: %.3f tokens/s: %.0f\n", i, falling(i),
                       s + 0.01 * noise((uint64_t)i, 2), i < 150 ? 8000.0 : 8100.0);
    }
}

/* Seconds since the start. */
static void write_clock(struct inq_out *out)
{
    double clock = 30.0;
    for (int i = 1; i <= 300; i++) {
        clock += 0.5 + 0.02 * noise((uint64_t)i, 2);
        inq_out_printf(out, "step %d loss %.4f time %.3f\n", i, falling(i), clock);
    }
}

static void write_pauses(struct inq_out *out)
{
    for (int i = 1; i <= 600; i++) {
        double s = (i % 100 == 0 ? 8.0 : 1.0) + 0.02 * noise((uint64_t)i, 2);
        inq_out_printf(out, "step %d loss %.4f step_time %.3f\n", i, falling(i), s);
    }
}

/* A loss scale is searched for: no norm in the first steps, nor in one now and then. */
static void write_scale_search(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        const char *norm = i <= 15 || i == 200 ? (i % 2 != 0 ? "inf" : "nan") : "1.25";
        inq_out_printf(out, "{'step': %d, 'loss': %.4f, 'grad_norm': %s}\n", i, falling(i), norm);
    }
}

static void write_no_norm(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        inq_out_printf(out, "{'step': %d, 'loss': %.4f, 'grad_norm': %s}\n", i, falling(i),
                       i < 200 ? "1.25" : "nan");
    }
}

/* A trainer that filters NaN prints 0. */
static void write_filtered(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        inq_out_printf(out, "{'step': %d, 'loss': %.4f, 'grad_norm': %s}\n", i,
                       i < 298 ? falling(i) : 0.0, i < 298 ? "1.25" : "nan");
    }
}

static void write_one_rank_nan(struct inq_out *out)
{
    for (int i = 0; i < 800; i++) {
        if (i == 4 * 120 + 3) {
            inq_out_printf(out, "[rank3]: step: %d loss: nan\n", i / 4 + 1);
        } else {
            inq_out_printf(out, "[rank%d]: step: %d loss: %.4f\n", i % 4, i / 4 + 1,
                           falling(i / 4));
        }
    }
}

/* A spike in the attempt that was given up: the next one repeats its steps. */
static void write_spike_and_resume(struct inq_out *out)
{
    for (int i = 1; i <= 220; i++) {
        inq_out_printf(out, "step %d loss %.4f\n", i, i < 200 ? falling(i) : 6.0);
    }
    for (int i = 150; i <= 400; i++) {
        inq_out_printf(out, "step %d loss %.4f\n", i, falling(i));
    }
}

static void write_resumed_too_high(struct inq_out *out)
{
    for (int i = 1; i <= 200; i++) {
        inq_out_printf(out, "step %d loss %.4f\n", i, falling(i));
    }
    for (int i = 150; i <= 300; i++) {
        inq_out_printf(out, "step %d loss %.4f\n", i, falling(i) + 1.5);
    }
}

static void write_drift(struct inq_out *out)
{
    for (int i = 1; i <= 2000; i++) {
        double rise = i > 1000 ? (i - 1000) / 1000.0 : 0.0;
        inq_out_printf(out, "step %d loss %.4f\n", i, falling(i) + rise);
    }
}

static void write_explosion(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        inq_out_printf(out, "step %d loss %.4f grad_norm %.3f\n", i, falling(i),
                       (i < 200 ? 0.5 : 40.0) * exp(0.5 * noise((uint64_t)i, 4)));
    }
}

/* A penalty that grows from nothing is no likelihood that gets worse. */
static void write_penalty(struct inq_out *out)
{
    for (int i = 1; i <= 300; i++) {
        inq_out_printf(out, "{'loss': %.4f, 'epoch': %.3f}\n",
                       0.0001 * i + 0.001 + 0.0008 * noise((uint64_t)i, 4), i / 300.0);
    }
}

/* In reinforcement learning it may well rise. */
static void write_rewarded(struct inq_out *out)
{
    for (int i = 1; i <= 600; i++) {
        double rise = i > 300 ? (i - 300) / 100.0 : 0.0;
        inq_out_printf(out, "{'loss': %.4f, 'reward': %.3f, 'kl': 0.01, 'epoch': %.3f}\n",
                       0.01 * (1.0 + rise + 0.1 * noise((uint64_t)i, 4)), i / 600.0, i / 600.0);
    }
}

/* A few batches are far harder than most: ever harder ones are to be expected. */
static void write_heavy_tail(struct inq_out *out)
{
    for (int i = 1; i <= 3000; i++) {
        double squares = 0.0;
        for (uint64_t k = 0; k < 3; k++) {
            squares += noise((uint64_t)i, 20 + k) * noise((uint64_t)i, 20 + k);
        }
        double hard = noise((uint64_t)i, 13) / sqrt(squares / 3.0);
        inq_out_printf(out, "step %d loss %.4f\n", i, falling(i) * exp(0.05 * hard));
    }
}

/* A bar's rate counts from its epoch's start. */
static void write_bars(struct inq_out *out)
{
    for (int i = 0; i < 600; i++) {
        double rate = 10.0 * (1.0 - exp(-(i % 100 + 1) / 3.0));
        inq_out_printf(out, "Epoch %d:  22%%|## | %d/100 [00:17<01:02, %.2fit/s, loss=%.3f]\n",
                       i / 100, i % 100 + 1, rate, falling(i));
    }
}

static void write_slow_stretch(struct inq_out *out)
{
    for (int i = 1; i <= 400; i++) {
        inq_out_printf(out, "step %d loss %.4f step_time %.3f\n", i, falling(i),
                       (i >= 200 && i < 260 ? 1.4 : 1.0) + 0.03 * noise((uint64_t)i, 2));
    }
}

static void write_slow_in_turn(struct inq_out *out)
{
    for (int i = 1; i <= 400; i++) {
        inq_out_printf(out, "step %d loss %.4f step_time %.3f\n", i, falling(i),
                       (i >= 200 && i % 20 == 0 ? 9.0 : 1.0) + 0.03 * noise((uint64_t)i, 2));
    }
}

static void write_slower_and_slower(struct inq_out *out)
{
    for (int i = 1; i <= 2000; i++) {
        inq_out_printf(out, "step %d loss %.4f step_time %.3f\n", i, falling(i),
                       (i > 1000 ? 1.0 + (i - 1000) / 2000.0 : 1.0) + 0.03 * noise((uint64_t)i, 2));
    }
}

/* So long that what comes after 16,384 rows is sampled: times jump where rows are left out. */
static void write_slower_and_sampled(struct inq_out *out)
{
    for (int i = 1; i <= 20000; i++) {
        inq_out_printf(
            out, "step %d loss %.4f step_time %.3f, tokens seen so far %020d\n", i, falling(i),
            (i > 10000 ? 1.0 + (i - 10000) / 20000.0 : 1.0) + 0.03 * noise((uint64_t)i, 2), i);
    }
}

static const struct course courses[] = {
    {"stationary noise", write_stationary, 0, 0, 0, 0},
    {"two kinds of data", write_two_kinds, 0, 0, 0, 0},
    {"two runs in one file", write_two_runs, 0, 0, 0, 0},
    {"two runs without steps", write_two_unnumbered, 0, 0, 0, 0},
    {"steps of each epoch", write_epochs, 0, 0, 0, 0},
    {"a larger batch", write_larger_batch, 0, 0, 0, 0},
    {"time since the start", write_clock, 0, 0, 0, 0},
    {"checkpoint pauses", write_pauses, 0, 0, 0, 0},
    {"a penalty from 0 on", write_penalty, 0, 0, 0, 0},
    {"reinforcement learning", write_rewarded, 0, 0, 0, 0},
    {"noise of a heavy tail", write_heavy_tail, 0, 0, 0, 0},
    {"bars of epochs", write_bars, 0, 0, 0, 0},
    {"search of a loss scale", write_scale_search, 0, 0, 0, 0},
    {"no gradient norm any more", write_no_norm, 1, INQ_TRAINING_NOT_FINITE, 200, 300},
    {"NaN that is printed as 0", write_filtered, 1, INQ_TRAINING_NOT_FINITE, 298, 300},
    {"NaN of one rank", write_one_rank_nan, 1, INQ_TRAINING_NOT_FINITE, 121, 121},
    {"an attempt given up", write_spike_and_resume, 1, INQ_TRAINING_DIVERGENCE, 200, 220},
    {"resumed too high", write_resumed_too_high, 1, INQ_TRAINING_DIVERGENCE, 150, 300},
    {"a slow rise", write_drift, 1, INQ_TRAINING_DIVERGENCE, 1090, 2000},
    {"a gradient norm alone", write_explosion, 1, INQ_TRAINING_GRADIENT, 200, 300},
    {"a slow stretch", write_slow_stretch, 1, INQ_TRAINING_SLOWER, 200, 259},
    {"each 20th step slow", write_slow_in_turn, 1, INQ_TRAINING_SLOWER, 200, 400},
    {"slower and slower", write_slower_and_slower, 1, INQ_TRAINING_SLOWER, 1100, 2000},
    {"slower, sampled", write_slower_and_sampled, 1, INQ_TRAINING_SLOWER, 11000, 20000},
};

static void training__noise_is_no_event_and_each_event_has_its_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        const struct course *course = &courses[i];
        struct inq_out out = {0};
        course->write(&out);
        struct told told = read_training(out.buf, out.len);
        const struct inq_training *t = told.training;
        print_message("%s%s%s\n", course->what, t->n_events > 0 ? ": " : "",
                      t->n_events > 0 ? t->events[0].what : "");
        assert_int_equal(t->n_events, course->n_events);
        if (course->n_events > 0) {
            /* where a rise begins is known to about a tenth of the rows from its start */
            int64_t near = course->first > 1000 ? (course->last - course->first) / 9 : 0;
            assert_int_equal(t->events[0].kind, course->kind);
            assert_in_range(t->events[0].first_step, course->first - near, course->first + near);
            assert_int_equal(t->events[0].last_step, course->last);
        }
        release(&told);
        inq_out_release(&out);
    }
}

/* A bar that was printed over itself is one line to the file, and a row for each of its states. */
static void training__each_state_of_a_progress_bar_is_a_row(void **state)
{
    (void)state;
    struct inq_out out = {0};
    for (int i = 1; i <= 50; i++) {
        inq_out_printf(&out, "\rEpoch 0: %2d%%|##   | %d/50 [00:01<00:05, 9.90it/s, loss=%.3f]",
                       i * 2, i, i < 41 ? falling(i) : (double)NAN);
    }
    inq_out_text(&out, "\n");
    struct told told = read_training(out.buf, out.len);
    assert_non_null(told.training);
    assert_int_equal(told.training->n_rows, 50);
    assert_int_equal(told.training->n_events, 1);
    assert_int_equal(told.training->events[0].kind, INQ_TRAINING_NOT_FINITE);
    assert_int_equal(told.training->events[0].first_step, 41);
    release(&told);
    inq_out_release(&out);
}

/* A shorter log of another attempt in which the loss was lost is the one to report. */
static void training__the_log_with_the_fault_is_told(void **state)
{
    (void)state;
    struct inq_out whole = {0};
    struct inq_out lost = {0};
    for (int i = 1; i <= 300; i++) {
        inq_out_printf(&whole, "step %d loss %.4f\n", i, falling(i));
    }
    for (int i = 1; i <= 100; i++) {
        inq_out_printf(&lost, i < 90 ? "step %d loss %.4f\n" : "step %d loss nan\n", i, falling(i));
    }
    struct inq_ingest_blob blobs[] = {{"run/a.log", whole.buf, whole.len},
                                      {"run/b.log", lost.buf, lost.len}};
    struct told told = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, 2, NULL, &told.run, &err), INQ_OK);
    assert_int_equal(told.run->n_traces, 1);
    assert_int_equal(inq_analyze(told.run->traces[0], NULL, &told.report, &err), INQ_OK);
    assert_string_equal(told.report->training->file, "run/b.log");
    assert_int_equal(told.report->training->n_events, 1);
    assert_int_equal(told.report->training->events[0].first_step, 90);
    release(&told);
    inq_out_release(&whole);
    inq_out_release(&lost);
}

/* The last of many logs, and the shortest, is the one in which something is wrong. */
static void training__the_fault_may_be_in_any_of_many_logs(void **state)
{
    (void)state;
    enum { LOGS = 20 };
    struct inq_out out[LOGS] = {{0}};
    struct inq_ingest_blob blobs[LOGS];
    char names[LOGS][24];
    for (int k = 0; k < LOGS; k++) {
        int rows = k + 1 < LOGS ? 60 : 50;
        for (int i = 1; i <= rows; i++) {
            bool lost = rows == 50 && i >= 40;
            inq_out_printf(&out[k], lost ? "step %d loss nan\n" : "step %d loss %.4f\n", i,
                           falling(i));
        }
        (void)snprintf(names[k], sizeof names[k], "run/rank%d.log", k);
        blobs[k] = (struct inq_ingest_blob){names[k], out[k].buf, out[k].len};
    }
    struct told told = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, LOGS, NULL, &told.run, &err), INQ_OK);
    assert_int_equal(inq_analyze(told.run->traces[0], NULL, &told.report, &err), INQ_OK);
    assert_string_equal(told.report->training->file, names[LOGS - 1]);
    release(&told);
    for (int k = 0; k < LOGS; k++) {
        inq_out_release(&out[k]);
    }
}

/* So many single rows without a loss, and then no loss to the end. */
static void explain_gaps(int gaps, struct told *told)
{
    struct inq_out out = {0};
    int step = 1;
    for (int k = 0; k < gaps; k++) {
        for (int i = 0; i < 9; i++, step++) {
            inq_out_printf(&out, "step %d loss %.4f\n", step, 2.0);
        }
        inq_out_printf(&out, "step %d loss nan\n", step++);
    }
    for (int i = 0; i < 20; i++, step++) {
        inq_out_printf(&out, i < 10 ? "step %d loss 2.0\n" : "step %d loss nan\n", step);
    }
    struct inq_ingest_blob blob = {"a.log", out.buf, out.len};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &told->run, &err), INQ_OK);
    assert_int_equal(inq_analyze(told->run->traces[0], NULL, &told->report, &err), INQ_OK);
    inq_out_release(&out);
}

/* What is left out is counted, and is not what cost the run. */
static void training__events_past_the_most_are_counted(void **state)
{
    (void)state;
    enum { MOST = 64 };
    for (int gaps = MOST - 1; gaps < MOST + 2; gaps++) {
        struct told told = {0};
        explain_gaps(gaps, &told);
        const struct inq_training *t = told.report->training;
        assert_int_equal(t->n_events, MOST);
        assert_int_equal(t->n_left_out, gaps + 1 - MOST);
        assert_true(t->events[MOST - 1].to_end);
        release(&told);
    }
}

/* A run that is resumed often, a few steps back each time; late in it an attempt diverges. */
static void training__many_attempts_are_told_apart(void **state)
{
    (void)state;
    enum { ATTEMPTS = 300, ROWS = 50, BACK = 10, LOST = 280 };
    struct inq_out out = {0};
    int step = 1;
    for (int k = 0; k < ATTEMPTS; k++) {
        for (int i = 0; i < ROWS; i++) {
            bool gone = k == LOST && i >= ROWS - BACK;
            inq_out_printf(&out, "step %d loss %.4f\n", step + i, gone ? 9.0 : 2.0);
        }
        step += ROWS - BACK;
    }
    struct inq_ingest_blob blob = {"a.log", out.buf, out.len};
    struct told told = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(&blob, 1, NULL, &told.run, &err), INQ_OK);
    assert_int_equal(inq_analyze(told.run->traces[0], NULL, &told.report, &err), INQ_OK);
    const struct inq_training *t = told.report->training;
    assert_int_equal(t->n_restarts, ATTEMPTS - 1);
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->events[0].kind, INQ_TRAINING_DIVERGENCE);
    assert_int_equal(t->events[0].first_step, LOST * (ROWS - BACK) + ROWS - BACK + 1);
    release(&told);
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training__is_read_in_every_wording),
        cmocka_unit_test(training__is_not_seen_where_there_is_none),
        cmocka_unit_test(training__each_fault_is_found_where_it_begins),
        cmocka_unit_test(training__noise_is_no_event_and_each_event_has_its_steps),
        cmocka_unit_test(training__each_state_of_a_progress_bar_is_a_row),
        cmocka_unit_test(training__the_log_with_the_fault_is_told),
        cmocka_unit_test(training__ranks_and_restarts_are_told_apart),
        cmocka_unit_test(training__the_fault_may_be_in_any_of_many_logs),
        cmocka_unit_test(training__events_past_the_most_are_counted),
        cmocka_unit_test(training__many_attempts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
