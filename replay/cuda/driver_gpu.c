/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and their partitions: green contexts on disjoint SMs, split once. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA
#include "cuda/driver.h"

#include "base/mem.h"

#include <stdio.h>

#define LEAST_MAJOR 8 /* compute capability */
#define LEAST_SMS   2 /* of a partition without co-scheduling: those of a TPC */
#define RELAXED     CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING

/* ---- partitions ------------------------------------------------------------------------------ */

static void drop_parts(struct inq_cu_driver *d, struct inq_cu_gpu *gpu)
{
    for (size_t p = 0; p < gpu->n_parts; p++) {
        if (gpu->parts[p].green != NULL) {
            (void)d->cu.cuGreenCtxDestroy(gpu->parts[p].green);
        }
    }
    inq_mem_free(gpu->parts);
    gpu->parts = NULL;
    gpu->n_parts = 0;
}

/* The largest even share that gives at least `parts` groups; 0: there is none. What the driver
 * makes of a number is asked, not assumed. */
static unsigned share_of(const struct inq_cu_driver *d, const CUdevResource *all, size_t parts,
                         unsigned flags)
{
    unsigned align = all->sm.smCoscheduledAlignment > 0 && flags == 0
                         ? all->sm.smCoscheduledAlignment
                         : LEAST_SMS;
    unsigned least =
        all->sm.minSmPartitionSize > 0 && flags == 0 ? all->sm.minSmPartitionSize : LEAST_SMS;
    unsigned share = (unsigned)(all->sm.smCount / parts) / align * align;
    for (; share >= least; share -= align) {
        unsigned n = 0;
        if (d->cu.cuDevSmResourceSplitByCount(NULL, &n, all, NULL, flags, share) == CUDA_SUCCESS &&
            n >= parts) {
            return share;
        }
        if (share < align + least) {
            break;
        }
    }
    return 0;
}

static int make_green(struct inq_cu_driver *d, struct inq_cu_gpu *gpu, CUdevResource *groups,
                      struct inq_err *err)
{
    for (size_t p = 0; p < gpu->n_parts; p++) {
        CUdevResourceDesc desc = NULL;
        struct inq_cu_part *part = &gpu->parts[p];
        int code = inq_cu_check(d, d->cu.cuDevResourceGenerateDesc(&desc, &groups[p], 1),
                                "describing a partition", err);
        if (code == INQ_OK) {
            code = inq_cu_check(
                d,
                d->cu.cuGreenCtxCreate(&part->green, desc, gpu->dev, CU_GREEN_CTX_DEFAULT_STREAM),
                "making a partition", err);
        }
        if (code == INQ_OK) {
            code = inq_cu_check(d, d->cu.cuCtxFromGreenCtx(&part->ctx, part->green),
                                "making a partition", err);
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* One split for all: groups of two splits would overlap. */
static int split(struct inq_cu_driver *d, struct inq_cu_gpu *gpu, unsigned flags,
                 struct inq_gpu_info *info, struct inq_err *err)
{
    CUdevResource all;
    if (!d->has_green) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the driver has no green contexts");
    }
    int code =
        inq_cu_check(d, d->cu.cuDeviceGetDevResource(gpu->dev, &all, CU_DEV_RESOURCE_TYPE_SM),
                     "asking for SMs", err);
    if (code != INQ_OK) {
        return code;
    }
    unsigned share = share_of(d, &all, gpu->n_parts, flags);
    if (share == 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "%u SMs do not split into %zu, at least %u each",
                           all.sm.smCount, gpu->n_parts, all.sm.minSmPartitionSize);
    }
    CUdevResource *groups = inq_mem_zalloc(gpu->n_parts, sizeof *groups);
    if (groups == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu partitions", gpu->n_parts);
    }
    unsigned n = (unsigned)gpu->n_parts;
    code = inq_cu_check(d, d->cu.cuDevSmResourceSplitByCount(groups, &n, &all, NULL, flags, share),
                        "splitting the SMs", err);
    if (code == INQ_OK && n < gpu->n_parts) {
        code = inq_err_set(err, INQ_UNSUPPORTED, "the SMs split into %u partitions only", n);
    }
    if (code == INQ_OK) {
        info->part_sms = (int)groups[0].sm.smCount;
        code = make_green(d, gpu, groups, err);
    }
    inq_mem_free(groups);
    return code;
}

static int new_parts(struct inq_cu_gpu *gpu, size_t parts, struct inq_err *err)
{
    gpu->parts = inq_mem_zalloc(parts, sizeof *gpu->parts);
    gpu->n_parts = gpu->parts != NULL ? parts : 0;
    return gpu->parts != NULL ? INQ_OK
                              : inq_err_set(err, INQ_NOMEM, "out of memory for %zu parts", parts);
}

/* Partitions of disjoint SMs, without co-scheduling where that asks for too many; where both fail
 * all share the GPU, and `why` says why. */
static int make_parts(struct inq_cu_driver *d, struct inq_cu_gpu *gpu, size_t parts,
                      struct inq_gpu_info *info, struct inq_err *err)
{
    int code = parts > 0 ? new_parts(gpu, parts, err) : inq_err_set(err, INQ_USAGE, "no parts");
    for (unsigned relaxed = 0; code == INQ_OK && parts > 1 && relaxed < 2; relaxed++) {
        struct inq_err why = {0};
        if (split(d, gpu, relaxed != 0 ? RELAXED : 0, info, &why) == INQ_OK) {
            info->partitioned = true;
            info->why[0] = '\0';
            return INQ_OK;
        }
        if (relaxed == 0) {
            (void)snprintf(info->why, sizeof info->why, "%.*s", (int)sizeof info->why - 1,
                           why.message);
        }
        drop_parts(d, gpu);
        code = new_parts(gpu, parts, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    for (size_t p = 0; p < parts; p++) {
        gpu->parts[p].ctx = gpu->ctx;
    }
    info->part_sms = info->sms / (int)parts;
    return INQ_OK;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static int read_info(const struct inq_cu_driver *d, struct inq_cu_gpu *gpu, int number,
                     struct inq_gpu_info *info, struct inq_err *err)
{
    int major = 0;
    int minor = 0;
    int code = inq_cu_check(d, d->cu.cuDeviceGet(&gpu->dev, number), "opening the GPU", err);
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuDeviceGetName(info->name, (int)sizeof info->name, gpu->dev),
                            "asking for the GPU's name", err);
    }
    if (code == INQ_OK) {
        CUresult result = d->cu.cuDeviceGetAttribute(
            &info->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->dev);
        result = result == CUDA_SUCCESS
                     ? d->cu.cuDeviceGetAttribute(
                           &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->dev)
                     : result;
        result = result == CUDA_SUCCESS
                     ? d->cu.cuDeviceGetAttribute(
                           &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu->dev)
                     : result;
        code = inq_cu_check(d, result, "asking for the GPU's SMs", err);
    }
    if (code == INQ_OK && major < LEAST_MAJOR) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "%s has compute capability %d.%d: the kernels need %d.0 or above",
                           info->name, major, minor, LEAST_MAJOR);
    }
    return code;
}

static int connect_peer(const struct inq_cu_driver *d, const struct inq_cu_gpu *from,
                        const struct inq_cu_gpu *to, struct inq_err *err)
{
    int code = inq_cu_check(d, d->cu.cuCtxSetCurrent(from->ctx), "choosing a GPU", err);
    if (code == INQ_OK) {
        CUresult result = d->cu.cuCtxEnablePeerAccess(to->ctx, 0);
        result = result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS : result;
        code = inq_cu_check(d, result, "connecting GPUs", err);
    }
    return code;
}

/* Every GPU reaches every other one's memory. */
static int connect_peers(const struct inq_cu_driver *d, uint32_t gpu, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t other = 0; code == INQ_OK && other < gpu; other++) {
        code = connect_peer(d, &d->gpus[gpu], &d->gpus[other], err);
        if (code == INQ_OK) {
            code = connect_peer(d, &d->gpus[other], &d->gpus[gpu], err);
        }
    }
    return code;
}

int inq_cu_open(void *self, uint32_t gpu, size_t parts, struct inq_gpu_info *info,
                struct inq_err *err)
{
    struct inq_cu_driver *d = self;
    struct inq_cu_gpu *g = &d->gpus[gpu];
    *info = (struct inq_gpu_info){0};
    d->open = true;
    int code = read_info(d, g, g->number, info, err);
    if (gpu == 0) {
        (void)snprintf(info->left_out, sizeof info->left_out, "%s", d->left_out);
    }
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuDevicePrimaryCtxRetain(&g->ctx, g->dev), "opening the GPU",
                            err);
    }
    if (code == INQ_OK) {
        code = connect_peers(d, gpu, err);
    }
    if (code == INQ_OK) {
        code = inq_cu_check(d, d->cu.cuCtxSetCurrent(g->ctx), "choosing a GPU", err);
    }
    return code == INQ_OK ? make_parts(d, g, parts, info, err) : code;
}

void inq_cu_close(void *self)
{
    struct inq_cu_driver *d = self;
    inq_cu_gemm_close(d);
    d->open = false;
    (void)d->cu.cuCtxSetCurrent(d->before); /* a partition must not be current when it goes */
    for (size_t g = 0; g < d->n_gpus; g++) {
        struct inq_cu_gpu *gpu = &d->gpus[g];
        drop_parts(d, gpu);
    }
    for (size_t g = 0; g < d->n_gpus; g++) {
        if (d->gpus[g].ctx != NULL) {
            (void)d->cu.cuDevicePrimaryCtxRelease(d->gpus[g].dev);
            d->gpus[g].ctx = NULL;
        }
    }
}
#endif
