/* SPDX-License-Identifier: Apache-2.0 */
/* HTA's numbers, against what HTA printed for the same files. */
#include "analysis/reference/hta.h"
#include "analysis/measure/peer_time.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "inquest/analysis.h"
#include "inquest/ingest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ---- files
 * ----------------------------------------------------------------------------------
 */

static bool exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

/* The document of one of HTA's tables. */
static struct cJSON *load_table(const char *set, const char *table)
{
    char path[512];

    assert_true(snprintf(path, sizeof(path), "%s/expected/hta/%s/%s.json", INQ_SHARED_DATA, set,
                         table) < (int)sizeof(path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    struct cJSON *root = NULL;
    assert_int_equal(inq_json_parse(text, n, &root, NULL), INQ_OK);
    free(text);
    return root;
}

enum { MAX_TRACES = 2 };

/* The traces of a set: HTA takes files of different jobs for ranks of one, this program does not.
 */
struct measured {
    struct inq_run *run;
    size_t n;
    struct inq_report *reports[MAX_TRACES];
};

static void measure(const char *traces, bool last, struct measured *m)
{
    char path[512];
    const char *paths[] = {path};
    struct inq_ingest_options ingest = {.align = INQ_ALIGN_NONE};
    struct inq_analysis_options options = {.method = INQ_METHOD_HTA, .hta_include_last_step = last};

    assert_true(snprintf(path, sizeof(path), "%s/kineto/%s", INQ_SHARED_DATA, traces) <
                (int)sizeof(path));
    assert_int_equal(inq_ingest(paths, 1, &ingest, &m->run, NULL), INQ_OK);
    m->n = m->run->n_traces;
    assert_in_range(m->n, 1, MAX_TRACES);
    for (size_t i = 0; i < m->n; i++) {
        assert_int_equal(inq_analyze(m->run->traces[i], &options, &m->reports[i], NULL), INQ_OK);
        assert_non_null(m->reports[i]->reference);
    }
}

static void drop(struct measured *m)
{
    for (size_t i = 0; i < m->n; i++) {
        inq_report_free(m->reports[i]);
    }
    inq_run_free(m->run);
}

static size_t count_ranks(const struct measured *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        n += m->reports[i]->reference->n_rank_times;
    }
    return n;
}

static const struct inq_reference_rank_time *find_rank(const struct measured *m, int64_t number)
{
    for (size_t k = 0; k < m->n; k++) {
        const struct inq_reference *peers = m->reports[k]->reference;
        for (size_t i = 0; i < peers->n_rank_times; i++) {
            const struct inq_reference_rank_time *time = &peers->rank_times[i];
            int32_t rank = m->run->traces[k]->ranks[time->rank].rank;
            if (rank == number || (rank < 0 && count_ranks(m) == 1)) {
                return time;
            }
        }
    }
    fail_msg("no row for rank %lld", (long long)number);
    abort(); /* not reached */
}

static void assert_same(double ours, double theirs, const char *what)
{
    if (isnan(ours) != isnan(theirs) || (!isnan(ours) && fabs(ours - theirs) > 1e-9)) {
        fail_msg("%s: %.6f, HTA has %.6f", what, ours, theirs);
    }
}

static double number(const struct cJSON *row, const char *key)
{
    return inq_json_number(inq_json_get(row, key), (double)NAN);
}

/* ---- HTA's four tables ----------------------------------------------------------------------- */

static void check_temporal(const char *set, const struct measured *m)
{
    struct cJSON *table = load_table(set, "temporal_breakdown");
    size_t n = 0;

    for (const struct cJSON *row = inq_json_first(table); row; row = inq_json_next(row), n++) {
        const struct inq_reference_rank_time *t =
            find_rank(m, inq_json_integer(inq_json_get(row, "rank"), -1));
        assert_same((double)t->hta_idle_us, number(row, "idle_time(us)"), "idle");
        assert_same((double)t->hta_compute_us, number(row, "compute_time(us)"), "compute");
        assert_same((double)t->hta_non_compute_us, number(row, "non_compute_time(us)"), "rest");
        assert_same((double)t->hta_kernel_us, number(row, "kernel_time(us)"), "kernel");
        assert_same(t->hta_idle_pct, number(row, "idle_time_pctg"), "idle %");
        assert_same(t->hta_compute_pct, number(row, "compute_time_pctg"), "compute %");
        assert_same(t->hta_non_compute_pct, number(row, "non_compute_time_pctg"), "rest %");
    }
    assert_int_equal(n, count_ranks(m));
    inq_json_free(table);
}

static void check_overlap(const char *set, const struct measured *m)
{
    struct cJSON *table = load_table(set, "comm_comp_overlap");

    for (const struct cJSON *row = inq_json_first(table); row; row = inq_json_next(row)) {
        const struct inq_reference_rank_time *t =
            find_rank(m, inq_json_integer(inq_json_get(row, "rank"), -1));
        assert_same(t->hta_overlap_pct, number(row, "comp_comm_overlap_pctg"), "overlap %");
    }
    inq_json_free(table);
}

static const struct inq_reference_idle *find_stream(const struct inq_reference_rank_time *t,
                                                    int64_t id)
{
    for (size_t i = 0; i < t->n_streams; i++) {
        if (t->streams[i].stream == id) {
            return &t->streams[i];
        }
    }
    fail_msg("no row for stream %lld", (long long)id);
    abort(); /* not reached */
}

static size_t count_categories(const struct inq_reference *peers)
{
    size_t n = 0;

    for (size_t r = 0; r < peers->n_rank_times; r++) {
        const struct inq_reference_rank_time *t = &peers->rank_times[r];
        for (size_t i = 0; i < t->n_streams; i++) {
            n += isnan(t->streams[i].host_wait_us) ? 0 : 1;
            n += isnan(t->streams[i].kernel_wait_us) ? 0 : 1;
            n += isnan(t->streams[i].other_us) ? 0 : 1;
        }
    }
    return n;
}

static void check_idle(const char *set, const struct measured *m)
{
    struct cJSON *table = load_table(set, "idle_time_breakdown");
    size_t n = 0;

    for (const struct cJSON *row = inq_json_first(table); row; row = inq_json_next(row), n++) {
        const struct inq_reference_rank_time *t =
            find_rank(m, inq_json_integer(inq_json_get(row, "rank"), -1));
        const struct inq_reference_idle *s =
            find_stream(t, inq_json_integer(inq_json_get(row, "stream"), -1));
        const char *category = inq_json_text(inq_json_get(row, "idle_category"), "");
        double us = s->other_us;
        double ratio = s->other_ratio;
        if (strcmp(category, "host_wait") == 0) {
            us = s->host_wait_us;
            ratio = s->host_wait_ratio;
        } else if (strcmp(category, "kernel_wait") == 0) {
            us = s->kernel_wait_us;
            ratio = s->kernel_wait_ratio;
        }
        assert_same(us, number(row, "idle_time"), category);
        assert_same(ratio, number(row, "idle_time_ratio"), category);
    }
    for (size_t i = 0; i < m->n; i++) {
        n -= count_categories(m->reports[i]->reference);
    }
    assert_int_equal(n, 0); /* no row that HTA does not have */
    inq_json_free(table);
}

static int64_t sum_of_type(const struct measured *m, const char *type)
{
    int64_t us = 0;

    for (size_t k = 0; k < m->n; k++) {
        const struct inq_reference *peers = m->reports[k]->reference;
        for (size_t i = 0; i < peers->n_kernel_types; i++) {
            us +=
                strcmp(peers->kernel_types[i].type, type) == 0 ? peers->kernel_types[i].sum_us : 0;
        }
    }
    return us;
}

static void check_types(const char *set, const struct measured *m)
{
    struct cJSON *table = load_table(set, "kernel_type_metrics");
    const struct inq_reference *peers = m->reports[0]->reference;
    size_t n = 0;

    for (const struct cJSON *row = inq_json_first(table); row; row = inq_json_next(row), n++) {
        const char *type = inq_json_text(inq_json_get(row, "kernel_type"), "");
        assert_same((double)sum_of_type(m, type), number(row, "sum"), type);
        if (m->n == 1) { /* shares and order are of one job */
            assert_true(n < peers->n_kernel_types);
            assert_string_equal(peers->kernel_types[n].type, type);
            assert_same(peers->kernel_types[n].pct, number(row, "percentage"), type);
        }
    }
    assert_true(m->n > 1 || n == peers->n_kernel_types);
    inq_json_free(table);
}

/* `traces`: file or folder under kineto/; `set`: folder of the expected tables.
 */
static void check_set(const char *traces, const char *set, bool last)
{
    char path[512];
    struct measured m;

    assert_true(snprintf(path, sizeof(path), "%s/kineto/%s", INQ_SHARED_DATA, traces) <
                (int)sizeof(path));
    if (!exists(path)) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    measure(traces, last, &m);
    check_temporal(set, &m);
    check_overlap(set, &m);
    check_idle(set, &m);
    check_types(set, &m);
    drop(&m);
}

static void hta__dlrm_with_unlaunched_kernels(void **state)
{
    (void)state;
    check_set("dlrm_8ranks", "dlrm_8ranks", false);
}

static void hta__megatron_with_fractional_times(void **state)
{
    (void)state;
    check_set("megatron_tp2", "megatron_tp2", false);
}

static void hta__resnet18(void **state)
{
    (void)state;
    check_set("resnet18_ddp", "resnet18_ddp", false);
}

static void hta__torchrec_4(void **state)
{
    (void)state;
    check_set("torchrec_4", "torchrec_4", false);
}

static void hta__torchrec_sleep(void **state)
{
    (void)state;
    check_set("torchrec_sleep", "torchrec_sleep", false);
}

static void hta__nccl_data_without_and_with_the_last_step(void **state)
{
    (void)state;
    check_set("hta/nccl_data.json.gz", "nccl_data/default", false);
    check_set("hta/nccl_data.json.gz", "nccl_data/last", true);
}

static void hta__times_beyond_a_double(void **state)
{
    (void)state;
    const char *file = "hta/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";

    check_set(file, "ns_resolution/default", false);
    check_set(file, "ns_resolution/last", true);
}

static void hta__negative_queue_length(void **state)
{
    (void)state;
    check_set("hta/rank0.json.gz", "negative_queue_length/default", false);
    check_set("hta/rank0.json.gz", "negative_queue_length/last", true);
}

static void hta__trace_diff_two_jobs(void **state)
{
    (void)state;
    check_set("hta/trace_diff", "trace_diff/default", false);
    check_set("hta/trace_diff", "trace_diff/last", true);
}

/* ---- parts
 * ----------------------------------------------------------------------------------
 */

static void types__first_rule_that_fits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum inq_hta_type type;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", INQ_HTA_COMMUNICATION},
        {"void ncclKernel_Generic", INQ_HTA_COMMUNICATION},
        {"hipMemcpyAsync", INQ_HTA_COMMUNICATION},
        {"void rcclGeneric", INQ_HTA_COMPUTATION},
        {"Memcpy HtoD (Pageable -> Device)", INQ_HTA_MEMORY},
        {"Memset (Device)", INQ_HTA_MEMORY},
        {"dma_copy", INQ_HTA_MEMORY},
        {"void a_dma_kernel", INQ_HTA_OTHER},
        {"void a_Memcpy_kernel", INQ_HTA_OTHER},
        {"void a_Memset_kernel", INQ_HTA_OTHER},
        {"Event Sync", INQ_HTA_OTHER},
        {"Stream Wait Event", INQ_HTA_OTHER},
        {"cudaLaunchKernel", INQ_HTA_OTHER},
        {"my cudaLaunchKernel", INQ_HTA_COMPUTATION},
        {"volta_sgemm_128x32_tn", INQ_HTA_COMPUTATION},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(inq_hta_type_of(cases[i].name), cases[i].type);
    }
}

static void peer_us__is_what_a_json_reader_gets(void **state)
{
    (void)state;
    uint32_t random = 7;

    for (int i = 0; i < 20000; i++) {
        random = random * 1664525u + 1013904223u;
        int64_t ns = (int64_t)(((uint64_t)random << 31 | random) >> (random >> 8) % 50);
        char text[64];
        assert_true(snprintf(text, sizeof(text), "%lld.%03lld", (long long)(ns / 1000),
                             (long long)(ns % 1000)) > 0);
        assert_true(!(inq_reference_us(ns) < strtod(text, NULL)));
        assert_true(!(inq_reference_us(ns) > strtod(text, NULL)));
        assert_true(!(inq_reference_us(-ns) < -strtod(text, NULL)));
    }
}

static void raw_time__undoes_base_and_alignment(void **state)
{
    (void)state;
    struct inq_rank rank = {.base_ns = 1000000};

    assert_int_equal(inq_reference_raw_ns(&rank, 1000123), 123);
    rank.clock = (struct inq_clock){.aligned = true, .offset_ns = -77};
    assert_int_equal(inq_reference_raw_ns(&rank, 1000123 - 77), 123);
    rank.clock.drift_ppb = 5000; /* 5 us a second */
    rank.clock.ref_ns = 0;
    int64_t recorded = 3 * (int64_t)1000000000;
    assert_int_equal(inq_reference_raw_ns(&rank, recorded + 15000 - 77), recorded - 1000000);
}

/* ---- made-up traces -------------------------------------------------------------------------- */

enum { ROWS = 16 };

/* One rank with one stream; every row gets its own call unless it says
 * otherwise. */
struct fixture {
    int64_t start[ROWS], dur[ROWS], call_start[ROWS], correlation[ROWS];
    uint32_t lane[ROWS], call[ROWS];
    inq_str name[ROWS];
    uint8_t kind[ROWS];
    struct inq_lane lanes[2];
    struct inq_note notes[4];
    struct inq_strtab names;
    struct inq_rank rank;
    struct inq_trace trace;
};

static inq_str intern(struct fixture *f, const char *text)
{
    inq_str id = 0;

    assert_int_equal(inq_strtab_add(&f->names, text, strlen(text), &id, NULL), INQ_OK);
    return id;
}

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->lanes[0] = (struct inq_lane){.kind = INQ_LANE_STREAM, .id = 7};
    f->lanes[1] = (struct inq_lane){.kind = INQ_LANE_STREAM, .id = -1};
    f->rank.n_lanes = 2;
    f->rank.lanes = f->lanes;
    f->rank.notes = f->notes;
    f->rank.events = (struct inq_events){.start_ns = f->start,
                                         .dur_ns = f->dur,
                                         .name = f->name,
                                         .lane = f->lane,
                                         .call = f->call,
                                         .kind = f->kind};
    f->rank.calls.start_ns = f->call_start;
    f->rank.calls.correlation = f->correlation;
    f->trace = (struct inq_trace){.names = &f->names, .n_ranks = 1, .ranks = &f->rank};
}

static void add_call(struct fixture *f, int64_t us, int64_t correlation)
{
    size_t c = f->rank.calls.n++;

    f->call_start[c] = us * 1000;
    f->correlation[c] = correlation;
}

/* Times in us; launched_us < 0: no launch in the file. */
static void add_row(struct fixture *f, const char *name, int64_t from_us, int64_t to_us,
                    int64_t launched_us)
{
    size_t i = f->rank.events.n++;

    f->start[i] = from_us * 1000;
    f->dur[i] = (to_us - from_us) * 1000;
    f->name[i] = intern(f, name);
    f->call[i] = launched_us < 0 ? INQ_NONE : (uint32_t)f->rank.calls.n;
    if (launched_us >= 0) {
        add_call(f, launched_us, (int64_t)(100 + i));
    }
}

static void add_step(struct fixture *f, const char *name, int64_t from_us, int64_t to_us)
{
    f->notes[f->rank.n_notes++] = (struct inq_note){.start_ns = from_us * 1000,
                                                    .dur_ns = (to_us - from_us) * 1000,
                                                    .name = intern(f, name),
                                                    .kind = INQ_NOTE_STEP};
}

static struct inq_report *analyze(const struct fixture *f, bool last)
{
    const char *only[] = {"hta"};
    struct inq_analysis_options options = {
        .method = INQ_METHOD_HTA, .hta_include_last_step = last, .only = only, .n_only = 1};
    struct inq_report *report = NULL;

    assert_int_equal(inq_analyze(&f->trace, &options, &report, NULL), INQ_OK);
    return report;
}

static void assert_idle(const struct inq_report *report, double host, double kernel, double other)
{
    assert_int_equal(report->reference->rank_times[0].n_streams, 1);
    const struct inq_reference_idle *s = &report->reference->rank_times[0].streams[0];

    assert_int_equal(s->stream, 7);
    assert_same(s->host_wait_us, host, "host wait");
    assert_same(s->kernel_wait_us, kernel, "kernel wait");
    assert_same(s->other_us, other, "other");
}

static void idle__by_stream_and_cause(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 0, 10, 0);
    add_row(&f, "gemm", 39, 40, 5);    /* 29 us: kernel */
    add_row(&f, "gemm", 70, 80, 6);    /* 30 us: other */
    add_row(&f, "gemm", 100, 110, 81); /* launched after the previous end: host */
    add_row(&f, "gemm", 105, 120, 90); /* overlapping by 5: kernel, negative */
    struct inq_report *report = analyze(&f, false);
    const struct inq_reference_rank_time *t = &report->reference->rank_times[0];
    assert_idle(report, 20, 29 - 5, 30);
    assert_same(t->streams[0].host_wait_ratio, 0.27, "ratio"); /* 20 of 74 */
    assert_int_equal(t->hta_kernel_us, 120);
    assert_int_equal(t->hta_idle_us, 79);
    assert_int_equal(t->hta_compute_us, 41);
    assert_same(t->hta_overlap_pct, (double)NAN, "no communication");
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void idle__unlaunched_work_takes_the_first_row(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 0, 10, 0);
    add_row(&f, "gemm", 20, 30, -1);
    struct inq_report *report = analyze(&f, false);
    assert_idle(report, (double)NAN, 10, 0);
    inq_report_free(report);
    f.rank.has_row0 = true;
    f.rank.row0_ns = 11000; /* after the end of the first kernel */
    report = analyze(&f, false);
    assert_idle(report, 10, (double)NAN, 0);
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void steps__only_work_launched_in_them_counts(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 10, 20, 5);
    add_row(&f, "gemm", 120, 130, 99);   /* launched just before the last step */
    add_row(&f, "gemm", 140, 150, 100);  /* with its beginning: not in it */
    add_row(&f, "gemm", 1000, 1001, -1); /* launch unknown */
    add_row(&f, "gemm", 900, 910, 201);  /* after its end */
    add_step(&f, "ProfilerStep#1", 0, 100);
    struct inq_report *report = analyze(&f, false);
    assert_int_equal(report->reference->rank_times[0].hta_kernel_us,
                     991); /* one step: everything */
    inq_report_free(report);
    add_step(&f, "ProfilerStep#2", 100, 200);
    report = analyze(&f, false);
    assert_int_equal(report->reference->rank_times[0].hta_kernel_us, 120);
    inq_report_free(report);
    report = analyze(&f, true);
    assert_int_equal(report->reference->rank_times[0].hta_kernel_us, 140);
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void steps__repeated_ids_repeat_the_work(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 10, 20, 5);
    add_row(&f, "gemm", 30, 50, 6);
    add_call(&f, 7, 101); /* the second kernel's id again */
    add_step(&f, "ProfilerStep#1", 0, 100);
    add_step(&f, "ProfilerStep#2", 100, 200);
    struct inq_report *report = analyze(&f, false);
    assert_idle(report, (double)NAN, 10 - 20, 0);
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void rows__round_inwards_when_a_time_has_a_fraction(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 1, 10, 0);
    f.start[0] += 1; /* 1.001 .. 10.001: 2 .. 10 */
    add_row(&f, "gemm", 20, 21, 0);
    f.start[1] += 200; /* 20.200 .. 20.900: 21 .. 20 */
    f.dur[1] = 700;
    f.rank.fractional_us = true;
    struct inq_report *report = analyze(&f, false);
    assert_int_equal(report->reference->rank_times[0].hta_kernel_us, 18);
    assert_int_equal(report->reference->rank_times[0].hta_compute_us, 8 - 1);
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void rows__synchronization_counts_as_time_on_a_stream_only(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 0, 10, 0);
    add_row(&f, "Stream Wait Event", 20, 30, 0);
    f.kind[1] = INQ_EVENT_SYNC;
    add_row(&f, "Context Sync", 40, 90, 0);
    f.kind[2] = INQ_EVENT_SYNC;
    f.lane[2] = 1; /* stream -1 */
    struct inq_report *report = analyze(&f, false);
    const struct inq_reference_rank_time *t = &report->reference->rank_times[0];
    assert_int_equal(t->hta_kernel_us, 30);
    assert_int_equal(t->hta_idle_us, 10);
    assert_int_equal(t->hta_compute_us, 10);
    assert_int_equal(t->hta_non_compute_us, 10);
    assert_idle(report, (double)NAN, (double)NAN, 0);
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void types__times_by_what_ran_together(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add_row(&f, "gemm", 0, 100, 0);
    add_row(&f, "ncclKernel_AllReduce", 50, 130, 0);
    add_row(&f, "Memcpy DtoH", 90, 140, 0);
    struct inq_report *report = analyze(&f, false);
    const struct inq_reference *p = report->reference;
    static const struct {
        const char *type;
        int64_t us;
    } expected[] = {
        {"COMPUTATION", 50},
        {"COMPUTATION overlapping COMMUNICATION", 40},
        {"COMMUNICATION overlapping MEMORY", 30},
        {"MEMORY", 10},
        {"COMPUTATION overlapping COMMUNICATION overlapping MEMORY", 10},
    };
    assert_int_equal(p->n_kernel_types, 5);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(p->kernel_types[i].type, expected[i].type);
        assert_int_equal(p->kernel_types[i].sum_us, expected[i].us);
    }
    assert_same(p->kernel_types[0].pct, 35.7, "50 of 140");
    assert_same(p->rank_times[0].hta_overlap_pct, 62.5, "50 of 80");
    inq_report_free(report);
    inq_strtab_release(&f.names);
}

static void analysis__every_failed_allocation_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    bool whole = false;

    fixture_init(&f);
    add_row(&f, "gemm", 0, 100, 0);
    add_row(&f, "ncclKernel_AllReduce", 50, 130, 0);
    long n = 1;
    for (; !whole && n < 1000; n++) {
        const char *only[] = {"hta"};
        struct inq_analysis_options options = {
            .method = INQ_METHOD_HTA, .jobs = 1, .only = only, .n_only = 1};
        struct inq_report *report = NULL;
        inq_mem_fail_after(n);
        int code = inq_analyze(&f.trace, &options, &report, NULL);
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || (code == INQ_NOMEM && !report));
        whole = report != NULL;
        for (int s = 0; report && s < INQ_SECTION_COUNT; s++) {
            whole = whole && !report->sections[s].reason;
        }
        assert_true(!report || report->sections[INQ_SECTION_METHOD].reason || report->reference);
        inq_report_free(report);
    }
    assert_true(n > 10 && n < 1000);
    inq_strtab_release(&f.names);
}

int main(void)
{
    const struct CMUnitTest parts[] = {
        cmocka_unit_test(types__first_rule_that_fits),
        cmocka_unit_test(peer_us__is_what_a_json_reader_gets),
        cmocka_unit_test(raw_time__undoes_base_and_alignment),
        cmocka_unit_test(idle__by_stream_and_cause),
        cmocka_unit_test(idle__unlaunched_work_takes_the_first_row),
        cmocka_unit_test(steps__only_work_launched_in_them_counts),
        cmocka_unit_test(steps__repeated_ids_repeat_the_work),
        cmocka_unit_test(rows__round_inwards_when_a_time_has_a_fraction),
        cmocka_unit_test(rows__synchronization_counts_as_time_on_a_stream_only),
        cmocka_unit_test(types__times_by_what_ran_together),
        cmocka_unit_test(analysis__every_failed_allocation_is_reported),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test(hta__dlrm_with_unlaunched_kernels),
        cmocka_unit_test(hta__megatron_with_fractional_times),
        cmocka_unit_test(hta__resnet18),
        cmocka_unit_test(hta__torchrec_4),
        cmocka_unit_test(hta__torchrec_sleep),
        cmocka_unit_test(hta__nccl_data_without_and_with_the_last_step),
        cmocka_unit_test(hta__times_beyond_a_double),
        cmocka_unit_test(hta__negative_queue_length),
        cmocka_unit_test(hta__trace_diff_two_jobs),
    };
    int failed = cmocka_run_group_tests_name("parts", parts, NULL, NULL);

    if (!exists(INQ_SHARED_DATA "/expected/hta")) {
        printf("skipped: there is no " INQ_SHARED_DATA "/expected/hta\n");
        return failed;
    }
    return failed + cmocka_run_group_tests_name("real traces", real, NULL, NULL);
}
