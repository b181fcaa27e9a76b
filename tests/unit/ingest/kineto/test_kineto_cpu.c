/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks without a device: operators of threads are compute, what the backend records is
 * communication. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"
#include "support_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(rest) "{\"ph\": \"X\", \"ts\": 10, \"dur\": 5, " rest "}"
#define OP(name, tid, ts, dur)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": 9, \"tid\": " tid       \
    ", \"ts\": " ts ", \"dur\": " dur "}"
#define NOTE(name, tid, ts, dur)                                                                   \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"" name                              \
    "\", \"pid\": 9, \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur "}"
#define RECORD(what, ts, elems)                                                                    \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 9, \"tid\": " \
    "1, "                                                                                          \
    "\"ts\": " ts ", \"dur\": 3, \"args\": {\"Collective name\": \"" what                          \
    "\", \"In msg nelems\": " elems ", \"dtype\": \"Float\", \"Group size\": 2, "                  \
    "\"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\"}}"
#define CPU(events)                                                                                \
    "{\"schemaVersion\": 1, \"deviceProperties\": [], \"traceEvents\": [" events "]}"
#define LEGACY(name, tid, ts, dur)                                                                 \
    "{\"name\": \"" name "\", \"ph\": \"X\", \"ts\": " ts ", \"dur\": " dur ", \"tid\": " tid      \
    ", \"pid\": \"CPU functions\", \"args\": {}}"

static void read_all(const char *document, struct inq_shard *shard)
{
    size_t n = strlen(document) + 1;
    char *copy = malloc(n);
    assert_non_null(copy);
    memcpy(copy, document, n);
    test_all_ways((struct test_text){copy, n - 1}, document, shard);
    free(copy);
    struct inq_err err = {0};
    assert_int_equal(inq_shard_finalize(shard, &err), INQ_OK);
}

static size_t count(const struct inq_shard *shard, enum inq_event_kind kind, enum inq_op_class cls)
{
    const struct inq_events *e = &shard->ranks[0].events;
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        n += e->kind[i] == kind && e->cls[i] == cls;
    }
    return n;
}

static int64_t total(const struct inq_shard *shard, enum inq_op_class cls)
{
    const struct inq_events *e = &shard->ranks[0].events;
    int64_t ns = 0;
    for (size_t i = 0; i < e->n; i++) {
        ns += e->kind[i] == INQ_EVENT_KERNEL && e->cls[i] == cls ? e->dur_ns[i] : 0;
    }
    return ns;
}

/* Operators in operators count once; one that talks gives way to what runs in it; the annotation
 * around them is no work, the optimizer's is. */
static void cpu__top_level_operators_compute(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(
        CPU(NOTE("ProfilerStep#3", "1", "0", "100") "," NOTE("forward", "1", "0", "40") "," OP(
            "aten::linear", "1", "0",
            "20") "," OP("aten::addmm", "1", "2",
                         "10") "," OP("AccumulateGrad", "1", "20",
                                      "10") "," OP("aten::add_", "1", "20",
                                                   "4") "," OP("c10d::allreduce_", "1", "25",
                                                               "2") "," RECORD("allreduce", "25",
                                                                               "4096") "," NOTE("gl"
                                                                                                "oo"
                                                                                                ":a"
                                                                                                "ll"
                                                                                                "_r"
                                                                                                "ed"
                                                                                                "uc"
                                                                                                "e",
                                                                                                "2",
                                                                                                "2"
                                                                                                "6",
                                                                                                "3"
                                                                                                "0") "," NOTE("Optimizer.step#SGD.step",
                                                                                                              "1",
                                                                                                              "60",
                                                                                                              "10") "," OP("aten::add_",
                                                                                                                           "1",
                                                                                                                           "61",
                                                                                                                           "3")),
        &shard);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE), 3);
    assert_int_equal(total(&shard, INQ_CLASS_COMPUTE), 34000);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), 1);
    const struct inq_rank *rank = &shard.ranks[0];
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.cls[i] == INQ_CLASS_COMM) {
            const struct inq_comm *comm = &rank->comms[rank->events.comm[i]];
            assert_int_equal(comm->kind, INQ_COLL_ALLREDUCE);
            assert_int_equal(comm->in_elems, 4096);
            assert_int_equal(comm->group_size, 2);
            assert_int_equal(rank->events.dur_ns[i], 30000);
        }
        assert_int_not_equal(rank->events.call[i], INQ_NONE);
    }
    assert_string_equal(inq_strtab_get(&shard.names, rank->device_name), "CPU");
    inq_shard_release(&shard);
}

/* A backend that records nothing itself: the calls are the communication. */
static void cpu__calls_stand_for_a_silent_backend(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(CPU(OP("aten::mm", "1", "0", "20") "," RECORD("broadcast", "20", "64")), &shard);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), 1);
    assert_int_equal(total(&shard, INQ_CLASS_COMM), 3000);
    inq_shard_release(&shard);
}

/* The elements that each row of communication has, by start; -1: of no record. */
static void check_joined(const char *document, const int64_t *elems, size_t n)
{
    struct inq_shard shard;
    read_all(document, &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    size_t found = 0;
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.cls[i] == INQ_CLASS_COMM) {
            assert_true(found < n);
            assert_int_equal(rank->comms[rank->events.comm[i]].in_elems, elems[found++]);
        }
    }
    assert_int_equal(found, n);
    inq_shard_release(&shard);
}

#define GLOO(ts, dur) NOTE("gloo:all_reduce", "2", ts, dur)
#define MM            OP("aten::mm", "1", "0", "5")

/* Where a capture begins, work has no call; where it ends, a call has no work. What is in between
 * is joined in order, unless it would begin before it was called. */
static void cpu__captures_cut_calls_and_work(void **state)
{
    (void)state;
    check_joined(
        CPU(MM "," GLOO("10", "2") "," RECORD("allreduce", "20", "64") "," GLOO("26", "9")),
        (int64_t[]){-1, 64}, 2);
    check_joined(
        CPU(MM "," RECORD("allreduce", "20", "64") "," GLOO("26", "2") "," RECORD(
            "allreduce", "30", "65") "," RECORD("allreduce", "40", "66") "," GLOO("36", "9")),
        (int64_t[]){64, 65}, 2);
    /* both ends, in equal numbers */
    check_joined(CPU(MM "," GLOO("10", "2") "," RECORD("allreduce", "20", "64") "," GLOO(
                     "26", "2") "," RECORD("allreduce", "30", "65")),
                 (int64_t[]){-1, 64}, 2);
    /* at the very time of its call, and a microsecond before it */
    check_joined(CPU(MM "," RECORD("allreduce", "20", "64") "," GLOO("20", "2") "," RECORD(
                     "allreduce", "30", "65") "," GLOO("30", "2")),
                 (int64_t[]){64, 65}, 2);
    check_joined(CPU(MM "," RECORD("allreduce", "20", "64") "," GLOO("20", "2") "," RECORD(
                     "allreduce", "30", "65") "," GLOO("29", "2")),
                 (int64_t[]){-1, -1}, 2);
}

static void cpu__recordings_before_kineto_are_read(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(
        "[" LEGACY("ProfilerStep#2", "1", "0", "100") "," LEGACY(
            "enumerate(DataLoader)#_Iter.__next__", "1", "0",
            "5") "," LEGACY("aten::empty", "1", "1",
                            "1") "," LEGACY("DistributedDataParallel.forward", "1", "5",
                                            "30") "," LEGACY("aten::linear", "1", "6",
                                                             "20") "," LEGACY("aten::addmm", "1",
                                                                              "7",
                                                                              "10") "," LEGACY("glo"
                                                                                               "o:"
                                                                                               "all"
                                                                                               "_re"
                                                                                               "duc"
                                                                                               "e",
                                                                                               "3",
                                                                                               "40",
                                                                                               "25") "," LEGACY("AddmmBackward0",
                                                                                                                "1",
                                                                                                                "70",
                                                                                                                "10") "]",
        &shard);
    assert_string_equal(shard.file.format, "kineto");
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE), 3);
    assert_int_equal(total(&shard, INQ_CLASS_COMPUTE), 31000);
    assert_int_equal(total(&shard, INQ_CLASS_COMM), 25000);
    assert_int_equal(shard.ranks[0].n_notes, 3);
    inq_shard_release(&shard);
}

/* Operators that launch work on a device are no work, whatever of the device is recorded. */
static void cpu__signs_of_a_device_exclude_it(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{\"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [" OP("aten::mm", "1", "0",
                                                                      "20") "]}",
        "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0}, \"traceEvents\": [" OP(
            "aten::mm", "1", "0", "20") "]}",
        CPU(OP("aten::mm", "1", "0", "20") "," NOTE("nccl:all_reduce", "1", "30", "5")),
        CPU(OP("aten::mm", "1", "0", "20") "," EVENT(
            "\"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, "
            "\"tid\": 1")),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct inq_shard shard;
        read_all(documents[i], &shard);
        assert_int_equal(shard.ranks[0].events.n, 0);
        assert_non_null(strstr(shard.file.reason, "no device work is recognized"));
        inq_shard_release(&shard);
    }
}

#define KERNEL(ts, dur)                                                                            \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": " ts \
    ", \"dur\": " dur ", \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 1}}"

#define COMM_KERNEL(ts, dur)                                                                       \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "                                              \
    "\"onecclDevKernel_AllReduce_Sum_bf16_RING_LL()\", "                                           \
    "\"pid\": 0, \"tid\": 9, \"ts\": " ts ", \"dur\": " dur                                        \
    ", \"args\": {\"device\": 0, \"stream\": 9, \"correlation\": 2}}"

/* The span of a host's annotation on the device: the work that was launched in it. */
#define PROJECTION(name, ts, dur)                                                                  \
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"" name                          \
    "\", \"pid\": 0, \"tid\": 92, \"ts\": " ts ", \"dur\": " dur "}"

/* Gloo reduces a GPU's tensors on the host: that is the rank's communication, once, whatever of it
 * was launched on the device. Without work of a device the file stays one in which none is
 * recognized. */
static void cpu__hosts_communicate_for_a_device(void **state)
{
    (void)state;
    static const char head[] = "{\"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [";
    char document[1024];
    struct inq_shard shard;
    (void)snprintf(document, sizeof document, "%s%s]}", head,
                   KERNEL("10", "20") "," NOTE("gloo:all_reduce", "2", "30", "40") "," PROJECTION(
                       "gloo:all_reduce", "65", "3") "," OP("aten::mm", "1", "0", "20"));
    read_all(document, &shard);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE), 1);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), 1);
    assert_int_equal(total(&shard, INQ_CLASS_COMM), 40000);
    const struct inq_rank *rank = &shard.ranks[0];
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.cls[i] == INQ_CLASS_COMM) {
            assert_int_equal(rank->comms[rank->events.comm[i]].kind, INQ_COLL_ALLREDUCE);
            assert_int_equal(rank->lanes[rank->events.lane[i]].kind, INQ_LANE_THREAD);
        }
    }
    inq_shard_release(&shard);
    (void)snprintf(document, sizeof document, "%s%s]}", head,
                   KERNEL("10", "20") "," NOTE("oneccl:all_reduce", "2", "30",
                                               "40") "," COMM_KERNEL("35", "30"));
    read_all(document, &shard);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), 1); /* the device's own */
    assert_int_equal(total(&shard, INQ_CLASS_COMM), 30000);
    inq_shard_release(&shard);
    (void)snprintf(document, sizeof document, "%s%s]}", head,
                   NOTE("gloo:all_reduce", "2", "30", "40"));
    read_all(document, &shard);
    assert_int_equal(shard.ranks[0].events.n, 0);
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu__hosts_communicate_for_a_device),
        cmocka_unit_test(cpu__top_level_operators_compute),
        cmocka_unit_test(cpu__calls_stand_for_a_silent_backend),
        cmocka_unit_test(cpu__captures_cut_calls_and_work),
        cmocka_unit_test(cpu__recordings_before_kineto_are_read),
        cmocka_unit_test(cpu__signs_of_a_device_exclude_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
