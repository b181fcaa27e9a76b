/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to a program: what each rank's host does, in its order, and what that puts on the
 * GPU's streams. Items remember what a node is, for the trace. */
#ifndef INQ_REPLAY_SYNTH_STEP_H
#define INQ_REPLAY_SYNTH_STEP_H

#include "synth/emit/emit.h"
#include "synth/plan.h"

/* ---- a program: nodes with durations on host threads and GPU streams, edges between them, and
 * meetings that no transfer leaves before every member has arrived ------------------------------
 */

#define SYNTH_NONE UINT32_MAX

struct synth_node {
    int64_t start_ns; /* before the run: the earliest start known so far */
    int64_t end_ns;
    int64_t dur_ns;   /* of a member of a meeting: how long after the transfer it ends */
    uint32_t pending; /* edges into it that have not fired */
    uint32_t first_edge;
    uint32_t first_seat; /* in meetings; SYNTH_NONE: an ordinary node */
    uint32_t meetings_left;
};

struct synth_edge {
    uint32_t to, next;
    int32_t lag_ns;
};

/* A member's place in a meeting. */
struct synth_seat {
    uint32_t node, meeting;
    uint32_t next_of_node, next_of_meeting;
};

struct synth_meeting {
    int64_t last_arrival_ns;
    int64_t transfer_ns;
    uint32_t first_seat, pending;
};

/* All-zero is empty. */
struct synth_program {
    size_t n_nodes, cap_nodes;
    struct synth_node *nodes;
    size_t n_edges, cap_edges;
    struct synth_edge *edges;
    size_t n_seats, cap_seats;
    struct synth_seat *seats;
    size_t n_meetings, cap_meetings;
    struct synth_meeting *meetings;
    int code; /* sticky: the first failure while building */
};

/* ---- what it is built from ------------------------------------------------------------------- */

enum synth_item_kind {
    SYNTH_ITEM_KERNEL,
    SYNTH_ITEM_COMM,
    SYNTH_ITEM_COPY_IN,
    SYNTH_ITEM_COPY_OUT,
    SYNTH_ITEM_CALL, /* a call without GPU work */
    SYNTH_ITEM_NOTE
};

/* Node ids: a call lasts from the end of `first` to the end of `last`, an operator or annotation
 * from the start of `op` to the end of `last`. The call that ends the read of a loss has the
 * operator of that (`op`, else 0), which the copy before it is in, too. */
struct synth_item {
    uint8_t kind;   /* enum synth_item_kind */
    uint8_t thread; /* 0 main, 1 autograd */
    uint8_t stream; /* enum synth_stream */
    uint8_t call;   /* enum synth_call_id */
    uint8_t what;   /* enum synth_kernel_id or synth_note_id */
    int32_t number; /* of a numbered annotation */
    uint32_t op, first, last;
    uint32_t gpu;  /* SYNTH_NONE: no GPU work */
    uint32_t comm; /* index into the rank's comms */
    uint32_t grid;
    uint32_t bytes; /* of a copy */
};

struct synth_comm {
    enum synth_comm_kind kind;
    enum synth_role role;
    int32_t peer; /* global rank; -1 */
    uint32_t seq; /* in its group; of P2P: with this peer */
    int64_t in_elements, out_elements;
    bool single; /* Float, else BFloat16 */
};

/* A send that waits for the receive with which it will share a kernel. */
struct synth_deferred {
    bool set, backward;
    int32_t peer;
    int64_t elements;
};

/* What one rank does, in the order of its host. */
struct synth_rank {
    size_t n_items, cap_items;
    struct synth_item *items;
    size_t n_comms, cap_comms;
    struct synth_comm *comms;
    uint32_t *step_ends; /* [2 * steps]: last host node, last compute node of each step */
};

/* Meetings of one group or channel, by sequence number. */
struct synth_meetings {
    size_t n, cap;
    uint32_t *meeting;
};

struct synth_sim {
    struct synth_plan plan;
    struct synth_program program;
    int32_t n_ranks;
    struct synth_rank *ranks;
    struct synth_meetings *groups[SYNTH_ROLE_COUNT];
    struct synth_meetings *channels; /* [2 * ranks]: by sender; forward, backward */
    int64_t *ends_ns;                /* [steps]: of each step over all ranks, on a true clock */
};

enum { SYNTH_MAX_WAITS = 4, SYNTH_QUEUE = 1024 };
/* Marks ordinals of draws that belong to a fault. */
#define SYNTH_EXTRA ((uint64_t)1 << 40)

struct synth_builder {
    struct synth_sim *sim;
    const struct inq_synth_spec *spec;
    struct synth_rank *out;
    int32_t rank, stage, dp_rank;
    int32_t step; /* counted from 0 */
    uint8_t thread;
    uint32_t host; /* last node of the host */
    uint32_t last[SYNTH_STREAM_COUNT];
    uint32_t waits[SYNTH_STREAM_COUNT][SYNTH_MAX_WAITS];
    uint32_t n_waits[SYNTH_STREAM_COUNT];
    uint32_t queue[SYNTH_QUEUE]; /* the last launches on the compute stream */
    uint64_t launched;
    uint32_t seq[SYNTH_ROLE_COUNT];
    uint32_t sent[2], received[2];
    struct synth_deferred deferred;
    /* Ordinals of draws in the step; what belongs to a fault (`extra`) counts apart. */
    uint64_t kernels, host_parts, extra_kernels, extra_host_parts;
    bool extra;
    int32_t pause_layer; /* before which the host pauses; -1 none */
    struct synth_factors factor;
    uint32_t posted; /* a receive of the next action, SYNTH_NONE: none is posted yet */
};

/* Builds the program of all ranks for sim->plan, which is there. Fails with INQ_NOMEM, INQ_LIMIT.
 */
int inq_synth_build(struct synth_sim *sim, struct inq_err *err);

#endif
