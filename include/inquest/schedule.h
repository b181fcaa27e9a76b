/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: what each rank does in which order. Made by generators, read from and written
 * to torch.distributed.pipelining CSV, timed against a cost model, linted. */
#ifndef INQUEST_SCHEDULE_H
#define INQUEST_SCHEDULE_H

#include "inquest/error.h"
#include "inquest/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, "text in CSV"): F forward, I input gradient, W weight gradient, B full backward. SPLIT
 * (of a batch over ranks) and UPDATE (of the weights) are not in PyTorch's format and not written.
 */
#define INQ_ACTIONS(X)                                                                             \
    X(IDLE, "")                                                                                    \
    X(F, "F")                                                                                      \
    X(I, "I")                                                                                      \
    X(W, "W")                                                                                      \
    X(B, "B")                                                                                      \
    X(SEND_F, "SEND_F")                                                                            \
    X(RECV_F, "RECV_F")                                                                            \
    X(SEND_B, "SEND_B")                                                                            \
    X(RECV_B, "RECV_B")                                                                            \
    X(UNSHARD, "UNSHARD")                                                                          \
    X(RESHARD, "RESHARD")                                                                          \
    X(REDUCE_GRAD, "REDUCE_GRAD")                                                                  \
    X(OVERLAP_F_B, "OVERLAP_F_B")                                                                  \
    X(SPLIT, "SPLIT")                                                                              \
    X(UPDATE, "UPDATE")

enum inq_action_kind {
#define INQ_ACTION_ENUM(name, text) INQ_ACTION_##name,
    INQ_ACTIONS(INQ_ACTION_ENUM)
#undef INQ_ACTION_ENUM
        INQ_ACTION_KIND_COUNT
};

/* One cell. An OVERLAP_F_B is followed by its `n_sub` sub-actions in the same rank's list. */
struct inq_action {
    uint8_t kind; /* enum inq_action_kind */
    uint8_t n_sub;
    int32_t stage;      /* -1: none (OVERLAP_F_B, IDLE) */
    int32_t microbatch; /* -1: none */
    int32_t column;     /* cell of the CSV row it came from; -1 generated */
    int32_t begins;     /* where that cell's text begins in its line, from 1; 0 generated */
};

struct inq_rank_actions {
    size_t n, cap;
    struct inq_action *actions;
    int32_t line; /* of the CSV it came from, from 1; 0 generated */
};

/* Stages are numbered over all model chunks. With several pipelines (two in bidirectional
 * schedules, one a rank in data parallelism) the first n_stages/n_pipelines stages are the first
 * model replica, and so on; each micro-batch goes through one of them. */
struct inq_schedule {
    char kind[24]; /* "1f1b", ...; "csv" when read and none of them; "" unknown */
    int32_t n_ranks, n_stages, n_microbatches;
    int32_t n_pipelines; /* model replicas that micro-batches are spread over */
    int32_t n_segments;  /* of a sequence: so many micro-batches in a row are one that was cut */
    int32_t *stage_rank; /* [n_stages] rank that holds the stage */
    struct inq_rank_actions *ranks; /* [n_ranks] */
    bool has_comms;                 /* SEND/RECV are explicit */
};

INQ_API void inq_schedule_release(struct inq_schedule *schedule);

/* To build a schedule action by action: an empty one of these sizes, all stages on rank 0; the
 * caller's. Fails with INQ_LIMIT, INQ_NOMEM. */
INQ_API int inq_schedule_start(int32_t n_ranks, int32_t n_stages, int32_t n_microbatches,
                               struct inq_schedule *schedule, struct inq_err *err);
/* Appends an action to a rank's list. Fails with INQ_LIMIT, INQ_NOMEM. */
INQ_API int inq_schedule_append(struct inq_schedule *schedule, int32_t rank,
                                enum inq_action_kind kind, int32_t stage, int32_t microbatch,
                                struct inq_err *err);

INQ_API const char *inq_action_text(enum inq_action_kind kind);
/* "2F0", "1UNSHARD" into buf (at least 48 bytes); composites as their first cell only. */
INQ_API char *inq_action_format(const struct inq_action *action, char *buf, size_t size);
/* Whether it is a F, I, W or B of a micro-batch. */
INQ_API bool inq_action_computes(const struct inq_action *action);
/* Adds the SEND and RECV cells that a compute-only schedule implies, by torch's rule. *out is the
 * caller's. Fails with INQ_DEADLOCK when the order cannot run, INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_schedule_lower(const struct inq_schedule *schedule, struct inq_schedule *out,
                               struct inq_err *err);

/* ---- costs ----------------------------------------------------------------------------------- */

/* Times of one micro-batch on one stage, in ns. */
struct inq_stage_cost {
    int64_t f_ns, b_ns, w_ns; /* b: input gradient; full backward = b + w */
};

/* In what the memory held is told. */
enum inq_memory_unit {
    INQ_MEMORY_ACTIVATIONS, /* of one micro-batch on one rank */
    INQ_MEMORY_TOLD,        /* numbers that the user knows */
    INQ_MEMORY_BYTES
};

/* "5 activations", "34 units", "5.50 GiB" into buf (at least 48 bytes); returns buf. */
INQ_API char *inq_memory_format(enum inq_memory_unit unit, double value, char *buf, size_t size);

/* How the memory held changes after an op of a stage. */
struct inq_stage_memory {
    double f, b, w;
};

struct inq_costs {
    struct inq_stage_cost stage;            /* of every stage ... */
    const struct inq_stage_cost *per_stage; /* ... unless given: [n_stages] */
    size_t n_per_stage; /* comparing and searching: entries of per_stage; 0: one a rank */
    int64_t p2p_ns;     /* added where producer and consumer are on different ranks */
    int64_t overlap_ns; /* an OVERLAP_F_B cell; 0: sum of its parts */
    /* held memory after the op: F adds f, I or B adds b, W adds w (b, w usually negative); in units
     * of the caller. All zero: F 1, B -1, W 0 and I 0, W -1 where backward is split. */
    double memory_f, memory_b, memory_w;
    enum inq_memory_unit memory_unit;
    /* Where stages differ [as per_stage]; NULL: all as above. */
    const struct inq_stage_memory *memory_per_stage;
    /* Added instead of p2p_ns between a stage and the next [as per_stage]; NULL: all alike. */
    const int64_t *p2p_per_stage;
    int64_t reduce_ns; /* a REDUCE_GRAD cell: one all-reduce beside the compute; 0: takes no time */
    int64_t update_ns; /* an UPDATE cell */
    int64_t unshard_ns; /* an UNSHARD cell: one all-gather beside the compute; 0: takes no time */
};

/* The same model cut into `n_new` stages instead of `n`: layers are taken as evenly spread over
 * each stage, what the first and the last take beyond the median one stays at the ends of the
 * model. `to` is the caller's [n_new]. Fails with INQ_NOMEM. */
INQ_API int inq_stage_costs_recut(const struct inq_stage_cost *from, size_t n, size_t n_new,
                                  struct inq_stage_cost *to, struct inq_err *err);

/* ---- generators ------------------------------------------------------------------------------ */

struct inq_schedule_spec {
    const char *kind; /* a name of inq_schedule_kinds */
    int32_t n_ranks, n_microbatches;
    int32_t n_chunks;       /* interleaved, dp: chunks per rank; seq1f1b: segments of a sequence; 0:
                             * the kind's own */
    struct inq_costs costs; /* searched schedules (zb-1p, ...) place ops by these times */
    double memory_limit;    /* searched schedules, in units of costs.memory_f; 0: the kind's own */
    bool no_overlap;        /* dp: all-reduce after the last backward only */
};

struct inq_schedule_kind {
    const char *name;
    const char *summary;
    int32_t chunks; /* stages of a replica per rank; 0: as told, by default 2 */
    /* what inq_schedule_make runs; fails as that does */
    int (*make)(const struct inq_schedule_spec *spec, struct inq_schedule *out,
                struct inq_err *err);
};

/* The kinds that can be made; *n gets their number. */
INQ_API const struct inq_schedule_kind *inq_schedule_kinds(size_t *n);
/* Makes a schedule; *out is the caller's (release). Fails with INQ_USAGE when the kind is unknown
 * or does not exist for these numbers (says which do), INQ_NOMEM. */
INQ_API int inq_schedule_make(const struct inq_schedule_spec *spec, struct inq_schedule *out,
                              struct inq_err *err);

/* ---- torch.distributed.pipelining CSV -------------------------------------------------------- */

/* How B is meant: since 2025 I is the input gradient and B the full backward; in 2024 files B is
 * the input gradient and BW the full backward. */
enum inq_csv_dialect { INQ_CSV_DETECT, INQ_CSV_2024, INQ_CSV_CURRENT };

/* Where and why text is no schedule. */
struct inq_csv_fault {
    int32_t line, column; /* of the text, from 1; 0: the whole of it */
    int32_t rank, cell;   /* from 0; -1: none */
    char text[48];        /* of the cell, cut */
    char message[160];    /* "": there is none */
};

struct inq_csv_info {
    enum inq_csv_dialect dialect; /* the one found (or told) */
    bool dialect_certain;         /* false: the file would read either way */
    size_t cells, empty_cells;
    size_t blank_lines; /* no ranks; PyTorch's loader takes them for ranks without an action */
    int32_t first_blank_line;
    struct inq_csv_fault fault; /* of what failed with INQ_FORMAT */
};

/* Parses a schedule: one row a rank, one cell a time step; blank lines are none. On success *out is
 * the caller's. Fails with INQ_FORMAT naming row, column and cell, INQ_LIMIT, INQ_NOMEM. */
INQ_API int inq_schedule_read_csv(const char *text, size_t len, enum inq_csv_dialect dialect,
                                  struct inq_schedule *out, struct inq_csv_info *info,
                                  struct inq_err *err);

/* Writes the current dialect, as PyTorch's own parser loads it. Fails with what the sink returns,
 * INQ_NOMEM. */
INQ_API int inq_schedule_write_csv(const struct inq_schedule *schedule, struct inq_sink sink,
                                   struct inq_err *err);

/* The same in the letters of a dialect (INQ_CSV_DETECT: the current one); INQ_UNSUPPORTED for cells
 * that are younger than it. */
INQ_API int inq_schedule_write_dialect(const struct inq_schedule *schedule,
                                       enum inq_csv_dialect dialect, struct inq_sink sink,
                                       struct inq_err *err);

/* ---- timing ---------------------------------------------------------------------------------- */

struct inq_schedule_rank_time {
    int64_t first_ns, last_ns; /* first start, last end of compute */
    int64_t busy_ns;
    int64_t idle_ns;      /* makespan - busy */
    int64_t span_idle_ns; /* last - first - busy */
    double peak_memory;   /* largest held memory by the cost model's units */
};

/* When everything happens. Composite cells take one time; their parts share it. All-reduces of
 * gradients begin when all replicas have issued them, in the order in which each rank issues its
 * own; compute waits for the all-gather of its stage. Cells without a duration (IDLE, SEND, RECV,
 * RESHARD, ...) start and end where the cell before them ended. */
struct inq_schedule_timing {
    int64_t makespan_ns; /* latest end, from 0 */
    int64_t span_ns; /* max over ranks of last end - first start: the Zero Bubble papers' cost */
    double bubble_ratio;                  /* idle share: sum of idle / (ranks * makespan) */
    double bubble_rate_zb;                /* (span - busiest rank's busy) / span */
    double peak_memory;                   /* of the worst rank */
    enum inq_memory_unit memory_unit;     /* of all of them */
    struct inq_schedule_rank_time *ranks; /* [n_ranks] */
    int64_t **start_ns, **end_ns;         /* [n_ranks][n actions of the rank] */
};

/* Simulates the compute actions under `costs`: an action starts when its rank is free and what it
 * needs has arrived (producer's end, plus p2p_ns between ranks). Recorded SEND and RECV cells take
 * no time here. On success *timing is the caller's (inq_schedule_timing_release). Fails with
 * INQ_DEADLOCK when the order cannot run (names the actions), INQ_FORMAT when an action's producer
 * is in no list, INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_schedule_time(const struct inq_schedule *schedule, const struct inq_costs *costs,
                              struct inq_schedule_timing *timing, struct inq_err *err);
/* Fills all but start_ns and end_ns from them: for times that were recorded. */
INQ_API void inq_schedule_timing_sum(const struct inq_schedule *schedule,
                                     const struct inq_costs *costs,
                                     struct inq_schedule_timing *timing);
INQ_API void inq_schedule_timing_release(struct inq_schedule_timing *timing, int32_t n_ranks);

/* ---- theory ---------------------------------------------------------------------------------- */

/* The closed form of a made schedule, where there is one. Transfers are taken to cost nothing and
 * stages to be equal; `condition` says what else it rests on ("" nothing). */
struct inq_schedule_theory {
    bool has_bubble, has_peak;
    bool at_most;       /* the peak is a bound */
    int64_t bubble_ns;  /* of the worst rank's span */
    double bubble_rate; /* bubble / (bubble + compute), to be set beside bubble_rate_zb */
    double peak;        /* activations, one unit a forward of one stage */
    const char *bubble, *peak_formula; /* "(p-1)(F+B+W)"; static */
    const char *condition;
};

/* By schedule->kind; all false for kinds without one, and where `costs` differ by stage. */
INQ_API struct inq_schedule_theory inq_schedule_theory_of(const struct inq_schedule *schedule,
                                                          const struct inq_costs *costs);

/* ---- comparing and searching -------------------------------------------------------------------
 *
 * Here costs are of one micro-batch on one rank, p ranks for the whole model, whatever the number
 * of chunks: a stage takes its share of them (an all-reduce, an all-gather and an OVERLAP_F_B cell
 * too). costs.per_stage tells the parts of the model in their order, n_per_stage of them. Memory is
 * in activations of one micro-batch on one rank. */

struct inq_schedule_row {
    char name[64];     /* kind or file */
    char problem[240]; /* why there are no figures; "" there are */
    int64_t makespan_ns, worst_idle_ns;
    double bubble_ratio, bubble_rate_zb, peak_memory;
    enum inq_memory_unit memory_unit;
    int32_t n_ranks, n_stages, n_microbatches;
    int32_t microbatch_size; /* 1 unless sizes are compared */
    int32_t weights;         /* replicas of the model whose weights a rank keeps */
    bool interpolated;       /* its times lie between sizes whose times are known */
    bool fits;               /* the peak is within the limit */
};

/* Times a schedule that is there. Fails with INQ_NOMEM; what it cannot time is row->problem. */
INQ_API int inq_schedule_measure(const struct inq_schedule *schedule, const struct inq_costs *costs,
                                 double memory_limit, struct inq_schedule_row *row,
                                 struct inq_err *err);
/* Makes spec->kind and times it; kinds that search place ops under spec->memory_limit. */
INQ_API int inq_schedule_measure_kind(const struct inq_schedule_spec *spec,
                                      struct inq_schedule_row *row, struct inq_err *err);

/* No number of samples that is taken has more divisors (720720 has 240). */
enum { INQ_SCHEDULE_MAX_ROWS = 256 };

/* All kinds for spec's ranks and micro-batches under spec->memory_limit (0: none), those that fit
 * and are shortest first; spec->kind is not looked at. `rows` is the caller's
 * [INQ_SCHEDULE_MAX_ROWS]. Fails with INQ_NOMEM, INQ_USAGE on sizes that no kind takes. */
INQ_API int inq_schedule_search_kinds(const struct inq_schedule_spec *spec,
                                      struct inq_schedule_row *rows, size_t *n,
                                      struct inq_err *err);

/* Times of a micro-batch of `size` samples. */
struct inq_microbatch_size {
    int32_t size;
    struct inq_stage_cost cost;
};

/* The same batch in micro-batches of every size from the smallest to the largest given that divides
 * it (spec->n_microbatches samples): the best kind of each, by size. Times between two given sizes
 * are interpolated linearly. Memory is in activations of one sample. `sizes` ascend. */
INQ_API int inq_schedule_search_sizes(const struct inq_schedule_spec *spec,
                                      const struct inq_microbatch_size *sizes, size_t n_sizes,
                                      struct inq_schedule_row *rows, size_t *n,
                                      struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
