/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a Chakra execution trace (MLCommons; et_def.proto), and the rows of a shard that are
 * made of them. */
#ifndef INQ_INGEST_CHAKRA_ROWS_H
#define INQ_INGEST_CHAKRA_ROWS_H

#include "base/sort.h"
#include "ingest/scan/scan.h"
#include "trace/build/build.h"

/* The name of the format in reports. */
#define INQ_CHAKRA_FORMAT "chakra"

/* enum NodeType. Others (storage, batches, checkpoints) are the host's. */
enum inq_chakra_type {
    INQ_CHAKRA_NONE = 0,
    INQ_CHAKRA_METADATA = 1,
    INQ_CHAKRA_LOAD = 2,
    INQ_CHAKRA_STORE = 3,
    INQ_CHAKRA_COMPUTE = 4,
    INQ_CHAKRA_SEND = 5,
    INQ_CHAKRA_RECV = 6,
    INQ_CHAKRA_COLLECTIVE = 7
};

/* Dependencies that are kept of a node; nodes of the host have two or three. */
enum { INQ_CHAKRA_DEPS = 64 };

/* Texts point into what was read, n == 0: not there. Numbers: -1 not there. */
struct inq_chakra_node {
    int64_t id;                    /* 0 is not written down in protocol buffers */
    int64_t parent;                /* the first control dependency: its caller */
    int64_t deps[INQ_CHAKRA_DEPS]; /* data dependencies, and behind them control dependencies */
    uint32_t n_deps, n_data_deps;
    bool more_deps;   /* than are kept */
    int64_t type;     /* enum inq_chakra_type */
    int64_t start_us; /* below 1: not recorded */
    int64_t dur_us;
    int64_t is_cpu_op, stream, tid, pid;
    int64_t comm_type, comm_size, comm_src, comm_dst;
    int64_t dur_ns; /* exact, where what wrote it says it in nanoseconds too */
    int64_t stage, chunk, micro_batch, step, dp_rank, seq; /* of the ops of a schedule */
    struct inq_text name, group;                           /* group: pg_name */
    struct inq_text values;                                /* of its inputs */
    struct inq_text shapes, types;
    bool escaped;     /* texts are JSON's */
    bool is_metadata; /* the message in front of all nodes: says of the trace, not of a node */
    bool bad_number;  /* some number could not be read */
};

/* The next node or metadata, valid up to the next call, and where it begins; *found is false at the
 * end. */
typedef int (*inq_chakra_next)(void *ctx, struct inq_chakra_node *node, int64_t *offset,
                               bool *found, struct inq_err *err);
/* A node of a graph without times. */
struct inq_chakra_op {
    struct inq_event_row row; /* of the device's its row, of the host's its name and lane */
    int64_t id;
    size_t first_dep; /* of n_deps in inq_untimed.deps */
    uint32_t n_deps;
    bool device;
    bool is_call; /* of the host: kept as a call */
    bool waits;   /* of the host: for the device */
};

/* The nodes of one rank; in the arena of its shard. */
struct inq_untimed {
    struct inq_chakra_op *ops;
    int64_t *deps; /* ids */
    size_t n_ops, n_deps;
};

/* The reader's `join`, of shards in the order of their paths. Sets graphs aside that are beside the
 * traces that they are of. Gives times to those without, whose ranks' rows are there afterwards: a
 * node begins when all that it depends on has ended and its lane is free, collectives when all
 * members have arrived. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_chakra_join(struct inq_shard *shards, size_t n, struct inq_err *err);
/* Fills a shard with what the nodes say. Fails with INQ_NOMEM, INQ_LIMIT, and as `next` does. */
int inq_chakra_rows(struct inq_shard *shard, inq_chakra_next next, void *ctx, struct inq_err *err);

static inline int inq_chakra_by_start(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int64_t x = ((const struct inq_note *)a)->start_ns;
    int64_t y = ((const struct inq_note *)b)->start_ns;
    return (x > y) - (x < y);
}

/* A step's mark lasts until the next one begins, and the last one until the host's last node ends:
 * durations of the host's nodes are without those of the nodes they call. */
static inline int inq_chakra_stretch_steps(struct inq_rank *rank, int64_t host_end_ns,
                                           struct inq_err *err)
{
    int64_t end_ns = host_end_ns;
    int code =
        inq_sort(rank->notes, rank->n_notes, sizeof *rank->notes, inq_chakra_by_start, NULL, err);
    for (size_t i = rank->n_notes; i > 0 && code == INQ_OK; i--) {
        struct inq_note *note = &rank->notes[i - 1];
        if (note->kind == INQ_NOTE_STEP) {
            int64_t dur_ns = end_ns - note->start_ns;
            note->dur_ns = dur_ns > note->dur_ns ? dur_ns : note->dur_ns;
            end_ns = note->start_ns;
        }
    }
    return code;
}

#endif
