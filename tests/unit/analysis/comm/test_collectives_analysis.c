/* SPDX-License-Identifier: Apache-2.0 */
/* Who waited for whom: figures of matched collectives, by hand and on real runs. */
#include "analysis/comm/comm.h"

#include "inquest/ingest.h"
#include "trace/trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RANKS = 3, ROWS = 2000, OPS = 2000 };

/* Three ranks; the k-th collective is row k of each. */
struct fixture {
    int64_t start[RANKS][ROWS], dur[RANKS][ROWS];
    uint32_t comm[RANKS][ROWS];
    struct inq_comm comms[RANKS][ROWS];
    struct inq_rank ranks[RANKS];
    struct inq_group groups[2];
    struct inq_collective collectives[OPS];
    struct inq_member members[OPS * RANKS];
    struct inq_trace trace;
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->groups[0].size = RANKS;
    f->groups[1].size = 2;
    for (int r = 0; r < RANKS; r++) {
        f->ranks[r].rank = r;
        f->ranks[r].events.start_ns = f->start[r];
        f->ranks[r].events.dur_ns = f->dur[r];
        f->ranks[r].events.comm = f->comm[r];
        f->ranks[r].comms = f->comms[r];
    }
    f->trace = (struct inq_trace){.n_ranks = RANKS,
                                  .ranks = f->ranks,
                                  .n_groups = 2,
                                  .groups = f->groups,
                                  .collectives = f->collectives,
                                  .members = f->members};
}

/* Opens a collective; members follow with `join`. */
static void begin(struct fixture *f, enum inq_coll_kind kind, uint32_t group)
{
    f->collectives[f->trace.n_collectives++] =
        (struct inq_collective){.group = group,
                                .kind = kind,
                                .first_member = (uint32_t)f->trace.n_members,
                                .complete = true};
}

static void join(struct fixture *f, uint32_t rank, int64_t start, int64_t end, int64_t elems)
{
    struct inq_rank *r = &f->ranks[rank];
    size_t i = r->events.n++;

    f->start[rank][i] = start;
    f->dur[rank][i] = end - start;
    f->comm[rank][i] = (uint32_t)r->n_comms;
    r->comms[r->n_comms++] = (struct inq_comm){.in_elems = elems,
                                               .out_elems = elems,
                                               .dtype_bytes = elems >= 0 ? 4 : 0,
                                               .group_size = -1,
                                               .batch = INQ_NONE};
    f->members[f->trace.n_members++] = (struct inq_member){rank, (uint32_t)i};
    f->collectives[f->trace.n_collectives - 1].n_members++;
}

static struct inq_report *analyze(const struct fixture *f, int jobs)
{
    const char *only[] = {"collectives"};
    struct inq_analysis_options options = {.jobs = jobs, .only = only, .n_only = 1};
    struct inq_report *report = NULL;

    assert_int_equal(inq_analyze(&f->trace, &options, &report, NULL), INQ_OK);
    return report;
}

static void figures__waits_skew_transfer_spread(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLREDUCE, 0);
    join(&f, 0, 100, 500, 1000);
    join(&f, 1, 300, 510, 1000);
    join(&f, 2, 250, 504, 1000);
    struct inq_report *report = analyze(&f, 1);
    const struct inq_collectives *c = report->collectives;
    assert_int_equal(c->matched, 1);
    assert_int_equal(c->ends_spread_ns_max, 10);
    assert_int_equal(c->raw_ends_spread_ns_max, 10);
    assert_int_equal(c->n_waits, 3);
    assert_int_equal(c->waits[0].wait_ns, 200);
    assert_int_equal(c->waits[1].wait_ns, 0);
    assert_int_equal(c->waits[2].wait_ns, 50);
    assert_int_equal(c->waits[1].last_arrivals, 1);
    assert_int_equal(c->waits[0].first_arrivals, 1);
    assert_int_equal(c->waits[0].last_arrivals, 0);
    assert_int_equal(c->n_by_op, 1);
    assert_int_equal(c->by_op[0].count, 1);
    assert_int_equal(c->by_op[0].bytes, 4000);
    assert_int_equal(c->by_op[0].wait_ns, 250);
    assert_int_equal(c->by_op[0].skew_ns_median, 200);
    assert_int_equal(c->by_op[0].transfer_ns_median, 204); /* of 200, 210, 204 */
    /* 4000 B in 204 ns, and 2(n-1)/n of it on the bus */
    assert_int_equal(llround(c->by_op[0].algbw_gbps * 1e6), 19607843);
    assert_int_equal(llround(c->by_op[0].busbw_gbps * 1e6), 26143791);
    assert_int_equal(c->n_worst, 1);
    assert_int_equal(c->worst[0].last_rank, 1);
    assert_int_equal(c->worst[0].start_ns, 100);
    assert_int_equal(c->worst[0].end_ns, 510);
    inq_report_free(report);
}

static void figures__raw_spread_undoes_the_alignment(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLREDUCE, 0);
    join(&f, 0, 100, 500, -1);
    join(&f, 1, 100, 505, -1);
    f.ranks[1].clock = (struct inq_clock){.aligned = true, .offset_ns = -2000};
    struct inq_report *report = analyze(&f, 1);
    assert_int_equal(report->collectives->ends_spread_ns_max, 5);
    assert_int_equal(report->collectives->raw_ends_spread_ns_max, 2005);
    assert_true(isnan(report->collectives->by_op[0].algbw_gbps)); /* sizes unknown */
    assert_int_equal(report->collectives->by_op[0].bytes, -1);
    inq_report_free(report);
}

static void waits__do_not_outlast_an_op_that_need_not_wait(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_BROADCAST, 0);
    join(&f, 0, 100, 150, 10); /* the root is done before rank 1 comes */
    join(&f, 1, 400, 460, 10);
    join(&f, 2, 110, 461, 10);
    struct inq_report *report = analyze(&f, 1);
    assert_int_equal(report->collectives->waits[0].wait_ns, 50);
    assert_int_equal(report->collectives->waits[1].wait_ns, 0);
    assert_int_equal(report->collectives->waits[2].wait_ns, 290);
    assert_int_equal(report->collectives->by_op[0].transfer_ns_median, 60); /* of 0, 60, 61 */
    assert_int_equal(report->collectives->ends_spread_ns_max, -1);
    inq_report_free(report);
}

static void waits__are_not_counted_where_ends_disagree(void **state)
{
    (void)state;
    static struct fixture f;
    const int64_t ms = 1000000;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLTOALL, 0);
    join(&f, 0, 0, 20 * ms, -1);
    join(&f, 1, 10 * ms, 24 * ms, -1);
    f.collectives[0].ends_disagree = true;
    begin(&f, INQ_COLL_ALLTOALL, 0);
    join(&f, 0, 100 * ms, 120 * ms, -1);
    join(&f, 1, 103 * ms, 120 * ms, -1);
    struct inq_report *report = analyze(&f, 1);
    assert_int_equal(report->collectives->matched, 2);
    assert_int_equal(report->collectives->uneven, 1);
    assert_int_equal(report->collectives->waits[0].wait_ns, 3 * ms);
    assert_int_equal(report->collectives->waits[0].collectives, 1);
    assert_int_equal(report->collectives->waits[1].last_arrivals, 1);
    assert_int_equal(report->collectives->by_op[0].wait_ns, 3 * ms);
    assert_int_equal(report->collectives->by_op[0].count, 2);
    assert_int_equal(report->collectives->n_worst, 1);
    assert_int_equal(report->collectives->ends_spread_ns_max, 4 * ms);
    inq_report_free(report);
}

/* Ends of two members that agree, or not, on clocks that agree within `residual_ns`. */
static bool ends_disagree(int64_t start_ns, int64_t end_ns, int64_t other_start_ns,
                          int64_t other_end_ns, int64_t residual_ns)
{
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLREDUCE, 0);
    join(&f, 0, start_ns, end_ns, -1);
    join(&f, 1, other_start_ns, other_end_ns, -1);
    f.ranks[0].clock.residual_ns = residual_ns;
    inq_collectives_check_ends(&f.trace);
    return f.collectives[0].ends_disagree;
}

static void ends__agree_as_far_as_clocks_and_lengths_tell(void **state)
{
    (void)state;
    const int64_t us = 1000;
    const int64_t ms = 1000 * us;

    assert_false(ends_disagree(0, 30 * us, 10 * us, 31 * us, 0));
    assert_true(ends_disagree(0, 30 * us, 10 * us, 60 * us, 0)); /* far below a millisecond */
    assert_false(ends_disagree(0, 30 * us, 10 * us, 60 * us, 10 * us)); /* clocks explain it */
    assert_false(ends_disagree(0, 1000 * ms, 990 * ms, 1005 * ms, 0));  /* far above one */
    assert_true(ends_disagree(0, 1000 * ms, 900 * ms, 1100 * ms, 0));
    assert_true(ends_disagree(0, 1000 * ms, 1001 * ms, 1005 * ms, 0)); /* left before the other */
}

static void arrivals__of_equals_the_lowest_rank(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLREDUCE, 0);
    join(&f, 2, 100, 200, -1);
    join(&f, 1, 100, 200, -1);
    join(&f, 0, 100, 200, -1);
    struct inq_report *report = analyze(&f, 1);
    assert_int_equal(report->collectives->waits[0].last_arrivals, 1);
    assert_int_equal(report->collectives->waits[0].first_arrivals, 1);
    assert_int_equal(report->collectives->n_worst, 0); /* nobody waited */
    inq_report_free(report);
}

static void members__alone_wait_for_nobody(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    begin(&f, INQ_COLL_ALLREDUCE, 1);
    join(&f, 2, 100, 200, 25);
    f.collectives[0].complete = false;
    f.trace.unmatched_comms = 4;
    struct inq_report *report = analyze(&f, 1);
    assert_int_equal(report->collectives->n_waits, 0);
    assert_int_equal(report->collectives->unmatched, 4);
    assert_int_equal(report->collectives->ends_spread_ns_max, -1);
    assert_int_equal(report->collectives->by_op[0].transfer_ns_median, 100);
    inq_report_free(report);
}

static void table__one_row_for_each_kind_and_group(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    for (int i = 0; i < 3; i++) {
        int64_t at = (int64_t)1000 * i;
        begin(&f, i == 1 ? INQ_COLL_ALLGATHER : INQ_COLL_ALLREDUCE, 0);
        join(&f, 0, at, at + 100, 10);
        join(&f, 1, at + 10 + i, at + 110, 10);
    }
    begin(&f, INQ_COLL_ALLREDUCE, 1);
    join(&f, 0, 5000, 5900, 10);
    join(&f, 1, 5800, 5900, 30);
    struct inq_report *report = analyze(&f, 1);
    const struct inq_collectives *c = report->collectives;
    assert_int_equal(c->n_by_op, 3);
    assert_int_equal(c->by_op[0].group, 1); /* most waiting first */
    assert_int_equal(c->by_op[0].wait_ns, 800);
    assert_int_equal(c->by_op[0].group_size, 2);
    assert_int_equal(c->by_op[0].bytes, 120); /* the largest that a member knows */
    assert_int_equal(c->by_op[1].count, 2);
    assert_int_equal(c->by_op[1].wait_ns, 10 + 12);
    assert_int_equal(c->by_op[2].kind, INQ_COLL_ALLGATHER);
    assert_int_equal(c->n_worst, 4);
    assert_int_equal(c->worst[0].collective, 3);
    assert_int_equal(c->worst[1].collective, 2);
    assert_int_equal(c->worst[3].collective, 0);
    inq_report_free(report);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void jobs__change_nothing_and_sums_agree_with_counting(void **state)
{
    (void)state;
    static struct fixture f;
    int64_t waits[RANKS] = {0};
    uint32_t random = 5;

    fixture_init(&f);
    for (int i = 0; i < OPS; i++) {
        int64_t at = (int64_t)100000 * i;
        int64_t last = 0;
        begin(&f, next_random(&random) % 2 ? INQ_COLL_ALLREDUCE : INQ_COLL_ALLGATHER, 0);
        for (uint32_t r = 0; r < RANKS; r++) {
            int64_t start = at + next_random(&random) % 40000;
            join(&f, r, start, at + 50000 + next_random(&random) % 100, 1000);
            last = start > last ? start : last;
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            waits[r] += last - f.start[r][i];
        }
    }
    struct inq_report *one = analyze(&f, 1);
    struct inq_report *many = analyze(&f, 8);
    const struct inq_collectives *a = one->collectives;
    const struct inq_collectives *b = many->collectives;
    uint64_t last_arrivals = 0;
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(a->waits[r].wait_ns, waits[r]);
        assert_int_equal(b->waits[r].wait_ns, waits[r]);
        assert_int_equal(a->waits[r].last_arrivals, b->waits[r].last_arrivals);
        last_arrivals += a->waits[r].last_arrivals;
    }
    assert_int_equal(last_arrivals, OPS);
    assert_int_equal(a->n_by_op, 2);
    assert_int_equal(a->by_op[0].count + a->by_op[1].count, OPS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(a->by_op[i].wait_ns, b->by_op[i].wait_ns);
        assert_int_equal(a->by_op[i].transfer_ns_median, b->by_op[i].transfer_ns_median);
    }
    assert_int_equal(a->n_worst, 10);
    for (size_t i = 0; i < a->n_worst; i++) {
        assert_int_equal(a->worst[i].collective, b->worst[i].collective);
        assert_true(i == 0 || a->worst[i].wait_ns <= a->worst[i - 1].wait_ns);
    }
    inq_report_free(one);
    inq_report_free(many);
}

static void section__absent_without_communication(void **state)
{
    (void)state;
    static struct fixture f;

    fixture_init(&f);
    struct inq_report *report = analyze(&f, 1);
    assert_null(report->collectives);
    inq_report_free(report);
}

/* ---- real runs: figures worked out from the files by an independent script ------------------- */

struct measured {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_trace *trace;
    const struct inq_collectives *collectives;
};

static void measure(const char *folder, struct measured *m)
{
    char path[512];
    const char *paths[] = {path};
    struct stat info;

    assert_true(snprintf(path, sizeof(path), "%s/kineto/%s", INQ_SHARED_DATA, folder) <
                (int)sizeof(path));
    if (stat(path, &info) != 0) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, NULL, &m->run, NULL), INQ_OK);
    assert_int_equal(m->run->n_traces, 1);
    m->trace = m->run->traces[0];
    assert_int_equal(inq_analyze(m->trace, NULL, &m->report, NULL), INQ_OK);
    m->collectives = m->report->collectives;
    assert_non_null(m->collectives);
}

static void drop(struct measured *m)
{
    inq_report_free(m->report);
    inq_run_free(m->run);
}

static const struct inq_wait *wait_of(const struct measured *m, int32_t rank)
{
    for (size_t i = 0; i < m->collectives->n_waits; i++) {
        if (m->trace->ranks[m->collectives->waits[i].rank].rank == rank) {
            return &m->collectives->waits[i];
        }
    }
    fail_msg("rank %d is in no collective", rank);
    return &m->collectives->waits[0];
}

/* Equal when rounded to `unit`, but for `slack` of alignment. */
static void assert_about(int64_t ns, double expected, double unit, double slack)
{
    if (fabs((double)ns - expected * unit) > 0.5 * unit * 0.1 + slack) {
        fail_msg("%.3f, expected %.3f (unit %.0f ns)", (double)ns / unit, expected, unit);
    }
}

static void real__dlrm_8ranks(void **state)
{
    (void)state;
    static const double waits_ms[] = {5.6, 11.1, 3.3, 9.6, 6.4, 6.0, 3.3, 1.5};
    struct measured m;
    int64_t skew_ns = 0;

    measure("dlrm_8ranks", &m);
    assert_int_equal(m.collectives->matched, 8);
    assert_int_equal(m.collectives->unmatched, 0);
    assert_true(m.collectives->raw_ends_spread_ns_max <= 7000);
    assert_true(m.collectives->ends_spread_ns_max <= 7000);
    for (int32_t r = 0; r < 8; r++) {
        assert_about(wait_of(&m, r)->wait_ns, waits_ms[r], 1e6, 10000);
        assert_int_equal(wait_of(&m, r)->collectives, 8);
    }
    assert_int_equal(wait_of(&m, 7)->last_arrivals, 5);
    assert_int_equal(wait_of(&m, 5)->last_arrivals, 2);
    assert_int_equal(wait_of(&m, 4)->last_arrivals, 1);
    for (size_t i = 0; i < m.collectives->n_worst; i++) {
        skew_ns =
            m.collectives->worst[i].skew_ns > skew_ns ? m.collectives->worst[i].skew_ns : skew_ns;
    }
    assert_about(skew_ns, 7.6, 1e6, 10000);
    drop(&m);
}

static void real__megatron_tp2(void **state)
{
    (void)state;
    struct measured m;

    measure("megatron_tp2", &m);
    assert_int_equal(m.collectives->matched, 13);
    assert_int_equal(m.collectives->unmatched, 0);
    assert_about(m.collectives->raw_ends_spread_ns_max, 7.1, 1e3, 0);
    assert_int_equal(wait_of(&m, 0)->last_arrivals, 13);
    assert_int_equal(wait_of(&m, 0)->wait_ns, 0);
    assert_int_equal(wait_of(&m, 1)->first_arrivals, 13);
    assert_about(wait_of(&m, 1)->wait_ns, 48.2, 1e6, 10000);
    assert_int_equal(m.collectives->n_by_op, 1);
    assert_int_equal(m.collectives->by_op[0].kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(m.collectives->by_op[0].group_size, 2);
    assert_int_equal(m.collectives->by_op[0].bytes, 6144 * 4);
    drop(&m);
}

static void real__torchrec_sleep(void **state)
{
    (void)state;
    static const double steps_s[] = {1.056, 1.173, 1.055};
    struct measured m;

    measure("torchrec_sleep", &m);
    for (int32_t r = 0; r < 4; r++) {
        if (r != 2) {
            assert_about(wait_of(&m, r)->wait_ns, 3.03, 1e9, 1e7);
        }
    }
    assert_about(wait_of(&m, 2)->wait_ns, 0.5, 1e6, 50000);
    assert_int_equal(m.trace->n_steps, 3);
    for (int s = 0; s < 3; s++) {
        assert_about(m.report->step_ns[s], steps_s[s], 1e9, 1e6);
    }
    drop(&m);
}

static void real__torchrec_4(void **state)
{
    (void)state;
    static const double waits_ms[] = {91, 98, 3.5, 100};
    struct measured m;

    measure("torchrec_4", &m);
    for (int32_t r = 0; r < 4; r++) {
        assert_about(wait_of(&m, r)->wait_ns, waits_ms[r], 1e6, 500000);
        assert_int_equal(wait_of(&m, r)->collectives, 29);
    }
    assert_int_equal(m.collectives->matched, 30);
    assert_int_equal(m.collectives->uneven, 1); /* an all-to-all whose ends lie 3.7 ms apart */
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures__waits_skew_transfer_spread),
        cmocka_unit_test(figures__raw_spread_undoes_the_alignment),
        cmocka_unit_test(waits__do_not_outlast_an_op_that_need_not_wait),
        cmocka_unit_test(waits__are_not_counted_where_ends_disagree),
        cmocka_unit_test(ends__agree_as_far_as_clocks_and_lengths_tell),
        cmocka_unit_test(arrivals__of_equals_the_lowest_rank),
        cmocka_unit_test(members__alone_wait_for_nobody),
        cmocka_unit_test(table__one_row_for_each_kind_and_group),
        cmocka_unit_test(jobs__change_nothing_and_sums_agree_with_counting),
        cmocka_unit_test(section__absent_without_communication),
        cmocka_unit_test(real__dlrm_8ranks),
        cmocka_unit_test(real__megatron_tp2),
        cmocka_unit_test(real__torchrec_sleep),
        cmocka_unit_test(real__torchrec_4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
