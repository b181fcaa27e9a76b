/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of TensorFlow and JAX: XSpace files (*.xplane.pb). */
#ifndef INQ_INGEST_XLA_XLA_H
#define INQ_INGEST_XLA_XLA_H

#include "ingest/ingest.h"

/* With all files read: the XSpace files of one folder are the hosts of one run, whose devices are
 * numbered one host after the other; a trace.json that JAX wrote beside one is not read a second
 * time. Fails with INQ_NOMEM. */
int inq_xla_join_runs(struct inq_shard *shards, size_t n, struct inq_err *err);

/* Each row that names one of several groups alike gets the one that its rank is in. After the ranks
 * have their numbers, and again when they change. Fails with INQ_NOMEM. */
int inq_xla_settle_groups(struct inq_shard *shard, struct inq_err *err);

#endif
