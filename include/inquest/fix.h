/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes: what could be done about a slow run, each as a change of its op graph, so that the one
 * simulator says what it would gain before anybody tries it.
 *
 * A base is the graph of one representative step: of a recorded run the step of median length, with
 * its recorded durations and delays; or a schedule under a cost model. Of a recorded run, repairs
 * of causes (slow GPUs, late hosts, slow links, uneven work) are predicted over all judged steps,
 * by the study that the findings' costs come from. A spec names fixes:
 *
 *     NAME[:ARGUMENT][:KEY=VALUE]...   and several, applied from left to right, joined by '+'
 *
 *     replace-rank:5      rebalance-stages:share=0.5      schedule:zb-h1+microbatches:16 */
#ifndef INQUEST_FIX_H
#define INQUEST_FIX_H

#include "inquest/analysis.h"
#include "inquest/graph.h"
#include "inquest/replay.h"
#include "inquest/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the catalog --------------------------------------------------------------------------- */

/* What a fix takes besides the work of doing it; "" where nothing. */
struct inq_fix_costs {
    const char *memory, *accuracy, *work;
};

struct inq_fix_kind {
    const char *name;
    const char *grammar; /* "replace-rank:R[,R...]" */
    const char *summary; /* one line */
    const char *assumes; /* what the prediction takes for granted, one sentence */
    struct inq_fix_costs costs;
};

/* The kinds, in the order in which fixes are applied together; NULL past the last. */
INQ_API const struct inq_fix_kind *inq_fix_kind_at(size_t index);

/* ---- the base -------------------------------------------------------------------------------- */

struct inq_fix_base;

struct inq_fix_base_info {
    const char *source;   /* "labels", "annotations", "inferred", "trace", "schedule" */
    const char *schedule; /* of a pipeline, as inq_schedule_kinds has it; "" none or unknown */
    int64_t step;         /* recorded number of the step; -1 none */
    int64_t recorded_ns;  /* what that step took; -1 not recorded */
    int64_t ops_ns;       /* of it, from the first op's start to the last one's end; -1 as above */
    int64_t t_ns; /* simulated with the recorded delays; t - recorded is the model's own error */
    int64_t without_gaps_ns; /* simulated without any delay */
    /* The mean over all judged steps, as the account has it; of a schedule its one step. */
    size_t n_steps;
    size_t n_simulated; /* of them, simulated as a whole; 0: the step above stands for all */
    int64_t mean_recorded_ns, mean_t_ns; /* recorded -1: not */
    int64_t base_ns; /* that predictions are told of: the recorded mean, else the simulated one */
    size_t n_ops, n_ranks;
    size_t n_stages, n_dp, n_microbatches; /* 0: not a pipeline */
    size_t contradictions; /* circles of ops that wait for each other by the record: cut */
    bool connected; /* ranks wait for each other in the graph; false: transfers do not match */
};

/* Of an analyzed run (report and trace must outlive the base). Fails with INQ_UNSUPPORTED, saying
 * why, when there is no step to take, INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_fix_base_of_run(const struct inq_trace *trace, struct inq_report *report,
                                struct inq_fix_base **base, struct inq_err *err);
/* Of a schedule under a cost model (not needed afterwards). Fails as inq_schedule_time does. */
INQ_API int inq_fix_base_of_schedule(const struct inq_schedule *schedule,
                                     const struct inq_costs *costs, struct inq_fix_base **base,
                                     struct inq_err *err);
INQ_API void inq_fix_base_free(struct inq_fix_base *base);
INQ_API const struct inq_fix_base_info *inq_fix_base_info(const struct inq_fix_base *base);

/* Whether a spec can be read; INQ_USAGE says what is wrong with it. */
INQ_API int inq_fix_check(const char *spec, struct inq_err *err);
/* The base with the fixes of `spec` applied; NULL or "" is the base itself. The graph carries its
 * durations and delays and is the caller's. Fails with INQ_USAGE on a spec that cannot be read,
 * INQ_UNSUPPORTED when a fix does not apply to this base (both say why), INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_fix_graph(const struct inq_fix_base *base, const char *spec,
                          struct inq_graph **graph, struct inq_err *err);

/* The same as a plan, `n_steps` in a row (0: 1), its times and bytes multiplied by `scale` (0: 1).
 * Transfers have the recorded kind, group and bytes where those are known. Both are the caller's;
 * the graph must outlive the plan. */
INQ_API int inq_fix_plan(const struct inq_fix_base *base, const char *spec, size_t n_steps,
                         double scale, struct inq_graph **graph, struct inq_plan **plan,
                         struct inq_err *err);

/* ---- predictions ----------------------------------------------------------------------------- */

/* A quantity that a prediction takes for granted, and what the executing device takes. */
struct inq_assumption {
    const char *name; /* "collective latency" */
    const char *unit; /* "us"; "" a ratio */
    double assumed;
    double measured; /* NaN: not measured */
    double ci95[2];  /* of `measured` */
};

#define INQ_MOST_ASSUMPTIONS 8

struct inq_fix {
    const char *spec;
    const char *what;    /* one sentence, with its numbers */
    const char *assumes; /* as in the catalog */
    struct inq_fix_costs costs;
    const char *finding; /* id of the finding that calls for it; "" asked for by the user */
    bool repairs; /* a finding of more than informing severity calls for it (for all of it) */
    const char *problem; /* why there is no prediction; "" there is one */
    int64_t t_ns;        /* predicted step, as the mean of the base's; -1 none */
    int64_t step_t_ns;   /* the one step that is executed and drawn; -1: none, t_ns is measured, or
                          * the ops of that step do not have what is repaired */
    int64_t gain_ns;     /* base - predicted */
    double speedup;      /* base / predicted; NaN none */
    bool helps;          /* the step gets shorter by more than INQ_FIX_NOISE of it */
    struct inq_validation executed; /* both verdicts INQ_NOT_EXECUTED: it was not */
    size_t n_assumptions;           /* those that were to be measured before the execution */
    struct inq_assumption assumptions[INQ_MOST_ASSUMPTIONS];
    struct inq_run *drawn; /* the step with it, by inq_fix_timeline; NULL: not drawn */
};

/* Below this part of a step a gain is not told from nothing. */
#define INQ_FIX_NOISE 0.001

struct inq_fixes {
    struct inq_arena *arena;
    struct inq_fix_base_info base;
    /* What was executed: the original, against the step that the record (or the schedule) says. */
    const char *engine, *device, *note; /* "" nothing was executed */
    double scale;                       /* of time in execution */
    struct inq_sample executed;
    int64_t expected_ns; /* of the original, scaled */
    double base_error;   /* executed / expected - 1 */
    size_t n_kinds;      /* of the original: where it differs from the record */
    struct inq_kind_time kinds[INQ_MOST_KINDS];
    struct inq_run *drawn; /* the original step, by inq_fix_timeline; NULL: not drawn */
    size_t n;
    /* Those that help and repair a fault first, then greatest gain first; those without a
     * prediction last. */
    struct inq_fix *fixes;
    size_t n_left_out; /* past 256, or past 64 places for one rank: not looked at */
};

/* Zero-initialized options propose what the findings call for. */
struct inq_fix_options {
    const char *const *specs; /* asked for; NULL: those that the report's findings name */
    size_t n_specs;
    bool no_pairs; /* do not try the best fixes together */
    int jobs;
};

/* Predicts every fix; `report` may be NULL when specs are given. *out is the caller's
 * (inq_fixes_free). A spec that cannot be read fails with INQ_USAGE; one that does not apply is in
 * the list with its problem. */
INQ_API int inq_fix_study(const struct inq_fix_base *base, const struct inq_report *report,
                          const struct inq_fix_options *options, struct inq_fixes **out,
                          struct inq_err *err);

/* Zero-initialized options but for the engine are the defaults. */
struct inq_fix_validate_options {
    const struct inq_engine *engine;
    struct inq_replay_options replay; /* repeats 0: 9 */
    size_t top;                       /* how many of the first fixes; 0: 3 */
    double scale;                     /* of time; 0: so that a step takes about 0.2 s */
};

/* Executes the original and each of the first fixes that have a prediction alternately and fills
 * their `executed`. Where the engine cannot hold all ranks, the replicas (without a pipeline the
 * ranks) with most work stand for all, which fixes->note says. The executed original is compared
 * with the recorded step: see inq_validate. Fails as the engine does. */
INQ_API int inq_fix_validate(const struct inq_fix_base *base,
                             const struct inq_fix_validate_options *options,
                             struct inq_fixes *fixes, struct inq_err *err);

/* Lays the original step, and that of each of the first `most` fixes with a prediction and of all
 * that were executed, in time by the simulator: one job each, for the HTML report to draw. Fails
 * with INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_fix_timeline(const struct inq_fix_base *base, size_t most, struct inq_fixes *fixes,
                             struct inq_err *err);
INQ_API void inq_fixes_free(struct inq_fixes *fixes);

/* For inq_analysis_options.predict: what findings cost is what inq_fix_study predicts. */
INQ_API inq_predict_gains inq_fix_predict;

#ifdef __cplusplus
}
#endif

#endif
