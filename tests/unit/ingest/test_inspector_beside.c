/* SPDX-License-Identifier: Apache-2.0 */
/* The Inspector's records beside a trace of the same operations: what only they know reaches the
 * trace where at least 90 % of them are found in it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "inquest/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 20 };

static const int64_t epoch_us = INT64_C(1768464000000000);

struct text {
    char bytes[1 << 16];
    size_t n;
};

static void put(struct text *text, const char *format, ...) INQ_PRINTF(2, 3);
static void put(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->bytes + text->n, sizeof text->bytes - text->n, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof text->bytes - text->n);
    text->n += (size_t)n;
}

/* All-reduces of 200 us, one a millisecond, of which the trace tells no size. */
static void write_trace(struct text *text)
{
    put(text, "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, "
              "\"world_size\": 2}, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\"}], "
              "\"traceEvents\": [");
    for (int64_t i = 0; i < OPS; i++) {
        put(text,
            "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
            "\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)\", "
            "\"pid\": 0, \"tid\": 7, \"ts\": %lld, \"dur\": 200, \"args\": {\"device\": 0, "
            "\"stream\": 7}}",
            i > 0 ? ", " : "", (long long)(epoch_us + 1000 * i));
    }
    put(text, "]}");
}

/* Of the same operations, of which `others` began half a millisecond later. */
static void write_records(struct text *text, int64_t others, const char *algorithm, int pid)
{
    for (int64_t i = 0; i < OPS; i++) {
        int64_t stop = epoch_us + 1000 * i + 200 + (i < others ? 500 : 0);
        put(text,
            "{\"header\": {\"id\": \"0x7f\", \"rank\": 0, \"n_ranks\": 2, \"nnodes\": 1}, "
            "\"metadata\": {\"inspector_output_format_version\": \"v4.0\", \"hostname\": \"n0\", "
            "\"pid\": %d}, \"coll_perf\": {\"coll\": \"AllReduce\", \"coll_algo\": \"%s\", "
            "\"coll_proto\": \"LL\", \"coll_sn\": %lld, \"coll_msg_size_bytes\": 4096, "
            "\"coll_exec_time_us\": 200, \"event_trace_ts\": {\"coll_start_ts\": %lld, "
            "\"kernel_events\": [{\"channel_id\": 0, \"kernel_stop_ts\": %lld}, {\"channel_id\": "
            "1, "
            "\"kernel_stop_ts\": %lld}]}}}\n",
            pid, algorithm, (long long)i + 1, (long long)stop - 220, (long long)stop - 3,
            (long long)stop);
    }
}

/* `again`: another process's records say the same but for the algorithm. */
static struct inq_run *read_beside(int64_t others, bool again)
{
    static struct text trace;
    static struct text records;
    static struct text more;
    trace.n = records.n = more.n = 0;
    write_trace(&trace);
    write_records(&records, others, "RING", 7);
    write_records(&more, 0, "TREE", 8);
    const struct inq_ingest_blob blobs[] = {
        {.name = "n0-pid7.log", .bytes = records.bytes, .n = records.n},
        {.name = "rank-0.json", .bytes = trace.bytes, .n = trace.n},
        {.name = "n0-pid8.log", .bytes = more.bytes, .n = more.n},
    };
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    if (inq_ingest_memory(blobs, again ? 3 : 2, NULL, &run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->n_skipped, again ? 2 : 1);
    return run;
}

/* How many kernels of the trace have a size, and RING LL on two channels. */
static size_t count_given(const struct inq_run *run)
{
    const struct inq_trace *trace = run->traces[0];
    const struct inq_rank *rank = &trace->ranks[0];
    size_t given = 0;
    assert_int_equal(rank->events.n, OPS);
    for (size_t i = 0; i < rank->events.n; i++) {
        const struct inq_comm *comm = &rank->comms[rank->events.comm[i]];
        bool sized = comm->dtype_bytes > 0 && comm->in_elems * comm->dtype_bytes == 4096;
        bool told = strcmp(inq_trace_str(trace, comm->algorithm), "RING LL") == 0;
        assert_int_equal(told, sized);
        assert_int_equal(comm->channels, told ? 2 : 0);
        given += sized;
    }
    return given;
}

static void beside__nine_of_ten_found_are_believed(void **state)
{
    (void)state;
    struct inq_run *run = read_beside(2, false);
    assert_int_equal(count_given(run), 18);
    assert_non_null(strstr(run->skipped[0].reason, "18 of 20 found there"));
    assert_non_null(strstr(run->skipped[0].reason, "; 18 get their size from here"));
    assert_non_null(strstr(run->skipped[0].reason, "; 18 get their algorithm and channels"));
    inq_run_free(run);
}

static void beside__fewer_are_of_another_process(void **state)
{
    (void)state;
    struct inq_run *run = read_beside(3, false);
    assert_int_equal(count_given(run), 0);
    assert_non_null(strstr(run->skipped[0].reason, "17 of 20 found there"));
    assert_null(strstr(run->skipped[0].reason, "get their"));
    inq_run_free(run);
}

static void beside__disagreements_are_counted(void **state)
{
    (void)state;
    struct inq_run *run = read_beside(0, true);
    assert_int_equal(count_given(run), OPS);
    assert_null(strstr(run->skipped[0].reason, "of another algorithm"));
    assert_non_null(strstr(run->skipped[1].reason, "20 of 20 found there"));
    assert_non_null(strstr(run->skipped[1].reason, ", 20 of another algorithm"));
    assert_null(strstr(run->skipped[1].reason, "get their"));
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside__nine_of_ten_found_are_believed),
        cmocka_unit_test(beside__fewer_are_of_another_process),
        cmocka_unit_test(beside__disagreements_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
