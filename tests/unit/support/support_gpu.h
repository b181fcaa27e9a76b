/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU that is not there: device calls with their own clock, which do what the driver and the
 * kernels do, in host memory. A stream's work is done when it is put in, at the time at which the
 * stream and the events that it waited for allow. */
#ifndef INQ_SUPPORT_GPU_H
#define INQ_SUPPORT_GPU_H

#include "cuda/session.h"

struct fake_graph;

struct fake_gpu {
    struct inq_gpu_calls calls;
    /* what it is */
    size_t n_gpus;
    int sms;
    size_t most_parts; /* more partitions than that are refused */
    int64_t launch_ns; /* from what a kernel waits for to its start */
    int64_t load_ns;   /* by which launches of a graph's first execution are slower */
    int64_t step_ns;   /* of the timer */
    int64_t gemm_ns;   /* a product of 256; larger ones by the cube. 0: no library */
    int64_t offset_ns; /* between the timers of two GPUs */
    int64_t drift_ppm; /* by which a GPU's timer is faster than that of the one before */
    bool corrupt;      /* reductions come out wrong */
    bool no_graphs;    /* captures end in an error */
    bool hangs;        /* graphs never end ... */
    bool stops;        /* ... unless aborted */
    long fail_at;      /* the call with this number fails; 0: none */
    /* what it has seen */
    long n_calls;
    long live; /* allocations, streams, events, graphs that were not released */
    long opened;
    size_t n_launches, n_graph_launches, n_copies, n_products, n_streams;
    int32_t largest;          /* rows of the largest product by the library */
    size_t part_products[32]; /* that were made on each partition */
    unsigned product_blocks;  /* of the last launch of the own kernel for products */
    unsigned op_threads;      /* most that one op has had looking at the timer */
    int64_t now;              /* the host's clock */
    int64_t free_from;        /* when all that was put is done */
    uint32_t *flags;          /* the first host memory that was asked for */
    size_t queued;            /* commands put while the gate was closed */
    size_t most_queued;
    bool capturing;
    unsigned n_captures;
    struct fake_graph *graph;  /* being captured */
    struct fake_graph *graphs; /* that were not freed */
    size_t n_held, cap_held;
    void **held; /* what is not released */
};

/* One GPU of 132 SMs, 15 partitions, launches of 2 us, a timer of 32 ns. */
void fake_gpu_init(struct fake_gpu *fake);
/* Frees what was not released, after `live` has been looked at. */
void fake_gpu_release(struct fake_gpu *fake);

#endif
