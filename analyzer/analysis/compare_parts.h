/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a comparison; each fills its part of *c from the two profiles [2]. */
#ifndef INQ_ANALYSIS_COMPARE_PARTS_H
#define INQ_ANALYSIS_COMPARE_PARTS_H

#include "analysis/compare_profile.h"

/* What this much of the base's step should be in the new run. */
int64_t inq_ideal_ns(const struct inq_comparison *c, int64_t base_ns);
/* Mean per rank and step, rounded down. */
int64_t inq_per_cell(const struct inq_run_profile *p, int64_t ns);

int inq_compare_colls(struct inq_comparison *c, const struct inq_run_profile *p,
                      struct inq_err *err);
int inq_compare_kernels(struct inq_comparison *c, const struct inq_run_profile *p,
                        struct inq_err *err);
int inq_compare_findings(struct inq_comparison *c, const struct inq_run_profile *p,
                         struct inq_err *err);
int inq_compare_ranks(struct inq_comparison *c, const struct inq_run_profile *p,
                      struct inq_err *err);
/* Headline and reason; NULL when memory is out. */
void inq_compare_say(struct inq_comparison *c);

#endif
