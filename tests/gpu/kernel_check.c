/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels against references that share nothing with them, through the driver's API on the
 * stand-in (LD_LIBRARY_PATH says where): sums and exchanges of 1 to 128 members, products, waits
 * that end by themselves.   kernel_check [short]   Exit 0: all agree. */
#include "cuda/kernels.h"
#include "inquest/replay.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS UINT64_C(1000000)

#define CALLS(X)                                                                                   \
    X(cuInit)                                                                                      \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuStreamCreate)                                                                              \
    X(cuLibraryLoadData)                                                                           \
    X(cuLibraryGetKernel)                                                                          \
    X(cuLaunchKernel)

#define TEXT_OF(name)     #name
#define SYMBOL_TEXT(name) TEXT_OF(name)

static struct {
#define MEMBER(name) __typeof__ (&(name))(name);
    CALLS(MEMBER)
#undef MEMBER
} cu;

extern const unsigned char inq_cuda_kernels[];

static CUstream stream;
static CUkernel kernels[INQ_KERNEL_COUNT];
static int n_failed;

static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        (void)fprintf(stderr, "kernel_check: %s: error %d\n", what, (int)result);
        exit(1);
    }
}

static void agree(bool ok, const char *what, int n, int self)
{
    if (!ok && n_failed++ < 10) {
        printf("FAILED: %s, %d members, member %d\n", what, n, self);
    }
}

static void open_driver(void)
{
    static const char *const names[] = {
#define KERNEL_NAME(name, symbol) #symbol,
        INQ_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CUcontext context = NULL;
    CUlibrary code = NULL;
    if (library == NULL) {
        (void)fprintf(stderr, "kernel_check: no libcuda.so.1\n");
        exit(77);
    }
#define FIND(name)                                                                                 \
    {                                                                                              \
        void *found = dlsym(library, SYMBOL_TEXT(name));                                           \
        memcpy(&cu.name, &found, sizeof found);                                                    \
    }
    CALLS(FIND)
#undef FIND
    must(cu.cuInit(0), "cuInit");
    must(cu.cuDevicePrimaryCtxRetain(&context, 0), "a context");
    must(cu.cuCtxSetCurrent(context), "a context");
    must(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
    must(cu.cuLibraryLoadData(&code, inq_cuda_kernels, NULL, NULL, 0, NULL, NULL, 0), "loading");
    for (size_t i = 0; i < INQ_KERNEL_COUNT; i++) {
        must(cu.cuLibraryGetKernel(&kernels[i], code, names[i]), names[i]);
    }
}

static void launch(enum inq_gpu_kernel kernel, unsigned blocks, unsigned threads, void *args)
{
    void *params[] = {args};
    must(cu.cuLaunchKernel((CUfunction)kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, stream,
                           params, NULL),
         "launching");
}

static void finish(void)
{
    must(cu.cuCtxSynchronize(), "executing");
}

static CUdeviceptr alloc(size_t bytes)
{
    CUdeviceptr at = 0;
    must(cu.cuMemAlloc(&at, bytes), "memory");
    return at;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ---- transfers ------------------------------------------------------------------------------- */

enum { ROOM = 1024, MOST = INQ_GPU_MAX_GROUP };

static float sent[MOST][ROOM]; /* whole numbers below 256: sums of 128 are exact */
static CUdeviceptr send_at[MOST], recv_at[MOST], bad_at;

/* What member `self` of n must hold at `j` of `elems`, by what the collectives are defined to do:
 * NCCL's user guide, "Collective Operations". -1: anything. Each member sends its data from `turn`
 * on, around its end; slices are whole fours. */
static float reference(uint8_t work, int n, int self, int elems, int turn, int j)
{
    int owner = 0;
    while (owner + 1 < n && j >= elems / 4 * (owner + 1) / n * 4) {
        owner++;
    }
    int own_begin = elems / 4 * self / n * 4;
    int owner_begin = elems / 4 * owner / n * 4;
    float sum = 0.0F;
    for (int k = 0; k < n; k++) {
        sum += sent[k][(j + turn) % ROOM];
    }
    if (work == INQ_WORK_ALL_REDUCE) {
        return sum;
    }
    if (work == INQ_WORK_REDUCE_SCATTER) {
        return owner == self ? sum : -1.0F;
    }
    return work == INQ_WORK_ALL_GATHER ? sent[owner][(j + turn) % ROOM]
                                       : sent[owner][(own_begin + j - owner_begin + turn) % ROOM];
}

static struct inq_gpu_data_args args_of(uint8_t work, int n, int self, int elems, int turn)
{
    struct inq_gpu_data_args a = {.to_at = recv_at[self],
                                  .elems = (uint64_t)elems,
                                  .mask = ROOM - 1,
                                  .turn = (uint64_t)turn,
                                  .bad_at = bad_at,
                                  .n = (uint32_t)n,
                                  .self = (uint32_t)self,
                                  .passes = 1,
                                  .work = work};
    for (int k = 0; k < n; k++) {
        a.from_at[k] = send_at[k];
        a.rank[k] = (uint32_t)k;
    }
    return a;
}

/* As the engine launches it: reductions by slices, then what others have is fetched. */
static void transfer(uint8_t work, int n, int elems, int turn)
{
    bool sums = work == INQ_WORK_ALL_REDUCE || work == INQ_WORK_REDUCE_SCATTER;
    for (int self = 0; sums && self < n; self++) {
        struct inq_gpu_data_args a = args_of(work, n, self, elems, turn);
        launch(INQ_KERNEL_REDUCE, 2, 32, &a);
    }
    for (int self = 0; work != INQ_WORK_REDUCE_SCATTER && self < n; self++) {
        struct inq_gpu_data_args a = args_of(work, n, self, elems, turn);
        a.from_turn = sums ? 0 : a.turn;
        for (int k = 0; sums && k < n; k++) {
            a.from_at[k] = recv_at[k];
        }
        launch(INQ_KERNEL_GATHER, 2, 32, &a);
    }
    finish();
}

static void compare(uint8_t work, int n, int elems, int turn)
{
    float got[ROOM];
    for (int self = 0; self < n; self++) {
        bool ok = true;
        must(cu.cuMemcpyDtoH(got, recv_at[self], sizeof got), "copying");
        for (int j = 0; ok && j < elems; j++) {
            float want = reference(work, n, self, elems, turn, j);
            ok = want < 0.0F || got[j] == want;
        }
        agree(ok, inq_work_text((enum inq_work)work), n, self);
    }
}

static const uint8_t works[] = {INQ_WORK_ALL_REDUCE, INQ_WORK_REDUCE_SCATTER, INQ_WORK_ALL_GATHER,
                                INQ_WORK_ALL_TO_ALL};

static void check_transfers(int step)
{
    uint32_t state = 1;
    for (int k = 0; k < MOST; k++) {
        send_at[k] = alloc(sizeof sent[k]);
        recv_at[k] = alloc(sizeof sent[k]);
        for (int j = 0; j < ROOM; j++) {
            state = state * 1664525U + 1013904223U;
            sent[k][j] = (float)(state >> 24);
        }
        must(cu.cuMemcpyHtoD(send_at[k], sent[k], sizeof sent[k]), "copying");
    }
    for (int n = 1; n <= MOST; n += n < 17 || n > 126 ? 1 : step) {
        int elems = n % 3 == 0 ? 4 : n % 3 == 1 ? 516 : 640; /* fewer than slices, uneven, even */
        for (size_t w = 0; w < sizeof works; w++) {
            transfer(works[w], n, elems, 4 * n);
            compare(works[w], n, elems, 4 * n);
        }
    }
}

/* The engine's own check: passes what is right and counts what is not. */
static void check_check(void)
{
    uint64_t seen[2] = {0, 0};
    float value = 0.0F;
    enum { N = 5, ELEMS = 512, TURN = 36 };
    for (int k = 0; k < N; k++) {
        struct inq_gpu_fill_args fill = {.to_at = send_at[k], .elems = ROOM, .rank = (uint32_t)k};
        launch(INQ_KERNEL_FILL, 2, 32, &fill);
    }
    for (size_t w = 0; w < sizeof works; w++) {
        must(cu.cuMemcpyHtoD(bad_at, (uint64_t[2]){0, 0}, sizeof seen), "copying");
        transfer(works[w], N, ELEMS, TURN);
        for (int round = 0; round < 2; round++) { /* as it came, then with one value wrong */
            struct inq_gpu_data_args a = args_of(works[w], N, 1, ELEMS, TURN);
            CUdeviceptr at = recv_at[1] + (ELEMS / 4 / N * 4 + 4) * sizeof value;
            must(cu.cuMemcpyDtoH(&value, at, sizeof value), "copying");
            value += (float)round;
            must(cu.cuMemcpyHtoD(at, &value, sizeof value), "copying");
            launch(INQ_KERNEL_CHECK, 2, 32, &a);
            finish();
            must(cu.cuMemcpyDtoH(seen, bad_at, sizeof seen), "copying");
            agree(seen[0] > 0 && seen[1] == (uint64_t)round, "the check counts what is wrong", N,
                  (int)w);
        }
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static void check_products(void)
{
    enum { SIZE = INQ_GPU_GEMM_N, TILE = INQ_GPU_GEMM_TILE, BLOCKS = 3, ROUNDS = 5, DEPTH = 16 };
    const size_t elems = (size_t)SIZE * SIZE;
    float *a = calloc(elems, sizeof *a);
    float *b = calloc(elems, sizeof *b);
    float *c = calloc((size_t)BLOCKS * TILE * TILE, sizeof *c);
    if (a == NULL || b == NULL || c == NULL) {
        abort();
    }
    for (size_t i = 0; i < elems; i++) { /* whole numbers: every order of sums is exact */
        a[i] = (float)(i * 2654435761U % 13);
        b[i] = (float)(i * 40503U % 11);
    }
    struct inq_gpu_gemm_args args = {.a_at = alloc(elems * 4),
                                     .b_at = alloc(elems * 4),
                                     .c_at = alloc((size_t)BLOCKS * TILE * TILE * 4),
                                     .rounds = ROUNDS};
    must(cu.cuMemcpyHtoD(args.a_at, a, elems * 4), "copying");
    must(cu.cuMemcpyHtoD(args.b_at, b, elems * 4), "copying");
    launch(INQ_KERNEL_GEMM, BLOCKS, 256, &args);
    finish();
    must(cu.cuMemcpyDtoH(c, args.c_at, (size_t)BLOCKS * TILE * TILE * 4), "copying");
    for (int block = 0; block < BLOCKS; block++) {
        bool ok = true;
        for (int i = 0; i < TILE * TILE; i++) {
            size_t row = (size_t)(block * 7 * TILE % SIZE + i / TILE);
            size_t column = (size_t)(block * 11 * TILE % SIZE + i % TILE);
            float want = 0.0F;
            for (size_t k = 0; k < ROUNDS * DEPTH; k++) {
                want += a[row * SIZE + k] * b[k * SIZE + column];
            }
            ok = ok && c[(size_t)block * TILE * TILE + (size_t)i] == want;
        }
        agree(ok, "product", BLOCKS, block);
    }
    free(a);
    free(b);
    free(c);
}

/* Traffic: every value is read and written. */
static void check_stream(void)
{
    enum { ELEMS = 1004 };
    float got[ROOM];
    memset(got, 0, sizeof got);
    must(cu.cuMemcpyHtoD(send_at[0], sent[0], sizeof sent[0]), "copying");
    must(cu.cuMemcpyHtoD(recv_at[0], got, sizeof got), "copying");
    struct inq_gpu_stream_args a = {
        .to_at = recv_at[0], .from_at = send_at[0], .elems = ELEMS, .passes = 2};
    launch(INQ_KERNEL_STREAM, 3, 32, &a);
    finish();
    must(cu.cuMemcpyDtoH(got, recv_at[0], sizeof got), "copying");
    bool ok = true;
    for (int j = 0; j < ROOM; j++) {
        ok = ok && got[j] == (j < ELEMS ? sent[0][j] + 1.0F : 0.0F);
    }
    agree(ok, "traffic", 1, 0);
}

/* ---- waits ----------------------------------------------------------------------------------- */

struct shared { /* host memory, as far as the kernels know */
    volatile uint32_t flag, ask, abort;
    volatile uint64_t answer[17];
};

/* A gate whose flag never comes opens by itself; one that is aborted at once. */
static void check_gate(struct shared *s)
{
    struct inq_gpu_gate_args a = {.board = {.abort_at = (uintptr_t)&s->abort},
                                  .flag_at = (uintptr_t)&s->flag,
                                  .limit_ns = (int64_t)(20 * MS),
                                  .run = 1};
    uint64_t began = now_ns();
    launch(INQ_KERNEL_GATE, 1, 1, &a);
    finish();
    agree(now_ns() - began >= 20 * MS, "the gate stays closed until its limit", 1, 0);
    a.limit_ns = (int64_t)(3600U * 1000U * MS); /* nobody waits for that */
    s->abort = 1;
    launch(INQ_KERNEL_GATE, 1, 1, &a);
    finish();
    s->abort = 0;
}

/* The limit is of each question: many slow ones last longer than it together. On a machine that
 * puts one of them off past the limit nothing is said. */
static void check_probe(struct shared *s)
{
    enum { ASKED = 16 };
    const uint64_t limit_ns = 120 * MS;
    const struct timespec slow = {.tv_nsec = (long)(10 * MS)};
    struct inq_gpu_probe_args a = {.ask_at = (uintptr_t)&s->ask,
                                   .answer_at = (uintptr_t)s->answer,
                                   .abort_at = (uintptr_t)&s->abort,
                                   .limit_ns = (int64_t)limit_ns,
                                   .n = ASKED};
    uint64_t before = now_ns();
    uint64_t longest = 0;
    launch(INQ_KERNEL_PROBE, 1, 1, &a);
    for (uint32_t i = 1; i <= ASKED; i++) {
        (void)nanosleep(&slow, NULL);
        s->ask = i;
        uint64_t gap = now_ns() - before;
        longest = gap > longest ? gap : longest;
        before = now_ns();
    }
    finish();
    bool judged = longest < limit_ns / 2; /* the kernel may have been put off, too */
    agree(!judged || s->answer[ASKED] != 0, "16 questions of 10 ms are answered", 1, 0);
    s->ask = 0;
    launch(INQ_KERNEL_PROBE, 1, 1, &a); /* nobody asks: it gives up */
    finish();
}

int main(int argc, char **argv)
{
    static struct shared shared;
    bool brief = argc > 1 && strcmp(argv[1], "short") == 0;
    open_driver();
    bad_at = alloc(2 * sizeof(uint64_t));
    check_transfers(brief ? 29 : 1);
    check_check();
    check_products();
    check_stream();
    check_gate(&shared);
    check_probe(&shared);
    printf("%d not as they must be\n", n_failed);
    return n_failed > 0;
}
