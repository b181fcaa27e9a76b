/* SPDX-License-Identifier: Apache-2.0 */
/* The whole run: every rank built, then all times computed at once. */
#include "synth/step.h"

#include "base/mem.h"
#include "synth/random.h"

#include <string.h>

enum { START_SPREAD_NS = 40000 };

/* A run that would need more nodes than this is refused before it is built. */
static const double MAX_NODES = 2e8;

static int check_size(const struct inq_synth_spec *spec, int32_t world, struct inq_err *err)
{
    double kernels = (double)(inq_synth_n_forward + inq_synth_n_backward) * spec->layers /
                     spec->pp * spec->micro_batches;
    double nodes = 3.0 * kernels * world * spec->steps;
    if (nodes > MAX_NODES) {
        return inq_err_set(err, INQ_LIMIT,
                           "the run would have about %.0f million operations (limit %.0f): fewer "
                           "ranks, steps, layers or micro-batches",
                           nodes / 1e6, MAX_NODES / 1e6);
    }
    return INQ_OK;
}

static int allocate(struct synth_sim *sim, const struct inq_synth_spec *spec, struct inq_err *err)
{
    size_t n = (size_t)sim->plan.world;
    sim->ranks = inq_mem_zalloc(n, sizeof *sim->ranks);
    sim->channels = inq_mem_zalloc(2 * n, sizeof *sim->channels);
    bool ok = sim->ranks != NULL && sim->channels != NULL;
    for (int role = 0; role < SYNTH_ROLE_COUNT && ok; role++) {
        size_t groups = (size_t)inq_synth_group_count(spec, (enum synth_role)role);
        sim->groups[role] = inq_mem_zalloc(groups, sizeof *sim->groups[role]);
        ok = sim->groups[role] != NULL;
    }
    if (!ok) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    sim->n_ranks = sim->plan.world;
    return INQ_OK;
}

static void start_builder(struct synth_builder *b, struct synth_sim *sim, int32_t rank)
{
    *b = (struct synth_builder){
        .sim = sim,
        .spec = sim->plan.spec,
        .out = &sim->ranks[rank],
        .rank = rank,
        .stage = inq_synth_stage(sim->plan.spec, rank),
        .dp_rank = inq_synth_dp_rank(sim->plan.spec, rank),
        .host = SYNTH_NONE,
        .pause_layer = -1,
        .posted = SYNTH_NONE,
    };
    memset(b->last, 0xff, sizeof b->last);
    memset(b->queue, 0xff, sizeof b->queue);
    struct synth_key key = {b->spec->seed, SYNTH_DRAW_START, (uint32_t)rank, 0, 0};
    inq_synth_idle(b, (int64_t)(inq_synth_uniform(key) * START_SPREAD_NS));
}

static int build_rank(struct synth_sim *sim, int32_t rank, struct inq_err *err)
{
    struct synth_builder builder;
    start_builder(&builder, sim, rank);
    int32_t steps = sim->plan.spec->steps;
    builder.out->step_ends = inq_mem_alloc(2 * sizeof(uint32_t) * (size_t)steps);
    if (builder.out->step_ends == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (int32_t step = 0; step < steps && sim->program.code == INQ_OK; step++) {
        builder.step = step;
        inq_synth_build_step(&builder);
    }
    return INQ_OK;
}

int inq_synth_simulate(struct synth_sim *sim, const struct inq_synth_spec *spec, uint64_t active,
                       struct inq_err *err)
{
    *sim = (struct synth_sim){0};
    int code = inq_synth_plan_init(&sim->plan, spec, active, err);
    if (code == INQ_OK) {
        code = check_size(spec, sim->plan.world, err);
    }
    if (code == INQ_OK) {
        code = allocate(sim, spec, err);
    }
    for (int32_t rank = 0; rank < sim->plan.world && code == INQ_OK; rank++) {
        code = build_rank(sim, rank, err);
    }
    return code != INQ_OK ? code : inq_synth_run(&sim->program, err);
}

static void release_meetings(struct synth_meetings *meetings, size_t n)
{
    for (size_t i = 0; meetings != NULL && i < n; i++) {
        inq_mem_free(meetings[i].meeting);
    }
    inq_mem_free(meetings);
}

void inq_synth_sim_release(struct synth_sim *sim)
{
    size_t n = (size_t)sim->n_ranks;
    for (size_t i = 0; i < n; i++) {
        inq_mem_free(sim->ranks[i].items);
        inq_mem_free(sim->ranks[i].comms);
        inq_mem_free(sim->ranks[i].step_ends);
    }
    inq_mem_free(sim->ranks);
    release_meetings(sim->channels, 2 * n);
    for (int role = 0; role < SYNTH_ROLE_COUNT; role++) {
        size_t groups =
            n == 0 ? 0 : (size_t)inq_synth_group_count(sim->plan.spec, (enum synth_role)role);
        release_meetings(sim->groups[role], groups);
    }
    inq_synth_program_release(&sim->program);
    inq_synth_plan_release(&sim->plan);
    *sim = (struct synth_sim){0};
}

int64_t inq_synth_step_end(const struct synth_sim *sim, int32_t step)
{
    int64_t end = 0;
    for (int32_t rank = 0; rank < sim->n_ranks; rank++) {
        for (int i = 0; i < 2; i++) {
            uint32_t node = sim->ranks[rank].step_ends[2 * step + i];
            int64_t node_end = sim->program.nodes[node].end_ns;
            end = node_end > end ? node_end : end;
        }
    }
    return end;
}
