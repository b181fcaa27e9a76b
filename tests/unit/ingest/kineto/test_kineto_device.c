/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that no category names: what their events' arguments and the names of their processes
 * give away. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_read.h"
#include "support_trace.h"

#include <stdlib.h>
#include <string.h>

#define EVENT(rest) "{\"ph\": \"X\", \"ts\": 10, \"dur\": 5, " rest "}"
#define TASK(name, type, connection)                                                               \
    EVENT("\"name\": \"" name "\", \"pid\": 5, \"tid\": 2, \"args\": {\"Task Type\": \"" type      \
          "\", \"Physic Stream Id\": 2, \"Task Id\": 9, \"connection_id\": " connection "}")
#define META(kind, pid, tid, name)                                                                 \
    "{\"ph\": \"M\", \"name\": \"" kind "\", \"pid\": " pid ", \"tid\": " tid                      \
    ", \"args\": {\"name\": \"" name "\"}}"
#define HCOM(name, tid, connection)                                                                \
    EVENT("\"name\": \"" name "\", \"pid\": 6, \"tid\": " tid                                      \
          ", \"args\": {\"connection_id\": " connection                                            \
          ", \"data_type\": \"BFP16\", \"alg_type\": \"RING\", \"count\": 4096}")

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

/* ---- arguments ------------------------------------------------------------------------------- */

static void device__a_stream_and_a_launch_are_device_work(void **state)
{
    (void)state;
    static const struct {
        const char *cat, *args;
        enum inq_event_kind kind;
        size_t events, calls;
    } cases[] = {
        {"musa_kernel", "\"stream\": 7, \"device\": 0", INQ_EVENT_KERNEL, 1, 0},
        {"new_unit", "\"stream\": 7, \"correlation\": 3", INQ_EVENT_KERNEL, 1, 0},
        {"mlu_memcpy", "\"stream\": 7, \"device\": 0", INQ_EVENT_MEMCPY, 1, 0},
        {"gcu_Memset", "\"stream\": 7, \"device\": 0", INQ_EVENT_MEMSET, 1, 0},
        {"mlu_notifier", "\"stream\": 7, \"device\": 0", INQ_EVENT_SYNC, 1, 0},
        {"musa_runtime", "\"correlation\": 3", INQ_EVENT_KERNEL, 0, 1},
        {"gcu_driver", "\"correlation\": 3", INQ_EVENT_KERNEL, 0, 1},
        /* a stream alone, or a runtime that launches nothing, is any program's */
        {"http", "\"stream\": 7", INQ_EVENT_SLICE, 1, 0},
        {"v8_runtime", "\"calls\": 7", INQ_EVENT_SLICE, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[512];
        (void)snprintf(document, sizeof document,
                       "[{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"k\", \"pid\": 1, \"tid\": 7, "
                       "\"ts\": 10, \"dur\": 5, \"args\": {%s}}]",
                       cases[i].cat, cases[i].args);
        struct inq_shard shard;
        read_all(document, &shard);
        const struct inq_rank *rank = &shard.ranks[0];
        assert_int_equal(rank->events.n, cases[i].events);
        assert_int_equal(rank->calls.n, cases[i].calls);
        if (cases[i].events > 0) {
            assert_int_equal(rank->events.kind[0], cases[i].kind);
        }
        inq_shard_release(&shard);
    }
}

/* ---- Ascend ---------------------------------------------------------------------------------- */

static void device__ascend_tasks_that_wait_do_not_work(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all("[" TASK("MatMulV2", "AI_CORE", "1") "," TASK(
                 "Notify_Wait", "NOTIFY_WAIT_SQE",
                 "2") "," TASK("EVENT_WAIT", "EVENT_WAIT",
                               "3") "," TASK("x", "PLACE_HOLDER_SQE",
                                             "4") "," TASK("m", "MEMCPY_ASYNC",
                                                           "5") "," TASK("Cast", "AI_VECTOR_CORE",
                                                                         "6") "]",
             &shard);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE), 2);
    assert_int_equal(count(&shard, INQ_EVENT_MEMCPY, INQ_CLASS_COPY), 1);
    assert_int_equal(shard.ranks[0].events.n, 3);
    assert_int_equal(shard.ranks[0].lanes[shard.ranks[0].events.lane[0]].kind, INQ_LANE_STREAM);
    inq_shard_release(&shard);
}

/* Names of processes and threads may come last. */
static void device__hccl_operations_are_collectives_once(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all(
        "[" HCOM("hcom_allReduce__072_17_1", "1", "40") "," HCOM("Notify_Wait", "2", "40") "," TASK("Memcpy", "SDMA_SQE", "40") "," TASK(
            "hcom_allReduce_AivKernel", "AI_CORE",
            "41") "," TASK("Mul", "AI_CORE",
                           "42") "," EVENT("\"name\": "
                                           "\"Node@launch\", "
                                           "\"pid\": 3, \"tid\": "
                                           "9, \"args\": "
                                           "{\"item_id\": "
                                           "\"Mul\", "
                                           "\"connection_id\": "
                                           "42}") "," EVENT("\"nam"
                                                            "e\": "
                                                            "\"Com"
                                                            "putin"
                                                            "g\", "
                                                            "\"pid"
                                                            "\": "
                                                            "8, "
                                                            "\"tid"
                                                            "\": "
                                                            "1") "," META("process_name", "6", "0",
                                                                          "Communicatio"
                                                                          "n") "," META("thread_"
                                                                                        "name",
                                                                                        "6", "1",
                                                                                        "Group 0 "
                                                                                        "Communicat"
                                                                                        "io"
                                                                                        "n") "," META("thread_name",
                                                                                                      "6",
                                                                                                      "2",
                                                                                                      "Plane 0") "," META("process_name",
                                                                                                                          "5",
                                                                                                                          "0",
                                                                                                                          "Ascend Hardware") "]",
        &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), 1);
    assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE), 1);
    assert_int_equal(rank->events.n, 2);
    assert_int_equal(rank->calls.n, 1);
    size_t at = rank->events.cls[0] == INQ_CLASS_COMM ? 0 : 1;
    const struct inq_comm *comm = &rank->comms[rank->events.comm[at]];
    assert_int_equal(comm->kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(comm->in_elems, 4096);
    assert_int_equal(comm->dtype_bytes, 2);
    assert_int_equal(comm->seq, 17);
    assert_string_equal(test_str(&shard, shard.groups[comm->group].name), "072");
    assert_int_equal(rank->events.call[1 - at], 0); /* by its connection */
    inq_shard_release(&shard);
}

static void device__hccl_groups_by_their_own_names(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all("[" HCOM("hcom_reduceScatter__072_3", "1", "40") "," META(
                 "process_name", "6", "0",
                 "HCCL") "," META("thread_name", "6", "1",
                                  "Group 10.0.0.1%eth0_60000_0 Communication") "]",
             &shard);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 1);
    const struct inq_comm *comm = &rank->comms[rank->events.comm[0]];
    assert_int_equal(comm->kind, INQ_COLL_REDUCE_SCATTER);
    assert_int_equal(comm->out_elems, 4096);
    assert_string_equal(test_str(&shard, shard.groups[comm->group].name), "10.0.0.1%eth0_60000_0");
    inq_shard_release(&shard);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void device__processes_named_like_devices(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool device;
    } cases[] = {
        {"GPU0", true}, {"1 GPU3 (gfx90a)", true}, {"NPU 7", true},        {"GPU Process", false},
        {"GPU", false}, {"Renderer", false},       {"CPU HIP API", false}, {"gpu:1", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[512];
        (void)snprintf(
            document, sizeof document,
            "[{}, " META("process_name", "\"6\"", "0",
                         "%s") ", "
                               "{\"ts\": \"10\", \"dur\": \"5\", \"pid\": \"6\", \"tid\": \"1\", "
                               "\"name\": \"ncclDevKernel_Generic\", \"ph\": \"X\"}]",
            cases[i].name);
        struct inq_shard shard;
        read_all(document, &shard);
        assert_int_equal(shard.ranks[0].events.n, 1);
        assert_int_equal(count(&shard, INQ_EVENT_KERNEL, INQ_CLASS_COMM), cases[i].device ? 1 : 0);
        assert_string_equal(shard.file.format, cases[i].device ? "kineto" : "chrome");
        inq_shard_release(&shard);
    }
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void device__kinds_that_are_no_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *document, *kind;
    } cases[] = {
        {"[" TASK("MatMulV2", "AI_CORE", "1") "]", "Ascend NPU"},
        {"[" EVENT("\"name\": \"k\", \"pid\": 6, \"tid\": 1") "," META("process_name", "6", "0",
                                                                       "NPU 3") "]",
         "NPU"},
        {"[" EVENT("\"name\": \"k\", \"cat\": \"mtia_ccp_events\", \"pid\": 0, \"tid\": 1, "
                   "\"args\": {\"device\": 0, \"stream\": 7}") "]",
         "MTIA"},
        {"[" EVENT("\"name\": \"k\", \"cat\": \"kernel\", \"pid\": 0, \"tid\": 1, "
                   "\"args\": {\"device\": 0, \"stream\": 7}") "]",
         ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_shard shard;
        read_all(cases[i].document, &shard);
        assert_string_equal(test_str(&shard, shard.ranks[0].device_name), cases[i].kind);
        inq_shard_release(&shard);
    }
}

static void device__steps_without_a_category(void **state)
{
    (void)state;
    struct inq_shard shard;
    read_all("[" EVENT("\"name\": \"ProfilerStep#12\", \"pid\": 3, \"tid\": 9, \"args\": "
                       "{}") "," TASK("MatMulV2", "AI_CORE", "1") "]",
             &shard);
    assert_int_equal(shard.ranks[0].n_notes, 1);
    assert_int_equal(shard.ranks[0].notes[0].kind, INQ_NOTE_STEP);
    assert_int_equal(shard.ranks[0].notes[0].number, 12);
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device__a_stream_and_a_launch_are_device_work),
        cmocka_unit_test(device__ascend_tasks_that_wait_do_not_work),
        cmocka_unit_test(device__hccl_operations_are_collectives_once),
        cmocka_unit_test(device__hccl_groups_by_their_own_names),
        cmocka_unit_test(device__processes_named_like_devices),
        cmocka_unit_test(device__kinds_that_are_no_gpu),
        cmocka_unit_test(device__steps_without_a_category),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
