/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/hlo.h"
#include "ingest/wire/wire.h"
#include "inquest/out.h"
#include "inquest/ingest.h"
#include "support_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a writer (xplane.proto) ----------------------------------------------------------------- */

/* A row of a plane's tables: 4 names of events, 5 of statistics. */
static void put_name(struct message *plane, unsigned field, int id, const char *name)
{
    struct message row = {.n = 0};
    struct message entry = {.n = 0};
    put_number(&row, 1, id);
    put_text(&row, 2, name);
    put_number(&entry, 1, id);
    put_message(&entry, 2, &row);
    put_message(plane, field, &entry);
}

enum { CORRELATION = 1, STEP_NUM, START_TIME, DEVICE };

static void put_stat_names(struct message *plane)
{
    put_name(plane, 5, CORRELATION, "correlation_id");
    put_name(plane, 5, STEP_NUM, "step_num");
    put_name(plane, 5, START_TIME, "profile_start_time");
    put_name(plane, 5, DEVICE, "device_id");
}

static void put_stat(struct message *m, unsigned field, int id, int64_t value)
{
    struct message stat = {.n = 0};
    put_number(&stat, 1, id);
    put_number(&stat, 4, value);
    put_message(m, field, &stat);
}

/* An event of so many ns at so many, with one statistic (0: none). */
static void put_event(struct message *line, int meta, int64_t at_ns, int64_t dur_ns, int stat,
                      int64_t value)
{
    struct message event = {.n = 0};
    put_number(&event, 1, meta);
    put_number(&event, 2, at_ns * 1000);
    put_number(&event, 3, dur_ns * 1000);
    if (stat != 0) {
        put_stat(&event, 4, stat, value);
    }
    put_message(line, 4, &event);
}

static struct message line_of(int64_t id, const char *name)
{
    struct message line = {.n = 0};
    put_number(&line, 1, id);
    put_text(&line, 2, name);
    put_number(&line, 3, 0);
    return line;
}

static struct message plane_of(const char *name)
{
    struct message plane = {.n = 0};
    put_text(&plane, 2, name);
    return plane;
}

static void put_environment(struct message *space, int64_t start_ns)
{
    struct message plane = plane_of("Task Environment");
    put_stat_names(&plane);
    put_stat(&plane, 6, START_TIME, start_ns);
    put_message(space, 1, &plane);
}

static struct inq_run *ingest(const char *const *names, const struct message *spaces, size_t n)
{
    struct inq_ingest_blob blobs[4];
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    for (size_t i = 0; i < n; i++) {
        blobs[i] = (struct inq_ingest_blob){names[i], spaces[i].bytes, spaces[i].n};
    }
    assert_int_equal(inq_ingest_memory(blobs, n, &options, &run, &err), INQ_OK);
    return run;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static const int64_t EPOCH = INT64_C(1768464000000000000);

/* A host with two GPUs, of which the second one only copies. */
static struct message gpu_space(void)
{
    struct message space = {.n = 0};
    struct message gpu = plane_of("/device:GPU:0");
    struct message stream = line_of(7, "Stream #7(Compute)");
    put_event(&stream, 1, 1000, 500, CORRELATION, 11);
    put_event(&stream, 2, 1500, 700, CORRELATION, 12);
    put_event(&stream, 3, 2300, 100, CORRELATION, 13);
    put_message(&gpu, 3, &stream);
    put_name(&gpu, 4, 1, "loop_add_fusion");
    put_name(&gpu, 4, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)");
    put_name(&gpu, 4, 3, "MemcpyD2H");
    put_stat_names(&gpu);
    put_message(&space, 1, &gpu);
    struct message idle = plane_of("/device:GPU:1");
    struct message copies = line_of(9, "Stream #9(MemcpyH2D)");
    put_event(&copies, 1, 100, 10, CORRELATION, 21);
    put_message(&idle, 3, &copies);
    put_name(&idle, 4, 1, "MemcpyH2D");
    put_stat_names(&idle);
    put_message(&space, 1, &idle);
    struct message host = plane_of("/host:CPU");
    struct message thread = line_of(1, "python3");
    put_event(&thread, 1, 400, 2200, STEP_NUM, 17);
    put_event(&thread, 2, 500, 20, CORRELATION, 11);
    put_event(&thread, 2, 530, 20, CORRELATION, 12);
    put_event(&thread, 3, 560, 2000, 0, 0);
    put_event(&thread, 4, 410, 5, 0, 0);
    put_message(&host, 3, &thread);
    put_name(&host, 4, 1, "train");
    put_name(&host, 4, 2, "cuLaunchKernel");
    put_name(&host, 4, 3, "cuStreamSynchronize");
    put_name(&host, 4, 4, "PjitFunction(step)");
    put_stat_names(&host);
    put_message(&space, 1, &host);
    put_environment(&space, EPOCH);
    put_text(&space, 4, "worker-3:6009");
    return space;
}

static void xspace__a_gpu_is_a_rank_with_streams_launches_and_steps(void **state)
{
    (void)state;
    const char *name = "worker-3.xplane.pb";
    struct message space = gpu_space();
    struct inq_run *run = ingest(&name, &space, 1);
    assert_int_equal(run->n_traces, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_ranks, 1);
    const struct inq_rank *rank = &trace->ranks[0];
    assert_int_equal(rank->rank, 0);
    assert_string_equal(inq_trace_str(trace, rank->host), "worker-3");
    assert_true(rank->has_clock_epoch);
    assert_int_equal(rank->events.n, 3);
    assert_true(rank->events.start_ns[0] == EPOCH + 1000 && rank->events.dur_ns[0] == 500);
    assert_int_equal(rank->events.cls[1], INQ_CLASS_COMM);
    assert_int_equal(rank->comms[rank->events.comm[1]].kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(rank->events.kind[2], INQ_EVENT_MEMCPY);
    assert_string_equal(inq_trace_str(trace, rank->events.name[2]), "Memcpy DtoH");
    assert_int_equal(rank->calls.n, 3); /* the synchronize too: there is one rank only */
    assert_true(rank->calls.start_ns[rank->events.call[0]] == EPOCH + 500);
    assert_int_equal(trace->n_steps, 1);
    assert_int_equal(trace->steps[0].number, 17);
    assert_int_equal(rank->events.step[1], 0);
    assert_int_equal(trace->files[0].events, 9);
    assert_non_null(strstr(trace->files[0].reason, "1 more device only copied (1 copies)"));
    inq_run_free(run);
}

static void xspace__what_a_cut_file_still_holds_is_read(void **state)
{
    (void)state;
    const char *name = "worker-3.xplane.pb";
    struct message whole = gpu_space();
    for (size_t n = 0; n < whole.n; n++) {
        struct message cut = whole;
        cut.n = n;
        struct inq_run *run = ingest(&name, &cut, 1);
        const struct inq_file *file = run->n_traces > 0 ? run->traces[0]->files : run->skipped;
        uint64_t told = inq_damage_total(&file->damage);
        /* where the file ends between two planes nothing says that more was to come */
        assert_true(told > 0 || !file->read || run->traces[0]->ranks[0].events.n == 3);
        inq_run_free(run);
    }
}

/* Steps that only the device marks become the host's, however many they are. */
static void xspace__every_step_of_a_device_gets_its_launches(void **state)
{
    (void)state;
    enum { STEPS = 1500 };
    const char *name = "worker-3.xplane.pb";
    struct message space = {.n = 0};
    struct message gpu = plane_of("/device:GPU:0");
    struct message stream = line_of(7, "Stream #7(Compute)");
    struct message steps = line_of(1, "Steps");
    struct message host = plane_of("/host:CPU");
    struct message thread = line_of(1, "python3");
    for (int s = 0; s < STEPS; s++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", s);
        put_event(&stream, 1, 1000 * (s + 1), 500, CORRELATION, s + 1);
        put_event(&steps, s + 2, 1000 * (s + 1), 900, 0, 0);
        put_name(&gpu, 4, s + 2, number);
        put_event(&thread, 1, 1000 * s + 700, 20, CORRELATION, s + 1);
        put_event(&thread, 2, 1000 * s + 750, 100, 0, 0);
    }
    put_message(&gpu, 3, &stream);
    put_message(&gpu, 3, &steps);
    put_name(&gpu, 4, 1, "loop_add_fusion");
    put_stat_names(&gpu);
    put_message(&space, 1, &gpu);
    put_message(&host, 3, &thread);
    put_name(&host, 4, 1, "cuLaunchKernel");
    put_name(&host, 4, 2, "cuStreamSynchronize");
    put_stat_names(&host);
    put_message(&space, 1, &host);
    put_environment(&space, EPOCH);
    struct inq_run *run = ingest(&name, &space, 1);
    assert_int_equal(run->n_traces, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->ranks[0].events.n, STEPS);
    assert_int_equal(trace->n_steps, STEPS);
    for (size_t s = 0; s < STEPS; s++) {
        /* of the host: from when it had waited for the step before, the first from its launch */
        int64_t since_ns = s > 0 ? 1000 * (int64_t)s - 150 : 700;
        assert_true(trace->steps[s].start_ns == EPOCH + since_ns);
        assert_int_equal(trace->ranks[0].events.step[s], s);
    }
    assert_int_equal(inq_damage_total(&trace->files[0].damage), 0);
    inq_run_free(run);
}

static void xspace__a_profile_without_device_work_says_so(void **state)
{
    (void)state;
    const char *name = "a.xplane.pb";
    struct message space = {.n = 0};
    struct message host = plane_of("/host:CPU");
    struct message thread = line_of(1, "python3");
    put_event(&thread, 1, 400, 2200, 0, 0);
    put_message(&host, 3, &thread);
    put_name(&host, 4, 1, "main");
    put_message(&space, 1, &host);
    struct inq_run *run = ingest(&name, &space, 1);
    assert_int_equal(run->n_traces, 0);
    assert_int_equal(run->n_skipped, 1);
    assert_non_null(strstr(run->skipped[0].reason, "no device work recognized"));
    inq_run_free(run);
}

/* ---- accelerators without streams ------------------------------------------------------------ */

/* Two TPU cores of one host; `early_ns`: how much sooner the second one arrives. */
static struct message tpu_space(int64_t early_ns, const char *reduce)
{
    struct message space = {.n = 0};
    for (int core = 0; core < 2; core++) {
        char name[32];
        (void)snprintf(name, sizeof name, "/device:TPU:%d", core);
        struct message tpu = plane_of(name);
        struct message ops = line_of(2, "XLA Ops");
        int64_t at = core == 1 ? 5000 - early_ns : 5000;
        put_event(&ops, 1, 1000, at - 1000, 0, 0); /* a loop .. */
        put_event(&ops, 2, 1000, at - 1000, 0, 0); /* .. of one fusion */
        put_event(&ops, 3, at, 10, 0, 0);          /* start */
        put_event(&ops, 2, at + 10, 800, 0, 0);    /* beside it */
        put_event(&ops, 4, at + 810, 7000 - at - 810, 0, 0);
        put_message(&tpu, 3, &ops);
        struct message steps = line_of(1, "Steps");
        put_event(&steps, 5, 1000, 6000, 0, 0);
        put_message(&tpu, 3, &steps);
        put_name(&tpu, 4, 1, "%while.1 = (s32[]) while((s32[]) %t), body=%b");
        put_name(&tpu, 4, 2, "%fusion.7 = f32[128]{0} fusion(f32[128]{0} %p), kind=kLoop");
        put_name(&tpu, 4, 3, reduce);
        put_name(&tpu, 4, 4, "%all-reduce-done.3 = bf16[16,64]{1,0} all-reduce-done(%x)");
        put_name(&tpu, 4, 5, "42");
        put_stat_names(&tpu);
        put_message(&space, 1, &tpu);
    }
    put_environment(&space, EPOCH);
    return space;
}

static void xspace__halves_of_a_collective_are_one_and_loops_are_no_work(void **state)
{
    (void)state;
    const char *name = "t.xplane.pb";
    struct message space =
        tpu_space(1500, "%all-reduce-start.3 = bf16[16,64]{1,0} all-reduce-start(%p), "
                        "channel_id=1, replica_groups={{0,1}}, to_apply=%add");
    struct inq_run *run = ingest(&name, &space, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_ranks, 2);
    const struct inq_rank *rank = &trace->ranks[0];
    assert_int_equal(rank->events.n, 3); /* two fusions and the all-reduce */
    assert_int_equal(trace->n_collectives, 1);
    assert_int_equal(trace->collectives[0].n_members, 2);
    assert_false(trace->collectives[0].ends_disagree);
    const struct inq_member *member = &trace->members[trace->collectives[0].first_member];
    const struct inq_events *e = &rank->events;
    uint32_t at = member->event;
    assert_true(e->start_ns[at] == EPOCH + 5000 && e->dur_ns[at] == 2000);
    assert_int_equal(rank->comms[e->comm[at]].out_elems, 16 * 64);
    assert_int_equal(rank->comms[e->comm[at]].dtype_bytes, 2);
    assert_int_equal(trace->steps[0].number, 42);
    inq_run_free(run);
}

static void xspace__hosts_of_a_folder_are_one_run_numbered_on(void **state)
{
    (void)state;
    const char *const names[] = {"logs/plugins/profile/2026_01_15/host-10.xplane.pb",
                                 "logs/plugins/profile/2026_01_15/host-2.xplane.pb"};
    const char *reduce = "%all-reduce-start.3 = bf16[16,64]{1,0} all-reduce-start(%p), "
                         "replica_groups=[2,2]<=[2,2]T(1,0)";
    struct message spaces[] = {tpu_space(1500, reduce), tpu_space(0, reduce)};
    struct inq_run *run = ingest(names, spaces, 2);
    assert_int_equal(run->n_traces, 1);
    const struct inq_trace *trace = run->traces[0];
    assert_string_equal(trace->name, "2026_01_15");
    assert_int_equal(trace->n_ranks, 4);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(trace->ranks[r].rank, r);
    }
    /* host-2 comes before host-10 */
    assert_non_null(strstr(trace->files[trace->ranks[0].file].path, "host-2."));
    /* groups 0, 2 and 1, 3: one collective of each */
    assert_int_equal(trace->n_collectives, 2);
    assert_int_equal(trace->collectives[0].n_members, 2);
    inq_run_free(run);
}

static void xspace__the_json_beside_it_is_not_a_second_run(void **state)
{
    (void)state;
    const char *const names[] = {"p/plugins/profile/r/worker-3.xplane.pb",
                                 "p/plugins/profile/r/worker-3.trace.json",
                                 "p/plugins/profile/other/worker-3.trace.json"};
    struct message json = {.n = 0};
    json.n = (size_t)snprintf(json.bytes, sizeof json.bytes,
                              "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
                              "\"ts\":1,\"dur\":5,\"args\":{}}]}");
    struct message spaces[] = {gpu_space(), json, json};
    struct inq_run *run = ingest(names, spaces, 3);
    assert_int_equal(run->n_traces, 2); /* the one of another folder stands for itself */
    assert_int_equal(run->n_skipped, 1);
    assert_non_null(strstr(run->skipped[0].reason, "the same profile as worker-3.xplane.pb"));
    inq_run_free(run);
}

/* ---- HLO ------------------------------------------------------------------------------------- */

static struct inq_hlo_text text(const char *string)
{
    return (struct inq_hlo_text){string, strlen(string)};
}

static void hlo__opcodes_tell_communication(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum inq_op_class cls;
        enum inq_coll_kind kind;
        enum inq_hlo_part part;
    } cases[] = {
        {"all-reduce.12", INQ_CLASS_COMM, INQ_COLL_ALLREDUCE, INQ_HLO_WHOLE},
        {"%all-gather-start.2 = (f32[4], f32[8]) all-gather-start(%p)", INQ_CLASS_COMM,
         INQ_COLL_ALLGATHER, INQ_HLO_START},
        {"reduce-scatter-done", INQ_CLASS_COMM, INQ_COLL_REDUCE_SCATTER, INQ_HLO_DONE},
        {"ragged-all-to-all.1", INQ_CLASS_COMM, INQ_COLL_ALLTOALLV, INQ_HLO_WHOLE},
        {"collective-permute-start", INQ_CLASS_COMM, INQ_COLL_SENDRECV, INQ_HLO_START},
        {"send.3", INQ_CLASS_COMM, INQ_COLL_SEND, INQ_HLO_START},
        {"recv-done.3", INQ_CLASS_COMM, INQ_COLL_RECV, INQ_HLO_DONE},
        {"fusion.3", INQ_CLASS_COMPUTE, INQ_COLL_UNKNOWN, INQ_HLO_WHOLE},
        {"sender_fusion", INQ_CLASS_COMPUTE, INQ_COLL_UNKNOWN, INQ_HLO_WHOLE},
        {"copy-start.9", INQ_CLASS_COPY, INQ_COLL_UNKNOWN, INQ_HLO_START},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_hlo hlo = inq_hlo_parse(text(cases[i].text), text(""));
        assert_int_equal(hlo.cls, cases[i].cls);
        assert_int_equal(hlo.kind, cases[i].kind);
        assert_int_equal(hlo.part, cases[i].part);
    }
    assert_int_equal(inq_hlo_parse(text("fusion.4"), text("all-reduce")).kind, INQ_COLL_ALLREDUCE);
    assert_int_equal(inq_hlo_parse(text(cases[1].text), text("")).elems, 8);
    assert_int_equal(
        inq_hlo_parse(text("%all-reduce.1 = (f32[4], f32[8,2]) all-reduce(%p)"), text("")).elems,
        20);
}

static void hlo__replica_groups_in_both_forms(void **state)
{
    (void)state;
    int32_t ranks[16];
    size_t sizes[16];
    assert_int_equal(inq_hlo_groups(text("{{0,1},{2,3}}"), ranks, sizes, 16), 2);
    assert_true(sizes[0] == 2 && ranks[2] == 2);
    assert_int_equal(inq_hlo_groups(text("[2,4]<=[8]"), ranks, sizes, 16), 2);
    assert_true(sizes[1] == 4 && ranks[4] == 4 && ranks[7] == 7);
    assert_int_equal(inq_hlo_groups(text("[2,4]<=[4,2]T(1,0)"), ranks, sizes, 16), 2);
    assert_true(ranks[1] == 2 && ranks[3] == 6 && ranks[4] == 1);
    assert_int_equal(inq_hlo_groups(text("{}"), ranks, sizes, 16), 0);
    assert_int_equal(inq_hlo_groups(text("[2,8]<=[8]"), ranks, sizes, 16), 0);
    assert_int_equal(inq_hlo_groups(text("[4,8]<=[32]"), ranks, sizes, 16), 0); /* too many */
    assert_int_equal(inq_hlo_groups(text("[2,4]<=[4,2]T(1,9)"), ranks, sizes, 16), 0);
}

/* ---- the wire -------------------------------------------------------------------------------- */

static void wire__nothing_is_read_past_the_end(void **state)
{
    (void)state;
    struct inq_wire_field field;
    struct inq_wire longer = inq_wire_of("\x0a\x05"
                                         "ab",
                                         4);
    assert_true(inq_wire_next(&longer, &field));
    assert_true(field.cut && inq_wire_len(&field.bytes) == 2);
    assert_false(inq_wire_next(&longer, &field));
    assert_true(longer.bad);
    struct inq_wire endless = inq_wire_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    assert_false(inq_wire_next(&endless, &field));
    assert_true(endless.bad);
    struct inq_wire group = inq_wire_of("\x0b\x0c", 2);
    assert_false(inq_wire_next(&group, &field));
}

/* ---- a real one ------------------------------------------------------------------------------ */

static void xspace__a_real_profile_is_read_whole(void **state)
{
    (void)state;
    const char *path = INQ_SHARED_DATA "/xplane/worker0.xplane.pb.gz";
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    int code = inq_ingest(&path, 1, NULL, &run, &err);
    if (code == INQ_NOT_FOUND) {
        skip();
    }
    assert_int_equal(code, INQ_OK);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->n_ranks, 2);
    static const size_t events[] = {3875, 3880};
    for (size_t r = 0; r < 2; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        assert_int_equal(rank->rank, r == 0 ? 4 : 6);
        size_t marks = 0;
        for (size_t i = 0; i < rank->n_notes; i++) {
            marks += rank->notes[i].on_gpu;
        }
        assert_int_equal(rank->events.n + marks, events[r]);
    }
    assert_int_equal(trace->n_steps, 1);
    assert_int_equal(inq_damage_total(&trace->files[0].damage), 0);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xspace__a_gpu_is_a_rank_with_streams_launches_and_steps),
        cmocka_unit_test(xspace__what_a_cut_file_still_holds_is_read),
        cmocka_unit_test(xspace__every_step_of_a_device_gets_its_launches),
        cmocka_unit_test(xspace__a_profile_without_device_work_says_so),
        cmocka_unit_test(xspace__halves_of_a_collective_are_one_and_loops_are_no_work),
        cmocka_unit_test(xspace__hosts_of_a_folder_are_one_run_numbered_on),
        cmocka_unit_test(xspace__the_json_beside_it_is_not_a_second_run),
        cmocka_unit_test(hlo__opcodes_tell_communication),
        cmocka_unit_test(hlo__replica_groups_in_both_forms),
        cmocka_unit_test(wire__nothing_is_read_past_the_end),
        cmocka_unit_test(xspace__a_real_profile_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
