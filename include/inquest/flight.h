/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps: what each rank had enqueued, and how far it had come, when the run was
 * given up. Plain structs, owned by their dump. */
#ifndef INQUEST_FLIGHT_H
#define INQUEST_FLIGHT_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_flight_state {
    INQ_FLIGHT_SCHEDULED, /* also "running": only dumps with timing tell the two apart */
    INQ_FLIGHT_STARTED,
    INQ_FLIGHT_COMPLETED
};

struct inq_flight_frame {
    const char *name, *file;
    int64_t line;
};

/* The sizes of one tensor. */
struct inq_flight_shape {
    uint32_t n_dims;
    int64_t *dims;
};

/* Tensors that an op reads or writes. */
struct inq_flight_tensors {
    uint32_t n;
    struct inq_flight_shape *shapes;
    int64_t elems;      /* over all; saturated; -1: no sizes recorded */
    const char *dtypes; /* "BFloat16", or "Float,Long"; "" unknown */
};

struct inq_flight_entry {
    uint32_t group; /* index into the dump's groups, INQ_NONE: not recorded */
    int64_t record_id;
    int64_t collective_seq, p2p_seq, op_id; /* -1 not recorded */
    enum inq_coll_kind kind;
    const char *name; /* as recorded: "nccl:_all_gather_base" */
    bool is_p2p;
    int32_t src, dst; /* P2P: ranks within the group; -1 unknown */
    struct inq_flight_tensors in, out;
    enum inq_flight_state state;                  /* of a member of a batch: the batch's */
    bool retired;                                 /* not completed and retired: it timed out */
    int64_t created_ns, started_ns, completed_ns; /* wall clock; INQ_TIME_NONE: not (seen) */
    int64_t timeout_ns;                           /* -1 not recorded */
    uint32_t n_frames; /* innermost first, the outermost may be cut off */
    struct inq_flight_frame *frames;
};

/* The description of the group of all ranks. */
#define INQ_FLIGHT_WORLD "default_pg"

/* A process group as this rank knew it. */
struct inq_flight_group {
    const char *name, *desc;
    size_t n_ranks; /* 0: not recorded */
    int32_t *ranks; /* global, in the group's own order */
    bool has_status;
    int64_t last_enqueued, last_completed; /* -1: none; of the last op, P2P or collective */
};

struct inq_strtab;

/* One dump. `rank` is taken from the file's name; -1 unknown. */
struct inq_flight_dump {
    struct inq_arena *arena;
    struct inq_strtab *names;
    int32_t rank;
    int version_major, version_minor;
    const char *comm_version; /* of NCCL or its like; "" unknown */
    bool partial;             /* cut or refused before its end: more was pending than is listed */
    bool unfollowed;          /* its recorder saw nothing finish: states are inferred from others */
    uint32_t file;            /* index into inq_trace.files */
    size_t n_groups;
    struct inq_flight_group *groups;
    size_t n_entries;
    struct inq_flight_entry *entries; /* in the order recorded */
};

#ifdef __cplusplus
}
#endif

#endif
