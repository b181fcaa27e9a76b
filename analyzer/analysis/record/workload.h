/* SPDX-License-Identifier: Apache-2.0 */
/* The fingerprint of a run's work. */
#ifndef INQ_ANALYSIS_RECORD_WORKLOAD_H
#define INQ_ANALYSIS_RECORD_WORKLOAD_H

#include "analysis/measure/measure.h"
#include "analysis/record/record.h"

/* Fills record->work over the steps that count. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_record_workload(struct inq_run_record *record, const struct inq_roles *roles,
                        struct inq_err *err);

#endif
