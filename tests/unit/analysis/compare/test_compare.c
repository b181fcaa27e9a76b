/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing runs: sums are exact, planted causes are named, equal runs are equal. */
#include "analysis/record/record.h"
#include "base/json.h"
#include "inquest/ingest.h"
#include "inquest/synth.h"
#include "support_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LEAN "gz=0,cpu_ops=0,flows=0,calls=0,steps=8,"

struct tried {
    struct inq_run *run;
    struct inq_report *report;
};

static struct tried try_spec(const char *text)
{
    char full[512];
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    struct tried t = {0};
    assert_non_null(spec);
    (void)snprintf(full, sizeof full, LEAN "%s", text);
    if (inq_synth_spec_parse(full, spec, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(inq_synth_new(spec, &synth, &err), INQ_OK);
    free(spec);
    assert_int_equal(inq_synth_ingest(synth, true, 0, &t.run, &err), INQ_OK);
    assert_int_equal(inq_analyze(t.run->traces[0], NULL, &t.report, &err), INQ_OK);
    inq_synth_free(synth);
    return t;
}

static void drop(struct tried *t)
{
    inq_report_free(t->report);
    inq_run_free(t->run);
}

/* ---- what must hold always -------------------------------------------------------------------*/

static void check_collectives(const struct inq_comparison *c)
{
    int64_t sum[INQ_LOSS_COUNT] = {0};
    for (size_t i = 0; i < c->n_colls; i++) {
        int64_t own = 0;
        for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
            own += c->colls[i].loss_ns[loss];
            sum[loss] += c->colls[i].loss_ns[loss];
        }
        assert_int_equal(own, c->colls[i].total_loss_ns);
        for (int side = 0; side < 2; side++) {
            assert_true(c->colls[i].exposed_ns[side] >= 0 && c->colls[i].wait_ns[side] >= 0);
        }
    }
    assert_int_equal(sum[INQ_LOSS_BYTES], c->loss_ns[INQ_LOSS_BYTES]);
    assert_int_equal(sum[INQ_LOSS_BANDWIDTH], c->loss_ns[INQ_LOSS_BANDWIDTH]);
    assert_int_equal(sum[INQ_LOSS_OVERLAP], c->loss_ns[INQ_LOSS_OVERLAP]);
    assert_int_equal(sum[INQ_LOSS_UNSIZED], c->loss_ns[INQ_LOSS_UNSIZED]);
    assert_int_equal(sum[INQ_LOSS_WAITING], c->loss_ns[INQ_LOSS_WAITING]);
}

static void check_sums(const struct inq_comparison *c)
{
    int64_t step[2] = {0};
    int64_t ideal = 0;
    int64_t loss = 0;
    for (int p = 0; p < INQ_STEP_PART_COUNT; p++) {
        step[0] += c->run[0].part_ns[p];
        step[1] += c->run[1].part_ns[p];
        ideal += c->ideal_part_ns[p];
        assert_true(c->run[0].part_ns[p] >= 0 && c->run[1].part_ns[p] >= 0);
    }
    for (int i = 0; i < INQ_LOSS_COUNT; i++) {
        loss += c->loss_ns[i];
    }
    assert_int_equal(step[0], c->run[0].step_ns);
    assert_int_equal(step[1], c->run[1].step_ns);
    assert_int_equal(ideal, c->ideal_ns);
    assert_int_equal(loss, c->loss_total_ns);
    assert_int_equal(c->run[1].step_ns - c->ideal_ns, loss);
    check_collectives(c);
}

static struct inq_comparison *compared(const struct tried *a, const struct tried *b,
                                       const struct inq_compare_options *options)
{
    struct inq_comparison *c = NULL;
    struct inq_err err = {0};
    if (inq_compare_runs(a->report, b->report, options, &c, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    check_sums(c);
    return c;
}

/* Every instant of communication that no compute covers is in one part, and only once. */
static void check_record(const struct inq_report *report)
{
    struct inq_run_record p;
    int64_t length = 0;
    int64_t sum = 0;
    struct inq_err err = {0};
    int code = inq_run_record_build(report, &p, &err);
    for (size_t r = 0; code == INQ_OK && r < p.n_ranks; r++) {
        for (size_t s = 0; s < p.n_account_steps; s++) {
            const struct inq_account_cell *cell = inq_account_cell_at(report->account, r, s);
            length += inq_run_record_counts(&p, r, s) ? cell->end_ns - cell->start_ns : 0;
        }
    }
    for (int part = 0; code == INQ_OK && part < INQ_STEP_PART_COUNT; part++) {
        sum += p.part_ns[part];
    }
    assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
    assert_int_equal(sum, length);
    inq_run_record_release(&p);
}

static void compare__parts_sum_to_the_steps_of_all_kinds_of_runs(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,layers=4",
        "dp=2,tp=2,layers=4",
        "dp=2,pp=2,layers=4,labels=1",
        "dp=1,pp=4,layers=8,p2p=bare",
        "dp=1,pp=4,layers=8,p2p=fused",
        "dp=4,layers=4,sharded=1",
        "dp=4,layers=4,args=old,window=ragged",
        "dp=4,layers=2,clock=3ms,gpus_per_host=2,fault=cut_file:rank=2:at=0.5"};
    enum { N = sizeof specs / sizeof *specs };
    struct tried runs[N];
    for (size_t i = 0; i < N; i++) {
        runs[i] = try_spec(specs[i]);
        check_record(runs[i].report);
    }
    for (size_t i = 0; i < N; i++) {
        struct inq_comparison *c = compared(&runs[i], &runs[(i + 3) % N], NULL);
        inq_comparison_free(c);
    }
    for (size_t i = 0; i < N; i++) {
        drop(&runs[i]);
    }
}

/* Of the stage between them nothing is recorded: the last stage's receives have no partner, nor
 * have the first one's sends. They are transfers of a pipeline, and no collectives, all the same.
 */
static void record__a_transfer_without_its_partner_is_no_collective(void **state)
{
    (void)state;
    struct tried t = try_spec("dp=1,pp=3,layers=6,p2p=args,fault=missing_rank:rank=1");
    const struct inq_trace *trace = t.run->traces[0];
    struct inq_run_record record;
    size_t n[2] = {0};
    for (size_t r = 0; r < trace->n_ranks; r++) {
        for (size_t i = 0; i < trace->ranks[r].events.n; i++) {
            uint32_t c = trace->ranks[r].events.comm[i];
            enum inq_coll_kind kind =
                c < trace->ranks[r].n_comms ? trace->ranks[r].comms[c].kind : INQ_COLL_UNKNOWN;
            n[0] += kind == INQ_COLL_SEND;
            n[1] += kind == INQ_COLL_RECV;
        }
    }
    assert_true(n[0] > 0 && n[1] > 0 && trace->unmatched_comms > 0);
    assert_int_equal(inq_run_record_build(t.report, &record, NULL), INQ_OK);
    for (size_t i = 0; i < record.n_classes; i++) {
        enum inq_coll_kind kind = record.classes[i].kind;
        assert_true(kind != INQ_COLL_SEND && kind != INQ_COLL_RECV && kind != INQ_COLL_SENDRECV);
    }
    assert_true(record.part_ns[INQ_PART_BUBBLE] + record.part_ns[INQ_PART_P2P] +
                    record.part_ns[INQ_PART_COMM_OTHER] >
                0);
    inq_run_record_release(&record);
    drop(&t);
}

static void compare__a_run_with_itself_has_not_changed(void **state)
{
    (void)state;
    static const char *const specs[] = {"dp=4,layers=4", "dp=2,pp=2,layers=4,labels=1"};
    for (size_t i = 0; i < 2; i++) {
        struct tried t = try_spec(specs[i]);
        struct inq_comparison *c = compared(&t, &t, NULL);
        assert_false(c->changed);
        assert_int_equal(c->loss_total_ns, 0);
        assert_int_equal(c->n_findings, 0);
        assert_string_equal(c->reason, "");
        assert_true(strncmp(c->headline, "No change beyond the spread", 27) == 0);
        for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
            assert_int_equal(c->loss_ns[loss], 0);
        }
        for (size_t k = 0; k < c->n_kernels; k++) {
            assert_int_equal(c->kernels[k].loss_ns, 0);
        }
        inq_comparison_free(c);
        drop(&t);
    }
}

static void compare__equal_runs_with_other_noise_have_not_changed(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=4,layers=4,step_sigma=0.01,seed=1");
    for (int seed = 2; seed < 12; seed++) {
        char spec[96];
        (void)snprintf(spec, sizeof spec, "dp=4,layers=4,step_sigma=0.01,seed=%d", seed);
        struct tried b = try_spec(spec);
        struct inq_comparison *c = compared(&a, &b, NULL);
        assert_false(c->changed);
        inq_comparison_free(c);
        drop(&b);
    }
    drop(&a);
}

/* ---- planted causes --------------------------------------------------------------------------*/

/* `who`: the ranks it is about, as "5" or "4,5"; "" all alike. */
struct expected {
    const char *base, *now;
    enum inq_loss loss;
    const char *who, *says; /* in the reason */
    enum inq_scaling scaling;
    double samples[2];
};

static void expect_side(const struct expected *e, const struct tried *a, const struct tried *b,
                        bool gain)
{
    struct inq_compare_options options = {.samples = {e->samples[0], e->samples[1]}};
    struct inq_comparison *c = compared(a, b, &options);
    char who[64] = "";
    print_message("%s\n  %s\n", c->headline, c->reason);
    assert_true(c->changed && (c->loss_total_ns < 0) == gain);
    assert_true(c->n_causes > 0 && (c->causes[0].ns < 0) == gain);
    assert_string_equal(inq_loss_text(c->causes[0].loss), inq_loss_text(e->loss));
    for (size_t i = 0; i < c->causes[0].n_ranks; i++) {
        size_t used = strlen(who);
        (void)snprintf(who + used, sizeof who - used, "%s%d", i > 0 ? "," : "",
                       (int)c->causes[0].ranks[i]);
    }
    assert_string_equal(who, e->who);
    if (!gain) {
        assert_int_equal(c->scaling, e->scaling);
        if (strstr(c->reason, e->says) == NULL) {
            fail_msg("'%s' is not in: %s", e->says, c->reason);
        }
    }
    inq_comparison_free(c);
}

static void expect(const struct expected *e)
{
    struct tried a = try_spec(e->base);
    struct tried b = try_spec(e->now);
    expect_side(e, &a, &b, false);
    if (e->scaling == INQ_SCALING_SAME) { /* the other way round it is a gain, of the same */
        expect_side(e, &b, &a, true);
    }
    drop(&a);
    drop(&b);
}

static void compare__names_what_was_planted(void **state)
{
    (void)state;
    static const struct expected all[] = {
        /* twice the ranks, slower network: weak and strong */
        {"dp=8,layers=4,dp_gbps=150",
         "dp=16,layers=4,dp_gbps=50,seed=2",
         INQ_LOSS_BANDWIDTH,
         "",
         "gradient all_reduce over all ranks: mostly less bandwidth",
         INQ_SCALING_WEAK,
         {0, 0}},
        {"dp=8,layers=4,dp_gbps=150,layer=800us",
         "dp=16,layers=4,dp_gbps=150,layer=400us,seed=2",
         INQ_LOSS_BYTES,
         "",
         "gradient all_reduce over all ranks: mostly more bytes for the work",
         INQ_SCALING_STRONG,
         {0, 0}},
        {"dp=1,layers=4",
         "dp=8,layers=4,dp_gbps=30,seed=2",
         INQ_LOSS_BYTES,
         "",
         "gradient all_reduce over all ranks",
         INQ_SCALING_WEAK,
         {0, 0}},
        /* a slow rank beside twice the ranks is found among them */
        {"dp=8,layers=4",
         "dp=16,layers=4,seed=2,fault=slow_gpu:rank=11:factor=1.4",
         INQ_LOSS_COMPUTE,
         "11",
         "Rank 11 computes 4",
         INQ_SCALING_WEAK,
         {0, 0}},
        /* a link that is slow among those like it, between two stages and within one of two groups
         */
        {"dp=1,pp=4,layers=4,labels=1",
         "dp=1,pp=4,layers=4,labels=1,seed=2,fault=slow_link:links=pp:rank=1:peer=2:factor=20",
         INQ_LOSS_P2P,
         "1,2",
         "transfers between pipeline stages: those of ranks 1, 2 take ",
         INQ_SCALING_SAME,
         {0, 0}},
        {"tp=2,dp=4,layers=4",
         "tp=2,dp=4,layers=4,seed=2,fault=slow_link:links=dp:rank=3:factor=5",
         INQ_LOSS_BANDWIDTH,
         "1,3,5,7",
         "6 before; transfers of ranks 1, 3, 5, 7 take ",
         INQ_SCALING_SAME,
         {0, 0}},
        /* it was as slow before: what changed is another matter */
        {"tp=2,dp=4,layers=4,fault=slow_link:links=dp:rank=3:factor=3",
         "tp=2,dp=4,layers=4,seed=2,dp_gbps=60,fault=slow_link:links=dp:rank=3:factor=3",
         INQ_LOSS_BANDWIDTH,
         "",
         "mostly less bandwidth",
         INQ_SCALING_SAME,
         {0, 0}},
        /* the same size */
        {"dp=4,layers=4",
         "dp=4,layers=4,dp_gbps=40,seed=2",
         INQ_LOSS_BANDWIDTH,
         "",
         "gradient all_reduce over all ranks: mostly less bandwidth",
         INQ_SCALING_SAME,
         {0, 0}},
        {"dp=4,layers=4",
         "dp=4,layers=4,layer=1ms,seed=2",
         INQ_LOSS_COMPUTE,
         "",
         "All ranks compute 2",
         INQ_SCALING_SAME,
         {0, 0}},
        {"dp=4,layers=4",
         "dp=4,layers=6,seed=2",
         INQ_LOSS_COMPUTE,
         "",
         "more kernels",
         INQ_SCALING_SAME,
         {0, 0}},
        {"dp=8,layers=4",
         "dp=8,layers=4,seed=2,fault=slow_gpu:rank=5:factor=1.3",
         INQ_LOSS_COMPUTE,
         "5",
         "Rank 5 computes",
         INQ_SCALING_SAME,
         {0, 0}},
        /* late hosts: of all, and of one, which is no matter of its all_reduce */
        {"dp=4,layers=4",
         "dp=4,layers=4,seed=2,data=6ms",
         INQ_LOSS_HOST,
         "",
         "all ranks wait longer for their host",
         INQ_SCALING_SAME,
         {0, 0}},
        {"dp=4,layers=4",
         "dp=4,layers=4,seed=2,fault=late_host:rank=1:delay=6ms",
         INQ_LOSS_HOST,
         "1",
         "rank 1 waits longer for its host",
         INQ_SCALING_SAME,
         {0, 0}},
        {"dp=2,pp=4,layers=8,labels=1",
         "dp=2,pp=4,layers=8,labels=1,seed=2,fault=slow_gpu:rank=4:last=5:factor=1.2",
         INQ_LOSS_COMPUTE,
         "4,5",
         "Stage 2 computes",
         INQ_SCALING_SAME,
         {0, 0}},
        /* half the work per rank, said: fewer micro-batches, more bubbles */
        {"dp=1,pp=4,layers=8,labels=1,micro_batches=16",
         "dp=2,pp=4,layers=8,labels=1,micro_batches=8,seed=2",
         INQ_LOSS_BUBBLE,
         "",
         "pipeline bubbles",
         INQ_SCALING_STRONG,
         {512, 512}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        expect(&all[i]);
    }
}

/* Two ranks that take turns in pausing: no rank is told, and no mean. */
static void compare__who_takes_turns_is_not_named(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=8,layers=4,steps=20");
    struct tried b = try_spec("dp=8,layers=4,steps=20,seed=2,fault=gc:every=4:delay=12ms");
    struct inq_comparison *c = compared(&a, &b, NULL);
    assert_true(c->changed);
    assert_int_equal(c->causes[0].loss, INQ_LOSS_HOST);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

/* Uneven experts make other ranks late in each layer; two ranks compute a little more by chance,
 * and are not told for the waiting that all the others cause too. */
static void compare__lateness_that_moves_is_not_put_on_two_ranks(void **state)
{
    (void)state;
    static const char job[] = "dp=8,experts=1,layers=4,steps=10,sigma=0.03,step_sigma=0.005,"
                              "rank_sigma=0.004,host_sigma=0.15,seed=";
    char base[256];
    char now[256];
    (void)snprintf(base, sizeof base, "%s78218", job);
    (void)snprintf(now, sizeof now, "%s83218,fault=uneven_experts:sigma=0.5", job);
    struct tried a = try_spec(base);
    struct tried b = try_spec(now);
    for (int gain = 0; gain < 2; gain++) {
        struct inq_comparison *c = gain ? compared(&b, &a, NULL) : compared(&a, &b, NULL);
        print_message("%s\n  %s\n", c->headline, c->reason);
        assert_true(c->changed && c->n_causes > 0);
        assert_int_equal(c->causes[0].loss, INQ_LOSS_COMPUTE);
        assert_int_equal(c->causes[0].n_ranks, 0);
        assert_non_null(strstr(c->reason, "from rank to rank"));
        inq_comparison_free(c);
    }
    drop(&a);
    drop(&b);
}

/* Each change is explained by the simulator: the run in which it costs, with the other's part in
 * its place. `least`: part of the change that the first cause explains. */
static void compare__causes_are_swapped_in_the_simulator(void **state)
{
    static const struct {
        const char *base, *now;
        enum inq_loss loss;
        double least, most;
    } swaps[] = {
        {"dp=4,layers=4", "dp=4,layers=4,seed=3,fault=slow_gpu:rank=2:factor=1.2", INQ_LOSS_COMPUTE,
         0.97, 1.03},
        {"dp=4,layers=4", "dp=4,layers=4,seed=3,fault=more_work:rank=1:factor=1.3",
         INQ_LOSS_COMPUTE, 0.95, 1.05},
        /* more kernels in some layers: its TP peer waits in those */
        {"dp=2,tp=2,layers=8", "dp=2,tp=2,layers=8,seed=4,fault=more_work:rank=1:factor=1.2",
         INQ_LOSS_COMPUTE, 0.95, 1.05},
        {"dp=4,layers=4,steps=20",
         "dp=4,layers=4,steps=20,seed=3,fault=slow_gpu:every=5:rank=1:factor=2", INQ_LOSS_COMPUTE,
         0.95, 1.05},
        {"dp=4,layers=4", "dp=4,layers=4,seed=3,data=6ms", INQ_LOSS_HOST, 0.97, 1.03},
        {"dp=8,layers=4,steps=20", "dp=8,layers=4,steps=20,seed=2,fault=gc:every=4:delay=12ms",
         INQ_LOSS_HOST, 0.9, 1.05},
        {"dp=4,layers=4,dp_gbps=150", "dp=4,layers=4,dp_gbps=50", INQ_LOSS_BANDWIDTH, 0.95, 1.05},
        {"dp=2,pp=4,layers=8,labels=1",
         "dp=2,pp=4,layers=8,labels=1,seed=4,fault=slow_gpu:rank=4:last=5:factor=1.2",
         INQ_LOSS_COMPUTE, 0.9, 1.1},
        {"dp=2,pp=4,layers=8,labels=1",
         "dp=2,pp=4,layers=8,labels=1,seed=4,fault=slow_link:links=pp:rank=2:factor=20",
         INQ_LOSS_P2P, 0.97, 1.03},
        /* one of eight groups: all of them a little faster would gain a quarter of it */
        {"dp=8,tp=2,layers=4", "dp=8,tp=2,layers=4,seed=4,fault=slow_link:links=tp:rank=2:factor=3",
         INQ_LOSS_BANDWIDTH, 0.95, 1.05},
        {"dp=8,experts=1,layers=4", "dp=8,experts=1,layers=4,seed=4,fault=uneven_experts:sigma=0.5",
         INQ_LOSS_COMPUTE, 0.7, 1.1}};
    (void)state;
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
        struct tried a = try_spec(swaps[i].base);
        struct tried b = try_spec(swaps[i].now);
        for (int gain = 0; gain < 2; gain++) {
            struct inq_comparison *c = gain ? compared(&b, &a, NULL) : compared(&a, &b, NULL);
            double part = (double)c->causes[0].ns / (double)c->loss_total_ns;
            print_message("%s: %.3f\n  %s\n", swaps[i].now, part, c->reason);
            assert_true(c->changed && c->n_causes > 0);
            assert_int_equal(c->causes[0].loss, swaps[i].loss);
            assert_true(c->causes[0].simulated);
            assert_int_equal(c->causes[0].in_order_ns, c->causes[0].ns);
            assert_true(part > swaps[i].least && part < swaps[i].most);
            assert_non_null(strstr(c->reason, "simulated)"));
            inq_comparison_free(c);
        }
        drop(&a);
        drop(&b);
    }
}

/* Two ranks of which each hides the other: what the second explains is told beyond the first, and
 * what neither explains alone is told of both together. */
static void compare__causes_that_hide_each_other_are_told_in_order(void **state)
{
    static const struct {
        const char *faults, *told;
        double first; /* part of the change that the first explains, at most */
    } pairs[] = {{"fault=slow_gpu:rank=2:factor=1.2,fault=late_host:rank=1:delay=4ms",
                  "more of the change", 0.7},
                 {"fault=slow_gpu:rank=2:factor=1.3,fault=late_host:rank=1:mode=pause:delay=3ms",
                  "together", 0.3}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char now[256];
        (void)snprintf(now, sizeof now, "dp=4,layers=4,seed=6,%s", pairs[i].faults);
        struct tried a = try_spec("dp=4,layers=4");
        struct tried b = try_spec(now);
        struct inq_comparison *c = compared(&a, &b, NULL);
        print_message("%s\n  %s\n", c->headline, c->reason);
        assert_true(c->changed && c->n_causes > 1);
        double total = (double)c->loss_total_ns;
        double both = (double)(c->causes[0].in_order_ns + c->causes[1].in_order_ns);
        assert_true((double)c->causes[0].ns < pairs[i].first * total);
        assert_true(both > 0.9 * total && both < 1.1 * total);
        for (size_t k = 0; k < 2; k++) { /* and not of all ranks, which would explain as much */
            bool host = c->causes[k].loss == INQ_LOSS_HOST;
            assert_int_equal(c->causes[k].n_ranks, 1);
            assert_int_equal(c->causes[k].ranks[0], host ? 1 : 2);
        }
        assert_non_null(strstr(c->reason, pairs[i].told));
        inq_comparison_free(c);
        drop(&a);
        drop(&b);
    }
}

/* The first step recorded begins with its first kernel: what its loader took is in no step. Of 15
 * judged steps all count, of 16 the first does not, and the rest are as long as they are. */
static void compare__the_first_step_counts_only_where_few_are_there(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        size_t steps;
    } tries[] = {{"dp=4,layers=4,steps=15", 15}, {"dp=4,layers=4,data=6ms,steps=16", 15}};
    for (size_t i = 0; i < 2; i++) {
        struct tried t = try_spec(tries[i].spec);
        struct inq_comparison *c = compared(&t, &t, NULL);
        const struct inq_account *a = t.report->account;
        double whole_ns = 0.0;
        for (size_t s = 1; s < a->n_steps; s++) {
            whole_ns += (double)a->steps[s].length_ns / (double)(a->n_steps - 1);
        }
        double off = (double)c->run[0].step_ns / whole_ns - 1.0;
        assert_int_equal(c->run[0].steps, tries[i].steps);
        assert_int_equal(a->steps_judged, tries[i].steps);
        assert_in_range(c->run[0].step_ns, a->t_ns - 10, a->t_ns + 10); /* rounded by part */
        assert_true(i == 0 ? off < 0.0 : fabs(off) < 1e-6);
        inq_comparison_free(c);
        drop(&t);
    }
}

/* Fewer layers are other work, neither faster nor slower; a rank whose trace is missing is not. */
static void compare__other_work_is_not_told_of_missing_files(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=4,layers=4");
    struct tried less = try_spec("dp=4,layers=3,seed=2");
    struct tried lost = try_spec("dp=4,layers=4,seed=2,fault=missing_rank:rank=3");
    struct inq_comparison *c = compared(&a, &less, NULL);
    assert_non_null(strstr(c->headline, "Not the same work: 3 layers instead of 4"));
    inq_comparison_free(c);
    c = compared(&a, &lost, NULL);
    assert_string_equal(c->other_work, "");
    assert_non_null(strstr(c->work_how, "damaged or missing"));
    inq_comparison_free(c);
    drop(&a);
    drop(&less);
    drop(&lost);
}

/* Where a file is missing, waiting cannot be told from transfers: that both are in one part then is
 * no cause of a longer step. */
static void compare__does_not_blame_what_cannot_be_parted(void **state)
{
    (void)state;
    static const char late[] = "dp=6,gpus_per_host=2,layers=4,steps=6,seed=2,"
                               "fault=missing_rank:rank=3,"
                               "fault=late_host:mode=pause:host=2:delay=3ms";
    struct tried whole = try_spec("dp=6,gpus_per_host=2,layers=4,steps=6");
    struct tried lost = try_spec(late);
    struct inq_comparison *c = compared(&whole, &lost, NULL);
    assert_true(c->changed);
    assert_true(c->loss_ns[INQ_LOSS_COMM_OTHER] > 0);
    assert_int_equal(c->causes[0].loss, INQ_LOSS_HOST);
    assert_null(strstr(c->reason, inq_loss_what(INQ_LOSS_COMM_OTHER)));
    inq_comparison_free(c);
    drop(&whole);
    drop(&lost);
}

/* One step of five times the length counts in neither run; two of ten do. */
static void compare__an_outlier_counts_when_it_recurs(void **state)
{
    (void)state;
    static const char one[] = "dp=4,layers=4,steps=12,seed=2,"
                              "fault=late_host:mode=pause:from=6:to=6:rank=1:delay=60ms";
    static const char often[] = "dp=4,layers=4,steps=12,seed=2,"
                                "fault=late_host:mode=pause:every=4:rank=1:delay=60ms";
    struct tried a = try_spec("dp=4,layers=4,steps=12");
    struct tried b = try_spec(one);
    struct tried d = try_spec(often);
    struct inq_comparison *c = compared(&a, &b, NULL);
    assert_int_equal(c->run[1].outliers, 1);
    assert_false(c->changed);
    inq_comparison_free(c);
    c = compared(&a, &d, NULL);
    assert_int_equal(c->run[1].outliers, 0);
    assert_true(c->changed);
    assert_int_equal(c->causes[0].loss, INQ_LOSS_HOST);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
    drop(&d);
}

/* Other devices, and all kernels change alike: that is said, and no kernel is the cause. */
static void compare__another_gpu_is_told_as_such(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=4,layers=4,gpu=a100,layer=1280us");
    struct tried b = try_spec("dp=4,layers=4,gpu=h100,layer=800us,seed=2");
    struct inq_comparison *c = compared(&a, &b, NULL);
    assert_true(c->changed);
    assert_non_null(
        strstr(c->reason, "Another GPU: NVIDIA A100-SXM4-80GB -> NVIDIA H100 80GB HBM3"));
    assert_non_null(strstr(c->reason, "(1.6"));
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

/* The cost of what was planted, as the simulation without it has it, within 5 %. */
static void compare__says_how_much(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=8,layers=4,sigma=0,step_sigma=0,rank_sigma=0,dp_gbps=150");
    struct tried b = try_spec("dp=8,layers=4,sigma=0,step_sigma=0,rank_sigma=0,dp_gbps=30");
    struct inq_comparison *c = compared(&a, &b, NULL);
    double longer = (double)(b.report->step_ns_median - a.report->step_ns_median);
    double loss = (double)c->loss_total_ns;
    assert_true(fabs(loss - longer) < 0.05 * longer);
    assert_true(fabs((double)c->colls[0].total_loss_ns - longer) < 0.05 * longer);
    assert_true(fabs(c->colls[0].busbw_gbps[0] - 150.0) < 7.5);
    assert_true(fabs(c->colls[0].busbw_gbps[1] - 30.0) < 1.5);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

static void compare__the_work_may_be_said(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=4,layers=2");
    struct tried b = try_spec("dp=8,layers=2,seed=2");
    struct inq_compare_options options = {.samples = {100, 150}};
    struct inq_comparison *c = compared(&a, &b, &options);
    assert_true(c->work_given);
    assert_int_equal(c->scaling, INQ_SCALING_OTHER);
    assert_true(fabs(c->work - 0.75) < 1e-12);
    double expected = 0.75 * 2.0 * (double)c->run[0].step_ns / (double)c->run[1].step_ns;
    assert_true(fabs(c->speedup - expected) < 1e-9);
    inq_comparison_free(c);
    options.samples[1] = 200;
    c = compared(&a, &b, &options);
    assert_int_equal(c->scaling, INQ_SCALING_WEAK);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

static void compare__findings_come_go_and_change(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=4,layers=2");
    struct tried b = try_spec("dp=4,layers=2,fault=slow_gpu:rank=2:factor=1.4");
    struct inq_comparison *c = compared(&a, &b, NULL);
    bool found = false;
    for (size_t i = 0; i < c->n_findings; i++) {
        found = found || (c->findings[i].change == INQ_CHANGE_NEW &&
                          c->findings[i].now->kind == INQ_FINDING_SLOW_GPU);
    }
    assert_true(found);
    inq_comparison_free(c);
    c = compared(&b, &a, NULL);
    found = false;
    for (size_t i = 0; i < c->n_findings; i++) {
        found = found || (c->findings[i].change == INQ_CHANGE_GONE &&
                          c->findings[i].base->kind == INQ_FINDING_SLOW_GPU);
    }
    assert_true(found);
    assert_true(c->changed && c->loss_total_ns < 0);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

/* ---- reports ---------------------------------------------------------------------------------*/

static struct inq_out written(const struct inq_comparison *c, enum inq_format format)
{
    struct inq_report_options options = {.format = format, .verbose = true};
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_comparison_report(c, &options, sink, NULL), INQ_OK);
    inq_out_bytes(&out, "", 1);
    return out;
}

static void report__json_is_the_contract(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=2,pp=2,layers=4,labels=1");
    struct tried b = try_spec("dp=4,pp=2,layers=4,labels=1,seed=2");
    struct inq_comparison *c = compared(&a, &b, NULL);
    struct inq_comparison *d = compared(&a, &b, NULL);
    struct inq_out first = written(c, INQ_FORMAT_JSON);
    struct inq_out second = written(d, INQ_FORMAT_JSON);
    struct cJSON *root = NULL;
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.buf, second.buf, first.len);
    assert_int_equal(inq_json_parse(first.buf, first.len - 1, &root, NULL), INQ_OK);
    assert_string_equal(inq_json_text(inq_json_get(root, "schema"), ""), "inquest-compare/1");
    int64_t sum = 0;
    for (const struct cJSON *l = inq_json_first(inq_json_get(root, "losses")); l != NULL;
         l = inq_json_next(l)) {
        sum += inq_json_integer(inq_json_get(l, "loss_ns"), 0);
    }
    assert_int_equal(sum, inq_json_integer(inq_json_get(root, "loss_ns"), -1));
    inq_json_free(root);
    inq_out_release(&first);
    inq_out_release(&second);
    inq_comparison_free(c);
    inq_comparison_free(d);
    drop(&a);
    drop(&b);
}

static void report__hostile_names_do_nothing(void **state)
{
    (void)state;
    struct tried a = try_spec("dp=2,layers=2");
    struct tried b = try_spec("dp=2,layers=2,layer=1ms");
    struct inq_comparison *c = compared(&a, &b, NULL);
    c->run[0].name = HOSTILE_NAME;
    c->kernels[0].name = HOSTILE_NAME;
    c->colls[0].name = HOSTILE_NAME;
    c->reason = HOSTILE_NAME;
    struct inq_out text = written(c, INQ_FORMAT_TEXT);
    assert_null(strchr(text.buf, '\033'));
    assert_null(strchr(text.buf, '\r'));
    struct inq_out markdown = written(c, INQ_FORMAT_MARKDOWN);
    assert_null(strchr(markdown.buf, '\033'));
    assert_null(strstr(markdown.buf, "<img"));
    assert_null(strstr(markdown.buf, "@team"));
    struct inq_out json = written(c, INQ_FORMAT_JSON);
    struct cJSON *root = NULL;
    assert_int_equal(inq_json_parse(json.buf, json.len - 1, &root, NULL), INQ_OK);
    inq_json_free(root);
    inq_out_release(&text);
    inq_out_release(&markdown);
    inq_out_release(&json);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

/* ---- real traces -----------------------------------------------------------------------------*/

static void real__sums_are_exact_on_every_trace(void **state)
{
    (void)state;
    static const char *const paths[] = {"kineto/dlrm_8ranks",
                                        "kineto/megatron_tp2",
                                        "kineto/resnet18_ddp",
                                        "kineto/torchrec_4",
                                        "kineto/hta",
                                        "primus",
                                        "whatif",
                                        "nsys"};
    size_t compared_runs = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char path[512];
        const char *list[1] = {path};
        struct inq_run *run = NULL;
        struct inq_err err = {0};
        (void)snprintf(path, sizeof path, "%s/%s", INQ_SHARED_DATA, paths[i]);
        if (access(path, R_OK) != 0) {
            continue;
        }
        assert_int_equal(inq_ingest(list, 1, NULL, &run, &err), INQ_OK);
        for (size_t t = 0; t < run->n_traces; t++) {
            struct inq_report *report = NULL;
            struct inq_comparison *c = NULL;
            struct inq_err why = {0};
            assert_int_equal(inq_analyze(run->traces[t], NULL, &report, &err), INQ_OK);
            check_record(report);
            int code = inq_compare_runs(report, report, NULL, &c, &why);
            assert_true(code == INQ_OK || code == INQ_UNSUPPORTED);
            if (code == INQ_OK) {
                check_sums(c);
                assert_false(c->changed);
                assert_int_equal(c->n_findings, 0);
                /* the labels of an op table say what every transfer is */
                assert_true(
                    strcmp(paths[i], "whatif") != 0 ||
                    (c->run[0].part_ns[INQ_PART_BUBBLE] > 0 &&
                     c->run[0].part_ns[INQ_PART_TRANSFER] > 0 &&
                     c->run[0].part_ns[INQ_PART_P2P] > 0 &&
                     /* what waits for another stage is no transfer between them */
                     c->run[0].part_ns[INQ_PART_P2P] < c->run[0].part_ns[INQ_PART_BUBBLE] / 10));
                compared_runs++;
            }
            inq_comparison_free(c);
            inq_report_free(report);
        }
        inq_run_free(run);
    }
    if (compared_runs == 0) {
        print_message("no real traces here\n");
        skip();
    }
    print_message("%zu real traces\n", compared_runs);
}

static struct tried try_real(const char *name)
{
    char path[512];
    const char *list[1] = {path};
    struct tried tried = {0};
    struct inq_err err = {0};
    (void)snprintf(path, sizeof path, "%s/%s", INQ_SHARED_DATA, name);
    assert_int_equal(inq_ingest(list, 1, NULL, &tried.run, &err), INQ_OK);
    assert_int_equal(inq_analyze(tried.run->traces[0], NULL, &tried.report, &err), INQ_OK);
    return tried;
}

/* Its host sleeps for a second, and what the others' hosts wait with is no recorded call: cut in
 * the simulator, the sleep gains a fifth of what it costs. */
static void real__a_sleep_that_cannot_be_simulated_costs_what_was_measured(void **state)
{
    (void)state;
    if (access(INQ_SHARED_DATA "/kineto/torchrec_sleep", R_OK) != 0) {
        print_message("no real traces here\n");
        skip();
    }
    struct tried a = try_real("kineto/torchrec_4");
    struct tried b = try_real("kineto/torchrec_sleep");
    struct inq_comparison *c = compared(&a, &b, NULL);
    print_message("%s\n", c->reason);
    assert_int_equal(c->causes[0].loss, INQ_LOSS_HOST);
    assert_int_equal(c->causes[0].n_ranks, 1);
    assert_int_equal(c->causes[0].ranks[0], 2);
    assert_false(c->causes[0].simulated);
    assert_true((double)c->causes[0].ns > 0.9 * (double)c->loss_total_ns);
    inq_comparison_free(c);
    drop(&a);
    drop(&b);
}

/* The job with a slow worker: the others of its replicas wait for it in the gradients' collective.
 */
static void op_table__waiting_is_told_from_transfers(void **state)
{
    (void)state;
    const char *path = INQ_SHARED_DATA "/whatif/AR/trace-AR.csv.gz";
    struct inq_err err = {0};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_comparison *c = NULL;
    if (inq_ingest(&path, 1, NULL, &run, &err) != INQ_OK || run->n_traces == 0) {
        print_message("no real data at %s: skipped\n", path);
        inq_run_free(run);
        skip();
    }
    assert_int_equal(inq_analyze(run->traces[0], NULL, &report, &err), INQ_OK);
    assert_int_equal(inq_compare_runs(report, report, NULL, &c, &err), INQ_OK);
    const int64_t *part = c->run[0].part_ns;
    assert_true(part[INQ_PART_WAITING] > 10 * part[INQ_PART_TRANSFER]);
    assert_true(part[INQ_PART_COMM_OTHER] < part[INQ_PART_P2P]);
    inq_comparison_free(c);
    inq_report_free(report);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_table__waiting_is_told_from_transfers),
        cmocka_unit_test(compare__parts_sum_to_the_steps_of_all_kinds_of_runs),
        cmocka_unit_test(record__a_transfer_without_its_partner_is_no_collective),
        cmocka_unit_test(compare__a_run_with_itself_has_not_changed),
        cmocka_unit_test(compare__equal_runs_with_other_noise_have_not_changed),
        cmocka_unit_test(compare__names_what_was_planted),
        cmocka_unit_test(compare__who_takes_turns_is_not_named),
        cmocka_unit_test(compare__lateness_that_moves_is_not_put_on_two_ranks),
        cmocka_unit_test(compare__causes_are_swapped_in_the_simulator),
        cmocka_unit_test(compare__causes_that_hide_each_other_are_told_in_order),
        cmocka_unit_test(compare__the_first_step_counts_only_where_few_are_there),
        cmocka_unit_test(compare__other_work_is_not_told_of_missing_files),
        cmocka_unit_test(compare__does_not_blame_what_cannot_be_parted),
        cmocka_unit_test(compare__an_outlier_counts_when_it_recurs),
        cmocka_unit_test(compare__another_gpu_is_told_as_such),
        cmocka_unit_test(compare__says_how_much),
        cmocka_unit_test(compare__the_work_may_be_said),
        cmocka_unit_test(compare__findings_come_go_and_change),
        cmocka_unit_test(report__json_is_the_contract),
        cmocka_unit_test(report__hostile_names_do_nothing),
        cmocka_unit_test(real__sums_are_exact_on_every_trace),
        cmocka_unit_test(real__a_sleep_that_cannot_be_simulated_costs_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
