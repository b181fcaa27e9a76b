/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a comparison; each fills its part of *c from the two records [2]. */
#ifndef INQ_ANALYSIS_COMPARE_COMPARE_H
#define INQ_ANALYSIS_COMPARE_COMPARE_H

#include "analysis/record/record.h"

#include <math.h>

int inq_compare_colls(struct inq_comparison *c, const struct inq_run_record *p,
                      struct inq_err *err);
int inq_compare_kernels(struct inq_comparison *c, const struct inq_run_record *p,
                        struct inq_err *err);
int inq_compare_findings(struct inq_comparison *c, const struct inq_run_record *p,
                         struct inq_err *err);
int inq_compare_ranks(struct inq_comparison *c, const struct inq_run_record *p,
                      struct inq_err *err);
/* After the collectives and the kernels. */
int inq_compare_causes(struct inq_comparison *c, const struct inq_run_record *p,
                       struct inq_err *err);
/* Headline and reason; NULL when memory is out. */
void inq_compare_say(struct inq_comparison *c);

/* What this much of the base's step should be in the new run. */
static inline int64_t inq_ideal_ns(const struct inq_comparison *c, int64_t base_ns)
{
    return c->scaling == INQ_SCALING_SAME && !c->work_given
               ? base_ns
               : (int64_t)llround(c->work * (double)base_ns);
}

/* A time as text, in the comparison's arena; "" when memory is out. */
const char *inq_compare_ns(const struct inq_comparison *c, int64_t ns);

#endif
