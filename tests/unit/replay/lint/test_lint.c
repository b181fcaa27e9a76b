/* SPDX-License-Identifier: Apache-2.0 */
/* Lint: known deadlocks are caught, their correct versions and every generated schedule pass. */
#include "inquest/lint.h"
#include "schedule/schedule.h"
#include "support_schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

static const struct inq_costs unit = {.stage = {1, 1, 1}};

static struct inq_lint lint_schedule(const struct inq_schedule *s, enum inq_grouping grouping,
                                     double limit)
{
    struct inq_lint_options options = {.grouping = grouping, .memory_limit = limit, .costs = unit};
    struct inq_lint lint;
    struct inq_err err = {0};
    assert_int_equal(inq_lint_schedule(s, NULL, &options, &lint, &err), INQ_OK);
    return lint;
}

static struct inq_lint lint_text(const char *text, enum inq_grouping grouping)
{
    struct inq_schedule s;
    struct inq_csv_info info;
    struct inq_err err = {0};
    int code = inq_schedule_read_csv(text, strlen(text), INQ_CSV_CURRENT, &s, &info, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, INQ_OK);
    struct inq_lint lint = lint_schedule(&s, grouping, 0.0);
    inq_schedule_release(&s);
    return lint;
}

static void assert_clean(const char *what, const char *text, enum inq_grouping grouping)
{
    struct inq_lint lint = lint_text(text, grouping);
    if (lint.n_errors > 0) {
        fail_msg("%s: %s %s %s", what, inq_lint_rule_text(lint.problems[0].rule),
                 lint.problems[0].action, lint.problems[0].message);
    }
    inq_lint_release(&lint);
}

static void assert_caught(const char *what, const char *text, enum inq_grouping grouping,
                          enum inq_lint_rule rule, const char *part)
{
    struct inq_lint lint = lint_text(text, grouping);
    bool found = false;
    for (size_t i = 0; i < lint.n; i++) {
        const struct inq_lint_problem *p = &lint.problems[i];
        found = found || (p->rule == rule && p->error && strstr(p->message, part) != NULL);
    }
    if (!found) {
        fail_msg("%s: expected %s '%s', got %zu problems, first: %s", what,
                 inq_lint_rule_text(rule), part, lint.n, lint.n ? lint.problems[0].message : "");
    }
    inq_lint_release(&lint);
}

/* Both ranks of a pair send and block (NCCL#479, #584; the text-book case). */
static const char *const send_send = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                     "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

/* pytorch#172668: rank 0 sends stage 0's output while rank 1 sends stage 1's. */
static const char *const looped =
    "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,2RECV_B0,2B0,2SEND_B0,"
    "2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,"
    "3SEND_B1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n";

static void rendezvous__both_send_is_caught_and_grouping_cures_it(void **state)
{
    (void)state;
    assert_caught("send/send", send_send, INQ_GROUPING_NONE, INQ_LINT_RENDEZVOUS, "0SEND_F1");
    assert_caught("send/send", send_send, INQ_GROUPING_NONE, INQ_LINT_RENDEZVOUS, "1SEND_B0");
    assert_clean("send/send grouped", send_send, INQ_GROUPING_ADJACENT);
    assert_caught("looped", looped, INQ_GROUPING_NONE, INQ_LINT_RENDEZVOUS, "0SEND_F1");
    assert_caught("looped", looped, INQ_GROUPING_NONE, INQ_LINT_RENDEZVOUS, "1SEND_F0");
    assert_clean("looped grouped", looped, INQ_GROUPING_ADJACENT);
}

/* The variant with a compute between the calls: grouping neighbors cannot help. */
static void rendezvous__compute_between_the_calls_blocks_even_grouped(void **state)
{
    (void)state;
    assert_caught("three-op variant",
                  "0F0,0SEND_F0,0F1,0SEND_F1,0F2,0RECV_B0,0B0,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2\n"
                  "1RECV_F0,1F0,1I0,1SEND_B0,1W0,1RECV_F1,1F1,1I1,1SEND_B1,1W1,1RECV_F2,1F2,1I2,"
                  "1SEND_B2,1W2\n",
                  INQ_GROUPING_ADJACENT, INQ_LINT_RENDEZVOUS, "waits for");
}

static void buffer__smallest_depth_is_found(void **state)
{
    (void)state;
    struct inq_lint lint = lint_text(send_send, INQ_GROUPING_NONE);
    assert_int_equal(lint.buffer_depth, 1);
    inq_lint_release(&lint);
    lint = lint_text("0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2,0RECV_B0,0B0,0RECV_B1,0B1,0RECV_B2,"
                     "0B2\n"
                     "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1RECV_F2,1F2,1B2,"
                     "1SEND_B2\n",
                     INQ_GROUPING_NONE);
    /* rank 0 sends 1 and 2 while rank 1 waits with gradient 0: two messages are on the way */
    assert_int_equal(lint.buffer_depth, 1);
    inq_lint_release(&lint);
    lint = lint_text(send_send, INQ_GROUPING_ADJACENT);
    assert_int_equal(lint.buffer_depth, 0);
    inq_lint_release(&lint);
}

/* R1: text that does not parse is a problem at its cell, and the only one; without a cell, of all.
 */
static void format__a_fault_of_the_text_is_the_problem(void **state)
{
    (void)state;
    static const struct {
        const char *text, *action, *message;
        int32_t line, column, rank, position;
    } cases[] = {{"\n0F0, 1X2\n", "1X2", "expected STAGE KIND", 2, 6, 0, 1},
                 {"\n", "", "no action", 0, 0, -1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        struct inq_schedule s;
        struct inq_csv_info info;
        struct inq_lint_options options = {.costs = unit};
        struct inq_lint lint;
        assert_int_equal(inq_schedule_read_csv(text, strlen(text), INQ_CSV_DETECT, &s, &info, NULL),
                         INQ_FORMAT);
        assert_int_equal(inq_lint_schedule(&s, &info, &options, &lint, NULL), INQ_OK);
        assert_int_equal(lint.n, 1);
        assert_int_equal(lint.n_errors, 1);
        const struct inq_lint_problem *p = &lint.problems[0];
        assert_int_equal(p->rule, INQ_LINT_FORMAT);
        assert_int_equal(p->line, cases[i].line);
        assert_int_equal(p->column, cases[i].column);
        assert_int_equal(p->rank, cases[i].rank);
        assert_int_equal(p->position, cases[i].position);
        assert_non_null(strstr(p->message, cases[i].message));
        assert_non_null(strstr(p->action, cases[i].action));
        inq_lint_release(&lint);
    }
}

/* Lines and columns as an editor counts them, whatever stands around a cell; what is nowhere has no
 * cell; a circle begins where the first rank waits. */
static void places__are_those_of_the_text(void **state)
{
    (void)state;
    struct inq_lint lint = lint_text(
        "\xef\xbb\xbf\n\"0F0\",  0F1 ,,0B0,\"0B1\"\n1F0,\t1B1,1F1,1B0\n", INQ_GROUPING_ADJACENT);
    assert_int_equal(lint.n_errors, 1);
    const struct inq_lint_problem *p = &lint.problems[lint.n - 1];
    assert_int_equal(p->rule, INQ_LINT_ORDER);
    assert_int_equal(p->line, 3);
    assert_int_equal(p->position, 1);
    assert_int_equal(p->column, 6);
    inq_lint_release(&lint);
    lint = lint_text("0F0,0B0,\"0F1\",0B1\n1F0,1B0\n", INQ_GROUPING_ADJACENT);
    for (size_t i = 0; i < lint.n; i++) {
        p = &lint.problems[i];
        assert_int_equal(p->rule, INQ_LINT_COUNT);
        assert_int_equal(p->line, 2);
        assert_int_equal(p->position, -1);
        assert_int_equal(p->column, 0);
    }
    assert_int_equal(lint.n, 2);
    inq_lint_release(&lint);
    lint = lint_text("0F0, 0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", INQ_GROUPING_ADJACENT);
    assert_int_equal(lint.n_errors, 1);
    p = &lint.problems[lint.n - 1];
    assert_int_equal(p->rule, INQ_LINT_CYCLE);
    assert_true(p->rank == 0 && p->position == 1 && p->line == 1 && p->column == 6);
    assert_string_equal(p->action, "0B0");
    inq_lint_release(&lint);
}

static void pair_order__must_agree(void **state)
{
    (void)state;
    assert_caught("crossed",
                  "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
                  "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
                  INQ_GROUPING_ADJACENT, INQ_LINT_RENDEZVOUS, "match in order");
}

/* Two ranks: an activation and a gradient travel the same way and can be taken for each other. */
static void two_ranks__mixed_directions_are_told(void **state)
{
    (void)state;
    assert_caught(
        "p = 2",
        "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2RECV_F1,2F1,2SEND_B0,"
        "2SEND_F1,2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1\n"
        "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,"
        "1RECV_B0,3F1,3B1,3SEND_B1,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n",
        INQ_GROUPING_ADJACENT, INQ_LINT_NEIGHBOR, "match in order");
}

static void order__mistakes_on_one_rank(void **state)
{
    (void)state;
    enum inq_grouping g = INQ_GROUPING_ADJACENT;
    assert_caught("B before F", "0B0,0F0\n", g, INQ_LINT_ORDER, "backward before");
    assert_caught("W before I", "0F0,0W0,0I0\n", g, INQ_LINT_ORDER, "weight gradient before");
    assert_caught("twice", "0F0,0F0,0B0\n", g, INQ_LINT_COUNT, "twice");
    assert_caught("missing F", "0F0,0B0,0B1\n", g, INQ_LINT_COUNT, "nowhere");
    assert_caught("missing W", "0F0,0I0\n", g, INQ_LINT_COUNT, "nowhere");
    assert_caught("both backwards", "0F0,0B0,0I0,0W0\n", g, INQ_LINT_COUNT, "computed twice");
    assert_caught("two homes", "0F0,0B0\n0F1,0B1\n", g, INQ_LINT_COUNT, "another rank");
    assert_caught("unshard twice", "0UNSHARD,0UNSHARD,0F0,0B0,0RESHARD\n", g, INQ_LINT_UNSHARD,
                  "unsharded already");
    assert_caught("never reshard", "0UNSHARD,0F0,0B0\n", g, INQ_LINT_UNSHARD, "never resharded");
    assert_caught("use while sharded", "0UNSHARD,0F0,0RESHARD,0B0\n", g, INQ_LINT_UNSHARD,
                  "not unsharded");
    assert_clean("balanced", "0UNSHARD,0F0,0B0,0RESHARD,0REDUCE_GRAD\n", g);
}

static void pairing__sends_and_receives_belong_together(void **state)
{
    (void)state;
    enum inq_grouping g = INQ_GROUPING_ADJACENT;
    assert_caught("no receive", "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n", g, INQ_LINT_ORDER,
                  "before its input");
    assert_caught("no send", "0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", g, INQ_LINT_PAIRING,
                  "nobody sends it");
    assert_caught("end stage", "0F0,0SEND_F0,0B0,0SEND_B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", g,
                  INQ_LINT_ORDER, "before its gradient");
    assert_caught("to itself", "0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n", g, INQ_LINT_NEIGHBOR,
                  "on this rank");
}

static void cycle__no_buffer_helps(void **state)
{
    (void)state;
    assert_caught("receive in front", "0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
                  INQ_GROUPING_NONE, INQ_LINT_CYCLE, "waits for");
    assert_caught("crossed computes", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", INQ_GROUPING_NONE,
                  INQ_LINT_CYCLE, "wait");
}

/* A receive in front of what the peer needs first; and the same rows put right. */
static void front_loaded_receives__block_and_pass_when_put_behind(void **state)
{
    (void)state;
    const char *front = "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                        "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
    const char *right = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                        "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
    assert_caught("front-loaded", front, INQ_GROUPING_NONE, INQ_LINT_CYCLE, "0RECV_B0");
    assert_caught("front-loaded", front, INQ_GROUPING_ADJACENT, INQ_LINT_CYCLE, "1RECV_F1");
    assert_clean("in time", right, INQ_GROUPING_NONE);
    assert_clean("in time", right, INQ_GROUPING_ADJACENT);
}

static void pair_order__passes_when_both_agree(void **state)
{
    (void)state;
    assert_clean("agreed",
                 "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
                 "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
                 INQ_GROUPING_ADJACENT);
}

/* Both directions between two ranks, as the caught version above, in one order on both. */
static void two_ranks__pass_when_the_order_is_one(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {
        .kind = "interleaved", .n_ranks = 2, .n_microbatches = 4, .n_chunks = 2};
    struct inq_schedule s;
    struct inq_schedule lowered;
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
    assert_int_equal(inq_schedule_lower(&s, &lowered, NULL), INQ_OK);
    struct inq_lint lint = lint_schedule(&lowered, INQ_GROUPING_NONE, 0.0);
    assert_int_equal(lint.n_errors, 0);
    inq_lint_release(&lint);
    inq_schedule_release(&s);
    inq_schedule_release(&lowered);
}

static void composites__parts_may_not_need_each_other(void **state)
{
    (void)state;
    enum inq_grouping g = INQ_GROUPING_ADJACENT;
    assert_clean("forward beside another's backward", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", g);
    assert_caught("forward and its own backward", "(0F0;0B0)OVERLAP_F_B\n", g, INQ_LINT_ORDER,
                  "start together");
    assert_caught("turn of a V", "(0F0;1F0)OVERLAP_F_B,1B0,0B0\n", g, INQ_LINT_ORDER,
                  "start together");
    assert_caught("both backwards of a V", "0F0,1F0,(1B0;0B0)OVERLAP_F_B\n", g, INQ_LINT_ORDER,
                  "start together");
    assert_caught("a part that came before", "0F0,0B0,(0F1;0B0)OVERLAP_F_B,0B1\n", g,
                  INQ_LINT_COUNT, "twice");
    assert_clean("across ranks",
                 "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,(0F2;0B0)OVERLAP_F_B,0SEND_F2,0RECV_B1,0B1,"
                 "0RECV_B2,0B2\n"
                 "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1RECV_F2,1B1,1SEND_B1,1F2,"
                 "1B2,1SEND_B2\n",
                 g);
}

/* Runtimes that send and receive step by step need rows that are aligned with empty cells. */
static void gradients__are_reduced_once_and_whole(void **state)
{
    (void)state;
    enum inq_grouping g = INQ_GROUPING_ADJACENT;
    assert_clean("reduced", "0F0,0F1,0B0,0B1,0REDUCE_GRAD\n", g);
    assert_caught("twice", "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n", g, INQ_LINT_COUNT, "twice");
    assert_caught("early", "0F0,0F1,0B0,0REDUCE_GRAD,0B1\n", g, INQ_LINT_ORDER, "reduced already");
    assert_caught("before W", "0F0,0I0,0REDUCE_GRAD,0W0\n", g, INQ_LINT_ORDER, "reduced already");
    assert_clean("input gradients add nothing", "0F0,0F1,0I0,0W0,0I1,0W1,0REDUCE_GRAD\n", g);
    assert_caught("other rank", "0F0,0B0\n1F0,1B0,0REDUCE_GRAD,1REDUCE_GRAD\n", g, INQ_LINT_COUNT,
                  "another rank");
    assert_caught("missing", "0F0,0B0\n1F0,1B0,1REDUCE_GRAD\n", g, INQ_LINT_COUNT, "nowhere");
    assert_caught("gathered elsewhere", "0UNSHARD,0F0,0B0,0RESHARD,1UNSHARD\n1F0,1B0,1RESHARD\n", g,
                  INQ_LINT_COUNT, "another rank");
    assert_clean("replicas",
                 "0F0,1F0,1B0,1REDUCE_GRAD,0B0,0REDUCE_GRAD\n"
                 "2F1,3F1,3B1,3REDUCE_GRAD,2B1,2REDUCE_GRAD\n",
                 g);
    assert_caught("crossed",
                  "0F0,1F0,1B0,0B0,0REDUCE_GRAD,1REDUCE_GRAD\n"
                  "2F1,3F1,3B1,2B1,3REDUCE_GRAD,2REDUCE_GRAD\n",
                  g, INQ_LINT_CYCLE, "wait for each other");
}

static void steps__results_must_come_from_earlier_steps(void **state)
{
    (void)state;
    assert_clean("aligned", "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n", INQ_GROUPING_STEP);
    assert_caught("empty cells missing", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", INQ_GROUPING_STEP,
                  INQ_LINT_RENDEZVOUS, "empty cells");
    assert_clean("the same without steps", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
                 INQ_GROUPING_ADJACENT);
}

/* Both ranks receive before they send: alone that is a circle whatever the buffers, in one group it
 * is the usual exchange. */
static void groups__a_receive_in_front_of_a_send_is_fine(void **state)
{
    (void)state;
    const char *text =
        "0F0,0SEND_F0,0F1,2RECV_F0,0SEND_F1,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,2RECV_B0,2B0,"
        "2SEND_B0,2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1\n"
        "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,"
        "3SEND_B1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n";
    assert_caught("alone", text, INQ_GROUPING_NONE, INQ_LINT_CYCLE, "2RECV_F0");
    assert_clean("grouped", text, INQ_GROUPING_ADJACENT);
}

static void baseline__a_larger_bubble_is_an_error(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.kind = "1f1b", .n_ranks = 4, .n_microbatches = 8};
    struct inq_schedule s;
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
    static const struct {
        double baseline, tolerance;
        bool worse;
    } cases[] = {{3.0 / 11, 0.0, false}, {0.2, 0.0, true}, {0.25, 0.03, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_lint_options options = {.costs = unit,
                                           .has_baseline = true,
                                           .baseline_bubble = cases[i].baseline,
                                           .tolerance = cases[i].tolerance};
        struct inq_lint lint;
        assert_int_equal(inq_lint_schedule(&s, NULL, &options, &lint, NULL), INQ_OK);
        assert_int_equal(lint.n_errors, cases[i].worse ? 1 : 0);
        assert_true(!cases[i].worse || lint.problems[0].rule == INQ_LINT_BASELINE);
        inq_lint_release(&lint);
    }
    inq_schedule_release(&s);
}

static void replicas__weights_kept_twice_are_noted(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        bool twice;
    } cases[] = {{"1f1b", false},
                 {"dp", false},
                 {"chimera", true},
                 {"dualpipe", true},
                 {"dualpipev", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_schedule_spec spec = {.kind = cases[i].kind, .n_ranks = 4, .n_microbatches = 8};
        struct inq_schedule s;
        assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
        struct inq_lint lint = lint_schedule(&s, INQ_GROUPING_ADJACENT, 0.0);
        assert_int_equal(lint.n_errors, 0);
        assert_int_equal(lint.n, cases[i].twice ? 1 : 0);
        inq_lint_release(&lint);
        inq_schedule_release(&s);
    }
}

static void memory__limit_names_the_rank(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.kind = "1f1b", .n_ranks = 4, .n_microbatches = 8};
    struct inq_schedule s;
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
    struct inq_lint lint = lint_schedule(&s, INQ_GROUPING_ADJACENT, 3.0);
    assert_int_equal(lint.n_errors, 1);
    assert_int_equal(lint.problems[0].rule, INQ_LINT_MEMORY);
    assert_int_equal(lint.problems[0].rank, 0);
    inq_lint_release(&lint);
    inq_schedule_release(&s);
}

static void generated__schedules_pass(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    for (size_t k = 0; k < n; k++) {
        for (int32_t p = 1; p <= 6; p++) {
            for (int32_t rounds = 1; rounds <= 4; rounds++) {
                bool two_ends =
                    strcmp(kinds[k].name, "dualpipe") == 0 || strcmp(kinds[k].name, "chimera") == 0;
                if (two_ends && p % 2 != 0) {
                    continue;
                }
                struct inq_schedule_spec spec = {.kind = kinds[k].name,
                                                 .n_ranks = p,
                                                 .n_microbatches = 2 * p * rounds,
                                                 .costs = unit};
                struct inq_schedule s;
                struct inq_err err = {0};
                assert_int_equal(inq_schedule_make(&spec, &s, &err), INQ_OK);
                struct inq_lint lint = lint_schedule(&s, INQ_GROUPING_ADJACENT, 0.0);
                if (lint.n_errors > 0) {
                    fail_msg("%s p=%d m=%d: %s %s rank %d: %s", spec.kind, p, spec.n_microbatches,
                             inq_lint_rule_text(lint.problems[0].rule), lint.problems[0].action,
                             lint.problems[0].rank, lint.problems[0].message);
                }
                inq_lint_release(&lint);
                inq_schedule_release(&s);
            }
        }
    }
}

static void pytorch_files__lint_clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_PYTORCH_SCHEDULES; i++) {
        struct inq_schedule s;
        struct inq_csv_info info;
        assert_int_equal(test_pytorch_schedule(INQ_SHARED_DATA, i, &s, &info, NULL), INQ_OK);
        struct inq_lint lint = lint_schedule(&s, INQ_GROUPING_ADJACENT, 0.0);
        if (lint.n_errors > 0) {
            fail_msg("file %zu: %s %s", i, lint.problems[0].action, lint.problems[0].message);
        }
        inq_lint_release(&lint);
        inq_schedule_release(&s);
    }
}

/* Two neighbors of one rank change places; where that hangs, lint says who waits for whom and
 * proposes a swap, and that swap mends it. */
static void remedy__mends_every_swap_that_hangs(void **state)
{
    (void)state;
    static const char *const kinds[] = {"1f1b", "gpipe", "zb-h1", "interleaved", "zb-v"};
    size_t hangs = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct inq_schedule_spec spec = {
            .kind = kinds[k], .n_ranks = 3, .n_microbatches = 6, .costs = {.stage = {1, 1, 1}}};
        struct inq_schedule s;
        assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
        for (int32_t r = 0; r < s.n_ranks; r++) {
            for (size_t i = 0; i + 1 < s.ranks[r].n; i++) {
                struct inq_action *a = s.ranks[r].actions;
                struct inq_action kept[2] = {a[i], a[i + 1]};
                struct inq_lint_options options = {.costs = spec.costs};
                struct inq_lint lint;
                struct inq_lint after;
                a[i] = kept[1];
                a[i + 1] = kept[0];
                assert_int_equal(inq_lint_schedule(&s, NULL, &options, &lint, NULL), INQ_OK);
                if (lint.n_errors > 0) {
                    hangs++;
                    assert_int_equal(lint.remedy.rank >= 0, 1);
                    struct inq_action *b = s.ranks[lint.remedy.rank].actions;
                    struct inq_action first = b[lint.remedy.first];
                    b[lint.remedy.first] = b[lint.remedy.second];
                    b[lint.remedy.second] = first;
                    assert_int_equal(inq_lint_schedule(&s, NULL, &options, &after, NULL), INQ_OK);
                    assert_int_equal(after.n_errors, 0);
                    inq_lint_release(&after);
                    b[lint.remedy.second] = b[lint.remedy.first];
                    b[lint.remedy.first] = first;
                    bool circle = lint.problems[0].rule == INQ_LINT_CYCLE;
                    assert_true(!circle || lint.n_story > 1);
                }
                inq_lint_release(&lint);
                a[i] = kept[0];
                a[i + 1] = kept[1];
            }
        }
        inq_schedule_release(&s);
    }
    print_message("%zu swaps that hang, all mended\n", hangs);
    assert_true(hangs > 50);
}

/* Two ranks, two chunks: receives of an activation and a gradient that changed places are taken for
 * each other, and putting them back mends that. */
static void remedy__mends_receives_that_are_taken_for_each_other(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {
        .kind = "interleaved", .n_ranks = 2, .n_microbatches = 4, .costs = {.stage = {1, 1, 1}}};
    struct inq_schedule compute;
    struct inq_schedule s;
    size_t confused = 0;
    assert_int_equal(inq_schedule_make(&spec, &compute, NULL), INQ_OK);
    assert_int_equal(inq_schedule_lower(&compute, &s, NULL), INQ_OK);
    for (int32_t r = 0; r < 2; r++) {
        struct inq_action *a = s.ranks[r].actions;
        for (size_t i = 0; i + 2 < s.ranks[r].n; i++) {
            struct inq_action kept[2] = {a[i], a[i + 2]};
            if (!(kept[0].kind == INQ_ACTION_RECV_F && kept[1].kind == INQ_ACTION_RECV_B) &&
                !(kept[0].kind == INQ_ACTION_RECV_B && kept[1].kind == INQ_ACTION_RECV_F)) {
                continue;
            }
            a[i] = kept[1];
            a[i + 2] = kept[0];
            struct inq_lint lint = lint_schedule(&s, INQ_GROUPING_ADJACENT, 0.0);
            for (size_t k = 0; k < lint.n; k++) {
                bool mixed = lint.problems[k].error && lint.problems[k].rule == INQ_LINT_NEIGHBOR;
                confused += mixed;
                assert_true(!mixed || lint.remedy.rank >= 0);
            }
            inq_lint_release(&lint);
            a[i] = kept[0];
            a[i + 2] = kept[1];
        }
    }
    assert_true(confused > 0);
    inq_schedule_release(&s);
    inq_schedule_release(&compute);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format__a_fault_of_the_text_is_the_problem),
        cmocka_unit_test(places__are_those_of_the_text),
        cmocka_unit_test(remedy__mends_every_swap_that_hangs),
        cmocka_unit_test(remedy__mends_receives_that_are_taken_for_each_other),
        cmocka_unit_test(rendezvous__both_send_is_caught_and_grouping_cures_it),
        cmocka_unit_test(rendezvous__compute_between_the_calls_blocks_even_grouped),
        cmocka_unit_test(buffer__smallest_depth_is_found),
        cmocka_unit_test(pair_order__must_agree),
        cmocka_unit_test(two_ranks__mixed_directions_are_told),
        cmocka_unit_test(order__mistakes_on_one_rank),
        cmocka_unit_test(pairing__sends_and_receives_belong_together),
        cmocka_unit_test(cycle__no_buffer_helps),
        cmocka_unit_test(front_loaded_receives__block_and_pass_when_put_behind),
        cmocka_unit_test(pair_order__passes_when_both_agree),
        cmocka_unit_test(two_ranks__pass_when_the_order_is_one),
        cmocka_unit_test(composites__parts_may_not_need_each_other),
        cmocka_unit_test(gradients__are_reduced_once_and_whole),
        cmocka_unit_test(steps__results_must_come_from_earlier_steps),
        cmocka_unit_test(groups__a_receive_in_front_of_a_send_is_fine),
        cmocka_unit_test(baseline__a_larger_bubble_is_an_error),
        cmocka_unit_test(replicas__weights_kept_twice_are_noted),
        cmocka_unit_test(memory__limit_names_the_rank),
        cmocka_unit_test(generated__schedules_pass),
        cmocka_unit_test(pytorch_files__lint_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
