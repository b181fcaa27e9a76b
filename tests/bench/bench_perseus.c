/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration times predicted from recorded forward and backward durations: 1F1B graphs of real
 * four-stage jobs at several frequency plans. The record has no transfers, host gaps or optimizer:
 * the plain prediction is low by their sum; taken as a constant from plan 0, the other plans are
 * predicted. The first iteration is a warm-up.
 * Usage: bench_perseus [FOLDER] (default: perseus under the shared test data). */
#include "base/json.h"
#include "base/mem.h"
#include "ingest/source/source.h"
#include "inquest/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 16, MAX_MICRO_BATCHES = 1024 };

struct job {
    size_t stages, iterations, micro_batches;
    const struct cJSON *forward[MAX_STAGES], *backward[MAX_STAGES], *times;
};

static const struct cJSON *at(const struct cJSON *array, size_t i)
{
    const struct cJSON *item = inq_json_first(array);
    while (item != NULL && i-- > 0) {
        item = inq_json_next(item);
    }
    return item;
}

static char *slurp(const char *path, size_t *n)
{
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    char *text = NULL;
    size_t cap = 0;
    *n = 0;
    if (inq_source_open(path, &options, &source, NULL) != INQ_OK) {
        return NULL;
    }
    for (;;) {
        const char *bytes = NULL;
        size_t got = 0;
        if (inq_source_next(source, &bytes, &got, NULL) != INQ_OK || got == 0 ||
            inq_mem_grow(&text, &cap, *n + got, 1, INQ_JSON_MAX_BYTES, NULL) != INQ_OK) {
            break;
        }
        memcpy(text + *n, bytes, got);
        *n += got;
    }
    inq_source_close(source);
    return text;
}

/* Durations in ns of one iteration; some have an empty first entry more. */
static void read_durations(const struct cJSON *list, size_t n, int64_t *out)
{
    size_t extra = inq_json_count(list) - n;
    const struct cJSON *item = at(list, extra);
    for (size_t i = 0; i < n; i++, item = inq_json_next(item)) {
        out[i] = (int64_t)(inq_json_number(item, 0.0) * 1e9);
    }
}

static uint32_t add(struct inq_graph_builder *b, size_t stage, int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t id = 0;
    op.rank = (int32_t)stage;
    op.lane = 0;
    (void)inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL);
    return id;
}

/* Simulated length of one iteration; 0 when memory is out. */
static int64_t simulate(const struct job *job, size_t iteration)
{
    static uint32_t f[MAX_STAGES][MAX_MICRO_BATCHES];
    static uint32_t b[MAX_STAGES][MAX_MICRO_BATCHES];
    static int64_t f_ns[MAX_MICRO_BATCHES];
    static int64_t b_ns[MAX_MICRO_BATCHES];
    struct inq_graph_builder *builder = inq_graph_builder_new();
    size_t m = job->micro_batches;
    for (size_t s = 0; builder != NULL && s < job->stages; s++) {
        size_t next = 0;
        read_durations(at(job->forward[s], iteration), m, f_ns);
        read_durations(at(job->backward[s], iteration), m, b_ns);
        for (size_t i = 0; i < m; i++) {
            while (next < m && next < job->stages - s + i) {
                f[s][next] = add(builder, s, f_ns[next]);
                next++;
            }
            b[s][i] = add(builder, s, b_ns[i]);
        }
        for (size_t i = 0; s > 0 && i < m; i++) {
            (void)inq_graph_add_dep(builder, f[s - 1][i], f[s][i], NULL);
            (void)inq_graph_add_dep(builder, b[s][i], b[s - 1][i], NULL);
        }
    }
    struct inq_graph *graph = NULL;
    int64_t total = 0;
    if (builder != NULL && inq_graph_finish(builder, &graph, NULL, NULL) == INQ_OK) {
        int64_t *end = inq_mem_alloc(graph->n_ops * sizeof *end);
        total = end != NULL ? inq_simulate(graph, NULL, NULL, NULL, end) : 0;
        inq_mem_free(end);
    }
    inq_graph_free(graph);
    inq_graph_builder_free(builder);
    return total;
}

static bool open_job(const struct cJSON *root, struct job *job)
{
    *job = (struct job){.stages = inq_json_count(root)};
    for (size_t s = 0; s < job->stages && s < MAX_STAGES; s++) {
        const struct cJSON *breakdown = inq_json_get(at(root, s), "time_breakdown");
        job->forward[s] = inq_json_get(breakdown, "forward");
        job->backward[s] = inq_json_get(breakdown, "backward");
    }
    const struct cJSON *load = inq_json_get(inq_json_get(at(root, 0), "time_breakdown"), "load");
    job->micro_batches = inq_json_count(at(load, 0)); /* the first stage loads each once */
    job->times = inq_json_get(at(root, 0), "iter_time");
    job->iterations = inq_json_count(job->times);
    return job->stages >= 2 && job->stages <= MAX_STAGES && job->iterations >= 2 &&
           job->micro_batches >= 1 && job->micro_batches <= MAX_MICRO_BATCHES;
}

static bool mean_times(const char *path, double *measured, double *predicted)
{
    size_t n = 0;
    char *text = slurp(path, &n);
    struct cJSON *root = NULL;
    struct job job;
    bool good =
        text != NULL && inq_json_parse(text, n, &root, NULL) == INQ_OK && open_job(root, &job);
    *measured = 0.0;
    *predicted = 0.0;
    for (size_t i = 1; good && i < job.iterations; i++) {
        double share = 1.0 / (double)(job.iterations - 1);
        *measured += inq_json_number(at(job.times, i), 0.0) * share;
        *predicted += (double)simulate(&job, i) / 1e9 * share;
    }
    inq_json_free(root);
    inq_mem_free(text);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"a100_pp4_gpt3-xl", "a100_pp4_bert-huge"};
    static const int plans[] = {0, 12, 24};
    const char *folder = argc > 1 ? argv[1] : INQ_SHARED_DATA "/perseus";
    (void)printf(
        "seconds, means over iterations but the first; calibrated: + (measured - predicted) "
        "of plan 0\n%-20s %4s %9s %9s %8s %10s %8s\n",
        "job", "plan", "measured", "predicted", "error %", "calibrated", "error %");
    for (size_t k = 0; k < 2; k++) {
        double missing = 0.0;
        for (size_t p = 0; p < 3; p++) {
            char path[512];
            double measured = 0.0;
            double predicted = 0.0;
            (void)snprintf(path, sizeof path, "%s/%s/%d.prof.json.gz", folder, models[k], plans[p]);
            if (!mean_times(path, &measured, &predicted)) {
                (void)fprintf(stderr, "bench_perseus: cannot read %s\n", path);
                return 1;
            }
            missing = p == 0 ? measured - predicted : missing;
            double calibrated = predicted + missing;
            (void)printf("%-20s %4d %9.4f %9.4f %8.2f %10.4f %8.3f\n", models[k], plans[p],
                         measured, predicted, 100.0 * (predicted / measured - 1.0), calibrated,
                         100.0 * (calibrated / measured - 1.0));
        }
    }
    return 0;
}
