/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a recorded step does what the trace says: every collective of the step with its kind,
 * bytes and group, read from the trace on a way of its own. */
#include "inquest/fix.h"
#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SAMPLES INQ_SOURCE_DIR "/sample-traces"

/* A member of a collective: kind, bytes and size of the group as one line, to be sorted. */
struct line {
    int32_t rank;
    char text[80];
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->text, y->text);
}

static const char *const kind_text[INQ_COLL_KIND_COUNT] = {[INQ_COLL_ALLREDUCE] = "all_reduce",
                                                           [INQ_COLL_ALLGATHER] = "all_gather",
                                                           [INQ_COLL_REDUCE_SCATTER] =
                                                               "reduce_scatter",
                                                           [INQ_COLL_ALLTOALL] = "all_to_all",
                                                           [INQ_COLL_ALLTOALLV] = "all_to_all",
                                                           [INQ_COLL_BROADCAST] = "broadcast",
                                                           [INQ_COLL_REDUCE] = "reduce",
                                                           [INQ_COLL_SEND] = "send",
                                                           [INQ_COLL_RECV] = "recv",
                                                           [INQ_COLL_SENDRECV] = "all_to_all"};

static void say(struct line *line, int32_t rank, const char *kind, int64_t bytes, uint32_t members)
{
    char size[32] = "unrecorded size";
    if (bytes > 0) {
        (void)snprintf(size, sizeof size, "%lld B", (long long)bytes);
    }
    line->rank = rank;
    (void)snprintf(line->text, sizeof line->text, "%s of %s among %u", kind, size,
                   (unsigned)members);
}

/* Of an event with a collective of which so many members are known; false: not of the step, or of a
 * kind that is not recorded. */
static bool say_event(const struct inq_trace *trace, int64_t step, const struct inq_member *member,
                      uint32_t members, struct line *line)
{
    const struct inq_rank *rank = &trace->ranks[member->rank];
    uint32_t in_step = rank->events.step[member->event];
    uint32_t comm = rank->events.comm[member->event];
    bool counts = comm != INQ_NONE &&
                  (step < 0 || (in_step != INQ_NONE && trace->steps[in_step].number == step));
    const struct inq_comm *c = counts ? &rank->comms[comm] : NULL;
    if (c == NULL || kind_text[c->kind] == NULL) {
        return false;
    }
    int64_t elems = c->in_elems > c->out_elems ? c->in_elems : c->out_elems;
    say(line, rank->rank, members == 1 ? inq_work_text(INQ_WORK_NOTHING) : kind_text[c->kind],
        elems * (int64_t)c->dtype_bytes, members);
    return true;
}

/* Of the step that is executed: the members of all collectives whose kind is recorded. One whose
 * peers were not captured moves nothing, but keeps its bytes. */
static size_t lines_of_trace(const struct inq_trace *trace, int64_t step, struct line *lines)
{
    size_t n = 0;
    uint8_t **matched = calloc(trace->n_ranks + 1, sizeof *matched);
    assert_non_null(matched);
    for (size_t r = 0; r < trace->n_ranks; r++) {
        matched[r] = calloc(trace->ranks[r].events.n + 1, 1);
        assert_non_null(matched[r]);
    }
    for (size_t k = 0; k < trace->n_collectives; k++) {
        const struct inq_collective *all = &trace->collectives[k];
        for (uint32_t m = 0; m < all->n_members; m++) {
            const struct inq_member *member = &trace->members[all->first_member + m];
            matched[member->rank][member->event] = 1;
            n += all->complete && say_event(trace, step, member, all->n_members, &lines[n]);
        }
    }
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        for (uint32_t i = 0; i < trace->ranks[r].events.n; i++) {
            const struct inq_member own = {r, i};
            n += !matched[r][i] && say_event(trace, step, &own, 1, &lines[n]);
        }
        free(matched[r]);
    }
    free(matched);
    return n;
}

static size_t lines_of_plan(const struct inq_trace *trace, const struct inq_plan *plan,
                            struct line *lines)
{
    const struct inq_graph *g = plan->graph;
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].cls == INQ_CLASS_COMM) {
            uint32_t members = 1;
            (void)inq_graph_group_of(g, i, &members);
            say(&lines[n++], trace->ranks[g->op[i].rank].rank,
                inq_work_text((enum inq_work)plan->work[i]), plan->bytes[i], members);
        }
    }
    return n;
}

/* Returns how many members of collectives were compared. */
static size_t compare_run(const char *path, bool must)
{
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct inq_plan *plan = NULL;
    struct inq_err err = {0};
    const struct inq_ingest_options ingest = {.jobs = 1};
    const struct inq_analysis_options analysis = {.jobs = 1};
    size_t n = 0;
    int code = inq_ingest(&path, 1, &ingest, &run, &err);
    for (size_t t = 0; code == INQ_OK && t < run->n_traces; t++) {
        struct inq_trace *trace = run->traces[t];
        size_t most = 1;
        if (inq_analyze(trace, &analysis, &report, &err) != INQ_OK ||
            inq_fix_base_of_run(trace, report, &base, &err) != INQ_OK ||
            strcmp(inq_fix_base_info(base)->source, "trace") != 0) {
            inq_fix_base_free(base);
            inq_report_free(report);
            report = NULL;
            base = NULL;
            continue; /* no step of kernels: an op table, a pipeline, a dump */
        }
        assert_int_equal(inq_fix_plan(base, NULL, 1, 1.0, &graph, &plan, &err), INQ_OK);
        for (size_t r = 0; r < trace->n_ranks; r++) {
            most += trace->ranks[r].events.n;
        }
        struct line *want = calloc(most, sizeof *want);
        struct line *got = calloc(most + graph->n_ops, sizeof *got);
        assert_non_null(want);
        assert_non_null(got);
        size_t n_want = lines_of_trace(trace, inq_fix_base_info(base)->step, want);
        size_t n_got = lines_of_plan(trace, plan, got);
        qsort(want, n_want, sizeof *want, compare_lines);
        qsort(got, n_got, sizeof *got, compare_lines);
        size_t k = 0;
        for (size_t i = 0; i < n_want; i++) { /* each of the trace is in the plan */
            while (k < n_got && compare_lines(&got[k], &want[i]) < 0) {
                k++;
            }
            if (k == n_got || compare_lines(&got[k], &want[i]) != 0) {
                fail_msg("%s: rank %d's %s is not in the plan", path, (int)want[i].rank,
                         want[i].text);
            }
            k++;
        }
        n += n_want;
        free(want);
        free(got);
        inq_plan_free(plan);
        inq_graph_free(graph);
        inq_fix_base_free(base);
        inq_report_free(report);
        plan = NULL;
        graph = NULL;
        base = NULL;
        report = NULL;
    }
    inq_run_free(run);
    if (must && n == 0) {
        fail_msg("%s: nothing was compared: %s", path, err.message);
    }
    return n;
}

static void plan__has_the_collectives_of_the_samples(void **state)
{
    (void)state;
    static const char *const names[] = {"healthy_dp4", "late_host_dp4", "slow_gpu_dp8",
                                        "clock_offset_dp4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", names[i]);
        assert_true(compare_run(path, true) > 0);
    }
}

static void plan__has_the_collectives_of_real_traces(void **state)
{
    (void)state;
    /* all that have some */
    static const char *const names[] = {"kineto/dlrm_8ranks",       "kineto/hta/nccl_data.json.gz",
                                        "kineto/megatron_tp2",      "kineto/resnet18_ddp",
                                        "kineto/torchrec_4",        "kineto/torchrec_sleep",
                                        "kineto/torchrec_two_jobs", "deepseek/train.json.gz"};
    if (access(INQ_SHARED_DATA "/kineto", R_OK) != 0) {
        print_message("no real traces here: " INQ_SHARED_DATA "/kineto\n");
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, INQ_SHARED_DATA "/%s", names[i]);
        if (access(path, R_OK) == 0) {
            print_message("%s: %zu members of collectives\n", names[i], compare_run(path, true));
        }
    }
}

/* Two steps of a rank that computes and then sends to the other one, or receives from it. */
static void write_rank(const char *dir, int rank)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/rank%d.json", dir, rank);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f,
                  "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":2,"
                  "\"backend\":\"nccl\"},\"traceEvents\":[",
                  rank);
    for (int step = 0; step < 3; step++) {
        int t = 1000 + step * 1000;
        (void)fprintf(f,
                      "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
                      "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":990}",
                      step > 0 ? "," : "", step, t);
        for (int i = 0; i < 2; i++) {
            int id = step * 10 + i + 1;
            (void)fprintf(f,
                          ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                          "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":4,\"args\":{\"correlation\":%d}}",
                          t + 10 + i * 10, id);
            (void)fprintf(
                f,
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                "\"ts\":%d,\"dur\":400,\"args\":{\"device\":0,\"stream\":%d,"
                "\"correlation\":%d%s%s%s}}",
                i == 0 ? "gemm" : "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)",
                t + 50 + i * 410, i == 0 ? 7 : 20, id, i == 0 ? "" : ",\"Collective name\":\"",
                i == 0      ? ""
                : rank == 0 ? "send\",\"Src Rank\":0,\"Dst Rank\":1"
                            : "recv\",\"Src Rank\":0,\"Dst Rank\":1",
                i == 0 ? ""
                       : ",\"In msg nelems\":4096,\"Out msg nelems\":4096,\"Group size\":2,"
                         "\"dtype\":\"Float\",\"Process Group Name\":\"0\","
                         "\"Process Group Ranks\":\"[0, 1]\"");
        }
    }
    (void)fprintf(f, "]}\n");
    assert_int_equal(fclose(f), 0);
}

/* A send and its receive are that, in whichever order the ranks are. */
static void plan__sends_to_whom_receives(void **state)
{
    (void)state;
    char dir[] = "/tmp/inquest-pairs-XXXXXX";
    assert_non_null(mkdtemp(dir));
    write_rank(dir, 0);
    write_rank(dir, 1);
    assert_int_equal(compare_run(dir, true), 2);
    for (int rank = 0; rank < 2; rank++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/rank%d.json", dir, rank);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__has_the_collectives_of_the_samples),
        cmocka_unit_test(plan__has_the_collectives_of_real_traces),
        cmocka_unit_test(plan__sends_to_whom_receives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
