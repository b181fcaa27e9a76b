/* SPDX-License-Identifier: Apache-2.0 */
/* Building lockstep traces by playing them: host launches, GPU computes, all meet. */
#include "support_lockstep.h"

#include "base/arena.h"
#include "base/strtab.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_EVENTS = LOCKSTEP_STEPS * (LOCKSTEP_KERNELS + LOCKSTEP_MORE + 2),
    LAUNCH_NS = 5000,
    START_NS = 1000000000
};

static void *need(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p) {
        abort();
    }
    return p;
}

static inq_str name_of(struct inq_trace *trace, const char *text)
{
    inq_str id = 0;

    if (inq_strtab_add(trace->names, text, strlen(text), &id, NULL) != INQ_OK) {
        abort();
    }
    return id;
}

void lockstep_init(struct lockstep_plan *plan, int ranks, int steps)
{
    memset(plan, 0, sizeof(*plan));
    plan->ranks = ranks;
    plan->steps = steps;
    plan->kernel_ns = 1000000;
    plan->transfer_ns = 2000000;
}

static void init_rank(struct inq_trace *trace, struct inq_rank *rank, int number)
{
    struct inq_events *e = &rank->events;
    struct inq_calls *c = &rank->calls;

    memset(rank, 0, sizeof(*rank));
    rank->rank = number;
    rank->world_size = (int32_t)trace->n_ranks;
    rank->stage = -1;
    rank->dp_rank = -1;
    rank->clock.residual_ns = -1;
    rank->n_lanes = 3;
    rank->lanes = need(3, sizeof(*rank->lanes));
    rank->lanes[0] = (struct inq_lane){INQ_LANE_STREAM, number, 7, 0};
    rank->lanes[1] = (struct inq_lane){INQ_LANE_STREAM, number, 20, 0};
    rank->lanes[2] = (struct inq_lane){INQ_LANE_THREAD, -1, 100, 0};
    e->start_ns = need(MAX_EVENTS, sizeof(*e->start_ns));
    e->dur_ns = need(MAX_EVENTS, sizeof(*e->dur_ns));
    e->name = need(MAX_EVENTS, sizeof(*e->name));
    e->lane = need(MAX_EVENTS, sizeof(*e->lane));
    e->call = need(MAX_EVENTS, sizeof(*e->call));
    e->comm = need(MAX_EVENTS, sizeof(*e->comm));
    e->step = need(MAX_EVENTS, sizeof(*e->step));
    e->kind = need(MAX_EVENTS, sizeof(*e->kind));
    e->cls = need(MAX_EVENTS, sizeof(*e->cls));
    c->start_ns = need(MAX_EVENTS, sizeof(*c->start_ns));
    c->dur_ns = need(MAX_EVENTS, sizeof(*c->dur_ns));
    c->name = need(MAX_EVENTS, sizeof(*c->name));
    c->lane = need(MAX_EVENTS, sizeof(*c->lane));
    c->correlation = need(MAX_EVENTS, sizeof(*c->correlation));
    rank->notes = need(LOCKSTEP_STEPS, sizeof(*rank->notes));
    rank->comms = need(LOCKSTEP_STEPS, sizeof(*rank->comms));
}

/* One rank as it plays. */
struct player {
    const struct lockstep_plan *plan;
    struct inq_trace *trace;
    int rank;
    int64_t host_ns, gpu_ns;
};

/* Rows are kept by (lane, start): all kernels of the compute stream, then the all-reduces. */
static size_t row_for(const struct player *p, size_t step, bool comm)
{
    size_t rows = (size_t)(LOCKSTEP_KERNELS + p->plan->more[p->rank]) * (size_t)p->plan->steps;

    for (int s = 0; s < p->plan->steps; s++) {
        rows += p->plan->copy_ns[p->rank][s] > 0;
    }
    return comm ? rows + step : p->trace->ranks[p->rank].events.n++;
}

static size_t launch(struct player *p, size_t step, const char *name, int64_t dur_ns, bool comm)
{
    struct inq_rank *rank = &p->trace->ranks[p->rank];
    struct inq_events *e = &rank->events;
    struct inq_calls *c = &rank->calls;
    size_t i = row_for(p, step, comm);

    c->start_ns[c->n] = p->host_ns;
    c->dur_ns[c->n] = LAUNCH_NS;
    c->name[c->n] = name_of(p->trace, "cudaLaunchKernel");
    c->lane[c->n] = 2;
    p->host_ns += LAUNCH_NS;
    int64_t start_ns = p->gpu_ns > p->host_ns ? p->gpu_ns : p->host_ns;
    e->start_ns[i] = start_ns;
    e->dur_ns[i] = dur_ns;
    e->name[i] = name_of(p->trace, name);
    e->lane[i] = comm ? 1 : 0;
    e->call[i] = p->plan->no_calls ? INQ_NONE : (uint32_t)c->n++;
    e->comm[i] = INQ_NONE;
    e->step[i] = (uint32_t)step;
    e->kind[i] = INQ_EVENT_KERNEL;
    e->cls[i] = comm ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE;
    p->gpu_ns = start_ns + dur_ns;
    return i;
}

static void pause(struct player *p, int step)
{
    struct inq_rank *rank = &p->trace->ranks[p->rank];
    int64_t late_ns = p->plan->late_ns[p->rank][step];

    if (late_ns == 0) {
        return;
    }
    p->host_ns = (p->host_ns > p->gpu_ns ? p->host_ns : p->gpu_ns) + late_ns;
    if (p->plan->pause_name) {
        rank->notes[rank->n_notes++] =
            (struct inq_note){.start_ns = p->host_ns - late_ns,
                              .dur_ns = late_ns,
                              .name = name_of(p->trace, p->plan->pause_name),
                              .lane = 2,
                              .number = -1,
                              .kind = INQ_NOTE_OTHER};
    }
}

static void compute(struct player *p, int step)
{
    static const char *const names[LOCKSTEP_NAMES] = {"gemm_a", "gelu_b", "gemm_c", "adam_d"};
    const struct lockstep_plan *plan = p->plan;
    int kernels = LOCKSTEP_KERNELS + plan->more[p->rank];

    for (int k = 0; k < kernels; k++) {
        int which = k % LOCKSTEP_NAMES;
        double factor = 1.0 + plan->slower[p->rank][step] +
                        (which < 2 ? plan->larger[p->rank] : 0) +
                        (k >= LOCKSTEP_KERNELS ? plan->longer : 0);
        /* no two kernels quite alike: up to 2 % longer, the same in every run */
        double wobble = 1.0 + 0.001 * (double)((k * 7 + step * 13 + p->rank * 5) % 21);
        if (k == 5) {
            pause(p, step);
        }
        (void)launch(p, (size_t)step, names[which],
                     (int64_t)((double)plan->kernel_ns * factor * wobble), false);
    }
}

static void meet(struct player *players, int step)
{
    const struct lockstep_plan *plan = players[0].plan;
    struct inq_trace *trace = players[0].trace;
    struct inq_collective *c = &trace->collectives[trace->n_collectives++];
    int64_t last_ns = 0;

    *c = (struct inq_collective){.kind = INQ_COLL_ALLREDUCE,
                                 .seq = step,
                                 .first_member = (uint32_t)trace->n_members,
                                 .n_members = (uint32_t)plan->ranks,
                                 .complete = true};
    for (int r = 0; r < plan->ranks; r++) {
        size_t event = launch(&players[r], (size_t)step, "ncclDevKernel_AllReduce", 0, true);
        int64_t start_ns = trace->ranks[r].events.start_ns[event];
        last_ns = start_ns > last_ns ? start_ns : last_ns;
        trace->members[trace->n_members++] = (struct inq_member){(uint32_t)r, (uint32_t)event};
    }
    for (int r = 0; r < plan->ranks; r++) {
        struct inq_events *e = &trace->ranks[r].events;
        size_t event = row_for(&players[r], (size_t)step, true);
        e->dur_ns[event] = last_ns + plan->transfer_ns - e->start_ns[event];
        players[r].gpu_ns = last_ns + plan->transfer_ns;
        players[r].host_ns = players[r].gpu_ns; /* the host waits for the end of the step */
    }
}

static void copy_to_host(struct player *p, int step)
{
    struct inq_events *e = &p->trace->ranks[p->rank].events;
    int64_t dur_ns = p->plan->copy_ns[p->rank][step];

    if (dur_ns > 0) {
        size_t row = launch(p, (size_t)step, "Memcpy DtoH (Device -> Pinned)", dur_ns, false);
        e->kind[row] = INQ_EVENT_MEMCPY;
        e->cls[row] = INQ_CLASS_COPY;
        p->host_ns = p->gpu_ns;
    }
}

static void free_columns(struct inq_events *e)
{
    free(e->start_ns);
    free(e->dur_ns);
    free(e->name);
    free(e->lane);
    free(e->call);
    free(e->comm);
    free(e->step);
    free(e->kind);
    free(e->cls);
}

static void free_rank(struct inq_rank *rank)
{
    free_columns(&rank->events);
    free(rank->calls.start_ns);
    free(rank->calls.dur_ns);
    free(rank->calls.name);
    free(rank->calls.lane);
    free(rank->calls.correlation);
    free(rank->notes);
    free(rank->comms);
    free(rank->lanes);
}

/* Sets the rank's clock off and its number of rows. */
static void finish_rank(const struct lockstep_plan *plan, struct inq_rank *rank)
{
    int64_t clock_ns = plan->clock_ns[rank->rank];

    rank->events.n += (size_t)plan->steps;
    for (size_t i = 0; i < rank->events.n; i++) {
        rank->events.start_ns[i] += clock_ns;
    }
    for (size_t i = 0; i < rank->calls.n; i++) {
        rank->calls.start_ns[i] += clock_ns;
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        rank->notes[i].start_ns += clock_ns;
    }
}

struct inq_trace *lockstep_trace(const struct lockstep_plan *plan)
{
    struct inq_trace *trace = need(1, sizeof(*trace));
    struct player players[LOCKSTEP_RANKS];
    size_t ranks = (size_t)plan->ranks;

    trace->names = need(1, sizeof(*trace->names));
    trace->name = "lockstep";
    trace->n_ranks = ranks;
    trace->world_size = plan->ranks;
    trace->ranks = need(ranks, sizeof(*trace->ranks));
    trace->n_steps = (size_t)plan->steps;
    trace->steps = need(trace->n_steps, sizeof(*trace->steps));
    trace->collectives = need(trace->n_steps, sizeof(*trace->collectives));
    trace->members = need(trace->n_steps * ranks, sizeof(*trace->members));
    for (int r = 0; r < plan->ranks; r++) {
        init_rank(trace, &trace->ranks[r], r);
        players[r] = (struct player){plan, trace, r, START_NS, START_NS};
    }
    for (int s = 0; s < plan->steps; s++) {
        struct inq_step *step = &trace->steps[s];
        step->number = s + 3;
        step->rank_start_ns = need(ranks, sizeof(int64_t));
        step->rank_end_ns = need(ranks, sizeof(int64_t));
        step->start_ns = players[0].host_ns;
        for (int r = 0; r < plan->ranks; r++) {
            step->rank_start_ns[r] = players[r].host_ns + plan->clock_ns[r];
            compute(&players[r], s);
        }
        meet(players, s);
        for (int r = 0; r < plan->ranks; r++) {
            copy_to_host(&players[r], s);
            step->rank_end_ns[r] = players[r].host_ns + plan->clock_ns[r];
        }
        step->end_ns = players[0].host_ns;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        finish_rank(plan, &trace->ranks[r]);
    }
    return trace;
}

void lockstep_free(struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        free_rank(&trace->ranks[r]);
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        free(trace->steps[s].rank_start_ns);
        free(trace->steps[s].rank_end_ns);
    }
    free(trace->ranks);
    free(trace->steps);
    free(trace->collectives);
    free(trace->members);
    inq_strtab_release(trace->names);
    free(trace->names);
    free(trace);
}
