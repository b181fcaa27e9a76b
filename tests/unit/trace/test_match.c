/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives matched across ranks, held against what was planted. */
#include "support_job.h"
#include "support_shard.h"

#include "inquest/ingest.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MS INT64_C(1000000)

/* All ranks in one group, a few sizes that repeat step after step. */
static struct made_op_plan one_group(const struct made_job *job, int index)
{
    (void)job;
    static const enum inq_coll_kind kinds[] = {INQ_COLL_ALLREDUCE, INQ_COLL_ALLREDUCE,
                                               INQ_COLL_ALLGATHER, INQ_COLL_REDUCE_SCATTER};
    return (struct made_op_plan){kinds[index % 4], 0, 1000 + 500 * (index % 3)};
}

/* The same operation again and again: only time tells them apart. */
static struct made_op_plan all_alike(const struct made_job *job, int index)
{
    (void)job;
    (void)index;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, 0, 4000};
}

/* Rows and columns of a square of ranks, one after the other. */
static struct made_op_plan rows_and_columns(const struct made_job *job, int index)
{
    int groups = job->n_groups;
    return (struct made_op_plan){INQ_COLL_ALLREDUCE, index % groups, 1000 + index % 7};
}

static struct made_job job_of(int ranks, int n_ops)
{
    struct made_job job = {.ranks = ranks,
                           .n_groups = 1,
                           .group_name = {"world"},
                           .group_step = {1},
                           .group_size = {ranks},
                           .n_ops = n_ops,
                           .op = one_group,
                           .groups = true,
                           .sizes = true,
                           .work_ns = 2 * MS,
                           .jitter_ns = 5000,
                           .seed = 7};
    return job;
}

static void square(struct made_job *job, int side)
{
    job->n_groups = 2 * side;
    for (int i = 0; i < side; i++) {
        job->group_name[i] = "row";
        job->group_from[i] = i * side;
        job->group_step[i] = 1;
        job->group_size[i] = side;
        job->group_name[side + i] = "column";
        job->group_from[side + i] = i;
        job->group_step[side + i] = side;
        job->group_size[side + i] = side;
    }
    job->op = rows_and_columns;
}

static size_t count_complete(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        n += trace->collectives[c].complete;
    }
    return n;
}

static void assert_all_matched(const struct made_job *job)
{
    struct inq_run *run = made_job_run(job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_collectives, job->n_ops);
    assert_int_equal(count_complete(trace), job->n_ops);
    assert_int_equal(made_job_wrong(trace), 0);
    assert_int_equal(trace->unmatched_comms, 0);
    inq_run_free(run);
}

static void whole__everything_matches(void **state)
{
    (void)state;
    struct made_job job = job_of(8, 100);
    assert_all_matched(&job);
    job.seqs = true;
    assert_all_matched(&job);
    job.sizes = false;
    job.seqs = false;
    assert_all_matched(&job);
    job.groups = false; /* kernel names only */
    assert_all_matched(&job);
    job.op = all_alike;
    assert_all_matched(&job);
}

static void whole__interleaved_groups(void **state)
{
    (void)state;
    struct made_job job = job_of(16, 400);
    square(&job, 4);
    assert_all_matched(&job);
}

static void whole__collectives_are_in_order_of_their_last_arrival(void **state)
{
    (void)state;
    struct made_job job = job_of(4, 50);
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    int64_t before = INT64_MIN;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        int64_t latest = INT64_MIN;
        for (uint32_t i = 0; i < trace->collectives[c].n_members; i++) {
            struct inq_member m = trace->members[trace->collectives[c].first_member + i];
            int64_t start = trace->ranks[m.rank].events.start_ns[m.event];
            latest = start > latest ? start : latest;
        }
        assert_true(latest >= before);
        before = latest;
    }
    inq_run_free(run);
}

/* Captures that begin and end at different operations on every rank. */
static void assert_cut(struct made_job *job, int least)
{
    static const int skip[8] = {0, 3, 11, 1, 7, 19, 0, 2};
    static const int stop[8] = {0, 95, 80, 100, 77, 99, 90, 0};
    job->skip = skip;
    job->stop = stop;
    struct inq_run *run = made_job_run(job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(made_job_wrong(trace), 0);
    size_t whole = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        whole += trace->collectives[c].n_members == 8;
    }
    assert_int_equal(whole, least);
    inq_run_free(run);
}

static void cut__windows_anywhere(void **state)
{
    (void)state;
    struct made_job job = job_of(8, 100);
    assert_cut(&job, 77 - 19);
    job.sizes = false;
    assert_cut(&job, 77 - 19);
    job.groups = false;
    assert_cut(&job, 77 - 19);
    job.op = all_alike;
    assert_cut(&job, 77 - 19);
    job.groups = true;
    job.seqs = true;
    assert_cut(&job, 77 - 19);
}

static void cut__windows_anywhere_on_clocks_apart(void **state)
{
    (void)state;
    static const int64_t offset_ns[8] = {0, 40 * MS, -7 * MS, 900 * MS, 3 * MS, -1500 * MS, 0, MS};
    struct made_job job = job_of(8, 100);
    job.offset_ns = offset_ns;
    assert_cut(&job, 77 - 19);
    job.sizes = false;
    assert_cut(&job, 77 - 19);
    job.seqs = true;
    assert_cut(&job, 77 - 19);
}

static void missing__a_rank_without_a_file(void **state)
{
    (void)state;
    static const bool missing[16] = {[5] = true};
    struct made_job job = job_of(16, 200);
    square(&job, 4);
    job.missing = missing;
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_ranks, 15);
    assert_int_equal(trace->n_missing, 1);
    assert_int_equal(made_job_wrong(trace), 0);
    assert_int_equal(trace->n_collectives, 200);
    assert_int_equal(count_complete(trace), 200); /* of the ranks that are there */
    inq_run_free(run);
}

/* Sends and receives match by pair and direction, apart from collectives. */
static void p2p__by_pair_and_direction(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    static const char *const paths[] = {"p/0", "p/1", "p/2"};
    for (int r = 0; r < 3; r++) {
        made_shard(&shards[r], paths[r], r, 3);
        uint32_t group = made_group(&shards[r], "pp", 3, (const int32_t[]){0, 1, 2}, 3);
        for (int i = 0; i < 10; i++) {
            for (int way = 0; way < 2; way++) { /* from the rank before, to the rank behind */
                int peer = way == 0 ? r - 1 : r + 1;
                if (peer < 0 || peer > 2) {
                    continue;
                }
                struct inq_comm comm;
                inq_comm_init(&comm);
                comm.kind = way == 0 ? INQ_COLL_RECV : INQ_COLL_SEND;
                comm.peer = peer;
                comm.group = group;
                comm.in_elems = 100;
                comm.out_elems = 100;
                int pair = way == 0 ? r - 1 : r;
                comm.external_id = 1 + pair * 100 + i;
                made_kernel(&shards[r], "ncclDevKernel_SendRecv", 20 + way,
                            i * 10 * MS + (way == 0 ? r - 1 : r) * 3 * MS - way * MS, 2 * MS,
                            INQ_TIME_NONE, made_comm(&shards[r], &comm));
            }
        }
    }
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_collectives, 20);
    assert_int_equal(made_job_wrong(trace), 0);
    for (size_t c = 0; c < trace->n_collectives; c++) {
        assert_int_equal(trace->collectives[c].n_members, 2);
        assert_int_equal(trace->collectives[c].kind, INQ_COLL_SENDRECV);
        assert_true(trace->collectives[c].complete);
    }
    inq_run_free(run);
}

/* ---- order first ----------------------------------------------------------------------------- */

static const double fifty_ppm[16] = {[8] = 50, 50, 50, 50, 50, 50, 50, 50};

/* Two hosts whose clocks run apart by more than the time between two operations: none is missing,
 * so none is taken for a hole. */
static void order__drift_makes_no_holes(void **state)
{
    (void)state;
    struct made_job job = job_of(16, 1700);
    job.op = all_alike;
    job.per_host = 8;
    job.work_ns = 17 * MS;
    job.ppm = fifty_ppm;
    assert_all_matched(&job);
    job.groups = false;
    job.sizes = false;
    assert_all_matched(&job);
}

/* Rows that are missing are found in spite of the drift. */
static void order__cut_windows_on_clocks_that_drift(void **state)
{
    (void)state;
    struct made_job job = job_of(8, 100);
    job.op = all_alike;
    job.work_ns = 100 * MS;
    job.ppm = fifty_ppm + 4;
    assert_cut(&job, 77 - 19);
}

/* A clock that is set by more than an operation takes is no hole either. */
static void order__a_clock_set_while_it_runs(void **state)
{
    (void)state;
    static const int64_t set_by_ns[8] = {0, 0, 0, 0, 300 * MS, 300 * MS, 300 * MS, 300 * MS};
    struct made_job job = job_of(8, 200);
    job.op = all_alike;
    job.per_host = 4;
    job.set_by_ns = set_by_ns;
    assert_all_matched(&job);
}

/* ---- recorded numbers ------------------------------------------------------------------------ */

/* One kernel of each of two ranks in a group; seq -1: not recorded. The truth is `id`. */
static void add_pair(struct inq_shard *shards, const struct inq_comm *what, int64_t stream,
                     int64_t end_ns, int64_t id)
{
    for (int r = 0; r < 2; r++) {
        struct inq_comm comm = *what;
        comm.group = made_group(&shards[r], "g", 2, (const int32_t[]){0, 1}, 2);
        comm.external_id = id;
        int64_t start_ns = end_ns - (r == 0 ? 600000 : 900000);
        made_kernel(&shards[r],
                    what->kind == INQ_COLL_ALLREDUCE ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                                                     : "ncclDevKernel_SendRecv",
                    stream, start_ns, end_ns - start_ns, start_ns - 30000,
                    made_comm(&shards[r], &comm));
    }
}

static void two_ranks(struct inq_shard *shards)
{
    made_shard(&shards[0], "s/0", 0, 2);
    made_shard(&shards[1], "s/1", 1, 2);
}

/* Every collective has each rank once and all its members are of one operation. */
static void assert_right(const struct inq_trace *trace, size_t n)
{
    assert_int_equal(trace->n_collectives, n);
    assert_int_equal(made_job_wrong(trace), 0);
    for (size_t c = 0; c < n; c++) {
        assert_int_equal(trace->collectives[c].n_members, 2);
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        assert_true(m[0].rank < m[1].rank);
    }
}

static void seq__batched_p2p_counts_by_itself(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int i = 0; i < 8; i++) {
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.seq = i;
        comm.kind = INQ_COLL_ALLREDUCE;
        add_pair(shards, &comm, 20, (2 * i + 1) * 5 * MS, 2 * i + 1);
        comm.kind = INQ_COLL_COALESCED;
        add_pair(shards, &comm, 21, (2 * i + 2) * 5 * MS, 2 * i + 2);
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_right(run->traces[0], 16);
    inq_run_free(run);
}

static void seq__kernels_of_one_coalesced_call_stay_apart(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int i = 0; i < 12; i++) {
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_ALLREDUCE;
        comm.seq = i / 3;
        add_pair(shards, &comm, 20, (i + 1) * 5 * MS, i + 1);
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_right(run->traces[0], 12);
    inq_run_free(run);
}

static void seq__the_same_throughout_says_nothing(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int i = 0; i < 20; i++) {
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_ALLREDUCE;
        comm.seq = 7;
        add_pair(shards, &comm, 20, (i + 1) * 5 * MS, i + 1);
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_right(run->traces[0], 20);
    inq_run_free(run);
}

/* ---- whatever was recorded --------------------------------------------------------------------
 */

enum { ODD_RANKS = 3, ODD_ROWS = 24 };

/* Numbers that rise, stand, jump or lack; kinds, sizes and times that fit by chance. */
static void add_odd(struct inq_shard *shard, uint64_t *state, int i)
{
    static const enum inq_coll_kind kinds[] = {INQ_COLL_ALLREDUCE, INQ_COLL_ALLGATHER,
                                               INQ_COLL_ALLTOALL, INQ_COLL_COALESCED};
    uint64_t draw = *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int64_t seqs[] = {i, i / 2, 7, (int64_t)(draw >> 20) % 9, -1};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = kinds[(draw >> 33) % 4];
    comm.seq = seqs[(draw >> 37) % 5];
    comm.in_elems = comm.out_elems = (int64_t)(draw >> 40) % 3 * 100;
    comm.group = made_group(shard, "g", ODD_RANKS, (const int32_t[]){0, 1, 2}, ODD_RANKS);
    int64_t start_ns = i * 2 * MS + (int64_t)(draw >> 44) % MS;
    made_kernel(shard, "ncclDevKernel_SendRecv", 20 + (int64_t)(draw >> 61) % 2, start_ns, MS / 2,
                start_ns - 30000, made_comm(shard, &comm));
}

static int64_t size_of(const struct inq_trace *trace, const struct inq_member *m)
{
    const struct inq_rank *rank = &trace->ranks[m->rank];
    const struct inq_comm *comm = &rank->comms[rank->events.comm[m->event]];
    return comm->kind == INQ_COLL_ALLREDUCE || comm->kind == INQ_COLL_ALLGATHER ? comm->in_elems
                                                                                : 0;
}

/* No rank twice in a collective, no kernel in two, sizes agree where they are known, and what is in
 * none is counted. */
static void assert_sound(const struct inq_trace *trace)
{
    bool placed[ODD_RANKS][ODD_ROWS] = {{false}};
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        int64_t size = 0;
        for (uint32_t i = 0; i < trace->collectives[c].n_members; i++) {
            assert_true(i == 0 || m[i - 1].rank < m[i].rank);
            assert_false(placed[m[i].rank][m[i].event]);
            placed[m[i].rank][m[i].event] = true;
            int64_t own = size_of(trace, &m[i]);
            assert_true(size == 0 || own == 0 || own == size);
            size = own > 0 ? own : size;
        }
    }
    assert_int_equal(trace->n_members + trace->unmatched_comms, ODD_RANKS * ODD_ROWS);
}

static void odd__what_matches_is_sound(void **state)
{
    (void)state;
    uint64_t draws = 1;
    for (int run = 0; run < 300; run++) {
        static const char *const paths[] = {"o/0", "o/1", "o/2"};
        struct inq_shard shards[ODD_RANKS];
        for (int r = 0; r < ODD_RANKS; r++) {
            made_shard(&shards[r], paths[r], r, ODD_RANKS);
            for (int i = 0; i < ODD_ROWS; i++) {
                add_odd(&shards[r], &draws, i);
            }
        }
        struct inq_run *out = made_run(shards, ODD_RANKS, run % 2 == 0);
        assert_sound(out->traces[0]);
        inq_run_free(out);
    }
}

/* ---- what cannot be -------------------------------------------------------------------------- */

enum { MOST_MADE = 9 };

/* One all-reduce of the ranks in the mask, on one clock. */
static void add_masked(struct inq_shard *shards, int n, unsigned mask, int64_t elems,
                       int64_t end_ns)
{
    static const int32_t ranks[MOST_MADE] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    for (int r = 0; r < n; r++) {
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_ALLREDUCE;
        comm.group = made_group(&shards[r], "g", n, ranks, (uint32_t)n);
        comm.in_elems = elems;
        if ((mask >> r & 1) != 0) {
            made_kernel(&shards[r], "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, end_ns - MS, MS,
                        end_ns - 2 * MS, made_comm(&shards[r], &comm));
        }
    }
}

/* All-reduces of the ranks in the masks, of different sizes and 60 ms from each other. *pairs:
 * found ones of two members. Returns how many are found. */
static size_t match_masked(int n, const unsigned *masks, size_t n_masks, size_t *pairs)
{
    static const char *const paths[MOST_MADE] = {"s/0", "s/1", "s/2", "s/3", "s/4",
                                                 "s/5", "s/6", "s/7", "s/8"};
    struct inq_shard shards[MOST_MADE];
    for (int r = 0; r < n; r++) {
        made_shard(&shards[r], paths[r], r, n);
        shards[r].ranks[0].host = made_name(&shards[r], "node");
    }
    for (size_t i = 0; i < n_masks; i++) {
        add_masked(shards, n, masks[i], 1000 + (int64_t)i, (int64_t)(i + 1) * 60 * MS);
    }
    struct inq_run *run = made_run(shards, (size_t)n, true);
    const struct inq_trace *trace = run->traces[0];
    *pairs = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        *pairs += trace->collectives[c].n_members == 2;
    }
    size_t found = trace->n_collectives;
    inq_run_free(run);
    return found;
}

/* Between two whole all-reduces: three that lack members, and one in halves so far apart that they
 * can be no collective. What lies around the halves can. */
static void impossible__only_those_groups_are_dropped(void **state)
{
    (void)state;
    static const unsigned masks[] = {15, 3, 7, 3, 12, 7, 15};
    size_t pairs;
    assert_int_equal(match_masked(4, masks, 7, &pairs), 2 + 3);
    assert_int_equal(pairs, 1); /* the one that lacks two members */
}

/* Every member lacks one, another each: as many groups as members, of which each has recorded one
 * fewer. With eight they are dropped; with nine nothing says that the last pair is not at fault. */
static void impossible__as_far_as_one_can_say(void **state)
{
    (void)state;
    for (int n = 8; n <= 9; n++) {
        unsigned masks[MOST_MADE + 3];
        unsigned all = (1U << n) - 1;
        masks[0] = all;
        masks[n + 2] = all;
        masks[n + 1] = 3;
        for (int i = 0; i < n; i++) {
            masks[i + 1] = all & ~(1U << i);
        }
        size_t pairs;
        assert_int_equal(match_masked(n, masks, (size_t)n + 3, &pairs), n == 8 ? 3 : 2);
        assert_int_equal(pairs, n == 8);
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Each rank of an all-to-all counts what it sends itself; the sums agree but for one. */
static void uneven__an_exchange_agrees_by_its_sums(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int i = 0; i < 10; i++) {
        for (int r = 0; r < 2; r++) {
            struct inq_comm comm;
            inq_comm_init(&comm);
            comm.kind = INQ_COLL_ALLTOALL;
            comm.group = made_group(&shards[r], "ep", 2, (const int32_t[]){0, 1}, 2);
            comm.in_elems = r == 0 ? 100 + i : 300 - i;
            comm.out_elems = r == 0 ? 250 : 150 + (i == 4); /* one element from nowhere */
            comm.external_id = i + 1;
            int64_t start_ns = i * 5 * MS + r * MS;
            made_kernel(&shards[r], "ncclDevKernel_SendRecv", 20, start_ns,
                        (i * 5 + 2) * MS - start_ns, start_ns - 30000,
                        made_comm(&shards[r], &comm));
        }
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_right(run->traces[0], 9);
    assert_int_equal(run->traces[0]->unmatched_comms, 2);
    inq_run_free(run);
}

/* A pair that has a group, and a stream, for each direction of its pipeline: transfers of one group
 * overtake those of the other. */
static void p2p__two_groups_of_one_pair(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int i = 0; i < 96; i++) {
        int way = i % 2;
        for (int r = 0; r < 2; r++) {
            struct inq_comm comm;
            inq_comm_init(&comm);
            comm.kind = r == 0 ? INQ_COLL_SEND : INQ_COLL_RECV;
            comm.peer = 1 - r;
            comm.group = made_group(&shards[r], way == 0 ? "forward" : "backward", 2,
                                    (const int32_t[]){0, 1}, 2);
            comm.in_elems = 1000 + i % 3;
            comm.out_elems = 1000 + i % 3;
            comm.external_id = i + 1;
            int64_t start_ns = i / 2 * 4 * MS + (way == r ? 0 : MS) + (way == 0 ? 0 : MS / 2);
            made_kernel(&shards[r], "ncclDevKernel_SendRecv", 20 + way, start_ns,
                        (i / 2 * 4 + 3) * MS - start_ns, start_ns - 30000,
                        made_comm(&shards[r], &comm));
        }
    }
    struct inq_run *run = made_run(shards, 2, true);
    assert_right(run->traces[0], 96);
    inq_run_free(run);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The host's record of one transfer of a batch, in front of its launch. */
static void add_record(struct inq_shard *shard, bool sends, int32_t peer, uint32_t group,
                       int64_t at_ns)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = sends ? INQ_COLL_SEND : INQ_COLL_RECV;
    comm.peer = peer;
    comm.group = group;
    comm.in_elems = 64;
    comm.start_ns = at_ns;
    assert_int_equal(inq_rank_lane(&shard->ranks[0], INQ_LANE_THREAD, -1, 7, &comm.lane, NULL),
                     INQ_OK);
    (void)made_comm(shard, &comm);
}

/* Three stages, each with one bare kernel for all it sends and receives at once: pairs of kernels
 * by their transfers, both ways between two of them one. */
static void batch__kernels_pair_by_the_records_of_their_thread(void **state)
{
    (void)state;
    struct inq_shard shards[3];
    static const char *const paths[] = {"b/0", "b/1", "b/2"};
    for (int r = 0; r < 3; r++) {
        made_shard(&shards[r], paths[r], r, 3);
        uint32_t group = made_group(&shards[r], "pp", 3, (const int32_t[]){0, 1, 2}, 3);
        for (int i = 0; i < 10; i++) {
            int64_t launch_ns = i * 10 * MS + r * MS;
            for (int way = 0; way < 2; way++) {
                if (r > 0) {
                    add_record(&shards[r], way != 0, r - 1, group, launch_ns - 4000 + way * 1000);
                }
                if (r < 2) {
                    add_record(&shards[r], way == 0, r + 1, group, launch_ns - 2000 + way * 1000);
                }
            }
            made_kernel(&shards[r], "ncclDevKernel_SendRecv(ncclDevComm*)", 20, launch_ns + 20000,
                        (i * 10 + 4) * MS - launch_ns, launch_ns, INQ_NONE);
        }
    }
    struct inq_run *run = made_run(shards, 3, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->unmatched_comms, 0);
    assert_int_equal(trace->n_collectives, 20);
    size_t of_middle = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        assert_int_equal(trace->collectives[c].kind, INQ_COLL_SENDRECV);
        assert_int_equal(m[1].rank, m[0].rank + 1);
        assert_int_equal(m[0].event, m[1].event); /* each rank has the k-th kernel as its k-th */
        of_middle += m[0].rank == 1 || m[1].rank == 1;
    }
    assert_int_equal(of_middle, 20);
    inq_run_free(run);
}

/* A batch of one transfer is that transfer. */
static void batch__of_one_transfer(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    for (int r = 0; r < 2; r++) {
        uint32_t group = made_group(&shards[r], "pp", 2, (const int32_t[]){0, 1}, 2);
        for (int i = 0; i < 4; i++) {
            add_record(&shards[r], r == 0, 1 - r, group, i * 10 * MS - 3000);
            made_kernel(&shards[r], "ncclDevKernel_SendRecv(ncclDevComm*)", 20, i * 10 * MS + 9000,
                        MS, i * 10 * MS, INQ_NONE);
        }
    }
    struct inq_run *run = made_run(shards, 2, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_collectives, 4);
    assert_int_equal(trace->unmatched_comms, 0);
    const struct inq_rank *rank = &trace->ranks[1];
    assert_int_equal(rank->comms[rank->events.comm[0]].kind, INQ_COLL_RECV);
    assert_int_equal(rank->comms[rank->events.comm[0]].peer, 0);
    inq_run_free(run);
}

static void alone__a_single_rank_has_nothing_to_match(void **state)
{
    (void)state;
    struct made_job job = job_of(1, 30);
    struct inq_run *run = made_job_run(&job, true);
    assert_int_equal(run->traces[0]->n_collectives, 0);
    assert_int_equal(run->traces[0]->unmatched_comms, 30);
    inq_run_free(run);
}

/* A thousand ranks: memory and time in proportion (a quadratic loop would not come back). */
static void scale__a_thousand_ranks(void **state)
{
    (void)state;
    struct made_job job = job_of(1024, 2 * 32 * 100);
    square(&job, 32);
    struct inq_run *run = made_job_run(&job, true);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_collectives, job.n_ops);
    assert_int_equal(count_complete(trace), job.n_ops);
    assert_int_equal(made_job_wrong(trace), 0);
    inq_run_free(run);
}

/* ---- real files ------------------------------------------------------------------------------ */

static void assert_real(const char *folder, size_t least, size_t most_unmatched)
{
    char path[512];
    const char *paths[] = {path};
    struct stat info;
    struct inq_run *run = NULL;
    assert_true(snprintf(path, sizeof path, "%s/kineto/%s", INQ_SHARED_DATA, folder) <
                (int)sizeof path);
    if (stat(path, &info) != 0) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
    size_t complete = 0;
    size_t unmatched = 0;
    for (size_t t = 0; t < run->n_traces; t++) {
        complete += count_complete(run->traces[t]);
        unmatched += run->traces[t]->unmatched_comms;
    }
    assert_true(complete >= least);
    assert_true(unmatched <= most_unmatched);
    inq_run_free(run);
}

static void real__matched_as_counted_by_hand(void **state)
{
    (void)state;
    assert_real("dlrm_8ranks", 8, 0);
    assert_real("megatron_tp2", 13, 0);
    assert_real("torchrec_sleep", 12, 3);
    assert_real("torchrec_4", 29, 4);
    assert_real("torchrec_two_jobs", 60, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole__everything_matches),
        cmocka_unit_test(whole__interleaved_groups),
        cmocka_unit_test(whole__collectives_are_in_order_of_their_last_arrival),
        cmocka_unit_test(cut__windows_anywhere),
        cmocka_unit_test(cut__windows_anywhere_on_clocks_apart),
        cmocka_unit_test(missing__a_rank_without_a_file),
        cmocka_unit_test(p2p__by_pair_and_direction),
        cmocka_unit_test(order__drift_makes_no_holes),
        cmocka_unit_test(order__cut_windows_on_clocks_that_drift),
        cmocka_unit_test(order__a_clock_set_while_it_runs),
        cmocka_unit_test(seq__batched_p2p_counts_by_itself),
        cmocka_unit_test(seq__kernels_of_one_coalesced_call_stay_apart),
        cmocka_unit_test(seq__the_same_throughout_says_nothing),
        cmocka_unit_test(odd__what_matches_is_sound),
        cmocka_unit_test(impossible__only_those_groups_are_dropped),
        cmocka_unit_test(impossible__as_far_as_one_can_say),
        cmocka_unit_test(uneven__an_exchange_agrees_by_its_sums),
        cmocka_unit_test(p2p__two_groups_of_one_pair),
        cmocka_unit_test(batch__kernels_pair_by_the_records_of_their_thread),
        cmocka_unit_test(batch__of_one_transfer),
        cmocka_unit_test(alone__a_single_rank_has_nothing_to_match),
        cmocka_unit_test(scale__a_thousand_ranks),
        cmocka_unit_test(real__matched_as_counted_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
