/* SPDX-License-Identifier: Apache-2.0 */
/* What the faults do. */
#include "synth/plan.h"

#include "base/mem.h"
#include "synth/random.h"

/* Share of a forward that grows with the square of the sequence length (attention). */
static const double SQUARE_SHARE = 580.0 / 3000.0;

static bool acts(const struct synth_plan *plan, size_t i, enum inq_synth_fault_kind kind,
                 int32_t step)
{
    const struct inq_synth_fault *fault = &plan->spec->faults[i];
    return fault->kind == kind && (plan->active >> i & 1) != 0 && step >= fault->from &&
           step <= fault->to && (kind == INQ_SYNTH_GC || (step - fault->from) % fault->every == 0);
}

bool inq_synth_concerns(const struct inq_synth_spec *spec, const struct inq_synth_fault *fault,
                        int32_t rank)
{
    if (fault->host >= 0) {
        return rank / spec->gpus_per_host == fault->host;
    }
    if (fault->rank < 0 || fault->last < 0) {
        return fault->rank < 0 || fault->rank == rank;
    }
    return rank >= fault->rank && rank <= fault->last && (rank - fault->rank) % fault->stride == 0;
}

/* Product of the factors of all faults of a kind (and mode) that act on the rank. */
static double factor_of(const struct synth_plan *plan, enum inq_synth_fault_kind kind,
                        enum inq_synth_mode mode, int32_t rank, int32_t step)
{
    double factor = 1.0;
    for (size_t i = 0; i < plan->spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &plan->spec->faults[i];
        if (acts(plan, i, kind, step) && fault->mode == mode &&
            (rank < 0 || inq_synth_concerns(plan->spec, fault, rank))) {
            factor *= fault->factor;
        }
    }
    return factor;
}

/* Sum of the delays of all late hosts of the mode. */
static int64_t delay_of(const struct synth_plan *plan, enum inq_synth_mode mode, int32_t rank,
                        int32_t step)
{
    int64_t delay = 0;
    for (size_t i = 0; i < plan->spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &plan->spec->faults[i];
        enum inq_synth_mode own =
            fault->mode == INQ_SYNTH_MODE_DEFAULT ? INQ_SYNTH_MODE_STEP : fault->mode;
        if (acts(plan, i, INQ_SYNTH_LATE_HOST, step) && own == mode &&
            inq_synth_concerns(plan->spec, fault, rank)) {
            delay += fault->delay_ns;
        }
    }
    return delay;
}

static int64_t pause_of(const struct synth_plan *plan, int32_t rank, int32_t step)
{
    const struct inq_synth_spec *spec = plan->spec;
    int64_t pause = delay_of(plan, INQ_SYNTH_MODE_GC, rank, step);
    for (size_t i = 0; i < spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &spec->faults[i];
        struct synth_key key = {spec->seed, SYNTH_DRAW_GC, (uint32_t)rank, 0, i};
        int32_t first = (int32_t)(inq_synth_uniform(key) * fault->every);
        if (acts(plan, i, INQ_SYNTH_GC, step) && inq_synth_concerns(spec, fault, rank) &&
            (step - fault->from) % fault->every == first) {
            pause += fault->delay_ns;
        }
    }
    return pause;
}

struct synth_factors inq_synth_factors(const struct synth_plan *plan, int32_t rank, int32_t step)
{
    const struct inq_synth_spec *spec = plan->spec;
    struct synth_key always = {spec->seed, SYNTH_DRAW_RANK, (uint32_t)rank, 0, 0};
    struct synth_key once = {spec->seed, SYNTH_DRAW_STEP, (uint32_t)rank, (uint32_t)step, 0};
    return (struct synth_factors){
        .gpu = factor_of(plan, INQ_SYNTH_SLOW_GPU, INQ_SYNTH_MODE_DEFAULT, rank, step) *
               inq_synth_lognormal(always, spec->rank_sigma) *
               inq_synth_lognormal(once, spec->step_sigma),
        .clock = factor_of(plan, INQ_SYNTH_LOW_CLOCK, INQ_SYNTH_MODE_DEFAULT, rank, step),
        .size = factor_of(plan, INQ_SYNTH_MORE_WORK, INQ_SYNTH_MODE_SIZE, rank, step),
        .count = factor_of(plan, INQ_SYNTH_MORE_WORK, INQ_SYNTH_MODE_COUNT, rank, step) *
                 factor_of(plan, INQ_SYNTH_MORE_WORK, INQ_SYNTH_MODE_DEFAULT, rank, step),
        .launch = factor_of(plan, INQ_SYNTH_LATE_HOST, INQ_SYNTH_MODE_LAUNCH, rank, step),
        .last_stage = factor_of(plan, INQ_SYNTH_LONG_LAST_STAGE, INQ_SYNTH_MODE_DEFAULT, -1, step),
        .data_delay_ns = delay_of(plan, INQ_SYNTH_MODE_STEP, rank, step),
        .step_delay_ns = delay_of(plan, INQ_SYNTH_MODE_PAUSE, rank, step),
        .pause_ns = pause_of(plan, rank, step),
    };
}

double inq_synth_kernel_noise(const struct synth_plan *plan, int32_t rank, int32_t step,
                              uint64_t ordinal)
{
    const struct inq_synth_spec *spec = plan->spec;
    struct synth_key key = {spec->seed, SYNTH_DRAW_KERNEL, (uint32_t)rank, (uint32_t)step, ordinal};
    double noise = inq_synth_lognormal(key, spec->sigma);
    for (size_t i = 0; i < spec->n_faults; i++) {
        if (acts(plan, i, INQ_SYNTH_JITTER, step) &&
            inq_synth_concerns(spec, &spec->faults[i], rank)) {
            key.purpose = SYNTH_DRAW_JITTER;
            noise *= inq_synth_lognormal(key, spec->faults[i].sigma);
        }
    }
    return noise;
}

double inq_synth_expert_load(const struct synth_plan *plan, int32_t rank, int32_t step,
                             int32_t layer, int32_t micro_batch)
{
    const struct inq_synth_spec *spec = plan->spec;
    double load = factor_of(plan, INQ_SYNTH_MORE_WORK, INQ_SYNTH_MODE_EXPERTS, rank, step);
    for (size_t i = 0; i < spec->n_faults; i++) {
        if (!acts(plan, i, INQ_SYNTH_UNEVEN_EXPERTS, step)) {
            continue;
        }
        double sum = 0.0;
        double own = 0.0;
        for (int32_t r = 0; r < spec->dp; r++) {
            int32_t member = inq_synth_group_member(spec, SYNTH_EP, rank, r);
            struct synth_key key = {spec->seed, SYNTH_DRAW_EXPERTS, (uint32_t)member,
                                    (uint32_t)step, (uint64_t)micro_batch << 32 | (uint32_t)layer};
            double share = inq_synth_lognormal(key, spec->faults[i].sigma);
            sum += share;
            own = member == rank ? share : own;
        }
        load *= own * spec->dp / sum;
    }
    return load;
}

double inq_synth_sequence(const struct synth_plan *plan, int32_t step, int32_t dp_rank,
                          int32_t micro_batch)
{
    if (plan->sequence == NULL) {
        return 1.0;
    }
    const struct inq_synth_spec *spec = plan->spec;
    size_t row = (size_t)step * (size_t)spec->dp + (size_t)dp_rank;
    return plan->sequence[row * (size_t)spec->micro_batches + (size_t)micro_batch];
}

/* Whether a transfer of the rank's group, or to `peer`, has ends on the host and elsewhere. */
static bool leaves_host(const struct inq_synth_spec *spec, int32_t host, enum synth_role role,
                        int32_t rank, int32_t peer)
{
    if (peer >= 0) {
        return (rank / spec->gpus_per_host == host) != (peer / spec->gpus_per_host == host);
    }
    int32_t n = inq_synth_group_size(spec, role);
    int32_t inside = 0;
    for (int32_t i = 0; i < n; i++) {
        inside += inq_synth_group_member(spec, role, rank, i) / spec->gpus_per_host == host;
    }
    return inside > 0 && inside < n;
}

static bool link_concerned(const struct inq_synth_spec *spec, const struct inq_synth_fault *fault,
                           enum synth_role role, int32_t rank, int32_t peer)
{
    static const enum inq_synth_links kinds[SYNTH_ROLE_COUNT] = {
        [SYNTH_WORLD] = INQ_SYNTH_LINKS_ALL, [SYNTH_DP] = INQ_SYNTH_LINKS_DP,
        [SYNTH_TP] = INQ_SYNTH_LINKS_TP,     [SYNTH_MP] = INQ_SYNTH_LINKS_ALL,
        [SYNTH_PP] = INQ_SYNTH_LINKS_PP,     [SYNTH_EP] = INQ_SYNTH_LINKS_ALL,
    };
    if (fault->links != INQ_SYNTH_LINKS_ALL && fault->links != kinds[role]) {
        return false;
    }
    if (fault->host >= 0) {
        return leaves_host(spec, fault->host, role, rank, peer);
    }
    if (peer >= 0) {
        bool there = fault->rank == rank && (fault->peer < 0 || fault->peer == peer);
        bool back = fault->rank == peer && (fault->peer < 0 || fault->peer == rank);
        return there || back;
    }
    int32_t group = inq_synth_group_of(spec, role, rank);
    return inq_synth_group_of(spec, role, fault->rank) == group &&
           (fault->peer < 0 || inq_synth_group_of(spec, role, fault->peer) == group);
}

double inq_synth_link_factor(const struct synth_plan *plan, enum synth_role role, int32_t rank,
                             int32_t peer, int32_t step)
{
    double factor = 1.0;
    for (size_t i = 0; i < plan->spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &plan->spec->faults[i];
        if (acts(plan, i, INQ_SYNTH_SLOW_LINK, step) &&
            link_concerned(plan->spec, fault, role, rank, peer)) {
            factor *= fault->factor;
        }
    }
    return factor;
}

/* ---- sequence lengths ------------------------------------------------------------------------ */

/* Scales lengths so that their mean work, linear plus quadratic share, is that of length 1. */
static void keep_the_work(double *length, size_t n)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += length[i];
        squares += length[i] * length[i];
    }
    double low = 0.0;
    double high = 4.0;
    for (int i = 0; i < 60; i++) { /* bisection: no square root needed */
        double scale = (low + high) / 2;
        double work = (1.0 - SQUARE_SHARE) * sum * scale + SQUARE_SHARE * squares * scale * scale;
        if (work < (double)n) {
            low = scale;
        } else {
            high = scale;
        }
    }
    for (size_t i = 0; i < n; i++) {
        length[i] *= low;
    }
}

static void draw_lengths(struct synth_plan *plan, const struct inq_synth_fault *fault)
{
    const struct inq_synth_spec *spec = plan->spec;
    size_t per_step = (size_t)spec->dp * (size_t)spec->micro_batches;
    for (int32_t step = 0; step < spec->steps; step++) {
        double *row = plan->sequence + (size_t)step * per_step;
        bool concerned =
            step >= fault->from && step <= fault->to && (step - fault->from) % fault->every == 0;
        for (size_t i = 0; i < per_step; i++) {
            struct synth_key key = {spec->seed, SYNTH_DRAW_SEQUENCE, (uint32_t)step, 0, i};
            row[i] = concerned ? inq_synth_lognormal(key, fault->sigma) : 1.0;
        }
        if (concerned) {
            keep_the_work(row, per_step);
        }
    }
}

int inq_synth_plan_init(struct synth_plan *plan, const struct inq_synth_spec *spec, uint64_t active,
                        struct inq_err *err)
{
    *plan = (struct synth_plan){.spec = spec, .active = active};
    plan->world = inq_synth_group_size(spec, SYNTH_WORLD);
    for (size_t i = 0; i < spec->n_faults && plan->sequence == NULL; i++) {
        if (spec->faults[i].kind == INQ_SYNTH_UNEVEN_SEQ && (active >> i & 1) != 0) {
            size_t per_step = (size_t)spec->dp * (size_t)spec->micro_batches;
            plan->sequence = inq_mem_zalloc((size_t)spec->steps * per_step, sizeof(double));
            if (plan->sequence == NULL) {
                return inq_err_set(err, INQ_NOMEM, "out of memory");
            }
            draw_lengths(plan, &spec->faults[i]);
        }
    }
    return INQ_OK;
}

void inq_synth_plan_release(struct synth_plan *plan)
{
    inq_mem_free(plan->sequence);
    plan->sequence = NULL;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

struct synth_clock inq_synth_clock(const struct inq_synth_spec *spec, int32_t rank)
{
    int32_t host = rank / spec->gpus_per_host;
    struct synth_key key = {spec->seed, SYNTH_DRAW_CLOCK, (uint32_t)host, 0, 0};
    struct synth_key rate = {spec->seed, SYNTH_DRAW_DRIFT, (uint32_t)host, 0, 0};
    struct synth_clock clock = {
        .offset_ns = (int64_t)((double)spec->clock_ns * inq_synth_normal(key)),
        .drift_ppb = (int64_t)(spec->drift_ppm * 1000.0 * inq_synth_normal(rate)),
    };
    for (size_t i = 0; i < spec->n_faults; i++) {
        const struct inq_synth_fault *fault = &spec->faults[i];
        if (!inq_synth_concerns(spec, fault, rank)) {
            continue;
        }
        if (fault->kind == INQ_SYNTH_CLOCK_OFFSET) {
            clock.offset_ns += fault->offset_ns;
        } else if (fault->kind == INQ_SYNTH_CLOCK_DRIFT) {
            clock.drift_ppb += (int64_t)(fault->ppm * 1000.0);
        }
    }
    return clock;
}
