/* SPDX-License-Identifier: Apache-2.0 */
/* The communication of a record: to which kind of collective and role of group each instant of it
 * belongs. */
#ifndef INQ_ANALYSIS_RECORD_COLLS_H
#define INQ_ANALYSIS_RECORD_COLLS_H

#include "analysis/account/account.h"
#include "analysis/record/record.h"

struct inq_coll_book {
    const struct inq_trace *trace;
    struct inq_run_record *record;
    bool pipeline;
    int64_t *arrival_ns; /* [n_collectives] last arrival; INQ_TIME_NONE: not known */
    bool *across;        /* [n_collectives] its members are of different stages */
    int64_t *bytes;      /* [n_collectives] nccl-tests size; -1 */
    uint32_t *of;        /* scratch [most events of a rank] collective of each; INQ_NONE */
    size_t *first;       /* [n_ranks + 1] into members */
    uint32_t *members;   /* indices into trace->members, rank by rank */
    uint32_t *class_of;  /* [(n_groups + 1) * INQ_COLL_KIND_COUNT]; INQ_NONE: not met yet */
};

int inq_coll_book_init(struct inq_run_record *record, bool pipeline, struct inq_coll_book *book,
                       struct inq_err *err);
void inq_coll_book_release(struct inq_coll_book *book);
/* Counts the collectives of one rank; `spans` are those of inq_ledger_spans. */
int inq_coll_book_rank(struct inq_coll_book *book, size_t rank, const struct inq_ledger_span *spans,
                       size_t n, struct inq_err *err);
/* The part of a step that a span of communication is; adds it to its class. After
 * inq_coll_book_rank of the same rank. */
int inq_coll_book_span(struct inq_coll_book *book, size_t rank, const struct inq_ledger_span *span,
                       enum inq_step_part *part, struct inq_err *err);

#endif
