/* SPDX-License-Identifier: Apache-2.0 */
/* One replay: a plan executed, checked, and set against its simulation. */
#include "engine/engine.h"

#include "base/mem.h"
#include "base/sort.h"

#include <stdio.h>
#include <string.h>

struct idle {
    const struct inq_plan *plan;
    int64_t *from_ns; /* [n_ops] starts of the rank's compute */
    uint32_t *ops;    /* [n_ops] */
    uint32_t *perm;   /* [n_ops] */
    struct inq_err *err;
};

/* Time in which the rank of lanes [first, last) computes on any of them. */
static int busy_of(struct idle *idle, size_t first, size_t last, const int64_t *start_ns,
                   const int64_t *end_ns, int64_t *busy_ns)
{
    size_t n = 0;
    for (size_t k = first; k < last; k++) {
        const struct inq_plan_lane *lane = &idle->plan->lanes[k];
        for (size_t i = 0; i < lane->n; i++) {
            if (idle->plan->graph->op[lane->ops[i]].cls == INQ_CLASS_COMPUTE) {
                idle->ops[n] = lane->ops[i];
                idle->from_ns[n++] = start_ns[lane->ops[i]];
            }
        }
    }
    int code = inq_sort_order_i64(idle->from_ns, n, idle->perm, idle->err);
    int64_t covered = INT64_MIN;
    *busy_ns = 0;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        uint32_t op = idle->ops[idle->perm[i]];
        int64_t from = start_ns[op] > covered ? start_ns[op] : covered;
        if (end_ns[op] > from) {
            *busy_ns += end_ns[op] - from;
            covered = end_ns[op];
        }
    }
    return code;
}

static int compare_numbers(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = ((const struct inq_replay_rank *)a)->rank;
    int32_t y = ((const struct inq_replay_rank *)b)->rank;
    return (x > y) - (x < y);
}

static int fill_ranks(struct idle *idle, struct inq_replay *out)
{
    const struct inq_plan *plan = idle->plan;
    struct inq_execution simulated = {0};
    int code = inq_engine_find("sim")->run(plan, NULL, &simulated, idle->err);
    for (size_t k = 0, next = 0; code == INQ_OK && k < plan->n_lanes; k = next) {
        struct inq_replay_rank *row = &out->ranks[out->n_ranks++];
        while (next < plan->n_lanes && plan->lanes[next].rank == plan->lanes[k].rank) {
            next++;
        }
        int64_t busy = 0;
        row->rank = plan->lanes[k].number;
        code = busy_of(idle, k, next, simulated.start_ns, simulated.end_ns, &busy);
        row->simulated_idle_ns = simulated.median_ns - busy;
        if (code == INQ_OK) {
            code = busy_of(idle, k, next, out->execution.start_ns, out->execution.end_ns,
                           &row->busy_ns);
        }
        row->idle_ns = out->execution.median_ns - row->busy_ns;
    }
    inq_execution_release(&simulated);
    return code == INQ_OK ? inq_sort(out->ranks, out->n_ranks, sizeof *out->ranks, compare_numbers,
                                     NULL, idle->err)
                          : code;
}

static int compare(const struct inq_plan *plan, struct inq_replay *out, struct inq_err *err)
{
    size_t n = plan->graph->n_ops + 1;
    size_t n_repeats = out->execution.n_repeats;
    int64_t *makespan_ns = inq_mem_alloc((n_repeats + 1) * sizeof *makespan_ns);
    struct idle idle = {.plan = plan,
                        .from_ns = inq_mem_alloc(n * sizeof *idle.from_ns),
                        .ops = inq_mem_alloc(n * sizeof *idle.ops),
                        .perm = inq_mem_alloc(n * sizeof *idle.perm),
                        .err = err};
    out->ranks = inq_mem_zalloc(inq_plan_ranks(plan) + 1, sizeof *out->ranks);
    int code = INQ_OK;
    if (makespan_ns == NULL || idle.from_ns == NULL || idle.ops == NULL || idle.perm == NULL ||
        out->ranks == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for the result of a replay");
    } else {
        memcpy(makespan_ns, out->execution.makespan_ns, n_repeats * sizeof *makespan_ns);
        out->sample = inq_sample_make(makespan_ns, n_repeats);
        out->simulated_ns = plan->simulated_ns;
        out->error = plan->simulated_ns > 0
                         ? (double)out->sample.median_ns / (double)plan->simulated_ns - 1.0
                         : 0.0;
        code = fill_ranks(&idle, out);
    }
    inq_mem_free(makespan_ns);
    inq_mem_free(idle.from_ns);
    inq_mem_free(idle.ops);
    inq_mem_free(idle.perm);
    return code;
}

/* Whether the plan knows more of any op than how long it took. */
static bool knows_work(const struct inq_plan *plan)
{
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        bool product = plan->product != NULL && plan->product[i].m > 0;
        if (product || (plan->work[i] != INQ_WORK_NOTHING && plan->bytes[i] > 0)) {
            return true;
        }
    }
    return false;
}

enum inq_work_mode inq_replay_work(const struct inq_engine *engine, const struct inq_plan *plan,
                                   const struct inq_replay_options *options, const char **why)
{
    *why = "";
    if (options == NULL || options->work != INQ_WORK_OPEN) {
        return options == NULL ? INQ_WORK_TIMED : options->work;
    }
    size_t n_gpus = engine->gpus != NULL ? engine->gpus(options) : 0;
    if (n_gpus == 0) {
        return INQ_WORK_TIMED;
    }
    *why = !knows_work(plan)    ? "nothing is recorded that ops could do: they take their times"
           : plan->scale != 1.0 ? "times are scaled: ops take them, and do not what was recorded"
           : inq_plan_ranks(plan) > n_gpus
               ? "ranks share a GPU: ops take their times, and do not what was recorded"
               : "";
    return **why == '\0' ? INQ_WORK_RECORDED : INQ_WORK_TIMED;
}

static void add_note(struct inq_execution *execution, const char *text)
{
    size_t n = strlen(execution->note);
    if (text[0] != '\0') {
        (void)snprintf(execution->note + n, sizeof execution->note - n, "%s%s", n > 0 ? "; " : "",
                       text);
    }
}

int inq_replay_run(const struct inq_engine *engine, const struct inq_plan *plan,
                   const struct inq_replay_options *options, struct inq_replay *out,
                   struct inq_err *err)
{
    static const struct inq_replay_options defaults = {0};
    struct inq_replay_options how = options != NULL ? *options : defaults;
    const char *why = "";
    how.work = inq_replay_work(engine, plan, options, &why);
    *out = (struct inq_replay){.engine = engine, .work = how.work};
    int code = engine->run(plan, &how, &out->execution, err);
    if (code == INQ_OK) {
        add_note(&out->execution, why);
        /* both ends of an interval are off by a step of the clock at most */
        code = inq_execution_check(plan, &out->execution, 2 * out->execution.resolution_ns, err);
        if (code != INQ_OK) {
            inq_err_prefix(err, "the execution did not keep the plan");
        }
    }
    if (code == INQ_OK) {
        code = compare(plan, out, err);
    }
    if (code != INQ_OK) {
        inq_replay_release(out);
    }
    return code;
}

void inq_replay_release(struct inq_replay *replay)
{
    inq_execution_release(&replay->execution);
    inq_mem_free(replay->ranks);
    *replay = (struct inq_replay){0};
}
