/* SPDX-License-Identifier: Apache-2.0 */
/* A cuBLAS that stands in beside the driver: it insists on what the real one needs (a handle of the
 * current context, a workspace given after the stream, room for factors and results, whose ends it
 * touches through the driver). INQ_STANDIN_BLAS names the version that refuses
 * to start, as a library that is newer than the driver does; "f8" refuses that type, as GPUs before
 * compute capability 8.9 do. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct handle {
    CUcontext context;
    CUstream stream;
    void *workspace;
};

/* Ends the program: it did what the library does not forgive. */
static void insist(int right, const char *what)
{
    if (!right) {
        (void)fprintf(stderr, "stand-in: cuBLAS: %s\n", what);
        abort();
    }
}

static CUcontext current(void)
{
    CUcontext context = NULL;
    (void)cuCtxGetCurrent(&context);
    return context;
}

static size_t bytes_of(int type)
{
    return type == 1 ? 8 : type == 0 ? 4 : type == 28 ? 1 : 2;
}

/* Types and how they are multiplied: f64, f32 (also as tf32), f16, bf16. */
static void check_types(int type, int compute)
{
    insist((type == 1 && compute == 70) || (type == 0 && (compute == 68 || compute == 77)) ||
               ((type == 2 || type == 14) && compute == 68),
           "types");
}

EXPORT int cublasCreate_v2(struct handle **handle)
{
    const char *how = getenv("INQ_STANDIN_BLAS");
    if (how != NULL && strcmp(how, BLAS_REFUSES) == 0) {
        return 1; /* not initialized */
    }
    *handle = calloc(1, sizeof **handle);
    (*handle)->context = current();
    return 0;
}

EXPORT int cublasDestroy_v2(struct handle *handle)
{
    insist(handle->context == current(), "a handle goes in another context");
    free(handle);
    return 0;
}

EXPORT int cublasSetStream_v2(struct handle *handle, CUstream stream)
{
    handle->stream = stream;
    handle->workspace = NULL;
    return 0;
}

EXPORT int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes)
{
    handle->workspace = bytes > 0 ? workspace : NULL;
    return 0;
}

static int multiply(struct handle *h, const int size[3], size_t batch, int type, const void *a,
                    const void *b, void *c)
{
    size_t m = (size_t)size[0];
    size_t n = (size_t)size[1];
    size_t k = (size_t)size[2];
    size_t each = bytes_of(type) * batch;
    insist(h->context == current(), "a product in another context");
    insist(h->workspace != NULL, "a captured product would allocate its workspace");
    /* the ends of all three must be there */
    const size_t end = 4;
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)c + m * n * each - end;
    CUdeviceptr left = (CUdeviceptr)(uintptr_t)a + m * k * each - end;
    CUdeviceptr right = (CUdeviceptr)(uintptr_t)b + k * n * each - end;
    CUresult status = cuMemcpyDtoDAsync(to, left, end, h->stream);
    status = status == CUDA_SUCCESS ? cuMemcpyDtoDAsync(to, right, end, h->stream) : status;
    return status == CUDA_SUCCESS ? 0 : 13; /* execution failed */
}

EXPORT int cublasGemmEx(struct handle *h, int op_a, int op_b, int m, int n, int k,
                        const void *alpha, const void *a, int type_a, int lda, const void *b,
                        int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                        int compute, int algo)
{
    insist(op_a == 0 && op_b == 0 && lda == m && ldb == k && ldc == m, "leading sizes");
    insist(type_a == type_b && type_b == type_c && algo == -1, "types");
    check_types(type_a, compute);
    insist(alpha != NULL && beta != NULL, "factors");
    return multiply(h, (int[3]){m, n, k}, 1, type_a, a, b, c);
}

EXPORT int cublasGemmStridedBatchedEx(struct handle *h, int op_a, int op_b, int m, int n, int k,
                                      const void *alpha, const void *a, int type_a, int lda,
                                      long long stride_a, const void *b, int type_b, int ldb,
                                      long long stride_b, const void *beta, void *c, int type_c,
                                      int ldc, long long stride_c, int batch, int compute, int algo)
{
    insist(op_a == 0 && op_b == 0 && lda == m && ldb == k && ldc == m, "leading sizes");
    insist(type_a == type_b && type_b == type_c && algo == -1, "types");
    check_types(type_a, compute);
    insist(stride_a == (long long)m * k && stride_b == (long long)k * n &&
               stride_c == (long long)m * n && batch > 1 && alpha != NULL && beta != NULL,
           "strides");
    return multiply(h, (int[3]){m, n, k}, (size_t)batch, type_a, a, b, c);
}

/* ---- cuBLASLt, for f8: columns of k, both sizes in steps of 16, the result bf16 ---------------
 */

struct lt_desc {
    int transposed;
};

struct lt_layout {
    int type;
    uint64_t rows, columns;
};

EXPORT int cublasLtMatmulDescCreate(struct lt_desc **desc, int compute, int scale_type)
{
    insist(compute == 68 && scale_type == 0, "types of cuBLASLt");
    *desc = calloc(1, sizeof **desc);
    return 0;
}

EXPORT int cublasLtMatmulDescSetAttribute(struct lt_desc *desc, int attribute, const void *value,
                                          size_t bytes)
{
    int32_t number = 0;
    insist(attribute == 3 && bytes == sizeof number, "an attribute");
    memcpy(&number, value, sizeof number);
    desc->transposed = number == 1;
    return 0;
}

EXPORT int cublasLtMatmulDescDestroy(struct lt_desc *desc)
{
    free(desc);
    return 0;
}

EXPORT int cublasLtMatrixLayoutCreate(struct lt_layout **layout, int type, uint64_t rows,
                                      uint64_t columns, int64_t ld)
{
    insist(ld == (int64_t)rows, "leading sizes");
    *layout = calloc(1, sizeof **layout);
    **layout = (struct lt_layout){type, rows, columns};
    return 0;
}

EXPORT int cublasLtMatrixLayoutDestroy(struct lt_layout *layout)
{
    free(layout);
    return 0;
}

EXPORT int cublasLtMatmul(struct handle *h, const struct lt_desc *desc, const void *alpha,
                          const void *a, const struct lt_layout *layout_a, const void *b,
                          const struct lt_layout *layout_b, const void *beta, const void *c,
                          const struct lt_layout *layout_c, void *d,
                          const struct lt_layout *layout_d, const void *algo, void *workspace,
                          size_t bytes, CUstream stream)
{
    const char *how = getenv("INQ_STANDIN_BLAS");
    if (how != NULL && strcmp(how, "f8") == 0) {
        return 15; /* not supported */
    }
    insist(desc->transposed && layout_a->type == 28 && layout_b->type == 28 &&
               layout_d->type == 14 && layout_a->rows == layout_b->rows &&
               layout_d->rows == layout_a->columns && layout_d->columns == layout_b->columns,
           "f8 of columns");
    insist(layout_a->rows % 16 == 0 && layout_a->columns % 16 == 0, "f8 in steps of 16");
    insist(alpha != NULL && beta != NULL && c == d && layout_c == layout_d && algo == NULL,
           "arguments");
    insist(workspace != NULL && bytes > 0 && h->context == current(), "a workspace");
    const size_t end = 4;
    CUdeviceptr left = (CUdeviceptr)(uintptr_t)a + layout_a->rows * layout_a->columns - end;
    CUdeviceptr right = (CUdeviceptr)(uintptr_t)b + layout_b->rows * layout_b->columns - end;
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)d + layout_d->rows * layout_d->columns * 2 - end;
    CUresult status = cuMemcpyDtoDAsync(to, left, end, stream);
    status = status == CUDA_SUCCESS ? cuMemcpyDtoDAsync(to, right, end, stream) : status;
    return status == CUDA_SUCCESS ? 0 : 13;
}
