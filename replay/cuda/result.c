/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver call's result means, and the context of a spot. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA
#include "cuda/driver.h"

int inq_cu_check(const struct inq_cu_driver *driver, CUresult result, const char *doing,
                 struct inq_err *err)
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

CUcontext inq_cu_ctx(const struct inq_cu_driver *driver, struct inq_gpu_spot spot)
{
    const struct inq_cu_gpu *gpu = &driver->gpus[spot.gpu];
    return spot.part == INQ_GPU_WHOLE ? gpu->ctx : gpu->parts[spot.part].ctx;
}
#endif
