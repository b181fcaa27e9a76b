/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, lanes and the rows on them. */
#ifndef INQ_INGEST_KINETO_ROWS_H
#define INQ_INGEST_KINETO_ROWS_H

#include "ingest/kineto/kineto.h"

/* Whether the event is of the thread of the one before, as most are, and its ids are numbers. */
static inline bool inq_kineto_is_last_thread(const struct inq_kineto *k,
                                             const struct inq_scan_event *event)
{
    if (k->last_thread == INQ_NONE || !INQ_HAS(event, PID) || !INQ_HAS(event, TID) ||
        event->text[INQ_FIELD_PID].p != NULL || event->text[INQ_FIELD_TID].p != NULL) {
        return false;
    }
    const struct inq_thread *last = &k->threads[k->last_thread];
    return event->number[INQ_FIELD_PID] == last->pid && event->number[INQ_FIELD_TID] == last->tid &&
           !last->pid_text && !last->tid_text;
}

int inq_kineto_find_thread(struct inq_kineto *k, const struct inq_scan_event *event,
                           uint32_t *index);
/* The thread that the event's pid and tid name. */
static inline int inq_kineto_thread(struct inq_kineto *k, const struct inq_scan_event *event,
                                    uint32_t *index)
{
    *index = k->last_thread;
    return inq_kineto_is_last_thread(k, event) ? INQ_OK : inq_kineto_find_thread(k, event, index);
}

/* Key of a stream in streams_by_key. */
static inline uint64_t inq_kineto_stream_key(int64_t device, int64_t stream)
{
    return inq_hash_u64((uint64_t)device) ^ (uint64_t)stream;
}

/* What every kept row has. */
struct inq_part {
    int64_t start_ns, dur_ns, correlation; /* -1: none */
    inq_str name;
    uint32_t lane, comm, launch;
    int64_t external_id; /* 0: none */
};

int inq_kineto_find_lane(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                         uint32_t *lane);
/* Lane of an event that is kept as `cat`: of most calls and kernels that of the last one. */
static inline int inq_kineto_lane(struct inq_kineto *k, const struct inq_scan_event *event,
                                  enum inq_cat cat, uint32_t *lane)
{
    *lane = INQ_NONE;
    if (cat == INQ_CAT_CALL && inq_kineto_is_last_thread(k, event)) {
        *lane = k->threads[k->last_thread].lane;
    } else if (cat == INQ_CAT_KERNEL && INQ_HAS(event, STREAM) && INQ_HAS(event, DEVICE) &&
               event->number[INQ_FIELD_STREAM] == k->last_stream &&
               event->number[INQ_FIELD_DEVICE] == k->last_device) {
        *lane = k->last_stream_lane;
    }
    return *lane != INQ_NONE && !k->exported ? INQ_OK : inq_kineto_find_lane(k, event, cat, lane);
}
/* A row of GPU work or a slice; a note. */
int inq_kineto_add_row(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part);
int inq_kineto_add_note(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part);

#endif
