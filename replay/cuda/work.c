/* SPDX-License-Identifier: Apache-2.0 */
/* Real work: buffers with known patterns, products calibrated to durations, transfers that move and
 * reduce the recorded bytes, and the check of what arrived. */
#include "cuda/session.h"

#include "base/mem.h"
#include "cuda/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The numbers of an execution on GPUs: payloads and buffers, durations as products. */

/* ---- payloads -------------------------------------------------------------------------------- */

static bool moves_data(uint8_t work)
{
    return inq_gpu_receives(work) || work == INQ_WORK_SEND;
}

/* Scaled as durations are: less time, less to move. The members of a group agree on the largest. */
static int64_t bytes_of(const struct inq_plan *plan, uint32_t op, bool *guessed)
{
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    int64_t bytes = -1;
    for (uint32_t k = first; k < first + n; k++) {
        bytes = plan->bytes[k] > bytes ? plan->bytes[k] : bytes;
    }
    *guessed = bytes < 0;
    double scaled = (double)(bytes < 0 ? INQ_GPU_SOME_BYTES : bytes) * plan->scale;
    const double most = (double)((int64_t)1 << 50);
    return scaled < most ? (int64_t)scaled : (int64_t)most;
}

uint64_t inq_gpu_buffer_bytes(const struct inq_plan *plan)
{
    uint64_t most = 0;
    bool any = false;
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        if (moves_data(plan->work[i])) {
            bool guessed = false;
            uint64_t bytes = (uint64_t)bytes_of(plan, i, &guessed);
            most = bytes > most ? bytes : most;
            any = true;
        }
    }
    if (!any) {
        return 0;
    }
    uint64_t size = INQ_GPU_MIN_BUFFER;
    while (size < most && size < INQ_GPU_MAX_BUFFER) {
        size *= 2;
    }
    return size;
}

struct inq_gpu_payload inq_gpu_payload_of(const struct inq_plan *plan, uint32_t op,
                                          uint64_t buffer_bytes)
{
    struct inq_gpu_payload p = {0};
    uint64_t bytes = (uint64_t)bytes_of(plan, op, &p.guessed);
    uint64_t passes = (bytes + buffer_bytes - 1) / buffer_bytes;
    passes = passes < 1 ? 1 : passes < UINT32_MAX ? passes : UINT32_MAX;
    p.passes = (uint32_t)passes;
    uint64_t each = bytes / passes;
    p.elems = (each + 15) / 16 * 4;
    p.elems = p.elems < 4 ? 4 : p.elems;
    return p;
}

/* The rank whose pattern `op` (a receive or a copy) brings. */
static int32_t gpu_source_rank(const struct inq_plan *plan, uint32_t op)
{
    const struct inq_graph *g = plan->graph;
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(g, op, &n);
    if (inq_gpu_copies(plan->work[op]) && plan->work[op] != INQ_WORK_COPY) {
        return g->op[op].rank;
    }
    for (uint32_t k = first; k < first + n; k++) {
        if (plan->work[k] == INQ_WORK_SEND) {
            return g->op[k].rank;
        }
    }
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (g->op[g->deps[d]].rank != g->op[op].rank) {
            return g->op[g->deps[d]].rank;
        }
    }
    return g->op[op].rank;
}

/* ---- products -------------------------------------------------------------------------------- */

void inq_gpu_menu_split(const struct inq_gpu_menu *menu, int64_t dur_ns,
                        uint32_t count[INQ_GPU_SIZES])
{
    for (size_t i = 0; i < INQ_GPU_SIZES; i++) {
        count[i] = 0;
    }
    for (size_t i = menu->n; i-- > 0;) {
        if (menu->ns[i] <= 0) {
            continue;
        }
        /* what the smallest leaves over rounds to the nearest */
        int64_t n = (dur_ns + (i == 0 ? menu->ns[i] / 2 : 0)) / menu->ns[i];
        n = n < 0 ? 0 : n < UINT32_MAX ? n : UINT32_MAX;
        count[i] = (uint32_t)n;
        dur_ns -= n * menu->ns[i];
    }
}

#define DATA_THREADS    256
#define STREAM_BLOCKS   8   /* per SM, so that its memory requests never run out */
#define MAX_DATA_BLOCKS 32U /* a transfer takes a share of the SMs, as communication kernels do */
#define CALIBRATIONS    8   /* products timed together */
#define TRIES           3
#define TURN            4092U /* elements between the turns of two transfers; a multiple of 4 */

static const unsigned library_sizes[] = {256, 512, 1024, 2048, 4096, 8192, 16384};
static const unsigned own_rounds[] = {16, 64, 256, 1024, 4096, 16384, 65536};
#define N_SIZES (sizeof library_sizes / sizeof *library_sizes)

/* ---- buffers --------------------------------------------------------------------------------- */

/* SMs of a partition, at least 1. */
static unsigned part_sms(const struct inq_gpu_session *session, uint32_t gpu)
{
    int sms = session->info[gpu].part_sms;
    return sms > 0 ? (unsigned)sms : 1;
}

static unsigned data_blocks(const struct inq_gpu_program *p, uint32_t gpu)
{
    unsigned blocks = part_sms(p->session, gpu) / 4;
    return blocks < 1 ? 1 : blocks < MAX_DATA_BLOCKS ? blocks : MAX_DATA_BLOCKS;
}

static int fill_pattern(struct inq_gpu_program *p, inq_gpu_addr to, uint64_t elems, uint32_t rank,
                        struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const struct inq_gpu_fill_args args = {.to_at = to, .elems = elems, .rank = rank};
    const struct inq_gpu_launch launch = {INQ_KERNEL_FILL, 64, DATA_THREADS, &args, sizeof args};
    int code = calls->launch(calls->self, p->session->origin, &launch, err);
    return code == INQ_OK
               ? inq_gpu_session_wait(p->session, p->session->origin, p->session->limit_ns, err)
               : code;
}

static int make_pinned(struct inq_gpu_program *p, struct inq_gpu_pinned *to, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    return to->host != NULL
               ? INQ_OK
               : calls->host_alloc(calls->self, p->work.buffer_bytes, &to->host, &to->at, err);
}

/* What copies from the host read and those to it write. */
static int make_host_buffers(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_plan *plan = p->plan;
    struct inq_gpu_work *w = &p->work;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < plan->graph->n_ops; i++) {
        uint32_t rank = (uint32_t)plan->graph->op[i].rank;
        bool first = w->host_send[rank].host == NULL;
        if (plan->work[i] == INQ_WORK_COPY_HTOD && first) {
            code = make_pinned(p, &w->host_send[rank], err);
            code = code == INQ_OK
                       ? fill_pattern(p, w->host_send[rank].at, w->buffer_bytes / 4, rank, err)
                       : code;
        } else if (plan->work[i] == INQ_WORK_COPY_DTOH) {
            code = make_pinned(p, &w->host_recv[plan->lane_of[i]], err);
        }
    }
    return code;
}

/* What each rank sends, and what each lane with transfers receives. */
static int make_buffers(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_plan *plan = p->plan;
    struct inq_gpu_work *w = &p->work;
    int code = INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < p->layout->n_ranks; r++) {
        struct inq_gpu_spot spot = p->layout->spots[r];
        if (spot.part == INQ_NONE) {
            continue;
        }
        code = inq_gpu_session_alloc(p->session, spot.gpu, w->buffer_bytes, &w->send[r], err);
        if (code == INQ_OK) {
            code = fill_pattern(p, w->send[r], w->buffer_bytes / 4, (uint32_t)r, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < plan->graph->n_ops; i++) {
        inq_gpu_addr *to = &w->recv[plan->lane_of[i]];
        bool host = plan->work[i] == INQ_WORK_COPY_DTOH;
        if (inq_gpu_receives(plan->work[i]) && !host && *to == 0) {
            uint32_t gpu = p->layout->spots[plan->graph->op[i].rank].gpu;
            code = inq_gpu_session_alloc(p->session, gpu, w->buffer_bytes, to, err);
        }
    }
    return code == INQ_OK ? make_host_buffers(p, err) : code;
}

/* ---- products -------------------------------------------------------------------------------- */

static int put_product(struct inq_gpu_program *p, uint32_t lane, size_t size, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    size_t rank = (size_t)p->plan->lanes[lane].rank;
    struct inq_gpu_spot spot = p->layout->spots[rank];
    unsigned n = p->work.menu[spot.gpu].size[size];
    if (p->work.library) {
        const struct inq_product square = {(int32_t)n, (int32_t)n, (int32_t)n, 1, INQ_PRODUCT_BF16};
        return calls->gemm(calls->self, spot, p->stream[lane], &square, err);
    }
    const struct inq_gpu_gemm_args args = {.a_at = p->work.a[spot.gpu],
                                           .b_at = p->work.b[spot.gpu],
                                           .c_at = p->work.c[rank],
                                           .rounds = n};
    const struct inq_gpu_launch launch = {INQ_KERNEL_GEMM, part_sms(p->session, spot.gpu), 256,
                                          &args, sizeof args};
    return calls->launch(calls->self, p->stream[lane], &launch, err);
}

/* The factors that own products share, and their results. */
static int make_factors(struct inq_gpu_program *p, struct inq_err *err)
{
    const uint64_t elems = (uint64_t)INQ_GPU_GEMM_N * INQ_GPU_GEMM_N;
    struct inq_gpu_work *w = &p->work;
    int code = INQ_OK;
    for (uint32_t g = 0; code == INQ_OK && g < p->layout->n_gpus; g++) {
        code = inq_gpu_session_alloc(p->session, g, elems * sizeof(float), &w->a[g], err);
        if (code == INQ_OK) {
            code = inq_gpu_session_alloc(p->session, g, elems * sizeof(float), &w->b[g], err);
        }
        if (code == INQ_OK) {
            code = fill_pattern(p, w->a[g], elems, 1, err);
        }
        if (code == INQ_OK) {
            code = fill_pattern(p, w->b[g], elems, 2, err);
        }
    }
    for (size_t r = 0; code == INQ_OK && r < p->layout->n_ranks; r++) {
        struct inq_gpu_spot spot = p->layout->spots[r];
        if (spot.part != INQ_NONE) {
            uint64_t tile = (uint64_t)INQ_GPU_GEMM_TILE * INQ_GPU_GEMM_TILE * sizeof(float);
            code = inq_gpu_session_alloc(p->session, spot.gpu,
                                         tile * part_sms(p->session, spot.gpu), &w->c[r], err);
        }
    }
    return code;
}

/* ---- what was recorded ----------------------------------------------------------------------- */

/* A product of the recorded sizes by the library, and memory traffic of the recorded bytes: where
 * the rank has a whole GPU, as it had when that was recorded. */
static bool is_shaped(const struct inq_gpu_program *p, uint32_t op)
{
    const struct inq_product *products = p->plan->product;
    return p->own_gpus && p->work.library && products != NULL && products[op].m > 0 &&
           !p->work.refused[products[op].type] && p->plan->work[op] == INQ_WORK_COMPUTE;
}

static bool is_traffic(const struct inq_gpu_program *p, uint32_t op)
{
    const struct inq_product *products = p->plan->product;
    return p->own_gpus && p->plan->work[op] == INQ_WORK_COMPUTE && p->plan->bytes[op] > 0 &&
           (products == NULL || products[op].m == 0);
}

static bool is_calibrated(const struct inq_gpu_program *p, uint32_t op)
{
    return p->plan->work[op] == INQ_WORK_COMPUTE && p->plan->dur_ns[op] > 0 && !is_shaped(p, op) &&
           !is_traffic(p, op);
}

/* Ranks that share a GPU have no links of their own: their transfers last as long as those that
 * were recorded, at least. So do transfers of which nothing else is known. */
static bool holds(const struct inq_gpu_program *p, uint32_t op)
{
    bool compute = p->plan->work[op] == INQ_WORK_COMPUTE;
    bool copies = inq_gpu_copies(p->plan->work[op]);
    bool links = p->own_gpus && (copies || p->layout->n_gpus > 1) && p->plan->bytes[op] >= 0;
    return !p->real || (!compute && !p->free_transfers && !links);
}

enum inq_op_timing inq_gpu_work_timing(const struct inq_gpu_program *program, uint32_t op)
{
    bool nothing = program->plan->work[op] == INQ_WORK_NOTHING;
    return nothing || holds(program, op) ? INQ_TIMING_GIVEN
           : is_calibrated(program, op)  ? INQ_TIMING_CALIBRATED
                                         : INQ_TIMING_MEASURED;
}

static int64_t traffic_bytes(const struct inq_gpu_program *p)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < p->plan->graph->n_ops; i++) {
        most = is_traffic(p, i) && p->plan->bytes[i] > most ? p->plan->bytes[i] : most;
    }
    return most;
}

/* Half of the traffic reads, half writes; more than a buffer holds goes through it in passes. */
static int make_streams(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_gpu_work *w = &p->work;
    uint64_t bytes = ((uint64_t)traffic_bytes(p) / 2 + 15) / 16 * 16;
    w->stream_bytes = bytes < INQ_GPU_MAX_BUFFER ? bytes : INQ_GPU_MAX_BUFFER;
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < p->plan->graph->n_ops; i++) {
        if (!is_traffic(p, i)) {
            continue;
        }
        uint32_t gpu = p->layout->spots[p->plan->graph->op[i].rank].gpu;
        uint32_t lane = p->plan->lane_of[i];
        if (w->streamed[gpu] == 0) {
            code = inq_gpu_session_alloc(p->session, gpu, w->stream_bytes, &w->streamed[gpu], err);
            code = code == INQ_OK ? fill_pattern(p, w->streamed[gpu], w->stream_bytes / 4, gpu, err)
                                  : code;
        }
        if (code == INQ_OK && w->stream[lane] == 0) {
            code = inq_gpu_session_alloc(p->session, gpu, w->stream_bytes, &w->stream[lane], err);
        }
    }
    return code;
}

static int put_traffic(struct inq_gpu_program *p, uint32_t lane, uint32_t op, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const struct inq_gpu_work *w = &p->work;
    uint32_t gpu = p->layout->spots[p->plan->lanes[lane].rank].gpu;
    uint64_t half = (uint64_t)p->plan->bytes[op] / 2;
    uint64_t passes = (half + w->stream_bytes - 1) / w->stream_bytes;
    passes = passes < 1 ? 1 : passes < UINT32_MAX ? passes : UINT32_MAX;
    const struct inq_gpu_stream_args args = {.to_at = w->stream[lane],
                                             .from_at = w->streamed[gpu],
                                             .elems = (half / passes + 15) / 16 * 4,
                                             .passes = (uint32_t)passes};
    const unsigned blocks = STREAM_BLOCKS * part_sms(p->session, gpu);
    const struct inq_gpu_launch launch = {INQ_KERNEL_STREAM, blocks, DATA_THREADS, &args,
                                          sizeof args};
    return calls->launch(calls->self, p->stream[lane], &launch, err);
}

/* ---- calibrated ------------------------------------------------------------------------------ */

static int64_t longest_product_ns(const struct inq_gpu_program *p)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < p->plan->graph->n_ops; i++) {
        bool longer = is_calibrated(p, i) && p->plan->dur_ns[i] > longest;
        longest = longer ? p->plan->dur_ns[i] : longest;
    }
    return longest;
}

/* Sizes worth making: a product that the fastest GPU needs longer for than the longest op lasts
 * stands for nothing. */
static size_t useful_sizes(const struct inq_gpu_program *p)
{
    const double most_flops_per_ns = 1e6; /* 1,000 TFLOP/s: bf16 of an H100, none is above by far */
    double longest = (double)longest_product_ns(p);
    size_t n = 1;
    while (n < N_SIZES && 2.0 * pow((double)library_sizes[n], 3.0) / most_flops_per_ns <= longest) {
        n++;
    }
    return n;
}

static const size_t bytes_of_type[INQ_PRODUCT_TYPE_COUNT] = {
    [INQ_PRODUCT_F32] = 4,  [INQ_PRODUCT_F16] = 2, [INQ_PRODUCT_BF16] = 2,
    [INQ_PRODUCT_TF32] = 4, [INQ_PRODUCT_F64] = 8, [INQ_PRODUCT_F8] = 1};

/* Bytes of the largest factor and result: of recorded products, and of the `sizes` smallest sizes
 * that stand for others. */
static void size_products(const struct inq_gpu_program *p, size_t sizes, size_t *factor,
                          size_t *result)
{
    const struct inq_product *products = p->plan->product;
    *factor = *result = (size_t)library_sizes[sizes - 1] * library_sizes[sizes - 1] * 2;
    for (size_t i = 0; p->own_gpus && products != NULL && i < p->plan->graph->n_ops; i++) {
        const struct inq_product *q = &products[i];
        size_t each = (size_t)q->batch * bytes_of_type[q->type];
        size_t a = (size_t)q->m * (size_t)q->k * each;
        size_t b = (size_t)q->k * (size_t)q->n * each;
        size_t c = (size_t)q->m * (size_t)q->n * (q->type == INQ_PRODUCT_F8 ? 2 : each);
        *factor = a > *factor ? a : *factor;
        *factor = b > *factor ? b : *factor;
        *result = c > *result ? c : *result;
    }
}

/* A library, if there is one for every partition. */
static int open_library(struct inq_gpu_program *p, size_t sizes, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    size_t factor = 0;
    size_t result = 0;
    size_products(p, sizes, &factor, &result);
    int code = calls->gemm != NULL ? INQ_OK : INQ_UNSUPPORTED;
    for (size_t r = 0; code == INQ_OK && r < p->layout->n_ranks; r++) {
        struct inq_gpu_spot spot = p->layout->spots[r];
        if (spot.part != INQ_NONE) {
            code = calls->gemm_open(calls->self, spot, factor, result, err);
            p->session->used_bytes[spot.gpu] += result + (spot.part == 0 ? factor : 0);
        }
    }
    return code;
}

static int open_products(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_err why = {0};
    p->work.n_sizes = useful_sizes(p);
    int code = open_library(p, p->work.n_sizes, &why);
    p->work.library = code == INQ_OK;
    if (code == INQ_UNSUPPORTED) {
        p->work.n_sizes = N_SIZES;
        return make_factors(p, err);
    }
    return code == INQ_OK ? INQ_OK : inq_err_set(err, code, "%s", why.message);
}

/* One product of each recorded type: what the library refuses (f8 before compute capability 8.9) is
 * done as so much work of another type. */
static int try_types(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    bool tried[INQ_PRODUCT_TYPE_COUNT] = {false};
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < p->plan->graph->n_ops; i++) {
        if (!is_shaped(p, i) || tried[p->plan->product[i].type]) {
            continue;
        }
        uint8_t type = p->plan->product[i].type;
        uint32_t lane = p->plan->lane_of[i];
        struct inq_gpu_spot spot = p->layout->spots[p->plan->lanes[lane].rank];
        tried[type] = true;
        p->work.refused[type] =
            calls->gemm(calls->self, spot, p->stream[lane], &p->plan->product[i], NULL) != INQ_OK;
        code = inq_gpu_session_wait(p->session, p->stream[lane], p->session->limit_ns, err);
    }
    return code;
}

/* The other partitions of the lane's GPU get products, too: in the execution all are busy, and
 * share its power and memory. */
static int load_others(struct inq_gpu_program *p, uint32_t lane, size_t size, struct inq_err *err)
{
    const struct inq_plan_lane *lanes = p->plan->lanes;
    uint32_t gpu = p->layout->spots[lanes[lane].rank].gpu;
    int code = INQ_OK;
    for (uint32_t k = 0; code == INQ_OK && k < p->plan->n_lanes; k++) {
        bool first_of_rank = k == 0 || lanes[k].rank != lanes[k - 1].rank;
        bool other = lanes[k].rank != lanes[lane].rank;
        bool beside = other && first_of_rank && p->layout->spots[lanes[k].rank].gpu == gpu;
        for (int i = 0; code == INQ_OK && beside && i < CALIBRATIONS; i++) {
            code = put_product(p, k, size, err);
        }
    }
    return code;
}

static int wait_for_lanes(struct inq_gpu_program *p, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t k = 0; k < p->plan->n_lanes; k++) {
        int ended = inq_gpu_session_wait(p->session, p->stream[k], p->session->limit_ns,
                                         code == INQ_OK ? err : NULL);
        code = code == INQ_OK ? ended : code;
    }
    return code;
}

/* Time of one product of size `size` on the lane's partition while the others have as much to do.
 */
static int time_product(struct inq_gpu_program *p, uint32_t lane, size_t size, int64_t *ns,
                        struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    uint32_t slot = (uint32_t)p->plan->graph->n_ops;
    uint64_t times[2] = {UINT64_MAX, 0};
    size_t offset = slot * sizeof(uint64_t);
    int code = calls->upload(calls->self, p->start + offset, &times[0], sizeof times[0], err);
    if (code == INQ_OK) {
        code = calls->upload(calls->self, p->end + offset, &times[1], sizeof times[1], err);
    }
    if (code == INQ_OK) {
        code = load_others(p, lane, size, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_program_put_op(p, lane, slot, INQ_GPU_DOES_BEGIN, err);
    }
    for (int i = 0; code == INQ_OK && i < CALIBRATIONS; i++) {
        code = put_product(p, lane, size, err);
    }
    if (code == INQ_OK) {
        code = inq_gpu_program_put_op(p, lane, slot, INQ_GPU_DOES_END, err);
    }
    int ended = wait_for_lanes(p, code == INQ_OK ? err : NULL);
    code = code == INQ_OK ? ended : code;
    if (code == INQ_OK) {
        code = calls->download(calls->self, &times[0], p->start + offset, sizeof times[0], err);
    }
    if (code == INQ_OK) {
        code = calls->download(calls->self, &times[1], p->end + offset, sizeof times[1], err);
    }
    *ns = (int64_t)(times[1] - times[0]) / CALIBRATIONS;
    return code;
}

/* Fills the menu of the lane's GPU. The first try loads and warms up; the best of the others
 * counts. A size that takes no longer than a smaller one is left out. */
static int calibrate(struct inq_gpu_program *p, uint32_t lane, struct inq_err *err)
{
    const int64_t longest_ns = longest_product_ns(p);
    uint32_t gpu = p->layout->spots[p->plan->lanes[lane].rank].gpu;
    struct inq_gpu_menu *menu = &p->work.menu[gpu];
    for (size_t i = 0; i < p->work.n_sizes; i++) {
        size_t last = menu->n;
        menu->size[last] = p->work.library ? library_sizes[i] : own_rounds[i];
        int64_t best = INT64_MAX;
        for (int try = 0; try <= TRIES; try++) {
            int64_t ns = 0;
            int code = time_product(p, lane, last, &ns, err);
            if (code != INQ_OK) {
                return code;
            }
            best = try > 0 && ns < best ? ns : best;
        }
        if (best > 0 && (last == 0 || best > menu->ns[last - 1])) {
            menu->ns[last] = best;
            menu->n++;
        }
        if (best > longest_ns) {
            break; /* larger ones stand for nothing */
        }
    }
    if (menu->n == 0) {
        return inq_err_set(err, INQ_DEVICE, "matrix products take no time on this GPU");
    }
    return INQ_OK;
}

static bool has_products(const struct inq_gpu_program *p)
{
    for (uint32_t i = 0; i < p->plan->graph->n_ops; i++) {
        if (is_calibrated(p, i)) { /* without a library all are */
            return true;
        }
    }
    return false;
}

/* One lane of each GPU stands for all: partitions of a GPU are alike. Every partition has run every
 * size before it counts, because libraries load kernels when they are first used. */
static int calibrate_all(struct inq_gpu_program *p, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t k = 0; code == INQ_OK && k < p->plan->n_lanes; k++) {
        uint32_t gpu = p->layout->spots[p->plan->lanes[k].rank].gpu;
        if (p->work.menu[gpu].n == 0) {
            code = calibrate(p, k, err);
            continue;
        }
        bool first_of_rank = k == 0 || p->plan->lanes[k].rank != p->plan->lanes[k - 1].rank;
        for (size_t i = 0; code == INQ_OK && first_of_rank && i < p->work.menu[gpu].n; i++) {
            code = put_product(p, k, i, err);
        }
    }
    int ended = wait_for_lanes(p, code == INQ_OK ? err : NULL);
    return code == INQ_OK ? ended : code;
}

/* ---- transfers by a library ------------------------------------------------------------------ */

/* Members of a group as the library has them: who sends is the first. */
static void find_members(const struct inq_gpu_program *p, uint32_t first, uint32_t n,
                         uint32_t *members)
{
    bool turned = p->plan->work[first] == INQ_WORK_RECV;
    for (uint32_t k = 0; k < n; k++) {
        members[k] = turned ? first + n - 1 - k : first + k;
    }
}

static int open_clique(struct inq_gpu_program *p, const uint32_t *gpus, uint32_t n, uint32_t *at,
                       struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    struct inq_gpu_work *w = &p->work;
    for (size_t c = 0; c < w->n_cliques; c++) {
        if (w->cliques[c].n == n && memcmp(w->cliques[c].gpus, gpus, n * sizeof *gpus) == 0) {
            *at = (uint32_t)c;
            return INQ_OK;
        }
    }
    if (w->n_cliques == INQ_GPU_MOST_CLIQUES) {
        return inq_err_set(err, INQ_UNSUPPORTED, "more than %zu groups of GPUs",
                           INQ_GPU_MOST_CLIQUES);
    }
    struct inq_gpu_clique *clique = &w->cliques[w->n_cliques];
    *clique = (struct inq_gpu_clique){.n = n};
    memcpy(clique->gpus, gpus, n * sizeof *gpus);
    int code = calls->clique_open(calls->self, gpus, n, &clique->handle, w->transfers, err);
    *at = (uint32_t)w->n_cliques;
    w->n_cliques += code == INQ_OK;
    return code;
}

static void close_cliques(struct inq_gpu_program *p)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    for (size_t c = 0; c < p->work.n_cliques; c++) {
        calls->clique_free(calls->self, p->work.cliques[c].handle);
    }
    p->work.n_cliques = 0;
}

static int find_cliques(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_graph *g = p->plan->graph;
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < g->n_ops; i += g->members[i]) {
        uint32_t members[INQ_GPU_MAX_GPUS];
        uint32_t gpus[INQ_GPU_MAX_GPUS];
        uint32_t n = g->members[i];
        p->work.clique_of[i] = INQ_NONE;
        if (n < 2 || n > INQ_GPU_MAX_GPUS || !moves_data(p->plan->work[i])) {
            continue;
        }
        find_members(p, i, n, members);
        for (uint32_t k = 0; k < n; k++) {
            gpus[k] = p->layout->spots[g->op[members[k]].rank].gpu;
        }
        code = open_clique(p, gpus, n, &p->work.clique_of[i], err);
    }
    return code;
}

/* Between GPUs that each have one rank, as the recorded run had them: all by the library, or, where
 * that cannot be, all by own kernels. */
static int open_transfers(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_gpu_work *w = &p->work;
    struct inq_err why = {0};
    if (!p->own_gpus || p->layout->n_gpus < 2 || p->session->calls->clique_open == NULL) {
        return INQ_OK;
    }
    w->clique_of = inq_mem_zalloc(p->plan->graph->n_ops + 1, sizeof *w->clique_of);
    if (w->clique_of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", p->plan->graph->n_ops);
    }
    int code = find_cliques(p, &why);
    if (code == INQ_UNSUPPORTED) {
        close_cliques(p);
        (void)snprintf(w->no_transfers, sizeof w->no_transfers, "%.*s",
                       (int)sizeof w->no_transfers - 1, why.message);
        return INQ_OK;
    }
    return code == INQ_OK ? INQ_OK : inq_err_set(err, (enum inq_code)code, "%s", why.message);
}

/* ---- making ---------------------------------------------------------------------------------- */

int inq_gpu_work_make(struct inq_gpu_program *program, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    struct inq_gpu_work *w = &program->work;
    w->send = inq_mem_zalloc(program->layout->n_ranks + 1, sizeof *w->send);
    w->recv = inq_mem_zalloc(program->plan->n_lanes + 1, sizeof *w->recv);
    w->c = inq_mem_zalloc(program->layout->n_ranks + 1, sizeof *w->c);
    w->stream = inq_mem_zalloc(program->plan->n_lanes + 1, sizeof *w->stream);
    w->host_send = inq_mem_zalloc(program->layout->n_ranks + 1, sizeof *w->host_send);
    w->host_recv = inq_mem_zalloc(program->plan->n_lanes + 1, sizeof *w->host_recv);
    if (w->send == NULL || w->recv == NULL || w->c == NULL || w->stream == NULL ||
        w->host_send == NULL || w->host_recv == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the buffers of %zu ranks",
                           program->layout->n_ranks);
    }
    w->buffer_bytes = inq_gpu_buffer_bytes(program->plan);
    const uint64_t none[2] = {0, 0};
    int code = INQ_OK;
    for (uint32_t g = 0; code == INQ_OK && g < program->layout->n_gpus; g++) {
        code = inq_gpu_session_alloc(program->session, g, sizeof none, &w->bad[g], err);
        if (code == INQ_OK) {
            code = calls->upload(calls->self, w->bad[g], none, sizeof none, err);
        }
    }
    if (code == INQ_OK && w->buffer_bytes > 0) {
        code = make_buffers(program, err);
    }
    if (code == INQ_OK) {
        code = open_transfers(program, err);
    }
    if (code == INQ_OK) {
        code = make_streams(program, err);
    }
    if (code == INQ_OK && has_products(program)) {
        code = open_products(program, err);
        code = code == INQ_OK ? try_types(program, err) : code;
        if (code == INQ_OK && has_products(program)) {
            code = calibrate_all(program, err);
        }
    }
    return code;
}

static void release_buffers(struct inq_gpu_program *program)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    struct inq_gpu_work *w = &program->work;
    const struct inq_gpu_spot *spots = program->layout->spots;
    close_cliques(program);
    for (size_t r = 0; r < program->layout->n_ranks; r++) {
        if (w->send != NULL) {
            calls->release(calls->self, spots[r].gpu, w->send[r]);
        }
        if (w->c != NULL) {
            calls->release(calls->self, spots[r].gpu, w->c[r]);
        }
        if (w->host_send != NULL) {
            calls->host_release(calls->self, w->host_send[r].host);
        }
    }
    for (size_t k = 0; k < program->plan->n_lanes; k++) {
        uint32_t gpu = spots[program->plan->lanes[k].rank].gpu;
        if (w->recv != NULL) {
            calls->release(calls->self, gpu, w->recv[k]);
        }
        if (w->stream != NULL) {
            calls->release(calls->self, gpu, w->stream[k]);
        }
        if (w->host_recv != NULL) {
            calls->host_release(calls->self, w->host_recv[k].host);
        }
    }
    for (uint32_t g = 0; g < program->layout->n_gpus; g++) {
        calls->release(calls->self, g, w->a[g]);
        calls->release(calls->self, g, w->b[g]);
        calls->release(calls->self, g, w->bad[g]);
        calls->release(calls->self, g, w->streamed[g]);
    }
}

void inq_gpu_work_release(struct inq_gpu_program *program)
{
    struct inq_gpu_work *w = &program->work;
    if (!program->session->lost) {
        release_buffers(program);
    }
    inq_mem_free(w->send);
    inq_mem_free(w->recv);
    inq_mem_free(w->c);
    inq_mem_free(w->stream);
    inq_mem_free(w->host_send);
    inq_mem_free(w->host_recv);
    inq_mem_free(w->clique_of);
}

/* ---- commands -------------------------------------------------------------------------------- */

static int put_products(struct inq_gpu_program *p, uint32_t lane, uint32_t op, struct inq_err *err)
{
    uint32_t count[INQ_GPU_SIZES];
    uint32_t gpu = p->layout->spots[p->plan->lanes[lane].rank].gpu;
    inq_gpu_menu_split(&p->work.menu[gpu], p->plan->dur_ns[op], count);
    int code = INQ_OK;
    for (size_t i = p->work.menu[gpu].n; i-- > 0;) {
        for (uint32_t k = 0; code == INQ_OK && k < count[i]; k++) {
            code = put_product(p, lane, i, err);
        }
    }
    return code;
}

static int put_compute(struct inq_gpu_program *p, uint32_t lane, uint32_t op, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    if (is_traffic(p, op)) {
        return put_traffic(p, lane, op, err);
    }
    if (is_shaped(p, op)) {
        struct inq_gpu_spot spot = p->layout->spots[p->plan->lanes[lane].rank];
        return calls->gemm(calls->self, spot, p->stream[lane], &p->plan->product[op], err);
    }
    return put_products(p, lane, op, err);
}

/* What the kernels do for a member: broadcasts and reductions to one are parts of those to all. */
static uint32_t data_work(uint8_t work, uint32_t member)
{
    return work == INQ_WORK_BROADCAST ? INQ_WORK_ALL_GATHER
           : work != INQ_WORK_REDUCE  ? work
           : member == 0              ? INQ_WORK_ALL_REDUCE
                                      : INQ_WORK_REDUCE_SCATTER;
}

/* A library reads what a member sends in one piece, and gives every member as much. */
static void fit_library(struct inq_gpu_data_args *a, uint8_t work, uint32_t n)
{
    const uint64_t most = a->mask + 1;
    bool shares = work == INQ_WORK_REDUCE_SCATTER || work == INQ_WORK_ALL_GATHER ||
                  work == INQ_WORK_ALL_TO_ALL;
    if (shares) {
        const uint64_t step = (uint64_t)n * 4;
        uint64_t whole = (a->elems + step - 1) / step * step;
        a->elems = whole <= most ? whole : most / step * step;
    }
    a->turn = a->elems < most ? a->turn % (most - a->elems) : 0;
}

/* What op's member of its transfer reads and writes. */
static struct inq_gpu_data_args data_of(struct inq_gpu_program *p, uint32_t op)
{
    const struct inq_plan *plan = p->plan;
    struct inq_gpu_work *w = &p->work;
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    struct inq_gpu_payload payload = inq_gpu_payload_of(plan, op, w->buffer_bytes);
    w->guessed |= payload.guessed;
    struct inq_gpu_data_args a = {.to_at = w->recv[plan->lane_of[op]],
                                  .elems = payload.elems,
                                  .mask = w->buffer_bytes / 4 - 1,
                                  .bad_at = w->bad[p->layout->spots[plan->graph->op[op].rank].gpu],
                                  .n = n,
                                  .self = op - first,
                                  .passes = payload.passes,
                                  .work = plan->work[op]};
    a.turn = (uint64_t)first * TURN & a.mask;
    if (inq_gpu_work_together(p, first)) {
        fit_library(&a, plan->work[op], n);
    }
    if (plan->work[op] == INQ_WORK_RECV || inq_gpu_copies(plan->work[op])) {
        a.n = 1;
        a.self = 0;
        a.rank[0] = (uint32_t)gpu_source_rank(plan, op);
        a.from_at[0] =
            plan->work[op] == INQ_WORK_COPY_HTOD ? w->host_send[a.rank[0]].at : w->send[a.rank[0]];
        a.to_at =
            plan->work[op] == INQ_WORK_COPY_DTOH ? w->host_recv[plan->lane_of[op]].at : a.to_at;
        return a;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t source = plan->work[op] == INQ_WORK_BROADCAST ? first : first + k;
        a.rank[k] = (uint32_t)plan->graph->op[source].rank;
        a.from_at[k] = w->send[a.rank[k]];
    }
    a.work = data_work(plan->work[op], a.self);
    return a;
}

/* From where the pattern is turned to, around its end. */
static int put_copies(struct inq_gpu_program *p, uint32_t lane, const struct inq_gpu_data_args *a,
                      struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    uint64_t until_end = a->mask + 1 - a->turn;
    uint64_t head = a->elems < until_end ? a->elems : until_end;
    int code = INQ_OK;
    for (uint32_t pass = 0; code == INQ_OK && pass < a->passes; pass++) {
        code = calls->copy(calls->self, p->stream[lane], a->to_at, a->from_at[0] + a->turn * 4,
                           head * 4, err);
        if (code == INQ_OK && head < a->elems) {
            code = calls->copy(calls->self, p->stream[lane], a->to_at + head * 4, a->from_at[0],
                               (a->elems - head) * 4, err);
        }
    }
    return code;
}

/* The whole group that begins with op `first`. */
static int put_exchange(struct inq_gpu_program *p, uint32_t first, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const struct inq_plan *plan = p->plan;
    const struct inq_gpu_work *w = &p->work;
    const struct inq_gpu_clique *clique = &w->cliques[w->clique_of[first]];
    uint32_t ops[INQ_GPU_MAX_GPUS] = {0};
    struct inq_gpu_member members[INQ_GPU_MAX_GPUS];
    find_members(p, first, clique->n, ops);
    const struct inq_gpu_data_args args = data_of(p, first);
    for (uint32_t k = 0; k < clique->n; k++) {
        uint32_t lane = plan->lane_of[ops[k]];
        size_t rank = (size_t)plan->graph->op[ops[k]].rank;
        members[k] =
            (struct inq_gpu_member){p->stream[lane], w->send[rank] + args.turn * 4, w->recv[lane]};
    }
    const struct inq_gpu_exchange exchange = {plan->work[ops[0]], args.elems, members};
    int code = INQ_OK;
    for (uint32_t pass = 0; code == INQ_OK && pass < args.passes; pass++) {
        code = calls->exchange(calls->self, clique->handle, &exchange, err);
    }
    return code;
}

int inq_gpu_work_put(struct inq_gpu_program *program, const struct inq_gpu_cmd *cmd,
                     struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    const struct inq_plan *plan = program->plan;
    uint8_t work = plan->work[cmd->at];
    if (work == INQ_WORK_COMPUTE) {
        return put_compute(program, cmd->lane, cmd->at, err);
    }
    if (cmd->kind == INQ_GPU_TOGETHER) {
        return put_exchange(program, cmd->at, err);
    }
    struct inq_gpu_data_args args = data_of(program, cmd->at);
    if (cmd->kind == INQ_GPU_WORK && !inq_gpu_reduces(work)) {
        return put_copies(program, cmd->lane, &args, err);
    }
    struct inq_gpu_launch launch = {
        INQ_KERNEL_REDUCE,
        data_blocks(program, program->layout->spots[plan->graph->op[cmd->at].rank].gpu),
        DATA_THREADS, &args, sizeof args};
    if (cmd->kind == INQ_GPU_CHECK) {
        if (work == INQ_WORK_REDUCE && args.self > 0 &&
            inq_gpu_work_together(program, cmd->at - args.self)) {
            return INQ_OK; /* the library leaves nothing there */
        }
        launch.kernel = INQ_KERNEL_CHECK;
    } else if (cmd->kind == INQ_GPU_COLLECT) {
        launch.kernel = INQ_KERNEL_GATHER;
        args.from_turn = inq_gpu_exchanges(work) ? args.turn : 0;
        for (uint32_t k = 0; !inq_gpu_exchanges(work) && k < args.n; k++) {
            args.from_at[k] = program->work.recv[plan->lane_of[cmd->at - args.self + k]];
        }
    }
    return calls->launch(calls->self, program->stream[cmd->lane], &launch, err);
}

int inq_gpu_work_verify(const struct inq_gpu_program *program, uint64_t *n, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    uint64_t wrong = 0;
    int code = INQ_OK;
    *n = 0;
    for (uint32_t g = 0; code == INQ_OK && g < program->layout->n_gpus; g++) {
        uint64_t seen[2] = {0, 0};
        code = calls->download(calls->self, seen, program->work.bad[g], sizeof seen, err);
        *n += seen[0];
        wrong += seen[1];
    }
    if (code == INQ_OK && wrong > 0) {
        return inq_err_set(err, INQ_DEVICE,
                           "%" PRIu64 " of %" PRIu64 " values that transfers brought are wrong",
                           wrong, *n);
    }
    return code;
}
