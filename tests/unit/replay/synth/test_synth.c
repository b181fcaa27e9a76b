/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic runs: reproducible, well-formed, true to the spec and to their own truth. */
#include "inquest/synth.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct inq_synth *make(const char *text)
{
    struct inq_synth_spec spec;
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    if (inq_synth_spec_parse(text, &spec, &err) != INQ_OK ||
        inq_synth_new(&spec, &synth, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return synth;
}

/* The bytes of one file; release with inq_out_release. */
static struct inq_out bytes_of(const struct inq_synth *synth, size_t file)
{
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_synth_file_write(synth, file, sink, NULL), INQ_OK);
    return out;
}

/* ---- a trace as a JSON reader sees it -------------------------------------------------------- */

struct document {
    struct inq_out text;
    struct cJSON *root;
};

static struct document open_document(const struct inq_synth *synth, size_t file)
{
    struct document doc = {.text = bytes_of(synth, file)};
    struct inq_err err = {0};
    if (inq_json_parse(doc.text.buf, doc.text.len, &doc.root, &err) != INQ_OK) {
        fail_msg("%s: %s at %lld", inq_synth_file_name(synth, file), err.message,
                 (long long)err.offset);
    }
    return doc;
}

static void close_document(struct document *doc)
{
    inq_json_free(doc->root);
    inq_out_release(&doc->text);
}

static bool has_text(const struct cJSON *event, const char *key, const char *part)
{
    return strstr(inq_json_text(inq_json_get(event, key), ""), part) != NULL;
}

/* Stamps are below 2^53 / 1000 us here: a double holds them to well under a ns of error. */
static int64_t ns_of(const struct cJSON *event, const char *key)
{
    double us = inq_json_number(inq_json_get(event, key), -1.0);
    return (int64_t)(us * 1000.0 + 0.5);
}

struct sum {
    size_t n;
    int64_t dur_ns;
    int64_t first_ns, last_ns;
};

/* Events of a category whose name holds `name`. */
static struct sum sum_events(const struct document *doc, const char *cat, const char *name)
{
    struct sum sum = {.first_ns = INT64_MAX};
    const struct cJSON *event = inq_json_first(inq_json_get(doc->root, "traceEvents"));
    for (; event != NULL; event = inq_json_next(event)) {
        if (strcmp(inq_json_text(inq_json_get(event, "cat"), ""), cat) == 0 &&
            has_text(event, "name", name)) {
            int64_t start = ns_of(event, "ts");
            int64_t end = start + ns_of(event, "dur");
            sum.n++;
            sum.dur_ns += end - start;
            sum.first_ns = start < sum.first_ns ? start : sum.first_ns;
            sum.last_ns = end > sum.last_ns ? end : sum.last_ns;
        }
    }
    return sum;
}

static struct sum sum_file(const struct inq_synth *synth, size_t file, const char *cat,
                           const char *name)
{
    struct document doc = open_document(synth, file);
    struct sum sum = sum_events(&doc, cat, name);
    close_document(&doc);
    return sum;
}

/* ---- reproducible and well-formed ------------------------------------------------------------ */

static void synth__same_spec_same_bytes(void **state)
{
    (void)state;
    const char *text = "dp=2,pp=2,steps=2,layer=200us,fault=jitter:sigma=0.1";
    struct inq_synth *one = make(text);
    struct inq_synth *two = make(text);
    struct inq_synth *other = make("dp=2,pp=2,steps=2,layer=200us,seed=2,fault=jitter:sigma=0.1");
    assert_int_equal(inq_synth_files(one), 4);
    for (size_t i = 0; i < 4; i++) {
        struct inq_out a = bytes_of(one, i);
        struct inq_out b = bytes_of(two, i);
        struct inq_out c = bytes_of(other, i);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.buf, b.buf, a.len);
        assert_true(a.len != c.len || memcmp(a.buf, c.buf, a.len) != 0);
        inq_out_release(&a);
        inq_out_release(&b);
        inq_out_release(&c);
    }
    inq_synth_free(one);
    inq_synth_free(two);
    inq_synth_free(other);
}

static void synth__every_shape_runs_and_parses(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "gz=0,dp=1,steps=2",
        "gz=0,dp=2,tp=2,steps=2,args=seq,flows=1",
        "gz=0,dp=1,pp=2,steps=2,args=old,ts=abs,names=handler",
        "gz=0,dp=1,pp=4,micro_batches=2,steps=2,lean=1,calls=0,cpu_ops=0",
        "gz=0,dp=2,pp=3,layers=7,steps=2,labels=1,p2p=bare",
        "gz=0,dp=1,pp=4,chunks=2,micro_batches=4,steps=1",
        "gz=0,dp=1,pp=2,chunks=3,micro_batches=6,steps=1",
        "gz=0,dp=2,tp=2,pp=2,micro_batches=5,steps=1,sync=0,ts=split",
        "gz=0,dp=2,layers=40,steps=1,sync=0", /* more launches than the queue holds */
        "gz=0,dp=2,steps=4,window=ragged,clock=2ms",
        "gz=0,dp=4,steps=2,sharded=1,base_last=1",
        "gz=0,dp=2,pp=4,micro_batches=5,steps=2,p2p=fused",
        "gz=0,dp=1,pp=2,micro_batches=1,steps=2,p2p=fused",
        "gz=0,dp=2,pp=4,micro_batches=5,steps=2,p2p=batched,p2p_group=world",
        "gz=0,dp=1,pp=4,chunks=2,micro_batches=4,steps=2,early_recv=2",
        "gz=0,dp=2,pp=2,steps=3,early_recv=1,sync=2,drift=30",
        "gz=0,dp=2,pp=2,steps=2,experts=1,shapes=1,labels=1",
        "gz=0,dp=2,pp=2,steps=2,wait=item,cpu_ops=0",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct inq_synth *synth = make(specs[i]);
        for (size_t file = 0; file < inq_synth_files(synth); file++) {
            struct document doc = open_document(synth, file);
            struct sum kernels = sum_events(&doc, "kernel", "");
            struct sum launches = sum_events(&doc, "cuda_runtime", "cudaLaunchKernel");
            assert_true(kernels.n > 50);
            assert_true(kernels.dur_ns > 0);
            assert_true(launches.n > 0);
            close_document(&doc);
        }
        assert_true(inq_synth_truth(synth)->healthy);
        assert_int_equal(inq_synth_truth(synth)->mean_step_ns,
                         inq_synth_truth(synth)->mean_step_ns_healthy);
        inq_synth_free(synth);
    }
}

static void synth__kernels_follow_their_launches_and_never_overlap(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=2,steps=2,cpu_ops=0,calls=0");
    struct document doc = open_document(synth, 1);
    const struct cJSON *event = inq_json_first(inq_json_get(doc.root, "traceEvents"));
    int64_t launch_ns = -1;
    double launch_id = -1;
    int64_t busy_until[64] = {0};
    size_t checked = 0;
    for (; event != NULL; event = inq_json_next(event)) {
        const struct cJSON *args = inq_json_get(event, "args");
        double id = inq_json_number(inq_json_get(args, "correlation"), -1);
        if (has_text(event, "name", "LaunchKernel")) {
            launch_ns = ns_of(event, "ts");
            launch_id = id;
        } else if (has_text(event, "cat", "kernel")) {
            int64_t stream = inq_json_integer(inq_json_get(event, "tid"), 0);
            assert_int_equal((int64_t)id, (int64_t)launch_id); /* written after its launch */
            assert_true(ns_of(event, "ts") > launch_ns);
            assert_in_range(stream, 0, 63);
            assert_true(ns_of(event, "ts") >= busy_until[stream]);
            busy_until[stream] = ns_of(event, "ts") + ns_of(event, "dur");
            checked++;
        }
    }
    assert_true(checked > 300);
    close_document(&doc);
    inq_synth_free(synth);
}

/* Starts and ends of all collectives of one file. */
static size_t read_collectives(const struct document *doc, int64_t *starts, int64_t *ends,
                               size_t max)
{
    size_t n = 0;
    const struct cJSON *event = inq_json_first(inq_json_get(doc->root, "traceEvents"));
    for (; event != NULL; event = inq_json_next(event)) {
        if (has_text(event, "name", "AllReduce") && has_text(event, "cat", "kernel")) {
            assert_true(n < max);
            starts[n] = ns_of(event, "ts");
            ends[n] = starts[n] + ns_of(event, "dur");
            n++;
        }
    }
    return n;
}

static void synth__collectives_end_together_after_the_last_arrival(void **state)
{
    (void)state;
    enum { RANKS = 4, MAX = 64 };
    struct inq_synth *synth = make("gz=0,dp=4,steps=3,fault=slow_gpu:rank=1:factor=1.2");
    int64_t starts[RANKS][MAX];
    int64_t ends[RANKS][MAX];
    size_t n = 0;
    for (size_t rank = 0; rank < RANKS; rank++) {
        struct document doc = open_document(synth, rank);
        n = read_collectives(&doc, starts[rank], ends[rank], MAX);
        assert_int_equal(n, 3 * 8);
        close_document(&doc);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t last = 0;
        for (size_t rank = 0; rank < RANKS; rank++) {
            last = starts[rank][i] > last ? starts[rank][i] : last;
            assert_in_range(llabs(ends[rank][i] - ends[0][i]), 0, 2001);
        }
        for (size_t rank = 0; rank < RANKS; rank++) {
            assert_true(ends[rank][i] > last);
        }
        assert_int_equal(starts[1][i], last); /* the slow rank is last */
    }
    inq_synth_free(synth);
}

/* ---- truth ----------------------------------------------------------------------------------- */

static void truth__cost_is_the_difference_of_two_runs(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "slow_gpu:rank=1:factor=1.2",
        "slow_link:rank=2:factor=5",
        "late_host:rank=3:delay=4ms",
        "late_host:rank=3:mode=launch:factor=20",
        "late_host:rank=0:mode=gc:delay=30ms",
        "more_work:rank=2:factor=1.2",
        "more_work:rank=2:factor=1.2:mode=size",
        "uneven_seq:sigma=0.3",
        "jitter:sigma=0.2",
        "long_last_stage:factor=1.5",
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool pipeline = strncmp(faults[i], "long", 4) == 0;
        const char *shape = pipeline ? "pp=4,dp=1,steps=3,gz=0" : "dp=4,steps=3,gz=0";
        char text[128];
        (void)snprintf(text, sizeof text, "%s,fault=%s", shape, faults[i]);
        struct inq_synth *with = make(text);
        struct inq_synth *without = make(shape);
        const struct inq_synth_truth *truth = inq_synth_truth(with);
        const struct inq_synth_truth *plain = inq_synth_truth(without);
        int64_t total = 0;
        for (size_t step = 0; step < truth->n_steps; step++) {
            total += truth->step_ns[step] - plain->step_ns[step];
        }
        assert_int_equal(truth->faults[0].cost_ns_per_step, total / 3);
        assert_true(total > 0);
        assert_int_equal(truth->healthy, *truth->faults[0].finding == '\0');
        inq_synth_free(with);
        inq_synth_free(without);
    }
}

static void truth__faults_are_measured_one_by_one(void **state)
{
    (void)state;
    struct inq_synth *both = make("dp=4,steps=3,fault=slow_gpu:rank=1:factor=1.3,"
                                  "fault=late_host:rank=2:delay=3ms,fault=missing_rank:rank=3");
    struct inq_synth *gpu = make("dp=4,steps=3,fault=slow_gpu:rank=1:factor=1.3");
    const struct inq_synth_truth *truth = inq_synth_truth(both);
    assert_int_equal(truth->faults[1].cost_ns_per_step,
                     truth->mean_step_ns - inq_synth_truth(gpu)->mean_step_ns);
    assert_int_equal(truth->faults[2].cost_ns_per_step, 0);
    assert_int_equal(truth->faults[0].n_ranks, 1);
    assert_int_equal(truth->faults[0].ranks[0], 1);
    assert_true(truth->faults[0].cost_ns_per_step > 1000000);
    inq_synth_free(both);
    inq_synth_free(gpu);
}

static void truth__is_written_as_json(void **state)
{
    (void)state;
    struct inq_synth *synth = make("dp=1,pp=2,steps=2,fault=long_last_stage,"
                                   "fault=missing_rank:rank=0,fault=clock_offset:rank=1");
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    struct cJSON *root = NULL;
    assert_int_equal(inq_synth_truth_write(synth, sink, NULL), INQ_OK);
    assert_int_equal(inq_json_parse(out.buf, out.len, &root, NULL), INQ_OK);
    assert_string_equal(inq_json_text(inq_json_get(root, "schema"), ""), "inquest-truth/1");
    assert_int_equal(inq_json_integer(inq_json_get(root, "step_ns"), 0),
                     inq_synth_truth(synth)->mean_step_ns);
    const struct cJSON *fault = inq_json_first(inq_json_get(root, "faults"));
    assert_string_equal(inq_json_text(inq_json_get(fault, "finding"), ""), "slow_last_stage");
    assert_int_equal(inq_json_integer(inq_json_first(inq_json_get(fault, "stages")), -1), 1);
    const struct cJSON *rank = inq_json_first(inq_json_get(root, "ranks"));
    assert_string_equal(inq_json_text(inq_json_get(rank, "file"), "none"), "none");
    assert_int_equal(inq_json_integer(inq_json_get(inq_json_next(rank), "clock_offset_ns"), 0),
                     5000000);
    inq_json_free(root);
    inq_out_release(&out);
    inq_synth_free(synth);
}

/* ---- the faults are in the traces ------------------------------------------------------------ */

static void fault__slow_gpu_stretches_all_kernels_of_one_rank(void **state)
{
    (void)state;
    struct inq_synth *plain = make("gz=0,dp=3,steps=2");
    struct inq_synth *slow = make("gz=0,dp=3,steps=2,fault=slow_gpu:rank=1:factor=1.5");
    for (size_t rank = 0; rank < 3; rank++) {
        int64_t before = sum_file(plain, rank, "kernel", "gemm").dur_ns;
        int64_t after = sum_file(slow, rank, "kernel", "gemm").dur_ns;
        double ratio = (double)after / (double)before;
        assert_true(rank == 1 ? ratio > 1.4999 && ratio < 1.5001 : after == before);
    }
    inq_synth_free(plain);
    inq_synth_free(slow);
}

static void fault__more_work_adds_kernels_or_enlarges_them(void **state)
{
    (void)state;
    struct inq_synth *plain = make("gz=0,dp=2,steps=2");
    struct inq_synth *count = make("gz=0,dp=2,steps=2,fault=more_work:rank=1:factor=1.3");
    struct inq_synth *size = make("gz=0,dp=2,steps=2,fault=more_work:rank=1:factor=1.3:mode=size");
    struct sum base = sum_file(plain, 1, "kernel", "gemm");
    struct sum more = sum_file(count, 1, "kernel", "gemm");
    struct sum large = sum_file(size, 1, "kernel", "gemm");
    assert_true(more.n > base.n);
    assert_int_equal(large.n, base.n);
    assert_true(large.dur_ns > base.dur_ns * 129 / 100);
    /* What is not part of it keeps its draws. */
    int64_t adam = sum_file(plain, 1, "kernel", "Adam").dur_ns;
    assert_int_equal(sum_file(count, 1, "kernel", "Adam").dur_ns, adam);
    assert_int_equal(sum_file(size, 1, "kernel", "Adam").dur_ns, adam);
    assert_int_equal(sum_file(count, 0, "kernel", "gemm").n,
                     sum_file(plain, 0, "kernel", "gemm").n);
    inq_synth_free(plain);
    inq_synth_free(count);
    inq_synth_free(size);
}

/* How much longer the kernels of each rank take than in the plain run, in thousandths. */
static void stretch(const char *plain_text, const char *faulty_text, const char *kernel,
                    size_t n_ranks, int64_t *thousandths)
{
    struct inq_synth *plain = make(plain_text);
    struct inq_synth *faulty = make(faulty_text);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        int64_t before = sum_file(plain, rank, "kernel", kernel).dur_ns;
        int64_t after = sum_file(faulty, rank, "kernel", kernel).dur_ns;
        thousandths[rank] = (after * 1000 + before / 2) / before;
    }
    inq_synth_free(plain);
    inq_synth_free(faulty);
}

#define FOUR "gz=0,dp=4,gpus_per_host=2,steps=4,layers=2"

static void fault__concerns_a_host_or_every_so_many_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t expected[4];
    } cases[] = {
        {FOUR ",fault=slow_gpu:host=1:factor=1.5", {1000, 1000, 1500, 1500}},
        {FOUR ",fault=slow_gpu:rank=1:last=2:factor=1.5", {1000, 1500, 1500, 1000}},
        {FOUR ",fault=slow_gpu:rank=0:last=3:stride=2:factor=1.5", {1500, 1000, 1500, 1000}},
        {FOUR ",fault=slow_gpu:rank=3:factor=1.5", {1000, 1000, 1000, 1500}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t thousandths[4];
        stretch(FOUR, cases[i].spec, "gemm", 4, thousandths);
        assert_memory_equal(thousandths, cases[i].expected, sizeof thousandths);
    }
    struct inq_synth *host = make(cases[0].spec);
    const struct inq_synth_truth_fault *fault = &inq_synth_truth(host)->faults[0];
    assert_int_equal(fault->n_hosts, 1);
    assert_int_equal(fault->hosts[0], 1);
    assert_int_equal(fault->n_ranks, 2);
    assert_int_equal(fault->ranks[0], 2);
    assert_true(fault->share > 0.1);
    inq_synth_free(host);
}

static void fault__low_clock_spares_what_memory_bounds(void **state)
{
    (void)state;
    int64_t thousandths[4];
    const char *low = FOUR ",fault=low_clock:rank=2:factor=1.3";
    stretch(FOUR, low, "gemm", 4, thousandths);
    assert_int_equal(thousandths[1], 1000);
    assert_int_equal(thousandths[2], 1300);
    stretch(FOUR, low, "layer_norm", 4, thousandths);
    assert_int_equal(thousandths[2], 1000);
}

static void fault__acts_only_in_every_so_many_steps(void **state)
{
    (void)state;
    struct inq_synth *synth = make(FOUR ",steps=7,fault=slow_gpu:rank=1:factor=2:every=3:from=1");
    const struct inq_synth_truth *truth = inq_synth_truth(synth);
    for (size_t step = 0; step < 7; step++) {
        int64_t lost = truth->step_ns[step] - truth->step_ns_healthy[step];
        bool acts = step == 1 || step == 4;
        assert_true(acts == (lost > truth->step_ns_healthy[step] / 5));
    }
    inq_synth_free(synth);
}

static void fault__garbage_collection_rotates(void **state)
{
    (void)state;
    struct inq_synth *synth = make(FOUR ",steps=12,fault=gc:delay=50ms:every=6");
    const struct inq_synth_truth *truth = inq_synth_truth(synth);
    size_t hit = 0;
    for (size_t step = 0; step < 12; step++) {
        int64_t lost = truth->step_ns[step] - truth->step_ns_healthy[step];
        hit += lost > 30000000;
        /* the same steps of every six */
        assert_true(step < 6 || llabs(lost - (truth->step_ns[step - 6] -
                                              truth->step_ns_healthy[step - 6])) < 20000000);
    }
    assert_true(hit >= 4 && hit < 12); /* not all ranks in one step, not every step */
    assert_int_equal(truth->faults[0].n_ranks, 0);
    inq_synth_free(synth);
}

static void fault__experts_share_the_tokens_unevenly(void **state)
{
    (void)state;
    struct inq_synth *even = make("gz=0,dp=4,steps=2,layers=4,experts=1");
    struct inq_synth *uneven =
        make("gz=0,dp=4,steps=2,layers=4,experts=1,fault=uneven_experts:sigma=0.4");
    int64_t before = 0;
    int64_t after = 0;
    for (size_t rank = 0; rank < 4; rank++) {
        before += sum_file(even, rank, "kernel", "Gelu").dur_ns;
        after += sum_file(uneven, rank, "kernel", "Gelu").dur_ns;
        assert_int_equal(sum_file(even, rank, "kernel", "SendRecv").n, 4 * 2 * 2 * 2);
    }
    assert_true(llabs(after - before) < before / 50); /* but for the noise of kernels */
    assert_true(inq_synth_truth(uneven)->faults[0].share > 0.03);
    inq_synth_free(even);
    inq_synth_free(uneven);
}

/* The shortest transfer of tokens that a rank's file has. */
static int64_t shortest(const struct inq_synth *synth, size_t rank)
{
    struct document doc = open_document(synth, rank);
    int64_t ns = INT64_MAX;
    const struct cJSON *event = inq_json_first(inq_json_get(doc.root, "traceEvents"));
    for (; event != NULL; event = inq_json_next(event)) {
        if (has_text(event, "name", "SendRecv") && has_text(event, "cat", "kernel")) {
            ns = ns_of(event, "dur") < ns ? ns_of(event, "dur") : ns;
        }
    }
    close_document(&doc);
    return ns;
}

/* Whoever is built first: the transfer is over when the longest sequence is. */
static void fault__an_all_to_all_takes_as_long_as_its_largest_part(void **state)
{
    (void)state;
    static const char shape[] = "gz=0,dp=4,steps=1,layers=1,micro_batches=1,experts=1,seed=2";
    char text[128];
    (void)snprintf(text, sizeof text, "%s,fault=uneven_seq:sigma=0.5", shape);
    struct inq_synth *even = make(shape);
    struct inq_synth *uneven = make(text);
    int64_t even_ns = INT64_MAX; /* the last arrival's is the transfer alone */
    int64_t uneven_ns = INT64_MAX;
    for (size_t rank = 0; rank < 4; rank++) {
        even_ns = shortest(even, rank) < even_ns ? shortest(even, rank) : even_ns;
        uneven_ns = shortest(uneven, rank) < uneven_ns ? shortest(uneven, rank) : uneven_ns;
    }
    assert_true(uneven_ns > even_ns + even_ns / 10);
    inq_synth_free(even);
    inq_synth_free(uneven);
}

static void fault__clock_offset_shifts_every_stamp(void **state)
{
    (void)state;
    struct inq_synth *plain = make("gz=0,dp=2,steps=1");
    struct inq_synth *shifted = make("gz=0,dp=2,steps=1,fault=clock_offset:rank=1:offset=7ms");
    struct sum before = sum_file(plain, 1, "kernel", "");
    struct sum after = sum_file(shifted, 1, "kernel", "");
    assert_in_range(after.first_ns - before.first_ns, 6999000, 7001000);
    assert_in_range(after.last_ns - before.last_ns, 6999000, 7001000);
    assert_int_equal(sum_file(plain, 0, "kernel", "").first_ns,
                     sum_file(shifted, 0, "kernel", "").first_ns);
    inq_synth_free(plain);
    inq_synth_free(shifted);
}

static void fault__files_go_missing_and_are_cut(void **state)
{
    (void)state;
    struct inq_synth *plain = make("dp=4,steps=1");
    struct inq_synth *harmed =
        make("dp=4,steps=1,fault=missing_rank:rank=2,fault=cut_file:rank=1:at=0.25");
    assert_int_equal(inq_synth_files(harmed), 3);
    assert_int_equal(inq_synth_file_rank(harmed, 2), 3);
    struct inq_out whole = bytes_of(plain, 1);
    struct inq_out cut = bytes_of(harmed, 1);
    assert_int_equal(cut.len, whole.len / 4);
    assert_memory_equal(cut.buf, whole.buf, cut.len);
    inq_out_release(&whole);
    inq_out_release(&cut);
    inq_synth_free(plain);
    inq_synth_free(harmed);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Without noise and with instant links, 1F1B takes (m + p - 1) forwards and backwards. */
static void pipeline__takes_the_time_of_theory(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double slots; /* in units of one micro-batch through one stage */
    } cases[] = {
        {"pp=4,micro_batches=8,chunks=1,layers=8", 11.0},
        {"pp=4,micro_batches=4,chunks=1,layers=8", 7.0},
        {"pp=4,micro_batches=2,chunks=1,layers=8", 5.0},
        {"pp=2,micro_batches=6,chunks=1,layers=4", 7.0},
        {"pp=4,micro_batches=8,chunks=2,layers=8", 9.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "%s,dp=1,steps=2,layer=20ms,sigma=0,step_sigma=0,rank_sigma=0,host_sigma=0,"
                       "link=0,pp_gbps=1000000",
                       cases[i].text);
        struct inq_synth *synth = make(text);
        double stage_ms = 2 * 20.0 * 3; /* two layers, forward and backward */
        double expected = cases[i].slots * stage_ms;
        double optimizer = 2 * 20.0 * 0.08 + 20.0 * 0.02 * 2;
        double got = (double)inq_synth_truth(synth)->mean_step_ns / 1e6 - optimizer;
        if (got < expected || got > expected * 1.02) {
            fail_msg("%s: %.2f ms, theory %.2f ms", cases[i].text, got, expected);
        }
        inq_synth_free(synth);
    }
}

static void pipeline__every_send_has_its_receive(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=1,pp=4,micro_batches=6,steps=2,labels=1");
    for (size_t stage = 0; stage < 4; stage++) {
        struct document doc = open_document(synth, stage);
        const struct cJSON *event = inq_json_first(inq_json_get(doc.root, "traceEvents"));
        size_t sends = 0;
        size_t receives = 0;
        for (; event != NULL; event = inq_json_next(event)) {
            const struct cJSON *args = inq_json_get(event, "args");
            if (has_text(event, "cat", "kernel") && has_text(event, "name", "SendRecv")) {
                const char *what = inq_json_text(inq_json_get(args, "Collective name"), "");
                bool send = strcmp(what, "send") == 0;
                const struct cJSON *peer = inq_json_get(args, send ? "Dst Rank" : "Src Rank");
                assert_int_equal(llabs(inq_json_integer(peer, -9) - (int64_t)stage), 1);
                sends += send;
                receives += !send;
            }
        }
        size_t links = stage == 0 || stage == 3 ? 1 : 2;
        assert_int_equal(sends, links * 6 * 2);
        assert_int_equal(receives, links * 6 * 2);
        assert_int_equal(sum_events(&doc, "user_annotation", "Forward ").n, 6 * 2);
        assert_int_equal(sum_events(&doc, "user_annotation", "Backward ").n, 6 * 2);
        close_document(&doc);
    }
    inq_synth_free(synth);
}

static void pipeline__fused_transfers_share_kernels(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=1,pp=4,micro_batches=6,steps=1,p2p=fused");
    for (size_t stage = 0; stage < 4; stage++) {
        /* Of the four transfers per micro-batch, those of the steady state share kernels: with the
         * next stage the send of each forward after the warm-up and the receive of its backward,
         * with the previous one the send of a backward and the receive of the next forward. */
        size_t warm_up = 3 - stage;
        size_t with_next = stage == 3 ? 0 : 12 - (6 - warm_up);
        size_t with_previous = stage == 0 ? 0 : 12 - (6 - warm_up - 1);
        struct sum kernels = sum_file(synth, stage, "kernel", "SendRecv");
        assert_int_equal(kernels.n, with_next + with_previous);
    }
    inq_synth_free(synth);
}

/* Kernels whose arguments name a collective, and records of sends and receives of the host. */
static void count_named(const struct document *doc, size_t *kernels, size_t *records)
{
    const struct cJSON *event = inq_json_first(inq_json_get(doc->root, "traceEvents"));
    for (; event != NULL; event = inq_json_next(event)) {
        const struct cJSON *args = inq_json_get(event, "args");
        const char *what = inq_json_text(inq_json_get(args, "Collective name"), "");
        bool p2p = strcmp(what, "send") == 0 || strcmp(what, "recv") == 0;
        *kernels += p2p && has_text(event, "cat", "kernel");
        *records += p2p && has_text(event, "cat", "cpu_op");
    }
}

static void pipeline__batched_transfers_are_recorded_by_the_host(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=1,pp=4,micro_batches=6,steps=1,p2p=batched");
    for (size_t stage = 0; stage < 4; stage++) {
        struct document doc = open_document(synth, stage);
        size_t kernels = 0;
        size_t records = 0;
        count_named(&doc, &kernels, &records);
        assert_int_equal(kernels, 0);
        assert_int_equal(records, stage == 0 || stage == 3 ? 12 : 24);
        assert_true(sum_events(&doc, "kernel", "SendRecv").n < records);
        close_document(&doc);
    }
    inq_synth_free(synth);
}

static void pipeline__early_receives_wait_on_the_gpu(void **state)
{
    (void)state;
    struct inq_synth *late = make("gz=0,dp=1,pp=4,micro_batches=6,steps=4");
    struct inq_synth *early = make("gz=0,dp=1,pp=4,micro_batches=6,steps=4,early_recv=2");
    int64_t usual = inq_synth_truth(late)->mean_step_ns;
    int64_t mean = inq_synth_truth(early)->mean_step_ns; /* a sender waits for nobody */
    assert_true(mean <= usual && mean > usual * 8 / 10);
    for (size_t stage = 1; stage < 4; stage++) {
        assert_true(sum_file(early, stage, "kernel", "SendRecv").dur_ns >
                    sum_file(late, stage, "kernel", "SendRecv").dur_ns);
        assert_int_equal(sum_file(early, stage, "kernel", "SendRecv").n,
                         sum_file(late, stage, "kernel", "SendRecv").n);
    }
    inq_synth_free(late);
    inq_synth_free(early);
}

static void synth__hosts_run_ahead_between_synchronizations(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=2,steps=8,sync=4");
    assert_int_equal(sum_file(synth, 0, "cuda_runtime", "cudaStreamSynchronize").n, 2);
    struct inq_synth *never = make("gz=0,dp=2,steps=8,sync=0");
    assert_int_equal(sum_file(never, 0, "cuda_runtime", "cudaStreamSynchronize").n, 0);
    inq_synth_free(synth);
    inq_synth_free(never);
}

/* The call of an asynchronous copy returns at once, and the synchronization waits; a copy to
 * pageable memory returns when it is done, within the operators that read the loss, and leaves
 * nothing to wait for. */
static void synth__a_loss_that_is_read_waits_in_its_copy(void **state)
{
    (void)state;
    struct inq_synth *reads = make("gz=0,dp=2,steps=8,sync=4,wait=item");
    struct inq_synth *syncs = make("gz=0,dp=2,steps=8,sync=4");
    struct document doc = open_document(reads, 0);
    struct sum copies = sum_events(&doc, "gpu_memcpy", "DtoH (Device -> Pageable)");
    struct sum calls = sum_events(&doc, "cuda_runtime", "cudaMemcpyAsync");
    struct sum waits = sum_events(&doc, "cuda_runtime", "cudaStreamSynchronize");
    struct sum items = sum_events(&doc, "cpu_op", "aten::item");
    struct sum scalars = sum_events(&doc, "cpu_op", "aten::_local_scalar_dense");
    int64_t step = inq_synth_truth(reads)->mean_step_ns;
    assert_int_equal(copies.n, 2);
    assert_int_equal(waits.n, 2);
    assert_true(waits.dur_ns < 2 * 20000);
    assert_true(calls.dur_ns > step);
    assert_true(calls.last_ns >= copies.last_ns && calls.last_ns < copies.last_ns + 20000);
    assert_int_equal(items.n, 2);
    assert_int_equal(scalars.n, 2);
    assert_true(items.first_ns < scalars.first_ns && items.last_ns == scalars.last_ns);
    assert_true(scalars.last_ns == waits.last_ns);
    assert_true(sum_file(syncs, 0, "cuda_runtime", "cudaStreamSynchronize").dur_ns > step);
    assert_int_equal(sum_file(syncs, 0, "cpu_op", "aten::item").n, 0);
    close_document(&doc);
    inq_synth_free(reads);
    inq_synth_free(syncs);
}

static void sharded__gathers_before_and_scatters_after_each_layer(void **state)
{
    (void)state;
    struct inq_synth *synth = make("gz=0,dp=4,layers=5,steps=2,sharded=1");
    struct document doc = open_document(synth, 2);
    assert_int_equal(sum_events(&doc, "kernel", "AllGather").n, 2 * 2 * 5);
    assert_int_equal(sum_events(&doc, "kernel", "ReduceScatter").n, 2 * 5);
    assert_int_equal(sum_events(&doc, "kernel", "AllReduce").n, 0);
    close_document(&doc);
    inq_synth_free(synth);
}

/* ---- failure --------------------------------------------------------------------------------- */

static void synth__survives_every_failed_allocation(void **state)
{
    (void)state;
    struct inq_synth_spec spec;
    assert_int_equal(inq_synth_spec_parse("dp=2,steps=1,layers=1,fault=uneven_seq", &spec, NULL),
                     INQ_OK);
    bool done = false;
    for (long n = 1; !done; n++) {
        struct inq_synth *synth = NULL;
        struct inq_err err = {0};
        inq_mem_fail_after(n);
        int code = inq_synth_new(&spec, &synth, &err);
        inq_mem_fail_after(0);
        done = code == INQ_OK;
        assert_true(done || code == INQ_NOMEM);
        assert_true(done == (synth != NULL));
        inq_synth_free(synth);
        assert_true(n < 5000);
    }
}

static void synth__refuses_what_would_not_fit(void **state)
{
    (void)state;
    struct inq_synth_spec spec;
    struct inq_synth *synth = NULL;
    assert_int_equal(inq_synth_spec_parse("dp=16384,layers=100,steps=1000", &spec, NULL), INQ_OK);
    assert_int_equal(inq_synth_new(&spec, &synth, NULL), INQ_LIMIT);
    assert_null(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synth__same_spec_same_bytes),
        cmocka_unit_test(synth__every_shape_runs_and_parses),
        cmocka_unit_test(synth__kernels_follow_their_launches_and_never_overlap),
        cmocka_unit_test(synth__collectives_end_together_after_the_last_arrival),
        cmocka_unit_test(truth__cost_is_the_difference_of_two_runs),
        cmocka_unit_test(truth__faults_are_measured_one_by_one),
        cmocka_unit_test(truth__is_written_as_json),
        cmocka_unit_test(fault__slow_gpu_stretches_all_kernels_of_one_rank),
        cmocka_unit_test(fault__more_work_adds_kernels_or_enlarges_them),
        cmocka_unit_test(fault__concerns_a_host_or_every_so_many_ranks),
        cmocka_unit_test(fault__low_clock_spares_what_memory_bounds),
        cmocka_unit_test(fault__acts_only_in_every_so_many_steps),
        cmocka_unit_test(fault__garbage_collection_rotates),
        cmocka_unit_test(fault__experts_share_the_tokens_unevenly),
        cmocka_unit_test(fault__an_all_to_all_takes_as_long_as_its_largest_part),
        cmocka_unit_test(fault__clock_offset_shifts_every_stamp),
        cmocka_unit_test(fault__files_go_missing_and_are_cut),
        cmocka_unit_test(pipeline__takes_the_time_of_theory),
        cmocka_unit_test(pipeline__every_send_has_its_receive),
        cmocka_unit_test(pipeline__fused_transfers_share_kernels),
        cmocka_unit_test(pipeline__batched_transfers_are_recorded_by_the_host),
        cmocka_unit_test(pipeline__early_receives_wait_on_the_gpu),
        cmocka_unit_test(synth__hosts_run_ahead_between_synchronizations),
        cmocka_unit_test(synth__a_loss_that_is_read_waits_in_its_copy),
        cmocka_unit_test(sharded__gathers_before_and_scatters_after_each_layer),
        cmocka_unit_test(synth__survives_every_failed_allocation),
        cmocka_unit_test(synth__refuses_what_would_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
