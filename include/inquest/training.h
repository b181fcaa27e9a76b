/* SPDX-License-Identifier: Apache-2.0 */
/* What the training output of a run tells: how loss, gradient norm and speed went, and where they
 * went wrong. */
#ifndef INQUEST_TRAINING_H
#define INQUEST_TRAINING_H

#include "inquest/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, "text"): the text is its `kind` in JSON. */
#define INQ_TRAINING_EVENTS(X)                                                                     \
    X(NOT_FINITE, "not_finite")       /* loss or gradient norm is NaN or infinite */               \
    X(LOSS_SPIKE, "loss_spike")       /* far above the steps before, and back again */             \
    X(DIVERGENCE, "divergence")       /* far above the steps before, to the end */                 \
    X(GRADIENT, "gradient_explosion") /* the gradient norm is many times what it was */            \
    X(SLOWER, "throughput_drop")      /* steps take longer than before */

enum inq_training_event_kind {
#define INQ_TRAINING_ENUM(name, text) INQ_TRAINING_##name,
    INQ_TRAINING_EVENTS(INQ_TRAINING_ENUM)
#undef INQ_TRAINING_ENUM
        INQ_TRAINING_EVENT_COUNT
};

/* Steps are as printed; where a log prints none, rows counted from 1. */
struct inq_training_event {
    enum inq_training_event_kind kind;
    int64_t first_step, last_step;
    uint64_t line;             /* of the first */
    bool to_end;               /* it never went back */
    double measured, expected; /* loss, gradient norm, or seconds a step (or 1 / throughput) */
    const char *what;          /* one sentence */
};

/* Of one log; what is looked at, and the rules of the events: inquest-report(5), `training`. */
struct inq_training {
    const char *file; /* of all logs the one in which most is wrong, of equals the longest */
    size_t n_rows;
    bool numbered; /* steps are as printed */
    bool sampled;  /* of a long log: not every row was read */
    int64_t first_step, last_step;
    size_t n_restarts;                        /* the count of steps went back: resumed */
    double loss_first, loss_last, loss_least; /* finite ones; NaN: none */
    double step_s;                            /* median; NaN: not told */
    double throughput;                        /* median, as the log counts it; NaN: not told */
    size_t n_events;                          /* in order of rows */
    struct inq_training_event *events;
    size_t n_left_out; /* further ones: those that weigh least */
};

INQ_API const char *inq_training_event_text(enum inq_training_event_kind kind);

#ifdef __cplusplus
}
#endif

#endif
