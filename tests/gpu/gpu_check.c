/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the cuda engine on a real GPU.   gpu_check [--smoke] [--transfers] [-o FILE]
 *   --smoke      one small case of each kind, for tools that slow a program down
 *   --transfers  only the transfers of all kinds, and by what they are made
 *   -o FILE      also writes the results as JSON
 * Prints a table. Exit 0: all passed; 1: not all; 77: there is no GPU. */
#include "base/json.h"
#include "base/time.h"
#include "inquest/replay.h"
#include "inquest/schedule.h"
#include "support_plan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US         INT64_C(1000)
#define MAX_CHECKS 64

struct check {
    const char *name;
    double value, limit; /* passes when value <= limit */
    const char *unit;
    bool timed; /* says nothing on a stand-in for a GPU */
    char note[256];
};

struct report {
    bool smoke, transfers;
    bool standin;
    const struct inq_engine *cuda;
    char device[128], note[512];
    int64_t resolution_ns;
    size_t n_virtual;
    size_t n;
    struct check checks[MAX_CHECKS];
};

static struct check *add(struct report *r, const char *name, const char *unit, double limit)
{
    if (r->n == MAX_CHECKS) {
        abort();
    }
    struct check *c = &r->checks[r->n++];
    *c = (struct check){.name = name, .unit = unit, .limit = limit};
    return c;
}

static struct check *add_timed(struct report *r, const char *name, const char *unit, double limit)
{
    struct check *c = add(r, name, unit, limit);
    c->timed = true;
    return c;
}

static void fail(struct check *c, const char *what, const struct inq_err *err)
{
    c->timed = false; /* it does not execute at all */
    c->value += 1.0;
    if (c->note[0] == '\0') {
        (void)snprintf(c->note, sizeof c->note, "%s: %.180s", what, err->message);
    }
}

/* Ours to stop at: a check that cannot be set up says nothing about the GPU. */
static void *needed(void *memory)
{
    if (memory == NULL) {
        (void)fputs("gpu_check: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* ---- plans ----------------------------------------------------------------------------------- */

struct job {
    struct inq_schedule_graph schedule;
    struct inq_graph *graph;
    struct inq_plan *plan;
};

static void release_job(struct job *job)
{
    inq_plan_free(job->plan);
    if (job->schedule.graph != NULL) {
        inq_schedule_graph_release(&job->schedule);
    } else {
        inq_graph_free(job->graph);
    }
}

static struct job schedule_job(const char *kind, int32_t ranks, int32_t micro,
                               const struct inq_stage_cost *per_stage, int64_t op_ns)
{
    struct job job = {.graph = NULL};
    struct inq_schedule schedule = {0};
    struct inq_err err = {0};
    const struct inq_schedule_spec spec = {
        .kind = kind,
        .n_ranks = ranks,
        .n_microbatches = micro,
        .costs = {.stage = {op_ns, op_ns, op_ns}, .per_stage = per_stage, .p2p_ns = 100 * US}};
    if (inq_schedule_make(&spec, &schedule, &err) == INQ_OK &&
        inq_schedule_graph_make(&schedule, &spec.costs, &job.schedule, &err) == INQ_OK) {
        job.graph = job.schedule.graph;
        (void)inq_plan_make(job.graph, NULL, &job.plan, &err);
    }
    inq_schedule_release(&schedule);
    (void)needed(job.plan);
    return job;
}

static uint32_t add_op(struct inq_graph_builder *b, int32_t rank, uint32_t lane, uint8_t type,
                       int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t id = 0;
    op.rank = rank;
    op.lane = lane;
    op.type = type;
    op.cls = INQ_CLASS_COMPUTE;
    return inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL) == INQ_OK ? id : INQ_NONE;
}

/* `kind`: what ops on lane 1 do; INQ_WORK_COUNT: by their types. */
static struct job finish_job(struct inq_graph_builder *b, const int64_t *bytes, uint8_t kind)
{
    struct job job = {.graph = NULL};
    (void)inq_graph_finish(b, &job.graph, NULL, NULL);
    inq_graph_builder_free(b);
    (void)needed(job.graph);
    uint8_t *work = needed(calloc(job.graph->n_ops + 1, 1));
    for (size_t i = 0; i < job.graph->n_ops; i++) {
        bool receives = kind == INQ_WORK_SEND && job.graph->op[i].rank > 0;
        work[i] = (uint8_t)(job.graph->op[i].lane != 1 ? INQ_WORK_COUNT
                            : receives                 ? INQ_WORK_RECV
                                                       : kind);
    }
    const struct inq_plan_options o = {.bytes = bytes, .work = work};
    (void)inq_plan_make(job.graph, &o, &job.plan, NULL);
    free(work);
    (void)needed(job.plan);
    return job;
}

/* Three collectives in a row, ranks arriving at different times. */
static struct job collective_job(uint8_t kind, int32_t n, int64_t bytes)
{
    struct inq_graph_builder *b = needed(inq_graph_builder_new());
    int64_t payload[64];
    for (size_t i = 0; i < 64; i++) {
        payload[i] = bytes;
    }
    for (int round = 0; round < 3; round++) {
        uint32_t ids[8];
        for (int32_t r = 0; r < n; r++) {
            uint32_t before = add_op(b, r, 0, INQ_OP_NONE, (r + 1) * 10 * US);
            ids[r] = add_op(b, r, 1, INQ_OP_NONE, 50 * US);
            (void)inq_graph_add_dep(b, before, ids[r], NULL);
        }
        (void)inq_graph_add_group(b, ids, (size_t)n, (size_t)n, NULL);
    }
    return finish_job(b, payload, kind);
}

/* `n` ops, each after the one before it, on `n_ranks` ranks in turns. */
static struct job chain_job(int n, int32_t n_ranks, int64_t dur_ns)
{
    struct inq_graph_builder *b = needed(inq_graph_builder_new());
    uint32_t last = INQ_NONE;
    for (int i = 0; i < n; i++) {
        uint32_t id = add_op(b, i % n_ranks, 0, INQ_OP_FORWARD, dur_ns);
        if (last != INQ_NONE) {
            (void)inq_graph_add_dep(b, last, id, NULL);
        }
        last = id;
    }
    return finish_job(b, NULL, INQ_WORK_COUNT);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void note_device(struct report *r, const struct inq_execution *x)
{
    if (x->n_virtual >= r->n_virtual) {
        memcpy(r->device, x->device, sizeof r->device);
        memcpy(r->note, x->note, sizeof r->note);
        r->n_virtual = x->n_virtual;
        r->resolution_ns = x->resolution_ns;
    }
}

/* Executes and checks the order; false when either failed. */
static bool execute(struct report *r, const struct job *job, const struct inq_replay_options *o,
                    struct inq_execution *x, struct check *c, const char *what)
{
    struct inq_err err = {0};
    int code = r->cuda->run(job->plan, o, x, &err);
    if (code == INQ_OK) {
        note_device(r, x);
        code = inq_execution_check(job->plan, x, x->resolution_ns, &err);
    }
    if (code != INQ_OK) {
        fail(c, what, &err);
    }
    return code == INQ_OK;
}

static void check_reductions(struct report *r)
{
    static const struct {
        uint8_t kind;
        const char *name;
    } kinds[] = {{INQ_WORK_ALL_REDUCE, "all-reduce"}, {INQ_WORK_REDUCE_SCATTER, "reduce-scatter"},
                 {INQ_WORK_REDUCE, "reduce"},         {INQ_WORK_ALL_GATHER, "all-gather"},
                 {INQ_WORK_BROADCAST, "broadcast"},   {INQ_WORK_ALL_TO_ALL, "all-to-all"},
                 {INQ_WORK_SEND, "send, receive"}};
    const bool brief = r->smoke && r->transfers; /* timers of several GPUs take a while to read */
    static const int64_t sizes[] = {16, 4096, (1 << 20) + 12, 16 << 20};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct check *c = add(r, kinds[k].name, "wrong or failed, 2 to 8 ranks", 0.0);
        const int32_t most = kinds[k].kind == INQ_WORK_SEND ? 2 : brief ? 3 : 8;
        const int32_t step = r->smoke && !brief ? 6 : 1;
        for (int32_t n = 2; n <= most; n += step) {
            for (size_t s = brief ? 1 : 0; s < (r->smoke ? 2 : sizeof sizes / sizeof *sizes); s++) {
                struct job job = collective_job(kinds[k].kind, n, sizes[s]);
                const struct inq_replay_options o = {.work = INQ_WORK_RECORDED,
                                                     .repeats = brief ? 1 : 2,
                                                     .no_graph = (n + (int32_t)s) % 2 == 0};
                struct inq_execution x = {0};
                char what[64];
                (void)snprintf(what, sizeof what, "%d ranks, %lld B", n, (long long)sizes[s]);
                if (execute(r, &job, &o, &x, c, what) && !x.verified) {
                    c->value += 1.0;
                }
                const char *by = strstr(x.note, "transfers"); /* "by NCCL", or why not */
                if (by != NULL && c->note[0] == '\0') {
                    (void)snprintf(c->note, sizeof c->note, "%.180s", by);
                }
                inq_execution_release(&x);
                release_job(&job);
            }
        }
    }
}

static void check_order(struct report *r)
{
    static const struct random_graph shape = {
        .n_ranks = 6, .n_lanes = 3, .n_steps = 150, .max_dur_ns = 60 * US, .max_delay_ns = 20 * US};
    struct check *c = add(r, "dependency order", "random plans that broke it", 0.0);
    for (uint64_t seed = 0; seed < (r->smoke ? 1 : 20); seed++) {
        for (unsigned mode = 0; mode < 4; mode++) {
            struct job job = {.graph = needed(random_graph_make(&shape, seed))};
            const struct inq_replay_options o = {.work = (mode & 1U) != 0 ? INQ_WORK_RECORDED
                                                                          : INQ_WORK_TIMED,
                                                 .no_graph = (mode & 2U) != 0,
                                                 .repeats = 2};
            struct inq_execution x = {0};
            char what[64];
            (void)inq_plan_make(job.graph, NULL, &job.plan, NULL);
            (void)needed(job.plan);
            (void)snprintf(what, sizeof what, "seed %d, mode %u", (int)seed, mode);
            (void)execute(r, &job, &o, &x, c, what);
            inq_execution_release(&x);
            release_job(&job);
        }
    }
}

static void check_timer(struct report *r)
{
    struct job job = chain_job(16, 1, 100 * US);
    struct check *c = add_timed(r, "timer resolution", "ns", 2000.0);
    const struct inq_replay_options o = {.repeats = 1};
    struct inq_execution x = {0};
    if (execute(r, &job, &o, &x, c, "chain")) {
        c->value = (double)x.resolution_ns;
    } else {
        c->value = 1e9;
    }
    inq_execution_release(&x);
    release_job(&job);
}

/* Executed against simulated. */
static void check_fidelity(struct report *r)
{
    static const struct {
        const char *name, *kind;
        int32_t ranks, micro;
        int64_t op_ns;
    } cases[] = {{"1F1B 4x8, 100 us", "1f1b", 4, 8, 100 * US},
                 {"1F1B 8x32, 100 us", "1f1b", 8, 32, 100 * US},
                 {"1F1B 8x32, 1 ms", "1f1b", 8, 32, 1000 * US},
                 {"ZB-H1 4x8, 100 us", "zb-h1", 4, 8, 100 * US},
                 {"ZB-H1 8x32, 100 us", "zb-h1", 8, 32, 100 * US},
                 {"ZB-H1 8x32, 1 ms", "zb-h1", 8, 32, 1000 * US}};
    for (size_t i = 0; i < (r->smoke ? 1 : sizeof cases / sizeof *cases); i++) {
        struct job job =
            schedule_job(cases[i].kind, cases[i].ranks, cases[i].micro, NULL, cases[i].op_ns);
        struct check *c = add_timed(r, cases[i].name, "% off the simulation", 1.0);
        const struct inq_replay_options o = {.repeats = 9, .warmup = 2};
        struct inq_execution x = {0};
        double want = (double)job.plan->simulated_ns;
        if (execute(r, &job, &o, &x, c, cases[i].name)) {
            double off = (double)x.median_ns - want;
            c->value = 100.0 * (off < 0.0 ? -off : off) / want;
            (void)snprintf(c->note, sizeof c->note, "executed %.1f us, simulated %.1f us; %.180s",
                           (double)x.median_ns / 1e3, want / 1e3, x.note);
        } else {
            c->value = 100.0;
        }
        inq_execution_release(&x);
        release_job(&job);
    }
}

static void check_deadlocks(struct report *r)
{
    struct check *c = add(r, "8 virtual devices", "executions that stopped", 0.0);
    for (unsigned mode = 0; mode < 4; mode++) {
        struct job job = schedule_job("1f1b", 8, r->smoke ? 8 : 32, NULL, 20 * US);
        const struct inq_replay_options o = {.work = (mode & 1U) != 0 ? INQ_WORK_RECORDED
                                                                      : INQ_WORK_TIMED,
                                             .no_graph = (mode & 2U) != 0,
                                             .repeats = r->smoke ? 2 : 50};
        struct inq_execution x = {0};
        char what[32];
        (void)snprintf(what, sizeof what, "mode %u", mode);
        (void)execute(r, &job, &o, &x, c, what);
        inq_execution_release(&x);
        release_job(&job);
    }
}

/* What a launch costs before anything is taken off for it. */
static void check_overhead(struct report *r)
{
    static const struct {
        const char *name;
        int32_t ranks;
        bool no_graph;
    } cases[] = {{"overhead, one lane, graph", 1, false},
                 {"overhead, two ranks, graph", 2, false},
                 {"overhead, one lane, streams", 1, true},
                 {"overhead, two ranks, streams", 2, true}};
    const int n = 200;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = chain_job(n, cases[i].ranks, 20 * US);
        struct check *c = add_timed(r, cases[i].name, "ns per op", 10000.0);
        const struct inq_replay_options o = {
            .repeats = 5, .warmup = -1, .no_graph = cases[i].no_graph};
        struct inq_execution x = {0};
        c->value = execute(r, &job, &o, &x, c, cases[i].name)
                       ? (double)(x.median_ns - job.plan->simulated_ns) / n
                       : 1e9;
        inq_execution_release(&x);
        release_job(&job);
    }
}

/* A pipeline whose last stage is half as slow again, against the same work spread evenly. */
static void check_validation(struct report *r)
{
    const struct inq_stage_cost uneven[4] = {{875 * US, 875 * US, 875 * US},
                                             {875 * US, 875 * US, 875 * US},
                                             {875 * US, 875 * US, 875 * US},
                                             {1375 * US, 1375 * US, 1375 * US}};
    struct job base = schedule_job("1f1b", 4, 8, uneven, 1000 * US);
    struct job fixed = schedule_job("1f1b", 4, 8, NULL, 1000 * US);
    struct check *c = add_timed(r, "fix validation", "not confirmed", 0.0);
    const struct inq_validate_options o = {.replay = {.repeats = r->smoke ? 6 : 15}};
    struct inq_validation v;
    struct inq_err err = {0};
    if (inq_validate(r->cuda, base.plan, fixed.plan, &o, &v, &err) != INQ_OK) {
        fail(c, "validating", &err);
    } else {
        bool confirmed = v.cost.judgment == INQ_CONFIRMED;
        c->value = confirmed ? 0.0 : 1.0;
        if (r->standin && (confirmed || v.order.judgment == INQ_CONFIRMED)) {
            fail(c, "confirmed without a GPU", &err);
        }
        (void)snprintf(c->note, sizeof c->note, "%s; predicted %.4f, executed %.4f: %.150s",
                       inq_validation_text(&v), v.predicted_speedup, v.speedup, v.cost.why);
    }
    release_job(&base);
    release_job(&fixed);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool is_judged(const struct report *r, const struct check *c)
{
    return !(c->timed && r->standin);
}

static bool passes(const struct report *r, const struct check *c)
{
    return c->value <= c->limit || !is_judged(r, c);
}

static size_t print(const struct report *r)
{
    size_t n_failed = 0;
    printf("%s\n%s\n\n%-30s %12s %10s  %-32s\n", r->device, r->note, "check", "value", "limit",
           "unit");
    for (size_t i = 0; i < r->n; i++) {
        const struct check *c = &r->checks[i];
        printf("%-30s %12.3f %10.1f  %-32s %s\n", c->name, c->value, c->limit, c->unit,
               !is_judged(r, c) ? "not judged"
               : passes(r, c)   ? "ok"
                                : "FAILED");
        if (c->note[0] != '\0') {
            printf("    %s\n", c->note);
        }
        n_failed += !passes(r, c);
    }
    printf("\n%zu checks, %zu failed\n", r->n, n_failed);
    return n_failed;
}

static int write_json(const struct report *r, const char *path)
{
    struct inq_out out = {0};
    struct inq_json json;
    inq_json_init(&json, &out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-gpu-tests/1");
    inq_json_string(&json, "device", r->device);
    inq_json_string(&json, "note", r->note);
    inq_json_int(&json, "virtual_devices", (int64_t)r->n_virtual);
    inq_json_int(&json, "resolution_ns", r->resolution_ns);
    inq_json_array(&json, "checks");
    for (size_t i = 0; i < r->n; i++) {
        const struct check *c = &r->checks[i];
        inq_json_object(&json, NULL);
        inq_json_string(&json, "name", c->name);
        inq_json_double(&json, "value", c->value);
        inq_json_double(&json, "limit", c->limit);
        inq_json_string(&json, "unit", c->unit);
        inq_json_bool(&json, "judged", is_judged(r, c));
        inq_json_bool(&json, "pass", passes(r, c));
        inq_json_string(&json, "note", c->note);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && out.code == INQ_OK && fwrite(out.buf, 1, out.len, file) == out.len;
    ok = file != NULL && fclose(file) == 0 && ok;
    inq_out_release(&out);
    return ok ? 0 : 1;
}

/* Keeps the first GPU's context between executions: making it takes longer than most of them. */
static void keep_context(void)
{
    int (*start)(unsigned) = NULL;
    int (*retain)(void **, int) = NULL;
    void *context = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        void *symbol = dlsym(library, "cuInit");
        memcpy(&start, &symbol, sizeof symbol);
        symbol = dlsym(library, "cuDevicePrimaryCtxRetain");
        memcpy(&retain, &symbol, sizeof symbol);
    }
    if (start != NULL && retain != NULL && start(0) == 0) {
        (void)retain(&context, 0);
    }
}

/* Whether anything can be executed at all; says what is missing. */
static int try_gpu(struct report *r)
{
    struct job job = chain_job(2, 1, 100 * US);
    struct inq_execution x = {0};
    struct inq_err err = {0};
    int code = r->cuda->run(job.plan, NULL, &x, &err);
    if (code == INQ_OK) {
        note_device(r, &x);
        r->standin = strstr(x.device, INQ_STANDIN_DEVICE) != NULL;
    } else {
        (void)fprintf(stderr, "gpu_check: %s\n", err.message);
    }
    inq_execution_release(&x);
    release_job(&job);
    return code == INQ_OK ? 0 : code == INQ_UNSUPPORTED ? 77 : 1;
}

int main(int argc, char **argv)
{
    static struct report r;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0) {
            r.smoke = true;
        } else if (strcmp(argv[i], "--transfers") == 0) {
            r.transfers = true;
        } else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else {
            (void)fprintf(stderr, "usage: gpu_check [--smoke] [--transfers] [-o FILE]\n");
            return 2;
        }
    }
    r.cuda = inq_engine_find("cuda");
    int code = try_gpu(&r);
    if (code != 0) {
        return code;
    }
    keep_context();
    check_reductions(&r);
    if (!r.transfers) {
        check_timer(&r);
        check_overhead(&r);
        check_order(&r);
        check_fidelity(&r);
        check_deadlocks(&r);
        check_validation(&r);
    }
    code = print(&r) > 0 ? 1 : 0;
    if (path != NULL && write_json(&r, path) != 0) {
        (void)fprintf(stderr, "gpu_check: %s could not be written\n", path);
        return 1;
    }
    return fflush(stdout) == 0 ? code : 1;
}
