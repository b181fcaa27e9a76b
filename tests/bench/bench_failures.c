/* SPDX-License-Identifier: Apache-2.0 */
/* Who is root: a grid of hung runs with one planted failure each, and of runs that do not hang. A
 * small simulator runs a Megatron program (TP, PP and DP groups, and one of all ranks) until
 * nothing moves any more, and writes what each rank's Flight Recorder would hold; dumps are then
 * left out or cut. Printed: how often the planted ranks, and no others, are named, and the class
 * with them. Fails below 0.95, over all or of one kind.
 *
 * A rank's GPU does its ops in order and its CPU is at most AHEAD ops ahead. */
#include "base/out.h"
#include "inquest/failure.h"
#include "inquest/ingest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 0.95

enum { RANKS = 64, GROUPS = 256, OPS = 512, AHEAD = 12, WINDOW = 40, STEPS = 4, LAYERS = 2 };

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

static const char *const kind_names[KINDS] = {"cpu_stall",     "gpu_stall",         "size_mismatch",
                                              "kind_mismatch", "order_in_2_groups", "network",
                                              "cpu_batched",   "gpu_batched",       "early_dump",
                                              "uneven",        "running",           "finished"};
static const enum inq_failure_class expected[KINDS] = {
    INQ_FAILURE_CPU_STALL, INQ_FAILURE_GPU_STALL,     INQ_FAILURE_MISMATCH,  INQ_FAILURE_MISMATCH,
    INQ_FAILURE_ORDERING,  INQ_FAILURE_COMMUNICATION, INQ_FAILURE_CPU_STALL, INQ_FAILURE_GPU_STALL,
    INQ_FAILURE_CPU_STALL, INQ_FAILURE_UNEVEN,        INQ_FAILURE_NONE,      INQ_FAILURE_NONE};

static bool is_cpu(enum kind kind)
{
    return kind == CPU_STALL || kind == CPU_BATCHED || kind == EARLY_DUMP;
}

static bool is_gpu(enum kind kind)
{
    return kind == GPU_STALL || kind == GPU_BATCHED;
}

/* No rank is the root of a network's failure, or of none. */
static bool is_rootless(enum kind kind)
{
    return kind == NETWORK || kind == RUNNING || kind == FINISHED;
}

/* Which dumps there are. */
enum loss { WHOLE, OTHERS_MISSING, ROOT_MISSING, OTHERS_CUT, LOSSES };
static const char *const loss_names[LOSSES] = {"all dumps", "3 others missing", "root missing",
                                               "2 others cut"};

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
    bool batched;
    int moves, early, stop; /* turns so far, and those of early dumps and of the end; 0 none */
    int tp, pp, dp, n_ranks, n_groups;
    struct group groups[GROUPS];
    struct rank ranks[RANKS];
    int tp_group[RANKS], pp_group[RANKS], dp_group[RANKS];
};

struct fault {
    enum kind kind;
    int n_roots, roots[2], at[2]; /* op in the rank's program */
};

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

static void make_job(struct job *job, int tp, int pp, int dp, bool batched)
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

static bool is_root(const struct fault *fault, int r, int *at)
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
        if (fault->kind == NETWORK && is_root(fault, group->members[i], &at) && rank->done == at) {
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
        bool stuck = is_gpu(fault->kind) && is_root(fault, r, &at) && job->ranks[r].done == at;
        job->ranks[r].done += member && !stuck;
    }
}

static void enqueue(struct job *job, const struct fault *fault)
{
    for (int r = 0; r < job->n_ranks; r++) {
        struct rank *rank = &job->ranks[r];
        int limit = rank->done + AHEAD < rank->n ? rank->done + AHEAD : rank->n;
        int at;
        if (is_cpu(fault->kind) && is_root(fault, r, &at)) {
            limit = limit < at ? limit : at;
        }
        rank->enqueued = rank->enqueued > limit ? rank->enqueued : limit;
    }
}

static void run(struct job *job, const struct fault *fault)
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
            bool stuck = is_gpu(fault->kind) && is_root(fault, r, &at) && job->ranks[r].done == at;
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

static int draw(int n)
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
 * needs a second shared group, so that one is made of the default group's neighbours. */
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

static void plant(struct job *job, struct fault *fault)
{
    for (int i = 0; i < fault->n_roots; i++) {
        struct rank *rank = &job->ranks[fault->roots[i]];
        int at = batch_start(rank, fault->at[i]);
        if (!is_cpu(fault->kind) && fault->kind != ORDER) {
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

/* ---- dumps ----------------------------------------------------------------------------------- */

/* Members of a batch stay "scheduled"; the entry behind them tells of all. */
static void write_op(struct inq_out *out, const struct job *job, int r, int i, int record,
                     bool done)
{
    const struct rank *rank = &job->ranks[r];
    const struct op *op = &rank->ops[i];
    const struct group *group = &job->groups[op->group];
    char name[64];
    if (op->src < 0) {
        (void)snprintf(name, sizeof name, "nccl:%s", op->name);
    } else {
        bool sends = group->members[op->src] == r;
        (void)snprintf(name, sizeof name, sends ? "nccl:send %d->%d" : "nccl:recv %d<-%d",
                       sends ? op->src : op->dst, sends ? op->dst : op->src);
    }
    inq_out_printf(out,
                   "{\"record_id\":%d,\"pg_id\":%d,\"process_group\":[\"%d\",\"%s\"],"
                   "\"collective_seq_id\":%d,\"p2p_seq_id\":%d,\"op_id\":%d,"
                   "\"profiling_name\":\"%s\",\"time_created_ns\":%" PRId64 ","
                   "\"input_sizes\":[[%d]],\"output_sizes\":[[%d]],\"input_dtypes\":[\"BFloat16\"],"
                   "\"output_dtypes\":[\"BFloat16\"],\"state\":\"%s\",\"retired\":false,"
                   "\"timeout_ms\":600000,\"is_p2p\":%s},",
                   record, op->group, op->group, group->desc, op->seq, op->p2p, i, name,
                   (int64_t)1700000000000000000 + (int64_t)i * 1000000 + r * 777, op->in, op->out,
                   done && !op->batched ? "completed" : "scheduled",
                   op->src < 0 ? "false" : "true");
}

static void write_batch(struct inq_out *out, const struct op *op, const struct group *group,
                        int record, bool done)
{
    inq_out_printf(out,
                   "{\"record_id\":%d,\"pg_id\":%d,\"process_group\":[\"%d\",\"%s\"],"
                   "\"collective_seq_id\":%d,\"p2p_seq_id\":%d,\"profiling_name\":"
                   "\"nccl:coalesced\",\"input_sizes\":[],\"output_sizes\":[],\"state\":\"%s\","
                   "\"is_p2p\":true},",
                   record, op->group, op->group, group->desc, op->seq, op->p2p,
                   done ? "completed" : "scheduled");
}

static void write_entries(struct inq_out *out, const struct job *job, int r, int enqueued, int done)
{
    const struct rank *rank = &job->ranks[r];
    int from = enqueued > WINDOW ? enqueued - WINDOW : 0;
    int record = 0;
    for (int i = 0; i < enqueued; i++) {
        if (i >= from) {
            write_op(out, job, r, i, record, i < done);
        }
        record++;
        if (rank->ops[i].closes) {
            if (i >= from) {
                write_batch(out, &rank->ops[i], &job->groups[rank->ops[i].group], record, i < done);
            }
            record++;
        }
    }
    if (out->len > 0 && out->buf[out->len - 1] == ',') {
        out->len--;
    }
}

static bool member_of(const struct group *group, int r)
{
    for (int i = 0; i < group->n; i++) {
        if (group->members[i] == r) {
            return true;
        }
    }
    return false;
}

static void write_dump(struct inq_out *out, const struct job *job, int r, bool early)
{
    const struct rank *rank = &job->ranks[r];
    inq_out_text(out, "{\"version\":\"2.9\",\"pg_config\":{");
    bool first = true;
    for (int g = 0; g < job->n_groups; g++) {
        const struct group *group = &job->groups[g];
        if (!member_of(group, r)) {
            continue;
        }
        inq_out_printf(out, "%s\"%d\":{\"name\":\"%d\",\"desc\":\"%s\",\"ranks\":\"[",
                       first ? "" : ",", g, g, group->desc);
        for (int i = 0; i < group->n; i++) {
            inq_out_printf(out, "%s%d", i > 0 ? ", " : "", group->members[i]);
        }
        inq_out_text(out, "]\"}");
        first = false;
    }
    inq_out_text(out, "},\"entries\":[");
    write_entries(out, job, r, early ? rank->early_enqueued : rank->enqueued,
                  early ? rank->early_done : rank->done);
    inq_out_text(out, "]}");
}

/* ---- one case -------------------------------------------------------------------------------- */

struct score {
    int n, roots, classes, victims_named;
};

static bool in_list(const int32_t *list, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == rank) {
            return true;
        }
    }
    return false;
}

/* With its dump a root is named; without it, it is among those that may be the cause. */
static void judge(const struct fault *fault, enum loss loss, const struct inq_failure *f,
                  struct score *score)
{
    bool named = true;
    bool only = true;
    int at;
    bool none = is_rootless(fault->kind);
    for (int i = 0; i < fault->n_roots && !none; i++) {
        bool gone = loss == ROOT_MISSING && i == 0;
        if (loss == ROOT_MISSING && i > 0) {
            continue; /* that it waits in a circle shows in both dumps only */
        }
        named = named && (gone ? in_list(f->suspect_ranks, f->n_suspects, fault->roots[i]) ||
                                     in_list(f->missing_ranks, f->n_missing, fault->roots[i])
                               : in_list(f->root_ranks, f->n_roots, fault->roots[i]));
    }
    for (size_t i = 0; i < f->n_roots; i++) {
        only = only && !none && is_root(fault, f->root_ranks[i], &at);
    }
    score->n++;
    score->roots += named && only;
    score->victims_named += !only;
    bool open = loss == ROOT_MISSING || (none && fault->kind != FINISHED);
    score->classes += f->cls == expected[fault->kind] || (open && f->cls == INQ_FAILURE_UNKNOWN) ||
                      (fault->kind == RUNNING && f->cls == INQ_FAILURE_COMMUNICATION);
}

static bool left_out(const struct fault *fault, enum loss loss, int r, const int *others)
{
    int at;
    if (loss == ROOT_MISSING) {
        return r == fault->roots[0];
    }
    return loss == OTHERS_MISSING && !is_root(fault, r, &at) &&
           (r == others[0] || r == others[1] || r == others[2]);
}

static void one_case(struct job *job, struct fault *fault, enum loss loss, bool verbose,
                     struct score *score)
{
    static struct inq_out outs[RANKS];
    static char names[RANKS][40];
    struct inq_ingest_blob blobs[RANKS];
    size_t n = 0;
    int others[3] = {draw(job->n_ranks), draw(job->n_ranks), draw(job->n_ranks)};
    plant(job, fault);
    run(job, fault);
    for (int r = 0; r < job->n_ranks; r++) {
        int at;
        if (left_out(fault, loss, r, others)) {
            continue;
        }
        outs[n] = (struct inq_out){0};
        /* an early dump can be told from a stuck rank's once others finished what it lacks */
        bool early = fault->kind == EARLY_DUMP && !is_root(fault, r, &at) && r == others[2] &&
                     job->ranks[r].done > job->ranks[r].early_enqueued;
        write_dump(&outs[n], job, r, early);
        (void)snprintf(names[n], sizeof names[n], "run/nccl_trace_rank_%d", r);
        bool cut =
            loss == OTHERS_CUT && !is_root(fault, r, &at) && (r == others[0] || r == others[1]);
        size_t len = cut ? outs[n].len - outs[n].len / 8 : outs[n].len;
        blobs[n] = (struct inq_ingest_blob){names[n], outs[n].buf, len};
        n++;
    }
    struct inq_run *run_read = NULL;
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    if (inq_ingest_memory(blobs, n, NULL, &run_read, &err) != INQ_OK || run_read->n_traces != 1 ||
        inq_analyze(run_read->traces[0], NULL, &report, &err) != INQ_OK) {
        fprintf(stderr, "cannot read the dumps: %s\n", err.message);
        exit(1);
    }
    struct score before = *score;
    judge(fault, loss, report->failure, score);
    if (verbose && score->roots == before.roots) {
        printf("  missed: tp=%d pp=%d dp=%d %s, %s, rank %d op %d: %s\n", job->tp, job->pp, job->dp,
               kind_names[fault->kind], loss_names[loss], fault->roots[0], fault->at[0],
               report->failure->headline);
    }
    inq_report_free(report);
    inq_run_free(run_read);
    for (size_t i = 0; i < n; i++) {
        inq_out_release(&outs[i]);
    }
}

static bool one_kind(enum kind kind, int repeats, bool verbose, struct score *total)
{
    struct score all = {0};
    static const int shapes[][3] = {{1, 1, 8}, {4, 1, 4}, {1, 4, 2}, {4, 2, 2},
                                    {2, 4, 2}, {4, 2, 4}, {8, 2, 4}};
    static struct job job;
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        struct score score = {0};
        for (int i = 0; i < repeats; i++) {
            const int *shape = shapes[i % 7];
            bool batched = kind == CPU_BATCHED || kind == GPU_BATCHED || kind == FINISHED ||
                           (kind == RUNNING && i % 2 == 0);
            make_job(&job, shape[0], shape[1], shape[2], batched);
            job.early = kind == EARLY_DUMP ? 1 + draw(8) : 0;
            job.stop = kind == RUNNING ? 4 + draw(24) : 0;
            int r = draw(job.n_ranks);
            struct fault fault = {.kind = kind, .n_roots = 1, .roots = {r}};
            fault.at[0] = job.ranks[r].n / 4 + draw(job.ranks[r].n / 2);
            one_case(&job, &fault, loss, verbose, &score);
        }
        printf("%-18s %-17s %6d  %6.3f  %6.3f  %6d\n", kind_names[kind], loss_names[loss], score.n,
               (double)score.roots / score.n, (double)score.classes / score.n, score.victims_named);
        all.n += score.n;
        all.roots += score.roots;
        all.classes += score.classes;
        all.victims_named += score.victims_named;
    }
    total->n += all.n;
    total->roots += all.roots;
    total->classes += all.classes;
    total->victims_named += all.victims_named;
    double accuracy = (double)all.roots / all.n;
    printf("%-18s %-17s %6d  %6.3f  %6.3f  %6d\n", kind_names[kind], "", all.n, accuracy,
           (double)all.classes / all.n, all.victims_named);
    return accuracy >= LEAST;
}

int main(int argc, char **argv)
{
    bool smoke = argc > 1 && strcmp(argv[1], "--smoke") == 0;
    bool verbose = argc > 1 && strcmp(argv[1], "--verbose") == 0;
    struct score total = {0};
    bool good = true;
    printf("%-18s %-17s %6s  %6s  %6s  %6s\n", "failure", "dumps", "runs", "roots", "class",
           "victim");
    for (enum kind kind = 0; kind < KINDS; kind++) {
        good = one_kind(kind, smoke ? 14 : 70, verbose, &total) && good;
    }
    double accuracy = (double)total.roots / total.n;
    printf("roots right in %.3f of %d runs, class in %.3f; victims called root in %d\n", accuracy,
           total.n, (double)total.classes / total.n, total.victims_named);
    return accuracy >= LEAST && good ? 0 : 1;
}
