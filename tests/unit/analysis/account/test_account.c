/* SPDX-License-Identifier: Apache-2.0 */
/* The account, level one: which steps are judged, and every nanosecond in exactly one class. */
#include "support_read.h"
#include "support_shard.h"

#include "analysis/account/account.h"
#include "base/arena.h"
#include "base/mem.h"
#include "inquest/ingest.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static const char GEMM[] = "ampere_sgemm_128x64_nn";
static const char ALL_REDUCE[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

struct made {
    struct inq_arena arena;
    struct inq_run *run;
    struct inq_account *account;
};

static int64_t sum(const int64_t *ns)
{
    int64_t total = 0;
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        assert_true(ns[c] >= 0);
        total += ns[c];
    }
    return total;
}

/* What must hold of any account. */
static void assert_identities(const struct inq_account *a)
{
    int64_t rank_time_ns = 0;
    int64_t waits_ns[2] = {0, 0};
    int64_t parts_ns[INQ_ACCOUNT_CLASS_COUNT] = {0};
    for (size_t i = 0; i < a->n_ranks * a->n_steps; i++) {
        const struct inq_account_cell *cell = &a->cells[i];
        assert_int_equal(sum(cell->ns), cell->judged ? cell->end_ns - cell->start_ns : 0);
        rank_time_ns += sum(cell->ns);
    }
    assert_int_equal(a->rank_time_ns, rank_time_ns);
    assert_int_equal(sum(a->total_ns), rank_time_ns);
    if (a->t_ns >= 0) {
        assert_int_equal(a->t_ns, rank_time_ns / (int64_t)(a->ranks_judged * a->steps_judged));
        assert_int_equal(sum(a->class_ns), a->t_ns);
    }
    for (size_t i = 0; i < a->n_waits; i++) {
        const struct inq_account_wait *w = &a->waits[i];
        assert_true(w->end_ns > w->start_ns);
        waits_ns[w->cls == INQ_ACCOUNT_DEPENDENCY] += w->end_ns - w->start_ns;
    }
    assert_int_equal(waits_ns[0], a->total_ns[INQ_ACCOUNT_WAIT]);
    assert_int_equal(waits_ns[1], a->total_ns[INQ_ACCOUNT_DEPENDENCY]);
    for (size_t i = 0; i < a->n_parts; i++) {
        parts_ns[a->parts[i].cls] += a->parts[i].total_ns;
    }
    for (int c = INQ_ACCOUNT_COMPUTE + 1; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        assert_int_equal(parts_ns[c], a->total_ns[c]);
    }
}

static void assert_spans(const struct inq_account *a)
{
    for (uint32_t r = 0; r < a->n_ranks; r++) {
        struct inq_ledger_span *spans = NULL;
        int64_t ns[INQ_ACCOUNT_CLASS_COUNT] = {0};
        size_t n = 0;
        assert_int_equal(inq_ledger_spans(a, r, &spans, &n, NULL), INQ_OK);
        for (size_t i = 0; i < n; i++) {
            assert_true(spans[i].end_ns > spans[i].start_ns);
            assert_true(i == 0 || spans[i].start_ns >= spans[i - 1].end_ns);
            ns[spans[i].cls] += spans[i].end_ns - spans[i].start_ns;
        }
        assert_memory_equal(ns, a->rank_ns + r * INQ_ACCOUNT_CLASS_COUNT, sizeof ns);
        inq_mem_free(spans);
    }
}

static struct made account_of(struct inq_shard *shards, size_t n)
{
    struct made m = {.run = made_run(shards, n, false)};
    assert_int_equal(m.run->n_traces, 1);
    assert_int_equal(inq_account_measure(m.run->traces[0], NULL, 1, &m.arena, &m.account, NULL),
                     INQ_OK);
    assert_identities(m.account);
    assert_spans(m.account);
    return m;
}

static void release(struct made *m)
{
    inq_run_free(m->run);
    inq_arena_release(&m->arena);
}

static int64_t total(const struct made *m, enum inq_account_class cls)
{
    return m->account->total_ns[cls];
}

static int64_t part(const struct made *m, enum inq_account_class cls, const char *what)
{
    for (size_t i = 0; i < m->account->n_parts; i++) {
        const struct inq_account_part *p = &m->account->parts[i];
        if (p->cls == cls && strcmp(p->what, what) == 0) {
            return p->total_ns;
        }
    }
    return 0;
}

static uint32_t all_reduce(struct inq_shard *shard, int64_t seq)
{
    static const int32_t ranks[] = {0, 1};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = made_group(shard, "0", 2, ranks, 2);
    comm.group_size = 2;
    comm.seq = seq;
    return made_comm(shard, &comm);
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Two ranks, one step of a gemm and an all-reduce; rank 1 computes 2 ms longer. */
static void two_ranks(struct inq_shard shards[2])
{
    for (int r = 0; r < 2; r++) {
        int64_t compute_ns = (r == 0 ? 3 : 5) * MS;
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        made_note(&shards[r], "ProfilerStep#5", 0, 10 * MS, false);
        made_kernel(&shards[r], GEMM, 7, 1 * MS, compute_ns, 10 * US, INQ_NONE);
        made_kernel(&shards[r], ALL_REDUCE, 20, 1 * MS + compute_ns, 7 * MS - compute_ns, 20 * US,
                    all_reduce(&shards[r], 1));
    }
}

static void classes__a_wait_has_the_rank_waited_for(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    struct made m = account_of(shards, 2);
    assert_int_equal(m.account->t_ns, 7 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMPUTE), 8 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_TRANSFER), 4 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 2 * MS);
    assert_int_equal(m.account->n_waits, 1);
    assert_int_equal(m.account->waits[0].rank, 0);
    assert_int_equal(m.account->waits[0].waited_for, 1);
    assert_int_equal(m.account->waits[0].start_ns, 4 * MS);
    assert_int_equal(part(&m, INQ_ACCOUNT_WAIT, "rank 1"), 2 * MS);
    assert_int_equal(part(&m, INQ_ACCOUNT_TRANSFER, "all_reduce, group 0"), 4 * MS);
    release(&m);
}

/* The last arriver could be the one that left no trace. */
static void classes__absent_members_make_it_not_separable(void **state)
{
    (void)state;
    static const int32_t ranks[] = {0, 1, 2};
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        struct inq_comm comm;
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 3);
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_ALLREDUCE;
        comm.group = made_group(&shards[r], "0", 3, ranks, 3);
        comm.group_size = 3;
        made_note(&shards[r], "ProfilerStep#5", 0, 10 * MS, false);
        made_kernel(&shards[r], GEMM, 7, 1 * MS, (3 + r) * MS, 10 * US, INQ_NONE);
        made_kernel(&shards[r], ALL_REDUCE, 20, (4 + r) * MS, (3 - r) * MS, 20 * US,
                    made_comm(&shards[r], &comm));
    }
    struct made m = account_of(shards, 2);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 5 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT) + total(&m, INQ_ACCOUNT_TRANSFER), 0);
    release(&m);
}

static struct made with_residual(int64_t residual_ns)
{
    struct inq_shard shards[2];
    two_ranks(shards);
    struct made m = {.run = made_run(shards, 2, false)};
    for (size_t r = 0; r < 2; r++) {
        m.run->traces[0]->ranks[r].clock.aligned = true;
        m.run->traces[0]->ranks[r].clock.source = (uint32_t)r;
        m.run->traces[0]->ranks[r].clock.residual_ns = residual_ns;
    }
    assert_int_equal(inq_account_measure(m.run->traces[0], NULL, 1, &m.arena, &m.account, NULL),
                     INQ_OK);
    assert_identities(m.account);
    return m;
}

/* The wait is 2 ms: clocks that may be apart by as much leave it open, by less they do not; where
 * nothing connects them, nothing is known. */
static void classes__a_wait_within_the_clocks_doubt_is_not_separable(void **state)
{
    (void)state;
    int64_t residual_ns = 1 * US;
    struct made m = with_residual(residual_ns);
    while (inq_clock_doubt_ns(m.run->traces[0], 0, 1) < 2 * MS) {
        assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 2 * MS);
        assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 0);
        release(&m);
        residual_ns += 10 * US;
        m = with_residual(residual_ns);
    }
    assert_true(residual_ns > 10 * US);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 2 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 0);
    assert_int_equal(total(&m, INQ_ACCOUNT_TRANSFER), 4 * MS);
    release(&m);
    m = with_residual(-1);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 6 * MS);
    release(&m);
}

/* Three hosts. Rank 0 waits 2 ms for rank 1; rank 2 comes 1 ms before that by its own clock, which
 * leaves `residual_ns`: where that is much, it may be the last. */
static struct made with_late_comer(int64_t residual_ns)
{
    static const int32_t ranks[] = {0, 1, 2};
    static const char *const paths[] = {"a", "b", "c"};
    static const int64_t starts_ns[] = {4 * MS, 6 * MS, 5 * MS};
    struct inq_shard shards[3];
    for (int r = 0; r < 3; r++) {
        struct inq_comm comm;
        made_shard(&shards[r], paths[r], r, 3);
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_ALLREDUCE;
        comm.group = made_group(&shards[r], "0", 3, ranks, 3);
        comm.group_size = 3;
        made_note(&shards[r], "ProfilerStep#5", 0, 10 * MS, false);
        made_kernel(&shards[r], GEMM, 7, 1 * MS, starts_ns[r] - 1 * MS, 10 * US, INQ_NONE);
        made_kernel(&shards[r], ALL_REDUCE, 20, starts_ns[r], 9 * MS - starts_ns[r], 20 * US,
                    made_comm(&shards[r], &comm));
    }
    struct made m = {.run = made_run(shards, 3, false)};
    for (size_t r = 0; r < 3; r++) {
        struct inq_clock *clock = &m.run->traces[0]->ranks[r].clock;
        clock->aligned = true;
        clock->source = (uint32_t)r;
        clock->residual_ns = r == 2 ? residual_ns : 0;
    }
    assert_int_equal(inq_account_measure(m.run->traces[0], NULL, 1, &m.arena, &m.account, NULL),
                     INQ_OK);
    assert_identities(m.account);
    return m;
}

/* Rank 0's 2 ms are waiting until rank 2 may be 2 ms later than rank 1, which is 3 ms of doubt; its
 * own 1 ms until its clock may be 1 ms off. */
static void classes__an_arrival_in_doubt_is_not_separable(void **state)
{
    (void)state;
    int64_t sure_ns = (3 * MS - 2 * INQ_ENDS_RESOLUTION_NS) / INQ_DOUBT_RESIDUALS;
    struct made m = with_late_comer(1 * US);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 3 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 0);
    release(&m);
    m = with_late_comer(sure_ns - 1);
    assert_int_equal(inq_clock_doubt_ns(m.run->traces[0], 0, 1), 2 * INQ_ENDS_RESOLUTION_NS);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 2 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 1 * MS);
    release(&m);
    m = with_late_comer(sure_ns + 1);
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 0);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 3 * MS);
    release(&m);
}

/* Compute hides communication; a transfer hides a wait that goes on beside it. */
static void classes__are_given_in_order(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        made_note(&shards[r], "ProfilerStep#5", 0, 10 * MS, false);
        made_kernel(&shards[r], ALL_REDUCE, 20, 1 * MS, 6 * MS, 10 * US, all_reduce(&shards[r], 1));
        made_kernel(&shards[r], ALL_REDUCE, 21, (r == 0 ? 2 : 5) * MS, (r == 0 ? 7 : 4) * MS,
                    20 * US, all_reduce(&shards[r], 2));
        made_kernel(&shards[r], GEMM, 7, 1 * MS, 2 * MS, 15 * US, INQ_NONE);
    }
    struct made m = account_of(shards, 2);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMPUTE), 4 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_TRANSFER), 12 * MS); /* 3 to 9 ms on both */
    assert_int_equal(total(&m, INQ_ACCOUNT_WAIT), 0);
    release(&m);
}

static void classes__what_the_host_was_in(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#5", 0, 20 * MS, false);
    made_note(&shard, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2 * MS, 3 * MS,
              false);
    made_kernel(&shard, GEMM, 7, 1 * MS, 1 * MS, 10 * US, INQ_NONE);
    made_kernel(&shard, GEMM, 7, 6 * MS, 1 * MS, 5900 * US, INQ_NONE); /* after 4 ms idle */
    made_kernel(&shard, GEMM, 7, 7 * MS + 20 * US, 1 * MS, 7 * MS + 5 * US, INQ_NONE);
    made_kernel(&shard, GEMM, 7, 8 * MS + 50 * US, 1 * MS, 5950 * US, INQ_NONE); /* in time */
    struct made m = account_of(&shard, 1);
    assert_int_equal(part(&m, INQ_ACCOUNT_HOST, "data loading"), 4 * MS);
    assert_int_equal(part(&m, INQ_ACCOUNT_HOST, "between launches"), 20 * US);
    assert_int_equal(total(&m, INQ_ACCOUNT_IDLE), 30 * US);
    release(&m);
}

/* The polling that is booked of a gap of 4 ms, in which the host asks so many times from `from_ns`
 * on, every `every_ns`. */
static int64_t polling(int times, int64_t from_ns, int64_t every_ns)
{
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#5", 0, 20 * MS, false);
    made_kernel(&shard, GEMM, 7, 1 * MS, 1 * MS, 10 * US, INQ_NONE);
    made_kernel(&shard, GEMM, 7, 6 * MS, 1 * MS, 6 * MS, INQ_NONE);
    for (int i = 0; i < times; i++) {
        inq_str name = made_name(&shard, "cudaEventQuery");
        assert_int_equal(
            inq_rank_add_call(&shard.ranks[0], from_ns + i * every_ns, 10 * US, name, 0, 0, NULL),
            INQ_OK);
    }
    struct made m = account_of(&shard, 1);
    int64_t ns = part(&m, INQ_ACCOUNT_HOST, "polling");
    assert_int_equal(ns + part(&m, INQ_ACCOUNT_HOST, "not recorded"), 4 * MS);
    release(&m);
    return ns;
}

/* Polling is no work: a gap in which the host only asked is named so, and by nothing else. One that
 * asks now and then, with more than half of the gap in between, does something else. */
static void classes__polling_is_no_work(void **state)
{
    (void)state;
    assert_int_equal(polling(30, 2 * MS, 130 * US), 4 * MS);
    assert_int_equal(polling(1000, 2 * MS, 4 * US), 4 * MS); /* more than are looked at */
    assert_int_equal(polling(1, 4 * MS, 0), 4 * MS);         /* 2 ms before it */
    assert_int_equal(polling(1, 4 * MS + 1, 0), 0);
    assert_int_equal(polling(3, 5900 * US, 20 * US), 0);
    assert_int_equal(polling(0, 0, 0), 0);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A kernel of no known name: beside known compute it computes, elsewhere it is not classified, and
 * what looks like communication is said to. */
static void kernels__of_unknown_names_go_by_their_company(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#5", 0, 20 * MS, false);
    made_kernel(&shard, GEMM, 7, 1 * MS, 2 * MS, 10 * US, INQ_NONE);
    made_kernel(&shard, "zeta", 7, 3 * MS, 1 * MS, 20 * US, INQ_NONE);
    made_kernel(&shard, "zeta", 13, 4 * MS, 1 * MS, 30 * US, INQ_NONE);
    made_kernel(&shard, "mylib::peer_exchange", 7, 5 * MS, 1 * MS, 40 * US, INQ_NONE);
    struct made m = account_of(&shard, 1);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMPUTE), 3 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_UNCLASSIFIED), 2 * MS);
    assert_string_equal(m.account->looks_like_comm, "mylib::peer_exchange");
    release(&m);
}

/* A library that no list names: its launches are annotated, or its stream is a communication
 * library's. */
static void kernels__communicate_where_annotation_or_stream_say_so(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 1);
    made_note(&shard, "ProfilerStep#5", 0, 20 * MS, false);
    made_note(&shard, "hccl:all_reduce", 15 * US, 10 * US, false);
    made_kernel(&shard, GEMM, 7, 1 * MS, 2 * MS, 10 * US, INQ_NONE);
    made_kernel(&shard, "te5_zz", 9, 3 * MS, 1 * MS, 20 * US, INQ_NONE);
    made_kernel(&shard, ALL_REDUCE, 20, 4 * MS, 1 * MS, 30 * US, INQ_NONE);
    made_kernel(&shard, "te7_zz", 20, 5 * MS, 1 * MS, 40 * US, INQ_NONE);
    struct made m = account_of(&shard, 1);
    assert_int_equal(total(&m, INQ_ACCOUNT_COMM), 3 * MS);
    assert_int_equal(total(&m, INQ_ACCOUNT_UNCLASSIFIED), 0);
    release(&m);
}

/* ---- steps ----------------------------------------------------------------------------------- */

enum { STEPS = 17 };

/* A loop of 31 ms steps on the GPU. `ahead`: the host marks and launches them all at once, 0.7 ms
 * each, and waits for the GPU in the last. From the step `gap` on recording went on two steps
 * later.
 */
static void run_loop(struct inq_shard *shard, int rank, bool ahead, int skip, int gap)
{
    made_shard(shard, rank == 0 ? "a" : "b", rank, 2);
    for (int s = 0; s < STEPS; s++) {
        char mark[32];
        int number = s < gap ? s : s + 2;
        int64_t gpu_ns = 1 * MS + number * 31 * MS;
        int64_t host_ns = ahead ? s * 700 * US : gpu_ns - 100 * US;
        (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", 10 + number);
        made_note(shard, mark, host_ns, ahead ? 690 * US : 31 * MS - 10 * US, false);
        for (int k = 0; k < 30 && (s != 0 || k >= skip); k++) {
            made_kernel(shard, GEMM, 7, gpu_ns + k * MS, 1 * MS, host_ns + (k + 1) * 10 * US,
                        INQ_NONE);
        }
        made_kernel(shard, ALL_REDUCE, 20, gpu_ns + 30 * MS, 1 * MS, host_ns + 400 * US,
                    all_reduce(shard, s));
    }
}

static struct made loop_account(bool ahead, int skip)
{
    struct inq_shard shards[2];
    run_loop(&shards[0], 0, ahead, skip, STEPS);
    run_loop(&shards[1], 1, ahead, skip, STEPS);
    return account_of(shards, 2);
}

/* Marks say which launches belong to a step, not how long it took; and not when the first one
 * began.
 */
static void steps__are_as_long_as_the_gpu_took(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        struct made m = loop_account(ahead, 0);
        assert_int_equal(m.account->steps_judged, STEPS - 1);
        assert_int_equal(m.account->t_ns, 31 * MS);
        for (int s = 0; s < STEPS; s++) {
            assert_int_equal(m.account->steps[s].length_ns, 31 * MS);
            assert_int_equal(m.account->steps[s].number, 10 + s);
        }
        release(&m);
    }
}

/* Nor does anything say when a step began before which steps were not recorded. */
static void steps__after_a_gap_lack_their_beginning(void **state)
{
    (void)state;
    for (int gap = 1; gap < STEPS; gap += 3) {
        struct inq_shard shards[2];
        run_loop(&shards[0], 0, false, 0, gap);
        run_loop(&shards[1], 1, false, 0, gap);
        struct made m = account_of(shards, 2);
        assert_int_equal(m.account->steps_judged, STEPS - 2);
        assert_string_equal(m.account->steps[0].why, "nothing recorded says when it began");
        assert_string_equal(m.account->steps[gap].why, "nothing recorded says when it began");
        release(&m);
    }
}

static void steps__cut_ones_are_set_aside_with_a_reason(void **state)
{
    (void)state;
    struct made m = loop_account(false, 20);
    assert_int_equal(m.account->steps_judged, STEPS - 1);
    assert_false(m.account->steps[0].judged);
    assert_true(strlen(m.account->steps[0].why) > 0);
    assert_int_equal(m.account->t_ns, 31 * MS);
    release(&m);
}

/* A step that only one of the ranks has whole is nobody's. */
static void steps__are_judged_on_all_ranks_or_not_at_all(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    run_loop(&shards[0], 0, false, 0, STEPS);
    run_loop(&shards[1], 1, false, 20, STEPS);
    struct made m = account_of(shards, 2);
    assert_int_equal(m.account->ranks_judged, 2);
    assert_int_equal(m.account->steps_judged, STEPS - 1);
    assert_false(inq_account_cell_at(m.account, 0, 0)->judged);
    release(&m);
}

/* A step of which the first `kernels` of ten are recorded. */
static void add_part_of_step(struct inq_shard *shard, int s, int64_t from_ns, int64_t length_ns,
                             int kernels)
{
    char mark[32];
    (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
    made_note(shard, mark, from_ns, length_ns, false);
    for (int k = 0; k < kernels; k++) {
        made_kernel(shard, GEMM, 7, from_ns + k * (length_ns / 10), length_ns / 10,
                    from_ns + k * 10 * US, INQ_NONE);
    }
}

static void add_step(struct inq_shard *shard, int s, int64_t from_ns, int64_t length_ns)
{
    add_part_of_step(shard, s, from_ns, length_ns, 10);
}

/* Two ranks of six steps of ten kernels. `count`: how many rank 1 has in its step 3; `lost`: its
 * mark of step 4 is missing, so that those of step 4 seem to be of step 3. */
static struct made uneven_account(int count, bool lost)
{
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        int64_t at_ns = 0;
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        for (int s = 0; s < 6; s++) {
            int n = r == 1 && s == 3 ? count : 10;
            int marks = r == 1 && lost ? (s == 3 ? 2 : s == 4 ? 0 : 1) : 1;
            char mark[32];
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
            if (marks > 0) {
                made_note(&shards[r], mark, at_ns, marks * 20 * MS, false);
            }
            for (int k = 0; k < n; k++) {
                made_kernel(&shards[r], GEMM, 7, at_ns + k * MS, 1 * MS, at_ns + k * 10 * US,
                            INQ_NONE);
            }
            at_ns += 20 * MS;
        }
    }
    return account_of(shards, 2);
}

/* A longer batch, one more micro-batch: the rank did that, and its step is judged as it is. Less
 * than the others may be what was not recorded. Ten percent more or less are nothing. */
static void steps__with_more_work_on_one_rank_are_judged(void **state)
{
    (void)state;
    struct {
        int count;
        bool lost, judged;
    } cases[] = {{10, false, true}, {15, false, true}, {12, false, true}, {9, false, true},
                 {8, false, false}, {5, false, false}, {10, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m = uneven_account(cases[i].count, cases[i].lost);
        assert_int_equal(m.account->steps[3].judged, cases[i].judged);
        assert_int_equal(m.account->steps[2].judged, true);
        release(&m);
    }
}

/* Six steps of two ranks; in step 3 the hosts of rank 1, or of both, save a checkpoint for 30 ms
 * before they launch anything. */
static struct made saving_account(bool both)
{
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        int64_t at_ns = 0;
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        for (int s = 0; s < 6; s++) {
            bool saves = s == 3 && (r == 1 || both);
            int64_t late_ns = saves ? 30 * MS : 0;
            char mark[32];
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
            made_note(&shards[r], mark, at_ns, 10 * MS + late_ns, false);
            made_note(&shards[r], "step", at_ns, 9 * MS + late_ns, false);
            if (saves) {
                made_note(&shards[r], "save_checkpoint", at_ns, 30 * MS, false);
            }
            at_ns += late_ns;
            for (int k = 0; k < 10; k++) {
                made_kernel(&shards[r], GEMM, 7, at_ns + k * MS, 1 * MS, at_ns + k * 10 * US,
                            INQ_NONE);
            }
            at_ns += 10 * MS;
        }
    }
    return account_of(shards, 2);
}

static void expect_why(const struct inq_account *account, size_t step, int64_t more_ns,
                       const char *expected)
{
    struct inq_arena arena = {0};
    const char *why = NULL;
    assert_int_equal(inq_account_explain_step(account, step, more_ns, &arena, &why, NULL), INQ_OK);
    assert_string_equal(why, expected);
    inq_arena_release(&arena);
}

/* A longer step is told with what is longer in it: the class of time, on one rank or on all, with
 * how many kernels, in which annotation (of those that hold each other the innermost). What
 * explains less than half of it is not told. */
static void steps__a_long_one_is_told_with_what_is_longer(void **state)
{
    (void)state;
    struct made m = saving_account(false);
    expect_why(m.account, 3, 30 * MS,
               "30.0 ms more waiting for the host on rank 1, in save_checkpoint");
    expect_why(m.account, 3, 60 * MS,
               "30.0 ms more waiting for the host on rank 1, in save_checkpoint");
    expect_why(m.account, 3, 61 * MS, "");
    expect_why(m.account, 2, 30 * MS, "");
    release(&m);
    m = saving_account(true);
    expect_why(m.account, 3, 30 * MS,
               "30.0 ms more waiting for the host on all ranks, in save_checkpoint");
    release(&m);
    m = uneven_account(15, false);
    expect_why(m.account, 3, 5 * MS, "5.00 ms more compute on rank 1, 1.5 times as many kernels");
    release(&m);
}

/* 1.5 times the median is the limit. */
static void steps__the_first_are_a_warm_up_when_far_longer(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        struct inq_shard shard;
        int64_t at_ns = 0;
        made_shard(&shard, "a", 0, 1);
        for (int s = 0; s < 6; s++) {
            int64_t length_ns = s == 1 ? (longer ? 1510 : 1490) * 10 * US : 10 * MS;
            add_step(&shard, s, at_ns, length_ns);
            at_ns += length_ns;
        }
        struct made m = account_of(&shard, 1);
        assert_true(m.account->steps[1].judged); /* not the first: a slow step, no warm-up */
        release(&m);
        made_shard(&shard, "a", 0, 1);
        at_ns = 0;
        for (int s = 0; s < 6; s++) {
            int64_t length_ns = s < 2 ? (longer ? 1510 : 1490) * 10 * US : 10 * MS;
            add_step(&shard, s, at_ns, length_ns);
            at_ns += length_ns;
        }
        m = account_of(&shard, 1);
        assert_int_equal(m.account->steps[1].judged, !longer);
        release(&m);
    }
}

/* A longer first step bears the profiler's start or a warm-up, unless another step is as long (10 %
 * of a step): then it is what happens now and then. */
static void steps__a_longer_first_one_counts_where_it_recurs(void **state)
{
    (void)state;
    static const struct {
        int first, other;
        bool counts;
    } cases[] = {{130, 100, false}, {130, 119, false}, {130, 121, true},  {130, 139, true},
                 {130, 141, false}, {170, 159, false}, {170, 161, true},  {170, 179, true},
                 {170, 181, false}, {109, 100, true},  {111, 100, false}, {92, 100, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct inq_shard shard;
        int64_t at_ns = 0;
        made_shard(&shard, "a", 0, 1);
        for (int s = 0; s < 8; s++) {
            int tenths = s == 0 ? cases[k].first : s == 5 ? cases[k].other : 100;
            add_step(&shard, s, at_ns, tenths * 100 * US);
            at_ns += tenths * 100 * US;
        }
        struct made m = account_of(&shard, 1);
        assert_int_equal(m.account->steps[0].judged, cases[k].counts);
        release(&m);
    }
}

/* A rank that is slow in the first step ends it later than the others: they began together. One
 * that began later did not. */
static void steps__the_first_one_began_together_or_not(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct inq_shard shards[2];
        for (int r = 0; r < 2; r++) {
            int64_t at_ns = late * r * 2 * MS / 10;
            made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
            for (int s = 0; s < 6; s++) {
                int64_t end_ns = (s + 1) * 10 * MS + (!late && r == 1 && s == 0 ? 5 * MS / 10 : 0);
                add_step(&shards[r], s, at_ns, end_ns - at_ns);
                at_ns = end_ns;
            }
        }
        struct made m = account_of(shards, 2);
        assert_int_equal(m.account->steps[0].judged, !late);
        release(&m);
    }
}

/* Where a step of a rank was cut its end says nothing of when the rank began. */
static void steps__the_first_one_is_held_against_whole_ones(void **state)
{
    (void)state;
    struct inq_shard shards[4];
    for (int r = 0; r < 4; r++) {
        int64_t at_ns = 0;
        made_shard(&shards[r], "a", r, 4);
        for (int s = 0; s < 8; s++) {
            int64_t end_ns = (s + 1) * 10 * MS + (r == 1 && s == 0 ? 5 * MS / 10 : 0);
            bool cut = r < 2 && s == 1 + r;
            add_part_of_step(&shards[r], s, at_ns, end_ns - at_ns, cut ? 5 : 10);
            at_ns = end_ns;
        }
    }
    struct made m = account_of(shards, 4);
    assert_false(inq_account_cell_at(m.account, 0, 1)->whole);
    assert_false(inq_account_cell_at(m.account, 1, 2)->whole);
    assert_true(m.account->steps[0].judged);
    release(&m);
}

/* A receive posted for the next step neither ends this one nor begins that one. */
static void steps__transfers_posted_early_bound_none(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_shard(&shard, "a", 0, 2);
    for (int s = 0; s < 6; s++) {
        struct inq_comm comm;
        inq_comm_init(&comm);
        comm.kind = INQ_COLL_RECV;
        comm.peer = 1;
        add_step(&shard, s, s * 20 * MS, 10 * MS);
        made_kernel(&shard, "ncclDevKernel_SendRecv(ncclDevComm*)", 20, s * 20 * MS + 5 * MS,
                    19 * MS, s * 20 * MS + 200 * US, made_comm(&shard, &comm));
    }
    struct made m = account_of(&shard, 1);
    for (int s = 1; s < 6; s++) {
        assert_int_equal(m.account->steps[s].length_ns, 20 * MS);
    }
    release(&m);
}

static void steps__without_any_the_capture_is_one_interval(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    for (int r = 0; r < 2; r++) {
        made_shard(&shards[r], r == 0 ? "a" : "b", r, 2);
        made_kernel(&shards[r], GEMM, 7, r * MS, 2 * MS, INQ_TIME_NONE, INQ_NONE);
        made_kernel(&shards[r], "volta_sgemm_64x64_nn", 7, 4 * MS, 1 * MS, INQ_TIME_NONE, INQ_NONE);
    }
    struct made m = account_of(shards, 2);
    assert_true(m.account->one_interval);
    assert_true(strlen(m.account->one_interval_why) > 0);
    assert_int_equal(m.account->t_ns, 4 * MS); /* what both recorded */
    release(&m);
}

/* ---- the checker ------------------------------------------------------------------------------
 */

static void checker__takes_back_what_contradicts_the_account(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    struct made m = account_of(shards, 2);
    struct inq_trace trace = *m.run->traces[0];
    int64_t t_ns = m.account->t_ns;
    struct inq_account_cause causes[] = {{.id = "fits", .gain_alone_ns = t_ns - 5 * MS},
                                         {.id = "too much", .gain_alone_ns = t_ns - 5 * MS + 1}};
    struct inq_finding findings[] = {
        {.id = "a", .cost_ns_per_step = t_ns, .confidence = INQ_CONFIDENCE_ESTABLISHED},
        {.id = "b", .cost_ns_per_step = t_ns + 1, .confidence = INQ_CONFIDENCE_ESTABLISHED}};
    struct inq_report report = {
        .arena = &m.arena,
        .trace = &trace,
        .account = m.account,
        .n_findings = 2,
        .findings = findings,
        .verdict = {.headline = "", .cls = inq_finding_kind_text(findings[0].kind)}};
    m.account->n_causes = 2;
    m.account->causes = causes;
    m.account->ideal_ns = 5 * MS;
    assert_int_equal(inq_account_check(&report, NULL), INQ_OK);
    assert_int_equal(causes[0].gain_alone_ns, t_ns - 5 * MS);
    assert_int_equal(causes[1].gain_alone_ns, -1);
    assert_int_equal(findings[0].cost_ns_per_step, t_ns);
    assert_int_equal(findings[1].cost_ns_per_step, -1);
    assert_int_equal(report.verdict.lost_ns_per_step, t_ns);
    assert_int_equal(m.account->n_violations, 2);
    assert_int_equal(findings[0].confidence, INQ_CONFIDENCE_ESTABLISHED);
    trace.n_missing = 1; /* the absent one may have caused it */
    assert_int_equal(inq_account_check(&report, NULL), INQ_OK);
    assert_int_equal(findings[0].confidence, INQ_CONFIDENCE_SUPPORTED);
    release(&m);
}

/* So much of the compute becomes waiting for nobody known. */
static void leave_unexplained(struct inq_account *a, int64_t ns)
{
    int64_t waits_ns = a->class_ns[INQ_ACCOUNT_WAIT] + a->class_ns[INQ_ACCOUNT_DEPENDENCY];
    a->class_ns[INQ_ACCOUNT_COMPUTE] -= ns - waits_ns;
    a->class_ns[INQ_ACCOUNT_WAIT] += ns - waits_ns;
    a->unexplained_wait_ns = ns;
}

/* Each row is rounded down by itself: two ns more than the causes are the limit. */
static void checker__waiting_by_its_roots_sums_to_the_waiting(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        struct inq_shard shards[2];
        two_ranks(shards);
        struct made m = account_of(shards, 2);
        struct inq_report report = {.arena = &m.arena,
                                    .trace = m.run->traces[0],
                                    .account = m.account,
                                    .verdict = {.headline = "", .cls = "healthy"}};
        leave_unexplained(m.account, m.account->t_ns / 100);
        m.account->unexplained_wait_ns += 2 + above;
        assert_int_equal(inq_account_check(&report, NULL), INQ_OK);
        assert_int_equal(m.account->n_violations, above);
        assert_true((m.account->unexplained_wait_ns < 0) == above);
        release(&m);
    }
}

/* 3 % is the limit. */
static void checker__nobody_is_healthy_with_unexplained_waiting(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        struct inq_shard shards[2];
        two_ranks(shards);
        struct made m = account_of(shards, 2);
        struct inq_report report = {
            .arena = &m.arena,
            .trace = m.run->traces[0],
            .account = m.account,
            .verdict = {.headline = "", .cls = "healthy", .confidence = INQ_CONFIDENCE_SUPPORTED}};
        leave_unexplained(m.account, m.account->t_ns * 3 / 100 + above);
        assert_int_equal(inq_account_check(&report, NULL), INQ_OK);
        assert_int_equal(m.account->n_violations, above);
        assert_int_equal(report.verdict.confidence,
                         above ? INQ_CONFIDENCE_HYPOTHESIS : INQ_CONFIDENCE_SUPPORTED);
        release(&m);
    }
}

static void checker__an_account_that_does_not_sum_is_none(void **state)
{
    (void)state;
    struct inq_shard shards[2];
    two_ranks(shards);
    struct made m = account_of(shards, 2);
    struct inq_report report = {.arena = &m.arena,
                                .trace = m.run->traces[0],
                                .account = m.account,
                                .verdict = {.headline = "", .cls = ""}};
    m.account->total_ns[INQ_ACCOUNT_HOST]++;
    assert_int_equal(inq_account_check(&report, NULL), INQ_LIMIT);
    release(&m);
}

/* ---- real traces ----------------------------------------------------------------------------- */

static struct inq_report *analyzed(const struct inq_trace *trace)
{
    static const char *const only[] = {"account", "time_breakdown"};
    struct inq_analysis_options options = {.jobs = 2, .only = only, .n_only = 2};
    struct inq_report *report = NULL;
    assert_int_equal(inq_analyze(trace, &options, &report, NULL), INQ_OK);
    return report;
}

static void real__every_trace_is_accounted_for(void **state)
{
    (void)state;
    static const char *const folders[] = {"kineto", "chrome", "whatif",
                                          "primus", "nsys",   "deepseek"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[TEST_PATH];
        const char *paths[] = {path};
        struct inq_run *run = NULL;
        if (!test_data_path(path, INQ_SHARED_DATA, folders[i])) {
            continue;
        }
        assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
        for (size_t t = 0; t < run->n_traces; t++) {
            struct inq_report *report = analyzed(run->traces[t]);
            if (report->account != NULL) {
                assert_identities(report->account);
                assert_spans(report->account);
            }
            inq_report_free(report);
        }
        inq_run_free(run);
    }
}

/* 113.0 ms of 129 ms have communication running, 4.2 ms of it exposed; one rank of 64 is there, so
 * nothing is separable. */
static void real__deepseeks_communication_is_recognized(void **state)
{
    (void)state;
    char path[TEST_PATH];
    const char *paths[] = {path};
    struct inq_run *run = NULL;
    if (!test_data_path(path, INQ_SHARED_DATA, "deepseek")) {
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
    struct inq_report *report = analyzed(run->traces[0]);
    const struct inq_account *a = report->account;
    assert_int_equal((report->rank_times[0].comm_ns + 50 * US) / (100 * US), 1130);
    assert_int_equal(a->t_ns / MS, 129);
    assert_int_equal((a->class_ns[INQ_ACCOUNT_COMM] + 50 * US) / (100 * US), 42);
    assert_int_equal(a->class_ns[INQ_ACCOUNT_UNCLASSIFIED], 0);
    assert_true(a->class_ns[INQ_ACCOUNT_HOST] + a->class_ns[INQ_ACCOUNT_IDLE] < 550 * US);
    inq_report_free(report);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes__a_wait_has_the_rank_waited_for),
        cmocka_unit_test(classes__absent_members_make_it_not_separable),
        cmocka_unit_test(classes__a_wait_within_the_clocks_doubt_is_not_separable),
        cmocka_unit_test(classes__an_arrival_in_doubt_is_not_separable),
        cmocka_unit_test(classes__are_given_in_order),
        cmocka_unit_test(classes__what_the_host_was_in),
        cmocka_unit_test(classes__polling_is_no_work),
        cmocka_unit_test(kernels__of_unknown_names_go_by_their_company),
        cmocka_unit_test(kernels__communicate_where_annotation_or_stream_say_so),
        cmocka_unit_test(steps__are_as_long_as_the_gpu_took),
        cmocka_unit_test(steps__after_a_gap_lack_their_beginning),
        cmocka_unit_test(steps__cut_ones_are_set_aside_with_a_reason),
        cmocka_unit_test(steps__are_judged_on_all_ranks_or_not_at_all),
        cmocka_unit_test(steps__with_more_work_on_one_rank_are_judged),
        cmocka_unit_test(steps__a_long_one_is_told_with_what_is_longer),
        cmocka_unit_test(steps__the_first_are_a_warm_up_when_far_longer),
        cmocka_unit_test(steps__a_longer_first_one_counts_where_it_recurs),
        cmocka_unit_test(steps__the_first_one_began_together_or_not),
        cmocka_unit_test(steps__the_first_one_is_held_against_whole_ones),
        cmocka_unit_test(steps__transfers_posted_early_bound_none),
        cmocka_unit_test(steps__without_any_the_capture_is_one_interval),
        cmocka_unit_test(checker__takes_back_what_contradicts_the_account),
        cmocka_unit_test(checker__waiting_by_its_roots_sums_to_the_waiting),
        cmocka_unit_test(checker__nobody_is_healthy_with_unexplained_waiting),
        cmocka_unit_test(checker__an_account_that_does_not_sum_is_none),
        cmocka_unit_test(real__every_trace_is_accounted_for),
        cmocka_unit_test(real__deepseeks_communication_is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
