/* SPDX-License-Identifier: Apache-2.0 */
/* The device calls that the engine makes, as a table, so that tests drive the engine with a device
 * that is not there. All but the releases return 0 or a negative enum inq_code with `err` filled;
 * releases of NULL or 0 do nothing. Handles belong to the caller. */
#ifndef INQ_REPLAY_CUDA_DRIVER_CALLS_H
#define INQ_REPLAY_CUDA_DRIVER_CALLS_H

#include "cuda/kernels.h"
#include "inquest/error.h"
#include "inquest/replay.h"

#include <stdbool.h>

#define INQ_GPU_LIBRARY_NAME 32

typedef uint64_t inq_gpu_addr; /* device address; 0: none */

struct inq_gpu_info {
    char name[96];
    int sms, part_sms; /* of the device; of a partition */
    bool partitioned;  /* false: partitions share all SMs */
    char why[96];      /* why not; "" otherwise */
    char left_out[96]; /* of GPU 0: why others are not used; "": all are */
};

/* A member of a transfer: where its share is put, what it sends, and where it receives. */
struct inq_gpu_member {
    void *stream;
    inq_gpu_addr from, to;
};

/* One transfer of all members at once, as NCCL defines it: `elems` floats, which are those of every
 * member, or in scatters, gathers and all-to-alls those of all shares together (a multiple of the
 * members). The first member is the root; in a SEND it sends to the other one. */
struct inq_gpu_exchange {
    uint32_t work; /* enum inq_work */
    uint64_t elems;
    const struct inq_gpu_member *members;
};

#define INQ_GPU_WHOLE UINT32_MAX /* as a part: the whole GPU */

/* Where a stream or event lives. */
struct inq_gpu_spot {
    uint32_t gpu, part;
};

struct inq_gpu_launch {
    enum inq_gpu_kernel kernel;
    unsigned blocks, threads;
    const void *args;
    size_t args_size;
};

struct inq_gpu_calls {
    void *self;
    /* GPUs that can be used, at least 1. Fails with INQ_UNSUPPORTED, saying what is missing. */
    int (*count)(void *self, size_t *n, struct inq_err *err);
    /* Makes `gpu` ready with `parts` partitions, of disjoint SMs if the device can. */
    int (*open)(void *self, uint32_t gpu, size_t parts, struct inq_gpu_info *info,
                struct inq_err *err);
    /* Gives all GPUs back; whatever was made on them must have been released. */
    void (*close)(void *self);

    int (*alloc)(void *self, uint32_t gpu, size_t bytes, inq_gpu_addr *at, struct inq_err *err);
    void (*release)(void *self, uint32_t gpu, inq_gpu_addr at);
    /* Zeroed host memory that every GPU reaches at *at. */
    int (*host_alloc)(void *self, size_t bytes, void **host, inq_gpu_addr *at, struct inq_err *err);
    void (*host_release)(void *self, void *host);
    /* These two wait until they are done. */
    int (*upload)(void *self, inq_gpu_addr to, const void *from, size_t bytes, struct inq_err *err);
    int (*download)(void *self, void *to, inq_gpu_addr from, size_t bytes, struct inq_err *err);

    int (*stream_new)(void *self, struct inq_gpu_spot spot, void **stream, struct inq_err *err);
    void (*stream_free)(void *self, void *stream);
    int (*event_new)(void *self, struct inq_gpu_spot spot, void **event, struct inq_err *err);
    void (*event_free)(void *self, void *event);
    int (*record)(void *self, void *event, void *stream, struct inq_err *err);
    int (*wait)(void *self, void *stream, void *event, struct inq_err *err);
    int (*launch)(void *self, void *stream, const struct inq_gpu_launch *launch,
                  struct inq_err *err);
    int (*fill)(void *self, void *stream, inq_gpu_addr to, int byte, size_t bytes,
                struct inq_err *err);
    int (*copy)(void *self, void *stream, inq_gpu_addr to, inq_gpu_addr from, size_t bytes,
                struct inq_err *err);
    /* Whether all that was put into the stream is done. */
    int (*query)(void *self, void *stream, bool *done, struct inq_err *err);
    /* Lets host time pass between two queries. */
    void (*pause)(void *self, int64_t ns);
    int64_t (*now_ns)(void *self);

    /* What is put into `stream`, and into streams that wait for it, becomes a graph. */
    int (*capture_begin)(void *self, void *stream, struct inq_err *err);
    /* On failure the capture has ended too. */
    int (*capture_end)(void *self, void *stream, void **graph, struct inq_err *err);
    int (*graph_launch)(void *self, void *graph, void *stream, struct inq_err *err);
    void (*graph_free)(void *self, void *graph);

    /* Matrix products by a library; NULL, or INQ_UNSUPPORTED from gemm_open: none. `gemm_open`
     * makes room on that spot for factors and results of so many bytes; `close` ends it. */
    int (*gemm_open)(void *self, struct inq_gpu_spot spot, size_t factor_bytes, size_t result_bytes,
                     struct inq_err *err);
    int (*gemm)(void *self, struct inq_gpu_spot spot, void *stream,
                const struct inq_product *product, struct inq_err *err);

    /* Transfers between GPUs by a library; NULL, or INQ_UNSUPPORTED from clique_open: none. A
     * clique is an order of GPUs that transfer together; `name` gets the library's. An exchange
     * must not be captured. */
    int (*clique_open)(void *self, const uint32_t *gpus, uint32_t n, void **clique,
                       char name[INQ_GPU_LIBRARY_NAME], struct inq_err *err);
    void (*clique_free)(void *self, void *clique);
    int (*exchange)(void *self, void *clique, const struct inq_gpu_exchange *exchange,
                    struct inq_err *err);
};

#endif
