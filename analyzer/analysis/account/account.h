/* SPDX-License-Identifier: Apache-2.0 */
/* The account's door: how it is built. What it holds: inquest/account.h. */
#ifndef INQ_ANALYSIS_ACCOUNT_H
#define INQ_ANALYSIS_ACCOUNT_H

#include "analysis/account/sweep.h"
#include "analysis/account/time_breakdown.h"
#include "inquest/account.h"

struct inq_arena;
struct inq_op_model;

/* Level one of a trace: judged steps, classes, waits, parts. `model` is that of an op table, NULL
 * where there is none. Everything lives in the arena. Does not depend on `jobs`. *account gets the
 * account; its t_ns is -1 when nothing can be judged. Fails with INQ_NOMEM. */
int inq_account_measure(const struct inq_trace *trace, const struct inq_op_model *model, int jobs,
                        struct inq_arena *arena, struct inq_account **account, struct inq_err *err);

/* A stretch of a rank's time that is in one class. */
struct inq_ledger_span {
    int64_t start_ns, end_ns;
    uint32_t step;                   /* index into account.steps */
    uint32_t waited_for, collective; /* WAIT, DEPENDENCY: as in inq_account_wait; else INQ_NONE */
    uint32_t event;                  /* index into the rank's events: what ran (of several the one
                                      * that ends last); idle: what ended the gap; INQ_NONE: none */
    enum inq_account_class cls;
};

/* One rank's judged cells cut into spans, in order of time: they do not overlap, leave no gap
 * inside a cell, and are as long as the cell's classes. *spans (n) is the caller's (inq_mem_free).
 * Fails with INQ_NOMEM. */
int inq_ledger_spans(const struct inq_account *account, uint32_t rank,
                     struct inq_ledger_span **spans, size_t *n, struct inq_err *err);

/* Why a step is longer than the median one by `more_ns`: "60.2 ms more copies on rank 0, in
 * save_checkpoint"; "" where no one class of time explains half of it. In the arena. Fails with
 * INQ_NOMEM. */
int inq_account_explain_step(const struct inq_account *account, size_t step, int64_t more_ns,
                             struct inq_arena *arena, const char **text, struct inq_err *err);

/* Holds the finished report against its account: no gain above T - ideal, no cost above T, a
 * cause costs what its fix gains, waiting by root sums to the waiting measured, the verdict's loss
 * is the first finding's, nothing about time established with ranks absent, no "healthy" with
 * unexplained waiting. What contradicts is taken back and said in account->violations. Fails with
 * INQ_NOMEM, INQ_LIMIT (the classes do not sum: no account). */
int inq_account_check(struct inq_report *report, struct inq_err *err);

#endif
