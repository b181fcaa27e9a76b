/* SPDX-License-Identifier: Apache-2.0 */
/* The calls on open GPUs, one driver call each where that is possible. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA

#include "base/mem.h"
#include "base/time.h"
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The context of a spot. */
static CUcontext cu_ctx(const struct inq_cu_driver *driver, struct inq_gpu_spot spot)
{
    const struct inq_cu_gpu *gpu = &driver->gpus[spot.gpu];
    return spot.part == INQ_GPU_WHOLE ? gpu->ctx : gpu->parts[spot.part].ctx;
}

/* Matrix products by cuBLAS, which is loaded if it is there. Its calls are declared here: the build
 * needs no cuBLAS. */

/* values of cuBLAS 11 to 13 */
enum { OP_N = 0, OP_T = 1, ALGO_DEFAULT = -1 };
enum { TYPE_F32 = 0, TYPE_F64 = 1, TYPE_F16 = 2, TYPE_BF16 = 14, TYPE_E4M3 = 28 };
enum { COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };
enum { LT_DESC_TRANSA = 3 };

#define WORKSPACE_BYTES ((size_t)32 << 20)

typedef int blas_create(void **handle);
typedef int blas_destroy(void *handle);
typedef int blas_set_stream(void *handle, CUstream stream);
typedef int blas_set_workspace(void *handle, void *workspace, size_t bytes);
typedef int blas_gemm_ex(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                         const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                         const void *beta, void *c, int type_c, int ldc, int compute, int algo);

typedef int blas_gemm_batched(void *handle, int op_a, int op_b, int m, int n, int k,
                              const void *alpha, const void *a, int type_a, int lda,
                              long long stride_a, const void *b, int type_b, int ldb,
                              long long stride_b, const void *beta, void *c, int type_c, int ldc,
                              long long stride_c, int batch, int compute, int algo);

/* cuBLASLt, on which cuBLAS stands: its symbols come with it, and it takes cuBLAS' handles. */
typedef int lt_desc_create(void **desc, int compute, int scale_type);
typedef int lt_desc_set(void *desc, int attribute, const void *value, size_t bytes);
typedef int lt_layout_create(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
typedef int lt_destroy(void *made);
typedef int lt_matmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
                      const void *b, void *layout_b, const void *beta, const void *c,
                      void *layout_c, void *d, void *layout_d, const void *algo, void *workspace,
                      size_t bytes, CUstream stream);

struct inq_cu_blas {
    /* NULL: not there; only f8 needs them */
    lt_desc_create *lt_desc_create;
    lt_desc_set *lt_desc_set;
    lt_layout_create *lt_layout_create;
    lt_destroy *lt_desc_destroy, *lt_layout_destroy;
    lt_matmul *lt_matmul;
    blas_create *create;
    blas_destroy *destroy;
    blas_set_stream *set_stream;
    blas_set_workspace *set_workspace;
    blas_gemm_ex *gemm_ex;
    blas_gemm_batched *gemm_batched;
};

static bool find(void *library, const char *symbol, void *call, size_t size)
{
    void *found = dlsym(library, symbol);
    memcpy(call, &found, size);
    return found != NULL;
}

/* The calls of one library, or NULL. It stays loaded, as the driver does. */
static struct inq_cu_blas *load(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct inq_cu_blas *b = library != NULL ? inq_mem_zalloc(1, sizeof *b) : NULL;
    if (b == NULL) {
        return NULL;
    }
    bool all = find(library, "cublasCreate_v2", &b->create, sizeof b->create);
    all = find(library, "cublasDestroy_v2", &b->destroy, sizeof b->destroy) && all;
    all = find(library, "cublasSetStream_v2", &b->set_stream, sizeof b->set_stream) && all;
    all = find(library, "cublasSetWorkspace_v2", &b->set_workspace, sizeof b->set_workspace) && all;
    all = find(library, "cublasGemmEx", &b->gemm_ex, sizeof b->gemm_ex) && all;
    all = find(library, "cublasGemmStridedBatchedEx", &b->gemm_batched, sizeof b->gemm_batched) &&
          all;
    if (!all) {
        inq_mem_free(b);
        return NULL;
    }
    bool lt =
        find(library, "cublasLtMatmulDescCreate", &b->lt_desc_create, sizeof b->lt_desc_create);
    lt = find(library, "cublasLtMatmulDescSetAttribute", &b->lt_desc_set, sizeof b->lt_desc_set) &&
         lt;
    lt = find(library, "cublasLtMatmulDescDestroy", &b->lt_desc_destroy,
              sizeof b->lt_desc_destroy) &&
         lt;
    lt = find(library, "cublasLtMatrixLayoutCreate", &b->lt_layout_create,
              sizeof b->lt_layout_create) &&
         lt;
    lt = find(library, "cublasLtMatrixLayoutDestroy", &b->lt_layout_destroy,
              sizeof b->lt_layout_destroy) &&
         lt;
    lt = find(library, "cublasLtMatmul", &b->lt_matmul, sizeof b->lt_matmul) && lt;
    b->lt_matmul = lt ? b->lt_matmul : NULL;
    return b;
}

/* The newest library that starts: one that is newer than the driver opens, and fails here. */
static int start(struct inq_cu_driver *d, struct inq_cu_part *part, struct inq_err *err)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
    bool chosen = d->blas != NULL;
    bool any = chosen;
    for (size_t i = 0; part->blas == NULL && i < (chosen ? 1 : sizeof names / sizeof *names); i++) {
        d->blas = chosen ? d->blas : load(names[i]);
        any = any || d->blas != NULL;
        if (d->blas != NULL && d->blas->create(&part->blas) != 0) {
            part->blas = NULL;
        }
        if (part->blas == NULL && !chosen) {
            inq_mem_free(d->blas);
            d->blas = NULL;
        }
    }
    if (part->blas == NULL) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           any ? "cuBLAS does not start on this partition" : "there is no cuBLAS");
    }
    return INQ_OK;
}

static int grow_room(const struct inq_cu_driver *d, struct inq_cu_room *room, size_t bytes,
                     const char *what, struct inq_err *err)
{
    CUdeviceptr at = 0;
    if (room->before != 0) { /* not by two plans in one session */
        return inq_err_set(err, INQ_LIMIT, "%s: more than two plans at once", what);
    }
    int code = inq_cu_check(d, d->cu.cuMemAlloc(&at, bytes), what, err);
    if (code == INQ_OK) {
        *room = (struct inq_cu_room){at, room->at, bytes};
    }
    return code;
}

static void drop_room(const struct inq_cu_driver *d, struct inq_cu_room *room)
{
    const CUdeviceptr both[] = {room->at, room->before};
    for (int i = 0; i < 2; i++) {
        if (both[i] != 0) {
            (void)d->cu.cuMemFree(both[i]);
        }
    }
    *room = (struct inq_cu_room){0};
}

/* Halves (bf16) between -2 and 2 with every bit in use: products of zeros would draw less power.
 * Their bits are as good as f16, and two of them as f32. */
static int make_factors(struct inq_cu_driver *d, struct inq_cu_gpu *gpu, size_t bytes,
                        struct inq_err *err)
{
    const size_t most = (size_t)1 << 24;
    const size_t part = bytes < most ? bytes : most;
    uint16_t *values = inq_mem_alloc(part);
    if (values == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for factors of %zu bytes", bytes);
    }
    uint32_t state = 1;
    for (size_t i = 0; i < part / sizeof *values; i++) {
        state = state * 1664525U + 1013904223U;
        uint32_t bits = state >> 16;
        values[i] = (uint16_t)((bits & 0x80ffU) | 0x3f00U); /* sign and fraction vary */
    }
    int code = grow_room(d, &gpu->factors, bytes, "allocating factors", err);
    for (size_t at = 0; code == INQ_OK && at < bytes; at += part) {
        size_t n = bytes - at < part ? bytes - at : part;
        code = inq_cu_check(d, d->cu.cuMemcpyHtoD(gpu->factors.at + at, values, n),
                            "copying factors", err);
    }
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuCtxSynchronize(), "copying factors", err);
    }
    inq_mem_free(values);
    return code;
}

static void close_part(struct inq_cu_driver *d, struct inq_cu_part *part)
{
    (void)d->cu.cuCtxSetCurrent(part->ctx);
    if (part->blas != NULL) {
        (void)d->blas->destroy(part->blas);
    }
    if (part->workspace != 0) {
        (void)d->cu.cuMemFree(part->workspace);
    }
    drop_room(d, &part->result);
    part->blas = NULL;
    part->workspace = 0;
}

/* ---- matrix products by cuBLAS, which is loaded if it is there: the build needs none ---- */

static int cu_gemm_open(void *self, struct inq_gpu_spot spot, size_t factor_bytes,
                        size_t result_bytes, struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    struct inq_cu_gpu *gpu = &d->gpus[spot.gpu];
    struct inq_cu_part *part = &gpu->parts[spot.part];
    int code = inq_cu_check(d, d->cu.cuCtxSetCurrent(part->ctx), "choosing a partition", err);
    if (code == INQ_OK && part->blas == NULL) {
        code = start(d, part, err);
    }
    if (code == INQ_OK && gpu->factors.bytes < factor_bytes) {
        code = make_factors(d, gpu, factor_bytes, err);
    }
    if (code == INQ_OK && part->result.bytes < result_bytes) {
        code = grow_room(d, &part->result, result_bytes, "allocating products", err);
    }
    if (code == INQ_OK && part->workspace == 0) {
        code = inq_cu_check(d, d->cu.cuMemAlloc(&part->workspace, WORKSPACE_BYTES),
                            "allocating a workspace", err);
    }
    if (code != INQ_OK) {
        close_part(d, part);
    }
    return code;
}

/* Factors of f8 are columns of k each, as cuBLASLt wants them and PyTorch's _scaled_mm takes them.
 * Its own choice of an algorithm is the one for these sizes. */
static int multiply_f8(const struct inq_cu_driver *d, const struct inq_cu_gpu *gpu,
                       const struct inq_cu_part *part, const struct inq_product *q, CUstream stream)
{
    enum { FACTOR_A, FACTOR_B, RESULT, LAYOUTS, NOT_SUPPORTED = 15 };
    const struct inq_cu_blas *blas = d->blas;
    const float one = 1.0F;
    const float zero = 0.0F;
    const int32_t transposed = OP_T;
    const struct {
        int type;
        int32_t rows, columns;
    } shapes[LAYOUTS] = {[FACTOR_A] = {TYPE_E4M3, q->k, q->n},
                         [FACTOR_B] = {TYPE_E4M3, q->k, q->m},
                         [RESULT] = {TYPE_BF16, q->n, q->m}};
    void *layouts[LAYOUTS] = {NULL};
    void *desc = NULL;
    const void *factors = (const void *)(uintptr_t)gpu->factors.at;
    void *result = (void *)(uintptr_t)part->result.at;
    if (blas->lt_matmul == NULL) {
        return NOT_SUPPORTED;
    }
    int status = blas->lt_desc_create(&desc, COMPUTE_F32, TYPE_F32);
    status = status == 0 ? blas->lt_desc_set(desc, LT_DESC_TRANSA, &transposed, sizeof transposed)
                         : status;
    for (int i = 0; status == 0 && i < LAYOUTS; i++) {
        status = blas->lt_layout_create(&layouts[i], shapes[i].type, (uint64_t)shapes[i].rows,
                                        (uint64_t)shapes[i].columns, shapes[i].rows);
    }
    status = status == 0
                 ? blas->lt_matmul(part->blas, desc, &one, factors, layouts[FACTOR_A], factors,
                                   layouts[FACTOR_B], &zero, result, layouts[RESULT], result,
                                   layouts[RESULT], NULL, (void *)(uintptr_t)part->workspace,
                                   WORKSPACE_BYTES, stream)
                 : status;
    for (int i = 0; i < LAYOUTS; i++) {
        (void)(layouts[i] != NULL ? blas->lt_layout_destroy(layouts[i]) : 0);
    }
    (void)(desc != NULL ? blas->lt_desc_destroy(desc) : 0);
    return status;
}

/* Rows are contiguous, as PyTorch has them: to the library, whose columns are, the product of the
 * factors the other way round. */
static int multiply(const struct inq_cu_driver *d, const struct inq_cu_gpu *gpu,
                    const struct inq_cu_part *part, const struct inq_product *q)
{
    static const int types[] = {[INQ_PRODUCT_F32] = TYPE_F32,
                                [INQ_PRODUCT_F16] = TYPE_F16,
                                [INQ_PRODUCT_BF16] = TYPE_BF16,
                                [INQ_PRODUCT_TF32] = TYPE_F32,
                                [INQ_PRODUCT_F64] = TYPE_F64};
    const float one_f32 = 1.0F;
    const double one_f64 = 1.0;
    const double zero = 0.0; /* of either type */
    const bool f64 = q->type == INQ_PRODUCT_F64;
    const void *one = f64 ? (const void *)&one_f64 : (const void *)&one_f32;
    const int compute = f64                           ? COMPUTE_F64
                        : q->type == INQ_PRODUCT_TF32 ? COMPUTE_TF32
                                                      : COMPUTE_F32;
    const int type = types[q->type];
    const void *factors = (const void *)(uintptr_t)gpu->factors.at;
    void *result = (void *)(uintptr_t)part->result.at;
    if (q->batch == 1) {
        return d->blas->gemm_ex(part->blas, OP_N, OP_N, q->n, q->m, q->k, one, factors, type, q->n,
                                factors, type, q->k, &zero, result, type, q->n, compute,
                                ALGO_DEFAULT);
    }
    return d->blas->gemm_batched(part->blas, OP_N, OP_N, q->n, q->m, q->k, one, factors, type, q->n,
                                 (long long)q->k * q->n, factors, type, q->k,
                                 (long long)q->m * q->k, &zero, result, type, q->n,
                                 (long long)q->m * q->n, q->batch, compute, ALGO_DEFAULT);
}

static int cu_gemm(void *self, struct inq_gpu_spot spot, void *stream,
                   const struct inq_product *product, struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    const struct inq_cu_gpu *gpu = &d->gpus[spot.gpu];
    const struct inq_cu_part *part = &gpu->parts[spot.part];
    void *workspace = (void *)(uintptr_t)part->workspace;
    int code = inq_cu_check(d, d->cu.cuCtxSetCurrent(part->ctx), "choosing a partition", err);
    if (code != INQ_OK) {
        return code;
    }
    /* Setting the stream takes the workspace away, and a captured product must not allocate one.
     * Lanes of a rank share it and the result: nobody reads what the products are. */
    int status = d->blas->set_stream(part->blas, stream);
    status = status == 0 ? d->blas->set_workspace(part->blas, workspace, WORKSPACE_BYTES) : status;
    bool f8 = product->type == INQ_PRODUCT_F8;
    status = status != 0 ? status
             : f8        ? multiply_f8(d, gpu, part, product, stream)
                         : multiply(d, gpu, part, product);
    return status == 0 ? INQ_OK
                       : inq_err_set(err, INQ_DEVICE, "cuBLAS failed with status %d", status);
}

/* ---- transfers by NCCL, which is loaded if it is there -----------------------------------------
 */

/* values of NCCL 2 */
enum {
    NCCL_FLOAT = 7,
    NCCL_SUM = 0,
    NCCL_LEAST = 2700
}; /* 2.7: the first that sends and receives */

typedef int ncclGetVersion_call(int *version);
typedef int ncclCommInitAll_call(void **comms, int n, const int *devices);
typedef int ncclCommDestroy_call(void *comm);
typedef int ncclGroupStart_call(void);
typedef int ncclGroupEnd_call(void);
typedef int ncclAllReduce_call(const void *from, void *to, size_t n, int type, int op, void *comm,
                               CUstream stream);
typedef int ncclReduce_call(const void *from, void *to, size_t n, int type, int op, int root,
                            void *comm, CUstream stream);
typedef int ncclBroadcast_call(const void *from, void *to, size_t n, int type, int root, void *comm,
                               CUstream stream);
typedef int ncclReduceScatter_call(const void *from, void *to, size_t n, int type, int op,
                                   void *comm, CUstream stream);
typedef int ncclAllGather_call(const void *from, void *to, size_t n, int type, void *comm,
                               CUstream stream);
typedef int ncclSend_call(const void *from, size_t n, int type, int peer, void *comm,
                          CUstream stream);
typedef int ncclRecv_call(void *to, size_t n, int type, int peer, void *comm, CUstream stream);
typedef const char *ncclGetErrorString_call(int status);

#define NCCL_CALLS(X)                                                                              \
    X(ncclGetVersion)                                                                              \
    X(ncclGetErrorString)                                                                          \
    X(ncclCommInitAll)                                                                             \
    X(ncclCommDestroy)                                                                             \
    X(ncclGroupStart)                                                                              \
    X(ncclGroupEnd)                                                                                \
    X(ncclAllReduce)                                                                               \
    X(ncclReduce)                                                                                  \
    X(ncclBroadcast)                                                                               \
    X(ncclReduceScatter)                                                                           \
    X(ncclAllGather)                                                                               \
    X(ncclSend)                                                                                    \
    X(ncclRecv)

struct inq_cu_nccl {
#define NCCL_MEMBER(name) name##_call *(name);
    NCCL_CALLS(NCCL_MEMBER)
#undef NCCL_MEMBER
    int version;
};

struct clique {
    uint32_t n;
    void *comms[INQ_GPU_MAX_GPUS];
};

/* "NCCL 2.28.9": a version is 2809 up to 2.8, and 20901 from 2.9 on. */
static void nccl_name(int version, char name[INQ_GPU_LIBRARY_NAME])
{
    int major = version < 10000 ? version / 1000 : version / 10000;
    int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
    (void)snprintf(name, INQ_GPU_LIBRARY_NAME, "NCCL %d.%d.%d", major, minor, version % 100);
}

static int load_nccl(struct inq_cu_nccl *nccl, struct inq_err *err)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    char name[INQ_GPU_LIBRARY_NAME];
    if (library == NULL) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no NCCL (libnccl.so.2 cannot be loaded)");
    }
    bool all = true;
#define NCCL_FIND(name) all = find(library, #name, &nccl->name, sizeof nccl->name) && all;
    NCCL_CALLS(NCCL_FIND)
#undef NCCL_FIND
    if (nccl->ncclGetVersion == NULL || nccl->ncclGetVersion(&nccl->version) != 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "libnccl.so.2 does not say its version");
    }
    nccl_name(nccl->version, name);
    return all && nccl->version >= NCCL_LEAST
               ? INQ_OK
               : inq_err_set(err, INQ_UNSUPPORTED, "%s is too old: 2.7 or later is needed", name);
}

static int check_nccl(const struct inq_cu_nccl *nccl, int status, enum inq_code code,
                      const char *doing, struct inq_err *err)
{
    return status == 0
               ? INQ_OK
               : inq_err_set(err, code, "%s: NCCL: %s", doing, nccl->ncclGetErrorString(status));
}

static void clique_free(void *self, void *clique)
{
    const struct inq_cu_driver *d = self;
    struct clique *c = clique;
    for (uint32_t k = 0; c != NULL && k < c->n; k++) {
        (void)d->nccl->ncclCommDestroy(c->comms[k]);
    }
    inq_mem_free(c);
}

static int clique_open(void *self, const uint32_t *gpus, uint32_t n, void **clique,
                       char name[INQ_GPU_LIBRARY_NAME], struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    int numbers[INQ_GPU_MAX_GPUS];
    struct clique *c = inq_mem_zalloc(1, sizeof *c);
    struct inq_cu_nccl *nccl = d->nccl != NULL ? d->nccl : inq_mem_zalloc(1, sizeof *nccl);
    int code = c != NULL && nccl != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for connecting %u GPUs", n);
    if (code == INQ_OK && d->nccl == NULL) {
        code = load_nccl(nccl, err);
    }
    if (code == INQ_OK) {
        d->nccl = nccl;
        for (uint32_t k = 0; k < n; k++) {
            numbers[k] = d->gpus[gpus[k]].number;
        }
        code = check_nccl(nccl, nccl->ncclCommInitAll(c->comms, (int)n, numbers), INQ_UNSUPPORTED,
                          "connecting GPUs", err);
    }
    if (code == INQ_OK) {
        c->n = n;
        nccl_name(nccl->version, name);
        *clique = c;
        return INQ_OK;
    }
    inq_mem_free(c);
    if (nccl != d->nccl) {
        inq_mem_free(nccl);
    }
    return code;
}

/* One share to and from every member. */
static int put_shares(const struct inq_cu_nccl *nccl, const struct clique *c, uint32_t k,
                      const struct inq_gpu_member *m, uint64_t share)
{
    int status = 0;
    for (uint32_t other = 0; status == 0 && other < c->n; other++) {
        uint64_t at = other * share * sizeof(float);
        status = nccl->ncclSend((const void *)(uintptr_t)(m->from + at), share, NCCL_FLOAT,
                                (int)other, c->comms[k], m->stream);
        if (status == 0) {
            status = nccl->ncclRecv((void *)(uintptr_t)(m->to + at), share, NCCL_FLOAT, (int)other,
                                    c->comms[k], m->stream);
        }
    }
    return status;
}

/* Member k's call. Shares stand where the engine's own kernels put them. */
static int put_member(const struct inq_cu_nccl *nccl, const struct clique *c, uint32_t k,
                      const struct inq_gpu_exchange *x)
{
    const struct inq_gpu_member *m = &x->members[k];
    const void *from = (const void *)(uintptr_t)m->from;
    void *to = (void *)(uintptr_t)m->to;
    uint64_t n = x->elems;
    uint64_t share = n / c->n;
    uint64_t own = k * share * sizeof(float);
    void *comm = c->comms[k];
    switch ((enum inq_work)x->work) {
    case INQ_WORK_ALL_REDUCE:
        return nccl->ncclAllReduce(from, to, n, NCCL_FLOAT, NCCL_SUM, comm, m->stream);
    case INQ_WORK_REDUCE:
        return nccl->ncclReduce(from, to, n, NCCL_FLOAT, NCCL_SUM, 0, comm, m->stream);
    case INQ_WORK_BROADCAST:
        return nccl->ncclBroadcast(from, to, n, NCCL_FLOAT, 0, comm, m->stream);
    case INQ_WORK_REDUCE_SCATTER:
        return nccl->ncclReduceScatter(from, (void *)(uintptr_t)(m->to + own), share, NCCL_FLOAT,
                                       NCCL_SUM, comm, m->stream);
    case INQ_WORK_ALL_GATHER:
        return nccl->ncclAllGather((const void *)(uintptr_t)(m->from + own), to, share, NCCL_FLOAT,
                                   comm, m->stream);
    case INQ_WORK_ALL_TO_ALL:
        return put_shares(nccl, c, k, m, share);
    case INQ_WORK_SEND:
    case INQ_WORK_RECV:
        return k == 0 ? nccl->ncclSend(from, n, NCCL_FLOAT, 1, comm, m->stream)
                      : nccl->ncclRecv(to, n, NCCL_FLOAT, 0, comm, m->stream);
    case INQ_WORK_NOTHING:
    case INQ_WORK_COMPUTE:
    case INQ_WORK_COPY:
    case INQ_WORK_COPY_HTOD:
    case INQ_WORK_COPY_DTOH:
    case INQ_WORK_COUNT:
        break;
    }
    return 0;
}

static int exchange(void *self, void *clique, const struct inq_gpu_exchange *x, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    const struct clique *c = clique;
    int status = d->nccl->ncclGroupStart();
    for (uint32_t k = 0; status == 0 && k < c->n; k++) {
        status = put_member(d->nccl, c, k, x);
    }
    int ended = d->nccl->ncclGroupEnd(); /* a group that went wrong ends too */
    return check_nccl(d->nccl, status != 0 ? status : ended, INQ_DEVICE, "transferring", err);
}

void inq_cu_close_libraries(struct inq_cu_driver *driver)
{
    for (size_t g = 0; g < driver->n_gpus; g++) {
        struct inq_cu_gpu *gpu = &driver->gpus[g];
        for (size_t p = 0; p < gpu->n_parts; p++) {
            close_part(driver, &gpu->parts[p]);
        }
        if (gpu->factors.at != 0) {
            (void)driver->cu.cuCtxSetCurrent(gpu->ctx);
            drop_room(driver, &gpu->factors);
        }
    }
    inq_mem_free(driver->blas);
    inq_mem_free(driver->nccl);
    driver->blas = NULL;
    driver->nccl = NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int choose(const struct inq_cu_driver *d, struct inq_gpu_spot spot, struct inq_err *err)
{
    return inq_cu_check(d, d->cu.cuCtxSetCurrent(cu_ctx(d, spot)), "choosing a GPU", err);
}

static struct inq_gpu_spot whole(uint32_t gpu)
{
    return (struct inq_gpu_spot){gpu, INQ_GPU_WHOLE};
}

static int alloc(void *self, uint32_t gpu, size_t bytes, inq_gpu_addr *at, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUdeviceptr ptr = 0;
    int code = choose(d, whole(gpu), err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuMemAlloc(&ptr, bytes), "allocating memory", err);
    }
    *at = ptr;
    return code;
}

static void release(void *self, uint32_t gpu, inq_gpu_addr at)
{
    const struct inq_cu_driver *d = self;
    if (at != 0 && choose(d, whole(gpu), NULL) == INQ_OK) {
        (void)d->cu.cuMemFree(at);
    }
}

static int host_alloc(void *self, size_t bytes, void **host, inq_gpu_addr *at, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUdeviceptr ptr = 0;
    *host = NULL;
    int code = choose(d, whole(0), err);
    if (code == INQ_OK) {
        const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        code = inq_cu_check(d, d->cu.cuMemHostAlloc(host, bytes, flags), "allocating host memory",
                            err);
    }
    if (code == INQ_OK) {
        memset(*host, 0, bytes);
        code = inq_cu_check(d, d->cu.cuMemHostGetDevicePointer(&ptr, *host, 0),
                            "mapping host memory", err);
    }
    *at = ptr;
    return code;
}

static void host_release(void *self, void *host)
{
    const struct inq_cu_driver *d = self;
    if (host != NULL) {
        (void)d->cu.cuMemFreeHost(host);
    }
}

/* A small copy may return before it has arrived, and streams of ours do not wait for it: the
 * context does. */
static int upload(void *self, inq_gpu_addr to, const void *from, size_t bytes, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    int code = choose(d, whole(0), err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuMemcpyHtoD(to, from, bytes), "copying to the GPU", err);
    }
    return code == INQ_OK ? inq_cu_check(d, d->cu.cuCtxSynchronize(), "copying to the GPU", err)
                          : code;
}

static int download(void *self, void *to, inq_gpu_addr from, size_t bytes, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    int code = choose(d, whole(0), err);
    return code == INQ_OK
               ? inq_cu_check(d, d->cu.cuMemcpyDtoH(to, from, bytes), "copying from the GPU", err)
               : code;
}

/* ---- streams and events ---------------------------------------------------------------------- */

static int stream_new(void *self, struct inq_gpu_spot spot, void **stream, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUstream s = NULL;
    CUgreenCtx green = spot.part == INQ_GPU_WHOLE ? NULL : d->gpus[spot.gpu].parts[spot.part].green;
    int code = choose(d, spot, err);
    if (code == INQ_OK) {
        CUresult result = green != NULL
                              ? d->cu.cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0)
                              : d->cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
        code = inq_cu_check(d, result, "making a stream", err);
    }
    *stream = s;
    return code;
}

static void stream_free(void *self, void *stream)
{
    const struct inq_cu_driver *d = self;
    if (stream != NULL) {
        (void)d->cu.cuStreamDestroy(stream);
    }
}

/* An event is of the context that is current, and only streams of that context can record it. */
static int event_new(void *self, struct inq_gpu_spot spot, void **event, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUevent e = NULL;
    int code = choose(d, spot, err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), "making an event",
                            err);
    }
    *event = e;
    return code;
}

static void event_free(void *self, void *event)
{
    const struct inq_cu_driver *d = self;
    if (event != NULL) {
        (void)d->cu.cuEventDestroy(event);
    }
}

static int record(void *self, void *event, void *stream, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuEventRecord(event, stream), "recording an event", err);
}

static int wait_event(void *self, void *stream, void *event, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuStreamWaitEvent(stream, event, 0), "waiting for an event", err);
}

/* ---- work ------------------------------------------------------------------------------------ */

static int launch_kernel(void *self, void *stream, const struct inq_gpu_launch *launch,
                         struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    /* the call takes them as writable, and only reads them */
    void *params[] = {(void *)(uintptr_t)launch->args};
    CUresult result = d->cu.cuLaunchKernel((CUfunction)d->kernels[launch->kernel], launch->blocks,
                                           1, 1, launch->threads, 1, 1, 0, stream, params, NULL);
    return inq_cu_check(d, result, "launching a kernel", err);
}

static int fill(void *self, void *stream, inq_gpu_addr to, int byte, size_t bytes,
                struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuMemsetD8Async(to, (unsigned char)byte, bytes, stream),
                        "filling memory", err);
}

static int copy(void *self, void *stream, inq_gpu_addr to, inq_gpu_addr from, size_t bytes,
                struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuMemcpyDtoDAsync(to, from, bytes, stream), "copying on the GPU",
                        err);
}

static int query(void *self, void *stream, bool *done, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUresult result = d->cu.cuStreamQuery(stream);
    *done = result == CUDA_SUCCESS;
    return result == CUDA_ERROR_NOT_READY ? INQ_OK
                                          : inq_cu_check(d, result, "executing on the GPU", err);
}

static void pause_ns(void *self, int64_t ns)
{
    (void)self;
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    (void)nanosleep(&time, NULL);
}

static int64_t now_ns(void *self)
{
    (void)self;
    return inq_time_now_ns();
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static int capture_begin(void *self, void *stream, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                        "beginning a graph", err);
}

static int capture_end(void *self, void *stream, void **graph, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    CUgraph made = NULL;
    CUgraphExec exec = NULL;
    *graph = NULL;
    int code = inq_cu_check(d, d->cu.cuStreamEndCapture(stream, &made), "ending a graph", err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuGraphInstantiate(&exec, made, 0), "making a graph", err);
    }
    if (code == INQ_OK) {
        /* the first launch would do this, and be slower for it */
        code = inq_cu_check(d, d->cu.cuGraphUpload(exec, stream), "uploading a graph", err);
    }
    if (made != NULL) {
        (void)d->cu.cuGraphDestroy(made);
    }
    if (code != INQ_OK && exec != NULL) {
        (void)d->cu.cuGraphExecDestroy(exec);
        exec = NULL;
    }
    *graph = exec;
    return code;
}

static int graph_launch(void *self, void *graph, void *stream, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    return inq_cu_check(d, d->cu.cuGraphLaunch(graph, stream), "launching a graph", err);
}

static void graph_free(void *self, void *graph)
{
    const struct inq_cu_driver *d = self;
    if (graph != NULL) {
        (void)d->cu.cuGraphExecDestroy(graph);
    }
}

void inq_cu_set_calls(struct inq_cu_driver *driver)
{
    struct inq_gpu_calls *c = &driver->calls;
    c->alloc = alloc;
    c->release = release;
    c->host_alloc = host_alloc;
    c->host_release = host_release;
    c->upload = upload;
    c->download = download;
    c->stream_new = stream_new;
    c->stream_free = stream_free;
    c->event_new = event_new;
    c->event_free = event_free;
    c->record = record;
    c->wait = wait_event;
    c->launch = launch_kernel;
    c->fill = fill;
    c->copy = copy;
    c->query = query;
    c->pause = pause_ns;
    c->now_ns = now_ns;
    c->capture_begin = capture_begin;
    c->capture_end = capture_end;
    c->graph_launch = graph_launch;
    c->graph_free = graph_free;
    c->gemm_open = cu_gemm_open;
    c->gemm = cu_gemm;
    c->clique_open = clique_open;
    c->clique_free = clique_free;
    c->exchange = exchange;
}
#endif
