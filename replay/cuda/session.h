/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs made ready, and a plan made ready on them. */
#ifndef INQ_REPLAY_CUDA_SESSION_H
#define INQ_REPLAY_CUDA_SESSION_H

#include "cuda/layout.h"

/* ---- the GPUs -------------------------------------------------------------------------------- */

/* A GPU's timer against the host's clock: what it was ahead at a moment of the host's, and how far
 * off that may be. */
struct inq_gpu_offset {
    int64_t ns, at_ns, doubt_ns;
};

/* All-zero is releasable. */
struct inq_gpu_session {
    const struct inq_gpu_calls *calls;
    bool opened;
    bool lost; /* a device did not stop: what it still uses is not given back */
    size_t n_gpus;
    size_t parts[INQ_GPU_MAX_GPUS];
    struct inq_gpu_info info[INQ_GPU_MAX_GPUS];
    int64_t shift_ns[INQ_GPU_MAX_GPUS]; /* makes a GPU's timer agree with the first one's */
    struct inq_gpu_offset offset[INQ_GPU_MAX_GPUS]; /* as measured last; several GPUs only */
    int64_t drift_ns; /* most that a timer moved against the first one's in one execution */
    int64_t resolution_ns;
    uint64_t used_bytes[INQ_GPU_MAX_GPUS]; /* of their memory */
    volatile uint32_t *flags;              /* host memory: enum inq_gpu_flag */
    inq_gpu_addr flags_at;
    void *origin;     /* stream of the first GPU that begins and ends each execution */
    void *fork;       /* event: recorded when the gate has opened */
    int64_t limit_ns; /* no wait on a device lasts longer */
};

enum inq_gpu_flag { INQ_GPU_FLAG_GATE, INQ_GPU_FLAG_ABORT, INQ_GPU_FLAG_ASK, INQ_GPU_FLAG_COUNT };

/* Opens GPU g with parts[g] partitions, tries every kernel on each (so that none is loaded while
 * others run), measures the timers. `limit_ns`: of one execution. */
int inq_gpu_session_open(struct inq_gpu_session *session, const struct inq_gpu_calls *calls,
                         size_t n_gpus, const size_t *parts, int64_t limit_ns, struct inq_err *err);
void inq_gpu_session_close(struct inq_gpu_session *session);
/* Measures offset and shift_ns anew: timers of several GPUs drift. With one GPU there is nothing to
 * do. */
int inq_gpu_session_align(struct inq_gpu_session *session, struct inq_err *err);
/* Waits for a stream; past `timeout_ns` aborts what runs and fails with INQ_DEVICE. */
int inq_gpu_session_wait(struct inq_gpu_session *session, void *stream, int64_t timeout_ns,
                         struct inq_err *err);
/* Memory of a GPU, which counts as used. */
int inq_gpu_session_alloc(struct inq_gpu_session *session, uint32_t gpu, size_t bytes,
                          inq_gpu_addr *at, struct inq_err *err);
/* Where an address in the flags is for devices. */
static inline inq_gpu_addr inq_gpu_flag_at(const struct inq_gpu_session *session,
                                           enum inq_gpu_flag flag)
{
    return session->flags_at + (inq_gpu_addr)flag * sizeof(uint32_t);
}

/* ---- a plan on them -------------------------------------------------------------------------- */

/* GPUs that transfer together by a library. */
struct inq_gpu_clique {
    uint32_t n, gpus[INQ_GPU_MAX_GPUS];
    void *handle;
};
#define INQ_GPU_MOST_CLIQUES ((size_t)64) /* each takes memory for channels between its GPUs */

/* Buffers and calibration of real work. */
struct inq_gpu_pinned {
    void *host; /* NULL: none */
    inq_gpu_addr at;
};

struct inq_gpu_work {
    uint64_t buffer_bytes;
    inq_gpu_addr *send; /* [n_ranks] the rank's pattern */
    inq_gpu_addr *recv; /* [n_lanes] what the lane's transfers receive; 0: it has none */
    struct inq_gpu_pinned *host_send; /* [n_ranks] the same pattern in the host's memory, and */
    struct inq_gpu_pinned *host_recv; /* [n_lanes] room there, for copies from and to it */
    inq_gpu_addr a[INQ_GPU_MAX_GPUS], b[INQ_GPU_MAX_GPUS]; /* factors of own products */
    inq_gpu_addr *c;                                       /* [n_ranks] results */
    uint64_t stream_bytes;                                 /* of what is below */
    inq_gpu_addr *stream;                                  /* [n_lanes] written by traffic */
    inq_gpu_addr streamed[INQ_GPU_MAX_GPUS];               /* read by it */
    inq_gpu_addr
        bad[INQ_GPU_MAX_GPUS]; /* uint64_t [2] on each: atomics end at a GPU's own memory */
    bool library;              /* products by a library */
    bool refused[INQ_PRODUCT_TYPE_COUNT]; /* types that it does not multiply on this GPU */
    size_t n_sizes;                       /* of products that are tried */
    struct inq_gpu_menu menu[INQ_GPU_MAX_GPUS];
    bool guessed; /* some payload's size was not known */
    /* transfers by a library */
    size_t n_cliques; /* 0: by own kernels */
    struct inq_gpu_clique cliques[INQ_GPU_MOST_CLIQUES];
    uint32_t *clique_of;                  /* [n_ops] by a group's first op; INQ_NONE: none */
    char transfers[INQ_GPU_LIBRARY_NAME]; /* the library's name */
    char no_transfers[96];                /* why not by a library; "": nobody asked */
};

/* All-zero is releasable. */
struct inq_gpu_program {
    struct inq_gpu_session *session;
    const struct inq_plan *plan;
    const struct inq_gpu_layout *layout;
    bool real, verify;
    bool own_gpus;       /* each rank has a GPU to itself, and times are as recorded:
                            what was recorded can be done again */
    bool free_transfers; /* as the options' */
    bool early;          /* the gate had to open before all was queued */
    char no_graph[96];   /* why streams are used where a graph was asked for */
    void **stream;       /* [n_lanes] */
    void **last;         /* [n_lanes] events at the lanes' ends */
    void **event;        /* [n_events] */
    inq_gpu_addr start, end, delay, dur; /* [n_ops + 1]: one more for calibration */
    inq_gpu_addr shift;                  /* int64_t [INQ_GPU_MAX_GPUS] as the session's */
    int64_t *host;                       /* [n_ops + 1] for transfers */
    void *graph;                         /* NULL: streams and events */
    struct inq_gpu_gaps gaps;
    struct inq_gpu_work work;
};

/* Where the kernels on a GPU find their times. */
static inline struct inq_gpu_board inq_gpu_board_of(const struct inq_gpu_program *program,
                                                    uint32_t gpu)
{
    return (struct inq_gpu_board){.start_at = program->start,
                                  .end_at = program->end,
                                  .delay_at = program->delay,
                                  .dur_at = program->dur,
                                  .abort_at = inq_gpu_flag_at(program->session, INQ_GPU_FLAG_ABORT),
                                  .shift_at = gpu > 0 ? program->shift + gpu * sizeof(int64_t) : 0,
                                  .limit_ns = program->session->limit_ns};
}

/* One of an op's kernels. */
int inq_gpu_program_put_op(struct inq_gpu_program *program, uint32_t lane, uint32_t op,
                           uint32_t does, struct inq_err *err);

int inq_gpu_work_make(struct inq_gpu_program *program, struct inq_err *err);
void inq_gpu_work_release(struct inq_gpu_program *program);
/* Where op's time comes from; one that is given is kept to. */
enum inq_op_timing inq_gpu_work_timing(const struct inq_gpu_program *program, uint32_t op);
/* Whether a library moves the data of the group that begins with op `first`. */
static inline bool inq_gpu_work_together(const struct inq_gpu_program *program, uint32_t first)
{
    return program->work.n_cliques > 0 && program->work.clique_of[first] != INQ_NONE;
}
/* The data commands of real work. */
int inq_gpu_work_put(struct inq_gpu_program *program, const struct inq_gpu_cmd *cmd,
                     struct inq_err *err);
/* What the verified executions so far found; fails with INQ_DEVICE on a wrong value. *n: values
 * compared. */
int inq_gpu_work_verify(const struct inq_gpu_program *program, uint64_t *n, struct inq_err *err);

/* ---- all of it ------------------------------------------------------------------------------- */

/* As inq_engine_run and inq_engine_alternate, on these calls. */
int inq_gpu_run(const struct inq_gpu_calls *calls, const struct inq_plan *plan,
                const struct inq_replay_options *options, struct inq_execution *out,
                struct inq_err *err);

struct inq_gpu_turns {
    const struct inq_plan *const *plans; /* [2] */
    const uint8_t *order;                /* [n] */
    size_t n;
    int64_t *makespan_ns; /* [n] */
    struct inq_witness *witness;
};
int inq_gpu_alternate(const struct inq_gpu_calls *calls, const struct inq_gpu_turns *turns,
                      const struct inq_replay_options *options, struct inq_execution *device,
                      struct inq_err *err);

#endif
