/* SPDX-License-Identifier: Apache-2.0 */
/* The what-if analysis against the published numbers of two production jobs, and its own rules on
 * small jobs. */
#include "inquest/analysis.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a report with the section only ---------------------------------------------------------- */

struct answer {
    struct ops_trace *ops;
    struct inq_report *report;
};

static void ask(struct answer *a, const char *const *questions, size_t n)
{
    const char *only[] = {"whatif"};
    struct inq_analysis_options options = {
        .only = only, .n_only = 1, .what_if = questions, .n_what_if = n};
    struct inq_err err = {0};
    if (inq_analyze(ops_trace_get(a->ops), &options, &a->report, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
}

static void done(struct answer *a)
{
    inq_report_free(a->report);
    ops_trace_free(a->ops);
}

/* ---- published results ----------------------------------------------------------------------- */

static double worst_difference;
static char worst_name[160];
static size_t compared;

static void check_close(const char *what, const char *key, double own, double published)
{
    double difference = fabs(own - published) / fabs(published);
    compared++;
    if (!(difference <= worst_difference)) {
        worst_difference = difference;
        (void)snprintf(worst_name, sizeof worst_name, "%s %s: %.9f, published %.9f", what, key, own,
                       published);
    }
    if (!(difference < 1e-5)) {
        fail_msg("%s %s is %.9f, published %.9f", what, key, own, published);
    }
}

static struct cJSON *load_json(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc((size_t)1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (size_t)1 << 20, file);
    (void)fclose(file);
    struct cJSON *root = NULL;
    assert_int_equal(inq_json_parse(text, n, &root, NULL), INQ_OK);
    free(text);
    return root;
}

static const struct inq_named_ratio *find(const struct inq_named_ratio *list, size_t n,
                                          const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    fail_msg("no part named %s", name);
    return list;
}

static void check_parts(const struct cJSON *published, const struct inq_named_ratio *list, size_t n)
{
    assert_int_equal(inq_json_count(published), n);
    for (const struct cJSON *p = inq_json_first(published); p != NULL; p = inq_json_next(p)) {
        const char *key = inq_json_key(p);
        check_close("S of", key, find(list, n, key)->slowdown, inq_json_number(p, (double)NAN));
    }
}

static size_t step_index(const struct inq_whatif *w, const char *number)
{
    for (size_t t = 0; t < w->n_by_step; t++) {
        if (strcmp(w->by_step[t].name, number) == 0) {
            return t;
        }
    }
    fail_msg("no step %s", number);
    return 0;
}

static void check_parts_per_step(const struct cJSON *published, const struct inq_whatif *w,
                                 const struct inq_named_ratio *list, size_t n)
{
    assert_int_equal(inq_json_count(published), w->n_by_step);
    for (const struct cJSON *s = inq_json_first(published); s != NULL; s = inq_json_next(s)) {
        size_t t = step_index(w, inq_json_key(s));
        assert_int_equal(inq_json_count(s), n);
        for (const struct cJSON *p = inq_json_first(s); p != NULL; p = inq_json_next(p)) {
            const char *key = inq_json_key(p);
            check_close("S per step of", key, find(list, n, key)->per_step[t],
                        inq_json_number(p, (double)NAN));
        }
    }
}

enum field { BASE, NODELAY, IDEAL, SLOWDOWN, LAUNCH };

static double step_field(const struct inq_whatif_step *s, enum field field)
{
    switch (field) {
    case BASE:
        return (double)s->recorded_ns / 1e9;
    case NODELAY:
        return (double)s->t_ns / 1e9;
    case IDEAL:
        return (double)s->t_ideal_ns / 1e9;
    case SLOWDOWN:
        return s->slowdown;
    case LAUNCH:
        return s->launch_slowdown;
    }
    return (double)NAN;
}

static void check_steps(const struct cJSON *root, const char *name, const struct inq_whatif *w,
                        enum field field)
{
    const struct cJSON *published = inq_json_get(root, name);
    assert_int_equal(inq_json_count(published), w->n_by_step);
    for (const struct cJSON *s = inq_json_first(published); s != NULL; s = inq_json_next(s)) {
        size_t t = step_index(w, inq_json_key(s));
        check_close(name, inq_json_key(s), step_field(&w->steps[t], field),
                    inq_json_number(s, (double)NAN));
    }
}

static void check_result(const struct cJSON *root, const struct inq_whatif *w)
{
    check_steps(root, "step_t_base", w, BASE);
    check_steps(root, "step_t_nodelay", w, NODELAY);
    check_steps(root, "step_t_noblk", w, IDEAL);
    check_steps(root, "blocking_step_slowdown", w, SLOWDOWN);
    check_steps(root, "launch_step_slowdown", w, LAUNCH);
    check_close("S", "", w->slowdown,
                inq_json_number(inq_json_get(root, "blocking_slowdown"), (double)NAN));
    check_close("launch slowdown", "", w->launch_slowdown,
                inq_json_number(inq_json_get(root, "launch_slowdown"), (double)NAN));
    check_parts(inq_json_get(root, "blocking_decompose_by_dp_rank"), w->by_dp_rank,
                w->n_by_dp_rank);
    check_parts(inq_json_get(root, "blocking_decompose_by_stage"), w->by_stage, w->n_by_stage);
    check_parts(inq_json_get(root, "blocking_decompose_by_optype"), w->by_op_type, w->n_by_op_type);
    check_parts_per_step(inq_json_get(root, "blocking_decompose_by_dp_rank_per_step"), w,
                         w->by_dp_rank, w->n_by_dp_rank);
    check_parts_per_step(inq_json_get(root, "blocking_decompose_by_stage_per_step"), w, w->by_stage,
                         w->n_by_stage);
    check_parts_per_step(inq_json_get(root, "blocking_decompose_by_optype_per_step"), w,
                         w->by_op_type, w->n_by_op_type);
}

/* M itself is a difference of nearly equal times where the cause does not fit: what counts there is
 * the time that it is made of. */
static void check_m(const char *path, const char *name, double own, int64_t t_ns,
                    const struct inq_whatif *w)
{
    struct cJSON *root = load_json(path);
    double published = inq_json_number(inq_json_get(root, name), (double)NAN);
    double lost = (double)(w->t_ns - w->t_ideal_ns) / 1e9;
    check_close(path, "trem", (double)t_ns / 1e9,
                inq_json_number(inq_json_get(root, "trem"), (double)NAN));
    check_close(path, "tori", (double)w->t_ns / 1e9,
                inq_json_number(inq_json_get(root, "tori"), (double)NAN));
    check_close(path, "tideal", (double)w->t_ideal_ns / 1e9,
                inq_json_number(inq_json_get(root, "tideal"), (double)NAN));
    assert_true(fabs(own - published) < 1e-5 * (double)w->t_ns / 1e9 / lost);
    if (fabs(published) > 0.5) {
        check_close(path, name, own, published);
    }
    inq_json_free(root);
}

static int check_job(const char *job, struct answer *a)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/whatif/%s/trace-%s.csv.gz", INQ_SHARED_DATA, job, job);
    a->ops = ops_trace_load(path);
    if (a->ops == NULL) {
        print_message("no real data at %s: skipped\n", path);
        return 0;
    }
    ask(a, NULL, 0);
    const struct inq_whatif *w = a->report->whatif;
    assert_non_null(w);
    assert_int_equal(w->n_dropped_steps, 0);
    worst_difference = 0.0;
    compared = 0;
    (void)snprintf(path, sizeof path, "%s/whatif/%s/result-%s.json", INQ_SHARED_DATA, job, job);
    struct cJSON *root = load_json(path);
    check_result(root, w);
    inq_json_free(root);
    (void)snprintf(path, sizeof path, "%s/whatif/%s/mw-%s.json", INQ_SHARED_DATA, job, job);
    check_m(path, "Mw", w->m_w, w->m_w_t_ns, w);
    (void)snprintf(path, sizeof path, "%s/whatif/%s/ms-%s.json", INQ_SHARED_DATA, job, job);
    check_m(path, "Ms", w->m_s, w->m_s_t_ns, w);
    print_message("%s: %zu published numbers, largest relative difference %.2e (%s)\n", job,
                  compared, worst_difference, worst_name);
    print_message("%s: replay of the recorded durations and delays %.6f s, recorded %.6f s\n", job,
                  (double)w->replayed_ns / 1e9, (double)w->recorded_ns / 1e9);
    for (size_t i = 0; i < w->n_causes; i++) {
        print_message("  %s %.3f %s: %s\n", w->causes[i].fits ? "fits" : "    ", w->causes[i].share,
                      w->causes[i].kind, w->causes[i].what);
    }
    return 1;
}

static void whatif__st_equals_the_published_result(void **state)
{
    (void)state;
    struct answer a = {0};
    if (!check_job("ST", &a)) {
        skip();
    }
    const struct inq_whatif *w = a.report->whatif;
    assert_string_equal(w->causes[0].kind, "last_stage");
    assert_true(w->causes[0].fits);
    assert_int_equal(w->causes[0].stage, 3);
    done(&a);
}

static void whatif__ar_equals_the_published_result(void **state)
{
    (void)state;
    struct answer a = {0};
    if (!check_job("AR", &a)) {
        skip();
    }
    const struct inq_whatif *w = a.report->whatif;
    assert_string_equal(w->causes[0].kind, "worker");
    assert_true(w->causes[0].fits);
    assert_int_equal(w->causes[0].stage, 0);
    assert_int_equal(w->causes[0].dp_rank, 0);
    done(&a);
}

/* ---- questions ----------------------------------------------------------------------------- */

static void whatif__answers_questions_about_one_worker(void **state)
{
    (void)state;
    struct answer a = {ops_trace_load(INQ_SHARED_DATA "/whatif/AR/trace-AR.csv.gz"), NULL};
    if (a.ops == NULL) {
        skip();
    }
    const char *const questions[] = {"rank=0:speed=1.0",
                                     "rank=0:speed=0.5",
                                     "rank=0:fix",
                                     "type=comm:factor=0",
                                     "rank=0:keep",
                                     "rank=999:fix",
                                     "rank=x",
                                     "",
                                     "stage=0-3:factor=2",
                                     "dp=0:stage=0:step=16..21:type=compute:fix"};
    ask(&a, questions, sizeof questions / sizeof questions[0]);
    const struct inq_whatif *w = a.report->whatif;
    const struct inq_whatif_scenario *q = w->scenarios;
    assert_int_equal(w->n_scenarios, sizeof questions / sizeof questions[0]);
    for (size_t k = 0; k < w->n_scenarios; k++) {
        print_message("  %-40s %.3f s, %.3f times as fast %s\n", q[k].spec, (double)q[k].t_ns / 1e9,
                      q[k].speedup, q[k].problem);
    }
    /* without the slow worker; the ideal still has its share of it in the mean */
    assert_true(q[0].t_ns < w->t_ideal_ns && q[0].speedup < 2.36);
    assert_true(q[1].t_ns > q[0].t_ns);       /* half the speed of its peers */
    assert_int_equal(q[2].t_ns, w->m_w_t_ns); /* M_W fixes the one worst worker */
    assert_true(q[3].t_ns <= w->t_ns && q[3].t_ns > w->t_ideal_ns);
    assert_true(q[4].t_ns > w->t_ideal_ns && q[4].speedup < 1.01);
    for (int k = 5; k < 8; k++) {
        assert_true(strlen(q[k].problem) > 0);
        assert_int_equal(q[k].t_ns, -1);
    }
    assert_true(fabs(q[8].speedup - 0.5) < 0.01);
    assert_true(q[9].speedup > 1.0 && q[9].speedup < 1.1); /* 2 of 44 steps */
    done(&a);
}

/* ---- small jobs ------------------------------------------------------------------------------ */

static void add_op(struct ops_trace *ops, uint32_t rank, enum inq_op_type type, int step, int stage,
                   int dp, int i, int64_t start, int64_t dur)
{
    struct inq_label label = {.type = type,
                              .step = step,
                              .stage = stage,
                              .dp_rank = dp,
                              .micro_batch = i,
                              .chunk = 0,
                              .seq = -1};
    ops_trace_add(ops, rank, &label, start, dur);
}

/* One stage, two replicas, three micro-batches; replica 1 takes `slow` per forward, others 100. */
static struct ops_trace *make_job(int n_steps, int64_t slow)
{
    struct ops_trace *ops = ops_trace_new(2);
    for (int step = 0; step < n_steps; step++) {
        for (int dp = 0; dp < 2; dp++) {
            int64_t at = 1000000 * step;
            for (int i = 0; i < 3; i++) {
                int64_t f = dp == 1 ? slow : 100;
                add_op(ops, (uint32_t)dp, INQ_OP_FORWARD, step, 0, dp, i, at, f);
                add_op(ops, (uint32_t)dp, INQ_OP_BACKWARD, step, 0, dp, i, at + f, 200);
                at += f + 200;
            }
        }
    }
    return ops;
}

/* Two stages, `replicas` of each, three micro-batches; forwards take 100 on the first stage and 300
 * on the second, on the last worker `last`. */
static struct ops_trace *make_stages(int replicas, int64_t last)
{
    struct ops_trace *ops = ops_trace_new((uint32_t)(2 * replicas));
    for (int step = 0; step < 2; step++) {
        for (int worker = 0; worker < 2 * replicas; worker++) {
            int stage = worker / replicas;
            int64_t at = 1000000 * step;
            for (int i = 0; i < 3; i++) {
                int64_t f = worker == 2 * replicas - 1 ? last : stage == 1 ? 300 : 100;
                int dp = worker % replicas;
                add_op(ops, (uint32_t)worker, INQ_OP_FORWARD, step, stage, dp, i, at, f);
                add_op(ops, (uint32_t)worker, INQ_OP_BACKWARD, step, stage, dp, i, at + f, 200);
                at += f + 200;
            }
        }
    }
    return ops;
}

/* A worker is healthy when it takes what its stage takes on other replicas; where there are none,
 * what the other stages take. */
static void whatif__a_healthy_worker_is_as_fast_as_its_peers(void **state)
{
    (void)state;
    static const struct {
        int replicas;
        int64_t last;
        const char *questions[2];
    } cases[] = {{1, 300, {"rank=1:speed=1.0", "rank=1:type=forward-compute:factor=0.3333333333"}},
                 {3, 400, {"rank=5:speed=1.0", "rank=5:type=forward-compute:factor=0.75"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer a = {make_stages(cases[i].replicas, cases[i].last), NULL};
        ask(&a, cases[i].questions, 2);
        const struct inq_whatif_scenario *q = a.report->whatif->scenarios;
        assert_string_equal(q[1].problem, "");
        assert_int_equal(q[0].t_ns, q[1].t_ns);
        assert_true(q[0].t_ns < a.report->whatif->t_ns);
        done(&a);
    }
}

static void whatif__numbers_of_a_small_job(void **state)
{
    (void)state;
    struct answer a = {make_job(2, 300), NULL};
    ask(&a, NULL, 0);
    const struct inq_whatif *w = a.report->whatif;
    assert_int_equal(w->t_ns, 3 * 500);
    assert_int_equal(w->t_ideal_ns, 3 * 400); /* mean forward 200 */
    assert_true(fabs(w->slowdown - 1.25) < 1e-12);
    assert_true(fabs(w->by_dp_rank[0].slowdown - 1.0) < 1e-12);
    assert_true(fabs(w->by_dp_rank[1].slowdown - 1.25) < 1e-12);
    assert_true(fabs(w->m_w - 1.0) < 1e-12);
    assert_int_equal(w->n_by_op_type, 2);
    assert_string_equal(w->causes[0].kind, "worker");
    assert_int_equal(w->causes[0].rank, 1);
    done(&a);
}

/* Each type of op is a part, also one that only the first op of a step has. */
static void whatif__the_first_op_of_a_step_is_a_part(void **state)
{
    (void)state;
    struct answer a = {make_job(2, 300), NULL};
    for (int step = 0; step < 2; step++) {
        for (int dp = 0; dp < 2; dp++) {
            add_op(a.ops, (uint32_t)dp, INQ_OP_PARAMS_ALL_GATHER, step, 0, dp, 0,
                   1000000 * step - 500, 100);
        }
    }
    ask(&a, NULL, 0);
    const struct inq_whatif *w = a.report->whatif;
    assert_non_null(w);
    assert_int_equal(w->n_by_op_type, 3);
    done(&a);
}

/* ---- where a cause begins to fit ------------------------------------------------------------- */

static const struct inq_whatif_cause *cause_of(const struct inq_whatif *w, const char *kind)
{
    for (size_t i = 0; i < w->n_causes; i++) {
        if (strcmp(w->causes[i].kind, kind) == 0) {
            return &w->causes[i];
        }
    }
    return NULL;
}

/* A worker is slow from 5 % on: it computes 3 x (f + 200), its peer 3 x 300. */
static void whatif__a_worker_is_slow_from_5_percent_on(void **state)
{
    (void)state;
    static const struct {
        int64_t forward;
        bool fits;
    } cases[] = {{114, false}, {115, true}, {116, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a = {make_job(2, cases[i].forward), NULL};
        ask(&a, NULL, 0);
        const struct inq_whatif_cause *worker = cause_of(a.report->whatif, "worker");
        /* all of the loss: worth a line in any case */
        assert_true(worker != NULL && worker->fits == cases[i].fits);
        done(&a);
    }
}

/* Two workers take `usual` per forward; the first `paused` of them `pause` once, the first in the
 * first step, the second in the second. */
static struct ops_trace *make_pauses(int64_t usual, int64_t pause, int paused)
{
    struct ops_trace *ops = ops_trace_new(2);
    for (int step = 0; step < 3; step++) {
        for (int dp = 0; dp < 2; dp++) {
            int64_t at = 1000000000 * (int64_t)step;
            for (int i = 0; i < 3; i++) {
                bool here = step == dp && i == 1 && dp < paused;
                int64_t f = here ? pause : usual;
                add_op(ops, (uint32_t)dp, INQ_OP_FORWARD, step, 0, dp, i, at, f);
                add_op(ops, (uint32_t)dp, INQ_OP_BACKWARD, step, 0, dp, i, at + f, usual);
                at += f + usual;
            }
        }
    }
    return ops;
}

/* A forward is a pause past 1.5 times the usual, and past 1 ms more; one worker's alone is no
 * collection. */
static void whatif__a_pause_is_half_as_long_again_and_a_millisecond(void **state)
{
    (void)state;
    static const struct {
        int64_t usual, pause;
        int workers;
        bool told, fits;
    } cases[] = {{10000000, 15000000, 2, false, false},
                 {10000000, 15000001, 2, true, true},
                 {1000000, 2000000, 2, false, false},
                 {1000000, 2000001, 2, true, true},
                 {10000000, 20000000, 1, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a = {make_pauses(cases[i].usual, cases[i].pause, cases[i].workers), NULL};
        ask(&a, NULL, 0);
        const struct inq_whatif_cause *gc = cause_of(a.report->whatif, "garbage_collection");
        assert_int_equal(gc != NULL, cases[i].told);
        if (gc != NULL) {
            assert_int_equal(gc->fits, cases[i].fits);
            char what[96];
            (void)snprintf(what, sizeof what, "Forwards paused %d times on %d workers",
                           cases[i].workers, cases[i].workers);
            assert_non_null(strstr(gc->what, what));
        }
        done(&a);
    }
}

/* Micro-batches of different lengths take longer forward and backward alike, and those of one
 * replica are longer in each step; `apart`: by how much a backward leaves its forward's course. */
static struct ops_trace *make_lengths(int64_t apart)
{
    static const int64_t more[] = {0, 10000, 40000, 20000};
    struct ops_trace *ops = ops_trace_new(2);
    for (int step = 0; step < 2; step++) {
        for (int dp = 0; dp < 2; dp++) {
            int64_t at = 1000000000 * (int64_t)step;
            for (int i = 0; i < 4; i++) {
                int64_t f = 100000 + more[(i + dp) % 4] * (step == dp ? 2 : 1);
                int64_t b = f + (i % 2 == 0 ? apart : -apart);
                add_op(ops, (uint32_t)dp, INQ_OP_FORWARD, step, 0, dp, i, at, f);
                add_op(ops, (uint32_t)dp, INQ_OP_BACKWARD, step, 0, dp, i, at + f, b);
                at += f + b;
            }
        }
    }
    return ops;
}

/* Lengths explain a loss when forward and backward go together with a correlation of 0.9. */
static void whatif__lengths_fit_from_a_correlation_of_09_on(void **state)
{
    (void)state;
    static const struct {
        int64_t apart;
        bool fits;
    } cases[] = {{0, true}, {12000, true}, {12250, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a = {make_lengths(cases[i].apart), NULL};
        ask(&a, NULL, 0);
        const struct inq_whatif *w = a.report->whatif;
        const struct inq_whatif_cause *lengths = cause_of(w, "sequence_imbalance");
        double r = w->forward_backward_correlation;
        assert_true(i == 0 || fabs(r - 0.9) < 0.005); /* the cases are at the boundary */
        assert_true(lengths != NULL && lengths->fits == cases[i].fits);
        done(&a);
    }
}

static void whatif__sets_incomplete_steps_aside(void **state)
{
    (void)state;
    struct answer a = {make_job(4, 300), NULL};
    /* step 7 has one op only, step 8 one op twice */
    add_op(a.ops, 0, INQ_OP_FORWARD, 7, 0, 0, 0, 70000000, 1);
    add_op(a.ops, 0, INQ_OP_FORWARD, 8, 0, 0, 0, 80000000, 1);
    add_op(a.ops, 0, INQ_OP_FORWARD, 8, 0, 0, 0, 80000001, 1);
    ask(&a, NULL, 0);
    assert_int_equal(a.report->whatif->n_by_step, 4);
    assert_int_equal(a.report->whatif->n_dropped_steps, 2);
    assert_int_equal(a.report->whatif->t_ns, 3 * 500);
    done(&a);
}

static void whatif__is_absent_without_labels(void **state)
{
    (void)state;
    struct answer a = {ops_trace_new(3), NULL};
    ask(&a, NULL, 0);
    assert_null(a.report->whatif);
    done(&a);
}

static void whatif__is_absent_when_replicas_disagree(void **state)
{
    (void)state;
    struct answer a = {make_job(2, 300), NULL};
    add_op(a.ops, 1, INQ_OP_OPTIMIZER, 0, 0, 1, 0, 10000, 1);
    add_op(a.ops, 1, INQ_OP_OPTIMIZER, 1, 0, 1, 0, 1010000, 1);
    ask(&a, NULL, 0);
    assert_null(a.report->whatif);
    done(&a);
}

/* Times so far out that sums would overflow make no model and no crash. */
static void whatif__survives_absurd_times(void **state)
{
    (void)state;
    struct answer a = {make_job(2, 300), NULL};
    add_op(a.ops, 0, INQ_OP_GC, 0, 0, 0, 0, INT64_MAX, INT64_MAX);
    add_op(a.ops, 0, INQ_OP_GC, 1, 0, 0, 0, (int64_t)1 << 59, (int64_t)1 << 59);
    add_op(a.ops, 1, INQ_OP_GC, 0, 0, 1, 0, -((int64_t)1 << 59), (int64_t)1 << 59);
    add_op(a.ops, 1, INQ_OP_GC, 1, 0, 1, 0, INT64_MIN, 5);
    ask(&a, NULL, 0);
    assert_null(a.report->whatif);
    done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatif__st_equals_the_published_result),
        cmocka_unit_test(whatif__ar_equals_the_published_result),
        cmocka_unit_test(whatif__answers_questions_about_one_worker),
        cmocka_unit_test(whatif__a_healthy_worker_is_as_fast_as_its_peers),
        cmocka_unit_test(whatif__numbers_of_a_small_job),
        cmocka_unit_test(whatif__the_first_op_of_a_step_is_a_part),
        cmocka_unit_test(whatif__a_worker_is_slow_from_5_percent_on),
        cmocka_unit_test(whatif__a_pause_is_half_as_long_again_and_a_millisecond),
        cmocka_unit_test(whatif__lengths_fit_from_a_correlation_of_09_on),
        cmocka_unit_test(whatif__sets_incomplete_steps_aside),
        cmocka_unit_test(whatif__is_absent_without_labels),
        cmocka_unit_test(whatif__is_absent_when_replicas_disagree),
        cmocka_unit_test(whatif__survives_absurd_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
