/* SPDX-License-Identifier: Apache-2.0 */
/* One node of a Chakra execution trace (MLCommons; et_def.proto), as protocol buffers or JSON hold
 * it. */
#ifndef INQ_INGEST_CHAKRA_NODE_H
#define INQ_INGEST_CHAKRA_NODE_H

#include "ingest/scan/scan.h"
#include "ingest/wire/wire.h"

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

void inq_chakra_node_init(struct inq_chakra_node *node);
/* Sets the attribute of this name, if it is one of those above. `text`: of strings, else empty. */
void inq_chakra_attribute(struct inq_chakra_node *node, struct inq_text name, int64_t number,
                          struct inq_text text);
/* Keeps one more data dependency, if there is room. */
void inq_chakra_depend(struct inq_chakra_node *node, int64_t id);
/* A message of protocol buffers. False: it is neither a node nor metadata. */
bool inq_chakra_decode(struct inq_wire message, struct inq_chakra_node *node);
/* The JSON object whose opening brace is at the cursor, as protobuf's JSON or as ASTRA-sim's
 * workload graphs write it; on INQ_SCAN_OK the cursor is behind its closing brace. */
enum inq_scan_result inq_chakra_scan(struct inq_scan *scan, struct inq_chakra_node *node);
/* Whether JSON holds a node: other objects, such as attributes, have no type. */
bool inq_chakra_is_node(const struct inq_chakra_node *node);

#endif
