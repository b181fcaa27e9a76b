/* SPDX-License-Identifier: Apache-2.0 */
/* Executing the kernels: blocks on threads, the threads of a block in turns. */
#include "shim.h"

#include "standin.h"

#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>
#include <ucontext.h>

extern "C" {
void inq_kernel_op(inq_gpu_op_args a);
void inq_kernel_gate(inq_gpu_gate_args a);
void inq_kernel_tick(inq_gpu_tick_args a);
void inq_kernel_probe(inq_gpu_probe_args a);
void inq_kernel_fill(inq_gpu_fill_args a);
void inq_kernel_reduce(inq_gpu_data_args a);
void inq_kernel_gather(inq_gpu_data_args a);
void inq_kernel_check(inq_gpu_data_args a);
void inq_kernel_gemm(inq_gpu_gemm_args a);
void inq_kernel_stream(inq_gpu_stream_args a);
}

thread_local standin_index threadIdx, blockIdx, blockDim, gridDim;

static thread_local int current_device;

/* ---- time -------------------------------------------------------------------------------------
 */

unsigned long long inq_standin_timer()
{
    /* Timers of devices begin anywhere and tick at their own pace. */
    constexpr double apart_ns = 777777.0;
    timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const double ns = static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
    const double drift = standin::options().drift_ppm * 1e-6 * current_device;
    const auto exact = static_cast<unsigned long long>(now.tv_sec) * 1000000000ULL +
                       static_cast<unsigned long long>(now.tv_nsec);
    return exact + static_cast<unsigned long long>(ns * drift + apart_ns * current_device);
}

void inq_standin_own(const void *at)
{
    if (standin::owner_of(at) != current_device) {
        standin::misuse("an atomic on another device's memory");
    }
}

void __nanosleep(unsigned ns)
{
    /* Longer than asked: there are more waiting threads than processors, and times do not count. */
    constexpr unsigned least_ns = 200000;
    const timespec time = {0, static_cast<long>(ns < least_ns ? least_ns : ns)};
    (void)nanosleep(&time, nullptr);
}

/* ---- threads of a block -----------------------------------------------------------------------
 */

namespace
{

/* The threads of a block that meet: each has a stack, and they take turns at every meeting. */
struct Block {
    static constexpr size_t stack_bytes = 64 * 1024;
    std::unique_ptr<char[]> stacks; /* not cleared: that took as long as the product */
    unsigned room = 0;
    std::vector<ucontext_t> threads;
    std::vector<char> ended;
    ucontext_t scheduler = {};
    size_t now = 0;
    const inq_gpu_gemm_args *args = nullptr;
};

thread_local Block *meeting;

void enter()
{
    Block *block = meeting;
    inq_kernel_gemm(*block->args);
    block->ended[block->now] = 1;
    swapcontext(&block->threads[block->now], &block->scheduler);
}

void run_meeting(const inq_gpu_gemm_args &args, unsigned threads)
{
    /* More add nothing: times do not count, and the check of the product has five. */
    constexpr uint32_t most_rounds = 5;
    inq_gpu_gemm_args some = args;
    some.rounds = some.rounds < most_rounds ? some.rounds : most_rounds;
    static thread_local Block block; /* a pool's thread finds the stacks of its last product */
    block.args = &some;
    if (block.room < threads) {
        block.stacks.reset(new char[threads * Block::stack_bytes]);
        block.room = threads;
    }
    block.threads.resize(threads);
    block.ended.assign(threads, 0);
    meeting = &block;
    for (size_t t = 0; t < threads; t++) {
        getcontext(&block.threads[t]);
        block.threads[t].uc_stack.ss_sp = &block.stacks[t * Block::stack_bytes];
        block.threads[t].uc_stack.ss_size = Block::stack_bytes;
        block.threads[t].uc_link = &block.scheduler;
        makecontext(&block.threads[t], enter, 0);
    }
    for (bool going = true; going;) {
        going = false;
        for (size_t t = 0; t < threads; t++) {
            if (block.ended[t] == 0) {
                block.now = t;
                threadIdx = standin_index{static_cast<unsigned>(t), 0, 0};
                swapcontext(&block.scheduler, &block.threads[t]);
                going = going || block.ended[t] == 0;
            }
        }
    }
    meeting = nullptr;
}

/* One call a thread, one after the other: no kernel but the product's has threads that meet. */
template <typename Args> void run_threads(void (*kernel)(Args), const void *args, unsigned threads)
{
    for (unsigned t = 0; t < threads; t++) {
        threadIdx = standin_index{t, 0, 0};
        kernel(*static_cast<const Args *>(args));
    }
}

void spoil(const void *args)
{
    const auto *a = static_cast<const inq_gpu_data_args *>(args);
    const uint64_t at = inq_gpu_slice(a->elems, a->n, a->self);
    if (blockIdx.x == 0 && a->passes > 0 && at < inq_gpu_slice(a->elems, a->n, a->self + 1)) {
        reinterpret_cast<float *>(a->to_at)[at] += 1.0F;
    }
}

void run_block(inq_gpu_kernel kernel, unsigned threads, const void *args)
{
    switch (kernel) {
    case INQ_KERNEL_GATE:
        return run_threads(inq_kernel_gate, args, threads);
    case INQ_KERNEL_OP:
        return run_threads(inq_kernel_op, args, threads);
    case INQ_KERNEL_TICK:
        return run_threads(inq_kernel_tick, args, threads);
    case INQ_KERNEL_PROBE:
        return run_threads(inq_kernel_probe, args, threads);
    case INQ_KERNEL_FILL:
        return run_threads(inq_kernel_fill, args, threads);
    case INQ_KERNEL_REDUCE:
        run_threads(inq_kernel_reduce, args, threads);
        if (standin::options().corrupt) {
            spoil(args);
        }
        return;
    case INQ_KERNEL_GATHER:
        return run_threads(inq_kernel_gather, args, threads);
    case INQ_KERNEL_CHECK:
        return run_threads(inq_kernel_check, args, threads);
    case INQ_KERNEL_GEMM:
        return run_meeting(*static_cast<const inq_gpu_gemm_args *>(args), threads);
    case INQ_KERNEL_STREAM:
        return run_threads(inq_kernel_stream, args, threads);
    case INQ_KERNEL_COUNT:
        break;
    }
    abort();
}

/* ---- threads of the CPU -----------------------------------------------------------------------
 */

/* As many threads as there are tasks at once; none ends before the program does. */
struct Pool {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::function<void()>> tasks;
    size_t idle = 0;
};

Pool &pool()
{
    static Pool *made = new Pool; /* its threads outlive everything */
    return *made;
}

void serve()
{
    Pool &p = pool();
    std::unique_lock<std::mutex> lock(p.mutex);
    for (;;) {
        p.idle++;
        p.filled.wait(lock, [&p] { return !p.tasks.empty(); });
        p.idle--;
        std::function<void()> task = std::move(p.tasks.front());
        p.tasks.pop_front();
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
    }
}

} // namespace

void __syncthreads()
{
    Block *block = meeting;
    const size_t self = block->now;
    swapcontext(&block->threads[self], &block->scheduler);
    threadIdx = standin_index{static_cast<unsigned>(self), 0, 0};
}

void standin::start(std::function<void()> task)
{
    Pool &p = pool();
    std::lock_guard<std::mutex> lock(p.mutex);
    p.tasks.push_back(std::move(task));
    if (p.idle < p.tasks.size()) {
        std::thread(serve).detach();
    }
    p.filled.notify_one();
}

size_t standin::args_size(inq_gpu_kernel kernel)
{
    static constexpr size_t sizes[] = {
        sizeof(inq_gpu_gate_args),  sizeof(inq_gpu_op_args),   sizeof(inq_gpu_tick_args),
        sizeof(inq_gpu_probe_args), sizeof(inq_gpu_fill_args), sizeof(inq_gpu_data_args),
        sizeof(inq_gpu_data_args),  sizeof(inq_gpu_data_args), sizeof(inq_gpu_gemm_args),
        sizeof(inq_gpu_stream_args)};
    static_assert(sizeof sizes / sizeof *sizes == INQ_KERNEL_COUNT, "one row a kernel, in order");
    return sizes[kernel];
}

void standin::execute(int device, inq_gpu_kernel kernel, unsigned blocks, unsigned threads,
                      const void *args)
{
    struct Shared {
        std::mutex mutex;
        std::condition_variable ended;
        unsigned left;
    };
    const auto run = [=](unsigned block) {
        current_device = device;
        blockIdx = standin_index{block, 0, 0};
        blockDim = standin_index{threads, 1, 1};
        gridDim = standin_index{blocks, 1, 1};
        run_block(kernel, threads, args);
    };
    const auto shared = std::make_shared<Shared>();
    shared->left = blocks - 1;
    for (unsigned b = 1; b < blocks; b++) {
        start([=] {
            run(b);
            std::lock_guard<std::mutex> lock(shared->mutex);
            shared->left--;
            shared->ended.notify_one();
        });
    }
    run(0);
    std::unique_lock<std::mutex> lock(shared->mutex);
    shared->ended.wait(lock, [&shared] { return shared->left == 0; });
}
