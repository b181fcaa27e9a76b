/* SPDX-License-Identifier: Apache-2.0 */
/* A libnccl.so.2 that stands in beside the driver: collectives between its GPUs, on their memory. A
 * member's part occupies its stream until all members have come, as a kernel of NCCL does. It
 * insists on what the real one needs: calls of several GPUs in one group, no capture, each buffer
 * on its communicator's GPU, all members of one mind. INQ_STANDIN_NCCL: the version it says it is
 * (2804), "refuses" (it does not start), "corrupt" (sums come out wrong). */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

enum Kind { ALL_REDUCE, REDUCE, BROADCAST, REDUCE_SCATTER, ALL_GATHER };

/* A member's part in a collective. */
struct Part {
    Kind kind;
    size_t count;
    int root;
    const float *from;
    float *to;
};

/* Where the members of one collective meet. */
struct Meeting {
    std::vector<Part> parts;
    size_t n_come = 0, n_done = 0;
};

/* What was sent and has not been received. */
struct Letter {
    const float *from;
    size_t count;
    bool received = false;
};

struct Clique {
    int n = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<size_t, Meeting> meetings; /* by number, in each member's order */
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<Letter>>> letters;
};

} // namespace

struct ncclComm {
    std::shared_ptr<Clique> clique;
    int device = 0, rank = 0;
    size_t n_meetings = 0;
};

namespace
{

/* What a member sends and receives in one group is one kernel. */
struct Post {
    struct Item {
        bool sends;
        int peer;
        float *at;
        size_t count;
    };
    CUstream stream;
    std::vector<Item> items;
};

struct Group {
    int depth = 0;
    std::vector<std::pair<CUstream, std::function<void()>>> calls;
    std::map<ncclComm *, Post> posts;
};

thread_local Group group;

/* Ends the program: it did what the library does not forgive. */
void insist(bool right, const char *what)
{
    if (!right) {
        (void)fprintf(stderr, "stand-in: NCCL: %s\n", what);
        abort();
    }
}

bool option(const char *word)
{
    const char *text = getenv("INQ_STANDIN_NCCL");
    return text != nullptr && strcmp(text, word) == 0;
}

/* Waits for the others; what never comes would hang a GPU. */
void await(Clique &c, std::unique_lock<std::mutex> &lock, const std::function<bool()> &come)
{
    c.changed.notify_all();
    insist(c.changed.wait_for(lock, std::chrono::seconds(120), come), "a member never came");
}

/* ---- collectives ------------------------------------------------------------------------------
 */

float sum_at(const Meeting &m, size_t at)
{
    float sum = 0.0F;
    for (const Part &part : m.parts) {
        sum += part.from[at];
    }
    return sum;
}

/* What member `rank` receives. */
void receive(const Meeting &m, size_t rank)
{
    const Part &own = m.parts[rank];
    const size_t begin = own.kind == REDUCE_SCATTER ? rank * own.count : 0;
    switch (own.kind) {
    case REDUCE:
        if (own.root != static_cast<int>(rank)) {
            return;
        }
        [[fallthrough]];
    case ALL_REDUCE:
    case REDUCE_SCATTER:
        for (size_t i = 0; i < own.count; i++) {
            own.to[i] = sum_at(m, begin + i) + (option("corrupt") && i == 0 ? 1.0F : 0.0F);
        }
        return;
    case BROADCAST:
        memcpy(own.to, m.parts[static_cast<size_t>(own.root)].from, own.count * sizeof(float));
        return;
    case ALL_GATHER:
        for (size_t k = 0; k < m.parts.size(); k++) {
            memcpy(own.to + k * own.count, m.parts[k].from, own.count * sizeof(float));
        }
    }
}

/* Comes, waits for all, takes its own, and leaves when all have theirs. */
void meet(Clique &c, size_t number, size_t rank, const Part &part)
{
    std::unique_lock<std::mutex> lock(c.mutex);
    const size_t n = static_cast<size_t>(c.n);
    Meeting &m = c.meetings[number];
    m.parts.resize(n);
    m.parts[rank] = part;
    m.n_come++;
    await(c, lock, [&] { return m.n_come == n; });
    const Part &first = m.parts[0];
    insist(first.kind == part.kind && first.count == part.count && first.root == part.root,
           "members disagree on what they do");
    lock.unlock();
    receive(m, rank);
    lock.lock();
    m.n_done++;
    await(c, lock, [&] { return m.n_done >= n; });
    if (++m.n_done == 2 * n) { /* the last to leave */
        c.meetings.erase(number);
    }
}

void check_buffer(const ncclComm *comm, const void *buffer)
{
    int device = -1;
    const CUresult status = cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                  reinterpret_cast<CUdeviceptr>(buffer));
    insist(status == CUDA_SUCCESS && device == comm->device, "a buffer on another GPU");
}

void check_call(const ncclComm *comm, ncclDataType_t type, CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    insist(comm != nullptr && type == ncclFloat32, "arguments");
    insist(group.depth > 0, "several GPUs of one thread, and no group");
    insist(cuStreamIsCapturing(stream, &capture) == CUDA_SUCCESS &&
               capture == CU_STREAM_CAPTURE_STATUS_NONE,
           "several GPUs of one process in a capture");
}

ncclResult_t put(ncclComm *comm, ncclDataType_t type, CUstream stream, const Part &part)
{
    check_call(comm, type, stream);
    check_buffer(comm, part.from);
    if (part.kind != REDUCE || part.root == comm->rank) {
        check_buffer(comm, part.to);
    }
    const size_t number = comm->n_meetings++;
    const auto rank = static_cast<size_t>(comm->rank);
    group.calls.emplace_back(
        stream, [clique = comm->clique, number, rank, part] { meet(*clique, number, rank, part); });
    return ncclSuccess;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

ncclResult_t post(ncclComm *comm, ncclDataType_t type, CUstream stream, const Post::Item &item)
{
    check_call(comm, type, stream);
    check_buffer(comm, item.at);
    Post &p = group.posts[comm];
    insist(p.items.empty() || p.stream == stream, "one communicator on two streams in a group");
    p.stream = stream;
    p.items.push_back(item);
    return ncclSuccess;
}

void exchange(Clique &c, int rank, const std::vector<Post::Item> &items)
{
    std::unique_lock<std::mutex> lock(c.mutex);
    std::vector<std::shared_ptr<Letter>> sent;
    for (const Post::Item &item : items) {
        if (item.sends) {
            sent.push_back(std::make_shared<Letter>(Letter{item.at, item.count}));
            c.letters[{rank, item.peer}].push_back(sent.back());
        }
    }
    for (const Post::Item &item : items) {
        if (item.sends) {
            continue;
        }
        auto &box = c.letters[{item.peer, rank}];
        await(c, lock, [&] { return !box.empty(); });
        const std::shared_ptr<Letter> letter = box.front();
        box.pop_front();
        insist(letter->count == item.count, "a pair disagrees on the size");
        lock.unlock();
        memcpy(item.at, letter->from, item.count * sizeof(float));
        lock.lock();
        letter->received = true;
    }
    await(c, lock, [&] {
        for (const auto &letter : sent) {
            if (!letter->received) {
                return false;
            }
        }
        return true;
    });
}

void CUDA_CB call(void *task)
{
    const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()> *>(task));
    (*own)();
}

ncclResult_t launch(CUstream stream, std::function<void()> task)
{
    auto *own = new std::function<void()>(std::move(task));
    return cuLaunchHostFunc(stream, call, own) == CUDA_SUCCESS ? ncclSuccess
                                                               : ncclUnhandledCudaError;
}

CUstream of(cudaStream_t stream)
{
    return reinterpret_cast<CUstream>(stream);
}

} // namespace

/* ---- the library ------------------------------------------------------------------------------
 */

EXPORT ncclResult_t ncclGetVersion(int *version)
{
    const char *text = getenv("INQ_STANDIN_NCCL");
    const long said = text != nullptr ? strtol(text, nullptr, 10) : 0;
    *version = said > 0 ? static_cast<int>(said) : NCCL_VERSION_CODE;
    return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSystemError ? "refused by the stand-in" : "failed";
}

EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    if (option("refuses")) {
        return ncclSystemError;
    }
    const auto clique = std::make_shared<Clique>();
    clique->n = n;
    for (int k = 0; k < n; k++) {
        for (int other = 0; other < k; other++) {
            insist(devices[k] != devices[other], "duplicate GPU detected");
        }
        comms[k] = new ncclComm;
        comms[k]->clique = clique;
        comms[k]->device = devices[k];
        comms[k]->rank = k;
    }
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    delete comm;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result = ncclSuccess;
    if (--group.depth > 0) {
        return result;
    }
    Group all = std::move(group);
    group = Group();
    for (auto &one : all.calls) {
        const ncclResult_t own = launch(one.first, std::move(one.second));
        result = result == ncclSuccess ? own : result;
    }
    for (auto &one : all.posts) {
        ncclComm *comm = one.first;
        const ncclResult_t own =
            launch(one.second.stream,
                   [clique = comm->clique, rank = comm->rank, items = std::move(one.second.items)] {
                       exchange(*clique, rank, items);
                   });
        result = result == ncclSuccess ? own : result;
    }
    return result;
}

EXPORT ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    insist(op == ncclSum, "operation");
    return put(
        comm, type, of(stream),
        Part{ALL_REDUCE, count, 0, static_cast<const float *>(from), static_cast<float *>(to)});
}

EXPORT ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    insist(op == ncclSum, "operation");
    return put(
        comm, type, of(stream),
        Part{REDUCE, count, root, static_cast<const float *>(from), static_cast<float *>(to)});
}

EXPORT ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type,
                                  int root, ncclComm_t comm, cudaStream_t stream)
{
    return put(
        comm, type, of(stream),
        Part{BROADCAST, count, root, static_cast<const float *>(from), static_cast<float *>(to)});
}

EXPORT ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    insist(op == ncclSum, "operation");
    return put(
        comm, type, of(stream),
        Part{REDUCE_SCATTER, count, 0, static_cast<const float *>(from), static_cast<float *>(to)});
}

EXPORT ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream)
{
    return put(
        comm, type, of(stream),
        Part{ALL_GATHER, count, 0, static_cast<const float *>(from), static_cast<float *>(to)});
}

EXPORT ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                             ncclComm_t comm, cudaStream_t stream)
{
    auto *at = const_cast<float *>(static_cast<const float *>(from));
    return post(comm, type, of(stream), Post::Item{true, peer, at, count});
}

EXPORT ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream)
{
    return post(comm, type, of(stream), Post::Item{false, peer, static_cast<float *>(to), count});
}
