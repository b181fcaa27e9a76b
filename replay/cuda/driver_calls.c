/* SPDX-License-Identifier: Apache-2.0 */
/* The calls on open GPUs, one driver call each where that is possible. */
#include "inquest/error.h"

#ifdef INQ_HAVE_CUDA
#include "cuda/driver.h"

#include "base/time.h"

#include <string.h>
#include <time.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static int choose(const struct inq_cu_driver *d, struct inq_gpu_spot spot, struct inq_err *err)
{
    return inq_cu_check(d, d->cu.cuCtxSetCurrent(inq_cu_ctx(d, spot)), "choosing a GPU", err);
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
    c->gemm_open = inq_cu_gemm_open;
    c->gemm = inq_cu_gemm;
}
#endif
