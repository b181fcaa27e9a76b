/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/host_work.h"

#include "base/mem.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

/* A product of two matrices of this size takes about a microsecond. */
#define TILE        ((size_t)24)
#define TILE_FLOATS (TILE * TILE)
/* Larger than the caches that a core has for itself: traffic is the memory's. */
#define BUFFER_BYTES ((size_t)8 << 20)
#define PIECE_BYTES  ((size_t)64 << 10)
/* The best of so many spans of calibration counts: others use the CPU too. */
enum { SPANS = 5, PRODUCTS = 2000, PIECES = 64 };

/* ---- pieces ---------------------------------------------------------------------------------- */

/* c += a * b, where a[i][k] stands at i * row + k * column. */
static inline void add_product(float *tiles, size_t row, size_t column)
{
    const float *a = tiles;
    const float *b = tiles + TILE_FLOATS;
    float *c = tiles + 2 * TILE_FLOATS;
    for (size_t i = 0; i < TILE; i++) {
        for (size_t k = 0; k < TILE; k++) {
            const float x = a[i * row + k * column];
            for (size_t j = 0; j < TILE; j++) {
                c[i * TILE + j] += x * b[k * TILE + j];
            }
        }
    }
    c[0] *= 0.5F; /* stays finite */
}

/* Forwards, and gradients of inputs. */
static void product(float *tiles)
{
    add_product(tiles, TILE, 1);
}

/* Gradients of weights: a is transposed, so its reads stride. */
static void weight_product(float *tiles)
{
    add_product(tiles, 1, TILE);
}

/* Adds what arrives to what is there, as a reduction does. */
static void traffic(uint8_t *memory, size_t at, size_t n)
{
    const uint32_t *from = (const uint32_t *)(const void *)(memory + at);
    uint32_t *to = (uint32_t *)(void *)(memory + BUFFER_BYTES + at);
    for (size_t i = 0; i < n / sizeof *to; i++) {
        to[i] += from[i];
    }
}

/* ---- calibration ----------------------------------------------------------------------------- */

static double rate_of(float *tiles, void (*piece)(float *tiles))
{
    int64_t best = INT64_MAX;
    for (int s = 0; s < SPANS; s++) {
        int64_t before = inq_time_now_ns();
        for (int i = 0; i < PRODUCTS; i++) {
            piece(tiles);
        }
        int64_t took = inq_time_now_ns() - before;
        best = took < best ? took : best;
    }
    return (double)PRODUCTS / (double)(best > 0 ? best : 1);
}

static double bandwidth_of(uint8_t *memory)
{
    int64_t best = INT64_MAX;
    for (int s = 0; s < SPANS; s++) {
        int64_t before = inq_time_now_ns();
        for (size_t i = 0; i < PIECES; i++) {
            traffic(memory, i * PIECE_BYTES, PIECE_BYTES);
        }
        int64_t took = inq_time_now_ns() - before;
        best = took < best ? took : best;
    }
    return (double)(PIECES * PIECE_BYTES) / (double)(best > 0 ? best : 1);
}

int inq_host_work_init(struct host_work *work, size_t n_threads, int64_t latency_ns,
                       struct inq_err *err)
{
    size_t n = n_threads > 0 ? n_threads : 1;
    *work = (struct host_work){.n_threads = n, .latency_ns = latency_ns};
    work->tiles = inq_mem_zalloc(n * 3 * TILE_FLOATS, sizeof *work->tiles);
    work->memory = inq_mem_zalloc(n, 2 * BUFFER_BYTES);
    if (work->tiles == NULL || work->memory == NULL) {
        inq_host_work_release(work);
        return inq_err_set(err, INQ_NOMEM, "out of memory for the work of %zu threads", n);
    }
    for (size_t i = 0; i < n * 3 * TILE_FLOATS; i++) {
        work->tiles[i] = (float)(i % 7) * 0.125F;
    }
    memset(work->memory, 1, n * 2 * BUFFER_BYTES);
    work->products_per_ns = rate_of(work->tiles, product);
    work->weight_products_per_ns = rate_of(work->tiles, weight_product);
    work->bytes_per_ns = bandwidth_of(work->memory);
    return INQ_OK;
}

void inq_host_work_release(struct host_work *work)
{
    inq_mem_free(work->tiles);
    inq_mem_free(work->memory);
    *work = (struct host_work){0};
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Bytes that a member of a group moves (rings: NCCL's own accounting in nccl-tests). */
static double bytes_moved(const struct host_work *work, const struct inq_plan *plan, uint32_t op,
                          uint32_t members)
{
    double n = members > 1 ? (double)members : 2.0;
    double bytes = plan->bytes[op] >= 0 ? (double)plan->bytes[op] * plan->scale
                                        : (double)plan->dur_ns[op] * work->bytes_per_ns;
    double share = 1.0;
    switch ((enum inq_work)plan->work[op]) {
    case INQ_WORK_ALL_REDUCE:
        share = 2.0 * (n - 1.0) / n;
        break;
    case INQ_WORK_REDUCE_SCATTER:
    case INQ_WORK_ALL_GATHER:
    case INQ_WORK_ALL_TO_ALL:
        share = (n - 1.0) / n;
        break;
    case INQ_WORK_NOTHING:
    case INQ_WORK_COMPUTE:
    case INQ_WORK_COPY:
    case INQ_WORK_COPY_HTOD:
    case INQ_WORK_COPY_DTOH:
    case INQ_WORK_SEND:
    case INQ_WORK_RECV:
    case INQ_WORK_BROADCAST:
    case INQ_WORK_REDUCE:
    case INQ_WORK_COUNT:
        break;
    }
    return plan->bytes[op] >= 0 ? bytes * share : bytes;
}

static bool transfer(const struct host_work *work, const struct host_task *task,
                     bool (*goes_on)(void *ctx), void *ctx)
{
    uint8_t *memory = work->memory + task->thread * 2 * BUFFER_BYTES;
    double left = bytes_moved(work, task->plan, task->op, task->plan->graph->members[task->first]);
    size_t at = 0;
    while (left > 0.0 && goes_on(ctx)) {
        size_t n = left < (double)PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        traffic(memory, at, n);
        at = (at + PIECE_BYTES) % BUFFER_BYTES;
        left -= (double)PIECE_BYTES;
    }
    int64_t until = inq_time_now_ns() + work->latency_ns;
    while (work->latency_ns > 0 && inq_time_now_ns() < until && goes_on(ctx)) {
    }
    return goes_on(ctx);
}

/* As many products as take the planned time on this CPU. A full backward is half of each kind, as
 * both gradients have as many operations; one of them alone has its share of that, and takes what
 * its kind takes. */
static bool compute(const struct host_work *work, const struct host_task *task,
                    bool (*goes_on)(void *ctx), void *ctx)
{
    float *tiles = work->tiles + task->thread * 3 * TILE_FLOATS;
    uint8_t type = task->plan->graph->op[task->op].type;
    bool weights = type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_WEIGHT;
    bool inputs = type != INQ_OP_BACKWARD_WEIGHT;
    bool backward = weights || type == INQ_OP_BACKWARD_INPUT;
    double both_ns = 1.0 / work->products_per_ns + 1.0 / work->weight_products_per_ns;
    double per_ns = backward ? 2.0 / both_ns : work->products_per_ns;
    int64_t n = llround((double)task->plan->dur_ns[task->op] * per_ns);
    n = inputs && weights ? n / 2 : n;
    for (int64_t i = 0; i < n && (i % 16 != 0 || goes_on(ctx)); i++) {
        if (inputs) {
            product(tiles);
        }
        if (weights) {
            weight_product(tiles);
        }
    }
    return goes_on(ctx);
}

bool inq_host_work_do(const struct host_work *work, const struct host_task *task,
                      bool (*goes_on)(void *ctx), void *ctx)
{
    uint8_t what = task->plan->work[task->op];
    bool computes = what == INQ_WORK_COMPUTE || what == INQ_WORK_NOTHING;
    return computes ? compute(work, task, goes_on, ctx) : transfer(work, task, goes_on, ctx);
}
