/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLAS, which is loaded if it is there. Its calls are declared here: the
 * build needs no cuBLAS. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA
#include "cuda/driver.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <string.h>

/* values of cuBLAS 11 to 13 */
enum { OP_N = 0, TYPE_BF16 = 14, COMPUTE_F32 = 68, ALGO_DEFAULT = -1 };

#define WORKSPACE_BYTES ((size_t)32 << 20)

typedef int blas_create(void **handle);
typedef int blas_destroy(void *handle);
typedef int blas_set_stream(void *handle, CUstream stream);
typedef int blas_set_workspace(void *handle, void *workspace, size_t bytes);
typedef int blas_gemm_ex(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                         const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                         const void *beta, void *c, int type_c, int ldc, int compute, int algo);

struct inq_cu_blas {
    blas_create *create;
    blas_destroy *destroy;
    blas_set_stream *set_stream;
    blas_set_workspace *set_workspace;
    blas_gemm_ex *gemm_ex;
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
    if (!all) {
        inq_mem_free(b);
        return NULL;
    }
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

/* Halves (bf16) between -2 and 2 with every bit in use: products of zeros would draw less power. */
static int make_factors(struct inq_cu_driver *d, struct inq_cu_gpu *gpu, size_t n,
                        struct inq_err *err)
{
    uint16_t *values = inq_mem_alloc(n * n * sizeof *values);
    if (values == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for factors of %zu x %zu", n, n);
    }
    uint32_t state = 1;
    for (size_t i = 0; i < n * n; i++) {
        state = state * 1664525U + 1013904223U;
        uint32_t bits = state >> 16;
        values[i] = (uint16_t)((bits & 0x80ffU) | 0x3f00U); /* sign and fraction vary */
    }
    int code = inq_cu_check(d, d->cu.cuMemAlloc(&gpu->factors, n * n * sizeof *values),
                            "allocating factors", err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuMemcpyHtoD(gpu->factors, values, n * n * sizeof *values),
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
    if (part->result != 0) {
        (void)d->cu.cuMemFree(part->result);
    }
    if (part->workspace != 0) {
        (void)d->cu.cuMemFree(part->workspace);
    }
    part->blas = NULL;
    part->result = 0;
    part->workspace = 0;
}

int inq_cu_gemm_open(void *self, struct inq_gpu_spot spot, unsigned max_n, struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    struct inq_cu_gpu *gpu = &d->gpus[spot.gpu];
    struct inq_cu_part *part = &gpu->parts[spot.part];
    size_t n = max_n;
    if (part->blas != NULL) {
        return INQ_OK;
    }
    int code = inq_cu_check(d, d->cu.cuCtxSetCurrent(part->ctx), "choosing a partition", err);
    if (code == INQ_OK) {
        code = start(d, part, err);
    }
    if (code == INQ_OK && gpu->factors == 0) {
        code = make_factors(d, gpu, n, err);
    }
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuMemAlloc(&part->result, n * n * sizeof(uint16_t)),
                            "allocating products", err);
    }
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuMemAlloc(&part->workspace, WORKSPACE_BYTES),
                            "allocating a workspace", err);
    }
    if (code != INQ_OK) {
        close_part(d, part);
    }
    return code;
}

int inq_cu_gemm(void *self, struct inq_gpu_spot spot, void *stream, unsigned n, struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    const struct inq_cu_gpu *gpu = &d->gpus[spot.gpu];
    const struct inq_cu_part *part = &gpu->parts[spot.part];
    const float one = 1.0F;
    const float zero = 0.0F;
    const int size = (int)n;
    void *workspace = (void *)(uintptr_t)part->workspace;
    const void *factors = (const void *)(uintptr_t)gpu->factors;
    void *result = (void *)(uintptr_t)part->result;
    int code = inq_cu_check(d, d->cu.cuCtxSetCurrent(part->ctx), "choosing a partition", err);
    if (code != INQ_OK) {
        return code;
    }
    /* Setting the stream takes the workspace away, and a captured product must not allocate one.
     * Lanes of a rank share it and the result: nobody reads what the products are. */
    int status = d->blas->set_stream(part->blas, stream);
    status = status == 0 ? d->blas->set_workspace(part->blas, workspace, WORKSPACE_BYTES) : status;
    status = status == 0 ? d->blas->gemm_ex(part->blas, OP_N, OP_N, size, size, size, &one, factors,
                                            TYPE_BF16, size, factors, TYPE_BF16, size, &zero,
                                            result, TYPE_BF16, size, COMPUTE_F32, ALGO_DEFAULT)
                         : status;
    return status == 0 ? INQ_OK
                       : inq_err_set(err, INQ_DEVICE, "cuBLAS failed with status %d", status);
}

void inq_cu_gemm_close(struct inq_cu_driver *driver)
{
    for (size_t g = 0; g < driver->n_gpus; g++) {
        struct inq_cu_gpu *gpu = &driver->gpus[g];
        for (size_t p = 0; p < gpu->n_parts; p++) {
            close_part(driver, &gpu->parts[p]);
        }
        if (gpu->factors != 0) {
            (void)driver->cu.cuCtxSetCurrent(gpu->ctx);
            (void)driver->cu.cuMemFree(gpu->factors);
            gpu->factors = 0;
        }
    }
    inq_mem_free(driver->blas);
    driver->blas = NULL;
}
#endif
