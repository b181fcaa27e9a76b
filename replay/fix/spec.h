/* SPDX-License-Identifier: Apache-2.0 */
/* Specs of fixes, read; and what every fix is: a change of a job that says what it did. */
#ifndef INQ_REPLAY_FIX_SPEC_H
#define INQ_REPLAY_FIX_SPEC_H

#include "analysis/straggler/straggler.h"
#include "fix/step.h"

enum { FIX_MAX_KEYS = 6, FIX_WHAT_SIZE = 320, FIX_MEMORY_SIZE = 256, FIX_MAX_SPEC = 4096 };

/* "NAME:ARGUMENT:KEY=VALUE": stretches of the spec's text. */
struct fix_text {
    const char *at; /* NULL: not given */
    size_t len;
};

struct fix_args {
    const char *name; /* of the kind */
    struct fix_text argument;
    size_t n_keys;
    struct fix_text keys[FIX_MAX_KEYS], values[FIX_MAX_KEYS];
};

/* What an application has to say. */
struct fix_notes {
    char what[FIX_WHAT_SIZE];
    char memory[FIX_MEMORY_SIZE]; /* with numbers, in place of the catalog's; "" that one */
};

/* Changes the job. Fails with INQ_USAGE (arguments), INQ_UNSUPPORTED (does not apply here: the
 * message says why), INQ_NOMEM, INQ_LIMIT; the job is then of no use any more. */
typedef int fix_apply(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                      struct inq_err *err);

struct fix_row {
    struct inq_fix_kind kind;
    const char *keys; /* " share layers " */
    fix_apply *apply;
    enum inq_repair_kind repair; /* of a cause, which it repairs without keys where `repairs` */
    bool argument;               /* takes one */
    bool repairs;
    bool resizes;           /* ops get more or less work */
    const char *unmeasured; /* what it changes and no single device shows; NULL: nothing */
};

const struct fix_row *inq_fix_rows(size_t *n);

/* The next fix of a spec "A+B"; *at moves past it. Fails with INQ_USAGE. */
int inq_fix_read(const char **at, const struct fix_row **row, struct fix_args *args,
                 struct inq_err *err);
/* All of a spec, applied. NULL and "" change nothing. `said` adds up. */
int inq_fix_apply(struct fix_step *job, const char *spec, struct fix_notes *said,
                  struct inq_err *err);

/* ---- arguments ------------------------------------------------------------------------------- */

/* The number of a key, `fallback` when it is not given. INQ_USAGE outside of [low, high]. */
int inq_fix_number(const struct fix_args *args, const char *key, double low, double high,
                   double *value, struct inq_err *err);
/* The same for whole numbers; with NULL for the key, of the argument. */
int inq_fix_integer(const struct fix_args *args, const char *key, int64_t low, int64_t high,
                    int64_t *value, struct inq_err *err);
/* The argument as a list of recorded rank numbers: chosen[n_ranks] becomes 1 for them; *n how many.
 * INQ_UNSUPPORTED for a rank that is not there. */
int inq_fix_ranks(const struct fix_step *job, const struct fix_args *args, uint8_t *chosen,
                  size_t *n, struct inq_err *err);
/* Whether a text is this word. */
bool inq_fix_is(struct fix_text text, const char *word);

void inq_fix_note(struct fix_notes *said, const char *fmt, ...) INQ_PRINTF(2, 3);
/* "12.5 ms" */
struct fix_time {
    char text[32];
};
struct fix_time inq_fix_time(int64_t ns);
int inq_fix_no_memory(struct inq_err *err);

/* The value to use of what a fix takes for granted: what was measured, else `need->assumed`. */
double inq_fix_assume(struct fix_step *job, const struct fix_need *need);

/* ---- the fixes ------------------------------------------------------------------------------- */

/* Of one type, each in a row of fix.c; a line per file. */
fix_apply inq_fix_replace_rank, inq_fix_repair_host, inq_fix_speed_rank, inq_fix_swap_ranks;
fix_apply inq_fix_rebalance, inq_fix_balance_sequences;
fix_apply inq_fix_schedule, inq_fix_microbatches;
fix_apply inq_fix_overlap_grads, inq_fix_bucket_size;
fix_apply inq_fix_link, inq_fix_repair_link, inq_fix_hierarchical;
fix_apply inq_fix_plan_gc, inq_fix_cuda_graphs;

#endif
