/* SPDX-License-Identifier: Apache-2.0 */
/* Ops simulated per second and core, and how building and simulating grow with ranks: synthetic
 * 1F1B with send/receive groups and a gradient all-reduce over the data-parallel ranks.
 * Usage: bench_simulate [MAX_RANKS [STEPS]] (default 16384 ranks, 8 steps). */
#include "base/mem.h"
#include "base/time.h"
#include "inquest/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 8, MICRO_BATCHES = 16, LANES = 6 };

enum { COMPUTE, SEND_F, RECV_F, SEND_B, RECV_B, SYNC };

struct make {
    struct inq_graph_builder *b;
    struct inq_err err;
    int n_dp, steps;
    uint32_t *sync; /* [stage][dp] */
    uint32_t f_recv[MICRO_BATCHES], f_send[STAGES][MICRO_BATCHES];
    uint32_t b_recv[STAGES][MICRO_BATCHES], b_send[MICRO_BATCHES];
};

static uint32_t add(struct make *m, int dp, int stage, uint32_t lane, int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = dp * STAGES + stage;
    op.lane = lane;
    op.stage = stage;
    op.dp_rank = dp;
    uint32_t id = 0;
    (void)inq_graph_add_op(m->b, &op, dur_ns, 0, &id, &m->err);
    return id;
}

static void dep(struct make *m, uint32_t before, uint32_t after)
{
    (void)inq_graph_add_dep(m->b, before, after, &m->err);
}

static void forward(struct make *m, int dp, int s, int i, const uint32_t *from)
{
    uint32_t recv = s > 0 ? add(m, dp, s, RECV_F, 50) : INQ_NONE;
    uint32_t f = add(m, dp, s, COMPUTE, 1000 + (dp * 7 + s * 13 + i * 5) % 97);
    if (s > 0) {
        uint32_t pair[] = {from[i], recv};
        dep(m, recv, f);
        (void)inq_graph_add_group(m->b, pair, 2, 2, &m->err);
    }
    if (s + 1 < STAGES) {
        m->f_send[s][i] = add(m, dp, s, SEND_F, 50);
        dep(m, f, m->f_send[s][i]);
    }
}

static void backward(struct make *m, int dp, int s, int i)
{
    if (s + 1 < STAGES) {
        m->b_recv[s][i] = add(m, dp, s, RECV_B, 50);
    }
    uint32_t b = add(m, dp, s, COMPUTE, 2000 + (dp * 11 + s * 3 + i * 17) % 97);
    if (s + 1 < STAGES) {
        dep(m, m->b_recv[s][i], b);
    }
    if (s > 0) {
        m->b_send[i] = add(m, dp, s, SEND_B, 50);
        dep(m, b, m->b_send[i]);
    }
}

static void stage(struct make *m, int dp, int s)
{
    int warmup = STAGES - s;
    int f = 0;
    while (f < warmup && f < MICRO_BATCHES) {
        forward(m, dp, s, f++, s > 0 ? m->f_send[s - 1] : NULL);
    }
    for (int i = 0; i < MICRO_BATCHES; i++) {
        backward(m, dp, s, i);
        if (f < MICRO_BATCHES) {
            forward(m, dp, s, f++, s > 0 ? m->f_send[s - 1] : NULL);
        }
    }
    for (int i = 0; s > 0 && i < MICRO_BATCHES; i++) {
        uint32_t pair[] = {m->b_send[i], m->b_recv[s - 1][i]};
        (void)inq_graph_add_group(m->b, pair, 2, 2, &m->err);
    }
    m->sync[s * m->n_dp + dp] = add(m, dp, s, COMPUTE, 3000);
}

static struct inq_graph *make_graph(int ranks, int steps, int64_t *build_ns)
{
    struct make m = {.b = inq_graph_builder_new(), .n_dp = ranks / STAGES, .steps = steps};
    m.sync = inq_mem_alloc((size_t)ranks * sizeof *m.sync);
    struct inq_graph *g = NULL;
    int64_t t = inq_time_now_ns();
    for (int step = 0; step < steps; step++) {
        for (int dp = 0; dp < m.n_dp; dp++) {
            for (int s = 0; s < STAGES; s++) {
                stage(&m, dp, s);
            }
        }
        for (int s = 0; s < STAGES; s++) {
            (void)inq_graph_add_group(m.b, m.sync + (size_t)s * (size_t)m.n_dp, (size_t)m.n_dp,
                                      (size_t)m.n_dp, &m.err);
        }
    }
    (void)inq_graph_finish(m.b, &g, NULL, &m.err);
    *build_ns = inq_time_now_ns() - t;
    inq_graph_builder_free(m.b);
    inq_mem_free(m.sync);
    if (g == NULL) {
        (void)fprintf(stderr, "bench_simulate: %s\n", m.err.message);
    }
    return g;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median ns of one call of the scalar or batched simulator. */
static int64_t median_ns(const struct inq_graph *g, int64_t *dur, int64_t *end, int batch)
{
    enum { ROUNDS = 7 };
    int64_t took[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        int64_t makespan[INQ_SIM_BATCH];
        int64_t t = inq_time_now_ns();
        if (batch) {
            inq_simulate_batch(g, dur, end, makespan);
        } else {
            (void)inq_simulate(g, NULL, NULL, NULL, end);
        }
        took[r] = inq_time_now_ns() - t;
    }
    qsort(took, ROUNDS, sizeof took[0], compare);
    return took[ROUNDS / 2];
}

static int bench_one(int ranks, int steps)
{
    int64_t build_ns = 0;
    struct inq_graph *g = make_graph(ranks, steps, &build_ns);
    size_t cells = g != NULL ? g->n_ops * INQ_SIM_BATCH : 0;
    int batch = cells * 2 * sizeof(int64_t) < (size_t)1 << 31; /* else memory is what is measured */
    int64_t *end = g != NULL ? inq_mem_zalloc(batch ? cells : g->n_ops, sizeof *end) : NULL;
    int64_t *dur = batch ? inq_mem_alloc(cells * sizeof *dur) : NULL;
    if (end == NULL || (batch && dur == NULL)) {
        inq_graph_free(g);
        inq_mem_free(end);
        inq_mem_free(dur);
        return 1;
    }
    for (size_t i = 0; batch && i < cells; i++) {
        dur[i] = g->dur_ns[i / INQ_SIM_BATCH];
    }
    int64_t one = median_ns(g, dur, end, 0);
    double rate = (double)g->n_ops * 1e3 / (double)one;
    (void)printf("%8d %6d %10zu %11.1f %11.2f %11.1f", ranks, steps, g->n_ops,
                 (double)build_ns / 1e6, (double)one / 1e6, rate);
    if (batch) {
        int64_t eight = median_ns(g, dur, end, 1);
        (void)printf(" %13.1f\n", (double)cells * 1e3 / (double)eight);
    } else {
        (void)printf(" %13s\n", "-");
    }
    inq_graph_free(g);
    inq_mem_free(end);
    inq_mem_free(dur);
    return 0;
}

int main(int argc, char **argv)
{
    int max_ranks = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 16384;
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8;
    (void)printf("one core, medians of 7; %d stages, %d micro-batches; M = 10^6\n", STAGES,
                 MICRO_BATCHES);
    (void)printf("%8s %6s %10s %11s %11s %11s %13s\n", "ranks", "steps", "ops", "build ms",
                 "sim ms", "M ops/s", "batch M ops/s");
    for (int ranks = 64; ranks <= max_ranks; ranks *= 4) {
        if (bench_one(ranks, steps) != 0) {
            (void)fprintf(stderr, "bench_simulate: out of memory\n");
            return 1;
        }
    }
    return 0;
}
