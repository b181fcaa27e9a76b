/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that pause in turn: from which pause on they are told, and which noise is none. */
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_lockstep.h"
#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many ranks the candidate names that is hosts pausing in turn; 0: there is none. */
static size_t pausing(const struct inq_report *report)
{
    for (size_t i = 0; i < report->attribution->n_candidates; i++) {
        if (report->attribution->candidates[i].rotates) {
            return report->attribution->candidates[i].n_ranks;
        }
    }
    return 0;
}

static size_t pausing_of(const struct lockstep_plan *plan)
{
    struct inq_trace *trace = lockstep_trace(plan);
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    assert_int_equal(inq_analyze(trace, NULL, &report, &err), INQ_OK);
    size_t n = pausing(report);
    inq_report_free(report);
    lockstep_free(trace);
    return n;
}

/* Every rank pauses once, each in a step of its own. */
static size_t pausing_for(int64_t late_ns)
{
    struct lockstep_plan plan;

    lockstep_init(&plan, LOCKSTEP_STEPS, LOCKSTEP_STEPS);
    for (int s = 0; s < LOCKSTEP_STEPS; s++) {
        plan.late_ns[s][s] = late_ns;
    }
    return pausing_of(&plan);
}

/* 4.5 sigma, which is taken for no less than a quarter of a percent of a step: of 22.3 ms. And a
 * pause of 275 us costs 212 us: without it the others' longer kernels keep the step longer. From
 * 1 % of a step on it is told. */
static void pauses__count_from_what_repeated_steps_differ_by(void **state)
{
    (void)state;
    assert_int_equal(pausing_for(235000), 0);
    assert_int_equal(pausing_for(275000), 0);
    assert_int_equal(pausing_for(300000), LOCKSTEP_STEPS);
}

/* One pause may come from anywhere, and two are told each by itself. */
static void pauses__rotate_among_three_ranks_that_stand_out(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 12);
    plan.late_ns[1][3] = 20000000;
    assert_int_equal(pausing_of(&plan), 0);
    plan.late_ns[2][8] = 20000000;
    assert_int_equal(pausing_of(&plan), 0);
    plan.late_ns[5][6] = 20000000;
    assert_int_equal(pausing_of(&plan), 3);
}

/* Steps follow each other at once: GPUs never idle but in pauses. */
static void close_steps(struct inq_trace *trace)
{
    const int64_t launch_ns = 5000; /* the first one's of a step */

    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            bool first = i == 0 || e->step[i] != e->step[i - 1];
            if (first && e->cls[i] == INQ_CLASS_COMPUTE) {
                e->start_ns[i] -= launch_ns;
                e->dur_ns[i] += launch_ns;
            }
        }
    }
}

/* By how long GPUs idle where no calls are recorded, even if they never do without the pauses. */
static void pauses__are_told_by_idle_times_without_calls(void **state)
{
    (void)state;
    struct lockstep_plan plan;
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    lockstep_init(&plan, 8, 12);
    plan.no_calls = true;
    plan.late_ns[1][3] = 20000000;
    plan.late_ns[2][8] = 20000000;
    plan.late_ns[5][6] = 20000000;
    struct inq_trace *trace = lockstep_trace(&plan);
    close_steps(trace);
    assert_int_equal(inq_analyze(trace, NULL, &report, &err), INQ_OK);
    assert_int_equal(pausing(report), 3);
    assert_string_equal(report->findings[0].measured, "GPU idle 1.67 ms per step");
    assert_string_equal(report->findings[0].expected, "0 ns, without the pauses");
    inq_report_free(report);
    lockstep_free(trace);
}

/* Most ranks collect in the same step: their median is the pause, and the rank that does not waits.
 * What comes to all of them at once delays nobody. */
static void pauses__of_most_ranks_in_one_step_count(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 12);
    for (int r = 0; r < 8; r++) {
        plan.late_ns[r][3] = 20000000;
    }
    assert_int_equal(pausing_of(&plan), 0);
    plan.late_ns[7][3] = 0;
    assert_int_equal(pausing_of(&plan), 7);
}

/* A host that is late by more than a pause in half of its steps is no pause: how its times vary is
 * not measured beside the others', and what these lose in one step comes to all of them. */
static size_t pausing_beside_a_late_host(int64_t late_ns, int64_t vary_ns, size_t *n_late)
{
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 12);
    for (int s = 0; s < 12; s++) {
        plan.late_ns[1][s] = late_ns + (s * 5 % 12) * vary_ns;
    }
    for (int r = 0; r < 8; r++) {
        plan.late_ns[r][6] += r == 1 ? 0 : 2000000 + 100000 * r;
    }
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    assert_int_equal(inq_analyze(trace, NULL, &report, &err), INQ_OK);
    size_t n = pausing(report);
    *n_late = report->attribution->n_candidates - (n > 0);
    inq_report_free(report);
    lockstep_free(trace);
    return n;
}

static void pauses__are_not_how_a_late_host_varies(void **state)
{
    (void)state;
    size_t n_late = 0;

    assert_int_equal(pausing_beside_a_late_host(20000000, 500000, &n_late), 0);
    assert_int_equal(n_late, 1);
}

/* All hosts stop for 100 ms in one step, three of them for `more_ns` more. */
static size_t pausing_beyond_all(int64_t more_ns)
{
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 12);
    for (int r = 0; r < 8; r++) {
        plan.late_ns[r][3] = 100000000 + (r % 3 == 1 ? more_ns : 0);
    }
    return pausing_of(&plan);
}

/* A checkpoint does not take exactly as long on every rank: what is less than two fifths of all
 * that was lost is no pause of its own. Beside pauses, the stops of the others count, too. */
static void pauses__are_not_what_a_stop_of_all_differs_by(void **state)
{
    (void)state;
    assert_int_equal(pausing_beyond_all(2000000), 0);
    assert_int_equal(pausing_beyond_all(65000000), 0);
    assert_int_equal(pausing_beyond_all(70000000), 8);
}

/* Pauses of one cause are about as long. What comes behind a long one is no pause. */
static size_t pausing_behind(int64_t late_ns)
{
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 12);
    plan.late_ns[1][3] = 100000000;
    for (int r = 2; r < 6; r++) {
        plan.late_ns[r][4] = late_ns + 100000 * r;
    }
    return pausing_of(&plan);
}

/* Of 100 ms some are hidden: hosts are ahead of their GPUs by some milliseconds. */
static void pauses__are_two_fifths_of_the_longest(void **state)
{
    (void)state;
    assert_int_equal(pausing_behind(400000), 0);
    assert_int_equal(pausing_behind(30000000), 0);
    assert_int_equal(pausing_behind(42000000), 5);
}

/* Hosts whose times vary by factors, all ranks and all steps alike: 0.25 to 1 ms, half of them
 * within 1.4 times the median of 0.5 ms; the longest of all is `rest_ns`. Once in each step it is
 * `late_ns`, on another of `n_late` ranks each time. */
static size_t pausing_among(int n_late, int64_t late_ns, int64_t rest_ns)
{
    static const int64_t usual_ns[] = {250000, 354000, 500000, 707000, 1000000};
    struct lockstep_plan plan;

    lockstep_init(&plan, 10, 10);
    for (int r = 0; r < 10; r++) {
        for (int s = 0; s < 10; s++) {
            plan.late_ns[r][s] = r + s == 9 && r < n_late ? late_ns : usual_ns[(r + 2 * s) % 5];
        }
    }
    plan.late_ns[0][2] = rest_ns; /* 1 ms before */
    return pausing_of(&plan);
}

/* Half of them are within a factor of 1.38 of the usual. 4.5 sigma are 8.4 such median deviations
 * where 10 ranks have 10 steps (81 differences are free): a factor of 1.38 to the 8.4, which is 15,
 * or 9 ms of the two ranks whose usual is 0.6 ms. By differences, 1.5 ms would be a pause. */
static void pauses__stand_out_among_factors(void **state)
{
    (void)state;
    assert_int_equal(pausing_among(3, 2500000, 2000000), 0);
    assert_int_equal(pausing_among(3, 8800000, 2000000), 0);
    assert_int_equal(pausing_among(3, 9200000, 2000000), 3);
}

/* Nothing lies between 1 ms and the pauses, three or more of them: from 8 times what is 0.5 ms over
 * the usual 0.5 ms on, factors need not say it. Of ten pauses, from 8 to the power of 0.3 on, 1.87
 * times what is 1.6 ms over what all lose. */
static void pauses__stand_out_far_from_all_the_rest(void **state)
{
    (void)state;
    assert_int_equal(pausing_among(3, 4300000, 1000000), 0);
    assert_int_equal(pausing_among(3, 5100000, 1000000), 3);
    assert_int_equal(pausing_among(2, 8000000, 1000000), 0);
    assert_int_equal(pausing_among(10, 3300000, 2000000), 0);
    assert_int_equal(pausing_among(10, 3600000, 2000000), 10);
}

/* ---- generated runs -------------------------------------------------------------------------- */

static void expect_no_finding(const char *spec)
{
    struct test_synth t = test_synth_open(spec, NULL);

    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_int_equal(t.report->findings[i].severity, INQ_SEVERITY_INFO);
    }
    test_synth_close(&t);
}

/* In steps that begin with the hosts in step all GPUs wait for their data, in no other one: what
 * that varies by from rank to rank are no pauses. */
static void pauses__are_not_how_long_each_host_takes_at_first(void **state)
{
    (void)state;
    expect_no_finding("dp=32,layers=2,micro_batches=1,sharded=1,gpus_per_host=4,steps=5,sync=4,"
                      "host_sigma=0.4,cpu_ops=0,seed=652271,gz=0,fault=jitter:sigma=0.08");
}

/* All ranks' pauses are one finding, which costs what is true within 1.5 points. */
static void expect_all_pause(const char *spec, enum inq_finding_kind kind, size_t n_ranks)
{
    struct test_synth t = test_synth_open(spec, NULL);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    const struct inq_finding *first = &t.report->findings[0];

    assert_int_equal(first->kind, kind);
    assert_int_equal(first->n_ranks, n_ranks);
    double share =
        (double)(truth->mean_step_ns - truth->mean_step_ns_healthy) / (double)truth->mean_step_ns;
    assert_true(first->share > share - 0.015 && first->share < share + 0.015);
    test_synth_close(&t);
}

/* Ranks whose pauses fall into the pauses of others keep their GPUs waiting, not idle. Repairing
 * only the others would leave half of the loss. */
static void pauses__that_others_hide_are_repaired_with_them(void **state)
{
    (void)state;
    expect_all_pause("dp=8,experts=1,layers=4,steps=8,seed=20124,gz=0,fault=gc:every=5:delay=32ms",
                     INQ_FINDING_UNPLANNED_GC, 8);
}

/* A GPU that has work left ends some of it just before the call behind a pause: the host had not
 * waited for that. Else one pause that others hide stays, and with it all of its step's loss. */
static void pauses__that_end_while_the_gpu_works_are_no_waits_for_it(void **state)
{
    (void)state;
    expect_all_pause("dp=4,tp=4,layers=6,gpus_per_host=2,steps=8,micro_batches=1,seed=39886,gz=0,"
                     "cpu_ops=0,fault=gc:every=5:delay=32ms",
                     INQ_FINDING_UNPLANNED_GC, 16);
}

/* The longest of six hosts' times is what a step waits for, with or without a pause: cut to the
 * middle of all, it would gain 2.2 points more than there are. */
static void pauses__are_repaired_without_the_noise_of_hosts(void **state)
{
    (void)state;
    expect_all_pause("dp=6,layers=2,sharded=1,gpus_per_host=2,steps=12,ts=abs,host_sigma=0.4,"
                     "seed=328369,gz=0,fault=gc:every=5:delay=8ms",
                     INQ_FINDING_UNPLANNED_GC, 6);
}

/* What hosts take anyway varies by factors, or most of them pause in one step: their GPUs' idle
 * time says little then, but between calls that follow each other at once nothing is as long. */
static void pauses__stand_out_between_calls(void **state)
{
    (void)state;
    expect_all_pause("dp=4,tp=1,layers=2,micro_batches=1,gpus_per_host=2,steps=6,clock=1ms,ts=abs,"
                     "lean=1,host_sigma=0.4,seed=285544,gz=0,fault=gc:every=5:delay=2ms",
                     INQ_FINDING_UNPLANNED_GC, 4);
    expect_all_pause("dp=4,tp=1,layers=2,micro_batches=1,sharded=1,gpus_per_host=4,steps=11,window="
                     "ragged,ts=abs,cpu_ops=0,sigma=0.04,seed=309760,gz=0,fault=gc:every=5:delay="
                     "2ms",
                     INQ_FINDING_UNPLANNED_GC, 4);
}

/* Hosts that run ahead take their pauses while the GPU works: one or two leave it idle, and nothing
 * is gained by repairing those alone. */
static void pauses__that_running_ahead_hides_are_repaired_with_them(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=12,layers=4,steps=8,sync=4,calls=0,seed=17220,gz=0,fault=gc:every=5:"
                        "delay=32ms",
                        NULL);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    const struct inq_finding *found = NULL;
    double with = 0.0;
    double without = 0.0;

    for (size_t i = 0; i < t.report->n_findings; i++) {
        bool is = t.report->findings[i].kind == INQ_FINDING_UNPLANNED_GC;
        found = is ? &t.report->findings[i] : found;
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_LATE_HOST);
    }
    for (size_t s = 1; s < truth->n_steps; s++) { /* the first one's beginning is not recorded */
        with += (double)truth->step_ns[s];
        without += (double)truth->step_ns_healthy[s];
    }
    assert_non_null(found);
    double share = (with - without) / with;
    assert_true(share > 0.05 && found->share > share - 0.015 && found->share < share + 0.015);
    test_synth_close(&t);
}

/* One that is late twice by itself is one of them, not a cause of its own. */
static void pauses__of_a_rank_late_now_and_then_are_told_once(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,experts=1,layers=4,gpus_per_host=4,steps=8,drift=20,seed=20119,"
                        "gz=0,fault=gc:every=5:delay=32ms",
                        NULL);

    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_UNPLANNED_GC);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_LATE_HOST);
    }
    test_synth_close(&t);
}

/* Three ranks of a stage: the pauses of two are in all the waits of the third, which makes each
 * late in most steps. */
static void pauses__of_a_stage_of_three_are_told_once(void **state)
{
    (void)state;
    expect_all_pause("dp=3,pp=2,micro_batches=1,layers=2,p2p=batched,labels=1,gpus_per_host=8,"
                     "steps=12,seed=209228,gz=0,fault=gc:every=5:delay=8ms",
                     INQ_FINDING_LATE_HOST, 6);
}

static void pauses__are_not_the_longest_of_noisy_host_times(void **state)
{
    (void)state;
    expect_no_finding("dp=8,experts=1,layers=4,steps=8,args=seq,sigma=0.04,host_sigma=0.4,"
                      "seed=20013,gz=0,fault=jitter:sigma=0.02");
}

/* Kernels that vary one by one let steps vary by what chance leaves in a sum. */
static void uneven__work_is_more_than_the_noise_of_kernels(void **state)
{
    (void)state;
    expect_no_finding("dp=4,tp=4,gpus_per_host=8,layers=4,steps=8,sync=0,p2p_group=world,"
                      "seed=20004,gz=0,fault=jitter:sigma=0.08");
}

/* One host is 4 ms late in each step, another lost 0.2 ms once: how the first one's silences vary
 * is no pause like that. */
static void pauses__are_not_how_silences_vary(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=2,pp=2,micro_batches=1,layers=2,p2p=args,early_recv=2,gpus_per_host=2,steps=10,args="
        "old,"
        "clock=1ms,drift=20,link_sigma=0.08,seed=427931,gz=0,fault=late_host:rank=1:delay=4ms",
        NULL);
    const struct inq_candidate *late = &t.report->attribution->candidates[0];

    assert_int_equal(t.report->attribution->n_candidates, 1);
    assert_int_equal(late->kind, INQ_FINDING_LATE_HOST);
    assert_false(late->rotates);
    assert_int_equal(late->n_ranks, 1);
    assert_int_equal(late->ranks[0], 1);
    assert_in_range(late->cost_ns_per_step, 3800000, 4100000);
    test_synth_close(&t);
}

/* The hosts' pauses in most steps; NULL: there are none. */
static const struct inq_candidate *everywhere(const struct inq_report *report)
{
    for (size_t i = 0; i < report->attribution->n_candidates; i++) {
        if (report->attribution->candidates[i].everywhere) {
            return &report->attribution->candidates[i];
        }
    }
    return NULL;
}

/* Whether the run tells pauses in most steps: of all ranks, at what it costs, and nothing else. */
static bool pauses_everywhere(const char *spec)
{
    struct test_synth t = test_synth_open(spec, NULL);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    const struct inq_candidate *found = everywhere(t.report);
    double lost_ns = (double)(truth->mean_step_ns - truth->mean_step_ns_healthy);

    if (found != NULL) {
        assert_int_equal(t.report->attribution->n_candidates, 1);
        assert_int_equal(found->n_ranks, 4);
        double off_ns = (double)found->cost_ns_per_step - lost_ns;
        assert_true(off_ns * off_ns <= 1e-4 * (double)found->step_ns * (double)found->step_ns);
    }
    bool is = found != NULL;
    test_synth_close(&t);
    return is;
}

/* Every host pauses in every step, each time at another place: no step of any stands out. From 1 %
 * of a step of 13 ms on a silence is a pause; of a pause in each third step the other steps tell.
 */
static void pauses__in_every_step_are_told_by_their_places(void **state)
{
    (void)state;
    assert_true(pauses_everywhere("dp=4,layers=4,steps=6,seed=5,gz=0,fault=gc:every=1:delay=4ms"));
    assert_true(pauses_everywhere("dp=4,layers=4,steps=6,host_sigma=0.4,seed=6,gz=0,"
                                  "fault=gc:every=1:delay=2ms"));
    assert_false(
        pauses_everywhere("dp=4,layers=4,steps=6,seed=5,gz=0,fault=gc:every=1:delay=100us"));
    assert_false(pauses_everywhere("dp=4,layers=4,steps=6,seed=5,gz=0,fault=gc:every=3:delay=4ms"));
    assert_false(pauses_everywhere("dp=4,layers=4,steps=6,host_sigma=0.4,seed=6,gz=0"));
}

/* Hosts that run ahead: spans of steps overlap, and a call would be counted in two of them. */
static void pauses__are_looked_for_once_where_steps_overlap(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,layers=8,micro_batches=2,sharded=1,gpus_per_host=8,steps=8,sync=0,window=ragged,"
        "seed=146602,gz=0,fault=low_clock:rank=1:factor=1.4",
        NULL);

    assert_int_equal(t.report->attribution->n_candidates, 1);
    assert_int_equal(t.report->attribution->candidates[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(t.report->attribution->candidates[0].ranks[0], 1);
    test_synth_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses__are_not_how_silences_vary),
        cmocka_unit_test(pauses__in_every_step_are_told_by_their_places),
        cmocka_unit_test(pauses__are_looked_for_once_where_steps_overlap),
        cmocka_unit_test(pauses__count_from_what_repeated_steps_differ_by),
        cmocka_unit_test(pauses__rotate_among_three_ranks_that_stand_out),
        cmocka_unit_test(pauses__are_told_by_idle_times_without_calls),
        cmocka_unit_test(pauses__of_most_ranks_in_one_step_count),
        cmocka_unit_test(pauses__are_not_how_a_late_host_varies),
        cmocka_unit_test(pauses__are_not_what_a_stop_of_all_differs_by),
        cmocka_unit_test(pauses__are_two_fifths_of_the_longest),
        cmocka_unit_test(pauses__stand_out_among_factors),
        cmocka_unit_test(pauses__stand_out_between_calls),
        cmocka_unit_test(pauses__stand_out_far_from_all_the_rest),
        cmocka_unit_test(pauses__are_not_how_long_each_host_takes_at_first),
        cmocka_unit_test(pauses__of_a_stage_of_three_are_told_once),
        cmocka_unit_test(pauses__that_running_ahead_hides_are_repaired_with_them),
        cmocka_unit_test(pauses__are_repaired_without_the_noise_of_hosts),
        cmocka_unit_test(pauses__that_others_hide_are_repaired_with_them),
        cmocka_unit_test(pauses__that_end_while_the_gpu_works_are_no_waits_for_it),
        cmocka_unit_test(pauses__of_a_rank_late_now_and_then_are_told_once),
        cmocka_unit_test(pauses__are_not_the_longest_of_noisy_host_times),
        cmocka_unit_test(uneven__work_is_more_than_the_noise_of_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
