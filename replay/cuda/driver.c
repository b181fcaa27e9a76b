/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the driver and the kernels; the engine's entry. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA
#include "cuda/driver.h"
#include "cuda/session.h"

#include "base/mem.h"
#include "engine/engine.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (result != CUDA_SUCCESS && d->library != NULL) {
        (void)d->cu.cuLibraryUnload(d->library);
        d->library = NULL;
    }
    return inq_cu_check(d, result, "loading the kernels", err);
}

/* A driver older than nvcc refuses what that made; it compiles the kernels itself. */
static int load_kernels(struct inq_cu_driver *d, struct inq_err *err)
{
    struct inq_err newer = {0};
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
    if (code == INQ_OK) {
        code = load_kernels(d, err);
    }
    if (code != INQ_OK) {
        driver_free(d);
        return code;
    }
    d->calls.self = d;
    d->calls.count = count_gpus;
    d->calls.open = inq_cu_open;
    d->calls.close = inq_cu_close;
    inq_cu_set_calls(d);
    *driver = d;
    return INQ_OK;
}

/* ---- the engine ------------------------------------------------------------------------------ */

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
