/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that exchange with several ranks at once (batch_isend_irecv): rings of context
 * parallelism and interleaved pipelines, simulated. Such a kernel ends with the slowest of its
 * transfers. */
#include "support_shard.h"

#include "inquest/account.h"
#include "inquest/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)

enum { RANKS = 4, STEPS = 6, MOST = 4096, TRANSFER_US = 100, MAIN = 7, BACKWARD = 8 };

enum what { COMPUTE, EXCHANGE, REDUCE };

struct item {
    enum what what;
    int64_t dur_ns; /* of compute */
    int thread;
    int n;
    struct way {
        int peer;
        bool sends;
        int number; /* of the transfers from the sender to the receiver */
    } ways[4];
    int64_t start_ns, end_ns;
};

struct program {
    size_t n[RANKS];
    struct item items[RANKS][MOST];
    int passed[RANKS][RANKS][2];      /* from, to: sent, received */
    double link_slower[RANKS][RANKS]; /* 0: as the others */
};

static struct program program;

static struct item *add(int rank, enum what what)
{
    assert_true(program.n[rank] < MOST);
    struct item *item = &program.items[rank][program.n[rank]++];
    *item = (struct item){.what = what, .thread = MAIN, .start_ns = -1, .end_ns = -1};
    return item;
}

static void compute(int rank, int64_t us, int thread)
{
    struct item *item = add(rank, COMPUTE);
    item->dur_ns = us * US;
    item->thread = thread;
}

static void way(struct item *item, int rank, int peer, bool sends)
{
    int from = sends ? rank : peer;
    int to = sends ? peer : rank;
    int number = program.passed[from][to][sends ? 0 : 1]++;
    item->ways[item->n++] = (struct way){peer, sends, number};
}

/* The item of `peer` that is the other end. */
static const struct item *other_end(int rank, const struct way *w)
{
    for (size_t i = 0; i < program.n[w->peer]; i++) {
        const struct item *item = &program.items[w->peer][i];
        for (int k = 0; k < item->n; k++) {
            const struct way *o = &item->ways[k];
            if (o->peer == rank && o->sends != w->sends && o->number == w->number) {
                return item;
            }
        }
    }
    return NULL;
}

/* Whether the item's end is known now. */
static bool finish(int rank, struct item *item)
{
    int64_t end_ns = item->start_ns;
    for (int k = 0; k < item->n; k++) {
        const struct item *other = other_end(rank, &item->ways[k]);
        if (other == NULL) {
            fail_msg("rank %d: a transfer with %d has one end", rank, item->ways[k].peer);
            return false;
        }
        if (other->start_ns < 0) {
            return false;
        }
        int from = item->ways[k].sends ? rank : item->ways[k].peer;
        int to = item->ways[k].sends ? item->ways[k].peer : rank;
        double slower = program.link_slower[from][to];
        int64_t both = other->start_ns > item->start_ns ? other->start_ns : item->start_ns;
        both += (int64_t)(TRANSFER_US * US * (slower > 0.0 ? slower : 1.0));
        end_ns = both > end_ns ? both : end_ns;
    }
    item->end_ns = end_ns + item->dur_ns;
    return true;
}

/* All-reduces end together on all ranks. */
static void reduce(const size_t at[RANKS])
{
    int64_t last_ns = 0;
    for (int r = 0; r < RANKS; r++) {
        const struct item *item = &program.items[r][at[r]];
        if (item->what != REDUCE || item->start_ns < 0) {
            return;
        }
        last_ns = item->start_ns > last_ns ? item->start_ns : last_ns;
    }
    for (int r = 0; r < RANKS; r++) {
        program.items[r][at[r]].end_ns = last_ns + TRANSFER_US * US;
    }
}

/* Mean length of a step without the first one. */
static int64_t simulate(void)
{
    size_t at[RANKS] = {0};
    int64_t now[RANKS] = {1000 * US, 1000 * US, 1000 * US, 1000 * US};
    int64_t step_ns[2] = {0};
    for (size_t left = 1; left > 0;) {
        left = 0;
        reduce(at);
        for (int r = 0; r < RANKS; r++) {
            struct item *item = &program.items[r][at[r]];
            if (at[r] == program.n[r]) {
                continue;
            }
            left++;
            item->start_ns = now[r] + 2 * US;
            if (item->end_ns >= 0 || (item->what != REDUCE && finish(r, item))) {
                now[r] = item->end_ns;
                at[r]++;
            }
        }
    }
    for (size_t i = 0, steps = 0; i < program.n[0]; i++) {
        if (program.items[0][i].what == REDUCE) {
            step_ns[steps++ > 0] = program.items[0][i].end_ns;
            step_ns[0] = steps == 1 ? program.items[0][i].end_ns : step_ns[0];
        }
    }
    return (step_ns[1] - step_ns[0]) / (STEPS - 1);
}

static void record(struct inq_shard *shard, const struct way *w, uint32_t group, int64_t at_ns,
                   int thread)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = w->sends ? INQ_COLL_SEND : INQ_COLL_RECV;
    comm.peer = w->peer;
    comm.group = group;
    comm.in_elems = comm.out_elems = 1 << 20;
    comm.dtype_bytes = 2;
    comm.start_ns = at_ns;
    assert_int_equal(inq_rank_lane(&shard->ranks[0], INQ_LANE_THREAD, -1, thread, &comm.lane, NULL),
                     INQ_OK);
    (void)made_comm(shard, &comm);
}

static uint32_t all_reduce(struct inq_shard *shard, uint32_t group)
{
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = group;
    comm.group_size = RANKS;
    comm.in_elems = comm.out_elems = 1 << 20;
    comm.dtype_bytes = 2;
    return made_comm(shard, &comm);
}

static void write_item(struct inq_shard *shard, const struct item *item, uint32_t group,
                       int64_t launch_ns)
{
    static const char *const names[] = {"sm80_xmma_gemm_bf16", "ncclDevKernel_SendRecv(x)",
                                        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"};
    struct inq_rank *rank = &shard->ranks[0];
    uint32_t lane = INQ_NONE;
    uint32_t call = (uint32_t)rank->calls.n + 1;
    inq_str name = made_name(shard, "cudaLaunchKernel");
    for (int k = 0; k < item->n; k++) {
        record(shard, &item->ways[k], group, launch_ns - 20 * (item->n - k), item->thread);
    }
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_THREAD, -1, item->thread, &lane, NULL), INQ_OK);
    assert_int_equal(inq_rank_add_call(rank, launch_ns, 1000, name, lane, call, NULL), INQ_OK);
    struct inq_event_row row = {.start_ns = item->start_ns,
                                .dur_ns = item->end_ns - item->start_ns,
                                .call = call,
                                .comm = item->what == REDUCE ? all_reduce(shard, group) : INQ_NONE,
                                .label = INQ_NONE,
                                .kind = INQ_EVENT_KERNEL,
                                .cls = item->what == COMPUTE ? INQ_CLASS_COMPUTE : INQ_CLASS_COMM};
    row.name = made_name(shard, names[item->what]);
    assert_int_equal(
        inq_rank_lane(rank, INQ_LANE_STREAM, 0, item->what == COMPUTE ? 7 : 20, &row.lane, NULL),
        INQ_OK);
    assert_int_equal(inq_rank_add_event(rank, &row, NULL), INQ_OK);
}

/* Hosts run ahead, and wait for the device at the end of a step. */
static void write_rank(struct inq_shard *shard, int r)
{
    static const int32_t all[RANKS] = {0, 1, 2, 3};
    uint32_t group = made_group(shard, "0", RANKS, all, RANKS);
    int64_t host_ns = 900 * US;
    int64_t step_ns = 890 * US;
    int number = 10;
    for (size_t i = 0; i < program.n[r]; i++) {
        const struct item *item = &program.items[r][i];
        write_item(shard, item, group, host_ns);
        host_ns += 3 * US;
        if (item->what == REDUCE) {
            char name[32];
            (void)snprintf(name, sizeof name, "ProfilerStep#%d", number++);
            made_note(shard, name, step_ns, host_ns + 2 * US - step_ns, false);
            step_ns = host_ns + 3 * US;
            host_ns = step_ns + US;
        }
    }
}

static struct inq_report *analyze(struct inq_run **run)
{
    struct inq_shard shards[RANKS];
    static const char *const paths[] = {"r/0", "r/1", "r/2", "r/3"};
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    for (int r = 0; r < RANKS; r++) {
        made_shard(&shards[r], paths[r], r, RANKS);
        write_rank(&shards[r], r);
    }
    *run = made_run(shards, RANKS, true);
    assert_int_equal(inq_analyze((*run)->traces[0], NULL, &report, &err), INQ_OK);
    return report;
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* Two rounds forward and two backward a step, each rank sends to the next one and receives from the
 * one before. */
static int64_t make_ring(int slow_rank, int from, int to)
{
    memset(&program, 0, sizeof program);
    if (from != to) {
        program.link_slower[from][to] = 5.0;
    }
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < STEPS * 4; k++) {
            int thread = k % 4 < 2 ? MAIN : BACKWARD;
            compute(r, (r == slow_rank ? 1100 : 1000) + (r * 7 + k * 3) % 5, thread);
            struct item *item = add(r, EXCHANGE);
            item->thread = thread;
            way(item, r, (r + 1) % RANKS, true);
            way(item, r, (r + RANKS - 1) % RANKS, false);
            if (k % 4 == 3) {
                (void)add(r, REDUCE);
            }
        }
    }
    return simulate();
}

/* The only finding of weight costs what the simulation says, within a tenth of it. */
static void expect(const struct inq_report *report, enum inq_finding_kind kind, int64_t cost_ns)
{
    assert_true(report->n_findings > 0);
    const struct inq_finding *first = &report->findings[0];
    assert_int_equal(first->kind, kind);
    assert_true(first->cost_ns_per_step > cost_ns * 9 / 10);
    assert_true(first->cost_ns_per_step < cost_ns * 11 / 10);
    for (size_t i = 1; i < report->n_findings; i++) {
        assert_int_equal(report->findings[i].severity, INQ_SEVERITY_INFO);
    }
}

/* What the neighbors of a slow GPU wait for is not their links'. */
static void ring__of_a_slow_gpu(void **state)
{
    (void)state;
    int64_t healthy_ns = make_ring(-1, 0, 0);
    int64_t step_ns = make_ring(2, 0, 0);
    struct inq_run *run = NULL;
    struct inq_report *report = analyze(&run);
    expect(report, INQ_FINDING_SLOW_GPU, step_ns - healthy_ns);
    assert_null(report->pipeline);
    assert_int_equal(report->findings[0].ranks[0], 2);
    inq_report_free(report);
    inq_run_free(run);
}

/* All kernels of a ring end late with one slow link in it: of the others nothing is said. */
static void ring__with_a_slow_link(void **state)
{
    (void)state;
    int64_t healthy_ns = make_ring(-1, 0, 0);
    int64_t step_ns = make_ring(-1, 1, 2);
    struct inq_run *run = NULL;
    struct inq_report *report = analyze(&run);
    expect(report, INQ_FINDING_SLOW_LINK, step_ns - healthy_ns);
    assert_null(report->pipeline);
    assert_int_equal(report->findings[0].n_ranks, 2);
    assert_int_equal(report->findings[0].ranks[0], 1);
    assert_int_equal(report->findings[0].ranks[1], 2);
    inq_report_free(report);
    inq_run_free(run);
}

/* ---- interleaved pipelines ------------------------------------------------------------------- */

enum { CHUNKS = 2, BATCHES = 8, PASSES = CHUNKS * BATCHES };

static bool is_last_chunk(int k, bool forward)
{
    int chunk = k % (RANKS * CHUNKS) / RANKS;
    return forward ? chunk == CHUNKS - 1 : chunk == 0;
}

static bool is_first_chunk(int k, bool forward)
{
    int chunk = k % (RANKS * CHUNKS) / RANKS;
    return forward ? chunk == 0 : chunk == CHUNKS - 1;
}

/* What a stage exchanges after forward `f` and backward `b` (-1: none), and for the next ones. */
static void exchange(int s, int f, int b, int next_f, int next_b)
{
    int next = (s + 1) % RANKS;
    int before = (s + RANKS - 1) % RANKS;
    struct item item = {.what = EXCHANGE, .thread = MAIN, .start_ns = -1, .end_ns = -1};
    if (f >= 0 && !(s == RANKS - 1 && is_last_chunk(f, true))) {
        way(&item, s, next, true);
    }
    if (b >= 0 && !(s == 0 && is_first_chunk(b, false))) {
        way(&item, s, before, true);
    }
    if (next_f >= 0 && next_f < PASSES && !(s == 0 && is_first_chunk(next_f, true))) {
        way(&item, s, before, false);
    }
    if (next_b >= 0 && next_b < PASSES && !(s == RANKS - 1 && is_last_chunk(next_b, false))) {
        way(&item, s, next, false);
    }
    if (item.n > 0) {
        *add(s, EXCHANGE) = item;
    }
}

/* As Megatron-LM does it: the transfers of a turn are one batch. */
static void make_step(int s)
{
    int warm = (RANKS - s - 1) * 2 + (CHUNKS - 1) * RANKS;
    exchange(s, -1, -1, 0, -1);
    for (int k = 0; k < warm; k++) {
        compute(s, 1000, MAIN);
        exchange(s, k, -1, k + 1, k == warm - 1 ? 0 : -1);
    }
    for (int i = 0; i < PASSES - warm; i++) {
        compute(s, 1000, MAIN);
        compute(s, 2000, BACKWARD);
        exchange(s, warm + i, i, warm + i + 1, i + 1);
    }
    for (int i = PASSES - warm; i < PASSES; i++) {
        compute(s, 2000, BACKWARD);
        exchange(s, -1, i, -1, i + 1);
    }
    (void)add(s, REDUCE);
}

static void pipeline__interleaved(void **state)
{
    (void)state;
    memset(&program, 0, sizeof program);
    for (int s = 0; s < RANKS; s++) {
        for (int k = 0; k < STEPS; k++) {
            make_step(s);
        }
    }
    (void)simulate();
    struct inq_run *run = NULL;
    struct inq_report *report = analyze(&run);
    assert_non_null(report->pipeline);
    assert_int_equal(report->pipeline->microbatches, BATCHES);
    assert_int_equal(report->pipeline->chunks, CHUNKS);
    assert_string_equal(report->account->gains_problem, "");
    assert_string_equal(report->verdict.cls, "healthy");
    inq_report_free(report);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring__of_a_slow_gpu),
        cmocka_unit_test(ring__with_a_slow_link),
        cmocka_unit_test(pipeline__interleaved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
