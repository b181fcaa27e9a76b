/* SPDX-License-Identifier: Apache-2.0 */
#include "hang_job.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, LAYERS = 2 };

bool hang_is_cpu(enum kind kind)
{
    return kind == CPU_STALL || kind == CPU_BATCHED || kind == EARLY_DUMP;
}

static bool is_gpu(enum kind kind)
{
    return kind == GPU_STALL || kind == GPU_BATCHED;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int rank_at(const struct job *job, int d, int s, int t)
{
    return (d * job->pp + s) * job->tp + t;
}

static int add_group(struct job *job, const char *what, int n)
{
    struct group *group = &job->groups[job->n_groups];
    (void)snprintf(group->desc, sizeof group->desc, "%s", what);
    group->n = n;
    return job->n_groups++;
}

static void make_groups(struct job *job)
{
    int world = add_group(job, "default_pg", job->n_ranks);
    for (int r = 0; r < job->n_ranks; r++) {
        job->groups[world].members[r] = r;
    }
    for (int d = 0; d < job->dp; d++) {
        for (int s = 0; s < job->pp; s++) {
            int g = add_group(job, "TP", job->tp);
            for (int t = 0; t < job->tp; t++) {
                job->groups[g].members[t] = rank_at(job, d, s, t);
                job->tp_group[rank_at(job, d, s, t)] = g;
            }
        }
        for (int t = 0; t < job->tp; t++) {
            int g = add_group(job, "PP", job->pp);
            for (int s = 0; s < job->pp; s++) {
                job->groups[g].members[s] = rank_at(job, d, s, t);
                job->pp_group[rank_at(job, d, s, t)] = g;
            }
        }
    }
    for (int s = 0; s < job->pp; s++) {
        for (int t = 0; t < job->tp; t++) {
            int g = add_group(job, "DP", job->dp);
            for (int d = 0; d < job->dp; d++) {
                job->groups[g].members[d] = rank_at(job, d, s, t);
                job->dp_group[rank_at(job, d, s, t)] = g;
            }
        }
    }
}

static void collective(struct rank *rank, int group, const char *name, int in, int out)
{
    rank->ops[rank->n++] = (struct op){.group = group,
                                       .seq = ++rank->seq[group],
                                       .src = -1,
                                       .dst = -1,
                                       .name = name,
                                       .in = in,
                                       .out = out};
}

static void transfer(struct rank *rank, int group, int src, int dst, int own)
{
    rank->ops[rank->n++] = (struct op){.group = group,
                                       .p2p = ++rank->p2p[group],
                                       .src = src,
                                       .dst = dst,
                                       .name = own == src ? "send" : "recv",
                                       .in = 4096,
                                       .out = 4096};
}

/* Gives the rank's last `n` transfers one number: they are one batch. */
static void close_batch(struct rank *rank, int n)
{
    for (int i = 1; i <= n; i++) {
        rank->ops[rank->n - i].p2p = rank->ops[rank->n - n].p2p;
        rank->ops[rank->n - i].batched = true;
    }
    rank->p2p[rank->ops[rank->n - 1].group] = rank->ops[rank->n - 1].p2p;
    rank->ops[rank->n - 1].closes = true;
}

static void layers(struct job *job, int r)
{
    for (int k = 0; k < LAYERS && job->tp > 1; k++) {
        collective(&job->ranks[r], job->tp_group[r], "_all_gather_base", 512, 512 * job->tp);
        collective(&job->ranks[r], job->tp_group[r], "_reduce_scatter_base", 512 * job->tp, 512);
    }
}

/* Forward and backward of one micro-batch: sends on and gets back in one batch. */
static void batched_pass(struct job *job, int r, int s)
{
    struct rank *rank = &job->ranks[r];
    int g = job->pp_group[r];
    for (int back = 0; back < 2; back++) {
        if (s > 0 && back == 0) {
            transfer(rank, g, s - 1, s, s);
            close_batch(rank, 1);
        }
        layers(job, r);
        if (s + 1 < job->pp && back == 0) {
            transfer(rank, g, s, s + 1, s);
            transfer(rank, g, s + 1, s, s);
            close_batch(rank, 2);
        }
        if (s > 0 && back == 1) {
            transfer(rank, g, s, s - 1, s);
            close_batch(rank, 1);
        }
    }
}

static void make_program(struct job *job, int r)
{
    struct rank *rank = &job->ranks[r];
    int s = r / job->tp % job->pp;
    for (int step = 0; step < STEPS; step++) {
        if (job->pp > 1 && job->batched) {
            batched_pass(job, r, s);
        }
        for (int back = 0; back < 2 && job->pp > 1 && !job->batched; back++) {
            int from = back ? s + 1 : s - 1;
            int to = back ? s - 1 : s + 1;
            if (from >= 0 && from < job->pp) {
                transfer(rank, job->pp_group[r], from, s, s);
            }
            layers(job, r);
            if (to >= 0 && to < job->pp) {
                transfer(rank, job->pp_group[r], s, to, s);
            }
        }
        if (job->pp == 1) {
            layers(job, r);
        }
        if (job->dp > 1) {
            collective(rank, job->dp_group[r], "_reduce_scatter_base", 1024 * job->dp, 1024);
        }
        collective(rank, 0, "all_reduce", 1, 1);
    }
}

void hang_make(struct job *job, int tp, int pp, int dp, bool batched)
{
    memset(job, 0, sizeof *job);
    job->batched = batched;
    job->tp = tp;
    job->pp = pp;
    job->dp = dp;
    job->n_ranks = tp * pp * dp;
    make_groups(job);
    for (int r = 0; r < job->n_ranks; r++) {
        make_program(job, r);
    }
}

/* ---- running it until it hangs --------------------------------------------------------------- */

bool hang_is_root(const struct fault *fault, int r, int *at)
{
    for (int i = 0; i < fault->n_roots; i++) {
        if (fault->roots[i] == r) {
            *at = fault->at[i];
            return true;
        }
    }
    return false;
}

/* The op that the rank's GPU is in; NULL: none is enqueued. */
static const struct op *current(const struct rank *rank)
{
    return rank->done < rank->enqueued ? &rank->ops[rank->done] : NULL;
}

static bool same(const struct op *a, const struct op *b)
{
    return b != NULL && a->group == b->group &&
           (a->src < 0 ? b->src < 0 && a->seq == b->seq : a->src == b->src && a->dst == b->dst);
}

/* Whether all members stand at this op, and it can work. A GPU that is stuck has arrived. */
static bool completes(const struct job *job, const struct fault *fault, const struct op *op)
{
    const struct group *group = &job->groups[op->group];
    for (int i = 0; i < group->n; i++) {
        bool member = op->src < 0 || i == op->src || i == op->dst;
        const struct rank *rank = &job->ranks[group->members[i]];
        if (!member) {
            continue;
        }
        const struct op *theirs = current(rank);
        if (!same(op, theirs) ||
            strcmp(op->src < 0 ? op->name : "", theirs->src < 0 ? theirs->name : "") != 0 ||
            theirs->in != op->in) {
            return false;
        }
        int at;
        if (fault->kind == NETWORK && hang_is_root(fault, group->members[i], &at) &&
            rank->done == at) {
            return false;
        }
    }
    return true;
}

static void finish(struct job *job, const struct fault *fault, const struct op *op)
{
    const struct group *group = &job->groups[op->group];
    struct op what = *op;
    for (int i = 0; i < group->n; i++) {
        int at;
        int r = group->members[i];
        bool member = what.src < 0 || i == what.src || i == what.dst;
        bool stuck = is_gpu(fault->kind) && hang_is_root(fault, r, &at) && job->ranks[r].done == at;
        job->ranks[r].done += member && !stuck;
    }
}

static void enqueue(struct job *job, const struct fault *fault)
{
    for (int r = 0; r < job->n_ranks; r++) {
        struct rank *rank = &job->ranks[r];
        int ahead = job->form == TIES ? AHEAD - rank->done % AHEAD : AHEAD;
        int limit = rank->done + ahead < rank->n ? rank->done + ahead : rank->n;
        int at;
        if (hang_is_cpu(fault->kind) && hang_is_root(fault, r, &at)) {
            limit = limit < at ? limit : at;
        }
        rank->enqueued = rank->enqueued > limit ? rank->enqueued : limit;
    }
}

void hang_run(struct job *job, const struct fault *fault)
{
    for (bool moved = true; moved && (job->stop == 0 || job->moves < job->stop);) {
        moved = false;
        enqueue(job, fault);
        for (int r = 0; r < job->n_ranks && job->moves <= job->early; r++) {
            job->ranks[r].early_enqueued = job->ranks[r].enqueued;
            job->ranks[r].early_done = job->ranks[r].done;
        }
        job->moves++;
        for (int r = 0; r < job->n_ranks; r++) {
            int at;
            const struct op *op = current(&job->ranks[r]);
            bool stuck =
                is_gpu(fault->kind) && hang_is_root(fault, r, &at) && job->ranks[r].done == at;
            /* one that is stuck lets the others finish; it is their turn to see it */
            if (op != NULL && !stuck && completes(job, fault, op)) {
                finish(job, fault, op);
                moved = true;
            }
        }
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

static uint64_t state = 1;

int hang_draw(int n)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (int)((state >> 33) % (uint64_t)n);
}

/* The rank's first op from `at` on that is a collective of more than `least` members. */
static int collective_from(const struct job *job, int r, int at, int least)
{
    const struct rank *rank = &job->ranks[r];
    for (int i = at; i < rank->n; i++) {
        if (rank->ops[i].src < 0 && job->groups[rank->ops[i].group].n > least) {
            return i;
        }
    }
    return rank->n - 1;
}

/* Two members of one group enter two collectives of two groups that they share in different orders:
 * needs a second shared group, so that one is made of the default group's neighbors. */
static void plant_order(struct job *job, struct fault *fault)
{
    int a = fault->roots[0];
    int at = collective_from(job, a, fault->at[0], 2);
    const struct op *op = &job->ranks[a].ops[at];
    const struct group *group = &job->groups[op->group];
    int b = group->members[0] == a ? group->members[1] : group->members[0];
    int pair = add_group(job, "PAIR", 2);
    job->groups[pair].members[0] = a < b ? a : b;
    job->groups[pair].members[1] = a < b ? b : a;
    for (int k = 0; k < 2; k++) {
        struct rank *rank = &job->ranks[k == 0 ? a : b];
        int i = 0;
        while (!same(op, &rank->ops[i])) {
            i++;
        }
        i += k; /* before it on one side, after it on the other */
        memmove(&rank->ops[i + 1], &rank->ops[i], (size_t)(rank->n - i) * sizeof rank->ops[0]);
        rank->ops[i] = (struct op){.group = pair,
                                   .seq = 1,
                                   .src = -1,
                                   .dst = -1,
                                   .name = "broadcast",
                                   .in = 64,
                                   .out = 64};
        rank->n++;
        op = k == 0 ? &rank->ops[i + 1] : op;
    }
    fault->n_roots = 2;
    fault->roots[1] = b;
}

/* The root leaves out what is left of its program; all others do it first. */
static void plant_uneven(struct job *job, struct fault *fault)
{
    int all = add_group(job, "EVAL", job->n_ranks);
    for (int r = 0; r < job->n_ranks; r++) {
        struct rank *rank = &job->ranks[r];
        job->groups[all].members[r] = r;
        rank->n = r == fault->roots[0] ? fault->at[0] : rank->n;
        collective(rank, all, "all_gather", 1, job->n_ranks);
    }
}

/* A batch is enqueued as one. */
static int batch_start(const struct rank *rank, int at)
{
    while (at > 0 && rank->ops[at].batched && rank->ops[at - 1].batched &&
           rank->ops[at - 1].p2p == rank->ops[at].p2p) {
        at--;
    }
    return at;
}

void hang_plant(struct job *job, struct fault *fault)
{
    for (int i = 0; i < fault->n_roots; i++) {
        struct rank *rank = &job->ranks[fault->roots[i]];
        int at = batch_start(rank, fault->at[i]);
        if (!hang_is_cpu(fault->kind) && fault->kind != ORDER) {
            at = collective_from(job, fault->roots[i], at,
                                 fault->kind == SIZE || fault->kind == KIND ? 2 : 1);
        }
        fault->at[i] = at;
        if (fault->kind == SIZE) {
            rank->ops[at].in += 64;
            rank->ops[at].out += 64;
        } else if (fault->kind == KIND) {
            rank->ops[at].name = "broadcast";
            rank->ops[at].out = rank->ops[at].in;
        }
    }
    if (fault->kind == ORDER) {
        plant_order(job, fault);
    } else if (fault->kind == UNEVEN) {
        plant_uneven(job, fault);
    }
}
