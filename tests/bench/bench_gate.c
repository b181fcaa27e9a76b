/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons and the gate over generated runs with known truth.
 *
 *   bench_gate pairs [--filter TEXT] [-v]   pairs of runs that differ in one thing: is the speed-up
 *                                           right within 1 %, the cause and whose it is?
 *   bench_gate equal [--runs N]             pairs of equal jobs, 1 % between runs: no change?
 *   bench_gate pool [--runs N] [--filter KIND]
 *                                           baselines of five runs: false alarms, regressions found
 *   bench_gate swaps [--filter TEXT]        cells of schedules of every kind change places: is
 *                                           every longer one caught? do equal ones pass?
 *   bench_gate stages [--runs N]            baselines of one run of a pipeline: do re-runs pass, is
 *                                           a stage that is 3 % slower found?
 *
 * Prints tables; judges nothing. */
#include "inquest/account.h"
#include "inquest/check.h"
#include "inquest/compare.h"
#include "inquest/synth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1200 };

struct made {
    struct inq_run *run;
    struct inq_report *report;
    double step_ns; /* the truth: mean on the true clock, of the steps that the account judges */
};

static void drop(struct made *m)
{
    inq_report_free(m->report);
    inq_run_free(m->run);
    *m = (struct made){0};
}

/* Which steps count is part of what is told: the first is set aside where it is a warm-up. */
static double true_step_ns(const struct inq_synth_truth *truth, const struct inq_account *account)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t s = 0; account->n_steps == truth->n_steps && s < truth->n_steps; s++) {
        sum += account->steps[s].judged ? (double)truth->step_ns[s] : 0.0;
        n += account->steps[s].judged;
    }
    return n > 0 ? sum / (double)n : (double)truth->mean_step_ns;
}

static bool make(const char *text, struct made *m)
{
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    *m = (struct made){0};
    bool fine = spec != NULL && inq_synth_spec_parse(text, spec, &err) == INQ_OK &&
                inq_synth_new(spec, &synth, &err) == INQ_OK &&
                inq_synth_ingest(synth, true, 0, &m->run, &err) == INQ_OK &&
                inq_analyze(m->run->traces[0], NULL, &m->report, &err) == INQ_OK;
    if (fine) {
        m->step_ns = true_step_ns(inq_synth_truth(synth), m->report->account);
    } else {
        fprintf(stderr, "%s: %s\n", text, err.message);
    }
    inq_synth_free(synth);
    free(spec);
    return fine;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* `now` is added to the base's spec; %d is a rank. `losses`: causes that are right, by their texts.
 * `who`: r that rank, s its stage, h its host, k its links, where there are others like them (one
 * group of all ranks has but one time), a nobody alone, * not asked. `needs` as of the shapes. */
struct kind {
    const char *name, *base, *now[3], *losses;
    char who, needs;
};

static const struct kind kinds[] = {
    {"slow_gpu",
     "",
     {"fault=slow_gpu:rank=%d:factor=1.06", "fault=slow_gpu:rank=%d:factor=1.15",
      "fault=slow_gpu:rank=%d:factor=1.4"},
     "compute",
     'r',
     0},
    {"low_clock",
     "",
     {"fault=low_clock:rank=%d:factor=1.08", "fault=low_clock:rank=%d:factor=1.2",
      "fault=low_clock:rank=%d:factor=1.4"},
     "compute",
     'r',
     0},
    {"more_work_size",
     "",
     {"fault=more_work:mode=size:rank=%d:factor=1.08",
      "fault=more_work:mode=size:rank=%d:factor=1.2",
      "fault=more_work:mode=size:rank=%d:factor=1.4"},
     "compute",
     'r',
     0},
    {"more_work_count",
     "",
     {"fault=more_work:rank=%d:factor=1.1", "fault=more_work:rank=%d:factor=1.2",
      "fault=more_work:rank=%d:factor=1.4"},
     "compute",
     'r',
     0},
    {"slow_host",
     "",
     {"fault=slow_gpu:host=1:factor=1.08", "fault=slow_gpu:host=1:factor=1.15",
      "fault=slow_gpu:host=1:factor=1.3"},
     "compute",
     'h',
     'h'},
    {"every_fifth",
     "steps=20",
     {"fault=slow_gpu:every=5:rank=%d:factor=1.5", "fault=slow_gpu:every=5:rank=%d:factor=2",
      "fault=slow_gpu:every=4:rank=%d:factor=1.5"},
     "compute",
     'r',
     0},
    {"late_data",
     "",
     {"fault=late_host:rank=%d:delay=4ms", "fault=late_host:rank=%d:delay=8ms",
      "fault=late_host:rank=%d:delay=16ms"},
     "host",
     'r',
     0},
    {"late_pause",
     "",
     {"fault=late_host:mode=pause:rank=%d:delay=4ms",
      "fault=late_host:mode=pause:rank=%d:delay=8ms",
      "fault=late_host:mode=pause:rank=%d:delay=16ms"},
     "host",
     'r',
     0},
    {"loader_of_all", "", {"data=2ms", "data=4ms", "data=8ms"}, "host", 'a', 0},
    {"loader_ahead", "steps=20,sync=4", {"data=4ms", "data=6ms", "data=8ms"}, "host", 'a', 0},
    {"gc_rotates",
     "",
     {"fault=gc:every=5:delay=6ms", "fault=gc:every=4:delay=12ms", "fault=gc:every=3:delay=20ms"},
     "host",
     '*',
     0},
    {"uneven_experts",
     "",
     {"fault=uneven_experts:sigma=0.15", "fault=uneven_experts:sigma=0.3",
      "fault=uneven_experts:sigma=0.5"},
     "compute waiting",
     'a',
     'e'},
    {"dp_link", "", {"dp_gbps=100", "dp_gbps=60", "dp_gbps=30"}, "bandwidth transfer", 'a', 0},
    {"slow_link",
     "",
     {"fault=slow_link:links=dp:rank=%d:factor=2", "fault=slow_link:links=dp:rank=%d:factor=3",
      "fault=slow_link:links=dp:rank=%d:factor=6"},
     "bandwidth transfer",
     'k',
     0},
    {"pp_link",
     "",
     {"fault=slow_link:links=pp:rank=%d:factor=6", "fault=slow_link:links=pp:rank=%d:factor=12",
      "fault=slow_link:links=pp:rank=%d:factor=20"},
     "p2p bubble",
     'k',
     'p'},
    {"more_layers", "layers=8", {"layers=12", "layers=16", "layers=24"}, "compute", 'a', 0},
    {"slower_kernels", "", {"layer=850us", "layer=1ms", "layer=1.3ms"}, "compute", 'a', 0},
    {"long_last_stage",
     "",
     {"fault=long_last_stage:factor=1.1", "fault=long_last_stage:factor=1.2",
      "fault=long_last_stage:factor=1.4"},
     "compute",
     'l',
     'p'},
    {"micro_batches",
     "micro_batches=8",
     {"micro_batches=10", "micro_batches=12", "micro_batches=16"},
     "compute",
     'a',
     'p'},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct {
    const char *spec, *has;
    int ranks;
} shapes[] = {{"dp=8", "", 8},
              {"dp=16,gpus_per_host=8,clock=1ms,layers=4", "h", 16},
              {"dp=2,pp=4,layers=8,labels=1", "p", 8},
              {"dp=8,experts=1,layers=4", "e", 8},
              {"dp=8,sharded=1,layers=4", "", 8},
              {"dp=2,tp=2,pp=2,layers=4,p2p=batched", "p", 8}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct score {
    size_t n, speed, cause, who, quiet;
};

static bool in_list(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += len) {
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool right_who(const struct kind *k, const struct inq_compared_cause *cause, int rank,
                      const struct made *now)
{
    if (k->who == 'a') {
        return cause->n_ranks == 0 || cause->n_ranks * 4 > 3 * now->run->traces[0]->n_ranks;
    }
    if (k->who == '*') {
        return true;
    }
    if (k->who == 'h') {
        return cause->host != NULL && strcmp(cause->host, "node-01") == 0;
    }
    if (k->who == 'l') {
        return cause->stage >= 0;
    }
    if (k->who == 'k') { /* it, its partner in the group, and the stages before and behind */
        bool named = cause->n_ranks == 0 && now->report->pipeline == NULL;
        for (size_t i = 0; i < cause->n_ranks && cause->n_ranks <= 4; i++) {
            named = named || cause->ranks[i] == rank;
        }
        return named;
    }
    return cause->n_ranks == 1 && cause->ranks[0] == rank;
}

static void score_pair(const struct kind *k, const char *spec, const struct made *a,
                       const struct made *b, int rank, struct score *score, bool verbose)
{
    struct inq_comparison *c = NULL;
    struct inq_err err = {0};
    double truth = a->step_ns / b->step_ns;
    score->n++;
    if (inq_compare_runs(a->report, b->report, NULL, &c, &err) != INQ_OK) {
        printf("  FAILED %s: %s\n", spec, err.message);
        return;
    }
    const struct inq_compared_cause *cause = c->n_causes > 0 ? &c->causes[0] : NULL;
    double off = (double)c->run[0].step_ns / (double)c->run[1].step_ns / truth - 1.0;
    bool small = fabs(truth - 1.0) < 0.03; /* within the spread between runs: either is fine */
    bool quiet = small && !c->changed;
    bool cause_fits =
        quiet || (c->changed && cause != NULL && in_list(k->losses, inq_loss_text(cause->loss)));
    bool who = quiet || (cause != NULL && right_who(k, cause, rank, truth < 1.0 ? b : a));
    score->speed += fabs(off) < 0.01;
    score->cause += cause_fits;
    score->who += cause_fits && who;
    score->quiet += quiet;
    if (verbose && (fabs(off) >= 0.01 || !cause_fits || !who)) {
        printf("  %s rank %d: true %.4f, told off by %+.2f %%%s%s\n    %s\n    %s\n", spec, rank,
               truth, 100.0 * off, cause_fits ? "" : ", cause", who ? "" : ", who", c->headline,
               c->reason);
        for (size_t i = 0; i < c->n_causes && i < 4; i++) {
            printf("      %8.3f ms %s: %s\n", (double)c->causes[i].ns / 1e6,
                   inq_loss_text(c->causes[i].loss), c->causes[i].text);
        }
    }
    inq_comparison_free(c);
}

static const char noise[] =
    "steps=10,gz=0,cpu_ops=0,flows=0,calls=0,sigma=0.03,step_sigma=0.005,rank_sigma=0.004,"
    "host_sigma=0.15,link_sigma=0.03";

static struct score run_pairs_of(const struct kind *k, unsigned first_seed, bool verbose)
{
    struct score score = {0};
    for (int shape = 0; shape < SHAPES; shape++) {
        if (k->needs != 0 && strchr(shapes[shape].has, k->needs) == NULL) {
            continue;
        }
        for (int strength = 0; strength < 3; strength++) {
            char base[TEXT];
            char more[TEXT / 2];
            char now[2 * TEXT];
            unsigned seed =
                first_seed + (unsigned)(1 + shape * 31 + strength * 7 + (int)(k - kinds) * 101);
            int rank = (int)(seed * 5 % (unsigned)shapes[shape].ranks);
            struct made a, b;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(more, sizeof more, k->now[strength], rank);
#pragma GCC diagnostic pop
            (void)snprintf(base, sizeof base, "%s,%s%s%s,seed=%u", noise, shapes[shape].spec,
                           k->base[0] ? "," : "", k->base, seed);
            (void)snprintf(now, sizeof now, "%s,%s,seed=%u", base, more, seed + 5000);
            if (make(base, &a) && make(now, &b)) {
                score_pair(k, now, &a, &b, rank, &score, verbose);
                score_pair(k, now, &b, &a, rank, &score, verbose); /* the gain */
            }
            drop(&a);
            drop(&b);
        }
    }
    return score;
}

static void pairs(const char *filter, unsigned first_seed, bool verbose)
{
    struct score all = {0};
    printf("%-16s %6s %10s %10s %10s %8s\n", "pair", "n", "speed-up", "cause", "and whose",
           "quiet");
    for (int i = 0; i < KINDS; i++) {
        if (filter != NULL && strstr(kinds[i].name, filter) == NULL) {
            continue;
        }
        struct score s = run_pairs_of(&kinds[i], first_seed, verbose);
        printf("%-16s %6zu %8.1f %% %8.1f %% %8.1f %% %8zu\n", kinds[i].name, s.n,
               100.0 * (double)s.speed / (double)s.n, 100.0 * (double)s.cause / (double)s.n,
               100.0 * (double)s.who / (double)s.n, s.quiet);
        fflush(stdout);
        all.n += s.n;
        all.speed += s.speed;
        all.cause += s.cause;
        all.who += s.who;
        all.quiet += s.quiet;
    }
    printf("%-16s %6zu %8.1f %% %8.1f %% %8.1f %% %8zu\n", "all", all.n,
           100.0 * (double)all.speed / (double)all.n, 100.0 * (double)all.cause / (double)all.n,
           100.0 * (double)all.who / (double)all.n, all.quiet);
}

/* ---- equal jobs ------------------------------------------------------------------------------ */

/* A number in [-1, 1) of a seed. */
static double shift_of(unsigned seed)
{
    unsigned x = seed * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)x / 2147483648.0 - 1.0;
}

/* A run whose kernels take up to 1 % longer or shorter than usual, as a whole. */
static void spec_of_run(char *text, size_t size, const char *shape, unsigned seed, const char *more)
{
    (void)snprintf(text, size, "%s,%s,layer=%.0fns,seed=%u%s%s", noise, shape,
                   800e3 * (1.0 + 0.01 * shift_of(seed)), seed, more[0] ? "," : "", more);
}

static void equal(int runs, unsigned first_seed)
{
    size_t quiet = 0;
    size_t n = 0;
    for (int i = 0; i < runs; i++) {
        char text[TEXT];
        struct made a, b;
        struct inq_comparison *c = NULL;
        struct inq_err err = {0};
        const char *shape = shapes[i % SHAPES].spec;
        spec_of_run(text, sizeof text, shape, first_seed + (unsigned)(2 * i + 11), "");
        bool fine = make(text, &a);
        spec_of_run(text, sizeof text, shape, first_seed + (unsigned)(2 * i + 12), "");
        fine = make(text, &b) && fine;
        if (fine && inq_compare_runs(a.report, b.report, NULL, &c, &err) == INQ_OK) {
            n++;
            quiet += !c->changed;
            if (c->changed) {
                printf("  %s: %s %s\n", text, c->headline, c->reason);
            }
        }
        inq_comparison_free(c);
        drop(&a);
        drop(&b);
    }
    printf("equal jobs: no change beyond the spread between runs in %zu of %zu (%.1f %%)\n", quiet,
           n, 100.0 * (double)quiet / (double)n);
}

/* ---- baselines of several runs --------------------------------------------------------------- */

static bool measured(const char *text, struct inq_snapshot *snapshot)
{
    struct made m;
    struct inq_err err = {0};
    *snapshot = (struct inq_snapshot){0};
    bool fine = make(text, &m) && inq_snapshot_of_report(m.report, snapshot, &err) == INQ_OK;
    drop(&m);
    return fine;
}

/* One step in two runs is far off. */
static const char *outlier_of(unsigned seed, char *text, size_t size)
{
    (void)snprintf(text, size, "fault=late_host:mode=pause:rank=1:delay=40ms:from=%u:to=%u",
                   2 + seed % 7, 2 + seed % 7);
    return seed % 2 == 0 ? text : "";
}

/* The third one's hosts run ahead: only every fourth step, which reads the loss, waits for data. */
static const char *const jobs[] = {"dp=8,layers=8", "dp=2,pp=4,layers=8,labels=1",
                                   "dp=8,layers=8,sync=4,steps=20", "dp=1,pp=4,layers=8,labels=1"};
enum { JOBS = sizeof jobs / sizeof jobs[0], RUNS_OF_BASELINE = 25 };

static const struct {
    const char *what;
    int job;
    const char *spec, *measure, *who;
    const char *also; /* another measure that names it as well; NULL: none */
} regressions[] = {
    {"step", 0, "layer=824us", "step_time_ns", "", "mean_step_ns"},
    {"stage", 1, "fault=slow_gpu:rank=4:last=5:factor=1.03", "stage_share.stage2", "", NULL},
    {"rank", 0, "fault=slow_gpu:rank=3:factor=1.03", "", "rank 3", NULL},
    {"rank of two", 1, "fault=slow_gpu:rank=5:factor=1.03", "", "rank 5", NULL},
    {"loader", 0, "data=2200us", "host_ns", "data loading", NULL},
    {"communication", 0, "dp_gbps=95", "exposed_comm_ns", "all_reduce", NULL},
    {"loader ahead", 2, "data=2250us", "host_ns", "data loading", NULL},
    {"stage of one", 3, "fault=slow_gpu:rank=2:factor=1.03", "stage_share.stage2", "", NULL},
};
enum { REGRESSIONS = sizeof regressions / sizeof regressions[0] };

static bool caught(const struct inq_check *check, int which, bool *named)
{
    for (size_t i = 0; i < check->n; i++) {
        const struct inq_check_row *row = &check->rows[i];
        bool also =
            regressions[which].also != NULL && strcmp(row->now.name, regressions[which].also) == 0;
        if (!row->pass && (also || strncmp(row->now.name, regressions[which].measure,
                                           strlen(regressions[which].measure)) == 0)) {
            *named = *named || strstr(row->message, regressions[which].who) != NULL;
        }
    }
    return !check->pass;
}

/* The regression to try with the i-th run: all kinds in turn, or only that of the name. */
static int regression_of(int i, const char *name)
{
    int which = name != NULL ? 0 : i % REGRESSIONS;
    while (name != NULL ? which < REGRESSIONS - 1 && strcmp(regressions[which].what, name) != 0
                        : regressions[which].job != i / RUNS_OF_BASELINE % JOBS) {
        which = (which + 1) % REGRESSIONS;
    }
    return which;
}

static void pool(int runs, const char *name, unsigned first_seed, bool verbose)
{
    size_t alarms = 0;
    size_t n = 0;
    size_t found[REGRESSIONS] = {0};
    size_t named[REGRESSIONS] = {0};
    size_t tried[REGRESSIONS] = {0};
    struct inq_baseline base = {0};
    for (int i = 0; i < runs; i++) {
        char text[TEXT];
        char odd[TEXT / 4];
        struct inq_snapshot now;
        struct inq_check check;
        struct inq_err err = {0};
        int which = regression_of(i, name);
        const char *job = jobs[regressions[which].job];
        unsigned seed = first_seed + (unsigned)(i * 40 + 100);
        for (unsigned k = 0; i % RUNS_OF_BASELINE == 0 && k < 5; k++) { /* a new baseline */
            struct inq_snapshot one;
            if (k == 0) {
                inq_baseline_release(&base);
            }
            spec_of_run(text, sizeof text, job, seed + k,
                        outlier_of(seed / 40 + k, odd, sizeof odd));
            if (measured(text, &one)) {
                (void)inq_snapshot_pool(&base.snapshot, &one, &err);
            }
            inq_snapshot_release(&one);
        }
        spec_of_run(text, sizeof text, job, seed + 11, outlier_of((unsigned)i, odd, sizeof odd));
        if (measured(text, &now) && inq_check_compare(&now, &base, NULL, &check, &err) == INQ_OK) {
            n++;
            alarms += !check.pass;
            if (!check.pass && verbose) {
                printf("  false alarm, %s: %s\n", text, check.cause->message);
            }
            inq_check_release(&check);
        }
        inq_snapshot_release(&now);
        bool right = false;
        (void)snprintf(odd, sizeof odd, "%s", regressions[which].spec);
        spec_of_run(text, sizeof text, job, seed + 17, odd);
        if (measured(text, &now) && inq_check_compare(&now, &base, NULL, &check, &err) == INQ_OK) {
            tried[which]++;
            found[which] += caught(&check, which, &right);
            named[which] += right;
            for (size_t r = 0; verbose && !right && r < check.n; r++) {
                printf("  missed %s: %s\n", regressions[which].what, check.rows[r].message);
            }
            inq_check_release(&check);
        }
        inq_snapshot_release(&now);
    }
    inq_baseline_release(&base);
    printf("baselines of 5 runs: %zu false alarms in %zu re-runs (%.1f %%)\n", alarms, n,
           100.0 * (double)alarms / (double)n);
    for (int k = 0; k < REGRESSIONS; k++) {
        printf("  3 %% of %-14s found %zu, named %zu of %zu\n", regressions[k].what, found[k],
               named[k], tried[k]);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

struct swaps {
    size_t longer, caught, hang, hang_caught, other, alarms;
};

static struct inq_snapshot measured_schedule(const struct inq_schedule *schedule,
                                             const struct inq_costs *costs)
{
    struct inq_lint_options options = {.costs = *costs};
    struct inq_snapshot snapshot;
    struct inq_err err = {0};
    if (inq_snapshot_of_schedule(schedule, &options, NULL, 0, &snapshot, &err) != INQ_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return snapshot;
}

/* The truth is the simulator's makespan; what got no longer but holds more or idles longer fails
 * too, rightly. */
static void score_swap(const struct inq_schedule *schedule, const struct inq_costs *costs,
                       const struct inq_baseline *base, const struct inq_schedule_timing *before,
                       struct swaps *n)
{
    struct inq_schedule_timing timing;
    struct inq_check check;
    struct inq_err err = {0};
    int code = inq_schedule_time(schedule, costs, &timing, &err);
    struct inq_snapshot now = measured_schedule(schedule, costs);
    if (inq_check_compare(&now, base, NULL, &check, &err) == INQ_OK) {
        bool longer = code == INQ_OK && timing.makespan_ns > before->makespan_ns;
        bool worse = longer || (code == INQ_OK && timing.peak_memory > before->peak_memory);
        n->longer += longer;
        n->caught += longer && !check.pass;
        n->hang += code != INQ_OK;
        n->hang_caught += code != INQ_OK && !check.pass;
        n->other += code == INQ_OK && !worse;
        n->alarms += code == INQ_OK && !worse && !check.pass && now.problem[0] == '\0';
        inq_check_release(&check);
    }
    if (code == INQ_OK) {
        inq_schedule_timing_release(&timing, schedule->n_ranks);
    }
    inq_snapshot_release(&now);
}

static void swap_actions(struct inq_rank_actions *list, size_t i, size_t k)
{
    struct inq_action first = list->actions[i];
    list->actions[i] = list->actions[k];
    list->actions[k] = first;
}

/* Composites stay where they are. */
static bool is_plain(const struct inq_rank_actions *list, size_t i)
{
    size_t end = 0; /* of the last composite that begins at i or before */
    for (size_t k = 0; k <= i; k++) {
        end = list->actions[k].n_sub > 0 ? k + list->actions[k].n_sub + 1 : end;
    }
    return i >= end;
}

static void swaps_of(const struct inq_schedule_spec *spec, struct swaps *n)
{
    enum { FARTHEST = 3 };
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    struct inq_err err = {0};
    if (inq_schedule_make(spec, &schedule, &err) != INQ_OK) {
        return; /* the kind does not exist for these numbers */
    }
    if (inq_schedule_time(&schedule, &spec->costs, &timing, &err) == INQ_OK) {
        struct inq_baseline base = {.snapshot = measured_schedule(&schedule, &spec->costs)};
        for (int32_t r = 0; r < schedule.n_ranks; r++) {
            struct inq_rank_actions *list = &schedule.ranks[r];
            for (size_t i = 0; i < list->n; i++) {
                for (size_t k = i + 1; k <= i + FARTHEST && k < list->n; k++) {
                    if (is_plain(list, i) && is_plain(list, k)) {
                        swap_actions(list, i, k);
                        score_swap(&schedule, &spec->costs, &base, &timing, n);
                        swap_actions(list, i, k);
                    }
                }
            }
        }
        score_swap(&schedule, &spec->costs, &base, &timing, n); /* as it was */
        inq_baseline_release(&base);
        inq_schedule_timing_release(&timing, schedule.n_ranks);
    }
    inq_schedule_release(&schedule);
}

static void swaps(const char *filter)
{
    static const struct inq_costs costs[] = {
        {.stage = {1000, 1000, 1000}},
        {.stage = {1000, 1000, 1000}, .p2p_ns = 130},
        {.stage = {18522000, 18086000, 9337000}, .p2p_ns = 601000},
        {.stage = {7919, 9973, 5003}, .p2p_ns = 1}}; /* a swap may cost a single ns */
    static const int32_t sizes[][2] = {{2, 4}, {4, 8}, {4, 12}, {6, 12}};
    size_t n_kinds;
    const struct inq_schedule_kind *list = inq_schedule_kinds(&n_kinds);
    struct swaps all = {0};
    printf("%-16s %8s %8s %8s %8s %8s %8s\n", "kind", "longer", "caught", "hang", "caught",
           "others", "alarms");
    for (size_t i = 0; i < n_kinds; i++) {
        struct swaps n = {0};
        if (filter != NULL && strstr(list[i].name, filter) == NULL) {
            continue;
        }
        for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                swaps_of(&(struct inq_schedule_spec){.kind = list[i].name,
                                                     .n_ranks = sizes[s][0],
                                                     .n_microbatches = sizes[s][1],
                                                     .costs = costs[c]},
                         &n);
            }
        }
        printf("%-16s %8zu %8zu %8zu %8zu %8zu %8zu\n", list[i].name, n.longer, n.caught, n.hang,
               n.hang_caught, n.other, n.alarms);
        fflush(stdout);
        all = (struct swaps){all.longer + n.longer, all.caught + n.caught,
                             all.hang + n.hang,     all.hang_caught + n.hang_caught,
                             all.other + n.other,   all.alarms + n.alarms};
    }
    printf("%-16s %8zu %8zu %8zu %8zu %8zu %8zu\n", "all", all.longer, all.caught, all.hang,
           all.hang_caught, all.other, all.alarms);
}

/* ---- pipelines against one run --------------------------------------------------------------- */

static const struct {
    const char *job;
    int stages, replicas; /* rank = stage * replicas + replica */
} pipelines[] = {{"dp=2,pp=4,layers=8,labels=1", 4, 2},
                 {"dp=4,pp=2,layers=8,labels=1", 2, 4},
                 {"dp=1,pp=4,layers=8,labels=1", 4, 1},
                 {"dp=1,pp=8,layers=8,labels=1,micro_batches=16", 8, 1},
                 {"dp=2,pp=4,layers=10,labels=1,fault=long_last_stage:factor=1.15", 4, 2},
                 {"dp=1,pp=4,layers=10,labels=1,fault=long_last_stage:factor=1.15", 4, 1}};
enum { PIPELINES = sizeof pipelines / sizeof pipelines[0] };

/* Whether the check fails, and says that it is this stage. */
static bool fails(const char *text, const struct inq_baseline *base, const char *stage, bool *named,
                  bool verbose)
{
    struct inq_snapshot now;
    struct inq_check check;
    struct inq_err err = {0};
    bool failed = false;
    if (measured(text, &now) && inq_check_compare(&now, base, NULL, &check, &err) == INQ_OK) {
        failed = !check.pass;
        for (size_t i = 0; i < check.n; i++) {
            *named =
                *named || (!check.rows[i].pass && strstr(check.rows[i].message, stage) != NULL);
        }
        for (size_t i = 0; verbose && (stage[0] == '\0' ? failed : !failed) && i < check.n; i++) {
            if (stage[0] != '\0' || !check.rows[i].pass) {
                printf("  %s: %s\n", text, check.rows[i].message);
            }
        }
        inq_check_release(&check);
    }
    inq_snapshot_release(&now);
    return failed;
}

static void stages(int runs, unsigned first_seed, bool verbose)
{
    size_t n[PIPELINES] = {0};
    size_t alarms[PIPELINES] = {0};
    size_t found[PIPELINES] = {0};
    size_t named[PIPELINES] = {0};
    for (int i = 0; i < runs; i++) {
        char text[TEXT];
        char more[TEXT / 4];
        char who[32];
        int job = i % PIPELINES;
        unsigned seed = first_seed + (unsigned)(i * 10 + 1000);
        int stage = i / PIPELINES % pipelines[job].stages;
        struct inq_baseline base = {0};
        bool right = false;
        bool none = false;
        spec_of_run(text, sizeof text, pipelines[job].job, seed, "");
        if (!measured(text, &base.snapshot)) {
            continue;
        }
        spec_of_run(text, sizeof text, pipelines[job].job, seed + 1, "");
        alarms[job] += fails(text, &base, "", &none, verbose);
        (void)snprintf(more, sizeof more, "fault=slow_gpu:rank=%d:last=%d:factor=1.03",
                       stage * pipelines[job].replicas, (stage + 1) * pipelines[job].replicas - 1);
        (void)snprintf(who, sizeof who, "stage %d", stage);
        spec_of_run(text, sizeof text, pipelines[job].job, seed + 2, more);
        found[job] += fails(text, &base, who, &right, verbose);
        named[job] += right;
        n[job]++;
        inq_baseline_release(&base);
    }
    printf(
        "baselines of one run: re-runs, false alarms; a stage that is 3 %% slower found, named\n");
    for (int job = 0; job < PIPELINES; job++) {
        printf("  %-44s %5zu %5zu %5zu %5zu\n", pipelines[job].job, n[job], alarms[job], found[job],
               named[job]);
    }
}

int main(int argc, char **argv)
{
    const char *filter = NULL;
    int runs = 200;
    unsigned first_seed = 0;
    bool verbose = false;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            filter = argv[++i];
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first_seed = (unsigned)strtoul(argv[++i], NULL, 10);
        } else {
            verbose = verbose || strcmp(argv[i], "-v") == 0;
        }
    }
    if (argc > 1 && strcmp(argv[1], "pairs") == 0) {
        pairs(filter, first_seed, verbose);
    } else if (argc > 1 && strcmp(argv[1], "equal") == 0) {
        equal(runs, first_seed);
    } else if (argc > 1 && strcmp(argv[1], "pool") == 0) {
        pool(runs, filter, first_seed, verbose);
    } else if (argc > 1 && strcmp(argv[1], "swaps") == 0) {
        swaps(filter);
    } else if (argc > 1 && strcmp(argv[1], "stages") == 0) {
        stages(runs, first_seed, verbose);
    } else {
        fprintf(stderr, "bench_gate pairs|equal|pool|swaps|stages [--filter TEXT] [--runs N] "
                        "[--seed N] [-v]\n");
        return 2;
    }
    return 0;
}
