/* SPDX-License-Identifier: Apache-2.0 */
/* Lint of pipeline schedules: what would hang, corrupt or overflow, before a GPU is booked. */
#ifndef INQUEST_LINT_H
#define INQUEST_LINT_H

#include "inquest/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a rank hands its sends and receives to the communication library. In one group they do not
 * block each other, except that sends to one peer run in order, and receives from one (NCCL). */
enum inq_grouping {
    INQ_GROUPING_ADJACENT, /* consecutive SEND and RECV cells are one group */
    INQ_GROUPING_NONE,     /* every call blocks until its peer has called */
    INQ_GROUPING_STEP      /* compute-only: one batch behind each cell, with the peers' same cell;
                            * with SEND and RECV cells: as ADJACENT */
};

/* X(name, "text", "what"): the rules. */
#define INQ_LINT_RULES(X)                                                                          \
    X(FORMAT, "R1", "the file parses and its dialect is certain")                                  \
    X(COUNT, "R2", "every op of every micro-batch is there once, ids are in range")                \
    X(ORDER, "R3", "a rank does not use what it does not have yet")                                \
    X(PAIRING, "R4", "every send has its receive on the right rank, and the reverse")              \
    X(CYCLE, "R5", "the order of the ranks and the flow of data do not wait in a circle")          \
    X(RENDEZVOUS, "R6", "sends and receives cannot block each other")                              \
    X(BUFFER, "R7", "buffer depth that the order needs to run")                                    \
    X(MEMORY, "R8", "peak activation memory stays under the limit")                                \
    X(WEIGHTS, "R9", "weights are kept once")                                                      \
    X(UNSHARD, "R10", "every unshard has its reshard, and stages are unsharded when used")         \
    X(BASELINE, "R11", "the bubble ratio is no worse than the baseline's")                         \
    X(NEIGHBOR, "R12", "neighboring stages on one rank or on two exchange without ambiguity")

enum inq_lint_rule {
#define INQ_LINT_ENUM(name, text, what) INQ_LINT_##name,
    INQ_LINT_RULES(INQ_LINT_ENUM)
#undef INQ_LINT_ENUM
        INQ_LINT_RULE_COUNT
};

struct inq_lint_problem {
    enum inq_lint_rule rule;
    bool error;       /* false: a note */
    bool granted;     /* a note of what was taken for granted: it asks for nothing */
    int32_t rank;     /* -1: none */
    int32_t position; /* cell in the rank's row, from 0; -1: none */
    int32_t line;     /* of the rank's row in the file, from 1; 0: none, or no file */
    int32_t column;   /* where the cell's text begins in that line, from 1; 0: none, or no file */
    char action[48];  /* "" none */
    char message[480];
};

enum { INQ_LINT_STORY = 200, INQ_LINT_STUCK = 8 };

struct inq_lint_options {
    enum inq_grouping grouping;
    double memory_limit; /* in the cost model's units; 0: none */
    struct inq_costs costs;
    bool has_baseline; /* R11: bubble ratio to compare with, and how much worse is allowed */
    double baseline_bubble, tolerance;
};

/* A swap of two cells of one rank after which the schedule runs. */
struct inq_lint_remedy {
    int32_t rank, first, second; /* cells from 0; rank -1: none was found */
    char actions[2][48];         /* what stands there now */
    char text[240];              /* all that as a sentence; "" none */
};

struct inq_lint {
    const char *file; /* the caller's, to be told; NULL: none */
    /* Of a schedule that hangs: what happens, in order, up to where nothing goes on [n_story]. */
    size_t n_story, cap_story;
    char (*story)[INQ_LINT_STORY];
    size_t
        n_stuck; /* the first of the ranks that wait for each other, and the cells they wait at */
    struct {
        int32_t rank, position;
    } stuck[INQ_LINT_STUCK];
    struct inq_lint_remedy remedy;
    size_t n, cap;
    struct inq_lint_problem *problems; /* in order of rule, rank, position */
    size_t n_errors;
    int32_t buffer_depth; /* smallest that runs: 0 rendezvous; -1: none does, or not examined */
    double peak_memory;   /* NaN: not examined (errors before); in the unit of its costs */
};

/* Examines a schedule. A schedule without SEND and RECV cells is examined as torch lowers it: each
 * send right behind its compute, the receive at once on the peer's list. Where `csv` (NULL: none)
 * has a fault, that is the problem, and nothing else is examined. On success *lint is the caller's
 * (inq_lint_release). Fails only with INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_lint_schedule(const struct inq_schedule *schedule, const struct inq_csv_info *csv,
                              const struct inq_lint_options *options, struct inq_lint *lint,
                              struct inq_err *err);
INQ_API void inq_lint_release(struct inq_lint *lint);

INQ_API const char *inq_lint_rule_text(enum inq_lint_rule rule);
INQ_API const char *inq_lint_rule_what(enum inq_lint_rule rule);

#ifdef __cplusplus
}
#endif

#endif
