/* SPDX-License-Identifier: Apache-2.0 */
/* What the records of one process become: rows of a rank, named when all tables are known. */
#ifndef INQ_INGEST_ROCPROF_ROWS_H
#define INQ_INGEST_ROCPROF_ROWS_H

#include "base/hash.h"
#include "ingest/scan/scan.h"
#include "trace/build/build.h"
#include "trace/trace.h"

/* The name of the format in reports. */
#define INQ_ROCPROF_FORMAT "rocprof"

/* Texts point into what was scanned, n == 0: not there. Numbers: -1 not there. */
struct inq_rocprof_record {
    int64_t kind, operation, thread, correlation, start_ns, end_ns;
    int64_t kernel, agent, queue, stream;
    int64_t grid[3], block[3]; /* in threads, in threads */
    int64_t source, target, bytes;
    int64_t handle, type, units; /* of an agent; type 2: a GPU */
    int64_t key, pid;
    struct inq_text name, product, formatted, demangled, mangled, host, value, domain;
    struct inq_text operations; /* a list, as written */
    bool bad_number;
};

struct inq_rocprof_agent {
    int64_t handle;
    inq_str name;
    int32_t units;
};

/* A range of the program, or a call of RCCL: what names it may follow. */
struct inq_rocprof_span {
    int64_t start_ns, end_ns, thread, correlation;
    uint64_t op; /* its kind and number */
};

struct inq_rocprof_spans {
    struct inq_rocprof_span *at;
    size_t n, cap;
};

struct inq_rocprof {
    struct inq_shard *shard;
    uint32_t rank; /* of the shard */
    struct inq_rocprof_agent *gpus;
    size_t n_gpus, cap_gpus;
    int64_t first_gpu;         /* handle of the one that worked first; -1: none */
    struct inq_map operations; /* of the kind and number: name */
    struct inq_map kernels;    /* by their id: name */
    struct inq_map markers;    /* by correlation: text */
    struct inq_kernel_classes classes;
    uint64_t *event_names; /* of each event: its kernel's id, or the operation of a copy */
    size_t n_event_names, cap_event_names;
    uint64_t *call_names; /* of each call: its operation */
    size_t n_call_names, cap_call_names;
    struct inq_rocprof_spans ranges, rccl;
    uint64_t kinds; /* of which the operations were named so far */
};

/* Begins a process: a rank of the shard, which is set. What was there before is to be finished. */
int inq_rocprof_begin(struct inq_rocprof *process, struct inq_err *err);
/* Take a record that has its numbers: tables of names, and rows. All fail with INQ_NOMEM or
 * INQ_LIMIT. */
int inq_rocprof_metadata(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                         struct inq_err *err);
int inq_rocprof_agent(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                      struct inq_err *err);
int inq_rocprof_symbol(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                       struct inq_err *err);
int inq_rocprof_operations(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                           struct inq_err *err);
int inq_rocprof_marker(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                       struct inq_err *err);
int inq_rocprof_dispatch(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                         struct inq_err *err);
int inq_rocprof_copy(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                     struct inq_err *err);
int inq_rocprof_call(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                     struct inq_err *err);
int inq_rocprof_rccl(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                     struct inq_err *err);
int inq_rocprof_range(struct inq_rocprof *process, const struct inq_rocprof_record *record,
                      struct inq_err *err);
/* The reader's `join`: shards are in the order of their paths. Fails with INQ_NOMEM. */
int inq_rocprof_join(struct inq_shard *shards, size_t n, struct inq_err *err);
/* Names the rows, and releases all that the process holds besides them; in any case. */
int inq_rocprof_finish(struct inq_rocprof *process, struct inq_err *err);

#endif
