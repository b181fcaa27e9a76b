/* SPDX-License-Identifier: Apache-2.0 */
/* Real work: buffers with known patterns, products calibrated to durations, transfers that move and
 * reduce the recorded bytes, and the check of what arrived. */
#include "cuda/session.h"

#include "base/mem.h"
#include "base/sort.h"
#include "cuda/layout.h"

#include <inttypes.h>
#include <math.h>

/* The numbers of an execution on GPUs: payloads and buffers, durations as products, and what
 * launching costs. */

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

/* The rank whose pattern `op` (RECV, COPY) receives. */
static int32_t gpu_source_rank(const struct inq_plan *plan, uint32_t op)
{
    const struct inq_graph *g = plan->graph;
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(g, op, &n);
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

/* ---- launching ------------------------------------------------------------------------------- */

static int64_t delay_of(const struct inq_plan *plan, uint32_t op)
{
    return plan->delay_ns != NULL ? plan->delay_ns[op] : 0;
}

/* When all that `op` waits for has ended; 0: it waits for nothing. */
static uint64_t ready_at(const struct inq_plan *plan, uint32_t op, const uint64_t *end)
{
    const struct inq_graph *g = plan->graph;
    uint64_t ready = 0;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        ready = end[g->deps[d]] > ready ? end[g->deps[d]] : ready;
    }
    uint32_t place = plan->place_of[op];
    if (place > 0) {
        uint64_t before = end[plan->lanes[plan->lane_of[op]].ops[place - 1]];
        ready = before > ready ? before : ready;
    }
    return ready;
}

static uint64_t last_start(const struct inq_plan *plan, uint32_t op, const uint64_t *start)
{
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    uint64_t last = 0;
    for (uint32_t k = first; k < first + n; k++) {
        last = start[k] > last ? start[k] : last;
    }
    return last;
}

/* Mean of the middle half: not moved by ops that were held up, and finer than the timer's step,
 * which a median is not. */
static int64_t middle_mean(int64_t *values, size_t n)
{
    int64_t sum = 0;
    size_t from = n / 4;
    size_t to = n - n / 4;
    inq_sort_i64(values, n);
    for (size_t i = from; i < to; i++) {
        sum += values[i];
    }
    int64_t mean = to > from ? sum / (int64_t)(to - from) : 0;
    return mean > 0 ? mean : 0;
}

int inq_gpu_gaps_find(const struct inq_plan *plan, const uint64_t *start, const uint64_t *end,
                      struct inq_gpu_gaps *gaps, struct inq_err *err)
{
    size_t n_ops = plan->graph->n_ops;
    *gaps = (struct inq_gpu_gaps){0};
    int64_t *late = inq_mem_alloc((n_ops + 1) * sizeof *late);
    int64_t *over = inq_mem_alloc((n_ops + 1) * sizeof *over);
    int code = INQ_OK;
    if (late == NULL || over == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of %zu ops", n_ops);
    }
    size_t n_late = 0;
    size_t n_over = 0;
    for (uint32_t i = 0; code == INQ_OK && i < n_ops; i++) {
        uint64_t ready = ready_at(plan, i, end);
        if (ready > 0) {
            late[n_late++] = (int64_t)(start[i] - ready) - delay_of(plan, i);
        }
        if (plan->dur_ns[i] > 0) {
            over[n_over++] = (int64_t)(end[i] - last_start(plan, i, start)) - plan->dur_ns[i];
        }
    }
    if (code == INQ_OK) {
        gaps->n = n_late;
        gaps->launch_ns = middle_mean(late, n_late);
        gaps->hold_ns = middle_mean(over, n_over);
    }
    inq_mem_free(late);
    inq_mem_free(over);
    return code;
}

void inq_gpu_gaps_take(const struct inq_plan *plan, const struct inq_gpu_gaps *gaps,
                       int64_t *delay_ns, int64_t *dur_ns)
{
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        bool waits =
            plan->graph->dep_start[i + 1] > plan->graph->dep_start[i] || plan->place_of[i] > 0;
        int64_t gap = gaps->hold_ns + (waits ? gaps->launch_ns : 0);
        int64_t delay = delay_of(plan, i);
        int64_t of_delay = gap < delay ? gap : delay;
        delay_ns[i] = delay - of_delay;
        int64_t dur = plan->dur_ns[i] - (gap - of_delay);
        dur_ns[i] = dur > 0 ? dur : 0;
    }
}

#define DATA_THREADS    256
#define MAX_DATA_BLOCKS 32U /* a transfer takes a share of the SMs, as communication kernels do */
#define CALIBRATIONS    8   /* products timed together */
#define TRIES           3
#define TURN            4092U /* elements between the turns of two transfers; a multiple of 4 */

static const unsigned library_sizes[] = {256, 512, 1024, 2048, 4096, 8192, 16384};
static const unsigned own_rounds[] = {16, 64, 256, 1024, 4096, 16384, 65536};
#define N_SIZES (sizeof library_sizes / sizeof *library_sizes)

/* ---- buffers --------------------------------------------------------------------------------- */

static unsigned data_blocks(const struct inq_gpu_program *p, uint32_t gpu)
{
    unsigned blocks = inq_gpu_part_sms(p->session, gpu) / 4;
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

/* What each rank sends, and what each lane with transfers receives. */
static int make_buffers(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const struct inq_plan *plan = p->plan;
    struct inq_gpu_work *w = &p->work;
    int code = INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < p->layout->n_ranks; r++) {
        struct inq_gpu_spot spot = p->layout->spots[r];
        if (spot.part == INQ_NONE) {
            continue;
        }
        code = calls->alloc(calls->self, spot.gpu, w->buffer_bytes, &w->send[r], err);
        if (code == INQ_OK) {
            code = fill_pattern(p, w->send[r], w->buffer_bytes / 4, (uint32_t)r, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < plan->graph->n_ops; i++) {
        inq_gpu_addr *to = &w->recv[plan->lane_of[i]];
        if (inq_gpu_receives(plan->work[i]) && *to == 0) {
            uint32_t gpu = p->layout->spots[plan->graph->op[i].rank].gpu;
            code = calls->alloc(calls->self, gpu, w->buffer_bytes, to, err);
        }
    }
    return code;
}

/* ---- products -------------------------------------------------------------------------------- */

static int put_product(struct inq_gpu_program *p, uint32_t lane, size_t size, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    size_t rank = (size_t)p->plan->lanes[lane].rank;
    struct inq_gpu_spot spot = p->layout->spots[rank];
    unsigned n = p->work.menu[spot.gpu].size[size];
    if (p->work.library) {
        return calls->gemm(calls->self, spot, p->stream[lane], n, err);
    }
    const struct inq_gpu_gemm_args args = {.a_at = p->work.a[spot.gpu],
                                           .b_at = p->work.b[spot.gpu],
                                           .c_at = p->work.c[rank],
                                           .rounds = n};
    const struct inq_gpu_launch launch = {INQ_KERNEL_GEMM, inq_gpu_part_sms(p->session, spot.gpu),
                                          256, &args, sizeof args};
    return calls->launch(calls->self, p->stream[lane], &launch, err);
}

/* The factors that own products share, and their results. */
static int make_factors(struct inq_gpu_program *p, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    const uint64_t elems = (uint64_t)INQ_GPU_GEMM_N * INQ_GPU_GEMM_N;
    struct inq_gpu_work *w = &p->work;
    int code = INQ_OK;
    for (uint32_t g = 0; code == INQ_OK && g < p->layout->n_gpus; g++) {
        code = calls->alloc(calls->self, g, elems * sizeof(float), &w->a[g], err);
        if (code == INQ_OK) {
            code = calls->alloc(calls->self, g, elems * sizeof(float), &w->b[g], err);
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
            code = calls->alloc(calls->self, spot.gpu,
                                tile * inq_gpu_part_sms(p->session, spot.gpu), &w->c[r], err);
        }
    }
    return code;
}

static int64_t longest_product_ns(const struct inq_plan *plan)
{
    int64_t longest = 0;
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        bool longer = plan->work[i] == INQ_WORK_COMPUTE && plan->dur_ns[i] > longest;
        longest = longer ? plan->dur_ns[i] : longest;
    }
    return longest;
}

/* Sizes worth making: a product that the fastest GPU needs longer for than the longest op lasts
 * stands for nothing. */
static size_t useful_sizes(const struct inq_plan *plan)
{
    const double most_flops_per_ns = 1e6; /* 1,000 TFLOP/s: bf16 of an H100, none is above by far */
    double longest = (double)longest_product_ns(plan);
    size_t n = 1;
    while (n < N_SIZES && 2.0 * pow((double)library_sizes[n], 3.0) / most_flops_per_ns <= longest) {
        n++;
    }
    return n;
}

/* A library, if there is one for every partition, with products of the `sizes` smallest sizes. */
static int open_library(struct inq_gpu_program *p, size_t sizes, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = p->session->calls;
    int code = calls->gemm != NULL ? INQ_OK : INQ_UNSUPPORTED;
    for (size_t r = 0; code == INQ_OK && r < p->layout->n_ranks; r++) {
        struct inq_gpu_spot spot = p->layout->spots[r];
        if (spot.part != INQ_NONE) {
            code = calls->gemm_open(calls->self, spot, library_sizes[sizes - 1], err);
        }
    }
    return code;
}

static int open_products(struct inq_gpu_program *p, struct inq_err *err)
{
    struct inq_err why = {0};
    p->work.n_sizes = useful_sizes(p->plan);
    int code = open_library(p, p->work.n_sizes, &why);
    p->work.library = code == INQ_OK;
    if (code == INQ_UNSUPPORTED) {
        p->work.n_sizes = N_SIZES;
        return make_factors(p, err);
    }
    return code == INQ_OK ? INQ_OK : inq_err_set(err, code, "%s", why.message);
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
    const int64_t longest_ns = longest_product_ns(p->plan);
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

static bool has_products(const struct inq_plan *plan)
{
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        if (plan->work[i] == INQ_WORK_COMPUTE && plan->dur_ns[i] > 0) {
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

/* ---- making ---------------------------------------------------------------------------------- */

int inq_gpu_work_make(struct inq_gpu_program *program, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    struct inq_gpu_work *w = &program->work;
    w->send = inq_mem_zalloc(program->layout->n_ranks + 1, sizeof *w->send);
    w->recv = inq_mem_zalloc(program->plan->n_lanes + 1, sizeof *w->recv);
    w->c = inq_mem_zalloc(program->layout->n_ranks + 1, sizeof *w->c);
    if (w->send == NULL || w->recv == NULL || w->c == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the buffers of %zu ranks",
                           program->layout->n_ranks);
    }
    w->buffer_bytes = inq_gpu_buffer_bytes(program->plan);
    const uint64_t none[2] = {0, 0};
    int code = INQ_OK;
    for (uint32_t g = 0; code == INQ_OK && g < program->layout->n_gpus; g++) {
        code = calls->alloc(calls->self, g, sizeof none, &w->bad[g], err);
        if (code == INQ_OK) {
            code = calls->upload(calls->self, w->bad[g], none, sizeof none, err);
        }
    }
    if (code == INQ_OK && w->buffer_bytes > 0) {
        code = make_buffers(program, err);
    }
    if (code == INQ_OK && has_products(program->plan)) {
        code = open_products(program, err);
        if (code == INQ_OK) {
            code = calibrate_all(program, err);
        }
    }
    return code;
}

void inq_gpu_work_release(struct inq_gpu_program *program)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    struct inq_gpu_work *w = &program->work;
    const struct inq_gpu_spot *spots = program->layout->spots;
    for (size_t r = 0; r < program->layout->n_ranks; r++) {
        if (w->send != NULL) {
            calls->release(calls->self, spots[r].gpu, w->send[r]);
        }
        if (w->c != NULL) {
            calls->release(calls->self, spots[r].gpu, w->c[r]);
        }
    }
    for (size_t k = 0; w->recv != NULL && k < program->plan->n_lanes; k++) {
        calls->release(calls->self, spots[program->plan->lanes[k].rank].gpu, w->recv[k]);
    }
    for (uint32_t g = 0; g < program->layout->n_gpus; g++) {
        calls->release(calls->self, g, w->a[g]);
        calls->release(calls->self, g, w->b[g]);
        calls->release(calls->self, g, w->bad[g]);
    }
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

/* What the kernels do for a member: broadcasts and reductions to one are parts of those to all. */
static uint32_t data_work(uint8_t work, uint32_t member)
{
    return work == INQ_WORK_BROADCAST ? INQ_WORK_ALL_GATHER
           : work != INQ_WORK_REDUCE  ? work
           : member == 0              ? INQ_WORK_ALL_REDUCE
                                      : INQ_WORK_REDUCE_SCATTER;
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
    if (plan->work[op] == INQ_WORK_RECV || plan->work[op] == INQ_WORK_COPY) {
        a.n = 1;
        a.self = 0;
        a.rank[0] = (uint32_t)gpu_source_rank(plan, op);
        a.from_at[0] = w->send[a.rank[0]];
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

int inq_gpu_work_put(struct inq_gpu_program *program, const struct inq_gpu_cmd *cmd,
                     struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    const struct inq_plan *plan = program->plan;
    uint8_t work = plan->work[cmd->at];
    if (work == INQ_WORK_COMPUTE) {
        return put_products(program, cmd->lane, cmd->at, err);
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

int inq_gpu_work_judge(const struct inq_gpu_program *program, uint64_t *n, struct inq_err *err)
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
