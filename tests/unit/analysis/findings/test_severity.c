/* SPDX-License-Identifier: Apache-2.0 */
/* From which share on a finding asks for action, at the boundary of each rule. */
#include "analysis/findings/findings.h"
#include "inquest/account.h"

#include "base/arena.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { STEP_NS = 10000, STEPS = 12 };

static void severity__of_a_cost_follows_its_share_of_the_step(void **state)
{
    (void)state;
    static const struct {
        int64_t cost_ns;
        enum inq_severity severity;
    } cases[] = {{0, INQ_SEVERITY_INFO},     {99, INQ_SEVERITY_INFO},
                 {100, INQ_SEVERITY_LOW},    {499, INQ_SEVERITY_LOW},
                 {500, INQ_SEVERITY_MEDIUM}, {1999, INQ_SEVERITY_MEDIUM},
                 {2000, INQ_SEVERITY_HIGH},  {STEP_NS, INQ_SEVERITY_HIGH}};
    struct inq_report report = {0};
    const struct inq_findings findings = {.report = &report};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct inq_finding finding = {0};
        inq_findings_set_cost(&findings, &finding, cases[i].cost_ns, STEP_NS);
        assert_int_equal(finding.severity, cases[i].severity);
        assert_int_equal(finding.cost_ns_per_step, cases[i].cost_ns);
    }
}

static void severity__of_a_cost_is_its_share_of_the_accounts_step_where_there_is_one(void **state)
{
    (void)state;
    struct inq_account account = {.t_ns = STEP_NS / 2};
    struct inq_report report = {.account = &account};
    const struct inq_findings findings = {.report = &report};
    struct inq_finding finding = {0};
    inq_findings_set_cost(&findings, &finding, 1000, STEP_NS);
    assert_int_equal(finding.severity, INQ_SEVERITY_HIGH);
    assert_true(finding.share > 0.1999 && finding.share < 0.2001);
}

/* One account, judged for where its time goes. */
struct judged {
    struct inq_arena arena;
    struct inq_account account;
    struct inq_report report;
    struct inq_trace trace;
    struct inq_account_step account_steps[STEPS];
    struct inq_step steps[STEPS];
    struct inq_findings findings;
};

static void find_all(struct judged *j)
{
    j->account.t_ns = STEP_NS;
    j->account.steps_judged = j->account.steps_judged > 0 ? j->account.steps_judged : STEPS;
    j->report.account = &j->account;
    j->report.trace = &j->trace;
    j->report.arena = &j->arena;
    j->findings = (struct inq_findings){.report = &j->report, .arena = &j->arena};
    inq_findings_from_time(&j->trace, &j->findings);
    assert_false(j->findings.no_memory);
}

static void forget(struct judged *j)
{
    inq_mem_free(j->findings.at);
    inq_arena_release(&j->arena);
}

/* The severity of the finding on a class that takes `ns` of a step, beside as much compute; -1:
 * none. */
static int severity_beside(int64_t compute_ns, enum inq_account_class cls, int64_t ns)
{
    struct judged j = {0};
    int severity = -1;

    j.account.class_ns[INQ_ACCOUNT_COMPUTE] = compute_ns;
    j.account.class_ns[cls] = ns;
    find_all(&j);
    assert_true(j.findings.n <= 1);
    if (j.findings.n == 1) {
        severity = (int)j.findings.at[0].severity;
    }
    forget(&j);
    return severity;
}

static int severity_of(enum inq_account_class cls, int64_t ns)
{
    return severity_beside(1, cls, ns);
}

static void severity__of_a_class_follows_what_is_usual_for_it(void **state)
{
    (void)state;
    static const struct {
        enum inq_account_class cls;
        int64_t low_ns, medium_ns; /* from here on */
    } cases[] = {{INQ_ACCOUNT_TRANSFER, 5000, 7000},
                 {INQ_ACCOUNT_HOST, 3000, 5000},
                 {INQ_ACCOUNT_COPY, 2000, 4000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum inq_account_class cls = cases[i].cls;
        assert_int_equal(severity_of(cls, 499), -1); /* every job has some of it */
        assert_int_equal(severity_of(cls, 500), INQ_SEVERITY_INFO);
        assert_int_equal(severity_of(cls, cases[i].low_ns - 1), INQ_SEVERITY_INFO);
        assert_int_equal(severity_of(cls, cases[i].low_ns), INQ_SEVERITY_LOW);
        assert_int_equal(severity_of(cls, cases[i].medium_ns - 1), INQ_SEVERITY_LOW);
        assert_int_equal(severity_of(cls, cases[i].medium_ns), INQ_SEVERITY_MEDIUM);
    }
    /* what compute covers is not known where none is recorded */
    assert_int_equal(severity_beside(0, INQ_ACCOUNT_TRANSFER, 7000), -1);
    assert_int_equal(severity_beside(0, INQ_ACCOUNT_COPY, 7000), INQ_SEVERITY_MEDIUM);
}

static void host_bound__of_one_step_is_supported(void **state)
{
    (void)state;
    for (size_t steps = 1; steps <= 2; steps++) {
        struct judged j = {0};
        j.account.steps_judged = steps;
        j.account.class_ns[INQ_ACCOUNT_HOST] = 6000;
        find_all(&j);
        assert_int_equal(j.findings.n, 1);
        assert_int_equal(j.findings.at[0].confidence,
                         steps == 1 ? INQ_CONFIDENCE_SUPPORTED : INQ_CONFIDENCE_ESTABLISHED);
        forget(&j);
    }
}

/* Of 6,000 ns that GPUs wait for their hosts: what is said where these are in something for
 * `part_ns`. */
static void expect_waiting_for(const char *what, int64_t part_ns, const char *title, bool graphs)
{
    struct inq_account_part part = {INQ_ACCOUNT_HOST, what, 2 * part_ns};
    struct judged j = {0};
    j.account.class_ns[INQ_ACCOUNT_HOST] = 6000;
    j.account.rank_time_ns = (int64_t)2 * STEP_NS;
    j.account.n_parts = 1;
    j.account.parts = &part;
    find_all(&j);
    assert_int_equal(j.findings.n, 1);
    assert_non_null(strstr(j.findings.at[0].title, title));
    assert_int_equal(j.findings.at[0].n_fixes, graphs);
    forget(&j);
}

/* A graph of launches loads no data: it is proposed only where hosts mostly launch. */
static void host_bound__names_what_hosts_mostly_do(void **state)
{
    (void)state;
    expect_waiting_for("data loading", 2999, "launch work", true);
    expect_waiting_for("data loading", 3001, "30 % of the time: the GPUs wait for data loading",
                       false); /* not the 60 % of all that they wait */
    expect_waiting_for("memory allocation", 3001, "memory allocation", false);
    expect_waiting_for("garbage collection", 3001, "garbage collection", false);
    expect_waiting_for("kernel launches", 6000, "launch work", true);
}

/* How severe it is that all GPUs wait `ns` for data loading. */
static int severity_of_loading(int64_t ns, struct inq_pipeline *pipeline)
{
    struct inq_account_part part = {INQ_ACCOUNT_HOST, INQ_ACCOUNT_DATA_LOADING, 2 * ns};
    struct judged j = {0};
    j.report.pipeline = pipeline;
    j.account.class_ns[INQ_ACCOUNT_HOST] = ns;
    j.account.rank_time_ns = (int64_t)2 * STEP_NS;
    j.account.n_parts = 1;
    j.account.parts = &part;
    find_all(&j);
    int severity = j.findings.n == 1 ? (int)j.findings.at[0].severity : -1;
    forget(&j);
    return severity;
}

/* No shape of a job makes GPUs wait for data, unless a stage waits for its inputs meanwhile. */
static void host_bound__by_data_loading_is_told_from_a_twentieth_on(void **state)
{
    struct inq_pipeline pipeline = {0};
    (void)state;
    assert_int_equal(severity_of_loading(499, NULL), -1);
    assert_int_equal(severity_of_loading(500, NULL), INQ_SEVERITY_LOW);
    assert_int_equal(severity_of_loading(1999, NULL), INQ_SEVERITY_LOW);
    assert_int_equal(severity_of_loading(2000, NULL), INQ_SEVERITY_MEDIUM);
    assert_int_equal(severity_of_loading(2999, &pipeline), INQ_SEVERITY_INFO);
    assert_int_equal(severity_of_loading(3000, &pipeline), INQ_SEVERITY_LOW);
}

/* What is said of 4,000 ns not covered, of which in `unsplit_ns` waiting and transfer are not
 * separable. */
static void expect_exposed(int64_t unsplit_ns, const char *title, enum inq_confidence confidence)
{
    struct judged j = {0};
    j.account.class_ns[INQ_ACCOUNT_COMPUTE] = 1;
    j.account.class_ns[INQ_ACCOUNT_TRANSFER] = 4000 - unsplit_ns;
    j.account.class_ns[INQ_ACCOUNT_COMM] = unsplit_ns;
    find_all(&j);
    assert_int_equal(j.findings.n, 1);
    assert_string_equal(j.findings.at[0].title, title);
    assert_int_equal(j.findings.at[0].confidence, confidence);
    bool without = strstr(j.findings.at[0].detail, "without waiting for other ranks") != NULL;
    assert_int_equal(without, strstr(title, "transfers") != NULL);
    forget(&j);
}

static void exposed__is_called_transfer_where_it_is(void **state)
{
    (void)state;
    static const char transfers[] = "40 % of the time: transfers not covered by compute";
    static const char comm[] = "40 % of the time: communication not covered by compute";
    expect_exposed(0, transfers, INQ_CONFIDENCE_ESTABLISHED);
    expect_exposed(200, transfers, INQ_CONFIDENCE_ESTABLISHED);
    expect_exposed(201, comm, INQ_CONFIDENCE_SUPPORTED);
    expect_exposed(2000, comm, INQ_CONFIDENCE_SUPPORTED);
    expect_exposed(2001, comm, INQ_CONFIDENCE_HYPOTHESIS);
    expect_exposed(4000, comm, INQ_CONFIDENCE_HYPOTHESIS);
}

/* Of several ranks, 60 % that is mostly not separable says nothing to work on. */
static void exposed__asks_for_action_where_most_of_it_is_transfer(void **state)
{
    (void)state;
    for (int open = 0; open < 2; open++) {
        struct judged j = {0};
        j.account.class_ns[INQ_ACCOUNT_COMPUTE] = 1;
        j.account.class_ns[INQ_ACCOUNT_TRANSFER] = 3000 - open;
        j.account.class_ns[INQ_ACCOUNT_COMM] = 3000 + open;
        find_all(&j);
        assert_int_equal(j.findings.n, 1);
        assert_int_equal(j.findings.at[0].severity, open ? INQ_SEVERITY_INFO : INQ_SEVERITY_LOW);
        forget(&j);
    }
}

/* Hosts make the GPUs of 4 ranks idle for 4,000 ns of a step each; one of them for 8,000 more than
 * its peers, which is 2,000 per rank. */
static void host__of_all_ranks_leaves_out_what_is_told_of_one(void **state)
{
    (void)state;
    static const struct {
        enum inq_finding_kind kind;
        bool launches_known;
        const char *title, *said;
    } cases[] = {
        {INQ_FINDING_LATE_HOST, true,
         "20 % of the time: the GPUs wait for their hosts to launch work",
         "and without the delays of rank 2's host."},
        {INQ_FINDING_UNPLANNED_GC, true,
         "20 % of the time: the GPUs wait for their hosts to launch work", "rank 2's host."},
        {INQ_FINDING_LATE_HOST, false,
         "40 % of the time: the GPUs wait for their hosts to launch work", "other ranks."},
        {INQ_FINDING_SLOW_GPU, true,
         "40 % of the time: the GPUs wait for their hosts to launch work", "other ranks."}};
    struct inq_rank ranks[4] = {{.rank = 0}, {.rank = 1}, {.rank = 2}, {.rank = 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged j = {.trace = {.ranks = ranks, .n_ranks = 4}};
        uint32_t late = 2;
        struct inq_candidate candidate = {.kind = cases[i].kind,
                                          .launches_known = cases[i].launches_known,
                                          .ranks = &late,
                                          .n_ranks = 1,
                                          .own_ns = 9000,
                                          .peers_ns = 1000};
        struct inq_attribution blame = {.candidates = &candidate, .n_candidates = 1};
        j.report.attribution = &blame;
        j.account.ranks_judged = 4;
        j.account.class_ns[INQ_ACCOUNT_HOST] = 4000;
        find_all(&j);
        assert_int_equal(j.findings.n, 1);
        assert_string_equal(j.findings.at[0].title, cases[i].title);
        assert_non_null(strstr(j.findings.at[0].detail, cases[i].said));
        forget(&j);
    }
}

static void host__of_one_rank_is_told_in_the_singular(void **state)
{
    (void)state;
    struct inq_rank rank = {.rank = 0};
    struct judged j = {.trace = {.ranks = &rank, .n_ranks = 1}};
    j.account.class_ns[INQ_ACCOUNT_HOST] = 4000;
    find_all(&j);
    assert_int_equal(j.findings.n, 1);
    assert_string_equal(j.findings.at[0].title,
                        "40 % of the time: the GPU waits for its host to launch work");
    assert_null(strstr(j.findings.at[0].detail, "other ranks"));
    forget(&j);
}

/* Steps of which the last one takes `ns`, the others differ by `spread_ns` from one to the next.
 * Whether the last is out of line. */
static bool is_out_beside(size_t n, int64_t spread_ns, int64_t ns, struct inq_attribution *blame)
{
    struct judged j = {0};
    size_t out = 0;

    j.account.steps = j.account_steps;
    j.account.n_steps = j.account.steps_judged = n;
    j.trace.steps = j.steps;
    j.trace.n_steps = n;
    j.report.attribution = blame;
    for (size_t s = 0; s < n; s++) {
        int64_t length_ns = s + 1 == n ? ns : STEP_NS + (int64_t)(s % 3) * spread_ns - spread_ns;
        j.account_steps[s] =
            (struct inq_account_step){.number = (int64_t)s, .judged = true, .length_ns = length_ns};
        j.steps[s].number = (int64_t)s;
    }
    find_all(&j);
    for (size_t i = 0; i < j.findings.n; i++) {
        out += j.findings.at[i].kind == INQ_FINDING_STEP_OUTLIER;
    }
    forget(&j);
    return out > 0;
}

static bool is_out(size_t n, int64_t spread_ns, int64_t ns)
{
    return is_out_beside(n, spread_ns, ns, NULL);
}

/* The long step of ten loses 1,000 ns per step; a cause that comes and goes explains it with half
 * of that, one that is there in every step does not. */
static void severity__a_long_step_is_not_told_twice(void **state)
{
    (void)state;
    static const struct {
        int64_t cost_ns;
        uint64_t seen;
        bool told;
    } cases[] = {{500, 5, false}, {499, 5, true}, {500, 10, true}, {500, 9, false}, {500, 0, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct inq_candidate cause = {
            .cost_ns_per_step = cases[i].cost_ns, .steps = 10, .steps_seen = cases[i].seen};
        struct inq_attribution blame = {.candidates = &cause, .n_candidates = 1};
        assert_int_equal(is_out_beside(10, 0, INT64_C(2) * STEP_NS, &blame), cases[i].told);
    }
}

/* What is said of a step of twice the length, `more_ns` of which are in the class, the host in
 * something for `pause_ns` of them. `look_for`: what the advice names; NULL: it is the kind's own.
 */
static void expect_long_step(enum inq_account_class cls, int64_t more_ns, const char *pause_in,
                             int64_t pause_ns, const char *title, const char *look_for)
{
    struct judged j = {0};
    struct inq_account_cell cells[STEPS] = {{0}};

    j.account.trace = &j.trace;
    j.account.steps = j.account_steps;
    j.account.cells = cells;
    j.account.n_steps = STEPS;
    j.account.n_ranks = j.account.ranks_judged = j.trace.n_ranks = 1;
    j.trace.ranks = &(struct inq_rank){0};
    j.trace.steps = j.steps;
    j.trace.n_steps = STEPS;
    for (size_t s = 0; s < STEPS; s++) {
        bool out = s == 1;
        j.account_steps[s] = (struct inq_account_step){.number = (int64_t)s,
                                                       .judged = true,
                                                       .length_ns = out ? 2 * STEP_NS : STEP_NS,
                                                       .pause_ns = out ? pause_ns : 0,
                                                       .pause_in = out ? pause_in : ""};
        cells[s].judged = true;
        cells[s].ns[cls] = out ? more_ns : 0;
    }
    j.account.class_ns[cls] = more_ns / STEPS;
    find_all(&j);
    assert_int_equal(j.findings.n, 1); /* the class is not told beside it: no other step has it */
    assert_string_equal(j.findings.at[0].title, title);
    const char *advice = j.findings.at[0].advice;
    if (look_for == NULL) {
        assert_true(advice == NULL || advice[0] == '\0');
    } else {
        assert_non_null(strstr(advice, look_for));
    }
    forget(&j);
}

/* A long step says what it is longer by, from a half on, and for what the host paused, above a
 * half. Who computes longer looks for evaluation, above a half, too. */
static void severity__a_long_step_says_what_for(void **state)
{
    (void)state;
#define LONG "1 of 12 steps took much longer than the others"
#define COST ", which costs 833 ns per step (8.3 %)"
    expect_long_step(INQ_ACCOUNT_HOST, 5001, "data loading", 5001,
                     LONG ": the GPU waits for data loading" COST, "num_workers");
    expect_long_step(INQ_ACCOUNT_HOST, 9000, "data loading", 5000,
                     LONG " (9.00 us more waiting for the host)" COST, NULL);
    expect_long_step(INQ_ACCOUNT_HOST, 9000, "not recorded", 9000,
                     LONG " (9.00 us more waiting for the host)" COST, NULL);
    expect_long_step(INQ_ACCOUNT_HOST, 5000, "", 0,
                     LONG " (5.00 us more waiting for the host)" COST, NULL);
    expect_long_step(INQ_ACCOUNT_HOST, 4999, "", 0, LONG COST, NULL);
    expect_long_step(INQ_ACCOUNT_COMPUTE, 5000, "", 0, LONG " (5.00 us more compute)" COST, NULL);
    expect_long_step(INQ_ACCOUNT_COMPUTE, 5001, "", 0, LONG " (5.00 us more compute)" COST,
                     "for evaluation, or for more");
}

static void severity__a_step_is_out_of_line_beyond_a_fifth_and_five_sigma(void **state)
{
    (void)state;
    assert_false(is_out(10, 0, 12000));
    assert_true(is_out(10, 0, 12001));
    assert_false(is_out(3, 0, 20000)); /* too few to tell */
    assert_true(is_out(4, 0, 20000));
    /* steps of 9, 10, 11 us: the median deviation is 1 us, five sigma 7.4 us */
    assert_false(is_out(10, 1000, 17400));
    assert_true(is_out(10, 1000, 17420));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(severity__of_a_cost_follows_its_share_of_the_step),
        cmocka_unit_test(severity__of_a_cost_is_its_share_of_the_accounts_step_where_there_is_one),
        cmocka_unit_test(severity__of_a_class_follows_what_is_usual_for_it),
        cmocka_unit_test(host_bound__of_one_step_is_supported),
        cmocka_unit_test(host_bound__names_what_hosts_mostly_do),
        cmocka_unit_test(host_bound__by_data_loading_is_told_from_a_twentieth_on),
        cmocka_unit_test(exposed__is_called_transfer_where_it_is),
        cmocka_unit_test(exposed__asks_for_action_where_most_of_it_is_transfer),
        cmocka_unit_test(host__of_all_ranks_leaves_out_what_is_told_of_one),
        cmocka_unit_test(host__of_one_rank_is_told_in_the_singular),
        cmocka_unit_test(severity__a_long_step_is_not_told_twice),
        cmocka_unit_test(severity__a_long_step_says_what_for),
        cmocka_unit_test(severity__a_step_is_out_of_line_beyond_a_fifth_and_five_sigma),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
