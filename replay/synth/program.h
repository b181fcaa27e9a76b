/* SPDX-License-Identifier: Apache-2.0 */
/* What a run consists of: nodes with durations on host threads and GPU streams, edges between them,
 * and meetings that no transfer leaves before every member has arrived. */
#ifndef INQ_REPLAY_SYNTH_PROGRAM_H
#define INQ_REPLAY_SYNTH_PROGRAM_H

#include "inquest/error.h"

#include <stdbool.h>

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

/* Appends a node, a meeting; SYNTH_NONE after a failure (program->code). */
uint32_t inq_synth_add_node(struct synth_program *program, int64_t dur_ns);
uint32_t inq_synth_add_meeting(struct synth_program *program, int64_t transfer_ns);
/* `to` starts no earlier than `lag_ns` after the end of `from`. SYNTH_NONE on either side: none. */
void inq_synth_add_edge(struct synth_program *program, uint32_t from, uint32_t to, int32_t lag_ns);
void inq_synth_add_seat(struct synth_program *program, uint32_t node, uint32_t meeting);

#endif
