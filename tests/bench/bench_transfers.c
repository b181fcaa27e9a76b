/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between ranks over generated pipelines: which ends the matching paired with the end
 * that the simulation had at the other side. Printed for each way to record them: ends whose other
 * end was recorded as well, of these paired with another rank, with another transfer of the right
 * rank, and with none; and ends of which nobody recorded the other that are paired all the same.
 *
 *   bench_transfers [--runs N] [--seed N] [-v] [SPEC...]
 *       default 200 runs, drawn as those of bench_account --random, seeds from 1 on; SPEC: these
 *       runs instead; -v: each run with an end that is paired wrongly or not at all */
#include "account_families.h"

#include "inquest/ingest.h"
#include "inquest/synth.h"

#include "synth/synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times in whole microseconds round by as much. */
static const int64_t SAME_START_NS = 1000;

enum { WAYS = 4 };
static const char *const way_texts[WAYS] = {"args", "bare", "fused", "batched"};

struct count {
    size_t runs, clean; /* clean: no end is wrong or alone */
    size_t ends, wrong_rank, wrong_transfer, alone;
    size_t open, open_paired; /* the other end was not recorded */
};

/* What the simulation says of one kernel of the trace. */
struct end {
    uint32_t node; /* SYNTH_NONE: no transfer between two ranks */
    bool right, wrong_rank, wrong_transfer;
};

struct run {
    struct inq_synth *synth;
    struct inq_run *read;
    const struct inq_trace *trace;
    struct end **ends;  /* [trace->n_ranks][events.n] */
    bool *recorded;     /* [n_nodes] */
    int32_t *node_rank; /* [n_nodes] index into trace->ranks, -1: none */
};

static const int64_t EPOCH_NS = INT64_C(1768464000) * 1000000000;

/* What the rank's clock shows, as the traces are written. */
static int64_t local_ns(struct synth_clock clock, int64_t t)
{
    return EPOCH_NS + t + clock.offset_ns + t / 1000 * clock.drift_ppb / 1000000;
}

static bool is_transfer(const struct synth_rank *rank, const struct synth_item *item)
{
    enum synth_comm_kind kind =
        item->kind == SYNTH_ITEM_COMM ? rank->comms[item->comm].kind : SYNTH_ALLREDUCE;
    return kind >= SYNTH_SEND && kind <= SYNTH_SENDRECV;
}

/* As recorded: the compute stream is 7, the others are 20, 24, ... */
static int64_t stream_id(const struct synth_item *item)
{
    return item->stream == SYNTH_COMPUTE ? 7 : 16 + 4 * (int64_t)item->stream;
}

/* The kernel of a rank's stream that started then; INQ_NONE: it was not recorded. */
static uint32_t find_event(const struct inq_rank *rank, int64_t stream, int64_t start_ns)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.comm[i] != INQ_NONE && rank->lanes[rank->events.lane[i]].id == stream &&
            llabs(rank->events.start_ns[i] - start_ns) <= SAME_START_NS) {
            return (uint32_t)i;
        }
    }
    return INQ_NONE;
}

static void find_ends(struct run *run, size_t r)
{
    const struct synth_sim *sim = &run->synth->sim;
    const struct inq_rank *rank = &run->trace->ranks[r];
    const struct synth_rank *items = &sim->ranks[rank->rank];
    struct synth_clock clock = inq_synth_clock(&run->synth->spec, rank->rank);
    run->ends[r] = calloc(rank->events.n + 1, sizeof *run->ends[r]);
    for (size_t i = 0; i < rank->events.n; i++) {
        run->ends[r][i].node = SYNTH_NONE;
    }
    for (size_t i = 0; i < items->n_items; i++) {
        const struct synth_item *item = &items->items[i];
        if (!is_transfer(items, item)) {
            continue;
        }
        const struct synth_node *node = &sim->program.nodes[item->gpu];
        uint32_t event = find_event(rank, stream_id(item), local_ns(clock, node->start_ns));
        if (event != INQ_NONE) {
            run->ends[r][event].node = item->gpu;
            run->recorded[item->gpu] = true;
            run->node_rank[item->gpu] = (int32_t)r;
        }
    }
}

typedef bool is_wanted(const struct run *run, uint32_t node, uint32_t which);

static bool is_node(const struct run *run, uint32_t node, uint32_t which)
{
    (void)run;
    return node == which;
}

static bool is_of_rank(const struct run *run, uint32_t node, uint32_t which)
{
    return run->node_rank[node] == (int32_t)which;
}

static bool is_recorded(const struct run *run, uint32_t node, uint32_t which)
{
    (void)which;
    return run->recorded[node];
}

/* Whether a kernel met one that is wanted. */
static bool met(const struct run *run, uint32_t node, is_wanted *is, uint32_t which)
{
    const struct synth_program *p = &run->synth->sim.program;
    for (uint32_t s = p->nodes[node].first_seat; s != SYNTH_NONE; s = p->seats[s].next_of_node) {
        const struct synth_meeting *meeting = &p->meetings[p->seats[s].meeting];
        for (uint32_t k = meeting->first_seat; k != SYNTH_NONE; k = p->seats[k].next_of_meeting) {
            uint32_t at = p->seats[k].node;
            if (at != node && is(run, at, which)) {
                return true;
            }
        }
    }
    return false;
}

static void check_end(struct run *run, const struct inq_member *own, const struct inq_member *other)
{
    struct end *x = &run->ends[own->rank][own->event];
    const struct end *y = &run->ends[other->rank][other->event];
    if (x->node == SYNTH_NONE) {
        return;
    }
    if (y->node != SYNTH_NONE && met(run, x->node, is_node, y->node)) {
        x->right = true;
    } else if (met(run, x->node, is_of_rank, other->rank)) {
        x->wrong_transfer = true;
    } else {
        x->wrong_rank = true;
    }
}

static void check_ends(struct run *run)
{
    for (size_t i = 0; i < run->trace->n_collectives; i++) {
        const struct inq_collective *c = &run->trace->collectives[i];
        const struct inq_member *m = &run->trace->members[c->first_member];
        for (uint32_t k = 0; k < c->n_members; k++) {
            for (uint32_t j = 0; j < c->n_members; j++) {
                if (j != k) {
                    check_end(run, &m[k], &m[j]);
                }
            }
        }
    }
}

static struct count tally(const struct run *run)
{
    struct count n = {.runs = 1};
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        for (size_t i = 0; i < run->trace->ranks[r].events.n; i++) {
            const struct end *end = &run->ends[r][i];
            if (end->node == SYNTH_NONE) {
                continue;
            }
            bool any = end->right || end->wrong_rank || end->wrong_transfer;
            if (!met(run, end->node, is_recorded, 0)) {
                n.open++;
                n.open_paired += any;
                continue;
            }
            n.ends++;
            n.wrong_rank += end->wrong_rank;
            n.wrong_transfer += end->wrong_transfer && !end->wrong_rank;
            n.alone += !any;
        }
    }
    n.clean = n.wrong_rank + n.wrong_transfer + n.alone + n.open_paired == 0;
    return n;
}

static void add(struct count *sum, const struct count *n)
{
    sum->runs += n->runs;
    sum->clean += n->clean;
    sum->ends += n->ends;
    sum->wrong_rank += n->wrong_rank;
    sum->wrong_transfer += n->wrong_transfer;
    sum->alone += n->alone;
    sum->open += n->open;
    sum->open_paired += n->open_paired;
}

static void print_count(const char *name, const struct count *n)
{
    printf("%-8s %5zu %5zu  %9zu %9zu %9zu %9zu  %8zu %8zu\n", name, n->runs, n->clean, n->ends,
           n->wrong_rank, n->wrong_transfer, n->alone, n->open, n->open_paired);
}

/* False: no such run, or it is no pipeline. */
static bool look_at(const char *text, struct count *n, int *way)
{
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct run run = {0};
    struct inq_err err = {0};
    int code = spec == NULL ? INQ_NOMEM : inq_synth_spec_parse(text, spec, &err);
    bool pipeline = code == INQ_OK && spec->pp > 1;
    code = pipeline ? inq_synth_new(spec, &run.synth, &err) : code;
    if (pipeline && code == INQ_OK) { /* matched before clocks move what it is told by */
        code = inq_synth_ingest(run.synth, false, 0, &run.read, &err);
    }
    if (code != INQ_OK) {
        fprintf(stderr, "%s: %s\n", text, err.message);
    }
    bool fine = pipeline && code == INQ_OK;
    if (fine) {
        size_t n_nodes = run.synth->sim.program.n_nodes;
        run.trace = run.read->traces[0];
        run.ends = calloc(run.trace->n_ranks + 1, sizeof(struct end *));
        run.recorded = calloc(n_nodes + 1, sizeof *run.recorded);
        run.node_rank = malloc((n_nodes + 1) * sizeof *run.node_rank);
        memset(run.node_rank, -1, (n_nodes + 1) * sizeof *run.node_rank);
        for (size_t r = 0; r < run.trace->n_ranks; r++) {
            find_ends(&run, r);
        }
        check_ends(&run);
        *n = tally(&run);
        *way = (int)spec->p2p;
        for (size_t r = 0; r < run.trace->n_ranks; r++) {
            free(run.ends[r]);
        }
    }
    free(run.ends);
    free(run.recorded);
    free(run.node_rank);
    inq_run_free(run.read);
    inq_synth_free(run.synth);
    free(spec);
    return fine;
}

static bool count_in(const char *text, bool verbose, struct count *of)
{
    struct count n;
    int way;
    if (!look_at(text, &n, &way)) {
        return false;
    }
    add(&of[way], &n);
    if (verbose && n.clean == 0) {
        print_count(way_texts[way], &n);
        printf("  %s\n", text);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct count of[WAYS] = {0};
    struct drawn_run drawn;
    int runs = 200;
    uint64_t seed = 1;
    bool verbose = false;
    bool named = false;
    printf("%-8s %5s %5s  %9s %9s %9s %9s  %8s %8s\n", "p2p", "runs", "clean", "ends", "wr. rank",
           "wr. xfer", "alone", "open", "paired");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "-v") == 0) {
            verbose = true;
        } else {
            named = count_in(argv[i], verbose, of);
        }
    }
    for (int done = 0; !named && done < runs; seed++) {
        draw_run(seed, &drawn);
        done += strstr(drawn.spec, "p2p=") != NULL && count_in(drawn.spec, verbose, of);
    }
    struct count all = {0};
    for (int i = 0; i < WAYS; i++) {
        print_count(way_texts[i], &of[i]);
        add(&all, &of[i]);
    }
    print_count("all", &all);
    return 0;
}
