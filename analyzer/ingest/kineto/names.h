/* SPDX-License-Identifier: Apache-2.0 */
/* Names as strings of the shard. */
#ifndef INQ_INGEST_KINETO_NAMES_H
#define INQ_INGEST_KINETO_NAMES_H

#include "ingest/kineto/kineto.h"

/* Whether the text means itself: printable ASCII without escapes, not too long. */
bool inq_kineto_is_plain(struct inq_kineto *k, struct inq_text text);
/* Interns a text as written; damage in it is counted at `offset`. */
int inq_kineto_name(struct inq_kineto *k, struct inq_text text, int64_t offset, inq_str *id);

#endif
