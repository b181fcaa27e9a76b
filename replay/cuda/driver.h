/* SPDX-License-Identifier: Apache-2.0 */
/* The device calls over NVIDIA's driver, which is loaded when it is first needed: the program
 * starts and runs on machines that have none. */
#ifndef INQ_REPLAY_CUDA_DRIVER_H
#define INQ_REPLAY_CUDA_DRIVER_H

#include "cuda/layout.h"

#include <cuda.h>

/* X(name): what is called; all are in drivers of CUDA 12.0 and later. */
#define INQ_CU_CALLS(X)                                                                            \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorString)                                                                            \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuDeviceCanAccessPeer)                                                                       \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuCtxEnablePeerAccess)                                                                       \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemHostGetDevicePointer)                                                                   \
    X(cuMemFreeHost)                                                                               \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemcpyDtoDAsync)                                                                           \
    X(cuMemsetD8Async)                                                                             \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamQuery)                                                                               \
    X(cuStreamWaitEvent)                                                                           \
    X(cuStreamBeginCapture)                                                                        \
    X(cuStreamEndCapture)                                                                          \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuGraphInstantiate)                                                                          \
    X(cuGraphUpload)                                                                               \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphExecDestroy)                                                                          \
    X(cuGraphDestroy)                                                                              \
    X(cuLibraryLoadData)                                                                           \
    X(cuLibraryUnload)                                                                             \
    X(cuLibraryGetKernel)                                                                          \
    X(cuKernelGetFunction)                                                                         \
    X(cuLaunchKernel)

/* Only needed for partitions; in drivers of CUDA 12.5 and later. */
#define INQ_CU_GREEN_CALLS(X)                                                                      \
    X(cuDeviceGetDevResource)                                                                      \
    X(cuDevSmResourceSplitByCount)                                                                 \
    X(cuDevResourceGenerateDesc)                                                                   \
    X(cuGreenCtxCreate)                                                                            \
    X(cuGreenCtxDestroy)                                                                           \
    X(cuCtxFromGreenCtx)                                                                           \
    X(cuGreenCtxStreamCreate)

struct inq_cu {
#define INQ_CU_MEMBER(name) __typeof__ (&(name))(name);
    INQ_CU_CALLS(INQ_CU_MEMBER)
    INQ_CU_GREEN_CALLS(INQ_CU_MEMBER)
#undef INQ_CU_MEMBER
};

struct inq_cu_blas;
struct inq_cu_nccl;

/* Memory that grows when the second of two plans needs more; what the first has captured stays. */
struct inq_cu_room {
    CUdeviceptr at, before;
    size_t bytes;
};

struct inq_cu_part {
    CUgreenCtx green; /* NULL: the whole GPU's context */
    CUcontext ctx;
    void *blas; /* handle; NULL: none yet */
    struct inq_cu_room result;
    CUdeviceptr workspace;
};

struct inq_cu_gpu {
    int number; /* of the device */
    CUdevice dev;
    CUcontext ctx; /* the GPU's primary context; NULL: not open */
    size_t n_parts;
    struct inq_cu_part *parts;
    struct inq_cu_room factors;
};

struct inq_cu_driver {
    struct inq_cu cu;
    bool has_green;
    bool open;
    int first;         /* device number of the first that may be used */
    char left_out[96]; /* why GPUs are not used; "": all are */
    CUcontext before;  /* the thread's context, to be put back */
    CUlibrary library;
    CUkernel kernels[INQ_KERNEL_COUNT];
    size_t n_gpus;
    struct inq_cu_gpu gpus[INQ_GPU_MAX_GPUS];
    struct inq_cu_blas *blas;
    struct inq_cu_nccl *nccl;
    struct inq_gpu_calls calls;
};

/* INQ_OK, or what a failed call means, as "doing: text". */
static inline int inq_cu_check(const struct inq_cu_driver *driver, CUresult result,
                               const char *doing, struct inq_err *err)
{
    if (result == CUDA_SUCCESS) {
        return INQ_OK;
    }
    const char *text = NULL;
    if (driver->cu.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL) {
        text = "unknown error";
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return inq_err_set(err, INQ_NOMEM,
                           "%s: the GPU is out of memory: execute fewer ranks or steps, or free "
                           "the GPU of other programs",
                           doing);
    }
    return inq_err_set(err, INQ_DEVICE, "%s: %s (CUDA error %d)", doing, text, (int)result);
}

/* Fills in the calls on what is open. */
void inq_cu_set_calls(struct inq_cu_driver *driver);
void inq_cu_close_libraries(struct inq_cu_driver *driver);

/* The kernels, generated by the build: for every architecture, as nvcc made them; and as PTX, text
 * that ends with a 0, for drivers that are too old for that. */
extern const unsigned char inq_cuda_kernels[];
extern const unsigned char inq_cuda_ptx[];

#endif
