/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: its semantics on small graphs, closed forms, and agreement of its variants. */
#include "inquest/graph.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint32_t add(struct inq_graph_builder *b, int32_t rank, uint32_t lane, int64_t dur_ns,
                    int64_t delay_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = lane;
    uint32_t id = INQ_NONE;
    assert_int_equal(inq_graph_add_op(b, &op, dur_ns, delay_ns, &id, NULL), INQ_OK);
    return id;
}

static struct inq_graph *finish(struct inq_graph_builder *b)
{
    struct inq_graph *g = NULL;
    struct inq_err err = {0};
    int code = inq_graph_finish(b, &g, NULL, &err);
    if (code != INQ_OK) {
        fail_msg("%s", err.message);
    }
    inq_graph_builder_free(b);
    return g;
}

static void simulate__starts_after_dependencies_and_delay(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, 0, 10, 2);
    uint32_t c = add(b, 1, 0, 4, 0);
    uint32_t d = add(b, 0, 0, 3, 5);
    assert_int_equal(inq_graph_add_dep(b, c, d, NULL), INQ_OK);
    struct inq_graph *g = finish(b);
    int64_t start[3];
    int64_t end[3];
    assert_int_equal(inq_simulate(g, NULL, g->delay_ns, start, end), 20);
    assert_int_equal(start[g->index_of[a]], 2);
    assert_int_equal(end[g->index_of[c]], 4);
    assert_int_equal(start[g->index_of[d]], 17);
    assert_int_equal(inq_simulate(g, NULL, NULL, NULL, end), 13); /* no delays */
    inq_graph_free(g);
}

static void simulate__a_group_transfers_after_the_last_arrival(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, 0, 10, 0);
    (void)add(b, 1, 0, 30, 0);
    uint32_t ids[] = {add(b, 0, 0, 5, 0), add(b, 1, 0, 7, 0)};
    assert_int_equal(inq_graph_add_group(b, ids, 2, 2, NULL), INQ_OK);
    uint32_t next = add(b, 0, 0, 1, 0);
    struct inq_graph *g = finish(b);
    int64_t start[5];
    int64_t end[5];
    assert_int_equal(inq_simulate(g, NULL, NULL, start, end), 37);
    assert_int_equal(start[g->index_of[ids[0]]], 10); /* waits 20 */
    assert_int_equal(end[g->index_of[ids[0]]], 35);
    assert_int_equal(end[g->index_of[ids[1]]], 37); /* own transfer */
    assert_int_equal(end[g->index_of[next]], 36);
    inq_graph_free(g);
}

/* ---- one-forward-one-backward, against the closed form (m + p - 1)(F + B) -------------------- */

struct pipe {
    int p, m;
    uint32_t f[16][64], b[16][64];
};

static void add_1f1b_stage(struct inq_graph_builder *b, struct pipe *x, int s, int64_t f, int64_t w)
{
    int warmup = x->p - s < x->m ? x->p - s : x->m;
    int next_f = 0;
    int next_b = 0;
    while (next_f < warmup) {
        x->f[s][next_f++] = add(b, s, 0, f, 0);
    }
    while (next_b < x->m) {
        x->b[s][next_b++] = add(b, s, 0, w, 0);
        if (next_f < x->m) {
            x->f[s][next_f++] = add(b, s, 0, f, 0);
        }
    }
}

static struct inq_graph *make_1f1b(int p, int m, int64_t f, int64_t w)
{
    struct pipe x = {.p = p, .m = m};
    struct inq_graph_builder *b = inq_graph_builder_new();
    for (int s = 0; s < p; s++) {
        add_1f1b_stage(b, &x, s, f, w);
    }
    for (int s = 0; s + 1 < p; s++) {
        for (int i = 0; i < m; i++) {
            assert_int_equal(inq_graph_add_dep(b, x.f[s][i], x.f[s + 1][i], NULL), INQ_OK);
            assert_int_equal(inq_graph_add_dep(b, x.b[s + 1][i], x.b[s][i], NULL), INQ_OK);
        }
    }
    return finish(b);
}

static void simulate__1f1b_takes_its_closed_form(void **state)
{
    (void)state;
    int64_t end[16 * 64 * 2];
    for (int p = 1; p <= 16; p += 3) {
        for (int m = 1; m <= 64; m += 7) {
            struct inq_graph *g = make_1f1b(p, m, 100, 200);
            assert_int_equal(inq_simulate(g, NULL, NULL, NULL, end), (m + p - 1) * 300);
            inq_graph_free(g);
        }
    }
}

/* ---- batch = single = many, for any number of threads ---------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct inq_graph *make_random(uint64_t *seed)
{
    struct inq_graph_builder *b = inq_graph_builder_new();
    enum { N = 300 };
    for (uint32_t i = 0; i < N; i++) {
        (void)add(b, (int32_t)(i % 7), i % 3 == 0 ? INQ_NONE : i % 2,
                  (int64_t)(next_random(seed) % 1000), 0);
        for (int k = 0; k < 3 && i > 0; k++) {
            uint32_t before = (uint32_t)(next_random(seed) % i);
            assert_int_equal(inq_graph_add_dep(b, before, i, NULL), INQ_OK);
        }
    }
    return finish(b);
}

struct matrix {
    size_t n_ops;
    const int64_t *cell; /* [scenario][op] */
};

static void fill(void *ctx, size_t first, size_t n, int64_t *dur_ns)
{
    const struct matrix *m = ctx;
    for (size_t i = 0; i < m->n_ops; i++) {
        for (size_t s = 0; s < n; s++) {
            dur_ns[i * INQ_SIM_BATCH + s] = m->cell[(first + s) * m->n_ops + i];
        }
    }
}

static void simulate__many_scenarios_equal_one_by_one(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int trial = 0; trial < 20; trial++) {
        struct inq_graph *g = make_random(&seed);
        enum { SCENARIOS = 29 };
        int64_t *cell = inq_mem_alloc(SCENARIOS * g->n_ops * sizeof *cell);
        int64_t *end = inq_mem_alloc(g->n_ops * sizeof *end);
        assert_true(cell != NULL && end != NULL);
        for (size_t i = 0; i < SCENARIOS * g->n_ops; i++) {
            cell[i] = (int64_t)(next_random(&seed) % 100000) - 50;
        }
        struct matrix m = {g->n_ops, cell};
        for (int jobs = 1; jobs <= 5; jobs += 2) {
            int64_t makespan[SCENARIOS];
            assert_int_equal(inq_simulate_many(g, SCENARIOS, fill, &m, jobs, makespan, NULL),
                             INQ_OK);
            for (size_t s = 0; s < SCENARIOS; s++) {
                int64_t alone = inq_simulate(g, cell + s * g->n_ops, NULL, NULL, end);
                assert_int_equal(makespan[s], alone);
            }
        }
        inq_mem_free(cell);
        inq_mem_free(end);
        inq_graph_free(g);
    }
}

/* Longer ops never make anything end earlier. */
static void simulate__is_monotonic(void **state)
{
    (void)state;
    uint64_t seed = 99;
    struct inq_graph *g = make_random(&seed);
    int64_t *before = inq_mem_alloc(g->n_ops * sizeof *before);
    int64_t *after = inq_mem_alloc(g->n_ops * sizeof *after);
    assert_true(before != NULL && after != NULL);
    for (size_t op = 0; op < g->n_ops; op++) {
        (void)inq_simulate(g, NULL, NULL, NULL, before);
        g->dur_ns[op] += 500;
        (void)inq_simulate(g, NULL, NULL, NULL, after);
        for (size_t i = 0; i < g->n_ops; i++) {
            assert_true(after[i] >= before[i]);
        }
        assert_true(after[op] == before[op] + 500);
    }
    inq_mem_free(before);
    inq_mem_free(after);
    inq_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulate__starts_after_dependencies_and_delay),
        cmocka_unit_test(simulate__a_group_transfers_after_the_last_arrival),
        cmocka_unit_test(simulate__1f1b_takes_its_closed_form),
        cmocka_unit_test(simulate__many_scenarios_equal_one_by_one),
        cmocka_unit_test(simulate__is_monotonic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
