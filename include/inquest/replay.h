/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: one plan, three engines. A plan is an op graph laid out on the lanes that execute it; an
 * engine returns when every op really started and ended: `sim` by the simulator, `host` on CPU
 * threads with real clocks and real waiting, `cuda` on GPUs. Validation executes an original and a
 * fixed plan alternately and says whether the predicted gain is there. */
#ifndef INQUEST_REPLAY_H
#define INQUEST_REPLAY_H

#include "inquest/graph.h"
#include "inquest/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the graph of a schedule ----------------------------------------------------------------- */

/* All-zero is releasable. */
struct inq_schedule_graph {
    struct inq_graph *graph;
    int32_t n_ranks;
    uint32_t **op; /* [n_ranks][n actions] op (index) of each cell; INQ_NONE: it takes no time */
};

/* The ops of a schedule under `costs`: lane 0 of a rank computes, transfers of p2p_ns in no lane
 * stand where producer and consumer are on different ranks, lane 1 all-reduces gradients (reduce_ns
 * > 0; groups over the replicas), lane 2 all-gathers parameters (unshard_ns > 0); `source` is the
 * cell. On success *out is the caller's. Fails with INQ_DEADLOCK when the order cannot run (names
 * the actions), INQ_FORMAT when an action's producer is in no list or an action appears twice,
 * INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_schedule_graph_make(const struct inq_schedule *schedule,
                                    const struct inq_costs *costs, struct inq_schedule_graph *out,
                                    struct inq_err *err);
INQ_API void inq_schedule_graph_release(struct inq_schedule_graph *graph);

/* ---- what a recorded run costs --------------------------------------------------------------- */

/* Times of the stages of a recorded pipeline. All-zero is releasable. */
struct inq_recorded_costs {
    size_t n_stages; /* over all model chunks, in the order of the model */
    size_t n_steps;
    struct inq_stage_cost *steps;  /* [n_steps][n_stages] means over micro-batches and replicas */
    struct inq_stage_cost *median; /* [n_stages] over the steps */
    struct inq_costs costs;        /* medians; per_stage is `median`; what was not recorded is 0 */
    bool split;                    /* W was recorded; else it is taken as half of the backward */
};

/* *out is the caller's. Fails with INQ_NOT_FOUND when no pipeline is recognized, INQ_NOMEM,
 * INQ_LIMIT. */
INQ_API int inq_recorded_costs_of(const struct inq_trace *trace, struct inq_recorded_costs *out,
                                  struct inq_err *err);
INQ_API void inq_recorded_costs_release(struct inq_recorded_costs *costs);

enum inq_step_choice {
    INQ_STEP_MEDIAN, /* the step of median length */
    INQ_STEP_NUMBER, /* value: its recorded number */
    INQ_STEP_AT      /* value: ns from the start of the first step that is known */
};

struct inq_recorded_step {
    enum inq_step_choice by;
    int64_t value;
};

/* One step of the first replica's pipeline as it ran. Release the schedule, the timing and the
 * costs, each by its own function. */
struct inq_recorded_schedule {
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    struct inq_recorded_costs costs;
    int64_t at_ns; /* with INQ_STEP_AT: that time, from the step's first op */
};

/* The order of the forwards and backwards of a step, with the times that they took. *found: whether
 * the trace has a pipeline whose steps agree on them; without it *out is unchanged. Release *out on
 * failure too. Fails with INQ_USAGE where no step is the one asked for, INQ_NOT_FOUND where no op
 * is labeled, INQ_NOMEM. */
INQ_API int inq_recorded_schedule_of(const struct inq_trace *trace,
                                     const struct inq_recorded_step *which,
                                     struct inq_recorded_schedule *out, bool *found,
                                     struct inq_err *err);

/* ---- the plan -------------------------------------------------------------------------------- */

/* X(name, "text"): what an op does where work is recorded. The members of a group all do the same,
 * but for SEND and RECV, which form pairs. */
#define INQ_WORKS(X)                                                                               \
    X(NOTHING, "nothing") /* takes its time; no data moves */                                      \
    X(COMPUTE, "compute")                                                                          \
    X(COPY, "copy") /* a transfer in no group: bytes from the rank of its producer to its own */   \
    X(COPY_HTOD, "copy_htod") /* from the host's memory to the rank's GPU */                       \
    X(COPY_DTOH, "copy_dtoh")                                                                      \
    X(SEND, "send")                                                                                \
    X(RECV, "recv")                                                                                \
    X(ALL_REDUCE, "all_reduce")                                                                    \
    X(REDUCE_SCATTER, "reduce_scatter")                                                            \
    X(ALL_GATHER, "all_gather")                                                                    \
    X(BROADCAST, "broadcast") /* of the first member */                                            \
    X(REDUCE, "reduce")       /* to the first member */                                            \
    X(ALL_TO_ALL, "all_to_all")

enum inq_work {
#define INQ_WORK_ENUM(name, text) INQ_WORK_##name,
    INQ_WORKS(INQ_WORK_ENUM)
#undef INQ_WORK_ENUM
        INQ_WORK_COUNT
};

INQ_API const char *inq_work_text(enum inq_work work);

/* What the factors of a matrix product are made of, and how they are multiplied. */
enum inq_product_type {
    INQ_PRODUCT_F32,
    INQ_PRODUCT_F16,
    INQ_PRODUCT_BF16,
    INQ_PRODUCT_TF32, /* f32 in memory */
    INQ_PRODUCT_F64,
    INQ_PRODUCT_F8, /* the second factor transposed in memory, the result bf16 */
    INQ_PRODUCT_TYPE_COUNT
};

/* `batch` products of m x k by k x n matrices. m 0: none. */
struct inq_product {
    int32_t m, n, k, batch;
    uint8_t type; /* enum inq_product_type */
};

/* A FIFO queue of ops that one thread or stream executes. */
struct inq_plan_lane {
    int32_t rank;   /* of the graph */
    int32_t number; /* what the record calls that rank */
    size_t n;
    uint32_t *ops; /* [n] op indices of the graph, in order */
};

/* The graph's ops, durations (scaled), and who executes them. Lanes are sorted by rank. Ops that
 * are in no lane order of the graph (transfers) get lanes of their own, as many as transfer at once
 * in the simulation, in the order in which they do: one that was posted early waits behind others,
 * which delays no transfer. */
struct inq_plan {
    const struct inq_graph *graph; /* borrowed */
    /* [n_ops] scaled, never negative (clock error counts as 0); delay_ns NULL: none */
    int64_t *dur_ns, *delay_ns;
    uint8_t *work;  /* [n_ops] enum inq_work */
    int64_t *bytes; /* [n_ops] payload; of compute that is bound by memory: read and written; -1 not
                       known */
    struct inq_product *product; /* [n_ops] of compute, as recorded; NULL: none is known */
    size_t n_lanes;
    struct inq_plan_lane *lanes;
    uint32_t *lane_of, *place_of; /* [n_ops] lane, and index in it */
    double scale;                 /* what durations were multiplied by */
    int64_t shortest_ns;          /* shortest positive scaled duration of compute; 0: none */
    int64_t simulated_ns;         /* makespan by the simulator, latest end - earliest start */
};

/* What the graph does not say. All may be NULL; zero-initialized options are the defaults. */
struct inq_plan_options {
    double scale;                      /* 0: 1 */
    const int64_t *dur_ns;             /* [n_ops] instead of the graph's */
    const int64_t *delay_ns;           /* [n_ops] instead of the graph's */
    const int64_t *bytes;              /* [n_ops] NULL: not known */
    const struct inq_product *product; /* [n_ops] NULL: not known */
    const int32_t
        *numbers; /* [ranks of the graph] what they are called; NULL: as the graph has it */
    const uint8_t
        *work; /* [n_ops] enum inq_work; INQ_WORK_COUNT (or NULL): by its type and class */
};

/* Lays a graph out. The graph must outlive the plan. Fails with INQ_NOMEM, INQ_USAGE (scale). */
INQ_API int inq_plan_make(const struct inq_graph *graph, const struct inq_plan_options *options,
                          struct inq_plan **plan, struct inq_err *err);
INQ_API void inq_plan_free(struct inq_plan *plan);

/* ---- engines --------------------------------------------------------------------------------- */

enum inq_work_mode {
    INQ_WORK_TIMED,    /* ops take the planned time */
    INQ_WORK_RECORDED, /* ops do what was recorded, and take what that takes here */
    INQ_WORK_OPEN      /* recorded where inq_replay_work finds that it can be, else timed */
};

/* Zero-initialized options are the defaults. */
struct inq_replay_options {
    int warmup, repeats; /* 0: 1 and 5; warmup -1: none */
    int64_t timeout_ns;  /* of one execution; 0: ten times the simulated time, at least 10 s (60 s
                            of recorded work) */
    enum inq_work_mode work; /* host, cuda */
    bool no_graph;           /* cuda: streams and events instead of a CUDA graph */
    bool free_transfers;     /* cuda, recorded work: transfers take what they take here; else not
                                less than was recorded, where ranks share a GPU */
    int device;              /* cuda: first device */
    uint64_t seed;           /* order of alternation in validation */
    int64_t latency_ns; /* host, recorded work: each transfer takes so much longer, as over a slower
                           network */
    bool realtime;      /* host: real-time priority, so that other work does not delay it */
    bool (*interrupted)(void *ctx); /* asked by the calling thread now and then; NULL: never */
    void *interrupted_ctx;
};

/* The name of what stands in for a GPU in tests: a driver that executes the kernels on the CPU.
 * What was executed on it kept its order; its times say nothing, and no gain is confirmed by it. */
#define INQ_STANDIN_DEVICE "CPU stand-in"

/* Where the time of an op came from. */
enum inq_op_timing {
    INQ_TIMING_GIVEN,      /* it took the planned (recorded) time, whatever its work took */
    INQ_TIMING_CALIBRATED, /* so much work of another kind as takes the planned time here */
    INQ_TIMING_MEASURED,   /* it did what was recorded, and took what that takes here */
    INQ_TIMING_COUNT
};

INQ_API const char *inq_op_timing_text(enum inq_op_timing timing);

/* What happened. All-zero is releasable. */
struct inq_execution {
    size_t n_ops, n_repeats;
    int64_t *start_ns,
        *end_ns;          /* [n_ops] of the repeat with the median makespan; earliest start 0 */
    int64_t *makespan_ns; /* [n_repeats] in order of execution */
    uint8_t *timing;      /* [n_ops] enum inq_op_timing; NULL: all were given */
    int64_t median_ns;
    int64_t resolution_ns; /* smallest step of the engine's clock; 0: exact */
    char device[128];      /* what executed it: "simulator", "host, 2 CPUs", "NVIDIA H100 ..." */
    char note[512];        /* what a reader must know: partitions, fallbacks; "" nothing */
    bool verified;         /* real reductions: every reduced value was right */
    size_t n_virtual;      /* virtual devices per real one; 0: not applicable */
    int64_t peak_bytes;    /* memory that the work took on the GPU that had most of it; 0: none */
};

INQ_API void inq_execution_release(struct inq_execution *execution);

/* Executes `plan` warmup + repeats times; *out is the caller's. Fails with INQ_DEADLOCK when it
 * stops (the message names the ops that wait for each other), INQ_LIMIT when there are more ranks
 * than the engine can hold or an execution goes on past its timeout, INQ_UNSUPPORTED when there is
 * no device (says what is missing), INQ_CANCELLED when interrupted, INQ_NOMEM, INQ_DEVICE for a
 * failing device call. */
typedef int (*inq_engine_run)(const struct inq_plan *plan, const struct inq_replay_options *options,
                              struct inq_execution *out, struct inq_err *err);

/* Sums over ops of one kind: what they were planned to take, and what they took. */
struct inq_kind_time {
    const char *kind; /* type of a labeled op, else its work; "launch gaps": what ops waited for
                         nothing that the plan knows */
    size_t n;
    int64_t planned_ns, executed_ns;
};

/* Op types, works, and the gaps. */
#define INQ_MOST_KINDS 40

/* What all executions of an original (plan 0) and a fixed plan (1) showed besides their lengths.
 * All-zero is empty. */
struct inq_witness {
    size_t n, n_broken; /* executions; those that did not keep their plan */
    char broken[160];   /* what the first of them did */
    size_t n_base;      /* executions of the original: what `kinds` adds up */
    size_t n_kinds;
    struct inq_kind_time kinds[INQ_MOST_KINDS];
};

/* Takes the times of one execution of `plan`; `base`: it is the original. `slack_ns` as in
 * inq_execution_check. */
INQ_API void inq_witness_take(struct inq_witness *witness, const struct inq_plan *plan, bool base,
                              const struct inq_execution *execution, int64_t slack_ns);

/* Executes plans[order[i]] for i = 0 .. n - 1, one after the other on one set-up of the device,
 * each once (no warm-up of its own); makespan_ns[n], *witness (empty) and *device (as in
 * inq_execution; note, device and resolution filled) are the caller's. Fails as `run` does. */
typedef int (*inq_engine_alternate)(const struct inq_plan *const plans[2], const uint8_t *order,
                                    size_t n, const struct inq_replay_options *options,
                                    int64_t *makespan_ns, struct inq_witness *witness,
                                    struct inq_execution *device, struct inq_err *err);

struct inq_engine {
    const char *name;
    const char *summary;
    bool built;    /* false: `run` fails with INQ_UNSUPPORTED */
    bool executes; /* false: it simulates, which confirms nothing */
    inq_engine_run run;
    inq_engine_alternate alternate; /* NULL: validation calls `run` for each execution */
    /* GPUs that it executes on, from options->device on; 0: there is none. NULL: not on GPUs */
    size_t (*gpus)(const struct inq_replay_options *options);
};

/* sim, host, cuda; *n gets their number. */
INQ_API const struct inq_engine *inq_engines(size_t *n);
/* NULL: unknown name. */
INQ_API const struct inq_engine *inq_engine_find(const char *name);

/* Whether an execution kept the plan: lane order, data edges, and no member of a group ending
 * before the last has started. `slack_ns`: what two clocks may disagree by. Fails with INQ_FORMAT
 * naming the first pair of ops that did not. */
INQ_API int inq_execution_check(const struct inq_plan *plan, const struct inq_execution *execution,
                                int64_t slack_ns, struct inq_err *err);

/* ---- one replay ------------------------------------------------------------------------------ */

/* With fewer values no interval of the median by order statistics reaches 95 %: 2 * 0.5^5 > 5 %. */
#define INQ_CI95_LEAST 6

/* One plan's executions. ci95: of the median, by order statistics; with fewer than INQ_CI95_LEAST
 * values the range of all values, which documents call range. */
struct inq_sample {
    size_t n;
    int64_t median_ns;
    int64_t ci95_ns[2];
};

/* Reorders `values`. */
INQ_API struct inq_sample inq_sample_make(int64_t *values_ns, size_t n);

/* Compute of a rank in the repeat with the median makespan: idle is the rest of the makespan. */
struct inq_replay_rank {
    int32_t rank;
    int64_t busy_ns, idle_ns;
    int64_t simulated_idle_ns;
};

/* All-zero is releasable. */
struct inq_replay {
    const struct inq_engine *engine;
    enum inq_work_mode work; /* timed or recorded */
    struct inq_execution execution;
    struct inq_sample sample; /* of the makespans */
    int64_t simulated_ns;
    double error; /* executed / simulated - 1 */
    size_t n_ranks;
    struct inq_replay_rank *ranks;
};

/* options->work; where that is open INQ_WORK_RECORDED if what was recorded can be done again as it
 * was: on GPUs, one a rank, with times that are not scaled. *why gets what is against it; "" where
 * nothing is, or nobody asks. */
INQ_API enum inq_work_mode inq_replay_work(const struct inq_engine *engine,
                                           const struct inq_plan *plan,
                                           const struct inq_replay_options *options,
                                           const char **why);

/* Executes a plan, checks that the execution kept it (INQ_FORMAT when not) and compares it with the
 * simulation. On success *out is the caller's. Fails as the engine does. */
INQ_API int inq_replay_run(const struct inq_engine *engine, const struct inq_plan *plan,
                           const struct inq_replay_options *options, struct inq_replay *out,
                           struct inq_err *err);
INQ_API void inq_replay_release(struct inq_replay *replay);

/* The graph `n` times in a row: every lane goes on with the next step when it is through with the
 * one before; ops get the step's number, from 0. *out is the caller's. Fails with INQ_NOMEM,
 * INQ_LIMIT. */
INQ_API int inq_graph_unroll(const struct inq_graph *graph, size_t n, struct inq_graph **out,
                             struct inq_err *err);

/* ---- blocking calls -------------------------------------------------------------------------- */

struct inq_rendezvous_options {
    bool ungrouped;                /* every SEND and RECV blocks; else neighbors are one group */
    const struct inq_costs *costs; /* NULL: compute takes no time */
    int64_t timeout_ns;            /* 0: 60 s */
};

/* Executes a schedule with explicit SEND and RECV cells as the communication library would: a
 * thread a rank runs its cells in order; a call returns when its peer has made the matching call,
 * the n-th of a pair of ranks the n-th; the calls of a group are made together and all have to
 * return; the messages are really handed over. It stops where lint says that it must. Fails with
 * INQ_DEADLOCK naming the circle (or the rank that waits for one that is through), INQ_FORMAT when
 * a message is not the one that was meant, an action lacks its input or the schedule has no calls,
 * INQ_LIMIT (1024 ranks; the timeout), INQ_NOMEM. */
INQ_API int inq_schedule_execute(const struct inq_schedule *schedule,
                                 const struct inq_rendezvous_options *options, struct inq_err *err);

/* The executed plan as a recorded run: one job whose ranks, lanes and ops are the plan's, to be
 * analyzed and written as any other. *run is the caller's (inq_run_free). Fails with INQ_NOMEM,
 * INQ_LIMIT. */
INQ_API int inq_execution_trace(const struct inq_plan *plan, const struct inq_execution *execution,
                                struct inq_run **run, struct inq_err *err);

/* Where what is written of each rank goes: `open` begins the file of a rank, by its recorded
 * number; `close` ends it with the code of the writing, and returns that or its own. */
struct inq_rank_files {
    int (*open)(void *ctx, int32_t rank, struct inq_sink *sink, struct inq_err *err);
    int (*close)(void *ctx, int code, struct inq_err *err);
    void *ctx;
};

/* The executed plan as Chakra graphs (MLCommons; et_def.proto), one file a rank, for simulators and
 * to be read again: nodes with durations and dependencies and without times. What one rank waits
 * for on another is sent and received. Durations are those of the execution, transfers without the
 * waiting for the last member. Fails with INQ_NOMEM, INQ_LIMIT, and as `files` does. */
INQ_API int inq_execution_chakra(const struct inq_plan *plan, const struct inq_execution *execution,
                                 const struct inq_rank_files *files, struct inq_err *err);

/* ---- validation ------------------------------------------------------------------------------ */

enum inq_judgment { INQ_NOT_EXECUTED, INQ_CONFIRMED, INQ_REFUTED, INQ_INCONCLUSIVE };

struct inq_ruling {
    enum inq_judgment judgment;
    char why[640]; /* the rule that decided, with its numbers */
};

/* Zero-initialized options are the defaults. */
struct inq_validate_options {
    struct inq_replay_options replay; /* repeats 0: 15 */
    int64_t expected_ns;      /* of the original: its recorded step, scaled as the plans are;
                                 0: its simulation */
    double predicted_speedup; /* with the costs that are to be judged; 0: the plans' */
    const char *unmeasured;   /* what the fix changes and nobody measured; NULL: nothing */
    const char *measured;     /* what was measured, in words; NULL: nothing */
};

struct inq_validation {
    struct inq_sample base, fixed; /* executed alternately */
    int64_t base_simulated_ns, fixed_simulated_ns;
    int64_t expected_ns;                        /* of the original */
    double predicted_speedup;                   /* with the costs that were assumed */
    double measured_speedup;                    /* simulated base / simulated fixed, as executed */
    double speedup, speedup_ci95[2];            /* median of base / fixed, pair by pair */
    double base_error;                          /* executed base / expected - 1 */
    struct inq_ruling order;                    /* whether both ran in the planned order */
    struct inq_ruling cost;                     /* whether the gain is the predicted one */
    size_t n_kinds;                             /* of the original, farthest from its plan first */
    struct inq_kind_time kinds[INQ_MOST_KINDS]; /* means over the executions and ranks */
    char device[128], note[512];
};

/* The executed original may be this far from what is expected of it; beyond, no cost is judged. */
#define INQ_BASE_ERROR_LIMIT 0.03

/* Executes both plans alternately, in pairs whose order is drawn by the options' seed, after
 * warm-up, and gives two verdicts. Both are inconclusive where nothing was executed (the simulator)
 * and on a stand-in for a GPU.
 *   order  confirmed when every execution kept its plan (inq_execution_check), else refuted.
 *   cost   by the 95 % interval of the speed-up and the predicted gain g (speed-up - 1; below 0 a
 *          loss), in this order:
 *          refuted       the fixed plan does not fit the device's memory
 *          inconclusive  the order is refuted; fewer than 6 pairs; the original is more than 3 %
 * off what is expected of it (why: which ops); something that the fix changes was not measured; |g|
 * < 0.1 % refuted       the interval misses the gain to within a fifth of it inconclusive  the
 * interval reaches below half of g or above one and a half of it confirmed     else Fails as the
 * engine does. */
INQ_API int inq_validate(const struct inq_engine *engine, const struct inq_plan *base,
                         const struct inq_plan *fixed, const struct inq_validate_options *options,
                         struct inq_validation *out, struct inq_err *err);

/* Of both verdicts: what the cost's is where that is confirmed or refuted; "refuted" when the
 * order is; else "order_confirmed" when it is, "inconclusive" or "not_executed". */
INQ_API const char *inq_validation_text(const struct inq_validation *validation);
INQ_API const char *inq_judgment_text(enum inq_judgment judgment);

#ifdef __cplusplus
}
#endif

#endif
