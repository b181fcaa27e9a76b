/* SPDX-License-Identifier: Apache-2.0 */
/* V-Half and V-Min: two chunks a rank in a V, with the memory of activations under control. A block
 * of one micro-batch is laid over the ranks with fixed steps between neighbors, repeated every six
 * slots; how long an activation lives, and so the memory, follows from the steps. Less memory than
 * the shortest steps need is kept by repeating it less often. Its order of forwards and input
 * gradients is kept, weight gradients fill the gaps that the times leave. */
#include "schedule/schedule.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* A rank has six ops a micro-batch, so that no block can come more often than every six slots. */
enum { CHAINS = 4, OPS = 6, MOST_TURN = 6, MOST_STEP = 3, MOST_TRIALS = 48 };

/* The four passes of a micro-batch on a rank, in order: down and up forwards, then gradients. */
enum chain { F_DOWN, F_UP, I_DOWN, I_UP };

/* Slot of the first micro-batch: down from rank 0, `turn`, up from rank p - 1, ... */
struct block {
    int32_t step[CHAINS];
    int32_t turn[CHAINS]; /* slots between the end of the chain before and this one; [0] is 0 */
    int32_t start[CHAINS];
};

struct v_rank {
    size_t next; /* of the block order */
    int32_t done[CHAINS];
    int64_t free_ns, first_ns;
    double held;
    int32_t weights_head, weights_tail; /* of input gradients in order, which weights follow */
    uint8_t *inputs;                    /* [2 m] chunk of each input gradient */
    uint8_t *order;                     /* [6 m] ops as run: 0-3 chains, 4 and 5 weights */
    size_t n;
};

struct v_search {
    int32_t p, m;
    int64_t p2p_ns;
    const struct inq_costs *costs;
    double change_f, change_i, change_w, limit;
    int32_t period; /* slots from one block to the next */
    struct block block;
    struct v_rank *ranks;
    int64_t *f_end, *i_end; /* [2 p m] -1: not yet */
};

static bool goes_up(int chain)
{
    return chain == F_UP || chain == I_UP;
}

static int32_t slot(const struct block *b, int32_t p, int chain, int32_t rank)
{
    return b->start[chain] + b->step[chain] * (goes_up(chain) ? p - 1 - rank : rank);
}

static void lay_out(struct block *b, int32_t p)
{
    b->start[0] = 0;
    for (int c = 1; c < CHAINS; c++) {
        b->start[c] = b->start[c - 1] + b->step[c - 1] * (p - 1) + b->turn[c];
    }
}

/* No rank does two things in one slot, whatever the number of micro-batches. */
static bool collides(const struct block *b, int32_t p, int32_t period)
{
    for (int32_t r = 0; r < p && r < period; r++) { /* slots modulo the period repeat after that */
        int32_t at[CHAINS];
        for (int c = 0; c < CHAINS; c++) {
            at[c] = slot(b, p, c, r) % period;
            for (int before = 0; before < c; before++) {
                if (at[before] == at[c]) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* How many have begun at `at`, one every period from `from` on. */
static int32_t begun(int32_t at, int32_t from, int32_t period)
{
    int32_t since = at - from;
    return since < 0 ? -((-since + period - 1) / period) + 1 : since / period + 1;
}

/* Most activations that a rank holds in the middle of the flow: as many as after one of the two
 * forwards. */
static int32_t block_peak(const struct block *b, int32_t p, int32_t period)
{
    int32_t peak = 0;
    for (int32_t r = 0; r < p; r++) {
        int32_t at[CHAINS];
        for (int c = 0; c < CHAINS; c++) {
            at[c] = slot(b, p, c, r);
        }
        for (int c = F_DOWN; c <= F_UP; c++) {
            int32_t t = at[c] + (at[I_UP] / period + 2) * period;
            int32_t held = begun(t, at[F_DOWN], period) + begun(t, at[F_UP], period) -
                           begun(t, at[I_DOWN], period) - begun(t, at[I_UP], period);
            peak = held > peak ? held : peak;
        }
    }
    return peak;
}

/* ---- running a block's order by the times ---------------------------------------------------- */

/* The chain whose pass comes next on a rank; CHAINS at the end. */
static int next_chain(const struct v_search *v, int32_t r)
{
    int best = CHAINS;
    int64_t best_slot = INT64_MAX;
    for (int c = 0; c < CHAINS; c++) {
        int32_t done = v->ranks[r].done[c];
        int64_t at = slot(&v->block, v->p, c, r) + (int64_t)v->period * done;
        if (done < v->m && at < best_slot) {
            best_slot = at;
            best = c;
        }
    }
    return best;
}

static int32_t stage_of(const struct v_search *v, int32_t r, int chain)
{
    bool second = chain == F_UP || chain == I_DOWN;
    return second ? 2 * v->p - 1 - r : r;
}

/* When the input of a pass arrives; -1: its producer has not run. */
static int64_t input_of(const struct v_search *v, int32_t r, int chain)
{
    int32_t stage = stage_of(v, r, chain);
    size_t m = (size_t)v->m;
    size_t i = (size_t)v->ranks[r].done[chain];
    bool forward = chain == F_DOWN || chain == F_UP;
    if (forward && stage == 0) {
        return 0;
    }
    if (!forward && stage == 2 * v->p - 1) {
        return v->f_end[(size_t)stage * m + i];
    }
    bool turns = forward ? stage == v->p : stage == v->p - 1; /* handed over on the same rank */
    int64_t end =
        forward ? v->f_end[(size_t)(stage - 1) * m + i] : v->i_end[(size_t)(stage + 1) * m + i];
    return end < 0 ? -1 : end + (turns ? 0 : v->p2p_ns);
}

static int64_t weight_ns(const struct v_search *v, int32_t r)
{
    const struct v_rank *rank = &v->ranks[r];
    int chain = rank->inputs[rank->weights_head];
    return inq_stage_cost_of(v->costs, stage_of(v, r, chain))->w_ns;
}

static void run_weight(struct v_search *v, int32_t r)
{
    struct v_rank *rank = &v->ranks[r];
    rank->free_ns += weight_ns(v, r);
    rank->held += v->change_w;
    rank->order[rank->n++] = rank->inputs[rank->weights_head++] == I_DOWN ? 5 : 4;
}

static bool has_weight(const struct v_rank *rank)
{
    return rank->weights_head < rank->weights_tail;
}

/* Runs a pass that arrives at `ready`; false when memory cannot be found. */
static bool run_pass(struct v_search *v, int32_t r, int chain, int64_t ready)
{
    struct v_rank *rank = &v->ranks[r];
    bool forward = chain == F_DOWN || chain == F_UP;
    double change = forward ? v->change_f : v->change_i;
    while (rank->held + change > v->limit * (1.0 + 1e-9)) {
        if (!has_weight(rank)) {
            return false;
        }
        run_weight(v, r);
    }
    while (has_weight(rank) && rank->free_ns + weight_ns(v, r) <= ready) {
        run_weight(v, r);
    }
    int32_t stage = stage_of(v, r, chain);
    const struct inq_stage_cost *cost = inq_stage_cost_of(v->costs, stage);
    int64_t start = ready > rank->free_ns ? ready : rank->free_ns;
    size_t cell = (size_t)stage * (size_t)v->m + (size_t)rank->done[chain];
    rank->first_ns = rank->n == 0 ? start : rank->first_ns;
    rank->free_ns = start + (forward ? cost->f_ns : cost->b_ns);
    rank->held += change;
    (forward ? v->f_end : v->i_end)[cell] = rank->free_ns;
    if (!forward) {
        rank->inputs[rank->weights_tail++] = (uint8_t)chain;
    }
    rank->order[rank->n++] = (uint8_t)chain;
    rank->done[chain]++;
    return true;
}

static void start_over(struct v_search *v)
{
    size_t cells = 2 * (size_t)v->p * (size_t)v->m;
    memset(v->f_end, 0xff, cells * sizeof *v->f_end);
    memset(v->i_end, 0xff, cells * sizeof *v->i_end);
    for (int32_t r = 0; r < v->p; r++) {
        struct v_rank *rank = &v->ranks[r];
        memset(rank->done, 0, sizeof rank->done);
        rank->weights_head = rank->weights_tail = 0;
        rank->n = 0;
        rank->held = 0.0;
        rank->free_ns = rank->first_ns = 0;
    }
}

/* Runs as much of rank r as has its inputs; 1 when something ran, -1 when memory does not do. */
static int advance(struct v_search *v, int32_t r)
{
    int moved = 0;
    for (int chain = next_chain(v, r); chain < CHAINS; chain = next_chain(v, r)) {
        int64_t ready = input_of(v, r, chain);
        if (ready < 0) {
            break;
        }
        if (!run_pass(v, r, chain, ready)) {
            return -1;
        }
        moved = 1;
    }
    return moved;
}

/* Runs the whole order; the span it takes, or -1 when memory does not do. */
static int64_t run_block(struct v_search *v)
{
    start_over(v);
    bool moved = true;
    while (moved) {
        moved = false;
        for (int32_t r = 0; r < v->p; r++) {
            int went = advance(v, r);
            if (went < 0) {
                return -1;
            }
            moved = moved || went > 0;
        }
    }
    int64_t span = 0;
    for (int32_t r = 0; r < v->p; r++) {
        struct v_rank *rank = &v->ranks[r];
        while (has_weight(rank)) {
            run_weight(v, r);
        }
        if (rank->n != (size_t)OPS * (size_t)v->m) {
            return -1;
        }
        span = rank->free_ns - rank->first_ns > span ? rank->free_ns - rank->first_ns : span;
    }
    return span;
}

/* ---- choosing a block ------------------------------------------------------------------------ */

/* The n-th of all steps from 1 to 3 and turns from 1 to 6. */
static struct block nth_block(int32_t n)
{
    struct block b = {{0}, {0}, {0}};
    for (int c = 1; c < CHAINS; c++) {
        b.turn[c] = 1 + n % MOST_TURN;
        n /= MOST_TURN;
    }
    for (int c = CHAINS - 1; c >= 0; c--) {
        b.step[c] = 1 + n % MOST_STEP;
        n /= MOST_STEP;
    }
    return b;
}

struct trial {
    int32_t n, steps;
};

/* Of those whose memory fits: the longest steps first, they leave the fewest gaps. */
static size_t collect(const struct v_search *v, struct trial *trials)
{
    enum {
        ALL = MOST_TURN * MOST_TURN * MOST_TURN * MOST_STEP * MOST_STEP * MOST_STEP * MOST_STEP
    };
    size_t n = 0;
    for (int32_t i = 0; i < ALL; i++) {
        struct block b = nth_block(i);
        int32_t steps = b.step[0] + b.step[1] + b.step[2] + b.step[3];
        /* the lives of a rank's activations add up to at least p times the steps, less a few */
        bool hopeless = v->change_f * (double)(steps * (v->p - 1)) / v->period > v->limit;
        lay_out(&b, v->p);
        if (hopeless || (n == MOST_TRIALS && trials[n - 1].steps >= steps) ||
            collides(&b, v->p, v->period) ||
            v->change_f * block_peak(&b, v->p, v->period) > v->limit * (1.0 + 1e-9)) {
            continue;
        }
        size_t at = n < MOST_TRIALS ? n++ : n - 1;
        for (; at > 0 && trials[at - 1].steps < steps; at--) {
            trials[at] = trials[at - 1];
        }
        trials[at] = (struct trial){i, steps};
    }
    return n;
}

static void take_block(struct v_search *v, int32_t n)
{
    v->block = nth_block(n);
    lay_out(&v->block, v->p);
}

/* The best block that comes every v->period slots, made v's and run; false: none does. */
static bool search_period(struct v_search *v)
{
    enum { MOST_WORK = 1 << 26 }; /* passes to try in all: big schedules try fewer blocks */
    struct trial trials[MOST_TRIALS];
    size_t n = collect(v, trials);
    size_t passes = (size_t)OPS * (size_t)v->p * (size_t)v->m;
    size_t affordable = (size_t)MOST_WORK / passes + 2;
    n = n < affordable ? n : affordable;
    int64_t best_span = -1;
    int32_t best = -1;
    for (size_t i = 0; i < n; i++) {
        take_block(v, trials[i].n);
        int64_t span = run_block(v);
        if (span >= 0 && (best_span < 0 || span < best_span)) {
            best_span = span;
            best = trials[i].n;
        }
    }
    if (best >= 0) {
        take_block(v, best);
        (void)run_block(v);
    }
    return best >= 0;
}

static int search(struct v_search *v, struct inq_err *err)
{
    /* the shortest block of all, one slot between any two passes, holds two chunks at least */
    int32_t length = CHAINS * v->p;
    double least = v->change_f * (double)(CHAINS * (v->p - 1)) / v->limit;
    bool found = false;
    v->period = least > OPS ? (int32_t)fmin(least, length) : OPS;
    while (!found && v->period <= length + OPS) {
        found = search_period(v);
        v->period += found ? 0 : 1;
    }
    return found ? INQ_OK
                 : inq_err_set(err, INQ_USAGE,
                               "a memory limit of %.6g (a forward of one chunk takes %.6g) holds "
                               "no V schedule over %d ranks",
                               v->limit, v->change_f, (int)v->p);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static int write_rank(const struct v_search *v, int32_t r, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    static const enum inq_action_kind kinds[OPS] = {INQ_ACTION_F, INQ_ACTION_F, INQ_ACTION_I,
                                                    INQ_ACTION_I, INQ_ACTION_W, INQ_ACTION_W};
    int32_t done[OPS] = {0};
    const struct v_rank *rank = &v->ranks[r];
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n; i++) {
        int op = rank->order[i];
        int32_t stage = op == 4 ? r : op == 5 ? 2 * v->p - 1 - r : stage_of(v, r, op);
        code = inq_schedule_append(schedule, r, kinds[op], stage, done[op]++, err);
    }
    return code;
}

static int init(struct v_search *v, struct inq_err *err)
{
    size_t m = (size_t)v->m;
    size_t cells = 2 * (size_t)v->p * m;
    v->ranks = inq_mem_zalloc((size_t)v->p, sizeof *v->ranks);
    v->f_end = inq_mem_alloc(cells * sizeof *v->f_end);
    v->i_end = inq_mem_alloc(cells * sizeof *v->i_end);
    bool ok = v->ranks != NULL && v->f_end != NULL && v->i_end != NULL;
    for (int32_t r = 0; ok && r < v->p; r++) {
        v->ranks[r].inputs = inq_mem_alloc(2 * m);
        v->ranks[r].order = inq_mem_alloc(OPS * m);
        ok = v->ranks[r].inputs != NULL && v->ranks[r].order != NULL;
    }
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
}

static void release(struct v_search *v)
{
    for (int32_t r = 0; v->ranks != NULL && r < v->p; r++) {
        inq_mem_free(v->ranks[r].inputs);
        inq_mem_free(v->ranks[r].order);
    }
    inq_mem_free(v->ranks);
    inq_mem_free(v->f_end);
    inq_mem_free(v->i_end);
}

/* `microbatches`: activations of whole micro-batches that may be held, two chunks each. */
static int make(const struct inq_schedule_spec *spec, int32_t microbatches,
                struct inq_schedule *schedule, struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int code = inq_schedule_start(p, 2 * p, spec->n_microbatches, schedule, err);
    if (code != INQ_OK || spec->n_microbatches == 0) {
        return code;
    }
    struct v_search v = {.p = p,
                         .m = spec->n_microbatches,
                         .p2p_ns = spec->costs.p2p_ns,
                         .costs = &spec->costs,
                         .change_f = inq_memory_change(&spec->costs, INQ_ACTION_F, 0),
                         .change_i = inq_memory_change(&spec->costs, INQ_ACTION_I, 0),
                         .change_w = inq_memory_change(&spec->costs, INQ_ACTION_W, 0)};
    v.limit = spec->memory_limit > 0.0 ? spec->memory_limit : 2.0 * microbatches * v.change_f;
    code = init(&v, err);
    if (code == INQ_OK) {
        code = search(&v, err);
    }
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        schedule->stage_rank[r] = r;
        schedule->stage_rank[2 * p - 1 - r] = r;
        code = write_rank(&v, r, schedule, err);
    }
    release(&v);
    return code;
}

static int make_v_half(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                       struct inq_err *err)
{
    return make(spec, (spec->n_ranks + 2) / 2, schedule, err);
}

static int make_v_min(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    return make(spec, (spec->n_ranks + 4) / 3, schedule, err);
}

int inq_make_v(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
               struct inq_err *err)
{
    static const struct inq_schedule_generator generators[] = {
        {"v-half", make_v_half},
        {"v-min", make_v_min},
    };
    return inq_schedule_generate(generators, sizeof generators / sizeof *generators, spec, schedule,
                                 err);
}
