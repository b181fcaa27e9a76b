/* SPDX-License-Identifier: Apache-2.0 */
/* The handle: a simulated run, its files, its truth. */
#include "synth/synth.h"

#include "inquest/out.h"
#include "base/mem.h"
#include "synth/spec.h"

#include <inttypes.h>
#include <string.h>

enum { GZIP_LEVEL = 5, FIRST_PID = 4000 };

/* ---- the whole run: every rank built, then all times computed at once ------------------------ */

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

/* ---- times ------------------------------------------------------------------------------------
 */

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

/* Computes all times, from 0 on. Fails with INQ_DEADLOCK when some node can never start. */
static int run_program(struct synth_program *program, struct inq_err *err)
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

static void release_program(struct synth_program *program)
{
    inq_mem_free(program->nodes);
    inq_mem_free(program->edges);
    inq_mem_free(program->seats);
    inq_mem_free(program->meetings);
    *program = (struct synth_program){0};
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static int find_step_ends(struct synth_sim *sim, int32_t steps, struct inq_err *err)
{
    sim->ends_ns = inq_mem_zalloc((size_t)steps, sizeof *sim->ends_ns);
    if (sim->ends_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (int32_t rank = 0; rank < sim->n_ranks; rank++) {
        for (int32_t i = 0; i < 2 * steps; i++) {
            uint32_t node = sim->ranks[rank].step_ends[i];
            int64_t end = sim->program.nodes[node].end_ns;
            int64_t *latest = &sim->ends_ns[i / 2];
            *latest = end > *latest ? end : *latest;
        }
    }
    return INQ_OK;
}

/* Builds and runs the whole program of a spec; `active`: the faults that act. Release with
 * release_sim, also after a failure. Fails with INQ_NOMEM, INQ_LIMIT. */
static int simulate(struct synth_sim *sim, const struct inq_synth_spec *spec, uint64_t active,
                    struct inq_err *err)
{
    *sim = (struct synth_sim){0};
    int code = inq_synth_plan_init(&sim->plan, spec, active, err);
    if (code == INQ_OK) {
        code = allocate(sim, spec, err);
    }
    if (code == INQ_OK) {
        code = inq_synth_build(sim, err);
    }
    if (code == INQ_OK) {
        code = run_program(&sim->program, err);
    }
    return code != INQ_OK ? code : find_step_ends(sim, spec->steps, err);
}

static void release_meetings(struct synth_meetings *meetings, size_t n)
{
    for (size_t i = 0; meetings != NULL && i < n; i++) {
        inq_mem_free(meetings[i].meeting);
    }
    inq_mem_free(meetings);
}

static void release_sim(struct synth_sim *sim)
{
    size_t n = (size_t)sim->n_ranks;
    for (size_t i = 0; i < n; i++) {
        inq_mem_free(sim->ranks[i].items);
        inq_mem_free(sim->ranks[i].comms);
        inq_mem_free(sim->ranks[i].step_ends);
    }
    inq_mem_free(sim->ranks);
    inq_mem_free(sim->ends_ns);
    release_meetings(sim->channels, 2 * n);
    for (int role = 0; role < SYNTH_ROLE_COUNT; role++) {
        size_t groups =
            n == 0 ? 0 : (size_t)inq_synth_group_count(sim->plan.spec, (enum synth_role)role);
        release_meetings(sim->groups[role], groups);
    }
    release_program(&sim->program);
    inq_synth_plan_release(&sim->plan);
    *sim = (struct synth_sim){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_missing(const struct inq_synth_spec *spec, int32_t rank)
{
    for (size_t i = 0; i < spec->n_faults; i++) {
        if (spec->faults[i].kind == INQ_SYNTH_MISSING_RANK &&
            inq_synth_concerns(spec, &spec->faults[i], rank)) {
            return true;
        }
    }
    return false;
}

static char *file_name(struct inq_synth *synth, int32_t rank)
{
    const struct inq_synth_spec *spec = &synth->spec;
    const char *suffix = spec->gz ? ".gz" : "";
    if (spec->names == INQ_SYNTH_NAMES_HANDLER) {
        return inq_arena_asprintf(
            &synth->arena,
            "node-%02" PRId32 "_%" PRId32 ".17684640%02" PRId32 "000000000.pt.trace.json%s",
            rank / spec->gpus_per_host, FIRST_PID + rank % spec->gpus_per_host, rank % 100, suffix);
    }
    return inq_arena_asprintf(&synth->arena, "rank-%" PRId32 ".pt.trace.json%s", rank, suffix);
}

static int list_files(struct inq_synth *synth, struct inq_err *err)
{
    size_t world = (size_t)synth->sim.plan.world;
    synth->files = inq_arena_array(&synth->arena, world, sizeof *synth->files);
    if (synth->files == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t rank = 0; rank < world; rank++) {
        struct synth_file *file = &synth->files[synth->n_files];
        if (!is_missing(&synth->spec, (int32_t)rank)) {
            file->rank = (int32_t)rank;
            file->name = file_name(synth, (int32_t)rank);
            if (file->name == NULL) {
                return inq_err_set(err, INQ_NOMEM, "out of memory");
            }
            synth->n_files++;
        }
    }
    return INQ_OK;
}

/* ---- the truth: what was planted and what it cost, by the same run, with the same draws, without
 * the fault
 * ---------------------------------------------------------------------------------------- */

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
        code = simulate(&other, &synth->spec, active, err);
        sim = &other;
    }
    if (code == INQ_OK) {
        int64_t before = 0;
        for (int32_t step = 0; step < synth->spec.steps; step++) {
            int64_t end = sim->ends_ns[step];
            if (step_ns != NULL) {
                step_ns[step] = end - before;
            }
            before = end;
        }
        *total_ns = before;
    }
    release_sim(&other);
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
        return inq_synth_place(spec, rank).stage == spec->pp - 1;
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
    struct synth_place at = inq_synth_place(spec, rank);
    *out = (struct inq_synth_truth_rank){
        .rank = rank,
        .host = rank / spec->gpus_per_host,
        .stage = at.stage,
        .dp_rank = at.dp,
        .tp_rank = at.tp,
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
static int allocate_truth(struct inq_synth *synth, struct inq_err *err)
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

static int find_truth(struct inq_synth *synth, struct inq_err *err)
{
    struct inq_synth_truth *truth = &synth->truth;
    const struct inq_synth_spec *spec = &synth->spec;
    int code = allocate_truth(synth, err);
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

/* ---- the handle ------------------------------------------------------------------------------ */

int inq_synth_new(const struct inq_synth_spec *spec, struct inq_synth **synth, struct inq_err *err)
{
    *synth = NULL;
    struct inq_synth *made = inq_mem_zalloc(1, sizeof *made);
    if (made == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    made->spec = *spec;
    int code = inq_synth_spec_check(&made->spec, err);
    if (code == INQ_OK) {
        uint64_t all = ((uint64_t)1 << made->spec.n_faults) - 1;
        code = simulate(&made->sim, &made->spec, all, err);
    }
    if (code == INQ_OK) {
        code = list_files(made, err);
    }
    if (code == INQ_OK) {
        code = find_truth(made, err);
    }
    if (code != INQ_OK) {
        inq_synth_free(made);
        return code;
    }
    *synth = made;
    return INQ_OK;
}

void inq_synth_free(struct inq_synth *synth)
{
    if (synth != NULL) {
        release_sim(&synth->sim);
        inq_arena_release(&synth->arena);
        inq_mem_free(synth);
    }
}

const struct inq_synth_truth *inq_synth_truth(const struct inq_synth *synth)
{
    return &synth->truth;
}

size_t inq_synth_files(const struct inq_synth *synth)
{
    return synth->n_files;
}

const char *inq_synth_file_name(const struct inq_synth *synth, size_t file)
{
    return synth->files[file].name;
}

int32_t inq_synth_file_rank(const struct inq_synth *synth, size_t file)
{
    return synth->files[file].rank;
}

/* Part of the file that is left; 1 when it is whole. */
static double part_left(const struct inq_synth_spec *spec, int32_t rank)
{
    double part = 1.0;
    for (size_t i = 0; i < spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &spec->faults[i];
        if (fault->kind == INQ_SYNTH_CUT_FILE && inq_synth_concerns(spec, fault, rank) &&
            fault->at < part) {
            part = fault->at;
        }
    }
    return part;
}

/* The part of `n` bytes that is left of a cut file. */
static size_t left_of(const struct inq_synth *synth, int32_t rank, size_t n)
{
    double left = (double)n * part_left(&synth->spec, rank);
    return left < (double)n ? (size_t)left : n;
}

int inq_synth_file_write(const struct inq_synth *synth, size_t file, struct inq_sink sink,
                         struct inq_err *err)
{
    int32_t rank = synth->files[file].rank;
    struct inq_out text = {0};
    struct inq_out packed = {0};
    inq_synth_emit(&synth->sim, rank, &text);
    int code = text.code;
    if (code == INQ_OK && synth->spec.gz) {
        code = inq_gzip_write(&packed, text.buf, text.len, GZIP_LEVEL, err);
    }
    const struct inq_out *whole = synth->spec.gz ? &packed : &text;
    if (code == INQ_OK) {
        code = sink.write(sink.ctx, whole->buf, left_of(synth, rank, whole->len));
    }
    inq_out_release(&packed);
    inq_out_release(&text);
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "could not write %s", synth->files[file].name);
    }
    return INQ_OK;
}
