/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of training output as series, and what is found in them. Rules: inquest-report(5). */
#ifndef INQ_ANALYSIS_TRAINING_SERIES_H
#define INQ_ANALYSIS_TRAINING_SERIES_H

#include "base/arena.h"
#include "inquest/log.h"
#include "inquest/training.h"

enum {
    INQ_TRAINING_WINDOW = 50, /* rows that tell what is usual: short against a schedule's trend */
    INQ_TRAINING_LEAST = 10,  /* of which a median stands against noise */
    INQ_TRAINING_WARM_UP = 5, /* first rows: compilation, caches, a learning rate near 0 */
    INQ_TRAINING_TO_END = 5   /* rows at the end that would show that it came back */
};

/* Rows [first, end) of one attempt; `past` of them lead to it and were printed before. */
struct inq_training_span {
    size_t n, past;
    const size_t *row; /* [n] into the series */
};

/* Each step of each attempt once. Columns of n rows; NaN where not told. */
struct inq_training_series {
    struct inq_arena *arena, *scratch; /* of the report; of this analysis */
    struct inq_training *training;
    size_t n;
    int64_t *step;  /* as printed, or counted */
    int64_t *place; /* what tells how far the run is: steps, or with epochs */
    uint64_t *line;
    double *loss, *norm, *time, *rate; /* time of a step: seconds, or 1 / rate */
    double *space;                     /* [2 n] to sort in */
    bool rewarded;                     /* the loss has no course to leave */
    size_t cap_events;                 /* of the training's */
    size_t n_spans;
    struct inq_training_span *spans;
};

/* The rows of `log`. False: out of memory. */
bool inq_training_take(struct inq_training_series *s, const struct inq_log *log);

/* An event over rows [first, last] with its sentence "WHAT from step A to B"; it may move when the
 * next is added. NULL: out of memory. */
struct inq_training_event *inq_training_add(struct inq_training_series *s,
                                            enum inq_training_event_kind kind, size_t first,
                                            size_t last, const char *what);

/* Looks for gradient norms, then for times that rise to another level. */
void inq_training_find_levels(struct inq_training_series *s);

/* Median of at most INQ_TRAINING_WINDOW values, which stay in their order. */
double inq_training_median(const double *values, size_t n);

#endif
