/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels.cu needs of CUDA, so that it compiles for the CPU; included before it. */
#ifndef INQ_STANDIN_SHIM_H
#define INQ_STANDIN_SHIM_H

#include <cstddef>
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(n)
/* The threads of a block take turns on one thread of the CPU. */
#define __shared__ static thread_local

struct standin_index {
    unsigned x, y, z;
};

extern thread_local standin_index threadIdx, blockIdx, blockDim, gridDim;

struct float4 {
    float x, y, z, w;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

static inline float4 __ldcs(const float4 *from)
{
    return *from;
}

static inline void __stcs(float4 *to, float4 value)
{
    *to = value;
}

/* The nanosecond timer of the device that the calling thread executes for. */
unsigned long long inq_standin_timer();
void __nanosleep(unsigned ns);
/* Lets the other threads of the block come this far. */
void __syncthreads();

static inline void __threadfence_system()
{
    __sync_synchronize();
}

/* Ends the program when `at` is not the executing device's own memory: over a link that does no
 * atomics (PCIe) what they add is lost. */
void inq_standin_own(const void *at);

static inline void atomicAdd(unsigned long long *at, unsigned long long value)
{
    inq_standin_own(at);
    (void)__sync_fetch_and_add(at, value);
}

#endif
