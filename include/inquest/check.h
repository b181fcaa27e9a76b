/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: a run or a schedule measured, and compared with a baseline that a team keeps.
 *
 * A measure of a recorded run is the median over its steps, a ratio the mean of their middle four
 * fifths, with an interval of 95 % confidence that
 * assumes nothing about how steps are distributed: it ends between the k-th and the next value
 * from either end, where k is the largest number with 2 P(B < k) <= 0.05 for B binomial(n, 1/2),
 * by interpolation. Fewer than six steps cannot give 95 %: the interval is then all of them, fewer
 * than three give none. The mean step has Student's t interval, around the mean of the phases where
 * steps recur with a period.
 *
 * A measure regressed when it is above its limit by more than chance explains. With the baseline b
 * in [b-, b+], the new value v in [v-, v+] and a limit that follows b (b + grow * unit):
 *   v - limit > sqrt((v - v-)^2 + (b+ - b)^2)
 * which puts the lower end of the interval of the difference, made of the two intervals, above the
 * limit. An exact value (a schedule's) has the interval [v, v], and by default no tolerance: it
 * regressed when it grew at all.
 *
 * What is held against its peers of the same step does not have the shift of its run: its limit is
 * what noise explains, sqrt((t b)^2 + (v - v-)^2 + (b+ - b)^2) above b for a rank, and for a stage
 * by how many ranks and stages there are and how their steps vary (inquest-baseline(5)). A stage is
 * then a multiple of those that changed alike, and what fell back behind others that got faster
 * got worse only where its own compute grew by a third of that.
 *
 * With a baseline of three runs or more the spread between runs is measured: the limit is their
 * mean and 2.5 of their standard deviations, at least 2 % (of the step for what grows by it; 2.5 %
 * of compute, and less of what is measured within a step, where what all ranks have in common
 * cancels: 1.5 % of a stage's share, 1.9 % where it has one rank, 1.2 % of a rank among four or
 * more, 1.9 % among fewer, where it is also held to 1.6 % together with its stage); and a measure
 * that crept up over six runs or more by 3 % in all regressed too.
 */
#ifndef INQUEST_CHECK_H
#define INQUEST_CHECK_H

#include "inquest/analysis.h"
#include "inquest/lint.h"
#include "inquest/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a limit follows the baseline: by a part of the baseline itself, by that part of a step (time)
 * or of the whole (shares), or not at all. */
enum inq_check_growth {
    INQ_GROWS_OWN,  /* limit = b * (1 + t) */
    INQ_GROWS_STEP, /* limit = b + t * step time */
    INQ_GROWS_ADD,  /* limit = b + t */
    INQ_GROWS_NOT   /* limit = 0 */
};

enum inq_check_unit {
    INQ_UNIT_NS,
    INQ_UNIT_SHARE,
    INQ_UNIT_FACTOR,
    INQ_UNIT_COUNT,
    INQ_UNIT_BYTES
};

/* X(NAME, "text", "in a sentence", unit, growth, "what it is"): less is better in all of them.
 * `compute_ns`, `slowest_rank` and `stage_share` are there once for each role of ranks, as
 * "compute_ns.stage2".
 */
#define INQ_MEASURES(X)                                                                            \
    X(STEP_TIME, "step_time_ns", "step time", NS, OWN, "time of the median step")                  \
    X(MEAN_STEP, "mean_step_ns", "mean step", NS, OWN,                                             \
      "time of the mean step: what only some steps lose counts too")                               \
    X(MAKESPAN, "makespan_ns", "makespan", NS, OWN, "time of the schedule")                        \
    X(COMPUTE, "compute_ns", "compute", NS, OWN,                                                   \
      "GPU compute per step of the rank that computes longest")                                    \
    X(SLOWEST_RANK, "slowest_rank", "slowest rank", FACTOR, OWN,                                   \
      "GPU compute of the rank that computes longest, a multiple of its peers' in the same step")  \
    X(STAGE_SHARE, "stage_share", "relative compute", FACTOR, OWN,                                 \
      "GPU compute of a stage, a multiple of the other stages' in the same step")                  \
    X(EXPOSED_COMM, "exposed_comm_ns", "exposed communication", NS, STEP,                          \
      "communication per step that no compute covers, mean of the ranks")                          \
    X(WORST_WAIT, "worst_wait_ns", "worst wait", NS, STEP,                                         \
      "time per step that the rank that waits most waits for others in collectives")               \
    X(HOST, "host_ns", "wait for the host", NS, STEP,                                              \
      "time of the mean step that the GPU of the rank with the latest host idles for it")          \
    X(IDLE, "idle_ns", "idle time", NS, STEP,                                                      \
      "GPU idle for other reasons and exposed copies, mean of the ranks")                          \
    X(BUBBLE_RATIO, "bubble_ratio", "bubble ratio", SHARE, ADD, "idle share of the pipeline")      \
    X(SLOWDOWN, "slowdown", "slowdown", FACTOR, OWN, "S = T / T_ideal of the what-if analysis")    \
    X(PEAK_ACTIVATIONS, "peak_activations", "peak activation memory", COUNT, OWN,                  \
      "most activations that a rank holds at a time, in the unit of --memory")                     \
    X(PEAK_MEMORY, "peak_bytes", "peak memory", BYTES, OWN,                                        \
      "most memory that a rank holds at a time, where --memory tells it in bytes")                 \
    X(DAMAGED_FILES, "damaged_files", "count of damaged files", COUNT, NOT,                        \
      "files that end early or have unreadable parts")                                             \
    X(LINT_PROBLEMS, "lint_problems", "count of lint problems", COUNT, NOT,                        \
      "errors that lint finds in the schedule")                                                    \
    X(NEW_FINDINGS, "new_findings", "count of new findings", COUNT, NOT,                           \
      "findings of a severity that the baseline does not have")

enum inq_measure_kind {
#define INQ_MEASURE_ENUM(name, text, title, unit, growth, what) INQ_MEASURE_##name,
    INQ_MEASURES(INQ_MEASURE_ENUM)
#undef INQ_MEASURE_ENUM
        INQ_MEASURE_COUNT
};

struct inq_measure_info {
    const char *name, *title;
    enum inq_check_unit unit;
    enum inq_check_growth growth;
    const char *what;
};

INQ_API const struct inq_measure_info *inq_measure_info(enum inq_measure_kind kind);

#define INQ_MEASURE_NAME 48
#define INQ_POOL_MOST    52 /* runs of a baseline: those of a year, once a week */

struct inq_measure {
    enum inq_measure_kind kind;
    char name[INQ_MEASURE_NAME]; /* the kind's text, perhaps with ".stage2" or ".role2" */
    double value;                /* times in ns, whole numbers */
    double low, high;            /* NaN: not known */
    uint64_t n;                  /* steps behind it; 0: exact */
    char who[96];                /* whom or what it is the value of; "" nobody stands out */
    bool several;                /* who: a host or several ranks */
    size_t n_runs;              /* of a baseline of several runs, of which it is the mean; else 0 */
    double runs[INQ_POOL_MOST]; /* [n_runs] their values, oldest first */
};

struct inq_known_finding {
    char *id;
    enum inq_severity severity;
    char *title; /* NULL in a baseline */
};

/* Compute kernels of one operator and shape, of all ranks in a step. */
struct inq_workload_item {
    char what[100];  /* the launching operator; the kernel's name where none was recorded */
    char shape[100]; /* the operator's input dimensions, as recorded, cut; "" not recorded */
    int64_t count;
    double share; /* of the compute time */
    bool math;    /* matrix products, convolutions, attention */
};

#define INQ_WORKLOAD_MOST 32

/* A fingerprint of a step's work. All-zero: not known. */
struct inq_workload {
    int64_t kernels; /* on GPUs, of any class, all ranks */
    int64_t math;    /* of these: matrix products, convolutions, attention */
    int32_t passes;  /* micro-batches: as a pipeline has them, else how often what runs least and is
                      * no update of parameters does so on a rank; 0 not known */
    int32_t replicas; /* ranks that share a stage */
    bool even;        /* the ranks of a stage run equally many kernels */
    size_t n;         /* that run equally often in every step, most time first */
    struct inq_workload_item items[INQ_WORKLOAD_MOST];
};

/* Whether `now` is other work than `base`: fewer layers or micro-batches or more of them, fewer
 * matrix products, other shapes. `text` says which, "4 layers instead of 6 (...)". Fewer kernels
 * of other kinds are no less work: they may have been fused. */
INQ_API bool inq_workload_differs(const struct inq_workload *now, const struct inq_workload *base,
                                  char *text, size_t size);

enum inq_subject { INQ_SUBJECT_RUN, INQ_SUBJECT_SCHEDULE };

/* What was measured of one run or schedule. All-zero is releasable. */
struct inq_snapshot {
    enum inq_subject subject;
    int32_t ranks;
    int32_t stages, microbatches; /* schedules */
    /* Schedules: F, B, W, P2P, REDUCE, UPDATE, UNSHARD, FB; and F, B, W of each stage where they
     * differ [3 * n_stage_times]. Of a run (then they differ from run to run): its medians. */
    int64_t times_ns[8];
    int64_t *stage_times_ns;
    size_t n_stage_times;
    bool times_of_run;
    char problem[400]; /* schedules: the first thing that lint objects to; "" none */
    /* Schedules: everything that lint objects to, errors first, and the cells of each rank as CSV
     * [n_order]: NULL where they are not kept (very long ones). */
    struct inq_lint_problem *problems;
    size_t n_problems;
    struct inq_lint_remedy remedy;
    char **order;
    size_t n_order;
    const char *file;  /* where the schedule was read from, the caller's; NULL: it was made */
    int32_t *lines;    /* [ranks] line of each rank in the file; NULL: not read */
    int32_t **begins;  /* [n_order] where each cell of `order` begins in its line; NULL: not read */
    size_t missing;    /* runs: ranks without a trace */
    size_t outliers;   /* runs: steps that do not count, far off and not recurring */
    char longest[240]; /* runs: which step is far longer than the median one, and why, one sentence;
                        * "" none */
    struct inq_kept_steps kept; /* runs: of reduced partials */
    struct inq_workload work;   /* runs */
    char gpu[64];               /* runs: of all ranks; "" not known, or not the same */
    char unfit[400];        /* runs: why a team should not keep it as its baseline; "" nothing */
    char *command, *inputs; /* what a baseline was made with and of; NULL not known */
    size_t n, cap;
    struct inq_measure *measures;
    struct inq_measure_names *names; /* to find them by */
    size_t n_findings, cap_findings;
    struct inq_known_finding *findings;
};

INQ_API void inq_snapshot_release(struct inq_snapshot *snapshot);

/* Measures an analyzed run over the steps that its account judges, but for outliers that do not
 * recur. *snapshot is the caller's, released also after a failure. Fails with INQ_UNSUPPORTED (no
 * step can be judged; says why), INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_snapshot_of_report(const struct inq_report *report, struct inq_snapshot *snapshot,
                                   struct inq_err *err);
/* Measures a schedule: lints it and, when that finds no error, times it by the costs in `options`,
 * or (n_steps > 0) by those of each step of a recorded run, so that what is measured has their
 * noise. Fails with INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_snapshot_of_schedule(const struct inq_schedule *schedule,
                                     const struct inq_lint_options *options,
                                     const struct inq_costs *steps, size_t n_steps,
                                     struct inq_snapshot *snapshot, struct inq_err *err);
/* Measures a file that is no schedule, where `csv` has a fault: it has that problem, whatever
 * baseline it is held against. Fails with INQ_NOMEM. */
INQ_API int inq_snapshot_of_fault(const struct inq_csv_info *csv, struct inq_snapshot *snapshot,
                                  struct inq_err *err);

/* Adds a run, or all runs of a baseline, to a baseline of several; `pool` may be all-zero. Fails
 * with INQ_UNSUPPORTED (a schedule, or other ranks), INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_snapshot_pool(struct inq_snapshot *pool, const struct inq_snapshot *run,
                              struct inq_err *err);

/* ---- rules -----------------------------------------------------------------------------------*/

enum inq_rule_kind { INQ_RULE_DEFAULT, INQ_RULE_TOLERANCE, INQ_RULE_LIMIT, INQ_RULE_OFF };

struct inq_check_rule {
    enum inq_rule_kind kind;
    double value; /* a part (0.03), or the limit itself */
};

/* All-zero: nothing said. */
struct inq_check_rules {
    bool has_tolerance;
    double tolerance; /* a part; when not said 0.03, what noise explains within a step, and
                       * 0 for what is exact */
    struct inq_check_rule of[INQ_MEASURE_COUNT];
    bool has_severity;
    enum inq_severity severity; /* of new findings; medium when not said */
};

#define INQ_CHECK_TOLERANCE 0.03

/* "3%" or "0.03" as a tolerance. Fails with INQ_USAGE. */
INQ_API int inq_check_tolerance_parse(const char *text, struct inq_check_rules *rules,
                                      struct inq_err *err);
/* "NAME=LIMIT": LIMIT is a tolerance ("5%"), an absolute limit ("12.5ms", "0.3", "4"), "off", or
 * for new_findings a severity. NAME may leave out "_ns". Fails with INQ_USAGE, naming what may
 * stand there. */
INQ_API int inq_check_rule_parse(const char *text, struct inq_check_rules *rules,
                                 struct inq_err *err);
/* What `over` says goes over what `rules` said. */
INQ_API void inq_check_rules_merge(struct inq_check_rules *rules,
                                   const struct inq_check_rules *over);

/* ---- the baseline: "inquest-baseline/1", man inquest-baseline(5) ----------------------------- */

struct inq_baseline {
    struct inq_snapshot snapshot;
    struct inq_check_rules rules;
};

/* Reads a baseline; *baseline is the caller's, released also after a failure. Fails with INQ_FORMAT
 * (says what is wrong with it), INQ_LIMIT, INQ_NOMEM. */
INQ_API int inq_baseline_read(const char *text, size_t len, struct inq_baseline *baseline,
                              struct inq_err *err);
/* Equal measures give equal bytes. Fails with what the sink returns, INQ_NOMEM. */
INQ_API int inq_baseline_write(const struct inq_snapshot *snapshot,
                               const struct inq_check_rules *rules, struct inq_sink sink,
                               struct inq_err *err);
INQ_API void inq_baseline_release(struct inq_baseline *baseline);

/* ---- the comparison --------------------------------------------------------------------------*/

enum inq_check_outcome {
    INQ_CHECK_WITHIN,    /* not above the limit, or not by more than chance explains */
    INQ_CHECK_IMPROVED,  /* better by more than the tolerance and chance */
    INQ_CHECK_REGRESSED, /* fails */
    INQ_CHECK_GONE,      /* in the baseline, but not measured now: fails */
    INQ_CHECK_ADDED,     /* not in the baseline */
    INQ_CHECK_OFF        /* a rule says not to look */
};

/* Where a schedule differs from the baseline's: the first cell of the first rank that does. */
struct inq_check_change {
    int32_t rank, column;     /* from 0; -1: nowhere, or not known */
    char now[64], before[64]; /* the cells; "" there is none */
};

struct inq_check_row {
    struct inq_measure now;  /* value NaN: not measured */
    struct inq_measure base; /* value NaN: not there */
    double limit;            /* NaN: none */
    double change;           /* part of the baseline; NaN: none */
    enum inq_check_outcome outcome;
    bool pass;
    bool noisy;        /* above the limit, but not by more than chance explains */
    char message[512]; /* one sentence */
};

struct inq_check {
    enum inq_subject subject;
    bool pass, updated; /* updated: what was measured is now the baseline */
    size_t n, n_failed;
    struct inq_check_row *rows; /* in the order of the measures */
    size_t n_new;
    struct inq_known_finding *fresh; /* [n_new] findings that made new_findings fail */
    struct inq_check_change change;
    const struct inq_snapshot *snapshot; /* what was measured: must outlive the check */
    /* The row that says best why it fails: lint, then what got worse by most, what is gone last;
     * NULL: it passes. */
    const struct inq_check_row *cause;
    const char *problem; /* why nothing was checked, then all else is zero; NULL: it was */
};

INQ_API const char *inq_check_outcome_text(enum inq_check_outcome outcome);

/* Compares. *check is the caller's, released also after a failure. Fails with INQ_UNSUPPORTED when
 * the two cannot be compared (a run and a schedule, different numbers of ranks), INQ_NOMEM. */
INQ_API int inq_check_compare(const struct inq_snapshot *now, const struct inq_baseline *baseline,
                              const struct inq_check_rules *rules, struct inq_check *check,
                              struct inq_err *err);
INQ_API void inq_check_release(struct inq_check *check);

#ifdef __cplusplus
}
#endif

#endif
