/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as commands for streams, worked out before any device is touched: which GPU and partition
 * each rank gets, in which order kernels go into the streams, and which events make one stream wait
 * for another. No kernel waits for another kernel: all waiting is between streams, so that what
 * cannot be scheduled yet blocks nothing. */
#ifndef INQ_REPLAY_CUDA_LAYOUT_H
#define INQ_REPLAY_CUDA_LAYOUT_H

#include "base/mem.h"
#include "cuda/driver_calls.h"
#include "inquest/replay.h"

/* Kernels that a GPU holds at once: more ranks than that would wait for each other. A rank has more
 * lanes than it ever uses at once. */
#define INQ_GPU_MAX_RANKS   ((size_t)128)
#define INQ_GPU_MAX_LANES   ((size_t)4096)
#define INQ_GPU_MAX_GPUS    ((size_t)64)
#define INQ_GPU_MAX_OPS     ((size_t)1 << 20)
#define INQ_GPU_MAX_BUFFER  ((uint64_t)1 << 28) /* bytes that a transfer's buffer holds at most */
#define INQ_GPU_MIN_BUFFER  ((uint64_t)1 << 16)
#define INQ_GPU_SOME_BYTES  ((int64_t)1 << 20) /* moved where the size is not known */
#define INQ_GPU_NO_EVENT    UINT32_MAX
#define INQ_GPU_QUEUE_LIMIT ((size_t)256) /* commands that a closed gate may have behind it */

enum inq_gpu_cmd_kind {
    INQ_GPU_WAIT,    /* lane waits for event `at` */
    INQ_GPU_RECORD,  /* lane records event `at` */
    INQ_GPU_ALONE,   /* the whole of op `at`: delay, start, duration, end */
    INQ_GPU_BEGIN,   /* its delay and start */
    INQ_GPU_WORK,    /* its data: products, copy, or reducing its slice */
    INQ_GPU_COLLECT, /* its data: gathering the other members' slices */
    INQ_GPU_CHECK,   /* what it received is compared */
    INQ_GPU_END,     /* the rest of its duration and its end */
    INQ_GPU_TOGETHER /* the data of all members of the group that begins with op `at`, by a library:
                        in place of the `lane` commands that follow */
};

struct inq_gpu_cmd {
    uint8_t kind;      /* enum inq_gpu_cmd_kind */
    uint32_t lane, at; /* at: op or event */
};

/* All-zero is releasable. */
struct inq_gpu_layout {
    size_t n_ranks;             /* of the graph */
    size_t n_gpus;              /* used */
    struct inq_gpu_spot *spots; /* [n_ranks]; part INQ_NONE: the rank has no ops */
    size_t *parts;              /* [n_gpus] */
    size_t n_cmds;
    struct inq_gpu_cmd *cmds;
    size_t n_events;
    struct inq_gpu_spot *event_spots; /* [n_events] */
    size_t n_kernels;                 /* commands that are not WAIT, RECORD or TOGETHER */
};

/* Lays out for at most `n_gpus` GPUs. Fails with INQ_LIMIT (too many ranks, lanes, ops, or members
 * of a group), INQ_DEADLOCK when no order exists, INQ_NOMEM. */
int inq_gpu_layout_make(const struct inq_plan *plan, size_t n_gpus, enum inq_work_mode work,
                        struct inq_gpu_layout *layout, struct inq_err *err);
static inline void inq_gpu_layout_release(struct inq_gpu_layout *layout)
{
    inq_mem_free(layout->spots);
    inq_mem_free(layout->parts);
    inq_mem_free(layout->cmds);
    inq_mem_free(layout->event_spots);
    *layout = (struct inq_gpu_layout){0};
}

/* Of one rank alone. */
static inline bool inq_gpu_copies(uint8_t work)
{
    return work == INQ_WORK_COPY || work == INQ_WORK_COPY_HTOD || work == INQ_WORK_COPY_DTOH;
}

/* Steps of the work on one op's data. */
static inline bool inq_gpu_reduces(uint8_t work)
{
    return work == INQ_WORK_ALL_REDUCE || work == INQ_WORK_REDUCE_SCATTER ||
           work == INQ_WORK_REDUCE;
}
/* From what the members send, not from what they reduced. */
static inline bool inq_gpu_exchanges(uint8_t work)
{
    return work == INQ_WORK_ALL_GATHER || work == INQ_WORK_BROADCAST || work == INQ_WORK_ALL_TO_ALL;
}
static inline bool inq_gpu_gathers(uint8_t work)
{
    return work == INQ_WORK_ALL_REDUCE || work == INQ_WORK_REDUCE || inq_gpu_exchanges(work);
}
static inline bool inq_gpu_receives(uint8_t work)
{
    return inq_gpu_reduces(work) || inq_gpu_gathers(work) || work == INQ_WORK_RECV ||
           inq_gpu_copies(work);
}

/* How an op's payload goes through buffers: elements of a pass (a multiple of 4) and passes. */
struct inq_gpu_payload {
    uint64_t elems;
    uint32_t passes;
    bool guessed; /* the size was not known */
};
struct inq_gpu_payload inq_gpu_payload_of(const struct inq_plan *plan, uint32_t op,
                                          uint64_t buffer_bytes);
/* Bytes of every transfer's buffer: a power of two that holds the largest payload, within limits.
 * 0: no op moves data. */
uint64_t inq_gpu_buffer_bytes(const struct inq_plan *plan);

/* A duration as products of given times: count[i] of size i, largest first. */
#define INQ_GPU_SIZES 8
struct inq_gpu_menu {
    size_t n;
    unsigned size[INQ_GPU_SIZES]; /* ascending */
    int64_t ns[INQ_GPU_SIZES];    /* of one product; ascending */
};
void inq_gpu_menu_split(const struct inq_gpu_menu *menu, int64_t dur_ns,
                        uint32_t count[INQ_GPU_SIZES]);

/* What launching costs, from one execution: what ops started and ended late, on average. What waits
 * for another stream starts later than what follows on its own (2.7 and 1.4 us on an H100). */
enum inq_gpu_launch_kind {
    INQ_GPU_FOLLOWS, /* an op, or a group's member, on its own stream alone */
    INQ_GPU_MEMBER_FOLLOWS,
    INQ_GPU_WAITS, /* for other streams too */
    INQ_GPU_MEMBER_WAITS,
    INQ_GPU_LAUNCH_KIND_COUNT
};
struct inq_gpu_gaps {
    int64_t launch_ns[INQ_GPU_LAUNCH_KIND_COUNT], hold_ns;
    size_t n[INQ_GPU_LAUNCH_KIND_COUNT]; /* ops looked at; 0: nothing is known */
};
int inq_gpu_gaps_find(const struct inq_plan *plan, const uint64_t *start, const uint64_t *end,
                      struct inq_gpu_gaps *gaps, struct inq_err *err);
/* Both are charged the same, so that two plans differ in the schedule alone. */
static inline void inq_gpu_gaps_share(struct inq_gpu_gaps *a, struct inq_gpu_gaps *b)
{
    for (int k = 0; k < INQ_GPU_LAUNCH_KIND_COUNT; k++) {
        size_t known = (size_t)(a->n[k] > 0) + (size_t)(b->n[k] > 0);
        int64_t sum = a->launch_ns[k] + b->launch_ns[k];
        a->launch_ns[k] = b->launch_ns[k] = known > 0 ? sum / (int64_t)known : 0;
    }
    a->hold_ns = b->hold_ns = (a->hold_ns + b->hold_ns) / 2;
}
/* Of an op, on average. */
static inline int64_t inq_gpu_gaps_mean_ns(const struct inq_gpu_gaps *gaps)
{
    int64_t sum = 0;
    int64_t n = 0;
    for (int k = 0; k < INQ_GPU_LAUNCH_KIND_COUNT; k++) {
        sum += gaps->launch_ns[k] * (int64_t)gaps->n[k];
        n += (int64_t)gaps->n[k];
    }
    return gaps->hold_ns + (n > 0 ? sum / n : 0);
}
/* Delays and durations with the gaps taken off, never below 0; arrays [n_ops]. */
void inq_gpu_gaps_take(const struct inq_plan *plan, const struct inq_gpu_gaps *gaps,
                       int64_t *delay_ns, int64_t *dur_ns);

#endif
