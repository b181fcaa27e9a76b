/* SPDX-License-Identifier: Apache-2.0 */
/* What was planted and what it cost: the same run, with the same draws, without the fault. */
#include "synth/run.h"

#include "synth/spec.h"

static bool is_noise(const struct inq_synth_spec *spec, size_t fault)
{
    return *inq_synth_fault_infos[spec->faults[fault].kind].finding == '\0';
}

/* The ends of all steps with only the faults of `active`. Fills step_ns if it is not NULL. */
static int time_run(const struct inq_synth *synth, uint64_t active, int64_t *step_ns,
                    int64_t *total_ns, struct inq_err *err)
{
    const struct synth_sim *sim = &synth->sim;
    struct synth_sim other = {0};
    int code = INQ_OK;
    if (active != sim->plan.active) {
        code = inq_synth_simulate(&other, &synth->spec, active, err);
        sim = &other;
    }
    if (code == INQ_OK) {
        int64_t before = 0;
        for (int32_t step = 0; step < synth->spec.steps; step++) {
            int64_t end = inq_synth_step_end(sim, step);
            if (step_ns != NULL) {
                step_ns[step] = end - before;
            }
            before = end;
        }
        *total_ns = before;
    }
    inq_synth_sim_release(&other);
    return code;
}

/* Whether the fault changes any time of the simulation. */
static bool changes_times(enum inq_synth_fault_kind kind)
{
    switch (kind) {
    case INQ_SYNTH_SLOW_GPU:
    case INQ_SYNTH_LOW_CLOCK:
    case INQ_SYNTH_SLOW_LINK:
    case INQ_SYNTH_LATE_HOST:
    case INQ_SYNTH_GC:
    case INQ_SYNTH_MORE_WORK:
    case INQ_SYNTH_LONG_LAST_STAGE:
    case INQ_SYNTH_UNEVEN_SEQ:
    case INQ_SYNTH_UNEVEN_EXPERTS:
    case INQ_SYNTH_JITTER:
        return true;
    case INQ_SYNTH_CLOCK_OFFSET:
    case INQ_SYNTH_CLOCK_DRIFT:
    case INQ_SYNTH_MISSING_RANK:
    case INQ_SYNTH_CUT_FILE:
    case INQ_SYNTH_FAULT_COUNT:
        break;
    }
    return false;
}

/* Whether the rank is one that the fault is about. */
static bool blames(const struct inq_synth_spec *spec, const struct inq_synth_fault *fault,
                   int32_t rank)
{
    if (fault->kind == INQ_SYNTH_LONG_LAST_STAGE) {
        return inq_synth_stage(spec, rank) == spec->pp - 1;
    }
    if (fault->kind == INQ_SYNTH_SLOW_LINK && fault->host < 0) {
        return rank == fault->rank || rank == fault->peer;
    }
    return (fault->rank >= 0 || fault->host >= 0) && inq_synth_concerns(spec, fault, rank);
}

/* The host that the fault was given for. */
static int describe_hosts(struct inq_synth *synth, struct inq_synth_truth_fault *out,
                          struct inq_err *err)
{
    if (out->fault.host < 0 || !changes_times(out->fault.kind)) {
        return INQ_OK;
    }
    out->hosts = inq_arena_array(&synth->arena, 1, sizeof *out->hosts);
    if (out->hosts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    out->hosts[out->n_hosts++] = out->fault.host;
    return INQ_OK;
}

static int describe(struct inq_synth *synth, size_t i, struct inq_err *err)
{
    const struct inq_synth_spec *spec = &synth->spec;
    struct inq_synth_truth_fault *out = &synth->truth.faults[i];
    int32_t world = synth->sim.plan.world;
    out->fault = spec->faults[i];
    out->kind = inq_synth_fault_infos[out->fault.kind].text;
    out->finding = inq_synth_fault_infos[out->fault.kind].finding;
    out->stage = out->fault.kind == INQ_SYNTH_LONG_LAST_STAGE ? spec->pp - 1 : -1;
    out->ranks = inq_arena_array(&synth->arena, (size_t)world, sizeof *out->ranks);
    if (out->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (int32_t rank = 0; rank < world; rank++) {
        if (blames(spec, &out->fault, rank)) {
            out->ranks[out->n_ranks++] = rank;
        }
    }
    if (*out->finding != '\0') {
        synth->truth.healthy = false;
    }
    return describe_hosts(synth, out, err);
}

static int measure(struct inq_synth *synth, size_t i, uint64_t noise, int64_t total_ns,
                   int64_t healthy_ns, struct inq_err *err)
{
    struct inq_synth_truth_fault *out = &synth->truth.faults[i];
    uint64_t without = synth->sim.plan.active & ~((uint64_t)1 << i);
    int64_t without_ns = healthy_ns;
    int code = INQ_OK;
    if (!changes_times(out->fault.kind)) {
        return INQ_OK;
    }
    if (without != noise) {
        code = time_run(synth, without, NULL, &without_ns, err);
    }
    out->cost_ns_per_step = (total_ns - without_ns) / synth->spec.steps;
    out->share = total_ns > 0 ? (double)(total_ns - without_ns) / (double)total_ns : 0.0;
    return code;
}

/* Adds one communication to the account of a rank: it waits until the last has arrived. */
static void count_wait(struct inq_synth_truth_rank *out, const struct synth_program *program,
                       const struct synth_node *node)
{
    int64_t last = node->start_ns;
    for (uint32_t s = node->first_seat; s != SYNTH_NONE; s = program->seats[s].next_of_node) {
        const struct synth_meeting *meeting = &program->meetings[program->seats[s].meeting];
        last = meeting->last_arrival_ns > last ? meeting->last_arrival_ns : last;
    }
    out->collectives++;
    out->wait_ns += last - node->start_ns;
    out->last_arrivals += last == node->start_ns;
}

static void describe_rank(const struct inq_synth *synth, int32_t rank,
                          struct inq_synth_truth_rank *out)
{
    const struct inq_synth_spec *spec = &synth->spec;
    const struct synth_program *program = &synth->sim.program;
    const struct synth_rank *items = &synth->sim.ranks[rank];
    struct synth_clock clock = inq_synth_clock(spec, rank);
    *out = (struct inq_synth_truth_rank){
        .rank = rank,
        .host = rank / spec->gpus_per_host,
        .stage = inq_synth_stage(spec, rank),
        .dp_rank = inq_synth_dp_rank(spec, rank),
        .tp_rank = inq_synth_tp_rank(spec, rank),
        .clock_offset_ns = clock.offset_ns,
        .clock_drift_ppb = clock.drift_ppb,
    };
    for (size_t i = 0; i < items->n_items; i++) {
        const struct synth_item *item = &items->items[i];
        if (item->kind == SYNTH_ITEM_KERNEL) {
            out->compute_ns += program->nodes[item->gpu].dur_ns;
        } else if (item->kind == SYNTH_ITEM_COMM) {
            count_wait(out, program, &program->nodes[item->gpu]);
        }
    }
}

/* Everything that the truth has room for. */
static int allocate(struct inq_synth *synth, struct inq_err *err)
{
    struct inq_synth_truth *truth = &synth->truth;
    size_t steps = (size_t)synth->spec.steps;
    truth->healthy = true;
    truth->world_size = synth->sim.plan.world;
    truth->n_steps = steps;
    truth->n_faults = synth->spec.n_faults;
    truth->ranks = inq_arena_array(&synth->arena, (size_t)truth->world_size, sizeof *truth->ranks);
    truth->step_ns = inq_arena_array(&synth->arena, steps, sizeof(int64_t));
    truth->step_ns_healthy = inq_arena_array(&synth->arena, steps, sizeof(int64_t));
    truth->faults = inq_arena_array(&synth->arena, truth->n_faults, sizeof *truth->faults);
    if (truth->ranks == NULL || truth->step_ns == NULL || truth->step_ns_healthy == NULL ||
        truth->faults == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    return INQ_OK;
}

int inq_synth_find_truth(struct inq_synth *synth, struct inq_err *err)
{
    struct inq_synth_truth *truth = &synth->truth;
    const struct inq_synth_spec *spec = &synth->spec;
    int code = allocate(synth, err);
    if (code != INQ_OK) {
        return code;
    }
    for (int32_t rank = 0; rank < truth->world_size; rank++) {
        describe_rank(synth, rank, &truth->ranks[rank]);
    }
    /* Noise is not a fault: a healthy run has it. What changes no time is left switched on, too. */
    uint64_t noise = 0;
    for (size_t i = 0; i < spec->n_faults; i++) {
        bool keep = is_noise(spec, i) || !changes_times(spec->faults[i].kind);
        noise |= (uint64_t)keep << i;
    }
    int64_t total_ns = 0;
    int64_t healthy_ns = 0;
    code = time_run(synth, synth->sim.plan.active, truth->step_ns, &total_ns, err);
    if (code == INQ_OK) {
        code = time_run(synth, noise, truth->step_ns_healthy, &healthy_ns, err);
    }
    truth->mean_step_ns = total_ns / spec->steps;
    truth->mean_step_ns_healthy = healthy_ns / spec->steps;
    for (size_t i = 0; i < spec->n_faults && code == INQ_OK; i++) {
        code = describe(synth, i, err);
        if (code == INQ_OK) {
            code = measure(synth, i, noise, total_ns, healthy_ns, err);
        }
    }
    return code;
}
