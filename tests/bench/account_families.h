/* SPDX-License-Identifier: Apache-2.0 */
/* What bench_account generates: faults, shapes of jobs, ways to record them. */
#ifndef INQ_TESTS_BENCH_ACCOUNT_FAMILIES_H
#define INQ_TESTS_BENCH_ACCOUNT_FAMILIES_H

#include "inquest/synth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRENGTHS = 5, FAMILIES = 23, SHAPES = 10, VARIANTS = 8 };

/* Faults of one family, by strength; %d stands for a rank, the second for the last one of a set.
 * `kinds`: findings that name its cause, separated by blanks; "" the run is healthy. `needs`: of
 * the shape, 'p' a pipeline, 'h' more than one host, 'e' experts. */
struct family {
    const char *name, *kinds, *needs;
    bool rotates; /* no rank stands out */
    const char *faults[STRENGTHS];
};

struct shape {
    const char *spec;
    int ranks;
    const char *has; /* letters as in family.needs */
};

extern const struct family families[FAMILIES];
extern const struct shape shapes[SHAPES];
/* Ways to record and to run, taken in turn. */
extern const char *const variants[VARIANTS];

struct drawn_run {
    char spec[1200];
    struct family family;
    char kinds[64]; /* of two at once */
    size_t row;     /* the family's place in `families`; FAMILIES: two at once */
};

/* A run all of whose properties are drawn from `seed`: the shape of the job, how it was run and
 * recorded, its noise, one family of faults at one strength, or two families at once. */
void draw_run(uint64_t seed, struct drawn_run *run);

/* Whether a word is among words that spaces part. */
bool has_word(const char *words, const char *word);

/* evened_step() for families that are such faults: a longer stage, or a rank with extra compute
 * where it is a stage by itself. 0 for others. */
double even_step(const struct family *family, const struct inq_synth_spec *spec);

#endif
