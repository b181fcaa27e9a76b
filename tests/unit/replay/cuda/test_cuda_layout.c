/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as commands for GPUs' streams, and the numbers of an execution: all that needs no device.
 */
#include "cuda/layout.h"

#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct random_graph shape = {
    .n_ranks = 6, .n_lanes = 3, .n_steps = 250, .max_dur_ns = 1000, .max_delay_ns = 300};

/* `n` ranks with `n_ops` ops each, all ranks' last ops being one group of `type`. */
static struct inq_graph *rows(int32_t n, int n_ops, uint8_t type)
{
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t *last = malloc((size_t)n * sizeof *last);
    struct inq_graph *graph = NULL;
    assert_non_null(last);
    for (int32_t r = 0; r < n; r++) {
        for (int i = 0; i < n_ops; i++) {
            struct inq_graph_op op = inq_graph_op_init();
            op.rank = r;
            op.lane = 0;
            op.cls = INQ_CLASS_COMPUTE;
            op.type = i + 1 < n_ops ? (uint8_t)INQ_OP_FORWARD : type;
            assert_int_equal(inq_graph_add_op(b, &op, 1000, 0, &last[r], NULL), INQ_OK);
        }
    }
    if (type != INQ_OP_FORWARD) {
        assert_int_equal(inq_graph_add_group(b, last, (size_t)n, (size_t)n, NULL), INQ_OK);
    }
    assert_int_equal(inq_graph_finish(b, &graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    free(last);
    return graph;
}

static struct inq_plan *plan_of(const struct inq_graph *graph, const struct inq_plan_options *o)
{
    struct inq_plan *plan = NULL;
    assert_non_null(graph);
    assert_int_equal(inq_plan_make(graph, o, &plan, NULL), INQ_OK);
    return plan;
}

/* ---- placing --------------------------------------------------------------------------------- */

static void layout__spreads_ranks_over_gpus(void **state)
{
    (void)state;
    struct inq_graph *graph = rows(5, 2, INQ_OP_FORWARD);
    struct inq_plan *plan = plan_of(graph, NULL);
    static const struct {
        size_t gpus, used, first, last;
    } cases[] = {{1, 1, 5, 5}, {2, 2, 3, 2}, {3, 3, 2, 1},
                 {4, 3, 2, 1}, {5, 5, 1, 1}, {9, 5, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_gpu_layout l;
        assert_int_equal(inq_gpu_layout_make(plan, cases[i].gpus, INQ_WORK_TIMED, &l, NULL),
                         INQ_OK);
        assert_int_equal(l.n_gpus, cases[i].used);
        assert_int_equal(l.parts[0], cases[i].first);
        assert_int_equal(l.parts[l.n_gpus - 1], cases[i].last);
        for (size_t r = 0; r < 5; r++) {
            assert_true(l.spots[r].gpu < l.n_gpus);
            assert_true(l.spots[r].part < l.parts[l.spots[r].gpu]);
            for (size_t s = 0; s < r; s++) {
                assert_true(l.spots[r].gpu != l.spots[s].gpu || l.spots[r].part != l.spots[s].part);
            }
        }
        inq_gpu_layout_release(&l);
    }
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static void layout__refuses_more_ranks_than_a_gpu_runs_at_once(void **state)
{
    (void)state;
    for (int32_t n = (int32_t)INQ_GPU_MAX_RANKS; n <= (int32_t)INQ_GPU_MAX_RANKS + 1; n++) {
        struct inq_graph *graph = rows(n, 1, INQ_OP_FORWARD);
        struct inq_plan *plan = plan_of(graph, NULL);
        struct inq_gpu_layout l;
        struct inq_err err = {0};
        bool fits = n <= (int32_t)INQ_GPU_MAX_RANKS;
        assert_int_equal(inq_gpu_layout_make(plan, 1, INQ_WORK_TIMED, &l, &err),
                         fits ? INQ_OK : INQ_LIMIT);
        assert_true(fits || strstr(err.message, "129 ranks on 1 GPU:") != NULL);
        inq_gpu_layout_release(&l);
        assert_int_equal(inq_gpu_layout_make(plan, 2, INQ_WORK_TIMED, &l, NULL), INQ_OK);
        inq_gpu_layout_release(&l);
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

static void layout__refuses_groups_that_no_kernel_can_address(void **state)
{
    (void)state;
    struct inq_graph *graph = rows(INQ_GPU_MAX_GROUP + 1, 1, INQ_OP_GRADS_REDUCE_SCATTER);
    struct inq_plan *plan = plan_of(graph, NULL);
    struct inq_gpu_layout l;
    struct inq_err err = {0};
    assert_int_equal(inq_gpu_layout_make(plan, 8, INQ_WORK_RECORDED, &l, &err), INQ_LIMIT);
    assert_non_null(strstr(err.message, "129 members"));
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* What a lane knows of every lane: how many of its ops have begun and ended for certain. */
struct clock_row {
    uint32_t *begun, *ended; /* [n_lanes] */
};

static void learn(struct clock_row *to, const struct clock_row *from, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        to->begun[k] = from->begun[k] > to->begun[k] ? from->begun[k] : to->begun[k];
        to->ended[k] = from->ended[k] > to->ended[k] ? from->ended[k] : to->ended[k];
    }
}

static void assert_may_begin(const struct inq_plan *plan, const struct clock_row *row, uint32_t op)
{
    const struct inq_graph *g = plan->graph;
    assert_int_equal(row->begun[plan->lane_of[op]], plan->place_of[op]);
    assert_int_equal(row->ended[plan->lane_of[op]], plan->place_of[op]);
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        uint32_t before = g->deps[d];
        assert_true(row->ended[plan->lane_of[before]] > plan->place_of[before]);
    }
}

static void assert_may_end(const struct inq_plan *plan, const struct clock_row *row, uint32_t op)
{
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    for (uint32_t k = first; k < first + n; k++) {
        assert_true(row->begun[plan->lane_of[k]] > plan->place_of[k]);
    }
}

/* Follows the commands as streams would, with nothing known but what streams and events say;
 * `library`: one moves the data of groups. */
static void assert_ordered(const struct inq_plan *plan, const struct inq_gpu_layout *l,
                           bool library)
{
    size_t n = plan->n_lanes;
    size_t n_rows = n + l->n_events;
    uint32_t *cells = calloc(n_rows * n * 2 + 1, sizeof *cells);
    struct clock_row *row = calloc(n_rows + 1, sizeof *row);
    size_t n_ended = 0;
    assert_non_null(cells);
    assert_non_null(row);
    for (size_t i = 0; i < n_rows; i++) {
        row[i].begun = cells + i * n * 2;
        row[i].ended = row[i].begun + n;
    }
    for (size_t i = 0; i < l->n_cmds; i++) {
        const struct inq_gpu_cmd *c = &l->cmds[i];
        if (c->kind == INQ_GPU_TOGETHER) {
            i += library ? c->lane : 0;
            continue;
        }
        struct clock_row *lane = &row[c->lane];
        if (c->kind == INQ_GPU_WAIT) {
            assert_true(c->at < l->n_events);
            learn(lane, &row[n + c->at], n);
        } else if (c->kind == INQ_GPU_RECORD) {
            struct inq_gpu_spot at = l->event_spots[c->at];
            struct inq_gpu_spot own = l->spots[plan->lanes[c->lane].rank];
            assert_true(at.gpu == own.gpu && at.part == own.part);
            memset(row[n + c->at].begun, 0, 2 * n * sizeof *cells);
            learn(&row[n + c->at], lane, n);
        } else {
            assert_int_equal(c->lane, plan->lane_of[c->at]);
        }
        if (c->kind == INQ_GPU_ALONE || c->kind == INQ_GPU_BEGIN) {
            assert_may_begin(plan, lane, c->at);
            lane->begun[c->lane]++;
        }
        if (c->kind == INQ_GPU_ALONE || c->kind == INQ_GPU_END) {
            assert_may_end(plan, lane, c->at);
            lane->ended[c->lane]++;
            n_ended++;
        }
    }
    assert_int_equal(n_ended, plan->graph->n_ops);
    free(cells);
    free(row);
}

static void layout__orders_everything_by_streams_and_events_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct inq_graph *graph = random_graph_make(&shape, seed);
        struct inq_plan *plan = plan_of(graph, NULL);
        for (int real = 0; real < 2; real++) {
            struct inq_gpu_layout l;
            enum inq_work_mode work = real != 0 ? INQ_WORK_RECORDED : INQ_WORK_TIMED;
            assert_int_equal(inq_gpu_layout_make(plan, 1 + seed % 4, work, &l, NULL), INQ_OK);
            assert_ordered(plan, &l, false);
            assert_ordered(plan, &l, true);
            inq_gpu_layout_release(&l);
        }
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

static void layout__uses_events_again(void **state)
{
    (void)state;
    const struct random_graph large = {
        .n_ranks = 8, .n_lanes = 2, .n_steps = 4000, .max_dur_ns = 1000};
    struct inq_graph *graph = random_graph_make(&large, 5);
    struct inq_plan *plan = plan_of(graph, NULL);
    struct inq_gpu_layout l;
    size_t n_records = 0;
    assert_int_equal(inq_gpu_layout_make(plan, 1, INQ_WORK_TIMED, &l, NULL), INQ_OK);
    for (size_t i = 0; i < l.n_cmds; i++) {
        n_records += l.cmds[i].kind == INQ_GPU_RECORD;
    }
    assert_true(l.n_events * 4 < n_records);
    inq_gpu_layout_release(&l);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static void layout__names_what_never_becomes_ready(void **state)
{
    (void)state;
    struct inq_graph *graph = rows(2, 3, INQ_OP_FORWARD);
    struct inq_plan *plan = plan_of(graph, NULL);
    struct inq_gpu_layout l;
    struct inq_err err = {0};
    uint32_t *ops = plan->lanes[1].ops;
    uint32_t first = ops[0];
    ops[0] = ops[1]; /* against the lane's own order, which the dependencies hold */
    ops[1] = first;
    plan->place_of[ops[0]] = 0;
    plan->place_of[ops[1]] = 1;
    assert_int_equal(inq_gpu_layout_make(plan, 1, INQ_WORK_TIMED, &l, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "rank 1 "));
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* Kinds of the commands of one op, as letters. */
static void kinds_of(const struct inq_gpu_layout *l, uint32_t op, char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_cmds; i++) {
        if (l->cmds[i].kind != INQ_GPU_WAIT && l->cmds[i].kind != INQ_GPU_RECORD &&
            l->cmds[i].kind != INQ_GPU_TOGETHER && l->cmds[i].at == op) {
            text[n++] = "  ABWGCE"[l->cmds[i].kind];
        }
    }
    text[n] = '\0';
}

static void layout__moves_data_in_the_steps_of_each_collective(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        const char *timed, *real;
    } cases[] = {{INQ_OP_FORWARD, "A", "BWE"},
                 {INQ_OP_SEPARATE_GRADS_ALL_REDUCE, "BE", "BWGCE"},
                 {INQ_OP_GRADS_REDUCE_SCATTER, "BE", "BWCE"},
                 {INQ_OP_PARAMS_ALL_GATHER, "BE", "BGCE"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_graph *graph = rows(3, 1, cases[i].type);
        struct inq_plan *plan = plan_of(graph, NULL);
        for (int real = 0; real < 2; real++) {
            struct inq_gpu_layout l;
            char text[16];
            enum inq_work_mode work = real != 0 ? INQ_WORK_RECORDED : INQ_WORK_TIMED;
            assert_int_equal(inq_gpu_layout_make(plan, 1, work, &l, NULL), INQ_OK);
            for (uint32_t op = 0; op < graph->n_ops; op++) {
                kinds_of(&l, op, text);
                assert_string_equal(text, real != 0 ? cases[i].real : cases[i].timed);
            }
            inq_gpu_layout_release(&l);
        }
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void sizes__payloads_go_through_bounded_buffers(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        double scale;
        uint64_t buffer, elems;
        uint32_t passes;
    } cases[] = {{0, 1, INQ_GPU_MIN_BUFFER, 4, 1},
                 {17, 1, INQ_GPU_MIN_BUFFER, 8, 1},
                 {100000, 1, 131072, 25000, 1},
                 {100000, 0.5, INQ_GPU_MIN_BUFFER, 12500, 1},
                 {-1, 1, 1048576, 262144, 1},
                 {(int64_t)1 << 30, 1, INQ_GPU_MAX_BUFFER, INQ_GPU_MAX_BUFFER / 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_graph *graph = rows(2, 1, INQ_OP_SEPARATE_GRADS_ALL_REDUCE);
        const int64_t bytes[2] = {cases[i].bytes, -1}; /* one member knows */
        const struct inq_plan_options o = {.scale = cases[i].scale, .bytes = bytes};
        struct inq_plan *plan = plan_of(graph, &o);
        assert_int_equal(inq_gpu_buffer_bytes(plan), cases[i].buffer);
        for (uint32_t op = 0; op < 2; op++) {
            struct inq_gpu_payload p = inq_gpu_payload_of(plan, op, cases[i].buffer);
            assert_int_equal(p.elems, cases[i].elems);
            assert_int_equal(p.passes, cases[i].passes);
            assert_int_equal(p.guessed, cases[i].bytes < 0);
        }
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

static void sizes__slices_cover_all_and_start_aligned(void **state)
{
    (void)state;
    for (uint64_t elems = 4; elems < 400; elems += 4) {
        for (uint32_t n = 1; n < 20; n++) {
            assert_int_equal(inq_gpu_slice(elems, n, 0), 0);
            assert_int_equal(inq_gpu_slice(elems, n, n), elems);
            for (uint32_t k = 0; k < n; k++) {
                assert_int_equal(inq_gpu_slice(elems, n, k) % 4, 0);
                assert_true(inq_gpu_slice(elems, n, k) <= inq_gpu_slice(elems, n, k + 1));
            }
        }
    }
}

static void sizes__durations_split_into_products(void **state)
{
    (void)state;
    const struct inq_gpu_menu menu = {.n = 3, .size = {1, 2, 3}, .ns = {1500, 10300, 77000}};
    for (int64_t dur = 0; dur < 1000000; dur += 333) {
        uint32_t count[INQ_GPU_SIZES];
        int64_t sum = 0;
        inq_gpu_menu_split(&menu, dur, count);
        for (size_t i = 0; i < menu.n; i++) {
            sum += (int64_t)count[i] * menu.ns[i];
        }
        assert_true(llabs(sum - dur) <= menu.ns[0] / 2);
        assert_true(count[0] <= 7 && count[1] <= 8);
    }
}

static void gaps__come_off_delays_first(void **state)
{
    (void)state;
    struct inq_graph *graph = rows(1, 5, INQ_OP_FORWARD);
    const int64_t delay[5] = {0, 500, 3000, 0, 0};
    const int64_t dur[5] = {1000, 1000, 1000, 1000, 2000};
    const struct inq_plan_options o = {.delay_ns = delay, .dur_ns = dur};
    struct inq_plan *plan = plan_of(graph, &o);
    uint64_t start[5];
    uint64_t end[5];
    uint64_t now = 1000000;
    for (int i = 0; i < 5; i++) {
        start[i] = now + (i > 0 ? 700U : 0) + (uint64_t)delay[i];
        end[i] = start[i] + (uint64_t)dur[i] + (i == 3 ? 9000U : 40U); /* one was held up */
        now = end[i];
    }
    struct inq_gpu_gaps gaps;
    assert_int_equal(inq_gpu_gaps_find(plan, start, end, &gaps, NULL), INQ_OK);
    assert_int_equal(gaps.launch_ns[INQ_GPU_FOLLOWS], 700);
    assert_int_equal(gaps.hold_ns, 40);
    assert_int_equal(inq_gpu_gaps_mean_ns(&gaps), 740);
    int64_t got_delay[5];
    int64_t got_dur[5];
    const int64_t want_delay[5] = {0, 0, 2260, 0, 0};
    const int64_t want_dur[5] = {960, 760, 1000, 260, 1260};
    inq_gpu_gaps_take(plan, &gaps, got_delay, got_dur);
    assert_memory_equal(got_delay, want_delay, sizeof want_delay);
    assert_memory_equal(got_dur, want_dur, sizeof want_dur);
    gaps.launch_ns[INQ_GPU_FOLLOWS] = 5000; /* longer than the ops: nothing below 0 */
    inq_gpu_gaps_take(plan, &gaps, got_delay, got_dur);
    assert_int_equal(got_dur[4], 0);
    assert_int_equal(got_delay[2], 0);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* What a path loses by launching is the sum of its gaps: those in the tail count, up to eight times
 * the mean of the middle half. */
static void gaps__are_means_of_all_that_was_not_held_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t longest, want;
    } cases[] = {{600, 600}, {2400, 1050}, {4800, 1650}, {4801, 600}};
    struct inq_graph *graph = rows(1, 5, INQ_OP_FORWARD);
    struct inq_plan *plan = plan_of(graph, NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t start[5];
        uint64_t end[5];
        uint64_t now = 1000000;
        for (int i = 0; i < 5; i++) {
            start[i] = now + (i == 0 ? 0 : i == 2 ? cases[c].longest : 600);
            end[i] = now = start[i] + (uint64_t)plan->dur_ns[i];
        }
        struct inq_gpu_gaps gaps;
        assert_int_equal(inq_gpu_gaps_find(plan, start, end, &gaps, NULL), INQ_OK);
        assert_int_equal(gaps.launch_ns[INQ_GPU_FOLLOWS], cases[c].want);
        assert_int_equal(gaps.hold_ns, 0);
    }
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* Two lanes of two ops each; the last op waits for both lanes. In the order of the graph: the first
 * of each lane, then the second. */
static void gaps__of_ops_that_wait_for_other_streams_count_apart(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t id[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct inq_graph_op op = inq_graph_op_init();
        op.rank = 0;
        op.lane = i / 2;
        op.type = INQ_OP_FORWARD;
        op.cls = INQ_CLASS_COMPUTE;
        assert_int_equal(inq_graph_add_op(b, &op, 1000, 0, &id[i], NULL), INQ_OK);
    }
    assert_int_equal(inq_graph_add_dep(b, id[0], id[1], NULL), INQ_OK);
    assert_int_equal(inq_graph_add_dep(b, id[2], id[3], NULL), INQ_OK);
    assert_int_equal(inq_graph_add_dep(b, id[1], id[3], NULL), INQ_OK);
    struct inq_graph *graph = NULL;
    assert_int_equal(inq_graph_finish(b, &graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    struct inq_plan *plan = plan_of(graph, NULL);
    uint64_t start[4] = {0};
    uint64_t end[4] = {0};
    assert_true(plan->lane_of[2] == plan->lane_of[0] && plan->lane_of[3] == plan->lane_of[1]);
    start[0] = start[1] = 10000;
    end[0] = end[1] = 11000;
    start[2] = 12400;
    end[2] = 13400;
    start[3] = 16100;
    end[3] = 17100;
    struct inq_gpu_gaps gaps;
    assert_int_equal(inq_gpu_gaps_find(plan, start, end, &gaps, NULL), INQ_OK);
    assert_int_equal(gaps.launch_ns[INQ_GPU_FOLLOWS], 1400);
    assert_int_equal(gaps.launch_ns[INQ_GPU_WAITS], 2700);
    struct inq_gpu_gaps other = {.launch_ns = {[INQ_GPU_FOLLOWS] = 1600}, .hold_ns = 50};
    other.n[INQ_GPU_FOLLOWS] = 7;
    inq_gpu_gaps_share(&gaps, &other);
    assert_int_equal(other.launch_ns[INQ_GPU_FOLLOWS], 1500);
    assert_int_equal(other.launch_ns[INQ_GPU_WAITS], 2700); /* known of one alone */
    assert_int_equal(gaps.hold_ns, 25);
    int64_t delay[4];
    int64_t dur[4];
    gaps.launch_ns[INQ_GPU_WAITS] = 600;
    gaps.launch_ns[INQ_GPU_FOLLOWS] = 300;
    inq_gpu_gaps_take(plan, &gaps, delay, dur);
    assert_int_equal(dur[0], 975);
    assert_int_equal(dur[2], 675);
    assert_int_equal(dur[3], 375);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout__spreads_ranks_over_gpus),
        cmocka_unit_test(layout__refuses_more_ranks_than_a_gpu_runs_at_once),
        cmocka_unit_test(layout__refuses_groups_that_no_kernel_can_address),
        cmocka_unit_test(layout__orders_everything_by_streams_and_events_alone),
        cmocka_unit_test(layout__uses_events_again),
        cmocka_unit_test(layout__names_what_never_becomes_ready),
        cmocka_unit_test(layout__moves_data_in_the_steps_of_each_collective),
        cmocka_unit_test(sizes__payloads_go_through_bounded_buffers),
        cmocka_unit_test(sizes__slices_cover_all_and_start_aligned),
        cmocka_unit_test(sizes__durations_split_into_products),
        cmocka_unit_test(gaps__come_off_delays_first),
        cmocka_unit_test(gaps__are_means_of_all_that_was_not_held_up),
        cmocka_unit_test(gaps__of_ops_that_wait_for_other_streams_count_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
