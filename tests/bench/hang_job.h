/* SPDX-License-Identifier: Apache-2.0 */
/* A small simulator of hung jobs: a Megatron program (TP, PP and DP groups, and one of all ranks)
 * runs with one planted fault until nothing moves any more.
 *
 * A rank's GPU does its ops in order and its CPU is at most AHEAD ops ahead. */
#ifndef TESTS_HANG_JOB_H
#define TESTS_HANG_JOB_H

#include <stdbool.h>

enum { RANKS = 64, GROUPS = 256, OPS = 512, AHEAD = 12 };

enum kind {
    CPU_STALL,
    GPU_STALL,
    SIZE,
    KIND,
    ORDER,
    NETWORK,
    CPU_BATCHED, /* sends and receives in batches, which alone are followed */
    GPU_BATCHED,
    EARLY_DUMP, /* one more rank wrote its dump while the run still went on */
    UNEVEN,     /* one rank is through, and in another group's collective */
    RUNNING,    /* no failure: dumps were asked for while it ran */
    FINISHED,
    KINDS
};

enum form {
    USUAL,
    TIES,   /* the root's clock is 1 or 2 us behind; each CPU waits every AHEAD ops */
    CLOCKS, /* each host's clock has its own offset, of seconds */
    HOSTS,  /* a folder per host; a dump is named by its local rank */
    OLD,    /* as PyTorch 2.3 writes them */
    NEW,    /* as PyTorch 2.10 does: with the groups' counters */
    FORMS
};
struct group {
    char desc[24];
    int n, members[RANKS];
};

struct op {
    int group, seq, p2p, src, dst; /* src, dst: places in the group; -1: collective */
    const char *name;
    int in, out;
    bool batched, closes; /* a transfer in a batch; the last of its batch */
};

struct rank {
    int n, enqueued, done;          /* ops in program order */
    int early_enqueued, early_done; /* when the early dumps are written */
    struct op ops[OPS];
    int seq[GROUPS], p2p[GROUPS];
};

struct job {
    enum form form;
    bool batched;
    int moves, early, stop; /* turns so far, and those of early dumps and of the end; 0 none */
    int root, tp, pp, dp, n_ranks, n_groups;
    struct group groups[GROUPS];
    struct rank ranks[RANKS];
    int tp_group[RANKS], pp_group[RANKS], dp_group[RANKS];
};

struct fault {
    enum kind kind;
    int n_roots, roots[2], at[2]; /* op in the rank's program */
};
/* The job's groups and programs; nothing has run. */
void hang_make(struct job *job, int tp, int pp, int dp, bool batched);

/* Changes the programs as the fault at fault->at of fault->roots asks; moves `at` to a place where
 * such a fault can be. */
void hang_plant(struct job *job, struct fault *fault);

/* Runs until nothing moves any more, or for job->stop turns. */
void hang_run(struct job *job, const struct fault *fault);

/* Whether rank r is a root; *at is then its op. */
bool hang_is_root(const struct fault *fault, int r, int *at);

bool hang_is_cpu(enum kind kind);

/* A number of 0 to n - 1, the same in each run of the program. */
int hang_draw(int n);

#endif
