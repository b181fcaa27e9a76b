/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that this program wrote itself. */
#ifndef INQ_INGEST_KINETO_EXPORT_H
#define INQ_INGEST_KINETO_EXPORT_H

#include "ingest/kineto/rows.h"

/* The member "inquest" of a document that this program wrote: makes its ranks, lanes and groups.
 * Anything else under that name is passed over. */
int inq_kineto_export_head(struct inq_kineto *k, struct inq_text value);
/* Makes the event's rank the current one; false: the event is on a track that was added to the
 * recording. */
int inq_kineto_export_enter(struct inq_kineto *k, const struct inq_scan_event *event, bool *known);
/* The labeled op that the event is; *is_op is false when it is none. */
int inq_kineto_export_op(struct inq_kineto *k, const struct inq_scan_event *event,
                         const struct inq_part *part, bool *is_op);
/* The group that an event names by its id, INQ_NONE: none. */
uint32_t inq_kineto_export_group(const struct inq_kineto *k, const struct inq_scan_event *event);
/* After the last byte. */
void inq_kineto_export_finish(struct inq_kineto *k);

#endif
