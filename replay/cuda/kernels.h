/* SPDX-License-Identifier: Apache-2.0 */
/* What the host and the kernels agree on: the kernels' names, their arguments, and the pattern that
 * buffers are filled with. Plain C and C++; addresses are numbers, for both sides. */
#ifndef INQ_REPLAY_CUDA_KERNELS_H
#define INQ_REPLAY_CUDA_KERNELS_H

#include <stdint.h>

#ifdef __CUDACC__
#define INQ_GPU_FN __host__ __device__ static inline
#else
#define INQ_GPU_FN static inline
#endif

#define INQ_GPU_MAX_GROUP 128 /* members whose addresses fit in the arguments of a kernel */

/* X(name, symbol): the kernels, one argument struct each. */
#define INQ_GPU_KERNELS(X)                                                                         \
    X(GATE, inq_kernel_gate)                                                                       \
    X(OP, inq_kernel_op)                                                                           \
    X(TICK, inq_kernel_tick)                                                                       \
    X(PROBE, inq_kernel_probe)                                                                     \
    X(FILL, inq_kernel_fill)                                                                       \
    X(REDUCE, inq_kernel_reduce)                                                                   \
    X(GATHER, inq_kernel_gather)                                                                   \
    X(CHECK, inq_kernel_check)                                                                     \
    X(GEMM, inq_kernel_gemm)                                                                       \
    X(STREAM, inq_kernel_stream)

enum inq_gpu_kernel {
#define INQ_GPU_KERNEL_ENUM(name, symbol) INQ_KERNEL_##name,
    INQ_GPU_KERNELS(INQ_GPU_KERNEL_ENUM)
#undef INQ_GPU_KERNEL_ENUM
        INQ_KERNEL_COUNT
};

/* Where ops find their times. Times are of the device's nanosecond timer plus what stands at
 * `shift_at`, which makes the timers of several GPUs agree; 0: nothing. */
struct inq_gpu_board {
    uint64_t start_at, end_at; /* uint64_t [n_ops]; before an execution all ones and 0 */
    uint64_t delay_at, dur_at; /* int64_t [n_ops] */
    uint64_t abort_at;         /* uint32_t in host memory: not 0 ends every wait */
    uint64_t shift_at;         /* int64_t */
    int64_t limit_ns;          /* no wait lasts longer */
};

/* BEGIN waits for the op's delay and notes its start; HOLD waits until the latest start among ops
 * first .. first + n - 1 is the op's duration ago; END notes its end. */
enum { INQ_GPU_DOES_BEGIN = 1, INQ_GPU_DOES_HOLD = 2, INQ_GPU_DOES_END = 4 };

struct inq_gpu_op_args {
    struct inq_gpu_board board;
    uint32_t op, first, n, does;
};

/* Waits until the flag in host memory is `run` or above, at most `limit_ns`: the host may be
 * waiting for room in a queue that only the work behind the gate makes. */
struct inq_gpu_gate_args {
    struct inq_gpu_board board;
    uint64_t flag_at;
    int64_t limit_ns;
    uint32_t run, pad;
};

/* The smallest step of the timer that was seen in `span_ns`. */
struct inq_gpu_tick_args {
    uint64_t out_at; /* int64_t */
    int64_t span_ns;
};

/* Answers a host that counts `ask_at` up to n with the timer at which it saw each count; gives up
 * when a count takes longer than `limit_ns`. */
struct inq_gpu_probe_args {
    uint64_t ask_at, answer_at; /* uint32_t; uint64_t [n + 1]; both in host memory */
    uint64_t abort_at;
    int64_t limit_ns;
    uint32_t n, pad;
};

struct inq_gpu_fill_args {
    uint64_t to_at, elems; /* float */
    uint32_t rank, pad;
};

/* One member's share of a transfer, or the check of what it received. Element j of what a member
 * sends is element (j + turn) mod (mask + 1) of its pattern, so that a transfer cannot pass for
 * another that used the same buffers. */
struct inq_gpu_data_args {
    uint64_t to_at;
    uint64_t from_at[INQ_GPU_MAX_GROUP];
    uint32_t rank[INQ_GPU_MAX_GROUP]; /* whose pattern each member sends */
    uint64_t elems, mask, turn;       /* elems: a multiple of 4; mask + 1: the buffers' size */
    uint64_t from_turn;               /* GATHER: `turn` when the source is the pattern, else 0 */
    uint64_t bad_at;                  /* uint64_t [2]: elements checked, elements wrong */
    uint32_t n, self, passes, work;   /* work: enum inq_work; a broadcast is an all-gather of one
                                         member's pattern, a reduce an all-reduce for one */
};

/* Reads `elems` floats and writes as many, `passes` times: what is bound by memory. */
struct inq_gpu_stream_args {
    uint64_t to_at, from_at;
    uint64_t elems; /* a multiple of 4 */
    uint32_t passes, pad;
};

struct inq_gpu_gemm_args {
    uint64_t a_at, b_at, c_at; /* float [INQ_GPU_GEMM_N][INQ_GPU_GEMM_N]; c: [blocks][64][64] */
    uint32_t rounds, pad;
};

#define INQ_GPU_GEMM_N    1024
#define INQ_GPU_GEMM_TILE 64

/* Element `index` of the pattern of `rank`: a whole number below 251, so that sums over 128 members
 * are exact in single precision. */
INQ_GPU_FN float inq_gpu_value(uint32_t rank, uint64_t index)
{
    return (float)((index * 7 + (uint64_t)rank * 31 + 5) % 251);
}

/* First element of member k's slice; k == n: the end. */
INQ_GPU_FN uint64_t inq_gpu_slice(uint64_t elems, uint32_t n, uint32_t k)
{
    return elems / 4 * k / n * 4;
}

#endif
