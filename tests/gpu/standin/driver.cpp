/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that executes the engine's own kernels on CPU threads, with the signatures of
 * cuda.h: what tests run where there is no GPU. It keeps order, events, graphs, queues and memory
 * as a driver does and insists on what real ones insist on; it says nothing about times.
 * INQ_STANDIN chooses what it is (standin.h). */
#include "standin.h"

#include "inquest/replay.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <map>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

using standin::Command;
using standin::options;
using standin::Recording;
using standin::Stream;

namespace
{

struct Context {
    int device = 0;
    unsigned sms = 0;
    bool green = false;
};

struct Event {
    const Context *context = nullptr;
    std::shared_ptr<Recording> recording; /* the last one; NULL: none */
    size_t capture = 0;
    long node = -1;
};

/* A captured command and what it comes after. */
struct Node {
    Command::Kind kind = Command::WORK;
    Stream *stream = nullptr;
    std::function<void()> work;
    long waits_for = -1; /* WAIT: the node that recorded */
    long before = -1;    /* in its stream */
};

struct Graph {
    std::vector<Node> nodes;
};

struct Driver {
    std::mutex mutex;
    std::map<int, Context> primary;
    std::map<CUdeviceptr, size_t> memory;
    std::map<int, size_t> used_bytes;
    std::map<CUdeviceptr, int> owner;
    std::map<Stream *, const Context *> streams;
    bool readable = false; /* the code that was loaded last */
    std::unique_ptr<Graph> capture;
    Stream *origin = nullptr;
    size_t n_captures = 0;
};

Driver &driver()
{
    static Driver *made = new Driver;
    return *made;
}

thread_local Context *current;

Stream *stream_of(CUstream stream)
{
    return reinterpret_cast<Stream *>(stream);
}

bool captured(const Driver &d, const Stream *stream)
{
    return d.capture != nullptr && stream->capture == d.n_captures;
}

bool connected(int a, int b)
{
    return a != b && !options().nopeer && a != options().lonely && b != options().lonely;
}

/* ---- commands ---------------------------------------------------------------------------------
 */

/* Into the capture if the stream belongs to it, else into its queue. */
CUresult put(Stream *stream, std::function<void()> work)
{
    Driver &d = driver();
    {
        std::lock_guard<std::mutex> lock(d.mutex);
        if (captured(d, stream)) {
            d.capture->nodes.push_back(
                Node{Command::WORK, stream, std::move(work), -1, stream->node});
            stream->node = static_cast<long>(d.capture->nodes.size()) - 1;
            return CUDA_SUCCESS;
        }
    }
    Command c;
    c.stream = stream;
    c.work = std::move(work);
    standin::submit(std::move(c));
    return CUDA_SUCCESS;
}

void submit_mark(Command::Kind kind, Stream *stream, std::shared_ptr<Recording> recording)
{
    Command c;
    c.kind = kind;
    c.stream = stream;
    c.recording = std::move(recording);
    standin::submit(std::move(c));
}

/* Whether every stream of the capture comes together in the one that it began on. */
bool joined(const Driver &d)
{
    std::vector<char> reached(d.capture->nodes.size(), 0);
    std::vector<long> open = {d.origin->node};
    while (!open.empty()) {
        const long at = open.back();
        open.pop_back();
        if (at < 0 || reached[static_cast<size_t>(at)] != 0) {
            continue;
        }
        reached[static_cast<size_t>(at)] = 1;
        open.push_back(d.capture->nodes[static_cast<size_t>(at)].before);
        open.push_back(d.capture->nodes[static_cast<size_t>(at)].waits_for);
    }
    for (const auto &entry : d.streams) {
        const Stream *s = entry.first;
        if (captured(d, s) && s->node >= 0 && reached[static_cast<size_t>(s->node)] == 0) {
            return false;
        }
    }
    return true;
}

} // namespace

int standin::owner_of(const void *address)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    const auto at = reinterpret_cast<CUdeviceptr>(address);
    auto after = d.memory.upper_bound(at);
    if (after == d.memory.begin()) {
        return -1;
    }
    --after;
    return at < after->first + after->second ? d.owner[after->first] : -1;
}

/* ---- the machine ------------------------------------------------------------------------------
 */

EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
    if (standin::hardware_queues() < options().least_queues) {
        standin::misuse("streams wait for each other in fewer queues than there could be");
    }
    return options().none || flags != 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    const bool older = options().refuse_fatbin || options().late_refusal;
    *version = options().old ? 11040 : older ? 12000 : CUDA_VERSION;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "refused by the stand-in";
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = options().devices;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < options().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice device)
{
    (void)device;
    (void)snprintf(name, static_cast<size_t>(len), INQ_STANDIN_DEVICE);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                             CUdevice device)
{
    (void)device;
    if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
        *value = static_cast<int>(options().sms);
    } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
        *value = options().sm75 ? 7 : 9;
    } else {
        *value = options().sm75 ? 5 : 0;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    Context &c = d.primary[device];
    c.device = device;
    c.sms = options().sms;
    *context = reinterpret_cast<CUcontext>(&c);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = connected(device, peer);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    *context = reinterpret_cast<CUcontext>(current);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    current = reinterpret_cast<Context *>(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    if (current == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    standin::drain(current->device);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    const bool known = peer != nullptr && current != nullptr && flags == 0;
    return known && connected(current->device, reinterpret_cast<Context *>(peer)->device)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* ---- partitions -------------------------------------------------------------------------------
 */

EXPORT CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                               CUdevResourceType type)
{
    (void)device;
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->sm.smCount = options().sms;
    resource->sm.minSmPartitionSize = options().least_sms;
    resource->sm.smCoscheduledAlignment = options().least_sms;
    return options().nogreen ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n,
                                                    const CUdevResource *input,
                                                    CUdevResource *remaining, unsigned int flags,
                                                    unsigned int least)
{
    const bool relaxed = flags == CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    const unsigned step = relaxed ? 2 : options().least_sms;
    const unsigned share = (least + step - 1) / step * step;
    if (share == 0 || share > input->sm.smCount || remaining != nullptr ||
        (flags != 0 && !relaxed)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const unsigned fits = input->sm.smCount / share;
    if (result == nullptr) {
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
    *desc = reinterpret_cast<CUdevResourceDesc>(resources);
    return n == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

EXPORT CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice device,
                                         unsigned int flags)
{
    if (desc == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto *resource = reinterpret_cast<const CUdevResource *>(desc);
    *green = reinterpret_cast<CUgreenCtx>(new Context{device, resource->sm.smCount, true});
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green)
{
    auto *context = reinterpret_cast<Context *>(green);
    if (context == current) {
        standin::misuse("a green context goes while it is current");
    }
    delete context;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
    *context = reinterpret_cast<CUcontext>(green);
    return CUDA_SUCCESS;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

EXPORT CUresult CUDAAPI cuMemAlloc(CUdeviceptr *ptr, size_t bytes)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    if (current == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    size_t &used = d.used_bytes[current->device];
    void *memory = nullptr;
    if ((options().most_bytes > 0 && used + bytes > options().most_bytes) ||
        posix_memalign(&memory, 256, bytes) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(memory, 0xa5, bytes); /* fresh memory is not zero */
    *ptr = reinterpret_cast<CUdeviceptr>(memory);
    used += bytes;
    d.memory[*ptr] = bytes;
    d.owner[*ptr] = current->device;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr ptr)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    const auto found = d.memory.find(ptr);
    if (found == d.memory.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    d.used_bytes[d.owner[ptr]] -= found->second;
    d.memory.erase(found);
    free(reinterpret_cast<void *>(ptr));
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
    if (flags != (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return posix_memalign(ptr, 256, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *at, void *host, unsigned int flags)
{
    *at = reinterpret_cast<CUdeviceptr>(host);
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuMemFreeHost(void *host)
{
    free(host);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy(reinterpret_cast<void *>(to), from, bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                          CUstream stream)
{
    return put(stream_of(stream), [=] {
        memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    });
}

EXPORT CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes,
                                        CUstream stream)
{
    return put(stream_of(stream), [=] { memset(reinterpret_cast<void *>(to), byte, bytes); });
}

EXPORT CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                              CUdeviceptr at)
{
    const int owner = standin::owner_of(reinterpret_cast<const void *>(at));
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || owner < 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &owner, sizeof owner);
    return CUDA_SUCCESS;
}

/* ---- streams and events -----------------------------------------------------------------------
 */

static CUresult new_stream(CUstream *stream, const Context *context)
{
    Driver &d = driver();
    auto *s = new Stream;
    s->device = context->device;
    s->queue = standin::next_queue(context->device);
    std::lock_guard<std::mutex> lock(d.mutex);
    d.streams[s] = context;
    *stream = reinterpret_cast<CUstream>(s);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
    if (flags != CU_STREAM_NON_BLOCKING || current == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return new_stream(stream, current);
}

EXPORT CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green,
                                               unsigned int flags, int priority)
{
    if (flags != CU_STREAM_NON_BLOCKING || priority != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return new_stream(stream, reinterpret_cast<const Context *>(green));
}

EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    d.streams.erase(stream_of(stream));
    delete stream_of(stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamQuery(CUstream stream)
{
    return standin::idle(stream_of(stream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EXPORT CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    *status = captured(d, stream_of(stream)) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                             : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn call, void *data)
{
    return put(stream_of(stream), [=] { call(data); });
}

EXPORT CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    if (flags != CU_EVENT_DISABLE_TIMING || current == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto *e = new Event;
    e->context = current;
    *event = reinterpret_cast<CUevent>(e);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    delete reinterpret_cast<Event *>(event);
    return CUDA_SUCCESS;
}

/* Only a stream of the event's own context records it. */
EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    Driver &d = driver();
    auto *e = reinterpret_cast<Event *>(event);
    Stream *s = stream_of(stream);
    {
        std::lock_guard<std::mutex> lock(d.mutex);
        if (d.streams[s] != e->context) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        if (captured(d, s)) {
            d.capture->nodes.push_back(Node{Command::RECORD, s, nullptr, -1, s->node});
            s->node = static_cast<long>(d.capture->nodes.size()) - 1;
            e->capture = d.n_captures;
            e->node = s->node;
            return CUDA_SUCCESS;
        }
        e->capture = 0;
        e->recording = std::make_shared<Recording>();
    }
    submit_mark(Command::RECORD, s, e->recording);
    return CUDA_SUCCESS;
}

/* A stream that waits for a captured event joins the capture. */
EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    Driver &d = driver();
    auto *e = reinterpret_cast<Event *>(event);
    Stream *s = stream_of(stream);
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    {
        std::lock_guard<std::mutex> lock(d.mutex);
        const bool joins = d.capture != nullptr && e->capture == d.n_captures;
        if (!joins && captured(d, s)) {
            return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        }
        if (joins) {
            const long before = captured(d, s) ? s->node : -1;
            s->capture = d.n_captures;
            d.capture->nodes.push_back(Node{Command::WAIT, s, nullptr, e->node, before});
            s->node = static_cast<long>(d.capture->nodes.size()) - 1;
            return CUDA_SUCCESS;
        }
        if (e->recording == nullptr) {
            return CUDA_SUCCESS; /* never recorded: nothing to wait for */
        }
    }
    submit_mark(Command::WAIT, s, e->recording);
    return CUDA_SUCCESS;
}

/* ---- graphs -----------------------------------------------------------------------------------
 */

EXPORT CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED || d.capture != nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    d.capture = std::make_unique<Graph>();
    d.origin = stream_of(stream);
    d.origin->capture = ++d.n_captures;
    d.origin->node = -1;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    Driver &d = driver();
    std::lock_guard<std::mutex> lock(d.mutex);
    *graph = nullptr;
    if (d.capture == nullptr || d.origin != stream_of(stream)) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    const bool whole = joined(d);
    std::unique_ptr<Graph> made = std::move(d.capture);
    if (options().refuse_capture) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (!whole) {
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = reinterpret_cast<CUgraph>(made.release());
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph,
                                           unsigned long long flags)
{
    if (flags != 0 || options().refuse_graph) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *exec = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<const Graph *>(graph)));
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    return exec != nullptr && stream != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Its branches go through the hardware queues as streams do; a full queue makes the caller wait. */
EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    const auto *graph = reinterpret_cast<const Graph *>(exec);
    (void)stream; /* that the graph begins on: it was captured from it */
    std::vector<std::shared_ptr<Recording>> recordings(graph->nodes.size());
    for (size_t i = 0; i < graph->nodes.size(); i++) {
        const Node &node = graph->nodes[i];
        if (node.kind == Command::WORK) {
            Command c;
            c.stream = node.stream;
            c.work = node.work;
            standin::submit(std::move(c));
        } else if (node.kind == Command::RECORD) {
            recordings[i] = std::make_shared<Recording>();
            submit_mark(Command::RECORD, node.stream, recordings[i]);
        } else {
            submit_mark(Command::WAIT, node.stream,
                        recordings[static_cast<size_t>(node.waits_for)]);
        }
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    delete reinterpret_cast<Graph *>(exec);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    delete reinterpret_cast<Graph *>(graph);
    return CUDA_SUCCESS;
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static const char *const kernel_names[] = {
#define KERNEL_NAME(name, symbol) #symbol,
    INQ_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

/* Text for this driver or an older one, with a target that the device has. */
static bool reads_ptx(const char *text)
{
    int major = 0;
    int minor = 0;
    int target = 0;
    const char *version = strstr(text, "\n.version ");
    const char *arch = strstr(text, "\n.target sm_");
    return version != nullptr && arch != nullptr &&
           sscanf(version, "\n.version %d.%d", &major, &minor) == 2 &&
           sscanf(arch, "\n.target sm_%d", &target) == 1 && major * 10 + minor <= 80 &&
           target <= 80;
}

EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
                                          void **values, unsigned int n, CUlibraryOption *more,
                                          void **more_values, unsigned int n_more)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba}; /* of a fatbin */
    const bool plain = jit == nullptr && values == nullptr && n == 0 && more == nullptr &&
                       more_values == nullptr && n_more == 0;
    const bool fatbin = memcmp(code, magic, sizeof magic) == 0;
    const bool reads = fatbin ? !options().refuse_fatbin && !options().late_refusal
                              : reads_ptx(static_cast<const char *>(code));
    *library = nullptr;
    if (!plain || (!reads && !options().late_refusal)) {
        return fatbin ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
    }
    driver().readable = reads;
    *library = reinterpret_cast<CUlibrary>(&driver());
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    return library != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library;
    for (size_t i = 0; i < INQ_KERNEL_COUNT; i++) {
        if (strcmp(kernel_names[i], name) == 0) {
            *kernel = reinterpret_cast<CUkernel>(i + 1);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    *function = reinterpret_cast<CUfunction>(kernel);
    return current == nullptr   ? CUDA_ERROR_INVALID_CONTEXT
           : !driver().readable ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                       unsigned int grid_y, unsigned int grid_z,
                                       unsigned int block_x, unsigned int block_y,
                                       unsigned int block_z, unsigned int shared, CUstream stream,
                                       void **params, void **extra)
{
    const size_t number = reinterpret_cast<size_t>(function) - 1;
    if (!driver().readable) {
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 ||
        block_y != 1 || block_z != 1 || shared != 0 || extra != nullptr ||
        number >= INQ_KERNEL_COUNT) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto kernel = static_cast<inq_gpu_kernel>(number);
    const auto *from = static_cast<const char *>(params[0]);
    const std::vector<char> args(from, from + standin::args_size(kernel));
    const int device = stream_of(stream)->device;
    return put(stream_of(stream), [=] {
        /* as the kernels read them: aligned */
        alignas(16) char aligned[4096];
        static_assert(sizeof(inq_gpu_data_args) <= sizeof aligned, "the largest arguments");
        memcpy(aligned, args.data(), args.size());
        standin::execute(device, kernel, grid_x, block_x, aligned);
    });
}
