/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 over the GPU that is not there (unit/support_gpu), with the signatures of cuda.h:
 * the engine's own driver code, the program and the on-GPU checks run on it end to end. It knows
 * what real ones insist on: partitions of 8 SMs and multiples, events of the stream's context.
 * INQ_FAKE_GPU chooses what it is: "none" (no GPU), "old" (driver of CUDA 11.4), "sm75",
 * "nogreen" (no partitions), "full" (no memory). */
#include "support_gpu.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define SMS       132U
#define LEAST_SMS 8U

struct fake_context {
    struct inq_gpu_spot spot;
};

static struct fake_gpu gpu;
static struct fake_context primary = {{0, INQ_GPU_WHOLE}};
static CUcontext current;
static uint32_t n_parts; /* made so far */

static bool is(const char *kind)
{
    const char *chosen = getenv("INQ_FAKE_GPU");
    return chosen != NULL && strcmp(chosen, kind) == 0;
}

static struct inq_gpu_spot spot_of(CUcontext context)
{
    const struct fake_context *c = (const void *)context;
    return c != NULL ? c->spot : primary.spot;
}

static CUresult result_of(int code)
{
    return code == INQ_OK      ? CUDA_SUCCESS
           : code == INQ_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY
                               : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- the machine ----------------------------------------------------------------------------- */

EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
    if (gpu.calls.self == NULL) { /* the second call changes nothing, as in a real one */
        fake_gpu_init(&gpu);
    }
    return is("none") || flags != 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = is("old") ? 11040 : CUDA_VERSION;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "fake error";
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice device)
{
    (void)device;
    strncpy(name, "Fake GPU", (size_t)len);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                             CUdevice device)
{
    (void)device;
    if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
        *value = (int)SMS;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
        *value = is("sm75") ? 7 : 9;
    } else {
        *value = is("sm75") ? 5 : 0;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = (CUcontext)&primary;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != peer;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    return current != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    return peer != NULL && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- partitions ------------------------------------------------------------------------------ */

EXPORT CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                               CUdevResourceType type)
{
    (void)device;
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->sm.smCount = SMS;
    resource->sm.minSmPartitionSize = LEAST_SMS;
    resource->sm.smCoscheduledAlignment = LEAST_SMS;
    return is("nogreen") ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* One group fewer than fits where the groups are small, as has been seen on an H100. */
EXPORT CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n,
                                                    const CUdevResource *input,
                                                    CUdevResource *remaining, unsigned int flags,
                                                    unsigned int least)
{
    unsigned share = (least + LEAST_SMS - 1) / LEAST_SMS * LEAST_SMS;
    if (share == 0 || share > input->sm.smCount || remaining != NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned fits = input->sm.smCount / share;
    fits -= share == LEAST_SMS && fits > 1;
    if (result == NULL) {
        *n = fits;
        return CUDA_SUCCESS;
    }
    *n = *n < fits ? *n : fits;
    for (unsigned i = 0; i < *n; i++) {
        result[i] = *input;
        result[i].sm.smCount = share;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources,
                                                  unsigned int n)
{
    *desc = (CUdevResourceDesc)(void *)resources;
    return n == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

EXPORT CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice device,
                                         unsigned int flags)
{
    struct fake_context *made = calloc(1, sizeof *made);
    if (made == NULL || desc == NULL || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
        free(made);
        return CUDA_ERROR_INVALID_VALUE;
    }
    made->spot = (struct inq_gpu_spot){(uint32_t)device, n_parts++};
    *green = (CUgreenCtx)(void *)made;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green)
{
    current = (void *)current == (void *)green ? NULL : current;
    free(green);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
    *context = (CUcontext)(void *)green;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green,
                                               unsigned int flags, int priority)
{
    void *made = NULL;
    if (flags != CU_STREAM_NON_BLOCKING || priority != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int code = gpu.calls.stream_new(&gpu, spot_of((CUcontext)(void *)green), &made, NULL);
    *stream = made;
    return result_of(code);
}

/* ---- memory ---------------------------------------------------------------------------------- */

EXPORT CUresult CUDAAPI cuMemAlloc(CUdeviceptr *ptr, size_t bytes)
{
    inq_gpu_addr at = 0;
    if (is("full") || current == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int code = gpu.calls.alloc(&gpu, 0, bytes, &at, NULL);
    *ptr = at;
    return result_of(code);
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr ptr)
{
    gpu.calls.release(&gpu, 0, ptr);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
    inq_gpu_addr at = 0;
    const unsigned want = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    return flags == want ? result_of(gpu.calls.host_alloc(&gpu, bytes, ptr, &at, NULL))
                         : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *at, void *host, unsigned int flags)
{
    *at = (CUdeviceptr)(uintptr_t)host;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuMemFreeHost(void *host)
{
    gpu.calls.host_release(&gpu, host);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return result_of(gpu.calls.upload(&gpu, to, from, bytes, NULL));
}

EXPORT CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return result_of(gpu.calls.download(&gpu, to, from, bytes, NULL));
}

EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                          CUstream stream)
{
    return result_of(gpu.calls.copy(&gpu, stream, to, from, bytes, NULL));
}

EXPORT CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes,
                                        CUstream stream)
{
    return result_of(gpu.calls.fill(&gpu, stream, to, byte, bytes, NULL));
}

/* ---- streams, events, graphs ----------------------------------------------------------------- */

EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
    void *made = NULL;
    if (flags != CU_STREAM_NON_BLOCKING || current == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int code = gpu.calls.stream_new(&gpu, spot_of(current), &made, NULL);
    *stream = made;
    return result_of(code);
}

EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    gpu.calls.stream_free(&gpu, stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamQuery(CUstream stream)
{
    bool done = false;
    int code = gpu.calls.query(&gpu, stream, &done, NULL);
    return code == INQ_OK && !done ? CUDA_ERROR_NOT_READY : result_of(code);
}

EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    return flags == 0 ? result_of(gpu.calls.wait(&gpu, stream, event, NULL))
                      : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    return mode == CU_STREAM_CAPTURE_MODE_RELAXED
               ? result_of(gpu.calls.capture_begin(&gpu, stream, NULL))
               : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    void *made = NULL;
    int code = gpu.calls.capture_end(&gpu, stream, &made, NULL);
    *graph = made;
    return result_of(code);
}

EXPORT CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    void *made = NULL;
    if (flags != CU_EVENT_DISABLE_TIMING || current == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int code = gpu.calls.event_new(&gpu, spot_of(current), &made, NULL);
    *event = made;
    return result_of(code);
}

EXPORT CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    gpu.calls.event_free(&gpu, event);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    return result_of(gpu.calls.record(&gpu, event, stream, NULL));
}

/* Made from the graph, which is not needed after it. */
EXPORT CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph,
                                           unsigned long long flags)
{
    *exec = (CUgraphExec)(void *)graph;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    return exec != NULL && stream != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    return result_of(gpu.calls.graph_launch(&gpu, exec, stream, NULL));
}

EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    gpu.calls.graph_free(&gpu, exec);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    return graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t args_size;
} kernels[] = {
    [INQ_KERNEL_GATE] = {"inq_kernel_gate", sizeof(struct inq_gpu_gate_args)},
    [INQ_KERNEL_OP] = {"inq_kernel_op", sizeof(struct inq_gpu_op_args)},
    [INQ_KERNEL_TICK] = {"inq_kernel_tick", sizeof(struct inq_gpu_tick_args)},
    [INQ_KERNEL_PROBE] = {"inq_kernel_probe", sizeof(struct inq_gpu_probe_args)},
    [INQ_KERNEL_FILL] = {"inq_kernel_fill", sizeof(struct inq_gpu_fill_args)},
    [INQ_KERNEL_REDUCE] = {"inq_kernel_reduce", sizeof(struct inq_gpu_data_args)},
    [INQ_KERNEL_GATHER] = {"inq_kernel_gather", sizeof(struct inq_gpu_data_args)},
    [INQ_KERNEL_CHECK] = {"inq_kernel_check", sizeof(struct inq_gpu_data_args)},
    [INQ_KERNEL_GEMM] = {"inq_kernel_gemm", sizeof(struct inq_gpu_gemm_args)},
};

EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code,
                                          CUjit_option *options, void **values, unsigned int n,
                                          CUlibraryOption *more, void **more_values,
                                          unsigned int n_more)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba}; /* of a fatbin */
    bool plain = options == NULL && values == NULL && n == 0 && more == NULL &&
                 more_values == NULL && n_more == 0;
    *library = (CUlibrary)(void *)&gpu;
    return plain && memcmp(code, magic, sizeof magic) == 0 ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_IMAGE;
}

EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    return library != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library;
    for (size_t i = 0; i < INQ_KERNEL_COUNT; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            *kernel = (CUkernel)(uintptr_t)(i + 1);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                       unsigned int grid_y, unsigned int grid_z,
                                       unsigned int block_x, unsigned int block_y,
                                       unsigned int block_z, unsigned int shared, CUstream stream,
                                       void **params, void **extra)
{
    size_t kernel = (size_t)(uintptr_t)function - 1;
    bool plain = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1 && shared == 0 &&
                 extra == NULL && kernel < INQ_KERNEL_COUNT;
    if (!plain) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct inq_gpu_launch launch = {(enum inq_gpu_kernel)kernel, grid_x, block_x, params[0],
                                          kernels[kernel].args_size};
    return result_of(gpu.calls.launch(&gpu, stream, &launch, NULL));
}
