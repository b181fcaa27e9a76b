/* SPDX-License-Identifier: Apache-2.0 */
/* Training output: healthy runs and runs with one planted fault, in the wordings of several
 * frameworks, from 30 rows to 100,000. Printed: of each healthy kind how many runs have an event
 * they should not have, of each fault how many are found and how many rows beside its first step.
 * Fails above 1 % and below 95 %.
 *
 * Noise and faults are of sizes that runs show: a loss whose rows differ by 0.5 % (large batches)
 * to 50 % (small ones), times of a step by 1 % to 30 %; a fault is a multiple of the noise. */
#include "inquest/out.h"
#include "inquest/ingest.h"
#include "inquest/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ALARMS 0.01
#define LEAST_HITS  0.95

enum { MAX_ROWS = 120000, MAX_RANKS = 8 };

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t state = 1;

static double uniform(double low, double high)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return low + (high - low) * (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

static int draw(int low, int high)
{
    return low + (int)uniform(0.0, (double)(high - low + 1));
}

static double normal(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += uniform(0.0, 1.0);
    }
    return sum;
}

/* A factor whose logarithm is normal. */
static double factor(double sigma)
{
    return exp(sigma * normal());
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct row {
    int64_t step;
    double loss, norm, ms;
};

enum wording {
    MEGATRON,
    TITAN,
    HF,
    JSONL,
    NANOGPT,
    NEMO,
    MAXTEXT,
    FAIRSEQ,
    PADDLE,
    BAR,
    PLAIN,
    WORDINGS
};
static const bool has_norm[WORDINGS] = {
    [MEGATRON] = true, [TITAN] = true, [HF] = true, [JSONL] = true, [FAIRSEQ] = true};
static const bool has_time[WORDINGS] = {[MEGATRON] = true, [JSONL] = true,   [NANOGPT] = true,
                                        [NEMO] = true,     [MAXTEXT] = true, [BAR] = true};
static const bool has_rate[WORDINGS] = {[TITAN] = true, [FAIRSEQ] = true, [PADDLE] = true};

struct run {
    int n, interval, ranks;
    enum wording wording;
    bool evaluates, few_digits, ranks_differ;
    int long_lines; /* bytes that pad each line */
    struct row rows[MAX_ROWS];
};

static void write_numbers(struct inq_out *out, const struct run *run, const struct row *row)
{
    int digits = run->few_digits ? 2 : 5;
    double loss = row->loss;
    double s = row->ms / 1e3;
    switch ((int)run->wording) {
    case MEGATRON:
        inq_out_printf(out,
                       " [2025-03-01 10:00:00] iteration %8" PRId64 "/ 500000 | consumed samples: "
                       "%12" PRId64 " | elapsed time per iteration (ms): %.1f | learning rate: "
                       "1.5E-04 | global batch size: 256 | lm loss: %.*E | loss scale: 1.0 | grad "
                       "norm: %.3f | number of skipped iterations:   0 | number of nan iterations: "
                       "  0 |",
                       row->step, row->step * 256, row->ms, digits, loss, row->norm);
        return;
    case TITAN:
        inq_out_printf(out,
                       "[titan] 2025-03-01 10:00:00,123 - root - INFO - \x1b[31mstep: %2" PRId64
                       "  \x1b[32mloss: %8.*f  \x1b[33mgrad_norm: %7.4f  \x1b[34mmemory: "
                       "20.50GiB(21.56%%)  \x1b[34mtps: %.0f  \x1b[36mtflops: 51.20  \x1b[35mmfu: "
                       "16.40%%\x1b[39m",
                       row->step, digits, loss, row->norm, 8192.0 / s);
        return;
    case HF:
        inq_out_printf(out,
                       "{'loss': %.*f, 'grad_norm': %.6f, 'learning_rate': 1e-05, 'epoch': %.2f}",
                       digits, loss, row->norm, (double)row->step / 1000.0);
        return;
    case JSONL:
        inq_out_printf(out,
                       "{\"step\": %" PRId64 ", \"train/loss\": %.*f, \"train/grad_norm\": %.4f, "
                       "\"step_time\": %.4f}",
                       row->step, digits, loss, row->norm, s);
        return;
    case NANOGPT:
        inq_out_printf(out, "iter %" PRId64 ": loss %.*f, time %.2fms, mfu 31.20%%", row->step,
                       digits, loss, row->ms);
        return;
    case NEMO:
        inq_out_printf(out,
                       "Training epoch 0, iteration %" PRId64 "/99999 | lr: 3e-05 | "
                       "consumed_samples: %" PRId64 " | global_batch_size: 32 | global_step: "
                       "%" PRId64 " | reduced_train_loss: %.*f | train_step_timing in s: %.4f | "
                       "val_loss: 4.106",
                       row->step, row->step * 32, row->step, digits, loss, s);
        return;
    case MAXTEXT:
        inq_out_printf(out,
                       "completed step: %" PRId64 ", seconds: %.3f, TFLOP/s/device: %.3f, "
                       "Tokens/s/device: %.3f, total_weights: 196608, loss: %.*f",
                       row->step, s, 200.0 / s, 8192.0 / s, digits, loss);
        return;
    case FAIRSEQ:
        inq_out_printf(
            out,
            "2025-03-01 10:00:00 | INFO | train_inner | {\"epoch\": 1, \"update\": "
            "0.012, \"loss\": \"%.*f\", \"ppl\": \"11.2\", \"wps\": \"%.1f\", \"ups\": "
            "\"%.2f\", \"wpb\": \"524288\", \"num_updates\": \"%" PRId64 "\", \"lr\": "
            "\"0.0001\", \"gnorm\": \"%.3f\", \"loss_scale\": \"64\", \"wall\": \"%.0f\"}",
            digits, loss, 524288.0 / s, 1.0 / s, row->step, row->norm, (double)row->step * s);
        return;
    case PADDLE:
        inq_out_printf(out,
                       "[2025-03-01 10:00:00,123] [    INFO] - loss: %.*f, learning_rate: 2.1e-06, "
                       "global_step: %" PRId64 ", interval_runtime: %.4f, "
                       "interval_samples_per_second: %.4f, interval_steps_per_second: %.4f, epoch: "
                       "0.0014",
                       digits, loss, row->step, s * run->interval, 32.0 / s, 1.0 / s);
        return;
    case BAR:
        inq_out_printf(out,
                       "Epoch 0:  22%%|##2       | %" PRId64
                       "/999999 [12:17<99:59,  %.2fs/it, loss=%.*f, v_num=5]",
                       row->step, s, digits, loss);
        return;
    default:
        inq_out_printf(out, "step %" PRId64 " loss %.*f", row->step, digits, loss);
        return;
    }
}

static void write_run(struct inq_out *out, const struct run *run)
{
    for (int i = 0; i < run->n; i++) {
        for (int rank = 0; rank < run->ranks; rank++) {
            struct row row = run->rows[i];
            row.loss *= run->ranks_differ ? factor(0.03) : 1.0;
            if (run->ranks > 1) {
                inq_out_printf(out, "[rank%d]: ", rank);
            }
            write_numbers(out, run, &row);
            for (int k = 0; k < run->long_lines; k += 8) {
                inq_out_text(out, " padding");
            }
            inq_out_text(out, "\n");
        }
        if (run->evaluates && i % 20 == 19) {
            inq_out_printf(out, "step %" PRId64 ": val loss %.4f\n", run->rows[i].step,
                           run->rows[i].loss * 1.4);
            inq_out_printf(out, "{'eval_loss': %.4f, 'eval_runtime': 12.5}\n",
                           run->rows[i].loss * 1.4);
        }
    }
}

/* ---- healthy runs ---------------------------------------------------------------------------- */

/* Loss that falls as a power of the step, gradient norm that falls with it, steady steps. */
static void make_plain(struct run *run, int n, double noise)
{
    static const int intervals[] = {1, 1, 10};
    *run = (struct run){.n = n,
                        .interval = intervals[draw(0, 2)],
                        .ranks = 1,
                        .wording = (enum wording)draw(0, WORDINGS - 1)};
    double floor = uniform(1.5, 3.0);
    double top = uniform(2.0, 8.0);
    double scale = uniform(5.0, n * 0.3);
    double ms = uniform(100.0, 5000.0);
    double jitter = uniform(0.005, 0.04);
    double norm = uniform(0.2, 2.0);
    int64_t first = draw(0, 3) == 0 ? draw(1, 50000) : 1;
    for (int i = 0; i < n; i++) {
        struct row *row = &run->rows[i];
        row->step = (first + i) * run->interval;
        row->loss = (floor + top / (1.0 + i / scale)) * factor(noise);
        row->norm = norm * (1.0 + 10.0 / (1.0 + i)) * factor(0.15);
        row->ms = ms * factor(jitter) * (i == 0 ? uniform(2.0, 30.0) : i < 3 ? 1.5 : 1.0);
    }
}

enum healthy {
    DECAY,
    SMALL_BATCH,
    BIMODAL,
    STATIONARY,
    LR_DROPS,
    LR_RESTARTS,
    LR_WARM_UP,
    EVALUATIONS,
    PAUSES,
    SLOW_STARTS,
    NOISY_STEPS,
    MIXED_STEPS,
    DRIFTING_STEPS,
    SAME_RANKS,
    OTHER_RANKS,
    APPENDED,
    RESUMED,
    EPOCH_STEPS,
    HEAVY_NORMS,
    FEW_DIGITS,
    SCALE_SKIPS,
    SAMPLED,
    HEALTHY
};
static const char *const healthy_names[HEALTHY] = {
    [DECAY] = "falls, noise 0.5 to 10 %",
    [SMALL_BATCH] = "noise 20 to 50 %",
    [BIMODAL] = "two kinds of data",
    [STATIONARY] = "stationary, 8 ranks in turn",
    [LR_DROPS] = "learning rate drops",
    [LR_RESTARTS] = "learning rate restarts",
    [LR_WARM_UP] = "bump in the warm-up",
    [EVALUATIONS] = "evaluations between",
    [PAUSES] = "checkpoint pauses",
    [SLOW_STARTS] = "slow steps after restarts",
    [NOISY_STEPS] = "times noisy",
    [MIXED_STEPS] = "times of two sizes",
    [DRIFTING_STEPS] = "times drift",
    [SAME_RANKS] = "ranks print the same",
    [OTHER_RANKS] = "ranks print their own",
    [APPENDED] = "runs appended",
    [RESUMED] = "resumed, steps repeat",
    [EPOCH_STEPS] = "steps count anew each epoch",
    [HEAVY_NORMS] = "heavy tails of the norm",
    [FEW_DIGITS] = "few digits",
    [SCALE_SKIPS] = "fp16 skips",
    [SAMPLED] = "long, sampled",
};

static void restart_steps(struct run *run, bool from_scratch)
{
    for (int at = run->n / 3; at + 3 < run->n; at += run->n / 3) {
        int back = from_scratch ? run->n / 3 : draw(1, at < 300 ? at / 2 + 1 : 150);
        for (int i = at; i < run->n; i++) {
            run->rows[i].step -= (int64_t)back * run->interval;
        }
        for (int i = at; i < run->n && i < at + back; i++) {
            run->rows[i].loss = run->rows[i - back].loss * factor(0.01);
        }
        run->rows[at].ms *= 10.0;
    }
}

static void make_losses(struct run *run, enum healthy kind)
{
    double share = uniform(0.1, 0.5);
    double apart = uniform(1.2, 2.5);
    double height = uniform(1.05, 1.15);
    int at = draw(run->n / 4, run->n * 3 / 4);
    for (int i = 0; i < run->n; i++) {
        double *loss = &run->rows[i].loss;
        double part = (double)(i % (run->n / 3 + 1)) / (run->n / 3.0);
        switch ((int)kind) {
        case BIMODAL:
            *loss *= uniform(0.0, 1.0) < share ? apart : 1.0;
            break;
        case STATIONARY:
            *loss = 3.0 + (i % 2) + uniform(0.0, 1.0);
            run->rows[i].norm = 1.0 + uniform(0.0, 1.0);
            break;
        case LR_DROPS:
            *loss *= i >= at ? 0.85 : 1.0;
            break;
        case LR_RESTARTS:
            *loss *=
                i > run->n / 3 ? 1.0 + (height - 1.0) * (1.0 - part) * fmin(1.0, part * 20.0) : 1.0;
            break;
        case LR_WARM_UP:
            *loss *= 1.0 + 0.3 * exp(-(i - 8.0) * (i - 8.0) / 20.0) * (i < 30);
            break;
        case SCALE_SKIPS:
            run->rows[i].norm =
                i < 14 || i % 500 == 499 ? (i % 2 ? (double)INFINITY : (double)NAN) : 1.0;
            break;
        case HEAVY_NORMS:
            run->rows[i].norm *= factor(0.6) * (draw(0, 60) == 0 ? uniform(3.0, 60.0) : 1.0);
            break;
        default:
            break;
        }
    }
}

static void make_times(struct run *run, enum healthy kind)
{
    int every = draw(60, 300);
    double sigma = uniform(0.05, 0.3);
    double share = uniform(0.05, 0.5);
    double apart = uniform(1.2, 2.5);
    double drift = 0.0;
    for (int i = 0; i < run->n; i++) {
        double *ms = &run->rows[i].ms;
        drift = 0.97 * drift + 0.005 * normal();
        switch ((int)kind) {
        case PAUSES:
            *ms *= i % every == every - 1 ? uniform(3.0, 15.0) : 1.0;
            break;
        case SLOW_STARTS:
            *ms *= i % (run->n / 2 + 1) < 4 ? uniform(2.0, 10.0) : 1.0;
            break;
        case NOISY_STEPS:
            *ms *= factor(sigma);
            break;
        case MIXED_STEPS:
            *ms *= uniform(0.0, 1.0) < share ? apart : 1.0;
            break;
        case DRIFTING_STEPS:
            *ms *= exp(drift);
            break;
        default:
            break;
        }
    }
}

static int rows_of(int i)
{
    static const int sizes[] = {30, 60, 120, 300, 800, 2500, 8000};
    return sizes[i % 7] + draw(0, sizes[i % 7] / 3);
}

static void make_healthy(struct run *run, enum healthy kind, int i)
{
    int n = kind == SAMPLED ? 100000 : rows_of(i);
    make_plain(run, n, kind == SMALL_BATCH ? uniform(0.2, 0.5) : exp(uniform(-5.3, -2.3)));
    run->few_digits = kind == FEW_DIGITS;
    run->evaluates = kind == EVALUATIONS;
    run->long_lines = kind == SAMPLED ? 200 : 0;
    run->ranks_differ = kind == OTHER_RANKS;
    if (kind == SAME_RANKS || kind == OTHER_RANKS || kind == STATIONARY) {
        run->ranks = MAX_RANKS;
        run->wording = i % 2 ? TITAN : PLAIN;
    } else if (kind >= PAUSES && kind <= DRIFTING_STEPS && !has_time[run->wording]) {
        run->wording = i % 2 ? TITAN : JSONL;
    } else if (kind == SCALE_SKIPS || kind == HEAVY_NORMS) {
        run->wording = i % 2 ? MEGATRON : HF;
    }
    if (kind == EPOCH_STEPS) {
        for (int k = 0; k < n; k++) {
            run->rows[k].step = k % (n / 4 + 1) + 1;
        }
    } else if (kind == APPENDED || kind == RESUMED) {
        restart_steps(run, kind == APPENDED);
    }
    make_losses(run, kind);
    make_times(run, kind);
}

/* ---- faults ---------------------------------------------------------------------------------- */

enum fault {
    SPIKE,
    SPIKES,
    DIVERGES,
    DIVERGES_SLOWLY,
    DIVERGES_TO_NAN,
    IS_NAN,
    NAN_ONCE,
    PLATEAU,
    GRADIENTS,
    SLOWER,
    SLOWS_DOWN,
    SLOW_AT_TIMES,
    SLOW_STRETCH,
    RATE_DROPS,
    FAULTS
};

static const struct {
    const char *name;
    enum inq_training_event_kind kind, other; /* one of them */
    bool time, rate, norm, slow;              /* what the log must tell; slow: needs many rows */
} faults[FAULTS] = {
    [SPIKE] = {"one spike", INQ_TRAINING_LOSS_SPIKE, INQ_TRAINING_LOSS_SPIKE, 0, 0, 0, 0},
    [SPIKES] = {"spikes", INQ_TRAINING_LOSS_SPIKE, INQ_TRAINING_LOSS_SPIKE, 0, 0, 0, true},
    [DIVERGES] = {"diverges", INQ_TRAINING_DIVERGENCE, INQ_TRAINING_DIVERGENCE, 0, 0, 0, 0},
    [DIVERGES_SLOWLY] = {"diverges slowly", INQ_TRAINING_DIVERGENCE, INQ_TRAINING_DIVERGENCE, 0, 0,
                         0, true},
    [DIVERGES_TO_NAN] = {"diverges to NaN", INQ_TRAINING_DIVERGENCE, INQ_TRAINING_LOSS_SPIKE, 0, 0,
                         0, 0},
    [IS_NAN] = {"NaN to the end", INQ_TRAINING_NOT_FINITE, INQ_TRAINING_NOT_FINITE, 0, 0, 0, 0},
    [NAN_ONCE] = {"NaN in one row", INQ_TRAINING_NOT_FINITE, INQ_TRAINING_NOT_FINITE, 0, 0, 0, 0},
    [PLATEAU] = {"plateau after a jump", INQ_TRAINING_DIVERGENCE, INQ_TRAINING_DIVERGENCE, 0, 0, 0,
                 0},
    [GRADIENTS] = {"gradients explode", INQ_TRAINING_GRADIENT, INQ_TRAINING_GRADIENT, 0, 0, true,
                   0},
    [SLOWER] = {"slower from a step on", INQ_TRAINING_SLOWER, INQ_TRAINING_SLOWER, true, 0, 0, 0},
    [SLOWS_DOWN] = {"slower and slower", INQ_TRAINING_SLOWER, INQ_TRAINING_SLOWER, true, 0, 0,
                    true},
    [SLOW_AT_TIMES] = {"every n-th step slow", INQ_TRAINING_SLOWER, INQ_TRAINING_SLOWER, true, 0, 0,
                       true},
    [SLOW_STRETCH] = {"slow stretch", INQ_TRAINING_SLOWER, INQ_TRAINING_SLOWER, true, 0, 0, true},
    [RATE_DROPS] = {"throughput drops", INQ_TRAINING_SLOWER, INQ_TRAINING_SLOWER, 0, true, 0, 0},
};

/* Plants the fault from row `at` on; `far` of the rows to the end is how long what takes long. */
static void plant(struct run *run, enum fault fault, int at)
{
    double times = uniform(1.5, 4.0);
    double slow = uniform(1.3, 3.0);
    int len = draw(1, run->n < 60 ? 3 : 10);
    int every = draw(10, 30);
    int left = run->n - at;
    int stretch = draw(20, left / 2 > 20 ? left / 2 : 20);
    double level = run->rows[at].loss;
    for (int i = at; i < run->n; i++) {
        struct row *row = &run->rows[i];
        int k = i - at;
        double part = (double)k / left;
        bool spike = fault == SPIKE ? k < len : k % (left / 4 + 1) < 3;
        switch (fault) {
        case SPIKE:
        case SPIKES:
            row->loss *= spike ? times : 1.0;
            break;
        case DIVERGES:
            row->loss *= times * (1.0 + part);
            break;
        case DIVERGES_SLOWLY:
            row->loss *= 1.0 + times * part;
            break;
        case DIVERGES_TO_NAN:
            row->loss = k > 2 * len + 5 ? (double)NAN : row->loss * (1.0 + 0.3 * (k + 1));
            break;
        case IS_NAN:
            row->loss = (double)NAN;
            break;
        case NAN_ONCE:
            row->loss = k == 0 ? (double)NAN : row->loss;
            break;
        case PLATEAU:
            row->loss = level * times * factor(0.005);
            break;
        case GRADIENTS:
            row->norm *= 10.0 * times * times * times;
            break;
        case SLOWER:
        case RATE_DROPS:
            row->ms *= slow;
            break;
        case SLOWS_DOWN:
            row->ms *= 1.0 + slow * part;
            break;
        case SLOW_AT_TIMES:
            row->ms *= k % every == 0 ? 1.0 + every * (slow - 1.0) : 1.0;
            break;
        case SLOW_STRETCH:
            row->ms *= k < stretch ? slow : 1.0;
            break;
        case FAULTS:
            break;
        }
    }
}

static int make_broken(struct run *run, enum fault fault, int i)
{
    int n = faults[fault].slow ? rows_of(2 + i % 5) * 2 : rows_of(i);
    if (i % 100 == 99) {
        n = 100000;
    }
    make_plain(run, n, exp(uniform(-5.3, -3.5)));
    run->interval = 1;
    while ((faults[fault].time && !has_time[run->wording]) ||
           (faults[fault].rate && !has_rate[run->wording]) ||
           (faults[fault].norm && !has_norm[run->wording])) {
        run->wording = (enum wording)draw(0, WORDINGS - 1);
    }
    int at = draw(n / 2, n * 2 / 3);
    plant(run, fault, at);
    return at;
}

/* ---- judging --------------------------------------------------------------------------------- */

struct told {
    struct inq_run *run;
    struct inq_report *report;
};

static const struct inq_training *analyze_run(const struct run *run, struct told *told)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    write_run(&out, run);
    struct inq_ingest_blob blob = {"run/train.log", out.buf, out.len};
    if (inq_ingest_memory(&blob, 1, NULL, &told->run, &err) != INQ_OK || told->run->n_traces != 1 ||
        inq_analyze(told->run->traces[0], NULL, &told->report, &err) != INQ_OK ||
        told->report->training == NULL) {
        fprintf(stderr, "cannot read the log of wording %d: %s\n%.300s\n", (int)run->wording,
                err.message, out.buf);
        exit(1);
    }
    inq_out_release(&out);
    return told->report->training;
}

static void release(struct told *told)
{
    inq_report_free(told->report);
    inq_run_free(told->run);
}

static bool verbose = false;

static void show(const char *what, const struct run *run, int at, const struct inq_training *t)
{
    if (!verbose) {
        return;
    }
    printf("  %s: %d rows from step %" PRId64 ", wording %d", what, run->n, run->rows[0].step,
           (int)run->wording);
    if (at >= 0) {
        printf(", planted at step %" PRId64, run->rows[at].step);
    }
    for (size_t i = 0; i < t->n_events && i < 4; i++) {
        printf("; %s", t->events[i].what);
    }
    printf("\n");
}

static double healthy_runs(int repeats)
{
    static struct run run;
    int alarms = 0;
    int runs = 0;
    printf("%-28s %6s %8s\n", "healthy", "runs", "alarms");
    for (enum healthy kind = 0; kind < HEALTHY; kind++) {
        int n = kind == SAMPLED ? repeats / 50 + 1 : repeats;
        int wrong = 0;
        for (int i = 0; i < n; i++) {
            struct told told = {0};
            make_healthy(&run, kind, i);
            const struct inq_training *t = analyze_run(&run, &told);
            wrong += t->n_events > 0;
            if (t->n_events > 0) {
                show(healthy_names[kind], &run, -1, t);
            }
            release(&told);
        }
        printf("%-28s %6d %8.3f\n", healthy_names[kind], n, (double)wrong / n);
        alarms += wrong;
        runs += n;
    }
    printf("false alarms in %.4f of %d runs\n\n", (double)alarms / runs, runs);
    return (double)alarms / runs;
}

/* Rows between the planted step and the event of its kind that is closest; -1: none. */
static int64_t beside(const struct run *run, enum fault fault, int at, const struct inq_training *t)
{
    int64_t least = -1;
    int64_t step = run->wording == HF ? at + 1 : run->rows[at].step;
    int64_t rows = run->wording == HF ? 1 : run->rows[1].step - run->rows[0].step;
    for (size_t i = 0; i < t->n_events; i++) {
        const struct inq_training_event *event = &t->events[i];
        int64_t off = llabs(event->first_step - step) / rows;
        if ((event->kind == faults[fault].kind || event->kind == faults[fault].other) &&
            (least < 0 || off < least)) {
            least = off;
        }
    }
    return least;
}

static double broken_runs(int repeats)
{
    static struct run run;
    int hits = 0;
    int runs = 0;
    double least = 1.0;
    printf("%-28s %6s %8s %10s %8s\n", "fault", "runs", "found", "rows off", "besides");
    for (enum fault fault = 0; fault < FAULTS; fault++) {
        int found = 0;
        int besides = 0;
        int64_t off = 0;
        for (int i = 0; i < repeats; i++) {
            struct told told = {0};
            int at = make_broken(&run, fault, i);
            const struct inq_training *t = analyze_run(&run, &told);
            int64_t rows = beside(&run, fault, at, t);
            int64_t near = faults[fault].slow ? 5 + (run.n - at) / 4 : 3;
            bool hit = rows >= 0 && rows <= near;
            found += hit;
            off += hit ? rows : 0;
            besides += t->n_events > 1 && t->events[0].line < (uint64_t)at;
            if (!hit) {
                show(faults[fault].name, &run, at, t);
            }
            release(&told);
        }
        printf("%-28s %6d %8.3f %10.1f %8.3f\n", faults[fault].name, repeats,
               (double)found / repeats, found > 0 ? (double)off / found : 0.0,
               (double)besides / repeats);
        hits += found;
        runs += repeats;
        least = fmin(least, (double)found / repeats);
    }
    printf("found %.4f of %d faults, the least of a kind %.3f\n", (double)hits / runs, runs, least);
    return least;
}

int main(int argc, char **argv)
{
    bool smoke = argc > 1 && strcmp(argv[1], "--smoke") == 0;
    verbose = argc > 1 && strcmp(argv[1], "--verbose") == 0;
    double alarms = healthy_runs(smoke || verbose ? 28 : 140);
    double hits = broken_runs(smoke || verbose ? 28 : 100);
    return alarms <= MOST_ALARMS && hits >= LEAST_HITS ? 0 : 1;
}
