/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to kineto*.c: from scanned events to rows of a shard. */
#ifndef INQ_INGEST_KINETO_KINETO_H
#define INQ_INGEST_KINETO_KINETO_H

#include "base/limits.h"
#include "base/hash.h"
#include "ingest/optable/optable.h"
#include "ingest/scan/scan.h"
#include "trace/build/build.h"
#include "trace/trace.h"

/* A time beyond this is no time: sums of two stay far from overflow. */
#define INQ_KINETO_MAX_TIME (INT64_MAX / 4)

/* The name of a device that Ascend's profiler records without one. */
#define INQ_KINETO_ASCEND "Ascend NPU"

/* What a category says about an event. */
enum inq_cat {
    INQ_CAT_OTHER, /* not Kineto's, not an op: a generic Chrome trace's */
    INQ_CAT_CPU_OP,
    INQ_CAT_OPERATOR, /* as before 2022: annotations are among them */
    INQ_CAT_NOTE,
    INQ_CAT_GPU_NOTE,
    INQ_CAT_KERNEL,
    INQ_CAT_MEMCPY,
    INQ_CAT_MEMSET,
    INQ_CAT_SYNC,
    INQ_CAT_CALL,
    INQ_CAT_PASSING, /* Kineto's, of no interest */
    INQ_CAT_OP       /* an op type of a pipeline job */
};

/* A thread of the trace: what `pid` and `tid` say. */
struct inq_thread {
    int64_t pid, tid;
    bool pid_text, tid_text; /* hashes of texts, no numbers */
    inq_str name;            /* its text, or from metadata */
    uint32_t lane;           /* INQ_NONE until something of it is kept */
    uint32_t rank;           /* of an export: index into the shard's ranks */
};

/* What the name of a process says of its threads. */
enum inq_process { INQ_PROCESS_HOST, INQ_PROCESS_DEVICE, INQ_PROCESS_COLLECTIVES };

/* A collective of HCCL: a row that is a slice until the names of its thread and process are known.
 */
struct inq_hccl_note {
    size_t row; /* of the rank's events */
    int64_t count;
    inq_str dtype;
};

/* Half of a slice that is written as two events. */
struct inq_half {
    int64_t ts, correlation;
    uint32_t thread, lane, order;
    inq_str name;
    uint8_t cat; /* enum inq_cat */
    bool begin;
};

/* An op of a pipeline job, before its worker is known. */
struct inq_op_note {
    struct inq_ops_row row;
    uint32_t thread;
};

/* What the head of an export says of a rank, and only the end of the file settles. */
struct inq_export_rank {
    int64_t base_ns, row0_ns;
    bool epoch, fraction, has_row0;
};

/* A process group as an event or the head of the file describes it. */
struct inq_group_note {
    inq_str name, desc;
    int32_t size; /* -1 unknown */
    uint32_t n_ranks;
    const int32_t *ranks; /* the shard's, or shared by all of a run */
    bool cut;             /* the list of ranks was longer */
};

struct inq_device_note {
    int64_t id;
    inq_str name;
    int32_t multiprocessors; /* -1 unknown */
};

enum { INQ_GRID_MEMO = 256, INQ_GRID_TEXT = 56 };

/* A grid and a block as written, and their row in the shard's launches. */
struct inq_grid_memo {
    char text[INQ_GRID_TEXT]; /* of both, one behind the other */
    uint8_t grid_n, block_n;  /* bytes of each; 0: empty */
    uint32_t launch;
};

enum { INQ_NAME_MEMO = 2048, INQ_JOB_PARTS = 3 };

struct inq_kineto {
    struct inq_shard *shard;
    struct inq_rank *rank; /* of the shard; moves when ranks are added, which is at the end */
    struct inq_err *err;

    /* what has been seen */
    bool kineto;     /* a category, or a member of the document, that only Kineto writes */
    bool has_events; /* an array of events */
    bool has_host;   /* an event of the host */
    bool device;     /* what only a recording of a device has */
    bool legacy;     /* of the profiler before Kineto: no categories */
    bool xla;        /* processes are devices as TensorFlow's and JAX's profiler names them */
    const char *kind_of_device; /* where events or processes say that it is no GPU; else NULL */
    uint64_t odd;               /* elements of it that are no events */
    uint64_t slices;            /* rows kept in case that the trace is a generic one */

    /* names */
    uint32_t memo[INQ_NAME_MEMO]; /* string ids by a cheap hash of the text */
    struct inq_text
        named; /* the text of the event at hand whose id was had last: kernels ask thrice */
    inq_str named_id;
    struct inq_kernel_classes classes;
    char *scratch;            /* [INQ_SCAN_MAX_STRING] */
    struct inq_text cat_text; /* the last category looked up */
    char cat_bytes[64];
    enum inq_cat cat;
    struct inq_grid_memo *grids; /* [INQ_GRID_MEMO], NULL until the first is seen */
    /* operators, where they are asked for */
    struct inq_launches inputs; /* distinct operators with their inputs */
    struct inq_map op_by_id;    /* external id: row of inputs */
    size_t n_externals, cap_externals;
    int64_t *externals; /* of the first n_externals events of the rank; 0: none */

    /* lanes */
    struct inq_map threads_by_key, streams_by_key;
    struct inq_thread *threads;
    size_t n_threads, cap_threads;
    int64_t last_device, last_stream;
    uint32_t last_stream_lane;
    uint32_t last_thread;

    /* what waits for the end of the file */
    struct inq_map processes; /* by pid: enum inq_process of those that are no host's */
    struct inq_hccl_note *hccl;
    size_t n_hccl, cap_hccl;
    struct inq_half *halves;
    size_t n_halves, cap_halves;
    struct inq_op_note *ops;
    size_t n_ops, cap_ops;
    struct inq_map groups_by_key;
    struct inq_group_note *groups; /* comms point here until the end */
    size_t n_groups, cap_groups;

    /* the head of the file */
    bool has_base, has_distributed;
    struct inq_group_note *config; /* pg_config */
    size_t n_config, cap_config;
    struct inq_device_note *devices;
    size_t n_devices, cap_devices;
    inq_str job[2][INQ_JOB_PARTS]; /* name, version, attempt; of the profiler, of the scheduler */

    /* a document that this program wrote: ingest/kineto/export.c */
    bool exported;
    int64_t export_base_ns;            /* to be added to every time */
    struct inq_export_rank *of_export; /* [shard->n_ranks] */
    size_t cap_of_export;
    uint32_t *export_groups; /* index into the shard's groups, by "Process Group ID" */
    size_t n_export_groups, cap_export_groups;
};

static inline void inq_kineto_damage(struct inq_kineto *k, enum inq_damage_kind kind, uint64_t n,
                                     int64_t offset)
{
    inq_damage_add(&k->shard->file.damage, kind, n, offset);
}

/* Notes what the name of a process says; of a slice, before it is added, whether it may be a
 * collective of HCCL. */
int inq_kineto_note_device(struct inq_kineto *k, const struct inq_scan_event *event,
                           int64_t offset);
/* Makes device work of the slices of threads that turned out to be devices' streams, and calls of
 * those that launched some. */
int inq_kineto_settle_devices(struct inq_kineto *k);

/* Whether nothing so far speaks of a device: operators are kept, as slices of class compute. */
bool inq_kineto_may_be_cpu(const struct inq_kineto *k);
/* Makes work of the operators and the communication of a rank that has no device. */
int inq_kineto_settle_cpu(struct inq_kineto *k);

/* The reader's `read`, with a choice of the matcher of event shapes; NULL: every event is read by
 * the general reader. The shard does not depend on it. */
int inq_kineto_read(struct inq_source *source, struct inq_shard *shard, inq_shape_match match,
                    struct inq_err *err);

/* Takes one event, whose category is `cat` and which starts at `offset` of the document. */
int inq_kineto_event(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                     int64_t offset);
/* The comm row of a kernel or of a record_param_comms; *index is INQ_NONE when there is none. */
int inq_kineto_comm(struct inq_kineto *k, const struct inq_scan_event *event, bool kernel,
                    int64_t offset, uint32_t *index);
/* Turns group notes into groups of the shard. */
int inq_kineto_settle_groups(struct inq_kineto *k);

/* Takes one member of the document besides the events; `value` is its text. */
int inq_kineto_member(struct inq_kineto *k, struct inq_text key, struct inq_text value,
                      int64_t offset);

/* After the last byte: everything that had to wait. */
int inq_kineto_finish(struct inq_kineto *k);

/* of the same door; each stands on what is above */
#include "ingest/kineto/names.h"
#include "ingest/kineto/rows.h"
#include "ingest/kineto/values.h"
#include "ingest/kineto/export.h"

#endif
