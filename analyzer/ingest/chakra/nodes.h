/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a Chakra execution trace (MLCommons; et_def.proto), as protocol buffers or JSON hold
 * them. */
#ifndef INQ_INGEST_CHAKRA_NODES_H
#define INQ_INGEST_CHAKRA_NODES_H

#include "ingest/scan/scan.h"

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

/* Data dependencies that are kept of a node; nodes of the host have two or three. */
enum { INQ_CHAKRA_DEPS = 16 };

/* Texts point into what was read, n == 0: not there. Numbers: -1 not there. */
struct inq_chakra_node {
    int64_t id;                    /* 0 is not written down in protocol buffers */
    int64_t parent;                /* the first control dependency: its caller */
    int64_t deps[INQ_CHAKRA_DEPS]; /* data dependencies */
    uint32_t n_deps;
    int64_t type;     /* enum inq_chakra_type */
    int64_t start_us; /* below 1: not recorded */
    int64_t dur_us;
    int64_t is_cpu_op, stream, tid, pid;
    int64_t comm_type, comm_size, comm_src, comm_dst;
    struct inq_text name, group; /* group: pg_name */
    struct inq_text values;      /* of its inputs */
    struct inq_text shapes, types;
    bool escaped;     /* texts are JSON's */
    bool is_metadata; /* the message in front of all nodes: says of the trace, not of a node */
    bool bad_number;  /* some number could not be read */
};

/* How sure the first bytes are of this format. */
int inq_chakra_sniff(const char *head, size_t n, const char *path);
/* Hands over every node and metadata, valid during the call, with where it begins; `damage` gets
 * what is wrong with the file. Fails as inq_window_more, and as `take`. */
int inq_chakra_read(struct inq_source *source, struct inq_damage *damage,
                    int (*take)(void *ctx, const struct inq_chakra_node *node, int64_t offset,
                                struct inq_err *err),
                    void *ctx, struct inq_err *err);

#endif
