/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels. None waits for another kernel: they wait for time to pass, and the gate and the
 * probe for the host; every wait ends when the host's abort flag is set, and by itself after the
 * limit. */
#include "cuda/kernels.h"
#include "inquest/replay.h"

namespace
{

typedef unsigned long long u64;

/* Waits longer than this sleep and look at the abort flag, which costs a trip to the host. */
constexpr int64_t long_wait_ns = 20000;

__device__ __forceinline__ u64 timer()
{
#ifdef __CUDACC__
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
#else
    return inq_standin_timer(); /* tests compile the kernels for the CPU */
#endif
}

template <typename T> __device__ __forceinline__ T *at(uint64_t address)
{
    return reinterpret_cast<T *>(address);
}

__device__ __forceinline__ bool aborted(uint64_t abort_at)
{
    return *at<volatile uint32_t>(abort_at) != 0;
}

/* Until the timer says `until`; the last stretch is spent looking at the timer alone. */
__device__ void wait_until(u64 until, uint64_t abort_at)
{
    unsigned turns = 0;
    for (;;) {
        const u64 now = timer();
        if (now >= until) {
            return;
        }
        if (until - now > static_cast<u64>(long_wait_ns)) {
            if (turns++ % 16 == 0 && aborted(abort_at)) {
                return;
            }
            __nanosleep(1000);
        }
    }
}

__device__ __forceinline__ int64_t clamped(int64_t ns, int64_t limit_ns)
{
    return ns < 0 ? 0 : ns < limit_ns ? ns : limit_ns;
}

/* A plain store: the board may be on another GPU, where not every link does atomics. */
__device__ __forceinline__ void note(u64 *at, u64 now)
{
    *reinterpret_cast<volatile u64 *>(at) = now;
}

/* When the last of the ops that hold each other up has started. */
__device__ u64 latest_start(const inq_gpu_op_args &a)
{
    const volatile u64 *start = at<const volatile u64>(a.board.start_at);
    u64 latest = 0;
    for (uint32_t i = a.first; i < a.first + a.n; i++) {
        const u64 value = start[i];
        latest = value > latest ? value : latest;
    }
    return latest;
}

} // namespace

/* One thread in all. An op does not take its partition's SMs: threads that all look at the timer
 * share one way to it, and on an H100 with 132 of them each looked 30 to 100 us late. */
extern "C" __global__ void inq_kernel_op(const inq_gpu_op_args a)
{
    const u64 shift =
        a.board.shift_at != 0 ? static_cast<u64>(*at<const int64_t>(a.board.shift_at)) : 0;
    if ((a.does & INQ_GPU_DOES_BEGIN) != 0) {
        const int64_t delay = at<const int64_t>(a.board.delay_at)[a.op];
        if (delay > 0) {
            wait_until(timer() + static_cast<u64>(clamped(delay, a.board.limit_ns)),
                       a.board.abort_at);
        }
        note(at<u64>(a.board.start_at) + a.op, timer() + shift);
    }
    if ((a.does & INQ_GPU_DOES_HOLD) != 0) {
        const int64_t dur = at<const int64_t>(a.board.dur_at)[a.op];
        const u64 most = timer() + static_cast<u64>(a.board.limit_ns);
        const u64 until =
            latest_start(a) - shift + static_cast<u64>(clamped(dur, a.board.limit_ns));
        wait_until(until < most ? until : most, a.board.abort_at);
    }
    if ((a.does & INQ_GPU_DOES_END) != 0) {
        note(at<u64>(a.board.end_at) + a.op, timer() + shift);
    }
}

extern "C" __global__ void inq_kernel_gate(const inq_gpu_gate_args a)
{
    const u64 give_up = timer() + static_cast<u64>(a.limit_ns);
    while (*at<volatile uint32_t>(a.flag_at) < a.run && !aborted(a.board.abort_at) &&
           timer() < give_up) {
        __nanosleep(200);
    }
}

extern "C" __global__ void inq_kernel_tick(const inq_gpu_tick_args a)
{
    const u64 begin = timer();
    u64 last = begin;
    u64 smallest = ~0ULL;
    while (last - begin < static_cast<u64>(a.span_ns)) {
        const u64 now = timer();
        if (now != last && now - last < smallest) {
            smallest = now - last;
        }
        last = now;
    }
    *at<int64_t>(a.out_at) = static_cast<int64_t>(smallest);
}

extern "C" __global__ void inq_kernel_probe(const inq_gpu_probe_args a)
{
    volatile u64 *answer = at<volatile u64>(a.answer_at);
    for (uint32_t i = 1; i <= a.n; i++) {
        const u64 give_up = timer() + static_cast<u64>(a.limit_ns);
        while (*at<volatile uint32_t>(a.ask_at) < i) {
            if (timer() > give_up || aborted(a.abort_at)) {
                return;
            }
        }
        answer[i] = timer();
        __threadfence_system();
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

extern "C" __global__ void inq_kernel_fill(const inq_gpu_fill_args a)
{
    float *to = at<float>(a.to_at);
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t j = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; j < a.elems;
         j += step) {
        to[j] = inq_gpu_value(a.rank, j);
    }
}

/* Sums this member's slice over what all members send. */
extern "C" __global__ void inq_kernel_reduce(const __grid_constant__ inq_gpu_data_args a)
{
    const uint64_t begin = inq_gpu_slice(a.elems, a.n, a.self) / 4;
    const uint64_t end = inq_gpu_slice(a.elems, a.n, a.self + 1) / 4;
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const uint64_t first = begin + static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 *to = at<float4>(a.to_at);
    for (uint32_t pass = 0; pass < a.passes; pass++) {
        for (uint64_t j = first; j < end; j += step) {
            const uint64_t from = ((j * 4 + a.turn) & a.mask) / 4;
            float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 4
            for (uint32_t k = 0; k < a.n; k++) {
                const float4 v = __ldcs(at<const float4>(a.from_at[k]) + from);
                sum.x += v.x;
                sum.y += v.y;
                sum.z += v.z;
                sum.w += v.w;
            }
            __stcs(to + j, sum);
        }
    }
}

/* Where in member k's pattern its k-th slice of what `self` receives stands, from the place in
 * that: in an all-to-all each member sends slice `self` of its own. */
__device__ __forceinline__ uint64_t source_shift(const inq_gpu_data_args &a, uint32_t k)
{
    return a.work == INQ_WORK_ALL_TO_ALL
               ? inq_gpu_slice(a.elems, a.n, a.self) - inq_gpu_slice(a.elems, a.n, k)
               : 0;
}

/* Fetches the slices that other members have; where the source is what they send also its own. */
extern "C" __global__ void inq_kernel_gather(const __grid_constant__ inq_gpu_data_args a)
{
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 *to = at<float4>(a.to_at);
    for (uint32_t pass = 0; pass < a.passes; pass++) {
        for (uint32_t i = 0; i < a.n; i++) {
            const uint32_t k = (a.self + i) % a.n; /* each begins elsewhere */
            if (k == a.self && a.work == INQ_WORK_ALL_REDUCE) {
                continue;
            }
            const uint64_t shift = a.from_turn + source_shift(a, k);
            const uint64_t end = inq_gpu_slice(a.elems, a.n, k + 1) / 4;
            for (uint64_t j = inq_gpu_slice(a.elems, a.n, k) / 4 + thread; j < end; j += step) {
                __stcs(to + j,
                       __ldcs(at<const float4>(a.from_at[k]) + ((j * 4 + shift) & a.mask) / 4));
            }
        }
    }
}

/* Compares what a member holds after a transfer with what it must hold. */
extern "C" __global__ void inq_kernel_check(const __grid_constant__ inq_gpu_data_args a)
{
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const bool slice = a.work == INQ_WORK_REDUCE_SCATTER;
    const uint64_t begin = slice ? inq_gpu_slice(a.elems, a.n, a.self) : 0;
    const uint64_t end = slice ? inq_gpu_slice(a.elems, a.n, a.self + 1) : a.elems;
    const float *got = at<const float>(a.to_at);
    u64 seen = 0;
    u64 wrong = 0;
    for (uint64_t j = begin + static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; j < end;
         j += step) {
        const bool sums = a.work == INQ_WORK_ALL_REDUCE || a.work == INQ_WORK_REDUCE_SCATTER;
        float want = 0.0F;
        for (uint32_t k = 0; k < a.n; k++) {
            const uint64_t from = (j + a.turn + source_shift(a, k)) & a.mask;
            const bool mine =
                sums || a.n == 1 ||
                (j >= inq_gpu_slice(a.elems, a.n, k) && j < inq_gpu_slice(a.elems, a.n, k + 1));
            want += mine ? inq_gpu_value(a.rank[k], from) : 0.0F;
        }
        seen++;
        wrong += got[j] == want ? 0 : 1; /* a NaN is wrong too */
    }
    if (seen > 0) {
        atomicAdd(at<u64>(a.bad_at), seen);
    }
    if (wrong > 0) {
        atomicAdd(at<u64>(a.bad_at) + 1, wrong);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Element by element, as PyTorch's kernels do it: every value is used. */
extern "C" __global__ void inq_kernel_stream(const inq_gpu_stream_args a)
{
    const uint64_t n = a.elems / 4;
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const float4 *from = at<const float4>(a.from_at);
    float4 *to = at<float4>(a.to_at);
    for (uint32_t pass = 0; pass < a.passes; pass++) {
#pragma unroll 4
        for (uint64_t j = first; j < n; j += step) {
            const float4 v = from[j];
            to[j] = make_float4(v.x + 1.0F, v.y + 1.0F, v.z + 1.0F, v.w + 1.0F);
        }
    }
}

/* ---- products, where there is no library for them -------------------------------------------- */

/* Each block multiplies tiles of a and b, 16 deep a round, and adds them up: 256 threads, 4 x 4
 * results each. */
extern "C" __global__ void __launch_bounds__(256) inq_kernel_gemm(const inq_gpu_gemm_args a)
{
    constexpr int tile = INQ_GPU_GEMM_TILE;
    constexpr int depth = 16;
    constexpr int n = INQ_GPU_GEMM_N;
    __shared__ float left[depth][tile + 4];
    __shared__ float right[depth][tile + 4];
    const float *from_a = at<const float>(a.a_at);
    const float *from_b = at<const float>(a.b_at);
    const int x = static_cast<int>(threadIdx.x) % 16;
    const int y = static_cast<int>(threadIdx.x) / 16;
    const int row = static_cast<int>(blockIdx.x * 7U * tile) % n;
    const int column = static_cast<int>(blockIdx.x * 11U * tile) % n;
    float sum[4][4] = {};
    for (uint32_t round = 0; round < a.rounds; round++) {
        const int k = static_cast<int>(round * depth % n);
        for (int i = static_cast<int>(threadIdx.x); i < tile * depth; i += 256) {
            left[i % depth][i / depth] = from_a[(row + i / depth) * n + k + i % depth];
            right[i / tile][i % tile] = from_b[(k + i / tile) * n + column + i % tile];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < depth; d++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    sum[i][j] += left[d][y * 4 + i] * right[d][x * 4 + j];
                }
            }
        }
        __syncthreads();
    }
    if (a.rounds == 0) {
        return;
    }
    float *to = at<float>(a.c_at) + static_cast<size_t>(blockIdx.x) * tile * tile;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            to[(y * 4 + i) * tile + x * 4 + j] = sum[i][j];
        }
    }
}
