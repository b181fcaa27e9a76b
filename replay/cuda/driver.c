/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the driver and the kernels; the engine's entry. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA

#include "base/mem.h"
#include "cuda/driver.h"
#include "cuda/session.h"
#include "engine/engine.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPUs and their partitions: green contexts on disjoint SMs, split once ------------------- */

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

/* ---- kernels --------------------------------------------------------------------------------- */

static int get_kernels(struct inq_cu_driver *d, const unsigned char *code, struct inq_err *err)
{
    static const char *const names[] = {
#define KERNEL_NAME(name, symbol) #symbol,
        INQ_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
    };
    CUresult result = d->cu.cuLibraryLoadData(&d->library, code, NULL, NULL, 0, NULL, NULL, 0);
    for (size_t i = 0; result == CUDA_SUCCESS && i < INQ_KERNEL_COUNT; i++) {
        result = d->cu.cuLibraryGetKernel(&d->kernels[i], d->library, names[i]);
    }
    /* Drivers load a kernel when it is first needed (CUDA_MODULE_LOADING), and say only then that
     * they cannot: its function in the current context is needed now. */
    for (size_t i = 0; result == CUDA_SUCCESS && i < INQ_KERNEL_COUNT; i++) {
        CUfunction function = NULL;
        result = d->cu.cuKernelGetFunction(&function, d->kernels[i]);
    }
    if (result != CUDA_SUCCESS && d->library != NULL) {
        (void)d->cu.cuLibraryUnload(d->library);
        d->library = NULL;
    }
    return inq_cu_check(d, result, "loading the kernels", err);
}

/* A driver older than nvcc refuses what that made; it compiles the kernels itself. Of the current
 * context's GPU. */
static int load_kernels(struct inq_cu_driver *d, struct inq_err *err)
{
    struct inq_err newer = {0};
    if (d->library != NULL) {
        return INQ_OK; /* for all GPUs */
    }
    if (get_kernels(d, inq_cuda_kernels, &newer) == INQ_OK) {
        return INQ_OK;
    }
    int code = get_kernels(d, inq_cuda_ptx, err);
    if (code != INQ_OK) {
        inq_err_prefix(err, "neither the kernels of CUDA %d.%d (%s) nor those of 12.0",
                       CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, newer.message);
    }
    return code;
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

static int cu_open(void *self, uint32_t gpu, size_t parts, struct inq_gpu_info *info,
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
    if (code == INQ_OK) {
        code = load_kernels(d, err);
    }
    return code == INQ_OK ? make_parts(d, g, parts, info, err) : code;
}

static void cu_close(void *self)
{
    struct inq_cu_driver *d = self;
    inq_cu_close_libraries(d);
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

#define OLDEST_DRIVER 12000

#define TEXT_OF(name)     #name
#define SYMBOL_TEXT(name) TEXT_OF(name) /* the name after cuda.h has put its version behind it */

/* ---- loading --------------------------------------------------------------------------------- */

static const struct symbol {
    const char *name;
    size_t offset; /* of its pointer in struct inq_cu */
    bool needed;
} symbols[] = {
#define NEEDED(name) {SYMBOL_TEXT(name), offsetof(struct inq_cu, name), true},
#define GREEN(name)  {SYMBOL_TEXT(name), offsetof(struct inq_cu, name), false},
    INQ_CU_CALLS(NEEDED) INQ_CU_GREEN_CALLS(GREEN)
#undef NEEDED
#undef GREEN
};

static int load(struct inq_cu_driver *d, struct inq_err *err)
{
    /* never unloaded: the driver keeps threads */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "there is no CUDA driver here (libcuda.so.1 cannot be loaded): execute "
                           "on a machine with an NVIDIA GPU, or use --engine host");
    }
    d->has_green = true;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        memcpy((char *)&d->cu + symbols[i].offset, &found, sizeof found);
        if (found == NULL && symbols[i].needed) {
            return inq_err_set(err, INQ_UNSUPPORTED,
                               "the CUDA driver is too old (it lacks %s): CUDA 12.0 or later is "
                               "needed",
                               symbols[i].name);
        }
        d->has_green = d->has_green && found != NULL;
    }
    return INQ_OK;
}

static bool reaches(const struct inq_cu_driver *d, int from, int to)
{
    CUdevice a = 0;
    CUdevice b = 0;
    int can = 0;
    return d->cu.cuDeviceGet(&a, from) == CUDA_SUCCESS &&
           d->cu.cuDeviceGet(&b, to) == CUDA_SUCCESS &&
           d->cu.cuDeviceCanAccessPeer(&can, a, b) == CUDA_SUCCESS && can != 0;
}

/* The first device, and every further one that reaches all before it and is reached by them. */
static void choose_gpus(struct inq_cu_driver *d, int n)
{
    size_t left_out = 0;
    for (int number = d->first; number < n && d->n_gpus < INQ_GPU_MAX_GPUS; number++) {
        bool connected = true;
        for (size_t g = 0; connected && g < d->n_gpus; g++) {
            connected =
                reaches(d, number, d->gpus[g].number) && reaches(d, d->gpus[g].number, number);
        }
        if (connected) {
            d->gpus[d->n_gpus++].number = number;
        } else {
            left_out++;
        }
    }
    if (left_out > 0) {
        (void)snprintf(d->left_out, sizeof d->left_out,
                       "%zu of %d GPUs not used: no peer access between their memories", left_out,
                       n - d->first);
    }
}

static int start_driver(struct inq_cu_driver *d, struct inq_err *err)
{
    /* Streams beyond the number of connections (8 unless told) wait for each other. The driver
     * reads this once, when it starts; what the user has set stays. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    CUresult result = d->cu.cuInit(0);
    int version = 0;
    if (result == CUDA_ERROR_NO_DEVICE) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "there is no GPU here: execute on a machine with an NVIDIA GPU, or use "
                           "--engine host");
    }
    if (d->cu.cuDriverGetVersion(&version) == CUDA_SUCCESS && version < OLDEST_DRIVER) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "the CUDA driver is too old (CUDA %d.%d): 12.0 or later is needed",
                           version / 1000, version % 1000 / 10);
    }
    if (result != CUDA_SUCCESS) {
        struct inq_err why = {0};
        (void)inq_cu_check(d, result, "starting the CUDA driver", &why);
        return inq_err_set(err, INQ_UNSUPPORTED, "%s", why.message);
    }
    int n = 0;
    result = d->cu.cuDeviceGetCount(&n);
    if (result != CUDA_SUCCESS || n <= 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the CUDA driver shows no GPU");
    }
    if (d->first < 0 || d->first >= n) {
        return inq_err_set(err, INQ_USAGE, "there is no GPU %d: this machine has %d, from 0",
                           d->first, n);
    }
    choose_gpus(d, n);
    return inq_cu_check(d, d->cu.cuCtxGetCurrent(&d->before), "asking for the context", err);
}

static int count_gpus(void *self, size_t *n, struct inq_err *err)
{
    const struct inq_cu_driver *d = self;
    (void)err;
    *n = d->n_gpus;
    return INQ_OK;
}

/* After its `close` if anything was opened. */
static void driver_free(struct inq_cu_driver *driver)
{
    if (driver == NULL || driver->open) {
        return; /* a GPU that does not stop still uses it */
    }
    if (driver->library != NULL) {
        (void)driver->cu.cuLibraryUnload(driver->library);
    }
    inq_mem_free(driver);
}

/* Loads the driver; `first`: the first device to use. Fails with INQ_UNSUPPORTED when there is no
 * driver or no GPU, INQ_USAGE when there is no device `first`. */
static int driver_new(int first, struct inq_cu_driver **driver, struct inq_err *err)
{
    *driver = NULL;
    struct inq_cu_driver *d = inq_mem_zalloc(1, sizeof *d);
    if (d == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the cuda engine");
    }
    d->first = first;
    int code = load(d, err);
    if (code == INQ_OK) {
        code = start_driver(d, err);
    }
    if (code != INQ_OK) {
        driver_free(d);
        return code;
    }
    d->calls.self = d;
    d->calls.count = count_gpus;
    d->calls.open = cu_open;
    d->calls.close = cu_close;
    inq_cu_set_calls(d);
    *driver = d;
    return INQ_OK;
}

/* ---- the engine ------------------------------------------------------------------------------ */

size_t inq_engine_cuda_gpus(const struct inq_replay_options *options)
{
    struct inq_cu_driver *driver = NULL;
    int code = driver_new(options != NULL ? options->device : 0, &driver, NULL);
    size_t n = code == INQ_OK ? driver->n_gpus : 0;
    driver_free(driver);
    return n;
}

int inq_engine_cuda_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                        struct inq_execution *out, struct inq_err *err)
{
    struct inq_cu_driver *driver = NULL;
    *out = (struct inq_execution){0};
    int code = driver_new(options != NULL ? options->device : 0, &driver, err);
    if (code == INQ_OK) {
        code = inq_gpu_run(&driver->calls, plan, options, out, err);
    }
    driver_free(driver);
    return code;
}

int inq_engine_cuda_alternate(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                              const struct inq_replay_options *options, int64_t *makespan_ns,
                              struct inq_witness *witness, struct inq_execution *device,
                              struct inq_err *err)
{
    const struct inq_gpu_turns turns = {plans, order, n, makespan_ns, witness};
    struct inq_cu_driver *driver = NULL;
    *device = (struct inq_execution){0};
    int code = driver_new(options != NULL ? options->device : 0, &driver, err);
    if (code == INQ_OK) {
        code = inq_gpu_alternate(&driver->calls, &turns, options, device, err);
    }
    driver_free(driver);
    return code;
}
#endif
