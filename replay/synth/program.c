/* SPDX-License-Identifier: Apache-2.0 */
#include "synth/program.h"

#include "base/mem.h"

static const size_t MAX_PARTS = (size_t)1 << 30;

/* Room for one more; false after a failure. */
static bool room(struct synth_program *program, void *ptr_to_ptr, size_t *cap, size_t n,
                 size_t size)
{
    if (program->code == INQ_OK && n == *cap) {
        program->code = inq_mem_grow(ptr_to_ptr, cap, n + 1, size, MAX_PARTS, NULL);
    }
    return program->code == INQ_OK;
}

uint32_t inq_synth_add_node(struct synth_program *program, int64_t dur_ns)
{
    if (!room(program, &program->nodes, &program->cap_nodes, program->n_nodes,
              sizeof *program->nodes)) {
        return SYNTH_NONE;
    }
    program->nodes[program->n_nodes] =
        (struct synth_node){.dur_ns = dur_ns, .first_edge = SYNTH_NONE, .first_seat = SYNTH_NONE};
    return (uint32_t)program->n_nodes++;
}

uint32_t inq_synth_add_meeting(struct synth_program *program, int64_t transfer_ns)
{
    if (!room(program, &program->meetings, &program->cap_meetings, program->n_meetings,
              sizeof *program->meetings)) {
        return SYNTH_NONE;
    }
    program->meetings[program->n_meetings] =
        (struct synth_meeting){.transfer_ns = transfer_ns, .first_seat = SYNTH_NONE};
    return (uint32_t)program->n_meetings++;
}

void inq_synth_add_edge(struct synth_program *program, uint32_t from, uint32_t to, int32_t lag_ns)
{
    if (from == SYNTH_NONE || to == SYNTH_NONE ||
        !room(program, &program->edges, &program->cap_edges, program->n_edges,
              sizeof *program->edges)) {
        return;
    }
    struct synth_node *node = &program->nodes[from];
    program->edges[program->n_edges] =
        (struct synth_edge){.to = to, .next = node->first_edge, .lag_ns = lag_ns};
    node->first_edge = (uint32_t)program->n_edges++;
    program->nodes[to].pending++;
}

void inq_synth_add_seat(struct synth_program *program, uint32_t node, uint32_t meeting)
{
    if (node == SYNTH_NONE || meeting == SYNTH_NONE ||
        !room(program, &program->seats, &program->cap_seats, program->n_seats,
              sizeof *program->seats)) {
        return;
    }
    struct synth_node *member = &program->nodes[node];
    struct synth_meeting *place = &program->meetings[meeting];
    program->seats[program->n_seats] = (struct synth_seat){
        .node = node,
        .meeting = meeting,
        .next_of_node = member->first_seat,
        .next_of_meeting = place->first_seat,
    };
    member->first_seat = (uint32_t)program->n_seats;
    member->meetings_left++;
    place->first_seat = (uint32_t)program->n_seats++;
    place->pending++;
}
