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

/* Nodes that may start, in any order: the times do not depend on it. */
struct ready {
    uint32_t *node;
    size_t n, done;
};

static void finish(struct synth_program *program, uint32_t index, struct ready *ready)
{
    const struct synth_node *node = &program->nodes[index];
    ready->done++;
    for (uint32_t e = node->first_edge; e != SYNTH_NONE; e = program->edges[e].next) {
        const struct synth_edge *edge = &program->edges[e];
        struct synth_node *to = &program->nodes[edge->to];
        int64_t earliest = node->end_ns + edge->lag_ns;
        if (earliest > to->start_ns) {
            to->start_ns = earliest;
        }
        if (--to->pending == 0) {
            ready->node[ready->n++] = edge->to;
        }
    }
}

static void leave(struct synth_program *program, const struct synth_meeting *meeting,
                  struct ready *ready)
{
    int64_t end = meeting->last_arrival_ns + meeting->transfer_ns;
    for (uint32_t s = meeting->first_seat; s != SYNTH_NONE; s = program->seats[s].next_of_meeting) {
        uint32_t index = program->seats[s].node;
        struct synth_node *node = &program->nodes[index];
        if (end + node->dur_ns > node->end_ns) {
            node->end_ns = end + node->dur_ns;
        }
        if (--node->meetings_left == 0) {
            finish(program, index, ready);
        }
    }
}

static void start(struct synth_program *program, uint32_t index, struct ready *ready)
{
    struct synth_node *node = &program->nodes[index];
    if (node->first_seat == SYNTH_NONE) {
        node->end_ns = node->start_ns + node->dur_ns;
        finish(program, index, ready);
        return;
    }
    for (uint32_t s = node->first_seat; s != SYNTH_NONE; s = program->seats[s].next_of_node) {
        struct synth_meeting *meeting = &program->meetings[program->seats[s].meeting];
        if (node->start_ns > meeting->last_arrival_ns) {
            meeting->last_arrival_ns = node->start_ns;
        }
        if (--meeting->pending == 0) {
            leave(program, meeting, ready);
        }
    }
}

int inq_synth_run(struct synth_program *program, struct inq_err *err)
{
    if (program->code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)program->code, "the run is too large");
    }
    struct ready ready = {.node = inq_mem_alloc((program->n_nodes + 1) * sizeof(uint32_t))};
    if (ready.node == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t i = program->n_nodes; i-- > 0;) {
        if (program->nodes[i].pending == 0) {
            ready.node[ready.n++] = (uint32_t)i;
        }
    }
    while (ready.n > 0) {
        start(program, ready.node[--ready.n], &ready);
    }
    inq_mem_free(ready.node);
    if (ready.done != program->n_nodes) {
        return inq_err_set(err, INQ_DEADLOCK, "%zu of %zu operations of the run can never start",
                           program->n_nodes - ready.done, program->n_nodes);
    }
    return INQ_OK;
}

void inq_synth_program_release(struct synth_program *program)
{
    inq_mem_free(program->nodes);
    inq_mem_free(program->edges);
    inq_mem_free(program->seats);
    inq_mem_free(program->meetings);
    *program = (struct synth_program){0};
}
