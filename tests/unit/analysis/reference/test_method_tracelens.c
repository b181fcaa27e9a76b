/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens' numbers, against what TraceLens wrote for the same files. */
#include "analysis/reference/tracelens.h"
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

enum { MAX_FIELDS = 32, MAX_FIELD = 128, MAX_TABLE_ROWS = 64 };

struct csv {
    size_t n_fields, n_rows;
    char head[MAX_FIELDS][MAX_FIELD];
    char rows[MAX_TABLE_ROWS][MAX_FIELDS][MAX_FIELD];
};

static bool exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

static size_t split(char *line, char fields[][MAX_FIELD])
{
    size_t n = 0;
    size_t len = 0;
    bool quoted = false;

    for (char *p = line;; p++) {
        if (*p == '"') {
            quoted = !quoted;
        } else if (*p == '\0' || *p == '\n' || *p == '\r' || (*p == ',' && !quoted)) {
            fields[n++][len] = '\0';
            len = 0;
            if (*p != ',' || n == MAX_FIELDS) {
                return n;
            }
        } else {
            assert_true(len + 1 < MAX_FIELD);
            fields[n][len++] = *p;
        }
    }
}

static void load_csv(const char *name, struct csv *csv)
{
    char path[512];
    char line[4096];

    assert_true(snprintf(path, sizeof(path), "%s/expected/tracelens/megatron_tp2/%s",
                         INQ_SHARED_DATA, name) < (int)sizeof(path));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    csv->n_fields = split(line, csv->head);
    csv->n_rows = 0;
    while (fgets(line, sizeof(line), file) && line[0] != '\n') {
        assert_true(csv->n_rows < MAX_TABLE_ROWS);
        assert_int_equal(split(line, csv->rows[csv->n_rows++]), csv->n_fields);
    }
    assert_int_equal(fclose(file), 0);
}

static const char *field(const struct csv *csv, size_t row, const char *name)
{
    for (size_t i = 0; i < csv->n_fields; i++) {
        if (strcmp(csv->head[i], name) == 0) {
            return csv->rows[row][i];
        }
    }
    fail_msg("no column %s", name);
    return "";
}

/* Equal but for the last bits of a long sum. */
static void assert_number(double ours, const struct csv *csv, size_t row, const char *name)
{
    double theirs = strtod(field(csv, row, name), NULL);

    if (!(fabs(ours - theirs) <= 1e-12 * fabs(theirs))) {
        fail_msg("row %zu, %s: %.17g, TraceLens has %.17g", row, name, ours, theirs);
    }
}

static void measure(const char *traces, struct inq_run **run, struct inq_report **report)
{
    char path[512];
    const char *paths[] = {path};
    struct inq_ingest_options ingest = {.align = INQ_ALIGN_NONE};
    struct inq_analysis_options options = {.method = INQ_METHOD_TRACELENS};

    assert_true(snprintf(path, sizeof(path), "%s/kineto/%s", INQ_SHARED_DATA, traces) <
                (int)sizeof(path));
    if (!exists(path)) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    assert_int_equal(inq_ingest(paths, 1, &ingest, run, NULL), INQ_OK);
    assert_int_equal((*run)->n_traces, 1);
    assert_int_equal(inq_analyze((*run)->traces[0], &options, report, NULL), INQ_OK);
    assert_non_null((*report)->reference);
}

static int64_t rounded(double us)
{
    return llround(us * 1000);
}

static void timeline__nccl_data(void **state)
{
    (void)state;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;

    measure("hta/nccl_data.json.gz", &run, &report);
    assert_int_equal(report->reference->n_rank_times, 1);
    const struct inq_reference_rank_time *t = &report->reference->rank_times[0];
    assert_int_equal(rounded(t->tl_computation_us), 116046561);
    assert_int_equal(rounded(t->tl_exposed_comm_us), 39529327);
    assert_int_equal(rounded(t->tl_exposed_memcpy_us), 1924190);
    assert_int_equal(rounded(t->tl_idle_us), 503050928);
    assert_int_equal(rounded(t->tl_total_us), 660551006);
    inq_report_free(report);
    inq_run_free(run);
}

static int64_t integer(const struct csv *csv, size_t row, const char *name)
{
    return strtoll(field(csv, row, name), NULL, 10);
}

static void check_members(const struct inq_trace *trace, const struct inq_tl_collective *c,
                          const struct csv *csv, size_t row)
{
    for (size_t i = 0; i < c->n_members; i++) {
        char name[64];
        int rank = trace->ranks[c->members[i].rank].rank;
        assert_true(snprintf(name, sizeof(name), "rank_%d_ts", rank) > 0);
        assert_number(c->members[i].ts_us, csv, row, name);
        assert_true(snprintf(name, sizeof(name), "rank_%d_dur", rank) > 0);
        assert_number(c->members[i].dur_us, csv, row, name);
        assert_true(snprintf(name, sizeof(name), "rank_%d_wait_time", rank) > 0);
        assert_number(c->members[i].wait_us, csv, row, name);
    }
}

static void collectives__detailed(void **state)
{
    (void)state;
    static struct csv csv;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;

    measure("megatron_tp2", &run, &report);
    load_csv("implicit_sync_detailed.csv", &csv);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(csv.n_rows, report->reference->n_collectives);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const struct inq_tl_collective *c = &report->reference->collectives[i];
        assert_string_equal(c->id, field(&csv, i, "collective_id"));
        assert_string_equal(c->group, field(&csv, i, "Process Group Name"));
        assert_string_equal(c->group_ranks, field(&csv, i, "Process Group Ranks"));
        assert_string_equal(c->name, field(&csv, i, "Collective name"));
        assert_string_equal(c->dtype, field(&csv, i, "dtype"));
        assert_int_equal(c->group_size, integer(&csv, i, "Group size"));
        assert_int_equal(c->in_elems, integer(&csv, i, "In msg nelems"));
        assert_int_equal(c->out_elems, integer(&csv, i, "Out msg nelems"));
        assert_number(c->in_mb, &csv, i, "In msg size (MB)");
        assert_number(c->out_mb, &csv, i, "Out msg size (MB)");
        assert_number(c->full_mb, &csv, i, "Full msg size (MB)");
        assert_number(c->latency_us, &csv, i, "comm_latency");
        assert_number(c->skew_start_us, &csv, i, "skew in start time");
        assert_int_equal(trace->ranks[c->earliest_rank].rank,
                         integer(&csv, i, "earliest arrival rank"));
        assert_number(c->avg_wait_us, &csv, i, "avg_wait_time");
        assert_number(c->skew_end_us, &csv, i, "skew in end time");
        assert_number(c->algbw, &csv, i, "algo bw (GB/s)");
        assert_number(c->busbw, &csv, i, "bus bw (GB/s)");
        assert_int_equal(c->n_members, 2);
        check_members(trace, c, &csv, i);
    }
    inq_report_free(report);
    inq_run_free(run);
}

static void collectives__summary(void **state)
{
    (void)state;
    static struct csv csv;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;

    measure("megatron_tp2", &run, &report);
    load_csv("summary_implicit_sync.csv", &csv);
    assert_int_equal(csv.n_rows, report->reference->n_summaries);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const struct inq_tl_summary *s = &report->reference->summaries[i];
        assert_string_equal(s->name, field(&csv, i, "Collective name"));
        assert_string_equal(s->dtype, field(&csv, i, "dtype"));
        assert_string_equal(s->group, field(&csv, i, "Process Group Name"));
        assert_int_equal(s->in_elems, integer(&csv, i, "In msg nelems"));
        assert_int_equal(s->group_size, integer(&csv, i, "Group size"));
        assert_int_equal(s->count, integer(&csv, i, "count"));
        assert_number(s->full_mb, &csv, i, "Full msg size (MB)");
        assert_number(s->latency_mean, &csv, i, "comm_latency_mean");
        assert_number(s->latency_std, &csv, i, "comm_latency_std");
        assert_number(s->skew_start_mean, &csv, i, "skew in start time_mean");
        assert_number(s->skew_start_std, &csv, i, "skew in start time_std");
        assert_number(s->skew_end_mean, &csv, i, "skew in end time_mean");
        assert_number(s->skew_end_std, &csv, i, "skew in end time_std");
        assert_number(s->algbw_mean, &csv, i, "algo bw (GB/s)_mean");
        assert_number(s->algbw_std, &csv, i, "algo bw (GB/s)_std");
        assert_number(s->busbw_mean, &csv, i, "bus bw (GB/s)_mean");
        assert_number(s->busbw_std, &csv, i, "bus bw (GB/s)_std");
        assert_number(s->total_latency_ms, &csv, i, "Total comm latency (ms)");
    }
    inq_report_free(report);
    inq_run_free(run);
}

static void collectives__stragglers(void **state)
{
    (void)state;
    static struct csv csv;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;

    measure("megatron_tp2", &run, &report);
    load_csv("straggler_summary.csv", &csv);
    assert_int_equal(csv.n_rows, report->reference->n_stragglers);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const struct inq_tl_straggler *s = &report->reference->stragglers[i];
        assert_int_equal(run->traces[0]->ranks[s->rank].rank, integer(&csv, i, "rank"));
        assert_int_equal(s->last, integer(&csv, i, "times_arrived_last"));
        assert_int_equal(s->first, integer(&csv, i, "times_arrived_first"));
        assert_int_equal(s->collectives, integer(&csv, i, "num_collectives"));
        assert_number(s->total_wait_us, &csv, i, "total_wait_time_us");
        assert_number(s->mean_wait_us, &csv, i, "mean_wait_time_us");
        assert_number(s->last_pct, &csv, i, "pct_arrived_last");
        assert_number(s->total_dur_us, &csv, i, "total_nccl_dur_us");
    }
    inq_report_free(report);
    inq_run_free(run);
}

static void comm__by_name_anywhere_in_any_case(void **state)
{
    (void)state;
    assert_true(inq_tl_is_comm("void ncclDevKernel_AllGather_RING_LL"));
    assert_true(inq_tl_is_comm("void rcclGenericKernel"));
    assert_true(inq_tl_is_comm("my_NCCL_thing"));
    assert_true(inq_tl_is_comm("vllm::cross_device_reduce_2stage"));
    assert_false(inq_tl_is_comm("Memset (Device)"));
}

int main(void)
{
    const struct CMUnitTest parts[] = {
        cmocka_unit_test(comm__by_name_anywhere_in_any_case),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test(timeline__nccl_data),
        cmocka_unit_test(collectives__detailed),
        cmocka_unit_test(collectives__summary),
        cmocka_unit_test(collectives__stragglers),
    };
    int failed = cmocka_run_group_tests_name("parts", parts, NULL, NULL);

    if (!exists(INQ_SHARED_DATA "/expected/tracelens")) {
        printf("skipped: there is no " INQ_SHARED_DATA "/expected/tracelens\n");
        return failed;
    }
    return failed + cmocka_run_group_tests_name("real traces", real, NULL, NULL);
}
