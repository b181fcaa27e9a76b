/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU work of a recorded run in order of launch, with what is known about each piece: thread,
 * annotation, partner. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "graph/pipeline/pipeline.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Annotations nest; this many are looked through for the one around a launch. */
enum { MAX_NESTED = 8 };

void inq_pipe_release(struct inq_pipe_run *run)
{
    for (size_t r = 0; run->ranks != NULL && r < run->trace->n_ranks; r++) {
        inq_mem_free(run->ranks[r].items);
        inq_mem_free(run->ranks[r].step_start);
        inq_mem_free(run->ranks[r].ops);
    }
    inq_mem_free(run->ranks);
    *run = (struct inq_pipe_run){0};
}

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the pieces of a run");
}

/* ---- annotations --------------------------------------------------------------------------- */

bool inq_pipe_action(const char *text, struct inq_pipe_action *out)
{
    static const char *const passes[] = {"Forward ", "Backward "};
    *out = (struct inq_pipe_action){INQ_OP_NONE, -1, -1};
    for (int k = 0; k < 2; k++) {
        if (strncmp(text, passes[k], strlen(passes[k])) == 0) {
            out->type = k == 0 ? INQ_OP_FORWARD : INQ_OP_BACKWARD;
            out->micro_batch = (int32_t)strtol(text + strlen(passes[k]), NULL, 10);
            return true;
        }
    }
    if (strncmp(text, "PP:", 3) != 0) {
        return false;
    }
    char *at = NULL;
    long stage = strtol(text + 3, &at, 10);
    static const struct {
        char letter;
        enum inq_op_type type;
    } letters[] = {{'F', INQ_OP_FORWARD},
                   {'B', INQ_OP_BACKWARD},
                   {'I', INQ_OP_BACKWARD_INPUT},
                   {'W', INQ_OP_BACKWARD_WEIGHT}};
    for (int k = 0; at != text + 3 && k < 4; k++) {
        char *end = NULL;
        long micro_batch = at[0] == letters[k].letter ? strtol(at + 1, &end, 10) : -1;
        if (end != NULL && end != at + 1 && *end == '\0' && stage >= 0 && stage < 1 << 20 &&
            micro_batch >= 0 && micro_batch < 1 << 20) {
            *out = (struct inq_pipe_action){letters[k].type, (int32_t)stage, (int32_t)micro_batch};
            return true;
        }
    }
    return false;
}

/* The host's pipeline annotations of a rank, in order of start: few among all its annotations. */
struct marks {
    uint32_t *notes; /* [n] indexes of the rank's notes */
    size_t n;
};

static int find_marks(const struct inq_rank *rank, struct marks *out, struct inq_err *err)
{
    out->notes = inq_mem_alloc(rank->n_notes * sizeof *out->notes);
    if (out->notes == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (note->kind == INQ_NOTE_PIPELINE && !note->on_gpu) {
            out->notes[out->n++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

/* The annotation around a time. */
static uint32_t note_around(const struct inq_trace *trace, const struct inq_rank *rank,
                            const struct marks *marks, int64_t at)
{
    struct inq_pipe_action action;
    size_t low = 0;
    size_t high = marks->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (rank->notes[marks->notes[mid]].start_ns <= at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (size_t i = low; i > 0 && low - i < MAX_NESTED; i--) {
        const struct inq_note *note = &rank->notes[marks->notes[i - 1]];
        if (at < note->start_ns + note->dur_ns &&
            inq_pipe_action(inq_trace_str(trace, note->name), &action)) {
            return marks->notes[i - 1];
        }
    }
    return INQ_NONE;
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool is_p2p(const struct inq_trace *trace, const struct inq_events *e, size_t row,
                   const struct inq_comm *comm)
{
    if (comm != NULL && comm->kind != INQ_COLL_COALESCED && comm->kind != INQ_COLL_UNKNOWN) {
        return comm->kind == INQ_COLL_SEND || comm->kind == INQ_COLL_RECV ||
               comm->kind == INQ_COLL_SENDRECV;
    }
    const char *name = inq_trace_str(trace, e->name[row]);
    return inq_coll_from_kernel(name, strlen(name)) == INQ_COLL_SENDRECV;
}

static void fill_item(const struct inq_pipe_run *run, const struct inq_rank *rank,
                      const struct marks *marks, size_t row, struct inq_pipe_item *out)
{
    const struct inq_events *e = &rank->events;
    const struct inq_comm *comm = e->comm[row] != INQ_NONE ? &rank->comms[e->comm[row]] : NULL;
    uint32_t call = e->call[row];
    *out = (struct inq_pipe_item){
        .launch_ns = call != INQ_NONE ? rank->calls.start_ns[call] : e->start_ns[row],
        .start_ns = e->start_ns[row],
        .end_ns = e->start_ns[row] + e->dur_ns[row],
        .event = (uint32_t)row,
        .thread = call != INQ_NONE ? rank->calls.lane[call] : INQ_NONE,
        .partner = INQ_NONE,
        .step = run->trace->n_steps > 0 ? e->step[row] : 0,
        .kind = INQ_ITEM_COMPUTE,
        .dir = INQ_COLL_SENDRECV,
    };
    if (e->cls[row] == INQ_CLASS_COMM) {
        out->kind = is_p2p(run->trace, e, row, comm) ? INQ_ITEM_P2P : INQ_ITEM_SYNC;
    }
    if (comm != NULL && (comm->kind == INQ_COLL_SEND || comm->kind == INQ_COLL_RECV)) {
        out->dir = (uint8_t)comm->kind;
    }
    out->note = note_around(run->trace, rank, marks, out->launch_ns);
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_pipe_item *x = a;
    const struct inq_pipe_item *y = b;
    if (x->step != y->step) {
        return x->step < y->step ? -1 : 1;
    }
    if (x->launch_ns != y->launch_ns) {
        return x->launch_ns < y->launch_ns ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int collect_rank(struct inq_pipe_run *run, size_t r, struct inq_err *err)
{
    const struct inq_rank *rank = &run->trace->ranks[r];
    struct inq_pipe_rank *out = &run->ranks[r];
    const struct inq_events *e = &rank->events;
    struct marks marks = {0};
    out->items = inq_mem_alloc(e->n * sizeof *out->items);
    out->step_start = inq_mem_zalloc(run->n_steps + 1, sizeof *out->step_start);
    if (out->items == NULL || out->step_start == NULL || find_marks(rank, &marks, err) != INQ_OK) {
        inq_mem_free(marks.notes);
        return no_memory(err);
    }
    for (size_t i = 0; i < e->n; i++) {
        bool work = e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
                    e->kind[i] == INQ_EVENT_MEMSET;
        if (work && (run->trace->n_steps == 0 || e->step[i] != INQ_NONE)) {
            fill_item(run, rank, &marks, i, &out->items[out->n_items++]);
        }
    }
    inq_mem_free(marks.notes);
    return INQ_OK;
}

/* By step, in order of launch. */
static int order_items(struct inq_pipe_run *run, struct inq_pipe_rank *rank, struct inq_err *err)
{
    for (size_t i = 0; i < rank->n_items; i++) {
        rank->step_start[rank->items[i].step + 1]++;
    }
    for (size_t s = 0; s < run->n_steps; s++) {
        rank->step_start[s + 1] += rank->step_start[s];
    }
    return inq_sort(rank->items, rank->n_items, sizeof *rank->items, compare_items, NULL, err);
}

/* ---- partners -------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t rank, uint32_t event)
{
    return (uint64_t)rank << 32 | event;
}

/* Global ranks to their places. */
static int index_ranks(const struct inq_trace *trace, struct inq_map *index, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        if (trace->ranks[r].rank >= 0) {
            code = inq_map_put(index, (uint64_t)trace->ranks[r].rank, (uint32_t)r, err);
        }
    }
    return code;
}

/* The events of matched pairs to the other member. */
static int index_pairs(const struct inq_trace *trace, struct inq_map *pairs, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        const struct inq_member *m = &trace->members[coll->first_member];
        bool p2p = coll->kind == INQ_COLL_SEND || coll->kind == INQ_COLL_RECV ||
                   coll->kind == INQ_COLL_SENDRECV;
        if (!p2p || coll->n_members != 2) {
            continue;
        }
        code = inq_map_put(pairs, key_of(m[0].rank, m[0].event), coll->first_member + 1, err);
        if (code == INQ_OK) {
            code = inq_map_put(pairs, key_of(m[1].rank, m[1].event), coll->first_member, err);
        }
    }
    return code;
}

/* A receive may be posted a step before its send: it belongs to the step of what is sent. */
static void follow_send(const struct inq_trace *trace, const struct inq_member *send,
                        struct inq_pipe_item *item)
{
    uint32_t step = trace->ranks[send->rank].events.step[send->event];
    if (trace->n_steps > 0 && item->dir == INQ_COLL_RECV && step != INQ_NONE && step > item->step) {
        item->step = step;
    }
}

/* Recorded peers, else the other member of a matched pair. */
static void set_partners(struct inq_pipe_run *run, uint32_t r, const struct inq_map *index,
                         const struct inq_map *pairs)
{
    const struct inq_rank *rank = &run->trace->ranks[r];
    for (size_t i = 0; i < run->ranks[r].n_items; i++) {
        struct inq_pipe_item *item = &run->ranks[r].items[i];
        uint32_t comm = rank->events.comm[item->event];
        int32_t peer = comm != INQ_NONE ? rank->comms[comm].peer : -1;
        uint32_t other = INQ_NONE;
        if (item->kind != INQ_ITEM_P2P) {
            continue;
        }
        if (inq_map_get(pairs, key_of(r, item->event), &other)) {
            item->partner = run->trace->members[other].rank;
            follow_send(run->trace, &run->trace->members[other], item);
        }
        if (peer >= 0) {
            (void)inq_map_get(index, (uint64_t)peer, &item->partner);
        }
    }
}

static int find_partners(struct inq_pipe_run *run, struct inq_err *err)
{
    struct inq_map index = {0};
    struct inq_map pairs = {0};
    int code = index_ranks(run->trace, &index, err);
    if (code == INQ_OK) {
        code = index_pairs(run->trace, &pairs, err);
    }
    for (uint32_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        set_partners(run, r, &index, &pairs);
    }
    inq_map_release(&index);
    inq_map_release(&pairs);
    return code;
}

int inq_pipe_collect(const struct inq_trace *trace, struct inq_pipe_run *run, struct inq_err *err)
{
    *run = (struct inq_pipe_run){.trace = trace, .has_direction = true};
    run->n_steps = trace->n_steps > 0 ? trace->n_steps : 1;
    run->ranks = inq_mem_zalloc(trace->n_ranks, sizeof *run->ranks);
    int code = run->ranks != NULL ? INQ_OK : no_memory(err);
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = collect_rank(run, r, err);
        for (size_t i = 0; code == INQ_OK && i < run->ranks[r].n_items; i++) {
            const struct inq_pipe_item *item = &run->ranks[r].items[i];
            run->has_notes = run->has_notes || item->note != INQ_NONE;
            run->has_direction = run->has_direction &&
                                 (item->kind != INQ_ITEM_P2P || item->dir != INQ_COLL_SENDRECV);
        }
    }
    if (code == INQ_OK) {
        code = find_partners(run, err);
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = order_items(run, &run->ranks[r], err);
    }
    return code;
}
