/* SPDX-License-Identifier: Apache-2.0 */
/* What a name says: op classes, collective kinds, data types, annotations. Pure functions. */
#ifndef INQ_TRACE_CLASSIFY_H
#define INQ_TRACE_CLASSIFY_H

#include "inquest/trace.h"

/* Whether a row is GPU work: see struct inq_rank_time. */
static inline bool inq_row_is_work(const struct inq_events *events, size_t row)
{
    uint8_t kind = events->kind[row];

    return kind <= INQ_EVENT_MEMSET ||
           (kind == INQ_EVENT_OP && events->cls[row] != INQ_CLASS_OTHER);
}

/* Transfers from one rank to another: of one side alone, */
static inline bool inq_coll_is_one_way(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_SEND || kind == INQ_COLL_RECV;
}

/* or of either, or both. */
static inline bool inq_coll_is_p2p(enum inq_coll_kind kind)
{
    return inq_coll_is_one_way(kind) || kind == INQ_COLL_SENDRECV;
}

/* The same, or a batch of calls in one kernel, which may be such transfers. */
static inline bool inq_coll_may_be_p2p(enum inq_coll_kind kind)
{
    return inq_coll_is_p2p(kind) || kind == INQ_COLL_COALESCED;
}

/* Whether it is a point-to-point transfer, or may be. They are posted ahead of their step or end
 * behind it: they bound no step where there is other work. */
static inline bool inq_row_is_p2p(const struct inq_rank *rank, size_t row)
{
    uint32_t comm = rank->events.comm != NULL ? rank->events.comm[row] : INQ_NONE;
    return rank->events.cls[row] == INQ_CLASS_COMM && comm < rank->n_comms &&
           inq_coll_may_be_p2p((enum inq_coll_kind)rank->comms[comm].kind);
}

/* Class of a GPU kernel by its name: communication where it names a library (words that end in
 * "ccl", NVSHMEM, DeepEP, ...) or a collective operation, copy for copy kernels, else compute. */
enum inq_op_class inq_classify_kernel(const char *name, size_t len);
/* Whether the name of a kernel that is no communication says that it computes; if not, it may be
 * communication of a library unknown here. */
bool inq_kernel_is_compute(const char *name, size_t len);
/* Whether it says that it updates the weights; multi_tensor_apply alone does not. */
bool inq_kernel_updates_weights(const char *name);
/* Kind of collective by kernel name (ncclKernel_*, ncclDevKernel_*, RCCL). */
enum inq_coll_kind inq_coll_from_kernel(const char *name, size_t len);
/* The kind of what a call did: its own, but of a coalesced call the kernel's where its name says
 * that it is a collective. */
enum inq_coll_kind inq_coll_of_call(enum inq_coll_kind call, const char *kernel, size_t len);
/* Kind by recorded "Collective name" (allreduce, _allgather_base, ...). */
enum inq_coll_kind inq_coll_from_name(const char *name, size_t len);
/* What the name of an operation of HCCL says: "hcom_allReduce__231_17_1" is the 17th of a group
 * whose name ends in 231 as a hash. */
struct inq_hccl_name {
    const char *group; /* digits, in the name */
    size_t group_n;    /* 0: not there */
    int64_t number;    /* -1: not there */
};
struct inq_hccl_name inq_hccl_name(const char *name);
/* Data type token in a kernel name ("f32", "bf16", "float", ...) or c10 ScalarType name to bytes;
 * 0 unknown. */
uint32_t inq_dtype_bytes(const char *dtype, size_t len);
/* Kind and number of an annotation. */
enum inq_note_kind inq_classify_note(const char *name, size_t len, int64_t *number);
/* What a call or an annotation of the host is for. */
enum inq_host_kind {
    INQ_HOST_OTHER,
    INQ_HOST_DATA, /* data loading */
    INQ_HOST_SYNCHRONIZE,
    INQ_HOST_MEMORY,     /* allocation */
    INQ_HOST_COLLECTION, /* of garbage */
    INQ_HOST_COPY,
    INQ_HOST_LAUNCH
};
enum inq_host_kind inq_host_kind_of(const char *name);
/* Op type by its OSDI'25 name; INQ_OP_NONE when unknown. */
enum inq_op_type inq_op_type_from_name(const char *name, size_t len);
/* nccl-tests: bytes S of one op (per-rank elements in and out, size of the group), and the factor
 * from algbw to busbw. -1 / NaN unknown. */
int64_t inq_coll_bytes(enum inq_coll_kind kind, int64_t in_elems, int64_t out_elems,
                       uint32_t dtype_bytes, int32_t group_size);
double inq_coll_bus_factor(enum inq_coll_kind kind, int32_t group_size);
/* Whether members of this kind cannot finish before all have started. */
bool inq_coll_synchronizes(enum inq_coll_kind kind);

#endif
