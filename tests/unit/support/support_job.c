/* SPDX-License-Identifier: Apache-2.0 */
#include "support_job.h"

#include "support_shard.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t EPOCH_NS = INT64_C(1700000000000000000);

static int64_t random_below(uint64_t *seed, int64_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n > 0 ? (int64_t)((*seed >> 33) % (uint64_t)n) : 0;
}

static const char *kernel_name(enum inq_coll_kind kind)
{
    switch ((int)kind) {
    case INQ_COLL_ALLGATHER:
        return "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
    case INQ_COLL_REDUCE_SCATTER:
        return "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevComm*)";
    case INQ_COLL_ALLTOALL:
        return "ncclDevKernel_SendRecv(ncclDevComm*)";
    default:
        return "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
    }
}

/* One rank while it runs. */
struct player {
    struct inq_shard shard;
    char path[32];
    uint32_t group[MADE_GROUPS];
    int64_t seq[MADE_GROUPS];
    int64_t now_ns;
    bool there;
};

static int member_of(const struct made_job *job, int group, int place)
{
    return job->group_from[group] + place * job->group_step[group];
}

static void describe_groups(const struct made_job *job, struct player *p)
{
    for (int g = 0; g < job->n_groups && job->groups; g++) {
        int32_t *ranks = malloc((size_t)job->group_size[g] * sizeof *ranks);
        assert_non_null(ranks);
        bool in_it = false;
        for (int i = 0; i < job->group_size[g]; i++) {
            ranks[i] = member_of(job, g, i);
            in_it = in_it || ranks[i] == p->shard.ranks[0].rank;
        }
        p->group[g] = in_it ? made_group(&p->shard, job->group_name[g], job->group_size[g], ranks,
                                         (uint32_t)job->group_size[g])
                            : INQ_NONE;
        free(ranks);
    }
}

static void set_up(const struct made_job *job, struct player *players)
{
    for (int r = 0; r < job->ranks; r++) {
        struct player *p = &players[r];
        (void)snprintf(p->path, sizeof p->path, "job/rank%05d.json", r);
        made_shard(&p->shard, p->path, r, job->ranks);
        char host[24];
        (void)snprintf(host, sizeof host, "node%d",
                       job->one_host       ? 0
                       : job->per_host > 0 ? r / job->per_host
                                           : r);
        p->shard.ranks[0].host = made_name(&p->shard, host);
        p->there = job->missing == NULL || !job->missing[r];
        describe_groups(job, p);
    }
}

/* What the rank's clock shows. */
static int64_t clock_of(const struct made_job *job, int rank, int64_t ns)
{
    double drift = job->ppm != NULL ? job->ppm[rank] * 1e-6 * (double)ns : 0;
    bool set = job->set_by_ns != NULL && ns > job->n_ops / 2 * job->work_ns;
    return EPOCH_NS + ns + (int64_t)drift + (job->offset_ns != NULL ? job->offset_ns[rank] : 0) +
           (set ? job->set_by_ns[rank] : 0);
}

static void record(const struct made_job *job, struct player *p, int rank, int index,
                   const int64_t times[2])
{
    struct made_op_plan op = job->op(job, index);
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.external_id = index + 1; /* the truth: nothing else reads it of a kernel that has a kind */
    if (job->groups) {
        comm.kind = op.kind;
        comm.group = p->group[op.group];
        comm.group_size = job->group_size[op.group];
    }
    if (job->sizes) {
        comm.in_elems = op.elems;
        comm.out_elems = op.elems;
        comm.dtype_bytes = 4;
    }
    comm.seq = job->seqs ? p->seq[op.group] : -1;
    int64_t start_ns = clock_of(job, rank, times[0]);
    int64_t end_ns = clock_of(job, rank, times[1]);
    if (job->step_ops > 0 && index % job->step_ops == 0) {
        char mark[32];
        (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", index / job->step_ops);
        made_note(&p->shard, mark, start_ns - 40000, 20000, false);
    }
    made_kernel(&p->shard, kernel_name(op.kind), job->groups ? 20 + op.group : 20, start_ns,
                end_ns - start_ns, start_ns - 30000, made_comm(&p->shard, &comm));
}

static void play(const struct made_job *job, struct player *players, int index, uint64_t *seed)
{
    struct made_op_plan op = job->op(job, index);
    int64_t last_ns = 0;
    for (int i = 0; i < job->group_size[op.group]; i++) {
        struct player *p = &players[member_of(job, op.group, i)];
        p->now_ns += job->steady ? job->work_ns + random_below(seed, job->jitter_ns)
                                 : job->work_ns / 2 + random_below(seed, job->work_ns);
        last_ns = p->now_ns > last_ns ? p->now_ns : last_ns;
    }
    int64_t end_ns = last_ns + 200000 + op.elems;
    for (int i = 0; i < job->group_size[op.group]; i++) {
        int rank = member_of(job, op.group, i);
        struct player *p = &players[rank];
        int64_t times[2] = {p->now_ns, end_ns + random_below(seed, job->jitter_ns)};
        int stop = job->stop != NULL && job->stop[rank] > 0 ? job->stop[rank] : job->n_ops;
        if (p->there && index < stop && (job->skip == NULL || index >= job->skip[rank])) {
            record(job, p, rank, index, times);
        }
        p->seq[op.group]++;
        p->now_ns = times[1] + 1000;
    }
}

struct inq_run *made_job_run(const struct made_job *job, bool align)
{
    uint64_t seed = job->seed + 1;
    struct player *players = calloc((size_t)job->ranks, sizeof *players);
    struct inq_shard *shards = calloc((size_t)job->ranks, sizeof *shards);
    assert_non_null(players);
    assert_non_null(shards);
    set_up(job, players);
    for (int i = 0; i < job->n_ops; i++) {
        play(job, players, i, &seed);
    }
    size_t n = 0;
    for (int r = 0; r < job->ranks; r++) {
        if (players[r].there) {
            shards[n++] = players[r].shard;
        } else {
            inq_shard_release(&players[r].shard);
        }
    }
    struct inq_run *run = made_run(shards, n, align);
    assert_int_equal(run->n_traces, 1);
    free(players);
    free(shards);
    return run;
}

int made_job_op(const struct inq_trace *trace, uint32_t rank, uint32_t event)
{
    const struct inq_rank *r = &trace->ranks[rank];
    return (int)r->comms[r->events.comm[event]].external_id - 1;
}

size_t made_job_wrong(const struct inq_trace *trace)
{
    size_t wrong = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        int op = made_job_op(trace, m[0].rank, m[0].event);
        for (uint32_t i = 1; i < trace->collectives[c].n_members; i++) {
            wrong += made_job_op(trace, m[i].rank, m[i].event) != op;
        }
    }
    return wrong;
}
