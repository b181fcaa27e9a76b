/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine: ranks are event loops on CPU threads. An op starts when its inputs have really
 * arrived as messages, takes its time on the real clock, and then sends messages to those that wait
 * for it. A thread looks after several ranks where there are more ranks than CPUs: a device that
 * only waits costs nothing, so any number fits. */
#ifndef INQ_REPLAY_ENGINE_HOST_H
#define INQ_REPLAY_ENGINE_HOST_H

#include "engine/host_work.h"

#include <pthread.h>
#include <stdatomic.h>

enum host_state {
    HOST_WAITING, /* for its inputs */
    HOST_DELAYED, /* has its inputs, starts after its delay */
    HOST_ARRIVED, /* in its group, waits for the others */
    HOST_RUNNING,
    HOST_ENDED
};

enum host_outcome { HOST_GOES_ON, HOST_DONE, HOST_STUCK, HOST_TIMED_OUT, HOST_INTERRUPTED };

struct host_timer {
    int64_t at_ns;
    uint32_t op;
};

/* One thread and its ranks. */
struct host_worker {
    struct host_run *run;
    pthread_t thread;
    uint32_t local; /* messages to itself, linked through run->next */
    size_t n_timers;
    struct host_timer *timers; /* heap, earliest first; [n_ops of its ranks] */
    size_t n_ops;
    bool refused;                /* real-time priority */
    int64_t latest_ns;           /* by how much a timer was late at worst: others used the CPU */
    _Atomic uint32_t inbox;      /* messages from others, linked through run->next */
    _Atomic int64_t next_ns;     /* its earliest timer, INT64_MAX none: for those that sleep */
    _Atomic int64_t sleep_until; /* INT64_MIN: awake */
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* A plan set up for execution, any number of times. All-zero is releasable. */
struct host_run {
    const struct inq_plan *plan;
    uint32_t *out_start, *out; /* who waits for an op: data and lane order */
    uint32_t *n_needs;         /* [n_ops] inputs of an op */
    uint32_t *group;           /* [n_ops] first op of its group */
    uint32_t *owner;           /* [n_ops] worker */
    size_t n_workers;
    struct host_worker *workers;
    int64_t margin_ns;  /* how much earlier than needed a sleeper gets up, to spin for the rest */
    int64_t timeout_ns; /* of one execution */
    bool realtime;      /* asked for real-time priority */
    const struct host_work *work; /* NULL: ops take the planned time */

    /* of the execution that goes on */
    uint8_t *state;          /* [n_ops] enum host_state; its owner's */
    uint32_t *next;          /* [n_ops] next message in the same box */
    _Atomic uint32_t *needs; /* [n_ops] inputs not yet arrived */
    _Atomic uint32_t *away;  /* [n_ops] by first of the group: members not yet arrived */
    _Atomic int64_t *go_ns;  /* [n_ops] by first of the group: latest start */
    int64_t *start_ns, *end_ns;
    _Atomic uint64_t n_ready; /* threads that are there */
    _Atomic int64_t begin_ns; /* set when all are; 0: not yet */
    _Atomic uint64_t active;  /* ops that can go on without a message from any other */
    _Atomic uint64_t n_ended;
    _Atomic int outcome; /* enum host_outcome */
    pthread_mutex_t gate_lock;
    pthread_cond_t gate; /* a thread has finished */
    size_t n_running;
};

/* A condition whose timed waits go by the monotonic clock. False when there is no memory. */
bool inq_host_cond_init(pthread_cond_t *cond);

#endif
