/* SPDX-License-Identifier: Apache-2.0 */
/* Building graphs: order, validation, and the report of a deadlock. */
#include "inquest/graph.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint32_t add(struct inq_graph_builder *b, int32_t rank, uint32_t lane, int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = lane;
    uint32_t id = INQ_NONE;
    assert_int_equal(inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL), INQ_OK);
    return id;
}

static void dep(struct inq_graph_builder *b, uint32_t before, uint32_t after)
{
    assert_int_equal(inq_graph_add_dep(b, before, after, NULL), INQ_OK);
}

static void graph__is_in_topological_order_with_groups_together(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    assert_non_null(b);
    /* added backwards: the receiver before the sender */
    uint32_t recv = add(b, 1, 1, 5);
    uint32_t use = add(b, 1, 0, 7);
    uint32_t make = add(b, 0, 0, 3);
    uint32_t send = add(b, 0, 1, 5);
    dep(b, recv, use);
    dep(b, make, send);
    uint32_t pair[] = {recv, send};
    assert_int_equal(inq_graph_add_group(b, pair, 2, 2, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_graph_finish(b, &g, NULL, &err), INQ_OK);

    assert_int_equal(g->n_ops, 4);
    assert_int_equal(g->n_ranks, 2);
    assert_int_equal(inq_graph_builder_count(b), 0);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        assert_int_equal(g->index_of[g->id_of[i]], i);
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            assert_true(g->deps[d] < i);
        }
    }
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(g, g->index_of[send], &n);
    assert_int_equal(n, 2);
    assert_int_equal(first, inq_graph_group_of(g, g->index_of[recv], &n));
    assert_int_equal(g->dur_ns[g->index_of[use]], 7);
    assert_null(g->delay_ns);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

static void graph__orders_a_lane_by_adding(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t ids[6];
    for (uint32_t i = 0; i < 6; i++) {
        ids[i] = add(b, 0, i % 2 == 0 ? 0 : INQ_NONE, 1);
    }
    struct inq_graph *g = NULL;
    assert_int_equal(inq_graph_finish(b, &g, NULL, NULL), INQ_OK);
    assert_int_equal(g->n_deps, 2); /* 0 -> 2 -> 4; the others are in no lane */
    assert_int_equal(g->deps[g->dep_start[g->index_of[ids[4]]]], g->index_of[ids[2]]);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

static void graph__an_empty_graph_is_a_graph(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    struct inq_graph *g = NULL;
    assert_int_equal(inq_graph_finish(b, &g, NULL, NULL), INQ_OK);
    int64_t unused = 0;
    assert_int_equal(inq_simulate(g, NULL, NULL, NULL, &unused), 0);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

static void graph__refuses_what_makes_no_sense(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, 0, 1);
    uint32_t c = add(b, 1, 0, 1);
    assert_int_equal(inq_graph_add_dep(b, a, 99, NULL), INQ_USAGE);
    assert_int_equal(inq_graph_add_dep(b, 99, a, NULL), INQ_USAGE);
    uint32_t bad[] = {c, 99};
    assert_int_equal(inq_graph_add_group(b, bad, 2, 2, NULL), INQ_USAGE);
    uint32_t twice[] = {a, a};
    assert_int_equal(inq_graph_add_group(b, twice, 2, 2, NULL), INQ_USAGE);
    uint32_t good[] = {a, c}; /* a refused group left nothing behind */
    assert_int_equal(inq_graph_add_group(b, good, 2, 2, NULL), INQ_OK);
    assert_int_equal(inq_graph_add_group(b, good, 1, 1, NULL), INQ_USAGE);
    struct inq_graph_op op = inq_graph_op_init();
    assert_int_equal(inq_graph_add_op(b, &op, INT64_MIN, 0, NULL, NULL), INQ_FORMAT);
    assert_int_equal(inq_graph_add_op(b, &op, INT64_MAX, 0, NULL, NULL), INQ_FORMAT);
    inq_graph_builder_free(b);
}

/* The waits must form a closed ring, or end in a missing member. */
static void check_ring(const struct inq_deadlock *d)
{
    assert_true(d->n_waits > 0);
    for (size_t i = 0; i < d->n_waits; i++) {
        const struct inq_deadlock_wait *next = &d->waits[(i + 1) % d->n_waits];
        if (d->waits[i].kind == INQ_WAIT_MISSING) {
            assert_int_equal(i, d->n_waits - 1);
            assert_int_equal(d->waits[i].on, INQ_NONE);
        } else {
            assert_int_equal(d->waits[i].on, next->op);
        }
    }
}

static void deadlock__a_cycle_names_its_ops_and_only_them(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t before = add(b, 0, INQ_NONE, 1);
    uint32_t x = add(b, 1, INQ_NONE, 1);
    uint32_t y = add(b, 2, INQ_NONE, 1);
    uint32_t z = add(b, 3, INQ_NONE, 1);
    uint32_t after = add(b, 4, INQ_NONE, 1);
    dep(b, before, x);
    dep(b, x, y);
    dep(b, y, z);
    dep(b, z, x);
    dep(b, z, after);
    struct inq_graph *g = NULL;
    struct inq_deadlock d = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_graph_finish(b, &g, &d, &err), INQ_DEADLOCK);
    assert_null(g);
    assert_int_equal(err.code, INQ_DEADLOCK);
    assert_int_equal(d.n_blocked, 4);
    assert_int_equal(d.n_waits, 3);
    check_ring(&d);
    assert_non_null(strstr(err.message, "rank 1"));
    assert_null(strstr(err.message, "rank 0"));
    assert_null(strstr(err.message, "rank 4"));
    inq_deadlock_release(&d);
    inq_graph_builder_free(b);
}

/* Two ranks that both send before they receive, with sends that wait for the receiver. */
static void deadlock__two_ranks_that_both_send_first(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t send0 = add(b, 0, 0, 1);
    uint32_t recv0 = add(b, 0, 0, 1);
    uint32_t send1 = add(b, 1, 0, 1);
    uint32_t recv1 = add(b, 1, 0, 1);
    uint32_t there[] = {send0, recv1};
    uint32_t back[] = {send1, recv0};
    assert_int_equal(inq_graph_add_group(b, there, 2, 2, NULL), INQ_OK);
    assert_int_equal(inq_graph_add_group(b, back, 2, 2, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    struct inq_deadlock d = {0};
    assert_int_equal(inq_graph_finish(b, &g, &d, NULL), INQ_DEADLOCK);
    assert_int_equal(d.n_blocked, 4);
    assert_int_equal(d.n_waits, 4);
    check_ring(&d);
    int lanes = 0;
    int groups = 0;
    for (size_t i = 0; i < d.n_waits; i++) {
        lanes += d.waits[i].kind == INQ_WAIT_LANE;
        groups += d.waits[i].kind == INQ_WAIT_GROUP;
    }
    assert_int_equal(lanes, 2);
    assert_int_equal(groups, 2);
    inq_deadlock_release(&d);
    inq_graph_builder_free(b);
}

static void deadlock__a_peer_that_never_comes(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, 0, 1);
    uint32_t c = add(b, 1, 0, 1);
    uint32_t later = add(b, 0, 0, 1);
    (void)later;
    uint32_t both[] = {a, c};
    assert_int_equal(inq_graph_add_group(b, both, 2, 3, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    struct inq_deadlock d = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_graph_finish(b, &g, &d, &err), INQ_DEADLOCK);
    check_ring(&d);
    assert_int_equal(d.n_blocked, 3);
    assert_int_equal(d.waits[d.n_waits - 1].kind, INQ_WAIT_MISSING);
    assert_non_null(strstr(err.message, "never comes"));
    inq_deadlock_release(&d);
    inq_graph_builder_free(b);
}

static void deadlock__a_member_that_waits_for_its_own_group(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, INQ_NONE, 1);
    uint32_t c = add(b, 1, INQ_NONE, 1);
    dep(b, a, c);
    uint32_t both[] = {a, c};
    assert_int_equal(inq_graph_add_group(b, both, 2, 2, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    struct inq_deadlock d = {0};
    assert_int_equal(inq_graph_finish(b, &g, &d, NULL), INQ_DEADLOCK);
    check_ring(&d);
    inq_deadlock_release(&d);
    inq_graph_builder_free(b);
}

/* ---- random graphs: a deadlock is reported exactly when an independent search finds a cycle -- */

enum { MAX_RANDOM = 24 };

struct random_graph {
    int n;
    bool edge[MAX_RANDOM][MAX_RANDOM];
    int group[MAX_RANDOM];
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Repeatedly completes ops; groups complete when no member waits. True when all complete. */
static bool can_complete(const struct random_graph *r)
{
    bool done[MAX_RANDOM] = {false};
    for (int round = 0; round < r->n; round++) {
        bool ready[MAX_RANDOM];
        for (int i = 0; i < r->n; i++) {
            ready[i] = true;
            for (int k = 0; k < r->n; k++) {
                ready[i] = ready[i] && (!r->edge[k][i] || done[k]);
            }
        }
        for (int i = 0; i < r->n; i++) {
            bool all = ready[i];
            for (int k = 0; k < r->n; k++) {
                all = all && (r->group[i] < 0 || r->group[k] != r->group[i] || ready[k]);
            }
            done[i] = done[i] || all;
        }
    }
    bool all = true;
    for (int i = 0; i < r->n; i++) {
        all = all && done[i];
    }
    return all;
}

static void make_random(struct random_graph *r, uint64_t *seed)
{
    memset(r, 0, sizeof *r);
    r->n = 3 + (int)(next_random(seed) % (MAX_RANDOM - 3));
    for (int i = 0; i < r->n; i++) {
        r->group[i] = next_random(seed) % 3 == 0 ? (int)(next_random(seed) % 4) : -1;
        for (int k = 0; k < r->n; k++) {
            bool forward = k > i; /* some against the grain, so that cycles occur */
            r->edge[i][k] = i != k && next_random(seed) % (forward ? 6 : 160) == 0;
        }
    }
}

static void deadlock__agrees_with_an_independent_search(void **state)
{
    (void)state;
    uint64_t seed = 20240611;
    int found[2] = {0, 0};
    for (int trial = 0; trial < 4000; trial++) {
        struct random_graph r;
        make_random(&r, &seed);
        struct inq_graph_builder *b = inq_graph_builder_new();
        for (int i = 0; i < r.n; i++) {
            (void)add(b, i, INQ_NONE, 1);
        }
        for (int i = 0; i < r.n; i++) {
            for (int k = 0; k < r.n; k++) {
                if (r.edge[i][k]) {
                    dep(b, (uint32_t)i, (uint32_t)k);
                }
            }
        }
        for (int g = 0; g < 4; g++) {
            uint32_t ids[MAX_RANDOM];
            size_t n = 0;
            for (int i = 0; i < r.n; i++) {
                if (r.group[i] == g) {
                    ids[n++] = (uint32_t)i;
                }
            }
            assert_int_equal(inq_graph_add_group(b, ids, n, n, NULL), INQ_OK);
        }
        struct inq_graph *g = NULL;
        struct inq_deadlock d = {0};
        int code = inq_graph_finish(b, &g, &d, NULL);
        bool possible = can_complete(&r);
        found[possible]++;
        assert_int_equal(code, possible ? INQ_OK : INQ_DEADLOCK);
        if (!possible) {
            check_ring(&d);
        }
        inq_deadlock_release(&d);
        inq_graph_free(g);
        inq_graph_builder_free(b);
    }
    assert_true(found[0] > 100 && found[1] > 100); /* both kinds occurred */
}

static int build_small(struct inq_err *err)
{
    struct inq_graph_builder *b = inq_graph_builder_new();
    struct inq_graph *g = NULL;
    int code = b != NULL ? INQ_OK : INQ_NOMEM;
    struct inq_graph_op op = inq_graph_op_init();
    for (int i = 0; i < 40 && code == INQ_OK; i++) {
        op.rank = i % 2;
        op.lane = 0;
        uint32_t id = 0;
        code = inq_graph_add_op(b, &op, 5, 1, &id, err);
        if (code == INQ_OK && i % 2 == 1) {
            uint32_t pair[] = {id - 1, id};
            code = inq_graph_add_group(b, pair, 2, 2, err);
        }
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(b, &g, NULL, err);
    }
    inq_graph_free(g);
    inq_graph_builder_free(b);
    return code;
}

static void graph__survives_every_failing_allocation(void **state)
{
    (void)state;
    int code = INQ_NOMEM;
    int failed = 0;
    for (long nth = 1; code != INQ_OK && nth < 500; nth++) {
        struct inq_err err = {0};
        inq_mem_fail_after(nth);
        code = build_small(&err);
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        failed += code == INQ_NOMEM;
    }
    assert_int_equal(code, INQ_OK);
    assert_true(failed > 10);
}

/* Whether op `after` still waits for `before`. */
static bool waits(const struct inq_graph *g, uint32_t before, uint32_t after)
{
    uint32_t own = g->index_of[after];
    for (uint32_t d = g->dep_start[own]; d < g->dep_start[own + 1]; d++) {
        if (g->deps[d] == g->index_of[before]) {
            return true;
        }
    }
    return false;
}

static void check_order(const struct inq_graph *g)
{
    for (uint32_t i = 0; i < g->n_ops; i++) {
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            assert_true(g->deps[d] < i);
        }
    }
}

/* A synchronize, a launch after it on its thread, and the kernel that it waited for. */
static void cut__takes_the_inferred_edge_of_a_circle(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    assert_non_null(b);
    uint32_t sync = add(b, 0, 0, 1);
    uint32_t launch = add(b, 0, 0, 1);
    uint32_t kernel = add(b, 0, 7, 1);
    assert_int_equal(inq_graph_add_inferred(b, kernel, sync, NULL), INQ_OK);
    dep(b, launch, kernel);
    struct inq_graph *g = NULL;
    size_t n_cut = 0;
    assert_int_equal(inq_graph_finish_cut(b, &g, &n_cut, NULL), INQ_OK);
    assert_int_equal(n_cut, 1);
    assert_int_equal(g->n_ops, 3);
    assert_true(waits(g, sync, launch));
    assert_true(waits(g, launch, kernel));
    assert_false(waits(g, kernel, sync));
    check_order(g);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

/* Two transfers that two ranks have in different order: the match of one is given up, not the order
 * that was recorded. */
static void cut__takes_a_member_before_the_order_of_a_lane(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    assert_non_null(b);
    uint32_t a0 = add(b, 0, 0, 1);
    uint32_t b0 = add(b, 0, 0, 1);
    uint32_t b1 = add(b, 1, 0, 1);
    uint32_t a1 = add(b, 1, 0, 1);
    uint32_t first[] = {a0, a1};
    uint32_t second[] = {b0, b1};
    assert_int_equal(inq_graph_add_group(b, first, 2, 2, NULL), INQ_OK);
    assert_int_equal(inq_graph_add_group(b, second, 2, 2, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    size_t n_cut = 0;
    assert_int_equal(inq_graph_finish_cut(b, &g, &n_cut, NULL), INQ_OK);
    assert_int_equal(n_cut, 1);
    assert_true(waits(g, a0, b0));
    assert_true(waits(g, b1, a1));
    check_order(g);
    size_t together = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        together += g->members[i] == 2;
    }
    assert_int_equal(together, 1);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

static void cut__leaves_a_graph_without_circles_alone(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    assert_non_null(b);
    uint32_t x = add(b, 0, 0, 1);
    uint32_t y = add(b, 0, 1, 1);
    assert_int_equal(inq_graph_add_inferred(b, x, y, NULL), INQ_OK);
    struct inq_graph *g = NULL;
    size_t n_cut = 7;
    assert_int_equal(inq_graph_finish_cut(b, &g, &n_cut, NULL), INQ_OK);
    assert_int_equal(n_cut, 0);
    assert_true(waits(g, x, y));
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

/* Any tangle of edges and groups becomes an order; nothing that is not in a circle is lost. */
static void cut__orders_any_tangle(void **state)
{
    (void)state;
    enum { OPS = 60, EDGES = 240, ROUNDS = 300 };
    uint64_t seed = 88172645463325252U;
    for (int round = 0; round < ROUNDS; round++) {
        struct inq_graph_builder *b = inq_graph_builder_new();
        assert_non_null(b);
        for (uint32_t i = 0; i < OPS; i++) {
            (void)add(b, (int32_t)(i % 4), i % 3, 1);
        }
        for (int e = 0; e < EDGES; e++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            uint32_t from = (uint32_t)(seed % OPS);
            uint32_t to = (uint32_t)(seed / OPS % OPS);
            if (from == to) {
                continue;
            }
            if (e % 2 == 0) {
                dep(b, from, to);
            } else {
                assert_int_equal(inq_graph_add_inferred(b, from, to, NULL), INQ_OK);
            }
        }
        for (uint32_t i = 0; i + 3 < OPS; i += 7) {
            uint32_t ids[] = {i, i + 2, i + 3};
            assert_int_equal(inq_graph_add_group(b, ids, 3, 3, NULL), INQ_OK);
        }
        struct inq_graph *g = NULL;
        size_t n_cut = 0;
        assert_int_equal(inq_graph_finish_cut(b, &g, &n_cut, NULL), INQ_OK);
        assert_int_equal(g->n_ops, OPS);
        assert_true(n_cut > 0);
        check_order(g);
        inq_graph_free(g);
        inq_graph_builder_free(b);
    }
}

/* As many small circles as ops: no longer than a few walks over all. */
static void cut__many_circles_end(void **state)
{
    (void)state;
    enum { PAIRS = 20000 };
    struct inq_graph_builder *b = inq_graph_builder_new();
    assert_non_null(b);
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t call = add(b, 0, 0, 1);
        uint32_t work = add(b, 0, 7, 1);
        dep(b, call, work);
        assert_int_equal(inq_graph_add_inferred(b, work, call, NULL), INQ_OK);
    }
    struct inq_graph *g = NULL;
    size_t n_cut = 0;
    assert_int_equal(inq_graph_finish_cut(b, &g, &n_cut, NULL), INQ_OK);
    assert_int_equal(n_cut, PAIRS);
    check_order(g);
    inq_graph_free(g);
    inq_graph_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph__is_in_topological_order_with_groups_together),
        cmocka_unit_test(graph__orders_a_lane_by_adding),
        cmocka_unit_test(graph__an_empty_graph_is_a_graph),
        cmocka_unit_test(graph__refuses_what_makes_no_sense),
        cmocka_unit_test(deadlock__a_cycle_names_its_ops_and_only_them),
        cmocka_unit_test(deadlock__two_ranks_that_both_send_first),
        cmocka_unit_test(deadlock__a_peer_that_never_comes),
        cmocka_unit_test(deadlock__a_member_that_waits_for_its_own_group),
        cmocka_unit_test(deadlock__agrees_with_an_independent_search),
        cmocka_unit_test(graph__survives_every_failing_allocation),
        cmocka_unit_test(cut__takes_the_inferred_edge_of_a_circle),
        cmocka_unit_test(cut__takes_a_member_before_the_order_of_a_lane),
        cmocka_unit_test(cut__leaves_a_graph_without_circles_alone),
        cmocka_unit_test(cut__orders_any_tangle),
        cmocka_unit_test(cut__many_circles_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
